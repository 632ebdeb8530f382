"""Compiled passes count what plain torch counts: on a GPU where there is one, and their text on the host everywhere."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import resources
from itertools import pairwise

import numpy as np
import pytest
import torch

from believable import Layout, Summary, View
from believable.torch.counting import cpu, gpu, reference
from believable.torch.counting.reader import TallyReader, plain_bins
from believable.torch.counting.rows import REASONS, rows_of
from believable.torch.counting.tally import TALLY_SUM_NAMES, Tally, parts_of
from tests.needs import need_gpu

ALL = ("confidence", "classwise", "top_label")
MACHINES = ["host", "cuda"] if torch.cuda.is_available() else ["host"]


class Machine:
    """Where kernels run: a GPU, or the host in its place, where all is small."""

    def __init__(self, compiler=None):
        self.compiler = compiler
        self.device = "cpu" if compiler else "cuda"

    def choose(self, on_gpu, on_host):
        """Sizes and cases for a GPU, or fewer for the host."""
        return on_host if self.compiler else on_gpu

    def fits(self, tally, rows):
        """Whether there is a kernel, and a machine for it."""
        return gpu.has_kernel(tally, rows) if self.compiler else gpu.fits(tally, rows)

    def orders(self):
        """Once on a GPU; on the host with threads that take their turns upwards, and downwards."""
        for downwards in (False, True) if self.compiler else (None,):
            if self.compiler:
                self.compiler.downwards = downwards
            yield

    def random(self, seed=0):
        """A generator."""
        return torch.Generator(self.device).manual_seed(seed)

    def logits(self, n, k, scale=4.0, dtype=torch.float32, seed=0):
        """Logits and labels, of which more than half are the largest."""
        generator = self.random(seed)
        z = (torch.randn(n, k, device=self.device, generator=generator) * scale).to(dtype)
        y = torch.randint(0, k, (n,), device=self.device, generator=generator)
        right = torch.rand(n, device=self.device, generator=generator) < 0.6
        return z, torch.where(right, z.argmax(dim=1), y)

    def event(self, n, dtype=torch.float32, labels=torch.uint8):
        """Probabilities and outcomes; 0 and 1 are among them."""
        generator = self.random()
        p = torch.rand(n, device=self.device, generator=generator).to(dtype)
        p[:5] = torch.tensor([0.0, 1.0, 0.2, 0.5, -0.0])
        return p, (torch.rand(n, device=self.device, generator=generator) < p.float()).to(labels)

    def compare(self, rows, notions=None, cells=15, spacing="uniform", *, tolerance=2e-6, apart=0, bare=True):
        """Both ways; `apart` rows may be in a neighbouring cell, where exponentials are in single precision."""
        layout = Layout.of(rows.kind, rows.n_classes, rows.dtype, notions=notions, cells=cells, spacing=spacing)
        weighted = rows.weights is not None
        plain = Tally.empty(layout, self.device, weighted)
        reference.add_rows(plain, rows)
        for _ in self.orders():
            fast, tables = (Tally.empty(layout, self.device, weighted) for _ in range(2))
            assert self.fits(fast, rows)
            gpu.add_rows(fast, rows)
            if bare:
                gpu.add_rows(tables, rows, scores_too=False)
            for of_fast in (fast, tables) if bare else (fast,):
                assert_same_tables(plain, of_fast, tolerance, apart)
            n = plain.sums[0].item()
            for name, a, b in zip(TALLY_SUM_NAMES, plain.sums.tolist(), fast.sums.tolist(), strict=True):
                assert b == pytest.approx(a, rel=tolerance, abs=tolerance * n / 20), name
            torch.testing.assert_close(fast.by_class, plain.by_class, rtol=tolerance, atol=tolerance * n / 2)
            if rows.ignore_index is not None:
                assert fast.ignored == (rows.labels == rows.ignore_index).sum()
        return plain


def assert_same_tables(plain, fast, tolerance, apart):
    """Equal counts, but for rows that may be apart, and sums up to rounding."""
    for a, b in zip(plain.tables, fast.tables, strict=True):
        assert (a[:, :, 0] - b[:, :, 0]).abs().sum().item() <= 2 * apart
        assert b[:, :, 0].sum().item() == a[:, :, 0].sum().item()
        for moment in range(1, a.shape[2]):
            a_sum, b_sum = a[:, :, moment].sum(dim=1), b[:, :, moment].sum(dim=1)
            if not apart:
                torch.testing.assert_close(b_sum, a_sum, rtol=tolerance, atol=tolerance / 2)
            torch.testing.assert_close(b_sum.sum(), a_sum.sum(), rtol=tolerance, atol=tolerance / 2)
    assert torch.equal(plain.invalid, fast.invalid)


@pytest.fixture(params=MACHINES)
def machine(request, monkeypatch):
    """A GPU, or the host that runs its kernels."""
    if request.param == "cuda":
        yield Machine()
    else:
        compiler = request.getfixturevalue("host_compiler")
        with compiler.in_place_of_a_gpu(monkeypatch):
            yield Machine(compiler)


def test_plain_torch_on_a_cpu():
    """Where there is no GPU nothing is compiled."""
    rows = rows_of(torch.tensor([0.5]), torch.tensor([1]), from_logits=False)
    tally = Tally.empty(Layout.of("binary", 2, "float32"))
    assert gpu.has_kernel(tally, rows)
    assert not gpu.fits(tally, rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "labels", "cells", "spacing"),
    [
        (torch.float32, torch.uint8, 15, "uniform"),
        (torch.bfloat16, torch.int64, 15, "uniform"),
        (torch.float16, torch.int8, 15, "uniform"),
        (torch.float32, torch.bool, 50_400, "uniform"),
        (torch.bfloat16, torch.int16, 50_400, "uniform"),
        (torch.float32, torch.uint8, 50_400, ("uniform", "logit")),
        (torch.bfloat16, torch.int64, 50_400, ("uniform", "logit")),
        (torch.float16, torch.int8, 50_400, ("uniform", "logit")),
    ],
)
def test_one_event(machine, dtype, labels, cells, spacing):
    """Probabilities of every type, in few cells, in many, on both grids."""
    p, y = machine.event(machine.choose(100_003, 3_003), dtype, labels)
    bare = machine.choose(True, dtype == torch.float32)
    machine.compare(rows_of(p, y, from_logits=False), cells=cells, spacing=spacing, bare=bare)
    if machine.choose(True, cells == 15):  # not where vectors begin
        machine.compare(rows_of(p[1:], y[1:], from_logits=False), cells=cells, spacing=spacing, bare=bare)


@pytest.mark.slow
def test_one_event_of_logits(machine):
    """Their sigmoid is taken in double precision; only scores within its rounding of an edge may be apart."""
    z, y = machine.logits(machine.choose(50_001, 3_001), 2, 6.0)
    rows = rows_of(z[:, 0].contiguous(), (y == 0).long(), from_logits=True)
    machine.compare(rows)
    machine.compare(rows, cells=50_400, spacing=("uniform", "logit"), apart=5)


def test_many_rows_of_a_thread(machine, monkeypatch):
    """What a thread has counted of some 250 rows is added up before it goes on."""
    monkeypatch.setattr(gpu, "_blocks", lambda *_, **__: 1)
    p, y = machine.event(160 * 2 * 250)
    machine.compare(rows_of(p, y, from_logits=False), bare=False)
    z, y = machine.logits(128 * 260, 3)
    machine.compare(rows_of(z, y, from_logits=True), "confidence", bare=False, apart=2)


@pytest.mark.slow
def test_edges_are_right_closed(machine):
    """A score that is an edge is in the bin below it, for every number of bins."""
    for bins in machine.choose(range(2, 33), (2, 7, 15, 32)):
        edges = torch.tensor([k / bins for k in range(bins + 1)], device=machine.device)
        p = torch.cat([edges, edges.nextafter(torch.ones_like(edges)), edges.nextafter(torch.zeros_like(edges))])
        rows = rows_of(p.clamp(0, 1), torch.zeros_like(p).long(), from_logits=False)
        machine.compare(rows, cells=bins, bare=machine.choose(True, False))


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 10, 20, 32, 33, 100, 1000, 1001, 3000])
def test_classes(machine, k):
    """Every notion, of few classes and many, from logits and from probabilities."""
    z, y = machine.logits(machine.choose(4_001, 401 if k <= 32 else 65 if k <= 1001 else 21), k)
    bare = machine.choose(True, k in (10, 1000))
    machine.compare(rows_of(z, y, from_logits=True), ALL, apart=2, bare=bare)
    if machine.choose(True, k not in (20, 100)):
        machine.compare(rows_of(torch.softmax(z.double(), dim=1).float(), y, from_logits=False), ALL, bare=bare)
    if machine.choose(True, k == 10):
        bare = machine.choose(True, False)
        machine.compare(rows_of(z, y, from_logits=True), ALL, cells=840, apart=40, bare=bare)
        machine.compare(rows_of(30 * z, y, from_logits=True), ("confidence", "classwise"), apart=80 + k // 5, bare=bare)
        machine.compare(rows_of(z.bfloat16(), y.int(), from_logits=True), "confidence", apart=2, bare=bare)


@pytest.mark.parametrize("k", [10, 50])
def test_images(machine, k):
    """Pixels, whose classes lie apart in memory or together, and some of which are ignored."""
    n, height, width = machine.choose((4, 31, 29), (2, 11, 13))
    z, y = machine.logits(n * height * width, k)
    z, y = z.view(n, height, width, k).movedim(3, 1), y.view(n, height, width).clone()
    y[:, ::4] = 255
    for image in (z, z.contiguous()):
        rows = rows_of(image, y, from_logits=True, ignore_index=255)
        plain = machine.compare(rows, ALL, apart=2, bare=machine.choose(True, False))
        assert plain.sums[0].item() == (y != 255).sum().item()


@pytest.mark.parametrize("k", [1, 10, 1000])
def test_invalid_rows(machine, k):
    """Rows that cannot be counted are tallied by reason, whichever way."""
    n, bare = machine.choose((5_000, True), (50 if k == 1000 else 500, False))
    if k == 1:
        p, y = machine.event(n, labels=torch.int64)
        p[[3, 7, 9]] = torch.tensor([float("nan"), 1.5, float("inf")], device=machine.device)
    else:
        z, y = machine.logits(n, k)
        p = torch.softmax(z, dim=1)
        p[3, 1], p[7], p[9, 0] = float("nan"), p[7] * 1.5, -0.5
        z[3, 1], z[4, 0], z[5, 1] = float("nan"), float("inf"), float("-inf")
        y[11], y[12] = k, -1
        plain = machine.compare(rows_of(z, y, from_logits=True), "confidence", bare=bare)
        assert plain.invalid.tolist() == [3, 0, 0, 2, 0]
    y[11], y[12] = max(k, 2), -1
    machine.compare(rows_of(p, y, from_logits=False), bare=bare)


def test_an_outcome_may_be_ignored(machine):
    """Even where 0 or 1 is the label to leave out."""
    p, y = machine.event(machine.choose(10_000, 3_000))
    for ignored in (0, 1):
        plain = machine.compare(
            rows_of(p, y, from_logits=False, ignore_index=ignored), bare=machine.choose(True, False)
        )
        assert plain.sums[0].item() == (y != ignored).sum().item()


# --- weights, double precision, ranks, any grid, any number of classes ------------------------------------------------


RANKED = (View("confidence", 9), View("rth", 9, r=2), View("within_top_r", 9, r=3), View("top_r", 9, r=4))
EXACT = 1e-11  # sums of the kernels that compute in double precision


def weights_for(rows, device, dtype=torch.float64):
    """Weights, of which some are 0 and some equal."""
    generator = torch.Generator(device).manual_seed(7)
    weights = torch.rand(rows, device=device, generator=generator, dtype=dtype) * 3
    weights[::7], weights[1::7] = 0, 2
    return weights


@pytest.mark.slow
@pytest.mark.parametrize(
    ("from_logits", "dtype", "weight", "cells", "spacing"),
    [
        (False, torch.float64, None, 15, "uniform"),
        (False, torch.float64, None, 50_400, ("uniform", "logit")),
        (True, torch.float64, None, 840, "logit"),
        (False, torch.float32, torch.float32, 50_400, ("uniform", "logit")),
        (True, torch.float32, torch.float32, 15, "uniform"),
        (False, torch.float32, torch.float64, 100, ("logit", "uniform")),
        (True, torch.float64, torch.float64, 50_400, ("uniform", "logit")),
        (False, torch.float64, torch.float64, 840, "logit"),
    ],
)
def test_one_event_in_double_precision(machine, from_logits, dtype, weight, cells, spacing):
    """Scores in double precision and weights, on any grid, with copies of a small table and without."""
    if from_logits:
        z, y = machine.logits(machine.choose(50_001, 601), 2, 6.0, torch.float64)
        p, y = z[:, 0].to(dtype).contiguous(), (y == 0).long()
    else:
        p, y = machine.event(machine.choose(50_001, 601), dtype, torch.int64)
    w = None if weight is None else weights_for(len(p), machine.device, weight)
    y[5::9] = 7
    for part in (slice(None), slice(1, None)):
        rows = rows_of(p[part], y[part], None if w is None else w[part], from_logits=from_logits, ignore_index=7)
        tolerance = EXACT if dtype == torch.float64 else 2e-6  # terms of shorter scores are in single precision
        apart = 5 if from_logits else 0
        machine.compare(rows, cells=cells, spacing=spacing, tolerance=tolerance, apart=apart, bare=False)


def test_copies_of_a_small_table(machine, monkeypatch):
    """They are added up, and empty for the next batch."""
    monkeypatch.setattr(gpu, "ROWS_FOR_COPIES", 100)
    p, y = machine.event(1_001, torch.float64, torch.int64)
    rows = rows_of(p, y, from_logits=False)
    layout = Layout.of("binary", 2, "float64", cells=15, spacing="uniform")
    plain, fast = Tally.empty(layout, machine.device), Tally.empty(layout, machine.device)
    for _ in range(2):
        reference.add_rows(plain, rows)
        gpu.add_rows(fast, rows)
    torch.testing.assert_close(fast.buffer, plain.buffer, rtol=EXACT, atol=EXACT)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "dtype", "weighted", "notions", "from_logits"),
    [
        (2, torch.float64, False, ("confidence", "classwise", "top_label", "binary"), True),
        (2, torch.float64, True, ("confidence", "classwise", "binary"), False),
        (9, torch.float32, True, RANKED, True),
        (9, torch.float64, False, ("classwise", *RANKED), False),
        (33, torch.bfloat16, True, ALL, True),
        (1500, torch.float64, True, ALL, False),
        (9001, torch.float32, False, ALL, True),
    ],
)
def test_any_classes(machine, k, dtype, weighted, notions, from_logits):
    """Weights, double precision, ranks, and more classes than a block of threads has room for."""
    n = machine.choose(2_003, 61 if k < 100 else 7)
    z, y = machine.logits(n, k, dtype=torch.float64)
    scores = z.to(dtype) if from_logits else torch.softmax(z, dim=1).to(dtype)
    w = weights_for(n, machine.device) if weighted else None
    rows = rows_of(scores, y, w, from_logits=from_logits)
    exact = dtype == torch.float64  # exponentials of shorter scores are in single precision
    choices = {"tolerance": EXACT, "apart": 0} if exact else {"tolerance": 4e-6, "apart": 2 + n * k // 5000}
    machine.compare(rows, notions, bare=machine.choose(True, k == 9), **choices)
    if k == 9:
        machine.compare(rows, notions, cells=60, spacing=("uniform", "logit"), bare=False, **choices)


def test_any_classes_of_images_and_ties(machine):
    """Pixels that lie apart, equal scores, ignored rows and invalid ones."""
    k = 9
    z, y = machine.logits(2 * 6 * 5, k, dtype=torch.float64)
    z = z.round()
    z[3, 1], z[7, 2], y[9], y[11:20] = float("nan"), float("inf"), k, 255
    z, y = z.view(2, 6, 5, k).movedim(3, 1), y.view(2, 6, 5)
    w = weights_for(60, machine.device).view(2, 6, 5)
    w[0, 0, 2] = -1
    for image in (z, z.contiguous()):
        rows = rows_of(image, y, w, from_logits=True, ignore_index=255)
        plain = machine.compare(rows, RANKED, tolerance=EXACT, bare=False)
        assert plain.invalid.sum() > 2


def test_rows_of_bfloat16_that_were_converted(machine):
    """How far their sums may be from 1 depends on the type that they came in."""
    z, y = machine.logits(61, 10)
    rows = rows_of(torch.softmax(z, dim=1).bfloat16(), y, from_logits=False)
    wide = replace(rows, scores=rows.scores.double())
    assert machine.compare(wide, "confidence", tolerance=EXACT, bare=False).invalid.sum() == 0


def test_unweighted_rows_after_weighted_ones(machine):
    """They count with weight 1."""
    p, y = machine.event(101, labels=torch.int64)
    layout = Layout.of("binary", 2, "float32")
    plain, fast = (Tally.empty(layout, machine.device, weighted=True) for _ in range(2))
    for weights in (weights_for(len(p), machine.device), None):
        rows = rows_of(p, y, weights, from_logits=False)
        reference.add_rows(plain, rows)
        gpu.add_rows(fast, rows)
    torch.testing.assert_close(fast.buffer, plain.buffer, rtol=2e-6, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_bins_from_cells(machine, weighted):
    """A kernel adds up what plain torch adds up, of one stratum or several."""
    generator = machine.random()
    for strata, starts in ((1, (0, 3, 4, 900, 1000)), (5, (0, 20, 50))):
        shape = (strata * starts[-1], 2, 7 if weighted else 3)
        table = torch.rand(shape, dtype=torch.float64, device=machine.device, generator=generator)
        wanted = plain_bins(table.cpu().numpy(), strata, starts)
        np.testing.assert_allclose(gpu.bins(table, strata, starts).cpu().numpy(), wanted, rtol=1e-13)
        literal = [sum(table[first:last].cpu()) for first, last in pairwise(starts)]
        np.testing.assert_allclose(wanted[: len(literal)], torch.stack(literal), rtol=1e-12)


def test_more_ranks_than_a_kernel_has():
    """These are counted in plain torch."""
    rows = rows_of(torch.rand(3, 40).softmax(dim=1), torch.tensor([0, 1, 2]), from_logits=False)
    for r in (gpu.MAX_RANKS, gpu.MAX_RANKS + 1):
        tally = Tally.empty(Layout.of("multiclass", 40, "float32", notions=View("rth", 40, r=r)))
        assert gpu.has_kernel(tally, rows) == (r <= gpu.MAX_RANKS)
    tally = Tally.empty(Layout.of("multiclass", 40, "float32", notions=View("classwise_top_r", 40, r=2)))
    assert not gpu.has_kernel(tally, rows)
    assert not cpu.fits(tally, rows)


def test_long_sums_do_not_drift():
    """Of 1e8 scores the ECE is that of float64 to 1e-9."""
    need_gpu()
    n = 100_000_000
    generator = torch.Generator("cuda").manual_seed(0)
    p = torch.rand(n, device="cuda", generator=generator)
    y = (torch.rand(n, device="cuda", generator=generator) < p * p).to(torch.uint8)
    tally = Tally.empty(Layout.of("binary", 2, "float32", cells=15, spacing="uniform"), "cuda")
    gpu.add_rows(tally, rows_of(p, y, from_logits=False))
    code = torch.bucketize(p, torch.arange(1, 15, device="cuda", dtype=torch.float64).div(15).float())
    gap = [(p[code == k].double().sum() - y[code == k].sum()).abs().item() for k in range(15)]
    stats = tally.cells()[0].coarsen(15)
    assert abs(stats.wp - stats.wy).sum() / n == pytest.approx(sum(gap) / n, abs=1e-9)


def test_a_statistic_can_be_saved(machine):
    """Scores at the very edges of cells have their mean inside, as loading checks."""
    edges = torch.arange(50_401, device=machine.device, dtype=torch.float64).div(50_400).float()
    p = torch.cat([edges, edges.nextafter(torch.ones_like(edges)), edges.nextafter(torch.zeros_like(edges))])
    for outcome in (0, 1):
        for cells, spacing in ((None, None), (15, "uniform")):
            tally = Tally.empty(Layout.of("binary", 2, "float32", cells=cells, spacing=spacing), machine.device)
            gpu.add_rows(tally, rows_of(p.clamp(0, 1), torch.full_like(p, outcome).long(), from_logits=False))
            assert Summary.from_bytes(TallyReader(tally).read_all().to_bytes()).n == len(p)


def test_kernels_and_tally_agree_on_the_order():
    """What common.cuh calls the first sum is the first of `TALLY_SUM_NAMES`, and so on; the same for reasons and sums of rows."""
    source = (resources.files("believable.torch") / "cuda" / "common.cuh").read_text()
    sums, reasons = ([name.strip() for name in body.split(",")] for body in re.findall(r"enum \{([^}]*)\}", source))
    named = [name.upper().replace(" ", "_") for name in TALLY_SUM_NAMES]
    places = {"W2X": named.index("W2_BRIER"), "W2XX = W2X + 5": named.index("W2_BRIER^2")}
    places["BRIER_BY_CHANCE = W2XX + 5"] = named.index("BRIER_BY_CHANCE")
    for i, name in enumerate(sums[: sums.index("W2X")]):
        assert named[i] == name
    assert places == {"W2X": 11, "W2XX = W2X + 5": 16, "BRIER_BY_CHANCE = W2XX + 5": 21}
    assert named[22] == sums[-1] == "NLL_BY_CHANCE"
    assert reasons == ["NOT_FINITE", "OUTSIDE", "NOT_ONE", "NO_CLASS", "BAD_WEIGHT", "IGNORED", "SUMS"]
    assert [reason.split()[1] for reason in REASONS[:3]] == ["not", "outside", "not"]
    assert "target" in REASONS[3]
    assert "weight" in REASONS[4]
    parts = parts_of(Layout.of("multiclass", 3), weighted=False)
    assert (parts["ignored"].start, parts["sums"].start) == (reasons.index("IGNORED"), reasons.index("SUMS"))
    assert parts["by_class"].start == parts["sums"].start + len(named)
