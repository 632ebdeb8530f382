"""Choosing a recalibration: cross-fitted, compared with doing nothing, in words."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.base import clone

import believable
from believable import CellStats, Predictions
from believable._progress import tracked
from believable.errors import InputError, LimitWarning, SmallSampleWarning
from believable.inference.compare import mean_of_rows
from believable.recalibrate import (
    RECALIBRATORS,
    HistogramBinning,
    Identity,
    OneVsRest,
    PlattScaling,
    TemperatureScaling,
    select,
)
from believable.recalibrate.crossfit import METRICS, FoldSettings, RowsInFolds, folds, loss_gain, skewed_interval
from believable.recalibrate.facts import in_words
from tests.recalibrate.data import binary, logit, multiclass

QUICK = {"n_resamples": 100}


def problem(p, y, **more):
    return RowsInFolds.of(p, y, FoldSettings(**more))


def test_folds_are_even():
    """Every row is in one fold, folds are of equal size, and the seed decides which; classes are left to chance."""
    labels = np.repeat([0, 1, 2], [103, 20, 7])
    fold = folds(labels, None, 5, np.random.default_rng(0))
    assert np.bincount(fold).tolist() == [26] * 5
    rates = np.array([(labels[folds(labels, None, 5, np.random.default_rng(s)) == 0] == 1).sum() for s in range(300)])
    assert rates.var() == pytest.approx(20 * 26 * (130 - 26) * (130 - 20) / (130**2 * 129), rel=0.3)  # hypergeometric
    assert (fold == folds(labels, None, 5, np.random.default_rng(0))).all()
    assert (fold != folds(labels, None, 5, np.random.default_rng(1))).any()


def test_folds_leave_two_classes():
    """Without any fold there are two classes to fit on, even if one has only two rows."""
    labels = np.repeat([0, 1], [40, 2])
    for seed in range(100):
        fold = folds(labels, None, 5, np.random.default_rng(seed))
        assert all(len(np.unique(labels[fold != k])) == 2 for k in range(5))


def test_stratified_folds_would_overstate_gains():
    """The base rate of calibrated scores is not predicted better out of fold than it is on new rows.

    Dealing out classes evenly makes the shares of a fold those of the rest, and a shift of all scores look useful.
    """
    gains = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        p = rng.random(100)
        y = (rng.random(100) < p).astype(int)
        ours = problem(p, y)
        after = ours.cross_fitted(PlattScaling())
        gains.append(ours.baseline.log_loss.mean() - after.log_loss.mean())
    assert np.mean(gains) < -0.5 * 2 / 100  # two parameters cost about half a nat each


def test_clusters_stay_together():
    """No cluster is in two folds."""
    rng = np.random.default_rng(0)
    cluster, labels = rng.integers(0, 30, 200), rng.integers(0, 2, 200)
    fold = folds(labels, cluster, 4, rng)
    assert all(len(set(fold[cluster == c])) == 1 for c in range(30))
    assert set(fold) == {0, 1, 2, 3}


def test_cross_fitting_is_the_loop():
    """Every row is mapped by a map fitted on the other folds."""
    p, y = binary()
    ours = problem(p, y)
    out = ours.cross_fitted(PlattScaling()).predictions
    for k in range(5):
        inside = ours.fold == k
        model = PlattScaling().fit(p[~inside], y[~inside])
        np.testing.assert_array_equal(out.scores[inside], model.transform(p[inside]))


def test_numbers_are_those_of_the_metrics():
    """Values are the metrics of cross-fitted predictions; gains are differences, with a paired standard error."""
    p, y = binary()
    found = select(p, y, candidates=["platt"], **QUICK)
    platt, nothing = found["platt"], found["nothing"]
    q = platt.predictions.scores
    for name, function in (
        ("log_loss", believable.negative_log_likelihood),
        ("brier", believable.brier_score),
        ("ece", believable.expected_calibration_error),
        ("smece", believable.smooth_calibration_error),
    ):
        assert platt.scored.values[name].value == pytest.approx(function(q, y), abs=1e-12)
        assert nothing.scored.values[name].value == pytest.approx(function(p, y), abs=1e-12)
        assert platt.scored.gains[name].value == pytest.approx(function(p, y) - function(q, y), abs=1e-12)
        assert platt.scored.gains[name].low <= platt.scored.gains[name].high
    loss = -np.where(y == 1, np.log(p) - np.log(q), np.log1p(-p) - np.log1p(-q))
    error = loss.std(ddof=1) / math.sqrt(len(y))
    assert platt.scored.gains["log_loss"].standard_error == pytest.approx(error, rel=1e-12)


def test_the_simplest_within_one_standard_error():
    """A simpler method is chosen where it is as good as the best, and the advice says so."""
    p, y = binary(2000)
    found = select(p, y, candidates=["temperature", "platt", "beta", "isotonic"], rule="proven", **QUICK)
    good = [each for each in found.candidates if each.is_as_good and each.scored.gains["log_loss"].is_sure]
    assert found.chosen == min(good, key=lambda each: each.method.facts.simplicity).name
    chosen, best = found[found.chosen], found.candidates[0]
    gain = found.gain
    assert found.chosen == "temperature"
    assert found.advice == (
        f"Use temperature scaling. It lowers the log loss by {gain.value:.4f} (95 % interval {gain.low:.4f} to "
        f"{gain.high:.4f})."
        + (
            ""
            if chosen is best
            else f" It comes within one standard error of the best method tried, {in_words(type(best.method).__name__)}"
            ", and is simpler."
        )
    )
    assert isinstance(found.recalibrator, RECALIBRATORS[type(found[found.chosen].method).__name__])
    assert found.candidates[0].behind == 0


@pytest.mark.slow
def test_leave_it_alone():
    """Calibrated scores are left alone, and the map that comes with it changes nothing."""
    rng = np.random.default_rng(3)
    p = rng.random(2000)
    y = (rng.random(2000) < p).astype(int)
    result = believable.calibrate(p, y, rule="proven", **QUICK)
    assert result.method == "nothing"
    assert result.selection.advice.startswith("Leave the scores alone")
    assert isinstance(result.recalibrator, Identity)
    np.testing.assert_array_equal(result.transform(p), p)
    assert result.improvement.gains["log_loss"].value == 0


def test_chance_alone_seldom_moves_anything():
    """Of 60 calibrated sets of 150 rows, at most a few are recalibrated."""
    moved = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        p = rng.random(150)
        y = (rng.random(150) < p).astype(int)
        ours = problem(p, y)
        gains = [
            loss_gain(ours.baseline, ours.cross_fitted(method), "log_loss", ours, 0.95)
            for method in (TemperatureScaling(), PlattScaling())
        ]
        moved += any(gain.is_sure for gain in gains)
    assert moved <= 6


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")
def test_classes():
    """Several classes: the defaults run, every row of the result sums to one, and over-confidence is corrected."""
    p, labels = multiclass(1500)
    result = believable.calibrate(p, labels, **QUICK)
    assert result.improvement.gains["log_loss"].is_sure
    np.testing.assert_allclose(result.transform(p).sum(axis=1), 1)
    assert {each.name for each in result.selection.candidates} >= {"nothing", "temperature", "structured", "average"}


def test_named_classes_reach_the_map():
    """Classes named in Predictions are those of the recalibrator."""
    p, labels = multiclass()
    names = ["wolf", "ant", "cat", "bee"]
    source = Predictions(p, np.array(names)[labels], classes=names)
    result = believable.calibrate(source, method="temperature", **QUICK)
    assert result.recalibrator.classes_.tolist() == names
    assert set(result.recalibrator.predict(p)) <= set(names)


@pytest.mark.parametrize("input", ["probabilities", "logits", "scores"])
def test_labels_of_text(input):
    """Labels of any kind are taken when they are named in the order of the columns."""
    p, y = binary()
    X = p if input == "probabilities" else logit(p)
    named = believable.calibrate(X, np.where(y == 1, "a", "b"), "platt", input=input, classes=["b", "a"], **QUICK)
    plain = believable.calibrate(X, y, "platt", input=input, **QUICK)
    np.testing.assert_array_equal(named.transform(X), plain.transform(X))
    assert named.recalibrator.classes_.tolist() == ["b", "a"]


def test_logits_and_scores():
    """Logits are compared with their sigmoid, scores with the base rate; the map takes what it was made from."""
    p, y = binary()
    z = logit(p)
    from_logits = believable.calibrate(z, y, method="platt", input="logits", **QUICK)
    from_p = believable.calibrate(p, y, method="platt", **QUICK)
    np.testing.assert_allclose(from_logits.transform(z), from_p.transform(p), atol=1e-9)
    assert from_logits.improvement.gains["brier"].value == pytest.approx(from_p.improvement.gains["brier"].value)
    found = select(10 * z, y, input="scores", candidates=["platt"], rule="proven", **QUICK)
    assert found.chosen == "platt"
    rate = y.mean()
    assert found["base rate"].scored.values["brier"].value == pytest.approx(rate * (1 - rate))
    assert math.isnan(found["platt"].scored.gains["ece"].value)


def test_scores_that_tell_nothing():
    """Where no map of raw scores helps, everyone gets the base rate, by a map that can be saved."""
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.3).astype(int)
    for scores, labels in ((rng.normal(size=300), y), (rng.normal(size=(300, 3)), rng.integers(0, 3, 300))):
        result = believable.calibrate(scores, labels, input="scores", candidates=["platt"], **QUICK)
        assert result.method == "base rate"
        assert result.selection.advice.startswith("Predict the base rate for every row")
        share = labels.mean() if scores.ndim == 1 else np.bincount(labels) / len(labels)
        loaded = believable.load_recalibrator(result.to_json())
        np.testing.assert_allclose(loaded.transform(scores), np.broadcast_to(share, scores.shape))
        assert "base rate" in str(result)


def test_log_loss_of_logits_is_not_rounded():
    """A logit of 40 that was wrong costs 40, whichever class is called the event, before and after."""
    p, y = binary()
    z, y = np.append(logit(p), 40.0), np.append(y, 0)
    one = believable.calibrate(z, y, "platt", input="logits", **QUICK).improvement
    two = believable.calibrate(-z, 1 - y, "platt", input="logits", **QUICK).improvement
    for each in (one, two):
        assert each.before["log_loss"].value == pytest.approx(np.mean(np.logaddexp(0, np.where(y == 1, -z, z))))
    assert one.after["log_loss"].value == pytest.approx(two.after["log_loss"].value, rel=1e-2)  # in other folds
    wide = np.array([[0.0, 900.0], [900.0, 0.0]] * 20)
    found = believable.refinement(wide, [0, 1] * 20, input="logits", method="temperature")
    assert found.score.value == 900


def test_results_hold_copies():
    """Changing the arrays afterwards changes nothing."""
    p, y = (part.copy() for part in binary())
    z = logit(p)
    results = [
        believable.calibrate(p, y, "platt", **QUICK),
        believable.calibrate(z, y, "platt", input="logits", **QUICK),
    ]
    before = [each.improvement.predictions_before.scores.copy() for each in results]
    p[:], z[:], y[:] = 0.5, 0, 1
    for result, kept in zip(results, before, strict=True):
        np.testing.assert_array_equal(result.improvement.predictions_before.scores, kept)
        with pytest.raises(ValueError, match="read-only"):
            result.improvement.predictions_after.scores[:] = 0


def test_rows_that_hardly_sum_to_one_are_no_gain():
    """Dividing rows by their sums is not counted as an improvement."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 3000)
    labels = (p.cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1)
    found = believable.select(0.9992 * p, labels, candidates=["identity"], **QUICK)
    assert found["identity"].scored.gains["log_loss"].value == pytest.approx(0, abs=1e-12)


