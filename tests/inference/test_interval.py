"""Intervals: they cover, they are in order, and what should not matter does not."""

from itertools import pairwise

import numpy as np
import pytest

from believable import (
    BinStats,
    CellStats,
    Layout,
    Predictions,
    ScoreSums,
    Summary,
    adaptive_calibration_error,
    auc,
    brier_score,
    expected_calibration_error,
    interval,
    maximum_calibration_error,
    root_mean_square_calibration_error,
    smooth_calibration_error,
)
from believable.errors import InputError, UndefinedError
from believable.inference import Interval
from believable.metrics import METRICS
from tests.needs import decided_by_rounding

N_BINS = 15
FIFTEEN = {"n_bins": N_BINS}


def logit_slope(p, slope):
    return 1 / (1 + np.exp(-slope * np.log(p / (1 - p))))


def beta(a, b):
    return lambda rng, n: np.clip(rng.beta(a, b, n), 1e-9, 1 - 1e-9)


def heaps(rng, n):
    return rng.choice([0.05, 0.5, 0.8, 0.9, 0.95, 0.99], n)


POPULATIONS = {
    "calibrated": (beta(2, 2), lambda p: p),
    "mild": (beta(2, 2), lambda p: logit_slope(p, 0.9)),
    "over-confident": (beta(0.5, 0.5), lambda p: logit_slope(p, 0.6)),
    "heaped": (heaps, lambda p: 0.6 * p + 0.2),
    "rare": (beta(0.6, 14), lambda p: np.minimum(1.5 * p, 1)),
}


def true_ece(scores, rate):
    p = scores(np.random.default_rng(99), 200_000)
    code = np.minimum(np.ceil(p * N_BINS).astype(int), N_BINS)
    return np.abs(np.bincount(code, rate(p) - p)).sum() / len(p)


def draw(n=400, seed=0, slope=0.6, factor=1.0):
    """Over-confident scores, too high too with a factor below 1, and their outcomes."""
    rng = np.random.default_rng(1000 + seed)
    p = np.clip(rng.beta(0.7, 0.7, n), 1e-6, 1 - 1e-6)
    return p, (rng.random(n) < factor * logit_slope(p, slope)).astype(int)


def calibrated(n=400, seed=0):
    rng = np.random.default_rng(2000 + seed)
    p = rng.random(n)
    return p, (rng.random(n) < p).astype(int)


def ends(found):
    return found.low, found.high


def width(found):
    return found.high - found.low


def in_order(found):
    assert found.low <= found.high
    assert np.isfinite([found.low, found.high, found.value, found.estimate]).all()


# --- what an interval is for ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", POPULATIONS)
def test_covers(name):
    """A 95 % interval of the ECE holds the population's ECE (60 data sets; 51 would be a freak)."""
    scores, rate = POPULATIONS[name]
    target = 0.0 if name == "calibrated" else true_ece(scores, rate)
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(60):
        p = scores(rng, 300)
        y = rng.random(300) < rate(p)
        held += target in interval("ece", p, y, options=FIFTEEN, n_resamples=300, random_state=rng)
    assert held >= 51


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "n_sets"), [("smece", 6), ("ks", 20), ("mmce", 20)])
def test_covers_zero_without_bins(metric, n_sets):
    """Errors without bins get intervals that hold 0 when the scores are calibrated."""
    rng = np.random.default_rng(12)
    held = 0
    for _ in range(n_sets):
        p = rng.random(100)
        held += interval(metric, p, rng.random(100) < p, n_resamples=100, random_state=rng).low == 0
    assert held >= 0.7 * n_sets


def test_percentiles_do_not_cover():
    """Percentiles of the bootstrapped ECE of a calibrated model almost never hold 0: why a test is inverted instead."""
    rng = np.random.default_rng(13)
    held = 0
    for _ in range(40):
        p = rng.beta(2, 2, 300)
        y = rng.random(300) < p
        found = interval("ece", p, y, options=FIFTEEN, method="percentile", n_resamples=200, random_state=rng)
        held += 0.0 in found
    assert held < 0.2 * 40


