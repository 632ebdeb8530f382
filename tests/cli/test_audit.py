"""`believable audit`: what it reads, prints and writes, and what it says of what it cannot read."""

from __future__ import annotations

import json
import subprocess
import sys
from io import StringIO

import numpy as np
import polars
import pytest
from rich.console import Console
from rich.text import Text

import believable
from believable import Audit
from believable.cli import _show
from believable.report.text import as_text

FAST = ("--no-fix",)


@pytest.fixture(scope="module")
def whole(run, folder, tmp_path_factory):
    """One audit with everything: printed, and written in every form."""
    out = tmp_path_factory.mktemp("out")
    written = {name: out / f"audit.{name}" for name in ("html", "json", "md", "png")}
    options = (
        "--html",
        written["html"],
        "--json",
        written["json"],
        "--markdown",
        written["md"],
        "--plot",
        written["png"],
    )
    result = run("audit", folder / "a.csv", "--by", "sex,age", "--compare", folder / "b.csv", *options)
    return result, written


@pytest.mark.slow
def test_it_prints_what_the_library_says(whole):
    """What is printed into a pipe is the text of the audit that was written, and where it was written."""
    result, written = whole
    assert result.exit_code == 0, result.output
    found = Audit.from_json(written["json"].read_text(encoding="utf-8"))
    assert result.stdout.startswith(as_text(found, full=False))
    rest = result.stdout.removeprefix(as_text(found, full=False)).strip().splitlines()
    assert rest == [
        f"Report written to {written['html']}",
        f"JSON written to {written['json']}",
        f"Markdown written to {written['md']}",
        f"Picture written to {written['png']}",
    ]
    assert result.stderr == ""


def test_its_numbers_are_those_of_the_library(whole, folder):
    """Values are those of the functions, and every option has its part in the report."""
    result, written = whole
    found = Audit.from_json(written["json"].read_text(encoding="utf-8"))
    data = believable.read_predictions(folder / "a.csv", prob="p")
    assert found["ece"].value == believable.expected_calibration_error(data)
    assert found["brier"].value == believable.brier_score(data)
    assert found.fix.chosen != "nothing"
    assert "a.csv: 400 rows; observed rate 51.5 %\nColumns: scores p, labels y, subgroups sex, age\n" in result.stdout
    assert {part.column for part in found.subgroups} == {"sex", "age"}
    assert found.other == str(folder / "b.csv")
    assert "b.csv is better calibrated: its ECE is 0." in result.stdout
    for heading in ("What to do", f"Compared with {folder / 'b.csv'}"):
        assert heading in result.stdout
    for heading in ("Proper scores", "Reliability (10 uniform bins)", "Recalibration, out of fold"):
        assert heading in as_text(found)
        assert heading not in result.stdout


def test_full_prints_every_table(run, folder):
    """--full prints what to_text has."""
    result = run("audit", folder / "a.csv", "--prob", "p", "--full", "--no-fix", "--json", folder / "full.json")
    found = Audit.from_json((folder / "full.json").read_text(encoding="utf-8"))
    assert result.stdout.startswith(found.to_text())
    assert "Proper scores" in result.stdout


def test_its_files_are_whole(whole):
    """Page, Markdown and picture are what they claim to be, and nothing else lies beside them."""
    _, written = whole
    assert written["html"].read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert written["md"].read_text(encoding="utf-8").startswith("# Calibration audit: a.csv")
    assert written["png"].read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in written["png"].parent.iterdir()) == [
        "audit.html",
        "audit.json",
        "audit.md",
        "audit.png",
    ]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.parquet", "a.jsonl", "a.npz"])
def test_every_format_says_the_same(run, quick, folder, name):
    """The format of the file changes nothing but its name."""
    result = run("audit", folder / name, "--prob", "p", "-q", *FAST)
    expected = run("audit", folder / "a.csv", "--prob", "p", "-q", *FAST)
    assert result.exit_code == 0, result.output
    assert result.stdout == expected.stdout


