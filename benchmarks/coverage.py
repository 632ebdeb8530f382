"""Do the intervals cover? `python -m benchmarks.coverage [--quick] [--metric ece] [--sets 1000]`

For each population, size and metric: how often the nominal 95 % interval holds the population's error, how often it
lies above and below it, and its mean width in units of the 2.5-97.5 % spread of the plain value. Seeds are fixed.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

import believable
from believable import _kernels

N_BINS = 15
SIZES = (200, 1_000, 10_000)
FINE = 200_000  # scores that stand for a population


def _logistic(slope: float, shift: float = 0.0) -> Callable[[Any], Any]:
    def rate(p: Any) -> Any:
        return 1 / (1 + np.exp(-(slope * np.log(p / (1 - p)) + shift)))

    return rate


def _beta(a: float, b: float) -> Callable[[], Any]:
    def scores() -> Any:
        from scipy.stats import beta

        return np.clip(beta(a, b).ppf((np.arange(FINE) + 0.5) / FINE), 1e-9, 1 - 1e-9)

    return scores


def _heaps() -> Any:
    return np.repeat([0.05, 0.5, 0.8, 0.9, 0.95, 0.99], FINE // 6)


def _one_bin(p: Any) -> Any:
    return np.where((p > 9 / 15) & (p <= 10 / 15), p - 0.3, p)


@dataclass(frozen=True)
class Population:
    """Scores, and the rate at which things happen there; `exact` where the scores are perfectly calibrated."""

    scores: Callable[[], Any]
    rate: Callable[[Any], Any]
    exact: bool = False


POPULATIONS = {
    "calibrated": Population(_beta(2, 2), lambda p: p, exact=True),
    "mild": Population(_beta(2, 2), _logistic(0.9)),
    "over-confident": Population(_beta(0.5, 0.5), _logistic(0.6)),
    "heaped": Population(_heaps, lambda p: 0.6 * p + 0.2),
    "rare": Population(_beta(0.6, 14), lambda p: np.minimum(1.5 * p, 1)),
    # Not asked for: calibrated with every score as likely, shifted, wavy, and all of the error in one bin of fifteen.
    "flat": Population(_beta(1, 1), lambda p: p, exact=True),
    "shifted": Population(_beta(2, 2), _logistic(1, 0.3)),
    "wavy": Population(_beta(1, 1), lambda p: np.clip(p + 0.08 * np.sin(6 * np.pi * p), 0, 1)),
    "one bin": Population(_beta(1, 1), _one_bin),
}


def truth(metric: str, scores: Any, rate: Any) -> float:
    """The error of the population."""
    if metric == "smece":
        return float(_kernels.smooth_error(scores, (rate - scores) / len(scores), 1.0))
    code = np.minimum(np.ceil(scores * N_BINS).astype(int), N_BINS) - 1
    gap = np.bincount(code, rate - scores, N_BINS) / len(scores)
    if metric == "ece":
        return float(np.abs(gap).sum())
    share = np.bincount(code, minlength=N_BINS) / len(scores)
    full = share > 0
    if metric == "rmsce":
        return float(np.sum(gap[full] ** 2 / share[full]) ** 0.5)
    raise ValueError(metric)


def options(metric: str) -> dict[str, Any]:
    return {} if metric == "smece" else {"n_bins": N_BINS}


def one_cell(job: tuple[str, str, int, int, int]) -> tuple[tuple[str, str, int, int, int], dict[str, float]]:
    """Coverage and width of one population, metric and size."""
    metric, name, n, n_sets, n_resamples = job
    population = POPULATIONS[name]
    scores = population.scores()
    rate = population.rate(scores)
    target = truth(metric, scores, rate)
    rng = np.random.default_rng([n, list(POPULATIONS).index(name)])
    ends, values = [], []
    for _ in range(n_sets):
        row = rng.integers(0, len(scores), n)
        outcome = rng.random(n) < rate[row]
        found = believable.interval(
            metric, scores[row], outcome, options=options(metric), n_resamples=n_resamples, random_state=rng
        )
        ends.append((found.low, found.high))
        values.append(found.value)
    low, high = np.array(ends).T
    spread = float(np.diff(np.quantile(values, [0.025, 0.975]))[0])
    return job, {
        "target": target,
        "value": float(np.mean(values)),
        "covers": float(np.mean((low <= target) & (target <= high))),
        "above": float(np.mean(low > target)),
        "below": float(np.mean(high < target)),
        "width": float(np.mean(high - low)),
        "ratio": float(np.mean(high - low) / spread),
    }


def cells(metrics: list[str], n_sets: int, n_resamples: int, names: list[str]) -> Iterator[Any]:
    """All cells, over as many processes as there are cores."""
    jobs = [(m, name, n, n_sets, n_resamples) for m in metrics for name in names for n in SIZES]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(one_cell, jobs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 data sets a cell")
    parser.add_argument("--metric", action="append", choices=["ece", "smece", "rmsce"])
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--resamples", type=int, default=500)
    parser.add_argument("--population", action="append", choices=list(POPULATIONS))
    given = parser.parse_args()
    n_sets = 100 if given.quick else given.sets
    head = ("metric", "population", "n", "true", "mean value", "covers", "above", "below", "width", "/ spread")
    print("{:<6} {:<15} {:>6} {:>8} {:>10} {:>7} {:>6} {:>6} {:>8} {:>8}".format(*head))
    for job, found in cells(
        given.metric or ["ece", "smece"], n_sets, given.resamples, given.population or list(POPULATIONS)
    ):
        limit = 2.0 if POPULATIONS[job[1]].exact else 1.5
        mark = "" if found["covers"] >= 0.93 and found["ratio"] <= limit else "  <--"
        print(
            f"{job[0]:<6} {job[1]:<15} {job[2]:>6} {found['target']:>8.4f} {found['value']:>10.4f} "
            f"{100 * found['covers']:>6.1f}% {100 * found['above']:>5.1f}% {100 * found['below']:>5.1f}% "
            f"{found['width']:>8.4f} {found['ratio']:>8.2f}{mark}",
            flush=True,
        )


if __name__ == "__main__":
    main()
