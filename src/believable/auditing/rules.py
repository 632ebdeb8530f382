"""The rules of a verdict: one function for each reason not to take scores at face value.

An error triggers an answer if its estimate reaches a limit and the near end of its interval reaches half of that limit:
then the scores are certainly wrong, and by about that much. docs/audit.md has the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from believable.auditing.evidence import Bounded, Evidence
from believable.report.parts import Fix
from believable.report.verdicts import ECE_GUIDELINE, Alarm, Answer, Finding, Grade, Range, bounded, grade_of
from believable.report.wording import percents, rows_rounded_up


class Limits(NamedTuple):
    """The sizes from which an error calls for care, and for recalibration."""

    care: float
    no: float


class Small(NamedTuple):
    """The sizes that the intervals of gap, ratio and slope must stay below for the answer "yes"."""

    gap: float
    ratio: float
    slope: float


AVERAGE_GAP = Limits(0.05, 0.1)
AVERAGE_FACTOR = Limits(1.15, 1.25)
SLOPE_FACTOR = Limits(1.25, 1.5)  # below or above 1
ECE = Limits(ECE_GUIDELINE[0][1], ECE_GUIDELINE[1][1])
GAIN = Limits(0.02, 0.1)  # in log loss, as a share of it
RANGE_GAP, RANGE_FACTOR = 0.1, 1.25
FAIR_SHARE = Limits(0.05, 0.2)  # shares of the rows that lie in wrong ranges
MOST_ROWS = 0.5  # the share of the rows that belong to wrong classes
SHARE_OF_RATE = Limits(0.05, 0.2)  # a factor counts only if the gap is this share of the rate of the rarer outcome
TRIVIAL_MOVE = 0.005  # if correcting the slope moves scores by less on average, the slope does not matter
SMALL = Small(AVERAGE_GAP.care, AVERAGE_FACTOR.no, SLOPE_FACTOR.no)  # if perfect calibration is not rejected
SURELY_SMALL = Small(0.04, 1.12, 1.18)  # if it is rejected
WIDEST_FACTOR = 1.5  # the data must rule out this factor between observed and predicted rate to say anything


def findings_of(evidence: Evidence) -> list[Finding]:
    """Return the findings against one curve, the most serious first."""
    if not evidence.rejected:
        return []
    rules: tuple[Callable[[Evidence], Finding | None], ...] = (
        average_is_wrong,
        range_is_wrong,
        slope_is_wrong,
        ece_is_large,
    )
    return in_order(finding for rule in rules if (finding := rule(evidence)) is not None)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings, the most serious first, otherwise in the order of the rules."""
    return sorted(findings, key=lambda finding: finding.answer != "no, recalibrate first")


# --- one curve --------------------------------------------------------------------------------------------------------


def average_is_wrong(evidence: Evidence) -> Finding | None:
    """Check whether average prediction and observed rate differ by 0.05 or a factor 1.15 (care), 0.1 or 1.25 (no)."""
    average = evidence.average
    gap = Bounded(abs(average.gap.value), abs(average.gap.nearest_to(0)), math.inf)
    factor = _factor(evidence)
    answer = _worse(_asked(gap, AVERAGE_GAP), _asked_factor(factor, AVERAGE_FACTOR))
    if answer is None:
        return None
    predicted, observed = percents(average.predicted, average.observed)
    if evidence.about_confidence:
        words = f"On average it is {predicted} confident, but right {observed} of the time"
    elif factor is not None and abs(average.gap.value) < AVERAGE_GAP.care and average.observed <= 0.5:
        over = average.predicted > average.observed
        times = _over(average.predicted, average.observed) if over else average.ratio.value
        how = "too high" if over else "too low"
        words = (
            f"On average the scores are {how} by a factor of {times:.2g}: it says {predicted}, and it happens "
            f"{observed} of the time"
        )
    else:
        words = f"On average it says {predicted}, but it happens {observed} of the time"
    ratio = bounded(average.ratio.value, average.ratio.low, average.ratio.high)
    what = "accuracy / confidence" if evidence.about_confidence else "observed / predicted"
    return Finding("average", answer, f"{words}; {what} {ratio}.")


def range_is_wrong(evidence: Evidence) -> Finding | None:
    """Check whether ranges that are wrong by 0.1 or a factor of 1.25 hold 5 % of the rows (care), or 20 % (no)."""
    wrong = [one for one in evidence.ranges if _is_wrong(one, evidence, SHARE_OF_RATE.care)]
    if sum(one.share for one in wrong) < FAIR_SHARE.care:
        return None
    worst = max(wrong, key=lambda one: one.share * abs(one.predicted - one.observed))
    rows = f"{worst.n:,} {'row' if worst.n == 1 else 'rows'}"
    where = worst.where(evidence.about_confidence)
    words = f"{worst.example(evidence.about_confidence)} ({where}, {rows})."
    share = sum(one.share for one in wrong if _is_wrong(one, evidence, SHARE_OF_RATE.no))
    return Finding("range", "no, recalibrate first" if share >= FAIR_SHARE.no else "use with care", words)


