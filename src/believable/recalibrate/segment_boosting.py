"""Multicalibration by boosting: correct the common calibration map wherever segments say that it is wrong.

`fit_boosted` reads sums, so it needs no rows. All rounds that correct the same table add up, so the result is short;
see `believable.recalibrate.segment_tables`.

How a round works is defined in `believable._kernels.segment_boosting`: it corrects the table with the most evidence of
miscalibration, by shrunken Newton steps. How many rounds help is decided on held-out rows: on each of a few folds, the
rounds fitted to the others must lower the log loss by more than its standard error. Otherwise there are none, and the
common map stays as it is.

References
----------
Hebert-Johnson, Kim, Reingold, Rothblum (2018), Multicalibration: calibration for the (computationally-identifiable)
masses, ICML. Kim, Ghorbani, Zou (2019), Multiaccuracy: black-box post-processing for fairness in classification, AIES.
Tax et al. (2025), MCGrad: multicalibration at web scale, arXiv 2509.19884. Friedman (2001), Greedy function
approximation: a gradient boosting machine, Annals of Statistics.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from believable._check import generator
from believable._kernels.segment_boosting import Entries, Round, Table, boosting_rounds
from believable._types import Float64s, Int64s, Ints
from believable.recalibrate.facts import Map
from believable.recalibrate.segment_tables import Division
from believable.stats.levels import Levels, ranges
from believable.stats.segments import mixed

BOOSTING_RANGES = 16  # count quantities in so many ranges: tables merge neighbours where that is better
MOST_ROUNDS = 100
PATIENCE = 10  # rounds without a gain on held-out rows, after which no more are tried
DEPTH = 3  # columns of a table, at most
FEW_RANGES = 4  # to which the ranges of a quantity are merged in tables of two and three columns
TAIL = 0.01  # of the weight at either end, where corrections no longer depend on the score
CELL_WIDTH = 0.5  # entries of the same levels whose log-odds share a cell of this width are merged
FURTHEST = 40.0  # log-odds; sigmoid(40) is 1 in floats


class Counted(NamedTuple):
    """Rows, or rows that were added up: those of an entry have the same levels and score.

    Attributes
    ----------
    codes : ndarray of shape (columns, entries)
        The number of the level in each column.
    base : ndarray
        Log-odds by the common map.
    n, ny : ndarray
        Number of rows, and the sum of their outcomes.
    w, wy : ndarray
        Sums of weights, and of weights times outcomes; in units of effective rows.
    """

    codes: Ints
    base: Float64s
    n: Ints
    ny: Float64s
    w: Float64s
    wy: Float64s


def fit_boosted(
    columns: Sequence[Levels], counted: Counted, *, fold: Ints | None = None, n_folds: int = 5, random_state: int = 0
) -> Map:
    """Return tables of corrections to a common calibration map, as numbers and lists.

    Entries of the same levels whose log-odds share a cell of width 0.5 are merged.

    Parameters
    ----------
    columns : sequence of Levels
        The columns. Quantities should be cut into 16 ranges (`BOOSTING_RANGES`).
    counted : Counted
        What was counted.
    fold : ndarray, optional
        The fold of each entry, so that clusters stay together. By default, the rows of every entry are dealt out at
        random, which needs no rows: those of an entry are alike.
    n_folds : int
        How many folds rows are dealt into.
    random_state : int
        Random seed of the dealing.

    Returns
    -------
    dict
        `rounds`: how many were chosen. `gain`, `gain_error`: by how much they lower the log loss per held-out row, and
        its standard error. `clip`: the range of log-odds in which corrections depend on them. `tables`: for each,
        `columns`, their numbers; `groups`, the group of every level of each column; `segments`, the groups of every
        segment; `intercepts` and `slopes`, the a and b of every segment.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z, site, one = rng.normal(size=5000), rng.integers(0, 3, 5000), np.ones(5000)
    >>> y = 1.0 * (rng.random(5000) < 1 / (1 + np.exp(-z - (site == 1))))
    >>> counted = Counted(site[None], z, one, y, one, y)
    >>> fitted = fit_boosted([Levels("site", ("a", "b", "c"))], counted)
    >>> from believable.recalibrate.segment_tables import boosted_logits
    >>> boosted_logits(fitted, np.zeros(4), np.array([[0, 1, 2, -1]])).round(1)
    array([-0. ,  0.9,  0. ,  0. ])
    """
    counts = _Counts.of(counted, [len(one.names) for one in columns])
    divisions = list(_divisions(columns))
    segments = [np.unique(one.keys(counts.codes), return_inverse=True) for one in divisions]
    tables = [Table(place, len(keys)) for keys, place in segments]
    low, high = counts.middle()
    x = np.clip(counts.base, low, high)
    centre = (low + high) / 2

    def rounds(sums: _Sums) -> Iterator[Round]:
        entries = Entries(counts.starts, counts.base, x - centre, sums.w, sums.wy)
        return itertools.islice(boosting_rounds(entries, tables), MOST_ROUNDS)

    steps = [(one.table, one.intercepts - centre * one.slopes, one.slopes) for one in rounds(counts.sums)]
    chosen = _Chosen(0, 0.0, 0.0)
    if steps:
        parts = counts.dealt(n_folds, generator(random_state)) if fold is None else counts.divided(counted, fold)
        chosen = _choose([rounds(counts.sums.without(part)) for part in parts], counts.base, parts, fold is not None)
    total = [np.zeros((2, table.size)) for table in tables]
    for i, intercepts, slopes in steps[: chosen.rounds]:
        total[i] += intercepts, slopes
    saved = [
        one.saved(keys, sums) for one, (keys, _), sums in zip(divisions, segments, total, strict=True) if sums.any()
    ]
    return {
        "rounds": chosen.rounds,
        "gain": chosen.gain,
        "gain_error": chosen.error,
        "clip": [low, high],
        "tables": saved,
    }


# --- tables -----------------------------------------------------------------------------------------------------------


def _divisions(columns: Sequence[Levels]) -> Iterator[Division]:
    """Yield all rows, every column, and all pairs and triples of columns.

    A quantity has its own ranges in a table of its own, and few of them in any table.
    """
    fine = [np.arange(len(one.names)) for one in columns]
    few = [_in_few_ranges(one) for one in columns]
    yield Division((), ())
    for j, (own, merged) in enumerate(zip(fine, few, strict=True)):
        yield Division((j,), (own,))
        if len(np.unique(merged)) < len(own):
            yield Division((j,), (merged,))
    for size in range(2, min(DEPTH, len(columns)) + 1):
        for chosen in itertools.combinations(range(len(columns)), size):
            yield Division(chosen, tuple(few[j] for j in chosen))


def _in_few_ranges(levels: Levels) -> Ints:
    """Return the group of each level: ranges of a quantity share one with neighbours, missing values have their own."""
    n_ranges = len(levels.names) if levels.cuts is None else len(levels.cuts) + 1
    if levels.cuts is None or n_ranges <= FEW_RANGES:
        return np.arange(len(levels.names))
    place = {name: i * FEW_RANGES // n_ranges for i, name in enumerate(ranges(np.array(levels.cuts)))}
    return np.array([place.get(name, FEW_RANGES) for name in levels.names])


# --- counts, and their folds ------------------------------------------------------------------------------------------


class _Sums(NamedTuple):
    """Weights of rows and of positives, of every entry."""

    w: Float64s
    wy: Float64s

    def without(self, part: _Sums) -> _Sums:
        """Return what is left without a part; rounding leaves nothing negative."""
        w = np.maximum(self.w - part.w, 0)
        return _Sums(w, np.clip(self.wy - part.wy, 0, w))


class _Counts(NamedTuple):
    """Entries, merged where levels are the same and log-odds are close.

    Attributes
    ----------
    codes : ndarray of shape (columns, cells)
        The levels of every combination that occurs, a cell.
    starts : ndarray
        The first entry of each cell; entries of a cell follow each other.
    base : ndarray
        Log-odds by the common map.
    n, events : ndarray
        Numbers of rows and of positives.
    sums : _Sums
        Weights of rows and of positives.
    place : ndarray
        The merged entry of each entry that was counted.
    """

    codes: Ints
    starts: Ints
    base: Float64s
    n: Int64s
    events: Int64s
    sums: _Sums
    place: Ints

    @classmethod
    def of(cls, counted: Counted, sizes: Sequence[int]) -> _Counts:
        z = np.clip(counted.base, -FURTHEST, FURTHEST)
        cell = mixed(counted.codes, sizes)
        near = np.floor(z / CELL_WIDTH).astype(np.int64)
        order = np.lexsort((near, cell))
        new_cell = np.append(True, cell[order][1:] != cell[order][:-1])
        new = new_cell | np.append(True, near[order][1:] != near[order][:-1])
        place = np.empty(len(order), np.int64)
        place[order] = np.cumsum(new) - 1
        first = order[new]
        n, events, w, wy, wz = (
            np.bincount(place, values, len(first))
            for values in (counted.n, counted.ny, counted.w, counted.wy, counted.w * z)
        )
        starts = np.flatnonzero(new_cell[new])
        return cls(
            codes=counted.codes[:, first[starts]].astype(np.int64),
            starts=starts,
            base=wz / w,
            n=n.astype(np.int64),
            events=np.clip(np.rint(events), 0, n).astype(np.int64),
            sums=_Sums(np.asarray(w, np.float64), np.asarray(wy, np.float64)),
            place=place,
        )

    def middle(self) -> tuple[float, float]:
        """Return the log-odds between which all but a share of the weight at either end lies."""
        order = np.argsort(self.base, kind="stable")
        below = np.cumsum(self.sums.w[order])
        ends = np.searchsorted(below, [TAIL * below[-1], (1 - TAIL) * below[-1]])
        low, high = self.base[order][np.minimum(ends, len(order) - 1)].tolist()
        return low, high

    def dealt(self, n_folds: int, rng: np.random.Generator) -> list[_Sums]:
        """Deal the rows of every entry out to folds, at random."""
        others = self.n - self.events
        chances = np.full(n_folds, 1 / n_folds)
        events_in, others_in = rng.multinomial(self.events, chances).T, rng.multinomial(others, chances).T
        of_events, of_others = self.sums.wy, self.sums.w - self.sums.wy
        parts = []
        for mine, rest in zip(events_in, others_in, strict=True):
            # Of soft labels, the weight of events may lie in rows that count as others, and the other way round.
            share = np.divide(mine, self.events, out=np.divide(rest, self.n, dtype=np.float64), where=self.events > 0)
            left = np.divide(rest, others, out=np.divide(mine, self.n, dtype=np.float64), where=others > 0)
            wy = of_events * share
            parts.append(_Sums(wy + of_others * left, wy))
        return parts

    def divided(self, counted: Counted, fold: Ints) -> list[_Sums]:
        """Return the sums of every fold."""
        parts = []
        for k in range(int(fold.max()) + 1):
            inside = fold == k
            place, size = self.place[inside], len(self.base)
            sums = [np.bincount(place, each[inside], size).astype(np.float64) for each in (counted.w, counted.wy)]
            parts.append(_Sums(*sums))
        return parts


# --- how many rounds --------------------------------------------------------------------------------------------------


class _Chosen(NamedTuple):
    """How many rounds to take, and by how much they lower the log loss per held-out row, with its standard error."""

    rounds: int
    gain: float
    error: float


def _choose(paths: Sequence[Iterator[Round]], base: Float64s, parts: Sequence[_Sums], clustered: bool) -> _Chosen:
    """Return the number of rounds with the greatest gain on the parts left out; none if that may be noise.

    A path that has ended stays where it is. With clusters, the standard error is that of the gains of the folds if that
    is larger: rows of a cluster are not independent.
    """
    log_odds = [base] * len(parts)
    best = _Chosen(0, 0.0, 0.0)
    for count in itertools.count(1):
        steps = [next(path, None) for path in paths]
        if not any(steps) or count > best.rounds + PATIENCE:
            break
        log_odds = [now if step is None else step.log_odds for now, step in zip(log_odds, steps, strict=True)]
        gain, error = _gain(log_odds, base, parts, clustered)
        if gain > best.gain:
            best = _Chosen(count, gain, error)
    return best if best.gain > best.error else _Chosen(0, 0.0, 0.0)


def _gain(log_odds: Sequence[Float64s], base: Float64s, parts: Sequence[_Sums], clustered: bool) -> tuple[float, float]:
    """Return the gain in log loss per row on parts left out, and its standard error."""
    sums, squares, rows = np.zeros((3, len(parts)))
    for k, (after, part) in enumerate(zip(log_odds, parts, strict=True)):
        of_event = np.logaddexp(0, -base) - np.logaddexp(0, -after)
        of_other = np.logaddexp(0, base) - np.logaddexp(0, after)
        others = part.w - part.wy
        sums[k] = part.wy @ of_event + others @ of_other
        squares[k] = part.wy @ of_event**2 + others @ of_other**2
        rows[k] = part.w.sum()
    n = float(rows.sum())
    gain = float(sums.sum()) / n
    error = np.sqrt(max(float(squares.sum()) / n - gain**2, 0.0) / n)
    if clustered:
        off = sums - gain * rows
        error = max(error, np.sqrt(len(parts) / max(len(parts) - 1, 1) * float(off @ off)) / n)
    return gain, float(error)
