"""Paired comparisons: the textbook interval where there is one, and a p-value that holds its level."""

import numpy as np
import pytest
from scipy.stats import ttest_rel

from believable import BinStats, Predictions, brier_score, compare, expected_calibration_error
from believable.errors import InputError, UndefinedError
from believable.inference import Comparison
from believable.inference.compare import square_and_add
from believable.inference.inversion import Inverted


def logistic(p, slope, shift=0.0):
    return 1 / (1 + np.exp(-(slope * np.log(p / (1 - p)) + shift)))


def rows(n=600, seed=0):
    """A good model, one that is too sure, and outcomes."""
    rng = np.random.default_rng(3000 + seed)
    p = np.clip(rng.beta(1.2, 1.2, n), 1e-6, 1 - 1e-6)
    return p, logistic(p, 2.0), (rng.random(n) < p).astype(int)


def ends(found):
    return found.low, found.high


# --- sums -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["brier", "nll", "acc"])
def test_paired_t(metric):
    """The difference of two means has the interval and p-value of the paired t-test."""
    a, b, y = rows()
    b = np.clip(b + 0.4 * np.sin(50 * a), 0.001, 0.999)
    each = {
        "brier": lambda p: (p - y) ** 2,
        "nll": lambda p: -np.log(np.where(y, p, 1 - p)),
        "acc": lambda p: ((p > 0.5) == y).astype(float),
    }[metric]
    found = compare(a, b, y, metric, n_resamples=4000, random_state=0)
    textbook = ttest_rel(each(a), each(b))
    low, high = textbook.confidence_interval(0.95)
    assert found.difference == pytest.approx(np.mean(each(a) - each(b)), abs=1e-12)
    assert ends(found) == pytest.approx((low, high), abs=0.1 * (high - low) + 1e-12)  # quantiles of 4,000 draws, no t
    assert found.p_value == pytest.approx(textbook.pvalue, abs=0.05)  # a share of 4,000 draws, and no t
    assert found.method == "percentile"
    assert float(found) == found.difference == found.value_a - found.value_b


def test_weighted_difference():
    """With weights it is the difference of weighted means, with the variance of unequal weights."""
    a, b, y = rows()
    w = np.random.default_rng(1).lognormal(0, 1, 600)
    found = compare(a, b, y, sample_weight=w, n_resamples=3000, random_state=0)
    each = (a - y) ** 2 - (b - y) ** 2
    mean = np.average(each, weights=w)
    error = np.sqrt(np.sum(w**2 * (each - mean) ** 2)) / w.sum()
    assert found.difference == pytest.approx(mean)
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.1)  # quantiles of 3,000 draws


def test_pairing_helps():
    """What makes a row hard for both cancels: the interval is narrower than that of two separate data sets."""
    a, b, y = rows()
    found = compare(a, b, y, random_state=0)
    apart = np.hypot(*(np.std((p - y) ** 2) / np.sqrt(600) for p in (a, b)))
    assert found.high - found.low < 0.6 * 2 * 1.96 * apart


def test_better_and_worse():
    """A model that is too sure is worse by Brier score, log loss and ECE, and that is no chance."""
    a, b, y = rows(2000)
    for metric in ("brier", "nll", "ece", "smece", "ks"):
        found = compare(a, b, y, metric, n_resamples=200, random_state=0)
        assert found.high < 0
        assert found.p_value < 0.02
        assert found.value_a < found.value_b


def test_ranking_is_the_same():
    """A strictly increasing map changes no AUC: no difference, and p = 1."""
    a, b, y = rows(200)
    found = compare(a, b, y, "auc", n_resamples=200, random_state=0)
    assert ends(found) == pytest.approx((0, 0), abs=1e-12)
    assert found.p_value == 1


# --- symmetry ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["brier", "ece", "mce", "auc", "ks"])
def test_identical(metric):
    """A model beside itself: no difference at all."""
    a, _, y = rows(100)
    found = compare(a, a.copy(), y, metric, random_state=0)
    assert (found.difference, found.low, found.high, found.p_value) == (0, 0, 0, 1)
    assert found.value_a == found.value_b


