"""An audit as plain text, for a terminal or a log."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

from believable.report.parts import (
    SMALLEST_COMPARISON_P,
    FoundSegment,
    Measured,
    Part,
    SegmentFix,
    SegmentSearch,
    Versus,
)
from believable.report.wording import digits_apart, percents, shown, signed

if TYPE_CHECKING:
    from believable.report.document import Audit

FAMILY_HEADINGS = {"calibration": "Calibration", "score": "Proper scores", "discrimination": "Discrimination"}
MAX_NAME_LENGTH_IN_TEXT = 60
A_CONSTANT_IS_CALIBRATED = (
    "Calibration is not everything: always predicting the base rate is perfectly calibrated, but cannot distinguish "
    "cases."
)
VALUE_ABOVE_INTERVAL = "Noise adds to an error, so its value may lie above the interval of the true error."
INFINITE_LOG_LOSS = "Infinite: a probability of exactly 0 or 1 was wrong."
MORE_THAN_FITS = "There is more to say: see the full report."
MAX_LINES_IN_SHORT = 24
SEGMENTS_TITLE = "Segments that differ from the other rows"
MAX_SEGMENTS_IN_SHORT = 3


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the text report: a table, sentences, or both.

    Attributes
    ----------
    title : str
        The heading; "" for none.
    rows : sequence of rows of cells
        The table, heading row first.
    lines : sequence of str
        The sentences below the table.
    listed : bool
        Whether the sentences are printed as list items.
    """

    title: str = ""
    rows: Sequence[Sequence[str]] = ()
    lines: Sequence[str] = ()
    listed: bool = False

    @property
    def to_the_right(self) -> tuple[bool, ...]:
        """For each column, whether it holds numbers and is therefore right-aligned."""
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
    """Put text from outside on one line, without characters that move a terminal's cursor or change its colours."""
    return "".join(letter if letter.isprintable() else "�" for letter in " ".join(words.split()))


def terminal_columns(words: str) -> int:
    """Return how many columns of a terminal a text takes: wide letters take two, accents none."""
    return sum(2 if east_asian_width(letter) in "WF" else not combining(letter) for letter in words)


def shortened(name: str) -> str:
    """Shorten a name to fit into a table."""
    return name if len(name) <= MAX_NAME_LENGTH_IN_TEXT else f"{name[: MAX_NAME_LENGTH_IN_TEXT - 1]}…"


def as_text(audit: Audit, *, full: bool = True) -> str:
    """Return the text report, most important section first; without `full`, in at most 24 lines."""
    return "\n\n".join(str(section) for section in (sections(audit) if full else short_sections(audit)))


def short_sections(audit: Audit) -> list[Section]:
    """Return the answer, the evidence, what to do and what to keep in mind, in at most 24 lines."""
    made = [*_first_sections(audit), *_last_sections(audit)]
    if audit.versus:
        made.insert(3 if audit.advice else 2, Section(f"Compared with {audit.other}", lines=_compared(audit)))
    if audit.segments is not None:
        made.insert(3 if audit.advice else 2, Section(SEGMENTS_TITLE, lines=_segments_in_short(audit.segments)))
    left = MAX_LINES_IN_SHORT
    kept: list[Section] = []
    for section in made:
        available = left - bool(kept) - bool(section.title)  # less an empty line between sections, and the title
        if available < 1:
            break
        fits = len(section.lines) <= available
        lines = section.lines if fits else [*section.lines[: available - 1], MORE_THAN_FITS]
        kept.append(replace(section, lines=lines))
        left = available - len(lines)
    return kept


def _segments_in_short(search: SegmentSearch) -> list[str]:
    """Return a line for each of the surest segments, or that there are none."""
    if not search.found:
        return [search.in_words]
    lines = [_segment_in_short(one) for one in search.found[:MAX_SEGMENTS_IN_SHORT]]
    more = len(search.found) - len(lines)
    return [*lines, f"and {more} more: see the full report."] if more else lines


def _segment_in_short(one: FoundSegment) -> str:
    rows = f"{one.n:,} {'row' if one.n == 1 else 'rows'}"
    return f"{shortened(one.name)} ({rows}): {one.in_words}."


