"""`believable metrics`: the table, and one definition in full."""

from __future__ import annotations

import inspect
import json

import pytest

from believable import METRICS


def test_the_table_has_every_metric(run):
    """One line for each, however wide the terminal is, with name, range and reference."""
    lines = run("metrics").stdout.splitlines()
    assert len(lines) == len(METRICS) + 3
    for row in METRICS.values():
        (line,) = [line for line in lines if line.split()[:2] == [row.alias, row.name]]
        assert row.summary in line
        assert f"[{row.low:g}, {row.high:g}]" in line


@pytest.mark.parametrize("name", ["ece", "ECE", "expected_calibration_error", "expected-calibration-error"])
def test_one_metric_in_full(run, name):
    """Name or alias, whatever the case, gives the docstring."""
    result = run("metrics", name)
    assert result.exit_code == 0
    assert result.stdout.startswith("expected_calibration_error (ece): lies in [0, 1], best 0; for binary, multiclass")
    head, _, rest = inspect.getdoc(METRICS["expected_calibration_error"].function).partition(".. math::")
    assert head in result.stdout
    assert rest.partition("\n")[2] in result.stdout
    assert "\n    ( Σ_c W_c/T |acc_c - conf_c|^p )^(1/p)\n" in result.stdout


def test_who_else_computes_it(run):
    """The end says what other libraries do; a metric that none of them has says nothing."""
    shown = run("metrics", "brier").stdout
    assert "\nElsewhere\n---------\nscikit-learn: `brier_score_loss`: the same, but two columns are halved" in shown
    assert "Elsewhere" not in run("metrics", "sharpness").stdout
    assert (
        json.loads(run("metrics", "brier", "--json").stdout)["elsewhere"]["R: rms"] == "Brier of `val.prob`: the same"
    )


@pytest.mark.parametrize("name", [row.alias for row in METRICS.values() if "math" in inspect.getdoc(row.function)])
def test_formulas_are_text(run, name):
    """No directive and no backslash is left."""
    shown = run("metrics", name).stdout
    assert "math:" not in shown
    assert "\\" not in shown


def test_json(run):
    """--json gives the same facts as data."""
    table = json.loads(run("metrics", "--json").stdout)
    assert [row["name"] for row in table] == list(METRICS)
    slope = json.loads(run("metrics", "slope", "--json").stdout)
    assert (slope["alias"], slope["low"], slope["best"]) == ("slope", None, 1.0)
    assert slope["definition"].startswith(slope["summary"])


def test_a_misspelt_name(run):
    """Exit code 2, and the one that was meant."""
    result = run("metrics", "breir")
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: believable metrics breir: there is no metric 'breir' (did you mean brier?); `believable metrics` lists "
        "them\n"
    )
