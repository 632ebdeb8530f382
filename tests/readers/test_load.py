"""`load`: what is left out is counted, and what belongs to a row stays with it."""

from __future__ import annotations

import io
from datetime import datetime

import numpy as np
import polars
import pytest

from believable import Predictions, expected_calibration_error, interval, subgroups
from believable._progress import reading
from believable.errors import InputError
from believable.readers import Loaded, choose_columns, load
from believable.readers.formats.base import Source
from believable.readers.formats.delimited import CSV


def put(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def refused(path, **asked):
    with pytest.raises(InputError) as error:
        load(path, **asked)
    assert path.name in str(error.value)
    return str(error.value)


def test_everything_about_a_file(tmp_path):
    """Predictions, title and what was taken; nothing else unless asked for."""
    loaded = load(put(tmp_path, "y,p,id\n1,0.5,a\n0,0.25,b\n"))
    assert isinstance(loaded, Loaded)
    assert isinstance(loaded.predictions, Predictions)
    assert (loaded.title, loaded.taken) == ("data.csv", "scores p, labels y")
    assert (loaded.clusters, loaded.by, loaded.dropped, loaded.notes) == (None, {}, {}, ())


HOLES = """p,y,w,query,land
0.1,0,1,a,u
,1,1,b,v
,,1,c,u
0.4,,,d,v
0.5,1,,e,u
0.6,0,1,,v
0.7,1,0,g,u
0.8,1,2,h,
0.9,1,3,i,v
"""


def test_rows_that_lack_something_are_counted_once(tmp_path):
    """By score, label, weight, cluster, in this order; then weight 0. A missing subgroup stays."""
    loaded = load(put(tmp_path, HOLES), weight="w", cluster="query", by=["land", "query"], drop_missing=True)
    assert loaded.dropped == {
        "missing score": 2,
        "missing label": 1,
        "missing weight": 1,
        "missing cluster": 1,
        "weight 0": 1,
    }
    assert loaded.predictions.scores.tolist() == [0.1, 0.8, 0.9]
    assert loaded.predictions.labels.tolist() == [0, 1, 1]
    assert loaded.predictions.weights.tolist() == [1, 2, 3]
    assert loaded.clusters.tolist() == ["a", "h", "i"]
    assert loaded.by["land"].tolist() == ["u", None, "v"]
    assert loaded.by["query"].tolist() == ["a", "h", "i"]
    assert len(loaded.predictions) + sum(loaded.dropped.values()) == 9


def test_columns_that_were_not_asked_for_may_have_holes(tmp_path):
    """Only what is used is looked at."""
    assert load(put(tmp_path, HOLES), drop_missing=True).dropped == {"missing score": 2, "missing label": 1}


def test_alignment_at_random(tmp_path):
    """Whatever is dropped, each entry of groups and by belongs to its row."""
    rng = np.random.default_rng(1)
    n = 400
    p = np.round(rng.random(n), 6)

    def with_holes(values):
        return [None if rng.random() < 0.1 else value for value in values.tolist()]

    frame = polars.DataFrame(
        {
            "p": with_holes(p),
            "y": with_holes(rng.integers(0, 2, n)),
            "w": rng.integers(0, 3, n),
            "query": with_holes(rng.integers(0, 40, n)),
            "copy": p,
        }
    )
    expected = []
    for score, label, weight, query, copy in frame.rows():
        if None not in (score, label, query) and weight > 0:
            expected.append((score, label, weight, query, copy))
    for name in ("a.csv", "a.parquet", "a.jsonl"):
        path = tmp_path / name
        getattr(frame, {"csv": "write_csv", "parquet": "write_parquet", "jsonl": "write_ndjson"}[name[2:]])(path)
        loaded = load(path, weight="w", cluster="query", by="copy", drop_missing=True)
        read = loaded.predictions
        columns = (read.scores, read.labels, read.weights, loaded.clusters, loaded.by["copy"])
        assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected
        assert sum(loaded.dropped.values()) == n - len(expected)


def test_what_is_loaded_goes_into_inference(tmp_path):
    """Clusters and subgroups fit the predictions, rows of weight 0 or not."""
    rng = np.random.default_rng(2)
    lines = [f"{p:.3f},{int(rng.random() < p)},{i % 4},{i // 5},{'uv'[i % 2]}" for i, p in enumerate(rng.random(300))]
    loaded = load(put(tmp_path, "\n".join(["p,y,w,query,land", *lines])), weight="w", cluster="query", by="land")
    assert loaded.dropped == {"weight 0": 75}
    found = interval("ece", loaded.predictions, clusters=loaded.clusters, random_state=0)
    assert found.value == expected_calibration_error(loaded.predictions)
    groups = subgroups(loaded.predictions, by=loaded.by, n_resamples=100, random_state=0)
    assert sum(group.n for group in groups) == 225


def test_missing_values_are_errors_with_a_way_out(tmp_path):
    """Which column, where, how many, and what to do."""
    out = "fill in the value, or leave such rows out with drop_missing=True"
    path = put(tmp_path, HOLES)
    assert refused(path).endswith(f"column 'p' has a missing score at row 1 (line 3), and at 1 more; {out}")
    unlabelled = put(tmp_path, "p,y\n0.5,\n0.25,1\n", "unlabelled.csv")
    assert refused(unlabelled).endswith(f"column 'y' has a missing label at row 0 (line 2); {out}")
    few = put(tmp_path, "p,y,w,q\n0.5,1,1,a\n0.5,0,,b\n0.25,1,1,\n", "few.csv")
    assert refused(few, weight="w").endswith(f"column 'w' has a missing weight at row 1 (line 3); {out}")
    assert refused(few, cluster="q").endswith(f"column 'q' has a missing cluster at row 2 (line 4); {out}")
    assert "there is nothing to measure" in refused(put(tmp_path, "p,y\n,1\n0.5,\n", "none.csv"), drop_missing=True)


def test_rows_in_errors_are_those_of_the_file(tmp_path):
    """Also when rows before them were left out."""
    path = put(tmp_path, "p,y\n,1\n0.5,\n0.5,1\n1.5,0\n")
    assert "got 1.5 at row 3 (line 5)" in refused(path, drop_missing=True)
    path = put(tmp_path, "p,y\n,1\n0.5,1\n0.5,7\n")
    assert "got 7 at row 2 (line 4)" in refused(path, drop_missing=True)


PERCENTAGES = {
    "signs": ("85%\n40%\n0%\n100%", False),
    "spaces": ("85 %\n 40 %\n0 %\n100.0 %", False),
    "numbers": ("85\n40\n0\n100", True),
    "both": ("85%\n40\n0\n100 %", True),
}


@pytest.mark.parametrize(("scores", "percent"), PERCENTAGES.values(), ids=PERCENTAGES)
def test_percentages(tmp_path, scores, percent):
    """Signs, or the word of the caller, divide by 100; the taken columns say so."""
    text = "confidence,correct\n" + "".join(f"{score},{i % 2}\n" for i, score in enumerate(scores.split("\n")))
    loaded = load(put(tmp_path, text), percent=percent)
    assert loaded.predictions.scores.tolist() == [0.85, 0.4, 0.0, 1.0]
    assert loaded.taken == "scores confidence (percentages), labels correct"


def test_percentages_that_are_none(tmp_path):
    """Out of range, mixed with numbers, logits too; and those that look like probabilities get a note."""
    assert "percentages in column 'p' must lie in [0, 100], got 130 at row 1 (line 3)" in refused(
        put(tmp_path, "y,p\n1,85\n0,130\n"), percent=True
    )
    assert "got -1 at row 0" in refused(put(tmp_path, "y,p\n1,-1%\n0,3%\n"))
    assert "not both" in refused(put(tmp_path, "y,p\n1,85\n0,30\n"), percent=True, from_logits=True)
    assert "not both" in refused(put(tmp_path, "y,p\n1,85%\n0,30%\n"), from_logits=True)
    path = put(tmp_path, "y,p\n1,85\n0,30\n")
    assert "percent=True" in refused(path)
    assert "from_logits=True" in refused(path)
    assert load(put(tmp_path, "y,p\n1,0.85\n0,0.3\n"), percent=True).notes == (
        "no percentage is above 1 %: if the scores were probabilities already, leave percent out",
    )
    assert load(put(tmp_path, "y,p\n1,85%\n0,\n1,NA\n"), drop_missing=True).dropped == {"missing score": 2}


def test_logits_are_said_to_be_such(tmp_path):
    """The taken columns say so."""
    loaded = load(put(tmp_path, "y,logit\n1,0\n0,-2\n"), from_logits=True)
    assert loaded.taken == "scores logit (logits), labels y"
    assert loaded.predictions.scores[0] == 0.5


def test_labels_that_are_text(tmp_path):
    """They need pos_label or two classes; text that spells numbers is numbers."""
    path = put(tmp_path, "y,p\nyes ,0.5\nno,0.25\n")
    assert "column 'y' holds text (no, yes): name the one that counts as 1 with pos_label" in refused(path)
    assert load(path, pos_label="yes").predictions.labels.tolist() == [1, 0]
    assert load(path, classes=["no", "yes"]).predictions.labels.tolist() == [1, 0]
    assert "pos_label='maybe' does not occur" in refused(path, pos_label="maybe")
    spelt = put(tmp_path, '{"y": "1", "p": "0.5"}\n{"y": " 0", "p": "0.25"}\n', "spelt.jsonl")
    assert load(spelt).predictions.labels.tolist() == [1, 0]
    blank = put(tmp_path, '{"y": "yes", "p": 0.5}\n{"y": " ", "p": 0.25}\n', "blank.jsonl")
    assert load(blank, pos_label="yes", drop_missing=True).dropped == {"missing label": 1}


def test_one_outcome_is_noted(tmp_path):
    """It is measured, and said."""
    assert load(put(tmp_path, "y,p\n1,0.5\n1,0.25\n")).notes == ("every outcome in column y is the same, 1",)


def test_the_separator_is_noted(tmp_path):
    """A csv without commas says what was taken instead."""
    assert load(put(tmp_path, "y;p\n1;0,5\n0;0,25\n")).notes == ("the columns are separated by semicolons",)


def test_names_of_clusters_and_subgroups(tmp_path):
    """Numbers stay numbers, even if one is missing; dates and categories are text."""
    text = "y,p,n,d,h\n1,0.5,3,2024-05-01,1\n0,0.25,4,2024-05-02,\n"
    by = load(put(tmp_path, text), by=["n", "d", "h"]).by
    assert {name: values.tolist() for name, values in by.items()} == {
        "n": [3, 4],
        "d": ["2024-05-01", "2024-05-02"],
        "h": [1, None],
    }


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("y;p;n\n1;0,5;1,5\n0;0,25;20\n", [1.5, 20]),
        ("y,p,n\n1,0.5, 1\n0,0.25, 2\n", [1, 2]),
        ("y,p,n\n1,0.5, 1.5\n0,0.25,\n", [1.5, None]),
        ("y;p;n\n1;0,5;1,50\n0;0,25;1,5\n", ["1.50", "1.5"]),
        ("y;p;n\n1;0,5;1,234\n0;0,25;987\n", ["1,234", "987"]),
        ("y,p,n\n1,0.5, 01\n0,0.25, 2\n", ["01", "2"]),
        ("y,p,n\n1,0.5, 1\n0,0.25, a\n", ["1", "a"]),
        ("y;p;n\n1;0,5;1e3\n0;0,25;2\n", [1000, 2]),
    ],
)
def test_numbers_in_columns_of_subgroups(tmp_path, text, values):
    """With decimal commas or spaces around them they are numbers, unless names would become the same."""
    assert load(put(tmp_path, text), by="n").by["n"].tolist() == values


