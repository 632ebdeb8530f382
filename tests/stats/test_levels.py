"""Columns of segments: which level each value belongs to, and which columns have none."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from believable.errors import InputError
from believable.stats.levels import (
    OTHERS,
    Levels,
    is_identifier,
    learned,
    level_columns,
    named_columns,
    quarters,
    ranges,
    written,
)
from believable.stats.values import MISSING, Column, finite_numbers

RNG = np.random.default_rng(5)
NS = "datetime64[ns]"


def levels_of(values, name="column", **choices):
    """The level of each row, in words."""
    found = learned(name, values, **choices)
    return [found.levels.names[code] for code in found.codes.tolist()]


# --- values as levels -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["b", "a", "b"], ["b", "a", "b"]),
        (["", " ", "ü\n"], ["", " ", "ü\n"]),
        ([True, False, True], ["True", "False", "True"]),
        ([2, 10, 1], ["2", "10", "1"]),
        ([2.0, 10.0, 1.5], ["2", "10", "1.5"]),
        ([np.nan, 2.0, 0.0], [MISSING, "2", "0"]),
        (np.array([1, 1.0, None, np.nan, "1"], object), ["1", "1", MISSING, MISSING, "1"]),
        (np.array([None, "x", "missing"], object), [MISSING, "x", MISSING]),
        (np.array(["2024-01-31", "NaT"], "datetime64[D]"), ["2024-01-31", MISSING]),
        (np.array(["2024-01-31T06:00", "NaT"], NS), ["2024-01-31 06:00:00", MISSING]),
        (np.array([3_600_000_000_000, "NaT"], "timedelta64[ns]"), ["1:00:00", MISSING]),
        (np.array([datetime.date(2024, 1, 31), None]), ["2024-01-31", MISSING]),
        (np.array([Decimal("1.10"), Decimal("NaN")]), ["1.1", MISSING]),
        ([np.inf, -np.inf, 1.0], ["inf", "-inf", "1"]),
        ([10**400, 10**400 + 1], [str(10**400), str(10**400 + 1)]),
        ([2**60, 2**60 + 1], [str(2**60), str(2**60 + 1)]),
    ],
)
def test_values_in_words(values, words):
    """Each row has the level of its value; whole numbers are written alike, and whatever is missing is one level."""
    assert levels_of(values) == words


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["b", "a", "c", "a"], ("a", "b", "c")),
        ([10, 9, 100], ("9", "10", "100")),
        ([1.5, np.nan, -2.0], ("-2", "1.5", MISSING)),
        (np.array([None, "b", "a"], object), ("a", "b", MISSING)),
        ([True, False], ("False", "True")),
        (
            [2**60 + 1, 2**60, -(2**60), -(2**60) - 1, None],
            (*map(str, [-(2**60) - 1, -(2**60), 2**60, 2**60 + 1]), MISSING),
        ),
    ],
)
def test_levels_are_in_order(values, names):
    """Numbers are in the order of size, texts in that of the alphabet, and what is missing comes last."""
    assert learned("column", values).levels == Levels("column", names)


def frames():
    """The same texts, with one missing, as the columns of several packages."""
    texts = ["b", None, "a", "b", "a", "a"]
    pandas, polars, arrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    categories = pandas.Categorical(texts, categories=["z", "b", "a"])  # "z" does not occur
    chunks = arrow.chunked_array([texts[:2], texts[2:]])
    return texts, {
        "object": np.array(texts, object),
        "pandas object": pandas.Series(texts, dtype=object),
        "pandas string": pandas.Series(texts, dtype="string"),
        "pandas category": pandas.Series(categories),
        "polars string": polars.Series("site", texts),
        "polars categorical": polars.Series("site", texts).cast(polars.Categorical),
        "polars enum": polars.Series("site", texts).cast(polars.Enum(["z", "b", "a"])),
        "polars chunks": polars.concat([polars.Series("site", texts[:2]), polars.Series("site", texts[2:])]),
        "arrow string": arrow.array(texts),
        "arrow dictionary": arrow.array(texts).dictionary_encode(),
        "arrow chunks": chunks,
        "arrow chunks of dictionaries": chunks.dictionary_encode(),
        "arrow large string": arrow.array(texts, arrow.large_string()),
    }


def test_columns_of_frames():
    """Texts and categories of every package have the same levels; categories that do not occur are none."""
    texts, columns = frames()
    for name, column in columns.items():
        found = learned("site", column)
        assert found.levels == Levels("site", ("a", "b", MISSING)), name
        assert [found.levels.names[code] for code in found.codes] == [text or MISSING for text in texts], name


def test_categories_that_are_numbers_are_cut():
    """It is the values that count, not how they are stored."""
    pandas = pytest.importorskip("pandas")
    numbers = np.arange(100) % 20
    assert levels_of(pandas.Series(pandas.Categorical(numbers))) == levels_of(numbers)


@given(st.lists(st.sampled_from(["a", "b", "", "missing", "ü" * 9, "x\n"]), min_size=1, max_size=60))
def test_texts_of_fixed_width_and_objects_have_the_same_levels(texts):
    """How texts are stored does not matter."""
    fixed, objects = (learned("column", np.array(texts, kind)) for kind in (str, object))
    assert fixed.levels == objects.levels
    assert fixed.codes.tolist() == objects.codes.tolist()
    assert levels_of(texts) == texts


# --- ranges -----------------------------------------------------------------------------------------------------------


def literal_cuts(numbers, parts):
    """The smallest numbers at or below which there is at least each share of the rows; not the largest of all."""
    ordered, cuts = sorted(numbers), []
    for k in range(1, parts):
        cut = next(x for i, x in enumerate(ordered, 1) if i * parts >= k * len(ordered))
        if cut not in cuts and cut < ordered[-1]:
            cuts.append(cut)
    return cuts or [max(x for x in ordered if x < ordered[-1])]


@given(
    st.lists(st.sampled_from([-3.5, -1.0, 0.0, 0.25, 2.0, 7.0, 1e9]), min_size=1, max_size=40).filter(
        lambda numbers: len(set(numbers)) > 1
    ),
    st.integers(2, 6),
)
def test_cuts_are_quantiles(numbers, parts):
    """Numbers are cut into ranges of equally many rows, as far as ties allow, whether or not they are counted first."""
    array = np.array(numbers)
    cuts = quarters(array, None, parts).tolist()
    assert cuts == literal_cuts(numbers, parts)
    distinct, rows = np.unique(array, return_counts=True)
    assert quarters(distinct, rows, parts).tolist() == cuts


def test_a_quantity_is_cut():
    """More than twelve numbers become four ranges, each with its upper end, and missing ones a level of their own."""
    age = RNG.integers(20, 80, 500).astype(float)
    age[::7] = np.nan
    cuts = literal_cuts(age[~np.isnan(age)].tolist(), 4)
    found = learned("age", age)
    low, middle, high = (f"{cut:.0f}" for cut in cuts)
    assert found.levels.names == (f"up to {low}", f"{low} to {middle}", f"{middle} to {high}", f"above {high}", MISSING)
    assert found.levels.cuts == tuple(cuts)
    for value, code in zip(age.tolist(), found.codes.tolist(), strict=True):
        assert code == (4 if math.isnan(value) else sum(value > cut for cut in cuts))
    objects = np.array([None if math.isnan(value) else value for value in age.tolist()], object)
    other = learned("age", objects)
    assert other.levels == found.levels
    assert other.codes.tolist() == found.codes.tolist()


@pytest.mark.parametrize("kind", ["int8", "uint16", "int64", "float32", "float64"])
def test_the_type_of_numbers_does_not_matter(kind):
    """The same numbers have the same ranges, whatever their type."""
    numbers = np.arange(100)
    assert learned("age", numbers.astype(kind)).levels == learned("age", numbers).levels


def test_numbers_without_ranges():
    """Up to twelve numbers are levels, and so are those of identifiers and infinite ones."""
    assert len(learned("month", np.arange(24) % 12 + 1).levels.names) == 12
    assert learned("month", np.arange(26) % 13).levels.cuts == (3, 6, 9)
    assert learned("patient_id", np.arange(26) % 13).levels.cuts is None
    assert finite_numbers(np.array([1.0, np.inf]), "x") is None
    assert finite_numbers(np.array(["1"]), "x") is None


def test_ties_make_fewer_ranges():
    """Where most rows have one number, there are fewer ranges, and no level is empty."""
    heaped = np.concatenate([np.zeros(90), np.arange(1, 21)])
    assert learned("visits", heaped).levels.names == ("up to 0", "above 0")
    assert learned("visits", -heaped).levels.names == ("up to -1", "above -1")
    assert learned("one", np.full(30, 7.0)).levels == Levels("one", ("7",))


def test_signs_of_zero_are_not_told_apart():
    """A cut at -0 is one at 0."""
    assert learned("x", np.array([-0.0] * 20 + list(range(1, 20)))).levels.names[0] == "up to 0"


@pytest.mark.parametrize(
    ("cuts", "words"),
    [
        ([1.0, 20.0], ["1", "20"]),
        ([0.123456, 2.0], ["0.1235", "2"]),
        ([0.1234561, 0.1234562], ["0.1234561", "0.1234562"]),
        ([0.1, np.nextafter(0.1, 1)], ["0.10000000000000001", "0.10000000000000002"]),
        ([1e20, 3e20], ["100000000000000000000", "300000000000000000000"]),
    ],
)
def test_cuts_in_words(cuts, words):
    """Cuts are written with as few digits as distinguish them."""
    first, second = words
    assert written(np.array(cuts)) == words
    assert ranges(np.array(cuts)) == [f"up to {first}", f"{first} to {second}", f"above {second}"]


def test_interpolated_cuts():
    """Cuts may lie between values, as NumPy's quantiles do."""
    numbers = np.arange(50) ** 2.0
    found = learned("x", numbers, n_ranges=3, interpolated=True)
    assert found.levels.cuts == tuple(np.quantile(numbers, [1 / 3, 2 / 3]))


