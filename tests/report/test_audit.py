"""`audit`: one value that holds what its parts say, in words and numbers that agree."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import believable
from believable import Audit, Predictions, audit
from believable.errors import InputError, SchemaError
from believable.readers import load, load_demo
from tests.needs import real_data

RNG = np.random.default_rng(0)


def over_confident(n, k=None, rng=RNG):
    """Scores that are too sure of themselves: logits times two."""
    if k is None:
        z = rng.normal(0, 1.5, n)
        return 1 / (1 + np.exp(-2 * z)), (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    z = rng.normal(0, 1.5, (n, k))
    p, q = (np.exp(t * z) / np.exp(t * z).sum(axis=1, keepdims=True) for t in (1, 2))
    return q, (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=k - 1)


def few_metrics(monkeypatch, *errors):
    """Where the others would only take time."""
    kinds = ("binary", "multiclass", "multilabel")
    monkeypatch.setattr("believable.auditing.measure.ERRORS", dict.fromkeys(kinds, errors or ("ece",)))


@pytest.fixture(scope="module")
def binary():
    p, y = over_confident(1500)
    site = np.where(RNG.random(1500) < 0.3, "north", "south")
    return p, y, site, audit(p, y, by={"site": site}, title="mine")


@pytest.fixture(scope="module")
def matrix():
    p, y = over_confident(1200, 4)
    site = np.where(RNG.random(1200) < 0.3, "north", "south")
    return p, y, site, audit(Predictions(p, y, classes=[0, 1, 2, 3]), by=site)


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
    assert (ece.floor, ece.q95, ece.p_value) == (verdict.by_chance, verdict.q95, verdict.p_value)
    assert f"ECE {ece.value:.4f}" in str(found)


def test_every_error_has_interval_and_floor(binary, matrix):
    """Value, interval and noise floor, for every calibration error of one event and of classes."""
    for found in (binary[-1], matrix[-1]):
        for measured in found.metrics:
            assert measured.low is not None, measured.name
            assert measured.low <= measured.high
            if believable.METRICS[measured.name].power is not None or measured.family == "score":
                assert measured.floor is not None, measured.name


def test_the_expected_score_is_that_of_drawn_outcomes():
    """The Brier score and log loss by chance are means over outcomes drawn at the rates of the scores."""
    p, w = RNG.beta(1, 2, 300), RNG.random(300) + 0.5
    found = audit(p, RNG.random(300) < p, fix=False, sample_weight=w)
    for alias, loss in (("brier", lambda s, t: (s - t) ** 2), ("nll", lambda s, t: -np.log(np.where(t, s, 1 - s)))):
        expected = sum(w[i] * (p[i] * loss(p[i], True) + (1 - p[i]) * loss(p[i], False)) for i in range(300)) / w.sum()
        assert found[alias].floor == pytest.approx(expected, rel=1e-12)
    q = RNG.dirichlet([1, 1, 1], 200)
    y = np.array([RNG.choice(3, p=row) for row in q])
    found = audit(q, y, fix=False)
    brier = np.mean([sum(row[k] * (((row - np.eye(3)[k]) ** 2).sum()) for k in range(3)) for row in q])
    assert found["brier"].floor == pytest.approx(brier, rel=1e-12)
    assert found["nll"].floor == pytest.approx(np.mean(-(q * np.log(q)).sum(axis=1)), rel=1e-12)


def test_the_fix_helps_rows_it_has_not_seen(binary):
    """Over-confident scores get a map; what is promised is what fresh rows of the same kind gain."""
    found = binary[-1]
    assert found.fix.chosen != "nothing"
    assert sum(one.chosen for one in found.fix.tried) == 1
    mapped = believable.load_recalibrator(found.fix.map)
    p, y = over_confident(20_000, rng=np.random.default_rng(1))
    gain = believable.negative_log_likelihood(p, y) - believable.negative_log_likelihood(mapped.transform(p), y)
    (change,) = (one for one in found.fix.changes if one.name == "log loss")
    assert change.gain_low - 0.05 < gain < change.gain_high + 0.05  # the interval is of these rows, this is of others
    assert change.gain == pytest.approx(change.before - change.after, rel=1e-9)
    assert "Recalibration helps. Use " in " ".join(found.advice)


def test_calibrated_scores_are_left_alone():
    """Nothing is recommended for scores that are fine, and no place or direction is named."""
    rng = np.random.default_rng(3)
    p = rng.beta(1, 1, 5000)
    found = audit(p, rng.random(5000) < p)
    assert found.verdict.label == "cannot be told from perfect"
    assert found.fix.chosen == "nothing"
    assert found.fix.map is None
    assert not found.verdict.places
    assert any("Leave the scores alone" in sentence for sentence in found.advice)
    assert {one.stage for one in found.slices} == {"before"}


def test_classes_side_by_side(matrix):
    """Confidence, class-wise and top-label errors, and every class against the rest, worst first."""
    p, y, _, found = matrix
    assert {found[alias].notion for alias in ("ece", "sce", "tlce")} == {"confidence", "classwise", "top_label"}
    assert {part.name for part in found.parts} == {"0", "1", "2", "3"}
    lows = [part.low for part in found.parts]
    assert lows == sorted(lows, reverse=True)
    for part in found.parts:
        k = int(part.name)
        assert part.ece == pytest.approx(believable.expected_calibration_error(p[:, k], y == k), rel=1e-12)
        assert part.n == (y == k).sum()
    for part in found.subgroups:
        rows = matrix[2] == part.name
        assert part.ece == pytest.approx(believable.expected_calibration_error(p[rows], y[rows]), rel=1e-12)


def test_many_classes_keep_the_worst(monkeypatch):
    """Of many classes those furthest from chance are told, and the one that was spoilt is first."""
    few_metrics(monkeypatch)
    rng = np.random.default_rng(5)
    q = rng.dirichlet(np.full(30, 0.3), 3000)
    y = np.array([rng.choice(30, p=row) for row in q])
    q[:, 7] = np.minimum(q[:, 7] * 3 + 0.02, 1)
    q /= q.sum(axis=1, keepdims=True)
    found = audit(q, y, fix=False)
    assert (len(found.parts), found.n_parts) == (20, 30)
    assert found.parts[0].name == "7"
    assert found.parts[0].direction == "too high"
    assert "the worst 20 of 30" in str(found)


@pytest.mark.parametrize("notion", ["classwise", "top_label"])
def test_the_headline_can_be_about_another_notion(notion):
    """With the classes put together, as the pooled error has them."""
    p, y = over_confident(600, 3)
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
    """A handful of rows is too little data, not an error."""
    found = audit(np.linspace(0.2, 0.8, n), np.arange(n) % 2)
    assert found.verdict.standing == "too little data"
    assert found.verdict.rows_needed > n
    assert Audit.from_json(found.to_json()) == found


def test_weights_are_repetitions():
    """A row of weight 2 is the row twice, for every value that is a plug-in."""
    p, y = over_confident(200)
    w = RNG.integers(1, 4, 200)
    a = audit(p, y, sample_weight=w, fix=False)
    b = audit(np.repeat(p, w), np.repeat(y, w), fix=False)
    for one, other in zip(a.metrics, b.metrics, strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-9), one.name
    assert a.rates == pytest.approx(b.rates)
    assert a.weighted
    assert a.effective_n == pytest.approx(w.sum() ** 2 / (w**2).sum())


def test_clusters_widen_the_intervals():
    """Rows that come in copies of ten tell as much as a tenth of them."""
    p, y = over_confident(150)
    patient = np.repeat(np.arange(150), 10)
    plain = audit(np.repeat(p, 10), np.repeat(y, 10), fix=False)
    found = audit(np.repeat(p, 10), np.repeat(y, 10), groups=patient, fix=False)
    assert found.n_clusters == 150
    assert found["brier"].high - found["brier"].low > 2 * (plain["brier"].high - plain["brier"].low)
    assert found.verdict.high - found.verdict.low > 1.5 * (plain.verdict.high - plain.verdict.low)
    assert found["ece"].p_value == found.verdict.p_value > plain.verdict.p_value
    assert any("150 clusters" in sentence for sentence in found.caveats)


def test_compared_with_another_model(monkeypatch):
    """The differences are those of `compare`."""
    few_metrics(monkeypatch)
    models = load_demo()
    found = audit(models["naive_bayes"], compare_with=models["logistic"], other="logistic", fix=False)
    for one in found.versus:
        direct = believable.compare(models["naive_bayes"], models["logistic"], metric=one.name, random_state=1)
        assert (one.value, one.other) == (direct.value_a, direct.value_b)
        assert one.difference == pytest.approx(one.value - one.other)
    assert "Compared with logistic" in str(found)
    p, y = over_confident(50)
    with pytest.raises(InputError, match="must be a Predictions too"):
        audit(Predictions(p, y), compare_with=p)
    with pytest.raises(InputError, match="not of the same rows"):
        audit(Predictions(p, y), compare_with=Predictions(p, 1 - y), fix=False)


def test_the_same_seed_says_the_same():
    """Two calls agree in every field; the caller's arrays are left as they were."""
    p, y = over_confident(300)
    before = p.copy(), y.copy()
    assert audit(p, y) == audit(p, y)
    assert np.array_equal(p, before[0])
    assert np.array_equal(y, before[1])


