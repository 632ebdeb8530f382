"""Recalibrators beside the libraries that fit the same maps: `python -m benchmarks.recalibrators [--only NAME]`.

Speed is worth nothing at another place than the optimum, so every row says how far from it its probabilities are.
"""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from benchmarks import data, fits, machine, memory
from benchmarks.busy import Others
from benchmarks.data import Array, Data
from benchmarks.peers import Prepared, installed
from benchmarks.table import Table
from benchmarks.timing import ENOUGH, REPEATS, in_turns

CELLS_NOTE = "counting the cells is not timed: it is done once, where the rows are"
RIGHT = 1e-4  # of any probability: a fit that is further off shows in the fourth decimal, and is marked
WARM = 200  # rows of a first call, which loads what is loaded lazily


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of a table: a name that begins with the package, what is timed, and what is read off the result, untimed.

    `wanted` is the least ratio peer / us that we have set ourselves.
    """

    name: str
    prepare: Callable[[Array, Array], Prepared]
    read: Callable[[Any, Data], Array]
    wanted: float | None = None

    @property
    def installed(self) -> bool:
        return installed(self.name.split()[0].rstrip(",")) is not None


@dataclass(frozen=True, slots=True)
class Race:
    """A name for the command line, a title, how to make n rows, the entries, ours first, and what they should find.

    `truth` is what readings are compared with: `against` says what it is. With `likelihood` both are probabilities of
    the labels, whose logarithms are a log loss; with `exact` an entry that is far off is marked.
    """

    name: str
    title: str
    n: int
    make: Callable[[int], Data]
    entries: tuple[Entry, ...]
    truth: Callable[[Array, Array], Array]
    against: str = "optimum"
    likelihood: bool = True
    exact: bool = True
    note: str = ""


def races(shrink: int) -> Iterator[Race]:
    """All races, with `shrink` times fewer rows."""
    yield _temperature(50_000 // shrink, 1000, 8)
    yield _temperature(100_000 // shrink, 10, 10)
    yield from _platt(10**6 // shrink)
    yield from _beta(10**6 // shrink)
    yield _isotonic(10**6 // shrink)
    yield _venn_abers(10**5 // shrink)
    yield _bbq(10**5 // shrink)
    yield _matrix(10**5 // shrink)


def _temperature(n: int, k: int, wanted: float) -> Race:
    entries = (
        Entry("believable TemperatureScaling", fits.ours("TemperatureScaling", input="logits"), fits.softmax),
        Entry("scikit-learn _TemperatureScaling", fits.sklearn_temperature("float32"), fits.softmax, wanted),
        Entry("scikit-learn, float64 logits", fits.sklearn_temperature("float64"), fits.softmax),
    )
    title = f"Temperature, {n:,} x {k}, float32 logits"
    note = "scikit-learn takes the loss of float32 logits in float32, whose noise hides where the least is"
    return Race("temperature", title, n, partial(fits.logits, k=k), entries, fits.best_temperature, note=note)


def _platt(n: int) -> Iterator[Race]:
    smoothed = fits.ours("PlattScaling", input="logits", targets="smoothed")
    sigmoid = Entry("scikit-learn _SigmoidCalibration", fits.sklearn_sigmoid, fits.sigmoid, 6)
    entries: tuple[Entry, ...] = (Entry("believable PlattScaling, smoothed", smoothed, fits.sigmoid), sigmoid)
    title = f"Platt, n={n:,}, float64 logits, "
    yield Race("platt", title + "smoothed targets", n, fits.event_logits, entries, fits.best_smoothed_platt)
    entries = (
        Entry("believable PlattScaling", fits.ours("PlattScaling", input="logits"), fits.sigmoid),
        Entry("scikit-learn LogisticRegression, C=inf", fits.sklearn_logistic, fits.sigmoid),
        Entry("believable, from probabilities", fits.ours_of_event("PlattScaling"), fits.sigmoid),
    )
    yield Race("platt", title + "labels", n, fits.event_logits, entries, fits.best_platt)
    entries = (
        Entry("believable, logit cells", fits.ours_of_cells("PlattScaling", "logit"), fits.sigmoid),
        replace(sigmoid, wanted=50),
        Entry("believable, uniform cells", fits.ours_of_cells("PlattScaling", "uniform"), fits.sigmoid),
    )
    title = f"Platt from {fits.CELLS:,} cells of n={n:,}"
    note = CELLS_NOTE + "; scikit-learn's targets are smoothed, which moves p by about 1/n"
    yield Race("platt", title, n, fits.event_logits, entries, fits.best_platt, exact=False, note=note)


def _beta(n: int) -> Iterator[Race]:
    betacal = Entry("betacal BetaCalibration", fits.betacal_fit, fits.beta, 6)
    entries: tuple[Entry, ...] = (
        Entry("believable BetaCalibration", fits.ours("BetaCalibration"), fits.beta),
        betacal,
        Entry("scikit-learn LogisticRegression, tol=1e-8", fits.sklearn_beta, fits.beta),
    )
    title = f"Beta, n={n:,}, float64 probabilities"
    note = "betacal stops at scikit-learn's tol=1e-4 and has no setting for it; the row below it is its way to the end"
    yield Race("beta", title, n, data.binary, entries, fits.best_beta, note=note)
    entries = (
        Entry("believable, logit cells", fits.ours_of_cells("BetaCalibration", "logit", expit=False), fits.beta),
        replace(betacal, wanted=50),
        Entry("believable, uniform cells", fits.ours_of_cells("BetaCalibration", "uniform", expit=False), fits.beta),
    )
    title = f"Beta from {fits.CELLS:,} cells of n={n:,}"
    yield Race("beta", title, n, data.binary, entries, fits.best_beta, exact=False, note=CELLS_NOTE)


def _isotonic(n: int) -> Race:
    entries = (
        Entry("believable IsotonicCalibration", fits.ours("IsotonicCalibration"), fits.transformed),
        Entry("scikit-learn IsotonicRegression", fits.sklearn_isotonic, fits.transformed, 4),
    )
    return Race("isotonic", f"Isotonic, n={n:,}, float64 probabilities", n, data.binary, entries, fits.best_isotonic)


def _venn_abers(n: int) -> Race:
    entries = (
        Entry("believable VennAbers", fits.our_intervals, fits.as_it_is),
        Entry("venn-abers VennAbers", fits.venn_abers, fits.as_it_is, 10),
    )
    title = f"Venn-Abers, n={n:,}: fit, and intervals of {len(fits.TEST_SCORES)} scores"
    return Race(
        "venn-abers", title, n, data.binary, entries, fits.literal_intervals, against="definition", likelihood=False
    )


def _bbq(n: int) -> Race:
    entries = (
        Entry("believable BBQ", fits.ours("BBQ"), fits.transformed),
        Entry("netcal BBQ", fits.netcal_bbq, fits.transformed, 20),
    )
    note = (
        "netcal has bins of equal width, weighed by BIC: another map; both are set beside the truth, on the rows fitted"
    )
    title = f"BBQ, n={n:,}, float64 probabilities"
    return Race("bbq", title, n, data.binary, entries, fits.population, against="truth", exact=False, note=note)


def _matrix(n: int) -> Race:
    entries = (
        Entry("believable DirichletCalibration, penalty=0", fits.ours("DirichletCalibration", penalty=0), fits.linear),
        Entry("scikit-learn LogisticRegression, lbfgs, tol=1e-8", fits.sklearn_softmax("lbfgs", 1e-8), fits.linear, 4),
        Entry("scikit-learn, lbfgs, tol=1e-4", fits.sklearn_softmax("lbfgs", 1e-4), fits.linear),
        Entry("scikit-learn, newton-cholesky", fits.sklearn_softmax("newton-cholesky", 1e-8), fits.linear, 4),
        Entry("believable MatrixScaling, penalty=0", fits.ours("MatrixScaling", penalty=0), fits.linear),
    )
    title = f"Dirichlet and matrix, {n:,} x 10, float64 probabilities, no penalty"
    note = "scikit-learn is handed log p, untimed"
    return Race("matrix", title, n, fits.probabilities, entries, fits.best_linear, note=note)


# --- the tables -------------------------------------------------------------------------------------------------------


def run(race: Race, repeats: int, enough: float) -> Table:
    """Time the entries whose package is installed, and set them beside each other and beside the optimum."""
    arrays = race.make(race.n)
    present = [entry for entry in race.entries if entry.installed]
    absent = [(entry.name, "not installed", *[""] * 6) for entry in race.entries if entry not in present]
    ready = [entry.prepare(*arrays) for entry in present]
    others = Others()
    timed = in_turns(ready, repeats, enough)
    busy = others.notes()
    rows, notes = [], [race.note] if race.note else []
    notes += [fits.passes(*arrays)] if race.name == "temperature" else []
    truth = race.truth(*arrays)
    first = None if timed[0].failure else present[0].read(timed[0].result, arrays)
    for entry, row in zip(present, timed, strict=True):
        if row.failure:
            absent.append((entry.name, "failed", *[""] * 6))
            notes.append(f"{entry.name}: {row.failure}")
            continue
        found = entry.read(row.result, arrays)
        ratio = "" if row is timed[0] else f"{row.seconds / timed[0].seconds:.1f}"
        wanted = "" if entry.wanted is None else f"{entry.wanted:g}"
        off = float(np.abs(found - truth).max())
        wrong = " WRONG" if race.exact and off > RIGHT else ""
        apart = "" if first is None or row is timed[0] else f"{np.abs(found - first).max():.1e}"
        loss = _log_loss_above(found, truth) if race.likelihood else ""
        rows.append(
            (entry.name, f"{row.seconds * 1e3:,.2f}", ratio, wanted, apart, f"{off:.1e}{wrong}", loss, str(row.samples))
        )
    head = ("", "ms", "peer / us", "wanted", "p - ours", f"p - {race.against}", "log loss above", "samples")
    return Table(race.title, head, rows + absent, notes + busy)


def _log_loss_above(found: Array, truth: Array) -> str:
    """Mean log loss beyond that of the truth; labels of probability 0 in both, or in one, speak for themselves."""
    with np.errstate(divide="ignore", invalid="ignore"):
        more = np.where(found == truth, 0, np.log(truth) - np.log(found))
    return f"{more.mean():.1e}"


def alone(shrink: int, repeats: int, enough: float) -> Table:
    """Ours where nobody is beside us: fitting, and mapping the same scores."""
    n = 10**6 // shrink
    events, classes = data.binary(n), fits.probabilities(n // 10)
    entries: list[tuple[str, dict[str, Any], Data]] = [
        ("HistogramBinning", {}, events),
        ("ScalingBinning", {}, events),
        ("SplineCalibration", {}, events),
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


def peaks(wanted: list[int], shrink: int) -> Table:
    """Peak memory of our fits beyond the arrays given, each in a fresh process."""
    rows = []
    listed = list(races(shrink))
    for index in wanted:
        race = listed[index]
        command = [sys.executable, "-m", "benchmarks.recalibrators", "--peak", str(index), "--shrink", str(shrink)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            rows.append((race.title, (done.stderr.strip().splitlines() or ["failed"])[-1][:80], *[""] * 5))
            continue
        peak = json.loads(done.stdout.splitlines()[-1])
        scores, most = peak["scores"], peak["resident"] if peak["traced"] is None else peak["traced"]
        sizes = [f"{size / 1e6:,.1f}" for size in (scores, peak["labels"], peak["resident"], most)]
        rows.append((race.title, *sizes, f"{most / scores:.2f}", f"{most / (scores + peak['labels']):.2f}"))
    notes = [
        "megabytes of 1e6 bytes, beyond the scores given; a first call on few rows has loaded what is loaded lazily"
    ]
    head = ("our fit", "scores MB", "labels MB", "resident MB", "traced MB", "/ scores", "/ scores and labels")
    return Table("Peak extra memory of our fits", head, rows, notes)


def measure(race: Race) -> dict[str, float | None]:
    """Bytes at the peak of our fit in this process, and of what it is given."""
    prepare = race.entries[0].prepare
    arrays = race.make(race.n)
    given = {"scores": float(arrays[0].nbytes), "labels": float(arrays[1].nbytes)}
    return {**given, **memory.peak(prepare(*race.make(WARM)), prepare(*arrays))}


def tables(shrink: int, repeats: int, enough: float, names: list[str] | None = None) -> Iterator[Table]:
    """All tables, or those named, as they come."""
    chosen = [i for i, race in enumerate(races(shrink)) if not names or race.name in names]
    for i, race in enumerate(races(shrink)):
        if i in chosen:
            yield run(race, repeats, enough)
    if not names or "alone" in names:
        yield alone(shrink, repeats, enough)
    if chosen or "memory" in (names or ()):
        yield peaks(chosen or [*range(len(list(races(shrink))))], shrink)


def main() -> None:
    """Read the arguments, run what they name, print as it comes."""
    arguments = _arguments()
    if arguments.peak is not None:
        print(json.dumps(measure(list(races(arguments.shrink))[arguments.peak])))
        return
    shrink = 10 if arguments.quick else 1
    effort = (3, 0.4) if arguments.quick else (REPEATS, ENOUGH)
    for table in chain([machine.table()], tables(shrink, *effort, arguments.only)):
        print(table.markdown() if arguments.markdown else table.plain(), end="\n\n", flush=True)


def _arguments() -> Namespace:
    names = [*dict.fromkeys(race.name for race in races(1)), "alone", "memory"]
    parser = ArgumentParser("python -m benchmarks.recalibrators", description=__doc__)
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help=f"one of {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--markdown", action="store_true", help="print markdown")
    parser.add_argument("--peak", type=int, help="peak memory of our fit in the race of this number, as JSON")
    parser.add_argument("--shrink", type=int, default=1, help="how many times fewer rows, for --peak")
    return parser.parse_args()


if __name__ == "__main__":
    main()
