"""What two summaries have to have in common to be the same: counts exactly, sums up to rounding."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import torch

SUM_TOLERANCE = (
    5e-6 if torch.cuda.is_available() else 1e-12
)  # compiled passes sum a few hundred rows in single precision


def assert_same(found, wanted, tolerance=SUM_TOLERANCE):
    """Equal layouts, occupied cells and counts; sums that differ by rounding alone."""
    assert found.layout == wanted.layout
    assert dict(found.dropped) == dict(wanted.dropped)
    assert found.n == wanted.n
    for mine, theirs in zip(found.cells, wanted.cells, strict=True):
        for field in fields(mine):
            here, there = getattr(mine, field.name), getattr(theirs, field.name)
            if isinstance(here, np.ndarray) and here.dtype.kind in "iu":
                assert np.array_equal(here, there), field.name
            elif isinstance(here, np.ndarray):
                np.testing.assert_allclose(here, there, rtol=tolerance, atol=tolerance, err_msg=field.name)
            else:
                assert here == there
    for field in fields(found.sums):
        here, there = getattr(found.sums, field.name), getattr(wanted.sums, field.name)
        if isinstance(here, (float, np.ndarray)):
            scale = max(1.0, float(np.max(np.abs(there))) if np.size(there) and np.all(np.isfinite(there)) else 1.0)
            np.testing.assert_allclose(here, there, rtol=tolerance, atol=tolerance * scale, err_msg=field.name)
        else:
            assert here == there, field.name
