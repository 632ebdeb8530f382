"""What each number on the page means, in plain words, and the buttons that show it."""

from __future__ import annotations

from collections.abc import Iterable

from believable.metrics import METRICS
from believable.report.html.words import sentence, text
from believable.report.wording import short_name

METRICS_BY_ALIAS = {metric.alias: metric for metric in METRICS.values()}

# What is said after the first line of the metric's own definition.
METRICS_EXPLAINED = {
    "ece": "Scores are sorted into bins. In each, the average prediction is compared with the observed rate, and the "
    "gaps are averaged, weighted by rows. 0.03 means that a score is wrong by three percentage points on average. The "
    "value depends on the bins and is never exactly 0, even for a perfect model: compare it with the noise floor.",
    "smece": "Like the ECE, but without bins.",
    "ace": "Like the ECE, in bins that hold equally many rows.",
    "mce": "The worst bin alone, however few rows it holds. With few rows in a bin it is mostly noise.",
    "rmsce": "Like the ECE, with large gaps counting more.",
    "dce": "An estimate of the true error, with the noise of this sample taken off.",
    "ks": "Without bins: the gaps are added up from the lowest score to the highest.",
    "ici": "Without bins: the calibration curve is smoothed instead.",
    "slope": "1 is best. Below 1 the scores are too extreme, as those of an over-fitted model; above 1 they are not "
    "extreme enough.",
    "citl": "0 is best. Above 0 the scores under-predict, below 0 they over-predict.",
    "oe": "1 is best. 1.2 means that there were a fifth more events than predicted.",
    "sce": "All probabilities of a row are checked, not only that of the predicted class.",
    "tlce": "Rows are grouped by the predicted class, so that errors of two classes do not cancel.",
    "brier": "Rewards both calibration and discrimination. Lower is better; compare it only on the same rows.",
    "nll": "Punishes confident mistakes most. Lower is better; compare it only on the same rows.",
    "auc": "How well the scores rank cases; 0.5 is no better than a coin. It says nothing about calibration.",
    "acc": "It says nothing about calibration.",
    "bss": "1 is perfect; 0 is no better than always predicting the base rate.",
    "sharpness": "A forecast that is always the same has 0. More is better only if the scores are calibrated.",
}
TERMS_EXPLAINED = {
    "interval": (
        "Interval",
        "Another sample would give another number. Intervals built this way contain the true value 95 % of the time "
        "(at the usual level of 95 %).",
    ),
    "floor": (
        "Noise floor",
        "Even a perfectly calibrated model shows a positive error in a finite sample. The tick is what such a model "
        "with these scores would show on average; in 19 of 20 samples it would stay within the shaded part. A value "
        "inside the shade may well be noise. For the Brier score and the log loss the tick is the value that these "
        "scores would have if they were calibrated.",
    ),
    "chance": (
        "Approximate noise floor",
        "Roughly the ECE that a perfectly calibrated model with these scores would show in these bins. For the bins of "
        "the answer it was simulated; for others this page uses a formula, which differs a little.",
    ),
    "base": (
        "Observed rate, or accuracy",
        "The share of rows in which the event occurred, or the prediction was right.",
    ),
    "mean": (
        "Average prediction, or average confidence",
        "The mean of the scores. It should be close to the observed rate.",
    ),
    "p": (
        "p-value",
        "The probability that a perfectly calibrated model shows at least as much. The adjusted one allows for having "
        "looked at many classes or subgroups: at most about one in twenty of those marked is marked by mistake.",
    ),
    "gain": (
        "Gain",
        "How much lower the number is after recalibration, on rows that the calibration map was not fitted on. If the "
        "interval contains 0, the gain may be noise.",
    ),
    "detectable": (
        "Detectable",
        "The smallest true error that this many rows would reveal in 8 of 10 samples. Smaller ones may go unseen.",
    ),
}
TERMS_OF_SEGMENTS = {
    "elsewhere": (
        "Rate elsewhere",
        "The observed rate of rows outside the segment, at the scores that the segment has. The gap to it is what the "
        "segment has for itself: an error that all rows share is no gap.",
    ),
    "different": (
        "Adjusted p-value",
        "The probability that chance alone makes a segment differ as much from the other rows. It allows for all "
        "segments that were searched.",
    ),
}


def explanations(aliases: Iterable[str], segments: bool = False) -> str:
    """Every explanation, as a popover where the browser knows them and as a list of words where not."""
    terms = TERMS_EXPLAINED | (TERMS_OF_SEGMENTS if segments else {})
    entries = [(f"why-{key}", title, words) for key, (title, words) in terms.items()]
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
    if key not in TERMS_EXPLAINED and key not in TERMS_OF_SEGMENTS and key not in METRICS_BY_ALIAS:
        return ""
    return f'<button class="ask" popovertarget="why-{key}" aria-label="What is: {text(what)}?">?</button>'
