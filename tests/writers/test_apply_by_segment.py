"""`apply_to_file` with a map by segment: a value has the same level in every format, and no row is dropped."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from believable.errors import InputError
from believable.readers import load
from believable.recalibrate import GroupedRecalibrator, PlattScaling
from believable.stats.levels import Levels
from believable.writers.apply import apply_to_file
from believable.writers.apply_run import apply_to_run
from believable.writers.segment_columns import level_of

N = 400
FORMATS = ("csv", "tsv", "semicolons.csv", "jsonl", "parquet", "npz")
COLUMNS = {  # of which every format holds the same values, each in its own way
    "text": ["north", "south", 'é, "x"', None],
    "zeros": ["01", "1", "10", "010"],
    "whole": [1, 2, 3, 10],
    "gaps": [1, 2, None, 10],
    "decimal": [0.5, 1.0, 2.25, -1e-7],
    "flag": [True, False, True, True],
    "age": None,  # a quantity
    "lab": None,  # a quantity that is missing in some rows
}


def rows(n=N, seed=0):
    """Scores whose miscalibration differs between the levels of every column."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    columns, shift = {}, np.zeros(n)
    for name, values in COLUMNS.items():
        if values is None:
            numbers = np.round(rng.normal(50, 20, n), 1)
            columns[name] = [None if name == "lab" and i % 9 == 0 else v for i, v in enumerate(numbers.tolist())]
            shift += numbers > 60
        else:
            k = rng.integers(0, len(values), n)
            columns[name] = [values[i] for i in k]
            shift += (k - 1.5) / 2
    p = 1 / (1 + np.exp(-z))
    y = (rng.random(n) < 1 / (1 + np.exp(-z - shift))).astype(int)
    return polars.DataFrame({"p": p, "y": y, **columns}, strict=False)


def save(frame, path):
    """Write a table as the format is usually written."""
    if path.suffix == ".jsonl":
        frame.write_ndjson(path)
    elif path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".npz":
        text = [name for name in frame.columns if frame[name].dtype == polars.String]
        frame = frame.with_columns(polars.col(text).fill_null("")) if text else frame
        np.savez(
            path, **{one.name: one.to_numpy().astype(str) if one.name in text else one.to_numpy() for one in frame}
        )
    elif path.name.endswith("semicolons.csv"):
        floats = [name for name in frame.columns if frame[name].dtype.is_float()]
        frame.with_columns(polars.col(floats).cast(polars.String).str.replace(".", ",", literal=True)).write_csv(
            path, separator=";"
        )
    else:
        frame.write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
    return path


def calibrated(path):
    """Return the column that was added."""
    if path.suffix == ".npz":
        return np.load(path)["p_calibrated"].tolist()
    if path.suffix == ".parquet":
        return polars.read_parquet(path)["p_calibrated"].to_list()
    if path.suffix == ".jsonl":
        return [json.loads(line)["p_calibrated"] for line in path.read_text().splitlines()]
    separator = "\t" if path.suffix == ".tsv" else ";" if "semicolons" in path.name else ","
    return polars.read_csv(path, separator=separator)["p_calibrated"].to_list()


def fitted(frame, by, method="pooled"):
    columns = {name: frame[name].to_list() for name in by}
    return GroupedRecalibrator(method=method).fit(frame["p"].to_numpy(), frame["y"].to_numpy(), by=objects(columns))


def objects(columns):
    """Return columns of Python values."""
    made = {}
    for name, values in columns.items():
        made[name] = np.empty(len(values), object)
        made[name][:] = values
    return made


@pytest.fixture(scope="module")
def old():
    return rows()


@pytest.fixture(scope="module")
def new():
    return rows(seed=1)


@pytest.fixture(scope="module")
def of_all(old):
    return fitted(old, COLUMNS)


@pytest.fixture(scope="module")
def boosted():
    return fitted(rows(3000), ["text", "gaps", "age"], "boosted")


@pytest.mark.parametrize("kind", FORMATS)
def test_a_map_is_the_same_from_every_format(tmp_path, old, of_all, kind):
    """Levels are spelt alike, whether a file says 1, 1.0, true, 0,5 or nothing."""
    loaded = load(save(old, tmp_path / f"old.{kind}"), by=list(COLUMNS))
    again = GroupedRecalibrator().fit(loaded.predictions.scores, loaded.predictions.labels, by=loaded.by)
    assert json.loads(again.to_json()) == json.loads(of_all.to_json())
    assert {one.column: one.level for one in again.levels_ if one.level in ("010", "True", "0.5")} == {
        "zeros": "010",
        "flag": "True",
        "decimal": "0.5",
    }


