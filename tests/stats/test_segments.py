"""`SegmentStats`: literal sums, parts that add up, saved forms, and what is refused."""

from __future__ import annotations

import json
import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from believable import Layout, Predictions, Summary
from believable.binning import Grid
from believable.errors import InputError, MergeError, SchemaError, UndefinedError
from believable.stats import SegmentStats
from believable.stats import segments as segments_module

RNG = np.random.default_rng(8)
N = 300
P = np.where(RNG.random(N) < 0.1, np.round(RNG.random(N)), RNG.beta(0.4, 0.4, N))
Y = (RNG.random(N) < P).astype(int)
Y[:5] = 1 - Y[:5]  # so that scores of 0 and 1 may be wrong
W = RNG.exponential(size=N)
MATRIX = RNG.dirichlet(np.ones(3), N)
LABELS = RNG.integers(0, 3, N)
SITE = RNG.choice(["north", "süd", ""], N)
ARM = np.where(RNG.random(N) < 0.2, np.nan, RNG.integers(0, 3, N))
AGE = RNG.integers(20, 80, N)
BY = {"site": SITE, "arm": ARM, "age": AGE}
SETS = {
    "binary": lambda rows: Predictions(P[rows], Y[rows]),
    "weighted": lambda rows: Predictions(P[rows], Y[rows], sample_weight=W[rows]),
    "float32": lambda rows: Predictions(P[rows].astype(np.float32), Y[rows]),
    "soft": lambda rows: Predictions(P[rows], P[rows] ** 2, soft_labels=True),
    "pairs": lambda rows: Predictions(P[rows], Y[rows], pairs=True),
    "matrix": lambda rows: Predictions(MATRIX[rows], LABELS[rows]),
    "weighted matrix": lambda rows: Predictions(MATRIX[rows], LABELS[rows], sample_weight=W[rows]),
}
ALL = slice(None)
SUMS = ("n", "ny", "w", "wp", "wy", "w2")


def stats(name, rows=ALL, **options):
    return SegmentStats.of(SETS[name](rows), {column: values[rows] for column, values in BY.items()}, **options)


def as_table(one):
    """The sums of each entry, by its levels in words and its cell."""
    levels = zip(
        *([column.names[code] for code in codes] for column, codes in zip(one.columns, one.codes, strict=True)),
        strict=True,
    )
    keys = zip(levels, one.cell.tolist(), strict=True)
    return {key: [float(getattr(one, name)[i]) for name in SUMS] for i, key in enumerate(keys)}


def same(one, other):
    """Equal counts, and sums to rounding."""
    mine, others = as_table(one), as_table(other)
    assert mine.keys() == others.keys()
    for key, sums in mine.items():
        assert sums == pytest.approx(others[key], rel=1e-12, abs=1e-12)
        assert sums[0] == others[key][0]
    assert (one.names, one.view, one.grid) == (other.names, other.view, other.grid)
    assert one.notes == other.notes


def literal_cell(p):
    """Cell 0 is a score of 0, cell 321 one of 1; the others are a quarter of the logit wide, right-closed."""
    if p in (0, 1):
        return 321 * int(p)
    return min(max(math.ceil((math.log(p) - math.log1p(-p) + 40) / 0.25), 1), 320)


