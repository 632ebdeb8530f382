"""Do the snippets of README.md reproduce the recorded values? Needs NumPy only."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from inputs import beyond, digest, inputs, recalibrating

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


# --- without bins; NotImplemented: a record that no snippet explains (a spline through a profile, a p-value of chi2) ---


def mapie(q, p, y, w, a):
    limits = {"kolmogorov_smirnov": rule["largest_limit"], "kuiper": rule["range_limit"]}
    which, _, kind = q.rpartition("_")
    if kind == "cdf":
        return limits[which](a["x"])
    if q.startswith("spiegelhalter"):
        z = rule["spiegelhalter_z"](p, y)
        return z if "statistic" in q else NormalDist().cdf(-z)
    exact = kind in ("error", "exact")
    sums = rule["cumulative"](p if exact else rule["jittered"](p), y)
    which = which.removesuffix("_p")
    value = np.ptp(sums) if which == "kuiper" else np.abs(sums).max()
    value = value if kind == "error" else value / rule["length_scale"](p)
    return 1 - limits[which](value) if kind == "value" else value


def mcgrad(q, p, y, w, a):
    value = np.ptp(np.append(rule["cumulative"](p, y, w), 0))
    value = value if q == "ecce" else value / rule["length_scale"](p, w)
    return 1 - rule["range_limit"](value) if q == "ecce_pvalue" else value


def netcal_mmce(q, p, y, w, a):
    return rule["netcal_mmce"](p, y)


def scikit_learn_isotonic(q, p, y, w, a):
    rates, of = rule["isotonic"](p, y, w)
    return rates[of] if w is None else NotImplemented  # rows without weight are interpolated


def calibre_corp(q, p, y, w, a):
    if q.startswith("corp"):
        return rule["isotonic"](p, y, w)[0]
    eps = np.finfo(float).eps
    score = rule["squares"] if a["score"] == "brier" else lambda forecast, y: rule["logs"](forecast, y, eps)
    mcb, dsc, unc, whole = rule["corp"](p, y, w, score)
    return whole, mcb, dsc, unc


def model_diagnostics(q, p, y, w, a):
    if "LogLoss" in q and w is not None and p.min() == 0:
        return NotImplemented  # 0 * inf of rows without weight
    return rule["corp"](p, y, w, rule["squares"] if "Squared" in q else rule["logs"])


def calzone(q, p, y, w, a):
    if q.startswith("spiegelhalter"):
        z = rule["spiegelhalter_z"](p, y)
        return z, 2 * (1 - NormalDist().cdf(abs(z)))
    if q == "table":
        return rule["calzone_table"](p, y, **a)
    if q.startswith("hosmer"):
        acc, conf, n = (part.copy() for part in rule["calzone_table"](p, y, **a))
        acc, conf, n = (part[n > 0] for part in (np.clip(acc, 1e-7, 1 - 1e-7), np.clip(conf, 1e-7, 1 - 1e-7), n))
        return Part((rule["hosmer_lemeshow"](n, n * acc, n * conf), None, len(n) - 2))
    if q.startswith("cox"):
        if p.min() == p.max():
            raise ValueError("Singular matrix")
        b, se, _ = rule["logistic"](rule["calzone_logits"](p), y, slope="fix" not in q)
        half = NormalDist().inv_cdf(0.975) * se
        if "fix" in q:
            return Part((1, b[0], 1, 1, b[0] - half[0], b[0] + half[0]))
        return Part((b[1], b[0], b[1] - half[1], b[1] + half[1], b[0] - half[0], b[0] + half[0]))
    if a["delta"] or p.min() == p.max() or len(p) > 1000:
        return NotImplemented
    return np.abs(rule["local_fit"](p, y, p, int(a["span"] * len(p) + 1e-10), 1) - p).mean()


def statsmodels(q, p, y, w, a):
    if q.startswith("lowess"):
        at = np.linspace(p.min(), p.max(), 21)
        return rule["local_fit"](p, y, at, int(a["frac"] * len(p) + 1e-10), 1)
    robust = a["cov_type"] == "HC0"
    if robust and "freq" in q:
        return NotImplemented
    b, se, sandwich = rule["logistic"](rule["clipped_logits"](p), y, w, "slope" in q)
    half = NormalDist().inv_cdf(0.975) * (sandwich if robust else se)
    return b, sandwich if robust else se, b - half, b + half


def r(q, p, y, w, a):
    weights = w if q.startswith("weighted") else None
    q = q.removeprefix("weighted ")
    if q.endswith("profile") or "confint" in q or q.startswith(("observed", "murphy")):
        return NotImplemented
    if q.startswith(("in the large", "slope and intercept")):
        if q.startswith("slope") and p.min() == p.max():
            return NotImplemented  # R leaves the slope out
        b, se, sandwich = rule["logistic"](rule["clipped_logits"](p), y, weights, q.startswith("slope"))
        if "sandwich" in q:
            return sandwich
        if weights is not None or "root" in q:
            return b
        half = NormalDist().inv_cdf(0.975) * se
        return b, se, b - half, b + half
    if q.startswith("spiegelhalter") and weights is None:
        z = rule["spiegelhalter_z"](p, y)
        return z, 2 * NormalDist().cdf(-abs(z))
    if q == "hosmer_lemeshow":
        if p.min() == p.max():
            raise ValueError("invalid number of intervals")
        n, observed, expected = rule["type7_groups"](p, y, a["g"])
        return Part((rule["hosmer_lemeshow"](n, observed, expected), *n, *observed, *expected, None, None))
    if q == "isotonic":
        rates, of = rule["isotonic"](p, y)
        return rates[of]
    if q == "corp":
        return rule["corp"](p, y, weights, rule["squares"] if a["score"] == "brier" else rule["logs"])
    if weights is None and q.startswith("lowess"):
        return rule["local_fit"](p, y, np.sort(p), int(a["f"] * len(p) + 1e-7), 1, 0.001, 0.999)
    if q == "loess index" and len(p) > 1000:
        return NotImplemented  # minutes
    if weights is None and q.startswith("loess"):
        at = np.linspace(p.min(), p.max(), 21) if "grid" in q else p
        g = rule["local_fit"](p, y, at, int(a["span"] * len(p) + 1e-5), a["degree"])
        if q != "loess index":
            return g
        return rule["index"](np.clip(g, 0, 1), p, {1: "inverted_cdf", 7: "linear"}[a["type"]])
    if q == "loess on a grid":
        repeat = (8 * w).astype(int)
        rows, labels = np.repeat(p, repeat), np.repeat(y, repeat)
        at = np.linspace(p.min(), p.max(), 21)
        return rule["local_fit"](rows, labels, at, int(a["span"] * len(rows) + 1e-5), a["degree"])
    return NotImplemented


# --- recalibrators; what a search of a peer's own ended, and wrapped classifiers, are compared in the tests alone ---

GRID, FINE = np.arange(1, 40) / 40, np.arange(81) / 80


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def straight(z):
    return np.column_stack([np.ones(len(z)), z])


def scikit_learn_recalibrators(q, p, y, w, a):
    if q == "isotonic":
        return rule["isotonic_lines"](p, y, w, FINE)
    if q == "sigmoid of scores":
        return sigmoid(straight(FINE) @ rule["regression"](straight(p), rule["smoothed_targets"](y, w), w))
    if q == "logistic regression on the logit":
        z, at = rule["clipped_logits"](p), rule["clipped_logits"](GRID)
        return sigmoid(straight(at) @ rule["regression"](straight(z), y, w))
    return NotImplemented


def venn_abers(q, p, y, w, a):
    if p.ndim == 2 or q.startswith("cross"):
        return NotImplemented
    p0, p1 = (rule["with_one_more"](p, y, FINE, label) for label in (0, 1))
    return np.column_stack([p0, p1]) if "p0" in q else rule["venn_abers_point"](p0, p1)


def netcal_recalibrators(q, p, y, w, a):
    if q != "histogram" or p.ndim == 2:
        return NotImplemented
    return rule["netcal_histogram"](p, y, GRID, **a)


def uncertainty_calibration_recalibrators(q, p, y, w, a):
    if q == "HistogramCalibrator":
        return rule["verified_histogram"](p, y, p[:60], **a)
    if q == "HistogramMarginalCalibrator":
        columns = [rule["verified_histogram"](c, y == k, c[:30], **a) for k, c in enumerate(p.T)]
        return np.column_stack(columns)
    return NotImplemented


def abstention(q, p, y, w, a):
    there = p[(y > 0) | (np.arange(len(y)) % 3 == 0)]
    source, target = rule["em_shares"](p, y, there)
    if "target" in q:
        return target / source
    adapted = there[:30] * target / source
    return adapted / adapted.sum(axis=1, keepdims=True)


def r_recalibrators(q, p, y, w, a):
    if q.startswith("platt"):
        z, at = rule["clipped_logits"](p), rule["clipped_logits"](GRID)
        return sigmoid(
            straight(at) @ rule["regression"](straight(z), rule["smoothed_targets"](y, w) if "," in q else y, w)
        )
    if q.startswith("beta ab"):
        b = rule["regression"](rule["half_columns"](p), y, w)
        return b if "coefficients" in q else sigmoid(rule["half_columns"](GRID) @ b)
    if q in ("beta", "beta: coefficients"):
        b = rule["regression"](rule["beta_columns"](p, **a), y, w)
        return b if "coefficients" in q else sigmoid(rule["beta_columns"](GRID, **a) @ b)
    if q == "isotonic":
        return rule["isotonic_lines"](p, y, w, FINE)
    if q == "isotonic, steps":
        return rule["isotonic_steps"](p, y, FINE)
    if q == "loess at rows":
        return rule["local_fit"](p, y, p[:60], int(a["span"] * len(p) + 1e-5), a["degree"])
    return NotImplemented


class Part(tuple):
    """Numbers of which None are not explained."""

    __slots__ = ()


RULES = (scikit_learn, torchmetrics, netcal, uncertainty_calibration, relplot, calibre, array_split)
BEYOND = (mapie, mcgrad, netcal_mmce, scikit_learn_isotonic, calibre_corp, model_diagnostics, calzone, statsmodels, r)

MAPS = (
    scikit_learn_recalibrators,
    venn_abers,
    netcal_recalibrators,
    uncertainty_calibration_recalibrators,
    abstention,
    r_recalibrators,
)


def tolerance(peer: str, p: np.ndarray, record: dict[str, Any]) -> float:
    """1e-12 relative, 2e-6 where the peer computes in float32, 1e-8 for covariances of the last step but one."""
    if record["quantity"] == "sigmoid of scores":
        return 1e-6  # L-BFGS to a gradient of 1e-6
    if peer in ("scikit_learn_recalibrators", "r_recalibrators", "abstention"):
        return 1e-10  # ends of iterations
    if peer == "torchmetrics" and p.ndim == 2:
        return 2e-6
    if (peer == "calzone" and "cox" in record["quantity"]) or record["args"].get("cov_type") == "nonrobust":
        return 2e-8
    if peer in ("r", "calzone", "statsmodels"):
        return 1e-11  # solved systems
    if record["quantity"] == "kolmogorov_smirnov_p_value":
        return 1e-10  # MAPIE ends the series a little early
    single = ("scikit_learn", "torchmetrics", "uncertainty_calibration")
    return 2e-6 if p.dtype == np.float32 and peer in single else 1e-12


def flat(value: Any) -> np.ndarray:
    """All numbers in one row; "NaN" and "Infinity" are numbers, None is NaN."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return np.concatenate([flat(part) for part in value])
    return np.ravel(np.asarray(value, dtype=float))


