"""Per-sample logs of the Language Model Evaluation Harness: multiple choice by log-likelihood.

What the target is called differs by task: the number of a choice, its text, or a letter. The log has `acc`, so that a
wrong reading is found out.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from believable import _check, _kernels
from believable._types import Float64s
from believable.errors import InputError
from believable.predictions import Predictions
from believable.readers.load import Loaded
from believable.readers.logs.records import Record, records

CHOICE_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Of the samples, how many may disagree with the log's own accuracy: a misread target is wrong more often.
MAX_SHARE_CONTRADICTED = 0.1

Target = frozenset[int] | None


@dataclass(frozen=True, slots=True)
class Sample:
    """One question: a log-likelihood and a text per choice, and what the log says of it."""

    where: str
    log_likelihoods: tuple[float, ...]
    choices: tuple[str, ...]
    target: Any
    accuracy: float | None
    question: str
    row: int = 0


def _by_number(sample: Sample) -> Target:
    """Read the target as the number of a choice: 0, "0", or several, [0, 2]."""
    target = sample.target
    if isinstance(target, str):
        if not re.fullmatch(r"\s*(?:\d{1,9}|\[\s*\d{1,9}(?:\s*,\s*\d{1,9})*\s*\])\s*", target):
            return None
        target = json.loads(target)
    several = target if isinstance(target, list) else [target]
    if not several or not all(type(one) is int and 0 <= one < len(sample.log_likelihoods) for one in several):
        return None
    return frozenset(several)


def _by_text(sample: Sample) -> Target:
    """Read the target as the text of a choice, which only one has."""
    target = str(sample.target).strip()
    found = [k for k, choice in enumerate(sample.choices) if choice.strip() == target]
    return frozenset(found) if len(found) == 1 else None


def _by_letter(sample: Sample) -> Target:
    """Read the target as the letter of a choice: A, (B), C."""
    letter = str(sample.target).strip().strip("().")
    k = CHOICE_LETTERS.find(letter) if len(letter) == 1 else -1
    return frozenset([k]) if 0 <= k < len(sample.log_likelihoods) else None


TARGET_READINGS: dict[str, Callable[[Sample], Target]] = {"number": _by_number, "text": _by_text, "letter": _by_letter}
TARGET_READINGS_IN_WORDS: dict[str | None, str] = {
    "number": "target as the number of a choice from 0",
    "text": "target as the text of a choice",
    "letter": "target as the letter of a choice",
    None: "whether it is right from the log's accuracy",
}


def read_targets(samples: Sequence[Sample], best: Sequence[int]) -> tuple[list[Target], str | None]:
    """The right choices of each sample, and how the target was read; None if the log's accuracy has to do."""
    read = {name: [reading(sample) for sample in samples] for name, reading in TARGET_READINGS.items()}
    enough = {name: found for name, found in read.items() if sum(one is not None for one in found) * 2 > len(samples)}
    if not enough:
        if all(sample.accuracy in (0, 1) for sample in samples):
            return [None] * len(samples), None
        shown = samples[0]
        raise InputError(
            f"{shown.where}: the target {str(shown.target)[:60]!r} is neither the number, the text nor the letter of "
            "a choice, and the log has no accuracy of 0 or 1 in its place"
        )
    agreeing = {name: _agreeing(samples, best, found) for name, found in enough.items()}
    first = max(enough, key=lambda name: (agreeing[name], sum(one is not None for one in enough[name])))
    for other in enough:
        differ = (k for k, (one, two) in enumerate(zip(enough[first], enough[other], strict=True)) if _differ(one, two))
        k = next(differ, None)
        if k is not None and agreeing[other] == agreeing[first]:
            raise InputError(
                f"{samples[k].where}: the target {samples[k].target!r} may be the {first} or the {other} of a choice, "
                "and the log has no accuracy that could tell"
            )
    if first == "number" and all(sample.accuracy is None for sample in samples):
        for sample, target in zip(samples, enough[first], strict=True):
            if target is None and re.fullmatch(r"\s*\d+\s*", str(sample.target)):
                raise InputError(
                    f"{sample.where}: the target {sample.target!r} is no number of a choice from 0 to "
                    f"{len(sample.log_likelihoods) - 1}; if this log counts from 1, take 1 from every target"
                )
    return enough[first], first


def _differ(one: Target, other: Target) -> bool:
    return one is not None and other is not None and one != other


