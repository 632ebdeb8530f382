"""The marginal calibration error against its literal definition."""

from math import fsum, sqrt

from believable import marginal_calibration_error
from tests.metrics.literal import MATRIX, MULTILABEL, NORMS, binned_error, cells, choices, close, over, rows


@over(MATRIX, MULTILABEL)
def test_definition(ask, data):
    """The CWCE is sqrt( 1/K sum_k sum_b W_kb/W gap_kb^2 ) over bins of equal weight."""
    total = fsum(w for _, _, w in rows(data))
    found = cells(data, 10, "quantile", notion="classwise")
    literal = sqrt(fsum(cell.weight / total * cell.gap**2 for cell in found) / data.scores.shape[1])
    assert ask(marginal_calibration_error, data) == close(literal)


@over(MATRIX, MULTILABEL)
@choices({"threshold": 0.05}, {"pooled": True}, {"threshold": 0.05, "pooled": True}, name="view")
def test_norms(ask, data, view):
    """Of any order, the root is taken once over all bins kept."""
    found = cells(data, 5, "quantile", notion="classwise", **view)
    for norm in NORMS:
        assert ask(marginal_calibration_error, data, n_bins=5, norm=norm, **view) == close(binned_error(found, norm))
