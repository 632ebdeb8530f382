"""The machine, and the versions of everything that is compared: no figure is worth anything without them."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from benchmarks.peers import PACKAGES, installed
from benchmarks.table import Table

READING = [
    "Times are the best of several samples taken in turns; ratios are peer / us: above 1 we are quicker.",
    "Every call gets arrays of the type its library works on. Ours checks its input, in every row.",
]


def table() -> Table:
    """The machine and the versions."""
    rows = [
        ("machine", f"{_cpu()}, {os.cpu_count()} cores, {platform.system()}"),
        ("OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", "not set")),
        ("Python", platform.python_version()),
    ]
    packages = ("believable", "numpy", "scipy", "torch", *PACKAGES)
    rows += [(package, _version(package)) for package in packages]
    return Table("Machine and versions", ("what", "which"), rows, READING)


def _version(package: str) -> str:
    if package == "believable":
        import believable

        return believable.__version__
    return installed(package) or "not installed"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()