def test_standard_input_and_output(run, quick, folder):
    """- reads the one; a report that goes to the other has it for itself."""
    text = (folder / "a.csv").read_bytes()
    result = run("audit", "-", "--json", "-", *FAST, stdin=text)
    assert result.exit_code == 0, result.output
    found = Audit.from_json(result.stdout)
    assert found.title == "standard input"
    assert result.stderr.startswith("standard input: 400 rows; observed rate 51.5 %\nColumns: scores p, labels y\n")
    named = run("audit", "-", "--format", "csv", "-q", *FAST, stdin=text)
    assert named.stdout.startswith("No, recalibrate first. ")


def test_quiet_is_the_verdict(run, quick, folder):
    """-q prints the sentences of the verdict and no more."""
    result = run("audit", folder / "a.csv", "-q", *FAST)
    data = believable.read_predictions(folder / "a.csv", prob="p")
    assert result.stdout == f"{believable.audit(data, fix=False).verdict}\n"


def audited(run, tmp_path, *arguments):
    """The audit that a call writes."""
    out = tmp_path / "audit.json"
    result = run("audit", *arguments, "--json", out, *FAST)
    assert result.exit_code == 0, result.output
    return Audit.from_json(out.read_text(encoding="utf-8"))


def test_options_reach_the_library(run, quick, folder, tmp_path):
    """Weights, clusters, bins, strategy, level and seed."""
    options = ("--weight", "w", "--cluster", "patient_id", "--bins", 7, "--strategy", "quantile", "--level", 0.8)
    found = audited(run, tmp_path, folder / "a.csv", *options)
    data = believable.read_predictions(folder / "a.csv", prob="p", weight="w")
    assert found["ece"].value == believable.expected_calibration_error(data, n_bins=7, strategy="quantile")
    assert (found.n_clusters, found.weighted, found.verdict.level) == (100, True, 0.8)
    assert found.verdict.bins == "7 quantile bins"
    assert found.taken == "scores p, labels y, weights w, clusters patient_id"
    other = audited(run, tmp_path, folder / "a.csv", *options, "--seed", 1)
    assert other.verdict.high != found.verdict.high


def test_logits_and_percentages(run, quick, folder, tmp_path):
    """--logits and --scores logits are one door; --percent is another."""
    expected = audited(run, tmp_path, folder / "a.csv")["ece"].value
    for option in (("--logits",), ("--scores", "logits")):
        found = audited(run, tmp_path, folder / "a.csv", "--prob", "z", *option)
        assert found["ece"].value == pytest.approx(expected, abs=1e-12)
        assert found.taken == "scores z (logits), labels y"
    path = tmp_path / "percent.csv"
    polars.read_csv(folder / "a.csv").select(polars.col("p") * 100, "y").write_csv(path)
    assert audited(run, tmp_path, path, "--percent")["ece"].value == pytest.approx(expected, abs=1e-12)


def test_labels_as_text_and_missing_rows(run, quick, tmp_path):
    """--pos-label names the event, --drop-missing counts what is left out."""
    path = tmp_path / "text.csv"
    path.write_text("y,p\nyes,0.9\nno,0.2\nyes,\nno,0.4\nyes,0.7\n")
    found = audited(run, tmp_path, path, "--pos-label", "yes", "--drop-missing")
    assert found.rates == (0.5,)
    assert found.dropped == {"missing score": 1}


@pytest.mark.parametrize("notion", ["confidence", "classwise", "top_label"])
def test_classes(run, quick, folder, tmp_path, notion):
    """One column per class, found by its prefix; the headline is about what was asked for."""
    found = audited(run, tmp_path, folder / "classes.csv", "--notion", notion, "--plot", tmp_path / "picture.svg")
    assert found.classes == ("cat", "dog", "owl")
    assert found.verdict.notion == notion
    assert {part.name for part in found.parts} == {"cat", "dog", "owl"}
    assert (tmp_path / "picture.svg").read_text(encoding="utf-8").rstrip().endswith("</svg>")


@pytest.mark.slow
def test_compared_with_another_column(run, quick, folder, tmp_path):
    """--compare-prob alone names a column of the same file; with --compare, one of the other."""
    found = audited(run, tmp_path, folder / "a.csv", "--compare-prob", "q")
    assert found.other == "q"
    assert found.versus[0].difference > 0
    other = audited(
        run, tmp_path, folder / "a.csv", "--prob", "q", "--compare", folder / "a.csv", "--compare-prob", "p"
    )
    assert other.versus[0].difference == -found.versus[0].difference


