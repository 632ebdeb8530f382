"""Files that look fine and would give a wrong number: each is refused, or read as it is meant."""

from __future__ import annotations

import json

import numpy as np
import polars
import pytest

from believable.errors import InputError
from believable.readers import load, load_run, load_samples
from believable.readers.logs.language_models import percentage_in
from believable.readers.same_rows import refuse_other_ids, refuse_other_rows


def put(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def lines(tmp_path, rows, name="samples_task.jsonl"):
    return put(tmp_path, "".join(f"{json.dumps(row)}\n" for row in rows), name)


def test_a_field_too_many_is_seen_behind_the_last_column_that_is_read(tmp_path):
    """0,1 without quotation marks is not the score 0 and the label 1."""
    with pytest.raises(InputError, match="has 4 fields at line 3, but 3 in its header"):
        load(put(tmp_path, "p,y,note\n0.5,1,a\n0,1,1,b\n"))


def test_a_comma_between_thousands_is_no_decimal_comma(tmp_path):
    """1,234 next to 987 is refused; next to 0,5 it is a little more than 1."""
    with pytest.raises(InputError, match=r"'1,234' at row 0 \(line 2\); write decimals with a point and thousands"):
        load(put(tmp_path, "p\ty\tw\n0.5\t1\t1,234\n0.25\t0\t987\n", "a.tsv"), weight="w")
    read = load(put(tmp_path, "p;y;w\n0,5;1;1,234\n0,25;0;0,5\n"), weight="w").predictions
    assert read.scores.tolist() == [0.5, 0.25]
    assert read.weights.tolist() == [1.234, 0.5]
    with pytest.raises(InputError, match=r"has decimal commas, and '1\.234' in column 'w'"):
        load(put(tmp_path, "p;y;w\n0,5;1;1.234\n0,25;0;2\n"), weight="w")
    assert load(put(tmp_path, "p;y;w\n0,5;1;1.234\n0,25;0;0.5\n"), weight="w").predictions.weights.tolist() == [
        1.234,
        0.5,
    ]


def test_percentages_are_hundredths(tmp_path):
    """70 % is 0.7, not the next number above it, which lies in another bin."""
    rows = "".join(f"{k} %,{k % 2},{k}\n" for k in range(101))
    read = load(put(tmp_path, f"p,y,k\n{rows}")).predictions
    assert read.scores.tolist() == [k / 100 for k in range(101)]
    assert load(tmp_path / "data.csv", prob="k", percent=True).predictions.scores.tolist() == read.scores.tolist()


NAMES = {
    "leading zeros": ("007", "7", "08"),
    "versions": ("1.10", "1.1", "2.0"),
    "many digits": ("12345678901234567", "12345678901234568", "1.5"),
    "more digits than a number has": ("12345678901234567890123", "12345678901234567890124", "1"),
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_what_names_rows_is_no_number(tmp_path, names):
    """Clusters and subgroups that are written differently stay apart."""
    text = "p,y,q\n" + "".join(f"0.5,{k % 2},{name}\n" for k, name in enumerate(names))
    loaded = load(put(tmp_path, text), cluster="q", by="q")
    assert loaded.clusters.tolist() == loaded.by["q"].tolist() == list(names)


def test_numbers_that_name_rows_stay_numbers_where_nothing_is_lost(tmp_path):
    """1.0 is 1, and 0.5 a half."""
    assert load(put(tmp_path, "p,y,q\n0.5,1,10\n0.5,0,2\n"), cluster="q").clusters.tolist() == [10, 2]
    assert load(put(tmp_path, "p,y,q\n0.5,1,1.0\n0.5,0,1\n"), cluster="q").clusters.tolist() == [1, 1]
    assert load(put(tmp_path, "p,y,q\n0.5,1,0.50\n0.5,0,0.25\n"), by="q").by["q"].tolist() == [0.5, 0.25]


def test_clusters_whose_digits_are_lost_already_are_refused(tmp_path):
    """Two ids beyond 2 ** 53 may be one floating-point number."""
    frame = polars.DataFrame({"p": [0.5, 0.25], "y": [1, 0], "q": [float(2**53), 1.0]})
    frame.write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="lost digits, got 9007199254740992 at row 0"):
        load(tmp_path / "a.parquet", cluster="q")
    rows = [{"p": float("nan"), "y": 1, "q": 1}, *({"p": 0.5, "y": 1, "q": 2**63 + k} for k in range(2))]
    loaded = load(lines(tmp_path, rows), cluster="q", drop_missing=True)
    assert loaded.clusters.tolist() == [str(2**63), str(2**63 + 1)]


def test_lengths_of_time_can_be_clusters(tmp_path):
    """They are named as Python writes them."""
    frame = polars.DataFrame({"p": [0.5, 0.25], "y": [1, 0], "t": polars.Series([1, 2]).cast(polars.Duration("us"))})
    frame.write_parquet(tmp_path / "a.parquet")
    assert load(tmp_path / "a.parquet", cluster="t").clusters.tolist() == ["0:00:00.000001", "0:00:00.000002"]


def test_an_infinite_label_is_not_a_missing_one(tmp_path):
    """It is wrong, and not left out."""
    with pytest.raises(InputError, match="got inf at row 1"):
        load(lines(tmp_path, [{"p": 0.5, "y": "1"}, {"p": 0.5, "y": "inf"}], "a.jsonl"), drop_missing=True)


def test_classes_in_another_order_than_the_columns(tmp_path):
    """The names of the columns say which class they are; other names may replace them."""
    path = put(tmp_path, "p_dog,p_cat,y\n0.7,0.3,dog\n0.1,0.9,cat\n")
    with pytest.raises(InputError, match="the columns are those of dog, cat, in this order, but classes has 'cat'"):
        load(path, classes=["cat", "dog"])
    assert load(path, classes=["dog", "cat"]).predictions.labels.tolist() == [0, 1]
    renamed = put(tmp_path, "p_0,p_1,y\n0.7,0.3,0\n0.1,0.9,1\n")
    assert load(renamed, classes=["a", "b"]).predictions.labels.tolist() == [0, 1]


def test_labels_that_are_the_numbers_of_the_columns(tmp_path):
    """With p_1, p_2 and p_3 the label 1 is the first class, whatever its name."""
    read = load(put(tmp_path, "p_1,p_2,p_3,y\n0.7,0.2,0.1,1\n0.1,0.8,0.1,2\n"), classes=["a", "b", "c"]).predictions
    assert read.labels.tolist() == [0, 1]
    with pytest.raises(InputError, match="must hold the numbers of the columns, 1, 2, got 0 at row 1"):
        load(put(tmp_path, "p_1,p_2,y\n0.7,0.3,1\n0.1,0.9,0\n"), classes=["a", "b"])


def test_notes_on_scores_that_may_be_something_else(tmp_path):
    """Decisions in place of probabilities, and a column that is no logit of a class."""
    (note,) = load(put(tmp_path, "y_pred,y\n1,1\n0,1\n0,0\n")).notes
    assert note == "every score in column y_pred is 0 or 1: these look like predicted classes, not probabilities"
    path = put(tmp_path, "logit_a,logit_b,logit_scale,y\n2,1,10,a\n1,3,10,b\n")
    (note,) = load(path, from_logits=True).notes
    assert note.startswith("no row has the class of these columns: logit_scale")


def test_an_array_that_is_called_like_part_of_another(tmp_path):
    """In either order; it may still be chosen itself."""
    matrix, others = np.log([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]]), np.array([0.5, 0.25])
    for arrays in ({"logits": matrix, "logits_1": others}, {"logits_1": others, "logits": matrix}):
        np.savez(tmp_path / "a.npz", **arrays, labels=np.array([0, 1]))
        with pytest.raises(
            InputError, match="'logits_1' is the name of an array and also of column 1 of 'logits': rename one"
        ):
            load(tmp_path / "a.npz", prob="logits", label="labels", from_logits=True)
        assert load(tmp_path / "a.npz", prob="logits_1", label="labels").predictions.scores.tolist() == [0.5, 0.25]


