"""Linear maps of logits as the textbook has them: loops over rows, and a general minimiser."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize


def softmax_row(eta):
    e = np.exp(eta - eta.max())
    return e / e.sum()


def mean_cost(weights, intercepts, z, labels, sample_weight=None):
    """Weighted mean of -log softmax(W z + b)[label]."""
    total = cost = 0.0
    for i in range(len(z)):
        w = 1.0 if sample_weight is None else sample_weight[i]
        total += w
        cost -= w * np.log(softmax_row(weights @ z[i] + intercepts)[labels[i]])
    return cost / total


def odir(weights, intercepts):
    """Mean of squared off-diagonal weights, plus mean of squared intercepts."""
    n = len(intercepts)
    off = sum(weights[k, j] ** 2 for k in range(n) for j in range(n) if j != k) / (n * (n - 1))
    return off + sum(b**2 for b in intercepts) / n


def least(cost, n_parameters, start=None):
    """Where a function of n parameters is least."""
    start = np.zeros(n_parameters) if start is None else start
    return minimize(cost, start, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}).x


def apply(weights, intercepts, z):
    return np.array([softmax_row(weights @ row + intercepts) for row in z])


def draw(n=120, n_classes=3, seed=0):
    """Logits that are wrong in every way, and labels."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, n_classes)) * 1.5 + rng.normal(size=(n, 1))
    truth = 0.6 * np.eye(n_classes) + 0.1 * rng.normal(size=(n_classes, n_classes))
    eta = z @ truth.T + 0.3 * rng.normal(size=n_classes)
    labels = (eta + rng.gumbel(size=eta.shape)).argmax(axis=1)
    return z, labels
