"""The focal loss."""

from __future__ import annotations

import math

import pytest
import torch

from believable.torch import FocalLoss
from tests.torch.logits import batch, rows_of, softmax


@pytest.mark.parametrize("gamma", [0, 0.3, 1, 2, 5.5, "flsd53"])
@pytest.mark.parametrize("weight", [None, [1.0, 0.5, 2.0, 0.0, 3.0]])
def test_by_hand(gamma, weight, device):
    """-(1 - p)^gamma log p, where "flsd53" takes 5 below p = 0.2 and 3 from there; mean over the class weights."""
    logits, labels = batch(device, inner=(2,))
    values, weights, hard = [], [], 0
    for row, label in rows_of(logits, labels):
        p = softmax(row)[label]
        hard += p < 0.2
        power = gamma if gamma != "flsd53" else 5 if p < 0.2 else 3
        weights.append(weight[label] if weight else 1)
        values.append(-weights[-1] * (1 - p) ** power * math.log(p))
    assert 0 < hard < len(values)
    each = FocalLoss(gamma, weight=weight, reduction="none").to(device)(logits, labels)
    assert each.reshape(-1).tolist() == pytest.approx(values, rel=1e-9, abs=1e-12)
    mean = FocalLoss(gamma, weight=weight).to(device)(logits, labels)
    assert mean.item() == pytest.approx(sum(values) / sum(weights), rel=1e-9)


def test_default_is_two(device):
    """gamma = 2 unless asked otherwise."""
    logits, labels = batch(device)
    assert FocalLoss()(logits, labels) == FocalLoss(2.0)(logits, labels)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("gamma", [0, 0.01, 0.5, 1, 3, "flsd53"])
def test_gradient_from_zero_to_one(gamma, dtype, device):
    """For a logit from -1e4 to 1e4 the gradient is finite and never asks for less of the label."""
    z = torch.tensor([-1e4, -200, -100, -30, -1, 0, 1, 10, 15, 17, 20, 40, 100, 1e4], dtype=dtype, device=device)
    z.requires_grad_()
    logits = torch.stack([torch.zeros_like(z), z], dim=1)
    value = FocalLoss(gamma, reduction="none")(logits, torch.ones(len(z), dtype=torch.long, device=device))
    (gradient,) = torch.autograd.grad(value.sum(), z)
    assert value.isfinite().all()
    assert gradient.isfinite().all()
    assert (gradient <= 0).all()
    assert gradient[0] == -1  # far off it pulls like the cross entropy
    assert gradient[-1] == 0


@pytest.mark.parametrize("gamma", [0.5, 2])
def test_impossible_label(gamma, device):
    """Where the label's logit is minus infinity the loss is infinite and the gradient that of the cross entropy."""
    logits = torch.tensor([[-torch.inf, 0.0, 1.0]], device=device, requires_grad=True)
    labels = torch.tensor([0], device=device)
    value = FocalLoss(gamma)(logits, labels)
    assert value == torch.inf
    expected = torch.autograd.grad(torch.nn.functional.cross_entropy(logits, labels), logits)
    torch.testing.assert_close(torch.autograd.grad(value, logits), expected)
