"""Evaluation logs of Inspect AI: the confidence of each answer, and whether it was correct, without Inspect.

A sample has scores by the name of their scorer. The fields in which a confidence or a mark may be are called

- `SCORER`, the value of a score, or `SCORER.KEY` if the value is an object;
- `SCORER.metadata.KEY`, metadata of a score;
- `metadata.KEY` and `store.KEY`, metadata of the sample, and its store at the end;
- `SCORER.logprobs`, the probability of the token that is the answer which the scorer found, if log probabilities were
  logged.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np

from believable._types import Ints
from believable.errors import Hint, InputError
from believable.predictions import Predictions
from believable.readers.columns import listed
from believable.readers.load import Loaded
from believable.readers.logs.inspect_files import Sample, samples
from believable.readers.logs.language_models import (
    CONFIDENCE_NAMES,
    CORRECT_NAMES,
    confidence_in,
    last_name,
    notes_on_scale,
    notes_on_stated,
    subgroups,
)
from believable.readers.logs.records import Record

SAMPLES_LOOKED_AT = 20  # to find the names of fields
LOGPROBS = "logprobs"
SCORER_OF_OLD_LOGS = "scorer"  # the first version of logs had one score without a name
PUNCTUATION = " \t\r\n.,:;()[]*\"'`Ġ▁"  # around an answer in a token; the last two are spaces of tokenisers
# What Inspect's `value_to_float` makes of a score.
MARKS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
NO_ANSWER, PARTIAL = "N", "P"
ENDED_IN_ERROR, INVALIDATED, NOT_SCORED = "sample ended in an error", "invalidated sample", "not scored"


Read = Callable[[dict[str, Any]], Iterator[Sample]]  # yields the samples, and fills in the header
Place = tuple[int, str]  # of a sample in the order of the rows: its epoch, then its id


class Field(NamedTuple):
    """A value in a sample, the scorer that it belongs to ("" for those of the sample itself), and where it is there."""

    value: Any
    scorer: str = ""
    part: Literal["value", "metadata", "logprobs", "sample"] = "sample"


class Names(NamedTuple):
    """The fields to read: of the confidence, and of the mark."""

    confidence: str
    correct: str


class Answer(NamedTuple):
    """What is kept of a sample."""

    place: Place
    cluster: str
    confidence: float
    mark: float
    by: tuple[Any, ...]


def load_eval_log(
    path: str | os.PathLike[str],
    *,
    confidence: str | None = None,
    correct: str | None = None,
    cluster: str | None = None,
    by: str | Sequence[str] = (),
    percent: bool = False,
) -> Loaded:
    """Read confidences, and whether each answer was correct, from a log of Inspect AI (.eval or .json).

    Marks become numbers as in Inspect: C (correct) is 1, I (incorrect) and N (no answer) are 0, P (partially correct)
    is 0.5; yes, no, true, false and numbers from 0 to 1 stand for themselves. Samples without a score, without a
    confidence, invalidated, or ended by an error before they were scored are left out and counted. Rows are in the
    order of epochs and sample ids, so that two logs of the same task can be compared.

    Parameters
    ----------
    path : path
    confidence : str, optional
        The field of the confidence: `SCORER`, `SCORER.KEY`, `SCORER.metadata.KEY`, `metadata.KEY`, `store.KEY` or
        `logprobs`, or the end of one of these. By default, the field called confidence, conf, stated_confidence,
        verbalised_confidence, verbalized_confidence, confidence_score or certainty, of the scorer that marks the answer
        if it has one; else p, prob, proba, probability, p_correct, p_true or score, in a score; else `logprobs`.
    correct : str, optional
        The scorer that marks the answer, or `SCORER.KEY`. By default, the only one whose scores are marks.
    cluster : str, optional
        The field that identifies the question. By default, the sample's id, if there were several epochs.
    by : str or sequence of str
        Fields of subgroups, such as keys of the sample's metadata, `epoch` or a scorer.
    percent : bool
        Confidences that are numbers are percentages. Text with a percent sign always is.

    Returns
    -------
    Loaded
        1-D predictions: (confidence, correct) pairs.

    Notes
    -----
    `logprobs` is the probability of one token, given the text before it: the last token that is the answer, such as the
    letter in "ANSWER: B". It is not normalised over the other choices. A long answer has no such token.

    Examples
    --------
    >>> import json, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.json"
    >>> score = {"value": "C", "answer": "Oslo", "metadata": {"confidence": 0.9}}
    >>> log = {"version": 2, "eval": {}, "samples": [{"id": 1, "epoch": 1, "scores": {"match": score}}]}
    >>> _ = path.write_text(json.dumps(log))
    >>> loaded = load_eval_log(path)
    >>> loaded.predictions.scores.tolist(), loaded.taken
    ([0.9], 'confidences match.metadata.confidence, marks match')
    """
    return answers_in(
        lambda header: samples(path, header),
        Path(path),
        confidence=confidence,
        correct=correct,
        cluster=cluster,
        by=[by] if isinstance(by, str) else list(by),
        percent=percent,
    )


def answers_in(
    read: Read,
    path: Path,
    *,
    confidence: str | None = None,
    correct: str | None = None,
    cluster: str | None = None,
    by: Sequence[str] = (),
    percent: bool = False,
) -> Loaded:
    """Read confidences and marks from samples that `read` yields, each time anew; see `load_eval_log`.

    `path` is the name of their source, for messages and the title.
    """
    header: dict[str, Any] = {}
    names = _names(read, path, confidence, correct, header)
    places: list[Place] = []
    answers: list[Answer] = []
    dropped: Counter[str] = Counter()
    grades: Counter[str] = Counter()
    in_words = odd = 0
    for sample in read(header):
        places.append(_place(sample))
        found = _fields_of(sample)
        record = Record(
            f"sample {_id(sample)!r}, epoch {_epoch(sample)}", {name: one.value for name, one in found.items()}
        )
        if (reason := _unscored(sample, record, names.correct)) is not None:
            dropped[reason] += 1
            continue
        value, was_text = confidence_in(path, record, names.confidence, percent)
        if isinstance(value, str):
            dropped[value] += 1
            continue
        grades[str(record.values[names.correct])] += 1
        in_words += was_text
        odd += not was_text and (0 < value < 0.01 if percent else value == 1)
        answers.append(
            Answer(
                place=places[-1],
                cluster=_id(sample) if cluster is None else _cluster(path, record, cluster),
                confidence=value,
                mark=_mark(path, record, names.correct),
                by=tuple(_value_of(record, name) for name in by),
            )
        )
    if not answers:
        counts = ", ".join(f"{n:,} {reason}" for reason, n in dropped.items())
        raise InputError(f"{path}: no sample has both a confidence and a score ({counts})")
    answers.sort(key=lambda answer: answer.place)
    marks = np.array([answer.mark for answer in answers])
    subgroups_by = {name: [answer.by[k] for answer in answers] for k, name in enumerate(by)}
    with_clusters = cluster is not None or len({id for _, id in places}) < len(places)
    return Loaded(
        predictions=Predictions(
            np.array([answer.confidence for answer in answers]),
            marks,
            pairs=True,
            soft_labels=not np.isin(marks, (0, 1)).all(),
        ),
        title=path.name,
        taken=f"confidences {names.confidence}, marks {names.correct}"
        + (f", clusters by {'sample' if cluster is None else cluster}" if with_clusters else "")
        + (f", subgroups {', '.join(by)}" if by else ""),
        clusters=np.array([answer.cluster for answer in answers], object) if with_clusters else None,
        by={name: subgroups(path, name, column) for name, column in subgroups_by.items()},
        dropped=dict(dropped),
        notes=(
            *_notes(header, grades, names),
            *notes_on_stated(len(answers), in_words, dropped, Counter()),
            *notes_on_scale(odd, in_words, percent),
        ),
        rows=_rows(places, answers) if dropped else None,
    )


def _rows(places: list[Place], answers: Sequence[Answer]) -> Ints:
    """Return the rows of the answers among all samples, in the order of the places."""
    kept = {answer.place for answer in answers}
    return np.array([row for row, place in enumerate(sorted(places)) if place in kept])


# --- samples ----------------------------------------------------------------------------------------------------------


def _id(sample: Sample) -> str:
    return str(sample.get("id"))


def _epoch(sample: Sample) -> int:
    epoch = sample.get("epoch")
    return epoch if isinstance(epoch, int) else 1


def _place(sample: Sample) -> Place:
    """Return the place of a sample in the order that Inspect uses."""
    return _epoch(sample), _id(sample).zfill(20) if isinstance(sample.get("id"), int) else _id(sample)


def _scores(sample: Sample) -> Mapping[str, Any]:
    found = sample.get("scores")
    if "score" in sample and found is None:
        found = {SCORER_OF_OLD_LOGS: sample["score"]}
    return {name: one for name, one in found.items() if isinstance(one, dict)} if isinstance(found, dict) else {}


def _fields_of(sample: Sample) -> dict[str, Field]:
    """Return the fields of a sample, under the names that the module describes."""
    fields: dict[str, Field] = {}
    scores = _scores(sample)
    for scorer, score in scores.items():
        value = score.get("value")
        within = {f"{scorer}.{key}": one for key, one in value.items()} if isinstance(value, dict) else {scorer: value}
        fields |= {name: Field(one, scorer, "value") for name, one in within.items()}
    for scorer, score in scores.items():
        for key, one in _items(score.get("metadata")):
            fields.setdefault(f"{scorer}.metadata.{key}", Field(one, scorer, "metadata"))
        if (found := _probability_of(sample, score.get("answer"))) is not None:
            fields.setdefault(f"{scorer}.{LOGPROBS}", Field(found, scorer, "logprobs"))
    for place in ("metadata", "store"):
        for key, one in _items(sample.get(place)):
            fields.setdefault(f"{place}.{key}", Field(one))
    fields.setdefault("epoch", Field(_epoch(sample)))
    fields.setdefault("id", Field(sample.get("id")))
    return fields


def _items(values: Any) -> Iterable[tuple[str, Any]]:
    return values.items() if isinstance(values, dict) else ()


def _probability_of(sample: Sample, answer: Any) -> float | None:
    """Return the probability of the last token that is the answer; None if there is none."""
    try:
        tokens = sample["output"]["choices"][0]["logprobs"]["content"]
    except (KeyError, IndexError, TypeError):
        return None
    wanted = answer.strip(PUNCTUATION) if isinstance(answer, str) else ""
    if not wanted or not isinstance(tokens, list):
        return None
    for token in reversed(tokens):
        if isinstance(token, dict) and str(token.get("token", "")).strip(PUNCTUATION) == wanted:
            logarithm = token.get("logprob")
            return min(math.exp(logarithm), 1.0) if isinstance(logarithm, (int, float)) and logarithm < 1 else None
    return None


def _unscored(sample: Sample, record: Record, correct: str) -> str | None:
    """Return why a sample has no mark, or None if it has one."""
    if sample.get("invalidation") is not None:
        return INVALIDATED
    mark = record.values.get(correct)
    if mark is None or (isinstance(mark, float) and math.isnan(mark)):
        return ENDED_IN_ERROR if sample.get("error") is not None else NOT_SCORED
    return None


def _as_mark(value: Any) -> float | None:
    """Return a score as Inspect's `value_to_float` does; None if it cannot be one, or if it is outside [0, 1]."""
    if isinstance(value, str):
        if value in MARKS:
            return MARKS[value]
        if value.lower() in WORDS:
            return WORDS[value.lower()]
        try:
            value = float(value)
        except ValueError:
            return None
    return float(value) if isinstance(value, (int, float)) and 0 <= value <= 1 else None


