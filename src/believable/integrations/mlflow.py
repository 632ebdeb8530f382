"""Audits in MLflow: calls that log one to a run, and an evaluator for `mlflow.models.evaluate`.

MLflow finds the evaluator by itself, under the name "believable", wherever this package is installed.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mlflow
import numpy as np
from mlflow.models import EvaluationArtifact, EvaluationResult
from mlflow.models.evaluation import ModelEvaluator
from mlflow.models.evaluation.artifacts import ImageEvaluationArtifact, JsonEvaluationArtifact

from believable import _check
from believable.auditing import audit as made_audit
from believable.errors import LOOK_LIKE_LOGITS, BelievableError, Hint, InputError, Wording
from believable.integrations._tracked import checked, diagram, numbers_of, start_of_names, words_of
from believable.metrics.estimators import predictions_of
from believable.predictions import Predictions
from believable.report import Audit

MAX_METRICS_AT_ONCE = 500
JSON_NAME, PAGE_NAME, PICTURE_NAME = "audit.json", "audit.html", "diagram.png"


def log_audit(
    audit: Audit,
    run: Any = None,
    step: int | None = None,
    *,
    prefix: str = "",
    page: bool = True,
    picture: bool = True,
) -> None:
    """Log an audit to a run: its numbers as metrics, its answer as tags, and its report and diagram as artifacts.

    Parameters
    ----------
    audit : Audit
        What `believable.audit` returned.
    run : str or mlflow.entities.Run, optional
        The run or its ID; by default the active one, which is started if there is none.
    step : int, optional
        The step of the metrics, such as the epoch. Artifacts of different steps lie in different folders.
    prefix : str
        What all names begin with: "val/" gives "val/calibration/ece".
    page : bool
        Whether to log the HTML report, `calibration/audit.html`, and the audit as data, `calibration/audit.json`.
    picture : bool
        Whether to log the reliability diagram, `calibration/diagram.png`.

    Examples
    --------
    >>> import believable
    >>> found = believable.audit([0.1, 0.2, 0.8, 0.9] * 50, [0, 0, 1, 1] * 50, fix=False)
    >>> with mlflow.start_run() as run:  # doctest: +SKIP
    ...     log_audit(found)
    >>> kept = mlflow.get_run(run.info.run_id).data  # doctest: +SKIP
    >>> round(kept.metrics["calibration/ece"], 6), kept.tags["calibration/answer"]  # doctest: +SKIP
    (0.15, 'no, recalibrate first')
    """
    start = start_of_names(prefix)
    page, picture = _check.flag(page, "page"), _check.flag(picture, "picture")
    _log(checked(audit), _run_id(run), step, start, page=page, picture=picture)


def log_calibration(
    predictions: Any,
    actuals: Any = None,
    *,
    run: Any = None,
    step: int | None = None,
    prefix: str = "",
    page: bool = True,
    picture: bool = True,
    **options: Any,
) -> Audit:
    """Audit predictions, log the audit, and return it.

    Parameters
    ----------
    predictions, actuals
        Scores and outcomes, as for `believable.audit`.
    run, step, prefix, page, picture
        As for `log_audit`.
    **options
        Options of `believable.audit`, such as `sample_weight`, `by` and `n_bins`. In a training loop, `fix=False` saves
        most of the time.

    Returns
    -------
    Audit
        The audit that was logged.
    """
    found = made_audit(predictions, actuals, **options)
    log_audit(found, run, step, prefix=prefix, page=page, picture=picture)
    return found


def _run_id(run: Any) -> str:
    if run is None:
        run = mlflow.active_run() or mlflow.start_run()
    if isinstance(run, str):
        return run
    info = getattr(run, "info", None)
    if info is None:
        raise InputError(
            "{argument} must be an MLflow run or its ID, got {got}", argument="run", got=type(run).__name__
        )
    run_id: str = info.run_id
    return run_id


def _log(
    audit: Audit,
    run_id: str,
    step: int | None,
    start: str,
    *,
    page: bool,
    picture: bool,
    model_id: str | None = None,
) -> list[str]:
    """Log everything, and return the paths of the artifacts in the run."""
    numbers = list(numbers_of(audit, start).items())
    for first in range(0, len(numbers), MAX_METRICS_AT_ONCE):
        some = dict(numbers[first : first + MAX_METRICS_AT_ONCE])
        mlflow.log_metrics(some, step=step, run_id=run_id, model_id=model_id)
    client = mlflow.MlflowClient()
    for name, words in words_of(audit, start).items():
        client.set_tag(run_id, name, words)
    folder = start.removesuffix("/") if step is None else f"{start}step_{step}"
    with tempfile.TemporaryDirectory() as made:
        if page:
            audit.to_json(Path(made, JSON_NAME))
            audit.to_html(Path(made, PAGE_NAME))
        if picture:
            diagram(audit).savefig(Path(made, PICTURE_NAME), dpi=150)
        names = sorted(path.name for path in Path(made).iterdir())
        if names:
            mlflow.log_artifacts(made, folder, run_id=run_id)
    return [f"{folder}/{name}" for name in names]


# --- the evaluator ----------------------------------------------------------------------------------------------------

AUDIT_OPTIONS = ("n_bins", "strategy", "notion", "pairs", "fix", "level", "title", "random_state")
OWN_OPTIONS = ("probabilities", "classes", "from_logits", "by", "clusters", "page", "picture", *AUDIT_OPTIONS)
SHARED_OPTIONS = ("pos_label", "sample_weights", "metric_prefix")  # with the evaluators of MLflow
OPTIONS_OF_OTHERS = (
    "average",
    "col_mapping",
    "label_list",
    "log_explainer",
    "log_metrics_with_dataset_info",
    "log_model_explainability",
    "max_classes_for_multiclass_roc_pr",
)
STARTS_OF_OTHERS = ("calibration_", "explainability_")

IN_CONFIG = "in evaluator_config"
NAME_COLUMNS = f"name the columns of probabilities with `probabilities` {IN_CONFIG}"
LIST_CLASSES = f"set `classes` {IN_CONFIG} to the labels, in the order of the columns"
WORDING = Wording(
    arguments={"actuals": "targets", "sample_weight": "sample_weights", "predictions": "the probabilities"},
    hints={
        Hint.LOGITS: f"{LOOK_LIKE_LOGITS}: set `from_logits` {IN_CONFIG}",
        Hint.PREDICTED_CLASSES: f"name the column of probabilities with `probabilities` {IN_CONFIG}",
        Hint.PREDICTED_CLASSES_OF_ROWS: NAME_COLUMNS,
        Hint.NAME_THE_POSITIVE: f"set `pos_label` {IN_CONFIG} to the label that counts as 1",
        Hint.NAME_THE_CLASSES: LIST_CLASSES,
        Hint.CLASSES_OF_COLUMNS: LIST_CLASSES,
        Hint.CLASSES_OF_TEXT: LIST_CLASSES,
    },
)


class PageArtifact(EvaluationArtifact):
    """A page among the artifacts of an `EvaluationResult`; its content is HTML."""

    def _save(self, output_artifact_path: str) -> None:
        Path(output_artifact_path).write_text(self.content, encoding="utf-8")

    def _load_content_from_file(self, local_artifact_path: str) -> str:
        return Path(local_artifact_path).read_text(encoding="utf-8")


ARTIFACTS = {
    JSON_NAME: ("calibration_audit", JsonEvaluationArtifact),
    PAGE_NAME: ("calibration_page", PageArtifact),
    PICTURE_NAME: ("calibration_diagram", ImageEvaluationArtifact),
}


class CalibrationEvaluator(ModelEvaluator):
    """The evaluator "believable" of `mlflow.models.evaluate`, for `model_type="classifier"`.

    It audits the probabilities of a model on the data, and logs the audit as `log_audit` does. Probabilities come from
    the model's `predict_proba` if it has one; otherwise its output has to consist of them. Without a model, they are
    the column `predictions`. The option `probabilities` names other columns, of the output or of the data.

    `evaluator_config` may contain:

    - `probabilities`: the column with the probability of the event, or a list of columns, one per class;
    - `classes`: the labels, in the order of the columns; `pos_label`: the label that counts as 1;
    - `from_logits`: True if they are logits;
    - `sample_weights`, `clusters`: a column of the data, or an array;
    - `by`: a column of the data or a list of them, or a mapping of names to arrays, for subgroups;
    - `n_bins`, `strategy`, `notion`, `pairs`, `fix`, `level`, `title`, `random_state`, as for `believable.audit`;
    - `metric_prefix`, `page`, `picture`, as for `log_audit` (where the first is called `prefix`).

    MLflow runs all evaluators that it finds if none is named. If there are no probabilities then, this one says so in a
    warning, and leaves the evaluation to the others; the same holds if it was named and given no option of its own.
    """

    @classmethod
    def can_evaluate(cls, *, model_type: Any, evaluator_config: Any, **kwargs: Any) -> bool:
        """Return whether the model is a classifier."""
        return bool(model_type == "classifier")

    def evaluate(
        self,
        *,
        model_type: Any,
        dataset: Any,
        run_id: str,
        evaluator_config: Mapping[str, Any] | None,
        model: Any = None,
        predictions: str | None = None,
        model_id: str | None = None,
        **kwargs: Any,
    ) -> EvaluationResult | None:
        """Audit the probabilities, log the audit to the run, and return its numbers and artifacts."""
        config = dict(evaluator_config or {})
        try:
            start = _checked_config(config)
            found = _audited(config, dataset, model, predictions)
        except BelievableError as error:
            said = error.sentence.told(WORDING)
            if any(name in OWN_OPTIONS for name in config):
                raise type(error)(said) from error
            warnings.warn(f"the evaluator believable made no audit: {said}", stacklevel=2)
            return None
        page, picture = bool(config.get("page", True)), bool(config.get("picture", True))
        paths = _log(found, run_id, None, start, page=page, picture=picture, model_id=model_id)
        artifacts = {}
        for path in paths:
            name, kind = ARTIFACTS[Path(path).name]
            artifacts[f"{config.get('metric_prefix', '')}{name}"] = kind(uri=mlflow.get_artifact_uri(path))
        return EvaluationResult(metrics=numbers_of(found, start), artifacts=artifacts, run_id=run_id)


def _checked_config(config: Mapping[str, Any]) -> str:
    """Return the beginning of all names; raise for an option that nobody has."""
    known = (*OWN_OPTIONS, *SHARED_OPTIONS)
    for name in config:
        if name not in (*known, *OPTIONS_OF_OTHERS) and not str(name).startswith(STARTS_OF_OTHERS):
            close = get_close_matches(str(name), known, n=1)
            raise InputError(
                "evaluator_config has no option {got!r}{hint}",
                got=name,
                hint=f" (did you mean {close[0]}?)" if close else f"; the options are {', '.join(known)}",
            )
    for name in ("page", "picture", "from_logits"):
        _check.flag(config.get(name, False), name)
    return start_of_names(config.get("metric_prefix") or "")


def _audited(config: Mapping[str, Any], dataset: Any, model: Any, column: str | None) -> Audit:
    """Audit the probabilities of the model, or those in the data."""
    if dataset.labels_data is None:
        raise InputError("calibration needs outcomes: pass targets to mlflow.models.evaluate", argument="targets")
    by = config.get("by")
    if isinstance(by, (str, list, tuple)):
        by = {name: _column(name, [dataset.features_data], "by") for name in ([by] if isinstance(by, str) else by)}
    clusters, weight = (_rows(config.get(name), dataset, name) for name in ("clusters", "sample_weights"))
    given = _predictions(config, dataset, model, column, weight)
    options = {name: config[name] for name in AUDIT_OPTIONS if name in config}
    return made_audit(given, by=by, clusters=clusters, progress=False, **options)


def _rows(given: Any, dataset: Any, option: str) -> Any:
    """Return an array, or a column of the data."""
    return _column(given, [dataset.features_data], option) if isinstance(given, str) else given


def _column(name: Any, tables: list[Any], option: str) -> Any:
    """Return the column that an option names, from the first table that has it."""
    known = [str(column) for table in tables for column in getattr(table, "columns", ())]
    for table in tables:
        if name in getattr(table, "columns", ()):
            return np.asarray(table[name])
    raise InputError(
        "{argument} names the column {got!r}, but {there}",
        argument=option,
        got=name,
        there=f"the columns are {', '.join(known)}" if known else "the data have no named columns",
    )


def _predictions(config: Mapping[str, Any], dataset: Any, model: Any, column: str | None, weight: Any) -> Predictions:
    """Return the checked probabilities and outcomes."""
    named, features = config.get("probabilities"), dataset.features_data
    classifier = _classifier_behind(model) if named is None else None
    if classifier is not None:
        names = getattr(classifier, "feature_names_in_", None)
        known = features[list(names)] if names is not None and hasattr(features, "columns") else features
        return _of_classifier(classifier, known, dataset.labels_data, weight, config)
    output = dataset.predictions_data if model is None else model.predict(features)
    if named is not None:
        tables = [output, _with_predictions(dataset)]
        scores = np.column_stack(
            [_column(name, tables, "probabilities") for name in ([named] if isinstance(named, str) else named)]
        )
    elif output is None:
        raise InputError(
            "{argument} must name the columns of probabilities, or pass a model or predictions to "
            "mlflow.models.evaluate",
            argument="probabilities",
        )
    else:
        scores = (
            _column(column, [output], "predictions") if column is not None and hasattr(output, "columns") else output
        )
    return _of_scores(_as_array(scores), dataset.labels_data, weight, config)


def _with_predictions(dataset: Any) -> Any:
    """Return the features, beside which MLflow keeps the column of predictions."""
    features, name = dataset.features_data, dataset.predictions_name
    if name is None or not hasattr(features, "columns"):
        return features
    return features.assign(**{name: dataset.predictions_data})


def _classifier_behind(model: Any) -> Any:
    """Return the classifier that a model of MLflow holds, if it has `predict_proba`; otherwise None."""
    try:
        found = model.get_raw_model()
    except (AttributeError, NotImplementedError):  # a function, a served model, or no model
        return None
    return found if hasattr(found, "predict_proba") and hasattr(found, "classes_") else None


def _as_array(scores: Any) -> Any:
    """Return scores as an array; those of a row may be a list."""
    found = np.asarray(scores)
    if found.dtype == object and found.ndim == 1 and len(found) and np.ndim(found[0]) == 1:
        return np.stack([np.asarray(row) for row in found])
    if found.dtype == object and all(isinstance(one, float) for one in found.ravel()):
        found = found.astype(np.float64)
    if found.ndim == 2 and found.shape[1] == 1:
        return found[:, 0]
    return found


def _of_scores(scores: Any, labels: Any, weight: Any, config: Mapping[str, Any]) -> Predictions:
    """Return the checked predictions of the output of a model, or of columns."""
    classes, pos_label, logits = config.get("classes"), config.get("pos_label"), config.get("from_logits", False)
    if scores.dtype.kind not in "f" and scores.ndim == 1:
        raise _check.predicted_classes(one_event=True)
    if scores.ndim == 1:
        classes = None if pos_label is not None else classes
        return Predictions(
            scores, labels, sample_weight=weight, from_logits=logits, pos_label=pos_label, classes=classes
        )
    if classes is None and np.asarray(labels).dtype.kind not in "biuf":
        raise InputError(
            "{argument} are not numbers, so it is not known which column is which: {hint}",
            argument="actuals",
            hint=Hint.NAME_THE_CLASSES,
        )
    order = range(scores.shape[1]) if classes is None else classes
    if logits and scores.shape[1] == 2:
        scores = scores[:, 1] - scores[:, 0]
    method = "decision_function" if logits else "predict_proba"
    stand_in = SimpleNamespace(classes_=list(order), **{method: lambda _: scores})
    return _of_classifier(stand_in, None, labels, weight, config, method)


def _of_classifier(
    classifier: Any, features: Any, labels: Any, weight: Any, config: Mapping[str, Any], method: Any = "predict_proba"
) -> Predictions:
    # As in MLflow, pos_label says which of two classes is the event, and means nothing for more.
    pos_label = config.get("pos_label") if len(classifier.classes_) == 2 else None
    return predictions_of(classifier, features, labels, weight, response_method=method, pos_label=pos_label)
