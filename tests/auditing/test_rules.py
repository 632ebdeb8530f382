"""Each rule of the verdict applies at its limits, and not below."""

from __future__ import annotations

from dataclasses import replace

import pytest

from believable.auditing.evidence import Average, Bounded, Evidence
from believable.auditing.rules import (
    PartEvidence,
    answer_of,
    average_is_wrong,
    class_is_wrong,
    ece_is_large,
    findings_of,
    grade,
    range_is_wrong,
    recalibration_gains,
    rows_needed,
    slope_is_wrong,
    subgroup_is_wrong,
)
from believable.report.parts import Change, Fix
from believable.report.verdicts import Range

CARE, NO = "use with care", "no, recalibrate first"


def average(predicted, observed, half=0.005):
    """An average whose gap is known to within `half`."""
    gap, ratio = observed - predicted, observed / predicted
    gap_, ratio_ = (
        Bounded(gap, gap - half, gap + half),
        Bounded(ratio, *(ratio + by / predicted for by in (-half, half))),
    )
    other = (1 - observed) / (1 - predicted)
    turned = Bounded(other, *(other + by / (1 - predicted) for by in (-half, half)))
    return Average(predicted, observed, gap_, ratio_, ratio_ if observed <= 0.5 else turned)


FINE = Evidence(
    rejected=True,
    about_confidence=False,
    average=average(0.4, 0.4),
    ranges=(),
    all_ranges=(),
    slope=Bounded(1.0, 0.95, 1.05),
    moved_by_slope=0.1,
    ece=Bounded(0.01, 0.0, 0.02),
)


@pytest.mark.parametrize(
    ("predicted", "observed", "answer"),
    [
        (0.4, 0.44, None),
        (0.4, 0.451, CARE),
        (0.4, 0.51, NO),
        (0.5, 0.39, NO),
        (0.02, 0.0175, None),  # a factor of 1.14
        (0.02, 0.0165, CARE),  # 1.21
        (0.02, 0.0155, NO),  # 1.29
        (0.98, 0.9835, CARE),  # of what does not happen
    ],
)
def test_average(predicted, observed, answer):
    """0.05 or a factor of 1.15 calls for care, 0.1 or 1.25 for recalibration."""
    found = average_is_wrong(replace(FINE, average=average(predicted, observed, 0.0005)))
    assert (found and found.answer) == answer


def test_an_average_that_is_not_sure_is_no_finding():
    """The near end of the interval has to pass half of the limit."""
    assert average_is_wrong(replace(FINE, average=average(0.4, 0.46, 0.03))).answer == CARE
    assert average_is_wrong(replace(FINE, average=average(0.4, 0.46, 0.04))) is None


def test_confidences_have_no_factor():
    """Of confidences the gap counts, not the ratio."""
    confident = replace(FINE, about_confidence=True, average=average(0.02, 0.012, 0.0005))
    assert average_is_wrong(confident) is None
    said = average_is_wrong(replace(FINE, about_confidence=True, average=average(0.65, 0.56)))
    assert said.words.startswith("On average it is 65 % confident, but right 56 % of the time")


def wrong_range(predicted, observed, share, least=None):
    """A range whose gap is known nearly exactly."""
    least = 0.95 * abs(predicted - observed) if least is None else least
    return Range(0.5, 0.6, predicted, observed, 100, share, least)


@pytest.mark.parametrize(
    ("ranges", "answer"),
    [
        ([wrong_range(0.9, 0.5, 0.04)], None),  # too few rows
        ([wrong_range(0.9, 0.5, 0.06)], CARE),
        ([wrong_range(0.9, 0.5, 0.06, least=0.04)], None),  # not sure enough
        ([wrong_range(0.9, 0.5, 0.12), wrong_range(0.8, 0.6, 0.1)], NO),
        ([wrong_range(0.9, 0.5, 0.03), wrong_range(0.8, 0.6, 0.03)], CARE),
        ([wrong_range(0.55, 0.5, 0.9)], None),
        ([wrong_range(0.1, 0.15, 0.9)], CARE),  # a factor of 1.5
        ([wrong_range(0.01, 0.02, 0.9)], None),  # a factor of 2 that is a fortieth of the rate
        ([wrong_range(0.1, 0.19, 0.9)], NO),  # nearly 0.1, and a fifth of the rate
    ],
)
def test_range(ranges, answer):
    """5 % of the rows wrong by 0.1 or a factor of 1.25 call for care, 20 % for recalibration."""
    found = range_is_wrong(replace(FINE, ranges=tuple(ranges)))
    assert (found and found.answer) == answer


