"""`believable audit` of what is too large to hold: one pass that can be killed, saved summaries, folders and patterns."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import polars
import pytest

from believable import Audit, Summary
from believable.auditing import measure
from believable.cli import _large
from believable.readers import load_summary, summarize_files

N = 1_500_000
EVERY = 60_000
COMMAND = "from believable.cli import main\nmain()\n"
FEW_METRICS = "from believable.auditing import measure\nmeasure.AUDITED_ERRORS, measure.AUDITED_DISCRIMINATION = {'binary': ('ece',)}, ('auc',)\n"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A million and a half rows in one file."""
    path = tmp_path_factory.mktemp("large") / "large.parquet"
    rng = np.random.default_rng(3)
    p = rng.beta(0.7, 1.3, N).astype(np.float32)
    y = (rng.random(N) < p**1.2).astype(np.int8)
    polars.DataFrame({"p": p, "y": y}).write_parquet(path, row_group_size=200_000)
    return path


def start(*arguments, before=""):
    command = [sys.executable, "-c", before + COMMAND, "audit", *map(str, arguments), "--no-fix", "--quiet"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def rows_done(path):
    """As the checkpoint says; 0 where there is none."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return 0
    return json.loads(data[24 : 24 + int.from_bytes(data[12:16], "little")])["form"]["rows"]


def killed_after(target, state, *arguments):
    """Start the command, kill it at a moment of its own once so many rows are done; what is done then."""
    process = start(*arguments)
    while rows_done(state) < target and process.poll() is None:
        time.sleep(0.002)
    time.sleep(random.Random(target).random() / 20)
    process.send_signal(signal.SIGKILL)
    _, said = process.communicate()
    assert process.returncode == -signal.SIGKILL, said
    return rows_done(state)


@pytest.mark.slow
def test_it_can_be_killed_at_any_moment(large, tmp_path):
    """Killed five times and gone on each time, then with the checkpoint cut short: the result is the same to the bit."""
    state, saved = tmp_path / "state.cells", tmp_path / "summary"
    arguments = (large, "--checkpoint", state, "--checkpoint-every", EVERY, "--save-summary", saved)
    whole = summarize_files(large, checkpoint=tmp_path / "whole.cells", every=EVERY)
    done = 0
    for k in range(5):
        target = done + random.Random(k).choice([1, EVERY + 1])
        before, done = done, killed_after(target, state, *arguments)
        assert 0 < before < done < N or (k == 0 and 0 < done < N)
    data = state.read_bytes()
    state.write_bytes(data[: random.Random(5).randrange(len(data))])
    process = start(*arguments, before=FEW_METRICS)  # what is tested is the pass
    _, said = process.communicate()
    assert process.returncode == 0, said
    assert said.startswith(f"Note: the checkpoint {state} is damaged (cut short); the backup is intact: continuing ")
    assert Summary.load(saved).to_bytes() == whole.to_bytes() == load_summary(state).to_bytes()
    assert not saved.with_name("state.cells.previous").exists()


@pytest.fixture(scope="module", autouse=True)
def few_metrics():
    """Audits with few metrics: everything else is as it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "AUDITED_ERRORS", {"binary": ("ece", "mce", "slope")})
        patch.setattr(measure, "AUDITED_DISCRIMINATION", ("auc", "acc"))
        yield


@pytest.fixture(scope="module")
def both(run, folder, tmp_path_factory):
    """The same rows audited one by one, and in one pass over three files, with everything that is written."""
    out = tmp_path_factory.mktemp("both")
    parts = out / "parts"
    parts.mkdir()
    frame = polars.read_parquet(folder / "a.parquet")
    for k in range(3):
        frame[k * 150 : (k + 1) * 150].write_parquet(parts / f"{k}.parquet")
    by = ("--prob", "p", "--by", "sex,age", "--no-fix")
    files = [f"--{one}={out}/audit.{one}" for one in ("html", "markdown")]
    one_by_one = run("audit", folder / "a.parquet", *by, f"--json={out}/rows.json")
    passed = run(
        *("audit", parts, *by, f"--json={out}/pass.json", f"--plot={out}/plot.png", f"--save-summary={out}/saved"),
        *files,
    )
    assert (one_by_one.exit_code, passed.exit_code) == (0, 0), passed.output
    return out, passed, *(Audit.from_json((out / f"{name}.json").read_text()) for name in ("rows", "pass"))


def test_one_pass_says_what_the_rows_say(both):
    """Values of the metrics, the table and the subgroups agree; the report says that it was one pass."""
    _, passed, rows, found = both
    assert (found.n, found.title) == (rows.n, "parts")
    for name in ("ece", "mce", "brier", "nll", "acc"):
        assert found[name].value == pytest.approx(rows[name].value, rel=1e-9), name
    for name in ("auc", "slope"):
        assert found[name].value == pytest.approx(rows[name].value, abs=2e-3), name
    assert [one.n for one in found.table] == [one.n for one in rows.table]
    assert {(one.column, one.name, one.n) for one in found.subgroups} == {
        (one.column, one.name, one.n) for one in rows.subgroups
    }
    assert "400 rows in 3 files were counted in 50,400 cells, in one pass" in passed.stdout
    assert "cut into quarters" in passed.stdout
    assert "column patient_id repeats" in passed.stdout


def test_everything_is_written(both):
    """Page, Markdown, JSON, picture and summary, each said."""
    out, passed, _, _ = both
    for name, what in {"audit.html": "Report", "pass.json": "JSON", "plot.png": "Picture", "saved": "Summary"}.items():
        assert f"{what} written to {out / name}" in passed.stdout
        assert (out / name).stat().st_size > 1000


