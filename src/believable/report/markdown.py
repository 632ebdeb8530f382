"""An audit as Markdown, for a pull request or a model card."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from believable.report import text

if TYPE_CHECKING:
    from believable.report.audit import Audit


def as_markdown(audit: Audit) -> str:
    """The same sections as the text, as headings, lists and tables."""
    return "\n\n".join(_sections(audit)) + "\n"


def _sections(audit: Audit) -> Iterator[str]:
    yield f"# Calibration audit{': ' + escaped(audit.title) if audit.title else ''}"
    first, *others = audit.verdict.lines()
    yield f"**Verdict: {audit.verdict.label}.** {escaped(first)}"
    yield _list(others)
    yield _list(text.opening(audit))
    if audit.advice:
        yield "## What to do"
        yield _list(audit.advice)
    for family, heading in text.HEADINGS.items():
        rows = [one for one in audit.metrics if one.family == family]
        if rows:
            yield f"## {heading}"
            yield _table(text.metric_rows(rows, audit.kind != "binary" and family == "calibration"))
            if family == "discrimination":
                yield text.USELESS
    yield f"## Reliability ({audit.verdict.bins})"
    yield _table(text.table_rows(audit))
    if audit.parts:
        yield "## Classes, worst first"
        yield _table(text.part_rows(audit.parts))
    if audit.subgroups:
        yield "## Subgroups"
        yield _table(text.part_rows(audit.subgroups))
    yield "## Recalibration"
    if audit.fix is None:
        yield f"None was tried: {escaped(audit.no_fix)}"
    else:
        yield _table(text.tried_rows(audit))
        yield _list([audit.fix.rows, audit.fix.advice, audit.fix.refinement])
    if audit.versus:
        yield f"## Compared with {escaped(audit.other)}"
        yield _table(text.versus_rows(audit.versus))
    for heading, sentences in (("Keep in mind", audit.caveats), ("Notes", audit.notes)):
        if sentences:
            yield f"## {heading}"
            yield _list(sentences)
    yield f"Made with believable {audit.package}."


def escaped(words: str) -> str:
    """Text from outside, so that it stays text: neither markup nor another row of a table."""
    one_line = text.one_line(words)
    return re.sub(r"([\\`*_{}\[\]<>#|~&$])", r"\\\1", one_line)


def _list(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {_no_mark(escaped(sentence))}" for sentence in sentences)


def _no_mark(sentence: str) -> str:
    """A sentence that does not begin like a point of a list."""
    return re.sub(r"^(\d*)([-+.)])(?=\s|$)", r"\1\\\2", sentence)


def _table(rows: Sequence[Sequence[str]]) -> str:
    heading, *body = ([escaped(cell) for cell in row] for row in rows)
    marks = ["---:" if right else "---" for right in text.Section(rows=rows).to_the_right]
    lines = ["| " + " | ".join(heading) + " |", "|" + "|".join(marks) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in body)])
