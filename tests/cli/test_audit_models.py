"""`believable audit a.csv b.csv --names a,b`: several models, ranked."""

from __future__ import annotations

import pytest

from believable.readers import load_demo


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The two models of the demo, in a file each."""
    folder = tmp_path_factory.mktemp("models")
    made = []
    for name, model in load_demo().items():
        made.append(folder / f"{name}.csv")
        rows = (f"{p!r},{y}\n" for p, y in zip(model.scores.tolist(), model.labels.tolist(), strict=True))
        made[-1].write_text("p,y\n" + "".join(rows))
    return made


def test_models_are_audited_and_ranked(run, quick, files, tmp_path):
    """The answers, the table, a page and a picture of both."""
    page, picture = tmp_path / "m.html", tmp_path / "m.png"
    result = run("audit", *files, "--names", "bayes,logistic", "--no-fix", "--html", page, "--plot", picture)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "2 models, 1,797 rows (10 uniform bins)"
    assert lines[2].startswith("logistic: Yes, ")
    assert lines[3].startswith("bayes: No, recalibrate first. ")
    assert "bayes is clearly worse." in lines
    assert page.read_text(encoding="utf-8").count('<g class="model') == 2
    assert picture.stat().st_size > 10_000
    short = run("audit", *files, "--names", "bayes,logistic", "--no-fix", "-q")
    assert short.stdout.splitlines() == lines[:4]


def test_what_does_not_go_together_is_refused(run, files, tmp_path):
    """Names that do not fit the files, gates, Markdown, and other rows."""
    result = run("audit", *files, "--names", "one")
    assert result.exit_code == 2
    assert "--names has 1 different names for 2 files" in result.stderr
    result = run("audit", *files, "--names", "a,b", "--fail-above", "ece=0.1")
    assert "--fail-above, --fail-below and --fail-on cannot be combined with --names" in result.stderr
    result = run("audit", *files, "--names", "a,b", "--markdown", tmp_path / "m.md")
    assert "--markdown is for a single model" in result.stderr
    other = tmp_path / "other.csv"
    other.write_text("p,y\n0.5,1\n0.25,0\n")
    result = run("audit", files[0], other, "--names", "a,b")
    assert result.exit_code == 2
