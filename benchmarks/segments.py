"""Miscalibrated segments: are they found, and do maps by segment help? `python -m benchmarks.segments WHAT [--quick]`.

`find`: how many segments `find_segments` reports in simulations with a known truth (`segment_truths.py`), which share
of them is false, and which share of the segments that are truly wrong it detects. A finding is false if in the whole
population the segment's true rates differ neither in level nor in slope from those of all rows with the same scores. A
segment is detected if one that was found is the same for at least half of their rows (Jaccard index). The oracle knows
which segments are wrong, in which direction at each score, and the rates of all rows, and tests only those segments, at
the Bonferroni level of the whole search: no search at that level detects more single segments on average.

`pool`: the expected log loss on new rows of a common Platt map, of one map per level, and of partial pooling.

`boost`: multicalibration error, as MCGrad computes it, and log loss on new rows, beside MCGrad, in simulations and on
public tables. `scale`: ten million rows by five columns, counted in arrays and in a Parquet file.

MCGrad and the public tables need an environment of their own (`make bench-segments`); without them the rest runs.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any
from zlib import crc32

import numpy as np

from benchmarks.fix_sources import logit, sigmoid
from benchmarks.memory import MB, peak, start_peak
from benchmarks.segment_truths import SIZES, TRUTHS, Scored, Truth, Where, real, rows_of, truth
from benchmarks.table import Table

Array = Any
LEVEL = 0.05  # of the oracle, over all candidates
DEPTH, FEWEST = 3, 10  # columns of a candidate, and its rows
POPULATION = 100_000  # more rows of the same draw, in which a finding is checked
CURVE_BINS = 200
SAME_LEVEL, SAME_SLOPE = 0.02, 0.05  # of the logits: smaller differences do not make a finding true
OVERLAP = 0.5
NEW_ROWS = 200_000


@dataclass(frozen=True)
class Effort:
    """Sizes, and how many draws of each."""

    find_sizes: tuple[int, ...] = SIZES
    pool_sizes: tuple[int, ...] = (100, 300, 1000, 3000, 10_000, 30_000)
    boost_sizes: tuple[int, ...] = (1000, 10_000, 100_000)
    scale_rows: int = 10_000_000
    new_rows: int = NEW_ROWS
    draws: int = 100
    draws_of_many: int = 20  # of more than MANY rows
    boost_draws: int = 5
    boost_tables: int | None = None


MANY = 10_000
EFFORT = Effort()
QUICK = Effort((100, 1000), (100, 1000), (1000,), 200_000, 5000, 2, 2, 1, 2)


# --- believable, one function for each thing that is measured ---------------------------------------------------------


def find(rows: Truth) -> list[Where]:
    """Return the segments that `find_segments` reports."""
    from believable import find_segments

    return [dict(found.where) for found in find_segments(rows.p, rows.y, rows.columns, depth=DEPTH)]


def level_rules(rows: Truth) -> dict[str, Any]:
    """Return how the values of each column become levels, as chosen on these rows."""
    from believable import Predictions
    from believable.stats import SegmentStats

    stats = SegmentStats.of(Predictions(rows.p, rows.y), rows.columns)
    return {rule.column: rule for rule in stats.columns}


def grouped(method: str, fit: Truth | Scored, new: Truth | Scored, columns: Sequence[str]) -> Array:
    """Return the new rows' probabilities by a recalibrator that knows the columns; by one map if a class is absent."""
    from believable.recalibrate import GroupedRecalibrator

    if fit.y.min() == fit.y.max():
        return common_map(fit, new)
    recalibrator = GroupedRecalibrator(method=method).fit(
        fit.p, fit.y, by={name: fit.columns[name] for name in columns}
    )
    return recalibrator.transform(new.p, by={name: new.columns[name] for name in columns})


def count(p: Array, y: Array, columns: dict[str, Array]) -> int:
    """Return the number of entries after counting all rows at once."""
    from believable import Predictions
    from believable.stats import SegmentStats

    return len(SegmentStats.of(Predictions(p, y), columns).n)


# --- Platt maps by scikit-learn, and MCGrad ---------------------------------------------------------------------------

Map = Callable[[Array], Array]


