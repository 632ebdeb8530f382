"""What a plan foretells, against plain loops, `noise_floor` and `interval`; and the laws it obeys."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from believable import Predictions, expected_precision, interval, noise_floor, observed_expected_ratio, rows_needed
from believable.errors import InputError
from believable.inference.rows_needed import _concentration

FIELDS = ("floor", "floor_q95", "width", "slope_width", "oe_width")
RATES, AUCS, BINS = st.floats(0.002, 0.998), st.floats(0.55, 0.98), st.integers(1, 40)
STRATEGIES = st.sampled_from(["uniform", "quantile"])


def beta_scores(n, rate, auc, seed=0):
    k = _concentration(rate, auc)
    return np.random.default_rng(seed).beta(rate * k, (1 - rate) * k, n)


def literal(p, n_draws, n_bins, seed=1):
    """The ECE of a perfect model, over and over: rows dropped into bins one by one."""
    rng, found = np.random.default_rng(seed), []
    bins = [min(int(np.ceil(score * n_bins)), n_bins) - 1 for score in p]
    for _ in range(n_draws):
        gap = [0.0] * n_bins
        for m, score, toss in zip(bins, p.tolist(), rng.random(len(p)).tolist(), strict=True):
            gap[m] += (toss < score) - score
        found.append(sum(map(abs, gap)) / len(p))
    return np.array(found)


def test_floor_is_that_of_a_plain_loop():
    """Mean and 95 % quantile of the floor are those of outcomes drawn row by row."""
    p = beta_scores(200, 0.3, 0.8)
    drawn = literal(p, 400, 8)
    planned = expected_precision(200, n_bins=8, scores=p)
    assert planned.floor == pytest.approx(drawn.mean(), rel=0.05)
    assert planned.floor_q95 == pytest.approx(np.quantile(drawn, 0.95), rel=0.07)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize(
    ("n", "n_bins", "rate", "auc"), [(200, 15, 0.5, 0.9), (1000, 5, 0.05, 0.8), (5000, 20, 0.2, 0.7)]
)
def test_floor_is_that_of_noise_floor(n, n_bins, rate, auc, strategy):
    """With Beta distributed scores the floor is what `noise_floor` draws, to 4 % with 50 events or more."""
    options = {"n_bins": n_bins, "strategy": strategy}
    drawn = [
        noise_floor("ece", beta_scores(n, rate, auc, seed), options=options, n_resamples=200, random_state=seed)
        for seed in range(30)
    ]
    planned = expected_precision(n, base_rate=rate, auc=auc, **options)
    assert planned.floor == pytest.approx(np.mean([one.mean for one in drawn]), rel=0.04)
    assert planned.floor_q95 == pytest.approx(np.mean([one.q95 for one in drawn]), rel=0.05)


def test_width_is_that_of_interval():
    """Planned is a width that most intervals of the ECE of an over-confident model keep, by at most 15 %.

    Eight intervals say little about the one that four in five keep, which `benchmarks.rows` measures.
    """
    widths, rng = [], np.random.default_rng(0)
    for seed in range(8):
        p = beta_scores(1000, 0.3, 0.8, seed)
        extreme = 1 / (1 + ((1 - p) / p) ** 1.8)
        found = interval("ece", extreme, rng.random(1000) < p, n_resamples=200, random_state=seed)
        widths.append(found.high - found.low)
    planned = expected_precision(1000, base_rate=0.3).width
    assert np.median(widths) <= planned <= 1.15 * np.mean(widths)


def test_slope_and_oe_are_those_of_the_likelihood():
    """The widths of slope and O:E come from the inverse of Fisher's information, row by row."""
    p = beta_scores(3000, 0.2, 0.75)
    weight, logit = p * (1 - p), np.log(p / (1 - p))
    design = np.column_stack([np.ones(3000), logit])
    covariance = np.linalg.inv(design.T @ (weight[:, None] * design))
    planned = expected_precision(3000, scores=p)
    z, kept = 1.959964, 0.8416212  # the 97.5 % and 80 % quantiles of the normal distribution
    off = logit - np.average(logit, weights=weight)
    j = np.mean(weight * off**2)
    varies = np.mean(weight**2 * off**4) / j**2 - 1
    varies += np.mean(weight * (1 - 2 * p) * off**2) ** 2 / (j**2 * weight.mean())
    varies += np.mean(weight * (1 - 2 * p) * off**3) ** 2 / j**3
    wider = 1 + 1.8 * kept * np.sqrt(varies / 4 / 3000)
    assert planned.slope_width == pytest.approx(2 * z * np.sqrt(covariance[1, 1]) * wider, rel=1e-6)
    se = np.sqrt(weight.sum()) / p.sum()
    varies = np.mean(p * (1 - p) ** 4 + (1 - p) * p**4) - weight.mean() ** 2  # of (y - p)^2
    wider = 1 + kept * np.sqrt(varies / 4 / 3000) / weight.mean()
    assert planned.oe_width == pytest.approx((np.exp(z * se) - np.exp(-z * se)) * wider, rel=1e-6)


