"""`verdict`: whether the scores may be taken at face value. This module gathers the evidence; `rules` decides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from believable._check import generator, refuse_array, renamed
from believable._types import Bins, Float64s, Notion, Strategy
from believable.auditing.evidence import (
    N_QUANTILE_RANGES,
    Average,
    Bounded,
    ClusteredPairs,
    Evidence,
    is_crowded,
    ranges_of,
    slope_of,
)
from believable.auditing.neighbours import neighbours_err_together
from believable.auditing.rules import (
    FAIR_SHARE,
    PartEvidence,
    answer_of,
    class_is_wrong,
    findings_of,
    grade,
    in_order,
    rows_needed,
)
from believable.auditing.settings import AuditSettings
from believable.auditing.source import AuditSource, ClusteredRows, source_of_audit
from believable.errors import InputError
from believable.inference.cells import BinCells
from believable.inference.clusters import residuals_of_clusters, unit_of_rows
from believable.inference.interval import Interval, interval
from believable.inference.joint_test import JointTest, ScoreGroups, joint_test
from believable.inference.noise import chance_of_clusters
from believable.inference.noise_floor import noise_floor
from believable.inference.question import ask
from believable.report.verdicts import Direction, Finding, Range, Spread, Verdict
from believable.report.wording import rows_rounded_up
from believable.stats import BinStats
from believable.stats.source import TEN, UNIFORM, BinsAsked, Points, PointStats, Source, count_asked, count_points

FLOOR_DRAWS, TEST_DRAWS = 4000, 2000
RULES_LEVEL = 0.95  # of the intervals that the rules read, whatever level the caller asks for
ALPHA, LEVEL_OF_TESTS, LEVEL_OF_ECE = 0.05, 0.04, 0.01  # the last two add up to the first, since either test rejects
NEXT_TO_CERTAIN = 0.995  # higher scores make a poor example
CHANCE_OF_WRONG_RANGE = 0.05  # the probability of naming any range whose scores are right


@renamed(groups="clusters")
def verdict(
    predictions: Any,
    actuals: Any = None,
    n_bins: Bins = TEN,
    strategy: Strategy = UNIFORM,
    *,
    notion: Notion | None = None,
    pooled: bool = False,
    pairs: bool = False,
    clusters: Any = None,
    level: float = 0.95,
    random_state: Any = 0,
    sample_weight: Any = None,
) -> Verdict:
    """Answer in words whether scores may be taken at face value.

    The answer is one of five: yes; yes, as far as these data can tell; use with care; no, recalibrate first; or not
    enough data, with how much would be enough. It rests on the average, the calibration slope, ranges of scores, the
    ECE and the classes of a matrix, each with its interval; docs/audit.md has the table of rules. Nothing counts
    against the scores as a whole unless perfect calibration is rejected by several tests with a joint level of 5 %.

    The parameters are those of `expected_calibration_error`, for notions with one curve ("binary", "confidence", or
    others with pooled=True); a `Summary` instead of the rows gives the same verdict. `clusters` says which rows belong
    together (patients, queries), as in `interval`. With `pairs`, the 1-D scores are confidences in an answer, such as
    those a language model states, and the outcomes say whether it was right. `random_state` is the random seed, for
    reproducible results.

    Returns
    -------
    Verdict
        `print` it for the sentences.

    Examples
    --------
    >>> print(verdict([0.1, 0.2, 0.8, 0.9] * 50, [0, 0, 1, 1] * 50, n_bins=2))
    No, recalibrate first. When it says 85 %, it happens 100 % of the time (scores between 0.20 and 0.90, 100 rows).
    This is more than noise: a perfectly calibrated model would rarely show such differences (p < 0.005).
    Overall: average prediction 50.0 %, observed rate 50.0 %; observed / predicted 1.00 (interval 0.96 to 1.04).
    Calibration slope infinite (interval 2.91 to infinite), where 1 is best: the scores are not extreme enough.
    Scores between 0.00 and 0.20 over-predict: average prediction 15 %, observed rate 0 % (100 rows).
    ECE 0.1500, 95 % interval 0.1313 to 0.1583 (2 uniform bins). A perfectly calibrated model would show about 0.028.
    By the usual guideline for the ECE alone (below 0.05 excellent, below 0.10 good, below 0.15 moderate, otherwise
    poor): between moderate and poor.
    """
    refuse_array(n_bins, "n_bins")
    source = source_of_audit(predictions, actuals, sample_weight, clusters=clusters, pairs=pairs)
    return judge(
        source,
        AuditSettings(source.number_of_bins(n_bins), strategy, notion, pooled, source.are_pairs, level, random_state),
    )


def judge(source: AuditSource, settings: AuditSettings) -> Verdict:
    """Return the verdict on predictions that have been checked."""
    level, random_state, options = settings.level, settings.random_state, settings.options
    stats = count_asked(source.data, BinsAsked(**options), squares=True)
    if stats.view.n_strata > 1:
        raise InputError(
            "a verdict is about one curve, not {notion=}: pass pooled=True", argument="notion", notion=stats.view.notion
        )
    ends = _ece_interval(source, settings, level)
    floor = noise_floor("ece", source.data, options=options, n_resamples=FLOOR_DRAWS, random_state=random_state)
    curve = CurveRows.of(source, stats, settings)
    test = curve.tested(generator(random_state))
    by_ece = floor.p_value or 1.0
    if source.clustered is not None:
        asked = ask("ece", source.clustered.predictions, options=options)
        by_ece = max(by_ece, chance_of_clusters(asked, source.clustered.cluster, FLOOR_DRAWS, generator(random_state)))
    # Copies of rows within clusters make the ECE's own p-value too small, so the joint test alone decides.
    rejected = test.p_value <= LEVEL_OF_TESTS or (source.clustered is None and by_ece <= LEVEL_OF_ECE)
    p_value = min(test.p_value * ALPHA / LEVEL_OF_TESTS, 1.0)
    p_value = p_value if source.clustered is not None else min(p_value, by_ece * ALPHA / LEVEL_OF_ECE)
    sure = ends if level == RULES_LEVEL else _ece_interval(source, settings, RULES_LEVEL)
    evidence = curve.evidence(settings, rejected, _agreeing(sure, rejected, test))
    findings = findings_of(evidence)
    # Two classes that are judged as one event are that event and its absence: they say nothing that it does not say.
    apart = source.has_classes and stats.view.notion != "binary"
    if apart and not source.too_coarse(settings.n_bins, settings.strategy):
        wrong = class_is_wrong(evidence_of_classes(source, settings))
        findings = in_order([*findings, *([wrong] if wrong else [])])
    answer = answer_of(evidence, findings)
    needed = rows_needed(evidence, source.n) if answer in ("not enough data", "use with care") else None
    if needed is not None and source.n_clusters is not None:
        needed = rows_rounded_up(source.n_clusters * needed / source.n)
    average, slope = evidence.average, evidence.slope
    if level != RULES_LEVEL:
        average, slope = curve.average(level), curve.slope(level)[0]
    ece = _agreeing(ends, rejected, test)
    return Verdict(
        answer=answer,
        findings=tuple(findings),
        miscalibrated=rejected,
        p_value=p_value,
        ece=ends.value,
        ece_p_value=by_ece,
        estimate=ece.value,
        low=ece.low,
        high=ece.high,
        level=level,
        grade=grade(ece),
        floor=floor.mean,
        q95=floor.q95,
        n_bins=stats.per_stratum,
        strategy=stats.strategy,
        notion=stats.view.notion,
        pairs=settings.pairs,
        n=source.n,
        n_clusters=source.n_clusters,
        predicted=average.predicted,
        observed=average.observed,
        ratio=average.ratio.value,
        ratio_low=average.ratio.low,
        ratio_high=average.ratio.high,
        slope=None if slope is None else slope.value,
        slope_low=None if slope is None else slope.low,
        slope_high=None if slope is None else slope.high,
        direction=direction_of(evidence),
        spread=spread_of(evidence),
        ranges=evidence.ranges,
        typical=typical_of(evidence),
        looks_clustered=neighbours_err_together(source, stats),
        rows_needed=needed,
    )


def _ece_interval(source: AuditSource, settings: AuditSettings, level: float) -> Interval:
    return interval(
        "ece",
        source.data,
        options=settings.options,
        clusters=source.cluster,
        level=level,
        random_state=settings.random_state,
    )


def _agreeing(ends: Interval, rejected: bool, test: JointTest) -> Bounded:
    """Return the estimate of the ECE and its interval, which excludes 0 if and only if calibration is rejected.

    The lower bound that the tests imply is for the error without bins, which may be larger than the binned one.
    """
    low = max(ends.low, min(test.at_least, max(ends.estimate, ends.high / 2))) if rejected else 0.0
    return Bounded(min(max(ends.estimate, low), ends.high), low, ends.high)


def with_findings(verdict: Verdict, found: list[Finding]) -> Verdict:
    """Return the verdict with further findings, from subgroups and from recalibration."""
    if not found:
        return verdict
    findings = in_order([*verdict.findings, *found])
    return replace(verdict, findings=tuple(findings), answer=findings[0].answer)


# --- the evidence -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class CurveRows:
    """One curve of scores and outcomes: its points, the bins of its ranges, and what each cluster contributes.

    Attributes
    ----------
    points : Points
        The different scores, with the counts and sums of their outcomes.
    bins : BinStats
        The bins that ranges are made of: those of the headline, or quantile bins if one of these holds most rows.
    effective_n : ndarray or None
        How many independent rows each bin is worth; None if rows do not come in clusters.
    pairs : ClusteredPairs or None
        The rows with their clusters; None if rows do not come in clusters.
    added : sparse matrix or None
        What each cluster contributes to the gap of each interval of scores (`ScoreGroups`).
    """

    points: Points
    bins: BinStats
    effective_n: Float64s | None = None
    pairs: ClusteredPairs | None = None
    added: Any = None

    @classmethod
    def of(cls, source: AuditSource, stats: BinStats, settings: AuditSettings) -> CurveRows:
        """Gather the rows of the curve that these bins were counted from."""
        points = _one_curve(count_points(source.data, notion=stats.view.notion))
        bins = bins_of_ranges(source.data, stats, settings)
        if source.clustered is None:
            return cls(points, bins)
        rows, cluster = source.clustered
        unit, _ = unit_of_rows(cluster, len(rows), generator(settings.random_state))
        added = residuals_of_clusters(rows, stats.view, unit, ScoreGroups.of(points).last_score)
        pairs = ClusteredPairs.of(rows.all_pairs(stats.view), unit)
        return cls(points, bins, effective_rows_of_bins(source.clustered, bins), pairs, added)

    def tested(self, rng: np.random.Generator) -> JointTest:
        """Test perfect calibration by several tests at once."""
        return joint_test(self.points, LEVEL_OF_TESTS, TEST_DRAWS, rng, self.added)

    def average(self, level: float) -> Average:
        """Return the average with its interval."""
        return Average.of(self.bins, level, 1.0 if self.pairs is None else self.pairs.design_of_ratio())

    def slope(self, level: float) -> tuple[Bounded | None, float]:
        """Return the calibration slope with its interval, and how far it moves scores."""
        return slope_of(self.points, self.bins.view, level, self.pairs)

    def evidence(self, settings: AuditSettings, rejected: bool, ece: Bounded) -> Evidence:
        """Return the evidence that the rules read."""
        looked_at, wrong = ranges_of(self.bins, CHANCE_OF_WRONG_RANGE, self.effective_n)
        slope, moved = self.slope(RULES_LEVEL)
        return Evidence(
            rejected=rejected,
            about_confidence=settings.pairs or self.bins.view.notion in ("confidence", "top_label"),
            average=self.average(RULES_LEVEL),
            ranges=wrong if rejected else (),
            all_ranges=looked_at,
            slope=slope,
            moved_by_slope=moved,
            ece=ece,
        )


def bins_of_ranges(data: Source, stats: BinStats, settings: AuditSettings) -> BinStats:
    """Return the bins that ranges are made of: those of the headline, or quantile bins if one of these is crowded."""
    if not is_crowded(stats):
        return stats
    asked = settings.options | {"n_bins": N_QUANTILE_RANGES, "strategy": "quantile"}
    return count_asked(data, BinsAsked(**asked), squares=True)


def evidence_of_curve(source: AuditSource, stats: BinStats, settings: AuditSettings, tests: int) -> Evidence:
    """Return the evidence on a subgroup from its average and ranges; `tests` is the number of subgroups examined."""
    bins = bins_of_ranges(source.data, stats, settings)
    about_confidence = settings.about_confidence(source.kind)
    if source.clustered is None:
        return evidence_of_bins(bins, tests, about_confidence)
    rows, cluster = source.clustered
    design = ClusteredPairs.of(rows.all_pairs(bins.view), cluster).design_of_ratio()
    return evidence_of_bins(bins, tests, about_confidence, effective_rows_of_bins(source.clustered, bins), design)


def evidence_of_bins(
    stats: BinStats, tests: int, about_confidence: bool, effective_n: Float64s | None = None, design: float = 1.0
) -> Evidence:
    """Return the evidence from bins on one class or subgroup; `tests` is the number of those examined.

    If rows come in clusters, each bin has so many effective rows, and the variance of the average is `design` times as
    large.
    """
    alpha = CHANCE_OF_WRONG_RANGE / max(tests, 1)
    looked_at, wrong = ranges_of(stats, alpha, effective_n)
    average = Average.of(stats, 1 - alpha, design)
    rejected = bool(wrong) or not average.gap.low <= 0 <= average.gap.high
    return Evidence(rejected, about_confidence, average, wrong, looked_at)


def evidence_of_classes(source: AuditSource, settings: AuditSettings) -> list[PartEvidence]:
    """Return the evidence on each class against the rest, in the bins of the headline."""
    stats = count_asked(source.data, BinsAsked(**settings.bins, notion="classwise"), squares=True)
    worth = None if source.clustered is None else effective_rows_of_bins(source.clustered, stats)
    sums, found = source.sums, []
    for k in range(source.n_classes):
        one = stats.only_stratum(k)
        if len(one.n):
            share = float(sums.wy[k] / sums.w)
            effective, design = None, 1.0
            if source.clustered is not None and worth is not None:
                rows, cluster = source.clustered
                effective = worth[stats.stratum == k]
                design = ClusteredPairs.of(rows.column(stats.view, k), cluster).design_of_ratio()
            evidence = evidence_of_bins(one, source.n_classes, False, effective, design)
            found.append(PartEvidence(f"class {source.class_name(k)}", share, evidence))
    return found


def direction_of(evidence: Evidence) -> Direction:
    """Return the direction in which the average is wrong; "unclear" if that is uncertain."""
    gap = evidence.average.gap
    if not evidence.rejected or gap.low <= 0 <= gap.high:
        return "unclear"
    if evidence.about_confidence:
        return "over-confident" if gap.value < 0 else "under-confident"
    return "over-predicts" if gap.value < 0 else "under-predicts"


def spread_of(evidence: Evidence) -> Spread:
    """Return whether scores are too extreme or not extreme enough; "unclear" if that is uncertain."""
    slope = evidence.slope
    if not evidence.rejected or slope is None or slope.low <= 1 <= slope.high:
        return "unclear"
    return "too extreme" if slope.value < 1 else "not extreme enough"


def typical_of(evidence: Evidence) -> Range | None:
    """Choose a range to quote: the highest with a fair share of the rows whose prediction is not almost 1."""
    fair = [one for one in evidence.all_ranges if one.share >= FAIR_SHARE.care]
    open_ones = [one for one in fair if one.predicted < NEXT_TO_CERTAIN]
    return max(open_ones or fair, key=lambda one: one.predicted, default=None)


def _one_curve(points: PointStats) -> Points:
    """Return the points of all classes or ranks together, as one curve."""
    if len(points) == 1:
        return points[0]
    names = ("score", "n", "w", "wy", "w2", "w2y")
    columns = {name: np.concatenate([getattr(one, name) for one in points]) for name in names}
    order = np.argsort(columns["score"], kind="stable")
    return Points(**{name: column[order] for name, column in columns.items()})


def effective_rows_of_bins(clustered: ClusteredRows, stats: BinStats) -> Float64s:
    r"""Return the number of independent rows that tell as much about the rate of each occupied bin.

    .. math:: n_b = \frac{q (1 - q)}{V_b}, \quad
              V_b = \frac{G}{G - 1} \frac{\sum_c (\sum_{i \in c, b} w_i (y_i - q))^2}{(\sum_{i \in b} w_i)^2}

    with q the rate of the bin and G the number of its clusters. It is at most the number without clusters; if all
    outcomes of a bin are the same, or it holds one cluster, it is the number of its clusters.
    """
    predictions, cluster = clustered
    score, outcome, weight, stratum, _ = predictions.all_pairs(stats.view)
    entry = BinCells.of(stats).locate(score, stratum)
    unit = np.repeat(cluster, len(score) // len(cluster))
    w = np.ones(len(score)) if weight is None else weight
    key, at = np.unique(unit * len(stats.n) + entry, return_inverse=True)
    bin_of_key = key % len(stats.n)
    residual = np.bincount(at, w * (outcome - stats.acc[entry]))
    clusters = np.bincount(bin_of_key, minlength=len(stats.n))
    squares = np.bincount(bin_of_key, residual**2, len(stats.n))
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = squares / stats.w**2 * (clusters / (clusters - 1))
        rows = stats.acc * (1 - stats.acc) / variance
    alike = (squares < 1e-12 * stats.w**2) | (clusters < 2)
    return np.asarray(np.clip(np.where(alike, clusters, rows), 1, stats.effective_n))