def platt(p: Array, y: Array) -> Map:
    """Return a logistic regression on the logit, without penalty; the rate for everybody if only one class occurs."""
    from sklearn.linear_model import LogisticRegression

    if y.min() == y.max():
        rate = (y.sum() + 0.5) / (len(y) + 1)
        return lambda new: np.full(len(new), rate)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes that a score separates have no best map
        model = LogisticRegression(C=np.inf, max_iter=1000).fit(finite_logit(p)[:, None], y)
    return lambda new: model.predict_proba(finite_logit(new)[:, None])[:, 1]


def common_map(fit: Truth | Scored, new: Truth | Scored) -> Array:
    """Return the new rows' probabilities by one Platt map."""
    return platt(fit.p, fit.y)(new.p)


def separate_maps(fit: Truth, new: Truth, column: str) -> Array:
    """Return the new rows' probabilities by a Platt map for each level; the common one where only one class occurs."""
    found = common_map(fit, new)
    for level in np.unique(new.columns[column]):
        mine, theirs = fit.columns[column] == level, new.columns[column] == level
        if 0 < fit.y[mine].sum() < mine.sum():
            found[theirs] = platt(fit.p[mine], fit.y[mine])(new.p[theirs])
    return found


def finite_logit(p: Array) -> Array:
    return logit(np.clip(p, 1e-12, 1 - 1e-12))


def has_mcgrad() -> bool:
    """Return whether MCGrad is installed; say so if it is not."""
    try:
        import mcgrad.methods  # noqa: F401
    except ImportError:
        print("MCGrad is not installed: its rows and multicalibration errors are left out\n")
        return False
    return True


def frame_of(rows: Truth | Scored, p: Array | None = None) -> tuple[Any, dict[str, list[str]]]:
    """Return a data frame, and the names of its categorical and of its numeric columns.

    Numbers with at most 12 distinct values are categories, as they are levels for believable.
    """
    import pandas as pd

    numeric = [c for c, x in rows.columns.items() if x.dtype.kind in "iuf" and len(np.unique(x)) > 12]
    kinds = {"categorical": [c for c in rows.columns if c not in numeric], "numerical": numeric}
    frame = pd.DataFrame(rows.columns)
    for column in kinds["categorical"]:
        frame[column] = frame[column].astype(str)
    return frame.assign(_p=rows.p if p is None else p, _y=rows.y), kinds


