"""Gates: limits on the metrics of an audit, so that a job can fail if the scores are not good enough."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from believable.errors import InputError

if TYPE_CHECKING:
    from believable._types import Kind
    from believable.metrics import Metric
    from believable.report import Audit
    from believable.report.parts import Measured

End = Literal["low", "high", "value"]
ENDS: dict[End, str] = {"low": "lower end of the", "high": "upper end of the", "value": "value"}


@dataclass(frozen=True, slots=True)
class Gate:
    """A limit on a metric, or on one end of its interval.

    Attributes
    ----------
    name : str
        The alias of the metric.
    end : {"low", "high", "value"}
        What is compared with the limit: an end of the interval, or the value.
    limit : float
    above : bool
        Whether numbers above the limit fail (--fail-above), or those below it (--fail-below).
    """

    name: str
    end: End
    limit: float
    above: bool

    @classmethod
    def of(cls, text: str, above: bool) -> Gate:
        """Read "ece=0.1", "ece.low=0.1" or "ece.value=0.1".

        By default the worse end of the interval is compared, so that the gate passes only if the data show that the
        metric keeps the limit.
        """
        option = "--fail-above" if above else "--fail-below"
        name, equals, number = text.partition("=")
        if not equals:
            raise InputError(f"{option} takes NAME=LIMIT, such as {'ece=0.1' if above else 'auc=0.8'}, got {text!r}")
        name, dot, end = name.strip().rpartition(".") if "." in name else (name.strip(), "", "")
        if dot and end not in ENDS:
            raise InputError(f"{option} {text}: write .low, .high or .value after the metric, not .{end}")
        row = find(name, f"{option} {text}")
        if row.direction == ("higher" if above else "lower"):
            other, better = ("--fail-below", "higher") if above else ("--fail-above", "lower")
            raise InputError(f"{option} {text}: {better} {row.alias} is better, so use {other} {text}")
        limit = _limit(number, row, f"{option} {text}")
        default: End = "high" if above else "low"
        return cls(row.alias, end if dot else default, limit, above)  # type: ignore[arg-type]

    def __str__(self) -> str:
        end = "" if self.end == ("high" if self.above else "low") else f".{self.end}"
        return f"--fail-{'above' if self.above else 'below'} {self.name}{end}={self.limit:g}"

    def refuse_kind(self, kind: Kind) -> None:
        """Raise if an audit of such predictions does not measure this metric."""
        from believable.auditing.measure import AUDITED_DISCRIMINATION, AUDITED_ERRORS, AUDITED_SCORES

        measured = (*AUDITED_ERRORS[kind], *AUDITED_SCORES, *AUDITED_DISCRIMINATION)
        if self.name not in measured:
            what = {"binary": "one score per row", "multiclass": "a score for each class"}.get(kind, "labels")
            raise InputError(
                f"{self}: with {what}, an audit does not measure {self.name}; choose one of {', '.join(measured)}"
            )

    def result(self, audit: Audit) -> Result:
        """Compare the audit with the limit."""
        try:
            measured = audit[self.name]
        except KeyError:
            raise InputError(f"{self}: {self.name} is not defined for these predictions") from None
        found = {"low": measured.low, "high": measured.high, "value": measured.value}[self.end]
        if found is None:
            why = f" ({measured.note})" if measured.note else ""
            raise InputError(
                f"{self}: {self.name} has no interval here{why}; to compare its value, write {self.name}.value="
                f"{self.limit:g}"
            )
        kept = found <= self.limit if self.above else found >= self.limit
        return Result(self, measured, found, audit.verdict.level, kept)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a gate; as text, it says what was compared with the limit."""

    gate: Gate
    measured: Measured
    found: float
    level: float
    kept: bool

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
            f"{'passed' if self.kept else 'FAILED'}: {gate.name} {side} {gate.limit:g}: the {ENDS[gate.end]}{interval} "
            f"is {self.found:.4f}, {'not ' if self.kept else ''}{beyond} {gate.limit:g}{value}{bins}"
        )


def gates_of(fail_above: Iterable[str], fail_below: Iterable[str]) -> list[Gate]:
    """Return the gates of --fail-above and --fail-below."""
    return [*(Gate.of(text, True) for text in fail_above), *(Gate.of(text, False) for text in fail_below)]


def find(name: str, where: str) -> Metric:
    """Return a metric by any of its names in the library or in reports; the error suggests a similar one."""
    from believable.metrics import METRICS
    from believable.metrics.table import instead_of, known_metric, plain_metric_name
    from believable.report.wording import long_name, short_name

    if (found := known_metric(name)) is not None:
        return found
    in_reports: dict[str, Metric] = {}
    for row in METRICS.values():
        for called in (long_name(row.alias, row.name), short_name(row.alias, row.name)):
            in_reports.setdefault(plain_metric_name(called), row)
    if plain_metric_name(name) in in_reports:
        return in_reports[plain_metric_name(name)]
    raise InputError(
        f"{where}: there is no metric {name!r}{instead_of(name, in_reports)}; `believable metrics` lists them"
    )


def _limit(number: str, row: Metric, where: str) -> float:
    try:
        limit = float(number)
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit):
        raise InputError(f"{where}: the limit must be a number, got {number!r}")
    if not row.low <= limit <= row.high:
        percent = f"; for {limit:g} %, write {limit / 100:g}" if row.high == 1 and 1 < limit <= 100 else ""
        raise InputError(
            f"{where}: {row.alias} lies in [{row.low:g}, {row.high:g}], so {limit:g} cannot be its limit{percent}"
        )
    return limit