def literal_level(column, value):
    """The level of a value, with cuts at the 75th, 150th and 225th of 300 ages."""
    if column == "site":
        return value
    if column == "arm":
        return "missing" if math.isnan(value) else str(int(value))
    cuts = [sorted(AGE.tolist())[N * k // 4 - 1] for k in (1, 2, 3)]
    above = sum(value > cut for cut in cuts)
    words = [f"up to {cuts[0]}", f"{cuts[0]} to {cuts[1]}", f"{cuts[1]} to {cuts[2]}", f"above {cuts[2]}"]
    return words[above]


# --- counting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETS)
def test_sums_of_each_entry(name):
    """Each entry holds the sums of the rows with its levels whose score is in its cell."""
    expected = defaultdict(lambda: [0.0] * 6)
    for i in range(N):
        if "matrix" in name:
            k = max(range(3), key=lambda k: MATRIX[i, k])
            p, y = MATRIX[i, k], float(LABELS[i] == k)
        else:
            p, y = (P[i].astype(np.float32) if name == "float32" else P[i]), (P[i] ** 2 if name == "soft" else Y[i])
        w = W[i] if "weighted" in name else 1.0
        key = tuple(literal_level(column, values[i]) for column, values in BY.items()), literal_cell(float(p))
        for j, term in enumerate((1, y, w, w * p, w * y, w * w)):
            expected[key][j] += term
    found = as_table(stats(name))
    assert found.keys() == expected.keys()
    for key, sums in found.items():
        assert sums == pytest.approx(expected[key], rel=1e-12)


def test_what_a_statistic_says_about_itself():
    """Names, levels, rows, and whether rows have weights."""
    one = stats("binary")
    assert one.names == ("site", "arm", "age")
    assert one.levels_of("arm") == ("0", "1", "2", "missing")
    assert one.sizes == (3, 4, 4)
    assert (one.rows, one.weighted, stats("weighted").weighted) == (N, False, True)
    assert not SegmentStats.of(Predictions(P, Y, sample_weight=np.ones(N)), SITE).weighted
    assert repr(one) == f"SegmentStats(n=300, by site, arm, age, {len(one.n)} entries)"
    assert one.conf == pytest.approx(one.wp / one.w)
    assert len(one.notes) == 1
    with pytest.raises(ValueError, match="read-only"):
        one.w[0] = 2


def test_rows_without_weight_do_not_count():
    """The columns are those of the rows that are left."""
    w = np.where(np.arange(N) % 3 == 0, 0.0, W)
    kept = w > 0
    one = SegmentStats.of(Predictions(P, Y, sample_weight=w), SITE[kept])
    same(one, SegmentStats.of(Predictions(P[kept], Y[kept], sample_weight=w[kept]), SITE[kept]))
    with pytest.raises(InputError, match=r"by 'group' has 300 entries, but the predictions have 200 rows"):
        SegmentStats.of(Predictions(P, Y, sample_weight=w), SITE)


def test_blocks_of_rows_do_not_show(monkeypatch):
    """It does not matter in how many blocks rows are counted."""
    whole = stats("weighted")
    monkeypatch.setattr(segments_module, "ROWS_AT_ONCE", 7)
    same(stats("weighted"), whole)


def test_mean_scores_stay_in_range():
    """Rounded sums of weights do not push a mean score above 1."""
    one = SegmentStats.of(Predictions(np.ones(N), Y, sample_weight=W), SITE)
    assert one.conf.max() <= 1


# --- adding -----------------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(st.sampled_from(list(SETS)), st.lists(st.integers(1, N - 1), max_size=4, unique=True))
def test_parts_add_up(name, ends):
    """The sum over parts is the statistic of the whole, in any order."""
    whole = stats(name)
    rows = [slice(begin, end) for begin, end in zip([0, *sorted(ends)], [*sorted(ends), N], strict=True)]
    parts = [stats(name, here, like=whole) for here in rows]
    same(sum(parts), whole)
    same(sum(reversed(parts)), whole)
    same(segments_module.added_up(parts), whole)


def test_new_levels_are_added():
    """A part may have levels that the first did not see; those of both are numbered alike."""
    site = ["c", "a", None, "c", "a", None]
    first = SegmentStats.of(Predictions(P[:4], Y[:4]), {"site": ["a", "b", "a", "b"]})
    second = SegmentStats.of(Predictions(P[4:10], Y[4:10]), {"site": site}, like=first)
    assert (first + second).levels_of("site") == ("a", "b", "c", "missing")
    assert (second + first).levels_of("site") == ("a", "b", "c", "missing")
    third = SegmentStats.of(Predictions(P[4:10], Y[4:10]), {"site": site})
    assert as_table(first + third) == as_table(first + second) == as_table(third + first)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (lambda: stats("binary").only("site"), r"their columns differ, \('site', 'arm', 'age'\) and \('site',\)"),
        (lambda: stats("matrix"), "they count different things"),
        (lambda: stats("pairs"), "they count different things"),
        (lambda: stats("float32"), "their grids differ, .*float64.* and .*float32"),
        (lambda: stats("binary", cells=160), "their grids differ"),
        (lambda: stats("binary", n_ranges=3), "column age was cut or combined in different ways; count all parts but"),
        (lambda: stats("binary", max_levels=2), "column site was cut or combined"),
    ],
)
def test_what_does_not_belong_together_does_not_merge(other, reason):
    """Other columns, scores, cells and cuts are refused."""
    with pytest.raises(MergeError, match=reason):
        stats("binary") + other()
    with pytest.raises(TypeError):
        stats("binary") + 3