def test_subgroups_are_named_in_every_way(run, quick, folder, tmp_path):
    """Repeated, between commas, or in quotation marks where the name has a comma."""
    path = tmp_path / "commas.csv"
    polars.read_csv(folder / "a.csv").rename({"sex": "a, b"}).write_csv(path)
    found = audited(run, tmp_path, path, "--by", "age", "--by", '"a, b",age')
    assert [part.column for part in found.subgroups if part.column != "age"] == ["a, b", "a, b"]


def test_clusters_that_nobody_named_are_mentioned(run, quick, folder, tmp_path):
    """A telling name whose values repeat makes a note; naming the clusters ends it."""
    said = (
        "column patient_id repeats (100 values in 400 rows): if rows with the same value belong together, pass --cluster "
        "patient_id; the intervals here assume independent rows"
    )
    assert audited(run, tmp_path, folder / "a.csv").notes == (said,)
    assert audited(run, tmp_path, folder / "a.csv", "--cluster", "patient_id").notes == ()
    assert audited(run, tmp_path, folder / "b.csv").notes == ()


def test_a_run_with_its_judgements(run, quick, tmp_path):
    """Documents are rows, queries are clusters; raw scores are mapped, and the report names the map."""
    rng = np.random.default_rng(2)
    z = rng.normal(size=(30, 12))
    grade = (rng.random(z.shape) < 1 / (1 + np.exp(-z))).astype(int) * rng.integers(1, 3, z.shape)
    lines = [(q, d, z[q, d], grade[q, d]) for q in range(30) for d in range(12)]
    ranking, judgements = tmp_path / "run.trec", tmp_path / "qrels.txt"
    ranking.write_text("".join(f"q{q} Q0 d{d} {d + 1} {score} m\n" for q, d, score, _ in lines))
    judgements.write_text("".join(f"q{q} 0 d{d} {value}\n" for q, d, _, value in lines if d))
    given = ("--run", ranking, "--qrels", judgements)
    found = audited(run, tmp_path, *given, "--logits")
    assert (found.n, found.n_clusters, found.dropped) == (330, 30, {"unjudged": 30})
    assert audited(run, tmp_path, *given, "--logits", "--unjudged", "not-relevant").n == 360
    assert audited(run, tmp_path, *given, "--logits", "--rel", 2).rates[0] < found.rates[0]
    mapped = audited(run, tmp_path, *given, "--scores", "raw", "--map", "isotonic")
    assert any("IsotonicCalibration" in note or "Isotonic" in note for note in mapped.notes)
    graded = audited(run, tmp_path, *given, "--scores", "raw", "--graded")
    assert graded.classes == ("not relevant", "relevant", "highly relevant")
    refused = run("audit", *given)
    assert refused.exit_code == 2
    assert (
        "use --scores logits if they are log-odds; for any other scores, use --scores raw, which fits a calibration map first"
        in refused.stderr
    )
    assert (
        "--graded has its own classes, one for each grade: leave out --rel 2"
        in run("audit", *given, "--logits", "--graded", "--rel", 2).stderr
    )


