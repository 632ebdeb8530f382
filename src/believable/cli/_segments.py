"""Columns to search for segments, if none are named: all that are not read as anything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from believable.cli._common import STANDARD_STREAM, called
from believable.cli._options import scale_of
from believable.errors import InputError

if TYPE_CHECKING:
    from believable._types import Array
    from believable.readers.formats.base import Table


def columns_to_search(file: Path, asked: Mapping[str, Any]) -> list[str]:
    """Return the names of the columns of a table that can be searched for segments.

    These are neither read as scores, labels, weights or clusters, nor calibrated scores, nor have a name that is
    typical of clusters; and they hold one value per row.
    """
    from believable.readers.columns import ColumnsAsked, columns_of_table, is_calibrated, telling_names
    from believable.readers.files import said_of
    from believable.readers.formats import open_table

    if file == STANDARD_STREAM or (file.exists() and not file.is_file()):
        raise InputError(f"{called(file)} can be read only once: name the columns to search for segments with --by")
    table = open_table(file, asked.get("format"))
    with said_of(table):
        named: dict[str, Any] = {
            name: asked.get(name) for name in ("prob", "prob_prefix", "label", "weight", "cluster")
        }
        logits = scale_of(asked.get("scores"), asked["logits"]) != "probabilities"
        taken, _ = columns_of_table(table, ColumnsAsked(**named, logits=logits))
    left_out = {*taken.names, *telling_names(table.names, taken)}
    names = [name for name in table.names if name not in left_out and not is_calibrated(name)]
    names = _with_a_value_per_row(table, names, taken.label)
    if not names:
        raise InputError(f"{file} has no column to search for segments, besides {', '.join(taken.names)}")
    return names


def _with_a_value_per_row(table: Table, names: Sequence[str], label: str) -> list[str]:
    """Return the names of columns that hold no lists or the like, and of arrays of the same length as the labels."""
    if table.arrays:
        return [name for name in names if table.arrays[name] in (table.arrays[label], table.arrays[label][:1])]
    if not names:
        return []
    types = table.read(names).schema
    return [name for name in names if not types[name].is_nested()]


def as_far_as_possible(by: Mapping[str, Array]) -> tuple[dict[str, Array], list[str]]:
    """Return the columns with few enough subgroups; those that identify rows are left out, with a note."""
    from believable.readers.levels import as_subgroups

    columns: dict[str, Array] = {}
    notes: list[str] = []
    for name, values in by.items():
        try:
            made, said = as_subgroups({name: values})
        except InputError as error:
            notes.append(f"{error}, and was left out")
            continue
        columns |= made
        notes += said
    if not columns:
        raise InputError(f"there is no column to search for segments: {'; '.join(notes)}")
    return columns, notes
