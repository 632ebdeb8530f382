"""Gates: which end is compared with what, and how the program ends."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

import believable
from believable.auditing.gates import Gate
from believable.cli import main
from believable.cli._gates import answer_gate_of, gate_of, gates_of
from believable.cli._wording import COMMAND_LINE, in_options
from believable.errors import InputError
from believable.metrics import METRICS
from believable.readers import load_demo
from believable.report.metric_names import find
from believable.report.verdicts import Answer
from believable.report.wording import long_name, short_name

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def found():
    """An audit whose ECE is 0.1108, with an interval around it."""
    return believable.audit(load_demo()["naive_bayes"], fix=False)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["low", "high", "value"])
@pytest.mark.parametrize(("metric", "above"), [("ece", True), ("auc", False), ("slope", True), ("slope", False)])
def test_a_gate_compares_the_end_it_is_asked_for(found, metric, above, end):
    """Just on the limit passes, just beyond fails."""
    at = getattr(found[metric], end)
    step = 1e-9 if above else -1e-9
    assert Gate(metric, end, at, above).result(found.__getitem__, 0.95).kept
    assert Gate(metric, end, at + step, above).result(found.__getitem__, 0.95).kept
    assert not Gate(metric, end, at - step, above).result(found.__getitem__, 0.95).kept


def test_the_end_that_needs_proof_is_the_default():
    """--fail-above looks at the upper end, --fail-below at the lower; names and capitals do not matter."""
    above, below = gates_of(["ECE=0.1"], ["accuracy=0.8"])
    assert (above.metric, above.end, above.limit, above.above) == ("ece", "high", 0.1, True)
    assert (below.metric, below.end, below.limit, below.above) == ("acc", "low", 0.8, False)
    assert gate_of("expected_calibration_error.low=0.1", True) == Gate("ece", "low", 0.1, True)
    assert gate_of("auc.value = .8", False) == Gate("auc", "value", 0.8, False)
    gates = (above, Gate("ece", "low", 0.1, True))
    assert [COMMAND_LINE.limit(gate.asked) for gate in gates] == ["--fail-above ece=0.1", "--fail-above ece.low=0.1"]
    assert [gate.name for gate in gates] == ["ece at most 0.1", "ece at most 0.1 (lower end)"]


def test_the_result_has_all_numbers(found):
    """Which end of which interval, the limit, the value and the bins."""
    low, high, value = (f"{number:.4f}" for number in (found["ece"].low, found["ece"].high, found["ece"].value))
    assert str(gate_of("ece=0.1", True).result(found.__getitem__, 0.95)) == (
        f"FAILED: ece at most 0.1: the upper end of the 95 % interval is {high}, above 0.1; its value is {value}, 10 "
        "uniform bins"
    )
    assert str(gate_of("ece.low=0.1", True).result(found.__getitem__, 0.95)) == (
        f"passed: ece at most 0.1: the lower end of the 95 % interval is {low}, not above 0.1; its value is {value}, 10 "
        "uniform bins"
    )
    assert str(gate_of("ece.value=0.1", True).result(found.__getitem__, 0.95)) == (
        f"FAILED: ece at most 0.1: the value is {value}, above 0.1, 10 uniform bins"
    )
    assert str(gate_of("auc=0.8", False).result(found.__getitem__, 0.95)).startswith(
        "passed: auc at least 0.8: the lower end of the 95 %"
    )


def test_a_value_beyond_its_interval_is_explained(found):
    """Chance adds to errors, so that a value may lie above the whole interval."""
    small = replace(found["ece"], value=0.01, low=0.0, high=0.009)
    audit = replace(found, metrics=(small,))
    assert "its value is 0.0100 (which includes noise)" in str(
        gate_of("ece=0.0095", True).result(audit.__getitem__, 0.95)
    )


@pytest.mark.parametrize(
    ("text", "above", "sentence"),
    [
        ("ece", True, "--fail-above takes NAME=LIMIT, such as ece=0.1, got 'ece'"),
        ("auc<0.8", False, "--fail-below takes NAME=LIMIT, such as auc=0.8, got 'auc<0.8'"),
        (
            "ec=0.1",
            True,
            "--fail-above ec=0.1: there is no metric 'ec' (did you mean ece?); `believable metrics` lists",
        ),
        ("log_los=0.5", True, "there is no metric 'log_los' (did you mean nll?)"),
        ("neg_log_loss=0.5", True, "there is no metric 'neg_log_loss': use 'log_loss', for which lower is better here"),
        ("average_precision=0.5", False, "there is no metric 'average_precision' (the nearest is auc)"),
        ("xyz=0.5", True, "there is no metric 'xyz'; `believable metrics` lists them"),
        ("ece.upper=0.1", True, "write .low, .high or .value after the metric, not .upper"),
        ("ece=small", True, "--fail-above ece=small: the limit must be a number, got 'small'"),
        ("ece=", True, "the limit must be a number, got ''"),
        ("ece=nan", True, "the limit must be a number, got 'nan'"),
        ("ece=10", True, "ece lies in [0, 1], so 10 cannot be its limit; for 10 %, write 0.1"),
        ("ece=-0.1", True, "ece lies in [0, 1], so -0.1 cannot be its limit"),
        ("auc=0.8", True, "--fail-above auc=0.8: higher auc is better, so use --fail-below auc=0.8"),
        ("ece=0.1", False, "--fail-below ece=0.1: lower ece is better, so use --fail-above ece=0.1"),
    ],
)
def test_what_cannot_be_a_gate(run, folder, text, above, sentence):
    """Exit code 2 before anything is read, and a sentence that says what to write instead."""
    result = run("audit", folder / "nowhere.csv", "--fail-above" if above else "--fail-below", text)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_metric_that_the_audit_lacks(run, folder, found):
    """Not of this kind of predictions, undefined here, or without an interval: each is told."""
    result = run("audit", folder / "a.csv", "--fail-above", "sce=0.1")
    assert result.exit_code == 2
    assert "with one score per row, an audit does not measure sce; choose one of ece, smece" in result.stderr
    result = run("audit", folder / "classes.csv", "--fail-above", "ici=0.1")
    assert "with a score for each class, an audit does not measure ici" in result.stderr
    with pytest.raises(InputError) as error:
        gate_of("auc=0.8", False).result(replace(found, metrics=found.metrics[:1]).__getitem__, 0.95)
    assert in_options(error.value.sentence) == "--fail-below auc=0.8: auc is not defined for these predictions"
    assert str(error.value) == "auc=0.8: auc is not defined for these predictions"
    bare = replace(found, metrics=(replace(found["auc"], low=None, high=None, note="no interval: too many rows"),))
    with pytest.raises(InputError) as error:
        gate_of("auc=0.8", False).result(bare.__getitem__, 0.95)
    assert in_options(error.value.sentence) == (
        "--fail-below auc=0.8: auc has no interval here (no interval: too many rows); to compare its value, write "
        "--fail-below auc.value=0.8"
    )
    assert str(error.value).endswith("to compare its value, write auc_value=0.8")
    assert gate_of("auc.value=0.8", False).result(bare.__getitem__, 0.95).kept


def test_exit_codes(run, quick, folder, tmp_path):
    """0 where every gate passes, 1 where one fails; reports are written all the same."""
    passing = run("audit", folder / "a.csv", "--no-fix", "-q", "--fail-above", "ece=0.9", "--fail-below", "auc=0.1")
    assert passing.exit_code == 0, passing.output
    assert passing.stdout.count("Gate passed: ") == 2
    page, numbers = tmp_path / "page.html", tmp_path / "audit.json"
    gates = ("--fail-above", "ece=0.9", "--fail-above", "ece=0.001", "--fail-below", "auc=0.999")
    failing = run("audit", folder / "a.csv", "--no-fix", *gates, "--html", page, "--json", numbers)
    assert failing.exit_code == 1
    assert (failing.stdout.count("Gate passed: "), failing.stdout.count("Gate FAILED: ")) == (1, 2)
    assert page.exists()
    assert believable.Audit.from_json(numbers.read_text(encoding="utf-8"))["ece"].high > 0.001


ANSWERS = {
    "recalibrate": {"no, recalibrate first"},
    "care": {"use with care", "no, recalibrate first"},
    "not-enough-data": {"not enough data"},
}


@pytest.mark.parametrize("words", [("recalibrate",), ("care",), ("not-enough-data",), ("care", "not-enough-data")])
def test_answers_that_fail(found, words):
    """What fails on "Use with care" fails on "No" too; both kinds of Yes always pass."""
    gate = answer_gate_of(words)
    failing = set().union(*(ANSWERS[word] for word in words))
    for answer in get_args(Answer):
        result = gate.result(replace(found.verdict, answer=answer))
        assert result.kept == (answer not in failing)
        assert str(result) == (
            f'{"passed" if result.kept else "FAILED"}: the answer is "{answer[0].upper()}{answer[1:]}"'
        )
    assert answer_gate_of(()) is None


def test_the_answer_decides_the_exit_code_only_if_it_is_asked_to(run, quick, folder):
    """Without --fail-on every answer exits with 0; with it, a bad one exits with 1 and is printed."""
    assert run("audit", folder / "a.csv", "--no-fix", "-q").exit_code == 0
    failing = run("audit", folder / "a.csv", "--no-fix", "-q", "--fail-on", "recalibrate")
    assert failing.exit_code == 1
    assert 'Gate FAILED: the answer is "No, recalibrate first"' in failing.stdout
    assert run("audit", folder / "b.csv", "--no-fix", "-q", "--fail-on", "recalibrate").exit_code == 0
    assert run("audit", folder / "a.csv", "--fail-on", "no").exit_code == 2


def test_a_gate_that_cannot_be_judged_writes_nothing(run, folder, tmp_path, monkeypatch):
    """An undefined metric is bad input: exit code 2, no report."""
    path = tmp_path / "one.csv"
    path.write_text("y,p\n" + "1,0.5\n1,0.75\n" * 10)
    result = run("audit", path, "--no-fix", "--fail-below", "auc=0.5", "--json", tmp_path / "audit.json")
    assert result.exit_code == 2
    assert "auc is not defined for these predictions" in result.stderr
    assert not (tmp_path / "audit.json").exists()


@pytest.mark.parametrize(
    ("name", "alias"),
    [
        ("log_loss", "nll"),
        ("Log loss", "nll"),
        ("brier_score", "brier"),
        ("Brier score", "brier"),
        ("Largest gap (MCE)", "mce"),
        ("observed over expected", "oe"),
        ("Observed / predicted", "oe"),
        ("KOLMOGOROV–SMIRNOV ERROR", "ks"),
        ("roc_auc", "auc"),
        ("brier_score_loss", "brier"),
    ],
)
def test_names_as_reports_have_them(name, alias):
    """What is printed or shown as the name of a metric can be asked for."""
    assert find(name, "here").alias == alias


def test_no_two_metrics_share_a_name():
    """Whatever a report calls a metric leads to that metric."""
    for row in METRICS.values():
        for title in (row.name, row.alias, long_name(row.alias, row.name), short_name(row.alias, row.name)):
            assert find(title, "here") is row, title


def test_each_file_is_audited_by_itself(run, quick, folder):
    """All of them, the worst exit code wins, and one that cannot be audited does not stop the others."""
    options = ("--each", "--no-fix", "-q", "--fail-on", "recalibrate")
    assert run("audit", *options, folder / "b.csv").exit_code == 0
    result = run("audit", *options, folder / "a.csv", folder / "b.csv")
    assert result.exit_code == 1
    headings = [line for line in result.stdout.splitlines() if line.startswith("--- ")]
    assert headings == [f"--- {folder / 'a.csv'}", f"--- {folder / 'b.csv'}"]
    assert result.stdout.count("Gate FAILED") == result.stdout.count("Gate passed") == 1
    result = run("audit", *options, folder / "no.csv", folder / "a.csv", folder / "b.csv")
    assert result.exit_code == 2
    assert result.stdout.count("Gate ") == 2
    assert "no.csv" in result.stderr
    assert run("audit", "--each").exit_code == 2
    result = run("audit", *options, folder / "a.csv", "--html", folder / "x.html")
    assert result.exit_code == 2
    assert "--html is for a single audit and cannot be combined with --each" in result.stderr


def test_the_hook_of_pre_commit_is_as_its_page_says():
    """Its options exist, its page quotes them, and its pattern finds files of predictions."""
    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "integrations" / "pre-commit.md").read_text(encoding="utf-8")
    entry = re.search("entry: (.*)", text)[1]
    assert f"The hook runs `{entry}`" in page
    assert "args: [--fail-on, recalibrate]" in text
    known = {name for one in main.commands["audit"].params for name in (*one.opts, *one.secondary_opts)}
    assert {*re.findall(r"--[\w-]+", text + re.search(r"args: .*", page)[0])} <= known
    pattern = re.search("files: (.*)", text)[1]
    assert re.search(pattern, "a/my-predictions 2.csv")
    assert not re.search(pattern, "predictions/table.csv")
