"""Split the rows of a large table into batches, which depend only on the files and the batch size."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from believable._types import Ints
from believable.errors import InputError, Row
from believable.readers.columns import Columns
from believable.readers.files import in_words_of_files
from believable.readers.passes.parts import FilePart, Parts, readable

if TYPE_CHECKING:
    import polars

SCORES_PER_BATCH = 4_000_000  # so many that adding the cells of a batch takes little time compared with counting
ROWS_OF_FIRST_BATCH = 65_536
_ONE_AT_A_TIME = Lock()  # reading is fast compared with counting, but each large row group takes memory


class FilePiece(NamedTuple):
    """Rows `start` to `start + rows` of a file."""

    part: FilePart
    start: int
    rows: int


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Rows that are read and counted together: a part of a large file, or several small files.

    Attributes
    ----------
    pieces : tuple of FilePiece
        The parts of files that the batch consists of.
    """

    pieces: tuple[FilePiece, ...]

    @property
    def rows(self) -> int:
        """The number of rows of all pieces."""
        return sum(piece.rows for piece in self.pieces)

    def read(self, names: Sequence[str]) -> polars.DataFrame:
        """Read these columns."""
        frames = []
        for piece in self.pieces:
            with readable(piece.part.path), _ONE_AT_A_TIME:
                frame = piece.part.scan().select(list(names)).slice(piece.start, piece.rows).collect()
                same = frame.height == piece.rows and piece.part.is_the_same()
            if not same:
                raise InputError(f"{piece.part.path} was changed while it was read: run it again")
            frames.append(frame)
        return frames[0] if len(frames) == 1 else _one_below_the_other(frames)

    def place(self, row: int) -> tuple[str, int]:
        """Return the file that a row of the batch comes from, and its row there."""
        ends = list(accumulate(piece.rows for piece in self.pieces))
        k = bisect_right(ends, row)
        piece = self.pieces[k]
        return piece.part.path, row - (ends[k] - piece.rows) + piece.start

    @contextmanager
    def said_of(self, columns: Columns | None = None, rows: Ints | None = None) -> Iterator[None]:
        """Reword errors for files: add the file, the columns and the row; `rows` are those not left out."""
        try:
            yield
        except InputError as error:
            files: list[str] = []

            def place(row: Row) -> Row:
                file, number = self.place(row.number if rows is None else int(rows[row.number]))
                files.append(file)
                return Row(number, file="" if file == files[0] else file)

            sentence = in_words_of_files(error.sentence, place)
            name = files[0] if files else self.pieces[0].part.path
            what = "" if columns is None else f" ({columns})"
            raise InputError("{file}{what}: {sentence}", file=name, what=what, sentence=sentence) from error


def batches_of(parts: Parts, size: int, start: int = 0) -> Iterator[RowBatch]:
    """Yield batches of `size` rows, in the order of the files, from row `start` of the whole table.

    The very first batch is small, because the others wait for it: it shows what the columns contain.
    """
    waiting: list[FilePiece] = []
    held = 0 if start else size - min(size, ROWS_OF_FIRST_BATCH)
    for part in parts.files:
        begin = min(start, part.rows)
        start -= begin
        while begin < part.rows:
            rows = min(size - held, part.rows - begin)
            waiting.append(FilePiece(part, begin, rows))
            begin, held = begin + rows, held + rows
            if held == size:
                yield RowBatch(tuple(waiting))
                waiting, held = [], 0
    if waiting:
        yield RowBatch(tuple(waiting))


def spread_over(parts: Parts, names: Sequence[str], rows: int, stretches: int) -> polars.DataFrame:
    """Read about `rows` rows, in stretches spread evenly over the table and at least one per file.

    All rows are read if there are no more than that.
    """
    if parts.rows <= rows:
        return RowBatch(tuple(FilePiece(part, 0, part.rows) for part in parts.files if part.rows)).read(names)
    pieces: list[FilePiece] = []
    for part in parts.files:
        here = max(1, round(stretches * part.rows / parts.rows))
        length = min(max(1, rows // max(stretches, len(parts.files))), -(-part.rows // here))
        pieces += [FilePiece(part, k * part.rows // here, min(length, part.rows)) for k in range(here) if part.rows]
    pieces = [piece._replace(rows=min(piece.rows, piece.part.rows - piece.start)) for piece in pieces]
    return _one_below_the_other([RowBatch((piece,)).read(names) for piece in pieces])


def _one_below_the_other(frames: Sequence[polars.DataFrame]) -> polars.DataFrame:
    """Concatenate frames; integers of different sizes, and text and categories, were checked to be compatible."""
    import polars

    categories = (polars.Categorical, polars.Enum)
    try:
        frames = [
            frame.cast({name: polars.String for name, dtype in frame.schema.items() if isinstance(dtype, categories)})
            for frame in frames
        ]
        return polars.concat(frames, how="vertical_relaxed", rechunk=True)
    except polars.exceptions.PolarsError as error:
        raise InputError(f"columns of different types cannot be read together: {error}") from error
