"""The meter of tensors: its numbers are those of the NumPy core, whatever the shapes, types and batches."""

from __future__ import annotations

import copy
import math
import threading

import numpy as np
import pytest
import torch

import believable
from believable import Layout, Predictions, Summary, View
from believable.errors import InputError, MergeError, UndefinedError
from believable.torch import CalibrationMeter
from tests.torch.counting.same import SUM_TOLERANCE, assert_same

NOTIONS = (
    "confidence",
    "classwise",
    "top_label",
    View("top_r", 4, r=2),
    View("classwise_top_r", 4, r=2),
    View("rth", 4, r=2),
    View("within_top_r", 4, r=3),
)


def event(n=2000, seed=0, dtype=torch.float64):
    """Scores of one event, outcomes and weights, some scores on edges and at the ends."""
    generator = torch.Generator().manual_seed(seed)
    p = torch.rand(n, generator=generator, dtype=torch.float64)
    p[: min(n, 40)] = torch.arange(min(n, 40)) % 11 / 10
    y = (torch.rand(n, generator=generator, dtype=torch.float64) < p**1.3).long()
    p[0] = 0.5  # no infinite logarithm
    y[(p == 0)], y[(p == 1)] = 0, 1
    return p.to(dtype), y, torch.randint(0, 4, (n,), generator=generator) / 2


def classes(n=500, k=4, seed=0, dtype=torch.float64):
    """Logits of classes, labels and weights."""
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(n, k, generator=generator, dtype=torch.float64)
    y = (logits + torch.randn(n, k, generator=generator, dtype=torch.float64)).argmax(1)
    return logits.to(dtype), y, torch.randint(1, 5, (n,), generator=generator) / 2


def counted(meter, device, *tensors, batch=137):
    """The meter after all batches."""
    meter = meter.to(device)
    for start in range(0, max(1, len(tensors[0])), batch):
        meter.update(*(tensor[start : start + batch].to(device) for tensor in tensors))
    return meter


def numpy_of(*tensors):
    """Plain arrays; what NumPy has no type for as float32."""
    return [t.float().numpy() if t.dtype in (torch.bfloat16, torch.float16) else t.numpy() for t in tensors]


# --- the textbook -----------------------------------------------------------------------------------------------------


def textbook_ece(p, y, n_bins):
    """The definition, row by row: bins ((m-1)/M, m/M], the first with 0."""
    bins = [[0, 0.0, 0.0] for _ in range(n_bins)]
    for score, outcome in zip(p, y, strict=True):
        m = next(m for m in range(n_bins) if score <= (m + 1) / n_bins)
        bins[m][0] += 1
        bins[m][1] += score
        bins[m][2] += outcome
    return sum(abs(s - o) for n, s, o in bins if n) / len(p)


@pytest.mark.parametrize("n_bins", [1, 7, 10, 15])
def test_the_textbook_loop(device, n_bins):
    """The ECE is the definition, for one event and for the confidence of classes."""
    p, y, _ = event(700)
    meter = counted(CalibrationMeter(), device, p, y)
    assert meter.compute(["ece"], n_bins=n_bins)["ece"] == pytest.approx(
        textbook_ece(p.tolist(), y.tolist(), n_bins), abs=1e-12
    )
    logits, labels, _ = classes(300)
    exps = [[math.exp(x) for x in row] for row in logits.tolist()]
    rows = [[e / sum(row) for e in row] for row in exps]
    hits = [int(max(range(4), key=row.__getitem__) == label) for row, label in zip(rows, labels.tolist(), strict=True)]
    meter = counted(CalibrationMeter(4, from_logits=True), device, logits, labels)
    wanted = textbook_ece([max(row) for row in rows], hits, n_bins)
    assert meter.compute(["ece"], n_bins=n_bins)["ece"] == pytest.approx(wanted, abs=1e-12)