@pytest.mark.parametrize(("n", "rate", "auc"), [(400, 0.5, 0.8), (1000, 0.2, 0.9), (600, 0.05, 0.8)])
def test_four_samples_in_five_keep_the_widths(n, rate, auc):
    """Of 100 samples, 68 to 97 have intervals of the slope and of O:E that are no wider than planned (once: half)."""
    planned, kept = expected_precision(n, base_rate=rate, auc=auc), np.zeros(2)
    for seed in range(100):
        p = beta_scores(n, rate, auc, seed)
        y = np.random.default_rng(seed).random(n) < p
        slope, ratio = interval("slope", p, y), observed_expected_ratio(p, y)
        kept += slope.high - slope.low <= planned.slope_width, ratio.high - ratio.low <= planned.oe_width
    assert kept.min() >= 68
    assert kept.max() <= 97


@pytest.mark.parametrize(("rate", "auc"), [(0.5, 0.8), (0.05, 0.9), (0.9, 0.6)])
def test_typical_scores_have_the_rate_and_auc_asked_for(rate, auc):
    """Calibrated Beta scores have the base rate and the AUC; all else is as with so many scores of one's own."""
    p = beta_scores(400_000, rate, auc)
    spread = np.mean(np.abs(p[:200_000] - p[200_000:]))
    assert p.mean() == pytest.approx(rate, rel=0.01)
    assert 0.5 + spread / (4 * rate * (1 - rate)) == pytest.approx(auc, abs=0.005)
    for strategy in ("uniform", "quantile"):
        typical = expected_precision(1000, base_rate=rate, auc=auc, strategy=strategy)
        own = expected_precision(1000, scores=p, strategy=strategy)
        for name in FIELDS:
            assert getattr(own, name) == pytest.approx(getattr(typical, name), rel=0.01)


@settings(max_examples=60, deadline=None)
@given(n=st.integers(10, 10**6), n_bins=BINS, rate=RATES, auc=AUCS, strategy=STRATEGIES)
def test_more_rows_tell_more(n, n_bins, rate, auc, strategy):
    """All widths and floors shrink with rows; four times as many halve the widths, or more, and the floor."""
    choices = {"n_bins": n_bins, "base_rate": rate, "auc": auc, "strategy": strategy}
    few, more, many = (expected_precision(rows, **choices) for rows in (n, 4 * n, 10**9))
    assert all(getattr(more, name) < getattr(few, name) for name in FIELDS if getattr(few, name) < 1e300)
    assert few.floor <= few.floor_q95
    assert more.width <= few.width / 2 * (1 + 1e-9) or few.width == 1
    assert more.slope_width <= few.slope_width / 2 * (1 + 1e-9)
    most = expected_precision(4 * 10**9, **choices)
    for name in FIELDS[:1] + FIELDS[2:]:
        assert getattr(most, name) == pytest.approx(getattr(many, name) / 2, rel=2e-3)


@settings(max_examples=60, deadline=None)
@given(n=st.integers(10, 10**6), n_bins=BINS, rate=RATES, auc=AUCS, strategy=STRATEGIES)
def test_what_happens_and_what_does_not_are_alike(n, n_bins, rate, auc, strategy):
    """A base rate b and 1 - b give the same, but for O:E, which is about what happens."""
    one, other = (
        expected_precision(n, n_bins=n_bins, base_rate=b, auc=auc, strategy=strategy) for b in (rate, 1 - rate)
    )
    for name in FIELDS[:-1]:
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-6)
    assert (one.oe_width > other.oe_width * (1 + 1e-9)) == (rate < 0.5) or rate == pytest.approx(0.5)


@settings(max_examples=40, deadline=None)
@given(n=st.integers(20, 10**5), n_bins=BINS, rate=RATES, auc=AUCS)
def test_more_bins_have_a_higher_floor(n, n_bins, rate, auc):
    """Splitting every bin in two raises the floor, and leaves the widths as they are."""
    one, twice = (expected_precision(n, n_bins=m, base_rate=rate, auc=auc) for m in (n_bins, 2 * n_bins))
    assert twice.floor >= one.floor * (1 - 1e-12)
    assert twice.width == pytest.approx(one.width)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["floor", "width", "slope_width", "oe_width"]), st.floats(0.003, 0.5), RATES, AUCS)
