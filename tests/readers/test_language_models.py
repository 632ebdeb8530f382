"""Logs and answers of language models: probabilities of choices, stated confidences, and what is left out."""

from __future__ import annotations

import gzip
import json
import math
import re

import numpy as np
import pytest

from believable.errors import InputError
from believable.readers import is_lm_samples, load_samples
from believable.readers.logs.language_models import CONFIDENCE_NAMES, CORRECT_NAMES, percentage_in, states_confidences


def sample(doc_id, lls, target, *, choices=None, acc="right"):
    """A line as the harness writes it today: numbers as text, arguments as named pairs."""
    choices = choices or [f"choice {k}" for k in range(len(lls))]
    line = {
        "doc_id": doc_id,
        "doc": {"question": "?"},
        "target": str(target),
        "arguments": {f"gen_args_{k}": {"arg_0": "Q:", "arg_1": f" {text}"} for k, text in enumerate(choices)},
        "resps": [[[str(ll), "False"]] for ll in lls],
        "filtered_resps": [[str(ll), "False"] for ll in lls],
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": f"hash {doc_id}",
    }
    if acc == "right":
        acc = float(int(np.argmax(lls)) == target)
    if acc is not None:
        line["acc"] = acc
    return line


def as_first_written(line):
    """The same as an early version wrote it: numbers, and arguments as lists."""
    arguments = [[pair["arg_0"], pair["arg_1"]] for pair in line["arguments"].values()]
    answers = [[float(ll), greedy == "True"] for ll, greedy in line["filtered_resps"]]
    kept = {name: line[name] for name in ("doc_id", "doc", "acc") if name in line}
    return kept | {"target": int(line["target"]), "arguments": arguments, "filtered_resps": answers}


def write(folder, lines, name="samples_task_2025-01-01.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def literal_softmax(lls):
    """exp(l) over the sum of them."""
    return [math.exp(ll) / sum(math.exp(other) for other in lls) for ll in lls]


LLS = [[-1.0, -2.0, -3.0, -9.5], [-4.0, -0.5, -6.0, -6.0], [-2.2, -2.1, -2.0, -1.9]]
LINES = [sample(k, lls, target) for k, (lls, target) in enumerate(zip(LLS, [0, 2, 3], strict=True))]


# --- logs of samples --------------------------------------------------------------------------------------------------


def test_probabilities_are_a_softmax_over_the_choices(tmp_path):
    """P(choice) is the likelihood over the sum of those offered; classes are positions."""
    loaded = load_samples(write(tmp_path, LINES))
    assert loaded.predictions.classes == ("A", "B", "C", "D")
    assert np.allclose(loaded.predictions.scores, [literal_softmax(lls) for lls in LLS], rtol=1e-14)
    assert loaded.predictions.labels.tolist() == [0, 2, 3]
    assert loaded.taken == "P(choice) from log-likelihoods, target read as the index of a choice, counted from 0"
    assert (loaded.clusters, loaded.dropped) == (None, {})
    assert loaded.notes == ("For all 3 samples acc in the log agrees with the target.",)


def test_every_version_of_the_log_gives_the_same(tmp_path):
    """Numbers or text, lists or named pairs, lines, an array or gzip."""
    expected = load_samples(write(tmp_path, LINES)).predictions
    early = [as_first_written(line) for line in LINES]
    array = tmp_path / "array.jsonl"
    array.write_text(json.dumps(early, indent=2))
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in LINES).encode()))
    for path in (write(tmp_path, early, "early.jsonl"), array, packed):
        assert is_lm_samples(path)
        found = load_samples(path).predictions
        assert np.array_equal(found.scores, expected.scores)
        assert np.array_equal(found.labels, expected.labels)


def test_large_log_likelihoods(tmp_path):
    """Long texts have log-likelihoods of which exp is 0; their differences count."""
    loaded = load_samples(write(tmp_path, [sample(0, [-2000.0, -2001.0], 0)]))
    assert np.allclose(loaded.predictions.scores, [literal_softmax([0, -1])])


