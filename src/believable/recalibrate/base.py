"""The bases of all recalibrators: they own checking, fitting and applying; a recalibrator writes two small methods.

`BinaryRecalibrator` recalibrates the score of one event; with K > 2 classes, each is recalibrated against the rest (or,
if an option says so, against each other class) and rows are then divided by their sums. `MatrixRecalibrator`
recalibrates the logits of all classes at once.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np

from believable import _check
from believable._arrays import as_numpy
from believable._types import Array, Float64s, Floats, Ints, MultiClass
from believable.errors import InputError, OneOf, SmallSampleWarning, UndefinedError
from believable.recalibrate._estimators import (
    BaseEstimator,
    ClassifierMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
    check_classification_targets,
    check_is_fitted,
    validate_data,
)
from believable.recalibrate.facts import Facts, Field, Map, in_words
from believable.recalibrate.inputs import (
    INPUTS,
    Input,
    Scores,
    cells_of_summary,
    check_cells,
    encoded,
    encoded_columns,
    events_of,
    fewest_rows,
    rarest_in,
    warn,
)
from believable.stats import CellStats, Summary

SKLEARN_COLUMN_FACTS = ("n_features_in_", "feature_names_in_")  # what scikit-learn stores about X


class Recalibrator(OneToOneFeatureMixin, ClassifierMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """An estimator that fits a calibration map, from scores to probabilities, on scores with known outcomes.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, in the order of the columns.
    maps_ : tuple of dict
        The fitted calibration maps: one, one per class where classes are recalibrated one against the rest, or one per
        pair of classes, in the order (0, 1), (0, 2), ..., (1, 2), .... None stands for a class that did not occur, or a
        pair with such a class, whose scores are left as they are.
    n_features_in_ : int
        The number of columns of X; 1 for scores of one event.
    """

    facts: ClassVar[Facts]
    inputs: ClassVar[tuple[Input, ...]] = ("probabilities", "logits")
    fields: ClassVar[dict[str, Field]]
    multilabel: bool = False  # `OneVsRest` may set this: columns are then independent labels,
    normalise: bool = True  # or set this to False: rows are then not divided by their sums
    multi_class: MultiClass = "ovr"  # `VennAbers` may set this to "ovo": K > 2 classes then have a map for each pair
    later_settings: ClassVar[frozenset[str]] = frozenset()  # saved if not at their default: old files lack them
    nested_setting: ClassVar[str] = "method"  # the setting that holds a recalibrator, or the name of one
    reads_columns: ClassVar[bool] = False  # whether it reads columns of segments, as `by=`, besides scores

    input: Input
    classes: Sequence[Any] | None
    classes_: Array
    maps_: tuple[Map | None, ...]
    n_features_in_: int

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the calibration map.

        Parameters
        ----------
        X : array-like of shape (n,), (n, 1) or (n, K)
            Scores of one event, or one column per class, on the scale that `input` names.
        y : array-like of shape (n,)
            Labels. Integers 0..K-1 are column numbers. Any other K distinct values belong to the columns of a data
            frame with the same names or, without such names, to the columns in sorted order, unless `classes` names
            them.
        sample_weight : array-like of shape (n,), optional
            A row of weight 2 counts as two rows, a row of weight 0 as none.

        Returns
        -------
        self
        """
        return self._fit_to(X, y, sample_weight)

    def _fit_to_model(self, X: Any, y: Any, sample_weight: Any = None, cluster: Ints | None = None) -> Self:
        """Fit the map to the output of a model, which may be all 0 and 1, as that of a fully grown tree is.

        `cluster` numbers the cluster of each row.
        """
        return self._fit_to(X, y, sample_weight, True, cluster)

    def _fit_to(
        self, X: Any, y: Any, sample_weight: Any, predicted_classes: bool = False, cluster: Ints | None = None
    ) -> Self:
        self._check_settings()
        before: dict[str, Any] = {name: value for name, value in self.__dict__.items() if name in SKLEARN_COLUMN_FACTS}
        try:
            self._fit(X, y, sample_weight, predicted_classes, cluster)
        except Exception:  # an earlier fit still belongs to the columns it was fitted on
            for name in SKLEARN_COLUMN_FACTS:
                self.__dict__.pop(name, None)
            self.__dict__.update(before)
            raise
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, predicted_classes: bool, cluster: Ints | None) -> None:
        scores, y = self._scores(X, y)
        if scores.input == "probabilities" and not predicted_classes:
            _check.refuse_predicted_classes(scores.values)
        if self.multilabel:
            labels, classes = encoded_columns(y, scores.n_classes, self.classes)
        else:
            labels, classes = encoded(y, scores.n_classes, self.classes, getattr(self, "feature_names_in_", None))
        weights = None if sample_weight is None else _check.weights(sample_weight, len(scores))
        if weights is not None and not weights.all():
            rows = np.flatnonzero(weights)
            scores, labels, weights = scores.take(rows), labels[rows], weights[rows]
            cluster = None if cluster is None else np.unique(cluster[rows], return_inverse=True)[1]
        self._warn_of_few(fewest_rows(labels, classes, self.multilabel))
        if cluster is None:
            maps = self._learn(scores, labels, weights)
        else:
            maps = self._learn_in(cluster, scores, labels, weights)
        self.classes_, self.maps_ = classes, maps

    def predict_proba(self, X: Any) -> Float64s:
        """Return probabilities of shape (n, K); for scores of one event K = 2, with P(second class) in column 1."""
        return self._apply_pairs(self._scores_to_map(X))

    def transform(self, X: Any) -> Float64s:
        """Return probabilities in the shape of X: P(second class) for 1-D scores or one column, otherwise (n, K)."""
        scores = self._scores_to_map(X)
        if scores.values.ndim == 2 or self.n_features_in_ == 2:
            return self._apply_pairs(scores)
        p = self._apply(scores)
        return p if np.ndim(X) == 1 else p[:, None]

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row; the first in ties."""
        p = self.predict_proba(X)
        if self.multilabel:
            return (p > 0.5).astype(np.intp)
        most = (p[:, 1] > p[:, 0]).view(np.int8) if p.shape[1] == 2 else p.argmax(axis=1)
        return np.asarray(self.classes_[most])

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the fitted map as JSON, and write it to a file if a path is given; see `load_recalibrator`."""
        from believable.recalibrate.saved import to_json

        return to_json(self, path)

    # --- what a recalibrator may override ---

    def _check_settings(self) -> None:
        """Raise if the arguments of the constructor are invalid; called before fitting and after loading."""
        if isinstance(self.input, str) and self.input not in self.inputs and self.input in INPUTS:
            raise InputError("{name} takes {input=}, not scores", name=type(self).__name__, input=OneOf(self.inputs))
        _check.choice(self.input, self.inputs, "input")

    def _facts(self) -> Facts:
        """Return the facts, which may depend on the settings."""
        return self.facts

    def _in_words(self) -> str:
        """Return what to call it in a sentence."""
        return in_words(type(self).__name__)

    def _fields(self) -> dict[str, Field]:
        """Return the fields of a map."""
        return self.fields

    def _n_scores(self) -> int:
        """Return the number of columns of X that are scores: all of them."""
        return self.n_features_in_

    def _check_map(self, fitted: Map, n_classes: int) -> None:
        """Raise a SchemaError if the fields of a loaded map, each valid by itself, do not fit together."""

    def _learn_in(
        self, cluster: Ints, scores: Scores, labels: Ints, weights: Float64s | None
    ) -> tuple[Map | None, ...]:
        """Fit the maps to rows in clusters, which matter only to methods that assign rows to folds."""
        return self._learn(scores, labels, weights)

    # --- what the two base classes below implement ---

    @abstractmethod
    def _n_maps(self, n_classes: int) -> int:
        """Return the number of maps."""

    @abstractmethod
    def _learn(self, scores: Scores, labels: Ints, weights: Float64s | None) -> tuple[Map | None, ...]:
        """Fit the maps."""

    @abstractmethod
    def _apply(self, scores: Scores) -> Float64s:
        """Return probabilities: (n,) for one event, (n, K) for more classes."""

    @abstractmethod
    def _apply_pairs(self, scores: Scores) -> Float64s:
        """Return probabilities (n, K), with two columns for one event."""

    # --- checking ---

    def _scores(self, X: Any, y: Any) -> tuple[Scores, Array]:
        table, y = validate_data(
            self, _as_table(X), y, dtype="numeric", ensure_all_finite=False, multi_output=self.multilabel
        )
        if y.dtype.kind not in "biu":  # integers always are classes, and this check costs more than some fits
            check_classification_targets(y)
        return Scores.of(table, self.input, X, self.multilabel), y

    def _scores_to_map(self, X: Any) -> Scores:
        check_is_fitted(self, "maps_")
        table = _as_table(X, self.n_features_in_)
        table = validate_data(self, table, reset=False, dtype="numeric", ensure_all_finite=False)
        return Scores.of(table, self.input, X, self.multilabel)

    def _warn_of_few(self, rarest: int) -> None:
        fewest = self._facts().fewest
        if rarest < fewest:
            warn(
                f"{type(self).__name__} was fitted with {rarest} rows of the rarest class; with fewer than {fewest} "
                "its calibration map is mostly noise: use more rows, or a simpler method",
                SmallSampleWarning,
            )

    def _parameter(self, name: str) -> Any:
        """Return a number of the map: a float, or an array with one per class (NaN for a class left as it is)."""
        check_is_fitted(self, "maps_")
        values = [np.nan if one is None else one[name] for one in self.maps_]
        return values[0] if len(values) == 1 else np.array(values)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.input == "probabilities"
        tags.classifier_tags.poor_score = True  # the columns are scores of the classes, not features
        return tags


