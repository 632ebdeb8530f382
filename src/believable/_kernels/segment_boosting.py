"""Boosting on sums by segment: tables of segments, of which each round corrects one, by as much as the data say.

A *table* divides all rows into disjoint segments k. With F the log-odds so far, mu = sigmoid(F), and x a function of
the score, a round may add to F a number e_k (kind "level") or a line e_k (x - c_k) around the segment's mean (kind
"tilt"). Of the log-likelihood, a segment has the derivative G and the information H by its e,

    level:  G = sum wy - w mu            H = sum w mu (1 - mu) = H0
    tilt:   G = sum (wy - w mu) (x - c)  H = sum w mu (1 - mu) (x - c)^2,   c = sum w mu (1 - mu) x / H0

so that G/H, a Newton step, estimates e with the variance 1/H. Before the data, e is 0 with probability s, and is
otherwise normal with mean 0 and standard deviation t. The Bayes factor of e against 0 is then

    s + (1 - s) r,    r = (1 + t^2 H)^(-1/2) exp(G^2 / (2 H) * t^2 H / (1 + t^2 H)),

and that of a table is the product over its segments, averaged over a few s and t. Its logarithm is the *evidence* that
the table is not calibrated yet. A round takes the table and kind with the most evidence, and adds the posterior means
of its e: little where a segment has few rows or where the other segments say that effects are rare or small. Rounds end
when no table has evidence above 0.

References: Friedman (2001), Greedy function approximation: a gradient boosting machine, Annals of Statistics; Johnstone
and Silverman (2004), Needles and straw in haystacks: empirical Bayes estimates of possibly sparse sequences, Annals of
Statistics; Minoux (1978), Accelerated greedy algorithms, in Optimization Techniques.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from believable._types import Float64s, Ints

NULL_SHARES = (0.0, 0.9)  # s: all segments are off, or few
DEVIATIONS = np.array([0.1, 0.3, 0.9])  # t, in logits
# A segment with less information is not corrected: its G is far from normal (it expects fewer than three events).
LEAST_INFORMATION = 3.0
SURE = 1.0  # a step that moves no log-odds further is taken in full


class Table(NamedTuple):
    """Disjoint segments: the number of each cell's segment, from 0, and how many there are."""

    place: Ints
    size: int


class Entries(NamedTuple):
    """Sums of rows that share a cell, the finest combination of levels, and are close in score.

    Attributes
    ----------
    starts : ndarray
        The first entry of each cell; entries of a cell follow each other.
    base : ndarray
        Log-odds of the common calibration map.
    x : ndarray
        What tilts are linear in.
    w, wy : ndarray
        Sums of the weights, and of the weights of positives.
    """

    starts: Ints
    base: Float64s
    x: Float64s
    w: Float64s
    wy: Float64s


class Round(NamedTuple):
    """One step: in segment k of a table, intercepts[k] + slopes[k] x was added to the log-odds.

    `log_odds` are those of every entry after the step.
    """

    table: int
    intercepts: Float64s
    slopes: Float64s
    evidence: float
    log_odds: Float64s


def boosting_rounds(entries: Entries, tables: Sequence[Table]) -> Iterator[Round]:
    """Yield one round after the other, until no table has evidence above 0.

    The evidence of a table is computed anew when the last one known is the greatest of all, because what is left to
    correct mostly decreases. A table that was corrected waits until no other has evidence; then all are computed anew.
    """
    log_odds = entries.base
    rows = np.diff(entries.starts, append=len(entries.x))
    moments = _moments(entries, log_odds)
    known, changed = _evidence_of_all(moments, tables), False
    while known.max() > 0:
        i = int(known.argmax())
        estimates = _estimates(_totals(moments, tables[i]))
        evidence = _evidence(estimates, np.zeros(1, np.intp))[:, 0]
        known[i] = evidence.max()
        if 0 < known[i] == known.max():
            intercepts, slopes = _step(estimates, int(evidence.argmax()), entries.x)
            of_entry = np.repeat(tables[i].place, rows)
            log_odds = log_odds + (intercepts[of_entry] + slopes[of_entry] * entries.x)
            yield Round(i, intercepts, slopes, float(known[i]), log_odds)
            moments = _moments(entries, log_odds)
            known[i], changed = 0.0, True
        if changed and known.max() <= 0:
            known, changed = _evidence_of_all(moments, tables), False


class _Estimates(NamedTuple):
    """G and H of every segment, (2, segments): of its level, and of its tilt around the centre."""

    score: Float64s
    information: Float64s
    centre: Float64s