@pytest.mark.parametrize(("normalise", "metric", "sizes"), [("length", "acc_norm", [2, 4]), ("bytes", "acc_bytes", [3, 4])])  # fmt: skip
def test_log_likelihoods_per_character(tmp_path, normalise, metric, sizes):
    """They are divided by the length of the choice, without the space that joins it, and checked against acc_norm."""
    lls = [-4.0 / sizes[0], -6.0 / sizes[1]]
    line = sample(0, [-4.0, -6.0], 0, choices=["né", "four"], acc=None) | {metric: float(lls[0] > lls[1])}
    loaded = load_samples(write(tmp_path, [line]), normalise=normalise)
    assert np.allclose(loaded.predictions.scores, [literal_softmax(lls)])
    assert "are not the model's own probabilities" in loaded.notes[0]
    assert loaded.notes[1] == f"For all 1 samples {metric} in the log agrees with the target."


def test_targets_by_text_and_letter(tmp_path):
    """The text of one choice, or its letter."""
    lines = [sample(k, lls, 0, choices=["yes", "no", "maybe", "none"]) for k, lls in enumerate(LLS)]
    rights = [("yes", 1.0), ("maybe", 0.0), ("none", 1.0)]
    by_text = [line | {"target": text, "acc": acc} for line, (text, acc) in zip(lines, rights, strict=True)]
    loaded = load_samples(write(tmp_path, by_text))
    assert loaded.predictions.labels.tolist() == [0, 2, 3]
    assert "target read as the text of a choice" in loaded.taken
    by_letter = [line | {"target": t, "acc": a} for line, t, a in zip(lines, ["A", "(C)", "D"], [1, 0, 1], strict=True)]
    loaded = load_samples(write(tmp_path, by_letter))
    assert loaded.predictions.labels.tolist() == [0, 2, 3]
    assert "target read as the letter of a choice" in loaded.taken


def test_a_target_that_can_be_read_in_two_ways(tmp_path):
    """Where choices are called 1, 2, 3 the log's accuracy tells a text from a number; without it that is an error."""
    rng = np.random.default_rng(0)
    lines = []
    for k in range(40):
        lls, right = (-rng.exponential(2, 3)).tolist(), int(rng.integers(3))
        line = sample(k, lls, right, choices=["1", "2", "3"])
        lines.append(line | {"target": str(right + 1)})
    loaded = load_samples(write(tmp_path, lines))
    assert "target read as the text of a choice" in loaded.taken
    assert loaded.predictions.labels.tolist() == [int(line["target"]) - 1 for line in lines]
    for line in lines:
        del line["acc"]
    with pytest.raises(InputError, match=r"line \d+: the target '[12]' may be the (text|number) or the (number|text) of a choice, and no accuracy in the log makes it clear"):  # fmt: skip
        load_samples(write(tmp_path, lines))


def test_choices_in_the_context(tmp_path):
    """Where all continuations are the same the log's accuracy says whether the likeliest is right."""
    lines = [sample(k, lls, 0, choices=["same"] * 4, acc=acc) for k, (lls, acc) in enumerate(zip(LLS, [1.0, 0.0, 1.0], strict=True))]  # fmt: skip
    for line in lines:
        line["target"] = "same"
    loaded = load_samples(write(tmp_path, lines))
    assert loaded.predictions.kind == "binary"
    assert np.allclose(loaded.predictions.scores, [max(literal_softmax(lls)) for lls in LLS])
    assert loaded.predictions.labels.tolist() == [1, 0, 1]
    assert "the log does not say which choice is right, only whether the likeliest is" in loaded.notes[0]


def test_different_numbers_of_choices_and_several_right_ones(tmp_path):
    """They give pairs of confidence and correctness, and a note why."""
    loaded = load_samples(write(tmp_path, [LINES[0], sample(5, [-1.0, -2.0, -3.0], 1)]))
    assert loaded.predictions.scores.tolist() == pytest.approx([max(literal_softmax(LLS[0])), max(literal_softmax([-1, -2, -3]))])  # fmt: skip
    assert loaded.predictions.labels.tolist() == [1, 0]
    assert loaded.notes[0].endswith("choice is right, because questions have 3 to 4 choices.")
    several = [sample(0, LLS[0], 0) | {"target": "[0, 2]"}, sample(1, LLS[1], 0, acc=0.0) | {"target": "[0, 2]"}]
    loaded = load_samples(write(tmp_path, several))
    assert loaded.predictions.labels.tolist() == [1, 0]
    assert loaded.notes[0].endswith("some questions have several right choices.")


