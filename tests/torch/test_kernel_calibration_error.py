"""Kernel calibration errors with pairs summed on a device, against loops and the NumPy core."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
import torch

import believable
from believable.errors import InputError, UndefinedError
from believable.torch import kernel_calibration_error, pairs, squared_kernel_calibration_error
from tests.torch.batches import BATCHES, random
from tests.torch.calibration_literal import skce

HOW = [
    {},
    {"estimator": "biased"},
    {"estimator": "linear"},
    {"estimator": "block"},
    {"kernel": "gaussian"},
    {"kernel": "gaussian", "bandwidth": 0.01},
    {"kernel": "gaussian", "bandwidth": 0.01, "estimator": "block", "block_size": 7},
]


def near(value):
    """Equal to 1e-11."""
    return pytest.approx(value, rel=1e-11, abs=1e-14)


@pytest.mark.parametrize("kernel", ["tv", "gaussian"])
@pytest.mark.parametrize("name", BATCHES)
def test_definition(name, kernel, device):
    """The double sum over pairs of rows, and its root."""
    some = BATCHES[name].to(device)
    how = {"from_logits": True, "sample_weight": some.weights, "kernel": kernel, "bandwidth": 0.3}
    biased = skce(*some.lists(), kernel, 0.3, True)
    assert squared_kernel_calibration_error(some.logits, some.labels, **how) == near(skce(*some.lists(), kernel, 0.3))
    assert squared_kernel_calibration_error(some.logits, some.labels, estimator="biased", **how) == near(biased)
    assert kernel_calibration_error(some.logits, some.labels, **how) == near(sqrt(biased))


@pytest.mark.parametrize("n_classes", [None, 3, 20])
@pytest.mark.parametrize("how", HOW, ids=str)
def test_numpy(how, n_classes, device):
    """The numbers of the NumPy core for every estimator and kernel, over several tiles."""
    some = random(300, n_classes, seed=1, weighted=True).to(device)
    p = torch.sigmoid(some.logits) if n_classes is None else torch.softmax(some.logits, 1)
    core = [part.cpu().numpy() for part in (p, some.labels, some.weights)]
    expected = believable.squared_kernel_calibration_error(core[0], core[1], sample_weight=core[2], **how)
    assert squared_kernel_calibration_error(p, some.labels, sample_weight=some.weights, **how) == near(expected)
    known = believable.Predictions(core[0], core[1], sample_weight=core[2])
    assert squared_kernel_calibration_error(known, device=device, **how) == near(expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_types(dtype, device):
    """Narrow types are widened, so that the number is that of the same values in float64."""
    some = random(300, 5, seed=2).to(device)
    logits = some.logits.to(dtype)
    wide = squared_kernel_calibration_error(logits.double(), some.labels, from_logits=True)
    assert squared_kernel_calibration_error(logits, some.labels, from_logits=True) == near(wide)
    p = torch.softmax(logits.float(), 1)
    core = believable.kernel_calibration_error(p.cpu().numpy(), some.labels.cpu().numpy())
    assert kernel_calibration_error(p, some.labels) == near(core)


@pytest.mark.parametrize("kernel", ["tv", "gaussian"])
@pytest.mark.parametrize("nu", [1e-6, None])
def test_rows_that_are_nearly_equal(kernel, nu, device):
    """Differences far below the probabilities themselves are seen by a narrow kernel."""
    rng = np.random.default_rng(8)
    p = np.array([0.2, 0.3, 0.5]) + 1e-6 * (rng.random((40, 3)) - 0.5)
    y = rng.integers(0, 3, 40)
    expected = believable.squared_kernel_calibration_error(p, y, kernel=kernel, bandwidth=nu)
    found = squared_kernel_calibration_error(
        torch.tensor(p, device=device), torch.tensor(y), kernel=kernel, bandwidth=nu
    )
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("power", [1, 2])
def test_distances_by_classes(power, device, monkeypatch):
    """Distances made of blocks of classes are those of all classes, exact for nearly equal rows, in batches too."""
    monkeypatch.setattr(pairs, "DIFFERENCES_AT_ONCE", {"cpu": 60, "cuda": 60})
    rng = torch.Generator().manual_seed(3)
    x = torch.rand(2, 5, 7, generator=rng, dtype=torch.float64).to(device)
    y = x[:, :4] * (1 + 1e-13)
    for one, other in ((x, y), (x[0], y[0])):
        apart = (one[..., :, None, :] - other[..., None, :, :]).abs() ** power
        torch.testing.assert_close(pairs.by_classes(one, other, power), apart.sum(-1), rtol=1e-12, atol=0)
        torch.testing.assert_close(pairs.distance_sums(one, other, power), apart.sum(-1), rtol=1e-12, atol=0)


def test_tiles_by_classes(device, monkeypatch):
    """What a GPU does gives the same sums."""
    some = random(200, 6, seed=4).to(device)
    how = {"from_logits": True, "bandwidth": 0.2}
    expected = squared_kernel_calibration_error(some.logits, some.labels, **how)
    monkeypatch.setattr(pairs, "distance_sums", pairs.by_classes)
    monkeypatch.setattr(pairs, "TILE_ROWS", {"cpu": 64, "cuda": 64})
    monkeypatch.setattr(pairs, "DIFFERENCES_AT_ONCE", {"cpu": 1 << 14, "cuda": 1 << 14})
    assert squared_kernel_calibration_error(some.logits, some.labels, **how) == near(expected)


@pytest.mark.parametrize("kernel", ["tv", "gaussian"])
def test_residuals_that_cancel(kernel, device):
    """Equal vectors whose residuals cancel have an error of 0, without noise under the root."""
    p = torch.tensor([[0.2, 0.3, 0.5]], dtype=torch.float64, device=device).repeat(10, 1)
    y = torch.tensor([0, 0, 1, 1, 1, 2, 2, 2, 2, 2], device=device)
    assert kernel_calibration_error(p, y, kernel=kernel) < 1e-15


def laplacian(x, y):
    """The default kernel with a bandwidth of 1/4, as a function of one's own."""
    return torch.exp(-4 * torch.cdist(x, y, p=1.0) / 2)


