"""The meter as part of a model: it moves, is saved, copied and pickled with it, and stays in float64."""

from __future__ import annotations

import copy
import io
import pickle
from multiprocessing.reduction import ForkingPickler

import pytest
import torch
from torch import nn

from believable.errors import SchemaError
from believable.torch import CalibrationMeter
from tests.torch.counting.same import assert_same


class Model(nn.Module):
    """What a training framework sees: a layer, and a meter as an attribute."""

    def __init__(self, **choices):
        super().__init__()
        self.layer = nn.Linear(5, 3)
        self.meter = CalibrationMeter(3, from_logits=True, **choices)


def batch(n=64, seed=0):
    """Features and labels."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, 5, generator=generator), torch.randint(0, 3, (n,), generator=generator)


def used(meter, n=64, weighted=False, seed=0):
    """A meter of three classes that has counted something."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(n, 3, generator=generator, dtype=torch.float64)
    weight = [torch.rand(n, generator=generator).to(meter.device)] if weighted else []
    meter.update(logits.to(meter.device), torch.randint(0, 3, (n,), generator=generator).to(meter.device), *weight)
    return meter


@pytest.mark.parametrize(
    "convert",
    [
        lambda model: model.half(),
        lambda model: model.bfloat16(),
        lambda model: model.float(),
        lambda model: model.to(torch.float16),
        lambda model: model.to("cpu", torch.bfloat16),
        lambda model: model.type(torch.float32),
    ],
)
def test_precision_of_the_model_is_not_that_of_the_counts(convert):
    """half(), bfloat16() and to(dtype) of a model leave the sums of its meter in float64, to the last digit."""
    model = Model()
    before = used(model.meter).summary
    convert(model)
    assert model.meter._state.tally.buffer.dtype == torch.float64
    assert_same(model.meter.summary, before, tolerance=0)
    used(model.meter)
    assert model.meter.n == 128


def test_counts_are_no_parameters_and_no_buffers():
    """An optimiser, an average of weights and DistributedDataParallel see the layer alone."""
    assert len(list(Model().parameters())) == 2
    assert not list(Model().buffers())


def test_moving(device):
    """`to(device)` of the model moves the counts; what was counted stays."""
    model = Model()
    before = used(model.meter).summary
    model.to(device)
    assert model.meter.device.type == torch.device(device).type
    assert_same(model.meter.summary, before, tolerance=0)
    used(model.to("cpu").meter)
    assert model.meter.n == 128


def test_made_without_memory():
    """A model made on the meta device has an empty meter once it gets memory."""
    with torch.device("meta"):
        model = Model()
    model.to_empty(device="cpu")
    assert model.meter.n == 0
    assert used(model.meter).n == 64


def test_a_whole_epoch(device):
    """Update in every step, compute at the end, reset: what a training framework does, in half precision."""
    model = Model().to(device).bfloat16()
    for epoch in range(2):
        for step in range(3):
            x, y = batch(seed=step)
            model.meter.update(model.layer(x.to(device, torch.bfloat16)), y.to(device))
        logged = {f"val/{name}": value for name, value in model.meter.compute(["ece", "brier"]).items()}
        assert all(isinstance(value, float) for value in logged.values())
        assert model.meter.n == 192, epoch
        model.meter.reset()


@pytest.mark.parametrize("weighted", [False, True])
def test_a_round_trip(device, weighted):
    """A state goes through torch.save without code being run, and comes back exactly, into plain or weighted tables."""
    meter = used(CalibrationMeter(3, from_logits=True).to(device), weighted=weighted)
    file = io.BytesIO()
    torch.save(meter.state_dict(), file)
    file.seek(0)
    saved = torch.load(file, weights_only=True)
    for other in (
        CalibrationMeter(3, from_logits=True),
        used(CalibrationMeter(3, from_logits=True), weighted=not weighted),
    ):
        other.load_state_dict(saved)
        assert_same(other.summary, meter.summary, tolerance=0)
        assert_same(
            used(other, seed=1).summary, (meter.to("cpu") + used(CalibrationMeter(3, from_logits=True), seed=1)).summary
        )


def test_a_state_is_a_snapshot():
    """Later batches do not change a state that was taken, nor does a meter that loaded it."""
    meter = used(CalibrationMeter(3, from_logits=True))
    saved = meter.state_dict()
    other = CalibrationMeter(3, from_logits=True)
    other.load_state_dict(saved)
    used(meter), used(other)
    again = CalibrationMeter(3, from_logits=True)
    again.load_state_dict(saved)
    assert again.n == 64


def test_checkpoints_of_models():
    """By default checkpoints have no counts and load either way; `persistent` puts them in."""
    with_counts, without = Model(persistent=True), Model()
    used(with_counts.meter)
    assert list(without.state_dict()) == ["layer.weight", "layer.bias"]
    assert "meter.sums" in with_counts.state_dict()
    old = {name: value for name, value in without.state_dict().items() if "meter" not in name}
    assert with_counts.load_state_dict(old, strict=True).missing_keys == []
    assert with_counts.meter.n == 64
    without.load_state_dict(with_counts.state_dict(), strict=True)
    assert without.meter.n == 64
    without.meter.persistent()
    assert set(without.state_dict()) == set(with_counts.state_dict())


