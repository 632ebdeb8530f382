"""Vector, matrix and Dirichlet modules against plain loops and the NumPy estimators."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import torch

from believable import recalibrate
from believable.errors import InputError, LimitWarning
from believable.torch import DirichletCalibration, MatrixScaling, VectorScaling

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")

MODULES = [VectorScaling, MatrixScaling, DirichletCalibration]
every_module = pytest.mark.parametrize("module", MODULES)


def data(n=400, n_classes=3, seed=0):
    random = np.random.default_rng(seed)
    z = random.normal(size=(n, n_classes))
    y = (z + random.gumbel(size=z.shape)).argmax(axis=1)
    return torch.tensor(2 * z + np.arange(n_classes)), torch.tensor(y)


def fitted(module, z, y, device, penalty=0.01, **settings):
    n_classes = 2 if z.ndim == 1 else z.shape[1]
    return module(n_classes, penalty=penalty, device=device).fit(z.to(device), y.to(device), **settings)


def estimator(module, z, y, w=None, penalty=0.01):
    return getattr(recalibrate, module.__name__)(input="logits", penalty=penalty).fit(z.numpy(), y.numpy(), w)


def numbers(module):
    return [parameter.detach().cpu().numpy() for parameter in module.parameters()]


def literal(module, row):
    """The mapped logits of one row, number by number."""
    row = list(row)
    k = len(row)
    if k == 2:
        row = [(row[0] - row[1]) / 2, (row[1] - row[0]) / 2]
    if isinstance(module, DirichletCalibration):
        top = max(row)
        total = top + math.log(sum(math.exp(value - top) for value in row))
        row = [max(value - total, -1e5) for value in row]
    bias = module.bias.tolist()
    if isinstance(module, VectorScaling):
        scale = module.scale.tolist()
        return [scale[i] * row[i] + bias[i] for i in range(k)]
    weight = module.weight.tolist()
    return [sum(weight[i][j] * row[j] for j in range(k)) + bias[i] for i in range(k)]


@every_module
def test_begins_with_the_identity(module, device):
    """Before fitting, the probabilities are those of the logits."""
    z, _ = data()
    torch.testing.assert_close(module(3, device=device)(z.to(device)).softmax(1).cpu(), z.softmax(1))


@every_module
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_forward_is_the_literal_map(module, device, n_classes):
    """Each logit is what the formula says, number by number; masked ones too."""
    z, y = data(n_classes=n_classes)
    fit = fitted(module, z, y, device)
    rows = torch.cat([z[:5], torch.tensor([[-1e6] + [1.0] * (n_classes - 1)])])
    expected = torch.tensor([literal(fit, row) for row in rows.tolist()], dtype=torch.float64)
    torch.testing.assert_close(fit(rows.to(device)).cpu(), expected)


@every_module
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("penalty", ["auto", 0, 0.1])
def test_equals_numpy(module, device, n_classes, penalty):
    """The parameters are those of the NumPy estimator, to the last bit, and so are the probabilities, nearly."""
    z, y = data(n_classes=n_classes)
    fit, theirs = fitted(module, z, y, device, penalty), estimator(module, z, y, penalty=penalty)
    first = theirs.scales_ if module is VectorScaling else theirs.weights_
    np.testing.assert_array_equal(numbers(fit)[0], first)
    np.testing.assert_array_equal(numbers(fit)[1], theirs.intercepts_)
    assert fit.penalty_ == theirs.penalty_
    np.testing.assert_allclose(fit(z.to(device)).softmax(1).detach().cpu(), theirs.predict_proba(z.numpy()), atol=1e-13)


@every_module
def test_one_event(module, device):
    """Logits (N,) are a pair; what comes back are logits (N,) of the second class."""
    z, y = data(n_classes=2)
    d = z[:, 1] - z[:, 0]
    fit, theirs = fitted(module, d, y, device), estimator(module, d, y)
    assert fit(d.to(device)).shape == d.shape
    np.testing.assert_allclose(torch.sigmoid(fit(d.to(device))).detach().cpu(), theirs.transform(d.numpy()), atol=1e-13)
    np.testing.assert_array_equal(numbers(fit)[0], numbers(fitted(module, z, y, device))[0])
    assert fit.to_numpy().n_features_in_ == 1


@every_module
def test_pixels_are_rows(module, device):
    """Logits (N, K, H, W) are fitted and mapped as their pixels are."""
    z, y = data(240)
    image, labels = z.reshape(4, 6, 10, 3).movedim(3, 1), y.reshape(4, 6, 10)
    fit, rows = fitted(module, image, labels, device), fitted(module, z, y, device)
    np.testing.assert_array_equal(numbers(fit)[0], numbers(rows)[0])
    mapped = fit(image.to(device)).movedim(1, 3).reshape(-1, 3)
    torch.testing.assert_close(mapped, rows(z.to(device)))


@every_module
def test_weights_and_ignored_rows(module, device):
    """Weights are those of NumPy; rows of weight zero or with an ignored label are left out, NaN or not."""
    z, y = data()
    w = torch.tensor(np.random.default_rng(0).integers(1, 4, len(y))).double()
    theirs = estimator(module, z[50:], y[50:], w[50:].numpy())
    z[:25] = math.nan
    y[:25], w[25:50] = -1, 0
    fit = fitted(module, z, y, device, sample_weight=w.to(device), ignore_index=-1)
    np.testing.assert_array_equal(numbers(fit)[1], theirs.intercepts_)


@every_module
def test_limits(module, device):
    """Classes that are separated, or absent, give the limit of NumPy with its warning."""
    z, y = data()
    for labels in (z.argmax(dim=1), y.clamp(max=1)):
        with pytest.warns(LimitWarning):
            fit = fitted(module, z, labels, device, penalty=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LimitWarning)
            theirs = estimator(module, z, labels, penalty=0)
        np.testing.assert_array_equal(numbers(fit)[1], theirs.intercepts_)


@every_module
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_type_of_the_logits_stays(module, device, dtype):
    """Logits come back in their type; half types are computed in float32."""
    z, y = data()
    fit = fitted(module, z.to(dtype), y, device)
    mapped = fit(z.to(device, dtype))
    assert mapped.dtype == dtype
    exact = fit(z.to(dtype).double().to(device))
    assert (mapped.double() - exact).abs().max() <= 10 * torch.finfo(dtype).eps * exact.abs().max()


@every_module
@pytest.mark.parametrize("n_classes", [2, 3])
def test_gradients_flow(module, device, n_classes):
    """The derivative with respect to logits and parameters, and training moves them."""
    z, y = (each.to(device) for each in data(6, n_classes))
    made = module(n_classes, device=device)
    names = [name for name, _ in made.named_parameters()]

    def mapped(logits, *parameters):
        return torch.func.functional_call(made, dict(zip(names, parameters, strict=True)), logits)

    values = [(p.detach() + 0.1).requires_grad_() for p in made.parameters()]
    assert torch.autograd.gradcheck(mapped, (z.requires_grad_(), *values))
    torch.nn.functional.cross_entropy(made(z.float()), y).backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in made.parameters())


@every_module
def test_states_travel(module, device):
    """A state dictionary has the parameters and nothing else."""
    z, y = data()
    fit = fitted(module, z, y, device)
    other = module(3)
    other.load_state_dict(fit.state_dict())
    assert [p.tolist() for p in other.parameters()] == [p.tolist() for p in fit.parameters()]
    assert len(fit.state_dict()) == 2


@every_module
def test_autocast_changes_nothing(module, device):
    """Under autocast the map is still taken in float32."""
    z, y = data()
    fit = fitted(module, z, y, device)
    z = z.float().to(device)
    with torch.autocast(device, dtype=torch.bfloat16):
        torch.testing.assert_close(fit(z), fit(z.double()).float())


@every_module
def test_other_shapes_are_refused(module):
    """Nothing is broadcast: logits of one column, of another number of classes, of one row without its axis."""
    for shape in ((5, 1), (5, 4), (3,), (5, 2), ()):
        with pytest.raises(InputError, match="takes logits of shape"):
            module(3)(torch.zeros(shape))
    with pytest.raises(InputError, match="takes logits of shape"):
        module(2)(torch.zeros(5, 3))


def test_refuses():
    """Other numbers of classes, labels beyond them, strengths below zero."""
    z, y = data()
    with pytest.raises(InputError, match=r"MatrixScaling\(4\) takes logits of shape \(N, 4\), got \(400, 3\)"):
        MatrixScaling(4).fit(z, y)
    with pytest.raises(InputError, match=r"takes logits of shape \(N, 3\), got \(400,\)"):
        MatrixScaling(3).fit(z[:, 0], (y > 0).long())
    with pytest.raises(InputError, match="labels must be whole numbers"):
        VectorScaling(3).fit(z, y + 1)
    with pytest.raises(InputError, match="penalty"):
        VectorScaling(3, penalty=-1)
    with pytest.raises(InputError, match="n_classes"):
        DirichletCalibration(1)


@every_module
@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_hot_labels_are_refused(module, n_classes):
    """Rows with one 1 would be fitted as events, which are one logit each."""
    z, y = data(n_classes=n_classes)
    with pytest.raises(InputError, match=r"need labels of shape \(400,\), got .*; pass labels.argmax\(dim=1\)"):
        module(n_classes, penalty=0).fit(z, torch.nn.functional.one_hot(y))
    with pytest.raises(InputError, match="logits must be a tensor of floats"):
        module(n_classes)(torch.ones(4, n_classes, dtype=torch.int64))
