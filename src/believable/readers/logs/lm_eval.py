"""Sample logs of the Language Model Evaluation Harness: multiple choice by log-likelihood.

Depending on the task, the target is the number of a choice, its text, or a letter. The accuracy in the log (`acc`)
shows whether the target was understood correctly.
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
# The share of samples that may disagree with the accuracy in the log; if the target is misread, more do.
MAX_SHARE_CONTRADICTED = 0.1

Target = frozenset[int] | None


@dataclass(frozen=True, slots=True)
class Sample:
    """One question: the log-likelihood and text of each choice, the target, and the accuracy in the log."""

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
    """Read the target as the text of exactly one choice."""
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
    "number": "target read as the index of a choice, counted from 0",
    "text": "target read as the text of a choice",
    "letter": "target read as the letter of a choice",
    None: "correctness from the log's accuracy",
}


def read_targets(samples: Sequence[Sample], best: Sequence[int]) -> tuple[list[Target], str | None]:
    """Return the correct choices of each sample, and how the target was read; None if only the accuracy is known."""
    read = {name: [reading(sample) for sample in samples] for name, reading in TARGET_READINGS.items()}
    enough = {name: found for name, found in read.items() if sum(one is not None for one in found) * 2 > len(samples)}
    if not enough:
        if all(sample.accuracy in (0, 1) for sample in samples):
            return [None] * len(samples), None
        shown = samples[0]
        raise InputError(
            f"{shown.where}: the target {str(shown.target)[:60]!r} is neither the number, the text nor the letter of "
            "a choice, and the log has no accuracy of 0 or 1 to use instead"
        )
    agreeing = {name: _agreeing(samples, best, found) for name, found in enough.items()}
    first = max(enough, key=lambda name: (agreeing[name], sum(one is not None for one in enough[name])))
    for other in enough:
        differ = (k for k, (one, two) in enumerate(zip(enough[first], enough[other], strict=True)) if _differ(one, two))
        k = next(differ, None)
        if k is not None and agreeing[other] == agreeing[first]:
            raise InputError(
                f"{samples[k].where}: the target {samples[k].target!r} may be the {first} or the {other} of a choice, "
                "and no accuracy in the log makes it clear"
            )
    if first == "number" and all(sample.accuracy is None for sample in samples):
        for sample, target in zip(samples, enough[first], strict=True):
            if target is None and re.fullmatch(r"\s*\d+\s*", str(sample.target)):
                raise InputError(
                    f"{sample.where}: the target {sample.target!r} is not the number of a choice, from 0 to "
                    f"{len(sample.log_likelihoods) - 1}; if this log counts from 1, subtract 1 from every target"
                )
    return enough[first], first


def _differ(one: Target, other: Target) -> bool:
    return one is not None and other is not None and one != other


def _agreeing(samples: Sequence[Sample], best: Sequence[int], targets: Sequence[Target]) -> int:
    """Return the number of samples whose accuracy in the log agrees with the target."""
    return sum(
        target is not None and sample.accuracy is not None and sample.accuracy == (k in target)
        for sample, k, target in zip(samples, best, targets, strict=True)
    )


def agreement(
    path: Path, samples: Sequence[Sample], best: Sequence[int], targets: Sequence[Target], name: str
) -> list[str]:
    """Return a note on whether the accuracy in the log agrees with the targets; raise if it often disagrees."""
    if any(target is None for target in targets):
        return []
    known = [k for k, sample in enumerate(samples) if sample.accuracy is not None]
    if not known:
        return [f"The log has no {name}, so it could not be checked whether the target was read correctly."]
    between = next((k for k in known if samples[k].accuracy not in (0, 1)), None)
    if between is not None:
        raise InputError(
            f"{samples[between].where}: {name} is {samples[between].accuracy:g}, neither 0 nor 1: several choices are "
            "right in this task, so there is no single answer whose confidence could be judged"
        )
    wrong = len(known) - _agreeing(samples, best, targets)
    # With many choices nearly all are wrong, however the target is read, so those that the log calls right count too.
    right = [k for k in known if samples[k].accuracy == 1]
    missed = sum(best[k] not in (targets[k] or ()) for k in right)
    if wrong > MAX_SHARE_CONTRADICTED * len(known) or 2 * missed > len(right):
        raise InputError(
            f"{path}: for {wrong:,} of {len(known):,} samples {name} contradicts the target and the likeliest choice, "
            "so the log-likelihoods or the target mean something else here, and no result would be right"
        )
    if wrong:
        return [f"For {wrong:,} of {len(known):,} samples {name} in the log disagrees with the target."]
    return [f"For all {len(known):,} samples {name} in the log agrees with the target."]


# --- the log ----------------------------------------------------------------------------------------------------------
# A file samples_TASK_TIME.jsonl (`--log_samples`) has an object per document and filter, with `doc_id`, `doc`,
# `target`, `arguments` (context and continuation of each choice), `resps`, `filtered_resps` (for each choice, its
# log-likelihood and whether greedy decoding gives it) and the metrics, such as `acc`. Versions of the harness differ:
# numbers are written as numbers or as text, arguments as lists or as {"gen_args_0": {"arg_0": …}}, and the first
# versions wrote a single array.


Normalise = Literal["none", "length", "bytes"]
ACCURACY_FIELDS = {"none": "acc", "length": "acc_norm", "bytes": "acc_bytes"}
LENGTH_OF_CHOICE: dict[str, Callable[[str], int]] = {"length": len, "bytes": lambda text: len(text.encode())}
HIGHEST_LOG_LIKELIHOOD = 1e-3  # in half precision, a log-likelihood of 0 may be slightly positive
NO_TARGET, NOT_FINITE_LIKELIHOODS = "target is none of the choices", "log-likelihoods that are not finite"


def load_lm_eval(path: str | os.PathLike[str], *, normalise: Normalise = "none", filter: str | None = None) -> Loaded:
    """Read multiple-choice answers from a sample log of lm-evaluation-harness.

    With l_k the log-likelihood of choice k given the question, P(k) = exp(l_k) / sum of exp(l_j): the model's
    probability of the choice, given that it is one of those offered. If every question has the same number of choices,
    the predictions are a matrix with classes A, B, C, … by position. Otherwise, or if the log does not say which choice
    is right but only whether the likeliest is, they are (confidence, correct) pairs of the likeliest choice.

    Parameters
    ----------
    path : path
        The log, a .jsonl file.
    normalise : {"none", "length", "bytes"}
        "length" divides l_k by the number of characters of choice k first, as the harness does for acc_norm; "bytes"
        divides by the number of bytes in UTF-8, as for acc_bytes. This helps to pick a choice, but the results are not
        the model's probabilities, and are rather flat.
    filter : str, optional
        The filter to use, if documents were logged once for each of several filters; by default, the first.

    Returns
    -------
    Loaded
        `clusters` are the documents, if there are several and some occur more than once. `notes` say how many samples
        agree with the accuracy in the log; if more than a tenth disagree, the target was misread, which is an error.

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
        rows=None if rows.tolist() == list(range(len(rows))) else rows,
    )


