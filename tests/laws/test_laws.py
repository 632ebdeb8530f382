"""Laws that every metric in the table obeys, whatever the data."""

from __future__ import annotations

import inspect
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import believable
from believable import METRICS, BinStats, CellStats, Predictions, ScoreSums, evaluate
from believable.errors import UndefinedError
from believable.inference.question import ask

ROWS = list(METRICS.values())
CLOSE = {"rel": 1e-12, "abs": 1e-13}  # sums are taken in another order
FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
KINDS = ("binary", "multiclass", "multilabel")
LOGISTIC = ("citl", "slope")  # fits that outcomes at odds with scores of 0 and 1 leave ill-conditioned
pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.ClippedWarning")

# Scores of few digits tie and sit on edges; hypothesis's own floats do not.
score = st.one_of(st.floats(0, 1, width=32), st.integers(0, 10).map(lambda k: k / 10), st.sampled_from([0.0, 0.5, 1.0]))
weight = st.one_of(st.integers(1, 4).map(float), st.floats(0.01, 10))


@st.composite
def datasets(draw, kind, row=None):
    """Predictions of a kind as arrays: scores, labels, weights."""
    n, k = draw(st.integers(2, 25)), draw(st.integers(2, 4))
    weights = np.array(draw(st.lists(weight, min_size=n, max_size=n)))
    if kind == "binary":
        scores = np.array(draw(st.lists(score, min_size=n, max_size=n)))
        if row is not None and row.alias in LOGISTIC:
            scores = 0.01 + 0.98 * scores
        return scores, np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))), weights
    matrix = np.array(draw(st.lists(st.lists(score, min_size=k, max_size=k), min_size=n, max_size=n)))
    if kind == "multilabel":
        return (
            matrix,
            np.array(draw(st.lists(st.lists(st.integers(0, 1), min_size=k, max_size=k), min_size=n, max_size=n))),
            weights,
        )
    matrix = matrix + 0.05
    matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix, np.array(draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n))), weights


def number(found):
    """The float of a result; the square of a debiased error, whose root near 0 would blow rounding up."""
    return float(getattr(found, "squared", found))


def value(row, scores, labels, weights=None, kind="binary"):
    """The metric, or None where it is undefined."""
    try:
        data = Predictions(scores, labels, sample_weight=weights, multilabel=kind == "multilabel")
        return number(row.function(data))
    except UndefinedError:
        return None


def for_every_metric(test):
    cases = [(row, kind) for row in ROWS for kind in KINDS if kind in row.kinds]
    return pytest.mark.parametrize(("row", "kind"), cases, ids=lambda case: getattr(case, "alias", case))(test)


def agree(one, other):
    assert (one is None) == (other is None)
    assert one is None or one == other or one == pytest.approx(other, **CLOSE)


@pytest.mark.slow
@for_every_metric
@FEW
@given(st.data())
def test_the_order_of_rows_does_not_matter(row, kind, data):
    """Shuffled rows have the same value."""
    scores, labels, weights = data.draw(datasets(kind, row))
    order = data.draw(st.permutations(range(len(weights))))
    agree(
        value(row, scores, labels, weights, kind), value(row, scores[order], labels[order], weights[list(order)], kind)
    )


@pytest.mark.slow
@for_every_metric
@FEW
@given(st.data())
def test_arrays_and_values_agree(row, kind, data):
    """Arrays looked at for one call, which are counted no further than needed, give what a value gives."""
    if kind == "multilabel":
        return  # only a value can be that
    scores, labels, weights = data.draw(datasets(kind, row))
    for given_weights in (None, weights):
        try:
            found = number(row.function(scores, labels, sample_weight=given_weights))
        except UndefinedError:
            found = None
        agree(found, value(row, scores, labels, given_weights, kind))


@pytest.mark.slow
@for_every_metric
@FEW
@given(st.data())
def test_the_function_is_its_two_halves(row, kind, data):
    """What a metric says of what it counts is its value."""
    scores, labels, weights = data.draw(datasets(kind, row))
    checked = Predictions(scores, labels, sample_weight=weights, multilabel=kind == "multilabel")
    try:
        halves = number(row.says(row.counts(checked)))
    except UndefinedError:
        halves = None
    agree(halves, value(row, scores, labels, weights, kind))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.alias)
def test_halves_have_the_options_of_the_function(row):
    """Every option is one of a half, with the same default, or about the rows themselves."""
    asked = inspect.signature(row.function).parameters
    halves = [inspect.signature(half).parameters for half in (row.counts, row.says)]
    for name in row.options:
        defaults = {half[name].default for half in halves if name in half}
        assert defaults <= {asked[name].default}
        assert defaults or name in ("convention", "eps", "reduction")
        assert row.is_halved({name: None}) == bool(defaults)