def test_jackknife_of_the_mean():
    """The standard error is that of leaving out one row, or one cluster, after the other."""
    rng = np.random.default_rng(0)
    values, w, cluster = rng.normal(size=60), rng.pareto(1.5, 60) + 0.1, rng.integers(0, 7, 60)
    for units in (np.arange(60), cluster):
        mean, error, df = mean_of_rows(values, w, None if units is not cluster else cluster)
        left = [np.average(values[units != u], weights=w[units != u]) for u in np.unique(units)]
        n = len(left)
        assert mean == pytest.approx(np.average(values, weights=w))
        assert error == pytest.approx(math.sqrt((n - 1) / n * sum((each - mean) ** 2 for each in left)))
        assert df == n - 1


@pytest.mark.slow
def test_caveats():
    """Few events, scores that point the other way and rows without a mistake are spoken of."""
    p, y = binary()
    flipped = believable.calibrate(1 - p, y, "platt", **QUICK)
    assert "Higher scores go with fewer events" in str(flipped)
    few = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:6]])
    with pytest.warns(SmallSampleWarning):
        assert "The rarest class is in only 6 rows" in str(believable.calibrate(p[few], y[few], "platt", **QUICK))
    clusters = select(p, y, candidates=["platt"], clusters=np.arange(len(y)) % 15, **QUICK)
    assert "in 15 clusters" in clusters.rows
    assert any("only 15 clusters" in each for each in clusters.caveats)
    with pytest.warns(LimitWarning):
        perfect = believable.calibrate(np.where(y == 1, 0.6 + 0.4 * p, 0.4 * p), y, "platt", **QUICK)
    assert any("were these rows used for training" in each for each in perfect.caveats)
    assert not select(p, y, candidates=["platt"], **QUICK).caveats


