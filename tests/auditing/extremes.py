"""Predictions that real systems give and few tests have: scores next to 0 and 1, huge and tiny weights, few rows."""

from __future__ import annotations

from typing import Any

import numpy as np

SCORES = np.array(
    [
        *(0, 5e-324, 1e-320, 1e-308, 1e-200, 1e-100, 1e-45, 1e-30, 1e-16, 1e-12, 1e-8, 1e-5, 0.01, 0.3, 0.5, 0.75),
        *(0.999, 1 - 1e-12, 1 - 2**-53, 1),
    ]
)
WEIGHTS = np.array([0, 1e-60, 1e-30, 1e-6, 1, 1, 1, 2, 7.5, 1e6, 1e30, 1e100])


def extreme_rows(rng: np.random.Generator) -> tuple[Any, Any, dict[str, Any]]:
    """Return predictions, labels and options of `audit`: 1 to 60 rows, one event or up to four classes."""
    n = int(rng.integers(1, 61))
    k = int(rng.integers(1, 5))
    few = rng.choice(SCORES, int(rng.integers(1, len(SCORES) + 1)))
    if k == 1:
        p = rng.choice(few, n)
        y = (rng.random(n) < (p if rng.random() < 0.5 else 0.3)).astype(int)
    else:
        logits = rng.choice([0, -3.0, -40, -300, -744, -745.2, -800], (n, k)) * rng.choice([0.01, 1])
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        y = rng.integers(k, size=n)
    options: dict[str, Any] = {}
    if rng.random() < 0.5:
        weight = rng.choice(WEIGHTS[rng.random(len(WEIGHTS)) < 0.5] if rng.random() < 0.5 else WEIGHTS[4:9], n)
        options["sample_weight"] = np.where(weight.any(), weight, 1)
    if rng.random() < 0.3:
        options["clusters"] = rng.integers(int(rng.integers(2, 8)), size=n)
    if rng.random() < 0.3:
        options["by"] = {"site": rng.choice(["a", "b", "<c>"], n)}
    if k == 1 and rng.random() < 0.3:
        options["pairs"] = True
    return p, y, options
