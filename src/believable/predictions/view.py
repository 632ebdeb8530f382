"""Notions of calibration as views: which (score, outcome) pairs are compared.

A notion turns a multiclass problem into pairs: the probability of the predicted class and whether it was correct, the
probability of each class and whether it was the true one, and so on. A `View` describes the pairs; `Predictions.pairs`
yields them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, Self, get_args

from believable import _check
from believable._types import Array, Floats, Ints, Notion
from believable.errors import InputError

KEPT_APART = ("top_label", "classwise", "classwise_top_r", "top_r")
RANKED = ("classwise_top_r", "top_r", "rth", "within_top_r")


class Pairs(NamedTuple):
    """A block of pairs: scores, outcomes (0/1, or shares), weights (None: all 1) and strata (None: all 0).

    `row`, if it was asked for, is the row of the predictions that each pair comes from.
    """

    score: Floats
    outcome: Array
    weight: Array | None
    stratum: Ints | None
    row: Ints | None = None


@dataclass(frozen=True, slots=True)
class View:
    """A notion of calibration with its settings: which pairs a statistic counts.

    Some notions keep classes (classwise, top_label, classwise_top_r) or ranks (top_r) apart, each with its own bins.
    Each such class or rank is called a stratum; the other notions have only one.

    Parameters
    ----------
    notion : {"binary", "confidence", "top_label", "classwise", "classwise_top_r", "top_r", "rth", "within_top_r"}
    n_classes : int
        Number of classes K; 2 for binary predictions.
    r : int, optional
        The rank, for the ranked notions.
    threshold : float, optional
        Keep only entries with a score above it.
    pooled : bool
        Count all strata (classes or ranks) in the same bins.
    multilabel : bool
        The columns are independent of each other.
    stratum : int, optional
        Select a single class or rank, counted from 0, of a statistic that keeps them apart.
    """

    notion: Notion
    n_classes: int = 2
    r: int | None = None
    threshold: float | None = None
    pooled: bool = False
    multilabel: bool = False
    stratum: int | None = None

    def __post_init__(self) -> None:
        _check.choice(self.notion, get_args(Notion), "notion")
        _check.positive_integer(self.n_classes, "n_classes", 2)
        if self.notion in RANKED:
            if self.r is None:
                raise InputError(
                    "{notion=} needs {argument}, the rank: pass r=3, for example", argument="r", notion=self.notion
                )
            object.__setattr__(self, "r", _check.positive_integer(self.r, "r", 1, self.n_classes))
        elif self.r is not None:
            raise InputError(
                "{argument} is for the notions {ranked}, not for {got!r}",
                argument="r",
                ranked=", ".join(RANKED),
                got=self.notion,
            )
        if self.threshold is not None:
            object.__setattr__(self, "threshold", _check.number(self.threshold, "threshold", 0, 1))
        # With one stratum there is nothing to pool.
        object.__setattr__(self, "pooled", bool(self.pooled) and self.notion in KEPT_APART)
        if self.stratum is not None:
            _check.positive_integer(self.stratum, "stratum", 0, self.n_classes - 1)
        _check.choice(self.multilabel, (True, False), "multilabel")
        if self.multilabel and self.notion != "classwise":
            raise InputError(
                "multilabel predictions need {notion='classwise'}, got {got!r}",
                argument="notion",
                got=self.notion,
            )

    @property
    def n_strata(self) -> int:
        """The number of classes or ranks that are kept apart; 1 if none are."""
        if self.pooled or self.stratum is not None or self.notion not in KEPT_APART:
            return 1
        return (self.r or 1) if self.stratum_is == "rank" else self.n_classes

    @property
    def stratum_is(self) -> Literal["class", "rank"]:
        """Whether a stratum is a class or a rank."""
        return "rank" if self.notion in RANKED and self.notion != "classwise_top_r" else "class"

    @property
    def pairs_per_row(self) -> int:
        """The number of pairs of each row, ignoring the threshold; with several, they are dependent."""
        if self.stratum is not None:
            return 1
        return {"classwise": self.n_classes, "classwise_top_r": self.r or 1, "top_r": self.r or 1}.get(self.notion, 1)

    group = _check.renamed_attribute("group", "stratum")
    n_groups = _check.renamed_attribute("n_groups", "n_strata")

    def to_dict(self) -> dict[str, Any]:
        """Return a plain dictionary, in which `stratum` keeps its former name, as in files saved earlier."""
        return {"group" if name == "stratum" else name: value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """Return the view that `to_dict` wrote."""
        return cls(**{"stratum" if name == "group" else name: value for name, value in saved.items()})


View.__init__ = _check.renamed(group="stratum")(View.__init__)  # type: ignore[method-assign]
