"""The calibration decision loss against its definition: the best of all decision tasks, found by linear programming."""

from math import fsum

import numpy as np
import pytest
from scipy.optimize import linprog

from believable import (
    Predictions,
    calibration_decision_loss,
    expected_calibration_error,
    interval,
    noise_floor,
)
from tests.metrics.literal import BINARY, BINS, MATRIX, MULTILABEL, SOFT, Data, cells, choices, close, mean, over


def best_task(found):
    """The largest loss of all tasks: payoffs in [0, 1] for each action, the best of which is taken at each belief."""
    total = fsum(cell.weight for cell in found)
    beliefs = sorted({q for cell in found for q in (cell.conf, min(max(cell.acc, 0.0), 1.0))})
    n, at = len(beliefs), {q: i for i, q in enumerate(beliefs)}
    gain = np.zeros((n, 2))
    for cell in found:
        acc = min(max(cell.acc, 0.0), 1.0)
        for action, sign in ((at[acc], 1), (at[cell.conf], -1)):
            gain[action] += sign * cell.weight / total * np.array([1 - acc, acc])
    rows = []
    for i, q in enumerate(beliefs):  # at belief q, action i is worth no less than any other action j
        for j in range(n):
            if i != j:
                row = np.zeros((n, 2))
                row[j] += (1 - q, q)
                row[i] -= (1 - q, q)
                rows.append(row.ravel())
    if not rows:
        return 0.0
    found_best = linprog(-gain.ravel(), A_ub=np.array(rows), b_ub=np.zeros(len(rows)), bounds=(0, 1), method="highs")
    return -found_best.fun


def by_groups(found):
    """The mean over classes or ranks, by weight."""
    groups = sorted({cell.group for cell in found})
    parts = [[cell for cell in found if cell.group == g] for g in groups]
    return mean([(best_task(part), fsum(cell.weight for cell in part)) for part in parts])


def near(value):
    return pytest.approx(value, rel=1e-7, abs=1e-8)  # the tolerance of the solver


@over(BINARY, SOFT)
@choices(*BINS)
def test_definition(ask, data, bins):
    """No task with payoffs in [0, 1] loses more, and one loses as much."""
    assert ask(calibration_decision_loss, data, **bins) == near(by_groups(cells(data, **bins)))


@over({name: MATRIX[name] for name in ("random", "argmax ties and weights", "two columns")}, MULTILABEL)
@choices({"notion": "classwise"}, {"notion": None}, name="view")
def test_matrix(ask, data, view):
    """Of a matrix, the confidences, or any notion; classes are averaged by weight."""
    found = cells(data, 5, **view)
    assert ask(calibration_decision_loss, data, n_bins=5, **view) == near(by_groups(found))


@pytest.mark.parametrize("seed", range(30))
def test_random_bins(seed):
    """Few bins with large gaps, many of which a threshold separates from their rate."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 9))
    p = rng.choice([0.0, 0.5, 1.0, *rng.random(3)], k)
    scores, labels = np.repeat(p, 40), rng.random(40 * k) < np.repeat(rng.random(k), 40)
    literal = by_groups(cells(Data(scores, labels.astype(int)), 1000))
    assert calibration_decision_loss(scores, labels, 1000) == near(literal)


def test_worst_and_by_hand():
    """Certain and wrong loses everything; one bin at 1/2 loses twice its gap; far from 1/2 it loses less."""
    assert calibration_decision_loss([1.0, 1.0], [0, 0]) == 1
    assert calibration_decision_loss([1.0, 0.0], [0, 1]) == 1
    assert calibration_decision_loss([0.5] * 10, [1] * 7 + [0] * 3) == close(2 * 0.2)
    assert calibration_decision_loss([0.8] * 10, [1] * 7 + [0] * 3) == close(0.1 / 0.8)  # a threshold at 0.8


@over(BINARY)
def test_at_most_twice_the_expected_error(ask, data):
    """The ECE bounds what any decision loses."""
    assert ask(calibration_decision_loss, data) <= 2 * ask(expected_calibration_error, data) + 1e-12


def test_no_task_loses_more():
    """Acting on the scores at any threshold, with payoffs in [0, 1], loses no more than the value."""
    rng = np.random.default_rng(3)
    p = np.round(rng.random(2000), 1)
    y = rng.random(2000) < p**1.7
    value = calibration_decision_loss(p, y, 1000)
    rate = {s: y[p == s].mean() for s in np.unique(p)}
    right = np.array([rate[s] for s in p])
    for cost in np.linspace(0.01, 0.99, 99):
        scale = max(cost, 1 - cost)  # payoffs of acting: (y - cost) / scale, from an origin that keeps them in [0, 1]
        lost = (np.where(right > cost, y - cost, 0).mean() - np.where(p > cost, y - cost, 0).mean()) / scale
        assert lost <= value + 1e-12


def test_inference():
    """Interval and noise floor come out, and the interval holds a known loss."""
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    y = rng.random(2000) < p**1.6
    truth = calibration_decision_loss(
        Predictions(np.linspace(0, 1, 20_001), np.linspace(0, 1, 20_001) ** 1.6, soft_labels=True)
    )
    found = interval("cdl", p, y, random_state=0)
    assert 0 < found.low < truth < found.high < 1
    assert noise_floor("cdl", p, y, random_state=0).p_value < 0.01
    assert interval("cdl", p, rng.random(2000) < p, random_state=0).low == 0
