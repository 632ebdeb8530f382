"""The skill for coding agents is true: every call and command in it runs, and the names it mentions exist."""

from __future__ import annotations

import re
from importlib.resources import files
from importlib.util import find_spec
from operator import attrgetter
from typing import get_args

import numpy as np
import pytest
from scripts import pages

import believable
from believable.readers import load_demo
from believable.report.verdicts import Answer, Verdict
from tests.docs.named_files import write_named_files

TEXT = files("believable").joinpath("SKILL.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in TEXT.splitlines() if line.startswith("| ")]
CALLS = [cells[1].strip("`") for cells in ROWS if re.fullmatch(r"`.+`", cells[1])]
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()]


@pytest.fixture(scope="module")
def names():
    """What the letters of the skill stand for: 300 rows of two models and a matrix."""
    models, rows = load_demo(), slice(300)
    p, q, y = models["naive_bayes"].scores[rows], models["logistic"].scores[rows], models["logistic"].labels[rows]
    given = {"np": np, "believable": believable, "p": p, "q": q, "y": y}
    given |= {"P": np.column_stack([1 - q, q]), "k": y.astype(int), "weight": np.linspace(0.5, 1.5, 300)}
    return given | {"region": np.resize(["north", "south"], 300), "patient": np.arange(300) // 2}


def test_agents_can_find_it():
    """Front matter comes first: a name, and a description that says when to use it."""
    front = re.match(r"---\nname: (\w+)\ndescription: >-\n((?:  .+\n)+)---\n", TEXT)
    assert front[1] == "believable"
    assert 200 < len(front[2]) < 1024


@pytest.mark.slow
def test_the_calls_run(names, tmp_path, monkeypatch, capsys):
    """Every call of the tables runs as it stands, in order, without a warning."""
    monkeypatch.chdir(tmp_path)
    assert len(CALLS) > 25
    for call in CALLS:
        exec(compile(call, call, "exec"), names)
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "reliability.png", "map.json"}


@pytest.mark.slow
def test_the_first_block_runs(capsys):
    """It prints a verdict."""
    exec(re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)[1], {})
    assert capsys.readouterr().out.startswith("No, recalibrate first.")


@pytest.mark.slow
def test_the_commands_run(tmp_path):
    """Every command runs as it stands, in order, and ends with exit code 0."""
    write_named_files(tmp_path)
    with pages._inside(tmp_path):
        for command in COMMANDS:
            pages._shell(command)
    assert (tmp_path / "out.csv").exists()


def test_the_answers_are_those_of_the_verdict():
    """The first table has the five answers, in their order."""
    assert [cells[0].strip("`") for cells in ROWS if cells[0].strip("`") in get_args(Answer)] == list(get_args(Answer))
    assert all(hasattr(Verdict, name) for name in re.findall(r"`verdict\.(\w+)`", TEXT))


@pytest.mark.slow
def test_what_to_read_is_there(names):
    """An attribute named in the last column belongs to the result of the call before it."""
    for cells in ROWS:
        attributes = re.findall(r"`\.(\w+)`", cells[2]) if len(cells) > 2 else []
        if attributes:
            call = re.sub(r"^\w+ = ", "", cells[1].strip("`"))
            result = eval(call, names)
            assert [name for name in attributes if not hasattr(result, name)] == [], call


def test_the_names_exist():
    """Every name of the library that the skill mentions is public, or a package."""
    for name in set(re.findall(r"believable\.([a-zA-Z_]+(?:\.[A-Z]\w+)?)", TEXT)) - {"NAME"}:
        if find_spec(f"believable.{name.partition('.')[0]}") is None or "." in name:
            attrgetter(name)(believable)
    for row in re.findall(r"\.recalibrate\.\w+.* also (.+) \|", TEXT):
        assert all(hasattr(believable.recalibrate, each) for each in re.findall(r"\w+", row))
