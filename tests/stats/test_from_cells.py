"""What comes out of a `Summary` is what comes out of the data, to the tolerances that the documentation states."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from believable import (
    CellStats,
    Layout,
    Predictions,
    ScoreSums,
    Summary,
    adaptive_calibration_error,
    auc,
    calibration_index,
    calibration_slope_intercept,
    corp_curve,
    corp_decomposition,
    evaluate,
    hosmer_lemeshow,
    interval,
    kernel_calibration_curve,
    kuiper_test,
    logistic_calibration_curve,
    murphy_decomposition,
    noise_floor,
    reliability_table,
    smoothed_calibration_curve,
    spiegelhalter,
    thresholded_adaptive_calibration_error,
)
from believable.errors import CoarseCellsWarning, InputError, UndefinedError
from believable.metrics import METRICS
from believable.recalibrate import BetaCalibration, IsotonicCalibration, PlattScaling, TemperatureScaling
from believable.stats.source import count_points

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]

# Of the value. Sums and uniform bins are those of the data but for rounding; cells stand at their mean scores.
EXACT = 1e-9
TOLERANCE = {
    "auc": 1e-4,
    "slope": 1e-5,
    "citl": 1e-9,
    "ici": 1e-5,
    "ks": 1e-2,
    "kuiper": 1e-2,
    "lcs": 1e-3,
    "mmce": 1e-5,
    "smece": 1e-5,
    "sweepece": 1e-2,
    "ace": 2e-2,
    "tace": 2e-2,
    "cwce": 2e-2,
    "dce": 2e-2,
    "rce": 2e-2,
}
RARE = TOLERANCE | {"slope": 1e-3, "ici": 5e-3, "lcs": 1e-2, "mmce": 1e-5, "smece": 5e-3, "sweepece": 0.1}


@cache
def data(name: str) -> Predictions:
    """Scores that are off, so that errors are not noise alone."""
    rng = np.random.default_rng(3)
    p = rng.beta(0.6, 1.5, 4000)
    y = rng.random(4000) < p**1.3
    weight = rng.exponential(size=4000)
    if name == "rare":
        p = np.exp(rng.uniform(np.log(1e-5), np.log(1e-3), 60_000))
        return Predictions(p, rng.random(len(p)) < 8 * p)
    if name == "multilabel":
        p = rng.beta(0.6, 1.5, (1500, 3))
        return Predictions(p, (rng.random(p.shape) < p**1.5).astype(int), multilabel=True)
    if name.startswith("multiclass"):
        p = rng.dirichlet(np.full(4, 0.6), 2000)
        rate = p**0.7 / (p**0.7).sum(axis=1, keepdims=True)
        labels = (rng.random(2000)[:, None] > np.cumsum(rate, axis=1)[:, :-1]).sum(axis=1)
        return Predictions(p, labels, sample_weight=weight[:2000] if "weighted" in name else None)
    scores = p.astype(np.float32) if name == "float32" else p
    return Predictions(scores, y, sample_weight=weight if name == "weighted" else None)


@cache
def summary(name: str) -> Summary:
    return Summary.of(data(name))


SETS = ("binary", "weighted", "float32", "rare", "multiclass", "multiclass weighted", "multilabel")


@pytest.mark.parametrize("name", SETS)
def test_every_metric(name):
    """A metric that does not compare rows is in the summary, to its tolerance; one not in the table exactly."""
    wanted = [row.name for row in METRICS.values() if row.needs not in ("rows", "pairs")]
    from_rows, from_cells = evaluate(data(name), metrics=wanted), evaluate(summary(name), metrics=wanted)
    assert set(from_rows) - set(from_cells) <= {"top_r_calibration_error"}  # ranks are counted if asked for
    assert not set(from_cells) - set(from_rows)
    for metric, value in from_cells.items():
        tolerance = (RARE if name == "rare" else TOLERANCE).get(METRICS[metric].alias, EXACT)
        assert value == pytest.approx(from_rows[metric], rel=tolerance, abs=1e-15), metric


def test_the_tolerances_are_documented():
    """The table of tolerances names metrics that exist, and the documentation has each with both numbers."""
    written = (ROOT / "docs" / "definitions.md").read_text()
    for alias, tolerance in TOLERANCE.items():
        assert alias in {row.alias for row in METRICS.values()}
        rare = RARE[alias]
        assert f"| `{alias}` | {tolerance:.0e} | {rare:.0e} |".replace("e-0", "e-") in written


def test_ranks_that_were_counted():
    """Top-r errors, their floors and intervals come out where ranks were among the notions."""
    source = data("multiclass")
    counted = Summary.of(source, Layout.of("multiclass", 4, notions=["confidence", source.view("top_r", r=3)]))
    assert evaluate(counted, metrics=["toprce"])["toprce"] == pytest.approx(
        evaluate(source, metrics=["toprce"])["toprce"], rel=EXACT
    )
    assert noise_floor("toprce", counted, n_resamples=100, random_state=0).p_value is not None
    assert interval("toprce", counted, n_resamples=100, random_state=0).low >= 0


# --- points of both grids ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["binary", "weighted", "float32", "rare"])
def test_points_of_both_grids(name):
    """Points are runs of the sorted rows: they hold their weights, outcomes and scores, and are narrow everywhere."""
    source, (points,) = data(name), count_points(summary(name))
    order = np.argsort(source.scores, kind="stable")
    p, y = source.scores[order].astype(float), source.labels[order]
    w = np.ones(len(p)) if source.weights is None else source.weights[order]
    assert points.n.sum() == len(p)
    starts = np.append(0, np.cumsum(points.n)[:-1])
    total, happened, scores = (np.add.reduceat(values, starts) for values in (w, w * y, w * p))
    np.testing.assert_allclose(points.w, total, rtol=1e-9)
    np.testing.assert_allclose(points.wy, happened, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(points.score, scores / total, rtol=1e-9)
    low, high = p[starts], np.maximum.reduceat(p, starts)
    widest = 1.05 * np.minimum(1 / 50_400, 80 / 50_400 * high * (1 - low))
    strip = (high > 0.012) & (high < 0.013) | (low > 0.987) & (low < 0.988)  # between the grids
    assert np.all(high - low <= np.where(strip, 3e-5, widest))


# --- thresholds -------------------------------------------------------------------------------------------------------


def test_thresholds_on_the_grid():
    """Cells above an edge are those that a threshold counts; other thresholds are refused."""
    for name in ("binary", "float32", "multiclass"):
        source = data(name)
        view = source.view("classwise" if name == "multiclass" else None)
        counted = CellStats.of(source, source.view(view.notion, threshold=0.01))
        dropped = CellStats.of(source, view).above(0.01)
        np.testing.assert_array_equal(dropped.key, counted.key)
        np.testing.assert_array_equal(dropped.wp, counted.wp)
        assert dropped.view == counted.view
        found = thresholded_adaptive_calibration_error(dropped)
        assert found == thresholded_adaptive_calibration_error(CellStats.of(source, view))
    ends = CellStats.of(Predictions([0.0, 0.0, 0.5, 1.0], [0, 1, 0, 1]))
    assert (ends.above(0.0).n.sum(), ends.above(0.5).n.sum(), ends.above(1.0).n.sum()) == (2, 1, 0)
    with pytest.raises(UndefinedError, match=r"0\.0123 is not an edge of"):
        thresholded_adaptive_calibration_error(ends, threshold=0.0123)
    with pytest.raises(UndefinedError, match=r"counted with threshold=0\.5, not 0\.25"):
        ends.above(0.5).above(0.25)


# --- coarse cells -----------------------------------------------------------------------------------------------------


def test_coarse_cells_are_said():
    """Uniform cells that hide logits, or more than a bin, give a warning; logit-spaced ones and summaries do not."""
    rng = np.random.default_rng(0)
    p = np.exp(rng.uniform(np.log(1e-7), np.log(1e-5), 20_000))
    source = Predictions(p, rng.random(len(p)) < 2000 * p)
    uniform = CellStats.of(source)
    exact = calibration_slope_intercept(source).slope.value
    for asked in (calibration_slope_intercept, auc, logistic_calibration_curve):
        with pytest.warns(CoarseCellsWarning, match="of the variance of their logits is lost within cells"):
            asked(with_others(uniform))
    for asked in (adaptive_calibration_error, hosmer_lemeshow):
        with pytest.warns(CoarseCellsWarning, match="100% of the weight, at scores that differ"):
            asked(uniform)
    for narrow in (CellStats.of(source, spacing="logit"), Summary.of(source)):
        assert calibration_slope_intercept(narrow).slope.value == pytest.approx(exact, rel=1e-4)
        assert auc(narrow) == pytest.approx(auc(source), abs=1e-4)
        assert hosmer_lemeshow(narrow).statistic == pytest.approx(hosmer_lemeshow(source).statistic, rel=0.02)
    one = CellStats.of(Predictions(np.repeat([1e-6, 0.5], 50), np.tile([0, 1], 50)))
    adaptive_calibration_error(one)  # scores that coincide hide nothing
    calibration_slope_intercept(one)


def with_others(cells: CellStats) -> CellStats:
    """Some scores elsewhere, so that there is a slope at all."""
    return cells + CellStats.of(Predictions(np.full(50, 1e-4), np.tile([0, 1], 25)))


# --- tests, curves, decompositions ------------------------------------------------------------------------------------


def test_tests_and_curves():
    """Tests, curves and decompositions of a summary are those of the rows."""
    source, counted = data("binary"), summary("binary")
    assert spiegelhalter(counted) == spiegelhalter(source)
    assert hosmer_lemeshow(counted).statistic == pytest.approx(hosmer_lemeshow(source).statistic, rel=1e-3)
    assert kuiper_test(counted).p_value == pytest.approx(kuiper_test(source).p_value, rel=1e-6)
    for curve in (smoothed_calibration_curve, logistic_calibration_curve, kernel_calibration_curve):
        np.testing.assert_allclose(curve(counted).y, curve(source).y, atol=1e-4)
    at = np.linspace(0.01, 0.99, 99)
    steps = [np.interp(at, found.x, found.y) for found in (corp_curve(counted), corp_curve(source))]
    assert np.abs(steps[0] - steps[1]).mean() < 1e-3
    np.testing.assert_allclose(reliability_table(counted).gap, reliability_table(source).gap, atol=1e-12)
    assert murphy_decomposition(counted).reliability == pytest.approx(murphy_decomposition(source).reliability)
    assert corp_decomposition(counted).mcb == pytest.approx(corp_decomposition(source).mcb, rel=2e-3)
    assert calibration_index(counted).e90 == pytest.approx(calibration_index(source).e90, rel=1e-3)


# --- intervals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["binary", "weighted"])
def test_intervals_of_one_event(name):
    """Intervals from (cell, outcome) counts are as wide as those from rows, around the value of the sums."""
    for metric in ("brier", "nll", "bss", "oe", "sharpness", "auc") if name == "binary" else ("brier", "acc", "auc"):
        rows = interval(metric, data(name), n_resamples=500, random_state=0)
        cells = interval(metric, summary(name), n_resamples=500, random_state=1)
        assert cells.value == pytest.approx(rows.value, rel=1e-5)
        # The width of 500 draws has a standard error of about 5 %.
        assert cells.high - cells.low == pytest.approx(rows.high - rows.low, rel=0.2), metric
        assert cells.method == rows.method


def test_intervals_of_a_matrix():
    """Those of whole rows come from second moments: a mean and its standard error, by a literal loop."""
    source = data("multiclass weighted")
    counted = summary("multiclass weighted")
    rows = zip(source.scores.tolist(), source.labels.tolist(), source.weights.tolist(), strict=True)
    terms = [(w, sum((q - (k == label)) ** 2 for k, q in enumerate(p)), -np.log(p[label])) for p, label, w in rows]
    total = sum(w for w, _, _ in terms)
    for place, metric in ((1, "brier"), (2, "nll")):
        mean = sum(term[0] * term[place] for term in terms) / total
        error = np.sqrt(sum(term[0] ** 2 * (term[place] - mean) ** 2 for term in terms)) / total
        found = interval(metric, counted)
        assert (found.low, found.high) == pytest.approx((mean - 1.96 * error, mean + 1.96 * error), rel=1e-4)
        assert found.method == "normal"
        assert interval(metric, counted.sums).low == found.low
    for metric in ("bss", "acc", "conf", "entropy", "oe"):
        by_rows = interval(metric, source, n_resamples=500, random_state=0)
        found = interval(metric, counted, n_resamples=500, random_state=0)
        assert found.high - found.low == pytest.approx(by_rows.high - by_rows.low, rel=0.2), metric
    halved = interval("brier", counted, options={"scale_by_half": True})
    assert halved.high == pytest.approx(interval("brier", counted).high / 2)
    with pytest.raises(UndefinedError, match="sharpness for a multiclass matrix needs all classes of a row together"):
        interval("sharpness", counted)
    with pytest.raises(InputError, match="method='bca' resamples rows"):
        interval("brier", counted, method="bca")


def test_rows_of_several_labels():
    """A row of a multilabel matrix is drawn whole, and so are its second moments."""
    for metric in ("brier", "nll", "acc"):
        rows = interval(metric, data("multilabel"), n_resamples=500, random_state=0)
        found = interval(metric, summary("multilabel"))
        assert found.high - found.low == pytest.approx(rows.high - rows.low, rel=0.2), metric


def test_an_infinite_log_loss():
    """One certain and wrong row leaves no interval of a matrix, and an infinite one of one event."""
    matrix = Summary.of(Predictions([[1.0, 0.0], [0.4, 0.6], [0.3, 0.7]], [1, 1, 0]))
    with pytest.raises(UndefinedError, match="the log loss is infinite"):
        interval("nll", matrix)
    event = Summary.of(Predictions(np.append(np.full(50, 0.5), 0.0), np.append(np.tile([0, 1], 25), 1)))
    assert interval("nll", event, random_state=0).high == np.inf


def test_classes_of_one_row():
    """What a statistic does not know, which classes belong together, makes its intervals wider, never narrower."""
    source, counted = data("multiclass"), summary("multiclass")
    for metric in ("sce", "ace", "auc"):
        rows = interval(metric, source, n_resamples=200, random_state=0)
        cells = interval(metric, counted, n_resamples=200, random_state=0)
        ratio = (cells.high - cells.low) / (rows.high - rows.low)
        assert 0.95 < ratio < 2.1, metric
        assert "belong to one row" in cells.note
    assert (
        "assumes that labels are independent"
        in interval("sce", summary("multilabel"), n_resamples=100, random_state=0).note
    )
    assert interval("ece", counted, n_resamples=100, random_state=0).note == ""
    one = interval(
        "ece", CellStats.of(source, source.view("classwise")).only_stratum(1), n_resamples=100, random_state=0
    )
    assert one.note == ""


def outcomes_of_a_row(p: list[float]) -> Iterator[tuple[float, float, float]]:
    """Chance, Brier score and log loss of every label."""
    for label, chance in enumerate(p):
        yield chance, sum((q - (k == label)) ** 2 for k, q in enumerate(p)), -np.log(chance)


def test_bounds_of_what_ties_do():
    """Exclusive outcomes make the variance of a sum of signed residuals at most twice that of independent ones."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        k = int(rng.integers(2, 8))
        p, sign = rng.dirichlet(np.full(k, rng.uniform(0.1, 2))), rng.choice([-1, 0, 1], k)
        tied = float(p @ sign**2 - (p @ sign) ** 2)
        assert tied <= 2 * float(np.sum(sign**2 * p * (1 - p))) + 1e-12


