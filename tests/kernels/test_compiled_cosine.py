"""The size of smoothed curves: NumPy and C agree with an integral over a fine grid."""

import numpy as np
import pytest

from believable._kernels.twins import TWINS, backend, c

IN_C = pytest.param(1, marks=pytest.mark.skipif(backend == "numpy", reason="not built, or not asked for"))
both = pytest.mark.parametrize("which", [0, IN_C], ids=["numpy", "compiled"])


def curves(n, width, s, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, width)) / 30, s * np.exp(rng.normal(0, 0.2, n))


def on_a_grid(waves, s, nodes):
    """Every curve at the nodes, by the sum of its cosines."""
    k = np.arange(len(waves))
    damped = np.where(k == 0, 1, 2) * waves * np.exp(-0.5 * (np.pi * k * s) ** 2)
    return np.cos(np.pi * np.outer(np.arange(nodes + 1) / nodes, k)) @ damped


@both
@pytest.mark.parametrize("n", [1, 4, 13])
@pytest.mark.parametrize(("width", "s"), [(1, 0.3), (2, 0.9), (65, 0.05), (120, 0.02)])
def test_sizes_are_integrals_of_absolute_values(which, n, width, s):
    """A curve's size is the integral of its absolute value, as a much finer grid has it."""
    waves, widths = curves(n, width, s)
    nodes = np.where(np.arange(n) % 3 == 0, 512, 1024)
    found = TWINS["smooth_sizes"][which](waves, widths, nodes)
    for i in range(n):
        curve = np.abs(on_a_grid(waves[i], widths[i], 1 << 12))
        np.testing.assert_allclose(found[i], curve.mean() - (curve[0] + curve[-1]) / 2 / len(curve), rtol=1e-3)


@pytest.mark.skipif(backend == "numpy", reason="not built, or not asked for")
@pytest.mark.parametrize("nodes", [256, 512, 1024, 4096, 8192])
def test_both_find_the_same(nodes):
    """NumPy and C agree to 1e-12, for any number of nodes."""
    waves, s = curves(21, min(nodes, 1500), 4 / nodes)
    one, other = (twin(waves, s, np.full(21, nodes)) for twin in TWINS["smooth_sizes"])
    np.testing.assert_allclose(one, other, rtol=1e-12)


@both
def test_nothing_has_no_size(which):
    """Curves that are zero everywhere have size 0."""
    np.testing.assert_array_equal(TWINS["smooth_sizes"][which](np.zeros((9, 40)), np.full(9, 0.1), np.full(9, 256)), 0)


@both
def test_threads_do_not_change_a_bit(which, monkeypatch):
    """One, two or three threads: the same numbers; and a curve's size does not depend on its neighbours."""
    waves, s = curves(403, 200, 0.013)
    found = []
    for threads in "123":
        monkeypatch.setenv("BELIEVABLE_THREADS", threads)
        found.append(TWINS["smooth_sizes"][which](waves, s, np.full(403, 512)).tolist())
    assert found[0] == found[1] == found[2]
    alone = TWINS["smooth_sizes"][which](waves[5:12], s[5:12], np.full(7, 512))
    np.testing.assert_allclose(alone, found[0][5:12], rtol=1e-12)


@both
def test_views_and_arrays_that_cannot_be_written_to_are_taken(which):
    """Strided and read-only input gives what a plain copy gives."""
    waves, s = curves(20, 100, 0.05)
    waves.flags.writeable = s.flags.writeable = False
    nodes = np.full(10, 256)
    found = TWINS["smooth_sizes"][which](waves[::2, ::2], s[::2], nodes)
    plain = TWINS["smooth_sizes"][which](waves[::2, ::2].copy(), s[::2].copy(), nodes)
    np.testing.assert_array_equal(found, plain)


@pytest.mark.skipif(backend == "numpy", reason="not built, or not asked for")
def test_c_refuses_arrays_that_do_not_fit():
    """Sizes that do not go together raise."""
    waves, s, rows, out = np.ones((3, 5)), np.ones(3), np.arange(3), np.ones(3)
    for call in (
        lambda: c.smooth_sizes(waves, s, rows, out, 5, 300, 0, 3),
        lambda: c.smooth_sizes(waves, s, rows, out, 4, 256, 0, 3),
        lambda: c.smooth_sizes(waves, s, rows + 1, out, 5, 256, 0, 3),
        lambda: c.smooth_sizes(waves, s, rows, out, 5, 256, 0, 4),
        lambda: c.smooth_sizes(waves, s, rows, out[:2], 5, 256, 0, 3),
    ):
        with pytest.raises(ValueError, match="do not fit"):
            call()