def _agreeing(samples: Sequence[Sample], best: Sequence[int], targets: Sequence[Target]) -> int:
    """Samples of which the log's accuracy says the same as the target."""
    return sum(
        target is not None and sample.accuracy is not None and sample.accuracy == (k in target)
        for sample, k, target in zip(samples, best, targets, strict=True)
    )


def agreement(
    path: Path, samples: Sequence[Sample], best: Sequence[int], targets: Sequence[Target], name: str
) -> list[str]:
    """A note on whether the log says the same; an error where it says another thing."""
    if any(target is None for target in targets):
        return []
    known = [k for k, sample in enumerate(samples) if sample.accuracy is not None]
    if not known:
        return [f"The log has no {name} to check the reading of the target against."]
    between = next((k for k in known if samples[k].accuracy not in (0, 1)), None)
    if between is not None:
        raise InputError(
            f"{samples[between].where}: {name} is {samples[between].accuracy:g}, neither 0 nor 1: several choices are "
            "right in this task, and there is no one answer to be sure of"
        )
    wrong = len(known) - _agreeing(samples, best, targets)
    # Of many choices nearly all are wrong, by any reading: look at those that the log calls right as well.
    right = [k for k in known if samples[k].accuracy == 1]
    missed = sum(best[k] not in (targets[k] or ()) for k in right)
    if wrong > MAX_SHARE_CONTRADICTED * len(known) or 2 * missed > len(right):
        raise InputError(
            f"{path}: for {wrong:,} of {len(known):,} samples {name} does not say whether the likeliest choice is the "
            "target, so the log-likelihoods or the target mean something else here; no number would be right"
        )
    if wrong:
        return [f"For {wrong:,} of {len(known):,} samples {name} in the log says otherwise than the target does."]
    return [f"For all {len(known):,} samples {name} in the log agrees with the target."]


# --- the log ----------------------------------------------------------------------------------------------------------
# A file samples_TASK_TIME.jsonl (`--log_samples`) has an object per document and filter, with `doc_id`, `doc`,
# `target`, `arguments` (context and continuation of each choice), `resps`, `filtered_resps` (a log-likelihood, and
# whether it is what greedy decoding gives, for each choice) and the metrics, such as `acc`. Versions differ: numbers
# are written as numbers or as text, arguments as lists or as {"gen_args_0": {"arg_0": …}}, and the first wrote one
# array.


Normalise = Literal["none", "length", "bytes"]
ACCURACY_FIELDS = {"none": "acc", "length": "acc_norm", "bytes": "acc_bytes"}
LENGTH_OF_CHOICE: dict[str, Callable[[str], int]] = {"length": len, "bytes": lambda text: len(text.encode())}
HIGHEST_LOG_LIKELIHOOD = 1e-3  # a log-likelihood of 0 in half precision may be a little above
NO_TARGET, NOT_FINITE_LIKELIHOODS = "target is none of the choices", "log-likelihoods that are not finite"