def test_rows_dropped_and_notes_are_told():
    """What was left out, and what the reader of the file had to say, is in the report."""
    p, y = over_confident(100)
    found = audit(p, y, dropped={"missing label": 3, "none": 0}, notes=["Scores came from a map."], fix=False)
    assert "Rows left out: 3 (missing label)." in found.caveats
    assert "Scores came from a map." in str(found)
    ignored = audit(Predictions(p, np.append(y[:-1], -100), ignore_label=-100), fix=False)
    assert ignored.dropped == {"ignored label": 1}
    assert "Rows left out: 1 (ignored label)." in ignored.caveats


def test_large_data_are_compared_on_some_rows(monkeypatch):
    """Methods are compared on some rows, whole clusters of them, and the chosen one is judged on all."""
    few_metrics(monkeypatch)
    monkeypatch.setattr("believable.auditing.fix.MAX_ROWS_TO_COMPARE_ON", 500)
    p, y = over_confident(3000)
    found = audit(p, y)
    assert found.fix.rows.startswith("500 rows")
    assert "log loss" in {one.name for one in found.fix.changes}
    (after,) = (one for one in found.slices if one.stage == "after")
    assert after.cells.cells().n.sum() == 3000
    grouped = audit(p, y, groups=np.arange(3000) // 10)
    assert "clusters" in grouped.fix.rows


# --- saving -----------------------------------------------------------------------------------------------------------


def test_round_trip(binary, matrix):
    """JSON and back is the same audit; what is written is strict JSON."""
    for found in (binary[-1], matrix[-1]):
        text = found.to_json()
        assert Audit.from_json(text) == found
        json.loads(text, parse_constant=lambda word: pytest.fail(word))


def test_infinite_values_survive():
    """A log loss that is infinite is a word in JSON, and infinite again when read."""
    found = audit([0.0, 1.0, 0.3, 0.7] * 20, [1, 0, 0, 1] * 20)
    assert math.isinf(found["nll"].value)
    assert Audit.from_json(found.to_json())["nll"].value == math.inf
    assert any("exactly 0 or 1 was wrong" in sentence for sentence in found.caveats)


def test_damaged_files_are_refused(binary):
    """A foreign, newer or damaged file is named, and where it is damaged."""
    saved = binary[-1].to_dict()
    for change, words in (
        ({"schema": "other"}, "not a saved believable.Audit"),
        ({"version": 99}, "version 99"),
        ({"n": "many"}, r"saved audit\.n must be an integer"),
        ({"n": True}, r"saved audit\.n must be an integer"),
        ({"kind": "odd"}, r"audit\.kind must be one of"),
        ({"metrics": [{}]}, r"audit\.metrics\[0\] lacks"),
        ({"metrics": 3}, r"audit\.metrics must be a list"),
        ({"extra": 1}, "unknown fields"),
        ({"rates": ["high"]}, r"audit\.rates\[0\] must be a number"),
        ({"dropped": {"a": None}}, r"audit\.dropped\.a must be an integer"),
    ):
        with pytest.raises(SchemaError, match=words):
            Audit.from_dict(saved | change)
    with pytest.raises(SchemaError, match="not JSON"):
        Audit.from_json("{")
    with pytest.raises(SchemaError, match=r"'week.json' is the name of a file: pass what is in it"):
        Audit.from_json("week.json")


def test_files_are_written_whole(binary, tmp_path):
    """to_json, to_markdown and to_html write what they return."""
    found = binary[-1]
    for name, write in (("a.json", found.to_json), ("a.md", found.to_markdown), ("a.html", found.to_html)):
        text = write(tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8") == text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.json", "a.md"]


def test_metrics_by_name(binary):
    """By name or alias; an unknown one is named with those there are."""
    found = binary[-1]
    assert found["ece"] is found["expected_calibration_error"]
    with pytest.raises(KeyError, match="no metric 'ecce'; it has ece"):
        found["ecce"]


# --- words ------------------------------------------------------------------------------------------------------------


def test_the_text_has_every_part(binary, matrix):
    """Verdict, advice, metrics, table, classes, subgroups, recalibration, caveats, in that order."""
    text = str(matrix[-1])
    heads = [
        "Calibration is",
        "What to do",
        "Calibration\n",
        "Proper scores",
        "Discrimination",
        "Reliability (10 uniform",
    ]
    heads += ["Classes, the most surely bad first", "Subgroups", "Recalibration, out of fold"]
    places = [text.index(head) for head in heads]
    assert places == sorted(places)
    assert "a constant at the base rate is perfectly calibrated" in text
    assert repr(binary[-1]) == "Audit('mine', n=1500, " + binary[-1].verdict.label + ")"


def test_markdown_stays_text(binary):
    """Names from outside are neither markup nor new cells."""
    found = replace(binary[-1], title="a|b *c* <script>\n# head", notes=("x | y\n| z |",))
    text = found.to_markdown()
    assert text.startswith(r"# Calibration audit: a\|b \*c\* \<script\> \# head")
    assert r"- x \| y \| z \|" in text
    widths = {line.count("|") - line.count(r"\|") for line in text.splitlines() if line.startswith("| site")}
    assert len(widths) == 1


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
    p, y = over_confident(60)
    q, k = over_confident(60, 3)
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


def test_counts_from_numpy_are_counts():
    """NumPy integers in `dropped` are written to JSON as any other."""
    p, y = over_confident(60)
    found = audit(p, y, dropped={"missing": np.int64(3)}, fix=False)
    assert Audit.from_json(found.to_json()) == found


def test_names_that_are_numbers_and_text():
    """Classes called 1, "1" and "b" are three classes, and what mends their probabilities does not mix them up."""
    q, y = over_confident(400, 3)
    plain = audit(q, y)
    names = [1, "1", "b"]
    named = audit(Predictions(q, np.array(names, object)[y], classes=names))
    assert named.fix.chosen == plain.fix.chosen != "nothing"
    assert named.fix.changes == plain.fix.changes


def test_a_rare_class_is_among_the_rows_compared(monkeypatch):
    """Of many rows with few events enough events are compared on; the gain is that of all rows, not of the mixture."""
    monkeypatch.setattr("believable.auditing.fix.MAX_ROWS_TO_COMPARE_ON", 1000)
    few_metrics(monkeypatch)
    rng = np.random.default_rng(2)
    p = rng.beta(1, 400, 20_000)
    y = rng.random(20_000) < np.minimum(8 * p, 1)
    assert 300 < y.sum() < 500
    found = audit(p, y)
    assert found.fix.chosen != "nothing"
    assert not any("rarest class" in sentence for sentence in found.caveats)
    tried = next(one for one in found.fix.tried if one.name == "nothing")
    assert tried.log_loss == pytest.approx(found["nll"].value, rel=0.15)
    grouped = audit(p, y, groups=np.arange(20_000) // 4)
    assert grouped.fix.chosen != "nothing"


def test_one_lonely_row_of_a_class_does_not_stop_the_others():
    """A class seen once cannot be put into folds by itself; the probabilities can still be mended."""
    q, y = over_confident(300, 4)
    y[y == 3] = 2
    y[0] = 3
    assert audit(q, y).fix.chosen != "nothing"


def test_text_stays_aligned_and_on_its_line():
    """Names with line breaks, wide letters, escape codes or no end leave the table a table."""
    p, y = over_confident(300)
    names = np.array(["a\nb", "漢字", "\x1b[31mred", "x" * 500])[np.arange(300) % 4]
    text = str(audit(p, y, by={"of\nwhat": names}, title="two\nlines", fix=False))
    assert text.startswith("two lines: 300 rows")
    assert "\x1b" not in text
    table = text[text.index("Subgroups") :].split("\n\n")[0].splitlines()[1:]
    assert len(table) == 5
    widths = {
        len(line.split("…")[0]) + sum(letter in "漢字" for letter in line) for line in table[1:] if "x…" not in line
    }
    assert len(widths) == 1
    assert max(map(len, table)) < 180


def test_markdown_lists_stay_lists():
    """Notes that begin like a point of a list, or hold a formula, are text."""
    p, y = over_confident(50)
    text = audit(p, y, notes=["1. first", "- second", "costs $5 or $6"], fix=False).to_markdown()
    for line in (r"- 1\. first", r"- \- second", r"- costs \$5 or \$6"):
        assert line in text.splitlines()


def test_errors_too_small_for_a_smooth_floor(monkeypatch):
    """Risks of one in a hundred thousand: the smooth error has no floor, which would take minutes."""
    few_metrics(monkeypatch, "ece", "smece")
    monkeypatch.setattr("believable.auditing.measure.DRAWS", 100)
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 5e4, 20_000)
    found = audit(p, np.arange(20_000) == 7, fix=False)
    assert found["smece"].value < 1e-4
    assert found["smece"].floor is None
    assert found["ece"].floor is not None


def test_what_a_reader_hands_over(tmp_path):
    """Clusters, subgroups, notes and what was dropped come with it."""
    path = tmp_path / "answers.csv"
    rows = [f"0.{9 - k % 3},{int(k % 4 > 0)},{'ab'[k % 2]},{k // 2}" for k in range(200)]
    path.write_text("\n".join(["p,y,site,patient", *rows, ",1,a,0"]))
    loaded = load(path, by="site", group="patient", drop_missing=True)
    found = audit(loaded, fix=False)
    assert (found.title, found.n, found.n_clusters) == ("answers.csv", 200, 100)
    assert found.dropped == {"missing score": 1}
    assert {part.name for part in found.subgroups} == {"a", "b"}
    assert found.taken == loaded.taken
    with pytest.raises(InputError, match="a Loaded already holds what it counted: leave actuals out"):
        audit(loaded, [1])


def test_bins_of_clusters_are_wider(monkeypatch):
    """The intervals of the table allow for clusters too."""
    few_metrics(monkeypatch)
    p, y = over_confident(100)
    patient = np.repeat(np.arange(100), 8)
    plain = audit(np.repeat(p, 8), np.repeat(y, 8), fix=False)
    found = audit(np.repeat(p, 8), np.repeat(y, 8), groups=patient, fix=False)
    for one, other in zip(found.table, plain.table, strict=True):
        if one.n:
            assert one.high - one.low > 1.5 * (other.high - other.low)


def test_a_subgroup_that_the_whole_hides(monkeypatch):
    """Where the whole is fine, a subgroup that is not is named beside the verdict."""
    few_metrics(monkeypatch)
    rng = np.random.default_rng(1)
    p = rng.random(8000)
    site = np.where(np.arange(8000) < 400, "south", "north")
    y = rng.random(8000) < np.where(site == "south", 0.5 * p, p)
    found = audit(p, y, by={"site": site}, fix=False)
    assert found.verdict.standing == "cannot be told from perfect"
    assert found.exception.startswith("But site = south is off: its scores are too high, ")
    assert found.exception in str(found)
    fine = audit(p[400:], y[400:], by={"site": site[400:]}, fix=False)
    assert fine.exception == ""
    site = np.where(np.arange(8000) < 1200, "south", "north")  # now the whole is off too, though excellent
    y = rng.random(8000) < np.where(site == "south", 0.7 * p, 0.97 * p)
    found = audit(p, y, by={"site": site}, fix=False)
    assert (found.verdict.standing, found.verdict.label) == ("off", "excellent")
    assert found.exception.startswith("But site = south is off: its scores are too high, ")
