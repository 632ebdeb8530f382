"""`CalibrationError` as torchmetrics has metrics: collections, steps, checkpoints, types."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import believable
from believable import Predictions
from believable.errors import InputError, MergeError
from tests.needs import need
from tests.torch.counting.same import SUM_TOLERANCE

torchmetrics = None


@pytest.fixture(autouse=True)
def _package():
    global torchmetrics
    torchmetrics = need("torchmetrics")


def metric(*args, **choices):
    """A `CalibrationError`."""
    return believable.torch.CalibrationError(*args, **choices)


def event(n=400, seed=0):
    """Scores and outcomes of one event."""
    generator = torch.Generator().manual_seed(seed)
    p = torch.rand(n, generator=generator)
    return p, (torch.rand(n, generator=generator) < p**2).long()


def classes(n=400, seed=0):
    """Logits and labels of four classes."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, 4, generator=generator), torch.randint(0, 4, (n,), generator=generator)


@pytest.mark.parametrize("name", ["ece", "mce", "rmsce", "brier", "nll", "acc", "auc", "ks", "ace", "smece"])
def test_values_of_one_event(device, name):
    """The value is that of the NumPy core, whichever metric it is and however it is counted."""
    p, y = event()
    one = metric(name, n_bins=15).to(device)
    for part in range(0, 400, 90):
        one.update(p[part : part + 90].to(device), y[part : part + 90].to(device))
    wanted = believable.evaluate(p.numpy(), y.numpy(), metrics=[name], n_bins=15)[name]
    tolerance = SUM_TOLERANCE if name in ("ece", "mce", "rmsce", "brier", "nll", "acc") else 2e-3
    assert one.compute().item() == pytest.approx(wanted, abs=tolerance)
    assert one.compute().dtype == torch.float64
    assert one.higher_is_better is (name in ("acc", "auc"))


@pytest.mark.parametrize(
    ("name", "notion"),
    [("ece", None), ("ece", "classwise"), ("sce", None), ("tlce", None), ("auc", None), ("brier", None)],
)
def test_values_of_classes(device, name, notion):
    """The value is that of the NumPy core for each notion."""
    logits, y = classes()
    one = metric(name, n_bins=10, n_classes=4, notion=notion, from_logits=True).to(device)
    one.update(logits.to(device), y.to(device))
    rows = Predictions(logits.numpy().astype(float), y.numpy(), from_logits=True)
    wanted = believable.evaluate(rows, metrics=[name], n_bins=10, notion=notion)[name]
    assert one.compute().item() == pytest.approx(wanted, abs=1e-4 if name == "auc" else SUM_TOLERANCE)


def test_a_collection_steps_and_resets(device):
    """In a collection each call returns the batch's value, compute that of all, and reset forgets."""
    p, y = (tensor.to(device) for tensor in event())
    together = torchmetrics.MetricCollection({"ece": metric(n_bins=10), "mce": metric("mce", n_bins=10)}).to(device)
    first, second = together(p[:200], y[:200]), together(p[200:], y[200:])
    alone, whole = metric(n_bins=10).to(device), metric(n_bins=10).to(device)
    alone.update(p[200:], y[200:])
    whole.update(p, y)
    assert second["ece"].item() == pytest.approx(alone.compute().item(), abs=1e-12)
    assert first["ece"] != second["ece"]
    assert together.compute()["ece"].item() == pytest.approx(whole.compute().item(), abs=1e-12)
    together.reset()
    together.update(p[200:], y[200:])
    assert together.compute()["ece"].item() == pytest.approx(alone.compute().item(), abs=1e-12)


def test_a_collection_keeps_metrics_apart(device):
    """Metrics that saw the same in the first batch, but would read the next differently, are counted each alone."""
    logits, y = (tensor.to(device) for tensor in classes())
    made = {"all": metric(n_classes=4, from_logits=True), "some": metric(n_classes=4, from_logits=True, ignore_index=0)}
    together = torchmetrics.MetricCollection({**made, "mce": metric("mce", n_classes=4, from_logits=True)}).to(device)
    alone = {name: one.clone().to(device) for name, one in made.items()}
    for rows in (y > 0, y >= 0):
        together.update(logits[rows], y[rows])
        for one in alone.values():
            one.update(logits[rows], y[rows])
    assert sorted(sorted(group) for group in together.compute_groups.values()) == [["all", "mce"], ["some"]]
    found = together.compute()
    assert {name: found[name].item() for name in alone} == {name: one.compute().item() for name, one in alone.items()}


def test_inference_mode(device):
    """What was counted or forgotten in inference mode can be added to after it."""
    p, y = (tensor.to(device) for tensor in event())
    one, other = metric().to(device), metric().to(device)
    with torch.inference_mode():
        one.update(p, y)
        one.reset()
        one.update(p[:200], y[:200])
    one.update(p[200:], y[200:])
    other.update(p, y)
    assert one.compute().item() == pytest.approx(other.compute().item(), abs=1e-12)


