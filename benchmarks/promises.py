"""Does `calibrate` keep its promises? `python -m benchmarks.promises [--rows N] [--rule average|proven]`.

Many samples are drawn from each of ten populations. `calibrate` fits a map to each sample and states a gain in log loss
with its 95 % interval. The true gain of the map that it returns is then computed on 20,000 further rows, whose
probabilities are known. For each population this prints, over the samples that were recalibrated: their share, the mean
gain promised and realised, the difference (bias) with its Monte Carlo standard error, and how often the interval
contains the true gain, ends below it, and begins above it. Seeds are fixed; two minutes on two cores.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from believable._types import Array

N_SAMPLES = 150
N_NEW = 20_000  # rows on which the true gain is computed
LARGEST = 700.0  # exp of more overflows
TINY = 1e-300  # in place of a probability that is rounded to 0
FEWEST_OF_A_CLASS = 5  # a sample with fewer is left out
SAMPLES_AT_A_TIME = 5  # for each process


@dataclass(frozen=True)
class Population:
    """Logits of a model, drawn at random, the true probability at each logit, and the number of rows of a sample."""

    logits: Callable[[np.random.Generator, int], Array]
    rate: Callable[[Array], Array]
    n: int


class Promise(NamedTuple):
    """What `calibrate` promised for one sample, and the gain that its map has."""

    recalibrated: bool
    gain: float
    low: float
    high: float
    realised: float


def sigmoid(z: Array) -> Array:
    """The probability at a logit."""
    return np.asarray(1 / (1 + np.exp(-np.clip(z, -LARGEST, LARGEST))))


def _normal(spread: float, middle: float = 0.0) -> Callable[[np.random.Generator, int], Array]:
    return lambda rng, n: middle + spread * rng.normal(size=n)


def _linear(slope: float, shift: float = 0.0) -> Callable[[Array], Array]:
    return lambda z: sigmoid(slope * z + shift)


def _steps(z: Array) -> Array:
    return np.array([0.1, 0.25, 0.6, 0.8])[np.searchsorted([-1, 0, 1], z, side="right")]


POPULATIONS = {
    "heavy tails": Population(lambda rng, n: rng.standard_t(2, size=n), _linear(0.6), 300),
    "narrow": Population(_normal(0.3), _linear(1.8, 0.1), 300),
    "rare": Population(_normal(1, -5), _linear(0.9, -0.3), 5000),
    "over-confident": Population(_normal(2), _linear(1 / 2), 300),
    "over-confident, less": Population(_normal(2), _linear(1 / 1.5), 1000),
    "calibrated": Population(_normal(1), sigmoid, 300),
    "calibrated, wide": Population(_normal(1.5), sigmoid, 1000),
    "shifted": Population(_normal(1), _linear(1, -0.5), 300),
    "steps": Population(_normal(1), _steps, 1000),
    "clumped": Population(lambda rng, n: 3 * np.round(2 * rng.normal(size=n)), _linear(1 / 4), 400),
}


def expected_log_loss(p: Array, truth: Array) -> float:
    """The mean log loss of probabilities over outcomes that occur at the true rates."""
    event, none = np.log(np.maximum(p, TINY)), np.log(np.maximum(1 - p, TINY))
    return float(-np.mean(truth * event + (1 - truth) * none))


def promise(sample: int, name: str, n: int, rule: Any, n_new: int = N_NEW) -> Promise | None:
    """Draw a sample, recalibrate it, and find the true gain of the map; None if a class is too rare."""
    import believable

    population = POPULATIONS[name]
    rng = np.random.default_rng([crc32(name.encode()), sample])
    z = population.logits(rng, n)
    y = (rng.random(n) < population.rate(z)).astype(int)
    if min(y.sum(), n - y.sum()) < FEWEST_OF_A_CLASS:
        return None
    found = believable.calibrate(sigmoid(z), y, rule=rule, progress=False)
    gain = found.improvement.gains["log_loss"]
    new = population.logits(rng, n_new)
    p, truth = sigmoid(new), population.rate(new)
    realised = expected_log_loss(p, truth) - expected_log_loss(found.transform(p), truth)
    return Promise(found.method != "nothing", gain.value, gain.low, gain.high, realised)


def kept(promises: list[Promise]) -> dict[str, float]:
    """How the promises were kept, over the samples that were recalibrated."""
    moved = [each for each in promises if each.recalibrated]
    if not moved:
        return {"recalibrated": 0.0}
    gain, low, high, realised = np.array([each[1:] for each in moved]).T
    bias = gain - realised
    return {
        "recalibrated": len(moved) / len(promises),
        "promised": float(gain.mean()),
        "realised": float(realised.mean()),
        "bias": float(bias.mean()),
        "error": float(bias.std(ddof=1) / np.sqrt(len(bias))) if len(bias) > 1 else float("nan"),
        "covers": float(np.mean((low <= realised) & (realised <= high))),
        "below": float(np.mean(high < realised)),
        "above": float(np.mean(low > realised)),
    }


def line(name: str, n: int, found: dict[str, float]) -> str:
    """A row of the table."""
    start = f"{name:<21} {n:>5,} {100 * found['recalibrated']:>10.0f}%"
    if "bias" not in found:
        return start
    values = [f"{found[key]:>9.4f}" for key in ("promised", "realised")]
    bias = f"{found['bias']:>+9.4f} ± {found['error']:.4f}"
    return " ".join([start, *values, bias, *(f"{100 * found[key]:>6.1f}%" for key in ("covers", "below", "above"))])


def main() -> None:
    """Read the arguments, simulate, print."""
    parser = ArgumentParser("python -m benchmarks.promises", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, metavar="N", help="rows of each sample, for all populations")
    parser.add_argument("--rule", choices=["average", "proven"], default="average", help="what calibrate returns")
    parser.add_argument("--samples", type=int, default=N_SAMPLES, help=f"of each population, {N_SAMPLES} by default")
    asked = parser.parse_args()
    head = ("population", "rows", "recalibrated", "promised", "realised", "bias ± error", "covers", "below", "above")
    print("{:<21} {:>5} {:>11} {:>9} {:>9} {:>18} {:>7} {:>7} {:>7}".format(*head).rstrip())
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BELIEVABLE_THREADS"), "1")  # in each
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for name, population in POPULATIONS.items():
            n = asked.rows or population.n
            made = pool.map(
                partial(promise, name=name, n=n, rule=asked.rule), range(asked.samples), chunksize=SAMPLES_AT_A_TIME
            )
            print(line(name, n, kept([each for each in made if each is not None])), flush=True)


if __name__ == "__main__":
    main()
