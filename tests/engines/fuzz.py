"""Random frames on every engine, against a loop over their rows: dtypes, missing values, edges of cells, partitions.

`test_fuzz.py` runs a few seeds. A longer run: `python -m tests.engines.fuzz FIRST LAST [ENGINE ...]`.
"""

from __future__ import annotations

import importlib
import math
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from believable import BinStats, Layout, Predictions, Summary, View, engines
from believable.errors import InputError
from tests.needs import need

from .same import assert_same, assert_same_counts

SCORES = ("float16", "float32", "float64", "decimal", "int64", "uint8", "bool")
LABELS = (
    *("int8", "int64", "uint8", "float32", "float64", "decimal", "bool"),
    *("text", "large text", "categories", "numbers as categories"),
)
WEIGHTS = ("int64", "float32", "float64", "decimal", "bool")
SUBGROUPS = ("text", "categories", "int64", "bool")
TYPES = {
    "decimal": pa.decimal128(9, 6),
    "text": pa.string(),
    "large text": pa.large_string(),
    "bool": pa.bool_(),
    "categories": pa.dictionary(pa.int32(), pa.string()),
    "numbers as categories": pa.dictionary(pa.int32(), pa.int64()),
}
NAMES, NUMBERS = ("no", "yes", "maybe", "é ☃"), (5, 3, 0, 9)
REASONS = (
    *("missing score", "score outside [0, 1]", "row that does not sum to 1", "missing label", "unknown label"),
    *("missing weight", "weight negative or beyond 1e±100"),
)


@dataclass(frozen=True)
class Case:
    """Columns as lists, the kind of each, and the arguments of `summarize`.

    `classes` are the labels in the order of the classes; None means 0, 1, and so on.
    """

    columns: dict[str, list[Any]]
    kinds: dict[str, str]
    scores: list[str]
    n_classes: int
    classes: list[Any] | None
    asked: dict[str, Any]
    partitions: int

    def table(self) -> pa.Table:
        """The columns as an arrow table of two chunks."""
        whole = pa.table({name: _arrow(values, self.kinds[name]) for name, values in self.columns.items()})
        half = len(whole) // 2
        return pa.concat_tables([whole.slice(0, half), whole.slice(half)])

    @property
    def score_kind(self) -> str:
        """The type of the scores, also in lists."""
        return self.kinds[self.scores[0]].removeprefix("list of ")


def _arrow(values: list[Any], kind: str) -> pa.Array:
    if kind.startswith("list of "):
        return pa.array(values, pa.list_(pa.type_for_alias(kind.removeprefix("list of "))))
    if kind == "float16":
        values = [None if one is None else np.float16(one) for one in values]
    return pa.array(values, TYPES.get(kind) or pa.type_for_alias(kind))


# --- how a case is drawn ----------------------------------------------------------------------------------------------


def random_case(seed: int) -> Case:
    """Draw a case; the same seed gives the same one."""
    rng = np.random.default_rng(seed)
    n, width = int(rng.choice([1, 2, 7, 40])), int(rng.choice([1, 1, 1, 2, 3]))
    n_classes = max(width, 2)
    kind = str(rng.choice(SCORES[: 7 if width == 1 else 3]))
    bins = int(rng.choice([1, 3, 10, 15, 30]))
    names = ["p"] if width == 1 else [f"p_{k}" for k in range(width)]
    matrix = _event(rng, n, kind, bins) if width == 1 else _rows(rng, n, width, kind)
    columns = {name: _with_gaps(rng, matrix[:, k].tolist(), kind) for k, name in enumerate(names)}
    kinds = dict.fromkeys(names, kind)
    if width > 1 and kind != "float16" and rng.random() < 0.3:
        columns, kinds, names = {"p": _lists(rng, columns)}, {"p": f"list of {kind}"}, ["p"]

    kinds["y"] = str(rng.choice(LABELS))
    columns["y"], classes = _labels(rng, n, n_classes, kinds["y"])
    asked = _names_of(rng, classes, n_classes)
    if rng.random() < 0.5:
        asked["weight"], kinds["w"] = "w", str(rng.choice(WEIGHTS))
        columns["w"] = _weights(rng, n, kinds["w"])
    if rng.random() < 0.5:
        notion = "binary" if width == 1 else str(rng.choice(["confidence", "top_label", "classwise"]))
        asked |= {"bins": bins, "notions": [notion]}
    else:
        asked |= {"cells": int(rng.choice([840, 50_400])), "spacing": "uniform"}
        if rng.random() < 0.4:
            asked["by"], kinds["g"] = "g", str(rng.choice(SUBGROUPS))
            pool = {"bool": [True, False], "int64": [1, 2, 30]}.get(kinds["g"], ["east", "west", "é ☃"])
            levels = [pool[rng.integers(len(pool))] for _ in range(n)]
            # With gaps, integers are floats in pandas, and their subgroups are called 1.0 and 2.0 there.
            columns["g"] = levels if kinds["g"] == "int64" else _with_gaps(rng, levels, kinds["g"])
    if rng.random() < 0.8:
        asked["on_invalid"] = "drop"
    return Case(columns, kinds, names, n_classes, classes, asked, int(rng.integers(1, 5)))


