"""A trillion rows, simulated by merging: counts stay exact, and sums and metrics do not drift."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from believable import BinStats, CellStats, Layout, Predictions, ScoreSums, Summary, brier_score, evaluate
from believable import expected_calibration_error as ece
from believable.stats import RunningTotal, statistic
from believable.stats.counts import SUMS

TRILLION = 10**12
RNG = np.random.default_rng(12)
SCORES = ("w", "w2", "brier", "nll", "correct", "confidence", "entropy", "spread", "spread_variance", "w2_squared")
LAYOUT = Layout.of(cells=100)


def part(n, seed, weighted=True):
    """The summary of a few rows with scores on either side of 0.5."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.4, 0.6, n)
    y = rng.random(n) < 0.3 + 0.5 * p
    return Summary.of(Predictions(p, y, sample_weight=rng.random(n) * 5 + 0.1 if weighted else None), LAYOUT)


def times(stats, count):
    """As many copies, by repeated doubling."""
    total = None
    while count:
        if count % 2:
            total = stats if total is None else total + stats
        stats, count = stats + stats, count // 2
    return total


def exact(parts, counts):
    """Every sum of every cell and of the rows, in rational numbers."""
    cells: dict[tuple[int, int, str], Fraction] = {}
    rows = {
        name: sum(c * Fraction(getattr(one.sums, name)) for one, c in zip(parts, counts, strict=True))
        for name in SCORES
    }
    for one, c in zip(parts, counts, strict=True):
        for which, stats in enumerate(one.cells):
            for i, key in enumerate(stats.key.tolist()):
                for name in ("n", *SUMS):
                    at = (which, key, name)
                    cells[at] = cells.get(at, Fraction(0)) + c * Fraction(getattr(stats, name)[i].item())
    return rows, cells


def agrees(total, parts, counts):
    """Counts equal, sums to 1e-12 of the exact ones; the metrics are those of the exact sums."""
    rows, cells = exact(parts, counts)
    n = sum(c * one.n for one, c in zip(parts, counts, strict=True))
    assert total.n == n == int(total.cells[0].n.sum())
    for name, value in rows.items():
        assert abs(Fraction(getattr(total.sums, name)) - value) <= Fraction(1, TRILLION) * abs(value), name
    for which, stats in enumerate(total.cells):
        assert len(cells) == sum(len(one.key) for one in total.cells) * (1 + len(SUMS))
        for i, key in enumerate(stats.key.tolist()):
            for name in ("n", *SUMS):
                found, value = Fraction(getattr(stats, name)[i].item()), cells[which, key, name]
                assert abs(found - value) <= (0 if name == "n" else Fraction(1, TRILLION) * value), (key, name)
    weight = sum(value for (which, _, name), value in cells.items() if which == 0 and name == "w")
    gap: dict[int, Fraction] = {}
    for (which, key, name), value in cells.items():
        if which == 0 and name in ("wy", "wp"):
            here = max(key - 1, 0) // 10 if key <= 100 else 9
            gap[here] = gap.get(here, Fraction(0)) + (value if name == "wy" else -value)
    exact_ece = float(sum(map(abs, gap.values())) / weight)
    assert ece(total.cells[0], n_bins=10) == pytest.approx(exact_ece, rel=1e-12, abs=1e-13)
    assert brier_score(total.sums) == pytest.approx(float(rows["brier"] / rows["w"]), rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_doubling_to_a_trillion(weighted):
    """Copies of one part, to 1e12 rows and to all that 64-bit counts hold, are that many times the part."""
    one = part(25, 1, weighted)
    for count in (TRILLION // 25, 3**20, (2**62) // 25):
        agrees(times(one, count), [one], [count])


def test_metrics_do_not_change():
    """Of a trillion copies every metric is that of one, to 1e-12."""
    one = part(25, 2)
    many = times(one, TRILLION // 25)
    before, after = evaluate(one), evaluate(many)
    for name in ("expected_calibration_error", "brier_score", "negative_log_likelihood", "accuracy", "sharpness"):
        assert after[name] == pytest.approx(before[name], rel=1e-12, abs=1e-13), name
    assert many.sums.deviation / many.sums.w == pytest.approx(one.sums.deviation / one.sums.w, rel=1e-12)


def test_unequal_parts():
    """Parts from one row to half a trillion, in any order, add up to the exact sums."""
    parts = [part(int(n), 10 + i) for i, n in enumerate(RNG.integers(1, 40, 24))]
    counts = [int(c) for c in np.round(10 ** RNG.uniform(0, 10.5, 24))]
    counts[0] = (TRILLION - sum(c * one.n for one, c in zip(parts, counts, strict=True))) // parts[0].n
    shards = [times(one, c) for one, c in zip(parts, counts, strict=True)]
    for order in (np.arange(24), RNG.permutation(24)):
        agrees(sum(shards[i] for i in order), [parts[i] for i in order], [counts[i] for i in order])
    assert sum(shards).n > 0.99 * TRILLION


def test_subgroups_and_classes_too():
    """The same holds by subgroup, and for matrices: rows are counted exactly."""
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(3), 20)
    data = Predictions(p, rng.integers(0, 3, 20))
    one = Summary.of(data, Layout.of("multiclass", 3, cells=50), by={"g": list("ab") * 10})
    many = times(one, TRILLION // 20)
    assert many.n == TRILLION
    assert [level.n for level in many.by["g"].values()] == [TRILLION // 2] * 2
    assert many.cells_of("classwise").n.sum() == 3 * TRILLION
    assert brier_score(many.sums) == pytest.approx(brier_score(one.sums), rel=1e-12)


def test_many_parts_one_by_one():
    """A running total of many parts is exact to the rounding of few additions, whatever their number."""
    one = ScoreSums.of(Predictions([0.1, 0.7, 0.35], [0, 1, 1]))
    total = RunningTotal()
    assert total.value is None
    for _ in range(12_345):
        total.add(one)
    assert total.value.n == 3 * 12_345
    for name in SCORES:
        assert getattr(total.value, name) == pytest.approx(12_345 * getattr(one, name), rel=2e-13), name


def test_running_totals_of_other_statistics(monkeypatch):
    """Any statistic can be added so, and nothing is lost where subtotals are carried on."""
    monkeypatch.setattr(statistic, "PARTS_PER_LEVEL", 3)
    p, y = RNG.random(100), RNG.integers(0, 2, 100)
    for kind in (BinStats, CellStats):
        whole, total = kind.of(Predictions(p, y)), RunningTotal(kind.of(Predictions(p[:1], y[:1])))
        for i in range(1, 100):
            total.add(kind.of(Predictions(p[i : i + 1], y[i : i + 1])))
        assert np.array_equal(total.value.n, whole.n)
        assert np.allclose(total.value.wpp, whole.wpp, rtol=1e-13)
