"""The kernel calibration error against its literal definition."""

from math import sqrt

import numpy as np
import pytest

from believable import kernel_calibration_error, squared_kernel_calibration_error
from believable.errors import UndefinedError
from tests.metrics.kernel_literal import skce
from tests.metrics.literal import BINARY, MATRIX, SOFT, over


@over({f"binary, {name}": data for name, data in BINARY.items()}, SOFT, MATRIX)
def test_definition(ask, data):
    """The root of the mean of h over all pairs, each row with itself."""
    value = ask(kernel_calibration_error, data)
    assert value == pytest.approx(sqrt(max(skce(data, "biased"), 0)), rel=1e-11, abs=1e-12)
    assert value**2 == pytest.approx(ask(squared_kernel_calibration_error, data, estimator="biased"), rel=1e-12)


@pytest.mark.parametrize("kernel", ["tv", "gaussian"])
def test_residuals_that_cancel(kernel):
    """Equal vectors whose residuals cancel have an error of 0, without noise under the root."""
    p = np.tile(np.array([0.2, 0.3, 0.5]), (10, 1))
    y = np.repeat([0, 1, 2], [2, 3, 5])
    assert kernel_calibration_error(p, y, kernel=kernel) < 1e-15
    assert kernel_calibration_error(np.tile([1 / 3] * 3, (9, 1)), [0, 1, 2] * 3, kernel=kernel) < 1e-15


def test_kernel_must_be_positive():
    """A kernel of one's own that makes a square negative is refused."""
    with pytest.raises(UndefinedError, match="not positive semi-definite"):
        kernel_calibration_error([0.2, 0.7], [1, 1], kernel=lambda x, y: -np.ones((len(x), len(y))))
