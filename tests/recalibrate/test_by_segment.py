"""`select` and `calibrate` with columns of segments."""

from __future__ import annotations

import numpy as np
import pytest

from believable import Predictions, calibrate, load_recalibrator, select
from believable.errors import InputError
from believable.recalibrate import AveragedCalibration, GroupedRecalibrator, PlattScaling
from believable.stats import CellStats, SegmentStats


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def rows(seed=0, n=3000, effect=1.0):
    """Probabilities, outcomes and columns; sites differ by `effect`."""
    rng = np.random.default_rng(seed)
    z, site, sex = rng.normal(size=n), rng.choice(["a", "b", "c"], n), rng.choice(["f", "m"], n)
    logit = z + effect * ((site == "b") * 1.0 - (site == "c"))
    return sigmoid(z), (rng.random(n) < sigmoid(logit)).astype(int), {"site": site, "sex": sex}


def loss(p, y):
    return float(-np.mean(np.where(y == 1, np.log(p), np.log1p(-p))))


@pytest.fixture(scope="module")
def found():
    p, y, by = rows()
    return calibrate(p, y, by=by)


def test_segments_that_differ_get_maps_of_their_own(found):
    """The average, both methods and no recalibration are compared, and a map by segment is chosen."""
    assert {one.name for one in found.selection.candidates} == {"average", "pooled", "boosted", "nothing"}
    assert isinstance(found.recalibrator, GroupedRecalibrator)
    assert found.method in ("pooled", "boosted")
    assert isinstance(found.recalibrator.common_, AveragedCalibration)


def test_the_gain_is_that_on_new_rows(found):
    """The interval of the gain contains the gain on new rows."""
    p, y, by = rows(1, 100_000)
    gain = loss(p, y) - loss(found.transform(p, by=by), y)
    promised = found.improvement.gains["log_loss"]
    assert promised.low < gain < promised.high


def test_the_advice_says_what_segments_account_for(found):
    """The gain over the common map follows the gain, and the printed result shows what changes."""
    assert "by segment. It lowers the log loss by 0.0" in found.selection.advice
    assert "Segments by site, sex account for 0.0" in found.selection.advice
    printed = str(found)
    assert "Common map: Average: " in printed
    assert "Correction by segment, added to the log-odds (" in printed
    assert "site = " in printed


@pytest.mark.parametrize("method", ["isotonic", PlattScaling()])
def test_one_map_for_all_rows_reads_no_columns(method):
    """Columns that would be ignored are refused, and so are counts."""
    p, y, by = rows(0, 300)
    with pytest.raises(InputError, match=r"by is not read by .*, which has one map for all rows: use GroupedRecalib"):
        calibrate(p, y, by=by, method=method)
    stats = SegmentStats.of(Predictions(p, y), by)
    with pytest.raises(InputError, match="predictions must be rows, got a SegmentStats, which GroupedRecalibrator"):
        calibrate(stats)
    with pytest.raises(InputError, match="predictions must be rows, got a CellStats, which fit_from_cells of a recal"):
        calibrate(CellStats.of(Predictions(p, y)))


def test_json_needs_the_columns(found):
    """The saved map gives the same probabilities from the columns, and asks for them."""
    p, _, by = rows(2, 200)
    again = load_recalibrator(found.to_json())
    np.testing.assert_array_equal(again.transform(p, by=by), found.transform(p, by=by))
    with pytest.raises(InputError, match="by is missing: pass the columns of segments"):
        found.transform(p)


def test_without_segments_that_differ_the_common_map_is_chosen():
    """Sites that are alike: the simpler average, or nothing, is within one standard error."""
    p, y, by = rows(3, 2000, effect=0.0)
    chosen = [calibrate(p, y, by=by), calibrate(p**1.5, y, by=by)]
    assert all(not one.recalibrator.reads_columns for one in chosen)
    assert all(one.transform(p, by=by).shape == p.shape for one in chosen)
    assert "Maps by segment (site, sex)" in chosen[1].selection.advice


