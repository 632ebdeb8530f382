"""Answers of language models: logs with log-likelihoods of choices, and files of stated confidences."""

from __future__ import annotations

import os
from pathlib import Path

from believable.errors import InputError
from believable.readers.load import Loaded
from believable.readers.logs.lm_eval import Normalise, load_lm_eval
from believable.readers.logs.records import records
from believable.readers.logs.stated import load_stated

HARNESS = ("filtered_resps", "target")
ENDINGS = (".jsonl", ".jsonl.gz", ".ndjson", ".json")


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
    if not Path(path).name.lower().endswith(ENDINGS):
        return False
    try:
        first = next(records(path))
    except (InputError, OSError):
        return False
    return all(name in first.values for name in HARNESS)


def load_samples(
    path: str | os.PathLike[str],
    *,
    normalise: Normalise = "none",
    filter: str | None = None,
    confidence: str | None = None,
    correct: str | None = None,
    group: str | None = None,
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
    confidence, correct, group, percent
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
        for name, given in (("correct", correct is not None), ("group", group is not None), ("percent", percent)):
            if given:
                raise InputError(
                    "{argument} is for stated confidences, and {file} is a log of samples",
                    argument=name,
                    file=Path(path).name,
                )
        return load_lm_eval(path, normalise=normalise, filter=filter)
    if normalise != "none" or filter is not None:
        raise InputError("{normalise} and {filter} are for logs of samples, which {file} is not", file=Path(path).name)
    return load_stated(path, confidence=confidence, correct=correct, group=group, percent=percent)
