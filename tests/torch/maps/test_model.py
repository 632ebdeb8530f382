"""A classifier with a temperature: fitted from a loader, itself unchanged."""

from __future__ import annotations

import copy
from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from believable.errors import InputError
from believable.torch import ModelWithTemperature, TemperatureScaling
from believable.torch.maps import model

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")


@pytest.fixture(scope="module")
def digits():
    """A small network trained too long on few digits, and digits that it has not seen."""
    x, y = load_digits(return_X_y=True)
    x, y = torch.tensor(x / 16, dtype=torch.float32), torch.tensor(y)
    with torch.random.fork_rng():
        torch.random.manual_seed(0)
        net = nn.Sequential(nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 10))
        step = torch.optim.Adam(net.parameters(), lr=0.02)
        for _ in range(60):
            step.zero_grad()
            nn.functional.cross_entropy(net(x[:300]), y[:300]).backward()
            step.step()
    return net, x[300:1300], y[300:1300], x[1300:], y[1300:]


def loss(logits, y):
    return nn.functional.cross_entropy(logits, y).item()


def test_a_real_model(digits, device):
    """T is that of all logits at once, and the loss on other digits is smaller for it."""
    net, x, y, x_test, y_test = digits
    net = copy.deepcopy(net).to(device).eval()
    scaled = ModelWithTemperature(net)
    assert scaled.temperature.tolist() == [1.5]
    found = scaled.fit(DataLoader(TensorDataset(x, y), batch_size=64))
    with torch.no_grad():
        expected = TemperatureScaling().fit(net(x.to(device)), y.to(device))
        assert found == pytest.approx(expected, rel=1e-5)  # batches round differently
        assert scaled.temperature.tolist() == [found]
        x_test, y_test = x_test.to(device), y_test.to(device)
        torch.testing.assert_close(scaled(x_test), net(x_test) / found)
        assert loss(scaled(x_test), y_test) < loss(net(x_test), y_test)
    assert scaled.scaling.to_numpy().temperature_ == found


def test_modes_and_parameters_stay(digits, device):
    """Every part is in the mode that it was in, and no parameter or buffer has changed."""
    net, x, y, *_ = digits
    net = copy.deepcopy(net).to(device).train()
    net[1].eval()
    modes = [part.training for part in net.modules()]
    before = copy.deepcopy(net.state_dict())
    scaled = ModelWithTemperature(net)
    one = scaled.fit([(x, y)])
    assert one == scaled.set_temperature([(x, y)])  # no dropout, no running means: the same again
    assert [part.training for part in net.modules()] == modes
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert all(p.requires_grad and p.grad is None for p in net.parameters())


def test_modes_stay_where_the_model_raises(digits):
    """An error inside of the model leaves the modes as they were."""
    net, x, y, *_ = digits
    net = copy.deepcopy(net).train()
    net[3].eval()
    modes = [part.training for part in net.modules()]
    with pytest.raises(RuntimeError):
        ModelWithTemperature(net).fit([(x, y), (x[:, :5], y)])
    assert [part.training for part in net.modules()] == modes


@pytest.mark.parametrize("entries", [1, 500, 1 << 20])
def test_batches_change_nothing(device, monkeypatch, entries):
    """However rows come in batches and are put together in pieces, T is the same; a generator is read once."""
    monkeypatch.setattr(model, "piece_entries", lambda _: entries)
    random = np.random.default_rng(0)
    z = torch.tensor(random.normal(size=(300, 4)))
    y = torch.tensor((z.numpy() / 3 + random.gumbel(size=z.shape)).argmax(axis=1))
    expected = TemperatureScaling().fit(z, y)
    batches = ((z[i : i + 7], y[i : i + 7]) for i in range(0, 300, 7))
    assert ModelWithTemperature(nn.Identity()).fit(batches, device) == pytest.approx(expected, rel=1e-12)


def test_pixels_one_event_and_ignored_labels(device):
    """Images of different sizes; one event; batches of which nothing is left."""
    random = np.random.default_rng(0)
    z = torch.tensor(random.normal(size=(600, 4)))
    y = torch.tensor((z.numpy() / 3 + random.gumbel(size=z.shape)).argmax(axis=1))
    images = [
        (z[:200].reshape(2, 10, 10, 4).movedim(3, 1), y[:200].reshape(2, 10, 10)),
        (z[200:].reshape(1, 20, 20, 4).movedim(3, 1), y[200:].reshape(1, 20, 20)),
        (torch.full((1, 4, 2, 2), torch.nan), torch.full((1, 2, 2), 255)),
    ]
    found = ModelWithTemperature(nn.Identity()).fit(images, device, ignore_index=255)
    assert found == pytest.approx(TemperatureScaling().fit(z, y), rel=1e-12)
    event = (y == 1).long()
    scaled = ModelWithTemperature(nn.Identity())
    assert scaled.fit([(z[:, 1], event)], device) == pytest.approx(TemperatureScaling().fit(z[:, 1], event), rel=1e-12)
    assert scaled.scaling.to_numpy().n_features_in_ == 1


