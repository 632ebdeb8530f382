"""A summary is what one pass keeps: parts add up to the whole, and what does not belong is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from believable import (
    BinStats,
    CellStats,
    Edges,
    Layout,
    Predictions,
    ScoreSums,
    Summary,
    View,
    evaluate,
    expected_calibration_error,
)
from believable.binning import Grid
from believable.errors import InputError, MergeError, SchemaError, UndefinedError
from believable.stats.counts import SUMS

RNG = np.random.default_rng(11)
N, K = 240, 3
P = np.round(RNG.beta(0.5, 0.5, N), 3)
Y = (RNG.random(N) < P).astype(int)
W = RNG.random(N) * 3 + 0.1
MATRIX = RNG.dirichlet(np.ones(K), N)
LABELS = RNG.integers(0, K, N)
SITE, AGE = RNG.choice(["north", "süd", ""], N), RNG.integers(0, 2, N)
SETS = {
    "binary": lambda rows: Predictions(P[rows], Y[rows]),
    "weighted": lambda rows: Predictions(P[rows], Y[rows], sample_weight=W[rows]),
    "float32": lambda rows: Predictions(P[rows].astype(np.float32), Y[rows]),
    "soft": lambda rows: Predictions(P[rows], P[rows] ** 2, soft_labels=True),
    "multiclass": lambda rows: Predictions(MATRIX[rows], LABELS[rows]),
    "multiclass weighted": lambda rows: Predictions(MATRIX[rows], LABELS[rows], sample_weight=W[rows]),
    "multilabel": lambda rows: Predictions(MATRIX[rows], MATRIX[rows] > 0.3, multilabel=True),
    "multilabel weighted": lambda rows: Predictions(
        MATRIX[rows], MATRIX[rows] > 0.3, multilabel=True, sample_weight=W[rows]
    ),
}
ALL = slice(None)
SMALL = Layout.of(cells=20, spacing="uniform")


def summary(name, rows=ALL, **options):
    """The summary of some rows, with their subgroups."""
    return Summary.of(SETS[name](rows), by={"site": SITE[rows], "age": AGE[rows]}, **options)


def same(a, b):
    """Equal counts, sums to rounding, in every part."""
    assert (a.n, a.kind, a.n_classes, a.classes, a.dropped) == (b.n, b.kind, b.n_classes, b.classes, b.dropped)
    assert a.layout == b.layout
    for one, other in zip(a.cells, b.cells, strict=True):
        assert np.array_equal(one.key, other.key)
        assert np.array_equal(one.n, other.n)
        for name in SUMS:
            assert np.allclose(getattr(one, name), getattr(other, name), rtol=1e-12, atol=1e-14), name
    for name in ("w", "w2", "brier", "nll", "correct", "confidence", "entropy", "spread_variance"):
        assert getattr(a.sums, name) == pytest.approx(getattr(b.sums, name), rel=1e-12), name
    assert a.by.keys() == b.by.keys()
    for column, levels in a.by.items():
        assert levels.keys() == b.by[column].keys()
        for level, one in levels.items():
            same(one, b.by[column][level])


@pytest.mark.parametrize("name", SETS)
def test_parts_add_up_to_the_whole(name):
    """Whatever the parts and their order; levels that a part lacks are those of the others."""
    order = RNG.permutation(N)
    cut = [order[:1], order[1:30], order[30:]]
    parts = [summary(name, rows) for rows in cut]
    whole = summary(name)
    same(sum(parts), whole)
    same(parts[2] + (parts[0] + parts[1]), whole)


@pytest.mark.parametrize("name", SETS)
def test_what_is_in_it(name):
    """Cells and sums are those counted one by one, and subgroups those of their rows on the coarser headline."""
    data, made = SETS[name](ALL), summary(name)
    assert made.sums.brier == pytest.approx(ScoreSums.of(data).brier, rel=1e-12)
    assert len(made.cells) == {"binary": 2, "multiclass": 3, "multilabel": 1}[data.kind]
    for cells in made.cells:
        alone = CellStats.of(data, cells.view, spacing=cells.grid.spacing)
        assert np.allclose(cells.wpy, alone.wpy, rtol=1e-12)
        assert cells.grid == alone.grid
    north = made.by["site"]["north"]
    alone = CellStats.of(data.take(np.flatnonzero(SITE == "north")), made.cells[0].view)
    assert len(north.cells) == 1
    assert np.array_equal(north.cells[0].n, alone.n)
    assert north.cells[0].grid == alone.grid
    assert sum(one.n for one in made.by["age"].values()) == N == made.n


@pytest.mark.parametrize("name", SETS)
def test_facts(name):
    """Rows, effective rows and whether there were weights."""
    data, made = SETS[name](ALL), summary(name)
    w = np.ones(N) if data.weights is None else data.weights
    assert made.n == N
    assert made.effective_n == pytest.approx(sum(w) ** 2 / sum(w * w), rel=1e-12)
    assert made.weighted == ("weighted" in name)
    assert made.kind == data.kind
    assert made.default_notion == data.default_notion


def test_weights_that_add_up_to_the_rows_are_weights():
    """Half and one and a half in one cell are not two rows of weight 1."""
    assert Summary.of(Predictions([0.3, 0.3], [0, 1], sample_weight=[0.5, 1.5])).weighted
    assert not Summary.of(Predictions([0.3, 0.3], [0, 1], sample_weight=[1, 1])).weighted


def test_weight_zero_removes_a_row():
    """As everywhere."""
    kept = np.arange(N) % 4 > 0
    zeros = Predictions(P, Y, sample_weight=np.where(kept, W, 0))
    same(Summary.of(zeros), Summary.of(Predictions(P[kept], Y[kept], sample_weight=W[kept])))


def test_one_row():
    """One row is enough."""
    made = Summary.of(Predictions([0.25], [1]), by={"a": ["x"]})
    assert (made.n, made.effective_n, made.by["a"]["x"].n) == (1, 1, 1)
    assert evaluate(made)["brier_score"] == pytest.approx(0.5625)


def test_words():
    """A summary says what was counted."""
    made = summary("multiclass", slice(0, 10))
    assert str(made) == "Summary(n=10, kind='multiclass', cells of confidence, classwise, top_label, by site, age)"
    assert (made.class_name(2), made.classes) == ("2", None)
    named = Summary.of(Predictions(MATRIX, np.array(list("abc"))[LABELS], classes=list("abc")))
    assert (named.class_name(2), named.classes) == ("c", ("a", "b", "c"))
    ignored = Predictions(P, np.where(P > 0.9, -1, Y), ignore_label=-1)
    left_out = int((P > 0.9).sum())
    both = Summary.of(ignored) + Summary.of(ignored)
    assert both.dropped == {"ignored label": 2 * left_out}
    assert (both + Summary.of(SETS["binary"](ALL))).dropped == {"ignored label": 2 * left_out}


def test_cells_of():
    """The cells of a notion, on the grid asked for if it was counted, else on the other."""
    made = summary("binary")
    assert made.cells_of() is made.cells[0]
    assert made.cells_of("binary", spacing="logit") is made.cells[1]
    assert made.by["age"]["0"].cells_of(spacing="logit").grid.spacing == "uniform"
    ranked = Layout.of(
        "multiclass", K, notions=["confidence", View("top_r", K, r=2), View("classwise", K, pooled=True)]
    )
    many = Summary.of(SETS["multiclass"](ALL), ranked)
    assert many.cells_of("top_r", r=2) is many.cells[1]
    for asked, reason in (
        ({"notion": "top_label"}, r"counted confidence, top_r, classwise, not top_label: count again"),
        ({"notion": "top_r", "r": 3}, "not top_r with r=3"),
        ({"notion": "classwise"}, "not classwise"),  # pooled ones are another question
    ):
        with pytest.raises(UndefinedError, match=reason):
            many.cells_of(**asked)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (lambda: summary("float32"), "their grids differ, .*; bins of float32 and float64 scores differ: convert one"),
        (lambda: summary("multiclass"), "count different notions"),
        (lambda: summary("binary", layout=Layout.of(cells=20)), "their grids differ"),
        (lambda: Summary.of(SETS["binary"](ALL)), r"their subgroups differ, \['site', 'age'\] and \[\]"),
        (lambda: summary("binary", layout=Layout.of(spacing="uniform")), "count different notions"),
    ],
)
def test_what_does_not_belong_together_does_not_merge(other, reason):
    """Other scores, notions, grids and subgroups are refused."""
    with pytest.raises(MergeError, match=reason):
        summary("binary") + other()


def test_other_classes_do_not_merge():
    """Names of classes say what was counted."""
    one, other = (Predictions(MATRIX, np.array(list(names))[LABELS], classes=list(names)) for names in ("abc", "abd"))
    with pytest.raises(MergeError, match="their classes differ"):
        Summary.of(one) + Summary.of(other)
    with pytest.raises(TypeError):
        Summary.of(one) + ScoreSums.of(one)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"by": {"site": SITE[1:]}}, r"by\['site'\] has shape \(239,\), the predictions have 240 rows"),
        ({"by": {"site": np.stack([SITE, SITE], axis=1)}}, r"has shape \(240, 2\)"),
        ({"by": SITE}, "by must be a mapping of names to columns"),
        (
            {"layout": Layout.of("multiclass", 3)},
            "does not fit the layout, made for multiclass predictions of 3 classes",
        ),
        ({"layout": Layout.of(dtype="float32")}, "float64 scores does not fit the layout, .* with float32 scores"),
        ({"layout": "binary"}, r"layout must be a Layout, made with Layout\.of, got str"),
    ],
)
def test_refusals(options, reason):
    """Subgroups and layouts of other rows are refused."""
    with pytest.raises(InputError, match=reason):
        Summary.of(SETS["binary"](ALL), **options)


def test_only_checked_predictions():
    """Bare arrays are not counted."""
    with pytest.raises(InputError, match="counted from checked predictions"):
        Summary.of(P)


# --- saved ---


@pytest.mark.parametrize("name", SETS)
def test_saved_and_loaded_through_json(name):
    """A summary survives JSON."""
    made = summary(name)
    loaded = Summary.from_dict(json.loads(json.dumps(made.to_dict(), allow_nan=False)))
    same(loaded, made)
    same(loaded + made, made + made)


SAVED = Summary.of(SETS["binary"](ALL), SMALL, by={"age": AGE}).to_dict()
OTHER = Summary.of(SETS["binary"](slice(0, 9)), SMALL).to_dict()
THREE = Summary.of(SETS["multiclass"](ALL)).to_dict()
DAMAGED = {
    "foreign": ({"schema": "x"}, "this is not a saved believable.Summary"),
    "newer": ({"version": 2}, "version 2 cannot be read"),
    "no cells": ({"cells": []}, "no cells"),
    "cells lost": ({"cells": None}, "the saved cells must be a list"),
    "sums lost": ({"sums": None}, "the saved sums must be a dict"),
    "sums of others": ({"sums": THREE["sums"]}, "do not belong to the sums"),
    "cells of others": ({"cells": THREE["cells"]}, "do not belong to the sums"),
    "other rows": ({"cells": OTHER["cells"]}, "cells of binary count 9 pairs, the 240 rows of the sums have 240"),
    "fewer rows": ({"sums": OTHER["sums"]}, "cells of binary count 240 pairs, the 9 rows of the sums have 9"),
    "by": ({"by": []}, "the saved by must be a dict"),
    "levels": ({"by": {"age": [1]}}, "the saved age must be a dict"),
    "level": ({"by": {"age": {"0": 3}}}, "this is not a saved believable.Summary: found 'int'"),
    "level of others": ({"by": {"age": {"0": THREE}}}, "subgroups of age do not belong to binary sums"),
    "levels of levels": ({"by": {"age": {"0": SAVED}}}, "subgroups of age have subgroups of their own"),
    "too many": ({"by": {"age": {"0": OTHER | {}, "1": SAVED | {"by": {}}}}}, "count more rows than there are, 240"),
    "classes": ({"classes": ["a"]}, "the saved classes must be 2 names"),
    "numbered classes": ({"classes": [0, 1]}, "the saved classes must be 2 names"),
    "dropped": ({"dropped": {"null": -1}}, "dropped rows must be whole numbers"),
    "dropped half": ({"dropped": {"null": 0.5}}, "dropped rows must be whole numbers"),
    "brier": ({"sums": SAVED["sums"] | {"brier": -1.0}}, "the saved brier cannot be negative"),
    "w2": ({"sums": SAVED["sums"] | {"w2": 0}}, "at least one row of positive weight"),
    "classes of sums": ({"sums": SAVED["sums"] | {"n_classes": 3}}, "do not belong to binary predictions of 3"),
}


@pytest.mark.parametrize(("change", "reason"), DAMAGED.values(), ids=DAMAGED)
def test_damaged_forms_are_refused(change, reason):
    """A dictionary that no rows can have made is refused, with the reason."""
    with pytest.raises(SchemaError, match=reason):
        Summary.from_dict(SAVED | change)


# --- the layout ---


def test_default_layouts():
    """Two grids for 1-D scores; with many classes, coarser ones."""
    assert [(view.notion, grid.spacing) for view, grid in Layout.of().views] == [
        ("binary", "uniform"),
        ("binary", "logit"),
    ]
    assert [grid.n_cells for _, grid in Layout.of("multiclass", 100).views] == [50_400, 5040, 5040]
    assert [grid.n_cells for _, grid in Layout.of("multilabel", 5000).views] == [840]
    assert Layout.of("multiclass", 3, "float32").dtype == "float32"
    assert Layout.of(notions="binary", spacing=["logit", "logit"]).views == ((View("binary"), Grid(spacing="logit")),)


def test_layout_of_subgroups():
    """The headline alone, on its own grid: any bins of the whole can be had of its subgroups."""
    for cells in (50_400, 840, 30_000):
        layout = Layout.of("multiclass", 3, cells=cells)
        assert layout.for_subgroups().views == layout.views[:1]
    made = summary("binary")
    for level, part in made.by["site"].items():
        rows = np.flatnonzero(level == SITE)
        data = Predictions(P[rows], Y[rows])
        assert expected_calibration_error(part, n_bins=32) == pytest.approx(
            expected_calibration_error(data, n_bins=32), abs=1e-14
        )


@pytest.mark.parametrize(
    ("arguments", "options", "reason"),
    [
        (("ternary",), {}, "kind must be one of"),
        (("multiclass", 1), {}, "n_classes must be an integer at least 2"),
        (("binary", 3), {}, "needs two classes, got 3|n_classes must be an integer from 2 to 2"),
        (("binary",), {"notions": []}, "at least one view"),
        (("binary",), {"spacing": []}, "at least one view"),
        (("binary",), {"spacing": "log"}, "spacing must be one of"),
        (("binary",), {"notions": ["confidence"]}, "needs a matrix of predictions"),
        (("multiclass", 3), {"notions": ["top_r"]}, "needs r, the rank"),
        (("multiclass", 3), {"notions": [3]}, "notion must be one of"),
        (("multiclass", 3), {"notions": [View("confidence", 4)]}, "does not fit multiclass predictions of 3 classes"),
        (("multilabel", 3), {"notions": ["confidence"]}, "multilabel predictions need notion='classwise'"),
        (("binary", 2, "int8"), {}, "dtype must be one of"),
        (("binary", 2, "number"), {}, "dtype must be one of"),
        (("binary",), {"cells": 1}, "cells must be an integer from 2"),
    ],
)
def test_layouts_that_cannot_be(arguments, options, reason):
    """Choices that no rows can have are refused when the layout is made."""
    with pytest.raises(InputError, match=reason):
        Layout.of(*arguments, **options)


def test_layouts_made_by_hand():
    """So are those made without `of`."""
    grids = Grid(20), Grid(20, dtype="float32")
    with pytest.raises(
        InputError, match="all grids of a layout must be for one type of scores, got float32 and float64"
    ):
        Layout("binary", 2, tuple((View("binary"), grid) for grid in grids))
    with pytest.raises(InputError, match="at least one view"):
        Layout("binary", 2, ())


# --- columns counted elsewhere ---


@pytest.mark.parametrize("name", ["binary", "weighted"])
@pytest.mark.parametrize("kind", [CellStats, BinStats])
def test_columns_counted_elsewhere(kind, name):
    """Columns in any order, of any numeric type, make the statistic that counts the rows; the caller's stay his."""
    stats = kind.of(SETS[name](ALL))
    order = RNG.permutation(len(stats.key))
    names = ("key", "n", *SUMS) if name == "weighted" else ("key", "n", "ny", "wp", "wpp", "wpy")
    columns = {each: getattr(stats, each)[order] for each in names}
    columns["n"] = columns["n"].astype(float)
    where = stats.grid if kind is CellStats else stats.edges
    made = kind.from_columns(stats.view, where, columns)
    for each in ("key", "n", *SUMS):
        assert np.array_equal(getattr(made, each), getattr(stats, each)), each
    assert made.n.dtype == np.int64
    assert all(column.flags.writeable for column in columns.values())
    again = kind.from_columns(stats.view, where, {each: column.tolist() for each, column in columns.items()})
    assert np.array_equal(again.wp, stats.wp)


