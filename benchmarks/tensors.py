"""Tensors: what a user types, by the wall clock, in turns with the same call of torchmetrics.

    python -m benchmarks.tensors [--device cpu|cuda] [--small] [--only NAME ...] [--json FILE]

Each time is the median of repeated calls, with the device waited for, reading of results included. The two sides
alternate, so that a busy moment hits both; the ratio says how many times as long the other takes. Results that should
agree and do not are noted.
"""

from __future__ import annotations

import gc
import json
import platform
import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.calls import installed
from benchmarks.tensor_cases import CASES, SIZES, Call, Case, Place
from benchmarks.turns import Timed, Wait, in_turns

SMALL = 10  # how many times fewer rows `--small` has
MISSING = "—"

Record = dict[str, Any]
Beside = Mapping[str, Callable[[Call], float]]  # further columns: a heading, and what to measure of a call


def measure(case: Case, place: Place, beside: Beside, show: Callable[[str], Any] = print) -> list[Record]:
    """Measure the calls of a case and print its table, line by line."""
    title = case.title(place.sizes)
    head = ("call", *beside, f"ours, {case.unit}", f"{case.peer}, {case.unit}", "ratio", "note")
    show(f"\n### {title}\n\n{line(head)}\n{line(('---', *('---:' for _ in head[2:]), '---'))}")
    records = []
    for call in calls_that_fit(case, place, show):
        record = {"case": case.name, "of": title, **measured(call, waiting_for(place.device), beside)}
        records.append(record)
        show(line(cells_of(record, case.unit, beside)))
    return records


def calls_that_fit(case: Case, place: Place, show: Callable[[str], Any]) -> Iterable[Call]:
    """Yield the calls of a case; where its tensors do not fit into memory, say so and stop."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torchmetrics warns that it keeps every row
            yield from case.calls(place)
    except (MemoryError, RuntimeError) as error:
        show(f"\nskipped the rest: {one_line(error)}\n")


def measured(call: Call, wait: Wait, beside: Beside) -> Record:
    """Time both sides of a call, and measure what stands beside it."""
    sides = [call.ours] if call.peer is None else [call.ours, call.peer]
    ours, peer = (*in_turns(sides, wait), Timed())[:2]
    record: Record = {
        "call": call.title,
        "ours": ours.seconds,
        "peer": peer.seconds,
        "samples": [len(ours.times), len(peer.times)],
        "note": note_on(call, ours, peer),
    }
    return record | {name: beside_or_none(measure_one, call) for name, measure_one in beside.items()}


def note_on(call: Call, ours: Timed, peer: Timed) -> str:
    """What failed, or what is worth noting about the results."""
    failures = [f"{name}: {row.failure}" for name, row in (("ours", ours), ("theirs", peer)) if row.failure]
    if failures or call.peer is None:
        return "; ".join(failures)
    return call.note(ours.result, peer.result)


def beside_or_none(measure_one: Callable[[Call], float], call: Call) -> float | None:
    """Measure one more thing, unless the call does not say what it reads, or fails."""
    try:
        return measure_one(call) if call.reads else None
    except Exception:  # the note on the call says what failed
        return None


# --- printing ---------------------------------------------------------------------------------------------------------


def cells_of(record: Record, unit: str, beside: Beside) -> tuple[str, ...]:
    """Return the line of a table."""
    per_second = {"ms": 1e3, "µs": 1e6}[unit]
    ours, peer = (None if record[side] is None else record[side] * per_second for side in ("ours", "peer"))
    ratio = MISSING if ours is None or peer is None else f"{digits(peer / ours)}x"
    others = (digits(record[name]) for name in beside)
    return record["call"], *others, digits(ours), digits(peer), ratio, record["note"]


def digits(value: float | None) -> str:
    """Write three digits that matter, and never fewer than there are before the point."""
    if value is None:
        return MISSING
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    return f"{value:,.{max(0, 3 - whole)}f}"


def line(cells: Sequence[str]) -> str:
    """Return a line of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def one_line(error: Exception) -> str:
    """Return the beginning of a message."""
    return f"{type(error).__name__}: {error}".splitlines()[0][:120]


# --- the device, and the whole run ------------------------------------------------------------------------------------


def waiting_for(device: str) -> Wait:
    """Return what waits until the device is done."""
    return torch.cuda.synchronize if device == "cuda" else lambda: None


def facts(device: str) -> dict[str, Any]:
    """Return where this runs, and on which versions."""
    name = torch.cuda.get_device_name() if device == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    versions = {package: installed(package) or "not installed" for package in ("torch", "torchmetrics", "numpy")}
    return {"device": name, "Python": platform.python_version(), **versions}


def run(cases: Iterable[Case], place: Place, beside: Beside, show: Callable[[str], Any] = print) -> Record:
    """Measure cases one after the other, each in the memory that the one before has given back."""
    found = facts(place.device)
    show(", ".join(f"{name} {value}" for name, value in found.items()))
    records: list[Record] = []
    for case in cases:
        records += measure(case, place, beside, show)
        gc.collect()
        if place.device == "cuda":
            torch.cuda.empty_cache()
    return {"facts": found, "rows": records}


def arguments(given: Sequence[str] | None, device: str | None) -> Namespace:
    """Read the command line; the device is asked for only where it is not given."""
    names = [case.name for case in CASES]
    parser = ArgumentParser(description="Calls on tensors, in turns with those of torchmetrics.")
    if device is None:
        parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--small", action="store_true", help=f"a {SMALL}th of the rows")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to a file, in seconds")
    found = parser.parse_args(given)
    found.device = found.device if device is None else device
    return found


def main(given: Sequence[str] | None = None, device: str | None = None, beside: Beside | None = None) -> None:
    """Run what the command line asks for."""
    chosen = arguments(given, device)
    sizes = SIZES[chosen.device].shrunk(SMALL) if chosen.small else SIZES[chosen.device]
    cases = [case for case in CASES if case.name in chosen.only]
    results = run(cases, Place(chosen.device, sizes), beside or {}, lambda text: print(text, flush=True))
    if chosen.json:
        chosen.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
