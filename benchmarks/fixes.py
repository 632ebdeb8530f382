"""Which fix, with how many rows? `python -m benchmarks.fixes [--write] [--smoke] [--methods METHOD ...] [NAME ...]`.

Every recalibrator, the average that `calibrate` returns by default and doing nothing are fitted on many draws of few to
many rows of every source (`benchmarks/fix_sources.py`), and judged on rows that no map has seen. `--write` keeps the
results in docs/which-fix.json, which docs/which-fix.md reads; it takes about twelve minutes on two cores. With
`--methods`, only these are measured, and what is kept of the others stays.

Of a simulation, losses are the excess over the truth, exact in the labels: log loss is the mean Kullback–Leibler
divergence, Brier score the mean squared distance, `distance` the mean absolute one (of several classes, half the sum
of it). Of real rows they are changes against doing nothing, as is smECE. `order` is the change of AUC, or of accuracy
for several classes. `worse` is the share of draws after which the log loss is higher than if nothing had been done,
`worse_brier` likewise, `infinite` the share where the log loss is infinite (a probability of 0 for what can happen:
means leave these out), `failed` the share where there was nothing to fit (then nothing is done).
For raw scores, which say nothing by themselves, "nothing" is the share of events among the rows to learn from.
"""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from argparse import ArgumentParser
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any
from zlib import crc32

import numpy as np

from benchmarks.fix_sources import Rows, Source, real, simulated

Record = dict[str, Any]
KEPT = Path(__file__).resolve().parent.parent / "docs" / "which-fix.json"
NOTHING, AUTO = "nothing", "calibrate"
LEFT_OUT = {"Identity": NOTHING, "OneVsRest": "platt", "AveragedCalibration": AUTO}  # the same map under another name
FEW, MANY = 1000, 100  # rows up to which there are more draws; classes from which there are fewer
LONG = ("ensemble_temperature", "vector", "matrix", "dirichlet")  # to fit to one event
ANY = 1e-9  # a loss is worse if it is worse by more than rounding


def sources() -> list[Source]:
    """All of them."""
    return [*simulated(), *real()]


def methods(kind: str) -> list[str]:
    """The names of what is tried on scores of a kind."""
    from believable.recalibrate import RECALIBRATORS

    names = []
    for name, cls in RECALIBRATORS.items():
        if name in LEFT_OUT or (kind == "scores" and "scores" not in cls.inputs):
            continue
        if name != "PriorShift" or kind == "prevalence":
            names.append((cls.facts.simplicity, cls.facts.alias))
    return [NOTHING, AUTO, *(alias for _, alias in sorted(names))]


def n_draws(source: Source, n: int) -> int:
    """How many draws of n rows a source is given."""
    if source.n_classes == 2:
        return 12 if n <= FEW else 6
    if source.n_classes < 10:
        return 6 if n <= FEW else 3
    return 4 if n <= FEW and source.n_classes < MANY else 2


def is_tried(method: str, source: Source, draw: int) -> bool:
    """Whether a draw is given to a method: those that take long are given every third."""
    return method not in source.leave_out and (draw % 3 == 0 or method not in LONG or source.n_classes > 2)


def fit(method: str, source: Source, rows: Rows) -> tuple[Any, str]:
    """A fitted map, and what `calibrate` would choose; raises what the library raises."""
    from believable.recalibrate import PriorShift, select
    from believable.recalibrate.facts import find_recalibrator

    given = "scores" if source.kind == "scores" else "probabilities"
    if method == AUTO:  # what calibrate does, without the intervals of errors that it shows beside
        found = select(rows.x, rows.y, errors=(), input=given, progress=False)  # type: ignore[arg-type]
        return found.recalibrator, found.chosen
    if method == "prior_shift":
        return PriorShift(source=0.5).fit(rows.x, rows.y).adapt(rows.x), ""
    return find_recalibrator(method)(input=given).fit(rows.x, rows.y), ""


def judged(p: Any, rows: Rows) -> Record:
    """Losses of probabilities: exact where the truth is known."""
    if rows.truth is not None:
        q = _columns(p)
        t = _columns(rows.truth)
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = np.where(t > 0, t * (np.log(t) - np.log(q)), 0.0).sum(axis=1).mean()
        width = 1 if p.ndim == 1 else 2  # the Brier score of one event is that of its own column
        found = {"log_loss": excess, "brier": ((q - t) ** 2).sum(axis=1).mean() * width / 2}
        return found | {"distance": np.abs(q - t).sum(axis=1).mean() / 2, "order": _order(p, rows)}
    import believable

    with np.errstate(divide="ignore"):
        happened = _columns(p)[np.arange(len(rows.y)), rows.y]
        log_loss = float(np.mean(-np.log(happened)))
    error = believable.smooth_calibration_error(p, rows.y)
    return {"log_loss": log_loss, "brier": believable.brier_score(p, rows.y), "smece": error, "order": _order(p, rows)}