# --- floors -----------------------------------------------------------------------------------------------------------


def test_floors_of_one_event():
    """Outcomes drawn cell by cell show what outcomes drawn row by row do."""
    for metric, draws in (("brier", 500), ("nll", 500), ("oe", 500), ("auc", 200), ("slope", 60)):
        rows = noise_floor(metric, data("binary"), n_resamples=draws, random_state=0)
        cells = noise_floor(metric, summary("binary"), n_resamples=draws, random_state=1)
        assert cells.value == pytest.approx(rows.value, rel=1e-5)
        spread = abs(rows.q95 - rows.mean)
        assert cells.mean == pytest.approx(rows.mean, abs=0.4 * spread), metric
        assert cells.q95 - cells.mean == pytest.approx(rows.q95 - rows.mean, rel=0.5), metric
    for metric in ("citl", "sweepece", "dce"):
        rows = noise_floor(metric, data("binary"), n_resamples=80, random_state=0)
        cells = noise_floor(metric, summary("binary").cells_of(), n_resamples=80, random_state=1)
        assert cells.q95 == pytest.approx(rows.q95, rel=0.6), metric
        assert (cells.p_value < 0.05) == (rows.p_value < 0.05)
    for metric in ("conf", "entropy", "sharpness"):
        floor = noise_floor(metric, summary("binary"), n_resamples=20)
        assert floor.mean == pytest.approx(floor.value)
        assert floor.p_value == 1