def test_scores_of_one_part_and_labels_of_another(tmp_path):
    """labels_val are not taken for probs_test; labels are."""
    scores, y = np.array([0.7, 0.2]), np.array([1, 0])
    np.savez(tmp_path / "a.npz", probs_test=scores, probs_val=scores, labels_val=y)
    with pytest.raises(InputError, match="labels_val may not be the labels of probs_test"):
        load(tmp_path / "a.npz", prob="probs_test")
    np.savez(tmp_path / "b.npz", probs_test=scores, labels=y)
    assert load(tmp_path / "b.npz", prob="probs_test").predictions.labels.tolist() == [1, 0]


def test_a_run_without_any_judged_document(tmp_path):
    """If no document has a grade, their names differ: they are not all irrelevant."""
    run = put(tmp_path, "q Q0 a 1 0.9 x\nq Q0 b 2 0.4 x\n", "run")
    qrels = put(tmp_path, "q 0 A 1\nq 0 B 0\n", "qrels")
    with pytest.raises(InputError, match="no document of the run has a grade"):
        load_run(run, qrels, unjudged="not relevant")


def test_a_run_without_its_second_field(tmp_path):
    """Five fields are a run without a tag only if the second is Q0."""
    qrels = put(tmp_path, "q 0 1 1\n", "qrels")
    with pytest.raises(InputError, match="it does not seem to be the tag"):
        load_run(put(tmp_path, "q a 1 0 1\n", "run"), qrels)
    assert len(load_run(put(tmp_path, "q Q0 1 1 0.5\n", "run"), qrels).predictions) == 1


