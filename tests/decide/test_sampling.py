"""Uncertainty sampling: the least sure rows, ties drawn by lot."""

from __future__ import annotations

import math

import numpy as np
import pytest

from believable import Predictions, uncertainty_sample
from believable.errors import InputError

RNG = np.random.default_rng(0)
MATRIX = RNG.dirichlet([0.7, 0.7, 0.7, 0.7], 80)


def literal(matrix, strategy):
    """How unsure each row is, one by one."""
    unsure = []
    for row in matrix:
        first, second = sorted(row, reverse=True)[:2]
        if strategy == "margin":
            unsure.append(second - first)
        elif strategy == "confidence":
            unsure.append(-first)
        else:
            unsure.append(-sum(p * math.log(p) for p in row if p > 0))
    return sorted(range(len(matrix)), key=lambda i: -unsure[i])


@pytest.mark.parametrize("strategy", ["margin", "entropy", "confidence"])
def test_the_definition(strategy):
    """The least sure rows of a matrix, in order, are those of the loop."""
    assert uncertainty_sample(MATRIX, 30, strategy=strategy).tolist() == literal(MATRIX, strategy)[:30]
    two = MATRIX[:, :2] / MATRIX[:, :2].sum(axis=1, keepdims=True)
    assert uncertainty_sample(two, 30, strategy=strategy).tolist() == literal(two, "margin")[:30]
    assert uncertainty_sample(two[:, 1], 30, strategy=strategy).tolist() == literal(two, "margin")[:30]


def test_strategies_differ_for_classes():
    """Three classes that are alike have more entropy than two, but no smaller margin."""
    rows = [[0.5, 0.49, 0.01], [0.36, 0.32, 0.32]]
    picked = [int(uncertainty_sample(rows, 1, strategy=each)[0]) for each in ("margin", "entropy", "confidence")]
    assert picked == [0, 1, 1]


@pytest.mark.parametrize("strategy", ["margin", "entropy", "confidence"])
def test_ties_are_drawn_by_lot(strategy):
    """Equally unsure rows are chosen equally often, wherever they stand; p and 1 - p are equally unsure."""
    scores = [0.9, 0.3, 0.7, 0.3, 0.7, 0.05]
    counts = np.zeros(6)
    for seed in range(400):
        counts[uncertainty_sample(scores, 2, strategy=strategy, random_state=seed)] += 1
    assert counts[[0, 5]].tolist() == [0, 0]
    assert np.all(np.abs(counts[1:5] - 200) < 50)
    for kind in (np.float32, np.float64):  # neither knows 1 - 0.07 as 0.93
        mirrored = np.array([0.07, 0.93], kind)
        firsts = {int(uncertainty_sample(mirrored, 1, strategy=strategy, random_state=seed)[0]) for seed in range(40)}
        assert firsts == {0, 1}
    rows = np.array([[0.1, 0.2, 0.7], [0.7, 0.1, 0.2], [0.2, 0.7, 0.1]])
    firsts = {int(uncertainty_sample(rows, 1, strategy=strategy, random_state=seed)[0]) for seed in range(40)}
    assert firsts == {0, 1, 2}


def test_the_seed_decides():
    """The same seed gives the same rows; a Generator moves on."""
    same = [uncertainty_sample([0.5] * 50, 5, random_state=3).tolist() for _ in range(2)]
    assert same[0] == same[1]
    rng = np.random.default_rng(0)
    assert (
        uncertainty_sample([0.5] * 50, 5, random_state=rng).tolist()
        != uncertainty_sample([0.5] * 50, 5, random_state=rng).tolist()
    )


def test_a_random_share_comes_from_the_rest():
    """Least sure rows first, then rows drawn from all others, none twice."""
    p = np.linspace(0.5, 1, 1000)
    rows = uncertainty_sample(p, 100, random_share=0.3, random_state=0)
    assert rows[:70].tolist() == list(range(70))
    assert len(set(rows.tolist())) == 100
    assert rows[70:].min() >= 70
    assert rows[70:].mean() == pytest.approx(535, abs=4 * 268 / math.sqrt(30))
    assert sorted(uncertainty_sample(p[:10], 10, random_share=1.0).tolist()) == list(range(10))
    assert len(uncertainty_sample(p, 3, random_share=0.5, random_state=0)) == 3


def test_all_and_one():
    """n may be all rows, or one; certain scores are fine."""
    assert sorted(uncertainty_sample([0.0, 1.0, 0.2], 3).tolist()) == [0, 1, 2]
    assert uncertainty_sample([0.0, 1.0, 0.2], 1).tolist() == [2]
    assert uncertainty_sample([0.4], 1).tolist() == [0]
    assert uncertainty_sample([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]], 1, strategy="entropy").tolist() == [1]
    assert uncertainty_sample(Predictions([0.1, 0.45], [0, 1]), 1).tolist() == [1]


def test_more_errors_are_found_than_at_random():
    """Among the rows sampled there are more errors than among as many at random, beyond noise."""
    rng = np.random.default_rng(2)
    p = rng.beta(0.5, 0.5, 5000)
    wrong = (rng.random(5000) < p) != (p > 0.5)
    found = wrong[uncertainty_sample(p, 500, random_state=0)].mean()
    assert found > wrong.mean() + 5 * math.sqrt(wrong.mean() / 500)
    assert wrong[uncertainty_sample(p, 500, random_share=1.0, random_state=0)].mean() == pytest.approx(
        wrong.mean(), abs=4 * math.sqrt(wrong.mean() / 500)
    )


def test_bad_input_is_refused():
    """More rows than there are, none, and what is no probability."""
    with pytest.raises(InputError, match="n must be at most the number of rows, 2, got 3"):
        uncertainty_sample([0.1, 0.2], 3)
    with pytest.raises(InputError, match="n must be an integer at least 1"):
        uncertainty_sample([0.1, 0.2], 0)
    with pytest.raises(InputError, match="strategy must be one of 'margin'"):
        uncertainty_sample([0.1, 0.2], 1, strategy="random")
    with pytest.raises(InputError, match="random_share must be a number from 0 to 1"):
        uncertainty_sample([0.1, 0.2], 1, random_share=2)
    with pytest.raises(InputError, match="take the sigmoid or softmax first"):
        uncertainty_sample([[-3.0, 2.0]], 1)
    with pytest.raises(InputError, match="one column at a time if they are independent"):
        uncertainty_sample([[0.9, 0.8]], 1)
    labels = np.eye(3, dtype=int)
    with pytest.raises(InputError, match="one answer per row"):
        uncertainty_sample(Predictions(np.full((3, 3), 0.4), labels, multilabel=True), 1)