def mcgrad(fit: Truth | Scored, new: Truth | Scored) -> Array:
    """Return the new rows' probabilities by MCGrad with its defaults."""
    from mcgrad.methods import MCGrad

    logging.getLogger("mcgrad").setLevel(logging.ERROR)
    frame, kinds = frame_of(fit)
    names = {f"{kind}_feature_column_names": columns for kind, columns in kinds.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MCGrad().fit(frame, "_p", "_y", **names)
        return model.predict(frame_of(new)[0], "_p", **names)


def multicalibration(rows: Truth | Scored, p: Array) -> tuple[float, float]:
    """Return MCGrad's multicalibration error of probabilities, and its multiple of the standard deviation."""
    from mcgrad.metrics import MulticalibrationError

    frame, kinds = frame_of(rows, p)
    columns = {f"{kind}_segment_columns": names or None for kind, names in kinds.items()}
    error = MulticalibrationError(frame, "_y", "_p", precision_dtype="float64", **columns)
    return float(error.mce), float(error.mce_sigma)


# --- what is true -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Population:
    """Many rows of a simulation, with the true rate of all rows that have the same score."""

    rows: Truth
    rate: Array

    @classmethod
    def of(cls, rows: Truth) -> Population:
        """Average the difference between truth and score in narrow bins of the score, and interpolate it."""
        edges = np.quantile(rows.p, np.linspace(0, 1, CURVE_BINS + 1)[1:-1])
        place = np.searchsorted(edges, rows.p)
        n = np.maximum(np.bincount(place, minlength=CURVE_BINS), 1)
        p = np.bincount(place, rows.p, CURVE_BINS) / n
        off = np.bincount(place, rows.prob - rows.p, CURVE_BINS) / n
        return cls(rows, np.clip(rows.p + np.interp(rows.p, p, off), 1e-9, 1 - 1e-9))

    def differs(self, inside: Array) -> bool:
        """Return whether the truth of a segment differs from the rates of all rows, in level or in slope."""
        rate, prob = self.rate[inside], self.rows.prob[inside]
        gap = (prob - rate).mean() / (rate * (1 - rate)).mean()
        return bool(abs(gap) >= SAME_LEVEL or abs(true_slope(logit(rate), prob) - 1) >= SAME_SLOPE)


def true_slope(z: Array, prob: Array) -> float:
    """Return the slope of the logistic regression of true probabilities on a logit; 1 if that is constant."""
    if np.ptp(z) < 1e-9:
        return 1.0
    design, b = np.column_stack([np.ones(len(z)), z]), np.array([0.0, 1.0])
    for _ in range(25):
        q = sigmoid(design @ b)
        step = np.linalg.solve((design * (q * (1 - q))[:, None]).T @ design, design.T @ (prob - q))
        b = b + step
        if np.abs(step).max() < 1e-9:
            break
    return float(b[1])


def n_candidates(codes: dict[str, Array]) -> int:
    """Return how many combinations of levels have enough rows: what an exhaustive search tests."""
    found = 0
    for depth in range(1, DEPTH + 1):
        for columns in itertools.combinations(codes.values(), depth):
            key = np.ravel_multi_index(columns, tuple(int(c.max()) + 1 for c in columns))
            found += int((np.unique(key, return_counts=True)[1] >= FEWEST).sum())
    return found


def oracle_detects(rows: Truth, rate: Array, where: Where, level: float) -> bool:
    """Return whether the most powerful test for small departures rejects the rates of all rows in a segment.

    It weighs each row's y - rate by how far the logit of the truth is from that of the rate.
    """
    from scipy.special import ndtr

    inside = rows_of(rows.columns, where)
    y, prob, rate = rows.y[inside], rows.prob[inside], rate[inside]
    weight = logit(prob) - logit(rate)
    deviation = np.sqrt((weight**2 * rate * (1 - rate)).sum())
    return bool(deviation > 0 and ndtr(-(weight @ (y - rate)) / deviation) <= level)


# --- find -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Findings:
    """What one draw showed: numbers of findings, of false ones, of planted segments, and how many were detected."""

    found: int
    false: int
    planted: int
    detected: int
    by_oracle: int
    seconds: float


def findings(name: str, n: int, draw: int) -> Findings:
    """Search one draw of a simulation."""
    every = truth(name, n + POPULATION, np.random.default_rng([crc32(name.encode()), n, draw]))
    rows, _ = every.split(n)
    population = Population.of(every)
    start = perf_counter()
    found = find(rows)
    seconds = perf_counter() - start
    codes = {column: (rule.names, rule.codes(every.columns[column])) for column, rule in level_rules(rows).items()}

    def inside(where: Where) -> Array:
        """Return the rows of a finding, among all rows."""
        parts = [codes[column][1] == codes[column][0].index(level) for column, level in where.items()]
        return np.logical_and.reduce(parts)

    masks = [inside(where) for where in found]
    planted = [rows_of(every.columns, where) for where in every.segments]
    detected = sum(any((a & b).sum() >= OVERLAP * (a | b).sum() for b in masks) for a in planted)
    level = LEVEL / max(1, n_candidates({column: code[:n] for column, (_, code) in codes.items()}))
    oracle = sum(oracle_detects(rows, population.rate[:n], where, level) for where in every.segments)
    false = sum(not population.differs(mask) for mask in masks)
    return Findings(len(found), false, len(planted), detected, oracle, seconds)


def find_tables(effort: Effort, names: Sequence[str]) -> Iterator[Table]:
    """Yield a table for each simulation, a row for each size."""
    head = ("rows", "found", "false", "any false %", "false share %", "detected %", "by the oracle %", "seconds")
    with side_by_side() as pool:
        for name in names:
            tasks = [(name, n, draw) for n in effort.find_sizes for draw in range(n_draws(n, effort))]
            done = list(pool.map(_findings, tasks))
            rows = []
            for n in effort.find_sizes:
                mine = [one for one, task in zip(done, tasks, strict=True) if task[1] == n]
                shares = [one.false / max(1, one.found) for one in mine]
                planted = sum(one.planted for one in mine)
                power = [f"{100 * sum(d) / planted:.0f}" if planted else "" for d in _detected(mine)]
                averages = [f"{np.mean([getattr(one, what) for one in mine]):.2f}" for what in ("found", "false")]
                any_false = f"{100 * np.mean([one.false > 0 for one in mine]):.0f}"
                seconds = f"{np.median([one.seconds for one in mine]):.3f}"
                rows.append((f"{n:,}", *averages, any_false, _with_error(shares, 100, 1), *power, seconds))
            notes = [f"{n_draws(effort.find_sizes[0], effort)} to {n_draws(effort.find_sizes[-1], effort)} draws"]
            yield Table(f"find: {name} ({TRUTHS[name].title})", head, rows, notes)


def _findings(task: tuple[str, int, int]) -> Findings:
    return findings(*task)


def _detected(draws: Iterable[Findings]) -> tuple[list[int], list[int]]:
    return [one.detected for one in draws], [one.by_oracle for one in draws]


def n_draws(n: int, effort: Effort) -> int:
    return effort.draws if n <= MANY else effort.draws_of_many


# --- pool -------------------------------------------------------------------------------------------------------------

POOLED = ("raw", "common", "separate", "pooled")
AGE_CUTS = np.array([35.0, 50.0, 65.0])  # separate maps need levels, so age is cut for all of them


def log_losses(name: str, n: int, draw: int, new_rows: int) -> dict[str, float]:
    """Return the expected log loss on new rows beyond that of the truth, for each way of recalibrating."""
    rng = np.random.default_rng([crc32(name.encode()), n, draw, 1])
    fit, new = truth(name, n + new_rows, rng).split(n)
    column = TRUTHS[name].column
    for rows in (fit, new):
        if rows.columns[column].dtype.kind == "f":
            rows.columns[column] = np.searchsorted(AGE_CUTS, rows.columns[column]).astype(str)
    by = {
        "raw": new.p,
        "common": common_map(fit, new),
        "separate": separate_maps(fit, new, column),
        "pooled": grouped("pooled", fit, new, [column]),
    }
    return {method: excess_loss(new.prob, q) for method, q in by.items()}


def excess_loss(prob: Array, q: Array) -> float:
    """Return the mean Kullback-Leibler divergence of probabilities from the truth."""
    q = np.clip(q, 1e-15, 1 - 1e-15)
    return float((prob * np.log(prob / q) + (1 - prob) * np.log((1 - prob) / (1 - q))).mean())


def pool_tables(effort: Effort, names: Sequence[str]) -> Iterator[Table]:
    """Yield a table for each simulation, a row for each size."""
    head = ("rows", *POOLED, "pooled less the better")
    with side_by_side() as pool:
        for name in names:
            tasks = [
                (name, n, draw, effort.new_rows) for n in effort.pool_sizes for draw in range(effort.draws_of_many)
            ]
            done = list(pool.map(_log_losses, tasks))
            rows = []
            for n in effort.pool_sizes:
                mine = [losses for losses, task in zip(done, tasks, strict=True) if task[1] == n]
                means = {method: np.mean([losses[method] for losses in mine]) for method in POOLED}
                better = min(("common", "separate"), key=lambda method: means[method])
                excess = _with_error([losses["pooled"] - losses[better] for losses in mine], 1e4, 1)
                rows.append((f"{n:,}", *(f"{1e4 * means[method]:.1f}" for method in POOLED), excess))
            notes = [
                f"expected log loss on {effort.new_rows:,} new rows, beyond that of the truth, in 1e-4 nats; "
                f"{effort.draws_of_many} draws",
                f"levels of {TRUTHS[name].column}; the better of common and separate at that size, on average",
            ]
            yield Table(f"pool: {name} ({TRUTHS[name].title})", head, rows, notes)


def _log_losses(task: tuple[str, int, int, int]) -> dict[str, float]:
    return log_losses(*task)


# --- boost ------------------------------------------------------------------------------------------------------------

BOOSTED: dict[str, Callable[[Any, Any], Array]] = {
    "raw": lambda fit, new: new.p,
    "common": common_map,
    "pooled": lambda fit, new: grouped("pooled", fit, new, list(fit.columns)),
    "boosted": lambda fit, new: grouped("boosted", fit, new, list(fit.columns)),
    "MCGrad": mcgrad,
}
MOST_NEW = 20_000  # rows on which MCGrad's error is computed: it holds a mask of all rows for every segment


def boost_tables(effort: Effort, names: Sequence[str]) -> Iterator[Table]:
    """Yield a table for each simulation and size, and for each public table; times are those of one process."""
    judge = has_mcgrad()
    new_rows = min(effort.new_rows, MOST_NEW)
    for name in names:
        for n in effort.boost_sizes:
            seeds = ([crc32(name.encode()), n, draw, 2] for draw in range(effort.boost_draws))
            draws = [truth(name, n + new_rows, np.random.default_rng(seed)).split(n) for seed in seeds]
            notes = [f"{len(draws)} draws, {new_rows:,} new rows; log loss beyond that of the truth"]
            yield boost_table(f"boost: {name}, {n:,} rows", draws, notes, judge)
    for scored in itertools.islice(real(), effort.boost_tables):
        fit, new = scored.halves()
        yield boost_table(
            f"boost: {scored.name}", [(fit, new)], [f"{len(fit.y):,} rows, evaluated on the others"], judge
        )


def boost_table(title: str, draws: Sequence[tuple[Any, Any]], notes: list[str], judge: bool) -> Table:
    """Recalibrate every draw in every way, and evaluate on its new rows."""
    head = ("", "error (1e-4)", "sigma", "log loss (1e-4)", "seconds", "ratio to boosted")
    measured: dict[str, tuple[list[tuple[float, float]], list[float], float]] = {}
    for method, recalibrate in BOOSTED.items():
        if method == "MCGrad" and not judge:
            continue
        errors, losses, seconds = [], [], []
        for fit, new in draws:
            start = perf_counter()
            q = recalibrate(fit, new)
            seconds.append(perf_counter() - start)
            errors.append(multicalibration(new, q) if judge else (np.nan, np.nan))
            losses.append(excess_loss(new.prob, q) if isinstance(new, Truth) else log_loss(new.y, q))
        measured[method] = errors, losses, float(np.median(seconds))
    ours = measured["boosted"][2]
    rows = [
        (
            method,
            _with_error([error for error, _ in errors], 1e4, 1),
            _with_error([sigma for _, sigma in errors], 1, 2),
            _with_error(losses, 1e4, 1),
            f"{seconds:.3f}",
            f"{seconds / ours:.2f}",
        )
        for method, (errors, losses, seconds) in measured.items()
    ]
    return Table(title, head, rows, [*notes, "fitting and applying are timed together, in one process"])


def log_loss(y: Array, q: Array) -> float:
    q = np.clip(q, 1e-15, 1 - 1e-15)
    return float(-np.where(y == 1, np.log(q), np.log1p(-q)).mean())


# --- scale ------------------------------------------------------------------------------------------------------------

SCALE_COLUMNS, SCALE_LEVELS = 5, 10
PIECE = 1_000_000  # rows of a file that are made at once


def scale_tables(effort: Effort, names: Sequence[str]) -> Iterator[Table]:
    """Yield a table for arrays in memory and one for a Parquet file, which polars and duckdb read as they count."""
    n = effort.scale_rows
    wanted = {f"levels as {kind}": (measure_arrays, kind, n) for kind in ("integers", "text")}
    title = f"scale: {n:,} rows in arrays, {SCALE_COLUMNS} columns of {SCALE_LEVELS} levels"
    yield scale_table(title, wanted)
    with TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        write_scale(path, n)
        wanted = {engine: (measure_file, engine, path, n) for engine in ("polars", "duckdb")}
        yield scale_table(f"scale: {n:,} rows in a Parquet file, {', '.join(FILE_COLUMNS)}", wanted)


def scale_table(title: str, wanted: dict[str, tuple[Any, ...]]) -> Table:
    """Return seconds, and the rise of memory beyond what was held before, in a process of its own for each."""
    rows = []
    for name, (measured, *given, n) in wanted.items():
        with ProcessPoolExecutor(1, get_context("spawn")) as alone:
            seconds, before, most, entries = alone.submit(measured, *given, n).result()
        memory = [f"{size / MB:,.0f}" for size in (before, most - before)]
        rows.append((name, f"{seconds:.2f}", f"{1e9 * seconds / n:.0f}", *memory, f"{entries:,}"))
    return Table(title, ("", "seconds", "ns per row", "MB before", "MB more at the peak", "entries"), rows)


def measure_arrays(kind: str, n: int) -> tuple[float, int, int, int]:
    """Return seconds, resident bytes before and at the peak, and entries, for counting all rows in this process."""
    p, y, columns = scale_rows(kind, n)
    count(p[:1000], y[:1000], {name: x[:1000] for name, x in columns.items()})  # loads what is loaded lazily
    before = start_peak()
    start = perf_counter()
    entries = count(p, y, columns)
    return perf_counter() - start, before, peak(), entries


def measure_file(engine: str, path: Path, n: int) -> tuple[float, int, int, int]:
    """Return the same for counting the rows of a file on an engine."""
    from believable.engines import segment_stats

    if engine == "polars":
        import polars

        frame = polars.scan_parquet(path)
    else:
        import duckdb

        frame = duckdb.connect().read_parquet(str(path))
    segment_stats(frame.head(1000) if engine == "polars" else frame.limit(1000), by=list(FILE_COLUMNS))
    before = start_peak()
    start = perf_counter()
    counted = segment_stats(frame, by=list(FILE_COLUMNS))
    assert counted.rows == n
    return perf_counter() - start, before, peak(), len(counted.n)


FILE_COLUMNS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "ward": lambda rng, n: np.array([f"ward {i}" for i in range(SCALE_LEVELS)])[rng.integers(SCALE_LEVELS, size=n)],
    "sex": lambda rng, n: rng.choice(["f", "m"], n),
    "age": lambda rng, n: rng.integers(18, 95, n, dtype=np.int16),
    "bmi": lambda rng, n: np.where(rng.random(n) < 0.1, np.nan, rng.normal(25, 4, n)),
    "insured": lambda rng, n: rng.random(n) < 0.9,
}


