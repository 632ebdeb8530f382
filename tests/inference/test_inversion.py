"""What the inverted tests are made of: cells, shapes of gaps, units of resampling."""

import numpy as np
import pytest

from believable import BinStats, CellStats, Predictions
from believable.inference.clusters import drawn_counts, has_several_pairs_per_row, residuals_by_unit, unit_of_rows
from believable.inference.compare import square_and_add
from believable.inference.interval import tails_of
from believable.inference.inversion import Inverted, invert
from believable.inference.question import ask


def data(n=500, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 1.2, n)
    return p, (rng.random(n) < np.clip(0.8 * p + 0.05, 0, 1)).astype(int), rng.lognormal(0, 0.5, n)


def cells_of(metric, source, **options):
    return ask(metric, source, options=options).cells(200)


# --- cells ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("metric", ["ece", "ace", "ks"])
def test_cells_hold_the_rows(metric, dtype):
    """Weights, mean scores, outcomes, effective sizes and spreads of the cells are those of the rows in them."""
    p, y, w = data()
    source = Predictions(p.astype(dtype), y, sample_weight=w)
    cells = cells_of(metric, source)
    cell = cells.locate(source.scores, None)
    for c in range(len(cells)):
        here = cell == c
        score = source.scores[here].astype(np.float64)
        assert here.sum() == cells.n[c]
        assert cells.w[c] == pytest.approx(w[here].sum(), rel=1e-9)
        assert cells.wy[c] == pytest.approx((w * y)[here].sum(), rel=1e-9)
        assert cells.conf[c] == pytest.approx(np.average(score, weights=w[here]), rel=1e-6)
        assert cells.size[c] == pytest.approx(w[here].sum() ** 2 / (w[here] ** 2).sum(), rel=1e-9)
        if metric != "ks":
            spread = np.average((score - cells.conf[c]) ** 2, weights=w[here])
            assert cells.spread[c] == pytest.approx(spread, rel=1e-5, abs=1e-9)
    assert cells.gap == pytest.approx(cells.wy / cells.w - cells.conf)


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("sce", {}),
        ("tace", {}),
        ("toprce", {"r": 2}),
        ("tlce", {}),
        ("ks", {"notion": "classwise"}),
        ("sce", {"pooled": True}),
    ],
    ids=str,
)
def test_cells_of_groups(metric, options):
    """So it is for the classes or ranks of a matrix."""
    rng = np.random.default_rng(1)
    q = rng.dirichlet(np.full(4, 0.5), 300)
    source = Predictions(q, rng.integers(0, 3, 300))  # the last class never happens
    cells = cells_of(metric, source, **options)
    pairs = source.all_pairs(cells.statistic.view)
    cell = cells.locate(pairs.score, pairs.stratum)
    assert np.bincount(cell, minlength=len(cells)) == pytest.approx(cells.n)
    assert np.bincount(cell, pairs.outcome, len(cells)) == pytest.approx(cells.wy, abs=1e-9)
    if pairs.stratum is not None:
        assert (cells.stratum[cell] == pairs.stratum).all()


