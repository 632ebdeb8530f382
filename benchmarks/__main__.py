"""Run the benchmarks and print tables: `python -m benchmarks [--quick] [--markdown] [NAME ...]`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from benchmarks import imports, jobs, machine, memory, pairs, recalibrators
from benchmarks.table import Table
from benchmarks.timing import ENOUGH, REPEATS


def main() -> None:
    """Read the arguments, run what they name, print as it comes."""
    arguments = _arguments()
    shrink = 10 if arguments.quick else 1
    effort = (3, 0.4) if arguments.quick else (REPEATS, ENOUGH)
    wanted = arguments.names

    def show(table: Table) -> None:
        print(table.markdown() if arguments.markdown else table.plain(), end="\n\n", flush=True)

    show(machine.table())
    for job in (*jobs.jobs(shrink), *pairs.jobs(shrink)):
        if not wanted or job.name in wanted:
            show(jobs.run(job, *effort))
    if not wanted or "recalibrators" in wanted:
        for table in recalibrators.tables(shrink, *effort):
            show(table)
    if not wanted or "memory" in wanted:
        show(memory.table(shrink))
    if not wanted or "import" in wanted:
        show(imports.table(shrink))


def _arguments() -> Namespace:
    names = [*dict.fromkeys(job.name for job in (*jobs.jobs(1), *pairs.jobs(1)))]
    names += ["recalibrators", "memory", "import"]
    parser = ArgumentParser("python -m benchmarks", description="Speed and memory, side by side with the peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which to run: {', '.join(names)}; all if left out")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--markdown", action="store_true", help="print markdown")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in names:
            parser.error(f"no benchmark is called {name!r}; choose from {', '.join(names)}")
    return arguments


if __name__ == "__main__":
    main()
