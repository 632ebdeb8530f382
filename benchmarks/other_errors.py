"""Do intervals cover errors in other libraries' bins, of the sweep and of functions?

`python -m benchmarks.other_errors [--sets 200] [--size 500] [--method percentile]` prints, for each population and
number of rows: how often the nominal 95 % interval contains the population's error, how often it lies above and below,
and its mean width in units of the 2.5-97.5 % spread of the plain value. Seeds are fixed.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import believable

SIZES = (200, 500, 2_000)
FINE = 20_000  # scores that stand for a population
N_BINS = 15


def _logistic(slope: float) -> Callable[[Any], Any]:
    return lambda p: 1 / (1 + np.exp(-slope * np.log(p / (1 - p))))


RATES: dict[str, Callable[[Any], Any]] = {
    "calibrated": lambda p: p,
    "mild": _logistic(0.85),
    "over-confident": _logistic(0.6),
    "shifted": lambda p: np.clip(p - 0.06, 0, 1),
    "wavy": lambda p: np.clip(p + 0.06 * np.sin(15 * p), 0, 1),
}


def own_ece(scores: Any, labels: Any) -> float:
    """The recipe of many tutorials: fifteen bins by truncation."""
    code = np.minimum((scores * N_BINS).astype(int), N_BINS - 1)
    return float(np.abs(np.bincount(code, labels - scores, N_BINS)).sum() / len(scores))


def _binned(scores: Any, rate: Any) -> float:
    return own_ece(scores, rate)


def _quantile(scores: Any, rate: Any) -> float:
    parts = np.array_split(np.argsort(scores), N_BINS)
    return float(sum(abs(np.sum(rate[part] - scores[part])) for part in parts) / len(scores))


def _swept(scores: Any, rate: Any) -> float:
    """The sweep of the population: rates are exact, so that soft labels give it."""
    return believable.sweep_calibration_error(believable.Predictions(scores, rate, soft_labels=True))


# Each is a metric, its options, and the population's value.
ERRORS: dict[str, tuple[Any, dict[str, Any], Callable[[Any, Any], float]]] = {
    "torchmetrics": ("ece", {"convention": "torchmetrics", "n_bins": N_BINS}, _binned),
    "array_split": ("ece", {"convention": "array_split", "n_bins": N_BINS}, _quantile),
    "sweep": ("sweepece", {}, _swept),
    "function": (own_ece, {}, _binned),
}


def one_cell(job: tuple[str, str, int, int, str]) -> tuple[tuple[str, str, int, int, str], list[float]]:
    """Return the true value, coverage, misses above and below, and the relative width."""
    error, name, n, n_sets, method = job
    metric, options, value = ERRORS[error]
    rng = np.random.default_rng([n, list(RATES).index(name)])
    population = np.sort(rng.beta(1.2, 1.2, FINE).clip(1e-6, 1 - 1e-6))
    target = value(population, RATES[name](population))
    found = []
    for _ in range(n_sets):
        p = rng.choice(population, n)
        y = (rng.random(n) < RATES[name](p)).astype(int)
        one = believable.interval(metric, p, y, options=options, method=method, n_resamples=800, random_state=rng)
        found.append((one.low, one.high, one.value))
    low, high, plain = np.array(found).T
    spread = float(np.diff(np.quantile(plain, [0.025, 0.975]))[0])
    above, below = float(np.mean(low > target)), float(np.mean(high < target))
    return job, [target, 1 - above - below, above, below, float(np.mean(high - low)) / spread]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--size", action="append", type=int)
    parser.add_argument("--error", action="append", choices=list(ERRORS))
    parser.add_argument("--method", default="auto", choices=["auto", "percentile"])
    given = parser.parse_args()
    jobs = [
        (error, name, n, given.sets, given.method)
        for error in given.error or ERRORS
        for n in given.size or SIZES
        for name in RATES
    ]
    print("error        population          n     true  covers  above  below  width / spread")
    with ProcessPoolExecutor(int(os.environ.get("JOBS", os.cpu_count() or 1))) as pool:
        for (error, name, n, *_), (target, covers, above, below, width) in pool.map(one_cell, jobs):
            print(
                f"{error:<12} {name:<15} {n:>5} {target:>8.4f} {100 * covers:>6.1f}% {100 * above:>5.1f}% "
                f"{100 * below:>5.1f}% {width:>8.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
