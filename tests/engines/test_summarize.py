"""`summarize` counts what `Summary.of` counts, on every engine: one test body for all."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from believable import BinStats, Edges, Layout, Predictions, Summary, View, engines
from believable.errors import InputError

from .conftest import ENGINES
from .same import assert_same, assert_same_counts

N = 300


def rng():
    return np.random.default_rng(7)


def around(values, dtype):
    """Numbers with their neighbours on both sides."""
    values = np.asarray(values).astype(dtype)
    ends = np.array([-1, 2], dtype)
    near = np.concatenate([values, np.nextafter(values, ends[0]), np.nextafter(values, ends[1])])
    return near[(near >= 0) & (near <= 1)]


def matrix(n=N, k=4):
    p = rng().dirichlet(np.full(k, 0.4), n)
    p[:3] = [0.25, 0.25, 0.25, 0.25], [0.5, 0, 0.5, 0], [0, 1, 0, 0]  # ties go to the lowest class
    return p


@pytest.mark.slow
def test_binary_scores_with_weights_and_subgroups(frame_of):
    """Cells, sums and subgroups are those of the data; a weight of 0 removes the row, a missing level is one."""
    p = rng().beta(1, 3, N)
    p[:4], p[4:8] = [0, 1, 0.5, 1e-9], [1e-300, 1 - 1e-12, 0.1, 0.3]
    y = (rng().random(N) < p).astype(np.int64)
    y[:2] = 0, 1
    w = np.round(rng().exponential(size=N), 2)
    w[20:30] = 0
    site = [None if i % 11 == 0 else "east" if i % 3 else "west" for i in range(N)]
    table = pa.table({"score": p, "y": y, "w": w, "site": pa.array(site, pa.string())})
    found = engines.summarize(frame_of(table), prob="score", weight="w", by=["site"])
    kept = w > 0
    by = {"site": np.array([one or "missing" for one in site])[kept]}
    assert_same(found, Summary.of(Predictions(p, y, sample_weight=w), by=by))
    assert found.dropped == {}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scores_on_edges_fall_into_the_bins_of_the_data(frame_of, dtype):
    """k/M and its neighbours, in both types; uniform and given edges, and both grids."""
    k = rng().integers(0, 50_401, 150)
    p = np.concatenate(
        [around(k / 50_400, dtype), around(np.arange(31) / 30, dtype), around([0.3, 1 / 3, 1e-6], dtype)]
    )
    y = np.arange(len(p)) % 2 == 0
    given = Predictions(p, y)
    frame = frame_of(pa.table({"p": p, "y": y}))
    assert_same(engines.summarize(frame), Summary.of(given), logit_exact=False)
    edges = Edges.uniform(30, dtype) if dtype == "float32" else Edges.given([0, 1e-7, 0.1, 0.3, 1 / 3, 0.7, 1])
    assert_same_counts(engines.summarize(frame, bins=edges), BinStats.of(given, edges=edges))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logit_cells_are_those_of_the_data_but_for_rounding(dtype):
    """On the edges and beside them the cell is the same or the next; elsewhere it is the same, to the last score."""
    layout = Layout.of(dtype=dtype, spacing="logit")
    edges = layout.views[0][1].inner_edges()
    near_one = 1 - np.arange(1, 2000) * np.finfo(dtype).epsneg  # where neighbouring edges are the same number
    for scores, beside in ((rng().beta(0.1, 0.4, 4000), 0), (near_one, 0), (around(edges[5::97], dtype), 1)):
        p = np.asarray(scores, dtype)
        wanted = Summary.of(Predictions(p, np.zeros(len(p), int)), layout).cells[0]
        table = pa.table({"p": p, "y": np.zeros(len(p), int)})
        found = engines.summarize(pa_to_polars(table), spacing="logit").cells[0]
        places = [np.repeat(one.index, one.n) for one in (found, wanted)]  # both in ascending order of the scores
        assert np.abs(places[0] - places[1]).max() <= beside


def pa_to_polars(table):
    import polars

    return polars.from_arrow(table)


@pytest.mark.slow
def test_wide_columns_of_classes(frame_of):
    """All three notions and the sums of rows, with ties, subgroups and names of classes; several partitions too."""
    p, names = matrix(), ["ant", "bee", "cat", "dog"]
    y = np.array([rng().choice(4, p=row) for row in p])
    group = np.arange(N) % 2
    columns = {f"p_{name}": p[:, k] for k, name in enumerate(names)}
    table = pa.table({"y": np.array(names)[y], "group": group, **dict(reversed(columns.items()))})
    found = engines.summarize(frame_of(table), prob="p_", classes=names, by="group", cells=840)
    given = Predictions(p, np.array(names)[y], classes=names)
    layout = Layout.of("multiclass", 4, cells=840)
    assert_same(found, Summary.of(given, layout, by={"group": group.astype(str)}))


def test_lists_of_logits(frame_of):
    """A column of lists is a matrix; the softmax is taken in float64, whatever the size of the logits."""
    z = rng().normal(0, 3, (N, 3))
    z[0] = 1000, -1000, 0
    y = rng().integers(0, 3, N)
    lists = pa.array(z.tolist(), pa.list_(pa.float64()))
    frame = frame_of(pa.table({"p0": lists, "scores": y, "w": np.ones(N)}))  # names that are also used inside
    asked = {"prob": "p0", "label": "scores", "from_logits": True}
    bins = engines.summarize(frame, **asked, bins=15, notions=["top_label"])
    assert_same_counts(bins, BinStats.of(Predictions(z, y, from_logits=True), View("top_label", 3), n_bins=15))


@pytest.mark.slow
def test_rows_that_cannot_be_counted(frame_of):
    """They are one number with its reasons: an error, or dropped and reported."""
    p = [None, float("nan"), float("inf"), -0.1, 1.5, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.4, 0.0]
    y = [1, 1, 1, 1, 1, None, 2, 0.5, 1, 1, 1, 1, 1]
    w = [1, 1, 1, 1, 1, 1, 1, 1, None, -1, float("nan"), 1, 0]
    table = pa.table({"p": pa.array(p, pa.float64()), "y": pa.array(y, pa.float64()), "w": pa.array(w, pa.float64())})
    frame = frame_of(table)
    found = engines.summarize(frame, weight="w", on_invalid="drop", cells=840)
    reasons = {"missing score": 2, "score outside [0, 1]": 3, "missing label": 1, "unknown label": 2}
    assert found.dropped == reasons | {"missing weight": 2, "weight negative or beyond 1e±100": 1}
    assert_same(found, Summary.of(Predictions([0.4], [1], sample_weight=[1.0]), Layout.of(cells=840)))
    with pytest.raises(InputError, match=r"11 of 13 rows cannot be counted \(missing score: 2, score outside"):
        engines.summarize(frame, weight="w", bins=2)


def test_text_decimals_and_booleans(frame_of):
    """Decimal scores are numbers, text labels need a name for 1, and text is never a score."""
    scores = [Decimal("0.10"), Decimal("0.25"), None, Decimal("0.90")]
    table = pa.table(
        {
            "p": pa.array(scores, pa.decimal128(5, 2)),
            "spelt": ["0.1", "0.2", "0.3", "0.4"],
            "y": pa.array(["no", "yes", "yes", "yes"]),
            "flag": pa.array([False, True, True, True]),
        }
    )
    frame = frame_of(table)
    wanted = BinStats.of(Predictions([0.1, 0.25, 0.9], [0, 1, 1]), n_bins=4)
    for asked in ({"pos_label": "yes"}, {"pos_label": "yes", "neg_label": "no"}, {"label": "flag"}):
        with pytest.warns(UserWarning, match=r"1 of 4 rows cannot be counted \(missing score: 1\) and were left out"):
            assert_same_counts(engines.summarize(frame, bins=4, on_invalid="drop", **asked), wanted)
    with pytest.raises(InputError, match=r"column 'spelt' holds text, not scores: cast it to a number first"):
        engines.summarize(frame, prob="spelt", label="flag")
    with pytest.raises(InputError, match=r"labels in column 'y' are text: pass pos_label="):
        engines.summarize(frame)


def test_a_third_label_is_refused(frame_of):
    """Labels that nobody named are not counted as negatives, whether they are text or numbers."""
    for column in (pa.array(["no", "yes", "maybe", "no"]), pa.array([1, 2, 3, 1])):
        frame = frame_of(pa.table({"p": [0.1, 0.9, 0.6, 0.4], "y": column}))
        no, yes, *_ = column.to_pylist()
        with pytest.raises(
            InputError, match=r"column 'y' has 3 labels \(.*\), but pos_label=.* names only one; name the one"
        ):
            engines.summarize(frame, pos_label=yes, bins=4)
        named = {"pos_label": yes, "neg_label": no}
        with pytest.raises(InputError, match=r"1 of 4 rows cannot be counted \(unknown label: 1\)"):
            engines.summarize(frame, bins=4, **named)
        with pytest.warns(UserWarning, match="unknown label: 1"):
            found = engines.summarize(frame, bins=4, on_invalid="drop", **named)
        assert_same_counts(found, BinStats.of(Predictions([0.1, 0.9, 0.4], [0, 1, 0]), n_bins=4))
        with pytest.raises(InputError, match="pos_label and neg_label are both"):
            engines.summarize(frame, pos_label=yes, neg_label=yes, bins=4)


def test_long_partitions_of_dask_are_counted_in_pieces(monkeypatch):
    """Pieces of a partition add up to it."""
    from believable.engines import frames

    monkeypatch.setattr(frames, "ROWS_COUNTED_AT_ONCE", 70)
    p = rng().random(N)
    table = pa.table({"p": p, "y": p > 0.4, "site": np.arange(N) % 2})
    frame = ENGINES["dask-parts"](table)
    wanted = Summary.of(Predictions(p, p > 0.4), Layout.of(cells=840), by={"site": (np.arange(N) % 2).astype(str)})
    assert_same(engines.summarize(frame, by="site", cells=840), wanted)


def test_workers_of_spark_add_up_their_pieces(monkeypatch):
    """Batches of arrow are gathered, counted and added as one table would be."""
    import polars

    from believable.engines import frames

    def by_sign(rows):
        """Sums of x by its sign."""
        import narwhals as nw

        return rows.group_by("key").agg(nw.len().alias("n"), nw.col("x").sum())

    x = np.arange(-500.0, 500.0)
    whole = polars.DataFrame({"key": np.sign(x).astype(int), "x": x})
    batches = whole.to_arrow().to_batches(max_chunksize=30)
    monkeypatch.setattr(frames, "ROWS_COUNTED_AT_ONCE", 100)
    (found,) = frames._Worker(by_sign)(iter(batches))
    wanted = {-1: (500, x[x < 0].sum()), 0: (1, 0.0), 1: (499, x[x > 0].sum())}
    assert {row["key"]: (row["n"], row["x"]) for row in found.to_pylist()} == wanted
    assert list(frames._Worker(by_sign)(iter([]))) == []


@pytest.mark.slow
def test_vectors_of_spark_without_ansi(spark):
    """The column `probability` of Spark's own classifiers, in a session of the older arithmetic, whose settings stay."""
    from pyspark.ml.linalg import Vectors

    from believable.engines.frames import SPARK_METHOD_LIMIT

    p, y = matrix(12, 4), np.arange(12) % 4
    rows = [(Vectors.dense(row.tolist()), int(label)) for row, label in zip(p, y, strict=True)]
    before, limit = spark.conf.get("spark.sql.ansi.enabled"), spark.conf.get(SPARK_METHOD_LIMIT)
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        frame = spark.createDataFrame(rows, ["probability", "y"])
        found = engines.summarize(frame, prob="probability", notions=["confidence"], cells=840)
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
    assert_same(found, Summary.of(Predictions(p, y), Layout.of("multiclass", 4, notions=["confidence"], cells=840)))
    assert spark.conf.get(SPARK_METHOD_LIMIT) == limit
    with pytest.raises(InputError, match=r"Spark would misread the column name 'a.y': rename"):
        engines.summarize(frame.withColumnRenamed("y", "a.y"), prob="probability", label="a.y")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_workers_of_spark_count_the_same(spark):
    """With subgroups, weights, rows that cannot be counted and an empty partition."""
    p = np.append(rng().beta(1, 3, N), [np.nan, 2.0])
    table = {"p": p, "y": p > 0.3, "w": np.arange(N + 2) % 5, "site": np.arange(N + 2) % 2, "unused": ["a"] * (N + 2)}
    frame = spark.createDataFrame(pa.table(table)).repartition(3)
    frame = frame.union(frame.limit(0))
    asked = {"weight": "w", "by": "site", "on_invalid": "drop", "cells": 840}
    found = engines.summarize(frame, **asked, python_workers=True)
    p, y, w, site = (np.asarray(table[name])[:N] for name in ("p", "y", "w", "site"))
    by = {"site": site[w > 0].astype(str)}
    assert_same(found, Summary.of(Predictions(p, y, sample_weight=w), Layout.of(cells=840), by=by))
    assert found.dropped == {"missing score": 1, "score outside [0, 1]": 1}
    with pytest.raises(InputError, match="python_workers=True is for frames of pyspark, but this frame is of pyarrow"):
        engines.summarize(pa.table(table), python_workers=True)
