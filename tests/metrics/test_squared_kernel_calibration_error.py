"""The squared kernel calibration error against its literal definition."""

from math import sqrt

import numpy as np
import pytest

from believable import CellStats, Predictions, _kernels, squared_kernel_calibration_error
from believable.errors import InputError, UndefinedError
from believable.metrics.kernel_vectors import Vectors, pair_rows, similarity_of
from tests.metrics.kernel_literal import bandwidth, h, multiclass, skce, vectors
from tests.metrics.literal import BINARY, MATRIX, SOFT, Data, choices, over

PAIRS = {name: data for name, data in (BINARY | MATRIX | SOFT).items() if len(data.scores) > 1}
SOME = {f"{name} ": d for name, d in MATRIX.items() if name in ("random", "weights with zeros", "argmax ties", "wide")}
SOME |= {name: BINARY[name] for name in ("random", "ties and weights", "0 and 1")}


def near(value):
    """Equal to 1e-11: a sum of pairs that cancel."""
    return pytest.approx(value, rel=1e-11, abs=1e-14)


@pytest.mark.slow
@over({f"binary, {k}": d for k, d in BINARY.items() if len(d.scores) > 1}, SOFT, MATRIX)
@choices({"estimator": "unbiased"}, {"estimator": "biased"}, name="how")
def test_definition(ask, data, how):
    """The double sum over pairs of rows, with the median distance as bandwidth."""
    if len(data.scores) == 1 and how["estimator"] == "unbiased":
        return
    assert ask(squared_kernel_calibration_error, data, **how) == near(skce(data, **how))


@pytest.mark.slow
@over(SOME)
@choices({"estimator": "unbiased"}, {"estimator": "biased"}, {"estimator": "linear"}, name="how")
@pytest.mark.parametrize("nu", [None, 0.01, 0.3, 20.0])
def test_gaussian(ask, data, how, nu):
    """The same with the Gaussian kernel, by products and by differences."""
    value = ask(squared_kernel_calibration_error, data, kernel="gaussian", bandwidth=nu, **how)
    assert value == near(skce(data, kernel="gaussian", nu=nu, **how))


@over(SOME)
@pytest.mark.parametrize("kernel", ["tv", "gaussian"])
@pytest.mark.parametrize("size", [2, 3, 7, 16, 17, 40])
def test_blocks(ask, data, kernel, size):
    """Blocks of consecutive rows, averaged by the weight of their pairs; a last part of a block is left out."""
    if len(vectors(data)) < size:
        return
    value = ask(squared_kernel_calibration_error, data, estimator="block", block_size=size, kernel=kernel)
    assert value == near(skce(data, "block", kernel, size=size))


def test_linear_is_blocks_of_two():
    """The linear estimator is the block estimator of size 2, and blocks have about sqrt(n) rows if nothing is said."""
    data = multiclass(101, 3, 1)
    value = squared_kernel_calibration_error(data.scores, data.labels, estimator="linear")
    assert value == near(squared_kernel_calibration_error(data.scores, data.labels, estimator="block", block_size=2))
    value = squared_kernel_calibration_error(data.scores, data.labels, estimator="block")
    assert value == near(squared_kernel_calibration_error(data.scores, data.labels, estimator="block", block_size=10))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [3, 20])
def test_tiles(weighted, n_classes):
    """More rows than a tile, of few and of many classes: the tiles cover every pair once."""
    data = multiclass(600, n_classes, 2, weighted)
    vector = np.array([found[0] for found in vectors(data)])
    residual = np.array([found[1] for found in vectors(data)])
    w = np.ones(600) if data.weights is None else data.weights
    kernel = np.exp(-np.abs(vector[:, None] - vector).sum(axis=2) / 2 / 0.2)
    full = kernel * (residual @ residual.T) * np.outer(w, w)
    expected = {"biased": full.sum() / w.sum() ** 2}
    expected["unbiased"] = (full.sum() - np.trace(full)) / (w.sum() ** 2 - (w**2).sum())
    for estimator, value in expected.items():
        found = squared_kernel_calibration_error(
            data.scores, data.labels, estimator=estimator, bandwidth=0.2, sample_weight=data.weights
        )
        assert found == near(value)


@over(SOME)
@pytest.mark.parametrize("kernel", ["tv", "gaussian"])
def test_rows(data, kernel):
    """Sums over the other rows, and of squares, are those of the loops."""
    known = Vectors.of(Predictions(data.scores, data.labels, sample_weight=data.weights), "it")
    similarity = similarity_of(known, kernel, 0.3)
    found, w = vectors(data), known.weight
    matrix = np.array(
        [[0 if i == j else h(a, b, kernel, 0.3) for j, b in enumerate(found)] for i, a in enumerate(found)]
    )
    sums = pair_rows(known, similarity)
    assert sums.rows == pytest.approx(matrix @ w, rel=1e-11, abs=1e-13)
    assert sums.squares == pytest.approx((np.outer(w, w) ** 2 * matrix**2).sum(), rel=1e-11)
    tiled = _kernels.skce_rows(known.points, known.residuals, w, similarity)
    assert tiled.rows == pytest.approx(sums.rows, rel=1e-11, abs=1e-13)
    assert tiled.squares == pytest.approx(sums.squares, rel=1e-11)


def laplacian(x, y):
    """The default kernel with a bandwidth of 1/4, as a function of one's own."""
    return np.exp(-4 * np.abs(x[:, None] - y).sum(axis=2) / 2)


@over(SOME)
@choices({}, {"estimator": "biased"}, {"estimator": "block", "block_size": 5}, {"estimator": "linear"}, name="how")
def test_own_kernel(ask, data, how):
    """A function of two blocks of rows is a kernel."""
    own = ask(squared_kernel_calibration_error, data, kernel=laplacian, **how)
    assert own == near(ask(squared_kernel_calibration_error, data, bandwidth=0.25, **how))