GOOD = {"key": [0, 7], "n": [1, 2], "ny": [0, 1], "wp": [0.0, 0.65], "wpp": [0.0, 0.2113], "wpy": [0.0, 0.32]}
WRONG = {
    "missing": ({"wp": ...}, "a statistic has the columns key, n, ny"),
    "unknown": ({"x": [0, 0]}, "a statistic has the columns"),
    "half a row": ({"n": [1, 2.5]}, "the column n must be whole numbers"),
    "no key": ({"key": [0, np.nan]}, "the column key must be whole numbers"),
    "text": ({"wp": ["a", "b"]}, "the column wp must be numbers"),
    "nested": ({"wp": [[0.0, 0.65]]}, "the column wp must be 1-D"),
    "short": ({"ny": [0]}, "must have one length, got"),
    "twice": ({"key": [7, 7]}, "keys must increase"),
    "beyond": ({"key": [0, 22]}, "go beyond the cells"),
    "null": ({"wp": [0.0, None]}, "the saved wp must be finite|the column wp must be numbers"),
    "weights": ({"w": [1.0, 3.0]}, "rows have weights, as w is not n: the columns wy, w2, w2p, w2pp, w2y, w2py are"),
    "other cell": ({"key": [0, 8]}, r"scores of key 8 have the mean 0\.325, which is not in its bin, 0\.35 to 0\.4"),
    "not zero": ({"key": [1, 7], "wp": [0.2, 0.65]}, r"scores of key 1 have the mean 0\.2"),
    "too many": ({"ny": [0, 3]}, "ny cannot be negative or more than n"),
}


