"""How often intervals of a calibration map hold the true rate: `python -m benchmarks.rate_interval`.

Scores are uniform, and rates a function of them. At the scores 0.1, 0.2, ..., 0.9, the table gives the share of
intervals of 95 % that hold the true rate, on average and at the worst of the nine places, and their average width: of
`rate_interval`; of `VennAbers`, whose pair [p0, p1] is no such interval; and, with `--bootstrap`, of 100 bootstrap
samples of Platt scaling and of isotonic regression.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

from believable.recalibrate import IsotonicCalibration, PlattScaling, VennAbers, rate_interval

N_SETS, N_BOOTSTRAP = 200, 100
RATES = {
    "calibrated": lambda p: p,
    "over-confident": lambda p: 1 / (1 + np.exp(-0.4 * np.log(p / (1 - p)))),
    "bent": lambda p: p**3,
    "steps": lambda p: np.where(p < 0.35, 0.1, np.where(p < 0.75, 0.4, 0.8)),
    "flat": lambda p: np.full_like(p, 0.3),
    "rare": lambda p: 0.04 * p,
}


def bootstrap(method: type, p: np.ndarray, y: np.ndarray, at: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the percentile interval of a map over resampled rows."""
    fits = []
    for _ in range(N_BOOTSTRAP):
        rows = rng.integers(0, len(p), len(p))
        if 0 < y[rows].sum() < len(y):
            fits.append(method().fit(p[rows], y[rows]).transform(at))
    return np.quantile(fits, [0.025, 0.975], axis=0).T


def main(bootstrapped: bool) -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    at = np.arange(1, 10) / 10
    print("truth            rows   method            held   worst   width")
    for name, rate in RATES.items():
        for n in (200, 1000, 5000):
            held: dict[str, list[np.ndarray]] = {}
            width: dict[str, list[float]] = {}
            for seed in range(N_SETS):
                rng = np.random.default_rng(seed)
                p = rng.random(n)
                y = (rng.random(n) < rate(p)).astype(int)
                if not 0 < y.sum() < n:
                    continue
                found = {
                    "rate_interval": rate_interval(p, y, at),
                    "VennAbers": VennAbers().fit(p, y).predict_interval(at),
                }
                if bootstrapped and n <= 1000 and seed < 100:
                    found["Platt, resampled"] = bootstrap(PlattScaling, p, y, at, rng)
                    found["isotonic, res."] = bootstrap(IsotonicCalibration, p, y, at, rng)
                for method, ends in found.items():
                    held.setdefault(method, []).append((ends[:, 0] <= rate(at)) & (rate(at) <= ends[:, 1]))
                    width.setdefault(method, []).append(float(np.diff(ends).mean()))
            for method in held:
                places = np.mean(held[method], axis=0)
                print(
                    f"{name:15} {n:5,}   {method:17} {places.mean():5.1%}  {places.min():5.1%}   "
                    f"{np.mean(width[method]):.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main("--bootstrap" in sys.argv)
