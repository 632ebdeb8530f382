"""Averaged calibration: a weighted mean of several calibration maps, weighted by how well each predicts other rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self, final

import numpy as np

from believable import _check
from believable._arrays import as_numpy
from believable._check import generator
from believable._types import Array, Float64s, Floats, Ints
from believable.errors import InputError, SchemaError, UndefinedError
from believable.inference.clusters import numbered_clusters
from believable.inference.compare import mean_of_rows
from believable.recalibrate._estimators import check_is_fitted, clone
from believable.recalibrate.base import BinaryRecalibrator, Recalibrator
from believable.recalibrate.crossfit import Mapped, RowsInFolds, folds, input_of, quietly
from believable.recalibrate.facts import Field, Map, Members, Number, Vector, as_method, in_words, recalibrator
from believable.recalibrate.histogram import HistogramBinning
from believable.recalibrate.identity import Identity
from believable.recalibrate.inputs import (
    EventCells,
    Input,
    Scores,
    cells_of_summary,
    check_cells,
    events_of,
    rarest_in,
)
from believable.recalibrate.one_vs_rest import OneVsRest
from believable.recalibrate.prior_shift import PriorShift
from believable.recalibrate.structured import StructuredScaling
from believable.recalibrate.temperature import TemperatureScaling
from believable.stats import CellStats, Summary

# Measured on the predictions of everyday models for public tables: see docs/decisions/0014.
PRIOR_ODDS_OF_NO_CHANGE = 3.0
EVIDENCE_RATE = 0.5  # of the nats gained, the share that counts as evidence against the scores as they are
STACKING_RATE = 0.25  # of the nats by which maps differ, the share that counts in the prior of their weights
PRIOR_ROWS = 10.0  # the number of rows that this prior is worth
MAX_STACKING_STEPS = 300
STACKING_PRECISION = 1e-5
SMALLEST_SHARE = 0.005  # a map of a smaller weight is left out
LARGEST_EXPONENT = 700.0  # exp of more overflows
TINY = 1e-300
SMALLEST_WEIGHT = 1e-9  # a share of a cell below this is rounding
ROUNDING_OF_SUMS = 1e-9  # weights whose sum differs from 1 by less are taken to sum to 1
MAX_CLASSES_FOR_MATRIX_MAPS = 50  # beyond this, a matrix has thousands of entries


def suitable_methods(n_classes: int, input: Input) -> dict[str, Recalibrator]:
    """Return the recalibrators that are averaged by default, by name."""
    if input == "scores":
        if n_classes == 2:
            return _named("platt", "venn_abers")
        temperature = {"temperature": TemperatureScaling(input="logits")}
        if n_classes > MAX_CLASSES_FOR_MATRIX_MAPS:
            return temperature | {"structured": StructuredScaling(input="logits", structure="vector")}
        return temperature | {"structured": StructuredScaling(input="logits")} | _named("platt")
    if n_classes == 2:
        return _named("temperature", "beta", "logit_spline", "venn_abers")
    if n_classes <= MAX_CLASSES_FOR_MATRIX_MAPS:
        return _named("temperature", "structured", "beta", "venn_abers")
    return _named("temperature") | {"structured": StructuredScaling(structure="vector")}


def _named(*names: str) -> dict[str, Recalibrator]:
    return {name: as_method(name) for name in names}


def no_change(input: Input) -> Recalibrator:
    """Return what leaves the scores as they are or, for scores that are not probabilities, predicts the base rate."""
    return HistogramBinning(n_bins=1, input=input) if input == "scores" else Identity(input=input)


# --- Weights from out-of-fold probabilities ---------------------------------------------------------------------------


class Blend(NamedTuple):
    """A recipe for an average: the weights of the maps, no change first, and what keeps it away from 0 and 1.

    Attributes
    ----------
    weights : ndarray of shape (m,)
        The weights of the maps, which sum to 1.
    mixing : float
        The rate at which the average is mixed with the uniform distribution.
    n_outcomes : int
        The number of outcomes: that of the classes, or 2 for an independent label.
    """

    weights: Float64s
    mixing: float
    n_outcomes: int

    def of(self, maps: Sequence[Floats]) -> Float64s:
        """Return the average of the probabilities of each map."""
        p = sum(w * each for w, each in zip(self.weights.tolist(), maps, strict=True))
        return np.asarray((1 - self.mixing) * p + self.mixing / self.n_outcomes)


class Evidence(NamedTuple):
    """What the weights of an average follow from.

    Attributes
    ----------
    own : ndarray of shape (n, m)
        The probability that each map gave, out of fold, to what occurred; column 0 is that of no change.
    w : ndarray of shape (n,)
        The weight of each row, on any scale.
    n : float
        The effective number of rows, given the weights.
    total : float
        What the weights are scaled to sum to: the number of independent observations.
    n_outcomes : int
        The number of outcomes.
    """

    own: Float64s
    w: Float64s
    n: float
    total: float
    n_outcomes: int

    def blend(self) -> Blend:
        """Return the weights of the maps; see `AveragedCalibration`."""
        mixing, w = 1 / (self.n + 1), self.w * (self.total / self.w.sum())
        own = (1 - mixing) * self.own + mixing / self.n_outcomes
        log, others = np.log(own), own[:, 1:]
        loss = -(w @ log[:, 1:])
        prior = np.exp(STACKING_RATE * (loss.min() - loss))
        shares = stacked(others, w, PRIOR_ROWS * prior / prior.sum())
        gain = float(w @ (np.log(others @ shares) - log[:, 0]))
        unchanged = 1 / (1 + np.exp(min(EVIDENCE_RATE * gain, LARGEST_EXPONENT)) / PRIOR_ODDS_OF_NO_CHANGE)
        return Blend(np.append(unchanged, (1 - unchanged) * shares), mixing, self.n_outcomes)


def stacked(own: Float64s, w: Float64s, prior: Float64s) -> Float64s:
    """Return the shares v, with sum 1, that maximise sum_i w_i log(own_i . v) + sum_m prior_m log v_m, by EM."""
    v = np.full(own.shape[1], 1 / own.shape[1])
    for _ in range(MAX_STACKING_STEPS):
        before = v
        v = v * ((w / (own @ v)) @ own) + prior
        v = v / v.sum()
        if np.abs(v - before).max() < STACKING_PRECISION:
            break
    return v


def own_probability(p: Floats, labels: Array) -> Float64s:
    """Return the probability of what occurred: one per row, or one per row and independent label."""
    if labels.ndim == 2:
        return np.where(labels, p, 1 - p).astype(np.float64).ravel()
    return p[np.arange(len(labels)), labels].astype(np.float64)


def effective_rows(w: Float64s) -> float:
    """Return the effective number of rows of unequal weights (Kish): (sum w)^2 / sum w^2."""
    scaled = w / w.max()
    return float(scaled.sum() ** 2 / (scaled @ scaled))


def design_effect(own: Float64s, w: Float64s, cluster: Ints | None) -> float:
    """Return by how much clusters inflate the variance of the mean gain of the maps over no change; at least 1."""
    if cluster is None:
        return 1.0
    gain = np.log(np.maximum(own, TINY))
    gain = gain[:, 1:].mean(axis=1) - gain[:, 0]
    alone, together = mean_of_rows(gain, w, None)[1], mean_of_rows(gain, w, cluster)[1]
    return max(1.0, (together / alone) ** 2) if alone > 0 else 1.0


def averaged(problem: RowsInFolds, maps: Sequence[Mapped]) -> tuple[Blend, Mapped]:
    """Return the average of cross-fitted maps, no change first: its recipe, and what it predicts out of fold.

    The recipe that is applied to a fold is found on the other folds, so that the rows it is judged by had no part in
    it.
    """
    labels, n_classes = problem.labels, problem.baseline.predictions.n_classes
    w = np.ones(len(labels)) if problem.weights is None else problem.weights
    own = np.exp(-np.column_stack([each.log_loss for each in maps]))

    def recipe(rows: Array) -> Blend:
        cluster = None if problem.cluster is None else np.unique(problem.cluster[rows], return_inverse=True)[1]
        n = effective_rows(w[rows])
        return Evidence(own[rows], w[rows], n, n / design_effect(own[rows], w[rows], cluster), n_classes).blend()

    out, loss = np.empty(problem.scores.shape), np.empty(len(labels))
    for k in range(int(problem.fold.max()) + 1):
        held = problem.fold == k
        found = recipe(~held)
        out[held] = found.of([each.predictions.scores[held] for each in maps])
        loss[held] = -np.log(found.of(list(own[held].T)))
    out.flags.writeable = False
    found = recipe(np.ones(len(labels), bool))
    predictions = problem.baseline.predictions.trusting(scores=out, borrowed=False)
    return found, Mapped(predictions, loss, 1 - float(found.weights[0]))


# --- The recalibrator -------------------------------------------------------------------------------------------------


@final
@recalibrator(
    alias="average",
    fewest=5,
    simplicity=8,
    cells=True,
    reads_logits=True,
    reference="Wolpert (1992), stacking",
)
class AveragedCalibration(Recalibrator):
    """Averaged calibration: p' = sum_m v_m p'_m, a weighted mean of the maps of several recalibrators.

    One of the maps leaves the scores as they are. The weights v follow from how well each map predicts rows that it was
    not fitted on: with q_mi the probability that map m, fitted on the other folds, gives to what occurred in row i,

    - the shares s of the recalibrators maximise sum_i log(sum_m s_m q_mi) + sum_m a_m log s_m (stacking), where the
      prior a is worth ten rows and proportional to exp(-L_m / 4), with L_m the summed log loss of map m;
    - G = sum_i log(sum_m s_m q_mi) - log q_0i is what they gain together over no change, in nats, and the weight of no
      change is v_0 = 3 / (3 + exp(G / 2)); the rest is shared out as s.

    So the average shrinks to the scores as they are when rows are few or nothing is gained: at G = 0 they have a weight
    of 3/4. Last, p' is mixed with the uniform distribution at a rate of 1 / (n + 1), in the folds too, as if one more
    row had been seen with equal parts of every outcome. So it is never 0 or 1, whatever the maps say. Maps of a weight
    below 0.5 % are left out. Then all maps are fitted on all rows.

    Which map is best cannot be known from a few hundred rows, and the errors of several partly cancel. On predictions
    of everyday models for public tables, the average comes closer to the best map than any single one does (see the
    page on the arena). The constants 3, 1/2, 1/4 and ten were chosen on some of these tables (see decision 14).

    With weights, n is the effective number of rows (Kish), (sum w)^2 / sum w^2, and the weights are scaled to sum to n;
    with clusters, to n divided by the design effect of the gain. Folds are random, but do not depend on the order of
    the rows. A repeated row may be in another fold than the first, so weight 2 is not the same as the row twice. The
    maps themselves are fitted with the weights as they are given.

    Parameters
    ----------
    input : {"probabilities", "logits", "scores"}
        The scale of X. For scores that are not probabilities, "no change" is the base rate. Scores of several classes
        are also tried as logits.
    methods : sequence, optional
        What to average: recalibrators, or names of recalibrators. By default, for one event: temperature scaling, beta
        calibration, a logit spline and Venn–Abers; for several classes, structured scaling instead of the spline; for
        more than 50, temperature scaling and structured scaling of structure "vector"; for scores of one event, Platt
        scaling and Venn–Abers; for scores of several classes, temperature and structured scaling, which take them for
        logits, and Platt scaling; for independent labels, Platt scaling, beta calibration, a logit spline and
        Venn–Abers. No change is always included.
    weights : sequence of float, optional
        The weight of each method. What is missing to 1 is the weight of no change. By default they are found by
        cross-fitting.
    cv : int
        The number of folds.
    multilabel : bool
        Labels do not exclude each other; see `OneVsRest`. The weights are the same for all labels.
    random_state : None, int or numpy Generator
        Random seed for the folds.
    classes : sequence, optional
        The labels in the order of the columns.

    Attributes
    ----------
    weights_ : dict
        The weight of each method by the name of its class. No change is "Identity", and the base rate of scores that
        are not probabilities is "HistogramBinning". Weights of methods of one class are added.
    members_ : tuple of Recalibrator
        The fitted recalibrators.

    References
    ----------
    Wolpert (1992), Stacked generalization, Neural Networks; Yao, Vehtari, Simpson, Gelman (2018), Using stacking to
    average Bayesian predictive distributions, Bayesian Analysis.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=500)
    >>> y = rng.random(500) < 1 / (1 + np.exp(-z))
    >>> model = AveragedCalibration(input="logits").fit(2 * z, y)
    >>> print(model.in_words())
    30 % temperature scaling, 28 % logit spline calibration, 28 % Venn–Abers, 13 % beta calibration, 1 % unchanged

    Scores that are calibrated are mostly left as they are:

    >>> print(AveragedCalibration(input="logits").fit(z, y).in_words())
    63 % unchanged, 13 % temperature scaling, 12 % Venn–Abers, 7 % logit spline calibration, 6 % beta calibration
    """

    inputs: ClassVar[tuple[Input, ...]] = ("probabilities", "logits", "scores")
    fields: ClassVar[dict[str, Field]] = {
        "weights": Vector(0, 1),
        "mixing": Number(0, 1),
        "members": Members(),
    }

    def __init__(
        self,
        *,
        input: Input = "probabilities",
        methods: Sequence[Recalibrator | str] | None = None,
        weights: Sequence[float] | None = None,
        cv: int = 5,
        multilabel: bool = False,
        random_state: Any = 0,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.input = input
        self.methods = methods
        self.weights = weights
        self.cv = cv
        self.multilabel = multilabel
        self.random_state = random_state
        self.classes = classes

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, clusters: Any = None) -> Self:
        """Fit the maps and find their weights; see `Recalibrator.fit`.

        Parameters
        ----------
        X, y, sample_weight
            Scores, labels and weights.
        clusters : array-like of shape (n,), optional
            The cluster of each row. The rows of a cluster stay in one fold.

        Returns
        -------
        self
        """
        cluster = None if clusters is None or y is None else _codes(clusters, y)
        return self._fit_to(X, y, sample_weight, cluster=cluster)

    def fit_from_cells(self, cells: CellStats | Summary) -> Self:
        """Fit the maps of one event from a statistic: all rows of a cell count at their mean score.

        To find the weights, the rows of each cell are assigned to folds at random.

        Parameters
        ----------
        cells : CellStats or Summary
            Cells of the notion "binary". From a `Summary`, the logit-spaced cells are used.

        Returns
        -------
        self
        """
        self._check_settings()
        cells = cells_of_summary(cells, True) if isinstance(cells, Summary) else cells
        check_cells(cells, self.multilabel)
        if cells.view.notion != "binary":
            raise UndefinedError("AveragedCalibration needs the rows: cells of several classes do not hold enough")
        if self.input != "probabilities":
            raise InputError(
                f"cells hold probabilities: make AveragedCalibration(input='probabilities'), not {self.input!r}"
            )
        classes = np.arange(2) if self.classes is None else np.asarray(self.classes)
        if len(classes) != 2:
            raise InputError("{argument} must name 2 classes, got {got}", argument="classes", got=len(classes))
        (event,) = events = events_of(cells, 1, True)
        assert event is not None
        self._warn_of_few(rarest_in(events))
        methods = [self._member(one) for one in (no_change("probabilities"), *self._methods(2))]
        n = float(cells.w.sum() ** 2 / cells.w2.sum())
        found = self._given(n, 2)
        with quietly():
            if found is None:
                found = _evidence_of_cells(
                    methods, event, min(self.cv, int(event.n.sum())), generator(self.random_state), n
                ).blend()
            members = [clone(one).fit_from_cells(cells) for one in methods]
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_, self.classes_, self.maps_ = 1, classes, (_kept(found, members),)
        return self

    @property
    def weights_(self) -> dict[str, float]:
        """The weight of each recalibrator by the name of its class."""
        fitted = self._fitted()
        weights: dict[str, float] = {}
        for one, weight in zip(fitted["members"], fitted["weights"].tolist(), strict=True):
            name = type(_inner(one)).__name__
            weights[name] = weights.get(name, 0.0) + weight
        return weights

    @property
    def members_(self) -> tuple[Recalibrator, ...]:
        """The fitted recalibrators."""
        members: tuple[Recalibrator, ...] = self._fitted()["members"]
        return members

    def in_words(self) -> str:
        """Return the weights in words, the largest first."""
        fitted = self._fitted()
        return blend_in_words([_inner(one) for one in fitted["members"]], fitted["weights"])

    def _fitted(self) -> Map:
        check_is_fitted(self, "maps_")
        (fitted,) = self.maps_
        assert fitted is not None
        return fitted

    def _check_settings(self) -> None:
        super()._check_settings()
        _check.positive_integer(self.cv, "cv", 2)
        _check.flag(self.multilabel, "multilabel")
        if self.methods is not None and (not isinstance(self.methods, (list, tuple)) or not self.methods):
            raise InputError(
                "{argument} must be a list of recalibrators, or of their names, got {got!r}",
                argument="methods",
                got=self.methods,
            )
        for one in self._methods(2):
            self._check_method(one)
        if self.weights is not None:
            self._check_weights(self.weights)

    def _check_method(self, method: Recalibrator) -> None:
        if isinstance(method, AveragedCalibration):
            raise InputError("an average of averages has no use: leave AveragedCalibration out of the methods")
        if isinstance(method, PriorShift):
            raise InputError(
                "PriorShift adapts scores to another population, so these rows cannot judge it: fit it directly"
            )
        if self.multilabel and (not isinstance(method, BinaryRecalibrator) or isinstance(method, OneVsRest)):
            raise InputError(
                "with {multilabel=True}, {argument} must be recalibrators of one event, such as PlattScaling(), got "
                "{got!r}",
                argument="methods",
                got=method,
            )
        if method.multilabel or not method.normalise:
            raise InputError(
                "the probabilities of each of the {argument} must sum to one in every row, got {got!r}",
                argument="methods",
                got=method,
            )
        self._member(method)._check_settings()

    def _check_weights(self, weights: Any) -> None:
        given = _check.numeric(weights, "weights")
        if self.methods is None or given.shape != (len(self.methods),):
            raise InputError("{argument} needs one number for each of the methods", argument="weights")
        if not ((given >= 0).all() and given.sum() <= 1 + ROUNDING_OF_SUMS):
            raise InputError("{argument} must not be negative, and sum to at most 1", argument="weights")

    def _check_map(self, fitted: Map, n_classes: int) -> None:
        members, weights = fitted["members"], fitted["weights"]
        columns = 1 if n_classes == 2 and not self.multilabel else n_classes
        if len(members) != len(weights) or abs(weights.sum() - 1) > ROUNDING_OF_SUMS:
            raise SchemaError("the saved weights must be one for each of the members, and sum to 1")
        for one in members:
            of_average = isinstance(one, AveragedCalibration) or not one.normalise
            if of_average or len(one.classes_) != n_classes or one.n_features_in_ != columns:
                raise SchemaError(
                    f"the saved members must be recalibrators of {n_classes} classes with {columns} columns"
                )
            if one.multilabel != self.multilabel or one.input != input_of(one, self.input):
                raise SchemaError("the saved members must be of the same kind and scale as their average")

    def _n_maps(self, n_classes: int) -> int:
        return 1

    def _methods(self, n_classes: int) -> list[Recalibrator]:
        """Return the recalibrators to average, besides no change."""
        if self.methods is not None:
            return [as_method(one) for one in self.methods]
        if self.multilabel:
            return [
                as_method(name)
                for name in ("platt", *(("beta", "logit_spline") if self.input != "scores" else ()), "venn_abers")
            ]
        return list(suitable_methods(n_classes, self.input).values())

    def _member(self, method: Recalibrator) -> Recalibrator:
        """Return a recalibrator, set up to be fitted to these scores."""
        input = input_of(method, self.input)
        one: Recalibrator = clone(method).set_params(input=input, classes=None)
        return OneVsRest(one, input=input, multilabel=True) if self.multilabel else one

    def _given(self, n: float, n_outcomes: int) -> Blend | None:
        """Return the recipe if its weights are given."""
        if self.weights is None:
            return None
        given = np.asarray(self.weights, np.float64)
        return Blend(np.append(max(0.0, 1 - given.sum()), given), 1 / (n + 1), n_outcomes)

    def _n_outcomes(self, n_classes: int) -> int:
        return 2 if self.multilabel else n_classes

    def _learn(self, scores: Scores, labels: Array, weights: Float64s | None) -> tuple[Map | None, ...]:
        return self._learn_in(None, scores, labels, weights)

    def _learn_in(
        self, cluster: Ints | None, scores: Scores, labels: Array, weights: Float64s | None
    ) -> tuple[Map | None, ...]:
        methods = [self._member(one) for one in (no_change(self.input), *self._methods(scores.n_classes))]
        w = np.ones(len(scores)) if weights is None else weights
        found = self._given(effective_rows(w), self._n_outcomes(scores.n_classes))
        with quietly():
            if found is None:
                found = self._evidence(methods, scores, labels, w, cluster).blend()
            smallest = min(SMALLEST_SHARE, found.weights.max())
            members = [
                one._fit_to_model(scores.values, labels, weights) if weight >= smallest else one
                for one, weight in zip(methods, found.weights.tolist(), strict=True)
            ]
        return (_kept(found, members),)

    def _evidence(
        self, methods: list[Recalibrator], scores: Scores, labels: Array, w: Float64s, cluster: Ints | None
    ) -> Evidence:
        """Cross-fit the methods."""
        fold = self._folds(scores, labels, w, cluster)
        n_outcomes = self._n_outcomes(scores.n_classes)
        out = [np.full((len(scores), scores.n_classes), 1 / n_outcomes) for _ in methods]
        for k in range(int(fold.max()) + 1):
            held, rest = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
            if labels.ndim == 1 and len(np.unique(labels[rest])) < 2:
                continue  # nothing can be fitted to one class, so this fold does not tell the methods apart
            if self.input == "scores" and not _has_every_class(labels, labels[rest]):
                continue  # raw scores of a class cannot become probabilities without rows of it
            for method, p in zip(methods, out, strict=True):
                fitted = clone(method)._fit_to_model(scores.values[rest], labels[rest], w[rest])
                p[held] = _applied(fitted, scores.take(held))
        own = np.column_stack([own_probability(p, labels) for p in out])
        n, per_row = effective_rows(w), len(own) // len(w)
        if per_row > 1:  # the labels of a row are a cluster
            cluster = np.arange(len(w)) if cluster is None else cluster
            w, cluster = np.repeat(w, per_row), np.repeat(cluster, per_row)
        return Evidence(own, w, n, per_row * n / design_effect(own, w, cluster), n_outcomes)

    def _folds(self, scores: Scores, labels: Array, w: Float64s, cluster: Ints | None) -> Ints:
        n_folds = min(self.cv, len(scores))
        strata = np.zeros(len(scores), np.intp) if labels.ndim == 2 else labels
        if cluster is not None:
            return folds(strata, cluster, n_folds, generator(self.random_state), self.input == "scores")
        columns = (scores.values,) if scores.values.ndim == 1 else tuple(scores.values.T)
        of_labels = (labels,) if labels.ndim == 1 else tuple(labels.T)
        order = np.lexsort((w, *columns, *of_labels))  # so that the order of the rows does not matter
        fold = np.empty(len(scores), np.intp)
        fold[order] = folds(strata[order], None, n_folds, generator(self.random_state), self.input == "scores")
        return fold

    def _apply(self, scores: Scores) -> Float64s:
        p = self._apply_pairs(scores)
        return p[:, 1] if scores.values.ndim == 1 else p

    def _apply_pairs(self, scores: Scores) -> Float64s:
        fitted = self._fitted()
        found = Blend(fitted["weights"], fitted["mixing"], self._n_outcomes(scores.n_classes))
        return found.of([_applied(one, scores) for one in fitted["members"]])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = tags.target_tags.multi_output = self.multilabel
        return tags


def _has_every_class(labels: Array, some: Array) -> bool:
    """Return whether every class, or both outcomes of every label, that occur are among some of the labels."""
    if labels.ndim == 1:
        return len(np.unique(some)) == len(np.unique(labels))
    return bool(np.array_equal(some.any(axis=0), labels.any(axis=0)) and (some.all(axis=0) == labels.all(axis=0)).all())


def _applied(member: Recalibrator, scores: Scores) -> Float64s:
    """Return probabilities (n, K) of a fitted recalibrator."""
    return member._apply_pairs(Scores(scores.values, member.input, scores.multilabel))


def _inner(member: Recalibrator) -> Recalibrator:
    """Return the recalibrator of each label of a multilabel one."""
    return member._method() if isinstance(member, OneVsRest) else member


def _kept(found: Blend, members: Sequence[Recalibrator]) -> Map:
    """Return the map of an average, without the members of negligible weight."""
    kept = np.flatnonzero(found.weights >= min(SMALLEST_SHARE, found.weights.max()))
    weights = found.weights[kept] / found.weights[kept].sum()
    return {
        "weights": weights,
        "mixing": found.mixing,
        "members": tuple(members[k] for k in kept.tolist()),
    }


def blend_in_words(members: Sequence[Recalibrator], weights: Float64s) -> str:
    """Return weights in words, the largest first, those below 0.5 % left out."""
    order = np.argsort(-weights, kind="stable")
    kept = order[weights[order] >= SMALLEST_SHARE].tolist()
    return ", ".join(f"{100 * weights[k]:.0f} % {_name_in_words(members[k])}" for k in kept)


def _name_in_words(member: Recalibrator) -> str:
    if isinstance(member, Identity):
        return "unchanged"
    is_base_rate = isinstance(member, HistogramBinning) and member.n_bins == 1
    return "base rate" if is_base_rate else in_words(type(member).__name__)


def _evidence_of_cells(
    methods: Sequence[Recalibrator], event: EventCells, n_folds: int, rng: np.random.Generator, n: float
) -> Evidence:
    """Cross-fit the methods on cells, whose rows are assigned to folds at random."""
    positives = np.rint(event.n * event.wy / event.w).astype(np.int64)
    weights = np.stack([event.w - event.wy, event.wy])
    parts = []
    for count, weight in zip((event.n - positives, positives), weights, strict=True):
        drawn = rng.multinomial(np.maximum(count, 1), np.full(n_folds, 1 / n_folds))
        parts.append(weight[:, None] * drawn / np.maximum(count, 1)[:, None])
    held_weights = np.stack(parts)  # of shape (2, cells, folds)
    scores, labels = np.tile(event.scores.values, 2), np.repeat([0, 1], len(event.w))
    own, w = [], []
    for k in range(n_folds):
        held = held_weights[:, :, k].ravel()
        rest = np.maximum(weights.ravel() - held, 0)
        learnt, some = rest > SMALLEST_WEIGHT * rest.max(), held > 0
        w.append(held[some])
        if len(np.unique(labels[learnt])) < 2:  # as in `_evidence`, this fold does not tell the methods apart
            own.append(np.full((np.count_nonzero(some), len(methods)), 0.5))
            continue
        made = [clone(one)._fit_to_model(scores[learnt], labels[learnt], rest[learnt]) for one in methods]
        p = [_applied(one, Scores(scores[some], "probabilities")) for one in made]
        own.append(np.column_stack([own_probability(each, labels[some]) for each in p]))
    return Evidence(np.concatenate(own), np.concatenate(w), n, n, 2)


def _codes(clusters: Any, y: Any) -> Ints:
    """Return the cluster of each row, numbered from 0."""
    array, n = as_numpy(clusters, "clusters"), len(as_numpy(y, "y"))
    if array.shape != (n,):
        raise InputError(
            "{argument} must have one entry per row, got shape {got}", argument="clusters", got=array.shape
        )
    return numbered_clusters(array)
