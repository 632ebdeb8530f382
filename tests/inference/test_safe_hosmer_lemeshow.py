"""The safe Hosmer–Lemeshow test: its expectation under calibration, by enumeration, and what it bets on."""

from itertools import combinations, product
from math import inf

import numpy as np
import pytest

from believable import CellStats, Predictions, safe_hosmer_lemeshow
from believable.errors import InputError, UndefinedError

SCORES = [0.1, 0.25, 0.25, 0.6, 0.8, 0.95]


def isotonic(rows):
    """(score, value) of the isotonic regression at each score, by pooling adjacent violators of distinct scores."""
    blocks = []
    for s in sorted({p for p, _ in rows}):
        here = [y for p, y in rows if p == s]
        blocks.append([[s], sum(here), len(here)])
        while len(blocks) > 1 and blocks[-2][1] / blocks[-2][2] >= blocks[-1][1] / blocks[-1][2]:
            last = blocks.pop()
            blocks[-1] = [blocks[-1][0] + last[0], blocks[-1][1] + last[1], blocks[-1][2] + last[2]]
    return [(s, y / n) for scores, y, n in blocks for s in scores]


def gain(p, y, learnt):
    """The e-value of one split, row by row."""
    fitted = isotonic([(p[i], y[i]) for i in learnt])
    value = 1.0
    for i in range(len(p)):
        if i in learnt:
            continue
        below = [v for s, v in fitted if s <= p[i]]
        q = below[-1] if below else fitted[0][1]
        if 0 < q < 1:
            value *= q / p[i] if y[i] else (1 - q) / (1 - p[i])
    return value


def literal(p, y, n_learnt):
    """The mean e-value over all splits."""
    splits = list(combinations(range(len(p)), n_learnt))
    return sum(gain(p, y, split) for split in splits) / len(splits)


def test_the_literal_expectation_is_one():
    """Over all outcomes of calibrated scores, and all splits, the mean is exactly 1."""
    total = 0.0
    for y in product((0, 1), repeat=len(SCORES)):
        chance = np.prod([p if one else 1 - p for p, one in zip(SCORES, y, strict=True)])
        total += chance * literal(SCORES, y, 3)
    assert total == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("y", [(0, 1, 0, 0, 1, 1), (1, 1, 0, 1, 0, 0), (0, 0, 1, 1, 0, 1)])
@pytest.mark.parametrize(("share", "n_learnt"), [(0.5, 3), (0.7, 4)])
def test_definition(y, share, n_learnt):
    """Random splits approach the mean over all splits, with the number of rows that is asked for."""
    found = safe_hosmer_lemeshow(SCORES, y, n_splits=4000, share=share, random_state=0)
    expected = literal(SCORES, y, n_learnt)
    each = [gain(SCORES, y, split) for split in combinations(range(6), n_learnt)]
    assert abs(found.value - expected) < 4 * np.std(each) / 4000**0.5
    assert (found.p_value, found.n, found.n_splits) == (min(1, 1 / found.value), 6, 4000)
    assert float(found) == found.value


@pytest.mark.slow
def test_the_expectation_is_at_most_one():
    """For calibrated scores the mean is 1, and 20 is exceeded in at most one sample of 20."""
    rng = np.random.default_rng(1)
    values = []
    for _ in range(1500):
        p = rng.random(100)
        values.append(safe_hosmer_lemeshow(p, rng.random(100) < p, n_splits=5, random_state=rng).value)
    assert np.mean(values) < 1 + 4 * np.std(values) / 1500**0.5
    assert np.mean(np.array(values) >= 20) <= 0.05


def test_power_and_growth():
    """Evidence against miscalibrated scores grows with the rows, and never turns up without reason."""
    rng = np.random.default_rng(0)
    values = []
    for n in (500, 5000, 50_000):
        p = rng.random(n)
        values.append(safe_hosmer_lemeshow(p, rng.random(n) < p**1.4, random_state=0).value)
    assert values[0] < values[1] < values[2]
    assert values[1] > 20
    p = rng.random(5_000_00)
    beyond = safe_hosmer_lemeshow(p, rng.random(5_000_00) < p**2, n_splits=2, random_state=0)
    assert (beyond.value, beyond.p_value) == (inf, 0.0)


def test_certain_scores():
    """An event at a score of 0 is infinite evidence; certain scores that are right are none."""
    certain = [0.0] * 10 + [1.0] * 10
    assert safe_hosmer_lemeshow(certain, [0] * 10 + [1] * 10, random_state=0).value == 1
    wrong = safe_hosmer_lemeshow(certain, [0, 1] * 5 + [1] * 10, n_splits=50, random_state=0)
    assert (wrong.value, wrong.p_value) == (inf, 0.0)
    one = [safe_hosmer_lemeshow([0.0] * 9 + [0.5], [1] + [0] * 9, n_splits=1, random_state=k).value for k in range(20)]
    assert 0 < min(one) <= max(one) <= 1  # a single event at 0 is either learnt from or bet on, not both


def test_order_seed_and_statistics():
    """The order of rows does not matter, the seed is an argument, and cells and matrices are accepted."""
    rng = np.random.default_rng(2)
    p, order = np.round(rng.random(300), 2), rng.permutation(300)
    y = rng.random(300) < p
    found = safe_hosmer_lemeshow(p, y, random_state=3)
    assert safe_hosmer_lemeshow(p[order], y[order], random_state=3) == found
    assert safe_hosmer_lemeshow(CellStats.of(Predictions(p, y)), random_state=3).value == pytest.approx(found.value)
    two = np.column_stack([1 - p, p])
    assert safe_hosmer_lemeshow(two, y.astype(int), notion="binary", random_state=3) == found
    assert str(found).startswith("e-value ")
    assert "300, 10 splits" in repr(found)


def test_refusals():
    """Weights, soft labels, a single row and bad options get a sentence."""
    p, y = [0.2, 0.7, 0.8], [0, 1, 1]
    with pytest.raises(InputError, match="the safe Hosmer–Lemeshow test does not support weights: it counts rows"):
        safe_hosmer_lemeshow(p, y, sample_weight=[1, 2, 3])
    with pytest.raises(InputError, match="not soft labels"):
        safe_hosmer_lemeshow(Predictions(p, [0.5, 0, 1], soft_labels=True))
    with pytest.raises(UndefinedError, match="needs at least two rows, to learn from one and bet on the other"):
        safe_hosmer_lemeshow([0.2], [1])
    with pytest.raises(InputError, match="share must lie strictly between 0 and 1, got 1"):
        safe_hosmer_lemeshow(p, y, share=1)
    with pytest.raises(InputError, match="n_splits must be an integer of? ?at least 1|n_splits must be an integer"):
        safe_hosmer_lemeshow(p, y, n_splits=0)
