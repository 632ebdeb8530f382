"""Tests of the torch room run on the CPU, and again on a GPU where there is one.

Without a GPU its code runs all the same: Triton in its interpreter, and CUDA C++ compiled for the host (`cuda_host`).
"""

from __future__ import annotations

import os

import pytest
import torch

from tests.needs import need
from tests.torch.cuda_host.kernels import HostCompiler

DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # which Triton reads when it is imported: nothing here has done so yet


@pytest.fixture(params=DEVICES)
def device(request):
    """The name of a device."""
    return request.param


@pytest.fixture(scope="session")
def host_compiler(tmp_path_factory):
    """What compiles kernels in CUDA C++ for the host, each once a session."""
    return HostCompiler(need("compiler"), tmp_path_factory.mktemp("cuda_host"))
