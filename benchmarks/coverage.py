"""Do the intervals cover? `python -m benchmarks.coverage [--quick] [--metric ece] [--population wavy] [--sets 1000]`

For each population, size and metric: how often the nominal 95 % interval holds the population's value, how often it
lies above and below it, and its mean width in units of the 2.5-97.5 % spread of the plain value. Seeds are fixed. A
cell that takes long stops before it has all its data sets; the table says how many it had.
"""

from __future__ import annotations

import argparse
import os
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np

import believable
from believable.metrics import find_metric

BINARY = ("ece", "smece", "rmsce", "ace", "mmce", "ks")
SUMS = ("auc", "brier", "bss", "slope")
CLASSES = ("sce", "ace", "tlce")
SIZES = (200, 1_000, 10_000)
FINE = 200_000  # rows that stand for a population
CHUNK = 20_000  # of them, at a time, where there are many classes
SETS_AT_ONCE = 5
SECONDS_BETWEEN_NOTES = 20.0


@dataclass(frozen=True)
class Rows:
    """Scores, the rates of events or classes, and the clusters of rows if there are any."""

    scores: Any
    rate: Any
    clusters: Any = None


@dataclass(frozen=True)
class Population:
    """A way to draw rows.

    Attributes
    ----------
    draw : callable
        Rows from a generator and their number.
    metrics, sizes : tuple
        What is measured.
    n_bins : int
        Number of bins of binned errors.
    annotators : int
        Labels per row; the outcome is their mean.
    exact : bool
        Whether the scores are perfectly calibrated.
    """

    draw: Callable[[Any, int], Rows]
    metrics: tuple[str, ...] = BINARY
    sizes: tuple[int, ...] = SIZES
    n_bins: int = 15
    annotators: int = 1
    exact: bool = False


# --- one event --------------------------------------------------------------------------------------------------------


def _logistic(slope: float, shift: float = 0.0) -> Callable[[Any], Any]:
    def rate(p: Any) -> Any:
        return 1 / (1 + np.exp(-(slope * np.log(p / (1 - p)) + shift)))

    return rate


def _scored(scores: Callable[[Any, int], Any], rate: Callable[[Any], Any]) -> Callable[[Any, int], Rows]:
    def draw(rng: Any, n: int) -> Rows:
        p = scores(rng, n)
        return Rows(p, rate(p))

    return draw


def _beta(a: float, b: float) -> Callable[[Any, int], Any]:
    return lambda rng, n: np.clip(rng.beta(a, b, n), 1e-9, 1 - 1e-9)


def _heaps(rng: Any, n: int) -> Any:
    return rng.choice([0.05, 0.5, 0.8, 0.9, 0.95, 0.99], n)


def _place(low: float, high: float, gap: float) -> Callable[[Any], Any]:
    return lambda p: np.where((p > low) & (p <= high), p - gap, p)


def _over_sure(factor: float) -> Callable[[Any, int], Rows]:
    def draw(rng: Any, n: int) -> Rows:
        logit = 1.5 * rng.standard_normal(n)
        return Rows(1 / (1 + np.exp(-factor * logit)), 1 / (1 + np.exp(-logit)))

    return draw


def _clustered(n_clusters: int) -> Callable[[Any, int], Rows]:
    """Draw clusters whose logits are shifted at random; a fine sample has as many clusters as rows."""

    def draw(rng: Any, n: int) -> Rows:
        cluster = rng.integers(0, n_clusters, n) if n < FINE else np.arange(n)
        p = np.clip(rng.beta(2, 2, n), 1e-9, 1 - 1e-9)
        shift = 0.5 * rng.standard_normal(cluster.max() + 1)
        return Rows(p, 1 / (1 + np.exp(-(0.7 * np.log(p / (1 - p)) + shift[cluster]))), cluster)

    return draw


# --- several classes --------------------------------------------------------------------------------------------------


