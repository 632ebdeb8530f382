"""The program as a whole: its name, its help, its first second."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

import believable
from believable._kernels import backend
from believable.cli import main
from believable.readers.columns import LABEL_NAMES, PROB_NAMES, PROB_PREFIXES
from believable.readers.formats import FORMAT_NAMES


def test_version_and_module(run):
    """`believable --version` and `python -m believable` are the same program, and name the kernels in use."""
    which = {"compiled": "compiled kernels", "numpy": "kernels in NumPy"}[backend]
    assert run("--version").output.splitlines()[0] == f"believable, version {believable.__version__}, {which}"
    module = subprocess.run(
        [sys.executable, "-m", "believable", "--version"], capture_output=True, text=True, check=True
    )
    assert module.stdout.strip() == run("--version").output.splitlines()[0]


def test_missing_kernels_are_mentioned(run, monkeypatch):
    """Without compiled kernels `--version` says how to get them, unless NumPy was asked for."""
    monkeypatch.setattr("believable._kernels.backend", "numpy")
    monkeypatch.delenv("BELIEVABLE_KERNELS", raising=False)
    assert "kernels in NumPy\nCompiled kernels are faster: install a C compiler" in run("--version").output
    monkeypatch.setenv("BELIEVABLE_KERNELS", "numpy")
    assert run("--version").output.strip().endswith("kernels in NumPy")


@pytest.mark.parametrize("name", main.commands)
def test_help_explains_every_option(run, name):
    """Each command has a sentence, and each of its options has one too and is listed once."""
    result = run(name, "-h")
    assert result.exit_code == 0
    command = main.commands[name]
    assert command.help
    for parameter in command.params:
        if parameter.param_type_name == "option":
            assert parameter.help, parameter.name
            longest = max(parameter.opts, key=len)
            starts = [line.split()[:2] for line in result.output.splitlines() if line.startswith("  -")]
            assert sum(longest in start for start in starts) == 1, longest


def test_help_of_the_audit_has_every_name_that_is_guessed():
    """Columns are found by documented names, and these are all of them."""
    words = set(re.findall(r"\w+", main.commands["audit"].help))
    assert {*PROB_NAMES, *LABEL_NAMES} <= words
    assert {f"{prefix}CLASS" for prefix in PROB_PREFIXES} <= words


@pytest.mark.parametrize("name", ["audit", "apply", "fit", "compare"])
def test_every_format_can_be_named(name):
    """--format takes what the readers know."""
    (option,) = (each for each in main.commands[name].params if each.name == "format")
    assert tuple(option.type.choices) == FORMAT_NAMES


def test_help_shows_whole_sentences(run):
    """The line of a command in the list of them is not cut off."""
    lines = run("--help").output.splitlines()
    for name in main.commands:
        (line,) = [line for line in lines if line.split()[:1] == [name]]
        assert line.endswith((".", "?"))
        assert not line.endswith("...")


@pytest.mark.parametrize("given", ["scores.csv", "run.trec", "-"])
def test_a_file_in_place_of_a_command(run, given):
    """The command that was meant is named; another word is left to click."""
    result = run(given)
    assert result.exit_code == 2
    assert f"type `believable audit {given}`" in result.stderr
    assert "No such command 'audi'" in run("audi").stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent differently there")
def test_an_interruption_of_the_imports(tmp_path):
    """Ctrl-C before there is a command ends with 130, and without a traceback."""
    code = (
        "import builtins, runpy\n"
        "real = builtins.__import__\n"
        "def importing(name, *rest, **named):\n"
        "    if name == 'click': raise KeyboardInterrupt\n"
        "    return real(name, *rest, **named)\n"
        "builtins.__import__ = importing\n"
        "runpy.run_module('believable', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (130, "")


def test_help_of_the_audit_is_in_sections(run):
    """Options are listed by what they are about."""
    lines = run("audit", "--help").output.splitlines()
    headings = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings[:4] == ["Which columns:", "How to measure:", "What to write:", "Gates:"]
    assert not any(line.strip() == "[FILE]" for line in lines)


def test_the_program_starts_without_the_heavy_packages():
    """Help and wrong options cost no import of polars, scipy, matplotlib or scikit-learn."""
    code = "import sys, json; import believable.cli; print(json.dumps(sorted({m.split('.')[0] for m in sys.modules})))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert not {"polars", "scipy", "matplotlib", "sklearn", "rich"} & set(loaded)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["audit", "compare", "fit"])
def test_clusters_had_another_option(run, folder, name):
    """--group is --cluster, with a note on the error stream; both together are an error, and help has the new one."""
    files = [folder / "a.csv"] if name != "compare" else [folder / "a.csv", folder / "b.csv"]
    options = {"audit": ["--no-fix", "--quiet"], "fit": ["--method", "platt"], "compare": ["--metric", "brier"]}[name]
    new, old = (run(name, *files, "--prob", "p", *options, option, "patient_id") for option in ("--cluster", "--group"))
    assert new.exit_code == old.exit_code == 0
    assert new.stdout == old.stdout
    assert old.stderr == f"Note: --group is now called --cluster; the old name still works.\n{new.stderr}"
    both = run(name, *files, "--cluster", "patient_id", "--group", "patient_id")
    assert both.exit_code == 2
    assert "--group is now called --cluster: leave --group out" in both.stderr
    assert "--cluster NAME" in run(name, "--help").output
    assert "--group" not in run(name, "--help").output