def test_long_sums_of_float32(device):
    """Two million rows of 0.1 in float32 have a mean score of exactly that number, to 1e-9."""
    n = 2_000_000
    p = torch.full((1,), 0.1, dtype=torch.float32, device=device).expand(n // 10)
    y = torch.zeros(1, dtype=torch.uint8, device=device).expand(n // 10)
    meter = CalibrationMeter(cells=15, spacing="uniform").to(device)
    for _ in range(10):
        meter.update(p, y)
    assert meter.n == n
    assert meter.compute(["ece"])["ece"] == pytest.approx(float(np.float32(0.1)), abs=1e-9)


# --- the NumPy core ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_one_event_as_in_numpy(device, dtype, weighted):
    """The summary of one event is NumPy's, for each type of score, with and without weights."""
    p, y, w = event(dtype=dtype)
    meter = counted(CalibrationMeter(), device, p, y, *([w] if weighted else []))
    wanted = Summary.of(Predictions(*numpy_of(p, y), sample_weight=w.numpy() if weighted else None))
    assert_same(meter.summary, wanted)
    found, other = meter.compute(), believable.evaluate(wanted)
    assert set(found) == set(other)
    close = {"rel": max(1e-9, SUM_TOLERANCE), "abs": SUM_TOLERANCE}
    assert found == {name: pytest.approx(other[name], **close) for name in other}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("from_logits", [False, True])
def test_classes_as_in_numpy(device, from_logits, weighted):
    """The summary of every notion is NumPy's, of probabilities and of logits, with and without weights."""
    logits, y, w = classes()
    scores = logits if from_logits else logits.softmax(1).float()
    meter = counted(
        CalibrationMeter(4, from_logits=from_logits, notions=NOTIONS), device, scores, y, *([w] if weighted else [])
    )
    rows = Predictions(*numpy_of(scores, y), sample_weight=w.numpy() if weighted else None, from_logits=from_logits)
    wanted = Summary.of(rows, Layout.of("multiclass", 4, rows.scores.dtype, notions=NOTIONS))
    assert_same(meter.summary, wanted)
    for name in ("ece", "mce", "sce", "tlce", "brier", "nll", "acc"):
        assert meter.compute([name], n_bins=15)[name] == pytest.approx(
            believable.evaluate(wanted, metrics=[name], n_bins=15)[name], abs=SUM_TOLERANCE
        )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_short_probabilities_of_classes(device, dtype):
    """Rows of half precision are counted as the float32 numbers that they are, or as float64 ones if so asked."""
    logits, y, _ = classes()
    p = logits.softmax(1).to(dtype)
    meter = counted(CalibrationMeter(4), device, p, y)
    wanted = Summary.of(
        Predictions(p if dtype == torch.bfloat16 else p.numpy(), y),
        Layout.of("multiclass", 4, "float32", notions="confidence"),
    )
    assert_same(meter.summary, wanted)
    converted = counted(CalibrationMeter(4, dtype="float64"), device, p, y)  # whose rows still sum to 1 as they did
    assert converted.compute(["brier"])["brier"] == pytest.approx(meter.compute(["brier"])["brier"], abs=SUM_TOLERANCE)


def test_extreme_logits(device):
    """Logits of 10,000 are certain, not NaN."""
    logits = torch.tensor([[1e4, -1e4, 0.0], [0.0, 1e4, -1e4]], device=device)
    meter = CalibrationMeter(3, from_logits=True).to(device)
    meter.update(logits, torch.tensor([0, 1], device=device))
    assert meter.compute(["ece", "nll", "brier", "acc"]) == {
        "expected_calibration_error": 0.0,
        "negative_log_likelihood": 0.0,
        "brier_score": 0.0,
        "accuracy": 1.0,
    }
    one = CalibrationMeter(from_logits=True).to(device)
    one.update(torch.tensor([-740.0], device=device, dtype=torch.float64), torch.tensor([1], device=device))
    assert one.compute(["nll"])["nll"] == pytest.approx(740, abs=1e-2)  # of a probability with few digits left


def test_batches_do_not_matter(device):
    """The same rows in one batch, in many, and one by one have the same summary; batches with weights may come late."""
    p, y, w = event(300)
    w[:100] = 1
    one = counted(CalibrationMeter(), device, p, y, w, batch=300)
    many = counted(CalibrationMeter(), device, p[:100], y[:100], batch=1)
    many = counted(many, device, p[100:], y[100:], w[100:], batch=33)
    assert_same(many.summary, one.summary)


def test_weights_are_repetitions(device):
    """A weight of 2 is the row twice, and a weight of 0 the row left out, even where its score is NaN."""
    p, y, _ = event(50)
    w = torch.arange(50) % 3
    meter = counted(CalibrationMeter(), device, torch.where(w == 0, math.nan, p), y, w)
    plain = counted(CalibrationMeter(), device, p.repeat_interleave(w), y.repeat_interleave(w))
    for name in ("ece", "brier", "nll", "ks"):
        assert meter.compute([name])[name] == pytest.approx(plain.compute([name])[name], abs=1e-12)
    assert meter.n == int((w > 0).sum())


# --- shapes and types -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(6, 4, 5, 7), (6, 4, 35), (210, 4)])
@pytest.mark.parametrize("layout", ["plain", "channels last"])
def test_pixels_and_tokens_are_rows(device, shape, layout):
    """Classes in axis 1 with any number of axes behind are the same rows as a matrix; ignored ones are left out."""
    logits, y, _ = classes(210)
    y = torch.where(torch.arange(210) % 10 == 3, 255, y)
    wanted = Summary.of(
        Predictions(logits.numpy(), y.numpy(), from_logits=True, ignore_label=255),
        Layout.of("multiclass", 4, "float64", notions="confidence"),
    )
    n, inner = shape[0], shape[2:]
    tensor = logits.reshape(n, *inner, 4).movedim(-1, 1)
    tensor = tensor if layout == "channels last" else tensor.contiguous()
    targets = y.reshape(n, *inner)
    for kind in (torch.int64, torch.int32, torch.uint8, torch.float32):
        meter = CalibrationMeter(4, from_logits=True, ignore_index=255).to(device)
        meter.update(tensor.to(device), targets.to(device, kind))
        assert_same(meter.summary, wanted)
    assert wanted.dropped == {"ignored label": 21}


@pytest.mark.parametrize("kind", [torch.bool, torch.uint8, torch.int8, torch.int64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(24,), (4, 6), (2, 3, 4), (24, 1)])
def test_one_event_of_any_shape(device, kind, shape):
    """Scores of the targets' shape are one event each, and targets 0 and 1 may have any type."""
    p, y, _ = event(24)
    meter = CalibrationMeter().to(device)
    meter.update(p.reshape(shape).to(device), y.reshape(shape).to(device, kind))
    assert_same(meter.summary, Summary.of(Predictions(p.numpy(), y.numpy())))


def test_bytes_are_not_wrapped_round(device):
    """Class 156 in bytes is neither -100 nor more than 1,000 classes; both are compared as numbers."""
    y = torch.tensor([156, 250, 3], dtype=torch.uint8, device=device)
    meter = CalibrationMeter(1000, from_logits=True, ignore_index=-100).to(device)
    meter.update(torch.zeros(3, 1000, device=device), y)
    assert (meter.n, dict(meter.summary.dropped)) == (3, {})


@pytest.mark.parametrize("kind", [torch.uint8, torch.uint16, torch.uint32, torch.int16, torch.float8_e5m2])
def test_rare_types(device, kind):
    """Scores, targets and weights of types with which torch can do little are counted as the numbers that they are."""
    p, y, w = torch.tensor([0, 1, 1, 0]), torch.tensor([0, 1, 1, 1]), torch.tensor([1, 2, 0, 1])
    meter = CalibrationMeter().to(device)
    meter.update(*(part.to(torch.float32).to(kind).to(device) for part in (p, y, w)))
    assert meter.compute(["ece", "acc"]) == {"expected_calibration_error": 0.25, "accuracy": 0.75}


def test_threads():
    """Batches that several threads count at once are all counted, weights or not."""
    p, y, w = event(50)
    meter, core = CalibrationMeter(), CalibrationMeter()

    def work():
        for i in range(40):
            meter.update(p, y, w if i % 2 else None)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(240):
        core.update(p, y, w if i % 2 else None)
    assert_same(meter.summary, core.summary)


def test_batches_of_nothing_and_of_one(device):
    """No rows, ignored rows alone and weights of 0 add nothing; one row is enough for metrics."""
    meter = CalibrationMeter(3, ignore_index=-1).to(device)
    p = torch.tensor([[0.2, 0.3, 0.5]], device=device)
    meter.update(torch.zeros(0, 3, device=device), torch.zeros(0, dtype=torch.long, device=device))
    meter.update(torch.zeros(2, 3, 0, 4, device=device), torch.zeros(2, 0, 4, dtype=torch.long, device=device))
    meter.update(p, torch.tensor([-1], device=device))
    meter.update(p, torch.tensor([2], device=device), torch.tensor([0.0], device=device))
    assert meter.n == 0
    with pytest.raises(UndefinedError, match="no rows have been counted"):
        meter.compute()
    meter.update(p, torch.tensor([2], device=device))
    assert meter.compute(["ece", "acc"]) == {"expected_calibration_error": pytest.approx(0.5), "accuracy": 1.0}
    assert meter.summary.dropped == {"ignored label": 1}


def test_views_and_gradients(device):
    """Tensors with strides and with gradients are counted as they are, and no graph is kept."""
    p, y, _ = event(100)
    wide = torch.stack([p, 1 - p], 1).to(device).requires_grad_()
    meter = CalibrationMeter().to(device)
    meter.update(wide[::2, 0], y.to(device)[::2])
    assert_same(meter.summary, Summary.of(Predictions(p.numpy()[::2], y.numpy()[::2])))
    assert not any(tensor.requires_grad for tensor in meter.state_dict().values())
    assert wide.grad is None


def test_autocast_and_inference_mode(device):
    """Counts are float64 under autocast, and a meter used in inference mode can be used after it."""
    logits, y, w = classes(200)
    logits, y, w = logits.float().to(device), y.to(device), w.to(device)
    plain, other = CalibrationMeter(4, from_logits=True).to(device), CalibrationMeter(4, from_logits=True).to(device)
    plain.update(logits, y, w)
    plain.update(logits, y)
    with torch.inference_mode():
        other.reset()
        with torch.autocast(torch.device(device).type, dtype=torch.bfloat16):
            other.update(logits, y, w)
            other(logits, y)
    other.reset()
    with torch.inference_mode():
        other.update(logits * 1, y * 1, w * 1)
        sums = [other + CalibrationMeter(4, from_logits=True), copy.deepcopy(other)]
    for meter in (other, *sums):
        meter.update(logits, y)
        assert_same(meter.summary, plain.summary)


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "y", "w", "message"),
    [
        (
            [0.5, 3.2],
            [0, 1],
            None,
            r"must lie in \[0, 1\], got 3.2 at row 1; these look like logits: pass from_logits=True",
        ),
        ([0.5, 1.0001], [0, 1], None, r"got 1.0001 at row 1; if this is a rounding error, clip them to \[0, 1\]"),
        ([0.5, math.nan], [0, 1], None, "predictions must be finite, got nan at row 1"),
        ([0.5, 0.2], [0, 2], None, r"integers 0..1, got 2 at row 1; pass ignore_index=2"),
        ([0.5, 0.2], [0, 0.3], None, "got a number that is not whole at row 1"),
        ([0.5, 0.2], [0, math.nan], None, "got a number that is not whole at row 1"),
        ([0.5, 0.2], [0, math.inf], None, "got a number that is not whole at row 1"),
        ([0.5, 0.2], [0, 1], [1, -2.0], "sample_weight must be finite and not negative, got -2 at row 1"),
        ([0.5, 0.2], [0, 1], [1, math.inf], "sample_weight must be finite and not negative, got inf at row 1"),
        ([0.5, 0.2], [0, 1], [0.0, 1e101], r"sample_weight is 1e\+101 at row 1, too large to be squared"),
        ([0.5, 0.2], [0, 1], [0.0, 1e-101], "sample_weight is 1e-101 at row 1, too small to be squared"),
        ([[0.5, 0.5], [0.2, 0.2]], [0, 1], None, "rows of predictions must sum to 1, got 0.4 at row 1"),
        (
            [[[0.5, 0.5], [0.4, 0.5]]],
            [[0, 1]],
            None,
            r"got 0.9 at position \(0, 0\).*pass predictions.movedim\(-1, 1\)",
        ),
        ([[[0.5, 0.5], [0.5, 1.5]]], [[0, 1]], None, r"must lie in \[0, 1\], got 1.5 at position \(0, 1\)"),
    ],
)
def test_invalid_rows(device, p, y, w, message):
    """On the CPU an invalid batch is refused with its row, and nothing of it is counted; on a GPU reading raises."""
    p, y = torch.tensor(p, dtype=torch.float64, device=device), torch.tensor(y, device=device)
    meter = CalibrationMeter(None if p.shape == y.shape else 2).to(device)
    w = None if w is None else torch.tensor(w, device=device, dtype=torch.float64)
    if device == "cpu":
        with pytest.raises(InputError, match=f"the batch was refused, and none of it was counted: .*{message}"):
            meter.update(p, y, w)
        assert meter.n == 0
    else:
        meter.update(p, y, w)
        with pytest.raises(InputError, match="rows of the predictions cannot be counted: 1 "):
            meter.compute()
    with pytest.raises(InputError):
        meter(p, y, w)


