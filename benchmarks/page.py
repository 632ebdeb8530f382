"""The page made from the results: `docs/benchmarks.md` says only what `docs/benchmarks.json` holds."""

from __future__ import annotations

from typing import Any

from benchmarks.machine import table as machine_table
from benchmarks.run import IN_NUMPY, READS
from benchmarks.table import Table

Record = dict[str, Any]
LARGE = 10**7  # rows: such sizes are shown beside the limit, and the largest of every operation
MOSTLY = 2  # times what its kernels take: a longer call does something else for the most part

HEAD = """# Benchmarks

How fast is believable, how much memory does it use, and are its numbers right? Each operation is compared with the
libraries that compute the same number, and every result with the definition. [At a glance](#at-a-glance) has the
answers in three charts and two tables. `make bench` writes this page, in about ten minutes on two idle cores.
`docs/benchmarks.json` holds every figure, and `python -m benchmarks --redraw` rebuilds the page from it.{quick}

## How to read it

- **ms** is the best of several samples. All rows of a table are timed in turns, in one process, on the same arrays,
  each in the type its library works on. Compare ratios: repeats differ by 10 to 30 %, so ignore ratios below 1.3.
  A **peer** is another library. **peer / us** above 1 means that we are faster, at the largest n that both ran.
- **limit** is one read of the same bytes on two threads (or on one, if that is faster). Nothing that looks at every
  number can be faster. **x limit** is our time divided by the limit, and **target** the value that we aim for.
- Our rows are complete public calls, including input checks. **kernel** is the part of that time spent in kernels that
  have a compiled version, shown if it is half or more, and **call / kernel** the ratio of the two. They are
  timed separately, so noise can put it below 1.
  *{in_numpy}* is the same call without the compiled versions, in a process of its own.
- **exponent** is the slope of log time against log n over the sizes shown: 1 is linear, 2 is quadratic; below 1, a
  fixed cost still matters.
- **error** is the largest relative difference, at any size, from the definition, which is computed literally, in
  float64 and without believable (`benchmarks/literal.py`, `benchmarks/optima.py`). A row whose error exceeds the
  tolerance below its table is *rough* (for example, a fit that stops early); at ten times the tolerance it is
  **wrong**, however fast. *other number* marks a row that deliberately computes something else; the notes say what.
- A cell is empty if, judging by the smaller sizes, the call would have taken more than {longest:g} seconds or more
  memory than there is.
- **peak MB** is the memory that a call needs beyond its input arrays, in a fresh process, at the largest n up to 1e7
  that it ran.
"""
PICTURES = """
![Time of our calls, in units of one read of the same bytes](images/benchmarks-limit.svg)

![How much longer other libraries take](images/benchmarks-peers.svg)

![Time against the number of rows](images/benchmarks-scaling.svg)
"""


def page(results: Record) -> str:
    """The whole page."""
    done = results["operations"]
    quick = "" if results["mode"] == "full" else f" **Figures from a {results['mode']} run, with fewer rows.**"
    parts = [HEAD.format(quick=quick, in_numpy=IN_NUMPY, longest=results["longest"])]
    parts += ["## At a glance", PICTURES.strip(), _limits(done).markdown(), _peers(done).markdown(), _wrong(done)]
    parts += ["## Every operation", *(operation(record).markdown() for record in done)]
    if results["imports"]:
        parts.append(_imports(results["imports"]).markdown())
    parts.append(machine_table(results["machine"]).markdown())
    return "\n\n".join(part.strip() for part in parts) + "\n"


def ms(seconds: float) -> str:
    """Milliseconds in three digits."""
    value = seconds * 1e3
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}" if value >= 0.1 else f"{value:.2g}"


def many_times(ratio: float) -> str:
    """A ratio in as many digits as it deserves."""
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.1f}" if ratio >= 10 else f"{ratio:.2g}"


def limit(record: Record, n: int) -> float | None:
    """Seconds of the quicker read."""
    reads = [row["at"][str(n)]["seconds"] for row in record["rows"] if row["call"] in READS and str(n) in row["at"]]
    return min(reads, default=None)


def ours(record: Record) -> Record:
    """The row that others are compared with."""
    first: Record = record["rows"][0]
    return first


def ratio(record: Record, row: Record) -> float | None:
    """How many times longer than ours, at the largest common size."""
    common = _common(record, row)
    if not common or row is ours(record):
        return None
    n = str(common[-1])
    return float(row["at"][n]["seconds"] / ours(record)["at"][n]["seconds"])


def _common(record: Record, row: Record) -> list[int]:
    """Sizes at which a row and ours were measured."""
    return [n for n in record["sizes"] if str(n) in row["at"] and str(n) in ours(record)["at"]]


def kernel_of(at: Record) -> float | None:
    """Seconds in kernels, where that is what a call does for the most part."""
    seconds: float | None = at.get("kernel")
    return seconds if seconds and at["seconds"] < MOSTLY * seconds else None


