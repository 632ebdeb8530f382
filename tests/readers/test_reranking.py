"""Rerankers: scores become probabilities by a door that was named, and the notes say how."""

from __future__ import annotations

import re

import numpy as np
import pytest

from believable import audit, expected_calibration_error, noise_floor
from believable.errors import InputError
from believable.inference import interval
from believable.readers import load_run
from believable.recalibrate import PlattScaling
from believable.recalibrate.reranking import GRADE_NAMES


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def simulate(folder, score, *, n_queries=120, depth=40, spread=0.0, judged=0.7, seed=0):
    """A reranker that knows z, where P(grade >= 1) = sigmoid(z + s) and P(grade >= 2) = sigmoid(z + s - 1.5).

    s differs by query, with standard deviation `spread`; the run holds score(z), and some documents are not judged.
    """
    rng = np.random.default_rng(seed)
    run, qrels = [], []
    for query in range(n_queries):
        shift = spread * rng.normal()
        z, u = rng.normal(-1, 1.5, depth), rng.random(depth)
        grade = (u < sigmoid(z + shift)).astype(int) + (u < sigmoid(z + shift - 1.5))
        for k in range(depth):
            run.append(f"q{query} Q0 d{k} {k + 1} {float(score(z[k]))} sim")
            if rng.random() < judged:
                qrels.append(f"q{query} 0 d{k} {grade[k]}")
    (folder / "run.trec").write_text("\n".join(run))
    (folder / "qrels.txt").write_text("\n".join(qrels))
    return folder / "run.trec", folder / "qrels.txt"


def write(folder, run, qrels):
    (folder / "run.trec").write_text(run)
    (folder / "qrels.txt").write_text(qrels)
    return folder / "run.trec", folder / "qrels.txt"


def cannot_be_told_from_perfect(predictions):
    return noise_floor("expected_calibration_error", predictions, n_resamples=500, random_state=0).p_value > 0.01


def literal_logistic(x, y):
    """Slope and intercept that maximise the likelihood, by Newton's steps on the standardised score."""
    mean, scale = x.mean(), x.std()
    design = np.column_stack([(x - mean) / scale, np.ones(len(x))])
    beta = np.zeros(2)
    for _ in range(50):
        p = sigmoid(design @ beta)
        beta += np.linalg.solve(design.T @ (design * (p * (1 - p))[:, None]), design.T @ (y - p))
    return beta[0] / scale, beta[1] - beta[0] * mean / scale


def test_one_query_is_no_cluster(tmp_path):
    """Clusters vary only if there are two; a lone query is said in a note, and its documents are independent."""
    paths = write(tmp_path, "q1 Q0 a 1 0.9 x\nq1 Q0 b 2 0.4 x\n", "q1 0 a 1\nq1 0 b 0\n")
    loaded = load_run(*paths)
    assert loaded.clusters is None
    assert loaded.taken == "scores of run.trec as probabilities, relevant from grade 1 in qrels.txt"
    assert loaded.notes[-1] == "all documents belong to one query, and are treated as independent"
    assert audit(loaded, fix=False).n_clusters is None


def test_probabilities_are_taken_as_they_are(tmp_path):
    """Scores, relevance and queries of the judged documents, in the order of the run."""
    paths = write(
        tmp_path,
        "q1 Q0 a 1 0.9 x\nq1 Q0 b 2 0.4 x\nq2 Q0 a 1 1 x\nq2 Q0 c 2 0 x\nq2 Q0 d 3 0 x\n",
        "q1 0 a 2\nq1 0 b 1\nq2 0 a 1\nq2 0 c 0\nq2 0 d -1\n",
    )
    loaded = load_run(*paths, rel=2)
    assert loaded.predictions.scores.tolist() == [0.9, 0.4, 1.0, 0.0]
    assert loaded.predictions.labels.tolist() == [1, 0, 0, 0]
    assert loaded.clusters.tolist() == ["q1", "q1", "q2", "q2"]
    assert loaded.dropped == {"negative grade": 1}
    assert loaded.title == "run.trec"
    assert loaded.taken == "scores of run.trec as probabilities, relevant from grade 2 in qrels.txt, clusters by query"
    assert loaded.notes[0] == (
        "Mean score by grade, as in the run: grade 0: 1 document, mean 0; grade 1: 2 documents, mean 0.7; grade 2: 1 "
        "document, mean 0.9."
    )
    assert loaded.notes[1].startswith("The results apply to judged documents.")


