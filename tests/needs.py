"""Optional parts of the suite: skipped with a reason where something is missing, failed where it is required.

`BELIEVABLE_REQUIRE=torch,spark` turns the skip into a failure; `.ci/run` requires every word that a test names; blocks
of pages may need more, which only the environment of the benchmarks has.
"""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

# Where floats decide (scores one rounding apart, a logit of -3e38), older linear algebra may decide otherwise.
decided_by_rounding = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="rounding decides here, and differs in older libraries"
)

REQUIRED = frozenset(filter(None, os.environ.get("BELIEVABLE_REQUIRE", "").split(",")))
NEEDS = {  # a package or program, and what it is no use without
    "torch": ["torch"],
    "torchmetrics": ["torchmetrics"],
    "lightning": ["pytorch_lightning"],
    "triton": ["triton"],  # whose interpreter needs no GPU
    "compiler": ["c++"],
    "spark": ["pyspark", "java"],
    "dask": ["dask"],
    "duckdb": ["duckdb"],
    "ibis": ["ibis"],
    "node": ["node"],
    "compiled": ["believable._kernels.compiled._c"],
    "browser": ["chromium", "playwright"],
    "netcal": ["netcal"],
    "relplot": ["relplot"],
    "calibration": ["calibration"],  # the package uncertainty-calibration
    "calibre": ["calibre"],  # wants Python 3.12
    "tensorboard": ["tensorboard"],  # netcal.scaling imports it
    "pyro": ["pyro"],  # and this
    "h5py": ["h5py"],
    "catboost": ["catboost"],
    "lightgbm": ["lightgbm"],
    "mlflow": ["mlflow"],
    "wandb": ["wandb"],
    "evaluate": ["evaluate"],
    "inspect_ai": ["inspect_ai"],
    "transformers": ["transformers", "torch", "accelerate"],
    "onnx": ["onnx", "onnxruntime", "skl2onnx"],
    "xgboost": ["xgboost"],
    "pre_commit": ["pre_commit"],
    "prometheus_client": ["prometheus_client"],
    "yaml": ["yaml"],  # which Sphinx brings
    "sphinx": ["sphinx", "myst_parser", "furo", "sphinx_design", "sphinx_copybutton", "latex2mathml"],
}
PROGRAMS = ("java", "node", "chromium", "c++")


def need(word: str) -> Any:
    """The package or program behind a word, or a skip (a failure, where the word is required)."""
    found = [shutil.which(name) if name in PROGRAMS else _package(name) for name in NEEDS[word]]
    if None not in found:
        return found[0]
    message = f"{NEEDS[word][found.index(None)]} is not installed"
    if word in REQUIRED:
        pytest.fail(f"{message}, but BELIEVABLE_REQUIRE names {word}")
    pytest.skip(message, allow_module_level=True)


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def real_data() -> Path:
    """The folder of real predictions, or a skip."""
    folder = os.environ.get("BELIEVABLE_DATA")
    if not folder:
        pytest.skip("BELIEVABLE_DATA does not name a folder of real predictions")
    return Path(folder)


def need_gpu() -> None:
    """Skip where torch has no GPU. No word requires one: what a GPU computes is tested without one elsewhere."""
    if not need("torch").cuda.is_available():
        pytest.skip("torch has no GPU here")
