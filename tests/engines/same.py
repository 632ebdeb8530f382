"""Two summaries say the same."""

from __future__ import annotations

import dataclasses

import numpy as np

from believable.stats.counts import SUMS


def assert_same_counts(found, wanted, logit_exact=True):
    """The same cells with the same counts, and sums to 1e-9; logit-spaced cells may be asked to agree in sum only."""
    if getattr(getattr(found, "grid", None), "spacing", "uniform") == "uniform" or logit_exact:
        np.testing.assert_array_equal(found.key, wanted.key)
        np.testing.assert_array_equal(found.n, wanted.n)
        for name in SUMS:
            np.testing.assert_allclose(
                getattr(found, name), getattr(wanted, name), rtol=1e-9, atol=1e-300, err_msg=name
            )
        return
    assert found.n.sum() == wanted.n.sum()
    for name in SUMS:
        np.testing.assert_allclose(getattr(found, name).sum(), getattr(wanted, name).sum(), rtol=1e-9, err_msg=name)


def assert_same(found, wanted, logit_exact=True):
    """Cells, sums and subgroups."""
    assert [(one.view, one.grid) for one in found.cells] == [(one.view, one.grid) for one in wanted.cells]
    for one, other in zip(found.cells, wanted.cells, strict=True):
        assert_same_counts(one, other, logit_exact)
    for item in dataclasses.fields(found.sums):
        a, b = getattr(found.sums, item.name), getattr(wanted.sums, item.name)
        if isinstance(b, str):
            assert a == b
        else:
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=item.name)
    assert {name: list(levels) for name, levels in found.by.items()} == {
        name: list(levels) for name, levels in wanted.by.items()
    }
    for name, levels in wanted.by.items():
        for level, one in levels.items():
            assert_same(found.by[name][level], one, logit_exact)
    assert found.classes == wanted.classes
