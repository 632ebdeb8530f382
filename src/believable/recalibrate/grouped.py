"""Calibration by segment: a common map, and for every level of some columns as much of its own as its rows support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from dataclasses import fields as fields_of
from typing import Any, ClassVar, Literal, Self, final

import numpy as np

from believable import _check, _kernels
from believable._arrays import as_numpy, as_values
from believable._types import Array, Float64s, Ints
from believable.errors import InputError, LimitWarning, SchemaError, UndefinedError
from believable.inference.clusters import numbered_clusters
from believable.inference.segment_rows import in_words
from believable.recalibrate._estimators import check_is_fitted, clone
from believable.recalibrate.average import effective_rows
from believable.recalibrate.base import Recalibrator, normalised
from believable.recalibrate.facts import Facts, Field, Map, Nested, Vector, as_method
from believable.recalibrate.identity import Identity
from believable.recalibrate.inputs import Input, Scores, encoded, fewest_rows, warn
from believable.recalibrate.platt import PlattScaling
from believable.recalibrate.pooling import (
    LevelRows,
    apply_pooled,
    common_logit,
    fit_pooled,
    residual_design_effect,
)
from believable.recalibrate.segment_boosting import BOOSTING_RANGES, Counted, fit_boosted
from believable.recalibrate.segment_columns import (
    NumbersOfLevels,
    Rules,
    check_rows,
    recoded,
    rule_of,
    saved_rule,
    split_columns,
    without_missing,
)
from believable.recalibrate.segment_tables import BoostedTables, apply_boosted, check_tables, segments_in
from believable.stats.levels import MAX_LEVELS, N_RANGES, LevelColumn, Levels, level_columns
from believable.stats.segments import SegmentStats
from believable.stats.values import MISSING

Method = Literal["pooled", "boosted"]

METHODS = ("pooled", "boosted")
N_FOLDS = 5  # in which the number of rounds is chosen


@dataclass(frozen=True, slots=True)
class LevelMap:
    """What one level of a column adds to the logit of the common map: slope times z, plus intercept.

    Attributes
    ----------
    column, level : str
        The column and its level.
    event : Any
        The class whose probability it is.
    rows : float
        The rows of the level, or the sum of their weights.
    slope, intercept : float
        What it adds. z is the logit of the score, or the score itself if it is not a probability or a logit.
    share : float
        How far the level's map is its own: 0 is the common map, 1 the map of the level's rows alone.
    """

    column: str
    level: str
    event: Any
    rows: float
    slope: float
    intercept: float
    share: float

    @property
    def name(self) -> str:
        """The level in words, such as "site = north"."""
        return f"{self.column} = {self.level}"

    @property
    def size(self) -> float:
        """How far it moves logits from -1 to 1, at most."""
        return abs(self.slope) + abs(self.intercept)

    def __str__(self) -> str:
        return f"{_added(self.intercept, self.slope, 'z')}  {self.rows:>9,.0f} rows  {100 * self.share:3.0f} % its own"


@dataclass(frozen=True, slots=True)
class SegmentMap:
    """What boosting adds to the logit of the common map in one segment: slope times t, plus intercept.

    Attributes
    ----------
    where : dict of str to str
        The levels of each column that its rows share; empty for all rows.
    event : Any
        The class whose probability it is.
    slope, intercept : float
        What it adds. t is the logit of the common map, limited to the range of most rows.
    """

    where: dict[str, str]
    event: Any
    slope: float
    intercept: float

    @property
    def name(self) -> str:
        """The segment in words, such as "site = north and age = up to 30"."""
        return in_words(self.where)

    @property
    def size(self) -> float:
        """How far it moves logits from -1 to 1, at most."""
        return abs(self.slope) + abs(self.intercept)

    def __str__(self) -> str:
        return _added(self.intercept, self.slope, "t").rstrip()


def _added(intercept: float, slope: float, of: str) -> str:
    """Write an intercept and, if it shows, a slope."""
    times = f" {slope:+.2f} {of}" if abs(slope) >= 0.005 else ""
    return f"{intercept:+.2f}{times:<8}"


@final
class GroupedRecalibrator(Recalibrator):
    """Calibration by segment: a common map, and what the rows of each segment support in addition.

    One map for everybody is wrong for segments that are miscalibrated in their own way, and a map for each segment
    overfits those with few rows.

    **"pooled"**: the levels of a column are corrected, by partial pooling. The map of a row is the common one plus what
    its levels add,

        logit p' = logit m(p) + sum_c (a_c z + b_c),

    with z the logit of p (or the raw score), m the common map, and (b_c, a_c) the intercept and slope of the row's
    level in column c. They are drawn towards 0 by as much as the data say (empirical Bayes): intercepts and slopes are
    taken to be normal among the levels of a column, with the covariance of greatest marginal likelihood under a weak
    prior, and are then the most probable ones. Those of a column are multiplied by the probability that its levels
    differ at all, 1 / (1 + 3 exp(-G / 2)), if they raise the log-likelihood by G. A level with few rows has the common
    map, one with many its own. With the common map "platt", m is fitted together with them: this is the model
    ``y ~ z + (1 + z | column)`` of `glmer` in lme4, averaged with that without its columns. Any other common
    map is fitted first, to all rows, and is then left as it is. Missing values (None, NaN) have the common map,
    exactly; their rows help to fit the common map and the other columns.

    **"boosted"**: levels and intersections of two and three columns are corrected, by boosting. Each round adds, in all
    segments of one table of levels, an intercept or a slope, as far as the rows say that the map is wrong there. The
    number of rounds is chosen on held-out rows, and if none of them lowers the log loss by more than its standard
    error, the common map stays as it is. Missing values are a level.

    With both, values that were not seen have the common map in their column. Numbers with more than 12 distinct values
    are cut into ranges at quantiles. If a column has more than `max_levels` values, those with the fewest rows are one
    level, "other values", to which values that were not seen then belong too. Columns without segments, such as a
    constant, one that identifies rows, or one that tells the outcome, are left out with a `LimitWarning`.

    Weights say how much rows matter, not how many they are: with weights, the shrinkage is that of the effective number
    of rows (Kish), (sum w)^2 / sum w^2, so that w and 2 w are the same. Rows in clusters hold less information than as
    many independent ones: their number is divided by the design effect of the residuals, and clusters stay together
    when rows are held out.

    K > 2 classes are recalibrated one against the rest, and rows are then divided by their sums.

    Parameters
    ----------
    by : str or sequence of str, optional
        Names of the columns of segments. They are columns of X if that is a data frame, whose other columns are then
        the scores; otherwise of `by=`, which `fit`, `transform`, `predict_proba` and `predict` take. By default, all
        columns of `by=` in `fit`.
    method : {"pooled", "boosted"}
        How segments are corrected: levels by partial pooling, or also intersections, by boosting.
    base : str or Recalibrator
        The common map: a recalibrator, or the name of one.
    max_levels : int
        The most levels of a column.
    n_ranges : int, optional
        The number of ranges that a quantity is cut into; by default 4, and 16 for boosting, which merges neighbours.
    input : {"probabilities", "logits", "scores"}
        The scale of the scores.
    classes : sequence, optional
        The labels in the order of the columns.

    Attributes
    ----------
    levels_ : tuple of LevelMap
        What each level adds by partial pooling, its rows, and how far its map is its own; empty with boosting.
    segments_ : tuple of SegmentMap
        What each segment adds by boosting; empty with partial pooling.
    common_ : Recalibrator, or tuple of Recalibrator
        The common map; for K > 2 one per class, None for a class that did not occur.
    by_ : tuple of str
        The columns that have segments.
    notes_ : tuple of str
        A sentence about each column that was cut, combined or left out. It is not saved.

    Notes
    -----
    In JSON, `maps` holds for each event (one, or one per class) `{"base": ..., "by": [...], "pooled": [...]}`, or
    "boosted" in place of "pooled":

    - `base` is the common map, a saved recalibrator of one event without the name and version of the schema;
    - `by` has the rule of each column: its name `column` and the `names` of its levels. With `cuts`, a value belongs to
      the range whose upper end is the first cut that is not below it, and to the last one above all cuts. Otherwise it
      is compared as text with `names`, whole numbers without a decimal point; with `combines`, values that are not
      among them are "other values". Values without a level, and missing ones, add nothing;
    - `pooled` has for each column the `slope`, `intercept`, `share` and `rows` of its levels, in the order of `names`;
    - `boosted` has the range `clip`, and `tables`. A table has the numbers of its `columns` in `by`, from 0; `groups`,
      for each of them the group of each level; `segments`, which have a group for each column; and the `slopes` and
      `intercepts` of the segments. A row belongs to the segment with the groups of its levels, if there is one. The
      level "missing" is that of missing values. `rounds`, `gain` and `gain_error` say how many rounds there were and
      what they gained on held-out rows.

    To apply it: t is the logit of what `base` gives for the score, of which the probability is clipped to
    [1e-12, 1 - 1e-12]; if `base` is PlattScaling, t is its slope z + intercept, unclipped. Then p' = sigmoid(t + sum of
    slope z + intercept over the columns), or of slope clip(t) + intercept over the tables. If nothing is added, or if a
    row has no level in any column, p' is what `base` gives.

    References
    ----------
    Efron & Morris (1975), Data analysis using Stein's estimator and its generalizations, JASA 70.
    Gelman & Hill (2007), Data analysis using regression and multilevel/hierarchical models, Cambridge.
    Hebert-Johnson, Kim, Reingold & Rothblum (2018), Multicalibration: calibration for the
    (computationally-identifiable) masses, ICML.
    Tax et al. (2025), MCGrad: multicalibration at web scale, arXiv 2509.19884.

    Examples
    --------
    Two large hospitals, of which one has fewer events than the scores say, and a small one:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=5000)
    >>> site = rng.choice(["north", "south", "island"], 5000, p=[0.6, 0.398, 0.002])
    >>> y = rng.random(5000) < 1 / (1 + np.exp(-(z - (site == "south"))))
    >>> model = GroupedRecalibrator(input="logits").fit(z, y, by={"site": site})
    >>> model.transform([0.0, 0.0], by={"site": ["north", "south"]}).round(2)
    array([0.49, 0.27])
    >>> print("\\n".join(model.lines()))
    site = island  +0.07 +0.01 z         12 rows   29 % its own
    site = north   +0.45 +0.03 z      3,002 rows   99 % its own
    site = south   -0.51 -0.04 z      1,986 rows   98 % its own
    """

    facts: ClassVar[Facts] = Facts(
        alias="pooled",
        argmax=False,
        ranking="none",
        identity=True,
        fewest=20,
        simplicity=9,  # it contains the common map
        cells=False,
        reads_logits=True,
        reference="Gelman & Hill (2007)",
    )
    inputs: ClassVar[tuple[Input, ...]] = ("probabilities", "logits", "scores")
    nested_setting: ClassVar[str] = "base"
    reads_columns: ClassVar[bool] = True
    fields: ClassVar[dict[str, Field]] = {
        "base": Nested(),
        "by": Rules(),
        "pooled": NumbersOfLevels(
            (
                ("slope", Vector(fewest=0)),
                ("intercept", Vector(fewest=0)),
                ("share", Vector(0, 1, fewest=0)),
                ("rows", Vector(0, fewest=0)),
            )
        ),
        "boosted": BoostedTables(),
    }

    notes_: tuple[str, ...] = ()
    _inside: tuple[str, ...] = ()  # the columns of segments among those of X

    def __init__(
        self,
        by: str | Sequence[str] | None = None,
        *,
        method: Method = "pooled",
        base: Recalibrator | str = "platt",
        max_levels: int = MAX_LEVELS,
        n_ranges: int | None = None,
        input: Input = "probabilities",
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.by = by
        self.method = method
        self.base = base
        self.max_levels = max_levels
        self.n_ranges = n_ranges
        self.input = input
        self.classes = classes

    # --- fitting ---

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, by: Any = None, clusters: Any = None) -> Self:
        """Fit the common map and what the levels add.

        Parameters
        ----------
        X : array-like of shape (n,), (n, 1) or (n, K), or data frame
            Scores of one event, or one column per class; a data frame may also hold the columns of segments.
        y : array-like of shape (n,)
            Labels; see `Recalibrator.fit`.
        sample_weight : array-like of shape (n,), optional
            How much each row matters; a row of weight 0 does not.
        by : data frame, mapping of names to columns, or one column, optional
            The columns of segments, unless they are in X.
        clusters : array-like of shape (n,), optional
            The cluster of each row, such as a patient.

        Returns
        -------
        self
        """
        self._check_settings()
        given = split_columns(X, by, self._by(), y=y)
        reader = Identity(input=self.input) if self.input != "scores" else PlattScaling(input="scores")
        scores, y = reader._scores(given.scores, y)
        if scores.input == "probabilities":
            _check.refuse_predicted_classes(scores.values)
        labels, classes = encoded(y, scores.n_classes, self.classes, getattr(reader, "feature_names_in_", None))
        columns, cluster = given.columns, None if clusters is None else _clusters(clusters, len(scores))
        check_rows(columns, len(scores))
        weights = None if sample_weight is None else _check.weights(sample_weight, len(scores))
        if weights is not None and not weights.all():
            rows = np.flatnonzero(weights)
            scores, labels, weights = scores.take(rows), labels[rows], weights[rows]
            columns = {name: values[rows] for name, values in columns.items()}
            cluster = None if cluster is None else np.unique(cluster[rows], return_inverse=True)[1]
        fewest_rows(labels, classes, False)
        found, notes = self._levels(columns, labels, scores)
        maps = self._learn_events(scores, labels, weights, found, cluster)
        self._remember(X, reader, given.inside)
        self.classes_, self.maps_, self.notes_ = classes, maps, notes
        return self

    def fit_from_statistics(self, stats: SegmentStats) -> Self:
        """Fit from counts by segment and cell of the score: all rows of an entry count at their mean score.

        Parameters
        ----------
        stats : SegmentStats
            Counts of one event, of rows anywhere: in files, in a data base, on Spark. With `by` in the constructor, its
            columns of these names are used, otherwise all.

        Returns
        -------
        self
        """
        self._check_settings()
        if not isinstance(stats, SegmentStats):
            raise InputError(f"fit_from_statistics takes a SegmentStats, got a {type(stats).__name__}")
        if stats.view.notion != "binary" or stats.view.threshold is not None:
            raise UndefinedError(
                f"a map by segment is fitted from the scores of one event, not from {stats.view}: count P(y = 1) of "
                "one class at a time"
            )
        if self.input != "probabilities":
            raise InputError(f"statistics hold probabilities: {self.input!r} cannot be fitted from them")
        classes = np.arange(2) if self.classes is None else np.asarray(self.classes)
        if len(classes) != 2:
            raise InputError("{argument} must name 2 classes, got {got}", argument="classes", got=len(classes))
        names = self._by()
        stats = stats if names is None else stats.only(names)
        base = self._common_map()
        if not base._facts().cells:
            raise UndefinedError(f"{type(base).__name__} needs the rows: statistics do not hold enough to fit it")
        base.fit_from_cells(stats.cells_of())
        rules = [self._rule(levels) for levels in stats.columns]
        codes = [recoded(*one) for one in zip(stats.codes, stats.columns, rules, strict=True)]
        rows = LevelRows(Scores(stats.conf, "probabilities"), stats.w, stats.wy, codes)
        fitted = self._learned(base, rules, rows, float(stats.w.sum() / stats.w2.sum()), stats.n, stats.ny)
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_, self._inside = 1, ()
        self.classes_, self.maps_, self.notes_ = classes, (fitted,), stats.notes
        return self

    # --- applying ---

    def predict_proba(self, X: Any, *, by: Any = None) -> Float64s:
        """Return probabilities of shape (n, K); for scores of one event K = 2, with P(second class) in column 1.

        Parameters
        ----------
        X : array-like or data frame
            Scores, as in `fit`.
        by : data frame, mapping of names to columns, or one column, optional
            The columns of segments, unless they are in X.
        """
        scores, columns = self._given(X, by)
        codes = self._codes(columns)
        if scores.values.ndim == 1:
            (fitted,) = self.maps_
            assert fitted is not None
            return _applied(fitted, scores, codes)
        p = np.empty((len(scores), scores.n_classes))
        for k, fitted in enumerate(self.maps_):
            own = scores.of_class(k)
            if fitted is None:
                p[:, k] = own.probability()
            else:
                p[:, k] = _applied(fitted, own, codes)[:, 1]
        return normalised(p)

    def transform(self, X: Any, *, by: Any = None) -> Float64s:
        """Return probabilities in the shape of the scores: P(second class) for one score per row, otherwise (n, K)."""
        p = self.predict_proba(X, by=by)
        if p.shape[1] > 2 or self._n_scores() == 2:
            return p
        return p[:, 1] if np.ndim(X) == 1 else p[:, 1:]

    def predict(self, X: Any, *, by: Any = None) -> Array:
        """Return the most probable class of each row; the first in ties."""
        return np.asarray(self.classes_[self.predict_proba(X, by=by).argmax(axis=1)])

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns of `transform`: those of the scores."""
        check_is_fitted(self, "maps_")
        names = getattr(self, "feature_names_in_", None)
        names = [f"x{i}" for i in range(self._n_scores())] if names is None else names
        return np.array([name for name in names if str(name) not in self._inside], dtype=object)

    # --- what was found ---

    @property
    def by_(self) -> tuple[str, ...]:
        """The columns that have segments."""
        return tuple(rule.column for rule in self._rules())

    @property
    def common_(self) -> Any:
        """The common map; for K > 2 classes one for each, None for a class that did not occur."""
        check_is_fitted(self, "maps_")
        found = tuple(None if one is None else one["base"] for one in self.maps_)
        return found[0] if len(found) == 1 else found

    @property
    def levels_(self) -> tuple[LevelMap, ...]:
        """What each level adds to the logit of the common map by partial pooling."""
        found: list[LevelMap] = []
        for event, fitted in self._events():
            for rule, numbers in zip(fitted["by"], fitted.get("pooled", ()), strict=False):
                parts = (numbers[name] for name in ("rows", "slope", "intercept", "share"))
                found += [
                    LevelMap(rule["column"], name, event, *each)
                    for name, *each in zip(rule["names"], *parts, strict=True)
                ]
        return tuple(found)

    @property
    def segments_(self) -> tuple[SegmentMap, ...]:
        """What each segment adds to the logit of the common map by boosting."""
        return tuple(
            SegmentMap(where, event, slope, intercept)
            for event, fitted in self._events()
            if "boosted" in fitted
            for where, slope, intercept in segments_in(fitted["boosted"], self._rules())
        )

    def _events(self) -> list[tuple[Any, Map]]:
        """Return each class that occurred, with its map; of two classes the event."""
        check_is_fitted(self, "maps_")
        events = self.classes_.tolist()[-len(self.maps_) :]
        return [(event, one) for event, one in zip(events, self.maps_, strict=True) if one is not None]

    def to_frame(self, backend: Literal["polars", "pandas", "pyarrow"] = "polars") -> Any:
        """Return the table of levels or, with boosting, of segments as a data frame."""
        from believable.curves.binned import as_frame

        if self.method == "boosted":
            shown = ("name", "event", "slope", "intercept")
            return as_frame({name: [getattr(one, name) for one in self.segments_] for name in shown}, backend)
        names = [one.name for one in fields_of(LevelMap)]
        return as_frame({name: [getattr(one, name) for one in self.levels_] for name in names}, backend)

    @property
    def symbol_in_words(self) -> str:
        """What the letter in `lines` means."""
        if self.method == "boosted":
            return "t: the log-odds by the common map"
        return "z: the score" if self.input == "scores" else "z: the log-odds of the score"

    def lines(self, most: int | None = None) -> list[str]:
        """Return what is added to the log-odds of the common map in words, line by line.

        With `most`, only so many levels or segments are shown, those that change most.
        """
        parts: list[LevelMap | SegmentMap] = [*self.levels_, *self.segments_]
        shown = parts if most is None else sorted(parts, key=lambda one: -one.size)[:most]
        if not shown:
            return ["Nothing is added to the common map: no segment differs beyond noise."]
        of_class = "" if len(self.maps_) == 1 else ", class {!r}"
        names = [one.name + of_class.format(one.event) for one in shown]
        width = max(map(len, names))
        lines = [f"{name:<{width}}  {one}" for name, one in zip(names, shown, strict=True)]
        return lines if len(shown) == len(parts) else [*lines, f"and {len(parts) - len(shown):,} more"]

    # --- internals ---

    def _check_settings(self) -> None:
        super()._check_settings()
        _check.choice(self.method, METHODS, "method")
        _check.positive_integer(self.max_levels, "max_levels", 2)
        if self.n_ranges is not None:
            _check.positive_integer(self.n_ranges, "n_ranges", 2)
        names = self._by()
        if names is not None and (not names or not all(isinstance(one, str) for one in names)):
            raise InputError(
                "{argument} must name columns, got {got!r}; pass the columns themselves to fit(..., by=...)",
                argument="by",
                got=self.by,
            )
        base = self._common_map()
        if isinstance(base, GroupedRecalibrator) or base.multilabel or not base.normalise:
            raise InputError("{argument} must be a recalibrator of one event, got {got!r}", argument="base", got=base)
        base._check_settings()

    def _check_map(self, fitted: Map, n_classes: int) -> None:
        base = fitted["base"]
        if isinstance(base, GroupedRecalibrator) or base.input != self.input:
            raise SchemaError("the saved base must be a recalibrator of one event, for scores on the same scale")
        if self.method == "boosted":
            check_tables(fitted["boosted"], [len(rule["names"]) for rule in fitted["by"]])
            return
        if len(fitted["by"]) != len(fitted["pooled"]):
            raise SchemaError("the saved pooled must have numbers for each column of by")
        if any(MISSING in rule["names"] for rule in fitted["by"]):
            raise SchemaError(f"missing values have the common map, so {MISSING!r} cannot be a level")
        for rule, numbers in zip(fitted["by"], fitted["pooled"], strict=True):
            if any(len(each) != len(rule["names"]) for each in numbers.values()):
                raise SchemaError(f"column {rule['column']!r} must have one of each number for each of its levels")

    def _fields(self) -> dict[str, Field]:
        return {name: field for name, field in self.fields.items() if name not in METHODS or name == self.method}

    def _facts(self) -> Facts:
        return replace(self.facts, alias="boosted", simplicity=10) if self.method == "boosted" else self.facts

    def _in_words(self) -> str:
        return "boosting by segment" if self.method == "boosted" else "partial pooling by segment"

    def _rule(self, levels: Levels) -> Levels:
        """Return the rule for a column: by partial pooling, missing values have no level."""
        return levels if self.method == "boosted" else without_missing(levels)

    def _by(self) -> tuple[str, ...] | None:
        """Return the names that the constructor was given."""
        return None if self.by is None else (self.by,) if isinstance(self.by, str) else tuple(self.by)

    def _common_map(self) -> Recalibrator:
        """Return the common map, not fitted."""
        base: Recalibrator = clone(as_method(self.base)).set_params(input=self.input, classes=None)
        return base

    def _levels(
        self, columns: dict[str, Array], labels: Ints, scores: Scores
    ) -> tuple[list[LevelColumn], tuple[str, ...]]:
        """Return the columns that have segments, and notes on all of them."""
        n_ranges = self.n_ranges or (BOOSTING_RANGES if self.method == "boosted" else N_RANGES)
        outcomes = (labels == 1).astype(np.float64) if scores.values.ndim == 1 else None
        found: list[LevelColumn] = []
        notes: list[str] = []
        for name, values in columns.items():
            kept, said = level_columns(
                {name: values}, len(scores), outcomes, max_levels=self.max_levels, n_ranges=n_ranges
            )
            notes += said
            for one in kept:
                rule = self._rule(one.levels)
                found.append(LevelColumn(rule, recoded(one.codes, one.levels, rule)))
            if not kept:
                warn(f"{said[0]}: it does not change the common map", LimitWarning)
        return found, tuple(notes)

    def _learn_events(
        self, scores: Scores, labels: Ints, weights: Float64s | None, found: list[LevelColumn], cluster: Ints | None
    ) -> tuple[Map | None, ...]:
        """Fit the map of one event, or of each class against the rest."""
        rules, codes = [one.levels for one in found], [one.codes for one in found]
        w = np.ones(len(scores)) if weights is None else weights
        maps: list[Map | None] = []
        for k in [1] if scores.values.ndim == 1 else range(scores.n_classes):
            occurred = labels == k
            if not occurred.any():
                if self.input == "scores":
                    raise InputError(
                        f"class {k} does not occur in y, so its scores cannot be turned into probabilities"
                    )
                maps.append(None)
                continue
            own = scores if scores.values.ndim == 1 else scores.of_class(k)
            base = self._common_map()._fit_to_model(own.values, occurred.astype(np.intp), weights, cluster)
            rows = LevelRows(own, w, w * occurred, codes, cluster)
            per_weight = effective_rows(w) / float(w.sum())
            maps.append(self._learned(base, rules, rows, per_weight, np.ones(len(w), np.int64), occurred * 1.0))
        return tuple(maps)

    def _learned(
        self, base: Recalibrator, rules: Sequence[Levels], rows: LevelRows, per_weight: float, n: Ints, ny: Float64s
    ) -> Map:
        """Return the map of one event; `n` and `ny` count the rows and events of each of the rows or cells."""
        saved = {"base": base, "by": [saved_rule(rule) for rule in rules]}
        if self.method == "boosted":
            return saved | {"boosted": _boosted(base, rules, rows, per_weight, n, ny)}
        sizes = [len(rule.names) for rule in rules]
        return saved | {"pooled": fit_pooled(base, rows, sizes, per_weight) if rules else []}

    def _remember(self, X: Any, reader: Recalibrator, inside: tuple[str, ...]) -> None:
        """Store what scikit-learn asks about X, with the columns of segments among its columns."""
        self.__dict__.pop("feature_names_in_", None)
        self._inside = inside
        self.n_features_in_ = reader.n_features_in_ + len(inside)
        if inside:
            self.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=object)
        elif hasattr(reader, "feature_names_in_"):
            self.feature_names_in_ = reader.feature_names_in_

    def _n_scores(self) -> int:
        return self.n_features_in_ - len(self._inside)

    def _n_maps(self, n_classes: int) -> int:
        return 1 if n_classes == 2 else n_classes

    def _rules(self) -> list[Levels]:
        """Return the rules of the columns that have segments."""
        check_is_fitted(self, "maps_")
        return [rule_of(rule) for rule in next(one["by"] for one in self.maps_ if one is not None)]

    def _codes(self, columns: dict[str, Array]) -> list[Ints]:
        """Return the number of the level of each row in each column."""
        return [rule.codes(columns[rule.column]) for rule in self._rules()]

    def _given(self, X: Any, by: Any) -> tuple[Scores, dict[str, Array]]:
        """Return scores and columns of rows to apply the map to."""
        given = split_columns(X, by, self.by_, also=self._by() or ())
        array = as_numpy(given.scores, "X")
        array = array[:, None] if array.ndim == 1 and self._n_scores() == 1 else array
        if array.ndim != 2 or array.shape[1] != self._n_scores():
            raise InputError(
                "{argument} must have the {needed} columns of scores that GroupedRecalibrator was fitted on, got shape "
                "{got}",
                argument="X",
                needed=self._n_scores(),
                got=array.shape,
            )
        names = [str(name) for name in getattr(given.scores, "columns", ())]
        fitted = [name for name in getattr(self, "feature_names_in_", ()) if name not in self._inside]
        if names and fitted and names != fitted:
            raise InputError(
                "{argument} has the columns {got}, but GroupedRecalibrator was fitted on {fitted}",
                argument="X",
                got=names,
                fitted=fitted,
            )
        scores = Scores.of(array, self.input, given.scores)
        check_rows(given.columns, len(scores))
        return scores, given.columns

    # Rows come with columns, so what the base class does with scores alone is not asked of it.

    def _learn(self, scores: Scores, labels: Ints, weights: Float64s | None) -> tuple[Map | None, ...]:
        raise NotImplementedError

    def _apply(self, scores: Scores) -> Float64s:
        raise NotImplementedError

    def _apply_pairs(self, scores: Scores) -> Float64s:
        raise NotImplementedError


