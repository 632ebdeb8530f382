"""Next-token calibration of language models from their logits: `token_calibration` and its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, final

import numpy as np
import torch  # noqa: F401 - for the examples

from believable import _check, _kernels
from believable._types import Array, Int64s
from believable.binning import N_CELLS, Grid
from believable.errors import InputError, MergeError, UndefinedError
from believable.metrics.expected_calibration_error import expected_calibration_error
from believable.predictions import View
from believable.stats import CellStats
from believable.stats.counts import from_moments
from believable.stats.one_pass import pass_grids
from believable.torch.tokens.rows import columns_of, only, token_rows

MAX_POSITION_BUCKETS = 1000  # each is a separate statistic
TOKEN_GRID = Grid(N_CELLS, "uniform", "float64")
TABLE_HEADINGS = ("tokens", "accuracy", "confidence", "ECE", "log loss")

Buckets = int | tuple[int, ...]


def token_calibration(
    logits: Any,
    targets: Any,
    *,
    ignore_index: int | None = -100,
    shift: bool = False,
    top_r: int | None = None,
    position_buckets: int | Sequence[int] | None = None,
    positions: Any = None,
    n_bins: int = 15,
    sample_weight: Any = None,
) -> TokenCalibration:
    """Measure the calibration of the next-token probabilities of a language model.

    Each token is a row: the softmax of its logits, and the observed token. The largest probability and whether it was
    right are counted (the notion "confidence"), and with `top_r` further ranks. The logits are read in blocks of rows,
    without a matrix of probabilities, so a vocabulary of 128k in bfloat16 needs little more memory than the logits.
    Sums are in float64, on a grid of 50,400 cells, so that bins can be chosen afterwards.

    Conventions: the vocabulary is the **last** axis of the logits, as language models return it; torch's cross-entropy
    has it on axis 1. Ties go to the lowest column. A logit of -inf is an impossible token, with probability 0; if it is
    the target, the log loss is infinite. NaN, +inf and rows of -inf alone are an error, except for tokens that are left
    out. The log loss is computed from the logits and stays finite where the probability underflows.

    Parameters
    ----------
    logits : Tensor of shape (batch, length, vocabulary) or (tokens, vocabulary)
        Logits in bfloat16, float16, float32 or float64, on any device. They are not changed, and need not be contiguous
        in the first two axes.
    targets : Tensor of integers, of shape (batch, length) or (tokens,)
        Token numbers, from 0.
    ignore_index : int or None
        The target of tokens to leave out, such as padding.
    shift : bool
        If False, `logits[:, t]` predict `targets[:, t]`. If True, `targets` are the input tokens, like the `labels` of
        Hugging Face, and `logits[:, t]` predict `targets[:, t + 1]`.
    top_r : int, optional
        Count the ranks 2 to r too, each alone ("rth") and together with those before it ("within_top_r").
    position_buckets : int or sequence of int, optional
        Also count by position in the sequence: the width of buckets, or their starts, such as `[0, 16, 64, 256, 1024]`;
        the last has no end. The position is the index of the logits along the length, from 0, also with `shift`.
    positions : Tensor of integers, of the shape of targets, optional
        The positions of the logits, if they differ from the index: sequences padded on the left, or packed.
    n_bins : int
        The number of bins of the expected calibration error; a divisor of 50,400.
    sample_weight : Tensor of the shape of targets, optional
        Weights of the targets (shifted with them); tokens of weight 0 are left out.

    Returns
    -------
    TokenCalibration
        `n`, `accuracy`, `confidence`, `ece`, `nll`, `perplexity`, `brier`, `entropy`, `cells`, `rth`, `within_top_r`,
        `by_position`; it prints as a table, and results of batches can be added.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017), ICML, for the notion; Kadavath et al. (2022), arXiv:2207.05221, for language
    models.

    Examples
    --------
    >>> logits = torch.tensor([[[2.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 3.0]]])
    >>> found = token_calibration(logits, torch.tensor([[0, 2, -100]]), n_bins=10)
    >>> found.n, found.accuracy, round(found.confidence, 4), round(found.nll, 4)
    (2, 0.5, 0.6047, 0.5508)

    The labels of Hugging Face models are the tokens themselves, not shifted:

    >>> labels = torch.tensor([[1, 0, 2]])
    >>> token_calibration(logits, labels, shift=True).accuracy  # 0 after the first, 2 after the second
    0.5

    Batches of an evaluation add up:

    >>> batches = [(logits, labels), (2 * logits, labels)]
    >>> sum(token_calibration(z, y, shift=True) for z, y in batches).n
    4
    """
    rows = token_rows(logits, targets, sample_weight, positions, ignore_index=ignore_index, shift=shift)
    vocabulary = rows.logits.shape[-1]
    r = 1 if top_r is None else _check.positive_integer(top_r, "top_r", 1, vocabulary)
    n_bins = _check.positive_integer(n_bins, "n_bins")
    if N_CELLS % n_bins:
        raise InputError(
            "{argument} must divide {n_cells:,}, the number of cells, got {got}",
            argument="n_bins",
            n_cells=N_CELLS,
            got=n_bins,
        )
    buckets = None if position_buckets is None else buckets_of(position_buckets)
    if buckets is not None and not rows.have_positions:
        raise InputError(
            "{argument} of shape {shape} have no axis of positions: pass (batch, length, vocabulary), "
            "logits[None] and targets[None] for one sequence, or positions=",
            argument="logits",
            shape=tuple(rows.logits.shape),
        )
    columns, ignored = columns_of(rows, r)
    found = _counted(columns, vocabulary, n_bins, ignored)
    if buckets is None:
        return found
    starts = starts_of(columns["position"], buckets)
    parts = {
        name_of(int(start), buckets): _counted(only(columns, starts == start), vocabulary, n_bins)
        for start in np.unique(starts)
    }
    return replace(found, by_position=parts, position_buckets=buckets)


def _counted(columns: dict[str, Array], vocabulary: int, n_bins: int, ignored: int = 0) -> TokenCalibration:
    weight = columns.get("weight")

    def cells(view: View, score: Array, hit: Array) -> CellStats:
        if not len(score):
            nothing = dict.fromkeys(("key", "n", "ny", "wp", "wpp", "wpy"), np.empty(0))
            return CellStats.from_columns(view, TOKEN_GRID, nothing)
        # A pair of any notion is a score and an outcome, the form of binary predictions.
        counted = _kernels.binary_cells(score, hit.view(np.uint8), weight, pass_grids((TOKEN_GRID,)))
        return CellStats(view=view, grid=TOKEN_GRID, **from_moments(*counted.cells[0]))

    def total(name: str) -> float:
        return float(columns[name].sum() if weight is None else (weight * columns[name]).sum())

    rth, within = {}, {}
    target = columns["target"].astype(np.float64)  # as the columns are
    confidence, top_hit = columns["p 0"], columns["column 0"] == target
    together, among = confidence, top_hit
    for i in range(1, sum(name.startswith("p ") for name in columns)):
        r, score, hit = i + 1, columns[f"p {i}"], columns[f"column {i}"] == target
        together, among = together + score, among | hit
        rth[r] = cells(View("rth", vocabulary, r=r), score, hit)
        within[r] = cells(View("within_top_r", vocabulary, r=r), np.minimum(together, 1), among)
    return TokenCalibration(
        cells=cells(View("confidence", vocabulary), confidence, top_hit),
        total_nll=total("nll"),
        total_brier=total("brier"),
        total_entropy=total("entropy"),
        impossible=int(np.isposinf(columns["nll"]).sum()),
        ignored=ignored,
        n_bins=n_bins,
        rth=rth,
        within_top_r=within,
    )


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class TokenCalibration:
    """Counts of next-token predictions, and the metrics read from them; returned by `token_calibration`.

    Results can be added: `a + b` is the result for all their tokens at once, and `sum(parts)` works too. If no token
    was counted, reading a metric raises an `UndefinedError`.

    Attributes
    ----------
    cells : CellStats
        The largest probability of each token, and whether it was that of the target (notion "confidence"). Pass it to
        `expected_calibration_error` and other binned metrics, `interval`, `noise_floor`, `plot_reliability_diagram`.
    rth : dict of int to CellStats
        For each rank, from 2, the probability of that rank and whether its token was the target (notion "rth").
    within_top_r : dict of int to CellStats
        For each r, from 2, the sum of the r largest and whether the target was among them (notion "within_top_r").
    by_position : dict of str to TokenCalibration
        The result for each bucket of positions, by name ("16-63"), in order; empty unless requested.
    ignored : int
        The number of targets that were `ignore_index`.
    impossible : int
        The number of targets with probability 0, a logit of -inf. One of them makes the log loss infinite.
    n_bins : int
        The number of bins of `ece`.
    total_nll, total_brier, total_entropy : float
        Weighted sums over tokens.
    position_buckets : int, tuple of int or None
        How positions were assigned to buckets.
    """

    cells: CellStats
    total_nll: float
    total_brier: float
    total_entropy: float
    impossible: int = 0
    ignored: int = 0
    n_bins: int = 15
    rth: Mapping[int, CellStats] = field(default_factory=dict)
    within_top_r: Mapping[int, CellStats] = field(default_factory=dict)
    by_position: Mapping[str, TokenCalibration] = field(default_factory=dict)
    position_buckets: Buckets | None = None

    # --- reading ---

    @property
    def n(self) -> int:
        """The number of tokens."""
        return int(self.cells.n.sum())

    @property
    def weight(self) -> float:
        """The sum of their weights."""
        return float(self.cells.w.sum())

    @property
    def vocabulary(self) -> int:
        """The number of columns of the logits."""
        return self.cells.view.n_classes

    @property
    def accuracy(self) -> float:
        """The share of targets that had the largest probability."""
        return self._mean(self.cells.wy.sum())

    @property
    def confidence(self) -> float:
        """The mean of the largest probability."""
        return self._mean(self.cells.wp.sum())

    @property
    def ece(self) -> float:
        """Expected calibration error of the largest probability, in `n_bins` bins of equal width."""
        self._mean(0)
        return expected_calibration_error(self.cells, n_bins=self.n_bins)

    @property
    def nll(self) -> float:
        """The mean of -log of the target's probability, in nats: the cross-entropy."""
        return self._mean(self.total_nll)

    @property
    def perplexity(self) -> float:
        """The exponential of the log loss."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.nll))

    @property
    def brier(self) -> float:
        """Mean over tokens of the sum over the vocabulary of (p - y)^2; from 0 to 2."""
        return self._mean(self.total_brier)

    @property
    def entropy(self) -> float:
        """The mean entropy of the probabilities in nats: the expected log loss if targets were drawn from them."""
        return self._mean(self.total_entropy)

    def _mean(self, total: Any) -> float:
        if not self.n:
            raise UndefinedError("no token was counted, because every target was left out")
        return float(total) / self.weight

    # --- adding ---

    def __add__(self, other: TokenCalibration) -> TokenCalibration:
        if not isinstance(other, TokenCalibration):
            return NotImplemented
        here, there = self._choices(), other._choices()
        for name, value in here.items():
            if value != there[name]:
                raise MergeError(f"cannot merge token statistics: {name} is {value} here, {there[name]} there")
        return TokenCalibration(
            cells=self.cells + other.cells,
            total_nll=self.total_nll + other.total_nll,
            total_brier=self.total_brier + other.total_brier,
            total_entropy=self.total_entropy + other.total_entropy,
            impossible=self.impossible + other.impossible,
            ignored=self.ignored + other.ignored,
            n_bins=self.n_bins,
            rth={r: one + other.rth[r] for r, one in self.rth.items()},
            within_top_r={r: one + other.within_top_r[r] for r, one in self.within_top_r.items()},
            by_position=_by_name(self.by_position, other.by_position),
            position_buckets=self.position_buckets,
        )

    def __radd__(self, other: Any) -> TokenCalibration:
        """Add to 0, with which `sum` starts."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _choices(self) -> dict[str, Any]:
        """Return the settings that results must share to be added."""
        return {
            "the vocabulary": self.vocabulary,
            "n_bins": self.n_bins,
            "top_r": len(self.rth) + 1,
            "position_buckets": self.position_buckets,
        }

    # --- printing ---

    def __str__(self) -> str:
        ignored = f" ({self.ignored:,} ignored)" if self.ignored else ""
        head = f"Next-token calibration of {self.n:,} tokens{ignored}, vocabulary of {self.vocabulary:,}"
        if not self.n:
            return f"{head}: no token was counted"
        lines = [
            f"{head}:",
            f"accuracy {self.accuracy:.4f}, mean confidence {self.confidence:.4f}, ECE {self.ece:.4f} "
            f"({self.n_bins} bins);",
            f"log loss {self.nll:.4f} nats (perplexity {self.perplexity:.4g}), entropy {self.entropy:.4f} nats, "
            f"Brier score {self.brier:.4f}.",
        ]
        if self.impossible:
            lines.append(f"The log loss is infinite. Number of targets with probability 0: {self.impossible:,}.")
        if self.rth:
            ranks = [(f"rank {r}", one) for r, one in self.rth.items()]
            ranks += [(f"among the first {r}", one) for r, one in self.within_top_r.items()]
            lines += _table(("", "observed", "probability", "ECE"), [(name, *self._of(one)) for name, one in ranks])
        if self.by_position:
            rows = [(name, *one._row()) for name, one in self.by_position.items()]
            lines += _table(("position", *TABLE_HEADINGS), rows)
        return "\n".join(lines)

    __repr__ = __str__

    def _of(self, cells: CellStats) -> list[str]:
        mean = [cells.wy.sum() / self.weight, cells.wp.sum() / self.weight]
        return [f"{value:.4f}" for value in (*mean, expected_calibration_error(cells, n_bins=self.n_bins))]

    def _row(self) -> list[str]:
        values = (self.accuracy, self.confidence, self.ece, self.nll)
        return [f"{self.n:,}", *(f"{value:.4f}" for value in values)]


