"""Venn–Abers prediction, from the definition."""

from __future__ import annotations

import json

import numpy as np
import pytest

from believable import CellStats, Predictions
from believable.errors import InputError, SchemaError
from believable.recalibrate import VennAbers, combine_intervals, load_recalibrator
from tests.recalibrate.data import binary, multiclass

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")


def isotonic_at(x, y, s):
    """The fit at s: max over a <= s of min over b >= s of the mean outcome of scores in [a, b]."""
    return max(min(np.mean(y[(x >= a) & (x <= b)]) for b in np.unique(x[x >= s])) for a in np.unique(x[x <= s]))


def by_hand(x, y, s):
    """p0 and p1: fits at s with one more negative, one more positive."""
    return [isotonic_at(np.append(x, s), np.append(y, label), s) for label in (0, 1)]


@pytest.mark.parametrize("tied", [False, True])
def test_definition(tied):
    """The ends are isotonic fits with the new row as a negative and as a positive, the point p1 / (1 - p0 + p1)."""
    p, y = (part[:40] for part in binary())
    p = p.round(1) if tied else p
    new = np.concatenate([p[:10], [0, 0.05, 0.33, 0.77, 1]])
    model = VennAbers().fit(p, y)
    ends = np.array([by_hand(p, y, s) for s in new])
    np.testing.assert_allclose(model.predict_interval(new), ends, atol=1e-14)
    np.testing.assert_allclose(model.transform(new), ends[:, 1] / (1 - ends[:, 0] + ends[:, 1]), atol=1e-14)


def test_interval_holds_the_isotonic_fit_and_the_point():
    """p0 <= isotonic fit <= p1 at calibration scores, and p0 <= p' <= p1 everywhere."""
    p, y = binary()
    model = VennAbers().fit(p, y)
    low, high = model.predict_interval(p).T
    fit = [isotonic_at(p[:60], y[:60], s) for s in p[:60]]
    ends = VennAbers().fit(p[:60], y[:60]).predict_interval(p[:60])
    assert np.all(ends[:, 0] <= np.array(fit) + 1e-14)
    assert np.all(ends[:, 1] >= np.array(fit) - 1e-14)
    point = model.transform(p)
    assert np.all((low <= point) & (point <= high))
    assert np.all((point > 0) & (point < 1))


def test_beyond_the_calibration_scores():
    """Below all of them the interval starts at 0, above all it ends at 1."""
    model = VennAbers(input="scores").fit([1, 2, 3, 4], [0, 1, 0, 1])
    np.testing.assert_allclose(model.predict_interval([-9, 0.5]), [[0, 1 / 2]] * 2, rtol=1e-15)
    np.testing.assert_allclose(model.predict_interval([4.5, 99]), [[1 / 2, 1]] * 2, rtol=1e-15)


def test_constant_scores():
    """With one score, the new row joins all others there, and stands alone beside them."""
    model = VennAbers().fit([0.3] * 4, [0, 1, 1, 1])
    np.testing.assert_allclose(
        model.predict_interval([0.3, 0.2, 0.4]), [[3 / 5, 4 / 5], [0, 4 / 5], [3 / 5, 1]], rtol=1e-15
    )


def test_any_increasing_scale():
    """Only the order of scores matters."""
    p, y = binary()
    raw = np.log(p / (1 - p)) * 7 - 3
    one, two = VennAbers().fit(p, y), VennAbers(input="scores").fit(raw, y)
    np.testing.assert_array_equal(one.predict_interval(p), two.predict_interval(raw))


def test_weights_count_rows():
    """A common factor of the weights narrows the interval, as more rows would."""
    p, y = binary()
    widths = [
        np.diff(VennAbers().fit(p, y, sample_weight=np.full(len(y), c)).predict_interval(p)).mean() for c in (0.5, 1, 4)
    ]
    assert widths[0] > widths[1] > widths[2]
    four = VennAbers().fit(np.tile(p, 4), np.tile(y, 4)).predict_interval(p)
    assert widths[2] == pytest.approx(np.diff(four).mean(), rel=1e-12)


def test_two_columns():
    """The interval of two columns is that of the second class."""
    p, y = binary()
    two = np.column_stack([1 - p, p])
    one = VennAbers().fit(p, y)
    np.testing.assert_array_equal(VennAbers().fit(two, y).predict_interval(two), one.predict_interval(p))
    np.testing.assert_array_equal(one.predict_interval(p[:, None]), one.predict_interval(p))


