"""Numbers and names as HTML: everything that comes from a file passes through `text` or `name`."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable
from importlib.resources import files
from string import Template

from believable.metrics import METRICS
from believable.report.wording import digits_apart, short_name

NO_NUMBER = "–"
MAX_NAME_LENGTH_ON_PAGE, MAX_TOOLTIP_LENGTH = (
    120,
    1000,
)  # letters of a name that are shown, and that a mouse over it shows
SMALLEST_NUMBER_SHOWN = 0.00005
CONTROL_CHARACTERS = {code: "\ufffd" for code in range(32) if chr(code) not in "\t\n\r"}  # HTML cannot hold them

NOTIONS_IN_WORDS = {
    "binary": "the probability of the event",
    "confidence": "the probability of the predicted class",
    "top_label": "the probability of the predicted class, by predicted class",
    "classwise": "the probability of each class",
}


def part(name: str) -> str:
    """A file of this folder."""
    return (files("believable.report.html") / name).read_text(encoding="utf-8")


def template(key: str, **words: str) -> str:
    """HTML that is kept in a file, with words put in. They are not looked into, so a $ in a name is a $."""
    return Template(part(f"{key}.html")).substitute(words)


def text(words: object) -> str:
    """Text, escaped for elements and for attributes in double quotes."""
    return html.escape(str(words).translate(CONTROL_CHARACTERS).encode("utf-8", "replace").decode("utf-8"), quote=True)


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
    """A number that may be small and still matter, as how often a rare event happens: two digits that count."""
    if value is None or math.isnan(value):
        return NO_NUMBER
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    digits = min(1 - int(f"{value:.1e}"[-3:]), 8) if 0 < abs(value) < 0.001 else 4
    return ("−" if value < 0 else "") + f"{abs(value):.{digits}f}"


def span(low: float | None, high: float | None) -> str:
    """The ends of an interval."""
    return _ends(low, high, number)


def span_of_shares(low: float | None, high: float | None) -> str:
    """The ends of an interval of how often something happens."""
    return _ends(low, high, share)


def _ends(low: float | None, high: float | None, shown: Callable[[float], str]) -> str:
    """As they are shown by themselves, or with the digits it takes to tell them apart."""
    if low is None or high is None:
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
    """A p-value."""
    if p_value is None:
        return NO_NUMBER
    return "&lt; 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def percent(level: float) -> str:
    """The level of an interval."""
    return f"{100 * level:.4g} %"


def sentence(words: str) -> str:
    """With a capital and a full stop."""
    return f"{words[:1].upper()}{words[1:]}" + ("" if words.endswith((".", "!", "?")) else ".")


# --- what each number means, in plain words ---------------------------------------------------------------------------


METRICS_BY_ALIAS = {metric.alias: metric for metric in METRICS.values()}

# Beside the first line of the metric's own definition.
METRICS_EXPLAINED = {
    "ece": "Scores are sorted into bins; in each, the mean score is compared with how often it happened, and the gaps "
    "are averaged, bins with more rows counting more. 0.03 means that a score is off by three percentage points on "
    "average. The value depends on the bins, and is never exactly 0 even for a perfect model: compare it with chance.",
    "smece": "Like the ECE, without bins: nobody has to choose their number.",
    "ace": "Like the ECE, in bins that hold equally many rows.",
    "mce": "The worst bin alone, however few rows it holds: with few rows in a bin it is mostly chance.",
    "rmsce": "Like the ECE, with large gaps counting more.",
    "dce": "An estimate of the true error rather than the error of this sample.",
    "ks": "No bins: the gaps are added up from the lowest score to the highest.",
    "ici": "No bins: the calibration curve is smoothed instead.",
    "slope": "1 is right. Below 1 the scores are too extreme, as those of an over-fitted model; above 1 too timid.",
    "citl": "0 is right. Above 0 more happens than predicted, below 0 less.",
    "oe": "1 is right. 1.2 means that a fifth more happened than was predicted.",
    "sce": "All probabilities of a row are checked, not only that of the predicted class.",
    "tlce": "Rows are kept apart by the class that was predicted, so errors of two classes do not cancel.",
    "brier": "It rewards both calibration and telling cases apart. Lower is better; compare it only on the same rows.",
    "nll": "It punishes confident mistakes most. Lower is better; compare it only on the same rows.",
    "auc": "How well the scores put cases in order; 0.5 is a coin. It says nothing about calibration.",
    "acc": "It says nothing about calibration.",
    "bss": "1 is perfect, 0 no better than always saying how often it happens.",
    "sharpness": "A forecast that is always the same has 0. More is better only if the scores are calibrated.",
}
TERMS_EXPLAINED = {
    "interval": (
        "Interval",
        "Another sample of the same kind would give another number. The interval is where the number lies for endless "
        "data: it is made so that it holds it 19 times in 20 (for a 95 % interval).",
    ),
    "floor": (
        "What chance alone shows",
        "Even a perfectly calibrated model shows a positive error in a finite sample. The tick is what such a model "
        "with these very scores would show on average, the shaded part what it shows 19 times in 20. A value inside "
        "the shade may well be chance. For the Brier score and the log loss the tick is the value that these scores "
        "would have if they were right.",
    ),
    "chance": (
        "By chance about",
        "Roughly the ECE that a perfectly calibrated model with these scores would show in these bins. It is computed "
        "by a formula in this page; the audit draws outcomes instead, so the two differ a little.",
    ),
    "base": ("How often it happened", "The share of rows in which the event happened, or the prediction was right."),
    "mean": ("Mean score", "What was predicted on average. It should be close to how often it happened."),
    "p": (
        "p-value",
        "The chance that a perfectly calibrated model shows at least as much. The adjusted one allows for having "
        "looked at many parts: among those that are marked, about one in twenty is marked by mistake.",
    ),
    "gain": (
        "Gain",
        "How much lower the number is after recalibration, on rows that the map has not seen, with its interval. If "
        "the interval holds 0, the gain may be chance.",
    ),
    "detectable": (
        "Would show",
        "The smallest true error that so many rows would reveal 8 times in 10. Smaller ones may be there unseen.",
    ),
}


def explanations(aliases: Iterable[str]) -> str:
    """Every explanation, as a popover where the browser knows them and as a list of words where not."""
    entries = [(f"why-{key}", title, words) for key, (title, words) in TERMS_EXPLAINED.items()]
    for alias in dict.fromkeys([*filter(METRICS_BY_ALIAS.get, aliases), "ece", "mce", "rmsce"]):
        metric = METRICS_BY_ALIAS[alias]
        entries.append(
            (
                f"why-{alias}",
                short_name(alias, metric.name),
                f"{sentence(metric.summary)} {METRICS_EXPLAINED.get(alias, '')}",
            )
        )
    return "\n".join(
        f'<div popover id="{key}" class="why"><h3>{text(title)}</h3><p>{text(words)}</p></div>'
        for key, title, words in entries
    )


def why(key: str, what: str) -> str:
    """The button that shows an explanation, where there is one."""
    if key not in TERMS_EXPLAINED and key not in METRICS_BY_ALIAS:
        return ""
    return f'<button class="ask" popovertarget="why-{key}" aria-label="What is: {text(what)}?">?</button>'
