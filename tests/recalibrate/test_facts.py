"""Recalibrators by name: every one is found by its class and its alias, and near misses are told what is near."""

from __future__ import annotations

import pytest

from believable.errors import InputError
from believable.recalibrate import RECALIBRATORS, PlattScaling
from believable.recalibrate.facts import ALIASES, BY_SEGMENT, find_recalibrator


@pytest.mark.parametrize("cls", RECALIBRATORS.values(), ids=RECALIBRATORS)
def test_found_by_class_and_alias(cls):
    """Both names lead to the class."""
    assert find_recalibrator(cls.__name__) is find_recalibrator(cls.facts.alias) is cls


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("isotonc", "isotonic"),
        ("Platt", "platt"),
        ("PLATTSCALING", "PlattScaling"),
        ("betacalibration", "BetaCalibration"),
        ("TemperatureScalling", "TemperatureScaling"),
        ("temperature_scaling", "TemperatureScaling"),
        ("venn-abers", "VennAbers"),
        ("Bbq", "bbq"),
    ],
)
def test_the_nearest_is_named(name, near):
    """Slips of the pen and of the case are told the nearest name."""
    with pytest.raises(InputError, match=rf"^method {name!r} is not known; did you mean {near!r}\? Choose from: "):
        find_recalibrator(name)


def test_what_there_is_in_order_of_simplicity():
    """What is near nothing is told the aliases alone, simplest first, and last those that read columns."""
    with pytest.raises(InputError, match=r"^method 'xyzzy' is not known\. Choose from: ") as caught:
        find_recalibrator("xyzzy")
    *listed, pooled, boosted = str(caught.value).partition("Choose from: ")[2].split(", ")
    assert (pooled, boosted) == BY_SEGMENT
    assert sorted(listed) == sorted(ALIASES)
    simplicity = [find_recalibrator(alias).facts.simplicity for alias in listed]
    assert simplicity == sorted(simplicity)


def test_what_is_no_name():
    """A class is told how to become a recalibrator, anything else what is wanted."""
    with pytest.raises(InputError, match=r"^method must be a recalibrator, got a class: pass PlattScaling\(\)$"):
        find_recalibrator(PlattScaling)
    for thing in (int, None, ["platt"], 3):
        with pytest.raises(
            InputError, match=r"^method must be a recalibrator such as TemperatureScaling\(\), or the name"
        ):
            find_recalibrator(thing)