def test_several_classes():
    """For K > 2 there is an interval for each class against the rest, and no width for one that never occurred."""
    p, labels = multiclass()
    ends = VennAbers().fit(p, labels).predict_interval(p)
    assert ends.shape == (len(p), 4, 2)
    for k in range(4):
        own = VennAbers().fit(p[:, k], labels == k).predict_interval(p[:, k])
        np.testing.assert_array_equal(ends[:, k], own)
    seen = labels != 2
    ends = VennAbers().fit(p[seen], labels[seen]).predict_interval(p)
    np.testing.assert_array_equal(ends[:, 2], p[:, [2, 2]])


def test_cells_are_weighted_points():
    """From cells comes what comes from their mean scores, their counts as weights."""
    p, y = binary()
    cells = CellStats.of(Predictions(p, y))
    once = np.tile(cells.conf, 2)
    rows = VennAbers().fit(once, np.repeat([0, 1], len(cells.conf)), np.append(cells.w - cells.wy, cells.wy))
    np.testing.assert_allclose(
        VennAbers().fit_from_cells(cells).predict_interval(p), rows.predict_interval(p), atol=1e-12
    )


def test_one_end_is_calibrated():
    """Over repeated experiments the event happens at the rate of p1 where it happens and of p0 where it does not."""
    rng = np.random.default_rng(0)
    happened, expected = 0.0, 0.0
    for _ in range(300):
        x = rng.random(41)
        y = (rng.random(41) < x**3).astype(int)
        if 0 < y[:-1].sum() < 40:
            ends = VennAbers().fit(x[:-1], y[:-1]).predict_interval(x[-1:])[0]
            happened, expected = happened + y[-1], expected + ends[y[-1]]
    assert abs(happened - expected) < 3 * np.sqrt(300 * 0.19)


def test_intervals_are_combined_by_geometric_means():
    """p = GM(p1) / (GM(1 - p0) + GM(p1)); one interval gives its own point."""
    rng = np.random.default_rng(0)
    low, high = np.sort(rng.random((2, 5, 8)), axis=0)
    by_hand = [
        np.prod(h) ** (1 / 5) / (np.prod(1 - l) ** (1 / 5) + np.prod(h) ** (1 / 5))
        for l, h in zip(low.T, high.T, strict=True)  # noqa: E741
    ]
    np.testing.assert_allclose(combine_intervals(low, high), by_hand, rtol=1e-13)
    p, y = binary()
    model = VennAbers().fit(p, y)
    ends = model.predict_interval(p)
    np.testing.assert_allclose(combine_intervals(ends[None, :, 0], ends[None, :, 1]), model.transform(p), rtol=1e-13)


def test_combining_certain_intervals():
    """Certainty of one interval is kept, unless another contradicts it."""
    assert combine_intervals([0.0, 0.3], [0.0, 0.4]) == 0
    assert combine_intervals([1.0, 0.3], [1.0, 0.4]) == 1
    assert combine_intervals([1.0, 0.0], [1.0, 0.0]) == 0.5
    with pytest.raises(InputError, match="0 <= low <= high <= 1"):
        combine_intervals([0.5], [0.4])
    with pytest.raises(InputError, match=r"the same shape, with intervals on the first axis, got \(1,\) and \(2,\)"):
        combine_intervals([0.5], [0.4, 0.6])


def test_saved_steps_are_checked():
    """Steps without their values, and an upper end of 0, are refused."""
    saved = json.loads(VennAbers().fit(*binary()).to_json())
    loaded = load_recalibrator(json.dumps(saved))
    np.testing.assert_array_equal(loaded.predict_interval([0.4]), VennAbers().fit(*binary()).predict_interval([0.4]))
    saved["maps"][0]["low_from"].pop()
    with pytest.raises(SchemaError, match="low must hold one more number than low_from"):
        load_recalibrator(json.dumps(saved))
    saved["maps"][0]["low"].pop()
    saved["maps"][0]["high"][0] = 0
    with pytest.raises(SchemaError, match="high must be above 0"):
        load_recalibrator(json.dumps(saved))
