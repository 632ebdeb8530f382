"""Columns of segments: which ones are searched if none are named, and which ones have no segments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from believable.cli._common import STANDARD_STREAM, called
from believable.cli._options import scale_of
from believable.errors import InputError

if TYPE_CHECKING:
    from believable.readers import Loaded
    from believable.readers.columns import Columns
    from believable.readers.formats.base import Table

OF_LISTS = "not one value per row"
NAMED_LIKE = "named like"
WHATEVER_ITS_NAME = "; to search a column whatever its name, use --by"
EXPLANATION = ": (?:it has no segments|it identifies rows|every level has)"  # begins what follows the reason in a note


def columns_to_search(file: Path, asked: Mapping[str, Any]) -> tuple[list[str], dict[str, str]]:
    """Return the columns of a table to search for segments, and those that are left out, each with the reason.

    Columns that are read as scores, labels, weights or clusters are neither.
    """
    from believable.readers.files import said_of
    from believable.readers.formats import open_table

    if file == STANDARD_STREAM or (file.exists() and not file.is_file()):
        raise InputError(f"{called(file)} can be read only once: name the columns to search for segments with --by")
    table = open_table(file, asked.get("format"))
    with said_of(table):
        taken = _taken(table, asked)
    columns_of = {name: table.columns_of(name) for name in table.arrays} or {name: (name,) for name in table.names}
    others = [name for name, columns in columns_of.items() if not set(columns).intersection(taken.names)]
    lists = _of_lists(table, others, taken.label)
    left_out = dict.fromkeys(lists, OF_LISTS)
    left_out |= _by_their_names(table, [name for name in others if name not in lists], taken)
    names = [name for name in others if name not in left_out]
    if not names:
        besides = f"besides {', '.join(taken.names)}{_in_words(left_out)}"
        raise InputError(f"{file} has no column to search for segments, {besides}")
    return names, left_out


def other_columns(file: Path, asked: Mapping[str, Any]) -> list[str]:
    """Return the columns of a table that could be searched for segments, judged by their names alone."""
    from believable.readers.columns import LABEL_NAMES, LOGIT_NAMES, PROB_NAMES, is_calibrated, telling_names
    from believable.readers.formats import open_table
    from believable.stats.levels import is_identifier, plain_name

    table = open_table(file, asked.get("format"))
    if table.arrays:
        return []
    taken = _taken(table, asked)
    others = [name for name in table.names if name not in (*taken.names, asked.get("compare_prob"))]
    clusters = telling_names(others, taken)
    return [
        name
        for name in others
        if name not in clusters
        and not is_identifier(name)
        and not is_calibrated(name)
        and plain_name(name) not in (*PROB_NAMES, *LOGIT_NAMES, *LABEL_NAMES)
    ]


def _taken(table: Table, asked: Mapping[str, Any]) -> Columns:
    """Return the columns that are read as scores, labels, weights or clusters."""
    from believable.readers.columns import ColumnsAsked, columns_of_table

    named: dict[str, Any] = {name: asked.get(name) for name in ("prob", "prob_prefix", "label", "weight", "cluster")}
    logits = scale_of(asked.get("scores"), asked["logits"]) != "probabilities"
    return columns_of_table(table, ColumnsAsked(**named, logits=logits))[0]


def _by_their_names(table: Table, names: Sequence[str], taken: Columns) -> dict[str, str]:
    """Return the columns with names of something other than segments, each with the reason to leave it out."""
    from believable.readers.columns import LABEL_NAMES, LOGIT_NAMES, PROB_NAMES, is_calibrated, telling_names
    from believable.stats.levels import plain_name

    clusters, found = telling_names(names, taken), {}
    for name in names:
        if is_calibrated(name) or plain_name(name) in (*PROB_NAMES, *LOGIT_NAMES):
            found[name] = f"{NAMED_LIKE} scores"
        elif plain_name(name) in LABEL_NAMES:
            found[name] = f"{NAMED_LIKE} labels"
        elif name in clusters:
            column = table.read([name])[name]
            n, rows = column.n_unique(), len(column)
            found[name] = f"has {n:,} values in {rows:,} rows" if 2 * n > rows else f"{NAMED_LIKE} clusters"
    return found


def _of_lists(table: Table, names: Sequence[str], label: str) -> list[str]:
    """Return the names of columns that hold lists or the like, and of arrays of another length than the labels."""
    if table.arrays:
        n = table.arrays[label][0]
        return [name for name in names if table.arrays[name] not in ((n,), (n, 1))]
    types = table.read(names).schema if names else {}
    return [name for name in names if types[name].is_nested()]


def only_with_segments(loaded: Loaded, left_out: Mapping[str, str], said: str) -> Loaded:
    """Return what was read without the columns that have no segments; a note that begins with `said` lists them.

    Columns in `left_out`, each with the reason, are listed too. If no column has segments, an error says why.
    """
    why = {**left_out, **_without_segments(loaded)}
    if not why:
        return loaded
    by = {name: values for name, values in loaded.by.items() if name not in why}
    if not by:
        raise InputError(f"no column has segments{_in_words(why)}")
    all_of_them = f", subgroups {', '.join(loaded.by)}"
    taken = re.sub(f"{re.escape(all_of_them)}$", lambda _: f", subgroups {', '.join(by)}", loaded.taken)
    return replace(loaded, by=by, taken=taken, notes=(*loaded.notes, f"{said}{_in_words(why)}"))


def _without_segments(loaded: Loaded) -> dict[str, str]:
    """Return the columns that have no segments, each with the reason."""
    from believable.stats.levels import level_columns

    predictions, found = loaded.predictions, {}
    outcomes = predictions.labels == 1 if predictions.kind == "binary" else None
    for name, values in loaded.by.items():
        kept, notes = level_columns({name: values}, len(predictions), outcomes)
        if not kept:
            found[name] = re.split(EXPLANATION, notes[0].removeprefix(f"column {name} "))[0]
    return found


def _in_words(why: Mapping[str, str]) -> str:
    """Return a colon, and columns with the reasons in brackets; "" for no column."""
    listed = f": {', '.join(f'{name} ({reason})' for name, reason in why.items())}" if why else ""
    return listed + (WHATEVER_ITS_NAME if any(reason.startswith(NAMED_LIKE) for reason in why.values()) else "")
