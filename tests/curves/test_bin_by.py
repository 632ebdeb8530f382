"""Bins made of another column than the scores, against a literal loop."""

from fractions import Fraction
from math import fsum

import numpy as np
import pytest

from believable import (
    BinStats,
    Predictions,
    Summary,
    calibration_curve,
    compare,
    expected_calibration_error,
    interval,
    noise_floor,
    reliability_table,
)
from believable.errors import InputError, UndefinedError

RNG = np.random.default_rng(11)
N = 400
AGE = RNG.integers(18, 90, N).astype(float)
P = RNG.random(N)
Y = (RNG.random(N) < np.clip(P + (AGE - 54) / 120, 0, 1)).astype(int)
W = RNG.random(N)
MATRIX = RNG.dirichlet(np.ones(3), N)
LABELS = RNG.integers(0, 3, N)


def edges_of(column, weights, n_bins, strategy):
    """Ends of the bins: of equal width, or where the cumulative weight first reaches j/M (less 1e-9)."""
    low, high = min(column), max(column)
    if strategy == "uniform":
        return [low + (high - low) * (k / n_bins) for k in range(n_bins)] + [high]
    total, reached, inner = sum(map(Fraction, weights)), Fraction(0), []
    for x, w in sorted(zip(column, weights, strict=True)):
        reached += Fraction(w)
        while len(inner) < n_bins - 1 and reached >= (len(inner) + 1) * total / n_bins - total / 10**9:
            inner.append(x)
    return [low, *sorted({x for x in inner if x < high}), high]


def literal(pairs, column, weights, edges):
    """(rows, mean score, mean outcome, weight) of every bin that is not empty."""
    found = []
    for k in range(len(edges) - 1):
        here = [i for i, x in enumerate(column) if edges[k] < x <= edges[k + 1] or (k == 0 and x == edges[0])]
        if here:
            total = fsum(weights[i] for i in here)
            score = fsum(weights[i] * pairs[i][0] for i in here) / total
            found.append((len(here), score, fsum(weights[i] * pairs[i][1] for i in here) / total, total))
    return found


def error(found, norm=1):
    total = fsum(w for *_, w in found)
    return fsum(w / total * abs(acc - conf) ** norm for _, conf, acc, w in found) ** (1 / norm)


@pytest.mark.parametrize("weights", [None, W])
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("n_bins", [1, 4, 10])
def test_definition(n_bins, strategy, weights):
    """Rows with similar values of the column are together, whatever their scores."""
    w = np.ones(N) if weights is None else weights
    edges = edges_of(AGE.tolist(), w.tolist(), n_bins, strategy)
    found = literal(list(zip(P, Y, strict=True)), AGE.tolist(), w.tolist(), edges)
    asked = {"n_bins": n_bins, "strategy": strategy, "bin_by": AGE, "sample_weight": weights}
    for norm in (1, 2):
        assert expected_calibration_error(P, Y, norm=norm, **asked) == pytest.approx(error(found, norm), rel=1e-12)
    x, y, n = calibration_curve(P, Y, **asked)
    assert x.tolist() == pytest.approx([conf for _, conf, _, _ in found], rel=1e-12)
    assert y.tolist() == pytest.approx([acc for _, _, acc, _ in found], rel=1e-12)
    assert n.tolist() == [rows for rows, *_ in found]
    table = reliability_table(P, Y, **asked)
    assert table.edges.tolist() == [pytest.approx(pair) for pair in zip(edges[:-1], edges[1:], strict=True)]
    assert table.n[table.n > 0].tolist() == n.tolist()
    assert "column" in str(table)


def test_classes():
    """Classes are kept apart in the same bins of the column; confidences are pairs of rows too."""
    edges = edges_of(AGE.tolist(), [1] * N, 3, "quantile")
    by_class = []
    for k in range(3):
        pairs = [(MATRIX[i, k], LABELS[i] == k) for i in range(N)]
        by_class += literal(pairs, AGE.tolist(), [1.0] * N, edges)
    asked = {"n_bins": 3, "strategy": "quantile", "bin_by": AGE}
    found = expected_calibration_error(MATRIX, LABELS, notion="classwise", **asked)
    assert found == pytest.approx(error(by_class), rel=1e-12)
    table = reliability_table(MATRIX, LABELS, notion="classwise", **asked)
    assert len(table) == 9
    assert table.edges[3:6].tolist() == table.edges[:3].tolist()
    top = [(MATRIX[i].max(), LABELS[i] == MATRIX[i].argmax()) for i in range(N)]
    confidence = error(literal(top, AGE.tolist(), [1.0] * N, edges))
    assert expected_calibration_error(MATRIX, LABELS, **asked) == pytest.approx(confidence, rel=1e-12)


