"""How long an import takes, beyond NumPy, in fresh processes."""

from __future__ import annotations

import subprocess
import sys
from statistics import median

from benchmarks.busy import Others
from benchmarks.peers import PACKAGES, installed
from benchmarks.table import Table

REPEATS = 7
PEER_REPEATS = 3  # they take seconds
PROGRAM = """
import sys, warnings
from time import perf_counter
warnings.simplefilter("ignore")
start = perf_counter()
import numpy
middle = perf_counter()
__import__(sys.argv[1])
print(middle - start, perf_counter() - middle)
"""


def table(shrink: int) -> Table:
    """Median milliseconds of `import numpy`, and of each package after it; peers only in a full run."""
    others = Others()
    ours = [_import("believable") for _ in range(REPEATS)]
    rows = [
        ("numpy", _ms([base for base, _ in ours]), str(REPEATS)),
        ("believable, after numpy", _ms([more for _, more in ours]), str(REPEATS)),
    ]
    for package, module in PACKAGES.items() if shrink == 1 else ():
        name = f"{module}, after numpy"
        if installed(package) is None:
            rows.append((name, "not installed", ""))
            continue
        try:
            rows.append((name, _ms([_import(module)[1] for _ in range(PEER_REPEATS)]), str(PEER_REPEATS)))
        except subprocess.CalledProcessError as error:
            rows.append((name, (error.stderr.strip().splitlines() or ["failed"])[-1][:80], ""))
    busy = others.notes()
    return Table(
        "Import time", ("", "ms", "samples"), rows, ["median of fresh processes, bytecode already compiled", *busy]
    )


def _import(module: str) -> tuple[float, float]:
    command = [sys.executable, "-c", PROGRAM, module]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    base, more = done.stdout.split()[-2:]
    return float(base), float(more)


def _ms(seconds: list[float]) -> str:
    return f"{1e3 * median(seconds):,.1f}"