def main() -> int:
    failed = 0
    for check in RULES + BEYOND + MAPS:
        peer = check.__name__
        given = (inputs if check in RULES else beyond if check in BEYOND else recalibrating)()
        data = json.loads((HERE / "values" / f"{peer}.json").read_text())
        if data["inputs_sha256"] != digest(given):
            print(f"{peer}: recorded on other inputs than inputs.py makes now")
            failed += 1
        worst: dict[float, float] = {}
        explained = 0
        for record in data["records"]:
            p, y, w = given[record["input"]]
            where = f"{peer}: {record['input']}: {record['call']}"
            try:
                weights = w if check not in RULES or "=w" in record["call"] else None
                mine = check(record["quantity"], p, y, weights, record["args"])
            except (ValueError, IndexError) as refused:
                mine = None
                if "error" not in record or str(refused) not in record["error"]:
                    raise
            if mine is NotImplemented:
                continue
            explained += 1
            if (mine is None) != ("error" in record):
                print(f"{where}: expected {record.get('error')}")
                failed += 1
                continue
            if mine is None:
                continue
            partly = isinstance(mine, Part)
            mine, theirs = flat(mine), flat(record["value"])
            tol = tolerance(peer, p, record)
            if mine.shape != theirs.shape:
                print(f"{where}: {theirs.shape} recorded, {mine.shape} by the rule")
                failed += 1
                continue
            if partly:
                theirs = np.where(np.isnan(mine), np.nan, theirs)
            floor = 1.0 if record["quantity"] == "d2_brier" else 1e-2  # 1 - a ratio: its error is absolute
            with np.errstate(invalid="ignore"):
                apart = np.abs(mine - theirs) / np.maximum(np.abs(theirs), floor)
            apart[(mine == theirs) | (np.isnan(mine) & np.isnan(theirs))] = 0
            off = float(np.max(apart))
            worst[tol] = max(worst.get(tol, 0.0), off)
            if not off <= tol:
                print(f"{where}: {theirs.tolist()} recorded, {mine.tolist()} by the rule")
                failed += 1
        print(f"{peer}: {len(data['records'])} records, {explained} explained, largest difference {worst}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