def slope_is_wrong(evidence: Evidence) -> Finding | None:
    """Check whether the calibration slope is outside 0.8 to 1.25 (care), or outside 0.67 to 1.5 (no)."""
    slope = evidence.slope
    if slope is None or evidence.moved_by_slope < min(TRIVIAL_MOVE, SHARE_OF_RATE.care * evidence.rarer_rate):
        return None
    flat = slope.value < 1
    nearest = slope.nearest_to(1)
    factor, sure = (_over(1, slope.value), _over(1, nearest)) if flat else (slope.value, nearest)
    answer = _asked_factor(Bounded(factor, sure, math.inf), SLOPE_FACTOR)
    if answer is None:
        return None
    what = "confidences" if evidence.about_confidence else "scores"
    how = "too extreme" if flat else "not extreme enough"
    found = f"calibration slope {bounded(slope.value, slope.low, slope.high)}, where 1 is best"
    return Finding("slope", answer, f"The {what} are {how}: {found}.")


def ece_is_large(evidence: Evidence) -> Finding | None:
    """Check whether the ECE is above 0.05 (care), or above 0.10 (no)."""
    answer = None if evidence.ece is None else _asked(evidence.ece, ECE)
    if answer is None or evidence.ece is None:
        return None
    what = "confidences differ from the accuracy" if evidence.about_confidence else "scores differ from the rate"
    size = percents(evidence.ece.value)[0].removesuffix(" %")
    return Finding("ece", answer, f"On average the {what} observed by {size} percentage points (ECE).")


def grade(ece: Bounded) -> Grade | None:
    """Return the guideline's word for an ECE; None if its interval contains a limit of the guideline."""
    low, high = grade_of(ece.low), grade_of(ece.high)
    return low if low == high else None


# --- classes, subgroups and recalibration -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class PartEvidence:
    """A class or a subgroup: its name in words, its share of the rows, and the evidence on it."""

    name: str
    share: float
    evidence: Evidence


def class_is_wrong(parts: Sequence[PartEvidence]) -> Finding | None:
    """Check whether a class is wrong enough to call for recalibration (care), or classes with most rows are (no)."""
    return _part_is_wrong("class", parts, f"of {len(parts)} classes need recalibration")


def subgroup_is_wrong(parts: Sequence[PartEvidence], total: int) -> Finding | None:
    """Check whether a subgroup, out of a total, is wrong enough to call for recalibration (care)."""
    found = _part_is_wrong("subgroup", parts, f"of {total} subgroups need recalibration")
    return None if found is None else replace(found, answer="use with care")


def segment_is_wrong(parts: Sequence[PartEvidence]) -> Finding | None:
    """Check whether a segment, out of those that a search found, is wrong enough to call for recalibration (care)."""
    found = _part_is_wrong("subgroup", parts, f"of {len(parts)} segments found need recalibration")
    return None if found is None else replace(found, answer="use with care")


def calls_for_recalibration(evidence: Evidence) -> Finding | None:
    """What calls for recalibration of a class or subgroup, the first of it."""
    return next((one for one in findings_of(evidence) if one.answer == "no, recalibrate first"), None)


def _part_is_wrong(rule: str, parts: Sequence[PartEvidence], others: str) -> Finding | None:
    found = ((part, calls_for_recalibration(part.evidence)) for part in parts)
    wrong = [(part, finding) for part, finding in found if finding is not None]
    if not wrong:
        return None
    part, finding = max(wrong, key=lambda one: one[0].share)
    more = f" ({len(wrong)} {others})" if len(wrong) > 1 else ""
    words = f"For {part.name}, {finding.words[0].lower()}{finding.words[1:].removesuffix('.')}{more}."
    most = sum(part.share for part, _ in wrong) >= MOST_ROWS
    return Finding(rule, "no, recalibrate first" if most else "use with care", words, part.name)


def recalibration_gains(fix: Fix | None) -> Finding | None:
    """Check whether recalibration lowers the log loss (Brier score if that is infinite) by 2 % (care), or 10 % (no)."""
    if fix is None or not fix.changes:
        return None
    change = next((one for one in fix.changes if one.name == fix.score), None)
    if change is None or not math.isfinite(change.before) or change.before <= 0:
        return None
    gain, sure = change.gain / change.before, change.gain_low / change.before
    answer = _asked(Bounded(gain, sure, math.inf), GAIN)
    if answer is None:
        return None
    (size,) = percents(gain)
    return Finding("gain", answer, f"Recalibration lowers the {change.name} by {size} on held-out rows.")


# --- the answer -------------------------------------------------------------------------------------------------------


def answer_of(evidence: Evidence, findings: Sequence[Finding]) -> Answer:
    """Return one of the five answers."""
    if findings:
        return findings[0].answer
    if evidence.rejected:
        return "yes" if is_surely_small(evidence) else "use with care"
    if has_too_little_data(evidence):
        return "not enough data"
    return "yes" if is_surely_small(evidence) else "yes, as far as these data can tell"


