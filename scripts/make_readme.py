"""Put the output of the demo and an excerpt of docs/benchmarks.json into README.md. scripts/make_docs.py calls it."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SHOWN = {  # titles in docs/benchmarks.json, and what to call them in the README
    "ECE of one event, float64 scores, int64 labels": "ECE",
    "ECE of one event, float32 scores, uint8 labels": "ECE, float32",
    "ECE of every class, 10 classes, float32": "ECE of each of 10 classes",
    "Smooth ECE": "smooth ECE",
    "95 % interval of the ECE, 1000 replicates": "interval of the ECE",
    "Temperature, 10 classes, float32 logits": "temperature scaling, 10 classes",
    "Isotonic, float64 probabilities": "isotonic calibration",
    "A small call: ECE of 100 rows, arrays": "ECE of a hundred rows",
}
MOST = 10_000_000
_BETWEEN = re.compile(r"(<!-- benchmarks -->\n).*?(<!-- /benchmarks -->)", re.DOTALL)
_DEMO = re.compile(r"(<!-- demo -->\n```text\n).*?(```\n)", re.DOTALL)


def excerpt() -> str:
    """A table of some operations: our time, the quickest library that is not wrong, and those that are."""
    results = json.loads((ROOT / "docs" / "benchmarks.json").read_text())
    operations = {record["title"]: record for record in results["operations"]}
    lines = [
        "| | rows | believable | the fastest correct alternative | its time | its time / ours |",
        "|---|---:|---:|---|---:|---:|",
    ]
    wrong = []
    for title, words in SHOWN.items():
        rows = operations[title]["rows"]
        ours = next(row for row in rows if row["kind"] == "ours")
        assert ours["mark"] == "right", title
        peers = [row for row in rows if row["kind"] == "peer" and _common(ours, row)]
        peer = min((row for row in peers if row["mark"] == "right"), key=lambda row: _ratio(ours, row))
        n = _common(ours, peer)
        mine, theirs = ours["at"][str(n)]["seconds"], peer["at"][str(n)]["seconds"]
        lines.append(f"| {words} | {n:,} | {_ms(mine)} | {peer['call']} | {_ms(theirs)} | {_times(theirs / mine)} |")
        wrong += [f"{row['call']} ({words}: by {_off(row)})" for row in peers if row["mark"] == "wrong"]
    machine = results["machine"]
    note = f"{machine['processor']}, {machine['date']}; every value was checked against the definition."
    said = f" Left out because their value was wrong: {'; '.join(wrong)}." if wrong else ""
    return "\n".join([*lines, "", note + said]) + "\n"


def _common(ours: dict[str, Any], row: dict[str, Any]) -> int | None:
    """The most rows, up to ten million, that both were given: beyond, others run short of memory."""
    return max((int(n) for n in row["at"] if n in ours["at"] and int(n) <= MOST), default=None)


def _ratio(ours: dict[str, Any], row: dict[str, Any]) -> float:
    n = str(_common(ours, row))
    return float(row["at"][n]["seconds"] / ours["at"][n]["seconds"])


def _off(row: dict[str, Any]) -> str:
    """How far off it was, in words, where it was furthest."""
    off, n = max((float(at["off"]), int(n)) for n, at in row["at"].items() if at.get("off") is not None)
    return f"{100 * off:.2g} % at {n:,} rows"


def _times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:,.0f} ms" if seconds >= 0.01 else f"{1000 * seconds:.2g} ms"


def readme() -> str:
    """README.md with the excerpt as it should be."""
    return _BETWEEN.sub(lambda found: f"{found[1]}{excerpt()}{found[2]}", (ROOT / "README.md").read_text())


def demo() -> str:
    """Return what `believable demo` prints about each model and what to do, without the comparison of the two."""
    from click.testing import CliRunner

    from believable.cli import main

    with tempfile.TemporaryDirectory() as folder:
        printed = CliRunner().invoke(main, ["demo", "-o", str(Path(folder) / "demo.png")]).output
    first, last = printed.index("naive bayes\n"), printed.index("\nCompared with")
    return "\n".join(line.rstrip() for line in printed[first:last].split("\n"))


def write() -> None:
    """Write README.md with the demo and the excerpt as they should be."""
    text = _DEMO.sub(lambda found: f"{found[1]}{demo()}{found[2]}", readme())
    (ROOT / "README.md").write_text(text)


if __name__ == "__main__":
    write()