def sample(row, target, log_likelihoods, **more):
    answers = [[str(number), "False"] for number in log_likelihoods]
    return {"doc_id": row, "target": target, "filtered_resps": answers} | more


def test_targets_that_count_from_one(tmp_path):
    """Where the log has no accuracy to tell, a number beyond the choices does."""
    rows = [sample(k, str(k + 1), [-1, -2, -3]) for k in range(3)]
    with pytest.raises(
        InputError, match="the target '3' is not the number of a choice, from 0 to 2; if this log counts"
    ):
        load_samples(lines(tmp_path, rows))


def test_a_misread_target_among_many_choices(tmp_path):
    """A poor model is nearly always wrong by any reading, but not where the log calls it right."""
    rng = np.random.default_rng(0)
    rows = []
    for k in range(200):
        log_likelihoods, right = (-5 * rng.random(30)).round(3), int(rng.integers(29))
        rows.append(sample(k, str(right + 1), log_likelihoods, acc=float(log_likelihoods.argmax() == right)))
    with pytest.raises(InputError, match="no result would be right"):
        load_samples(lines(tmp_path, rows))


def test_losses_are_no_log_likelihoods(tmp_path):
    """The sign would turn every answer round."""
    with pytest.raises(InputError, match=r"a log-likelihood is at most 0, got 1\.5; if these are losses"):
        load_samples(lines(tmp_path, [sample(0, "0", [1.5, 2.5])]))


def test_arguments_whose_keys_were_sorted(tmp_path):
    """gen_args_10 is the text of choice 10, not of choice 2."""
    texts = {f"gen_args_{k}": {"arg_0": "question", "arg_1": f" text {k}"} for k in sorted(range(12), key=str)}
    rows = [sample(k, f"text {k}", [-1 if j == k else -3 for j in range(12)], arguments=texts) for k in (2, 10, 3)]
    assert load_samples(lines(tmp_path, rows)).predictions.labels.tolist() == [2, 10, 3]