def _boosted(
    base: Recalibrator, rules: Sequence[Levels], rows: LevelRows, per_weight: float, n: Ints, ny: Float64s
) -> Map:
    """Fit the tables of corrections to a common map; clusters stay in one fold."""
    z, fold = common_logit(base, rows.scores), None
    if rows.cluster is not None:
        per_weight /= residual_design_effect(rows.wy - rows.w * _kernels.sigmoid(z), rows.cluster)
        n_clusters = int(rows.cluster.max()) + 1
        fold = (np.random.default_rng(0).permutation(n_clusters) % N_FOLDS)[rows.cluster]
    codes = np.array(rows.codes, np.int64).reshape(len(rules), len(z))
    return fit_boosted(
        rules, Counted(codes, z, n, ny, rows.w * per_weight, rows.wy * per_weight), fold=fold, n_folds=N_FOLDS
    )


def _applied(fitted: Map, scores: Scores, codes: Sequence[Ints]) -> Float64s:
    """Return probabilities (n, 2) of one event."""
    if "boosted" in fitted:
        return apply_boosted(fitted["base"], fitted["boosted"], scores, codes)
    return apply_pooled(fitted["base"], fitted["pooled"], scores, codes)


def _clusters(clusters: Any, n: int) -> Ints:
    """Return the cluster of each row, numbered from 0."""
    array = as_values(clusters, "clusters")
    if array.shape != (n,):
        raise InputError(
            "{argument} must have one entry per row, got shape {got}", argument="clusters", got=array.shape
        )
    return numbered_clusters(array)
