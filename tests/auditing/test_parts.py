"""Classes and subgroups, each by itself."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import betaincinv
from scipy.stats import chi2, norm

import believable
from believable import Predictions, audit
from believable.auditing.judgement import evidence_of_bins, evidence_of_curve
from believable.auditing.parts import NOTE_OF_RULES, _with_rules
from believable.auditing.settings import AuditSettings
from believable.auditing.source import source_of_audit
from believable.report.parts import Part
from believable.stats.source import BinsAsked, count_asked
from tests.auditing.data import few_metrics

pytestmark = pytest.mark.slow
SETTINGS = AuditSettings(10, "uniform", None, False, False, 0.95, 0)


def counted(p, y=None):
    """The bins of some scores."""
    return count_asked(p if y is None else Predictions(p, y), BinsAsked(), squares=True)


def test_classes_side_by_side(matrix):
    """Confidence, class-wise and top-label errors, and every class against the rest, worst first."""
    p, y, _, found = matrix
    assert {found[alias].notion for alias in ("ece", "sce", "tlce")} == {"confidence", "classwise", "top_label"}
    assert {part.name for part in found.parts} == {"0", "1", "2", "3"}
    lows = [part.low for part in found.parts]
    assert lows == sorted(lows, reverse=True)
    for part in found.parts:
        k = int(part.name)
        assert part.ece == pytest.approx(believable.expected_calibration_error(p[:, k], y == k), rel=1e-12)
        assert part.n == (y == k).sum()
    for part in found.subgroups:
        rows = matrix[2] == part.name
        assert part.ece == pytest.approx(believable.expected_calibration_error(p[rows], y[rows]), rel=1e-12)


def test_many_classes_keep_the_worst(monkeypatch):
    """Of many classes those furthest from chance are told, and the one that was spoilt is first."""
    few_metrics(monkeypatch)
    rng = np.random.default_rng(5)
    q = rng.dirichlet(np.full(30, 0.3), 3000)
    y = np.array([rng.choice(30, p=row) for row in q])
    q[:, 7] = np.minimum(q[:, 7] * 3 + 0.02, 1)
    q /= q.sum(axis=1, keepdims=True)
    found = audit(q, y, fix=False)
    assert (len(found.parts), found.n_parts) == (20, 30)
    assert found.parts[0].name == "7"
    assert found.parts[0].direction == "over-predicts"
    assert "the worst 20 of 30" in found.to_text()


def test_a_subgroup_of_rare_events_is_judged_by_its_factor(monkeypatch):
    """Risks of a quarter of the rows are 2.5 times too high, and the ECE of rare events hardly shows it."""
    few_metrics(monkeypatch)
    rng = np.random.default_rng(2)
    p = rng.beta(0.5, 60, 40_000)
    site = rng.choice(["a", "b", "c", "d"], len(p))
    y = rng.random(len(p)) < np.where(site == "a", p / 2.5, p)
    found = audit(p, y, by={"site": site}, fix=False)
    assert found.verdict.answer == "use with care"
    assert found.verdict.findings[0].rule == "subgroup"
    assert "For site = a, on average the scores are too high by a factor of" in found.verdict.headline
    flagged = [part for part in found.subgroups if part.flagged]
    assert [(part.name, part.direction) for part in flagged] == [("a", "over-predicts")]
    assert all(part.low > 0 for part in flagged)
    assert found.advice[0].endswith(": site = a needs a calibration map of its own.")


def test_what_the_rules_find_is_flagged_with_an_interval_that_agrees():
    """The ECE alone says nothing of a part: then its interval starts where the average puts it."""
    p, y = np.full(4000, 0.02), np.arange(4000) < 20
    stats = counted(p, y)
    evidence = evidence_of_bins(stats, 1, False)
    part = Part("site", "a", 4000, 0.02, 0.005, 0.015, 0.0, 0.02, 0.001, 0.4, 0.4, False, "unclear")
    found = _with_rules(part, stats, evidence, False)
    assert (found.flagged, found.direction, found.note) == (True, "over-predicts", NOTE_OF_RULES)
    exact = 0.02 - float(betaincinv(21, 3980, 0.975))  # Clopper and Pearson, of 20 events in 4,000 rows
    assert found.low == pytest.approx(exact, rel=1e-12)
    calibrated = evidence_of_bins(counted(np.full(4000, 0.005), y), 1, False)
    assert _with_rules(part, stats, calibrated, False) == part


def test_subgroups_keep_their_clusters():
    """Five patients of a hundred rows each are no proof against a subgroup."""
    patient = np.repeat(np.arange(20), 100)
    site = np.where(patient < 5, "few", "many")
    y = np.isin(patient, [0, 1, 2, *range(5, 20, 2)]).astype(int)
    source = source_of_audit(np.full(2000, 0.5), y, None, clusters=patient, by={"site": site})
    here = source.subgroup("site", "few")
    assert here.n_clusters == 5
    evidence = evidence_of_curve(here, counted(here.data), SETTINGS, 2)
    assert not evidence.rejected
    alone = replace(here, clustered=None)
    assert evidence_of_curve(alone, counted(alone.data), SETTINGS, 2).rejected


def test_averages_of_subgroups_allow_for_clusters_across_bins():
    """Rows of a cluster share their luck in all bins: the interval of the average allows for that."""
    rng = np.random.default_rng(11)
    cluster = np.repeat(np.arange(15), 40)
    held = 0
    for _ in range(100):
        p = rng.beta(2, 3, 600)
        alike = norm.cdf(np.sqrt(0.2) * rng.normal(size=15)[cluster] + np.sqrt(0.8) * rng.normal(size=600))
        source = source_of_audit(p, (alike < p).astype(int), None, clusters=cluster)
        gap = evidence_of_curve(source, counted(source.data), SETTINGS, 1).average.gap
        held += gap.low <= 0 <= gap.high
    assert held >= 86  # 15 clusters are few, and the interval is that of many: 93 expected, less three standard errors


def test_certain_scores_of_a_part_have_a_gap():
    """All scores 0: the gap is that of the observed events, with an exact interval; no number is missing."""
    none = evidence_of_bins(counted([0.0] * 50, [0] * 50), 1, False).average.gap
    some = evidence_of_bins(counted([0.0] * 50, [1] * 5 + [0] * 45), 1, False).average.gap
    assert (none.value, none.low) == (0, 0)
    assert none.high == pytest.approx(-math.log(0.025) / 50)
    assert (some.low, some.high) == pytest.approx((chi2.ppf(0.025, 10) / 100, chi2.ppf(0.975, 12) / 100))
