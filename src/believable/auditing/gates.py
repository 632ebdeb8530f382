"""Gates: limits on the answer and the metrics of an audit, so that a test or a job fails if the scores are too bad.

The command line reads them from options (`cli/_gates.py`), tests from keyword arguments (`believable.testing`). Both
pass the limit as they were given it, so that errors quote it in the caller's own words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from believable.errors import InputError, Limit

if TYPE_CHECKING:
    from believable._types import Kind
    from believable.metrics import Metric
    from believable.report.parts import Measured
    from believable.report.verdicts import Answer, Verdict

End = Literal["low", "high", "value"]
ENDS: dict[End, str] = {"low": "lower end of the", "high": "upper end of the", "value": "value"}
GOOD_ANSWERS: tuple[Answer, ...] = ("yes", "yes, as far as these data can tell")
MILDER: dict[Answer, tuple[Answer, ...]] = {"no, recalibrate first": ("use with care",)}


# --- the answer -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnswerGate:
    """Which answers of a verdict pass.

    Attributes
    ----------
    passing : frozenset of str
        The answers that pass.
    """

    passing: frozenset[Answer]

    def result(self, verdict: Verdict) -> AnswerResult:
        """Compare the verdict with the answers that pass."""
        return AnswerResult(verdict, verdict.answer in self.passing)


@dataclass(frozen=True, slots=True)
class AnswerResult:
    """The result of a gate on the answer."""

    verdict: Verdict
    kept: bool

    name = "the answer"

    def __str__(self) -> str:
        return f'{"passed" if self.kept else "FAILED"}: the answer is "{self.verdict.label}"'


# --- metrics ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Gate:
    """A limit on a metric, or on one end of its interval.

    Attributes
    ----------
    metric : str
        The alias of the metric.
    end : {"low", "high", "value"}
        What is compared with the limit: an end of the interval, or the value.
    limit : float
    above : bool
        Whether numbers above the limit fail, or those below it.
    """

    metric: str
    end: End
    limit: float
    above: bool

    @classmethod
    def of(cls, row: Metric, end: End | None, limit: Any, above: bool, where: str) -> Gate:
        """Check a limit; `where` is what the caller wrote, for messages.

        By default the worse end of the interval is compared, so that the gate passes only if the data show that the
        metric keeps the limit.
        """
        try:
            number = float(limit)
        except (TypeError, ValueError):
            number = float("nan")
        if not isfinite(number) or isinstance(limit, (bool, np.bool_)):
            raise InputError(f"{where}: the limit must be a number, got {limit!r}")
        if not row.low <= number <= row.high:
            percent = f"; for {number:g} %, write {number / 100:g}" if row.high == 1 and 1 < number <= 100 else ""
            raise InputError(
                f"{where}: {row.alias} lies in [{row.low:g}, {row.high:g}], so {number:g} cannot be its limit{percent}"
            )
        return cls(row.alias, end or ("high" if above else "low"), number, above)

    @property
    def name(self) -> str:
        """What the gate demands, such as "ece at most 0.1"."""
        end = "" if self.end == ("high" if self.above else "low") else f" ({ENDS[self.end].removesuffix(' of the')})"
        return f"{self.metric} at {'most' if self.above else 'least'} {self.limit:.15g}{end}"

    @property
    def asked(self) -> Limit:
        """The limit as a value that messages phrase in the words of their reader."""
        worse = self.end == ("high" if self.above else "low")
        return Limit(self.metric, "" if worse else self.end, self.limit, self.above)

    def refuse_kind(self, kind: Kind) -> None:
        """Raise if an audit of such predictions does not measure this metric."""
        from believable.auditing.measure import AUDITED_DISCRIMINATION, AUDITED_ERRORS, AUDITED_SCORES

        measured = (*AUDITED_ERRORS[kind], *AUDITED_SCORES, *AUDITED_DISCRIMINATION)
        if self.metric not in measured:
            what = {"binary": "one score per row", "multiclass": "a score for each class"}.get(kind, "labels")
            raise InputError(
                "{gate}: with {what}, an audit does not measure {metric}; choose one of {measured}",
                gate=self.asked,
                what=what,
                metric=self.metric,
                measured=list(measured),
            )

    def result(self, measured_as: Callable[[str], Measured], level: float) -> GateResult:
        """Compare a metric with the limit.

        Parameters
        ----------
        measured_as : callable
            Returns a metric by its alias, or raises KeyError if it is not defined, like `Audit.__getitem__`.
        level : float
            The confidence level of the intervals.
        """
        try:
            measured = measured_as(self.metric)
        except KeyError:
            raise InputError(
                "{gate}: {metric} is not defined for these predictions", gate=self.asked, metric=self.metric
            ) from None
        found = {"low": measured.low, "high": measured.high, "value": measured.value}[self.end]
        if found is None:
            raise InputError(
                "{gate}: {metric} has no interval here{why}; to compare its value, write {by_value}",
                gate=self.asked,
                metric=self.metric,
                why=f" ({measured.note})" if measured.note else "",
                by_value=self.asked._replace(end="value"),
            )
        return GateResult(self, measured, found, level, self.keeps(found))

    def keeps(self, number: float) -> bool:
        """Return whether a number is on the right side of the limit."""
        return number <= self.limit if self.above else number >= self.limit


@dataclass(frozen=True, slots=True)
class GateResult:
    """The result of a gate; as text, it says what was compared with the limit."""

    gate: Gate
    measured: Measured
    found: float
    level: float
    kept: bool

    @property
    def name(self) -> str:
        """What the gate demands."""
        return self.gate.name

    def _found(self) -> str:
        """Return the number with four decimals, or with as many more as show on which side of the limit it is."""
        texts = (f"{self.found:.{digits}f}" for digits in range(4, 17))
        return next((one for one in texts if self.gate.keeps(float(one)) == self.kept), repr(self.found))

    def __str__(self) -> str:
        gate = self.gate
        interval = "" if gate.end == "value" else f" {100 * self.level:.4g} % interval"
        side = "at most" if gate.above else "at least"
        beyond = "above" if gate.above else "below"
        bins = f", {self.measured.bins}" if self.measured.bins else ""
        value = "" if gate.end == "value" else f"; its value is {self.measured.value:.4f}"
        if self.measured.high is not None and self.measured.value > self.measured.high:
            value += " (which includes noise)"
        return (
            f"{'passed' if self.kept else 'FAILED'}: {gate.metric} {side} {gate.limit:.15g}: the {ENDS[gate.end]}"
            f"{interval} is {self._found()}, {'not ' if self.kept else ''}{beyond} {gate.limit:.15g}{value}{bins}"
        )


Result = AnswerResult | GateResult
