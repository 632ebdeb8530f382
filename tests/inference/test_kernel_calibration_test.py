"""The kernel test of calibration: its statistics, p-values and level."""

from math import erfc, inf, sqrt

import numpy as np
import pytest

from believable import Predictions, _kernels, kernel_calibration_test, squared_kernel_calibration_error
from believable.errors import InputError, UndefinedError
from tests.metrics.kernel_literal import bandwidth, h, skce, vectors
from tests.metrics.literal import BINARY, MATRIX, Data


def draw(p, rng):
    """Labels at the rates of the predictions."""
    if p.ndim == 1:
        return (rng.random(len(p)) < p).astype(int)
    return (rng.random((len(p), 1)) > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)


SMALL = {
    "binary": BINARY["ties and weights"],
    "matrix": MATRIX["argmax ties and weights"],
    "wide": MATRIX["wide"],
}


@pytest.mark.parametrize("data", SMALL.values(), ids=SMALL)
@pytest.mark.parametrize("size", [2, 5, None])
def test_blocks(data, size):
    """The mean of the unbiased values of blocks, by the weight of their pairs, beside its standard error."""
    found, nu = vectors(data), bandwidth(data)
    rows = size or int(sqrt(len(found)))
    values, weights = [], []
    for start in range(0, len(found) - rows + 1, rows):
        block = found[start : start + rows]
        both = [(a, b) for i, a in enumerate(block) for j, b in enumerate(block) if i != j]
        weights.append(sum(a[2] * b[2] for a, b in both))
        values.append(sum(a[2] * b[2] * h(a, b, "tv", nu) for a, b in both) / weights[-1])
    mean = np.average(values, weights=weights)
    m, share = len(values), np.array(weights) / np.sum(weights)
    error = sqrt(np.sum(share**2 * (np.array(values) - mean) ** 2) * m / (m - 1))
    result = kernel_calibration_test(
        data.scores, data.labels, method="block", block_size=size, sample_weight=data.weights
    )
    assert result.statistic == pytest.approx(mean / error, rel=1e-9)
    assert result.p_value == pytest.approx(erfc(mean / error / sqrt(2)) / 2, rel=1e-9)
    assert (result.df, result.n, result.method) == (None, len(found), "block")


@pytest.mark.parametrize("kernel", ["tv", "gaussian"])
@pytest.mark.parametrize("data", SMALL.values(), ids=SMALL)
def test_resampling(data, kernel):
    """Drawn labels give the p-value of the unbiased value of drawn labels, one by one."""
    rng = np.random.default_rng(1)
    kept = slice(None) if data.weights is None else data.weights > 0
    p, y = data.scores[kept], data.labels[kept]
    w = None if data.weights is None else data.weights[kept]
    result = kernel_calibration_test(p, y, kernel=kernel, method="resampling", random_state=2, sample_weight=w)
    observed = squared_kernel_calibration_error(p, y, kernel=kernel, sample_weight=w)
    drawn = [squared_kernel_calibration_error(p, draw(p, rng), kernel=kernel, sample_weight=w) for _ in range(300)]
    expected = (1 + np.sum(np.array(drawn) >= observed - 1e-12)) / 301
    assert result.statistic == observed
    assert result.method == "resampling"
    assert result.p_value == pytest.approx(expected, abs=4 * sqrt(expected * (1 - expected) / 300) + 0.004)


@pytest.mark.parametrize("n_classes", [2, 3, 16, 17, 40])
@pytest.mark.parametrize("kernel", ["tv", "gaussian"])
def test_replicates(n_classes, kernel):
    """The sums of many label sets, made at once from tiles, are those of each set alone."""
    rng = np.random.default_rng(3)
    points, weight = rng.dirichlet(np.full(n_classes, 0.4), 300), rng.random(300)
    similarity = _kernels.Similarity(kernel, 0.3)
    labels = _kernels.draw_labels(points, 5, rng)
    sums = _kernels.skce_replicates(points, weight, similarity, labels)
    for row, found in zip(labels, sums, strict=True):
        rows = _kernels.skce_rows(points, np.eye(n_classes)[row] - points, weight, similarity).rows
        assert found == pytest.approx(weight @ rows, rel=1e-10, abs=1e-10)


def test_labels_are_drawn_at_their_rates():
    """Frequencies of drawn labels are the probabilities; impossible classes do not occur."""
    points = np.array([[0.0, 0.25, 0.75, 0.0], [0.5, 0.0, 0.0, 0.5], [1.0, 0.0, 0.0, 0.0]])
    labels = _kernels.draw_labels(points, 4000, np.random.default_rng(4))
    share = np.stack([(labels == k).mean(axis=0) for k in range(4)], axis=1)
    assert share == pytest.approx(points, abs=0.035)
    assert np.all(share[points == 0] == 0)


def test_auto():
    """Few rows are resampled, many are put in blocks; more of them along a line."""
    rng = np.random.default_rng(5)
    p = rng.random(1001)
    two = np.column_stack([1 - p, p])
    y = draw(p, rng)
    assert kernel_calibration_test(two[:50], y[:50], n_resamples=9).method == "resampling"
    assert kernel_calibration_test(two, y).method == "block"
    assert kernel_calibration_test(p, y, n_resamples=9).method == "resampling"
    assert kernel_calibration_test(p, y, kernel="gaussian").method == "block"