# --- many values ------------------------------------------------------------------------------------------------------


def test_the_rarest_values_are_combined():
    """Of more values than levels, those with the most rows are levels, the first by name among equals."""
    texts = ["e"] * 5 + ["d"] * 4 + ["c", "b", "a"] * 2 + ["f"]
    found = learned("site", [*texts, None], max_levels=4)
    assert found.levels == Levels("site", ("a", "d", "e", MISSING, OTHERS), combines=True)
    expected = [text if text in "ade" else OTHERS for text in texts] + [MISSING]
    assert [found.levels.names[code] for code in found.codes] == expected


def test_a_value_called_other_values():
    """It is counted with those that are combined, and is no level twice."""
    texts = [OTHERS] * 9 + ["a"] * 3 + ["b"] * 2 + ["c"]
    found = learned("site", texts, max_levels=3)
    assert found.levels.names == ("a", "b", OTHERS)
    assert np.bincount(found.codes).tolist() == [3, 2, 10]


# --- the same rule for other values -----------------------------------------------------------------------------------


def test_new_values_extend_the_levels():
    """A rule names the level of values that it has not seen: a new level, the others, or a range."""
    plain, cut, combined = (
        learned("x", values, max_levels=3).levels
        for values in (["a", "b"], np.arange(100), ["a"] * 3 + ["b"] * 2 + ["c", "d"])
    )
    more = plain.extended(["b", "z", None])
    assert more.levels.names == ("a", "b", "z", MISSING)
    assert more.codes.tolist() == [1, 2, 3]
    assert plain.codes(["b", "z"]).tolist() == [1, -1]
    assert combined.extended(["z", "b", None]).levels.names == ("a", "b", OTHERS, MISSING)
    assert combined.codes(["z", "b"]).tolist() == [2, 1]
    assert cut.codes([-5, 24, 25, 1e300]).tolist() == [0, 0, 1, 3]
    assert cut.extended([np.nan, 3.0]).levels.names == (*cut.names, MISSING)
    assert cut.extended(np.array([None, 3], object)).codes.tolist() == [4, 0]
    assert cut.extended(np.array([None, None], object)).codes.tolist() == [4, 4]
    assert plain.same_rule(more.levels)
    assert not plain.same_rule(cut)
    assert not combined.same_rule(replaced(combined, names=("a", OTHERS)))