def test_one_filter_is_taken(tmp_path):
    """Of a document that was logged for each of several filters, one line counts, and the note says which."""
    lines = [line | {"filter": name} for line in LINES for name in ("none", "flipped")]
    loaded = load_samples(write(tmp_path, lines))
    assert len(loaded.predictions) == 3
    assert loaded.clusters is None
    assert "The log has several filters: 'none' was used, not 'flipped' (3 lines)." in loaded.notes
    assert len(load_samples(write(tmp_path, lines), filter="flipped").predictions) == 3
    with pytest.raises(InputError, match=r"there is no filter 'best'; there are 'none', 'flipped'"):
        load_samples(write(tmp_path, lines), filter="best")


def test_documents_that_repeat_are_clusters(tmp_path):
    """The same document twice is one cluster; the same number in another task is another document."""
    loaded = load_samples(write(tmp_path, [*LINES, LINES[0]]))
    assert loaded.clusters.tolist() == ["hash 0", "hash 1", "hash 2", "hash 0"]
    assert loaded.taken.endswith("clusters by document")
    other = LINES[0] | {"doc_hash": "another"}
    assert load_samples(write(tmp_path, [*LINES, other])).clusters is None


def test_one_document_in_all_samples_is_no_cluster(tmp_path):
    """A log that gives every sample the same hash says nothing of clusters, and a note says so."""
    loaded = load_samples(write(tmp_path, [line | {"doc_hash": "same"} for line in LINES]))
    assert loaded.clusters is None
    assert "clusters" not in loaded.taken
    assert "Every sample has the same document in the log, so there are no clusters of samples." in loaded.notes


def test_likelihoods_without_the_question_are_left_out(tmp_path):
    """With acc_mutual_info the second half of the likelihoods is that of the choices alone."""
    line = sample(0, [-1.0, -2.0, -0.1, -0.2], 0, acc=1.0) | {"acc_mutual_info": 1.0}
    assert np.allclose(load_samples(write(tmp_path, [line])).predictions.scores, [literal_softmax([-1, -2])])


def test_samples_that_cannot_be_used_are_counted(tmp_path):
    """A target that is no choice, and a likelihood that is no number, are left out by reason."""
    lines = [*LINES, sample(7, LLS[0], 0) | {"target": "-1"}, sample(8, [-1.0, float("nan"), -2.0, -3.0], 0)]
    loaded = load_samples(write(tmp_path, lines))
    assert len(loaded.predictions) == 3
    assert loaded.dropped == {"log-likelihoods that are not finite": 1, "target is none of the choices": 1}


def test_a_log_that_contradicts_itself(tmp_path):
    """A few samples whose accuracy differs are a note; more than a tenth is an error, not a wrong number."""
    rng = np.random.default_rng(1)
    lines = [sample(k, (-rng.exponential(2, 4)).tolist(), int(rng.integers(4))) for k in range(50)]
    lines[3]["acc"] = 1 - lines[3]["acc"]
    assert "For 1 of 50 samples acc in the log disagrees with the target." in load_samples(write(tmp_path, lines)).notes  # fmt: skip
    for line in lines:
        line["target"] = str((int(line["target"]) + 1) % 4)
    with pytest.raises(InputError, match=r"for \d+ of 50 samples acc contradicts the target and the likeliest choice"):  # fmt: skip
        load_samples(write(tmp_path, lines))


def test_a_log_without_accuracy_says_so(tmp_path):
    """The reading of the target could not be checked."""
    loaded = load_samples(write(tmp_path, [sample(0, LLS[0], 0, acc=None)]))
    assert loaded.notes == ("The log has no acc, so it could not be checked whether the target was read correctly.",)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ({"target": "42", "filtered_resps": ["The answer is 42"]}, "line 1: filtered_resps must hold a log-likelihood for each choice, as multiple-choice tasks log them; got ['The answer is 42']. A task that generates text has no probabilities: write a file with a confidence and correct for each answer"),
        ({"target": "x", "filtered_resps": ["-123.4"]}, "line 1: filtered_resps must hold a log-likelihood for each choice"),
        ({"target": "x", "filtered_resps": [["-0.5", "True"]]}, "line 1: there is only one log-likelihood, so there is no choice between several"),
        (sample(0, LLS[0], 0, acc=0.43), "line 1: acc is 0.43, neither 0 nor 1: several choices are right in this task"),
        (sample(0, LLS[0], 0, acc=None) | {"target": "else"}, "line 1: the target 'else' is neither the number, the text nor the letter of a choice, and the log has no accuracy of 0 or 1 to use instead"),
        (sample(0, [float("nan")] * 2, 0), "no sample has finite log-likelihoods"),
    ],
    ids=["generated", "rolling", "single", "mixed", "unknown target", "nan"],
)  # fmt: skip
def test_logs_that_say_nothing_of_choices(tmp_path, line, sentence):
    """The sentence says what is there and what is needed."""
    with pytest.raises(InputError, match=re.escape(sentence)):
        load_samples(write(tmp_path, [line]))


