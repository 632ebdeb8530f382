"""Batches that calibration losses are tried on."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Some(NamedTuple):
    """Logits, labels and weights."""

    logits: Tensor
    labels: Tensor
    weights: Tensor | None = None

    def to(self, device):
        """The same elsewhere."""
        return Some(*(None if part is None else part.to(device) for part in self))

    def lists(self):
        """As Python numbers."""
        weights = None if self.weights is None else self.weights.tolist()
        return self.logits.tolist(), self.labels.tolist(), weights


def random(n, n_classes=None, seed=0, scale=2.0, weighted=False):
    """Over-confident logits of (n,) or (n, K)."""
    rng = torch.Generator().manual_seed(seed)
    shape = (n,) if n_classes is None else (n, n_classes)
    logits = scale * torch.randn(shape, generator=rng, dtype=torch.float64)
    labels = torch.randint(0, n_classes or 2, (n,), generator=rng)
    return Some(logits, labels, torch.rand(n, generator=rng, dtype=torch.float64) if weighted else None)


def _edge():
    some = random(12, 3, seed=5)
    tied = some.logits[torch.tensor([0, 1, 2, 0, 1, 2, 0, 1, 2, 3, 4, 5])]
    zeros = torch.tensor([1.0, 0, 2, 0.5, 1, 0, 3, 1, 1, 0, 0, 2], dtype=torch.float64)
    top = some.logits.argmax(dim=1)
    extreme = torch.tensor([[1e4, -1e4, 0], [-1e4, 0, 1e4], [1e4, 1e4, -1e4], [0, 0, 0]], dtype=torch.float64)
    return {
        "three classes": random(30, 3),
        "weights": random(25, 4, seed=1, weighted=True),
        "weights with zeros": Some(some.logits, some.labels, zeros),
        "one event": random(30, seed=2),
        "one event, weights": random(20, seed=3, weighted=True),
        "tied confidences": Some(tied, some.labels),
        "all right": Some(some.logits, top),
        "all wrong": Some(some.logits, (top + 1) % 3),
        "two rows": random(2, 3, seed=4),
        "extreme logits": Some(extreme, torch.tensor([0, 1, 1, 2])),
        "extreme logits, one event": Some(extreme[:, 0], torch.tensor([1, 0, 0, 1])),
    }


BATCHES = _edge()