@pytest.mark.slow
def test_a_saved_summary_is_audited_as_its_rows_were(run, both):
    """Whatever it is called; several add up; columns cannot be chosen any more."""
    out, _, _, found = both
    result = run("audit", out / "saved", "--no-fix", f"--json={out}/again.json")
    assert result.exit_code == 0, result.output
    again = Audit.from_json((out / "again.json").read_text())
    assert again["ece"] == found["ece"]
    assert again.subgroups == found.subgroups
    assert "400 rows, counted in 50,400 cells, from a saved summary" in result.stdout
    (out / "copy").write_bytes((out / "saved").read_bytes())
    twice = run("audit", out / "saved", out / "copy", "--no-fix", "--fail-above", "ece.value=0.01", "--by", "sex")
    assert twice.exit_code == 1
    assert "saved and 1 more: 800 rows" in twice.stdout
    assert "Gate FAILED: ece" in twice.stdout
    refused = run("audit", out / "saved", out / "saved")
    assert refused.stderr == "Error: a saved summary is named twice, so its rows would count twice: name each once\n"
    refused = run("fit", out / "saved")
    assert f"{out / 'saved'} is a saved summary, which has no rows: `believable audit` reads it" in refused.stderr
    refused = run("audit", out / "saved", "--prob", "p")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == f"Error: --prob is for files of rows, but {out / 'saved'} is a saved summary\n"


def test_large_files_and_several_are_read_in_one_pass(run, both, folder, monkeypatch):
    """So are a pattern and a file with --stream; a small file is not."""
    parts, small = both[0] / "parts", folder / "a.parquet"
    several = [*parts.iterdir()]
    for files, asked in [([parts / "*.parquet"], {}), (several, {}), ([parts], {}), ([small], {"stream": True})]:
        assert _large.is_large(files, asked)
    assert not _large.is_large([small], {})
    monkeypatch.setattr(_large, "MAX_ROWS_HELD", 100)
    assert _large.is_large([small], {})
    assert not _large.is_large([small], {"cluster": "patient_id"})
    result = run("audit", parts / "*.parquet", "--prob", "p", "--no-fix", "--quiet")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("No, recalibrate first. ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["parts", "--cluster", "sex"],
            "--cluster needs the rows, but one pass over {parts} keeps only counts",
        ),
        (["parts", "--compare", "a.csv"], "--compare needs the rows"),
        (["parts", "--run", "a.csv"], "--run cannot be combined with one pass over {parts}"),
        (["parts", "--samples"], "--samples cannot be combined with one pass over {parts}"),
        (["--stream"], "name a Parquet file, a folder of them, or a pattern in quotes"),
        (["parts", "--stream", "--checkpoint-every", "5"], "--checkpoint-every needs --checkpoint"),
        (["a.csv", "--stream"], "only Parquet files are read in one pass, but {a.csv} is not one"),
        (
            ["a.csv", "b.csv"],
            "only Parquet files are read together, in one pass, but {a.csv} is not one; to audit each file by itself, use --each; to compare",
        ),
        (["-", "--stream"], "the standard input cannot be read in batches"),
        (["parts", "--logits", "--scores", "raw"], "--logits and --scores raw contradict each other"),
        (["parts", "--label", "sex"], "name the one that counts as 1 with --pos-label"),
        (["parts", "--prob", "age"], "these look like percentages: use --percent"),
        (["parts", "--checkpoint", "a.csv"], "{a.csv} is not a checkpoint"),
        (["parts", "--save-summary", "a.csv/x"], "--save-summary {a.csv}/x cannot be written: there is no folder"),
        (["no-*.parquet"], "no file matches the pattern no-*.parquet"),
        (["parts", "--bins", "17"], "--bins 17: rows are counted in 50,400 cells, which are then combined into bins"),
    ],
)
def test_what_does_not_go_is_said(run, both, folder, arguments, sentence):
    """One sentence, exit code 2."""
    places = {
        "parts": both[0] / "parts",
        "a.csv": folder / "a.csv",
        "b.csv": folder / "b.csv",
        "a.csv/x": folder / "a.csv" / "x",
    }
    result = run(
        "audit", *(places.get(one, one) for one in arguments), *([] if "--prob" in arguments else ["--prob", "p"])
    )
    assert (result.exit_code, result.stdout) == (2, "")
    for name, place in places.items():
        sentence = sentence.replace("{" + name + "}", str(place))
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("option", ["--html", "--json", "--save-summary", "--checkpoint"])
def test_what_is_read_is_not_written_to(run, both, option):
    """Files in a folder, or of a pattern, are inputs too."""
    parts = both[0] / "parts"
    before = (parts / "0.parquet").read_bytes()
    for given in (parts, parts / "[0-9].parquet"):
        result = run("audit", given, "--prob", "p", option, parts / "0.parquet")
        assert result.exit_code == 2
        assert result.stderr == f"Error: {option} {parts / '0.parquet'} is also an input file: choose another name\n"
    assert (parts / "0.parquet").read_bytes() == before


def test_summaries_with_other_subgroups_do_not_add_up(run, both, tmp_path):
    """Ranges that were cut elsewhere have other names, or the same name and other rows."""
    saved = both[0] / "saved"
    frame = polars.read_parquet(both[0] / "parts").with_columns(age=polars.col("age") + 30)
    frame.write_parquet(tmp_path / "older.parquet")
    summarize_files(tmp_path / "older.parquet", prob="p", by=["sex", "age"]).save(tmp_path / "older")
    result = run("audit", saved, tmp_path / "older")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: the summaries divide column age into different subgroups")
