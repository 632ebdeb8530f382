"""`GroupedRecalibrator` by partial pooling: what levels add, and how much of it is kept."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from believable import Predictions, load_recalibrator
from believable._kernels.mixed_logistic import fit_mixed_logistic
from believable.errors import InputError, LimitWarning, SchemaError, UndefinedError
from believable.recalibrate import GroupedRecalibrator, IsotonicCalibration, PlattScaling
from believable.stats import SegmentStats


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def logit(p):
    return np.log(p) - np.log1p(-p)


def rows(n=2000, seed=0, shift=0.8):
    """Probabilities, outcomes and sites, of which b has more events than promised and c fewer."""
    rng = np.random.default_rng(seed)
    z, site = rng.normal(size=n), rng.choice(["a", "b", "c"], n)
    y = rng.random(n) < sigmoid(z + shift * ((site == "b") * 1.0 - (site == "c")))
    return sigmoid(z), y.astype(int), site


def loss(p, y):
    return float(-np.mean(np.where(y == 1, np.log(p), np.log1p(-p))))


def excess(p, prob):
    """Return the expected log loss beyond that of the truth."""
    return float(np.mean(prob * np.log(prob / p) + (1 - prob) * np.log((1 - prob) / (1 - p))))


@pytest.fixture(scope="module")
def fitted():
    p, y, site = rows()
    return GroupedRecalibrator().fit(p, y, by={"site": site})


# --- what is added ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_map_is_the_definition(seed):
    """The map of `glmer` with a prior, and its effects times 1 / (1 + 3 exp(-G / 2)); literally."""
    p, y, site = rows(300, seed, shift=0.3)
    model = GroupedRecalibrator().fit(p, y, by={"site": site})
    z, code = logit(p), np.searchsorted(["a", "b", "c"], site)
    free = fit_mixed_logistic(z, np.ones(300), y * 1.0, [code], [3], prior=0.5)
    kept = 1 / (1 + 3 * np.exp(-free.gains[0] / 2))
    assert 0.05 < kept < 0.999  # neither nothing nor all, so that it matters
    common = (1 - kept) * np.array(free.common) + kept * np.array([free.slope, free.intercept])
    for level in range(3):
        intercept, slope = kept * free.effects[0][level]
        eta = (common[0] + slope) * z + common[1] + intercept
        own = model.transform(p, by={"site": np.full(300, "abc"[level])})
        np.testing.assert_allclose(own, sigmoid(eta), rtol=1e-9)
        assert model.levels_[level].share == pytest.approx(kept * free.shares[0][level])


def test_any_common_map_can_be_the_base():
    """Levels add to its logit, and rows of no level get the map of all rows, fitted alone, to the last bit."""
    p, y, site = rows()
    model = GroupedRecalibrator(base="isotonic").fit(p, y, by={"site": site})
    alone = IsotonicCalibration().fit(p, y)
    np.testing.assert_array_equal(model.transform(p[:50], by={"site": ["?"] * 50}), alone.transform(p[:50]))
    level = next(one for one in model.levels_ if one.level == "b")
    there = np.array([0.3, 0.6])
    moved = logit(model.transform(there, by={"site": ["b", "b"]})) - logit(alone.transform(there))
    np.testing.assert_allclose(moved, level.slope * logit(there) + level.intercept, atol=1e-9)


def test_levels_follow_their_rows(fitted):
    """With hundreds of rows, a level's map is nearly its own."""
    shifts = {one.level: one.intercept for one in fitted.levels_}
    assert shifts["b"] - shifts["a"] == pytest.approx(0.8, abs=0.25)
    assert shifts["c"] - shifts["a"] == pytest.approx(-0.8, abs=0.25)
    assert all(one.share > 0.9 for one in fitted.levels_)
    assert [one.rows for one in fitted.levels_] == [np.sum(rows()[2] == site) for site in "abc"]


def test_a_small_level_keeps_the_common_map():
    """A level of five rows is moved by little, a level without rows not at all."""
    p, y, site = rows()
    site = site.astype(object)
    site[:5] = "small"
    y[:5] = 1
    model = GroupedRecalibrator().fit(p, y, by={"site": site})
    share = {one.level: one.share for one in model.levels_}
    assert share["small"] < 0.6 < share["a"]


