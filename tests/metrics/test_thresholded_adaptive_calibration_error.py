"""The thresholded adaptive calibration error against its literal definition."""

from believable import thresholded_adaptive_calibration_error
from tests.metrics.literal import MATRIX, MULTILABEL, NORMS, binned_error, cells, choices, close, over


@over(MATRIX, MULTILABEL)
@choices({}, {"threshold": 0.1}, {"threshold": 0.1, "pooled": True}, name="view")
def test_definition(ask, data, view):
    """The TACE is the ACE of the entries above 0.01, or another threshold."""
    found = cells(data, 7, "quantile", notion="classwise", **({"threshold": 0.01} | view))
    for norm in NORMS:
        value = ask(thresholded_adaptive_calibration_error, data, n_bins=7, norm=norm, **view)
        assert value == close(binned_error(found, norm))
