"""Both forms of a kernel, for tests with one body."""

from __future__ import annotations

import pytest

from believable._kernels.twins import TWINS, backend


def both(name):
    """A mark that runs a test with `kernel` in NumPy and compiled; the latter is skipped where nothing was compiled."""
    reference, compiled = TWINS[name]
    unbuilt = pytest.mark.skipif(backend == "numpy", reason="the compiled kernels are not in use")
    return pytest.mark.parametrize(
        "kernel", [pytest.param(reference, id="numpy"), pytest.param(compiled, id="compiled", marks=unbuilt)]
    )
