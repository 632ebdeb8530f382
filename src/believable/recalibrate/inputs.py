"""What goes into a recalibrator: scores, labels and points, checked once and in the form that a formula wants."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from believable import _check, _kernels
from believable._kernels.probabilities import SMALLEST_PROBABILITY
from believable._types import Array, Float64s, Floats, Int64s, Ints, Notion
from believable.errors import Hint, InputError, LimitWarning, UndefinedError
from believable.stats import CellStats, Summary
from believable.stats.source import Points, count_points

SKIPPED_PACKAGES = ("believable", "sklearn", "joblib")  # a warning points at the line outside of these


def warn(sentence: str, category: type[Warning]) -> None:
    """Warn where this package, or scikit-learn, was called from."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in SKIPPED_PACKAGES:
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, category, stacklevel=level)


# --- Scores, checked once, in whatever form a formula wants -----------------------------------------------------------


Input = Literal["probabilities", "logits", "scores"]
INPUTS: tuple[Input, ...] = get_args(Input)
LARGEST_FLOAT = float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores of one event (n,), or of K > 2 classes (n, K). Two columns have become one.

    Differences of logits that no float can hold become the largest float, of the same sign.

    Attributes
    ----------
    values : ndarray
        Finite; in [0, 1] for probabilities.
    input : {"probabilities", "logits", "scores"}
        What they are.
    multilabel : bool
        Columns are events of their own, two of them also; a logit is the log-odds of its event.
    ends : tuple of two ndarray, optional
        The lowest and the highest score that each value stands for, where it is the mean of a cell.
    """

    values: Floats
    input: Input
    multilabel: bool = False
    ends: tuple[Float64s, Float64s] | None = None

    @classmethod
    def of(cls, array: Array, input: Input, given: object = None, multilabel: bool = False) -> Scores:
        """Check an array of shape (n,), (n, 1) or (n, K); `given` is what it was made from."""
        _check.choice(input, INPUTS, "input")
        values = _check.numeric(array, "X")
        if values.ndim not in (1, 2):
            raise InputError(
                "{argument} must be 1-D (one score per row) or 2-D (one column per class), got {got}",
                argument="X",
                got=values.shape,
            )
        if input != "probabilities":
            _check.finite(values, "X", None)
        else:
            _check.probabilities(values, "X", None, Hint.LOGITS_TO_FIT)
            if values.ndim == 2 and values.shape[1] > 1 and not multilabel:
                _check.row_sums(
                    values, array if given is None else given, None, "X", "pass input='logits' or input='scores'"
                )
        if multilabel:
            if values.ndim == 1 or values.shape[1] == 1:
                raise InputError(
                    "{multilabel=True} needs scores with one column per label, got those of one event",
                    argument="multilabel",
                )
            return cls(values, input, multilabel)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        elif values.ndim == 2 and values.shape[1] == 2:
            first, second = values[:, 0], values[:, 1]
            values = second if input == "probabilities" else _difference(second.astype(np.float64), first)
        return cls(values, input)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def n_classes(self) -> int:
        """K; two for scores of one event."""
        return self.values.shape[1] if self.values.ndim == 2 else 2

    def take(self, rows: Array) -> Scores:
        """Some of the rows."""
        return Scores(self.values[rows], self.input, self.multilabel)

    def of_class(self, k: int) -> Scores:
        """The scores of one class against the rest.

        A logit becomes the log-odds of its class, z_k - log(sum of exp(z_j), j != k), so that logits and the
        probabilities they stand for give one map.
        """
        if self.input != "logits" or self.multilabel:
            return Scores(np.ascontiguousarray(self.values[:, k]), self.input)
        others = np.delete(self.values, k, axis=1).astype(np.float64)
        top = others.max(axis=1)
        with np.errstate(over="ignore", under="ignore"):
            rest = top + np.log(np.exp(others - top[:, None]).sum(axis=1))
        return Scores(_difference(self.values[:, k], rest), self.input)

    def raw(self) -> Float64s:
        """Scores of one event as they came."""
        return self.values.astype(np.float64, copy=False)

    def lowest(self) -> Float64s:
        """Where a step belongs that begins with a score: below all rows of its cell, as a mean is rounded."""
        return self.raw() if self.ends is None else self.ends[0]

    def highest(self) -> Float64s:
        """Where a step belongs that ends with a score."""
        return self.raw() if self.ends is None else self.ends[1]

    def logit(self) -> Float64s:
        """Log-odds of one event, of probabilities in [1e-12, 1 - 1e-12]; logits and scores as they are."""
        return _kernels.clipped_logit(self.raw()) if self.input == "probabilities" else self.raw()

    def probability(self) -> Float64s:
        """Probabilities of one event."""
        return _kernels.sigmoid(self.values) if self.input == "logits" else self.raw()

    def logs(self) -> tuple[Float64s, Float64s]:
        """log(1 - p) and log p of one event, of p in [1e-12, 1 - 1e-12]; exact in both tails for logits."""
        if self.input == "logits":
            z = self.raw()
            tail = np.log1p(np.exp(-np.abs(z)))
            return -(np.maximum(z, 0) + tail), -(np.maximum(-z, 0) + tail)
        p = np.clip(self.raw(), SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
        # The float 1 - 1e-12 is not quite that, and the two ends have to be opposites.
        return np.where(p >= 1 - SMALLEST_PROBABILITY, np.log(SMALLEST_PROBABILITY), np.log1p(-p)), np.log(p)

    def logit_matrix(self) -> Floats:
        """A column of logits per class: log p of probabilities in [1e-12, 1], logits as they are.

        One event has the columns log(1 - p), log p, or -z/2, z/2.
        """
        if self.values.ndim == 1:
            if self.input == "probabilities":
                return np.column_stack(self.logs())
            half = self.raw() / 2
            return np.column_stack([-half, half])
        if self.input == "probabilities":
            clipped = np.maximum(self.values, SMALLEST_PROBABILITY)
            return np.log(clipped, out=clipped)
        return self.values


def _difference(one: Floats, other: Floats) -> Float64s:
    """one - other; the largest float where that is beyond it."""
    with np.errstate(over="ignore"):
        return np.clip(np.subtract(one, other, dtype=np.float64), -LARGEST_FLOAT, LARGEST_FLOAT)


# --- Labels as numbers of columns, and labels that no map can be learnt from ------------------------------------------


def encoded(
    y: Array, n_classes: int, classes: Sequence[Any] | None, columns: Sequence[str] | None
) -> tuple[Ints, Array]:
    """Numbers of columns, and the label of each column; `columns` are the names of a data frame."""
    if classes is not None:
        if len(classes) != n_classes:
            raise InputError(
                "{argument} must name {n_classes} classes in the order of the columns, got {got}",
                argument="classes",
                n_classes=n_classes,
                got=len(classes),
            )
        return _check.named_labels(y, classes, None), np.asarray(classes)
    if y.dtype.kind in "iuf" and y.min() >= 0 and y.max() <= n_classes - 1:
        return y.astype(np.intp, copy=False), np.arange(n_classes).astype(y.dtype)
    found, labels = np.unique(y, return_inverse=True)
    if len(found) == n_classes:
        words = [str(label) for label in found.tolist()]
        if columns is None or set(words) != set(columns):
            return labels, found
        place = [list(columns).index(word) for word in words]  # columns that are called what the labels are
        return np.asarray(place)[labels], found[np.argsort(place)]
    if y.dtype.kind == "b" and n_classes == 2:  # one of the two is missing
        return y.astype(np.intp), np.array([False, True])
    what = f"{n_classes} columns" if n_classes > 2 else "two classes"
    raise InputError(
        "{argument} has scores of {what}, y holds {n_found} labels that are not numbers of columns; pass "
        "classes=[...], the labels in the order of the columns",
        argument="X",
        what=what,
        n_found=len(found),
    )


def encoded_columns(y: Array, n_labels: int, classes: Sequence[Any] | None) -> tuple[Array, Array]:
    """Whether each label is in each row, and the names of the labels."""
    if y.ndim != 2 or y.shape[1] != n_labels:
        raise InputError(
            "{multilabel=True} needs y with {n_labels} columns, as X has, got shape {got}",
            argument="multilabel",
            n_labels=n_labels,
            got=y.shape,
        )
    if y.dtype.kind not in "biuf" or not np.isin(y, (0, 1)).all():
        raise InputError(
            "{multilabel=True} needs y of zeros and ones: whether each label is in each row", argument="multilabel"
        )
    if classes is not None and len(classes) != n_labels:
        raise InputError(
            "{argument} must name {n_labels} labels in the order of the columns, got {got}",
            argument="classes",
            n_labels=n_labels,
            got=len(classes),
        )
    return y.astype(bool), np.arange(n_labels) if classes is None else np.asarray(classes)


def fewest_rows(labels: Array, classes: Array, multilabel: bool) -> int:
    """Rows of the rarest class that occurs; an error where one class is all there is."""
    if multilabel:
        happened = labels.sum(axis=0)
        counts = np.minimum(happened, len(labels) - happened)
    else:
        counts = np.bincount(labels, minlength=len(classes))
    present = np.flatnonzero(counts)
    if multilabel and len(present) == 0:
        raise InputError("every label is in all rows of y or in none, so no map can be learnt")
    if not multilabel and len(present) == 1:
        raise InputError(
            f"y holds one class only, {classes.tolist()[present[0]]!r}: there is nothing to tell it from, so no map "
            "can be learnt; collect rows of the other class too"
        )
    return int(counts[present].min())


# --- Rows as points: sums at each distinct score ----------------------------------------------------------------------


def points_of(score: Float64s, w: Float64s, wy: Float64s) -> Points:
    """The points behind rows or cells. Their w2 and w2y are those of rows of weight 1: maps have no use for them."""
    if np.all(w == 1) and np.all((wy == 0) | (wy == 1)):
        return Points(*_kernels.by_score(score, wy != 0, None))
    order = _kernels.ascending(score)
    score = score[order]
    starts = np.flatnonzero(np.append(True, score[1:] != score[:-1]))
    n = np.diff(np.append(starts, len(score)))
    w, wy = (np.add.reduceat(values[order], starts) for values in (w, wy))
    return Points(score[starts], n, w, wy, w, wy)


# --- A `CellStats` as the points that maps of one event are learnt from -----------------------------------------------


MOST_WEIGHT_IN_TAILS = 0.05  # of the weight; with so much of it in the outermost cells a map may be off by one per cent


def _warn_of_coarse_tails(cells: CellStats) -> None:
    """Warn where many scores are in the first or last uniform cell, which holds all logits from there on."""
    outermost = (cells.index == 1) | (cells.index == cells.grid.n_cells)  # beyond them the cells of exactly 0 and 1
    share = cells.w[outermost].sum() / cells.w.sum()
    if cells.grid.spacing == "uniform" and share > MOST_WEIGHT_IN_TAILS:
        warn(
            f"{share:.0%} of the weight lies in the outermost of {cells.grid.n_cells} uniform cells, too wide to tell "
            "such scores apart: all count as the mean of their cell; count with CellStats.of(..., spacing='logit')",
            LimitWarning,
        )


class EventCells(NamedTuple):
    """Cells of one event or class: where they are, how many rows they hold, their weight and that of positives."""

    scores: Scores
    n: Int64s
    w: Float64s
    wy: Float64s


def cells_of_summary(summary: Summary, reads_logits: bool) -> CellStats:
    """The cells of an event, or of every class, on the grid that suits a map."""
    notion: Notion = "binary" if summary.kind == "binary" else "classwise"
    uniform, logit = summary.cells_of(notion), summary.cells_of(notion, spacing="logit")
    if notion == "classwise" and summary.n_classes == 2 and summary.kind == "multiclass":
        raise UndefinedError("the summary holds two columns, a map of one event is learnt from P(y = 1): count that")
    if reads_logits or float(np.sum(logit.w**2)) < float(np.sum(uniform.w**2)):
        return logit
    return uniform


def check_cells(cells: CellStats, multilabel: bool) -> None:
    """Raise unless the statistic holds all scores of an event, or of every class."""
    if not isinstance(cells, CellStats):
        raise InputError(f"fit_from_cells takes a CellStats or a Summary, got a {type(cells).__name__}")
    if cells.view.notion not in ("binary", "classwise") or cells.view.pooled or cells.view.threshold is not None:
        raise UndefinedError(
            f"a map is learnt from all scores of an event or class, not from {cells.view}: count with "
            "notion='binary' or 'classwise'"
        )
    if cells.view.multilabel != multilabel:
        counted = "independent labels" if cells.view.multilabel else "classes of which one happens"
        wanted = f"OneVsRest(multilabel={cells.view.multilabel})"
        raise UndefinedError(f"the statistic counts {counted}: {wanted} is for those")


def rarest_in(events: list[EventCells | None]) -> int:
    """About how many rows the rarest class has; cells that are weighted know it by weight alone."""
    found = [one for one in events if one is not None]
    if not found:
        raise InputError("every label is in all rows or in none, so no map can be learnt")
    return int(min(min(one.wy.sum(), (one.w - one.wy).sum()) * one.n.sum() / one.w.sum() for one in found))


def events_of(cells: CellStats, n_maps: int, reads_logits: bool) -> list[EventCells | None]:
    """The points of each map; None for a class about which nothing can be learnt."""
    strata = count_points(cells)
    if len(strata) != n_maps:
        asked = "; count with notion='binary' where there are two" if n_maps == 1 else ""
        raise UndefinedError(f"the statistic holds {len(strata)} sets of scores, {n_maps} are needed{asked}")
    found: list[EventCells | None] = []
    for stratum, points in enumerate(strata):
        never, always = not points.wy.any(), not (points.w - points.wy).any()
        if (never and n_maps > 1) or (always and cells.view.multilabel):
            found.append(None)
            continue
        if never or always:
            raise InputError("the statistic holds one class only: no map can be learnt")
        own = cells.only_stratum(stratum)
        if reads_logits:
            _warn_of_coarse_tails(own)
        scores = Scores(_inside(points.score, own), "probabilities", ends=_ends(own))
        found.append(EventCells(scores, points.n, points.w, points.wy))
    return found


def _inside(mean: Float64s, cells: CellStats) -> Float64s:
    """Mean scores kept in their cells, out of which rounding (of float32, also that of the edges) may have put them."""
    upper = replace(cells.grid, dtype="float64").upper_edges()
    lower = np.append(0, upper[:-1])
    return np.clip(mean, np.nextafter(lower, 1)[cells.index], upper[cells.index])


def _ends(cells: CellStats) -> tuple[Float64s, Float64s]:
    """The lowest and the highest score of each cell, in the type that was counted."""
    upper = cells.grid.upper_edges()
    lower = np.append(upper[:1], np.nextafter(upper[:-1], upper.dtype.type(1)))
    lower[-1] = upper[-1]  # the cell of exactly 1
    return lower[cells.index].astype(np.float64), upper[cells.index].astype(np.float64)


# --- The rows of the two classes apart, as likelihoods want them ------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class ClassScores:
    """The scores of one class.

    Attributes
    ----------
    scores : Scores
    weight : ndarray, or float
        One for each score, or one for all.
    noise : float
        The share of each that counts as the other class.
    """

    scores: Scores
    weight: Float64s | float
    noise: float = 0.0

    def smoothed(self) -> ClassScores:
        """Outcomes moved inwards as Platt did: of n rows each counts (n + 1) / (n + 2), and the rest to the others."""
        return replace(self, noise=1 / (self.total + 2))

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return self.weight * len(self.scores) if isinstance(self.weight, float) else float(self.weight.sum())

    def rows(self, *columns: Float64s) -> _kernels.ClassRows:
        """The rows with these functions of the score."""
        return _kernels.ClassRows(columns, self.weight, self.noise)


def by_class(scores: Scores, w: Float64s, wy: Float64s) -> tuple[ClassScores, ClassScores]:
    """Positives and negatives; a point that holds some of both is in both."""
    happened = wy > 0
    one = float(w[0])
    if w.strides == (0,) and wy.sum() == one * np.count_nonzero(happened):  # whole rows, all of one weight
        return ClassScores(_where(scores, happened), one), ClassScores(_where(scores, ~happened), one)
    not_happened = wy < w
    return (
        ClassScores(_where(scores, happened), np.compress(happened, wy)),
        ClassScores(_where(scores, not_happened), np.compress(not_happened, w - wy)),
    )


def base_log_odds(positive: ClassScores, negative: ClassScores) -> float:
    """The log-odds of the event, whatever the score."""
    happened = positive.total * (1 - positive.noise) + negative.total * negative.noise
    return float(np.log(happened) - np.log(positive.total + negative.total - happened))


def warn_of_limit(limit: _kernels.ClassesLimit) -> None:
    """Say where coefficients are not exact, or not when they are applied; called from `_learn_map`."""
    what = {
        "rounded": "the scores differ so little, for their size, that rounding changes log-odds by more than 1e-5: "
        "subtract a constant from scores or logits before they are given",
        "cut": "some scores are 1e100 times as large as others, and were taken as just that",
    }
    if limit:
        warn(what[limit], LimitWarning)


def _where(scores: Scores, rows: Array) -> Scores:
    return Scores(np.compress(rows, scores.values), scores.input)
