"""Compiled passes on a GPU count what plain torch counts there."""

from __future__ import annotations

import re
from importlib import resources

import pytest
import torch

from believable import Layout, Summary
from believable.torch.counting import gpu, reference
from believable.torch.counting.rows import rows_of
from believable.torch.counting.tally import REASONS, SUMS, Tally

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
ALL = ("confidence", "classwise", "top_label")


def test_plain_torch_on_a_cpu():
    """Where there is no GPU nothing is compiled."""
    rows = rows_of(torch.tensor([0.5]), torch.tensor([1]), from_logits=False)
    assert not gpu.fits(Tally.empty(Layout.of("binary", 2, "float32")), rows)


def compare(rows, notions=None, cells=15, spacing="uniform", tolerance=2e-6, apart=0):
    """Both ways; `apart` rows may be in a neighbouring cell, where exponentials are in single precision."""
    layout = Layout.of(rows.kind, rows.n_classes, rows.dtype, notions=notions, cells=cells, spacing=spacing)
    plain, fast, bare = (Tally.empty(layout, "cuda") for _ in range(3))
    assert gpu.fits(fast, rows)
    reference.add_rows(plain, rows)
    gpu.add_rows(fast, rows)
    gpu.add_rows(bare, rows, scores_too=False)
    for of_fast in (fast, bare):
        for a, b in zip(plain.tables, of_fast.tables, strict=True):
            assert (a[:, :, 0] - b[:, :, 0]).abs().sum().item() <= 2 * apart
            assert b[:, :, 0].sum().item() == a[:, :, 0].sum().item()
            for moment in (1, 2):
                a_sum, b_sum = a[:, :, moment].sum(dim=1), b[:, :, moment].sum(dim=1)
                if not apart:
                    torch.testing.assert_close(b_sum, a_sum, rtol=tolerance, atol=1e-6)
                torch.testing.assert_close(b_sum.sum(), a_sum.sum(), rtol=tolerance, atol=1e-6)
        assert torch.equal(plain.invalid, of_fast.invalid)
    n = plain.sums[0].item()
    for name, a, b in zip(SUMS, plain.sums.tolist(), fast.sums.tolist(), strict=True):
        assert b == pytest.approx(a, rel=tolerance, abs=1e-7 * n), name
    torch.testing.assert_close(fast.by_class, plain.by_class, rtol=tolerance, atol=1e-6 * n)
    return plain


def logits(n, k, scale=4.0, dtype=torch.float32, seed=0):
    generator = torch.Generator("cuda").manual_seed(seed)
    z = (torch.randn(n, k, device="cuda", generator=generator) * scale).to(dtype)
    y = torch.randint(0, k, (n,), device="cuda", generator=generator)
    return z, torch.where(torch.rand(n, device="cuda", generator=generator) < 0.6, z.argmax(dim=1), y)


def event(n, dtype=torch.float32, labels=torch.uint8):
    generator = torch.Generator("cuda").manual_seed(0)
    p = torch.rand(n, device="cuda", generator=generator).to(dtype)
    p[:5] = torch.tensor([0.0, 1.0, 0.2, 0.5, -0.0])
    return p, (torch.rand(n, device="cuda", generator=generator) < p.float()).to(labels)


@needs_gpu
@pytest.mark.parametrize(
    ("dtype", "labels"),
    [
        (torch.float32, torch.uint8),
        (torch.float32, torch.bool),
        (torch.bfloat16, torch.int64),
        (torch.float16, torch.int8),
    ],
)
@pytest.mark.parametrize(("cells", "spacing"), [(15, "uniform"), (50_400, "uniform"), (50_400, ("uniform", "logit"))])
def test_one_event(dtype, labels, cells, spacing):
    """Probabilities of every type, in few cells, in many, on both grids."""
    p, y = event(100_003, dtype, labels)
    compare(rows_of(p, y, from_logits=False), cells=cells, spacing=spacing)
    compare(rows_of(p[1:], y[1:], from_logits=False), cells=cells, spacing=spacing)  # not where vectors begin


@needs_gpu
def test_one_event_of_logits():
    """Their sigmoid is taken in double precision; only scores within its rounding of an edge may be apart."""
    z, y = logits(50_001, 2, 6.0)
    compare(rows_of(z[:, 0].contiguous(), (y == 0).long(), from_logits=True))
    compare(
        rows_of(z[:, 0].contiguous(), (y == 0).long(), from_logits=True),
        cells=50_400,
        spacing=("uniform", "logit"),
        apart=5,
    )


@needs_gpu
def test_edges_are_right_closed():
    """A score that is an edge is in the bin below it, for every number of bins."""
    for bins in range(2, 33):
        edges = torch.tensor([k / bins for k in range(bins + 1)], device="cuda")
        p = torch.cat([edges, edges.nextafter(torch.ones_like(edges)), edges.nextafter(torch.zeros_like(edges))])
        compare(rows_of(p.clamp(0, 1), torch.zeros_like(p).long(), from_logits=False), cells=bins)


