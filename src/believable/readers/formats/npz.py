"""Archives of NumPy arrays (npz): arrays of one length are columns, a matrix is one column per class."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.lib import format as npy

from believable._types import Array
from believable.errors import InputError
from believable.readers.columns import (
    LABEL_NAMES,
    LOGIT_NAMES,
    PROB_NAMES,
    Columns,
    as_spelt,
    choose_columns,
    guess,
    is_calibrated,
    known_scores,
    listed,
    plain_name,
    refuse_absent,
    refuse_unknown,
)
from believable.readers.formats.source import Source
from believable.readers.formats.table import Table

if TYPE_CHECKING:
    import polars

DAMAGED = (OSError, ValueError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error)


@final
class NpzTable(Table):
    """The arrays of an archive.

    An array of shape (n,) or (n, 1) called NAME is the column NAME; one of shape (n, K) is the columns NAME_0 …
    NAME_{K-1}, and may be asked for by NAME. Other shapes are left aside. Only the chosen arrays must have one
    length. Nothing is unpickled.

    Attributes
    ----------
    arrays : tuple of str
        Those of one or two dimensions.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self._shapes: dict[str, tuple[int, ...]] = {}
        try:
            with source.open() as stream, zipfile.ZipFile(stream) as archive:
                for entry in archive.namelist():
                    if entry.endswith(".npy"):
                        with archive.open(entry) as member:
                            self._shapes[entry.removesuffix(".npy")] = _shape(member)
        except DAMAGED as error:
            raise InputError(f"{source.name} cannot be read as npz: {error}") from error
        usable = {name: shape for name, shape in self._shapes.items() if len(shape) in (1, 2) and shape[-1] > 0}
        if not usable:
            raise InputError(f"{source.name} holds no array of one or two dimensions with any rows")
        self._places: dict[str, tuple[str, int]] = {}  # a column's array, and its place there
        for name, shape in usable.items():
            for k in range(_width(shape)):
                column = name if _width(shape) == 1 else f"{name}_{k}"
                if _width(shape) == 1 or _width(usable.get(column, (0, 2))) > 1:  # an array's own name comes first
                    self._places[column] = (name, k)
        self.arrays = tuple(usable)
        self.names = tuple(self._places)

    def choose(
        self,
        *,
        prob: str | None = None,
        prob_prefix: str | None = None,
        label: str | None = None,
        logits: bool = False,
        **asked: Any,
    ) -> Columns:
        """Arrays by name. Where one of scores and labels is named, the other must be the only one that fits it."""
        names = self.arrays
        refuse_absent((prob, label), names)
        if prob is None and prob_prefix is None and label is None:
            refuse_unknown(names, logits)
        prob, label = as_spelt(prob, names), as_spelt(label, names)
        if prob_prefix is None:
            known = known_scores(names, logits)
            if prob is not None and label is None:
                label = self._partner(prob, LABEL_NAMES, (*PROB_NAMES, *LOGIT_NAMES), "labels", "label")
            elif label is not None and prob is None:
                prob = self._partner(label, known, LABEL_NAMES, "scores", "prob")
            label = label or guess(names, LABEL_NAMES, "labels", "label")
            prob = prob or guess(names, known, "scores", "prob", taken=label)
        columns = choose_columns(names, prob=prob, prob_prefix=prob_prefix, label=label, logits=logits, **asked)
        self._check_shapes(columns)
        others = [name for name in names if name not in columns.names and not is_calibrated(name)]
        if others:
            self.notes = (f"left unread in the file: {listed(others)}",)
        width = _width(self._shapes[columns.prob[0]])
        if width == 1:
            return columns
        prob = columns.prob[0]
        twice = [f"{prob}_{k}" for k in range(width) if self._places.get(f"{prob}_{k}") != (prob, k)]
        if twice:
            raise InputError(
                f"{twice[0]!r} is an array, and column {twice[0].removeprefix(f'{prob}_')} of {prob!r} too: rename one"
            )
        return replace(columns, prob=tuple(f"{prob}_{k}" for k in range(width)), classes=tuple(range(width)))

    def columns_of(self, array: str) -> tuple[str, ...]:
        """The names of the columns of an array."""
        width = _width(self._shapes[array])
        return (array,) if width == 1 else tuple(f"{array}_{k}" for k in range(width))

    def _partner(self, of: str, known: Sequence[str], unlike: Sequence[str], what: str, option: str) -> str:
        """The array of a known name that goes with another; labels and labels_test could both go with probs_test."""
        if plain_name(of) in unlike:
            return guess(self.arrays, known, what, option, taken=of)
        found = [
            name
            for name in self.arrays
            if name != of and len(self._shapes[name]) and self._shapes[name][0] == self._shapes[of][0]
            if _begins(name, known) and (plain_name(name) in known or not _begins(name, unlike))
        ]
        end = _end(of, unlike)
        others = [name for name in found if end and _end(name, known) not in ("", end)]
        if len(found) == 1 and others:
            raise InputError(
                "{other} may not be the {what} of {array}: their names end differently; choose with {argument}",
                argument=option,
                other=others[0],
                what=what,
                array=of,
            )
        if len(found) > 1:
            raise InputError(
                "several arrays could be the {what} of {array}: {found}; choose one with {argument}",
                argument=option,
                what=what,
                array=of,
                found=found,
            )
        return found[0] if found else guess(self.arrays, known, what, option, taken=of)

    def _check_shapes(self, columns: Columns) -> None:
        several = len(columns.prob) > 1
        for name in columns.names:
            shape = self._shapes[name]
            if _width(shape) > 1 and (several or name not in columns.prob):
                advice = (
                    f"; for one-hot rows, save {name}.argmax(axis=1); several labels of one row are for Python: "
                    "Predictions(..., multilabel=True)"
                    if name == columns.label
                    else ""
                )
                raise InputError(f"array {name!r} has shape {shape}: one entry per row is needed{advice}")
        lengths = {name: self._shapes[name][0] for name in columns.names}
        if len(set(lengths.values())) > 1:
            words = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise InputError(f"the arrays differ in length: {words}")

    def _read(self, names: Sequence[str]) -> polars.DataFrame:
        import polars

        wanted = list(dict.fromkeys(self._places[name][0] for name in names))
        if len({self._shapes[name][0] for name in wanted}) > 1:
            words = ", ".join(f"{name} {self._shapes[name]}" for name in wanted)
            raise InputError(
                "{file} holds arrays of different lengths ({words}): choose with {prob} and {label}",
                file=self.source.name,
                words=words,
            )
        try:
            with self.source.open() as stream, np.load(stream, allow_pickle=False) as archive:
                arrays = {name: _plain_numbers(archive[name]) for name in wanted}
        except DAMAGED as error:
            if "allow_pickle" in str(error):
                raise InputError(
                    f"{self.source.name}: an array holds Python objects, which are not read; save numbers or text"
                ) from error
            raise InputError(f"{self.source.name} cannot be read as npz: {error}") from error
        places = {name: self._places[name] for name in names}
        return polars.DataFrame({name: arrays[array][:, k] for name, (array, k) in places.items()})


def _shape(member: Any) -> tuple[int, ...]:
    """From the header of an array, without reading its numbers."""
    header = npy.read_array_header_1_0 if npy.read_magic(member) == (1, 0) else npy.read_array_header_2_0
    return tuple(header(member)[0])


def _width(shape: tuple[int, ...]) -> int:
    return shape[1] if len(shape) == 2 else 1


def _begins(name: str, known: Sequence[str]) -> bool:
    return any(plain_name(name) == word or plain_name(name).startswith(f"{word}_") for word in known)


def _end(name: str, known: Sequence[str]) -> str:
    """What follows a known word: test, of probs_test; nothing, where none begins the name."""
    ends = [plain_name(name).removeprefix(f"{word}_") for word in known if plain_name(name).startswith(f"{word}_")]
    return min(ends, key=len, default="")


def _plain_numbers(array: Array) -> Array:
    """As a matrix of types that the file engine knows: native bytes, no half precision."""
    array = array.reshape(len(array), -1)
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(np.float32 if array.dtype.itemsize == 2 else np.float64)
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
