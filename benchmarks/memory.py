"""Peak memory of one call beyond the arrays it was given, each in a fresh process.

Resident memory is what the operating system counts, above what the process held before the call. The traced peak is
what Python and NumPy asked for (tracemalloc), which does not see torch and leaves out memory that was kept for reuse.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

from benchmarks import data
from benchmarks.jobs import BINARY, OURS
from benchmarks.peers import Call, Prepared
from benchmarks.table import Table
from benchmarks.timing import Timed, in_turns

MB = 1e6
TRACEABLE = 3.0  # seconds: slower calls make so many objects that tracing them takes minutes
CALLS = {call.name: call for call in (OURS, *BINARY)}


def table(shrink: int) -> Table:
    """Our peak at three sizes, the peers' at one."""
    sizes = [10**6 // shrink, 10**7 // shrink, 3 * 10**7 // shrink]
    peers = [call for call in BINARY if "1 thread" not in call.name]
    wanted = [(OURS, n) for n in sizes] + [(call, sizes[1]) for call in peers]
    with ThreadPoolExecutor(
        os.cpu_count()
    ) as processes:  # side by side: memory does not mind, and it is twice as quick
        rows = list(processes.map(_row, *zip(*wanted, strict=True)))
    notes = ["megabytes of 1e6 bytes, beyond the arrays given; a first call at n=1000 has loaded what is loaded lazily"]
    return Table("Peak extra memory, binary ECE, float64 + int64", ("", "n", "resident MB", "traced MB"), rows, notes)


def _row(call: Call, n: int) -> tuple[str, ...]:
    if not call.installed:
        return (call.name, "", "not installed", "")
    command = [sys.executable, "-m", "benchmarks.memory", call.name, str(n)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return (call.name, f"{n:,}", (done.stderr.strip().splitlines() or ["failed"])[-1][:80], "")
    peak = json.loads(done.stdout.splitlines()[-1])
    traced = "" if peak["traced"] is None else f"{peak['traced'] / MB:,.1f}"
    return (call.name, f"{n:,}", f"{peak['resident'] / MB:,.1f}", traced)


def measure(call: Call, n: int) -> dict[str, float | None]:
    """Bytes at the peak of one call in this process."""
    return peak(call.prepare(*data.binary(1000)), call.prepare(*data.binary(n)))


def peak(first: Prepared, candidate: Prepared) -> dict[str, float | None]:
    """Bytes at the peak of a call, after a first one that has loaded what is loaded lazily."""
    _raise_failure(in_turns([first], repeats=0)[0])
    before = _start_peak()
    start = perf_counter()
    _raise_failure(in_turns([candidate], repeats=0)[0])
    seconds = perf_counter() - start
    resident = _peak() - before
    traced = None
    if seconds < TRACEABLE:
        tracemalloc.start()
        _raise_failure(in_turns([candidate], repeats=0)[0])
        traced = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return {"resident": resident, "traced": traced}


def _raise_failure(timed: Timed) -> None:
    if timed.failure:
        raise SystemExit(timed.failure)


def _start_peak() -> int:
    """Resident bytes now; on Linux the high-water mark is set back to them."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:
        return _peak()


def _peak() -> int:
    """The most resident bytes so far (since `_start_peak`, on Linux)."""
    try:
        return _status("VmHWM")
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {field}")


if __name__ == "__main__":
    print(json.dumps(measure(CALLS[sys.argv[1]], int(sys.argv[2]))))
