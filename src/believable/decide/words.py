"""Probabilities in words, for readers: how likely, and how sure is that?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from believable import _check
from believable._types import Array, Float64s, Floats
from believable.decide.confidence import interval_ends
from believable.errors import Hint, InputError

Style = Literal["both", "word", "frequency"]
WORDING_STYLES = ("both", "word", "frequency")
UNCLEAR_LIKELIHOOD = "unclear"
FREQUENCY_BASES = (10, 100, 1000, 10_000)
FLOAT32_DECIMALS = 7  # what float32 knows: its 0.9 is 0.9, not a little less
FREQUENCY_SLACK = 1e-9  # of rounding: 0.07 * 100 is a little more than 7


class Likelihood(NamedTuple):
    """A word and the probabilities it stands for, both ends included."""

    word: str
    low: float
    high: float


ONE_HALF = 0.5
# The stronger words first. The IPCC has no mirror of "more likely than not"; that one is ours.
SCALE = (
    Likelihood("virtually certain", 0.99, 1.0),
    Likelihood("exceptionally unlikely", 0.0, 0.01),
    Likelihood("very likely", 0.90, 1.0),
    Likelihood("very unlikely", 0.0, 0.10),
    Likelihood("likely", 0.66, 1.0),
    Likelihood("unlikely", 0.0, 0.33),
    Likelihood("about as likely as not", 0.33, 0.66),
    Likelihood("more likely than not", math.nextafter(ONE_HALF, 1), 1.0),
    Likelihood("less likely than not", 0.0, math.nextafter(ONE_HALF, 0)),
)


@overload
def confidence_words(p: float, interval: Any = None, *, style: Style = "both") -> str: ...


@overload
def confidence_words(p: Sequence[float] | Array, interval: Any = None, *, style: Style = "both") -> list[str]: ...


def confidence_words(p: Any, interval: Any = None, *, style: Style = "both") -> str | list[str]:
    """A probability in words that a reader understands: a word, and a frequency in brackets.

    The words are the likelihood scale of the IPCC, whose ranges overlap and include their ends: virtually certain
    99–100 %, very likely 90–100 %, likely 66–100 %, about as likely as not 33–66 %, unlikely 0–33 %, very unlikely
    0–10 %, exceptionally unlikely 0–1 %. The first that fits is taken, stronger words first: 0.95 is very likely, 0.66
    is likely, 0.33 unlikely. Words alone are read in many ways, numbers beside them mend that (Budescu et al. 2014).

    The frequency is a whole number in 10, or where it is above 9 or below 1 in 10, in 100, in 1,000, in 10,000: so that
    the rarer outcome never rounds to none ("about 9 in 10", "about 96 in 100", "about 3 in 1,000"). Beyond that it says
    "fewer than 1" or "more than 9,999 in 10,000". Nothing is ever said to be certain.

    With an interval the words speak for all of it: the first word whose range holds the whole interval; also "more
    likely than not" for all above a half, "less likely than not" for all below; and "unclear" where none does, which
    is when it holds a half and reaches beyond 33–66 %. The frequency is "between 7 and 9 in 10", with ends rounded
    outwards to a grid of which the interval has at least two steps (one, if it reaches 0 or 1), or "at least 9 in 10",
    "at most 1 in 10" where they round to all or none.

    All numbers are read to seven decimals. Words are as good as the probability is: recalibrate first.

    Parameters
    ----------
    p : float or array-like of shape (n,)
        Probabilities.
    interval : tuple (low, high) or array-like of shape (n, 2), optional
        The ends for each, such as `believable.recalibrate.VennAbers` gives in `predict_interval`; p lies between them.
    style : {"both", "word", "frequency"}
        "likely (about 7 in 10)", "likely", or "about 7 in 10".

    Returns
    -------
    str, or list of str for an array

    References
    ----------
    Mastrandrea et al. (2010), Guidance note for lead authors of the IPCC Fifth Assessment Report on consistent
    treatment of uncertainties, IPCC. Budescu, Por, Broomell & Smithson (2014), The interpretation of IPCC probabilistic
    statements around the world, Nature Climate Change. Gigerenzer & Hoffrage (1995), How to improve Bayesian reasoning
    without instruction: frequency formats, Psychological Review.

    Examples
    --------
    >>> confidence_words(0.93)
    'very likely (about 93 in 100)'
    >>> confidence_words(0.999, (0.72, 1.0))
    'likely (at least 7 in 10)'
    >>> confidence_words([0.3, 0.8], ([0.2, 0.7], [0.7, 0.9]))
    ['unclear (between 2 and 7 in 10)', 'likely (between 7 and 9 in 10)']
    """
    _check.choice(style, WORDING_STYLES, "style")
    given = _check.numeric(p, "p")
    if given.ndim > 1:
        raise InputError(
            "{argument} must be one probability or a list of them, got shape {got}", argument="p", got=given.shape
        )
    if not given.size:
        return []
    rows = np.atleast_1d(given)
    _check.probabilities(rows, "p", None, Hint.LOGITS_TO_DECIDE)
    low, high = word_ends(rows, interval if given.ndim or np.ndim(interval) != 1 else tuple(interval))
    words = [_phrase(*row, style) for row in zip(rows.tolist(), low.tolist(), high.tolist(), strict=True)]
    return words if given.ndim else words[0]


def word_ends(rows: Floats, interval: Any) -> tuple[Float64s, Float64s]:
    """What the words speak for: the ends of each interval, or the probability itself twice."""
    exact = rows.astype(np.float64)
    ends = (exact, exact) if interval is None else interval_ends(interval, exact)
    for end in ends:
        _check.probabilities(end, "interval", None, Hint.LOGITS_TO_DECIDE)
    return ends[0].round(FLOAT32_DECIMALS), ends[1].round(FLOAT32_DECIMALS)


def likelihood(low: float, high: float) -> str:
    """The first word of the scale whose range holds the interval."""
    return next((word for word, least, most in SCALE if least <= low and high <= most), UNCLEAR_LIKELIHOOD)


def frequency(p: float) -> str:
    """A probability as a whole number in ten, or as many as it takes for neither outcome to be none."""
    for out_of in FREQUENCY_BASES:
        if 1 - FREQUENCY_SLACK <= p * out_of <= out_of - 1 + FREQUENCY_SLACK:
            return "about " + _in(math.floor(p * out_of + 0.5 + FREQUENCY_SLACK), out_of)
    return "fewer than 1 in 10,000" if p < ONE_HALF else "more than 9,999 in 10,000"


def frequency_between(low: float, high: float) -> str:
    """An interval as whole numbers in ten, or more, rounded outwards."""
    steps = 1 if low == 0 or high == 1 else 2  # that it should be wide, at least
    out_of = next(
        (many for many in FREQUENCY_BASES if (high - low) * many >= steps - FREQUENCY_SLACK), FREQUENCY_BASES[-1]
    )
    least, most = math.floor(low * out_of + FREQUENCY_SLACK), math.ceil(high * out_of - FREQUENCY_SLACK)
    if most == out_of:
        return "anywhere from none to all" if least == 0 else f"at least {_in(least, out_of)}"
    return f"at most {_in(most, out_of)}" if least == 0 else f"between {least:,} and {most:,} in {out_of:,}"


def _phrase(p: float, low: float, high: float, style: Style) -> str:
    if style == "word":
        return likelihood(low, high)
    often = frequency(p) if low == high else frequency_between(low, high)
    return often if style == "frequency" else f"{likelihood(low, high)} ({often})"


def _in(count: int, out_of: int) -> str:
    """90 in 100 is 9 in 10."""
    while out_of > FREQUENCY_BASES[0] and count % 10 == 0:
        count, out_of = count // 10, out_of // 10
    return f"{count:,} in {out_of:,}"
