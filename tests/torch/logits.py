"""Small batches of logits that the tests of the losses share, and the softmax of a list."""

from __future__ import annotations

import math

import torch


def batch(device, n=12, classes=5, inner=(), seed=0, dtype=torch.float64):
    """Logits of shape (n, classes, *inner) and random labels."""
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(n, classes, *inner, generator=generator, dtype=dtype)
    labels = torch.randint(classes, (n, *inner), generator=generator)
    return logits.to(device), labels.to(device)


def softmax(row):
    """Of a list of numbers."""
    top = max(row)
    parts = [math.exp(value - top) for value in row]
    return [part / sum(parts) for part in parts]


def rows_of(logits, labels):
    """Pairs of a list of logits and a label, pixels as rows of their own."""
    flat = logits.movedim(1, -1).reshape(-1, logits.shape[1])
    return list(zip(flat.tolist(), labels.reshape(-1).tolist(), strict=True))
