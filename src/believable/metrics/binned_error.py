"""The general binned error; the binned metrics differ in notion, bins and norm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

import numpy as np

from believable import _check
from believable._types import Array, Bins, Convention, Float64s, Floats, Norm, Notion, Strategy
from believable.binning import Edges
from believable.errors import InputError, UndefinedError
from believable.stats import BinStats
from believable.stats.source import TEN, UNIFORM, Source, as_number, not_empty, number_of_bins, rows_in

NORM_NAMES: dict[str, float | None] = {"l1": 1.0, "l2": 2.0, "max": None}


def binned_error(stats: BinStats, norm: Norm = 1) -> float:
    """Return (sum_c W_c/T |acc_c - conf_c|^p)^(1/p) over the non-empty bins c; the largest gap for norm="max"."""
    not_empty(stats)
    value: float = as_number(power_mean(stats.w, stats.wp, stats.wy, norm))
    return value


def power_mean(w: Float64s, wp: Float64s, wy: Float64s, norm: Norm) -> Array:
    """Return the error in bins of these weights, weighted scores and weighted outcomes, along the last axis."""
    power = check_norm(norm)
    if power == 1:
        return np.asarray(np.abs(wy - wp).sum(axis=-1) / w.sum(axis=-1))
    gap = np.abs((wy - wp) / w)
    if power is None:
        return np.asarray(gap.max(axis=-1))
    share = w / w.sum(axis=-1, keepdims=True)
    largest = gap.max(axis=-1, keepdims=True)
    scaled = gap / np.where(largest > 0, largest, 1)  # high powers would underflow otherwise
    return np.asarray(largest[..., 0] * np.sum(share * scaled**power, axis=-1) ** (1 / power))


def check_norm(norm: Any) -> float | None:
    """Return the norm, checked to be a number of at least 1; None for "max"."""
    if isinstance(norm, str) and norm in NORM_NAMES:
        return NORM_NAMES[norm]
    if not isinstance(norm, (int, float, np.integer, np.floating)):
        raise InputError(
            "{argument} must be a number of at least 1, or 'l1', 'l2' or 'max', got {got!r}", argument="norm", got=norm
        )
    return _check.number(norm, "norm", 1)


# --- other libraries' bins, so that an old number can be reproduced and explained -------------------------------------
# Each rule follows its source, oddities included, and is tested against the values recorded in `tests/oracle`. This
# package's own bins are in `believable.binning`.


class Assigned(NamedTuple):
    """The bin of each pair by some rule.

    Attributes
    ----------
    bin_of : ndarray
        The bin whose means the pair enters.
    n_bins : int
        Number of bins.
    score : ndarray
        The score that is averaged.
    counted : ndarray or None
        The bin whose number of pairs it enters, if that is another one.
    """

    bin_of: Array
    n_bins: int
    score: Array
    counted: Array | None = None


@dataclass(frozen=True, slots=True)
class ConventionalBins:
    """The pairs of some predictions in another library's bins."""

    outcome: Array
    weight: Array
    given: Floats
    notion: Notion
    assigned: Assigned

    @classmethod
    def of(
        cls,
        source: Source,
        convention: Convention,
        n_bins: Bins,
        strategy: Strategy,
        notion: Notion | None,
        refused: Mapping[str, Any],
    ) -> ConventionalBins:
        """Assign the pairs; `refused` holds options that no other library has."""
        _check.choice(convention, get_args(Convention), "convention")
        _check.choice(strategy, get_args(Strategy), "strategy")
        rows = rows_in(source)
        if rows is None:
            raise UndefinedError(
                "{convention=} makes its own bins: pass the predictions, not a statistic",
                convention=convention,
                argument="convention",
            )
        n_bins = _check.positive_integer(number_of_bins(rows, n_bins), "n_bins")
        for name, value in refused.items():
            if value is not None:
                raise InputError(
                    "{convention=} takes n_bins, strategy and norm, not {name}",
                    convention=convention,
                    argument="convention",
                    name=name,
                )
        if rows.weights is not None and convention != "calibre":
            raise InputError(
                "{convention=} does not support weights: leave sample_weight out",
                convention=convention,
                argument="convention",
            )
        if strategy == "quantile" and convention in ("torchmetrics", "relplot"):
            raise InputError("{convention=} supports uniform bins only", convention=convention, argument="convention")
        if convention == "netcal" and rows.kind == "multiclass" and rows.n_classes == 2:
            notion = notion or "binary"  # netcal takes two columns as P(y = 1)
        view = rows.view(notion)
        if view.n_strata > 1:
            raise InputError(
                "{convention=} supports the notions binary and confidence only",
                convention=convention,
                argument="convention",
            )
        score, outcome, weight, *_ = rows.all_pairs(view)
        given, outcome = score, outcome.astype(np.float64)
        if convention == "torchmetrics" and rows.kind == "multiclass":
            score = score.astype(np.float32)
        weight = np.ones(len(score)) if weight is None else weight
        return cls(outcome, weight, given, view.notion, _RULES[convention](score, weight, n_bins, strategy))

    def error(self, norm: Norm) -> float:
        """Return the binned error by the other library's rule."""
        bin_of, n_bins, score, counted = self.assigned
        w = self.weight
        n = np.bincount(bin_of if counted is None else counted, w, n_bins).astype(np.float64)
        total = np.bincount(bin_of, w, n_bins)
        safe = np.where(total > 0, total, 1)
        conf, acc = (np.bincount(bin_of, w * values, n_bins) / safe for values in (score, self.outcome))
        gap = np.where(n > 0, np.abs(acc - conf), 0)
        power = check_norm(norm)
        if power is None:
            return float(gap.max())
        return float((n / n.sum() @ gap**power) ** (1 / power))

    def edges(self) -> Edges | None:
        """Return edges that divide these scores in the same way: the largest score of each bin; None for split ties."""
        bins, of = np.unique(self.assigned.bin_of, return_inverse=True)
        last, first = np.zeros(len(bins)), np.ones(len(bins))
        np.maximum.at(last, of, self.given)
        np.minimum.at(first, of, self.given)
        if np.any(last[:-1] >= first[1:]):
            return None
        return Edges((0.0, *last[:-1].tolist(), 1.0), self.given.dtype.name, "quantile")