def _columns(p: Any) -> Any:
    return np.column_stack([1 - p, p]) if p.ndim == 1 else p


def _order(p: Any, rows: Rows) -> float:
    """AUC of one event, accuracy of several classes; their expectation where the truth is known."""
    if p.ndim == 2:
        most = p.argmax(axis=1)
        right = most == rows.y if rows.truth is None else rows.truth[np.arange(len(p)), most]
        return float(np.mean(right))
    from believable import _kernels

    t = rows.y.astype(float) if rows.truth is None else rows.truth
    return float(_kernels.auc(p, t, 1 - t))


def deal(source: Source, n: int, draw: int, n_test: int) -> tuple[Rows, Rows]:
    """Rows to learn from, and others to judge by; the same in every run."""
    rng = np.random.default_rng([crc32(source.name.encode()), n, draw])
    if source.draw is not None:
        test = source.draw(np.random.default_rng([crc32(source.name.encode())]), n_test)
        return source.draw(rng, n), test
    assert source.pool is not None
    pool = source.pool()
    order = rng.permutation(len(pool.y))
    learn, test_rows = order[:n], order[n:]
    return Rows(pool.x[learn], pool.y[learn]), Rows(pool.x[test_rows], pool.y[test_rows])


def cell(source: Source, n: int, draws: int, n_test: int, only: tuple[str, ...] = ()) -> Record:
    """Every method (or only some) on draws of n rows of a source: its figures by name, in a record by method."""
    found: dict[str, list[Record]] = {}
    chosen: Counter[str] = Counter()
    for draw in range(draws):
        learn, test = deal(source, n, draw, n_test)
        before = judged(np.full(len(test.y), learn.y.mean()) if source.kind == "scores" else test.x, test)
        for method in methods(source.kind):
            if not is_tried(method, source, draw) or (only and method not in only):
                continue
            entry: Record = {"failed": False}
            after = before
            try:
                if method != NOTHING:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # few rows are the point here
                        fitted, choice = fit(method, source, learn)
                    after = judged(fitted.transform(test.x), test)
                    chosen.update([choice] if choice else [])
            except ValueError:  # one class alone: then nothing is done
                entry = {"failed": True}
            entry |= {name: value - (0 if _is_excess(name, test) else before[name]) for name, value in after.items()}
            for name, loss in (("worse", "log_loss"), ("worse_brier", "brier")):
                entry[name] = bool(after[loss] > before[loss] + ANY)
            entry["infinite"] = math.isinf(after["log_loss"])
            found.setdefault(method, []).append(entry)
    figures = {method: {name: _mean([one[name] for one in made]) for name in made[0]} for method, made in found.items()}
    return {"methods": figures, "chosen": dict(sorted(chosen.items()))}


def _is_excess(name: str, test: Rows) -> bool:
    return test.truth is not None and name != "order"


def _mean(values: list[float]) -> float | None:
    finite = [float(value) for value in values if math.isfinite(value)]
    return float(f"{np.mean(finite):.3g}") if finite else None


def run(wanted: list[Source], smoke: bool, processes: int = 2, only: tuple[str, ...] = ()) -> Record:
    """Everything (or only some methods), over two processes; the results do not depend on how many."""
    tasks = [(source, n) for source in wanted for n in source.sizes]
    sizes = [_test_rows(source, smoke) for source, _ in tasks]
    times = [2 if smoke else n_draws(source, n) for source, n in tasks]
    began = perf_counter()
    cells: list[Any] = [None] * len(tasks)
    hardest = sorted(range(len(tasks)), key=lambda i: -tasks[i][1] * tasks[i][0].n_classes)
    if processes == 1:
        for i in hardest:
            cells[i] = cell(*tasks[i], times[i], sizes[i], only)
        return _whole(wanted, tasks, times, cells)
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BELIEVABLE_THREADS"), "1")  # in each
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        pending = {i: pool.submit(_task, tasks[i][0].name, tasks[i][1], times[i], sizes[i], only) for i in hardest}
        for done, i in enumerate(hardest, 1):
            cells[i] = pending[i].result()
            line = f"{done}/{len(tasks)} {tasks[i][0].name}, {tasks[i][1]:,} rows"
            print(f"[{perf_counter() - began:4.0f} s] {line}", file=sys.stderr, flush=True)
    return _whole(wanted, tasks, times, cells)


