"""Venn–Abers prediction, from the definition."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from believable import CellStats, Predictions
from believable.errors import InputError, SchemaError, UndefinedError
from believable.recalibrate import OneVsRest, Recalibrated, VennAbers, combine_intervals, load_recalibrator
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


# --- One against one --------------------------------------------------------------------------------------------------


def one_against_one(X, y, row):
    """Pairs of classes by `by_hand`, with exact shares, coupled as Price et al. did; y holds every class."""
    n_classes = len(row)
    beats = np.ones((n_classes, n_classes))
    for i in range(n_classes):
        for j in range(n_classes):
            if i != j:
                rows = [k for k in range(len(y)) if y[k] in (i, j)]
                shares = np.array([share(X[k][i], X[k][j]) for k in rows])
                p0, p1 = by_hand(shares, np.array([y[k] == i for k in rows]), share(row[i], row[j]))
                beats[i, j] = p1 / (1 - p0 + p1)
    p = [1 / (sum(1 / beats[i, j] for j in range(n_classes) if j != i) - (n_classes - 2)) for i in range(n_classes)]
    return np.array(p) / sum(p)


def share(own, other):
    """own / (own + other) as a fraction of tenths, rounded at the end: equal ratios are equal floats."""
    own, other = round(10 * own), round(10 * other)
    return float(Fraction(own, own + other)) if own + other else 0.5


def tenths(n, n_classes, seed=0):
    """Rows of tenths, many of them 0 or with equal ratios, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.multinomial(10, rng.dirichlet(np.full(n_classes, 0.7), n)) / 10
    return X, (X.cumsum(axis=1) < rng.random((n, 1)) * (1 - 1e-9)).sum(axis=1)


@pytest.mark.parametrize("n_classes", [3, 4])
def test_one_against_one_by_hand(n_classes):
    """A map for each pair, fitted to its rows, and their probabilities coupled: with ties, and pairs of two zeros."""
    X, y = tenths(60, n_classes)
    assert ((X[:, 0] == 0) & (X[:, 1] == 0)).any()
    model = VennAbers(multi_class="ovo").fit(X, y)
    assert len(model.maps_) == n_classes * (n_classes - 1) / 2
    np.testing.assert_allclose(model.transform(X[:25]), [one_against_one(X, y, row) for row in X[:25]], atol=1e-12)
    np.testing.assert_allclose(model.transform(X).sum(axis=1), 1, atol=1e-14)


def test_one_against_one_in_any_order():
    """The order of rows and of classes does not matter where scores have ties, and weights are repetitions."""
    X, y = tenths(200, 4)
    model = VennAbers(multi_class="ovo").fit(X, y)
    rng = np.random.default_rng(1)
    rows = rng.permutation(len(y))
    np.testing.assert_array_equal(VennAbers(multi_class="ovo").fit(X[rows], y[rows]).transform(X), model.transform(X))
    for order in ([3, 2, 1, 0], [2, 0, 3, 1]):
        moved = VennAbers(multi_class="ovo").fit(X[:, order], np.argsort(order)[y])
        np.testing.assert_allclose(moved.transform(X[:, order]), model.transform(X)[:, order], atol=1e-13)
    times = rng.integers(0, 4, len(y))
    weighted = VennAbers(multi_class="ovo").fit(X, y, sample_weight=times).transform(X)
    repeated = VennAbers(multi_class="ovo").fit(np.repeat(X, times, axis=0), np.repeat(y, times)).transform(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-13)


def test_one_against_one_of_two_classes_is_the_map_of_one_event():
    """For one event and for two columns the setting changes nothing, intervals and cells included."""
    p, y = binary()
    for X in (p, np.column_stack([1 - p, p])):
        one, other = VennAbers(multi_class="ovo").fit(X, y), VennAbers().fit(X, y)
        np.testing.assert_array_equal(one.transform(X), other.transform(X))
        np.testing.assert_array_equal(one.predict_interval(X), other.predict_interval(X))
    cells = CellStats.of(Predictions(p, y))
    np.testing.assert_array_equal(
        VennAbers(multi_class="ovo").fit_from_cells(cells).transform(p), VennAbers().fit_from_cells(cells).transform(p)
    )


