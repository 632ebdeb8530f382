"""The reliability diagram with the constructors of scikit-learn's displays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from believable import _check
from believable._types import Array, Bins, Float64s, Notion, Strategy
from believable.curves.band import BANDS, Band
from believable.errors import InputError
from believable.metrics.estimators import ResponseMethod, held_out_predictions, predictions_of
from believable.plots.frame import Drawing
from believable.plots.reliability import Reliability, computed, draw_all, lines_of
from believable.predictions import Predictions
from believable.predictions.view import KEPT_APART, RANKED
from believable.stats.source import TEN, UNIFORM, BinsAsked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


class ReliabilityDisplay:
    """A reliability diagram, used like scikit-learn's `CalibrationDisplay`.

    Make one with `from_estimator`, `from_predictions` or `from_cv_results`, which draw it. `plot` draws it again; on an
    ax that shows another model, both are drawn in one diagram.

    Parameters
    ----------
    reliability : Reliability
        The bins, with their intervals.
    name : str, optional
        The name of the model in the legend.
    pos_label : optional
        The class whose probability is shown; None for the default one, and for the probability of the predicted class.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The ax of the last drawing.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_validate
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> found = cross_validate(model, X, y, cv=3, return_estimator=True, return_indices=True)
    >>> display = ReliabilityDisplay.from_cv_results(found, X, y, n_bins=5)
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['Each of 3 folds', 'Perfect calibration', 'LogisticRegression, 95 % interval']
    >>> len(display.fold_lines_)
    3
    """

    def __init__(self, reliability: Reliability, *, name: str | None = None, pos_label: Any = None) -> None:
        if not isinstance(reliability, Reliability):
            raise InputError(
                "a ReliabilityDisplay is made of a Reliability: use ReliabilityDisplay.from_predictions(y_true, y_prob)"
            )
        self.reliability = reliability
        self.name = name
        self.pos_label = pos_label

    @property
    def prob_pred(self) -> Float64s:
        """The mean predicted probability of every bin with rows."""
        table = self.reliability.table
        return table.conf[table.n > 0]

    @property
    def prob_true(self) -> Float64s:
        """The observed frequency of every bin with rows."""
        table = self.reliability.table
        return table.acc[table.n > 0]

    @property
    def line_(self) -> Line2D:
        """The line through the bins, to be restyled."""
        return lines_of(self.reliability, self.ax_)[None]

    @property
    def fold_lines_(self) -> list[Line2D]:
        """The lines of the folds of a cross-validation."""
        found = lines_of(self.reliability, self.ax_)
        return [found[fold] for fold in sorted(fold for fold in found if fold is not None)]

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, show_histogram: bool = True, title: str | None = None
    ) -> ReliabilityDisplay:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Draw here instead of on a new figure. Where the ax shows other models already, this one is added.
        name : str, optional
            The name in the legend, in place of that of the display.
        show_histogram : bool
            Whether the histogram of the scores is drawn below.
        title : str, optional
            A first line for the title.

        Returns
        -------
        ReliabilityDisplay
            The display itself.
        """
        _check.flag(show_histogram, "show_histogram")
        drawing = Drawing.on(ax, title, None, size=(4.8, 6.0 if show_histogram else 4.9))
        label = self.name if name is None else name
        self.figure_: Figure = draw_all(drawing, [(label or "", self.reliability)], show_histogram=show_histogram)
        self.ax_: Axes = drawing.ax
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_bins: Bins = TEN,
        strategy: Strategy = UNIFORM,
        sample_weight: Any = None,
        response_method: ResponseMethod = "auto",
        pos_label: Any = None,
        notion: Notion | None = None,
        level: float = 0.95,
        band: Band = "pointwise",
        name: str | None = None,
        ax: Axes | None = None,
    ) -> ReliabilityDisplay:
        """Draw the diagram of a fitted classifier or pipeline.

        Parameters
        ----------
        estimator : fitted classifier
            With `predict_proba`, or with `decision_function` if `response_method` asks for it.
        X : array-like of shape (n, n_features)
            Rows that the classifier was not fitted on.
        y : array-like of shape (n,)
            Their labels, of any type.
        n_bins, strategy, notion
            As in `expected_calibration_error`; `n_bins="cube_root"` too. Of several classes, the default is the
            confidence in the predicted class.
        sample_weight : array-like of shape (n,), optional
            The weight of each row.
        response_method : {"auto", "predict_proba", "decision_function"}
            By default `predict_proba`. In contrast to scikit-learn, a `decision_function` is only used if it is named,
            because its values are not probabilities: they are read as logits.
        pos_label : optional
            The class whose probability is shown. By default the second of two classes.
        level, band
            Of the intervals, as in `reliability_table`.
        name : str, optional
            The name in the legend; by default that of the class of the estimator, or of the last step of a pipeline.
        ax : matplotlib Axes, optional
            Draw here instead of on a new figure.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn.
        """
        predictions = predictions_of(
            estimator, X, y, sample_weight, response_method=response_method, pos_label=pos_label
        )
        value = _reliability(predictions, n_bins, strategy, notion, level, band)
        return cls(value, name=_name_of(estimator) if name is None else name, pos_label=pos_label).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        n_bins: Bins = TEN,
        strategy: Strategy = UNIFORM,
        sample_weight: Any = None,
        pos_label: Any = None,
        classes: Sequence[Any] | None = None,
        notion: Notion | None = None,
        level: float = 0.95,
        band: Band = "pointwise",
        name: str | None = None,
        ax: Axes | None = None,
    ) -> ReliabilityDisplay:
        """Draw the diagram of labels and probabilities, in scikit-learn's order: **labels first**.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Labels: 0/1, or class numbers, or any two labels with `pos_label`.
        y_prob : array-like of shape (n,) or (n, K)
            Probabilities of the positive class, or of every class.
        n_bins, strategy, sample_weight, notion, level, band, name, ax
            As in `from_estimator`.
        pos_label : optional
            The label that `y_prob` is the probability of.
        classes : sequence, optional
            The labels in the order of the columns of `y_prob`, unless they are numbered from 0.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn.
        """
        _refuse_scores_first(y_true, y_prob)
        predictions = Predictions(y_prob, y_true, pos_label=pos_label, classes=classes, sample_weight=sample_weight)
        value = _reliability(predictions, n_bins, strategy, notion, level, band)
        return cls(value, name=name, pos_label=pos_label).plot(ax)

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        n_bins: Bins = TEN,
        strategy: Strategy = UNIFORM,
        sample_weight: Any = None,
        response_method: ResponseMethod = "auto",
        pos_label: Any = None,
        notion: Notion | None = None,
        level: float = 0.95,
        band: Band = "pointwise",
        name: str | None = None,
        ax: Axes | None = None,
    ) -> ReliabilityDisplay:
        """Draw every fold of a cross-validation on its held-out rows, and all folds together.

        All folds have the same bins. The bold line is the mean of the folds in each bin, weighted by their rows, with
        the interval of all held-out rows. If folds overlap, as in a repeated cross-validation, rows count once for each
        time they are held out, and the intervals are too narrow.

        Parameters
        ----------
        cv_results : dict
            What `cross_validate(..., return_estimator=True, return_indices=True)` returned.
        X, y, sample_weight
            The arrays that `cross_validate` was called with, and weights for the diagram.
        n_bins, strategy, response_method, pos_label, notion, level, band, name, ax
            As in `from_estimator`.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn.
        """
        predictions, fold = held_out_predictions(
            cv_results, X, y, sample_weight, response_method=response_method, pos_label=pos_label
        )
        value = _reliability(predictions, n_bins, strategy, notion, level, band, folds=fold)
        return cls(
            value, name=_name_of(cv_results["estimator"][0]) if name is None else name, pos_label=pos_label
        ).plot(ax)