def write_scale(path: Path, n: int) -> None:
    """Write scores, outcomes and columns of several types, piece by piece."""
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    rng, writer = np.random.default_rng(0), None
    for start in range(0, n, PIECE):
        m = min(PIECE, n - start)
        p = rng.beta(1, 3, m).astype(np.float32)
        rows = {"p": p, "y": (rng.random(m) < p).astype(np.int8)}
        piece = pyarrow.table(rows | {name: make(rng, m) for name, make in FILE_COLUMNS.items()})
        writer = ParquetWriter(path, piece.schema) if writer is None else writer
        writer.write_table(piece)
    if writer is not None:
        writer.close()


def scale_rows(kind: str, n: int) -> tuple[Array, Array, dict[str, Array]]:
    """Return scores in float32, outcomes in int8, and columns of small integers or of short texts."""
    rng = np.random.default_rng(0)
    p = rng.beta(1, 3, n).astype(np.float32)
    y = (rng.random(n) < p).astype(np.int8)
    names = np.array([f"level {i}" for i in range(SCALE_LEVELS)])
    columns = {}
    for i in range(SCALE_COLUMNS):
        codes = rng.integers(SCALE_LEVELS, size=n, dtype=np.int8)
        columns[f"column {i}"] = names[codes] if kind == "text" else codes
    return p, y, columns


