"""Heaped scores: found where they are, and said in a sentence."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from believable import Predictions, Summary
from believable.auditing.heaping import heaping, heaping_of_cells
from believable.errors import InputError
from tests.auditing.data import times

RNG = np.random.default_rng(0)
STATED = RNG.choice([0.6, 0.8, 0.9, 0.95, 1.0], 200, p=[0.1, 0.3, 0.4, 0.1, 0.1])
MIXED = np.concatenate([STATED, RNG.random(50)])
WEIGHTS = RNG.integers(0, 4, 250).astype(float)


def literal_heaping(scores, weights):
    """Weights by value in a dictionary; heaps hold 2 % and three rows."""
    weight, times = defaultdict(float), defaultdict(int)
    for score, w in zip(scores.tolist(), weights.tolist(), strict=True):
        if w > 0:
            weight[score] += w
            times[score] += 1
    total = sum(weight.values())
    heaps = sorted(v for v in weight if weight[v] >= 0.02 * total and times[v] >= 3)
    on_steps = sum(w for v, w in weight.items() if abs(v * 20 - round(v * 20)) < 1e-5)
    return heaps, sum(weight[v] for v in heaps) / total, on_steps / total, len(weight)


@pytest.mark.parametrize("weights", [np.ones(250), WEIGHTS])
def test_shares_are_those_of_a_loop(weights):
    """Heaps, their share and that of round numbers equal what a dictionary counts."""
    found = heaping(MIXED, weights)
    heaps, share, on_steps, distinct = literal_heaping(MIXED, weights)
    assert found.values == tuple(heaps)
    assert found.share == pytest.approx(share, rel=1e-12)
    assert found.share == pytest.approx(sum(found.shares), rel=1e-12)
    assert found.round_share == pytest.approx(on_steps, rel=1e-12)
    assert found.distinct == distinct


def test_weights_are_repetitions():
    """A whole weight is a row so many times, and weight 0 is none."""
    weighted, repeated = heaping(MIXED, WEIGHTS), heaping(np.repeat(MIXED, WEIGHTS.astype(int)))
    assert (weighted.values, weighted.share) == (repeated.values, pytest.approx(repeated.share))


def test_the_sentence():
    """It says how much lies on which values."""
    scores = [0.8] * 31 + [0.9] * 50 + [0.7] * 12 + np.linspace(0.101, 0.603, 7).tolist()
    assert str(heaping(scores)) == (
        "93 % of the scores are one of 3 values: 0.7, 0.8, 0.9. Calibration is known only at these values: there are few "
        "rows between them, and bins cannot hold equally many rows."
    )
    assert str(heaping([1.0] * 30)).startswith("All of the scores are one value: 1.")
    assert str(heaping(np.repeat([1.0, 0.3712], [9950, 50]))).startswith("99.5 % of the scores are one value: 1.")
    many = np.repeat(np.linspace(0.05, 0.6, 12), 10)
    assert str(heaping(many)).startswith("All of the scores are one of 12 values: 0.05, 0.1, 0.15")
    assert " and 4 more. " in str(heaping(many))


def test_round_numbers_without_heaps():
    """Rows on many multiples of 0.05, few on each, are a sentence of their own."""
    found = heaping(np.arange(21) / 20)
    assert found.values == ()
    assert str(found) == (
        "All of the scores are multiples of 0.05: they are rounded, so bins narrower than 0.05 add nothing."
    )


@pytest.mark.parametrize(
    "scores",
    [RNG.random(1000), RNG.random(1000).astype(np.float32), np.round(RNG.random(5000), 2), [0.5] * 19, [0.9]],
    ids=["continuous", "float32", "two decimals", "nineteen rows", "one row"],
)
def test_nothing_to_say(scores):
    """Spread scores, evenly rounded ones, and a few rows are not heaped."""
    assert heaping(scores) is None


def test_half_of_the_rows_at_one():
    """Scores that saturate are a heap."""
    assert heaping(np.concatenate([np.ones(60), RNG.random(40)])).values == (1.0,)


def test_float32_round_numbers():
    """0.8 of 32 bits is a multiple of 0.05."""
    assert heaping(STATED.astype(np.float32)).round_share == 1


def test_bad_weights():
    """As everywhere, a negative weight is an error."""
    with pytest.raises(InputError, match="sample_weight must not be negative"):
        heaping([0.5] * 30, [-1.0] * 30)


@pytest.mark.parametrize("scale", [1, 1e-4, 1e-8])
def test_heaps_are_found_in_cells(scale):
    """Heaps and round numbers are those of the rows; scores that differ are no heap, however small they are."""
    rng = np.random.default_rng(9)
    heaped = np.concatenate([rng.choice([0.6, 0.8, 0.95, 1.0], 3000), rng.random(1000)])
    spread = scale * rng.random(3000)
    summary = times(Summary.of(Predictions(heaped, rng.random(4000) < 0.5)), 20)  # sums are rounded often
    rows, cells = heaping(heaped), heaping_of_cells(summary.cells_of())
    assert cells.values == pytest.approx(rows.values, rel=1e-6)  # others share their cells
    assert (cells.share, cells.round_share) == pytest.approx((rows.share, rows.round_share), rel=1e-3)
    assert str(cells) == str(rows)
    assert heaping_of_cells(Summary.of(Predictions(spread, spread > 0)).cells_of()) is None
