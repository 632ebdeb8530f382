"""MCGrad's multicalibration error of small tables, with every segment: `record_multicalibration.py OUT`.

It needs an environment that has mcgrad; `regenerate.sh` runs it, and keeps values/multicalibration.json. The
tables are made again from their seeds by `tables`, for which NumPy suffices: only uniform numbers of `RandomState`,
whose stream NumPy promises never to change, and `+ - * /` are used, so they are the same bit for bit on every machine;
`digest` names them. No two scores are equal, because MCGrad's sort leaves the order of ties open, and no two levels of
a column that it collapses are equally frequent, because it leaves their order open, too.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

CALL = "MulticalibrationError(df, 'y', 'p', precision_dtype='float64', {options})"
VALUES = "mce mce_relative mce_sigma mce_pvalue global_ecce global_ecce_relative global_ecce_sigma global_ecce_pvalue"


@dataclass(frozen=True)
class Table:
    """Scores, labels, perhaps weights, and the columns that make the segments.

    Missing values are None in a categorical column and NaN in a numeric one. `options` are MCGrad's own:
    `max_depth` (3), `max_values_per_segment_feature` (3), `min_samples_per_segment` (10).
    """

    p: np.ndarray
    y: np.ndarray
    w: np.ndarray | None = None
    categorical: dict[str, np.ndarray] = field(default_factory=dict)
    numeric: dict[str, np.ndarray] = field(default_factory=dict)
    options: dict[str, int] = field(default_factory=dict)


class Draw:
    """A stream of uniform numbers, and what is made of them."""

    def __init__(self, seed: int, n: int) -> None:
        self.stream, self.n = np.random.RandomState(seed), n

    def uniform(self) -> np.ndarray:
        return self.stream.random_sample(self.n)

    def levels(self, names: str, *shares: float) -> np.ndarray:
        """One of the names for each row, with these shares; `-` stands for a missing value."""
        chosen = np.searchsorted(np.cumsum(shares) / sum(shares), self.uniform(), side="right")
        known = np.array([None if name == "-" else name for name in names.split()], dtype=object)
        return known[np.minimum(chosen, len(known) - 1)]

    def weights(self) -> np.ndarray:
        """Eighths from 1/8 to 2."""
        return (1 + np.floor(16 * self.uniform())) / 8

    def labels(self, rate: np.ndarray) -> np.ndarray:
        return (self.uniform() < rate).astype(np.int64)

    def missing(self, x: np.ndarray, share: float) -> np.ndarray:
        return np.where(self.uniform() < share, np.nan, x)


def _scores(draw: Draw) -> np.ndarray:
    """Means of two uniform numbers, from 0.02 to 0.98."""
    return 0.02 + 0.48 * (draw.uniform() + draw.uniform())


def _two_columns(n: int, seed: int, weighted: bool = False, **options: int) -> Table:
    """Three levels by two; the rate is 0.12 too high in one intersection."""
    draw = Draw(seed, n)
    p = _scores(draw)
    site, sex = draw.levels("north south east", 5, 3, 2), draw.levels("f m", 1, 1)
    y = draw.labels(p + 0.12 * ((site == "south") & (sex == "f")) * (1 - p))
    return Table(p, y, draw.weights() if weighted else None, {"site": site, "sex": sex}, {}, options)


def _many_levels(n: int, seed: int, **options: int) -> Table:
    """Eight levels, of which MCGrad keeps the two most frequent, and a column of three."""
    draw = Draw(seed, n)
    p = _scores(draw)
    ward = draw.levels("a b c d e f g h", 30, 22, 15, 11, 8, 6, 5, 3)
    y = draw.labels(p - 0.3 * (ward == "c") * p)
    return Table(p, y, None, {"ward": ward, "shift": draw.levels("day night late", 3, 2, 1)}, {}, options)


def _codes(n: int, seed: int) -> Table:
    """A categorical column of integers: those that are collapsed become the smallest less one."""
    draw = Draw(seed, n)
    p = _scores(draw)
    code = np.array([3, 7, 11, 20, 21])[np.searchsorted([0.4, 0.65, 0.82, 0.94], draw.uniform())]
    return Table(p, draw.labels(0.1 + 0.8 * p), None, {"code": code})


def _numbers(n: int, seed: int, weighted: bool = False, **options: int) -> Table:
    """A numeric column that is cut at its terciles, one with two values, and a categorical one."""
    draw = Draw(seed, n)
    p = _scores(draw)
    age, child = 18 + 70 * draw.uniform(), np.floor(2 * draw.uniform())
    y = draw.labels(p * (0.75 + 0.25 * (age < 60)))
    weights = draw.weights() if weighted else None
    return Table(p, y, weights, {"kind": draw.levels("x y", 2, 1)}, {"age": age, "child": child}, options)


def _heaped(n: int, seed: int) -> Table:
    """More than half of a numeric column is 0, so that quantiles coincide and one interval disappears."""
    draw = Draw(seed, n)
    p = _scores(draw)
    visits = np.floor(np.maximum(0, 20 * draw.uniform() - 11))
    return Table(p, draw.labels(p * (1 - 0.2 * (visits > 2))), None, {}, {"visits": visits})


def _missing(n: int, seed: int, weighted: bool = False, **options: int) -> Table:
    """Missing values in a categorical and in a numeric column, and over-confidence where both are missing.

    In a categorical column a missing value is a level like others, which may be collapsed; in a numeric one it is not.
    """
    draw = Draw(seed, n)
    p = _scores(draw)
    region, income = draw.levels("n s w -", 5, 4, 2, 3), draw.missing(1000 + 4000 * draw.uniform(), 0.2)
    off = np.isnan(income) & np.array([r is None for r in region])
    y = draw.labels(np.where(off, 0.3 + 0.4 * p, p))
    return Table(p, y, draw.weights() if weighted else None, {"region": region}, {"income": income}, options)


def _rare(n: int, seed: int, weighted: bool = False) -> Table:
    """About 2 % events, twice as many as predicted in one level."""
    draw = Draw(seed, n)
    p = 0.001 + 0.06 * draw.uniform() * draw.uniform() * draw.uniform() * 2.2
    arm, centre = draw.levels("a b c", 5, 4, 3), draw.levels("1 2 3 4", 4, 3, 2, 1)
    y = draw.labels(p * (1 + (arm == "c")))
    return Table(p, y, draw.weights() if weighted else None, {"arm": arm, "centre": centre})


def _frequent(n: int, seed: int) -> Table:
    """About 90 % events: relative errors are then parts of the share of non-events."""
    draw = Draw(seed, n)
    p = 1 - 0.5 * draw.uniform() * draw.uniform()
    return Table(p, draw.labels(p - 0.02), None, {"half": draw.levels("left right", 1, 1)})


def _four_columns(n: int, seed: int, **options: int) -> Table:
    """Three categorical columns and a numeric one; an intersection of three is off by far."""
    draw = Draw(seed, n)
    p = _scores(draw)
    a, b, c = draw.levels("0 1", 1, 1), draw.levels("p q r", 3, 2, 2), draw.levels("u v w z", 5, 4, 2, 1)
    off = (a == "1") & (b == "q") & (c == "u")
    y = draw.labels(np.where(off, 0.5 * p, p))
    return Table(p, y, None, {"a": a, "b": b, "c": c}, {"x": draw.uniform()}, options)


def _weightless(n: int, seed: int) -> Table:
    """Every row of a level, and every seventh of the others, has weight 0."""
    draw = Draw(seed, n)
    p = _scores(draw)
    part = draw.levels("kept left other", 4, 1, 3)
    w = np.where((part == "left") | (np.arange(n) % 7 == 6), 0.0, draw.weights())
    return Table(p, draw.labels(0.2 + 0.6 * p), w, {"part": part})


def _hopeless(n: int, seed: int) -> Table:
    """Scores the wrong way round: the statistic is beyond the largest whose p-value MCGrad computes."""
    draw = Draw(seed, n)
    p = _scores(draw)
    return Table(p, draw.labels(1 - p), None, {"side": draw.levels("l r", 2, 1)})


def _whole(n: int, seed: int) -> Table:
    """No columns: the only segment is everybody."""
    draw = Draw(seed, n)
    p = _scores(draw)
    return Table(p, draw.labels(p))


MAKERS: dict[str, Callable[[], Table]] = {
    "two columns": lambda: _two_columns(400, 1),
    "two columns, weighted": lambda: _two_columns(400, 2, weighted=True),
    "60 rows": lambda: _two_columns(60, 3),
    "61 rows, weighted": lambda: _two_columns(61, 4, weighted=True),
    "depth 0": lambda: _two_columns(150, 5, max_depth=0),
    "depth 1, segments of 40": lambda: _two_columns(250, 6, max_depth=1, min_samples_per_segment=40),
    "many levels": lambda: _many_levels(600, 7),
    "many levels, five kept": lambda: _many_levels(600, 8, max_values_per_segment_feature=5),
    "integer codes": lambda: _codes(350, 9),
    "numbers": lambda: _numbers(700, 10),
    "numbers, weighted": lambda: _numbers(500, 11, weighted=True),
    "numbers, six values": lambda: _numbers(900, 12, max_values_per_segment_feature=6),
    "heaped numbers": lambda: _heaped(300, 13),
    "missing": lambda: _missing(500, 14),
    "missing, four values": lambda: _missing(400, 24, max_values_per_segment_feature=4),
    "missing, weighted": lambda: _missing(450, 15, weighted=True),
    "rare": lambda: _rare(2000, 16),
    "rare, weighted": lambda: _rare(1800, 17, weighted=True),
    "frequent": lambda: _frequent(800, 18),
    "four columns": lambda: _four_columns(1200, 19),
    "four columns, all depths": lambda: _four_columns(600, 20, max_depth=4, min_samples_per_segment=5),
    "rows without weight": lambda: _weightless(320, 21),
    "wrong way round": lambda: _hopeless(500, 22),
    "whole": lambda: _whole(200, 23),
}


def tables() -> dict[str, Table]:
    """All tables by name."""
    return {name: make() for name, make in MAKERS.items()}


def digest() -> str:
    """SHA-256 over the names and contents of every table."""
    h = hashlib.sha256()
    for name, table in tables().items():
        h.update(f"{name} {table.options}".encode())
        for column in (table.p, table.y, table.w, *table.categorical.values(), *table.numeric.values()):
            h.update(repr(None if column is None else column.tolist()).encode())
    return h.hexdigest()


def mcgrad_values(table: Table) -> dict[str, Any]:
    """MCGrad's numbers for a table: those of the whole, and rows, ECCE and its sigma of every segment in its order."""
    import pandas as pd
    from mcgrad.metrics import MulticalibrationError

    given = {"p": table.p, "y": table.y, **table.categorical, **table.numeric}
    error = MulticalibrationError(
        pd.DataFrame(given if table.w is None else given | {"w": table.w}),
        label_column="y",
        score_column="p",
        weight_column=None if table.w is None else "w",
        categorical_segment_columns=list(table.categorical) or None,
        numerical_segment_columns=list(table.numeric) or None,
        precision_dtype="float64",
        **table.options,
    )
    ecce, sigma = error.segments_ecce, error.segments_ecce_sigma
    masks, named = error._segments
    rows = masks.reshape(-1, masks.shape[-1]).sum(axis=1)
    where: list[dict[str, Any]] = [{} for _ in ecce]
    for column, value, i in named.itertuples(index=False):
        where[i][column] = value
    segments = zip(where, rows.tolist(), ecce.tolist(), sigma.tolist(), strict=False)
    return {
        **{name: float(getattr(error, name)) for name in VALUES.split()},
        "segments": [{"where": w, "rows": n, "ecce": e, "sigma": s} for w, n, e, s in segments],
    }