def test_like_needs_the_same_columns():
    """A column that the first statistic has must be there, and others do not count."""
    first = stats("binary")
    with pytest.raises(InputError, match="by lacks column 'age'"):
        SegmentStats.of(SETS["binary"](ALL), {"site": SITE, "arm": ARM}, like=first)
    with pytest.raises(InputError, match="by 'site' has 299 entries"):
        SegmentStats.of(SETS["binary"](ALL), {**BY, "site": SITE[1:]}, like=first)
    with pytest.raises(InputError, match="like must be a SegmentStats, got str"):
        stats("binary", like="first")
    same(SegmentStats.of(SETS["binary"](ALL), {**BY, "more": SITE}, like=first), first)


# --- other columns, other cells ---------------------------------------------------------------------------------------


def test_some_of_the_columns():
    """Leaving out columns is counting without them."""
    one = stats("weighted").only(["age", "site"])
    same(one, SegmentStats.of(SETS["weighted"](ALL), {"age": AGE, "site": SITE}))
    same(stats("weighted").only("site"), one.only(["site", "site"]))


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        (["site", "x"], "by names 'x', but the statistic counted by site, arm, age"),
        ([], "by names no columns, but the statistic counted by site, arm, age"),
        (3, "by must be names of columns that the statistic counted by, got 3"),
    ],
)
def test_columns_that_were_not_counted(columns, reason):
    """Only what was counted can be asked for."""
    with pytest.raises(InputError, match=reason):
        stats("binary").only(columns)


def test_cells_of_a_segment():
    """The sums of its rows, whose scores are the mean of their entry, in cells of any grid."""
    one, grid = stats("weighted", cells=3200), Grid()
    inside = [i for i in range(N) if SITE[i] == "north" and ARM[i] == 1]
    found = one.cells_of({"site": "north", "arm": "1"}, grid)
    assert found.grid == grid
    assert found.n.sum() == len(inside)
    for name, values in (("w", W), ("wp", W * P), ("wy", W * Y), ("w2", W**2)):
        assert getattr(found, name).sum() == pytest.approx(sum(values[i] for i in inside), rel=1e-12)
    assert found.wpp.sum() == pytest.approx(sum(W[i] * P[i] ** 2 for i in inside), rel=1e-4)
    assert one.cells_of({"site": "nowhere"}).n.sum() == 0
    whole = one.cells_of()
    assert (whole.grid, whole.n.sum()) == (one.grid, N)
    assert whole.wy.sum() == pytest.approx((W * Y).sum(), rel=1e-12)


def test_coarser_cells():
    """Cells that are unions of cells hold the same sums as if counted there; no others can be made."""
    same(stats("weighted").regrid(80), stats("weighted", cells=80))
    with pytest.raises(InputError, match="300 cells are not made of whole cells"):
        stats("binary").regrid(300)


