"""An audit of a summary says what the audit of its rows says."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import believable
from believable import Audit, Layout, Predictions, Summary, audit, expected_calibration_error, subgroups, verdict
from believable.auditing.source import SummarySource
from believable.errors import InputError
from believable.recalibrate.facts import as_method
from tests.auditing.data import few_metrics, times, too_sure

pytestmark = pytest.mark.slow

N = 50_000


@pytest.fixture(scope="module")
def event():
    """Audits of rows and of their summary, with subgroups of which one is worse."""
    rng = np.random.default_rng(0)
    p, y = too_sure(N, rng)
    site = rng.choice(["north", "south", "west"], N, p=[0.6, 0.3, 0.1])
    y = np.where((site == "west") & (rng.random(N) < 0.3), 1, y)
    predictions = Predictions(p, y)
    summary = Summary.of(predictions, by={"site": site})
    return audit(predictions, by={"site": site}, fix=False), audit(summary, fix=False), (p, y), summary


@pytest.fixture(scope="module")
def matrix():
    """The same of four classes."""
    rng = np.random.default_rng(1)
    p, y = too_sure(3000, rng, 4)
    names = np.array(["ant", "bee", "cat", "dog"])
    predictions = Predictions(p, names[y], classes=names.tolist())
    site = rng.choice(["north", "south"], 3000)
    summary = Summary.of(predictions, by={"site": site})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("believable.auditing.measure.AUDITED_ERRORS", {"multiclass": ("ece", "sce", "tlce", "ks")})
        rows = audit(predictions, by={"site": site}, fix=False)
        return rows, audit(summary, fix=False), (p, y), summary


def close(mine, others, relative):
    """Both missing, or nearly the same number."""
    assert (mine is None) == (others is None)
    assert mine is None or mine == pytest.approx(others, rel=relative, abs=relative)


def same_words(rows, counted):
    """What the two audits have to agree about."""
    one, other = rows.verdict, counted.verdict
    assert (one.answer, one.direction, one.spread) == (other.answer, other.direction, other.spread)
    # Bins of equal counts are cut at cells, so a row or two may fall on the other side.
    assert re.sub(r"[\d,]+ rows", "", str(one)) == re.sub(r"[\d,]+ rows", "", str(other))
    for mine, others in zip(one.ranges, other.ranges, strict=True):
        assert (mine.low, mine.high, mine.n) == pytest.approx((others.low, others.high, others.n), rel=2e-3)
    assert rows.advice == counted.advice
    assert rows.caveats == counted.caveats
    assert (rows.n, rows.kind, rows.weighted, rows.classes) == (
        counted.n,
        counted.kind,
        counted.weighted,
        counted.classes,
    )
    assert rows.effective_n == pytest.approx(counted.effective_n, rel=1e-12)
    assert rows.rates == pytest.approx(counted.rates, rel=1e-12)
    for mine, others in zip(rows.parts + rows.subgroups, counted.parts + counted.subgroups, strict=True):
        assert (mine.column, mine.name, mine.n) == (others.column, others.name, others.n)
        assert (mine.flagged, mine.direction) == (others.flagged, others.direction)
        for name in ("mean_score", "rate", "ece", "low", "high", "floor", "adjusted", "detectable"):
            close(getattr(mine, name), getattr(others, name), 1e-6)
    for mine, others in zip(rows.table, counted.table, strict=True):
        assert (mine.start, mine.end, mine.n) == (others.start, others.end, others.n)
        for name in ("conf", "acc", "low", "high"):
            close(getattr(mine, name), getattr(others, name), 1e-12)


# Binned metrics, sums, and what is bounded by cells of the right grid; rows stand at the means of their cells.
TOLERANCE = {"ace": 1e-4, "smece": 1e-6, "ici": 1e-5, "slope": 1e-5, "citl": 1e-8, "auc": 1e-5}
APART = {"sce": 0.25, "auc": 1.0}  # intervals that allow for classes of one row, which cells do not hold
# Of an interval's width: ends are quantiles of 300 draws, and those of scores are accelerated ones, further out.
NEAR = {"calibration": 0.15, "score": 0.4, "discrimination": 0.4}


def same_numbers(rows, counted, loosely=""):
    """Values within the stated tolerances, ends of intervals within a small share of their width."""
    assert [one.alias for one in rows.metrics] == [one.alias for one in counted.metrics]
    for mine, others in zip(rows.metrics, counted.metrics, strict=True):
        assert others.value == pytest.approx(mine.value, rel=0, abs=TOLERANCE.get(mine.alias, 1e-12)), mine.alias
        assert (mine.bins, mine.notion, mine.family) == (others.bins, others.notion, others.family)
        if others.low is None:
            assert others.note, mine.alias
            continue
        near = 0.8 if mine.alias == loosely else APART.get(mine.alias, NEAR[mine.family])
        reach = near * (mine.high - mine.low)
        assert (others.low, others.high) == pytest.approx((mine.low, mine.high), abs=reach + 1e-12), mine.alias
        if mine.floor is not None:  # two simulations of their own, a few hundred draws each
            assert (others.floor, others.q95 or 0) == pytest.approx((mine.floor, mine.q95 or 0), rel=0.1), mine.alias


def test_one_event(event):
    """Of 50,000 rows and their summary: the same verdict, numbers, subgroups, table, words and page."""
    rows, counted, *_ = event
    same_words(rows, counted)
    same_numbers(rows, counted)
    assert counted.subgroups[-1].direction == "under-predicts"
    assert rows.slices == counted.slices
    assert counted.taken == "the cells of a summary"
    for mine, others in zip(rows.lines, counted.lines, strict=True):
        assert (mine.method, mine.band) == (others.method, others.band)
    smooth, corp = (
        [next(one for one in found.lines if one.method == m) for found in (rows, counted)] for m in ("smoothed", "corp")
    )
    assert np.interp(smooth[0].x, smooth[1].x, smooth[1].y) == pytest.approx(smooth[0].y, abs=1e-5)
    assert np.mean(np.abs(np.interp(corp[0].x, corp[1].x, corp[1].y) - corp[0].y)) < 0.005  # steps, at other points


def test_classes(matrix):
    """Of a matrix: the same verdict, classes, subgroups and words; classes within subgroups were not counted."""
    rows, counted, *_ = matrix
    same_words(rows, counted)
    same_numbers(rows, counted)
    assert [part.name for part in rows.parts] == [part.name for part in counted.parts]
    assert any(part.flagged for part in counted.parts)
    assert rows.slices[: len(counted.slices)] == counted.slices
    assert (len(counted.slices), counted.left_out) == (7, "Not in the summary: 8 classes within subgroups.")


def test_every_form(event, matrix):
    """JSON there and back, text, Markdown, page and cell."""
    for _, counted, *_ in (event, matrix):
        assert Audit.from_json(counted.to_json()) == counted
        assert "Columns: the cells of a summary" in str(counted)
        assert counted.verdict.headline.split(" (")[0] in counted.to_markdown()
        assert f"{counted.n:,} rows" in counted.to_html()
        assert counted.verdict.label in counted._repr_html_()


@pytest.mark.parametrize(
    "case", ["weights", "rare", "constant", "one row", "perfect", "certain", "empty bins", "labels"]
)
def test_cases(case, monkeypatch):
    """Weights, rare events, constants, one row, perfect and certain models, empty bins, independent labels."""
    few_metrics(monkeypatch)
    rng = np.random.default_rng(2)
    p = rng.beta(0.7, 0.7, 3000)
    q = rng.beta(0.5, 500, 10_000)
    m = rng.random((300, 3))
    predictions = {
        "weights": lambda: Predictions(p, rng.random(3000) < p**1.3, sample_weight=rng.exponential(size=3000)),
        "rare": lambda: Predictions(q, rng.random(10_000) < np.minimum(2 * q, 1)),
        "constant": lambda: Predictions(np.full(900, 0.3), rng.random(900) < 0.3),
        "one row": lambda: Predictions([0.7], [1]),
        "perfect": lambda: Predictions(p.astype(np.float32), rng.random(3000) < p),
        "certain": lambda: Predictions(np.repeat([0.0, 1.0], 50), np.repeat([0, 1], 50)),
        "empty bins": lambda: Predictions(rng.choice([0.05, 0.8, 0.9, 0.95], 500), rng.random(500) < 0.7),
        "labels": lambda: Predictions(m, (rng.random((300, 3)) < m**1.3).astype(int), multilabel=True),
    }[case]()
    certain = case == "certain"
    rows, counted = (audit(one, fix=False, pairs=certain) for one in (predictions, Summary.of(predictions)))
    if case == "labels":  # noise of a row's labels together is drawn in another way: words and values agree
        assert rows.verdict.label == counted.verdict.label
        assert rows.advice == counted.advice
        assert [one.value for one in rows.metrics] == pytest.approx([one.value for one in counted.metrics], abs=1e-4)
        return
    same_words(rows, counted)
    if case not in ("one row", "certain"):
        # The skill of a constant is next to the most it can be: one draw more or less there moves its other end.
        same_numbers(rows, counted, loosely="bss" if case == "constant" else "")
    assert Audit.from_json(counted.to_json()) == counted
    assert counted.to_html()


@pytest.mark.parametrize("predictions", [[0.0, 1.0] * 20, [1.0] * 6, np.tile(np.eye(3), (4, 1))])
def test_predicted_classes_are_refused(predictions):
    """Scores of 0 and 1 only are what `predict` returns: there is nothing to judge."""
    labels = np.arange(len(predictions)) % 2
    if np.ndim(predictions) == 1:
        said = (
            "all predictions are 0 or 1: these look like predicted classes, not probabilities; "
            "pass predict_proba(X)[:, 1] in place of predict(X)"
        )
    else:
        said = (
            "all entries of predictions are 0 or 1: these look like predicted classes, not probabilities; "
            "pass predict_proba(X) in place of predict(X)"
        )
    rows = Predictions(predictions, labels)
    for judge in (verdict, audit):
        for given in ((predictions, labels), (rows,), (Summary.of(rows),)):
            with pytest.raises(InputError) as error:
                judge(*given)
            assert str(error.value) == said
    assert believable.brier_score(predictions, labels) >= 0, "metrics of such scores are well defined"


def test_probabilities_may_be_certain():
    """A few rows that are alike, confidences that were stated, and one score between 0 and 1 are no predicted classes."""
    assert verdict([1.0] * 5, [1] * 5).n == 5
    assert verdict([0.0, 1.0] * 20, [0, 1] * 20, pairs=True).n == 40
    assert verdict([0.0, 1.0] * 20 + [0.5], [0, 1] * 20 + [1]).n == 41


# --- verdict and subgroups by themselves ------------------------------------------------------------------------------


def test_verdict_and_subgroups_of_a_summary(event):
    """The functions by themselves take a summary too, and name some of its columns."""
    *_, (p, y), summary = event
    assert str(verdict(summary)) == str(verdict(p, y))
    found = subgroups(summary, n_resamples=100, random_state=0)
    assert [group.name for group in found] == ["north", "south", "west"]
    assert found.worst.name == "west"
    assert subgroups(summary, by="site", n_resamples=100, random_state=0) == found
    with pytest.raises(InputError, match="by names 'age', but the summary counted subgroups by site: count again"):
        audit(summary, by=["age"])
    with pytest.raises(InputError, match="the summary counted no subgroups"):
        subgroups(replace(summary, by={}))


def test_pooled_classes(matrix):
    """The headline may be about every class put together."""
    *_, summary = matrix
    judged = verdict(summary, notion="classwise", pooled=True)
    cells = summary.cells_of("classwise")
    assert judged.ece == pytest.approx(believable.expected_calibration_error(cells, pooled=True), rel=1e-12)
    with pytest.raises(InputError, match="a verdict is about one curve"):
        verdict(summary, notion="classwise")


def test_what_a_summary_cannot_give(event, matrix, monkeypatch):
    """Clusters, comparisons, outcomes once more and other grids are refused in words."""
    few_metrics(monkeypatch)
    summary = event[-1]
    with pytest.raises(InputError, match="clusters says which rows belong together, but a summary has no rows"):
        audit(summary, clusters=[1, 2])
    with pytest.raises(InputError, match="clusters says which rows belong together"):
        verdict(summary, clusters=[1, 2])
    with pytest.raises(InputError, match="compare_with compares two models row by row, but a summary has no rows"):
        audit(summary, compare_with=summary)
    with pytest.raises(InputError, match="a Summary already contains outcomes and weights: leave actuals out"):
        audit(summary, [0, 1])
    with pytest.raises(InputError, match="leave sample_weight out"):
        verdict(summary, sample_weight=[1.0])
    rows = Predictions([0.2, 0.7], [0, 1])
    for layout in (Layout.of(spacing="logit"), Layout.of(cells=1000)):
        with pytest.raises(InputError, match="an audit needs uniform cells, 840 or a multiple of that"):
            audit(Summary.of(rows, layout))
    found = audit(matrix[-1])
    assert found.fix is None
    assert "run `believable fit` on a sample of rows, or audit" in found.no_fix


# --- the fix ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def huge(event):
    """The same rows 16 million times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("believable.auditing.measure.AUDITED_ERRORS", {"binary": ("ece", "smece")})
        return audit(times(event[-1], 24), progress=False)


