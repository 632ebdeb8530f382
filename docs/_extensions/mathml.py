"""Formulas as MathML, which browsers draw by themselves: no script to load, so the site works without a network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

# Between \left and \right the converter sets what belongs below a sum beside it.
_BESIDE = re.compile(r"<msub>(<mo>&#x02211;</mo>)(<m\w+>(?:(?!<msub>).)*?)</msub>")


def inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    formula = _BESIDE.sub(r"<munder>\1\2</munder>", convert(node.astext(), display="block"))
    writer.body.append(f'<div class="math">{formula}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
