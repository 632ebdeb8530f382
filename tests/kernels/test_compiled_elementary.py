"""exp and log as the compiled loops have them, against those of the mathematical library."""

from __future__ import annotations

import math

import numpy as np
import pytest

from believable._kernels.twins import backend, c

pytestmark = pytest.mark.skipif(backend == "numpy", reason="the compiled kernels do not run")

RNG = np.random.default_rng(0)
NEXT_TO_NOTHING = np.array([5e-324, 1e-320, 2.2250738585072014e-308, 1e-300, 1e-30, 1e-17, 1e-16, 1e-9])


def of_all(function, x):
    result = np.full(len(x), 17.0)
    function(x, result)
    return result


def assert_close(found, wanted, units=1.5):
    """Apart by no more than so many units in the last place, of which the oracle may be half a unit wrong."""
    assert (np.abs(found - wanted) <= units * np.spacing(np.abs(wanted))).all()


@pytest.mark.parametrize("within", [True, False])
def test_exponential(within):
    """exp(x) is right to the last digit or next to it, denormal results as well."""
    x = np.concatenate([RNG.uniform(-700, 700, 4000), RNG.normal(size=4000), NEXT_TO_NOTHING, -NEXT_TO_NOTHING])
    if not within:
        x = np.concatenate([x, RNG.uniform(-745, -700, 1000), RNG.uniform(700, 709.7, 1000)])
    function = c.exponentials_within if within else c.exponentials
    assert_close(of_all(function, x), np.array([math.exp(v) for v in x]))


def test_exponential_of_floats():
    """So it is for floats of single precision."""
    x = np.concatenate([RNG.uniform(-87, 88, 4000), RNG.normal(size=4000)]).astype(np.float32)
    found = of_all(c.exponentials_float_within, x.astype(np.float64)).astype(np.float32)
    assert_close(found, np.exp(x.astype(np.float64)).astype(np.float32))


def test_logarithm():
    """log(x) is right to the last digit or next to it: of denormal numbers, and next to 1."""
    x = np.concatenate([RNG.random(4000), 10 ** RNG.uniform(-323, 308, 4000), 1 + RNG.normal(size=4000) * 1e-3])
    x = np.concatenate([x, NEXT_TO_NOTHING, 1 / NEXT_TO_NOTHING[2:], np.sqrt([0.5, 2]), np.nextafter(1, [0, 2])])
    assert_close(of_all(c.logarithms, x), np.array([math.log(v) for v in x]))


def test_logarithm_of_rest():
    """log(1 - p) is, for p next to 0 and next to 1."""
    p = np.concatenate(
        [RNG.uniform(-1, 1, 4000), 10 ** RNG.uniform(-323, 0, 4000), 1 - 10 ** RNG.uniform(-16, 0, 4000)]
    )
    p = np.concatenate([p, NEXT_TO_NOTHING, -NEXT_TO_NOTHING, np.nextafter(1, [0])])
    assert_close(of_all(c.logarithms_of_rest, p), np.array([math.log1p(-v) for v in p]))


def test_ends():
    """0, infinities, NaN and numbers whose exponential is none are what they should be."""
    inf, nan = np.inf, np.nan
    x = np.array([0.0, -0.0, inf, -inf, nan, 709.783, -745.14, 1e300, -1e300])
    np.testing.assert_array_equal(of_all(c.exponentials, x), [1, 1, inf, 0, nan, inf, 0, inf, 0])
    x = np.array([0.0, -0.0, inf, -inf, nan, -1.0, -5e-324, 1.0])
    np.testing.assert_array_equal(of_all(c.logarithms, x), [-inf, -inf, inf, nan, nan, nan, nan, 0])
    p = np.array([0.0, -0.0, 1.0, 1.5, inf, nan])
    np.testing.assert_array_equal(of_all(c.logarithms_of_rest, p), [0, 0, -inf, nan, nan, nan])


def test_misfits():
    """Arrays of two lengths or of another type are refused."""
    with pytest.raises(ValueError, match="fit together"):
        c.exponentials(np.ones(3), np.ones(2))
    with pytest.raises(TypeError, match="type"):
        c.logarithms(np.ones(3, np.float32), np.ones(3))
