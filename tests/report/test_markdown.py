"""The Markdown of an audit stays Markdown, whatever names come from outside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from believable import audit
from tests.auditing.data import over_confident

RNG = np.random.default_rng(0)


@pytest.mark.slow
def test_markdown_stays_text(binary):
    """Names from outside are neither markup nor new cells."""
    found = replace(binary[-1], title="a|b *c* <script>\n# head", notes=("x | y\n| z |",))
    text = found.to_markdown()
    assert text.startswith(r"# Calibration audit: a\|b \*c\* \<script\> \# head")
    assert r"- x \| y \| z \|" in text
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert any(line.startswith("| site") for table in tables for line in table)
    for table in tables:
        assert len({line.count("|") - line.count(r"\|") for line in table}) == 1


def test_markdown_lists_stay_lists():
    """Notes that begin like a point of a list, or hold a formula, are text."""
    p, y = over_confident(50, rng=RNG)
    text = audit(p, y, notes=["1. first", "- second", "costs $5 or $6"], fix=False).to_markdown()
    for line in (r"- 1\. first", r"- \- second", r"- costs \$5 or \$6"):
        assert line in text.splitlines()
