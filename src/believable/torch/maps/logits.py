"""Logits that a temperature is searched for: checked once, then read piece by piece on the device where it is searched.

Pieces may lie elsewhere, as the logits of a model do that were moved off its device: each is brought over when it is
read. Of all rows together only the largest logit and the label's distance from it are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from believable.errors import InputError
from believable.torch.counting.rows import Rows
from believable.torch.targets import check_weights

ENTRIES = {"cpu": 1 << 18}  # logits that are turned into float64 at once
MANY_ENTRIES = 1 << 23  # elsewhere: enough to keep a GPU busy, and some of it in its cache
FEWEST, SHARE, MOST = 2000, 20, 1 << 24  # a sample holds each 20th row, but 2000 rows at least and 2**24 logits at most
LOWEST = torch.finfo(torch.float64).min
NO_CLASS = -(2**31)  # what `rows_of` makes of labels that are no whole numbers


class Piece(NamedTuple):
    """Some rows, wherever they are: logits (m, K, p), or (m, p) of one event, labels (m, p) and weights or None.

    A weight of zero says that the row is left out; its label and its logits may be anything.
    """

    logits: Tensor
    labels: Tensor
    weights: Tensor | None

    @property
    def width(self) -> int:
        """Logits of a row."""
        return 1 if self.logits.ndim == 2 else self.logits.shape[1]

    def on(self, device: torch.device) -> Piece:
        """The piece on a device, with two columns for one event, which are 0 and z."""
        logits = self.logits.to(device)
        if logits.ndim == 2:
            logits = torch.stack([torch.zeros_like(logits), logits], dim=1)
        return Piece(logits, self.labels.to(device), None if self.weights is None else self.weights.to(device))


def checked(rows: Rows) -> tuple[Tensor, Tensor | None]:
    """Labels and weights of rows; where a row is left out, its label and its weight are zero."""
    labels, weights, last = rows.labels, _checked_weights(rows), rows.n_classes - 1
    keep = _kept(labels, weights, rows.ignore_index)
    wrong = (labels < 0) | (labels > last)
    if keep is not None:
        wrong &= keep
    if wrong.any():
        row = int(wrong.flatten().nonzero()[0])
        found = int(labels.flatten()[row])
        what = f"got {found}" if found != NO_CLASS else "got a fraction or NaN"
        raise InputError(
            f"labels must be whole numbers 0..{last}, {what} at row {row}; mark rows without one with ignore_index"
        )
    if keep is None:
        return labels, None
    if not keep.any():
        raise InputError("there are no rows to fit to: all of them are ignored, or of weight zero")
    ones = torch.ones((), dtype=torch.float64, device=labels.device)
    return torch.where(keep, labels, 0), torch.where(keep, ones if weights is None else weights, 0)


def refuse_one_hot(logits: Any, labels: Any) -> None:
    """Raise where labels have the shape of the logits and are one-hot: K events would be fitted, and not K classes."""
    labels = torch.as_tensor(labels)
    shape = tuple(labels.shape)
    if shape != tuple(torch.as_tensor(logits).shape) or len(shape) < 2 or shape[1] < 2 or not labels.numel():
        return
    ones, zeros = ((labels == digit).sum(dim=1) for digit in (1, 0))
    if ((ones == 1) & (zeros == shape[1] - 1)).all():
        raise InputError(
            f"labels have the shape of the logits, {shape}, with one 1 in each row: pass labels.argmax(dim=1); "
            "if each entry is an event of its own, flatten both"
        )


def pieces_of(rows: Rows, device: torch.device) -> list[Piece]:
    """Rows, checked, and cut into pieces that suit the device where they will be read."""
    labels, weights = checked(rows)
    width = 1 if rows.scores.ndim == 2 else rows.n_classes
    entries = ENTRIES.get(device.type, MANY_ENTRIES)
    if width > 1 and rows.scores.device == device and fused(device):
        entries = rows.scores.numel()  # which needs no room, so nothing has to be cut
    outer, inner = labels.shape
    step = max(1, min(inner, entries // width))
    several = max(1, entries // (width * step))
    cuts = [
        (slice(first, first + several), slice(start, start + step))
        for first in range(0, outer, several)
        for start in range(0, inner, step)
    ]
    return [Piece(rows.scores[a][..., b], labels[a, b], None if weights is None else weights[a, b]) for a, b in cuts]


def _checked_weights(rows: Rows) -> Tensor | None:
    if rows.weights is None:
        return None
    check_weights(rows.weights.flatten(), "sample_weight")
    return rows.weights.double()


def _kept(labels: Tensor, weights: Tensor | None, ignore_index: int | None) -> Tensor | None:
    keep = None if ignore_index is None else labels != ignore_index
    if weights is not None:
        keep = weights > 0 if keep is None else keep & (weights > 0)
    return keep


def check_classes(pieces: Iterable[Piece], n_classes: int) -> None:
    """What the NumPy estimator says of one class alone, and of classes with few rows."""
    from believable.recalibrate import TemperatureScaling  # here: scikit-learn comes with it
    from believable.recalibrate.inputs import fewest_rows

    counts = torch.zeros(n_classes + 1, dtype=torch.int64, device="cpu")
    for piece in pieces:
        labels = piece.labels.long()
        if piece.weights is not None:
            labels = torch.where(piece.weights > 0, labels, n_classes)
        counts += torch.bincount(labels.flatten(), minlength=n_classes + 1).cpu()
    if not counts[:n_classes].any():
        raise InputError("there are no rows to fit to")
    estimator = TemperatureScaling(input="logits")
    enough = np.minimum(counts[:n_classes].numpy(), estimator.facts.fewest)
    estimator._warn_of_few(fewest_rows(np.repeat(np.arange(n_classes), enough), np.arange(n_classes), False))


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Pieces, and what a first look at them shows.

    Attributes
    ----------
    pieces : sequence of Piece
    tops, behind : list of Tensor
        By piece: the largest logit of each row, in its own type, and the label's less the largest, in float64.
    spread : float
        The largest difference within a row.
    right : bool
        Whether every label has the largest logit of its row.
    weight : float
        Of all rows.
    device : torch.device
        Where it is computed.
    """

    pieces: Sequence[Piece]
    tops: list[Tensor]
    behind: list[Tensor]
    spread: float
    right: bool
    weight: float
    device: torch.device

    @classmethod
    def of(cls, pieces: Sequence[Piece], device: torch.device) -> Seen:
        """Look at every logit once."""
        tops, behind, facts = [], [], torch.zeros(4, dtype=torch.float64, device=device)
        for piece in pieces:
            logits, labels, weights = piece.on(device)
            quick = fused(device)
            low, top = quick.extrema(logits) if quick else torch.aminmax(logits, dim=1)
            own = logits.gather(1, labels.long().unsqueeze(1)).squeeze(1)
            tops.append(top)
            high = top.double()
            behind.append((own.double() - high).clamp(min=LOWEST))
            wrong = ~(low.isfinite() & top.isfinite())
            found = torch.stack([high - low, behind[-1] != 0, wrong])
            if weights is not None:
                found = torch.where(weights > 0, found, 0)
            facts[:3] = torch.maximum(facts[:3], found.flatten(1).nan_to_num(0, posinf=math.inf).amax(dim=1))
            facts[3] += labels.numel() if weights is None else weights.sum()
        spread, any_behind, any_wrong, weight = facts.tolist()
        if any_wrong:
            raise InputError(
                "logits must be finite, got NaN or infinity; drop or repair such rows first, and mask a class that "
                "cannot be with -1e9"
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

    def each(self) -> Iterator[tuple[Piece, Tensor, Tensor]]:
        """One piece after the other, with its largest logits and its labels' distances."""
        for piece, top, behind in zip(self.pieces, self.tops, self.behind, strict=True):
            yield piece.on(self.device), top, behind

    def sample(self) -> Piece | None:
        """Some of the rows, from everywhere, none of them left out; None where all of those are."""
        wanted = min(max(FEWEST, self.n_rows // SHARE), max(FEWEST, MOST // self.width))
        stride = max(1, self.n_rows // wanted)
        parts = [_every(piece, stride).on(self.device) for piece in self.pieces]
        logits, labels = torch.cat([part.logits for part in parts]), torch.cat([part.labels for part in parts])
        if parts[0].weights is None:
            return Piece(logits, labels, None)
        weights = torch.cat([part.weights for part in parts])
        keep = weights[:, 0] > 0
        return Piece(logits[keep], labels[keep], weights[keep]) if keep.any() else None


def _every(piece: Piece, stride: int) -> Piece:
    """Each so-manieth row, as (m, K, 1)."""
    logits, labels, weights = piece
    inner = labels.shape[1]
    row = torch.arange(0, labels.numel(), stride, device=logits.device)
    here = row // inner, row % inner
    rows = logits[here][:, None] if logits.ndim == 2 else logits[here[0], :, here[1]][:, :, None]
    return Piece(rows, labels[here][:, None], None if weights is None else weights[here][:, None])


@lru_cache(maxsize=1)
def _triton() -> Any:
    """The compiled passes, where Triton is installed."""
    try:
        from believable.torch.maps import triton_temperature
    except ImportError:
        return None
    return triton_temperature


def fused(device: torch.device) -> Any:
    """The compiled passes for this device, or None: then they are taken in plain torch."""
    return _triton() if device.type == "cuda" else None
