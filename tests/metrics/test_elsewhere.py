"""Who else computes a metric: every claim is one that a script verifies."""

from __future__ import annotations

import pytest

from believable import METRICS
from tests.oracle.verify_elsewhere import CHECKS

LIBRARIES = [
    *"""scikit-learn torchmetrics netcal uncertainty-calibration relplot calibre probmetrics calzone MAPIE\ntutorials R""".split(),
    "R: rms",
]


def test_every_claim_has_its_check():
    """What a row says of a library is run by `tests/oracle/verify_elsewhere.py`, and nothing else is."""
    said = {(row.name, library) for row in METRICS.values() for library, _ in row.elsewhere}
    assert said == CHECKS.keys()


@pytest.mark.parametrize("row", METRICS.values(), ids=lambda row: row.name)
def test_claims_are_short_and_about_known_libraries(row):
    """Libraries stand in one order, by one name; a claim is a phrase without a full stop."""
    libraries = [library for library, _ in row.elsewhere]
    assert libraries == sorted(libraries, key=LIBRARIES.index)
    assert all(said and not said.endswith(".") and len(said) < 220 for _, said in row.elsewhere)


def test_conventions_that_are_named_exist():
    """A claim that names a convention can be tried."""
    from typing import get_args

    from believable._types import Convention

    named = {
        part.split('"')[0]
        for row in METRICS.values()
        for _, said in row.elsewhere
        for part in said.split('convention="')[1:]
    }
    assert named == set(get_args(Convention))


@pytest.mark.parametrize("library", ["R", "R: rms"])
def test_what_is_recorded_of_r(library):
    """The checks that need no library installed hold."""
    for (_, name), check in CHECKS.items():
        if name == library:
            check()