@pytest.mark.parametrize(
    ("slope", "answer"),
    [(0.85, None), (0.78, CARE), (0.6, NO), (1.2, None), (1.3, CARE), (1.6, NO), (-0.5, NO)],
)
def test_slope(slope, answer):
    """Below 0.8 or above 1.25 calls for care, below 0.67 or above 1.5 for recalibration."""
    steep = replace(FINE, slope=Bounded(slope, slope - 0.02, slope + 0.02))
    found = slope_is_wrong(steep)
    assert (found and found.answer) == answer
    assert slope_is_wrong(replace(steep, moved_by_slope=0.001)) is None  # it changes nothing
    assert slope_is_wrong(replace(steep, slope=None)) is None


@pytest.mark.parametrize(("ece", "answer"), [(0.049, None), (0.06, CARE), (0.11, NO)])
def test_ece(ece, answer):
    """The guideline's first two steps."""
    found = ece_is_large(replace(FINE, ece=Bounded(ece, 0.9 * ece, 1.1 * ece)))
    assert (found and found.answer) == answer


def test_nothing_counts_unless_perfect_calibration_is_rejected():
    """What noise explains is no finding."""
    awful = replace(FINE, average=average(0.4, 0.6), slope=Bounded(0.1, 0.05, 0.15), ece=Bounded(0.3, 0.2, 0.4))
    assert [one.rule for one in findings_of(awful)] == ["average", "slope", "ece"]
    assert findings_of(replace(awful, rejected=False)) == []


def test_parts():
    """One class calls for care, classes with half of the rows for recalibration, a subgroup never for more than care."""
    bad, good = replace(FINE, average=average(0.4, 0.6)), FINE
    parts = [PartEvidence("class a", 0.3, bad), PartEvidence("class b", 0.7, good)]
    assert class_is_wrong(parts).answer == CARE
    assert class_is_wrong(parts).words.startswith(
        "For class a, on average it says 40 %, but it happens 60 % of the time"
    )
    both = [PartEvidence("class a", 0.3, bad), PartEvidence("class b", 0.7, bad)]
    assert class_is_wrong(both).answer == NO
    assert "(2 of 2 classes need recalibration)" in class_is_wrong(both).words
    assert subgroup_is_wrong(both, 6).answer == CARE
    assert "(2 of 6 subgroups need recalibration)" in subgroup_is_wrong(both, 6).words
    assert class_is_wrong([PartEvidence("class b", 1.0, good)]) is None


@pytest.mark.parametrize(("gain", "answer"), [(0.004, None), (0.02, CARE), (0.08, NO)])
def test_gain(gain, answer):
    """2 % of the log loss calls for care, 10 % for recalibration."""
    change = Change("log loss", 0.5, 0.5 - gain, gain, 0.9 * gain, 1.1 * gain)
    fix = Fix("platt", "", "", "", "log loss", (), (change,), None, "")
    found = recalibration_gains(fix)
    assert (found and found.answer) == answer
    assert recalibration_gains(None) is None


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({}, "yes"),  # certain, but trivial
        ({"rejected": False}, "yes"),
        ({"rejected": False, "ece": Bounded(0.02, 0.0, 0.07)}, "yes, as far as these data can tell"),
        ({"rejected": False, "slope": Bounded(1.0, 0.5, 1.5)}, "yes, as far as these data can tell"),
        ({"rejected": False, "ece": Bounded(0.05, 0.0, 0.12)}, "not enough data"),
        ({"rejected": False, "average": average(0.01, 0.01, 0.008)}, "not enough data"),
        ({"ece": Bounded(0.04, 0.01, 0.07)}, "use with care"),  # certain, and perhaps not trivial
    ],
)
def test_answers_without_findings(changes, answer):
    """Whether miscalibration is certain, and what the data rule out."""
    evidence = replace(FINE, **changes)
    assert answer_of(evidence, findings_of(evidence)) == answer
    assert (rows_needed(evidence, 100) is None) == (answer != "not enough data")


def test_grades_are_of_the_whole_interval():
    """A grade where the interval lies within one step, otherwise none."""
    assert grade(Bounded(0.02, 0.0, 0.049)) == "excellent"
    assert grade(Bounded(0.07, 0.05, 0.0999)) == "good"
    assert grade(Bounded(0.12, 0.10, 0.14)) == "moderate"
    assert grade(Bounded(0.3, 0.15, 0.4)) == "poor"
    assert grade(Bounded(0.07, 0.04, 0.08)) is None