def test_a_method_that_was_asked_for_is_judged():
    """A named method says whether it helps, and what its map is."""
    p, y = binary(2000)
    assert "It lowers the log loss: the 95 % interval of the gain lies above 0." in str(
        believable.calibrate(p, y, "temperature", **QUICK)
    )
    rng = np.random.default_rng(3)
    q = rng.random(500)
    calibrated = believable.calibrate(q, (rng.random(500) < q).astype(int), "temperature", **QUICK)
    assert "TemperatureScaling(): temperature " in str(calibrated)
    assert "It does not lower the log loss: leave the scores alone" in str(calibrated)


def test_infinite_losses_are_last():
    """A candidate that gave 0 to something that happened has an infinite log loss, and is never chosen by it."""
    p = np.concatenate([np.full(50, 0.01), np.linspace(0.1, 0.9, 200)])
    y = np.concatenate([np.zeros(49), [1], np.tile([0, 1], 100)]).astype(int)
    found = select(p, y, candidates={"bins": HistogramBinning(n_bins=10), "platt": PlattScaling()}, **QUICK)
    assert found["bins"].scored.values["log_loss"].value == math.inf
    assert found.candidates[-1].name == "bins"
    assert found.chosen != "bins"
    by_brier = select(p, y, candidates={"bins": HistogramBinning(n_bins=10)}, score="brier", **QUICK)
    assert math.isfinite(by_brier["bins"].scored.values["brier"].value)


