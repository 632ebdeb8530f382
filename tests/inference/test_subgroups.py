"""Subgroups: what is off is found, what is not is left alone, and small groups are not blamed for being small."""

import numpy as np
import pandas as pd
import pytest

from believable import Predictions, auc, expected_calibration_error, subgroups
from believable.errors import InputError
from believable.inference.subgroups import Subgroup, Subgroups, _adjusted

ASK = {"n_resamples": 200, "random_state": 0}


def rows(n=3000, seed=0):
    """Calibrated everywhere but in the south."""
    rng = np.random.default_rng(4000 + seed)
    p = rng.random(n)
    site = rng.choice(["north", "south", "east"], n, p=[0.5, 0.3, 0.2])
    y = rng.random(n) < np.where(site == "south", 0.75 * p, p)
    return p, y.astype(int), site


def literal_bh(p_values):
    """Benjamini and Hochberg's adjusted p-values, from the largest down."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, least = [0.0] * len(order), 1.0
    for rank in range(len(order), 0, -1):
        i = order[rank - 1]
        least = min(least, p_values[i] * len(order) / rank)
        adjusted[i] = least
    return adjusted


# --- flags ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["ece", "ks", "rmsce"])
def test_finds(metric):
    """The group that is off is flagged, alone, and is the worst."""
    found = subgroups(*rows(), metric=metric, **ASK)
    assert [group.name for group in found.flagged] == ["south"]
    assert found.worst.name == "south"
    assert found.metric == metric
    assert [group.name for group in found] == ["north", "south", "east"]  # most rows first


@pytest.mark.slow
def test_leaves_alone():
    """Calibrated groups are seldom flagged: in at most a few of many data sets, with eight groups each."""
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(15):
        p = rng.random(800)
        found = subgroups(p, rng.random(800) < p, rng.integers(0, 8, 800), n_resamples=200, random_state=rng)
        wrong += len(found.flagged) > 0
    assert wrong <= 4


def test_small_groups():
    """A small group shows a large error by chance: it is not flagged, and its noise floor says why."""
    rng = np.random.default_rng(2)
    p = rng.random(2000)
    y = rng.random(2000) < p
    tiny = np.where(np.arange(2000) < 15, "tiny", "rest")
    rest, small = subgroups(p, y, tiny, **ASK)
    assert small.value > 3 * rest.value
    assert not small.flagged
    assert small.floor > 3 * rest.floor
    assert small.detectable > 3 * rest.detectable


def test_numbers():
    """Each group has the numbers of its own rows."""
    p, y, site = rows(1000)
    for group in subgroups(p, y, site, options={"n_bins": 5}, **ASK):
        here = site == group.name
        assert group.column == "group"
        assert group.n == here.sum()
        assert group.value == expected_calibration_error(p[here], y[here], n_bins=5)
        assert 0 <= group.low <= group.estimate <= group.high
        assert 0 < group.p_value <= group.adjusted <= 1
        assert group.flagged == (group.adjusted <= 0.05)
        assert group.floor > 0
        assert group.note == ""


def test_adjusted():
    """Adjusted p-values are those of Benjamini and Hochberg over all groups of all columns."""
    rng = np.random.default_rng(3)
    p = rng.random(600)
    y = rng.random(600) < p**1.3
    by = {"a": rng.integers(0, 4, 600), "b": rng.integers(0, 3, 600)}
    found = subgroups(p, y, by, **ASK)
    assert len(found) == 7
    assert [group.adjusted for group in found] == pytest.approx(literal_bh([group.p_value for group in found]))


def test_adjusted_literally():
    """So it is for any p-values; those that are missing do not count."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        p_values = [None if rng.random() < 0.2 else float(rng.random() ** 3) for _ in range(10)]
        groups = [Subgroup("c", "g", 1, 0.5, 0.5, *[None] * 5, p, None, False, None) for p in p_values]
        found = list(_adjusted(groups, 0.1))
        known = [p for p in p_values if p is not None]
        assert [g.adjusted for g in found if g.p_value is not None] == pytest.approx(literal_bh(known))
        assert all(g.adjusted is None and not g.flagged for g in found if g.p_value is None)
        assert all(g.flagged == (g.adjusted <= 0.1) for g in found if g.p_value is not None)


def test_rate():
    """A larger false discovery rate flags no fewer groups."""
    rng = np.random.default_rng(5)
    p = rng.random(1500)
    y = rng.random(1500) < p**1.15
    flagged = [len(subgroups(p, y, np.arange(1500) % 6, rate=rate, **ASK).flagged) for rate in (0.0, 0.05, 0.5, 1.0)]
    assert flagged == sorted(flagged)
    assert flagged[0] == 0
    assert flagged[-1] == 6


def test_detectable():
    """An error of the size that is called detectable is detected about 80 times in 100."""
    rng = np.random.default_rng(6)
    p = rng.beta(2, 2, 400)
    (group,) = subgroups(p, rng.random(400) < p, ["all"] * 400, n_resamples=1000, random_state=0)
    size = group.detectable
    rate = np.where(p < 0.5, p + size, p - size)  # gaps of one size, towards one half
    floor = np.quantile([expected_calibration_error(p, rng.random(400) < p) for _ in range(500)], 0.95)
    shown = [expected_calibration_error(p, rng.random(400) < rate) for _ in range(300)]
    assert 0.6 < np.mean(np.array(shown) > floor) < 0.95


