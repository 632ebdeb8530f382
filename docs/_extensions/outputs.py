"""Outputs: a sentence wraps where it meets the edge of the page, a row of a table does not, and scrolls instead.

A line is a row if it has a gap of two spaces or more between words; site.css has the rest. Every line stays one line
when it is copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pygments.lexer import Lexer
from pygments.token import Text, _TokenType
from sphinx.highlighting import lexers

SENTENCE = Text.Sentence  # class="-Sentence"
GAP = re.compile(r"\S {2,}\S")


class OutputLexer(Lexer):
    """What a block has printed, line by line."""

    name = "output"

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, _TokenType, str]]:
        place = 0
        for line in text.splitlines(keepends=True):
            yield place, Text if GAP.search(line) else SENTENCE, line
            place += len(line)


def setup(app: Any) -> dict[str, bool]:
    lexers["text"] = OutputLexer(stripnl=False)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
