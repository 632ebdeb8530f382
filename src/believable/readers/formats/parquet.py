"""Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, final

from believable.errors import InputError
from believable.readers.formats.source import Source
from believable.readers.formats.table import Table

if TYPE_CHECKING:
    import polars


@final
class ParquetTable(Table):
    """A Parquet file; a column that is not asked for is not touched."""

    def __init__(self, source: Source) -> None:
        import polars

        self.source = source
        try:
            self.names = tuple(polars.scan_parquet(source.given(), glob=False).collect_schema())
        except (polars.exceptions.PolarsError, OSError) as error:
            raise self._unreadable(error) from error

    def _read(self, names: Sequence[str]) -> polars.DataFrame:
        import polars

        try:
            return polars.read_parquet(self.source.given(), columns=list(names), glob=False)
        except (polars.exceptions.PolarsError, OSError) as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> InputError:
        return InputError(f"{self.source.name} cannot be read as parquet: {str(error).splitlines()[0]}")