def test_edges_are_in_units_of_the_column():
    """Given edges, values on an edge belong to the bin below; a constant column is one bin."""
    age, p, y = [20, 40, 40.5, 60], [0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1]
    table = reliability_table(p, y, edges=[20, 40, 60], bin_by=age)
    assert table.n.tolist() == [2, 2]
    assert table.edges.tolist() == [[20, 40], [40, 60]]
    assert reliability_table(p, y, bin_by=[7, 7, 7, 7]).n.tolist() == [4]
    assert expected_calibration_error(p, y, bin_by=[7, 7, 7, 7]) == pytest.approx(abs(0.25 - 0.5))
    assert expected_calibration_error(p, y, bin_by=p) == pytest.approx(0.45)  # of equal width between 0.1 and 0.4


def test_inference():
    """The interval holds the error in the population, and chance is simulated in the same bins."""
    options = {"bin_by": AGE, "n_bins": 5, "strategy": "quantile"}
    found = interval("ece", P, Y, options=options, random_state=0)
    assert found.method == "inversion"
    assert 0 < found.low < found.value < found.high
    right = RNG.random(N) < P
    assert interval("ece", P, right, options=options, random_state=0).low == 0
    assert noise_floor("ece", P, right, options=options, random_state=0).p_value > 0.05
    assert noise_floor("ece", P, Y, options=options, random_state=0).p_value < 0.01
    assert interval("ece", P, Y, options=options, method="percentile", random_state=0).value == found.value


def test_rows_drawn_again_are_refused():
    """A column that no longer belongs to the rows would give a wrong number without a word."""
    clusters = np.arange(N) % 40
    for method in ("auto", "percentile"):
        with pytest.raises(InputError, match="bin_by"):
            interval("ece", P, Y, options={"bin_by": AGE}, clusters=clusters, method=method, random_state=0)
    with pytest.raises(InputError, match="bin_by makes bins of another column"):
        compare(P, np.full(N, 0.5), Y, metric="ece", options={"bin_by": AGE}, random_state=0)
    with pytest.raises(InputError, match="bin_by"):
        noise_floor("ece", MATRIX, LABELS, options={"bin_by": AGE, "notion": "classwise"}, random_state=0)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (AGE[:-1], r"bin_by must have one number for each of the 400 rows .* got shape \(399,\)"),
        (np.where(np.arange(N) == 7, np.nan, AGE), "bin_by must be finite, got NaN .missing. at row 7"),
        (["young"] * N, "bin_by must be numbers"),
        (AGE[:, None], r"got shape \(400, 1\)"),
    ],
)
def test_bad_columns(column, said):
    """One number per row."""
    with pytest.raises(InputError, match=said):
        reliability_table(P, Y, bin_by=column)


def test_other_refusals():
    """A statistic has its bins; edges must cover the column; other libraries have no such bins."""
    data = Predictions(P, Y)
    for statistic in (BinStats.of(data), Summary.of(data)):
        with pytest.raises(UndefinedError, match="bin_by needs the predictions: a statistic has its own bins"):
            expected_calibration_error(statistic, bin_by=AGE)
    with pytest.raises(InputError, match="edges must cover all values of bin_by, got .* at row"):
        reliability_table(P, Y, bin_by=AGE, edges=[30, 100])
    with pytest.raises(InputError, match="edges must be at least two numbers that increase"):
        reliability_table(P, Y, bin_by=AGE, edges=[18, 18, 90])
    with pytest.raises(InputError, match="takes n_bins, strategy and norm, not bin_by"):
        expected_calibration_error(P, Y, bin_by=AGE, convention="torchmetrics")


def test_the_index_must_match():
    """Pandas columns pair by position, so an index in another order is an error."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"p": P, "y": Y, "age": AGE})
    same = reliability_table(frame["p"], frame["y"], bin_by=frame["age"])
    assert same.n.tolist() == reliability_table(P, Y, bin_by=AGE).n.tolist()
    with pytest.raises(InputError, match="the indexes of predictions and bin_by differ"):
        reliability_table(frame["p"], frame["y"], bin_by=frame["age"][::-1])
