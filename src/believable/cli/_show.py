"""Print an audit: in colour and fitted to the width on a terminal, as plain text of fixed layout in a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from believable.cli._common import new_console, say

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from believable.auditing.gates import Result
    from believable.report import Audit, Verdict
    from believable.report.text import Section

COLOURS_OF_TONES = {"good": "green", "warn": "yellow", "bad": "red", "unsure": "yellow"}
COLOURS_OF_CELLS = {"over-predicts": "red", "under-predicts": "red", "recommended": "green"}
DISPENSABLE_COLUMNS = ("95 % below", "noise floor")  # left out on a narrow terminal, in this order
MIN_WIDTH_OF_FIRST_COLUMN = 26  # characters; columns are left out rather than making it narrower


def show_audit(console: Console, audit: Audit, *, full: bool) -> None:
    """Print the answer, the evidence and what to do, or every section."""
    from rich.text import Text

    from believable.report.text import as_text, opening, sections, short_sections

    if not console.is_terminal:
        say(console, as_text(audit, full=full))
        return
    for line in opening(audit):
        console.print(Text(line))
    console.print()
    show_verdict(console, audit.verdict)
    made = list(sections(audit)) if full else short_sections(audit)
    for section in made[2:]:  # the opening and the verdict have been shown
        console.print()
        show_section(console, section)


def show_verdict(console: Console, verdict: Verdict) -> None:
    """Print the answer, in colour on a terminal, then the evidence."""
    from rich.text import Text

    first, *others = verdict.lines()
    style = f"bold {COLOURS_OF_TONES[verdict.tone]}" if console.is_terminal else "bold"
    console.print(Text(first, style=style), soft_wrap=not console.is_terminal)
    for line in others:
        console.print(Text(line), soft_wrap=not console.is_terminal)


def show_section(console: Console, section: Section) -> None:
    """Print the title, table and sentences of a section."""
    from rich.table import Table
    from rich.text import Text

    if not console.is_terminal:
        say(console, str(section))
        return
    if section.title:
        console.print(Text(section.title, style="bold"))
    if section.rows:
        console.print(_table(section, console.width))
    for line in section.lines:
        if section.listed:
            point = Table.grid(padding=(0, 1, 0, 0))
            point.add_row("-", Text(line))
            console.print(point)
        else:
            console.print(Text(line))


def _table(section: Section, width: int) -> Table:
    """Return the table of a section; cells that are not numbers may wrap."""
    from rich.table import Table
    from rich.text import Text

    section = replace(section, rows=_fitting(section.rows, width))
    heading, *body = section.rows
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", collapse_padding=True)
    for name, right in zip(heading, section.to_the_right, strict=True):
        table.add_column(Text(name), justify="right" if right else "left", no_wrap=right, overflow="fold")
    for row in body:
        table.add_row(*(Text(cell, style=COLOURS_OF_CELLS.get(cell, "")) for cell in row))
    return table


def _fitting(rows: Sequence[Sequence[str]], width: int) -> Sequence[Sequence[str]]:
    """Return the rows without dispensable columns, if the table is too wide for the terminal."""
    for name in DISPENSABLE_COLUMNS:
        first, *others = ([len(cell) for cell in column] for column in zip(*rows, strict=True))
        if min(max(first), MIN_WIDTH_OF_FIRST_COLUMN) + sum(2 + max(one) for one in others) <= width:
            break
        kept = [i for i, heading in enumerate(rows[0]) if heading != name]
        rows = [[row[i] for i in kept] for row in rows]
    return rows


def show_gates(console: Console, results: Sequence[Result]) -> None:
    """Print the result of each gate."""
    from rich.text import Text

    for result in results:
        console.print(
            Text(f"Gate {result}", style="green" if result.kept else "bold red"), soft_wrap=not console.is_terminal
        )


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on the error stream, if it is a terminal, what is being done and for how long."""
    console = new_console(stderr=True)
    if not console.is_terminal:
        yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        bar.add_task(what, total=None)
        yield
