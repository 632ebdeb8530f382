"""Run the benchmarks and print tables: `python -m benchmarks [--quick] [--markdown] [NAME ...]`."""

from __future__ import annotations

import os
import platform
from argparse import ArgumentParser, Namespace
from pathlib import Path

from benchmarks import imports, jobs, memory, pairs
from benchmarks.peers import PACKAGES, installed
from benchmarks.table import Table
from benchmarks.timing import ENOUGH, REPEATS

READING = [
    "Times are the best of several samples taken in turns; ratios are peer / us: above 1 we are quicker.",
    "Every call gets arrays of the type its library works on. Ours checks its input, in every row.",
]


def main() -> None:
    """Read the arguments, run what they name, print as it comes."""
    arguments = _arguments()
    shrink = 10 if arguments.quick else 1
    effort = (3, 0.4) if arguments.quick else (REPEATS, ENOUGH)
    wanted = arguments.names

    def show(table: Table) -> None:
        print(table.markdown() if arguments.markdown else table.plain(), end="\n\n", flush=True)

    show(_head())
    for job in (*jobs.jobs(shrink), *pairs.jobs(shrink)):
        if not wanted or job.name in wanted:
            show(jobs.run(job, *effort))
    if not wanted or "memory" in wanted:
        show(memory.table(shrink))
    if not wanted or "import" in wanted:
        show(imports.table(shrink))


def _arguments() -> Namespace:
    names = [*dict.fromkeys(job.name for job in (*jobs.jobs(1), *pairs.jobs(1))), "memory", "import"]
    parser = ArgumentParser("python -m benchmarks", description="Speed and memory, side by side with the peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which to run: {', '.join(names)}; all if left out")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--markdown", action="store_true", help="print markdown")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in names:
            parser.error(f"no benchmark is called {name!r}; choose from {', '.join(names)}")
    return arguments


def _head() -> Table:
    """The machine, and the versions of everything that is compared."""
    rows = [
        ("machine", f"{_cpu()}, {os.cpu_count()} cores, {platform.system()}"),
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


if __name__ == "__main__":
    main()
