"""Modules, NumPy estimators and their JSON are one thing in three forms."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from believable import recalibrate
from believable.errors import InputError, SchemaError
from believable.recalibrate import load_recalibrator
from believable.torch import DirichletCalibration, MatrixScaling, TemperatureScaling, VectorScaling, as_module
from believable.torch.maps import dirichlet

MODULES = [TemperatureScaling, VectorScaling, MatrixScaling, DirichletCalibration]
every_module = pytest.mark.parametrize("module", MODULES)


def data(n=300, n_classes=3):
    random = np.random.default_rng(0)
    z = random.normal(size=(n, n_classes))
    return 2 * z, (z + random.gumbel(size=z.shape)).argmax(axis=1)


def fitted(module, classes=None, **settings):
    z, y = data()
    y = y if classes is None else np.array(classes)[y]
    if module is not TemperatureScaling:
        settings = {"penalty": 0.01} | settings
    return getattr(recalibrate, module.__name__)(classes=classes, **{"input": "logits"} | settings).fit(z, y)


@every_module
def test_there_and_back_is_exact(module, device):
    """Estimator, module, estimator: the same JSON, names of classes and settings included."""
    for theirs in (fitted(module), fitted(module, classes=["c", "a", "b"])):
        ours = as_module(theirs, device=device)
        assert type(ours) is module
        assert ours.to_numpy().to_json() == theirs.to_json()
        z, _ = data()
        p = ours(torch.tensor(z, device=device)).softmax(1).detach().cpu()
        np.testing.assert_allclose(p, theirs.predict_proba(z), atol=1e-13)


@every_module
def test_from_a_fit_in_torch(module, tmp_path):
    """What torch fitted is what NumPy fits, as JSON too."""
    z, y = (torch.tensor(each) for each in data())
    ours = module() if module is TemperatureScaling else module(3, penalty=0.01)
    ours.fit(z, y)
    text = ours.to_json(tmp_path / "map.json")
    found, wanted = json.loads(text), json.loads(fitted(module).to_json())
    for mine, others in zip(found.pop("maps"), wanted.pop("maps"), strict=True):
        assert mine.keys() == others.keys()
        assert all(np.allclose(mine[name], others[name], rtol=1e-12) for name in mine)
    assert found == wanted
    assert load_recalibrator(tmp_path / "map.json").to_json() == text
    assert module.from_json(tmp_path / "map.json").to_json() == text
    assert module.from_json(text).state_dict().keys() == ours.state_dict().keys()


@every_module
def test_trained_parameters_are_converted(module):
    """The parameters as they are now, not as they were fitted."""
    ours = module(3)
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.mul_(2.0)
    z, _ = data()
    np.testing.assert_allclose(
        ours.to_numpy().predict_proba(z), ours(torch.tensor(z)).softmax(1).detach().numpy(), atol=1e-14
    )


def test_maps_of_probabilities():
    """Temperature and Dirichlet maps of probabilities are maps of logits; vector and matrix maps are not."""
    z, y = data()
    p = torch.tensor(z).softmax(1).numpy()
    for module in (TemperatureScaling, DirichletCalibration):
        theirs = getattr(recalibrate, module.__name__)().fit(p, y)
        ours = as_module(theirs)
        mapped = ours(torch.tensor(z + 5)).softmax(1).detach()
        np.testing.assert_allclose(mapped, theirs.predict_proba(p), atol=1e-12)
        assert ours.to_json() == theirs.to_json()
    for module in (VectorScaling, MatrixScaling):
        theirs = getattr(recalibrate, module.__name__)(penalty=1).fit(p, y)
        with pytest.raises(InputError, match="was fitted on probabilities, so it maps log p"):
            as_module(theirs)


def test_least_calibration_error_keeps_its_setting():
    """How T was found goes with it."""
    theirs = fitted(TemperatureScaling, objective="ece")
    assert as_module(theirs).to_numpy().objective == "ece"


def test_constants():
    """Where log-probabilities end is the same in both."""
    assert dirichlet.LOWEST_LOG_PROBABILITY == recalibrate.linear.LOWEST_LOG_PROBABILITY


def test_types_of_parameters():
    """float32 parameters are the nearest to the estimator's, where float64 cannot be."""
    theirs = fitted(MatrixScaling)
    ours = as_module(theirs, dtype=torch.float32)
    assert ours.weight.dtype == torch.float32
    np.testing.assert_array_equal(ours.weight.detach().numpy(), theirs.weights_.astype(np.float32))


def test_refuses():
    """Other estimators, a temperature without classes, one that is no temperature."""
    z, y = data()
    other = recalibrate.StructuredScaling(input="logits").fit(z, y)
    with pytest.raises(InputError, match=r"there is a module for TemperatureScaling, .* none for StructuredScaling"):
        as_module(other)
    with pytest.raises(InputError, match="VectorScaling is made from the NumPy VectorScaling, not from MatrixScaling"):
        VectorScaling.from_numpy(fitted(MatrixScaling))
    with pytest.raises(InputError, match="does not say how many classes"):
        TemperatureScaling().to_numpy()
    scaling = TemperatureScaling(3)
    with torch.no_grad():
        scaling.temperature.fill_(-1.0)
    with pytest.raises(SchemaError, match="temperature must lie"):
        scaling.to_numpy()
    with pytest.raises(SchemaError):
        TemperatureScaling.from_json("{}")
