"""Classes, each against the rest, the most surely bad first."""

from __future__ import annotations

import numpy as np
import pytest

import believable
from believable import audit
from tests.auditing.data import few_metrics

pytestmark = pytest.mark.slow


def test_classes_side_by_side(matrix):
    """Confidence, class-wise and top-label errors, and every class against the rest, worst first."""
    p, y, _, found = matrix
    assert {found[alias].notion for alias in ("ece", "sce", "tlce")} == {"confidence", "classwise", "top_label"}
    assert {part.name for part in found.parts} == {"0", "1", "2", "3"}
    lows = [part.low for part in found.parts]
    assert lows == sorted(lows, reverse=True)
    for part in found.parts:
        k = int(part.name)
        assert part.ece == pytest.approx(believable.expected_calibration_error(p[:, k], y == k), rel=1e-12)
        assert part.n == (y == k).sum()
    for part in found.subgroups:
        rows = matrix[2] == part.name
        assert part.ece == pytest.approx(believable.expected_calibration_error(p[rows], y[rows]), rel=1e-12)


def test_many_classes_keep_the_worst(monkeypatch):
    """Of many classes those furthest from chance are told, and the one that was spoilt is first."""
    few_metrics(monkeypatch)
    rng = np.random.default_rng(5)
    q = rng.dirichlet(np.full(30, 0.3), 3000)
    y = np.array([rng.choice(30, p=row) for row in q])
    q[:, 7] = np.minimum(q[:, 7] * 3 + 0.02, 1)
    q /= q.sum(axis=1, keepdims=True)
    found = audit(q, y, fix=False)
    assert (len(found.parts), found.n_parts) == (20, 30)
    assert found.parts[0].name == "7"
    assert found.parts[0].direction == "over-predicts"
    assert "the worst 20 of 30" in found.to_text()