def test_an_infinite_log_loss_still_shows_its_brier_gain():
    """The row of a candidate with an infinite log loss shows its gain in Brier score; so does the HTML table."""
    p = np.concatenate([np.full(50, 0.01), np.linspace(0.1, 0.9, 200)])
    y = np.concatenate([np.zeros(49), [1], np.tile([0, 1], 100)]).astype(int)
    found = select(p, y, candidates={"<bins>": HistogramBinning(n_bins=10)}, rule="proven", **QUICK)
    shown = f"log loss infinite; Brier score {found['<bins>'].scored.gains['brier']}"
    assert found.score == "log_loss"
    assert found.lines()[0] == found.advice
    assert found.lines()[3].endswith(shown)
    assert found.advice == (
        "Leave the scores alone. Every method tried assigned probability 0 to an outcome that occurred, so its log "
        "loss is infinite; to compare by the Brier score, use score='brier'."
    )
    html = found._repr_html_()
    assert html.startswith("<div><p>Leave the scores alone.")
    assert "<td>&lt;bins&gt;</td><td>inf</td>" in html
    assert f"<td>{shown}</td>" in html


def test_an_infinite_log_loss_of_the_scores_is_replaced_by_the_brier_score():
    """Where the scores alone have an infinite log loss, methods are ranked by the Brier score, and a caveat says so."""
    p, y = (part.copy() for part in binary(2000))
    p[:2], y[:2] = [0.0, 1.0], [1, 0]
    found = select(p, y, candidates=["temperature", "platt", "isotonic"], **QUICK)
    asked = select(p, y, candidates=["temperature", "platt", "isotonic"], score="brier", **QUICK)
    assert found["nothing"].scored.values["log_loss"].value == math.inf
    assert found.score == "brier"
    assert found.caveats[0] == (
        "The log loss of the scores as they are is infinite (in 2 rows the observed outcome had predicted probability "
        "0), so the Brier score is used instead."
    )
    assert found.chosen == asked.chosen
    assert found.advice == asked.advice
    assert found.advice.startswith("Use ")
    assert "It lowers the Brier score by " in found.advice
    assert [each.name for each in found.candidates] == [each.name for each in asked.candidates]
    assert str(found).splitlines()[1].endswith("gain in Brier score")
    mean = np.mean((p - y) ** 2)
    for each in found.candidates:
        q = each.predictions.scores
        assert each.scored.gains["brier"].value == pytest.approx(mean - np.mean((q - y) ** 2), abs=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::believable.errors.LimitWarning", "ignore::believable.errors.SmallSampleWarning")
@pytest.mark.parametrize("input", ["probabilities", "logits", "scores"])
def test_separated_classes(input):
    """Where the scores separate the classes, the average is not certain of anything, and a map that is says so."""
    y = np.arange(60) % 2
    z = np.where(y == 1, 1.0, -1.0) * (0.3 + np.random.default_rng(3).random(60))
    scores = 1 / (1 + np.exp(-z)) if input == "probabilities" else z
    found = select(scores, y, input=input, **QUICK)
    assert found.chosen == "average"
    p = found.recalibrator.transform([0.3, 0.7] if input == "probabilities" else [-0.8, 0.8])
    assert 0.001 < p[0] < 0.5 < p[1] < 0.999
    rash = select(scores, y, input=input, candidates=["isotonic", "platt"], rule="proven", **QUICK)
    assert rash.chosen == rash.candidates[0].name == "isotonic"
    (said,) = [one for one in rash.caveats if one.startswith("isotonic predicts")]
    assert said == "isotonic predicts a probability of exactly 0 in 57 rows: one mistake makes the log loss infinite."


def test_the_smallest_loss_comes_first():
    """A map with tiny probabilities and the smallest cross-fitted loss is not passed over."""
    rng = np.random.default_rng(0)
    z = rng.normal(0, 40, 3000)
    y = (rng.random(3000) < 1 / (1 + np.exp(-z))).astype(int)
    found = select(z / 20, y, input="logits", candidates=["temperature", "platt"], rule="proven", **QUICK)
    assert found["temperature"].predictions.scores.min() < 1e-15
    assert found.chosen == "temperature"


def test_skewed_intervals():
    """Hall's interval inverts his transformation of t, is that of t without skewness, and covers a skewed mean."""
    assert skewed_interval(2.0, 0.0) == (-2.0, 2.0)
    for skewness in (0.3, -0.3):
        low, high = skewed_interval(2.0, skewness)
        for end, t in ((low, 2.0), (high, -2.0)):
            x = -end
            hall = x + skewness / 3 * x**2 + skewness**2 / 27 * x**3 + skewness / 6
            assert hall == pytest.approx(t)
    rng = np.random.default_rng(0)
    held = {"skewed": 0, "symmetric": 0}
    for _ in range(2000):
        x = rng.exponential(size=25) ** 1.5
        mean, error = x.mean(), x.std(ddof=1) / 5
        third = ((x - mean) ** 3).sum() / ((x - mean) ** 2).sum() ** 1.5
        for name, (low, high) in (("skewed", skewed_interval(2.06, third)), ("symmetric", (-2.06, 2.06))):
            held[name] += mean + low * error <= math.gamma(2.5) <= mean + high * error
    assert held["symmetric"] / 2000 + 0.01 < held["skewed"] / 2000
    ends = [skewed_interval(1.97, skewness)[0] for skewness in np.linspace(-2, 2, 41)]
    assert np.all(np.diff(ends) >= -1e-12)  # no jumps: the more skewed to the left, the further the lower end
    assert ends[0] > -4


def test_nothing_gains_nothing():
    """Scores that are left alone are promised no gain, and neither is the identity."""
    rng = np.random.default_rng(3)
    p = rng.random(2000)
    y = (rng.random(2000) < p).astype(int)
    alone = believable.calibrate(p, y, rule="proven", **QUICK)
    identity = believable.calibrate(p, y, "identity", **QUICK)
    for result in (alone, identity):
        gain = result.improvement.gains["log_loss"]
        assert (gain.low, gain.high) == pytest.approx((0, 0), abs=1e-12)
    assert "It does not lower the log loss" in str(identity)


def test_the_gain_of_a_choice_is_that_of_choosing_without_the_fold():
    """Each fold is recalibrated by what the other folds choose, written as a loop."""
    p, y = binary(300)
    names = ["temperature", "beta", "venn_abers"]
    found = select(p, y, candidates=names, rule="proven", **QUICK)
    ours = problem(p, y)
    loss = {name: found[name].mapped.log_loss for name in names}
    out = np.empty(len(y))
    for k in range(5):
        rest = ours.fold != k
        best = min(names, key=lambda name: loss[name][rest].mean())
        near = []
        for name in names:
            d = loss[name][rest] - loss[best][rest]
            error = d.std(ddof=1) / math.sqrt(rest.sum())
            if d.mean() <= max(error, 1e-4 * loss[best][rest].mean()):
                near.append(name)
        chosen = min(near, key=lambda name: RECALIBRATORS[type(found[name].method).__name__].facts.simplicity)
        out[~rest] = loss[chosen][~rest]
    expected = np.mean(ours.baseline.log_loss - out)
    if found.chosen != "nothing":
        assert found.gain.value == pytest.approx(expected, abs=1e-12)
    assert found.chosen == "temperature"


@pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")
def test_raw_scores_of_a_rare_class():
    """Two rows of a class are enough in every seed; fewer are refused with a sentence that is true."""
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    y[:2] = 2
    for seed in range(5):
        p = believable.calibrate(z, y, input="scores", random_state=seed, **QUICK).transform(z)
        np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-9)
    y[0] = 0
    with pytest.raises(InputError, match="at least two rows of each, and class 2 has 1"):
        believable.calibrate(z, y, input="scores")