@pytest.mark.parametrize("how", [{}, {"estimator": "biased"}, {"estimator": "block", "block_size": 6}], ids=str)
def test_own_kernel(how, device):
    """A function of two tensors of rows is a kernel."""
    for n_classes in (None, 3):
        some = random(300, n_classes, seed=5).to(device)
        own = squared_kernel_calibration_error(some.logits, some.labels, from_logits=True, kernel=laplacian, **how)
        known = squared_kernel_calibration_error(some.logits, some.labels, from_logits=True, bandwidth=0.25, **how)
        assert own == near(known)


def test_nothing_is_changed(device):
    """Inputs keep their values, and need no gradient."""
    some = random(50, 3, seed=6).to(device)
    logits = some.logits.clone().requires_grad_()
    squared_kernel_calibration_error(logits, some.labels, from_logits=True, kernel="gaussian")
    assert torch.equal(logits, some.logits)
    assert logits.grad is None
    p = np.array([0.2, 0.7, 0.4])
    before = p.copy()
    kernel_calibration_error(p, [0, 1, 1], device=device)
    assert (p == before).all()


def test_refusals(device):
    """Each refusal says what is wrong."""
    p = torch.tensor([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]], device=device)
    y = torch.tensor([1, 0, 0], device=device)
    for how, reason in (
        ({"estimator": "fast"}, "estimator must be one of"),
        ({"kernel": "laplace"}, "kernel must be one of"),
        ({"estimator": "linear", "block_size": 4}, "block_size is for estimator='block'"),
        ({"bandwidth": 0.0}, "bandwidth must be above 0"),
        ({"kernel": laplacian, "bandwidth": 0.1}, "bandwidth is for the kernels"),
        ({"kernel": lambda x, y: x[:, 0]}, r"a tensor of shape \(3, 3\) for 3 and 3 rows, got shape \(3,\)"),
        ({"kernel": lambda x, y: 1.0}, "got a float"),
        ({"kernel": lambda x, y: laplacian(x, y) * torch.nan}, "not finite"),
        ({"kernel": lambda x, y: x[:, :1] + 0 * y[:, 0]}, "not symmetric"),
    ):
        with pytest.raises(InputError, match=reason):
            squared_kernel_calibration_error(p, y, **how)
    with pytest.raises(UndefinedError, match="needs at least two rows"):
        squared_kernel_calibration_error(p[:1], y[:1])
    with pytest.raises(UndefinedError, match="a block needs 4 rows, but there are only 3"):
        squared_kernel_calibration_error(p, y, estimator="block", block_size=4)
    with pytest.raises(UndefinedError, match="not positive semi-definite"):
        kernel_calibration_error(p[:, 0], y, kernel=lambda x, y: -torch.ones(len(x), len(y)))
    with pytest.raises(InputError, match="these look like logits"):
        kernel_calibration_error(3 * p, y)
    with pytest.raises(InputError, match="from_logits belongs on Predictions"):
        kernel_calibration_error(believable.Predictions(p, y), from_logits=True)


def test_the_first_gpu_by_its_number():
    """`device=0` is a GPU, and not the device that is taken if none is given."""
    p, y = torch.tensor([[0.7, 0.3], [0.4, 0.6]], dtype=torch.float64), torch.tensor([0, 1])
    if torch.cuda.is_available():
        assert kernel_calibration_error(p, y, device=0) == pytest.approx(kernel_calibration_error(p, y))
    else:
        with pytest.raises((RuntimeError, AssertionError)):
            kernel_calibration_error(p, y, device=0)
