"""The noise floor against brute force: labels drawn row by row, the metric asked each time."""

import numpy as np
import pytest

from believable import BinStats, CellStats, Predictions, ScoreSums, Summary, interval, noise_floor
from believable.errors import InputError, UndefinedError
from believable.inference.noise_floor import floor_replicates
from believable.inference.question import ask
from believable.metrics import METRICS, find_metric


def uniform(n, seed=0):
    return np.random.default_rng(500 + seed).random(n)


def brute_force(metric, scores, n_draws, weights=None, multilabel=False, **options):
    """The plain loop: every row draws its label from its own scores."""
    rng = np.random.default_rng(42)
    function, values = find_metric(metric).function, []
    for _ in range(n_draws):
        if scores.ndim == 1 or multilabel:
            labels = (rng.random(scores.shape) < scores).astype(int)
        else:
            labels = np.array([rng.choice(len(row), p=row / row.sum()) for row in scores.astype(np.float64)])
        source = Predictions(scores, labels, sample_weight=weights, multilabel=multilabel)
        values.append(float(function(source, **options)))
    return np.array(values)


def agrees(floor, values, n_draws):
    error = values.std() * np.sqrt(1 / len(values) + 1 / n_draws)
    assert floor.mean == pytest.approx(values.mean(), abs=4.5 * error + 0.01 * values.std())
    # The standard error of a 95 % quantile is about 2.1 deviations over the root of the draws, more with a long tail.
    assert floor.q95 == pytest.approx(np.quantile(values, 0.95), abs=12 * error)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("metric", "options"),
    [("ece", {"n_bins": 15}), ("mce", {"n_bins": 5}), ("ace", {"n_bins": 6}), ("ks", {}), ("mmce", {})],
    ids=str,
)
def test_binary(metric, options, dtype, weighted):
    """Mean and 95 % quantile are those of labels drawn row by row."""
    p = uniform(300).astype(dtype)
    w = np.random.default_rng(1).integers(1, 4, 300) if weighted else None
    floor = noise_floor(metric, p, options=options, sample_weight=w, n_resamples=4000, random_state=0)
    agrees(floor, brute_force(metric, p, 700, w, **options), 4000)


def test_smooth():
    """So it is for smECE."""
    p = uniform(150)
    agrees(noise_floor("smece", p, n_resamples=500, random_state=0), brute_force("smece", p, 200), 500)


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("ece", {}),
        ("sce", {"n_bins": 5}),
        ("sce", {"n_bins": 5, "pooled": True}),
        ("tace", {"n_bins": 5, "threshold": 0.05}),
        ("cwce", {"n_bins": 5}),
        ("toprce", {"r": 2}),
        ("tlce", {"n_bins": 5}),
        ("ece", {"notion": "classwise_top_r", "r": 2, "n_bins": 5}),
        ("ece", {"notion": "rth", "r": 2}),
        ("ece", {"notion": "within_top_r", "r": 2}),
        ("ks", {"notion": "classwise"}),
        ("brier", {}),
    ],
    ids=str,
)
def test_matrix(metric, options):
    """So it is for a matrix: the classes of one row get one label."""
    q = np.random.default_rng(2).dirichlet([0.5, 1, 2], 120)
    floor = noise_floor(metric, q, options=options, n_resamples=1000, random_state=0)
    agrees(floor, brute_force(metric, q, 250, **options), 1000)


def test_multilabel():
    """So it is for independent columns."""
    columns = np.random.default_rng(3).random((100, 3))
    source = Predictions(columns, np.zeros((100, 3), int), multilabel=True)
    floor = noise_floor("sce", source, options={"n_bins": 5}, n_resamples=1000, random_state=0)
    agrees(floor, brute_force("sce", columns, 300, multilabel=True, n_bins=5), 1000)


def test_well_known_number():
    """A perfectly calibrated model with uniform scores at n = 1000 shows an ECE of about 0.038 in 15 bins."""
    floor = noise_floor("ece", uniform(1000), options={"n_bins": 15}, random_state=0)
    assert floor.mean == pytest.approx(0.038, abs=0.0015)
    assert floor.q95 == pytest.approx(0.052, abs=0.004)


