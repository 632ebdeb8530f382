"""The input of recalibrators: scores, labels and points, checked once, in the form that each formula needs."""

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

SKIPPED_PACKAGES = ("believable", "sklearn", "joblib")  # a warning points at the first line outside these packages


def warn(sentence: str, category: type[Warning]) -> None:
    """Warn at the line that called this package or scikit-learn."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in SKIPPED_PACKAGES:
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, category, stacklevel=level)


# --- Scores, checked once, in the form that each formula needs --------------------------------------------------------


Input = Literal["probabilities", "logits", "scores"]
INPUTS: tuple[Input, ...] = get_args(Input)
STEPS_OF_SHARES = 1e12  # shares are rounded to multiples of 1 / STEPS_OF_SHARES: equal ratios may differ by rounding
LARGEST_FLOAT = float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores of one event (n,), or of K > 2 classes (n, K). Two columns are reduced to one.

    Differences of logits that overflow become the largest float of the same sign.

    Attributes
    ----------
    values : ndarray
        The scores: finite, and in [0, 1] for probabilities.
    input : {"probabilities", "logits", "scores"}
        The scale of the scores.
    multilabel : bool
        Whether columns are independent labels, even if there are two; a logit is then the log-odds of its label.
    ends : tuple of two ndarray, optional
        The lowest and the highest score of each cell, where a value is the mean of a cell.
    """

    values: Floats
    input: Input
    multilabel: bool = False
    ends: tuple[Float64s, Float64s] | None = None

    @classmethod
    def of(cls, array: Array, input: Input, given: object = None, multilabel: bool = False) -> Scores:
        """Check an array of shape (n,), (n, 1) or (n, K); `given` is the object it was made from."""
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
                    "{multilabel=True} needs one column of scores per label, got the scores of one event",
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
        """The number of classes; 2 for scores of one event."""
        return self.values.shape[1] if self.values.ndim == 2 else 2

    def take(self, rows: Array) -> Scores:
        """Return some of the rows."""
        return Scores(self.values[rows], self.input, self.multilabel)

    def of_class(self, k: int) -> Scores:
        """Return the scores of one class against the rest.

        A logit becomes the log-odds of its class, z_k - log(sum of exp(z_j), j != k), so that logits and their
        probabilities give the same map.
        """
        if self.input != "logits" or self.multilabel:
            return Scores(np.ascontiguousarray(self.values[:, k]), self.input)
        others = np.delete(self.values, k, axis=1).astype(np.float64)
        top = others.max(axis=1)
        with np.errstate(over="ignore", under="ignore"):
            rest = top + np.log(np.exp(others - top[:, None]).sum(axis=1))
        return Scores(_difference(self.values[:, k], rest), self.input)

    def of_pair(self, i: int, j: int) -> Scores:
        """Return the scores of class j against class i, as of two columns: p_j / (p_i + p_j), or the difference.

        If both probabilities are 0, the share is 1/2.
        """
        first, second = (self.values[:, k].astype(np.float64) for k in (i, j))
        if self.input != "probabilities":
            return Scores(_difference(second, first), self.input)
        total = first + second
        return Scores(np.divide(second, total, out=np.full(len(self), 0.5), where=total > 0), self.input)

    def with_ties(self) -> Scores:
        """Return probabilities rounded to 12 decimals; other scores as they are."""
        if self.input != "probabilities":
            return self
        return Scores(np.floor(self.values * STEPS_OF_SHARES + 0.5) / STEPS_OF_SHARES, self.input)

    def raw(self) -> Float64s:
        """Return the scores of one event as they are."""
        return self.values.astype(np.float64, copy=False)

    def lowest(self) -> Float64s:
        """Return where a step that starts at a score lies: below all rows of its cell, because a mean is rounded."""
        return self.raw() if self.ends is None else self.ends[0]

    def highest(self) -> Float64s:
        """Return where a step that ends at a score lies."""
        return self.raw() if self.ends is None else self.ends[1]

    def logit(self) -> Float64s:
        """Return the log-odds of one event, with probabilities clipped to [1e-12, 1 - 1e-12]; logits, scores as is."""
        return _kernels.clipped_logit(self.raw()) if self.input == "probabilities" else self.raw()

    def probability(self) -> Float64s:
        """Return the probabilities of one event."""
        return _kernels.sigmoid(self.values) if self.input == "logits" else self.raw()

    def mixed(self, mixing: float) -> Float64s:
        """Return the probabilities of one event, mixed with 1/2 at a rate: (1 - mixing) p + mixing / 2."""
        return np.asarray((1 - mixing) * self.probability() + mixing / 2)

    def mixed_logit(self, mixing: float) -> Float64s:
        """Return the log-odds of the mixed probabilities, at most log(2 / mixing - 1) from 0."""
        return _kernels.clipped_logit(self.mixed(mixing))

    def logs(self) -> tuple[Float64s, Float64s]:
        """Return log(1 - p) and log p of one event, p clipped to [1e-12, 1 - 1e-12]; exact in both tails for logits."""
        if self.input == "logits":
            z = self.raw()
            tail = np.log1p(np.exp(-np.abs(z)))
            return -(np.maximum(z, 0) + tail), -(np.maximum(-z, 0) + tail)
        p = np.clip(self.raw(), SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
        # The float 1 - 1e-12 is rounded, and the logits of the two ends must be exact opposites.
        return np.where(p >= 1 - SMALLEST_PROBABILITY, np.log(SMALLEST_PROBABILITY), np.log1p(-p)), np.log(p)

    def logit_matrix(self) -> Floats:
        """Return one column of logits per class: log p, with p in [1e-12, 1], or logits as they are.

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
    """Return one - other, limited to the range of floats."""
    with np.errstate(over="ignore"):
        return np.clip(np.subtract(one, other, dtype=np.float64), -LARGEST_FLOAT, LARGEST_FLOAT)


# --- Labels as column numbers, and labels that no map can be fitted to ------------------------------------------------


def encoded(
    y: Array, n_classes: int, classes: Sequence[Any] | None, columns: Sequence[str] | None
) -> tuple[Ints, Array]:
    """Return labels as column numbers, and the label of each column; `columns` are the names of a data frame."""
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
        place = [list(columns).index(word) for word in words]  # the columns have the names of the labels
        return np.asarray(place)[labels], found[np.argsort(place)]
    if y.dtype.kind == "b" and n_classes == 2:  # one of the two is missing
        return y.astype(np.intp), np.array([False, True])
    what = f"{n_classes} columns" if n_classes > 2 else "two classes"
    raise InputError(
        "{argument} has scores of {what}, but y has {n_found} labels that are not column numbers; pass classes=[...], "
        "the labels in the order of the columns",
        argument="X",
        what=what,
        n_found=len(found),
    )


def encoded_columns(y: Array, n_labels: int, classes: Sequence[Any] | None) -> tuple[Array, Array]:
    """Return whether each row has each label, and the names of the labels."""
    if y.ndim != 2 or y.shape[1] != n_labels:
        raise InputError(
            "{multilabel=True} needs y with {n_labels} columns, as X has, got shape {got}",
            argument="multilabel",
            n_labels=n_labels,
            got=y.shape,
        )
    if y.dtype.kind not in "biuf" or not np.isin(y, (0, 1)).all():
        raise InputError(
            "{multilabel=True} needs y of zeros and ones: 1 where the row has the label", argument="multilabel"
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
    """Return the number of rows of the rarest class that occurs; raise if there is only one class."""
    if multilabel:
        positives = labels.sum(axis=0)
        counts = np.minimum(positives, len(labels) - positives)
    else:
        counts = np.bincount(labels, minlength=len(classes))
    present = np.flatnonzero(counts)
    if multilabel and len(present) == 0:
        raise InputError("every label is in all rows of y or in none, so there is nothing to fit")
    if not multilabel and len(present) == 1:
        raise InputError(
            f"y has only one class, {classes.tolist()[present[0]]!r}, so no calibration map can be fitted; collect "
            "rows of the other class too"
        )
    return int(counts[present].min())


# --- Rows as points: sums at each distinct score ----------------------------------------------------------------------


def points_of(score: Float64s, w: Float64s, wy: Float64s) -> Points:
    """Return the points of rows or cells. Their w2 and w2y are not computed: recalibrators do not use them."""
    if np.all(w == 1) and np.all((wy == 0) | (wy == 1)):
        return Points(*_kernels.by_score(score, wy != 0, None))
    order = _kernels.ascending(score)
    score = score[order]
    starts = np.flatnonzero(np.append(True, score[1:] != score[:-1]))
    n = np.diff(np.append(starts, len(score)))
    w, wy = (np.add.reduceat(values[order], starts) for values in (w, wy))
    return Points(score[starts], n, w, wy, w, wy)


class MixedPoints(NamedTuple):
    """Points at the logits of mixed probabilities, and all that a map of such logits is fitted to.

    Attributes
    ----------
    mixing : float
        The rate at which probabilities were mixed with 1/2, 1 / (n + 1). Odds are then at most 2 n + 1, more than n
        rows can confirm, and the logit of a score of 0 or 1 is finite.
    z, w, wy : ndarray of shape (J,)
        The logits in ascending order, the weights there, and the weights of positives.
    low, high : float
        The range of the logits, widened to 1 about its middle if it is narrower.
    """

    mixing: float
    z: Float64s
    w: Float64s
    wy: Float64s
    low: float
    high: float

    @classmethod
    def of(cls, scores: Scores, w: Float64s, wy: Float64s, most: int) -> MixedPoints:
        """Return at most `most` points, merged from neighbours."""
        mixing = mixing_of(len(w), w)
        points = points_of(scores.mixed(mixing), w, wy)
        low, high = _kernels.clipped_logit(points.score[[0, -1]]).tolist()
        if high - low < 1:
            low, high = (low + high - 1) / 2, (low + high + 1) / 2
        points, _ = points.merged(most)
        return cls(mixing, _kernels.clipped_logit(points.score), points.w, points.wy, low, high)


def mixing_of(n_rows: int, weights: Float64s | None) -> float:
    """Return the rate at which probabilities are mixed with the uniform distribution: 1 / (n + 1).

    n is the sum of the weights, or the number of rows if that is larger: weights that are divided by their sum must not
    make all probabilities equal.
    """
    return 1 / (1 + max(n_rows, 0.0 if weights is None else float(weights.sum())))


# --- A `CellStats` as the points that maps of one event are fitted to -------------------------------------------------


MOST_WEIGHT_IN_TAILS = 0.05  # with a larger share in the outermost cells, probabilities may be wrong by 1 %


def _warn_of_coarse_tails(cells: CellStats) -> None:
    """Warn where many scores are in the first or last uniform cell, which covers all logits beyond its edge."""
    outermost = (cells.index == 1) | (cells.index == cells.grid.n_cells)  # beyond them are the cells of exactly 0 and 1
    share = cells.w[outermost].sum() / cells.w.sum()
    if cells.grid.spacing == "uniform" and share > MOST_WEIGHT_IN_TAILS:
        warn(
            f"{share:.0%} of the weight lies in the outermost of {cells.grid.n_cells} uniform cells, where all scores "
            "of a cell count as their mean; to keep them apart, count with CellStats.of(..., spacing='logit')",
            LimitWarning,
        )


class EventCells(NamedTuple):
    """Cells of one event or class: their mean scores, numbers of rows, weights, and weights of positives."""

    scores: Scores
    n: Int64s
    w: Float64s
    wy: Float64s


def cells_of_summary(summary: Summary, reads_logits: bool) -> CellStats:
    """Return the cells of an event, or of every class, on the grid that suits the method."""
    notion: Notion = "binary" if summary.kind == "binary" else "classwise"
    uniform, logit = summary.cells_of(notion), summary.cells_of(notion, spacing="logit")
    if notion == "classwise" and summary.n_classes == 2 and summary.kind == "multiclass":
        raise UndefinedError(
            "the summary holds two columns, but a map of one event is fitted to P(y = 1): count that column alone"
        )
    if reads_logits or float(np.sum(logit.w**2)) < float(np.sum(uniform.w**2)):
        return logit
    return uniform


def check_cells(cells: CellStats, multilabel: bool) -> None:
    """Raise unless the statistic holds all scores of an event or of every class."""
    if not isinstance(cells, CellStats):
        raise InputError(f"fit_from_cells takes a CellStats or a Summary, got a {type(cells).__name__}")
    if cells.view.notion not in ("binary", "classwise") or cells.view.pooled or cells.view.threshold is not None:
        raise UndefinedError(
            f"a calibration map is fitted to all scores of an event or class, not to {cells.view}: count with "
            "notion='binary' or 'classwise'"
        )
    if cells.view.multilabel != multilabel:
        counted = "independent labels" if cells.view.multilabel else "mutually exclusive classes"
        wanted = f"OneVsRest(multilabel={cells.view.multilabel})"
        raise UndefinedError(f"the statistic counts {counted}: use {wanted}")


def rarest_in(events: list[EventCells | None]) -> int:
    """Return about how many rows the rarest class has; in weighted cells it follows from the weights."""
    found = [one for one in events if one is not None]
    if not found:
        raise InputError("every label is in all rows or in none, so there is nothing to fit")
    return int(min(min(one.wy.sum(), (one.w - one.wy).sum()) * one.n.sum() / one.w.sum() for one in found))


def events_of(cells: CellStats, n_maps: int, reads_logits: bool) -> list[EventCells | None]:
    """Return the cells that each map is fitted to; None for a class that always or never occurs."""
    strata = count_points(cells)
    if len(strata) != n_maps:
        asked = "; with two classes, count with notion='binary'" if n_maps == 1 else ""
        raise UndefinedError(f"the statistic holds the scores of {len(strata)} classes, {n_maps} needed{asked}")
    found: list[EventCells | None] = []
    for stratum, points in enumerate(strata):
        never, always = not points.wy.any(), not (points.w - points.wy).any()
        if (never and n_maps > 1) or (always and cells.view.multilabel):
            found.append(None)
            continue
        if never or always:
            raise InputError("the statistic has only one class, so no calibration map can be fitted")
        own = cells.only_stratum(stratum)
        if reads_logits:
            _warn_of_coarse_tails(own)
        scores = Scores(_inside(points.score, own), "probabilities", ends=_ends(own))
        found.append(EventCells(scores, points.n, points.w, points.wy))
    return found


def _inside(mean: Float64s, cells: CellStats) -> Float64s:
    """Clip mean scores to their cells; rounding to float32, also of the edges, may have moved them outside."""
    upper = replace(cells.grid, dtype="float64").upper_edges()
    lower = np.append(0, upper[:-1])
    return np.clip(mean, np.nextafter(lower, 1)[cells.index], upper[cells.index])


def _ends(cells: CellStats) -> tuple[Float64s, Float64s]:
    """Return the lowest and the highest score of each cell, in the float type that was counted."""
    upper = cells.grid.upper_edges()
    lower = np.append(upper[:1], np.nextafter(upper[:-1], upper.dtype.type(1)))
    lower[-1] = upper[-1]  # the last cell is that of exactly 1
    return lower[cells.index].astype(np.float64), upper[cells.index].astype(np.float64)


# --- The rows of the two classes, separately, as likelihoods need them ------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class ClassScores:
    """The scores of one class.

    Attributes
    ----------
    scores : Scores
        The scores of its rows.
    weight : ndarray, or float
        The weight of each score, or one weight for all.
    noise : float
        The share of each row that counts as the other class.
    """

    scores: Scores
    weight: Float64s | float
    noise: float = 0.0

    def smoothed(self) -> ClassScores:
        """Smooth the outcomes as Platt did: each of n rows counts (n + 1) / (n + 2), the rest as the other class."""
        return replace(self, noise=1 / (self.total + 2))

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return self.weight * len(self.scores) if isinstance(self.weight, float) else float(self.weight.sum())

    def rows(self, *columns: Float64s) -> _kernels.ClassRows:
        """Return the rows with these functions of the score as columns."""
        return _kernels.ClassRows(columns, self.weight, self.noise)


def by_class(scores: Scores, w: Float64s, wy: Float64s) -> tuple[ClassScores, ClassScores]:
    """Return positives and negatives; a point that holds some of both is in both."""
    some = wy > 0
    one = float(w[0])
    if w.strides == (0,) and wy.sum() == one * np.count_nonzero(some):  # rows that all have the same weight
        return ClassScores(_where(scores, some), one), ClassScores(_where(scores, ~some), one)
    not_all = wy < w
    return (
        ClassScores(_where(scores, some), np.compress(some, wy)),
        ClassScores(_where(scores, not_all), np.compress(not_all, w - wy)),
    )


def base_log_odds(positive: ClassScores, negative: ClassScores) -> float:
    """Return the log-odds of the base rate."""
    events = positive.total * (1 - positive.noise) + negative.total * negative.noise
    return float(np.log(events) - np.log(positive.total + negative.total - events))


def warn_of_limit(limit: _kernels.ClassesLimit) -> None:
    """Warn where coefficients, or the probabilities they give, are not exact; called from `_learn_map`."""
    what = {
        "rounded": "the scores differ so little for their size that rounding changes log-odds by more than 1e-5: "
        "subtract a constant from the scores or logits first",
        "cut": "some scores are more than 1e100 times as large as others, and were limited to that",
    }
    if limit:
        warn(what[limit], LimitWarning)


def _where(scores: Scores, rows: Array) -> Scores:
    return Scores(np.compress(rows, scores.values), scores.input)
