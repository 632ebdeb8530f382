"""Find the Parquet files of one large table, in order, and check that they fit together."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from believable import _optional
from believable.errors import InputError
from believable.readers.formats import format_by_ending
from believable.readers.formats.parquet import PARQUET
from believable.stats.saved import FILE_MAGIC

if TYPE_CHECKING:
    import polars

HIDDEN_BEGINNINGS = ("_", ".")  # _SUCCESS, _metadata, .part-0.parquet.crc: files that Spark writes next to the data
HIVE_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
ADVICE_ON_SUMMARIES = "name saved summaries one by one, without files of rows"
WIDE_INTEGERS = ("UInt64", "Int128", "UInt128")  # combined with other integers, they have no type in NumPy

GivenPaths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True, slots=True)
class FilePart:
    """One file of the table.

    Attributes
    ----------
    path : str
    rows : int
    size, mtime : int
        Its size in bytes and time of last change in nanoseconds, to notice if the file changes.
    folders : dict of str to str or None
        Columns that the names of its folders define, such as country=DE.
    """

    path: str
    rows: int
    size: int
    mtime: int
    folders: Mapping[str, str | None]

    def is_the_same(self) -> bool:
        """Return whether the file is unchanged since it was found."""
        status = os.stat(self.path)
        return (status.st_size, status.st_mtime_ns) == (self.size, self.mtime)

    def scan(self) -> polars.LazyFrame:
        """Return its columns, with those that its folders define."""
        import polars

        frame = polars.scan_parquet(self.path, glob=False, hive_partitioning=False)
        if not self.folders:
            return frame
        there = frame.collect_schema()
        named = [(name, value) for name, value in self.folders.items() if name not in there]
        return frame.with_columns([polars.lit(value, polars.String).alias(name) for name, value in named])


@dataclass(frozen=True, slots=True)
class Parts:
    """All files of the table, in order.

    Attributes
    ----------
    name : str
        The name of the table in messages.
    files : tuple of FilePart
    schema : dict of str to polars type
        Columns of the first file, and those that its folders define.
    """

    name: str
    files: tuple[FilePart, ...]
    schema: Mapping[str, Any]

    @property
    def rows(self) -> int:
        """The number of rows of all files."""
        return sum(part.rows for part in self.files)

    def scan(self, names: Sequence[str]) -> polars.LazyFrame:
        """Return some columns of all files, which all files must have."""
        import polars

        return polars.concat([part.scan().select(names) for part in self.files], how="vertical_relaxed")

    def checked(self, names: Iterable[str], scores: Sequence[str]) -> Parts:
        """Raise if a file lacks one of these columns or has another type; return the parts with all types known.

        Scores must have exactly the same type. Other integers may differ in size, except for the types in
        `WIDE_INTEGERS`. A column without any value has no type, so the first file with a value decides.
        """
        import polars

        names, first, kinds = list(names), self.files[0], dict(self.schema)
        said_by = dict.fromkeys(names, first.path)
        for part in self.files[1:]:
            with readable(part.path):
                schema = part.scan().collect_schema()
            for name in names:
                if name not in schema:
                    raise InputError(f"{part.path} has no column {name!r}, which {first.path} has")
                here, there = schema[name], kinds[name]
                if there == polars.Null:
                    kinds[name], said_by[name] = here, part.path
                    continue
                same = here == there if name in scores else _family(here) == _family(there)
                if not same and here != polars.Null:
                    raise InputError(
                        f"{part.path}: column {name!r} is of type {here}, but in {said_by[name]} it is of type "
                        f"{there}; write all files with the same types, or read them separately"
                    )
        return replace(self, schema=kinds)


def find_parts(given: GivenPaths) -> Parts:
    """Find the files of a table: a file, all .parquet files in a folder and below, a pattern, or a list of these.

    Files are in the order of their names. Those that begin with _ or a dot, or are in such folders, are left out unless
    they are named. Only the end of each file is read, which has the number of rows.

    Examples
    --------
    >>> import polars, tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for country in ("DE", "AT"):
    ...     (folder / f"country={country}").mkdir()
    ...     polars.DataFrame({"p": [0.2, 0.7], "y": [0, 1]}).write_parquet(folder / f"country={country}" / "0.parquet")
    >>> parts = find_parts(folder)
    >>> parts.rows, [part.folders["country"] for part in parts.files], list(parts.schema)
    (4, ['AT', 'DE'], ['p', 'y', 'country'])
    """
    _optional.load("polars", "reading files needs")
    several = [given] if isinstance(given, (str, os.PathLike)) else list(given)
    if not several:
        raise InputError("name at least one Parquet file")
    names = [os.fspath(one) for one in several]
    paths = paths_of(names)
    called = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    files = tuple(map(_part, paths))
    with readable(files[0].path):
        schema = dict(files[0].scan().collect_schema())
    return Parts(called, files, schema)


def paths_of(names: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Return the files that names stand for, in order; each only once, even if it is named twice or linked to."""
    paths: dict[str, str] = {}
    for name in names:
        for path in _files_of(os.fspath(name)):
            paths.setdefault(os.path.realpath(path), path)
    return list(paths.values())


