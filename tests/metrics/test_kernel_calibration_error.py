"""The kernel calibration error against its literal definition."""

from decimal import Decimal, localcontext
from itertools import accumulate
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
    assert value == pytest.approx(sqrt(max(skce(data, "biased"), 0)), rel=1e-12, abs=1e-14)
    assert value**2 == pytest.approx(ask(squared_kernel_calibration_error, data, estimator="biased"), rel=1e-12)


@pytest.mark.parametrize("kernel", ["tv", "gaussian"])
def test_residuals_that_cancel(kernel):
    """Equal vectors whose residuals cancel have an error of 0, without noise under the root."""
    p = np.tile(np.array([0.2, 0.3, 0.5]), (10, 1))
    y = np.repeat([0, 1, 2], [2, 3, 5])
    assert kernel_calibration_error(p, y, kernel=kernel) < 1e-15
    assert kernel_calibration_error(np.tile([1 / 3] * 3, (9, 1)), [0, 1, 2] * 3, kernel=kernel) < 1e-15


def exact_skce(p, y, w, kernel):
    """The biased squared error with the median bandwidth, to fifty digits."""
    p, y, w = ([Decimal(float(one)) for one in column] for column in (p, y, w))
    pairs = [(abs(a - b), i, j) for i, a in enumerate(p) for j, b in enumerate(p)]  # sqrt(2) of it for the Gaussian
    total, reached = (
        sum(w) ** 2,
        accumulate(sorted(pairs), lambda so_far, pair: so_far + w[pair[1]] * w[pair[2]], initial=Decimal(0)),
    )
    middle = sum(so_far < total * (Decimal("0.5") - Decimal("1e-9")) for so_far in reached) - 1
    nu = sorted(pairs)[middle][0] or Decimal(1) / (1 if kernel == "tv" else Decimal(2).sqrt())
    power = {"tv": lambda d: -d / nu, "gaussian": lambda d: -d * d / (2 * nu * nu)}[kernel]
    terms = (w[i] * w[j] * power(d).exp() * 2 * (y[i] - p[i]) * (y[j] - p[j]) for d, i, j in pairs)
    return sum(terms) / total


@pytest.mark.parametrize("kernel", ["tv", "gaussian"])
@pytest.mark.parametrize(
    ("middle", "spread"), [(0.3, 1), (0.3, 1e-6), (0.5, 1e-9), (0.3, 1e-12), (1e-9, 1), (1e-9, 1e-6)]
)
def test_scores_close_together(kernel, middle, spread):
    """The bandwidth and the kernel are those of the scores, however close they are, or close to 0."""
    rng = np.random.default_rng(3)
    p, y = middle * (1 + spread * (rng.random(12) - 0.5)), rng.integers(0, 2, 12)
    for w in (np.ones(12), rng.random(12)):
        with localcontext(prec=50):
            exact = float(exact_skce(p, y, w, kernel))
        found = kernel_calibration_error(p, y, kernel=kernel, sample_weight=w)
        assert found**2 == pytest.approx(exact, rel=2e-14)


def test_kernel_must_be_positive():
    """A kernel of one's own that makes a square negative is refused."""
    with pytest.raises(UndefinedError, match="not positive semi-definite"):
        kernel_calibration_error([0.2, 0.7], [1, 1], kernel=lambda x, y: -np.ones((len(x), len(y))))
