"""The text of an audit has every part, in tables that stay tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from believable import audit
from tests.auditing.data import over_confident

RNG = np.random.default_rng(0)


@pytest.mark.slow
def test_the_text_has_every_part(binary, matrix):
    """Verdict, advice, metrics, table, classes, subgroups, recalibration, caveats, in that order."""
    text = matrix[-1].to_text()
    heads = [
        matrix[-1].verdict.label,
        "What to do",
        "Calibration\n",
        "Proper scores",
        "Discrimination",
        "Reliability (10 uniform",
    ]
    heads += ["Classes, the worst first", "Subgroups", "Recalibration, out of fold"]
    places = [text.index(head) for head in heads]
    assert places == sorted(places)
    assert "always predicting the base rate is perfectly calibrated" in text
    assert repr(binary[-1]) == "Audit('mine', n=1500, " + binary[-1].verdict.label + ")"


@pytest.mark.slow
def test_text_stays_aligned_and_on_its_line():
    """Names with line breaks, wide letters, escape codes or no end leave the table a table."""
    p, y = over_confident(300, rng=RNG)
    names = np.array(["a\nb", "漢字", "\x1b[31mred", "x" * 500])[np.arange(300) % 4]
    text = audit(p, y, by={"of\nwhat": names}, title="two\nlines", fix=False).to_text()
    assert text.startswith("two lines: 300 rows")
    assert "\x1b" not in text
    table = text[text.index("Subgroups") :].split("\n\n")[0].splitlines()[1:]
    assert len(table) == 5
    widths = {
        len(line.split("…")[0]) + sum(letter in "漢字" for letter in line) for line in table[1:] if "x…" not in line
    }
    assert len(widths) == 1
    assert max(map(len, table)) < 180


def test_the_short_text_has_at_most_24_lines(binary, matrix):
    """The answer comes first, then the evidence, then what to do with a line to copy."""
    for found in (binary[-1], matrix[-1], replace(matrix[-1], caveats=("Keep this in mind.",) * 30)):
        lines = str(found).splitlines()
        assert len(lines) <= 24
        answer = lines.index("") + 1
        assert lines[answer] == found.verdict.headline
        assert lines.index("What to do") > answer
        assert f"- Run: {found.command}" in lines
    assert "- There is more to say: see the full report." in lines