@pytest.mark.parametrize("name", ["binary", "weighted", "float32", "pairs", "matrix"])
def test_of_a_summary(name):
    """A summary has the same sums by level, and cells at most as far away as its own are wide."""
    summary = Summary.of(SETS[name](ALL), by={"site": SITE})
    found, expected = SegmentStats.of_summary(summary, "site"), stats(name).only("site")
    assert sorted(found.levels_of("site")) == sorted(expected.levels_of("site"))
    assert (found.view, found.grid) == (expected.view, expected.grid)
    for level in expected.levels_of("site"):
        here, there = (one.codes[0] == one.levels_of("site").index(level) for one in (found, expected))
        for sums in SUMS:
            assert getattr(found, sums)[here].sum() == pytest.approx(getattr(expected, sums)[there].sum(), rel=1e-12)
        for cell in (0, 321):  # scores of exactly 0 and 1 stay alone
            assert found.n[here & (found.cell == cell)].sum() == expected.n[there & (expected.cell == cell)].sum()
        moved = np.cumsum(np.bincount(found.cell[here], found.n[here], 322)) - np.cumsum(
            np.bincount(expected.cell[there], expected.n[there], 322)
        )
        assert np.abs(moved).max() <= 2  # a row near the edge of a cell
    assert as_table(SegmentStats.from_dict(found.to_dict())) == as_table(found)
    logit = Summary.of(SETS[name](ALL), Layout.of(*layout_of(name), spacing="logit"), by={"site": SITE})
    assert SegmentStats.of_summary(logit, "site").rows == N


def layout_of(name):
    return ("multiclass", 3) if name == "matrix" else ("binary", 2, "float32" if name == "float32" else "float64")


def test_of_a_summary_of_classes():
    """Classes one by one are several scores per row."""
    summary = Summary.of(SETS["matrix"](ALL), Layout.of("multiclass", 3, notions="classwise"), by={"site": SITE})
    with pytest.raises(UndefinedError, match="segments need one score per row"):
        SegmentStats.of_summary(summary, "site")


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by", "options", "error", "reason"),
    [
        ({}, {}, UndefinedError, "there are no segments: no columns were given"),
        ({"a": ["x"] * N, "b": np.arange(N).astype(str)}, {}, UndefinedError, "column a is 'x' in every row.*; column"),
        (None, {}, InputError, "by is missing"),
        (SITE, {"cells": 1}, InputError, "cells must be an integer from 2"),
        (SITE, {"max_levels": 1}, InputError, "max_levels must be an integer from 2 to 32767, got 1"),
        (SITE, {"n_ranges": 10**9}, InputError, "n_ranges must be an integer from 2 to 32767"),
    ],
)
def test_bad_choices(by, options, error, reason):
    """What has no segments, and choices that cannot be, are refused."""
    with pytest.raises(error, match=reason):
        SegmentStats.of(SETS["binary"](ALL), by, **options)


def test_only_checked_predictions_with_one_score_per_row():
    """Bare arrays and independent columns are not counted."""
    with pytest.raises(InputError, match="counted from checked predictions"):
        SegmentStats.of(P, SITE)
    with pytest.raises(UndefinedError, match="one score per row: pass one of the independent columns at a time"):
        SegmentStats.of(Predictions(MATRIX, MATRIX > 0.3, multilabel=True), SITE)


def test_too_many_levels():
    """A column whose levels have no room is named."""
    first = SegmentStats.of(Predictions(P[:4], Y[:4]), {"site": ["a", "b", "a", "b"]})
    many = np.arange(40_000).astype(str)
    with pytest.raises(UndefinedError, match="column site has 40,002 levels: segments need at most 32,767"):
        SegmentStats.of(Predictions(np.full(40_000, 0.5), np.arange(40_000) % 2), {"site": many}, like=first)


# --- saved ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETS)
def test_saved_and_loaded(name, tmp_path):
    """A statistic survives JSON and a file, to the last bit."""
    one = stats(name)
    one.save(tmp_path / "one")
    for loaded in (
        SegmentStats.from_dict(json.loads(json.dumps(one.to_dict(), allow_nan=False))),
        SegmentStats.load(tmp_path / "one"),
        SegmentStats.from_bytes(one.to_bytes()),
    ):
        assert as_table(loaded) == as_table(one)
        assert loaded.columns == one.columns
        assert (loaded.view, loaded.grid, loaded.notes) == (one.view, one.grid, one.notes)
        assert loaded.weighted == one.weighted
        same(loaded + one, one + one)


