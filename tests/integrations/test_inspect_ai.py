"""Inspect AI: a metric found by its name, and logs that are read as Inspect itself reads them."""

from __future__ import annotations

import doctest
import math
import subprocess
import sys
from importlib.metadata import entry_points

import numpy as np
import pytest

import believable
from believable.errors import InputError
from believable.readers.logs.inspect_ai import load_eval_log
from tests.needs import need
from tests.readers.inspect_cases import CONFIDENCES, LOG, MARKS

inspect_ai = need("inspect_ai")

from inspect_ai.log import read_eval_log, write_eval_log  # noqa: E402
from inspect_ai.model import ModelOutput  # noqa: E402
from inspect_ai.scorer import SampleScore, Score, accuracy, scorer, value_to_float  # noqa: E402
from inspect_ai.solver import solver  # noqa: E402

from believable.integrations import inspect_ai as ours  # noqa: E402
from believable.integrations.inspect_ai import calibration_error  # noqa: E402

N = 12


@scorer(metrics=[accuracy(), calibration_error(), calibration_error("brier", confidence="confidence")])
def stated():
    """Mark an answer, with a confidence that differs between the epochs."""

    async def score(state, target):
        number = int(state.sample_id)
        confidence = (0.3 + 0.05 * number) / state.epoch
        return Score(value="CI"[(number * state.epoch) % 3 == 0], metadata={"confidence": confidence})

    return score


EXPECTED = [
    ((0.3 + 0.05 * number) / epoch, float((number * epoch) % 3 != 0)) for epoch in (1, 2) for number in range(N)
]


@solver
def simulated():
    """Answer without a model."""

    async def solve(state, generate):
        state.output = ModelOutput.from_content("none", "Oslo")
        return state

    return solve


def evaluated(folder, scorers=None):
    """Run a task, and return its log."""
    dataset = [inspect_ai.dataset.Sample(id=k, input=f"Question {k}?", target="Oslo") for k in range(N)]
    task = inspect_ai.Task(dataset=dataset, solver=simulated(), scorer=scorers or stated(), epochs=2, name="quiz")
    (log,) = inspect_ai.eval(task, model="mockllm/model", log_dir=str(folder), display="none")
    assert log.status == "success", log.error
    return log


def metrics_of(log):
    """Return the values by name: those of reduced epochs first, then those of all."""
    return {name: one.value for score in log.results.scores for name, one in score.metrics.items()}


def test_the_metric_in_an_evaluation(tmp_path):
    """Every epoch is an answer with its own confidence; the value is that of the library."""
    log = evaluated(tmp_path)
    p, y = np.array(EXPECTED).T
    values = list(metrics_of(log).values())
    assert values[0] == pytest.approx(y.mean())
    assert values[1] == pytest.approx(believable.expected_calibration_error(p, y), abs=1e-15)
    assert values[2] == pytest.approx(np.mean((p - y) ** 2), abs=1e-15)


def test_the_metric_equals_the_audit_of_the_log(tmp_path):
    """`believable audit` of the log that Inspect wrote has the same rows."""
    log = evaluated(tmp_path)
    (path,) = tmp_path.glob("*.eval")
    loaded = load_eval_log(path)
    assert sorted(zip(loaded.predictions.scores, loaded.predictions.labels, strict=True)) == sorted(EXPECTED)
    found = believable.expected_calibration_error(loaded.predictions)
    assert found == pytest.approx(list(metrics_of(log).values())[1], abs=1e-15)


