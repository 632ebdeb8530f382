"""Numbers and names as HTML: everything that comes from a file passes through `text` or `name`."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable
from importlib.resources import files
from string import Template

from believable.report.document import Audit
from believable.report.parts import SMALLEST_COMPARISON_P
from believable.report.wording import digits_apart

NO_NUMBER = "–"
MAX_NAME_LENGTH_ON_PAGE, MAX_TOOLTIP_LENGTH = 120, 1000  # the tooltip shows more of a name
SMALLEST_NUMBER_SHOWN = 0.00005
CONTROL_CHARACTERS = {code: "\ufffd" for code in range(32) if chr(code) not in "\t\n\r"}  # HTML cannot hold them

NOTIONS_IN_WORDS = {
    "binary": "the probability of the event",
    "confidence": "the probability of the predicted class",
    "top_label": "the probability of the predicted class, by predicted class",
    "classwise": "the probability of each class",
}
NUMBERS_WITH_SIGNS = re.compile(r"(?<=\d) %|(?<=\bp) (?:&lt;|=) (?=\d)")


def asset(name: str) -> str:
    """The text of a file of this folder: style, script or template."""
    return (files("believable.report.html") / name).read_text(encoding="utf-8")


def template(key: str, **words: str) -> str:
    """HTML that is kept in a file, with words put in. They are not looked into, so a $ in a name is a $."""
    return Template(asset(f"{key}.html")).substitute(words)


def text(words: object) -> str:
    """Text, escaped for elements and for attributes in double quotes."""
    return html.escape(str(words).translate(CONTROL_CHARACTERS).encode("utf-8", "replace").decode("utf-8"), quote=True)


def prose(words: str) -> str:
    """A sentence, escaped, in which "94 %" and "p < 0.005" stay on one line."""
    return NUMBERS_WITH_SIGNS.sub(lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), text(words))


def what_is_audited(audit: Audit) -> str:
    """Which probabilities the answer is about."""
    if audit.pairs:
        return "the confidence that an answer is right"
    if audit.kind == "multilabel":
        return "the probability of each label"
    return NOTIONS_IN_WORDS.get(audit.verdict.notion, text(audit.verdict.notion))


def name(words: str) -> str:
    """A name from the file: escaped, cut if it is endless, and kept from turning its surroundings right to left."""
    if len(words) <= MAX_NAME_LENGTH_ON_PAGE:
        return f"<bdi>{text(words)}</bdi>"
    return f'<bdi title="{text(words[:MAX_TOOLTIP_LENGTH])}">{text(words[:MAX_NAME_LENGTH_ON_PAGE])}…</bdi>'


def number(value: float | None) -> str:
    """Four digits after the point; two that count for small numbers, and none of those that four digits round to 0."""
    if value is not None and abs(value) < SMALLEST_NUMBER_SHOWN:
        return "0.0000"
    return share(value)


def share(value: float | None) -> str:
    """A number that may be small and still matter, as the rate of a rare event: two digits that count."""
    if value is None or math.isnan(value):
        return NO_NUMBER
    if math.isinf(value):
        return "infinite" if value > 0 else "−infinite"
    digits = min(1 - int(f"{value:.1e}".split("e")[1]), 8) if 0 < abs(value) < 0.001 else 4
    return ("−" if value < 0 else "") + f"{abs(value):.{digits}f}"


def span(low: float | None, high: float | None) -> str:
    """The ends of an interval."""
    return _ends(low, high, number)


def span_of_shares(low: float | None, high: float | None) -> str:
    """The ends of an interval of a rate."""
    return _ends(low, high, share)


def _ends(low: float | None, high: float | None, shown: Callable[[float], str]) -> str:
    """As they are shown by themselves, or with the digits it takes to tell them apart."""
    if low is None or high is None or (math.isinf(low) and low == high):
        return NO_NUMBER
    digits = digits_apart(low, high)
    if digits == 4:
        return f"{shown(low)} to {shown(high)}"
    return " to ".join(("−" if end < 0 else "") + f"{abs(end):.{digits}f}" for end in (low, high))


def count(value: float) -> str:
    """A number of rows."""
    return f"{value:,.0f}"


def rows(value: int) -> str:
    """A number of rows, with the word."""
    return f"{value:,} {'row' if value == 1 else 'rows'}"


def chance(p_value: float | None) -> str:
    """A p-value, or that it is below 0.001."""
    if p_value is None:
        return NO_NUMBER
    return "&lt; 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def compared_chance(p_value: float) -> str:
    """A p-value of a comparison, whose smallest value is an upper bound."""
    return f"&lt; {p_value:.1g}" if p_value <= SMALLEST_COMPARISON_P else chance(p_value)


def percent(level: float) -> str:
    """The level of an interval, as a percentage."""
    return f"{100 * level:.4g} %"


def sentence(words: str) -> str:
    """A sentence with a capital and a full stop."""
    return f"{words[:1].upper()}{words[1:]}" + ("" if words.endswith((".", "!", "?")) else ".")
