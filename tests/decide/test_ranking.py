"""Risk-aware ranking: being unsure counts against a row, or for it."""

from __future__ import annotations

import numpy as np
import pytest

from believable import Predictions, risk_aware_rank
from believable.errors import InputError
from believable.recalibrate import VennAbers

RNG = np.random.default_rng(0)
S = RNG.random(60).round(2)
LOW, HIGH = S - 0.3 * RNG.random(60), S + 0.3 * RNG.random(60)
V = RNG.gamma(1, 0.02, 60)


def literal(scores, aversion, variance=None, low=None, high=None):
    """Adjusted scores one by one, and rows by the highest first, earlier rows first in ties."""
    adjusted = []
    for i, s in enumerate(scores):
        if variance is not None:
            adjusted.append(s - aversion * variance[i] ** 0.5)
        elif aversion >= 0:
            adjusted.append(s - aversion * (s - low[i]))
        else:
            adjusted.append(s - aversion * (high[i] - s))
    return adjusted, sorted(range(len(scores)), key=lambda i: -adjusted[i])


@pytest.mark.parametrize("aversion", [0.0, 0.4, 1.0, 2.5, -1.0])
def test_the_definition(aversion):
    """Adjusted scores and order are those of the loop, with a variance and with intervals."""
    adjusted, order = literal(S, aversion, variance=V)
    found = risk_aware_rank(S, variance=V, aversion=aversion)
    assert found.adjusted == pytest.approx(adjusted, abs=1e-12)
    assert found.order.tolist() == order
    adjusted, order = literal(S, aversion, low=LOW, high=HIGH)
    found = risk_aware_rank(S, interval=(LOW, HIGH), aversion=aversion)
    assert found.adjusted == pytest.approx(adjusted, abs=1e-12)
    assert [S[i] for i in found.order] == [S[i] for i in order] if aversion == 0 else found.order.tolist() == order


def test_ranks_are_places():
    """rank[order] counts from 1; without aversion it is the plain rank."""
    found = risk_aware_rank(S, variance=V)
    assert found.rank[found.order].tolist() == list(range(1, 61))
    plain = risk_aware_rank(S, variance=V, aversion=0)
    assert plain.rank.tolist() == plain.plain_rank.tolist() == found.plain_rank.tolist()


def test_ties_keep_their_order():
    """Equal scores stay as given; equal lower ends too, whatever the scores are."""
    assert risk_aware_rank([0.5, 0.5, 0.9, 0.5], variance=[0] * 4).order.tolist() == [2, 0, 1, 3]
    scores = np.array([0.31, 0.77, 0.5, 0.93])
    found = risk_aware_rank(scores, interval=(np.full(4, 0.3), np.ones(4)))
    assert found.order.tolist() == [0, 1, 2, 3]
    assert found.adjusted.tolist() == [0.3] * 4


def test_queries_are_ranked_apart():
    """With groups each query is ranked by itself, in the order in which queries appear."""
    query = np.array(["b", "a", "b", "c", "a", "b"])
    scores = [0.1, 0.2, 0.9, 0.5, 0.8, 0.4]
    found = risk_aware_rank(scores, variance=[0] * 6, clusters=query)
    assert found.order.tolist() == [2, 5, 0, 4, 1, 3]
    assert found.rank.tolist() == [3, 2, 1, 1, 1, 2]
    assert found.query.tolist() == [0, 1, 0, 2, 1, 0]
    for name in "abc":
        rows = np.flatnonzero(query == name)
        alone = risk_aware_rank(np.array(scores)[rows], variance=np.zeros(len(rows)))
        assert found.rank[rows].tolist() == alone.rank.tolist()
    as_objects = risk_aware_rank(scores, variance=[0] * 6, clusters=query.astype(object))
    assert as_objects.order.tolist() == found.order.tolist()


