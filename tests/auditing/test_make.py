"""`audit`: one value that holds what its parts say, in words and numbers that agree."""

from __future__ import annotations

import numpy as np
import pytest

import believable
from believable import Audit, Predictions, audit
from believable.errors import InputError
from believable.readers import load
from tests.auditing.data import few_metrics, over_confident
from tests.needs import real_data

RNG = np.random.default_rng(0)


@pytest.mark.slow
def test_numbers_are_those_of_the_library(binary):
    """Every metric, bin, subgroup and rate is what the plain functions give."""
    p, y, site, found = binary
    assert (found.kind, found.n, found.effective_n, found.weighted) == ("binary", 1500, 1500.0, False)
    assert found.rates == (pytest.approx(y.mean(), rel=1e-12),)
    for measured in found.metrics:
        options = {"n_bins": 10} if measured.bins else {}
        assert measured.value == float(believable.METRICS[measured.name].function(p, y, **options)), measured.name
    table = believable.reliability_table(p, y)
    assert [one.n for one in found.table] == table.n.tolist()
    assert [one.conf for one in found.table if one.n] == table.conf[table.n > 0].tolist()
    assert [one.low for one in found.table if one.n] == table.low[table.n > 0].tolist()
    for part in found.subgroups:
        rows = site == part.name
        assert part.n == rows.sum()
        assert part.ece == believable.expected_calibration_error(p[rows], y[rows])
        assert (part.mean_score, part.rate) == pytest.approx((p[rows].mean(), y[rows].mean()), rel=1e-12)


def test_the_ece_is_told_once(binary):
    """The headline and the table of metrics hold the same interval and the same floor."""
    found = binary[-1]
    ece = found["ece"]
    verdict = found.verdict
    assert (ece.value, ece.low, ece.high) == (verdict.ece, verdict.low, verdict.high)
    assert (ece.floor, ece.q95, ece.p_value) == (verdict.floor, verdict.q95, verdict.ece_p_value)
    assert f"ECE {ece.value:.4f}" in str(found)


@pytest.mark.slow
@pytest.mark.parametrize("notion", ["classwise", "top_label"])
def test_the_headline_can_be_about_another_notion(notion):
    """With the classes put together, as the pooled error has them."""
    p, y = over_confident(600, 3, rng=RNG)
    found = audit(p, y, notion=notion, fix=False)
    expected = believable.expected_calibration_error(p, y, notion=notion, pooled=True)
    assert found.verdict.ece == pytest.approx(expected, rel=1e-12)
    assert found.verdict.notion == notion
    assert sum(one.n for one in found.table) == (1800 if notion == "classwise" else 600)


def test_multilabel():
    """Independent columns: every label apart, the headline over all of them, and no map to recommend."""
    p = RNG.random((500, 3))
    y = (RNG.random((500, 3)) < p).astype(int)
    found = audit(Predictions(p, y, multilabel=True))
    assert found.kind == "multilabel"
    assert len(found.rates) == len(found.parts) == 3
    assert found.fix is None
    assert "one label per row" in found.no_fix


def test_the_line_to_copy_for_labels_runs():
    """Independent labels are recalibrated one by one: `calibrate` takes one label per row."""
    rng = np.random.default_rng(0)
    scores = rng.random((400, 3))
    labels = (rng.random((400, 3)) < scores**3).astype(int)
    found = audit(Predictions(scores, labels, multilabel=True))
    assert found.command == "believable.recalibrate.OneVsRest(multilabel=True).fit(scores, labels)"
    fitted = eval(found.command, {"believable": believable, "scores": scores, "labels": labels})
    assert fitted.transform(scores).shape == scores.shape


@pytest.mark.slow
def test_soft_labels_and_one_class():
    """What has no answer says why instead of failing."""
    p = RNG.random(200)
    soft = audit(Predictions(p, np.round(p, 1), soft_labels=True))
    assert soft.fix is None
    assert "soft labels" in soft.no_fix
    one = audit(p, np.zeros(200, int))
    assert "two classes" in one.no_fix
    assert "auc" not in {measured.alias for measured in one.metrics}


@pytest.mark.parametrize("n", [1, 2, 5])
def test_tiny(n):
    """A handful of rows is not enough data, and no error."""
    found = audit(np.linspace(0.2, 0.8, n), np.arange(n) % 2)
    assert found.verdict.answer == "not enough data"
    assert found.verdict.rows_needed > n
    assert Audit.from_json(found.to_json()) == found


@pytest.mark.slow
def test_weights_are_repetitions():
    """A row of weight 2 is the row twice, for every value that is a plug-in."""
    p, y = over_confident(200, rng=RNG)
    w = RNG.integers(1, 4, 200)
    a = audit(p, y, sample_weight=w, fix=False)
    b = audit(np.repeat(p, w), np.repeat(y, w), fix=False)
    for one, other in zip(a.metrics, b.metrics, strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-9), one.name
    assert a.rates == pytest.approx(b.rates)
    assert a.weighted
    assert a.effective_n == pytest.approx(w.sum() ** 2 / (w**2).sum())


@pytest.mark.slow
def test_clusters_widen_the_intervals():
    """Rows that come in copies of ten tell as much as a tenth of them."""
    p, y = over_confident(150, rng=RNG)
    patient = np.repeat(np.arange(150), 10)
    plain = audit(np.repeat(p, 10), np.repeat(y, 10), fix=False)
    found = audit(np.repeat(p, 10), np.repeat(y, 10), clusters=patient, fix=False)
    assert found.n_clusters == 150
    assert found["brier"].high - found["brier"].low > 2 * (plain["brier"].high - plain["brier"].low)
    assert found.verdict.high - found.verdict.low > 1.5 * (plain.verdict.high - plain.verdict.low)
    assert found["ece"].p_value == found.verdict.ece_p_value > plain.verdict.ece_p_value
    assert any("150 clusters" in sentence for sentence in found.caveats)