@needs_gpu
@pytest.mark.parametrize("k", [2, 10, 20, 32, 33, 100, 1000, 1001, 3000])
def test_classes(k):
    """Every notion, of few classes and many, from logits and from probabilities."""
    z, y = logits(4_001, k)
    compare(rows_of(z, y, from_logits=True), ALL, apart=2)
    compare(rows_of(z, y, from_logits=True), ALL, cells=840, apart=40)
    compare(rows_of(torch.softmax(z.double(), dim=1).float(), y, from_logits=False), ALL)
    compare(rows_of(30 * z, y, from_logits=True), ("confidence", "classwise"), apart=80 + k // 5)
    compare(rows_of(z.bfloat16(), y.int(), from_logits=True), "confidence", apart=2)


@needs_gpu
@pytest.mark.parametrize("k", [10, 50])
def test_images(k):
    """Pixels, whose classes lie apart in memory or together, and some of which are ignored."""
    z, y = logits(4 * 31 * 29, k)
    z, y = z.view(4, 31, 29, k).movedim(3, 1), y.view(4, 31, 29).clone()
    y[:, ::4] = 255
    for image in (z, z.contiguous()):
        plain = compare(rows_of(image, y, from_logits=True, ignore_index=255), ALL, apart=2)
        assert plain.sums[0].item() == (y != 255).sum().item()


@needs_gpu
@pytest.mark.parametrize("k", [1, 10, 1000])
def test_invalid_rows(k):
    """Rows that cannot be counted are tallied by reason, whichever way."""
    if k == 1:
        p, y = event(5_000, labels=torch.int64)
        p[[3, 7, 9]] = torch.tensor([float("nan"), 1.5, float("inf")], device="cuda")
    else:
        z, y = logits(5_000, k)
        p = torch.softmax(z, dim=1)
        p[3, 1], p[7], p[9, 0] = float("nan"), p[7] * 1.5, -0.5
        z[3, 1], z[4, 0], z[5, 1] = float("nan"), float("inf"), float("-inf")
        y[11], y[12] = k, -1
        assert compare(rows_of(z, y, from_logits=True), "confidence").invalid.tolist() == [3, 0, 0, 2, 0]
    y[11], y[12] = max(k, 2), -1
    compare(rows_of(p, y, from_logits=False))


@needs_gpu
def test_an_outcome_may_be_ignored():
    """Even where 0 or 1 is the label to leave out."""
    p, y = event(10_000)
    for ignored in (0, 1):
        plain = compare(rows_of(p, y, from_logits=False, ignore_index=ignored))
        assert plain.sums[0].item() == (y != ignored).sum().item()


@needs_gpu
def test_long_sums_do_not_drift():
    """Of 1e8 scores the ECE is that of float64 to 1e-9."""
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


@needs_gpu
def test_a_statistic_can_be_saved():
    """Scores at the very edges of cells have their mean inside, as loading checks."""
    edges = torch.arange(50_401, device="cuda", dtype=torch.float64).div(50_400).float()
    p = torch.cat([edges, edges.nextafter(torch.ones_like(edges)), edges.nextafter(torch.zeros_like(edges))])
    for outcome in (0, 1):
        for cells, spacing in ((None, None), (15, "uniform")):
            tally = Tally.empty(Layout.of("binary", 2, "float32", cells=cells, spacing=spacing), "cuda")
            gpu.add_rows(tally, rows_of(p.clamp(0, 1), torch.full_like(p, outcome).long(), from_logits=False))
            assert Summary.from_bytes(tally.summary().to_bytes()).n == len(p)


def test_kernels_and_tally_agree_on_the_order():
    """What common.cuh calls the first sum is the first of `SUMS`, and so on; the same for reasons and sums of rows."""
    source = (resources.files("believable.torch") / "cuda" / "common.cuh").read_text()
    sums, reasons = ([name.strip() for name in body.split(",")] for body in re.findall(r"enum \{([^}]*)\}", source))
    named = [name.upper().replace(" ", "_") for name in SUMS]
    places = {"W2X": named.index("W2_BRIER"), "W2XX = W2X + 5": named.index("W2_BRIER^2")}
    places["BRIER_BY_CHANCE = W2XX + 5"] = named.index("BRIER_BY_CHANCE")
    for i, name in enumerate(sums[: sums.index("W2X")]):
        assert named[i] == name
    assert places == {"W2X": 11, "W2XX = W2X + 5": 16, "BRIER_BY_CHANCE = W2XX + 5": 21}
    assert named[22] == sums[-1] == "NLL_BY_CHANCE"
    assert reasons == ["NOT_FINITE", "OUTSIDE", "NOT_ONE", "NO_CLASS"]
    assert [reason.split()[1] for reason in REASONS[:3]] == ["not", "outside", "not"]
    assert "target" in REASONS[3]
