"""One table in many formats: the same predictions, or a sentence with the line."""

from __future__ import annotations

import gzip
import io
import os
import threading
from types import SimpleNamespace

import numpy as np
import polars
import pytest

from believable import read_predictions
from believable.errors import InputError
from believable.readers import load, read_table
from believable.readers.formats import FORMAT_NAMES, FORMATS, format_by_ending, sniffed
from believable.readers.formats.base import polars_before
from tests.needs import real_data

P = np.array([0.1, 0.8, 0.4])
Y = np.array([0, 1, 1])
MATRIX = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
LINES = '{"y": 0, "p": 0.1}\n{"y": 1, "p": 0.8}\n{"y": 1, "p": 0.4}\n'


def saved(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def parquet(**columns):
    stream = io.BytesIO()
    polars.DataFrame(columns).write_parquet(stream)
    return stream.getvalue()


def put(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def refused(path, **asked):
    with pytest.raises(InputError) as error:
        load(path, **asked)
    assert path == "-" or path.name in str(error.value)
    return str(error.value)


# Of every format, the same table; what is here is also given more columns in tests/writers.
SAME = {
    "t.csv": b"y,p\n0,0.1\n1,0.8\n1,0.4\n",
    "t.csv.gz": gzip.compress(b"y,p\n0,0.1\n1,0.8\n1,0.4\n"),
    "t.tsv": b"y\tp\n0\t0.1\n1\t0.8\n1\t0.4\n",
    "t.tsv.gz": gzip.compress(b"y\tp\n0\t0.1\n1\t0.8\n1\t0.4\n"),
    "t.jsonl": LINES.encode(),
    "t.ndjson": LINES.encode(),
    "T.JSONL.GZ": gzip.compress(LINES.encode()),
    "t.parquet": parquet(y=Y, p=P),
    "t[1].parquet": parquet(y=Y, p=P),
    "t[1].jsonl": LINES.encode(),
    "t.npz": saved(y=Y, p=P),
}


@pytest.mark.parametrize("name", SAME)
def test_every_format_holds_the_same(tmp_path, name):
    """The ending says what a file is."""
    read = read_predictions(put(tmp_path, name, SAME[name]))
    assert read.scores.tolist() == P.tolist()
    assert read.labels.tolist() == Y.tolist()
    assert read_table(tmp_path / name).sort("p")["p"].to_list() == sorted(P)


@pytest.mark.parametrize("name", [name for name in SAME if not name.startswith("t[")])
def test_standard_input_is_recognised(monkeypatch, name):
    """The first bytes say what it is."""
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(SAME[name])))
    loaded = load("-")
    assert loaded.title == "standard input"
    assert loaded.predictions.scores.tolist() == P.tolist()


def test_standard_input_is_named_in_errors(monkeypatch):
    """Empty input, and a bad cell with its line."""
    for data, sentence in (
        (b"", "standard input is empty"),
        (b"y,p\n1,x\n", "standard input (scores p, labels y): column 'p' must hold numbers, got the text 'x' at row 0"),
    ):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        assert sentence in refused("-")


def test_sniffing_looks_past_marks_and_blanks():
    """A byte order mark and blank lines come before what decides; a tab counts in the first line only."""
    assert sniffed(b'\xef\xbb\xbf\n {"p": 1}').name == "jsonl"
    assert sniffed(b"y,p\n1\t,2").name == "csv"
    assert sniffed(b"PAR1").name == "parquet"
    assert sniffed(b"PK\x03\x04").name == "npz"


