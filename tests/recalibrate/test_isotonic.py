"""Isotonic calibration: the min-max formula, its limits, and scikit-learn's where the definitions agree."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from believable import CellStats, Predictions, _kernels
from believable._kernels import isotonic as routine
from believable.errors import InputError, SchemaError
from believable.recalibrate import IsotonicCalibration, load_recalibrator
from tests.recalibrate.data import binary, logit, multiclass

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")


def pooled(score, y, w=None):
    """Distinct scores, weights and weights of positives, in exact fractions."""
    w = np.ones(len(y)) if w is None else w
    at = sorted(set(score.tolist()))
    rows = [np.flatnonzero(score == s) for s in at]
    return (
        at,
        [sum(Fraction(w[i]) for i in here) for here in rows],
        [sum(Fraction(w[i]) * int(y[i]) for i in here) for here in rows],
    )


def min_max(w, wy):
    """max over a <= i of min over b >= i of the mean of a..b."""
    n = len(w)
    mean = {(a, b): sum(wy[a : b + 1]) / sum(w[a : b + 1]) for a in range(n) for b in range(a, n)}
    return [max(min(mean[a, b] for b in range(i, n)) for a in range(i + 1)) for i in range(n)]


def line(x, knots, values):
    """Straight lines between knots, level beyond them."""
    if x <= knots[0]:
        return values[0]
    for left, right, low, high in zip(knots, knots[1:], values, values[1:], strict=False):
        if x <= right:
            return low + (high - low) * (x - left) / (right - left)
    return values[-1]


def centred_knots(at, w, wy):
    """Oron and Flournoy: runs of one value, but for 0 and 1, at their weighted mean score."""
    value, knots, values, i = min_max(w, wy), [], [], 0
    while i < len(at):
        j = i
        while j + 1 < len(at) and value[j + 1] == value[i]:
            j += 1
        if value[i] in (0, 1):
            places = [Fraction(at[i])] + ([Fraction(at[j])] if j > i else [])
        else:
            places = [sum(w[k] * Fraction(at[k]) for k in range(i, j + 1)) / sum(w[i : j + 1])]
        knots += places
        values += [value[i]] * len(places)
        i = j + 1
    return knots, values


def problem(seed, n=25):
    """Few distinct scores where the seed is even, weights where it is a multiple of three."""
    rng = np.random.default_rng(seed)
    score = rng.integers(0, 12, n) / 16 if seed % 2 == 0 else rng.random(n)
    y = (rng.random(n) < 0.2 + 0.6 * score).astype(int)
    y[:2] = 0, 1
    return score, y, (rng.integers(1, 5, n) / 4 if seed % 3 == 0 else None)


GRID = np.linspace(0, 1, 41)


@pytest.mark.parametrize("seed", range(12))
def test_min_max_formula(seed):
    """At calibration scores it is the min-max formula, between them straight lines, beyond them level."""
    score, y, w = problem(seed)
    model = IsotonicCalibration().fit(score, y, sample_weight=w)
    at, weight, happened = pooled(score, y, w)
    value = [float(v) for v in min_max(weight, happened)]
    np.testing.assert_allclose(model.transform(at), value, rtol=1e-14)
    np.testing.assert_allclose(model.transform(GRID), [line(x, at, value) for x in GRID], rtol=0, atol=1e-14)


@pytest.mark.parametrize("seed", range(12))
def test_steps(seed):
    """Steps take the value of the nearest calibration score that is not above, or of the first."""
    score, y, w = problem(seed)
    model = IsotonicCalibration(between="steps").fit(score, y, sample_weight=w)
    at, weight, happened = pooled(score, y, w)
    value = [float(v) for v in min_max(weight, happened)]
    asked = np.concatenate([GRID, at])
    literal = [value[max([i for i, s in enumerate(at) if s <= x], default=0)] for x in asked]
    np.testing.assert_allclose(model.transform(asked), literal, rtol=1e-14)


@pytest.mark.parametrize("seed", range(12))
def test_centred(seed):
    """Centred, every flat piece but those at 0 and 1 is one point at its mean score; lines join them."""
    score, y, w = problem(seed)
    model = IsotonicCalibration(centred=True).fit(score, y, sample_weight=w)
    knots, values = centred_knots(*pooled(score, y, w))
    literal = [float(line(Fraction(x), knots, values)) for x in GRID]
    np.testing.assert_allclose(model.transform(GRID), literal, rtol=0, atol=1e-13)
    learnt = model.maps_[0]
    inside = (learnt["values"] > 0) & (learnt["values"] < 1)
    assert np.all(np.diff(learnt["values"][inside]) > 0)


@pytest.mark.parametrize("weighted", [False, True])
def test_scikit_learn(weighted):
    """Without near-ties it is scikit-learn's IsotonicRegression that clips."""
    p, y = binary(3000)
    p = np.where(np.arange(3000) % 3 == 0, p.round(2), p)
    w = np.random.default_rng(5).random(3000) + 0.1 if weighted else None
    peer = IsotonicRegression(out_of_bounds="clip").fit(p, y, w)
    new = np.random.default_rng(6).random(2000)
    mine = IsotonicCalibration().fit(p, y, sample_weight=w)
    np.testing.assert_allclose(mine.transform(new), peer.predict(new), rtol=0, atol=1e-12)
    np.testing.assert_allclose(mine.transform(p), peer.predict(p), rtol=0, atol=1e-12)