@pytest.mark.parametrize(
    ("row", "kind"),
    [(row, kind) for row in ROWS for kind in ("binary", "multiclass") if row.power is not None and kind in row.kinds],
    ids=lambda case: getattr(case, "alias", case),
)
def test_errors_work_along_the_last_axis(row, kind):
    """Of a stack of replicates an error says one value each: that of the replicate."""
    rng = np.random.default_rng(3)
    scores = rng.random(60) if kind == "binary" else rng.dirichlet(np.ones(3), 60)
    cells = ask(row.name, scores, rng.integers(0, 2, 60)).cells(100)
    outcomes = cells.w * rng.random((4, len(cells)))
    each = [float(row.says(cells.with_outcomes(one))) for one in outcomes]
    assert row.says(cells.with_outcomes(outcomes)) == pytest.approx(each, rel=1e-10)


@pytest.mark.slow
@for_every_metric
@FEW
@given(st.data())
def test_a_weight_is_a_repetition(row, kind, data):
    """Weight 2 is the row twice, a common factor is nothing, and weight 0 is the row removed."""
    scores, labels, weights = data.draw(datasets(kind, row))
    times = np.ceil(weights / 3).astype(int)
    times[0] = 0
    if row.repeats:
        agree(
            value(row, scores, labels, times.astype(float), kind),
            value(row, np.repeat(scores, times, axis=0), np.repeat(labels, times, axis=0), None, kind),
        )
    agree(value(row, scores, labels, weights, kind), value(row, scores, labels, 0.37 * weights, kind))
    agree(value(row, scores, labels, np.ones(len(weights)), kind), value(row, scores, labels, None, kind))
    kept = times > 0
    agree(value(row, scores, labels, weights * kept, kind), value(row, scores[kept], labels[kept], weights[kept], kind))


@pytest.mark.slow
@for_every_metric
@FEW
@given(st.data())
def test_the_value_stays_in_its_range(row, kind, data):
    """No data lead outside the range that the table states."""
    scores, labels, weights = data.draw(datasets(kind, row))
    found = value(row, scores, labels, weights, kind)
    low = -1 if row.name == "debiased_calibration_error" else row.low  # its square, which is signed
    assert found is None or low - 1e-12 <= found <= row.high + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(
    "row", [row for row in ROWS if "multiclass" in row.kinds and not row.ordered], ids=lambda row: row.alias
)
@FEW
@given(st.data())
def test_relabelling_classes_changes_nothing(row, data):
    """Classes are names, where no row has a tie at the top or between ranks."""
    _, labels, weights = data.draw(datasets("multiclass"))
    n, k = len(labels), int(labels.max()) + 2
    distinct = st.lists(st.integers(1, 99), min_size=k, max_size=k, unique=True)
    scores = np.array(data.draw(st.lists(distinct, min_size=n, max_size=n)), float)
    scores /= scores.sum(axis=1, keepdims=True)
    order = np.array(data.draw(st.permutations(range(k))))
    back = np.argsort(order)
    agree(
        value(row, scores, labels, weights, "multiclass"),
        value(row, scores[:, order], back[labels], weights, "multiclass"),
    )


@pytest.mark.parametrize("row", [row for row in ROWS if row.best in (row.low, row.high)], ids=lambda row: row.alias)
def test_perfect_predictions_have_the_best_value(row):
    """Certain and right is best, for every kind of predictions."""
    labels = np.array([0, 1, 2, 1, 0, 2])
    perfect = {
        "binary": ((labels == 1).astype(float), (labels == 1).astype(int)),
        "multiclass": (np.eye(3)[labels], labels),
        "multilabel": (np.eye(3)[labels], np.eye(3, dtype=int)[labels]),
    }
    for kind in row.kinds:
        assert value(row, *perfect[kind], kind=kind) == row.best


@pytest.mark.parametrize("wrong", [0.15, 0.35, 0.55, 0.75, 0.95])
@pytest.mark.parametrize("row", [row for row in ROWS if row.power], ids=lambda row: row.alias)
def test_an_error_sees_a_single_wrong_score(row, wrong):
    """What says `power` is 0 for calibrated scores only: a median of gaps, say, would see one wrong bin of five as 0."""
    scores = np.repeat([0.15, 0.35, 0.55, 0.75, 0.95], 100)
    labels = np.tile(np.arange(100), 5) < np.round(100 * np.where(scores == wrong, 1 - wrong, scores))
    data = Predictions(np.column_stack([1 - scores, scores]), labels)
    assert number(row.function(data)) > 1e-4
    if "binary" in row.kinds:
        assert number(row.function(Predictions(scores, labels))) > 1e-4


