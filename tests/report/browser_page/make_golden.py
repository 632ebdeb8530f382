"""Write the golden files of the page's numbers: rows, and what Python finds for them.

Run it as `python -m tests.report.browser_page.make_golden`. The tests read the files in node and in the browser, and
check that Python still finds the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

import numpy as np

from tests.report.browser_page.numerics import GOLDEN, Case, thinned


def golden_cases() -> Iterator[tuple[str, Case]]:
    """Yield a few small data sets by name."""
    rng = np.random.default_rng(31)
    z = rng.normal(size=260)
    p = np.round(1 / (1 + np.exp(-z)), 6)
    y = rng.random(260) < p
    over = np.round(1 / (1 + np.exp(-2.5 * z)), 6)
    yield "calibrated", Case.of(p, y)
    yield "over_confident", Case.of(over, y)
    yield "quantile_bins", Case.of(over, y, bins=7, strategy="quantile", level=0.9, seed=5)
    rare = np.round(rng.beta(0.8, 30, 400), 6)
    yield "rare_events", Case.of(rare, rng.random(400) < np.minimum(1.6 * rare, 1))
    stated = rng.integers(1, 20, 197) / 20
    yield "rounded", Case.of(stated, rng.random(197) < stated**1.4)
    certain = np.concatenate([np.zeros(20), np.round(rng.random(120), 5), np.ones(30)])
    yield "certain_scores", Case.of(certain, rng.random(170) < np.clip(certain, 0.02, 0.97))
    yield "weights", Case.of(p, y, weights=np.round(rng.exponential(size=260) + 0.01, 3))
    cluster = np.repeat(np.arange(52), 5)
    effect = rng.normal(size=52)[cluster]
    together = rng.random(260) < 1 / (1 + np.exp(-z - effect))
    yield "clusters", Case.of(p, together, clusters=cluster)
    few = np.round(rng.random(12), 4)
    yield "twelve_rows", Case.of(few, rng.random(12) < few)
    yield "one_outcome", Case.of(p[:60], np.zeros(60))
    yield "separated", Case.of(p[:80], p[:80] > 0.45)
    yield "float_noise", Case.of(p[:100] * 0.1 * 3 / 0.3, y[:100])
    site = rng.choice(["north", "south", "west"], 260)
    at_site = rng.random(260) < np.where(site == "south", 0.5 * p, p)
    yield "subgroups", Case.of(p, at_site, by={"site": site, "sex": rng.choice(["f", "m"], 260)})
    yield "pairs", Case.of(np.round(0.5 + p / 2, 4), rng.random(260) < 0.7, pairs=True)
    matrix = np.round(rng.dirichlet([1, 1, 1], 240), 5)
    label = np.array([rng.choice(3, p=row / row.sum()) for row in matrix])
    yield "classes", Case.of(matrix, label)
    sharp = np.round(matrix**2 / (matrix**2).sum(axis=1, keepdims=True), 5)
    yield "over_confident_classes", Case.of(sharp, label, by={"site": site[:240]})


def main() -> None:
    """Write a file for every case."""
    for path in GOLDEN.glob("stat_*.json"):
        path.unlink()
    for name, case in golden_cases():
        saved = {"case": asdict(case), "expected": thinned(case.python_audit())}
        (GOLDEN / f"stat_{name}.json").write_text(json.dumps(saved) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
