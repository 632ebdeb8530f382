"""How far a call walks through the code: functions, files and packages it enters, and how deep.

`python -m benchmarks.walks` prints a row for each of six calls. A stranger who follows one of them has to read that
much, so the figures belong to decision 0012 as times belong to the benchmark page.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import believable

ROOT = str(Path(believable.__file__).parent)


def walk(call: Callable[[], Any]) -> tuple[int, int, int, int]:
    """Functions, files, packages and the greatest depth of our own frames, in a second run: imports are not counted."""
    call()
    functions: set[tuple[str, str]] = set()
    depth, deepest = 0, 0

    def look(frame: FrameType, event: str, _: Any) -> None:
        nonlocal depth, deepest
        code = frame.f_code
        if not code.co_filename.startswith(ROOT):
            return
        if event == "call":
            depth += 1
            deepest = max(deepest, depth)
            if not code.co_name.startswith("<"):
                functions.add((code.co_filename, code.co_qualname))
        elif event == "return":
            depth -= 1

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    files = {file for file, _ in functions}
    packages = {Path(file).relative_to(ROOT).parts[0] for file in files}
    return len(functions), len(files), len(packages), deepest


def calls() -> dict[str, Callable[[], Any]]:
    """The six calls; those whose packages are not installed are left out."""
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    y = (rng.random(2000) < p**1.3).astype(int)
    folder = Path(tempfile.mkdtemp())
    rows = "\n".join(f"{score:.6f},{label}" for score, label in zip(p, y, strict=True))
    (folder / "data.csv").write_text(f"score,label\n{rows}\n")

    def audit() -> None:
        predictions = believable.read_predictions(folder / "data.csv", prob="score", label="label")
        believable.audit(predictions, progress=False).to_html(folder / "page.html")

    found: dict[str, Callable[[], Any]] = {
        "expected_calibration_error": lambda: believable.expected_calibration_error(p, y),
        "interval": lambda: believable.interval("ece", p, y, random_state=0),
        "calibrate": lambda: believable.calibrate(p, y),
        "audit, csv to html": audit,
    }
    try:
        from pyspark.sql import SparkSession

        from believable.engines import summarize

        spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
        frame = spark.createDataFrame([(float(a), int(b)) for a, b in zip(p[:200], y[:200], strict=True)], ["p", "y"])
        found["summarize on Spark"] = lambda: summarize(frame, prob="p", label="y")
    except ImportError:
        pass
    try:
        import torch

        from believable.torch import CalibrationMeter

        meter = CalibrationMeter()
        scores, labels = torch.tensor(p), torch.tensor(y)
        found["torch meter, update"] = lambda: meter.update(scores, labels)
    except ImportError:
        pass
    return found


def main() -> None:
    """Print the table."""
    print("| call | functions | files | packages | depth |\n|---|---:|---:|---:|---:|")
    for name, call in calls().items():
        print(f"| {name} |", " | ".join(map(str, walk(call))), "|")


if __name__ == "__main__":
    main()
