"""What a command is given: predicted classes, labels beyond two, and the ways out that errors name."""

from __future__ import annotations

import json
import os

import polars
import pytest


@pytest.fixture
def decisions(tmp_path):
    """A file whose scores are the classes that a model predicted."""
    path = tmp_path / "decisions.csv"
    polars.DataFrame({"y_pred": [0, 1] * 20, "y": [0, 1, 1, 0] * 10}).write_csv(path)
    return path


@pytest.mark.parametrize("command", ["audit", "fit"])
def test_predicted_classes_are_refused(run, decisions, command):
    """The way out is named in the words of the command line."""
    result = run(command, decisions)
    assert result.exit_code == 2
    assert (
        "all predictions are 0 or 1: these look like predicted classes, not probabilities; "
        "name a column of probabilities with --prob"
    ) in result.stderr


def test_a_third_label_is_refused(run, tmp_path):
    """Every command that takes --pos-label takes --neg-label, and says what to do with other labels."""
    path = tmp_path / "three.csv"
    path.write_text("p,q,y\n" + "0.1,0.2,no\n0.8,0.7,yes\n0.3,0.2,maybe\n0.6,0.9,yes\n0.2,0.3,no\n" * 20)
    polars.read_csv(path).write_parquet(tmp_path / "three.parquet")
    for command in (
        ("audit", path, "--prob", "p"),
        ("fit", path, "--prob", "p"),
        ("compare", path, "--prob", "p", "--prob", "q"),
        ("audit", tmp_path / "three.parquet", "--stream", "--prob", "p"),
    ):
        result = run(*command, "--pos-label", "yes")
        assert result.exit_code == 2
        assert (
            "--pos-label 'yes' leaves more than one other label: 'no' (40 rows), 'yes' (40 rows), 'maybe' (20 rows); "
            "name the one that counts as 0 with --neg-label and drop the rows of the others, or write labels as 0 and 1 if all others count as 0"
        ) in result.stderr
        result = run(*command, "--pos-label", "yes", "--neg-label", "no")
        assert result.exit_code == 2
        assert "20 rows have neither --pos-label 'yes' nor --neg-label 'no': 'maybe' (20 rows); drop" in result.stderr


@pytest.mark.parametrize("options", [(), ("--drop-missing",), ("--samples",), ("--samples", "--drop-missing")])
@pytest.mark.parametrize("named", [(), ("--prob", "conf"), ("--label", "acc"), ("--prob", "conf", "--label", "acc")])
def test_stated_confidences_are_found_with_any_options(run, quick, tmp_path, options, named):
    """None of these asks for another of them."""
    path = tmp_path / "answers.jsonl"
    lines = [{"conf": None if k % 10 == 0 else f"I am {60 + k % 40} % sure", "acc": k % 3 > 0} for k in range(60)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = run("audit", path, "--no-fix", *options, *named)
    assert result.exit_code == 0, result.output
    assert "54 rows" in result.output
    assert "confidences conf, marks acc" in result.output


def test_answers_have_subgroups(run, quick, tmp_path):
    """--by names fields of answers as it names columns of tables."""
    path = tmp_path / "answers.jsonl"
    lines = [
        {"confidence": 0.6 + k % 4 / 10, "correct": k % 3 > 0, "topic": "art" if k % 2 else "law"} for k in range(60)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = run("audit", path, "--no-fix", "--full", "--by", "topic")
    assert result.exit_code == 0, result.output
    assert "topic = art" in result.output


def test_names_of_columns_with_line_breaks(run, tmp_path):
    """A line break in a name needs no quotes, and an open quotation mark ends with its own option."""
    path = tmp_path / "rows.csv"
    polars.DataFrame(
        {"p": [0.2, 0.8] * 30, "y": [0, 1] * 30, "site\n1": ["a", "b"] * 30, 'x"': ["c", "d"] * 30}
    ).write_csv(path)
    for named in ("site\n1", 'x","site\n1'):
        result = run("audit", path, "--prob", "p", "--label", "y", "--by", named, "--no-fix", "-q")
        assert result.exit_code == 0, result.output
    result = run("audit", path, "--prob", "p", "--label", "y", "--by", '"si', "--by", "te", "--no-fix", "-q")
    assert result.exit_code == 2
    assert "there are no columns 'si', 'te'" in result.stderr


def test_a_file_name_that_is_no_text(run, tmp_path):
    """Bytes that are not UTF-8 are refused with the name, before a reader of files fails on them."""
    path = os.path.join(os.fsencode(tmp_path), b"\xff.csv")
    try:
        with open(path, "w") as file:
            file.write("p,y\n0.2,0\n0.8,1\n")
    except OSError:
        pytest.skip("the file system has names in UTF-8 only")
    result = run("audit", os.fsdecode(path))
    assert result.exit_code == 2
    assert "xff.csv' is not UTF-8: rename it" in result.stderr or "udcff.csv' is not UTF-8: rename it" in result.stderr
