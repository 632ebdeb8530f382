"""The Hosmer–Lemeshow test against its literal definition, against R, and against its level."""

import math
from math import fsum

import numpy as np
import pytest
from scipy.stats import chi2

from believable import BinStats, CellStats, Predictions, hosmer_lemeshow
from believable.errors import InputError, UndefinedError
from tests.metrics.literal import BINARY, MATRIX, Data, choices, over, pairs, quantile_ends

UNWEIGHTED = {name: data for name, data in BINARY.items() if data.weights is None}
UNWEIGHTED_MATRIX = {name: data for name, data in MATRIX.items() if data.weights is None}
ROW = np.arange(1, 61)
P = (37 * ROW) % 61 / 61
Y = ((29 * ROW) % 53 / 53 < P).astype(int)


def merged(groups):
    """Groups of (n, O, E), those with E = 0 joined to the next and those with E = n to the one before."""
    groups = list(groups)
    i = 0
    while len(groups) > 1 and i < len(groups):
        n, _, expected = groups[i]
        if 0 < expected < n:
            i += 1
            continue
        upwards = i == 0 or (expected == 0 and i < len(groups) - 1)
        first = i if upwards else i - 1
        groups[first : first + 2] = [tuple(map(sum, zip(*groups[first : first + 2], strict=True)))]
        i = 0
    return groups


def literal(data, n_groups, in_sample=False, **view):
    (rows,) = pairs(data, **view)
    ends = quantile_ends(rows, n_groups)
    groups = []
    for m in range(1, len(ends)):
        inside = [(p, y) for p, y, _ in rows if ends[m - 1] < p <= ends[m] or (m == 1 and p == 0)]
        if inside:
            groups.append((len(inside), sum(y for _, y in inside), fsum(p for p, _ in inside)))
    groups = merged(groups)
    statistic = 0.0
    for n, observed, expected in groups:
        variance = expected * (1 - expected / n)
        if variance > 0:
            statistic += (observed - expected) ** 2 / variance
        elif observed != expected:
            statistic = math.inf
    df = len(groups) - 2 * in_sample
    return statistic, df, chi2.sf(statistic, df) if df > 0 else None


@over(UNWEIGHTED)
@pytest.mark.parametrize("in_sample", [False, True])
@pytest.mark.parametrize("n_groups", [1, 3, 10, 30])
def test_definition(ask, data, n_groups, in_sample):
    """Sum of (O - E)^2 / (E (1 - E/n)) over quantile groups, with as many degrees of freedom, less 2 in sample."""
    statistic, df, p_value = literal(data, n_groups, in_sample)
    if df < 1:
        with pytest.raises(UndefinedError, match="needs more than 2 groups with in_sample=True"):
            ask(hosmer_lemeshow, data, n_groups=n_groups, in_sample=in_sample)
        return
    found = ask(hosmer_lemeshow, data, n_groups=n_groups, in_sample=in_sample)
    assert found.statistic == pytest.approx(statistic, rel=1e-9, abs=1e-12)
    assert (found.df, found.n) == (df, len(data.scores))
    assert found.p_value == pytest.approx(p_value, rel=1e-9, abs=1e-300)


@over(UNWEIGHTED_MATRIX)
@choices({}, {"notion": "rth", "r": 2}, {"notion": "within_top_r", "r": 2}, name="view")
def test_matrix(ask, data, view):
    """Of a matrix it is that of the confidences, or of another notion with one group."""
    statistic, df, p_value = literal(data, 10, **view)
    found = ask(hosmer_lemeshow, data, **view)
    assert found.statistic == pytest.approx(statistic, rel=1e-9, abs=1e-12)
    assert (found.df, found.p_value) == (df, pytest.approx(p_value, rel=1e-9))


