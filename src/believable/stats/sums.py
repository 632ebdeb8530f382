"""`ScoreSums`: the sums behind proper scores, accuracy and sharpness, with second moments for their intervals.

Intervals without the rows need the variation between rows. For 1-D scores it follows from the cells. For a matrix it
does not, because cells hold each class separately; so second moments of the rows' contributions are counted too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self, final, get_args

import numpy as np

from believable import _kernels
from believable._types import Array, Float64s, Floats, Kind, Needs
from believable.errors import MergeError, SchemaError, UndefinedError
from believable.predictions import Predictions
from believable.stats.counts import as_checked
from believable.stats.readable import Readable
from believable.stats.saved import field_of, float_list, number_in, number_out, open_saved
from believable.stats.statistic import Statistic

OF_ROWS = ("brier", "nll", "correct", "confidence", "entropy")
SECOND_MOMENTS = ("w2x", "w2xx", "w2y", "w2y_brier", "by_chance")


def row_moments(terms: Mapping[str, Array], weight: Float64s, multilabel: bool) -> dict[str, Float64s]:
    """Return the fields `SECOND_MOMENTS` of `ScoreSums`, from the terms of a matrix's rows.

    An infinite log loss counts as 0 here: there is no interval then, and the moments are not used.
    """
    square = weight * weight
    of_rows = [_by_row(terms[name]) for name in OF_ROWS]
    brier, y, p = of_rows[0], terms["y"], terms["p"]
    return {
        "w2x": np.array([np.sum(square * x) for x in of_rows]),
        "w2xx": np.array([np.sum(square * x * x) for x in of_rows]),
        "w2y": np.asarray(np.einsum("i,ij->j", square, y)),
        "w2y_brier": np.asarray(np.einsum("i,ij->j", square * brier, y)),
        "by_chance": np.array([np.sum(square * one) for one in _variances(p, terms["entropy"], multilabel)]),
    }


def _by_row(x: Array) -> Float64s:
    x = np.where(np.isinf(x), 0, x)
    return np.asarray(x if x.ndim == 1 else x.sum(axis=1), np.float64)


def _variances(p: Float64s, entropy: Float64s, multilabel: bool) -> tuple[Float64s, Float64s]:
    """Return the variances of a row's Brier score and log loss, if its label is drawn from its own probabilities."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if multilabel:  # independent labels: p (1 - p) (1 - 2p)^2 and p (1 - p) logit(p)^2
            both = p * (1 - p)
            logit = np.where(both > 0, np.log(p) - np.log1p(-p), 0)
            return (both * (1 - 2 * p) ** 2).sum(axis=1), (both * logit**2).sum(axis=1)
        squares = (p * p).sum(axis=1)
        log = np.where(p > 0, np.log(p), 0)
    brier = 4 * ((p**3).sum(axis=1) - squares**2)
    nll = (p * log**2).sum(axis=1) - entropy.sum(axis=1) ** 2
    return np.maximum(brier, 0), np.maximum(nll, 0)


# --- `ScoreSums`: the sums behind proper scores, accuracy, sharpness and the tests that need no bins ------------------


SUMS_SCHEMA = "believable.ScoreSums"
_BY_CLASS = ("wp", "wy", "deviation")
_SCALARS = ("w", "w2", "brier", "nll", "correct", "confidence", "entropy", "spread", "spread_variance", "w2_squared")


