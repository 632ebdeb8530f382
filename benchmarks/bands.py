"""Do simultaneous bands contain the whole curve? `python -m benchmarks.bands [--sets 400]`

For each population and number of rows: how often the nominal 95 % band contains the true curve at every score, the
simultaneous intervals of ten bins the true mean rate of every bin, and how often pointwise bands do. Seeds are fixed.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import believable

SIZES = (100, 500, 2_000, 10_000)
Rates = Callable[[Any], Any]


def _slope(slope: float, shift: float = 0.0) -> Rates:
    return lambda p: 1 / (1 + np.exp(-(slope * np.log(p / (1 - p)) + shift)))


# Scores, and the true rate at each; isotonic, as the band of the curve assumes.
POPULATIONS: dict[str, tuple[Callable[[Any, int], Any], Rates]] = {
    "calibrated": (lambda rng, n: rng.random(n), lambda p: p),
    "over-confident": (lambda rng, n: rng.beta(0.5, 0.5, n).clip(1e-9, 1 - 1e-9), _slope(0.5)),
    "rare": (lambda rng, n: rng.beta(0.6, 14, n), lambda p: np.minimum(1.5 * p, 1)),
    "flat": (lambda rng, n: rng.random(n), lambda p: np.full(len(p), 0.3)),
    "steps": (lambda rng, n: rng.random(n), lambda p: np.select([p < 0.3, p < 0.7], [0.1, 0.5], 0.9)),
    "few scores": (lambda rng, n: rng.integers(0, 11, n) / 10, lambda p: p**2),
}


def one_cell(job: tuple[str, int, int]) -> tuple[str, int, list[float]]:
    """Return the share of data sets in which each band holds everywhere, and the mean width of the first."""
    name, n, n_sets = job
    scores, rate = POPULATIONS[name]
    rng = np.random.default_rng([n, list(POPULATIONS).index(name)])
    held = []
    for _ in range(n_sets):
        p = scores(rng, n)
        true = rate(p)
        y = rng.random(n) < true
        row = []
        curves = [
            believable.corp_curve(p, y, band="simultaneous"),
            believable.corp_curve(p, y, band="confidence", n_resamples=100, random_state=rng),
        ]
        for curve in curves:
            at = rate(curve.x)
            row.append(bool(((curve.low <= at + 1e-12) & (at - 1e-12 <= curve.high)).all()))
        for band in ("simultaneous", "pointwise"):
            table = believable.reliability_table(p, y, band=band)
            full = np.flatnonzero(table.n)
            code = np.clip(np.ceil(p * 10 - 1e-9).astype(int) - 1, 0, 9)
            at = np.array([true[code == b].mean() for b in full])
            row.append(bool(((table.low[full] <= at + 1e-12) & (at - 1e-12 <= table.high[full])).all()))
        held.append([*row, float(np.mean(curves[0].high - curves[0].low))])
    return name, n, np.mean(held, axis=0).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--size", action="append", type=int)
    given = parser.parse_args()
    jobs = [(name, n, given.sets) for n in given.size or SIZES for name in POPULATIONS]
    print("population          n  simultaneous curve (mean width)  pointwise curve  simultaneous bins  pointwise bins")
    with ProcessPoolExecutor(int(os.environ.get("JOBS", os.cpu_count() or 1))) as pool:
        for name, n, (curve, point, bins, wilson, width) in pool.map(one_cell, jobs):
            print(
                f"{name:<15} {n:>6} {100 * curve:>15.1f} % ({width:.3f}) {100 * point:>21.1f} % {100 * bins:>16.1f} % "
                f"{100 * wilson:>13.1f} %",
                flush=True,
            )


if __name__ == "__main__":
    main()