def test_begins_at_zero():
    """The lower end is exactly 0 where perfect calibration is not rejected, and above 0 where it is."""
    assert interval("ece", *calibrated(), random_state=0).low == 0
    assert interval("ece", *draw(2000), random_state=0).low > 0.02


def test_value_above():
    """The plain value of a calibrated model may lie above the interval; the estimate never does."""
    data = calibrated(1000, seed=2)
    found = interval("ece", *data, options={"n_bins": 50}, n_resamples=300, random_state=0)
    assert found.value > found.high
    assert found.low <= found.estimate <= found.high
    assert found.value == expected_calibration_error(*data, n_bins=50)


def test_less_than_chance():
    """A value smaller than chance makes it is said to be one, and the interval begins at 0."""
    p = np.repeat(np.arange(1, 10) / 10, 100)
    y = np.tile(np.arange(100), 9) < 100 * p - 1  # each rate short of its score by 0.01
    found = interval("ece", p, y, random_state=0)
    assert "smaller than expected" in found.note
    assert found.low == 0 < found.high < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["ece", "rmsce", "mce", "smece", "ks", "brier", "auc"])
def test_narrows(metric):
    """With sixteen times the rows the interval is about a quarter as wide (less for the largest of many gaps)."""
    few, many = (width(interval(metric, *draw(n), n_resamples=300, random_state=0)) for n in (500, 8000))
    assert few / (12 if metric in ("ks", "auc") else 8) < many < few / 1.8


# --- every metric -----------------------------------------------------------------------------------------------------


def _problems():
    rng = np.random.default_rng(20)
    n = 60
    p, q, columns = rng.random(n), rng.dirichlet(np.ones(3), n), rng.random((n, 2))
    label = (rng.random(n)[:, None] >= q.cumsum(axis=1)).sum(axis=1)
    happened = (rng.random((n, 2)) < columns**1.5).astype(int)
    return {
        "binary": Predictions(p, rng.random(n) < p**1.5),
        "weighted": Predictions(p.astype(np.float32), rng.random(n) < p, sample_weight=rng.random(n)),
        "soft": Predictions(p, rng.integers(0, 5, n) / 4, soft_labels=True),
        "multiclass": Predictions(q, label),
        "multilabel": Predictions(columns, happened, multilabel=True),
    }


PROBLEMS = _problems()
SLOW = {"integrated_calibration_index", "local_calibration_score", "smooth_calibration_error"}
EACH = [
    (name, metric)
    for name, data in PROBLEMS.items()
    for metric, row in METRICS.items()
    if data.kind in row.kinds and not (metric in SLOW and name in ("weighted", "soft"))
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "metric"), EACH)
def test_every_metric(name, metric):
    """Every metric of the table has a finite interval in order, inside its range, about its own value."""
    data, row = PROBLEMS[name], METRICS[metric]
    found = interval(metric, data, n_resamples=100, random_state=0)
    in_order(found)
    assert row.low - 1e-12 <= found.low <= found.high <= row.high + 1e-12
    assert found.value == float(row.function(data))
    assert (found.method == "inversion") == (row.power is not None or row.target != "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("ece", {"norm": 2, "strategy": "quantile"}),
        ("ece", {"norm": "max", "n_bins": 7}),
        ("ece", {"edges": [0, 0.2, 0.9, 1]}),
        ("ece", {"threshold": 0.5}),
        ("smece", {"bandwidth": 0.1}),
        ("ici", {"span": 0.5, "degree": 1}),
        ("brier", {"scale_by_half": True}),
        ("nll", {"eps": 1e-3}),
        ("mmce", {"unbiased": True}),
        ("dce", {"variance": "label"}),
    ],
)
def test_options(metric, options):
    """Choices of the metric reach it."""
    p, y = draw(200)
    found = interval(metric, p, y, options=options, n_resamples=100, random_state=0)
    in_order(found)
    assert found.value == float(METRICS[found_name(metric)].function(p, y, **options))


def found_name(alias):
    return next(name for name, row in METRICS.items() if row.alias == alias)