def test_the_fix(event, huge):
    """Chosen on drawn rows, fitted on all cells: the map is that of the rows, and it is in the report."""
    fix = huge.fix
    assert fix.rows == (
        "20,000 rows in 5 folds; each row is recalibrated by a fit on the other folds. ECE with 10 bins. 1,000,000 of "
        "838,860,800,000 rows were drawn from the cells of a summary, at their mean scores, to judge the chosen recalibrator; "
        "it was fitted on all cells."
    )
    learnt = believable.load_recalibrator(fix.map)
    p, y = event[2]
    direct = as_method(fix.chosen).fit(p, y)
    at = np.linspace(0.01, 0.99, 99)
    assert learnt.transform(at) == pytest.approx(direct.transform(at), abs=1e-5)
    ece = next(change for change in fix.changes if change.name == "ECE")
    assert ece.before == pytest.approx(huge["ece"].value, abs=0.003)  # of a million rows
    assert ece.after < ece.before / 2
    assert [(one.stage, one.level) for one in huge.slices][:2] == [("before", None), ("after", None)]
    assert {one.stage for one in huge.slices[2:]} == {"before"}  # which drawn rows are whose is not known
    assert int(huge.slices[1].cells.cells().n.sum()) == 1_000_000


# --- what is read from cells ------------------------------------------------------------------------------------------