def load_lm_eval(path: str | os.PathLike[str], *, normalise: Normalise = "none", filter: str | None = None) -> Loaded:
    """Multiple-choice answers from a harness's log of samples.

    With l_k the log-likelihood of choice k given the question, P(k) = exp(l_k) / sum of exp(l_j): what the model says
    of the choice if it is one of those offered. If every question has as many choices, the predictions are a matrix
    with classes A, B, C, … by position; otherwise, or where the log does not say which choice is right but only whether
    the likeliest is, they are (confidence, correct) pairs of the likeliest choice.

    Parameters
    ----------
    path : path
    normalise : {"none", "length", "bytes"}
        "length" divides l_k by the number of characters of choice k first, as the harness does for acc_norm, "bytes" by
        those of its UTF-8 form, as for acc_bytes. These pick a choice; they are not the model's probabilities, and
        rather flat.
    filter : str, optional
        Where a document was logged once for each of several filters, which one to take; the first if left out.

    Returns
    -------
    Loaded
        `clusters` are the documents, where there are several and some are there more than once. `notes` say how many
        samples agree with the log's own accuracy; where more than a tenth does not, the target was
        misread and that is an error.

    References
    ----------
    Gao et al., A framework for few-shot language model evaluation, github.com/EleutherAI/lm-evaluation-harness.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "samples_arc.jsonl"
    >>> _ = path.write_text('{"doc_id": 0, "target": "0", "acc": 1.0, '
    ...     '"filtered_resps": [["-1.0", "True"], ["-2.0", "False"]]}\\n')
    >>> loaded = load_lm_eval(path)
    >>> loaded.predictions.scores.round(3).tolist(), loaded.notes
    ([[0.731, 0.269]], ('For all 1 samples acc in the log agrees with the target.',))
    """
    _check.choice(normalise, get_args(Normalise), "normalise")
    path = Path(path)
    samples, notes = _of_one_filter(path, filter, normalise)
    dropped: Counter[str] = Counter()
    finite = [sample for sample in samples if all(map(math.isfinite, sample.log_likelihoods))]
    dropped[NOT_FINITE_LIKELIHOODS] = len(samples) - len(finite)
    if not finite:
        raise InputError(f"{path}: no sample has finite log-likelihoods")
    probabilities = [_probabilities(sample, normalise) for sample in finite]
    best = [int(np.argmax(p)) for p in probabilities]
    targets, reading = read_targets(finite, best)
    kept = [k for k, target in enumerate(targets) if target is not None or reading is None]
    dropped[NO_TARGET] = len(finite) - len(kept)
    notes += agreement(
        path, [finite[k] for k in kept], [best[k] for k in kept], [targets[k] for k in kept], ACCURACY_FIELDS[normalise]
    )
    predictions, how = _predictions(
        [probabilities[k] for k in kept], [targets[k] for k in kept], [finite[k] for k in kept], reading, normalise
    )
    rows = np.array([finite[k].row for k in kept])
    questions = np.array([finite[k].question for k in kept], object)
    distinct = len(set(questions.tolist()))
    repeated = 1 < distinct < len(questions)
    if distinct == 1 and len(questions) > 1:
        notes.append("Every sample has the same document in the log, so there are no clusters of samples.")
    return Loaded(
        predictions=predictions,
        title=path.name,
        taken=f"P(choice) from log-likelihoods{_in_words(normalise)}, {TARGET_READINGS_IN_WORDS[reading]}"
        + (", clusters by document" if repeated else ""),
        clusters=questions if repeated else None,
        dropped={reason: n for reason, n in dropped.items() if n},
        notes=(*how, *notes),
        pairs=predictions.kind == "binary",
        rows=None if rows.tolist() == list(range(len(rows))) else rows,
    )


def _in_words(normalise: Normalise) -> str:
    return {"none": "", "length": " per character", "bytes": " per byte"}[normalise]


# --- what is in a record ----------------------------------------------------------------------------------------------


def _of_one_filter(path: Path, asked: str | None, normalise: Normalise) -> tuple[list[Sample], list[str]]:
    """The samples of one filter; of the others it is said that they are there."""
    samples: list[Sample] = []
    found: Counter[str] = Counter()
    for row, record in enumerate(records(path)):
        name = str(record.values.get("filter", "none"))
        found[name] += 1
        if name == (next(iter(found)) if asked is None else asked):
            samples.append(_sample(path, row, record, normalise))
    if asked is not None and asked not in found:
        raise InputError(f"{path}: there is no filter {asked!r}; there are {', '.join(map(repr, found))}")
    taken = next(iter(found)) if asked is None else asked
    others = [f"{name!r} ({n:,} lines)" for name, n in found.items() if name != taken]
    return samples, [f"The log has several filters: {taken!r} was taken, not {', '.join(others)}."] if others else []


