"""The page statistic: a string that reads back as what was packed, rounded as documented, or not at all."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from believable import CellStats, Predictions, expected_calibration_error
from believable.binning import Grid
from believable.errors import InputError, SchemaError
from believable.predictions import View
from believable.report.packed import N_PAGE_CELLS, PackedCells
from tests.needs import real_data

DIVISORS = [m for m in range(1, N_PAGE_CELLS + 1) if N_PAGE_CELLS % m == 0]
KEPT = ("key", "n", "ny", "w", "wp", "wy", "w2")


def count(p, y, w=None, soft=False):
    return CellStats.of(Predictions(p, y, sample_weight=w, soft_labels=soft), cells=N_PAGE_CELLS)


def round_trip(cells):
    """Through JSON, as a page holds it."""
    return PackedCells.from_dict(json.loads(json.dumps(PackedCells.of(cells).to_dict()))).cells()


def example(weighted=False, soft=False, n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = np.concatenate([rng.random(n), rng.integers(0, N_PAGE_CELLS + 1, n) / N_PAGE_CELLS, [0, 0, 1, 1]])
    y = rng.random(len(p)) if soft else rng.integers(0, 2, len(p))
    return count(p, y, rng.exponential(size=len(p)) if weighted else None, soft)


def signed(body):
    """Bytes with a checksum that fits, as base64."""
    return base64.b64encode(body + struct.pack("<I", zlib.crc32(body))).decode()


def literal(text):
    """The format as documented, read by the letter: rows of key, n, mean score, weight, spread, ny and rate."""
    data = list(base64.b64decode(text))[:-4]
    version, flags = data.pop(0), data.pop(0)
    assert version == 1

    def varint():
        digits = []
        while True:
            byte = data.pop(0)
            digits.append(byte % 128)
            if byte < 128:
                return sum(digit * 128**i for i, digit in enumerate(digits))

    def take(form, size, before=b""):
        return struct.unpack(form, before + bytes(data.pop(0) for _ in range(size)))[0]

    scale = take("<d", 8) if flags & 1 else None
    rows, key = [], -1
    while data:
        key += varint() + 1
        n = varint()
        mean = {0: 0.0, 841: 1.0}.get(key)
        if mean is None:
            mean = ((key - 1) * 65536 + take("<H", 2) + 1) / (840 * 65536)
        weight = scale * take("<f", 3, b"\0") if flags & 1 else n
        spread = take("<f", 3, b"\0") if flags & 1 and n > 1 else 1 / n
        ny = None if flags & 2 else varint()
        mixed = ny is None or (flags & 1 and 0 < ny < n)
        rate = take("<f", 3, b"\0") if mixed else ny / n
        rows.append((key, n, mean, weight, spread, ny, rate))
    return rows


# --- reading back -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("soft", [False, True])
def test_the_format_is_as_documented(weighted, soft):
    """A reader written from the description alone finds the same numbers."""
    packed = PackedCells.of(example(weighted, soft))
    cells = packed.cells()
    key, n, mean, weight, spread, ny, rate = zip(*literal(packed.data), strict=True)
    assert (cells.key.tolist(), cells.n.tolist()) == (list(key), list(n))
    assert soft or cells.ny.tolist() == list(ny)
    assert cells.w == pytest.approx(np.array(weight), rel=1e-15)
    assert cells.conf == pytest.approx(np.array(mean), rel=1e-15)
    assert cells.w2 == pytest.approx(np.array(weight) ** 2 * spread, rel=1e-15)
    assert cells.wy == pytest.approx(np.array(weight) * rate, rel=1e-15)


def test_counts_are_exact():
    """Without weights every sum but those of scores comes back exactly, and the view and grid too."""
    cells = example()
    back = round_trip(cells)
    assert (back.view, back.grid) == (cells.view, cells.grid)
    for name in set(KEPT) - {"wp"}:
        assert np.array_equal(getattr(back, name), getattr(cells, name)), name
    assert np.array_equal(back.w2y, cells.w2y)
    assert np.array_equal(back.w2p, back.wp)
    assert np.isnan([back.wpp, back.wpy, back.w2pp, back.w2py]).all()


@pytest.mark.parametrize("soft", [False, True])
def test_weights_are_rounded_as_documented(soft):
    """Weights, rates and effective n are within 1.6e-5 of themselves; the number of positives is exact."""
    cells = example(weighted=True, soft=soft)
    back = round_trip(cells)
    for name in ("w", "acc", "effective_n"):
        assert getattr(back, name) == pytest.approx(getattr(cells, name), rel=1.6e-5), name
    assert np.array_equal(back.n, cells.n)
    assert np.isnan(back.ny).all() if soft else np.array_equal(back.ny, cells.ny)
    assert np.isnan(back.w2p).all()


def test_soft_labels_keep_whole_weights():
    """Without weights but with shares as labels, w and w2 are the counts."""
    cells = example(soft=True)
    back = round_trip(cells)
    assert np.array_equal(back.w, cells.n)
    assert np.array_equal(back.w2, cells.n)
    assert back.acc == pytest.approx(cells.acc, rel=1.6e-5)


SCORES = st.one_of(
    st.floats(0, 1),
    st.integers(0, N_PAGE_CELLS).map(lambda k: k / N_PAGE_CELLS),
    st.integers(0, N_PAGE_CELLS).map(lambda k: float(np.nextafter(k / N_PAGE_CELLS, 0))),
    st.integers(0, N_PAGE_CELLS - 1).map(lambda k: float(np.nextafter(k / N_PAGE_CELLS, 1))),
    st.sampled_from([0.0, 1.0, 5e-324, 1 - 2**-53]),
)
ROWS = st.lists(
    st.tuples(SCORES, st.sampled_from([0.0, 1.0, 0.25]), st.sampled_from([1e-100, 0.1, 1.0, 3.0, 1e100])), min_size=1
)


@given(ROWS, st.booleans(), st.booleans(), st.sampled_from([np.float32, np.float64]))
def test_laws(rows, weighted, soft, dtype):
    """Means stay in their cells, near where they were; packing what was unpacked changes nothing."""
    p, y, w = (np.array(column) for column in zip(*rows, strict=True))
    cells = count(p.astype(dtype), y if soft else (y > 0.5).astype(int), w if weighted else None, soft)
    packed = PackedCells.of(cells)
    back = packed.cells()
    assert PackedCells.of(back) == packed
    assert (back.grid, back.view) == (cells.grid, cells.view)
    assert np.array_equal(back.key, cells.key)
    assert np.array_equal(back.n, cells.n)
    assert np.abs(back.conf - cells.conf).max() < (2e-8 if dtype is np.float64 else 5e-8)
    inner = (back.key > 0) & (back.key <= N_PAGE_CELLS)
    tiny = 1e-15  # of w * mean / w
    assert np.all(back.conf[inner] > (back.key[inner] - 1) / N_PAGE_CELLS - tiny)
    assert np.all(back.conf[inner] <= back.key[inner] / N_PAGE_CELLS + tiny)
    assert np.all(back.conf[back.key == 0] == 0)
    assert np.all(back.conf[back.key > N_PAGE_CELLS] == 1)
    assert np.all((back.wy >= 0) & (back.wy <= back.w))
    assert np.all((back.effective_n >= 1 - tiny) & (back.w2 > 0))


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_are_those_of_the_data(weighted):
    """The ECE of the packed cells is that of the cells to 2e-8, with weights to 1e-6, in all bins that nest."""
    cells = example(weighted, n=5000)
    back = round_trip(cells)
    for m in DIVISORS:
        whole = expected_calibration_error(cells, n_bins=m)
        assert expected_calibration_error(back, n_bins=m) == pytest.approx(whole, abs=1e-6 if weighted else 2e-8)


def test_quantiles_are_those_of_the_cells():
    """Counts are exact, so boundaries of equal weight are the same."""
    cells = example(n=5000)
    back = round_trip(cells)
    assert all(back.quantile_edges(m) == cells.quantile_edges(m) for m in range(1, 41))


def test_weights_of_one_are_none():
    """A statistic whose weights are all 1 is packed as one without."""
    p, y = [0.1, 0.2, 0.2], [0, 1, 0]
    assert PackedCells.of(count(p, y, np.ones(3))) == PackedCells.of(count(p, y))


def test_scores_on_edges():
    """A score that ends a cell is in it; 0 and 1 come back as they are."""
    p = np.arange(N_PAGE_CELLS + 1) / N_PAGE_CELLS
    back = round_trip(count(p, np.zeros(len(p), int)))
    assert np.array_equal(back.conf, p)
    assert back.key.tolist() == [0, *range(1, N_PAGE_CELLS), N_PAGE_CELLS + 1]


@pytest.mark.parametrize("p", [0.0, 1.0, 0.5, 1e-300, 1 - 2**-53])
@pytest.mark.parametrize("w", [None, 7.0])
def test_one_row(p, w):
    """One row is one cell, with weights too."""
    back = round_trip(count([p], [1], None if w is None else [w]))
    assert (back.n.tolist(), back.ny.tolist(), back.wy.tolist()) == ([1], [1], [w or 1])
    assert back.effective_n.tolist() == [1]
    assert back.conf[0] == pytest.approx(p, abs=2e-8)


def test_no_rows():
    """A threshold that keeps nothing is packed as nothing."""
    data = Predictions([[0.6, 0.4]], [0])
    cells = CellStats.of(data, data.view("confidence", threshold=0.9), cells=N_PAGE_CELLS)
    assert len(round_trip(cells).n) == 0


@pytest.mark.parametrize("times", [10**6, 10**9, 10**12])
def test_large_counts(times):
    """Billions of rows to a cell are counted exactly."""
    cells = example()
    many = {name: getattr(cells, name) * times for name in ("n", "ny", "w", "wp", "wy", "w2")}
    back = round_trip(replace(cells, **many))
    assert np.array_equal(back.n, cells.n * times)
    assert np.array_equal(back.wy, cells.wy * times)
    assert back.conf == pytest.approx(cells.conf, abs=2e-8)


def test_weights_far_apart():
    """A cell lighter than 1e-38 of the heaviest counts as that; nothing overflows."""
    back = round_trip(count([0.1, 0.9], [1, 0], [1e-100, 1e100]))
    assert back.w[1] == pytest.approx(1e100, rel=1.6e-5)
    assert 0 < back.w[0] < 1e63
    assert back.acc.tolist() == [1, 0]


# --- size -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("weighted", "most"), [(False, 7), (True, 16)])
def test_size_of_full_cells(weighted, most):
    """Cells of up to 16,383 rows, all of them occupied, take 7 bytes each, with weights 16; and 14 in front and after."""
    p = (np.arange(840 * 500) + 0.5) / (840 * 500)
    y = np.arange(len(p)) % 2
    packed = PackedCells.of(count(p, y, 1.0 + y if weighted else None))
    assert len(base64.b64decode(packed.data)) <= most * 840 + 14


def test_size_of_ten_real_classes():
    """Ten classes before and after, with 10,000 rows, take 100 KB (about 5 bytes to a cell), with weights 230 KB."""
    saved = np.load(real_data() / "cifar10_lenet5.npz")
    rng = np.random.default_rng(0)
    for weights, most in ((None, 100_000), (rng.random(10_000) + 0.1, 230_000)):
        data = Predictions(saved["probs"], saved["labels"], sample_weight=weights)
        cells = CellStats.of(data, data.view("classwise"), cells=N_PAGE_CELLS)
        packed = [PackedCells.of(cells.only_stratum(k)) for k in range(10)]
        assert 2 * sum(len(json.dumps(one.to_dict())) for one in packed) < most


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_no_damage_goes_unseen(weighted):
    """A string with a character changed, left out or put in is refused (or means the same, where base64 has slack)."""
    cells = count([0.1, 0.1, 0.7], [0, 1, 1], [1, 2, 3] if weighted else None)
    packed = PackedCells.of(cells)
    text = packed.data
    changed = [
        text[:i] + other + text[i + 1 :] for i in range(len(text)) for other in "Aa0+/=-\n é" if other != text[i]
    ]
    changed += [text[:i] + text[i + 1 :] for i in range(len(text))] + [
        text[:i] + "A" + text[i:] for i in range(len(text))
    ]
    changed += [text[:i] for i in range(len(text))] + [text + text]
    for damaged in changed:
        try:
            found = PackedCells.from_dict({**packed.to_dict(), "data": damaged}).cells()
        except SchemaError:
            continue
        assert base64.b64decode(damaged) == base64.b64decode(text)
        assert np.array_equal(found.wp, packed.cells().wp)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "checksum"),
        (b"\2\0", "version 2"),
        (b"\1\10", "flags 8"),
        (b"\1\0\5", "too early"),
        (b"\1\0\0\1", "too early"),
        (b"\1\0\0\0\0", "out of range"),  # n = 0
        (b"\1\0\0\1\2", "out of range"),  # ny > n
        (b"\1\0\xca\6\1\0", "out of range"),  # cell 842
        (b"\1\0\0" + b"\xff" * 8 + b"\1\0", "out of range"),  # n beyond 2^53
        (b"\1\0\0" + b"\xff" * 200 + b"\1\0", "out of range"),
        (b"\1\1" + struct.pack("<d", np.inf) + b"\0\1\0\0\x3f\0", "positive"),
        (b"\1\1" + struct.pack("<d", 1.0) + b"\0\1\0\0\0\0", "positive"),  # w = 0
        (b"\1\2\0\1\x80\xbf\x3f", "within"),  # rate 1.5
    ],
)
def test_nonsense_with_a_checksum(body, words):
    """Bytes that mean no statistic are refused though their checksum fits."""
    with pytest.raises(SchemaError, match=words):
        PackedCells(View("binary"), signed(body)).cells()


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "believable.CellStats"},
        {"version": 2},
        {"version": "1"},
        {"data": 5},
        {"data": None},
        {"view": {}},
        {"view": {"notion": "binary"}},
        {"view": View("classwise", 3).to_dict()},
        {"view": {**View("binary").to_dict(), "notion": "none"}},
    ],
)
def test_foreign_dictionaries(change):
    """Another schema, a newer version, a damaged view or several groups are refused."""
    with pytest.raises(SchemaError):
        PackedCells.from_dict({**PackedCells.of(count([0.5], [1])).to_dict(), **change})


def test_what_cannot_be_packed():
    """Other grids, several groups and counts beyond 2^53 are refused, with what to do."""
    data = Predictions([[0.2, 0.3, 0.5]], [0])
    with pytest.raises(InputError, match=r"regrid\(840\)"):
        PackedCells.of(CellStats.of(data))
    with pytest.raises(InputError, match=r"regrid\(840\)"):
        PackedCells.of(CellStats.of(data, cells=840, spacing="logit"))
    with pytest.raises(InputError, match="only_stratum"):
        PackedCells.of(CellStats.of(data, data.view("classwise"), cells=840))
    one = count([0.5], [1])
    with pytest.raises(InputError, match="more than a page can count"):
        PackedCells.of(replace(one, n=np.array([2**53])))
    assert one.grid == Grid(840)
