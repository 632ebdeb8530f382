"""What the library says of its arguments, the command line says of its options."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import believable
from believable.cli import main
from believable.cli._wording import HINTS, NAMES_OF_DATA, OPTIONS, in_options
from believable.errors import REFERENCE, Hint, InputError, OneOf, Sentence

SOURCE = Path(believable.__file__).parent

# What the command line can never be told of: it has no such option, and reads no such input.
ONLY_IN_PYTHON = {
    *(
        "Predictions",
        "X",
        "y",
        "bandwidth",
        "base",
        "between",
        "bin_by",
        "block_size",
        "candidates",
        "centred",
        "classes",
        "convention",
        "edges",
        "methods",
        "models",
        "one_hot",
        "reduction",
        "weights",
    ),
    *("cv_results", "y_true"),
    *("like", "min_rows"),  # of statistics and searches
    *("eps", "errors", "estimator", "ignore_label", "interval", "layout", "limit", "metric", "metrics", "multilabel"),
    *(
        "folds",
        "multi_class",
        "name",
        "names",
        "neighbours",
        "norm",
        "notions",
        "pairs",
        "r",
        "scores",
        "soft_labels",
        "source",
        "spacing",
    ),
}
NOT_CALLED = {
    "cli",
    "torch",
    "decide",
    "engines",
    "streams",
    "cascade.py",
    "toolbox.py",
    "testing.py",
    "integrations",
}  # by the command line
SAME_IN_BOTH = {"predictions"}
HINTS_ONLY_IN_PYTHON = {
    *(Hint.LOGITS_IN_FRAME, Hint.LOGITS_TO_FIT, Hint.LOGITS_TO_DECIDE, Hint.DROP_OR_IGNORE),
    *(Hint.NAME_THE_NEGATIVE, Hint.ALIGN_OR_FORGET_INDEX),
}
HINTS_WITHOUT_ARGUMENTS = {Hint.LOGITS_TO_APPLY, Hint.ROUNDING, Hint.DROP_OR_REPAIR}


def spoken_of(path):
    """The arguments that the sentences of a file refer to."""
    for node in ast.walk(ast.parse(path.read_text())):
        name = getattr(getattr(node, "func", None), "id", "")
        if not isinstance(node, ast.Call) or name not in ("InputError", "UndefinedError", "SchemaError", "Sentence"):
            continue
        if not (node.args and isinstance(node.args[0], ast.Constant) and (node.keywords or name == "Sentence")):
            continue
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        if isinstance(given.get("argument"), ast.Constant):
            yield given["argument"].value
        for reference, *_ in REFERENCE.findall(node.args[0].value):
            if reference not in given or f"{{{reference}=" in node.args[0].value:
                yield reference


@pytest.mark.slow
def test_every_argument_has_an_option_or_a_name():
    """No sentence speaks of an argument that the command line has no words for, unless it can never say it."""
    called = (path for path in SOURCE.rglob("*.py") if not {*path.relative_to(SOURCE).parts} & NOT_CALLED)
    found = {name for path in called for name in spoken_of(path)}
    assert len(found) > 20
    assert found <= {*OPTIONS, *NAMES_OF_DATA, *ONLY_IN_PYTHON, *SAME_IN_BOTH}


def test_every_option_exists():
    """What sentences name can be typed."""
    known = {name for command in main.commands.values() for parameter in command.params for name in parameter.opts}
    assert {*OPTIONS.values()} <= known
    for words in HINTS.values():
        assert {*re.findall(r"--[a-z-]+", in_options(Sentence(words)))} <= known


@pytest.mark.parametrize(
    "hint", [hint for hint in Hint if hint not in HINTS_ONLY_IN_PYTHON], ids=lambda hint: hint.name
)
def test_every_hint_is_in_options(hint):
    """A way out that can be typed: no argument of Python is left in it, unless it says that it is for Python."""
    words = in_options(Sentence("{hint}", hint=hint))
    assert not re.search(r"\b\w+=(?!\.)", re.sub(r"use Predictions\(.*?\) in Python", "", words)), words
    assert not re.search(r"(?<!use )Predictions\(", words), words
    assert (words == str(hint)) == (hint in HINTS_WITHOUT_ARGUMENTS), words


SENTENCES = {
    "logits": (Sentence("{hint}", hint=Hint.LOGITS), "these look like logits: use --logits"),
    "missing": (Sentence("{hint}", hint=Hint.REPAIR_OR_LEAVE_OUT), "fill in the value, or leave such rows out with --drop-missing"),
    "clusters": (Sentence("pass {cluster=}; the intervals", cluster="patient_id"), "pass --cluster patient_id; the intervals"),
    "scores of a run": (
        Sentence("{hint}", hint=Hint.LOGITS_OR_RAW),
        "use --scores logits if they are log-odds; for any other scores, use --scores raw, which fits a calibration map first",
    ),
    "flags": (
        Sentence("{graded=True} has its own classes: leave out {rel=}", rel=2),
        "--graded has its own classes: leave out --rel 2",
    ),
    "confidences": (Sentence("choose one with {hint}", hint=Hint.CHOOSE_CONFIDENCE), "choose one with --prob"),
    "marks": (Sentence("choose one with {hint}", hint=Hint.CHOOSE_CORRECT), "choose one with --label"),
    "logs": (Sentence("{normalise} and {filter} are for logs"), "--normalise and --filter are for logs"),
    "labels": (Sentence("{argument} must be 1-D", argument="actuals"), "labels must be 1-D"),
    "a label": (Sentence("{pos_label=} is not there", pos_label="yes"), "--pos-label 'yes' is not there"),
    "notions": (Sentence("{notion=} needs a matrix", notion="classwise"), "--notion classwise needs a matrix"),
    "what is no option": (Sentence("{multilabel=True} needs {X}"), "multilabel=True needs X"),
    "what a method takes": (Sentence("takes {input=}", input=OneOf(["logits", "scores"])), "takes 'logits' or 'scores'"),
    "plain text": ("with prob and pos_label=1", "with prob and pos_label=1"),
}  # fmt: skip


@pytest.mark.parametrize(("sentence", "in_words"), SENTENCES.values(), ids=SENTENCES)
def test_sentences_are_in_options(sentence, in_words):
    """What the library says of arguments is said of options; a plain text is left as it is."""
    assert in_options(sentence) == in_words


def test_an_error_within_another_is_in_options():
    """The words of the inner one are chosen by who reads the outer one."""
    inner = InputError("{argument} names {n} clusters, too few for {cv=} folds", argument="clusters", n=2, cv=5)
    outer = InputError("{file}: {error}", file="a.csv", error=inner)
    assert str(outer) == "a.csv: clusters names 2 clusters, too few for cv=5 folds"
    assert in_options(outer.sentence) == "a.csv: --cluster names 2 clusters, too few for --folds 5 folds"
