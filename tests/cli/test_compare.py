"""`believable compare`: which model is better at what, and is that chance?"""

from __future__ import annotations

import polars
import pytest

import believable
from believable.report.parts import Versus


@pytest.mark.slow
def test_two_files(run, folder):
    """Both values, the difference with interval and p, and a sentence for each metric."""
    result = run("compare", folder / "a.csv", folder / "b.csv", "--prob", "p")
    assert result.exit_code == 0, result.output
    a, b = (believable.read_predictions(folder / name, prob="p") for name in ("a.csv", "b.csv"))
    lines = result.stdout.splitlines()
    assert lines[:2] == ["a.csv: 400 rows; used scores p, labels y", "b.csv: 400 rows; used scores p, labels y"]
    assert "a.csv minus b.csv (95 % intervals; 10 uniform bins for binned metrics)" in lines
    titles = {"expected calibration error": "ece", "smooth calibration error": "smece", "Brier score": "brier"}
    titles |= {"log loss": "nll", "AUC": "auc", "accuracy": "acc"}
    for title, metric in titles.items():
        (line,) = [line for line in lines if line.startswith(f"{title} ")]
        direct = believable.compare(a, b, metric=metric, n_resamples=300, random_state=0)
        for number in (direct.value_a, direct.value_b, direct.low, direct.high):
            assert f"{number:.4f}" in line
        assert f"{direct.difference:+.4f}" in line
        assert line.endswith((f"{direct.p_value:.2g}", f"< {direct.p_value:.1g}"))
    assert "b.csv is better calibrated: its ECE is 0." in result.stdout
    assert "b.csv predicts better on the whole: its log loss is " in result.stdout
    assert "Both have the same AUC." in lines


def test_two_columns_are_two_files(run, folder):
    """One file with two columns of scores says the same as two files."""
    both = run("compare", folder / "a.csv", "--prob", "p", "--prob", "q", "--metric", "brier")
    files = run("compare", folder / "a.csv", folder / "b.csv", "--prob", "p", "--metric", "brier")
    numbers = [[line for line in one.stdout.splitlines() if line.startswith("Brier")] for one in (both, files)]
    assert numbers[0] == numbers[1]
    assert "q predicts better on the whole: its Brier score is 0." in both.stdout


def test_chosen_metrics_bins_and_clusters(run, folder):
    """--metric, --bins, --strategy, --level and --cluster are heeded; notes are given once."""
    plain = ("compare", folder / "a.csv", "--prob", "p", "--prob", "q", "--metric", "ece", "--metric", "slope")
    result = run(*plain, "--bins", 5, "--strategy", "quantile", "--level", 0.8)
    data = believable.read_predictions(folder / "a.csv", prob="p")
    assert f"{believable.expected_calibration_error(data, n_bins=5, strategy='quantile'):.4f}" in result.stdout
    assert "p minus q (80 % intervals; 5 quantile bins for binned metrics)" in result.stdout
    assert "q has the higher calibration slope, by " in result.stdout
    assert result.stdout.count("pass --cluster patient_id") == 1
    plain = (*plain[:6], "--metric", "brier")
    clustered = run(*plain, "--cluster", "patient_id")
    assert "clusters patient_id" in clustered.stdout
    assert "pass --cluster" not in clustered.stdout
    rows = [[line for line in one.stdout.splitlines() if line.startswith("Brier")] for one in (clustered, run(*plain))]
    assert rows[0] != rows[1]


def test_clusters_of_the_first_file_are_enough(run, folder):
    """The second file needs scores and labels alone."""
    result = run(
        "compare", folder / "a.csv", folder / "b.csv", "--prob", "p", "--cluster", "patient_id", "--metric", "nll"
    )
    assert result.exit_code == 0, result.output


def test_classes(run, folder, tmp_path):
    """A matrix is compared by confidence."""
    path = tmp_path / "other.csv"
    frame = polars.read_csv(folder / "classes.csv")
    frame.with_columns(p_cat=polars.lit(1 / 3), p_dog=polars.lit(1 / 3), p_owl=polars.lit(1 / 3)).write_csv(path)
    result = run("compare", folder / "classes.csv", path, "--metric", "ece", "--metric", "acc")
    assert result.exit_code == 0, result.output
    assert "classes.csv is right more often: its accuracy is 0." in result.stdout