@pytest.mark.parametrize(
    "options",
    [
        {"notion": "classwise"},
        {"notion": "classwise", "pooled": True},
        {"notion": "top_label"},
        {"notion": "rth", "r": 2},
        {"notion": "within_top_r", "r": 2},
        {"notion": "top_r", "r": 2},
        {"notion": "classwise_top_r", "r": 2},
    ],
    ids=str,
)
def test_notions(options):
    """Every notion of a matrix has its interval."""
    for metric in ("ece",) if "pooled" in options else ("ece", "ks"):
        in_order(interval(metric, PROBLEMS["multiclass"], options=options, n_resamples=100, random_state=0))


@pytest.mark.parametrize("method", ["auto", "percentile"])
@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("toprce", {"r": 2}),
        ("toprce", {"r": 9, "pooled": True}),
        ("tace", {"threshold": 0.1}),
        ("tace", {"threshold": None, "n_bins": 4}),
        ("sce", {"pooled": True, "n_bins": 7}),
        ("tlce", {"strategy": "quantile", "threshold": 0.4}),
    ],
    ids=str,
)
def test_what_is_counted(metric, options, method):
    """So do choices of what is counted, for metrics that have defaults of their own."""
    data = PROBLEMS["multiclass"]
    found = interval(metric, data, options=options, method=method, n_resamples=100, random_state=0)
    in_order(found)
    assert found.value == METRICS[found_name(metric)].function(data, **options)


def test_convention():
    """Another library's convention is reproduced; its test is inverted in the bins that it makes."""
    found = interval("ece", *draw(200), options={"convention": "torchmetrics"}, n_resamples=100, random_state=0)
    in_order(found)
    assert found.method == "inversion"


def test_debiased():
    """The debiased error gets the interval of the root mean square error that it estimates, in its own bins."""
    data = draw(500)
    debiased = interval("dce", *data, options=FIFTEEN, random_state=3)
    rms = interval("rmsce", *data, options=FIFTEEN | {"strategy": "quantile"}, random_state=3)
    assert ends(debiased) == ends(rms)
    assert debiased.estimate == rms.estimate
    assert debiased.value < rms.value == root_mean_square_calibration_error(*data, n_bins=15, strategy="quantile")


# --- level, randomness ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["ece", "mce", "ks", "brier", "auc", "kce"])
def test_level(metric):
    """A higher level gives an interval that holds the one of a lower level."""
    data = draw(300, factor=0.8)
    found = [interval(metric, *data, level=level, n_resamples=500, random_state=5) for level in (0.5, 0.8, 0.9, 0.95)]
    slack = 0.02 * width(found[-1])  # candidates between which is interpolated differ a little
    for inner, outer in pairwise(found):
        assert outer.low <= inner.low + slack
        assert inner.high <= outer.high + slack
        assert outer.level > inner.level


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["ece", "sweepece", "brier", "nll", "ks"])
def test_reproducible(metric):
    """The same seed gives the same interval, another one a slightly different one; a Generator is used as it is."""
    data = draw(300)
    first, again, other = (interval(metric, *data, n_resamples=200, random_state=seed) for seed in (1, 1, 2))
    assert first == again
    assert ends(first) != ends(other)
    rng, same = np.random.default_rng(1), np.random.default_rng(1)
    used = interval(metric, *data, n_resamples=200, random_state=rng)
    assert interval(metric, *data, n_resamples=200, random_state=same) == used
    assert interval(metric, *data, n_resamples=200, random_state=rng) != used


@pytest.mark.slow
def test_seeds_agree():
    """What is left of the seed in the ends is small beside the width."""
    data = draw(1000)
    found = np.array([ends(interval("ece", *data, options=FIFTEEN, random_state=seed)) for seed in range(8)])
    assert (found.std(axis=0) < 0.06 * (found[:, 1] - found[:, 0]).mean()).all()


def test_global_state():
    """Nothing touches the global random state."""
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    interval("ece", *draw(100), n_resamples=100)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