def test_lengths_need_texts(tmp_path):
    """Without the choices there is nothing to divide by."""
    line = LINES[0] | {"arguments": None}
    with pytest.raises(InputError, match=r"normalise='length' needs the texts of the choices"):
        load_samples(write(tmp_path, [line]), normalise="length")
    assert len(load_samples(write(tmp_path, [line])).predictions) == 1


@pytest.mark.slow
def test_a_calibrated_model_is_found_to_be(tmp_path):
    """Targets drawn from the softmax make it calibrated; likelihoods three times as far apart do not."""
    from believable import expected_calibration_error

    rng = np.random.default_rng(2)
    lines, sharper = [], []
    for k in range(3000):
        lls = rng.normal(-8, 1.5, 4)
        target = int(rng.choice(4, p=literal_softmax(lls)))
        lines.append(sample(k, lls.tolist(), target))
        sharper.append(sample(k, (3 * lls).tolist(), target))
    assert expected_calibration_error(load_samples(write(tmp_path, lines)).predictions) < 0.03
    assert expected_calibration_error(load_samples(write(tmp_path, sharper)).predictions) > 0.15


# --- stated confidences -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("85%", 85), ("85 %", 85), ("I am 85% sure.", 85), ("I'm about 99.5 percent certain", 99.5), ("Confidence - 85%", 85),
        ("Confidence: 70 per cent", 70), ("85% sure. Confidence: 85 %", 85), ("0%", 0), ("**Confidence:** 100%", 100), ("150%", 150),
        ("Answer (85%)", 85), ("in 2 of 3 cases, so 60%", 60),
        ("80-90%", None), ("80–90 %", None), ("80% to 90%", None), ("between 80% and 90%", None), ("80 or 90 percent", None), ("50%/60%", None),
        ("70% ± 5%", None), ("90% sure of A, 10% of B", None), ("more than 90%", None), (">90%", None), ("at least 95 %", None), ("not 85% sure", None),
        ("I wouldn't say it isn't 85%", None), ("-5%", None), ("85,5 %", None), ("1,000%", None), ("0.85", None), ("quite sure", None), ("", None), ("85", None),
    ],
)  # fmt: skip
def test_percentages_in_words(text, stated):
    """One percentage is read; a range, a bound, several, or none are not guessed at."""
    assert percentage_in(text) == stated


def test_numbers_and_words_together(tmp_path):
    """Numbers and percentages give the same pairs; what is not stated is counted."""
    rows = [(0.5, True), ("85 %", False), ("0.25", 1), ("no idea", True), (None, False), (float("nan"), 0), (0.9, None), ("120%", "yes"), ("1", "incorrect")]  # fmt: skip
    path = write(tmp_path, [{"confidence": c, "correct": m, "answer": "…"} for c, m in rows], "answers.jsonl")
    loaded = load_samples(path)
    assert not is_lm_samples(path)
    assert loaded.predictions.scores.tolist() == [0.5, 0.85, 0.25, 1.0]
    assert loaded.predictions.labels.tolist() == [1, 0, 1, 0]
    assert loaded.dropped == {"no confidence stated": 3, "not marked as right or wrong": 1, "stated confidence above 100 %": 1}  # fmt: skip
    assert loaded.taken == "confidences confidence, marks correct"
    assert loaded.pairs
    assert loaded.notes == (
        "1 of 4 confidences were read from a text that holds exactly one percentage.",
        "4 answers (44.4 %) state no confidence that can be read and were left out: the results apply to the others.",
        "The number 1 was stated 1 times next to percentages and read as certain, not as 1 %.",
    )