def _event(rng: Any, n: int, kind: str, bins: int) -> Any:
    """Scores on edges of bins and cells, beside them, anywhere, at the ends, tiny, and now and then invalid."""
    if kind == "bool":
        return rng.random((n, 1)) < 0.5
    if kind in ("int64", "uint8"):
        return rng.integers(0, 2 if rng.random() < 0.8 else 3, (n, 1))
    if kind == "decimal":
        return np.array([[Decimal(int(one)) / 1_000_000] for one in rng.integers(0, 1_000_001, n)], object)
    grid = rng.choice([bins, 840, 50_400], n)
    p = np.where(rng.random(n) < 0.6, rng.integers(0, grid + 1) / grid, rng.random(n)).astype(kind)
    for end in (2, -1):
        p = np.where(rng.random(n) < 0.3, np.nextafter(p, p.dtype.type(end)), p)
    p = np.where(rng.random(n) < 0.1, rng.choice(np.array([0, 1, 0.5, 6e-8, 1e-30], kind), n), np.clip(p, 0, 1))
    if rng.random() < 0.1:
        p[rng.integers(n)] = rng.choice([-0.5, 2, np.inf, -np.inf, 97])
    return p[:, None]


def _rows(rng: Any, n: int, k: int, kind: str) -> Any:
    """Rows that sum to 1, some with ties, some certain, and now and then one that does not."""
    p = rng.dirichlet(np.full(k, 0.5), n)
    p[rng.random(n) < 0.2] = np.eye(k)[0]
    p[rng.random(n) < 0.2] = 1 / k
    if rng.random() < 0.1:
        p[rng.integers(n)] = 0.9
    return p.astype(kind)


def _lists(rng: Any, columns: dict[str, list[Any]]) -> list[Any]:
    """The scores as lists; the first is whole, others may be missing or shorter."""
    rows: list[Any] = [list(row) for row in zip(*columns.values(), strict=True)]
    rows[0] = [1.0] + [0.0] * (len(rows[0]) - 1)
    for i in range(1, len(rows)):
        if rng.random() < 0.1:
            rows[i] = None if rng.random() < 0.5 else rows[i][1:]
    return rows


def _labels(rng: Any, n: int, n_classes: int, kind: str) -> tuple[list[Any], list[Any] | None]:
    """Labels with gaps, now and then an unknown one; and the names of the classes, if they have names."""
    y = rng.integers(0, n_classes, n)
    if rng.random() < 0.15:
        y[rng.integers(n)] = n_classes
    if kind in ("text", "large text", "categories"):
        return _with_gaps(rng, [NAMES[i] for i in y], kind), list(NAMES[:n_classes])
    named = kind not in ("bool", "decimal") and rng.random() < 0.3
    y = np.array(NUMBERS)[y] if named else y
    values = {
        "bool": (y % 2 == 1).tolist(),
        "decimal": list(map(Decimal, y.tolist())),
        "numbers as categories": y.tolist(),
    }.get(kind)
    values = y.astype(kind).tolist() if values is None else values
    return _with_gaps(rng, values, kind), list(NUMBERS[:n_classes]) if named else None


def _names_of(rng: Any, classes: list[Any] | None, n_classes: int) -> dict[str, Any]:
    """How the labels are named in the call; now and then by names of another type."""
    if rng.random() < 0.05:
        return {"pos_label": 1 if classes and isinstance(classes[0], str) else "yes"}
    if classes is None:
        return {}
    if n_classes > 2 or rng.random() < 0.3:
        return {"classes": classes}
    return {"pos_label": classes[1]} | ({"neg_label": classes[0]} if rng.random() < 0.5 else {})


def _weights(rng: Any, n: int, kind: str) -> list[Any]:
    if kind == "decimal":
        return _with_gaps(rng, [Decimal(int(one)) / 8 for one in rng.integers(0, 20, n)], kind)
    w = np.round(rng.exponential(size=n), 2) if kind.startswith("float") else rng.integers(0, 4, n)
    if kind != "bool" and rng.random() < 0.1:
        w[rng.integers(n)] = -1
    return _with_gaps(rng, w.astype(kind).tolist(), kind)


