"""Numbers and names as HTML: everything that comes from a file passes through `text` or `name`."""

from __future__ import annotations

import html
import math
from importlib.resources import files
from string import Template

NOTHING = "–"
LONGEST, LONGEST_TITLE = 120, 1000  # letters of a name that are shown, and that a mouse over it shows
CONTROLS = {code: "\ufffd" for code in range(32) if chr(code) not in "\t\n\r"}  # HTML cannot hold them

NOTIONS = {
    "binary": "the probability of the event",
    "confidence": "the probability of the predicted class",
    "top_label": "the probability of the predicted class, by predicted class",
    "classwise": "the probability of each class",
}
SHORT = {
    "ece": "ECE",
    "smece": "Smooth ECE",
    "ace": "Adaptive error",
    "mce": "Largest gap (MCE)",
    "rmsce": "Root mean square error",
    "dce": "Debiased error",
    "ks": "Kolmogorov–Smirnov error",
    "ici": "Integrated index (ICI)",
    "slope": "Calibration slope",
    "citl": "Shift on the whole",
    "oe": "Happened / predicted",
    "sce": "Class-wise error",
    "tlce": "Top-label error",
    "brier": "Brier score",
    "nll": "Log loss",
    "auc": "AUC",
    "acc": "Accuracy",
    "bss": "Brier skill",
    "sharpness": "Sharpness",
}


def part(name: str) -> str:
    """A file of this folder."""
    return (files("believable.report.html") / name).read_text(encoding="utf-8")


def template(key: str, **words: str) -> str:
    """HTML that is kept in a file, with words put in. They are not looked into, so a $ in a name is a $."""
    return Template(part(f"{key}.html")).substitute(words)


def text(words: object) -> str:
    """Text, escaped for elements and for attributes in double quotes."""
    return html.escape(str(words).translate(CONTROLS).encode("utf-8", "replace").decode("utf-8"), quote=True)


def name(words: str) -> str:
    """A name from the file: escaped, cut if it is endless, and kept from turning its surroundings right to left."""
    if len(words) <= LONGEST:
        return f"<bdi>{text(words)}</bdi>"
    return f'<bdi title="{text(words[:LONGEST_TITLE])}">{text(words[:LONGEST])}…</bdi>'


def number(value: float | None) -> str:
    """Four digits after the point; two that count for small numbers."""
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    shown = f"{value:.2g}" if 0 < abs(value) < 0.001 else f"{value:.4f}"
    return shown.replace("-", "−", 1) if value < 0 else shown


def span(low: float | None, high: float | None) -> str:
    """The ends of an interval."""
    return NOTHING if low is None or high is None else f"{number(low)} to {number(high)}"


def count(value: float) -> str:
    """A number of rows."""
    return f"{value:,.0f}"


def rows(value: int) -> str:
    """A number of rows, with the word."""
    return f"{value:,} {'row' if value == 1 else 'rows'}"


def chance(p_value: float | None) -> str:
    """A p-value."""
    if p_value is None:
        return NOTHING
    return "&lt; 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def title_of(alias: str, full: str) -> str:
    """What a metric is called on the page."""
    return SHORT.get(alias, full.replace("_", " "))


def percent(level: float) -> str:
    """The level of an interval."""
    return f"{100 * level:.4g} %"


def sentence(words: str) -> str:
    """With a capital and a full stop."""
    return f"{words[:1].upper()}{words[1:]}" + ("" if words.endswith((".", "!", "?")) else ".")
