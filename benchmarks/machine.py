"""The machine, and the versions of everything that is compared: no figure is worth anything without them."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.calls import PACKAGES, installed, load
from benchmarks.table import Table

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def facts() -> dict[str, str]:
    """What and which, in order."""
    backend = load("believable._kernels.twins")
    found = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "processor": f"{_cpu()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "caches of a core": _caches(),
        "memory": f"{(memory() or 0) / 2**30:.0f} GiB" if memory() else "unknown",
        "kernels": f"{backend.backend}, {len(backend.TWINS)} with a twin",
        **{name: os.environ.get(name, "not set") for name in ("BELIEVABLE_THREADS", "OMP_NUM_THREADS")},
        "Python": platform.python_version(),
        "believable": load("believable").__version__,
    }
    return found | {
        package: installed(package) or "not installed" for package in ("numpy", "scipy", "torch", *PACKAGES)
    }


def table(known: dict[str, str] | None = None) -> Table:
    """The facts as a table."""
    return Table("Machine and versions", ("what", "which"), list((known or facts()).items()))


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _caches() -> str:
    found = []
    for index in sorted(CACHES.glob("index*")):
        try:
            level, kind, size = (index.joinpath(name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        if kind != "Instruction":
            found.append(f"L{level} {size}")
    return ", ".join(found) or "unknown"


def memory() -> float | None:
    """Bytes of the machine; None where that is not told."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (ValueError, OSError, AttributeError):
        return None