def _with_gaps(rng: Any, values: list[Any], kind: str) -> list[Any]:
    """Replace none, a fifth or all of the values by None, and by NaN where the type has it."""
    share = float(rng.choice([0, 0.2, 1], p=[0.5, 0.48, 0.02]))
    gaps = [None, math.nan] if kind.startswith("float") else [None]
    return [gaps[rng.integers(len(gaps))] if rng.random() < share else one for one in values]


# --- what a loop over the rows says about it --------------------------------------------------------------------------


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def sorted_rows(case: Case) -> tuple[list[tuple[int, list[float], int, float]], dict[str, int]]:
    """The rows that count (place, scores, class, weight), and the number of the others by reason."""
    kept, why = [], Counter[str]()
    for i, label in enumerate(case.columns["y"]):
        p = [case.columns[name][i] for name in case.scores]
        if case.kinds[case.scores[0]].startswith("list"):
            p = p[0] if p[0] is not None and len(p[0]) == case.n_classes else [None]
        weight = case.columns["w"][i] if "w" in case.columns else 1
        reason = _reason(case, p, label, weight)
        if reason:
            why[reason] += 1
        elif weight:
            kept.append((i, [float(one) for one in p], _class_of(case, label), float(weight)))
    return kept, {reason: why[reason] for reason in REASONS if why[reason]}


def _reason(case: Case, p: list[Any], label: Any, weight: Any) -> str:
    """The first reason why a row cannot be counted, or nothing."""
    if any(map(_is_missing, p)):
        return "missing score"
    if not all(0 <= one <= 1 for one in p):
        return "score outside [0, 1]"
    if len(p) > 1 and abs(math.fsum(p) - 1) > 1e-3:
        return "row that does not sum to 1"
    if _is_missing(label):
        return "missing label"
    if _class_of(case, label) not in range(case.n_classes):
        return "unknown label"
    if _is_missing(weight):
        return "missing weight"
    return "weight negative or beyond 1e±100" if weight < 0 else ""


def _class_of(case: Case, label: Any) -> Any:
    if case.classes is None:
        return label
    if "pos_label" in case.asked and "neg_label" not in case.asked:
        return int(label == case.asked["pos_label"])
    return case.classes.index(label) if label in case.classes else -1


def expected(case: Case) -> tuple[Any, dict[str, int]]:
    """What arrays of the countable rows give (None if there are none), and the other rows by reason."""
    kept, dropped = sorted_rows(case)
    if not kept:
        return None, dropped
    dtype = "float32" if case.score_kind in ("float16", "float32") else "float64"
    places, scores, y, w = zip(*kept, strict=True)
    p = np.array(scores, dtype)
    p = p[:, 0] if p.shape[1] == 1 else p
    given = Predictions(p, np.array(y, int), sample_weight=w if "w" in case.columns else None)
    if "bins" in case.asked:
        (notion,) = case.asked["notions"]
        view = None if notion == "binary" else View(notion, case.n_classes)
        return BinStats.of(given, view, n_bins=case.asked["bins"]), dropped
    by = None
    if "g" in case.columns:
        by = {"g": ["missing" if _is_missing(one := case.columns["g"][i]) else str(one) for i in places]}
    kind = "binary" if p.ndim == 1 else "multiclass"
    layout = Layout.of(kind, case.n_classes, dtype, cells=case.asked["cells"], spacing="uniform")
    classes = tuple(map(str, case.asked["classes"])) if "classes" in case.asked else None
    return _named(Summary.of(given, layout, by=by), classes), dropped


def _named(summary: Summary, classes: tuple[str, ...] | None) -> Summary:
    by = {name: {level: _named(one, classes) for level, one in levels.items()} for name, levels in summary.by.items()}
    return replace(summary, classes=classes, by=by)


# --- the engines ------------------------------------------------------------------------------------------------------


def _pandas(table: pa.Table, _: int = 1) -> Any:
    return _shuffled(table.to_pandas())


def _nullable(table: pa.Table, _: int = 1) -> Any:
    import pandas

    types = {
        **{pa.type_for_alias(name): getattr(pandas, f"{name.title()}Dtype")() for name in ("int8", "int64")},
        **{pa.type_for_alias(name): getattr(pandas, f"{name.title()}Dtype")() for name in ("float32", "float64")},
        **{pa.uint8(): pandas.UInt8Dtype(), pa.bool_(): pandas.BooleanDtype(), pa.string(): pandas.StringDtype()},
    }
    return _shuffled(table.to_pandas(types_mapper=types.get))


def _arrow_backed(table: pa.Table, _: int = 1) -> Any:
    import pandas

    return _shuffled(table.to_pandas(types_mapper=pandas.ArrowDtype))


def _objects(table: pa.Table, _: int = 1) -> Any:
    """Python objects, which have no float16 and no float32."""
    import pandas

    if any(str(field.type).startswith(("float", "halffloat", "list<")) for field in table.schema):
        return None
    return _shuffled(
        pandas.DataFrame({name: table.column(name).to_pylist() for name in table.column_names}, dtype=object)
    )