@pytest.mark.parametrize(("change", "reason"), WRONG.values(), ids=WRONG)
def test_columns_that_no_rows_can_have(change, reason):
    """An engine that counted by another rule, or lost something on the way, is found out."""
    assert CellStats.from_columns(View("binary"), Grid(20), GOOD).n.sum() == 3
    columns = {name: values for name, values in (GOOD | change).items() if values is not ...}
    with pytest.raises(SchemaError, match=reason):
        CellStats.from_columns(View("binary"), Grid(20), columns)


def test_weighted_scores_on_an_edge_are_in_their_cell():
    """In float32 too: the mean of w p / w may be above the edge that each p is, by rounding."""
    p = np.arange(1, 840, dtype=np.float32) / np.float32(840)
    stats = CellStats.of(Predictions(p, p > 0.5, sample_weight=np.full(839, 2.35)), cells=840)
    columns = {name: np.array(getattr(stats, name)) for name in ("key", "n", *SUMS)}
    assert np.any(columns["wp"] / columns["w"] > p)
    np.testing.assert_array_equal(CellStats.from_columns(stats.view, stats.grid, columns).key, stats.key)


def test_squares_are_checked_too():
    """Sums with squared weights are bounded as those with weights are."""
    stats = CellStats.of(SETS["weighted"](ALL))
    columns = {name: np.array(getattr(stats, name)) for name in ("key", "n", *SUMS)}
    for name, whole in (("w2p", "w2"), ("w2pp", "w2p"), ("w2y", "w2"), ("w2py", "w2p")):
        for wrong in (-columns[name] - 1, columns[whole] * 2):
            with pytest.raises(SchemaError, match=rf"the saved {name} cannot be negative or more than {whole}"):
                CellStats.from_columns(stats.view, stats.grid, columns | {name: wrong})