def plain(value: Any) -> Any:
    """Numbers, strings, lists and dicts that JSON knows; NaN and infinity as the strings "NaN" and "Infinity"."""
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity"
    return value


def main() -> None:
    """Compute everything and write it to the path given on the command line, a line for each segment."""
    certificate = {
        "package": "MCGrad",
        "version": version("MCGrad"),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "pandas")},
        "inputs_sha256": digest(),
        "note": "MulticalibrationError is mcgrad.metrics.MulticalibrationError; df, the weights and the columns of "
        "segments are those of the table",
    }
    head = json.dumps(certificate, indent=1)[:-2]
    records = []
    for name, table in tables().items():
        found = plain(mcgrad_values(table))
        lines = ",\n   ".join(json.dumps(segment) for segment in found.pop("segments"))
        options = ", ".join(["...", *(f"{option}={choice}" for option, choice in table.options.items())])
        record = {"input": name, "call": CALL.format(options=options), "quantity": "multicalibration error"}
        value = json.dumps(record | {"args": table.options, "value": found})[:-2]
        records.append(f'{value}, "segments": [\n   {lines}\n  ]}}}}')
    Path(sys.argv[1]).write_text(f'{head},\n "records": [\n  ' + ",\n  ".join(records) + "\n ]\n}\n")


if __name__ == "__main__":
    main()
