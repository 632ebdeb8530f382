"""Peak memory of one call beyond the arrays it was given, each in a fresh process.

It is the rise of the process's resident memory above what it held before the call, as the operating system counts it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.calls import Call, Operation
from benchmarks.timing import Timed, in_turns

MB = 1e6
LONGEST = 40.0  # seconds for a process, in which making the rows counts too


def peaks(wanted: list[tuple[int, Operation, Call, int]]) -> list[float | None]:
    """Bytes for (place, operation, call, n); None where that failed. Two side by side: memory does not mind."""

    def ask(one: tuple[int, Operation, Call, int]) -> float | None:
        place, operation, call, n = one
        command = [sys.executable, "-m", "benchmarks.memory", str(place), str(operation.calls.index(call)), str(n)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LONGEST)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return None
        return float(json.loads(done.stdout.splitlines()[-1]))

    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as side_by_side:
        return list(side_by_side.map(ask, wanted))


def measure(operation: Operation, call: Call, n: int) -> float:
    """Bytes at the peak of a call in this process, after a first one that has loaded what is loaded lazily."""
    first, candidate = call.prepare(*operation.make(operation.tiny)), call.prepare(*operation.make(n))
    _raise_failure(in_turns([first], repeats=0)[0])
    before = start_peak()
    _raise_failure(in_turns([candidate], repeats=0)[0])
    return float(max(0, peak() - before))


def _raise_failure(timed: Timed) -> None:
    if timed.failure:
        raise SystemExit(timed.failure)


def start_peak() -> int:
    """Resident bytes now; on Linux the high-water mark is set back to them."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:
        return peak()


def peak() -> int:
    """The most resident bytes so far (since `start_peak`, on Linux)."""
    try:
        return _status("VmHWM")
    except OSError:
        import resource

        most: Any = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return int(most if sys.platform == "darwin" else most * 1024)


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {field}")


def _main() -> None:
    from benchmarks.operations import operations

    place, number, n = map(int, sys.argv[1:])
    operation = operations()[place]
    print(json.dumps(measure(operation, operation.calls[number], n)))


if __name__ == "__main__":
    _main()