class Wordy(nn.Module):
    """A model that takes a mapping and returns an object, as language models do."""

    def forward(self, inputs):
        return SimpleNamespace(logits=inputs["x"][0], loss=None)


def test_outputs_that_hold_logits(device):
    """`logits_of` picks the logits, when fitting and afterwards; inputs may be nested."""
    random = np.random.default_rng(0)
    z = torch.tensor(random.normal(size=(200, 3)))
    y = torch.tensor((z.numpy() / 2 + random.gumbel(size=z.shape)).argmax(axis=1))
    scaled = ModelWithTemperature(Wordy(), logits_of=lambda output: output.logits)
    found = scaled.fit([({"x": [z], "name": "batch"}, y)], device)
    assert found == pytest.approx(TemperatureScaling().fit(z, y), rel=1e-12)
    torch.testing.assert_close(scaled({"x": [z]}), z / found)
    with pytest.raises(InputError, match="got SimpleNamespace; pass logits_of"):
        ModelWithTemperature(Wordy()).fit([({"x": [z]}, y)])


def test_named_tuples_stay_what_they_are(device):
    """Inputs are moved inside of named tuples too."""
    pair = namedtuple("pair", "z shift")
    z = torch.randn(200, 3, generator=torch.Generator().manual_seed(0))
    y = torch.multinomial((z / 2).softmax(1), 1, generator=torch.Generator().manual_seed(1))[:, 0]
    scaled = ModelWithTemperature(nn.Identity(), logits_of=lambda output: output.z + output.shift)
    found = scaled.fit([(pair(z, torch.ones(1)), y)], device)
    assert found == pytest.approx(TemperatureScaling().fit(z, y), rel=1e-5)


def test_half_logits_stay_half():
    """Logits of a half type are kept and returned as such."""
    z = torch.randn(400, 3, generator=torch.Generator().manual_seed(0)).bfloat16()
    y = torch.multinomial((z.float() / 2).softmax(1), 1, generator=torch.Generator().manual_seed(1))[:, 0]
    scaled = ModelWithTemperature(nn.Identity())
    assert scaled.fit([(z, y)]) == TemperatureScaling().fit(z, y)
    assert scaled(z).dtype == torch.bfloat16


def test_state_travels(digits):
    """The state holds the model and one number more."""
    net, x, y, *_ = digits
    scaled = ModelWithTemperature(net)
    scaled.fit([(x, y)])
    other = ModelWithTemperature(copy.deepcopy(net))
    other.load_state_dict(scaled.state_dict())
    assert other.temperature.item() == scaled.temperature.item()
    assert set(scaled.state_dict()) == {f"model.{name}" for name in net.state_dict()} | {"scaling.temperature"}


def test_memory_may_be_used_again():
    """A model that returns the same tensor each time, and a loader that does, give what others give."""
    random = np.random.default_rng(0)
    z = torch.tensor(random.normal(size=(300, 4)))
    y = torch.tensor((z.numpy() / 3 + random.gumbel(size=z.shape)).argmax(axis=1))
    x, labels = torch.empty(50, 4, dtype=torch.float64), torch.empty(50, dtype=torch.int64)
    batches = ((x.copy_(one), labels.copy_(other)) for one, other in zip(z.split(50), y.split(50), strict=True))
    assert ModelWithTemperature(nn.Identity()).fit(batches) == TemperatureScaling().fit(z, y)


@pytest.mark.parametrize(
    ("loader", "words"),
    [
        ([], "the loader gave no rows"),
        ([torch.zeros(3, 2)], "batch 0 is a Tensor"),
        ([(torch.zeros(3, 2), torch.zeros(3), torch.zeros(3))], "batch 0 is a tuple of 3"),
        ([(torch.zeros(3, 2), torch.eye(2)[torch.tensor([0, 1, 1])])], "pass labels.argmax"),
        ([(torch.zeros(3, 2), torch.zeros(3)), (torch.zeros(3, 4), torch.zeros(3))], "batch 1 .* 4 classes, .* 2"),
        ([(torch.zeros(3, 2), torch.tensor([0, 1, 2]))], "labels must be whole numbers 0..1, got 2 at row 2"),
        ([(torch.zeros(3, 2), torch.full((3,), -1))], "no rows with a label"),
    ],
)
def test_refuses(loader, words):
    """Loaders that give nothing, or something else than pairs that belong together."""
    with pytest.raises(InputError, match=words):
        ModelWithTemperature(nn.Identity()).fit(loader, ignore_index=-1)


def test_functions_are_refused():
    """A function has no device and no modes."""
    with pytest.raises(InputError, match=r"model must be a torch.nn.Module, got a function"):
        ModelWithTemperature(lambda x: x)
