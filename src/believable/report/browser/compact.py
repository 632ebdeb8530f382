"""Scripts without comments and without what only people need: a third smaller, with every name kept."""

from __future__ import annotations

import re
from collections.abc import Iterator

WORD = re.compile(r"[\w$]+")
SPACE = re.compile(r"\s+")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
TEXT = re.compile(r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""", re.DOTALL)
REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*")
OPERATOR = re.compile(r"=>|\+\+|--|\*\*|[^\w\s]")
BEFORE_REGEX = {"return", "typeof", "case", "in", "of", "=>", *"(,=:[!&|?{};+-*%~^<>"}  # after others, / divides
ENDS_NO_STATEMENT = {"=>", *"{;,([=?:&|<*.!"}  # a line end after these means nothing
CONTINUES = {*")].?:,;=&|<*"}  # nor one before these


def compact(script: str) -> str:
    """Return a script without comments and needless spaces, and `let` for `const`.

    Texts, patterns and templates are kept as they are.

    Examples
    --------
    >>> compact("const a = (b, c) => b  / c; // a share\\n\\n  return `${ a } of  b` + +c;")
    'let a=(b,c)=>b/c;return`${ a } of  b`+ +c;'
    """
    made: list[str] = []
    last, space = "", ""
    for token in _tokens(script):
        if token.isspace():
            space += token
            continue
        if space and last:
            if "\n" in space:
                made.append("" if last in ENDS_NO_STATEMENT or token in CONTINUES or token == "}" else "\n")
            else:
                made.append(" " if _belong_apart(last, token) else "")
        made.append("let" if token == "const" else token)  # whose promise was for people
        last, space = token, ""
    return "".join(made)


def compact_style(style: str) -> str:
    """Return a style sheet without comments and needless spaces.

    Examples
    --------
    >>> compact_style("a, b > c {\\n  margin: 0 calc(1px + 2px); /* small */\\n}\\n")
    'a,b>c{margin:0 calc(1px + 2px);}'
    """
    bare = re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL))
    return re.sub(r"(:) | ?([{};,>]) ?", r"\1\2", bare).strip()


def _belong_apart(one: str, other: str) -> bool:
    """Return whether two tokens would be read as another one without a space."""
    a, b = one[-1], other[0]
    words = WORD.match(a) and WORD.match(b)
    return bool(words) or (a in "+-" and b in "+-") or ("/" in (a, b) and (a == b or b == "*"))


def _tokens(script: str) -> Iterator[str]:
    """Yield words, operators, texts, patterns, templates and spaces; comments are spaces."""
    at, last = 0, ";"
    while at < len(script):
        if found := SPACE.match(script, at):
            token = found[0]
        elif found := COMMENT.match(script, at):
            at = found.end()
            yield "\n" if "\n" in found[0] else " "
            continue
        elif script[at] == "`":
            token = script[at : _end_of_template(script, at)]
        else:
            kinds = [TEXT, WORD, *([REGEX] if last in BEFORE_REGEX else []), OPERATOR]
            token = next(found[0] for kind in kinds if (found := kind.match(script, at)))
        yield token
        last = last if token.isspace() else token
        at += len(token)


def _end_of_template(script: str, at: int) -> int:
    """Return where a template literal ends, whose expressions may hold others."""
    at += 1
    while script[at] != "`":
        if script[at] == "\\":
            at += 2
        elif script.startswith("${", at):
            at, depth = at + 2, 1
            while depth:
                if script[at] == "`":
                    at = _end_of_template(script, at)
                elif found := TEXT.match(script, at):
                    at = found.end()
                else:
                    depth += {"{": 1, "}": -1}.get(script[at], 0)
                    at += 1
        else:
            at += 1
    return at + 1
