"""Maps by segment in the audit: what they gain, and where."""

from __future__ import annotations

import numpy as np
import pytest

from believable import Audit, Predictions, audit
from believable.recalibrate import GroupedRecalibrator
from believable.recalibrate.crossfit import FoldSettings, RowsInFolds
from believable.recalibrate.facts import as_method
from believable.report.parts import SegmentFix, SegmentGain
from believable.stats import Summary
from tests.auditing.data import few_metrics
from tests.auditing.test_segments import planted


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Metrics that only take time here are left out."""
    with pytest.MonkeyPatch.context() as patch:
        few_metrics(patch)
        yield


@pytest.fixture(scope="module")
def found():
    p, y, by = planted(n=4000)
    return audit(p, y, by=by, find_segments=True)


def test_the_gain_is_out_of_fold(found):
    """The loss of the segment's rows, row by row, by maps that were fitted without them."""
    p, y, by = planted(n=4000)
    one = found.segment_fix.segments[0]
    assert found.segment_fix.columns == ("site", "age")
    age = np.array(found.segments.found[0].where["age"].split()[-1:], int)[0]
    inside = (by["site"] == "south") & (by["age"] <= age)
    levels = {"site": by["site"], "age": levels_of(by["age"], found)}
    problem = RowsInFolds.of(Predictions(p, y), None, FoldSettings(random_state=0, by=levels))
    method = GroupedRecalibrator(method=found.segment_fix.method, base=found.segment_fix.base)
    q = problem.cross_fitted(method).predictions.scores
    after = -np.mean([np.log(q[i] if y[i] else 1 - q[i]) for i in np.flatnonzero(inside)])
    assert one.n == inside.sum()
    if found.fix.chosen != "nothing":
        p = problem.cross_fitted(as_method(found.fix.chosen)).predictions.scores
    before = -np.mean([np.log(p[i] if y[i] else 1 - p[i]) for i in np.flatnonzero(inside)])
    assert one.before == pytest.approx(before, rel=1e-9)
    assert one.after == pytest.approx(after, rel=1e-9)
    assert one.gain == pytest.approx(before - after, rel=1e-9)
    assert one.gain_low < one.gain < one.gain_high


def levels_of(age, found):
    """The ranges into which the search cut the ages, as text."""
    cuts = [int(word) for word in found.segments.notes[0].rstrip(".").split(" at ")[1].split(", ")]
    names = [f"up to {cuts[0]}", f"{cuts[0]} to {cuts[1]}", f"{cuts[1]} to {cuts[2]}", f"above {cuts[2]}"]
    return np.array(names)[np.searchsorted(cuts, age)]


def test_the_advice_names_the_gain_and_the_command_the_columns(found):
    """The reader learns what maps by segment gain there, and how to fit them."""
    one = found.segment_fix.segments[0]
    assert found.advice[0].startswith(
        "Recalibrate by segment. A calibration map that depends on site and age lowers the log loss of the rows with "
        f"{one.name} from"
    )
    assert f"from {one.before:.4f} to {one.after:.4f} (gain {one.gain:.4f}, 95 % interval" in found.advice[0]
    assert found.command == 'believable.calibrate(scores, labels, method="auto", by=columns)  # site, age'
    p, y, by = planted(n=4000)
    line = "believable fit rows.csv --method {method}{by} -o map.json"
    by = {'a, "b"': by["site"], "age": by["age"]}
    said = audit(p, y, by=by, find_segments=True, command=line).command
    assert said == 'believable fit rows.csv --method auto --by \'"a, ""b""",age\' -o map.json'


def test_the_command_has_the_columns_without_a_fix_too():
    """What was not tried is not promised, but the line to run corrects the segment that was found."""
    p, y, by = planted(n=4000)
    found = audit(p, y, by=by, find_segments=True, fix=False, command="believable fit rows.csv{by} -o map.json")
    about = found.verdict.findings[0].about
    rows = "on labelled rows that the model was not trained on"
    assert found.advice[0] == f"Recalibrate by segment, {rows}: {about} needs a calibration map of its own."
    assert not any(one.startswith("Recalibrate the scores") for one in found.advice)
    assert found.command == "believable fit rows.csv --by site,age -o map.json"


def test_one_map_for_all_is_the_other_choice(found):
    """Wherever the advice on one map is printed, it says that it is about that."""
    said = f"If all rows are to have the same map: {found.fix.advice[0].lower()}{found.fix.advice[1:]}"
    assert said in found.advice
    for report in (found.to_text(), found.to_html()):
        assert said.split("(")[0] in report
        assert found.fix.advice not in report


def test_reports_show_the_gain(found):
    """Text, Markdown, HTML and JSON have it, and older files load without."""
    one = found.segment_fix.segments[0]
    for report in (found.to_text(), found.to_markdown(), found.to_html()):
        assert "Recalibration by segment" in report
        assert f"{one.after:.4f}" in report
    assert Audit.from_json(found.to_json()) == found
    saved = found.to_dict()
    del saved["segment_fix"]
    assert Audit.from_dict(saved).segment_fix is None


def test_subgroups_are_offered_a_fix_without_a_search():
    """The worst subgroup comes with its gain, too."""
    rng = np.random.default_rng(0)
    p, site = rng.random(3000), rng.choice(["a", "b"], 3000)
    y = (rng.random(3000) < np.where(site == "a", 0.7 * p, 0.3 + 0.7 * p)).astype(int)
    result = audit(p, y, by={"site": site})
    assert result.segment_fix.columns == ("site",)
    assert "A calibration map that depends on site lowers" in " ".join(result.advice)
    assert result.segment_fix.is_sure
    assert any(one.startswith("If all rows are to have the same map: ") for one in result.advice)


def test_nothing_is_offered_where_nothing_differs():
    """Calibrated rows, a summary, and fix=False have no maps by segment."""
    p, y, by = planted(factor=1.0, n=3000, seed=3)
    assert audit(p, y, by=by, find_segments=True).segment_fix is None
    p, y, by = planted(n=3000)
    assert audit(p, y, by=by, find_segments=True, fix=False).segment_fix is None
    rows = Predictions(p, y)
    assert audit(Summary.of(rows, by={"site": by["site"]}), find_segments=True).segment_fix is None


def record(**changes):
    usual = {"method": "pooled", "columns": ("a",), "base": "platt", "score": "log loss", "gain": 0.01}
    usual |= {"gain_low": 0.002, "gain_high": 0.02, "level": 0.95, "segments": ()}
    return SegmentFix(**usual | changes)


def test_in_words():
    """A gain that is sure is stated; otherwise that it is not."""
    assert record().in_words == (
        "A calibration map that depends on a (partial pooling) lowers the log loss of all rows by 0.0100 (95 % interval "
        "0.0020 to 0.0200), compared with one map for all."
    )
    unsure = record(method="boosted", gain_low=-0.001)
    assert not unsure.is_sure
    assert unsure.in_words == (
        "A calibration map that depends on a (boosting) does not clearly lower the log loss (95 % interval of the gain: "
        "-0.0010 to 0.0200)."
    )
    gain = SegmentGain({"a": "b"}, 30, 0.5, 0.4, 0.1, 0.05, 0.15)
    assert record(segments=(gain,)).gain_in({"a": "b"}) == gain
    assert record().gain_in({"a": "b"}) is None
