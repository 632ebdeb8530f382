"""P-values adjusted for their number equal SciPy's, whose module takes half a second to import."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from believable._kernels import false_discovery


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_as_in_scipy(n):
    """To the last digit, in any order and with ties."""
    rng = np.random.default_rng(n)
    for decimals in (1, 2, 15):
        p = rng.random(n).round(decimals)
        np.testing.assert_array_equal(false_discovery(p), false_discovery_control(p))


def test_by_hand():
    """Three of four p-values are raised by how many there are; a larger rank lowers them."""
    np.testing.assert_allclose(false_discovery([0.01, 0.04, 0.03, 0.5]), [0.04, 0.16 / 3, 0.16 / 3, 0.5], rtol=1e-15)
    assert len(false_discovery([])) == 0
