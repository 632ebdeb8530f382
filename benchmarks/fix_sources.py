"""Scores to mend: simulations whose true probabilities are known, and held-out predictions of real classifiers.

A simulation is a way to draw scores and a function that says how often it happens at a score, so the excess of a loss
over the best that any map of the scores can reach is known exactly. Real rows are a pool: some are drawn to learn
from, and the others judge. With BELIEVABLE_DATA set, networks' outputs on CIFAR are added, marked as not bundled.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

Array = Any
SIZES = (50, 100, 250, 500, 1000, 2500, 10000)
CLASS_SIZES = (100, 250, 1000, 2500, 10000)
FOLDS = 5
Kind = Literal["event", "classes", "scores", "prevalence"]


@dataclass(frozen=True)
class Rows:
    """Scores, labels, and the true probabilities in the shape of the scores where they are known."""

    x: Array
    y: Array
    truth: Array = None


@dataclass(frozen=True)
class Source:
    """Where rows come from: `draw(rng, n)`, or a `pool` of real ones."""

    name: str
    title: str
    kind: Kind
    sizes: tuple[int, ...]
    draw: Callable[[np.random.Generator, int], Rows] | None = None
    pool: Callable[[], Rows] | None = None
    n_classes: int = 2
    bundled: bool = True
    leave_out: tuple[str, ...] = ()  # methods that take too long here


def sigmoid(z: Array) -> Array:
    return 1 / (1 + np.exp(-z))


def logit(p: Array) -> Array:
    return np.log(p) - np.log1p(-p)


def softmax(z: Array) -> Array:
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


# --- one event: the score is drawn, and the truth is a function of it ---


def event(scores: Callable[..., Array], truth: Callable[[Array], Array]) -> Callable[..., Rows]:
    def draw(rng: np.random.Generator, n: int) -> Rows:
        x = scores(rng, n)
        t = truth(x)
        return Rows(x, (rng.random(n) < t).astype(int), t)

    return draw


def spread(centre: float, width: float) -> Callable[..., Array]:
    """Scores whose logits are normal."""
    return lambda rng, n: sigmoid(rng.normal(centre, width, n))


def steps(s: Array) -> Array:
    """A truth that jumps at three scores."""
    return np.array([0.08, 0.35, 0.5, 0.9])[np.searchsorted([0.3, 0.55, 0.8], s)]


def up_and_down(s: Array) -> Array:
    """The highest scores are right less often than the high ones."""
    return np.where(s < 0.7, s, 0.7 - 1.2 * (s - 0.7))


def stated(rng: np.random.Generator, n: int) -> Array:
    """Confidences as language models state them: a few round numbers, most of them high."""
    values = [0.3, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99]
    return rng.choice(values, n, p=[0.02, 0.05, 0.05, 0.08, 0.05, 0.15, 0.15, 0.2, 0.2, 0.05])


def rarer(rng: np.random.Generator, n: int) -> Rows:
    """Scores that are right where half are events, met where one in ten is; classes look the same in both places."""
    t = sigmoid(rng.normal(0, 1.5, 12 * n))
    t = t[rng.random(len(t)) < (0.1 * t + 0.9 * (1 - t)) / 0.9][:n]
    truth = 0.1 * t / (0.1 * t + 0.9 * (1 - t))
    return Rows(t, (rng.random(n) < truth).astype(int), truth)


# --- several classes: the truth is drawn, and the logits are bent ---


def classes(k: int, width: float, scale: float, bias: float = 0.0) -> Callable[..., Rows]:
    """Logits z with truth softmax(z), said to be softmax(scale z + b); b is the same in every draw."""
    shift = bias * np.random.default_rng(7).normal(size=k)

    def draw(rng: np.random.Generator, n: int) -> Rows:
        z = rng.normal(0, width, (n, k))
        t = softmax(z)
        y = np.minimum((t.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), k - 1)
        return Rows(softmax(scale * z + shift), y, t)

    return draw


# --- real rows ---


@cache
def held_out(data: str, model: str) -> Rows:
    """Every row of a bundled data set, scored by a classifier that was trained without it."""
    from sklearn import datasets
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    x, y = getattr(datasets, f"load_{data}")(return_X_y=True)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    method = "decision_function" if model == "svm" else "predict_proba"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the network is stopped early
        p = cross_val_predict(classifiers()[model](), x, y, cv=folds, method=method)
    return Rows(p[:, 1] if p.ndim == 2 and p.shape[1] == 2 else p, y)


def classifiers() -> dict[str, Callable[[], Any]]:
    """By short name, as they come."""
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    return {
        "naive Bayes": lambda: make_pipeline(StandardScaler(), GaussianNB(var_smoothing=1e-3)),
        "random forest": lambda: RandomForestClassifier(100, random_state=0),
        "boosted trees": lambda: GradientBoostingClassifier(n_estimators=60, subsample=0.5, random_state=0),
        "svm": lambda: make_pipeline(StandardScaler(), SVC()),
        "network": lambda: make_pipeline(StandardScaler(), MLPClassifier((64,), max_iter=60, tol=0, random_state=0)),
        "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(C=100, max_iter=2000)),
    }


def demo(model: str) -> Rows:
    from believable.readers import load_demo

    read = load_demo()[model]
    return Rows(read.scores, read.labels.astype(int))


def network(path: Path) -> Rows:
    with np.load(path) as held:
        p = held["probs"].astype(float)
        return Rows(p / p.sum(axis=1, keepdims=True), held["labels"].astype(int))


def simulated() -> list[Source]:
    """Every simulation."""
    one: list[tuple[str, str, Callable[..., Rows]]] = [
        ("calibrated", "already calibrated", event(spread(0, 1.5), lambda s: s)),
        (
            "over-confident",
            "too extreme (temperature 2.5)",
            event(spread(0, 3.75), lambda s: sigmoid(logit(s) / 2.5)),
        ),
        ("too high", "over-predicts (by 1 in log-odds)", event(spread(0.5, 1.5), lambda s: sigmoid(logit(s) - 1))),
        (
            "asymmetric",
            "asymmetric (beta-shaped)",
            event(spread(0, 1.8), lambda s: sigmoid(0.4 * np.log(s) - 1.6 * np.log1p(-s) - 1.2)),
        ),
        ("steps", "true rate in four steps", event(lambda rng, n: rng.random(n), steps)),
        ("up and down", "not monotone: true rate falls at the top", event(lambda rng, n: rng.random(n), up_and_down)),
        ("rare", "rare event, 2 %", event(spread(-3.6, 1.6), lambda s: sigmoid(0.7 * logit(s) - 1.9))),
        (
            "stated",
            "round numbers, too extreme",
            event(stated, lambda s: 0.25 + 0.5 * s),
        ),
    ]
    several: list[tuple[str, str, int, Callable[..., Rows]]] = [
        ("10 calibrated", "10 classes, calibrated", 10, classes(10, 2.0, 1.0)),
        ("3 over-confident", "3 classes, temperature 2", 3, classes(3, 1.5, 2.0)),
        ("10 over-confident", "10 classes, temperature 2", 10, classes(10, 2.0, 2.0)),
        ("10 biased", "10 classes, temperature 1.5, a bias per class", 10, classes(10, 2.0, 1.5, bias=1.0)),
    ]
    slow = ("matrix", "dirichlet", "local", "beta_cdf", "bbq")
    return [
        *(Source(name, title, "event", SIZES, draw) for name, title, draw in one),
        Source("other prevalence", "calibrated at 50 %, used at 10 %", "prevalence", SIZES, rarer),
        Source(
            "raw",
            "raw scores, true rates 0.02 to 0.92",
            "scores",
            SIZES,
            event(lambda rng, n: rng.normal(0, 3, n), lambda s: 0.02 + 0.9 * sigmoid(1.1 * s - 1)),
        ),
        *(Source(name, title, "classes", CLASS_SIZES, draw, n_classes=k) for name, title, k, draw in several),
        Source(
            "100 over-confident",
            "100 classes, temperature 2",
            "classes",
            (250, 1000, 5000),
            classes(100, 2.5, 2.0),
            n_classes=100,
            leave_out=slow,
        ),
    ]


def real() -> list[Source]:
    """Every pool of held-out predictions that is here."""
    found = [
        Source(
            f"odd digits, {model.replace('_', ' ')}",
            "is a digit odd?",
            "event",
            (100, 250, 1000),
            pool=lambda m=model: demo(m),
        )
        for model in ("naive_bayes", "logistic")
    ]
    for data, kind, sizes, k, models in (
        ("breast_cancer", "event", (50, 100, 250), 2, ("naive Bayes", "random forest", "boosted trees", "logistic")),
        ("breast_cancer", "scores", (50, 100, 250), 2, ("svm",)),
        ("digits", "classes", (100, 250, 1000), 10, ("naive Bayes", "random forest", "network")),
        ("wine", "classes", (50, 100), 3, ("naive Bayes", "random forest", "boosted trees")),
    ):
        for model in models:
            name = f"{data.replace('_', ' ')}, {model}"
            title = f"{data.replace('_', ' ')} of scikit-learn, held-out"
            pool = lambda d=data, m=model: held_out(d, m)  # noqa: E731
            found.append(Source(name, title, kind, sizes, pool=pool, n_classes=k))  # type: ignore[arg-type]
    folder = os.environ.get("BELIEVABLE_DATA")
    for name, k in (("cifar10_lenet5", 10), ("cifar10_vgg16", 10), ("cifar100_wrn16_4", 100)):
        path = Path(folder or "", f"{name}.npz")
        if folder and path.exists():
            slow = ("matrix", "dirichlet", "local", "beta_cdf", "bbq") if k == 100 else ()
            sizes = (500, 1000, 5000) if k == 10 else (1000, 5000)
            title = "CIFAR test rows, a real network (BELIEVABLE_DATA)"
            pool = lambda p=path: network(p)  # noqa: E731
            found.append(Source(name, title, "classes", sizes, None, pool, k, False, slow))
    return found
