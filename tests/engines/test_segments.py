"""`segment_stats` counts what `SegmentStats.of` counts, on every engine: one test body for all."""

from __future__ import annotations

import datetime
import importlib
import math
import re
from collections import defaultdict
from decimal import Decimal
from itertools import pairwise

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from believable import BinStats, Predictions, find_segments
from believable.engines import segment_stats, summarize
from believable.engines.columns import HALF
from believable.errors import InputError, UndefinedError
from believable.recalibrate import GroupedRecalibrator
from believable.stats import SegmentStats
from tests.needs import need
from tests.stats.test_levels import literal_cuts

from .conftest import ENGINES

RNG = np.random.default_rng(11)
N = 400
P = np.where(RNG.random(N) < 0.1, np.round(RNG.random(N)), RNG.beta(0.5, 0.5, N))
Y = (RNG.random(N) < P).astype(np.int64)
Y[:5] = 1 - Y[:5]  # so that scores of 0 and 1 may be wrong
W = np.where(np.arange(N) % 10 == 3, 0.0, np.round(RNG.exponential(size=N) + 0.01, 2))
COUNTED = W > 0
K, MANY = RNG.integers(0, 5, N), RNG.integers(-30, 60, N)
NOON = datetime.datetime(2026, 3, 1, 12, 30)
MODULE = segment_stats.__globals__  # pytest may import the module again, for its examples, under the same name
SUMS = ("n", "ny", "w", "wp", "wy", "w2")


def gaps(values):
    """Every seventeenth value is missing."""
    return [None if i % 17 == 0 else value for i, value in enumerate(values)]


def some_nan(values):
    """Every fifth number is NaN, which is missing too."""
    return [math.nan if i % 5 == 0 else value for i, value in enumerate(values)]


TEXTS = gaps([["north", "süd", "", "missing", "é ☃"][k] for k in K])
PRICES = gaps([Decimal(int(one)) / 100 for one in MANY])
QUARTERS = gaps((MANY / 4).tolist())
TIMES = gaps([datetime.datetime(2026, 3, 1, 12, 30, int(k)) for k in K])
COLUMNS = {
    "site": pa.array(TEXTS),
    "arm": pa.array(TEXTS).dictionary_encode(),
    "smokes": pa.array(gaps([bool(k % 2) for k in K])),
    "month": pa.array(K.astype(np.int8)),
    "age": pa.array(MANY),
    "visits": pa.array(gaps(MANY.tolist())),
    "bmi": pa.array([math.nan if i % 5 == 0 else one for i, one in enumerate(QUARTERS)]),  # which is missing too
    "dose": pa.array(QUARTERS, pa.float32()),
    "endless": pa.array(np.where(MANY == 30, np.inf, MANY)),
    "price": pa.array(PRICES, pa.decimal128(6, 2)),
    "day": pa.array(gaps([datetime.date(2026, 3, int(k) + 1) for k in K])),
    "time": pa.array(TIMES, pa.timestamp("us")),
    "there": pa.array(TIMES, pa.timestamp("us", "Asia/Tokyo")),
    "case_id": pa.array(2**60 + MANY),
    "hash_id": pa.array([2**63 + int(k) for k in K], pa.uint64()),
    "nanoseconds": pa.array(2**60 + MANY * 1_000_003),
}
GROUPS = (  # few enough levels that entries have several rows
    ["site", "age", "smokes", "bmi"],
    ["arm", "visits", "price", "there"],
    ["month", "dose", "day"],
    ["endless", "time"],
    ["case_id", "hash_id", "nanoseconds"],
)


def table_of(names=(), **more):
    return pa.table({"p": P, "y": Y, "w": W} | {name: COLUMNS[name] for name in names} | more)


def values_of(names, rows=slice(None)):
    """The columns as `SegmentStats.of` takes them; decimals are numbers."""
    floats = pa.array([one if one is None else float(one) for one in PRICES])
    return {name: (COLUMNS | {"price": floats})[name].take(np.arange(N)[rows]) for name in names}


def as_table(one):
    """The sums of each entry, by its levels in words and its cell."""
    words = ([column.names[code] for code in codes] for column, codes in zip(one.columns, one.codes, strict=True))
    keys = zip(zip(*words, strict=True), one.cell.tolist(), strict=True)
    return {key: [float(getattr(one, name)[i]) for name in SUMS] for i, key in enumerate(keys)}


