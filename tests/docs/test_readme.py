"""The README is true: its code and commands run, and what it shows is what they print."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner
from scripts import make_readme, pages

from believable.cli import main
from tests.docs.named_files import write_named_files

README = make_readme.ROOT / "README.md"
TEXT = README.read_text()
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An empty folder with the files that the commands name."""
    made = tmp_path_factory.mktemp("readme")
    write_named_files(made)
    return made


@pytest.mark.slow
def test_the_python_runs(tmp_path, monkeypatch, capsys):
    """Every Python block runs as it stands, and leaves its files."""
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(compile(code, "README.md", "exec"), names)
    assert "No, recalibrate first. When it says 97 %" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"reliability.png", "report.html", "map.json"}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda line: line.partition(" #")[0].strip())
def test_the_commands_run(command, folder):
    """Each command runs as it stands, in order, and ends with the exit code that its comment says, or 0."""
    with pages._inside(folder):
        printed = pages._shell(command)
    assert printed or (folder / "out.csv").exists()


def test_no_command_is_left_out():
    """What is not run is the installation."""
    others = re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)
    assert len(COMMANDS) >= 12
    assert ['pip install ".[all]"' in block for block in others] == [True]


@pytest.mark.slow
def test_the_demo_says_what_is_shown(tmp_path):
    """The output shown is the output printed."""
    shown = re.search(r"<!-- demo -->\n```text\n(.*?)```", TEXT, re.DOTALL).group(1)
    printed = CliRunner().invoke(main, ["demo", "-o", str(tmp_path / "demo.png")]).output
    assert shown.strip() in printed


def test_the_benchmarks_are_those_measured():
    """The excerpt is made of docs/benchmarks.json, and holds an operation where others are quicker, too."""
    assert make_readme.readme() == TEXT
    assert re.search(r"\| 0\.\d+ \|$", make_readme.excerpt(), re.MULTILINE)


def test_the_picture_of_the_report_is_small():
    """It is there, and at most 200 KB."""
    assert (pages.DOCS / "images" / "report.png").stat().st_size <= 200_000