def _in_words(normalise: Normalise) -> str:
    return {"none": "", "length": " per character", "bytes": " per byte"}[normalise]


# --- records ----------------------------------------------------------------------------------------------------------


def _of_one_filter(path: Path, asked: str | None, normalise: Normalise) -> tuple[list[Sample], list[str]]:
    """Return the samples of one filter, and a note about other filters in the log."""
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
    return samples, [f"The log has several filters: {taken!r} was used, not {', '.join(others)}."] if others else []


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
            f"{where}: a log-likelihood is at most 0, got {above:g}; if these are losses, change their sign"
        )
    texts = _continuations(values.get("arguments"))
    if "acc_mutual_info" in values and len(numbers) % 2 == 0:  # the second half is conditioned on no question
        numbers, texts = numbers[: len(numbers) // 2], texts[: len(numbers) // 2]
    if len(numbers) < 2:
        raise InputError(f"{where}: there is only one log-likelihood, so there is no choice between several")
    if len(texts) != len(numbers):
        texts = []
    if normalise != "none" and not (texts and all(texts)):
        raise InputError(
            "{where}: {normalise=} needs the texts of the choices, but the field arguments has none",
            where=where,
            normalise=normalise,
        )
    if "target" not in values:
        raise InputError(f"{where}: there is no target")
    question = values.get("doc_hash", values.get("doc_id", record.where))
    accuracy = _number(values.get(ACCURACY_FIELDS[normalise]))
    return Sample(where, tuple(numbers), tuple(texts), values["target"], accuracy, str(question), row)


def _log_likelihood(answer: Any) -> float | None:
    """Return the first entry of a pair (log-likelihood, is-greedy); None for anything else."""
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
    """Return the text of each choice, without the space that joins it to the question; "" if it has none."""
    if isinstance(arguments, dict):
        # If the keys of a log were sorted as text, gen_args_10 comes before gen_args_2.
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
    """Return a matrix if possible, otherwise pairs, and notes that say why."""
    sizes = Counter(len(p) for p in probabilities)
    notes = []
    if normalise != "none":
        notes.append(
            f"Log-likelihoods were divided by the number of {'characters' if normalise == 'length' else 'bytes'} of "
            "each choice first. The results help to pick a choice, but are not the model's own probabilities."
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
    notes.append(
        f"This audit is of the probability of the likeliest choice and whether that choice is right, because {why}."
    )
    best = [int(np.argmax(p)) for p in probabilities]
    right = [
        sample.accuracy == 1 if target is None else place in target
        for sample, place, target in zip(samples, best, targets, strict=True)
    ]
    return Predictions(np.array([p.max() for p in probabilities]), np.array(right), pairs=True), notes
