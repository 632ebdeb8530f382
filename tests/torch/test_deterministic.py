"""Under `torch.use_deterministic_algorithms(True)` everything runs on the CPU and gives the numbers it gives without.

The flag also fills memory that is not initialised, with NaN, so that nothing here can depend on what was in it.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
import torch

import believable.torch
from believable import View
from believable.torch import (
    CalibrationMeter,
    ConfidencePenalty,
    FocalLoss,
    KCELoss,
    LabelSmoothingLoss,
    MixupLoss,
    MMCELoss,
    SoftECE,
    TemperatureScaling,
    bin_stats,
    kernel_calibration_error,
    mixup,
    summarize,
    token_calibration,
)
from tests.needs import need

NOTIONS = ("confidence", "classwise", "top_label", View("rth", 4, r=2))


@contextmanager
def deterministic():
    """Ask torch for deterministic algorithms, and leave it as it was."""
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])


def classes(dtype=torch.float32):
    """Logits of four classes, labels and weights."""
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(600, 4, generator=generator)
    labels = torch.multinomial((logits / 2).softmax(dim=1), 1, generator=generator)[:, 0]
    return logits.to(dtype), labels, torch.rand(600, generator=generator)


def event(dtype=torch.float32):
    """Scores, outcomes and weights of one event."""
    logits, labels, weights = classes()
    return logits[:, 0].sigmoid().to(dtype), (labels == 0).long(), weights


def metered(meter, *tensors):
    """All that a meter has counted of three batches, and all metrics read from it."""
    for part in zip(*(tensor.split(250) for tensor in tensors), strict=True):
        meter.update(*part)
    return meter.summary, dict(meter.compute())


def trained(loss, *, events=False):
    """The value of a loss and its gradient."""
    logits, labels, weights = classes(torch.float64)
    logits, labels = (logits[:, 0], (labels == 0).long()) if events else (logits, labels)
    logits = logits[:120].clone().requires_grad_()
    value = loss(logits, labels[:120], sample_weight=weights[:120])
    value.backward()
    return value.item(), logits.grad


def mixed():
    """The value of a loss of mixed rows, and its gradient."""
    logits, labels, _ = classes()
    batch = mixup(logits, labels, 0.3, generator=torch.Generator().manual_seed(1))
    z = batch.x.clone().requires_grad_()
    value = MixupLoss(FocalLoss(gamma=2.0))(z, batch.y_a, batch.y_b, batch.lam)
    value.backward()
    return value.item(), z.grad


def fitted(**choices):
    """A temperature, and logits divided by it."""
    logits, labels, weights = classes()
    scaling = TemperatureScaling()
    found = scaling.fit(logits, labels, sample_weight=weights if choices.get("weighted") else None)
    return found, scaling(logits).detach()


def computed(*tensors, **choices):
    """The value of a metric of torchmetrics."""
    metric = believable.torch.CalibrationError("ece", **choices)
    metric.update(*tensors)
    return metric.compute()


CALLS = {
    "meter of one event": lambda: metered(CalibrationMeter(), *event()),
    "meter of float64": lambda: metered(CalibrationMeter(), *event(torch.float64)[:2]),
    "meter of 15 bins": lambda: metered(CalibrationMeter(cells=15, spacing="uniform"), *event()[:2]),
    "meter of classes": lambda: metered(CalibrationMeter(4, from_logits=True), *classes()[:2]),
    "meter of bfloat16": lambda: metered(CalibrationMeter(4, from_logits=True), *classes(torch.bfloat16)[:2]),
    "meter of notions": lambda: metered(CalibrationMeter(4, from_logits=True, notions=NOTIONS), *classes()),
    "meter, forward": lambda: dict(CalibrationMeter(4, from_logits=True)(*classes()[:2])),
    "summarize": lambda: summarize(*classes()[:2], from_logits=True, notions=NOTIONS),
    "summarize with weights": lambda: summarize(*event()[:2], sample_weight=event()[2], ignore_index=0),
    "bin_stats": lambda: bin_stats(*event()[:2], 15),
    "bin_stats of each class": lambda: bin_stats(*classes()[:2], 15, notion="classwise", from_logits=True),
    "CalibrationError": lambda: computed(*event()[:2]),
    "CalibrationError of classes": lambda: computed(*classes()[:2], n_classes=4, from_logits=True, notion="classwise"),
    "token_calibration": lambda: token_calibration(*classes(torch.bfloat16)[:2], top_r=3, sample_weight=classes()[2]),
    "TemperatureScaling": lambda: fitted(),
    "TemperatureScaling with weights": lambda: fitted(weighted=True),
    "kernel_calibration_error": lambda: kernel_calibration_error(*classes()[:2], from_logits=True),
    "FocalLoss": lambda: trained(FocalLoss(gamma="flsd53")),
    "LabelSmoothingLoss": lambda: trained(LabelSmoothingLoss(smoothing=0.1)),
    "ConfidencePenalty": lambda: trained(ConfidencePenalty(beta=0.1)),
    "MMCELoss": lambda: trained(MMCELoss()),
    "MMCELoss of one event": lambda: trained(MMCELoss(), events=True),
    "SoftECE": lambda: trained(SoftECE()),
    "KCELoss": lambda: trained(KCELoss()),
    "MixupLoss": mixed,
}


def assert_equal(found, wanted, tolerance=0.0, place="result"):
    """The same numbers: to the last bit, or up to a relative tolerance."""
    if isinstance(wanted, (tuple, list)):
        for i, (here, there) in enumerate(zip(found, wanted, strict=True)):
            assert_equal(here, there, tolerance, f"{place}[{i}]")
    elif isinstance(wanted, dict):
        assert set(found) == set(wanted)
        for name, there in wanted.items():
            assert_equal(found[name], there, tolerance, f"{place}[{name!r}]")
    elif is_dataclass(wanted):
        for field in fields(wanted):
            here, there = getattr(found, field.name), getattr(wanted, field.name)
            assert_equal(here, there, tolerance, f"{place}.{field.name}")
    elif isinstance(wanted, (float, np.ndarray, torch.Tensor)):
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * 1e-3, err_msg=place)
    else:
        assert found == wanted, place


@pytest.mark.parametrize("name", list(CALLS))
def test_the_same_numbers(name):
    """Under the flag a call returns the same bits twice, and up to rounding what it returns without it."""
    if name.startswith("CalibrationError"):
        need("torchmetrics")
    wanted = CALLS[name]()
    with deterministic():
        found, again = CALLS[name](), CALLS[name]()
    assert_equal(again, found)
    assert_equal(found, wanted, tolerance=1e-6)
