"""The noise of new data of the same kind: sparse bins, soft labels, classes that exclude each other."""

import numpy as np
import pytest

from believable import Predictions, interval
from believable.inference.cells import matched, pooled_rate
from believable.inference.interval import tails_of
from believable.inference.noise import bins_of_units, with_soft_labels
from believable.inference.question import ask


def network(n, n_classes, signal, factor, rng):
    """Return scores, true probabilities and labels of a classifier whose features are normal around their class."""
    label = rng.integers(0, n_classes, n)
    feature = rng.standard_normal((n, n_classes))
    feature[np.arange(n), label] += signal

    def softmax(logits):
        raised = np.exp(logits - logits.max(axis=1, keepdims=True))
        return raised / raised.sum(axis=1, keepdims=True)

    return softmax(factor * signal * feature), softmax(signal * feature), label


def literal_static(p, target, n_bins=10):
    """Return the static error in bins of equal width, written out; `target` holds outcomes or rates of all classes."""
    total = 0.0
    for k in range(p.shape[1]):
        code = np.clip(np.ceil(p[:, k] * n_bins), 1, n_bins)
        for b in range(1, n_bins + 1):
            total += abs(np.sum((target[:, k] - p[:, k])[code == b]))
    return total / p.size


# --- many classes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["sce", "tlce"])
def test_many_classes(metric):
    """Sixty over-confident classes, with one row in most bins: intervals hold the error, and not just any."""
    rng = np.random.default_rng(0)
    p, q, _ = network(100_000, 60, 2.8, 1.7, rng)
    true = literal_static(p, q)
    if metric == "tlce":
        top = p.argmax(axis=1)
        score, rate = p[np.arange(len(p)), top], q[np.arange(len(p)), top]
        cell = top * 10 + np.clip(np.ceil(score * 10), 1, 10).astype(int)
        true = np.abs(np.bincount(cell, rate - score)).sum() / len(p)
    for seed in range(101, 104):
        p, _, y = network(1000, 60, 2.8, 1.7, np.random.default_rng(seed))
        found = interval(metric, p, y, n_resamples=400, random_state=seed)
        assert true in found
        assert true / 2 < found.low
        assert found.high < 1.5 * true


def test_calibrated_classes():
    """Of sixty calibrated classes, perfect calibration is not rejected."""
    for seed in range(3):
        _, q, y = network(1000, 60, 2.8, 1.0, np.random.default_rng(seed))
        assert 0 in interval("sce", q, y, n_resamples=200, random_state=seed)


def test_noise_of_sparse_bins():
    """Where bins hold a row or two, simulated errors are as large as those of labels drawn again."""
    rng = np.random.default_rng(1)
    p, q, y = network(800, 50, 2.8, 1.5, rng)
    question = ask("sce", p, y)
    tails = tails_of(question, None, 400, rng)
    cells = tails.cells
    code = cells.locate(p.ravel(), np.tile(np.arange(50), 800))
    rate = np.bincount(code, q.ravel(), len(cells)) / cells.w
    tails.shapes = np.broadcast_to(rate - cells.conf, tails.shapes.shape)
    true = float(question.replicates(cells.with_outcomes(cells.w * rate))[0])
    shown = tails._shown(true)
    again = []
    for _ in range(200):
        label = (rng.random((800, 1)) > np.cumsum(q, axis=1)).sum(axis=1).clip(max=49)
        again.append(literal_static(p, np.eye(50)[label]))
    assert shown.mean() == pytest.approx(np.mean(again), rel=0.02)
    assert shown.std() == pytest.approx(np.std(again), rel=0.25)


def test_classes_exclude_each_other():
    """Errors of two classes of one label are the same, so their mean varies by a half more in standard deviation."""
    rng = np.random.default_rng(2)
    p = rng.random(3000)
    both = np.stack([1 - p, p], axis=1)
    question = ask("sce", both, (rng.random(3000) < np.clip(p + 0.15, 0, 1)).astype(int))
    assert question.rows is not None
    cells = question.cells(200)
    _, widened = bins_of_units(question, question.rows, cells, None, 1000, rng)
    assert widened == pytest.approx(2**0.5, rel=0.08)


def test_pooled_rates():
    """Rates of cells with hardly any events come from cells of similar scores in all classes."""
    rng = np.random.default_rng(3)
    p, q, y = network(2000, 40, 2.6, 1.7, rng)
    cells = ask("ace", p, y).cells(200)
    rate = pooled_rate(cells)
    code = cells.locate(p.ravel(), np.tile(np.arange(40), 2000))
    true = np.bincount(code, q.ravel(), len(cells)) / cells.w
    tiny = (cells.conf < 1e-3) & (cells.conf > 1e-5)
    assert rate[tiny].mean() == pytest.approx(true[tiny].mean(), rel=0.3)
    assert cells.conf[tiny].mean() < 0.2 * true[tiny].mean()


