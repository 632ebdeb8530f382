"""Do intervals cover where data are few? `python -m benchmarks.small_samples [--metric auc] [--sets 400]`

Few rows, few events, few clusters. For each population and metric: how often the nominal 95 % interval contains the
population's value, how often it lies above and below it, and its median width in units of the 2.5-97.5 % spread of the
estimate. A population's value is that of a fine grid of scores with the rates that outcomes have there. Seeds are
fixed.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

import numpy as np

import believable
from believable.errors import BelievableError

FINE = 20_000  # scores that stand for a population
EFFECTS = 41  # nodes of the integral over the effects of clusters
TARGET, WIDEST = 0.93, 1.5


@dataclass(frozen=True)
class Population:
    """Beta(a, b) scores, the logit of the rate as a line in the logit of the score, and perhaps clusters.

    Attributes
    ----------
    n : int
        Number of rows.
    a, b : float
        Parameters of the scores.
    slope : float
        Slope of the rates' logits; 1 is perfect calibration.
    wave : float
        Height of a wave added to the rates, so that they are no longer a line.
    n_clusters : int
        Number of clusters; 0 if rows are independent.
    effect : float
        Standard deviation of the clusters' common shift of the logits.
    unequal : bool
        Whether the sizes of clusters are geometric instead of equal.
    """

    n: int
    a: float = 2.0
    b: float = 2.0
    slope: float = 1.0
    wave: float = 0.0
    n_clusters: int = 0
    effect: float = 0.7
    unequal: bool = False

    def rate(self, p: Any, shift: Any = 0.0) -> Any:
        """Return the rates at these scores, in clusters with this shift."""
        rate = 1 / (1 + np.exp(-(self.slope * np.log(p / (1 - p)) + shift)))
        return np.clip(rate + self.wave * np.sin(6 * np.pi * p), 0, 1)

    def population(self) -> tuple[Any, Any]:
        """Return the fine grid of scores, and the rate at each."""
        from scipy.stats import beta

        p = _inside(beta(self.a, self.b).ppf((np.arange(FINE) + 0.5) / FINE))
        if not self.n_clusters:
            return p, self.rate(p)
        node, weight = np.polynomial.hermite_e.hermegauss(EFFECTS)
        return p, sum(w * self.rate(p, self.effect * x) for x, w in zip(node, weight / weight.sum(), strict=True))

    def draw(self, rng: np.random.Generator) -> tuple[Any, Any, Any]:
        """Draw scores, outcomes and clusters (None where rows are independent)."""
        if not self.n_clusters:
            p = _inside(rng.beta(self.a, self.b, self.n))
            return p, rng.random(self.n) < self.rate(p), None
        mean = self.n // self.n_clusters
        size = rng.geometric(1 / mean, self.n_clusters) if self.unequal else np.full(self.n_clusters, mean)
        cluster = np.repeat(np.arange(self.n_clusters), size)
        p = _inside(rng.beta(self.a, self.b, len(cluster)))
        shift = rng.normal(0, self.effect, self.n_clusters)[cluster]
        return p, rng.random(len(p)) < self.rate(p, shift), cluster


def _inside(p: Any) -> Any:
    return np.clip(p, 1e-9, 1 - 1e-9)


POPULATIONS = {
    "50 rows": Population(50),
    "50 rows, over-confident": Population(50, 0.5, 0.5, slope=0.6),
    "50 rows, nearly certain": Population(50, 0.15, 0.15),
    "100 rows": Population(100),
    "300 rows, wavy": Population(300, 1, 1, wave=0.15),
    "12 events of 300": Population(300, 0.6, 14.4),
    "10 events of 1000": Population(1000, 0.5, 49.5),
    "10 events, high AUC": Population(1000, 0.1, 9.9),
    "30 events of 3000": Population(3000, 0.5, 49.5),
    "20 events of 5000": Population(5000, 0.5, 124.5),
    "8 clusters of 50": Population(400, n_clusters=8),
    "8 unequal clusters": Population(400, n_clusters=8, unequal=True),
    "8 clusters, over-confident": Population(400, 0.5, 0.5, slope=0.6, n_clusters=8, effect=1.0),
    "20 clusters of 25": Population(500, n_clusters=20),
    "20 unequal clusters": Population(500, n_clusters=20, unequal=True),
    "60 clusters of 10": Population(600, n_clusters=60),
    "20 clusters, 2 % events": Population(1000, 0.5, 24.5, n_clusters=20),
}


def slope_by_wald(p: Any, y: Any, _: Any) -> tuple[float, float, float]:
    """Return the Wald interval of the slope, and the slope."""
    found = believable.calibration_slope_intercept(p, y).slope
    return found.low, found.high, found.value


def intercept_by(how: str) -> Callable[[Any, Any, Any], tuple[float, float, float]]:
    """Return a function for the interval of the intercept, and the intercept."""

    def intercept(p: Any, y: Any, _: Any) -> tuple[float, float, float]:
        found = believable.calibration_slope_intercept(p, y, interval=how).intercept  # type: ignore[arg-type]
        return found.low, found.high, found.value

    return intercept


def shifted(p: Any, by: float) -> Any:
    """Return scores whose logits are shifted."""
    return 1 / (1 + (1 - p) / p * np.exp(-by))


def difference(p: Any, y: Any, cluster: Any) -> tuple[float, float, float]:
    """Return the interval of the difference between two models in Brier score, and the difference."""
    found = believable.compare(shifted(p, 0.3), shifted(p, -0.2), y, clusters=cluster, n_resamples=500, random_state=0)
    return found.low, found.high, found.difference


def true_difference(p: Any, y: Any, w: Any) -> float:
    """Return the difference between the two models in the population."""
    one, other = (believable.brier_score(shifted(p, by), y, sample_weight=w) for by in (0.3, -0.2))
    return float(one - other)


# Estimates that come with an interval of their own; the second is how the value of the population is computed.
ESTIMATES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "compare, brier": (difference, true_difference),
    "slope, wald": (slope_by_wald, lambda p, y, w: believable.calibration_slope_intercept(p, y, sample_weight=w)),
    **{
        f"intercept, {how}": (
            intercept_by(how),
            lambda p, y, w: believable.calibration_slope_intercept(p, y, sample_weight=w).intercept,
        )
        for how in ("wald", "profile")
    },
}
KNOW_CLUSTERS = ("compare, brier",)
METRICS = ("brier", "nll", "bss", "acc", "auc", "oe", "slope", "citl", "conf", "sharpness", "entropy")
ERRORS = ("ece", "smece", "dce", "ks", "ici")


def truth(metric: str, population: Population) -> float:
    """Return the value of the population: every score occurs with both outcomes, weighted by its rate."""
    p, rate = population.population()
    scores, outcome, weight = np.concatenate([p, p]), np.repeat([1, 0], len(p)), np.concatenate([rate, 1 - rate])
    kept = weight > 0
    arrays = scores[kept], outcome[kept], weight[kept]
    if metric in ESTIMATES:
        return float(ESTIMATES[metric][1](*arrays))
    row = believable.metrics.find_metric(metric)
    if row.target:
        row = believable.metrics.METRICS[row.target]
    return float(row.function(*arrays[:2], sample_weight=arrays[2]))


def one_cell(job: tuple[str, str, int, int, int]) -> tuple[tuple[str, str, int, int, int], dict[str, float]]:
    """Return coverage and width for one metric and population."""
    metric, name, n_sets, n_resamples, seed = job
    population = POPULATIONS[name]
    target = truth(metric, population)
    rng = np.random.default_rng([seed, list(POPULATIONS).index(name)])
    ends, values, refused = [], [], 0
    for _ in range(n_sets):
        p, y, cluster = population.draw(rng)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if metric in ESTIMATES:
                    low, high, value = ESTIMATES[metric][0](p, y, cluster)
                else:
                    found = believable.interval(
                        metric, p, y, clusters=cluster, n_resamples=n_resamples, random_state=int(rng.integers(2**31))
                    )
                    low, high, value = found.low, found.high, found.value
        except BelievableError:
            refused += 1
            continue
        ends.append((low, high))
        values.append(value)
    low, high = np.array(ends).T
    spread = float(np.subtract(*np.quantile(values, [0.975, 0.025], method="inverted_cdf")))
    tiny = 1e-9 * abs(target)  # the grid's sums are rounded
    width = float(np.median(high - low))
    return job, {
        "target": target,
        "covers": float(np.mean((low <= target + tiny) & (target - tiny <= high))),
        "above": float(np.mean(low > target + tiny)),
        "below": float(np.mean(high < target - tiny)),
        "width": width,
        "ratio": width / spread if 0 < spread < np.inf else np.nan,
        "refused": refused / n_sets,
    }


def cells(jobs: list[tuple[str, str, int, int, int]], n_processes: int | None) -> Iterator[Any]:
    """Yield the cells as they are done."""
    with ProcessPoolExecutor(n_processes) as pool:
        for done in as_completed([pool.submit(one_cell, job) for job in jobs]):
            yield done.result()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--metric", action="append", choices=[*METRICS, *ERRORS, *ESTIMATES])
    parser.add_argument("--population", action="append", choices=list(POPULATIONS))
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--resamples", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    jobs = [
        (metric, name, given.sets, given.resamples, given.seed)
        for metric in given.metric or [*METRICS, *ERRORS, *ESTIMATES]
        for name in given.population or POPULATIONS
        if metric not in ESTIMATES or metric in KNOW_CLUSTERS or not POPULATIONS[name].n_clusters
    ]
    start = time.monotonic()
    head = ("metric", "population", "value", "covers", "above", "below", "width", "/ spread", "refused")
    print("{:<19} {:<27} {:>8} {:>7} {:>6} {:>6} {:>8} {:>8} {:>7}".format(*head))
    for job, found in cells(jobs, given.jobs):
        mark = "" if found["covers"] >= TARGET and not found["ratio"] > WIDEST else "  <--"
        print(
            f"{job[0]:<19} {job[1]:<27} {found['target']:>8.4f} {100 * found['covers']:>6.1f}% "
            f"{100 * found['above']:>5.1f}% {100 * found['below']:>5.1f}% {found['width']:>8.4f} "
            f"{found['ratio']:>8.2f} {100 * found['refused']:>6.1f}%{mark}",
            flush=True,
        )
    print(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
