"""`Counts`: sums of weights, scores and outcomes by (stratum, bin), the base class of `BinStats` and `CellStats`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Self, TypeVar

import numpy as np

from believable import _check, _kernels
from believable._types import Array, Float64s, Floats, Int64s, Ints
from believable.errors import InputError, MergeError, SchemaError, UndefinedError
from believable.predictions import Predictions, View
from believable.predictions.view import MIXED_PAIRS
from believable.stats.readable import ReadableView
from believable.stats.saved import field_of, float_list, integer_list, open_saved
from believable.stats.statistic import Statistic, schema_of

DENSE_CODES = 1 << 21  # with more possible codes, only those that occur are stored
# Blocks much shorter than the table of sums would spend most of their time adding the table.
ROWS_PER_CODE, MAX_ROWS_PER_BLOCK = 8, 1 << 20
FEWER_PAIRS = 4  # with this many times fewer pairs than codes, sorting the pairs is faster than scanning the table
SUMS = ("ny", "w", "wp", "wpp", "wy", "wpy", "w2", "w2p", "w2pp", "w2y", "w2py")
# Without weights the two sums of each pair are equal, so the saved form omits the first.
SAME_WITHOUT_WEIGHTS = {"wy": "ny", "w2": "w", "w2p": "wp", "w2pp": "wpp", "w2y": "wy", "w2py": "wpy"}
ONE_PAIR_PER_ROW = ("binary", "confidence", "top_label", "rth")
_PARTS = (
    *(("ny", "n"), ("wp", "w"), ("wpp", "wp"), ("wy", "w"), ("wpy", "wp")),
    *(("w2p", "w2"), ("w2pp", "w2p"), ("w2y", "w2"), ("w2py", "w2p")),
)

_ARRAYS = attrgetter("key", "n", *SUMS)

Assign = Callable[[Floats, Ints | None], Ints]
SomeCounts = TypeVar("SomeCounts", bound="Counts")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Counts(ReadableView, Statistic):
    """Sums with one entry per non-empty (stratum, bin), in ascending order of `key`.

    Attributes
    ----------
    view : View
        The pairs that were counted.
    key : ndarray of int64
        stratum * bins per stratum + bin.
    n : ndarray of int64
        Number of pairs.
    ny : ndarray
        Sum of outcomes without weights.
    w, wp, wpp, wy, wpy : ndarray
        Sums over pairs of w, w p, w p^2, w y, w p y.
    w2, w2p, w2pp, w2y, w2py : ndarray
        The same with w^2 in place of w, for variances.
    """

    view: View
    key: Int64s
    n: Int64s
    ny: Float64s
    w: Float64s
    wp: Float64s
    wpp: Float64s
    wy: Float64s
    wpy: Float64s
    w2: Float64s
    w2p: Float64s
    w2pp: Float64s
    w2y: Float64s
    w2py: Float64s

    def __post_init__(self) -> None:
        for array in {
            id(array): array for array in _ARRAYS(self)
        }.values():  # without weights, many fields are the same array
            array.setflags(write=False)  # a statistic may be shared, so it must not change

    def __repr__(self) -> str:
        view = self.view
        what = [view.notion, *(f"{name}={getattr(view, name)}" for name in ("r", "threshold") if getattr(view, name))]
        what += ["pooled"] if view.pooled else []
        what += [] if view.stratum is None else [f"{view.stratum_is} {view.stratum}"]
        return f"{type(self).__name__}({', '.join(what)}, n={int(self.n.sum()):,}, {len(self.n):,} occupied)"

    @property
    def counted_rows(self) -> int | None:
        """Number of rows, where each row has one pair; None otherwise."""
        view = self.view
        whole = view.threshold is None and view.stratum is None
        return int(self.n.sum()) if whole and view.notion in ONE_PAIR_PER_ROW else None

    @property
    @abstractmethod
    def per_stratum(self) -> int:
        """Number of keys per stratum."""

    @abstractmethod
    def _mismatch(self, other: Self) -> str | None:
        """Return the reason why the two cannot be added; None if they can."""

    @abstractmethod
    def _layout(self) -> dict[str, Any]:
        """Return the meaning of the keys, as a plain dictionary."""

    # --- reading ---

    @property
    def stratum(self) -> Int64s:
        """Class or rank of each entry; 0 if the view has one stratum."""
        return self.key // self.per_stratum

    @property
    def index(self) -> Int64s:
        """Bin or cell of each entry."""
        return self.key % self.per_stratum

    @property
    def conf(self) -> Float64s:
        """Mean score of each entry."""
        return np.asarray(self.wp / self.w)

    @property
    def acc(self) -> Float64s:
        """Observed frequency (mean outcome) of each entry."""
        return np.asarray(self.wy / self.w)

    @property
    def gap(self) -> Float64s:
        """Gap acc - conf of each entry: positive if the scores are too low, negative if they are too high."""
        return np.asarray((self.wy - self.wp) / self.w)

    @property
    def effective_n(self) -> Float64s:
        """Effective number of pairs of each entry, (sum w)^2 / sum w^2."""
        return np.asarray(self.w**2 / self.w2)

    def as_pairs(self) -> Self:
        """Return the same statistic, of (confidence, correct) pairs; raise unless it counted 1-D scores."""
        return replace(self, view=self.view.as_pairs())

    group = _check.renamed_attribute("group", "stratum")
    per_group = _check.renamed_attribute("per_group", "per_stratum")
    only_group = _check.renamed_attribute("only_group", "only_stratum")

    # --- adding ---

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        reason = MIXED_PAIRS if self.view.are_pairs != other.view.are_pairs else self._mismatch(other)
        if reason is not None:
            raise MergeError(f"cannot merge statistics: {reason}")
        return replace(self, **_merged(self, other))

    def _only(self, stratum: int) -> dict[str, Any]:
        """Return the view and sums of one stratum; it is a slice, because keys are sorted."""
        if not 0 <= stratum < self.view.n_strata:
            raise InputError(f"there are {self.view.n_strata} classes or ranks, from 0: got {stratum!r}")
        here = slice(*np.searchsorted(self.key, [stratum * self.per_stratum, (stratum + 1) * self.per_stratum]))
        view = replace(self.view, stratum=stratum) if self.view.n_strata > 1 else self.view
        kept = {name: getattr(self, name)[..., here] for name in ("n", *SUMS)}
        return {"view": view, "key": self.key[here] - stratum * self.per_stratum, **kept}

    def _rekeyed(self, keys: Int64s) -> dict[str, Any]:
        """Return the sums under new keys; entries with the same new key are added."""
        return gather(keys, {name: getattr(self, name) for name in ("n", *SUMS)})

    # --- saving ---

    def _form(self) -> dict[str, Any]:
        saved: dict[str, Any] = {"schema": schema_of(type(self)), "version": 1, "view": self.view.to_dict()}
        saved |= self._layout()
        saved |= {"key": self.key, "n": self.n}
        for name in SUMS:
            values = getattr(self, name)
            same = SAME_WITHOUT_WEIGHTS.get(name)
            if same is None or not np.array_equal(values, getattr(self, same)):
                saved[name] = values
        return saved


def _merged(a: Counts, b: Counts) -> dict[str, Any]:
    """Return the key, n and sums of both; the keys of the shorter are looked up in, or inserted into, the longer."""
    a, b = (a, b) if len(a.key) >= len(b.key) else (b, a)
    place = np.searchsorted(a.key, b.key)
    new = np.append(a.key, -1)[place] != b.key
    key = np.insert(a.key, place[new], b.key[new])
    of_b = place + np.cumsum(new, dtype=np.intp) - new
    of_a = np.delete(np.arange(len(key)), of_b[new])

    def both(mine: Array, others: Array) -> Array:
        values = np.zeros(len(key), mine.dtype)
        values[of_a] = mine
        values[of_b] += others
        return values

    # Without weights, many sums are the same array; keep it that way.
    columns = {name: (getattr(a, name), getattr(b, name)) for name in ("n", *SUMS)}
    distinct = {(id(mine), id(others)): (mine, others) for mine, others in columns.values()}
    added = {ids: both(*pair) for ids, pair in distinct.items()}
    return {"key": key} | {name: added[id(mine), id(others)] for name, (mine, others) in columns.items()}


def gather(keys: Int64s, columns: dict[str, Array]) -> dict[str, Any]:
    """Add up entries that share a key."""
    if not len(keys):
        return {"key": keys, **columns}
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return {"key": ordered[starts]} | {name: np.add.reduceat(column[order], starts) for name, column in columns.items()}


def not_empty(stats: SomeCounts) -> SomeCounts:
    """Return the statistic, or raise an error if a threshold left nothing."""
    if not len(stats.key):
        raise UndefinedError(f"no score is above threshold={stats.view.threshold}: there is nothing to measure")
    return stats


def as_checked(predictions: Any) -> Predictions:
    """Return the predictions, or raise an error if they are not a `Predictions`."""
    if not isinstance(predictions, Predictions):
        raise InputError("statistics are counted from checked predictions: pass Predictions(predictions, actuals)")
    return predictions


def check_sets_of_edges(edges: Sequence[Any], view: View) -> None:
    """Raise unless there is one set of edges for all strata of a view, or one for each."""
    if len(edges) not in (1, view.n_strata):
        raise InputError(
            "{argument} must be one set, or one for each {stratum_is} ({n_strata}), got {got}",
            argument="edges",
            stratum_is=view.stratum_is,
            n_strata=view.n_strata,
            got=len(edges),
        )


# --- counting ---------------------------------------------------------------------------------------------------------


def count(
    predictions: Predictions, view: View, per_stratum: int, assign: Assign, squares: bool = True
) -> dict[str, Any]:
    """Return the key, n and sums of `Counts` for the pairs of a view; `assign` gives the bin of (scores, strata)."""
    n_codes = view.n_strata * per_stratum
    if squares and better_sparse(predictions, view, per_stratum):
        return _count_sparse(predictions, view, per_stratum, assign)
    total, positive = moments(predictions, n_codes, squares)
    for pairs in predictions.pairs(view, at_least=min(ROWS_PER_CODE * n_codes, MAX_ROWS_PER_BLOCK)):
        code = _code(pairs.stratum, assign(pairs.score, pairs.stratum), per_stratum)
        block_total, block_positive = _kernels.pair_sums(
            code, n_codes, pairs.score, pairs.outcome, pairs.weight, squares
        )
        total += block_total
        positive += block_positive
    return from_moments(None, total, positive)


def better_sparse(predictions: Predictions, view: View, per_stratum: int) -> bool:
    """Return whether there are too many codes, or too few pairs, for a table of all codes."""
    n_codes = view.n_strata * per_stratum
    return n_codes > DENSE_CODES or predictions.n_pairs(view) * FEWER_PAIRS < n_codes


def moments(predictions: Predictions, n_codes: int, squares: bool = True) -> Float64s:
    """Return zeros for the moments by code, of all pairs and of the positive ones."""
    return np.zeros((2, _kernels.n_moments(predictions.weights is not None, squares), n_codes))


def _count_sparse(predictions: Predictions, view: View, per_stratum: int, assign: Assign) -> dict[str, Any]:
    parts = [from_moments(np.empty(0, np.int64), *moments(predictions, 0))]
    for pairs in predictions.pairs(view, at_least=MAX_ROWS_PER_BLOCK):
        if not len(pairs.score):
            continue
        code = _code(pairs.stratum, assign(pairs.score, pairs.stratum), per_stratum)
        keys, code = np.unique(code, return_inverse=True)
        parts.append(from_moments(keys, *_kernels.pair_sums(code, len(keys), pairs.score, pairs.outcome, pairs.weight)))
    columns = {name: np.concatenate([part[name] for part in parts]) for name in ("key", "n", *SUMS)}
    return gather(columns.pop("key"), columns)


def _code(stratum: Ints | None, index: Ints, per_stratum: int) -> Ints:
    return index if stratum is None else stratum.astype(np.int64) * per_stratum + index


def from_moments(keys: Array | None, total: Float64s, positive: Float64s) -> dict[str, Any]:
    """Name the moments of the kernels and drop empty entries; the keys are 0, 1, 2, … by default."""
    if keys is None or not total[0].all():
        (kept,) = total[0].nonzero()
        if len(kept) < total.shape[1]:
            total, positive = total[:, kept], positive[:, kept]
        keys = kept if keys is None else keys[kept]
    if len(total) <= _kernels.n_moments(weighted=False, squares=True):  # all weights are 1
        (n, wp), (ny, wpy) = total[:2], positive[:2]
        w, wy, w2, w2p, w2y, w2py = n, ny, n, wp, ny, wpy
        wpp = w2pp = total[2] if len(total) == 3 else n * np.nan  # NaN if squares were not counted
    else:
        n, w, wp, w2, w2p = total[:5]
        ny, wy, wpy, w2y, w2py = positive[:5]
        wpp, w2pp = total[5:] if len(total) > 5 else np.full((2, len(keys)), np.nan)
    sums = dict(zip(SUMS, (ny, w, wp, wpp, wy, wpy, w2, w2p, w2pp, w2y, w2py), strict=True))
    return {"key": keys.astype(np.int64, copy=False), "n": n.astype(np.int64), **sums}


def count_rows(
    predictions: Predictions, view: View, per_stratum: int, bin_of_row: Ints, squares: bool = True
) -> dict[str, Any]:
    """Return the key, n and sums of `Counts` for the pairs of a view, in bins that are known for each row."""
    n_codes = view.n_strata * per_stratum
    total, positive = moments(predictions, n_codes, squares)
    for pairs in predictions.pairs(view, at_least=min(ROWS_PER_CODE * n_codes, MAX_ROWS_PER_BLOCK), numbered=True):
        assert pairs.row is not None
        code = _code(pairs.stratum, bin_of_row[pairs.row], per_stratum)
        found = _kernels.pair_sums(code, n_codes, pairs.score, pairs.outcome, pairs.weight, squares)
        total += found[0]
        positive += found[1]
    return from_moments(None, total, positive)


# --- loading ----------------------------------------------------------------------------------------------------------


def load_counts(kind: type[Counts], saved: Any) -> tuple[dict[str, Any], View]:
    """Return the checked sums and view of a saved statistic."""
    open_saved(saved, schema_of(kind), 1)
    view = load_view(saved)
    columns: dict[str, Any] = {"key": integer_list(saved, "key"), "n": integer_list(saved, "n")}
    for name in SUMS:
        present = name if name in saved else SAME_WITHOUT_WEIGHTS.get(name, name)
        columns[name] = columns[present] if name not in saved and present in columns else float_list(saved, name)
    check_columns(columns)
    return columns, view


def check_columns(columns: Mapping[str, Array]) -> None:
    """Raise an error unless these can be the key, n and sums of a statistic, whatever computed them."""
    key = columns["key"]
    if np.any(np.diff(key) <= 0) or (len(key) and key[0] < 0):
        raise SchemaError("the saved keys must increase and not be negative")
    for name, column in columns.items():
        if len(column) != len(key):
            raise SchemaError(f"the saved {name} has {len(column)} entries, key has {len(key)}")
        if not np.isfinite(column).all():
            raise SchemaError(f"the saved {name} must be finite")
    if np.any(columns["n"] < 1) or np.any(columns["w"] <= 0) or np.any(columns["w2"] <= 0):
        raise SchemaError("every saved entry must count at least one pair of positive weight")
    for part, whole in _PARTS:
        if np.any(columns[part] < 0) or np.any(columns[part] > columns[whole] * (1 + 1e-9)):
            raise SchemaError(f"the saved {part} cannot be negative or more than {whole}")


def check_scores(columns: Mapping[str, Array], lower: Array, upper: Array) -> None:
    """Raise an error if a mean score lies outside its bin, except for rounding: then another rule made the bins."""
    mean = columns["wp"] / columns["w"]
    lower, upper = (np.asarray(edges, np.float64) for edges in (lower, upper))  # 1 + 1e-9 is 1 in float32
    outside = (mean < lower * (1 - 1e-9)) | (mean > upper * (1 + 1e-9))
    if outside.any():
        i = int(np.argmax(outside))
        raise SchemaError(
            f"the saved scores of key {columns['key'][i]} have the mean {mean[i]:g}, which is not in its bin, "
            f"{lower[i]:g} to {upper[i]:g}"
        )


def columns_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Check the key, n and sums of a statistic that was computed elsewhere, and sort them by key.

    Without weights, columns that equal others may be left out (w equals n, wy equals ny, and so on).
    """
    unknown = set(given) - {"key", "n", *SUMS}
    missing = {"key", "n", "ny", "wp", "wpp", "wpy"} - set(given)
    if unknown or missing:
        raise SchemaError(f"a statistic has the columns key, n, {', '.join(SUMS)}; got {', '.join(given)}")
    columns: dict[str, Any] = {name: _whole(given[name], name) for name in ("key", "n")}
    for name in SUMS:
        if name in given:
            columns[name] = _numbers(given[name], name)
        else:
            same = columns["n" if name == "w" else SAME_WITHOUT_WEIGHTS[name]]
            columns[name] = same.astype(np.float64)
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise SchemaError(f"the columns of a statistic must have one length, got {lengths}")
    left_out = [name for name in ("wy", *SUMS[6:]) if name not in given]
    if left_out and not np.array_equal(columns["w"], columns["n"]):
        raise SchemaError(f"rows have weights, as w is not n: the columns {', '.join(left_out)} are needed too")
    order = np.argsort(columns["key"], kind="stable")
    columns = {name: column[order] for name, column in columns.items()}
    check_columns(columns)
    return columns


def _numbers(values: Any, name: str) -> Float64s:
    """Return numbers as a new array, so that the caller's stays writeable."""
    try:
        array = np.array(values, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise SchemaError(f"the column {name} must be numbers: {error}") from error
    if array.ndim != 1:
        raise SchemaError(f"the column {name} must be 1-D, got shape {array.shape}")
    return array


def _whole(values: Any, name: str) -> Int64s:
    """Return whole numbers, even if an engine counted in floating point."""
    array = np.asarray(values)
    if array.dtype.kind in "iu" and array.ndim == 1:
        return array.astype(np.int64)
    array = _numbers(values, name)
    if not (np.abs(array) < 2**53).all() or np.any(array != np.rint(array)):
        raise SchemaError(f"the column {name} must be whole numbers")
    return array.astype(np.int64)


def load_view(saved: dict[str, Any]) -> View:
    """Return the checked view of a saved statistic."""
    names = set(View("binary").to_dict())
    description = field_of(saved, "view", dict)
    if set(description) - {"are_pairs"} != names:
        raise SchemaError(f"the saved view must have the fields {sorted(names)}, got {sorted(description)}")
    try:
        return View.from_dict(description)
    except InputError as error:
        raise SchemaError(f"the saved view is damaged: {error}") from error