def _mark(path: Path, record: Record, name: str) -> float:
    found = _as_mark(record.values[name])
    if found is None:
        raise InputError(
            "{file}, {where}: the score {name!r} must be C, I, P or N, a truth value, or a number from 0 to 1, got "
            "{got!r}; choose another scorer with {choice}",
            file=path,
            where=record.where,
            name=name,
            got=record.values[name],
            choice=Hint.CHOOSE_CORRECT,
        )
    return found


def _value_of(record: Record, name: str) -> Any:
    """Return the value of a field: the one called so, the sample's metadata, or one in whose name this comes last."""
    found = _called([*record.values], name)
    metadata = f"metadata.{name}"
    return record.values[metadata if metadata in found else found[0]] if found else None


def _cluster(path: Path, record: Record, cluster: str) -> str:
    value = _value_of(record, cluster)
    if value is None:
        raise InputError(f"{path}, {record.where}: there is no {cluster!r}; there are {_quoted(record.values)}")
    return str(value)


def _quoted(names: Iterable[str]) -> str:
    return listed([repr(name) for name in names])


# --- which fields -----------------------------------------------------------------------------------------------------


def _names(read: Read, path: Path, confidence: str | None, correct: str | None, header: dict[str, Any]) -> Names:
    """Find the fields of the confidence and of the mark; raise if they are missing or ambiguous."""
    seen: dict[str, list[Field]] = {}
    looked_at = n = errors = 0
    for sample in read(header):
        n += 1
        errors += sample.get("error") is not None
        if not _scores(sample):
            continue
        for name, field in _fields_of(sample).items():
            seen.setdefault(name, []).append(field)
        looked_at += 1
        if looked_at == SAMPLES_LOOKED_AT:
            break
    if not looked_at:
        _refuse_unscored(path, header, n, errors)
    mark = _chosen_mark(path, correct, seen, but=confidence)
    return Names(_chosen_confidence(path, confidence, seen, mark), mark)


