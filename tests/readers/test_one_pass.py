"""`summarize_files`: one pass over Parquet files says what all rows together say, whatever the batches."""

from __future__ import annotations

import json
import math
import os

import numpy as np
import polars
import pytest

from believable import Summary
from believable.errors import InputError
from believable.readers import load, load_summary, summarize_files
from believable.readers.levels import as_subgroups
from believable.readers.passes import batches, level_rules, one_pass
from believable.readers.passes.checkpoint import Checkpoint
from believable.readers.passes.one_pass import PassSettings, pass_over
from believable.readers.passes.parts import find_parts

N = 3000
RNG = np.random.default_rng(11)
P = RNG.beta(0.6, 0.9, N)
P[:4] = [0, 1, 0.5, 1]
Y = (RNG.random(N) < P).astype(np.int8)
MATRIX = RNG.dirichlet([0.4, 0.7, 1.0], N)
K = np.array([RNG.choice(3, p=row) for row in MATRIX])
FRAME = polars.DataFrame(
    {
        "p": P.astype(np.float32),
        "y": Y,
        "double": P,
        "z": np.log(np.clip(P, 0.001, 0.999) / np.clip(1 - P, 0.001, 0.999)),
        "percent": 100 * P,
        "as_text": [f"{100 * p:.2f} %" for p in P],
        "yes": np.where(Y == 1, "yes", "no"),
        "true": Y == 1,
        "float": Y.astype(float),
        "spelt": Y.astype(str),
        "w": np.where(np.arange(N) % 7 == 0, 0, RNG.random(N) + 0.5),
        "site": RNG.choice(["a", "b", "c"], N, p=[0.6, 0.3, 0.1]),
        "age": RNG.integers(18, 90, N),
        "floor": RNG.integers(0, 5, N),
        "new": RNG.random(N) < 0.2,
        "many": [f"n{k}" for k in (RNG.random(N) ** 3 * 90).astype(int)],
        "k": K,
        "animal": np.array(["cat", "dog", "owl"])[K],
        "list": MATRIX.tolist(),
        **{f"p_{name}": MATRIX[:, k] for k, name in enumerate(("cat", "dog", "owl"))},
        **{f"q_{k + 1}": MATRIX[:, k].astype(np.float32) for k in range(3)},
        "one_to_three": K + 1,
    }
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The rows in three files, cut anywhere, with what Spark leaves beside them."""
    path = tmp_path_factory.mktemp("parts") / "rows"
    path.mkdir()
    for k, (start, end) in enumerate([(0, 700), (700, 703), (703, N)]):
        FRAME[start:end].write_parquet(path / f"part-{k}.parquet", row_group_size=256)
    FRAME.head(0).write_parquet(path / "part-3.parquet")
    (path / "_SUCCESS").write_text("")
    (path / ".part-0.parquet").write_text("no Parquet file")
    (path / "_temporary").mkdir()
    FRAME.write_parquet(path / "_temporary" / "part-9.parquet")
    FRAME.write_parquet(path.parent / "whole.parquet")
    return path


@pytest.fixture
def small(monkeypatch):
    """Batches of few rows."""

    def set_to(rows):
        monkeypatch.setattr(one_pass, "SCORES_PER_BATCH", rows)
        monkeypatch.setattr(batches, "ROWS_OF_FIRST_BATCH", max(1, rows // 3))

    set_to(400)
    return set_to


def write(path, **columns):
    polars.DataFrame(columns).write_parquet(path)
    return path


def assert_same(one, other):
    """Counts are equal, sums to 1e-12 of their size."""
    assert (one.kind, one.n, one.classes, dict(one.dropped)) == (
        other.kind,
        other.n,
        other.classes,
        dict(other.dropped),
    )
    assert list(one.by) == list(other.by)
    for a, b in zip(one.cells, other.cells, strict=True):
        assert (a.view, a.grid) == (b.view, b.grid)
        assert np.array_equal(a.key, b.key)
        assert np.array_equal(a.n, b.n)
        for name in ("ny", "w", "wp", "wpp", "wy", "wpy", "w2", "w2py"):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-12, atol=1e-12)
    for name in ("w", "w2", "brier", "nll", "correct", "confidence", "entropy", "wp", "wy", "deviation"):
        np.testing.assert_allclose(getattr(one.sums, name), getattr(other.sums, name), rtol=1e-12)
    for column, found in one.by.items():
        assert set(found) == set(other.by[column])
        for level, part in found.items():
            assert_same(part, other.by[column][level])


def identical(one, other):
    return one.to_bytes() == other.to_bytes()


def test_it_counts_as_a_loop_would(folder, small):
    """The sums of each cell, and of all rows, are those of a loop over the rows."""
    summary = summarize_files(folder, prob="double", label="y")
    cells, brier, nll = {}, 0.0, 0.0
    for p, y in zip(P.tolist(), Y.tolist(), strict=True):
        cell = 0 if p == 0 else 50_401 if p == 1 else math.ceil(round(p * 50_400, 9))
        n, ny, wp, wpp = cells.get(cell, (0, 0, 0.0, 0.0))
        cells[cell] = (n + 1, ny + y, wp + p, wpp + p * p)
        brier += (p - y) ** 2
        happened = p if y else 1 - p
        nll += -math.log(happened) if happened else math.inf
    uniform = summary.cells_of("binary")
    expected = [cells[cell] for cell in sorted(cells)]
    assert uniform.index.tolist() == sorted(cells)
    assert uniform.n.tolist() == [one[0] for one in expected]
    assert uniform.ny.tolist() == [one[1] for one in expected]
    np.testing.assert_allclose(uniform.wp, [one[2] for one in expected], rtol=1e-12)
    np.testing.assert_allclose(uniform.wpp, [one[3] for one in expected], rtol=1e-12)
    assert summary.sums.brier == pytest.approx(brier, rel=1e-12)
    assert summary.sums.nll == pytest.approx(nll, rel=1e-12)


CASES = {
    "float32": {"prob": "p", "label": "y"},
    "weights": {"prob": "p", "label": "y", "weight": "w"},
    "logits": {"prob": "z", "label": "y", "from_logits": True},
    "percentages": {"prob": "percent", "label": "y", "percent": True},
    "percent signs": {"prob": "as_text", "label": "y"},
    "text": {"prob": "p", "label": "yes", "pos_label": "yes"},
    "truth values": {"prob": "p", "label": "true"},
    "false is positive": {"prob": "p", "label": "true", "pos_label": "false"},
    "floats": {"prob": "p", "label": "float"},
    "spelt numbers": {"prob": "p", "label": "spelt"},
    "0 is positive": {"prob": "p", "label": "y", "pos_label": "0"},
    "classes by name": {"prob_prefix": "p_", "label": "animal"},
    "classes by number": {"prob_prefix": "q_", "label": "one_to_three"},
    "lists": {"prob": "list", "label": "k"},
    "named lists": {"prob": "list", "label": "animal", "classes": ["cat", "dog", "owl"]},
    "counted names": {"prob": "list", "label": "k", "classes": ["cat", "dog", "owl"], "weight": "w"},
}


@pytest.mark.parametrize("asked", CASES.values(), ids=CASES)
def test_it_says_what_the_rows_say(folder, small, asked):
    """Whatever the columns hold, the summary is that of the rows read at once."""
    loaded = load(folder.parent / "whole.parquet", **asked)
    at_once = Summary.of(loaded.predictions)
    summary = summarize_files(folder, **asked)
    assert dict(summary.dropped) == dict(loaded.dropped)
    assert_same(summary, Summary.checked(at_once.sums, at_once.cells, {}, at_once.classes, loaded.dropped))


def test_threads_and_batches_change_nothing(folder, small):
    """One thread or three, to the last bit; large batches or small, to 1e-12."""
    asked = {"prob": "p", "label": "y", "weight": "w", "by": ["site"]}
    first = summarize_files(folder, threads=1, **asked)
    assert identical(first, summarize_files(folder, threads=3, **asked))
    small(N)
    assert_same(first, summarize_files(folder, **asked))


def test_subgroups_are_those_of_the_rows(folder, small):
    """Texts, truth values, few numbers and ranges of many are the levels that a whole table has."""
    names = ["site", "age", "floor", "new"]
    summary = summarize_files(folder, prob="p", label="y", by=names)
    loaded = load(folder.parent / "whole.parquet", prob="p", label="y", by=names)
    columns, _ = as_subgroups(loaded.by)
    at_once = Summary.of(loaded.predictions, by={name: values.astype(str) for name, values in columns.items()})
    assert_same(summary, at_once)


def test_too_many_levels_are_put_together(folder, small):
    """Of ninety texts the fifty with the most rows stay; what those rows that were looked at do not have is with the rest."""
    passed = pass_over(folder, PassSettings(prob="p", label="y", by="many"))
    levels = passed.summary.by["many"]
    counts = FRAME["many"].value_counts(sort=True)["count"].to_list()
    assert len(levels) == 51
    assert sorted((one.n for name, one in levels.items() if name != "other values"), reverse=True) == counts[:50]
    assert sum(one.n for one in levels.values()) == N
    assert any("the 50 with the most rows are shown, the others are combined" in note for note in passed.notes)


def test_levels_are_chosen_from_rows_spread_over_the_files(folder, small, monkeypatch):
    """A table that is too large is looked at in stretches; every row is in the range it is said to be in."""
    monkeypatch.setattr(level_rules, "ROWS_LOOKED_AT", 600)
    passed = pass_over(folder, PassSettings(prob="p", label="y", by="age"))
    (note,) = [note for note in passed.notes if "age" in note]
    assert "rows spread over the files: it was cut into quarters" in note
    cuts = [int(word) for word in note.rpartition(" at ")[2].partition(" (")[0].split(", ")]
    age = FRAME["age"].to_numpy()
    assert passed.summary.by["age"][f"up to {cuts[0]}"].n == int((age <= cuts[0]).sum())
    assert sum(one.n for one in passed.summary.by["age"].values()) == N


def test_a_column_that_names_rows_is_refused(folder):
    """Texts that hardly ever repeat are no subgroups."""
    with pytest.raises(InputError, match=r"rows: column 'as_text' has .* values in 3,000 rows: it identifies rows"):
        summarize_files(folder, prob="p", label="y", by="as_text")


def test_missing_subgroups_are_a_level(tmp_path):
    """A row without a subgroup counts, as "missing"."""
    path = write(tmp_path / "a.parquet", p=[0.1, 0.6, 0.8], y=[0, 1, 1], site=["a", None, "a"])
    assert {name: one.n for name, one in summarize_files(path, by="site").by["site"].items()} == {"a": 2, "missing": 1}
    write(path, p=[0.1, 0.6, 0.8], y=[0, 1, 1], site=["missing", None, "a"])
    assert {name: one.n for name, one in summarize_files(path, by="site").by["site"].items()} == {"missing": 2, "a": 1}


# --- which files ------------------------------------------------------------------------------------------------------


def test_folders_patterns_and_lists_are_the_same_rows(folder, small):
    """A folder, a pattern and a list of the same files say the same; what is hidden is not read."""
    asked = {"prob": "p", "label": "y"}
    whole = summarize_files(folder, **asked)
    assert whole.n == N
    assert identical(whole, summarize_files(str(folder / "part-*.parquet"), **asked))
    assert identical(whole, summarize_files(str(folder / "*"), **asked))
    assert identical(whole, summarize_files([folder / f"part-{k}.parquet" for k in range(3)], **asked))


def test_names_of_folders_are_a_column(tmp_path):
    """country=DE is a value of the column country; %20 is a space."""
    for k, country in enumerate(("DE", "New%20Zealand", "__HIVE_DEFAULT_PARTITION__")):
        folder = tmp_path / f"country={country}" / "self=1"
        folder.mkdir(parents=True)
        write(folder / "0.parquet", p=[0.2, 0.7] * (k + 1), y=[0, 1] * (k + 1))
    summary = summarize_files(tmp_path, by="country")
    assert {name: one.n for name, one in summary.by["country"].items()} == {"DE": 2, "New Zealand": 4, "missing": 6}


def test_one_large_row_group_is_read_in_stretches(tmp_path, small):
    """A file in one row group is read in batches too."""
    FRAME.select("p", "y").write_parquet(tmp_path / "one.parquet", row_group_size=N)
    parts = find_parts(tmp_path / "one.parquet")
    assert [batch.rows for batch in batches.batches_of(parts, 1000)] == [133, 1000, 1000, 867]
    assert summarize_files(tmp_path / "one.parquet").n == N


def test_files_that_do_not_fit_together_are_refused(tmp_path):
    """A column that is not there, or of another type, is an error that names both files."""
    write(tmp_path / "a.parquet", p=[0.5], y=[1])
    other = write(tmp_path / "b.parquet", p=[0.5], label=[1])
    with pytest.raises(InputError, match=rf"{other} has no column 'y', which .*a.parquet has"):
        summarize_files(tmp_path)
    polars.DataFrame({"p": [0.5], "y": [1]}, {"p": polars.Float32, "y": polars.Int8}).write_parquet(other)
    with pytest.raises(
        InputError, match=r"b.parquet: column 'p' is of type Float32, but in .*a.parquet it is of type Float64"
    ):
        summarize_files(tmp_path)
    polars.DataFrame({"p": [0.5], "y": [1]}, {"p": polars.Float64, "y": polars.Int8}).write_parquet(other)
    assert summarize_files(tmp_path).n == 2


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nothing.parquet", "there is no file .*nothing.parquet"),
        ("none-*.parquet", r"no file matches the pattern .*none-\*.parquet"),
        ("empty", "there is no .parquet file in the folder .*empty or below it"),
        (
            "tables",
            "there is no .parquet file in .*tables or below it; name other files, such as table.csv, one at a time",
        ),
        ("saved", "there is no .parquet file in .*saved or below it; name saved summaries one by one"),
        ("saved/*", "day.cells is not a Parquet file: .* name saved summaries one by one"),
        (
            "table.csv",
            "table.csv is not a Parquet file: only Parquet files can be read in batches; other formats are read whole",
        ),
        ("cut.parquet", "cut.parquet cannot be read as parquet"),
        ("rows.parquet", "rows.parquet has no rows"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, name, sentence):
    """Each with a sentence that names it."""
    (tmp_path / "empty").mkdir()
    for folder in ("tables", "saved"):
        (tmp_path / folder).mkdir()
    for table in ("table.csv", "tables/table.csv"):
        (tmp_path / table).write_text("p,y\n0.5,1\n")
    write(tmp_path / "rows.parquet", p=[0.5], y=[1])
    summarize_files(tmp_path / "rows.parquet").save(tmp_path / "saved" / "day.cells")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "rows.parquet").read_bytes()[:-20])
    polars.DataFrame({"p": [], "y": []}, {"p": polars.Float64, "y": polars.Int8}).write_parquet(
        tmp_path / "rows.parquet"
    )
    with pytest.raises(InputError, match=sentence):
        summarize_files(tmp_path / name)


def test_each_file_counts_once(tmp_path):
    """Though it be named twice, have a link, or lie in a folder that a link leads back to; capitals do not matter."""
    path = write(tmp_path / "a.PARQUET", p=[0.5, 0.25], y=[1, 0])
    (tmp_path / "b.parquet").symlink_to(path)
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    assert summarize_files(tmp_path).n == 2
    assert summarize_files([path, tmp_path / ".." / tmp_path.name / "a.PARQUET", tmp_path]).n == 2


def test_a_folder_that_cannot_be_listed_is_an_error(tmp_path, monkeypatch):
    """Its files would be missing."""
    (tmp_path / "closed").mkdir()
    write(tmp_path / "a.parquet", p=[0.5], y=[1])
    real = os.scandir

    def scandir(path):
        if os.fspath(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(InputError, match=r"the folder .*closed cannot be read: Permission denied"):
        summarize_files(tmp_path)


def test_a_column_without_values_has_no_type(tmp_path, small):
    """Beside such files the others must agree; subgroups are missing there, wherever the batches are cut."""
    small(2)
    write(tmp_path / "a.parquet", p=polars.Series([None, None], dtype=polars.Null), y=[1, 0], s=[None, None])
    write(tmp_path / "b.parquet", p=[0.5, 0.25], y=[1, 0], s=[7, 8])
    other = write(tmp_path / "c.parquet", p=polars.Series([0.5, 0.25], dtype=polars.Float32), y=[1, 0], s=[None, None])
    with pytest.raises(InputError, match=r"c.parquet: column 'p' is of type Float32, but in .*b.parquet it is of type"):
        summarize_files(tmp_path, by="s", drop_missing=True)
    write(other, p=[0.5, 0.25], y=[1, 0], s=polars.Series([None, None], dtype=polars.Null))
    summary = summarize_files(tmp_path, by="s", drop_missing=True)
    assert {name: one.n for name, one in summary.by["s"].items()} == {"7": 1, "8": 1, "missing": 2}


def test_categories_may_differ_from_file_to_file(tmp_path):
    """They are text; integers that have no common type are refused."""
    for name, values in {"a": ["x", "y"], "b": ["z", "x"]}.items():
        column = polars.Series(values, dtype=polars.Enum(values))
        write(tmp_path / f"{name}.parquet", p=[0.5, 0.25], y=[1, 0], s=column, n=[1, 2])
    assert {name: one.n for name, one in summarize_files(tmp_path, by="s").by["s"].items()} == {"x": 2, "y": 1, "z": 1}
    column = polars.Series([1, 2], dtype=polars.UInt64)
    write(tmp_path / "b.parquet", p=[0.5, 0.25], y=[1, 0], n=column)
    with pytest.raises(InputError, match=r"column 'n' is of type UInt64, but in .* it is of type Int64"):
        summarize_files(tmp_path, by="n")


def test_one_more_class_in_a_later_file_is_refused(tmp_path):
    """It would be left out."""
    write(tmp_path / "a.parquet", z_cat=[1.0, 2.0], z_dog=[0.0, 3.0], y=["cat", "dog"])
    write(tmp_path / "b.parquet", z_cat=[1.0, 2.0], z_dog=[0.0, 3.0], z_owl=[9.0, 9.0], y=["cat", "dog"])
    with pytest.raises(InputError, match=r"b.parquet has scores of more classes \(z_owl\) than .*a.parquet"):
        summarize_files(tmp_path, from_logits=True)


def test_folders_are_cut_by_their_rows(tmp_path):
    """Quarters of a column that folders name have as many rows each, not as many folders."""
    for day in range(1, 17):
        (tmp_path / f"day={day}").mkdir()
        n = 8 if day < 4 else 1
        write(tmp_path / f"day={day}" / "0.parquet", p=[0.5] * n, y=[1] * n)
    levels = summarize_files(tmp_path, by="day").by["day"]
    assert {name: one.n for name, one in levels.items()} == {"up to 2": 16, "2 to 3": 8, "3 to 7": 4, "above 7": 9}
    write(tmp_path / "beside.parquet", p=[0.5], y=[1], day=["other"])
    assert summarize_files(tmp_path, by="day").by["day"]["other"].n == 1


def test_a_file_that_changes_meanwhile_is_refused(tmp_path, monkeypatch):
    """Though it has as many rows as before; a page that cannot be decoded is an error too, not a panic."""
    path = write(tmp_path / "a.parquet", p=[0.5, 0.25], y=[1, 0])
    parts = find_parts(path)
    os.utime(path, ns=(1, 1))
    (batch,) = batches.batches_of(parts, 10)
    with pytest.raises(InputError, match=r"a\.parquet was changed while it was read: run it again"):
        batch.read(["p", "y"])

    def panic(self):
        raise polars.exceptions.PanicException("not yet implemented")

    monkeypatch.setattr(type(parts.files[0]), "scan", panic)
    with pytest.raises(InputError, match=r"a\.parquet cannot be read as parquet: not yet implemented"):
        batch.read(["p", "y"])


# --- rows that cannot be read -----------------------------------------------------------------------------------------


def spoilt(path, column, value, dtype=None):
    """Two files; in the second, row 321 has this value in this column."""
    path.mkdir(exist_ok=True)
    FRAME.select("p", "y", "w").head(1000).write_parquet(path / "a.parquet")
    frame = FRAME.select("p", "y", "w").tail(500)
    values = frame[column].to_list()
    values[321] = value
    frame.with_columns(polars.Series(column, values, dtype or frame[column].dtype)).write_parquet(path / "b.parquet")
    return path


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("p", None, "column 'p' has a missing score at row 321; fill in the value"),
        ("p", math.nan, "column 'p' has a missing score at row 321; fill in the value"),
        ("y", None, "column 'y' has a missing label at row 321"),
        ("w", None, "column 'w' has a missing weight at row 321"),
        ("p", 1.25, r"predictions must lie in \[0, 1\], got 1.25 at row 321; these look like logits"),
        ("p", -0.5, r"predictions must lie in \[0, 1\], got -0.5 at row 321"),
        ("y", 2, r"actuals must be 0 or 1, got 2 at row 321"),
        ("w", -1.0, "sample_weight must not be negative, got -1 at row 321"),
    ],
)
def test_errors_name_the_file_the_row_and_the_value(tmp_path, small, column, value, sentence):
    """Wherever the batches are cut."""
    with pytest.raises(InputError, match=rf"b.parquet \(scores p, labels y, weights w\): .*{sentence}"):
        summarize_files(spoilt(tmp_path / "rows", column, value), weight="w")


def test_missing_values_are_left_out_and_counted(tmp_path, small):
    """With drop_missing, each row once; a batch of which nothing is left, or nothing weighs, is no error."""
    path = tmp_path / "a.parquet"
    p = [None] * 500 + [0.25, math.nan, 0.75, 0.5]
    write(path, p=p, y=[None] * 2 + [1] * 498 + [0, 1, 1, None])
    summary = summarize_files(path, drop_missing=True)
    assert (summary.n, dict(summary.dropped)) == (2, {"missing score": 501, "missing label": 1})
    write(path, p=[0.5] * 999, y=[1] * 999, w=[0] * 400 + [2] * 99 + [0] * 500)
    summary = summarize_files(path, weight="w")
    assert (summary.n, dict(summary.dropped)) == (99, {"weight 0": 900})
    write(path, p=[None, 0.5], y=[1, None])
    with pytest.raises(InputError, match="every row has a missing score, label or weight: there is nothing to measure"):
        summarize_files(path, drop_missing=True)
    write(path, p=[0.5, 0.5], y=[1, 0], w=[0, 0])
    with pytest.raises(InputError, match="every row has weight 0: there is nothing to measure"):
        summarize_files(path, weight="w")
    write(path, p=[None] * 500 + [[0.25, 0.75]] * 3, y=[1] * 503)
    assert dict(summarize_files(path, drop_missing=True).dropped) == {"missing score": 500}


def test_a_positive_label_may_be_rare(tmp_path, small):
    """It need not be in every batch, but it must be somewhere."""
    path = write(tmp_path / "a.parquet", p=[0.1] * 999 + [0.9], y=["no"] * 999 + ["yes"])
    summary = summarize_files(path, pos_label="yes")
    assert (summary.n, float(summary.sums.wy[0])) == (1000, 1.0)
    with pytest.raises(InputError, match=r"pos_label='yea' does not occur in actuals \(found 'no', 'yes'\)"):
        summarize_files(path, pos_label="yea")
    with pytest.raises(InputError, match=r"column 'y' holds text \(no\): name the one that counts as 1 with pos_label"):
        summarize_files(path)


def test_rows_mean_what_the_first_ones_meant(tmp_path, small):
    """Labels that turn into text, percent signs that end, and longer lists are errors, not other numbers."""
    path = write(tmp_path / "a.parquet", p=[0.5] * 900, y=["0"] * 899 + ["maybe"])
    with pytest.raises(InputError, match="column 'y' holds text"):
        summarize_files(path)
    write(path, p=["50 %"] * 500 + ["0.5"] * 400, y=[1] * 900)
    with pytest.raises(
        InputError, match=r"column 'p' (has percent signs before and none in these rows|must hold numbers)"
    ):
        summarize_files(path)
    write(path, p=[[0.5, 0.5]] * 448 + [[0.5, 0.25, 0.25]] * 452, y=[1] * 900)
    with pytest.raises(
        InputError, match=r"lists in column 'p' must have the same length, got 3 at row 448 and 2 before"
    ):
        summarize_files(path)


def test_an_unknown_class_is_named(tmp_path):
    """A label that is none of the columns is an error with its row."""
    path = write(tmp_path / "a.parquet", p_cat=[0.5, 0.5], p_dog=[0.5, 0.5], y=["cat", "cow"])
    with pytest.raises(InputError, match=r"a.parquet .*the label 'cow' at row 1 is not in classes \['cat', 'dog'\]"):
        summarize_files(path)


# --- checkpoints ------------------------------------------------------------------------------------------------------


class Stopped(Exception):
    """As if the power had failed."""


def stop_after(k, *arguments, **asked):
    """A pass that ends just after its checkpoint number k."""
    left = [k]

    def save(self, state, real=Checkpoint.save):
        real(self, state)
        left[0] -= 1
        if not left[0]:
            raise Stopped

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "save", save)
        with pytest.raises(Stopped):
            summarize_files(*arguments, **asked)


@pytest.mark.parametrize("k", [1, 3, 7])
def test_an_interrupted_pass_goes_on(folder, small, tmp_path, k):
    """What a resumed pass says is what an uninterrupted one says, to the last bit, whatever the number of threads."""
    asked = {"prob": "p", "label": "y", "weight": "w", "by": ["site", "age"], "every": 300}
    whole = summarize_files(folder, checkpoint=tmp_path / "whole.cells", **asked)
    state = tmp_path / "state.cells"
    stop_after(k, folder, checkpoint=state, **asked)
    with pytest.raises(InputError, match=r"checkpoint of an incomplete pass: [\d,]+ of 3,000 rows are done"):
        load_summary(state)
    assert identical(whole, summarize_files(folder, checkpoint=state, threads=1, **asked))
    assert identical(whole, load_summary(state))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state.cells", "whole.cells"]


def test_a_pass_that_has_ended_answers_at_once(folder, small, tmp_path, monkeypatch):
    """Nothing is read again."""
    state = tmp_path / "state.cells"
    first = summarize_files(folder, prob="p", label="y", checkpoint=state)
    monkeypatch.setattr(one_pass, "count_batch", None)
    assert identical(first, summarize_files(folder, prob="p", label="y", checkpoint=state))


@pytest.fixture
def unfinished(folder, small, tmp_path):
    """A checkpoint of 1,033 rows, with one of 733 rows beside it."""
    state = tmp_path / "state.cells"
    stop_after(3, folder, prob="p", label="y", checkpoint=state, every=300)
    return state


def rows_done(path):
    data = path.read_bytes()
    return json.loads(data[24 : 24 + int.from_bytes(data[12:16], "little")])["form"]["rows"]


@pytest.mark.parametrize("left", [0, 5, 20, 3000, -1])
def test_a_damaged_checkpoint_is_said_and_never_believed(folder, unfinished, left):
    """The one before it counts; without that the pass begins anew. The result is the same."""
    whole = summarize_files(folder, prob="p", label="y", checkpoint=unfinished.with_name("whole"), every=300)
    previous = unfinished.with_name("state.cells.previous")
    assert 0 < rows_done(previous) < rows_done(unfinished) < N
    data = unfinished.read_bytes()
    unfinished.write_bytes(data[:left])
    said = []
    asked = {"prob": "p", "label": "y", "checkpoint": unfinished, "every": 300}
    copy = previous.read_bytes()
    assert identical(whole, pass_over(folder, PassSettings(**asked), say=said.append).summary)
    assert "is damaged" in said[0] or "is empty" in said[0]
    assert "the backup is intact: continuing from" in said[0]
    unfinished.write_bytes(data[:left])
    previous.write_bytes(copy[:-40])
    assert identical(whole, pass_over(folder, PassSettings(**asked), say=said.append).summary)
    assert said[-1].endswith("and there is no backup: starting over")


def test_one_flipped_bit_is_damage(folder, unfinished):
    """The checksum sees it."""
    data = bytearray(unfinished.read_bytes())
    data[len(data) // 2] ^= 1
    unfinished.write_bytes(data)
    said = []
    pass_over(folder, PassSettings(prob="p", label="y", checkpoint=unfinished, every=300), say=said.append)
    assert "is damaged; the backup is intact" in said[0]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"prob": "double"}, r"belongs to a pass with prob=\['p'\], but now it is \['double'\]"),
        ({"drop_missing": True}, "belongs to a pass with drop_missing=False, but now it is True"),
        ({"by": "site"}, r"belongs to a pass with by=\[\], but now it is \['site'\]"),
        ({"cells": 840}, "belongs to a pass with cells=None, but now it is 840"),
    ],
)
def test_another_question_is_refused(folder, unfinished, asked, sentence):
    """Two passes are not mixed."""
    with pytest.raises(InputError, match=f"{sentence}: name another checkpoint, or delete this one to start over"):
        summarize_files(folder, **{"prob": "p", "label": "y", "checkpoint": unfinished} | asked)


def test_changed_files_are_refused(tmp_path):
    """A file that was changed, added or removed since the checkpoint is an error that names it."""
    rows = tmp_path / "rows"
    rows.mkdir()
    for name in ("a", "b"):
        write(rows / f"{name}.parquet", p=[0.5, 0.25], y=[1, 0])
    state = tmp_path / "state.cells"
    summarize_files(rows, checkpoint=state)
    os.utime(rows / "a.parquet", ns=(1, 1))
    with pytest.raises(InputError, match=r"the file a.parquet was changed since that checkpoint"):
        summarize_files(rows, checkpoint=state)
    with pytest.raises(InputError, match=r"the file a.parquet is gone since that checkpoint"):
        summarize_files(rows / "b.parquet", checkpoint=state)


def test_what_is_no_checkpoint_is_not_overwritten(folder, tmp_path):
    """A foreign file, a saved summary, a folder and the data themselves are refused."""
    asked = {"prob": "p", "label": "y"}
    notes = tmp_path / "notes.txt"
    notes.write_text("not to be lost")
    with pytest.raises(InputError, match=r"notes.txt is not a checkpoint"):
        summarize_files(folder, checkpoint=notes, **asked)
    assert notes.read_text() == "not to be lost"
    summarize_files(folder, **asked).save(tmp_path / "saved")
    with pytest.raises(InputError, match="saved is a saved Summary, not a checkpoint"):
        summarize_files(folder, checkpoint=tmp_path / "saved", **asked)
    with pytest.raises(InputError, match="is a folder: name a file for the checkpoint"):
        summarize_files(folder, checkpoint=tmp_path, **asked)
    with pytest.raises(InputError, match="is an input file: choose another name for the checkpoint"):
        summarize_files(folder, checkpoint=folder / "part-0.parquet", **asked)
    with pytest.raises(InputError, match="cannot be written: there is no folder"):
        summarize_files(folder, checkpoint=tmp_path / "nowhere" / "state", **asked)
    (tmp_path / "other.previous").write_text("not to be lost")
    with pytest.raises(
        InputError, match=r"other.previous is not a checkpoint, but a backup of .*other would be written there"
    ):
        summarize_files(folder, checkpoint=tmp_path / "other", **asked)


def test_what_a_killed_pass_left_is_swept(folder, small, tmp_path):
    """A half-written file beside the checkpoint, and a second name for it that was never put in its place."""
    state = tmp_path / "state.cells"
    asked = {"prob": "p", "label": "y", "checkpoint": state, "every": 300}
    stop_after(1, folder, **asked)
    gone = 2**22 + 1  # no process has a number so large
    (tmp_path / f".state.{gone}.0123abcd.cells").write_bytes(b"half")
    os.link(state, tmp_path / f".state.cells.{gone}.0123abcd.previous")
    mine = tmp_path / f".state.{os.getpid()}.0123abcd.cells"
    mine.write_bytes(b"another thread, perhaps")
    summarize_files(folder, **asked)
    assert sorted(path.name for path in tmp_path.iterdir()) == [mine.name, "state.cells"]


def test_a_third_label_is_refused_wherever_it_is(tmp_path, small):
    """In one batch, or in batches far from each other."""
    together = write(tmp_path / "together.parquet", p=[0.1] * 4, y=["no", "yes", "maybe", "no"])
    with pytest.raises(InputError, match=r"'no' \(2 rows\), 'yes' \(1 row\), 'maybe' \(1 row\); name the one"):
        summarize_files(together, pos_label="yes")
    apart = write(tmp_path / "apart.parquet", p=[0.1] * 1000, y=["no"] * 500 + ["yes"] * 300 + ["maybe"] * 200)
    with pytest.raises(InputError, match="pos_label='yes' leaves more than one other label"):
        summarize_files(apart, pos_label="yes")
    with pytest.raises(InputError, match="neither pos_label='yes' nor neg_label='no': 'maybe'"):
        summarize_files(apart, pos_label="yes", neg_label="no")
    two = write(tmp_path / "two.parquet", p=[0.1] * 1000, y=[3] * 500 + [4] * 500)
    assert float(summarize_files(two, pos_label="4", neg_label="3").sums.wy[0]) == 500