@pytest.mark.parametrize("metric", ["brier", "ece", "rmsce", "ks", "dce"])
def test_swapped(metric):
    """Swapping the models turns the sign and keeps the p-value, up to the noise of resampling."""
    a, b, y = rows(400)
    b = logistic(a, 1.3)
    one, other = (compare(*pair, y, metric, n_resamples=1000, random_state=0) for pair in ((a, b), (b, a)))
    width = one.high - one.low
    assert other.difference == pytest.approx(-one.difference)
    assert ends(other) == pytest.approx(
        (-one.high, -one.low), abs=0.12 * width
    )  # other shapes are drawn for the other order
    assert other.p_value == pytest.approx(one.p_value, abs=0.08)  # other shapes here too
    assert (other.value_a, other.value_b) == (one.value_b, one.value_a)


def test_reproducible():
    """The same seed, the same comparison; a Generator is used as it is."""
    data = rows(200)
    for metric in ("brier", "ece"):
        seeds = (1, 1, np.random.default_rng(1), np.random.default_rng(1))
        found = [compare(*data, metric, n_resamples=200, random_state=seed) for seed in seeds]
        assert found[0] == found[1]
        assert found[2] == found[3]
        assert compare(*data, metric, n_resamples=200, random_state=2) != found[0]


def test_nearly_the_same():
    """Models that differ by next to nothing differ by next to nothing, and not surely."""
    a, _, y = rows(400)
    found = compare(a, a + 1e-9, y, "ece", n_resamples=200, random_state=0)
    assert abs(found.difference) < 1e-6
    assert found.p_value > 0.2
    assert found.low <= 0 <= found.high


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("r", [-0.6, 0.0, 0.8])
def test_square_and_add(r):
    """Two estimates away from 0 are combined as Zou and Donner do."""
    a, b = Inverted(0.05, 0.12, 0.08, ""), Inverted(0.02, 0.09, 0.06, "")
    low = 0.02 - np.sqrt(0.03**2 + 0.03**2 - 2 * r * 0.03 * 0.03)
    high = 0.02 + np.sqrt(0.04**2 + 0.04**2 - 2 * r * 0.04 * 0.04)
    assert square_and_add(a, b, r) == pytest.approx((low, high), abs=1e-15)


def test_an_error_that_may_be_0():
    """If the first error may be 0, minus the largest second one is not excluded; with shared noise, less is possible."""
    a, b = Inverted(0.0, 0.03, 0.01, ""), Inverted(0.04, 0.10, 0.07, "")
    low, high = square_and_add(a, b, 0.0)
    assert low == pytest.approx(-0.10, abs=1e-15)
    assert high == pytest.approx(-0.06 + np.hypot(0.02, 0.03), abs=1e-15)
    assert square_and_add(b, a, 0.0) == pytest.approx((-high, -low), abs=1e-15)
    # An estimate of 0.01 is half of what noise may do (0.02). Half as much noise of the second error is then known, and
    # sqrt(1 - r^2) of the rest is not.
    assert square_and_add(a, b, 0.28)[0] == pytest.approx(-(0.07 + 0.03 * (0.96 - 0.28 * 0.5)), abs=1e-15)
    assert square_and_add(a, b, 1.0)[0] == pytest.approx(-0.06 - 0.02, abs=1e-15)  # the rule reaches farther


def test_p_value_and_interval_of_errors_agree_exactly():
    """The p-value is below 1 - level exactly where 0 is left out, at every level."""
    rng = np.random.default_rng(9)
    seen = set()
    for i in range(12):
        a = rng.random(200)
        y = rng.random(200) < a
        b = np.clip(a + 0.16 + 0.005 * i, 0, 1)
        level = (0.8, 0.95, 0.99)[i % 3]
        found = compare(a, b, y, ("ece", "rmsce")[i % 2], level=level, n_resamples=200, random_state=i)
        limit = round(1 - level, 12)  # in floating point, 1 - 0.95 is more than 0.05
        assert (found.p_value < limit) == (not found.low <= 0 <= found.high)
        seen.add(found.p_value < limit)
    assert seen == {True, False}