def _by_name(a: Mapping[str, TokenCalibration], b: Mapping[str, TokenCalibration]) -> dict[str, TokenCalibration]:
    """Return the buckets of both, in order."""
    added = {**a, **b} | {name: a[name] + b[name] for name in a if name in b}
    return dict(sorted(added.items(), key=lambda item: start_of(item[0])))


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Return an empty line and a table: the first column aligned left, the others right."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    lines = [""]
    for row in (head, *rows):
        cells = [
            row[0].ljust(widths[0]),
            *(value.rjust(width) for value, width in zip(row[1:], widths[1:], strict=True)),
        ]
        lines.append("  ".join(cells))
    return lines


# --- buckets of positions, and their names ----------------------------------------------------------------------------


def buckets_of(given: int | Sequence[int]) -> Buckets:
    """Return the width of buckets, or their starts, after checking them.

    Examples
    --------
    >>> buckets_of([0, 16, 64])
    (0, 16, 64)
    """
    if isinstance(given, str) or not isinstance(given, (Sequence, np.ndarray)):
        return _check.positive_integer(given, "position_buckets, as the width of buckets,")
    starts = tuple(_check.positive_integer(start, "each start in position_buckets", 0) for start in given)
    if not starts or starts[0] != 0 or any(a >= b for a, b in pairwise(starts)):
        raise InputError(
            "{argument} must be starts that increase from 0, such as [0, 16, 64], got {got!r}",
            argument="position_buckets",
            got=starts,
        )
    return starts


