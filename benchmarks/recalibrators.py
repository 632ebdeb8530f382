"""Our maps alone, fitting and mapping: `python -m benchmarks.recalibrators [--quick] [--markdown]`."""

from __future__ import annotations

from argparse import ArgumentParser
from functools import partial
from typing import Any

from benchmarks import data, fits, machine
from benchmarks.busy import Others
from benchmarks.data import Array, Data
from benchmarks.table import Table
from benchmarks.timing import ENOUGH, REPEATS, in_turns


def alone(shrink: int, repeats: int, enough: float) -> Table:
    """Ours where nobody is beside us: fitting, and mapping the same scores."""
    n = 10**6 // shrink
    events, classes = data.binary(n), fits.probabilities(n // 10)
    entries: list[tuple[str, dict[str, Any], Data]] = [
        ("HistogramBinning", {}, events),
        ("ScalingBinning", {}, events),
        ("SplineCalibration", {}, events),
        ("QuadraticScaling", {}, events),
        ("LogitSplineCalibration", {}, events),
        ("LocalRegressionCalibration", {}, events),
        ("BetaCDFCalibration", {}, events),
        ("IsotonicCalibration", {"centred": True}, events),
        ("VennAbers", {}, events),
        ("BBQ", {}, events),
        ("TemperatureScaling", {"objective": "ece"}, classes),
        ("EnsembleTemperature", {}, classes),
        ("VectorScaling", {}, classes),
        ("VectorScaling", {"penalty": 0}, classes),
        ("MatrixScaling", {}, classes),
        ("DirichletCalibration", {}, classes),
        ("StructuredScaling", {}, classes),
        ("StructuredScaling", {"structure": "vector"}, classes),
        ("IsotonicCalibration", {}, classes),
        ("PriorShift", {}, classes),
    ]
    others = Others()
    learnt = in_turns([fits.ours(name, **choices)(*arrays) for name, choices, arrays in entries], repeats, enough)
    maps = in_turns(
        [partial(_map, fit.result, arrays[0]) for fit, (*_, arrays) in zip(learnt, entries, strict=True)],
        repeats,
        enough,
    )
    rows, notes = [], others.notes()
    for (name, choices, (X, _)), fit, applied in zip(entries, learnt, maps, strict=True):
        title = ", ".join([name, *(f"{key}={value!r}" for key, value in choices.items())])
        times = [f"{part.seconds * 1e3:,.1f}" for part in (fit, applied)] if fit.failure is None else ["failed", ""]
        notes += [f"{title}: {fit.failure}"] if fit.failure else []
        rows.append((title, " x ".join(f"{size:,}" for size in X.shape), *times, str(fit.samples)))
    return Table("Ours alone, float64 probabilities", ("", "rows", "fit ms", "transform ms", "samples"), rows, notes)


def _map(fitted: Any, X: Array) -> Any:
    return fitted.transform(X)


def main() -> None:
    """Read the arguments, measure, print."""
    parser = ArgumentParser("python -m benchmarks.recalibrators", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--markdown", action="store_true", help="print markdown")
    asked = parser.parse_args()
    effort = (3, 0.4) if asked.quick else (REPEATS, ENOUGH)
    for table in (machine.table(), alone(10 if asked.quick else 1, *effort)):
        print(table.markdown() if asked.markdown else table.plain(), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
