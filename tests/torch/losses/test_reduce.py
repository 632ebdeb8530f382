"""One number from the losses of the rows."""

from __future__ import annotations

import pytest
import torch

from believable.errors import InputError
from believable.torch.losses.base import reduced


def test_by_hand(device):
    """Values times weights, their sum, and their sum over the sum of the weights."""
    values = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=device)
    weights = torch.tensor([[1.0], [3.0]], device=device)
    assert reduced(values, weights, "none").tolist() == [[1, 2], [9, 12]]
    assert reduced(values, weights, "sum") == 24
    assert reduced(values, weights, "mean") == 24 / 8
    assert reduced(values, None, "mean") == 2.5
    assert torch.equal(reduced(values, None, "none"), values)
    assert reduced(values, weights, "mean", total=torch.tensor(2.0, device=device)) == 12


@pytest.mark.parametrize("bad", [torch.inf, torch.nan])
def test_weight_zero_is_not_there(bad, device):
    """A value of weight 0 counts for nothing even where it is no number, in the gradient too."""
    values = torch.tensor([1.0, bad], device=device, requires_grad=True)
    mean = reduced(values, torch.tensor([2.0, 0.0], device=device), "mean")
    mean.backward()
    assert mean == 1
    assert values.grad.tolist() == [1, 0]


def test_mean_of_nothing(device):
    """It is 0, without rows and without weight."""
    assert reduced(torch.zeros(0, device=device), None, "mean") == 0
    assert reduced(torch.zeros(0, device=device), torch.zeros(0, device=device), "mean") == 0
    assert reduced(torch.ones(2, device=device), torch.zeros(2, device=device), "mean") == 0


def test_unknown_reductions_are_refused():
    """There are three reductions."""
    with pytest.raises(InputError, match="reduction must be one of"):
        reduced(torch.ones(1), None, "batchmean")