@pytest.mark.parametrize("metric", ["ece", "ks", "brier", "sweepece"])
def test_input_is_left_alone(metric):
    """The arrays given are not modified, and may be read-only."""
    p, y = draw(100)
    w, groups = np.linspace(0, 1, 100), np.arange(100) // 2
    kept = [array.copy() for array in (p, y, w, groups)]
    for array in (p, y, w, groups):
        array.flags.writeable = False
    interval(metric, p, y, sample_weight=w, clusters=groups, n_resamples=100, random_state=0)
    assert all((a == b).all() for a, b in zip((p, y, w, groups), kept, strict=True))


# --- clusters ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["ece", "ks", "brier", "auc"])
def test_repeated_rows(metric):
    """Rows repeated ten times as clusters say what the rows say once; taken for new rows they seem to say more."""
    p, y = draw(300, factor=0.8)
    repeated, groups = (np.repeat(p, 10), np.repeat(y, 10)), np.repeat(np.arange(300), 10)
    once = interval(metric, p, y, n_resamples=400, random_state=0)
    together = interval(metric, *repeated, clusters=groups, n_resamples=400, random_state=0)
    apart = interval(metric, *repeated, n_resamples=400, random_state=0)
    assert together.value == pytest.approx(once.value, rel=1e-12)
    assert width(together) == pytest.approx(width(once), rel=0.3)
    assert width(apart) < 0.65 * width(together)


def test_clusters_widen():
    """Outcomes that go together within clusters widen the interval."""
    rng = np.random.default_rng(31)
    p = np.repeat(rng.random(100), 10)
    y = np.repeat(rng.random(100), 10) < p
    groups = np.repeat(np.arange(100), 10)
    for metric in ("ece", "brier"):
        apart, together = (interval(metric, p, y, clusters=g, n_resamples=300, random_state=0) for g in (None, groups))
        assert width(together) > 1.5 * width(apart)


def test_names_of_clusters():
    """Clusters may have any names, in any order; each row its own cluster is no cluster at all, but for the seed."""
    data, groups = draw(200), np.arange(200) // 4
    words = np.array([f"patient {g}" for g in groups])
    for metric in ("ece", "brier"):
        one, other = (
            interval(metric, *data, clusters=g, n_resamples=300, random_state=0) for g in (groups, list(words))
        )
        assert width(one) == pytest.approx(width(other), rel=0.2)
        assert one.value == other.value
    own = interval("brier", *data, clusters=np.arange(200), random_state=0)
    assert ends(own) == pytest.approx(ends(interval("brier", *data, random_state=0)), rel=1e-12)


def test_groups_of_dropped_rows():
    """Groups may be given for all rows though some weigh nothing, or for those that are left."""
    p, y = draw(100)
    w = (np.arange(100) % 3 > 0).astype(float)
    groups = np.arange(100) // 5
    asked = {"n_resamples": 100, "random_state": 0}
    of_all = interval("ece", p, y, sample_weight=w, clusters=groups, **asked)
    of_kept = interval("ece", Predictions(p, y, sample_weight=w), clusters=groups[w > 0], **asked)
    assert of_all == of_kept


# --- weights ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["ece", "ace", "ks", "smece", "brier", "auc", "sweepece", "kce"])
def test_weights(metric):
    """Rows of weight 0 might as well be left out, and a common factor changes nothing."""
    p, y = draw(150)
    w = np.where(np.arange(150) % 4 == 0, 0.0, 1 + np.arange(150) % 3)
    asked = {"n_resamples": 100, "random_state": 0}
    found = interval(metric, p, y, sample_weight=w, **asked)
    left = interval(metric, p[w > 0], y[w > 0], sample_weight=w[w > 0], **asked)
    scaled = interval(metric, p, y, sample_weight=4 * w, **asked)
    assert ends(left) == pytest.approx(ends(found), rel=1e-9, abs=1e-12)
    assert ends(scaled) == pytest.approx(ends(found), rel=1e-6, abs=1e-9)
    equal, none = (interval(metric, p, y, sample_weight=each, **asked) for each in (np.full(150, 2.0), None))
    by_rows = metric in ("auc", "sweepece")  # with weights whole rows are drawn, which takes other random numbers
    assert ends(equal) == pytest.approx(ends(none), rel=1e-6, abs=0.3 * width(none) if by_rows else 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["ece", "ks", "brier", "auc"])