class BinaryRecalibrator(Recalibrator):
    """A recalibrator of the score of one event."""

    @abstractmethod
    def _learn_map(self, scores: Scores, w: Float64s, wy: Float64s) -> Map:
        """Fit the map to scores (n,), with the weights w of rows and wy of positives.

        Unweighted rows have w = 1 and wy = y; cells have their sums. Both classes are present.
        """

    @abstractmethod
    def _apply_map(self, fitted: Map, scores: Scores) -> Float64s:
        """Return probabilities (n,) in [0, 1], from the map alone, without other attributes or settings."""

    def _apply_opposite(self, fitted: Map, scores: Scores) -> Float64s:
        """Return 1 - p; overridden where it can be computed exactly: the difference is 0 for p within 1e-16 of 1."""
        return np.asarray(1 - self._apply_map(fitted, scores))

    def fit_from_cells(self, cells: CellStats | Summary) -> Self:
        """Fit the map from a statistic instead of rows: all rows of a cell count at their mean score.

        The steps of a map with steps lie at the ends of cells, so that no cell is split.

        Parameters
        ----------
        cells : CellStats or Summary
            Cells of the notion "binary", or "classwise" for K classes. The finer the cells, the closer the map is to
            that of the rows; count with `spacing="logit"` where scores lie near 0 or 1. (A `LimitWarning` says so where
            more than 5 % of the weight is in the outermost uniform cells and the method works on logits.) From a
            `Summary`, methods that work on logits use the logit-spaced cells, others the cells that separate more rows.

        Returns
        -------
        self
        """
        name = type(self).__name__
        if not self._facts().cells:
            raise UndefinedError(f"{name} needs the rows: cells do not hold enough to fit it")
        if isinstance(cells, Summary):
            cells = cells_of_summary(cells, self._facts().reads_logits)
        check_cells(cells, self.multilabel)
        if self.input != "probabilities":
            raise InputError(f"cells hold probabilities: make {name}(input='probabilities'), not {self.input!r}")
        self._check_settings()
        n_classes = cells.view.n_classes
        classes = np.arange(n_classes) if self.classes is None else np.asarray(self.classes)
        if len(classes) != n_classes:
            raise InputError(
                "{argument} must name {n_classes} classes, got {got}",
                argument="classes",
                n_classes=n_classes,
                got=len(classes),
            )
        n_maps = self._n_maps(n_classes)
        if self._is_pairwise(n_classes):
            raise UndefinedError(
                f"{name}(multi_class='ovo') needs the rows for more than two classes: a cell holds the scores of one "
                "class, without those of the others"
            )
        events = events_of(cells, n_maps, self._facts().reads_logits)
        self._warn_of_few(rarest_in(events))
        maps = tuple(None if each is None else self._learn_map(each.scores, each.w, each.wy) for each in events)
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_, self.classes_, self.maps_ = n_maps, classes, maps
        return self

    def _n_maps(self, n_classes: int) -> int:
        if self._is_pairwise(n_classes):
            return n_classes * (n_classes - 1) // 2
        return 1 if n_classes == 2 and not self.multilabel else n_classes

    def _is_pairwise(self, n_classes: int) -> bool:
        return self.multi_class == "ovo" and n_classes > 2

    def _learn(self, scores: Scores, labels: Array, weights: Float64s | None) -> tuple[Map | None, ...]:
        w = np.broadcast_to(np.float64(1), len(scores)) if weights is None else weights
        if scores.values.ndim == 1:
            return (self._learn_map(scores, w, _weight_of(labels == 1, weights)),)
        if self._is_pairwise(scores.n_classes):
            return self._learn_one_vs_one(scores, labels, w, weights)
        columns = (labels[:, k] if self.multilabel else labels == k for k in range(scores.n_classes))
        return tuple(self._learn_class(scores, k, occurred, w, weights) for k, occurred in enumerate(columns))

    def _learn_class(
        self, scores: Scores, k: int, occurred: Array, w: Float64s, weights: Float64s | None
    ) -> Map | None:
        if occurred.any() and not occurred.all():
            return self._learn_map(scores.of_class(k), w, _weight_of(occurred, weights))
        if self.input == "scores":
            occurs = "is in every row of y" if occurred.any() else "does not occur in y"
            raise InputError(f"class {k} {occurs}, so its scores cannot be turned into probabilities")
        return None

    def _learn_one_vs_one(
        self, scores: Scores, labels: Ints, w: Float64s, weights: Float64s | None
    ) -> tuple[Map | None, ...]:
        """Fit a map to the rows of each pair of classes, whose event is the second class."""
        of_class = [labels == k for k in range(scores.n_classes)]
        absent = [k for k, occurred in enumerate(of_class) if not occurred.any()]
        if absent and self.input == "scores":
            raise InputError(
                f"class {absent[0]} does not occur in y, so its scores cannot be turned into probabilities"
            )
        maps: list[Map | None] = []
        for i, j in combinations(range(scores.n_classes), 2):
            rows = np.flatnonzero(of_class[i] | of_class[j])
            occurred, given = of_class[j][rows], None if weights is None else weights[rows]
            pair = scores.take(rows).of_pair(i, j).with_ties()
            is_known = i not in absent and j not in absent
            maps.append(self._learn_map(pair, w[rows], _weight_of(occurred, given)) if is_known else None)
        return tuple(maps)

    def _apply(self, scores: Scores) -> Float64s:
        if scores.values.ndim == 1:
            (fitted,) = self.maps_
            assert fitted is not None
            return self._apply_map(fitted, scores)
        if self._is_pairwise(scores.n_classes):
            return self._apply_one_vs_one(scores)
        columns = [self._apply_class(fitted, scores.of_class(k)) for k, fitted in enumerate(self.maps_)]
        p = np.column_stack(columns)
        return normalised(p) if self.normalise and not self.multilabel else p

    def _apply_pairs(self, scores: Scores) -> Float64s:
        if scores.values.ndim == 2:
            return self._apply(scores)
        (fitted,) = self.maps_
        assert fitted is not None
        return np.column_stack([self._apply_opposite(fitted, scores), self._apply_map(fitted, scores)])

    def _apply_one_vs_one(self, scores: Scores) -> Float64s:
        """Couple the probabilities of pairs: p_i = 1 / (sum of 1 / r_ij over j != i, minus K - 2), then normalised."""
        n_classes = scores.n_classes
        total = np.full((len(scores), n_classes), 2.0 - n_classes)
        for (i, j), fitted in zip(combinations(range(n_classes), 2), self.maps_, strict=True):
            pair = scores.of_pair(i, j)
            if fitted is None:
                first, second = scores.of_pair(j, i).probability(), pair.probability()
            else:
                pair = pair.with_ties()
                first, second = self._apply_opposite(fitted, pair), self._apply_map(fitted, pair)
            with np.errstate(divide="ignore", over="ignore"):  # a class that never wins a pair gets 0
                total[:, i] += 1 / first
                total[:, j] += 1 / second
        return normalised(1 / total)

    def _apply_class(self, fitted: Map | None, scores: Scores) -> Float64s:
        return scores.probability() if fitted is None else self._apply_map(fitted, scores)


