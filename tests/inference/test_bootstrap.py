"""Replicates from sums and counts vary as those from rows do."""

from statistics import NormalDist

import numpy as np
import pytest

from believable import BinStats, CellStats, Predictions, auc, brier_score, interval, negative_log_likelihood
from believable.inference import bootstrap
from believable.inference.question import ask

N, DRAWS = 2000, 4000


def data(seed=0, n=N):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 1.2, n)
    y = (rng.random(n) < np.clip(0.7 * p + 0.1, 0, 1)).astype(int)
    return p, y, rng.lognormal(0, 0.7, n)


def literal_rows(p, y, w, n_bins, n_draws):
    """ECE and RMSCE of rows drawn with replacement: one weighted count of the rows for each replicate."""
    rng = np.random.default_rng(77)
    code = np.minimum(np.ceil(p * n_bins).astype(int), n_bins) - 1
    onto = np.zeros((len(p), n_bins))
    onto[np.arange(len(p)), code] = 1
    weight = onto * w[:, None]
    excess = weight * (y - p)[:, None]
    found = []
    for _ in range(n_draws // 500):
        counts = rng.multinomial(len(p), np.full(len(p), 1 / len(p)), 500).astype(np.float64)
        total, gap = counts @ weight, counts @ excess
        all_of_it = total.sum(axis=1)
        squares = np.divide(gap**2, total, out=np.zeros_like(gap), where=total > 0)
        found.append([np.abs(gap).sum(axis=1) / all_of_it, np.sqrt(squares.sum(axis=1) / all_of_it)])
    return np.concatenate(found, axis=1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_bins", [2, 5, 15, 30])
def test_spread_of_counts(n_bins, weighted):
    """Resampled counts of (bin, outcome) spread as resampled rows do, within 3 % and the error of 4,000 draws."""
    p, y, w = data()
    w = w if weighted else np.ones(N)
    stats = BinStats.of(Predictions(p, y, sample_weight=w), n_bins=n_bins)
    drawn = bootstrap.resampled_bins(stats, DRAWS, np.random.default_rng(1))
    of_rows = literal_rows(p, y, w, n_bins, DRAWS)
    for metric, rows in zip(("ece", "rmsce"), of_rows, strict=True):
        counts = ask(metric, stats).replicates(drawn)
        slack = 0.03 + 2 * np.sqrt(2 / (2 * DRAWS))  # both deviations are known to 1 / sqrt(2 draws)
        assert counts.std() == pytest.approx(rows.std(), rel=slack)
        assert counts.mean() == pytest.approx(
            rows.mean(), abs=0.1 * rows.std()
        )  # means of 4,000 draws, three times over


def test_resampled_bins():
    """New samples have the weight of the old one on average, outcomes and scores in proportion, and no empty bins."""
    p, y, w = data()
    stats = BinStats.of(Predictions(p, y, sample_weight=w), n_bins=20)
    drawn = bootstrap.resampled_bins(stats, DRAWS, np.random.default_rng(2))
    for name in ("w", "wp", "wy", "wpy", "w2"):
        mean, spread = getattr(drawn, name).mean(axis=0), getattr(drawn, name).std(axis=0)
        assert (np.abs(mean - getattr(stats, name)) < 5 * spread / np.sqrt(DRAWS) + 1e-9).all()
    assert (drawn.w > 0).all()
    assert (drawn.wy >= 0).all()
    assert (drawn.wy <= drawn.w * (1 + 1e-12)).all()


def test_rare_bins():
    """A bin with one pair is empty in about 1/e of the new samples, and then adds nothing."""
    p, y = np.append(np.full(500, 0.25), 0.9), np.append(np.arange(500) % 4 == 0, False)
    stats = BinStats.of(Predictions(p, y), n_bins=2)
    drawn = bootstrap.resampled_bins(stats, DRAWS, np.random.default_rng(3))
    empty = drawn.w[:, 1] < 1e-6
    assert empty.mean() == pytest.approx(np.exp(-1), abs=0.04)  # five standard errors of 4,000 draws
    assert ask("mce", stats).replicates(drawn)[empty].max() < 0.2


def test_unequal_weights_ask_for_rows():
    """Points do not tell how weights differ within them, nor classes what one row adds to several."""
    p, y, _ = data(4, 400)
    rng = np.random.default_rng(5)
    weighted = Predictions(p, y, sample_weight=rng.integers(1, 3, 400))
    assert bootstrap.statistic_replicates(ask("auc", weighted), 100, rng) is None
    matrix = Predictions(rng.dirichlet([1, 1, 1], 400), rng.integers(0, 3, 400))
    assert bootstrap.statistic_replicates(ask("auc", matrix), 100, rng) is None


def test_cells_of_unequal_weights():
    """Cells that mix weights vary as their sums of squares say; those of equal weights as their counts do."""
    p = np.repeat([0.2, 0.4, 0.6, 0.8], 300)
    y = np.random.default_rng(6).random(1200) < p
    source = Predictions(p, y, sample_weight=1 + np.arange(1200) % 3)
    points = bootstrap.statistic_replicates(ask("auc", CellStats.of(source)), 2000, np.random.default_rng(7))
    rows = bootstrap.row_replicates(ask("auc", source), None, 2000, np.random.default_rng(8))
    assert np.std(points) == pytest.approx(np.std(rows), rel=0.1)  # four standard errors of 2,000 draws are 0.09
    p, y = p[::10], y[::10]
    equal = CellStats.of(Predictions(p, y, sample_weight=np.full(120, 3.0)))
    found = interval("auc", equal, n_resamples=100, random_state=0)
    assert found.low <= found.value <= found.high


def test_auc_of_counts():
    """The AUC of resampled points spreads as the AUC of resampled rows."""
    p, y, _ = data(4, 400)
    rng = np.random.default_rng(5)
    source = Predictions(p, y, sample_weight=np.full(400, 2.0))
    points = bootstrap.statistic_replicates(ask("auc", source), 1000, rng)
    rows = np.array([auc(source.take(rng.integers(0, 400, 400))) for _ in range(1000)])
    assert points.std() == pytest.approx(rows.std(), rel=0.13)  # both known to 1 / sqrt(2 * 1,000), four times over
    assert points.mean() == pytest.approx(
        rows.mean(), abs=0.2 * rows.std()
    )  # four standard errors of a difference of means of 1,000


# --- sums -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", ["brier", "acc", "nll", "conf"])
def test_standard_error(metric, weighted):
    """The deviation of the replicates of a mean is its textbook standard error (linearised, for a weighted one)."""
    p, y, w = data(6)
    w = w if weighted else np.ones(N)
    question = ask(metric, p, y, w)
    units = bootstrap.SumUnits(question.source, np.arange(N), N)
    drawn = units.values(question, bootstrap.drawn_counts(N, 1500, np.random.default_rng(7)))
    each = {
        "brier": (p - y) ** 2,
        "acc": (p > 0.5) == y,
        "nll": -np.log(np.where(y, p, 1 - p)),
        "conf": np.maximum(p, 1 - p),
    }[metric]
    mean = np.average(each, weights=w)
    error = np.sqrt(np.sum(w**2 * (each - mean) ** 2)) / w.sum()
    assert drawn.std() == pytest.approx(error, rel=0.05 + 0.02)  # 5 %, and the error of 1,500 draws
    assert drawn.mean() == pytest.approx(mean, abs=4 * error / np.sqrt(1500))


def test_units_add_up():
    """Every unit taken once gives the metric of the data, for every kind of prediction."""
    rng = np.random.default_rng(8)
    q, columns = rng.dirichlet(np.ones(3), 50), rng.random((50, 3))
    sources = [
        Predictions(rng.random(50), rng.integers(0, 2, 50), sample_weight=rng.random(50)),
        Predictions(q, rng.integers(0, 3, 50)),
        Predictions(columns, rng.integers(0, 2, (50, 3)), multilabel=True, sample_weight=rng.random(50)),
    ]
    for source in sources:
        for metric in ("brier", "nll", "acc", "conf", "entropy", "sharpness", "bss"):
            question = ask(metric, source)
            units = bootstrap.SumUnits(source, np.arange(50) // 7, 8)
            assert units.values(question, np.ones((1, 8)))[0] == pytest.approx(question.value(), rel=1e-9)
            twice = bootstrap.SumUnits(source, np.arange(50), 50).values(
                question, np.repeat([[1.0, 2, 0]], 17, 0).ravel()[None, :50]
            )
            rows = np.repeat(np.arange(50), np.tile([1, 2, 0], 17)[:50])
            assert twice[0] == pytest.approx(question.value(source.take(rows)), rel=1e-9)


def test_many_rows():
    """Many rows are put together at random into units, and the interval is still that of the mean."""
    rng = np.random.default_rng(9)
    p = rng.random(20_000)
    y = rng.random(20_000) < p
    found = interval("brier", p, y, random_state=0)
    error = np.std((p - y) ** 2) / np.sqrt(20_000)
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.1)  # quantiles of the draws
    assert found.value == brier_score(p, y)


def test_infinite_terms():
    """A replicate is infinite where the row that was certain and wrong is drawn, and finite where it is not."""
    p, y = np.append(np.full(30, 0.8), 0.0), np.append(np.arange(30) % 5 > 0, True)
    question = ask("nll", p, y)
    units = bootstrap.SumUnits(question.source, np.arange(31), 31)
    counts = bootstrap.drawn_counts(31, 300, np.random.default_rng(10))
    found = units.values(question, counts)
    assert (np.isinf(found) == (counts[:, 30] > 0)).all()
    without = units.values(question, np.append(np.ones(30), 0)[None])
    assert without[0] == pytest.approx(negative_log_likelihood(p[:30], y[:30]), rel=1e-12)


# --- ends -------------------------------------------------------------------------------------------------------------


def test_percentile_ends():
    """The central share of the replicates, which are themselves replicates and may be infinite."""
    replicates = np.append(np.arange(1.0, 100), np.inf)
    assert bootstrap.percentile_ends(replicates, 0.9) == (5.0, 95.0)
    assert bootstrap.percentile_ends(np.append(replicates, [np.inf] * 20), 0.9)[1] == np.inf


def test_bca_ends():
    """Efron's formula, written out, on a small example."""
    values = np.array([0.2, 0.9, 1.4, 0.1, 3.0, 0.4, 0.8, 1.1, 0.3, 2.2])
    rng = np.random.default_rng(11)
    replicates = np.array([rng.choice(values, 10).mean() for _ in range(2000)])
    left_out = np.array([np.delete(values, i).mean() for i in range(10)])
    level, normal = 0.9, NormalDist()
    tied = np.abs(replicates - values.mean()) < 1e-9  # sums of the same numbers in another order
    z0 = normal.inv_cdf(np.mean(~tied & (replicates < values.mean())) + np.mean(tied) / 2)
    top = sum((left_out.mean() - x) ** 3 for x in left_out)
    a = top / (6 * sum((left_out.mean() - x) ** 2 for x in left_out) ** 1.5)
    expected = []
    for alpha in (0.05, 0.95):
        z = z0 + normal.inv_cdf(alpha)
        share = normal.cdf(z0 + z / (1 - a * z))
        expected.append(np.sort(replicates)[int(np.ceil(share * 2000)) - 1])
    found = bootstrap.bca_ends(replicates, left_out, values.mean(), level)
    assert found == pytest.approx(expected)
    plain = bootstrap.percentile_ends(replicates, level)
    assert found[0] > plain[0]  # the mean of a skewed sample: both ends move up
    assert found[1] > plain[1]


def test_bca_without_spread():
    """Replicates that are all alike, or all on one side of the value, leave the percentiles."""
    same = np.full(100, 0.3)
    assert bootstrap.bca_ends(same, np.full(5, 0.3), 0.3, 0.95) == (0.3, 0.3)
    above = np.linspace(1, 2, 100)
    assert bootstrap.bca_ends(above, np.arange(5.0), 0.5, 0.9) == bootstrap.percentile_ends(above, 0.9)


# --- rows -------------------------------------------------------------------------------------------------------------


def test_row_draws():
    """Rows are drawn with replacement; clusters as a whole, as many as there are."""
    rng = np.random.default_rng(12)
    rows = bootstrap.row_draws(50, None, rng)
    assert len(rows) == 50
    assert rows.min() >= 0
    assert rows.max() < 50
    cluster = np.array([2, 0, 1, 1, 2, 2, 0, 1, 1])
    for _ in range(20):
        counts = np.bincount(bootstrap.row_draws(9, cluster, rng), minlength=9)
        for c in range(3):
            assert len(set(counts[cluster == c])) == 1
        assert sum(counts[cluster == c][0] for c in range(3)) == 3


def test_own_function_by_rows():
    """A function of one's own sees whole rows: scores, labels and weights stay together."""
    p = np.arange(40) / 40
    seen = []

    def aligned(scores, labels, *, sample_weight):
        seen.append(bool((np.asarray(sample_weight) == 1 + scores).all() and (labels == (scores > 0.5)).all()))
        return 0.0

    chosen = {"method": "percentile", "n_resamples": 100, "random_state": 0}  # not simulated labels
    interval(aligned, p, p > 0.5, sample_weight=1 + p, **chosen)
    assert len(seen) >= 100
    assert all(seen)
