"""How long an import takes, beyond NumPy, in fresh processes."""

from __future__ import annotations

import subprocess
import sys
from statistics import median

from benchmarks.calls import PACKAGES, installed

REPEATS = 5
PEER_REPEATS = 1  # they take seconds
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


def seconds() -> dict[str, float | None]:
    """Median seconds of `import numpy`, and of each module after it; None where it is not installed or fails."""
    ours = [_import("believable") for _ in range(REPEATS)]
    found: dict[str, float | None] = {"numpy": median(first for first, _ in ours)}
    found["believable"] = median(second for _, second in ours)
    for package, module in PACKAGES.items():
        try:
            times = [_import(module)[1] for _ in range(PEER_REPEATS)] if installed(package) else []
        except subprocess.CalledProcessError:
            times = []
        found[module] = median(times) if times else None
    return found


def _import(module: str) -> tuple[float, float]:
    command = [sys.executable, "-c", PROGRAM, module]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    base, more = done.stdout.split()[-2:]
    return float(base), float(more)