def test_the_row_is_found_behind_blocks_and_ignored_ones():
    """The row that is named is the row of the input, also far behind and after ignored ones that are invalid too."""
    n = 300_000
    p, y = torch.full((n,), 0.5), torch.zeros(n, dtype=torch.long)
    p[:5], y[:5] = math.nan, -1
    p[271_828] = -0.25
    with pytest.raises(InputError, match=r"got -0.25 at row 271828"):
        CalibrationMeter(ignore_index=-1).update(p, y)
    wide, targets = torch.full((3, 2, 200, 300), 0.5), torch.zeros(3, 200, 300, dtype=torch.long)
    targets[2, 150, 7] = 9
    with pytest.raises(InputError, match=r"got 9 at position \(2, 150, 7\)"):
        CalibrationMeter(2).update(wide, targets)


@pytest.mark.parametrize(
    ("meter", "p", "y", "message"),
    [
        (CalibrationMeter(), torch.full((2, 3), 1 / 3), torch.tensor([0, 1]), r"CalibrationMeter\(3\) counts classes"),
        (CalibrationMeter(3), torch.full((2, 3), 1 / 3), torch.eye(3)[:2], r"targets.argmax\(1\) if they are one-hot"),
        (
            CalibrationMeter(3),
            torch.full((2, 2), 1 / 2),
            torch.tensor([0, 1]),
            "has 2 classes, the meter was made for 3",
        ),
        (CalibrationMeter(3), torch.full((2, 3), 1 / 3), torch.tensor([0, 1, 1]), "do not belong together"),
        (
            CalibrationMeter(3),
            torch.full((2, 5, 3), 1 / 3),
            torch.zeros(2, 5).long(),
            r"pass predictions.movedim\(-1, 1\)",
        ),
        (CalibrationMeter(), torch.full((2,), 1j), torch.tensor([0, 1]), "must be real numbers"),
        (CalibrationMeter(from_logits=True), torch.tensor([0, 1]), torch.tensor([0, 1]), "must be floating-point"),
        (CalibrationMeter(), torch.tensor([True]), torch.tensor([1]), "are they the targets?"),
        (
            CalibrationMeter(300),
            torch.full((1, 300), 1 / 300),
            torch.tensor([257.0], dtype=torch.bfloat16),
            "targets of torch.bfloat16 cannot distinguish 300 classes",
        ),
        (CalibrationMeter().to("meta"), torch.tensor([0.5]), torch.tensor([1]), "it is on cpu, the meter on meta"),
    ],
)
def test_batches_that_do_not_fit(meter, p, y, message):
    """Columns, shapes, types and devices other than the meter's are refused with advice."""
    with pytest.raises(InputError, match=message):
        meter.update(p, y)


