"""Do the tests of calibration hold their level, and what do they see? `python -m benchmarks.tests_level [--quick]`.

Scores are drawn, labels at the rates of the scores, and the share of data sets that a test rejects at 5 % is printed
with its Monte Carlo error: it should be 5 % or less. Then the same for labels at the rates sigmoid(0.6 logit p), an
overconfident model: the more the better.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from functools import partial
from math import sqrt
from typing import Any

import numpy as np

from benchmarks.calls import load
from benchmarks.data import Array
from benchmarks.table import Table

LEVEL, SLOPE = 0.05, 0.6
SIZES = (200, 2000)
HEAPS = np.array([0.05, 0.2, 0.4, 0.5, 0.7, 0.95])

SCORES: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "uniform": lambda rng, n: rng.random(n),
    "Beta(2, 2)": lambda rng, n: rng.beta(2, 2, n),
    "rare, Beta(0.6, 14)": lambda rng, n: np.maximum(rng.beta(0.6, 14, n), 1e-12),
    "six values": lambda rng, n: rng.choice(HEAPS, n),
}


def tests(n_resamples: int) -> dict[str, Callable[[Array, Array, Any], float | None]]:
    """Each test as a function of scores, labels and a generator, to its p-value; None where it is undefined."""

    def p_value(name: str, p: Array, y: Array, rng: Any, draws: bool = False, **choices: Any) -> float | None:
        inference, errors = load("believable.inference"), load("believable.errors")
        if draws:
            choices |= {"n_resamples": n_resamples, "random_state": rng}
        try:
            return float(getattr(inference, name)(p, y, **choices).p_value)
        except errors.UndefinedError:
            return None

    found = {}
    for title, name in (("Kolmogorov–Smirnov", "kolmogorov_smirnov_test"), ("Kuiper", "kuiper_test")):
        found[f"{title}, asymptotic"] = partial(p_value, name, method="asymptotic")
        found[f"{title}, resampling"] = partial(p_value, name, method="resampling", draws=True)
    found["kernel, block"] = partial(p_value, "kernel_calibration_test", method="block")
    found["kernel, resampling"] = partial(p_value, "kernel_calibration_test", method="resampling", draws=True)
    found["Hosmer–Lemeshow, df = G"] = partial(p_value, "hosmer_lemeshow")
    found["Hosmer–Lemeshow, df = G - 2"] = partial(p_value, "hosmer_lemeshow", in_sample=True)
    found["Hosmer–Lemeshow, safe"] = lambda p, y, rng: p_value("safe_hosmer_lemeshow", p, y, rng, random_state=rng)
    found["Spiegelhalter"] = partial(p_value, "spiegelhalter")
    found["Cox"] = partial(p_value, "cox_test")
    return found


def table(title: str, n: int, slope: float, n_sets: int, n_resamples: int) -> Table:
    """Share of data sets rejected, a row for each test, a column for each kind of score."""
    rng = np.random.default_rng(2024)
    asked = tests(n_resamples)
    rejected = {name: dict.fromkeys(SCORES, 0) for name in asked}
    undefined: dict[str, int] = {}
    for scores, draw in SCORES.items():
        for _ in range(n_sets):
            p = draw(rng, n)
            y = (rng.random(n) < 1 / (1 + ((1 - p) / p) ** slope)).astype(np.int64)
            for name, test in asked.items():
                found = test(p, y, rng)
                rejected[name][scores] += found is not None and found <= LEVEL
                undefined[name] = undefined.get(name, 0) + (found is None)
    rows = [(name, *(_share(count, n_sets) for count in counts.values())) for name, counts in rejected.items()]
    notes = [f"{n_sets} data sets, {n_resamples} replicates in each resampling; per cent, ± one Monte Carlo error"]
    notes += [f"{name} was undefined for {count} data sets" for name, count in undefined.items() if count]
    return Table(f"{title}, n={n:,}", ("rejected at 5 %", *SCORES), rows, notes)


def _share(count: int, n_sets: int) -> str:
    share = count / n_sets
    return f"{100 * share:.1f} ± {100 * sqrt(share * (1 - share) / n_sets):.1f}"


def main() -> None:
    """Print four tables: the level and the power at two sizes."""
    parser = ArgumentParser("python -m benchmarks.tests_level", description="Level and power of tests of calibration.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the data sets")
    parser.add_argument("--markdown", action="store_true", help="print markdown")
    arguments = parser.parse_args()
    n_sets, n_resamples = (100, 99) if arguments.quick else (1000, 199)
    for title, slope in (("Level: calibrated scores", 1.0), (f"Power: rates sigmoid({SLOPE} logit p)", SLOPE)):
        for n in SIZES:
            made = table(title, n, slope, n_sets, n_resamples)
            print(made.markdown() if arguments.markdown else made.plain(), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
