"""`believable decide`: the decision curve of a file, in words, a table and a picture."""

from __future__ import annotations

import re

import numpy as np
import pytest

import believable
from believable.readers import load


@pytest.fixture
def curve(folder):
    """What the library says of the same file."""
    return believable.net_benefit(load(folder / "b.csv").predictions, random_state=0)


def test_the_table_is_that_of_the_library(run, folder, curve):
    """Ten thresholds, each with what acting on the scores, on all rows and on none brings."""
    result = run("decide", folder / "b.csv")
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.output.splitlines() if re.match(r"0\.\d+ ", line)]
    shown = [0.05, *np.arange(1, 10) / 10]
    assert [float(line[0]) for line in lines] == pytest.approx(shown)
    at = [round(100 * t) - 1 for t in shown]
    # Half of the last digit that is printed.
    assert [float(line[1]) for line in lines] == pytest.approx(100 * curve.treated[at], abs=0.051)
    assert [float(line[3]) for line in lines] == pytest.approx(100 * curve.net_benefit[at], abs=0.0051)
    assert [float(line[7]) for line in lines] == pytest.approx(100 * curve.treat_all[at], abs=0.0051)
    assert [float(line[8]) for line in lines] == pytest.approx(100 * curve.gain[at], abs=0.0051)


def test_the_answer_comes_first(run, folder, curve):
    """For which thresholds the scores are of use, and where that is no luck."""
    low, high = curve.useful[0]
    first = run("decide", folder / "b.csv").output.splitlines()[2]
    assert first.startswith("Acting on the scores is better than acting on every row or on none at thresholds")
    assert f"{low:g} to {high:g}" in first
    assert f"The gain is clearly more than noise at {curve.surely_useful[0][0]:g} to" in first


def test_one_threshold(run, folder, curve):
    """A sentence for each that was asked for, with the interval of the gain."""
    output = run("decide", folder / "b.csv", "--threshold", "0.5", "--threshold", "0.01").output
    k, other = 49, "acting on every row" if curve.treat_all[49] > 0 else "acting on no row"
    gain, low, high = 100 * curve.gain[k], 100 * curve.gain_low[k], 100 * curve.gain_high[k]
    assert f"At a threshold of 0.5, acting on the scores gains {gain:.2f} cases per 100 rows over {other}" in output
    assert f"(95 % interval {low:.2f} to {high:.2f})" in output
    assert "At a threshold of 0.01, acting on the scores" in output
    assert len([line for line in output.splitlines() if line.startswith("0.")]) == 2


def test_scores_that_are_of_no_use(run, tmp_path):
    """Scores that say the opposite are worse than doing without, and that is said."""
    rng = np.random.default_rng(0)
    p = rng.random(1000)
    path = tmp_path / "upside_down.csv"
    rows = "".join(f"{1 - one},{int(rng.random() < one)}\n" for one in p)
    path.write_text("p,y\n" + rows)
    assert "is worse than acting on every row: it loses" in run("decide", path, "--threshold", "0.4").output
    assert "is worse than acting on no row: it loses" in run("decide", path, "--threshold", "0.6").output
    path.write_text("p,y\n" + "".join(f"0.5,{k % 2}\n" for k in range(100)))
    assert "is no better than acting on every row (95 % interval" in run("decide", path, "--threshold", "0.4").output


def test_a_picture(run, folder, tmp_path):
    """Written whole, and its name is checked first."""
    result = run("decide", folder / "b.csv", "--plot", tmp_path / "curve.svg")
    assert f"Picture written to {tmp_path / 'curve.svg'}" in result.output
    assert "<svg" in (tmp_path / "curve.svg").read_text()
    assert "the name of a picture must end in" in run("decide", folder / "b.csv", "--plot", tmp_path / "a.txt").stderr


def test_clusters_reach_the_library(run, folder):
    """Intervals are those of clusters, and the same seed gives the same ones."""
    alone = run("decide", folder / "a.csv", "--prob", "p", "--threshold", "0.5").output
    assert alone == run("decide", folder / "a.csv", "--prob", "p", "--threshold", "0.5").output
    clustered = run("decide", folder / "a.csv", "--prob", "p", "--cluster", "patient_id", "--threshold", "0.5").output
    loaded = load(folder / "a.csv", prob="p", cluster="patient_id")
    found = believable.net_benefit(loaded.predictions, thresholds=[0.5], clusters=loaded.clusters, random_state=0)
    assert f"{100 * found.low[0]:.2f} … {100 * found.high[0]:.2f}" in clustered
    assert clustered != alone


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--threshold", "1"), "--threshold must lie in [0, 1), got 1"),
        (("--level", "2"), "--level must be a number from 0 to 1, got 2.0"),
        (("--prob", "nope"), "there is no column 'nope'"),
    ],
)
def test_bad_input_is_one_sentence(run, folder, options, sentence):
    """In the words of options."""
    result = run("decide", folder / "b.csv", *options)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_classes_are_no_event(run, folder):
    """A decision curve is about one event."""
    result = run("decide", folder / "classes.csv")
    assert result.exit_code == 2
    assert "about one event" in result.stderr
