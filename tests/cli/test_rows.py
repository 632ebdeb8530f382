"""`believable rows`: the answer first, then what it rests on."""

from __future__ import annotations

import numpy as np
import polars
import pytest

import believable


@pytest.mark.parametrize(
    ("options", "wishes"),
    [
        (("--width", "0.02"), {"width": 0.02}),
        (("--width", "0.02", "--rate", "0.2", "--auc", "0.9"), {"width": 0.02, "base_rate": 0.2, "auc": 0.9}),
        (("--floor", "0.01", "--bins", "20"), {"floor": 0.01, "n_bins": 20}),
        (("--slope-width", "0.2", "--oe-width", "0.1"), {"slope_width": 0.2, "oe_width": 0.1}),
        (("--floor", "0.01", "--strategy", "quantile"), {"floor": 0.01, "strategy": "quantile"}),
    ],
)
def test_the_number_is_that_of_the_library(run, options, wishes):
    """It comes in the first line, and the assumptions in words."""
    result = run("rows", *options)
    assert result.exit_code == 0, result.output
    n = believable.rows_needed(**wishes).n
    assert result.output.startswith(f"Collect {n:,} rows: they give ")
    assumed = result.output.partition("Assumptions\n")[2]
    assert f"The event occurs in {100 * wishes.get('base_rate', 0.5):g} % of the rows (--rate)" in assumed
    assert f"The model has an AUC of {wishes.get('auc', 0.8):g} (--auc) and is calibrated" in assumed
    assert f"in {wishes.get('n_bins', 10)} {wishes.get('strategy', 'uniform')} bins (--bins, --strategy)" in assumed
    assert "The rows are independent." in assumed


def test_what_so_many_rows_would_show(run):
    """The other way round, with a word of warning where there are few events."""
    plan = believable.expected_precision(300, base_rate=0.01)
    output = run("rows", "--rows", "300", "--rate", "0.01").output
    assert output.startswith(f"With 300 rows, the 95 % interval of the ECE would be at most {plan.width:.2g} wide")
    assert f"an ECE of about {plan.floor:.2g}, the noise floor, and at most {plan.floor_q95:.2g} in 19 of 20" in output
    assert f"slope would be at most {plan.slope_width:.2g} wide" in output
    assert "With only 3 rows of the rarer outcome, these numbers are rough." in output
    assert "rough" not in run("rows", "--rows", "3000", "--rate", "0.01").output


def test_scores_of_ones_own(run, tmp_path):
    """A column of a table says how scores spread; labels are not needed, and missing scores are left out."""
    p = np.random.default_rng(0).beta(0.5, 2, 500)
    path = tmp_path / "scores.csv"
    polars.DataFrame({"id": range(501), "prob": [*p.tolist(), None]}).write_csv(path)
    n = believable.rows_needed(width=0.02, scores=p).n
    for options in ((), ("--prob", "prob")):
        result = run("rows", path, "--width", "0.02", *options)
        assert result.output.startswith(f"Collect {n:,} rows"), result.output
        assert f"The scores are distributed like the 500 in {path}, and are calibrated." in result.output
    polars.DataFrame({"p": 100 * p}).write_csv(path)
    assert run("rows", path, "--width", "0.02", "--percent").output.startswith(f"Collect {n:,} rows")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "name a precision, such as --width 0.02, or a number of rows, such as --rows 1000"),
        (("--rows", "10", "--width", "0.1"), "--rows asks the opposite of --width: leave one of them out"),
        (("--width", "0"), "--width must be larger than 0: no number of rows removes all sampling noise"),
        (("--width", "0.1", "--rate", "2"), "--rate must be a number from 0.0001 to 0.9999, got 2.0"),
        (("--width", "0.1", "--auc", "0.2"), "--auc must be a number from 0.51 to 0.999, got 0.2"),
        (("--width", "0.1", "--prob", "p"), "--prob, --percent and --format are for a FILE of scores: name one"),
        (("nowhere.csv", "--width", "0.1"), "there is no file nowhere.csv"),
        (("nowhere.csv", "--width", "0.1", "--auc", "0.8"), "the scores in FILE are used in place of --rate"),
    ],
)
def test_bad_input_is_one_sentence(run, options, sentence):
    """In the words of options."""
    result = run("rows", *options)
    assert result.exit_code == 2
    assert sentence in result.stderr
