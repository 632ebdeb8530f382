"""Answers of language models: logs with log-likelihoods of choices, and confidences that a model stated.

A stated confidence is a number, or words with one percentage in them; nothing is guessed from other words.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from believable._check import renamed
from believable.errors import Hint, InputError, Sentence
from believable.predictions import Predictions
from believable.readers.load import Loaded
from believable.readers.logs.lm_eval import Normalise, load_lm_eval
from believable.readers.logs.records import Record, records

HARNESS_FIELDS = ("filtered_resps", "target")
RECORD_ENDINGS = (".jsonl", ".jsonl.gz", ".ndjson", ".json")
CONFIDENCE_NAMES = ("confidence", "stated_confidence", "verbalised_confidence", "verbalized_confidence")
CORRECT_NAMES = ("correct", "is_correct", "exact_match", "acc")
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
    """Whether the first object of a file has the fields of a harness's log of samples.

    False for a file that cannot be read: that is for its reader to say.

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
    percent: bool = False,
) -> Loaded:
    """The answers of a language model, one object per line of a file.

    A file whose first object has `filtered_resps` and `target` is a log of samples of the Language Model Evaluation
    Harness, and read by `load_lm_eval`; any other by `load_stated`, which takes a confidence and whether the answer was
    correct. Naming the field of the confidence says that it is the latter.

    Parameters
    ----------
    path : path
    normalise, filter
        For logs of samples; see `load_lm_eval`.
    confidence, correct, cluster, percent
        For stated confidences; see `load_stated`.

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
    if confidence is None and is_lm_samples(path):
        for name, given in (("correct", correct is not None), ("cluster", cluster is not None), ("percent", percent)):
            if given:
                raise InputError(
                    "{argument} is for stated confidences, and {file} is a log of samples",
                    argument=name,
                    file=Path(path).name,
                )
        return load_lm_eval(path, normalise=normalise, filter=filter)
    if normalise != "none" or filter is not None:
        raise InputError("{normalise} and {filter} are for logs of samples, which {file} is not", file=Path(path).name)
    return load_stated(path, confidence=confidence, correct=correct, cluster=cluster, percent=percent)


# --- stated confidences ---------------------------------------------------------------------------------------------


def percentage_in(text: str) -> float | None:
    """The one percentage that a text states, as a number; None if there is none, or it is not one.

    "85%", "85 %" and "I am 85 percent sure" state 85. A range (80–90 %), a bound (more than 90 %, 90 % or more), the
    chance of being wrong, and two percentages that differ state none: nothing is guessed. The same one twice is one.

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
    percent: bool = False,
) -> Loaded:
    """A JSON lines file with a confidence and whether the answer was correct, one object per answer.

    The confidence is a number in [0, 1] (0 to 100 with `percent`), or a text that states one percentage
    (`percentage_in`). Answers without a stated confidence, or without a mark, are left out and counted; none is given a
    number that the model did not state. The mark is true or false, 1 or 0, or such a word.

    Parameters
    ----------
    path : path
        Of a .jsonl file, which may be compressed with gzip.
    confidence : str, optional
        The field of the confidence; confidence, stated_confidence, verbalised_confidence and verbalized_confidence are
        known.
    correct : str, optional
        The field that marks the answer; correct, is_correct, exact_match and acc are known.
    cluster : str, optional
        The field that names the question, where several answers to one were sampled: they are a cluster.
    percent : bool
        Numbers are percentages. Text with a percent sign is one in any case.

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
    names: tuple[str, str] | None = None
    p: list[float] = []
    y: list[bool] = []
    clusters: list[str] = []
    dropped: Counter[str] = Counter()
    questions: Counter[tuple[str, str]] = Counter()
    in_words = odd = 0
    rows: list[int] = []
    for row, record in enumerate(records(path)):
        if names is None:
            names = _names(path, record, confidence, correct)
        value, was_text = _confidence(path, record, names[0], percent)
        mark = _mark(path, record, names[1])
        if isinstance(value, str) or mark is None:
            dropped[value if isinstance(value, str) else NOT_MARKED] += 1
            continue
        p.append(value)
        y.append(mark)
        rows.append(row)
        in_words += was_text
        odd += not was_text and (0 < value < 0.01 if percent else value == 1)
        if cluster is not None:
            clusters.append(_cluster(path, record, cluster))
        else:
            questions.update((name, str(record.values[name])) for name in QUESTION_NAMES if name in record.values)
    if not p or names is None:
        counts = ", ".join(f"{n:,} {reason}" for reason, n in dropped.items())
        raise InputError(f"{path}: no answer has both a confidence and a mark ({counts})")
    return Loaded(
        predictions=Predictions(np.array(p), np.array(y)),
        title=path.name,
        taken=f"confidences {names[0]}, marks {names[1]}" + ("" if cluster is None else f", clusters by {cluster}"),
        clusters=None if cluster is None else np.array(clusters, object),
        dropped=dict(dropped),
        notes=(*_notes(len(p), in_words, dropped, questions), *_of_another_scale(odd, in_words, percent)),
        pairs=True,
        rows=np.array(rows) if dropped else None,
    )


def _names(path: Path, record: Record, confidence: str | None, correct: str | None) -> tuple[str, str]:
    fields = list(record.values)
    return (
        _field(path, fields, confidence, CONFIDENCE_NAMES, "confidence"),
        _field(path, fields, correct, CORRECT_NAMES, "correct"),
    )


def _field(path: Path, fields: list[str], asked: str | None, known: Iterable[str], what: str) -> str:
    """The field asked for, or the one with a known name; never one of two."""
    if asked is not None:
        return asked
    found = [name for name in known if name in fields]
    if len(found) == 1:
        return found[0]
    there = ", ".join(fields) or "no fields"
    if found:
        raise InputError(
            "{file}: several fields could be {what!r}: {found}; choose one with {choice}",
            file=path,
            what=what,
            found=found,
            choice=HOW_TO_CHOOSE[what],
        )
    raise InputError(
        "{file}: no field is called {known}; there are {there}: choose one with {choice}",
        file=path,
        known=" or ".join(known),
        there=there,
        choice=HOW_TO_CHOOSE[what],
    )


def _confidence(path: Path, record: Record, name: str, percent: bool) -> tuple[float | str, bool]:
    """A number in [0, 1], or the reason why there is none; and whether it was read from words."""
    value = record.values.get(name)
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
            hint=None if percent or not 1 < value <= 100 else Sentence("pass {percent=True} if 100 is certain"),
        )
    return float(value) / most, False


def _plain_number(text: str) -> float | None:
    """A text that is a number and nothing else."""
    return float(text) if re.fullmatch(r"\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)\s*", text) else None


def _mark(path: Path, record: Record, name: str) -> bool | None:
    """Right, wrong, or None where nobody said."""
    value = record.values.get(name)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    word = str(value).strip().lower()
    if word in MARKS_OF_RIGHT or word in MARKS_OF_WRONG:
        return word in MARKS_OF_RIGHT
    raise InputError(f"{path}, {record.where}: {name!r} must be true or false, or 1 or 0, got {value!r}")


def _cluster(path: Path, record: Record, cluster: str) -> str:
    value = record.values.get(cluster)
    if value is None or value != value:
        raise InputError(f"{path}, {record.where}: there is no {cluster!r}; there are {', '.join(record.values)}")
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _of_another_scale(odd: int, in_words: int, percent: bool) -> list[str]:
    """Numbers that would be another confidence on the other scale, in a file that has both."""
    if percent and odd:
        return [f"A number between 0 and 1 was stated {odd:,} times and read as less than 1 %, not as a fraction."]
    if in_words and odd:
        return [f"The number 1 was stated {odd:,} times beside percentages and read as certain, not as 1 %."]
    return []


def _notes(n: int, in_words: int, dropped: Counter[str], questions: Counter[tuple[str, str]]) -> list[str]:
    notes: list[str] = []
    if in_words:
        notes.append(f"{in_words:,} of {n:,} confidences were read as the one percentage in a text.")
    silent = dropped[NOT_STATED] + dropped[ABOVE_100_PERCENT]
    if silent:
        share = 100 * silent / (n + sum(dropped.values()))
        notes.append(
            f"{silent:,} answers ({share:.3g} %) state no confidence that can be read and are left out: this holds for "
            "the others."
        )
    for name in QUESTION_NAMES:
        counts = [times for (field, _), times in questions.items() if field == name]
        if counts and max(counts) > 1 and sum(counts) == n:
            notes.append(
                Sentence(
                    "{name} repeats ({distinct:,} values in {n:,} rows): if these are answers to one question, pass "
                    "{cluster=}, or the intervals are too narrow.",
                    name=name,
                    distinct=len(counts),
                    n=n,
                    cluster=name,
                )
            )
            break
    return notes