def _whole(wanted: list[Source], tasks: list[Any], times: list[int], cells: list[Record]) -> Record:
    return {"made": _versions(), "sources": [_joined(source, tasks, times, cells) for source in wanted]}


def _task(name: str, n: int, draws: int, n_test: int, only: tuple[str, ...]) -> Record:
    return cell(next(source for source in sources() if source.name == name), n, draws, n_test, only)


def _test_rows(source: Source, smoke: bool) -> int:
    if smoke:
        return 500
    return 20000 if source.n_classes == 2 else 10000 if source.n_classes < MANY else 3000


def _joined(source: Source, tasks: list[Any], times: list[int], cells: list[Record]) -> Record:
    """The cells of a source side by side: a list over sizes for each figure of each method."""
    mine = [i for i, (one, _) in enumerate(tasks) if one is source]
    _, test = deal(source, source.sizes[0], 0, 20000 if source.n_classes < MANY else 3000)
    share = float(np.bincount(test.y, minlength=source.n_classes).min() / len(test.y))
    figures: Record = {}
    for method, first in cells[mine[0]]["methods"].items():
        figures[method] = {name: [cells[i]["methods"][method].get(name) for i in mine] for name in first}
    return {
        "name": source.name,
        "title": source.title,
        "kind": source.kind,
        "known truth": source.draw is not None,
        "bundled": source.bundled,
        "classes": source.n_classes,
        "rarest": float(f"{share:.3g}"),
        "sizes": list(source.sizes),
        "draws": [times[i] for i in mine],
        "chosen": [cells[i]["chosen"] for i in mine],
        "methods": figures,
    }


def updated(kept: list[Record], made: list[Record]) -> list[Record]:
    """What was kept with what was measured now in its place, in the order of the sources and methods."""
    known = {source["name"]: source for source in kept}
    for source in made:
        before = known.get(source["name"], {"methods": {}, "chosen": source["chosen"]})
        found = before["methods"] | source["methods"]
        order = [name for name in methods(source["kind"]) if name in found]
        chosen = source["chosen"] if AUTO in source["methods"] else before["chosen"]
        known[source["name"]] = source | {"chosen": chosen, "methods": {name: found[name] for name in order}}
    return [known[source.name] for source in sources() if source.name in known]


def _versions() -> dict[str, str]:
    import sklearn

    import believable

    return {"believable": believable.__version__, "numpy": np.__version__, "scikit-learn": sklearn.__version__}


def lines(results: Record) -> str:
    """JSON with a line for each method of a source, so that changes can be read."""
    whole = []
    for source in results["sources"]:
        rest = json.dumps({name: value for name, value in source.items() if name != "methods"})
        rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in source["methods"].items())
        whole.append(f'{rest[:-1]}, "methods": {{\n{rows}}}}}')
    return f'{{"made": {json.dumps(results["made"])},\n"sources": [\n' + ",\n".join(whole) + "\n]}\n"


def main() -> int:
    """Read the arguments, measure, print or keep."""
    parser = ArgumentParser("python -m benchmarks.fixes", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="sources; all if left out")
    parser.add_argument("--write", action="store_true", help="keep the results in docs/which-fix.json")
    parser.add_argument("--smoke", action="store_true", help="two draws of few rows: does everything run?")
    parser.add_argument("--methods", nargs="+", default=(), metavar="METHOD", help="what to try; all if left out")
    asked = parser.parse_args()
    wanted = [source for source in sources() if not asked.names or source.name in asked.names]
    if missing := set(asked.names) - {source.name for source in wanted}:
        parser.error(f"no source is called {', '.join(sorted(missing))}; there are: {[one.name for one in sources()]}")
    if asked.smoke:
        wanted = [replace(source, sizes=source.sizes[:1]) for source in wanted if source.n_classes < MANY]
    if missing := set(asked.methods) - {name for source in wanted for name in methods(source.kind)}:
        parser.error(f"no method is called {', '.join(sorted(missing))}")
    results = run(wanted, asked.smoke, only=tuple(asked.methods))
    if asked.write:
        if (asked.names or asked.methods) and KEPT.exists():
            results["sources"] = updated(json.loads(KEPT.read_text())["sources"], results["sources"])
        KEPT.write_text(lines(results))
    else:
        print(lines(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