def test_a_single_logit_is_a_sigmoid(tmp_path):
    """One logit per document stands for its odds; there is nothing to sum over."""
    plain = load_run(*simulate(tmp_path, sigmoid, n_queries=5))
    logits = load_run(*simulate(tmp_path, lambda z: z, n_queries=5), scores="logits")
    assert np.allclose(logits.predictions.scores, plain.predictions.scores, rtol=1e-12)
    assert np.allclose(sigmoid(logits.raw), plain.predictions.scores, rtol=1e-12)
    assert plain.raw is None


@pytest.mark.parametrize(("score", "door"), [(sigmoid, "probabilities"), (lambda z: z, "logits"), (lambda z: 20 + 7 * z, "raw")])  # fmt: skip
def test_a_calibrated_reranker_is_found_to_be(tmp_path, score, door):
    """Probabilities, logits and mapped raw scores of a reranker that knows the truth cannot be told from perfect."""
    loaded = load_run(*simulate(tmp_path, score), scores=door)
    assert cannot_be_told_from_perfect(loaded.predictions)


def test_an_over_confident_reranker_is_found_out(tmp_path):
    """Logits twice too large are not calibrated."""
    loaded = load_run(*simulate(tmp_path, lambda z: 2 * z), scores="logits")
    assert not cannot_be_told_from_perfect(loaded.predictions)


def test_the_map_of_raw_scores(tmp_path):
    """It is a logistic regression on the score, the note has its numbers, and where it ends up is near the truth."""
    loaded = load_run(*simulate(tmp_path, lambda z: 20 + 7 * z, judged=1.0), scores="raw")
    z = (np.array([float(line.split()[4]) for line in (tmp_path / "run.trec").read_text().splitlines()]) - 20) / 7
    slope, intercept = literal_logistic(20 + 7 * z, loaded.predictions.labels)
    assert f"PlattScaling (slope {slope:.4g}, intercept {intercept:.4g})" in loaded.notes[0]
    assert "Fitted on all 4,800 documents of 120 queries" in loaded.notes[0]
    assert np.abs(loaded.predictions.scores - sigmoid(z)).max() < 0.05


def test_no_query_is_mapped_by_what_it_says(tmp_path):
    """With the labels of one query turned round its own mapped scores stay the same to the last digit."""
    run, qrels = simulate(tmp_path, lambda z: 20 + 7 * z, n_queries=10, judged=1.0)
    lines = qrels.read_text().splitlines()
    before = load_run(run, qrels, scores="raw", random_state=0)
    rows = before.clusters == "q3"
    grades = sorted(int(line.split()[3]) for line in lines if line.startswith("q3 "))
    turned = iter(grades)  # the same grades for other documents: the folds are dealt by how many there are
    qrels.write_text("\n".join(f"{line[:-1]}{next(turned)}" if line.startswith("q3 ") else line for line in lines))
    after = load_run(run, qrels, scores="raw", random_state=0)
    assert not np.array_equal(before.predictions.labels[rows], after.predictions.labels[rows])
    assert np.array_equal(before.predictions.scores[rows], after.predictions.scores[rows])
    assert not np.array_equal(before.predictions.scores, after.predictions.scores)