def test_cells_of_statistics():
    """A statistic that was counted before is taken apart as the data are."""
    p, y, _ = data()
    source = Predictions(p, y)
    of_data = cells_of("ece", source, n_bins=15)
    for stats, options in ((BinStats.of(source, n_bins=15), {}), (CellStats.of(source), {"n_bins": 15})):
        found = cells_of("ece", stats, **options)
        for name in ("n", "w", "conf", "wy", "size", "spread"):
            assert getattr(found, name) == pytest.approx(getattr(of_data, name), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_drawn_outcomes(weighted):
    """Outcomes drawn by cell have the mean and variance of outcomes drawn row by row."""
    p, y, w = data(600)
    w = w if weighted else np.ones(600)
    cells = cells_of("ece", Predictions(p, y, sample_weight=w), n_bins=8)
    drawn = cells.draw(cells.conf, np.random.default_rng(2), 4000)
    code = np.minimum(np.ceil(p * 8).astype(int), 8) - 1
    variance = np.bincount(code, w**2 * p * (1 - p))
    assert drawn.mean(axis=0) == pytest.approx(cells.w * cells.conf, abs=4 * np.sqrt(variance.max() / 4000))
    # With weights the variance of a bin is that of pairs of average weight, so it is near, not equal.
    assert drawn.var(axis=0) == pytest.approx(variance, rel=0.25 if weighted else 0.12)


@pytest.mark.parametrize("rate", [0.0, 1e-9, 0.003, 0.5, 0.997, 1.0])
@pytest.mark.parametrize("size", [1, 3, 40, 100_000])
def test_drawn_rates(rate, size):
    """Whatever the rate and the size, drawn counts lie between none and all, and average to the rate."""
    p = np.full(size, rate)
    cells = cells_of("ece", Predictions(p, np.zeros(size, int)), n_bins=5)
    drawn = cells.draw(cells.conf, np.random.default_rng(3), 3000)
    variance = size * rate * (1 - rate)
    assert drawn.mean() == pytest.approx(rate * size, abs=5 * np.sqrt(variance / 3000) + 1e-6)
    assert drawn.var() == pytest.approx(variance, rel=0.15, abs=5 * np.sqrt(variance / 3000) + 1e-6)
    if variance < 100:
        assert drawn.min() >= 0
        assert drawn.max() <= size * (1 + 1e-12)


def test_drawn_anew():
    """New samples have other numbers of pairs in each cell: a bin keeps one, a point may have none and shows no gap."""
    p, y, w = data(60)
    rng = np.random.default_rng(4)
    for metric, options in (("ece", {"n_bins": 30}), ("ks", {})):
        cells = cells_of(metric, Predictions(p, y, sample_weight=w), **options)
        times = cells.times(rng, 3000)
        assert (times @ cells.n) == pytest.approx(np.full(3000, 60.0))
        assert times.mean(axis=0) == pytest.approx(np.ones(len(cells)), abs=0.12)
        rate = np.broadcast_to(np.clip(cells.conf + 0.1, 0, 1), times.shape)
        wy, weight = cells.draw_anew(rate, rng, times)
        assert (weight > 0).all()
        empty = times == 0
        assert empty.any() == (metric == "ks")
        assert (times * cells.n >= 1 - 1e-9).all() == (metric == "ece")
        assert (wy / weight)[empty] == pytest.approx(np.broadcast_to(cells.conf, times.shape)[empty])
        assert (weight / cells.w)[~empty] == pytest.approx(times[~empty])


def test_lone_pairs_are_as_noisy():
    """Where bins have a pair or two, new samples show as much noise as data with other outcomes do."""
    rng = np.random.default_rng(15)
    p = rng.random(40)
    cells = cells_of("ece", Predictions(p, rng.random(40) < p), n_bins=40)
    rate = np.broadcast_to(cells.conf, (3000, len(cells)))
    wy, w = cells.draw_anew(rate, rng, cells.times(rng, 3000))
    anew = np.abs(wy - w * cells.conf).sum(axis=1).mean()
    again = np.abs(cells.draw(cells.conf, rng, 3000) - cells.w * cells.conf).sum(axis=1).mean()
    assert anew == pytest.approx(again, rel=0.05)


def test_with_outcomes():
    """The way back: the same outcomes give the same metric, and replicates one value each."""
    p, y, w = data()
    for metric in ("ece", "ks", "smece", "mmce"):
        question = ask(metric, p, y, w)
        cells = question.cells(10_000)
        assert question.replicates(cells.with_outcomes(cells.wy))[0] == pytest.approx(question.value(), abs=2e-6)
        stacked = np.stack([cells.wy, cells.w * cells.conf])
        found = question.replicates(cells.with_outcomes(stacked))
        assert found == pytest.approx([question.value(), 0.0], abs=3e-6)


@pytest.mark.parametrize("metric", ["ks", "smece", "mmce", "kuiper"])
def test_few_points_stand_for_many(metric):
    """Neighbouring scores put together change an error without bins by little beside its noise."""
    p, y, _ = data(20_000, seed=5)
    question = ask(metric, p, y)
    cells = question.cells(200)
    assert len(cells) <= 200
    assert question.replicates(cells.with_outcomes(cells.wy))[0] == pytest.approx(question.value(), rel=0.02)


# --- units ------------------------------------------------------------------------------------------------------------


def test_residuals_by_unit():
    """Residuals are summed by unit and cell, weights and all."""
    p, y, w = data(200)
    source = Predictions(p, y, sample_weight=w)
    cells = cells_of("ece", source)
    unit = np.arange(200) % 13
    found = residuals_by_unit(source, cells, unit, 13).toarray()
    cell = cells.locate(source.scores, None)
    literal = np.zeros((13, len(cells)))
    for i in range(200):
        literal[unit[i], cell[i]] += w[i] * (y[i] - p[i])
    assert found == pytest.approx(literal, abs=1e-12)
    assert found.sum(axis=0) == pytest.approx(cells.wy - cells.w * cells.conf, abs=1e-9)


def test_residuals_of_threshold():
    """Pairs that a threshold leaves out are left out, and rows keep their numbers."""
    rng = np.random.default_rng(6)
    q = rng.dirichlet(np.full(3, 0.3), 100)
    source = Predictions(q, rng.integers(0, 3, 100), sample_weight=rng.random(100))
    cells = cells_of("tace", source, threshold=0.1)
    found = residuals_by_unit(source, cells, np.arange(100), 100)
    assert found.sum(axis=0) == pytest.approx(cells.wy - cells.w * cells.conf, abs=1e-9)
    weight = source.weights[:, None] * ((source.labels[:, None] == np.arange(3)) - q) * (q > 0.1)
    assert found.sum(axis=1) == pytest.approx(weight.sum(axis=1), abs=1e-9)


def test_units():
    """Rows are units, or clusters are; very many are put together at random, all of one size."""
    rng = np.random.default_rng(7)
    unit, n_units = unit_of_rows(None, 100, rng)
    assert (unit == np.arange(100)).all()
    assert n_units == 100
    unit, n_units = unit_of_rows(None, 10_000, rng)
    assert set(np.bincount(unit)) == {10_000 // n_units}
    cluster = np.arange(9000) // 2
    unit, n_units = unit_of_rows(cluster, 9000, rng)
    assert (unit[::2] == unit[1::2]).all()
    assert unit.max() == n_units - 1
    counts = drawn_counts(30, 500, rng)
    assert (counts.sum(axis=1) == 30).all()


def test_several_pairs():
    """Classes and ranks of one label hang together; confidences, and one class, do not."""
    rng = np.random.default_rng(8)
    source = Predictions(rng.dirichlet(np.ones(3), 40), rng.integers(0, 3, 40))
    for notion, several in {
        "classwise": True,
        "top_r": True,
        "classwise_top_r": True,
        "confidence": False,
        "top_label": False,
        "rth": False,
    }.items():
        view = source.view(notion, r=2 if notion in ("top_r", "classwise_top_r", "rth") else None)
        assert has_several_pairs_per_row(view) == several


# --- tails ------------------------------------------------------------------------------------------------------------


def test_tails():
    """The chance of showing no less grows with the true error, the chance of showing no more falls."""
    p, y, _ = data(400)
    tails = tails_of(ask("ece", p, y), None, 500, np.random.default_rng(0))
    at = np.array([tails.at(error) for error in (0.0, 0.02, 0.05, 0.1, 0.2)])
    assert (np.diff(at[:, 0]) >= -0.02).all()
    assert (np.diff(at[:, 1]) <= 0.02).all()
    assert at[0, 1] > 0.5 or at[0, 0] < 0.5
    assert at[-1, 1] < 0.01
    assert ((at > 0) & (at <= 1)).all() or at[-1].tolist() == [1.0, 0.0]


def test_errors_that_cannot_be():
    """An error larger than any that is possible is never the true one."""
    tails = tails_of(ask("ece", np.full(50, 0.5), np.arange(50) % 2), None, 200, np.random.default_rng(0))
    assert tails.at(0.6) == (1.0, 0.0)
    assert invert(tails, 0.95).high < 0.5


def test_stretched_past_the_ends():
    """Where some gaps can grow no more, the others make up for it: shapes have the error that was asked for."""
    rng = np.random.default_rng(16)
    p = np.repeat([1e-6, 0.3, 0.6, 1 - 1e-6], 50)
    y = rng.random(200) < np.repeat([0.2, 0.4, 0.5, 0.8], 50)
    question = ask("ece", p, y)
    tails = tails_of(question, None, 300, rng)
    for error in (0.1, 0.2, 0.3):
        rate, reached = tails._stretched(error)
        assert ((rate >= 0) & (rate <= 1)).all()
        assert reached.mean() > 0.9
        found = question.replicates(tails.cells.with_outcomes(tails.cells.w * rate))[reached]
        assert (found > 0.95 * error - 1e-9).all()
        assert (found < 1.0001 * error).all()


def test_largest_gap_for_sure():
    """The bound on the largest gap is the best of the exact bounds of the bins, by hand."""
    from scipy.stats import beta

    p = np.repeat([0.95, 0.45, 0.25], [4, 1000, 50])
    y = np.concatenate([np.arange(n) < happened for n, happened in ((4, 2), (1000, 300), (50, 13))])
    tails = tails_of(ask("mce", p, y), None, 200, np.random.default_rng(0))
    each = 0.02 / 3
    literal = max(
        0.95 - beta.ppf(1 - each, 3, 2), 0.45 - beta.ppf(1 - each, 301, 700), beta.ppf(each, 13, 38) - 0.25, 0.0
    )
    assert tails.for_sure(0.02) == pytest.approx(literal, rel=1e-9)
    assert invert(tails, 0.95).low == pytest.approx(literal, rel=1e-9)
    assert tails.observed == pytest.approx(0.45)


def test_classes_that_mirror_each_other():
    """Two columns that say the same are no more evidence than one: the error of both varies like that of one."""
    rng = np.random.default_rng(17)
    p = np.clip(rng.beta(0.7, 0.7, 600), 1e-3, 1 - 1e-3)
    y = (rng.random(600) < 0.7 * p + 0.15).astype(int)
    one = tails_of(ask("ece", p, y), None, 1500, rng)
    both = Predictions(np.stack([1 - p, p], axis=1), y)
    two = tails_of(ask("sce", both, options={"n_bins": 10}), None, 1500, rng)
    assert one.widened == 1
    assert two.widened == pytest.approx(np.sqrt(2), rel=0.15)
    assert two._shown(0.08).std() == pytest.approx(one._shown(0.08).std(), rel=0.2)


def test_nothing_seen():
    """Thirty outcomes, certain and right, leave room for an error of about 3 in 30 (the rule of three)."""
    p = np.arange(30) % 2.0
    tails = tails_of(ask("ece", p, p.astype(int)), None, 2000, np.random.default_rng(0))
    found = invert(tails, 0.95)
    assert found.low == found.estimate == 0
    assert 0.07 < found.high < 0.16


def test_unrefined():
    """Other levels can be read from the candidates that were tried, and hold each other."""
    p, y, _ = data(400)
    tails = tails_of(ask("ece", p, y), None, 1000, np.random.default_rng(0))
    wide = invert(tails, 0.95)
    tried = len(tails.tried)
    narrow = [invert(tails, level, refine=False) for level in (0.5, 0.7, 0.9)]
    assert len(tails.tried) == tried
    assert narrow[0].high <= narrow[1].high <= narrow[2].high <= wide.high + 1e-9
    assert narrow[0].low >= narrow[1].low >= narrow[2].low >= wide.low - 1e-9


def test_square_and_add():
    """Ends of a difference by hand: independent, and perfectly together."""
    a, b = Inverted(0.02, 0.09, 0.05, ""), Inverted(0.01, 0.06, 0.03, "")
    low, high = square_and_add(a, b, 0.0)
    assert low == pytest.approx(0.02 - np.hypot(0.03, 0.03))
    assert high == pytest.approx(0.02 + np.hypot(0.04, 0.02))
    low, high = square_and_add(a, b, 1.0)
    assert (low, high) == pytest.approx((0.02, 0.04))