@pytest.mark.parametrize(
    ("p", "y", "n_groups", "used", "statistic", "p_value"),
    [
        (P, Y, 10, 10, 5.6459417779005552, 0.6868227595696984),
        (P, Y, 7, 7, 2.00358700753437624, 0.84864848263385306),
        (np.maximum(np.round(P, 1), 0.1) * 0.9, Y, 8, 7, 5.63242536562563423, 0.46559795812468951),
        (np.where(ROW <= 20, 1 / 61, P), Y * (ROW > 20), 6, 4, 1.49249532032618326, 0.82796999059546139),
    ],
)
def test_type7_is_r(p, y, n_groups, used, statistic, p_value):
    """The statements of R's hoslem.test, run in R 4.2.2; with ties R keeps the degrees of freedom of all groups."""
    found = hosmer_lemeshow(p, y, n_groups=n_groups, groups="type7")
    assert found.statistic == pytest.approx(statistic, rel=1e-12)
    assert found.df == used
    assert chi2.sf(found.statistic, n_groups - 2) == pytest.approx(p_value, rel=1e-10)
    if used == n_groups:
        in_sample = hosmer_lemeshow(p, y, n_groups=n_groups, groups="type7", in_sample=True)
        assert in_sample.p_value == pytest.approx(p_value, rel=1e-10)


@pytest.mark.parametrize("groups", ["quantile", "type7"])
@pytest.mark.parametrize(
    ("p", "y", "statistic", "p_value"),
    [
        ([0.0, 0.0], [0, 0], 0.0, 1.0),
        ([0.0, 0.0], [0, 1], math.inf, 0.0),
        ([1.0, 1.0, 1.0], [1, 1, 1], 0.0, 1.0),
        ([1.0], [0], math.inf, 0.0),
        ([0.5], [1], 1.0, chi2.sf(1, 1)),
        ([0.0, 1.0], [1, 0], 0.0, 1.0),
    ],
)
def test_limits(groups, p, y, statistic, p_value):
    """Where nothing can vary the statistic is 0 or infinite; certain groups join a neighbour first."""
    found = hosmer_lemeshow(p, y, groups=groups)
    assert (found.statistic, found.df) == (statistic, 1)
    assert found.p_value == pytest.approx(p_value, rel=1e-12)


def test_merging():
    """Groups of certain scores join the group beside them."""
    p = [0.0] * 4 + [0.2] * 4 + [0.6] * 4 + [1.0] * 4
    y = [0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1]
    found = hosmer_lemeshow(p, y, n_groups=4)
    assert found.df == 2
    assert found.statistic == pytest.approx(0.04 / (0.8 * 0.9) + 0.36 / (6.4 * 0.2), rel=1e-12)


def test_cells():
    """On a grid that holds the scores cells give the test of the data; bins already made do not."""
    data = BINARY["ties"]
    checked = Predictions(data.scores, data.labels)
    found, expected = hosmer_lemeshow(CellStats.of(checked), n_groups=5), hosmer_lemeshow(checked, n_groups=5)
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-11)
    assert (found.df, found.n) == (expected.df, expected.n)
    with pytest.raises(UndefinedError, match="not a BinStats"):
        hosmer_lemeshow(BinStats.of(checked))


def test_refusals():
    """Weights, soft labels, several groups and unknown choices are errors."""
    weighted = Data(P, Y, np.arange(60) + 1.0)
    for call in (
        lambda: hosmer_lemeshow(P, Y, sample_weight=weighted.weights),
        lambda: hosmer_lemeshow(Predictions(P, Y, sample_weight=weighted.weights)),
        lambda: hosmer_lemeshow(CellStats.of(Predictions(P, Y, sample_weight=weighted.weights))),
    ):
        with pytest.raises(InputError, match="the Hosmer–Lemeshow test does not support weights: it counts rows"):
            call()
    with pytest.raises(InputError, match="it needs outcomes of 0 and 1, not soft labels"):
        hosmer_lemeshow(Predictions(P, P, soft_labels=True))
    with pytest.raises(UndefinedError, match="one set of scores, but there are 4"):
        hosmer_lemeshow(MATRIX["random"].scores, MATRIX["random"].labels, notion="classwise")
    with pytest.raises(InputError, match="groups must be one of 'quantile', 'type7'"):
        hosmer_lemeshow(P, Y, groups="deciles")
    with pytest.raises(InputError, match="n_groups must be an integer at least 1"):
        hosmer_lemeshow(P, Y, n_groups=0)


def test_size():
    """On external predictions it rejects 5 % at the level 5 %; less two degrees of freedom, about 11 %."""
    rng = np.random.default_rng(31)
    p = rng.beta(1, 2, 400)
    found = np.array([hosmer_lemeshow(p, rng.random(400) < p).statistic for _ in range(1500)])
    assert 0.037 <= np.mean(chi2.sf(found, 10) < 0.05) <= 0.066
    assert 0.09 <= np.mean(chi2.sf(found, 8) < 0.05) <= 0.14