@pytest.fixture
def answers(tmp_path):
    """A log of a harness, and a file of stated confidences."""
    rng = np.random.default_rng(3)
    samples, stated = tmp_path / "samples_arc.jsonl", tmp_path / "stated.jsonl"
    with samples.open("w") as file:
        for k in range(60):
            values = -rng.gamma(2, 2, 4)
            right = int(rng.choice(4, p=np.exp(values) / np.exp(values).sum()))
            answers = [[str(value), "False"] for value in values]
            line = {
                "doc_id": k,
                "target": str(right),
                "filtered_resps": answers,
                "acc": float(values.argmax() == right),
            }
            line["arguments"] = [["question", f" choice {'x' * place}"] for place in range(4)]
            file.write(json.dumps(line) + "\n")
    with stated.open("w") as file:
        for k in range(60):
            said = "no idea" if k % 10 == 0 else f"I am {rng.choice([60, 80, 90])} % sure"
            file.write(json.dumps({"id": k // 2, "confidence": said, "correct": bool(rng.random() < 0.6)}) + "\n")
    return samples, stated


def test_answers_of_language_models(run, quick, tmp_path, answers):
    """Logs and stated confidences are recognised by their fields."""
    samples, stated = answers
    found = audited(run, tmp_path, samples)
    assert (found.n, found.classes) == (60, ("A", "B", "C", "D"))
    assert audited(run, tmp_path, samples, "--normalise", "length").taken.startswith(
        "P(choice) from log-likelihoods per character"
    )
    found = audited(run, tmp_path, stated)
    assert (found.n, found.dropped) == (54, {"no confidence stated": 6})
    assert any("pass --cluster id" in note for note in found.notes)
    assert any("one of 3 values" in sentence for sentence in found.caveats)
    asked = ("--samples", "--prob", "confidence", "--label", "correct", "--cluster", "id")
    assert audited(run, tmp_path, stated, *asked).n_clusters == 30


def test_what_does_not_go_with_answers(run, answers):
    """Options of tables, and of the other kind of answers, are refused by name."""
    samples, stated = answers
    for arguments, sentence in (
        (
            (samples, "--cluster", "doc_id"),
            "Error: --cluster is for stated confidences, but samples_arc.jsonl is a log of",
        ),
        ((stated, "--samples", "--weight", "id"), "Error: --weight is for a table, but "),
        ((samples, "--by", "doc_id"), "Error: --by is for stated confidences, but samples_arc.jsonl is a log of"),
        (
            (stated, "--normalise", "length"),
            "Error: --normalise and --filter are for logs of samples, but stated.jsonl",
        ),
        ((stated, "--samples", "--prob", "confidance", "--label", "correct"), "there is no field 'confidance'"),
        ((samples, "--filter", "strict"), "there is no filter 'strict'"),
    ):
        result = run("audit", *arguments)
        assert result.exit_code == 2, arguments
        assert sentence in result.stderr, result.stderr


SENTENCES = [
    ([], "name a FILE of predictions (- for the standard input), or a run with --run and --qrels"),
    (["nowhere.csv"], "there is no file nowhere.csv"),
    (["a.csv", "--prob", "pp"], "a.csv: there is no column 'pp'"),
    (
        ["a.csv", "--by", "sx"],
        "there is no column 'sx' (did you mean 'sex'?); there are patient_id, p, y, q, w, z, age",
    ),
    (["a.csv", "--prob", "p", "--prob-prefix", "p_"], "(--prob) or the prefix of several (--prob-prefix), not both"),
    (["a.csv", "--prob", "z"], "these look like logits: use --logits, or --percent for percentages"),
    (["a.csv", "--logits", "--scores", "raw"], "--logits and --scores raw contradict each other: leave one out"),
    (["a.csv", "--scores", "raw"], "fit a calibration map with `believable fit --scores raw`"),
    (["a.csv", "--label", "sex"], "name the one that counts as 1 with --pos-label"),
    (["a.csv", "--level", "95"], "--level must be a number from 0 to 1, got 95.0"),
    (["a.csv", "--level", "1"], "--level must lie strictly between 0 and 1, got 1.0"),
    (["a.csv", "--compare", "short.csv"], "a.csv has 400 rows and short.csv 100: a comparison needs the same rows"),
    (["a.csv", "--compare", "flipped.csv"], "the labels of a.csv and flipped.csv differ at row 0, and at 399 more"),
    (["classes.csv", "--compare", "b.csv"], "b.csv"),
    (["a.csv", "--compare-prob", "nothing"], "there is no column 'nothing'"),
    (["classes.csv", "--prob-prefix", "p_", "--compare-prob", "p_cat"], "--compare-prob names one column"),
    (["-", "--compare-prob", "q"], "the standard input can be read only once"),
    (["a.csv", "--run", "run.trec"], "--run needs --qrels"),
    (["--qrels", "qrels.txt"], "--qrels needs --run"),
    (["a.csv", "--run", "r", "--qrels", "q"], "name either a.csv or a run with --run and --qrels, not both"),
    (["--run", "r", "--qrels", "q", "--label", "y"], "--label is for a FILE, not for a run and its judgements"),
    (["--run", "r", "--qrels", "q"], "there is no file r"),
    (["a.csv", "--rel", "2"], "--rel is for a run and its judgements: name the run with --run"),
    (["a.csv", "--graded"], "--graded is for a run and its judgements: name the run with --run"),
    (["a.csv", "--filter", "x"], "--filter is for a sample log of a language model, but a.csv is not one"),
    (["a.csv", "--json", "a.csv"], "--json a.csv is also an input file: choose another name"),
    (["a.csv", "--compare", "b.csv", "--html", "b.csv"], "--html b.csv is also an input file: choose another name"),
    (["a.csv", "--html", "nowhere/x.html"], "--html nowhere/x.html cannot be written: there is no folder nowhere"),
    (["a.csv", "--html", "."], "--html . is a folder: name a file"),
    (["a.csv", "--html", "x", "--json", "x"], "--html and --json both name x: choose different files"),
    (["a.csv", "--html", "-", "--json", "-"], "--html and --json both name -: choose different files"),
    (["a.csv", "--plot", "-"], "a picture cannot go to the standard output: name a file"),
    (["a.csv", "--plot", "x.txt"], "--plot x.txt: the name of a picture must end in .png, .svg or .pdf"),
]


@pytest.mark.parametrize(("arguments", "sentence"), SENTENCES)
def test_bad_input_is_one_sentence(run, folder, monkeypatch, arguments, sentence):
    """Exit code 2, one line on the error stream, nothing on the other, no traceback, nothing written."""
    monkeypatch.chdir(folder)
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    result = run("audit", *arguments, stdin="y,p\n1,0.5\n")
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("Error: ")
    assert sentence in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stdout == ""
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("y,p\n1,0.5\n0,7\n", "got 7 at row 1 (line 3); these look like logits: use --logits, or --percent for"),
        ("y,q\n1,0.5\n", "no column has one of the usual names for scores"),
        ("", "is empty"),
        ("y,p\n", "has a header but no rows"),
        ("y,p\n1,\n0,0.5\n", "or leave such rows out with --drop-missing"),
        ("y,p\n1,0.5,3\n0,0.5\n", "has 3 fields at line 2, but 2 in its header"),
        ("y,p\n1,high\n0,0.5\n", "column 'p' must hold numbers, got the text 'high' at row 0 (line 2)"),
        ("y,p\n2,0.5\n1,0.5\n", "name the label that counts as 1 with --pos-label"),
        ("a,b\n1,0.5\n", "actuals, outcomes); choose two of a, b with --prob and --label"),
        ("a,p\n1,0.5\n", "choose one of a, p with --label"),
        ("y,p\n2,0.5\n1,0.5\n", "labels must be 0 or 1, got 2 at row 0 (line 2)"),
        ("y,p\n0.5,0.5\n1,0.1\n", "use Predictions(..., soft_labels=True) in Python"),
    ],
)
def test_a_bad_file_is_named(run, tmp_path, text, sentence):
    """The sentence has the file, the column and the row, in the words of the command line."""
    path = tmp_path / "bad.csv"
    path.write_text(text)
    result = run("audit", path)
    assert result.exit_code == 2
    assert sentence in result.stderr, result.stderr
    assert "bad.csv" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_failed_write_leaves_nothing(run, quick, folder, tmp_path, monkeypatch):
    """Where a page cannot be made, the old one stays, and no other file appears."""
    page = tmp_path / "page.html"
    page.write_text("the old page")
    monkeypatch.setattr("believable.report.html.as_page", lambda audit: (_ for _ in ()).throw(OSError("disk is full")))
    result = run("audit", folder / "a.csv", "--html", page, *FAST)
    assert result.exit_code == 2
    assert "disk is full" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert page.read_text() == "the old page"


def test_an_interruption_is_no_failed_gate(run, folder, tmp_path, monkeypatch):
    """Ctrl-C ends with 130 and a word, and leaves nothing half-written."""

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("believable.auditing.audit", interrupt)
    result = run("audit", folder / "a.csv", "--html", tmp_path / "page.html")
    assert result.exit_code == 130
    assert result.stderr == "Interrupted: nothing was left half-written.\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent differently there")
