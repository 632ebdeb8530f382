"""Maps by boosting: fitting on sums, the number of rounds, and the tables."""

from __future__ import annotations

import json

import numpy as np
import pytest

from believable import Predictions
from believable.errors import InputError, SchemaError
from believable.recalibrate import GroupedRecalibrator, load_recalibrator
from believable.recalibrate.segment_boosting import BOOSTING_RANGES, Counted, fit_boosted
from believable.recalibrate.segment_tables import boosted_logits
from believable.stats import SegmentStats
from believable.stats.levels import Levels

COLUMNS = [Levels("site", ("a", "b", "c")), Levels("sex", ("f", "m"))]


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def rows(seed=0, n=8000, effect=1.0):
    """Logits, two columns, and outcomes; one intersection is off."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, 3, n), rng.integers(0, 2, n)])
    z = rng.normal(size=n)
    off = effect * ((codes[0] == 1) & (codes[1] == 0))
    return codes, z, (rng.random(n) < sigmoid(z + off)).astype(float)


def counted(codes, z, y, w=None):
    w = np.ones(len(z)) if w is None else w
    return Counted(codes, z, np.ones(len(z), np.int64), y, w, w * y)


def loss(z, y):
    return float(np.mean(np.logaddexp(0, z) - y * z))


def test_an_intersection_is_corrected():
    """Its rows move by the effect, others hardly."""
    codes, z, y = rows()
    fitted = fit_boosted(COLUMNS, counted(codes, z, y))
    moved = boosted_logits(fitted, np.zeros(6), np.array([[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1]]))
    np.testing.assert_allclose(moved, [0, 0, 1, 0, 0, 0], atol=0.2)
    assert fitted["rounds"] >= 1
    assert fitted["gain"] > fitted["gain_error"] > 0


def test_the_promised_gain_is_that_on_new_rows():
    """The gain on held-out rows estimates the gain on new rows."""
    codes, z, y = rows()
    fitted = fit_boosted(COLUMNS, counted(codes, z, y))
    codes, z, y = rows(1, 100_000)
    gain = loss(z, y) - loss(boosted_logits(fitted, z, codes), y)
    assert abs(fitted["gain"] - gain) < 3 * fitted["gain_error"]


def test_calibrated_rows_keep_the_common_map():
    """Without evidence nothing is added; in 30 samples the loss on new rows rises by less than 0.001."""
    codes, z, y = rows(99, 50_000, effect=0.0)
    for seed in range(30):
        fitted = fit_boosted(COLUMNS, counted(*rows(seed, 1000, effect=0.0)))
        assert loss(boosted_logits(fitted, z, codes), y) - loss(z, y) < 0.001


def test_row_order_does_not_matter():
    """Rows that were shuffled give the same rounds; only the dealing into folds may choose another number of them."""
    codes, z, y = rows()
    order = np.random.default_rng(5).permutation(len(z))
    one = fit_boosted(COLUMNS, counted(codes, z, y))
    other = fit_boosted(COLUMNS, counted(codes[:, order], z[order], y[order]))
    assert one["rounds"] == other["rounds"]
    at = np.array([[0, 1, 2], [0, 0, 1]])
    np.testing.assert_allclose(*(boosted_logits(each, np.array([-1.0, 0, 1]), at) for each in (one, other)), atol=1e-9)


def test_rows_of_an_entry_may_be_added_up():
    """Entries with several rows say the same as the rows."""
    codes, z, y = rows()
    z = np.round(2 * z) / 2
    key = np.unique(np.vstack([codes, z]), axis=1, return_inverse=True)[1].ravel()
    first = np.unique(key, return_index=True)[1]
    n, ny = np.bincount(key), np.bincount(key, y)
    added = Counted(codes[:, first], z[first], n, ny, n.astype(float), ny)
    one, other = fit_boosted(COLUMNS, counted(codes, z, y)), fit_boosted(COLUMNS, added)
    assert one["rounds"] == other["rounds"]
    assert one["gain"] == pytest.approx(other["gain"], rel=1e-9)
    assert json.dumps(one["tables"]) != "[]"
    for mine, others in zip(one["tables"], other["tables"], strict=True):
        np.testing.assert_allclose(mine["intercepts"], others["intercepts"], atol=1e-9)


def test_folds_of_clusters_are_kept():
    """With rows repeated in clusters, folds by cluster see through a gain that folds by row would promise."""
    rng = np.random.default_rng(0)
    patients = 150
    patient = np.repeat(np.arange(patients), 40)
    codes = np.stack([rng.integers(0, 30, patients)[patient], np.zeros(len(patient), int)])
    z, own = np.zeros(len(patient)), rng.normal(0, 1.5, patients)[patient]
    y = (rng.random(len(patient)) < sigmoid(own)).astype(float)
    columns = [Levels("ward", tuple(f"w{i}" for i in range(30))), Levels("one", ("x",))]
    by_row = fit_boosted(columns, counted(codes, z, y))
    by_patient = fit_boosted(columns, counted(codes, z, y), fold=(np.arange(patients) % 5)[patient])
    assert by_row["gain"] > by_patient["gain"]
    assert by_row["rounds"] > 0


def test_tables_apply_as_defined():
    """Slopes act within the clip; a row needs a level in each column of a table, and one level at all."""
    fitted = {
        "rounds": 1,
        "gain": 0.1,
        "gain_error": 0.01,
        "clip": [-2.0, 2.0],
        "tables": [
            {"columns": [], "groups": [], "segments": [[]], "intercepts": [0.5], "slopes": [0.0]},
            {"columns": [1], "groups": [[0, 1]], "segments": [[1]], "intercepts": [0.0], "slopes": [1.0]},
            {
                "columns": [0, 1],
                "groups": [[0, 0, 1], [0, 1]],
                "segments": [[0, 1]],
                "intercepts": [10.0],
                "slopes": [0],
            },
        ],
    }
    codes = np.array([[0, 1, 2, -1, 2, -1], [1, 1, 1, 1, 0, -1]])
    z = np.array([3.0, -3.0, 1.0, 1.0, 1.0, 1.0])
    moved = boosted_logits(fitted, z, codes) - z
    np.testing.assert_allclose(moved, [0.5 + 2 + 10, 0.5 - 2 + 10, 0.5 + 1, 0.5 + 1, 0.5, 0])


# --- in the recalibrator ----------------------------------------------------------------------------------------------


def table(seed=0, n=8000):
    """Probabilities, outcomes, and columns: text, a quantity with missing values."""
    rng = np.random.default_rng(seed)
    z, site = rng.normal(size=n), rng.choice(["a", "b", "c"], n)
    age = rng.integers(20, 80, n).astype(float)
    age[rng.random(n) < 0.1] = np.nan
    logit = z + np.where(np.isnan(age), 0.8, (np.nan_to_num(age) - 50) / 60) - 0.7 * (site == "b")
    return sigmoid(z), (rng.random(n) < sigmoid(logit)).astype(int), {"site": site, "age": age}


@pytest.fixture(scope="module")
def fitted():
    p, y, by = table()
    return GroupedRecalibrator(method="boosted").fit(p, y, by=by)


def test_quantities_are_cut_finely_and_missing_is_a_level(fitted):
    """By default into 16 ranges, and missing values have a map of their own."""
    rule = fitted.maps_[0]["by"][1]
    assert len(rule["cuts"]) == BOOSTING_RANGES - 1
    assert rule["names"][-1] == "missing"
    p = np.full(3, 0.5)
    young, old, missing = fitted.transform(p, by={"site": ["a"] * 3, "age": [25.0, 75.0, None]})
    common = fitted.common_.transform(p[:1])[0]
    assert young < common < old
    assert missing > common


def test_it_is_better_on_new_rows(fitted):
    """The log loss falls from that of the common map, nearly to that of the truth."""
    p, y, by = table(1, 50_000)
    z = np.log(p / (1 - p))
    age = by["age"]
    truth = z + np.where(np.isnan(age), 0.8, (np.nan_to_num(age) - 50) / 60) - 0.7 * (by["site"] == "b")

    def of(q):
        return -np.mean(np.where(y == 1, np.log(q), np.log1p(-q)))

    best, common, ours = of(sigmoid(truth)), of(fitted.common_.transform(p)), of(fitted.transform(p, by=by))
    assert ours - best < 0.1 * (common - best)


def test_unseen_levels_have_the_common_map(fitted):
    """Exactly, also where missing values were not seen in fitting."""
    p = np.array([0.2, 0.7])
    rows, y, by = table()
    alone = GroupedRecalibrator(method="boosted", by=["site"]).fit(rows, y, by=by)
    np.testing.assert_array_equal(alone.transform(p, by={"site": ["x", None]}), alone.common_.transform(p))
    assert (alone.transform(p, by={"site": ["b", "b"]}) < alone.common_.transform(p)).all()


def test_json_round_trip(fitted):
    """A saved map gives the same probabilities, to the last bit, and has no unknown fields."""
    p, _, by = table(2, 500)
    again = load_recalibrator(fitted.to_json())
    np.testing.assert_array_equal(again.transform(p, by=by), fitted.transform(p, by=by))
    assert again.segments_ == fitted.segments_
    assert json.loads(again.to_json()) == json.loads(fitted.to_json())


def test_segments_in_words(fitted):
    """Every corrected segment has a name, of the ranges that were merged."""
    names = {one.name for one in fitted.segments_}
    assert any("age = up to " in name for name in names)
    assert any("age = above " in name for name in names)
    assert any("age = missing" in name for name in names)
    assert fitted.levels_ == ()
    assert len(fitted.lines(3)) == 4
    assert fitted.to_frame()["name"].to_list() == [one.name for one in fitted.segments_]


def test_statistics_say_the_same_as_rows():
    """From counts by segment and cell, probabilities differ by less than 0.01."""
    p, y, by = table()
    stats = SegmentStats.of(Predictions(p, y), by, n_ranges=BOOSTING_RANGES)
    from_counts = GroupedRecalibrator(method="boosted").fit_from_statistics(stats)
    from_rows = GroupedRecalibrator(method="boosted").fit(p, y, by=by)
    new, _, columns = table(3, 2000)
    np.testing.assert_allclose(from_counts.transform(new, by=columns), from_rows.transform(new, by=columns), atol=0.02)


def test_classes_are_recalibrated_one_against_the_rest():
    """Rows sum to 1, and the class that is wrong in a segment is corrected there."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(6000, 3))
    site = rng.choice(["a", "b"], 6000)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    moved = logits + np.where(site == "b", 1.0, 0.0)[:, None] * [1, 0, 0]
    q = np.exp(moved) / np.exp(moved).sum(axis=1, keepdims=True)
    y = (rng.random(6000)[:, None] > np.cumsum(q, axis=1)).sum(axis=1)
    fitted = GroupedRecalibrator(method="boosted").fit(p, y, by={"site": site})
    made = fitted.predict_proba(p, by={"site": site})
    np.testing.assert_allclose(made.sum(axis=1), 1, atol=1e-12)
    assert np.abs(made - q).mean() < 0.5 * np.abs(p - q).mean()
    assert {one.event for one in fitted.segments_} <= {0, 1, 2}


