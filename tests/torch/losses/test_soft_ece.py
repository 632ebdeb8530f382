"""The soft-binned ECE against its literal definition, its hard limit, and its gradient."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from believable import Predictions, expected_calibration_error
from believable.errors import InputError
from believable.torch import SoftECE
from tests.torch.batches import BATCHES, Some, random
from tests.torch.calibration_literal import soft_ece

POWER = {"l1": 1, "l2": 2}


def near(value):
    """Equal to 1e-11."""
    return pytest.approx(value, rel=1e-11, abs=1e-13)


def loss(some, *args, **how):
    """The value for a batch."""
    return SoftECE(*args, **how)(some.logits, some.labels, sample_weight=some.weights)


@pytest.mark.parametrize("norm", POWER)
@pytest.mark.parametrize(("n_bins", "temperature"), [(15, 0.01), (4, 0.001), (1, 0.01)])
@pytest.mark.parametrize("name", BATCHES)
def test_definition(name, n_bins, temperature, norm, device):
    """Every row in every bin, by degrees."""
    some = BATCHES[name]
    expected = soft_ece(*some.lists(), n_bins, temperature, POWER[norm])
    assert loss(some.to(device), n_bins, temperature=temperature, norm=norm).item() == near(expected)


@pytest.mark.parametrize("norm", POWER)
@pytest.mark.parametrize("name", BATCHES)
def test_hard_limit(name, norm, device):
    """As the temperature falls to 0 this is the ECE of the NumPy core, with or without scores at 0 and 1."""
    some = BATCHES[name]
    weights = None if some.weights is None else some.weights.numpy()
    known = Predictions(some.logits.numpy(), some.labels.numpy(), sample_weight=weights, from_logits=True)
    expected = expected_calibration_error(known, n_bins=15, norm=POWER[norm])
    for temperature in (1e-9, 1e-14, 1e-150):
        assert loss(some.to(device), temperature=temperature, norm=norm).item() == near(expected)


def test_an_edge_is_shared(device):
    """A score right on an edge belongs to both its bins by halves, however low the temperature."""
    some = Some(torch.zeros(1, dtype=torch.float64), torch.tensor([1])).to(device)  # p = 1/2, of 2 bins
    assert loss(some, 2, temperature=1e-12, norm="l2").item() == near(0.5)
    below = torch.tensor([0.0, np.log(0.4 / 0.6)], dtype=torch.float64)
    some = Some(below, torch.tensor([1, 0])).to(device)  # half of 0.5 less 0.4 below, half of 0.5 above
    assert loss(some, 2, temperature=1e-12).item() == near((abs(0.25 - 0.4) + 0.25) / 2)


@pytest.mark.parametrize("norm", POWER)
@pytest.mark.parametrize("name", ["three classes", "weights", "weights with zeros", "one event, weights", "two rows"])
def test_gradient(name, norm, device):
    """The gradient is that of finite differences, through the memberships too."""
    some = BATCHES[name].to(device)
    logits = some.logits[:5].clone().requires_grad_()
    weights = None if some.weights is None else some.weights[:5]
    for temperature in (0.01, 0.001):
        module = SoftECE(temperature=temperature, norm=norm)
        assert gradcheck(lambda z, m=module: m(z, some.labels[:5], sample_weight=weights), logits)


def test_weights_are_repetition(device):
    """A row twice is a row of weight 2, and a row of weight 0 is not there, whatever its label."""
    some = random(10, 3, seed=6)
    times = torch.tensor([1, 2, 0, 1, 3, 1, 1, 0, 2, 1])
    repeated = Some(some.logits.repeat_interleave(times, 0), some.labels.repeat_interleave(times))
    weighted = Some(some.logits, some.labels.masked_fill(times == 0, 99), times.double())
    for norm in POWER:
        assert loss(weighted.to(device), norm=norm).item() == near(loss(repeated.to(device), norm=norm).item())
        whole = loss(weighted.to(device), norm=norm, reduction="sum").item()
        assert whole == near(12 * loss(weighted.to(device), norm=norm).item())


@pytest.mark.parametrize("norm", POWER)
def test_nothing_to_learn_from(norm, device):
    """No row, no weight, and an error of exactly 0 have the value 0 and the gradient 0."""
    sure = torch.tensor([[900.0, 0.0], [0.0, 900.0]], dtype=torch.float64, device=device, requires_grad=True)
    labels = torch.tensor([0, 1], device=device)
    for logits, y, w in (
        (sure[:0], labels[:0], None),
        (sure, labels, torch.zeros(2, device=device)),
        (sure, labels, None),
    ):
        value = SoftECE(norm=norm)(logits, y, sample_weight=w)
        (slope,) = torch.autograd.grad(value, sure)
        assert value.item() == 0
        assert not slope.any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_types(dtype, device):
    """Whatever the type of the logits, sums are in float64 and the value at least float32."""
    some = random(20, 5, seed=7).to(device)
    logits = some.logits.to(dtype).requires_grad_()
    value = SoftECE()(logits, some.labels)
    value.backward()
    assert value.dtype == torch.float32
    assert logits.grad.dtype == dtype
    assert value.item() == pytest.approx(SoftECE()(logits.detach().double(), some.labels).item(), rel=1e-7)


def test_refusals():
    """Each refusal says what is wrong."""
    for how, reason in (
        ({"n_bins": 0}, "n_bins"),
        ({"temperature": 0.0}, "temperature must be a number from 1e-150"),
        ({"norm": 1}, "norm must be one of 'l1', 'l2'"),
        ({"reduction": "none"}, "SoftECE is a number of the whole batch"),
    ):
        with pytest.raises(InputError, match=reason):
            SoftECE(**how)
    assert repr(SoftECE()) == "SoftECE(n_bins=15, temperature=0.01, norm='l1', reduction='mean')"