def test_unequal_weights(metric):
    """Unequal weights leave fewer effective rows, so the intervals are wider."""
    w = np.random.default_rng(32).lognormal(0, 1, 600)  # about e times fewer
    plain, weighted = [], []
    for seed in range(3):
        data = draw(600, seed)
        plain.append(width(interval(metric, *data, n_resamples=200, random_state=0)))
        weighted.append(width(interval(metric, *data, sample_weight=w, n_resamples=200, random_state=0)))
    assert np.mean(weighted) > 1.25 * np.mean(plain)


# --- statistics and functions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "percentile"])
@pytest.mark.parametrize("weighted", [False, True])
@decided_by_rounding
def test_from_bins(method, weighted):
    """`BinStats` and `CellStats` give the interval that the data give."""
    p, y = draw(300)
    w = 1 + np.arange(300) % 3 if weighted else None
    data = Predictions(p, y, sample_weight=w)
    asked = {"method": method, "n_resamples": 200, "random_state": 4}
    of_data = interval("ece", data, options=FIFTEEN, **asked)
    of_bins = interval("ece", BinStats.of(data, n_bins=15), **asked)
    of_cells = interval("ece", CellStats.of(data), options=FIFTEEN, **asked)
    for found in (of_bins, of_cells):
        assert ends(found) == pytest.approx(ends(of_data), rel=1e-9)
        assert found.value == pytest.approx(of_data.value, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["ks", "smece", "auc"])
def test_from_cells(metric):
    """So do `CellStats` for metrics without bins, where every score has a cell of its own."""
    p, y = draw(300)
    data = Predictions(np.round(p, 2), y)
    asked = {"n_resamples": 200, "random_state": 4}
    of_data, of_cells = (interval(metric, source, **asked) for source in (data, CellStats.of(data)))
    assert ends(of_cells) == pytest.approx(ends(of_data), rel=1e-6, abs=1e-9)


def test_added_statistics():
    """The interval of days added up is that of all of them."""
    p, y = draw(400)
    parts = [BinStats.of(Predictions(p[i::4], y[i::4])) for i in range(4)]
    whole = interval("ece", BinStats.of(Predictions(p, y)), random_state=0)
    assert ends(interval("ece", sum(parts), random_state=0)) == pytest.approx(ends(whole), rel=1e-9)


def test_own_function():
    """A function of one's own is bootstrapped: its interval is the textbook one."""
    p, y = draw(500)

    def bias(scores, labels):
        return np.mean(scores) - np.mean(labels)

    found = interval(bias, p, y, random_state=0)
    reach = 1.96 * np.std(p - y) / np.sqrt(500)
    assert found.value == bias(p, y)
    assert ends(found) == pytest.approx((found.value - reach, found.value + reach), abs=0.15 * reach)
    assert found.method == "percentile"


def test_own_function_with_choices():
    """It gets its choices, and weights by the name `sample_weight`."""
    p, y = draw(60)
    seen = []

    def mine(scores, labels, *, power, sample_weight):
        seen.append(len(sample_weight))
        return np.average(np.abs(scores - labels) ** power, weights=sample_weight)

    found = interval(mine, p, y, options={"power": 2}, sample_weight=np.ones(60), n_resamples=100, random_state=0)
    assert found.value == pytest.approx(brier_score(p, y), rel=1e-12)
    assert set(seen) == {60, 120}  # twice the rows show whether the function depends on their number


def test_function_of_the_table():
    """A function of the table is known by itself, not only by name."""
    data = draw(200)
    by_name = interval("ece", *data, random_state=0)
    assert interval(expected_calibration_error, *data, random_state=0) == by_name
    assert interval("expected_calibration_error", *data, random_state=0) == by_name


