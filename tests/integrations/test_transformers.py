"""Transformers: metrics and reports in the real `Trainer`, with tiny models that are made here."""

from __future__ import annotations

import doctest
import json
import logging

import numpy as np
import pytest

import believable
from believable.errors import InputError
from believable.recalibrate import TemperatureScaling, load_recalibrator
from tests.needs import need

transformers = need("transformers")
torch = need("torch")

from believable.integrations import transformers as ours  # noqa: E402
from believable.integrations.transformers import CalibrationCallback, compute_metrics  # noqa: E402

# Warnings of the tool and of what it uses are not about this package.
pytestmark = pytest.mark.filterwarnings("ignore")

TINY = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
RNG = np.random.default_rng(0)


def example(length, labels):
    tokens = RNG.integers(1, 40, length)
    return {"input_ids": tokens.tolist(), "attention_mask": [1] * length, "labels": labels}


def sequences(n, classes):
    """Sequences whose class depends on the first token, most of the time."""
    rows = [example(6, 0) for _ in range(n)]
    for row in rows:
        row["labels"] = int(row["input_ids"][0] % classes) if RNG.random() < 0.8 else int(RNG.integers(classes))
    return rows


def trainer(folder, model, rows, metrics, callbacks=(), collator=None, evaluated=None, **options):
    arguments = transformers.TrainingArguments(
        output_dir=str(folder / "out"),
        per_device_train_batch_size=16,
        per_device_eval_batch_size=7,
        learning_rate=5e-3,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        seed=0,
        **{"num_train_epochs": 2, "eval_strategy": "epoch", "save_strategy": "no"} | options,
    )
    return transformers.Trainer(
        model=model,
        args=arguments,
        train_dataset=rows,
        eval_dataset=rows if evaluated is None else evaluated,
        data_collator=collator or transformers.default_data_collator,
        compute_metrics=metrics,
        callbacks=list(callbacks),
    )


def classifier(classes, **options):
    torch.manual_seed(0)
    config = transformers.BertConfig(**TINY, num_labels=classes, **options)
    return transformers.BertForSequenceClassification(config)


