"""`summarize_files`: count batches in several threads, add them in order, and save the state from time to time."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from believable import _check, _kernels
from believable._progress import counting as progress_bar
from believable._types import Notion
from believable.errors import LOOK_LIKE_CLASSES, Hint, InputError
from believable.readers.columns import (
    Columns,
    ColumnsAsked,
    are_pairs,
    calibrated_too,
    choose_columns,
    columns_among,
    telling_names,
)
from believable.readers.files import Interpretation
from believable.readers.passes.batches import SCORES_PER_BATCH, RowBatch, batches_of, spread_over
from believable.readers.passes.checkpoint import Checkpoint, State
from believable.readers.passes.count_batch import Counted, CountSettings, FirstRows, count_batch
from believable.readers.passes.level_rules import ROWS_LOOKED_AT, STRETCHES_LOOKED_AT, LevelRule, level_rules
from believable.readers.passes.parts import GivenPaths, Parts, find_parts
from believable.stats import Summary

SECONDS_BETWEEN_CHECKPOINTS = 10.0  # the default


@dataclass(frozen=True, slots=True)
class PassSettings:
    """The arguments of `summarize_files`."""

    prob: str | None = None
    prob_prefix: str | None = None
    label: str | None = None
    weight: str | None = None
    by: str | Sequence[str] = ()
    from_logits: bool = False
    percent: bool = False
    pos_label: Any = None
    neg_label: Any = None
    pairs: bool | None = None
    classes: Sequence[Any] | None = None
    drop_missing: bool = False
    notions: Sequence[Notion] | None = None
    cells: int | None = None
    checkpoint: str | os.PathLike[str] | None = None
    every: int | None = None
    progress: bool | None = None
    threads: int = 2

    @property
    def columns_asked(self) -> ColumnsAsked:
        """The columns that are named."""
        names = self.prob, self.prob_prefix, self.label, self.weight
        return ColumnsAsked(*names, by=self.by, logits=self.from_logits)

    def counting(self, columns: Columns) -> CountSettings:
        """Return how every batch is read, with the columns that were chosen."""
        classes = None if self.classes is None else tuple(self.classes)
        return CountSettings(
            columns,
            Interpretation(self.from_logits, self.percent, self.pos_label, classes, self.neg_label),
            drop_missing=self.drop_missing,
            cells=self.cells,
            notions=None if self.notions is None else tuple(self.notions),
            pairs=self.pairs,
        )


def run(
    parts: Parts,
    counting: CountSettings,
    rules: Mapping[str, LevelRule],
    state: State,
    kept: Checkpoint | None,
    settings: PassSettings,
    say: Callable[[str], None],
) -> State:
    """Count the remaining rows of the files, and return the state after the last row."""
    every, threads = settings.every, settings.threads
    size = _batch_rows(parts, counting.columns, every if kept is not None else None)
    batches = batches_of(parts, size, state.rows)
    saved, saved_at = state.rows, time.monotonic()
    with progress_bar(parts.rows, state.rows, settings.progress) as advance, ThreadPoolExecutor(threads) as workers:
        try:
            for counted in _in_order(batches, counting, rules, state.seen, workers, threads):
                with _said_of(parts):
                    state = _after(state, counted, counting.means)
                advance(counted.rows)
                if kept is not None and state.rows < parts.rows:
                    elapsed = time.monotonic() - saved_at
                    due = state.rows - saved >= every if every is not None else elapsed >= SECONDS_BETWEEN_CHECKPOINTS
                    if due:
                        kept.save(state)
                        saved, saved_at = state.rows, time.monotonic()
        except BaseException as error:
            workers.shutdown(wait=True, cancel_futures=True)
            if kept is not None and state.rows and isinstance(error, KeyboardInterrupt):
                kept.save(state)
                say(f"{kept.path} has {state.rows:,} of {parts.rows:,} rows: run the same command again to continue")
            raise
    if kept is not None and state.rows > saved:
        kept.save(state)
    return state


def _in_order(
    batches: Iterator[RowBatch],
    counting: CountSettings,
    rules: Mapping[str, LevelRule],
    seen: FirstRows | None,
    workers: ThreadPoolExecutor,
    threads: int,
) -> Iterator[Counted]:
    """Count batches in several threads and yield them in order; the first rows decide what the others must be."""
    while seen is None and (batch := next(batches, None)) is not None:
        counted = count_batch(batch, counting, rules, None)
        seen = counted.seen
        yield counted

    def start(batch: RowBatch) -> Future[Counted]:
        return workers.submit(_one_of_several if threads > 1 else count_batch, batch, counting, rules, seen)

    waiting = deque(map(start, islice(batches, threads + 1)))
    while waiting:
        counted = waiting.popleft().result()
        waiting.extend(map(start, islice(batches, 1)))
        yield counted


def _one_of_several(
    batch: RowBatch, counting: CountSettings, rules: Mapping[str, LevelRule], seen: FirstRows | None
) -> Counted:
    """Count a batch with single-threaded kernels, because other batches are counted at the same time."""
    with _kernels.alone():
        return count_batch(batch, counting, rules, seen)


def _after(state: State, counted: Counted, means: Interpretation) -> State:
    dropped = dict(state.dropped)
    for why, n in counted.dropped.items():
        dropped[why] = dropped.get(why, 0) + n
    summary = counted.summary if state.summary is None else state.summary
    if state.summary is not None and counted.summary is not None:
        summary = state.summary + counted.summary
    return State(state.rows + counted.rows, summary, dropped, _both(state.seen, counted.seen, means))


def _both(before: FirstRows | None, here: FirstRows | None, means: Interpretation) -> FirstRows | None:
    """Return what was seen so far; raise if there is more than one label besides the positive one."""
    if before is None or here is None or not here.other:
        return before or here
    if before.other and before.other != here.other:
        raise InputError(
            "{pos_label=} leaves more than one other label: {found}",
            argument="pos_label",
            pos_label=means.pos_label,
            found=f"{before.other}, {here.other}",
            hint=Hint.NAME_THE_NEGATIVE_IN_FILE,
        )
    return replace(before, other=here.other)


def _batch_rows(parts: Parts, columns: Columns, every: int | None) -> int:
    """Return the number of rows per batch: about `SCORES_PER_BATCH` scores, at most the rows between checkpoints."""
    width = len(columns.prob)
    if width == 1 and (kind := parts.schema[columns.prob[0]]).is_nested():
        frame = spread_over(parts, columns.prob, 1, 1)
        lengths = frame[columns.prob[0]].drop_nulls()
        width = max(2, len(lengths[0]) if len(lengths) else 2) if kind.is_nested() else 1
    rows = max(1, min(SCORES_PER_BATCH, max(parts.rows * width // 8, SCORES_PER_BATCH // 4)) // width)
    return rows if every is None else min(rows, every)


# --- `summarize_files`: one pass over Parquet files of any length, into one `Summary` ---------------------------------


@dataclass(frozen=True, slots=True)
class Passed:
    """The result of a pass.

    Attributes
    ----------
    summary : Summary
    title : str
        The name of the file, folder or pattern, for the report.
    taken : str
        Which columns were read as what, in words.
    notes : tuple of str
        Notes for the report.
    parts : Parts
        The files.
    columns : Columns
        The columns that were read.
    """

    summary: Summary
    title: str
    taken: str
    notes: tuple[str, ...]
    parts: Parts
    columns: Columns


def summarize_files(
    path: GivenPaths,
    *,
    prob: str | None = None,
    prob_prefix: str | None = None,
    label: str | None = None,
    weight: str | None = None,
    by: str | Sequence[str] = (),
    from_logits: bool = False,
    percent: bool = False,
    pos_label: Any = None,
    neg_label: Any = None,
    pairs: bool | None = None,
    classes: Sequence[Any] | None = None,
    drop_missing: bool = False,
    notions: Sequence[Notion] | None = None,
    cells: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int | None = None,
    progress: bool | None = None,
    threads: int = 2,
) -> Summary:
    """Count Parquet files of any length in one pass, a few million rows at a time.

    Memory use does not depend on the number of rows. Batches are added in the order of the files, so neither the number
    of threads nor an interruption changes the result.

    Parameters
    ----------
    path : path, or a list of paths
        A Parquet file; a folder, for all .parquet files in it and below, except those whose name or folder begins with
        _ or a dot; or a pattern such as `"data/2026-*.parquet"`. Folders called country=DE make a column country.
    prob, prob_prefix, label, weight, from_logits, percent, pos_label, neg_label, pairs
        As in `read_predictions`. All files must have these columns, and scores of the same type.
    by : str or sequence of str
        Columns of subgroups. The subgroups are chosen from about a million rows spread evenly over all files: each of
        up to 12 different numbers or 50 texts is a subgroup; more numbers are cut into quarters; of more texts, the 50
        with the most rows are kept. All other values are counted as "other values".
    classes : sequence, optional
        The classes of the columns of a matrix, or of the entries of lists, in order.
    drop_missing : bool
        Leave out rows with a missing score, label or weight, and count them in `dropped`. Otherwise they are an error.
    notions, cells
        What is counted, and in how many cells; see `Layout.of`.
    checkpoint : path, optional
        File for the state of the pass. If it exists, the pass continues from it: with the same files, settings and
        `every`, the result is bit by bit that of an uninterrupted pass. The file is kept after the pass, and the same
        call then returns at once.
    every : int, optional
        Rows between checkpoints. By default, the state is saved every ten seconds.
    progress : bool, optional
        Show a progress bar. By default, for many rows on a terminal.
    threads : int
        Number of batches that are counted at the same time.

    Returns
    -------
    Summary

    Examples
    --------
    >>> import believable, polars, tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for day in (1, 2):
    ...     polars.DataFrame({"p": [0.1, 0.8, 0.6], "y": [0, 1, 0]}).write_parquet(folder / f"{day}.parquet")
    >>> summary = summarize_files(folder, checkpoint=folder / "state.cells")
    >>> summary
    Summary(n=6, kind='binary', cells of binary, binary (logit))
    >>> round(believable.expected_calibration_error(summary.cells_of("binary")), 6)
    0.3
    """
    settings = PassSettings(
        prob=prob,
        prob_prefix=prob_prefix,
        label=label,
        weight=weight,
        by=by,
        from_logits=from_logits,
        percent=percent,
        pos_label=pos_label,
        neg_label=neg_label,
        pairs=pairs,
        classes=classes,
        drop_missing=drop_missing,
        notions=notions,
        cells=cells,
        checkpoint=checkpoint,
        every=every,
        progress=progress,
        threads=threads,
    )
    return pass_over(path, settings).summary


def pass_over(
    path: GivenPaths, settings: PassSettings, *, say: Callable[[str], None] = lambda sentence: None
) -> Passed:
    """Do the work of `summarize_files` and return notes as well; `say` receives messages during the pass."""
    threads = _check.positive_integer(settings.threads, "threads")
    every = None if settings.every is None else _check.positive_integer(settings.every, "every")
    settings = replace(settings, threads=threads, every=every)
    parts, columns = _columns(find_parts(path), settings.columns_asked)
    counting = settings.counting(columns)
    with _said_of(parts):
        rules, said_of_levels = level_rules(parts, columns.by)
    kept = None
    if settings.checkpoint is not None:
        kept = Checkpoint.of(settings.checkpoint, parts, _question(counting, rules))
    state, said = (State(), []) if kept is None else kept.resume()
    if state.summary is not None and are_pairs(columns, state.summary.kind, settings.pairs):
        state = replace(state, summary=state.summary.as_pairs())  # earlier versions did not count them as such
    for sentence in said:
        say(sentence)
    state = run(parts, counting, rules, state, kept, settings, say)
    summary = _checked(state, parts, counting)
    notes = [
        *_notes(parts, summary, counting),
        *said_of_levels,
        *([] if settings.prob else calibrated_too([*parts.schema], columns)),
    ]
    title = Path(parts.name).name or parts.name
    scale = "" if state.seen is None else state.seen.meaning
    return Passed(summary, title, columns.words(scale), tuple(notes), parts, columns)


def _columns(parts: Parts, asked: ColumnsAsked) -> tuple[Parts, Columns]:
    with _said_of(parts):
        columns = columns_among(list(parts.schema), asked)
    parts = parts.checked(columns.names, columns.prob)
    _refuse_more_classes(parts, columns)
    if not parts.rows:
        raise InputError(f"{parts.name} has no rows")
    return parts, columns


def _refuse_more_classes(parts: Parts, columns: Columns) -> None:
    """Raise if a later file has scores of classes that the first lacks, because they would be left out."""
    if columns.classes is None:
        return
    prefix = columns.prob[0].removesuffix(str(columns.classes[0]))
    for part in parts.files[1:]:
        here = choose_columns(list(part.scan().collect_schema()), prob_prefix=prefix, label=columns.label)
        if more := sorted(set(here.prob) - set(columns.prob)):
            raise InputError(f"{part.path} has scores of more classes ({', '.join(more)}) than {parts.files[0].path}")


@contextmanager
def _said_of(parts: Parts) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise InputError("{file}: {error}", file=parts.name, error=error) from error


def _question(counting: CountSettings, rules: dict[str, LevelRule]) -> dict[str, Any]:
    """Return the settings that a checkpoint must share."""
    columns, means = counting.columns, counting.means
    return {
        "prob": list(columns.prob),
        "label": columns.label,
        "weight": columns.weight,
        "by": list(columns.by),
        "levels": [(rule.names, rule.cuts) for rule in rules.values()],
        **{name: getattr(means, name) for name in Interpretation.__slots__ if name != "neg_label"},
        **({} if means.neg_label is None else {"neg_label": means.neg_label}),  # older checkpoints do not have it
        **{name: getattr(counting, name) for name in ("drop_missing", "cells", "notions", "pairs")},
    }


# --- checks and notes after the pass ----------------------------------------------------------------------------------


def _checked(state: State, parts: Parts, counting: CountSettings) -> Summary:
    summary = state.result
    if summary is None:
        why = {"weight 0": "has weight 0"}
        reasons = dict.fromkeys(why.get(one, "has a missing score, label or weight") for one in state.dropped)
        raise InputError(f"{parts.name}: every row {' or '.join(reasons)}: there is nothing to measure")
    if counting.means.pos_label is not None and summary.kind == "binary" and not summary.sums.wy[0]:
        words = _check.in_a_list(state.seen.words) if state.seen is not None else ""
        raise InputError(
            "{file} ({columns}): {pos_label=} does not occur in column {column!r} (its first rows have {words})",
            argument="pos_label",
            file=parts.name,
            columns=counting.columns,
            pos_label=counting.means.pos_label,
            column=counting.columns.label,
            words=words,
        )
    return replace(summary, dropped={why: n for why, n in summary.dropped.items() if n})


def _notes(parts: Parts, summary: Summary, counting: CountSettings) -> list[str]:
    columns = counting.columns
    files = f" in {len(parts.files):,} files" if len(parts.files) > 1 else ""
    grid = summary.cells[0].grid
    notes = [
        f"{summary.n:,} rows{files} were counted in {grid.n_cells:,} cells, in one pass: results that need single rows "
        "are left out, and results read from cells are exact to about the width of a cell"
    ]
    if summary.kind == "binary":
        events = int(summary.cells[0].ny.sum())
        if events in (0, summary.n):
            notes.append(f"every outcome in column {columns.label} is the same, {events // summary.n}")
        if not summary.are_pairs and summary.n > 1 and set(summary.cells[0].index.tolist()) <= {0, len(grid) - 1}:
            notes.append(f"every score in column {columns.prob[0]} is 0 or 1: {LOOK_LIKE_CLASSES}")
    if (repeating := _clusters(parts, columns)) is not None:
        notes.append(
            f"column {repeating} repeats: if rows with the same value belong together, the intervals here are too "
            "narrow"
        )
    return notes


def _clusters(parts: Parts, columns: Columns) -> str | None:
    """Return a column that may be clusters, because of its name and its repeated values."""
    for name in telling_names(list(parts.schema), columns):
        try:
            column = spread_over(parts, [name], ROWS_LOOKED_AT // 10, STRETCHES_LOOKED_AT // 8)[name].drop_nulls()
        except InputError:  # nobody asked for this column, so its errors do not matter
            continue
        if 1 < column.n_unique() < len(column):
            return name
    return None
