"""Label smoothing."""

from __future__ import annotations

import math

import pytest
import torch

from believable.errors import InputError
from believable.torch import LabelSmoothingLoss, smooth_labels
from tests.torch.logits import batch, rows_of, softmax


@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("smoothing", [0, 0.1, 0.75, 1])
def test_smoothed_labels_by_hand(classes, smoothing, device):
    """1 - s on the label, s / (K - 1) elsewhere; rows sum to one."""
    labels = torch.arange(classes, device=device)
    soft = smooth_labels(labels, classes, smoothing, dtype=torch.float64)
    for i in range(classes):
        for k in range(classes):
            assert soft[i, k].item() == pytest.approx(1 - smoothing if i == k else smoothing / (classes - 1), abs=1e-15)
    torch.testing.assert_close(soft.sum(dim=1), torch.ones(classes, dtype=torch.float64, device=device))


def test_classes_are_in_dimension_one(device):
    """Pixels keep their places, one label alone is a row, the type is torch's default or the one asked for."""
    labels = torch.tensor([[[0, 1], [2, 2]]], device=device)
    soft = smooth_labels(labels, 3)
    assert soft.shape == (1, 3, 2, 2)
    assert soft.device == labels.device
    assert torch.equal(soft.argmax(dim=1), labels)
    assert smooth_labels(labels[0, 0, 1], 3).tolist() == pytest.approx([0.05, 0.9, 0.05])
    assert soft.dtype == torch.get_default_dtype()
    assert smooth_labels(labels, 3, dtype=torch.bfloat16).dtype == torch.bfloat16


def test_wrong_labels_are_named():
    """A label that is no class, and a number of classes below two, are errors."""
    with pytest.raises(InputError, match=r"labels must be integers 0..2, got 3 at row 1"):
        smooth_labels(torch.tensor([0, 3]), 3)
    with pytest.raises(InputError, match="num_classes must be an integer at least 2"):
        smooth_labels(torch.tensor([0]), 1)
    with pytest.raises(InputError, match="labels must be a tensor of integers"):
        smooth_labels([0, 1], 3)


@pytest.mark.parametrize("weight", [None, [1.0, 0.5, 2.0, 0.0, 3.0]])
@pytest.mark.parametrize("smoothing", [0, 0.1, 0.9])
def test_loss_by_hand(weight, smoothing, device):
    """-sum_k w[k] q[k] log p[k], and the mean over the weights of the labels."""
    logits, labels = batch(device, inner=(2,))
    values, weights = [], []
    for row, label in rows_of(logits, labels):
        p = softmax(row)
        value = 0.0
        for k in range(5):
            q = 1 - smoothing if k == label else smoothing / 4
            value -= (weight[k] if weight else 1) * q * math.log(p[k])
        values.append(value)
        weights.append(weight[label] if weight else 1)
    make = {"smoothing": smoothing, "weight": weight}
    each = LabelSmoothingLoss(**make, reduction="none").to(device)(logits, labels)
    assert each.reshape(-1).tolist() == pytest.approx(values, rel=1e-12, abs=1e-12)
    mean = LabelSmoothingLoss(**make).to(device)(logits, labels)
    assert mean.item() == pytest.approx(sum(values) / sum(weights), rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_conversion_to_torch(weighted, reduction, device):
    """torch's label_smoothing = s K / (K - 1) is the same loss, with class weights and ignored labels."""
    logits, labels = batch(device, inner=(3,))
    labels[2:4] = -100
    weight = torch.tensor([1.0, 0.5, 2.0, 0.0, 3.0], dtype=torch.float64, device=device) if weighted else None
    ours = LabelSmoothingLoss(0.1, weight=weight, reduction=reduction)
    torchs = torch.nn.CrossEntropyLoss(label_smoothing=0.1 * 5 / 4, weight=weight, reduction=reduction)
    torch.testing.assert_close(ours(logits, labels), torchs(logits, labels), rtol=1e-12, atol=1e-12)


def test_loss_is_cross_entropy_of_soft_labels(device):
    """The loss is torch's cross entropy against `smooth_labels`."""
    logits, labels = batch(device, inner=(2, 2))
    soft = smooth_labels(labels, 5, 0.3, dtype=torch.float64)
    expected = torch.nn.functional.cross_entropy(logits, soft)
    torch.testing.assert_close(LabelSmoothingLoss(0.3)(logits, labels), expected, rtol=1e-12, atol=1e-12)


def test_masked_class_without_smoothing(device):
    """With s = 0 a class of logit minus infinity adds nothing."""
    logits = torch.tensor([[1.0, 2.0, -torch.inf]], device=device)
    value = LabelSmoothingLoss(0)(logits, torch.tensor([0], device=device))
    assert value.item() == pytest.approx(-math.log(softmax([1.0, 2.0])[0]), rel=1e-6)


def test_masked_class_of_weight_zero(device):
    """A class of logit minus infinity and weight 0 adds nothing."""
    logits = torch.tensor([[1.0, 2.0, -torch.inf]], device=device)
    value = LabelSmoothingLoss(0.2, weight=[1.0, 1.0, 0.0]).to(device)(logits, torch.tensor([0], device=device))
    p = softmax([1.0, 2.0])
    assert value.item() == pytest.approx(-0.8 * math.log(p[0]) - 0.1 * math.log(p[1]), rel=1e-6)
