"""The documentation is true: its code runs, its tables are current, its links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from believable.cli import main
from tests.needs import need

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    """The first Python block runs as it stands."""
    monkeypatch.chdir(tmp_path)
    code, _ = blocks("python")
    exec(compile(code, "README.md", "exec"), {})
    assert "expected_calibration_error" in capsys.readouterr().out
    assert (tmp_path / "reliability.png").exists()


def test_the_torch_of_the_readme_runs(capsys):
    """The second Python block runs as it stands, where torch is installed."""
    torch = need("torch")
    _, code = blocks("python")
    with torch.random.fork_rng(devices=[]):
        exec(compile(code, "README.md", "exec"), {})
    assert "expected_calibration_error" in capsys.readouterr().out


def test_the_demo_says_what_the_readme_shows(tmp_path):
    """The output shown is the output printed."""
    shown = re.search(r"<!-- demo -->\n```text\n(.*?)```", README, re.DOTALL).group(1)
    printed = CliRunner().invoke(main, ["demo", "-o", str(tmp_path / "demo.png")]).output
    assert shown.strip() in printed


def test_the_shell_of_the_readme_exists():
    """Every command and option shown is one that the program has."""
    lines = [line.partition("#")[0].split() for block in blocks("sh") for line in block.splitlines()]
    commands = [line for line in lines if line and line[0] == "believable"]
    assert len(commands) >= 9
    for line in commands:
        options = [word for word in line if word.startswith("--")]
        command = main.commands.get(line[1])
        known = {name for parameter in command.params for name in parameter.opts} if command else {"--help"}
        assert set(options) <= known | {"--help", "--version"}, line


def test_the_tables_are_current():
    """`make docs` would change nothing."""
    spec = importlib.util.spec_from_file_location("make_docs", ROOT / "scripts" / "make_docs.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert (ROOT / "docs" / "metrics.md").read_text() == script.metric_table()
    assert (ROOT / "docs" / "recalibrators.md").read_text() == script.recalibrator_table()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    """Relative links and pictures exist."""
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
