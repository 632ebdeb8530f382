"""Advice and caveats: one function per rule, in the order they are printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from believable.auditing.source import AuditSource
from believable.report.parts import Fix, Measured, Part, SegmentFix, SegmentSearch
from believable.report.verdicts import Verdict
from believable.report.wording import in_series, percents, rows_rounded_up
from believable.stats import BinStats

MANY_EMPTY_BINS = 0.4  # if this share of uniform bins is empty, quantile bins are suggested
FEWEST_EXPECTED_IN_BIN = 5  # events, and non-events, that a bin must expect to be informative
SHARE_IN_SPARSE_BINS = 0.05  # of the weight: with less than this in uninformative bins, nothing is said about them
SEEN_TO_THE_ENDS = (0.03, 0.97)  # if scores reach beyond both, there are data at both ends
UNEVEN_WEIGHTS = 2.0  # the design effect: the number of rows over the effective number of rows
FEWEST_CLUSTERS = 10
# With few rows per class, intervals of the class-wise error contain the true error too rarely.
FEWEST_ROWS_PER_CLASS = 30
FLOAT32_SLACK = 1e-4  # of the second digit: the decimal that a float32 rounds is not rounded again
NEARLY_CONSTANT = 0.01  # scores with a smaller standard deviation hardly differ; events with a smaller rate are rare
ON_OTHER_ROWS = "on labelled rows that the model was not trained on"
MAP_FROM_COUNTS = "GroupedRecalibrator().fit_from_statistics fits one to counts of believable.engines.segment_stats."
ROWS_THAT_SHOW_EVERYTHING = 100_000  # with so many, even the smallest error is statistically significant


@dataclass(frozen=True, slots=True, eq=False)
class AuditFacts:
    """The results of an audit that the rules of advice read."""

    source: AuditSource
    stats: BinStats
    verdict: Verdict
    metrics: Mapping[str, Measured]
    fix: Fix | None
    parts: tuple[Part, ...]
    subgroups: tuple[Part, ...]
    search: SegmentSearch | None
    segment_fix: SegmentFix | None
    dropped: Mapping[str, int]


def advice(facts: AuditFacts) -> tuple[str, ...]:
    """Say what to do, the most useful first."""
    rules = [_more_data, _recalibrate, _worst_subgroup, _wrong_classes, _name_clusters, _quantile_bins]
    found, fix = facts.search is not None and facts.search.found, facts.segment_fix
    # The command that is printed below corrects segments if a map by segment is sure to help; otherwise all rows alike.
    if facts.verdict.is_about_a_subgroup or (found and (_is_fine(facts.verdict) or (fix is not None and fix.is_sure))):
        rules.insert(0, rules.pop(rules.index(_worst_subgroup)))
    return tuple(sentence for rule in rules if (sentence := rule(facts)))


def caveats(facts: AuditFacts) -> tuple[str, ...]:
    """Say what to keep in mind when reading the numbers."""
    rules = (
        _dropped,
        _few_per_bin,
        _few_per_class,
        _never_seen,
        _heaped,
        _infinite_log_loss,
        _weights,
        _clusters,
        _constant,
        _large,
    )
    return tuple(sentence for rule in rules if (sentence := rule(facts)))


# --- advice -----------------------------------------------------------------------------------------------------------


def _more_data(facts: AuditFacts) -> str:
    needed = facts.verdict.needed
    if facts.verdict.answer == "not enough data":  # the headline says how much would do
        return "Collect more labelled data, then audit again."
    return f"Collect more labelled data: about {needed} would tell good calibration from poor." if needed else ""


def _is_fine(verdict: Verdict) -> bool:
    return verdict.answer not in ("use with care", "no, recalibrate first")


def _recalibrate(facts: AuditFacts) -> str:
    verdict, fix = facts.verdict, facts.fix
    wrong = not _is_fine(verdict)
    if fix is None:
        return f"Recalibrate the scores {ON_OTHER_ROWS}." if wrong and not verdict.is_about_a_subgroup else ""
    if fix.chosen == "nothing" and wrong:
        return f"Recalibrating all rows alike would not clearly lower the {fix.score}."
    if facts.segment_fix is not None and facts.segment_fix.is_sure:  # the command then fits maps by segment
        return facts.segment_fix.beside(fix.advice)
    if fix.chosen == "nothing":
        return fix.advice
    return fix.advice if wrong else f"Recalibration is optional. {fix.advice}"


def _worst_subgroup(facts: AuditFacts) -> str:
    """Name the surest segment that differs, or else the worst miscalibrated subgroup.

    If all rows together are miscalibrated, a subgroup is named that is certainly worse.
    """
    verdict = facts.verdict
    found = () if facts.search is None else facts.search.found
    if verdict.is_about_a_subgroup:
        about = verdict.findings[0].about
        if facts.segment_fix is None:
            rows = "" if facts.fix is not None else f", {ON_OTHER_ROWS}"
            how = f" {MAP_FROM_COUNTS}" if facts.source.counted_in_cells else ""
            return f"Recalibrate by segment{rows}: {about} needs a calibration map of its own.{how}"
        what = "Recalibrate by segment." if facts.segment_fix.is_sure else f"Look at {about} by itself."
        return f"{what}{_gain_in(about, facts.segment_fix)}"
    if found:
        others = f" {len(found)} segments differ; this one is the clearest." if len(found) > 1 else ""
        gain = _gain_in(found[0].name, facts.segment_fix)
        return f"Look at {found[0].name} by itself: {found[0].in_words}.{others}{gain}"
    least = verdict.high if verdict.miscalibrated else 0.0
    flagged = [part for part in facts.subgroups if part.flagged and (part.low or 0) > least]
    if not flagged:
        wrong = sum(part.flagged for part in facts.subgroups)
        return f"{wrong} subgroups are miscalibrated, as the whole is; none stands out." if wrong > 1 else ""
    worst = max(flagged, key=lambda part: part.low or 0)
    others = f" It is the worst of {len(flagged)} miscalibrated subgroups." if len(flagged) > 1 else ""
    gain = _gain_in(f"{worst.column} = {worst.name}", facts.segment_fix)
    return f"Look at {worst.column} = {worst.name} by itself: it {worst.in_words}.{others}{gain}"


def _gain_in(name: str, fix: SegmentFix | None) -> str:
    """Say by how much maps by segment lower the loss of a segment, and of all rows."""
    if fix is None:
        return ""
    gain = next((one for one in fix.segments if one.name == name), None)
    if gain is None or not gain.gain_low > 0:
        return f" {fix.in_words}"
    ends = f"{percents(fix.level)[0]} interval {gain.gain_low:.4f} to {gain.gain_high:.4f}"
    return (
        f" A calibration map that depends on {in_series(fix.columns)} lowers the {fix.score} of the rows with {name} "
        f"from {gain.before:.4f} to {gain.after:.4f} (gain {gain.gain:.4f}, {ends})."
    )


def _wrong_classes(facts: AuditFacts) -> str:
    flagged = [part for part in facts.parts if part.flagged]
    if not flagged:
        return ""
    names = ", ".join(part.name for part in flagged[:3])
    more = f" and {len(flagged) - 3} more" if len(flagged) > 3 else ""
    return f"Check the classes whose probabilities are miscalibrated, the worst first: {names}{more}."


def _name_clusters(facts: AuditFacts) -> str:
    if not facts.verdict.looks_clustered:
        return ""
    return "Name the clusters that rows come in (clusters=): neighbouring rows err together."


def _quantile_bins(facts: AuditFacts) -> str:
    stats = facts.stats
    empty = stats.per_stratum - len(stats.n)
    if stats.strategy != "uniform" or stats.per_stratum < 5 or empty < MANY_EMPTY_BINS * stats.per_stratum:
        return ""
    return f"{empty} of {stats.per_stratum} uniform bins are empty: look at quantile bins too."


# --- caveats ----------------------------------------------------------------------------------------------------------


def _dropped(facts: AuditFacts) -> str:
    counted = {reason: n for reason, n in facts.dropped.items() if n}
    if not counted:
        return ""
    return "Rows left out: " + ", ".join(f"{n:,} ({reason})" for reason, n in counted.items()) + "."


def _few_per_bin(facts: AuditFacts) -> str:
    """Count the bins that expect fewer than five events, or fewer than five non-events."""
    stats = facts.stats
    conf, size = stats.conf, stats.effective_n
    expected = size * np.minimum(conf, 1 - conf)
    fewest = FEWEST_EXPECTED_IN_BIN
    sparse = expected < fewest
    if not sparse.any() or facts.verdict.answer == "not enough data":
        return ""
    share = float(stats.w[sparse].sum() / stats.w.sum())
    if share < SHARE_IN_SPARSE_BINS:
        return ""
    worst = float(np.median(expected[sparse]))
    needed = facts.source.n * fewest / worst if worst > 0 else math.inf
    more = f"; about {rows_rounded_up(needed):,} rows would help" if needed < 1e9 else ""
    return (
        f"{np.count_nonzero(sparse)} of {len(stats.n)} bins, with {100 * share:.0f} % of the rows, expect fewer than "
        f"{fewest} events or fewer than {fewest} non-events, so they say little{more}."
    )


def _few_per_class(facts: AuditFacts) -> str:
    n, n_classes = facts.source.n, facts.source.n_classes
    if facts.source.kind != "multiclass" or n >= FEWEST_ROWS_PER_CLASS * n_classes:
        return ""
    rows = f"{n:,} {'row is' if n == 1 else 'rows are'}"
    return (
        f"{rows} few for {n_classes:,} classes: class-wise and top-label errors are mostly noise, and their "
        "intervals are too narrow."
    )


def _never_seen(facts: AuditFacts) -> str:
    """Warn if no score comes near 0, or near 1: nothing is known there."""
    if facts.source.kind != "binary":
        return ""
    lowest, highest = facts.source.score_range()
    if lowest < SEEN_TO_THE_ENDS[0] and highest > SEEN_TO_THE_ENDS[1]:
        return ""
    below, above = _rounded_away(lowest, math.floor), _rounded_away(highest, math.ceil)
    if lowest == highest:
        return f"All scores are {below:.2g}: nothing is known about other scores."
    if lowest < SEEN_TO_THE_ENDS[0]:
        return f"No score is above {above:.2g}: nothing is known about higher scores."
    if highest > SEEN_TO_THE_ENDS[1]:
        return f"No score is below {below:.2g}: nothing is known about lower scores."
    return f"All scores lie between {below:.2g} and {above:.2g}: nothing is known about scores outside that range."


def _rounded_away(score: float, way: Callable[[Decimal], int]) -> float:
    """Round to two significant digits, outwards, so that no score lies beyond."""
    exact = Decimal(score)  # a power of ten in floating point overflows for the smallest scores
    digits = exact.scaleb(1 - exact.adjusted())
    nearest = round(digits)
    rounded = nearest if abs(digits - nearest) < FLOAT32_SLACK else way(digits)
    return float(Decimal(rounded).scaleb(exact.adjusted() - 1))


def _heaped(facts: AuditFacts) -> str:
    found = facts.source.heaps()
    return "" if found is None else f"{found} Equal scores always stay in one bin."


def _infinite_log_loss(facts: AuditFacts) -> str:
    loss = facts.metrics.get("nll")
    if loss is None or math.isfinite(loss.value):
        return ""
    return "A probability of exactly 0 or 1 was wrong, so the log loss is infinite. Compare models by the Brier score."


def _weights(facts: AuditFacts) -> str:
    n = facts.source.n
    if n < UNEVEN_WEIGHTS * facts.source.effective_n:
        return ""
    return f"The weights are uneven: {n:,} rows are worth {facts.source.effective_n:,.0f} rows of equal weight."


def _clusters(facts: AuditFacts) -> str:
    n = facts.source.n_clusters
    if n is None:
        return ""
    few = " With so few clusters the intervals are rough." if n < FEWEST_CLUSTERS else ""
    return (
        f"Rows come in {n:,} clusters. The intervals and the verdict allow for that; noise floors treat rows as "
        f"independent.{few}"
    )


def _constant(facts: AuditFacts) -> str:
    sums = facts.source.sums
    if sums.kind != "binary" or math.sqrt(float(sums.deviation[0] / sums.w)) > NEARLY_CONSTANT:
        return ""
    rate = float(sums.wy[0] / sums.w)
    if min(rate, 1 - rate) < NEARLY_CONSTANT:  # scores of rare events are all small, so a small spread is normal
        return ""
    return (
        "The scores hardly differ from each other. A constant can be well calibrated, but it cannot distinguish cases."
    )


def _large(facts: AuditFacts) -> str:
    verdict = facts.verdict
    if facts.source.n < ROWS_THAT_SHOW_EVERYTHING or not verdict.miscalibrated or verdict.ece >= 0.01:
        return ""
    return "With so many rows even the smallest error is statistically significant: judge it by its size."
