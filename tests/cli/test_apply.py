"""`believable apply`: the numbers it adds, and all that it leaves as it is."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile

import numpy as np
import polars
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

from believable.cli import main
from believable.recalibrate import (
    Identity,
    IsotonicCalibration,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
    load_recalibrator,
)
from tests.writers.scores import N, scores, softmax

CLASSES = ["cat", "o,wl", "dog"]


def run(*arguments, **options):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **options)


@pytest.fixture
def platt(tmp_path):
    """A map of one event's probability."""
    z, y, _, _ = scores()
    path = tmp_path / "map.json"
    PlattScaling().fit(1 / (1 + np.exp(-z)), y).to_json(path)
    return path


@pytest.fixture
def matrix(tmp_path):
    """A map of three classes that have names."""
    _, _, logits, label = scores()
    path = tmp_path / "matrix.json"
    VectorScaling(classes=CLASSES).fit(softmax(logits), np.array(CLASSES)[label]).to_json(path)
    return path


@pytest.mark.slow
def test_fit_then_apply(tmp_path):
    """The two commands together give what the library gives."""
    import believable

    z, y, _, _ = scores(300)
    old, new, saved = tmp_path / "old.csv", tmp_path / "new.csv", tmp_path / "fitted.json"
    polars.DataFrame({"y": y.astype(int), "logit": z}).write_csv(old)
    assert run("fit", old, "--logits", "--method", "platt", "-o", saved).exit_code == 0
    result = run("apply", saved, old, "-o", new)
    assert result.exit_code == 0, result.output
    assert f"old.csv: 300 rows; used scores logit, added p_calibrated; written to {new}" in result.output
    expected = believable.calibrate(z, y, "platt", input="logits").transform(z)
    assert polars.read_csv(new)["p_calibrated"].to_list() == expected.tolist()


