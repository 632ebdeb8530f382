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
    """Every command and option shown, here and on the pages on audits and scale, is one that the program has."""
    pages = (ROOT / "docs" / "audit.md").read_text() + (ROOT / "docs" / "scale.md").read_text()
    others = re.findall(r"```sh\n(.*?)```", pages, re.DOTALL)
    lines = [line.partition("#")[0].split() for block in [*blocks("sh"), *others] for line in block.splitlines()]
    commands = [line for line in lines if line and line[0] == "believable"]
    assert len(commands) >= 9
    for line in commands:
        options = [word for word in line if word.startswith("--")]
        command = main.commands.get(line[1])
        known = {name for parameter in command.params for name in parameter.opts} if command else {"--help"}
        assert set(options) <= known | {"--help", "--version"}, line


def test_the_python_of_the_page_on_recalibration_runs(tmp_path, monkeypatch):
    """Every block runs as it stands, one after the other."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "recalibration.md").read_text()
    names = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "recalibration.md", "exec"), names)
    assert names["result"].improvement.gains["log_loss"].is_sure
    assert (tmp_path / "map.json").exists()


@pytest.mark.parametrize("page", ["audit.md", "deciding.md", "monitoring.md", "scale.md"])
def test_the_python_of_other_pages_runs(page, tmp_path, monkeypatch):
    """Every block runs as it stands, one after the other, and leaves its files."""
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL))
    exec(compile(code, page, "exec"), {})
    named = set(re.findall(r"""["'](\w+\.(?:png|html|json|cells|parquet))["']""", code))
    assert named == {path.name for path in tmp_path.iterdir()}


def test_the_python_of_the_page_on_torch_runs(tmp_path, monkeypatch, capsys):
    """Every block runs as it stands, one after the other, and prints what is shown below it."""
    torch, _ = need("torch"), need("torchmetrics")
    monkeypatch.chdir(tmp_path)
    page, names = (ROOT / "docs" / "torch.md").read_text(), {}
    with torch.random.fork_rng(devices=[]):
        for code, _, shown in re.findall(r"```python\n(.*?)```(\n\n```text\n(.*?)```)?", page, re.DOTALL):
            exec(compile(code, "torch.md", "exec"), names)
            printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
            assert printed == shown.splitlines()
    assert {path.name for path in tmp_path.iterdir()} == {"map.json", "tokens.png"}


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
