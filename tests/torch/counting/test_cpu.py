"""The compiled pass on a CPU counts what plain torch counts, and nothing if a row is invalid."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from believable import Layout, Predictions, Summary, View
from believable._kernels.compiled import tally as compiled
from believable._kernels.compiled.threads import alone
from believable._kernels.twins import backend
from believable.errors import InputError
from believable.torch import CalibrationMeter
from believable.torch.counting import cpu, reference
from believable.torch.counting.rows import rows_of
from believable.torch.counting.state import count
from believable.torch.counting.tally import DEFAULT_NOTIONS, TALLY_SUM_NAMES, Tally

pytestmark = pytest.mark.skipif(backend == "numpy", reason="the compiled kernels are not in use")

SIZES = (1, 7, 64, 65, 1_000)
EVERY_NOTION = ("confidence", "top_label", "classwise")
EVERY = {"notions": EVERY_NOTION, "cells": 15, "spacing": "uniform"}
SUM_TOLERANCE = 1e-12


def event(n, seed=0, dtype=torch.float32):
    """Probabilities with 0, 1 and edges among them, and outcomes."""
    generator = torch.Generator().manual_seed(seed)
    p = torch.rand(n, generator=generator, dtype=torch.float64)
    special = torch.tensor([0.0, 1.0, 0.2, 0.5, 1 / 3, 1e-9, -0.0, 1 - 1e-7, 1e-30], dtype=torch.float64)
    p[: len(special)] = special[:n]
    y = (torch.rand(n, generator=generator) < p).long()
    y[:2] = torch.tensor([0, 1])[:n]  # certain and right: the log loss stays finite
    return p.to(dtype), y


def classes(n, k, seed=0, scale=3.0, dtype=torch.float32):
    """Logits and labels, of which half are the largest."""
    generator = torch.Generator().manual_seed(seed)
    z = (torch.randn(n, k, generator=generator, dtype=torch.float64) * scale).to(dtype)
    y = torch.randint(0, k, (n,), generator=generator)
    return z, torch.where(torch.rand(n, generator=generator) < 0.5, z.argmax(dim=1), y)


def weights_of(n, seed=1):
    """Unequal weights, some of them 0."""
    generator = torch.Generator().manual_seed(seed)
    w = torch.rand(n, generator=generator, dtype=torch.float64) * 3
    return torch.where(torch.rand(n, generator=generator) < 0.2, 0, w)


def tallies(rows, **choices):
    """The rows as counted by plain torch, and by the compiled pass."""
    layout = Layout.of(rows.kind, rows.n_classes, rows.dtype, **choices)
    plain, fast = (Tally.empty(layout, weighted=rows.weights is not None) for _ in range(2))
    reference.add_rows(plain, rows)
    assert cpu.fits(fast, rows)
    assert cpu.add_rows(fast, rows)
    return plain, fast


def assert_close(found, wanted, name, scale=1.0):
    """Equal up to rounding, compared with the largest entry; infinite where the other is."""
    finite = wanted[np.isfinite(wanted)]
    scale = max(scale, float(np.abs(finite).max(initial=0)))
    np.testing.assert_allclose(found, wanted, rtol=SUM_TOLERANCE, atol=SUM_TOLERANCE * scale, err_msg=name)


def assert_same(fast, plain):
    """Equal counts, and sums up to rounding."""
    assert not plain.invalid.any()
    for found, wanted in zip(fast.tables, plain.tables, strict=True):
        assert torch.equal(found[:, :, 0], wanted[:, :, 0])
        assert_close(found.numpy(), wanted.numpy(), "table")
    for name, found, wanted in zip(TALLY_SUM_NAMES, fast.sums.numpy(), plain.sums.numpy(), strict=True):
        # What varies by chance is a difference of large sums in each row.
        assert_close(found, wanted, name, float(plain.sums[0]) if name.endswith("by chance") else 1.0)
    assert fast.sums[0] == plain.sums[0]
    for found, wanted in zip(fast.by_class.numpy(), plain.by_class.numpy(), strict=True):
        assert_close(found, wanted, "by class")


def compare(*tensors, from_logits=False, ignore_index=None, **choices):
    """Count the same rows both ways, as a meter does by default."""
    rows = rows_of(*tensors, from_logits=from_logits, ignore_index=ignore_index)
    choices = {"notions": DEFAULT_NOTIONS[rows.kind]} | choices
    plain, fast = tallies(rows, **choices)
    assert_same(fast, plain)
    return fast


# --- one event --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("spacing", ["uniform", "logit", ("uniform", "logit")])
@pytest.mark.parametrize("cells", [15, 50_400])
def test_scores_of_one_event(dtype, spacing, cells):
    """Every type of score and grid, with 0, 1 and edges."""
    for n in SIZES:
        p, y = event(n, dtype=dtype)
        compare(p, y, cells=cells, spacing=spacing)


def test_edges_of_one_event():
    """Scores on the edges of cells, and next to them."""
    for dtype in (torch.float32, torch.float64):
        edges = torch.arange(1009, dtype=torch.float64).div(1008).to(dtype)
        around = [torch.nextafter(edges, torch.full_like(edges, way)).clamp(0, 1) for way in (-1.0, 2.0)]
        p = torch.cat([edges, *around])
        y = torch.arange(len(p)) % 2
        compare(p, y, cells=1008, spacing=("uniform", "logit"))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_logits_of_one_event(dtype):
    """Logits so large that their sigmoid is 0 or 1, or hardly more than 0."""
    for n in SIZES:
        z, y = classes(n, 2, scale=6.0, dtype=dtype)
        compare(z[:, 0].contiguous(), y, from_logits=True, spacing="uniform")
    z = torch.tensor([800.0, -800, 1e30, -1e30, 0, -0.0, -740, 720, 36, -36.5], dtype=torch.float64)
    compare(z, (z > 0).long(), from_logits=True)
    compare(z, (z < 0).long(), from_logits=True)  # infinite log loss


def test_logits_on_edges():
    """Round logits are on edges of logit-spaced cells, where the last bit decides: as in the core, whose sigmoid it is."""
    z, y = classes(3_000, 2, scale=6.0, dtype=torch.bfloat16)
    layout = Layout.of("binary", 2, "float64")
    wanted = Summary.of(Predictions(z[:, 0].double().numpy(), y.numpy(), from_logits=True), layout)
    tally = Tally.empty(layout)
    assert cpu.add_rows(tally, rows_of(z[:, 0], y, from_logits=True))
    for found, cells in zip(tally.cells(), wanted.cells, strict=True):
        assert np.array_equal(found.key, cells.key)
        assert np.array_equal(found.n, cells.n)


@pytest.mark.parametrize(
    "kind", [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float32]
)
def test_labels_of_every_type(kind):
    """Labels of one event and of classes."""
    p, y = event(300)
    compare(p, y.to(kind))
    z, y = classes(300, 2)
    compare(z, y.to(kind), from_logits=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_and_ignored_rows_of_one_event(dtype):
    """Rows left out may hold anything."""
    for n in SIZES:
        p, y = event(n, dtype=dtype)
        w, ignored = weights_of(n), torch.arange(n) % 5 == 2
        y = torch.where(ignored, -100, y)
        compare(torch.where(ignored, math.nan, p), y, ignore_index=-100)
        compare(torch.where(ignored | (w == 0), math.inf, p), y, w, ignore_index=-100)
        compare(p, y.clamp(0), w.float())
        compare(torch.where(w == 0, math.nan, p * 30 - 15), y, w, ignore_index=-100, from_logits=True)


def test_one_event_of_any_shape_and_stride():
    """Tensors with more axes, transposed ones and every second entry."""
    p, y = event(600)
    for p_, y_ in (
        (p.reshape(20, 30), y.reshape(20, 30)),
        (p.reshape(20, 30).T, y.reshape(20, 30).T),
        (p[::2], y[::2]),
        (p.reshape(2, 3, 100), y.reshape(2, 3, 100)),
        (p.flip(0), y),
        (p[3:], y[3:]),
    ):
        compare(p_, y_)
        compare(p_, y_, torch.ones_like(p_) * 2)


# --- classes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 10, 33, 1000, 9000])
@pytest.mark.parametrize("from_logits", [True, False])
def test_classes(k, from_logits):
    """Few and many classes, in every type, with tables by class."""
    types = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
    for n in SIZES if k < 100 else (7,):
        for dtype in types if k < 100 else (torch.float16, torch.float32):  # rows of bfloat16 do not sum to 1
            z, y = classes(n, k, dtype=dtype)
            compare(z if from_logits else z.softmax(dim=1), y, from_logits=from_logits, **EVERY | {"cells": 5})
    compare(z, y, from_logits=True)


@pytest.mark.parametrize("spacing", ["uniform", "logit", ("uniform", "logit")])
@pytest.mark.parametrize("from_logits", [True, False])
def test_grids_of_classes(spacing, from_logits):
    """Both spacings, few cells and many, in float32 and float64."""
    for k in (2, 5, 40):
        for dtype in (torch.float32, torch.float64):
            z, y = classes(200, k, dtype=dtype)
            notions = (*EVERY_NOTION, "binary") if k == 2 else EVERY_NOTION
            scores = z if from_logits else z.softmax(dim=1)
            for cells in (10, 1_000):
                compare(scores, y, from_logits=from_logits, notions=notions, cells=cells, spacing=spacing)


@pytest.mark.parametrize("k", [3, 50])
@pytest.mark.parametrize("from_logits", [True, False])
def test_ranked_notions(k, from_logits):
    """The r-th largest, the r largest together, and each of them; of ties the lowest class is first."""
    for scale in (3.0, 0.0):
        z, y = classes(500, k, scale=scale)
        z = torch.where(torch.arange(500)[:, None] % 3 == 0, z.round(), z)  # ties
        scores = z if from_logits else z.softmax(dim=1)
        views = [View(notion, k, r=r) for notion in ("rth", "within_top_r", "top_r") for r in (1, 2)]
        w = weights_of(500)
        compare(scores, y, from_logits=from_logits, notions=views, cells=20, spacing="uniform")
        compare(scores, y, w, from_logits=from_logits, notions=(*views, "confidence"), cells=20, spacing="uniform")


def test_certain_and_equal_rows():
    """Probabilities of exactly 0 and 1, equal ones, and equal logits."""
    for k in (2, 4, 64):
        certain = torch.eye(k)[torch.arange(100) % k]
        y = torch.arange(100) % k
        for scores in (certain, torch.full((100, k), 1 / k), torch.full((100, k), 1 / k, dtype=torch.float64)):
            compare(scores, y, notions=EVERY_NOTION, cells=k, spacing="uniform")
        compare(torch.zeros(100, k), y, from_logits=True, notions=EVERY_NOTION, cells=k, spacing="uniform")
        compare(certain, (y + 1) % k)  # infinite log loss


@pytest.mark.parametrize("k", [2, 10, 40])
@pytest.mark.parametrize("far", [800.0, 1e30, 745.0, 709.0])
def test_logits_far_apart(k, far):
    """Softmax underflows to 0, or nearly, and the log loss may be infinite."""
    z, y = classes(200, k, scale=1.0, dtype=torch.float64)
    z[::2] += far * (torch.arange(k) % 2)
    z[1::4] -= far * (torch.arange(k) % 3 == 1)
    compare(z, y, from_logits=True, **EVERY)
    compare(z.float(), z.argmax(dim=1), from_logits=True, **EVERY)


def test_logits_so_near_that_probabilities_are_equal():
    """Logits that differ by less than a rounding error tie, and the lowest class wins."""
    for k in (3, 40):
        z = torch.zeros(64, k, dtype=torch.float64)
        z[:, 2] = 1e-18
        z[:32, 1] = 3e-16
        compare(z, torch.arange(64) % 3, from_logits=True, **EVERY)


@pytest.mark.parametrize("k", [2, 10, 40, 1000])
@pytest.mark.parametrize("from_logits", [True, False])
def test_weights_and_ignored_rows_of_classes(k, from_logits):
    """Rows left out may hold anything, and whole tiles of them are nothing."""
    for n in (1, 65, 200) if k < 100 else (20,):
        z, y = classes(n, k)
        scores = z if from_logits else z.softmax(dim=1)
        w, ignored = weights_of(n), (torch.arange(n) % 4 == 1) | (torch.arange(n) // 64 == 1)
        y = torch.where(ignored, 255, y)
        bare = torch.where(ignored[:, None], math.nan, scores)
        notions = EVERY | {"from_logits": from_logits}
        compare(bare, y, ignore_index=255, **notions)
        compare(torch.where((w == 0)[:, None], -math.inf, bare), y, w, ignore_index=255, **notions)
        compare(scores, torch.full((n,), 1), ignore_index=1, **notions)


@pytest.mark.parametrize("k", [3, 40])
def test_pixels_and_strides(k):
    """Classes in axis 1 with more axes behind, channels last, transposed and strided tensors."""
    z, y = classes(420, k)
    w = weights_of(420)
    rows = z.reshape(6, 7, 10, k)
    for z_ in (rows.movedim(-1, 1), rows.movedim(-1, 1).contiguous(), rows.transpose(1, 2).movedim(-1, 1)):
        y_ = y.reshape(6, 7, 10) if z_.shape[2] == 7 else y.reshape(6, 7, 10).transpose(1, 2)
        compare(z_, y_, from_logits=True, **EVERY)
        compare(z_.half(), y_, w.reshape(y_.shape), from_logits=True)
    compare(z.T.contiguous().T, y, from_logits=True)
    compare(z[::3, : k - 1], y[::3].clamp(max=k - 2), from_logits=True)
    compare(z[:, ::2], y[:].clamp(max=(k + 1) // 2 - 1), from_logits=True)


def test_a_tally_with_weights_takes_rows_without():
    """Once there are weights, later rows weigh 1."""
    for tensors in (event(100), classes(100, 4)):
        rows = rows_of(*tensors, from_logits=tensors[0].ndim == 2)
        layout = Layout.of(rows.kind, rows.n_classes, rows.dtype)
        plain, fast = Tally.empty(layout, weighted=True), Tally.empty(layout, weighted=True)
        reference.add_rows(plain, rows)
        assert cpu.add_rows(fast, rows)
        assert_same(fast, plain)


def test_no_rows():
    """An empty batch adds nothing."""
    for scores, from_logits in ((torch.zeros(0), False), (torch.zeros(0, 3), True), (torch.zeros(2, 3, 0), True)):
        rows = rows_of(
            scores, torch.zeros((*scores.shape[:1], *scores.shape[2:]), dtype=torch.long), from_logits=from_logits
        )
        plain, fast = tallies(rows)
        assert_same(fast, plain)
        assert not fast.sums.any()


# --- threads and blocks -----------------------------------------------------------------------------------------------


def test_the_number_of_threads_changes_nothing(monkeypatch):
    """Parts are those of the rows, and every slot receives its rows in their order."""
    monkeypatch.setattr(compiled, "EVENT_ROWS_OF_A_PART", 256)
    monkeypatch.setattr(compiled, "ENTRIES_OF_A_PART", 1 << 10)
    for name in ("EVENT_PARTS_PER_THREAD", "CLASS_ENTRIES_PER_THREAD", "TABLE_ENTRIES_PER_THREAD"):
        monkeypatch.setattr(compiled, name, 1)
    monkeypatch.setattr(compiled, "SLOTS_PER_THREAD", 64)
    batches = [(event(3_000), False, {}), (classes(3_000, 3), True, EVERY), (classes(20, 1000), True, EVERY)]
    for tensors, from_logits, choices in batches:
        rows = rows_of(*tensors, weights_of(len(tensors[1])), from_logits=from_logits)
        found = []
        for threads in (1, 3, 4):
            monkeypatch.setenv("BELIEVABLE_THREADS", str(threads))
            plain, fast = tallies(rows, **choices)
            assert_same(fast, plain)
            found.append(fast)
        for other in found[1:]:
            for mine, theirs in zip(found[0].tables, other.tables, strict=True):
                assert torch.equal(mine, theirs)
            assert torch.equal(found[0].sums, other.sums)
            assert torch.equal(found[0].by_class, other.by_class)


def test_blocks(monkeypatch):
    """More entries than are copied at once, and more rows than are counted at once."""
    monkeypatch.setattr(cpu, "ENTRIES_AT_ONCE", 500)
    monkeypatch.setattr(cpu, "ROWS_AT_ONCE", 100)
    compare(*event(1_001), weights_of(1_001))
    z, y = classes(1_001, 7)
    for tensor in (z, z.half(), z.T.contiguous().T):
        compare(tensor, y, from_logits=True)
        compare(tensor, y, weights_of(1_001), from_logits=True, **EVERY)
    compare(z[:1_000].reshape(10, 100, 7).movedim(2, 1), y[:1_000].reshape(10, 100), from_logits=True, **EVERY)


# --- invalid rows -----------------------------------------------------------------------------------------------------


def spoiled():
    """Valid rows with one invalid row each, as scores, labels, weights, and whether they are logits."""
    p, y = event(700)
    z, labels = classes(700, 5)
    q, wide = z.softmax(dim=1), classes(90, 1000)
    w = torch.ones(700, dtype=torch.float64)

    def with_value(tensor, at, value):
        changed = tensor.clone()
        changed[at] = value
        return changed

    for value in (math.nan, math.inf, -math.inf, 1.0001, -1e-6):
        yield with_value(p, 650, value), y, None, False
        yield with_value(q, (650, 2), value), labels, None, False
    for value in (math.nan, math.inf, -math.inf):
        yield with_value(p, 650, value), y, None, True
        yield with_value(z, (650, 2), value), labels, None, True
        yield with_value(wide[0], (77, 999), value), wide[1], None, True
        yield with_value(wide[0].softmax(dim=1), (77, 999), value), wide[1], None, False
    for label in (-1, 5, 2**40):
        yield p, with_value(y, 650, label), None, False
        yield z, with_value(labels, 650, label), None, True
    yield q * 1.01, labels, None, False
    for weight in (-1.0, math.nan, math.inf, 1e-200, 1e200):
        yield p, y, with_value(w, 650, weight), False
        yield z, labels, with_value(w, 650, weight), True


@pytest.mark.parametrize("blocks", [False, True])
def test_an_invalid_batch_leaves_the_tally_as_it_is(blocks, monkeypatch):
    """Not a byte changes, and the error names the row."""
    if blocks:
        monkeypatch.setattr(cpu, "ENTRIES_AT_ONCE", 500)
        monkeypatch.setattr(cpu, "ROWS_AT_ONCE", 100)
    for scores, labels, weights, from_logits in spoiled():
        rows = rows_of(scores, labels, weights, from_logits=from_logits)
        notions = {} if rows.kind == "binary" else EVERY
        tally = Tally.empty(Layout.of(rows.kind, rows.n_classes, rows.dtype, **notions), weighted=weights is not None)
        tensors = [*tally.tables, tally.sums, tally.by_class, tally.invalid]
        before = [tensor.clone() for tensor in tensors]
        assert not cpu.add_rows(tally, rows)
        with pytest.raises(InputError, match=r"row \d+|number that is not whole"):
            count(tally, rows)
        for tensor, was in zip(tensors, before, strict=True):
            assert torch.equal(tensor, was)


def test_a_meter_refuses_a_batch_as_a_whole():
    """The position of the row is that in the targets."""
    meter = CalibrationMeter(3, from_logits=True)
    logits = torch.zeros(2, 3, 4, 4)
    meter.update(logits, torch.zeros(2, 4, 4, dtype=torch.long))
    logits[1, 0, 2, 3] = math.nan
    with pytest.raises(InputError, match=r"position \(1, 2, 3\)"):
        meter.update(logits, torch.zeros(2, 4, 4, dtype=torch.long))
    assert meter.n == 32


# --- any rows ---------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_scores_of_one_event(data):
    """Scores of every magnitude."""
    scores = data.draw(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=20))
    y = data.draw(st.lists(st.integers(0, 1), min_size=len(scores), max_size=len(scores)))
    dtype = data.draw(st.sampled_from([torch.float32, torch.float64]))
    compare(torch.tensor(scores, dtype=dtype), torch.tensor(y), cells=data.draw(st.integers(2, 100)))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_logits(data):
    """Whole and half numbers, so that there are many ties."""
    n, k = data.draw(st.integers(1, 6)), data.draw(st.sampled_from([2, 3, 8, 35]))
    z = data.draw(st.lists(st.integers(-40, 40), min_size=n * k, max_size=n * k))
    y = data.draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n))
    views = (*EVERY_NOTION, View("rth", k, r=2), View("top_r", k, r=2))
    compare(
        torch.tensor(z).reshape(n, k) / 2, torch.tensor(y), from_logits=True, notions=views, cells=12, spacing="uniform"
    )


@pytest.mark.parametrize("score", [0.1, 0.9999])
def test_many_equal_scores_do_not_drift(score):
    """The sum of a crowded cell is as exact as that of few rows: rows are added up aside before they are added to it."""
    meter = CalibrationMeter()
    scores = torch.full((200_000,), score, dtype=torch.float64)
    for _ in range(5):
        meter.update(scores, torch.zeros(len(scores), dtype=torch.int8))
    (cells,) = (one for one in meter.summary.cells if one.grid.spacing == "uniform")
    assert cells.wp.sum() == pytest.approx(math.fsum([score] * 1_000_000), rel=1e-13)


def test_a_wide_batch_takes_little_memory():
    """Blocks of a batch that is converted are not kept."""
    logits, labels = torch.zeros(400, 20_000, dtype=torch.bfloat16), torch.zeros(400, dtype=torch.int64)
    meter = CalibrationMeter(20_000, from_logits=True)
    meter.update(logits[:8], labels[:8])  # what is made once, and imported, does not count
    tracemalloc.start()
    with alone():  # blocks of two threads may or may not live at the same time
        meter.update(logits, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < logits.numel()  # bytes: half of the batch itself


@pytest.mark.parametrize("from_logits", [False, True])
@pytest.mark.parametrize("k", [3, 64, 65, 72, 1000, 1001])
def test_a_class_that_is_missing_in_every_row(k, from_logits):
    """NaN in the first, a middle or the last column is refused, wherever the row lies in a tile."""
    for n in (1, 8, 64, 65):
        for column in (0, k // 2, k - 1):
            scores = torch.full((n, k), 1 / k)
            scores[:, column] = torch.nan
            meter = CalibrationMeter(k, from_logits=from_logits)
            with pytest.raises(InputError, match="must be finite, got nan at row 0"):
                meter.update(scores, torch.zeros(n, dtype=torch.int64))
            assert meter.n == 0
