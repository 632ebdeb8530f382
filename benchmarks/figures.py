"""Simulated figures that a docstring or a page quotes and no other script prints.

    python -m benchmarks.figures [--quick] [NAME ...]

Each line says where its figure is quoted; README.md lists the other scripts. Seeds are fixed. Everything takes about
ten minutes on one core, `--quick` half a minute.
"""

from __future__ import annotations

import json
import warnings
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np

import believable
from believable import recalibrate
from believable.errors import LimitWarning, SmallSampleWarning
from benchmarks.data import Array

Lines = Iterator[str]


def sigmoid(z: Array) -> Array:
    """1 / (1 + exp(-z))."""
    return np.asarray(1 / (1 + np.exp(-z)))


def share(hits: int, sets: int) -> str:
    """A percentage with its Monte Carlo error."""
    part = hits / sets
    return f"{100 * part:.1f} ± {100 * (part * (1 - part) / sets) ** 0.5:.1f} %"


def skce(sets: int) -> Lines:
    """`KernelBlocks.interval`: how often the normal interval of the SKCE contains the true value."""
    for n_classes in (2, 3):
        for slope in (1.0, 0.5):
            values, ends = [], []
            for seed in range(sets):
                rng = np.random.default_rng(seed)
                p = rng.dirichlet(np.ones(n_classes), 4000)
                rate = p**slope / (p**slope).sum(axis=1, keepdims=True)
                y = (rng.random((4000, 1)) > rate.cumsum(axis=1)).sum(axis=1)
                given = (p[:, 1], y) if n_classes == 2 else (p, y)
                for n in (1000, 4000):
                    rows = tuple(part[:n] for part in given)
                    blocks = believable.KernelBlocks.of(*rows, bandwidth=0.3, block_size=10)
                    values.append(blocks.value)
                    ends.append((n, *blocks.interval()))
            true = float(np.mean(values))  # every value is unbiased
            for n in (1000, 4000):
                hits = sum(low <= true <= high for size, low, high in ends if size == n)
                kind = f"{n_classes} classes, rates p^{slope:g}"
                yield f"{kind}, {n // 10} blocks of 10: 95 % interval contains the SKCE in {share(hits, sets)}"


def cascade(sets: int) -> Lines:
    """`cascade`: how often the interval of the saving contains the true saving of the chosen threshold."""
    pool = np.random.default_rng(1).random(100_000)
    prices = {"cost_fast": 0.01, "cost_slow": 0.15}
    for name, slope in (("calibrated", 1.0), ("over-confident", 0.5)):
        rate = sigmoid(slope * np.log(pool / (1 - pool)))
        sure, wrong = np.maximum(pool, 1 - pool), np.where(pool > 0.5, 1 - rate, rate)
        for n in (100, 400, 2000):
            hits = 0
            for seed in range(sets):
                rng = np.random.default_rng(seed)
                rows = rng.choice(len(pool), n)
                y = rng.random(n) < rate[rows]
                slow = np.where(rng.random(n) < 0.05, ~y, y).astype(float)
                found = believable.cascade(pool[rows], y, slow=slow, **prices)
                cost = prices["cost_fast"] + np.where(sure <= found.cut, prices["cost_slow"] + 0.05, wrong).mean()
                alone = min(prices["cost_fast"] + wrong.mean(), prices["cost_slow"] + 0.05)
                hits += found.saving.low <= alone - cost <= found.saving.high
            yield f"{name}, {n} rows: 95 % interval contains the saving of the threshold in {share(hits, sets)}"


def threshold(sets: int) -> Lines:
    """`threshold_for`: how often the precision above the threshold misses the target, at most 5 % by the guarantee."""
    pool = np.sort(np.random.default_rng(1).random(100_000))
    hollow = np.select([pool > 0.95, pool > 0.9, pool > 0.5], [0.97, 0.6, 0.95], pool)
    for name, rate in (("calibrated", pool), ("precision falls below both targets and rises again", hollow)):
        above = rate[::-1].cumsum()[::-1] / np.arange(len(pool), 0, -1)
        for target in (0.8, 0.9):
            for n in (300, 3000):
                missed = 0
                for seed in range(sets):
                    rng = np.random.default_rng(seed)
                    rows = rng.choice(len(pool), n)
                    found = believable.threshold_for(pool[rows], rng.random(n) < rate[rows], precision=target)
                    first = np.searchsorted(pool, found.cut)
                    missed += first < len(pool) and above[first] < target
                yield f"{name}, precision {target:g}, {n} rows: missed in {share(missed, sets)}"


