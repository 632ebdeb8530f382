"""Buckets of positions in a sequence, and their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, final

import numpy as np

from believable import _check
from believable._types import Array, Int64s
from believable.errors import InputError, MergeError, UndefinedError
from believable.metrics.expected_calibration_error import expected_calibration_error
from believable.stats import CellStats

MOST_BUCKETS = 1000  # each is a statistic of its own

Buckets = int | tuple[int, ...]


def buckets_of(given: int | Sequence[int]) -> Buckets:
    """The width of buckets, or where they start; checked.

    Examples
    --------
    >>> buckets_of([0, 16, 64])
    (0, 16, 64)
    """
    if isinstance(given, str) or not isinstance(given, (Sequence, np.ndarray)):
        return _check.positive_integer(given, "position_buckets, as the width of buckets,")
    starts = tuple(_check.positive_integer(start, "each start in position_buckets", 0) for start in given)
    if not starts or starts[0] != 0 or any(a >= b for a, b in pairwise(starts)):
        raise InputError(f"position_buckets must be starts that increase from 0, such as [0, 16, 64], got {starts}")
    return starts


def starts_of(positions: Array, buckets: Buckets) -> Int64s:
    """The start of the bucket of each position."""
    where = np.asarray(positions, np.int64)
    if isinstance(buckets, int):
        starts = where // buckets * buckets
    else:
        starts = np.array(buckets)[np.searchsorted(buckets, where, side="right") - 1]
    if len(found := np.unique(starts)) > MOST_BUCKETS:
        raise InputError(f"the positions fall into {len(found):,} buckets: make them wider, at most {MOST_BUCKETS:,}")
    return starts


def name_of(start: int, buckets: Buckets) -> str:
    """What to call the bucket that starts there.

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
    """Where the bucket of that name starts.

    Examples
    --------
    >>> start_of("16-63"), start_of("64+")
    (16, 64)
    """
    return int(name.partition("-")[0].rstrip("+"))


# --- `TokenCalibration`: what the next-token probabilities of a language model are worth, as a value that adds up -----


NUMBERS = ("tokens", "accuracy", "confidence", "ECE", "log loss")


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class TokenCalibration:
    """Counts of next-token predictions, and the numbers that are read from them.

    Made by `token_calibration`. Parts add up: `a + b` is what all their tokens at once would give, and `sum(parts)`
    works too. Where no token was counted the numbers do not exist, and reading one is an `UndefinedError`.

    Attributes
    ----------
    cells : CellStats
        The largest probability of each token, and whether it was that of the target (notion "confidence"): to hand to
        `expected_calibration_error` and other metrics of bins, `interval`, `noise_floor`, `plot_reliability_diagram`.
    rth : dict of int to CellStats
        Rank, from 2, to the probability of that rank and whether its token came (notion "rth").
    within_top_r : dict of int to CellStats
        r, from 2, to the sum of the r largest and whether the target was among them (notion "within_top_r").
    by_position : dict of str to TokenCalibration
        The same for each bucket of positions, by name ("16-63"), in order; empty unless asked for.
    ignored : int
        Targets that were `ignore_index`.
    impossible : int
        Tokens whose target has probability 0, that is a logit of -inf. One of them makes the log loss infinite.
    n_bins : int
        Bins of `ece`.
    total_nll, total_brier, total_entropy : float
        Weighted sums over tokens.
    position_buckets : int, tuple of int or None
        How positions were put into buckets.
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
        """Tokens."""
        return int(self.cells.n.sum())

    @property
    def weight(self) -> float:
        """The sum of their weights."""
        return float(self.cells.w.sum())

    @property
    def vocabulary(self) -> int:
        """Columns of the logits."""
        return self.cells.view.n_classes

    @property
    def accuracy(self) -> float:
        """Share of targets that had the largest probability."""
        return self._mean(self.cells.wy.sum())

    @property
    def confidence(self) -> float:
        """Mean of the largest probability."""
        return self._mean(self.cells.wp.sum())

    @property
    def ece(self) -> float:
        """Expected calibration error of the largest probability, in `n_bins` bins of equal width."""
        self._mean(0)
        return expected_calibration_error(self.cells, n_bins=self.n_bins)

    @property
    def nll(self) -> float:
        """Mean of -log of the target's probability, in nats: the cross-entropy."""
        return self._mean(self.total_nll)

    @property
    def perplexity(self) -> float:
        """exp of the log loss."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.nll))

    @property
    def brier(self) -> float:
        """Mean over tokens of the sum over the vocabulary of (p - y)^2; from 0 to 2."""
        return self._mean(self.total_brier)

    @property
    def entropy(self) -> float:
        """Mean entropy of the probabilities in nats: the log loss to expect if targets were drawn from them."""
        return self._mean(self.total_entropy)

    def _mean(self, total: Any) -> float:
        if not self.n:
            raise UndefinedError("no token was counted, every target was left out: there is nothing to measure")
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
        """`sum` begins with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _choices(self) -> dict[str, Any]:
        """What parts must have in common to add up."""
        return {
            "the vocabulary": self.vocabulary,
            "n_bins": self.n_bins,
            "top_r": len(self.rth) + 1,
            "position_buckets": self.position_buckets,
        }

    # --- saying ---

    def __str__(self) -> str:
        ignored = f" ({self.ignored:,} ignored)" if self.ignored else ""
        head = f"Next-token calibration of {self.n:,} tokens{ignored}, vocabulary of {self.vocabulary:,}"
        if not self.n:
            return f"{head}: nothing to measure"
        lines = [
            f"{head}:",
            f"accuracy {self.accuracy:.4f}, mean confidence {self.confidence:.4f}, ECE {self.ece:.4f} "
            f"({self.n_bins} bins);",
            f"log loss {self.nll:.4f} nats (perplexity {self.perplexity:.4g}), entropy {self.entropy:.4f} nats, "
            f"Brier score {self.brier:.4f}.",
        ]
        if self.impossible:
            lines.append(f"The log loss is infinite; targets whose probability was 0: {self.impossible:,}.")
        if self.rth:
            ranks = [(f"rank {r}", one) for r, one in self.rth.items()]
            ranks += [(f"among the first {r}", one) for r, one in self.within_top_r.items()]
            lines += _table(("", "happened", "probability", "ECE"), [(name, *self._of(one)) for name, one in ranks])
        if self.by_position:
            lines += _table(("position", *NUMBERS), [(name, *one._row()) for name, one in self.by_position.items()])
        return "\n".join(lines)

    __repr__ = __str__

    def _of(self, cells: CellStats) -> list[str]:
        mean = [cells.wy.sum() / self.weight, cells.wp.sum() / self.weight]
        return [f"{value:.4f}" for value in (*mean, expected_calibration_error(cells, n_bins=self.n_bins))]

    def _row(self) -> list[str]:
        values = (self.accuracy, self.confidence, self.ece, self.nll)
        return [f"{self.n:,}", *(f"{value:.4f}" for value in values)]


def _by_name(a: Mapping[str, TokenCalibration], b: Mapping[str, TokenCalibration]) -> dict[str, TokenCalibration]:
    """The buckets of both, in order."""
    added = {**a, **b} | {name: a[name] + b[name] for name in a if name in b}
    return dict(sorted(added.items(), key=lambda item: start_of(item[0])))


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """An empty line, and columns of equal width: the first to the left, the others to the right."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    lines = [""]
    for row in (head, *rows):
        cells = [
            row[0].ljust(widths[0]),
            *(value.rjust(width) for value, width in zip(row[1:], widths[1:], strict=True)),
        ]
        lines.append("  ".join(cells))
    return lines
