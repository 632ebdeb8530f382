"""What each number on the page means, in plain words, and the buttons that show it."""

from __future__ import annotations

from collections.abc import Iterable

from believable.metrics import METRICS
from believable.report.html.words import sentence, text
from believable.report.wording import short_name

METRICS_BY_ALIAS = {metric.alias: metric for metric in METRICS.values()}

# What is said after the first line of the metric's own definition.
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