def test_two_columns_are_1d():
    """1-D scores are the vectors (1 - p, p)."""
    data = BINARY["random"]
    matrix = np.column_stack([1 - data.scores, data.scores])
    for how in ({}, {"estimator": "biased"}, {"kernel": "gaussian"}):
        value = squared_kernel_calibration_error(data.scores, data.labels, **how)
        assert value == near(squared_kernel_calibration_error(matrix, data.labels, **how))


@over(PAIRS)
@pytest.mark.parametrize("kernel", ["tv", "gaussian"])
def test_bandwidth(data, kernel):
    """The bandwidth is the weighted median distance of all pairs; 1 where that is 0."""
    door = {"soft_labels": True} if data.kind == "soft" else {}
    known = Vectors.of(Predictions(data.scores, data.labels, sample_weight=data.weights, **door), "it")
    assert similarity_of(known, kernel, None).bandwidth == pytest.approx(bandwidth(data, kernel), rel=1e-15)


def test_bandwidth_of_many_rows():
    """Beyond 1000 distinct rows neither their order nor the names of classes matter, and a row twice is weight 2."""
    rng = np.random.default_rng(6)
    p = rng.dirichlet(np.ones(3), 1500)
    y = rng.integers(0, 3, 1500)
    w = rng.integers(1, 4, 1500)

    def nu(p, y, w=None):
        return similarity_of(Vectors.of(Predictions(p, y, sample_weight=w), "it"), "tv", None).bandwidth

    order = rng.permutation(1500)
    assert nu(p, y) == nu(p[order], y[order]) == pytest.approx(nu(p[:, [2, 0, 1]], (y + 1) % 3), rel=1e-12)
    assert nu(p, y, w) == nu(np.repeat(p, w, axis=0), np.repeat(y, w))
    everything = np.abs(p[:, None] - p).sum(axis=2) / 2
    assert nu(p, y) == pytest.approx(np.median(everything), rel=0.02)


def test_weight_of_one_row():
    """A row that holds nearly all weight leaves the unbiased value exact."""
    data = Data(MATRIX["random"].scores[:5], MATRIX["random"].labels[:5], np.array([1e9, 1.0, 2.0, 1.0, 1e-3]))
    value = squared_kernel_calibration_error(data.scores, data.labels, sample_weight=data.weights, bandwidth=0.5)
    assert value == near(skce(data, nu=0.5))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_mean_zero_when_calibrated(n_classes):
    """Unbiased estimators have mean 0 for calibrated predictions."""
    rng = np.random.default_rng(7)
    values = {"unbiased": [], "linear": [], "biased": []}
    for _ in range(300):
        p = rng.dirichlet(np.ones(n_classes), 20)
        y = (rng.random((20, 1)) > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
        for estimator, found in values.items():
            found.append(squared_kernel_calibration_error(p, y, estimator=estimator, bandwidth=0.3))
    error = {name: np.std(found) / sqrt(len(found)) for name, found in values.items()}
    assert abs(np.mean(values["unbiased"])) < 3 * error["unbiased"]
    assert abs(np.mean(values["linear"])) < 3 * error["linear"]
    assert np.mean(values["biased"]) > 10 * error["biased"]


def test_what_is_refused():
    """Each refusal says what is wrong."""
    p, y = [[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]], [1, 0, 0]
    with pytest.raises(UndefinedError, match="it needs at least two rows"):
        squared_kernel_calibration_error(p[:1], y[:1])
    with pytest.raises(UndefinedError, match="a block takes 4 rows, but there are only 3"):
        squared_kernel_calibration_error(p, y, estimator="block", block_size=4)
    with pytest.raises(InputError, match="block_size applies to estimator='block', not to 'linear'"):
        squared_kernel_calibration_error(p, y, estimator="linear", block_size=4)
    with pytest.raises(InputError, match="block_size must be an integer at least 2"):
        squared_kernel_calibration_error(p, y, estimator="block", block_size=1)
    with pytest.raises(InputError, match="estimator must be one of"):
        squared_kernel_calibration_error(p, y, estimator="fast")
    with pytest.raises(InputError, match="kernel must be one of 'tv', 'gaussian'"):
        squared_kernel_calibration_error(p, y, kernel="laplace")
    with pytest.raises(InputError, match="bandwidth must be above 0"):
        squared_kernel_calibration_error(p, y, bandwidth=0.0)
    with pytest.raises(InputError, match="bandwidth applies to the kernels"):
        squared_kernel_calibration_error(p, y, kernel=laplacian, bandwidth=0.1)
    with pytest.raises(InputError, match=r"numbers of shape \(3, 3\) for 3 and 3 rows, got shape \(3,\)"):
        squared_kernel_calibration_error(p, y, kernel=lambda x, y: x[:, 0])
    with pytest.raises(InputError, match="not finite"):
        squared_kernel_calibration_error(p, y, kernel=lambda x, y: np.full((len(x), len(y)), np.nan))
    with pytest.raises(InputError, match="not symmetric"):
        squared_kernel_calibration_error(p, y, kernel=lambda x, y: x[:, :1] + 0 * y[:, 0])
    with pytest.raises(ValueError, match="read-only"):
        squared_kernel_calibration_error(p, y, kernel=lambda x, y: x.__imul__(2) @ y.T)
    with pytest.raises(UndefinedError, match="these are multilabel"):
        squared_kernel_calibration_error(Predictions(p, [[0, 1], [1, 1], [0, 0]], multilabel=True))
    with pytest.raises(InputError, match="the rows of predictions, not a CellStats"):
        squared_kernel_calibration_error(CellStats.of(Predictions(p, y)))