@pytest.mark.slow
def test_a_real_difference_is_covered():
    """A model that is 0.052 too high beside a calibrated one: in 60 samples the interval covers that at least 53 times.

    It did so in 50 of these samples before the interval allowed for an error of 0.
    """
    rng = np.random.default_rng(10)
    held = 0
    for _ in range(60):
        a = rng.beta(2, 2, 1000)
        y = rng.random(1000) < a
        found = compare(a, np.clip(a + 0.052, 0, 1), y, "ece", n_resamples=200, random_state=rng)
        held += found.low <= -0.0519 <= found.high
    assert held >= 53


@pytest.mark.slow
def test_level():
    """Two models miscalibrated by the same amount in opposite directions differ at 5 % about as often as that."""
    rng = np.random.default_rng(4)
    rejected, held = 0, 0
    for _ in range(80):
        truth = rng.beta(2, 2, 800)
        y = rng.random(800) < truth
        a, b = np.clip(truth + 0.08, 0, 1), np.clip(truth - 0.08, 0, 1)
        found = compare(a, b, y, "ece", n_resamples=200, random_state=rng)
        rejected += found.p_value <= 0.05
        held += found.low <= 0 <= found.high
    assert rejected <= 0.12 * 80
    assert held >= 0.88 * 80


@pytest.mark.slow
def test_level_when_calibrated():
    """So do two different models that are both calibrated."""
    rng = np.random.default_rng(5)
    rejected = 0
    for _ in range(60):
        feature, other = rng.normal(size=300), rng.normal(size=300)
        y = rng.random(300) < 1 / (1 + np.exp(-feature - other))
        # Each sees one feature: its scores are E(y | that one), nearly logistic with a smaller slope.
        shrunk = 1 / np.sqrt(1 + np.pi / 8)
        a, b = (1 / (1 + np.exp(-shrunk * x)) for x in (feature, other))
        rejected += compare(a, b, y, "ece", n_resamples=200, random_state=rng).p_value <= 0.05
    assert rejected <= 0.12 * 60


def test_power():
    """A model that is off is told from one that is not, most of the time.

    With 500 rows it was, before the interval allowed for an error of 0 and a lower correlation; 13 of 20 are now.
    """
    rng = np.random.default_rng(6)
    found = 0
    for _ in range(20):
        a = rng.random(600)
        y = rng.random(600) < a
        found += compare(a, np.clip(a + 0.12, 0, 1), y, "ece", n_resamples=200, random_state=rng).p_value <= 0.05
    assert found >= 14


@pytest.mark.parametrize("metric", ["ece", "brier", "auc"])
def test_p_value_and_interval_agree(metric):
    """The interval leaves out 0 where the p-value is below one less the level, and holds it where it is above."""
    a, b, y = rows(300, seed=2)
    for slope in (1.05, 1.3, 1.8):
        b = logistic(a, slope) + 0.02 * np.sin(40 * a) * a * (1 - a)
        found = compare(a, b, y, metric, n_resamples=500, random_state=0)
        if abs(found.p_value - 0.05) > 0.02:
            assert (found.low <= 0 <= found.high) == (found.p_value > 0.05)


def test_level_of_interval():
    """A higher level, a wider interval."""
    data = rows(300)
    for metric in ("brier", "ece"):
        width = [np.diff(ends(compare(*data, metric, level=x, random_state=0)))[0] for x in (0.5, 0.8, 0.95)]
        assert width[0] < width[1] < width[2]


def test_matrix():
    """Matrices are compared too, by any metric that is theirs."""
    rng = np.random.default_rng(7)
    q = rng.dirichlet(np.ones(3), 200)
    label = (rng.random(200)[:, None] >= q.cumsum(axis=1)).sum(axis=1)
    sure = q**2 / (q**2).sum(axis=1, keepdims=True)
    for metric in ("ece", "sce", "toprce", "brier", "tace"):
        found = compare(q, sure, label, metric, n_resamples=200, random_state=0)
        assert found.low <= found.high
        assert 0 < found.p_value <= 1
    assert compare(q, sure, label, "brier", random_state=0).difference < 0


