"""Scores and outcomes that pictures are tried on."""

from __future__ import annotations

import numpy as np

from believable import Predictions

RNG = np.random.default_rng(2)
P = RNG.random(400)
Y = (RNG.random(400) < P**2).astype(int)
W = RNG.integers(1, 4, 400).astype(float)
MATRIX = RNG.dirichlet(np.full(4, 0.5), 400)
LABELS = RNG.integers(0, 4, 400)
HEAPED = RNG.choice([0.1, 0.3, 0.5, 0.9], 400)
RARE = RNG.beta(1, 60, 400) / 4

DIFFICULT = {
    "binary": Predictions(P, Y),
    "weighted": Predictions(P, Y, sample_weight=W),
    "matrix": Predictions(MATRIX, LABELS),
    "float32": Predictions(P.astype(np.float32), Y),
    "n = 30": Predictions(P[:30], Y[:30]),
    "n = 1": Predictions(P[:1], Y[:1]),
    "heaped": Predictions(HEAPED, (RNG.random(400) < HEAPED).astype(int)),
    "constant": Predictions(np.full(50, 0.3), Y[:50]),
    "rare": Predictions(RARE, (RNG.random(400) < 2 * RARE).astype(int)),
    "none of it": Predictions(RARE, np.zeros(400, int)),
    "certain": Predictions(np.repeat([0.0, 1.0], 20), np.repeat([0, 1], 20)),
}
