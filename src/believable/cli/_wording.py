"""Messages of the library in the words of the command line: options in place of arguments."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from believable.errors import LOOK_LIKE_LOGITS, LOOK_LIKE_PERCENTAGES, Hint, Limit, OneOf, Sentence, Wording

OPTIONS = {
    "auc": "--auc",
    "base_rate": "--rate",
    "by": "--by",
    "compare_with": "--compare",
    "confidence": "--prob",
    "correct": "--label",
    "cv": "--folds",
    "drop_missing": "--drop-missing",
    "every": "--checkpoint-every",
    "filter": "--filter",
    "find_segments": "--find-segments",
    "floor": "--floor",
    "format": "--format",
    "from_logits": "--logits",
    "graded": "--graded",
    "rule": "--rule",
    "cluster": "--cluster",
    "clusters": "--cluster",
    "input": "--scores",
    "label": "--label",
    "level": "--level",
    "method": "--map",  # the option of runs; messages about `fit` name the method itself
    "n_bins": "--bins",
    "neg_label": "--neg-label",
    "normalise": "--normalise",
    "notion": "--notion",
    "oe_width": "--oe-width",
    "pairs": "--pairs",
    "percent": "--percent",
    "pos_label": "--pos-label",
    "prob": "--prob",
    "prob_prefix": "--prob-prefix",
    "random_state": "--seed",
    "rel": "--rel",
    "score": "--score",
    "slope_width": "--slope-width",
    "strategy": "--strategy",
    "thresholds": "--threshold",
    "unjudged": "--unjudged",
    "weight": "--weight",
    "width": "--width",
}
NAMES_OF_DATA = {"actuals": "labels", "sample_weight": "the weight"}
SHOWN_AS_IN_THE_DATA = ("pos_label", "neg_label")  # text is shown in quotation marks

HINTS = {
    Hint.LOGITS: f"{LOOK_LIKE_LOGITS}: use {{from_logits}}",
    Hint.LOGITS_IN_FILE: (
        f"{LOOK_LIKE_LOGITS}: use {{from_logits}}, or {{percent}} for percentages; for other scores, fit a calibration "
        "map with `believable fit --scores raw`"
    ),
    Hint.LOGITS_TO_CALIBRATE: f"{LOOK_LIKE_LOGITS}: use {{from_logits}}, or --scores raw for other numbers",
    Hint.PERCENTAGES: f"{LOOK_LIKE_PERCENTAGES}: use {{percent}}",
    Hint.PERCENTAGES_IN_FILE: f"{LOOK_LIKE_PERCENTAGES}: use {{percent}}, or {{from_logits}} for logits",
    Hint.PREDICTED_CLASSES: "name a column of probabilities with {prob}",
    Hint.PREDICTED_CLASSES_OF_ROWS: "name the columns of probabilities with {prob_prefix}",
    Hint.SWAPPED: "scores and labels look swapped: {prob} names the scores, {label} the outcomes",
    Hint.INDEPENDENT_COLUMNS: "if the columns are independent, use Predictions(..., multilabel=True) in Python",
    Hint.ONE_COLUMN_PER_CLASS: "name one column per class with {prob_prefix}",
    Hint.TWO_COLUMNS: "for max(p, 1 - p), name the columns of 1 - p and p with {prob_prefix}",
    Hint.NAME_THE_POSITIVE: "name the label that counts as 1 with {pos_label}",
    Hint.SHARES_OF_ANNOTATORS: "if they are shares of annotators, use Predictions(..., soft_labels=True) in Python",
    Hint.NAME_THE_CLASSES: "write one column per class, named after the labels, such as p_cat and p_dog",
    Hint.CLASSES_OF_COLUMNS: "here each row has a score for each class, so leave it out",
    Hint.CLASSES_OF_TEXT: "write one column per class, such as p_cat and p_dog, in place of lists",
    Hint.COUNT_BY: "count again with {by}",
    Hint.CHOOSE_CONFIDENCE: "{prob}",
    Hint.CHOOSE_CORRECT: "{label}",
    Hint.RENAME_OR_OVERWRITE: "choose another name with --to, or use --overwrite",
    Hint.LEAVE_EMPTY: "fill it in, drop the row, or use --missing keep to leave the result empty as well",
    Hint.LOGITS_OR_RAW: (
        "use --scores logits if they are log-odds; for any other scores, use --scores raw, which fits a calibration "
        "map first"
    ),
}


class CommandLine(Wording):
    """A wording that names options in place of arguments, with their values as they are typed."""

    def setting(self, name: str, value: Any) -> str:
        option = self.argument(name)
        if not option.startswith("--"):
            return super().setting(name, value)
        if isinstance(value, OneOf):
            return repr(value)
        if value is True:
            return option
        return f"{option} {value!r}" if name in SHOWN_AS_IN_THE_DATA else f"{option} {value}"

    def limit(self, limit: Limit) -> str:
        option, end = "--fail-above" if limit.above else "--fail-below", f".{limit.end}" if limit.end else ""
        return f"{option} {limit.metric}{end}={limit.limit:.15g}"


COMMAND_LINE = CommandLine(OPTIONS | NAMES_OF_DATA, HINTS)


def in_options(sentence: str) -> str:
    """Return a message in the words of the command line; plain text is returned unchanged."""
    return sentence.told(COMMAND_LINE) if isinstance(sentence, Sentence) else sentence


def asks_for(note: str, arguments: Collection[str]) -> bool:
    """Return whether a note proposes a value for one of these arguments."""
    return isinstance(note, Sentence) and any(name in note.parts for name in arguments)
