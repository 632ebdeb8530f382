"""Everything that is measured: which rows, at which sizes, which calls, ours first, and what the answer is."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchmarks import calls, data, fitted, literal, peers, scale
from benchmarks.calls import Call, Operation, ours
from benchmarks.data import Array, Data

CURVE = "scikit-learn returns only the curve; the ECE is computed from it with counts obtained outside the timing"
CALIBRE = "calibre's {} is the debiased error of norm 2 in equal-mass bins"
BY_TORCHMETRICS = "probmetrics calls torchmetrics after clipping probabilities at 1e-7"
UNCHECKED = "relplot checks no input and sums only residuals"
EDGES = "MAPIE's num_bins counts edges, so eleven gives ten bins"
NETCAL_MMCE = "netcal computes all n^2 pairs and checks no input"
ONE_EVENT = (
    "for one event, netcal uses P(y = 1) as the confidence but compares it with whether the more probable outcome "
    "occurred: this is neither the MMCE of the event nor that of the top label, and it is large for calibrated scores"
)

MILLIONS = (10**5, 10**6, 10**7)
TEN, THOUSAND = (10**4, 10**5, 10**6), (3_125, 12_500, 50_000)


def operations() -> list[Operation]:
    """All of them, in the order of the page."""
    return [*_binned(), *_without_bins(), *_statistics(), *fitted.operations(), *_small()]


def _torchmetrics(function: str, prepare: Callable[..., Any]) -> tuple[Call, ...]:
    """With and without its checks."""
    note = "torchmetrics sums in the type of the scores, and float32 loses precision as n grows"
    return (
        Call(f"torchmetrics {function}", "torchmetrics", prepare(), note=note),
        Call("torchmetrics, validate_args=False", "torchmetrics", prepare(validate_args=False), note=note),
    )


SKLEARN = Call(
    "scikit-learn calibration_curve",
    "scikit-learn",
    peers.sklearn_curve("uniform"),
    peers.error_of_curve("uniform"),
    note=CURVE,
)
CALIBRE_ECE = Call("calibre expected_calibration_error", "calibre", peers.calibre_metric("expected_calibration_error"))
EVENT = (
    SKLEARN,
    *_torchmetrics("binary_calibration_error", peers.torchmetrics_binary),
    Call("netcal ECE", "netcal", peers.netcal_ece()),
    Call("relplot binnedECE", "relplot", peers.relplot_binned, note=UNCHECKED),
    CALIBRE_ECE,
    Call("uncertainty-calibration get_ece", "uncertainty-calibration", peers.uncertainty_calibration("top-label")),
    Call("probmetrics CalibrationError", "probmetrics", peers.probmetrics_ece, note=BY_TORCHMETRICS, most=10**7),
    Call("calzone ECE-H", "calzone-tool", peers.calzone_ece(), most=10**7),
    Call("MAPIE expected_calibration_error", "mapie", peers.mapie_ece("uniform"), note=EDGES, most=10**7),
)
CLASS_WISE = (
    Call("NumPy loop over classes", None, calls.numpy_class_loop),
    Call(
        "calibre classwise_ece", "calibre", peers.calibre_matrix("classwise_ece"), other=CALIBRE.format("classwise_ece")
    ),
    Call("uncertainty-calibration, marginal", "uncertainty-calibration", peers.uncertainty_calibration("marginal")),
    Call("MAPIE, classwise=True", "mapie", peers.mapie_ece("uniform", class_wise=True), note=EDGES),
)
EQUAL_MASS = (
    Call(
        "scikit-learn calibration_curve, quantile",
        "scikit-learn",
        peers.sklearn_curve("quantile"),
        peers.error_of_curve("quantile"),
        note=CURVE + "; its bin edges lie between scores",
    ),
    Call("netcal ECE, equal_intervals=False", "netcal", peers.netcal_ece(equal_intervals=False)),
    Call("calibre plugin_calibration_error", "calibre", peers.calibre_metric("plugin_calibration_error", norm=1)),
    Call(
        "calzone ECE-C",
        "calzone-tool",
        peers.calzone_ece(is_equal_freq=True),
        other="calzone leaves out rows with the smallest score",
    ),
    Call("MAPIE, quantile", "mapie", peers.mapie_ece("quantile"), note=EDGES),
)


def _top_label(k: int) -> tuple[Call, ...]:
    missing = "probmetrics leaves out classes that have no rows and renormalises the others"
    return (
        *_torchmetrics("multiclass_calibration_error", peers.torchmetrics_multiclass),
        Call("netcal ECE", "netcal", peers.netcal_ece()),
        Call("NumPy max, argmax, then relplot", "relplot", peers.relplot_confidence, note=UNCHECKED),
        Call(
            "calibre top_label_ece",
            "calibre",
            peers.calibre_matrix("top_label_ece"),
            other=CALIBRE.format("top_label_ece"),
        ),
        Call("uncertainty-calibration get_ece", "uncertainty-calibration", peers.uncertainty_calibration("top-label")),
        Call("probmetrics CalibrationError", "probmetrics", peers.probmetrics_ece, other=missing if k > 10 else ""),
        Call("calzone ECE-H topclass", "calzone-tool", peers.calzone_ece()),
        Call("MAPIE expected_calibration_error", "mapie", peers.mapie_ece("uniform"), note=EDGES),
    )


def _binned() -> list[Operation]:
    ece = ours("expected_calibration_error")
    static = ours("static_calibration_error")
    adaptive = ours("adaptive_calibration_error")
    narrow = partial(data.binary, scores="float32", labels="uint8")
    wide = "float64 scores, int64 labels"
    sizes = (*MILLIONS, 10**8)
    return [
        Operation(
            "binary",
            f"ECE of one event, {wide}",
            sizes,
            data.binary,
            (ece, *EVENT),
            literal.error,
            target=2,
            short="ECE, float64 + int64",
            peak=True,
        ),
        Operation(
            "float32",
            "ECE of one event, float32 scores, uint8 labels",
            sizes,
            narrow,
            (ece, *EVENT),
            literal.error,
            target=4,
            short="ECE, float32 + uint8",
        ),
        *(
            Operation(
                name,
                f"{title}, {k} classes, float32",
                TEN if k == 10 else THOUSAND,
                partial(data.multiclass, n_classes=k),
                (our, *others(k)),
                reference,
                target=target,
                tiny=100,
                short=f"{title[4:].removeprefix('of the ').removeprefix('of ')}, {k} classes".capitalize(),
                peak=k == 1000,
            )
            for name, title, our, others, reference, targets in (
                ("top-label", "ECE of the top label", ece, _top_label, literal.top_label, {1000: 2.5, 10: 5}),
                (
                    "class-wise",
                    "ECE of every class",
                    static,
                    lambda k: CLASS_WISE,
                    literal.class_wise,
                    {1000: 5, 10: 4},
                ),
            )
            for k, target in targets.items()
        ),
        Operation(
            "equal-mass",
            f"ECE in bins of equal mass, {wide}",
            MILLIONS,
            data.binary,
            (adaptive, *EQUAL_MASS),
            literal.equal_mass,
            short="Equal-mass ECE",
            peak=True,
        ),
    ]


def _without_bins() -> list[Operation]:
    mmce, skce = ours("maximum_mean_calibration_error"), ours("squared_kernel_calibration_error", bandwidth=0.5)
    ten = partial(data.multiclass, n_classes=10)
    netcal = Call("netcal MMCE", "netcal", peers.netcal_mmce, note=NETCAL_MMCE, most=10**4)
    by_hand = Call("NumPy, n x n matrices", None, calls.numpy_skce, most=10**4)
    return [
        Operation(
            "mmce", "MMCE of the top label, 10 classes", (10**3, 10**4, 10**5), ten, (mmce, netcal), literal.mmce
        ),
        Operation(
            "mmce",
            "MMCE of one event",
            (10**3, 10**4, 10**5, 10**6),
            data.binary,
            (mmce, Call("netcal MMCE", "netcal", peers.netcal_mmce, note=ONE_EVENT, most=10**4)),
            literal.mmce,
        ),
        Operation("skce", "SKCE, 10 classes", (10**3, 3_000, 10**4), ten, (skce, by_hand), literal.skce, limit=False),
        Operation("skce", "SKCE of one event", (10**4, 10**5, 10**6), data.binary, (skce,), literal.skce),
        Operation(
            "smooth",
            "Smooth ECE",
            (10**4, 10**5, 10**6),
            data.binary,
            (
                ours("smooth_calibration_error"),
                Call("relplot smECE", "relplot", peers.relplot_smooth, note="relplot finds the bandwidth to 1/1024"),
                Call("calibre smooth_calibration_error", "calibre", peers.calibre_smooth),
            ),
            literal.smooth,
            right=2e-3,
        ),
        Operation(
            "auc",
            "AUC",
            (10**4, 10**5, 10**6),
            data.binary,
            (
                ours("auc"),
                Call("scikit-learn roc_auc_score", "scikit-learn", peers.sklearn_auc),
                Call("torchmetrics binary_auroc", "torchmetrics", peers.torchmetrics_auc),
            ),
            literal.auc,
        ),
        Operation(
            "corp",
            "Miscalibration by CORP, from the isotonic fit, Brier score",
            (10**4, 10**5, 10**6),
            data.binary,
            (
                ours("corp_decomposition", lambda parts, arrays: parts.mcb),
                Call("scikit-learn isotonic, by hand", "scikit-learn", peers.sklearn_decomposition),
                Call("calibre score_decomposition", "calibre", peers.calibre_decomposition),
            ),
            literal.corp,
        ),
    ]


def _ends(found: Any, arrays: Data) -> tuple[float, float]:
    return found.low, found.high


def _interval(**choices: Any) -> Callable[[Any, Any], calls.Prepared]:
    def prepare(p: Array, y: Array) -> calls.Prepared:
        interval = calls.load("believable").interval
        return lambda: interval("ece", p, y, n_resamples=calls.DRAWS, random_state=0, **choices)

    return prepare


def _summary(p: Array, y: Array) -> calls.Prepared:
    believable = calls.load("believable")
    return lambda: believable.Summary.of(believable.Predictions(p, y))


def _error_of_summary(summary: Any, arrays: Data) -> float:
    return float(calls.load("believable").expected_calibration_error(summary.cells_of()))


@cache
def _file(n: int) -> tuple[str, int]:
    """A Parquet file of n rows, kept until the process ends; files are made once."""
    path = Path(_folder().name) / f"{n}.parquet"
    scale.write_file(path, n)
    return str(path), n


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def _from_file(candidate: Callable[[str], tuple[int, float]]) -> Callable[[Any, Any], calls.Prepared]:
    return lambda path, n: lambda: candidate(path)[1]


def _error_of_file(path: Any, n: Any) -> float:
    import polars as pl

    frame = pl.read_parquet(path)
    return literal.error(frame["p"].to_numpy(), frame["y"].to_numpy())


def _statistics() -> list[Operation]:
    percentile = Call("believable interval, percentile", "believable", _interval(method="percentile"), _ends)
    inverted = Call(
        "believable interval, by inversion",
        "believable",
        _interval(),
        _ends,
        other="the default inverts a test, because percentile intervals do not cover small errors",
    )
    cells = Call("believable CellStats.of", "believable", calls.our_cells, calls.error_of_cells)
    summary = Call("believable Summary.of", "believable", _summary, _error_of_summary)
    cells_by_hand = Call("NumPy, unchecked, all rows at once", None, calls.numpy_cells, calls.error_of_sums)
    batches = Call("believable summarize_files", "believable", _from_file(scale.ours))
    queries = (
        Call("polars, a query by hand", "polars", _from_file(scale.polars_alone)),
        Call("duckdb, a query by hand", "duckdb", _from_file(scale.duckdb_alone)),
    )
    return [
        Operation(
            "bootstrap",
            "95 % interval of the ECE, 1000 replicates",
            (10**3, 10**4, 10**5),
            data.binary,
            (
                percentile,
                Call("calzone bootstrap", "calzone-tool", peers.calzone_bootstrap, lambda ends, arrays: ends),
                Call("calibre bootstrap_ci", "calibre", peers.calibre_bootstrap, lambda ends, arrays: ends),
                inverted,
            ),
            literal.bootstrap,
            right=0.08,
            limit=False,
            short="Interval of the ECE",
            note="random draws differ, so limits that agree to within 8 % of the upper one count as right",
        ),
        Operation(
            "summary",
            "Summary.of: everything an audit reads, float64 scores, int64 labels",
            MILLIONS,
            data.binary,
            (summary, cells, cells_by_hand),
            literal.error,
        ),
        Operation(
            "files",
            "Reading a Parquet file, float32 scores, int8 labels",
            (10**5, 10**6, 10**7),
            _file,
            (batches, *queries),
            _error_of_file,
            limit=False,
        ),
    ]


def _small() -> list[Operation]:
    ece = ours("expected_calibration_error")
    small = (100,)
    return [
        Operation(
            "small",
            "A small call: ECE of 100 rows, arrays",
            small,
            data.binary,
            (ece, *EVENT),
            literal.error,
            limit=False,
            short="100 rows, arrays",
        ),
        Operation(
            "small",
            "A small call: ECE of 100 rows, lists",
            small,
            _lists,
            (ece, SKLEARN, CALIBRE_ECE),
            literal.error,
            limit=False,
            short="100 rows, lists",
        ),
    ]


def _lists(n: int) -> tuple[Any, Any]:
    p, y = data.binary(n)
    return p.tolist(), y.tolist()
