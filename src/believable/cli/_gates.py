"""The gates of the command line: --fail-above, --fail-below and --fail-on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from believable.errors import InputError

if TYPE_CHECKING:
    from believable.auditing.gates import AnswerGate, Gate
    from believable.report.verdicts import Answer

# Words without spaces, and none that YAML reads as false.
FAIL_ON: dict[str, Answer] = {
    "recalibrate": "no, recalibrate first",
    "care": "use with care",
    "not-enough-data": "not enough data",
}


def gate_of(text: str, above: bool) -> Gate:
    """Read "ece=0.1", "ece.low=0.1" or "ece.value=0.1"."""
    from believable.auditing.gates import ENDS, Gate
    from believable.report.metric_names import find

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
    return Gate.of(row, end if dot else None, number, above, f"{option} {text}")  # type: ignore[arg-type]


def gates_of(fail_above: Iterable[str], fail_below: Iterable[str]) -> list[Gate]:
    """Return the gates of --fail-above and --fail-below."""
    return [*(gate_of(text, True) for text in fail_above), *(gate_of(text, False) for text in fail_below)]


def answer_gate_of(fail_on: Iterable[str]) -> AnswerGate | None:
    """Return the gate of --fail-on; None if no answer fails. Whatever fails on "Use with care" fails on "No" too."""
    from believable.auditing.gates import GOOD_ANSWERS, MILDER, AnswerGate

    failing = {FAIL_ON[word] for word in fail_on}
    if not failing:
        return None
    failing |= {worse for worse, milder in MILDER.items() if failing & {*milder}}
    return AnswerGate(frozenset({*GOOD_ANSWERS, *FAIL_ON.values()}) - failing)
