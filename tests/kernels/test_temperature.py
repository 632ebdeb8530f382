"""The fused passes over logits against the plain formulas, and the temperature against its score equation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from believable import _kernels
from believable._kernels import temperature


def problem(n, n_classes, scale=2.0, seed=0, dtype=np.float64):
    """Logits, scale times too large, and labels."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, n_classes)) * 1.5
    labels = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    return (scale * z).astype(dtype), labels


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def slope(b, z, labels, w):
    """The derivative of the literal negative log-likelihood with respect to b."""
    z = z.astype(np.float64)
    return np.sum(w * ((softmax(b * z) * z).sum(axis=1) - z[np.arange(len(z)), labels]))


def optimum(z, labels, w=1.0, low=1e-6, high=1e6):
    return 1 / brentq(slope, 1 / high, 1 / low, args=(z, labels, w), xtol=1e-300, rtol=1e-13, maxiter=500)


SHAPES = pytest.mark.parametrize(("n", "n_classes"), [(7, 2), (50, 3), (9000, 10), (300, 40), (3, 70_000)])


@SHAPES
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_power_sums(n, n_classes, dtype):
    """Sums of exp(x) x^j by row are what the formula says, in float64 to 1e-12 and roughly in float32."""
    z, labels = problem(n, n_classes, dtype=dtype)
    rows = _kernels.logit_rows(z, labels)
    x = 0.7 * (z.astype(np.float64) - z.max(axis=1, keepdims=True).astype(np.float64))
    expected = np.array([(np.exp(x) * x**j).sum(axis=1) for j in range(4)])
    for rough, tolerance in ((False, 1e-12), (True, 1e-4)):
        np.testing.assert_allclose(temperature.power_sums(rows, 0.7, 3, rough), expected, rtol=tolerance)


@SHAPES
def test_rows(n, n_classes):
    """Largest logit, distance of the label's, largest difference."""
    z, labels = problem(n, n_classes)
    rows = _kernels.logit_rows(z, labels)
    np.testing.assert_array_equal(rows.top, z.max(axis=1))
    np.testing.assert_array_equal(rows.behind, z[np.arange(n), labels] - z.max(axis=1))
    assert rows.spread == np.ptp(z, axis=1).max()


@SHAPES
def test_probabilities(n, n_classes):
    """softmax(z / T), its largest entry and its entry at the label are those of the plain formula."""
    z, labels = problem(n, n_classes)
    p = softmax(z / 1.7)
    rows = _kernels.logit_rows(z, labels)
    np.testing.assert_allclose(_kernels.tempered(z, 1.7), p, rtol=1e-12)
    np.testing.assert_allclose(_kernels.top_probability(rows, 1 / 1.7), p.max(axis=1), rtol=1e-12)
    np.testing.assert_allclose(_kernels.label_terms(rows, 1 / 1.7)[0], p[np.arange(n), labels], rtol=1e-12)


def test_label_terms_are_derivatives():
    """The derivatives of P(label) with respect to log b are its difference quotients."""
    z, labels = problem(200, 5)
    rows = _kernels.logit_rows(z, labels)
    h = 1e-4
    low, here, high = (_kernels.label_terms(rows, 0.8 * np.exp(s)) for s in (-h, 0, h))
    np.testing.assert_allclose(here[1], (high[0] - low[0]) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(here[2], (high[1] - low[1]) / (2 * h), atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "n_classes"), [(60, 2), (300, 4), (70_000, 2), (14_000, 10), (4500, 40)])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 50.0])