def test_falls_with_rows():
    """A hundred times the rows, a tenth of the floor."""
    few, many = (noise_floor("ece", uniform(n), n_resamples=500, random_state=0).mean for n in (300, 30_000))
    assert few / many == pytest.approx(10, rel=0.15)


def test_heavy_weights_raise_it():
    """Unequal weights leave fewer effective rows, so the floor is higher by the root of that."""
    p, w = uniform(2000), np.random.default_rng(4).lognormal(0, 1, 2000)
    plain, weighted = (noise_floor("ece", p, sample_weight=s, n_resamples=500, random_state=0).mean for s in (None, w))
    assert weighted / plain == pytest.approx(np.sqrt(2000 * np.sum(w**2)) / np.sum(w), rel=0.12)


# --- p-values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["ece", "mce", "ks", "rmsce"])
def test_level(metric):
    """Calibrated models are rejected at 5 % about as often as that, and p-values have mean one half."""
    rng = np.random.default_rng(5)
    p_values = []
    for _ in range(200):
        p = rng.random(150)
        p_values.append(noise_floor(metric, p, rng.random(150) < p, n_resamples=150, random_state=rng).p_value)
    p_values = np.array(p_values)
    assert np.mean(p_values <= 0.05) < 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / 200)
    assert p_values.mean() == pytest.approx(0.5, abs=0.08)
    assert p_values.min() < 0.1
    assert p_values.max() > 0.9


def test_level_of_rows():
    """So it is where one row has several pairs (SCE)."""
    rng = np.random.default_rng(6)
    p_values = []
    for _ in range(60):
        q = rng.dirichlet(np.ones(3), 80)
        label = (rng.random(80)[:, None] >= q.cumsum(axis=1)).sum(axis=1)
        p_values.append(noise_floor("sce", q, label, n_resamples=100, random_state=rng).p_value)
    assert np.mean(np.array(p_values) <= 0.05) < 0.16
    assert np.mean(p_values) == pytest.approx(0.5, abs=0.15)


def test_power():
    """Scores that are off are told from chance."""
    p = uniform(1000)
    y = np.random.default_rng(7).random(1000) < 0.35 + 0.3 * p
    for metric in ("ece", "mce", "ks", "smece", "brier", "nll"):
        floor = noise_floor(metric, p, y, n_resamples=100, random_state=0)
        assert floor.p_value == pytest.approx(1 / 101)
        assert floor.value > floor.q95


def test_direction():
    """Low is bad where high is good; what is best in between is tested on both sides."""
    p = uniform(400)
    rng = np.random.default_rng(8)
    y = rng.random(400) < p
    asked = {"n_resamples": 99, "random_state": 0}
    assert noise_floor("acc", p, 1 - y, **asked).p_value == 0.01
    assert noise_floor("acc", p, p > 0.5, **asked).p_value == 1.0
    assert noise_floor("auc", p, 1 - y, **asked).p_value == 0.01
    assert noise_floor("brier", p, p > 0.5, **asked).p_value == 1.0
    for shift in (-1.0, 1.0):
        rate = 1 / (1 + np.exp(-(np.log(p / (1 - p)) + shift)))
        assert noise_floor("citl", p, rng.random(400) < rate, **asked).p_value == 0.02
    assert noise_floor("citl", p, y, **asked).p_value > 0.05


def test_brier_floor():
    """The floor of the Brier score is the mean of p (1 - p)."""
    p = uniform(2000)
    floor = noise_floor("brier", p, n_resamples=200, random_state=0)
    assert floor.mean == pytest.approx(np.mean(p * (1 - p)), abs=0.001)


def test_constant_metric():
    """What does not look at labels shows what it shows, with p = 1."""
    p = uniform(100)
    floor = noise_floor("conf", p, p > 0.5, n_resamples=50, random_state=0)
    assert floor.mean == pytest.approx(floor.value)
    assert floor.p_value == 1