def test_precision_and_checkpoints(device):
    """Half precision of the model leaves the states in float64; persistent states come back exactly."""
    logits, y = (tensor.to(device) for tensor in classes())
    model = nn.Module()
    model.ece = metric(n_classes=4, from_logits=True)
    model.to(device)
    model.ece.update(logits, y)
    value = model.ece.compute()
    model.half().to(torch.bfloat16)
    model.ece._computed = None
    assert model.ece.compute() == value
    assert model.ece.counts.dtype == torch.float64
    assert not model.state_dict()
    model.ece.persistent(True)
    other = nn.Module()
    other.ece = metric(n_classes=4, from_logits=True)
    other.ece.persistent(True)
    other.load_state_dict(model.state_dict())
    other.ece._update_count = 1  # torchmetrics does not save it
    assert other.ece.compute().item() == value.item()


def test_pixels_ignored_and_nothing(device):
    """Pixels are rows, ignored ones are left out, and the value of nothing is NaN."""
    one = metric(n_classes=2, ignore_index=255).to(device)
    p = torch.full((1, 2, 2, 2), 0.5, device=device)
    assert math.isnan(one(p, torch.full((1, 2, 2), 255, device=device)))
    one.update(p, torch.tensor([[[255, 0], [1, 1]]], device=device))
    assert one.compute().item() == pytest.approx(0.5 - 1 / 3, abs=1e-12)


def test_state_does_not_grow():
    """For 15 bins the states are a few numbers, however many rows there were."""
    one = metric()
    one.update(*event(10_000))
    assert sum(getattr(one, name).numel() for name in one._defaults) < 150


def test_refusals():
    """What cannot be counted in batches, is not defined, or does not fit is refused with a reason."""
    for args, choices, message in (
        (["kce"], {}, "read from the predictions themselves"),
        (["sce"], {}, "is defined for multiclass"),
        (["sce"], {"n_classes": 3, "notion": "confidence"}, "no choice of notion"),
        (["eve"], {}, "there is no metric 'eve'"),
        (["ece"], {"notion": "confidence"}, "one event has no choice of notion"),
        (["ece"], {"ignore_index": "void"}, "ignore_index must be an integer or None"),
    ):
        with pytest.raises(InputError, match=message):
            metric(*args, **choices)
    one = metric()
    with pytest.raises(InputError, match="do not fit n_classes=None"):
        one.update(torch.full((2, 2), 0.5), torch.tensor([0, 1]))
    with pytest.raises(InputError, match="got 2 at row 0; these look like logits"):
        one.update(torch.tensor([2.0]), torch.tensor([1]))
    one.update(torch.tensor([0.3]), torch.tensor([1]))
    one.update(torch.tensor([0.3], dtype=torch.float64), torch.tensor([1]))
    with pytest.raises(InputError, match="some scores were float32, others float64"):
        one.compute()


def test_torchmetrics_is_imported_with_the_class_alone(monkeypatch):
    """One file imports it, when its class is asked for; where it is missing, the error says so."""
    room = Path(believable.torch.__file__).parent
    users = [path.name for path in room.rglob("*.py") if re.search(r"(import|from) torchmetrics", path.read_text())]
    assert users == ["torchmetrics.py"]
    monkeypatch.setitem(sys.modules, "torchmetrics", None)
    monkeypatch.delitem(sys.modules, "believable.torch.torchmetrics", raising=False)
    with pytest.raises(ImportError, match="CalibrationError needs torchmetrics: pip install torchmetrics"):
        believable.torch.CalibrationError  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'CalibrationErorr'"):
        believable.torch.CalibrationErorr  # noqa: B018


@pytest.mark.filterwarnings("ignore:The ``compute`` method of metric:UserWarning")
@pytest.mark.parametrize(
    ("made", "loaded"),
    [
        ({"n_bins": 20}, {"n_bins": 10}),
        ({"n_bins": 10}, {"n_bins": 20}),
        ({"n_classes": 4}, {"n_classes": 3}),
        ({"n_classes": 4}, {}),
    ],
)
def test_states_of_other_arguments_are_refused(made, loaded):
    """A state that means something else is an error, not a number."""
    metric, other = believable.torch.CalibrationError("ece", **made), believable.torch.CalibrationError("ece", **loaded)
    metric.persistent(True)
    other.persistent(True)
    k = made.get("n_classes")
    metric.update(torch.rand(50, k).softmax(dim=1) if k else torch.rand(50), torch.randint(0, 2, (50,)))
    other.load_state_dict(metric.state_dict())
    with pytest.raises(MergeError, match="with other arguments"):
        other.compute()


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*is deprecated", "ignore:This property will be removed")
@pytest.mark.parametrize("choices", [{}, {"n_classes": 4, "from_logits": True, "ignore_index": -1}])
def test_torchscript_compiles_a_metric(choices):
    """`torch.jit.script` accepts it before and after an update, as torchmetrics asks of every metric."""
    one = metric("ece", **choices)
    torch.jit.script(one)
    one.update(*(classes() if choices else event()))
    value = one.compute()
    torch.jit.script(one)
    assert one.compute() == value
