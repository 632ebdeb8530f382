"""Gates: limits on what an audit found, for a job that must fail when the scores are not good enough."""

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
        The metric's alias.
    end : {"low", "high", "value"}
        What is compared: an end of the interval, or the value.
    limit : float
    above : bool
        Whether being above it fails (--fail-above), or being below it (--fail-below).
    """

    name: str
    end: End
    limit: float
    above: bool

    @classmethod
    def of(cls, text: str, above: bool) -> Gate:
        """Read "ece=0.1", "ece.low=0.1" or "ece.value=0.1".

        Unless an end is named, what is compared is the end that has the gate fail unless the data show that the metric
        keeps the limit.
        """
        option = "--fail-above" if above else "--fail-below"
        name, equals, number = text.partition("=")
        if not equals:
            raise InputError(f"{option} takes NAME=LIMIT, such as {'ece=0.1' if above else 'auc=0.8'}, got {text!r}")
        name, dot, end = name.strip().rpartition(".") if "." in name else (name.strip(), "", "")
        if dot and end not in ENDS:
            raise InputError(f"{option} {text}: after the point comes low, high or value, not {end!r}")
        row = find(name, f"{option} {text}")
        if row.direction == ("higher" if above else "lower"):
            other, best = ("--fail-below", "high") if above else ("--fail-above", "low")
            raise InputError(f"{option} {text}: {row.alias} is best {best}, so use {other} {text}")
        limit = _limit(number, row, f"{option} {text}")
        default: End = "high" if above else "low"
        return cls(row.alias, end if dot else default, limit, above)  # type: ignore[arg-type]

    def __str__(self) -> str:
        end = "" if self.end == ("high" if self.above else "low") else f".{self.end}"
        return f"--fail-{'above' if self.above else 'below'} {self.name}{end}={self.limit:g}"

    def refuse_kind(self, kind: Kind) -> None:
        """An error where an audit of such predictions does not measure this."""
        from believable.auditing.measure import AUDITED_DISCRIMINATION, AUDITED_ERRORS, AUDITED_SCORES

        measured = (*AUDITED_ERRORS[kind], *AUDITED_SCORES, *AUDITED_DISCRIMINATION)
        if self.name not in measured:
            what = {"binary": "one score per row", "multiclass": "a score for each class"}.get(kind, "labels")
            raise InputError(f"{self}: with {what} an audit does not measure {self.name}; it has {', '.join(measured)}")

    def result(self, audit: Audit) -> Result:
        """Whether the audit keeps the limit."""
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
    """What became of a gate; its text says which end was compared, and with what."""

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
            value += " (chance adds to it)"
        return (
            f"{'passed' if self.kept else 'FAILED'}: {gate.name} {side} {gate.limit:g}: the {ENDS[gate.end]}{interval} "
            f"is {self.found:.4f}, {'not ' if self.kept else ''}{beyond} {gate.limit:g}{value}{bins}"
        )


def gates_of(fail_above: Iterable[str], fail_below: Iterable[str]) -> list[Gate]:
    """The gates asked for; an error where one cannot be read."""
    return [*(Gate.of(text, True) for text in fail_above), *(Gate.of(text, False) for text in fail_below)]


def find(name: str, where: str) -> Metric:
    """A metric by any name that the library or a report has for it; an error that suggests one like it."""
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
        raise InputError(f"{where}: {row.alias} lies in [{row.low:g}, {row.high:g}], so no limit is {limit:g}{percent}")
    return limit