def _softmax(logits: Any) -> Any:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def _network(n_classes: int, signal: float, factor: float, bias: float = 0.0) -> Callable[[Any, int], Rows]:
    """Draw features that are normal around their class, whose posterior is known, and scores that distort it."""
    shift = bias * np.random.default_rng(n_classes).standard_normal(n_classes)

    def draw(rng: Any, n: int) -> Rows:
        feature = rng.standard_normal((n, n_classes))
        feature[np.arange(n), rng.integers(0, n_classes, n)] += signal
        return Rows(_softmax(factor * signal * feature + shift), _softmax(signal * feature))

    return draw


def _unequal(n_classes: int, factor: float, noise: float = 0.0) -> Callable[[Any, int], Rows]:
    """Draw normal logits of classes of unequal size, and scores that distort them."""
    base = 0.7 * np.random.default_rng(n_classes).standard_normal(n_classes)

    def draw(rng: Any, n: int) -> Rows:
        logits = 2 * rng.standard_normal((n, n_classes)) + base
        return Rows(_softmax(factor * logits + noise * rng.standard_normal(logits.shape)), _softmax(logits))

    return draw


def _classes(draw: Callable[[Any, int], Rows], *sizes: int, exact: bool = False) -> Population:
    return Population(draw, CLASSES, sizes, n_bins=10, exact=exact)


POPULATIONS = {
    "calibrated": Population(_scored(_beta(2, 2), lambda p: p), exact=True),
    "mild": Population(_scored(_beta(2, 2), _logistic(0.9))),
    "over-confident": Population(_scored(_beta(0.5, 0.5), _logistic(0.6))),
    "heaped": Population(_scored(_heaps, lambda p: 0.6 * p + 0.2)),
    "rare": Population(_scored(_beta(0.6, 14), lambda p: np.minimum(1.5 * p, 1)), BINARY + SUMS),
    "very rare": Population(_scored(_beta(0.5, 24), _logistic(1.0, 0.5)), ("ece", *SUMS), (500, 2_000)),
    "flat": Population(_scored(_beta(1, 1), lambda p: p), exact=True),
    "shifted": Population(_scored(_beta(2, 2), _logistic(1, 0.3))),
    "wavy": Population(_scored(_beta(1, 1), lambda p: np.clip(p + 0.08 * np.sin(6 * np.pi * p), 0, 1))),
    "bent": Population(_scored(_beta(1, 1), lambda p: np.clip(p + 0.1 * np.cos(3 * np.pi * p), 0, 1))),
    "one bin": Population(_scored(_beta(1, 1), _place(9 / 15, 10 / 15, 0.3))),
    "one of ten": Population(_scored(_beta(1, 1), _place(0.7, 0.8, 0.3)), BINARY, (500, 2_000), n_bins=10),
    "top of ten": Population(_scored(_beta(1, 0.7), _place(0.9, 1.0, 0.2)), BINARY, (500, 2_000), n_bins=10),
    "over-sure": Population(_over_sure(8), BINARY, (500, 2_000), n_bins=10),
    "very over-sure": Population(_over_sure(30), BINARY, (500, 2_000), n_bins=10),
    "five annotators": Population(_scored(_beta(1, 1), _logistic(0.7)), BINARY, (200, 1_000), annotators=5),
    "five, calibrated": Population(_scored(_beta(1, 1), lambda p: p), BINARY, (200, 1_000), annotators=5, exact=True),
    "8 clusters": Population(_clustered(8), ("ece", "auc", "brier", "bss"), (400,), n_bins=10),
    "20 clusters": Population(_clustered(20), ("ece", "auc", "brier", "bss"), (400,), n_bins=10),
    "4, over-sure": _classes(_unequal(4, 6.0), 400),
    "10, few rows": _classes(_network(10, 1.6, 1.5), 360),
    "10 classes": _classes(_network(10, 2.2, 1.0), 1_000, 5_000, exact=True),
    "10, over-confident": _classes(_network(10, 2.2, 1.7), 1_000, 5_000),
    "40 classes": _classes(_network(40, 2.6, 1.0), 2_000, exact=True),
    "40, over-confident": _classes(_network(40, 2.6, 1.7), 2_000, 5_000),
    "40, unequal": _classes(_unequal(40, 1.4), 2_000),
    "100 classes": _classes(_network(100, 3.0, 1.0), 2_000, 20_000, exact=True),
    "100, over-confident": _classes(_network(100, 3.0, 1.7), 2_000, 5_000, 20_000),
    "100, biased": _classes(_network(100, 3.0, 1.0, 0.7), 2_000, 5_000),
    "100, unequal": _classes(_unequal(100, 1.4), 2_000, 5_000),
    "100, noisy": _classes(_unequal(100, 1.0, 1.0), 2_000, 5_000),
}


