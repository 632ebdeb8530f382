"""Does `expected_precision` foretell what samples show? `python -m benchmarks.rows [--quick] [--sets 100]`

For each plan (rows, bins, base rate, AUC) data sets are simulated: `noise_floor` of calibrated scores, the width of
`interval` of the ECE for a perfect model and for one whose logits are 1.8 times too large, and the widths of the
intervals of the slope and of O:E of a perfect model. Printed is foretold over simulated: 1 is right, 1.1 is 10 % too
much. Seeds are fixed.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import Any

import numpy as np

import believable
from believable.inference.rows_needed import FEW, _concentration

TOO_LARGE = 1.8
PLANS = [
    (n, n_bins, rate, auc, strategy)
    for (rate, auc), n, n_bins, strategy in product(
        ((0.5, 0.8), (0.2, 0.7), (0.2, 0.9), (0.05, 0.8), (0.01, 0.8)),
        (300, 1_000, 10_000),
        (5, 15),
        ("uniform", "quantile"),
    )
]
PLANS += [  # where it is hardest: rare events, and just enough of them
    (n, 10, rate, 0.8, strategy)
    for (n, rate), strategy in product(((1_500, 0.01), (3_000, 0.01), (15_000, 0.001)), ("uniform", "quantile"))
]
HEAD = ("floor", "q95", "width", "perfect", "slope", "O:E")


def one_plan(job: tuple[int, tuple[Any, ...], int]) -> tuple[Any, float, list[float]]:
    """A plan, the events it expects, and foretold over simulated for each column."""
    seed, plan, n_sets = job
    n, n_bins, rate, auc, strategy = plan
    k = _concentration(rate, auc)
    rng = np.random.default_rng(seed)
    options = {"n_bins": n_bins, "strategy": strategy}
    found: list[list[float]] = [[] for _ in HEAD]
    for _ in range(n_sets):
        p = np.clip(rng.beta(rate * k, (1 - rate) * k, n), 1e-9, 1 - 1e-9)
        y = rng.random(n) < p
        logit = np.log(p / (1 - p))
        extreme = 1 / (1 + np.exp(-TOO_LARGE * logit))
        floor = believable.noise_floor("ece", p, options=options, n_resamples=500, random_state=rng)
        found[0].append(floor.mean)
        found[1].append(floor.q95)
        for column, scores in ((2, extreme), (3, p)):
            ends = believable.interval("ece", scores, y, options=options, n_resamples=200, random_state=rng)
            found[column].append(ends.high - ends.low)
        if y.any() and not y.all():
            slope = believable.calibration_slope_intercept(p, y)
            ratio = believable.observed_expected_ratio(p, y)
            found[4].append(slope.slope.high - slope.slope.low)
            found[5].append(ratio.high - ratio.low)
    planned = believable.expected_precision(n, n_bins=n_bins, strategy=strategy, base_rate=rate, auc=auc)
    foretold = (planned.floor, planned.floor_q95, planned.width, planned.width, planned.slope_width, planned.oe_width)
    seen = [*map(np.mean, found[:4]), *(np.median(one or np.nan) for one in found[4:])]  # those two may be infinite
    return plan, n * rate, [float(value / one) for value, one in zip(foretold, seen, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="8 data sets a plan")
    parser.add_argument("--sets", type=int, default=40)
    given = parser.parse_args()
    jobs = [(seed, plan, 8 if given.quick else given.sets) for seed, plan in enumerate(PLANS)]
    print("{:>6} {:>5} {:<9} {:>5} {:>5} {:>7} ".format("rows", "bins", "", "rate", "AUC", "events"), end="")
    print("".join(f"{name:>9}" for name in HEAD))
    all_found: dict[bool, list[list[float]]] = {True: [], False: []}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for plan, events, ratios in pool.map(one_plan, jobs):
            n, n_bins, rate, auc, strategy = plan
            print(f"{n:>6} {n_bins:>5} {strategy:<9} {rate:>5} {auc:>5} {events:>7.0f} ", end="")
            print("".join(f"{ratio:>9.2f}" for ratio in ratios), flush=True)
            all_found[events >= FEW].append(ratios)
    for many, rows in all_found.items():
        words = f"{FEW} events or more" if many else "fewer"
        for name, column in zip(HEAD, np.array(rows).T, strict=True):
            print(f"{words}, {name}: {column.min():.2f} to {column.max():.2f}, middle {np.median(column):.2f}")


if __name__ == "__main__":
    main()
