"""The command line: what it prints, what it writes, how it ends."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import polars
import pytest
from click.testing import CliRunner

import believable
from believable.cli import main
from believable.readers import load_demo


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(500)
    path = tmp_path / "predictions.csv"
    polars.DataFrame({"y": (rng.random(500) < p).astype(int), "p": p, "w": p}).write_csv(path)
    return path


def test_demo_needs_nothing(tmp_path, monkeypatch):
    """It judges two models in words and writes its picture here."""
    monkeypatch.chdir(tmp_path)
    result = run("demo")
    assert result.exit_code == 0, result.output
    models = load_demo()
    for model in models.values():
        assert f"ECE {believable.expected_calibration_error(model):.4f} (10 uniform bins)" in result.output
    assert "Calibration is moderate" in result.output
    assert "The model is over-confident" in result.output
    assert "Calibration is excellent" in result.output
    assert "below 0.05 excellent, below 0.10 good, below 0.15 moderate, otherwise poor" in result.output
    assert (tmp_path / "believable-demo.png").stat().st_size > 20_000


def test_audit_prints_the_numbers(file):
    """Verdict, metrics and reliability table are those of the library."""
    result = run("audit", file, "--bins", 5)
    assert result.exit_code == 0, result.output
    data = believable.read_predictions(file)
    assert f"{believable.expected_calibration_error(data, n_bins=5):.4f}" in result.output
    assert f"{believable.brier_score(data):.4f}" in result.output
    assert "500 rows; took scores p, labels y" in result.output
    assert "5 uniform" in result.output
    for row in believable.reliability_table(data, n_bins=5).n:
        assert str(row) in result.output


def test_audit_takes_what_it_is_told(file, tmp_path):
    """Columns, weights and the picture are options."""
    picture = tmp_path / "picture.svg"
    result = run("audit", file, "--prob", "p", "--label", "y", "--weight", "w", "--plot", picture)
    assert result.exit_code == 0, result.output
    weighted = believable.read_predictions(file, weight="w")
    assert f"{believable.expected_calibration_error(weighted):.4f}" in result.output
    assert "weights w" in result.output
    assert picture.exists()


def test_audit_of_many_classes(tmp_path):
    """A matrix is judged by confidence, with the errors of its classes beside."""
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(3), 200)
    path = tmp_path / "wide.parquet"
    polars.DataFrame({"label": rng.integers(0, 3, 200)} | {f"p_{k}": rows[:, k] for k in range(3)}).write_parquet(path)
    result = run("audit", path)
    assert result.exit_code == 0, result.output
    assert "top label calibration error" in result.output
    assert "static calibration error" in result.output


def test_logits_by_their_door(tmp_path):
    """--logits reads scores as logits."""
    path = tmp_path / "logits.csv"
    path.write_text("y,score\n1,2.0\n0,-1.0\n1,0.5\n")
    assert run("audit", path).exit_code == 2
    assert run("audit", path, "--logits").exit_code == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("y,p\n1,0.5\n0,7\n", "Error: "), ("y,q\n1,0.5\n", "no column has a name known for scores"), ("", "is empty")],
)
def test_bad_input_is_one_sentence(tmp_path, text, sentence):
    """Exit code 2, one line, no traceback."""
    path = tmp_path / "bad.csv"
    path.write_text(text)
    result = run("audit", path)
    assert result.exit_code == 2
    assert sentence in result.output
    assert "bad.csv" in result.output
    assert len(result.output.strip().splitlines()) == 1
    assert "Traceback" not in result.output


def test_advice_is_in_options(tmp_path):
    """What the library says of arguments is said of options."""
    path = tmp_path / "advice.csv"
    for text, option in (
        ("y,p\n1,3.5\n0,-2\n", "these look like logits: use --logits"),
        ("y,p\n2,0.5\n1,0.5\n", "name the positive one with --pos-label"),
        ("y,p\nyes,0.5\nno,0.5\n", "say which is positive with --pos-label"),
        ("a,b\n1,0.5\n", "choose one of a, b with --label"),
        ("y,p\n0.5,0.5\n1,0.1\n", "from Python, pass Predictions(..., soft_labels=True)"),
    ):
        path.write_text(text)
        result = run("audit", path)
        assert result.exit_code == 2
        assert option in result.output, result.output


def test_quantile_bins_on_request(file):
    """--strategy quantile judges in bins of equal weight."""
    result = run("audit", file, "--strategy", "quantile")
    data = believable.read_predictions(file)
    ece = believable.expected_calibration_error(data, strategy="quantile")
    assert f"ECE {ece:.4f} (10 quantile bins)" in result.output
    assert str(believable.reliability_table(data, strategy="quantile")) in result.output


def test_names_with_brackets_are_printed(tmp_path):
    """Column names are text, not markup."""
    path = tmp_path / "odd.csv"
    path.write_text("y,p [/unit]\n1,0.5\n0,0.25\n")
    result = run("audit", path, "--prob", "p [/unit]")
    assert result.exit_code == 0, result.output
    assert "took scores p [/unit], labels y" in result.output


def test_metrics_lists_the_table():
    """Every metric is in the list."""
    output = run("metrics").output.replace("\n", " ")
    assert all(row.alias in output for row in believable.METRICS.values())


def test_version_and_module():
    """`believable --version` and `python -m believable` are the same program."""
    assert run("--version").output.strip() == f"believable, version {believable.__version__}"
    module = subprocess.run(
        [sys.executable, "-m", "believable", "--version"], capture_output=True, text=True, check=True
    )
    assert module.stdout.strip() == run("--version").output.strip()
