"""What a tool that tracks experiments is told about an audit: numbers and words by name, and a picture.

The names are the same in every tool, so they consist of what all of them allow.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from believable.curves import ReliabilityTable
from believable.curves.binned import table_of
from believable.errors import InputError
from believable.plots import Reliability
from believable.plots.frame import Drawing, frame_end
from believable.plots.reliability import draw_all
from believable.plots.style import shortened
from believable.report import Audit
from believable.report.packed import N_PAGE_CELLS
from believable.report.parts import Bin, Part

FOLDER = "calibration"
MAX_PREFIX = 100  # characters; MLflow allows 250 in a name
MAX_PART_NAME = 40
MAX_WORDS = 1000  # MLflow limits a tag to 5,000 or 8,000 characters, by version
MAX_TITLE = 60
SIZE, DPI = (4.8, 6.6), 125  # inches, and pixels per inch
BARS = 20  # of the histogram, at least
DIVISORS = [n for n in range(BARS, N_PAGE_CELLS + 1) if N_PAGE_CELLS % n == 0]
CHANGED = {"log loss": "nll", "Brier score": "brier", "ECE": "ece"}


def checked(audit: Any) -> Audit:
    """Return what was given if it is an audit."""
    if not isinstance(audit, Audit):
        several = "; log that of each model, with a prefix of its own" if hasattr(audit, "audits") else ""
        raise InputError(
            "{argument} must be an Audit, which believable.audit returns, got {got}{several}",
            argument="audit",
            got=type(audit).__name__,
            several=several,
        )
    return audit


def start_of_names(prefix: Any) -> str:
    """Return what all names begin with, if the prefix is legal in every tool."""
    if not isinstance(prefix, str) or not all(re.fullmatch(r"[\w-][\w.-]*", part, re.ASCII) for part in _parts(prefix)):
        raise InputError(
            '{argument} must consist of letters from A to Z, digits, "_", "-" and ".", with a single "/" between or '
            "after them, got {got!r}",
            argument="prefix",
            got=prefix,
        )
    if len(prefix) > MAX_PREFIX:
        raise InputError(
            "{argument} must have at most {most} characters, got {n}", argument="prefix", most=MAX_PREFIX, n=len(prefix)
        )
    return f"{prefix}{FOLDER}/"


def _parts(prefix: str) -> list[str]:
    return prefix.removesuffix("/").split("/") if prefix else []


def numbers_of(audit: Audit, start: str) -> dict[str, float]:
    """Return the numbers of an audit by name, without those that are not defined."""
    return {
        f"{start}{name}": float(value) for name, value in _numbers(audit) if value is not None and not math.isnan(value)
    }


def words_of(audit: Audit, start: str) -> dict[str, str]:
    """Return the words of an audit by name: the answer, the first sentences, the bins, and what is recommended."""
    verdict = audit.verdict
    words = {"answer": verdict.answer, "verdict": shortened(verdict.headline, MAX_WORDS), "bins": verdict.bins}
    if audit.fix is not None:
        words["recalibration"] = audit.fix.chosen
    return {f"{start}{name}": text for name, text in words.items()}


def _numbers(audit: Audit) -> Iterator[tuple[str, float | None]]:
    verdict = audit.verdict
    yield "rows", audit.n
    predicted, observed = _names_of_means(verdict.about_confidence)
    yield predicted, verdict.predicted
    yield observed, verdict.observed
    yield "miscalibrated", verdict.miscalibrated
    yield "p_value", verdict.p_value
    for one in audit.metrics:
        yield one.alias, one.value
        yield f"{one.alias}_low", one.low
        yield f"{one.alias}_high", one.high
        yield f"{one.alias}_noise_floor", one.floor
    for change in () if audit.fix is None else audit.fix.changes:
        yield f"recalibrated/{CHANGED[change.name]}", change.after
    for folder, parts in (("classes", audit.parts), ("subgroups", audit.subgroups)):
        if parts:
            yield f"{folder}_miscalibrated", sum(part.flagged for part in parts)
        for part in parts:
            yield from _numbers_of_part(folder, part)


def _numbers_of_part(folder: str, part: Part) -> Iterator[tuple[str, float | None]]:
    names = [part.name] if folder == "classes" else [part.column, part.name]
    where = "/".join([folder, *map(legal, names)])
    predicted, observed = _names_of_means(part.direction in ("over-confident", "under-confident"))
    yield f"{where}/rows", part.n
    yield f"{where}/{predicted}", part.mean_score
    yield f"{where}/{observed}", part.rate
    yield f"{where}/ece", part.ece
    yield f"{where}/ece_low", part.low
    yield f"{where}/ece_high", part.high
    yield f"{where}/ece_noise_floor", part.floor


def _names_of_means(about_confidence: bool) -> tuple[str, str]:
    return ("mean_confidence", "accuracy") if about_confidence else ("mean_prediction", "observed_rate")


def legal(name: str) -> str:
    """Return the name of a class or subgroup as a part of a name that every tool allows.

    Where that changes it, a checksum follows, so that different names stay different.

    Examples
    --------
    >>> legal("north"), legal("north/east"), legal("north_east"), legal("")
    ('north', 'north_east-5ca094', 'north_east', '-e3b0c4')
    """
    kept = re.sub(r"[^\w.-]|(?<![\w-])\.|\.(?![\w-])", "_", name[:MAX_PART_NAME])
    if kept == name and name:
        return name
    return f"{kept}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"


# --- the picture ------------------------------------------------------------------------------------------------------


def diagram(audit: Audit) -> Any:
    """Draw the reliability diagram of an audit, with the answer above it, and return the figure of matplotlib."""
    table = _table(audit)
    full = table.n > 0
    limit = frame_end(None, table.conf[full], table.acc[full], table.weight[full])
    value = Reliability(
        table=table,
        ece=audit.verdict.ece,
        mce=float(np.abs(table.gap[full]).max()),
        notion="confidence" if audit.verdict.about_confidence else audit.verdict.notion,
        strategy=audit.verdict.strategy,
        histogram=_histogram(audit, limit) or table,
        limit=limit,
    )
    title = "\n".join(filter(None, [shortened(audit.title, MAX_TITLE), audit.verdict.label]))
    drawing = Drawing.on(None, title.replace("$", r"\$"), None, size=SIZE)  # "$" would begin a formula
    return draw_all(drawing, [("", value)], show_histogram=True)


def pixels(audit: Audit) -> NDArray[np.uint8]:
    """Return the same picture as an array of shape (height, width, 3)."""
    figure, written = diagram(audit), io.BytesIO()
    figure.savefig(written, format="rgba", dpi=DPI)
    width, height = (round(DPI * inches) for inches in SIZE)
    return np.frombuffer(written.getvalue(), np.uint8).reshape(height, width, 4)[..., :3].copy()


def _table(audit: Audit) -> ReliabilityTable:
    """Return the reliability table as the diagram reads it."""
    rows = [
        [math.nan if one is None else one for one in (row.start, row.end, row.n, row.weight, *_rates(row))]
        for row in audit.table
    ]
    start, end, n, weight, conf, acc, low, high = np.array(rows, np.float64).T
    return ReliabilityTable(
        edges=np.column_stack([start, end]),
        stratum=np.zeros(len(n), np.int64),
        n=n.astype(np.int64),
        weight=weight,
        conf=conf,
        acc=acc,
        gap=acc - conf,
        low=low,
        high=high,
        level=audit.verdict.level,
    )


def _rates(row: Bin) -> tuple[float | None, ...]:
    return row.conf, row.acc, row.low, row.high


def _histogram(audit: Audit, limit: float) -> ReliabilityTable | None:
    """Return the scores in bins of equal width, about 20 of them below the limit; None if they were not counted."""
    for one in audit.slices:
        if (one.class_name, one.column, one.stage) == (None, None, "before"):
            bins = next((n for n in DIVISORS if n * limit >= BARS), N_PAGE_CELLS)
            return table_of(one.cells.cells().coarsen(bins))
    return None
