"""The temperature of least cost for logits on any device: the search of `_kernels.temperature`, with sums in torch.

One evaluation reads the logits once, piece by piece, and transfers three numbers to the host. Most evaluations use a
sample and float32; the last one is in float64, because the sum that must vanish is a difference of two large ones.

Pieces may be on another device, like logits that were moved off the model's device: each is copied when it is read.
Only the largest logit of each row and the label's distance from it are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from believable._kernels import LogitRows, TemperatureFit
from believable._kernels.temperature import (
    ENTRIES_TO_SEARCH_SOME_ROWS_FIRST,
    EXCESS_COST_WHEN_ALL_RIGHT,
    FLATTEST_LOGITS,
    FURTHEST_BEHIND,
    LARGEST_INVERSE_TEMPERATURE,
    LAST_STEP,
    ROUGH_STEP,
    Slopes,
    search,
    typical_difference,
)
from believable.errors import InputError
from believable.torch.maps.logits import LogitPiece

LOWEST_EXPONENT = {torch.float32: -80.0, torch.float64: -700.0}  # exp of anything lower is negligible
ROWS_FOR_THE_START = 64  # enough to tell how large logits are
# A sample holds every 20th row, but at least 2000 rows and at most 2**24 logits.
SAMPLE_STRIDE, MIN_SAMPLE_ROWS, MAX_SAMPLE_LOGITS = 20, 2000, 1 << 24
LOWEST_DISTANCE = torch.finfo(torch.float64).min


def least_cost(pieces: Sequence[LogitPiece], device: torch.device) -> TemperatureFit:
    """Return the temperature of these rows, and which limit it is, if any; see `TemperatureFit`."""
    rows = SeenLogits.of(pieces, device)
    if rows.spread == 0:
        return TemperatureFit(1.0, "equal")
    sample = rows.sample()
    b = 1 / _start(sample, rows.spread)
    if rows.right:
        return TemperatureFit(
            1 / search(lambda at: shortfall(rows, at), b, 1 / LARGEST_INVERSE_TEMPERATURE, LAST_STEP), "right"
        )
    lowest = min(
        FLATTEST_LOGITS / min(rows.spread, FLATTEST_LOGITS * LARGEST_INVERSE_TEMPERATURE), LARGEST_INVERSE_TEMPERATURE
    )
    rough = rows.dtype != torch.float64 and 1e-15 < rows.spread < 1e15
    if (
        sample is not None
        and rows.n_rows * rows.width >= ENTRIES_TO_SEARCH_SOME_ROWS_FIRST
        and 2 * len(sample.labels) <= rows.n_rows
    ):
        some = SeenLogits.of([sample], device)
        if not some.right:
            b = search(lambda at: slopes(some, at, rough), b, lowest, ROUGH_STEP)
        if rough and b > lowest:
            b = search(lambda at: slopes(rows, at, rough), b, lowest, math.inf)
    b = search(lambda at: slopes(rows, at), b, lowest, LAST_STEP)
    return TemperatureFit(1 / b, "useless" if b == lowest else "")


@dataclass(frozen=True, slots=True, eq=False)
class SeenLogits:
    """Pieces, with a summary from a first pass over them.

    Attributes
    ----------
    pieces : sequence of LogitPiece
    tops, behind : list of Tensor
        For each piece: the largest logit of each row, in its own type, and the label's logit minus it, in float64.
    spread : float
        The largest difference within a row.
    right : bool
        Whether every label has the largest logit of its row.
    weight : float
        The total weight of all rows.
    device : torch.device
        The device that computes.
    """

    pieces: Sequence[LogitPiece]
    tops: list[Tensor]
    behind: list[Tensor]
    spread: float
    right: bool
    weight: float
    device: torch.device

    @classmethod
    def of(cls, pieces: Sequence[LogitPiece], device: torch.device) -> SeenLogits:
        """Read every logit once."""
        tops, behind, facts = [], [], torch.zeros(4, dtype=torch.float64, device=device)
        for piece in pieces:
            logits, labels, weights = piece.on(device)
            compiled = compiled_passes(device)
            low, top = compiled.extrema(logits) if compiled else torch.aminmax(logits, dim=1)
            own = logits.gather(1, labels.long().unsqueeze(1)).squeeze(1)
            tops.append(top)
            high = top.double()
            behind.append((own.double() - high).clamp(min=LOWEST_DISTANCE))
            wrong = ~(low.isfinite() & top.isfinite())
            found = torch.stack([high - low, behind[-1] != 0, wrong])
            if weights is not None:
                found = torch.where(weights > 0, found, 0)
            facts[:3] = torch.maximum(facts[:3], found.flatten(1).nan_to_num(0, posinf=math.inf).amax(dim=1))
            facts[3] += labels.numel() if weights is None else weights.sum()
        spread, any_behind, any_wrong, weight = facts.tolist()
        if any_wrong:
            raise InputError(
                "{argument} must be finite, got NaN or infinity; drop or repair such rows first, and mask a class "
                "that cannot be with -1e9",
                argument="logits",
            )
        return cls(pieces, tops, behind, spread, not any_behind, weight, device)

    @property
    def n_rows(self) -> int:
        return sum(piece.labels.numel() for piece in self.pieces)

    @property
    def width(self) -> int:
        return max(2, self.pieces[0].width)

    @property
    def dtype(self) -> torch.dtype:
        return self.pieces[0].logits.dtype

    def each(self) -> Iterator[tuple[LogitPiece, Tensor, Tensor]]:
        """Yield each piece with its largest logits and its labels' distances."""
        for piece, top, behind in zip(self.pieces, self.tops, self.behind, strict=True):
            yield piece.on(self.device), top, behind

    def sample(self) -> LogitPiece | None:
        """Return a sample of the rows with weight; None if it has none."""
        wanted = min(
            max(MIN_SAMPLE_ROWS, self.n_rows // SAMPLE_STRIDE), max(MIN_SAMPLE_ROWS, MAX_SAMPLE_LOGITS // self.width)
        )
        stride = max(1, self.n_rows // wanted)
        parts = [_every(piece, stride).on(self.device) for piece in self.pieces]
        logits, labels = torch.cat([part.logits for part in parts]), torch.cat([part.labels for part in parts])
        if parts[0].weights is None:
            return LogitPiece(logits, labels, None)
        weights = torch.cat([part.weights for part in parts])
        keep = weights[:, 0] > 0
        return LogitPiece(logits[keep], labels[keep], weights[keep]) if keep.any() else None


def _every(piece: LogitPiece, stride: int) -> LogitPiece:
    """Return every `stride`-th row, as (m, K, 1)."""
    logits, labels, weights = piece
    inner = labels.shape[1]
    row = torch.arange(0, labels.numel(), stride, device=logits.device)
    here = row // inner, row % inner
    rows = logits[here][:, None] if logits.ndim == 2 else logits[here[0], :, here[1]][:, :, None]
    return LogitPiece(rows, labels[here][:, None], None if weights is None else weights[here][:, None])


# --- sums over all rows -----------------------------------------------------------------------------------------------


def slopes(rows: SeenLogits, b: float, rough: bool = False) -> Slopes:
    """Return three derivatives of the cost, times b, b^2 and b^3: cumulants of x, minus the x of the label."""
    dtype = torch.float32 if rough and 1e-30 < b < 1e30 else torch.float64
    total = torch.zeros(3, dtype=torch.float64, device=rows.device)
    compiled = compiled_passes(rows.device)
    for piece, top, behind in rows.each():
        if compiled:
            wide, floor = dtype == torch.float64, LOWEST_EXPONENT[dtype]
            how = compiled.Sums(wide, all_right=False, floor=floor, furthest=FURTHEST_BEHIND)
            total += compiled.sums(piece, top, behind, b, how)
            continue
        mass, *sums = power_sums(piece.logits, top, b, dtype, 3, rows.spread)
        mean, square, cube = (each / mass for each in sums)
        variance = square - mean * mean
        first = mean - (b * behind).clamp(min=-FURTHEST_BEHIND)
        total += _totals([first, variance, cube - mean * (square + 2 * variance)], piece.weights)
    first, second, third = total.tolist()
    return first, second, third


def shortfall(rows: SeenLogits, b: float) -> Slopes:
    """Return the log-distance of the excess cost from EXCESS_COST_WHEN_ALL_RIGHT, if all labels are the largest."""
    total = torch.zeros(2, dtype=torch.float64, device=rows.device)
    compiled = compiled_passes(rows.device)
    for piece, top, behind in rows.each():
        if compiled:
            how = compiled.Sums(True, all_right=True, floor=LOWEST_EXPONENT[torch.float64], furthest=FURTHEST_BEHIND)
            total += compiled.sums(piece, top, behind, b, how)[:2]
            continue
        ties = (piece.logits == top.unsqueeze(1)).sum(dim=1)
        mass, first = power_sums(piece.logits, top, b, torch.float64, 1, rows.spread)
        total += _totals([torch.log1p((mass - ties) / ties), first / mass], piece.weights)
    excess, fall = total.tolist()
    if not excess > 0:
        return math.inf, 0.0, 0.0
    return math.log(EXCESS_COST_WHEN_ALL_RIGHT) - math.log(excess / rows.weight), -fall / excess, 0.0


def power_sums(logits: Tensor, top: Tensor, b: float, dtype: torch.dtype, order: int, spread: float) -> list[Tensor]:
    """Return sums over classes of exp(x) x^j, j = 0..order, with x = b (z - top) <= 0, in float64."""
    x = logits.to(dtype) - top.to(dtype).unsqueeze(1)
    x.mul_(b)
    if not b * spread < -LOWEST_EXPONENT[dtype]:
        x.clamp_(min=LOWEST_EXPONENT[dtype])
    terms = x.exp()
    sums = [terms.sum(dim=1, dtype=torch.float64)]
    for _ in range(order):
        terms.mul_(x)
        sums.append(terms.sum(dim=1, dtype=torch.float64))
    return sums


def _totals(values: list[Tensor], weights: Tensor | None) -> Tensor:
    """Return weighted sums; a row of weight zero may hold anything."""
    stacked = torch.stack(values).flatten(1)
    if weights is None:
        return stacked.sum(dim=1)
    w = weights.flatten()
    return torch.where(w > 0, stacked * w, 0).sum(dim=1)


def _start(sample: LogitPiece | None, spread: float) -> float:
    """Return a typical difference of logits, from a few rows on the host."""
    if sample is None:
        return min(max(spread / 2, 1 / LARGEST_INVERSE_TEMPERATURE), LARGEST_INVERSE_TEMPERATURE)
    some = sample.logits[:: max(1, len(sample.labels) // ROWS_FOR_THE_START), :, 0].double().cpu().numpy()
    return typical_difference(LogitRows(some, some.max(axis=1), some[:, 0], None, spread))


@lru_cache(maxsize=1)
def _triton() -> Any:
    """Return the passes with Triton, if it is installed."""
    try:
        from believable.torch.maps import triton_temperature
    except ImportError:
        return None
    return triton_temperature


def compiled_passes(device: torch.device) -> Any:
    """Return the passes with Triton for this device, or None to use plain torch."""
    return _triton() if device.type == "cuda" else None