def assert_same(found, wanted, *, columns=True):
    """Equal levels, notes, cells and counts, and sums to rounding."""
    assert (found.names, found.view, found.grid) == (wanted.names, wanted.view, wanted.grid)
    if columns:
        assert (found.columns, found.notes) == (wanted.columns, wanted.notes)
    mine, others = as_table(found), as_table(wanted)
    assert mine.keys() == others.keys()
    for key, sums in mine.items():
        assert sums == pytest.approx(others[key], rel=1e-12, abs=1e-300)
        assert sums[:2] == others[key][:2]


QUICK, LONGER = ("polars-lazy", "pyarrow", "duckdb"), ("pandas", "ibis", "dask-parts")


@pytest.fixture(params=[*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in LONGER)])
def local_frame_of(request):
    """One engine of each kind, without Spark, whose queries take long."""
    return ENGINES[request.param]


# --- the statistic of the rows ----------------------------------------------------------------------------------------


def test_names_that_are_also_used_inside(local_frame_of):
    """Columns may be called anything, and be the scores or the labels too."""
    names = ["value", "key", "n", "level", "place", "digit0", "by0", "reason", "x", "low", "there", "word"]
    by = {name: COLUMNS["smokes" if i % 2 else "bmi"] for i, name in enumerate(names)}
    frame = local_frame_of(pa.table({"p0": P, "label_": Y, "w": W, **by}))
    for some in (names[:3], names[3:6], names[6:9], names[9:], ["p0", "w"]):
        columns = {name: by.get(name, pa.array(P if name == "p0" else W)) for name in some}
        assert_same(segment_stats(frame, "p0", "label_", by=some), SegmentStats.of(Predictions(P, Y), columns))
    found = segment_stats(frame, "p0", "label_", by=["key", "label_"])
    assert found.notes[-1].startswith("column label_ tells the outcome")


@pytest.mark.parametrize("names", GROUPS, ids=" ".join)
def test_each_type_of_column(local_frame_of, names):
    """Levels, ranges, notes and sums are those of the same values in arrays."""
    found = segment_stats(local_frame_of(table_of(names)), by=names)
    assert_same(found, SegmentStats.of(Predictions(P, Y), values_of(names)))
    assert found.rows == N


def literal_cell(p):
    """Cell 0 is a score of 0, cell 321 one of 1; the others are a quarter of the logit wide, right-closed."""
    if p in (0, 1):
        return 321 * int(p)
    return min(max(math.ceil((math.log(p) - math.log1p(-p) + 40) / 0.25), 1), 320)


def literal_range(value, cuts):
    """The words of the range of a number, which includes its upper end."""
    if value is None:
        return "missing"
    words = [f"up to {cuts[0]}", *(f"{low} to {high}" for low, high in pairwise(cuts)), f"above {cuts[-1]}"]
    return words[sum(value > cut for cut in cuts)]


def test_sums_of_each_entry(local_frame_of):
    """Each entry holds the sums of the rows with its levels whose score is in its cell; a weight of 0 is no row."""
    visits, there = COLUMNS["visits"].to_pylist(), [i for i in range(N) if W[i] > 0]
    ordered = sorted(visits[i] for i in there if visits[i] is not None)
    cuts = [ordered[math.ceil(len(ordered) * k / 3) - 1] for k in (1, 2)]
    expected = defaultdict(lambda: [0.0] * 6)
    for i in there:
        p, y, w = float(P[i]), float(Y[i]), float(W[i])
        site = "missing" if TEXTS[i] is None else TEXTS[i]
        key = (site, literal_range(visits[i], cuts)), literal_cell(p)
        for j, term in enumerate((1, y, w, w * p, w * y, w * w)):
            expected[key][j] += term
    frame = local_frame_of(table_of(["site", "visits"]))
    found = as_table(segment_stats(frame, by=["site", "visits"], weight="w", n_ranges=3))
    assert found.keys() == expected.keys()
    for key, sums in found.items():
        assert sums == pytest.approx(expected[key], rel=1e-12)


