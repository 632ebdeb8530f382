"""Flags of functions on tensors: True or False, and nothing that may mean either."""

from __future__ import annotations

import numpy as np
import pytest

from believable.errors import InputError
from tests.needs import need

torch = need("torch")

import believable.torch as bt  # noqa: E402

P, Y = torch.linspace(0.05, 0.95, 20), torch.tensor([0, 1] * 10)
X = torch.ones(20, 3)
CALLS = {
    "summarize": (lambda **flag: bt.summarize(P, Y, **flag), ["from_logits"]),
    "bin_stats": (lambda **flag: bt.bin_stats(P, Y, **flag), ["from_logits"]),
    "kernel_calibration_error": (lambda **flag: bt.kernel_calibration_error(P, Y, **flag), ["from_logits"]),
    "CalibrationMeter": (bt.CalibrationMeter, ["from_logits", "persistent", "sync_on_compute"]),
    "ensemble_predict": (lambda **flag: bt.ensemble_predict([torch.nn.Linear(3, 2)], X, **flag), ["average", "grad"]),
    "mixup": (lambda **flag: bt.mixup(X, Y, alpha=0.4, **flag), ["per_row"]),
    "MMCELoss": (bt.MMCELoss, ["weighted", "unbiased"]),
}


@pytest.mark.parametrize(("name", "flag"), [(name, flag) for name, (_, flags) in CALLS.items() for flag in flags])
def test_flags_are_true_or_false(name, flag):
    """A tensor, an array, a text or a number is not taken for one."""
    call = CALLS[name][0]
    for value in (torch.tensor([True, False]), np.array([True, False]), "no", 1):
        with pytest.raises(InputError, match=f"{flag} must be True or False"):
            call(**{flag: value})
    call(**{flag: np.True_})


def test_absurd_counts_are_refused():
    """Before memory is asked for, or a loop begins."""
    for make in (bt.VectorScaling, bt.MatrixScaling, bt.DirichletCalibration, bt.CalibrationMeter, bt.SoftECE):
        with pytest.raises(InputError, match="must be an integer"):
            make(2**70)
    with pytest.raises(InputError, match="samples must be an integer at most 1,000,000"):
        bt.mc_dropout_predict(torch.nn.Sequential(torch.nn.Dropout()), X, 10**9)
