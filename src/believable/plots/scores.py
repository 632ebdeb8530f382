"""The histogram of scores that hangs below a diagram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from believable._types import Float64s
from believable.curves import ReliabilityTable
from believable.plots._style import BAR, plain
from believable.points import Points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HISTOGRAM_BINS = 25


@dataclass(frozen=True, slots=True, eq=False)
class ScoreHistogram:
    """How the weight is spread over the scores.

    Attributes
    ----------
    edges : ndarray of shape (bins, 2)
        Lower (open) and upper (closed) end of each bin; the first also owns 0.
    weight : ndarray
    total : float
        The weight of all; more than that of the bins where they end before the largest score.
    """

    edges: Float64s
    weight: Float64s
    total: float

    @classmethod
    def of(cls, points: Points, dtype: Any, limit: float = 1.0) -> ScoreHistogram:
        """25 bins of equal width from 0 to a limit, with edges rounded to the type of the scores."""
        edges = (np.arange(HISTOGRAM_BINS + 1) * limit / HISTOGRAM_BINS).astype(dtype).astype(np.float64)
        index = np.searchsorted(edges[1:], points.score, side="left")
        weight = np.bincount(index, points.w, HISTOGRAM_BINS + 1).astype(np.float64)
        return cls(np.column_stack([edges[:-1], edges[1:]]), weight[:HISTOGRAM_BINS], float(points.total))


def draw_score_histogram(table: ReliabilityTable | ScoreHistogram, ax: Axes) -> Axes:
    """Draw how the weight is spread over the scores: shares for bins of equal width, density otherwise."""
    width = np.diff(table.edges, axis=1).ravel()
    share = table.weight / (table.total if isinstance(table, ScoreHistogram) else table.weight.sum())
    equal = bool(np.allclose(width, width[0], atol=0, rtol=1e-4))
    height = 100 * share if equal else share / np.where(width > 0, width, np.inf)
    ax.bar(table.edges[:, 0], height, width, align="edge", color=BAR, edgecolor="white", lw=0.5)
    ax.set(xlim=(0, table.edges[-1, 1]), ylabel="% of rows" if equal else "density")
    plain(ax)
    return ax


def hang_histogram(table: ReliabilityTable | ScoreHistogram, ax: Axes, *, drop: float = 0.29) -> Axes:
    """Draw the histogram below an ax, on the same scores; the label of the scores moves down to it."""
    limits = ax.get_xlim()
    below = ax.inset_axes((0, -drop, 1, drop - 0.07), sharex=ax)  # as wide as the diagram, whatever its aspect
    draw_score_histogram(table, below)
    ax.set_xlim(limits)
    below.set_xlabel(ax.get_xlabel())
    ax.set_xlabel("")
    ax.tick_params(labelbottom=False)
    return below