@pytest.mark.slow
def test_the_same_seed_says_the_same():
    """Two calls agree in every field; the caller's arrays are left as they were."""
    p, y = over_confident(300, rng=RNG)
    before = p.copy(), y.copy()
    assert audit(p, y) == audit(p, y)
    assert np.array_equal(p, before[0])
    assert np.array_equal(y, before[1])


@pytest.mark.slow
def test_rows_dropped_and_notes_are_told():
    """What was left out, and what the reader of the file had to say, is in the report."""
    p, y = over_confident(100, rng=RNG)
    found = audit(p, y, dropped={"missing label": 3, "none": 0}, notes=["Scores came from a map."], fix=False)
    assert "Rows left out: 3 (missing label)." in found.caveats
    assert "Scores came from a map." in str(found)
    ignored = audit(Predictions(p, np.append(y[:-1], -100), ignore_label=-100), fix=False)
    assert ignored.dropped == {"ignored label": 1}
    assert "Rows left out: 1 (ignored label)." in ignored.caveats


@pytest.mark.slow
def test_real_forecasts():
    """Published football forecasts are good and best left alone; an over-confident network is told so."""
    folder = real_data()
    games = np.load(folder / "fte_nfl.npz")
    found = audit(games["probs64"], games["labels"])
    assert found.verdict.grade == "excellent"
    assert found.fix.chosen == "nothing"
    network = np.load(folder / "cifar10_lenet5.npz")
    found = audit(network["probs"], network["labels"], fix=False)
    assert found.verdict.direction == "over-confident"
    assert found["ece"].value == pytest.approx(0.1079, abs=1e-4)


# --- what an adversary would pass -------------------------------------------------------------------------------------


def test_what_cannot_be_meant_is_refused():
    """Seeds, bins and comparisons that make no sense are named, before anything is computed."""
    p, y = over_confident(60, rng=RNG)
    q, k = over_confident(60, 3, rng=RNG)
    for choices, words in (
        ({"random_state": "a"}, "random_state must be None, an integer from 0 or a numpy Generator, got 'a'"),
        ({"random_state": -1}, "got -1"),
        ({"n_bins": 7.5}, "n_bins must be an integer at least 1, got 7.5"),
        ({"compare_with": np.column_stack([1 - p, p])}, "compare_with must be of the same kind as the predictions"),
    ):
        with pytest.raises(InputError, match=words):
            audit(p, y, **choices)
    with pytest.raises(InputError, match="of the same kind"):
        audit(Predictions(q, k), compare_with=Predictions(q[:, :2] / q[:, :2].sum(axis=1, keepdims=True), k % 2))


def test_what_a_reader_hands_over(tmp_path):
    """Clusters, subgroups, notes and what was dropped come with it."""
    path = tmp_path / "answers.csv"
    rows = [f"0.{9 - k % 3},{int(k % 4 > 0)},{'ab'[k % 2]},{k // 2}" for k in range(200)]
    path.write_text("\n".join(["p,y,site,patient", *rows, ",1,a,0"]))
    loaded = load(path, by="site", cluster="patient", drop_missing=True)
    found = audit(loaded, fix=False)
    assert (found.title, found.n, found.n_clusters) == ("answers.csv", 200, 100)
    assert found.dropped == {"missing score": 1}
    assert {part.name for part in found.subgroups} == {"a", "b"}
    assert found.taken == loaded.taken
    with pytest.raises(InputError, match="a Loaded already contains outcomes and weights: leave actuals out"):
        audit(loaded, [1])


def test_bins_of_clusters_are_wider(monkeypatch):
    """The intervals of the table allow for clusters too."""
    few_metrics(monkeypatch)
    p, y = over_confident(100, rng=RNG)
    patient = np.repeat(np.arange(100), 8)
    plain = audit(np.repeat(p, 8), np.repeat(y, 8), fix=False)
    found = audit(np.repeat(p, 8), np.repeat(y, 8), clusters=patient, fix=False)
    for one, other in zip(found.table, plain.table, strict=True):
        if one.n:
            assert one.high - one.low > 1.5 * (other.high - other.low)


@pytest.mark.slow
def test_a_subgroup_that_the_whole_hides(monkeypatch):
    """Where the whole is fine, a subgroup that is not is named, and the answer is no longer yes."""
    few_metrics(monkeypatch)
    rng = np.random.default_rng(1)
    p = rng.random(8000)
    site = np.where(np.arange(8000) < 400, "south", "north")
    y = rng.random(8000) < np.where(site == "south", 0.5 * p, p)
    found = audit(p, y, by={"site": site}, fix=False)
    assert (found.verdict.miscalibrated, found.verdict.answer) == (False, "use with care")
    assert found.verdict.headline.startswith(
        "Use with care. For site = south, on average it says 49 %, but it happens 24 %"
    )
    fine = audit(p[400:], y[400:], by={"site": site[400:]}, fix=False)
    assert (fine.verdict.answer, fine.verdict.findings) == ("yes", ())
    site = np.where(np.arange(8000) < 1200, "south", "north")  # now the whole is wrong too, by little
    y = rng.random(8000) < np.where(site == "south", 0.7 * p, 0.97 * p)
    found = audit(p, y, by={"site": site}, fix=False)
    assert (found.verdict.miscalibrated, found.verdict.answer) == (True, "use with care")
    assert "For site = south, on average it says" in str(found.verdict)
