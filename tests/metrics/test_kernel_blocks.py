"""The block estimator of the squared kernel calibration error, as a statistic that adds."""

from __future__ import annotations

from itertools import pairwise
from math import fsum, sqrt

import numpy as np
import pytest

from believable import CellStats, KernelBlocks, Predictions, kernel_calibration_test, squared_kernel_calibration_error
from believable.errors import InputError, MergeError, SchemaError, UndefinedError
from tests.metrics.kernel_literal import h, multiclass, vectors
from tests.metrics.literal import BINARY, MATRIX, SOFT, choices, over

SOME = {f"{name} ": MATRIX[name] for name in ("random", "weights with zeros", "argmax ties")}
SOME |= {name: BINARY[name] for name in ("random", "ties and weights", "0 and 1")} | SOFT
SOME = {name: data for name, data in SOME.items() if len(vectors(data)) >= 6}


def literal(data, kernel, nu, size):
    """Value and standard error, block by block and pair by pair."""
    found, totals, weights = vectors(data), [], []
    for start in range(0, len(found) - size + 1, size):
        block = found[start : start + size]
        pairs = [(a, b) for i, a in enumerate(block) for j, b in enumerate(block) if i != j]
        totals.append(fsum(a[2] * b[2] * h(a, b, kernel, nu) for a, b in pairs))
        weights.append(fsum(a[2] * b[2] for a, b in pairs))
    value, m = fsum(totals) / fsum(weights), len(totals)
    squares = fsum((t - value * w) ** 2 for t, w in zip(totals, weights, strict=True))
    error = sqrt(squares * m / (m - 1)) / fsum(weights) if m > 1 else None
    return value, error, m, len(found) - m * size


def counted(data, rows=slice(None), **options):
    """The statistic of some rows."""
    weights = None if data.weights is None else data.weights[rows]
    door = {"soft_labels": True} if data.kind == "soft" else {}
    return KernelBlocks.of(Predictions(data.scores[rows], data.labels[rows], sample_weight=weights, **door), **options)


@over(SOME)
@choices({"block_size": 2, "bandwidth": 0.2}, {"block_size": 3, "bandwidth": 1.5, "kernel": "gaussian"}, name="how")
def test_definition(data, how):
    """The mean over blocks by the weight of their pairs, its standard error, and how many rows were left over."""
    blocks = counted(data, **how)
    value, error, m, left = literal(data, how.get("kernel", "tv"), how["bandwidth"], how["block_size"])
    assert blocks.value == pytest.approx(value, rel=1e-11, abs=1e-14)
    assert blocks.standard_error == pytest.approx(error, rel=1e-9, abs=1e-14)
    assert (blocks.n_blocks, blocks.left_over, blocks.n) == (m, left, m * how["block_size"])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [2, 5, 40])
def test_parts_add_up_to_the_metric_of_all(weighted, size):
    """Parts of whole blocks, however many, give what the metric and the test give for all rows at once."""
    data = multiclass(600, 3, 4, weighted)
    cuts = np.cumsum([0, 40, 200, 40, 320])
    parts = [counted(data, slice(a, b), bandwidth=0.3, block_size=size) for a, b in pairwise(cuts)]
    how = {"bandwidth": 0.3, "block_size": size, "sample_weight": data.weights}
    expected = squared_kernel_calibration_error(data.scores, data.labels, estimator="block", **how)
    test = kernel_calibration_test(data.scores, data.labels, method="block", **how)
    for blocks in (sum(parts), parts[3] + (parts[0] + parts[2]) + parts[1]):
        assert blocks.value == pytest.approx(expected, rel=1e-12)
        assert squared_kernel_calibration_error(blocks, estimator="block") == blocks.value
        assert blocks.value / blocks.standard_error == pytest.approx(test.statistic, rel=1e-10)
        assert kernel_calibration_test(blocks).p_value == pytest.approx(test.p_value, rel=1e-9)
        assert (blocks.n, blocks.left_over) == (600, 0)


def test_rows_are_not_all_held_at_once(monkeypatch):
    """Long input is gone through in whole blocks; where it is cut does not matter."""
    data = multiclass(101, 3, 5)
    whole = counted(data, bandwidth=0.3, block_size=4)
    monkeypatch.setattr("believable.metrics.kernel_blocks._ROWS_HELD_AT_ONCE", 11)
    cut = counted(data, bandwidth=0.3, block_size=4)
    assert cut.value == pytest.approx(whole.value, rel=1e-12)
    assert cut.standard_error == pytest.approx(whole.standard_error, rel=1e-12)
    assert (cut.n, cut.left_over) == (100, 1)


def test_left_over_rows_are_counted():
    """A part that fills no block adds nothing but their number, and has no value by itself."""
    data = multiclass(10, 3, 6)
    few = counted(data, slice(0, 3), bandwidth=0.3, block_size=4)
    assert str(few) == "KernelBlocks(0 blocks of 4 rows, 3 rows left over; kernel tv, bandwidth 0.3)"
    with pytest.raises(UndefinedError, match="no part had a full block of 4 rows"):
        few.value  # noqa: B018
    one = counted(data, slice(3, 8), bandwidth=0.3, block_size=4)
    for both in (few + one, one + few, few + few + one):
        assert both.value == one.value
    assert (few + one).left_over == 4
    with pytest.raises(UndefinedError, match="needs two blocks of 4 rows, there are 1"):
        (few + one).interval()