def test_optimum(n, n_classes, dtype, scale):
    """T solves the score equation to 1e-8 of itself, with weights too."""
    z, labels = problem(n, n_classes, scale, dtype=dtype)
    for w in (np.ones(n), np.random.default_rng(1).exponential(size=n)):
        found = _kernels.fit_temperature(_kernels.logit_rows(z, labels, w)).temperature
        assert found == pytest.approx(optimum(z, labels, w, scale / 3, scale * 3), rel=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_optimum_of_odd_logits(seed):
    """Few rows, heavy tails, ties and classes that are ruled out do not keep it from the optimum."""
    rng = np.random.default_rng(seed)
    z = rng.standard_t(1.5, size=(40, 4)) * 10 ** rng.uniform(-3, 3)
    z[rng.random(z.shape) < 0.2] = 0
    labels = z.argmax(axis=1)
    labels[:9] = rng.integers(0, 4, 9)
    masked = np.column_stack([z, np.full(40, -1e9 * np.ptp(z))])
    fit = _kernels.fit_temperature(_kernels.logit_rows(z, labels))
    assert fit.limit == ""
    assert fit.temperature == pytest.approx(optimum(z, labels), rel=1e-8)
    assert _kernels.fit_temperature(_kernels.logit_rows(masked, labels)).temperature == pytest.approx(
        fit.temperature, rel=1e-8
    )


@pytest.mark.parametrize("factor", [1e-300, 1e-30, 1e30, 1e300])
def test_units_do_not_matter(factor):
    """T is proportional to the logits as far as numbers reach, for few rows and for many."""
    for z, labels in (problem(80, 3), problem(14_000, 10)):
        one, two = (_kernels.fit_temperature(_kernels.logit_rows(c * z, labels)).temperature for c in (1, factor))
        assert two / factor == pytest.approx(one, rel=1e-12)


@pytest.mark.parametrize(("n", "n_classes"), [(70_000, 2), (14_000, 10), (4500, 40)])
def test_few_passes(n, n_classes, monkeypatch):
    """All rows together are looked at no more than six times, the warm start included."""
    z, labels = problem(n, n_classes, dtype=np.float32)
    seen = []
    plain = temperature.slopes

    def counted(rows, *choices):
        seen.append(len(rows.top))
        return plain(rows, *choices)

    monkeypatch.setattr(temperature, "slopes", counted)
    _kernels.fit_temperature(_kernels.logit_rows(z, labels))
    assert sum(seen) <= 6 * n


def test_a_root_met_exactly_is_kept():
    """Where a step ends at the root, to the last digit of floats, the search ends there, wherever it began."""
    for start in np.linspace(1.7315, 1.7325, 101):
        found = temperature.search(lambda b: (b * b - 3, 2 * b * b, 2 * b * b), start, 0.1, temperature.LAST_STEP)
        assert found == pytest.approx(np.sqrt(3), rel=1e-12)


def test_memory_order_does_not_matter():
    """Columns side by side, every other row, and read-only arrays give the same."""
    z, labels = problem(500, 6)
    wanted = _kernels.fit_temperature(_kernels.logit_rows(z, labels))
    spread_out = np.zeros((1000, 6))
    spread_out[::2] = z
    for other in (np.asfortranarray(z), spread_out[::2]):
        assert _kernels.fit_temperature(_kernels.logit_rows(other, labels)).temperature == pytest.approx(
            wanted.temperature, rel=1e-13
        )
        np.testing.assert_allclose(_kernels.tempered(other, 2.0), _kernels.tempered(z, 2.0), rtol=1e-14)


def test_limits():
    """Equal logits, logits that are always right, and logits that tell nothing are named."""
    fit = _kernels.fit_temperature
    z, _ = problem(50, 3)
    assert fit(_kernels.logit_rows(np.ones((4, 3)), np.arange(4) % 3)) == (1.0, "equal")
    right = fit(_kernels.logit_rows(z, z.argmax(axis=1)))
    assert right.limit == "right"
    assert -np.log(softmax(z / right.temperature).max(axis=1)).mean() == pytest.approx(1e-6, rel=1e-6)
    assert fit(_kernels.logit_rows(z, z.argmin(axis=1))) == (pytest.approx(1e6 * np.ptp(z, axis=1).max()), "useless")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_ends_of_numbers(dtype):
    """Logits at the ends of their type, and next to zero, give positive finite temperatures."""
    largest, smallest = np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal
    rng = np.random.default_rng(0)
    for ends in ((-largest, largest), (-largest, 0), (0, smallest), (smallest, largest)):
        for n in (12, 66_000):
            z = np.where(rng.random((n, 2)) < 0.5, *map(dtype, ends)).astype(dtype)
            for labels in (rng.integers(0, 2, n), z.argmax(axis=1), z.argmin(axis=1)):
                found = _kernels.fit_temperature(_kernels.logit_rows(z, labels)).temperature
                assert 0 < found < np.inf
                assert np.isfinite(_kernels.tempered(z, found)).all()