def test_damaged_states():
    """A state of other settings, of another precision, or with parts missing is refused, and changes nothing."""
    saved = used(CalibrationMeter(3, from_logits=True)).state_dict()
    other = used(CalibrationMeter(3, from_logits=True), n=10)
    for choices, words in (
        ({"n_classes": 3}, "from_logits"),
        ({"n_classes": 4, "from_logits": True}, "n_classes, notions"),
        ({"n_classes": 3, "from_logits": True, "cells": 15}, "cells"),
        ({"n_classes": 3, "from_logits": True, "ignore_index": 0}, "ignore_index"),
    ):
        with pytest.raises(SchemaError, match=f"other settings of {words}"):
            CalibrationMeter(**choices).load_state_dict(saved)
    with pytest.raises(SchemaError, match=r"the saved tables\.0 must be torch\.float64"):
        other.load_state_dict(saved | {"tables.0": saved["tables.0"].half()})
    with pytest.raises(SchemaError, match="the saved sums must be"):
        other.load_state_dict(saved | {"sums": saved["sums"][1:]})
    with pytest.raises(SchemaError, match="settings cannot be read"):
        other.load_state_dict(saved | {"settings": saved["settings"][1:]})
    with pytest.raises(RuntimeError, match="Missing key"):
        other.load_state_dict({name: value for name, value in saved.items() if name != "sums"})
    with pytest.raises(RuntimeError, match="Unexpected key"):
        other.load_state_dict(saved | {"more": saved["sums"]})
    assert other.n == 10


def test_the_type_of_the_scores_is_saved():
    """A meter of float32 scores that was saved and loaded still refuses float64 ones."""
    meter, other = CalibrationMeter(), CalibrationMeter()
    meter.update(torch.tensor([0.3]), torch.tensor([1]))
    other.load_state_dict(meter.state_dict())
    with pytest.raises(ValueError, match="its scores are float64, those before were float32"):
        other.update(torch.tensor([0.3], dtype=torch.float64), torch.tensor([1]))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_are_independent(duplicate, device):
    """A copied or pickled model counts for itself, from where the first one was."""
    model = Model(ignore_index=-1).to(device)
    before = used(model.meter, weighted=True).summary
    other = duplicate(model)
    assert_same(other.meter.summary, before, tolerance=0)
    used(other.meter)
    assert (model.meter.n, other.meter.n) == (64, 128)


def test_what_cannot_be_copied_is_shared():
    """A copy of a meter has the same process group."""
    group = (line for line in ())
    assert copy.deepcopy(CalibrationMeter(process_group=group)).process_group is group


def test_printing():
    """A model prints its meter with its choices."""
    assert str(CalibrationMeter(3, from_logits=True)) == "CalibrationMeter(3 classes, from logits)"
    assert str(CalibrationMeter()) == "CalibrationMeter(one event)"


@pytest.mark.parametrize("settings", [{}, {"cells": 15, "spacing": "uniform"}, {"n_classes": 3}])
def test_counts_that_torch_moves_into_shared_memory(settings):
    """A meter that is sent to another process counts on where its numbers are then."""
    scores = torch.rand(100, 3).softmax(dim=1) if "n_classes" in settings else torch.rand(100)
    targets = torch.randint(0, 2, (100,))
    meter, other = CalibrationMeter(**settings), CalibrationMeter(**settings)
    for n in (100, 200, 300):
        meter.update(scores, targets)
        other.update(scores, targets)
        ForkingPickler.dumps(meter)
        assert meter.n == n
    assert_same(meter.summary, other.summary)


def test_a_shallow_copy_counts_for_itself():
    """What is reset in one is not reset in the other."""
    meter = CalibrationMeter()
    meter.update(torch.tensor([0.2]), torch.tensor([1]))
    copied = copy.copy(meter)
    copied.reset()
    assert (meter.n, copied.n) == (1, 0)


def test_counts_that_another_process_shares_are_read_anew():
    """What was read is remembered until the next update, but not where others can count, too."""
    meter, other = CalibrationMeter(), CalibrationMeter()
    for one in (meter, other):
        one.update(torch.tensor([0.2, 0.7]), torch.tensor([0, 1]))
    assert meter.summary is meter.summary
    meter._state.tally.buffer.share_memory_()
    before = meter.compute(["brier"])["brier"]
    meter._state.tally.buffer.add_(other._state.tally.buffer)
    assert meter.summary.n == 4
    assert meter.compute(["brier"])["brier"] == pytest.approx(before)


def test_merged_loaded_and_reset_counts_stay_in_their_tensor():
    """A CUDA graph that contains an update knows the address of the counts."""
    meter, other = CalibrationMeter(cells=15, spacing="uniform"), CalibrationMeter(cells=15, spacing="uniform")
    other.update(torch.tensor([0.2]), torch.tensor([1]))
    place = meter._state.tally.buffer.data_ptr()
    meter(torch.tensor([0.2]), torch.tensor([1]))
    meter.merge_state(other)
    assert meter.n == 2
    meter.load_state_dict(other.state_dict())
    assert meter.n == 1
    meter.reset()
    assert meter.n == 0
    meter.to("cpu")
    assert meter._state.tally.buffer.data_ptr() == place
