"""Which columns of a table are the scores and the labels.

Columns are guessed by documented names only, and never where two could be meant. A weight column is never guessed: a
patient's weight is not a sample weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from believable.errors import InputError

PROB_NAMES = ("p", "prob", "probability", "score", "y_prob", "y_score", "y_pred", "pred", "prediction", "confidence")
LOGIT_NAMES = ("logit", "logits", "z", *PROB_NAMES)
LABEL_NAMES = ("y", "label", "target", "actual", "outcome", "y_true", "truth", "correct")
PROB_PREFIXES = ("p_", "prob_", "proba_")


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns taken.

    Attributes
    ----------
    prob : tuple of str
        One column of P(y = 1), or one per class.
    label : str
    weight : str or None
    classes : tuple or None
        What the columns of a matrix stand for: the ends of their names.
    """

    prob: tuple[str, ...]
    label: str
    weight: str | None = None
    classes: tuple[str | int, ...] | None = None

    def __str__(self) -> str:
        scores = self.prob[0] if len(self.prob) == 1 else f"{self.prob[0]} … {self.prob[-1]} ({len(self.prob)} classes)"
        weight = "" if self.weight is None else f", weights {self.weight}"
        return f"scores {scores}, labels {self.label}{weight}"


def choose_columns(
    names: Sequence[str],
    *,
    prob: str | None = None,
    prob_prefix: str | None = None,
    label: str | None = None,
    weight: str | None = None,
    logits: bool = False,
) -> Columns:
    """The columns asked for, the rest by their documented names; with logits, names of those are known too.

    Examples
    --------
    >>> print(choose_columns(["id", "y", "p"]))
    scores p, labels y
    >>> print(choose_columns(["label", "p_cat", "p_dog", "p_owl"]))
    scores p_cat … p_owl (3 classes), labels label
    """
    if all(_is_number(name) for name in names):
        raise InputError(f"the first line must hold the names of the columns, got {', '.join(names)}")
    known = LOGIT_NAMES if logits else PROB_NAMES
    for asked in (prob, label, weight):
        if asked is not None and asked not in names:
            raise InputError(f"there is no column {asked!r}; there are {', '.join(names)}")
    if prob is not None and prob_prefix is not None:
        raise InputError("name one column of scores (prob) or the prefix of several (prob_prefix), not both")
    label = label or _guess(names, LABEL_NAMES, "labels", "label", taken=prob)
    if prob is None and prob_prefix is None:
        prob_prefix = _guess_prefix([name for name in names if name not in (label, weight)], known)
    if prob_prefix is not None:
        return _matrix(names, prob_prefix, label, weight)
    prob = prob or _guess(names, known, "scores", "prob", taken=label)
    if len({prob, label, weight}) < 3:
        raise InputError(f"scores {prob!r}, labels {label!r} and weights {weight!r} must be different columns")
    return Columns((prob,), label, weight)


def _guess(names: Sequence[str], known: Sequence[str], what: str, option: str, taken: str | None) -> str:
    found = [name for name in names if name.lower() in known and name != taken]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"several columns could be the {what}: {', '.join(found)}; choose one with {option}")
    raise InputError(
        f"no column has a name known for {what} ({', '.join(known)}); choose one of {', '.join(names)} with {option}"
    )


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _guess_prefix(names: Sequence[str], known: Sequence[str]) -> str | None:
    """A known prefix that at least two columns share; an error where another could be meant."""
    found = [p for p in PROB_PREFIXES if sum(name.startswith(p) for name in names) >= 2]
    single = [name for name in names if name.lower() in known]
    if len(found) + len(single) > 1 and found:
        meant = ", ".join([*(f"{prefix}*" for prefix in found), *single])
        raise InputError(f"several columns could be the scores: {meant}; choose with prob or prob_prefix")
    return found[0] if found else None


def _matrix(names: Sequence[str], prefix: str, label: str, weight: str | None) -> Columns:
    found = [name for name in names if name.startswith(prefix) and name not in (label, weight)]
    if len(found) < 2:
        raise InputError(f"fewer than two columns begin with {prefix!r}; there are {', '.join(names)}")
    ends = [name.removeprefix(prefix) for name in found]
    if not all(end.isdecimal() for end in ends):
        return Columns(tuple(found), label, weight, tuple(ends))
    numbered = sorted(zip(map(int, ends), found, strict=True))
    return Columns(tuple(name for _, name in numbered), label, weight, tuple(number for number, _ in numbered))
