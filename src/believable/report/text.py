"""An audit as plain text, for a terminal or a log."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

from believable.report.parts import SMALLEST_COMPARISON_P, Measured, Part, Versus
from believable.report.wording import digits_apart, shown, signed

if TYPE_CHECKING:
    from believable.report.document import Audit

FAMILY_HEADINGS = {"calibration": "Calibration", "score": "Proper scores", "discrimination": "Discrimination"}
MAX_NAME_LENGTH_IN_TEXT = 60
A_CONSTANT_IS_CALIBRATED = (
    "Calibration is not everything: a constant at the base rate is perfectly calibrated, and tells nobody from anybody."
)
VALUE_ABOVE_INTERVAL = "Chance adds to an error, so a value may lie above the interval of the true one."
INFINITE_LOG_LOSS = "Infinite: a probability of exactly 0 or 1 was wrong."


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the text: a table, sentences, or both.

    Attributes
    ----------
    title : str
        "" where it needs none.
    rows : sequence of rows of cells
        A table, heading first.
    lines : sequence of str
        Sentences below it.
    listed : bool
        Whether the sentences are points of a list.
    """

    title: str = ""
    rows: Sequence[Sequence[str]] = ()
    lines: Sequence[str] = ()
    listed: bool = False

    @property
    def to_the_right(self) -> tuple[bool, ...]:
        """Which columns of the table are numbers."""
        return tuple(
            i > 0 and all(map(_is_number, column[1:])) for i, column in enumerate(zip(*self.rows, strict=True))
        )

    def __str__(self) -> str:
        title = [one_line(self.title)] if self.title else []
        lines = [f"{'- ' if self.listed else ''}{one_line(line)}" for line in self.lines]
        return "\n".join([*title, *self._aligned(), *lines])

    def _aligned(self) -> list[str]:
        rows = [[one_line(cell) for cell in row] for row in self.rows]
        widths = [max(map(terminal_columns, column)) for column in zip(*rows, strict=True)]
        return [
            "  ".join(
                f"{' ' * (width - terminal_columns(cell))}{cell}"
                if right
                else f"{cell}{' ' * (width - terminal_columns(cell))}"
                for cell, width, right in zip(row, widths, self.to_the_right, strict=True)
            ).rstrip()
            for row in rows
        ]


def one_line(words: str) -> str:
    """Text from outside on one line, without characters that move a terminal's cursor or change its colours."""
    return "".join(letter if letter.isprintable() else "�" for letter in " ".join(words.split()))


def terminal_columns(words: str) -> int:
    """How many columns of a terminal a text takes: wide letters take two, accents none."""
    return sum(2 if east_asian_width(letter) in "WF" else not combining(letter) for letter in words)


def shortened(name: str) -> str:
    """A name that fits into a table."""
    return name if len(name) <= MAX_NAME_LENGTH_IN_TEXT else f"{name[: MAX_NAME_LENGTH_IN_TEXT - 1]}…"


def as_text(audit: Audit) -> str:
    """Section by section, the most important first."""
    return "\n\n".join(str(section) for section in sections(audit))


def sections(audit: Audit) -> Iterator[Section]:
    """What there is to say, in order."""
    yield Section(lines=opening(audit))
    yield Section(lines=[*audit.verdict.lines(), *([audit.exception] if audit.exception else [])])
    if audit.advice:
        yield Section("What to do", lines=audit.advice, listed=True)
    for family, heading in FAMILY_HEADINGS.items():
        rows = [one for one in audit.metrics if one.family == family]
        if rows:
            of = audit.kind != "binary" and family == "calibration"
            above = any(one.high is not None and one.value > one.high for one in rows)
            said = [f"{one.title}: {one.note}." for one in rows if one.low is None and one.note]
            said += (
                [A_CONSTANT_IS_CALIBRATED] if family == "discrimination" else [VALUE_ABOVE_INTERVAL] if above else []
            )
            yield Section(heading, metric_rows(rows, of), said)
    yield Section(f"Reliability ({audit.verdict.bins})", table_rows(audit))
    if audit.parts:
        shown_of = "" if len(audit.parts) == audit.n_parts else f", the worst {len(audit.parts)} of {audit.n_parts:,}"
        yield Section(f"Classes, the most surely bad first{shown_of}", part_rows(audit.parts))
    if audit.subgroups:
        yield Section("Subgroups", part_rows(audit.subgroups))
    if audit.fix is not None or audit.no_fix:
        yield fix_section(audit)
    if audit.versus:
        said = [one.in_words(audit.title or "This model", audit.other) for one in audit.versus]
        title = f"Compared with {audit.other} (this less other, {audit.verdict.bins})"
        yield Section(title, versus_rows(audit.versus), said)
    if audit.caveats:
        yield Section("Keep in mind", lines=audit.caveats, listed=True)
    if audit.notes:
        yield Section("Notes", lines=audit.notes, listed=True)


