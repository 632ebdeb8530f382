"""Scores and outcomes in folds: every row is mapped by a map that has not seen it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold

from believable import _check
from believable._random import generator
from believable._types import Array, Floats, Ints
from believable.errors import InputError
from believable.inference._units import cluster_of_rows
from believable.predictions import Predictions, as_predictions
from believable.recalibrate._base import Recalibrator
from believable.recalibrate._scores import INPUTS, Input, Scores


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What is to be recalibrated.

    Attributes
    ----------
    scores : ndarray
        As recalibrators take them.
    input : {"probabilities", "logits", "scores"}
        What they are.
    baseline : Predictions
        What they say when nothing is done, with labels and weights; for scores that are not probabilities, the share of
        each class.
    cluster : ndarray or None
        The cluster of each row.
    fold : ndarray
        The fold of each row, from 0.
    """

    scores: Floats
    input: Input
    baseline: Predictions
    cluster: Ints | None
    fold: Ints

    @classmethod
    def of(
        cls,
        predictions: Any,
        actuals: Any,
        *,
        input: Input,
        cv: int,
        groups: Any,
        sample_weight: Any,
        random_state: Any,
    ) -> Problem:
        """Check everything once."""
        _check.choice(input, INPUTS, "input")
        n_folds = _check.positive_integer(cv, "cv", 2)
        scores, baseline = _scores_and_baseline(predictions, actuals, sample_weight, input)
        if baseline.kind == "multilabel" or baseline.labels.dtype.kind == "f":
            raise InputError("recalibration needs one label per row: soft labels and several labels are not taken")
        counts = np.bincount(baseline.labels)
        if np.count_nonzero(counts) < 2 or counts[counts > 0].min() < 2:
            raise InputError("recalibration needs two classes, and of each at least two rows to put into folds")
        cluster = cluster_of_rows(groups, predictions, baseline, sample_weight)
        fold = folds(baseline.labels, cluster, n_folds, generator(random_state))
        return cls(scores, input, baseline, cluster, fold)

    def fit(self, method: Recalibrator, rows: Array | slice = slice(None)) -> Recalibrator:
        """A clone of a method, told what the scores are and what the classes are called, fitted on some of the rows."""
        names = self.baseline.classes
        model: Recalibrator = clone(method).set_params(input=self.input)
        if names is not None:
            model.set_params(classes=list(names))
        labels = self.baseline.labels[rows]
        weights = None if self.baseline.weights is None else self.baseline.weights[rows]
        return model.fit(self.scores[rows], labels if names is None else np.asarray(names)[labels], weights)

    def cross_fitted(self, method: Recalibrator) -> Predictions:
        """Predictions in which every row was mapped by a map that has not seen it, nor its cluster."""
        out = np.empty(self.baseline.scores.shape)
        for k in range(int(self.fold.max()) + 1):
            inside = self.fold == k
            out[inside] = self.fit(method, ~inside).transform(self.scores[inside])
        return self.baseline._with(scores=out, borrowed=False)


def folds(labels: Ints, cluster: Ints | None, n_folds: int, rng: np.random.Generator) -> Ints:
    """The fold of each row: rows of a class are dealt out in turn, in random order; clusters stay together."""
    if cluster is None:
        order = rng.permutation(len(labels))
        order = order[np.argsort(labels[order], kind="stable")]
        fold = np.empty(len(labels), np.intp)
        fold[order] = np.arange(len(labels)) % n_folds
        return fold
    n_clusters = int(cluster.max()) + 1
    if n_clusters < n_folds:
        raise InputError(f"groups names {n_clusters} clusters, too few for cv={n_folds} folds")
    fold = np.zeros(len(labels), np.intp)
    splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=int(rng.integers(2**31)))
    for k, (_, test) in enumerate(splitter.split(labels, labels, cluster)):
        fold[test] = k
    return fold


def _scores_and_baseline(
    predictions: Any, actuals: Any, sample_weight: Any, input: Input
) -> tuple[Floats, Predictions]:
    if isinstance(predictions, Predictions) or input == "probabilities":
        if input != "probabilities":
            raise InputError(
                f"a Predictions holds probabilities: pass the {input} themselves, or input='probabilities'"
            )
        source = as_predictions(predictions, actuals, sample_weight)
        return source.scores, source
    values = _check.numeric(predictions, "predictions")
    _check.finite(values, "predictions", None)
    Scores.of(values, input)
    if input == "logits":
        source = Predictions(values, actuals, sample_weight=sample_weight, from_logits=True)
    else:
        source = _shares(values, actuals, sample_weight)
    if sample_weight is not None:
        values = values[np.asarray(sample_weight) > 0]
    return values, source


def _shares(values: Floats, actuals: Any, sample_weight: Any) -> Predictions:
    """The share of each class in every row, as predictions."""
    n_classes = values.shape[1] if values.ndim == 2 else 2
    blank = np.full(values.shape, 1 / n_classes)
    source = Predictions(blank, actuals, sample_weight=sample_weight)
    share = np.bincount(source.labels, source.weights, n_classes)
    share = share / share.sum()
    return source._with(
        scores=np.tile(share if values.ndim == 2 else share[1], (len(source), 1)).reshape(source.scores.shape)
    )
