"""The data set that ships is what its script makes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent


def test_the_script_makes_the_file():
    """Rerunning the script gives the same labels and scores."""
    spec = importlib.util.spec_from_file_location("make_demo_data", ROOT / "scripts" / "make_demo_data.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    made = script.demo_csv().splitlines()
    shipped = script.SHIPPED.read_text().splitlines()
    assert made[0] == shipped[0]
    made, shipped = (np.array([line.split(",") for line in lines[1:]], float) for lines in (made, shipped))
    assert np.array_equal(made[:, 0], shipped[:, 0])
    assert np.allclose(made, shipped, rtol=1e-6, atol=1e-9)  # another BLAS may round the fit differently