def absent(sets: int) -> Lines:
    """Vector, matrix and Dirichlet maps: n times the probability of a third class that does not occur."""
    for name in ("VectorScaling", "MatrixScaling", "DirichletCalibration"):
        for n in (400, 10_000):
            found = []
            for seed in range(max(2, sets // 20)):
                rng = np.random.default_rng(seed)
                z = rng.normal(0, 1.5, (n, 3))
                y = (rng.random(n) < sigmoid(z[:, 1] - z[:, 0])).astype(int)
                p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", LimitWarning)
                    made = getattr(recalibrate, name)(classes=[0, 1, 2]).fit(p, y)
                found.append(made.transform(p)[:, 2])
            yield f"{name}, n = {n:,}: {n * np.mean(found):.1f}/n on average, at most {n * np.max(found):.0f}/n"


def cells(sets: int) -> Lines:
    """`fit_from_cells` of Platt, beta and beta-CDF: how far probabilities are from those of a fit to the rows."""
    n, methods = 50_000, ("PlattScaling", "BetaCalibration", "BetaCDFCalibration")
    spread = {f"logits of standard deviation {s}": (0.0, float(s)) for s in (1, 2, 3)}
    near = {f"scores around 1e-{k}": (-k * np.log(10), 0.5) for k in (3, 4, 5, 6)}
    for name, (middle, width) in (spread | near).items():
        away: dict[str, list[tuple[float, float]]] = {"uniform": [], "logit": []}
        for seed in range(max(1, sets // 100)):
            rng = np.random.default_rng(seed)
            z = rng.normal(middle, width, n)
            p = sigmoid(z)
            y = rng.random(n) < sigmoid(0.8 * (z - middle) + (0 if name in spread else -2))
            counted = {one: believable.CellStats.of(believable.Predictions(p, y), spacing=one) for one in away}
            for method in methods:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", LimitWarning)
                    exact = getattr(recalibrate, method)().fit(p, y).transform(p)
                    made = {one: getattr(recalibrate, method)().fit_from_cells(counted[one]) for one in away}
                for spacing, found in away.items():
                    off = np.abs(made[spacing].transform(p) - exact)
                    found.append((off.max(), np.max(off / np.minimum(exact, 1 - exact))))
        for spacing, found in away.items():
            most, relative = np.max(found, axis=0)
            yield f"{name}, {spacing} cells: off by at most {most:.0e}, relatively {relative:.1e}"


def files(sets: int) -> Lines:
    """`Statistic`: size of the binary form beside JSON, and the time to read it."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 2, 200_000)
    given = believable.Predictions(p, rng.random(len(p)) < p)
    for one in (believable.CellStats.of(given), believable.BinStats.of(given, n_bins=15)):
        kind, text, binary = type(one), json.dumps(one.to_dict()), one.to_bytes()
        by_json = _seconds(lambda kind=kind, text=text: kind.from_dict(json.loads(text)))
        faster = by_json / _seconds(lambda kind=kind, binary=binary: kind.from_bytes(binary))
        yield f"{kind.__name__}: {len(binary) / len(text):.2f} of the size of JSON, read {faster:.1f} times as fast"


def _seconds(work: Callable[[], Any]) -> float:
    """The shortest of five times."""
    times = []
    for _ in range(5):
        began = perf_counter()
        work()
        times.append(perf_counter() - began)
    return min(times)


def summaries(sets: int) -> Lines:
    """docs/definitions.md: the interval and the noise floor of class-wise errors from a `Summary` of three classes."""
    pool, sets = 200_000, max(4, sets // 2)
    p = np.random.default_rng(1).dirichlet(np.ones(3), pool)
    rate = p**0.6 / (p**0.6).sum(axis=1, keepdims=True)
    bins = np.ceil(p * 10).astype(int) - 1
    gaps = [np.bincount(bins[:, k], (p - rate)[:, k], 10) for k in range(3)]
    true = float(np.abs(gaps).sum()) / pool / 3
    covered = rejected = 0
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        rows = rng.choice(pool, 1000)
        found = believable.interval("sce", _summary(rng, p[rows], rate[rows]), random_state=seed)
        covered += found.low <= true <= found.high
        floor = believable.noise_floor("sce", _summary(rng, p[rows], p[rows]), random_state=seed)
        rejected += floor.p_value < 0.05
    yield f"three classes, 1,000 rows: 95 % interval contains the class-wise error in {share(covered, sets)}"
    yield f"three classes, 1,000 calibrated rows: p below 0.05 in {share(rejected, sets)}"


def _summary(rng: np.random.Generator, p: Array, rate: Array) -> believable.Summary:
    y = (rng.random((len(p), 1)) > rate.cumsum(axis=1)).sum(axis=1)
    return believable.Summary.of(believable.Predictions(p, y.clip(max=2)))


def structured(sets: int) -> Lines:
    """docs/decisions/0014: log loss of `StructuredScaling` above that of others, ten classes, on 20,000 new rows."""
    k, sets = 10, max(2, sets // 20)
    makers = {
        "temperature scaling": lambda: recalibrate.TemperatureScaling(input="logits"),
        "no penalty": lambda: recalibrate.StructuredScaling(input="logits", penalty=0.0),
        "half the penalty": lambda: recalibrate.StructuredScaling(input="logits", penalty=0.5),
        "twice the penalty": lambda: recalibrate.StructuredScaling(input="logits", penalty=2.0),
    }
    for spread, sizes in ((0.0, (200, 500)), (0.16, (200, 20_000)), (0.5, (20_000,))):
        for n in sizes:
            away: dict[str, list[float]] = {other: [] for other in makers}
            for seed in range(sets):
                rng = np.random.default_rng(seed)
                a, b = np.eye(k) / 2, np.zeros(k)
                if spread:
                    a = np.diag(0.5 * np.exp(rng.normal(0, 0.3, k))) + rng.normal(0, spread, (k, k)) * (1 - np.eye(k))
                    b = rng.normal(0, 0.5, k)
                z = rng.normal(0, 3, (n + 20_000, k))
                waiting = rng.gumbel(size=z.shape)
                y = (z @ a.T + b + waiting).argmax(axis=1)
                ours = _loss(recalibrate.StructuredScaling(input="logits"), z, y, n)
                for other, make in makers.items():
                    away[other].append(ours - _loss(make(), z, y, n))
            wrong = "only the temperature is wrong" if not spread else f"other entries are wrong by {spread:g}"
            beside = ", ".join(f"{np.mean(found):+.4f} beside {other}" for other, found in away.items())
            yield f"{wrong}, {n:,} rows: {beside}"


def _loss(method: Any, z: Array, y: Array, n: int) -> float:
    """The log loss on the rows after the first n, on which the method is fitted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        warnings.simplefilter("ignore", SmallSampleWarning)
        p = method.fit(z[:n], y[:n]).transform(z[n:])
    return float(-np.log(np.maximum(p[np.arange(len(p)), y[n:]], 1e-300)).mean())


FIGURES: dict[str, Callable[[int], Lines]] = {
    made.__name__: made for made in (skce, cascade, threshold, absent, cells, files, summaries, structured)
}


def main() -> None:
    """Print the figures named, or all."""
    parser = ArgumentParser("python -m benchmarks.figures", description="Simulated figures of docstrings and pages.")
    parser.add_argument("names", nargs="*", choices=[[], *FIGURES], metavar="NAME", help=", ".join(FIGURES))
    parser.add_argument("--quick", action="store_true", help="few data sets: does it run?")
    parser.add_argument("--sets", type=int, default=400, help="data sets of a figure")
    asked = parser.parse_args()
    for name in asked.names or FIGURES:
        print((FIGURES[name].__doc__ or "").strip(), flush=True)
        for line in FIGURES[name](4 if asked.quick else asked.sets):
            print(f"  {line}", flush=True)


if __name__ == "__main__":
    main()
