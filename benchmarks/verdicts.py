"""How often a verdict gives the answer that a statistician would give, who knows how the data came about.

    python -m benchmarks.verdicts --times 100

Each truth says how scores and outcomes are drawn, and which answers are right. What is printed is how often each
answer is given, and how often it is one of the right ones.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import believable
from believable._types import Array

YES, SO_FAR, CARE, NO, TOO_FEW = (
    "yes",
    "yes, as far as these data can tell",
    "use with care",
    "no, recalibrate first",
    "not enough data",
)
SHORT = {YES: "yes", SO_FAR: "so far", CARE: "care", NO: "no", TOO_FEW: "too few"}
PAGE = Path(__file__).resolve().parent.parent / "docs" / "audit.md"
START_OF_TABLE, END_OF_TABLE = "<!-- verdicts -->", "<!-- /verdicts -->"
Draw = Callable[[np.random.Generator], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Truth:
    """How data come about, and what is to be said of them.

    Attributes
    ----------
    name : str
    seed : int
        Seed of its data sets, so that results are reproducible.
    draw : callable
        Arguments of `verdict`, drawn anew.
    right : tuple of str
        The answers that are right.
    """

    name: str
    seed: int
    draw: Draw
    right: tuple[str, ...]


def even(n: int, rng: np.random.Generator) -> Array:
    """Scores spread evenly."""
    return np.asarray(rng.random(n))


def sure(n: int, rng: np.random.Generator) -> Array:
    """Scores near 0 and 1, as those of a good classifier."""
    return np.asarray(rng.beta(0.4, 0.4, n))


def rare(n: int, rng: np.random.Generator, rate: float = 0.005) -> Array:
    """Risks of a rare event."""
    return np.asarray(rng.beta(0.6, 0.6 / rate - 0.6, n).clip(1e-7, 1 - 1e-7))


def common(n: int, rng: np.random.Generator) -> Array:
    """Probabilities of what happens 97 times in 100."""
    return 1 - rare(n, rng, 0.03)


def logistic(x: Array) -> Array:
    """The inverse of the logit."""
    return np.asarray(1 / (1 + np.exp(-x)))


def logit(p: Array) -> Array:
    """The log odds."""
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return np.asarray(np.log(p / (1 - p)))


def event(scores: Callable[..., Array], n: int, rate: Callable[[Array], Array] = lambda p: p, **others: Any) -> Draw:
    """Scores of one event that happens at a rate of their own."""

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        p = scores(n, rng)
        return {"predictions": p, "actuals": (rng.random(n) < rate(p)).astype(int), **others}

    return draw


def line(slope: float, shift: float = 0.0, about: float = 0.5) -> Callable[[Array], Array]:
    """Rates on a line of the logit, turned about a score."""
    centre = float(logit(np.array(about)))
    return lambda p: logistic(centre + shift + slope * (logit(p) - centre))


def moved(by: float, low: float = 0.0, high: float = 1.0) -> Callable[[Array], Array]:
    """Rates that differ from the scores by a constant, between two scores."""
    return lambda p: np.clip(np.where((p >= low) & (p <= high), p + by, p), 0, 1)


def wave(height: float) -> Callable[[Array], Array]:
    """Rates that lie above and below the scores in turn, from bin to bin."""
    return lambda p: np.clip(p + height * np.where((p * 10).astype(int) % 2, 1, -1), 0, 1)


def matrix(n: int, k: int, temperature: float = 1.0, tilt: float = 0.0) -> Draw:
    """Classes whose logits are stretched, or of which the first gets more than its due."""

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        logits = rng.normal(0, 1.8, (n, k))
        truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        labels = (rng.random((n, 1)) > np.cumsum(truth, axis=1)).sum(axis=1)
        said = logits / temperature
        said[:, 0] += tilt
        p = np.exp(said - said.max(axis=1, keepdims=True))
        return {"predictions": p / p.sum(axis=1, keepdims=True), "actuals": np.minimum(labels, k - 1)}

    return draw


def clustered(n_clusters: int, size: int, spread: float, named: bool) -> Draw:
    """Clusters whose own rates differ from the scores, which are right on average."""

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        own = np.repeat(rng.normal(0, spread, n_clusters), size)
        p = rng.beta(2, 2, n_clusters * size)
        # The scores are the rates averaged over clusters, by the usual approximation of a logit of normal noise.
        q = logistic(logit(p) * np.sqrt(1 + spread**2 * np.pi / 8) + own)
        y = (rng.random(len(p)) < q).astype(int)
        clusters = np.repeat(np.arange(n_clusters), size) if named else None
        return {"predictions": p, "actuals": y, "clusters": clusters}

    return draw


GRID = (
    Truth("calibrated, 60 rows", 14, event(even, 60), (TOO_FEW,)),
    Truth("calibrated, 500 rows", 15, event(even, 500), (SO_FAR, YES)),
    Truth("calibrated, 5,000 rows", 17, event(even, 5000), (YES,)),
    Truth("calibrated, 200,000 rows", 19, event(even, 200_000), (YES,)),
    Truth("calibrated, scores near 0 and 1, 2,000 rows", 26, event(sure, 2000), (YES, SO_FAR)),
    Truth("calibrated, all scores 0.3, 2,000 rows", 33, event(lambda n, rng: np.full(n, 0.3), 2000), (YES, SO_FAR)),
    Truth("calibrated, event rate 0.5 %, 2,000 rows", 29, event(rare, 2000), (TOO_FEW,)),
    Truth("calibrated, event rate 0.5 %, 50,000 rows", 30, event(rare, 50_000), (YES, SO_FAR)),
    Truth(
        "calibrated, event rate 2 %, 20,000 rows", 28, event(lambda n, rng: rare(n, rng, 0.02), 20_000), (YES, SO_FAR)
    ),
    Truth("calibrated, event rate 97 %, 20,000 rows", 31, event(common, 20_000), (YES, SO_FAR)),
    Truth("slope 0.97, 1,000,000 rows", 26, event(even, 1_000_000, line(0.97)), (YES,)),
    Truth("0.004 too low, 2,000,000 rows", 30, event(even, 2_000_000, moved(0.004)), (YES,)),
    Truth("bins 0.01 too high and too low in turn, 500,000 rows", 26, event(even, 500_000, wave(0.01)), (YES,)),
    Truth(
        "event rate 3 %, scores 1.02 times too high, 2,000,000 rows",
        38,
        event(lambda n, rng: rare(n, rng, 0.03), 2_000_000, lambda p: p / 1.02),
        (YES,),
    ),
    Truth("slope 0.5, 500 rows", 19, event(even, 500, line(0.5)), (NO,)),
    Truth("slope 0.5, 20,000 rows", 22, event(even, 20_000, line(0.5)), (NO,)),
    Truth("slope 0.5, scores near 0 and 1, 2,000 rows", 30, event(sure, 2000, line(0.5)), (NO,)),
    Truth("slope 0.75, 20,000 rows", 23, event(even, 20_000, line(0.75)), (CARE, NO)),
    Truth("slope 2, 5,000 rows", 19, event(even, 5000, line(2.0)), (NO,)),
    Truth("slope -1, 500 rows", 18, event(even, 500, line(-1.0)), (NO,)),
    Truth("slope 0.3, 150 rows", 19, event(even, 150, line(0.3)), (NO, CARE)),
    Truth("0.15 too high, 2,000 rows", 25, event(even, 2000, moved(-0.15)), (NO,)),
    Truth("0.3 too low, 100 rows", 21, event(even, 100, moved(0.3)), (NO,)),
    Truth("0.07 too high, 10,000 rows", 26, event(even, 10_000, moved(-0.07)), (CARE, NO)),
    Truth("0.2 too high above 0.9, 10,000 rows", 35, event(even, 10_000, moved(-0.2, 0.9)), (CARE,)),
    Truth(
        "0.38 too high above 0.8, 5,000 rows",
        35,
        event(lambda n, rng: rng.beta(1, 1.4, n), 5000, moved(-0.38, 0.8)),
        (CARE, NO),
    ),
    Truth("bins 0.15 too high and too low in turn, 20,000 rows", 25, event(even, 20_000, wave(0.15)), (NO,)),
    Truth(
        "event rate 2.5 %, scores 1.22 times too high, 2,400,000 rows",
        39,
        event(lambda n, rng: rare(n, rng, 0.03), 2_400_000, lambda p: p / 1.22),
        (CARE, NO),
    ),
    Truth(
        "event rate 0.8 %, scores 2.4 times too high, 20,000 rows",
        41,
        event(lambda n, rng: rare(n, rng, 0.02), 20_000, lambda p: p / 2.4),
        (NO,),
    ),
    Truth(
        "event rate 1 %, scores half as high, 50,000 rows",
        46,
        event(rare, 50_000, lambda p: np.minimum(2 * p, 1)),
        (NO,),
    ),
    Truth("rare event, slope 0.5, 20,000 rows", 34, event(rare, 20_000, line(0.5, about=0.005)), (CARE, NO)),
    Truth("rare event, slope 0, 20,000 rows", 32, event(rare, 20_000, line(0.0, about=0.005)), (NO,)),
    Truth("rare event, slope -0.5, 20,000 rows", 35, event(rare, 20_000, line(-0.5, about=0.005)), (NO,)),
    Truth(
        "event rate 97 %, average prediction 99 %, 20,000 rows",
        35,
        event(lambda n, rng: 1 - rare(n, rng, 0.01), 20_000, lambda p: 1 - 3 * (1 - p).clip(0, 0.33)),
        (NO, CARE),
    ),
    Truth(
        "answers, confidence 65 %, accuracy 56 %, 3,000 rows",
        37,
        event(lambda n, rng: rng.beta(13, 7, n), 3000, moved(-0.09), pairs=True),
        (CARE, NO),
    ),
    Truth(
        "answers, calibrated, 3,000 rows", 21, event(lambda n, rng: rng.beta(13, 7, n), 3000, pairs=True), (YES, SO_FAR)
    ),
    Truth("8 classes, calibrated, 5,000 rows", 28, matrix(5000, 8), (YES, SO_FAR)),
    Truth("8 classes, over-confident, 4,000 rows", 37, matrix(4000, 8, 0.5), (NO,)),
    Truth("8 classes, the first too likely, 8,000 rows", 43, matrix(8000, 8, 1.0, 0.7), (CARE, NO)),
    Truth("200 clusters of 10 rows, named, calibrated", 32, clustered(200, 10, 1.0, True), (YES, SO_FAR)),
    Truth("20 clusters of 50 rows, named, calibrated", 31, clustered(20, 50, 1.0, True), (YES, SO_FAR, TOO_FEW)),
)


def answers(truth: Truth, times: int, seed: int = 0) -> Counter[str]:
    """How often each answer is given."""
    found: Counter[str] = Counter()
    for i in range(times):
        rng = np.random.default_rng([seed, i, truth.seed])
        found[believable.verdict(**truth.draw(rng)).answer] += 1
    return found


def times_of(truth: Truth, times: int) -> int:
    """How many data sets of a truth are drawn: a tenth of large ones."""
    return max(times // 10, 1) if truth.name.endswith("00,000 rows") else times


def table(times: int, seed: int = 0) -> str:
    """The grid as Markdown: the right answers, how often each is given, and how often it is right."""
    lines = ["| truth | expected | " + " | ".join(SHORT.values()) + " | as expected |", "|---|---|" + "---:|" * 6]
    for truth in GRID:
        found = answers(truth, times_of(truth, times), seed)
        total = sum(found.values())
        shares = [f"{100 * found[one] / total:.0f}" if found[one] else "" for one in SHORT]
        right = 100 * sum(found[one] for one in truth.right) / total
        said = " or ".join(SHORT[one] for one in truth.right)
        lines.append(f"| {truth.name} | {said} | {' | '.join(shares)} | {right:.0f} % |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def write(text: str) -> None:
    """Put the table on its page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START_OF_TABLE)
    _, _, after = rest.partition(END_OF_TABLE)
    PAGE.write_text(f"{before}{START_OF_TABLE}\n{text}\n{END_OF_TABLE}{after}", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=100, help="data sets for each truth; a tenth for large ones")
    parser.add_argument("--write", action="store_true", help="put the table into docs/audit.md")
    asked = parser.parse_args()
    made = table(asked.times)
    if asked.write:
        write(made)
