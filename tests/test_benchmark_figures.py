"""Every figure that was simulated has a script that prints it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from benchmarks.figures import FIGURES

ROOT = Path(__file__).resolve().parent.parent
LISTED = re.findall(
    r"^\| (`(?:README|docs|src)[^|]*) \| `([^`]+)` \|$", (ROOT / "benchmarks/README.md").read_text(), re.MULTILINE
)
SLOW = ("structured", "summaries", "absent", "cells")


def is_script(name):
    """Whether `python -m` would find it."""
    return importlib.util.find_spec(f"{name}.__main__" if name == "benchmarks" else name) is not None


def test_the_table_of_figures_names_files_and_scripts_that_exist():
    """Each file quotes a figure, and each script prints one."""
    assert len(LISTED) > 20
    for files, script in LISTED:
        module, _, figure = script.partition(" ")
        assert is_script(module), script
        assert not figure or figure in FIGURES
        assert [path for path in re.findall(r"`([^`]+)`", files) if not (ROOT / path).exists()] == []
    printed = {script.partition(" ")[2] for _, script in LISTED} - {""}
    assert printed == set(FIGURES)


def test_scripts_that_are_named_exist():
    """In pages, docstrings and comments."""
    files = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "src").rglob("*.py"),
        *ROOT.glob("benchmarks/*"),
    ]
    text = "".join(path.read_text() for path in files if path.suffix in (".md", ".py"))
    named = set(re.findall(r"python -m (benchmarks(?:\.\w+)?)", text)) | {
        f"benchmarks.{name}" for name in re.findall(r"python benchmarks/(\w+)\.py", text)
    }
    assert len(named) > 10
    assert [name for name in sorted(named) if not is_script(name)] == []


def test_docstrings_that_simulate_name_their_script():
    """A figure "in simulations" is followed by the call that prints it."""
    for path in (ROOT / "src").rglob("*.py"):
        text = re.sub(r"\s+#?\s*", " ", path.read_text())
        for found in re.finditer(r"[Ii]n simulations", text):
            assert "python -m benchmarks." in text[found.start() - 200 : found.start() + 400], (
                f"{path.name}: {text[found.start() :][:100]}"
            )


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in FIGURES]
)
def test_a_figure_is_printed(name):
    """On hardly any data sets."""
    assert FIGURES[name].__doc__
    lines = list(FIGURES[name](2))
    assert lines
    assert all(re.search(r"\d", line) for line in lines)
