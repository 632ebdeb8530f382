"""Calibration during training with the `Trainer` of Hugging Face Transformers, and a report and a map at its end."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import transformers

from believable._types import Array
from believable.errors import BelievableError, InputError, UndefinedError
from believable.metrics.scorer import scorer
from believable.metrics.table import find_metric
from believable.predictions import Predictions

IGNORED = -100  # the label of padding, and of tokens that are not to be judged
DEFAULT_METRICS = ("ece", "brier", "nll")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated:
    """Logits and labels of an evaluation, without the rows to be ignored.

    Attributes
    ----------
    logits : ndarray
        One per row for an event, otherwise one column per class.
    labels : ndarray
        As many; for a multi-label model, one column per class.
    clusters : ndarray or None
        The sequence of each token; None if rows are not tokens.
    """

    logits: Array
    labels: Array
    clusters: Array | None

    @property
    def predictions(self) -> Predictions:
        """The checked predictions."""
        return Predictions(self.logits, self.labels, from_logits=True, multilabel=self.labels.ndim == 2)


class ComputeMetrics:
    """What `compute_metrics` returns; `CalibrationCallback` takes it, too."""

    def __init__(
        self, metrics: str | Sequence[str], *, single_logit: bool, pos_label: int, shift: bool, options: dict[str, Any]
    ) -> None:
        names = [metrics] if isinstance(metrics, str) else list(metrics)
        known = set[str]().union(*(find_metric(name).options for name in names))
        for name in options.keys() - known:
            scorer(names[0], **{name: options[name]})  # raises, and says which options there are
        own = [{key: options[key] for key in options.keys() & find_metric(name).options} for name in names]
        self.asked = [scorer(name, **each) for name, each in zip(names, own, strict=True)]
        if pos_label not in (0, 1):
            raise InputError("{argument} must be 0 or 1, got {got!r}", argument="pos_label", got=pos_label)
        self.single_logit, self.pos_label, self.shift = single_logit, pos_label, shift
        self.last: Evaluated | None = None
        self._parts: list[Evaluated] = []

    def __call__(self, prediction: transformers.EvalPrediction, compute_result: bool = True) -> dict[str, float]:
        """Return the metrics of an evaluation, or, with `batch_eval_metrics`, of all batches so far."""
        self._parts.append(self._evaluated(prediction))
        if not compute_result:
            return {}
        self.last = _joined(self._parts)
        self._parts = []
        if not len(self.last.labels):
            raise InputError(f"every label is {IGNORED}: there is nothing to measure")
        checked = self.last.predictions
        found = {}
        for one in self.asked:
            try:
                found[one.name] = float(find_metric(one.name).function(checked, **one.options))
            except UndefinedError as error:  # the AUC of a single class, for example
                logger.warning("%s: %s", one.name, error)
                found[one.name] = float("nan")
        return found

    def _evaluated(self, prediction: transformers.EvalPrediction) -> Evaluated:
        labels, logits = _array(prediction.label_ids), prediction.predictions
        logits = _array(logits[0] if isinstance(logits, (tuple, list)) and labels is not None else logits)
        if labels is None or logits is None:
            raise InputError(
                "the model has several labels per row, as for the start and the end of an answer: combine them to one "
                "array of logits with preprocess_logits_for_metrics, and to one column of labels"
            )
        clusters = None
        if logits.ndim == 3 and labels.ndim == 2 and logits.shape[:2] == labels.shape:
            if self.shift:  # the logits at a position are about the next token
                logits, labels = logits[:, :-1], labels[:, 1:]
            clusters = np.repeat(np.arange(len(labels)), labels.shape[1])
            logits, labels = logits.reshape(-1, logits.shape[2]), labels.reshape(-1)
        elif self.shift:
            raise InputError(
                "{argument} is for logits of the shape (rows, tokens, vocabulary), got the shape {got}",
                argument="shift",
                got=logits.shape,
            )
        if labels.ndim == 2 and labels.shape == logits.shape and labels.shape[1] > 1:  # a multi-label model
            kept = (labels != IGNORED).all(axis=1)
            return Evaluated(logits[kept], labels[kept], None)
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        if labels.ndim != 1 or logits.ndim not in (1, 2) or len(logits) != len(labels):
            raise InputError(
                f"logits of the shape {logits.shape} do not go with labels of the shape {labels.shape}: for "
                "classification, they are (rows, classes) and (rows,), or (rows, tokens, classes) and (rows, tokens); "
                "select or reshape the logits with preprocess_logits_for_metrics"
            )
        kept = labels != IGNORED
        logits, labels = logits[kept], labels[kept]
        return Evaluated(
            self._of_event(logits), self._of_two(logits, labels), None if clusters is None else clusters[kept]
        )

    def _of_event(self, logits: Array) -> Array:
        """Return the logit of the event for two classes, and all columns otherwise."""
        if logits.ndim == 2 and logits.shape[1] > 2:
            return logits
        if logits.ndim == 2 and logits.shape[1] == 2:
            other = 1 - self.pos_label
            return logits[:, self.pos_label] - logits[:, other]
        if not self.single_logit:
            raise InputError(
                "the model gives one number per row, which is the value of a regression unless it was trained with a "
                "logistic loss: then pass single_logit=True"
            )
        logit = logits.reshape(-1)
        return logit if self.pos_label == 1 else -logit

    def _of_two(self, logits: Array, labels: Array) -> Array:
        """Return whether the event happened for two classes, and the labels otherwise."""
        if logits.ndim == 2 and logits.shape[1] > 2:
            return labels
        unknown = labels[~np.isin(labels, (0, 1))]
        if len(unknown):
            raise InputError(f"labels must be 0 or 1 for a model of two classes, got {unknown[0]:g}")
        return (labels == self.pos_label).astype(np.int64)


def compute_metrics(
    metrics: str | Sequence[str] = DEFAULT_METRICS,
    *,
    single_logit: bool = False,
    pos_label: int = 1,
    shift: bool = False,
    **options: Any,
) -> ComputeMetrics:
    """Make a `compute_metrics` for `transformers.Trainer`.

    The names of the metrics in the log have the prefix of the evaluation: "ece" becomes
    `eval_expected_calibration_error`, also for `metric_for_best_model`.

    Parameters
    ----------
    metrics : str or sequence of str
        Names or aliases from the table of metrics.
    single_logit : bool
        The model has one logit per row, trained with a logistic loss. Otherwise one number per row is an error, because
        it is the value of a regression (`num_labels=1`).
    pos_label : {1, 0}
        For two classes: the class whose probability is judged.
    shift : bool
        The model is a causal language model, whose logits at a position are about the next token. With large
        vocabularies, `believable.torch.token_calibration` needs far less memory.
    **options
        Options of the metrics, such as `n_bins=15`; each metric gets those that it has.

    Returns
    -------
    ComputeMetrics
        A callable; it also works with `batch_eval_metrics=True`.

    Notes
    -----
    Logits become probabilities by softmax, of two classes and of single logits by the sigmoid. Logits of the shape
    (rows, tokens, classes) are those of token classification: every token counts, except those with the label -100,
    which marks padding and, usually, all but the first part of a word. If labels have the shape of the logits, the
    model is multi-label, and classes are independent. A metric that is undefined, such as the AUC of a single class, is
    NaN.

    Examples
    --------
    >>> measure = compute_metrics("brier")
    >>> logits, labels = np.array([[2.0, 0.0], [0.0, 1.0], [0.5, 0.5]]), np.array([0, 1, -100])
    >>> round(measure(transformers.EvalPrediction(logits, labels))["brier_score"], 4)
    0.0433
    """
    return ComputeMetrics(metrics, single_logit=single_logit, pos_label=pos_label, shift=shift, options=options)


class CalibrationCallback(transformers.TrainerCallback):  # type: ignore[misc,unused-ignore]
    """Write the audit of the last evaluation, and a calibration map, at the end of training.

    An evaluation before or after training, with `trainer.evaluate()`, writes them at once. With
    `load_best_model_at_end`, the evaluation of the best model is used, because that is the model that remains. Of
    several evaluation sets, each gets its own files, whose names end with that of the set.

    Parameters
    ----------
    compute_metrics : ComputeMetrics
        The one that the `Trainer` has.
    html : path, optional
        Where to write the audit as a page.
    map : path, optional
        Where to write the map as JSON, for `believable.load_recalibrator(path).transform(logits)`.
    method : str
        The recalibrator for the map, by default temperature scaling; an alias from the table of recalibrators.
    title : str
        The title of the page.

    Notes
    -----
    Rows that chose the best epoch look a little better than new ones, and a map must not be judged on the rows on which
    it was fitted: keep rows for a last audit.

    Examples
    --------
    >>> metrics = compute_metrics(["ece", "brier"])
    >>> callback = CalibrationCallback(metrics, html="audit.html", map="temperature.json")

    Then: `Trainer(..., compute_metrics=metrics, callbacks=[callback])`.
    """

    def __init__(
        self,
        compute_metrics: ComputeMetrics,
        *,
        html: str | os.PathLike[str] | None = None,
        map: str | os.PathLike[str] | None = None,
        method: str = "temperature",
        title: str = "",
    ) -> None:
        from believable.recalibrate.facts import as_method

        if not isinstance(compute_metrics, ComputeMetrics):
            raise InputError(
                "{argument} must be what believable.integrations.transformers.compute_metrics returns, and be passed "
                "to the Trainer too, got {got}",
                argument="compute_metrics",
                got=type(compute_metrics).__name__,
            )
        as_method(method)  # an unknown name is found now, not at the end of training
        self.metrics, self.html, self.map, self.method, self.title = compute_metrics, html, map, method, title
        self._training = False
        self._latest: dict[str, tuple[int, Evaluated]] = {}
        self._best: dict[str, tuple[int, Evaluated]] = {}

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Forget earlier evaluations."""
        self._training = True
        self._latest, self._best = {}, {}

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **kwargs: Any) -> None:
        """Keep what was evaluated; outside training, write it."""
        self._keep_best(state)
        if self.metrics.last is None:
            return
        name = _name_of(metrics or {}, self.metrics.asked[0].name)
        self._latest[name] = state.global_step, self.metrics.last
        self.metrics.last = None  # an evaluation without labels computes no metrics
        if not self._training:
            self._write_all({name: self._latest[name]}, state)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Keep what was evaluated if it was the best so far."""
        self._keep_best(state)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Write the files."""
        self._training = False
        self._keep_best(state)
        self._write_all(self._latest | (self._best if args.load_best_model_at_end else {}), state)

    def _write_all(self, chosen: dict[str, tuple[int, Evaluated]], state: Any) -> None:
        if not state.is_world_process_zero:
            return
        for name, (step, evaluated) in chosen.items():
            try:
                self._write(name, step, evaluated)
            except BelievableError as error:  # what was trained is worth more than this page
                logger.warning("the calibration after step %d: %s", step, error)

    def _keep_best(self, state: Any) -> None:
        best = _best_step(state)
        self._best |= {name: latest for name, latest in self._latest.items() if latest[0] == best}

    def _write(self, name: str, step: int, evaluated: Evaluated) -> None:
        from believable.auditing import audit
        from believable.recalibrate.facts import as_method

        if self.html is not None:
            what = f"{self.title or 'Calibration'}{f', {name}' if name else ''}, step {step}"
            found = audit(evaluated.predictions, clusters=evaluated.clusters, title=what, progress=False)
            found.to_html(_with_name(self.html, name))
        if self.map is not None:
            if evaluated.labels.ndim == 2:
                raise InputError("a multi-label model has no single map: fit one for each class")
            recalibrator = as_method(self.method).set_params(input="logits")
            recalibrator.fit(evaluated.logits, evaluated.labels).to_json(_with_name(self.map, name))