def test_rule_needs_auto():
    """A rule and a method contradict each other."""
    p, y = binary()
    with pytest.raises(InputError, match="rule is for method='auto': leave out either the rule or the method"):
        believable.calibrate(p, y, "platt", rule="proven")
    with pytest.raises(InputError, match="candidates are averaged already"):
        select(p, y, candidates=["average", "platt"])


def test_a_low_temperature_rules_nothing_out():
    """Logits that are three times too small are corrected, though small probabilities are then next to 0."""
    rng = np.random.default_rng(0)
    z = rng.normal(0, 12, 2000)
    y = (rng.random(2000) < 1 / (1 + np.exp(-z))).astype(int)
    found = select(1 / (1 + np.exp(-0.3 * z)), y, candidates=["temperature", "isotonic"], rule="proven", **QUICK)
    assert found["temperature"].predictions.scores.min() < 1e-15
    assert found.chosen == "temperature"


def test_groups_widen_intervals():
    """Rows that are copies of each other count as one."""
    p, y = binary(200)
    copies = 5
    groups = np.repeat(np.arange(200), copies)
    naive = select(np.repeat(p, copies), np.repeat(y, copies), candidates=["platt"], **QUICK)
    honest = select(np.repeat(p, copies), np.repeat(y, copies), candidates=["platt"], clusters=groups, **QUICK)
    ratio = honest["platt"].scored.gains["brier"].standard_error / naive["platt"].scored.gains["brier"].standard_error
    assert ratio == pytest.approx(math.sqrt(copies), rel=0.15)  # the folds differ, so do the maps


