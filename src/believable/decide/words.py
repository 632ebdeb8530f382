"""Probabilities in words: how likely, and how certain that is."""

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
FLOAT32_DECIMALS = 7  # the precision of float32: its 0.9 counts as 0.9, not slightly less
FREQUENCY_SLACK = 1e-9  # for rounding: 0.07 * 100 is slightly more than 7


class Likelihood(NamedTuple):
    """A word and its range of probabilities, both ends included."""

    word: str
    low: float
    high: float


ONE_HALF = 0.5
# Stronger words come first. The IPCC has no counterpart of "more likely than not"; "less likely than not" is added.
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
    """Put a probability into words: a likelihood word, and a frequency in brackets.

    The words are the likelihood scale of the IPCC, whose ranges overlap and include their ends: virtually certain
    99–100 %, very likely 90–100 %, likely 66–100 %, about as likely as not 33–66 %, unlikely 0–33 %, very unlikely
    0–10 %, exceptionally unlikely 0–1 %. The strongest word that fits is used: 0.95 is very likely, 0.66 is likely,
    0.33 unlikely. People read such words differently; a number beside them helps (Budescu et al. 2014).

    The frequency is a whole number in 10 or, where that would be above 9 or below 1, in 100, in 1,000 or in 10,000, so
    that the rarer outcome never rounds to none ("about 9 in 10", "about 96 in 100", "about 3 in 1,000"). Beyond that it
    is "fewer than 1" or "more than 9,999 in 10,000". No outcome is ever called certain.

    With an interval, the words cover all of it: the strongest word whose range contains the whole interval, "more
    likely than not" for all above a half, "less likely than not" for all below. If none does, because it contains a
    half and extends beyond 33–66 %, the word is "unclear". The frequency is "between 7 and 9 in 10", with ends rounded
    outwards to a grid of which the interval spans at least two steps (one, if it reaches 0 or 1), or "at least 9 in
    10", "at most 1 in 10" where they round to all or none.

    Numbers are rounded to seven decimals. The words are only as good as the probability: recalibrate first.

    Parameters
    ----------
    p : float or array-like of shape (n,)
        Probabilities.
    interval : tuple (low, high) or array-like of shape (n, 2), optional
        The ends for each, for example from `believable.recalibrate.VennAbers.predict_interval`; p lies between them.
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
    """Return the ends of each interval, or the probability itself twice."""
    exact = rows.astype(np.float64)
    ends = (exact, exact) if interval is None else interval_ends(interval, exact)
    for end in ends:
        _check.probabilities(end, "interval", None, Hint.LOGITS_TO_DECIDE)
    return ends[0].round(FLOAT32_DECIMALS), ends[1].round(FLOAT32_DECIMALS)


def likelihood(low: float, high: float) -> str:
    """Return the first word of the scale whose range contains the interval."""
    return next((word for word, least, most in SCALE if least <= low and high <= most), UNCLEAR_LIKELIHOOD)


def frequency(p: float) -> str:
    """Return a probability as a whole number in 10, or in more if the rarer outcome would round to none."""
    for out_of in FREQUENCY_BASES:
        if 1 - FREQUENCY_SLACK <= p * out_of <= out_of - 1 + FREQUENCY_SLACK:
            return "about " + _in(math.floor(p * out_of + 0.5 + FREQUENCY_SLACK), out_of)
    return "fewer than 1 in 10,000" if p < ONE_HALF else "more than 9,999 in 10,000"


def frequency_between(low: float, high: float) -> str:
    """Return an interval as whole numbers in 10, or in more, rounded outwards."""
    steps = 1 if low == 0 or high == 1 else 2  # the least number of steps that the interval should span
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
    """Return a frequency in lowest powers of ten: 90 in 100 is 9 in 10."""
    while out_of > FREQUENCY_BASES[0] and count % 10 == 0:
        count, out_of = count // 10, out_of // 10
    return f"{count:,} in {out_of:,}"
