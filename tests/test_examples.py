"""The notebooks are what their sources say, were run to the end, and still run."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import json
import re
from pathlib import Path

import pytest
from scripts import pages

import believable
from believable.readers import load_demo

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "examples").glob("*.py"))
AUDIENCES = ["classifier", "clinical_risk", "language_model", "neural_network", "reranker"]


def script():
    spec = importlib.util.spec_from_file_location("make_notebooks", ROOT / "scripts" / "make_notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def notebook(source):
    return json.loads(source.with_suffix(".ipynb").read_text(encoding="utf-8"))


def text(lines):
    """A field of a notebook is a string, or a list of lines."""
    return lines if isinstance(lines, str) else "".join(lines)


def code(source):
    return [body for kind, body in script().cells_of(source.read_text(encoding="utf-8")) if kind == "code"]


def outputs(source):
    return [output for cell in notebook(source)["cells"] for output in cell.get("outputs", [])]


def test_there_is_one_for_each_audience():
    """Each source has its notebook, and each notebook its source and its line in the list."""
    assert [source.stem for source in SOURCES] == AUDIENCES
    assert sorted(path.stem for path in (ROOT / "examples").glob("*.ipynb")) == AUDIENCES
    listed = re.findall(r"\((\w+)\.ipynb\)", (ROOT / "examples" / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == AUDIENCES


def test_cells_are_read_as_they_are_written():
    """A mark begins a cell, comments are the text of a markdown cell, and a magic is a comment in the source."""
    source = "# %% [markdown]\n# # Title\n#\n# Text.\n\n# %%\n# %matplotlib inline\nx = 1  # one\n\n\n# %%\n# two\nx\n"
    assert script().cells_of(source) == [
        ("markdown", "# Title\n\nText."),
        ("code", "%matplotlib inline\nx = 1  # one"),
        ("code", "# two\nx"),
    ]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_notebook_holds_the_cells_of_its_source(source):
    """`make notebooks` was run after the last change."""
    held = [(cell["cell_type"], text(cell["source"])) for cell in notebook(source)["cells"]]
    assert held == script().cells_of(source.read_text(encoding="utf-8"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_every_cell_was_run_without_an_error_or_a_warning(source):
    """In order, from the first to the last."""
    run = [cell["execution_count"] for cell in notebook(source)["cells"] if cell["cell_type"] == "code"]
    assert run == list(range(1, len(run) + 1))
    kinds = {(output["output_type"], output.get("name")) for output in outputs(source)}
    assert kinds <= {("stream", "stdout"), ("execute_result", None), ("display_data", None)}


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_notebook_shows_an_audit_and_pictures(source):
    """An audit is shown as HTML and figures as pictures, in a small file."""
    shown = [output["data"] for output in outputs(source) if "data" in output]
    audits = [data for data in shown if text(data["text/plain"]).startswith("Audit(")]
    figures = [data for data in shown if re.match(r"<\w+ size .* Axes>", text(data["text/plain"]))]
    assert audits
    assert all("<svg" in text(data["text/html"]) for data in audits)
    assert figures
    assert all("image/png" in data for data in figures)
    assert source.with_suffix(".ipynb").stat().st_size < script().MOST_BYTES


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_notebook_knows_nothing_of_the_machine_that_ran_it(source):
    """No paths, no times, no versions: running it again changes what has changed."""
    saved = source.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert re.search(r"/(?:tmp|home|root|Users|private|var)/", saved) is None
    assert notebook(source)["metadata"] == {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }
    for place, cell in enumerate(notebook(source)["cells"], start=1):
        assert cell["metadata"] == {}
        assert cell["id"] == f"cell-{place:02}"


def run(body, where, names):
    """Run a cell as a notebook does: what it printed, and the value of its last line if that is an expression."""
    tree = ast.parse("\n".join(line for line in body.split("\n") if not line.startswith("%")))
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, where, "exec"), names)
        value = None if last is None else eval(compile(last, where, "eval"), names)
    return printed.getvalue(), value


def same(shown, now):
    """Whether two outputs say the same, up to line breaks and one unit in the last digit of a number."""
    return pages.same(" ".join(shown.split()), " ".join(now.split()))


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_notebook_shows_what_its_code_gives_now(source, tmp_path, monkeypatch):
    """Cell by cell, but for pixels; and the code leaves a page and a map behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names = {}
    cells = [cell for cell in notebook(source)["cells"] if cell["cell_type"] == "code"]
    for place, (body, cell) in enumerate(zip(code(source), cells, strict=True), start=1):
        where = f"{source.name}, code cell {place}"
        printed, value = run(body, where, names)
        shown = "".join(text(output["text"]) for output in cell["outputs"] if "text" in output)
        assert same(shown, printed), f"{where} prints {printed!r}, `make notebooks` keeps it"
        kept = [output["data"] for output in cell["outputs"] if output["output_type"] == "execute_result"]
        assert len(kept) == (value is not None), where
        for data in kept:
            assert same(text(data["text/plain"]), repr(value)), f"{where} gives {value!r}"
            if "text/html" in data:
                assert same(text(data["text/html"]), value._repr_html_()), f"{where} shows another audit"
    assert isinstance(names["audit"], believable.Audit)
    assert "<html" in (tmp_path / "audit.html").read_text(encoding="utf-8")[:500].lower()
    maps = list(tmp_path.glob("*.json"))
    assert maps
    for path in maps:
        believable.load_recalibrator(path)


@pytest.mark.slow
def test_an_audit_shows_itself():
    """A notebook asks for HTML and gets a fragment without a script."""
    shown = believable.audit(load_demo()["naive_bayes"], fix=False)._repr_html_()
    assert "moderate" in shown
    assert "<svg" in shown
    assert "<script" not in shown


def test_pictures_are_figures():
    """Whatever a notebook draws is a figure, which it can show."""
    from matplotlib.figure import Figure

    drawn = set(re.findall(r"believable\.(plot_\w+)\(", "\n".join(body for s in SOURCES for body in code(s))))
    assert len(drawn) >= 8
    demo = load_demo()["naive_bayes"]
    assert isinstance(believable.plot_reliability_diagram(demo), Figure)
    assert isinstance(believable.plot_threshold(demo), Figure)
    assert isinstance(believable.plot_net_benefit(demo, random_state=0), Figure)
    assert isinstance(believable.plot_risk_coverage(demo, random_state=0), Figure)
    assert isinstance(believable.plot_subgroup_forest(demo, by=demo.scores > 0.5, random_state=0), Figure)
