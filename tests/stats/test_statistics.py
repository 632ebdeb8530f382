"""Statistics are values: they add, coarsen, save, and refuse what does not belong."""

from __future__ import annotations

import json

import numpy as np
import pytest

from believable import (
    BinStats,
    CellStats,
    Edges,
    Predictions,
    ScoreSums,
    View,
    adaptive_calibration_error,
    auc,
    calibration_curve,
    classwise_ece,
    evaluate,
    expected_calibration_error,
    static_calibration_error,
    sweep_calibration_error,
    top_r_calibration_error,
)
from believable.errors import InputError, MergeError, SchemaError, UndefinedError
from believable.stats.counts import SUMS

RNG = np.random.default_rng(5)
N, K = 700, 5
P = np.round(RNG.beta(0.5, 0.5, N), 3)
Y = (RNG.random(N) < P).astype(int)
W = RNG.random(N) * 3
MATRIX = RNG.dirichlet(np.full(K, 0.5), N)
LABELS = RNG.integers(0, K, N)

SETS = {
    "binary": lambda rows: Predictions(P[rows], Y[rows]),
    "weighted": lambda rows: Predictions(P[rows], Y[rows], sample_weight=W[rows]),
    "float32": lambda rows: Predictions(P[rows].astype(np.float32), Y[rows]),
    "soft": lambda rows: Predictions(P[rows], P[rows] ** 2, soft_labels=True),
    "multiclass": lambda rows: Predictions(MATRIX[rows], LABELS[rows]),
    "multiclass weighted": lambda rows: Predictions(MATRIX[rows], LABELS[rows], sample_weight=W[rows]),
    "multilabel": lambda rows: Predictions(MATRIX[rows], MATRIX[rows] > 0.3, multilabel=True),
}
VIEWS = [
    {},
    {"notion": "classwise"},
    {"notion": "classwise", "pooled": True},
    {"notion": "classwise", "threshold": 0.05},
    {"notion": "top_label"},
    {"notion": "top_r", "r": 2},
    {"notion": "classwise_top_r", "r": 2},
    {"notion": "rth", "r": 3},
    {"notion": "within_top_r", "r": 2},
]
CASES = [(name, view) for name in SETS for view in (VIEWS if name.startswith("multiclass") else VIEWS[:1])]
ALL = slice(None)


def same(a, b, rel=1e-12):
    """Equal counts, sums to rounding."""
    assert np.array_equal(a.key, b.key)
    assert np.array_equal(a.n, b.n)
    for name in SUMS:
        assert np.allclose(getattr(a, name), getattr(b, name), rtol=rel, atol=1e-14), name


@pytest.mark.parametrize(("name", "view"), CASES)
@pytest.mark.parametrize("kind", [BinStats, CellStats])
def test_parts_add_up_to_the_whole(kind, name, view):
    """Shards merged in any order are the statistic of all rows."""
    cut = np.split(RNG.permutation(N), [100, 101, 350])
    parts = [kind.of(SETS[name](rows), SETS[name](rows).view(**view)) for rows in cut]
    whole = kind.of(SETS[name](ALL), SETS[name](ALL).view(**view))
    same(sum(parts), whole)
    same(parts[2] + parts[0] + (parts[3] + parts[1]), whole)


@pytest.mark.parametrize("name", SETS)
def test_score_sums_add_up(name):
    """So do the sums behind proper scores."""
    parts = [ScoreSums.of(SETS[name](slice(i, i + 100))) for i in range(0, N, 100)]
    whole, added = ScoreSums.of(SETS[name](ALL)), sum(parts)
    assert added.n == whole.n
    for field in ("w", "w2", "brier", "nll", "correct", "confidence", "entropy", "spread", "spread_variance"):
        assert getattr(added, field) == pytest.approx(getattr(whole, field), rel=1e-12), field
    assert np.allclose(added.wy, whole.wy, rtol=1e-12)


