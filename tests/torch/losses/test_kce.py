"""The kernel calibration loss against its literal definition, the NumPy metric, and its gradient."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck

from believable import Predictions, squared_kernel_calibration_error
from believable._kernels import Similarity
from believable.errors import InputError, UndefinedError
from believable.torch import KCELoss, pairs
from believable.torch.pairs import pair_form
from tests.torch.batches import BATCHES, Some, random
from tests.torch.calibration_literal import skce


def near(value):
    """Equal to 1e-11."""
    return pytest.approx(value, rel=1e-11, abs=1e-13)


def loss(some, **how):
    """The value for a batch."""
    return KCELoss(**how)(some.logits, some.labels, sample_weight=some.weights)


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("kernel", ["tv", "gaussian"])
@pytest.mark.parametrize("nu", [0.3, 0.01])
@pytest.mark.parametrize("name", BATCHES)
def test_definition(name, nu, kernel, estimator, device):
    """The double sum over pairs of rows."""
    some = BATCHES[name]
    expected = skce(*some.lists(), kernel, nu, estimator == "biased")
    assert loss(some.to(device), kernel=kernel, bandwidth=nu, estimator=estimator).item() == near(expected)


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("kernel", ["tv", "gaussian"])
@pytest.mark.parametrize("name", BATCHES)
def test_numpy(name, kernel, estimator, device):
    """The number of the NumPy core, with the median distance of the batch as bandwidth."""
    some = BATCHES[name]
    weights = None if some.weights is None else some.weights.numpy()
    known = Predictions(some.logits.numpy(), some.labels.numpy(), sample_weight=weights, from_logits=True)
    expected = squared_kernel_calibration_error(known, kernel=kernel, estimator=estimator)
    assert loss(some.to(device), kernel=kernel, estimator=estimator).item() == near(expected)


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("kernel", ["tv", "gaussian"])
@pytest.mark.parametrize("name", ["three classes", "weights", "weights with zeros", "one event, weights", "two rows"])
def test_gradient(name, kernel, estimator, device):
    """The gradient is that of finite differences, for wide and for narrow kernels."""
    some = BATCHES[name].to(device)
    logits = some.logits[:6].clone().requires_grad_()
    weights = None if some.weights is None else some.weights[:6]
    for nu in (0.3, 0.02):
        module = KCELoss(kernel=kernel, bandwidth=nu, estimator=estimator)
        assert gradcheck(lambda z, m=module: m(z, some.labels[:6], sample_weight=weights), logits)


def test_bandwidth_is_a_constant(device):
    """The gradient with the median distance is that with the same number given."""
    some = random(15, 3, seed=2).to(device)
    p = torch.softmax(some.logits, 1)
    nu = torch.cdist(p, p, p=1.0).div(2).flatten().kthvalue((15 * 15 + 1) // 2).values.item()
    slopes = []
    for bandwidth in (None, nu):
        logits = some.logits.clone().requires_grad_()
        slopes += torch.autograd.grad(KCELoss(bandwidth=bandwidth)(logits, some.labels), logits)
    torch.testing.assert_close(*slopes, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize("kernel", ["tv", "gaussian"])
def test_tiles(kernel, diagonal, device, monkeypatch):
    """Several tiles and blocks of classes give the value and the gradient of the whole matrix, ties included."""
    monkeypatch.setattr(pairs, "TILE_ROWS", {"cpu": 16, "cuda": 16})
    monkeypatch.setattr(pairs, "DIFFERENCES_AT_ONCE", {"cpu": 512, "cuda": 512})
    rng = torch.Generator().manual_seed(3)
    points = (torch.randint(0, 6, (50, 5), generator=rng).double() / 10).to(device).requires_grad_()
    values = torch.randn(50, 5, generator=rng, dtype=torch.float64).to(device).requires_grad_()
    apart = points[:, None] - points
    apart = apart.abs().sum(2) / 2 / 0.2 if kernel == "tv" else apart.square().sum(2) / (2 * 0.2**2)
    form = torch.exp(-apart) * (values @ values.T)
    whole = form.sum() if diagonal else form.sum() - form.diagonal().sum()
    found = pair_form(points, values, Similarity(kernel, 0.2), diagonal=diagonal)
    assert found.item() == near(whole.item())
    with torch.no_grad():
        assert pair_form(points, values, Similarity(kernel, 0.2), diagonal=diagonal).item() == near(whole.item())
    expected = torch.autograd.grad(whole, (points, values))
    for one, other in zip(torch.autograd.grad(found, (points, values)), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-11)


def test_weights_are_repetition(device):
    """A row twice is a row of weight 2 where rows meet themselves, and a row of weight 0 is not there."""
    some = random(10, 3, seed=6)
    times = torch.tensor([1, 2, 0, 1, 3, 1, 1, 0, 2, 1])
    repeated = Some(some.logits.repeat_interleave(times, 0), some.labels.repeat_interleave(times))
    weighted = Some(some.logits, some.labels.masked_fill(times == 0, 99), times.double())
    for kernel in ("tv", "gaussian"):
        how = {"kernel": kernel, "estimator": "biased"}
        assert loss(weighted.to(device), **how).item() == near(loss(repeated.to(device), **how).item())
        assert loss(weighted.to(device), reduction="sum", **how).item() == near(
            12 * loss(weighted.to(device), **how).item()
        )
    kept = times > 0
    alone = Some(some.logits[kept], some.labels[kept], times[kept].double())
    assert loss(weighted.to(device)).item() == near(loss(alone.to(device)).item())


def test_nothing_to_learn_from(device):
    """One row, no row, no weight: the mean over no pairs is 0, and so is its gradient."""
    logits = torch.tensor([[1.0, 0.0, 0.5]], dtype=torch.float64, device=device, requires_grad=True)
    label = torch.tensor([0], device=device)
    for kernel in ("tv", "gaussian"):
        for z, y, w in ((logits, label, None), (logits[:0], label[:0], None), (logits, label, torch.zeros(1))):
            for flat in (False, True):
                value = KCELoss(kernel=kernel)(z[:, 0] if flat else z, y, sample_weight=w)
                assert value.item() == 0
                assert not torch.autograd.grad(value, logits)[0].any()


def test_types(device):
    """bfloat16 logits are widened exactly, and have a bfloat16 gradient."""
    some = random(20, 5, seed=7).to(device)
    logits = some.logits.bfloat16().requires_grad_()
    value = KCELoss()(logits, some.labels)
    value.backward()
    assert value.dtype == torch.float32
    assert logits.grad.dtype == torch.bfloat16
    assert value.item() == pytest.approx(KCELoss()(logits.detach().double(), some.labels).item(), rel=1e-6)


def test_refusals():
    """Each refusal says what is wrong."""
    for how, reason in (
        ({"estimator": "block"}, "estimator must be one of 'unbiased', 'biased'"),
        ({"kernel": "laplace"}, "kernel must be one of"),
        ({"bandwidth": 0.0}, "bandwidth must be above 0"),
        ({"reduction": "none"}, "KCELoss is a number of the whole batch"),
    ):
        with pytest.raises(InputError, match=reason):
            KCELoss(**how)


@pytest.mark.parametrize("kernel", ["tv", "gaussian"])
def test_second_derivatives_are_refused(kernel):
    """There are none, and that is said: they are not taken to be 0."""
    some = random(6, 3)
    logits = some.logits.clone().requires_grad_()
    (slope,) = torch.autograd.grad(KCELoss(kernel=kernel)(logits, some.labels), logits, create_graph=True)
    with pytest.raises(UndefinedError, match="no second derivatives"):
        slope.square().sum().backward()
