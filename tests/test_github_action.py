"""The GitHub Action: its steps are run as a runner runs them, with hostile inputs, and report what GitHub expects."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scripts import github_action

ROOT = Path(__file__).resolve().parent.parent
yaml = pytest.importorskip("yaml")
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}


def test_inputs_reach_scripts_as_variables_only():
    """No expression is pasted into a script, where its text would be run."""
    for step in STEPS.values():
        assert "${{" not in step.get("run", "")
        assert ("run" in step) == ("shell" in step)
    used = "".join(map(str, ACTION["runs"]["steps"]))
    assert set(re.findall(r"inputs\.([\w-]+)", used)) == set(ACTION["inputs"])
    read = re.findall(r'given\("(\w+)"\)|"(FAIL_\w+)"', (ROOT / "scripts" / "github_action.py").read_text())
    variables = {f"INPUT_{name or other}" for name, other in read}
    assert variables == {name for step in STEPS.values() for name in step.get("env", {})}


def test_the_metadata_is_complete():
    """What the marketplace and the runner demand of a composite action."""
    assert ACTION["runs"]["using"] == "composite"
    assert all(ACTION[name] for name in ("name", "description", "author", "branding"))
    assert len(ACTION["description"]) <= 125
    for one in ACTION["inputs"].values():
        assert one["description"]
        assert one.get("required") or isinstance(one["default"], str)
    outputs = re.findall(r"steps\.audit\.outputs\.([\w-]+)", str(ACTION["outputs"]))
    assert outputs == list(ACTION["outputs"]) == ["answer", "exit-code", "report", "json"]
    assert STEPS["Audit"]["id"] == "audit"


class Runner:
    """A runner of GitHub: runs the scripts of the steps in bash, with the environment that it would have."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.workspace, self.temporary = folder, folder / "workspace", folder / "temp"
        self.workspace.mkdir()
        self.temporary.mkdir()
        self.summary, self.output = folder / "summary.md", folder / "output.txt"

    def __call__(self, step: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        step = STEPS[step]
        values = {name: one.get("default", "") for name, one in ACTION["inputs"].items()} | {
            name.replace("_", "-"): value for name, value in inputs.items()
        }
        environment = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: values[found[1]], expression)
            for name, expression in step["env"].items()
        }
        environment |= {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "PYTHONIOENCODING": "cp1252",  # that of Windows, where GitHub reads UTF-8 too
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_OUTPUT": str(self.output),
            "RUNNER_TEMP": str(self.temporary),
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        self.summary.write_text("")
        self.output.write_text("")
        return subprocess.run(
            command, cwd=self.workspace, env=environment, capture_output=True, encoding="utf-8", check=False
        )

    @property
    def outputs(self) -> dict[str, str]:
        """The outputs, read as GitHub reads them."""
        found = re.findall(r"^([\w-]+)<<(\S+)\n(.*?)\n\2$", self.output.read_text(), re.MULTILINE | re.DOTALL)
        return {name: value for name, _, value in found}


@pytest.fixture
def runner(tmp_path):
    """A runner where believable is installed, with a file of over-confident scores."""
    made = Runner(tmp_path)
    programs = made.temporary / "believable" / "environment" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(sys.executable)
    program = programs / "believable"
    quick = "from believable.auditing import measure\nmeasure.AUDITED_ERRORS = {'binary': ('ece',)}\n"
    program.write_text(f"#!{sys.executable}\n{quick}from believable.__main__ import run\nrun()\n")
    program.chmod(0o755)
    rng = np.random.default_rng(0)
    q = rng.random(500)
    p = np.clip(q * 1.6 - 0.3, 0.001, 0.999)
    y = (rng.random(500) < q).astype(int)
    site = np.where(np.arange(500) % 2, "a", "::error::b")
    rows = "\n".join(f"{a:.4f},{b},{c}" for a, b, c in zip(p, y, site, strict=True))
    (made.workspace / "scores.csv").write_text(f"p,y,site\n{rows}\n")
    return made


def obeyed(log: str) -> list[str]:
    """The workflow commands that a runner obeys in a log."""
    found, stopped = [], ""
    for line in log.splitlines():
        command = re.match(r"::([\w-]+)(?: [^:]*)?::(.*)", line)
        if stopped:
            stopped = "" if line == f"::{stopped}::" else stopped
        elif command and command[1] == "stop-commands":
            stopped = command[2]
        elif command:
            found.append(line)
    return found


@pytest.mark.slow
def test_it_installs_the_version_it_belongs_to(tmp_path):
    """Into an environment of its own, from the files of the action, with its command line."""
    runner = Runner(tmp_path)
    done = runner("Install believable", file="scores.csv")
    assert done.returncode == 0, done.stderr
    program = runner.temporary / "believable" / "environment" / "bin" / "believable"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    assert said.startswith("believable, version ")


def test_versions_are_versions(runner):
    """Nothing else reaches pip."""
    done = runner("Install believable", file="scores.csv", version="1.0 --index-url http://evil")
    assert done.returncode == 2
    assert obeyed(done.stdout) == [
        "::error title=Calibration audit::version must be a version such as 1.2.0, got '1.0 --index-url http://evil'"
    ]


def test_a_passing_audit(runner):
    """Exit code 0, the Markdown in the summary, the answer and both paths as outputs, and no annotation."""
    done = runner("Audit", file="scores.csv", options="--no-fix --full --by site", fail_above="ece=0.9")
    assert done.returncode == 0, done.stdout + done.stderr
    assert obeyed(done.stdout) == []
    assert "::error::b" in done.stdout  # from the file, and not obeyed
    outputs = runner.outputs
    assert (outputs["answer"], outputs["exit-code"]) == ("no, recalibrate first", "0")
    assert json.loads(Path(outputs["json"]).read_text())["verdict"]["answer"] == outputs["answer"]
    report, summary = Path(outputs["report"]).read_text(), runner.summary.read_text()
    assert summary.startswith("# Calibration audit: ")
    assert "- passed: ece at most 0.9: the upper end of the 95 % interval is 0." in summary
    heading, answer, rest = report.strip().split("\n\n", 2)
    assert summary.startswith(f"{heading}\n\n{answer}\n\n- passed: ece")
    assert rest in summary


def test_a_failing_audit(runner):
    """Exit code 1, an annotation for each gate that failed, and what failed at the head of the summary."""
    done = runner(
        "Audit",
        file="scores.csv\n",
        options="--no-fix",
        fail_above="ece=0.01\nbrier=0.9",
        fail_on="care",
        junit="gates.xml",
    )
    assert done.returncode == 1
    first, second = obeyed(done.stdout)
    assert first.startswith("::error title=Calibration audit::No, recalibrate first. ")
    assert second.startswith("::error title=Calibration audit::FAILED: ece at most 0.01: ")
    assert "95 %25 interval" in second
    assert runner.outputs["exit-code"] == "1"
    lines = runner.summary.read_text().splitlines()
    assert lines[2].startswith("**No, recalibrate first. ")
    assert lines[4] == "- FAILED: this answer was not to pass."
    assert lines[5].startswith("- FAILED: ece at most 0.01")
    assert lines[6].startswith("- passed: brier at most 0.9")
    assert (runner.workspace / "gates.xml").read_text().startswith("<?xml")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"file": "nowhere.csv"}, "nowhere.csv"),
        ({"file": "  \n"}, "file is empty: name the file to audit"),
        ({"options": "--prob 'p"}, "options cannot be read: No closing quotation"),
        ({"options": "--json x.json"}, "options has --json, which the action sets itself: use the output json"),
        ({"options": "--no-such-option"}, "believable audit ended with exit code 2; the log says why"),
        ({"options": "--help"}, "options ask for something else than an audit"),
        ({"file": "\u017c.csv", "fail_on": "care,recalibrate"}, "there is no file \u017c.csv"),
        ({"junit": "scores.csv"}, "junit must be a new file in a folder that exists, got 'scores.csv'"),
        ({"fail_above": "auc=0.5"}, "use --fail-below auc=0.5"),
    ],
)
def test_bad_input(runner, inputs, said):
    """Exit code 2 with the sentence as an annotation and, once the audit was tried, in the summary; no answer."""
    before = (runner.workspace / "scores.csv").read_bytes()
    done = runner("Audit", **{"file": "scores.csv", "options": "--no-fix"} | inputs)
    assert done.returncode == 2
    (annotation,) = obeyed(done.stdout)
    assert done.stderr == ""  # GitHub reads it too, and in no order with the other stream
    assert said in annotation
    assert runner.outputs["exit-code"] == "2"
    assert runner.outputs.get("answer", "") == ""
    assert "json" not in runner.outputs
    assert (runner.workspace / "scores.csv").read_bytes() == before


