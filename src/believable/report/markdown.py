"""An audit as Markdown, for a pull request or a model card."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from believable.report import text

if TYPE_CHECKING:
    from believable.report.document import Audit


def as_markdown(audit: Audit) -> str:
    """Return the sections of the text report as headings, lists and tables."""
    return "\n\n".join(_parts(audit)) + "\n"


def _parts(audit: Audit) -> Iterator[str]:
    opening, verdict, *others = text.sections(audit)
    yield f"# Calibration audit{': ' + escaped(audit.title) if audit.title else ''}"
    first, *details = verdict.lines
    yield f"**{escaped(first)}**"
    yield _list(details)
    yield _list(opening.lines)
    for section in others:
        if section.title:
            yield f"## {escaped(section.title)}"
        if section.rows:
            yield _table(section.rows)
        if section.lines:
            yield _list(section.lines)
    yield f"Made with believable {audit.package} on {audit.made_on}."


def escaped(words: str) -> str:
    """Escape text from outside, so that it is neither read as markup nor starts another row of a table."""
    one_line = text.one_line(words)
    return re.sub(r"([\\`*_{}\[\]<>#|~&$])", r"\\\1", one_line)


def _list(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {_no_mark(escaped(sentence))}" for sentence in sentences)


def _no_mark(sentence: str) -> str:
    """Escape the start of a sentence that would be read as a list item."""
    return re.sub(r"^(\d*)([-+.)])(?=\s|$)", r"\1\\\2", sentence)


def _table(rows: Sequence[Sequence[str]]) -> str:
    heading, *body = ([escaped(cell) for cell in row] for row in rows)
    marks = ["---:" if right else "---" for right in text.Section(rows=rows).to_the_right]
    lines = ["| " + " | ".join(heading) + " |", "|" + "|".join(marks) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in body)])