SAVED = stats("weighted").to_dict()
COLUMN = SAVED["columns"][0]
DAMAGED = {
    "foreign": ({"schema": "x"}, "this is not a saved believable.SegmentStats"),
    "newer": ({"version": 2}, "version 2 cannot be read"),
    "grid": ({"cells": 0}, "the saved grid is damaged"),
    "dtype": ({"dtype": "int8"}, "the saved grid is damaged"),
    "view": ({"view": {}}, "the saved view must have the fields"),
    "other view": (
        {"view": SAVED["view"] | {"notion": "classwise", "n_classes": 3}},
        "the saved view must have one score per row, got 'classwise'",
    ),
    "columns lost": ({"columns": None}, "the saved columns must be a list"),
    "no columns": ({"columns": [], "codes": []}, "the saved columns must have distinct names, and there must be"),
    "twice": ({"columns": [COLUMN, COLUMN, SAVED["columns"][2]]}, "the saved columns must have distinct names"),
    "no column": ({"columns": ["site", "arm", "age"]}, "a saved column must be a dict, got 'site'"),
    "level twice": ({"columns": [COLUMN | {"names": ["a", "a", "b"]}]}, "the saved levels must be distinct names"),
    "numbered": ({"columns": [COLUMN | {"names": [1, 2, 3]}]}, "the saved levels must be distinct names"),
    "cuts": ({"columns": [COLUMN | {"cuts": [2.0, 1.0]}]}, "the saved cuts must be in ascending order"),
    "endless cuts": ({"columns": [COLUMN | {"cuts": [math.inf]}]}, "the saved cuts must be finite"),
    "cuts of texts": ({"columns": [COLUMN | {"cuts": [1.0]}]}, "the saved levels must be the ranges between the cuts"),
    "fewer columns": ({"columns": SAVED["columns"][:2]}, "the saved columns do not have the same length"),
    "short": ({"n": SAVED["n"][1:]}, "the saved columns do not have the same length"),
    "codes": ({"codes": [[9] * len(SAVED["n"])] * 3}, "the saved codes go beyond the levels or cells"),
    "negative": ({"codes": [[-1] * len(SAVED["n"])] * 3}, "the saved codes go beyond the levels or cells"),
    "cell": ({"cell": [322] * len(SAVED["n"])}, "the saved codes go beyond the levels or cells"),
    "half": ({"n": [0.5] * len(SAVED["n"])}, "the saved n must be a list of integers"),
    "empty": ({"n": [0] * len(SAVED["n"])}, "the saved entries must have rows of positive weight"),
    "w": ({"w": [0.0] * len(SAVED["n"])}, "the saved entries must have rows of positive weight"),
    "events": ({"ny": [1e6] * len(SAVED["n"])}, "the saved ny lies outside its range"),
    "wy": ({"wy": [-1.0] * len(SAVED["n"])}, "the saved wy lies outside its range"),
    "w2": ({"w2": [1e9] * len(SAVED["n"])}, "the saved w2 lies outside its range"),
    "little w2": ({"w2": [1e-9] * len(SAVED["n"])}, "the saved w2 lies outside its range"),
    "scores": ({"cell": [5] * len(SAVED["n"])}, "the saved scores of key 5 have the mean .*, which is not in its bin"),
    "nan": ({"w2": [math.nan] * len(SAVED["n"])}, "the saved w2 must be finite"),
    "no rows": (
        {name: [] for name in ("cell", *SUMS)} | {"codes": [[], [], []]},
        "the saved entries must have rows of positive weight",
    ),
}


@pytest.mark.parametrize(("change", "reason"), DAMAGED.values(), ids=DAMAGED)
def test_damaged_forms_are_refused(change, reason):
    """A dictionary that no rows can have made is refused, with the reason."""
    with pytest.raises(SchemaError, match=reason):
        SegmentStats.from_dict(SAVED | change)