def _sample(path: Path, row: int, record: Record, normalise: Normalise) -> Sample:
    values, where = record.values, f"{path}, {record.where}"
    answers = values.get("filtered_resps")
    pairs = [_log_likelihood(answer) for answer in answers] if isinstance(answers, list) else []
    if not pairs or any(pair is None for pair in pairs):
        raise InputError(
            f"{where}: filtered_resps must hold a log-likelihood for each choice, as multiple-choice tasks log them; "
            f"got {str(answers)[:60]}. A task that generates text has no probabilities: write a file with a confidence "
            "and correct for each answer"
        )
    numbers = [pair for pair in pairs if pair is not None]
    above = next((number for number in numbers if number > HIGHEST_LOG_LIKELIHOOD), None)
    if above is not None:
        raise InputError(
            f"{where}: a log-likelihood is at most 0, got {above:g}; are these losses? Then write them with a minus"
        )
    texts = _continuations(values.get("arguments"))
    if "acc_mutual_info" in values and len(numbers) % 2 == 0:  # the second half is without the question
        numbers, texts = numbers[: len(numbers) // 2], texts[: len(numbers) // 2]
    if len(numbers) < 2:
        raise InputError(f"{where}: there is one log-likelihood, and no choice between several to be sure of")
    if len(texts) != len(numbers):
        texts = []
    if normalise != "none" and not (texts and all(texts)):
        raise InputError(
            "{where}: {normalise=} needs the texts of the choices, and arguments has none",
            where=where,
            normalise=normalise,
        )
    if "target" not in values:
        raise InputError(f"{where}: there is no target")
    question = values.get("doc_hash", values.get("doc_id", record.where))
    accuracy = _number(values.get(ACCURACY_FIELDS[normalise]))
    return Sample(where, tuple(numbers), tuple(texts), values["target"], accuracy, str(question), row)


def _log_likelihood(answer: Any) -> float | None:
    """Of a pair of log-likelihood and is-greedy; None for anything else."""
    while isinstance(answer, list) and len(answer) == 1 and isinstance(answer[0], list):
        answer = answer[0]
    if not isinstance(answer, list) or len(answer) != 2 or str(answer[1]).lower() not in _GREEDY_MARKS:
        return None
    return _number(answer[0])


_GREEDY_MARKS = ("true", "false", "0", "1", "0.0", "1.0")


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return float(value) if isinstance(value, (int, float)) else None


def _continuations(arguments: Any) -> list[str]:
    """The text of each choice, without the space that joins it to the question; empty where there is none."""
    if isinstance(arguments, dict):
        # gen_args_10 comes before gen_args_2 in a log whose keys were sorted
        places = {name: name.removeprefix("gen_args_") for name in arguments}
        if all(place.isdecimal() for place in places.values()):
            arguments = {name: arguments[name] for name in sorted(arguments, key=lambda name: int(places[name]))}
        arguments = [entry.get("arg_1") if isinstance(entry, dict) else None for entry in arguments.values()]
    elif isinstance(arguments, list):
        arguments = [entry[1] if isinstance(entry, list) and len(entry) > 1 else None for entry in arguments]
    else:
        return []
    return [text.removeprefix(" ") if isinstance(text, str) else "" for text in arguments]


def _probabilities(sample: Sample, normalise: Normalise) -> Float64s:
    z = np.array(sample.log_likelihoods)
    if normalise != "none":
        z = z / [LENGTH_OF_CHOICE[normalise](choice) for choice in sample.choices]
    return np.asarray(_kernels.softmax(z[None, :])[0], np.float64)


# --- predictions ------------------------------------------------------------------------------------------------------


def _predictions(
    probabilities: Sequence[Float64s],
    targets: Sequence[Target],
    samples: Sequence[Sample],
    reading: str | None,
    normalise: Normalise,
) -> tuple[Predictions, list[str]]:
    """A matrix where that can be, pairs otherwise; and why."""
    sizes = Counter(len(p) for p in probabilities)
    notes = []
    if normalise != "none":
        notes.append(
            f"Log-likelihoods were divided by the {'characters' if normalise == 'length' else 'bytes'} of each choice "
            "first. That picks a choice; it makes no probabilities that the model stated."
        )
    one_right = all(target is not None and len(target) == 1 for target in targets)
    if one_right and len(sizes) == 1:
        k = next(iter(sizes))
        names: Sequence[Any] = (
            list(CHOICE_LETTERS[:k]) if k <= len(CHOICE_LETTERS) else [str(place) for place in range(1, k + 1)]
        )
        labels = [names[next(iter(target))] for target in targets if target is not None]
        return Predictions(np.array(probabilities), np.array(labels), classes=names), notes
    if reading is None:
        why = "the log does not say which choice is right, only whether the likeliest is"
    elif not one_right:
        why = "some questions have several right choices"
    else:
        why = f"questions have {min(sizes)} to {max(sizes)} choices"
    notes.append(f"Audited are pairs of the likeliest choice's probability and whether it is right: {why}.")
    best = [int(np.argmax(p)) for p in probabilities]
    right = [
        sample.accuracy == 1 if target is None else place in target
        for sample, place, target in zip(samples, best, targets, strict=True)
    ]
    return Predictions(np.array([p.max() for p in probabilities]), np.array(right)), notes