@pytest.mark.parametrize("method", ["isotonic", "venn_abers", "histogram", "auto", PlattScaling(input="scores")])
def test_other_maps(tmp_path, method):
    """Any method for scores can be the map, and is named."""
    loaded = load_run(*simulate(tmp_path, lambda z: 20 + 7 * z, n_queries=60), scores="raw", method=method)
    assert expected_calibration_error(loaded.predictions) < 0.05
    assert re.search(r"PlattScaling|Platt scaling|Isotonic|VennAbers|Histogram", loaded.notes[0])


def test_what_the_scores_went_through_is_said(tmp_path):
    """`scaled` names the map of raw or graded scores; scores that are taken as they are went through none."""
    raw = simulate(tmp_path, lambda z: 20 + 7 * z, n_queries=60)
    assert load_run(*raw, scores="raw").scaled == "after Platt scaling"
    assert load_run(*raw, scores="raw", method="isotonic").scaled == "after isotonic regression"
    assert load_run(*raw, scores="raw", method="auto").scaled == "after averaged calibration"
    assert load_run(*raw, scores="raw", graded=True).scaled == "after Platt scaling"
    noise = simulate(tmp_path, lambda z: 0.0 * z + 1 + hash(float(z)) % 1000, n_queries=60)
    assert load_run(*noise, scores="raw", method="auto").scaled == "after replacing every score by the base rate"
    assert load_run(*simulate(tmp_path, sigmoid, n_queries=20)).scaled == ""
    assert load_run(*simulate(tmp_path, lambda z: z, n_queries=20), scores="logits").scaled == ""


def test_grades_are_classes(tmp_path):
    """Three columns that sum to one, near the truth for each grade, from probabilities, logits or raw scores alike."""
    found = []
    for score, door in ((sigmoid, "probabilities"), (lambda z: z, "logits"), (lambda z: 20 + 7 * z, "raw")):
        loaded = load_run(*simulate(tmp_path, score, judged=1.0), scores=door, graded=True)
        found.append(loaded.predictions)
    predictions = found[0]
    assert predictions.classes == GRADE_NAMES
    assert np.allclose(predictions.scores.sum(axis=1), 1, rtol=1e-12)
    assert predictions.scores.min() >= 0
    z = np.array([float(line.split()[4]) for line in (tmp_path / "run.trec").read_text().splitlines()])
    z = (z - 20) / 7
    truth = np.column_stack([1 - sigmoid(z), sigmoid(z) - sigmoid(z - 1.5), sigmoid(z - 1.5)])
    assert np.abs(predictions.scores - truth).max() < 0.06
    assert cannot_be_told_from_perfect(predictions)
    for other in found[1:]:
        assert np.allclose(other.scores, predictions.scores, atol=1e-6)
    assert "grade 1 or above: PlattScaling (slope" in loaded.notes[0]
    assert "grade 2 or above: PlattScaling (slope" in loaded.notes[0]


def test_maps_that_cross(tmp_path):
    """Where the chance of a high grade would exceed that of any grade it is lowered, and the note says how often."""
    rng = np.random.default_rng(5)
    run, qrels = [], []
    for query in range(40):
        for k in range(20):
            z = rng.normal()
            grade = 2 if rng.random() < sigmoid(4 * z - 1) else int(rng.random() < 0.1)
            run.append(f"q{query} Q0 d{k} {k + 1} {z:.5f} x")
            qrels.append(f"q{query} 0 d{k} {grade}")
    loaded = load_run(*write(tmp_path, "\n".join(run), "\n".join(qrels)), scores="raw", graded=True)
    crossing = [
        note for note in loaded.notes if "the probability of grade 2 or above exceeded that of grade 1 or above" in note
    ]
    assert (loaded.predictions.scores >= 0).all()
    assert len(crossing) == int((loaded.predictions.scores[:, 1] == 0).any())
    assert crossing


def test_queries_that_differ_widen_the_interval(tmp_path):
    """Documents of one query share its luck: with clusters the interval is half as wide again, or more."""
    loaded = load_run(*simulate(tmp_path, sigmoid, spread=2.0))
    alone = interval("brier_score", loaded.predictions, random_state=0)
    together = interval("brier_score", loaded.predictions, clusters=loaded.clusters, random_state=0)
    assert together.high - together.low > 1.5 * (alone.high - alone.low)