# --- limits -----------------------------------------------------------------------------------------------------------

SMALL = {
    "one row": ([0.7], [1]),
    "one row, wrong": ([1.0], [0]),
    "two rows": ([0.2, 0.9], [1, 0]),
    "one class": (np.linspace(0.1, 0.9, 40), np.zeros(40, int)),
    "constant": (np.full(50, 0.3), np.arange(50) % 3 == 0),
    "constant 0": (np.zeros(20), np.arange(20) % 4 == 0),
    "sure and right": (np.arange(30) % 2.0, np.arange(30) % 2),
    "sure and wrong": (np.arange(30) % 2.0, 1 - np.arange(30) % 2),
    "sure, mostly right": (np.arange(30) % 2.0, np.arange(30) % 2 ^ (np.arange(30) % 7 == 0)),
    "tiny": (np.full(30, 1e-300), np.zeros(30, int)),
}
ERRORS = ["ece", "mce", "rmsce", "ace", "dce", "ks", "kuiper", "mmce", "smece", "avgce"]


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("metric", [*ERRORS, "brier", "acc", "conf", "sharpness"])
def test_limits(name, metric):
    """However little there is, the interval is finite and in order, and nothing is warned about."""
    found = interval(metric, *SMALL[name], n_resamples=100, random_state=0)
    in_order(found)
    if metric in ERRORS:
        assert 0 <= found.low <= found.estimate <= found.high <= 1
    if name == "sure and right" and metric not in ("conf", "sharpness", "acc"):
        assert found.low == found.value == 0
    if name == "sure and wrong" and metric in ("ece", "mce", "rmsce"):
        assert found.value == 1
        assert found.high > 0.9


@pytest.mark.parametrize("metric", [*ERRORS, "brier", "acc"])
def test_all_weight_on_one_row(metric):
    """One row may have nearly all of the weight."""
    p, y = draw(50)
    w = np.where(np.arange(50) == 7, 1.0, 1e-9)
    in_order(interval(metric, p, y, sample_weight=w, n_resamples=100, random_state=0))


@pytest.mark.parametrize("metric", ["sce", "toprce", "tace", "tlce", "cwce", "ece", "brier"])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_small_matrix(metric, n):
    """So it is for a matrix of a row or two."""
    q = np.array([[0.7, 0.2, 0.1], [0, 1, 0], [1 / 3, 1 / 3, 1 / 3], [0, 0.5, 0.5], [1, 0, 0]])[:n]
    in_order(interval(metric, q, np.array([0, 2, 1, 1, 1])[:n], n_resamples=100, random_state=0))


def test_infinite_loss():
    """A log loss that is infinite has an interval that says so, without a warning."""
    p, y = np.append(np.full(20, 0.8), 0.0), np.append(np.arange(20) % 5 > 0, True)
    found = interval("nll", p, y, random_state=0)
    assert found.value == found.high == np.inf
    assert 0 < found.low < 1


@pytest.mark.parametrize("metric", ["brier", "bss", "acc"])
def test_certain_and_wrong_rows_of_a_summary(metric):
    """They make the log loss infinite, and no other interval narrower than that of the rows."""
    y = np.random.default_rng(0).random(800) < 0.5
    p = np.where(np.arange(800) % 4 == 0, ~y, y).astype(float)
    rows, counted = (
        interval(metric, one, random_state=0) for one in (Predictions(p, y), Summary.of(Predictions(p, y)))
    )
    assert counted.value == pytest.approx(rows.value)
    assert counted.high - counted.low == pytest.approx(rows.high - rows.low, rel=0.1)


# --- the object, and refusals -----------------------------------------------------------------------------------------


def test_object():
    """It knows what it holds and how it reads."""
    found = Interval(0.01, 0.05, 0.9, 0.04, 0.03, "inversion")
    assert 0.01 in found
    assert 0.05 in found
    assert 0.0501 not in found
    assert str(found) == "0.0400, 90 % interval 0.0100 … 0.0500"