def softmax(z):
    e = np.exp(np.asarray(z, np.float64) - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def test_metrics_of_several_classes_are_logged(tmp_path):
    """Each evaluation logs the metrics of the softmax of its logits."""
    rows = sequences(60, 3)
    run = trainer(tmp_path, classifier(3), rows, compute_metrics(["ece", "brier", "sce"], n_bins=7))
    run.train()
    logged = [entry for entry in run.state.log_history if "eval_loss" in entry]
    assert len(logged) == 2
    output = run.predict(rows)
    p, y = softmax(output.predictions), output.label_ids
    last = run.evaluate()
    assert logged[-1]["eval_brier_score"] == pytest.approx(last["eval_brier_score"])
    assert last["eval_brier_score"] == pytest.approx(believable.brier_score(p, y), rel=1e-6)
    assert last["eval_expected_calibration_error"] == pytest.approx(
        believable.expected_calibration_error(p, y, 7), rel=1e-6
    )
    assert last["eval_static_calibration_error"] == pytest.approx(
        believable.static_calibration_error(p, y, 7), rel=1e-6
    )


@pytest.mark.parametrize("pos_label", [1, 0])
def test_two_logits_are_an_event(tmp_path, pos_label):
    """The error is that of the probability of one class, as in scikit-learn's scorers."""
    rows = sequences(60, 2)
    run = trainer(tmp_path, classifier(2), rows, compute_metrics("ece", pos_label=pos_label))
    found = run.evaluate()["eval_expected_calibration_error"]
    output = run.predict(rows)
    p = softmax(output.predictions)[:, pos_label]
    assert found == pytest.approx(believable.expected_calibration_error(p, output.label_ids == pos_label), rel=1e-6)


def test_one_logit_is_asked_for(tmp_path):
    """A single number is the value of a regression, unless the user says that it is a logit."""
    rows = [{**row, "labels": [float(row["labels"])]} for row in sequences(40, 2)]
    model = classifier(1, problem_type="multi_label_classification")  # a logistic loss
    found = trainer(tmp_path, model, rows, compute_metrics("brier", single_logit=True)).evaluate()
    output = trainer(tmp_path, model, rows, None).predict(rows)
    p = 1 / (1 + np.exp(-output.predictions[:, 0].astype(float)))
    assert found["eval_brier_score"] == pytest.approx(believable.brier_score(p, output.label_ids[:, 0]), rel=1e-6)
    with pytest.raises(
        InputError, match=r"one number per row, which is the value of a regression unless .* single_logit"
    ):
        trainer(tmp_path, model, rows, compute_metrics("brier")).evaluate()


def test_multi_label(tmp_path):
    """Labels of the shape of the logits: classes are independent."""
    rows = [{**row, "labels": [float(k) for k in RNG.integers(0, 2, 3)]} for row in sequences(50, 2)]
    model = classifier(3, problem_type="multi_label_classification")
    run = trainer(tmp_path, model, rows, compute_metrics(["brier", "nll"]))
    found = run.evaluate()
    output = run.predict(rows)
    p = 1 / (1 + np.exp(-output.predictions.astype(float)))
    checked = believable.Predictions(p, output.label_ids, multilabel=True)
    assert found["eval_brier_score"] == pytest.approx(believable.brier_score(checked), rel=1e-6)


def tokens(n, classes):
    """Sequences of different lengths, with a label per token; every fourth token is not judged."""
    rows = []
    for _ in range(n):
        length = int(RNG.integers(3, 9))
        rows.append(example(length, [-100 if k % 4 == 3 else int(RNG.integers(classes)) for k in range(length)]))
    return rows


def padded(rows):
    """Pad a batch to its longest sequence, as DataCollatorForTokenClassification does."""
    longest = max(len(row["labels"]) for row in rows)
    pads = {"input_ids": 0, "attention_mask": 0, "labels": -100}
    return {
        name: torch.tensor([row[name] + [pad] * (longest - len(row[name])) for row in rows])
        for name, pad in pads.items()
    }


@pytest.mark.parametrize("batches", [False, True])
def test_tokens_that_are_judged(tmp_path, batches):
    """Label -100 is left out, padding within and between batches too; batch by batch gives the same."""
    torch.manual_seed(0)
    model = transformers.BertForTokenClassification(transformers.BertConfig(**TINY, num_labels=4))
    rows = tokens(30, 4)
    metrics = compute_metrics(["ece", "brier"])
    run = trainer(tmp_path, model, rows, metrics, collator=padded, batch_eval_metrics=batches)
    found = run.evaluate()
    p, y = [], []
    with torch.no_grad():
        for row in rows:
            logits = model.eval()(torch.tensor([row["input_ids"]])).logits[0].double().numpy()
            for z, label in zip(logits, row["labels"], strict=True):
                if label != -100:
                    p.append(softmax(z[None])[0])
                    y.append(label)
    assert len(y) < sum(len(row["labels"]) for row in rows)
    assert found["eval_brier_score"] == pytest.approx(believable.brier_score(np.array(p), np.array(y)), rel=1e-5)
    assert metrics.last.clusters is not None
    assert len(metrics.last.labels) == len(y)
    assert [int(n) for n in np.bincount(metrics.last.clusters)] == [
        sum(label != -100 for label in row["labels"]) for row in rows
    ]


def test_a_language_model_looks_one_token_ahead(tmp_path):
    """With `shift`, the logits at a position are compared with the next token."""
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=40, n_embd=16, n_layer=1, n_head=2, n_positions=16)
    model = transformers.GPT2LMHeadModel(config)
    rows = [{**row, "labels": row["input_ids"]} for row in sequences(20, 2)]
    run = trainer(tmp_path, model, rows, compute_metrics("nll", shift=True), prediction_loss_only=False)
    found = run.evaluate()
    ids = torch.tensor([row["input_ids"] for row in rows])
    with torch.no_grad():
        logits = model.eval()(ids).logits[:, :-1].reshape(-1, 40)
    expected = torch.nn.functional.cross_entropy(logits, ids[:, 1:].reshape(-1)).item()
    assert found["eval_negative_log_likelihood"] == pytest.approx(expected, rel=1e-5)
    with pytest.raises(InputError, match="shift is for logits of the shape"):
        trainer(tmp_path, classifier(2), sequences(8, 2), compute_metrics("nll", shift=True)).evaluate()


def test_files_at_the_end(tmp_path):
    """The page is that of the last evaluation; the map reads logits."""
    rows = sequences(120, 3)
    metrics = compute_metrics(["ece", "nll"])
    callback = CalibrationCallback(metrics, html=tmp_path / "audit.html", map=tmp_path / "map.json", title="Tiny")
    run = trainer(tmp_path, classifier(3), rows, metrics, [callback])
    run.train()
    page = (tmp_path / "audit.html").read_text()
    assert f"Tiny, step {run.state.global_step}" in page
    output = run.predict(rows)
    kept = load_recalibrator(tmp_path / "map.json")
    own = TemperatureScaling(input="logits").fit(output.predictions, output.label_ids)
    assert kept.temperature_ == pytest.approx(own.temperature_, rel=1e-4)
    assert kept.transform(output.predictions).shape == (120, 3)
    assert json.loads((tmp_path / "map.json").read_text())["method"]


