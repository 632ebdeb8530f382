"""Which choice is right: what a task calls the target, checked against the log's own accuracy."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from believable.errors import InputError

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_WRONG = 0.1  # of the samples may disagree with the log's own accuracy; a misread target is wrong more often

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
    """0, "0", or several: [0, 2]."""
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
    """The one choice that reads so."""
    target = str(sample.target).strip()
    found = [k for k, choice in enumerate(sample.choices) if choice.strip() == target]
    return frozenset(found) if len(found) == 1 else None


def _by_letter(sample: Sample) -> Target:
    """A, (B), C."""
    letter = str(sample.target).strip().strip("().")
    k = LETTERS.find(letter) if len(letter) == 1 else -1
    return frozenset([k]) if 0 <= k < len(sample.log_likelihoods) else None


READINGS: dict[str, Callable[[Sample], Target]] = {"number": _by_number, "text": _by_text, "letter": _by_letter}
IN_WORDS: dict[str | None, str] = {
    "number": "target as the number of a choice from 0",
    "text": "target as the text of a choice",
    "letter": "target as the letter of a choice",
    None: "whether it is right from the log's accuracy",
}


def read_targets(samples: Sequence[Sample], best: Sequence[int]) -> tuple[list[Target], str | None]:
    """The right choices of each sample, and how the target was read; None if the log's accuracy has to do."""
    read = {name: [reading(sample) for sample in samples] for name, reading in READINGS.items()}
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
    if wrong > MOST_WRONG * len(known) or 2 * missed > len(right):
        raise InputError(
            f"{path}: for {wrong:,} of {len(known):,} samples {name} does not say whether the likeliest choice is the "
            "target, so the log-likelihoods or the target mean something else here; no number would be right"
        )
    if wrong:
        return [f"For {wrong:,} of {len(known):,} samples {name} in the log says otherwise than the target does."]
    return [f"For all {len(known):,} samples {name} in the log agrees with the target."]