def test_one_class_against_the_rest(matrix):
    """A class has the rows that have it, and the scores of its column."""
    *_, (p, y), summary = matrix
    for k in range(4):
        event = SummarySource(summary).event(k)
        assert event.n == np.sum(y == k)
        cells = event.pairs
        found = (cells.wp.sum() / cells.w.sum(), cells.wy.sum() / cells.w.sum())
        assert found == pytest.approx((p[:, k].mean(), np.mean(y == k)), rel=1e-9)


def test_where_no_score_has_been():
    """The ends are those of the scores where a heap is outermost, and otherwise contain them within a cell."""
    rng = np.random.default_rng(10)
    p = rng.uniform(0.2, 0.4, 1000)
    low, high = SummarySource(Summary.of(Predictions(p, p > 0.3))).score_range()
    assert p.min() - 2.1e-5 <= low <= p.min()
    assert p.max() <= high <= p.max() + 2.1e-5
    assert SummarySource(Summary.of(Predictions([0.1, 0.3, 0.3], [0, 1, 0]))).score_range() == pytest.approx(
        (0.1, 0.3), rel=1e-12
    )
    tiny = 10.0 ** rng.uniform(-6, -4, 1000)
    low, high = SummarySource(Summary.of(Predictions(tiny, tiny > 1e-5))).score_range()
    assert 0.998 * tiny.min() <= low <= tiny.min()
    assert tiny.max() <= high <= 1.002 * tiny.max()


