"""The tables of the page. Every cell carries the value that its column is sorted by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from believable.metrics import find_metric
from believable.recalibrate.facts import ALIASES, in_words
from believable.report.document import Audit
from believable.report.html.explanations import why
from believable.report.html.svg import bar, scale_of
from believable.report.html.words import (
    chance,
    compared_chance,
    count,
    name,
    number,
    percent,
    share,
    span,
    span_of_shares,
    text,
)
from believable.report.parts import Part, SegmentFix, SegmentSearch
from believable.report.wording import short_name

NOTIONS_IN_TABLE = {
    "binary": "the event",
    "confidence": "the predicted class",
    "top_label": "the predicted class, by class",
    "classwise": "each class",
}
MARKS_OF_DIRECTIONS = {
    "over-predicts": ("▼", "high"),
    "over-confident": ("▼", "high"),
    "under-predicts": ("▲", "low"),
    "under-confident": ("▲", "low"),
}
MARKS_OF_SEGMENTS = {"over-predicted": ("▼", "high"), "under-predicted": ("▲", "low")}
FAMILIES_IN_TABLE = {
    "calibration": "calibration",
    "score": "calibration and discrimination",
    "discrimination": "discrimination",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, whether it holds numbers, and the explanation behind its question mark."""

    title: str
    numbers: bool = True
    why: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell shows (HTML), and what it is sorted by."""

    shown: str
    by: float | str | None = None
    css: str = ""


def of_number(value: float | None) -> Cell:
    """A cell with a number."""
    return Cell(number(value), value)


def of_share(value: float | None) -> Cell:
    """A cell with an average prediction or an observed rate."""
    return Cell(share(value), value)


def of_count(value: float) -> Cell:
    """A cell with a number of rows."""
    return Cell(count(value), value)


def of_words(words: str) -> Cell:
    """A cell with words of our own."""
    return Cell(text(words), words, "words")


def table(caption: str, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], key: str = "") -> str:
    """A table that the page can sort."""
    head = "".join(
        f'<th scope="col"{"" if column.numbers else " class=left"}><span class="t">{text(column.title)}</span> '
        f"{why(column.why, column.title) if column.why else ''}</th>"
        for column in columns
    )
    body = "".join(f"<tr>{''.join(_cell(cell, i) for i, cell in enumerate(row))}</tr>" for row in rows)
    mark = f' id="{key}"' if key else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(caption)}"><table class="sortable"{mark}>'
        f"<caption><span>{text(caption)}</span></caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(cell: Cell, column: int) -> str:
    by = cell.by
    if isinstance(by, float):
        by = None if math.isnan(by) else f"{by:.9g}".replace("inf", "Infinity")
    by = "" if by is None else f' data-v="{text(by)}"'
    css = f' class="{cell.css}"' if cell.css else ""
    return f'<th scope="row"{by}{css}>{cell.shown}</th>' if column == 0 else f"<td{by}{css}>{cell.shown}</td>"


# --- the tables of an audit -------------------------------------------------------------------------------------------


def metrics_table(audit: Audit) -> str:
    """The table of all metrics."""
    level = percent(audit.verdict.level)
    columns = (
        Column("Number", False),
        Column("Value"),
        Column(f"{level} interval", why="interval"),
        Column("Noise floor", why="floor"),
        Column("95th percentile of noise"),
        Column("p", why="p"),
        Column("Best value"),
        Column("Bins", False),
        Column("About", False),
    )
    rows = []
    for one in audit.metrics:
        title = short_name(one.alias, one.name)
        note = f'<small class="note">{text(one.note)}</small>' if one.note else ""
        rows.append(
            (
                Cell(f"{text(title)} {why(one.alias, title)}{note}", title, "name"),
                of_number(one.value),
                Cell(span(one.low, one.high), one.low),
                of_number(one.floor),
                of_number(one.q95),
                Cell(chance(one.p_value), one.p_value),
                Cell("–" if one.best is None else f"{one.best:g}", one.best),
                of_words(one.bins),
                of_words(
                    NOTIONS_IN_TABLE.get(one.notion) or one.notion.replace("_", " ") or FAMILIES_IN_TABLE[one.family]
                ),
            )
        )
    return table("Every number, with its interval and its noise floor", columns, rows)


def parts_table(parts: Sequence[Part], what: str, caption: str, bins: str, level: float) -> str:
    """The table of classes or subgroups: which way they are miscalibrated, and by how much."""
    groups = any(part.column for part in parts)
    scale = scale_of([bound for part in parts for bound in (part.ece, part.high, part.floor)])
    columns = [
        Column(what, False),
        Column("Rows"),
        Column("Average prediction", why="mean"),
        Column("Observed rate", why="base"),
        Column("ECE", why="ece"),
        Column(f"ECE from 0 to {scale[1]:g}", False, why="floor"),
        Column(f"{percent(level)} interval", why="interval"),
        Column("Noise floor"),
        Column("Adjusted p", why="p"),
        Column("Reading", False),
    ]
    if groups:
        columns.append(Column("Detectable", why="detectable"))
    rows = []
    for part in parts:
        label = f"{part.column} = {part.name}" if part.column else part.name
        shown = f"{name(part.column)} = {name(part.name)}" if part.column else name(part.name)
        if part.note:
            shown += f'<small class="note">{text(part.note)}</small>'
        row = [
            Cell(shown, label, "name"),
            of_count(part.n),
            of_share(part.mean_score),
            of_share(part.rate),
            of_number(part.ece),
            Cell(bar(part.ece, part.low, part.high, part.floor, None, scale), part.ece, "bars"),
            Cell(span(part.low, part.high), part.low),
            of_number(part.floor),
            Cell(chance(part.adjusted), part.adjusted),
            Cell(_way(part), f"{0 if part.flagged else 1} {part.direction}", "words"),
        ]
        if groups:
            row.append(of_number(part.detectable))
        rows.append(row)
    return table(f"{caption} ECE in {bins}.", columns, rows)


def segments_table(search: SegmentSearch) -> str:
    """The table of segments that differ: their rates, those of other rows with the same scores, and the difference."""
    end = scale_of([abs(bound) for one in search.found for bound in (one.gap, one.low, one.high)])[1]
    scale = (-end, end)
    columns = (
        Column("Segment", False),
        Column("Rows"),
        Column("Average prediction", why="mean"),
        Column("Observed rate", why="base"),
        Column("Rate elsewhere", why="elsewhere"),
        Column("Gap"),
        Column(f"Gap from −{end:g} to {end:g}", False),
        Column(f"{percent(search.level)} interval", why="interval"),
        Column("Adjusted p", why="different"),
        Column("Reading", False),
    )
    rows = []
    for one in search.found:
        shown = " and ".join(f"{name(column)} = {name(level)}" for column, level in one.where.items())
        mark, css = MARKS_OF_SEGMENTS.get(one.direction, ("◆", ""))
        rows.append(
            (
                Cell(shown, one.name, "name"),
                of_count(one.n),
                of_share(one.mean_score),
                of_share(one.rate),
                of_share(one.expected),
                Cell(f"{'+' if one.gap > 0 else ''}{number(one.gap)}", one.gap),
                Cell(bar(one.gap, one.low, one.high, None, None, scale, 0.0), one.gap, "bars"),
                Cell(span(one.low, one.high), one.low),
                Cell(chance(one.adjusted), one.adjusted),
                Cell(f'<strong class="{css}">{mark} {text(one.way)}</strong>', one.way, "words"),
            )
        )
    return table("Surest first. Gap: the observed rate minus the rate elsewhere.", columns, rows)


def segment_gains_table(fix: SegmentFix) -> str:
    """The table of segments that call for maps of their own, and what these gain."""
    end = scale_of([abs(bound) for one in fix.segments for bound in (one.gain, one.gain_low, one.gain_high)])[1]
    columns = (
        Column("Segment", False),
        Column("Rows"),
        Column(f"{fix.score.capitalize()}, one map"),
        Column("By segment"),
        Column("Gain"),
        Column(f"Gain from −{end:g} to {end:g}", False),
        Column(f"{percent(fix.level)} interval", why="interval"),
    )
    rows = [
        (
            Cell(name(one.name), one.name, "name"),
            of_count(one.n),
            of_number(one.before),
            of_number(one.after),
            of_number(one.gain),
            Cell(bar(one.gain, one.gain_low, one.gain_high, None, None, (-end, end), 0.0), one.gain, "bars"),
            Cell(span(one.gain_low, one.gain_high), one.gain_low),
        )
        for one in fix.segments
    ]
    return table("Each row is recalibrated by maps that were fitted without it.", columns, rows)


def _way(part: Part) -> str:
    if not part.flagged:
        return "may be noise" if part.ece is not None else "not computed"
    mark, css = MARKS_OF_DIRECTIONS.get(part.direction, ("◆", ""))
    words = {"mixed": "wrong both ways", "unclear": "miscalibrated"}.get(part.direction, part.direction)
    return f'<strong class="{css}">{mark} {text(words)}</strong>'


def bins_table(audit: Audit, key: str = "bins-table") -> str:
    """The table of bins; the script puts those of the chosen bins, class and subgroup in their place.

    Without a key, on the page of several models, nothing is explained and the caption names the model.
    """
    confidence = audit.verdict.about_confidence
    columns = (
        Column("Confidences" if confidence else "Scores", False),
        Column("Rows"),
        Column("Average confidence" if confidence else "Average prediction", why="mean" if key else ""),
        Column("Accuracy" if confidence else "Observed rate", why="base" if key else ""),
        Column("Gap"),
        Column(f"{percent(audit.verdict.level)} interval", why="interval" if key else ""),
        Column("Reading", False),
    )
    rows = []
    for row in audit.table:
        if row.conf is None or row.acc is None or not row.n:
            continue
        rows.append(
            (
                Cell(f"{row.start:.4g} to {row.end:.4g}", row.start),
                of_count(row.n),
                of_share(row.conf),
                of_share(row.acc),
                of_number(row.acc - row.conf),
                Cell(span_of_shares(row.low, row.high), row.low),
                of_words(audit.verdict.way_of(row) or "may be noise"),
            )
        )
    caption = f"{'All rows' if key else audit.title}, in {audit.verdict.bins}; empty bins are left out."
    return table(caption, columns, rows, key)


def tried_table(audit: Audit) -> str:
    """The table of the recalibrators that were compared."""
    if audit.fix is None or not audit.fix.tried:
        return ""
    bins = audit.fix.bins
    columns = (
        Column("Recalibrator", False),
        Column("Log loss", why="nll"),
        Column("Brier score", why="brier"),
        Column("ECE", why="ece"),
        Column(f"Gain in {audit.fix.score}", why="gain"),
        Column(f"{percent(audit.verdict.level)} interval"),
    )
    rows = []
    for one in audit.fix.tried:
        title = text(_recalibrator(one.name)) + (" <strong>✓ chosen</strong>" if one.chosen else "")
        numbers = (of_number(value) for value in (one.log_loss, one.brier, one.ece, one.gain))
        rows.append((Cell(title, one.name, "name"), *numbers, Cell(span(one.gain_low, one.gain_high), one.gain_low)))
    return table(f"Recalibrators compared, on rows they were not fitted on. ECE in {bins}.", columns, rows)


def _recalibrator(alias: str) -> str:
    if alias == "nothing":
        return "None: the scores as they are"
    said = in_words(ALIASES[alias]) if alias in ALIASES else alias.replace("_", " ")
    return _capital(said)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def changes_table(audit: Audit) -> str:
    """The table of what recalibration changes."""
    if audit.fix is None or not audit.fix.changes:
        return ""
    columns = (
        Column("Number", False),
        Column("Before"),
        Column("After"),
        Column("Gain", why="gain"),
        Column(f"{percent(audit.verdict.level)} interval of the gain"),
    )
    rows = [
        (
            Cell(text(f"ECE ({audit.fix.bins})" if one.name == "ECE" else _capital(one.name)), one.name, "name"),
            of_number(one.before),
            of_number(one.after),
            of_number(one.gain),
            Cell(span(one.gain_low, one.gain_high), one.gain_low),
        )
        for one in audit.fix.changes
    ]
    return table("Before and after recalibration, on rows that the calibration map was not fitted on", columns, rows)


def versus_table(audit: Audit) -> str:
    """The table that compares these predictions with others."""
    columns = (
        Column("Number", False),
        Column("This model"),
        Column("The other"),
        Column("Difference"),
        Column(f"{percent(audit.verdict.level)} interval", why="interval"),
        Column("p"),
    )
    rows = [
        (
            of_words(short_name(find_metric(one.name).alias, one.name)),
            of_number(one.value),
            of_number(one.other),
            of_number(one.difference),
            Cell(span(one.low, one.high), one.low),
            Cell(compared_chance(one.p_value), one.p_value),
        )
        for one in audit.versus
    ]
    caption = f"This model minus the other, on the same rows. ECE in {audit.verdict.bins}."
    return table(caption, columns, rows)
