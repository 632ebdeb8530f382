"""The public surface: what is there, what it costs to import, and how it is called."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import pytest

import believable
from believable import METRICS, toolbox

# Besides these, every metric of the table is public.
PUBLIC = (
    """
__version__ Audit audit average_predictions BinStats calibrate calibration_curve calibration_index CellStats classwise_ece compare
confidence_decomposition corp_curve corp_decomposition Edges evaluate hosmer_lemeshow interval
kernel_calibration_curve kernel_calibration_test kolmogorov_smirnov_test kuiper_test load_recalibrator
logistic_calibration_curve METRICS murphy_decomposition noise_floor plot_classwise_reliability plot_confidence_histogram plot_corp_diagram
plot_cumulative_differences plot_improvement plot_metrics plot_miscalibration plot_reliability_diagram plot_smoothed_calibration
plot_subgroup_forest Predictions read_predictions refinement reliability_table scorer ScoreSums select smooth_calibration_error_detail
smoothed_calibration_curve spiegelhalter subgroups verdict View Layout Summary KernelBlocks
cascade confidence_words risk_aware_rank uncertainty_sample plot_cascade plot_confidence_words plot_ranking plot_uncertainty_sample
CalibrationMeter CalibrationMonitor DriftAlarm plot_calibration_over_time
net_benefit plot_net_benefit plot_risk_coverage plot_threshold selective threshold_for expected_precision rows_needed
""".split()
    + list(METRICS)
)
ASKED_FOR = """
expected_calibration_error maximum_calibration_error root_mean_square_calibration_error adaptive_calibration_error
static_calibration_error thresholded_adaptive_calibration_error top_label_calibration_error top_r_calibration_error
marginal_calibration_error average_calibration_error sweep_calibration_error debiased_calibration_error brier_score
brier_skill_score negative_log_likelihood accuracy auc sharpness mean_confidence mean_entropy
""".split()
TOOLBOX = "ACE CWCE ECE GCE KCE KSCE MCE MMCE RMSCE SCE TACE TCE OverUnder ToprCE reliability_diagram".split()


def test_public_names():
    """The public names are these, and all of them exist."""
    assert sorted(believable.__all__) == sorted(PUBLIC)
    assert len(set(believable.__all__)) == len(PUBLIC)
    assert set(ASKED_FOR) <= set(METRICS)
    assert all(getattr(believable, name) is not None for name in PUBLIC)
    assert set(PUBLIC) <= set(dir(believable))
    assert toolbox.__all__ == TOOLBOX


def test_rooms_are_attributes():
    """After `import believable`, believable.toolbox is there without another import."""
    code = "import believable; print(believable.toolbox.ECE([0.25], [1]), believable.readers.load_demo.__name__)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["0.75", "load_demo"]


def test_unknown_names_are_refused():
    """A misspelt name is an AttributeError."""
    with pytest.raises(AttributeError, match="expected_calibration_eror"):
        believable.expected_calibration_eror  # noqa: B018


def test_import_loads_numpy_alone():
    """Importing the package brings in no third-party package but NumPy."""
    code = (
        "import sys, json; import numpy; before = set(sys.modules); import believable;"
        "print(json.dumps(sorted({m.split('.')[0] for m in set(sys.modules) - before})))"
    )
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert set(loaded) - set(sys.stdlib_module_names) <= {"believable", "numpy"}


@pytest.mark.parametrize("name", [name for name in PUBLIC if name.islower() and name != "__version__"])
def test_functions_take_data_first_then_choices(name):
    """Data come first, choices are documented, and there are no *args."""
    function = getattr(believable, name)
    parameters = inspect.signature(function).parameters
    assert inspect.getdoc(function), name
    assert all(p.kind is not p.VAR_POSITIONAL for p in parameters.values())
    if "actuals" in parameters:
        first = ["predictions", "actuals"]
        data = {"compare": ["predictions_a", "predictions_b", "actuals"]}.get(name, first)
        if name in ("interval", "noise_floor"):
            data = ["metric", *first]
        assert list(parameters)[: len(data)] == data
        assert "sample_weight" in parameters


def test_every_error_has_an_interval_that_covers():
    """Errors that chance makes too large say how they grow with the residuals, or what they estimate."""
    errors = [row for row in METRICS.values() if row.needs in ("bins", "cells") and row.best == row.low == 0]
    without = {row.name for row in errors if row.power is None and not row.target}
    assert without == {
        "sweep_calibration_error"
    }  # its bins are chosen by the data, so the population has no such value


@pytest.mark.parametrize("row", METRICS.values(), ids=lambda row: row.name)
def test_metrics_carry_their_facts(row):
    """Name, alias, range, reference and a runnable example belong to every metric."""
    assert row.function.__name__ == row.name
    assert getattr(believable, row.name) is row.function
    assert row.low < row.high
    assert row.best is None or row.low <= row.best <= row.high
    assert row.reference
    doc = inspect.getdoc(row.function)
    assert doc.splitlines()[0].endswith(".")
    assert ">>>" in doc
    assert "References" in doc


def test_aliases_are_distinct():
    """No two metrics share a name or alias."""
    names = [name for row in METRICS.values() for name in {row.name, row.alias}]
    assert len(names) == len(set(names))