def replaced(levels, **changes):
    return Levels(**{name: getattr(levels, name) for name in ("column", "names", "cuts", "combines")} | changes)


def test_texts_in_a_column_of_ranges_are_refused():
    """A column that was numbers must not become something else."""
    cut = learned("age", np.arange(100)).levels
    with pytest.raises(InputError, match="column 'age' was cut into ranges of numbers, but now holds 'old'"):
        cut.codes(["old"])


# --- columns without segments -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([None] * 40, "is missing in every row: it has no segments, and was left out"),
        (np.full(40, np.nan), "is missing in every row: it has no segments, and was left out"),
        (["a"] * 40, "is 'a' in every row: it has no segments, and was left out"),
        (np.full(40, 3.0), "is '3' in every row: it has no segments, and was left out"),
        ([f"row {i}" for i in range(40)], "has 40 values in 40 rows: it identifies rows, so it was left out"),
        ([f"row {i // 2 * 2}" for i in range(42)][:40], None),
        (
            np.arange(40) % 2,
            "tells the outcome: every level has only events or only non-events. It was left out; a column that is "
            "known only after the outcome makes no segment",
        ),
        (np.where(np.arange(40) % 2, ["x", "y"] * 20, ["v", "w"] * 20), "tells the outcome"),
        (np.arange(40) % 4 // 2, None),
    ],
)
def test_columns_without_segments(values, sentence):
    """Each is left out, with a sentence that says why."""
    kept, notes = level_columns({"what": values}, 40, np.arange(40) % 2)
    assert (len(kept), len(notes)) == ((1, 0) if sentence is None else (0, 1))
    assert sentence is None or notes[0].startswith(f"column what {sentence}")


