"""Estimated shares under label shift, and how often their intervals hold the truth: `python -m benchmarks.prevalence`.

Scores are log-odds that are calibrated where half of the rows are positive: normal in both classes, as far apart as an
AUC of 0.76, 0.86 or 0.92 takes. "most likely" is the maximum of the likelihood (Saerens et al. 2002), "adapt" the
target of `PriorShift`. An interval that begins at 0 may hold the true share.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

from believable import _kernels
from believable.errors import LimitWarning
from believable.recalibrate import PlattScaling, PriorShift

N_SETS = 200
N_SOURCE = 4000
DISTANCES = {0.76: 1.0, 0.86: 1.53, 0.92: 1.99}  # between the means, in standard deviations; by AUC


def rows(rng: np.random.Generator, n: int, share: float, distance: float) -> tuple[np.ndarray, np.ndarray]:
    """Return calibrated log-odds at a share of one half, and labels."""
    y = (rng.random(n) < share).astype(int)
    return distance * (rng.normal(size=n) + distance * (y - 0.5)), y


def cell(share: float, n: int, distance: float, factor: float = 1.0, recalibrated: bool = False) -> str:
    """Return a row of a table: scores are multiplied by a factor, and then recalibrated at the source if wanted."""
    found, likely, held, width, warned = [], [], 0, [], 0
    for seed in range(N_SETS):
        rng = np.random.default_rng(seed)
        (z, y), (new, _) = rows(rng, N_SOURCE, 0.5, distance), rows(rng, n, share, distance)
        z, new = factor * z, factor * new
        if recalibrated:
            platt = PlattScaling(input="logits").fit(z, y)
            z, new = (platt.slope_ * each + platt.intercept_ for each in (z, new))
        model = PriorShift(input="logits").fit(z, y)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LimitWarning)
            model.adapt(new)
        warned += bool(caught)
        density = _kernels.softmax(np.column_stack([-new / 2, new / 2]) - np.log(model.source_))
        likely.append(_kernels.mixture_shares(density, np.ones(n), model.source_)[0][1])
        found.append(model.target_[1])
        low, high = model.target_interval_[1]
        held += low <= share <= high
        width.append(high - low)
    zero, of_found = np.mean(np.array(likely) < 1e-9), np.array(found)
    spread = np.sqrt(np.mean((of_found - share) ** 2))
    before = np.sqrt(np.mean((np.array(likely) - share) ** 2))
    return (
        f"{np.mean(likely):6.4f} {before:6.4f} {zero:5.0%}   {of_found.mean():6.4f} {spread:6.4f} {of_found.min():7.5f}"
        f"   {held / N_SETS:5.1%} {np.mean(width):6.4f}   {warned / N_SETS:5.1%}"
    )


def main() -> None:
    """Print the tables."""
    head = "most likely: mean, RMSE, zeros   adapt: mean, RMSE, least   interval: held, width   warned"
    print(f"Calibrated scores\n  AUC  share  rows   {head}")
    for auc, distance in DISTANCES.items():
        for share in (0.005, 0.02, 0.1, 0.5):
            for n in (300, 1000, 5000):
                print(f" {auc:.2f}  {share:.3f} {n:5d}   {cell(share, n, distance)}", flush=True)
    print(f"\nScores times a factor, 1,000 rows, AUC 0.86\nfactor share            {head}")
    for factor in (0.5, 0.8, 1.0, 1.25, 2.0):
        for recalibrated in (False, True):
            said = "recalibrated" if recalibrated else "as they are "
            line = cell(0.1, 1000, DISTANCES[0.86], factor, recalibrated)
            print(f" {factor:4.2f}  0.100 {said} {line}", flush=True)


if __name__ == "__main__":
    N_SETS = int(sys.argv[1]) if len(sys.argv) > 1 else N_SETS
    main()
