"""`KernelBlocks`: the squared kernel calibration error of a stream, from blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import isfinite, sqrt
from statistics import NormalDist
from typing import Any, Self, final, get_args

import numpy as np

from believable import _check, _kernels
from believable.errors import InputError, MergeError, SchemaError, UndefinedError
from believable.metrics.kernel_vectors import KernelName, Vectors, block_sums, checked_bandwidth, similarity_of
from believable.predictions import Predictions, as_predictions
from believable.stats.saved import field_of, number_in, open_saved
from believable.stats.statistic import Statistic, schema_of

_ROWS_HELD_AT_ONCE = 1 << 16  # keeps memory bounded however long a part is
_CHOICES = ("kernel", "bandwidth", "block_size", "n_classes")
_COUNTS = ("n", "left_over", "n_blocks")
_SUMS = ("total", "pairs", "pairs2", "spread", "slant")


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class KernelBlocks(Statistic):
    """Sums over blocks of rows that give the squared kernel calibration error (SKCE) and its standard error.

    A stream cannot keep a sum over all pairs of its rows, but it can keep sums over the pairs within blocks: parts add
    up, and memory does not grow. The value equals `squared_kernel_calibration_error` with estimator="block", the same
    bandwidth and the same blocks. It depends on which rows share a block, so rows should come in no particular order.
    The bandwidth has to be given, because a stream's median distance is not known until its end (see
    `median_distance`).

    Rows of a part that do not fill a block are left out and counted, so make parts multiples of the block size. Larger
    blocks compare more pairs per row and give a smaller standard error, for proportionally more time (except for 1-D
    scores with the kernel "tv").

    Attributes
    ----------
    kernel : {"tv", "gaussian"}
        Name of the kernel.
    bandwidth : float
        Bandwidth of the kernel.
    block_size, n_classes : int
        Rows per block, and number of classes.
    n, left_over, n_blocks : int
        Number of rows in blocks, of rows left over, and of blocks.
    total, pairs : float
        Sums over blocks of t, the sum of w_i w_j h_ij over pairs of different rows, and of q, that of w_i w_j.
    pairs2, spread, slant : float
        Sums over blocks of q^2, of (t - v q)^2 and of (t - v q) q, with v = total / pairs.

    Examples
    --------
    >>> p, y = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.6, 0.3, 0.1]], [0, 1, 2, 2]
    >>> blocks = KernelBlocks.of(p[:2], y[:2], bandwidth=0.3, block_size=2)
    >>> blocks += KernelBlocks.of(p[2:], y[2:], bandwidth=0.3, block_size=2)
    >>> blocks
    KernelBlocks(SKCE 0.1449 by 2 blocks of 2 rows, standard error 0.153; kernel tv, bandwidth 0.3)
    >>> from believable import squared_kernel_calibration_error
    >>> round(squared_kernel_calibration_error(p, y, estimator="block", block_size=2, bandwidth=0.3), 4)
    0.1449
    """

    kernel: KernelName
    bandwidth: float
    block_size: int
    n_classes: int
    n: int
    left_over: int
    n_blocks: int
    total: float
    pairs: float
    pairs2: float
    spread: float
    slant: float

    @classmethod
    def of(
        cls,
        predictions: Any,
        actuals: Any = None,
        *,
        bandwidth: float,
        block_size: int = 64,
        kernel: KernelName = "tv",
        sample_weight: Any = None,
    ) -> KernelBlocks:
        """Compute the sums over the blocks of some rows.

        Parameters
        ----------
        predictions : array-like of shape (n,) or (n, K), or Predictions
            Scores of one event, or one column of probabilities per class.
        actuals : array-like of shape (n,)
            Outcomes or class numbers.
        bandwidth : float
            The bandwidth nu, above 0.
        block_size : int
            Rows per block, at least 2.
        kernel : {"tv", "gaussian"}
            As in `squared_kernel_calibration_error`.
        sample_weight : array-like of shape (n,), optional
            Importance weights.
        """
        _check.choice(kernel, get_args(KernelName), "kernel")
        bandwidth = checked_bandwidth(bandwidth)
        block_size = _check.positive_integer(block_size, "block_size", 2)
        checked = as_predictions(predictions, actuals, sample_weight)
        similarity = _kernels.Similarity(kernel, bandwidth)
        rows = len(checked.scores) // block_size * block_size  # access checks the scores, even without a full block
        none: dict[str, Any] = dict.fromkeys(_COUNTS, 0) | dict.fromkeys(_SUMS, 0.0)
        none["left_over"] = len(checked) - rows
        made = cls(kernel=kernel, bandwidth=bandwidth, block_size=block_size, n_classes=checked.n_classes, **none)
        step = max(1, _ROWS_HELD_AT_ONCE // block_size) * block_size
        for start in range(0, rows, step):
            made += made._counted(checked.take(np.arange(start, min(start + step, rows))), similarity)
        if not all(isfinite(getattr(made, name)) for name in _SUMS) or (made.n and made.pairs2 < 1e-250):
            raise InputError("the fourth power of sample_weight overflows or underflows: divide it by its mean")
        return made

    def _counted(self, some: Predictions, similarity: _kernels.Similarity) -> KernelBlocks:
        """Return the sums of rows that form full blocks."""
        total, pairs = block_sums(Vectors.of(some, "the SKCE"), similarity, self.block_size)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # the caller checks the sums
            if some.weights is not None:  # undo the scaling to mean 1, which differs from part to part
                total, pairs = (values * some.weights.mean() ** 2 for values in (total, pairs))
            away = total - total.sum() / pairs.sum() * pairs
            sums = [values.sum() for values in (total, pairs, pairs**2, away**2, away * pairs)]
        return self._with(len(some), 0, len(total), *map(float, sums))

    def _with(self, *sums: float) -> KernelBlocks:
        chosen = {name: getattr(self, name) for name in _CHOICES}
        return KernelBlocks(**chosen, **dict(zip((*_COUNTS, *_SUMS), sums, strict=True)))  # type: ignore[arg-type]

    # --- reading ---

    @property
    def value(self) -> float:
        """The SKCE: the mean over blocks, weighted by their pairs; its expected value is 0 for calibrated scores."""
        if not self.n_blocks:
            raise UndefinedError(f"there is no SKCE yet: no part had a full block of {self.block_size} rows")
        return self.total / self.pairs

    @property
    def standard_error(self) -> float:
        """Standard error of the value, from the variation between blocks; needs at least two."""
        m = self.n_blocks
        if m < 2:
            raise UndefinedError(f"a standard error needs two blocks of {self.block_size} rows, there are {m}")
        return sqrt(self.spread * m / (m - 1)) / self.pairs

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the lower and upper end of a normal confidence interval for the SKCE.

        In simulations (`python -m benchmarks.figures skce`) of 300 data sets each, 95 % intervals contained the true
        value in 94 to 96 % with 100 blocks of ten rows, and in 94 to 97 % with 400.
        """
        reach = NormalDist().inv_cdf((1 + _check.level(level)) / 2) * self.standard_error
        return self.value - reach, self.value + reach

    @staticmethod
    def median_distance(
        predictions: Any, actuals: Any = None, *, kernel: KernelName = "tv", sample_weight: Any = None
    ) -> float:
        """Return the SKCE's default bandwidth for these rows; for a stream, pass its first rows."""
        checked = as_predictions(predictions, actuals, sample_weight)
        return similarity_of(Vectors.of(checked, "the SKCE"), kernel, None).bandwidth

    def __repr__(self) -> str:
        found = f"SKCE {self.value:.4g} by " if self.n_blocks else ""
        error = f", standard error {self.standard_error:.3g}" if self.n_blocks > 1 else ""
        left = f", {self.left_over:,} rows left over" if self.left_over else ""
        blocks = f"{self.n_blocks:,} block{'' if self.n_blocks == 1 else 's'} of {self.block_size:,} rows"
        return f"KernelBlocks({found}{blocks}{error}{left}; kernel {self.kernel}, bandwidth {self.bandwidth:g})"

    # --- adding ---

    def __add__(self, other: Self) -> KernelBlocks:
        if not isinstance(other, KernelBlocks):
            return NotImplemented
        for name in _CHOICES:
            mine, others = getattr(self, name), getattr(other, name)
            if mine != others:
                raise MergeError(f"cannot merge statistics: {name} is {mine!r} in one and {others!r} in the other")
        added = {name: getattr(self, name) + getattr(other, name) for name in (*_COUNTS, *_SUMS)}
        if self.n_blocks and other.n_blocks:
            # Each part keeps deviations from its own value, because sums of squares minus a square would cancel.
            value = added["total"] / added["pairs"]
            added["spread"] = sum(one._around(value) for one in (self, other))
            added["slant"] = sum(one.slant + (one.value - value) * one.pairs2 for one in (self, other))
        return self._with(*added.values())

    def _around(self, value: float) -> float:
        """Return the sum over blocks of (t - value q)^2."""
        step = self.value - value
        return max(0.0, self.spread + 2 * step * self.slant + step * step * self.pairs2)

    # --- saving ---

    def _form(self) -> dict[str, Any]:
        saved = {"schema": schema_of(KernelBlocks), "version": 1}
        return saved | {item.name: getattr(self, item.name) for item in fields(self)}

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> KernelBlocks:
        """Restore a statistic from `to_dict`; a damaged or foreign dictionary raises an error."""
        open_saved(saved, schema_of(cls), 1)
        whole = {name: field_of(saved, name, int) for name in ("block_size", "n_classes", *_COUNTS)}
        numbers = {name: number_in(saved, name) for name in ("bandwidth", *_SUMS)}
        kernel = field_of(saved, "kernel", str)
        if kernel not in get_args(KernelName) or numbers["bandwidth"] <= 0:
            raise SchemaError(f"the saved kernel cannot be {kernel!r} of bandwidth {numbers['bandwidth']!r}")
        if min(whole["block_size"], whole["n_classes"]) < 2 or min(whole[name] for name in _COUNTS) < 0:
            raise SchemaError("the saved counts cannot be negative, nor blocks and classes fewer than 2")
        if whole["n"] != whole["n_blocks"] * whole["block_size"]:
            raise SchemaError("the saved rows must be whole blocks")
        if min(numbers[name] for name in ("pairs", "pairs2", "spread")) < 0 or (numbers["pairs"] > 0) != (
            whole["n"] > 0
        ):
            raise SchemaError("the saved sums must belong to blocks of positive weight")
        return cls(kernel=kernel, **whole, **numbers)  # type: ignore[arg-type]


def value_of_blocks(
    blocks: KernelBlocks, estimator: str, kernel: Any, bandwidth: float | None, block_size: int | None
) -> float:
    """Return the SKCE of a `KernelBlocks`, provided that it was made with the options requested."""
    if estimator != "block":
        raise UndefinedError(f"a KernelBlocks holds sums over blocks: use estimator='block', not {estimator!r}")
    for name, asked in {"kernel": kernel, "bandwidth": bandwidth, "block_size": block_size}.items():
        counted = getattr(blocks, name)
        if asked not in (None, counted):
            raise UndefinedError(
                f"the statistic was computed with {name}={counted!r}, not {asked!r}: compute it again from the rows"
            )
    return blocks.value