CELLS = st.one_of(st.none(), st.sampled_from([0.0, -0.0, 0.5, 1.0, 2.0, 3.0, 7.5, -4.0, 1e300, 5e-324, math.nan]))
MORE_CELLS = st.one_of(CELLS, st.floats(allow_infinity=False))
WORDS = st.one_of(st.none(), st.sampled_from(["a", "b", "", "missing", "other values", "0", "ü"]))


@settings(max_examples=40)
@given(st.data(), st.integers(1, 60), st.integers(2, 5), st.integers(2, 6))
def test_no_row_is_lost(data, n, max_levels, n_ranges):
    """Whatever the values, the statistic, or the error, is that of arrays, and every row is in it."""
    import polars

    columns = {
        name: polars.Series(name, data.draw(st.lists(cells, min_size=n, max_size=n)), dtype, strict=False)
        for name, cells, dtype in (("x", CELLS, polars.Float64), ("z", MORE_CELLS, None), ("word", WORDS, None))
    }
    frame = polars.DataFrame({"p": P[:n], "y": Y[:n], **columns})
    options = {"max_levels": max_levels, "n_ranges": n_ranges}
    try:
        wanted = SegmentStats.of(Predictions(P[:n], Y[:n]), columns, **options)
    except UndefinedError as error:
        with pytest.raises(UndefinedError, match=re.escape(str(error))):
            segment_stats(frame, by=list(columns), **options)
        return
    found = segment_stats(frame, by=list(columns), **options)
    assert found.rows == n
    assert_same(found, wanted)


@pytest.mark.parametrize("scores", ["float32", "float64"])
def test_scores_of_two_types_and_pairs(local_frame_of, scores):
    """Cells are those of the type of the scores; pairs are counted as such."""
    p = P.astype(scores)
    frame = local_frame_of(pa.table({"p": p, "y": Y == 1, "site": COLUMNS["site"]}))
    by = values_of(["site"])
    assert_same(segment_stats(frame, by="site", cells=80), SegmentStats.of(Predictions(p, Y), by, cells=80))
    found = segment_stats(frame, by="site", pairs=True)
    assert_same(found, SegmentStats.of(Predictions(p, Y, pairs=True), by))


def test_several_classes(local_frame_of):
    """The largest score counts, and whether its class occurred: of columns, named classes, lists and logits."""
    names = ["ant", "bee", "cat"]
    z = RNG.normal(0, 2, (N, 3))
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    y = RNG.integers(0, 3, N)
    lists = pa.array(p.tolist(), pa.list_(pa.float64()))
    more = {f"p_{name}": p[:, k] for k, name in enumerate(names)} | {f"z_{k}": z[:, k] for k in range(3)}
    table = pa.table({"what": np.array(names)[y], "k": y, "lists": lists, "site": COLUMNS["site"], **more})
    frame, by = local_frame_of(table), values_of(["site"])
    wanted = SegmentStats.of(Predictions(p, y), by)
    assert_same(segment_stats(frame, "p_", "what", by="site", classes=names), wanted)
    assert_same(segment_stats(frame, "lists", "k", by="site"), wanted)
    logits = SegmentStats.of(Predictions(z, y, from_logits=True), by)
    assert_same(segment_stats(frame, "z_", "k", by="site", from_logits=True), logits)


def test_named_labels(local_frame_of):
    """Labels may be text, of which one counts as 1, and one as 0 if there are others."""
    words = np.where(Y == 1, "yes", "no")
    odd = np.where(np.arange(N) % 50 == 0, "maybe", words)
    frame = local_frame_of(table_of(["site"], word=words, odd=odd))
    asked = {"by": "site", "pos_label": "yes"}
    assert_same(segment_stats(frame, label="word", **asked), SegmentStats.of(Predictions(P, Y), values_of(["site"])))
    asked |= {"label": "odd", "neg_label": "no", "on_invalid": "drop"}
    kept = odd != "maybe"
    wanted = SegmentStats.of(Predictions(P[kept], Y[kept]), values_of(["site"], kept))
    found = segment_stats(frame, **asked)
    assert_same(found, wanted, columns=False)
    assert found.notes == ("8 of 400 rows cannot be counted (unknown label: 8) and were left out",)