def test_parquet_keeps_its_types(tmp_path, platt):
    """Floats of 32 bits, categories, dates, decimals, lists and nulls come out as they went in."""
    p = (1 / (1 + np.exp(-scores(seed=1)[0]))).astype(np.float32)
    frame = polars.DataFrame(
        {
            "p": p,
            "word": polars.Series(["a", None] * (N // 2), dtype=polars.Categorical),
            "day": polars.Series(range(N)).cast(polars.Date),
            "at": polars.Series(range(N)).cast(polars.Datetime("ns", "UTC")),
            "money": polars.Series(range(N)).cast(polars.Decimal(20, 4)),
            "small": polars.Series([1, 2] * (N // 2), dtype=polars.UInt8),
            "list": [[1, 2], []] * (N // 2),
            "made": [{"a": 1}] * N,
        }
    )
    old, new = tmp_path / "old.parquet", tmp_path / "new.parquet"
    frame.write_parquet(old, row_group_size=70)
    result = run("apply", platt, old, "-o", new)
    assert result.exit_code == 0, result.output
    wider = polars.read_parquet(new)
    assert wider.columns == [*frame.columns, "p_calibrated"]
    assert_frame_equal(wider.drop("p_calibrated"), frame, categorical_as_str=True)
    assert wider["p_calibrated"].to_list() == load_recalibrator(platt).transform(p).tolist()


def test_parquet_to_text(tmp_path, platt):
    """Types have a text; csv is also what a pipe gets."""
    p = 1 / (1 + np.exp(-scores(seed=1)[0]))
    old = tmp_path / "old.parquet"
    polars.DataFrame({"id": range(N), "p": p}).write_parquet(old)
    expected = load_recalibrator(platt).transform(p).tolist()
    for ending, read in ((".csv", polars.read_csv), (".jsonl", polars.read_ndjson)):
        new = tmp_path / f"new{ending}"
        assert run("apply", platt, old, "-o", new).exit_code == 0
        assert read(new)["p_calibrated"].to_list() == expected
    result = run("apply", platt, old)
    assert polars.read_csv(result.stdout_bytes)["p_calibrated"].to_list() == expected


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_classes_by_the_ends_of_names(tmp_path, matrix, kind):
    """Columns in any order are taken in the order of the map, and one is made for each class."""
    p = softmax(scores(seed=1)[2])
    columns = {"x": ["a"] * N} | {f"q_{CLASSES[k]}": p[:, k] for k in (2, 0, 1)}
    old, new = tmp_path / f"old.{kind}", tmp_path / f"new.{kind}"
    frame = polars.DataFrame(columns)
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[kind](old)
    result = run("apply", matrix, old, "--prob-prefix", "q_", "-o", new)
    assert result.exit_code == 0, result.output
    read = {"csv": polars.read_csv, "parquet": polars.read_parquet, "jsonl": polars.read_ndjson}[kind]
    wider = read(new)
    assert wider.columns == [*frame.columns, *(f"p_calibrated_{name}" for name in CLASSES)]
    assert wider.select(frame.columns).equals(frame)
    assert (wider.to_numpy()[:, 4:].astype(float) == load_recalibrator(matrix).transform(p)).all()


def test_numbers_and_text_name_the_same_class(tmp_path):
    """Classes 0, 1, 2 are the columns p_0, p_1, p_2, also where p_02 is written; a known beginning is found."""
    _, _, logits, label = scores()
    p = softmax(logits)
    saved = tmp_path / "map.json"
    TemperatureScaling().fit(p, label).to_json(saved)
    old = tmp_path / "old.csv"
    old.write_text("p_02,p_0,p_1\n" + "".join(f"{c!r},{a!r},{b!r}\n" for a, b, c in p.tolist()))
    result = run("apply", saved, old)
    assert result.exit_code == 0, result.output
    made = polars.read_csv(result.stdout_bytes).select("p_calibrated_0", "p_calibrated_1", "p_calibrated_2")
    assert (made.to_numpy() == load_recalibrator(saved).transform(p)).all()


def test_raw_scores(tmp_path):
    """A map of any numbers is applied to any numbers."""
    z, y, _, _ = scores()
    recalibrator = IsotonicCalibration(input="scores").fit(100 * z, y)
    recalibrator.to_json(tmp_path / "map.json")
    old = tmp_path / "old.jsonl"
    old.write_text("".join(f'{{"bm25": {v!r}}}\n' for v in (100 * z).tolist()))
    result = run("apply", tmp_path / "map.json", old, "--prob", "bm25", "--scores", "raw")
    assert result.exit_code == 0, result.output
    made = [json.loads(line)["p_calibrated"] for line in result.stdout.splitlines()]
    assert made == recalibrator.transform(100 * z).tolist()


def test_json_keeps_its_text(tmp_path, platt):
    """Numbers that no float holds, escapes, spaces and empty lines stay; the new key comes last."""
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_bytes(
        b'{"n":12345678901234567890.10,"p":0.5}\n\n{"p": "0.25", "s": "\\u00e9 }", "x": {"p_calibrated": 1} }\r\n'
    )
    assert run("apply", platt, old, "-o", new).exit_code == 0
    half, quarter = load_recalibrator(platt).transform([0.5, 0.25]).tolist()
    assert new.read_bytes().decode() == (
        f'{{"n":12345678901234567890.10,"p":0.5, "p_calibrated": {half!r}}}\n\n'
        f'{{"p": "0.25", "s": "\\u00e9 }}", "x": {{"p_calibrated": 1}}, "p_calibrated": {quarter!r}}}\r\n'
    )


def test_spreadsheets_are_read_as_fit_reads_them(tmp_path, platt):
    """Semicolons, decimal commas, Excel's first line, percent signs and spaces around names."""
    half, quarter = map(repr, load_recalibrator(platt).transform([0.5, 0.25]).tolist())
    old = tmp_path / "old.csv"
    for text, options, expected in (
        ("p;x\n0,5;1,5\n", [], f"p;x;p_calibrated\n0,5;1,5;{half}\n"),
        ("sep=;\np;x\n0,25;1\n", [], f"sep=;\np;x;p_calibrated\n0,25;1;{quarter}\n"),
        ("\n p ,x\n50%,1\n25 %,2\n", [], f"\n p ,x,p_calibrated\n50%,1,{half}\n25 %,2,{quarter}\n"),
        ("p,x\n50,1\n", ["--percent"], f"p,x,p_calibrated\n50,1,{half}\n"),
        ("P\n0.5\n", ["--to", "q"], f"P,q\n0.5,{half}\n"),
        ("p,x\n", [], "p,x,p_calibrated\n"),
    ):
        old.write_text(text)
        result = run("apply", platt, old, *options)
        assert result.exit_code == 0, result.output
        assert result.stdout == expected


def test_csv_to_tsv(tmp_path, platt):
    """Cells keep their text and are quoted where the other separator asks for it."""
    old, new = tmp_path / "old.csv", tmp_path / "new.tsv"
    old.write_text('id,p,x\n007,0.5,"a, b"\n1,0.25,"c\td"\n')
    assert run("apply", platt, old, "-o", new).exit_code == 0
    half, quarter = map(repr, load_recalibrator(platt).transform([0.5, 0.25]).tolist())
    assert new.read_text() == f'id\tp\tx\tp_calibrated\n007\t0.5\ta, b\t{half}\n1\t0.25\t"c\td"\t{quarter}\n'


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_overwrite(tmp_path, platt, kind):
    """A column of that name is an error, and is replaced on request."""
    old, new = tmp_path / f"old.{kind}", tmp_path / f"new.{kind}"
    frame = polars.DataFrame({"p": [0.5, 0.25], "p_calibrated": [7.0, 8.0], "x": ["a, b", "c"]})
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[kind](old)
    result = run("apply", platt, old, "-o", new)
    assert result.exit_code == 2
    assert "there is a column 'p_calibrated' already" in result.stderr
    assert "choose another name with --to, or use --overwrite" in result.stderr
    assert not new.exists()
    assert run("apply", platt, old, "-o", new, "--overwrite").exit_code == 0
    read = {"csv": polars.read_csv, "parquet": polars.read_parquet, "jsonl": polars.read_ndjson}[kind]
    expected = frame.with_columns(p_calibrated=load_recalibrator(platt).transform([0.5, 0.25]))
    assert read(new).select(frame.columns).equals(expected)


def test_overwriting_a_key_keeps_the_text_of_the_others(tmp_path, platt):
    """Numbers that no float holds, escapes and nested values stay; the key is left out wherever it stands."""
    old = tmp_path / "old.jsonl"
    old.write_text(
        ' { "p_calibrated" : {"a": [1, "}"]} , "p":0.50 ,"p_calibrated":2,"e":1e400, "s":"\\u00e9\\/" } \n'
        '{"p":0.25, "p_calibrated":"}"}\n{"p_calibrated":0,"p":0.5}'
    )
    half, quarter = load_recalibrator(platt).transform([0.5, 0.25]).tolist()
    assert run("apply", platt, old, "--overwrite").stdout == (
        f' {{"p":0.50, "e":1e400, "s":"\\u00e9\\/", "p_calibrated": {half!r}}} \n'
        f'{{"p":0.25, "p_calibrated": {quarter!r}}}\n{{"p":0.5, "p_calibrated": {half!r}}}'
    )


def test_percent_signs_in_some_rows_of_parquet(tmp_path, platt):
    """Also where one piece of the file has signs in every row and the next has none."""
    old, new = tmp_path / "old.parquet", tmp_path / "new.parquet"
    polars.DataFrame({"p": ["10%"] * 300_000 + ["0.3"]}).write_parquet(old, row_group_size=10_000)
    result = run("apply", platt, old, "-o", new)
    assert result.exit_code == 2
    assert "got the text '10%' at row 0 but '0.3', without a percent sign, at row 300000" in result.stderr
    polars.DataFrame({"p": ["50%", None, "25 %"]}).write_parquet(old)
    assert run("apply", platt, old, "-o", new, "--missing", "keep").exit_code == 0
    half, quarter = load_recalibrator(platt).transform([0.5, 0.25]).tolist()
    assert polars.read_parquet(new)["p_calibrated"].to_list() == [half, None, quarter]


@pytest.mark.parametrize("scale", ["logits", "scores"])
def test_logits_are_no_percentages(tmp_path, scale):
    """A hundredth of a logit is another logit: refused, as by fit."""
    z, y, _, _ = scores()
    PlattScaling(input=scale).fit(z, y).to_json(tmp_path / "map.json")
    (tmp_path / "plain.csv").write_text("z\n2\n-1\n")
    (tmp_path / "signed.csv").write_text("z\n50%\n20%\n")
    polars.DataFrame({"z": ["50%", "20%"]}).write_parquet(tmp_path / "signed.parquet")
    result = run("apply", tmp_path / "map.json", tmp_path / "plain.csv", "--prob", "z", "--percent")
    assert result.exit_code == 2
    assert f"the map takes {scale}, and those are no percentages" in result.stderr
    for name in ("signed.csv", "signed.parquet"):
        result = run("apply", tmp_path / "map.json", tmp_path / name, "--prob", "z", "-o", tmp_path / f"new_{name}")
        assert result.exit_code == 2
        assert "column 'z' must hold numbers, got the text '50%' at row 0" in result.stderr


@pytest.mark.parametrize("name", ["made", "made_", "p_calibrated"])
def test_the_new_column_of_parquet_may_have_any_name(tmp_path, platt, name):
    """No name is taken by what is held on the way."""
    old, new = tmp_path / "old.parquet", tmp_path / "new.parquet"
    polars.DataFrame({"p": [0.5], "x": [1]}).write_parquet(old)
    assert run("apply", platt, old, "-o", new, "--to", name).exit_code == 0
    assert polars.read_parquet(new).columns == ["p", "x", name]


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_parquet_to_compressed_text(tmp_path, platt, kind):
    """A name that ends in .gz holds what it says; Parquet is compressed by itself."""
    old, new = tmp_path / "old.parquet", tmp_path / f"new.{kind}.gz"
    polars.DataFrame({"p": [0.5]}).write_parquet(old)
    assert run("apply", platt, old, "-o", new).exit_code == 0
    assert repr(load_recalibrator(platt).transform([0.5]).item()) in gzip.decompress(new.read_bytes()).decode()
    result = run("apply", platt, old, "-o", tmp_path / "new.parquet.gz")
    assert result.exit_code == 2
    assert "Parquet is compressed by itself, so let it end in .parquet" in result.stderr


def test_a_file_may_be_replaced_by_itself(tmp_path, platt):
    """It is written beside and renamed, so what is read is not what is written."""
    path = tmp_path / "own.csv"
    path.write_text("p\n0.5\n")
    assert run("apply", platt, path, "-o", path).exit_code == 0
    assert path.read_text().startswith("p,p_calibrated\n0.5,0.")


def test_missing_scores_on_request(tmp_path, platt):
    """--missing keep leaves the new cell empty, and the rest of the rows as they would be."""
    half = repr(load_recalibrator(platt).transform([0.5]).item())
    old = tmp_path / "old.csv"
    old.write_text("p,x\nNA,1\n0.5,2\n,3\n")
    result = run("apply", platt, old, "--missing", "keep")
    assert result.stdout == f"p,x,p_calibrated\nNA,1,\n0.5,2,{half}\n,3,\n"
    lines = tmp_path / "old.jsonl"
    lines.write_text('{"p": null}\n{"p": 0.5}\n{}\n')
    result = run("apply", platt, lines, "--missing", "keep")
    assert (
        result.stdout
        == f'{{"p": null, "p_calibrated": null}}\n{{"p": 0.5, "p_calibrated": {half}}}\n{{"p_calibrated": null}}\n'
    )
    old, new = tmp_path / "old.parquet", tmp_path / "new.parquet"
    polars.DataFrame({"p": [None, 0.5]}).write_parquet(old)
    assert run("apply", platt, old, "--missing", "keep", "-o", new).exit_code == 0
    assert polars.read_parquet(new)["p_calibrated"].to_list() == [None, float(half)]


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "p,x\n0.5,1\n,2\n",
            "bad.csv: column 'p' has no number at row 1 (line 3); fill it in, drop the row, or use --missing keep",
        ),
        ("p,x\n0.5,1\nabc,2\n", "bad.csv: column 'p' must hold numbers, got the text 'abc' at row 1 (line 3)"),
        ("p,x\n0.5,1\n1_0,2\n", "bad.csv: column 'p' must hold numbers, got the text '1_0' at row 1 (line 3)"),
        ('p,x\n0.5,1\n"0,5",2\n', "bad.csv: column 'p' must hold numbers, got the text '0,5' at row 1 (line 3)"),
        ("p,x\n0.5,1\ninf,2\n", "bad.csv: column 'p' must be finite, got inf at row 1 (line 3)"),
        ('p,x\n0.5,"a\nb"\n1.5,2\n', "bad.csv: column 'p' must lie in [0, 1], got 1.5 at row 1 (line 4)"),
        ("p,x\n0.5,1\n85,2\n", "these look like percentages: use --percent"),
        ("p,x\n0.5,1\n0.5\n", "bad.csv has 1 field at line 3, but 2 in its header"),
        ("p,x\n0.5,1\n0.5,1,2\n", "bad.csv has 3 fields at line 3, but 2 in its header"),
        ('p,x\n0.5,1\n0.5,"1\n0.5,2\n', "bad.csv has a quotation mark that is never closed, at line 3 or after"),
        ('p,x\n0.5,"a"b\n', "bad.csv cannot be read at line 2"),
        ("", "bad.csv is empty"),
        ("q,x\n0.5,1\n", "bad.csv: no column has one of the usual names for scores"),
        ("p,score\n0.5,1\n", "several columns could be the scores: p, score; choose one with --prob"),
        ("p,p\n0.5,1\n", "bad.csv: "),
    ],
)
def test_bad_rows_are_named_and_nothing_is_written(tmp_path, platt, text, sentence):
    """Exit code 2 and one sentence with file, row, line and column; what was there before stays."""
    old, new = tmp_path / "bad.csv", tmp_path / "new.csv"
    old.write_text(text)
    new.write_text("before")
    files = sorted(path.name for path in tmp_path.iterdir())
    for extra in ([], ["-o", new]):
        result = run("apply", platt, old, *extra)
        assert result.exit_code == 2
        assert sentence in result.stderr, result.stderr
        assert result.stderr.startswith("Error: ")
        assert len(result.stderr.strip().splitlines()) == 1
        assert result.stdout == ""
    assert new.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == files


def test_the_first_bad_row_of_parquet_is_named(tmp_path, platt):
    """Wherever the pieces of the file are looked at."""
    p = np.full(300_000, 0.5)
    p[[250_123, 299_999]] = 7
    old, new = tmp_path / "bad.parquet", tmp_path / "new.parquet"
    polars.DataFrame({"p": p}).write_parquet(old, row_group_size=10_000)
    result = run("apply", platt, old, "-o", new)
    assert result.exit_code == 2
    assert "bad.parquet: column 'p' must lie in [0, 1], got 7 at row 250123" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.parquet", "map.json"]


@pytest.mark.parametrize(
    ("header", "options", "sentence"),
    [
        ('p_cat,"p_o,wl"', [], "the calibration map has the classes cat, o,wl, dog, but there is no column 'p_dog'; there are p_cat, p_o,wl"),
        ('p_cat,"p_o,wl",p_dog,p_cow', [], "the column 'p_cow' begins with 'p_', but the calibration map has no such class"),
        ("p,x", [], "the calibration map takes one column per class (cat, o,wl, dog), but the columns are p, x; give their prefix with --prob-prefix"),
        ('p_cat,"p_o,wl",p_dog,p_dog', [], "there are several columns called 'p_dog'"),
        ("p,x", ["--prob", "p"], "choose them with --prob-prefix, not with --prob"),
        ('p_cat,"p_o,wl",p_dog', ["--logits"], "was fitted to probabilities, so it cannot be applied to logits"),
        ('p_cat,"p_o,wl",p_dog', [], "rows of scores must sum to 1, got 1.5 at row 0 (line 2); divide by the row sums"),
        ('p_cat,"p_o,wl",p_dog', ["--percent"], "rows of scores must sum to 1, got 0.015 at row 0"),
    ],
)  # fmt: skip
def test_columns_must_be_the_classes(tmp_path, matrix, header, options, sentence):
    """A column that is missing or foreign is named."""
    old = tmp_path / "old.csv"
    old.write_text(header + "\n" + ",".join(["0.5"] * (1 + header.count(",") - header.count("o,"))) + "\n")
    result = run("apply", matrix, old, *options)
    assert result.exit_code == 2
    assert sentence in result.stderr, result.stderr


def test_two_spellings_of_one_class(tmp_path):
    """p_1 and p_01 are both of class 1: neither is taken for the other."""
    _, _, logits, label = scores()
    path, old = tmp_path / "map.json", tmp_path / "old.csv"
    TemperatureScaling().fit(softmax(logits), label).to_json(path)
    old.write_text("p_0,p_1,p_2,p_01\n0.2,0.3,0.5,0.9\n")
    result = run("apply", path, old)
    assert result.exit_code == 2
    assert "the columns 'p_1' and 'p_01' are of one class: rename one of them" in result.stderr


def test_its_own_columns_are_no_classes(tmp_path, matrix):
    """What an earlier run has added begins with p_ too."""
    old, once, twice = (tmp_path / name for name in ("old.csv", "once.csv", "twice.csv"))
    old.write_text('p_cat,"p_o,wl",p_dog\n0.25,0.5,0.25\n')
    assert run("apply", matrix, old, "-o", once).exit_code == 0
    assert run("apply", matrix, once, "-o", twice, "--to", "again").exit_code == 0
    values = polars.read_csv(twice).row(0)
    assert values[3:6] == values[6:9]
    assert run("apply", matrix, once, "-o", twice, "--overwrite").exit_code == 0
    assert twice.read_text() == once.read_text()


def test_one_event_has_no_prefix(tmp_path, platt):
    """A map of one event takes one column."""
    old = tmp_path / "old.csv"
    old.write_text("p_a,p_b\n0.5,0.5\n")
    result = run("apply", platt, old, "--prob-prefix", "p_")
    assert (
        "the calibration map takes one column of scores: choose it with --prob, not with --prob-prefix" in result.stderr
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere.json", "old.csv"], "there is no file nowhere.json"),
        (["old.csv", "old.csv"], "old.csv: this is not a saved recalibrator"),
        (["map.json", "nowhere.csv"], "there is no file nowhere.csv"),
        (["map.json", "."], ". is a folder, not a file"),
        (["map.json", "old.xlsx"], "old.xlsx: the file must end in .csv, .tsv, .jsonl"),
        (["map.json", "old.csv", "-o", "new.parquet"], "old.csv is csv and new.parquet would be parquet: columns are added, and the rest stays as it is, so let it end in .csv"),
        (["map.json", "old.csv", "-o", "new"], "new: the file must end in"),
        (["map.json", "old.csv", "-o", "nowhere/new.csv"], "nowhere/new.csv cannot be written: there is no folder"),
        (["map.json", "old.csv", "-o", "."], ". is a folder, not a file"),
        (["map.json", "list.jsonl"], "list.jsonl contains a JSON array: write one object per line"),
        (["map.json", "lines.jsonl"], "lines.jsonl, line 2: this is not JSON"),
        (["map.json", "clash.jsonl"], "clash.jsonl: there is a column 'p_calibrated' already at line 2"),
        (["map.json", "utf16.csv"], "utf16.csv is UTF-16 text: save it as UTF-8"),
        (["map.json", "text.parquet", "-o", "new.parquet"], "text.parquet: it cannot be read as parquet"),
        (["map.json", "lists.parquet", "-o", "new.parquet"], "lists.parquet: column 'p' must hold one number per row, got values of type List"),
        (["map.json", "twice.csv", "--overwrite"], "there are several columns called 'p_calibrated': choose another name"),
        (["map.json", "old.npz", "-o", "new.csv"], "old.npz is npz and new.csv would be csv: columns are added, and the rest stays as it is, so let it end in .npz"),
        (["map.json", "old.csv", "-o", "new.npz"], "old.csv is csv and new.npz would be npz"),
        (["map.json", "words.parquet", "-o", "new.npz"], "words.parquet is parquet and new.npz would be npz"),
        (["map.json", "old.npz", "-o", "new.npz.gz"], "new.npz.gz: an npz archive can be compressed by itself, so let it end in .npz"),
        (["map.json", "old.npz", "--prob", "wide"], "old.npz: array 'wide' has 2 columns, but the calibration map takes one score per row: choose one of them with --prob, such as wide_1"),
        (["map.json", "old.npz", "--to", "id"], "old.npz: there is a column 'id' already; choose another name with --to, or use --overwrite"),
        (["map.json", "old.npz", "--prob", "wide_0"], "old.npz: column 'wide_0' must lie in [0, 1], got 3 at row 1"),
        (["map.json", "text.npz"], "text.npz cannot be read as npz"),
        (["map.json", "cut.csv.gz"], "cut.csv.gz is compressed and damaged"),
        (["map.json", "words.parquet", "-o", "new.parquet"], "words.parquet: column 'p' must hold numbers, got the text 'a' at row 0"),
    ],
)  # fmt: skip
def test_files_that_do_not_fit(tmp_path, platt, monkeypatch, arguments, sentence):
    """Each is one sentence that names the file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.csv").write_text("p\n0.5\n")
    (tmp_path / "old.xlsx").write_text("p\n0.5\n")
    np.savez(tmp_path / "old.npz", p=[0.5, 0.1], id=[1, 2], wide=[[0.5, 0.5], [3.0, 1.0]])
    (tmp_path / "text.npz").write_text("p\n0.5\n")
    (tmp_path / "list.jsonl").write_text('[{"p": 0.5}]')
    (tmp_path / "lines.jsonl").write_text('{"p": 0.5}\n{"p"}\n')
    (tmp_path / "clash.jsonl").write_text('{"p": 0.5}\n{"p": 0.5, "p_calibrated": 1}\n')
    (tmp_path / "utf16.csv").write_text("p\n0.5\n", encoding="utf-16")
    (tmp_path / "text.parquet").write_text("p\n0.5\n")
    polars.DataFrame({"p": ["a", "b"]}).write_parquet(tmp_path / "words.parquet")
    polars.DataFrame({"p": [[0.1, 0.9]]}).write_parquet(tmp_path / "lists.parquet")
    (tmp_path / "twice.csv").write_text("p,p_calibrated,p_calibrated\n0.5,1,2\n")
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"p\n" + b"0.5\n" * 10)[:-9])
    result = run("apply", *arguments)
    assert result.exit_code == 2, result.output
    assert sentence in result.stderr, result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "new.parquet").exists()


def test_logits_that_look_like_probabilities_are_worth_a_note(tmp_path):
    """Nothing is wrong with such numbers, but it is likely that the wrong column was taken."""
    z, y, _, _ = scores()
    PlattScaling(input="logits").fit(z, y).to_json(tmp_path / "map.json")
    old = tmp_path / "old.csv"
    old.write_text("p\n0.5\n0.1\n")
    result = run("apply", tmp_path / "map.json", old)
    assert result.exit_code == 0
    assert (
        "Note: The calibration map takes logits, but all scores lie in [0, 1]: are they probabilities?" in result.stderr
    )


# --- npz --------------------------------------------------------------------------------------------------------------


def members(path):
    """What is in an archive, to the byte."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_archive_keeps_its_arrays(tmp_path, platt, save):
    """Every member is there to the byte, even one that nobody may unpickle; the new array is that of transform."""
    p = np.random.default_rng(0).random(60).astype(np.float32)
    old, new = tmp_path / "old.npz", tmp_path / "new.npz"
    save(old, p=p, y=p > 0.5, cube=np.zeros((2, 2, 2)), objects=np.array([{"a": 1}], dtype=object))
    result = run("apply", platt, old, "-o", new)
    assert result.exit_code == 0, result.output
    assert "60 rows; used scores p, added p_calibrated; written to" in result.output
    before, after = members(old), members(new)
    assert list(after) == [*before, "p_calibrated.npy"]
    assert {name: after[name] for name in before} == before
    made = np.load(new)["p_calibrated"]
    assert made.shape == (60,)
    assert np.array_equal(made, load_recalibrator(platt).transform(p))
    again = run("apply", platt, new, "-o", new, "--overwrite")
    assert again.exit_code == 0, again.output
    assert members(new) == after


def test_classes_of_an_archive_make_one_array(tmp_path):
    """The columns of a matrix are classes by number, and so are those of what is made of it."""
    _, _, logits, label = scores(80)
    p = softmax(logits)
    old, new, saved = tmp_path / "old.npz", tmp_path / "new.npz", tmp_path / "map.json"
    np.savez(old, probs=p, labels=label, other=p)
    fitted = run("fit", old, "--method", "temperature", "-o", saved)
    assert fitted.exit_code == 0, fitted.output
    for options in ([], ["--prob", "probs"], ["--prob-prefix", "probs_"]):
        result = run("apply", saved, old, "-o", new, "--to", "mended", *options)
        assert result.exit_code == 0, result.output
        assert np.array_equal(np.load(new)["mended"], load_recalibrator(saved).transform(p))
    piped = run("apply", saved, "-", "--to", "mended", input=old.read_bytes())
    assert np.array_equal(np.load(io.BytesIO(piped.stdout_bytes))["mended"], np.load(new)["mended"])
    read = run("fit", new, "--prob", "mended", "--method", "temperature")
    assert "used scores mended_0 … mended_2 (3 classes), labels labels" in read.output


def test_classes_with_names_need_arrays_with_names(tmp_path, matrix):
    """A matrix does not say which of its columns is the cat."""
    _, _, logits, _ = scores(60)
    p = softmax(logits)
    np.savez(tmp_path / "matrix.npz", probs=p)
    refused = run("apply", matrix, tmp_path / "matrix.npz", "-o", tmp_path / "new.npz")
    assert refused.exit_code == 2
    assert "and array 'probs' the columns 0 to 2; save an array for each class, called p_CLASS" in refused.stderr
    np.savez(tmp_path / "named.npz", **{f"p_{name}": p[:, k] for k, name in enumerate(CLASSES)})
    assert run("apply", matrix, tmp_path / "named.npz", "-o", tmp_path / "new.npz").exit_code == 0
    recalibrator = load_recalibrator(matrix)
    order = [CLASSES.index(name) for name in recalibrator.classes_]
    assert np.array_equal(np.load(tmp_path / "new.npz")["p_calibrated"], recalibrator.transform(p[:, order]))


@pytest.mark.parametrize("missing", ["error", "keep"])
def test_missing_scores_of_an_archive(tmp_path, platt, missing):
    """A NaN is an error that names its row, or stays one."""
    old, new = tmp_path / "old.npz", tmp_path / "new.npz"
    np.savez(old, p=[0.5, np.nan, 0.2])
    result = run("apply", platt, old, "-o", new, "--missing", missing)
    if missing == "error":
        assert "old.npz: column 'p' has no number at row 1; fill it in" in result.stderr
        assert not new.exists()
    else:
        assert np.isnan(np.load(new)["p_calibrated"]).tolist() == [False, True, False]


# --- pipes and interruptions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_pipes(tmp_path, platt, kind):
    """What comes in is told by its first bytes; what goes out is the same, and nothing else."""
    frame = polars.DataFrame({"id": ["a", "b"], "p": [0.5, 0.25]})
    data = io.BytesIO()
    if kind == "parquet":
        frame.write_parquet(data)
    elif kind == "jsonl":
        frame.write_ndjson(data)
    else:
        frame.write_csv(data, separator="\t" if kind == "tsv" else ",")
    result = run("apply", platt, "-", input=data.getvalue())
    assert result.exit_code == 0, result.stderr
    assert "standard input: 2 rows; used scores p, added p_calibrated" in result.stderr
    if kind == "jsonl":
        wider = polars.read_ndjson(result.stdout_bytes)
    else:
        wider = polars.read_csv(result.stdout_bytes, separator="\t" if kind == "tsv" else ",")
    assert wider.equals(frame.with_columns(p_calibrated=load_recalibrator(platt).transform([0.5, 0.25])))


@pytest.mark.slow
def test_a_reader_that_has_seen_enough(tmp_path, platt):
    """`| head` ends the run without a word."""
    old = tmp_path / "old.csv"
    old.write_text("p\n" + "0.5\n" * 100_000)
    with subprocess.Popen(
        [sys.executable, "-m", "believable", "apply", platt, old], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"p,p_calibrated\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


@pytest.mark.slow
def test_an_interrupted_run_leaves_nothing(tmp_path, platt):
    """Ctrl-C while rows are written removes what was written beside."""
    pipe = tmp_path / "slow.csv"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [sys.executable, "-m", "believable", "apply", platt, pipe, "--format", "csv", "-o", tmp_path / "new.csv"],
        stderr=subprocess.PIPE,
    )
    try:
        with pipe.open("w") as stream:
            stream.write("p\n" + "0.5\n" * 60_000)
            stream.flush()
            beside = []
            for _ in range(600):  # until the first batch is there
                beside = [path for path in tmp_path.glob(".*") if path.stat().st_size]
                if beside:
                    break
                time.sleep(0.1)
            assert beside
            process.send_signal(signal.SIGINT)
            error = process.communicate(timeout=60)[1]
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert error == b"Interrupted: nothing was left half-written.\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["map.json", "slow.csv"]


def test_identity_leaves_numbers_alone(tmp_path):
    """The map that changes nothing writes the same numbers."""
    Identity().fit([0.2, 0.7], [0, 1]).to_json(tmp_path / "map.json")
    old = tmp_path / "old.csv"
    old.write_text("p\n0.1\n1e-300\n0.30000000000000004\n1\n0\n")
    result = run("apply", tmp_path / "map.json", old)
    assert result.stdout == (
        "p,p_calibrated\n0.1,0.1\n1e-300,1e-300\n0.30000000000000004,0.30000000000000004\n1,1.0\n0,0.0\n"
    )


# --- runs -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def ranked(tmp_path):
    """A run of forty queries with raw scores, and its judgements."""
    rng = np.random.default_rng(3)
    run_lines, qrels_lines = [], []
    for query in range(40):
        for rank, z in enumerate(sorted(rng.normal(size=10), reverse=True), 1):
            run_lines.append(f"q{query} Q0 d{rank} {rank} {10 + 5 * z:.4f} bm25\n")
            qrels_lines.append(f"q{query} 0 d{rank} {int(rng.random() < 1 / (1 + np.exp(-z)))}\n")
    (tmp_path / "bm25.txt").write_text("".join(run_lines))
    (tmp_path / "qrels.txt").write_text("".join(qrels_lines))
    return tmp_path


def test_a_run_stays_a_run(ranked):
    """A map that was fitted to a run is applied to one, named by --run, by its place, or to the standard output."""
    saved = ranked / "map.json"
    fitted = run(
        *("fit", "--run", ranked / "bm25.txt", "--qrels", ranked / "qrels.txt"),
        *("--scores", "raw", "--method", "platt", "-o", saved),
    )
    assert fitted.exit_code == 0, fitted.output
    result = run("apply", saved, "--run", ranked / "bm25.txt", "-o", ranked / "named.run")
    assert result.exit_code == 0, result.output
    assert "bm25.txt: 400 documents; each score is now a probability of relevance; written to" in result.output
    assert run("apply", saved, ranked / "bm25.txt", "-o", ranked / "placed.run").exit_code == 0
    piped = run("apply", saved, ranked / "bm25.txt")
    text = (ranked / "named.run").read_text()
    assert text == (ranked / "placed.run").read_text() == piped.stdout
    before = [line.split() for line in (ranked / "bm25.txt").read_text().splitlines()]
    after = [line.split() for line in text.splitlines()]
    wanted = load_recalibrator(saved).transform([float(fields[4]) for fields in before])
    assert [float(fields[4]) for fields in after] == wanted.tolist()
    assert [fields[:4] + fields[5:] for fields in after] == [fields[:4] + fields[5:] for fields in before]


def test_options_of_tables_are_not_for_runs(ranked, platt):
    """What has no meaning for a run is refused, and so are two inputs, or none."""
    bm25 = ranked / "bm25.txt"
    for options, sentence in (
        (("--run", bm25, "--prob", "p"), f"--prob is for a table, but {bm25} is a run, whose scores are replaced"),
        (("--run", bm25, "--to", "q"), "--to is for a table"),
        ((bm25, "--missing", "keep"), "--missing is for a table"),
        ((bm25, "--run", bm25), f"name either {bm25} or a run with --run, not both"),
        ((), "name a file of NEW scores (- for the standard input), or a run with --run"),
        (("--run", bm25, "--logits"), "was fitted to probabilities, so it cannot be applied to logits"),
    ):
        result = run("apply", platt, *options)
        assert result.exit_code == 2
        assert sentence in result.stderr
