"""Do the intervals of `compare` cover? `python -m benchmarks.differences [--metric ece] [--sets 200] [--size 500]`

For pairs of models whose true errors are known: how often the nominal 95 % interval holds the true difference of the
errors, how often it lies above and below it, how often it excludes 0, and its mean width in units of the 2.5-97.5 %
spread of the plain difference. Seeds are fixed.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

import numpy as np

import believable
from believable import _kernels

N_BINS = 10
SIZES = (300, 500, 1_000, 4_000)
FINE = 200_000  # rows that stand for a population
METRICS = ("ece", "rmsce", "smece")


def _logit(p: Any) -> Any:
    return np.log(p / (1 - p))


def _logistic(z: Any) -> Any:
    return 1 / (1 + np.exp(-z))


def _beta(a: float, b: float, rng: Any) -> Any:
    return np.clip(rng.beta(a, b, FINE), 1e-6, 1 - 1e-6)


def _noisy_twins(rng: Any) -> Any:
    rate = _beta(2, 2, rng)
    a, b = (_logistic(1.3 * _logit(rate) + 0.3 * rng.standard_normal(FINE)) for _ in range(2))
    return rate, a, b


def _two_features(rng: Any) -> Any:
    x, z = rng.standard_normal((2, FINE))
    fine = np.linspace(-8, 8, 401)
    weight = np.exp(-(fine**2) / 2) / np.exp(-(fine**2) / 2).sum()
    at = np.linspace(-6, 6, 241)
    mean = (weight * _logistic(at[:, None] + fine)).sum(axis=1)  # E(y | one feature)
    return _logistic(x + z), np.interp(x, at, mean), np.interp(z, at, mean)


def _of_rate(
    scores: tuple[float, float], first: Callable[[Any], Any], second: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    def drawn(rng: Any) -> Any:
        rate = _beta(*scores, rng)
        return rate, first(rate), second(rate)

    return drawn


# Each returns the true rates, and the scores of two models.
PAIRS: dict[str, Callable[[Any], Any]] = {
    "same model twice, noisy": _noisy_twins,
    "both calibrated": _two_features,
    "shifted up and down": _of_rate((2, 2), lambda r: np.clip(r + 0.08, 0, 1), lambda r: np.clip(r - 0.08, 0, 1)),
    "logits up and down": _of_rate((1, 1), lambda r: _logistic(_logit(r) + 0.3), lambda r: _logistic(_logit(r) - 0.3)),
    "calibrated, shifted": _of_rate((2, 2), lambda r: r, lambda r: np.clip(r + 0.052, 0, 1)),
    "calibrated, a little sure": _of_rate((1, 1), lambda r: r, lambda r: _logistic(1.25 * _logit(r))),
    "calibrated, too sure": _of_rate((1, 1), lambda r: r, lambda r: _logistic(1.8 * _logit(r))),
    "sure and surer": _of_rate((2, 2), lambda r: _logistic(1.4 * _logit(r)), lambda r: _logistic(2 * _logit(r))),
    "rare, too low and too high": _of_rate((0.6, 14), lambda r: 0.7 * r, lambda r: np.minimum(1.6 * r, 1)),
    "wavy and too sure": _of_rate(
        (1, 1), lambda r: np.clip(r + 0.06 * np.sin(15 * r), 0, 1), lambda r: _logistic(1.5 * _logit(r))
    ),
}


def truth(metric: str, scores: Any, rate: Any) -> float:
    """The error of the population."""
    if metric == "smece":
        order = np.argsort(scores)
        return float(_kernels.smooth_error(scores[order], (rate - scores)[order] / len(scores), 1.0))
    code = np.clip(np.ceil(scores * N_BINS).astype(int) - 1, 0, N_BINS - 1)
    gap, share = np.bincount(code, rate - scores) / len(scores), np.bincount(code) / len(scores)
    if metric == "ece":
        return float(np.abs(gap).sum())
    return float(np.sum(gap[share > 0] ** 2 / share[share > 0]) ** 0.5)


Job = tuple[str, str, int, int, int]


def one_part(job: Job) -> tuple[Job, float, Any]:
    """Return the true difference, and the ends, p-value and difference of each data set."""
    metric, name, n, part, n_sets = job
    rate, a, b = PAIRS[name](np.random.default_rng(list(PAIRS).index(name)))
    target = truth(metric, a, rate) - truth(metric, b, rate)
    rng = np.random.default_rng([n, part, list(PAIRS).index(name)])
    found = []
    for _ in range(n_sets):
        row = rng.integers(0, FINE, n)
        y = rng.random(n) < rate[row]
        one = believable.compare(a[row], b[row], y, metric, n_resamples=400, random_state=rng)
        found.append((one.low, one.high, one.p_value, one.difference))
    return job, target, np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--metric", action="append", choices=METRICS)
    parser.add_argument("--pair", action="append", choices=list(PAIRS))
    parser.add_argument("--size", action="append", type=int)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--parts", type=int, default=4, help="into how many jobs the sets of a cell are divided")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this time, and print what there is")
    given = parser.parse_args()
    jobs = [
        (metric, name, n, part, given.sets // given.parts)
        for part in range(given.parts)
        for metric in given.metric or METRICS
        for name in given.pair or PAIRS
        for n in given.size or SIZES
    ]
    started, parts, targets = time.monotonic(), {}, {}
    with ProcessPoolExecutor(int(os.environ.get("JOBS", os.cpu_count() or 1))) as pool:
        waiting = [pool.submit(one_part, job) for job in jobs]
        try:
            for done in as_completed(waiting, timeout=given.seconds):
                job, target, found = done.result()
                parts.setdefault(job[:3], []).append(found)
                targets[job[:3]] = target
        except TimeoutError:
            print("out of time")
        for process in list(pool._processes.values()):
            if time.monotonic() - started >= given.seconds:
                process.kill()
    print(f"{'metric':<6} {'pair':<27} {'n':>5} {'sets':>5} {'true':>8} covers  above  below  excl. 0  width / spread")
    for key in sorted(parts, key=lambda key: (METRICS.index(key[0]), list(PAIRS).index(key[1]), key[2])):
        low, high, p, difference = np.concatenate(parts[key]).T
        target = targets[key]
        spread = float(np.diff(np.quantile(difference, [0.025, 0.975]))[0])
        assert np.array_equal(p < 0.05, (low > 0) | (high < 0))
        print(
            f"{key[0]:<6} {key[1]:<27} {key[2]:>5} {len(low):>5} {target:>+8.4f} "
            f"{100 * np.mean((low <= target) & (target <= high)):>5.1f}% {100 * np.mean(low > target):>5.1f}% "
            f"{100 * np.mean(high < target):>5.1f}% {100 * np.mean(p < 0.05):>7.1f}% {np.mean(high - low):>7.4f} "
            f"{np.mean(high - low) / spread:>6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
