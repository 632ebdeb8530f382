"""Write the golden files of recalibration: rows, and what Python finds for them with the methods of the page.

Run it as `python -m tests.report.browser_page.make_golden_fixes`. The tests read the files in node and in the browser,
and check that Python still finds the same.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.report.browser_page.fixes import Case, found_by_python, made, multiclass, sigmoid

GOLDEN = Path(__file__).parent / "golden"


def golden_cases() -> Iterator[tuple[str, Case]]:
    """Yield a few small data sets by name."""
    rng = np.random.default_rng(24)
    z = rng.normal(size=300)
    y = rng.random(300) < sigmoid(z)
    over = np.round(sigmoid(3 * z), 6)
    yield "over_confident", made(over, y)
    yield "calibrated", made(np.round(sigmoid(z), 6), y)
    yield "weights", made(over, y, np.round(rng.exponential(size=300) + 0.01, 3), seed=1)
    yield "clusters", made(over, y, clusters=rng.integers(0, 30, 300), seed=2)
    yield "rare", made(np.round(sigmoid(z - 2), 6), rng.random(300) < sigmoid(z - 4))
    yield "ties", made(rng.integers(0, 11, 200) / 10, rng.random(200) < 0.4)
    yield "three_classes", made(*multiclass(rng, 200, 3, 3.0))
    yield "one_class", made([0.2, 0.4, 0.6, 0.8], [1, 1, 1, 1])


def in_words(value: Any) -> Any:
    """Return plain data with the numbers that JSON does not have as words, as JavaScript calls them."""
    if isinstance(value, dict):
        return {name: in_words(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [in_words(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def main() -> None:
    """Write one file per data set."""
    GOLDEN.mkdir(exist_ok=True)
    for name, case in golden_cases():
        content = {"input": case.to_dict(), "expected": in_words(found_by_python(case))}
        text = json.dumps(content, separators=(",", ":"), allow_nan=False)
        (GOLDEN / f"fix_{name}.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