def test_weights_count():
    """Weights of 0 are rows left out, and a factor changes nothing."""
    p, y = binary()
    w = np.ones(len(y))
    w[::7] = 0
    kept = w > 0
    one = believable.calibrate(p, y, "platt", sample_weight=w, **QUICK)
    two = believable.calibrate(p[kept], y[kept], "platt", **QUICK)
    three = believable.calibrate(logit(p), y, "platt", input="logits", sample_weight=3 * w, **QUICK)
    for other in (two, three):
        assert one.improvement.gains["log_loss"].value == pytest.approx(other.improvement.gains["log_loss"].value)
        np.testing.assert_allclose(one.transform(p), other.transform(p if other is two else logit(p)), atol=1e-9)


def test_the_same_answer_every_time():
    """Nothing depends on chance unless asked."""
    p, y = binary()
    one, two = (str(believable.calibrate(p, y, candidates=["platt", "temperature"], **QUICK)) for _ in range(2))
    assert one == two


def test_tables_and_words():
    """The leaderboard is a data frame and a text; the improvement lines up before and after."""
    p, y = binary()
    result = believable.calibrate(p, y, candidates=["platt", "temperature"], **QUICK)
    frame = result.selection.to_frame()
    assert frame["method"].to_list()[:1] == [result.selection.candidates[0].name]
    assert {"log_loss_gain_low", "brier_gain_low"} <= set(frame.columns)
    compared = select(p, y, candidates=["platt"], **QUICK).to_frame()
    assert {f"{name}_gain_low" for name in METRICS} <= set(compared.columns)
    text = str(result)
    assert f"> {result.method}" in text
    assert "each row is recalibrated by a fit on the other folds" in text
    assert "before    after   gain (95 % interval)" in str(result.improvement)
    with pytest.raises(KeyError, match="no candidate 'bert'"):
        result.selection["bert"]
    named = believable.calibrate(p, y, TemperatureScaling(), **QUICK)
    assert named.selection is None
    assert str(named).startswith("TemperatureScaling()")
    assert believable.load_recalibrator(named.to_json()).transform([0.3]) == named.transform([0.3])
    np.testing.assert_array_equal(named.predict_proba(p)[:, 1], named.transform(p))


