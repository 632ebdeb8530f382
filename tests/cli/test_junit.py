"""JUnit XML of the gates: valid, in agreement with the exit code, and written also where the input cannot be audited."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

# What the schemas of Jenkins (xUnit plugin) and of Ant (windyroad) agree on, and what GitLab reads.
ATTRIBUTES = {  # (required, allowed)
    "testsuites": ({"name", "tests", "failures", "errors", "time"}, set()),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped", "time", "timestamp"}, set()),
    "testcase": ({"name", "classname", "time"}, set()),
    "failure": ({"message", "type"}, set()),
    "error": ({"message", "type"}, set()),
    "system-out": (set(), set()),
}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"failure", "error", "system-out"},
    "failure": set(),
    "error": set(),
    "system-out": set(),
}
PATTERNS = {
    "tests": r"\d+",
    "failures": r"\d+",
    "errors": r"\d+",
    "skipped": r"\d+",
    "time": r"\d+\.\d{3}",
    "timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d",
}


def valid(text):
    """Parse a report and check it by the rules of the schemas; return (name, outcome, text) of each case."""
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ')
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    for node in root.iter():
        required, allowed = ATTRIBUTES[node.tag]
        assert required <= set(node.attrib) <= required | allowed, node.tag
        assert {child.tag for child in node} <= CHILDREN[node.tag]
        for name, pattern in PATTERNS.items():
            assert re.fullmatch(pattern, node.get(name, "0.000" if name == "time" else "")) or name not in node.attrib
    (suite,) = root
    cases = list(suite)
    for node in (root, suite):
        assert int(node.get("tests")) == len(cases)
        assert int(node.get("failures")) == sum(case.find("failure") is not None for case in cases)
        assert int(node.get("errors")) == sum(case.find("error") is not None for case in cases)
    assert all(len(case) == 1 for case in cases)
    assert sum(float(case.get("time")) for case in cases) == pytest.approx(float(suite.get("time")), abs=1e-9)
    return [(case.get("name"), case[0].tag, case[0].get("message") or case[0].text) for case in cases]


@pytest.fixture
def report(tmp_path):
    """Where the report goes."""
    return tmp_path / "report.xml"


def test_one_case_for_the_answer_and_one_for_each_gate(run, quick, folder, report):
    """Failures say what was compared with what, and hold the verdict as evidence."""
    gates = ("--fail-above", "ece=0.9", "--fail-above", "ece.low=0.001", "--fail-on", "recalibrate")
    result = run("audit", folder / "a.csv", "--no-fix", "-q", *gates, "--junit", report)
    assert result.exit_code == 1
    assert f"Gates written to {report}" in result.stdout
    answer, kept, failed = valid(report.read_text(encoding="utf-8"))
    assert answer[:2] == ("the answer", "failure")
    assert answer[2].startswith("No, recalibrate first. ")
    assert kept[:2] == ("ece at most 0.9", "system-out")
    assert kept[2].startswith("passed: ece at most 0.9: the upper end of the 95 % interval is 0.")
    assert failed[:2] == ("ece at most 0.001 (lower end)", "failure")
    assert failed[2].startswith("FAILED: ece at most 0.001: the lower end of the 95 % interval is 0.")
    assert "over-predict" in report.read_text(encoding="utf-8")


def test_the_answer_fails_only_if_the_exit_code_does(run, quick, folder, report):
    """Without --fail-on a bad answer exits with 0, so its test case passes, and says what the answer is."""
    assert run("audit", folder / "a.csv", "--no-fix", "-q", "--junit", report).exit_code == 0
    ((name, outcome, text),) = valid(report.read_text(encoding="utf-8"))
    assert (name, outcome) == ("the answer", "system-out")
    assert text.startswith("No, recalibrate first. ")
    assert text.count("No, recalibrate first") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence", "kind"),
    [
        (["nowhere.csv"], "nowhere.csv", "InputError"),
        (["{folder}/a.csv", "--prob", "nothing"], "there is no column 'nothing'", "InputError"),
        (["{folder}/a.csv", "--fail-above", "auc=0.8"], "use --fail-below auc=0.8", "InputError"),
        (["{folder}/a.csv", "--names", "a"], "--junit is for a single model", "InputError"),
        (["{folder}/a.csv", "--html", "{folder}/a.csv"], "is also an input file", "InputError"),
    ],
)
def test_input_that_cannot_be_audited_is_an_error(run, folder, report, arguments, sentence, kind):
    """CI shows what stands on the error stream, in options; the exit code stays 2."""
    result = run("audit", *(one.format(folder=folder) for one in arguments), "--junit", report)
    assert result.exit_code == 2
    assert sentence in result.stderr
    ((name, outcome, message),) = valid(report.read_text(encoding="utf-8"))
    assert (name, outcome) == ("the input", "error")
    assert result.stderr == f"Error: {message}\n"
    assert f'type="{kind}"' in report.read_text(encoding="utf-8")


def test_no_input_is_overwritten(run, folder, tmp_path):
    """Neither the file itself nor one of a folder, and a folder cannot be the report."""
    for path, sentence in [(folder / "a.csv", "is also an input file"), (tmp_path, "is a folder")]:
        before = path.read_bytes() if path.is_file() else None
        result = run("audit", folder / "a.csv", "--junit", path)
        assert result.exit_code == 2
        assert f"--junit {path} {sentence}" in result.stderr
        assert before is None or path.read_bytes() == before
    result = run("audit", folder / "a.csv", "--junit", tmp_path / "x", "--html", tmp_path / "x")
    assert "--html and --junit both name" in result.stderr


def test_an_interruption_leaves_the_old_report(run, quick, folder, report, monkeypatch):
    """Ctrl-C during the audit writes nothing."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    report.write_text("before")
    monkeypatch.setattr("believable.auditing.audit", interrupted)
    assert run("audit", folder / "a.csv", "--junit", report).exit_code == 130
    assert [path.name for path in report.parent.iterdir()] == ["report.xml"]
    assert report.read_text() == "before"


def test_hostile_names_are_text(run, quick, folder, report, tmp_path):
    """Markup is escaped, and what XML cannot hold is replaced: control characters, halves of surrogate pairs."""
    path = tmp_path / "a<b>&\"'\x1b[31m\x00"[:-1]
    path.write_bytes((folder / "a.csv").read_bytes())
    title = "]]><failure message='x'/>\x08\ud800 é\U0001f600\ufffe\n"
    result = run("audit", path, "--format", "csv", "--title", title, "--no-fix", "-q", "--junit", report)
    assert result.exit_code == 0, result.output
    text = report.read_text(encoding="utf-8")
    valid(text)
    assert (
        ElementTree.fromstring(text)
        .find(".//testcase")
        .get("classname")
        .startswith("believable.]]><failure message='x'/>�� é\U0001f600�")
    )
    run("audit", path.with_name("no" + path.name), "--junit", report)
    ((_, outcome, message),) = valid(report.read_text(encoding="utf-8"))
    assert outcome == "error"
    assert "a<b>&\"'�[31m" in message


def test_the_standard_output(run, quick, folder):
    """The report alone goes there; the audit goes to the error stream."""
    result = run("audit", folder / "a.csv", "--no-fix", "-q", "--junit", "-")
    valid(result.stdout)
    assert "No, recalibrate first" in result.stderr
