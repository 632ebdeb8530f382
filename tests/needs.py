"""Optional parts of the suite: skipped with a reason where something is missing, failed where it is required.

`BELIEVABLE_REQUIRE=torch,spark` turns the skip into a failure; `.ci/run` requires every word that is used here.
"""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

REQUIRED = frozenset(filter(None, os.environ.get("BELIEVABLE_REQUIRE", "").split(",")))
PACKAGES = {"torch": "torch", "spark": "pyspark", "dask": "dask", "duckdb": "duckdb", "ibis": "ibis"}
PROGRAMS = {"node": "node", "browser": "chromium"}
DRIVERS = {"browser": "playwright"}  # the package that a program is no use without


def need(word: str) -> Any:
    """The package or program behind a word, or a skip (a failure, where the word is required)."""
    found = shutil.which(PROGRAMS[word]) if word in PROGRAMS else _package(PACKAGES[word])
    missing = PROGRAMS.get(word) or PACKAGES[word]
    if found is not None and word in DRIVERS and _package(DRIVERS[word]) is None:
        found, missing = None, DRIVERS[word]
    if found is not None:
        return found
    message = f"{missing} is not installed"
    if word in REQUIRED:
        pytest.fail(f"{message}, but BELIEVABLE_REQUIRE names {word}")
    pytest.skip(message)


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
