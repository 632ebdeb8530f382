"""Sums by bin of tensors: those of the NumPy core."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from believable import BinStats, Predictions, View
from believable.errors import InputError
from believable.torch import bin_stats

SUMS = ("n", "ny", "w", "wp", "wpp", "wy", "wpy", "w2", "w2p", "w2pp", "w2y", "w2py")


def scores(kind, dtype, n=600, seed=0):
    """Probabilities and labels; some lie on edges, 0 and 1."""
    rng = np.random.default_rng(seed)
    if kind == "binary":
        p = rng.random(n).astype(dtype)
        p[:6] = [0, 1, 0.2, 1 / 3, 0.5, 0.6]
        return p, (rng.random(n) < p).astype(np.int64)
    p = rng.dirichlet(np.full(5, 0.3), n).astype(dtype)
    p /= p.sum(axis=1, keepdims=True)
    return p, rng.integers(0, 5, n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("notion", ["binary", "confidence", "top_label", "classwise"])
def test_equals_the_core(device, notion, dtype, weighted):
    """Every sum of every bin is that of `BinStats.of`."""
    p, y = scores("binary" if notion == "binary" else "multiclass", dtype)
    w = np.random.default_rng(1).random(len(y)) if weighted else None
    view = View("binary") if notion == "binary" else View(notion, 5)
    wanted = BinStats.of(Predictions(p, y, sample_weight=w), view, n_bins=15)
    weights = None if w is None else torch.tensor(w, device=device)
    p, y = torch.tensor(p, device=device), torch.tensor(y, device=device)
    found = bin_stats(p, y, notion=notion, sample_weight=weights)
    assert found.edges == wanted.edges
    assert found.view == wanted.view
    assert np.array_equal(found.key, wanted.key)
    for name in SUMS:
        np.testing.assert_allclose(
            getattr(found, name), getattr(wanted, name), rtol=1e-6 if device == "cuda" else 1e-12
        )


def test_literal_loop(device):
    """Counts and sums of three bins by hand: right-closed, 0 in the first, 1 in the last."""
    p = [0.0, 1 / 3, 0.34, 0.5, 2 / 3, 0.7, 1.0]
    y = [0, 1, 1, 0, 1, 0, 1]
    bins = [[i for i in range(7) if (k / 3 < p[i] or k == 0) and p[i] <= (k + 1) / 3] for k in range(3)]
    found = bin_stats(torch.tensor(p, dtype=torch.float64, device=device), torch.tensor(y, device=device), n_bins=3)
    assert found.n.tolist() == [len(rows) for rows in bins]
    assert found.wy.tolist() == [sum(y[i] for i in rows) for rows in bins]
    assert found.wp.tolist() == pytest.approx([sum(p[i] for i in rows) for rows in bins], rel=1e-12)


def test_refuses_what_is_no_probability(device):
    """Logits that were not said to be such are an error, which names the row."""
    with pytest.raises(InputError, match=r"from_logits=True"):
        bin_stats(torch.tensor([0.2, 3.0], device=device), torch.tensor([0, 1], device=device))