def test_rows_needed_are_the_fewest_that_do(name, wish, rate, auc):
    """The rows needed do, and one row less does not, or expects fewer than 15 events."""
    found = rows_needed(**{name: wish}, base_rate=rate, auc=auc)
    assert getattr(found, name) <= wish
    less = expected_precision(found.n - 1, base_rate=rate, auc=auc)
    assert getattr(less, name) > wish or less.events < 15 <= found.events


def test_rows_needed_bring_events():
    """No small number of rows is promised where nothing would happen in them: 15 events are to be expected."""
    assert rows_needed(width=0.02, base_rate=0.001).n == 15_000
    assert rows_needed(floor=0.3).n == 30
    rare = np.full(500, 0.001)
    assert rows_needed(width=0.02, scores=rare).events == pytest.approx(15, rel=1e-3)


def test_width_without_events_is_no_promise():
    """Why so: for 300 rows with a base rate of 0.001 most samples have no event, and O:E no interval of that width."""
    p = beta_scores(300, 0.001, 0.8)
    assert expected_precision(300, base_rate=0.001).oe_width > 50
    assert interval("oe", p, np.zeros(300, int)).high < 20


def test_an_error_is_never_larger_than_one():
    """Neither the quantile of the floor nor the width is said to be more than an ECE can be."""
    one = expected_precision(1)
    assert (one.floor_q95, one.width) == (1, 1)


def test_several_wishes():
    """Of several wishes the one that takes most rows decides."""
    each = [rows_needed(width=0.02).n, rows_needed(floor=0.02).n]
    assert rows_needed(width=0.02, floor=0.02).n == max(each)


def test_extreme_scores():
    """One score alone has no slope; scores next to nothing have no ratio; bins are as many as were asked for."""
    constant = expected_precision(100, scores=np.full(7, 0.3))
    assert constant.slope_width == np.inf
    assert constant.floor == pytest.approx(np.sqrt(2 / np.pi * 0.21 / 100), rel=0.01)
    assert constant.n_bins == 10
    nothing = expected_precision(100, scores=[1e-320, 1e-310])
    assert (nothing.slope_width, nothing.oe_width) == (np.inf, np.inf)
    assert expected_precision(1, base_rate=1e-4).oe_width < np.inf
    assert expected_precision(50, n_bins=5, scores=[0.5, 0.5, 0.9], strategy="quantile").n_bins == 2  # ties


def test_words():
    """The result says all of it in words, and when it is rough."""
    assert str(expected_precision(1000, n_bins=15, base_rate=0.2)).splitlines() == [
        "1,000 rows in 15 uniform bins:",
        "  a perfectly calibrated model would show an ECE of about 0.03 (95th percentile 0.042)",
        "  in 4 of 5 samples, 95 % intervals would be at most this wide: ECE 0.051, slope 0.38, O:E 0.23",
    ]
    for rate in (0.01, 0.99):
        assert str(expected_precision(1000, base_rate=rate)).endswith(
            "only 10 rows of the rarer outcome are expected, so these numbers are rough"
        )


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: expected_precision(0), "n must be an integer from 1"),
        (lambda: expected_precision(100, base_rate=0), "base_rate must be a number from 0.0001"),
        (lambda: expected_precision(100, auc=0.5), "auc must be a number from 0.51 to 0.999"),
        (lambda: expected_precision(100, n_bins=0), "n_bins must be an integer"),
        (lambda: expected_precision(100, strategy="mass"), "strategy must be one of"),
        (lambda: expected_precision(100, scores=[0.2], auc=0.7), "pass either scores, or base_rate and auc"),
        (lambda: expected_precision(100, scores=[[0.2, 0.8]]), r"take the confidence scores.max\(axis=1\)"),
        (lambda: expected_precision(100, scores=[3.0]), "these look like logits"),
        (lambda: expected_precision(100, scores=[0, 1, 1]), "are these outcomes"),
        (lambda: rows_needed(width=0.02, scores=[0.0, 0.0]), "are these outcomes"),
        (lambda: rows_needed(width=0.02, scores=Predictions([0.2], [1])), "pass predictions.scores"),
        (lambda: rows_needed(), "pass at least one goal"),
        (lambda: rows_needed(width=0), "width must be larger than 0"),
        (lambda: rows_needed(width=-1), "width must be a number"),
        (lambda: rows_needed(floor=1e-9), "would take more than"),
        (lambda: rows_needed(slope_width=0.2, scores=[0.5]), "cannot be reached with such scores"),
    ],
)
def test_refusals(call, match):
    """What cannot be meant is refused with a sentence."""
    with pytest.raises(InputError, match=match):
        call()