def test_it_is_found_by_its_name(tmp_path):
    """The entry point registers it as `believable/calibration_error`, in a process that imports Inspect alone."""
    (entry,) = entry_points(group="inspect_ai", name="believable")
    assert entry.value == "believable.integrations.inspect_ai"
    evaluated(tmp_path)
    (path,) = tmp_path.glob("*.eval")
    code = f"""
from inspect_ai.log import read_eval_log
from inspect_ai._util.registry import registry_create
measure = registry_create("metric", "believable/calibration_error", metric="brier")
from inspect_ai.scorer import SampleScore
scores = [SampleScore(score=s.scores["stated"], sample_id=s.id) for s in read_eval_log({str(path)!r}).samples]
print(measure(scores))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    p, y = np.array(EXPECTED).T
    assert float(run.stdout) == pytest.approx(np.mean((p - y) ** 2), abs=1e-15)


def test_it_is_quick_to_import():
    """Every evaluation where both are installed imports the entry point, so it must not import what it does not need."""
    code = "import sys, inspect_ai.scorer; before = set(sys.modules); import believable.integrations.inspect_ai; "
    code += "print(sorted({name.split('.')[0] for name in set(sys.modules) - before} & {'scipy', 'sklearn', 'polars', 'matplotlib'}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_logs_are_read_as_inspect_reads_them(tmp_path):
    """Samples, order, marks and confidences agree with `read_eval_log`, for both formats."""
    log = read_eval_log(str(LOG))
    write_eval_log(log, str(tmp_path / "quiz.json"), format="json")
    rewritten = tmp_path / "again.eval"
    write_eval_log(log, str(rewritten), format="eval")
    to_float = value_to_float()
    expected = []
    for one in log.samples:
        if not one.scores or (isinstance(one.scores["letter"].value, float) and math.isnan(one.scores["letter"].value)):
            continue
        expected.append(
            (math.exp(one.output.choices[0].logprobs.content[-1].logprob), to_float(one.scores["letter"].value))
        )
    for path in (LOG, tmp_path / "quiz.json", rewritten):
        loaded = load_eval_log(path, correct="letter", confidence="logprobs")
        assert loaded.predictions.scores == pytest.approx([p for p, _ in expected], abs=1e-15)
        assert loaded.predictions.labels.tolist() == [y for _, y in expected]
    graded = load_eval_log(LOG)
    marks = [
        to_float(one.scores["graded"].value)
        for one in log.samples
        if one.scores and one.id not in (9, 10) and not (one.id == 8 and one.epoch == 2)
    ]
    assert graded.predictions.labels.tolist() == marks


def test_the_kept_log_is_what_was_asked_for():
    """The file that other environments read has the cases of its table."""
    log = read_eval_log(str(LOG))
    found = {one.id: one.scores["graded"] for one in log.samples if one.epoch == 1 and one.scores}
    assert [found[k].value for k in range(11)] == list(MARKS[:11])
    assert [(found[k].metadata or {}).get("confidence") for k in range(11)] == CONFIDENCES[:11]


@pytest.mark.parametrize(
    "value", ["C", "I", "P", "N", "yes", "No", "TRUE", "false", "1", "0.5", 1, 0, 0.25, True, False]
)
def test_marks(value):
    """A mark is the number that Inspect's `value_to_float` gives."""
    scores = [SampleScore(score=Score(value=value, metadata={"confidence": 0.0}))] * 2
    scores.append(SampleScore(score=Score(value="C", metadata={"confidence": 1.0})))
    found = calibration_error("brier", correct="score")(scores)
    mark = value_to_float()(value)
    assert found == pytest.approx(2 * mark / 3, abs=1e-15)  # for a mark of y, (0 - 1)² y + (0 - 0)² (1 - y)


def test_values_with_several_numbers():
    """A score whose value is an object has the mark and the confidence as keys."""
    scores = [SampleScore(score=Score(value={"correct": k % 2, "conf": 0.25})) for k in range(4)]
    assert calibration_error("ece")(scores) == pytest.approx(0.25)
    assert calibration_error("ece", confidence="conf", correct="correct")(scores) == pytest.approx(0.25)


def test_an_evaluation_does_not_fail_because_of_it(tmp_path, caplog):
    """Without confidences the value is NaN, and a warning says why; a wrong name is found when the metric is made."""
    with caplog.at_level("WARNING", logger=ours.__name__):
        assert math.isnan(calibration_error()([SampleScore(score=Score(value="C"))]))
    assert "no field has one of the usual names for a confidence" in caplog.text
    assert math.isnan(calibration_error()([]))
    assert math.isnan(calibration_error()([SampleScore(score=Score(value="C", metadata={"confidence": 7}))]))
    with pytest.raises(InputError, match="there is no metric"):
        calibration_error("f1")

    @scorer(metrics=[accuracy(), calibration_error()])
    def silent():
        async def score(state, target):
            return Score(value="C")

        return score

    values = list(metrics_of(evaluated(tmp_path, silent())).values())
    assert values[0] == 1
    assert math.isnan(values[1])


def test_examples():
    """The docstrings' examples hold."""
    assert doctest.testmod(ours).failed == 0