def test_one_stream_has_one_type(device):
    """Scores of another type are refused, or converted if the meter was told a type; nothing is counted of them."""
    meter = CalibrationMeter().to(device)
    y = torch.tensor([1], device=device)
    meter.update(torch.tensor([0.3], device=device), y)
    meter.update(torch.tensor([0.3], device=device, dtype=torch.bfloat16), y)
    with pytest.raises(InputError, match=r"its scores are float64, those before were float32.*pass dtype='float32'"):
        meter.update(torch.tensor([0.3], dtype=torch.float64, device=device), y)
    assert meter.n == 2
    for dtype in ("float32", "float64"):
        meter, core = CalibrationMeter(dtype=dtype).to(device), believable.CalibrationMeter(dtype=dtype)
        for kind in (torch.float32, torch.float64):
            meter.update(torch.tensor([0.3, 0.7], dtype=kind, device=device), y.expand(2))
            core.update(torch.tensor([0.3, 0.7], dtype=kind).numpy(), [1, 1])
        assert_same(meter.summary, core.summary)
    if device == "cpu":
        with pytest.raises(InputError, match="got -1e-60 at row 0"):  # before it is rounded to -0
            CalibrationMeter(dtype="float32").update(torch.tensor([-1e-60], dtype=torch.float64), y)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"n_classes": 1}, "n_classes must be an integer at least 2"),
        ({"notions": "confidence", "n_classes": 3}, "notions must be a list of notions"),
        ({"notions": ["confidence"]}, "needs a matrix of predictions"),
        ({"notions": [View("classwise", 3, threshold=0.1)], "n_classes": 3}, "is not counted in torch"),
        ({"cells": 1}, "cells must be an integer"),
        ({"spacing": "log"}, "spacing must be one of"),
        ({"dtype": "float16"}, "dtype must be one of"),
        ({"dtype": "float32", "from_logits": True}, "softmax is computed in float64"),
        ({"ignore_index": 0.5}, "ignore_index must be an integer"),
    ],
)
def test_choices_fail_in_the_constructor(choices, message):
    """A meter that could not count is not made."""
    with pytest.raises(InputError, match=message):
        CalibrationMeter(**choices)


