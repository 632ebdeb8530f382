"""Separation, against examples where it is known and against a search for a minimum."""

from __future__ import annotations

import numpy as np
import pytest

from believable._kernels.separated_classes import separated


def literally_separated(u, labels, d):
    """Whether coefficients d (K, K + 1) separate the classes, row by row."""
    better = False
    for row, label in zip(u, labels, strict=True):
        eta = d[:, :-1] @ row + d[:, -1]
        gaps = [eta[label] - eta[k] for k in range(len(d)) if k != label]
        if min(gaps) < 0:
            return False
        better |= max(gaps) > 0
    return better


@pytest.mark.parametrize("n", [6, 40])
def test_one_event(n):
    """With one logit and two classes, a threshold separates them if no positive lies below a negative."""
    rng = np.random.default_rng(n)
    found = set()
    for _ in range(40):
        z, labels = rng.integers(-3, 4, n) / 2, rng.integers(0, 2, n)
        if labels.min() == labels.max():
            continue
        above, below = z[labels == 1], z[labels == 0]
        touching = z.min() < z.max() and (above.min() >= below.max() or above.max() <= below.min())
        pair = np.column_stack([-z / 2, z / 2])
        assert separated(pair, labels, np.ones((2, 3), bool)) == touching
        found.add(touching)
    assert False in found


def test_labels_that_a_linear_rule_gives():
    """Labels that are the largest of linear functions are separated; one pair of rows that agree in all but y is not."""
    rng = np.random.default_rng(0)
    u, d = rng.normal(size=(60, 3)), rng.normal(size=(3, 4))
    labels = (u @ d[:, :-1].T + d[:, -1]).argmax(axis=1)
    every = np.ones((3, 4), bool)
    assert literally_separated(u, labels, d)
    assert separated(u, labels, every)
    assert not separated(np.tile(u, (3, 1)), np.repeat([0, 1, 2], 60), every)


def test_only_the_free_coefficients_count():
    """With its own logit only, or without an intercept, a class may not be separable although it is with all."""
    u = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])
    labels = np.array([0, 0, 1, 1])
    assert separated(u, labels, np.ones((2, 3), bool))
    assert separated(u, labels, np.ones((2, 2), bool))
    no_intercept = np.array([[True, False], [True, False]])
    assert separated(u, labels, no_intercept)  # v = (0, 1): rows of class 0 have a logit of 0 for both
    assert not separated(u + np.array([0, 1]), labels, no_intercept)


def test_too_many_rows_to_find_out():
    """A program that would take long is not tried."""
    assert separated(np.zeros((10**6, 5)), np.zeros(10**6, int), np.ones((5, 6), bool)) is None
