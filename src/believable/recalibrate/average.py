"""Averaged calibration: a weighted mean of several calibration maps, weighted by how well each predicts other rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self, final

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from believable import _check
from believable._arrays import as_numpy
from believable._check import generator
from believable._types import Array, Float64s, Floats, Ints
from believable.errors import InputError, SchemaError, UndefinedError
from believable.inference.compare import mean_of_rows
from believable.recalibrate.base import Recalibrator
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
MAX_CLASSES_FOR_MATRIX_MAPS = 50  # beyond this, a matrix has thousands of entries


def suitable_methods(n_classes: int, input: Input) -> dict[str, Recalibrator]:
    """Return the recalibrators that are averaged by default, by name."""
    if input == "scores":
        if n_classes == 2:
            return _named("platt", "venn_abers")
        as_logits = {
            "temperature": TemperatureScaling(input="logits"),
            "structured": StructuredScaling(input="logits", structure=_structure(n_classes)),
        }
        return as_logits | (_named("platt") if n_classes <= MAX_CLASSES_FOR_MATRIX_MAPS else {})
    if n_classes == 2:
        return _named("temperature", "beta", "logit_spline", "venn_abers")
    if n_classes <= MAX_CLASSES_FOR_MATRIX_MAPS:
        return _named("temperature", "structured", "beta", "venn_abers")
    return _named("temperature") | {"structured": StructuredScaling(structure="vector")}


def _structure(n_classes: int) -> Any:
    return "matrix" if n_classes <= MAX_CLASSES_FOR_MATRIX_MAPS else "vector"


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
        The number of independent rows that they are worth.
    n_outcomes : int
        The number of outcomes.
    """

    own: Float64s
    w: Float64s
    n: float
    n_outcomes: int

    def blend(self) -> Blend:
        """Return the weights of the maps; see `AveragedCalibration`."""
        mixing, w = 1 / (self.n + 1), self.w * (self.n / self.w.sum())
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


def independent_rows(own: Float64s, w: Float64s, cluster: Ints | None) -> float:
    """Return how many independent rows of equal weight are worth as much as these.

    Unequal weights count as Kish does, (sum w)^2 / sum w^2. In clusters, the number is divided by the design effect of
    the mean gain of the maps over no change.
    """
    n = float(w.sum() ** 2 / (w @ w))
    if cluster is None:
        return n
    gain = np.log(np.maximum(own, TINY))
    gain = gain[:, 1:].mean(axis=1) - gain[:, 0]
    alone, together = mean_of_rows(gain, w, None)[1], mean_of_rows(gain, w, cluster)[1]
    return n / max(1.0, (together / alone) ** 2) if alone > 0 else n


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
        n = independent_rows(own[rows], w[rows], cluster)
        return Evidence(own[rows], w[rows], n, n_classes).blend()

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

    Over many models, an average has a lower log loss on new rows than any one of its maps: which map is best cannot be
    known from a few hundred rows, and their errors partly cancel. The constants 3, 1/2, 1/4 and ten were chosen on
    predictions of everyday models for public tables, and judged on others (see decision 14 and the page on the arena).

    With weights, n is the number of rows of equal weight that are worth as much, (sum w)^2 / sum w^2, and the weights
    are scaled to sum to n. With clusters, n is divided by the design effect of the gain. Folds are random, but do not
    depend on the order of the rows.

    Parameters
    ----------
    input : {"probabilities", "logits", "scores"}
        The scale of X. For scores that are not probabilities, "no change" is the base rate. Scores of several classes
        are also tried as logits.
    methods : sequence, optional
        What to average: recalibrators, or names of recalibrators. By default, for one event: temperature scaling, beta
        calibration, a logit spline and Venn–Abers; for several classes, structured scaling instead of the spline; for
        more than 50, temperature scaling and structured scaling of structure "vector"; for scores of one event, Platt
        scaling and Venn–Abers. No change is always included.
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
        The weight of each method by its class name; "Identity" is no change.
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
        self._cluster = None if clusters is None else _codes(clusters, len(as_numpy(y, "y")), sample_weight)
        try:
            return self._fit_to(X, y, sample_weight)
        finally:
            del self._cluster

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
        methods = [no_change("probabilities"), *self._methods(2)]
        n = float(cells.w.sum() ** 2 / cells.w2.sum())
        found = self._given(n, 2)
        with quietly():
            if found is None:
                found = _evidence_of_cells(methods, event, self.cv, generator(self.random_state), n).blend()
            members = [clone(one).fit_from_cells(cells) for one in methods]
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_, self.classes_, self.maps_ = 1, classes, (_kept(found, members),)
        return self

    @property
    def weights_(self) -> dict[str, float]:
        """The weight of each recalibrator by the name of its class."""
        fitted = self._fitted()
        names = [type(_inner(one)).__name__ for one in fitted["members"]]
        return dict(zip(names, fitted["weights"].tolist(), strict=True))

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
        _check.choice(self.multilabel, (True, False), "multilabel")
        if isinstance(self.methods, (str, Recalibrator)):
            raise InputError("{argument} must be a list of names or recalibrators", argument="methods")
        for one in self._methods(2):
            if isinstance(one, AveragedCalibration):
                raise InputError("an average of averages has no use: leave AveragedCalibration out of the methods")
            self._member(one)._check_settings()
        if self.weights is not None:
            given = np.asarray(self.weights, np.float64)
            if self.methods is None or given.shape != (len(self.methods),):
                raise InputError("{argument} needs one number for each of the methods", argument="weights")
            if not ((given >= 0).all() and given.sum() <= 1 + 1e-9):
                raise InputError("{argument} must not be negative, and sum to at most 1", argument="weights")

    def _check_map(self, fitted: Map, n_classes: int) -> None:
        members, weights = fitted["members"], fitted["weights"]
        if len(members) != len(weights) or abs(weights.sum() - 1) > 1e-6:
            raise SchemaError("the saved weights must be one for each of the members, and sum to 1")
        for one in members:
            if isinstance(one, AveragedCalibration) or len(one.classes_) != n_classes:
                raise SchemaError(f"the saved members must be recalibrators of {n_classes} classes")
            if one.multilabel != self.multilabel or one.input not in (self.input, "logits"):
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
        methods = [self._member(one) for one in (no_change(self.input), *self._methods(scores.n_classes))]
        w = np.ones(len(scores)) if weights is None else weights
        found = self._given(independent_rows(np.ones((len(w), 2)), w, None), self._n_outcomes(scores.n_classes))
        with quietly():
            if found is None:
                found = self._evidence(methods, scores, labels, w).blend()
            members = [
                one._fit_to_model(scores.values, labels, weights) if weight >= SMALLEST_SHARE else one
                for one, weight in zip(methods, found.weights.tolist(), strict=True)
            ]
        return (_kept(found, members),)

    def _evidence(self, methods: list[Recalibrator], scores: Scores, labels: Array, w: Float64s) -> Evidence:
        """Cross-fit the methods."""
        cluster: Ints | None = getattr(self, "_cluster", None)
        fold = self._folds(scores, labels, cluster)
        n_outcomes = self._n_outcomes(scores.n_classes)
        out = [np.full((len(scores), scores.n_classes), 1 / n_outcomes) for _ in methods]
        for k in range(int(fold.max()) + 1):
            held, rest = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
            if labels.ndim == 1 and len(np.unique(labels[rest])) < 2:
                continue  # nothing can be fitted to one class, so this fold does not tell the methods apart
            for method, p in zip(methods, out, strict=True):
                fitted = clone(method)._fit_to_model(scores.values[rest], labels[rest], w[rest])
                p[held] = _applied(fitted, scores.take(held))
        own = np.column_stack([own_probability(p, labels) for p in out])
        per_row = len(own) // len(w)  # the number of independent labels
        n = independent_rows(own, w, cluster) if per_row == 1 else per_row * float(w.sum() ** 2 / (w @ w))
        return Evidence(own, np.repeat(w, per_row), n, n_outcomes)

    def _folds(self, scores: Scores, labels: Array, cluster: Ints | None) -> Ints:
        n_folds = min(self.cv, len(scores))
        strata = np.zeros(len(scores), np.intp) if labels.ndim == 2 else labels
        if cluster is not None:
            return folds(strata, cluster, n_folds, generator(self.random_state))
        values = scores.values
        keys = (values,) if values.ndim == 1 else (values.max(axis=1), own_probability(values, strata))
        order = np.lexsort((*keys, strata))  # so that the order of the rows does not matter
        fold = np.empty(len(scores), np.intp)
        fold[order] = folds(strata[order], None, n_folds, generator(self.random_state))
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