@pytest.mark.parametrize("confidence", [name for names in CONFIDENCE_NAMES for name in names])
@pytest.mark.parametrize("correct", [name for names in CORRECT_NAMES for name in names])
def test_fields_by_any_of_their_names(tmp_path, confidence, correct):
    """At the top, or one level down; capitals do not matter."""
    flat = [{confidence: 0.8, correct: 1}, {confidence: 0.4, correct: 0}]
    nested = [
        {"response": {confidence.upper(): 0.8}, "metrics": {correct: 1}},
        {"response": None, "metrics": {correct: 0}},
    ]
    loaded = load_samples(write(tmp_path, flat))
    assert (loaded.predictions.scores.tolist(), loaded.predictions.labels.tolist()) == ([0.8, 0.4], [1, 0])
    loaded = load_samples(write(tmp_path, nested))
    assert loaded.taken == f"confidences response.{confidence.upper()}, marks metrics.{correct}"
    assert (loaded.predictions.scores.tolist(), loaded.dropped) == ([0.8], {"no confidence stated": 1})


def test_the_surer_name_is_taken(tmp_path):
    """A confidence is a confidence before a score is one, and a mark is called correct before a label is one."""
    line = {"score": 0.1, "conf": 0.8, "label": 3, "acc": 1.0, "is_correct": 0, "doc": {"confidence": 0.5}}
    assert load_samples(write(tmp_path, [line])).taken == "confidences conf, marks is_correct"


def test_what_is_taken_for_answers(tmp_path):
    """A table of an event's probabilities is none, unless a field marks an answer or a confidence is a sentence."""
    for line, is_answer in (
        ({"confidence": 0.8, "correct": 1}, True),
        ({"p": 0.8, "acc": 1.0}, True),
        ({"confidence": 0.8, "label": 1}, True),
        ({"answer": {"conf": 0.8}, "is_correct": True}, True),
        ({"score": "I am 80 % sure", "label": 1}, True),
        ({"p": 0.8, "label": 1}, False),
        ({"p": "80 %", "y": 1}, False),
        ({"p": 0.8, "prob": 0.7, "correct": 1}, False),
        ({"x": 0.8, "correct": 1}, False),
    ):
        path = write(tmp_path, [line | {"id": k} for k in range(2)])
        assert states_confidences(path) == is_answer, line
    assert states_confidences(path, "x")
    assert not states_confidences(path, "z")
    assert not states_confidences(tmp_path / "none.jsonl")
    assert not states_confidences(tmp_path / "a.csv")


def test_subgroups_of_answers(tmp_path):
    """Fields of subgroups keep to the answers that are left."""
    lines = [
        {"confidence": 0.8, "correct": 1, "meta": {"topic": "art"}},
        {"confidence": None, "correct": 1, "meta": {"topic": "law"}},
        {"confidence": 0.4, "correct": 0, "meta": {"topic": "law"}},
    ]
    loaded = load_samples(write(tmp_path, lines), by="meta.topic")
    assert loaded.by["meta.topic"].tolist() == ["art", "law"]
    assert loaded.taken == "confidences confidence, marks correct, subgroups meta.topic"


def test_percent_is_for_numbers(tmp_path):
    """With percent=True numbers are divided by 100; text with a sign is a percentage in any case."""
    path = write(tmp_path, [{"p": 85, "right": 1}, {"p": "60%", "right": 0}, {"p": "40", "right": 0}], "a.jsonl")
    loaded = load_samples(path, confidence="p", correct="right", percent=True)
    assert loaded.predictions.scores.tolist() == [0.85, 0.6, 0.4]


