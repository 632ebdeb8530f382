"""Tensors as rows: scores, labels and weights of any shape that classifiers give, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from believable._types import Kind
from believable.errors import InputError

BLOCK = {"cpu": 1 << 17, "cuda": 1 << 23}  # entries that are turned into float64 at once


class Block(NamedTuple):
    """Some rows: scores of shape (m,) or (m, K) in float32 or float64, labels (m,), weights (m,) or None."""

    scores: Tensor
    labels: Tensor
    weights: Tensor | None


@dataclass(frozen=True, slots=True)
class Rows:
    """Scores and labels that belong together; nothing is copied.

    Attributes
    ----------
    scores : Tensor
        Of shape (outer, inner) for one event, (outer, K, inner) for classes: pixels and tokens are the inner axis.
    labels : Tensor
        Of shape (outer, inner).
    weights : Tensor or None
        Of shape (outer, inner).
    from_logits : bool
        Whether the scores are logits.
    ignore_index : int or None
        The label of rows to leave out.
    """

    scores: Tensor
    labels: Tensor
    weights: Tensor | None = None
    from_logits: bool = False
    ignore_index: int | None = None

    @property
    def kind(self) -> Kind:
        """One event, or classes."""
        return "binary" if self.scores.ndim == 2 else "multiclass"

    @property
    def n_classes(self) -> int:
        """Columns; 2 for one event."""
        return 2 if self.scores.ndim == 2 else self.scores.shape[1]

    @property
    def dtype(self) -> str:
        """The type of the probabilities: softmax and sigmoid are taken in float64."""
        wide = self.from_logits or self.scores.dtype not in (torch.float32, torch.float16, torch.bfloat16)
        return "float64" if wide else "float32"

    def __len__(self) -> int:
        return self.labels.numel()

    def blocks(self, entries: int | None = None) -> Iterator[Block]:
        """Blocks of rows that are left in, none of them with more than so many entries where rows allow it."""
        entries = entries or BLOCK.get(self.scores.device.type, BLOCK["cpu"])
        width = 1 if self.kind == "binary" else self.n_classes
        outer, inner = self.labels.shape
        step = max(1, min(inner, entries // width))
        several = max(1, entries // (width * step))
        for first in range(0, outer, several):
            for start in range(0, inner, step):
                here = slice(first, first + several), slice(start, start + step)
                scores = self.scores[here] if width == 1 else self.scores[here[0], :, here[1]].movedim(1, 2)
                scores = scores.reshape(-1) if width == 1 else scores.reshape(-1, width)
                weights = None if self.weights is None else self.weights[here].reshape(-1).double()
                yield self._kept(scores, self.labels[here].reshape(-1), weights)

    def _kept(self, scores: Tensor, labels: Tensor, weights: Tensor | None) -> Block:
        keep = None if self.ignore_index is None else labels != self.ignore_index
        if weights is not None:
            keep = weights != 0 if keep is None else keep & (weights != 0)
        if keep is not None:
            scores, labels = scores[keep], labels[keep]
            weights = None if weights is None else weights[keep]
        if self.from_logits or scores.dtype not in (torch.float32, torch.float64):
            scores = scores.to(torch.float64 if self.dtype == "float64" else torch.float32)
        return Block(scores, labels, weights)


def rows_of(
    predictions: Any,
    targets: Any,
    sample_weight: Any = None,
    *,
    from_logits: bool,
    ignore_index: int | None = None,
) -> Rows:
    """Tensors as `Rows`: targets of the same shape for one event, without axis 1 of the predictions for classes."""
    scores, labels = _tensor(predictions, "predictions"), _tensor(targets, "targets")
    if labels.device != scores.device:
        raise InputError(f"predictions are on {scores.device}, targets on {labels.device}: move one to the other")
    if scores.is_complex() or scores.dtype == torch.bool:
        raise InputError(f"predictions must be real numbers, got {scores.dtype}")
    if from_logits and not scores.is_floating_point():
        raise InputError(f"logits must be floating-point numbers, got {scores.dtype}")
    shape = tuple(labels.shape)
    if tuple(scores.shape) == shape:
        scores = scores.reshape(1, -1) if scores.ndim < 2 else scores.flatten(1)
    elif scores.ndim == labels.ndim + 1 and (*scores.shape[:1], *scores.shape[2:]) == shape:
        if scores.shape[1] < 2:
            raise InputError(
                f"predictions of shape {tuple(scores.shape)} have one column: for one event, pass "
                "predictions.squeeze(1), of the same shape as the targets"
            )
        scores = scores[..., None].flatten(2)  # no rows, too
    else:
        raise InputError(
            f"predictions of shape {tuple(scores.shape)} and targets of shape {shape} do not belong together: "
            "targets have the same shape for one event, or no axis 1 where that is the classes'; (N, K) with (N,), "
            "(N, K, H, W) with (N, H, W)"
        )
    weights = None
    if sample_weight is not None:
        weights = torch.as_tensor(sample_weight, device=scores.device).detach()
        if tuple(weights.shape) != shape:
            raise InputError(f"sample_weight must have the shape of the targets, {shape}, got {tuple(weights.shape)}")
    flat = (1, -1) if scores.ndim == 2 and len(scores) == 1 else (scores.shape[0], -1)
    labels = labels.reshape(flat) if labels.numel() else labels.reshape(scores.shape[0], 0)
    weights = None if weights is None else weights.reshape(labels.shape)
    columns = 2 if scores.ndim == 2 else scores.shape[1]
    return Rows(scores, _whole(labels, columns, ignore_index), weights, bool(from_logits), ignore_index)


def _tensor(values: Any, name: str) -> Tensor:
    try:
        return torch.as_tensor(values).detach()
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{name} must be a tensor, or something to make one of: {error}") from error


def _whole(labels: Tensor, n_classes: int, ignore_index: int | None) -> Tensor:
    """Labels as integers; fractions become -1 - 2**31, which is no class, so that they are found with the others."""
    if labels.is_floating_point():
        return torch.where(labels == labels.round(), labels, -(2.0**31)).nan_to_num(-(2.0**31)).long()
    if labels.is_complex():
        raise InputError(f"targets must be whole numbers, got {labels.dtype}")
    if labels.dtype in (torch.uint16, torch.uint32, torch.uint64):
        return labels.long()  # which torch can compare
    if labels.dtype == torch.bool:
        return labels
    # To compare bytes with a number, torch wraps the number round: 1000 would be 232, and -100 be 156.
    span = torch.iinfo(labels.dtype)
    fits = all(span.min <= number <= span.max for number in (n_classes, ignore_index or 0))
    return labels if fits else labels.long()
