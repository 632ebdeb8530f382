"""Files to audit, and audits that take a moment."""

from __future__ import annotations

import numpy as np
import polars
import pytest
from click.testing import CliRunner

from believable.auditing import measure
from believable.cli import main


@pytest.fixture(scope="session")
def run():
    """Call the program; the result has exit_code, stdout, stderr and output."""

    def call(*arguments, stdin=None):
        return CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin)

    return call


@pytest.fixture
def quick(monkeypatch):
    """Audits with few metrics: everything else is as it is."""
    monkeypatch.setattr(measure, "AUDITED_ERRORS", {"binary": ("ece",), "multiclass": ("ece", "sce")})
    monkeypatch.setattr(measure, "AUDITED_DISCRIMINATION", ("auc", "acc"))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Over-confident predictions in several files; the column q holds calibrated ones for the same rows."""
    path = tmp_path_factory.mktemp("predictions")
    rng = np.random.default_rng(5)
    n = 400
    q = rng.beta(0.8, 0.8, n)
    y = (rng.random(n) < q).astype(int)
    logit = np.log(q / (1 - q))
    frame = polars.DataFrame(
        {
            "patient_id": np.repeat(np.arange(n // 4), 4),
            "p": 1 / (1 + np.exp(-2.5 * logit)),
            "y": y,
            "q": q,
            "w": rng.random(n) + 0.5,
            "z": 2.5 * logit,
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    frame.write_csv(path / "a.csv")
    frame.write_csv(path / "a.tsv", separator="\t")
    frame.write_parquet(path / "a.parquet")
    frame.write_ndjson(path / "a.jsonl")
    np.savez(path / "a.npz", p=frame["p"].to_numpy(), y=y)
    frame.select(p="q", y="y").write_csv(path / "b.csv")
    frame.select(p="q", y="y").head(100).write_csv(path / "short.csv")
    frame.select(p="q", y=1 - polars.col("y")).write_csv(path / "flipped.csv")
    rows = rng.dirichlet(np.full(3, 0.7), n)
    label = [["cat", "dog", "owl"][rng.choice(3, p=row)] for row in rows]
    sharp = rows**2 / (rows**2).sum(axis=1, keepdims=True)
    classes = {f"p_{name}": sharp[:, k] for k, name in enumerate(["cat", "dog", "owl"])}
    polars.DataFrame({"label": label} | classes).write_csv(path / "classes.csv")
    return path
