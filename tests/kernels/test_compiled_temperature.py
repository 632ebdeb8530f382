"""Passes over logits: in NumPy and compiled, against literal loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from believable._kernels import LogitRows, fit_temperature
from believable._kernels.twins import TWINS, backend, c
from tests.kernels.twins import both

SHAPES = pytest.mark.parametrize(("n", "width"), [(1, 2), (150, 3), (129, 64), (40, 65), (2, 9000)])
THREADS = ("1", "2", "3")
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def assert_close(found, wanted, **tolerances):
    """Values, shape and type are as wanted; NumPy compares all three at once from 2.0 on."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(found, wanted, **tolerances)


def made(n, width, dtype=np.float64, scale=3.0, seed=0):
    rng = np.random.default_rng(seed)
    z = (scale * rng.normal(size=(n, width))).astype(dtype)
    return z, rng.integers(0, width, n)


def looked_at(z, labels, weights=None):
    """By the definition, one row at a time."""
    wide = z.astype(np.float64)
    top = np.array([max(row) for row in wide])
    behind = np.array([row[label] - max(row) for row, label in zip(wide, labels, strict=True)])
    return LogitRows(z, top.astype(z.dtype), behind, weights, max(max(row) - min(row) for row in wide))


def sums_of(z, b):
    """Sums of exp(x) x^j by row, each correctly rounded."""
    result = np.empty((4, len(z)))
    for i, row in enumerate(z.astype(np.float64)):
        x = b * (row - row.max())
        result[:, i] = [math.fsum(np.exp(x) * x**j) for j in range(4)]
    return result


@both("logit_rows")
@SHAPES
@DTYPES
def test_logit_rows(kernel, n, width, dtype, monkeypatch):
    """The largest, how far the label is behind, the largest difference: the same bits for every number of threads."""
    z, labels = made(n, width, dtype)
    wanted = looked_at(z, labels)
    for threads in THREADS:
        monkeypatch.setenv("BELIEVABLE_THREADS", threads)
        found = kernel(z, labels)
        np.testing.assert_array_equal(found.top, wanted.top, strict=True)
        np.testing.assert_array_equal(found.behind, wanted.behind, strict=True)
        assert found.spread == wanted.spread


@both("logit_rows")
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_labels_of_every_type(kernel, kind):
    """Whole numbers of any type say which column is the label's."""
    z, labels = made(300, 100)
    np.testing.assert_array_equal(kernel(z, labels.astype(kind)).behind, looked_at(z, labels).behind)


@both("logit_rows")
def test_labels_that_are_no_columns(kernel):
    """A label beyond the columns is an error, not a look beyond the array."""
    z, labels = made(300, 10)
    labels[299] = 10
    with pytest.raises(IndexError):
        kernel(z, labels)


@both("power_sums")
@SHAPES
@DTYPES
def test_power_sums(kernel, n, width, dtype):
    """Sums of exp(x) x^j are the literal ones to 1e-12, rough ones to 1e-4, of any order."""
    z, labels = made(n, width, dtype)
    rows, wanted = looked_at(z, labels), sums_of(z, 0.7)
    for order in range(4):
        assert_close(kernel(rows, 0.7, order), wanted[: order + 1], rtol=1e-12)
        np.testing.assert_allclose(kernel(rows, 0.7, order, True), wanted[: order + 1], rtol=1e-4)


@both("slopes")
@SHAPES
@DTYPES
@pytest.mark.parametrize("weighted", [False, True])
def test_slopes(kernel, n, width, dtype, weighted, monkeypatch):
    """Cumulants of x less the label's x, summed over rows; the number of threads does not change one bit."""
    z, labels = made(n, width, dtype)
    weights = np.random.default_rng(1).exponential(size=n) if weighted else None
    rows, (total, one, two, three) = looked_at(z, labels, weights), sums_of(z, 0.7)
    mean, square, cube = one / total, two / total, three / total
    w = np.ones(n) if weights is None else weights
    wanted = [
        math.fsum(w * (mean - 0.7 * rows.behind)),
        math.fsum(w * (square - mean**2)),
        math.fsum(w * (cube - 3 * mean * square + 2 * mean**3)),
    ]
    found = []
    for threads in THREADS:
        monkeypatch.setenv("BELIEVABLE_THREADS", threads)
        found.append(kernel(rows, 0.7))
    np.testing.assert_allclose(found[0], wanted, rtol=1e-11, atol=1e-11 * n)
    np.testing.assert_allclose(kernel(rows, 0.7, True), wanted, rtol=1e-3, atol=1e-3 * n)
    assert found[0] == found[1] == found[2]
    assert all(isinstance(each, float) for each in found[0])