def test_unjudged_documents_as_not_relevant(tmp_path):
    """They are kept, and the note says what that does."""
    paths = simulate(tmp_path, sigmoid, n_queries=20)
    loaded = load_run(*paths, unjudged="not relevant")
    assert len(loaded.predictions) == 800
    assert any("were counted as not relevant: if some are relevant, the scores look too high" in note for note in loaded.notes)  # fmt: skip
    assert expected_calibration_error(loaded.predictions) > expected_calibration_error(load_run(*paths).predictions)


def test_what_is_in_one_file_only_is_said(tmp_path):
    """Queries without judgements, and judged documents that were not retrieved."""
    paths = write(tmp_path, "q1 Q0 a 1 0.9 x\nq2 Q0 a 1 0.8 x\nq3 Q0 a 1 0.7 x\n", "q1 0 a 1\nq1 0 b 1\nq2 0 z 1\nq9 0 a 1\n")  # fmt: skip
    notes = load_run(*paths).notes
    assert "Of the queries in the run, 1 have no judgements, and 1 more have none of a retrieved document." in notes
    assert "Judged but not in the run: 2 documents of its queries, and 1 whole queries." in notes


def test_distances_are_noticed(tmp_path):
    """Where relevant documents score lower the note asks."""
    loaded = load_run(*simulate(tmp_path, lambda z: -z, n_queries=30), scores="raw")
    assert any("Relevant documents score lower on average than the others: are these distances?" in note for note in loaded.notes)  # fmt: skip


def test_what_a_map_warns_of_is_a_note(tmp_path):
    """Few relevant documents make a rough map, and that is said in the report."""
    run = "".join(f"q{q} Q0 d{k} {k + 1} {k + q / 10} x\n" for q in range(4) for k in range(4))
    qrels = "".join(f"q{q} 0 d{k} {int(k + q > 4)}\n" for q in range(4) for k in range(4))
    loaded = load_run(*write(tmp_path, run, qrels), scores="raw")
    assert "So few queries say little about a new one." in loaded.notes[0]
    assert any(note.startswith("While fitting the calibration map: ") for note in loaded.notes)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "run.trec: scores that are probabilities must lie in [0, 1], got 3 for document 'a' of query 'q1'; pass scores='logits' if they are log-odds; for any other scores, pass scores='raw', which fits a calibration map first"),
        ({"scores": "softmax"}, "scores must be one of 'probabilities', 'logits', 'raw', got 'softmax'"),
        ({"scores": "raw"}, "run.trec: a calibration map is fitted on some queries and judged on others, so it needs at least two"),
        ({"scores": "raw", "graded": True}, "run.trec: graded relevance needs at least three grades, got 0 and 1: leave out graded=True"),
        ({"scores": "logits", "graded": True, "rel": 2}, "graded=True has its own classes, one for each grade: leave out rel=2"),
        ({"scores": "raw", "graded": True, "method": "auto"}, "method='auto' is for one event"),
    ],
    ids=["numbers", "door", "one query", "two grades", "rel", "auto"],
)  # fmt: skip
def test_bad_choices(tmp_path, options, sentence):
    """The sentence names the file and the other doors."""
    paths = write(tmp_path, "q1 Q0 a 1 3 x\nq1 Q0 b 2 0.5 x\n", "q1 0 a 1\nq1 0 b 0\n")
    with pytest.raises(InputError, match=re.escape(sentence)):
        load_run(*paths, **options)


def test_a_method_that_cannot_read_raw_scores(tmp_path):
    """Temperature scaling needs logits."""
    with pytest.raises(InputError, match=r"run\.trec: .*scores"):
        load_run(*simulate(tmp_path, lambda z: 20 + 7 * z, n_queries=10), scores="raw", method="temperature")
