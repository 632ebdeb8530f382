"""The command `believable apply`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from believable.cli._common import STANDARD_STREAM, called, new_console, note, say, sentences, warnings_as_notes
from believable.cli._inputs import refuse
from believable.cli._options import scale_of, shared_options
from believable.errors import InputError, SchemaError

CALIBRATED_COLUMN = "p_calibrated"
OPTIONS_OF_NEW_COLUMNS = ("prob", "prob_prefix", "percent", "format", "to", "overwrite", "missing")


@click.command()
@click.argument("map_file", metavar="MAP", type=click.Path(path_type=Path))
@click.argument("new", metavar="[NEW]", required=False, type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, allow_dash=True),
    default=STANDARD_STREAM,
    help="Write the result here; - for the standard output.  [default: -]",
)
@shared_options("run", "prob", "prob_prefix", "logits", "scores", "percent", "format")
@click.option("--to", metavar="NAME", default=CALIBRATED_COLUMN, show_default=True, help="Name of the new column.")
@click.option("--overwrite", is_flag=True, help="Replace an existing column of that name.")
@click.option(
    "--missing",
    type=click.Choice(["error", "keep"]),
    default="error",
    show_default=True,
    help="If a score is missing, stop with an error, or keep the row and leave the new cell empty.",
)
@sentences
def apply(
    map_file: Path,
    new: Path | None,
    output: Path,
    run: Path | None,
    logits: bool,
    scores: str | None,
    **options: Any,
) -> None:
    """Add calibrated probabilities to the rows of NEW.

    MAP is a calibration map that was written by `believable fit`, or by to_json in Python. NEW is csv, tsv, jsonl,
    parquet or npz, or - for the standard input. It has a column of scores, or one per class if the map was fitted to
    several classes; labels are not needed. The output has all columns of NEW, followed by the column p_calibrated, or
    p_calibrated_CLASS for each class; an npz file gets the array p_calibrated, with a column per class. The order of
    the rows stays the same. NEW may be larger than memory. The output is written completely or not at all.

    For a TREC run, named with --run or recognised by its ending or first line, the output is a run in which each score
    is replaced by the probability of relevance.
    """
    from believable.recalibrate import load_recalibrator

    if not map_file.exists():
        raise InputError(f"there is no file {map_file}")
    run, new = _run_or_table(run, new, options)
    try:
        recalibrator = load_recalibrator(map_file)
    except SchemaError as error:
        raise InputError("{file}: {error}", file=map_file, error=error) from error
    said = scale_of(scores, logits)
    if (logits or scores is not None) and said != recalibrator.input:
        raise InputError(f"{map_file} was fitted to {recalibrator.input}, so it cannot be applied to {said}")
    console = new_console(stderr=output == STANDARD_STREAM)
    where = "" if output == STANDARD_STREAM else f"; written to {output}"
    if run is not None:
        from believable.writers.apply_run import apply_to_run

        with warnings_as_notes():
            n, notes = apply_to_run(recalibrator, run, output)
        said_of_it = f"{run}: {n:,} document{'' if n == 1 else 's'}; each score is now a probability of relevance"
    else:
        from believable.writers.apply import apply_to_file

        assert new is not None
        with warnings_as_notes(), _bar(new) as progress:
            done = apply_to_file(recalibrator, new, output, progress=progress, **options)
        notes, said_of_it = done.notes, f"{called(new)}: {done}"
    for text in notes:
        note(text)
    say(console, f"{said_of_it}{where}")


def _run_or_table(run: Path | None, new: Path | None, options: dict[str, Any]) -> tuple[Path | None, Path | None]:
    """Return the run or the table that the map is applied to; raise if both or neither are named."""
    from believable.readers.logs.trec import is_run

    if run is not None and new is not None:
        raise InputError(f"name either {new} or a run with --run, not both")
    if run is None and new is None:
        raise InputError("name a file of NEW scores (- for the standard input), or a run with --run")
    if new is not None and options["format"] is None and is_run(new):
        run, new = new, None
    if run is not None:
        asked = options | {"to": None if options["to"] == CALIBRATED_COLUMN else options["to"]}
        asked |= {"missing": None if options["missing"] == "error" else options["missing"]}
        refuse(asked, OPTIONS_OF_NEW_COLUMNS, f"is for a table, but {run} is a run, whose scores are replaced")
    return run, new


@contextmanager
def _bar(new: Path) -> Iterator[Callable[[int, int], None] | None]:
    """Show a progress bar if the error stream is a terminal."""
    console = new_console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("applying"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(str(new), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)
