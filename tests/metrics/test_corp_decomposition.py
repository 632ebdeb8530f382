"""The CORP decomposition against its literal definition."""

import math
from fractions import Fraction
from math import fsum

import numpy as np
import pytest

from believable import CellStats, Predictions, brier_score, corp_decomposition, negative_log_likelihood
from believable.errors import InputError
from tests.metrics.literal import BINARY, MATRIX, MULTILABEL, SOFT, choices, close, mean, over, pairs


def pooled(rows):
    """Score to isotonic rate: blocks of distinct scores, pooled in exact fractions while they decrease."""
    blocks = []
    for score in sorted({p for p, _, _ in rows}):
        here = [(y, w) for p, y, w in rows if p == score]
        blocks.append([[score], sum(Fraction(w) * Fraction(y) for y, w in here), sum(Fraction(w) for _, w in here)])
        while len(blocks) > 1 and blocks[-2][1] * blocks[-1][2] >= blocks[-1][1] * blocks[-2][2]:
            scores, wy, w = blocks.pop()
            blocks[-1] = [blocks[-1][0] + scores, blocks[-1][1] + wy, blocks[-1][2] + w]
    return {score: float(wy / w) for scores, wy, w in blocks for score in scores}


def cost(kind, p, y):
    if kind == "brier":
        return (p - y) ** 2
    happened = p if y == 1 else 1 - p
    return -math.log(happened) if happened > 0 else math.inf


def literal(rows, kind):
    total = fsum(w for _, _, w in rows)
    rate = fsum(w * y for _, y, w in rows) / total
    q = pooled(rows)
    own, recalibrated, base = (
        fsum(w * cost(kind, forecast(p), y) for p, y, w in rows) / total
        for forecast in (lambda p: p, lambda p: q[p], lambda p: rate)
    )
    return own - recalibrated, base - recalibrated, base, own


def parts(found):
    return found.mcb, found.dsc, found.unc, found.score


@over(BINARY, SOFT)
@pytest.mark.parametrize("score", ["brier", "log"])
def test_definition(ask, data, score):
    """MCB = S(p) - S(q), DSC = S(r) - S(q), UNC = S(r); the score is their sum."""
    found = ask(corp_decomposition, data, score=score)
    assert parts(found) == pytest.approx(literal(pairs(data)[0], score), rel=1e-11, abs=1e-14)
    assert min(found.mcb, found.dsc, found.unc) >= 0
    assert found.mcb - found.dsc + found.unc == pytest.approx(found.score, rel=1e-12, abs=1e-15)
    whole = ask(brier_score if score == "brier" else negative_log_likelihood, data)
    assert found.score == close(whole)


@over(MATRIX, MULTILABEL)
@pytest.mark.parametrize("score", ["brier", "log"])
@choices({}, {"notion": "classwise"}, {"notion": "top_label"}, {"notion": "top_r", "r": 2}, name="view")
def test_groups(ask, data, score, view):
    """Groups kept apart are split one by one; the result is their mean."""
    if data.kind == "multilabel" and view.get("notion") not in (None, "classwise"):
        return
    groups = [group for group in pairs(data, **view) if group]
    values = [literal(group, score) for group in groups]
    weights = [fsum(w for _, _, w in group) for group in groups]
    expected = [mean([(value[i], w) for value, w in zip(values, weights, strict=True)]) for i in range(4)]
    found = ask(corp_decomposition, data, score=score, **view)
    assert parts(found) == pytest.approx(expected, rel=1e-10, abs=1e-14)


def test_by_hand():
    """Five rows, worked on paper: the isotonic rates are 0, 1/2, 1/2, 1, 1."""
    found = corp_decomposition([0.1, 0.2, 0.3, 0.4, 0.9], [0, 1, 0, 1, 1])
    assert parts(found) == close((0.122, 0.14, 0.24, 0.222))


def test_a_certain_mistake_is_infinite():
    """A probability of 0 for what happened makes the log score, and the miscalibration, infinite."""
    found = corp_decomposition([0.0, 0.5, 1.0], [1, 0, 1], score="log")
    assert found.mcb == found.score == math.inf
    assert math.isfinite(found.dsc)
    assert math.isfinite(found.unc)


@pytest.mark.parametrize("score", ["brier", "log"])
def test_limits(score):
    """One class only has no uncertainty, a constant no discrimination, and perfect scores neither error nor doubt."""
    assert corp_decomposition([0.2, 0.7], [1, 1], score=score).unc == 0
    assert corp_decomposition([0.3, 0.3, 0.3], [1, 0, 0], score=score).dsc == 0
    perfect = corp_decomposition([0.0, 1.0, 1.0], [0, 1, 1], score=score)
    assert (perfect.mcb, perfect.score) == (0, 0)
    assert perfect.dsc == perfect.unc > 0
    single = corp_decomposition([0.7], [1], score=score)
    assert (single.dsc, single.unc) == (0, 0)


def test_cells():
    """On a grid that holds the scores cells give the parts of the data."""
    data = BINARY["ties and weights"]
    checked = Predictions(data.scores, data.labels, sample_weight=data.weights)
    for score in ("brier", "log"):
        assert parts(corp_decomposition(CellStats.of(checked), score=score)) == close(
            parts(corp_decomposition(checked, score=score))
        )


def test_recalibration_is_the_identity_on_itself():
    """Isotonic scores have no miscalibration."""
    rng = np.random.default_rng(3)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    q = pooled([(a, b, 1.0) for a, b in zip(p.tolist(), y.tolist(), strict=True)])
    found = corp_decomposition([q[a] for a in p.tolist()], y, score="log")
    assert found.mcb == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("light", [1e-5, 1e-15, 1e-17, 1e-40, 1e-100])
def test_light_rows_have_their_doubt(light):
    """A rate that rounds to 1 is no certainty: its log score is that of the two masses."""
    doubt = (math.log1p(light) + light * math.log1p(1 / light)) / (1 + light)
    pooled = corp_decomposition([0.1, 0.3], [1, 0], score="log", sample_weight=[1, light])
    own = (-math.log(0.1) - light * math.log(0.7)) / (1 + light)
    assert parts(pooled) == pytest.approx((own - doubt, 0, doubt, own), rel=1e-12)
    apart = corp_decomposition([0.1, 0.3], [0, 1], score="log", sample_weight=[light, 1])
    own = (-math.log(0.3) - light * math.log(0.9)) / (1 + light)
    assert parts(apart) == pytest.approx((own, doubt, doubt, own), rel=1e-12)


@pytest.mark.parametrize("score", ["brier", "log"])
@pytest.mark.parametrize("seed", range(20))
def test_the_parts_add_up_under_unequal_weights(score, seed):
    """The score is mcb - dsc + unc, and no part is negative, whatever rows weigh."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    found = corp_decomposition(
        np.round(rng.uniform(0.01, 0.99, n), 2),
        rng.integers(0, 2, n),
        score=score,
        sample_weight=10.0 ** rng.uniform(-40, 40, n),
    )
    assert min(parts(found)) >= 0
    assert found.mcb - found.dsc + found.unc == pytest.approx(found.score, rel=1e-12)


def test_refusals():
    """There are two scores."""
    with pytest.raises(InputError, match="score must be one of 'brier', 'log'"):
        corp_decomposition([0.1], [1], score="crps")