# --- reading, adding --------------------------------------------------------------------------------------------------


def test_few_cells(device):
    """15 cells are 15 bins: a small state, the same ECE, and what needs more than bins is skipped with the reason."""
    p, y, _ = event()
    small = counted(CalibrationMeter(cells=15, spacing="uniform"), device, p, y)
    whole = counted(CalibrationMeter(), device, p, y)
    assert sum(tensor.numel() for name, tensor in small.state_dict().items() if "tables" in name) < 120
    found = small.compute()
    assert (found.n_bins, found.notion) == (15, "binary")
    assert found["ece"] == pytest.approx(whole.compute(["ece"], n_bins=15)["ece"], abs=1e-12)
    assert found["brier"] == pytest.approx(whole.compute(["brier"])["brier"], abs=1e-12)
    assert "fine cells, of which there are 15" in found.skipped["auc"]
    assert small.compute(["ece"], n_bins=5)["ece"] == pytest.approx(whole.compute(["ece"], n_bins=5)["ece"], abs=1e-12)


def test_forward_returns_the_batch(device):
    """Calling the meter counts a batch and returns its own metrics, not those of all; nothing without rows."""
    p, y, w = (tensor.to(device) for tensor in event(200))
    meter, alone, together = (CalibrationMeter().to(device) for _ in range(3))
    meter(p[:100], y[:100])
    alone.update(p[100:], y[100:], w[100:])
    together.update(p, y, torch.cat([torch.ones_like(w[:100]), w[100:]]))
    values = meter(p[100:], y[100:], w[100:])
    assert values["ece"] == pytest.approx(alone.compute()["ece"], abs=1e-12)
    assert len(meter(p[:0], y[:0])) == 0
    assert_same(meter.summary, together.summary)


