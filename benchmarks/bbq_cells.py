"""How far the map of BBQ from cells is from that of the rows: `python -m benchmarks.bbq_cells`."""

from __future__ import annotations

import warnings

import numpy as np

from believable import CellStats, Predictions
from believable.recalibrate import BBQ

N_SETS = 20


def main() -> None:
    """Print the average and the largest difference, and the error of the map of the rows, per number of rows."""
    warnings.simplefilter("ignore")
    print("   rows  cells    mean difference  largest  error of the map")
    for n in (200, 1000, 5000, 20_000):
        for spacing in ("uniform", "logit"):
            mean, largest, error = [], [], []
            for seed in range(N_SETS):
                rng = np.random.default_rng(seed)
                p, new = rng.beta(0.6, 0.9, n), rng.beta(0.6, 0.9, 5000)
                y = rng.random(n) < p**1.5
                rows = BBQ().fit(p, y).transform(new)
                cells = BBQ().fit_from_cells(CellStats.of(Predictions(p, y), spacing=spacing)).transform(new)
                mean.append(np.abs(rows - cells).mean())
                largest.append(np.abs(rows - cells).max())
                error.append(np.sqrt(np.mean((rows - new**1.5) ** 2)))
            print(f"{n:7,}  {spacing:8} {np.mean(mean):.4f}           {np.max(largest):.2f}     {np.mean(error):.3f}")


if __name__ == "__main__":
    main()
