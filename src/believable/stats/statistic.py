"""`Statistic`, the base class of all statistics: they can be added, saved, sent and loaded."""

from __future__ import annotations

import inspect
import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import numpy as np

from believable._write import write_beside
from believable.errors import InputError, SchemaError
from believable.stats.saved import check_beginning, pack, unpack

_KINDS: dict[str, type[Statistic]] = {}


class Statistic(ABC):
    """A set of counts and sums that can be added, saved and sent, and whose size does not grow with the rows.

    There are two saved forms, equal to the last bit: a dictionary for JSON, and a binary file. With thousands of cells,
    the file is about a quarter as large and more than ten times as fast to read.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        _KINDS[schema_of(cls)] = cls

    @abstractmethod
    def _form(self) -> dict[str, Any]:
        """Return the saved dictionary, with arrays in it: the name and version of its schema, and all fields."""

    @classmethod
    @abstractmethod
    def from_dict(cls, saved: dict[str, Any]) -> Self:
        """Restore a statistic from `to_dict`; a damaged or foreign dictionary raises an error."""

    @abstractmethod
    def __add__(self, other: Self) -> Self:
        """Return the statistic of the rows of both; raise `MergeError` if they count different things."""

    def __radd__(self, other: object) -> Self:
        """Make `sum(parts)` work, which starts from 0."""
        if isinstance(other, int) and other == 0:
            return self
        return NotImplemented

    # --- saving ---

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary that JSON can hold, with the name and version of its schema; see `from_dict`."""
        saved: dict[str, Any] = _as_lists(self._form())
        return saved

    def to_bytes(self) -> bytes:
        """Return the compact binary form with a checksum, for a file or a network; see `from_bytes`."""
        return pack(self._form())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the compact binary form to a file, completely or not at all.

        A file of that name is replaced only when the new one is on disk.

        Examples
        --------
        >>> import tempfile
        >>> from believable import CellStats, Predictions
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     CellStats.of(Predictions([0.1, 0.8], [0, 1])).save(f"{folder}/monday.cells")
        ...     CellStats.load(f"{folder}/monday.cells")
        CellStats(binary, n=2, 2 occupied)
        """
        written = self.to_bytes()
        with write_beside(path) as beside:
            beside.write_bytes(written)

    # --- loading ---

    @classmethod
    def from_bytes(cls, saved: bytes) -> Self:
        """Restore a statistic from `to_bytes`; damaged, truncated or foreign bytes raise an error.

        Nothing is executed.
        """
        return cls._from_form(unpack(_as_bytes(saved), "the saved statistic"), "the saved statistic")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a statistic from a file that `save` wrote; a damaged, truncated or foreign file raises an error.

        Every field is checked as in `from_dict`, and nothing is executed.
        """
        return cls._from_form(unpack(_read(path), os.fspath(path)), os.fspath(path))

    @classmethod
    def _from_form(cls, form: dict[str, Any], name: str) -> Self:
        schema = form.get("schema")
        if schema != schema_of(cls):
            found = str(schema).removeprefix("believable.")
            known = f": load it with {found}, or with load_statistic" if str(schema) in _kinds() else ""
            raise SchemaError(f"{name} holds a {found}, not a {cls.__name__}{known}")
        try:
            return cls.from_dict(form)
        except SchemaError as error:
            raise SchemaError(f"{name} is damaged: {error}") from error


def load_statistic(path: str | os.PathLike[str]) -> Statistic:
    """Load a statistic of any kind from a file that `save` wrote.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    BinStats, CellStats, ScoreSums, Summary or KernelBlocks
        The statistic in the file.

    Examples
    --------
    >>> import tempfile
    >>> from believable import Predictions, Summary
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Summary.of(Predictions([0.1, 0.8], [0, 1])).save(f"{folder}/monday.summary")
    ...     load_statistic(f"{folder}/monday.summary")
    Summary(n=2, kind='binary', cells of binary, binary (logit))
    """
    name = os.fspath(path)
    form = unpack(_read(path), name)
    kind = _kinds().get(str(form.get("schema")))
    if kind is None:
        found = form.get("schema")
        raise SchemaError(
            f"{name} holds a {found!r}, which this version does not know: install a newer believable, if one wrote it"
        )
    return kind._from_form(form, name)


def _kinds() -> dict[str, type[Statistic]]:
    return {schema: kind for schema, kind in _KINDS.items() if not inspect.isabstract(kind)}


def schema_of(kind: type[Statistic]) -> str:
    """Return the name of the saved form."""
    return f"believable.{kind.__name__}"


def _as_lists(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {name: _as_lists(one) for name, one in value.items()}
    return [_as_lists(one) for one in value] if isinstance(value, list) else value


def _as_bytes(saved: Any) -> bytes:
    if not isinstance(saved, (bytes, bytearray, memoryview)):
        raise SchemaError(f"a saved statistic must be bytes, got {type(saved).__name__}: use load for a file")
    return bytes(saved)


def _read(path: str | os.PathLike[str]) -> bytes:
    """Read a file; only the beginning of a foreign one, which may be very large."""
    try:
        with Path(path).open("rb") as file:
            beginning = file.read(64)
            check_beginning(beginning, os.fspath(path))
            return beginning + file.read()
    except OSError as error:
        raise InputError(f"{os.fspath(path)} cannot be read: {error.strerror or error}") from error


# --- `RunningTotal`: many parts added one by one, with the rounding error of few additions ----------------------------


Kind = TypeVar("Kind", bound=Statistic)
PARTS_PER_LEVEL = 1000


class RunningTotal(Generic[Kind]):
    """The sum of a stream of statistics, with little rounding error.

    Adding a million small parts to one growing total rounds a million times, each time by up to half a unit in the last
    place: a relative error of 1e-10 at worst, and 1e-11 if the parts are similar. Here up to a thousand parts make a
    subtotal, a thousand subtotals the next, and so on. No number takes part in more than a thousand additions for each
    factor of a thousand in their count, and sums of 1e9 parts are accurate to 1e-12. Counts are exact either way.

    It holds three or four statistics instead of one, and `add` does one addition, rarely two.

    Examples
    --------
    >>> from believable import Predictions, ScoreSums
    >>> total = RunningTotal()
    >>> for p, y in ((0.1, 0), (0.8, 1), (0.4, 1)):
    ...     total.add(ScoreSums.of(Predictions([p], [y])))
    >>> total.value.n, round(total.value.brier, 12)
    (3, 0.41)
    """

    __slots__ = ("_counts", "_levels")

    def __init__(self, start: Kind | None = None) -> None:
        self._levels: list[Kind | None] = []
        self._counts: list[int] = []
        if start is not None:
            self.add(start)

    def add(self, part: Kind) -> None:
        """Add a part."""
        carried: Kind | None = part
        level = 0
        while carried is not None:
            if level == len(self._levels):
                self._levels.append(None)
                self._counts.append(0)
            before = self._levels[level]
            added = carried if before is None else before + carried
            self._counts[level] += 1
            full = self._counts[level] == PARTS_PER_LEVEL
            self._levels[level], carried = (None, added) if full else (added, None)
            self._counts[level] %= PARTS_PER_LEVEL
            level += 1

    @property
    def value(self) -> Kind | None:
        """Sum of all parts; None before the first."""
        total: Kind | None = None
        for one in self._levels:  # small subtotals first, which rounds less
            if one is not None:
                total = one if total is None else total + one
        return total