def test_own_kernel():
    """A kernel of one's own is tested in blocks and by resampling."""
    data = MATRIX["random"]

    def own(x, y):
        return np.exp(-np.abs(x[:, None] - y).sum(axis=2))

    for how in ({"method": "block"}, {"method": "resampling", "n_resamples": 49, "random_state": 1}):
        ours = kernel_calibration_test(data.scores, data.labels, bandwidth=0.5, **how)
        theirs = kernel_calibration_test(data.scores, data.labels, kernel=own, **how)
        assert theirs.statistic == pytest.approx(ours.statistic, rel=1e-10)
        assert theirs.p_value == pytest.approx(ours.p_value, rel=1e-9)


def test_certain_predictions():
    """Predictions of 0 and 1 are right, with p-value 1, or refuted, with p-value 0 in blocks."""
    p, wrong = np.eye(3)[[0, 1, 2, 0, 1, 2, 0, 1]], np.array([1, 2, 0, 1, 2, 0, 1, 2])
    for method in ("block", "resampling"):
        right = kernel_calibration_test(p, p.argmax(axis=1), method=method, random_state=1)
        assert (right.statistic, right.p_value) == (0, 1)
    refuted = kernel_calibration_test([1.0] * 8, [0] * 8, method="block")
    assert (refuted.statistic, refuted.p_value) == (inf, 0)
    assert kernel_calibration_test(p, wrong, method="resampling", n_resamples=99).p_value == 0.01


def test_rare_events_tie():
    """Where most drawn label sets are all zeros, as observed, the p-value is large, however small the scores."""
    for p in (np.full(60, 1e-5), np.column_stack([np.full(60, 1 - 1e-5), np.full(60, 1e-5)])):
        assert kernel_calibration_test(p, np.zeros(60, int), random_state=1, n_resamples=99).p_value > 0.9


@pytest.mark.parametrize("method", ["block", "resampling"])
@pytest.mark.parametrize("scores", ["uniform", "heaped", "three classes", "weighted"])
def test_level(method, scores):
    """Calibrated predictions are rejected at 5 % not much more than 5 % of the time; by resampling, not less either."""
    rng = np.random.default_rng(8)
    rejected = 0
    for _ in range(300):
        n = 40
        p = rng.choice([0.1, 0.4, 0.8], n) if scores == "heaped" else rng.random(n)
        p = rng.dirichlet(np.ones(3), n) if scores == "three classes" else p
        w = rng.integers(1, 5, n) if scores == "weighted" else None
        y = draw(p, rng)
        result = kernel_calibration_test(
            p, y, bandwidth=0.3, method=method, n_resamples=99, random_state=rng, sample_weight=w
        )
        rejected += result.p_value <= 0.05
    slack = 3 * sqrt(0.05 * 0.95 / 300)
    assert rejected / 300 < 0.05 + slack
    assert method == "block" or rejected / 300 > 0.05 - slack


def test_power():
    """Overconfident predictions are found out, by all pairs sooner than by blocks."""
    rng = np.random.default_rng(9)
    found = {"block": 0, "resampling": 0}
    for _ in range(20):
        p = rng.dirichlet(np.full(3, 0.5), 300)
        flat = p**0.5 / (p**0.5).sum(axis=1, keepdims=True)
        y = draw(flat, rng)
        for method in found:
            found[method] += (
                kernel_calibration_test(p, y, method=method, n_resamples=99, random_state=rng).p_value < 0.05
            )
    assert found["resampling"] >= 18
    assert found["resampling"] > found["block"]


def test_what_is_refused():
    """Each refusal says what is wrong."""
    data = Data(MATRIX["random"].scores[:5], MATRIX["random"].labels[:5])
    with pytest.raises(UndefinedError, match="it needs at least two rows"):
        kernel_calibration_test(data.scores[:1], data.labels[:1])
    with pytest.raises(UndefinedError, match="two blocks of 3 rows need 6 rows, but there are only 5"):
        kernel_calibration_test(data.scores, data.labels, method="block", block_size=3)
    with pytest.raises(InputError, match="block_size applies to method='block', not to 'auto'"):
        kernel_calibration_test(data.scores, data.labels, block_size=3)
    with pytest.raises(InputError, match="method must be one of"):
        kernel_calibration_test(data.scores, data.labels, method="asymptotic")
    with pytest.raises(InputError, match="n_resamples must be"):
        kernel_calibration_test(data.scores, data.labels, n_resamples=-1)
    with pytest.raises(UndefinedError, match="the kernel test is defined for binary and multiclass predictions"):
        kernel_calibration_test(Predictions(data.scores, np.ones((5, 4), int), multilabel=True))


def test_statistic_is_the_skce():
    """By resampling the statistic is the unbiased SKCE of the loops."""
    data = MATRIX["random"]
    result = kernel_calibration_test(data.scores, data.labels, n_resamples=9)
    assert result.statistic == pytest.approx(skce(data), rel=1e-10)
