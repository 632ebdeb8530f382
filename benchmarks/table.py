"""A table of text, printed for the terminal or as markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Table:
    """A title, a head, rows of cells, and notes below. The first column is text, the others are numbers."""

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    notes: list[str] = field(default_factory=list)

    def plain(self) -> str:
        """Aligned columns."""
        widths = [max(map(len, column)) for column in zip(self.head, *self.rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
            for row in (self.head, *self.rows)
        ]
        lines.insert(1, "-" * len(lines[0]))
        return "\n".join([self.title, "", *(line.rstrip() for line in lines), *(f"  {note}" for note in self.notes)])

    def markdown(self) -> str:
        """A heading, a pipe table and the notes as a list."""
        rule = ("---", *("---:" for _ in self.head[1:]))
        lines = [f"| {' | '.join(row)} |" for row in (self.head, rule, *self.rows)]
        notes = ["", *(f"- {note}" for note in self.notes)] if self.notes else []
        return "\n".join([f"### {self.title}", "", *lines, *notes])
