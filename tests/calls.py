"""A valid call of every public function, for tests that spoil one argument at a time."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import believable
from believable import Layout, Predictions, View, toolbox
from believable.recalibrate.facts import RECALIBRATORS

PACKAGES = ("curves", "decide", "inference", "plots", "readers", "recalibrate", "engines")
P = np.linspace(0.05, 0.95, 40)
Y = np.tile([0, 1, 1, 0], 10)
M = np.tile([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]], (20, 1))
C = np.tile([0, 1, 2, 0], 10)
OF_ONE_EVENT = {
    "predictions": P,
    "actuals": Y,
    "predictions_a": P,
    "predictions_b": P**2,
    "metric": "brier",
    "by": {"site": Y},
    "n": 5,
    "cost_fast": 0.1,
    "cost_slow": 0.2,
    "variance": P,
    "p": P,
    "prob": P,
    "labels": Y,
    "confidences": P,
    "probs": P,
    "scores": P,
    "y": Y,
    "at": P,
}
OF_CLASSES = OF_ONE_EVENT | {"predictions": M, "actuals": C, "prob": M, "labels": C}
NEEDS_CLASSES = {
    *("static_calibration_error", "thresholded_adaptive_calibration_error", "top_label_calibration_error"),
    *("top_r_calibration_error", "classwise_ece", "marginal_calibration_error", "plot_classwise_reliability"),
    *("adaptive_calibration_error", "ACE", "CWCE", "GCE", "SCE", "TACE", "TCE", "ToprCE"),
}
# Whose first argument is not predictions, or which need a file, a result or another package.
LEFT_OUT = {
    *("audit_models", "load_recalibrator", "scorer", "plot_calibration_over_time", "plot_improvement"),
    *("average_predictions", "combine_intervals", "metric_bars", "is_lm_samples", "judge", "choose_columns"),
    *("load", "load_run", "load_samples", "load_summary", "load_demo", "read_predictions", "read_qrels"),
    *("read_run", "read_table", "segment_stats", "summarize", "summarize_files", "write_beside"),
    *("rows_needed", "expected_precision", "binned_curve", "reliability_diagram"),
}


class Call(NamedTuple):
    """A public function, or a class that checks its arguments, with arguments that suit it."""

    function: Callable[..., Any]
    given: dict[str, Any]

    def __call__(self, **changed: Any) -> Any:
        return self.function(**{**self.given, **changed})


def _fitted(name: str) -> Callable[..., Any]:
    """Return a function that makes and fits a recalibrator: it checks its parameters when it is fitted."""

    def fit(**options: Any) -> Any:
        return RECALIBRATORS[name](**options).fit(P, Y)

    fit.__signature__ = inspect.signature(RECALIBRATORS[name])  # type: ignore[attr-defined]
    fit.__name__ = name
    return fit


def _calls() -> dict[str, Call]:
    found: dict[str, Any] = {name: getattr(believable, name) for name in believable.__all__}
    for package in PACKAGES:
        module = importlib.import_module(f"believable.{package}")
        found |= {name: getattr(module, name) for name in module.__all__}
    found |= {name: getattr(toolbox, name) for name in toolbox.__all__}
    assert found.keys() >= LEFT_OUT
    calls = {}
    for name, function in found.items():
        if not inspect.isfunction(function) or name in LEFT_OUT or name.startswith("draw_"):
            continue
        names = inspect.signature(function).parameters
        suits = OF_CLASSES if name in NEEDS_CLASSES else OF_ONE_EVENT
        first = list(names)[:1]
        required = {one for one, each in names.items() if each.default is inspect.Parameter.empty}
        given = {
            one: suits[one]
            for one in names
            if one in suits and (one in required or one in ("actuals", "labels", *first))
        }
        calls[name] = Call(function, given)
    for name in ("subgroups", "plot_subgroup_forest"):
        calls[name].given["by"] = Y
    for name in ("find_segments", "plot_segments", "segment_errors", "multicalibration_error", "grouping_loss"):
        calls[name].given["by"] = {"site": np.repeat([0, 1], 20)}
    calls["plot_risk_coverage"].given["n_resamples"] = 100
    calls["plot_cascade"].given.update(cost_fast=0.1, cost_slow=0.2)
    calls["risk_aware_rank"].given["variance"] = P
    calls["plot_ranking"].given["variance"] = P
    calls["kernel_calibration_test"].given["n_resamples"] = 9
    calls |= {name: Call(_fitted(name), {}) for name in RECALIBRATORS}
    calls["Predictions"] = Call(Predictions, {"predictions": P, "actuals": Y})
    calls["View"] = Call(View, {"notion": "binary"})
    calls["Layout.of"] = Call(Layout.of, {})
    for name in ("CalibrationMeter", "CalibrationMonitor", "DriftAlarm"):
        calls[name] = Call(getattr(believable, name), {"every": 10} if name == "CalibrationMonitor" else {})
    return calls


CALLS = _calls()
