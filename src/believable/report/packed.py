"""The page statistic: `CellStats` of 840 cells as a string short enough to be embedded in an HTML report.

The bytes behind the base64, numbers little-endian::

    version   1 byte
    flags     1 byte: 1 weights, 2 fractional outcomes, 4 the scores were float32
    scale     float64, with weights: the power of two that the weights below are in units of
    then for every occupied cell, in order
      gap     varint: empty cells since the last occupied one
      n       varint
      place   uint16: where in its cell the mean score is; none for {0} and {1}
      weight  float24, with weights
      spread  float24, with weights where n > 1: w2 / w^2, one over the effective n
      ny      varint, unless outcomes are fractional
      rate    float24, wy / w: with weights where 0 < ny < n, and where outcomes are fractional
    check     4 bytes: CRC-32 of everything before it

A varint has seven bits to the byte, the lowest first, and the top bit set on all but the last byte. A float24 is a
float32 rounded to its upper three bytes. Cell c = 1..840 is ((c-1)/840, c/840], and its mean score is
(c - 1 + (place + 1)/65536)/840, which lies in the cell.

Numbers are rounded once, when they are packed. The mean score changes by less than 2e-8 (5e-8 for float32 scores);
weights, their effective n and the rates of weighted or fractional outcomes change by a relative 1.6e-5 at most. Counts
are exact. Python and the script in the page compute from the same rounded numbers.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
import zlib
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from believable._types import Float64s
from believable.binning import Grid
from believable.errors import InputError, SchemaError
from believable.predictions import View
from believable.stats import CellStats
from believable.stats.counts import SUMS, load_view
from believable.stats.saved import field_of, open_saved

N_PAGE_CELLS = 840  # can be merged into 2 to 8, 10, 12, 14, 15, 20, 21, 24, 28, 30, 35, 40, 42, 56 and 60 bins
PACKED_SCHEMA, PACKED_VERSION = "believable.PackedCells", 1
FLAG_WEIGHTED, FLAG_FRACTIONAL, FLAG_FLOAT32 = 1, 2, 4
PLACES_IN_CELL = 1 << 16
LARGEST_JS_INTEGER = (1 << 53) - 1  # the largest count that JavaScript represents exactly
LIGHTEST_CELL = float(np.finfo(np.float32).tiny)  # relative to about the heaviest cell; lighter cells get this weight


@final
@dataclass(frozen=True, slots=True)
class PackedCells:
    """A `CellStats` of 840 uniform cells and one stratum, packed.

    Attributes
    ----------
    view : View
        Which pairs of score and outcome were counted.
    data : str
        The sums, as base64 of the bytes that this module's docstring describes.

    Examples
    --------
    >>> from believable import Predictions
    >>> packed = PackedCells.of(CellStats.of(Predictions([0.1, 0.15, 0.4, 0.8], [0, 1, 0, 1]), cells=840))
    >>> packed.data
    'AQBUAf//ACkB//8B0QEB//8AzwIB//8B1wvSGg=='
    >>> packed.cells().coarsen(5).n
    array([2, 1, 1])
    """

    view: View
    data: str

    @classmethod
    def of(cls, cells: CellStats) -> PackedCells:
        """Pack a statistic: `CellStats.of(predictions, cells=840)`, or a finer one's `regrid(840)`."""
        if cells.grid.n_cells != N_PAGE_CELLS or cells.grid.spacing != "uniform":
            raise InputError(
                f"a page statistic has {N_PAGE_CELLS} uniform cells, got {cells.grid}: use regrid({N_PAGE_CELLS})"
            )
        if cells.view.n_strata != 1:
            raise InputError(f"there are {cells.view.n_strata} classes or ranks: pack each alone, by only_stratum")
        if len(cells.n) and cells.n.max() > LARGEST_JS_INTEGER:
            raise InputError(f"a cell counts {cells.n.max():,} pairs, more than a page can count exactly")
        return cls(cells.view, base64.b64encode(_encode(cells)).decode("ascii"))

    def cells(self) -> CellStats:
        """Return the statistic: key, n, ny, w, wp, wy and w2; sums that were not packed are NaN."""
        flags, columns = _decode(self.data)
        missing = np.full(len(columns["key"]), np.nan)
        if not flags & FLAG_WEIGHTED:
            columns |= {"ny": columns["wy"], "w2p": columns["wp"], "w2y": columns["wy"]}
        sums = {name: columns.get(name, missing) for name in SUMS}
        grid = Grid(N_PAGE_CELLS, "uniform", "float32" if flags & FLAG_FLOAT32 else "float64")
        key, n = columns["key"].astype(np.int64), columns["n"].astype(np.int64)
        return CellStats(view=self.view, grid=grid, key=key, n=n, **sums)

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary that JSON can hold, with the name and version of its schema; see `from_dict`."""
        return {"schema": PACKED_SCHEMA, "version": PACKED_VERSION, "view": self.view.to_dict(), "data": self.data}

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> PackedCells:
        """Load what `to_dict` returned; raise `SchemaError` for a damaged dictionary or one from elsewhere."""
        open_saved(saved, PACKED_SCHEMA, PACKED_VERSION)
        view = load_view(saved)
        if view.n_strata != 1:
            raise SchemaError(f"a page statistic has one class or rank, the saved view has {view.n_strata}")
        packed = cls(view, field_of(saved, "data", str))
        packed.cells()
        return packed


# --- packing ----------------------------------------------------------------------------------------------------------


def _encode(cells: CellStats) -> bytes:
    weighted = not (np.array_equal(cells.w, cells.n) and np.array_equal(cells.w2, cells.n))
    fractional = not np.array_equal(cells.ny, np.rint(cells.ny))
    if not weighted and not np.array_equal(cells.wy, cells.ny):
        raise InputError("wy and ny differ though there are no weights: this statistic was not counted")
    flags = FLAG_WEIGHTED * weighted | FLAG_FRACTIONAL * fractional | FLAG_FLOAT32 * (cells.grid.dtype == "float32")
    out = bytearray([PACKED_VERSION, flags])
    scale = 2.0 ** math.floor(math.log2(cells.w.max())) if weighted else 1.0
    out += struct.pack("<d", scale) if weighted else b""
    w = _float24(np.maximum(cells.w / scale, LIGHTEST_CELL))
    spread = _float24(np.minimum(cells.w2 / cells.w**2, 1))
    rate = _float24(np.clip(cells.acc, 0, 1))
    place = (
        np.clip(np.rint((cells.conf * N_PAGE_CELLS - (cells.key - 1)) * PLACES_IN_CELL), 1, PLACES_IN_CELL).astype(
            np.int64
        )
        - 1
    )
    previous = -1
    for i, key in enumerate(cells.key.tolist()):
        out += _varint(key - previous - 1) + _varint(int(cells.n[i]))
        if 1 <= key <= N_PAGE_CELLS:
            out += struct.pack("<H", place[i])
        if weighted:
            out += w[i]
        if weighted and cells.n[i] > 1:
            out += spread[i]
        if not fractional:
            out += _varint(int(cells.ny[i]))
        if fractional or (weighted and 0 < cells.ny[i] < cells.n[i]):
            out += rate[i]
        previous = key
    return bytes(out) + struct.pack("<I", zlib.crc32(out))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _float24(values: Float64s) -> list[bytes]:
    bits = values.astype(np.float32).view(np.uint32).tolist()
    return [((one + 128) >> 8).to_bytes(3, "little") for one in bits]


# --- unpacking --------------------------------------------------------------------------------------------------------


class _Bytes:
    """A reader of bytes, from the start; reading past the end raises IndexError or struct.error."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def varint(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def float24(self) -> float:
        self.at += 3
        value: float = struct.unpack("<f", b"\0" + self.data[self.at - 3 : self.at])[0]
        return value

    def number(self, form: str) -> Any:
        (value,) = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value