def test_weights():
    """The scale of weights does not matter, weight 0 removes a row, and weights whose fourth powers are no numbers are refused."""
    data = multiclass(60, 3, 7, weighted=True)
    p, y, w = data.scores, data.labels, data.weights
    one = KernelBlocks.of(p, y, bandwidth=0.3, block_size=5, sample_weight=w)
    many = KernelBlocks.of(p, y, bandwidth=0.3, block_size=5, sample_weight=1e6 * w)
    assert many.value == pytest.approx(one.value, rel=1e-12)
    assert many.standard_error == pytest.approx(one.standard_error, rel=1e-10)
    kept = np.arange(60) % 3 > 0
    zeros = KernelBlocks.of(p, y, bandwidth=0.3, block_size=5, sample_weight=np.where(kept, w, 0))
    removed = KernelBlocks.of(p[kept], y[kept], bandwidth=0.3, block_size=5, sample_weight=w[kept])
    assert zeros.value == pytest.approx(removed.value, rel=1e-12)
    for scale in (1e99, 1e-70):
        with pytest.raises(InputError, match="the fourth power of sample_weight overflows or underflows"):
            KernelBlocks.of(p, y, bandwidth=0.3, block_size=5, sample_weight=scale * w)


@pytest.mark.parametrize("far", [0.0, 0.25])
def test_the_interval_covers(far):
    """The 95% interval of a stream holds the SKCE of the population about as often as it says."""
    rng = np.random.default_rng(8)
    grid = (np.arange(1000) + 0.5) / 1000
    residual = far * np.sin(6 * grid)  # P(y = 1) less the score
    truth = 2 * np.mean(np.exp(-np.abs(grid[:, None] - grid) / 0.2) * np.outer(residual, residual))
    covered = 0
    for _ in range(150):
        p = rng.random(4800)
        y = rng.random(4800) < np.clip(p + far * np.sin(6 * p), 0, 1)
        parts = (KernelBlocks.of(p[i::4], y[i::4], bandwidth=0.2, block_size=8) for i in range(4))
        low, high = sum(parts).interval()
        covered += low <= truth <= high
    assert 0.91 <= covered / 150 <= 0.98


def test_bandwidth_of_the_first_rows():
    """The median distance of a first part is what the metric would take for it."""
    data = multiclass(50, 3, 9)
    nu = KernelBlocks.median_distance(data.scores, data.labels)
    value = KernelBlocks.of(data.scores, data.labels, bandwidth=nu, block_size=10).value
    assert value == squared_kernel_calibration_error(data.scores, data.labels, estimator="block", block_size=10)


def test_refusals():
    """Blocks of another kind do not add, and another question is not answered."""
    data = multiclass(20, 3, 10)
    how = {"bandwidth": 0.3, "block_size": 4}
    blocks = counted(data, **how)
    for other, reason in (
        ({"bandwidth": 0.2}, "bandwidth is 0.3 in one and 0.2 in the other"),
        ({"block_size": 5}, "block_size is 4 in one and 5"),
        ({"kernel": "gaussian"}, "kernel is 'tv' in one and 'gaussian'"),
    ):
        with pytest.raises(MergeError, match=reason):
            blocks + counted(data, **(how | other))
    with pytest.raises(TypeError):
        blocks + CellStats.of(Predictions(data.scores, data.labels))
    with pytest.raises(UndefinedError, match="use estimator='block', not 'unbiased'"):
        squared_kernel_calibration_error(blocks)
    with pytest.raises(UndefinedError, match=r"computed with bandwidth=0\.3, not 0\.5: compute it again"):
        squared_kernel_calibration_error(blocks, estimator="block", bandwidth=0.5)
    with pytest.raises(UndefinedError, match="resampling needs the rows"):
        kernel_calibration_test(blocks, method="resampling")
    for wrong, reason in (
        ({"block_size": 1}, "block_size"),
        ({"bandwidth": 0}, "above 0"),
        ({"kernel": "x"}, "kernel"),
    ):
        with pytest.raises(InputError, match=reason):
            counted(data, **(how | wrong))
    with pytest.raises(UndefinedError, match="these are multilabel"):
        KernelBlocks.of(Predictions(data.scores, data.scores > 0.3, multilabel=True), **how)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": 2}, "version 2 cannot be read"),
        ({"kernel": "x"}, "the saved kernel cannot be 'x'"),
        ({"bandwidth": 0.0}, "of bandwidth 0"),
        ({"n": 21}, "whole blocks"),
        ({"left_over": -1}, "cannot be negative"),
        ({"pairs": -1.0}, "positive weight"),
        ({"spread": "Infinity"}, "the saved spread must be a number"),
        ({"total": None}, "the saved total must be a number"),
    ],
)
def test_damaged_forms(change, reason):
    """A dictionary that no rows can have made is refused."""
    saved = counted(multiclass(20, 3, 10), bandwidth=0.3, block_size=4).to_dict()
    with pytest.raises(SchemaError, match=reason):
        KernelBlocks.from_dict(saved | change)
