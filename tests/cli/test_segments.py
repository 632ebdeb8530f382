"""Segments on the command line: found by `audit --find-segments`, corrected by `fit --by`, and applied by `apply`."""

from __future__ import annotations

import json
import shlex

import numpy as np
import polars
import pytest

import believable
from believable.readers import load
from believable.recalibrate import load_recalibrator

N = 2000


def patients(n=N, seed=0, first=0):
    """Scores that are too low for older patients in the south, and right for all others."""
    rng = np.random.default_rng(seed)
    site = rng.choice(["north", "south", "west"], n, p=[0.4, 0.4, 0.2])
    age = rng.integers(20, 90, n)
    z = rng.normal(-1, 1.3, n)
    risk = 1 / (1 + np.exp(-z - np.where((site == "south") & (age > 54), 2.0, 0.0)))
    return polars.DataFrame(
        {
            "patient_id": np.arange(first, first + n),
            "site": site,
            "age": age,
            "p": 1 / (1 + np.exp(-z)),
            "y": (rng.random(n) < risk).astype(int),
        }
    )


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A file to fit to, one of new rows, and a map by site and age that was fitted in Python."""
    path = tmp_path_factory.mktemp("segments")
    old = patients()
    old.write_csv(path / "patients.csv")
    patients(500, 1, N).write_csv(path / "new.csv")
    model = believable.recalibrate.GroupedRecalibrator()
    model.fit(old["p"].to_numpy(), old["y"].to_numpy(), by=old.select("site", "age")).to_json(path / "map.json")
    return path


def odd(n=300):
    """Columns of which only one has segments."""
    rng = np.random.default_rng(2)
    p = rng.random(n)
    y = (rng.random(n) < p).astype(int)
    return polars.DataFrame(
        {
            "constant": ["x: it is"] * n,
            "nothing": [None] * n,
            "record": [f"r{i}" for i in range(n)],
            "status": np.where(y == 1, "dead", "alive"),
            "ward": rng.choice(["a", "b"], n),
            "user": rng.integers(0, 9, n),
            "patient_id": np.arange(n),
            "score": p,
            "outcome": y,
            "p_calibrated": p,
            "p": p,
            "y": y,
        }
    )


def line_of(result, beginning):
    """Return the one line of the output with this beginning."""
    (found,) = (line for line in result.output.splitlines() if line.startswith(beginning))
    return found.removeprefix(beginning)


# --- fit --------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_that_the_audit_prints_runs(run, quick, tables, monkeypatch, tmp_path):
    """From finding a segment to scores that are right in it, with nothing but what is printed."""
    monkeypatch.chdir(tables)
    result = run("audit", "patients.csv", "--find-segments")
    assert result.exit_code == 0, result.output
    command = line_of(result, "- Run: ")
    assert command == "believable fit patients.csv --method auto --by site,age -o map.json"
    fitted = run(*shlex.split(command)[1:-1], tmp_path / "map.json")
    assert fitted.exit_code == 0, fitted.output
    assert "patients.csv: 2,000 rows; used scores p, labels y, segments by site, age" in fitted.output
    assert "Segments by site, age account for" in fitted.output
    assert "For example, depending on the segment: 0.05 becomes 0.0" in fitted.output
    assert fitted.output.endswith("New rows need the columns site and age beside the scores.\n")
    applied = run("apply", tmp_path / "map.json", "new.csv", "-o", tmp_path / "out.csv")
    assert applied.output == (
        "new.csv: 500 rows; used scores p, segments by site and age, added p_calibrated; written to "
        f"{tmp_path / 'out.csv'}\n"
    )
    made = polars.read_csv(tmp_path / "out.csv")
    harmed = made.filter((polars.col("site") == "south") & (polars.col("age") > 54))
    assert harmed["p"].mean() < harmed["y"].mean() - 0.2
    assert harmed["p_calibrated"].mean() == pytest.approx(harmed["y"].mean(), abs=0.1)
    again = run("audit", tmp_path / "out.csv", "--prob", "p_calibrated", "--find-segments", "--no-fix")
    assert "No segment clearly differs from the other rows." in again.output


@pytest.mark.slow
@pytest.mark.parametrize("method", ["pooled", "boosted", "auto"])
def test_the_map_is_that_of_calibrate(run, tables, tmp_path, method):
    """The same columns, rows and settings."""
    out = tmp_path / "map.json"
    result = run("fit", tables / "patients.csv", "--by", "age", "--by", "site", "--method", method, "-o", out)
    assert result.exit_code == 0, result.output
    loaded = load(tables / "patients.csv", by=["age", "site"])
    expected = believable.calibrate(loaded.predictions, method=method, by=loaded.by)
    assert json.loads(out.read_text()) == json.loads(expected.to_json())
    assert load_recalibrator(out).by_ == ("age", "site")


@pytest.mark.slow
def test_one_map_for_all_where_segments_do_not_differ(run, tmp_path):
    """Then new rows need no columns, and columns that have no segments are named once."""
    odd().write_csv(tmp_path / "odd.csv")
    by = "constant,nothing,record,status,ward"
    result = run("fit", tmp_path / "odd.csv", "--prob", "p", "--label", "y", "--by", by, "-o", tmp_path / "map.json")
    assert result.exit_code == 0, result.output
    assert "segments by ward\n" in result.output
    assert line_of(result, "Note: left out of --by: ") == (
        "constant (is 'x: it is' in every row), nothing (is missing in every row), record (has 300 values in 300 rows), "
        "status (tells the outcome)"
    )
    assert result.output.count("left out") == 1
    assert "It is the same for all segments: new rows need no columns but the scores." in result.output
    assert not load_recalibrator(tmp_path / "map.json").reads_columns


def test_the_map_goes_to_the_standard_output(run, tables):
    """And nothing else does."""
    text = (tables / "patients.csv").read_text()
    result = run("fit", "-", "--by", "site", "--method", "pooled", "-o", "-", stdin=text)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["maps"][0]["by"][0]["names"] == ["north", "south", "west"]
    assert "standard input: 2,000 rows; used scores p, labels y, segments by site" in result.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--by", "sitee"], "there is no column 'sitee' (did you mean 'site'?); there are patient_id, site, age, p, y"),
        (["--by", "sitee,sex"], "there are no columns 'sitee' (did you mean 'site'?), 'sex'"),
        (["--by", "y"], "'y' holds the labels: clusters (--cluster) and subgroups (--by) must be other columns"),
        (["--by", "patient_id"], "no column has segments: patient_id (has 2,000 values in 2,000 rows)"),
        (
            ["--by", "site", "--method", "platt"],
            "--method platt fits one map for all rows, so it does not read --by site",
        ),
        (["--method", "pooled"], "--method pooled corrects segments: name their columns with --by"),
        (["--method", "boosted"], "--method boosted corrects segments: name their columns with --by"),
    ],
)
def test_errors_of_fit(run, tables, options, sentence):
    """One sentence that says what to do."""
    result = run("fit", tables / "patients.csv", *options)
    assert result.exit_code == 2, result.output
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_run_has_no_columns_to_fit_to(run, tmp_path):
    """--by is for a table."""
    for name, line in (("a.run", "q1 Q0 d1 1 0.5 mine\n"), ("a.qrels", "q1 0 d1 1\n")):
        (tmp_path / name).write_text(line)
    result = run("fit", "--run", tmp_path / "a.run", "--qrels", tmp_path / "a.qrels", "--by", "site")
    assert result.exit_code == 2
    assert "--by is for a FILE, not for a run and its judgements" in result.stderr


# --- apply ------------------------------------------------------------------------------------------------------------


def test_apply_is_transform(run, tables):
    """To the last digit, through pipes."""
    new = polars.read_csv(tables / "new.csv")
    result = run("apply", tables / "map.json", "-", stdin=(tables / "new.csv").read_text())
    assert result.exit_code == 0, result.output
    made = polars.read_csv(result.stdout_bytes)
    expected = load_recalibrator(tables / "map.json").transform(new["p"].to_numpy(), by=new.select("site", "age"))
    assert made["p_calibrated"].to_list() == expected.tolist()
    assert made.drop("p_calibrated").equals(new)
    assert result.stderr == "standard input: 500 rows; used scores p, segments by site and age, added p_calibrated\n"


def test_unseen_and_missing_values_are_noted(run, tables):
    """No row is lost."""
    rows = "site,age,p\neast,50,0.3\n,50,0.3\nsouth,NA,0.3\neastern,,0.3\n"
    result = run("apply", tables / "map.json", "-", stdin=rows)
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 5
    assert [line for line in result.stderr.splitlines() if line.startswith("Note: ")] == [
        "Note: 2 rows have values of site that the calibration map was not fitted to, such as 'east': they get no "
        "correction by site.",
        "Note: 1 row has no value of site: it gets no correction by site.",
        "Note: 2 rows have no value of age: they get no correction by age.",
    ]


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        ("Site,age,p", "by site and age, but there is no column 'site' (did you mean 'Site'?); there are Site, age, p"),
        ("x,z,p", "by site and age, but there are no columns 'site', 'age'; there are x, z, p"),
    ],
)
def test_columns_that_the_map_needs(run, tables, header, sentence):
    """A file without them is an error, and nothing is written."""
    result = run("apply", tables / "map.json", "-", stdin=f"{header}\nsouth,50,0.3\n")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"Error: standard input: the calibration map corrects segments {sentence}" in result.stderr


def test_a_run_has_no_segments(run, tables, tmp_path):
    """The error says which map can be applied to it."""
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 0.5 mine\n")
    result = run("apply", tables / "map.json", tmp_path / "a.run")
    assert result.exit_code == 2
    assert "corrects segments by site and age, and a run has no such columns: fit a map of the scores" in result.stderr


# --- audit ------------------------------------------------------------------------------------------------------------


def test_columns_that_are_not_searched(run, quick, tmp_path):
    """One line lists them with the reasons."""
    odd().write_csv(tmp_path / "odd.csv")
    options = ["--prob", "p", "--label", "y", "--find-segments", "--no-fix"]
    result = run("audit", tmp_path / "odd.csv", *options)
    assert result.exit_code == 0, result.output
    assert "Columns: scores p, labels y, subgroups ward\n" in result.output
    assert line_of(result, "- not searched for segments: ") == (
        "user (named like clusters), patient_id (has 300 values in 300 rows), score (named like scores), outcome (named "
        "like labels), p_calibrated (named like scores), constant (is 'x: it is' in every row), nothing (is missing in "
        "every row), record (has 300 values in 300 rows), status (tells the outcome); to search a column whatever its "
        "name, use --by"
    )
    named = run("audit", tmp_path / "odd.csv", *options, "--by", "user,ward,constant")
    assert "subgroups user, ward\n" in named.output
    assert line_of(named, "- not searched for segments: ") == "constant (is 'x: it is' in every row)"


def test_nothing_is_said_where_all_columns_are_searched(run, quick, tmp_path):
    """No line without a reason."""
    odd().select("ward", "p", "y").write_csv(tmp_path / "odd.csv")
    result = run("audit", tmp_path / "odd.csv", "--find-segments", "--no-fix")
    assert result.exit_code == 0, result.output
    assert "not searched" not in result.output


def test_lists_are_not_searched(run, quick, tmp_path):
    """Neither are arrays of another shape."""
    table = odd().select("ward", "p", "y")
    table.with_columns(words=[["a", "b"]] * len(table)).write_parquet(tmp_path / "odd.parquet")
    ward = table["ward"].to_numpy().astype(str)
    np.savez(
        tmp_path / "odd.npz", p=table["p"], y=table["y"], ward=ward, words=np.zeros((len(table), 3)), short=np.arange(5)
    )
    for name, left_out in (("odd.parquet", "words"), ("odd.npz", "words (not one value per row), short")):
        result = run("audit", tmp_path / name, "--find-segments", "--no-fix")
        assert result.exit_code == 0, result.output
        assert line_of(result, "- not searched for segments: ") == f"{left_out} (not one value per row)"


def test_no_column_has_segments(run, tmp_path):
    """An error says why."""
    odd().select("patient_id", "constant", "p", "y").write_csv(tmp_path / "odd.csv")
    result = run("audit", tmp_path / "odd.csv", "--find-segments")
    assert result.exit_code == 2
    assert (
        "no column has segments: patient_id (has 300 values in 300 rows), constant (is 'x: it is' in every row)"
        in result.stderr
    )
    odd().select("patient_id", "p", "y").write_csv(tmp_path / "odd.csv")
    result = run("audit", tmp_path / "odd.csv", "--find-segments")
    assert "no column to search for segments, besides p, y: patient_id (has 300 values in 300 rows)" in result.stderr


# --- files read in one pass -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """The patients in two Parquet files, with scores and in percent."""
    path = tmp_path_factory.mktemp("parts")
    rows = patients(6000).with_columns(percent=100 * polars.col("p"))
    rows[:2500].with_columns(only_here=1).write_parquet(path / "1.parquet")
    rows[2500:].write_parquet(path / "2.parquet")
    rows.write_csv(path / "all.csv")
    return path


def found_in(run, path, *args):
    """Return the audit of files, as JSON."""
    result = run("audit", *args, "--by", "site,age", "--find-segments", "--no-fix", "--json", path / "audit.json")
    assert result.exit_code == 0, result.output
    return json.loads((path / "audit.json").read_text())


def test_combinations_are_searched_in_one_pass(run, parts):
    """The files are read again to count combinations of columns: the segments are those of the rows."""
    streamed = found_in(run, parts, parts / "1.parquet", parts / "2.parquet", "--prob", "p")
    rows = found_in(run, parts, parts / "all.csv", "--prob", "p")
    assert any(len(one["where"]) == 2 for one in rows["segments"]["found"])
    for found, wanted in zip(streamed["segments"]["found"], rows["segments"]["found"], strict=True):
        assert (found["where"], found["n"]) == (wanted["where"], wanted["n"])
        assert (found["gap"], found["high"]) == pytest.approx((wanted["gap"], wanted["high"]), rel=1e-9)


def test_a_note_says_where_combinations_cannot_be_counted(run, parts):
    """Single columns are searched then."""
    found = found_in(run, parts, parts / "1.parquet", parts / "2.parquet", "--prob", "percent", "--percent")
    assert all(len(one["where"]) == 1 for one in found["segments"]["found"])
    assert any(
        note == "only single columns were searched for segments, because combinations could not be counted: scores are "
        "in percent"
        for note in found["notes"]
    )


# --- columns that were not searched -----------------------------------------------------------------------------------


def test_other_columns_are_named_after_the_audit(run, tables, tmp_path):
    """One sentence says what could be searched: not ids, and not if segments were asked for or the answer alone."""
    said = "All rows were judged together. To look for segments with wrong scores by site, age, add --find-segments."
    asked = ("audit", tables / "patients.csv", "--no-fix")
    assert said in " ".join(run(*asked).output.split())
    for options in (["--quiet"], ["--by", "site"], ["--find-segments"], ["--weight", "age", "--cluster", "site"]):
        assert "add --find-segments" not in run(*asked, *options).output
    wide = patients(50).select("p", "y", *(polars.col("site").alias(f"column {i}") for i in range(8)))
    wide.write_parquet(tmp_path / "wide.parquet")
    output = " ".join(run("audit", tmp_path / "wide.parquet", "--no-fix").output.split())
    assert "by column 0, column 1, column 2, column 3, column 4, column 5 and others, add --find-segments." in output
