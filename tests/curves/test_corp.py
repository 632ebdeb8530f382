"""The CORP curve: the isotonic fit, and bands that hold what they say."""

import numpy as np
import pytest

from believable import CellStats, Predictions, corp_curve
from believable.errors import InputError, UndefinedError
from tests.metrics.literal import BINARY, MATRIX, SOFT, over, pairs
from tests.metrics.test_corp_decomposition import pooled

BANDS = pytest.mark.parametrize("band", ["consistency", "confidence"])


def ask(data, **choices):
    checked = Predictions(data.scores, data.labels, sample_weight=data.weights, soft_labels=data.kind == "soft")
    return corp_curve(checked, **choices)


@over(BINARY, SOFT, MATRIX)
def test_definition(data):
    """A point for each distinct score, at the rate that pooling adjacent violators gives it."""
    (rows,) = pairs(data)
    curve = ask(data)
    expected = pooled(rows)
    assert curve.x.tolist() == sorted(expected)
    assert curve.y == pytest.approx([expected[x] for x in curve.x.tolist()], rel=1e-12, abs=1e-15)
    assert curve.weight.sum() == pytest.approx(sum(w for _, _, w in rows), rel=1e-12)
    assert curve.low is curve.high is None
    assert curve.method == "corp"


@over(BINARY, MATRIX)
@BANDS
def test_bands_are_curves(data, band):
    """Both ends rise with the score and stay in [0, 1], whatever the data."""
    curve = ask(data, band=band, n_resamples=20, random_state=1)
    for end in (curve.low, curve.high):
        assert np.all(np.diff(end) >= -1e-12)
        assert end.min() >= 0
        assert end.max() <= 1 + 1e-12
    assert np.all(curve.low <= curve.high)
    assert curve.settings["band_points"] == len(curve.x)


@BANDS
def test_one_score(band):
    """Of a constant score the band is that of a proportion."""
    curve = corp_curve(np.full(400, 0.3), np.arange(400) < 120, band=band, n_resamples=4000, random_state=0)
    half = 1.96 * np.sqrt(0.3 * 0.7 / 400)
    assert (curve.low[0], curve.high[0]) == pytest.approx((0.3 - half, 0.3 + half), abs=0.004)


@BANDS
def test_weights_widen_a_band(band):
    """Rows of unequal weight at one score tell as much as (sum w)^2 / sum w^2 rows."""
    weights = np.where(np.arange(400) % 2, 3.0, 1.0)
    happened = np.arange(400) % 20 < 6
    curve = corp_curve(np.full(400, 0.3), happened, band=band, n_resamples=4000, random_state=0, sample_weight=weights)
    n = weights.sum() ** 2 / (weights**2).sum()
    assert curve.high[0] - curve.low[0] == pytest.approx(
        2 * 1.96 * np.sqrt(0.21 / n), rel=0.08
    )  # quantiles of 4,000 draws of a count


@BANDS
def test_weights_of_a_common_factor(band):
    """Weights that are all equal are none."""
    data = BINARY["random"]
    choices = {"band": band, "n_resamples": 50, "random_state": 3}
    plain = corp_curve(data.scores, data.labels, **choices)
    same = corp_curve(data.scores, data.labels, sample_weight=np.full(200, 0.5), **choices)
    assert same.low == pytest.approx(plain.low, abs=1e-12)
    assert same.high == pytest.approx(plain.high, abs=1e-12)


@BANDS
def test_many_scores_share_band_points(band):
    """With more than 500 distinct scores the band is that of at most 500 groups, and much the same."""
    rng = np.random.default_rng(5)
    p = np.round(rng.random(5000), 2)
    spread = np.clip(p + rng.uniform(-0.004, 0.004, 5000), 0, 1)
    y = rng.random(5000) < p
    coarse = corp_curve(p, y, band=band, random_state=0, n_resamples=300)
    fine = corp_curve(spread, y, band=band, random_state=0, n_resamples=300)
    assert 490 < fine.settings["band_points"] <= 500 < len(fine.x) == len(fine.low)
    inside = (fine.x > 0.1) & (fine.x < 0.9)
    high = np.interp(fine.x[inside], coarse.x, coarse.high)
    assert np.abs(fine.high[inside] - high).mean() < 0.02


def test_consistency_bands_hold_calibrated_curves():
    """At a score, the curve of calibrated scores is in the band about as often as it says."""
    rng = np.random.default_rng(6)
    p = np.repeat(np.arange(1, 20) / 20, 15)
    band = corp_curve(p, rng.random(len(p)) < p, band="consistency", level=0.9, random_state=1)
    inside = []
    for _ in range(300):
        y = corp_curve(p, rng.random(len(p)) < p).y
        inside.append((band.low <= y) & (y <= band.high))
    assert np.all(np.mean(inside, axis=0) >= 0.84)
    assert 0.88 <= np.mean(inside) <= 0.97


def test_confidence_bands_hold_the_truth():
    """Away from the ends, the true rate at a score is in the band nearly as often as it says."""
    rng = np.random.default_rng(7)
    p = np.repeat(np.arange(1, 20) / 20, 30)
    inside = []
    for seed in range(60):
        curve = corp_curve(
            p, rng.random(len(p)) < p**2, band="confidence", level=0.9, n_resamples=150, random_state=seed
        )
        inside.append(((curve.low <= curve.x**2) & (curve.x**2 <= curve.high))[6:13])
    assert 0.82 <= np.mean(inside) <= 0.97


@BANDS
def test_randomness_is_an_argument(band):
    """The same seed gives the same band."""
    data = BINARY["random"]
    one, other = (corp_curve(data.scores, data.labels, band=band, n_resamples=30, random_state=9) for _ in range(2))
    assert one.low.tolist() == other.low.tolist()


def test_the_curve_is_the_callers():
    """Changing it changes nothing that is remembered."""
    checked = Predictions(BINARY["random"].scores, BINARY["random"].labels)
    curve = corp_curve(checked)
    curve.x[:], curve.weight[:] = 0, 0
    assert corp_curve(checked).x[-1] > 0.9


def test_cells():
    """On a grid that holds the scores cells give the curve of the data."""
    checked = Predictions(BINARY["ties"].scores, BINARY["ties"].labels)
    one, other = corp_curve(CellStats.of(checked)), corp_curve(checked)
    assert one.x == pytest.approx(other.x, rel=1e-12)
    assert one.y == pytest.approx(other.y, rel=1e-12)


def test_refusals():
    """Several groups and unknown choices are errors."""
    with pytest.raises(UndefinedError, match="the CORP curve needs one set of scores, but there are 4"):
        corp_curve(MATRIX["random"].scores, MATRIX["random"].labels, notion="classwise")
    with pytest.raises(InputError, match="band must be one of None, 'consistency', 'confidence'"):
        corp_curve([0.5], [1], band="both")
    with pytest.raises(InputError, match="n_resamples"):
        corp_curve([0.5], [1], band="confidence", n_resamples=0)
    with pytest.raises(InputError, match="level"):
        corp_curve([0.5], [1], level=0)
    with pytest.raises(InputError, match="random_state"):
        corp_curve([0.5], [1], random_state="one")