@pytest.mark.parametrize(("name", "view"), CASES)
@pytest.mark.parametrize("n_bins", [2, 7, 10, 15, 25, 100])
def test_bins_nested_in_cells_are_the_bins_of_the_data(name, view, n_bins):
    """Counting on the grid and coarsening equals counting in the bins."""
    data = SETS[name](ALL)
    cells = CellStats.of(data, data.view(**view))
    same(cells.coarsen(n_bins), BinStats.of(data, data.view(**view), n_bins=n_bins))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_bins", [7, 10, 12, 15, 25, 30, 50, 100])
def test_scores_on_edges_stay_in_their_bins_through_cells(n_bins, dtype):
    """Also for scores exactly on edges, 0 and 1 among them."""
    scores = (np.arange(n_bins + 1) / n_bins).astype(dtype)
    scores = np.concatenate([scores, np.nextafter(scores[:-1], dtype(1)), np.nextafter(scores[1:], dtype(0))])
    data = Predictions(scores, np.arange(len(scores)) % 2)
    same(CellStats.of(data).coarsen(n_bins), BinStats.of(data, n_bins=n_bins))


@pytest.mark.parametrize(("name", "view"), CASES)
@pytest.mark.parametrize("kind", [BinStats, CellStats])
def test_saved_and_loaded_through_json(kind, name, view):
    """A statistic survives JSON exactly."""
    data = SETS[name](ALL)
    stats = kind.of(data, data.view(**view))
    loaded = kind.from_dict(json.loads(json.dumps(stats.to_dict(), allow_nan=False)))
    same(loaded, stats, rel=0)
    assert loaded.view == stats.view
    same(loaded + stats, stats + stats, rel=0)


@pytest.mark.parametrize("kind", [BinStats, CellStats])
def test_weighted_float32_scores_on_an_edge_can_be_loaded(kind):
    """Rounding may move the mean of equal weighted scores beyond the edge they lie on: that is no damage."""
    for weights in ([0.9, 0.33], [0.1, 0.2], [0.7, 0.1], [0.3, 0.6]):
        scores = np.repeat(np.arange(1, 10, dtype=np.float32) / np.float32(10), 2)
        stats = kind.of(Predictions(scores, np.tile([0, 1], 9), sample_weight=np.tile(weights, 9)))
        same(kind.from_dict(stats.to_dict()), stats, rel=0)


def test_infinite_scores_survive_json():
    """An infinite log-likelihood is written as a word and read back."""
    sums = ScoreSums.of(Predictions([0.0, 0.5], [1, 1]))
    saved = json.dumps(sums.to_dict(), allow_nan=False)
    assert '"nll": "Infinity"' in saved
    assert ScoreSums.from_dict(json.loads(saved)).nll == np.inf


