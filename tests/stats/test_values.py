"""The name of a level: it depends on the value alone, not on the other rows, nor on what holds them."""

from __future__ import annotations

import datetime
from collections import deque
from decimal import Decimal

import numpy as np
import pytest

from believable.errors import InputError
from believable.inference.clusters import numbered_clusters, rows_that_count
from believable.predictions import Predictions
from believable.readers import cells
from believable.stats.levels import learned
from believable.stats.values import MISSING

pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))

TOKYO = datetime.timezone(datetime.timedelta(hours=9))
VALUES = {
    "texts": (["a", "b"], ["a", "b"]),
    "truths": ([False, True], ["False", "True"]),
    "small": ([1, 2], ["1", "2"]),
    "long": ([2**60, 2**60 + 1], [str(2**60), str(2**60 + 1)]),
    "at the limit": ([2**53, 2**53 + 1], [str(2**53), str(2**53 + 1)]),
    "unsigned": ([2**63, 2**63 + 1], [str(2**63), str(2**63 + 1)]),
    "floats": ([0.5, 3.0], ["0.5", "3"]),
    "decimals": ([Decimal("1.10"), Decimal("2.00")], ["1.1", "2"]),
    "days": ([datetime.date(2024, 1, 31), datetime.date(2024, 2, 1)], ["2024-01-31", "2024-02-01"]),
    "times": (
        [datetime.datetime(2024, 1, 31, 6), datetime.datetime(2024, 1, 31, 6, 0, 0, 5)],
        ["2024-01-31 06:00:00", "2024-01-31 06:00:00.000005"],
    ),
    "zones": (
        [datetime.datetime(2024, 1, 31, 6, tzinfo=TOKYO), datetime.datetime(2024, 1, 31, 7, tzinfo=TOKYO)],
        ["2024-01-30 21:00:00", "2024-01-30 22:00:00"],
    ),
    "durations": ([datetime.timedelta(seconds=5), datetime.timedelta(days=1)], ["0:00:05", "1 day, 0:00:00"]),
    "hours": ([datetime.time(1, 30), datetime.time(1, 30, 0, 500_000)], ["01:30:00", "01:30:00.500000"]),
}


def masked(values):
    """An array of NumPy with a mask."""
    there = [value for value in values if value is not None]
    filled = [there[0] if value is None else value for value in values]
    return np.ma.masked_array(np.array(filled), [value is None for value in values])


def unsigned(values):
    """Whether integers are too large for 64 bits with a sign."""
    return isinstance(values[0], int) and values[0] >= 2**63


def arrow(values):
    """An array of arrow, which must be told about large integers."""
    return pa.array(values, pa.uint64() if unsigned(values) else None)


def nullable(values):
    """A column of pandas with a type of its own for missing values."""
    if type(values[0]) is int:
        return pd.Series(values, dtype="UInt64" if unsigned(values) else "Int64")
    return pd.Series(values, dtype=object).convert_dtypes()


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "deque": deque,
    "objects": lambda values: np.array(values, object),
    "masked": masked,
    "pandas": pd.Series,
    "pandas objects": lambda values: pd.Series(values, dtype=object),
    "pandas nullable": nullable,
    "pandas with arrow": lambda values: pd.Series(arrow(values), dtype=pd.ArrowDtype(arrow(values).type)),
    "pandas categories": lambda values: pd.Series(pd.Categorical(pd.Series(values, dtype=object))),
    "polars": pl.Series,
    "the command line": lambda values: cells.array_of_names(cells.names(pl.Series(values))),
    "arrow": arrow,
    "arrow chunks": lambda values: pa.chunked_array([arrow(values)[:3], arrow(values)[3:]]),
    "arrow dictionary": lambda values: arrow(values).dictionary_encode(),
}