def test_the_best_model_is_the_one_that_is_reported(tmp_path):
    """With `load_best_model_at_end`, files are about the evaluation of the model that remains."""
    rows = sequences(60, 2)
    metrics = compute_metrics("brier")
    callback = CalibrationCallback(metrics, html=tmp_path / "audit.html")
    options = {"save_strategy": "epoch", "load_best_model_at_end": True, "metric_for_best_model": "brier_score"}
    options |= {"greater_is_better": True, "num_train_epochs": 3}  # the worst, which is the first
    run = trainer(tmp_path, classifier(2), rows, metrics, [callback], **options)
    run.train()
    scores = [entry["eval_brier_score"] for entry in run.state.log_history if "eval_brier_score" in entry]
    steps = [entry["step"] for entry in run.state.log_history if "eval_brier_score" in entry]
    best = steps[int(np.argmax(scores))]
    assert best != steps[-1]
    assert f"Calibration, step {best}" in (tmp_path / "audit.html").read_text()


def test_several_evaluation_sets(tmp_path):
    """Each has files of its own, also after training."""
    rows = sequences(60, 2)
    metrics = compute_metrics("ece")
    callback = CalibrationCallback(metrics, html=tmp_path / "audit.html", map=tmp_path / "map.json")
    evaluated = {"news": rows[:30], "web/../x": rows[30:]}
    run = trainer(tmp_path, classifier(2), rows, metrics, [callback], evaluated=evaluated, num_train_epochs=1)
    run.train()
    assert sorted(one.name for one in tmp_path.glob("*.*")) == [
        "audit-news.html",
        "audit-web----x.html",
        "map-news.json",
        "map-web----x.json",
    ]
    run.evaluate(rows)
    assert (tmp_path / "audit.html").exists()


def test_training_does_not_fail_because_of_a_file(tmp_path, caplog):
    """A map that cannot be fitted is a warning, and a multi-label model has none."""
    rows = [{**row, "labels": [1.0, 0.0]} for row in sequences(20, 2)]
    model = classifier(2, problem_type="multi_label_classification")
    metrics = compute_metrics("brier")
    callback = CalibrationCallback(metrics, map=tmp_path / "map.json")
    with caplog.at_level("WARNING", logger=ours.__name__):
        trainer(tmp_path, model, rows, metrics, [callback], num_train_epochs=1).train()
    assert "a multi-label model has no single map" in caplog.text
    assert not (tmp_path / "map.json").exists()


def predicted(logits, labels):
    return transformers.EvalPrediction(np.asarray(logits, float), np.asarray(labels))


def test_wrong_uses_are_named():
    """One sentence each, at the first evaluation at the latest."""
    with pytest.raises(InputError, match="there is no metric 'f1'"):
        compute_metrics("f1")
    with pytest.raises(InputError, match="has no option 'bins'"):
        compute_metrics(["ece", "nll"], bins=3)
    with pytest.raises(InputError, match="every label is -100: there is nothing to measure"):
        compute_metrics()(predicted([[1, 2, 3]], [-100]))
    with pytest.raises(InputError, match=r"logits of the shape \(2, 3, 4\) do not go with labels of the shape \(2,\)"):
        compute_metrics()(predicted(np.zeros((2, 3, 4)), [0, 1]))
    with pytest.raises(InputError, match="labels must be 0 or 1 for a model of two classes, got 2"):
        compute_metrics()(predicted([[1, 2], [2, 1]], [0, 2]))
    several = transformers.EvalPrediction((np.zeros((2, 3)), np.zeros((2, 3))), (np.zeros(2), np.zeros(2)))
    with pytest.raises(InputError, match="several labels per row"):
        compute_metrics()(several)
    with pytest.raises(InputError, match="compute_metrics must be what"):
        CalibrationCallback(print)
    with pytest.raises(InputError, match="tempreature"):
        CalibrationCallback(compute_metrics(), map="m.json", method="tempreature")
    with pytest.raises(InputError, match="pos_label must be 0 or 1, got 2"):
        compute_metrics(pos_label=2)


def test_undefined_metrics_are_nan(caplog):
    """An evaluation set of one class has no AUC; the training goes on."""
    logging.getLogger(ours.__name__).setLevel("WARNING")
    found = compute_metrics(["auc", "brier"])(predicted([[1, 2], [2, 1]], [1, 1]))
    assert np.isnan(found["auc"])
    assert found["brier_score"] > 0


def test_further_outputs_of_the_model_are_left_out():
    """Hidden states follow the logits in a tuple."""
    logits, labels = np.array([[2.0, 0.0, 1.0], [0.0, 1.0, 0.0]]), np.array([0, 2])
    one = compute_metrics("brier")(transformers.EvalPrediction(logits, labels))
    assert compute_metrics("brier")(transformers.EvalPrediction((logits, np.zeros((2, 5, 8))), labels)) == one


def test_examples():
    """The docstrings' examples hold."""
    assert doctest.testmod(ours).failed == 0