def test_intervals_of_venn_abers_are_taken_as_they_come():
    """predict_interval and transform of one fitted map go together; at aversion 1 the lower end ranks."""
    rng = np.random.default_rng(0)
    p = rng.random(300)
    model = VennAbers().fit(p, rng.random(300) < p)
    new = rng.random(100).astype(np.float32)
    ends = model.predict_interval(new)
    found = risk_aware_rank(model.transform(new), interval=ends)
    assert found.adjusted.tolist() == ends[:, 0].tolist()
    tuple_form = risk_aware_rank(model.transform(new), interval=(ends[:, 0], ends[:, 1]))
    assert tuple_form.order.tolist() == found.order.tolist()


def test_one_row_and_predictions():
    """One row is first; a `Predictions` brings its scores."""
    assert risk_aware_rank([0.3], variance=[0.1]).order.tolist() == [0]
    found = risk_aware_rank(Predictions(S, S > 0.5), variance=V)
    assert found.order.tolist() == risk_aware_rank(S, variance=V).order.tolist()


def test_fewer_bad_surprises_in_the_top():
    """Where scores are noisy to different degrees, the averse top holds fewer bad rows, the explorative one no fewer."""
    bad = dict.fromkeys((-1, 0, 1, 2), 0)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        truth = rng.normal(0.5, 0.15, 4000)
        deviation = rng.choice([0.02, 0.3], 4000)
        scores = truth + deviation * rng.normal(size=4000)
        for aversion in bad:
            top = risk_aware_rank(scores, variance=deviation**2, aversion=aversion).order[:100]
            bad[aversion] += int(np.sum(truth[top] < 0.6))
    assert bad[2] < bad[1] / 3
    assert bad[1] < 0.8 * bad[0]
    assert bad[0] <= bad[-1]
    assert bad[0] > 300


def test_sentence():
    """It says how many rows moved, and whether another one is first."""
    words = str(risk_aware_rank([0.9, 0.8, 0.5], interval=([0.4, 0.7, 0.1], [1.0, 0.9, 0.55])))
    assert words == ("3 rows ranked by score and interval, aversion 1: 2 rows change rank, and the top row changes.")
    words = str(risk_aware_rank([0.9, 0.8], variance=[0, 0], clusters=["x", "y"]))
    assert words == (
        "2 rows in 2 queries ranked by score and standard deviation, aversion 1: 0 rows change rank, and the top row "
        "changes in 0 queries."
    )


def test_bad_input_is_refused():
    """What is missing, twice there, out of shape or upside down."""
    three = [0.1, 0.2, 0.3]
    refused = {
        "exactly one of variance and interval": {},
        "must be one number per row, 3 of them": {"variance": [0.1]},
        "variance must not be negative, got -1 at row 1": {"variance": [0, -1, 0]},
        "a tuple of 3": {"interval": (three, three, three)},
        r"got shape \(3,\)": {"interval": three},
        "two ends for each of 3 rows": {"interval": ([0.1], [0.2])},
        "low end first, got 0.3 and 0.2 at row 2": {"interval": ([0, 0, 0.3], [1, 1, 0.2])},
        "the score 0.1 at row 0 lies outside its interval 0.4 to 0.5": {"interval": ([0.4, 0, 0], [0.5, 1, 1])},
        "interval must be finite": {"interval": ([0, 0, np.nan], [1, 1, 1])},
        "one query per row": {"variance": [0, 0, 0], "clusters": ["a"]},
        "missing at row 1": {"variance": [0, 0, 0], "clusters": ["a", None, "b"]},
        "aversion must be a number": {"variance": [0, 0, 0], "aversion": float("inf")},
    }
    for words, choices in refused.items():
        with pytest.raises(InputError, match=words):
            risk_aware_rank(three, **choices)
    with pytest.raises(InputError, match="exactly one of"):
        risk_aware_rank(three, variance=three, interval=(three, three))
    with pytest.raises(InputError, match="the column of one class"):
        risk_aware_rank(np.full((2, 2), 0.5), variance=[0, 0])
    with pytest.raises(InputError, match="empty"):
        risk_aware_rank([], variance=[])