# --- ways to ask ------------------------------------------------------------------------------------------------------


def test_without_actuals():
    """Without outcomes there is a floor, but no value and no p-value; outcomes do not change the floor."""
    p = uniform(200)
    y = np.random.default_rng(9).random(200) < p
    for metric in ("ece", "ks", "brier"):
        blind = noise_floor(metric, p, n_resamples=100, random_state=0)
        seen = noise_floor(metric, p, y, n_resamples=100, random_state=0)
        assert blind.value is None
        assert blind.p_value is None
        assert (blind.mean, blind.q95) == pytest.approx((seen.mean, seen.q95), rel=1e-12)
        assert seen.value == float(find_metric(metric).function(p, y))
    q = np.random.default_rng(10).dirichlet(np.ones(3), 50)
    assert noise_floor("ece", q, n_resamples=100, random_state=0).value is None


def test_statistics():
    """`BinStats` and `CellStats` have the floor of the data."""
    p, w = np.round(uniform(400), 2), 1 + np.arange(400) % 3
    source = Predictions(p, np.random.default_rng(11).random(400) < p, sample_weight=w)
    asked = {"n_resamples": 200, "random_state": 0}
    of_data = noise_floor("ece", source, options={"n_bins": 15}, **asked)
    for found in (
        noise_floor("ece", BinStats.of(source, n_bins=15), **asked),
        noise_floor("ece", CellStats.of(source), options={"n_bins": 15}, **asked),
    ):
        assert (found.mean, found.q95, found.value) == pytest.approx((of_data.mean, of_data.q95, of_data.value))
        assert found.p_value == of_data.p_value
    for metric in ("ks", "smece"):
        one, other = (noise_floor(metric, each, **asked) for each in (source, CellStats.of(source)))
        assert (other.mean, other.q95, other.value) == pytest.approx((one.mean, one.q95, one.value), rel=1e-4)


def test_classwise_statistics():
    """Statistics of several classes are drawn class by class: near the floor of the rows, which are tied together."""
    rng = np.random.default_rng(12)
    source = Predictions(rng.dirichlet(np.ones(3), 300), rng.integers(0, 3, 300))
    stats = BinStats.of(source, source.view("classwise"))
    rows, cells = (noise_floor("sce", each, n_resamples=500, random_state=0) for each in (source, stats))
    assert cells.mean == pytest.approx(rows.mean, rel=0.05)


def test_own_function():
    """A function of one's own has a floor too; larger counts as worse."""
    p = uniform(300)

    def bias(scores, labels):
        return abs(np.mean(labels) - np.mean(scores))

    floor = noise_floor(bias, p, np.zeros(300, int), n_resamples=500, random_state=0)
    assert floor.mean == pytest.approx(np.sqrt(2 / np.pi * np.mean(p * (1 - p)) / 300), rel=0.12)
    assert floor.p_value == pytest.approx(1 / 501)


def test_reproducible():
    """The same seed, the same floor; a Generator is used as it is; one draw is enough to ask for."""
    p = uniform(100)
    for metric in ("ece", "ks", "brier"):
        seeds = (1, 1, np.random.default_rng(1), np.random.default_rng(1))
        one, same, used, again = (noise_floor(metric, p, n_resamples=50, random_state=seed) for seed in seeds)
        assert one == same
        assert used == again
    assert noise_floor("ece", p, n_resamples=1).mean > 0


@pytest.mark.parametrize("metric", [name for name, row in METRICS.items() if row.power and "binary" in row.kinds])
def test_limits(metric):
    """One row, constant scores, scores of 0 and 1: finite, and no warnings."""
    for p, y in (([0.3], [1]), (np.full(20, 0.4), np.arange(20) % 2), (np.arange(20) % 2.0, np.arange(20) % 2)):
        floor = noise_floor(metric, p, y, n_resamples=50, random_state=0)
        assert np.isfinite([floor.mean, floor.q95, floor.value]).all()
        assert 0 < floor.p_value <= 1
    assert floor.mean == floor.q95 == 0  # certain scores leave nothing to chance
    wrong = noise_floor(metric, np.arange(20) % 2.0, 1 - np.arange(20) % 2, n_resamples=50, random_state=0)
    if metric == "sweep_calibration_error":  # its rates fall from the first bin to the second, so it keeps one bin
        assert wrong.value == 0
    else:
        assert wrong.p_value == pytest.approx(1 / 51)