def test_quantile_edges_travel_with_the_statistic():
    """Bins made from one shard count another, and merge; so do those of classes kept apart."""
    half = slice(0, N // 2), slice(N // 2, N)
    first = BinStats.of(SETS["binary"](half[0]), strategy="quantile", n_bins=5)
    second = BinStats.of(SETS["binary"](half[1]), edges=first.edges[0])
    assert (first + second).n.sum() == N
    data = SETS["multiclass"](half[0])
    first = BinStats.of(data, data.view("classwise"), strategy="quantile")
    data = SETS["multiclass"](half[1])
    second = BinStats.of(data, data.view("classwise"), edges=first.edges)
    assert (first + second).n.sum() == N * K
    assert expected_calibration_error(data, notion="classwise", edges=first.edges) == expected_calibration_error(second)
    assert json.dumps((first + second).to_dict())


MERGES = {
    "bins": (BinStats.of(SETS["binary"](ALL)), BinStats.of(SETS["binary"](ALL), n_bins=5), "their edges differ"),
    "precision": (BinStats.of(SETS["binary"](ALL)), BinStats.of(SETS["float32"](ALL)), "their edges differ"),
    "notion": (
        BinStats.of(SETS["multiclass"](ALL)),
        BinStats.of(SETS["binary"](ALL)),
        "they count different things",
    ),
    "grid": (CellStats.of(SETS["binary"](ALL)), CellStats.of(SETS["binary"](ALL), cells=100), "their grids differ"),
    "spacing": (
        CellStats.of(SETS["binary"](ALL)),
        CellStats.of(SETS["binary"](ALL), spacing="logit"),
        "their grids differ",
    ),
    "classes": (ScoreSums.of(SETS["binary"](ALL)), ScoreSums.of(SETS["multiclass"](ALL)), "they count binary"),
}


@pytest.mark.parametrize(("one", "other", "reason"), MERGES.values(), ids=MERGES)
def test_what_does_not_belong_together_does_not_merge(one, other, reason):
    """Different edges, notions, grids or classes are refused with the reason."""
    with pytest.raises(MergeError, match=reason):
        one + other


def test_only_statistics_of_a_kind_add():
    """A statistic adds to its own kind and to nothing else."""
    with pytest.raises(TypeError):
        BinStats.of(SETS["binary"](ALL)) + CellStats.of(SETS["binary"](ALL))
    with pytest.raises(TypeError):
        ScoreSums.of(SETS["binary"](ALL)) + 1


def damage(saved, **changes):
    return {name: value for name, value in (saved | changes).items() if value is not ...}


SAVED = BinStats.of(SETS["weighted"](ALL)).to_dict()
CELLS = CellStats.of(SETS["binary"](ALL)).to_dict()
DAMAGED = {
    "foreign": (BinStats, {"schema": "other"}, "this is not a saved believable.BinStats"),
    "kind": (BinStats, CELLS, "this is not a saved believable.BinStats: found 'believable.CellStats'"),
    "not a dict": (BinStats, [1], "found 'list'"),
    "newer": (BinStats, damage(SAVED, version=2), "version 2 cannot be read"),
    "lost field": (BinStats, damage(SAVED, wp=...), "the saved wp must be a list"),
    "short field": (BinStats, damage(SAVED, wp=SAVED["wp"][:-1]), "the saved wp has 9 entries, key has 10"),
    "text": (BinStats, damage(SAVED, w=["1"] * 10), "the saved w must be a list of numbers"),
    "nan": (BinStats, damage(SAVED, w=[float("nan")] * 10), "the saved w must be finite"),
    "keys": (BinStats, damage(SAVED, key=SAVED["key"][::-1]), "the saved keys must increase"),
    "keys beyond": (BinStats, damage(SAVED, key=list(range(5, 15))), "the saved keys go beyond the bins"),
    "counts": (BinStats, damage(SAVED, n=[0] * 10), "at least one pair"),
    "edges": (BinStats, damage(SAVED, edges=[[0, 0.7, 0.5, 1]]), "the saved edges are damaged: edges must increase"),
    "view": (BinStats, damage(SAVED, view={"notion": "binary"}), "the saved view must have the fields"),
    "dtype": (BinStats, damage(SAVED, dtype="int8"), "the saved edges are damaged: dtype must be"),
    "not uniform": (BinStats, damage(SAVED, edges=[[0, *np.linspace(0.3, 1, 10)]]), "uniform edges must be k/M"),
    "more hits than rows": (BinStats, damage(SAVED, ny=[1e6] * 10), "the saved ny cannot be negative or more than n"),
    "scores above one": (BinStats, damage(SAVED, wp=[1e6] * 10), "the saved wp cannot be negative or more than w"),
    "too large": (BinStats, damage(SAVED, n=[10**30] * 10), "too large"),
    "view group": (
        BinStats,
        damage(SAVED, view=SAVED["view"] | {"group": "0"}),
        "the saved view is damaged: stratum must",
    ),
    "view choices": (BinStats, damage(SAVED, view=SAVED["view"] | {"notion": "?"}), "the saved view is damaged"),
    "no rows": (ScoreSums, damage(ScoreSums.of(SETS["binary"](ALL)).to_dict(), w=0.0), "at least one row"),
    "infinite weight": (
        ScoreSums,
        damage(ScoreSums.of(SETS["binary"](ALL)).to_dict(), w="Infinity"),
        "must be a number",
    ),
    "cells": (CellStats, damage(CELLS, cells=-1), "the saved grid is damaged"),
    "sums": (ScoreSums, damage(ScoreSums.of(SETS["binary"](ALL)).to_dict(), wp=[1.0, 2.0]), "do not belong to binary"),
}


@pytest.mark.parametrize(("kind", "saved", "reason"), DAMAGED.values(), ids=DAMAGED)
def test_damaged_forms_are_refused(kind, saved, reason):
    """Foreign, newer, short or inconsistent dictionaries are refused, with the reason."""
    with pytest.raises(SchemaError, match=reason):
        kind.from_dict(saved)


def test_metrics_read_statistics():
    """A metric of a statistic is the metric of the data."""
    data = SETS["multiclass weighted"](ALL)
    bins, cells = BinStats.of(data), CellStats.of(data)
    assert expected_calibration_error(bins) == expected_calibration_error(data)
    assert expected_calibration_error(cells, n_bins=15) == pytest.approx(
        expected_calibration_error(data, n_bins=15), rel=1e-12
    )
    classwise = CellStats.of(data, data.view("classwise"))
    assert static_calibration_error(classwise, n_bins=25) == pytest.approx(
        static_calibration_error(data, n_bins=25), rel=1e-12
    )
    assert auc(classwise) == pytest.approx(auc(data), abs=1e-4)  # pairs within a cell count as ties
    pooled = expected_calibration_error(data, notion="classwise", pooled=True)
    assert expected_calibration_error(classwise, pooled=True) == pytest.approx(pooled, rel=1e-12)
    ranked = BinStats.of(data, data.view("top_r", r=3))
    assert top_r_calibration_error(ranked) == top_r_calibration_error(data)


def test_quantile_bins_come_out_of_cells():
    """Scores that lie on the grid have the quantile bins of the data."""
    on_grid = Predictions(np.rint(P * 50400) / 50400, Y, sample_weight=W)
    cells = CellStats.of(on_grid)
    for n_bins in (2, 10, 33):
        assert adaptive_calibration_error(cells, n_bins=n_bins) == pytest.approx(
            adaptive_calibration_error(on_grid, n_bins=n_bins), rel=1e-12
        )
    assert sweep_calibration_error(cells) == pytest.approx(sweep_calibration_error(on_grid), rel=1e-12)
    assert auc(cells) == pytest.approx(auc(on_grid), rel=1e-12)


UNREADABLE = [
    (expected_calibration_error, {"n_bins": 15}, "the statistic has 10 bins, not 15"),
    (expected_calibration_error, {"strategy": "quantile"}, "needs quantile bins, but the statistic has uniform bins"),
    (expected_calibration_error, {"notion": "confidence"}, "counted with notion='binary', not 'confidence'"),
    (expected_calibration_error, {"threshold": 0.5}, "counted with threshold=None, not 0.5"),
    (adaptive_calibration_error, {}, "needs quantile bins"),
    (static_calibration_error, {}, "counted with notion='binary', not 'classwise'"),
    (sweep_calibration_error, {}, "pass predictions or CellStats, not BinStats"),
    (auc, {}, "cannot be computed from BinStats: pass predictions or CellStats"),
]


@pytest.mark.parametrize(("metric", "options", "reason"), UNREADABLE)
def test_a_statistic_answers_only_its_question(metric, options, reason):
    """Bins, strategy and notion that were not counted are refused, never guessed."""
    with pytest.raises(UndefinedError, match=reason):
        metric(BinStats.of(SETS["binary"](ALL)), **options)


def test_pooled_groups_cannot_be_told_apart():
    """What was pooled answers as it is, but not class by class."""
    data = SETS["multiclass"](ALL)
    pooled = BinStats.of(data, data.view("classwise", pooled=True))
    assert expected_calibration_error(pooled) == expected_calibration_error(data, notion="classwise", pooled=True)
    for metric in (classwise_ece, static_calibration_error):
        with pytest.raises(UndefinedError, match="counted with pooled=True"):
            metric(pooled)


@pytest.mark.parametrize(("name", "view"), CASES)
def test_the_size_of_blocks_does_not_matter(name, view, monkeypatch):
    """Answers do not depend on how the rows are cut for the cache."""
    from believable._kernels import bins, rows

    whole = SETS[name](ALL)
    expected = [BinStats.of(whole, whole.view(**view), strategy=s) for s in ("uniform", "quantile")]
    sums = ScoreSums.of(whole)
    monkeypatch.setattr(rows, "VECTOR_BLOCK", 7)
    monkeypatch.setattr(rows, "MATRIX_BLOCK", 40)
    monkeypatch.setattr(bins, "SORTED_ROWS", 3)
    cut = SETS[name](ALL)
    for strategy, other in zip(("uniform", "quantile"), expected, strict=True):
        same(BinStats.of(cut, cut.view(**view), strategy=strategy), other)
    for field in ("brier", "nll", "entropy"):
        assert getattr(ScoreSums.of(cut), field) == pytest.approx(getattr(sums, field), rel=1e-12)
    assert np.allclose(ScoreSums.of(cut).deviation, sums.deviation, rtol=1e-11)


def test_views_belong_to_their_predictions():
    """A view made for other predictions is refused, and so are bare arrays."""
    three = Predictions([[0.5, 0.15, 0.35], [0.6, 0.25, 0.15]], [2, 1])
    for view in (View("binary"), View("classwise"), View("confidence"), View("top_r", 5, r=4), "classwise"):
        for kind in (BinStats, CellStats):
            with pytest.raises(InputError, match=r"does not fit|needs two classes|r must be an integer from 1 to 3"):
                kind.of(three, view)
    for kind in (BinStats, CellStats, ScoreSums):
        with pytest.raises(InputError, match="counted from checked predictions"):
            kind.of(P)


def test_statistics_are_read_only():
    """What is shared cannot be changed by accident."""
    data = Predictions([0.1, 0.2, 0.8, 0.9], [0, 1, 1, 1])
    with pytest.raises(ValueError, match="read-only"):
        BinStats.of(data).w[:] = 1
    with pytest.raises(ValueError, match="read-only"):
        ScoreSums.of(data).wp[:] = 1
    counts = calibration_curve(data)[2]
    counts *= 0
    assert calibration_curve(data)[2].sum() == 4


def test_one_class_is_not_another():
    """A class alone knows which it is: it merges with itself, and answers for no other."""
    data = SETS["multiclass"](ALL)
    for kind in (BinStats, CellStats):
        stats = kind.of(data, data.view("classwise"))
        zero, one = stats.only_stratum(0), stats.only_stratum(1)
        assert (zero + zero).n.sum() == 2 * N
        with pytest.raises(MergeError, match="they count different things"):
            zero + one
        with pytest.raises(UndefinedError, match="holds only class 1"):
            static_calibration_error(one)
        alone = Predictions(MATRIX[:, 1], LABELS == 1)
        assert expected_calibration_error(one) == pytest.approx(expected_calibration_error(alone), rel=1e-12)
        with pytest.raises(InputError, match="there are 5 classes or ranks"):
            stats.only_stratum(5)


def test_strategy_and_notion_are_told_from_their_defaults():
    """An explicit choice that differs from the statistic is refused, even where it is the default."""
    data = SETS["binary"](ALL)
    quantile = BinStats.of(data, strategy="quantile")
    assert expected_calibration_error(quantile) == expected_calibration_error(data, strategy="quantile")
    with pytest.raises(UndefinedError, match="needs uniform bins, but the statistic has quantile bins"):
        expected_calibration_error(quantile, strategy="uniform")
    two = Predictions([[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.4, 0.6]], [0, 1, 1, 0])
    with pytest.raises(UndefinedError, match="counted with notion='binary', not 'confidence'"):
        sweep_calibration_error(CellStats.of(two, two.view("binary")), notion="confidence")
    some = BinStats.of(SETS["multiclass"](ALL), SETS["multiclass"](ALL).view("classwise", threshold=0.2))
    with pytest.raises(UndefinedError, match=r"counted with threshold=0\.2, not None"):
        static_calibration_error(some)
    assert static_calibration_error(some, threshold=0.2) == expected_calibration_error(some)


def test_columns_that_are_independent_stay_so():
    """Two multilabel columns are two problems, also through cells, and do not merge with two classes."""
    scores, happened = np.array([[0.1, 0.8], [0.3, 0.9], [0, 0]]), np.array([[0, 1], [1, 0], [0, 0]])
    many = Predictions(scores, happened, multilabel=True)
    assert auc(CellStats.of(many)) == auc(many) == 0.75
    two = Predictions([[0.5, 0.5]], [0])
    with pytest.raises(MergeError, match="they count different things"):
        BinStats.of(many) + BinStats.of(two, two.view("classwise"))


def test_a_threshold_may_keep_nothing():
    """Nothing above the threshold is an empty statistic, which has no error."""
    data = Predictions(RNG.dirichlet(np.ones(50), 20), np.arange(20))
    empty = CellStats.of(data, data.view("classwise", threshold=0.99))
    assert len(empty.n) == 0
    assert len((empty + empty).n) == 0
    with pytest.raises(UndefinedError, match=r"no score is above threshold=0\.99"):
        expected_calibration_error(empty)
    one = Predictions([0.1], [0])
    with pytest.raises(UndefinedError, match="no score is above"):
        sweep_calibration_error(CellStats.of(one, one.view(threshold=0.5)))


@pytest.mark.parametrize("n_bins", [2.7, "5", True, None])
def test_cells_check_the_number_of_bins(n_bins):
    """A number of bins is an integer, for statistics too."""
    with pytest.raises(InputError, match="n_bins must be an integer"):
        expected_calibration_error(CellStats.of(SETS["binary"](ALL)), n_bins=n_bins)


def test_views_are_plain_in_json():
    """NumPy's integers and booleans become Python's."""
    data = SETS["multiclass"](ALL)
    view = data.view("top_r", r=np.int64(2), pooled=np.True_, threshold=np.float32(0.25))
    assert json.loads(json.dumps(BinStats.of(data, view).to_dict()))["view"]["r"] == 2


def test_bins_that_cut_cells_are_refused():
    """Bins must be made of whole cells."""
    cells = CellStats.of(SETS["binary"](ALL))
    with pytest.raises(InputError, match="11 uniform bins are not made of whole cells"):
        cells.coarsen(11)
    with pytest.raises(InputError, match="not made of whole cells"):
        expected_calibration_error(CellStats.of(SETS["binary"](ALL), spacing="logit"))
    given = cells.coarsen(Edges.given([0, 0.1, 0.25, 1]))
    same(given, BinStats.of(SETS["binary"](ALL), edges=[0, 0.1, 0.25, 1]))


def test_evaluate_reads_several_statistics():
    """Sums and cells together give everything that does not need the data."""
    data = SETS["weighted"](ALL)
    from_data = evaluate(data)
    from_stats = evaluate([ScoreSums.of(data), CellStats.of(data)])
    for name in from_stats:
        loose = name in ("adaptive_calibration_error", "thresholded_adaptive_calibration_error")
        assert from_stats[name] == pytest.approx(from_data[name], abs=1e-12 if not loose else 1e-3), name
    assert from_stats.notion == "binary"
    assert "brier_score" in evaluate(BinStats.of(data)).skipped


def test_counts_do_not_saturate():
    """2^24 + 1000 equal float32 rows are counted one by one."""
    n = 2**24 + 1000
    scores = np.broadcast_to(np.float32(0.25), (n,))
    stats = BinStats.of(Predictions(scores, np.broadcast_to(np.int8(1), (n,))))
    assert stats.n.tolist() == [n]
    assert stats.conf.tolist() == [0.25]
    assert stats.wy.tolist() == [n]


def test_a_huge_key_space_is_counted_sparsely():
    """Classes times cells may be more than memory holds: only what occurs is kept."""
    n_classes = 60
    matrix = RNG.dirichlet(np.full(n_classes, 0.1), 50)
    data = Predictions(matrix, RNG.integers(0, n_classes, 50), sample_weight=RNG.random(50))
    view = data.view("classwise")
    cells = CellStats.of(data, view)
    assert len(cells.n) <= matrix.size
    same(cells.coarsen(10), BinStats.of(data, view))
