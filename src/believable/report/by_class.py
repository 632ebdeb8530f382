"""The classes of a matrix, each against the rest, worst first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from believable._random import generator
from believable._types import Ints, Strategy
from believable.counting import count_bins
from believable.inference._clustered import chance_of_clusters
from believable.inference._question import ask
from believable.inference.interval import interval
from believable.inference.noise_floor import noise_floor
from believable.predictions import Predictions
from believable.report.parts import Direction, Part
from believable.stats import BinStats, ScoreSums

MOST_CLASSES = 20  # that get an interval, and a line
RATE = 0.05
DRAWS, DRAWS_OF_FLOOR = 200, 1000


def by_class(
    predictions: Predictions, n_bins: int, strategy: Strategy, cluster: Ints | None, level: float, random_state: Any
) -> tuple[Part, ...]:
    """The classes whose probabilities look worst, with intervals; all of them, where there are at most 20.

    Those are looked at whose ECE is furthest above what chance makes of it. They come in the order of the lower ends of
    their intervals: the most surely bad first. p-values are adjusted for the number of all classes.
    """
    stats = count_bins(predictions, n_bins, strategy, notion="classwise", squares=True)
    excess = [_excess(stats.only_group(k)) for k in range(predictions.n_classes)]
    chosen = sorted(range(predictions.n_classes), key=lambda k: -excess[k])[:MOST_CLASSES]
    made = [_of_class(predictions, k, n_bins, strategy, cluster, level, random_state) for k in chosen]
    parts = _adjusted(made, predictions.n_classes)
    return tuple(sorted(parts, key=lambda part: (-(part.low or 0), -(part.ece or 0))))


def column_of(predictions: Predictions, k: int) -> Predictions:
    """One class against the rest, as one event."""
    pairs = predictions.column(predictions.view("classwise"), k)
    return Predictions(pairs.score, np.asarray(pairs.outcome, np.int64), sample_weight=pairs.weight)


def _excess(stats: BinStats) -> float:
    """The ECE less about what chance makes of it."""
    chance = np.sqrt(np.maximum(stats.w2p - stats.w2pp, 0) * (2 / np.pi))
    return float((np.abs(stats.wy - stats.wp) - chance).sum() / stats.w.sum())


def _of_class(
    predictions: Predictions,
    k: int,
    n_bins: int,
    strategy: Strategy,
    cluster: Ints | None,
    level: float,
    random_state: Any,
) -> tuple[Part, ScoreSums]:
    column, options = column_of(predictions, k), {"n_bins": n_bins, "strategy": strategy}
    ends = interval(
        "ece", column, options=options, groups=cluster, level=level, n_resamples=DRAWS, random_state=random_state
    )
    floor = noise_floor("ece", column, options=options, n_resamples=DRAWS_OF_FLOOR, random_state=random_state)
    chance = floor.p_value
    if cluster is not None and chance is not None:
        asked = ask("ece", column, options=options)
        chance = max(chance, chance_of_clusters(asked, cluster, DRAWS_OF_FLOOR, generator(random_state)))
    sums = ScoreSums.of(column)
    part = Part(
        column="",
        name=predictions.class_name(k),
        n=int(np.count_nonzero(column.labels)),
        mean_score=float(sums.wp[0] / sums.w),
        rate=float(sums.wy[0] / sums.w),
        ece=ends.value,
        low=ends.low,
        high=ends.high,
        floor=floor.mean,
        p_value=chance,
        adjusted=None,
        flagged=False,
        direction="unclear",
        note=ends.note,
    )
    return part, sums


def _adjusted(parts: list[tuple[Part, ScoreSums]], n_classes: int) -> list[Part]:
    """With p-values for so many classes, of which these are the smallest ones (Benjamini and Hochberg)."""
    from scipy.stats import false_discovery_control

    p_values = [1.0 if part.p_value is None else part.p_value for part, _ in parts]
    adjusted = false_discovery_control([*p_values, *[1.0] * (n_classes - len(parts))])
    made = []
    for (part, sums), p in zip(parts, adjusted, strict=False):
        part = replace(part, adjusted=float(p), flagged=float(p) <= RATE and bool(part.low))
        made.append(replace(part, direction=direction_of(part, sums)))
    return made


def direction_of(part: Part, sums: ScoreSums) -> Direction:
    """Which way the scores are off, if most of the error goes that way: on average, or away from one half."""
    if not part.flagged or part.ece is None:
        return "unclear"
    if sums.kind == "binary" and abs(part.mean_score - part.rate) >= part.ece / 2:
        return "too high" if part.mean_score > part.rate else "too low"
    confidence, accuracy = sums.confidence / sums.w, sums.correct / sums.w
    if abs(confidence - accuracy) >= part.ece / 2:
        return "over-confident" if confidence > accuracy else "under-confident"
    return "mixed"
