"""One call from tensors to the statistic that every metric reads."""

from __future__ import annotations

import pytest
import torch

import believable
from believable import Layout, Predictions, Summary
from believable.errors import InputError, UndefinedError
from believable.torch import CalibrationMeter, summarize
from tests.torch.counting.same import assert_same


def test_the_summary_is_numpys(device):
    """Of one event, and of classes with weights and ignored rows, it is what NumPy counts."""
    generator = torch.Generator().manual_seed(1)
    p, y = torch.rand(300, generator=generator), torch.randint(0, 2, (300,), generator=generator)
    found = summarize(p.to(device), y.to(device))
    assert_same(found, Summary.of(Predictions(p.numpy(), y.numpy())))
    wanted = believable.expected_calibration_error(p.numpy(), y.numpy(), n_bins=15)
    assert float(believable.expected_calibration_error(found, n_bins=15)) == pytest.approx(float(wanted), abs=1e-12)

    logits, labels = torch.randn(300, 5, generator=generator), torch.randint(-1, 5, (300,), generator=generator)
    weight = torch.rand(300, generator=generator)
    notions = ("confidence", "classwise")
    found = summarize(
        logits.to(device),
        labels.to(device),
        sample_weight=weight.to(device),
        from_logits=True,
        ignore_index=-1,
        notions=notions,
    )
    rows = Predictions(
        logits.numpy().astype(float), labels.numpy(), sample_weight=weight.numpy(), from_logits=True, ignore_label=-1
    )
    assert_same(found, Summary.of(rows, Layout.of("multiclass", 5, "float64", notions=notions)))


def test_the_same_as_a_meter(device):
    """It is a meter that counts once, with the same choices left out."""
    p = torch.tensor([[0.2, 0.8], [0.5, 0.5], [1.0, 0.0]], device=device)
    y = torch.tensor([1, 0, 0], device=device)
    meter = CalibrationMeter(2).to(device)
    meter.update(p, y)
    assert_same(summarize(p, y), meter.summary)
    assert len(summarize(p, y, cells=15).cells[0].n) == 3


def test_what_is_refused(device):
    """The row that is invalid is named on every device, and nothing cannot be summarised."""
    with pytest.raises(InputError, match=r"got 1\.5 at row 1; these look like logits: pass from_logits=True"):
        summarize(torch.tensor([0.5, 1.5], device=device), torch.tensor([0, 1], device=device))
    with pytest.raises(UndefinedError, match="no rows"):
        summarize(torch.zeros(0, device=device), torch.zeros(0, device=device))