@pytest.mark.slow
@for_every_metric
@FEW
@given(data=st.data())
def test_shards_merged_are_the_whole(row, kind, data):
    """A metric of merged statistics is the metric of all rows."""
    if row.needs in ("rows", "pairs"):
        return  # no statistic holds them
    scores, labels, weights = data.draw(datasets(kind, row))
    cut = data.draw(st.integers(1, len(weights) - 1))
    whole = Predictions(scores, labels, sample_weight=weights, multilabel=kind == "multilabel")
    parts = [
        Predictions(scores[r], labels[r], sample_weight=weights[r], multilabel=kind == "multilabel")
        for r in (slice(cut, None), slice(None, cut))
    ]
    expected = value(row, scores, labels, weights, kind)
    if row.needs == "sums":
        merged = sum(map(ScoreSums.of, parts))
    elif row.needs == "cells":
        view = whole.view("classwise") if row.name == "auc" and kind != "binary" else whole.view()
        merged, expected = sum(CellStats.of(part, view) for part in parts), None
        whole = CellStats.of(whole, view)
        try:
            expected = number(row.function(whole))
        except UndefinedError:
            expected = None
    else:
        probe = _statistic_behind(row, whole)
        merged = sum(BinStats.of(part, probe.view, edges=probe.edges) for part in parts)
    try:
        found = number(row.function(merged))
    except UndefinedError:
        found = None
    agree(found, expected)


def _statistic_behind(row, data):
    """The BinStats that a metric counts, where it has a value."""
    try:
        row.function(data)
    except UndefinedError:
        assume(False)
    return row.counts(data)


@FEW
@given(datasets("binary"))
def test_two_columns_agree_with_one(data):
    """A two-column matrix read as binary is the 1-D problem; its Brier score is twice as large."""
    scores, labels, weights = data
    one = evaluate(scores, labels, sample_weight=weights)
    two = Predictions(np.column_stack([1 - scores, scores]), labels, sample_weight=weights)
    for name in ("ece", "mce", "rmsce", "avgce", "dce", "sweepece"):
        assert evaluate(two, metrics=[name], notion="binary")[name] == pytest.approx(one[name], **CLOSE)
    assert evaluate(two, metrics=["brier"])["brier"] == pytest.approx(2 * one["brier"], **CLOSE)
    if "auc" in one:
        assert evaluate(two, metrics=["auc"])["auc"] == pytest.approx(one["auc"], **CLOSE)


@FEW
@given(datasets("binary"), st.integers(1, 30))
def test_over_and_under_make_the_error(data, n_bins):
    """The two halves of the decomposition add up to the ECE."""
    scores, labels, weights = data
    parts = believable.confidence_decomposition(scores, labels, n_bins, sample_weight=weights)
    error = believable.expected_calibration_error(scores, labels, n_bins, sample_weight=weights)
    assert parts.total == pytest.approx(error, **CLOSE)
    assert min(parts.over, parts.under) >= 0


@FEW
@given(datasets("multiclass"), st.integers(1, 20))
def test_norms_are_ordered(data, n_bins):
    """The error grows with the norm, from the mean to the maximum."""
    scores, labels, weights = data
    errors = [
        believable.expected_calibration_error(scores, labels, n_bins, norm=norm, sample_weight=weights)
        for norm in (1, 1.5, 2, 7, 300, "max")
    ]
    assert all(a <= b + 1e-12 for a, b in pairwise(errors))


@FEW
@given(datasets("multiclass"))
def test_top_label_is_never_below_confidence(data):
    """Keeping predicted classes apart can only reveal error."""
    scores, labels, weights = data
    apart = believable.top_label_calibration_error(scores, labels, sample_weight=weights)
    together = believable.expected_calibration_error(scores, labels, sample_weight=weights)
    assert apart >= together - 1e-12


@FEW
@given(datasets("binary"), st.sampled_from([2, 5, 10, 15, 25]))
def test_cells_answer_like_the_data(data, n_bins):
    """Bins chosen after counting on the grid give the error of the data."""
    scores, labels, weights = data
    cells = CellStats.of(Predictions(scores, labels, sample_weight=weights))
    assert believable.expected_calibration_error(cells, n_bins=n_bins) == pytest.approx(
        believable.expected_calibration_error(scores, labels, n_bins, sample_weight=weights), **CLOSE
    )


def test_infinity_is_reported_as_infinity():
    """A certain mistake costs infinitely much, in sums too."""
    wrong = Predictions([1.0, 0.5], [0, 1])
    assert math.isinf(evaluate(wrong)["nll"])