def _moments(entries: Entries, log_odds: Float64s) -> Float64s:
    """Return the sums of g, h, g x, h x and h x^2 in every cell: (5, cells)."""
    mu = 1 / (1 + np.exp(-log_odds))
    g = entries.wy - entries.w * mu
    h = entries.w * mu * (1 - mu)
    hx = h * entries.x
    return np.add.reduceat(np.stack([g, h, g * entries.x, hx, hx * entries.x]), entries.starts, axis=1)


def _totals(moments: Float64s, table: Table) -> Float64s:
    """Return the moments of every segment: (5, segments)."""
    return np.stack([np.bincount(table.place, moment, table.size) for moment in moments])


def _estimates(totals: Float64s) -> _Estimates:
    g, h, gx, hx, hxx = totals
    centre = np.divide(hx, h, out=np.zeros_like(h), where=h > 0)
    return _Estimates(np.stack([g, gx - centre * g]), np.stack([h, hxx - centre * hx]), centre)


def _evidence_of_all(moments: Float64s, tables: Sequence[Table]) -> Float64s:
    """Return the evidence of every table, that of its kind with more evidence."""
    totals = np.concatenate([_totals(moments, table) for table in tables], axis=1)
    starts = np.cumsum([0, *(table.size for table in tables[:-1])])
    return np.asarray(_evidence(_estimates(totals), starts).max(axis=0))


def _evidence(estimates: _Estimates, starts: Ints) -> Float64s:
    """Return the log of the Bayes factor of both kinds of every table, (2, tables); `starts` are the first segments."""
    score, information, _ = estimates
    by_prior = np.stack(
        [np.add.reduceat(_log_factor(s, r), starts, axis=-1) for _, s, r in _log_ratios(score, information)]
    )
    top = by_prior.max(axis=0)
    return np.asarray(top + np.log(np.exp(by_prior - top).mean(axis=0)))


def _step(estimates: _Estimates, kind: int, x: Float64s) -> tuple[Float64s, Float64s]:
    """Return the posterior means of e in one table, as intercepts and slopes of x."""
    score, information = estimates.score[kind], estimates.information[kind]
    priors = list(_log_ratios(score, information))
    log_factors = [_log_factor(s, r) for _, s, r in priors]
    by_prior = np.array([factor.sum() for factor in log_factors])
    weight = np.exp(by_prior - by_prior.max())
    effect = np.zeros(len(score))
    for (t, s, r), factor, share in zip(priors, log_factors, weight / weight.sum(), strict=True):
        effect += share * (1 - s) * np.exp(r - factor) * score * t**2 / (1 + t**2 * information)
    effect[information < LEAST_INFORMATION] = 0
    if kind == 0:
        return _damped(effect, 1.0), np.zeros(len(effect))
    reach = np.maximum(estimates.centre - x.min(), x.max() - estimates.centre)
    slopes = _damped(effect, reach)
    return -slopes * estimates.centre, slopes


def _log_ratios(score: Float64s, information: Float64s) -> Iterator[tuple[float, float, Float64s]]:
    """Yield t, s and log r of every segment, for each prior; r is 1 where the information is too little."""
    enough = information >= LEAST_INFORMATION
    square = np.divide(score**2, information, out=np.zeros_like(score), where=enough)
    for t in DEVIATIONS.tolist():
        share = t**2 * information
        log_ratio = np.where(enough, square * share / (1 + share) / 2 - np.log1p(share) / 2, 0.0)
        for s in NULL_SHARES:
            yield t, s, log_ratio


def _log_factor(s: float, log_ratio: Float64s) -> Float64s:
    """Return log(s + (1 - s) r)."""
    if s == 0:
        return log_ratio
    small = np.exp(-np.abs(log_ratio))
    return np.maximum(log_ratio, 0) + np.log(np.where(log_ratio > 0, s * small + 1 - s, s + (1 - s) * small))


def _damped(effect: Float64s, reach: Float64s | float) -> Float64s:
    """Return effects such that log-odds, which lie up to `reach` from the centre, cannot move too far.

    The information grows by at most exp(m) while log-odds move by m, so the likelihood cannot decrease along the share
    log(1 + m) / m of a step of Newton's method by m.
    """
    furthest = np.abs(effect) * reach
    return np.asarray(effect * np.where(furthest <= SURE, 1.0, np.log1p(furthest) / np.maximum(furthest, SURE)))
