"""The pre-commit hook: the real pre-commit installs this repository and runs the hook on files of a repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.needs import need

ROOT = Path(__file__).resolve().parent.parent.parent
pytestmark = pytest.mark.slow


def command(*words, folder, **variables):
    """Run a command in a folder, and return it with its output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHONPATH"))}
    names = ("AUTHOR", "COMMITTER")
    environment |= {f"GIT_{one}_NAME": "test" for one in names} | {
        f"GIT_{one}_EMAIL": "test@localhost" for one in names
    }
    return subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env=environment | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def committed(folder):
    """Make a folder a repository with everything in it committed; return the commit."""
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        done = command("git", *words, folder=folder)
        assert done.returncode == 0, done.stdout
    return command("git", "rev-parse", "HEAD", folder=folder).stdout.strip()


@pytest.fixture(scope="module")
def hooks(tmp_path_factory):
    """This repository as it is in the working tree, and its commit."""
    need("pre_commit")
    folder = tmp_path_factory.mktemp("believable")
    listed = command("git", "ls-files", "-co", "--exclude-standard", folder=ROOT).stdout.splitlines()
    for name in listed:
        if (ROOT / name).is_file() and not name.startswith(("docs/", "tests/", "benchmarks/", "examples/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder, committed(folder)


@pytest.fixture(scope="module")
def run(hooks, tmp_path_factory):
    """Run pre-commit in a repository; environments are installed once."""
    home = tmp_path_factory.mktemp("home")

    def call(*words, folder):
        return command(sys.executable, "-m", "pre_commit", *words, folder=folder, PRE_COMMIT_HOME=str(home))

    return call


@pytest.fixture
def project(tmp_path):
    """A repository with calibrated predictions, over-confident ones, and a table that is none."""
    rng = np.random.default_rng(0)
    p = rng.random(800)
    y = (rng.random(800) < p).astype(int)
    over = np.clip(p * 1.6 - 0.3, 0.001, 0.999)
    for name, scores in (("good_predictions.csv", p), ("bad predictions $(touch hacked).csv", over)):
        rows = "\n".join(f"{a:.4f},{b}" for a, b in zip(scores, y, strict=True))
        (tmp_path / name).write_text(f"risk,y\n{rows}\n")
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    return tmp_path


def configured(folder, hooks, *lines):
    """Write the configuration of a repository, and commit everything."""
    repository, commit = hooks
    text = f"repos:\n  - repo: {repository}\n    rev: {commit}\n    hooks:\n      - id: believable-audit\n"
    (folder / ".pre-commit-config.yaml").write_text(text + "".join(f"        {line}\n" for line in lines))
    committed(folder)


def test_try_repo(hooks, run, project):
    """As anybody would try it: two files are found by their names, and the one that needs recalibration fails."""
    for path in project.glob("*predictions*.csv"):
        path.write_text(path.read_text().replace("risk", "p"))  # a name that is found without an option
    committed(project)
    done = run("try-repo", hooks[0], "believable-audit", "--all-files", folder=project)
    assert done.returncode == 1, done.stdout
    assert "audit the calibration of predictions" in done.stdout
    assert "--- bad predictions $(touch hacked).csv\nNo, recalibrate first." in done.stdout
    assert re.search(r"--- good_predictions\.csv\nYes", done.stdout)


def test_options_and_gates(hooks, run, project):
    """With args, columns and limits are those of the command line; each file is audited by itself."""
    configured(project, hooks, "args: [--prob, risk, --fail-on, recalibrate]")
    done = run("run", "--all-files", folder=project)
    assert done.returncode == 1, done.stdout
    assert "- exit code: 1" in done.stdout
    assert "--- bad predictions $(touch hacked).csv\nNo, recalibrate first." in done.stdout
    assert re.search(r"--- good_predictions\.csv\nYes", done.stdout)
    assert done.stdout.count("Gate FAILED") == done.stdout.count("Gate passed") == 1
    assert "table.csv" not in done.stdout
    assert not (project / "hacked").exists()


def test_what_passes_is_committed(hooks, run, project):
    """With limits that are kept the hook passes, on the files that the repository chooses."""
    configured(project, hooks, "args: [--prob, risk, --fail-above, ece=0.1]", "files: ^good_")
    done = run("run", "--all-files", folder=project)
    assert done.returncode == 0, done.stdout
    assert "Passed" in done.stdout


def test_a_bad_file_fails(hooks, run, project):
    """Exit code 2, with the sentence that says what to do."""
    configured(project, hooks, "args: [--fail-on, care]", "files: ^table")
    done = run("run", "--all-files", folder=project)
    assert done.returncode == 1  # of pre-commit itself
    assert "- exit code: 2" in done.stdout
    assert "Error: table.csv: " in done.stdout
