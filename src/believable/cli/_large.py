"""Inputs that are not held in memory row by row: Parquet files read in one pass, and saved summaries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

from believable.cli._common import STANDARD_STREAM, note
from believable.cli._inputs import names_in, refuse
from believable.cli._options import scale_of
from believable.cli._show import working
from believable.cli._wording import in_options
from believable.errors import BelievableError, InputError

if TYPE_CHECKING:
    from believable.readers.passes.one_pass import Passed
    from believable.stats import SegmentStats, Summary

MAX_ROWS_HELD = 5_000_000  # longer Parquet files are read in one pass
OPTIONS_OF_LARGE_FILES = ("stream", "checkpoint", "checkpoint_every", "save_summary")
OPTIONS_THAT_NEED_ROWS = ("cluster", "compare", "compare_prob")
OPTIONS_OF_OTHER_INPUTS = ("run", "qrels", "rel", "graded", "unjudged", "map", "samples", "normalise", "filter")
OPTIONS_OF_ROWS = (
    *("prob", "prob_prefix", "logits", "scores", "percent", "label", "pos_label", "neg_label", "weight"),
    *("drop_missing", "format", "stream", "checkpoint", "checkpoint_every"),
)
RANGE_OF_NUMBERS = re.compile(r"(up to|above) \S+|\S+ to \S+")  # the names of subgroups that are ranges of numbers


@dataclass(frozen=True, slots=True)
class Large:
    """A summary to audit, with a title and notes for the report."""

    summary: Summary
    title: str
    taken: str
    notes: tuple[str, ...]
    by: list[str] | None = None
    segments: SegmentStats | None = None  # to search, if combinations of columns were counted


def is_large(files: Sequence[Path], asked: Mapping[str, Any]) -> bool:
    """Return whether the input is read in one pass.

    It is with options such as --stream, and for several files, a folder, a pattern, a saved summary or a long file.
    """
    from believable.readers.passes.checkpoint import is_saved
    from believable.readers.passes.parts import is_pattern

    if len(files) > 1 or any(asked.get(name) for name in OPTIONS_OF_LARGE_FILES):
        return True
    if not files or files[0] == STANDARD_STREAM:
        return False
    (file,) = files
    if file.is_dir() or is_pattern(file) or is_saved(file):
        return True
    return (
        not any(asked.get(name) for name in OPTIONS_THAT_NEED_ROWS) and _rows(file, asked.get("format")) > MAX_ROWS_HELD
    )


def files_behind(files: Sequence[Path]) -> list[Path]:
    """Return the files and those that a folder or pattern stands for, all of which must not be overwritten."""
    from believable.readers.passes.parts import is_pattern, paths_of

    several = [one for one in files if one != STANDARD_STREAM and (one.is_dir() or is_pattern(one))]
    try:
        return [*files, *map(Path, paths_of(several))]
    except BelievableError:  # the reader will raise it again
        return [*files]


def _rows(file: Path, format: str | None) -> int:
    """Return the number of rows of a Parquet file; 0 for anything else."""
    from believable.readers.formats.parquet import PARQUET
    from believable.readers.passes.parts import find_parts

    if not file.is_file() or (
        format != "parquet" if format is not None else file.suffix.lower() not in PARQUET.endings
    ):
        return 0
    try:
        return find_parts(file).rows
    except BelievableError:  # the reader will raise it again
        return 0


def read_large(files: Sequence[Path], asked: Mapping[str, Any]) -> Large:
    """Count the files in one pass, or load the summaries that they contain."""
    from believable.readers.passes.checkpoint import is_saved

    saved = [is_saved(file) for file in files]
    what = f"one pass over {files[0]}" if len(files) == 1 else "one pass over Parquet files"
    what = "a saved summary" if any(saved) else what
    refuse(asked, OPTIONS_OF_OTHER_INPUTS, f"cannot be combined with {what}")
    refuse(
        asked,
        OPTIONS_THAT_NEED_ROWS,
        f"needs the rows, but {what} keeps only counts: leave it out, or write a sample of the rows to a smaller file",
    )
    if not files:
        raise InputError("name a Parquet file, a folder of them, or a pattern in quotes")
    for name in ("checkpoint", "save_summary"):
        if asked.get(name) == STANDARD_STREAM:
            raise InputError(f"--{name.replace('_', '-')} needs the name of a file, not the standard output")
    large = _saved(files, asked) if any(saved) and all(saved) else _passed(files, asked)
    if asked.get("save_summary") is not None:
        large.summary.save(asked["save_summary"])
    return large


def _saved(files: Sequence[Path], asked: Mapping[str, Any]) -> Large:
    """Load saved summaries and add them."""
    from believable.readers import load_summary

    refuse(asked, OPTIONS_OF_ROWS, f"is for files of rows, but {files[0]} is a saved summary")
    if len({file.resolve() for file in files}) < len(files):
        raise InputError("a saved summary is named twice, so its rows would count twice: name each once")
    summaries = [load_summary(file) for file in files]
    if asked.get("pairs") is False and any(one.are_pairs for one in summaries):
        raise InputError(
            "--no-pairs is for rows, but these were counted as (confidence, correct) pairs: count them again"
        )
    summary = reduce(add, [one.as_pairs() for one in summaries] if asked.get("pairs") else summaries)
    _refuse_other_levels(summaries)
    cells = summary.cells[0].grid.n_cells
    where = "a saved summary" if len(files) == 1 else f"{len(files)} saved summaries"
    notes = (f"{summary.n:,} rows, counted in {cells:,} cells, from {where}",)
    by = names_in(asked.get("by", ())) or None
    return Large(summary, files[0].name if len(files) == 1 else _called(files), where, notes, by)


def _refuse_other_levels(summaries: Sequence[Summary]) -> None:
    """Raise if subgroups of the same name differ between summaries: ranges with other cuts, other "other values"."""
    from believable.stats.levels import OTHERS
    from believable.stats.values import MISSING

    for name in summaries[0].by:
        levels = [{*one.by[name]} - {MISSING} for one in summaries]
        every = set.union(*levels)
        if every != set.intersection(*levels) and (OTHERS in every or all(map(RANGE_OF_NUMBERS.fullmatch, every))):
            raise InputError(
                f"the summaries divide column {name} into different subgroups, which cannot be added: count all files "
                "in one pass"
            )


def _passed(files: Sequence[Path], asked: Mapping[str, Any]) -> Large:
    from believable.readers.passes.one_pass import PassSettings, pass_over

    for file in files:
        if file == STANDARD_STREAM:
            raise InputError("the standard input cannot be read in batches: name a Parquet file")
        if asked.get("format") not in (None, "parquet") or _is_other(file):
            together = "together, " if len(files) > 1 else ""
            advice = "; to audit each file by itself, use --each" if len(files) > 1 else ""
            advice += "; to compare two models, use `believable compare`" if len(files) == 2 else ""
            raise InputError(f"only Parquet files are read {together}in one pass, but {file} is not one{advice}")
    if asked.get("checkpoint_every") is not None and asked.get("checkpoint") is None:
        raise InputError("--checkpoint-every needs --checkpoint, which names the file")
    if asked.get("find_segments") and not names_in(asked["by"]):
        raise InputError("--find-segments searches the columns that --by names, in files that are read in one pass")
    from believable.binning import N_CELLS

    bins_fit = asked["bins"] != "cube_root" and N_CELLS % asked["bins"] == 0
    if asked["strategy"] == "uniform" and not bins_fit:  # before the pass, which may take hours
        raise InputError(
            f"--bins {asked['bins']}: rows are counted in {N_CELLS:,} cells, which are then combined into bins, so the "
            "number of bins must divide it: choose 10, 12, 15, 16, 18 or 20, or use --strategy quantile"
        )
    scale = scale_of(asked.get("scores"), asked["logits"])
    if scale == "scores":
        raise InputError("raw scores are not probabilities: fit a calibration map to them first, with `believable fit`")
    settings = PassSettings(
        **{name: asked[name] for name in ("prob", "prob_prefix", "label", "weight", "percent")},
        pos_label=asked["pos_label"],
        neg_label=asked["neg_label"],
        pairs=asked["pairs"],
        by=names_in(asked["by"]),
        from_logits=scale == "logits",
        drop_missing=asked["drop_missing"],
        checkpoint=asked["checkpoint"],
        every=asked["checkpoint_every"],
    )
    passed = pass_over(list(files) if len(files) > 1 else files[0], settings, say=note)
    title = passed.title if len(files) == 1 else _called(files)
    large = Large(passed.summary, title, passed.taken, tuple(map(in_options, passed.notes)))
    return _with_combinations(large, passed, asked) if asked.get("find_segments") else large


def _with_combinations(large: Large, passed: Passed, asked: Mapping[str, Any]) -> Large:
    """Count combinations of columns, for which the files are read again; a note says if that cannot be done."""
    from believable.engines import segment_stats
    from believable.stats.summary import MAX_SUBGROUP_LEVELS

    columns, summary = passed.columns, passed.summary
    why = "scores are in percent" if asked["percent"] else ""
    try:
        if not why:
            with working("Counting combinations of columns"):
                counted = segment_stats(
                    passed.parts.scan(columns.names),
                    columns.prob[0] if len(columns.prob) == 1 else columns.prob,
                    columns.label,
                    by=columns.by,
                    weight=columns.weight,
                    max_levels=MAX_SUBGROUP_LEVELS,
                    from_logits=scale_of(asked.get("scores"), asked["logits"]) == "logits",
                    pos_label=asked["pos_label"],
                    neg_label=asked["neg_label"],
                    classes=columns.classes,
                    on_invalid="drop" if asked["drop_missing"] else "error",
                    pairs=summary.are_pairs,
                )
            if counted.rows == summary.n:
                return replace(large, segments=counted)
            why = f"they count {counted.rows:,} rows, not {summary.n:,}"
    except BelievableError as error:
        why = str(error)
    said = f"only single columns were searched for segments, because combinations could not be counted: {why}"
    return replace(large, notes=(*large.notes, said))


def _is_other(file: Path) -> bool:
    """Return whether a file has the ending of another format."""
    from believable.readers.formats import format_by_ending
    from believable.readers.formats.parquet import PARQUET

    return file.is_file() and format_by_ending(file) not in (None, PARQUET)


def _called(files: Sequence[Path]) -> str:
    return f"{files[0].name} and {len(files) - 1} more"
