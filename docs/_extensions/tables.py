"""Code in a table may break after a point or an opening bracket, so that a long call does not push the next column away."""

from __future__ import annotations

import re
from typing import Any

CELL = re.compile(r"<t[dh]\b.*?</t[dh]>", re.DOTALL)
WORD = re.compile(r'(?<=<span class="pre">)[^<]+')
PLACE = re.compile(r"(?<=[\w\])])([.(])(?=[\w*])")


def breakable(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Mark the places where a browser may go to the next line; they are not copied."""
    if "body" in context:
        context["body"] = CELL.sub(lambda cell: WORD.sub(marked, cell[0]), context["body"])


def marked(word: re.Match[str]) -> str:
    return PLACE.sub(r"\1<wbr>", word[0])


def setup(app: Any) -> dict[str, bool]:
    app.connect("html-page-context", breakable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