def starts_of(positions: Array, buckets: Buckets) -> Int64s:
    """Return the start of the bucket of each position."""
    where = np.asarray(positions, np.int64)
    if isinstance(buckets, int):
        starts = where // buckets * buckets
    else:
        starts = np.array(buckets)[np.searchsorted(buckets, where, side="right") - 1]
    if len(found := np.unique(starts)) > MAX_POSITION_BUCKETS:
        raise InputError(
            f"the positions fall into {len(found):,} buckets: make them wider, at most {MAX_POSITION_BUCKETS:,}"
        )
    return starts


def name_of(start: int, buckets: Buckets) -> str:
    """Return the name of the bucket that starts there.

    Examples
    --------
    >>> name_of(16, (0, 16, 64)), name_of(64, (0, 16, 64)), name_of(64, 32)
    ('16-63', '64+', '64-95')
    """
    if isinstance(buckets, int):
        last = start + buckets - 1
    else:
        place = buckets.index(start) + 1
        if place == len(buckets):
            return f"{start}+"
        last = buckets[place] - 1
    return f"{start}" if last == start else f"{start}-{last}"


def start_of(name: str) -> int:
    """Return the start of the bucket of that name.

    Examples
    --------
    >>> start_of("16-63"), start_of("64+")
    (16, 64)
    """
    return int(name.partition("-")[0].rstrip("+"))
