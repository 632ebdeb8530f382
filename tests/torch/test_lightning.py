"""Lightning's Trainer: meters and metrics of a module count every process, in every precision, and load as they should."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from believable import evaluate
from believable.torch import summarize
from tests.needs import need

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
job = None


@pytest.fixture(autouse=True)
def _packages():
    global job
    need("lightning")
    need("torchmetrics")
    from tests.torch import lightning_job

    job = lightning_job


@pytest.fixture(scope="module", params=[1, 2], ids=["one process", "two processes"])
def trained(request, tmp_path_factory):
    """What a program that trains with one or two processes has saved."""
    need("lightning")
    need("torchmetrics")
    folder = tmp_path_factory.mktemp("trained")
    command = [sys.executable, "-m", "tests.torch.lightning_job", str(folder), str(request.param)]
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "SLURM"))}
    run = subprocess.run(command, cwd=ROOT, env=alone, capture_output=True, text=True, timeout=240, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    return folder, request.param


def saved_by(trained, precision):
    """What each process saved, in order."""
    folder, processes = trained
    return [torch.load(folder / f"{precision}-{rank}.pt", weights_only=False) for rank in range(processes)]


def evaluated(epochs):
    """The metrics of all rows of an epoch, counted in this process."""
    logits, labels = (torch.cat([epoch[name] for epoch in epochs]) for name in ("logits", "labels"))
    return evaluate(summarize(logits, labels, from_logits=True), metrics=job.METRICS, n_bins=job.N_BINS)


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_every_process_reads_all_rows(trained, precision):
    """In each epoch the values of a meter are those of all rows, whichever process counted them, and on all of them."""
    ranks = saved_by(trained, precision)
    for epochs in zip(*(rank["epochs"] for rank in ranks), strict=True):
        wanted = evaluated(epochs)
        for epoch in epochs:
            assert epoch["n"] == len(epoch["labels"])  # of its own rows alone
            assert epoch["values"] == {name: pytest.approx(wanted[name], abs=1e-12) for name in wanted}
    assert len(ranks[0]["epochs"]) == job.EPOCHS


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_logged_values_are_those_of_all_rows(trained, precision):
    """What is logged is the value of the last epoch, through a metric (`self.log`) and through a meter (`log_dict`)."""
    ranks = saved_by(trained, precision)
    wanted = evaluated([rank["epochs"][-1] for rank in ranks])
    for rank in ranks:
        logged = dict(rank["logged"])
        # Lightning keeps what it logs as float32.
        assert logged.pop("val_ece") == pytest.approx(wanted["ece"], abs=1e-6)
        assert logged == {name: pytest.approx(wanted[name], rel=1e-6) for name in wanted}


def test_precision_of_the_trainer_is_not_that_of_the_counts(trained):
    """Mixed precision makes logits bfloat16 and leaves the counts in float64."""
    for rank in saved_by(trained, "bf16-mixed"):
        assert {epoch["logits"].dtype for epoch in rank["epochs"]} == {torch.bfloat16}
        assert rank["types"] == {"torch.float64", "torch.int64", "torch.uint8"}  # bytes are the settings


def test_checkpoints_load_with_and_without_meters(trained):
    """A checkpoint has no counts, so modules with a meter and without one load it."""
    folder, _ = trained
    path = folder / "32-true.ckpt"
    weights = torch.load(path, weights_only=True)["state_dict"]
    assert set(weights) == {"net.weight", "net.bias"}
    for kind in (job.Classifier, job.Bare):
        model = kind.load_from_checkpoint(path, map_location="cpu")
        assert torch.equal(model.net.weight, weights["net.weight"])


def test_persistent_counts_are_part_of_a_checkpoint():
    """Counts that are declared persistent come back with the module."""
    model, again = job.Classifier(persistent=True), job.Classifier(persistent=True)
    model.meter.update(torch.randn(7, 3), torch.arange(7) % 3)
    state = model.state_dict()
    assert any(name.startswith("meter.") for name in state)
    again.load_state_dict(state)
    assert again.meter.n == 7
    job.Classifier(persistent=True).load_state_dict(job.Bare().state_dict())
