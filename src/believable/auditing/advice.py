"""Advice and caveats: one small rule each, in the order a reader would want them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from believable._types import Ints
from believable.auditing.source import Source, ends_of, heaps_of, n_rows, sums_of
from believable.report.parts import Fix, Measured, Part, rounded_up
from believable.report.verdict_words import GUIDELINE, Verdict
from believable.stats import BinStats

EMPTY_SHARE = 0.4  # of uniform bins
FEW = 5  # expected events, or others, of a bin that can tell something
ENDS = (0.03, 0.97)
DESIGN_EFFECT = 2.0
FEW_CLUSTERS = 10
FEW_PER_CLASS = 30  # rows; in simulations 95 % intervals of the class-wise error covered 84 % with 33, 52 % with 5
CONSTANT = 0.01  # standard deviation of scores that hardly differ
MANY_ROWS = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What the rules read."""

    source: Source
    stats: BinStats
    verdict: Verdict
    metrics: Mapping[str, Measured]
    fix: Fix | None
    parts: tuple[Part, ...]
    subgroups: tuple[Part, ...]
    cluster: Ints | None
    dropped: Mapping[str, int]
    effective_n: float


def advice(facts: Facts) -> tuple[str, ...]:
    """What to do."""
    rules = (_more_data, _recalibrate, _worst_subgroup, _quantile_bins, _classes_that_are_off)
    return tuple(sentence for rule in rules if (sentence := rule(facts)))


def caveats(facts: Facts) -> tuple[str, ...]:
    """What to keep in mind."""
    rules = (
        _dropped,
        _few_per_bin,
        _few_per_class,
        _never_seen,
        _heaped,
        _impossible_happened,
        _weights,
        _clusters,
        _constant,
        _large,
    )
    return tuple(sentence for rule in rules if (sentence := rule(facts)))


# --- advice -----------------------------------------------------------------------------------------------------------


def _more_data(facts: Facts) -> str:
    needed = facts.verdict.needed
    return f"Collect more data. {needed} would tell good calibration from poor." if needed else ""


def _recalibrate(facts: Facts) -> str:
    verdict, fix = facts.verdict, facts.fix
    large = verdict.beyond_chance and verdict.ece >= GUIDELINE[1][1]
    if fix is None:
        return "The ECE is above 0.10: recalibrate." if large else ""
    if fix.chosen == "nothing":
        return fix.advice
    if large:
        return f"The ECE is above 0.10: recalibrate. {fix.advice}"
    return f"Recalibration helps. {fix.advice}"


def _worst_subgroup(facts: Facts) -> str:
    """A subgroup that is off; where the whole is off too, one that is worse than that for sure."""
    verdict = facts.verdict
    least = verdict.high if verdict.beyond_chance else 0.0
    flagged = [part for part in facts.subgroups if part.flagged and (part.low or 0) > least]
    if not flagged:
        off = sum(part.flagged for part in facts.subgroups)
        return f"{off} subgroups are off, as the whole is: none stands out." if off > 1 else ""
    worst = max(flagged, key=lambda part: part.low or 0)
    others = "" if len(flagged) == 1 else f" ({len(flagged)} subgroups are off)"
    return f"Look at {worst.column} = {worst.name}{others}: {worst.in_words}."


def _quantile_bins(facts: Facts) -> str:
    stats = facts.stats
    empty = stats.per_group - len(stats.n)
    if stats.strategy != "uniform" or stats.per_group < 5 or empty < EMPTY_SHARE * stats.per_group:
        return ""
    return f"{empty} of {stats.per_group} uniform bins are empty: look at quantile bins too."


def _classes_that_are_off(facts: Facts) -> str:
    flagged = [part for part in facts.parts if part.flagged]
    if not flagged:
        return ""
    names = ", ".join(part.name for part in flagged[:3])
    more = f" and {len(flagged) - 3} more" if len(flagged) > 3 else ""
    return f"Classes whose probabilities are off beyond chance, worst first: {names}{more}."


# --- caveats ----------------------------------------------------------------------------------------------------------


def _dropped(facts: Facts) -> str:
    counted = {reason: n for reason, n in facts.dropped.items() if n}
    if not counted:
        return ""
    return "Rows left out: " + ", ".join(f"{n:,} ({reason})" for reason, n in counted.items()) + "."