def test_equal_levels_have_one_map():
    """Of 40 levels that are alike, with 2000 rows, none is moved by more than 0.05 of a logit."""
    p, y, _ = rows(shift=0.0)
    model = GroupedRecalibrator().fit(p, y, by={"shop": np.arange(2000) % 40})
    assert max(one.size for one in model.levels_) < 0.05
    np.testing.assert_allclose(
        model.transform(p, by={"shop": np.arange(2000) % 40}), PlattScaling().fit(p, y).transform(p), atol=0.01
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning", "ignore::believable.errors.LimitWarning")
@pytest.mark.parametrize(("n", "shift"), [(60, 0.0), (300, 0.0), (100, 0.5), (300, 0.5), (1000, 0.5), (10_000, 0.5)])
def test_it_is_as_good_as_the_better_of_one_map_and_a_map_per_level(n, shift):
    """In expected log loss on new rows; within 0.001 of it, and noise."""
    losses = []
    for seed in range(30):
        p, y, site = rows(n, 100 + seed, shift)
        new, _, where = rows(20_000, 1000 + seed)
        prob = sigmoid(logit(new) + shift * ((where == "b") * 1.0 - (where == "c")))
        common, separate = PlattScaling().fit(p, y).transform(new), np.empty(len(new))
        for level in "abc":
            mine = site == level
            one_class = y[mine].min() == y[mine].max() if mine.any() else True
            own = PlattScaling().fit(p[mine], y[mine]) if not one_class else PlattScaling().fit(p, y)
            separate[where == level] = own.transform(new[where == level])
        pooled = GroupedRecalibrator().fit(p, y, by={"site": site}).transform(new, by={"site": where})
        losses.append([excess(np.clip(q, 1e-12, 1 - 1e-12), prob) for q in (common, separate, pooled)])
    common, separate, pooled = np.mean(losses, axis=0)
    better = 0 if common < separate else 1
    differences = np.array(losses)[:, 2] - np.array(losses)[:, better]
    noise = 2 * differences.std() / np.sqrt(len(differences))
    assert pooled <= min(common, separate) + 0.001 + noise


# --- columns ----------------------------------------------------------------------------------------------------------


def test_missing_and_unseen_levels_have_the_common_map(fitted):
    """Exactly, whatever stands for missing."""
    p = np.array([0.2, 0.5, 0.9])
    expected = fitted.common_.transform(p)
    for values in (["?"] * 3, [None] * 3, [np.nan] * 3, np.array([None, "?", np.nan], object)):
        np.testing.assert_array_equal(fitted.transform(p, by={"site": values}), expected)


def test_missing_values_help_the_common_map():
    """Their rows are fitted to, and the other columns correct them."""
    p, y, site = rows()
    site = site.astype(object)
    sex = np.where(np.arange(2000) % 2, "f", "m")
    y = np.where((sex == "f") & (np.random.default_rng(1).random(2000) < 0.5), 1, y)
    site[site == "c"] = None
    model = GroupedRecalibrator().fit(p, y, by={"site": site, "sex": sex})
    assert {one.level for one in model.levels_} == {"a", "b", "f", "m"}
    f, m = model.transform([0.5, 0.5], by={"site": [None, None], "sex": ["f", "m"]})
    assert f > m + 0.1


def test_quantities_are_cut():
    """Numbers with more than 12 values become four ranges, of which the outermost reach to infinity."""
    rng = np.random.default_rng(0)
    age, z = rng.uniform(20, 80, 4000), rng.normal(size=4000)
    y = rng.random(4000) < sigmoid(z + (age - 50) / 20)
    model = GroupedRecalibrator().fit(sigmoid(z), y, by={"age": age})
    assert len(model.levels_) == 4
    young, old = model.transform([0.5, 0.5], by={"age": [-1e9, 1e9]})
    assert young < 0.35 < 0.65 < old
    assert len(GroupedRecalibrator(n_ranges=8).fit(sigmoid(z), y, by={"age": age}).levels_) == 8


def test_rare_levels_are_one():
    """Of more than `max_levels`, those with the fewest rows are together, with those that were not seen."""
    p, y, _ = rows()
    shop = np.array([f"shop {i}" for i in np.minimum(np.arange(2000) % 97, 30)])
    model = GroupedRecalibrator(max_levels=5).fit(p, y, by={"shop": shop})
    assert len(model.levels_) == 5
    assert model.levels_[-1].level == "other values"
    assert "values" in model.notes_[0]
    seen, unseen = model.transform([0.4, 0.4], by={"shop": ["shop 20", "shop 999"]})
    assert seen == unseen


def test_columns_without_segments_are_named():
    """A constant column, one that is all missing, one that identifies rows, and one that tells the outcome."""
    p, y, site = rows(400)
    bad = {"one": np.zeros(400), "none": [None] * 400, "id": [f"r{i}" for i in range(400)], "leak": y}
    for name, values in bad.items():
        with pytest.warns(LimitWarning, match=f"{name}.*it does not change the common map"):
            model = GroupedRecalibrator().fit(p, y, by={"site": site, name: values})
        assert model.by_ == ("site",)
    with pytest.warns(LimitWarning):
        model = GroupedRecalibrator().fit(p, y, by={"one": bad["one"]})
    np.testing.assert_array_equal(model.transform(p, by={}), model.common_.transform(p))


def test_columns_may_be_in_the_data_frame():
    """By name, or all columns of `by`."""
    p, y, site = rows(500)
    frame = pl.DataFrame({"p": p, "site": site})
    inside = GroupedRecalibrator("site").fit(frame, y)
    beside = GroupedRecalibrator().fit(p, y, by=frame.select("site"))
    np.testing.assert_array_equal(inside.transform(frame)[:, 0], beside.transform(p, by={"site": site}))
    with pytest.raises(InputError, match="X lacks column 'site'"):
        inside.transform(frame.select("p"))
    with pytest.raises(InputError, match=r"^column 'sex' of X must hold numbers, got the text 'M' at row 0$"):
        GroupedRecalibrator("site").fit(frame.with_columns(sex=pl.lit("M")), y)


def test_columns_belong_to_the_rows_of_the_scores():
    """Rows pair by position, so that another index is refused; as in the search for segments."""
    pd = pytest.importorskip("pandas")
    p, y, site = rows(500)
    moved = pd.Series(site, index=range(1, 501), name="site")
    model = GroupedRecalibrator().fit(pd.Series(p), y, by={"site": site})
    message = "the indexes of {} and by 'site' differ: 0 and 1 at row 0"
    for by in (moved, moved.to_frame(), {"site": moved}):
        with pytest.raises(InputError, match=message.format("X")):
            GroupedRecalibrator().fit(pd.Series(p), y, by=by)
        with pytest.raises(InputError, match=message.format("y")):
            GroupedRecalibrator().fit(p, pd.Series(y), by=by)
        with pytest.raises(InputError, match=message.format("X")):
            model.transform(pd.Series(p), by=by)
        np.testing.assert_array_equal(model.transform(p, by=by), model.transform(p, by={"site": site}))


def test_a_map_fitted_to_one_container_is_right_for_another():
    """Long integers are exact beside a missing value, so that no row gets the map of another hospital."""
    p, y, site = rows(1000)
    names = 2**60 + np.searchsorted(["a", "b", "c"], site)
    model = GroupedRecalibrator().fit(p, y, by={"hospital": names})
    new = [2**60, 2**60 + 1, None, 2**60 + 2]
    found = model.transform([0.5] * 4, by=pl.DataFrame({"hospital": new}))
    each = [model.transform([0.5], by={"hospital": [one]})[0] for one in new]
    np.testing.assert_array_equal(found, each)
    assert len(set(each)) == 4


# --- rows -------------------------------------------------------------------------------------------------------------


def test_weights_say_how_much_rows_matter():
    """Their unit does not matter, and rows of weight 0 are no rows."""
    p, y, site = rows(600)
    w = np.random.default_rng(1).choice([0.0, 1.0, 3.0], 600)
    one = GroupedRecalibrator().fit(p, y, w, by={"site": site})
    other = GroupedRecalibrator().fit(p, y, 1e-6 * w, by={"site": site})
    kept = w > 0
    some = GroupedRecalibrator().fit(p[kept], y[kept], w[kept], by={"site": site[kept]})
    for again in (other, some):
        np.testing.assert_allclose(
            again.transform(p, by={"site": site}), one.transform(p, by={"site": site}), rtol=1e-7
        )


def test_unequal_weights_are_fewer_rows():
    """Effects are held back as by the effective number of rows, (sum w)^2 / sum w^2."""
    p, y, site = rows(300)
    w = np.random.default_rng(1).choice([1.0, 20.0], 300, p=[0.9, 0.1])
    z, code = logit(p), np.searchsorted(["a", "b", "c"], site)
    scaled = w * w.sum() / (w**2).sum()
    free = fit_mixed_logistic(z, scaled, scaled * y, [code], [3], prior=0.5)
    model = GroupedRecalibrator().fit(p, y, w, by={"site": site})
    kept = 1 / (1 + 3 * np.exp(-free.gains[0] / 2))
    np.testing.assert_allclose(
        [one.intercept for one in model.levels_], kept * free.effects[0][:, 0], rtol=1e-6, atol=1e-9
    )


def test_clusters_are_fewer_rows():
    """Each row ten times over, in clusters of its copies, is held back about as much as once."""
    p, y, site = rows(200)
    again = {"site": np.repeat(site, 10)}
    once = GroupedRecalibrator().fit(p, y, by={"site": site})
    alone = GroupedRecalibrator().fit(np.repeat(p, 10), np.repeat(y, 10), by=again)
    together = GroupedRecalibrator().fit(
        np.repeat(p, 10), np.repeat(y, 10), by=again, clusters=np.repeat(np.arange(200), 10)
    )
    share = [np.mean([one.share for one in model.levels_]) for model in (once, together, alone)]
    assert share[1] == pytest.approx(share[0], abs=0.05)
    assert share[2] > share[0] + 0.1


def test_the_order_of_rows_does_not_matter():
    p, y, site = rows(500)
    order = np.random.default_rng(2).permutation(500)
    one = GroupedRecalibrator().fit(p, y, by={"site": site})
    other = GroupedRecalibrator().fit(p[order], y[order], by={"site": site[order]})
    np.testing.assert_allclose(other.transform(p, by={"site": site}), one.transform(p, by={"site": site}), rtol=1e-9)


def test_many_rows_are_merged():
    """Beyond 20,000 rows, those with close scores are, which moves no probability by more than 0.001."""
    p, y, site = rows(25_000)
    merged = GroupedRecalibrator().fit(p, y, by={"site": site})
    z, code = logit(p), np.searchsorted(["a", "b", "c"], site)
    exact = fit_mixed_logistic(z, np.ones(len(z)), y * 1.0, [code], [3], prior=0.5)
    intercept, slope = exact.effects[0].T[:, code]
    expected = sigmoid((exact.slope + slope) * z + exact.intercept + intercept)
    np.testing.assert_allclose(merged.transform(p, by={"site": site}), expected, atol=1e-3)


def test_statistics_say_the_same_as_rows():
    """From counts by level and cell, also of two halves that were added, probabilities differ by less than 0.01."""
    p, y, site = rows(4000)
    stats = SegmentStats.of(Predictions(p, y), {"site": site})
    from_counts = GroupedRecalibrator().fit_from_statistics(stats)
    from_rows = GroupedRecalibrator().fit(p, y, by={"site": site})
    np.testing.assert_allclose(
        from_counts.transform(p, by={"site": site}), from_rows.transform(p, by={"site": site}), atol=0.01
    )
    assert [one.rows for one in from_counts.levels_] == [one.rows for one in from_rows.levels_]
    classes = SegmentStats.of(Predictions(np.eye(3)[y % 3] * 0.7 + 0.1, y), {"site": site})
    with pytest.raises(UndefinedError, match="from the scores of one event, not from"):
        GroupedRecalibrator().fit_from_statistics(classes)
    with pytest.raises(InputError, match="takes a SegmentStats"):
        GroupedRecalibrator().fit_from_statistics(p)


def test_logits_and_raw_scores():
    """Logits give what their probabilities give; raw scores are z themselves."""
    p, y, site = rows(600)
    one = GroupedRecalibrator().fit(p, y, by={"site": site}).transform(p, by={"site": site})
    for scale in ("logits", "scores"):
        other = GroupedRecalibrator(input=scale).fit(logit(p), y, by={"site": site})
        np.testing.assert_allclose(other.transform(logit(p), by={"site": site}), one, rtol=1e-6)


def test_extreme_scores_have_probabilities(fitted):
    """Scores of 0 and 1, and logits of any size."""
    p = fitted.transform([0.0, 1.0, 1e-300], by={"site": ["b"] * 3})
    assert ((p >= 0) & (p <= 1)).all()
    q, y, site = rows(500)
    model = GroupedRecalibrator(input="logits").fit(logit(q), y, by={"site": site})
    p = model.transform([-1e300, 1e300, 0.0], by={"site": ["b"] * 3})
    assert p[0] < 1e-6 < 1 - 1e-6 < p[1]


def test_levels_of_one_class():
    """A level with only events is moved up by a bounded amount."""
    p, y, site = rows(300)
    y[site == "b"] = 1
    model = GroupedRecalibrator().fit(p, y, by={"site": site})
    own = model.transform([0.5], by={"site": ["b"]})[0]
    assert model.common_.transform([0.5])[0] + 0.1 < own < 0.9999


def test_separated_classes_keep_the_common_map_finite():
    p = np.linspace(0.05, 0.95, 60)
    y, site = (p > 0.5).astype(int), np.where(np.arange(60) % 2, "a", "b")
    with pytest.warns(LimitWarning):
        model = GroupedRecalibrator().fit(p, y, by={"site": site})
    assert np.isfinite(model.transform(p, by={"site": site})).all()


# --- several classes, and files ---------------------------------------------------------------------------------------


def test_classes_are_recalibrated_one_against_the_rest():
    """Each class as one event, then rows are divided by their sums."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 1500)
    site = rng.choice(["a", "b"], 1500)
    y = (rng.random(1500)[:, None] > np.cumsum(p, axis=1)).sum(axis=1)
    y = np.where((site == "b") & (rng.random(1500) < 0.4), 0, y)
    model = GroupedRecalibrator().fit(p, y, by={"site": site})
    alone = [GroupedRecalibrator().fit(p[:, k], (y == k) * 1, by={"site": site}) for k in range(3)]
    each = np.column_stack([one.transform(p[:, k], by={"site": site}) for k, one in enumerate(alone)])
    np.testing.assert_allclose(model.transform(p, by={"site": site}), each / each.sum(axis=1)[:, None], rtol=1e-9)
    assert {one.event for one in model.levels_} == {0, 1, 2}


def test_json_round_trip(fitted):
    """A saved map gives the same probabilities, to the last bit."""
    p, _, site = rows(100, 3)
    again = load_recalibrator(fitted.to_json())
    np.testing.assert_array_equal(again.transform(p, by={"site": site}), fitted.transform(p, by={"site": site}))
    assert again.levels_ == fitted.levels_
    assert json.loads(again.to_json()) == json.loads(fitted.to_json())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m["pooled"].pop(), "must have numbers for each column of by"),
        (lambda m: m["pooled"][0].pop("share"), "each with the fields"),
        (lambda m: m["pooled"][0]["share"].__setitem__(0, 2.0), "share"),
        (lambda m: m["pooled"][0]["slope"].append(0.0), "must have one of each number for each of its levels"),
        (lambda m: m["by"][0]["names"].__setitem__(0, "missing"), "cannot be a level"),
        (lambda m: m["by"][0]["names"].__setitem__(0, "b"), "must be distinct names"),
        (lambda m: m["by"][0].update(cuts=[1.0]), "must be the ranges between its cuts"),
        (lambda m: m["by"][0].update(combines="no"), "combines true or false"),
    ],
)
def test_damaged_files_are_refused(fitted, change, words):
    saved = json.loads(fitted.to_json())
    change(saved["maps"][0])
    with pytest.raises(SchemaError, match=words):
        load_recalibrator(json.dumps(saved))


def test_a_table_of_levels(fitted):
    frame = fitted.to_frame()
    assert frame.columns == ["column", "level", "event", "rows", "slope", "intercept", "share"]
    assert frame["level"].to_list() == ["a", "b", "c"]
    assert fitted.lines(1)[-1] == "and 2 more"
    assert fitted.lines()[1].startswith("site = b  +")
