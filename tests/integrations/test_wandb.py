"""Weights & Biases, offline: what a run has logged is read back from the file that would be sent."""

from __future__ import annotations

import doctest
import json
import math
import struct
import time
from pathlib import Path

import numpy as np
import pytest

import believable
from believable.errors import InputError
from tests.needs import need

wandb = need("wandb")

from believable.integrations import wandb as ours  # noqa: E402
from believable.integrations.wandb import log_audit, log_calibration  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # those of W&B and of what it uses

BLOCK = 32768  # bytes; the file is a log of LevelDB with a header of its own
RNG = np.random.default_rng(0)
SCORES = RNG.random(400)
LABELS = (RNG.random(400) < SCORES**1.6).astype(int)


@pytest.fixture(scope="module", autouse=True)
def _service_ends():
    """End the process that writes the files, which keeps the folder that it was started in."""
    yield
    wandb.teardown()


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run that sends nothing."""
    monkeypatch.setenv("WANDB_MODE", "offline")
    settings = wandb.Settings(silent=True, console="off")
    with wandb.init(project="test", dir=tmp_path, settings=settings) as started:
        yield started


def finished(run):
    """Finish a run, and return what it logged at each step."""
    folder = Path(run.dir).parent
    run.finish()
    (path,) = folder.glob("*.wandb")
    for _ in range(300):  # another process writes the file
        found = [parsed(record) for record in records(path.read_bytes())]
        if any(one.HasField("exit") for one in found):
            return [history(one) for one in found if one.HasField("history")]
        time.sleep(0.1)
    raise TimeoutError(path)


def records(data):
    """Yield the records of the file."""
    at, parts = 7, []
    while at + 7 <= len(data):
        if BLOCK - at % BLOCK < 7:
            at += BLOCK - at % BLOCK
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        if kind == 0:
            return
        parts.append(data[at + 7 : at + 7 + length])
        at += 7 + length
        if kind in (1, 4):  # a whole record, or its last part
            yield b"".join(parts)
            parts = []


def parsed(record):
    """Return a record."""
    from wandb.proto import wandb_internal_pb2

    read = wandb_internal_pb2.Record()
    read.ParseFromString(record)
    return read


def history(record):
    """Return a row of the history: a number or text by its name, and a dictionary for a file."""
    row = {}
    for item in record.history.item:
        *first, last = [item.key] if item.key else item.nested_key
        where = row
        for name in first:
            where = where.setdefault(name, {})
        where[last] = json.loads(item.value_json)
    return row


def test_an_audit_is_logged(run):
    """Numbers and words are those of the audit; the report and the picture are files of the run."""
    audit = believable.audit(SCORES, LABELS, title="a <b>title</b> / $x$ é")
    folder = Path(run.dir)
    log_audit(audit)
    assert run.summary["calibration/answer"] == audit.verdict.answer
    (row,) = finished(run)
    for one in audit.metrics:
        assert row[f"calibration/{one.alias}"] == one.value
        for end, value in {"low": one.low, "high": one.high, "noise_floor": one.floor}.items():
            assert row.get(f"calibration/{one.alias}_{end}") == value
    assert row["calibration/verdict"] == audit.verdict.headline
    assert row["calibration/bins"] == "10 uniform bins"
    assert row["calibration/recalibration"] == audit.fix.chosen
    page, picture = row["calibration/report"], row["calibration/diagram"]
    assert (folder / page["path"]).read_text(encoding="utf-8") == audit.to_html()
    assert (folder / picture["path"]).read_bytes().startswith(b"\x89PNG")
    assert (picture["width"], picture["height"]) == (600, 825)


def test_steps_and_prefixes(run):
    """Each step has its numbers, beside those that others log at that step, and nothing that was not asked for."""
    audits = []
    for step in (3, 7):
        run.log({"loss": 1.0 / step}, step=step)
        weight = RNG.random(400)
        audits.append(
            log_calibration(
                SCORES,
                LABELS,
                run=run,
                step=step,
                prefix="val/",
                page=False,
                picture=False,
                fix=False,
                sample_weight=weight,
            )
        )
    rows = finished(run)
    assert [row["_step"] for row in rows] == [3, 7]
    assert [row["val/calibration/ece"] for row in rows] == [audit["ece"].value for audit in audits]
    assert rows[0]["loss"] == 1 / 3
    assert all(audit.weighted for audit in audits)
    assert not {"val/calibration/report", "val/calibration/diagram", "calibration/ece"} & rows[0].keys()


def test_classes_and_subgroups_with_hostile_names(run):
    """Every class and every subgroup has its numbers under a name of its own, which the summary knows too."""
    names = np.array(["a/b", "a_b", "..", "<i>é"])
    scores = RNG.dirichlet(np.ones(4), 400)
    labels = names[[RNG.choice(4, p=row) for row in scores]]
    groups = {"part $/<b>.": np.resize(["a/b", "a_b", "", "é ü", "0.5", "x" * 300], 400)}
    audit = log_calibration(
        believable.Predictions(scores, labels, classes=names), run=run, by=groups, fix=False, page=False, picture=False
    )
    summary = dict(run.summary)
    (row,) = finished(run)
    for folder, parts in (("classes", audit.parts), ("subgroups", audit.subgroups)):
        kept = {
            name: value
            for name, value in row.items()
            if name.startswith(f"calibration/{folder}/") and name.endswith("/ece")
        }
        assert sorted(kept.values()) == sorted(part.ece for part in parts)
        assert {name: summary[name] for name in kept} == kept
    assert len(audit.parts) == 4
    assert len(audit.subgroups) == 6


def test_an_infinite_log_loss(run):
    """It stays infinite; undefined numbers are left out."""
    audit = log_calibration([0.0, 1.0, 0.5, 0.4] * 30, [1, 1, 0, 1] * 30, fix=False, page=False, picture=False)
    (row,) = finished(run)
    assert audit["nll"].value == math.inf
    assert float(row["calibration/nll"]) == math.inf
    assert not any(isinstance(value, float) and math.isnan(value) for value in row.values())
    assert "calibration/slope_noise_floor" not in row


def test_wrong_uses_are_named(run):
    """Without a run, with something else, and with a prefix that is no legal name."""
    audit = believable.audit(SCORES, LABELS, fix=False)
    for prefix in ("a b", "/", "a//b", None):
        with pytest.raises(InputError, match="prefix must consist of letters"):
            log_audit(audit, run, prefix=prefix)
    with pytest.raises(InputError, match=r"audit must be an Audit, which believable\.audit returns, got float"):
        log_audit(0.1, run)
    with pytest.raises(InputError, match="log that of each model, with a prefix of its own"):
        log_audit(believable.audit_models({"a": SCORES, "b": SCORES**2}, LABELS, fix=False), run)
    with pytest.raises(InputError, match="picture must be True or False"):
        log_audit(audit, run, picture=1)
    with pytest.raises(InputError, match="run must be a W&B run, got str"):
        log_audit(audit, "run")
    assert finished(run) == []
    with pytest.raises(InputError, match=r"no W&B run is active: call wandb\.init\(\) first, or pass run"):
        log_calibration(SCORES, LABELS)


def test_the_example_runs(tmp_path, monkeypatch):
    """That of the docstring."""
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(ours).failed == 0
    assert doctest.testmod(ours).attempted > 0