HOSTILE = [
    "-rf.csv",
    "--help.csv",
    "a b  c.csv",
    "$(touch hacked).csv",
    "`touch hacked`.csv",
    "'; touch hacked; '.csv",
    '" && touch hacked && ".csv',
    "${{ github.token }}.csv",
    "%0A::error::x.csv",
    "<img src=x onerror=alert(1)>.csv",
    "é\U0001f600.csv",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_names_of_files_are_not_run(runner, name):
    """They are one argument, whatever is in them, and text in the summary."""
    (runner.workspace / "scores.csv").rename(runner.workspace / name)
    done = runner("Audit", file=name, options="--no-fix", fail_on="recalibrate")
    assert done.returncode == 1, done.stdout + done.stderr
    assert {path.name for path in runner.workspace.iterdir()} == {name}
    assert len(obeyed(done.stdout)) == 1
    assert "<img" not in runner.summary.read_text().replace("\\<img", "")


def test_options_on_several_lines(runner):
    """Read as a shell reads them, without running anything."""
    options = "--no-fix\n--title 'two words; $(touch hacked)'\n  --label y\n  --bins \\\n 5\n"
    done = runner("Audit", file="scores.csv", options=options)
    assert done.returncode == 0, done.stderr
    saved = json.loads(Path(runner.outputs["json"]).read_text())
    assert (saved["title"], saved["verdict"]["n_bins"]) == ("two words; $(touch hacked)", 5)
    assert not (runner.workspace / "hacked").exists()


def test_no_summary_if_none_is_wanted(runner):
    """summary: false."""
    assert runner("Audit", file="scores.csv", options="--no-fix", summary="false").returncode == 0
    assert runner.summary.read_text() == ""


def test_the_page_names_every_input_and_output():
    """Its workflows use inputs that exist, and its tables list them all."""
    page = (ROOT / "docs" / "integrations" / "github-actions.md").read_text(encoding="utf-8")
    workflows = [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)]
    steps = [step for one in workflows for job in one["jobs"].values() for step in job["steps"]]
    audits = [step for step in steps if step.get("uses", "").endswith("/believable@main")]
    assert len(audits) >= 2
    for step in audits:
        assert set(step["with"]) <= set(ACTION["inputs"])
        assert "file" in step["with"]
    inputs, outputs = re.findall(r"(?:^\| `[\w-]+` \|.*\n)+", page, re.MULTILINE)
    assert re.findall(r"^\| `([\w-]+)`", inputs, re.MULTILINE) == list(ACTION["inputs"])
    assert re.findall(r"^\| `([\w-]+)`", outputs, re.MULTILINE) == list(ACTION["outputs"])


def test_a_summary_fits():
    """Too long a report is cut after a line, and says so."""
    text = "# é\n" + "é line\n" * 200_000
    kept = github_action.fitting(text)
    assert len(kept.encode()) <= 1024 * 1024
    assert kept.endswith("é line\n\nThe rest does not fit into a summary.")
    assert github_action.fitting("short\n") == "short\n"
