"""What label smoothing, focal loss and the confidence penalty share: cross entropy as a case, weights, reductions."""

from __future__ import annotations

import warnings
from contextlib import contextmanager

import pytest
import torch
from torch.nn import functional

from believable.errors import InputError
from believable.torch import ConfidencePenalty, FocalLoss, LabelSmoothingLoss, MixupLoss, mixup
from tests.torch.logits import batch

# Each with settings that do something, and with those that make it the cross entropy.
LOSSES = [
    pytest.param(LabelSmoothingLoss, {"smoothing": 0.2}, {"smoothing": 0}, id="smoothing"),
    pytest.param(FocalLoss, {"gamma": 2.0}, {"gamma": 0}, id="focal"),
    pytest.param(FocalLoss, {"gamma": 0.5}, {"gamma": 0.0}, id="gentle"),
    pytest.param(FocalLoss, {"gamma": "flsd53"}, {"gamma": 0}, id="flsd53"),
    pytest.param(ConfidencePenalty, {"beta": 0.3}, {"beta": 0}, id="penalty"),
    pytest.param(ConfidencePenalty, {"beta": 0.3, "threshold": 0.7}, {"beta": 0, "threshold": 0.7}, id="hinge"),
]
REDUCTIONS = ["none", "mean", "sum"]
every_loss = pytest.mark.parametrize(("kind", "settings", "plain"), LOSSES)


