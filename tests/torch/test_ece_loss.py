"""The error of logits equals that of their softmax."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from believable import expected_calibration_error
from believable.errors import InputError
from believable.torch import ECELoss


def literal(logits, labels, n_bins):
    """The loop of Guo et al., with confidences of 0 in the first bin (a softmax never gives one)."""
    probabilities = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    confidence, correct = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    total = 0.0
    for m in range(n_bins):
        inside = (confidence > m / n_bins) & (confidence <= (m + 1) / n_bins)
        if inside.any():
            total += inside.mean() * abs(confidence[inside].mean() - correct[inside].mean())
    return total


@pytest.mark.parametrize("n_bins", [10, 15])
def test_classes(n_bins):
    """The value of the loop, as a tensor without gradient."""
    random = np.random.default_rng(0)
    logits, labels = random.normal(0, 2, (500, 4)), random.integers(0, 4, 500)
    tensor = torch.tensor(logits, requires_grad=True)
    found = ECELoss(n_bins)(tensor, torch.tensor(labels))
    assert found.shape == ()
    assert not found.requires_grad
    assert found.item() == pytest.approx(literal(logits, labels, n_bins), abs=1e-12)


def test_one_event():
    """1-D logits are those of P(y = 1)."""
    logits, labels = torch.tensor([-2.0, 0.5, 1.0]), torch.tensor([0, 0, 1])
    expected = expected_calibration_error(torch.sigmoid(logits).numpy(), labels.numpy(), 15)
    assert ECELoss()(logits, labels).item() == pytest.approx(expected, abs=1e-7)


def test_settings():
    """It prints its number of bins, and refuses what is none."""
    assert repr(ECELoss(10)) == "ECELoss(n_bins=10)"
    with pytest.raises(InputError, match="n_bins must be an integer"):
        ECELoss(0)