# --- very many rows ---------------------------------------------------------------------------------------------------


def test_a_trillion_rows(huge):
    """Counts have commas, ends of intervals differ in what is printed, and the words are those of any audit."""
    assert huge.n == N * 2**24
    text = str(huge)
    assert text.startswith("838,860,800,000 rows; observed rate 43.3 %\nColumns: the cells of a summary")
    assert huge.verdict.miscalibrated
    low, high = text.split("95 % interval ")[1].split(" (10 uniform bins)")[0].split(" to ")
    assert float(low) < float(high)
    assert (float(low), float(high)) == pytest.approx((huge["ece"].low, huge["ece"].high), abs=5.1e-7)
    assert f"{low} to {high}" in huge.to_html()
    assert huge.verdict.low <= huge.verdict.ece <= huge.verdict.high
    assert Audit.from_json(huge.to_json()) == huge


def test_a_smooth_error_without_floor(huge):
    """With so many rows that chance shows less than can be drawn, the report says that instead."""
    assert huge["smece"].floor is None
    assert huge["smece"].note == "with so many rows the noise floor is below 0.0005"


def test_bins_that_the_cells_of_many_classes_do_not_make():
    """The headline stands in any bins of its own grid; of single classes nothing is said, and why."""
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.full(30, 0.2), 600)
    given = Predictions(p, np.array([rng.choice(30, p=row) for row in p]))
    found = audit(Summary.of(given), n_bins=25, fix=False)
    assert found.verdict.ece == pytest.approx(expected_calibration_error(given, n_bins=25), abs=1e-12)
    assert found.parts == ()
    assert {"ece", "mce", "brier"} <= {one.alias for one in found.metrics}
    assert not {"sce", "tlce"} & {one.alias for one in found.metrics}
    assert "in 5,040 cells, which cannot be merged into 25 equal bins" in found.notes[-1]
    assert found.notes[-1] in str(found)