def _refuse_unscored(path: Path, header: Mapping[str, Any], n: int, errors: int) -> NoReturn:
    """Raise because no sample has a score, and say why, as far as the log does."""
    status, error = header.get("status"), header.get("error")
    why = f"; the status of the evaluation is {status!r}" if status not in (None, "success") else ""
    if isinstance(error, dict) and error.get("message"):
        why += f" ({str(error['message']).strip()[:120]!r})"
    if not n:
        raise InputError(f"{path}: the log has no samples{why}")
    ended = f" ({errors:,} ended in an error)" if errors else ""
    advice = "" if errors == n else ": score the log first, with `inspect score`"
    raise InputError(f"{path}: none of the {n:,} samples{ended} has a score{why}{advice}")


def _chosen_mark(path: Path, asked: str | None, seen: Mapping[str, Sequence[Field]], *, but: str | None) -> str:
    values = [name for name, fields in seen.items() if fields[0].part == "value"]
    if asked is not None:
        return _only(path, _called(values, asked) or _called([*seen], asked), seen, asked, "correct", "")
    marks = [
        name
        for name in values
        if name != but
        and last_name(name) not in CONFIDENCE_NAMES[0]
        and _are_marks(field.value for field in seen[name])
    ]
    marks = next(
        (found for known in CORRECT_NAMES if (found := [one for one in marks if last_name(one) in known])), marks
    )
    # Of several scorers, the one that noted a confidence.
    noted = {fields[0].scorer for name, fields in seen.items() if last_name(name) in CONFIDENCE_NAMES[0]}
    if len(marks) > 1:
        marks = [name for name in marks if seen[name][0].scorer in noted] or marks
    none = "no scorer gives C, I, P or N, truth values, or 0 and 1"
    return _only(path, marks, values, None, "correct", none)