def test_floors_of_a_matrix():
    """Brier score and log loss of calibrated rows have the mean and variance of every label's chance, literally."""
    source, counted = data("multiclass"), summary("multiclass")
    for place, metric in ((1, "brier"), (2, "nll")):
        mean = variance = 0.0
        for p in source.scores.tolist():
            scores = list(outcomes_of_a_row(p))
            centre = sum(score[0] * score[place] for score in scores)
            mean += centre / len(source)
            variance += sum(score[0] * (score[place] - centre) ** 2 for score in scores) / len(source) ** 2
        floor = noise_floor(metric, counted, n_resamples=1000)
        assert floor.mean == pytest.approx(mean, rel=1e-9)
        assert floor.q95 == pytest.approx(mean + 1.645 * np.sqrt(variance), rel=1e-3)
    assert noise_floor("acc", counted, n_resamples=300, random_state=0).mean == pytest.approx(
        float(source.scores.max(axis=1).mean()), abs=2e-3
    )
    with pytest.raises(UndefinedError, match="noise floor of brier_skill_score needs all classes of a row together"):
        noise_floor("bss", counted)


# --- second moments ---------------------------------------------------------------------------------------------------


def test_second_moments_add_and_travel():
    """Parts add up to the whole, saved forms keep them, older ones lack them and say so."""
    source = data("multiclass weighted")
    parts = [source.take(np.arange(700)), source.take(np.arange(700, 2000))]
    whole, added = ScoreSums.of(source), ScoreSums.of(parts[0]) + ScoreSums.of(parts[1])
    for name in ("w2x", "w2xx", "w2y", "w2y_brier", "by_chance"):
        np.testing.assert_allclose(getattr(added, name), getattr(whole, name), rtol=1e-9)
        np.testing.assert_array_equal(getattr(ScoreSums.from_dict(whole.to_dict()), name), getattr(whole, name))
    older = whole.to_dict()
    for name in ("w2x", "w2xx", "w2y", "w2y_brier", "by_chance"):
        del older[name]
    without = ScoreSums.from_dict(older)
    assert len((without + whole).w2x) == 0
    with pytest.raises(InputError, match="an interval needs the rows, or a Summary of them"):
        interval("brier", without)