# --- what is true -----------------------------------------------------------------------------------------------------


def truths(name: str) -> dict[str, float]:
    """Return the values of the population."""
    population = POPULATIONS[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    if population.metrics == CLASSES:
        return _errors_of_classes(population, rng)
    rows = population.draw(rng, FINE)
    scores, outcomes = np.tile(rows.scores, 2), np.repeat([1, 0], FINE)  # every row both happens and does not
    weight = np.append(rows.rate, 1 - rows.rate)
    found = {}
    for metric in population.metrics:
        value = find_metric(metric).function(scores, outcomes, sample_weight=weight, **options(metric, population))
        found[metric] = 0.0 if population.exact else float(getattr(value, "slope", value))
    return found


def _errors_of_classes(population: Population, rng: Any) -> dict[str, float]:
    n_bins = population.n_bins
    first = population.draw(rng, 2 * CHUNK).scores
    n_classes = first.shape[1]
    cut = np.quantile(first, np.arange(1, n_bins) / n_bins, axis=0)
    sums = {metric: np.zeros(n_classes * n_bins) for metric in CLASSES}
    for _ in range(FINE // CHUNK):
        rows = population.draw(rng, CHUNK)
        gap, start = rows.rate - rows.scores, n_bins * np.arange(n_classes)
        by_width = start + np.clip(np.ceil(rows.scores * n_bins).astype(int) - 1, 0, n_bins - 1)
        by_count = np.stack([np.searchsorted(cut[:, k], rows.scores[:, k]) for k in range(n_classes)], 1) + start
        top = (np.arange(CHUNK), rows.scores.argmax(axis=1))
        for metric, cell, each in (("sce", by_width, gap), ("ace", by_count, gap), ("tlce", by_width[top], gap[top])):
            sums[metric] += np.bincount(cell.ravel(), each.ravel(), n_classes * n_bins)
    share = {"sce": n_classes, "ace": n_classes, "tlce": 1}
    return {
        metric: 0.0 if population.exact else float(np.abs(sums[metric]).sum() / FINE / share[metric])
        for metric in CLASSES
    }


def options(metric: str, population: Population) -> dict[str, Any]:
    return {"n_bins": population.n_bins} if metric in ("ece", "rmsce", "ace", "sce", "tlce") else {}


# --- what is found ----------------------------------------------------------------------------------------------------


def some_sets(job: tuple[str, int, tuple[str, ...], int, int]) -> tuple[Any, dict[str, list[Any]], float]:
    """Return the intervals of a few data sets: low, high and value by metric; and the seconds they took."""
    name, n, metrics, first, n_resamples = job
    population, started = POPULATIONS[name], time.process_time()
    found: dict[str, list[Any]] = {metric: [] for metric in metrics}
    for s in range(first, first + SETS_AT_ONCE):
        rng = np.random.default_rng([zlib.crc32(name.encode()), n, s])
        rows = population.draw(rng, n)
        if rows.rate.ndim == 2:
            outcome = (rng.random((n, 1)) * rows.rate.sum(1, keepdims=True) > np.cumsum(rows.rate, 1)).sum(1)
        elif population.annotators > 1:
            outcome = rng.binomial(population.annotators, rows.rate) / population.annotators
        else:
            outcome = (rng.random(n) < rows.rate).astype(int)
        data = believable.Predictions(rows.scores, outcome, soft_labels=population.annotators > 1)
        for metric in metrics:
            interval = believable.interval(
                metric,
                data,
                options=options(metric, population),
                clusters=rows.clusters,
                n_resamples=n_resamples,
                random_state=s,
            )
            found[metric].append((interval.low, interval.high, interval.value))
    return (name, n), found, time.process_time() - started


def cells(given: argparse.Namespace) -> Iterator[tuple[str, int, str, float, Any]]:
    """Measure all cells, over as many processes as there are cores, a few data sets of each in turn."""
    started = time.time()
    names = given.population or list(POPULATIONS)
    chosen = {name: [m for m in POPULATIONS[name].metrics if not given.metric or m in given.metric] for name in names}
    names = [name for name in names if chosen[name]]
    left = {(name, n): given.cell_seconds for name in names for n in given.size or POPULATIONS[name].sizes}
    if given.cell:
        left = {cell: given.cell_seconds for cell in left if f"{cell[0]}:{cell[1]}" in given.cell}
        names = list(dict.fromkeys(name for name, _ in left))
    results: dict[Any, dict[str, list[Any]]] = {cell: {m: [] for m in chosen[cell[0]]} for cell in left}
    turns = [(cell, first) for first in range(given.first, given.first + given.sets, SETS_AT_ONCE) for cell in left]
    with ProcessPoolExecutor(given.jobs) as pool:
        true = dict(zip(names, pool.map(truths, names), strict=True))
        print(f"# {time.time() - started:.0f} s: the values of {len(names)} populations", flush=True)
        running: set[Future[Any]] = set()
        told, n_done = time.time(), 0
        while turns or running:
            while turns and len(running) < 2 * (given.jobs or 1):
                (name, n), first = turns.pop(0)
                if left[name, n] > 0 and time.time() - started < given.seconds:
                    job = (name, n, tuple(chosen[name]), first, given.resamples)
                    running.add(pool.submit(some_sets, job))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for cell, found, seconds in (future.result() for future in done):
                left[cell] -= seconds
                n_done += SETS_AT_ONCE
                for metric, intervals in found.items():
                    results[cell][metric] += intervals
            if time.time() - told > SECONDS_BETWEEN_NOTES:
                told = time.time()
                print(f"# {told - started:.0f} s: {n_done} data sets", flush=True)
    for (name, n), by_metric in results.items():
        for metric, intervals in by_metric.items():
            if intervals:
                yield name, n, metric, true[name][metric], np.array(intervals)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 data sets a cell, and a minute of one core")
    parser.add_argument("--metric", action="append", choices=sorted({*BINARY, *SUMS, *CLASSES}))
    parser.add_argument("--population", action="append", choices=list(POPULATIONS))
    parser.add_argument("--size", action="append", type=int)
    parser.add_argument("--cell", action="append", help="one population and size, such as 'wavy:1000'")
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first data set")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no new data sets after this time")
    parser.add_argument("--cell-seconds", type=float, default=3600.0, help="of one core, for each cell")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    if given.quick:
        given.sets, given.cell_seconds = 100, 60.0
    head = ("population", "n", "metric", "sets", "true", "mean value", "covers", "above", "below", "width", "/ spread")
    rows = []
    for name, n, metric, true, found in cells(given):
        low, high, value = found.T
        spread, width = float(np.diff(np.quantile(value, [0.025, 0.975]))[0]), float(np.mean(high - low))
        covers, ratio = float(np.mean((low <= true) & (true <= high))), width / max(spread, 1e-300)
        mark = "" if covers >= 0.93 and ratio <= (2.0 if POPULATIONS[name].exact else 1.5) else "  <--"
        rows.append(
            f"{name:<20} {n:>6} {metric:<6} {len(found):>5} {true:>9.5f} {value.mean():>10.5f} {100 * covers:>6.1f}% "
            f"{100 * np.mean(low > true):>5.1f}% {100 * np.mean(high < true):>5.1f}% {width:>8.5f} {ratio:>8.2f}{mark}"
        )
    print("{:<20} {:>6} {:<6} {:>5} {:>9} {:>10} {:>7} {:>6} {:>6} {:>8} {:>8}".format(*head))
    print("\n".join(rows))


if __name__ == "__main__":
    main()