# --- arrays and names -------------------------------------------------------------------------------------------------


def _array(values: Any) -> Array | None:
    """Return logits or labels as an array; None if there are several."""
    if isinstance(values, (tuple, list)):
        return _array(values[0]) if len(values) == 1 else None
    if hasattr(values, "detach"):  # with batch_eval_metrics, tensors are passed, perhaps in half precision
        values = values.detach().cpu()
        values = (values.float() if values.is_floating_point() else values).numpy()
    return np.asarray(values)


def _joined(parts: Sequence[Evaluated]) -> Evaluated:
    if len(parts) == 1:
        return parts[0]
    clusters: Array | None = None
    if all(part.clusters is not None for part in parts):
        own = [np.asarray(part.clusters) for part in parts]
        starts = np.cumsum([0, *(int(one.max(initial=-1)) + 1 for one in own[:-1])])
        clusters = np.concatenate([one + start for one, start in zip(own, starts, strict=True)])
    return Evaluated(
        np.concatenate([part.logits for part in parts]), np.concatenate([part.labels for part in parts]), clusters
    )


def _name_of(metrics: dict[str, Any], metric: str) -> str:
    """Return the name of an evaluation set: "news" for `eval_news_brier_score`, and "" for the only one."""
    prefix = next((name.removesuffix(metric) for name in metrics if name.endswith(metric)), "")
    return prefix.removeprefix("eval_").strip("_")


def _with_name(path: str | os.PathLike[str], name: str) -> Path:
    path = Path(path)
    safe = "".join(letter if letter.isalnum() else "-" for letter in name)
    return path.with_stem(f"{path.stem}-{safe}") if name else path


def _best_step(state: Any) -> int | None:
    """Return the step of the best checkpoint so far, in old versions from the name of its folder."""
    step = getattr(state, "best_global_step", None)
    if step is None and state.best_model_checkpoint:
        end = str(state.best_model_checkpoint).rpartition("-")[2]
        step = int(end) if end.isdigit() else None
    return step
