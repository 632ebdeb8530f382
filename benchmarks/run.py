"""Measure one operation: every size, every call whose package is installed, in turns, and what each is worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf, log
from typing import Any

import numpy as np

from benchmarks.busy import Others
from benchmarks.calls import Call, Operation, read
from benchmarks.elsewhere import Process
from benchmarks.kernel_time import KernelTime, any_kernels
from benchmarks.literal import off
from benchmarks.timing import ENOUGH, REPEATS, Candidate, in_turns

IN_NUMPY = "believable, kernels in NumPy"
READS = {"one read, 2 threads": 2, "one read, 1 thread": 1}
ROUGH = 10  # times what is right: stopped early, say, or summed in single precision
FAR = 1e9  # stands for infinitely far off, which JSON does not know
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard to look: repeats, seconds after which a candidate is not repeated, and the longest single call.

    A call that is expected to take longer than `longest`, from the sizes before, is not made.
    """

    repeats: int = REPEATS
    enough: float = ENOUGH
    longest: float = 12.0


def measure(
    operation: Operation,
    place: int,
    sizes: tuple[int, ...],
    effort: Effort,
    process: Process | None = None,
    tell: Callable[[str], None] = lambda line: None,
    wanted: Callable[[Call], bool] = lambda call: call.installed,
) -> Record:
    """The record of an operation. `process` runs our first call with kernels in NumPy; None leaves that row out."""
    rows: dict[str, Record] = {call.name: _row(call, wanted(call)) for call in operation.calls}
    compiled = any_kernels()
    if process is not None:
        rows[IN_NUMPY] = {**_row(operation.calls[0], True), "call": IN_NUMPY}
    if operation.limit:
        rows |= {name: {"call": name, "kind": "limit", "at": {}} for name in READS}
    busy = 0.0
    for n in sizes:
        arrays = operation.make(n)
        truth = operation.reference(*arrays)
        ready = _prepare(operation, n, arrays, rows, effort)
        if process is not None and _affordable(rows[IN_NUMPY], n, effort) and _small_enough(arrays):
            _try(rows[IN_NUMPY], ready, partial(process.open, place, arrays, truth))
        inside = KernelTime(ready[operation.calls[0].name]) if compiled and operation.calls[0].name in ready else None
        others = Others(*(process.pids if process else ()))
        timed = in_turns([*ready.values(), *([inside] if inside else [])], effort.repeats, effort.enough, n == sizes[0])
        busy = max(busy, others.share or 0.0)
        for name, found in zip(ready, timed, strict=False):
            row = rows[name]
            if found.failure:
                row["failure"] = found.failure
                continue
            at: Record = {"seconds": found.seconds, "samples": found.samples}
            if name == IN_NUMPY:
                at["off"] = found.result
            elif row["kind"] != "limit":
                call = next(call for call in operation.calls if call.name == name)
                at["off"] = min(off(call.value(found.result, arrays), truth), FAR)
            row["at"][str(n)] = at
            found.result = None
        if inside and inside.used and str(n) in rows[operation.calls[0].name]["at"]:
            first = rows[operation.calls[0].name]
            first["at"][str(n)]["kernel"] = timed[-1].seconds
            first["kernels"] = sorted(inside.used)
        ours = rows[operation.calls[0].name]["at"].get(str(n), {}).get("seconds", inf)
        tell(f"  n = {n:,}: {ours * 1e3:,.3f} ms, {len(ready)} rows")
        del arrays, ready, timed, inside
    for row in rows.values():
        row["exponent"] = exponent({int(n): at["seconds"] for n, at in row["at"].items()})
        row["mark"] = _mark(row, operation)
    return {
        "name": operation.name,
        "title": operation.title,
        "short": operation.short or operation.title.partition(",")[0],
        "note": operation.note,
        "sizes": list(sizes),
        "target": operation.target,
        "right": operation.right,
        "busy": busy,
        "rows": list(rows.values()),
    }


def _row(call: Call, wanted: bool) -> Record:
    kind = "ours" if call.package == "believable" else "by hand" if call.package is None else "peer"
    row: Record = {"call": call.name, "kind": kind, "package": call.package, "other": call.other, "note": call.note}
    return {**row, "at": {}, **({} if wanted else {"absent": not call.installed})}


def _prepare(operation: Operation, n: int, arrays: Any, rows: dict[str, Record], effort: Effort) -> dict[str, Any]:
    """The calls that are made at this size."""
    ready: dict[str, Candidate] = {}
    for call in operation.calls:
        row = rows[call.name]
        if "absent" in row or "failure" in row or n > (call.most or inf) or not _affordable(row, n, effort):
            continue
        _try(row, ready, partial(call.prepare, *arrays))
    if operation.limit:
        ready |= {name: read(threads)(*arrays) for name, threads in READS.items()}
    return ready


def _try(row: Record, ready: dict[str, Candidate], prepare: Callable[[], Candidate]) -> None:
    """Prepare a call, or write down why not."""
    try:
        ready[row["call"]] = prepare()
    except Exception as error:  # installed but broken, or another package of that name
        row["failure"] = f"{type(error).__name__}: {error}".splitlines()[0]


def _affordable(row: Record, n: int, effort: Effort) -> bool:
    """Whether the call would be over in time: by its exponent so far, and at least in proportion to the rows.

    Ours are always made: the others are set beside them.
    """
    if not row["at"] or (row["kind"] == "ours" and row["call"] != IN_NUMPY):
        return True
    known = {int(size): at["seconds"] for size, at in row["at"].items()}
    last = max(known)
    two = {size: known[size] for size in sorted(known)[-2:]}
    power = max(1.0, exponent(two, 2) or 1.0)
    return bool(known[last] * (n / last) ** power <= effort.longest)


def _small_enough(arrays: Any) -> bool:
    return sum(getattr(part, "nbytes", 0) for part in arrays) < 1 << 30  # the other process has a copy


def exponent(seconds: dict[int, float], fewest: int = 3) -> float | None:
    """The slope of log seconds on log n, by least squares; None where fewer sizes were measured."""
    if len(seconds) < fewest:
        return None
    x, y = np.array([(log(n), log(max(time, 1e-9))) for n, time in seconds.items()]).T
    return float(((x - x.mean()) @ (y - y.mean())) / ((x - x.mean()) @ (x - x.mean())))


def _mark(row: Record, operation: Operation) -> str:
    """What the row is worth: right, rough, wrong, another number, or why there is none."""
    if row["kind"] == "limit":
        return ""
    if "failure" in row:
        return "failed"
    if "absent" in row:
        return "not installed" if row["absent"] else "left out"
    if not row["at"]:
        return "not run"
    if row["other"]:
        return "other number"
    worst = max(at["off"] for at in row["at"].values())
    return "right" if worst <= operation.right else "rough" if worst <= ROUGH * operation.right else "wrong"