def _decode(text: str) -> tuple[int, dict[str, Float64s]]:
    """Return the flags, and the columns key, n, ny, w, wp, wy and w2."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise SchemaError(f"the packed cells are not base64: {error}") from error
    if len(data) < 6 or struct.pack("<I", zlib.crc32(data[:-4])) != data[-4:]:
        raise SchemaError("the packed cells are damaged: their checksum does not fit")
    version, flags = data[:2]
    if version != PACKED_VERSION:
        raise SchemaError(
            f"packed cells of version {version} cannot be read by this package, which knows {PACKED_VERSION}"
        )
    if flags > (FLAG_WEIGHTED | FLAG_FRACTIONAL | FLAG_FLOAT32):
        raise SchemaError(f"the packed cells are damaged: there are no flags {flags}")
    try:
        columns = np.array(_rows(_Bytes(data[2:-4]), flags), np.float64).reshape(-1, 7).T
    except (IndexError, OverflowError, ZeroDivisionError, struct.error) as error:
        raise SchemaError("the packed cells are damaged: they end too early, or a count is out of range") from error
    key, n, ny, w, wp, wy, w2 = columns
    if np.any(key > N_PAGE_CELLS + 1) or np.any(n < 1) or np.any(n > LARGEST_JS_INTEGER) or np.any(ny > n):
        raise SchemaError("the packed cells are damaged: a cell or its count is out of range")
    if not (np.isfinite([w, wp, wy, w2]).all() and np.all(w > 0) and np.all(w2 > 0) and np.all((wy >= 0) & (wy <= w))):
        raise SchemaError("the packed cells are damaged: weights must be positive and outcomes within them")
    return flags, dict(zip(("key", "n", "ny", "w", "wp", "wy", "w2"), columns, strict=True))


def _rows(data: _Bytes, flags: int) -> list[tuple[float, ...]]:
    """Return (key, n, ny, w, wp, wy, w2) of every occupied cell; `statistic.js` has the same lines."""
    weighted, fractional = bool(flags & FLAG_WEIGHTED), bool(flags & FLAG_FRACTIONAL)
    scale = data.number("<d") if weighted else 1.0
    rows: list[tuple[float, ...]] = []
    key = -1
    while data.at < len(data.data):
        key += 1 + data.varint()
        n = data.varint()
        mean = float(key > 0)
        if 1 <= key <= N_PAGE_CELLS:
            mean = (key - 1 + (data.number("<H") + 1) / PLACES_IN_CELL) / N_PAGE_CELLS
        w = data.float24() * scale if weighted else n
        w2 = w * w * (data.float24() if n > 1 else 1.0) if weighted else n
        ny = math.nan if fractional else data.varint()
        given = fractional or (weighted and 0 < ny < n)
        rate = data.float24() if given else ny / n
        wy = w * rate if weighted or fractional else ny
        rows.append((key, n, ny, w, w * mean, wy, w2))
    return rows