def test_a_wrapped_method_is_as_simple_as_what_it_wraps():
    """OneVsRest around a flexible method does not pass for a simple one; names are taken in dictionaries too."""
    p, y = binary(1000)
    found = select(p, y, candidates={"wrapped": OneVsRest("venn_abers"), "beta": "beta"}, rule="proven", **QUICK)
    if found["beta"].is_as_good:
        assert found.chosen == "beta"
    assert found["wrapped"].method._facts().simplicity == RECALIBRATORS["VennAbers"].facts.simplicity


def test_a_bar_that_is_seen_on_terminals_alone(capsys):
    """Progress goes to the error stream, and nowhere where nobody looks."""
    assert list(tracked([1, 2], "counting", None)) == [1, 2]
    assert capsys.readouterr() == ("", "")
    assert list(tracked([1, 2], "counting", True)) == [1, 2]
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "counting" in shown.err


def test_candidates_are_not_modified():
    """The recalibrators that were handed over stay as they are."""
    method = PlattScaling(targets="smoothed")
    select(*binary(), candidates=[method, clone(method)], **QUICK)
    assert not hasattr(method, "maps_")
    assert method.input == "probabilities"


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({"score": "ece"}, "is not a proper score"),
        ({"score": "auc"}, "score must be one of"),
        ({"candidates": []}, "candidates is empty"),
        ({"candidates": "platt"}, "must be a list of names"),
        ({"candidates": ["plat"]}, "method 'plat' is not known; did you mean 'platt'[?] Choose from: .*platt, "),
        ({"candidates": {"nothing": PlattScaling()}}, "call your candidate something else"),
        ({"candidates": {"mine": 3}}, "method must be a recalibrator such as .* got 3"),
        ({"candidates": [OneVsRest(multilabel=True)]}, "make the method with multilabel=False"),
        ({"candidates": [OneVsRest(normalise=False)]}, "make the method with normalise=True"),
        ({"candidates": [PlattScaling]}, r"got a class: pass PlattScaling\(\)"),
        ({"candidates": [PlattScaling(input="scores")]}, "made for input='scores': pass input='scores'"),
        ({"candidates": ["prior_shift"]}, "PriorShift adapts scores to another population"),
        ({"cv": 1}, "cv must be an integer at least 2"),
        ({"input": "odds"}, "input must be one of"),
        ({"level": 1.0}, "strictly between 0 and 1"),
        ({"clusters": [0, 1] * 150}, "2 clusters, too few for cv=5"),
    ],
)
def test_bad_choices(choices, sentence):
    """Choices that make no sense are refused in a sentence."""
    with pytest.raises(InputError, match=sentence):
        select(*binary(), **(QUICK | choices))


