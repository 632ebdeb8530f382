"""What recalibrators inherit: from scikit-learn where it is installed, otherwise the few methods that they need of it.

Numbers do not depend on which of the two it is (`tests/recalibrate/test_estimators.py`): scikit-learn adds what its own
tools ask of an estimator, such as tags, metadata routing, `set_output` and its display in notebooks. The command line
always takes the methods below, because importing scikit-learn takes longer than most audits.
"""

from __future__ import annotations

import copy
from inspect import signature
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from believable import _check, _optional
from believable._arrays import as_numpy
from believable._types import Array
from believable.errors import Hint, InputError

__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "OneToOneFeatureMixin",
    "TransformerMixin",
    "check_classification_targets",
    "check_is_fitted",
    "clone",
    "validate_data",
]

if TYPE_CHECKING or _optional.is_used("sklearn"):
    from sklearn.base import BaseEstimator, ClassifierMixin, OneToOneFeatureMixin, TransformerMixin, clone
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
else:

    class BaseEstimator:
        """An object whose settings are the arguments of its constructor."""

        @classmethod
        def _names(cls) -> list[str]:
            return [] if cls.__init__ is object.__init__ else sorted(set(signature(cls.__init__).parameters) - {"self"})

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the settings; with `deep` also those of settings that have some, as `method__input`."""
            found = {}
            for name in self._names():
                value = found[name] = getattr(self, name)
                if deep and _has_settings(value):
                    found |= {f"{name}__{inner}": one for inner, one in value.get_params().items()}
            return found

        def set_params(self, **params: Any) -> Self:
            """Change settings, by the names that `get_params` returns."""
            for name, value in params.items():
                own, _, inner = name.partition("__")
                if own not in self._names():
                    raise InputError(f"{type(self).__name__} has no setting {own!r}; it has {self._names()}")
                if inner:
                    getattr(self, own).set_params(**{inner: value})
                else:
                    setattr(self, own, value)
            return self

        def __repr__(self) -> str:
            defaults = signature(type(self)).parameters
            changed = [
                f"{name}={value!r}"
                for name, value in self.get_params(deep=False).items()
                if repr(value) != repr(defaults[name].default)
            ]
            return f"{type(self).__name__}({', '.join(changed)})"

    class ClassifierMixin:
        """A classifier."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            """Return the accuracy of `predict`."""
            return float(np.average(np.asarray(self.predict(X)) == as_numpy(y, "y"), weights=sample_weight))

    class TransformerMixin:
        """An object with `fit` and `transform`."""

        def fit_transform(self, X: Any, y: Any, **fit_params: Any) -> Any:
            """Fit, then transform the same rows."""
            return self.fit(X, y, **fit_params).transform(X)

    class OneToOneFeatureMixin:
        """A transformer with a column for each column of its input; only scikit-learn asks for their names."""

    class NotFittedError(InputError, AttributeError):
        """There is no map to apply yet."""

    def clone(estimator: Any) -> Any:
        """Return an estimator with the same settings that has not been fitted."""
        if isinstance(estimator, (list, tuple)):
            return type(estimator)([clone(one) for one in estimator])
        if not _has_settings(estimator):
            return copy.deepcopy(estimator)
        settings = {name: clone(value) for name, value in estimator.get_params(deep=False).items()}
        return type(estimator)(**settings)

    def check_is_fitted(estimator: Any, attribute: str) -> None:
        """Raise unless the estimator has this attribute."""
        if not hasattr(estimator, attribute):
            raise NotFittedError(f"this {type(estimator).__name__} has not been fitted yet: call fit first")

    def check_classification_targets(y: Array) -> None:
        """Raise if labels are numbers between the classes."""
        if y.dtype.kind == "f" and np.any(y != np.rint(y)):
            raise InputError("y must be classes, got numbers such as {got}", got=float(y[y != np.rint(y)][0]))

    def validate_data(
        estimator: Any, X: Any, y: Any = None, *, reset: bool = True, multi_output: bool = False, **checks: Any
    ) -> Any:
        """Return X as a table of numbers, and y if it is given; remember its columns, or compare them (`reset=False`).

        Values are checked by the caller.
        """
        if hasattr(X, "tocsr"):
            raise InputError("{argument} must be an array, got a sparse matrix: pass X.toarray()", argument="X")
        columns = getattr(X, "columns", None)
        table = as_numpy(X, "X")
        if table.dtype.kind in "OSU":
            table = _check.numeric(table, "X")
        if table.ndim != 2:
            raise InputError("{argument} must have rows and columns, got shape {got}", argument="X", got=table.shape)
        if 0 in table.shape:
            raise InputError("{argument} is empty, of shape {got}", argument="X", got=table.shape)
        names = None if columns is None else np.array(list(columns), dtype=object)
        names = names if names is not None and all(isinstance(name, str) for name in names) else None
        if reset:
            estimator.__dict__.pop("feature_names_in_", None)
            estimator.n_features_in_ = table.shape[1]
            if names is not None:
                estimator.feature_names_in_ = names
        else:
            _same_columns(estimator, table, names)
        return table if y is None else (table, _labels(y, len(table), multi_output))

    def _same_columns(estimator: Any, table: Array, names: Array | None) -> None:
        fitted = getattr(estimator, "feature_names_in_", None)
        if names is not None and fitted is not None and list(names) != list(fitted):
            raise InputError(
                "{argument} has the columns {got}, but {what} was fitted on {fitted}",
                argument="X",
                got=list(names),
                what=type(estimator).__name__,
                fitted=list(fitted),
            )
        if table.shape[1] != estimator.n_features_in_:
            raise InputError(
                "{argument} has {got} columns, but {what} was fitted on {fitted}",
                argument="X",
                got=table.shape[1],
                what=type(estimator).__name__,
                fitted=estimator.n_features_in_,
            )

    def _labels(y: Any, n: int, multi_output: bool) -> Array:
        labels = as_numpy(y, "y")
        if not multi_output and labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        if labels.ndim != (2 if multi_output else 1):
            raise InputError(
                "{argument} must have one label for each row, got shape {got}", argument="y", got=labels.shape
            )
        if len(labels) != n:
            raise InputError("{argument} has {n} rows, but y has {got}", argument="X", n=n, got=len(labels))
        if not multi_output:
            _check.no_missing(labels, None, "y", Hint.DROP_OR_REPAIR)
        return labels


def _has_settings(value: Any) -> bool:
    return hasattr(value, "get_params") and not isinstance(value, type)