def test_partitions_with_categories_of_their_own():
    """Partitions of dask may have other categories; the values of all are counted."""
    need("dask")
    import dask
    import dask.dataframe

    parts = [ENGINES["pandas"](table_of(["arm"]).slice(start, 100)) for start in range(0, N, 100)]
    parts[1]["arm"] = parts[1]["arm"].cat.remove_unused_categories().cat.add_categories(["unused"])
    frame = dask.dataframe.from_delayed([dask.delayed(part) for part in parts], verify_meta=False)
    assert_same(segment_stats(frame, by="arm"), SegmentStats.of(Predictions(P, Y), values_of(["arm"])))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize("python_workers", [False, True])
def test_spark(spark, monkeypatch, python_workers):
    """It counts the same, by its own queries and in Python workers: in one piece, and in parts with keys of text."""
    names = ["site", "visits"] if python_workers else ["site", "bmi", "there", "case_id"]
    whole = table_of(names)
    halves = [spark.createDataFrame(part).repartition(2) for part in (whole.slice(0, 150), whole.slice(150))]
    asked = {"weight": "w", "python_workers": python_workers}
    found = segment_stats(halves[0].union(halves[1]), by=names, **asked)
    kept = np.flatnonzero(W)
    wanted = SegmentStats.of(Predictions(P, Y, sample_weight=W), values_of(names, kept))
    assert_same(found, wanted)
    if not python_workers:  # which import the module again
        monkeypatch.setitem(MODULE, "LARGEST_KEY", 2500)
    parts = [segment_stats(half, like=found, **asked) for half in halves]
    assert_same(parts[0] + parts[1], wanted)


# --- quantiles --------------------------------------------------------------------------------------------------------

NUMBERS = (0.0, -0.0, 0.1, 1 / 3, 5e-324, -1e-300, 1e308, -1.7e308, 7.0, np.nextafter(7.0, 8.0), 1e17, 2.0**53, -5.0)


@pytest.mark.parametrize("parts", [2, 5])
@pytest.mark.parametrize("most", [1, 200])
def test_quantiles_are_exact(local_frame_of, monkeypatch, parts, most):
    """Numbers of all sizes are cut at literal quantiles, in many rounds of few parts; `most` rows have the largest."""
    monkeypatch.setitem(MODULE, "BUCKETS", 3)
    numbers = [*NUMBERS, 11.0, 12.5, *[max(NUMBERS)] * most, *RNG.choice(NUMBERS, 30).tolist()]
    table = pa.table({"p": P[: len(numbers)], "y": Y[: len(numbers)], "x": numbers})
    found = segment_stats(local_frame_of(table), by="x", n_ranges=parts)
    assert found.columns[0].cuts == tuple(literal_cuts(numbers, parts))
    assert found.rows == len(numbers)


def test_equal_numbers_are_counted_together():
    """Polars divides a single row differently: the two zeros here once fell into different parts of a range."""
    numbers = [0.0, 3.0, 7.5, 1e300, 7e-202, -9e-95, *[None] * 10, 0.0, 0.5, 1.0, 2.0, 4.0, 5.0, 6.0, 1.5]
    table = pa.table({"p": P[: len(numbers)], "y": Y[: len(numbers)], "x": numbers})
    there = [x for x in numbers if x is not None]
    for engine in ("polars", "polars-lazy"):
        found = segment_stats(ENGINES[engine](table), by="x")
        assert found.columns[0].cuts == tuple(literal_cuts(there, 4))


def test_a_quantity_whose_first_rows_are_alike(local_frame_of, monkeypatch):
    """Whether its values are counted first or its quantiles searched at once, a quantity has the same ranges."""
    monkeypatch.setitem(MODULE, "ROWS_LOOKED_AT", 7)
    wanted = SegmentStats.of(Predictions(P, Y), {"age": np.sort(MANY)})
    frame = local_frame_of(pa.table({"p": P, "y": Y, "age": np.sort(MANY)}))
    assert_same(segment_stats(frame, by="age"), wanted)
    monkeypatch.setitem(MODULE, "MOST_VALUES", 20)
    assert_same(segment_stats(frame, by="age"), wanted)


# --- many values, many columns ----------------------------------------------------------------------------------------


