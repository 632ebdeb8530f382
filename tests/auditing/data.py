"""Predictions that audits are tried on."""

from __future__ import annotations

import numpy as np

from believable import Predictions, audit

KINDS = ("binary", "multiclass", "multilabel")


def over_confident(n, k=None, *, rng):
    """Scores that are too sure of themselves: logits times two."""
    if k is None:
        z = rng.normal(0, 1.5, n)
        return 1 / (1 + np.exp(-2 * z)), (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    z = rng.normal(0, 1.5, (n, k))
    p, q = (np.exp(t * z) / np.exp(t * z).sum(axis=1, keepdims=True) for t in (1, 2))
    return q, (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=k - 1)


def few_metrics(monkeypatch, *errors):
    """Where the others would only take time."""
    monkeypatch.setattr("believable.auditing.measure.AUDITED_ERRORS", dict.fromkeys(KINDS, errors or ("ece",)))


def too_sure(n, rng, k=None):
    """Scores whose logits are 1.3 times what they should be."""
    if k is None:
        z = rng.normal(-0.5, 1.5, n)
        return 1 / (1 + np.exp(-1.3 * z)), (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    z = rng.normal(0, 1.5, (n, k))
    rate, p = (np.exp(t * z) / np.exp(t * z).sum(axis=1, keepdims=True) for t in (1, 1.3))
    return p, (rate.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=k - 1)


def times(summary, doublings):
    """The same rows so often."""
    for _ in range(doublings):
        summary = summary + summary
    return summary


def audit_of_event():
    """Scores, outcomes and subgroups of an over-confident model, with their audit."""
    rng = np.random.default_rng(0)
    p, y = over_confident(1500, rng=rng)
    site = np.where(rng.random(1500) < 0.3, "north", "south")
    return p, y, site, audit(p, y, by={"site": site}, title="mine")


def audit_of_classes():
    """The same of four classes."""
    rng = np.random.default_rng(1)
    p, y = over_confident(1200, 4, rng=rng)
    site = np.where(rng.random(1200) < 0.3, "north", "south")
    return p, y, site, audit(Predictions(p, y, classes=[0, 1, 2, 3]), by=site)