def test_two_prefixes_of_one_file(run, folder, tmp_path):
    """What apply wrote is compared with what it was given, class by class, without a hint at what is taken anyway."""
    path = tmp_path / "out.csv"
    frame = polars.read_csv(folder / "classes.csv").head(120)
    thirds = {f"p_calibrated_{name}": polars.lit(1 / 3) for name in ("cat", "dog", "owl")}
    frame.with_columns(**thirds).write_csv(path)
    result = run("compare", path, "--prob-prefix", "p_calibrated_", "--prob-prefix", "p_", "--metric", "acc")
    assert result.exit_code == 0, result.output
    assert "p_*: 120 rows; used scores p_cat … p_owl (3 classes), labels label" in result.stdout
    assert "p_* is right more often: its accuracy is 0." in result.stdout
    assert "too:" not in result.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["a.csv"], "name two files, or one file and two columns of scores: --prob one --prob other"),
        (["a.csv", "--prob", "p"], "name two files, or one file and two columns of scores"),
        (["a.csv", "a.csv"], "a.csv is named twice: name another file, or choose two columns of scores: --prob one"),
        (["classes.csv", "./classes.csv", "--prob-prefix", "p_"], "classes.csv is named twice: name another file"),
        (["classes.csv", "--prob-prefix", "p_"], "(for classes, --prob-prefix one_ --prob-prefix other_)"),
        (["a.csv", "--prob", "p", "--prob", "p"], "p is compared with itself: name two different columns of a.csv"),
        (
            ["a.csv", "--prob", "p", "--prob-prefix", "p_"],
            "with --prob, or with --prob-prefix for classes, but not with",
        ),
        (["a.csv", "b.csv", "--prob", "p", "--prob", "q", "--prob", "z"], "only two models can be compared"),
        (["-", "-"], "the standard input can be read only once"),
        (["-", "--prob", "p", "--prob", "q"], "the standard input can be read only once"),
        (
            ["a.csv", "short.csv", "--prob", "p"],
            "a.csv has 400 rows and short.csv 100: a comparison needs the same rows",
        ),
        (
            ["a.csv", "flipped.csv", "--prob", "p"],
            "the labels of a.csv and flipped.csv differ at row 0, and at 399 more",
        ),
        (
            ["a.csv", "b.csv", "--metric", "brierr"],
            "--metric brierr: there is no metric 'brierr' (did you mean brier?)",
        ),
        (["a.csv", "b.csv", "--prob", "p", "--weight", "w"], "b.csv: there is no column 'w'"),
        (["a.csv", "b.csv", "--level", "0"], "--level must lie strictly between 0 and 1"),
        (
            ["b.csv", "classes.csv"],
            "the predictions differ in kind: b.csv has one score per row and classes.csv has a score for",
        ),
    ],
)
def test_bad_input_is_one_sentence(run, folder, monkeypatch, arguments, sentence):
    """Exit code 2 and a sentence that names the files."""
    monkeypatch.chdir(folder)
    result = run("compare", *arguments)
    assert result.exit_code == 2, result.output
    assert sentence in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_files_of_one_name_are_told_apart(run, folder, tmp_path):
    """Where both are called the same, their folders are named too."""
    (tmp_path / "a.csv").write_bytes((folder / "b.csv").read_bytes())
    result = run("compare", folder / "a.csv", tmp_path / "a.csv", "--prob", "p", "--metric", "brier")
    assert f"{tmp_path / 'a.csv'} predicts better" in result.stdout


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Versus("brier_score", 0.2, 0.1, 0.1, 0.05, 0.15, 0.01), "B predicts better on the whole: its Brier score is"),
        (Versus("brier_score", 0.1, 0.2, -0.1, -0.15, -0.05, 0.01), "A predicts better on the whole: its Brier score is 0.1000 lower (0.0500 … 0.1500)."),
        (Versus("auc", 0.8, 0.7, 0.1, 0.05, 0.15, 0.01), "A ranks better: its AUC is 0.1000 higher (0.0500 … 0.1500)."),
        (Versus("accuracy", 0.7, 0.8, -0.1, -0.15, -0.05, 0.01), "B is right more often: its accuracy is 0.1000 higher"),
        (Versus("smooth_calibration_error", 0.1, 0.1, 0.01, -0.01, 0.02, 0.3), "The difference in smooth ECE could be noise: +0.0100 (-0.0100 … 0.0200)."),
        (Versus("expected_calibration_error", 0.2, 0.1, 0.1, 0.11, 0.15, 0.01), "(0.1100 … 0.1500); noise adds more to one than to the other, so go by the interval."),
        (Versus("negative_log_likelihood", float("inf"), float("inf"), 0.0, float("nan"), float("nan"), 1.0), "The log loss cannot distinguish the two"),
        (Versus("negative_log_likelihood", float("inf"), 0.3, float("inf"), -0.1, float("inf"), 0.8), "could be noise: +infinite (-0.1000 … infinite)."),
        (Versus("accuracy", 0.8, 0.8, 0.0, 0.0, 0.0, 1.0), "Both have the same accuracy."),
    ],
)  # fmt: skip
def test_words_follow_the_interval(found, words):
    """Better is said of the right model, and only where the interval leaves out 0."""
    assert words in found.in_words("A", "B")