def test_near_ties_are_not_pooled():
    """Scores that differ by less than 1e-15 are two, which scikit-learn makes one."""
    low = 1e-16
    score, y = np.array([low, 2 * low] * 50), [0, 1] * 50
    assert IsotonicCalibration().fit(score, y).transform([low, 2 * low]).tolist() == [0, 1]
    assert IsotonicRegression().fit(score, y).predict([low, 2 * low]).tolist() == [0.5, 0.5]


def test_zeros_of_either_sign_are_one_score():
    """-0.0 and 0.0 are a tie."""
    model = IsotonicCalibration(input="scores").fit([-0.0, 0.0, -0.0, 0.0, 1.0], [0, 1, 1, 0, 1])
    assert model.transform([-0.0, 0.0]).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("between", ["linear", "steps"])
@pytest.mark.parametrize("weighted", [False, True])
def test_mean_is_kept_and_refitting_changes_nothing(between, weighted):
    """Non-decreasing, mean-preserving on the calibration set, idempotent."""
    p, y = binary(2000)
    w = np.random.default_rng(1).random(2000) if weighted else None
    out = IsotonicCalibration(between=between).fit(p, y, sample_weight=w).transform(p)
    assert np.all(np.diff(out[np.argsort(p)]) >= 0)
    assert np.average(out, weights=w) == pytest.approx(np.average(y, weights=w), abs=1e-14)
    again = IsotonicCalibration(between=between).fit(out, y, sample_weight=w)
    np.testing.assert_allclose(again.transform(out), out, rtol=0, atol=1e-15)


def test_no_better_map():
    """Its squared error and log loss are below those of other non-decreasing maps."""
    p, y = binary(1000)
    out = IsotonicCalibration().fit(p, y).transform(p)

    def losses(q):
        q = np.clip(q, 1e-300, 1 - 1e-16)
        return np.mean((q - y) ** 2), -np.mean(np.where(y == 1, np.log(q), np.log1p(-q)))

    for other in (p, p**0.5, 0.9 * out + 0.05, np.clip(out, 0.1, 0.9)):
        assert all(mine < theirs for mine, theirs in zip(losses(out), losses(other), strict=True))


def test_only_ends_of_flat_pieces_are_saved():
    """The saved map holds no knot that a line through its neighbours would give."""
    p, y = binary(2000)
    learnt = IsotonicCalibration().fit(p, y).maps_[0]
    assert len(learnt["scores"]) < 100
    values = learnt["values"]
    assert not np.any((values[2:] == values[1:-1]) & (values[1:-1] == values[:-2]))
    steps = IsotonicCalibration(between="steps").fit(p, y).maps_[0]
    assert np.all(np.diff(steps["values"]) > 0)


@pytest.mark.parametrize("centred", [False, True])
def test_rises_in_spite_of_rounding(centred):
    """On neighbouring floats too the map neither falls nor leaves [0, 1]."""
    p, y = binary(500)
    model = IsotonicCalibration(centred=centred).fit(p, y)
    knots = model.maps_[0]["scores"]
    near = np.sort(np.concatenate([knots, np.nextafter(knots, 0), np.nextafter(knots, 1), GRID]))
    out = model.transform(near)
    assert np.all(np.diff(out) >= 0)
    assert out.min() >= 0
    assert out.max() <= 1


def test_logits_do_not_saturate():
    """Logits so large that their probabilities are all 1 are still told apart."""
    z, y = np.array([50.0, 60.0, 70.0, 80.0] * 10), np.array([0, 0, 1, 1] * 10)
    model = IsotonicCalibration(input="logits").fit(z, y)
    assert model.transform([55.0, 65.0, 75.0]).tolist() == [0, 0.5, 1]
    p, y = binary()
    assert IsotonicCalibration(input="logits").fit(logit(p), y).transform(logit(p)) == pytest.approx(
        IsotonicCalibration().fit(p, y).transform(p), abs=1e-14
    )


def test_scores_of_any_size():
    """Scores at the ends of what float64 holds are mapped without overflow."""
    far = np.finfo(float).max
    score, y = np.array([-far, -1.0, 5e-324, 1.0, far]), np.array([0, 1, 0, 1, 1])
    for settings in ({}, {"centred": True}, {"between": "steps"}):
        out = IsotonicCalibration(input="scores", **settings).fit(score, y).transform([*score, far / 2])
        assert np.isfinite(out).all()
        assert np.all(np.diff(out[np.argsort([*score, far / 2])]) >= 0)