class MatrixRecalibrator(Recalibrator):
    """A recalibrator of the logits of all classes; one event counts as two classes."""

    @abstractmethod
    def _learn_map(self, logits: Floats, labels: Ints, weights: Float64s | None) -> Map:
        """Fit the map to logits (n, K), or logarithms of probabilities."""

    @abstractmethod
    def _apply_map(self, fitted: Map, logits: Floats) -> Float64s:
        """Return probabilities (n, K) whose rows sum to one, from the map alone."""

    def _n_maps(self, n_classes: int) -> int:
        return 1

    def _learn(self, scores: Scores, labels: Ints, weights: Float64s | None) -> tuple[Map | None, ...]:
        return (self._learn_map(scores.logit_matrix(), labels, weights),)

    def fit_from_cells(self, cells: CellStats | Summary) -> Self:
        """Fit the map of one event from a statistic: all rows of a cell count at their mean score.

        This is for `TemperatureScaling` alone, with cells of the notion "binary": a cell holds the scores of one class,
        and a method for several classes needs all scores of a row.

        Parameters
        ----------
        cells : CellStats or Summary
            From a `Summary`, the logit-spaced cells are used.

        Returns
        -------
        self
        """
        name = type(self).__name__
        cells = cells_of_summary(cells, True) if isinstance(cells, Summary) else cells
        check_cells(cells, False)
        if not self._facts().cells or cells.view.notion != "binary":
            raise UndefinedError(f"{name} needs the rows: cells do not hold enough to fit it")
        if self.input != "probabilities":
            raise InputError(f"cells hold probabilities: make {name}(input='probabilities'), not {self.input!r}")
        self._check_settings()
        classes = np.arange(2) if self.classes is None else np.asarray(self.classes)
        if len(classes) != 2:
            raise InputError("{argument} must name 2 classes, got {got}", argument="classes", got=len(classes))
        (event,) = events = events_of(cells, 1, self._facts().reads_logits)
        assert event is not None
        self._warn_of_few(rarest_in(events))
        weights = np.concatenate([event.w - event.wy, event.wy])
        labels = np.repeat([0, 1], len(event.w))
        logits, kept = event.scores.logit_matrix(), weights > 0
        fitted = self._learn_map(np.concatenate([logits, logits])[kept], labels[kept], weights[kept])
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_, self.classes_, self.maps_ = 1, classes, (fitted,)
        return self

    def _apply(self, scores: Scores) -> Float64s:
        p = self._apply_pairs(scores)
        return p[:, 1] if scores.values.ndim == 1 else p

    def _apply_pairs(self, scores: Scores) -> Float64s:
        (fitted,) = self.maps_
        assert fitted is not None
        return self._apply_map(fitted, scores.logit_matrix())


def normalised(columns: Float64s) -> Float64s:
    """Divide rows by their sums; a row of zeros becomes 1/K each."""
    total = columns.sum(axis=1, keepdims=True)
    return np.where(total > 0, columns / np.where(total > 0, total, 1), 1 / columns.shape[1])


def _weight_of(occurred: Array, weights: Float64s | None) -> Float64s:
    return occurred.astype(np.float64) if weights is None else occurred * weights


def _as_table(X: Any, n_columns: int = 1) -> Any:
    """Return arrays of any library as NumPy arrays, 1-D ones as a column; data frames keep their column names."""
    if hasattr(X, "columns") or hasattr(X, "tocsr"):  # a data frame, or a sparse matrix, which scikit-learn refuses
        return X
    array = as_numpy(X, "X")
    return array[:, None] if array.ndim == 1 and n_columns == 1 else array
