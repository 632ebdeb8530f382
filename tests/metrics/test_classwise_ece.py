"""The class-wise ECE against its literal definition."""

from math import nan

from believable import classwise_ece
from tests.metrics.literal import (
    BINS,
    MATRIX,
    MULTILABEL,
    NORMS,
    binned_error,
    cells,
    choices,
    close,
    every_edge,
    matrix_on_edges,
    over,
)


def agrees(ask, data, **choice):
    found = cells(data, notion="classwise", **choice)
    classes = [[cell for cell in found if cell.group == k] for k in range(data.scores.shape[1])]
    for norm in NORMS:
        overall, per_class = ask(classwise_ece, data, norm=norm, **choice)
        assert overall == close(binned_error(found, norm))
        assert per_class == close([binned_error(here, norm) if here else nan for here in classes])


@over(MATRIX, MULTILABEL)
@choices(*BINS, {"threshold": 0.3})
def test_definition(ask, data, bins):
    """Every class has the error of its own bins, and all of them one over all bins."""
    agrees(ask, data, **bins)


@every_edge
def test_edges(ask, n_bins, dtype):
    """Edges belong to the bin below."""
    agrees(ask, matrix_on_edges(n_bins, dtype), n_bins=n_bins)