def test_limits():
    """Constant scores and reversed ones get the base rate, two rows a line or a level."""
    assert IsotonicCalibration().fit([0.3] * 4, [0, 1, 1, 1]).transform([0, 0.3, 1]).tolist() == [0.75] * 3
    assert IsotonicCalibration().fit([0.9, 0.8, 0.2, 0.1], [0, 0, 1, 0]).transform([0.0, 1.0]) == pytest.approx(
        [0, 1 / 3]
    )
    assert IsotonicCalibration().fit([0.7, 0.2], [0, 1]).transform([0, 0.5, 1]).tolist() == [0.5] * 3
    assert IsotonicCalibration().fit([0.25, 0.75], [0, 1]).transform([0.1, 0.5, 0.9]).tolist() == [0, 0.5, 1]
    assert IsotonicCalibration(centred=True).fit([0.7, 0.2], [0, 1]).transform([0, 0.5, 1]).tolist() == [0.5] * 3


def test_classes_are_taken_one_against_the_rest():
    """K columns are K maps, and rows divided by their sums."""
    p, labels = multiclass()
    columns = [IsotonicRegression(out_of_bounds="clip").fit(p[:, k], labels == k).predict(p[:, k]) for k in range(4)]
    literal = np.column_stack(columns)
    literal /= literal.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(IsotonicCalibration().fit(p, labels).transform(p), literal, rtol=0, atol=1e-12)


def test_cells_are_points_at_their_mean():
    """From cells it is the map of one row per cell, at its mean score, as heavy as the cell."""
    p, y = binary(3000)
    cells = CellStats.of(Predictions(p, y), cells=100)
    mean, share = cells.wp / cells.w, cells.wy / cells.w
    literal = IsotonicRegression(out_of_bounds="clip").fit(mean, share, cells.w).predict(GRID)
    np.testing.assert_allclose(IsotonicCalibration().fit_from_cells(cells).transform(GRID), literal, rtol=0, atol=1e-12)


# --- many rows: cells first, then only the rows that can matter -------------------------------------------------------

SHAPES = {
    "spread": lambda rng, n: rng.random(n),
    "logits": lambda rng, n: 3 * rng.normal(size=n),
    "tied": lambda rng, n: rng.random(n).round(2),
    "heaped": lambda rng, n: np.where(rng.random(n) < 0.99, 0.5, rng.random(n)),
    "far out": lambda rng, n: rng.standard_cauchy(n) ** 3,
    "constant": lambda rng, n: np.full(n, 0.3),
    "opposite": lambda rng, n: rng.choice([-1.7e308, 1.7e308], n),
    "huge": lambda rng, n: rng.normal(size=n) * 2e307,
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rate", ["rising", "level", "rare", "falling"])
@pytest.mark.parametrize("weighted", [False, True])
def test_cells_and_rows_give_the_same_pieces(shape, rate, weighted, monkeypatch):
    """Pooling whole cells beforehand changes neither pieces nor their ends."""
    rng = np.random.default_rng(7)
    n = 20_000
    score = SHAPES[shape](rng, n)
    rank = np.argsort(np.argsort(score)) / n
    y = rng.random(n) < {"rising": rank, "level": 0.4, "rare": 0.01 * rank, "falling": 1 - rank}[rate]
    w = rng.random(n) + 0.01 if weighted else np.broadcast_to(1.0, n)
    quick = _kernels.flat_pieces(score, w, w * y)
    monkeypatch.setattr(routine, "ROWS_FOR_CELLS", n + 1)
    plain = _kernels.flat_pieces(score, w, w * y)
    for name in ("first", "last"):
        np.testing.assert_array_equal(getattr(quick, name), getattr(plain, name))
    np.testing.assert_allclose(quick.value, plain.value, rtol=1e-12)
    np.testing.assert_allclose(quick.middle, plain.middle, rtol=1e-9, atol=1e-12 * np.abs(score).max())


# --- sentences --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"between": "cubic"}, "between must be one of 'linear', 'steps', got 'cubic'"),
        ({"centred": "yes"}, "centred must be True or False, got 'yes'"),
        ({"centred": True, "between": "steps"}, "centred=True joins points with lines: use it with between='linear'"),
    ],
)
def test_settings(settings, sentence):
    """Choices that make no sense are refused with a sentence."""
    with pytest.raises(InputError) as error:
        IsotonicCalibration(**settings).fit(*binary())
    assert str(error.value) == sentence


def test_saved_knots_must_match():
    """A saved map whose knots and values are not as many is refused."""
    saved = json.loads(IsotonicCalibration().fit(*binary()).to_json())
    saved["maps"][0]["values"].pop()
    with pytest.raises(SchemaError, match="the saved scores and values must have the same length"):
        load_recalibrator(json.dumps(saved))
