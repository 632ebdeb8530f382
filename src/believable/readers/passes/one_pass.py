"""`summarize_files`: batches counted by several threads, added in their order, with the state kept now and then."""

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

SECONDS_BETWEEN_CHECKPOINTS = 10.0  # where nothing else is asked


@dataclass(frozen=True, slots=True)
class PassSettings:
    """The choices of a pass over files; see `summarize_files`, whose arguments they are."""

    prob: str | None = None
    prob_prefix: str | None = None
    label: str | None = None
    weight: str | None = None
    by: str | Sequence[str] = ()
    from_logits: bool = False
    percent: bool = False
    pos_label: Any = None
    neg_label: Any = None
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
        """Return what every batch is read as, with the columns that were chosen."""
        classes = None if self.classes is None else tuple(self.classes)
        return CountSettings(
            columns,
            Interpretation(self.from_logits, self.percent, self.pos_label, classes, self.neg_label),
            drop_missing=self.drop_missing,
            cells=self.cells,
            notions=None if self.notions is None else tuple(self.notions),
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
    """Count what is left of the files, and return the state after the last row."""
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
                say(f"{kept.path} holds {state.rows:,} of {parts.rows:,} rows: run the same again to go on")
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
    """Batches counted by several threads, handed on in their order; the first rows say what the others must be."""
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
    """A batch, while others are counted too: its kernels need no threads of their own."""
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
    """What was seen so far; an error where the rows that are not positive have another label than those before."""
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
    """As many rows as have about so many scores; no more than lie between two checkpoints."""
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
    """What a pass found, with what there is to say about it.

    Attributes
    ----------
    summary : Summary
    title : str
        What to call it: the name of the file, folder or pattern.
    taken : str
        What was read as what, in words.
    notes : tuple of str
        Sentences for the report.
    """

    summary: Summary
    title: str
    taken: str
    notes: tuple[str, ...]


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

    Memory does not grow with the rows. Batches are added in the order of the files, so neither the number of threads
    nor an interruption changes the result.

    Parameters
    ----------
    path : path, or a list of paths
        A Parquet file; a folder with all .parquet files below it, but those whose name or folder begins with _ or a
        point; or a pattern such as `"data/2026-*.parquet"`. Folders called country=DE make a column country.
    prob, prob_prefix, label, weight, from_logits, percent, pos_label, neg_label
        As in `read_predictions`. All files must have these columns, and scores of one type.
    by : str or sequence of str
        Columns of subgroups. Their levels are chosen from about a million rows spread evenly over all files: up to
        twelve different numbers and up to fifty texts are levels; more numbers are cut at the quarters of those rows;
        of more texts the fifty with the most rows stay. All else is counted as "other values".
    classes : sequence, optional
        What the columns of a matrix, or the entries of lists, stand for, in order.
    drop_missing : bool
        Leave out rows with a missing score, label or weight, and count them in `dropped`. Otherwise they are an error.
    notions, cells
        What is counted, on how many cells, as in `Layout.of`.
    checkpoint : path, optional
        Where to keep the state. If the file is there, the pass goes on from it: with the same files, questions and
        `every` the result is that of an uninterrupted pass, to the last bit. The file stays when the pass has ended,
        and the same call answers at once.
    every : int, optional
        Rows between checkpoints; if left out, ten seconds.
    progress : bool, optional
        Show a bar; None: on a terminal.
    threads : int
        Batches that are counted at once.

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
    """`summarize_files`, with what there is to say; `say` is told at once what cannot wait for the end."""
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
    return Passed(summary, title, columns.words(scale), tuple(notes))


def _columns(parts: Parts, asked: ColumnsAsked) -> tuple[Parts, Columns]:
    with _said_of(parts):
        columns = columns_among(list(parts.schema), asked)
    parts = parts.checked(columns.names, columns.prob)
    _refuse_more_classes(parts, columns)
    if not parts.rows:
        raise InputError(f"{parts.name} has no rows")
    return parts, columns


def _refuse_more_classes(parts: Parts, columns: Columns) -> None:
    """An error where a later file has scores of classes that the first has not: those would be left out."""
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
    """What a checkpoint must have been asked too."""
    columns, means = counting.columns, counting.means
    return {
        "prob": list(columns.prob),
        "label": columns.label,
        "weight": columns.weight,
        "by": list(columns.by),
        "levels": [(rule.names, rule.cuts) for rule in rules.values()],
        **{name: getattr(means, name) for name in Interpretation.__slots__ if name != "neg_label"},
        **({} if means.neg_label is None else {"neg_label": means.neg_label}),  # checkpoints without it stay good
        **{name: getattr(counting, name) for name in ("drop_missing", "cells", "notions")},
    }


# --- afterwards -------------------------------------------------------------------------------------------------------


def _checked(state: State, parts: Parts, counting: CountSettings) -> Summary:
    summary = state.result
    if summary is None:
        why = {"weight 0": "weighs nothing"}
        reasons = dict.fromkeys(why.get(one, "lacks a score, label or weight") for one in state.dropped)
        raise InputError(f"{parts.name}: every row {' or '.join(reasons)}: there is nothing to measure")
    if counting.means.pos_label is not None and summary.kind == "binary" and not summary.sums.wy[0]:
        words = _check.in_a_list(state.seen.words) if state.seen is not None else ""
        raise InputError(
            "{file} ({columns}): {pos_label=} does not occur in column {column!r} (its first rows hold {words})",
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
        f"{summary.n:,} rows{files} were counted in {grid.n_cells:,} cells, in one pass: what needs the rows "
        "themselves is left out, and what is read from cells is exact to about the width of one"
    ]
    if summary.kind == "binary":
        happened = int(summary.cells[0].ny.sum())
        if happened in (0, summary.n):
            notes.append(f"every outcome in column {columns.label} is the same, {happened // summary.n}")
        if summary.n > 1 and set(summary.cells[0].index.tolist()) <= {0, len(grid) - 1}:
            notes.append(f"every score in column {columns.prob[0]} is 0 or 1: {LOOK_LIKE_CLASSES}")
    if (repeating := _clusters(parts, columns)) is not None:
        notes.append(f"column {repeating} repeats: if its rows belong together, the intervals here are too narrow")
    return notes


def _clusters(parts: Parts, columns: Columns) -> str | None:
    """A column that is called as clusters are, and whose values repeat."""
    for name in telling_names(list(parts.schema), columns):
        try:
            column = spread_over(parts, [name], ROWS_LOOKED_AT // 10, STRETCHES_LOOKED_AT // 8)[name].drop_nulls()
        except InputError:  # it is not wanted, so what is wrong with it is nobody's concern
            continue
        if 1 < column.n_unique() < len(column):
            return name
    return None