def is_surely_small(evidence: Evidence) -> bool:
    """Return whether the data rule out what would call for care: in the ECE, the average, the slope and the ranges."""
    average, slope, ece = evidence.average, evidence.slope, evidence.ece
    wrong = [one for one in evidence.ranges if abs(one.predicted - one.observed) >= RANGE_GAP / 2]
    if sum(one.share for one in wrong) >= FAIR_SHARE.care:
        return False
    limits = SURELY_SMALL if evidence.rejected else SMALL
    if ece is not None and ece.high >= ECE.care:
        return False
    if max(abs(average.gap.low), abs(average.gap.high)) >= limits.gap:
        return False
    ratio = None if evidence.about_confidence else average.rarer
    if ratio is not None and not 1 / limits.ratio < ratio.low <= ratio.high < limits.ratio:
        return False
    return slope is None or 1 / limits.slope < slope.low <= slope.high < limits.slope


def has_too_little_data(evidence: Evidence) -> bool:
    """Return whether the ECE may be anything from excellent to moderate, or the average wrong by a factor of 1.5."""
    ece, ratio = evidence.ece, None if evidence.about_confidence else evidence.average.rarer
    if ece is not None and ece.low < ECE.care and ece.high >= ECE.no:
        return True
    return ratio is not None and (ratio.low < 1 / WIDEST_FACTOR or ratio.high > WIDEST_FACTOR)


def rows_needed(evidence: Evidence, n: int) -> int | None:
    """Return about how many rows would tell good calibration from poor; None if these do.

    The width of intervals falls with the square root of the number of rows. The interval of the ECE must become
    narrower than 0.05; that of the observed over the predicted rate must lie within a factor of 1.25.
    """
    ece, ratio = evidence.ece, None if evidence.about_confidence else evidence.average.rarer
    if not has_too_little_data(evidence):
        return None
    times = [1.0]
    if ece is not None and ece.low < ECE.care and ece.high >= ECE.no:
        times.append(((ece.high - ece.low) / ECE.care) ** 2)
    if ratio is not None and (ratio.low < 1 / WIDEST_FACTOR or ratio.high > WIDEST_FACTOR):
        low, high = max(ratio.low, 0.01 * ratio.high), ratio.high
        if 0 < low < high < math.inf:
            times.append((math.log(high / low) / (2 * math.log(AVERAGE_FACTOR.no))) ** 2)
    return rows_rounded_up(n * max(times))


# --- sizes ------------------------------------------------------------------------------------------------------------


def _asked(error: Bounded, limits: Limits) -> Alarm | None:
    """Return the answer for an error whose estimate reaches a limit, and the near end of its interval half of it."""
    if error.value >= limits.no and error.low >= limits.no / 2:
        return "no, recalibrate first"
    return "use with care" if error.value >= limits.care and error.low >= limits.care / 2 else None


def _asked_factor(factor: Bounded | None, limits: Limits) -> Alarm | None:
    """Return the same for a factor, of which only the excess over 1 counts."""
    if factor is None:
        return None
    return _asked(Bounded(factor.value - 1, factor.low - 1, math.inf), Limits(limits.care - 1, limits.no - 1))


def _worse(*answers: Alarm | None) -> Alarm | None:
    if "no, recalibrate first" in answers:
        return "no, recalibrate first"
    return "use with care" if "use with care" in answers else None


def _factor(evidence: Evidence) -> Bounded | None:
    """Return the factor, at least 1, by which the rarer outcome is wrong; None for confidences and trivial gaps."""
    found = evidence.average.rarer
    if evidence.about_confidence or abs(evidence.average.gap.value) < SHARE_OF_RATE.care * evidence.rarer_rate:
        return None
    near = found.nearest_to(1)
    if found.value >= 1:
        return Bounded(found.value, near, math.inf)
    return Bounded(_over(1, found.value), _over(1, near), math.inf)


def _is_wrong(one: Range, evidence: Evidence, share_of_rate: float) -> bool:
    """Return whether a range is certainly wrong, by about 0.1 or a factor of 1.25 in the rate of the rarer outcome."""
    gap = abs(one.predicted - one.observed)
    if gap >= RANGE_GAP and one.least >= RANGE_GAP / 2:
        return True
    if evidence.about_confidence or gap < share_of_rate * evidence.rarer_rate:
        return False
    predicted, observed = one.predicted, one.observed
    if evidence.average.observed > 0.5:
        predicted, observed = 1 - predicted, 1 - observed
    near = predicted + math.copysign(one.least, observed - predicted)
    factor, sure = (
        max(_over(predicted, observed), _over(observed, predicted)),
        max(_over(predicted, near), _over(near, predicted)),
    )
    return factor >= RANGE_FACTOR and sure - 1 >= (RANGE_FACTOR - 1) / 2


def _over(a: float, b: float) -> float:
    return a / b if b > 0 else math.inf if a > 0 else 1.0
