"""Run the benchmarks: `python -m benchmarks [--quick | --smoke] [--write] [NAME ...]`."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks import charts, imports, machine, memory, page
from benchmarks.calls import Call, Operation
from benchmarks.elsewhere import Process
from benchmarks.kernel_time import any_kernels
from benchmarks.operations import operations
from benchmarks.run import Effort, Record, measure

DOCS = Path(__file__).resolve().parent.parent / "docs"
EFFORTS = {"full": Effort(), "quick": Effort(3, 0.3, 2.0), "smoke": Effort(0, 0.0, 30.0)}
HURRY, LATE = EFFORTS["quick"], 600.0  # after so many seconds
MOST_ROWS = 10**7  # at which memory is measured
ROOMY = 16 * 2**30  # bytes: below, peers would not have the room for more rows


def main() -> int:
    """Read the arguments, run what they name, print as it comes, write what was asked for."""
    asked = _arguments()
    kept = DOCS / "benchmarks.json"
    if asked.redraw:
        _write(json.loads(kept.read_text()))
        return 0
    results = run(asked.mode, asked.names)
    if asked.mode == "smoke":
        return _verdict(results)
    if asked.names and kept.exists():  # some were measured again: the others stay as they were
        results = _renewed(json.loads(kept.read_text()), results)
    if asked.write:
        results = json.loads(json.dumps(results), parse_float=lambda digits: float(f"{float(digits):.4g}"))
        kept.write_text(_lines(results))
        _write(results)
    return 0


def sizes_of(operation: Operation, mode: str) -> tuple[int, ...]:
    """All rows, a tenth of them, or hardly any."""
    if mode == "smoke":
        return (min(operation.tiny, operation.sizes[-1]),)
    if mode == "quick" and len(operation.sizes) > 1:
        return tuple(n // 10 for n in operation.sizes)
    roomy = (machine.memory() or 0) >= ROOMY
    return tuple(n for n in operation.sizes if roomy or n <= MOST_ROWS)


def run(mode: str, names: list[str], say: Any = None) -> Record:
    """Everything, or the operations named."""
    say = say or (lambda line: print(line, flush=True))
    began = perf_counter()
    effort, listed = EFFORTS[mode], operations()
    process = Process() if any_kernels() else None
    done = []
    try:
        for place, operation in enumerate(listed):
            if names and operation.name not in names:
                continue
            say(f"[{perf_counter() - began:4.0f} s] {operation.title}")
            late = perf_counter() - began > LATE
            record = measure(operation, place, sizes_of(operation, mode), HURRY if late else effort, process, say)
            if mode == "full" and operation.peak and not late:
                _add_peaks(place, operation, record)
            done.append(record)
            say(page.operation(record).plain() + "\n")
    finally:
        if process is not None:
            process.close()
    spent = imports.seconds() if mode == "full" and not names else {}
    say(f"[{perf_counter() - began:4.0f} s] done")
    return {
        "mode": mode,
        "longest": effort.longest,
        "machine": machine.facts(),
        "imports": spent,
        "operations": done,
        "seconds": round(perf_counter() - began),
    }


def _add_peaks(place: int, operation: Operation, record: Record) -> None:
    calls = {call.name: call for call in operation.calls}
    wanted: list[tuple[Record, Call, int]] = []
    for row in record["rows"]:
        ran = [int(n) for n in row["at"] if int(n) <= MOST_ROWS]
        if row["call"] in calls and ran:
            wanted.append((row, calls[row["call"]], max(ran)))
    found = memory.peaks([(place, operation, call, n) for _, call, n in wanted])
    for (row, _, n), peak in zip(wanted, found, strict=True):
        row["peak"], row["peak_n"] = peak, n


def _renewed(before: Record, after: Record) -> Record:
    new = {record["title"]: record for record in after["operations"]}
    return {**before, "operations": [new.get(record["title"], record) for record in before["operations"]]}


def _lines(results: Record) -> str:
    """JSON with a line for each row of a table, so that changes can be read."""
    outer = {key: value for key, value in results.items() if key != "operations"}
    done = []
    for record in results["operations"]:
        rows = ",\n".join(json.dumps(row) for row in record["rows"])
        rest = json.dumps({key: value for key, value in record.items() if key != "rows"})
        done.append(f'{rest[:-1]}, "rows": [\n{rows}]}}')
    return f'{json.dumps(outer)[:-1]},\n"operations": [\n' + ",\n".join(done) + "\n]}\n"


def _write(results: Record) -> None:
    (DOCS / "benchmarks.md").write_text(page.page(results))
    for path in charts.draw(results, DOCS / "images"):
        print(path)


def _verdict(results: Record) -> int:
    """Everything ran, and our numbers are right: nothing is said of time."""
    bad = [
        f"{record['title']}: {row['call']} {row['mark']} {row.get('failure', '')}"
        for record in results["operations"]
        for row in record["rows"]
        if row["mark"] == "failed" or (row["mark"] in ("rough", "wrong") and row["kind"] != "peer")
    ]
    rows = sum(bool(row["at"]) for record in results["operations"] for row in record["rows"])
    print(*bad, f"{len(results['operations'])} operations, {rows} rows, {len(bad)} of them failed or wrong", sep="\n")
    return 1 if bad else 0


def _arguments() -> Namespace:
    names = list(dict.fromkeys(operation.name for operation in operations()))
    parser = ArgumentParser("python -m benchmarks", description="Speed and memory, side by side with the peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which to run: {', '.join(names)}; all if left out")
    modes = parser.add_mutually_exclusive_group()
    for mode, what in (("quick", "a tenth of the rows"), ("smoke", "hardly any rows: does everything run and agree?")):
        modes.add_argument(f"--{mode}", dest="mode", action="store_const", const=mode, default="full", help=what)
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.json, the page and its pictures")
    parser.add_argument("--redraw", action="store_true", help="make the page and its pictures from the results kept")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in names:
            parser.error(f"no benchmark is called {name!r}; choose from {', '.join(names)}")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