def test_many_blocks_on_any_number_of_threads(monkeypatch):
    """Of many blocks too, a temperature does not depend on threads in one bit."""
    for n, width in ((30_001, 10), (701, 1000)):
        z, labels = made(n, width, np.float32)
        rows = TWINS["logit_rows"][backend == "compiled"](z, labels)
        found = set()
        for threads in THREADS:
            monkeypatch.setenv("BELIEVABLE_THREADS", threads)
            found.add(fit_temperature(rows).temperature)
        assert len(found) == 1


@pytest.mark.skipif(backend == "numpy", reason="the compiled kernels are not in use")
@pytest.mark.parametrize(("n", "width"), [(400, 2), (20_000, 10), (900, 300)])
@DTYPES
def test_temperature_of_both(n, width, dtype, monkeypatch):
    """The temperature from compiled passes is that from NumPy to 1e-9 of itself."""
    from believable._kernels import temperature

    rng = np.random.default_rng(0)
    z = rng.normal(size=(n, width))
    labels = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    z = (2 * z).astype(dtype)
    found = []
    for which in (0, 1):
        monkeypatch.setattr(temperature, "slopes", TWINS["slopes"][which])
        found.append(fit_temperature(TWINS["logit_rows"][which](z, labels)))
    assert found[1].temperature == pytest.approx(found[0].temperature, rel=1e-9)
    assert found[1].limit == found[0].limit


@both("label_terms")
@SHAPES
@DTYPES
def test_label_terms(kernel, n, width, dtype):
    """P(label) = exp(x - log sum), with its derivatives in log b."""
    z, labels = made(n, width, dtype)
    rows, (total, one, two, _) = looked_at(z, labels), sums_of(z, 0.7)
    x = 0.7 * rows.behind
    p, ahead, variance = np.exp(x) / total, x - one / total, two / total - (one / total) ** 2
    wanted = [p, p * ahead, p * (ahead**2 + ahead - variance)]
    assert_close(kernel(rows, 0.7), wanted, rtol=1e-11, atol=1e-14)


@both("tempered")
@SHAPES
@DTYPES
def test_tempered(kernel, n, width, dtype, monkeypatch):
    """exp(z / T) over its sum, to 1e-12 of itself, whatever the number of threads."""
    z, _ = made(n, width, dtype, 30)
    wanted = np.empty(z.shape)
    for i, row in enumerate(z.astype(np.float64)):
        e = np.exp((row - row.max()) / 1.7)
        wanted[i] = e / math.fsum(e)
    for threads in THREADS:
        monkeypatch.setenv("BELIEVABLE_THREADS", threads)
        assert_close(kernel(z, 1.7), wanted, rtol=1e-12)


@both("softmax")
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
def test_softmax(kernel, dtype):
    """Of numbers of any type, and of none."""
    z = made(50, 7)[0].astype(dtype)
    wide = z.astype(np.float64)
    assert_close(kernel(z), np.exp(wide) / np.exp(wide).sum(axis=1)[:, None], rtol=1e-13)
    assert kernel(z[:0]).shape == (0, 7)


@both("softmax")
@pytest.mark.parametrize("width", [2, 100])
def test_softmax_at_the_ends(kernel, width):
    """Logits that are infinitely far apart, denormal results, and equal logits."""
    z = np.zeros((4, width))
    z[0, 0], z[0, 1] = 1.7e308, -1.7e308
    z[1, 0] = -740.0
    z[2, 0] = -np.inf
    p = kernel(z)
    np.testing.assert_array_equal(p[0], np.eye(width)[0])
    assert p[1, 0] == pytest.approx(math.exp(-740) / (width - 1), rel=1e-2)
    assert p[2, 0] == 0
    np.testing.assert_allclose(p[3], 1 / width, rtol=1e-15)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)


