"""Prior shift, from the definition."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import chi2

from believable import _kernels
from believable._kernels import mixture
from believable.errors import InputError, LimitWarning, SchemaError
from believable.recalibrate import PriorShift, load_recalibrator
from tests.recalibrate.data import binary, logit, multiclass, softmax

# The scores of `binary` and `multiclass` are not calibrated, on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:the scores that were fitted are not:believable.errors.LimitWarning")


def test_definition():
    """p_k t_k / s_k, divided by the sum of the row, with the weighted shares of y as source."""
    p, labels = multiclass()
    weight = np.random.default_rng(0).random(len(labels))
    target = [0.1, 0.2, 0.3, 0.4]
    source = [weight[labels == k].sum() / weight.sum() for k in range(4)]
    by_hand = p * target / source
    by_hand /= by_hand.sum(axis=1, keepdims=True)
    model = PriorShift(target=target).fit(p, labels, sample_weight=weight)
    np.testing.assert_allclose(model.transform(p), by_hand, rtol=1e-12)
    np.testing.assert_allclose(model.source_, source, rtol=1e-12)
    np.testing.assert_allclose(model.target_, target, rtol=1e-15)


def test_odds_of_one_event():
    """The odds of one event are multiplied by the ratio of the prior odds; one share says as much as two."""
    p, y = binary()
    odds = p / (1 - p) * (0.02 / 0.98) / (0.3 / 0.7)
    model = PriorShift(target=0.02, source=0.3).fit(p, y)
    np.testing.assert_allclose(model.transform(p), odds / (1 + odds), rtol=1e-12)
    pairs = PriorShift(target=[0.98, 0.02], source=(0.7, 0.3)).fit(p, y)
    np.testing.assert_allclose(pairs.transform(p), model.transform(p), rtol=1e-14)


def test_exact_in_the_tails():
    """Log-odds move by the same amount wherever they are, and do not overflow."""
    z = np.array([-700.0, -30, 0, 30, 1e4])
    model = PriorShift(input="logits", target=0.9, source=0.5).fit([0.0, 1.0], [0, 1])
    np.testing.assert_allclose(model.transform(z)[:2], 9 * np.exp(z[:2]), rtol=1e-11)
    assert model.transform(z)[-1] == 1


def test_nothing_changes_until_told():
    """Without a target the map is the identity."""
    p, labels = multiclass()
    np.testing.assert_allclose(PriorShift().fit(p, labels).transform(p), p, rtol=1e-13)


def test_there_and_back():
    """Moving to a target and back again changes nothing."""
    p, labels = multiclass()
    away = [0.7, 0.1, 0.1, 0.1]
    there = PriorShift(target=away).fit(p, labels)
    back = PriorShift(source=away, target=there.source_).fit(p, labels)
    np.testing.assert_allclose(back.transform(there.transform(p)), p, rtol=1e-11)


def test_absent_classes():
    """A target of 0 is probability 0; a class that is not in y needs a source."""
    p, labels = multiclass()
    out = PriorShift(target=[0.5, 0, 0.5, 0]).fit(p, labels).transform(p)
    assert np.all(out[:, [1, 3]] == 0)
    np.testing.assert_allclose(out.sum(axis=1), 1, rtol=1e-15)
    seen = labels != 2
    with pytest.raises(InputError, match=r"class 2 does not occur in y, .*: pass source=\[...\], one share per class"):
        PriorShift().fit(p[seen], labels[seen])
    assert np.isfinite(PriorShift(source=[0.25] * 4).fit(p[seen], labels[seen]).transform(p)).all()
    assert PriorShift(target=1).fit([0.2, 0.7], [0, 1]).transform([0.0, 0.4, 1.0]).tolist() == [1, 1, 1]


def literal_target(p, source, weight):
    """The shares of the largest sum of log-likelihoods and half a row of each class, in shares relative to the source."""

    def shares(x):
        t = source * np.exp(np.append(0, x))
        return t / t.sum()

    def cost(x):
        t = shares(x)
        tau = t / source / sum(t / source)
        rows = sum(w * np.log(sum(t * row / source)) for w, row in zip(weight, p, strict=True))
        return -rows - sum(np.log(tau)) / 2

    best = np.zeros(len(source) - 1)
    for _ in range(3):
        best = minimize(cost, best, method="BFGS", options={"gtol": 1e-9}).x
    return shares(best)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_adapt_is_the_literal_maximum(weighted, n_classes):
    """The target is the maximum of the likelihood with half a row of each class, with weights that count rows too."""
    p, labels = multiclass()
    p = p[:, :n_classes] / p[:, :n_classes].sum(axis=1, keepdims=True)
    labels = np.minimum(labels, n_classes - 1)
    rng = np.random.default_rng(0)
    rows = np.flatnonzero(rng.random(len(p)) < np.array([0.9, 0.1, 0.6, 0.3])[labels])[:80]
    weight = rng.integers(0, 3, len(rows)).astype(float) if weighted else np.ones(len(rows))
    model = PriorShift().fit(p, labels)
    expected = literal_target(p[rows], model.source_, weight)
    np.testing.assert_allclose(model.adapt(p[rows], sample_weight=weight).target_, expected, atol=2e-7)
    again = PriorShift(target=model.target_).fit(p, labels)
    np.testing.assert_allclose(model.transform(p), again.transform(p), atol=1e-11)
    if weighted:
        repeated = np.repeat(p[rows], weight.astype(int), axis=0)
        np.testing.assert_allclose(model.adapt(repeated).target_, model.adapt(p[rows], weight).target_, atol=1e-10)


def test_certain_scores_are_counted_as_jeffreys_prior_does():
    """Where scores are certain and the source has equal shares, the target is (m + 1/2) / (n + 1)."""
    model = PriorShift(input="logits", source=0.5).fit([-40.0, 40], [0, 1])
    np.testing.assert_allclose(model.adapt([40.0] * 3 + [-40.0] * 17).target_, [17.5 / 21, 3.5 / 21], rtol=1e-9)
    np.testing.assert_allclose(model.adapt([-40.0] * 20).target_, [20.5 / 21, 0.5 / 21], rtol=1e-9)


def population(rng, n, share, distance=2.0):
    """Scores as log-odds that are calibrated where half of the rows are positive, and labels with another share."""
    y = (rng.random(n) < share).astype(int)
    return distance * (rng.normal(size=n) + distance * (y - 0.5)), y


def test_a_rare_class_keeps_a_share():
    """Where the most likely share is 0, the target is above 0, and no probability is 0."""
    zeros = 0
    for seed in range(40):
        z, _ = population(np.random.default_rng(seed), 300, 0.02, 1.5)
        model = PriorShift(input="logits", source=0.5).fit([0.0, 1], [0, 1])
        model.adapt(z)
        density = np.column_stack([np.exp(-np.logaddexp(0, z)), np.exp(-np.logaddexp(0, -z))])
        most_likely, _ = _kernels.mixture_shares(density, np.ones(300), np.array([0.5, 0.5]))
        zeros += most_likely[1] < 1e-9
        assert 1e-4 < model.target_[1] < 0.2
        assert model.transform(z).min() > 0
        low, high = model.target_interval_[1]
        assert low <= model.target_[1] <= high
        assert low <= most_likely[1] <= high
    assert zeros >= 5


def test_interval_is_where_the_likelihood_is_high():
    """The ends lose half of the quantile of chi-squared in log-likelihood, that of other shares being the largest."""
    rng = np.random.default_rng(1)
    z, y = population(rng, 500, 0.3)
    model = PriorShift(input="logits", source=0.5).fit(z, y).adapt(z, level=0.9)
    p = 1 / (1 + np.exp(-z))

    def log_likelihood(t):
        return np.sum(np.log(t * p / 0.5 + (1 - t) * (1 - p) / 0.5))

    grid = np.linspace(0, 1, 20_001)[1:-1]
    values = np.array([log_likelihood(t) for t in grid])
    inside = grid[2 * (values.max() - values) <= chi2.ppf(0.9, 1)]
    np.testing.assert_allclose(model.target_interval_[1], [inside[0], inside[-1]], atol=1e-4)
    np.testing.assert_allclose(model.target_interval_[0], 1 - model.target_interval_[1][::-1], atol=1e-7)
    heavier = PriorShift(input="logits", source=0.5).fit(z, y).adapt(z, np.full(500, 7.0), level=0.9)
    np.testing.assert_allclose(heavier.target_interval_, model.target_interval_, atol=1e-7)

    p, labels = multiclass()
    some = p[:60, :3] / p[:60, :3].sum(axis=1, keepdims=True)
    three = PriorShift(source=[0.2, 0.3, 0.5]).fit(some, labels[:60] % 3).adapt(some)
    ratio = some / [0.2, 0.3, 0.5]

    def profile(share):
        best = minimize_scalar(
            lambda q: -np.sum(np.log(ratio @ [(1 - share) * q, share, (1 - share) * (1 - q)])),
            bounds=(0, 1),
            method="bounded",
            options={"xatol": 1e-10},
        )
        return -best.fun

    top = max(profile(share) for share in np.linspace(0.001, 0.999, 400))
    for end in three.target_interval_[1]:
        assert end in (0, 1) or 2 * (top - profile(end)) == pytest.approx(chi2.ppf(0.95, 1), abs=0.01)


def test_an_estimated_source_widens_the_interval():
    """The interval allows for the error of a source that was estimated, and more so from fewer rows."""
    rng = np.random.default_rng(5)
    z, y = population(rng, 20_000, 0.5, 1.5)
    new, _ = population(rng, 3000, 0.3, 1.5)
    given = PriorShift(input="logits", source=np.bincount(y[:400]) / 400).fit(z[:400], y[:400]).adapt(new)
    few, many = (PriorShift(input="logits").fit(z[:n], y[:n]).adapt(new) for n in (400, 20_000))
    widths = [float(np.diff(each.target_interval_[1])[0]) for each in (given, many, few)]
    assert widths[0] < widths[2]
    assert widths[1] < widths[2]

    def estimate(share):
        return PriorShift(input="logits", source=share).fit(z[:400], y[:400]).adapt(new).target_[1]

    share = few.source_[1]
    slope = (estimate(share + 1e-4) - estimate(share - 1e-4)) / 2e-4
    p = 1 / (1 + np.exp(-new))
    f, g = p / share, (1 - p) / (1 - share)
    t = few.target_[1]
    own = 1 / np.sum(((f - g) / (t * f + (1 - t) * g)) ** 2)
    ratio = 1 + slope**2 * share * (1 - share) / 400 / own
    assert widths[2] == pytest.approx(widths[0] * np.sqrt(ratio), rel=0.02)  # the likelihood is nearly a parabola


def test_miscalibrated_scores_are_said():
    """Scores that are not calibrated for their labels, apart from the shares, come with a warning; calibrated ones not."""
    z, y = population(np.random.default_rng(2), 4000, 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PriorShift(input="logits", source=0.5).fit(z, y).adapt(z)
        PriorShift(input="logits").fit(z + np.log(0.1 / 0.9), y).adapt(z + np.log(0.1 / 0.9))
    with pytest.warns(LimitWarning, match=r"not calibrated \(they are too extreme, p < 0.0001\)"):
        PriorShift(input="logits", source=0.5).fit(2 * z, y).adapt(2 * z)
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2000, 3))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PriorShift(input="logits").fit(logits, labels).adapt(logits)
    with pytest.warns(LimitWarning, match="they are too even"):
        PriorShift(input="logits").fit(logits / 2, labels).adapt(logits / 2)


def test_scores_that_no_share_explains_are_said():
    """Scores below those of all negatives of the source are no mixture of its classes."""
    rng = np.random.default_rng(3)
    z, y = population(rng, 2000, 0.5)
    model = PriorShift(input="logits", source=0.5).fit(z, y)
    with pytest.warns(LimitWarning, match=r"the scores of class 1 are 0\.\d+ on average, but .* no shares explain"):
        model.adapt(z[y == 0] - 2)


def test_adapt_finds_the_truth():
    """With many rows and right scores, the estimated share is near the true one."""
    rng = np.random.default_rng(0)
    y = (np.arange(20_000) < 2000).astype(int)
    z = rng.normal(size=20_000) + 2 * y - 1  # where both classes are alike frequent, 2 z is the log-odds
    model = PriorShift(input="logits", source=0.5).fit(2 * z, y).adapt(2 * z)
    assert model.target_[1] == pytest.approx(0.1, abs=0.01)  # a share of 20,000 overlapping rows, three standard errors
    assert model.transform(2 * z).mean() == pytest.approx(model.target_[1], abs=1e-4)  # near a fixed point of EM


def test_adapt_again():
    """What was adapted before does not matter, nor does a target that was given."""
    p, y = binary()
    once = PriorShift().fit(p, y).adapt(p[:50])
    twice = PriorShift(target=0).fit(p, y).adapt(p[100:]).adapt(p[:50])
    np.testing.assert_array_equal(twice.target_, once.target_)
    saved = load_recalibrator(once.to_json())
    np.testing.assert_array_equal(saved.transform(p), once.transform(p))


def test_adapt_at_the_limits():
    """Scores that tell nothing leave the source; one certain row is all there is."""
    model = PriorShift(source=0.3).fit([0.2, 0.7], [0, 1])
    np.testing.assert_allclose(model.adapt([0.3] * 5).target_, [0.7, 0.3], atol=1e-13)
    assert model.adapt([0.9]).target_[1] > 0.3 > model.adapt([0.0, 0.1]).target_[1] > 0
    z = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32) * 1e4
    logits = PriorShift(input="logits").fit(z, np.arange(30) % 3).adapt(z)
    np.testing.assert_allclose(logits.target_, (np.bincount(z.argmax(axis=1)) + 0.5) / 31.5, atol=1e-6)


def test_a_maximum_that_is_not_found_is_said(monkeypatch):
    """Shares that had not settled come with a warning."""
    settings = replace(mixture.SHARES_SEARCH, most_steps=0)
    monkeypatch.setattr(mixture, "SHARES_SEARCH", settings)
    model = PriorShift().fit(*binary())
    with pytest.warns(LimitWarning, match="too flat to find its maximum"):
        model.adapt([0.1, 0.2, 0.7])


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"target": 1.2}, "target must be a number from 0 to 1, got 1.2"),
        ({"target": [0.5, 0.2, 0.2, 0.2]}, "target must be shares that sum to 1, got a sum of 1.1"),
        ({"target": 0.5}, "target must be 4 shares, one per class, got the share of one event"),
        ({"target": [0.5, 0.5]}, "target must be 4 shares, one per class, got 2"),
        ({"target": "half"}, "target must be a number from 0 to 1, got 'half'"),
        ({"source": [0.5, 0.5, 0, 0]}, "source must be above 0 for every class"),
        ({"input": "scores"}, "PriorShift takes input='probabilities' or 'logits', not scores"),
    ],
)
def test_sentences(settings, sentence):
    """Shares that are none are refused."""
    with pytest.raises(InputError, match=re.escape(sentence)):
        PriorShift(**settings).fit(*multiclass())


def test_saved_shares_are_checked():
    """Shares that do not sum to one, or a source of 0, are refused; settings survive."""
    p, labels = multiclass()
    model = PriorShift(target=np.array([0.1, 0.2, 0.3, 0.4])).fit(p, labels)
    saved = json.loads(model.to_json())
    assert load_recalibrator(model.to_json()).target == [0.1, 0.2, 0.3, 0.4]
    for source, sentence in (([0.5, 0.5, 0.5, 0.5], "4 shares that sum to 1"), ([0.5, 0.5, 0, 0], "above 0")):
        saved["maps"][0]["source"] = source
        with pytest.raises(SchemaError, match=sentence):
            load_recalibrator(json.dumps(saved))


def test_two_columns_and_logits_adapt_alike():
    """One event, its two columns and its logits give one target."""
    p, y = binary()
    one = PriorShift().fit(p, y).adapt(p[:99]).target_
    pairs = np.column_stack([1 - p, p])
    np.testing.assert_allclose(PriorShift().fit(pairs, y).adapt(pairs[:99]).target_, one, atol=1e-12)
    z = logit(p)
    np.testing.assert_allclose(PriorShift(input="logits").fit(z, y).adapt(z[:99]).target_, one, atol=1e-12)
    matrix, labels = multiclass()
    shifted = np.log(matrix) + 9
    np.testing.assert_allclose(
        PriorShift(input="logits").fit(shifted, labels).adapt(shifted[:99]).target_,
        PriorShift().fit(matrix, labels).adapt(softmax(shifted)[:99]).target_,
        atol=1e-11,
    )


def test_adapt_finds_shares_of_few_rows():
    """With fewer rows than classes, no share vanishes, and the maximum is found."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        k = int(rng.choice([6, 10]))
        p = softmax(rng.normal(size=(3, k)) * rng.choice([0.5, 2, 8]))
        model = PriorShift(source=np.full(k, 1 / k)).fit(softmax(rng.normal(size=(60, k))), np.arange(60) % k).adapt(p)
        assert np.isfinite(model.target_).all()
        assert model.target_.min() > 0
        np.testing.assert_allclose(model.target_, literal_target(p, np.full(k, 1 / k), np.ones(3)), atol=1e-5)
