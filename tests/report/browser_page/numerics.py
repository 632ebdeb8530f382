"""The scripts behind the page's numbers, run in node, and what Python finds for the same rows."""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import believable
from believable import audit
from believable.report.packed import PackedCells
from tests.needs import need

FOLDER = Path(believable.__file__).parent / "report" / "browser" / "numerics"
GOLDEN = Path(__file__).parent / "golden"
SCRIPTS = (
    *(
        "special",
        "draws",
        "linear",
        "rows",
        "count",
        "words",
        "curves",
        "logistic",
        "smooth",
        "cells",
        "shapes",
        "units",
    ),
    *("errors", "inversion", "floor", "resampling", "roc", "evidence", "rules", "parts", "advice", "pack", "slices"),
    *("measure", "judge", "calibration"),
)
EXACT = 1e-9
# The ends of these intervals depend on what 300 simulations draw. The draws are NumPy's, but a rounding error in the
# eigenvectors of an almost singular matrix may change one, and with it all later ones.
DRAWN = ("sce", "tlce", "smece", "ace", "mce", "rmsce", "ks", "ici")
SHARE_OF_WIDTH = 0.35  # such an end may differ by this share of the interval
NOT_COMPARED = ("made_on", "package", "command", "no_fix", "notes", "slices", "lines")
POINTS_KEPT = 5  # of each curve, in golden files
RUN = """
const input = JSON.parse(require("fs").readFileSync(0, "utf8"));
const floats = (values) => values && Float64Array.from(values, (one) => (typeof one === "string" ? Number(one) : one));
const ints = (values) => values && Int32Array.from(values);
const plain = (_, value) => {
  if (typeof value === "number" && !Number.isFinite(value)) return value > 0 ? "Infinity" : value < 0 ? "-Infinity" : "NaN";
  return ArrayBuffer.isView(value) ? Array.from(value) : value;
};
const asked = ({ rows, options }) => {
  const scores = rows.kind === "multiclass" ? rows.scores.map(floats) : floats(rows.scores);
  const groups = rows.groups.map((one) => ({ ...one, codes: ints(one.codes) }));
  const labels = Float64Array.from(rows.labels);
  const given = { ...rows, scores, labels, weights: floats(rows.weights), clusters: ints(rows.clusters), groups };
  const told = [];
  try {
    return { ...Calibration.audit(given, options, (share) => told.push(share)), told };
  } catch (error) {
    if (error.name !== "InputError") throw error;
    return { error: error.message, row: error.row };
  }
};
"""


@dataclass(frozen=True, slots=True)
class Case:
    """Rows as the page reads them, and the options of their audit."""

    kind: str
    scores: list[Any]
    labels: list[int]
    weights: list[float] | None = None
    clusters: list[int] | None = None
    pairs: bool = False
    groups: list[dict[str, Any]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        scores: Any,
        labels: Any,
        weights: Any = None,
        clusters: Any = None,
        by: Mapping[str, Any] | None = None,
        pairs: bool = False,
        **options: Any,
    ) -> Case:
        """Write arrays as lists; subgroups and clusters are numbered in the order of `np.unique`."""
        array = np.asarray(scores, np.float64)
        groups = []
        for column, values in (by or {}).items():
            levels, codes = np.unique(np.asarray(values), return_inverse=True)
            groups.append({"column": column, "levels": levels.tolist(), "codes": codes.tolist()})
        return cls(
            kind="binary" if array.ndim == 1 else "multiclass",
            scores=array.T.tolist(),
            labels=np.asarray(labels).astype(int).tolist(),
            weights=None if weights is None else np.asarray(weights, np.float64).tolist(),
            clusters=None if clusters is None else np.unique(clusters, return_inverse=True)[1].tolist(),
            pairs=pairs,
            groups=groups,
            options=options,
        )

    def asked(self) -> dict[str, Any]:
        """Return what node reads."""
        rows = {name: value for name, value in asdict(self).items() if name != "options"}
        return {"rows": rows, "options": {"fix": False, **self.options}}

    def python_audit(self) -> dict[str, Any]:
        """Return what Python finds, as a dictionary with the sentences of the verdict."""
        names = {"bins": "n_bins", "seed": "random_state"}
        options: dict[str, Any] = {names.get(name, name): value for name, value in self.options.items()}
        by = {one["column"]: np.array(one["levels"])[one["codes"]] for one in self.groups}
        found = audit(
            np.array(self.scores).T,
            np.array(self.labels),
            sample_weight=None if self.weights is None else np.array(self.weights),
            clusters=None if self.clusters is None else np.array(self.clusters),
            by=by or None,
            pairs=self.pairs,
            fix=False,
            **options,
        )
        text = {"headline": found.verdict.headline, "details": found.verdict.details()}
        return json.loads(json.dumps(found.to_dict() | {"text": text}))  # type: ignore[no-any-return]