def test_merging(device):
    """Meters of parts add up to the meter of the whole, weighted or not, and are left as they were."""
    p, y, w = event(400)
    w[:200] = 1
    whole = counted(CalibrationMeter(), device, p, y, w)
    plain = counted(CalibrationMeter(), device, p[:200], y[:200])
    first = counted(CalibrationMeter(), device, p[200:300], y[200:300], w[200:300])
    second = counted(CalibrationMeter(), "cpu", p[300:], y[300:], w[300:])
    assert_same((plain + first + second).summary, whole.summary)
    assert (plain.n, second.n) == (200, int((w[300:] > 0).sum()))
    assert_same(CalibrationMeter().to(device).merge_state([plain, first, second]).summary, whole.summary)
    assert_same(sum([first, second], plain).summary, whole.summary)
    plain.merge_state(plain)
    assert plain.n == 400


def test_merging_refuses():
    """Meters of other things or other types are refused and change nothing."""
    p, y, _ = event(10)
    meter, other = CalibrationMeter(), CalibrationMeter()
    meter.update(p, y)
    other.update(p.float(), y)
    for wrong in (other, [CalibrationMeter(), other], CalibrationMeter(3), CalibrationMeter(cells=15), meter.summary):
        with pytest.raises(MergeError):
            meter.merge_state(wrong)
    with pytest.raises(TypeError):
        meter + meter.summary
    assert meter.n == 10


def test_reset_forgets(device):
    """After reset the meter is as new: rows, invalid ones, ignored ones, weights and the type of the scores."""
    p, y, w = (tensor.to(device) for tensor in event(60))
    meter = CalibrationMeter(ignore_index=7).to(device)
    meter.update(p, torch.where(torch.arange(60, device=device) < 5, 7, y), w)
    if device != "cpu":
        meter.update(p + 2, y)
    meter.reset()
    assert meter.n == 0
    assert meter.device.type == torch.device(device).type
    meter.update(p.float(), y)
    assert_same(meter.summary, Summary.of(Predictions(p.float().cpu().numpy(), y.cpu().numpy())))


def test_a_summary_is_a_value(device):
    """Later batches do not change a summary that was read; an interval and an audit can be made from it."""
    p, y, _ = event(300)
    meter = counted(CalibrationMeter(), device, p, y)
    before = meter.summary
    kept = before.to_dict()
    counted(meter, device, p, y)
    assert before.to_dict() == kept
    assert believable.interval("ece", before).low >= 0
    assert (before + before).n == meter.n