def _are_marks(values: Iterable[Any]) -> bool:
    known = [value for value in values if value is not None and value == value]
    return bool(known) and all(_as_mark(value) in (0, 0.5, 1) for value in known)


def _chosen_confidence(path: Path, asked: str | None, seen: Mapping[str, Sequence[Field]], mark: str) -> str:
    scorer = seen[mark][0].scorer
    names = [name for name in seen if name != mark and name not in ("id", "epoch")]

    def of_scorer(found: list[str]) -> list[str]:
        return [name for name in found if seen[name][0].scorer == scorer] or found

    if asked is not None:
        return _only(path, of_scorer(_called(names, asked)), names, asked, "confidence", "")
    scored = [name for name in names if seen[name][0].scorer]
    for known, among in ((CONFIDENCE_NAMES[0], scored), (CONFIDENCE_NAMES[0], names), (CONFIDENCE_NAMES[1], scored)):
        if found := [name for name in among if last_name(name) in known]:
            return _only(path, of_scorer(found), names, None, "confidence", "")
    if f"{scorer}.{LOGPROBS}" in names:
        return f"{scorer}.{LOGPROBS}"
    none = (
        "no field has one of the usual names for a confidence, and no log probability of the answer was logged: note "
        'the confidence in the score, Score(..., metadata={"confidence": 0.8})'
    )
    return _only(path, [], names, None, "confidence", none)


def _called(names: Sequence[str], asked: str) -> list[str]:
    """Return the field of this name, or else those in whose names it comes last."""
    return [asked] if asked in names else [name for name in names if name.endswith(f".{asked}")]


def _only(path: Path, found: Sequence[str], names: Collection[str], asked: str | None, what: str, none: str) -> str:
    """Return the only field that was found; raise if there are none or several."""
    if len(found) == 1:
        return found[0]
    choice = Hint.CHOOSE_CONFIDENCE if what == "confidence" else Hint.CHOOSE_CORRECT
    if found:
        raise InputError(
            "{file}: several fields could be {what!r}: {found}; choose one with {choice}",
            file=path,
            what=what,
            found=_quoted(found),
            choice=choice,
        )
    if asked is not None:
        sentence = "{file}: there is no field {asked!r}; there are {there}"
    else:
        sentence = "{file}: {none}" + ("; or choose one of {there} with {choice}" if names else "")
    raise InputError(
        sentence,
        file=path,
        none=none,
        asked=asked,
        there=_quoted(names) or "no fields",
        choice=choice,
    )


def _notes(header: Mapping[str, Any], grades: Counter[str], names: Names) -> list[str]:
    notes: list[str] = []
    status = header.get("status")
    if status == "started":
        notes.append("The evaluation was not finished when this log was written: its samples may be incomplete.")
    elif status in ("error", "cancelled"):
        notes.append(f"The evaluation ended early (status {status}): its samples may be incomplete.")
    if grades[PARTIAL]:
        notes.append(f"{grades[PARTIAL]:,} answers were marked as partially correct (P) and count as 0.5.")
    if grades[NO_ANSWER]:
        notes.append(f"{grades[NO_ANSWER]:,} samples were marked as having no answer (N) and count as wrong.")
    if names.confidence.endswith(f".{LOGPROBS}"):
        notes.append("The confidence is the probability of the answer's token, given the text before it.")
    return notes