def test_a_signal_ends_the_program(tmp_path):
    """The real signal, sent to the real program while it waits for its input, does the same."""
    code = (
        "import os, signal, sys, threading, time\n"
        "from believable.cli import main\n"
        "def press():\n"
        "    while True:\n"  # a signal may be lost while a module is imported
        "        time.sleep(2)\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=press, daemon=True).start()\n"
        "main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, "audit", "-", "--html", str(tmp_path / "page.html")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.wait(timeout=60) == 130  # its input stays open: nothing but the signal ends it
        assert process.stderr.read() == "Interrupted: nothing was left half-written.\n"
    assert list(tmp_path.iterdir()) == []


def test_names_with_brackets_are_printed(run, quick, tmp_path):
    """Column names are text, not markup."""
    path = tmp_path / "odd.csv"
    path.write_text("y,p [/unit]\n1,0.5\n0,0.25\n")
    result = run("audit", path, "--prob", "p [/unit]", *FAST)
    assert result.exit_code == 0, result.output
    assert "Columns: scores p [/unit], labels y" in result.output


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_terminal_gets_colour_and_its_width(whole, width):
    """A badge, no line wider than the terminal, and every number of the table that is not spared."""
    found = Audit.from_json(whole[1]["json"].read_text(encoding="utf-8"))
    screen = StringIO()
    _show.show_audit(Console(file=screen, force_terminal=True, width=width, color_system="standard"), found, full=True)
    text = screen.getvalue()
    assert f"\x1b[1;31m{found.verdict.label}" in text
    lines = [Text.from_ansi(line).plain for line in text.splitlines()]
    assert max(map(len, lines)) <= width
    for one in found.metrics:
        assert f"{one.value:.4f}" in text
    heading = lines[lines.index("Calibration") + 1].split()
    assert ("below" in heading, "floor" in heading) == (width == 120, width >= 80)


def test_a_title_of_ones_own(run, quick, folder, tmp_path):
    """--title is what report and page are called."""
    page = tmp_path / "page.html"
    found = audited(run, tmp_path, folder / "short.csv", *FAST, "--title", "Model <7>", "--html", page)
    assert found.title == "Model <7>"
    assert "<title>Model &lt;7&gt; " in page.read_text(encoding="utf-8")


def test_what_apply_wrote_can_be_audited(run, quick, folder, tmp_path):
    """The columns it adds are no classes of the others; a note names them, until they are asked for."""
    path = tmp_path / "out.csv"
    frame = polars.read_csv(folder / "classes.csv").head(100)
    frame.with_columns(polars.col("^p_.*$").name.map(lambda name: name.replace("p_", "p_calibrated_"))).write_csv(path)
    found = audited(run, tmp_path, path, *FAST)
    assert found.taken == "scores p_cat … p_owl (3 classes), labels label"
    assert "there are also columns p_calibrated_*: use them with --prob-prefix p_calibrated_" in found.notes
    asked = audited(run, tmp_path, path, *FAST, "--prob-prefix", "p_calibrated_")
    assert asked.taken == "scores p_calibrated_cat … p_calibrated_owl (3 classes), labels label"
    assert asked.classes == found.classes
    assert not any("there are also columns" in note for note in asked.notes)
    frame = polars.read_csv(folder / "short.csv").with_columns(p_calibrated=0.5)
    frame.write_csv(path)
    found = audited(run, tmp_path, path, *FAST)
    assert "there is also a column p_calibrated: use it with --prob p_calibrated" in found.notes
    np.savez(tmp_path / "out.npz", **frame.to_dict())
    assert audited(run, tmp_path, tmp_path / "out.npz", *FAST).notes == found.notes


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--pos-label", "yes"], "--pos-label 'yes' does not occur in labels (found 'No', 'Yes'); did you mean 'Yes'?"),
        (["--pos-label", "ill"], "(found 'No', 'Yes'); name one of these, or, if there are truly no positives, pass labels as 0 and 1"),
        (["--prob", "a", "--label", "yy"], "there are no columns 'a', 'yy'; there are y, p"),
        (["--prob", "a"], "there is no column 'a'; there are y, p"),
    ],
)  # fmt: skip
def test_names_that_are_not_there(run, tmp_path, options, sentence):
    """All of them are told at once, and one that differs in capitals is suggested."""
    path = tmp_path / "words.csv"
    path.write_text("y,p\nYes,0.5\nNo,0.1\n")
    result = run("audit", path, *options)
    assert result.exit_code == 2
    assert sentence in result.stderr, result.stderr


def test_scores_and_labels_swapped(run, folder):
    """Which option names which is said in place of an order of arguments."""
    result = run("audit", folder / "a.csv", "--prob", "y", "--label", "p")
    assert "scores and labels look swapped: --prob names the scores, --label the outcomes" in result.stderr