def test_each_row_is_recalibrated_without_its_fold():
    """Cross-fitted probabilities are those of a map fitted on the other folds, with their columns."""
    p, y, by = rows(n=600)
    result = select(p, y, by=by, candidates=["platt", "pooled"], rule="proven", cv=3, random_state=5)
    from believable.recalibrate.crossfit import FoldSettings, RowsInFolds

    fold = RowsInFolds.of(p, y, FoldSettings(cv=3, random_state=5)).fold
    for k in range(3):
        out, held = fold != k, fold == k
        own = GroupedRecalibrator(base="average").fit(p[out], y[out], by={c: x[out] for c, x in by.items()})
        expected = own.transform(p[held], by={c: x[held] for c, x in by.items()})
        np.testing.assert_allclose(result["pooled"].predictions.scores[held], expected, atol=1e-12)


def test_named_methods_and_recalibrators():
    """ "pooled" and "boosted" are names; a recalibrator keeps its own common map."""
    p, y, by = rows(n=1500)
    for method in ("pooled", "boosted"):
        result = calibrate(p, y, method, by=by)
        assert result.method == method
        assert result.recalibrator.method == method
    result = calibrate(p, y, GroupedRecalibrator(base="temperature"), by=by)
    assert type(result.recalibrator.common_).__name__ == "TemperatureScaling"
    assert result.method == "pooled"


def test_weights_clusters_and_logits():
    """Rows of weight 0 are left out with their columns, clusters stay together, and logits are a scale like others."""
    p, y, by = rows(n=1500)
    z = np.log(p / (1 - p))
    w = (np.arange(1500) % 3 > 0).astype(float)
    kept = w > 0
    weighted = calibrate(z, y, "pooled", by=by, input="logits", sample_weight=w)
    some = calibrate(z[kept], y[kept], "pooled", by={c: x[kept] for c, x in by.items()}, input="logits")
    np.testing.assert_allclose(weighted.transform(z, by=by), some.transform(z, by=by), atol=1e-9)
    clustered = calibrate(p, y, "pooled", by=by, clusters=np.arange(1500) // 5)
    assert clustered.recalibrator.by_ == ("site", "sex")


def test_several_classes():
    """Each class is corrected by segment, and rows sum to 1."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 1500)
    site = rng.choice(["a", "b"], 1500)
    y = (rng.random(1500)[:, None] > np.cumsum(p, axis=1)).sum(axis=1)
    y = np.where((site == "b") & (rng.random(1500) < 0.4), 0, y)
    result = calibrate(p, y, "pooled", by={"site": site})
    assert result.improvement.gains["log_loss"].is_sure
    np.testing.assert_allclose(result.predict_proba(p, by={"site": site}).sum(axis=1), 1, atol=1e-12)


def test_messages():
    """What is missing or does not fit is named."""
    p, y, by = rows(n=300)
    with pytest.raises(InputError, match=r"^by is missing: the method needs the columns of segments$"):
        calibrate(p, y, "pooled")
    with pytest.raises(InputError, match=r"^by is missing: 'boosted' needs the columns of segments$"):
        select(p, y, candidates=["platt", "boosted"])
    with pytest.raises(InputError, match="by 'site' has 299 entries, but the predictions have 300 rows"):
        select(p, y, by={"site": by["site"][:-1]})
    with pytest.raises(InputError, match="base must be a recalibrator of one event"):
        GroupedRecalibrator(base="pooled").fit(p, y, by=by)


def test_proven_rule():
    """With rule="proven" the gain of the choice must be beyond noise."""
    p, y, by = rows(n=2000)
    assert select(p, y, by=by, rule="proven").gain.is_sure
    p, y, by = rows(4, 200, effect=0.0)
    assert select(p, y, by=by, rule="proven").chosen == "nothing"


def test_facts_follow_the_method():
    """Boosting is less simple than partial pooling, which is less simple than its common map."""
    simple = [one._facts().simplicity for one in (AveragedCalibration(), GroupedRecalibrator())]
    assert simple[0] < simple[1] < GroupedRecalibrator(method="boosted")._facts().simplicity
    assert not PlattScaling().reads_columns