def compared(record: Record) -> list[tuple[Record, float]]:
    """Other libraries' rows with their ratios, the quickest first."""
    found = [(row, ratio(record, row)) for row in record["rows"] if row["kind"] == "peer"]
    return sorted(((row, many) for row, many in found if many is not None), key=lambda pair: pair[1])


def _limits(done: list[Record]) -> Table:
    rows = []
    for record in done:
        first, in_numpy = ours(record), next((row for row in record["rows"] if row["call"] == IN_NUMPY), {"at": {}})
        for n in record["sizes"]:
            at, least = first["at"].get(str(n)), limit(record, n)
            last = n == record["sizes"][-1]
            if at is None or least is None or not (last or n >= LARGE):
                continue
            kernel, plain = kernel_of(at), in_numpy["at"].get(str(n))
            want = record["target"]
            rows.append(
                (
                    record["title"],
                    f"{n:,}",
                    ms(at["seconds"]),
                    ms(least),
                    many_times(at["seconds"] / least),
                    f"{want:g}" if want else "",
                    ms(kernel) if kernel else "",
                    f"{at['seconds'] / kernel:.2f}" if kernel else "",
                    ms(plain["seconds"]) if plain else "",
                )
            )
    head = ("", "n", "ms", "limit ms", "x limit", "target", "kernel ms", "call / kernel", "NumPy kernels ms")
    return Table("Compared with the limit", head, rows)


def _peers(done: list[Record]) -> Table:
    rows = []
    for record in done:
        good = [(row, many) for row, many in compared(record) if row["mark"] in ("right", "rough")]
        if not good:
            continue
        row, many = good[0]
        n = _common(record, row)[-1]
        times = [ms(one["at"][str(n)]["seconds"]) for one in (ours(record), row)]
        powers = [_power(one["exponent"]) for one in (ours(record), row)]
        rows.append((record["title"], f"{n:,}", times[0], row["call"], times[1], many_times(many), *powers))
    head = (
        "",
        "n",
        "ours ms",
        "fastest peer that is not wrong",
        "its ms",
        "peer / us",
        "our exponent",
        "its exponent",
    )
    return Table("Compared with the fastest peer", head, rows)


def _wrong(done: list[Record]) -> str:
    found = [
        f"- **{row['call']}**, {record['title']}: relative error {_worst(row):.1e} {_in_brackets(row['note'])}".strip()
        for record in done
        for row in record["rows"]
        if row["mark"] == "wrong"
    ]
    return "\n".join(["### Marked wrong", "", *(found or ["None in this run."])])


def _in_brackets(text: str) -> str:
    return f"({text})" if text else ""


def operation(record: Record) -> Table:
    rows, notes = [], [record["note"]] if record["note"] else []
    for row in record["rows"]:
        times = [ms(row["at"][str(n)]["seconds"]) if str(n) in row["at"] else "" for n in record["sizes"]]
        many = ratio(record, row)
        compare = "" if many is None or row["kind"] == "limit" else many_times(many)
        mark = f"**{row['mark']}**" if row["mark"] in ("wrong", "failed") else row["mark"]
        away = f"{_worst(row):.0e}" if row["at"] and row["kind"] != "limit" else ""
        peak = f"{row['peak'] / 1e6:,.1f}" if row.get("peak") is not None else ""
        rows.append((row["call"], *times, compare, _power(row["exponent"]), away, mark, peak))
        kernels = f"kernels in our call: {', '.join(row['kernels'])}" if row.get("kernels") else ""
        why = f"{row['call']} computes another number: {row['other']}" if row.get("other") else row.get("note", "")
        notes += [
            text for text in (kernels, why, f"{row['call']}: {row['failure']}" if "failure" in row else "") if text
        ]
    if record["busy"] > 0.05:
        notes.append(f"BUSY: other processes used {record['busy']:.0%} of the cores; repeat this run before quoting it")
    sizes = [f"ms, n = {n:,}" for n in record["sizes"]]
    head = ("", *sizes, "peer / us", "exponent", "error", "", "peak MB")
    notes.append(f"an error above {record['right']:g} counts as rough, above {10 * record['right']:g} as wrong")
    return Table(record["title"], head, rows, list(dict.fromkeys(notes)))


def _worst(row: Record) -> float:
    return max((at["off"] for at in row["at"].values()), default=float("nan"))


def _power(exponent: float | None) -> str:
    return "" if exponent is None else f"{exponent:.2f}"


IMPORT_NOTE = "in fresh processes, with bytecode already compiled; the first row is NumPy itself, others come on top"


def _imports(seconds: dict[str, float | None]) -> Table:
    rows = [(name, "not installed" if time is None else ms(time)) for name, time in seconds.items()]
    return Table(
        "Import time, after NumPy",
        ("", "ms"),
        rows,
        [IMPORT_NOTE],
    )
