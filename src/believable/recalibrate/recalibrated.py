"""`Recalibrated`: a classifier and a calibration map for its predictions, as one classifier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self, final

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedGroupKFold, check_cv
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import _safe_split, available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_method_params,
    assert_all_finite,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
)

from believable import _check
from believable._types import Array, Float64s, Floats, Ints
from believable.errors import InputError
from believable.recalibrate.base import Recalibrator, normalised
from believable.recalibrate.crossfit import FoldSettings, Judge, RowsInFolds, input_of
from believable.recalibrate.facts import as_method
from believable.recalibrate.inputs import warn
from believable.recalibrate.platt import PlattScaling
from believable.recalibrate.select import choose
from believable.recalibrate.temperature import TemperatureScaling
from believable.recalibrate.venn_abers import VennAbers, combine_intervals

Split = tuple[Ints, Ints]
MAX_FOLDS_TO_CHOOSE = 5  # the number of folds in which "auto" compares recalibrators, at most
CHOICE_LEVEL = 0.95  # confidence level of the intervals of `selection_`


def classes_of(model: Any) -> Array:
    """Return the labels of a fitted model, in the order of its columns."""
    if not hasattr(model, "classes_"):
        raise InputError(
            f"{type(model).__name__} has no classes_, so the order of its columns is unknown: it must be a classifier"
        )
    return np.asarray(model.classes_)


def response(model: Any, X: Any, method: Recalibrator, classes: Array) -> Floats:
    """Return the scores of a model, one column per class: predict_proba, or decision_function ((n,) for two classes).

    A class that the model was not fitted on has probability 0.
    """
    name = "predict_proba" if method.input == "probabilities" else "decision_function"
    if not hasattr(model, name):
        raise InputError(_no_response(model, name, method))
    values = np.asarray(getattr(model, name)(X))
    known = classes_of(model)
    one_column = name == "decision_function" and len(known) == 2
    if values.shape[1:] != (() if one_column else (len(known),)):
        raise InputError(
            f"{name} of {type(model).__name__} has shape {values.shape} for {len(known)} classes; one column per class "
            "is needed (one against the rest, not one against one)"
        )
    if np.array_equal(known, classes):
        return values
    if name == "decision_function":
        unseen = [label for label in classes.tolist() if label not in known.tolist()]
        raise InputError(
            f"a model was fitted without the class {unseen[0]!r}, so it has no score for it; use folds that contain "
            "every class, or a method with input='probabilities', where such a class has probability 0"
        )
    full = np.zeros((len(values), len(classes)), values.dtype)
    full[:, _check.named_labels(known, classes.tolist(), None)] = values
    return full


def _no_response(model: Any, name: str, method: Recalibrator) -> str:
    kind, of = type(model).__name__, type(method).__name__
    other = "decision_function" if name == "predict_proba" else "predict_proba"
    if not hasattr(model, other):
        return f"{kind} has neither predict_proba nor decision_function, so there is nothing to recalibrate"
    able = [word for word in method.inputs if (word == "probabilities") == (other == "predict_proba")]
    advice = f"use {of}(input={' or '.join(map(repr, able))})" if able else f"{of} cannot use it"
    if other == "decision_function" and "scores" not in method.inputs:
        advice += " if these are logits, or PlattScaling(input='scores') for any other numbers"
    return f"{kind} has no {name}, which {of}(input={method.input!r}) needs; it has {other}: {advice}"


def splits(cv: Any, X: Any, y: Array, groups: Any, request: dict[str, Any]) -> list[Split]:
    """Return pairs of rows to fit a model on and rows to predict; no row and no group is on both sides.

    `request` holds the metadata that the splitter requested.
    """
    if isinstance(cv, str):
        raise InputError(
            "{argument} must be a number of folds, a splitter, a list of splits or 'prefit', got {got!r}",
            argument="cv",
            got=cv,
        )
    if isinstance(cv, (int, np.integer)):
        n_folds = _check.positive_integer(cv, "cv", 2)
        if groups is not None:
            cv, request = StratifiedGroupKFold(n_folds), {"groups": groups}
            n_groups = len(np.unique(np.asarray(groups)))
            if n_groups < n_folds:
                raise InputError(
                    "{cv=} folds need at least as many groups, got {got}",
                    argument="cv",
                    cv=n_folds,
                    got=n_groups,
                )
    rows = np.arange(len(y))
    found = [(rows[train], rows[test]) for train, test in check_cv(cv, y, classifier=True).split(X, y, **request)]
    for fold, (train, test) in enumerate(found):
        both = np.isin(test, train)
        if both.any():
            raise InputError(f"fold {fold} of cv has row {test[both][0]} in both its training and its test rows")
        if groups is not None:
            shared = np.intersect1d(np.asarray(groups)[train], np.asarray(groups)[test])
            if len(shared):
                raise InputError(
                    f"fold {fold} of cv has the group {shared.tolist()[0]!r} in both its training and its test rows; "
                    "use a splitter that keeps groups together, such as StratifiedGroupKFold, or cv as an integer"
                )
    found = [(train, test) for train, test in found if len(test)]
    if not found:
        raise InputError("{argument} has no fold with test rows", argument="cv")
    return found


# --- A classifier and its calibration map, as one classifier ----------------------------------------------------------


@final
class Recalibrated(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier, and a recalibrator for its predictions that is fitted on rows the classifier was not fitted on.

    With s(x) the output of the classifier and m the calibration map, P(y | x) = m(s(x)). The map is fitted to the pairs
    (s_f(x_i), y_i), where s_f was fitted on the folds without row i; then s is fitted again, on all rows. With
    `ensemble=True` each fold keeps its model and its own map, and P(y | x) is the mean of m_f(s_f(x)) over the folds
    (for `VennAbers` the mean of log-odds, which is cross Venn–Abers prediction: see `combine_intervals`; it remains the
    mean of probabilities for three or more classes one against one, which have no intervals).

    The `input` of the method decides what the map takes: `predict_proba` for "probabilities", `decision_function` for
    "logits" and "scores". Labels and their order are those of the model. A class that is missing from the rows that a
    model was fitted on has probability 0; for logits and scores there is no such value, so that is an error. In an
    ensemble, a model that was fitted without a class gives it exactly 0, and its map is fitted without the rows of that
    class; intervals of `VennAbers` are combined over the models that know the class. A fold whose test rows are all of
    one class cannot have a map: it is left out, with a warning.

    Parameters
    ----------
    estimator : classifier
        Any classifier that follows scikit-learn's conventions. It is cloned, unless `cv="prefit"` or it is a
        `FrozenEstimator`.
    method : recalibrator or str, optional
        A recalibrator, or the name or alias of one, such as "platt", with its default settings. (A name stays a name,
        so `{"method": ["temperature", "platt"]}` is a grid to search.) By default `TemperatureScaling()`. "auto"
        compares several by cross-fitting and averages them, as `select` does; where no gain is expected the
        probabilities are left as they are (`Identity`). It reads `predict_proba`, or `decision_function` as raw scores
        where the classifier has no probabilities.
    cv : int, splitter, iterable of (train, test) or "prefit"
        An integer is a number of stratified folds, without shuffling: `StratifiedKFold`, or `StratifiedGroupKFold`
        where `fit` is given groups. Rows that no fold tests (`TimeSeriesSplit`) are not used for the map. With "prefit"
        the estimator is already fitted (it needs `classes_` and `predict_proba` or `decision_function`), and `fit` fits
        the map alone, on rows that the estimator must not have been fitted on. A `FrozenEstimator`, which unlike a
        fitted one stays fitted when cloned, is always treated this way.
    ensemble : bool
        Keep a model and a map per fold instead of one of each.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, in the order of the columns.
    estimators_, methods_ : tuple
        The fitted models and their recalibrators; one of each, or one per fold.
    estimator_, method_ : object
        The model and its recalibrator, unless `ensemble=True`. The map can be saved: `method_.to_json()`.
    selection_ : Selection
        With method="auto": what was compared, and what was chosen.
    n_features_in_, feature_names_in_
        Those of the model, where it has them.

    Notes
    -----
    `sklearn.calibration.CalibratedClassifierCV` does the same with its own methods.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.metrics import log_loss
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = make_classification(2000, 20, n_informative=3, n_redundant=17, n_classes=3, random_state=0)
    >>> alone = GaussianNB().fit(X[:1000], y[:1000])  # it counts redundant features as independent evidence
    >>> print(f"{log_loss(y[1000:], alone.predict_proba(X[1000:])):.2f}")
    1.86
    >>> model = Recalibrated(GaussianNB(), TemperatureScaling()).fit(X[:1000], y[:1000])
    >>> print(f"{log_loss(y[1000:], model.predict_proba(X[1000:])):.2f}")
    0.55
    """

    __metadata_request__fit = {"groups": True}  # always requested, as splitters of groups do  # noqa: RUF012

    def __init__(
        self, estimator: Any, method: Recalibrator | str | None = None, *, cv: Any = 5, ensemble: bool = False
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.ensemble = ensemble

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, **fit_params: Any) -> Self:
        """Fit the model and the calibration map.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, features)
            The features, passed to the estimator as they are.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), optional
            Used for the model and the map; for the map alone, with a warning, if the model takes no weights. Folds
            ignore weights.
        groups : array-like of shape (n,), optional
            Rows of one group are never both in the training and in the test rows of a fold.
        **fit_params : dict
            Passed to `fit` of the estimator; what has one entry per row is cut to the rows of each fold. With
            scikit-learn's metadata routing enabled, the estimator gets what it requests (`set_fit_request`), and the
            splitter likewise.

        Returns
        -------
        self
        """
        self._check_settings()
        X, y, sample_weight, groups = indexable(X, y, sample_weight, groups)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        weights = None if sample_weight is None else _check.weights(sample_weight, len(y))
        if self._is_prefit():
            if fit_params:
                raise InputError(
                    "an estimator that is already fitted takes no parameters of fit, got {name}: leave it out",
                    name=sorted(fit_params)[0],
                )
            estimators, methods = self._learn_from_prefit(X, y, weights, groups)
            self.classes_ = methods[0].classes_
        else:
            if len(labels := np.unique(y if weights is None else y[weights > 0])) == 1:
                raise InputError(f"y has only one class, {labels.tolist()[0]!r}, so there is nothing to fit")
            given, request = self._routed(weights, groups, fit_params)
            folds = splits(self.cv, X, y, groups, request)
            if self.ensemble:
                estimators, methods = self._learn_ensemble(X, y, weights, given, folds)
                self.classes_ = np.unique(np.concatenate([np.unique(y), *map(classes_of, estimators)]))
            else:
                estimators, methods = self._learn_out_of_fold(X, y, weights, given, folds, groups)
                self.classes_ = methods[0].classes_
        self.estimators_, self.methods_ = estimators, methods
        if not self._is_auto():  # after a fit that chose among methods
            self.__dict__.pop("selection_", None)
        return self

    def predict_proba(self, X: Any) -> Float64s:
        """Return probabilities of shape (n, K), in the order of `classes_`."""
        check_is_fitted(self)
        if self._combines_intervals():
            p = self._combined(*self._intervals(X))
            return np.column_stack([1 - p, p]) if p.ndim == 1 else normalised(p)
        first, *rest = (self._in_columns(method.predict_proba(scores), method) for method, scores in self._scores(X))
        return np.asarray(sum(rest, start=first) / (1 + len(rest)))

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row; the first in ties."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _has_intervals(self) -> bool:
        method = getattr(self, "methods_", [self.method])[0]
        names = (VennAbers.__name__, VennAbers.facts.alias)
        return method in names if isinstance(method, str) else isinstance(method, VennAbers)

    @available_if(_has_intervals)  # type: ignore[untyped-decorator]
    def predict_interval(self, X: Any) -> Float64s:
        """Return the intervals [p0, p1], with `VennAbers` only: shape (n, 2), or (n, K, 2) for K > 2.

        In an ensemble, the log-odds of the ends are averaged, as those of the points are. For two classes the point
        lies within; for more it may not, because rows of `predict_proba` are divided by their sums.
        """
        check_is_fitted(self)
        low, high = self._intervals(X)
        if len(low) == 1:
            return np.stack([low[0], high[0]], axis=-1)
        return np.stack([self._combined(low, low), self._combined(high, high)], axis=-1)

    @property
    def estimator_(self) -> Any:
        return self._only("estimators_")

    @property
    def method_(self) -> Recalibrator:
        only: Recalibrator = self._only("methods_")
        return only

    @property
    def n_features_in_(self) -> int:
        check_is_fitted(self)
        return int(self.estimators_[0].n_features_in_)

    @property
    def feature_names_in_(self) -> Array:
        check_is_fitted(self)
        return np.asarray(self.estimators_[0].feature_names_in_)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return what `fit` passes to the estimator and to the splitter."""
        router = MetadataRouter(owner=self).add_self_request(self)
        if not self._is_prefit():
            router.add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):  # a fitted model of another library may have none
            of_estimator = get_tags(self.estimator)
            tags.input_tags = of_estimator.input_tags
            if of_estimator.classifier_tags is not None:
                tags.classifier_tags.multi_class = of_estimator.classifier_tags.multi_class
        return tags

    # --- fitting ---

    def _learn_from_prefit(self, X: Any, y: Array, weights: Float64s | None, groups: Any) -> tuple[Any, Any]:
        if not hasattr(self.estimator, "classes_"):
            raise NotFittedError(
                "cv='prefit' needs a fitted classifier, with classes_; if it was fitted, it has been cloned since, as "
                "cross_validate and GridSearchCV do: wrap it in sklearn.frozen.FrozenEstimator"
            )
        classes = classes_of(self.estimator)
        scores = response(self.estimator, X, self._method(), classes)
        return (self.estimator,), (self._fitted_map(classes, scores, y, weights, groups),)

    def _learn_out_of_fold(
        self, X: Any, y: Array, weights: Float64s | None, given: dict[str, Any], folds: list[Split], groups: Any
    ) -> tuple[Any, Any]:
        tested = np.zeros(len(y), np.intp)
        for _, test in folds:
            np.add.at(tested, test, 1)
        if tested.max() > 1:
            raise InputError(
                "{argument} tests {row} more than once, but each row may count only once in the fit of the map; use "
                "folds that do not overlap, or ensemble=True",
                argument="cv",
                row=tested.argmax(),
            )
        model = self._fitted(X, y, given)
        classes = classes_of(model)
        parts = [self._asked(X, y, given, *fold, classes) for fold in folds]
        scores = np.empty((len(y), *parts[0].shape[1:]), np.result_type(*parts))
        for (_, test), part in zip(folds, parts, strict=True):
            scores[test] = part
        rows = slice(None) if tested.all() else np.flatnonzero(tested)
        of_rows = None if weights is None else weights[rows]
        kept = None if groups is None else np.asarray(groups)[rows]
        return (model,), (self._fitted_map(classes, scores[rows], y[rows], of_rows, kept),)

    def _learn_ensemble(
        self, X: Any, y: Array, weights: Float64s | None, given: dict[str, Any], folds: list[Split]
    ) -> tuple[Any, Any]:
        models, methods = [], []
        for fold, (train, test) in enumerate(folds):
            model = self._fitted(X, y, given, train)
            known = classes_of(model)
            rows = test[np.isin(y[test], known) & (True if weights is None else weights[test] > 0)]
            if len(np.unique(y[rows])) < 2:
                continue
            part, _ = _safe_split(model, X, y, rows, train)
            try:
                scores = response(model, part, self._method(), known)
                methods.append(self._fitted_map(known, scores, y[rows], None if weights is None else weights[rows]))
            except InputError as error:
                raise InputError(f"fold {fold} of cv: {error}") from error
            models.append(model)
        if not methods:
            raise InputError(
                "the test rows of every fold of cv are of one class, so no calibration map can be fitted; use fewer "
                "folds, or folds that contain every class"
            )
        if len(methods) < len(folds):
            warn(
                f"{len(folds) - len(methods)} of {len(folds)} folds of cv are left out of the ensemble: their test "
                "rows are of one class, so they can have no calibration map",
                UserWarning,
            )
        return tuple(models), tuple(methods)

    def _fitted(self, X: Any, y: Array, given: dict[str, Any], rows: Any = None) -> Any:
        """Return a model fitted on some rows, with the arguments of its `fit` cut to these rows."""
        model = clone(self.estimator)
        if rows is not None:
            given = _check_method_params(X, given, rows)
            X, y = _safe_split(model, X, y, rows)
        return model.fit(X, y, **given)

    def _asked(self, X: Any, y: Array, given: dict[str, Any], train: Any, test: Any, classes: Array) -> Floats:
        """Return the scores of a model fitted on some rows, for other rows."""
        model = self._fitted(X, y, given, train)
        part, _ = _safe_split(model, X, y, test, train)
        return response(model, part, self._method(), classes)

    def _fitted_map(
        self, classes: Array, scores: Floats, y: Array, weights: Float64s | None, groups: Any = None
    ) -> Recalibrator:
        chosen = self._chosen(classes, scores, y, weights, groups) if self._is_auto() else self._method()
        method: Recalibrator = clone(chosen).set_params(classes=classes)
        cluster = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
        return method._fit_to_model(scores, y, weights, cluster)

    def _chosen(self, classes: Array, scores: Floats, y: Array, weights: Float64s | None, groups: Any) -> Recalibrator:
        """Return the recalibrator that `select` chooses for the scores of rows that the model was not fitted on."""
        one_event = scores[:, 1] if scores.ndim == 2 and scores.shape[1] == 2 else scores
        rarest = int(np.unique(y if weights is None else y[weights > 0], return_counts=True)[1].min())
        settings = FoldSettings(
            input=self._method().input,
            classes=classes.tolist(),
            cv=max(2, min(MAX_FOLDS_TO_CHOOSE, rarest)),
            clusters=groups,
            sample_weight=weights,
        )
        problem = RowsInFolds.of(one_event, y.tolist(), settings, predicted_classes=True)
        self.selection_ = choose(Judge(problem, CHOICE_LEVEL, 100, settings.random_state, errors=()))
        chosen: Recalibrator = clone(self.selection_[self.selection_.chosen].method)
        chosen.set_params(input=input_of(chosen, settings.input))
        return chosen

    # --- settings ---

    def _is_auto(self) -> bool:
        return isinstance(self.method, str) and self.method == "auto"

    def _method(self) -> Recalibrator:
        """Return the requested recalibrator; for "auto", one that takes the same input as all that are compared."""
        if self._is_auto():
            return TemperatureScaling() if hasattr(self.estimator, "predict_proba") else PlattScaling(input="scores")
        return TemperatureScaling() if self.method is None else as_method(self.method)

    def _is_prefit(self) -> bool:
        return isinstance(self.estimator, FrozenEstimator) or (isinstance(self.cv, str) and self.cv == "prefit")

    def _check_settings(self) -> None:
        if isinstance(self.estimator, type) or not (hasattr(self.estimator, "fit") or self._is_prefit()):
            raise InputError(
                "{argument} must be a classifier, such as LogisticRegression(), got {got!r}",
                argument="estimator",
                got=self.estimator,
            )
        method = self._method()
        method._check_settings()
        if method.multilabel:
            raise InputError("Recalibrated is for one label per row: make the method with multilabel=False")
        if not method.normalise:
            raise InputError(
                "a classifier needs rows of predict_proba that sum to one: make the method with normalise=True"
            )
        _check.flag(self.ensemble, "ensemble")
        if self.ensemble and self._is_auto():
            raise InputError("method='auto' finds one map for all rows: leave ensemble=False, or name a method")
        if self.ensemble and self._is_prefit():
            raise InputError("an estimator that is already fitted is a single model: leave out ensemble=True")

    def _routed(
        self, weights: Float64s | None, groups: Any, fit_params: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the arguments for the model, and those for the splitter."""
        of_splitter = {} if groups is None else {"groups": groups}
        of_model = fit_params if weights is None else fit_params | {"sample_weight": weights}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **of_splitter, **of_model)
            return dict(routed.estimator.fit), dict(routed.splitter.split)
        if weights is not None and not has_fit_parameter(self.estimator, "sample_weight"):
            warn(
                f"fit of {type(self.estimator).__name__} takes no sample_weight: the weights are used for the "
                "calibration map alone. If a part of it takes them, enable scikit-learn's metadata routing",
                UserWarning,
            )
            of_model = fit_params
        return of_model, of_splitter

    # --- fitted models ---

    def _scores(self, X: Any) -> Iterator[tuple[Recalibrator, Floats]]:
        """Yield each recalibrator with the scores of its model."""
        for model, method in zip(self.estimators_, self.methods_, strict=True):
            yield method, response(model, X, method, method.classes_)

    def _in_columns(self, values: Float64s, method: Recalibrator) -> Float64s:
        """Return one column for every class; those of classes that a model was fitted without are 0."""
        if len(method.classes_) == len(self.classes_):
            return values
        full = np.zeros((len(values), len(self.classes_), *values.shape[2:]))
        full[:, np.isin(self.classes_, method.classes_)] = values
        return full

    def _combines_intervals(self) -> bool:
        """Return whether this is an ensemble whose maps all have intervals."""
        return len(self.methods_) > 1 and all(
            isinstance(method, VennAbers) and not method._is_pairwise(len(method.classes_)) for method in self.methods_
        )

    def _intervals(self, X: Any) -> Float64s:
        """Return intervals of shape (2, models, n, ...); [0, 0] for a class that a model was fitted without."""
        found = []
        for method, scores in self._scores(X):
            ends = method.predict_interval(scores)
            if ends.ndim == 2 and len(self.classes_) > 2:  # of the second of the two classes that the model knows
                ends = np.stack([1 - ends[:, ::-1], ends], axis=1)
            found.append(ends if ends.ndim == 2 else self._in_columns(ends, method))
        return np.moveaxis(np.stack(found), -1, 0)

    def _combined(self, low: Float64s, high: Float64s) -> Float64s:
        """Combine the intervals of each class over the models that know it; 0 if none does."""
        if low.ndim == 2:
            return combine_intervals(low, high)
        known = np.array([np.isin(self.classes_, method.classes_) for method in self.methods_])
        p = np.zeros(low.shape[1:])
        for k in np.flatnonzero(known.any(axis=0)):
            p[:, k] = combine_intervals(low[known[:, k], :, k], high[known[:, k], :, k])
        return p

    def _only(self, name: str) -> Any:
        check_is_fitted(self)
        kept = getattr(self, name)
        if len(kept) > 1:
            raise AttributeError(f"an ensemble has {len(kept)} of them: see {name}")
        return kept[0]
