"""Apply a fitted recalibrator to a file of new scores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from believable import _check, _kernels
from believable._types import Float64s, Floats
from believable.errors import Hint, InputError, Sentence
from believable.readers.columns import (
    CALIBRATED_COLUMN,
    LOGIT_PREFIXES,
    PROB_PREFIXES,
    as_spelt,
    guess,
    known_scores,
    listed,
)
from believable.readers.formats.addition import (
    ROWS_PER_BATCH,
    Addition,
    Contents,
    Missing,
    Plan,
    Progress,
    Segments,
)
from believable.readers.formats.base import called
from believable.recalibrate import Recalibrator
from believable.stats.levels import plain_name
from believable.writers.add_columns import add_columns
from believable.writers.segment_columns import SegmentColumns, columns_besides, in_words


@dataclass(frozen=True, slots=True)
class Applied:
    """A summary of what was written to a file.

    Attributes
    ----------
    n_rows : int
    take : tuple of str
        The columns that the scores were read from, in the order of the classes.
    make : tuple of str
        The columns that were written.
    notes : tuple of str
        What to check about the scores and the segments.
    by : tuple of str
        The columns of segments that the calibration map needs.
    """

    n_rows: int
    take: tuple[str, ...]
    make: tuple[str, ...]
    notes: tuple[str, ...]
    by: tuple[str, ...] = ()

    def __str__(self) -> str:
        rows = "1 row" if self.n_rows == 1 else f"{self.n_rows:,} rows"
        if not self.take:  # there is no row to find the columns from
            return rows
        by = f", segments by {in_words(self.by)}" if self.by else ""
        return f"{rows}; used scores {_few(self.take)}{by}, added {_few(self.make)}"


def _few(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} … {names[-1]} ({len(names)} classes)"


def apply_to_file(
    recalibrator: Recalibrator,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    prob: str | None = None,
    prob_prefix: str | None = None,
    percent: bool = False,
    to: str = CALIBRATED_COLUMN,
    overwrite: bool = False,
    missing: Missing = "error",
    format: str | None = None,
    batch_rows: int = ROWS_PER_BATCH,
    progress: Progress | None = None,
) -> Applied:
    """Copy a file and add the recalibrated probabilities of its scores.

    All other columns, and the order of the rows, stay as they are; see `add_columns`. No labels are needed. A map by
    segment (`GroupedRecalibrator`) needs the columns that it was fitted to, which are found by their names.

    Parameters
    ----------
    recalibrator : Recalibrator
        A recalibrator that is fitted, or loaded with `load_recalibrator`. The scores must be on the scale it was fitted
        on: probabilities, logits or scores.
    source, target : path, or "-"
    prob : str, optional
        The column of scores, for one event; by default found by the names that `read_predictions` knows.
    prob_prefix : str, optional
        The prefix of the columns, one per class, for several classes; the rest of each name must be the class. By
        default p_, prob_ or proba_. In an npz, `prob` may be the array of shape (n, K) instead.
    percent : bool
        Whether the scores are percentages, from 0 to 100; text that ends in a percent sign always is.
    to : str
        The name of the new column; with one per class, "_" and the class are appended, except in an npz, where they
        make one array of shape (n, K).
    overwrite : bool
        Replace existing columns, which are an error otherwise. Rows of text are then rewritten: cells keep their text,
        but not their quotation marks.
    missing : {"error", "keep"}
        Whether a missing score is an error, or leaves the new cells empty.
    format : str, optional
        The format of the source, whatever its ending, as in `read_predictions`.
    batch_rows : int
        The number of rows per batch of text; the result does not depend on it.
    progress : callable, optional
        Called from time to time with how much is done, and of how much (0 if unknown).

    Returns
    -------
    Applied

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from believable.recalibrate import Identity
    >>> with TemporaryDirectory() as folder:
    ...     old, new = Path(folder) / "old.csv", Path(folder) / "new.csv"
    ...     _ = old.write_text("p,day\\n0.50,01\\n1e-3,02\\n")
    ...     print(apply_to_file(Identity().fit([0.2, 0.7], [0, 1]), old, new))
    ...     print(new.read_text())
    2 rows; used scores p, added p_calibrated
    p,day,p_calibrated
    0.50,01,0.5
    1e-3,02,0.001
    """
    scores = _ScoreColumns(recalibrator, prob, prob_prefix, to, percent)
    segments = SegmentColumns.of(recalibrator)
    seen: list[Plan] = []
    names_in_file: dict[str, str] = {}
    extremes: list[tuple[float, float]] = []

    def choose(contents: Contents) -> Plan:
        names_in_file.update(segments.found_among((*contents.names, *contents.later)))
        plan = scores.plan(contents if prob is not None else columns_besides(contents, names_in_file))
        seen.append(segments.added_to(plan, names_in_file))
        return seen[0]

    def compute(numbers: Floats, given: Segments | None = None) -> Float64s:
        extremes.append(_kernels.extrema(numbers))
        if recalibrator.input == "probabilities":
            for k, name in enumerate(seen[0].take):
                column = numbers if numbers.ndim == 1 else numbers[:, k]
                _check.probabilities(column, f"column {name!r}", None, Hint.LOGITS_TO_APPLY)
            if numbers.ndim == 2:
                _check.row_sums(numbers, numbers, None, "scores", "use a calibration map that was fitted to logits")
        if given is None:
            return recalibrator.transform(numbers)
        by: dict[str, Any] = {"by": segments.values(given, names_in_file)}
        return recalibrator.transform(numbers, **by)

    addition = Addition(called(source), choose, compute, overwrite, missing, batch_rows, progress)
    n_rows = add_columns(source, target, addition, format=format)
    notes = []
    inside = bool(extremes) and all(low >= 0 and high <= 1 for low, high in extremes)
    if recalibrator.input == "logits" and inside:
        notes.append("The calibration map takes logits, but all scores lie in [0, 1]: are they probabilities?")
    plan = seen[0] if seen else Plan((), ())
    return Applied(n_rows, plan.take, plan.make, (*notes, *segments.notes()), segments.columns)


# --- which columns ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _ScoreColumns:
    """Which columns of a file to read, and what to add; see `apply_to_file`."""

    recalibrator: Recalibrator
    prob: str | None
    prob_prefix: str | None
    to: str
    percent: bool

    @property
    def _takes_one(self) -> bool:
        """Whether the map takes one score per row; its columns of segments may be among those it was fitted on."""
        if not self.recalibrator.reads_columns:
            return self.recalibrator.n_features_in_ == 1
        return len(self.recalibrator.get_feature_names_out()) == 1

    def plan(self, contents: Contents) -> Plan:
        """Choose among the arrays of a file that holds arrays, else among its columns."""
        return self._of_arrays(contents) if contents.arrays else self._of_columns(contents.names, self.prob)

    def _of_columns(self, names: Sequence[str], prob: str | None) -> Plan:
        percent, input = self._percent(), self.recalibrator.input
        classes = self.recalibrator.classes_.tolist()
        if self._takes_one:
            if self.prob_prefix is not None:
                raise InputError(
                    Sentence(
                        "the calibration map takes one column of scores: choose it with {prob}, not with {prob_prefix}"
                    )
                )
            return Plan((_one(names, prob, input),), (self.to,), percent)
        if prob is not None:
            raise InputError(
                "the calibration map takes one column per class ({names}): choose them with {prob_prefix}, not with "
                "{prob}",
                names=_listed(classes),
            )
        make = tuple(f"{self.to}_{name}" for name in classes)
        own = {*make, *(f"{CALIBRATED_COLUMN}_{name}" for name in classes)}
        known = PROB_PREFIXES if input == "probabilities" else (*LOGIT_PREFIXES, *PROB_PREFIXES)
        others = [name for name in names if name not in own]
        prefix = self.prob_prefix or _guessed(others, classes, known)
        return Plan(_matrix(others, classes, prefix), make, percent)

    def _percent(self) -> bool | None:
        if self.recalibrator.input == "probabilities":
            return self.percent
        if self.percent:
            raise InputError(f"the map takes {self.recalibrator.input}, and those are no percentages")
        return None

    def _of_arrays(self, contents: Contents) -> Plan:
        """Choose among arrays; the one to add has all classes."""
        classes, arrays, prob = self.recalibrator.classes_.tolist(), contents.arrays, self.prob
        one = self._takes_one
        known = known_scores(tuple(arrays), self.recalibrator.input != "probabilities")
        if prob is not None:
            prob = as_spelt(prob, contents.names if prob in contents.names else tuple(arrays))
        elif self.prob_prefix is None:
            wide = [name for name in arrays if one or len(arrays[name]) > 1]
            if one or any(plain_name(name) in known for name in wide):
                prob = guess(wide, known, "scores", "prob")
        if prob is None or (one and self.prob_prefix is not None):
            plan = self._of_columns(contents.names, prob)
            return Plan(plan.take, (self.to,), plan.percent)
        columns = arrays.get(prob, (prob,))
        if one and len(columns) > 1:
            raise InputError(
                "array {array!r} has {got} columns, but the calibration map takes one score per row: choose one of "
                "them with {prob}, such as {last}",
                array=prob,
                got=len(columns),
                last=columns[-1],
            )
        if not one and [_end(label) for label in classes] != [str(k) for k in range(len(columns))]:
            raise InputError(
                f"the calibration map has the classes {_listed(classes)}, and array {prob!r} "
                + ("one score per row" if len(columns) == 1 else f"the columns 0 to {len(columns) - 1}")
                + "; save an array for each class, called p_CLASS"
            )
        return Plan(columns, (self.to,), self._percent())


def _one(names: Sequence[str], prob: str | None, input: str) -> str:
    if prob is not None:
        return as_spelt(prob, names)
    return guess(names, known_scores(names, input != "probabilities"), "scores", "prob")


def _matrix(names: Sequence[str], classes: Sequence[Any], prefix: str) -> tuple[str, ...]:
    """Return the columns of the classes, in the order of the map; no other column may have their prefix."""
    columns: dict[str, str] = {}
    for name in names:
        if name.startswith(prefix):
            other = columns.setdefault(_end(name.removeprefix(prefix)), name)
            if other != name:
                raise InputError(f"the columns {other!r} and {name!r} are of one class: rename one of them")
    wanted = [_end(label) for label in classes]
    lacking = [prefix + end for end in wanted if end not in columns]
    if lacking:
        raise InputError(
            f"the calibration map has the classes {_listed(classes)}, but there is no column {lacking[0]!r}; there are "
            f"{listed(names)}"
        )
    foreign = [name for end, name in columns.items() if end not in wanted]
    if foreign:
        raise InputError(
            f"the column {foreign[0]!r} begins with {prefix!r}, but the calibration map has no such class, only "
            f"{_listed(classes)}"
        )
    return tuple(columns[end] for end in wanted)


def _guessed(names: Sequence[str], classes: Sequence[Any], known: Sequence[str]) -> str:
    """Return the known prefix with which most classes have a column; the first in ties."""
    n_found = {
        prefix: sum(name.startswith(prefix) and _end(name.removeprefix(prefix)) in ends for name in names)
        for ends in [{_end(label) for label in classes}]
        for prefix in known
    }
    best = [prefix for prefix in known if n_found[prefix] == max(n_found.values())]
    if not n_found[best[0]]:
        raise InputError(
            "the calibration map takes one column per class ({classes_of_map}), but the columns are {names}; give "
            "their prefix with {prob_prefix}",
            classes_of_map=_listed(classes),
            names=listed(names),
        )
    if len(best) > 1 and not (best[0] in LOGIT_PREFIXES and best[1] not in LOGIT_PREFIXES):
        meant = ", ".join(f"{prefix}*" for prefix in best)
        raise InputError("several columns could be the scores: {meant}; choose with {prob_prefix}", meant=meant)
    return best[0]


def _end(label: Any) -> str:
    """Return a class as the end of a column name: 3, 3.0, "3" and "03" are the same."""
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    return str(int(label)) if isinstance(label, str) and label.isdecimal() else str(label)


def _listed(classes: Sequence[Any]) -> str:
    names = list(map(str, classes))
    return ", ".join(names if len(names) <= 8 else [*names[:4], "…", names[-1]])
