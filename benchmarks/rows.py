"""Are plans kept? `python -m benchmarks.rows [--quick] [--sets 100]`

For each plan (rows, bins, base rate, AUC), samples are simulated: `noise_floor` of calibrated scores, the interval of
the ECE of a model whose logits are 1.8 times too large and of a perfect model, and the intervals of the slope and of
O:E of a perfect model. For the floors, the planned value over the mean in the samples is printed: 1 is right, 1.1 is
10 % too much. For the intervals, the same with the width that 80 % of the samples keep, and the share of samples that
keep the planned width. Seeds are fixed.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import Any

import numpy as np

import believable
from believable.inference.rows_needed import MIN_EVENTS, SHARE_KEPT, _concentration

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
FLOORS = ("floor", "q95")
WIDTHS = ("ECE", "perfect", "slope", "O:E")
HEAD = (*FLOORS, *WIDTHS, *(f"kept {name}" for name in WIDTHS))


def one_plan(job: tuple[int, tuple[Any, ...], int]) -> tuple[Any, float, list[float]]:
    """Return a plan, the events it expects, and one number for each column."""
    seed, plan, n_sets = job
    n, n_bins, rate, auc, strategy = plan
    k = _concentration(rate, auc)
    rng = np.random.default_rng(seed)
    options = {"n_bins": n_bins, "strategy": strategy}
    floors: list[list[float]] = [[] for _ in FLOORS]
    widths: list[list[float]] = [[] for _ in WIDTHS]
    for _ in range(n_sets):
        p = np.clip(rng.beta(rate * k, (1 - rate) * k, n), 1e-9, 1 - 1e-9)
        y = rng.random(n) < p
        extreme = 1 / (1 + ((1 - p) / p) ** TOO_LARGE)
        floor = believable.noise_floor("ece", p, options=options, n_resamples=500, random_state=rng)
        floors[0].append(floor.mean)
        floors[1].append(floor.q95)
        for column, scores in enumerate((extreme, p)):
            ends = believable.interval("ece", scores, y, options=options, n_resamples=200, random_state=rng)
            widths[column].append(ends.high - ends.low)
        if y.any() and not y.all():
            slope = believable.interval("slope", p, y)
            ratio = believable.observed_expected_ratio(p, y)
            widths[2].append(slope.high - slope.low)
            widths[3].append(ratio.high - ratio.low)
    planned = believable.expected_precision(n, n_bins=n_bins, strategy=strategy, base_rate=rate, auc=auc)
    found = [planned.floor / float(np.mean(floors[0])), planned.floor_q95 / float(np.mean(floors[1]))]
    of_widths = (planned.width, planned.width, planned.slope_width, planned.oe_width)
    for goal, seen in zip(of_widths, widths, strict=True):
        found.append(goal / float(np.quantile(seen or [np.nan], SHARE_KEPT, method="inverted_cdf")))  # may be infinite
    found += [float(np.mean(np.array(seen) <= goal)) for goal, seen in zip(of_widths, widths, strict=True)]
    return plan, n * rate, found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="8 samples of each plan")
    parser.add_argument("--sets", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    jobs = [(seed, plan, 8 if given.quick else given.sets) for seed, plan in enumerate(PLANS)]
    print("{:>6} {:>5} {:<9} {:>5} {:>5} {:>7} ".format("rows", "bins", "", "rate", "AUC", "events"), end="")
    print("".join(f"{name:>13}" for name in HEAD))
    all_found: dict[bool, list[list[float]]] = {True: [], False: []}
    with ProcessPoolExecutor(given.jobs) as pool:
        for plan, events, found in pool.map(one_plan, jobs):
            n, n_bins, rate, auc, strategy = plan
            print(f"{n:>6} {n_bins:>5} {strategy:<9} {rate:>5} {auc:>5} {events:>7.0f} ", end="")
            print("".join(f"{one:>13.2f}" for one in found), flush=True)
            all_found[events >= MIN_EVENTS].append(found)
    for many, rows in all_found.items():
        words = f"{MIN_EVENTS} events or more" if many else "fewer"
        for name, column in zip(HEAD, np.array(rows).T, strict=True):
            mean = f"mean {np.nanmean(column):.2f}"
            print(f"{words}, {name}: {np.nanmin(column):.2f} to {np.nanmax(column):.2f}, {mean}")


if __name__ == "__main__":
    main()
