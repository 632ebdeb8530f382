"""Intervals of small samples against their literal definitions: few rows, few events, few clusters."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from believable import (
    Predictions,
    Summary,
    accuracy,
    auc,
    brier_score,
    brier_skill_score,
    calibration_in_the_large,
    calibration_slope_intercept,
    compare,
    interval,
)
from believable.errors import UndefinedError
from believable.inference.noise import widened_by_few

LEVEL = 0.95
Z = stats.norm.ppf(0.975)


def draw(n=120, seed=0, a=0.6, b=3.0):
    rng = np.random.default_rng(seed)
    p = np.clip(rng.beta(a, b, n).round(2), 0.01, 0.99)  # rounded, so that there are ties
    return p, (rng.random(n) < p).astype(int), rng.integers(1, 4, n).astype(float)


def ends(found):
    return found.low, found.high


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def logit(p):
    return math.log(p / (1 - p))


# --- the AUC ----------------------------------------------------------------------------------------------------------


def newcombe(value, n, m, z):
    """Newcombe's method 5: where the distance to the AUC is z standard errors, by root finding."""
    others = (n + m) / 2 - 1

    def excess(q):
        return (q - value) ** 2 - z**2 * q * (1 - q) * (1 + others * (1 - q) / (2 - q) + others * q / (1 + q)) / (n * m)

    low = 0.0 if value == 0 else optimize.brentq(excess, 0, value - 1e-9)
    return low, 1.0 if value == 1 else optimize.brentq(excess, value + 1e-9, 1)


def placements(p, y, w):
    """Weighted placements of every row: the share of the other outcome's weight that it is on the right side of."""
    placed = []
    for i in range(len(p)):
        others = [j for j in range(len(p)) if y[j] != y[i]]
        sign = 1 if y[i] else -1
        won = sum(w[j] * (1.0 if sign * (p[i] - p[j]) > 0 else 0.5 if p[i] == p[j] else 0.0) for j in others)
        placed.append(won / sum(w[j] for j in others))
    return np.array(placed)


