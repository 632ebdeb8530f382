"""The relative calibration error against its literal definition."""

from math import fsum, inf

import numpy as np
import pytest

from believable import Predictions, interval, noise_floor, relative_calibration_error
from believable.errors import UndefinedError
from tests.metrics.literal import (
    BINARY,
    BINS,
    MATRIX,
    MULTILABEL,
    SOFT,
    cells,
    choices,
    close,
    every_edge,
    on_edges,
    over,
)


def literal(data, strategy="quantile", **choice):
    found = cells(data, strategy=strategy, **choice)
    total = fsum(cell.weight for cell in found)

    def relative(cell):
        if cell.conf > 0:
            return abs(cell.gap) / cell.conf
        return inf if cell.acc > 0 else 0.0

    return fsum(cell.weight / total * relative(cell) for cell in found)


@over(BINARY, SOFT, MATRIX, MULTILABEL)
@choices(*BINS, {})
def test_definition(ask, data, bins):
    """Each bin's gap is divided by its mean score; a bin of scores of 0 is right or infinitely wrong."""
    assert ask(relative_calibration_error, data, **bins) == close(literal(data, **bins))


@over(MATRIX)
@choices({"notion": "classwise", "threshold": 0.05}, {"notion": "top_r", "r": 2, "pooled": True}, name="view")
def test_views(ask, data, view):
    """So for every notion."""
    assert ask(relative_calibration_error, data, n_bins=4, **view) == close(literal(data, n_bins=4, **view))


@every_edge
def test_edges(ask, n_bins, dtype):
    """Edges belong to the bin below."""
    data = on_edges(n_bins, dtype)
    found = ask(relative_calibration_error, data, n_bins=n_bins, strategy="uniform")
    assert found == close(literal(data, n_bins=n_bins, strategy="uniform"))


def test_scores_of_zero():
    """They are right if nothing occurred, and infinitely wrong otherwise."""
    assert relative_calibration_error([0.0, 0.0], [0, 0]) == 0
    assert relative_calibration_error([0.0, 0.0, 0.5], [0, 1, 1]) == inf


def test_rare_events():
    """A factor of two is an error of 1, however rare the event; the interval holds it, and chance does not."""
    rng = np.random.default_rng(0)
    p = 10 ** rng.uniform(-3, -1.5, 40_000)
    twice, right = rng.random(40_000) < 2 * p, rng.random(40_000) < p
    found = interval("rce", p, twice, random_state=0)
    assert found.low < 1 < found.high
    assert found.low > 0.5
    assert interval("rce", p, right, random_state=0).low == 0
    assert noise_floor("rce", p, right, random_state=0).p_value > 0.05
    assert noise_floor("rce", p, twice, random_state=0).p_value < 0.01


@pytest.mark.parametrize("events", [0, 1])
def test_no_interval_at_scores_of_zero(events):
    """Whether or not an event occurred there, an infinite error cannot be ruled out."""
    data = Predictions([0.0] * 10 + [0.5] * 10, [events] + [0] * 9 + [0, 1] * 5)
    with pytest.raises(
        UndefinedError, match="infinite if an event occurs where all scores are 0, so it has no interval"
    ):
        interval("rce", data, random_state=0)
    assert noise_floor("rce", data, random_state=0).q95 < inf