# --- recalibration ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["binary", "rare"])
def test_fits(name):
    """Maps learnt from a summary give the probabilities that the rows give, relative to themselves."""
    source, counted = data(name), summary(name)
    for model in (PlattScaling, BetaCalibration, TemperatureScaling):
        rows = model().fit(source.scores, source.labels).transform(source.scores)
        cells = model().fit_from_cells(counted).transform(source.scores)
        np.testing.assert_allclose(cells, rows, rtol=1e-3)
    rows = IsotonicCalibration().fit(source.scores, source.labels).transform(source.scores)
    cells = IsotonicCalibration().fit_from_cells(counted).transform(source.scores)
    assert np.abs(cells - rows).mean() < 0.02 * rows.mean()


def test_no_row_is_lost_between_the_grids():
    """Whatever the weights, the points of both grids hold every row, in order, and all of the weight."""
    rng = np.random.default_rng(4)
    n = 400
    scores = np.clip(rng.choice([0.01266, 0.98734], n) + rng.normal(0, 3e-5, n), 0, 1)
    outcomes = rng.integers(0, 2, n)
    for weight in (None, 10 ** rng.uniform(-6, 6, n), 10 ** rng.uniform(-60, 60, n)):
        points = count_points(Summary.of(Predictions(scores, outcomes, sample_weight=weight)))[0]
        given = np.ones(n) if weight is None else weight
        assert points.n.sum() == n
        assert np.all(np.diff(points.score) >= 0)
        assert np.all(points.w > 0)
        for found, wanted in (
            (points.w, given),
            (points.w * points.score, given * scores),
            (points.wy, given * outcomes),
            (points.w2, given**2),
        ):
            assert math.fsum(found) == pytest.approx(math.fsum(wanted), rel=1e-9)
