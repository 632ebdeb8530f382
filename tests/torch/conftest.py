"""Tests of the torch room run on the CPU, and again on a GPU where there is one."""

from __future__ import annotations

import pytest
import torch

DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


@pytest.fixture(params=DEVICES)
def device(request):
    """The name of a device."""
    return request.param