def _nothing() -> Float64s:
    return np.empty(0)


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ScoreSums(Readable, Statistic):
    """Weighted sums over the rows (over the entries, for multilabel).

    Attributes
    ----------
    kind, n_classes
        Kind of predictions and number of classes.
    n : int
        Number of rows (of entries, for multilabel).
    w, w2 : float
        Sums of the weights and of their squares.
    brier, nll : float
        Sums of w (p - y)^2, over all classes of a matrix, and of -w log p_label; the latter may be infinite.
    correct, confidence, entropy : float
        Sums of w 1[predicted class = label], w max_k p_k (max(p, 1 - p) for 1-D scores), w entropy in nats.
    spread, spread_variance : float
        Sums of w (y - p)(1 - 2p) and w^2 (1 - 2p)^2 p (1 - p), over all classes: Spiegelhalter's statistic.
    w2_squared : float
        Sum of w^2 (p - y)^2, over all classes.
    wp, wy, deviation : ndarray
        By class (one entry for 1-D scores): sums of w p, w y and w (p - mean p)^2.
    w2x, w2xx : ndarray
        For intervals of a matrix: sums over rows of w^2 x and w^2 x^2, with x the row's contribution to brier, nll,
        correct, confidence and entropy. Empty for 1-D scores, where cells suffice, and if an engine did not count them.
    w2y, w2y_brier : ndarray
        By class: sums of w^2 y and of w^2 y times the row's Brier score. May be empty, too.
    by_chance : ndarray
        Sums of w^2 times the variances of a row's Brier score and log loss if its label is drawn from its own
        probabilities. May be empty, too.

    Examples
    --------
    >>> a = ScoreSums.of(Predictions([0.1, 0.8], [0, 1]))
    >>> b = ScoreSums.of(Predictions([0.5], [1]))
    >>> (a + b).n, round((a + b).brier, 12)
    (3, 0.3)
    """

    gives: ClassVar[frozenset[Needs]] = frozenset({"sums"})
    kind: Kind
    n_classes: int
    n: int
    w: float
    w2: float
    brier: float
    nll: float
    correct: float
    confidence: float
    entropy: float
    spread: float
    spread_variance: float
    w2_squared: float
    wp: Float64s
    wy: Float64s
    deviation: Float64s
    w2x: Float64s = field(default_factory=_nothing)
    w2xx: Float64s = field(default_factory=_nothing)
    w2y: Float64s = field(default_factory=_nothing)
    w2y_brier: Float64s = field(default_factory=_nothing)
    by_chance: Float64s = field(default_factory=_nothing)

    def __post_init__(self) -> None:
        for name in (*_BY_CLASS, *SECOND_MOMENTS):  # a statistic may be shared, so it must not change
            getattr(self, name).flags.writeable = False

    @classmethod
    def of(cls, predictions: Predictions) -> ScoreSums:
        """Sum over the rows of checked predictions."""
        return as_checked(predictions).remembered("sums", lambda: _of(predictions))

    def __add__(self, other: Self) -> ScoreSums:
        if not isinstance(other, ScoreSums):
            return NotImplemented
        if (self.kind, self.n_classes) != (other.kind, other.n_classes):
            raise MergeError(
                f"cannot merge statistics: they count {self.kind} predictions of {self.n_classes} classes and "
                f"{other.kind} predictions of {other.n_classes}"
            )
        added = {
            item.name: getattr(self, item.name) + getattr(other, item.name)
            for item in fields(self)[2:]
            if item.name not in SECOND_MOMENTS or len(getattr(self, item.name)) == len(getattr(other, item.name))
        }
        # Each part keeps deviations from its own mean (Chan et al. 1983): a sum of squares minus a square would cancel.
        mine, others = self.class_weight, other.class_weight
        added["deviation"] += (self.wp / mine - other.wp / others) ** 2 * (mine * others / (mine + others))
        return ScoreSums(kind=self.kind, n_classes=self.n_classes, **added)

    @property
    def n_rows(self) -> int:
        """Number of rows, whether or not each entry of a row is counted."""
        return self.n // (self.n_classes if self.kind == "multilabel" else 1)

    @property
    def default_notion(self) -> None:
        """None: sums over rows do not depend on a notion."""
        return None

    def holds_pairs(self) -> Self:
        """Raise an error: sums over rows do not record which score had which outcome."""
        raise UndefinedError("this cannot be computed from ScoreSums: pass CellStats or the predictions")

    def read_sums(self) -> ScoreSums:
        """Return the statistic itself."""
        return self

    @property
    def class_weight(self) -> float:
        """Weight of each class, which is that of the rows."""
        return self.w / (self.n_classes if self.kind == "multilabel" else 1)

    def _form(self) -> dict[str, Any]:
        saved: dict[str, Any] = {"schema": SUMS_SCHEMA, "version": 1}
        saved |= {"kind": self.kind, "n_classes": self.n_classes, "n": self.n}
        saved |= {name: number_out(getattr(self, name)) for name in _SCALARS}
        saved |= {name: getattr(self, name) for name in _BY_CLASS}
        return saved | {name: getattr(self, name) for name in SECOND_MOMENTS if len(getattr(self, name))}

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> ScoreSums:
        """Restore a statistic from `to_dict`; a damaged or foreign dictionary raises an error."""
        open_saved(saved, SUMS_SCHEMA, 1)
        kind, n_classes = field_of(saved, "kind", str), field_of(saved, "n_classes", int)
        by_class = {name: float_list(saved, name) for name in _BY_CLASS}
        width = 1 if kind == "binary" else n_classes
        few = n_classes < 2 or (kind == "binary" and n_classes > 2)
        if kind not in get_args(Kind) or few or any(len(values) != width for values in by_class.values()):
            raise SchemaError(f"the saved sums do not belong to {kind} predictions of {n_classes} classes")
        moments = {name: float_list(saved, name) for name in SECOND_MOMENTS if name in saved}
        lengths = {"w2y": width, "w2y_brier": width, "w2x": len(OF_ROWS), "w2xx": len(OF_ROWS), "by_chance": 2}
        if any(len(values) != lengths[name] or np.any(values < 0) for name, values in moments.items()):
            raise SchemaError("the saved second moments do not belong to such sums")
        sums: dict[str, Any] = by_class | moments | {name: number_in(saved, name, name == "nll") for name in _SCALARS}
        if sums["w"] <= 0 or sums["w2"] <= 0 or field_of(saved, "n", int) < 1:
            raise SchemaError("the saved sums must count at least one row of positive weight")
        for name, value in sums.items():
            if name != "spread" and np.any(np.asarray(value) < 0):
                raise SchemaError(f"the saved {name} cannot be negative")
        return cls(kind=kind, n_classes=n_classes, n=field_of(saved, "n", int), **sums)