def test_detectable_falls():
    """More rows, smaller errors can be detected."""
    p, y, _ = rows(4000)
    size = np.where(np.arange(4000) < 3600, "large", "small")
    large, small = subgroups(p, y, size, **ASK)
    assert 2 < small.detectable / large.detectable < 4.5


# --- columns ----------------------------------------------------------------------------------------------------------


def as_mapping(columns):
    return {name: list(values) for name, values in columns.items()}


def as_polars(columns):
    return pytest.importorskip("polars").DataFrame(as_mapping(columns))


def as_arrow(columns):
    return {name: pytest.importorskip("pyarrow").array(list(values)) for name, values in columns.items()}


@pytest.mark.parametrize("form", [as_mapping, pd.DataFrame, as_polars, as_arrow])
def test_forms(form):
    """Several columns come as a mapping or a data frame of any kind, and are looked at one after the other."""
    p, y, site = rows(800)
    columns = {"site": site, "ward": np.arange(800) % 2}
    found = subgroups(p, y, form(columns), **ASK)
    assert [(group.column, group.name) for group in found] == [
        ("site", "north"),
        ("site", "south"),
        ("site", "east"),
        ("ward", "0"),
        ("ward", "1"),
    ]
    assert found.groups == subgroups(p, y, columns, **ASK).groups


def test_series():
    """One column: a list, an array, or a series, whose name is kept."""
    p, y, site = rows(300)
    asked = {"n_resamples": 100, "random_state": 0}
    plain = subgroups(p, y, site, **asked)
    assert subgroups(p, y, list(site), **asked) == plain
    named = subgroups(p, y, pd.Series(site, name="site"), **asked)
    assert {group.column for group in named} == {"site"}
    assert [group.value for group in named] == [group.value for group in plain]
    categories = subgroups(p, y, pd.Series(site, dtype="category"), **asked)
    assert [group.name for group in categories] == [group.name for group in plain]


@pytest.mark.parametrize(
    "by",
    [
        ["a", None, "b", "a"] * 100,
        pd.Series(["a", None, "b", "a"] * 100),
        pd.Series(["a", pd.NA, "b", "a"] * 100, dtype="string"),
        pd.Series(["a", np.nan, "b", "a"] * 100, dtype="category"),
        np.array(["a", None, "b", "a"] * 100, dtype=object),
    ],
    ids=["list", "series", "strings", "categories", "array"],
)
def test_missing(by):
    """Rows whose group is missing are a group of that name."""
    p, y, _ = rows(400)
    found = subgroups(p, y, by, n_resamples=100, random_state=0)
    assert {group.name: group.n for group in found} == {"a": 200, "missing": 100, "b": 100}


def test_numbers_as_names():
    """Numbers, booleans and dates name groups too; NaN is missing."""
    p, y, _ = rows(200)
    asked = {"n_resamples": 100, "random_state": 0}
    assert {g.name for g in subgroups(p, y, np.arange(200) % 2 == 0, **asked)} == {"True", "False"}
    assert {g.name for g in subgroups(p, y, np.where(np.arange(200) < 50, np.nan, 1.5), **asked)} == {"1.5", "missing"}


# --- small groups and other metrics -----------------------------------------------------------------------------------


def test_one_row():
    """A group of one row has a value and an interval, and is not flagged."""
    p, y, _ = rows(200)
    found = subgroups(p, y, np.where(np.arange(200) == 7, "one", "rest"), **ASK)
    assert (found[1].name, found[1].n) == ("one", 1)
    assert 0 <= found[1].low <= found[1].high <= 1
    assert not found[1].flagged


def test_undefined():
    """Where the metric is undefined the group says why, and the others are as they would be."""
    p, y, _ = rows(400)
    by = np.where(np.arange(400) < 300, "mixed", "ones")
    y = np.where(by == "ones", 1, y)
    found = subgroups(p, y, by, metric="auc", n_resamples=100, random_state=0)
    mixed, ones = found
    assert ones.value is ones.low is ones.p_value is ones.adjusted is ones.floor is None
    assert "needs positives and negatives" in ones.note
    assert not ones.flagged
    assert mixed.value == auc(p[:300], y[:300])
    assert mixed.detectable is None
    assert found.worst.name == "mixed"
    assert "needs positives and negatives" in str(found)


def test_matrix():
    """Matrices have subgroups too."""
    rng = np.random.default_rng(7)
    q = rng.dirichlet(np.ones(3), 600)
    label = (rng.random(600)[:, None] >= q.cumsum(axis=1)).sum(axis=1)
    by = np.arange(600) % 2
    label[by == 1] = rng.integers(0, 3, 300)
    for metric in ("ece", "sce"):
        found = subgroups(q, label, by, metric=metric, n_resamples=100, random_state=0)
        assert [group.name for group in found.flagged] == ["1"]


