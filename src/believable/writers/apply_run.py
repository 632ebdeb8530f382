"""A saved calibration map applied to a TREC run: the score column becomes the probability of relevance."""

from __future__ import annotations

import gzip
import os
import re
import sys
from pathlib import Path

import numpy as np

from believable._types import Float64s, Ints
from believable._write import write_beside
from believable.errors import InputError
from believable.readers.formats.base import GZIP, PIPE
from believable.readers.logs.trec import read_run
from believable.recalibrate import Recalibrator
from believable.writers.segment_columns import SegmentColumns, in_words

SCORE_OF_LINE = re.compile(rb"^((?:\xef\xbb\xbf)?\s*(?:\S+\s+){4})(\S+)")


def apply_to_run(
    recalibrator: Recalibrator, source: str | os.PathLike[str], target: str | os.PathLike[str]
) -> tuple[int, tuple[str, ...]]:
    """Write a TREC run again with each score replaced by the probability that a calibration map makes of it.

    Lines, their order, and all other fields stay as they are, to the byte; the ranks too, which a map that never
    decreases does not contradict.

    Parameters
    ----------
    recalibrator : Recalibrator
        Fitted to the scores of one event, or from `load_recalibrator`.
    source : path
        See `read_run`; it may be compressed with gzip.
    target : path, or "-"
        Compressed where the name ends in .gz; "-" is the standard output.

    Returns
    -------
    int
        The number of documents.
    tuple of str
        What a careful reader would ask.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from believable.recalibrate import Identity
    >>> with TemporaryDirectory() as folder:
    ...     old, new = Path(folder) / "old.run", Path(folder) / "new.run"
    ...     _ = old.write_text("q1  Q0 d7 1 0.90 mine\\nq1  Q0 d2 2 4e-1 mine\\n")
    ...     n, _ = apply_to_run(Identity().fit([0.2, 0.7], [0, 1]), old, new)
    ...     print(new.read_text())
    q1  Q0 d7 1 0.9 mine
    q1  Q0 d2 2 0.4 mine
    """
    by = SegmentColumns.of(recalibrator).columns
    if by:
        raise InputError(
            f"the calibration map corrects segments by {in_words(by)}, and a run has no such columns: fit a map of the "
            "scores alone, with `believable fit` without --by, or apply this one to a table"
        )
    if recalibrator.n_features_in_ != 1:
        raise InputError(
            f"the calibration map has {recalibrator.n_features_in_} classes, and a run has one score per document: fit "
            "one to the run, with `believable fit --run RUN --qrels QRELS`"
        )
    frame = read_run(source)
    scores, lines = frame["score"].to_numpy(), frame["line"].to_numpy()
    if recalibrator.input == "probabilities":
        _refuse_others(scores, lines, source)
    data = Path(source).read_bytes()
    text = (gzip.decompress(data) if data.startswith(GZIP) else data).split(b"\n")
    probabilities: Float64s = recalibrator.transform(scores)
    for line, p in zip(lines.tolist(), probabilities.tolist(), strict=True):
        text[line - 1] = SCORE_OF_LINE.sub(rb"\g<1>" + repr(p).encode(), text[line - 1], count=1)
    _write(b"\n".join(text), target)
    notes = []
    if recalibrator.input == "logits" and scores.min() >= 0 and scores.max() <= 1:
        notes.append("The calibration map takes logits, and all scores lie in [0, 1]: are they probabilities?")
    if bool((np.diff(probabilities[np.argsort(scores, kind="stable")]) < 0).any()):
        notes.append("The calibration map reverses the order of some scores; the ranks in the run stay as they were.")
    return len(scores), tuple(notes)


def _refuse_others(scores: Float64s, lines: Ints, source: str | os.PathLike[str]) -> None:
    """Raise at the first score that is no probability, with its line."""
    outside = np.flatnonzero((scores < 0) | (scores > 1))
    if len(outside):
        raise InputError(
            "{file}, line {line}: the calibration map takes probabilities, which lie in [0, 1], got {got:g}",
            file=os.fspath(source),
            line=int(lines[outside[0]]),
            got=float(scores[outside[0]]),
        )


def _write(data: bytes, target: str | os.PathLike[str]) -> None:
    if os.fspath(target) == PIPE:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    if os.fspath(target).lower().endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    with write_beside(target) as beside:
        beside.write_bytes(data)
