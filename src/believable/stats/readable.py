"""`Readable`: what metrics, curves and tests request of a statistic, and the errors if it does not hold that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from believable._types import Kind, Needs, Notion, Spacing, Strategy
from believable.errors import InputError, UndefinedError
from believable.predictions.view import PAIRS_ARE_1D, View

if TYPE_CHECKING:
    from believable.stats.bins import BinStats
    from believable.stats.cells import CellStats
    from believable.stats.points import PointStats
    from believable.stats.sums import ScoreSums


class DefaultBins(int):
    """The default number of bins, marked as a default.

    A statistic has its own bins: an `n_bins` that the user passed must agree with them, the default need not.
    """


class DefaultStrategy(str):
    """The default strategy, marked as a default."""

    __slots__ = ()


TEN = DefaultBins(10)
UNIFORM: Any = DefaultStrategy("uniform")
QUANTILE: Any = DefaultStrategy("quantile")


class BinsAsked(NamedTuple):
    """The bins requested and the pairs to count in them; see `expected_calibration_error`."""

    n_bins: Any = TEN  # an integer, or "cube_root" until `count_asked` knows the rows
    strategy: Strategy = UNIFORM
    notion: Notion | None = None
    r: int | None = None
    threshold: float | None = None
    pooled: bool = False
    edges: Any = None
    bin_by: Any = None


class Readable:
    """A statistic from which metrics are computed; it raises an error when asked for what it does not hold.

    Attributes
    ----------
    gives : frozenset of str
        Which of the needs of metrics it meets; see `Metric.needs`.
    """

    __slots__ = ()
    gives: ClassVar[frozenset[Needs]] = frozenset()

    @property
    def problem(self) -> Kind | None:
        """Kind of predictions, if several notions can be requested; None for sums, and for a single view."""
        return None

    @property
    def counted_rows(self) -> int | None:
        """Number of rows; None if it is not known, because pairs were counted and a row may have any number of them."""
        return None

    @property
    def spacing(self) -> Spacing | None:
        """Spacing of the grid; None if there is no grid."""
        return None

    @property
    def score_type(self) -> np.dtype[Any]:
        """Data type of the scores; float64 if it is not known."""
        return np.dtype(np.float64)

    def class_name(self, k: int) -> str:
        """Return the name of class k."""
        return str(k)

    def has_bins(self, n_bins: int) -> bool:
        """Return whether it can be divided into this number of bins of equal width."""
        return False

    def holds_pairs(self) -> Self:
        """Return the statistic itself; raise an error if it holds no pairs of scores and outcomes."""
        return self

    def as_pairs(self) -> Self:
        """Return the same statistic, of (confidence, correct) pairs; raise unless it counted 1-D scores."""
        raise InputError(PAIRS_ARE_1D, argument="pairs")

    def read_sums(self) -> ScoreSums:
        """Return the sums over rows."""
        raise UndefinedError(f"this metric needs ScoreSums or predictions, not a {type(self).__name__}")

    def read_bins(self, asked: BinsAsked) -> BinStats:
        """Return the sums of the bins requested."""
        raise UndefinedError(f"this needs bins, which a {type(self).__name__} does not have")

    def read_points(self, notion: Notion | None, r: int | None, logits: bool) -> PointStats:
        """Return the pairs by score; with `logits`, warn if cells are too wide for these."""
        raise UndefinedError(f"this needs CellStats or predictions, not a {type(self).__name__}")

    def read_cells(self, notion: Notion | None) -> CellStats | None:
        """Return the cells of a notion; None if there are none."""
        return None

    def warn_if_crowded(self, n_bins: int) -> None:
        """Warn if the cells are too wide for this number of bins of equal weight."""


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
    """Raise an error unless a statistic counted what is requested.

    Without a request, any statistic will do. A notion that is requested, or fixed by the name of a metric, means all of
    its pairs with each stratum apart, unless a threshold or pooling is requested too.
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
            "the statistic holds only {stratum_is} {class_of}, not all of {notion=}",
            stratum_is=view.stratum_is,
            class_of=view.stratum,
            notion=notion,
        )
    if view.pooled and notion is not None and not pooled:
        raise UndefinedError(
            "the statistic was counted with pooled=True: count again to keep its classes or ranks apart"
        )


def refuse_extras(what: str, **extras: Any) -> None:
    """Raise an error if outcomes or weights are passed together with a statistic, which already contains them."""
    for name, value in extras.items():
        if value is not None:
            raise InputError(
                "a {what} already contains outcomes and weights: leave {argument} out", argument=name, what=what
            )