def _applied(member: Recalibrator, scores: Scores) -> Float64s:
    """Return probabilities (n, K) of a fitted recalibrator."""
    return member._apply_pairs(Scores(scores.values, member.input, scores.multilabel))


def _inner(member: Recalibrator) -> Recalibrator:
    """Return the recalibrator of each label of a multilabel one."""
    return member._method() if isinstance(member, OneVsRest) else member


def _kept(found: Blend, members: Sequence[Recalibrator]) -> Map:
    """Return the map of an average, without the members of negligible weight."""
    kept = np.flatnonzero(found.weights >= SMALLEST_SHARE)
    weights = found.weights[kept] / found.weights[kept].sum()
    return {
        "weights": weights,
        "mixing": found.mixing,
        "members": tuple(members[k] for k in kept.tolist()),
    }


def blend_in_words(members: Sequence[Recalibrator], weights: Float64s) -> str:
    """Return weights in words, the largest first, those below 0.5 % left out."""
    order = np.argsort(-weights, kind="stable")
    said = []
    for k in order[weights[order] >= SMALLEST_SHARE].tolist():
        member = members[k]
        name = "unchanged" if isinstance(member, Identity) else in_words(type(member).__name__)
        said.append(f"{100 * weights[k]:.0f} % {'base rate' if isinstance(member, HistogramBinning) else name}")
    return ", ".join(said)


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
        made = [clone(one)._fit_to_model(scores[learnt], labels[learnt], rest[learnt]) for one in methods]
        p = [_applied(one, Scores(scores[some], "probabilities")) for one in made]
        own.append(np.column_stack([own_probability(each, labels[some]) for each in p]))
        w.append(held[some])
    return Evidence(np.concatenate(own), np.concatenate(w), n, 2)


def _codes(clusters: Any, n: int, sample_weight: Any) -> Ints:
    """Return the cluster of each row of positive weight, numbered from 0."""
    array = as_numpy(clusters, "clusters")
    if array.shape != (n,):
        raise InputError(
            "{argument} must have one entry per row, got shape {got}", argument="clusters", got=array.shape
        )
    if sample_weight is not None:
        array = array[np.asarray(sample_weight) > 0]
    return np.asarray(np.unique(array.astype(str) if array.dtype == object else array, return_inverse=True)[1])