def test_more_values_than_are_collected(local_frame_of, monkeypatch):
    """Of very many values, those with the most rows are levels, missing ones too; the others are combined."""
    monkeypatch.setitem(MODULE, "MOST_VALUES", 30)
    words = gaps([f"ward {one % 37}" for one in MANY])
    numbers = [10**15 + int(one) % 41 for one in MANY]
    by = {"ward": pa.array(words), "case_id": pa.array(numbers)}
    frame = local_frame_of(table_of(**by))
    wanted = SegmentStats.of(Predictions(P, Y), by, max_levels=6)
    found = segment_stats(frame, by=["ward", "case_id"], max_levels=6)
    assert_same(found, wanted)
    half = slice(None, N // 2)
    part = local_frame_of(table_of(**by).slice(0, N // 2))
    wanted = SegmentStats.of(Predictions(P[half], Y[half]), {name: one[:200] for name, one in by.items()}, like=found)
    assert_same(segment_stats(part, like=found), wanted)


def test_days_that_are_too_many_for_a_former_rule(monkeypatch):
    """Days that may have been too rare to be collected cannot be looked up: this is said."""
    monkeypatch.setitem(MODULE, "MOST_VALUES", 30)
    days = np.datetime64("2026-01-01") + MANY
    first, plain = (SegmentStats.of(Predictions(P, Y), {"day": days}, max_levels=most) for most in (6, 200))
    frame = ENGINES["polars"](table_of(day=days))
    with pytest.raises(InputError, match=r"column 'day' has \d\d values of type Date: cast it to text first"):
        segment_stats(frame, like=first)
    with pytest.raises(UndefinedError, match=r"column day has \d\d levels: segments need at most 32,767"):
        segment_stats(frame, like=plain)


def test_columns_that_do_not_fit_into_one_number(local_frame_of, monkeypatch):
    """Combinations of levels beyond 2^53 are several numbers, and the statistic is the same."""
    monkeypatch.setitem(MODULE, "LARGEST_KEY", 2500)
    names = ["site", "smokes", "month", "age", "price"]
    found = segment_stats(local_frame_of(table_of(names)), by=names)
    assert_same(found, SegmentStats.of(Predictions(P, Y), values_of(names)))


def test_too_many_entries(local_frame_of, monkeypatch):
    """A statistic that would not fit into memory is an error that names the column with the most levels."""
    monkeypatch.setitem(MODULE, "MOST_ENTRIES", 20)
    message = (
        "more than 20 combinations of levels and cells of the score: name fewer columns, or combine levels, of which "
        "site has 5, with max_levels="
    )
    with pytest.raises(UndefinedError, match=message):
        segment_stats(local_frame_of(table_of(["site", "smokes"])), by=["smokes", "site"])


# --- parts that add up ------------------------------------------------------------------------------------------------


def test_parts_add_up(local_frame_of):
    """With the levels of the whole, or of the first part, statistics of parts add up to that of the whole."""
    names = ["site", "age", "bmi", "there", "price"]
    table, by = table_of(names), values_of(names)
    whole = segment_stats(local_frame_of(table), by=names, weight="w")
    halves = [local_frame_of(table.slice(0, 150)), local_frame_of(table.slice(150))]
    parts = [segment_stats(half, weight="w", like=whole) for half in halves]
    assert_same(parts[0] + parts[1], whole)
    first = SegmentStats.of(Predictions(P[:30], Y[:30]), {name: one[:30] for name, one in by.items()})
    found = segment_stats(local_frame_of(table.slice(30)), by=[*reversed(names)], like=first)
    wanted = SegmentStats.of(Predictions(P[30:], Y[30:]), {name: one[30:] for name, one in by.items()}, like=first)
    assert_same(found, wanted)
    assert_same(first + found, first + wanted)


def test_levels_that_the_first_part_did_not_have(local_frame_of):
    """They are added, and those that do not occur are kept, so that all parts are numbered alike."""
    first = SegmentStats.of(Predictions(P[:4], Y[:4]), {"site": ["z", "b", "z", "b"], "age": [0, 0, 3, 3]})
    table = pa.table({"p": P[:3], "y": Y[:3], "site": ["c", None, "b"], "age": [7, 3, None]})
    found = segment_stats(local_frame_of(table), like=first)
    assert found.levels_of("site") == ("b", "z", "c", "missing")
    assert found.levels_of("age") == ("0", "3", "7", "missing")
    cut = SegmentStats.of(Predictions(P, Y), {"age": MANY})
    gone = local_frame_of(pa.table({"p": P[:3], "y": Y[:3], "age": pa.nulls(3)}))
    found = segment_stats(gone, like=cut)
    assert (found.rows, set(found.codes[0].tolist()), found.levels_of("age")[4:]) == (3, {4}, ("missing",))
    words = local_frame_of(pa.table({"p": P[:2], "y": Y[:2], "age": ["old", None]}))
    with pytest.raises(InputError, match="column 'age' was cut into ranges of numbers, but now holds 'old'"):
        segment_stats(words, like=cut)


def test_what_a_statistic_is_for():
    """Segments found, and maps fitted, are those of the rows."""
    by = ["site", "age"]
    stats = segment_stats(ENGINES["duckdb"](table_of(by)), by=by)
    columns = values_of(by)
    assert str(find_segments(stats)) == str(find_segments(P, Y, columns))
    fitted = GroupedRecalibrator().fit_from_statistics(stats)
    rows = GroupedRecalibrator().fit_from_statistics(SegmentStats.of(Predictions(P, Y), columns))
    np.testing.assert_allclose(fitted.transform(P, by=columns), rows.transform(P, by=columns), rtol=1e-10)


# --- rows that do not count, and columns that are left out ------------------------------------------------------------


def test_rows_that_cannot_be_counted(local_frame_of):
    """They are one number with its reasons: an error, or left out, with a note; their levels do not show."""
    bad = {3: ("p", math.nan), 8: ("p", 1.5), 21: ("y", None), 30: ("y", 2.0), 31: ("w", -1.0), 32: ("w", None)}
    columns = {"p": P.tolist(), "y": Y.astype(float).tolist(), "w": (W + 1).tolist()}
    for i, (name, value) in bad.items():
        columns[name][i] = value
    site = ["only here" if i in bad else one for i, one in enumerate(TEXTS)]
    age = np.where(np.isin(np.arange(N), [*bad]), 10**6, MANY)
    table = pa.table({name: pa.array(values, pa.float64()) for name, values in columns.items()})
    frame = local_frame_of(table.append_column("site", pa.array(site)).append_column("age", pa.array(age)))
    asked = {"by": ["site", "age"], "weight": "w"}
    why = (
        "6 of 400 rows cannot be counted (missing score: 1, score outside [0, 1]: 1, missing label: 1, unknown label: "
        "1, missing weight: 1, weight negative or beyond 1e±100: 1)"
    )
    with pytest.raises(InputError, match=re.escape(why)) as caught:
        segment_stats(frame, **asked)
    assert str(caught.value).endswith("; repair them, or pass on_invalid='drop' to leave them out")
    found = segment_stats(frame, **asked, on_invalid="drop")
    kept = ~np.isin(np.arange(N), [*bad])
    given = Predictions(P[kept], Y[kept], sample_weight=W[kept] + 1)
    wanted = SegmentStats.of(given, values_of(["site", "age"], kept), notes=[f"{why} and were left out"])
    assert_same(found, wanted)
    none_left = local_frame_of(table.slice(3, 1).append_column("town", pa.array(["x"])))
    with pytest.raises(InputError, match="the frame has no rows to count; 1 rows were dropped"):
        segment_stats(none_left, by="town", on_invalid="drop")


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # which ibis calls
@pytest.mark.parametrize("engine", ["polars", "duckdb", "ibis"])
def test_nan_in_parquet_files(tmp_path, engine):
    """It is missing in columns, and invalid in scores, although the statistics of the file leave it out."""
    p = np.where(np.arange(N) % 40 == 3, np.nan, P)
    pq.write_table(table_of(["bmi", "dose"], q=p), tmp_path / "rows.parquet")
    package = need(engine) if engine != "polars" else importlib.import_module(engine)
    read = package.scan_parquet if engine == "polars" else package.read_parquet
    frame = read(tmp_path / "rows.parquet") if engine != "duckdb" else read(str(tmp_path / "rows.parquet"))
    by = ["bmi", "dose"]
    assert_same(segment_stats(frame, by=by), SegmentStats.of(Predictions(P, Y), values_of(by)))
    found = segment_stats(frame, "q", by="dose", on_invalid="drop")
    there = ~np.isnan(p)
    assert_same(found, SegmentStats.of(Predictions(P[there], Y[there]), values_of(["dose"], there)), columns=False)
    assert found.notes[0] == "10 of 400 rows cannot be counted (missing score: 10) and were left out"


def test_decimals_are_their_digits(local_frame_of):
    """A decimal is the nearest float64, in scores and in columns: 0.70 is not above 0.7."""
    digits = [Decimal(i) / 100 for i in range(101)] * 2
    decimals, floats = pa.array(digits, pa.decimal128(5, 2)), np.arange(101).tolist() * 2
    y = np.arange(202) % 3 == 0
    frame = local_frame_of(pa.table({"p": decimals, "y": y, "x": decimals}))
    numbers = np.array([one / 100 for one in floats])
    assert summarize(frame, bins=20).n.tolist() == BinStats.of(Predictions(numbers, y), n_bins=20).n.tolist()
    found = segment_stats(frame, by="x", n_ranges=20)
    assert_same(found, SegmentStats.of(Predictions(numbers, y), {"x": numbers}, n_ranges=20))


def test_columns_without_segments(local_frame_of):
    """They are left out with the same sentences as of arrays, and are an error if no others are left."""
    by = {
        "none": pa.nulls(N, pa.string()),
        "same": pa.array(["x"] * N),
        "leak": pa.array(np.where(Y == 1, "ill", "well")),
        "row": pa.array([f"row {i}" for i in range(N)]),
        "age": COLUMNS["age"],
    }
    frame = local_frame_of(table_of(**by))
    found = segment_stats(frame, by=list(by))
    assert_same(found, SegmentStats.of(Predictions(P, Y), by))
    assert found.names == ("age",)
    assert len(found.notes) == 5
    with pytest.raises(UndefinedError, match=r"there are no segments: column none is missing in every row: .*; column"):
        segment_stats(frame, by=["none", "same"])


@pytest.mark.parametrize("label", [0, 1])
def test_a_single_class(local_frame_of, label):
    """Outcomes that never vary are counted like any others, unless a label was named that does not occur."""
    y = np.full(N, label)
    frame = local_frame_of(table_of(["site"], one=y))
    assert_same(segment_stats(frame, label="one", by="site"), SegmentStats.of(Predictions(P, y), values_of(["site"])))
    with pytest.raises(InputError, match="pos_label=5 does not occur in the valid rows of column 'one'"):
        segment_stats(frame, label="one", by="site", pos_label=5)


@pytest.mark.parametrize("engine", ["polars", "pandas", "pyarrow"])
def test_frames_do_not_change(engine):
    """Neither the rows nor the index of a frame are touched."""
    names = ["site", "arm", "dose", "price"]
    frame, before = ENGINES[engine](table_of(names)), ENGINES[engine](table_of(names))
    segment_stats(frame, by=names, weight="w")
    assert frame.equals(before)


# --- what is refused --------------------------------------------------------------------------------------------------

FIRST = SegmentStats.of(Predictions(P, Y), {"site": TEXTS, "age": MANY})


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({}, InputError, "by is missing: name the columns of segments"),
        ({"by": []}, InputError, "by is missing: name the columns of segments"),
        ({"by": "town"}, InputError, "by='town' is not a column of the frame, which has 'p', 'y', 'w', 'site'"),
        ({"by": 3}, InputError, "by must be the name of a column, got 3"),
        ({"by": ["site", None]}, InputError, "by must be the name of a column, got None"),
        ({"by": "site", "prob": "q"}, InputError, "prob='q' is not a column"),
        ({"by": "site", "weight": "v"}, InputError, "weight='v' is not a column"),
        ({"by": "site", "like": FIRST}, InputError, "by lacks column 'age'"),
        ({"like": FIRST}, InputError, "by='age' is not a column of the frame"),
        ({"like": "first"}, InputError, "like must be a SegmentStats, got str"),
        ({"by": "lists"}, InputError, "by column 'lists' is of type List.*, which has no subgroups"),
        ({"by": "site", "cells": 1}, InputError, "cells must be an integer from 2"),
        ({"by": "site", "max_levels": 1}, InputError, "max_levels must be an integer from 2 to 32767, got 1"),
        ({"by": "site", "n_ranges": 10**9}, InputError, "n_ranges must be an integer from 2 to 32767"),
        ({"by": "site", "on_invalid": "keep"}, InputError, "on_invalid must be"),
        ({"by": "site", "from_logits": "no"}, InputError, "from_logits must be"),
        ({"by": "site", "pairs": 1}, InputError, "pairs must be"),
        ({"by": "site", "prob": ["p", "q_"], "pairs": True}, InputError, "pairs"),
        ({"by": "site", "python_workers": True}, InputError, "python_workers=True is for frames of pyspark"),
    ],
)
def test_refusals(asked, error, message):
    """What cannot be counted is refused with a sentence that says why."""
    lists = pa.array([[1.0]] * N)
    frame = ENGINES["polars"](table_of(["site"], lists=lists, q_=1 - P))
    with pytest.raises(error, match=message):
        segment_stats(frame, **asked)


@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
def test_types_that_an_engine_cannot_look_up(engine):
    """It is said what to do."""
    frame = ENGINES[engine](table_of(wait=pa.array(K * 1_000_000, pa.duration("us"))))
    with pytest.raises(InputError, match=f"{engine} cannot look up values of the type of by column 'wait': cast it to"):
        segment_stats(frame, by="wait")


@pytest.mark.parametrize("engine", ["polars", "pyarrow"])
def test_periods_of_pandas(engine):
    """Outside pandas, they are of a type that the engine does not know."""
    pd = pytest.importorskip("pandas")
    months = pd.Series(pd.PeriodIndex([f"2024-0{k + 1}" for k in K], freq="M"))
    frame = pd.DataFrame({"p": P, "y": Y, "month": months})
    assert segment_stats(frame, by="month").levels_of("month")[:2] == ("2024-01", "2024-02")
    try:
        other = ENGINES[engine](pa.Table.from_pandas(frame))
    except Exception as error:  # of an older polars
        pytest.skip(f"{engine} cannot read them: {error}")
    with pytest.raises(InputError, match=f"{engine} cannot look up values of the type of by column 'month': cast it"):
        segment_stats(other, by="month")


@pytest.mark.parametrize("engine", ["pandas", "dask"])
@pytest.mark.parametrize("name", ["bands", "long"])
def test_categories_of_pandas(engine, name):
    """They are named as they are, also beside a missing value."""
    pd = pytest.importorskip("pandas")
    values = {
        "bands": pd.cut(pd.Series(gaps(K.tolist())), [-1, 1, 5]),
        "long": pd.Series(pd.Categorical(gaps((2**60 + K).tolist()))),
    }[name]
    frame = pd.DataFrame({"p": P, "y": Y, "c": values})
    if engine == "dask":
        need("dask")
        frame = importlib.import_module("dask.dataframe").from_pandas(frame, npartitions=3)
    found = segment_stats(frame, by="c")
    assert_same(found, SegmentStats.of(Predictions(P, Y), {"c": values}))
    assert found.levels_of("c")[0] == {"bands": "(-1, 1]", "long": str(2**60)}[name]


def test_uuids_of_duckdb():
    """The type has no name; a column of it that is missing has."""
    frame = ENGINES["duckdb"](table_of(site=pa.array([f"{k:032}" for k in K])))
    with pytest.raises(InputError, match="duckdb cannot look up values of the type of by column 'u': cast it to text"):
        segment_stats(frame.project("p, y, site::UUID as u"), by="u")
    with pytest.raises(UndefinedError, match="column u is missing in every row"):
        segment_stats(frame.project("p, y, NULL as u"), by="u")


@pytest.mark.skipif(nw.Float32 == HALF, reason="this narwhals does not know numbers of 16 bits")
@pytest.mark.parametrize("engine", ["polars", "pandas", "pyarrow"])
def test_narrow_numbers(engine):
    """Numbers of 16 bits are levels and quantities, also where the engine cannot look them up."""
    by = {"few": pa.array((K / 8).astype(np.float16)), "many": pa.array((MANY / 8).astype(np.float16))}
    found = segment_stats(ENGINES[engine](table_of(**by)), by=list(by))
    assert_same(found, SegmentStats.of(Predictions(P, Y), by))


def test_frames_without_rows(local_frame_of):
    """They have no segments."""
    with pytest.raises(InputError, match="the frame has no rows to count"):
        segment_stats(local_frame_of(table_of(["site"]).slice(0, 0)), by="site")
