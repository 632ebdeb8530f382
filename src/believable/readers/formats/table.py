"""`Table`: a file whose columns can be named, chosen and read; one class for each format derives from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, final

from believable.errors import InputError
from believable.readers.columns import Columns, choose_columns
from believable.readers.formats.source import Source

if TYPE_CHECKING:
    import polars


class Table(ABC):
    """A table in a file.

    Attributes
    ----------
    source : Source
    names : tuple of str
        Its columns.
    notes : tuple of str
        What a reader of the report should know about how it was read.
    """

    source: Source
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @final
    def read(self, names: Sequence[str] | None = None, *, naming: Sequence[str] = ()) -> polars.DataFrame:
        """These columns (None: all of them), every row; in those `naming`, what is written differently differs."""
        frame = self._read(self.names if names is None else list(dict.fromkeys(names)))
        frame = self._as_written(frame, list(dict.fromkeys(naming)))
        if frame.height == 0:
            raise InputError(f"{self.source.name} has a header and no rows")
        return frame

    def choose(self, **asked: Any) -> Columns:
        """The columns to take, as `choose_columns`."""
        return choose_columns(self.names, **asked)

    def line(self, row: int) -> int | None:
        """The line, as an editor counts, that a row begins on; None where there are no lines."""
        return None

    def _as_written(self, frame: polars.DataFrame, naming: Sequence[str]) -> polars.DataFrame:
        """Names that were taken for numbers as they are in the file, where that is not the same."""
        return frame

    @abstractmethod
    def _read(self, names: Sequence[str]) -> polars.DataFrame: ...