def is_pattern(name: str | os.PathLike[str]) -> bool:
    """Return whether a name is a pattern: it contains *, ? or [ and is not a file itself."""
    return glob.has_magic(os.fspath(name)) and not os.path.exists(name)


@contextmanager
def readable(path: str) -> Iterator[None]:
    """Turn errors of polars and the operating system about a file into an `InputError`."""
    import polars

    try:
        yield
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, OSError) as error:
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path} cannot be read as parquet: {what}") from error


def _files_of(name: str) -> list[str]:
    if os.path.isdir(name):
        found = _below(name)
        if not found:
            raise InputError(
                f"there is no {PARQUET.endings[0]} file in the folder {name} or below it{_of_other_kinds(name)}"
            )
        return found
    if os.path.isfile(name):
        return [name]
    if is_pattern(name):
        matched = [one for one in sorted(glob.glob(name, recursive=True)) if not _hidden(os.path.basename(one))]
        found = [path for one in matched for path in (_below(one) if os.path.isdir(one) else [one])]
        if not found:
            raise InputError(f"no file matches the pattern {name}")
        return found
    if os.path.exists(name):
        raise InputError(f"{name} is not a file: a pipe cannot be read in batches, so write it to a file first")
    raise InputError(f"there is no file {name}")


def _of_other_kinds(folder: str) -> str:
    """Return advice about files of other formats in the folder; "" if there are none."""
    if any(is_statistic(os.path.join(folder, one)) for one in os.listdir(folder)):
        return f"; {ADVICE_ON_SUMMARIES}"
    found = sorted(one for one in os.listdir(folder) if format_by_ending(one) not in (None, PARQUET))
    if not found:
        return ""
    return f"; name other files, such as {found[0]}, one at a time, or convert them to Parquet"


def is_statistic(path: str) -> bool:
    """Return whether a file begins like saved statistics."""
    if not os.path.isfile(path):
        return False
    with readable(path), open(path, "rb") as file:
        return file.read(len(FILE_MAGIC)) == FILE_MAGIC


def _below(folder: str) -> list[str]:
    found, seen = [], {os.path.realpath(folder)}
    for parent, folders, files in os.walk(folder, onerror=_refuse_unlisted, followlinks=True):
        inside = {one: os.path.realpath(os.path.join(parent, one)) for one in sorted(folders) if not _hidden(one)}
        folders[:] = [one for one, real in inside.items() if real not in seen]  # a link may lead back to a parent
        seen.update(inside.values())
        found += [
            os.path.join(parent, one) for one in files if one.lower().endswith(PARQUET.endings) and not _hidden(one)
        ]
    return sorted(found, key=lambda path: Path(path).parts)


def _refuse_unlisted(error: OSError) -> None:
    raise InputError(f"the folder {error.filename} cannot be read: {error.strerror or error}") from error


def _hidden(name: str) -> bool:
    return name.startswith(HIDDEN_BEGINNINGS)


def _part(path: str) -> FilePart:
    import polars

    with readable(path):
        with open(path, "rb") as file:
            begins = file.read(len(PARQUET.magic))
        if begins != PARQUET.magic:
            what = "empty" if not begins else "not a Parquet file"
            advice = "; other formats are read whole, one file at a time" if begins else ""
            if begins and FILE_MAGIC.startswith(begins):
                advice = f"; {ADVICE_ON_SUMMARIES}"
            raise InputError(f"{path} is {what}: only Parquet files can be read in batches{advice}")
        status = os.stat(path)
        rows = polars.scan_parquet(path, glob=False, hive_partitioning=False).select(polars.len()).collect().item()
    return FilePart(path, int(rows), status.st_size, status.st_mtime_ns, _folders(path))


def _folders(path: str) -> dict[str, str | None]:
    """Return folders such as country=DE/day=3 as columns; special characters are percent-encoded, such as %20."""
    pairs = (folder.partition("=") for folder in Path(path).parts[:-1])
    return {
        unquote(name): None if value == HIVE_NO_VALUE else unquote(value)
        for name, equals, value in pairs
        if name and equals
    }


def _family(kind: Any) -> str:
    """Return a name shared by the types that are compatible in a column of labels, weights or subgroups."""
    import polars

    if kind.is_integer() and str(kind) not in WIDE_INTEGERS:
        return "integer"
    return "text" if kind == polars.String or isinstance(kind, (polars.Categorical, polars.Enum)) else str(kind)
