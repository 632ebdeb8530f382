"""`believable apply`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from believable.cli._common import STANDARD_STREAM, called, new_console, note, say, sentences, warnings_as_notes
from believable.cli._options import scale_of, shared_options
from believable.errors import InputError, SchemaError


@click.command()
@click.argument("map_file", metavar="MAP", type=click.Path(path_type=Path))
@click.argument("new", metavar="NEW", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, allow_dash=True),
    default=STANDARD_STREAM,
    help="Write here; - for the standard output.  [default: -]",
)
@shared_options("prob", "prob_prefix", "logits", "scores", "percent", "format")
@click.option("--to", metavar="NAME", default="p_calibrated", show_default=True, help="What to call the new column.")
@click.option("--overwrite", is_flag=True, help="Replace a column of that name.")
@click.option(
    "--missing",
    type=click.Choice(["error", "keep"]),
    default="error",
    show_default=True,
    help="A missing score is an error, or leaves the new cell empty.",
)
@sentences
def apply(map_file: Path, new: Path, output: Path, logits: bool, scores: str | None, **options: Any) -> None:
    """Add calibrated probabilities to the rows of NEW.

    MAP was written by `believable fit`, or from Python by to_json. NEW is csv, tsv, jsonl, parquet or npz, or - for
    the standard input, and has a column of scores, or one per class for a map of classes; labels are not needed. The
    output has the column p_calibrated, or p_calibrated_CLASS for each class, after all others; an npz has the array
    p_calibrated, with a column per class. All others, and the order of the rows, stay as they are. A table is read in
    pieces, so it may be larger than memory, and is written whole or not at all.
    """
    from believable.recalibrate import load_recalibrator
    from believable.writers.apply import apply_to_file

    if not map_file.exists():
        raise InputError(f"there is no file {map_file}")
    try:
        recalibrator = load_recalibrator(map_file)
    except SchemaError as error:
        raise InputError("{file}: {error}", file=map_file, error=error) from error
    said = scale_of(scores, logits)
    if (logits or scores is not None) and said != recalibrator.input:
        raise InputError(f"{map_file} was fitted to {recalibrator.input}, so it cannot be applied to {said}")
    with warnings_as_notes(), _bar(new) as progress:
        done = apply_to_file(recalibrator, new, output, progress=progress, **options)
    for text in done.notes:
        note(text)
    console = new_console(stderr=output == STANDARD_STREAM)
    where = "" if output == STANDARD_STREAM else f"; written to {output}"
    say(console, f"{called(new)}: {done}{where}")


@contextmanager
def _bar(new: Path) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar, where the error stream is a terminal."""
    console = new_console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("applying"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(str(new), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)
