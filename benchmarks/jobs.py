"""The timed jobs: which arrays, which calls, ours first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import isnan, nan
from typing import Any

from benchmarks import data, peers
from benchmarks.busy import Others
from benchmarks.peers import Call
from benchmarks.table import Table
from benchmarks.timing import in_turns

OURS = Call("believable expected_calibration_error", "believable", peers.ours("expected_calibration_error"))
READ = Call("one read of the same bytes", None, peers.numpy_read, lambda result, arrays: nan)

CURVE_NOTE = "scikit-learn returns the curve; the value is its ECE with counts added outside the clock"
TORCH_NOTE = (
    "torchmetrics works in the type of the scores (float32 sums for float32 scores), and on all cores but where a row "
    "says 1 thread; everything else runs on one"
)


def _torchmetrics(function: str, prepare: Callable[..., Any]) -> tuple[Call, ...]:
    """With and without its checks, on all cores and on one."""
    rows = []
    for suffix, choices in ((f" {function}", {}), (", validate_args=False", {"validate_args": False})):
        call = prepare(**choices)
        rows.append(Call(f"torchmetrics{suffix}", "torchmetrics", call, note="" if choices else TORCH_NOTE))
        rows.append(Call(f"torchmetrics{suffix}, 1 thread", "torchmetrics", peers.on_one_thread(call)))
    return tuple(rows)


SKLEARN = Call(
    "scikit-learn calibration_curve",
    "scikit-learn",
    peers.sklearn_curve("uniform"),
    peers.error_of_curve("uniform"),
    CURVE_NOTE,
)

BINARY = (
    SKLEARN,
    *_torchmetrics("binary_calibration_error", peers.torchmetrics_binary),
    Call("netcal ECE", "netcal", peers.netcal_ece()),
    Call(
        "relplot binnedECE",
        "relplot",
        peers.relplot_binned,
        note="relplot checks nothing, sums residuals only (slowly, if float32), and gives p = 1 its own bin",
    ),
    Call("calibre expected_calibration_error", "calibre", peers.calibre_metric("expected_calibration_error")),
    Call("uncertainty-calibration get_ece", "uncertainty-calibration", peers.uncertainty_calibration("top-label")),
)
CALIBRE_NOTE = "calibre's {} is the debiased error of norm 2 in bins of equal mass, of float64 rows: another number"
TOP_LABEL = (
    *_torchmetrics("multiclass_calibration_error", peers.torchmetrics_multiclass),
    Call("netcal ECE", "netcal", peers.netcal_ece()),
    Call(
        "NumPy max, argmax, then relplot binnedECE",
        "relplot",
        peers.relplot_confidence,
        note="NumPy and relplot check nothing; ours also reads the matrix for its range and its row sums",
    ),
    Call(
        "calibre top_label_ece",
        "calibre",
        peers.calibre_matrix("top_label_ece"),
        note=CALIBRE_NOTE.format("top_label_ece"),
    ),
    Call(
        "uncertainty-calibration get_ece",
        "uncertainty-calibration",
        peers.uncertainty_calibration("top-label"),
        note="uncertainty-calibration sums float32 scores in float32",
    ),
)
CLASSWISE = (
    Call("NumPy loop over classes", None, peers.numpy_class_loop),
    Call(
        "calibre classwise_ece",
        "calibre",
        peers.calibre_matrix("classwise_ece"),
        note=CALIBRE_NOTE.format("classwise_ece"),
    ),
    Call(
        "uncertainty-calibration get_ece, marginal",
        "uncertainty-calibration",
        peers.uncertainty_calibration("marginal"),
    ),
)
EQUAL_MASS = (
    Call(
        "scikit-learn calibration_curve, quantile",
        "scikit-learn",
        peers.sklearn_curve("quantile"),
        peers.error_of_curve("quantile"),
        CURVE_NOTE + "; its edges interpolate between scores, ours are scores",
    ),
    Call("netcal ECE, equal_intervals=False", "netcal", peers.netcal_ece(equal_intervals=False)),
    Call("calibre plugin_calibration_error", "calibre", peers.calibre_metric("plugin_calibration_error", norm=1)),
)
TAKE_LISTS = (
    SKLEARN,
    Call("calibre expected_calibration_error", "calibre", peers.calibre_metric("expected_calibration_error")),
)


@dataclass(frozen=True, slots=True)
class Job:
    """A name for the command line, a title, how to make the arrays, and the calls, ours first."""

    name: str
    title: str
    make: Callable[[], tuple[Any, Any]]
    calls: tuple[Call, ...]
    unit: str = "ms"


def jobs(shrink: int) -> Iterator[Job]:
    """All jobs, with `shrink` times fewer rows."""
    for n in (10**5 // shrink, 10**6 // shrink, 10**7 // shrink):
        yield Job("binary", f"Binary ECE, n={n:,}, float64 + int64", partial(data.binary, n), (OURS, *BINARY, READ))
    n = 10**7 // shrink
    yield Job(
        "float32",
        f"Binary ECE, n={n:,}, float32 + uint8",
        partial(data.binary, n, "float32", "uint8"),
        (OURS, *BINARY, READ),
    )
    matrices = ((10**6 // shrink, 10), (50_000 // shrink, 1000))
    for rows, k in matrices:
        yield Job(
            "top-label",
            f"Top-label (confidence) ECE, {rows:,} x {k}, float32",
            partial(data.multiclass, rows, k),
            (OURS, *TOP_LABEL, READ),
        )
    static = Call("believable static_calibration_error", "believable", peers.ours("static_calibration_error"))
    for rows, k in matrices:
        yield Job(
            "class-wise",
            f"Class-wise ECE, {rows:,} x {k}, float32",
            partial(data.multiclass, rows, k),
            (static, *CLASSWISE, READ),
        )
    adaptive = Call("believable adaptive_calibration_error", "believable", peers.ours("adaptive_calibration_error"))
    yield Job(
        "equal-mass",
        f"Equal-mass ECE, n={n:,}, float64 + int64",
        partial(data.binary, n),
        (adaptive, *EQUAL_MASS, READ),
    )
    cells = Call("believable CellStats.of", "believable", peers.our_cells, peers.error_of_cells)
    by_hand = Call("NumPy, unchecked, all rows at once", None, peers.numpy_cells, peers.error_of_sums)
    yield Job("cells", f"CellStats, n={n:,}, float64 + int64", partial(data.binary, n), (cells, by_hand, READ))
    auc = Call("believable auc", "believable", peers.ours("auc"))
    auc_peer = Call("scikit-learn roc_auc_score", "scikit-learn", peers.sklearn_auc)
    yield Job("auc", f"AUC, n={10**6 // shrink:,}", partial(data.binary, 10**6 // shrink), (auc, auc_peer))
    smooth = Call("believable smooth_calibration_error", "believable", peers.ours("smooth_calibration_error"))
    smooth_peer = Call(
        "relplot smECE",
        "relplot",
        peers.relplot_smooth,
        note="relplot finds the bandwidth to 1/1024 and halves rows at 0 and 1; ours is right to 1e-6",
    )
    for rows in (10**4 // shrink, 10**6 // shrink):
        calls = (smooth, smooth_peer, READ)
        yield Job("smooth", f"Smooth ECE, n={rows:,}, float64 + int64", partial(data.binary, rows), calls)
    yield Job("small", "A small call, n=100, arrays", partial(data.binary, 100), (OURS, *BINARY), "µs")
    yield Job("small", "A small call, n=100, lists", _lists, (OURS, *TAKE_LISTS), "µs")


def _lists() -> tuple[list[float], list[int]]:
    p, y = data.binary(100)
    return p.tolist(), y.tolist()


def run(job: Job, repeats: int, enough: float) -> Table:
    """Time the calls of a job whose package is installed, and set them out beside each other."""
    arrays = job.make()
    ready: list[tuple[Call, Callable[[], Any]]] = []
    left_out, failures = [], []
    for call in job.calls:
        if not call.installed:
            left_out.append((call.name, "not installed", "", "", ""))
            continue
        try:
            ready.append((call, call.prepare(*arrays)))
        except Exception as error:  # installed but broken, or another package of that name
            left_out.append((call.name, "failed", "", "", ""))
            failures.append(f"{call.name}: {type(error).__name__}: {error}")
    others = Others()
    timed = in_turns([prepared for _, prepared in ready], repeats, enough)
    busy = others.notes()
    factor = {"ms": 1e3, "µs": 1e6}[job.unit]
    rows, notes = [], []
    for (call, _), row in zip(ready, timed, strict=True):
        if row.failure:
            left_out.append((call.name, "failed", "", "", ""))
            failures.append(f"{call.name}: {row.failure}")
            continue
        value = call.value(row.result, arrays)
        time = f"{row.seconds * factor:,.2f}"
        ratio = "" if row is timed[0] else f"{row.seconds / timed[0].seconds:.2f}"
        rows.append((call.name, time, ratio, "" if isnan(value) else f"{value:.10f}", str(row.samples)))
        notes += [call.note] if call.note else []
    head = ("", job.unit, "peer / us", "value", "samples")
    return Table(job.title, head, rows + left_out, notes + failures + busy)