def test_bins_counted_elsewhere():
    """Each group has its own bins, and no key beyond them."""
    edges = Edges.given([0, 0.5, 1]), Edges.given([0, 0.2, 0.6, 1]), Edges.given([0, 1])
    view = View("classwise", 3)
    columns = {"key": [1, 4, 6], "n": [1] * 3, "ny": [0] * 3, "wp": [0.7, 0.3, 0.4], "wpp": [0.49, 0.09, 0.16]}
    columns |= {"wpy": [0.0] * 3}
    assert BinStats.from_columns(view, edges, columns).n.sum() == 3
    for keys in ([2, 4, 6], [1, 4, 7], [1, 4, 9]):
        with pytest.raises(SchemaError, match="go beyond the bins"):
            BinStats.from_columns(view, edges, columns | {"key": keys})
    with pytest.raises(SchemaError, match=r"scores of key 3 have the mean 0\.3, which is not in its bin, 0 to 0\.2"):
        BinStats.from_columns(view, edges, columns | {"key": [1, 3, 6]})
    with pytest.raises(InputError, match=r"one for each class \(3\), got 2"):
        BinStats.from_columns(view, edges[:2], columns)


@pytest.mark.parametrize("name", SETS)
def test_sums_and_cells_of_different_rows_are_refused(name):
    """Weights, scores and outcomes of a saved summary agree between its sums and its cells."""
    whole = summary(name)
    Summary.from_dict((whole + whole).to_dict())
    changed = {"w": lambda x: x * 1.1, "w2": lambda x: x * 0.9, "wp": lambda x: [1.1 * x[0], *x[1:]]}
    for column, change in changed.items():
        saved = json.loads(json.dumps(whole.to_dict()))
        saved["sums"][column] = change(saved["sums"][column])
        with pytest.raises(SchemaError, match="different weights"):
            Summary.from_dict(saved)
    saved = whole.to_dict()
    saved["sums"]["w"] = 10**400
    with pytest.raises(SchemaError, match="must be a number"):
        Summary.from_dict(saved)


def test_rows_without_a_level_are_missing():
    """Subgroups are called as `subgroups` calls them from the rows."""
    rows = Predictions([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1])
    found = Summary.of(rows, by={"a": [1.5, None, np.nan, "x"], "day": np.array(["2024-01-01"] * 4, "M8[ns]")}).by
    assert {level: one.n for level, one in found["a"].items()} == {"1.5": 1, "missing": 2, "x": 1}
    assert list(found["day"]) == ["2024-01-01 00:00:00"]