@every_loss
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("inner", [(), (2, 3)])
def test_cross_entropy_is_a_case(kind, settings, plain, reduction, weighted, inner, device):
    """Switched off, each equals torch's cross entropy, with class weights, ignored labels and pixels."""
    logits, labels = batch(device, inner=inner)
    labels[::4] = -100
    weight = torch.tensor([1.0, 0.5, 2.0, 0.0, 3.0], dtype=torch.float64, device=device) if weighted else None
    loss = kind(**plain, weight=weight, reduction=reduction)
    expected = functional.cross_entropy(logits, labels, weight=weight, reduction=reduction)
    torch.testing.assert_close(loss(logits, labels), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@every_loss
def test_gradients(kind, settings, plain, device):
    """First and second derivatives are those of finite differences, with weights and an ignored row."""
    logits, labels = batch(device, n=5, classes=3)
    labels[1] = -100
    weight = torch.tensor([1.0, 0.5, 2.0], dtype=torch.float64, device=device)
    rows = torch.tensor([1.0, 1.0, 0.0, 2.0, 0.5], dtype=torch.float64, device=device)
    loss = kind(**settings, weight=weight)

    def value(z):
        return loss(z, labels, sample_weight=rows)

    logits.requires_grad_()
    assert torch.autograd.gradcheck(value, (logits,))
    assert torch.autograd.gradgradcheck(value, (logits,))


@every_loss
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_weights_are_repetition(kind, settings, plain, weighted, reduction, device):
    """Weight 2 is the row twice and weight 0 the row left out, also with class weights."""
    logits, labels = batch(device)
    times = torch.tensor([2, 0, 1, 3] * 3, device=device)
    loss = kind(**settings, weight=[1.0, 0.5, 2.0, 4.0, 3.0] if weighted else None, reduction=reduction).to(device)
    again = loss(logits.repeat_interleave(times, dim=0), labels.repeat_interleave(times))
    torch.testing.assert_close(loss(logits, labels, sample_weight=times), again, rtol=1e-12, atol=1e-12)


@every_loss
def test_pixels_are_rows(kind, settings, plain, device):
    """Logits (N, K, d1, d2) give the losses of their pixels, and a weight per row is one for all its pixels."""
    logits, labels = batch(device, inner=(2, 3))
    flat, flat_labels = logits.movedim(1, -1).reshape(-1, 5), labels.reshape(-1)
    values = kind(**settings, reduction="none")(logits, labels)
    assert values.shape == labels.shape
    torch.testing.assert_close(values.reshape(-1), kind(**settings, reduction="none")(flat, flat_labels))
    rows = torch.arange(12.0, device=device)
    expected = kind(**settings)(flat, flat_labels, sample_weight=rows.repeat_interleave(6))
    loss = kind(**settings)
    torch.testing.assert_close(loss(logits, labels, sample_weight=rows), expected)
    full = rows.reshape(12, 1, 1).expand(12, 2, 3)
    torch.testing.assert_close(loss(logits, labels, sample_weight=full), expected)


@every_loss
def test_nothing_to_learn_from(kind, settings, plain, device):
    """Where every row is ignored, has weight 0, or there are no rows, the mean is 0 and so is its gradient."""
    logits, labels = batch(device)
    logits.requires_grad_()
    loss = kind(**settings)
    for value in (
        loss(logits, torch.full_like(labels, -100)),
        loss(logits, labels, sample_weight=torch.zeros(12, device=device)),
        kind(**settings, weight=[0.0] * 5).to(device)(logits, torch.full_like(labels, -100)),
        loss(logits[:0], labels[:0]),
        kind(**settings, ignore_index=None)(logits[:0], labels[:0]),
    ):
        (gradient,) = torch.autograd.grad(value, logits)
        assert value.item() == 0
        assert not gradient.any()


@every_loss
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_ignored_rows_are_rows_left_out(kind, settings, plain, reduction, device):
    """Rows with ignore_index change nothing, and have the loss 0; it may be the number of a class."""
    logits, labels = batch(device)
    loss = kind(**settings, reduction=reduction, ignore_index=2)
    kept = labels != 2
    assert not kept.all()
    values, expected = loss(logits, labels), loss(logits[kept], labels[kept])
    if reduction == "none":
        assert not values[~kept].any()
        values = values[kept]
    torch.testing.assert_close(values, expected, rtol=1e-12, atol=1e-12)


@every_loss
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_extreme_logits(kind, settings, plain, dtype, device):
    """Logits of +-1e4, right and wrong, and classes masked by minus infinity give finite gradients."""
    logits = torch.tensor([[1e4, -1e4, 0.0], [-1e4, 1e4, 0.0], [0.0, 0.0, 0.0]], dtype=dtype, device=device)
    labels = torch.tensor([0, 0, 2], device=device)
    logits.requires_grad_()
    loss = kind(**settings)(logits, labels)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert loss.isfinite()
    assert gradient.isfinite().all()
    if kind is not LabelSmoothingLoss:  # which wants some probability on a class that can have none
        masked = torch.tensor([[3.0, -torch.inf, 1.0]], dtype=dtype, device=device, requires_grad=True)
        short = masked.detach()[:, [0, 2]]
        value = kind(**settings)(masked, labels[:1])
        torch.testing.assert_close(value, kind(**settings)(short, labels[:1]))
        assert torch.autograd.grad(value, masked)[0].isfinite().all()


@every_loss
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_short_floats_are_widened(kind, settings, plain, dtype, device):
    """The loss of bfloat16 logits is that of the same numbers in float32, under autocast too; the gradient is theirs."""
    logits, labels = batch(device, dtype=torch.float32)
    logits = logits.to(dtype).requires_grad_()
    loss = kind(**settings)
    expected = loss(logits.float(), labels)
    with torch.autocast(device, dtype=torch.bfloat16):
        inside = loss(logits, labels)
    for value in (loss(logits, labels), inside):
        assert value.dtype == torch.float32
        assert value.item() == expected.item()
    assert torch.autograd.grad(expected, logits)[0].dtype == dtype


@every_loss
def test_labels_of_any_integer_type(kind, settings, plain, device):
    """Labels of eight bits are labels, and nothing that came in is modified."""
    logits, labels = batch(device)
    before = logits.clone(), labels.clone()
    assert kind(**settings)(logits, labels.to(torch.uint8)) == kind(**settings)(logits, labels)
    assert torch.equal(logits, before[0])
    assert torch.equal(labels, before[1])


@every_loss
def test_state(kind, settings, plain, device):
    """Class weights are a buffer: they move with the module and are saved; the caller's tensor stays apart."""
    weight = torch.ones(5)
    loss = kind(**settings, weight=weight)
    weight[0] = 7
    assert loss.weight[0] == 1
    assert set(loss.state_dict()) == {"weight"}
    assert not kind(**settings).state_dict()
    assert "reduction='mean'" in repr(loss)


@contextmanager
def waiting_is_an_error(device):
    """On a GPU, whatever makes the CPU wait for it fails."""
    if device == "cuda":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the mode is a prototype
            torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        if device == "cuda":
            torch.cuda.set_sync_debug_mode("default")


@every_loss
def test_nothing_waits_for_the_device(kind, settings, plain, device):
    """A step of training, mixup included, asks the device for no number."""
    logits, labels = batch(device)
    rows = torch.ones(12, device=device)
    loss = kind(**settings, weight=[1.0, 0.5, 2.0, 4.0, 3.0]).to(device)
    logits.requires_grad_()
    with waiting_is_an_error(device):
        mixed = mixup(logits, labels)
        value = loss(logits, labels, sample_weight=rows) + MixupLoss(loss)(mixed.x, mixed.y_a, mixed.y_b, mixed.lam)
        value.backward()
    assert logits.grad.isfinite().all()


WRONG = [
    (
        torch.zeros(4),
        torch.zeros(4).long(),
        {},
        r"logits must have shape \(N, K\).*got \(4,\); for one logit z per row",
    ),
    (torch.zeros(4, 1), torch.zeros(4).long(), {}, r"K >= 2 classes, got \(4, 1\)"),
    (
        torch.zeros(4, 3).long(),
        torch.zeros(4).long(),
        {},
        "logits must be a tensor of floats, got a tensor of torch.int64",
    ),
    ([[0.0, 1.0]], torch.zeros(1).long(), {}, "logits must be a tensor of floats, got a list"),
    (torch.zeros(4, 3), torch.zeros(4), {}, r"labels must be a tensor of integers 0..2, got a tensor of torch.float32"),
    (
        torch.zeros(4, 3),
        torch.tensor([0, 1, 3, 2]),
        {},
        "labels must be integers 0..2 or ignore_index=-100, got 3 at row 2",
    ),
    (torch.zeros(4, 3), torch.tensor([0, 1, -1, 2]), {}, "got -1 at row 2"),
    (torch.zeros(1, 3, 2), torch.tensor([[0, 9]]), {}, r"got 9 at position \(0, 1\)"),
    (torch.zeros(4, 3), torch.zeros(5).long(), {}, r"need labels of shape \(4,\), got \(5,\)"),
    (torch.zeros(4, 3), torch.zeros(4, 1).long(), {}, r"got \(4, 1\); squeeze"),
    (torch.zeros(4, 3), torch.zeros(4, 3).long(), {}, r"got \(4, 3\); pass labels.argmax\(dim=1\)"),
    (
        torch.zeros(4, 3),
        torch.zeros(4).long(),
        {"sample_weight": [1.0]},
        r"sample_weight must have shape \(4,\), got \(1,\)",
    ),
    (torch.zeros(2, 3, 5), torch.zeros(2, 5).long(), {"sample_weight": [1.0]}, r"must have shape \(2,\) or \(2, 5\)"),
    (torch.zeros(2, 3), torch.zeros(2).long(), {"sample_weight": [1.0, -2.0]}, "not negative, got -2 at row 1"),
    (torch.zeros(2, 3), torch.zeros(2).long(), {"sample_weight": [float("nan"), 1.0]}, "got nan at row 0"),
]


@pytest.mark.parametrize(("logits", "labels", "more", "words"), WRONG)
def test_wrong_input_is_named(logits, labels, more, words):
    """What does not fit is an error that says what and where."""
    with pytest.raises(InputError, match=words):
        FocalLoss()(logits, labels, **more)


def test_wrong_settings_are_named():
    """Impossible settings fail in the constructor, a wrong number of class weights at the first batch."""
    for make, words in (
        (lambda: FocalLoss(-1), "gamma must be a number from 0"),
        (lambda: FocalLoss("flsd"), "gamma must be a number of at least 0 or 'flsd53', got 'flsd'"),
        (lambda: LabelSmoothingLoss(1.5), "smoothing must be a number from 0 to 1"),
        (lambda: ConfidencePenalty(-0.1), "beta must be"),
        (lambda: ConfidencePenalty(0.1, threshold=-1), "threshold must be"),
        (lambda: FocalLoss(reduction="average"), "reduction must be one of 'none', 'mean', 'sum'"),
        (lambda: FocalLoss(weight=[[1.0]]), r"weight must be one number per class, got shape \(1, 1\)"),
        (lambda: FocalLoss(weight=[1.0, -1.0]), "weight must be finite and not negative, got -1 at row 1"),
        (lambda: FocalLoss(ignore_index=1.5), "ignore_index must be an integer or None, got 1.5"),
        (
            lambda: FocalLoss(weight=[1, 2])(torch.zeros(1, 3), torch.tensor([0])),
            "weight has 2 classes and the logits 3",
        ),
    ):
        with pytest.raises(InputError, match=words):
            make()
