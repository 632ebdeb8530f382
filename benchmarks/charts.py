"""Pictures of the results, from the same numbers as the page, in colours that read on white and on black."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from benchmarks.page import compared, kernel_of, limit, ours
from benchmarks.run import IN_NUMPY

Record = dict[str, Any]

TEXT, LINE = "#7d8590", "#9aa4af"  # greys with about the same contrast to white and to black
OURS, KERNEL, PLAIN, PEER, WRONG = "#2f81f7", "#3fb950", "#a371f7", "#9aa4af", "#e5534b"
PANELS = {"binary", "float32", "top-label", "class-wise", "equal-mass", "mmce", "smooth", "corp", "bootstrap"}
PANELS |= {"temperature", "platt", "beta", "isotonic", "venn-abers"}
STYLE = {"svg.hashsalt": "believable", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 8.5}


def draw(results: Record, folder: Path) -> list[Path]:
    """Write the pictures; the same results give the same bytes."""
    import matplotlib
    from matplotlib.figure import Figure

    made = []
    with matplotlib.rc_context(STYLE):
        for name, picture in (("limit", _limit), ("peers", _peers), ("scaling", _scaling)):
            figure = Figure(layout="constrained")
            picture(figure, results["operations"])
            figure.patch.set_alpha(0)
            path = folder / f"benchmarks-{name}.svg"
            figure.savefig(path, metadata={"Date": None}, transparent=True)
            text = re.sub(r"font-family: [^;\"]*", "font-family: sans-serif", path.read_text())
            text = re.sub(r'\s*transform="rotate\(-0 [^"]*"', "", text)
            path.write_text("\n".join(line.strip() for line in text.splitlines()) + "\n")
            made.append(path)
    return made


def _rows(n: int) -> str:
    """A number of rows in few characters."""
    for size, letter in ((10**6, "M"), (10**3, "k")):
        if n >= size:
            return f"{n / size:.3g}{letter}"
    return str(n)


def _plain(ax: Any) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(LINE)
    ax.tick_params(which="both", colors=TEXT, color=LINE)
    for label in (ax.title, ax.xaxis.label, ax.yaxis.label):
        label.set_color(TEXT)


def _legend(ax: Any, **choices: Any) -> None:
    ax.legend(frameon=False, labelcolor=TEXT, **choices)


def _places(figure: Any, titles: list[str], width: float = 8.2) -> Any:
    """One line for each title, the first on top."""
    figure.set_size_inches(width, 0.9 + 0.24 * len(titles))
    ax = figure.subplots()
    ax.set_yticks(range(len(titles)), titles)
    ax.set_ylim(len(titles) - 0.4, -0.6)
    ax.set_xscale("log")
    ax.grid(axis="x", color=LINE, alpha=0.25)
    _plain(ax)
    return ax


def _limit(figure: Any, done: list[Record]) -> None:
    """Our time, its kernel's and that with NumPy's kernels, in reads of the same bytes."""
    shown = [record for record in done if limit(record, record["sizes"][-1]) and record["sizes"][-1] > 1000]
    ax = _places(figure, [f"{record['short']}, n = {record['sizes'][-1]:,}" for record in shown])
    points: dict[str, tuple[list[float], list[int], dict[str, Any]]] = {
        "kernels in NumPy": ([], [], {"color": PLAIN, "marker": "D", "s": 16}),
        "public call": ([], [], {"color": OURS, "marker": "o", "s": 30}),
        "its kernel": ([], [], {"color": KERNEL, "marker": "|", "s": 60, "linewidths": 2}),
        "target": ([], [], {"color": TEXT, "marker": "<", "s": 18}),
    }
    for place, record in enumerate(shown):
        n = str(record["sizes"][-1])
        least = limit(record, record["sizes"][-1]) or float("nan")
        at = ours(record)["at"].get(n, {})
        plain = next((row["at"].get(n, {}) for row in record["rows"] if row["call"] == IN_NUMPY), {})
        found = {
            "public call": at.get("seconds"),
            "its kernel": kernel_of(at),
            "kernels in NumPy": plain.get("seconds"),
        }
        times = {name: seconds / least for name, seconds in found.items() if seconds}
        if record["target"]:
            times["target"] = record["target"]
        for name, value in times.items():
            points[name][0].append(value)
            points[name][1].append(place)
    for name, (x, y, look) in points.items():
        if x:
            ax.scatter(x, y, label=name, zorder=3, **look)
    ax.axvline(1, color=LINE, linewidth=1)
    ax.set_xlabel("time, in reads of the same bytes on two threads (1 is the limit)")
    _legend(ax, loc="lower center", bbox_to_anchor=(0.3, 1.0), ncols=4)


def _peers(figure: Any, done: list[Record]) -> None:
    """How many times longer every peer takes, at the largest size it was given."""
    shown = [record for record in done if compared(record)]
    ax = _places(figure, [record["short"] for record in shown])
    looks = {
        "right": {"color": OURS, "marker": "o", "s": 22},
        "rough": {"color": PEER, "marker": "o", "s": 22},
        "other number": {"facecolors": "none", "edgecolors": PEER, "marker": "o", "s": 22},
        "wrong": {"color": WRONG, "marker": "x", "s": 26},
    }
    for mark, look in looks.items():
        found = [
            (many, place) for place, record in enumerate(shown) for row, many in compared(record) if row["mark"] == mark
        ]
        if found:
            x, y = zip(*found, strict=True)
            ax.scatter(x, y, label=mark, zorder=3, **look)
    ax.axvline(1, color=LINE, linewidth=1)
    ax.set_xlabel("time of other libraries / ours (above 1: we are faster)")
    _legend(ax, loc="lower center", bbox_to_anchor=(0.3, 1.0), ncols=4)


def _scaling(figure: Any, done: list[Record]) -> None:
    """Milliseconds against rows, both logarithmic; a panel for each operation that has peers at several sizes."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogLocator, NullLocator

    shown = [record for record in done if record["name"] in PANELS and len(record["sizes"]) > 1 and compared(record)]
    columns = 4
    rows = max(1, -(-len(shown) // columns))
    figure.set_size_inches(9.2, 0.6 + 1.7 * rows)
    panels = figure.subplots(rows, columns, squeeze=False)
    for ax, record in zip(panels.flat, shown, strict=False):
        reads = {n: limit(record, n) for n in record["sizes"]}
        if all(reads.values()):
            ax.plot(list(reads), [1e3 * seconds for seconds in reads.values()], ":", color=LINE, linewidth=1.2)
        for row in record["rows"]:
            first = row is ours(record)
            if row["at"] and (first or row["kind"] == "peer"):
                x, y = zip(*((int(n), at["seconds"] * 1e3) for n, at in row["at"].items()), strict=True)
                colour = OURS if first else WRONG if row["mark"] == "wrong" else PEER
                ax.plot(x, y, color=colour, linewidth=2.2 if first else 0.9, zorder=3 if first else 2)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xticks(record["sizes"], [_rows(n) for n in record["sizes"]])
        ax.yaxis.set_major_locator(LogLocator(numticks=4))
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_minor_locator(NullLocator())
        ax.set_title(record["short"], fontsize=8.5)
        _plain(ax)
    for ax in list(panels.flat)[len(shown) :]:
        ax.set_visible(False)
    keys = [
        Line2D([], [], color=OURS, linewidth=2.2, label="believable"),
        Line2D([], [], color=PEER, linewidth=1, label="other libraries"),
        Line2D([], [], color=WRONG, linewidth=1, label="wrong"),
        Line2D([], [], color=LINE, linewidth=1, linestyle=":", label="one read of the same bytes"),
    ]
    figure.legend(handles=keys, loc="outside upper center", ncols=4, frameon=False, labelcolor=TEXT)
    figure.supylabel("ms", color=TEXT, fontsize=9)
    figure.supxlabel("rows", color=TEXT, fontsize=9)