def literal_auc(p, y, w, cluster=None):
    """The interval of the AUC, as its docstring says."""
    placed, n = placements(p, y, w), []
    value = np.average(placed[y == 1], weights=w[y == 1])
    off = np.where(y == 1, w / w[y == 1].sum(), w / w[y == 0].sum()) * (placed - value)
    n = [w[y == k].sum() ** 2 / (w[y == k] ** 2).sum() for k in (1, 0)]
    alone = [np.sum(off[y == k] ** 2) * m / (m - 1) for k, m in zip((1, 0), n, strict=True)]
    parts, units, n_units, variance = alone, n, len(p), sum(alone)
    if cluster is not None:
        names = np.unique(cluster)
        n_units = len(names)
        by = [np.array([off[(cluster == g) & (y == k)].sum() for g in names]) for k in (1, 0)]
        units = [sum(np.any((cluster == g) & (y == k)) for g in names) for k in (1, 0)]
        parts = [np.sum(each**2) * m / (m - 1) for each, m in zip(by, units, strict=True)]
        variance = sum(parts) + 2 * np.sum(by[0] * by[1]) * n_units / (n_units - 1)
        effect = max(variance / sum(alone), 1)
        n = [m / effect for m in n]
    df = min(sum(parts) ** 2 / sum(v**2 / (m - 1) for v, m in zip(parts, units, strict=True)), n_units - 1)
    reach = stats.t.ppf(0.975, df) * math.sqrt(variance) / (value * (1 - value))
    share = min(20 / min(units), 1)
    found = []
    for side, end in zip((-1, 1), newcombe(value, *n, stats.t.ppf(0.975, n_units - 1)), strict=True):
        far = abs(logit(end) - logit(value))
        found.append(sigmoid(logit(value) + side * max(reach, (1 - share) * reach + share * far)))
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "a"), [(50, 0.6), (120, 0.6), (150, 3.0)])
def test_auc(n, a, weighted):
    """DeLong's variance on the logit scale, and Newcombe's interval where an outcome is rare."""
    p, y, w = draw(n, seed=n, a=a)
    w = w if weighted else np.ones(n)
    found = interval("auc", p, y, sample_weight=w)
    assert found.method == "delong"
    assert found.value == auc(p, y, sample_weight=w)
    assert ends(found) == pytest.approx(literal_auc(p, y, w), rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_auc_of_clusters(weighted):
    """With clusters the variance is Obuchowski's; clusters of one row are rows."""
    p, y, w = draw(120)
    w = w if weighted else np.ones(120)
    cluster = np.repeat(np.arange(15), 8)
    found = interval("auc", p, y, sample_weight=w, clusters=cluster)
    assert ends(found) == pytest.approx(literal_auc(p, y, w, cluster), rel=1e-9)
    alone = interval("auc", p, y, sample_weight=w, clusters=np.arange(120))
    assert ends(alone) == pytest.approx(ends(interval("auc", p, y, sample_weight=w)), rel=1e-9)


def test_auc_of_a_summary():
    """A summary whose cells hold one score each gives the interval of the rows."""
    p, y, _ = draw(200)
    assert ends(interval("auc", Summary.of(Predictions(p, y)))) == pytest.approx(ends(interval("auc", p, y)), rel=1e-9)


def test_auc_of_several_classes():
    """The mean over classes: distances to the ends are combined, and multiplied by what dependence does."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), 90)
    y = np.array([rng.choice(3, p=row) for row in p])
    one, values, low, high, off = np.ones(90), [], [], [], []
    for k in range(3):
        hit = (y == k).astype(int)
        placed = placements(p[:, k], hit, one)
        values.append(placed[hit == 1].mean())
        off.append((placed - values[-1]) / np.where(hit == 1, hit.sum(), 90 - hit.sum()))
        bottom, top = literal_auc(p[:, k], hit, one)
        low.append(values[-1] - bottom)
        high.append(top - values[-1])
    ratio = np.sum(np.sum(off, axis=0) ** 2) / np.sum(np.square(off))
    value = np.mean(values)
    wanted = [
        value - math.sqrt(ratio * np.sum(np.square(low))) / 3,
        value + math.sqrt(ratio * np.sum(np.square(high))) / 3,
    ]
    assert ends(interval("auc", p, y)) == pytest.approx(wanted, rel=1e-9)


def test_auc_without_variance():
    """An AUC of 1, or a single positive, shows no variance: the interval is Newcombe's."""
    found = interval("auc", [0.1, 0.2, 0.3, 0.7, 0.8], [0, 0, 0, 1, 1])
    assert ends(found) == pytest.approx(newcombe(1.0, 2, 3, stats.t.ppf(0.975, 4)))
    found = interval("auc", [0.1, 0.2, 0.3, 0.25], [0, 0, 0, 1])
    assert ends(found) == pytest.approx(newcombe(2 / 3, 1, 3, stats.t.ppf(0.975, 3)))


# --- metrics of sums --------------------------------------------------------------------------------------------------


def jackknife(metric, p, y, w, cluster):
    """The value plus and minus t standard errors, both from leaving out one cluster at a time; logs for the skill."""
    scale = (lambda v: -math.log(1 - v)) if metric is brier_skill_score else float
    back = (lambda v: 1 - math.exp(-v)) if metric is brier_skill_score else float
    left_out = np.array(
        [scale(metric(p[cluster != g], y[cluster != g], sample_weight=w[cluster != g])) for g in np.unique(cluster)]
    )
    n, off = len(left_out), left_out - left_out.mean()
    error = math.sqrt((n - 1) / n * np.sum(off**2))
    kurtosis = np.mean(off**4) / np.mean(off**2) ** 2
    df = 2 / (2 / (n - 1) + max(kurtosis - 3, 0) / n)
    value, reach = scale(metric(p, y, sample_weight=w)), stats.t.ppf(0.975, df) * error
    return back(value - reach), back(value + reach)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("name", "metric"), [("brier", brier_score), ("bss", brier_skill_score)])
