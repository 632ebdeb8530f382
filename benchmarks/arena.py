"""Which calibrator helps everyday models? `python -m benchmarks.arena [--sets kept] [--write] [--hdf5 FILE]`.

Every competitor (`arena_methods.py`) is fitted on the calibration rows of every experiment (`arena_sets.py`), and
evaluated on other rows by log loss and Brier score, with probabilities clipped at 1e-6 for all alike. `--write` keeps
experiments and leaderboards (`arena_board.py`) in docs/arena.json, which docs/arena.md reads, and runs that page.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.arena_board import COLUMNS, Record, leaderboard, slices
from benchmarks.arena_methods import Competitor, absent, competitors, recalibrate
from benchmarks.arena_sets import SETS, Array, Experiment, FileError, load, predict, read_hdf5
from benchmarks.calls import installed
from benchmarks.table import Table

ROOT = Path(__file__).resolve().parent.parent
KEPT, PAGE = ROOT / "docs" / "arena.json", ROOT / "docs" / "arena.md"
CLIP = 1e-6  # isotonic maps say 0, which has an infinite log loss when it is wrong
FIGURES = ("log_loss", "brier", "seconds")  # of a competitor in an experiment
MAX_ROWS = 1500  # to fit on
FEWEST = 2  # calibration rows of a class, so that there is something to fit


def losses(p: Array, labels: Array) -> tuple[float, float]:
    """Return log loss and Brier score (the sum over classes) of clipped and renormalised probabilities."""
    p = np.maximum(p, CLIP)
    p = p / p.sum(axis=1, keepdims=True)
    log_loss = -np.log(p[np.arange(len(labels)), labels]).mean()
    return float(log_loss), float(((p - np.eye(p.shape[1])[labels]) ** 2).sum(axis=1).mean())


def judge(experiment: Experiment, entries: Iterable[Competitor]) -> Record:
    """Return what every competitor makes of an experiment: a list of its `FIGURES` by name."""
    counts = np.bincount(experiment.fit_labels, minlength=experiment.n_classes)
    results: dict[str, list[float | None]] = {}
    failed: dict[str, str] = {}
    for entry in entries:
        if not entry.takes(experiment):
            continue
        began = perf_counter()
        try:
            p = recalibrate(entry, experiment)
        except Exception as error:  # whatever a peer raises is its result
            failed[entry.name] = f"{type(error).__name__}: {error}".split("\n")[0][:160]
            results[entry.name] = [None, None, None]
            continue
        seconds = perf_counter() - began
        results[entry.name] = [*(round(loss, 6) for loss in losses(p, experiment.test_labels)), float(f"{seconds:.2g}")]
    return {
        "table": experiment.table,
        "model": experiment.model,
        "part": experiment.part,
        "rows": len(experiment.fit_labels),
        "test rows": len(experiment.test_labels),
        "classes": experiment.n_classes,
        "rarest": int(counts.min()),
        "results": results,
        "failed": failed,
    }


def sized(experiment: Experiment, sizes: list[int], most: int) -> Iterator[Experiment]:
    """Yield an experiment with at most `most` calibration rows, or once for each size that it has enough rows for."""
    n = len(experiment.fit_labels)
    for size in [size for size in sizes if size <= n] if sizes else [min(n, most)]:
        made = experiment.of_rows(size)
        if np.bincount(made.fit_labels, minlength=made.n_classes).min() >= FEWEST:
            yield made


def _judged_table(key: tuple[str, int], folder: Path, sizes: list[int], most: int) -> list[Record]:
    """Judge every model of a table; runs in a process of its own, so it takes names, not arrays."""
    part, at = key
    loaded = [load(path, part) for path in predict(SETS[part][at], folder)]
    made = [one for each in loaded if not each.predicts_classes for one in sized(each, sizes, most)]
    return [judge(one, _warm()) for one in made]


@cache
def _warm() -> tuple[Competitor, ...]:
    """Return the competitors that are installed, each run once so that no import or compilation is timed."""
    found = present()
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, 240)
    y = (rng.random(240) < p).astype(int)
    columns = np.column_stack([1 - p, p])
    judge(Experiment("", "", "", columns, y, columns, y), found)
    return tuple(found)


def present() -> list[Competitor]:
    """Return the competitors that are installed."""
    found = competitors()
    missing = absent(found)
    return [entry for entry in found if entry.package not in missing]


def run_tables(parts: list[str], names: list[str], folder: Path, sizes: list[int], most: int) -> list[Record]:
    """Judge everybody on tables, in two processes; losses do not depend on how many."""
    keys = [(part, i) for part in parts for i, one in enumerate(SETS[part]) if not names or one.name in names]
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BELIEVABLE_THREADS"), "1")  # in each
    began, records = perf_counter(), []
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        one = partial(_judged_table, folder=folder, sizes=sizes, most=most)
        for done, ((part, i), found) in enumerate(zip(keys, pool.map(one, keys), strict=True), 1):
            line = f"{done}/{len(keys)} {SETS[part][i].name} ({part}), {len(found)} experiments"
            print(f"[{perf_counter() - began:4.0f} s] {line}", file=sys.stderr, flush=True)
            records += found
    return records


def run_file(path: Path, sizes: list[int], most: int) -> list[Record]:
    """Judge everybody on a file of predictions, one experiment in memory at a time."""
    for _ in read_hdf5(path):
        pass  # so that what is wrong with the last group is said before the first is judged
    loaded = (one for one in read_hdf5(path) if not one.predicts_classes)
    return [judge(one, _warm()) for found in loaded for one in sized(found, sizes, most)]


def summary(records: list[Record]) -> Record:
    """Return what docs/arena.json holds: versions, leaderboards by part and slice, and the experiments."""
    parts = list(dict.fromkeys(one["part"] for one in records))
    boards = {}
    for part in parts:
        chosen = slices([one for one in records if one["part"] == part])
        boards[part] = {title: leaderboard(found) for title, found in chosen.items()}
    methods = list(dict.fromkeys(name for one in records for name in one["results"]))
    experiments = [_packed(one, methods) for one in records]
    whole = {"made": _versions(), "columns": COLUMNS, "leaderboards": boards, "methods": methods}
    return {**whole, "experiments": experiments}


def _packed(record: Record, methods: list[str]) -> Record:
    """Return a record with a list over methods for each figure, null for those that took no part or failed."""
    facts = {key: value for key, value in record.items() if key not in ("results", "failed")}
    none = [None] * len(FIGURES)
    lists = zip(*(record["results"].get(name, none) for name in methods), strict=True)
    return {**facts, **{key: list(one) for key, one in zip(FIGURES, lists, strict=True)}, "failed": record["failed"]}


def unpacked(whole: Record) -> list[Record]:
    """Return the records that `summary` was made of."""
    records = []
    for one in whole["experiments"]:
        facts = {key: value for key, value in one.items() if key not in FIGURES}
        figures = zip(whole["methods"], zip(*(one[key] for key in FIGURES), strict=True), strict=True)
        results = {name: list(found) for name, found in figures if found[0] is not None or name in one["failed"]}
        records.append({**facts, "results": results})
    return records


def _versions() -> Record:
    import believable

    packages = sorted({entry.package for entry in competitors()} - {"believable"})
    found = {name: installed(name) or "not installed" for name in packages}
    return {"believable": believable.__version__, **found}


def lines(whole: Record) -> str:
    """Return JSON with a line for each experiment and each competitor of a leaderboard, so that changes can be read."""
    parts = []
    for part, boards in whole["leaderboards"].items():
        tables = []
        for title, board in boards.items():
            rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(figures)}" for name, figures in board.items())
            tables.append(f"{json.dumps(title)}: {{\n{rows}}}")
        parts.append(f"{json.dumps(part)}: {{\n" + ",\n".join(tables) + "}")
    first = [f'"{key}": {json.dumps(whole[key])}' for key in ("made", "columns", "methods")]
    boards = '"leaderboards": {\n' + ",\n".join(parts) + "}"
    experiments = '"experiments": [\n' + ",\n".join(json.dumps(one) for one in whole["experiments"]) + "\n]"
    return "{" + ",\n".join([*first, boards, experiments]) + "}\n"


def printed(part: str, title: str, board: dict[str, Record]) -> Table:
    """Return a leaderboard as a table of text."""
    rows = [
        (
            name,
            *(str(one[key]) for key in ("n", "failed")),
            *(f"{one[key]:.4f}" for key in ("gain", "median")),
            *(f"{one[key]:.1f}" for key in ("harm", "harm_much")),
            *(f"{one[key]:.4f}" for key in ("worst", "regret", "regret_error")),
            f"{one['win']:.1f}",
            f"{one['brier']:.4f}",
            f"{one['seconds']:.3f}",
        )
        for name, one in board.items()
    ]
    return Table(f"{part}: {title}", ("", *COLUMNS), rows)


def main() -> int:
    """Read the arguments, run, print or keep."""
    parser = ArgumentParser("python -m benchmarks.arena", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="TABLE", help="names of tables; all if left out")
    parser.add_argument("--sets", choices=["tuning", "kept", "all"], default="all", help="which tables (default: all)")
    parser.add_argument("--hdf5", type=Path, metavar="FILE", help="predictions in CalArena's layout, instead of tables")
    parser.add_argument(
        "--data", type=Path, default=ROOT / ".arena", metavar="FOLDER", help="where predictions are kept"
    )
    parser.add_argument(
        "--max-rows", type=int, default=MAX_ROWS, metavar="N", help=f"the most calibration rows ({MAX_ROWS})"
    )
    parser.add_argument(
        "--rows", type=int, nargs="+", default=[], metavar="N", help="draw these numbers of rows instead"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write experiments and leaderboards to a file")
    parser.add_argument("--write", action="store_true", help="write docs/arena.json, and run the page docs/arena.md")
    asked = parser.parse_args()
    parts = ["tuning", "kept"] if asked.sets == "all" else [asked.sets]
    if unknown := set(asked.names) - {one.name for part in parts for one in SETS[part]}:
        parser.error(f"no table is called {', '.join(sorted(unknown))}")
    whole_run = not (asked.hdf5 or asked.names or asked.rows) and asked.sets == "all" and asked.max_rows == MAX_ROWS
    if asked.write and not whole_run:
        parser.error("--write is for all public tables and rows; use --json FILE to keep the results of others")
    for package in absent(competitors()):
        print(f"{package} is not installed: left out", file=sys.stderr)
    try:
        if asked.hdf5:
            records = run_file(asked.hdf5, asked.rows, asked.max_rows)
        else:
            records = run_tables(parts, asked.names, asked.data, asked.rows, asked.max_rows)
    except FileError as error:
        parser.error(str(error))
    if not records:
        parser.error(f"no experiment has {FEWEST} rows of every class among so few calibration rows")
    whole = summary(records)
    for part, boards in whole["leaderboards"].items():
        for title, board in boards.items():
            print(printed(part, title, board).plain(), end="\n\n")
    for (name, reason), times in Counter(item for one in records for item in one["failed"].items()).most_common():
        print(f"{name} failed {times} times: {reason}", file=sys.stderr)
    for path in filter(None, [asked.json, KEPT if asked.write else None]):
        path.write_text(lines(whole))
    if asked.write:
        subprocess.run([sys.executable, ROOT / "scripts" / "pages.py", PAGE], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