@both("sigmoid")
@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 5), (70_001,)])
def test_sigmoid(kernel, shape):
    """1 / (1 + exp(-z)) by entry, in the shape of the logits."""
    z = np.random.default_rng(0).normal(size=shape) * 10
    assert_close(kernel(z), 1 / (1 + np.exp(-z)), rtol=1e-13)
    np.testing.assert_allclose(kernel(np.asarray(z, np.float32)), kernel(np.asarray(z, np.float32).astype(np.float64)))


@both("sigmoid")
def test_sigmoid_at_the_ends(kernel):
    """Infinities, NaN, and logits whose exponential is none."""
    z = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, -1e300, -745.0, 745.0])
    np.testing.assert_array_equal(kernel(z), [0.5, 0.5, 1, 0, np.nan, 1, 0, 5e-324, 1])


@both("slopes")
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("width", [3, 90])
def test_extreme_logits(kernel, width):
    """Logits of 1e4 and of 1e300, and labels that are infinitely far behind, have finite slopes."""
    z, labels = made(40, width)
    for factor, b in ((1e4, 1.0), (1e300, 1e-3), (1e300, 1e8), (1e-300, 1e300)):
        rows = TWINS["logit_rows"][0](factor * z, labels)
        assert np.isfinite(kernel(rows, b)).all()
    z[:, 0], z[:, 1:] = 1.7e308, -1.7e308
    rows = TWINS["logit_rows"][0](z, np.full(40, 1))
    assert rows.spread == np.inf
    first, second, _ = kernel(rows, 1e-3)
    assert first > 0
    assert 0 <= second < 1e-200


@pytest.mark.parametrize("name", ["logit_rows", "power_sums", "slopes", "label_terms", "tempered", "softmax"])
def test_inputs_in_any_memory(name):
    """Columns side by side, rows apart, and read-only arrays give the same, and stay what they were."""
    z, labels = made(60, 5, np.float32)
    apart = np.zeros((120, 10), np.float32)
    apart[::2, ::2] = z
    before, labels_before = z.copy(), labels.copy()
    z.flags.writeable = labels.flags.writeable = False
    spread_labels = np.repeat(labels, 2)[::2]
    for kernel in TWINS[name][: 1 + (backend == "compiled")]:

        def result(z, labels, kernel=kernel):
            if name == "logit_rows":
                return np.column_stack(kernel(z, labels)[1:3])
            choices = {"power_sums": (1.3, 3), "slopes": (1.3,), "label_terms": (1.3,), "tempered": (1.3,)}
            rows = z if name in ("tempered", "softmax") else TWINS["logit_rows"][0](z, labels, np.ones(120)[::2])
            return kernel(rows, *choices.get(name, ()))

        wanted = result(z, labels)
        for other in (np.asfortranarray(z), apart[::2, ::2]):
            np.testing.assert_allclose(result(other, spread_labels), wanted, rtol=1e-14)
    np.testing.assert_array_equal(z, before)
    np.testing.assert_array_equal(labels, labels_before)


@pytest.mark.skipif(backend == "numpy", reason="the compiled kernels are not in use")
def test_misfits():
    """Arrays that do not fit together are refused, whatever else is wrong with the call."""
    z, labels = made(20, 5)
    top, behind, out = z.max(axis=1), np.zeros(20), np.empty((3, 20))
    for call in (
        lambda: c.logit_rows(z, labels, top[:19].copy(), behind, 0, 20),
        lambda: c.logit_rows(z, labels, top, behind, 0, 21),
        lambda: c.logit_rows(z, labels, top, behind, -1, 20),
        lambda: c.power_sums(z, top, out[:, :3].copy(), 1.0, 0, 0, 20),
        lambda: c.power_sums(z, top, out, 1.0, 0, 0, 21),
        lambda: c.slopes(z, top, behind, None, out[:, :2].copy(), 1.0, 0, 20, 0, 1),
        lambda: c.slopes(z, top, behind, None, out, 1.0, 0, 500, 0, 1),
        lambda: c.slopes(z, top, behind, np.ones(19), np.empty((3, 1)), 1.0, 0, 20, 0, 1),
        lambda: c.label_terms(z, top, behind, out, 1.0, 0, 21),
        lambda: c.softmax(z, np.empty((20, 5)), 1.0, 7, 0, 20),
        lambda: c.softmax(z, np.empty((20, 4)), 1.0, 5, 0, 20),
    ):
        with pytest.raises(ValueError, match="fit together"):
            call()
