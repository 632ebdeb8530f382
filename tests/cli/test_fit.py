"""`believable fit`: what it takes, says and writes."""

from __future__ import annotations

import json
import shlex

import numpy as np
import polars
import pytest
from click.testing import CliRunner

import believable
from believable.cli import main

N = 300


def run(*arguments, **options):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **options)


@pytest.fixture(scope="module")
def data():
    """Scores three times too sure of themselves, of one event and of three classes."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=N)
    y = (rng.random(N) < 1 / (1 + np.exp(-z))).astype(int)
    logits = rng.normal(size=(N, 3)) * 3
    truth = np.exp(logits / 3) / np.exp(logits / 3).sum(axis=1, keepdims=True)
    label = (rng.random(N)[:, None] > truth.cumsum(axis=1)).sum(axis=1).clip(max=2)
    return {"z": 3 * z, "p": 1 / (1 + np.exp(-3 * z)), "y": y, "logits": logits, "label": label}


@pytest.fixture
def one(tmp_path, data):
    path = tmp_path / "one.csv"
    columns = {name: data[name] for name in ("z", "p", "y")}
    columns |= {"word": np.where(data["y"] == 1, "yes", "no"), "patient": np.arange(N) // 3, "w": 1 + np.arange(N) % 2}
    polars.DataFrame(columns).write_csv(path)
    return path


@pytest.mark.slow
def test_auto_says_and_writes_what_calibrate_finds(one, tmp_path, data):
    """The leaderboard, the advice and the map are those of the library."""
    out = tmp_path / "map.json"
    result = run("fit", one, "--prob", "p", "-o", out)
    assert result.exit_code == 0, result.output
    expected = believable.calibrate(data["p"], data["y"])
    assert str(expected) in result.output
    assert "one.csv: 300 rows; used scores p, labels y" in result.output
    assert f"Calibration map written to {out}: {expected.method}." in result.output
    assert "For example: 0.05 becomes" in result.output
    assert json.loads(out.read_text()) == json.loads(expected.to_json())


@pytest.mark.slow
@pytest.mark.parametrize("method", ["temperature", "BetaCalibration"])
def test_a_named_method_is_fitted_and_judged(one, tmp_path, data, method):
    """What was asked for is written, with what it is worth."""
    out = tmp_path / "map.json"
    result = run("fit", one, "--prob", "p", "--method", method, "-o", out)
    assert result.exit_code == 0, result.output
    expected = believable.calibrate(data["p"], data["y"], method)
    assert str(expected) in result.output
    assert out.read_text().strip() == expected.to_json()


@pytest.mark.slow
def test_options_reach_the_comparison(one, tmp_path, data):
    """Score, folds, clusters and weights are those that were given."""
    out = tmp_path / "map.json"
    options = ["--score", "brier", "--folds", 3, "--cluster", "patient", "--weight", "w", "--method", "platt"]
    result = run("fit", one, "--prob", "p", *options, "-o", out)
    assert result.exit_code == 0, result.output
    choices = {"score": "brier", "cv": 3, "clusters": np.arange(N) // 3, "sample_weight": 1 + np.arange(N) % 2}
    expected = believable.calibrate(data["p"], data["y"], "platt", **choices)
    assert str(expected) in result.output
    assert out.read_text().strip() == expected.to_json()
    assert "weights w, clusters patient" in result.output


@pytest.mark.slow
def test_scores_that_mean_what_they_say_are_left_alone(tmp_path):
    """The map that is written then changes nothing, and that is said."""
    rng = np.random.default_rng(0)
    p = rng.random(400)
    path, out = tmp_path / "good.csv", tmp_path / "map.json"
    polars.DataFrame({"p": p, "y": (rng.random(400) < p).astype(int)}).write_csv(path)
    result = run("fit", path, "-o", out)
    assert result.exit_code == 0, result.output
    assert "Leave the scores alone" in result.output
    assert f"Calibration map written to {out}: it changes nothing." in result.output
    assert json.loads(out.read_text())["method"] == "Identity"


@pytest.mark.slow
def test_logits_and_raw_scores_are_taken_as_they_are(one, tmp_path, data):
    """Their map is fitted to the numbers of the file, not to probabilities made of them."""
    out = tmp_path / "map.json"
    for options, scale in (
        (["--logits"], "logits"),
        (["--scores", "logits"], "logits"),
        (["--scores", "raw"], "scores"),
    ):
        result = run("fit", one, "--prob", "z", *options, "--method", "platt", "-o", out)
        assert result.exit_code == 0, result.output
        expected = believable.calibrate(data["z"], data["y"], "platt", input=scale)
        assert out.read_text().strip() == expected.to_json()
        assert str(expected) in result.output
        assert f"used scores z ({'logits' if scale == 'logits' else 'raw scores'})" in result.output


@pytest.mark.slow
def test_weight_zero_is_no_row(tmp_path, data):
    """Logits, labels and clusters stay together where rows of weight 0 are left out."""
    w = (np.arange(N) % 4 != 0).astype(int)
    path, out = tmp_path / "weighted.csv", tmp_path / "map.json"
    columns = {"logit": data["z"], "y": data["y"], "w": w, "g": np.arange(N) // 2}
    polars.DataFrame(columns).write_csv(path)
    result = run("fit", path, "--logits", "--weight", "w", "--cluster", "g", "--method", "platt", "-o", out)
    assert result.exit_code == 0, result.output
    kept = w > 0
    polars.DataFrame({name: column[kept] for name, column in columns.items()}).write_csv(path)
    again = tmp_path / "again.json"
    assert (
        run("fit", path, "--logits", "--weight", "w", "--cluster", "g", "--method", "platt", "-o", again).exit_code == 0
    )
    assert out.read_text() == again.read_text()


def test_text_labels_with_a_positive_one(one, tmp_path, data):
    """--pos-label names the event."""
    out = tmp_path / "map.json"
    result = run("fit", one, "--prob", "p", "--label", "word", "--pos-label", "yes", "--method", "platt", "-o", out)
    assert result.exit_code == 0, result.output
    assert out.read_text().strip() == believable.calibrate(data["p"], data["y"], "platt").to_json()


@pytest.mark.slow
@pytest.mark.parametrize("logits", [False, True])
def test_classes_are_in_the_map(tmp_path, data, logits):
    """A matrix is taken by the beginning of its names; the ends are the classes, whatever their order."""
    names, order = ["cat", "dog", "owl"], [2, 0, 1]
    p = np.exp(data["logits"]) / np.exp(data["logits"]).sum(axis=1, keepdims=True)
    values, prefix = (data["logits"], "logit_") if logits else (p, "p_")
    path, out = tmp_path / "three.jsonl", tmp_path / "map.json"
    columns = {"label": [names[k] for k in data["label"]]} | {f"{prefix}{names[k]}": values[:, k] for k in order}
    polars.DataFrame(columns).write_ndjson(path)
    result = run("fit", path, *(["--logits"] if logits else []), "--method", "vector", "-o", out)
    assert result.exit_code == 0, result.output
    classes = [names[k] for k in order]
    expected = believable.calibrate(
        values[:, order],
        [names[k] for k in data["label"]],
        "vector",
        classes=classes,
        input="logits" if logits else "probabilities",
    )
    saved = json.loads(out.read_text())
    assert saved == json.loads(expected.to_json())
    assert saved["classes"] == classes


def test_without_output_nothing_is_written(one, tmp_path):
    """It says that the map was not written."""
    result = run("fit", one, "--prob", "p", "--method", "temperature")
    assert result.exit_code == 0, result.output
    assert "The calibration map was not saved: to save it, name a file with -o." in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["one.csv"]


def test_pipes(one, data):
    """From the standard input to the standard output, where nothing but the map is."""
    result = run("fit", "-", "--prob", "p", "--method", "platt", "-o", "-", input=one.read_bytes())
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == believable.calibrate(data["p"], data["y"], "platt").to_json()
    assert "standard input: 300 rows; used scores p, labels y" in result.stderr


def test_warnings_are_sentences(tmp_path):
    """Few rows are worth a note, not a traceback of a warning."""
    path = tmp_path / "few.csv"
    path.write_text("p,y\n0.1,0\n0.4,1\n0.3,0\n0.9,1\n0.6,0\n0.7,1\n")
    result = run("fit", path, "--method", "isotonic", "--folds", 2)
    assert result.exit_code == 0, result.output
    notes = [line for line in result.stderr.splitlines() if line.startswith("Note: ")]
    assert any("rows of the rarest class" in line for line in notes)
    assert "Warning" not in result.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--method", "temprature"],
            "method 'temprature' is not known; did you mean 'temperature'? Choose from: identity,",
        ),
        (["--method", "prior_shift"], "PriorShift adapts scores to another population"),
        (
            ["--method", "temperature", "--scores", "raw"],
            "TemperatureScaling takes 'probabilities' or 'logits', not scores",
        ),
        (["--logits", "--scores", "raw"], "--logits and --scores raw contradict each other: leave one out"),
        (["--prob", "z"], "these look like logits: use --logits"),
        (["--prob", "q"], "there is no column 'q'"),
        (["--label", "word"], "name the one that counts as 1 with --pos-label"),
        (["-o", "nowhere/map.json"], "nowhere/map.json cannot be written: there is no folder nowhere"),
        (["-o", "."], "--output . is a folder: name a file"),
    ],
)
def test_errors_are_one_sentence(one, options, sentence):
    """Exit code 2, one line that says what to do, no traceback."""
    given = [] if "--prob" in options else ["--prob", "p"]
    result = run("fit", one, *given, *options)
    assert result.exit_code == 2, result.output
    assert sentence in result.stderr
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.strip().splitlines()) == 1


def test_folds_and_clusters_in_the_words_of_options(one, tmp_path):
    """What the library says of cv and groups is said of --folds and --cluster."""
    polars.read_csv(one).with_columns(half=polars.int_range(N) % 2).write_csv(one)
    result = run("fit", one, "--prob", "p", "--cluster", "half")
    assert result.exit_code == 2
    assert "--cluster has 2 clusters, too few for --folds 5 folds" in result.stderr
    assert "one.csv" in result.stderr


def test_the_data_are_not_overwritten_by_their_map(one):
    """A map that would take the place of the file it is learnt from is refused, and the file stays."""
    before = one.read_bytes()
    result = run("fit", one, "--prob", "p", "-o", one)
    assert result.exit_code == 2
    assert f"--output {one} is also an input file: choose another name" in result.stderr
    assert one.read_bytes() == before


@pytest.fixture
def reranker(tmp_path):
    """A run with a graded judgement of every document."""
    rng = np.random.default_rng(4)
    score = rng.normal(size=(12, 8)) * 2 + 3
    grade = np.clip(score + rng.normal(size=score.shape) - 2, 0, 3).astype(int)
    places = [(q, d) for q in range(12) for d in range(8)]
    run_file, qrels = tmp_path / "run.trec", tmp_path / "qrels.txt"
    run_file.write_text("".join(f"q{q} Q0 d{d} {d + 1} {float(score[q, d])!r} m\n" for q, d in places))
    qrels.write_text("".join(f"q{q} 0 d{d} {grade[q, d]}\n" for q, d in places))
    return ["--run", run_file, "--qrels", qrels], score.ravel(), grade.ravel()


@pytest.mark.parametrize(("words", "scale"), [("raw", "scores"), ("logits", "logits")])
def test_a_map_of_a_rerankers_scores(reranker, tmp_path, words, scale):
    """It is that of calibrate, with queries kept whole; --rel says what is relevant."""
    given, score, grade = reranker
    out = tmp_path / "map.json"
    result = run("fit", *given, "--scores", words, "--rel", 2, "--method", "platt", "-o", out)
    assert result.exit_code == 0, result.output
    queries = np.repeat([f"q{q}" for q in range(12)], 8)
    expected = believable.calibrate(score, grade >= 2, "platt", input=scale, clusters=queries)
    assert out.read_text().strip() == expected.to_json()
    assert str(expected) in result.output
    how = "raw numbers" if words == "raw" else "logits (sigmoid)"
    assert f"used scores of run.trec as {how}, relevant from grade 2 in qrels.txt, clusters by query" in result.output


@pytest.mark.slow
def test_the_audit_of_raw_scores_says_how_to_save_the_map(reranker, tmp_path, monkeypatch):
    """What its note says can be typed, and writes the map that the audit names."""
    given, _, _ = reranker
    monkeypatch.chdir(tmp_path)
    audited = run("audit", *given, "--scores", "raw", "--rel", 2, "--no-fix")
    assert audited.exit_code == 0, audited.output
    (line,) = [line for line in audited.output.splitlines() if "To save the calibration map" in line]
    command = shlex.split(line.partition(": ")[2])
    assert command[0] == "believable"
    assert run(*command[1:]).exit_code == 0
    slope = json.loads((tmp_path / "map.json").read_text())["maps"][0]["slope"]
    assert f"PlattScaling (slope {slope:.4g}" in audited.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fit"], "name a FILE of scores (- for the standard input), or a run with --run and --qrels"),
        (["fit", "--run", "run.trec"], "--run needs --qrels"),
        (["fit", "one.csv", "--rel", 2], "--rel is for a run and its judgements: name the run with --run"),
        (["fit", "run.trec"], "run.trec has the ending of a run or its judgements: name both files, with --run RUN"),
        (["audit", "run.trec"], "name both files, with --run RUN --qrels QRELS"),
        (["fit", "--run", "run.trec", "--qrels", "qrels.txt", "--label", "y"], "--label is for a FILE, not for a run"),
        (
            ["audit", "--run", "run.trec", "--qrels", "qrels.txt", "--scores", "raw", "--rel", 4],
            "no judged document has grade 4 or more; grades are 0 to 3",
        ),
        (
            ["audit", "--run", "run.trec", "--qrels", "qrels.txt", "--logits", "--map", "isotonic"],
            "--map is for --scores raw or --graded: logits are audited without a calibration map",
        ),
    ],
)
def test_runs_and_files_are_kept_apart(reranker, tmp_path, monkeypatch, arguments, sentence):
    """What goes with a run only, and what does not, is one sentence each."""
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert sentence in result.stderr, result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