@pytest.mark.parametrize("method", ["pooled", "boosted"])
@pytest.mark.parametrize("kind", FORMATS)
def test_numbers_are_those_of_transform(tmp_path, new, of_all, boosted, kind, method):
    """To the last digit, for every format of the new rows."""
    model = of_all if method == "pooled" else boosted
    path = save(new, tmp_path / f"new.{kind}")
    done = apply_to_file(model, path, tmp_path / f"wider.{kind}")
    expected = model.transform(new["p"].to_numpy(), by=objects({name: new[name].to_list() for name in model.by_}))
    assert calibrated(tmp_path / f"wider.{kind}") == expected.tolist()
    assert (done.n_rows, done.by) == (N, model.by_)
    assert len(np.unique(expected - model.common_.transform(new["p"].to_numpy()))) > 100


@pytest.mark.parametrize("batch_rows", [1, 7, N - 1, 10 * N])
@pytest.mark.parametrize("kind", ["csv", "semicolons.csv", "jsonl"])
def test_batches_do_not_matter(tmp_path, new, of_all, kind, batch_rows):
    """Cells are read one by one: neither a value nor a note depends on the others of the batch."""
    path = save(new.with_columns(whole=polars.Series([1, 7] * (N // 2))), tmp_path / f"new.{kind}")
    whole, parts = tmp_path / f"whole.{kind}", tmp_path / f"parts.{kind}"
    done = apply_to_file(of_all, path, whole)
    assert apply_to_file(of_all, path, parts, batch_rows=batch_rows) == done
    assert parts.read_bytes() == whole.read_bytes()
    assert (
        f"{N // 2} rows have values of whole that the calibration map was not fitted to, such as '7': they get no "
        "correction by whole."
    ) in done.notes


@pytest.mark.parametrize("kind", FORMATS)
def test_unseen_and_missing_values_have_the_common_map(tmp_path, old, kind):
    """No row is dropped, and notes say how many rows there are."""
    model = fitted(old, ["text", "age"])
    table = polars.DataFrame(
        {"p": [0.2, 0.4, 0.6, 0.8], "text": ["east", None, "west", "west"], "age": [None, None, 33.0, None]}
    )
    done = apply_to_file(model, save(table, tmp_path / f"new.{kind}"), tmp_path / f"wider.{kind}")
    made = calibrated(tmp_path / f"wider.{kind}")
    common = model.common_.transform(table["p"].to_numpy()).tolist()
    assert (made[:2], made[3]) == (common[:2], common[3])
    assert made[2] != common[2]
    assert done.notes == (
        "3 rows have values of text that the calibration map was not fitted to, such as 'east': they get no correction "
        "by text.",
        "1 row has no value of text: it gets no correction by text.",
        "3 rows have no value of age: they get no correction by age.",
    )


def test_a_level_that_is_missing_is_no_unseen_one(tmp_path, old, boosted):
    """With boosting, missing values have corrections of their own: there is nothing to note."""
    assert apply_to_file(boosted, save(old, tmp_path / "new.csv"), tmp_path / "wider.csv").notes == ()


def test_values_beyond_the_most_frequent_are_one_level(tmp_path, old):
    """So no value is unseen, and one that is new has the correction of the other values."""
    model = GroupedRecalibrator(max_levels=2).fit(old["p"], old["y"], by={"text": old["text"].fill_null("rare")})
    table = save(polars.DataFrame({"p": [0.3, 0.3], "text": ["east", "rare"]}), tmp_path / "new.csv")
    assert apply_to_file(model, table, tmp_path / "wider.csv").notes == ()
    made = calibrated(tmp_path / "wider.csv")
    assert made == model.transform([0.3, 0.3], by={"text": ["east", "rare"]}).tolist()


def test_keys_that_the_first_object_lacks(tmp_path, old):
    """JSON often leaves out what is missing."""
    model = fitted(old, ["text", "age"])
    lines = ['{"p": 0.3}', '{"age": 70.5, "p": 0.3}', '{"p": 0.3, "text": "north"}']
    (tmp_path / "new.jsonl").write_text("\n".join(lines))
    apply_to_file(model, tmp_path / "new.jsonl", tmp_path / "wider.jsonl", batch_rows=1)
    by = {"text": [None, None, "north"], "age": [None, 70.5, None]}
    assert calibrated(tmp_path / "wider.jsonl") == model.transform([0.3] * 3, by=objects(by)).tolist()


def test_truth_values_beside_text(tmp_path, old):
    """In a JSON column of several types every value is text, and it is the same when the map is applied."""
    smoker = [True, False, "unknown", 1] * (N // 4)
    lines = [json.dumps({"p": p, "y": y, "smoker": s}) for p, y, s in zip(old["p"], old["y"], smoker, strict=True)]
    (tmp_path / "old.jsonl").write_text("\n".join(lines))
    loaded = load(tmp_path / "old.jsonl", by="smoker")
    model = GroupedRecalibrator().fit(loaded.predictions.scores, loaded.predictions.labels, by=loaded.by)
    assert {one.level for one in model.levels_} == {"true", "false", "unknown", "1"}
    assert apply_to_file(model, tmp_path / "old.jsonl", tmp_path / "wider.jsonl").notes == ()
    assert calibrated(tmp_path / "wider.jsonl") == model.transform(old["p"], by=loaded.by).tolist()


def test_rows_without_a_score_keep_their_neighbours_levels(tmp_path, old):
    """The columns of segments are cut to the same rows as the scores."""
    model = fitted(old, ["text", "age"])
    table = old.with_columns(p=polars.when(polars.int_range(N) % 3 == 0).then(None).otherwise("p"))
    for kind in ("csv", "parquet", "jsonl"):
        path = save(table, tmp_path / f"new.{kind}")
        apply_to_file(model, path, tmp_path / f"wider.{kind}", missing="keep")
        made = calibrated(tmp_path / f"wider.{kind}")
        there = table.filter(polars.col("p").is_not_null())
        by = objects({name: there[name].to_list() for name in model.by_})
        assert made[::3] == [None] * len(made[::3])
        assert [v for v in made if v is not None] == model.transform(there["p"].to_numpy(), by=by).tolist()


def test_classes(tmp_path, old):
    """A map of several classes finds its columns of scores beside one of segments with the same prefix."""
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), N)
    label = np.array(["a", "b", "c"])[(p.cumsum(axis=1) > rng.random((N, 1))).argmax(axis=1)]
    site = old["text"].fill_null("none").to_numpy()
    model = GroupedRecalibrator(classes=["a", "b", "c"]).fit(p, label, by={"p_site": site})
    table = polars.DataFrame({"p_site": site, **{f"p_{name}": p[:, k] for k, name in enumerate("abc")}})
    apply_to_file(model, save(table, tmp_path / "new.csv"), tmp_path / "wider.csv")
    made = polars.read_csv(tmp_path / "wider.csv").select("p_calibrated_a", "p_calibrated_b", "p_calibrated_c")
    np.testing.assert_allclose(made.to_numpy(), model.transform(p, by={"p_site": site}), rtol=0, atol=0)


def test_a_map_fitted_to_a_data_frame(tmp_path, old):
    """Its columns of segments were among those of X, and are no scores in a file either."""
    frame = old.select("p", "text")
    model = GroupedRecalibrator(by="text").fit(frame, old["y"].to_numpy())
    apply_to_file(model, save(old, tmp_path / "new.csv"), tmp_path / "wider.csv")
    assert calibrated(tmp_path / "wider.csv") == model.transform(frame).ravel().tolist()


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FORMATS)
def test_columns_that_are_not_there(tmp_path, old, kind):
    """Nothing is written, and the error names the columns that are needed."""
    model = fitted(old, ["text", "age"])
    path, wider = tmp_path / f"new.{kind}", tmp_path / f"wider.{kind}"
    save(old.select("p", "age", Text="text"), path)
    with pytest.raises(InputError, match=r"by text and age, but there is no column 'text' \(did you mean 'Text'\?\)"):
        apply_to_file(model, path, wider)
    save(old.select("p"), path)
    with pytest.raises(InputError, match="by text and age, but there are no columns 'text', 'age'; there are p"):
        apply_to_file(model, path, wider)
    assert not wider.exists()


@pytest.mark.parametrize("kind", FORMATS)
def test_a_quantity_is_numbers(tmp_path, old, kind):
    """Text where the map has ranges of numbers is an error that names the row."""
    table = polars.DataFrame({"p": [0.2, 0.4], "age": ["50", "young"]})
    with pytest.raises(InputError, match=r"column 'age' must hold numbers, got the text 'young' at row 1"):
        apply_to_file(fitted(old, ["age"]), save(table, tmp_path / f"new.{kind}"), tmp_path / f"wider.{kind}")


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_lists_are_no_segments(tmp_path, old, kind):
    """One value per row is needed."""
    table = polars.DataFrame({"p": [0.2, 0.4], "text": [["a"], ["b"]]})
    with pytest.raises(InputError, match="column 'text' must hold one value per row"):
        apply_to_file(fitted(old, ["text"]), save(table, tmp_path / f"new.{kind}"), tmp_path / f"wider.{kind}")


def test_segments_are_not_overwritten(tmp_path, old):
    """The new column cannot take the place of one that the map reads."""
    with pytest.raises(InputError, match="column 'text' holds segments, so it cannot be overwritten"):
        apply_to_file(
            fitted(old, ["text"]), save(old, tmp_path / "new.csv"), tmp_path / "w.csv", to="text", overwrite=True
        )


def test_a_run_has_no_columns(tmp_path, old):
    """A map by segment cannot be applied to a run."""
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 0.5 mine\n")
    with pytest.raises(InputError, match="corrects segments by text, and a run has no such columns"):
        apply_to_run(fitted(old, ["text"]), tmp_path / "a.run", tmp_path / "b.run")
    assert not (tmp_path / "b.run").exists()


def test_a_map_of_the_scores_alone_reads_nothing_else(tmp_path, old):
    """Other columns may then hold anything."""
    model = PlattScaling().fit(old["p"].to_numpy(), old["y"].to_numpy())
    done = apply_to_file(model, save(old, tmp_path / "new.csv"), tmp_path / "wider.csv")
    assert (done.by, done.notes) == ((), ())
    assert calibrated(tmp_path / "wider.csv") == model.transform(old["p"].to_numpy()).tolist()
    assert str(done) == "400 rows; used scores p, added p_calibrated"


@pytest.mark.parametrize(
    "values",
    [
        [2**60, 2**60 + 1, None],
        [Decimal(2**53), Decimal(2**53 + 2), Decimal("1.10")],
        [datetime.timedelta(days=1), datetime.timedelta(seconds=5), None],
        [datetime.time(1, 30), datetime.time(1, 30, 0, 500_000), None],
        [
            datetime.datetime(2024, 1, 31, 6, tzinfo=datetime.UTC),
            datetime.datetime(2024, 1, 31, tzinfo=datetime.UTC),
            None,
        ],
    ],
    ids=["long", "decimals", "durations", "times of day", "times"],
)
def test_values_of_parquet(tmp_path, old, values):
    """A map that was fitted in Python finds the levels of the file, and so does one that was fitted to the file."""
    by = polars.Series("c", [values[i % 3] for i in range(N)])
    if by.dtype == polars.Datetime:
        by = by.dt.convert_time_zone("Asia/Tokyo")
    path = save(old.select("p", "y").with_columns(by), tmp_path / "new.parquet")
    model = GroupedRecalibrator().fit(old["p"].to_numpy(), old["y"].to_numpy(), by={"c": list(by)})
    done = apply_to_file(model, path, tmp_path / "wider.parquet")
    assert not [note for note in done.notes if "was not fitted to" in note]
    expected = model.transform(old["p"].to_numpy(), by=by.to_frame()).tolist()
    assert calibrated(tmp_path / "wider.parquet") == expected
    loaded = load(path, prob="p", label="y", by="c")
    assert GroupedRecalibrator().fit(old["p"].to_numpy(), old["y"].to_numpy(), by=loaded.by).levels_ == model.levels_


# --- one cell ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("levels", "cell", "level"),
    [
        (("1", "2"), "1.0", "1"),
        (("1", "2"), "+1", "1"),
        (("1", "2"), "1e0", "1"),
        (("1", "2"), "01", "01"),
        (("1", "2"), True, "True"),
        (("01", "1"), 1, "1"),
        (("01", "02"), 1, "1"),
        (("1", "1.10", "1.1"), "1.10", "1.10"),
        (("1", "1.10", "1.1"), "1.100", "1.100"),
        (("1", "beta"), "1.0", "1.0"),
        (("0.5", "low"), "0,5", "0.5"),
        (("1234", "5"), "1,234", "1,234"),
        (("True", "False"), "true", "True"),
        (("TRUE", "FALSE"), True, "TRUE"),
        (("true", "yes"), True, "true"),
        (("true", "yes"), "TRUE", "TRUE"),
        (("9007199254740993", "2"), "9007199254740992", "9007199254740992"),
        (("1", "2"), float("nan"), None),
        (("1", "2", "missing"), None, None),
    ],
)
def test_the_level_of_a_cell(levels, cell, level):
    """It is the one of the same text, or of the same value if all levels are values."""
    assert level_of(Levels("c", levels))(cell) == level


NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))


@given(st.lists(st.one_of(NUMBERS, st.booleans(), st.text(min_size=1)), min_size=1, max_size=6))
def test_a_value_has_the_level_that_it_made(values):
    """Of any values, each has its own level, and never another one."""
    names = tuple(dict.fromkeys(str(int(v)) if isinstance(v, float) and v == int(v) else str(v) for v in values))
    find = level_of(Levels("c", names))
    assert [find(value) for value in values] == [
        str(int(v)) if isinstance(v, float) and v == int(v) else str(v) for v in values
    ]


@given(st.lists(NUMBERS, min_size=1, max_size=6))
def test_numbers_as_text_have_the_level_of_the_number(values):
    """As Python writes them."""
    names = tuple(dict.fromkeys(str(int(v)) if isinstance(v, float) and v == int(v) else str(v) for v in values))
    find = level_of(Levels("c", names))
    small = [v for v in values if abs(v) < 2**53]
    assert [find(repr(v)) for v in small] == [find(v) for v in small]
