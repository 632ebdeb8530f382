"""Maps of reranking scores: each query is mapped by what the others say."""

from __future__ import annotations

import numpy as np
import pytest

from believable.errors import InputError
from believable.recalibrate import PlattScaling
from believable.recalibrate.reranking import GRADE_NAMES, RankedScores, map_to_grades, map_to_relevance

N_QUERIES, PER_QUERY = 5, 40


def ranked(seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=N_QUERIES * PER_QUERY)
    queries = np.repeat([f"q{k}" for k in range(N_QUERIES)], PER_QUERY).astype(object)
    relevant = rng.random(len(scores)) < 1 / (1 + np.exp(-scores))
    grades = relevant.astype(int) * (1 + (rng.random(len(scores)) < 0.4))
    return RankedScores(scores, queries), relevant, grades


def literal(given, happened):
    """With as many folds as queries: the map of all other queries, query by query."""
    p = np.empty(len(given.scores))
    for query in set(given.queries):
        here = given.queries == query
        p[here] = PlattScaling(input="scores").fit(given.scores[~here], happened[~here]).transform(given.scores[here])
    return p


def test_relevance_is_mapped_by_the_other_queries():
    """Five queries make five folds."""
    given, relevant, _ = ranked()
    predictions, notes, alias = map_to_relevance(given, relevant)
    assert alias == "platt"
    np.testing.assert_allclose(predictions.scores, literal(given, relevant), rtol=0, atol=1e-12)
    assert "Raw scores are not probabilities, so a calibration map was fitted first" in notes[0]
    assert "Fitted on all 200 documents of 5 queries: PlattScaling" in notes[0]


def test_grades_are_the_differences_of_two_maps():
    """Grade 1 or above, and grade 2 or above, which is at most as likely."""
    given, _, grades = ranked()
    predictions, *_ = map_to_grades(given, grades)
    first, second = literal(given, grades >= 1), literal(given, grades >= 2)
    second = np.minimum(first, second)
    np.testing.assert_allclose(
        predictions.scores, np.column_stack([1 - first, first - second, second]), rtol=0, atol=1e-12
    )
    assert predictions.classes == GRADE_NAMES


@pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")  # few rows have the rarest grades
@pytest.mark.parametrize("levels", [[0, 1, 2, 3], [0, 1, 3], [1, 2, 4], list(range(10)), [*range(11), 20]], ids=str)
def test_every_grade_is_a_class(levels):
    """Up to ten grades keep apart, whatever their numbers; more than ten share the last class."""
    given, _, _ = ranked()
    rng = np.random.default_rng(1)
    place = np.clip(
        np.rint((given.scores + rng.normal(0, 1, len(given.scores)) + 2) / 4 * len(levels)), 0, len(levels) - 1
    )
    grades = np.array(levels)[place.astype(int)]
    assert set(grades) == set(levels)
    predictions, notes, _ = map_to_grades(given, grades)
    kept = levels[:10]
    reached = [np.ones(len(grades))]
    for level in kept[1:]:
        reached.append(np.minimum(reached[-1], literal(given, grades >= level)))
        assert f"grade {level} or above: PlattScaling" in notes[0]
    expected = np.column_stack([one - two for one, two in zip(reached, [*reached[1:], 0 * reached[0]], strict=True)])
    np.testing.assert_allclose(predictions.scores, expected, rtol=0, atol=1e-12)
    last = "grade 9 or above" if len(levels) > 10 else f"grade {levels[-1]}"
    assert predictions.classes == (*(f"grade {level}" for level in kept[:-1]), last)
    for k, level in enumerate(kept[:-1]):
        assert np.array_equal(predictions.labels == k, grades == level)


def test_fewer_than_three_grades():
    """Relevant or not is the other function."""
    given, relevant, _ = ranked()
    with pytest.raises(InputError, match="needs at least three grades, got 0 and 3: leave out graded=True"):
        map_to_grades(given, 3 * relevant.astype(int))


def test_one_query_is_too_few():
    """There would be nothing to judge its map on."""
    given, relevant, grades = ranked()
    alone = RankedScores(given.scores, np.array(["q"] * len(given.scores), object))
    for learn in (lambda: map_to_relevance(alone, relevant), lambda: map_to_grades(alone, grades)):
        with pytest.raises(InputError, match="it needs at least two judged queries"):
            learn()
