"""The torch room and its tests are left out where torch is not installed; tests/test_torch_door.py says so."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

if importlib.util.find_spec("torch") is None:
    collect_ignore_glob = ["src/believable/torch", "tests/torch"]  # whole folders: even their conftest needs torch
else:
    needed = {"torchmetrics": "torchmetrics.py", "triton": "*/triton_*.py"}
    collect_ignore_glob = [
        f"src/believable/torch/{files}"
        for package, files in needed.items()
        if importlib.util.find_spec(package) is None
    ]
    collect_ignore_glob.append("tests/torch/lightning_job.py")  # a program, whose imports take seconds

collect_ignore_glob.append("tests/narrow_integers.py")  # it must be imported before believable, and changes it

# A file of `integrations` is named after the tool that it imports.
collect_ignore_glob += [
    f"src/believable/integrations/{path.name}"
    for path in Path(__file__).parent.glob("src/believable/integrations/[a-z]*.py")
    if importlib.util.find_spec(path.stem) is None
]


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    """Close what a test or an example left with pyplot, which warns of too many figures."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
