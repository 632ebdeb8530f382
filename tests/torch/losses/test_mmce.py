"""The MMCE loss against its literal definition, the NumPy metric, and its gradient."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from believable import Predictions, maximum_mean_calibration_error
from believable.errors import InputError
from believable.torch import MMCELoss
from believable.torch.pairs import line_form
from tests.torch.batches import BATCHES, Some, random
from tests.torch.calibration_literal import mmce

FORMS = {"root": {}, "weighted": {"weighted": True}, "unbiased": {"unbiased": True}}


def near(value):
    """Equal to 1e-11; a root loses half of what is left of a sum near 0."""
    return pytest.approx(value, rel=1e-11, abs=1e-13)


def loss(some, **how):
    """The value for a batch."""
    return MMCELoss(**how)(some.logits, some.labels, sample_weight=some.weights)


def by_pairs(score, values, width, diagonal):
    """The form with all its pairs, for autograd to go through."""
    apart = (score[:, None] - score).abs()
    form = torch.outer(values, values) * torch.exp(-apart / width)
    return form.sum() if diagonal else form.sum() - form.diagonal().sum()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("width", [0.4, 0.05, 0.003])
@pytest.mark.parametrize("name", BATCHES)
def test_definition(name, form, width, device):
    """The double sum over pairs of rows."""
    some = BATCHES[name]
    expected = mmce(*some.lists(), width=width, form=form)
    assert loss(some.to(device), bandwidth=width, **FORMS[form]).item() == near(expected)


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("name", BATCHES)
def test_numpy(name, unbiased, device):
    """The number of the NumPy core."""
    some = BATCHES[name]
    weights = None if some.weights is None else some.weights.numpy()
    known = Predictions(some.logits.numpy(), some.labels.numpy(), sample_weight=weights, from_logits=True)
    expected = maximum_mean_calibration_error(known, unbiased=unbiased)
    assert loss(some.to(device), unbiased=unbiased).item() == near(expected)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("width", [0.4, 0.008])
@pytest.mark.parametrize("name", ["three classes", "weights", "weights with zeros", "one event, weights", "two rows"])
def test_gradient(name, form, width, device):
    """The gradient is that of finite differences, at widths of both ways to sum; a second derivative likewise."""
    some = BATCHES[name].to(device)
    logits = some.logits[:5].clone().requires_grad_()
    rest = some.labels[:5], None if some.weights is None else some.weights[:5]
    module = MMCELoss(bandwidth=width, **FORMS[form])
    assert gradcheck(lambda z: module(z, rest[0], sample_weight=rest[1]), logits)
    if name == "two rows":
        assert gradgradcheck(lambda z: module(z, rest[0], sample_weight=rest[1]), logits)


@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize("width", [0.4, 0.004])
def test_gradient_with_ties(width, diagonal, device):
    """Where scores are equal the gradient is that of the pairs one by one, and does not know the order of rows."""
    rng = torch.Generator().manual_seed(0)
    score = torch.randint(0, 7, (40,), generator=rng).double() / 8
    values = torch.randn(40, generator=rng, dtype=torch.float64)
    score, values = (part.to(device).requires_grad_() for part in (score, values))
    expected = torch.autograd.grad(by_pairs(score, values, width, diagonal), (score, values))
    found = torch.autograd.grad(line_form(score, values, width, diagonal=diagonal), (score, values))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-12)
    order = torch.randperm(40, generator=rng).to(device)
    again = torch.autograd.grad(line_form(score[order], values[order], width, diagonal=diagonal), (score, values))
    for one, other in zip(again, found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("width", [0.4, 0.01, 0.0099, 1e-5, 1e-300])
def test_many_rows(width, device):
    """Many rows, at widths from large to none at all: the sums are those of the pairs."""
    rng = torch.Generator().manual_seed(1)
    score = torch.rand(900, generator=rng, dtype=torch.float64).to(device)
    values = torch.randn(900, generator=rng, dtype=torch.float64).to(device)
    for diagonal in (True, False):
        expected = by_pairs(score, values, width, diagonal).item()
        assert line_form(score, values, width, diagonal=diagonal).item() == pytest.approx(expected, rel=1e-9, abs=1e-8)


def test_weights_are_repetition(device):
    """A row twice is a row of weight 2, and a row of weight 0 is not there, whatever its label."""
    some = random(10, 3, seed=6)
    times = torch.tensor([1, 2, 0, 1, 3, 1, 1, 0, 2, 1])
    repeated = Some(some.logits.repeat_interleave(times, 0), some.labels.repeat_interleave(times))
    weighted = Some(some.logits, some.labels.masked_fill(times == 0, 99), times.double())
    for how in ({}, {"weighted": True}):
        assert loss(weighted.to(device), **how).item() == near(loss(repeated.to(device), **how).item())
    ignored = Some(some.logits, some.labels.masked_fill(times == 0, -100), times.clamp(min=1).double())
    assert loss(ignored.to(device)).item() == near(loss(weighted.to(device)).item())
    if device != "cpu":  # where it would be refused
        assert loss(ignored.to(device), ignore_index=None).isnan()


def test_sum(device):
    """The reduction "sum" is the value times the weight of the batch."""
    for name, whole in (("three classes", 30.0), ("weights", BATCHES["weights"].weights.sum().item())):
        some = BATCHES[name].to(device)
        assert loss(some, reduction="sum").item() == near(whole * loss(some).item())


@pytest.mark.parametrize("form", FORMS)
def test_nothing_to_learn_from(form, device):
    """One row, no row, no weight, and an error of exactly 0 have finite gradients."""
    one = torch.tensor([[1.0, 0.0, 0.5]], dtype=torch.float64, device=device, requires_grad=True)
    sure = torch.tensor([[900.0, 0.0], [0.0, 900.0]], dtype=torch.float64, device=device, requires_grad=True)
    labels = torch.tensor([0, 1], device=device)
    for logits, y, w in (
        (one, labels[:1], None),
        (one, labels[:1], torch.zeros(1, device=device)),
        (one[:0], labels[:0], None),
        (sure, labels, None),
    ):
        value = MMCELoss(**FORMS[form])(logits, y, sample_weight=w)
        (slope,) = torch.autograd.grad(value, logits)
        assert slope.isfinite().all()
        if logits is not one or w is not None or form == "unbiased":
            assert value.item() == 0
            assert not slope.any()


def test_gradient_near_zero(device):
    """Where the error is nearly 0 the slope of its root stays bounded."""
    logits = torch.tensor([[40.0, 0.0], [0.0, 45.0]], dtype=torch.float64, device=device, requires_grad=True)
    value = MMCELoss()(logits, torch.tensor([0, 1], device=device))
    (slope,) = torch.autograd.grad(value, logits)
    assert slope.isfinite().all()
    assert slope.abs().max() < 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_types(dtype, device):
    """Half precision is widened exactly, the value is float32, and the gradient has the type of the logits."""
    logits = random(20, 5, seed=7).logits.to(dtype).to(device).requires_grad_()
    labels = random(20, 5, seed=7).labels.to(device)
    value = MMCELoss()(logits, labels)
    value.backward()
    assert value.dtype == torch.float32
    assert logits.grad.dtype == dtype
    assert value.item() == pytest.approx(MMCELoss()(logits.detach().double(), labels).item(), rel=1e-7)


def test_pixels(device):
    """Images are rows of pixels."""
    some = random(2 * 3 * 4, 5, seed=8)
    image = some.logits.reshape(2, 3, 4, 5).movedim(-1, 1).to(device)
    value = MMCELoss()(image, some.labels.reshape(2, 3, 4).to(device))
    assert value.item() == near(loss(some.to(device)).item())
    halves = Some(some.logits, some.labels, torch.tensor([1.0, 3.0]).repeat_interleave(12)).to(device)
    weight = torch.tensor([1.0, 3.0], device=device)
    value = MMCELoss()(image, some.labels.reshape(2, 3, 4).to(device), sample_weight=weight)
    assert value.item() == near(loss(halves).item())


@pytest.mark.slow
def test_it_trains(device):
    """Steps down the loss lead to confidences that are right."""
    some = random(200, 3, seed=9, scale=4.0).to(device)
    scale = torch.ones((), dtype=torch.float64, device=device, requires_grad=True)
    step = torch.optim.Adam([scale], lr=0.1)
    first = loss(some).item()
    for _ in range(40):
        step.zero_grad()
        MMCELoss()(scale * some.logits, some.labels).backward()
        step.step()
    assert MMCELoss()(scale * some.logits, some.labels).item() < 0.3 * first


def test_refusals():
    """Each refusal says what is wrong."""
    some = random(3, 3)
    for how, reason in (
        ({"bandwidth": 0.0}, "bandwidth must be above 0"),
        ({"weighted": True, "unbiased": True}, "choose weighted=True or unbiased=True"),
        ({"reduction": "none"}, "without a value per row"),
        ({"reduction": "max"}, "reduction must be one of"),
        ({"ignore_index": 1.5}, "ignore_index must be an integer"),
    ):
        with pytest.raises(InputError, match=reason):
            MMCELoss(**how)
    mmce = MMCELoss()
    for logits, labels, weight, reason in (
        (some.labels, some.labels, None, "tensor of floats"),
        (some.logits[:, :1], some.labels, None, "K >= 2 classes"),
        (some.logits, some.labels[:2], None, "need labels of shape"),
        (some.logits, some.labels + 1, None, "labels must be classes 0 to 2, got 3 at row"),
        (some.logits[:, 0], torch.tensor([0.0, 0.5, 1.0]), None, r"classes 0 to 1, got 0\.5 at row 1"),
        (some.logits, some.labels, torch.tensor([1.0, -1.0, 1.0]), "not negative"),
        (some.logits, some.labels, torch.ones(2), "sample_weight must have shape"),
    ):
        with pytest.raises(InputError, match=reason):
            mmce(logits, labels, sample_weight=weight)
