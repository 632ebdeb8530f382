"""What comes with the torch room."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import sys
import torch
before = set(sys.modules)
import believable.torch
loaded = set(sys.modules) - before
print(*(name for name in ("sklearn", "scipy", "pandas", "torchmetrics", "triton", "matplotlib") if name in loaded))
"""


@pytest.mark.slow
def test_importing_the_room_is_quick():
    """It loads no package beside torch and NumPy: what is slow to load is loaded where it is used."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == []
