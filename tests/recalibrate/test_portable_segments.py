"""`docs/portable.md` on maps by segment: its JavaScript and SQL, run as printed, give what Python gives."""

from __future__ import annotations

import copy
import datetime
import json
import re
import subprocess
import warnings
from functools import cache
from itertools import product

import numpy as np
import pytest

from believable.errors import LimitWarning
from believable.recalibrate import (
    AveragedCalibration,
    BetaCalibration,
    GroupedRecalibrator,
    HistogramBinning,
    IsotonicCalibration,
    LogitSplineCalibration,
    PlattScaling,
    TemperatureScaling,
    VennAbers,
    load_recalibrator,
)
from tests.needs import need
from tests.recalibrate.data import binary, logit, softmax
from tests.recalibrate.test_portable import PAGE, block

METHODS = ("pooled", "boosted")
N = 900
ODD = [1.0, 2.5, 1e-5, -0.0, 1e22, 123456789.0, float("nan")]  # numbers whose texts are easily written otherwise
DAYS = [datetime.date(2024, 1, 31), datetime.date(2024, 2, 1), None]


@cache
def columns_of_segments(seed=0):
    """Texts that are easily taken for others, odd numbers, truth values, days, a quantity, and many texts."""
    rng = np.random.default_rng(seed)
    some = {
        "site": ["north", "North", "01", "1", "", "1.0", "é", None],
        "odd": ODD,
        "smoker": [True, False],
        "day": DAYS,
        "age": [*np.round(rng.normal(50, 15, 60), 1).tolist(), float("nan")],
        "ward": [f"w{i}" for i in range(30)],
    }
    return {name: np.array(values, _type_of(name))[rng.integers(0, len(values), N)] for name, values in some.items()}


def _type_of(name):
    return {"odd": float, "age": float, "smoker": bool}.get(name, object)


@cache
def fitted(method):
    """A map of one event, fitted to rows for which the segments matter."""
    rng = np.random.default_rng(0)
    z, by = rng.normal(size=N) * 2, columns_of_segments()
    moved = 0.6 * z + (by["site"] == "01") - (by["odd"] == 2.5) - (by["age"] > 60) + 0.5 * by["smoker"]
    y = rng.random(N) < 1 / (1 + np.exp(-moved))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        return GroupedRecalibrator(method=method, max_levels=6).fit(1 / (1 + np.exp(-z)), y, by=by)


def some_map(method, base=None, input="probabilities", n_classes=1):
    """A map with the levels of the one above, of one event or of classes, in which all numbers were drawn."""
    rng = np.random.default_rng(3)
    model = GroupedRecalibrator(method=method, base=base or PlattScaling(), input=input)
    model.n_features_in_, model.classes_ = n_classes, np.arange(max(n_classes, 2))
    model.maps_ = tuple(_drawn(rng, method, base, input) for _ in range(1 if n_classes < 3 else n_classes))
    return load_recalibrator(model.to_json())  # every field is checked


def _drawn(rng, method, base, input):
    p, y = binary()
    common = (
        copy.deepcopy(base or PlattScaling())
        .set_params(input=input)
        .fit(p if input == "probabilities" else logit(p), y)
    )
    by = fitted(method).maps_[0]["by"]
    sizes = [len(rule["names"]) for rule in by]
    if method == "pooled":
        pooled = [{name: rng.normal(size=size).tolist() for name in ("slope", "intercept")} for size in sizes]
        others = [{"share": [0.5] * size, "rows": [9.0] * size} for size in sizes]
        return {"base": common, "by": by, "pooled": [one | other for one, other in zip(pooled, others, strict=True)]}
    tables = [_table(rng, columns, sizes) for columns in ([], [0], [4], [1, 2], [5, 3, 0], [4, 1])]
    boosted = {"rounds": 9, "gain": 0.1, "gain_error": 0.01, "clip": [-2.5, 1.5], "tables": tables}
    return {"base": common, "by": by, "boosted": boosted}


def _table(rng, columns, sizes):
    """A table with half of its segments, whose columns have groups of one or more levels."""
    groups = [np.unique(rng.integers(0, sizes[j], sizes[j]), return_inverse=True)[1].tolist() for j in columns]
    segments = [list(one) for one in product(*(range(max(group) + 1) for group in groups))]
    kept = [segments[i] for i in rng.permutation(len(segments))[: len(segments) // 2 + 1]]
    numbers = {name: rng.normal(size=len(kept)).tolist() for name in ("intercepts", "slopes")}
    return {"columns": columns, "groups": groups, "segments": kept, **numbers}


def hard_rows(model):
    """Scores inside and far outside those fitted; values of all kinds, seen, not seen and missing, cuts and beside."""
    rng, n, n_classes = np.random.default_rng(7), 400, model.n_features_in_
    x = rng.normal(size=(n, n_classes)) * rng.choice([1, 4, 30], (n, 1))
    if model.input == "probabilities":
        x = 1 / (1 + np.exp(-x)) if n_classes == 1 else softmax(x)
    if n_classes == 1:
        x = x[:, 0]
        x[:5] = [0, 1, 1e-13, 1 - 1e-13, 5e-324] if model.input == "probabilities" else [0, 1e4, -1e4, 1e300, -1e300]
    cuts = [cut for rule in model.maps_[-1]["by"] if rule["column"] == "age" for cut in rule["cuts"]]
    some = {
        "site": [*set(columns_of_segments()["site"].tolist()), "north ", "other values", "missing", "1e5"],
        "odd": [*ODD, 100000.0, 0.1, 1e-7, -2.5, 2.0**53, 1e16, 1e15 + 0.5, 0.00012345],
        "smoker": [True, False, None],
        "day": [*DAYS, datetime.date(1999, 12, 31), datetime.datetime(2024, 1, 31, 12, 0), "2024-02-01"],
        "age": [*cuts, *np.nextafter(cuts, -9e9), *np.nextafter(cuts, 9e9), -1e300, 1e300, -0.0, float("nan")],
        "ward": [*(f"w{i}" for i in range(30)), "new", "other values", "missing", None, ""],
    }
    return x, {name: [values[i] for i in rng.integers(0, len(values), n)] for name, values in some.items()}


def in_python(model, x, by):
    return model.transform(x, by={name: np.array(values, _array_type(name)) for name, values in by.items()})


def _array_type(name):
    return float if name in ("age", "odd") else object


def as_text_or_number(value):
    """A value as the page says that it is passed: dates as text, missing ones as null."""
    if value is None or value != value:
        return None
    return value if isinstance(value, (bool, str, float)) else str(value)


# --- JavaScript -------------------------------------------------------------------------------------------------------

RUN = """
import { readFileSync } from 'node:fs'
import { apply } from './believable.mjs'
const cases = JSON.parse(readFileSync(0, 'utf8'))
console.log(JSON.stringify(cases.map(({ saved, rows }) => rows.map(([x, values]) => apply(saved, x, values)))))
"""


def node(folder, cases):
    (folder / "believable.mjs").write_text(block("js", "believable.mjs"))
    (folder / "run.mjs").write_text(RUN)
    given = json.dumps([{"saved": saved, "rows": rows} for saved, rows in cases])
    return subprocess.run([need("node"), "run.mjs"], cwd=folder, input=given, capture_output=True, text=True)


def in_javascript(folder, cases):
    rows = []
    for model, x, by in cases:
        given = [dict(zip(by, map(as_text_or_number, row), strict=True)) for row in zip(*by.values(), strict=True)]
        rows.append((json.loads(model.to_json()), list(zip(x.tolist(), given, strict=True))))
    done = node(folder, rows)
    assert done.returncode == 0, done.stderr
    return [np.array(one, float) for one in json.loads(done.stdout)]


@pytest.mark.parametrize("method", METHODS)
def test_javascript_of_one_event(method, tmp_path):
    """Each kind of value has the level that it has in Python, whatever the scale and the common map."""
    need("node")
    models = [fitted(method), *(some_map(method, input=input) for input in ("probabilities", "logits", "scores"))]
    models += [some_map(method, base) for base in (IsotonicCalibration(), AveragedCalibration(), BetaCalibration())]
    cases = [(model, *hard_rows(model)) for model in models]
    for case, found in zip(cases, in_javascript(tmp_path, cases), strict=True):
        np.testing.assert_allclose(found, in_python(*case), rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("input", ["probabilities", "logits"])
def test_javascript_of_classes(method, input, tmp_path):
    """Two columns are one event, three are three, and a class that did not occur keeps its score."""
    need("node")
    two, three, absent = (some_map(method, input=input, n_classes=k) for k in (2, 3, 3))
    absent.maps_ = (None, *absent.maps_[1:])
    cases = [(model, *hard_rows(model)) for model in (two, three, absent)]
    for case, found in zip(cases, in_javascript(tmp_path, cases), strict=True):
        np.testing.assert_allclose(found, in_python(*case), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (None, "the map needs column age"),
        ({}, "the map needs column age"),
        ({"Age": 31}, "the map needs column age"),
        ({"age": "31"}, "column age was cut into ranges of numbers, but now holds 31"),
        ({"age": True}, "column age was cut into ranges of numbers, but now holds True"),
        ({"age": [31]}, "a value must be text, a number, true, false or null"),
    ],
)
def test_javascript_refuses_columns_that_do_not_fit(values, sentence, tmp_path):
    """A column that is not passed, and text in a column of numbers, are errors and never the common map."""
    saved = json.loads(some_map("pooled").to_json())
    (one,) = saved["maps"]
    for name in ("by", "pooled"):
        one[name] = one[name][4:5]
    done = node(tmp_path, [(saved, [[0.5, values]])])
    assert done.returncode == 1
    assert f"Error: {sentence}" in done.stderr


# --- SQL --------------------------------------------------------------------------------------------------------------

QUERIES = {
    "PlattScaling": "formulas.sql",
    "BetaCalibration": "formulas.sql",
    "TemperatureScaling": "formulas.sql",
    "LogitSplineCalibration": "curves.sql",
    "IsotonicCalibration": "lines.sql",
    "HistogramBinning": "bins.sql",
    "VennAbers": "venn_abers.sql",
    "AveragedCalibration": "average.sql",
}
COMMON_MAPS = [
    *((PlattScaling(), input) for input in ("probabilities", "logits", "scores")),
    (BetaCalibration(), "probabilities"),
    (TemperatureScaling(), "logits"),
    (LogitSplineCalibration(), "probabilities"),
    (IsotonicCalibration(), "logits"),
    (HistogramBinning(), "probabilities"),
    (VennAbers(), "scores"),
    (AveragedCalibration(), "probabilities"),
]


def kept(connection):
    """Run the query of the common map, and keep what it returns, as the page says."""
    (name,) = connection.execute("SELECT method FROM map").fetchone()
    query = block("sql", QUERIES[name]).strip().removesuffix(";")
    keep = block("text", "CREATE OR REPLACE TABLE common")
    connection.execute(re.sub(r"\(….*…\)", lambda _: f"({query})", keep))


def cells(value):
    """The text and the number that stand for a value."""
    value = as_text_or_number(value)
    if isinstance(value, bool):
        value = str(value)
    return (None, value) if isinstance(value, float) else (value, None)


def in_sql(folder, model, x, by):
    duckdb = need("duckdb")
    model.to_json(folder / "map.json")
    with duckdb.connect() as connection:
        connection.execute(block("sql", "tables.sql").replace("'map.json'", f"'{folder / 'map.json'}'"))
        connection.execute("INSERT INTO scores SELECT unnest(?), unnest(?)", [list(range(len(x))), x.tolist()])
        rows = [(i, name, *cells(value)) for name, values in by.items() for i, value in enumerate(values)]
        table = [list(column) for column in zip(*rows, strict=True)]
        insert = "INSERT INTO segments SELECT unnest(?), unnest(?), unnest(?::VARCHAR[]), unnest(?::DOUBLE[])"
        connection.execute(insert, table)
        connection.execute(block("sql", "common_map.sql"))
        kept(connection)
        found = connection.execute(block("sql", "by_segment.sql")).fetchall()
    assert [row[0] for row in found] == list(range(len(x)))
    return np.array([row[1] for row in found])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("base", "input"), COMMON_MAPS, ids=str)
def test_sql(method, base, input, tmp_path):
    """In SQL too, for each common map that has a query."""
    model = some_map(method, base, input)
    x, by = hard_rows(model)
    np.testing.assert_allclose(in_sql(tmp_path, model, x, by), in_python(model, x, by), rtol=0, atol=1e-12)


def test_sql_refuses_columns_that_do_not_fit(tmp_path):
    """A column without an entry, text in a column of numbers, and several classes are errors."""
    duckdb = need("duckdb")
    model = some_map("pooled")
    x, by = hard_rows(model)
    with pytest.raises(duckdb.Error, match=r"row \d+ has no column age in segments"):
        in_sql(tmp_path, model, x, {name: values for name, values in by.items() if name != "age"})
    with pytest.raises(duckdb.Error, match="column age was cut into ranges of numbers, but now holds 31"):
        in_sql(tmp_path, model, x, by | {"age": ["31"] * len(x)})
    with pytest.raises(duckdb.Error, match="not for GroupedRecalibrator with 3 columns"):
        in_sql(tmp_path, some_map("pooled", n_classes=3), x, by)


# --- the words --------------------------------------------------------------------------------------------------------


def test_every_field_is_explained():
    """The table of the section has the fields of a map, and its text those of a rule and of a table."""
    section = PAGE[PAGE.index("## Maps by segment") : PAGE.index("## JavaScript")]
    rows = [line.split("|")[1] for line in section.split("\n") if line.startswith("| `")]
    assert [name for row in rows for name in re.findall(r"`(\w+)`", row)] == list(GroupedRecalibrator.fields)
    pooled, boosted = (some_map(method).maps_[0] for method in METHODS)
    names = {*boosted["by"][0], *boosted["boosted"], *boosted["boosted"]["tables"][0], *pooled["pooled"][0]}
    assert names <= set(re.findall(r"`(\w+)`", section))
