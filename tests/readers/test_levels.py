"""Columns of subgroups: few stay as they are, quantities become ranges, too many texts are cut off."""

from __future__ import annotations

import numpy as np
import pytest

from believable.errors import InputError
from believable.readers.levels import as_subgroups

RNG = np.random.default_rng(0)


def one(name, values):
    columns, notes = as_subgroups({name: np.asarray(values)})
    return columns[name], notes


@pytest.mark.parametrize(
    "values",
    [["a", "b"] * 10, list(range(12)) * 3, [True, False] * 20, [1.5, 2.5] * 20, [f"site {k % 50}" for k in range(200)]],
)
def test_few_values_stay(values):
    """Up to twelve numbers and up to fifty texts are subgroups as they are."""
    column, notes = one("site", values)
    assert column.tolist() == list(values)
    assert notes == []


def test_numbers_become_ranges():
    """Four ranges with as many rows each; every row lies in the range it is said to."""
    age = RNG.integers(18, 90, 1000)
    column, (note,) = one("age", age)
    first, second, third = (int(word) for word in note.rpartition(" at ")[2].partition(" (")[0].split(", "))
    bounds = {
        f"up to {first}": (-np.inf, first),
        f"{first} to {second}": (first, second),
        f"{second} to {third}": (second, third),
        f"above {third}": (third, np.inf),
    }
    assert set(column) == set(bounds)
    for name, (low, high) in bounds.items():
        inside = age[column == name]
        assert ((inside > low) & (inside <= high)).all()
        assert 200 < len(inside) < 300
    assert note.startswith("column age has 72 different numbers: it was cut into quarters at")


def test_ties_make_fewer_ranges():
    """Equal numbers are never split, wherever most of them lie."""
    low, _ = one("visits", np.r_[np.zeros(70), np.arange(1, 31)])
    assert sorted(set(low)) == ["0 to 5", "above 5", "up to 0"]
    high, (note,) = one("visits", np.r_[np.full(90, 99), np.arange(20)])
    assert sorted(set(high)) == ["above 19", "up to 19"]
    assert "cut into ranges" in note
    assert (high == "above 19").sum() == 90


def test_missing_numbers_stay_missing():
    """A number that is not there is in no range; text that spells numbers is numbers."""
    column, _ = one("age", np.array([None, *map(str, range(20, 60))], object))
    assert column[0] is None
    assert column[1] == "up to 29"


def test_small_numbers_are_told_apart():
    """Four digits, and more where four do not tell the ends of a range apart."""
    column, _ = one("share", np.linspace(0.1, 0.9, 101))
    assert "up to 0.3" in set(column)
    column, _ = one("near", 1 + np.arange(101) * 1e-7)
    assert len(set(column)) == 4


def test_too_many_texts_are_cut_off():
    """The fifty with the most rows stay, and the rest is one subgroup that says how many it holds."""
    values = [f"c{k}" for k in range(80) for _ in range(100 - k)]
    column, (note,) = one("city", np.array(values, object))
    assert len(set(column)) == 51
    rest = sum(100 - k for k in range(50, 80))
    assert (column == "the other 30 values").sum() == rest
    assert (
        note
        == f"column city has 80 values: the 50 with the most rows are shown, the other 30 ({rest:,} rows) are combined"
    )


def test_names_of_rows_are_refused():
    """A text that hardly ever repeats is no subgroup."""
    with pytest.raises(
        InputError, match="column 'name' has 100 values in 100 rows: it identifies rows, so it has no subgroups"
    ):
        one("name", np.array([f"n{k}" for k in range(100)], object))


def test_numbers_of_patients_are_names():
    """They are not cut into ranges."""
    column, (note,) = one("patient_id", np.repeat(np.arange(60), 3))
    assert "the 50 with the most rows are shown" in note
    assert len(set(column)) == 51
    assert (column == "the other 10 values").sum() == 30
    assert one("shop_id", np.repeat(np.arange(40), 3))[1] == []
