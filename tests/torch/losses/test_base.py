"""What losses have in common: one number from those of the rows, and a batch before anything looks at its pairs or bins."""

from __future__ import annotations

import pytest
import torch

from believable.errors import InputError
from believable.torch import KCELoss, MMCELoss, SoftECE
from believable.torch.losses.base import reduced
from tests.torch.batches import random

LOSSES = {
    "MMCE": MMCELoss(),
    "MMCE, weighted": MMCELoss(weighted=True),
    "SoftECE": SoftECE(),
    "KCE": KCELoss(bandwidth=0.3),
    "KCE, gaussian": KCELoss(kernel="gaussian"),
}
every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


@every_loss
def test_bytes_are_labels(loss, device):
    """Labels of one byte are those of more: class 156 is not -100, as which torch compares it."""
    some = random(20, 200).to(device)
    labels = some.labels.clone()
    labels[:10] = 156
    assert loss(some.logits, labels.to(torch.uint8)).item() == pytest.approx(
        loss(some.logits, labels).item(), rel=1e-12
    )


@every_loss
@pytest.mark.parametrize("n_classes", [None, 3])
@pytest.mark.parametrize("bad", [torch.nan, -torch.inf])
def test_rows_left_out_may_hold_anything(loss, n_classes, bad, device):
    """Ignored rows and rows of weight 0 count for nothing even where their logits are no numbers, in the gradient too."""
    some = random(20, n_classes).to(device)
    logits, labels, weights = some.logits.clone(), some.labels.clone(), torch.ones(20, device=device)
    logits[:4], labels[:2], weights[2:4] = bad, -100, 0
    logits.requires_grad_()
    value = loss(logits, labels, sample_weight=weights)
    value.backward()
    assert value.item() == pytest.approx(loss(some.logits[4:], some.labels[4:]).item(), rel=1e-12)
    assert logits.grad.isfinite().all()
    assert not logits.grad[:4].any()


@every_loss
@pytest.mark.parametrize("n_classes", [None, 3])
def test_a_model_that_diverged(loss, n_classes, device):
    """NaN logits make the loss and the gradient NaN, and nothing else."""
    some = random(6, n_classes).to(device)
    logits = some.logits.clone()
    logits[1] = torch.nan
    logits.requires_grad_()
    value = loss(logits, some.labels)
    value.backward()
    assert value.isnan()
    assert logits.grad.isnan().any()


@every_loss
def test_weights_whose_sum_is_infinite_are_refused(loss):
    """They would all be 0 in comparison."""
    some = random(6, 3)
    with pytest.raises(InputError, match=r"sample_weight reaches 1e\+308, too large to be summed"):
        loss(some.logits, some.labels, sample_weight=torch.full((6,), 1e308, dtype=torch.float64))


# --- one number from those of the rows --------------------------------------------------------------------------------


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
