"""Answers of language models: logs with log-likelihoods of choices, and confidences that a model stated.

A stated confidence is a number, or words with one percentage in them; nothing is guessed from other words.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from believable._check import renamed
from believable._types import Array
from believable.errors import Hint, InputError, Sentence
from believable.predictions import Predictions
from believable.readers.columns import ANSWER_LABELS, listed
from believable.readers.load import Loaded
from believable.readers.logs.inspect_files import is_eval_log
from believable.readers.logs.lm_eval import Normalise, load_lm_eval
from believable.readers.logs.records import Record, records
from believable.stats.levels import plain_name

HARNESS_FIELDS = ("filtered_resps", "target")
RECORD_ENDINGS = (".jsonl", ".jsonl.gz", ".ndjson", ".json")
# Names of fields, at the top level or one level down. Those of a later tuple are tried if none before is found.
CONFIDENCE_NAMES = (
    (
        *("confidence", "conf", "stated_confidence", "verbalised_confidence", "verbalized_confidence"),
        *("confidence_score", "certainty"),
    ),
    ("p", "prob", "proba", "probability", "p_correct", "p_true", "score"),
)
CORRECT_NAMES = (
    (*ANSWER_LABELS, "right"),
    ("exact_match", "acc", "accuracy", "em"),
    ("label", "y"),
)
RECORDS_LOOKED_AT = 20  # to find the names of fields, because a field may be missing in the first record
HOW_TO_CHOOSE = {"confidence": Hint.CHOOSE_CONFIDENCE, "correct": Hint.CHOOSE_CORRECT}
QUESTION_NAMES = ("question_id", "doc_id", "sample_id", "id")
NOT_STATED = "no confidence stated"
ABOVE_100_PERCENT = "stated confidence above 100 %"
NOT_MARKED = "not marked as right or wrong"
MARKS_OF_RIGHT = ("true", "yes", "correct", "right", "1", "1.0")
MARKS_OF_WRONG = ("false", "no", "incorrect", "wrong", "0", "0.0")

_NUMBER = r"\d+(?:\.\d+)?"
_PERCENT = r"(?:%|percent\b|per cent\b)"
_STATED = re.compile(rf"(?<![\d.,])(?<!\de)(?<!\de[-+])({_NUMBER})\s*{_PERCENT}", re.IGNORECASE)
_RANGE = re.compile(
    rf"{_NUMBER}\s*{_PERCENT}?\s*(?:[-‐‑‒–—―−~〜～…/&]|\.\.+|to\b|or\b|and\b|through\b)\s*{_NUMBER}\s*{_PERCENT}"
    rf"|(?:±|\+/-)\s*{_NUMBER}\s*{_PERCENT}",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"(?:[<>≤≥]=?|(?<![\w)])[-−](?!\s)|\bnot|n't|"
    r"\b(?:less|more|fewer|greater|lower|higher|better|worse) than|\bat (?:least|most)|"
    r"\b(?:over|under|above|below|beyond|up to|minus))\s*$",
    re.IGNORECASE,
)
_BOUND_AFTER = re.compile(
    r"\s*(?:[-−+±]\s*\d|\+|"
    r"(?:or|and) (?:more|less|fewer|higher|lower|better|worse|greater|above|below|over|under|up)\b|"
    r"(?:plus|minus|at (?:least|most))\b)",
    re.IGNORECASE,
)
_DOUBTED = r"(?:wrong|incorrect|mistaken|false|unsure|uncertain|uncertainty|doubt|doubtful|errors?)\b"
_DOUBT_AFTER = re.compile(
    rf"(?!\s*(?:sure|confident|certain|confidence|certainty)\b)\s*(?:[\w’']+\s+){{0,6}}?{_DOUBTED}", re.IGNORECASE
)
_DOUBT_BEFORE = re.compile(
    rf"(?:\b(?:chance|probability|risk|likelihood|odds)\b[^.;!?\n]*\b{_DOUBTED}|\b(?:uncertainty|doubt|error))"
    r"[^.;,!?\n\d]{0,20}$",
    re.IGNORECASE,
)


def is_lm_samples(path: str | os.PathLike[str]) -> bool:
    """Return whether the first object of a file has the fields of a sample log of lm-evaluation-harness.

    False for a file that cannot be read, so that its reader raises the error.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "samples_arc.jsonl"
    >>> _ = path.write_text('{"doc_id": 0, "target": "1", "filtered_resps": [["-1.5", "True"], ["-3.0", "False"]]}\\n')
    >>> is_lm_samples(path)
    True
    """
    if not Path(path).name.lower().endswith(RECORD_ENDINGS):
        return False
    try:
        first = next(records(path))
    except (InputError, OSError):
        return False
    return all(name in first.values for name in HARNESS_FIELDS)


@renamed(group="cluster")
def load_samples(
    path: str | os.PathLike[str],
    *,
    normalise: Normalise = "none",
    filter: str | None = None,
    confidence: str | None = None,
    correct: str | None = None,
    cluster: str | None = None,
    by: str | Sequence[str] = (),
    percent: bool = False,
) -> Loaded:
    """Read the answers of a language model from a log, or from a file with one JSON object per line.

    A log of Inspect AI (.eval or .json) is read by `load_eval_log`. A file whose first object has `filtered_resps` and
    `target` is a sample log of the Language Model Evaluation Harness and is read by `load_lm_eval`. Any other is read
    by `load_stated`, which needs a confidence and whether the answer was correct; so is a sample log if `confidence` is
    given.

    Parameters
    ----------
    path : path
    normalise, filter
        For sample logs; see `load_lm_eval`.
    confidence, correct, cluster, by, percent
        For stated confidences and logs of Inspect AI; see `load_stated` and `load_eval_log`.

    Returns
    -------
    Loaded

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "samples_arc.jsonl"
    >>> _ = path.write_text('{"doc_id": 0, "target": "1", "acc": 0.0, '
    ...     '"filtered_resps": [["-1.0", "True"], ["-2.0", "False"], ["-3.0", "False"]]}\\n')
    >>> loaded = load_samples(path)
    >>> loaded.predictions.scores.round(3).tolist(), loaded.predictions.classes
    ([[0.665, 0.245, 0.09]], ('A', 'B', 'C'))
    """
    if is_eval_log(path):
        if normalise != "none" or filter is not None:
            raise InputError(
                "{normalise} and {filter} are for logs of lm-evaluation-harness, but {file} is one of Inspect AI",
                file=Path(path).name,
            )
        from believable.readers.logs.inspect_ai import load_eval_log

        return load_eval_log(path, confidence=confidence, correct=correct, cluster=cluster, by=by, percent=percent)
    if confidence is None and is_lm_samples(path):
        given = {"correct": correct is not None, "cluster": cluster is not None, "by": bool(by), "percent": percent}
        for name, was_given in given.items():
            if was_given:
                raise InputError(
                    "{argument} is for stated confidences, but {file} is a log of samples",
                    argument=name,
                    file=Path(path).name,
                )
        return load_lm_eval(path, normalise=normalise, filter=filter)
    if normalise != "none" or filter is not None:
        raise InputError(
            "{normalise} and {filter} are for logs of samples, but {file} is not one", file=Path(path).name
        )
    return load_stated(path, confidence=confidence, correct=correct, cluster=cluster, by=by, percent=percent)


# --- stated confidences ---------------------------------------------------------------------------------------------


def percentage_in(text: str) -> float | None:
    """Return the percentage that a text states; None if there is none, or more than one.

    "85%", "85 %" and "I am 85 percent sure" state 85. A range (80–90 %), a bound (more than 90 %, 90 % or more), the
    probability of being wrong, and two different percentages give None, because nothing is guessed. The same percentage
    may be repeated.

    Examples
    --------
    >>> percentage_in("I am 85 % sure."), percentage_in("Between 80% and 90%."), percentage_in("Quite sure.")
    (85.0, None, None)
    """
    if _RANGE.search(text):
        return None
    found = list(_STATED.finditer(text))
    if len({float(match[1]) for match in found}) != 1:
        return None
    for match in found:
        before, after = text[: match.start()], text[match.end() :]
        if _BOUND.search(before) or _BOUND_AFTER.match(after):
            return None
        if _DOUBT_BEFORE.search(before) or _DOUBT_AFTER.match(after):
            return None
    return float(found[0][1])


@renamed(group="cluster")
def load_stated(
    path: str | os.PathLike[str],
    *,
    confidence: str | None = None,
    correct: str | None = None,
    cluster: str | None = None,
    by: str | Sequence[str] = (),
    percent: bool = False,
) -> Loaded:
    """Read confidences that a model stated, and whether each answer was correct, from a JSON lines file.

    The confidence is a number in [0, 1] (0 to 100 with `percent`), or a text that states one percentage
    (`percentage_in`). Answers without a stated confidence, or not marked as correct or wrong, are left out and counted;
    a confidence is never guessed. The mark is true or false, 1 or 0, or a word such as "yes" or "wrong".

    Parameters
    ----------
    path : path
        A .jsonl file, which may be compressed with gzip.
    confidence : str, optional
        The field of the confidence. By default, the field called confidence, conf, stated_confidence,
        verbalised_confidence, verbalized_confidence, confidence_score or certainty; if there is none, p, prob, proba,
        probability, p_correct, p_true or score. A field may be inside another, such as "response.confidence".
    correct : str, optional
        The field that marks the answer. By default, the field called correct, is_correct, was_correct, correctness,
        right or is_right; else exact_match, acc, accuracy or em; else label or y.
    cluster : str, optional
        The field that identifies the question, if several answers to a question were sampled: these form a cluster.
    by : str or sequence of str
        Fields of subgroups.
    percent : bool
        Numbers are percentages. Text with a percent sign always is.

    Returns
    -------
    Loaded
        1-D predictions: (confidence, correct) pairs.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "answers.jsonl"
    >>> _ = path.write_text('{"confidence": "85 %", "correct": true}\\n{"confidence": "no idea", "correct": false}\\n')
    >>> loaded = load_stated(path)
    >>> loaded.predictions.scores.tolist(), loaded.dropped
    ([0.85], {'no confidence stated': 1})
    """
    path = Path(path)
    names = _names(path, confidence, correct)
    columns: dict[str, list[Any]] = {name: [] for name in ([by] if isinstance(by, str) else by)}
    p: list[float] = []
    y: list[bool] = []
    clusters: list[str] = []
    dropped: Counter[str] = Counter()
    questions: Counter[tuple[str, str]] = Counter()
    in_words = odd = 0
    rows: list[int] = []
    for row, record in enumerate(records(path)):
        value, was_text = confidence_in(path, record, names[0], percent)
        mark = _mark(path, record, names[1])
        if isinstance(value, str) or mark is None:
            dropped[value if isinstance(value, str) else NOT_MARKED] += 1
            continue
        p.append(value)
        y.append(mark)
        rows.append(row)
        for name, column in columns.items():
            column.append(_value(record, name))
        in_words += was_text
        odd += not was_text and (0 < value < 0.01 if percent else value == 1)
        if cluster is not None:
            clusters.append(_cluster(path, record, cluster))
        else:
            questions.update((name, str(record.values[name])) for name in QUESTION_NAMES if name in record.values)
    if not p:
        counts = ", ".join(f"{n:,} {reason}" for reason, n in dropped.items())
        raise InputError(f"{path}: no answer has both a confidence and a mark ({counts})")
    return Loaded(
        predictions=Predictions(np.array(p), np.array(y), pairs=True),
        title=path.name,
        taken=f"confidences {names[0]}, marks {names[1]}"
        + ("" if cluster is None else f", clusters by {cluster}")
        + (f", subgroups {', '.join(columns)}" if columns else ""),
        clusters=None if cluster is None else np.array(clusters, object),
        by={name: subgroups(path, name, column) for name, column in columns.items()},
        dropped=dict(dropped),
        notes=(*notes_on_stated(len(p), in_words, dropped, questions), *notes_on_scale(odd, in_words, percent)),
        rows=np.array(rows) if dropped else None,
    )


# --- fields -----------------------------------------------------------------------------------------------------------


def states_confidences(path: str | os.PathLike[str], confidence: str | None = None, correct: str | None = None) -> bool:
    """Return whether a JSON lines file has confidences in answers, rather than probabilities of one event.

    It does if the field of the marks, or that of the confidences, has a name typical of answers (correct, acc, …,
    confidence, …), or if a confidence is a sentence. False for a file that cannot be read, so that its reader raises
    the error.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "answers.jsonl"
    >>> _ = path.write_text('{"answer": {"text": "Oslo", "conf": 0.9}, "is_correct": true}\\n')
    >>> states_confidences(path)
    True
    """
    if not Path(path).name.lower().endswith(RECORD_ENDINGS):
        return False
    try:
        first = list(islice(records(path), RECORDS_LOOKED_AT))
    except (InputError, OSError):
        return False
    fields = _fields(first)
    names = _found(fields, confidence, CONFIDENCE_NAMES), _found(fields, correct, CORRECT_NAMES)
    if any(len(found) != 1 for found in names):
        return False
    (of_confidence,), (of_mark,) = names
    stated = [value for record in first if (value := _value(record, of_confidence)) is not None]
    in_a_sentence = any(isinstance(value, str) and not re.fullmatch(r"\s*[-+.\d]+\s*%?\s*", value) for value in stated)
    return (
        in_a_sentence
        or last_name(of_mark) in (*CORRECT_NAMES[0], *CORRECT_NAMES[1])
        or (last_name(of_confidence) in CONFIDENCE_NAMES[0] and last_name(of_mark) in CORRECT_NAMES[2])
    )


def _fields(first: Iterable[Record]) -> list[str]:
    """Return the fields of some records; one inside another is called "response.confidence"."""
    names: dict[str, None] = {}
    for record in first:
        for name, value in record.values.items():
            names[name] = None
            if isinstance(value, dict):
                names |= dict.fromkeys(f"{name}.{inner}" for inner in value)
    return list(names)


def _value(record: Record, name: str) -> Any:
    """Return the value of a field, which may be inside another; None if the record does not have it."""
    if name in record.values:
        return record.values[name]
    outer, dot, inner = name.partition(".")
    within = record.values.get(outer) if dot else None
    return within.get(inner) if isinstance(within, dict) else None


def last_name(name: str) -> str:
    """Return the name of a field as names are compared, without the name of the field that contains it."""
    return plain_name(name.rpartition(".")[2])


def _found(fields: list[str], asked: str | None, known: Sequence[Sequence[str]]) -> list[str]:
    """Return the fields that may be meant: the one asked for, else those with names from the first tuple that occurs.

    Fields at the top level come before those inside others. If several are found, it is unclear which one is meant.
    """
    if asked is not None:
        return [asked] if asked in fields else [name for name in fields if name.rpartition(".")[2] == asked]
    for names in known:
        for here in ([name for name in fields if "." not in name], fields):
            if found := [name for name in here if last_name(name) in names]:
                return found
    return []


def _names(path: Path, confidence: str | None, correct: str | None) -> tuple[str, str]:
    fields = _fields(islice(records(path), RECORDS_LOOKED_AT))
    return (
        _field(path, fields, confidence, CONFIDENCE_NAMES, "confidence"),
        _field(path, fields, correct, CORRECT_NAMES, "correct"),
    )


def _field(path: Path, fields: list[str], asked: str | None, known: Sequence[Sequence[str]], what: str) -> str:
    """Return the field asked for, or the one with a known name; raise if there are several."""
    found = _found(fields, asked, known)
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            "{file}: several fields could be {what!r}: {found}; choose one with {choice}",
            file=path,
            what=what,
            found=found,
            choice=HOW_TO_CHOOSE[what],
        )
    raise InputError(
        "{file}: no field has one of the usual names for {what!r} ({known}); choose one of {there} with {choice}"
        if asked is None
        else "{file}: there is no field {asked!r}; there are {there}",
        file=path,
        asked=asked,
        what=what,
        known=", ".join(name for names in known for name in names),
        there=listed(fields) or "no fields",
        choice=HOW_TO_CHOOSE[what],
    )


def confidence_in(path: Path, record: Record, name: str, percent: bool) -> tuple[float | str, bool]:
    """Return a number in [0, 1], or the reason why there is none, and whether it was read from a sentence."""
    value = _value(record, name)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NOT_STATED, False
    where = f"{path}, {record.where}"
    if isinstance(value, str):
        number = _plain_number(value)
        if number is None:
            stated = percentage_in(value)
            if stated is None:
                return NOT_STATED, False
            return (stated / 100, True) if stated <= 100 else (ABOVE_100_PERCENT, False)
        value = number
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{where}: {name!r} must be a number or a text with a percentage, got {value!r}")
    most = 100 if percent else 1
    if not 0 <= value <= most:
        raise InputError(
            "{where}: {name!r} must lie in [0, {most}], got {got:g}",
            where=where,
            name=name,
            most=most,
            got=value,
            hint=None if percent or not 1 < value <= 100 else Sentence("pass {percent=True} if these are percentages"),
        )
    return float(value) / most, False


def _plain_number(text: str) -> float | None:
    """Return the number that a text consists of; None if there is anything else."""
    return float(text) if re.fullmatch(r"\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)\s*", text) else None


def _mark(path: Path, record: Record, name: str) -> bool | None:
    """Return True for right, False for wrong, and None if there is no mark."""
    value = _value(record, name)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    word = str(value).strip().lower()
    if word in MARKS_OF_RIGHT or word in MARKS_OF_WRONG:
        return word in MARKS_OF_RIGHT
    raise InputError(f"{path}, {record.where}: {name!r} must be true or false, or 1 or 0, got {value!r}")


def _cluster(path: Path, record: Record, cluster: str) -> str:
    value = _value(record, cluster)
    if value is None or value != value:
        raise InputError(f"{path}, {record.where}: there is no {cluster!r}; there are {', '.join(record.values)}")
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def subgroups(path: Path, name: str, column: list[Any]) -> Array:
    """Return a column of subgroups; raise if no answer has it, or if it has lists or objects."""
    if all(value is None for value in column):
        raise InputError(f"{path}: no answer has the field {name!r}")
    if any(isinstance(value, (dict, list)) for value in column):
        raise InputError(f"{path}: the field {name!r} holds lists or objects, which cannot be subgroups")
    found = np.empty(len(column), object)
    found[:] = column
    return found


def notes_on_scale(odd: int, in_words: int, percent: bool) -> list[str]:
    """Return notes about numbers whose scale is doubtful, because they may be a fraction or a percentage."""
    if percent and odd:
        return [f"A number between 0 and 1 was stated {odd:,} times and read as less than 1 %, not as a fraction."]
    if in_words and odd:
        return [f"The number 1 was stated {odd:,} times next to percentages and read as certain, not as 1 %."]
    return []


def notes_on_stated(n: int, in_words: int, dropped: Counter[str], questions: Counter[tuple[str, str]]) -> list[str]:
    notes: list[str] = []
    if in_words:
        notes.append(f"{in_words:,} of {n:,} confidences were read from a text that holds exactly one percentage.")
    silent = dropped[NOT_STATED] + dropped[ABOVE_100_PERCENT]
    if silent:
        share = 100 * silent / (n + sum(dropped.values()))
        notes.append(
            f"{silent:,} answers ({share:.3g} %) state no confidence that can be read and were left out: the results "
            "apply to the others."
        )
    for name in QUESTION_NAMES:
        counts = [times for (field, _), times in questions.items() if field == name]
        if counts and max(counts) > 1 and sum(counts) == n:
            notes.append(
                Sentence(
                    "{name} repeats ({distinct:,} values in {n:,} rows): if rows with the same value answer the same "
                    "question, pass {cluster=}; otherwise the intervals are too narrow.",
                    name=name,
                    distinct=len(counts),
                    n=n,
                    cluster=name,
                )
            )
            break
    return notes
