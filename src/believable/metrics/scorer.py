"""Metrics as scikit-learn scorers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, get_args

from believable import _check, _optional
from believable.errors import InputError
from believable.metrics.estimators import ResponseMethod, predictions_of
from believable.metrics.table import NEGATED, find_metric, known_metric


@dataclass(frozen=True)
class Scorer:
    """A callable `scorer(estimator, X, y) -> float` for model selection; greater is better. See `believable.scorer`.

    Attributes
    ----------
    name : str
        Name of the metric.
    options : dict
        Options passed to the metric.
    requests : dict
        What `set_score_request` set.
    response_method : str
        The method of the estimator that is called.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    requests: dict[str, bool | str | None] = field(default_factory=dict)
    response_method: ResponseMethod = "auto"

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        row = find_metric(self.name)
        predictions = predictions_of(estimator, X, y, sample_weight, response_method=self.response_method)
        sign = -1.0 if row.direction == "lower" else 1.0
        return sign * float(row.function(predictions, **self.options))

    def set_score_request(self, *, sample_weight: bool | str | None = None) -> Scorer:
        """Say whether scikit-learn's metadata routing passes weights to this scorer, and return it.

        As with scikit-learn's own scorers, nothing is assumed: without a request, `cross_validate` and `GridSearchCV`
        raise an error if they are given weights.

        Parameters
        ----------
        sample_weight : bool, str or None
            True requests the weights, False declines them, and a name requests the weights of that name.

        Returns
        -------
        Scorer
            The scorer itself.
        """
        sklearn = _optional.load("sklearn", "metadata routing needs")
        if not sklearn.get_config()["enable_metadata_routing"]:
            raise InputError(
                "a request has no effect before scikit-learn's metadata routing is enabled: call "
                "sklearn.set_config(enable_metadata_routing=True) first"
            )
        self.requests["sample_weight"] = sample_weight
        return self

    def get_metadata_routing(self) -> Any:
        """Return what the scorer requests, as scikit-learn's metadata routing reads it."""
        routing = _optional.load("sklearn.utils.metadata_routing", "metadata routing needs")
        request = routing.MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self.requests.get("sample_weight"))
        return request


def scorer(metric: str, *, response_method: ResponseMethod = "auto", **options: Any) -> Scorer:
    """Make a scorer of a metric, for scikit-learn's `cross_validate`, `GridSearchCV` and others.

    In scikit-learn greater is better, so metrics for which lower is better are negated, as in its own `neg_log_loss`.
    With scikit-learn's metadata routing enabled, `scorer(...).set_score_request(sample_weight=True)` requests weights.

    Parameters
    ----------
    metric : str
        A name or alias from the table of metrics, or what scikit-learn calls it; here "log_loss" and "neg_log_loss" are
        the same, since a scorer of a loss is negated.
    response_method : {"auto", "predict_proba", "decision_function"}
        The method of the estimator that is called, by default `predict_proba`. The values of `decision_function` are
        read as logits.
    **options
        Options of that metric, such as `n_bins=15`.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> round(scorer("expected_calibration_error", n_bins=2)(model, [[0.0], [3.0]], [0, 1]), 3)
    -0.192
    """
    loss = known_metric(metric.removeprefix(NEGATED)) if isinstance(metric, str) else None
    row = loss if loss is not None and loss.direction == "lower" else find_metric(metric)
    unknown = set(options) - row.options
    if unknown:
        raise InputError(f"{row.name} has no option {sorted(unknown)[0]!r}; it has {sorted(row.options)}")
    if options.get("reduction", "mean") != "mean":
        raise InputError("{argument} must be 'mean' here, because one number is needed", argument="reduction")
    if row.direction is None:
        raise InputError(f"higher values of {row.name} are neither better nor worse, so it cannot score models")
    _check.choice(response_method, get_args(ResponseMethod), "response_method")
    return Scorer(row.name, dict(options), response_method=response_method)
