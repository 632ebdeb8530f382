"""The public surface: what is there, what it costs to import, and how it is called."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import believable
from believable import METRICS, metrics, toolbox

STUB = Path(believable.__file__).with_suffix(".pyi")
FUNCTIONS = [name for name in believable.__all__ if name.islower() and name not in ("__version__", "backend")]
ASKED_FOR = """
expected_calibration_error maximum_calibration_error root_mean_square_calibration_error adaptive_calibration_error
static_calibration_error thresholded_adaptive_calibration_error top_label_calibration_error top_r_calibration_error
marginal_calibration_error average_calibration_error sweep_calibration_error debiased_calibration_error brier_score
brier_skill_score negative_log_likelihood accuracy auc sharpness mean_confidence mean_entropy
""".split()
TOOLBOX = """
ACE CWCE ECE GCE KCE KSCE MCE MMCE RMSCE SCE TACE TCE OverUnder T_scaling ToprCE brier_multi compute_adaptive_ece
compute_brier_score compute_ece compute_mce get_ece reliability_diagram
""".split()


def test_public_names():
    """What the stub lists exists and can be loaded; beside it only the metrics of the table are public."""
    listed = re.findall(r"^from believable\.[\w.]+ import (?:\(\s*)?(\w+) as", STUB.read_text(), re.MULTILINE)
    assert sorted([*listed, *metrics.PUBLIC_NAMES]) == sorted(believable.__all__)
    assert {*METRICS, *ASKED_FOR} <= set(believable.__all__)
    assert all(getattr(believable, name) is not None for name in believable.__all__)
    assert toolbox.__all__ == TOOLBOX


def test_dir_shows_what_a_user_may_call():
    """Functions, classes and packages, and nothing that is private or only happens to be imported."""
    for name in dir(believable):
        assert name == "__version__" or not name.startswith("_")
        if name == "torch" and importlib.util.find_spec("torch") is None:
            continue
        value = getattr(believable, name)
        assert inspect.ismodule(value) == (name not in believable.__all__), name
    assert {"kernels", "annotations", "Any"}.isdisjoint(dir(believable))


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("ece", "; the metric of that name is believable.expected_calibration_error"),
        (
            "TemperatureScaling",
            "; it is in believable.recalibrate: from believable.recalibrate import TemperatureScaling",
        ),
        ("OverUnder", "; it is in believable.toolbox: from believable.toolbox import OverUnder"),
        ("expected_calibration_eror", "; did you mean expected_calibration_error?"),
        ("nothing_like_it", ""),
    ],
)
def test_names_that_are_not_here_say_where_they_are(name, advice):
    """An alias, a class of a package and a misspelt name lead to what was meant."""
    with pytest.raises(AttributeError) as caught:
        getattr(believable, name)
    assert str(caught.value) == f"module 'believable' has no attribute {name!r}{advice}"


def test_rooms_are_attributes():
    """After `import believable`, believable.toolbox is there without another import."""
    code = "import believable; print(believable.toolbox.ECE([0.25], [1]), believable.readers.load_demo.__name__)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["0.75", "load_demo"]


def test_import_loads_numpy_alone():
    """Importing the package brings in no third-party package but NumPy."""
    code = (
        "import sys, json; import numpy; before = set(sys.modules); import believable;"
        "print(json.dumps(sorted({m.split('.')[0] for m in set(sys.modules) - before})))"
    )
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert set(loaded) - set(sys.stdlib_module_names) <= {"believable", "numpy"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_data_first_then_choices(name):
    """Data come first, choices are documented, and there are no *args."""
    function = getattr(believable, name)
    parameters = inspect.signature(function).parameters
    assert inspect.getdoc(function), name
    assert all(p.kind is not p.VAR_POSITIONAL for p in parameters.values())
    if "actuals" in parameters:
        first = ["predictions", "actuals"]
        data = {"compare": ["predictions_a", "predictions_b", "actuals"], "audit_models": ["models", "actuals"]}.get(
            name, first
        )
        if name in ("interval", "noise_floor"):
            data = ["metric", *first]
        assert list(parameters)[: len(data)] == data
        assert "sample_weight" in parameters


def test_every_error_has_an_interval_that_covers():
    """Errors that chance makes too large say how they grow with the residuals, or what they estimate."""
    errors = [row for row in METRICS.values() if row.needs in ("bins", "cells") and row.best == row.low == 0]
    without = {row.name for row in errors if row.power is None and not row.target}
    assert not without


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