@pytest.mark.parametrize("outcomes", [np.zeros(40), np.ones(40), None])
def test_no_column_tells_an_outcome_that_never_varies(outcomes):
    """Where all outcomes are the same, every level has the same outcome, and that means nothing."""
    assert len(level_columns({"what": np.arange(40) % 2}, 40, outcomes).kept) == 1


def test_a_few_rows_do_not_leak():
    """With fewer than four rows per level, levels with a single outcome come about by chance."""
    column, outcomes = np.arange(6) % 2, np.arange(6) % 2
    assert len(level_columns({"what": column}, 6, outcomes).kept) == 1


def test_ranges_may_be_nearly_as_many_as_rows():
    """A quantity with a number of its own in each row is cut, not left out."""
    kept, notes = level_columns({"bmi": RNG.normal(size=40)}, 40)
    assert len(kept) == 1
    assert notes[0].startswith("column bmi was cut into ranges at ")


def test_sentences_about_changes():
    """Cuts are named, and so is how many rows were combined."""
    many = np.repeat([f"site {i}" for i in range(10)], np.arange(10) + 1)
    notes = level_columns({"age": np.arange(55), "site": many}, 55, max_levels=4).notes
    assert notes == (
        "column age was cut into ranges at 13, 27, 41",
        "column site has many values: the 3 with the most rows are kept, and the others (28 rows) are combined",
    )


@pytest.mark.parametrize(
    ("by", "reason"),
    [
        (None, "by is missing: pass the columns of segments, as a data frame or a mapping of names"),
        ({"x": ["a"] * 3}, "by 'x' has 3 entries, but the predictions have 4 rows$"),
        ({"x": np.zeros((4, 2))}, r"by 'x' must be 1-D, one entry per row, got shape \(4, 2\)"),
        ({"x": np.array([{}, {}, {}, {}])}, "by 'x' must hold one number, text or date per row"),
        ("site", r"^by is the text 'site': pass the column itself, such as frame\['site'\]$"),
        (np.zeros((4, 2)), r"^by must be a data frame, a mapping .* or one column, got a ndarray of shape \(4, 2\)$"),
        ([np.zeros(4), np.ones(4)], r"^by must be a data frame, .* or one column, got a list of shape \(2, 4\)$"),
        (5, "^by must be a data frame, a mapping of names to columns, or one column, got int$"),
    ],
)
def test_refusals(by, reason):
    """What is no column of these rows is refused."""
    with pytest.raises(InputError, match=reason):
        level_columns(by, 4)


def test_rows_without_weight_are_mentioned_where_there_are_weights():
    """Elsewhere, a wrong length has another cause."""
    with pytest.raises(InputError, match=r"but the predictions have 4 rows \(rows of weight 0 do not count\)$"):
        level_columns({"x": ["a"] * 3}, 4, weighted=True)


def test_columns_by_name():
    """Frames and mappings have names, a single column that of itself."""
    assert list(named_columns({"a": [1], 2: [2]})) == ["a", "2"]
    assert list(named_columns([1, 2])) == ["group"]
    pandas, polars, arrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    data = {"a": [1, 2], "b": ["x", "y"]}
    for frame in (pandas.DataFrame(data), polars.DataFrame(data), arrow.table(data)):
        assert {name: list(map(str, np.asarray(column))) for name, column in named_columns(frame).items()} == {
            "a": ["1", "2"],
            "b": ["x", "y"],
        }
    assert list(named_columns(pandas.Series([1], name="site"))) == ["site"]
    for twice in ({1: [1], "1": [2]}, pandas.DataFrame([[1, 2]], columns=["1", "1"])):
        with pytest.raises(InputError, match="by has two columns named '1': rename one of them"):
            named_columns(twice)


@pytest.mark.parametrize("name", ["id", "ID", "patient_id", "Patient ID", "query", "user-id", "foo_id", " qid "])
def test_names_of_identifiers(name):
    """Numbers in such columns are names."""
    assert is_identifier(name)
    assert not is_identifier(f"{name} of birth")


def test_places_of_values():
    """A column is its distinct values and the place of each row's value among them."""
    values, codes = Column.of(["x", None, "y", "x"], "site")
    assert [values.texts[code] for code in codes] == ["x", MISSING, "y", "x"]
    assert values.there.tolist() == [text != MISSING for text in values.texts]