def in_node(expression: str, given: Any) -> Any:
    """Return the value of a JavaScript expression that may use the scripts, `input` and `asked`."""
    code = [(FOLDER / f"{name}.js").read_text(encoding="utf-8").partition("\nif (typeof module")[0] for name in SCRIPTS]
    script = "\n".join([*code, RUN, f"console.log(JSON.stringify({expression}, plain));"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "numerics.js"
        path.write_text(script, encoding="utf-8")
        done = subprocess.run(
            [need("node"), str(path)], input=json.dumps(given), capture_output=True, text=True, check=False
        )
    assert not done.returncode, done.stderr[-2000:]
    return json.loads(done.stdout)


def thinned(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return an audit without diagrams, with a few points of each curve."""
    kept = {name: value for name, value in found.items() if name not in NOT_COMPARED}
    lines = []
    for line in found["lines"]:
        at = np.unique(np.linspace(0, len(line["x"]) - 1, POINTS_KEPT).round().astype(int)).tolist()
        columns = {name: [line[name][i] for i in at] for name in ("x", "y", "low", "high")}
        lines.append({"method": line["method"], "points": len(line["x"]), "band": line["band"]} | columns)
    return kept | {"lines": lines}


def differences(expected: Any, got: Any, path: str = "", slack: float = 0.0) -> list[str]:
    """List where two audits differ, numbers by more than 1e-9 (or by `slack`)."""
    if isinstance(expected, dict):
        if not isinstance(got, dict):
            return [f"{path}: {expected!r}, got {got!r}"]
        if expected.get("alias") in DRAWN and expected.get("low") is not None and got.get("low") is not None:
            slack = SHARE_OF_WIDTH * (expected["high"] - expected["low"])
        return [
            line
            for name, value in expected.items()
            for line in differences(
                value, got.get(name, "missing"), f"{path}.{name}", slack if name in ("low", "high") else 0.0
            )
        ]
    if isinstance(expected, list):
        if not isinstance(got, list) or len(got) != len(expected):
            return [f"{path}: {str(expected)[:80]}, got {str(got)[:80]}"]
        pairs = zip(expected, got, strict=True)
        return [line for i, (a, b) in enumerate(pairs) for line in differences(a, b, f"{path}[{_name(a, i)}]", slack)]
    if _is_number(expected) and _is_number(got):
        close = math.isclose(expected, got, rel_tol=EXACT, abs_tol=max(EXACT, slack))
        return [] if close else [f"{path}: {expected!r}, got {got!r}"]
    return [] if expected == got else [f"{path}: {expected!r}, got {got!r}"]


def loose_differences(expected: Any, got: Any) -> list[str]:
    """List the differences that another draw cannot explain: none in the interval of the ECE, and what follows from it."""
    verdict = expected["verdict"]
    slack = SHARE_OF_WIDTH * (verdict["high"] - verdict["low"])
    ends = ("estimate", "low", "high")
    found = [line for name in ends for line in differences(verdict[name], got["verdict"][name], name, slack)]
    for name in ("metrics", "subgroups", "parts"):
        for one, other in zip(expected[name], got[name], strict=True):
            kept = [{key: value for key, value in part.items() if key not in ("low", "high")} for part in (one, other)]
            found += differences(kept[0], kept[1], f"{name}[{one['name']}]")
    return found + differences(expected["table"], got["table"], "table") + differences(expected["lines"], got["lines"])


def _name(entry: Any, i: int) -> Any:
    return entry.get("alias", i) if isinstance(entry, dict) else i


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def differences_of_slices(expected: Sequence[Any], got: Sequence[Any]) -> list[str]:
    """List where the diagrams differ: counts must be equal, and means but for their last bit in the packed form."""
    if len(expected) != len(got):
        return [f"slices: {len(expected)}, got {len(got)}"]
    found = []
    for one, other in zip(expected, got, strict=True):
        a, b = PackedCells.from_dict(one["cells"]).cells(), PackedCells.from_dict(other["cells"]).cells()
        facts = [[part[name] for name in ("class_name", "column", "level", "stage")] for part in (one, other)]
        same = facts[0] == facts[1] and a.view == b.view and np.array_equal(a.key, b.key) and np.array_equal(a.n, b.n)
        if not (same and np.allclose(a.wy, b.wy, rtol=4e-5) and np.allclose(a.conf, b.conf, atol=1e-7)):
            found.append(f"slice {facts[0]}")
    return found