def test_answers_to_one_question_are_clusters(tmp_path):
    """If the field is named; if not, and it repeats, a note says so."""
    path = write(tmp_path, [{"confidence": 0.5, "correct": 1, "question_id": k // 2} for k in range(6)], "a.jsonl")
    assert load_samples(path, cluster="question_id").clusters.tolist() == ["0", "0", "1", "1", "2", "2"]
    assert "pass cluster='question_id'; otherwise the intervals are too narrow" in load_samples(path).notes[0]
    unique = write(tmp_path, [{"confidence": 0.5, "correct": 1, "question_id": k} for k in range(6)], "b.jsonl")
    assert load_samples(unique).notes == ()


@pytest.mark.parametrize(
    ("lines", "options", "sentence"),
    [
        ([{"confidence": 85, "correct": 1}], {}, "line 1: 'confidence' must lie in [0, 1], got 85; pass percent=True if these are percentages"),
        ([{"confidence": -0.1, "correct": 1}], {}, "line 1: 'confidence' must lie in [0, 1], got -0.1"),
        ([{"confidence": 101, "correct": 1}], {"percent": True}, "line 1: 'confidence' must lie in [0, 100], got 101"),
        ([{"confidence": True, "correct": 1}], {}, "line 1: 'confidence' must be a number or a text with a percentage, got True"),
        ([{"confidence": [0.5], "correct": 1}], {}, "line 1: 'confidence' must be a number or a text with a percentage, got [0.5]"),
        ([{"confidence": 0.5, "correct": 1}, {"confidence": 0.5, "correct": 0.5}], {}, "line 2: 'correct' must be true or false, or 1 or 0, got 0.5"),
        ([{"confidence": "hm", "correct": 1}, {"confidence": 1, "correct": None}], {}, "no answer has both a confidence and a mark (1 no confidence stated, 1 not marked as right or wrong)"),
        ([{"sure": 1, "correct": 1}], {}, "p_correct, p_true, score); choose one of sure, correct with confidence="),
        ([{"confidence": 1, "fine": 1}], {}, "no field has one of the usual names for 'correct' (correct, is_correct, was_correct, correctness, is_right, right, exact_match, acc, accuracy, em, label, y); choose one of confidence, fine with correct="),
        ([{"confidence": 1, "correct": 1}], {"confidence": "conf"}, "there is no field 'conf'; there are confidence, correct"),
        ([{"a": {"conf": 1}, "b": {"conf": 1}, "correct": 1}], {}, "several fields could be 'confidence': a.conf, b.conf; choose one with confidence="),
        ([{"confidence": 1, "correct": 1}], {"by": "topic"}, "no answer has the field 'topic'"),
        ([{"confidence": 1, "correct": 1, "topic": ["a"]}], {"by": "topic"}, "the field 'topic' holds lists or objects, which cannot be subgroups"),
        ([{"confidence": 1, "correct": 1, "is_correct": 1}], {}, "several fields could be 'correct': correct, is_correct; choose one with correct="),
        ([{"confidence": 1, "correct": 1}], {"cluster": "q"}, "line 1: there is no 'q'; there are confidence, correct"),
        ([{"confidence": 1, "correct": 1}], {"normalise": "length"}, "normalise and filter are for logs of samples, but a.jsonl is not one"),
        (LINES, {"percent": True}, "percent is for stated confidences, but a.jsonl is a log of samples"),
        (LINES, {"normalise": "tokens"}, "normalise must be one of 'none', 'length', 'bytes', got 'tokens'"),
    ],
)  # fmt: skip
def test_bad_answers(tmp_path, lines, options, sentence):
    """The sentence names the line, the field and what to do."""
    with pytest.raises(InputError, match=re.escape(sentence)):
        load_samples(write(tmp_path, lines, "a.jsonl"), **options)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"confidence": 1, "correct": 1}\n{"confidence": \n', "line 2: not JSON"),
        ("\n[1, 2]\n", "entry 1: expected an object with named fields, got 1"),
        ('{"confidence": 1, "correct": 1}\n[1]\n', "line 2: expected an object with named fields, got [1]"),
        ("[{]", "begins with [ but is not a JSON array"),
        ("[]", "is empty"),
        ("  \n", "is empty"),
        ("[" * 100_000, "begins with [ but is not a JSON array"),
    ],
    ids=["cut", "numbers", "array below", "broken array", "empty array", "blank", "deep"],
)  # fmt: skip
def test_files_that_are_no_records(tmp_path, text, sentence):
    """What is no object is named by its line; it is no log of samples either."""
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(sentence)):
        load_samples(path)
    assert not is_lm_samples(path)


def test_no_file(tmp_path):
    """A path that is no file is said to be none."""
    with pytest.raises(InputError, match=r"there is no file .*x\.jsonl"):
        load_samples(tmp_path / "x.jsonl")
    assert not is_lm_samples(tmp_path / "x.jsonl")
    assert not is_lm_samples(write(tmp_path, LINES, "samples.csv"))
