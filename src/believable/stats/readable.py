"""`Readable`: what metrics, curves and tests ask of a statistic, and what is said where it does not hold that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from believable._types import Kind, Needs, Notion, Spacing, Strategy
from believable.errors import InputError, UndefinedError
from believable.predictions.view import View

if TYPE_CHECKING:
    from believable.stats.bins import BinStats
    from believable.stats.cells import CellStats
    from believable.stats.points import PointStats
    from believable.stats.sums import ScoreSums


class DefaultBins(int):
    """The default number of bins, which remembers that nobody asked for it.

    A statistic has bins of its own: `n_bins` that was asked for must agree with them, the default need not.
    """


class DefaultStrategy(str):
    """The default strategy, which remembers the same."""

    __slots__ = ()


TEN = DefaultBins(10)
UNIFORM: Any = DefaultStrategy("uniform")
QUANTILE: Any = DefaultStrategy("quantile")


class BinsAsked(NamedTuple):
    """The bins that are asked for, and the pairs that they are to hold; see `expected_calibration_error`."""

    n_bins: int = TEN
    strategy: Strategy = UNIFORM
    notion: Notion | None = None
    r: int | None = None
    threshold: float | None = None
    pooled: bool = False
    edges: Any = None


class Readable:
    """A statistic that metrics are read from: it gives what it holds, and refuses the rest with a sentence.

    Attributes
    ----------
    gives : frozenset of str
        What metrics may need and this holds; see `Metric.needs`.
    """

    __slots__ = ()
    gives: ClassVar[frozenset[Needs]] = frozenset()

    @property
    def problem(self) -> Kind | None:
        """The kind of predictions, where every notion of them can be asked for; None for sums, and for one view."""
        return None

    @property
    def spacing(self) -> Spacing | None:
        """The spacing of the grid, where there is one."""
        return None

    @property
    def score_type(self) -> np.dtype[Any]:
        """The type that the scores came in; float64 where that is not known."""
        return np.dtype(np.float64)

    def class_name(self, k: int) -> str:
        """What to call class k."""
        return str(k)

    def has_bins(self, n_bins: int) -> bool:
        """Whether it can be read in so many bins of equal width."""
        return False

    def holds_pairs(self) -> Self:
        """The statistic itself, or an error where it holds no pairs of scores and outcomes."""
        return self

    def read_sums(self) -> ScoreSums:
        """The sums of rows."""
        raise UndefinedError(f"this metric is read from ScoreSums, not from {type(self).__name__}")

    def read_bins(self, asked: BinsAsked) -> BinStats:
        """The sums of the bins that are asked for."""
        raise UndefinedError(f"this is read from bins, which a {type(self).__name__} does not have")

    def read_points(self, notion: Notion | None, r: int | None, logits: bool) -> PointStats:
        """The pairs by score; where `logits` are looked at, with a warning if cells are too wide for that."""
        raise UndefinedError(f"this is read from CellStats or predictions, not from {type(self).__name__}")

    def read_cells(self, notion: Notion | None) -> CellStats | None:
        """The cells of a notion; None where there are none."""
        return None

    def warn_if_crowded(self, n_bins: int) -> None:
        """Warn where the cells are too wide for so many bins of equal weight."""


class ReadableView(Readable):
    """A statistic of the pairs of one view."""

    __slots__ = ()
    view: View

    @property
    def n_classes(self) -> int:
        """Number of classes of the predictions."""
        return self.view.n_classes

    @property
    def default_notion(self) -> Notion:
        """The notion that was counted."""
        return self.view.notion

    @property
    def is_binary(self) -> bool:
        """Whether the scores are P(y = 1)."""
        return self.view.notion == "binary"


def same_question(
    view: View,
    notion: Notion | None,
    r: int | None = None,
    threshold: float | None = None,
    pooled: bool = False,
) -> None:
    """Raise unless a statistic counted what is asked.

    Nothing asked is fine: the statistic speaks for itself. A notion that is asked for, or fixed by the name of a
    metric, asks for all pairs of it, each stratum apart, unless a threshold or pooling are asked for too.
    """
    asked_of = [("notion", notion, view.notion), ("r", r, view.r), ("threshold", threshold, view.threshold)]
    for name, asked, counted in asked_of:
        strict = asked is not None or (name == "threshold" and notion is not None)
        if strict and asked != counted:
            raise UndefinedError(
                "the statistic was counted with {argument}={counted!r}, not {got!r}: count again",
                argument=name,
                counted=counted,
                got=asked,
            )
    if view.stratum is not None and notion is not None:
        raise UndefinedError(
            "the statistic holds {stratum_is} {class_of} alone, not all of {notion=}",
            stratum_is=view.stratum_is,
            class_of=view.stratum,
            notion=notion,
        )
    if view.pooled and notion is not None and not pooled:
        raise UndefinedError(
            "the statistic was counted with pooled=True: count again to keep its classes or ranks apart"
        )


def refuse_extras(what: str, **extras: Any) -> None:
    """A statistic already holds its outcomes and weights: passing them again is an error."""
    for name, value in extras.items():
        if value is not None:
            raise InputError(
                "a {what} already contains outcomes and weights: leave {argument} out", argument=name, what=what
            )