def test_times_in_columns_of_subgroups(tmp_path):
    """They are named as Python writes them, so that a map by segment has the same levels in a file and in Python."""
    times = [datetime(2024, 5, 1), datetime(2024, 5, 1, 12, 30, 0, 250), None]
    path = tmp_path / "t.parquet"
    polars.DataFrame({"y": [0, 1, 1], "p": [0.2, 0.7, 0.4], "t": times}).write_parquet(path)
    assert load(path, by="t").by["t"].tolist() == [None if time is None else str(time) for time in times]


def test_only_what_is_needed_is_read(tmp_path):
    """A column that could not be read does no harm where nobody asks for it."""
    stream = io.BytesIO()
    polars.DataFrame({"y": [1, 0], "p": [0.5, 0.25], "x": [{"a": 1}, {"a": 2}]}).write_parquet(stream)
    path = tmp_path / "x.parquet"
    path.write_bytes(stream.getvalue())
    assert load(path).predictions.scores.tolist() == [0.5, 0.25]
    assert "column 'x' must hold one value per row, got nested values at row 0" in refused(path, by="x")


def test_progress_is_shown_when_asked_and_then_gone(tmp_path, capsys):
    """On the error stream; silent otherwise, since this is no terminal."""
    path = put(tmp_path, "y,p\n1,0.5\n0,0.25\n", "data[1].csv")
    load(path)
    assert capsys.readouterr() == ("", "")
    load(path, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "Reading" in err
    assert "data[1].csv (0 MB)" in err
    with reading(Source("big", CSV, b"x"), False):
        pass
    assert capsys.readouterr() == ("", "")


def test_clusters_by_the_name_they_had(tmp_path):
    """`group=` still names the column of clusters, with a word about it, and `groups` still holds them."""
    path = put(tmp_path, "p,y,query\n0.5,1,a\n0.5,0,b\n")
    with pytest.warns(FutureWarning, match="^group is now called cluster$"):
        loaded = load(path, group="query")
    assert loaded.groups.tolist() == loaded.clusters.tolist() == ["a", "b"]
    assert choose_columns(["p", "y", "query"], cluster="query").group == "query"