def test_few_clusters(name, metric, weighted):
    """Fewer than 40 clusters: the jackknife's standard error and Student's t."""
    p, y, w = draw(120)
    w = w if weighted else np.ones(120)
    cluster = np.repeat(np.arange(8), 15)
    found = interval(name, p, y, sample_weight=w, clusters=cluster)
    assert found.method == "jackknife"
    assert ends(found) == pytest.approx(jackknife(metric, p, y, w, cluster), rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_skill(weighted):
    """The skill score has the jackknife's interval for rows too, and from a summary."""
    p, y, w = draw(150)
    w = w if weighted else np.ones(150)
    wanted = jackknife(brier_skill_score, p, y, w, np.arange(150))
    assert ends(interval("bss", p, y, sample_weight=w)) == pytest.approx(wanted, rel=1e-9)
    if not weighted:
        assert ends(interval("bss", Summary.of(Predictions(p, y)))) == pytest.approx(wanted, rel=1e-9)


def test_skill_of_one_event():
    """With a single event the skill cannot be left out, which is said."""
    with pytest.raises(UndefinedError, match="each outcome in at least two rows"):
        interval("bss", [0.1, 0.2, 0.4, 0.3], [0, 0, 1, 0])


def wilson(share, n, z):
    middle, half = share + z**2 / (2 * n), z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return (middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n)


def test_accuracy():
    """Accuracy has Wilson's interval, with n rows, or as many as have its standard error; never a width of 0."""
    p, y, _ = draw(60)
    share = accuracy(p, y)
    wanted = wilson(share, 60, stats.t.ppf(0.975, 59))
    assert ends(interval("acc", p, y)) == pytest.approx(wanted, rel=1e-9)
    assert ends(interval("acc", Summary.of(Predictions(p, y)))) == pytest.approx(wanted, rel=1e-9)
    right = interval("acc", np.full(50, 0.9), np.ones(50))
    assert ends(right) == pytest.approx(wilson(1.0, 50, stats.t.ppf(0.975, 49)), rel=1e-9)
    cluster = np.repeat(np.arange(10), 6)
    hits = np.array([np.mean(((p > 0.5) == y)[cluster == g]) for g in range(10)])
    left_out = (hits.sum() - hits) / 9
    variance = 9 / 10 * np.sum((left_out - left_out.mean()) ** 2)
    wanted = wilson(share, 1 + share * (1 - share) / variance, stats.t.ppf(0.975, 9))
    assert ends(interval("acc", p, y, clusters=cluster)) == pytest.approx(wanted, rel=1e-9)


def test_no_events():
    """Without events, the ratio of observed to expected events has the exact interval of a Poisson count of 0."""
    found = interval("oe", np.full(40, 0.1), np.zeros(40))
    assert ends(found) == pytest.approx((0, -math.log(0.025) / 4))
    found = interval("oe", np.full(40, 0.1), np.zeros(40), clusters=np.repeat(np.arange(8), 5))
    assert ends(found) == pytest.approx((0, -math.log(0.025) / 4 * 5)), "a cluster may be all events or none"


def test_quantiles_are_expanded():
    """Bootstrapped intervals of few rows are wider than those of the plain quantiles, by Student's t."""
    p, y, _ = draw(12, seed=3, a=2.0, b=2.0)
    found = interval("brier", p, y, method="percentile", n_resamples=20_000, random_state=0)
    rng = np.random.default_rng(1)
    losses = (y - p) ** 2
    means = losses[rng.integers(0, 12, (20_000, 12))].mean(axis=1)
    tail = stats.norm.cdf(-stats.t.ppf(0.975, 11) * math.sqrt(12 / 11))
    assert ends(found) == pytest.approx(np.quantile(means, [tail, 1 - tail]), abs=0.05 * means.std() + 0.002)


def test_note_on_few_clusters():
    """A note says that five clusters are too few, for errors too; six have none."""
    p, y, _ = draw(120)
    for metric in ("brier", "auc", "ece"):
        assert "5 clusters" in interval(metric, p, y, clusters=np.arange(120) % 5, random_state=0).note
        assert interval(metric, p, y, clusters=np.arange(120) % 6, random_state=0).note == ""


def test_errors_of_few_clusters():
    """The simulated errors of bins spread more with few clusters, by Student's t over the normal distribution."""
    assert widened_by_few(np.repeat(np.arange(8), 5)) == pytest.approx(stats.t.ppf(0.975, 7) / Z)
    assert widened_by_few(None) == 1


def test_comparisons_of_few_clusters():
    """A difference between models has Student's t too: 7 degrees of freedom for eight clusters, interval and p-value."""
    rng = np.random.default_rng(2)
    p, cluster = rng.random(160), np.repeat(np.arange(8), 20)
    y = (rng.random(160) < p).astype(int)
    other = np.clip(p + np.repeat(rng.normal(0.0, 0.1, 8), 20), 0, 1)
    found = compare(p, other, y, clusters=cluster, n_resamples=20_000, random_state=0)
    by_cluster = np.array([np.sum(((y - p) ** 2 - (y - other) ** 2)[cluster == g]) for g in range(8)])
    means = by_cluster[rng.integers(0, 8, (20_000, 8))].sum(axis=1) / 160
    tail = stats.norm.cdf(-stats.t.ppf(0.975, 7) * math.sqrt(8 / 7))
    assert (found.low, found.high) == pytest.approx(np.quantile(means, [tail, 1 - tail]), abs=0.1 * means.std())
    z = -stats.norm.ppf(min(np.mean(means <= 0), np.mean(means >= 0)))
    assert found.p_value == pytest.approx(2 * stats.t.cdf(-z * math.sqrt(7 / 8), 7), rel=0.2)


# --- slope and calibration-in-the-large -------------------------------------------------------------------------------


def literal_profile(x, y, w, fixed, variance, t):
    """Where the deviance, divided by how much the variance exceeds that assumed, is t^2; coefficients are (a, b)."""
    w = w * w.sum() / np.sum(w**2)

    def cost(b):
        eta = b[0] + b[1] * x
        return np.sum(w * (np.logaddexp(0, eta) - y * eta))

    def best(value):
        if fixed == 1:
            return optimize.minimize_scalar(lambda a: cost((a, value)), bracket=(-1, 1), tol=1e-12).fun
        return cost((value, 1.0))

    both = optimize.minimize(cost, (0.0, 1.0), tol=1e-12).x
    at = both[1] if fixed == 1 else optimize.minimize_scalar(best, bracket=(-1, 1), tol=1e-12).x
    a, b = both if fixed == 1 else (at, 1.0)
    mu = 1 / (1 + np.exp(-(a + b * x)))
    columns = np.stack([np.ones_like(x), x])[: fixed + 1]
    assumed = np.linalg.inv((columns * (w * mu * (1 - mu))) @ columns.T)[fixed, fixed]
    by = max(variance / assumed, 1)

    def excess(value):
        return 2 * (best(value) - best(at)) / by - t**2

    far = 8 * math.sqrt(assumed * by)
    return optimize.brentq(excess, at - far, at), optimize.brentq(excess, at, at + far)


def fitted(x, y, w, fixed):
    """Maximum-likelihood mean of every row, and the columns of the model."""
    columns = np.stack([np.ones_like(x), x])[: fixed + 1]
    offset = np.zeros_like(x) if fixed == 1 else x

    def cost(b):
        eta = b @ columns + offset
        return np.sum(w * (np.logaddexp(0, eta) - y * eta))

    def gradient(b):
        return columns @ (w * (1 / (1 + np.exp(-(b @ columns + offset))) - y))

    found = optimize.minimize(cost, np.zeros(fixed + 1), jac=gradient, tol=1e-14).x
    return 1 / (1 + np.exp(-(found @ columns + offset))), columns


CASES = [("slope", 1), ("citl", 0)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("name", "fixed"), CASES)
def test_profile(name, fixed, weighted):
    """The deviance is scaled where the sandwich variance exceeds that of the likelihood."""
    p, y, w = draw(90, a=2.0, b=2.0)
    w = w if weighted else np.ones(90)
    x = np.log(p / (1 - p))
    mu, columns = fitted(x, y, w, fixed)
    bread = np.linalg.inv((columns * (w * mu * (1 - mu))) @ columns.T)
    middle = (columns * (w * (y - mu)) ** 2) @ columns.T
    variance = (bread @ middle @ bread)[fixed, fixed] * 90 / (90 - fixed - 1)
    found = interval(name, p, y, sample_weight=w)
    assert found.method == "profile"
    assert ends(found) == pytest.approx(literal_profile(x, y, w, fixed, variance, Z), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(("name", "fixed"), CASES)
def test_profile_of_clusters(name, fixed):
    """Clusters scale the deviance by the jackknife's variance, one Newton step each; the quantile is Student's t."""
    p, y, w = draw(90, a=2.0, b=2.0)
    x, cluster = np.log(p / (1 - p)), np.repeat(np.arange(9), 10)
    mu, columns = fitted(x, y, w, fixed)
    moved = []
    for g in range(9):
        rest, own = cluster != g, cluster == g
        information = (columns[:, rest] * (w * mu * (1 - mu))[rest]) @ columns[:, rest].T
        moved.append(np.linalg.solve(information, columns[:, own] @ (w * (y - mu))[own]))
    off = np.array(moved) - np.mean(moved, axis=0)
    variance = 8 / 9 * np.sum(off[:, fixed] ** 2)
    wanted = literal_profile(x, y, w, fixed, variance, stats.t.ppf(0.975, 8))
    found = interval(name, p, y, sample_weight=w, clusters=cluster)
    assert ends(found) == pytest.approx(wanted, rel=1e-5, abs=1e-6)


def test_profile_is_that_of_the_fit():
    """Where the variance is no larger than the likelihood says, both calls give the same ends."""
    p, y, _ = draw(50, seed=2, a=2.0, b=2.0)
    assert ends(interval("slope", p, y)) == pytest.approx(
        ends(calibration_slope_intercept(p, y, interval="profile").slope)
    )


def test_separated_outcomes():
    """An infinite slope, or shift, has a bound on its finite side; none with clusters."""
    p, y = [0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]
    found = interval("slope", p, y)
    assert ends(found) == pytest.approx((calibration_slope_intercept(p, y).slope.low, math.inf))
    assert ends(interval("slope", p, y, clusters=[0, 1, 0, 1])) == (-math.inf, math.inf)
    found = interval("citl", p, [0, 0, 0, 0])
    assert ends(found) == pytest.approx((-math.inf, calibration_in_the_large(p, [0, 0, 0, 0]).high))


# --- coverage ---------------------------------------------------------------------------------------------------------


def test_eight_clusters_are_covered():
    """Of 100 intervals of a mean over eight clusters, at least 88 contain it (the bootstrap: 80)."""
    rng, held = np.random.default_rng(5), 0
    for seed in range(100):
        shift = np.repeat(rng.normal(0, 1, 8), 40)
        y = rng.random(320) < 1 / (1 + np.exp(-shift))
        held += 0.25 in interval("brier", np.full(320, 0.5), y, clusters=np.repeat(np.arange(8), 40), random_state=seed)
    assert held >= 88
