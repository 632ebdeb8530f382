"""Metrics of this package as metrics of Hugging Face `evaluate`: made directly, or loaded from this file.

`evaluate.load` copies the file that it loads, so this one imports nothing from other files of this folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import evaluate
import numpy as np

from believable.errors import InputError
from believable.metrics.scorer import scorer
from believable.metrics.table import find_metric
from believable.predictions import Predictions

DEFAULT = "expected_calibration_error"
NO_CONFIGURATION = "default"  # what evaluate passes if no metric is named
MODULE_OPTIONS = frozenset(
    ("keep_in_memory", "cache_dir", "num_process", "process_id", "seed", "experiment_id", "hash", "timeout")
) | {"max_concurrent_cache_files"}
SCORES = (datasets.Value("float64"), datasets.Sequence(datasets.Value("float64")))
LABELS = (datasets.Value("float64"), datasets.Value("string"))  # not int64, to which 0.7 would be 0


class CalibrationMetric(evaluate.Metric):  # type: ignore[name-defined,unused-ignore]
    """A metric of this package as an evaluation module of `evaluate`.

    Parameters
    ----------
    config_name : str, optional
        A name or alias from the table of metrics, by default the expected calibration error.
    from_logits : bool
        Predictions are logits.
    **options
        Options of the metric, such as `n_bins=15`, and those of `evaluate.Metric`, such as `keep_in_memory=True`.

    Notes
    -----
    Predictions are probabilities of one event, or rows with one probability per class; references are labels. Both
    columns of `predict_proba` are rows, whose error is that of the predicted class: for the event, pass the second
    column. `compute` takes `sample_weight`, `pos_label` and `classes`, as `believable.Predictions` does.

    Examples
    --------
    >>> metric = CalibrationMetric("brier", keep_in_memory=True)
    >>> round(metric.compute(predictions=[0.1, 0.8], references=[0, 1])["brier_score"], 4)
    0.025
    """

    def __init__(self, config_name: str | None = None, *, from_logits: bool = False, **options: Any) -> None:
        own = {name: options.pop(name) for name in MODULE_OPTIONS & set(options)}
        named = DEFAULT if config_name in (None, NO_CONFIGURATION) else config_name
        self.asked = scorer(named, **options)  # checks the name and the options
        self.from_logits = from_logits
        super().__init__(config_name=self.asked.name, **own)

    def _info(self) -> evaluate.MetricInfo:
        row = find_metric(self.asked.name)
        return evaluate.MetricInfo(
            description=str(row.function.__doc__ or "").split("\n\n")[0],
            citation=row.reference,
            inputs_description=(
                "\npredictions: probabilities of an event, or rows with one probability per class\n"
                "references: labels\nsample_weight (optional): weights of the rows, for compute"
            ),
            features=[
                datasets.Features({"predictions": scores, "references": labels})
                for labels in LABELS
                for scores in SCORES
            ],
        )

    def _compute(
        self,
        predictions: Any,
        references: Any,
        sample_weight: Any = None,
        pos_label: Any = None,
        classes: Any = None,
    ) -> dict[str, float]:
        """Return the value under the name of the metric."""
        row = find_metric(self.asked.name)
        checked = Predictions(
            _matrix(predictions),
            _labels(references),
            sample_weight=sample_weight,
            from_logits=self.from_logits,
            pos_label=pos_label,
            classes=classes,
        )
        return {row.name: float(row.function(checked, **self.asked.options))}


def _matrix(predictions: Any) -> Any:
    """Return predictions as an array; raise if rows have different lengths."""
    rows = list(predictions)
    lengths = {len(row) for row in rows if isinstance(row, list)}
    if len(lengths) > 1:
        raise InputError(
            "predictions must have one probability per class in every row, got rows of {shortest} to {longest}",
            shortest=min(lengths),
            longest=max(lengths),
        )
    return np.array(rows, np.float64)


def _labels(references: Any) -> Any:
    """Return labels as an array; whole numbers, which `evaluate` keeps as floats, are integers again."""
    labels = np.array(list(references))
    whole = labels.dtype.kind == "f" and bool(np.all(labels == np.round(labels)))
    return labels.astype(np.int64) if whole else labels


def calibration_metric(metric: str = "ece", *, from_logits: bool = False, **options: Any) -> CalibrationMetric:
    """Make a metric of `evaluate`, for `compute`, `add`, `add_batch` and `evaluate.combine`.

    Parameters
    ----------
    metric : str
        A name or alias from the table of metrics.
    from_logits : bool
        Predictions are logits.
    **options
        Options of that metric, such as `n_bins=15`, and those of `evaluate.Metric`, such as `keep_in_memory=True`.

    Examples
    --------
    >>> metric = calibration_metric("ece", n_bins=2, keep_in_memory=True)
    >>> for p, y in [(0.2, 0), (0.4, 1), (0.9, 1)]:
    ...     metric.add(prediction=p, reference=y)
    >>> round(metric.compute()["expected_calibration_error"], 4)
    0.1667
    """
    return CalibrationMetric(metric, from_logits=from_logits, **options)


def module_path() -> str:
    """Return the file that `evaluate.load` takes: `evaluate.load(module_path(), "brier")`. Nothing is downloaded."""
    return str(Path(__file__).resolve())