def test_clusters_that_say_nothing_leave_the_gain_as_it_is():
    """The upper end allows for maps fitted on all rows, of which clusters leave as many as are independent."""
    rng = np.random.default_rng(0)
    p = rng.random(4000)
    y = (rng.random(4000) < p**1.3).astype(int)
    widths = []
    for clusters in (None, np.arange(4000) // 40):
        gain = believable.calibrate(p, y, method="beta", clusters=clusters, random_state=0).improvement.gains[
            "log_loss"
        ]
        widths.append(gain.high - gain.low)
    assert widths[1] < 1.5 * widths[0]


def test_bad_data():
    """Soft labels, several labels, one class and a lone row of a class are refused."""
    p, y = binary()
    with pytest.raises(InputError, match=r"not soft labels such as 0\.25: leave rows with such labels out"):
        select(Predictions(p, np.where(np.arange(len(p)) == 7, 0.25, y), soft_labels=True))
    with pytest.raises(InputError, match="AveragedCalibration"):
        select(Predictions(np.column_stack([p, p]), np.column_stack([y, y]), multilabel=True))
    with pytest.raises(InputError, match="fit_from_cells"):
        select(CellStats.of(Predictions(p, y)))
    with pytest.raises(InputError, match="these look like logits: pass input='logits'"):
        select(logit(p), y)
    with pytest.raises(InputError, match="actuals are text: pass classes="):
        select(p, np.where(y == 1, "yes", "no"))
    with pytest.raises(InputError, match="only one class is left to fit on"):
        select(p, y, clusters=np.where(y == 1, 7, np.arange(len(y)) % 20 + 10))
    with pytest.raises(InputError, match="at least two rows"):
        select(p, np.zeros(len(p), int))
    with pytest.raises(InputError, match="at least two rows"):
        select(p, np.eye(1, len(p), dtype=int)[0])
    with pytest.raises(InputError, match="holds probabilities"):
        select(Predictions(p, y), input="logits")
