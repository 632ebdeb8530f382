"""Rows to recalibrate, what Python finds for them with the methods of the page, and what the page's scripts find."""

from __future__ import annotations

import importlib
import json
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import believable
from believable.auditing.fix import remedy
from believable.auditing.make import settings_of
from believable.auditing.source import source_of_audit
from believable.recalibrate.facts import as_method
from tests.needs import need

SCRIPTS = Path(believable.__file__).parent / "report" / "browser" / "numerics"
# What the scripts of recalibration use, in an order in which each may use those before it.
USED = (
    "special",
    "linear",
    "draws",
    "random",
    "rows",
    "count",
    "cells",
    "shapes",
    "units",
    "smooth",
    "curves",
    "errors",
)
OWN = ("inversion", "optimise", "folds", "maps", "contest", "fixes")
METHODS = ("temperature", "platt", "beta", "isotonic")
SELECT = importlib.import_module("believable.recalibrate.select")  # the function of this name hides the module

READ = """
const load = (name) => require("vm").runInThisContext(require("fs").readFileSync(`${name}.js`, "utf8"), `${name}.js`);
process.argv.slice(1).forEach(load);
const input = JSON.parse(require("fs").readFileSync(0, "utf8"));
const say = (value) => console.log(JSON.stringify(value, (_, one) =>
  typeof one === "number" && !Number.isFinite(one) ? String(one) : ArrayBuffer.isView(one) ? Array.from(one) : one));
const attempt = (act) => { try { return act(); } catch (error) { return { error: error.message, name: error.name }; } };
const floats = (values) => values && Float64Array.from(values);
const scoresOf = (rows) => Array.isArray(rows[0]) ? rows[0].map((_, k) => floats(rows.map((row) => row[k]))) : floats(rows);
const integers = (values) => values && Int32Array.from(values);
"""


@dataclass(frozen=True)
class Case:
    """Scores with outcomes, and the seed of the audit."""

    scores: Any
    labels: Any
    weights: Any = None
    clusters: Any = None
    seed: int = 0
    classes: Any = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        columns = {name: getattr(self, name) for name in ("scores", "labels", "weights", "clusters")}
        plain = {name: None if values is None else np.asarray(values).tolist() for name, values in columns.items()}
        return plain | {"seed": self.seed, "classes": self.classes}


def made(scores: Any, labels: Any, weights: Any = None, clusters: Any = None, seed: int = 0) -> Case:
    """Return a case with arrays of the right kind, its clusters numbered."""
    cluster = None if clusters is None else np.unique(clusters, return_inverse=True)[1]
    return Case(np.asarray(scores, float), np.asarray(labels, int), weights, cluster, seed)


def sigmoid(z: Any) -> Any:
    """Return the probability of log-odds."""
    return 1 / (1 + np.exp(-z))


def multiclass(rng: Any, n: int, n_classes: int, sharpness: float) -> tuple[Any, Any]:
    """Return probabilities raised to a power, and labels drawn with the probabilities themselves."""
    p = rng.dirichlet(np.full(n_classes, 0.6), n)
    labels = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    p = p**sharpness
    return p / p.sum(axis=1, keepdims=True), labels


def run(script: str, given: Any, timeout: int = 120) -> Any:
    """Run a script in node beside the page's scripts, with an input, and return what it says."""
    node = [need("node"), "-e", READ + script, *USED, *OWN]
    done = subprocess.run(node, input=json.dumps(given), capture_output=True, text=True, timeout=timeout, cwd=SCRIPTS)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def found_by_page(cases: list[Case]) -> list[Any]:
    """Return what `Fixes.tried` says of each case."""
    script = """
    say(input.map(({ scores, labels, weights, clusters, seed, classes }) => attempt(() => Fixes.tried(
      { scores: scoresOf(scores), labels: integers(labels), weights: floats(weights), clusters: integers(clusters), classes },
      { seed },
    ))));
    """
    return run(script, [each.to_dict() for each in cases])


def found_by_python(case: Case) -> dict[str, Any]:
    """Return what the audit of Python recommends if it compares the methods of the page alone."""
    given = {"sample_weight": case.weights, "clusters": case.clusters}
    classes = {} if case.classes is None else {"classes": case.classes}
    labels = case.labels if case.classes is None else np.asarray(case.classes)[case.labels]
    rows = believable.Predictions(case.scores, labels, sample_weight=given.pop("sample_weight"), **classes)
    source = source_of_audit(rows, **given)
    _, settings = settings_of(source, 10, "uniform", None, 0.95, case.seed)
    with patch.object(SELECT, "suitable_methods", lambda *_: {name: as_method(name) for name in METHODS}):
        found = remedy(source, settings, progress=False)
    return {
        "fix": None if found.fix is None else asdict(found.fix),
        "no_fix": found.why_none,
        "caveats": list(found.caveats),
        "after": None if found.after is None else np.asarray(found.after.scores).tolist(),
    }