ONE = {"n_resamples": 100, "random_state": 0}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"options": {"bins": 15}},
            "expected_calibration_error has no option 'bins'; it has \\['bin_by', 'convention', 'edges'",
        ),
        ({"method": "student"}, "method"),
        ({"level": 1.0}, "level"),
        ({"level": 95}, "level"),
        ({"n_resamples": 10}, "n_resamples"),
        ({"random_state": "seed"}, "random_state must be None, an integer from 0 or a numpy Generator, got 'seed'"),
        ({"clusters": [1, 2]}, "clusters has 2 entries, but the predictions have 100 rows"),
        ({"clusters": np.ones((100, 2))}, "clusters must be 1-D, one entry per row, got shape \\(100, 2\\)"),
        ({"clusters": ["a"] * 100}, "clusters holds only one cluster"),
        (
            {"method": "bca"},
            "method='bca' supports metrics of sums only \\(Brier score, accuracy, …\\); use 'percentile'",
        ),
    ],
)
def test_refusals(arguments, sentence):
    """What cannot be meant is refused with a sentence."""
    with pytest.raises(InputError, match=sentence):
        interval("ece", *draw(100), **(ONE | arguments))


def test_refused_metrics():
    """Metrics that are not errors cannot be inverted; unknown ones, and sums without rows, are refused."""
    p, y = draw(100)
    for metric in ("brier", "auc", "acc", "kce", lambda a, b: 0.0):
        with pytest.raises(InputError, match="method='inversion' supports calibration errors only"):
            interval(metric, p, y, method="inversion", **ONE)
    with pytest.raises(InputError, match="an interval needs the rows, or a Summary of them: sums alone do not"):
        interval("brier", ScoreSums.of(Predictions(p, y)), **ONE)
    with pytest.raises(InputError, match="metric must be a name from the table of metrics or a function, got 3"):
        interval(3, p, y)
    with pytest.raises(InputError):
        interval("nonsense", p, y)
    with pytest.raises(
        UndefinedError, match="top_r_calibration_error is defined for multiclass predictions, these are"
    ):
        interval("toprce", p, y)


def test_refused_statistics():
    """A statistic holds what it counted, and not which rows belong together."""
    p, y = draw(100)
    stats = BinStats.of(Predictions(p, y))
    with pytest.raises(InputError, match="a statistic does not record which rows belong together"):
        interval("ece", stats, clusters=np.arange(100), **ONE)
    with pytest.raises(InputError, match="a BinStats already contains outcomes and weights"):
        interval("ece", stats, y, **ONE)
    with pytest.raises(InputError, match="a custom metric function needs predictions, not a statistic"):
        interval(lambda a, b: 0.0, stats, **ONE)


@pytest.mark.parametrize("metric", ["ks", "smece", "auc", "sweepece", "kce", "ici"])
def test_refused_bins(metric):
    """What needs more than bins says so, in a sentence of the library."""
    with pytest.raises((InputError, UndefinedError)):
        interval(metric, BinStats.of(Predictions(*draw(100))), **ONE)


def test_too_few_for_a_bootstrap():
    """Where the metric is undefined in many resampled data sets, that is said."""
    with pytest.raises(UndefinedError, match=r"undefined in \d+ of \d+ resampled data sets: there are too few rows"):
        interval(lambda p, y: auc(p, y), [0.1, 0.5, 0.9], [0, 0, 1], **ONE)


@pytest.mark.slow
@pytest.mark.parametrize("stretch", [8, 20, 60])
def test_smooth_errors_of_extreme_scores_are_covered(stretch):
    """Scores of an over-confident model crowd at 0 and 1, and so do their gaps: the interval covers there too."""
    rng = np.random.default_rng(stretch)
    z = rng.normal(size=100_000)
    truth = smooth_calibration_error(1 / (1 + np.exp(-stretch * z)), rng.random(len(z)) < 1 / (1 + np.exp(-z)))
    covered = 0
    for seed in range(20):
        z = rng.normal(size=400)
        happened = rng.random(400) < 1 / (1 + np.exp(-z))
        found = interval("smece", 1 / (1 + np.exp(-stretch * z)), happened, n_resamples=200, random_state=seed)
        covered += found.low <= truth <= found.high
    assert covered >= 16