def _reliability(
    predictions: Predictions,
    n_bins: Bins,
    strategy: Strategy,
    notion: Notion | None,
    level: float,
    band: Band,
    folds: Array | None = None,
) -> Reliability:
    _check.choice(band, BANDS, "band")
    _check.notion(notion)
    if predictions.kind == "multiclass" and notion in (*KEPT_APART, *RANKED):
        raise InputError(
            "a ReliabilityDisplay shows one curve, not {notion=}: for one class, pass its label (from_estimator) or "
            "its scores (from_predictions); for all of them, use plot_classwise_reliability",
            argument="notion",
            notion=notion,
        )
    return computed(predictions, BinsAsked(n_bins, strategy, notion), level, band, None, folds, with_histogram=True)


def _name_of(estimator: Any) -> str:
    """Return the name of the class of an estimator, or of the last step of a pipeline."""
    steps = getattr(estimator, "steps", None)
    return _name_of(steps[-1][1]) if steps else type(estimator).__name__


def _refuse_scores_first(y_true: Any, y_prob: Any) -> None:
    """Raise if labels and probabilities are in our usual order, which is the opposite of scikit-learn's."""
    first, second = np.asarray(y_true), np.asarray(y_prob)
    whole = second.dtype.kind in "biu" or (second.dtype.kind == "f" and bool(np.isin(second, (0, 1)).all()))
    if first.dtype.kind == "f" and second.ndim == 1 and whole and bool(np.any(first % 1 != 0)):
        raise InputError(
            "{argument} comes first here, as in scikit-learn: call from_predictions(labels, scores)", argument="y_true"
        )