@pytest.mark.parametrize("input", ["probabilities", "logits"])
def test_one_against_one_of_logits(input):
    """Logits give what their probabilities give; without one class, its share in each pair is left as it is."""
    p, labels = multiclass()
    X = p if input == "probabilities" else np.log(p) + 3
    model = VennAbers(multi_class="ovo", input=input).fit(X, labels)
    np.testing.assert_allclose(model.transform(X), VennAbers(multi_class="ovo").fit(p, labels).transform(p), atol=1e-9)
    seen = labels < 2
    two = VennAbers(multi_class="ovo", input=input).fit(X[seen], labels[seen])
    assert [one is None for one in two.maps_] == [False, True, True, True, True, True]
    found = two.transform(X)
    np.testing.assert_allclose(found[:, 2] / found[:, 3], p[:, 2] / p[:, 3], rtol=1e-9)
    of_pair = VennAbers().fit(p[seen, 1] / (p[seen, 0] + p[seen, 1]), labels[seen] == 1)
    r = of_pair.transform(p[:, 1] / (p[:, 0] + p[:, 1]))
    by_hand = np.column_stack(
        [
            1 / (1 / (1 - r) + p[:, 2] / p[:, 0] + p[:, 3] / p[:, 0]),
            1 / (1 / r + p[:, 2] / p[:, 1] + p[:, 3] / p[:, 1]),
            p[:, 2],
            p[:, 3],
        ]
    )
    np.testing.assert_allclose(found, by_hand / by_hand.sum(axis=1, keepdims=True), atol=1e-9)


def test_one_against_one_of_raw_scores_needs_every_class():
    """A class that did not occur has no probabilities to keep."""
    p, labels = multiclass()
    with pytest.raises(InputError, match="class 2 does not occur in y, so its scores cannot be turned into"):
        VennAbers(multi_class="ovo", input="scores").fit(np.log(p)[labels != 2], labels[labels != 2])


def test_one_against_one_has_no_intervals_and_no_cells():
    """For three classes or more both are errors that say why; an ensemble averages probabilities."""
    p, labels = multiclass()
    model = VennAbers(multi_class="ovo").fit(p, labels)
    with pytest.raises(UndefinedError, match=r"none for a class against the rest: use multi_class='ovr'"):
        model.predict_interval(p)
    source = Predictions(p, labels)
    with pytest.raises(
        UndefinedError, match=r"VennAbers\(multi_class='ovo'\) needs the rows for more than two classes"
    ):
        VennAbers(multi_class="ovo").fit_from_cells(CellStats.of(source, source.view("classwise")))
    whole = Recalibrated(GaussianNB(), VennAbers(multi_class="ovo"), cv=3, ensemble=True).fit(p, labels)
    parts = [
        method.predict_proba(model.predict_proba(p))
        for model, method in zip(whole.estimators_, whole.methods_, strict=True)
    ]
    np.testing.assert_allclose(whole.predict_proba(p), np.mean(parts, axis=0), atol=1e-14)


def test_one_against_one_is_saved():
    """Three maps of pairs are not those of three classes; the default is not written, as it was not in old files."""
    X, y = tenths(90, 3)
    model = VennAbers(multi_class="ovo").fit(X, y)
    saved = json.loads(model.to_json())
    assert saved["settings"] == {"multi_class": "ovo"}
    assert len(saved["maps"]) == 3
    loaded = load_recalibrator(json.dumps(saved))
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    assert clone(loaded).multi_class == "ovo"
    assert json.loads(VennAbers().fit(X, y).to_json())["settings"] == {}
    assert load_recalibrator(json.dumps(saved | {"settings": {}})).multi_class == "ovr"
    for settings in ({"multi_class": "all"}, {"multi_class": None}, {"multi_class": "ovo", "more": 1}):
        with pytest.raises(SchemaError, match="the saved settings of VennAbers"):
            load_recalibrator(json.dumps(saved | {"settings": settings}))
    X, y = tenths(90, 4)
    four = json.loads(VennAbers(multi_class="ovo").fit(X, y).to_json())
    with pytest.raises(SchemaError, match="the saved maps of VennAbers do not fit 4 classes"):
        load_recalibrator(json.dumps(four | {"settings": {}}))


def test_other_ways_with_several_classes_are_refused():
    """A word that is not known, and one against one inside one against the rest."""
    X, y = tenths(60, 3)
    with pytest.raises(InputError, match="multi_class must be one of 'ovr', 'ovo', got 'all'"):
        VennAbers(multi_class="all").fit(X, y)
    with pytest.raises(InputError, match="method must be a recalibrator of one event"):
        OneVsRest(VennAbers(multi_class="ovo")).fit(X, y)