def opening(audit: Audit) -> list[str]:
    """What was audited."""
    what = f"{audit.title}: " if audit.title else ""
    clusters = "" if audit.n_clusters is None else f" in {audit.n_clusters:,} clusters"
    first = f"{what}{audit.n:,} {'row' if audit.n == 1 else 'rows'}{clusters}" + (
        f"; took {audit.taken}" if audit.taken else ""
    )
    lines = [first]
    if audit.weighted:
        lines.append(f"Weighted: they tell as much as {audit.effective_n:,.0f} rows of equal weight")
    if audit.kind == "binary":
        what = "The answer is right" if audit.pairs else "It happens"
        share = {0.0: "none", 1.0: "all"}.get(audit.rates[0], f"{100 * audit.rates[0]:.4g} %")
        lines.append(f"{what} in {share} of them")
    elif audit.kind == "multiclass":
        k = max(range(len(audit.rates)), key=audit.rates.__getitem__)
        lines.append(
            f"{len(audit.classes)} classes, the most frequent {audit.classes[k]} with {100 * audit.rates[k]:.4g} %"
        )
    else:
        lines.append(f"{len(audit.classes)} labels, independent of each other")
    return lines


def metric_rows(rows: Sequence[Measured], of: bool) -> list[list[str]]:
    """A table of metrics, heading first."""
    table = [["", "value", "interval", "by chance", "up to", *(["of"] if of else []), "bins"]]
    for one in rows:
        digits, ends = _ends(one.low, one.high)
        floor, most = (shown(value) if value is not None else "" for value in (one.floor, one.q95))
        extra = [one.notion.replace("_", " ")] if of else []
        table.append([one.title, shown(one.value, digits), ends, floor, most, *extra, one.bins.removesuffix(" bins")])
    return _without_empty(table)


def table_rows(audit: Audit) -> list[list[str]]:
    """The reliability table, heading first."""
    table = [["scores", "rows", "predicted", "happened", "interval", ""]]
    for i, one in enumerate(audit.table):
        row = [f"{'[' if i == 0 else '('}{one.start:.4g}, {one.end:.4g}]", f"{one.n:,}"]
        if one.conf is None or one.low is None or one.high is None:
            table.append([*row, "", "", "", ""])
            continue
        off = audit.verdict.beyond_chance and (one.conf < one.low or one.conf > one.high)
        digits, ends = _ends(one.low, one.high)
        table.append([*row, shown(one.conf, digits), shown(one.acc, digits), ends, "off" if off else ""])
    return table


def part_rows(parts: Sequence[Part]) -> list[list[str]]:
    """Classes or subgroups, heading first."""
    table = [["", "rows", "predicted", "happened", "ECE", "interval", "by chance", ""]]
    for part in parts:
        name = shortened(f"{part.column} = {part.name}" if part.column else part.name)
        digits, ends = _ends(part.low, part.high)
        says = part.direction if part.flagged else part.note
        numbers = [shown(part.mean_score), shown(part.rate), shown(part.ece, digits), ends, shown(part.floor)]
        table.append([name, f"{part.n:,}", *numbers, f"off: {says}" if part.flagged else says])
    return table


def fix_section(audit: Audit) -> Section:
    """What was tried, and what is recommended."""
    fix = audit.fix
    if fix is None:
        return Section(lines=[f"Recalibration: none was tried, {audit.no_fix}"])
    lines = [fix.rows, fix.advice]
    if fix.refinement:
        lines.append(f"{fix.refinement[0].upper()}{fix.refinement[1:]}.")
    if any(math.isinf(one.log_loss) for one in fix.tried):
        lines.append(INFINITE_LOG_LOSS)
    return Section("Recalibration, out of fold", tried_rows(audit), lines)


def tried_rows(audit: Audit) -> list[list[str]]:
    """The leaderboard, heading first."""
    assert audit.fix is not None
    table = [["", "log loss", "Brier", "ECE", "gain in log loss", ""]]
    for one in audit.fix.tried:
        gain = f"{shown(one.gain)} ({shown(one.gain_low)} … {shown(one.gain_high)})" if math.isfinite(one.gain) else ""
        gain = "" if one.name == "nothing" else gain
        numbers = [shown(one.log_loss), shown(one.brier), shown(one.ece), gain]
        table.append([one.name, *numbers, "recommended" if one.chosen and one.name != "nothing" else ""])
    return table


def versus_rows(found: Sequence[Versus], a: str = "this", b: str = "other") -> list[list[str]]:
    """A comparison of two models, heading first."""
    table = [["", a, b, "difference", "interval", "p"]]
    for one in found:
        ends = f"{shown(one.low)} … {shown(one.high)}"
        numbers = [shown(one.value), shown(one.other), signed(one.difference), ends, _p_value(one.p_value)]
        table.append([one.title, *numbers])
    return table


def _ends(low: float | None, high: float | None) -> tuple[int, str]:
    """An interval, and the digits after the point that it takes to tell its ends apart."""
    if low is None or high is None:
        return 4, ""
    digits = digits_apart(low, high)
    return digits, f"{shown(low, digits)} … {shown(high, digits)}"


def _p_value(p: float) -> str:
    """The smallest that so many draws can give is an upper bound."""
    return f"< {p:.1g}" if p <= SMALLEST_COMPARISON_P else f"{p:.2g}"


def _is_number(cell: str) -> bool:
    """Whether a cell holds numbers and nothing else."""
    return re.fullmatch(r"[-+–<\d.,…e() ]*", cell.replace("infinite", "")) is not None


def _without_empty(rows: list[list[str]]) -> list[list[str]]:
    """The columns that hold anything."""
    kept = [i for i in range(len(rows[0])) if i == 0 or any(row[i] for row in rows[1:])]
    return [[row[i] for i in kept] for row in rows]