# --- clusters, functions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["brier", "ece", "auc"])
def test_clusters(metric):
    """Rows repeated ten times as clusters say what the rows say once."""
    a, _, y = rows(150)
    b = np.clip(logistic(a, 1.5) + 0.1 * np.sin(30 * a), 0.01, 0.99)
    once = compare(a, b, y, metric, n_resamples=400, random_state=0)
    many = [np.repeat(x, 10) for x in (a, b, y)]
    asked = {"n_resamples": 100 if metric == "auc" else 400, "random_state": 0}
    together = compare(*many, metric, clusters=np.repeat(np.arange(150), 10), **asked)
    apart = compare(*many, metric, **asked)
    width = once.high - once.low
    assert together.difference == pytest.approx(once.difference)
    assert together.high - together.low == pytest.approx(width, rel=0.35)
    assert apart.high - apart.low < 0.6 * width


def test_own_function():
    """A function of one's own is compared by resampled rows."""
    a, b, y = rows(200)

    def mine(scores, labels):
        return np.mean((scores - labels) ** 2)

    found = compare(a, b, y, mine, n_resamples=300, random_state=0)
    known = compare(a, b, y, brier_score, n_resamples=300, random_state=0)
    assert found.difference == pytest.approx(known.difference)
    assert found.high - found.low == pytest.approx(known.high - known.low, rel=0.25)


def test_options():
    """Choices reach the metric."""
    a, b, y = rows(200)
    found = compare(a, b, y, "ece", options={"n_bins": 4, "strategy": "quantile"}, n_resamples=100, random_state=0)
    assert found.value_a == expected_calibration_error(a, y, n_bins=4, strategy="quantile")


def test_predictions():
    """Two `Predictions` of the same rows are compared as arrays are."""
    a, b, y = rows(200)
    w = 1 + np.arange(200) % 2
    found = compare(*(Predictions(p, y, sample_weight=w) for p in (a, b)), n_resamples=200, random_state=0)
    assert found == compare(a, b, y, sample_weight=w, n_resamples=200, random_state=0)


def test_infinite():
    """Infinite log losses are compared without a warning: the same row ruins both, or one."""
    p, y = np.append(np.full(40, 0.7), 0.0), np.append(np.arange(40) % 3 > 0, True)
    both = compare(p, np.append(np.full(40, 0.6), 0.0), y, "nll", n_resamples=200, random_state=0)
    assert both.difference == 0
    one = compare(p, np.append(np.full(40, 0.6), 0.3), y, "nll", n_resamples=200, random_state=0)
    assert one.difference == one.high == np.inf


def test_words():
    """It reads as one line."""
    a, b, y = rows(200)
    text = str(compare(a, b, y, random_state=0))
    assert " - " in text
    assert " % interval " in text
    assert ", p = " in text


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_refusals():
    """Rows that are not the same, and statistics, which have none, are refused."""
    a, b, y = rows(100)
    pa = Predictions(a, y)
    with pytest.raises(InputError, match="not for the same rows: their labels differ"):
        compare(pa, Predictions(b, 1 - y))
    with pytest.raises(InputError, match="not for the same rows"):
        compare(pa, Predictions(b[:50], y[:50]))
    with pytest.raises(InputError, match="the two sets of predictions have different weights"):
        compare(pa, Predictions(b, y, sample_weight=1 + np.arange(100)))
    with pytest.raises(InputError, match="a paired comparison needs the rows of both models, not statistics of them"):
        compare(BinStats.of(pa), BinStats.of(Predictions(b, y)), metric="ece")
    with pytest.raises(InputError, match="clusters has 3 entries"):
        compare(a, b, y, clusters=[1, 2, 3])
    with pytest.raises(InputError, match="level"):
        compare(a, b, y, level=2)
    with pytest.raises(InputError, match="has no option"):
        compare(a, b, y, options={"n_bins": 3})
    with pytest.raises((InputError, UndefinedError)):
        compare(a, np.column_stack([1 - b, b]), y, "toprce")


def test_shown_in_a_notebook():
    """A small table without script or colour, everything in it escaped."""
    found = Comparison(-0.0012, -0.002, -0.0004, 0.95, 0.004, 0.1, 0.1012, "a<b", "percentile")
    assert found._repr_html_() == (
        "<div><table><tr><th>metric</th><th>first</th><th>second</th><th>difference</th><th>95 % interval</th>"
        "<th>p</th></tr><tr><td>a&lt;b</td><td>0.1000</td><td>0.1012</td><td>-0.0012</td>"
        "<td>-0.0020 to -0.0004</td><td>0.004</td></tr></table></div>"
    )