def conventional_error(
    source: Source,
    convention: Convention,
    n_bins: Bins,
    strategy: Strategy,
    norm: Norm,
    notion: Notion | None,
    refused: Mapping[str, Any],
) -> float:
    """Return the binned error by another library's rule; `refused` holds options that no other library has."""
    return ConventionalBins.of(source, convention, n_bins, strategy, notion, refused).error(norm)


def in_own_bins(source: Source, options: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return options without `convention` that divide these scores in the same way; None if none do."""
    if options.get("convention") is None:
        return {name: value for name, value in options.items() if name != "convention"}
    choices = {"n_bins": TEN, "strategy": UNIFORM, "notion": None} | dict(options)
    found = ConventionalBins.of(
        source, choices["convention"], choices["n_bins"], choices["strategy"], choices["notion"], {}
    )
    edges = found.edges()
    norm = {"norm": options["norm"]} if "norm" in options else {}
    return None if edges is None else norm | {"notion": found.notion, "edges": edges}


def _scikit_learn(score: Array, weight: Array, n_bins: int, strategy: Strategy) -> Assigned:
    """Right-closed bins; float64 edges from linspace or interpolated percentiles, with float32 scores widened."""
    steps = np.linspace(0, 1, n_bins + 1)
    edges = steps if strategy == "uniform" else np.percentile(score, steps * 100)
    index = np.searchsorted(edges[1:-1], score.astype(np.float64), side="left")
    return Assigned(index, n_bins, score)


def _torchmetrics(score: Array, weight: Array, n_bins: int, strategy: Strategy) -> Assigned:
    """Left-closed bins in the dtype of the scores (float32 for a matrix); a score of 1 has its own bin."""
    index = np.searchsorted(_torch_linspace(n_bins, score.dtype.type), score, side="right") - 1
    return Assigned(index, n_bins + 1, score)


def _torch_linspace(n_bins: int, dtype: Any) -> Array:
    """Reproduce torch.linspace(0, 1, M + 1): k * step below the middle; 1 - (M - k) * step, rounded once, above."""
    from fractions import Fraction

    step = dtype(1) / dtype(n_bins)
    k = np.arange(n_bins + 1)
    from_above = [float(1 - Fraction(float(step)) * (n_bins - i)) for i in range(n_bins + 1)]
    return np.where(k < (n_bins + 1) // 2, step * k.astype(dtype), np.asarray(from_above, dtype))


def _netcal(score: Array, weight: Array, n_bins: int, strategy: Strategy) -> Assigned:
    """Left-closed bins after clipping to [eps, 1 - eps]; counts use float64 edges, means edges in the scores' dtype."""
    eps = np.finfo(score.dtype).eps
    score = np.clip(score, eps, 1 - eps)
    steps = np.linspace(0, 1, n_bins + 1)
    edges = steps if strategy == "uniform" else np.concatenate([[0], np.quantile(score, steps)[1:-1], [1]])
    rounded = edges.astype(score.dtype)
    if np.any(np.diff(rounded) == 0):
        raise UndefinedError("netcal refuses quantile bins whose edges coincide: these scores have too many ties")
    counted = np.searchsorted(edges, score.astype(np.float64), side="right") - 1
    averaged = np.searchsorted(rounded, score, side="right") - 1
    return Assigned(averaged, n_bins, score, counted)


def _relplot(score: Array, weight: Array, n_bins: int, strategy: Strategy) -> Assigned:
    """Bins by the truncated quotient of score and width, in the scores' dtype; 1 mostly has its own bin."""
    index = (score / score.dtype.type(1 / n_bins)).astype(np.intp)
    return Assigned(index, n_bins + 1, score)


def _calibre(score: Array, weight: Array, n_bins: int, strategy: Strategy) -> Assigned:
    """Left-closed linspace bins in float64, or bins of equal mass over distinct scores; never more bins than rows."""
    n_bins = min(n_bins, len(score))
    if strategy == "uniform":
        inner = np.linspace(0, 1, n_bins + 1)[1:-1]
        index = np.searchsorted(inner, score.astype(np.float64), side="right")
        return Assigned(index, n_bins, score)
    values, of = np.unique(score, return_inverse=True)
    mass = np.bincount(of, weight)
    reached = np.searchsorted(np.cumsum(mass) / mass.sum(), np.arange(1, n_bins) / n_bins, side="left") + 1
    closing = np.unique(reached[reached < len(values)])
    index = np.searchsorted(closing, np.arange(len(values)), side="right")[of]
    return Assigned(index, n_bins, score)


def _uncertainty_calibration(score: Array, weight: Array, n_bins: int, strategy: Strategy) -> Assigned:
    """Right-closed bins in float64; edges at k/M, or at midpoints between parts of the sorted scores, merged."""
    if strategy == "uniform":
        upper = np.arange(1, n_bins + 1) / n_bins
    else:
        ordered = np.sort(score)
        parts = np.array_split(ordered, min(n_bins, len(ordered)))
        cut = np.cumsum([len(part) for part in parts])[:-1]
        upper = np.unique(np.append(((ordered[cut - 1] + ordered[cut]) / 2).astype(np.float64), 1.0))
    index = np.searchsorted(upper, score.astype(np.float64), side="left")
    return Assigned(index, len(upper), score)


def _array_split(score: Array, weight: Array, n_bins: int, strategy: Strategy) -> Assigned:
    """Parts of equal size of the sorted scores; the first n mod M parts have one row more."""
    return _in_parts([len(part) for part in np.array_split(score, n_bins)], score)


def _floor_split(score: Array, weight: Array, n_bins: int, strategy: Strategy) -> Assigned:
    """Parts of n // M rows of the sorted scores; the last part takes the rest."""
    size = len(score) // n_bins
    return _in_parts([*[size] * (n_bins - 1), len(score) - (n_bins - 1) * size], score)


def _in_parts(sizes: list[int], score: Array) -> Assigned:
    """Return parts of the stably sorted scores; ties are split, so the value depends on the order of rows."""
    index = np.empty(len(score), np.intp)
    index[np.argsort(score, kind="stable")] = np.repeat(np.arange(len(sizes)), sizes)
    return Assigned(index, len(sizes), score)


_RULES: dict[Convention, Callable[[Array, Array, int, Strategy], Assigned]] = {
    "scikit-learn": _scikit_learn,
    "torchmetrics": _torchmetrics,
    "netcal": _netcal,
    "relplot": _relplot,
    "calibre": _calibre,
    "uncertainty-calibration": _uncertainty_calibration,
    "array_split": _array_split,
    "floor_split": _floor_split,
}