def _first_sections(audit: Audit) -> Iterator[Section]:
    yield Section(lines=opening(audit))
    yield Section(lines=audit.verdict.lines())
    if audit.advice:
        yield Section(
            "What to do", lines=[*audit.advice, *([f"Run: {audit.command}"] if audit.command else [])], listed=True
        )


def _last_sections(audit: Audit) -> Iterator[Section]:
    if audit.caveats:
        yield Section("Keep in mind", lines=audit.caveats, listed=True)
    if audit.notes:
        yield Section("Notes", lines=audit.notes, listed=True)


def sections(audit: Audit) -> Iterator[Section]:
    """Yield all sections of the text report, in order."""
    yield from _first_sections(audit)
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
        yield Section(f"Classes, the worst first{shown_of}", part_rows(audit.parts))
    if audit.segments is not None:
        yield segments_section(audit.segments)
    if audit.subgroups:
        yield Section("Subgroups", part_rows(audit.subgroups))
    if audit.fix is not None or audit.no_fix:
        yield fix_section(audit)
    if audit.segment_fix is not None:
        yield segment_fix_section(audit.segment_fix)
    if audit.versus:
        title = f"Compared with {audit.other} (difference: this model minus the other; {audit.verdict.bins})"
        yield Section(title, versus_rows(audit.versus), _compared(audit))
    yield from _last_sections(audit)


def _compared(audit: Audit) -> list[str]:
    return [one.in_words(audit.title or "This model", audit.other) for one in audit.versus]


def opening(audit: Audit) -> list[str]:
    """Return the first lines: what was audited."""
    what = f"{audit.title}: " if audit.title else ""
    clusters = "" if audit.n_clusters is None else f" in {audit.n_clusters:,} clusters"
    first = f"{what}{audit.n:,} {'row' if audit.n == 1 else 'rows'}{clusters}"
    if audit.weighted:
        first += f", worth {audit.effective_n:,.0f} rows of equal weight"
    if audit.kind == "binary":
        what = "accuracy" if audit.pairs else "observed rate"
        first += f"; {what} {percents(audit.rates[0], least=1)[0]}"
    elif audit.kind == "multiclass":
        k = max(range(len(audit.rates)), key=audit.rates.__getitem__)
        share = percents(audit.rates[k])[0]
        first += f"; {len(audit.classes)} classes, the most frequent {audit.classes[k]} with {share}"
    else:
        first += f"; {len(audit.classes)} labels, independent of each other"
    return [first, *([f"Columns: {audit.taken}"] if audit.taken else [])]


def metric_rows(rows: Sequence[Measured], of: bool) -> list[list[str]]:
    """Return the table of metrics, heading row first."""
    expected = "if calibrated" if all(one.family == "score" for one in rows) else "noise floor"
    table = [["", "value", "interval", expected, "95 % below", *(["of"] if of else []), "bins"]]
    for one in rows:
        digits, ends = _ends(one.low, one.high)
        floor, most = (shown(value) if value is not None else "" for value in (one.floor, one.q95))
        extra = [one.notion.replace("_", " ")] if of else []
        table.append([one.title, shown(one.value, digits), ends, floor, most, *extra, one.bins.removesuffix(" bins")])
    return _without_empty(table)


def table_rows(audit: Audit) -> list[list[str]]:
    """Return the reliability table, heading row first."""
    table = [["scores", "rows", "predicted", "observed", "interval", ""]]
    for i, one in enumerate(audit.table):
        row = [f"{'[' if i == 0 else '('}{one.start:.4g}, {one.end:.4g}]", f"{one.n:,}"]
        if one.conf is None or one.acc is None or one.low is None or one.high is None:
            table.append([*row, "", "", "", ""])
            continue
        digits, ends = _ends(one.low, one.high)
        way = audit.verdict.way_of(one)
        table.append([*row, shown(one.conf, digits), shown(one.acc, digits), ends, way])
    return table


def part_rows(parts: Sequence[Part]) -> list[list[str]]:
    """Return the table of classes or subgroups, heading row first."""
    table = [["", "rows", "predicted", "observed", "ECE", "interval", "noise floor", ""]]
    for part in parts:
        name = shortened(f"{part.column} = {part.name}" if part.column else part.name)
        digits, ends = _ends(part.low, part.high)
        numbers = [shown(part.mean_score), shown(part.rate), shown(part.ece, digits), ends, shown(part.floor)]
        table.append([name, f"{part.n:,}", *numbers, part.direction if part.flagged else part.note])
    return table


