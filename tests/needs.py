"""Optional parts of the suite: skipped with a reason where something is missing, failed where it is required.

`BELIEVABLE_REQUIRE=torch,spark` turns the skip into a failure; `.ci/run` requires every word that is used here.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import pytest

REQUIRED = frozenset(filter(None, os.environ.get("BELIEVABLE_REQUIRE", "").split(",")))
PACKAGES = {"torch": "torch", "spark": "pyspark", "dask": "dask", "duckdb": "duckdb", "ibis": "ibis"}


def need(word: str) -> Any:
    """The package behind a word, or a skip (a failure, where the word is required)."""
    try:
        return importlib.import_module(PACKAGES[word])
    except ImportError:
        message = f"{PACKAGES[word]} is not installed"
        if word in REQUIRED:
            pytest.fail(f"{message}, but BELIEVABLE_REQUIRE names {word}")
        pytest.skip(message)


def real_data() -> Path:
    """The folder of real predictions, or a skip."""
    folder = os.environ.get("BELIEVABLE_DATA")
    if not folder:
        pytest.skip("BELIEVABLE_DATA does not name a folder of real predictions")
    return Path(folder)