def damaged(fitted, change):
    saved = json.loads(fitted.to_json())
    change(saved["maps"][0]["boosted"])
    return json.dumps(saved)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.pop("clip"), "the saved boosted must have the fields"),
        (lambda m: m.update(clip=[2, 1]), "the saved clip must be in ascending order"),
        (lambda m: m.update(rounds=1.5), "a whole number of rounds"),
        (lambda m: m.update(gain="much"), "the saved gain must hold numbers"),
        (lambda m: m["tables"][0].pop("slopes"), "a table of the saved boosted must have the fields"),
        (lambda m: m["tables"][0].update(slopes=[]), "must hold at least 1 numbers"),
        (lambda m: m["tables"][0]["segments"].append([9]), "must have one of its intercepts for each segment"),
        (
            lambda m: m["tables"][0].update(columns=[7], groups=[[0]]),
            "must give a group to each level of columns in by",
        ),
        (lambda m: m["tables"][0].update(groups=[]), "must have groups for each column, and segments"),
        (lambda m: m["tables"][0]["groups"][0].pop(), "must give a group to each level of columns in by"),
        (lambda m: m["tables"][0]["segments"].__setitem__(0, [99]), "must have a group for each column of their table"),
        (lambda m: m["tables"][0]["segments"].__setitem__(0, [0.5]), "must be whole numbers"),
        (lambda m: m["tables"][0]["segments"].__setitem__(0, m["tables"][0]["segments"][1]), "must be distinct"),
    ],
)
def test_damaged_files_are_refused(fitted, change, words):
    """Each field of a loaded map is checked for its place and range."""
    with pytest.raises(SchemaError, match=words):
        load_recalibrator(damaged(fitted, change))


def test_few_clusters():
    """With two clusters there are two folds, and one cluster is refused."""
    p, y, by = table(0, 600)
    GroupedRecalibrator(method="boosted").fit(p, y, by=by, clusters=np.arange(600) % 2)
    with pytest.raises(InputError, match="clusters holds only one cluster"):
        GroupedRecalibrator(method="boosted").fit(p, y, by=by, clusters=np.zeros(600))
