"""The leaderboard of the arena: how competitors did over many experiments, and in which of them.

Losses are compared as they are kept, to six decimals. Where a competitor failed, the model's own
scores stand in for it: that is what a user would be left with. It is counted, and listed with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Record = dict[str, Any]
NOTHING = "nothing"
ANY, MUCH = 1e-9, 0.01  # nats by which a log loss is worse (they are kept to six digits), or much worse
FEW = 300  # calibration rows

COLUMNS = {
    "n": "experiments",
    "failed": "experiments in which it raised an error or returned no probabilities",
    "gain": "mean fall of the log loss against doing nothing",
    "median": "its median",
    "harm": "per cent of the experiments in which the log loss rose",
    "harm_much": f"per cent in which it rose by more than {MUCH}",
    "worst": "largest rise",
    "regret": "mean distance from the lowest log loss of the experiment",
    "regret_error": "its standard error over tables",
    "win": "per cent of the other competitors with a higher log loss, ties counted half; mean over experiments",
    "brier": "mean fall of the Brier score",
    "seconds": "median seconds for fitting and applying",
}


def slices(records: list[Record]) -> dict[str, list[Record]]:
    """Return the experiments of every leaderboard by its title; those without experiments are left out."""
    two: Callable[[Record], bool] = lambda one: one["classes"] == 2  # noqa: E731
    tests: dict[str, Callable[[Record], bool]] = {
        "two classes": two,
        f"two classes, fewer than {FEW} rows": lambda one: two(one) and one["rows"] < FEW,
        f"two classes, {FEW} rows and more": lambda one: two(one) and one["rows"] >= FEW,
        "several classes": lambda one: not two(one),
    }
    found = {title: [one for one in records if test(one)] for title, test in tests.items()}
    for model in dict.fromkeys(one["model"] for one in records):
        found[f"model: {model}"] = [one for one in records if one["model"] == model and two(one)]
    return {title: kept for title, kept in found.items() if kept}


def leaderboard(records: list[Record]) -> dict[str, Record]:
    """Return the figures of `COLUMNS` for everybody who took part in all experiments, the lowest regret first."""
    names = [name for name in records[0]["results"] if all(name in one["results"] for one in records)]
    tables = np.array([one["table"] for one in records])
    losses, briers = (_figures(records, names, column) for column in (0, 1))
    gains, regrets = losses[:, [names.index(NOTHING)]] - losses, losses - losses.min(axis=1, keepdims=True)
    better, worse = (losses[:, None, :] - losses[:, :, None] > ANY, losses[:, :, None] - losses[:, None, :] > ANY)
    n_others = max(len(names) - 1, 1)
    wins = (better.sum(axis=2) + 0.5 * (~better & ~worse).sum(axis=2) - 0.5) / n_others  # a tie with itself is no win
    board = {}
    for i, name in enumerate(names):
        gain, times = gains[:, i], [one["results"][name][2] for one in records if name not in one["failed"]]
        board[name] = {
            "n": len(records),
            "failed": sum(name in one["failed"] for one in records),
            "gain": gain.mean(),
            "median": np.median(gain),
            "harm": 100 * np.mean(gain < -ANY),
            "harm_much": 100 * np.mean(gain < -MUCH),
            "worst": max(-gain.min(), 0.0) + 0.0,  # no minus before a zero
            "regret": regrets[:, i].mean(),
            "regret_error": _error(regrets[:, i], tables),
            "win": 100 * wins[:, i].mean(),
            "brier": (briers[:, names.index(NOTHING)] - briers[:, i]).mean(),
            "seconds": np.median(times) if times else 0.0,
        }
    rounded = {name: {key: _rounded(value) for key, value in one.items()} for name, one in board.items()}
    return dict(sorted(rounded.items(), key=lambda item: item[1]["regret"]))


def _figures(records: list[Record], names: list[str], column: int) -> Any:
    """Return a figure by experiment and competitor, that of doing nothing for one that failed."""
    return np.array(
        [[one["results"][NOTHING if name in one["failed"] else name][column] for name in names] for one in records]
    )


def _error(values: Any, tables: Any) -> float:
    """Return the standard error of a mean over tables, whose experiments share their rows; 0 for a single table."""
    means = np.array([values[tables == name].mean() for name in np.unique(tables)])
    return float(means.std(ddof=1) / np.sqrt(len(means))) if len(means) > 1 else 0.0


def _rounded(value: Any) -> int | float:
    return value if isinstance(value, int) else float(f"{value:.4g}")