def test_refusals():
    """What cannot be meant is refused with a sentence."""
    p = uniform(50)
    with pytest.raises(InputError, match="has no option 'bins'"):
        noise_floor("ece", p, options={"bins": 3})
    with pytest.raises(InputError, match="n_resamples"):
        noise_floor("ece", p, n_resamples=0)
    source = Predictions(p, p > 0.5)
    with pytest.raises(UndefinedError, match="needs the predictions, not a statistic"):
        noise_floor("nll", ScoreSums.of(source))
    with pytest.raises(UndefinedError, match="this needs CellStats or predictions, not a BinStats"):
        noise_floor("ks", BinStats.of(source))


def test_two_classes_of_a_statistic_are_each_others_opposite():
    """Calibrated predictions of two classes are found out in about 5 of 100 sets, from a statistic too."""
    rng = np.random.default_rng(6)
    found = []
    for seed in range(150):
        p = rng.random(150)
        summary = Summary.of(Predictions(np.column_stack([1 - p, p]), (rng.random(150) < p).astype(int)))
        found.append(noise_floor("sce", summary, n_resamples=200, random_state=seed).p_value <= 0.2)
    assert 0.13 < np.mean(found) < 0.27  # 0.29 if each class were drawn by itself


def test_pooling_one_group_changes_nothing():
    """Floors and intervals of 1-D scores do not mind being asked to pool their one group."""
    rng = np.random.default_rng(7)
    p = rng.random(60)
    rows = Predictions(p, (rng.random(60) < p).astype(int))
    for source in (rows, Summary.of(rows)):
        for measure in (noise_floor, interval):
            pooled = measure("ece", source, options={"pooled": True}, n_resamples=100, random_state=0)
            assert pooled == measure("ece", source, n_resamples=100, random_state=0)


def test_sums_of_many_rows_are_drawn_from_their_cells():
    """Above 50,000 rows the Brier score and the log loss have the mean and spread of labels drawn row by row."""
    rng = np.random.default_rng(3)
    p = np.concatenate([rng.beta(0.3, 2, 30_000), rng.random(30_000) ** 8, [0.0, 1.0, 1e-9, 0.5]])
    y = (rng.random(len(p)) < p).astype(int)
    inner = p[(p > 0) & (p < 1)]
    variance, logit = inner * (1 - inner), np.log(inner) - np.log1p(-inner)
    exact = {
        "brier_score": (np.sum(p * (1 - p)), np.sum(variance * (1 - 2 * inner) ** 2)),
        "negative_log_likelihood": (np.sum(-inner * logit - np.log1p(-inner)), np.sum(variance * logit**2)),
    }
    for name, (mean, squared) in exact.items():
        question = ask(name, p, y, None, None)
        drawn, value = floor_replicates(question, 4000, np.random.default_rng(4))
        assert value == question.value()
        sd = np.sqrt(squared) / len(p)
        assert abs(drawn.mean() - mean / len(p)) < 4 * sd / np.sqrt(4000)
        assert drawn.std() == pytest.approx(sd, rel=0.05)


@pytest.mark.parametrize("ask_for", [interval, noise_floor])
def test_a_ratio_of_cells_varies_in_a_way_they_do_not_say(ask_for):
    """Cells give the value of a metric of sums, but not how it varies: that is said, and nothing breaks."""
    cells = CellStats.of(Predictions(uniform(50), uniform(50, 1) < 0.5))
    with pytest.raises(UndefinedError, match="needs the predictions or a Summary of them, not a Cell"):
        ask_for("observed_expected_ratio", cells)