def four_classes(rng, n, factor):
    """One class is hardly ever predicted, though it happens as often as the others; logits are too large by a factor."""
    z = rng.normal(0, 1, (n, 4))
    label = rng.integers(0, 4, n)
    z[:, 3] -= 6
    z[np.arange(n), label] += 1
    q = np.exp(factor * (z - z.max(axis=1, keepdims=True)))
    return q / q.sum(axis=1, keepdims=True), label


def over_confident(rng, n, factor):
    z = rng.normal(size=n)
    return 1 / (1 + np.exp(-factor * z)), rng.random(n) < 1 / (1 + np.exp(-z))


@pytest.mark.slow
@pytest.mark.parametrize(("draw_data", "factor"), [(four_classes, 1), (four_classes, 10), (over_confident, 30)])
def test_equal_counts_of_extreme_scores_are_covered(draw_data, factor):
    """Bins of equal counts crowd where scores are 0 or 1, and gaps may be large there (30 data sets; 24 is a freak)."""
    rng = np.random.default_rng(41)
    truth = adaptive_calibration_error(*draw_data(rng, 100_000, factor))
    found = [interval("ace", *draw_data(rng, 400, factor), n_resamples=200, random_state=seed) for seed in range(30)]
    assert sum(truth in each for each in found) >= 25
    assert np.mean([width(each) for each in found]) < 0.12


@pytest.mark.slow
def test_largest_gap_of_many_rows():
    """A sparse bin does not hide that a full one is off; the lower end stays below the truth (40 data sets)."""
    rng = np.random.default_rng(42)
    lows = []
    for seed in range(40):
        p = np.append(0.5 + 0.49 * rng.random(2000), 0.05 * rng.random(4))
        y = rng.random(len(p)) < p - 0.15 * (p > 0.5)
        found = interval("mce", p, y, n_resamples=100, random_state=seed)
        assert found.value == maximum_calibration_error(p, y)
        lows.append(found.low)
    assert np.mean(lows) > 0.07
    assert np.mean(np.array(lows) > 0.15) <= 0.1


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["ks", "ici", "smece", "auc", "slope", "brier"])
def test_the_value_lies_in_its_interval_at_a_trillion_rows(metric):
    """Points are put together to be drawn; what that moves the value by is more than so many rows leave open."""
    rng = np.random.default_rng(4)
    p = rng.beta(1, 3, 20_000)
    summary = Summary.of(Predictions(p, rng.random(20_000) < p / (p + 1.2 * (1 - p))))
    for _ in range(26):
        summary = summary + summary
    found = interval(metric, summary, n_resamples=100, random_state=0)
    assert summary.n > 1e12
    assert found.low <= found.value <= found.high
    assert found.high - found.low < 1e-4


def test_a_summary_is_asked_for_its_headline():
    """The interval is of the notion that the value is of: the headline, whatever else was counted."""
    rng = np.random.default_rng(0)
    data = Predictions(rng.dirichlet(np.ones(3), 400), rng.integers(0, 3, 400))
    summary = Summary.of(data, Layout.of("multiclass", 3, notions=("classwise", "confidence")))
    found = interval("ece", summary, random_state=0)
    assert found.value == pytest.approx(expected_calibration_error(data, notion="classwise"), rel=1e-12)
    assert found.low < found.value < found.high


def test_shown_in_a_notebook():
    """A small table without script or colour, everything in it escaped."""
    found = Interval(0.01, 0.0523, 0.95, 0.0412, 0.0401, "inversion", "of <rows> & clusters")
    assert found._repr_html_() == (
        "<div><table><tr><th>value</th><th>95 % interval</th><th>estimate</th><th>method</th></tr>"
        "<tr><td>0.0412</td><td>0.0100 to 0.0523</td><td>0.0401</td><td>inversion</td></tr></table>"
        "<p>of &lt;rows&gt; &amp; clusters</p></div>"
    )
