"""Logits with labels to fit a map to: checked once, and cut into pieces that suit a device."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from believable.errors import InputError
from believable.torch.counting.rows import FRACTIONAL_LABEL, Rows
from believable.torch.targets import check_weights

PIECE_ENTRIES_ON_CPU = 1 << 18  # the number of logits converted to float64 at once
PIECE_ENTRIES_ON_GPU = 1 << 23  # enough to keep a GPU busy and make use of its cache


class LogitPiece(NamedTuple):
    """Some rows on any device: logits (m, K, p), or (m, p) of one event, labels (m, p) and weights or None.

    A row of weight zero is ignored; its label and its logits may be anything.
    """

    logits: Tensor
    labels: Tensor
    weights: Tensor | None

    @property
    def width(self) -> int:
        """The number of logits in a row."""
        return 1 if self.logits.ndim == 2 else self.logits.shape[1]

    def on(self, device: torch.device) -> LogitPiece:
        """Return the piece on a device; one event becomes the two columns 0 and z."""
        logits = self.logits.to(device)
        if logits.ndim == 2:
            logits = torch.stack([torch.zeros_like(logits), logits], dim=1)
        return LogitPiece(logits, self.labels.to(device), None if self.weights is None else self.weights.to(device))


def checked(rows: Rows) -> tuple[Tensor, Tensor | None]:
    """Check labels and weights; an ignored row gets label and weight zero."""
    labels, weights, last = rows.labels, _checked_weights(rows), rows.n_classes - 1
    keep = _kept(labels, weights, rows.ignore_index)
    wrong = (labels < 0) | (labels > last)
    if keep is not None:
        wrong &= keep
    if wrong.any():
        row = int(wrong.flatten().nonzero()[0])
        found = int(labels.flatten()[row])
        what = f"got {found}" if found != FRACTIONAL_LABEL else "got a fraction or NaN"
        raise InputError(
            "{argument} must be whole numbers 0..{last}, {what} at {row}; mark rows without one with ignore_index",
            argument="labels",
            last=last,
            what=what,
            row=row,
        )
    if keep is None:
        return labels, None
    if not keep.any():
        raise InputError("there are no rows to fit: all are ignored, or have weight zero")
    ones = torch.ones((), dtype=torch.float64, device=labels.device)
    return torch.where(keep, labels, 0), torch.where(keep, ones if weights is None else weights, 0)


def refuse_one_hot(logits: Any, labels: Any) -> None:
    """Raise if labels have the shape of the logits and are one-hot: K events would be fitted, not K classes."""
    labels = torch.as_tensor(labels)
    shape = tuple(labels.shape)
    if shape != tuple(torch.as_tensor(logits).shape) or len(shape) < 2 or shape[1] < 2 or not labels.numel():
        return
    ones, zeros = ((labels == digit).sum(dim=1) for digit in (1, 0))
    if ((ones == 1) & (zeros == shape[1] - 1)).all():
        raise InputError(
            "{argument} have the shape of the logits, {shape}, with one 1 in each row: pass "
            "labels.argmax(dim=1); if each entry is an event of its own, flatten both",
            argument="labels",
            shape=shape,
        )


def piece_entries(device: torch.device) -> int:
    """Return the number of logits per piece that suits a device."""
    return PIECE_ENTRIES_ON_CPU if device.type == "cpu" else PIECE_ENTRIES_ON_GPU


def pieces_of(rows: Rows, device: torch.device, *, whole: bool = False) -> list[LogitPiece]:
    """Check rows and cut them into pieces that suit the device that will read them, or keep them whole."""
    labels, weights = checked(rows)
    width = 1 if rows.scores.ndim == 2 else rows.n_classes
    entries = rows.scores.numel() if whole else piece_entries(device)
    outer, inner = labels.shape
    step = max(1, min(inner, entries // width))
    several = max(1, entries // (width * step))
    cuts = [
        (slice(first, first + several), slice(start, start + step))
        for first in range(0, outer, several)
        for start in range(0, inner, step)
    ]
    return [
        LogitPiece(rows.scores[a][..., b], labels[a, b], None if weights is None else weights[a, b]) for a, b in cuts
    ]


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


def check_classes(pieces: Iterable[LogitPiece], n_classes: int) -> None:
    """Raise or warn as the NumPy estimator does, for a single class and for classes with few rows."""
    from believable.recalibrate import TemperatureScaling  # imported here, because it imports scikit-learn
    from believable.recalibrate.inputs import fewest_rows

    counts = torch.zeros(n_classes + 1, dtype=torch.int64, device="cpu")
    for piece in pieces:
        labels = piece.labels.long()
        if piece.weights is not None:
            labels = torch.where(piece.weights > 0, labels, n_classes)
        counts += torch.bincount(labels.flatten(), minlength=n_classes + 1).cpu()
    if not counts[:n_classes].any():
        raise InputError("there are no rows to fit")
    estimator = TemperatureScaling(input="logits")
    enough = np.minimum(counts[:n_classes].numpy(), estimator.facts.fewest)
    estimator._warn_of_few(fewest_rows(np.repeat(np.arange(n_classes), enough), np.arange(n_classes), False))
