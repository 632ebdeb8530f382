"""Confidences in answers on the command line: by the name of a column, or with --pairs."""

from __future__ import annotations

import numpy as np
import polars
import pytest

from believable import Audit, Predictions, Summary
from believable.readers import load_summary

STATED = np.tile([0.1, 0.2, 0.3, 0.4, 0.45, 0.55, 0.6, 0.7, 0.8, 0.95], 40)
RIGHT = np.tile([0, 0, 0, 0, 1, 0, 0, 1, 0, 1], 40)


@pytest.fixture
def files(tmp_path):
    """Tables of the same answers with and without a name that says so, and a Parquet file."""
    for name, label in (("named", "correct"), ("plain", "y")):
        polars.DataFrame({"confidence": STATED, label: RIGHT}).write_csv(tmp_path / f"{name}.csv")
    polars.DataFrame({"confidence": STATED, "correct": RIGHT}).write_parquet(tmp_path / "named.parquet")
    return tmp_path


@pytest.mark.parametrize(
    ("file", "options", "pairs"),
    [
        ("named.csv", (), True),
        ("named.csv", ("--no-pairs",), False),
        ("plain.csv", (), False),
        ("plain.csv", ("--pairs",), True),
        ("named.parquet", ("--stream",), True),
        ("named.parquet", ("--stream", "--no-pairs"), False),
    ],
)
def test_an_audit_says_which_accuracy(run, files, file, options, pairs):
    """That of the answers is 30 %, that of the more probable outcomes is not."""
    result = run("audit", files / file, "--no-fix", "--json", files / "audit.json", *options)
    assert result.exit_code == 0, result.output
    found = Audit.from_json((files / "audit.json").read_text())
    assert found.pairs == pairs
    assert found["acc"].value == pytest.approx(0.3 if pairs else 0.6, abs=1e-12)
    assert ("right 30 % of the time" in result.output) == pairs


def test_saved_summaries_keep_it_and_can_be_told(run, files):
    """A summary that was saved without it becomes one of pairs with --pairs."""
    result = run("audit", files / "named.parquet", "--no-fix", "--save-summary", files / "one.summary")
    assert result.exit_code == 0, result.output
    assert load_summary(files / "one.summary").are_pairs
    Summary.of(Predictions(STATED, RIGHT)).save(files / "old.summary")
    assert "right 30 %" not in run("audit", files / "old.summary", "--no-fix").output
    assert "right 30 %" in run("audit", files / "old.summary", "--no-fix", "--pairs").output
    refused = run("audit", files / "one.summary", "--no-fix", "--no-pairs")
    assert (refused.exit_code, "count them again" in refused.output) == (2, True)
    mixed = run("audit", files / "old.summary", files / "one.summary", "--no-fix")
    assert mixed.exit_code == 2
    assert "pairs" in mixed.output


def test_a_comparison_reads_both_alike(run, files):
    """The accuracies are those of the answers."""
    polars.DataFrame({"confidence": STATED / 2, "correct": RIGHT}).write_csv(files / "half.csv")
    result = run("compare", files / "named.csv", files / "half.csv", "--metric", "acc")
    assert result.exit_code == 0, result.output
    assert result.output.count("0.3000") >= 2


def test_classes_have_no_pairs(run, tmp_path):
    """A matrix says itself what it predicts."""
    polars.DataFrame({"p_a": [0.2, 0.7], "p_b": [0.8, 0.3], "correct": ["a", "b"]}).write_csv(tmp_path / "m.csv")
    assert run("audit", tmp_path / "m.csv", "--no-fix").exit_code == 0
    result = run("audit", tmp_path / "m.csv", "--no-fix", "--pairs")
    assert result.exit_code == 2
    assert "--pairs is for 1-D scores" in result.output
