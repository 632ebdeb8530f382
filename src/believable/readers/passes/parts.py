"""Which Parquet files make one large table, in which order, and whether they fit together."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from believable.errors import InputError, MissingDependencyError
from believable.readers.formats import format_by_ending
from believable.readers.formats.parquet import PARQUET
from believable.stats.saved import FILE_MAGIC

if TYPE_CHECKING:
    import polars

HIDDEN_BEGINNINGS = ("_", ".")  # _SUCCESS, _metadata, .part-0.parquet.crc: what Spark writes beside the data
HIVE_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
ADVICE_ON_SUMMARIES = "saved summaries are named one by one, with no file of rows among them"
WIDE_INTEGERS = ("UInt64", "Int128", "UInt128")  # beside other integers they become numbers that NumPy does not know

GivenPaths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True, slots=True)
class FilePart:
    """One file of the table.

    Attributes
    ----------
    path : str
    rows : int
    size, mtime : int
        Bytes, and when it was last changed, in nanoseconds: whether it is still the same file.
    folders : dict of str to str or None
        What the names of its folders say: country=DE is a column.
    """

    path: str
    rows: int
    size: int
    mtime: int
    folders: Mapping[str, str | None]

    def is_the_same(self) -> bool:
        """Whether the file is still what was found."""
        status = os.stat(self.path)
        return (status.st_size, status.st_mtime_ns) == (self.size, self.mtime)

    def scan(self) -> polars.LazyFrame:
        """Its columns, with those that its folders name."""
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
        What to call the table in a sentence.
    files : tuple of FilePart
    schema : dict of str to polars type
        Columns of the first file, and those that its folders name.
    """

    name: str
    files: tuple[FilePart, ...]
    schema: Mapping[str, Any]

    @property
    def rows(self) -> int:
        """The number of rows of all files."""
        return sum(part.rows for part in self.files)

    def checked(self, names: Iterable[str], scores: Sequence[str]) -> Parts:
        """The same, unless a file lacks one of these columns, or has it of another type, which is an error.

        Integers may be of any size, but not scores, nor beside those that no others hold. A column without any value
        has no type: the first file that says one counts.
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
                        f"{part.path}: column {name!r} is of type {here}, in {said_by[name]} it is of type {there}; "
                        "write all files with the same types, or read them apart"
                    )
        return replace(self, schema=kinds)


def find_parts(given: GivenPaths) -> Parts:
    """The files behind a name: one file, a folder with all .parquet files below it, a pattern, or a list of such.

    Files are in the order of their names. Those that begin with _ or a point, or lie in such folders, are left out
    unless they are named. Only the ends of the files are read, which say how many rows there are.

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
    try:
        import polars  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("reading files needs polars: pip install polars") from error
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
    """The files behind names, in order; each once, though it be named twice or have a link that leads to it."""
    paths: dict[str, str] = {}
    for name in names:
        for path in _files_of(os.fspath(name)):
            paths.setdefault(os.path.realpath(path), path)
    return list(paths.values())


def is_pattern(name: str | os.PathLike[str]) -> bool:
    """Whether a name stands for several files: it has *, ? or [ and is none itself."""
    return glob.has_magic(os.fspath(name)) and not os.path.exists(name)


@contextmanager
def readable(path: str) -> Iterator[None]:
    """What polars and the system say of a broken file, as a sentence."""
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
                f"there is no {PARQUET.endings[0]} file in the folder {name}, or below it{_of_other_kinds(name)}"
            )
        return found
    if os.path.isfile(name):
        return [name]
    if is_pattern(name):
        matched = [one for one in sorted(glob.glob(name, recursive=True)) if not _hidden(os.path.basename(one))]
        found = [path for one in matched for path in (_below(one) if os.path.isdir(one) else [one])]
        if not found:
            raise InputError(f"no file is called like {name}")
        return found
    if os.path.exists(name):
        raise InputError(f"{name} is no file: a pipe cannot be read in batches, so write it to a file first")
    raise InputError(f"there is no file {name}")


def _of_other_kinds(folder: str) -> str:
    """What to do with the tables of other kinds that are there instead; nothing to say without any."""
    if any(is_statistic(os.path.join(folder, one)) for one in os.listdir(folder)):
        return f"; {ADVICE_ON_SUMMARIES}"
    found = sorted(one for one in os.listdir(folder) if format_by_ending(one) not in (None, PARQUET))
    if not found:
        return ""
    return f"; other files, such as {found[0]}, are read one at a time, or after they are written as Parquet"


def is_statistic(path: str) -> bool:
    """Whether a file begins as saved statistics do."""
    if not os.path.isfile(path):
        return False
    with readable(path), open(path, "rb") as file:
        return file.read(len(FILE_MAGIC)) == FILE_MAGIC


def _below(folder: str) -> list[str]:
    found, seen = [], {os.path.realpath(folder)}
    for parent, folders, files in os.walk(folder, onerror=_refuse_unlisted, followlinks=True):
        inside = {one: os.path.realpath(os.path.join(parent, one)) for one in sorted(folders) if not _hidden(one)}
        folders[:] = [one for one, real in inside.items() if real not in seen]  # a link may lead back
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
            advice = f"; {ADVICE_ON_SUMMARIES}" if begins and FILE_MAGIC.startswith(begins) else ""
            raise InputError(f"{path} is {what}: only Parquet files are read in batches{advice}")
        status = os.stat(path)
        rows = polars.scan_parquet(path, glob=False, hive_partitioning=False).select(polars.len()).collect().item()
    return FilePart(path, int(rows), status.st_size, status.st_mtime_ns, _folders(path))


def _folders(path: str) -> dict[str, str | None]:
    """country=DE/day=3 as columns; characters that a name cannot have are written as %20 and the like."""
    pairs = (folder.partition("=") for folder in Path(path).parts[:-1])
    return {
        unquote(name): None if value == HIVE_NO_VALUE else unquote(value)
        for name, equals, value in pairs
        if name and equals
    }


def _family(kind: Any) -> str:
    """Types that mean the same in a column of labels, weights or subgroups."""
    import polars

    if kind.is_integer() and str(kind) not in WIDE_INTEGERS:
        return "integer"
    return "text" if kind == polars.String or isinstance(kind, (polars.Categorical, polars.Enum)) else str(kind)
