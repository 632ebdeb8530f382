"""`believable demo`: a verdict, a picture and a page, out of nothing."""

from __future__ import annotations

import re

import pytest

import believable
from believable.readers import load_demo


@pytest.mark.slow
def test_it_needs_nothing(run, tmp_path, monkeypatch):
    """It judges two models in words, compares them, and writes its picture and its page here."""
    monkeypatch.chdir(tmp_path)
    result = run("demo")
    assert result.exit_code == 0, result.output
    models = load_demo()
    for model in models.values():
        assert re.search(
            rf"ECE {believable.expected_calibration_error(model):.4f}( \(noise adds to it\))?, 95 % interval ",
            result.stdout,
        )
    for words in (
        "No, recalibrate first. When it says 97 %, it happens 85 % of the time",
        "the scores are too extreme",
        "Yes, you can take these scores at face value. When it says 98.0 %, it happens 97.6 % of the time.",
        "below 0.05 excellent, below 0.10 good, below 0.15 moderate, otherwise poor",
        "Use temperature scaling. It lowers the log loss by 0.2",
        "logistic is better calibrated: its ECE is 0.1007 lower",
        "Picture written to believable-demo.png",
        "Report on naive bayes, compared with logistic, written to believable-demo.html",
    ):
        assert words in result.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["believable-demo.html", "believable-demo.png"]
    assert (tmp_path / "believable-demo.png").stat().st_size > 20_000
    assert "naive bayes" in (tmp_path / "believable-demo.html").read_text(encoding="utf-8")


def test_bad_names_are_refused_before_the_work(run, tmp_path):
    """A picture must be a picture, in a folder that is there."""
    for name, sentence in (
        ("demo.html", "the name of the picture must end in .png, .svg or .pdf"),
        ("demo.txt", "the name of a picture must end in .png, .svg or .pdf"),
        ("nowhere/demo.png", "there is no folder"),
    ):
        result = run("demo", "-o", tmp_path / name)
        assert result.exit_code == 2
        assert sentence in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_error_names_the_option_that_there_is(run, tmp_path, monkeypatch):
    """In a folder that nothing may be written in, the sentence says which option chooses another."""
    monkeypatch.setattr("os.access", lambda *_: False)
    result = run("demo", "-o", tmp_path / "demo.png")
    assert result.exit_code == 2
    assert f"--output {tmp_path / 'demo.png'} cannot be written: you have no permission to write in" in result.stderr