def test_a_format_can_be_said(tmp_path):
    """It goes before the ending; an unknown one is refused."""
    path = put(tmp_path, "t.txt", SAME["t.tsv"])
    assert read_predictions(path, format="tsv").labels.tolist() == Y.tolist()
    *endings, last = (ending for one in FORMATS for ending in one.endings)
    assert endings[:5] == [".csv", ".tsv", ".parquet", ".jsonl", ".ndjson"]
    assert f"must end in {', '.join(endings)} or {last}; otherwise name its format with format" in refused(path)
    assert FORMAT_NAMES[:5] == ("csv", "tsv", "parquet", "jsonl", "npz")
    names = ", ".join(map(repr, FORMAT_NAMES))
    with pytest.raises(InputError, match=f"format must be one of {names}, got 'xml'"):
        read_predictions(path, format="xml")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_read_like_standard_input(tmp_path):
    """What a shell writes as <(...)."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(SAME["t.jsonl"],))
    writer.start()
    assert read_predictions(pipe).labels.tolist() == Y.tolist()
    writer.join()


def test_damaged_files_are_refused(tmp_path):
    """Each with its name."""
    assert "is compressed and damaged" in refused(put(tmp_path, "d.csv.gz", SAME["t.csv.gz"][:-9]))
    assert "cannot be read as parquet" in refused(put(tmp_path, "d.parquet", SAME["t.parquet"][:-9]))
    assert "cannot be read as npz" in refused(put(tmp_path, "d.npz", SAME["t.npz"][:-9]))


def test_every_format_has_a_sample():
    """So that each is read, recognised, and given more columns (`tests/writers/test_add_columns.py`)."""
    assert {format_by_ending(name).name for name in SAME} == set(FORMAT_NAMES)
    endings = [ending for one in FORMATS for ending in one.endings]
    assert len({*endings}) == len(endings)
    assert len({*FORMAT_NAMES}) == len(FORMATS)


# --- JSON lines -------------------------------------------------------------------------------------------------------


BAD_LINES = {
    "not JSON": ('{"y": 1, "p": 0.5}\n\n{"y": 0, "p":\n', "bad.jsonl, line 3, character 14: this is not JSON"),
    "a list": ('[{"y": 1, "p": 0.5}]\n', "contains a JSON array: write one object per line"),
    "a number": ('{"y": 1, "p": 0.5}\n3\n', "line 2: one JSON object per line is needed, got 3"),
    "lacks a key": ('{"y": 1, "p": 0.5}\n\n{"y": 0}\n', "column 'p' has a missing score at row 1 (line 3)"),
    "NaN": ('{"y": 1, "p": 0.5}\n{"y": 0, "p": NaN}\n', "column 'p' has a missing score at row 1 (line 2)"),
    "objects": ('{"y": 1, "p": {"a": 1}}\n', "column 'p' must hold numbers, got nested values at row 0 (line 1)"),
    "an object": (
        '{"y": 1, "p": 0.5}\n{"y": 1, "p": {"a": 1}}\n',
        "column 'p' must hold numbers, got the text '{\"a\": 1}' at row 1 (line 2)",
    ),
    "a word": ('{"y": 1, "p": 0.5}\n{"y": 0, "p": "high"}\n', "got the text 'high' at row 1 (line 2)"),
    "true and 1": ('{"y": true, "p": 0.5}\n{"y": 1, "p": 0.5}\n', "column 'y' holds text (1, true)"),
    "a list as label": ('{"y": [1], "p": 0.5}\n', "column 'y' must hold one label per row, got nested values"),
    "ragged lists": (
        '{"y": 1, "p": [0.5, 0.5]}\n{"y": 0, "p": [1]}\n',
        "lists in column 'p' must have the same length, got 2 at row 0 (line 1) and 1 at row 1 (line 2)",
    ),
    "lists of one": ('{"y": 1, "p": [0.5]}\n', "must have one entry per class, got 1 at row 0"),
    "lists of words": ('{"y": 1, "p": ["a", "b"]}\n', "must hold numbers, got values of type String at row 0"),
    "gap in a list": ('{"y": 1, "p": [0.5, null]}\n', "column 'p' has a missing score at row 0 (line 1)"),
    "names without classes": ('{"y": "a", "p": [0.5, 0.5]}\n', "holds text (a): name them, in order, with classes"),
    "no keys": ("{}\n", "holds objects without any keys"),
}


# Nested values of one kind, which an older Polars is not trusted to read, are then text.
NESTED = ("objects", "lists of words", "gap in a list")


@pytest.mark.parametrize("what", BAD_LINES)
def test_bad_json_lines_are_refused(tmp_path, what):
    """The sentence names the line as an editor counts, blank lines included."""
    text, sentence = BAD_LINES[what]
    said = refused(put(tmp_path, "bad.jsonl", text))
    assert sentence in said or (what in NESTED and polars_before(1, 36) and "must hold numbers, got" in said)


def test_json_that_is_not_utf8(tmp_path):
    """The line is named."""
    path = put(tmp_path, "bad.jsonl", b'{"y": 1, "p": 0.5}\n{"y": 1, "p": 0.5, "n": "caf\xe9"}\n')
    assert "line 2: this is not UTF-8 text" in refused(path)


def test_json_types_that_come_late(tmp_path):
    """A key or a fraction after thousands of lines is read; other columns may hold anything."""
    early = '{"y": 1, "p": 0, "m": {"a": 1}}\n' * 5000
    path = put(tmp_path, "late.jsonl", early + '{"y": 0, "p": 0.25, "m": 3, "w": 2}\n')
    assert read_predictions(path).scores[-1] == 0.25
    assert load(path, weight="w", drop_missing=True).dropped == {"missing weight": 5000}


def test_careful_reading_is_the_same_reading(tmp_path):
    """A NaN elsewhere sends a file the slow way, with the same numbers, truth values, text and lists."""
    rows = '{"y": true, "p": [1, 0], "s": "a", "n": 1}\n{"y": false, "p": [0.25, 0.75], "s": null, "n": 0}\n'
    quick = read_table(put(tmp_path, "quick.jsonl", rows))
    slow = read_table(put(tmp_path, "slow.jsonl", rows.replace("}", ', "x": NaN}')))
    assert quick.equals(slow.drop("x"))


def test_lists_are_matrices(tmp_path):
    """One entry per class, in JSON lines and Parquet; the classes may be named."""
    lines = "".join(f'{{"label": {y}, "probs": {row.tolist()}}}\n' for row, y in zip(MATRIX, [0, 1, 2], strict=True))
    path = put(tmp_path, "m.jsonl", lines)
    assert np.array_equal(load(path).predictions.scores, MATRIX)
    named = load(path, classes=["cat", "dog", "owl"]).predictions
    assert named.labels.tolist() == [0, 1, 2]
    assert named.class_name(2) == "owl"
    assert "must count the 3 classes from 0, got 5 at row 1" in refused(
        put(tmp_path, "five.jsonl", lines.replace('"label": 1', '"label": 5')), classes=["cat", "dog", "owl"]
    )
    fixed = polars.Series(MATRIX.tolist(), dtype=polars.Array(polars.Float64, 3))
    path = put(tmp_path, "m.parquet", parquet(label=[0, 1, 2], probs=fixed))
    assert np.array_equal(load(path).predictions.scores, MATRIX)
    words = put(tmp_path, "w.jsonl", '{"y": "b", "p": [20, 80]}\n{"y": "a", "p": [90, 10]}\n')
    assert load(words, percent=True, classes=["a", "b"]).predictions.scores.tolist() == [[0.2, 0.8], [0.9, 0.1]]
    assert "must lie in [0, 100], got 101 at row 0" in refused(
        put(tmp_path, "p.jsonl", '{"y": 0, "p": [101, 0]}\n'), percent=True
    )


def test_types_of_parquet(tmp_path):
    """Decimals, single precision, categories; dates are no scores."""
    numbers = {
        "decimal": polars.Series(["0.25", "0.75"]).cast(polars.Decimal(10, 4)),
        "single": polars.Series([0.25, 0.75], dtype=polars.Float32),
        "text": polars.Series(["0.25", " 0.75"]),
        "category": polars.Series(["0.25", "0.75"], dtype=polars.Categorical),
    }
    for name, p in numbers.items():
        path = put(tmp_path, f"{name}.parquet", parquet(y=polars.Series(["n", "y"], dtype=polars.Categorical), p=p))
        assert load(path, pos_label="y").predictions.scores.tolist() == [0.25, 0.75], name
    dates = put(tmp_path, "dates.parquet", parquet(y=[0, 1], p=polars.Series([1, 2]).cast(polars.Date)))
    assert "column 'p' must hold numbers, got values of type Date at row 0" in refused(dates)


# --- npz --------------------------------------------------------------------------------------------------------------


SHAPES = {
    "columns": {"probs": P, "labels": Y},
    "column vectors": {"probs": P[:, None], "labels": Y[:, None]},
    "big endian": {"probs": P.astype(">f8"), "labels": Y.astype(">i4")},
    "truth values": {"scores": P, "y_true": Y == 1},
    "others beside": {"probs64": P, "labels": Y, "loss": np.array(0.5), "images": np.zeros((3, 2, 2)), "fold": Y[:2]},
}


@pytest.mark.parametrize("arrays", SHAPES.values(), ids=SHAPES)
def test_arrays_are_columns(tmp_path, arrays):
    """Whatever else the archive holds."""
    read = load(put(tmp_path, "a.npz", saved(**arrays))).predictions
    assert read.scores.tolist() == P.tolist()
    assert read.labels.tolist() == Y.tolist()


def test_a_matrix_is_a_column_per_class(tmp_path):
    """By its own name, or by the ones of its columns; half precision is widened."""
    path = put(tmp_path, "m.npz", saved(probabilities=MATRIX, labels=[0, 1, 2]))
    loaded = load(path)
    assert np.array_equal(loaded.predictions.scores, MATRIX)
    assert loaded.taken == "scores probabilities_0 … probabilities_2 (3 classes), labels labels"
    assert np.array_equal(load(path, prob="probabilities").predictions.scores, MATRIX)
    assert load(path, classes=["a", "b", "c"]).predictions.class_name(1) == "b"
    halves = put(tmp_path, "h.npz", saved(logits=np.zeros((2, 3), np.float16), probs=MATRIX[:2], labels=[0, 1]))
    assert np.allclose(load(halves, from_logits=True).predictions.scores, 1 / 3)
    parts = put(tmp_path, "p.npz", saved(q_a=P, q_b=1 - P, y=np.array(["b", "a", "a"])))
    assert load(parts, prob_prefix="q_").predictions.labels.tolist() == [1, 0, 0]


def test_pairs_are_not_mixed_up(tmp_path):
    """probs and labels are taken, with a note; half of another pair must be completed where two would fit."""
    other = {"probs_cal": P[::-1], "labels_cal": Y[::-1]}
    path = put(tmp_path, "pairs.npz", saved(**other, probs=P, labels=Y))
    loaded = load(path)
    assert loaded.predictions.scores.tolist() == P.tolist()
    assert loaded.notes == ("other arrays in the file, not read: probs_cal, labels_cal",)
    assert load(path, prob="probs", label="labels").predictions.labels.tolist() == Y.tolist()
    both = load(path, prob="probs_cal", label="labels_cal").predictions
    assert both.labels.tolist() == Y[::-1].tolist()
    assert "several arrays could be the labels of probs_cal: labels_cal, labels; choose one with label" in refused(
        path, prob="probs_cal"
    )
    assert "several arrays could be the scores of labels_cal: probs_cal, probs; choose" in refused(
        path, label="labels_cal"
    )
    short = {name: array[:2] for name, array in other.items()}
    path = put(tmp_path, "short.npz", saved(**short, probs=P, labels=Y))
    assert load(path, prob="probs_cal").taken == "scores probs_cal, labels labels_cal"
    assert load(path, label="labels_cal").taken == "scores probs_cal, labels labels_cal"
    assert "the arrays differ in length: probs 3, labels_cal 2" in refused(path, prob="probs", label="labels_cal")
    with pytest.raises(InputError, match=r"short\.npz holds arrays of different lengths"):
        read_table(path)


def test_arrays_that_cannot_be_columns(tmp_path):
    """One-hot labels, objects, nothing at all, two that could be meant."""
    for arrays, sentence in (
        (
            {"probs": MATRIX, "labels": np.eye(3)},
            "has shape (3, 3): one entry per row is needed; for one-hot rows, save labels.argmax(axis=1); for several labels per row",
        ),
        ({"probs": P, "labels": np.array([1, "a", None], object)}, "an array holds Python objects, which are not read"),
        ({"loss": np.array(0.5)}, "has no array of one or two dimensions that is not empty"),
        ({"probs": np.zeros(0), "labels": np.zeros(0)}, "has no array of one or two dimensions that is not empty"),
        ({"probs": MATRIX, "scores": P, "labels": Y}, "several columns could be the scores: probs, scores"),
        ({"a": P, "labels": Y}, "no column has one of the usual names for scores"),
        (
            {"probs": np.array([0.5, np.nan, 1]), "labels": Y},
            "column 'probs' has a missing score at row 1; fill in the value",
        ),
    ):
        assert sentence in refused(put(tmp_path, "bad.npz", saved(**arrays)))
    path = put(tmp_path, "typo.npz", saved(probs=P, labels=Y))
    assert "there is no column 'prob' (did you mean 'probs'?); there are probs, labels" in refused(path, prob="prob")


def test_clusters_and_subgroups_of_arrays(tmp_path):
    """They are arrays of the same length."""
    path = put(tmp_path, "g.npz", saved(probs=P, labels=Y, query=[7, 7, 9], land=np.array(["u", "v", "u"])))
    loaded = load(path, cluster="query", by="land")
    assert loaded.clusters.tolist() == [7, 7, 9]
    assert loaded.by["land"].tolist() == ["u", "v", "u"]
    assert loaded.notes == ()


def test_real_archives_are_read():
    """Every file of real predictions, with the pair it documents."""
    paths = sorted(real_data().glob("*.npz"))
    assert paths
    for path in paths:
        loaded = load(path)
        with np.load(path) as arrays:
            scores = arrays["probs64" if "probs64" in arrays else "probs"]
            assert np.array_equal(loaded.predictions.scores, scores), path.name
            assert np.array_equal(loaded.predictions.labels, arrays["labels"]), path.name
            assert bool(loaded.notes) == ("probs_cal" in arrays), path.name