# --- how much outcomes vary -------------------------------------------------------------------------------------------


def test_outcomes_within_a_bin():
    """Gaps vary like y - p: more than for calibrated scores if outcomes follow the scores less than they should."""
    rng = np.random.default_rng(4)
    p = rng.choice([0.05, 0.95], 4000)
    for slope in (1.0, 0.5, 0.0):
        y = (rng.random(4000) < 0.5 + slope * (p - 0.5)).astype(int)
        cells = ask("ece", p, y, options={"n_bins": 1}).cells(200).as_observed()
        assert cells.variance(cells.wy / cells.w) == pytest.approx(np.var(y - p), rel=0.03)


def test_more_varied_than_binomial():
    """Numbers can be drawn whose variance is larger than that of binomial variables."""
    drawn = matched(
        np.random.default_rng(5), np.full((20_000, 2), 30.0), np.full((20_000, 2), 0.4), np.array([0.2, 0.4])
    )
    assert drawn.mean(axis=0) == pytest.approx([12, 12], abs=0.1)
    assert drawn.var(axis=0) == pytest.approx([6, 12], rel=0.05)


@pytest.mark.parametrize("annotators", [2, 5, 25])
@pytest.mark.parametrize("metric", ["ece", "ks"])
def test_soft_labels_count_for_several(metric, annotators):
    """A soft label counts for as many rows as there were annotators, whatever the error."""
    rng = np.random.default_rng(6)
    p = rng.random(3000)
    share = rng.binomial(annotators, 0.2 + 0.6 * p) / annotators
    data = Predictions(p, share, soft_labels=True)
    cells = ask(metric, data).cells(200)
    assert with_soft_labels(data, cells).size == pytest.approx(annotators * cells.size, rel=0.1)


def test_labels_that_are_not_soft():
    """Labels of 0 and 1 count once, also where they are given as soft labels."""
    rng = np.random.default_rng(7)
    p = rng.random(500)
    y = (rng.random(500) < p).astype(int)
    for data in (Predictions(p, y), Predictions(p, y.astype(float), soft_labels=True)):
        cells = ask("ece", data).cells(200)
        assert with_soft_labels(data, cells).size == pytest.approx(cells.size)


def test_width_of_soft_labels():
    """Intervals of five annotators are about as narrow as those of five times the rows."""
    rng = np.random.default_rng(8)
    p = rng.random(1000)
    soft = interval("ece", Predictions(p, rng.binomial(5, 0.2 + 0.6 * p) / 5, soft_labels=True), random_state=0)
    p = rng.random(5000)
    hard = interval("ece", p, (rng.random(5000) < 0.2 + 0.6 * p).astype(int), random_state=0)
    assert soft.high - soft.low == pytest.approx(hard.high - hard.low, rel=0.25)
    exact = interval("ece", Predictions(p, 0.2 + 0.6 * p, soft_labels=True), random_state=0)
    assert exact.high - exact.low < 0.01


# --- one place --------------------------------------------------------------------------------------------------------


def test_error_in_one_place():
    """Where one bin of ten is off, the lower end is not too high more often than it may be."""
    true, above = 0.03, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        p = rng.random(500)
        y = (rng.random(500) < np.where((p > 0.7) & (p <= 0.8), p - 0.3, p)).astype(int)
        above += interval("ece", p, y, n_resamples=200, random_state=seed).low > true
    assert above <= 2


# --- notes ------------------------------------------------------------------------------------------------------------


def test_note_of_sparse_bins():
    """A note says that most bins hold a row or two; there is none if they hold many, or for one event."""
    rng = np.random.default_rng(9)
    p, _, y = network(400, 60, 2.8, 1.0, rng)
    assert interval("sce", p, y, n_resamples=100, random_state=0).note.startswith("half of the bins hold three rows")
    p, _, y = network(2000, 4, 1.5, 1.0, rng)
    assert interval("sce", p, y, n_resamples=100, random_state=0).note == ""
    p = rng.random(20)
    assert "half of the bins" not in interval("ece", p, rng.random(20) < p, n_resamples=100, random_state=0).note


def test_the_order_of_equal_scores_with_soft_labels_does_not_matter():
    """What soft labels are worth is the same for every order of rows whose scores are equal."""
    rng = np.random.default_rng(0)
    p, y, order = np.repeat([0.2, 0.6], 100), rng.random(200).round(1), rng.permutation(200)
    one, other = (
        interval("ece", Predictions(p[o], y[o], soft_labels=True), random_state=0) for o in (slice(None), order)
    )
    assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-12)