def segments_section(search: SegmentSearch) -> Section:
    """Return the section on segments that differ from the other rows."""
    if not search.found:
        return Section(SEGMENTS_TITLE, lines=[search.in_words, *search.notes])
    table = [["", "rows", "predicted", "observed", "elsewhere", "gap", "interval", "adjusted p", ""]]
    for one in search.found:
        rates = (shown(value) for value in (one.mean_score, one.rate, one.expected))
        ends = f"{signed(one.low)} … {signed(one.high)}"
        chance = f"{one.adjusted:.2g}"
        table.append([shortened(one.name), f"{one.n:,}", *rates, signed(one.gap), ends, chance, one.way])
    return Section(SEGMENTS_TITLE, table, [search.in_words, *search.notes])


def fix_section(audit: Audit) -> Section:
    """Return the section on recalibration: what was tried, and what is recommended."""
    fix = audit.fix
    if fix is None:
        return Section(lines=[f"No recalibration was tried: {audit.no_fix}"])
    by_segment = audit.segment_fix
    lines = [fix.rows, fix.advice if by_segment is None else by_segment.beside(fix.advice)]
    if fix.refinement:
        lines.append(f"{fix.refinement[0].upper()}{fix.refinement[1:]}.")
    if any(math.isinf(one.log_loss) for one in fix.tried):
        lines.append(INFINITE_LOG_LOSS)
    return Section("Recalibration, out of fold", tried_rows(audit), lines)


def segment_fix_section(fix: SegmentFix) -> Section:
    """Return the section on what maps by segment gain."""
    table = [["", "rows", f"{fix.score}, one map", "by segment", "gain", "interval"]]
    for one in fix.segments:
        digits, ends = _ends(one.gain_low, one.gain_high)
        losses = (shown(one.before), shown(one.after), shown(one.gain, digits))
        table.append([shortened(one.name), f"{one.n:,}", *losses, ends])
    return Section("Recalibration by segment, out of fold", table if fix.segments else [], [fix.in_words])


def tried_rows(audit: Audit) -> list[list[str]]:
    """Return the table of recalibrators that were tried, heading row first."""
    assert audit.fix is not None
    table = [["", "log loss", "Brier", "ECE", f"gain in {audit.fix.score}", ""]]
    for one in audit.fix.tried:
        gain = f"{shown(one.gain)} ({shown(one.gain_low)} … {shown(one.gain_high)})" if math.isfinite(one.gain) else ""
        gain = "" if one.name == "nothing" else gain
        numbers = [shown(one.log_loss), shown(one.brier), shown(one.ece), gain]
        table.append([one.name, *numbers, "recommended" if one.chosen and one.name != "nothing" else ""])
    return table


def versus_rows(found: Sequence[Versus], a: str = "this", b: str = "other") -> list[list[str]]:
    """Return the table that compares two models, heading row first."""
    table = [["", a, b, "difference", "interval", "p"]]
    for one in found:
        ends = f"{shown(one.low)} … {shown(one.high)}"
        numbers = [shown(one.value), shown(one.other), signed(one.difference), ends, _p_value(one.p_value)]
        table.append([one.title, *numbers])
    return table


def _ends(low: float | None, high: float | None) -> tuple[int, str]:
    """Return how many digits after the point the ends of an interval need, and the interval written with them."""
    if low is None or high is None:
        return 4, ""
    digits = digits_apart(low, high)
    return digits, f"{shown(low, digits)} … {shown(high, digits)}"


def _p_value(p: float) -> str:
    """Write a p-value; the smallest one that a finite number of draws can give is only an upper bound."""
    return f"< {p:.1g}" if p <= SMALLEST_COMPARISON_P else f"{p:.2g}"


def _is_number(cell: str) -> bool:
    """Whether a cell holds numbers and nothing else."""
    return re.fullmatch(r"[-+–<\d.,…e() ]*", cell.replace("infinite", "")) is not None


def _without_empty(rows: list[list[str]]) -> list[list[str]]:
    """Remove the columns that are empty below the heading."""
    kept = [i for i in range(len(rows[0])) if i == 0 or any(row[i] for row in rows[1:])]
    return [[row[i] for i in kept] for row in rows]