def test_weights():
    """Rows of weight 0 might as well be left out; `by` may be given for all rows."""
    p, y, site = rows(400)
    w = (np.arange(400) % 4 > 0) * 1.0
    asked = {"n_resamples": 100, "random_state": 0}
    found = subgroups(p, y, site, sample_weight=w, **asked)
    kept = w > 0
    assert found.groups == subgroups(p[kept], y[kept], site[kept], sample_weight=w[kept], **asked).groups
    assert found.groups == subgroups(Predictions(p, y, sample_weight=w), by=site[kept], **asked).groups


def test_own_function():
    """A function of one's own is looked at by group; nothing is said about what could be detected."""
    p, y, site = rows(300)

    def bias(scores, labels):
        return abs(np.mean(scores) - np.mean(labels))

    found = subgroups(p, y, site, metric=bias, n_resamples=100, random_state=0)
    assert found.metric == "bias"
    assert all(group.detectable is None and group.p_value is not None for group in found)


# --- the object -------------------------------------------------------------------------------------------------------


def test_object():
    """It is a sequence, a table, and columns for a data frame."""
    p, y, site = rows(600)
    found = subgroups(p, y, site, **ASK)
    assert isinstance(found, Subgroups)
    assert len(found) == 3
    assert found[0] is found.groups[0]
    assert list(found) == list(found.groups)
    columns = found.to_dict()
    frame = pd.DataFrame(columns)
    assert list(frame["name"]) == ["north", "south", "east"]
    assert list(columns) == list(Subgroup.__slots__)
    lines = str(found).splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("expected_calibration_error, 95 % intervals")
    assert lines[3].startswith("group = south")
    assert found.overall.value == expected_calibration_error(p, y)


def test_worst():
    """The worst is the one whose interval begins highest, then the one with the larger estimate; there may be none."""

    def group(name, low, estimate):
        high = None if low is None else low + 0.1
        return Subgroup("c", name, 10, 0.5, 0.5, estimate, low, high, estimate, None, None, None, False, None)

    def worst(*groups):
        return Subgroups(groups, "ece", 0.95, 0.05, None).worst

    assert worst(group("a", 0.0, 0.2), group("b", 0.1, 0.15)).name == "b"
    assert worst(group("a", 0.0, 0.2), group("b", 0.0, 0.3)).name == "b"
    assert worst(group("a", None, None), group("b", 0.0, 0.0)).name == "b"
    assert worst(group("a", None, None)) is None
    assert Subgroups((), "ece", 0.95, 0.05, None).to_dict() == {}


def test_reproducible():
    """The same seed, the same table; inputs are left alone."""
    p, y, site = rows(300)
    kept = p.copy(), y.copy(), site.copy()
    asked = {"n_resamples": 100, "random_state": 3}
    assert subgroups(p, y, site, **asked) == subgroups(p, y, site, **asked)
    assert all((a == b).all() for a, b in zip((p, y, site), kept, strict=True))


@pytest.mark.parametrize(
    ("by", "sentence"),
    [
        (None, "by is missing: pass the subgroup of each row, or several columns as a mapping"),
        (["a", "b"], "by 'group' has 2 entries, but the predictions have 100 rows"),
        ({"site": ["a"] * 99}, "by 'site' has 99 entries, but the predictions have 100 rows"),
        (np.ones((100, 2)), "by 'group' must be 1-D, one entry per row, got shape \\(100, 2\\)"),
    ],
)
def test_refusals(by, sentence):
    """What cannot be meant is refused with a sentence."""
    p, y, _ = rows(100)
    with pytest.raises(InputError, match=sentence):
        subgroups(p, y, by)


def test_refused_choices():
    """So are choices that are none."""
    p, y, site = rows(100)
    for wrong in ({"rate": 1.5}, {"level": 0}, {"metric": "nonsense"}, {"options": {"bins": 3}}, {"random_state": "x"}):
        with pytest.raises(InputError):
            subgroups(p, y, site, **wrong)


@pytest.mark.slow
def test_clusters_are_allowed_for():
    """Clusters that share a fate make no subgroup look off, whatever the level; one that is off everywhere is found."""
    from scipy.special import ndtr

    rng = np.random.default_rng(20)
    wrong = 0
    for _ in range(12):
        cluster, group = np.arange(2000) // 10, np.arange(2000) // 200
        p = rng.random(2000)
        fate = 0.7 * rng.normal(size=200)[cluster] + np.sqrt(0.51) * rng.normal(size=2000)
        wrong += bool(subgroups(p, ndtr(fate) < p, group, clusters=cluster, level=0.5, **ASK).flagged)
    assert wrong <= 3  # of 12 with a chance of 5 %, more come 2 times in 1,000
    y = rng.random(2000) < np.where(group == 3, 0.3 + 0.4 * p, p)
    found = subgroups(p, y, group, clusters=cluster, **ASK)
    assert [one.name for one in found.flagged] == ["3"]
    assert all(one.flagged == (one.adjusted <= 0.05) for one in found)