def _shuffled(frame: Any) -> Any:
    """With an index that is neither in order nor distinct."""
    frame.index = np.arange(len(frame))[::-1] // 2
    return frame


def _dask(make: Any) -> Any:
    def made(table: pa.Table, partitions: int) -> Any:
        dask, dataframe = need("dask"), importlib.import_module("dask.dataframe")
        frame = make(table)
        if frame is None:
            return None
        # With four partitions the first is empty.
        ends = [0, *np.linspace(0, len(frame), partitions).astype(int)] if partitions > 1 else [0, len(frame)]
        parts = [dask.delayed(frame.iloc[a:b]) for a, b in pairwise(ends)]
        with dask.config.set({"dataframe.convert-string": False}):  # else dask makes text of lists and decimals
            return dataframe.from_delayed(parts, meta=frame.iloc[:0], verify_meta=False)

    return made


def _polars(table: pa.Table, _: int = 1) -> Any:
    import polars

    return polars.from_arrow(table)


def _without_half(make: Any) -> Any:
    """A frame of an engine that has no float16."""

    def made(table: pa.Table, partitions: int) -> Any:
        return None if pa.float16() in table.schema.types else make(table)

    return made


@cache
def _connection() -> Any:
    """A connection that stays open: before duckdb 1.5, a relation does not keep its own."""
    return need("duckdb").connect()


def _of_duckdb(table: pa.Table) -> Any:
    return need("duckdb").from_arrow(table, connection=_connection())


MAKERS = {
    "polars": _polars,
    "polars lazy": lambda table, _: _polars(table).lazy(),
    "pandas": _pandas,
    "pandas nullable": _nullable,
    "pandas arrow": _arrow_backed,
    "pandas objects": _objects,
    "pyarrow": lambda table, _: table,
    "duckdb": _without_half(_of_duckdb),
    "ibis": _without_half(lambda table: need("ibis").memtable(table)),
    "dask": _dask(_pandas),
    "dask nullable": _dask(_nullable),
    "dask arrow": _dask(_arrow_backed),
    "dask objects": _dask(_objects),
}


def _one_thread(frame: Any) -> Any:
    """Let dask count in this thread: warnings are caught for the whole process, and threads would lose some."""
    if not type(frame).__module__.startswith("dask"):
        return nullcontext()
    return importlib.import_module("dask").config.set(scheduler="synchronous")


def said(case: Case, frame: Any) -> tuple[Any, str]:
    """What `summarize` returns and warns of, or None and its sentence."""
    prob = case.scores[0] if len(case.scores) == 1 else case.scores
    with warnings.catch_warnings(record=True) as caught, _one_thread(frame):
        warnings.simplefilter("always")
        try:
            found = engines.summarize(frame, prob=prob, **case.asked)
        except InputError as error:
            return None, str(error)
    return found, " ".join(str(one.message) for one in caught if one.category is UserWarning)


def check(case: Case, frames: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong: numbers or reasons that are not those of the rows, or sentences that differ."""
    wanted, dropped = expected(case)
    sentences = {}
    for name, frame in frames.items():
        found, sentences[name] = said(case, frame)
        try:
            if found is not None and "bins" in case.asked:
                assert_same_counts(found, wanted)
                assert ("rows cannot be counted" in sentences[name]) == bool(dropped), sentences[name]
            elif found is not None:
                assert_same(found, wanted)
                assert found.dropped == dropped
            if "rows cannot be counted" in sentences[name]:
                missing = [reason for reason, n in dropped.items() if f"{reason}: {n}" not in sentences[name]]
                assert not missing, f"{missing} in {sentences[name]}"
        except (AssertionError, AttributeError) as error:  # the latter if nothing can be counted
            yield f"{name}: {' '.join(str(error).split())[:400]}"
    if len(set(sentences.values())) > 1:
        yield f"sentences differ: {sentences}"


def frames_of(case: Case, makers: dict[str, Any]) -> dict[str, Any]:
    """The frame of every engine that has the types of the case."""
    table = case.table()
    made = {name: make(table, case.partitions) for name, make in makers.items()}
    return {name: frame for name, frame in made.items() if frame is not None}


def main(first: str, last: str, *names: str) -> None:
    """Print what is wrong from one seed to another, and how many cases were counted rather than refused."""
    counted = 0
    for seed in range(int(first), int(last)):
        case = random_case(seed)
        frames = frames_of(case, {name: MAKERS[name] for name in names or MAKERS})
        counted += said(case, next(iter(frames.values())))[0] is not None
        for wrong in check(case, frames):
            print(seed, case.kinds, case.asked, wrong, sep=" | ", flush=True)
    print(f"{counted} of {int(last) - int(first)} cases were counted", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
