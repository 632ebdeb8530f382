"""The confidence penalty."""

from __future__ import annotations

import math

import pytest
import torch

from believable.torch import ConfidencePenalty
from tests.torch.logits import batch, rows_of, softmax


@pytest.mark.parametrize("threshold", [None, 0.0, 0.8, 3.0])
@pytest.mark.parametrize("weight", [None, [1.0, 0.5, 2.0, 0.0, 3.0]])
def test_by_hand(threshold, weight, device):
    """-log p[y] - beta H, or + beta max(0, threshold - H); mean over the class weights."""
    logits, labels = batch(device, inner=(2,))
    values, weights, below = [], [], 0
    for row, label in rows_of(logits, labels):
        p = softmax(row)
        entropy = -sum(share * math.log(share) for share in p)
        penalty = -entropy if threshold is None else max(0.0, threshold - entropy)
        below += penalty > 0
        weights.append(weight[label] if weight else 1)
        values.append(weights[-1] * (-math.log(p[label]) + 0.4 * penalty))
    if threshold == 0.8:
        assert 0 < below < len(values)
    make = {"threshold": threshold, "weight": weight}
    each = ConfidencePenalty(0.4, **make, reduction="none").to(device)(logits, labels)
    assert each.reshape(-1).tolist() == pytest.approx(values, rel=1e-11, abs=1e-12)
    mean = ConfidencePenalty(0.4, **make).to(device)(logits, labels)
    assert mean.item() == pytest.approx(sum(values) / sum(weights), rel=1e-11)


def test_threshold_of_the_uniform_distribution(device):
    """With threshold = log K the hinge is always on: the first form plus beta log K."""
    logits, labels = batch(device)
    hinge = ConfidencePenalty(0.4, threshold=math.log(5))(logits, labels)
    plain = ConfidencePenalty(0.4)(logits, labels)
    assert hinge.item() == pytest.approx(plain.item() + 0.4 * math.log(5), rel=1e-12)


@pytest.mark.parametrize("threshold", [None, 0.9])
def test_confidence_costs(threshold, device):
    """Cross entropy aside, the surer of two right predictions costs more."""
    logits = torch.tensor([[3.0, 0.0, 0.0], [6.0, 0.0, 0.0]], dtype=torch.float64, device=device)
    labels = torch.tensor([0, 0], device=device)
    penalties = [ConfidencePenalty(b, threshold=threshold, reduction="none")(logits, labels) for b in (0.0, 1.0)]
    unsure, sure = (penalties[1] - penalties[0]).tolist()
    assert sure > unsure


def test_entropy_of_certainty(device):
    """A prediction that is certain has entropy 0, so that only the cross entropy is left."""
    logits = torch.tensor([[1e4, 0.0, -1e4]], device=device)
    assert ConfidencePenalty(1.0)(logits, torch.tensor([0], device=device)) == 0
