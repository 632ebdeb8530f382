"""Logits and labels of a training batch, checked without waiting for the device.

Shapes and types are always checked. Values (is the label a class, is the weight negative?) are checked only on the CPU
and when no graph is being compiled: reading them from a GPU would stall it at every step. On a GPU an impossible label
is caught by the device itself, as in torch's own losses.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from believable._check import HEAVIEST_WEIGHT
from believable.errors import InputError


def readable(values: Tensor) -> bool:
    """Return whether values can be read without waiting for a device."""
    return values.device.type == "cpu" and not torch.compiler.is_compiling()


def widened(values: Tensor) -> Tensor:
    """Return a tensor as float32, or float64 if it is float64."""
    return values if values.dtype == torch.float64 else values.float()


def check_floats(logits: Any) -> None:
    """Raise unless the logits are a tensor of floats."""
    if not isinstance(logits, Tensor) or not logits.is_floating_point():
        raise InputError("{argument} must be a tensor of floats, got {got}", argument="logits", got=_words(logits))


def check_ignore_index(ignore_index: Any) -> None:
    """Raise unless `ignore_index` is an integer or None."""
    if ignore_index is not None and (isinstance(ignore_index, bool) or not isinstance(ignore_index, int)):
        raise InputError(
            "{argument} must be an integer or None, got {got!r}", argument="ignore_index", got=ignore_index
        )


def log_probabilities(logits: Tensor) -> Tensor:
    """Return log softmax over dimension 1, in float32 or wider whatever the type of the logits, also under autocast."""
    check_floats(logits)
    if logits.ndim < 2 or logits.shape[1] < 2:
        raise InputError(
            "{argument} must have shape (N, K) or (N, K, d1, ...) with K >= 2 classes, got {got}; for one logit "
            "z per row pass torch.stack([torch.zeros_like(z), z], dim=1)",
            argument="logits",
            got=tuple(logits.shape),
        )
    return torch.log_softmax(widened(logits), dim=1)


def class_labels(labels: Tensor, num_classes: int, ignore_index: int | None = None) -> tuple[Tensor, Tensor | None]:
    """Return labels as int64, with class 0 where ignored, and a mask of those kept (None if all are)."""
    if not isinstance(labels, Tensor) or labels.is_floating_point() or labels.is_complex():
        raise InputError(
            "{argument} must be a tensor of integers 0..{last}, got {got}; soft labels are for "
            "torch.nn.CrossEntropyLoss",
            argument="labels",
            last=num_classes - 1,
            got=_words(labels),
        )
    labels = labels.long()
    kept = None if ignore_index is None else labels != ignore_index
    if kept is not None:
        labels = labels.masked_fill(~kept, 0)
    if readable(labels):
        bad = (labels < 0) | (labels >= num_classes)
        if bad.any():
            place, value = _first(labels, bad)
            ignored = "" if ignore_index is None else f" or ignore_index={ignore_index}"
            raise InputError(
                "{argument} must be integers 0..{last}{ignored}, got {got} at {place}",
                argument="labels",
                last=num_classes - 1,
                ignored=ignored,
                got=int(value),
                place=place,
            )
    return labels, kept


def same_rows(labels: Tensor, logits: Tensor) -> None:
    """Raise unless there is one label for each row or pixel of the logits."""
    expected = (logits.shape[0], *logits.shape[2:])
    shape = tuple(labels.shape)
    if shape == expected:
        return
    advice = ""
    if shape == tuple(logits.shape):
        advice = "; pass labels.argmax(dim=1) for one-hot rows"
    elif labels.ndim == len(expected) + 1 and 1 in shape:
        advice = "; squeeze the dimension of size 1"
    raise InputError(
        "{argument} of shape {shape} need labels of shape {expected}, got {got}{advice}",
        argument="logits",
        shape=tuple(logits.shape),
        expected=expected,
        got=shape,
        advice=advice,
    )


def row_weights(weights: Any, labels: Tensor, dtype: torch.dtype) -> Tensor:
    """Return weights per label, or per row of labels, with as many dimensions as the labels."""
    values = torch.as_tensor(weights, device=labels.device).to(dtype)
    if values.shape not in (labels.shape, labels.shape[:1]):
        shapes = " or ".join(str(tuple(shape)) for shape in dict.fromkeys((labels.shape[:1], labels.shape)))
        raise InputError(
            "{argument} must have shape {shapes}, got {got}",
            argument="sample_weight",
            shapes=shapes,
            got=tuple(values.shape),
        )
    if readable(values):
        check_weights(values, "sample_weight")
    return values.reshape(values.shape + (1,) * (labels.ndim - values.ndim))


def check_weights(values: Tensor, name: str) -> None:
    """Raise at the first weight that is negative, infinite or NaN, or so large that sums may overflow."""
    values = values.double()
    bad = ~((values >= 0) & values.isfinite())
    if bad.any():
        place, value = _first(values, bad)
        raise InputError(f"{name} must be finite and not negative, got {float(value):g} at {place}")
    if (values > HEAVIEST_WEIGHT).any():
        raise InputError(f"{name} reaches {float(values.max()):g}, too large to be summed: divide by the mean")


def _first(values: Tensor, bad: Tensor) -> tuple[str, Tensor]:
    """Return the position of the first bad value in words, and the value."""
    index = tuple(bad.nonzero()[0].tolist())
    return (f"row {index[0]}" if len(index) == 1 else f"position {index}"), values[index]


def _words(value: Any) -> str:
    return f"a tensor of {value.dtype}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