def log_loss_terms(scores: Floats, labels: Array, kind: Kind, eps: float = 0.0) -> Float64s:
    """Return -log of the probability of the observed outcome for each row or entry; infinite if it is 0.

    For soft labels and distributions, its expectation.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind == "multiclass" and labels.ndim == 2:
            p, share = scores.astype(np.float64), labels.astype(np.float64)
            cost = -share * np.log(np.clip(p, eps, 1 - eps) if eps else p)
            return np.asarray(np.where(share > 0, cost, 0).sum(axis=1))
        if kind == "multiclass":
            occurred = _kernels.label_scores(scores, labels).astype(np.float64)
            return np.asarray(-np.log(np.clip(occurred, eps, 1 - eps) if eps else occurred))
        p = scores.astype(np.float64)
        if eps:
            p = np.clip(p, eps, 1 - eps)
        if labels.dtype.kind != "f":
            return np.asarray(-np.where(labels != 0, np.log(p), np.log1p(-p)))
        y = labels.astype(np.float64)
        cost, cost_if_not = -y * np.log(p), -(1 - y) * np.log1p(-p)
        return np.asarray(np.where(y > 0, cost, 0) + np.where(y < 1, cost_if_not, 0))


def _of(predictions: Predictions) -> ScoreSums:
    """Compute the sums in the fastest of three ways; tests compare the other two with `_of_block`."""
    kind, n, n_classes = predictions.kind, len(predictions), predictions.n_classes
    if kind == "binary":
        return from_pass((predictions.moments(_kernels.binary_pass) or _kernels.PassSums.invalid()).sums)
    if kind == "multiclass" and not predictions.has_distributions:
        found = predictions.row_moments(_kernels.matrix_sums) or _kernels.MatrixSums.invalid()
        return ScoreSums(kind=kind, n_classes=n_classes, **found.sums)
    parts = (_of_block(predictions, rows) for rows in _kernels.row_blocks(n, n_classes))
    return sum(parts, start=next(parts))


def from_pass(sums: dict[str, Any]) -> ScoreSums:
    """Return the sums of 1-D scores, from the result of `_kernels.binary_pass`."""
    made: dict[str, Any] = {name: np.array([sums[name]]) for name in _BY_CLASS}
    return ScoreSums(kind="binary", n_classes=2, n=sums["n"], **{name: sums[name] for name in _SCALARS}, **made)


def _of_block(predictions: Predictions, rows: slice) -> ScoreSums:
    terms = row_terms(predictions, rows)
    p, y, correct = terms["p"], terms["y"], terms["correct"]
    weight = np.ones(len(p)) if predictions.weights is None else predictions.weights[rows]
    w2 = weight * weight

    def total(values: Array, weights: Float64s = weight) -> float:
        """Return a weighted sum, without a matrix product, whose threads wait for each other on a busy machine."""
        if predictions.weights is None:
            return float(values.sum())
        return float((weights * (values if values.ndim == 1 else values.sum(axis=1))).sum())

    def by_class(values: Float64s) -> Float64s:
        return np.asarray(np.einsum("i,ij->j", weight, values))

    nll = terms["nll"]
    times = p.shape[1] if predictions.kind == "multilabel" else 1  # every entry counts as one prediction
    ones = np.ones(correct.shape)  # summed like the others, so that a share of all rows is exactly 1
    mean = by_class(p) / weight.sum()
    added: dict[str, Any] = {
        name: total(terms[name]) for name in ("brier", "correct", "confidence", "entropy", "spread")
    }
    if predictions.kind != "binary":
        added |= row_moments(terms, weight, predictions.kind == "multilabel")
    return ScoreSums(
        kind=predictions.kind,
        n_classes=predictions.n_classes,
        n=len(p) * times,
        w=total(ones),
        w2=float(w2.sum()) * times,
        nll=float(np.sum(weight * nll if nll.ndim == 1 else weight[:, None] * nll)),
        **added,
        spread_variance=total(terms["spread_variance"], w2),
        w2_squared=total(terms["brier"], w2),
        wp=by_class(p),
        wy=by_class(y),
        deviation=by_class((p - mean) ** 2),
    )


def row_terms(predictions: Predictions, rows: slice = slice(None)) -> dict[str, Float64s]:
    """Return what each row (for some, each class) adds to the sums, unweighted; p and y have one column per class."""
    kind, scores, labels = predictions.kind, predictions.scores[rows], predictions.targets[rows]
    p = scores.astype(np.float64)
    p = p[:, None] if kind == "binary" else p
    if kind == "multiclass" and labels.ndim == 1:
        y = np.zeros_like(p)
        y[np.arange(len(p)), labels] = 1
    else:
        y = labels.astype(np.float64).reshape(p.shape)
    squared = y * (1 - p) ** 2 + (1 - y) * p**2  # (p - y)^2, in expectation over a soft label or a distribution
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.where(p > 0, p * np.log(p), 0)
        if kind != "multiclass":
            entropy -= np.where(p < 1, (1 - p) * np.log1p(-p), 0)
    if kind == "multiclass":
        confidence, top = _kernels.top_one(scores)
        correct = y[np.arange(len(p)), top]
    else:
        confidence, correct = np.maximum(p, 1 - p), np.where(p > 0.5, y, 1 - y)
    return {
        "p": p,
        "y": y,
        "brier": squared,
        "nll": log_loss_terms(scores, labels, kind),
        "correct": correct.astype(np.float64),
        "confidence": confidence.astype(np.float64),
        "entropy": entropy,
        "spread": (y - p) * (1 - 2 * p),
        "spread_variance": (1 - 2 * p) ** 2 * p * (1 - p),
    }