def names_of(column):
    """The level of each row, in words."""
    found = learned("column", column)
    return [found.levels.names[code] for code in found.codes.tolist()]


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", VALUES)
def test_a_value_has_one_name(name, container):
    """In every container, beside a missing value and without one; so that a map fitted to one is right for another."""
    (one, other), (word, other_word) = VALUES[name]
    made = CONTAINERS[container]
    assert names_of(made([one, other, one, other])) == [word, other_word, word, other_word]
    if container == "pandas" and isinstance(one, int) and one >= 2**53:
        return  # beside a missing value, pandas itself turns them into floating-point numbers
    assert names_of(made([one, None, other, one])) == [word, MISSING, other_word, word]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["a", "b", float("nan")], ["a", "b", MISSING]),
        (["a", 1.0, 2], ["a", "1", "2"]),
        (["a\0", "a"], ["a\0", "a"]),
        ([2**60 + 1, 2**60 + 2, 1.5], [str(2**60 + 1), str(2**60 + 2), "1.5"]),
        ([2**53, 2**53 + 1, None], [str(2**53), str(2**53 + 1), MISSING]),
        ([2**63, -1], [str(2**63), "-1"]),
        ([1, 2.5, None], ["1", "2.5", MISSING]),
        ([True, 1, "1", 1.0], ["True", "1", "1", "1"]),
        ([1, True, None], ["1", "True", MISSING]),
        ([False, 0.0, float("nan")], ["False", "0", MISSING]),
        ([np.int8(1), np.True_, np.str_("x"), np.float32(2)], ["1", "True", "x", "2"]),
        ([np.datetime64("2024-01-31"), np.datetime64("2024-01-31T06", "ns")], ["2024-01-31", "2024-01-31 06:00:00"]),
        ([pd.Timestamp("2024-01-31T06", tz=TOKYO), pd.NaT, pd.NA], ["2024-01-30 21:00:00", MISSING, MISSING]),
        ([pd.Timedelta(5, "s"), datetime.timedelta(seconds=5)], ["0:00:05", "0:00:05"]),
    ],
)
def test_values_of_several_types(values, words):
    """Neither the types of other values nor the order of rows turns a value into another."""
    assert names_of(values) == words
    assert names_of(values[::-1]) == words[::-1]
    objects = np.fromiter(values, object, len(values))
    assert names_of(objects) == names_of(pd.Series(objects, dtype=object)) == words


def test_bands_of_pandas():
    """Bands are named as they are, also where a value is missing, beside which pandas makes their ends floats."""
    bands = pd.cut(pd.Series([5, 30, None, 5]), [0, 18, 60])
    assert names_of(bands) == ["(0, 18]", "(18, 60]", MISSING, "(0, 18]"]
    assert names_of(bands.array) == names_of(bands)
    assert names_of(bands[[0, 1, 3]]) == ["(0, 18]", "(18, 60]", "(0, 18]"]
    assert names_of(bands.to_numpy(object)[:2]) == ["(0.0, 18.0]", "(18.0, 60.0]"]  # which is what it holds


def test_periods_of_pandas():
    """In pandas, they are named; elsewhere, they are numbers, so that they are refused."""
    periods = pd.Series(pd.period_range("2024-01", periods=2, freq="M"))
    assert names_of(periods) == ["2024-01", "2024-02"]
    table = pa.Table.from_pandas(pd.DataFrame({"month": periods}))
    with pytest.raises(InputError, match=r"by 'column' holds values of type .*period.*: cast it to text first"):
        names_of(table["month"])


@pytest.mark.parametrize(
    ("clusters", "numbers"),
    [
        ([2**60 + 1, 2**60 + 2, 1.5], [1, 2, 0]),
        (["a\0", "a", "b"], [1, 0, 2]),
        (pl.Series([2**60 + 2, 2**60 + 1, 2**60 + 2]), [1, 0, 1]),
        (["b", "a", "b"], [1, 0, 1]),
        ([2, 10, 2], [0, 1, 0]),
    ],
)
def test_clusters(clusters, numbers):
    """Clusters are as distinct as they were given."""
    source = Predictions([0.1, 0.5, 0.8], [0, 1, 1])
    found = rows_that_count(clusters, "clusters", source, source, None)
    assert numbered_clusters(found).tolist() == numbers