# --- printing ---------------------------------------------------------------------------------------------------------


def side_by_side() -> ProcessPoolExecutor:
    """Return as many processes as there are cores."""
    return ProcessPoolExecutor(os.cpu_count(), get_context("spawn"))


def _with_error(values: Sequence[float], times: float, digits: int) -> str:
    """Write a mean and, of several values, its Monte Carlo error; nothing if it is unknown."""
    if np.isnan(values).any():
        return ""
    mean = f"{times * np.mean(values):.{digits}f}"
    if len(values) == 1:
        return mean
    return f"{mean} ± {times * np.std(values, ddof=1) / np.sqrt(len(values)):.{digits}f}"


WHAT: dict[str, Callable[[Effort, Sequence[str]], Iterator[Table]]] = {
    "find": find_tables,
    "pool": pool_tables,
    "boost": boost_tables,
    "scale": scale_tables,
}


def main() -> None:
    """Print the tables of one part, or of all."""
    parser = argparse.ArgumentParser("python -m benchmarks.segments", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("what", choices=[*WHAT, "all"])
    parser.add_argument("--quick", action="store_true", help="few rows and two draws: does everything run?")
    parser.add_argument("--truth", action="append", choices=list(TRUTHS), help="one simulation; may be repeated")
    parser.add_argument("--markdown", action="store_true", help="print markdown")
    asked = parser.parse_args()
    began = perf_counter()
    for what in WHAT if asked.what == "all" else [asked.what]:
        for table in WHAT[what](QUICK if asked.quick else EFFORT, asked.truth or list(TRUTHS)):
            print(table.markdown() if asked.markdown else table.plain(), end="\n\n", flush=True)
    print(f"{perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