@pytest.mark.parametrize(
    "text",
    [
        *("90~95%", "50−60%", "50‑60%", "50 .. 60%", "90%+", "80% or more", "80 % and up", "80 % ± 5", "1e2%", "1e-3%"),
        *("20% chance that I am wrong", "I am 10% unsure", "a 30 % risk of being wrong", "5% error"),
        *("The probability that this is false is 10%", "Uncertainty: 20 %"),
    ],
)
def test_texts_that_state_no_confidence(text):
    """Ranges, bounds, and the chance of being wrong."""
    assert percentage_in(text) is None


@pytest.mark.parametrize(
    "text", ["80% sure", "I am 80 % confident that the claim is false.", "~80%", "Wrong? No: 80%."]
)
def test_texts_that_state_one(text):
    """Near words that could mislead."""
    assert percentage_in(text) == 80


def test_confidences_on_another_scale_are_told(tmp_path):
    """A bare 1 among percentages, and 0.9 where 90 was promised."""
    rows = [{"confidence": "85%", "correct": 1}, {"confidence": 1, "correct": 0}]
    assert "The number 1 was stated 1 times" in " ".join(load_samples(lines(tmp_path, rows, "a.jsonl")).notes)
    rows = [{"confidence": 85, "correct": 1}, {"confidence": 0.9, "correct": 0}]
    assert "read as less than 1 %" in " ".join(load_samples(lines(tmp_path, rows, "a.jsonl"), percent=True).notes)


def test_one_question_is_one_cluster(tmp_path):
    """Written 1 or 1.0; a missing one is none."""
    rows = [{"confidence": 0.5, "correct": 1, "q": q} for q in (1, 1.0, 2)]
    assert load_samples(lines(tmp_path, rows, "a.jsonl"), cluster="q").clusters.tolist() == ["1", "1", "2"]
    rows = [{"confidence": 0.5, "correct": 1, "q": float("nan")}] * 2
    with pytest.raises(InputError, match="line 1: there is no 'q'"):
        load_samples(lines(tmp_path, rows, "a.jsonl"), cluster="q")


def test_the_rows_that_are_left(tmp_path):
    """By their places in the file, missing values and weights of 0 taken out."""
    loaded = load(put(tmp_path, "p,y,w\n,1,1\n0.5,1,0\n0.25,0,1\n0.5,1,2\n"), weight="w", drop_missing=True)
    assert loaded.rows.tolist() == [2, 3]
    assert load(put(tmp_path, "p,y\n0.5,1\n0.25,0\n")).rows is None


def test_other_rows_left_out_of_two_files(tmp_path):
    """As many rows with the same labels are not the same rows."""
    a = load(put(tmp_path, "p,y\n,0\n0.25,0\n0.5,1\n", "a.csv"), drop_missing=True)
    b = load(put(tmp_path, "p,y\n0.25,0\n,0\n0.5,1\n", "b.csv"), drop_missing=True)
    with pytest.raises(InputError, match="were left out, the first near row 0"):
        refuse_other_rows(a, b, "a", "b")
    refuse_other_rows(a, load(put(tmp_path, "p,y\n0.25,0\n0.5,1\n", "c.csv")), "a", "c")


def test_the_same_rows_in_another_order(tmp_path):
    """Sorted by label, files agree in their labels; the names of their rows tell."""

    def compared(ids, name="id"):
        paths = [put(tmp_path, f"{name},y,p\n" + "".join(f"{i},0,0.5\n" for i in one), f"{k}.csv") for k, one in ids]
        loaded = [load(path) for path in paths]
        refuse_other_rows(*loaded, "a", "b")
        refuse_other_ids(*loaded, *paths, "a", "b")

    with pytest.raises(InputError, match=r"column id of a and b differs at row 1 \(2 and 3\): .* sort both by id"):
        compared(enumerate([[1, 2, 3], [1, 3, 2]]))
    with pytest.raises(InputError, match="column patient_id"):
        compared(enumerate([[1, 2, 3], [1, 3, 2]]), "patient_id")
    compared(enumerate([[1, 2, 3], [1, 2, 3]]))
    compared(enumerate([[1, 2, 3], [4, 5, 6]]), "prediction_id")
    compared(enumerate([[7, 7, 7], [8, 8, 8]]), "run_id")
