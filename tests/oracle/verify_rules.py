"""Do the snippets of README.md reproduce the recorded values? Needs NumPy only."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from inputs import digest, inputs

HERE = Path(__file__).parent
rule: dict[str, Any] = {}
exec("\n".join(re.findall(r"```python\n(.*?)```", (HERE / "README.md").read_text(), re.S)), rule)


def scikit_learn(q, p, y, w, a):
    if q.startswith("calibration_curve"):
        return rule["scikit_learn_curve"](p, y, **a)
    return rule[q](p, y, w, **a)


def torchmetrics(q, p, y, w, a):
    return rule["torchmetrics_error"](p, y, **a)


def netcal(q, p, y, w, a):
    return rule["netcal_error"](p, y, q, **a)


def uncertainty_calibration(q, p, y, w, a):
    edges = {"get_ece": "division_edges", "get_ece_em": "midpoint_edges", "lower_bound_scaling_ce": "midpoint_edges"}
    order = 2 if q == "lower_bound_scaling_ce" else a.get("p", 1)
    chosen = rule[edges[q]] if q in edges else None
    return rule["verified_error"](
        p, y, chosen, order, a.get("debias", False), a.get("mode", "top-label"), a.get("num_bins", 15)
    )


def relplot(q, p, y, w, a):
    if p.ndim == 2:
        p, y = rule["confidence"](p, y)
    if q == "binnedECE":
        return rule["relplot_binned"](p, y, **a)
    return rule["smece"](p, y) if q.startswith("smECE (") else rule["smece_sigma"](p, y, a["sigma"])


def calibre(q, p, y, w, a):
    if q in ("classwise_ece", "top_label_ece"):
        if abs(p.sum(axis=1, dtype=float) - 1).max() > 2e-8:
            raise ValueError("rows of P must sum to 1")
        pairs = [rule["confidence"](p, y)] if q == "top_label_ece" else [(c, y == k) for k, c in enumerate(p.T)]
        if a["estimator"] == "sweep":
            return np.mean([rule["calibre_sweep"](c, hit)[0] for c, hit in pairs])
        return np.mean([rule["calibre_debiased"](c, hit, a["n_bins"]) for c, hit in pairs])
    if q.startswith("sweep"):
        return rule["calibre_sweep"](p, y, a["norm"])
    if q.startswith("smooth"):
        return rule["smece"](p.astype(float), y)
    if q.startswith("debiased"):
        return rule["calibre_debiased"](p, y, **a)
    order = {"expected": 1, "maximum": "max", "root": 2, "plugin": a.get("norm", 2)}[q.split("_")[0]]
    strategy = a.get("strategy", "quantile" if q.startswith("plugin") else "uniform")
    return rule["calibre_error"](p, y, order, a["n_bins"], strategy, w)


def array_split(q, p, y, w, a):
    if p.ndim == 2:
        p, y = rule["confidence"](p, y)
    return rule["array_split_error"](p, y, **a)


RULES = (scikit_learn, torchmetrics, netcal, uncertainty_calibration, relplot, calibre, array_split)


def tolerance(peer: str, p: np.ndarray) -> float:
    """1e-12 relative, 2e-6 where the peer computes in float32."""
    if peer == "torchmetrics" and p.ndim == 2:
        return 2e-6
    single = ("scikit_learn", "torchmetrics", "uncertainty_calibration")
    return 2e-6 if p.dtype == np.float32 and peer in single else 1e-12


def flat(value: Any) -> np.ndarray:
    return np.concatenate([np.ravel(part) for part in value]) if isinstance(value, (tuple, list)) else np.ravel(value)


def main() -> int:
    failed = 0
    for check in RULES:
        peer = check.__name__
        data = json.loads((HERE / "values" / f"{peer}.json").read_text())
        if data["inputs_sha256"] != digest():
            print(f"{peer}: recorded on other inputs than inputs.py makes now")
            failed += 1
        worst: dict[float, float] = {}
        for record in data["records"]:
            p, y, w = inputs()[record["input"]]
            where = f"{peer}: {record['input']}: {record['call']}"
            try:
                mine = check(record["quantity"], p, y, w if "=w" in record["call"] else None, record["args"])
            except (ValueError, IndexError) as refused:
                mine = None
                if "error" not in record or str(refused) not in record["error"]:
                    raise
            if (mine is None) != ("error" in record):
                print(f"{where}: expected {record.get('error')}")
                failed += 1
                continue
            if mine is None:
                continue
            mine, theirs = flat(mine), flat(record["value"])
            tol = tolerance(peer, p)
            if mine.shape != theirs.shape:
                print(f"{where}: {theirs.shape} recorded, {mine.shape} by the rule")
                failed += 1
                continue
            floor = 1.0 if record["quantity"] == "d2_brier" else 1e-2  # 1 - a ratio: its error is absolute
            off = float(np.max(np.abs(mine - theirs) / np.maximum(np.abs(theirs), floor)))
            worst[tol] = max(worst.get(tol, 0.0), off)
            if off > tol:
                print(f"{where}: {theirs.tolist()} recorded, {mine.tolist()} by the rule")
                failed += 1
        print(f"{peer}: {len(data['records'])} records, largest difference {worst}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