def _few_per_bin(facts: Facts) -> str:
    """Bins where fewer than five events, or fewer than five others, are to be expected."""
    stats = facts.stats
    conf, size = stats.conf, stats.effective_n
    expected = size * np.minimum(conf, 1 - conf)
    sparse = expected < FEW
    if not sparse.any() or facts.verdict.standing == "too little data":
        return ""
    share = float(stats.w[sparse].sum() / stats.w.sum())
    if share < 0.05:
        return ""
    worst = float(np.median(expected[sparse]))
    needed = n_rows(facts.source) * FEW / worst if worst > 0 else math.inf
    more = f"; about {rounded_up(needed):,} rows would help" if needed < 1e9 else ""
    return (
        f"{int(sparse.sum())} of {len(stats.n)} bins, with {100 * share:.0f} % of the rows, expect fewer than {FEW} "
        f"events (or fewer than {FEW} others): they tell little{more}."
    )


def _few_per_class(facts: Facts) -> str:
    n, n_classes = n_rows(facts.source), facts.source.n_classes
    if facts.source.kind != "multiclass" or n >= FEW_PER_CLASS * n_classes:
        return ""
    return (
        f"{n:,} rows are few for {n_classes:,} classes: class-wise and top-label errors are mostly noise, and their "
        "intervals are too narrow."
    )


def _never_seen(facts: Facts) -> str:
    """Scores that never come near an end: nothing is known there."""
    if facts.source.kind != "binary":
        return ""
    lowest, highest = ends_of(facts.source)
    if lowest < ENDS[0] and highest > ENDS[1]:
        return ""
    below, above = _rounded_away(lowest, math.floor), _rounded_away(highest, math.ceil)
    if lowest < ENDS[0]:
        return f"No score is above {above:g}: nothing is known about scores higher than that."
    if highest > ENDS[1]:
        return f"No score is below {below:g}: nothing is known about scores lower than that."
    return f"All scores lie between {below:g} and {above:g}: nothing is known about others."


def _rounded_away(score: float, way: Callable[[float], int]) -> float:
    """To two digits that count, so that no score lies beyond."""
    if score == 0:
        return 0.0
    step = 10.0 ** (1 - math.floor(math.log10(score)))
    nearest = round(score * step)
    return (nearest if abs(score * step - nearest) < 1e-4 else way(score * step)) / step  # a float32 is that close


def _heaped(facts: Facts) -> str:
    found = heaps_of(facts.source)
    return "" if found is None else f"{found} Equal scores always stay in one bin."


def _impossible_happened(facts: Facts) -> str:
    loss = facts.metrics.get("nll")
    if loss is None or math.isfinite(loss.value):
        return ""
    return "A probability of exactly 0 or 1 was wrong: the log loss is infinite as it is."


def _weights(facts: Facts) -> str:
    n = n_rows(facts.source)
    if n < DESIGN_EFFECT * facts.effective_n:
        return ""
    return f"The weights are uneven: {n:,} rows tell as much as {facts.effective_n:,.0f} of equal weight."


def _clusters(facts: Facts) -> str:
    if facts.cluster is None:
        return ""
    n = int(facts.cluster.max()) + 1
    few = " So few clusters say little about how clusters differ: the intervals are rough." if n < FEW_CLUSTERS else ""
    return (
        f"Rows come in {n:,} clusters, which the intervals and the verdict allow for; noise floors take rows as "
        f"independent.{few}"
    )


def _constant(facts: Facts) -> str:
    sums = sums_of(facts.source)
    if sums.kind != "binary" or math.sqrt(float(sums.deviation[0] / sums.w)) > CONSTANT:
        return ""
    rate = float(sums.wy[0] / sums.w)
    if min(rate, 1 - rate) < CONSTANT:  # rare events have small scores
        return ""
    return "The scores hardly differ from each other: a constant can be calibrated, and says nothing about who is who."


def _large(facts: Facts) -> str:
    verdict = facts.verdict
    if n_rows(facts.source) < MANY_ROWS or not verdict.beyond_chance or verdict.ece >= 0.01:
        return ""
    return "With so many rows the smallest error is beyond chance: go by its size."
