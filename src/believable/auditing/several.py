"""`audit_models`: audit several models on the same rows, and rank them by a proper score."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from believable._check import renamed
from believable.auditing.make import audit
from believable.auditing.versus import versus
from believable.errors import InputError
from believable.predictions import Predictions, as_predictions
from believable.readers.load import Loaded
from believable.report.several import MAX_MODELS, Audits
from believable.stats.source import refuse_extras


@renamed(groups="clusters")
def audit_models(
    models: Mapping[str, Any],
    actuals: Any = None,
    *,
    clusters: Any = None,
    random_state: Any = 0,
    sample_weight: Any = None,
    **options: Any,
) -> Audits:
    """Audit several models on the same rows, and rank them.

    Parameters
    ----------
    models : mapping of str to array-like, Predictions or Loaded
        Predictions of 2 to 8 models by name.
    actuals : array-like, optional
        The outcomes; not needed where each model comes with them.
    clusters : array-like of shape (n,), optional
        Clusters of rows that belong together (patients, queries): the intervals allow for them.
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.
    sample_weight : array-like of shape (n,), optional
        The weight of each row.
    **options
        Options of `audit`, such as `n_bins`, `strategy`, `notion`, `pairs`, `by`, `fix` and `level`.

    Returns
    -------
    Audits
        A sequence of `Audit`, the best first by log loss (by the Brier score where a log loss is infinite). `print` it
        for a table; `.to_html("models.html")` writes one page.

    Examples
    --------
    >>> from believable.readers import load_demo
    >>> found = audit_models(load_demo(), fix=False)
    >>> [(one.title, one.verdict.answer) for one in found]
    [('logistic', 'yes'), ('naive_bayes', 'no, recalibrate first')]
    """
    if not isinstance(models, Mapping) or not 2 <= len(models) <= MAX_MODELS:
        raise InputError(
            "{argument} must be a mapping of names to 2 to {most} models, got {got!r}",
            argument="models",
            most=MAX_MODELS,
            got=len(models) if isinstance(models, Mapping) else type(models).__name__,
        )
    if len(set(map(str, models))) < len(models):
        raise InputError("{argument} need different names, got {got}", argument="models", got=list(models))
    rows = {str(name): _rows(model, actuals, sample_weight) for name, model in models.items()}
    _refuse_other_rows(rows)
    if clusters is None:
        clusters = next((model.clusters for model in models.values() if isinstance(model, Loaded)), None)
    options |= {"clusters": clusters, "random_state": random_state}
    made = {
        str(name): audit(model if isinstance(model, Loaded) else rows[str(name)], title=str(name), **options)
        for name, model in models.items()
    }
    finite = all(math.isfinite(one["nll"].value) for one in made.values())
    alias, score = ("nll", "log loss") if finite else ("brier", "Brier score")
    order = sorted(made, key=lambda name: made[name][alias].value)
    level, best = made[order[0]].verdict.level, rows[order[0]]
    behind = [
        versus(rows[name], best, [alias], cluster=clusters, level=level, random_state=random_state)[0]
        for name in order[1:]
    ]
    return Audits(tuple(made[name] for name in order), score, tuple(behind))


def _rows(model: Any, actuals: Any, sample_weight: Any) -> Predictions:
    if isinstance(model, Loaded):
        refuse_extras("Loaded", actuals=actuals, sample_weight=sample_weight)
        return model.predictions
    return as_predictions(model, actuals, sample_weight)


def _refuse_other_rows(rows: Mapping[str, Predictions]) -> None:
    (first, expected), *others = rows.items()
    for name, one in others:
        if (one.kind, one.n_classes) != (expected.kind, expected.n_classes):
            raise InputError(
                "{argument} are compared on the same probabilities, but {got!r} has {kind} predictions of {n} classes "
                "and {first!r} {other} ones of {m}",
                argument="models",
                got=name,
                kind=one.kind,
                n=one.n_classes,
                first=first,
                other=expected.kind,
                m=expected.n_classes,
            )
        if not np.array_equal(one.labels, expected.labels):
            raise InputError(
                "{argument} are compared on the same rows, but {got!r} and {first!r} have different outcomes",
                argument="models",
                got=name,
                first=first,
            )
