"""Folds of whole clusters that spread each class evenly."""

from __future__ import annotations

import numpy as np

from believable._types import Float64s, Ints


def stratified_group_folds(labels: Ints, cluster: Ints, n_folds: int, seed: int) -> Ints:
    """Return the fold of each row: clusters stay together, and each goes where it evens out the classes best.

    Clusters are shuffled, and those with the most uneven classes come first. The folds are those of
    `StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)` in scikit-learn 1.9, to the row. Labels and
    clusters are numbered from 0, without gaps.
    """
    labels = np.unique(labels, return_inverse=True)[1]
    n_classes, n_clusters = int(labels.max()) + 1, int(cluster.max()) + 1
    of_class = np.bincount(labels)
    of_cluster = np.bincount(cluster.astype(np.int64) * n_classes + labels, minlength=n_clusters * n_classes).reshape(
        n_clusters, n_classes
    )
    shuffled = np.arange(n_clusters)
    np.random.RandomState(seed).shuffle(shuffled)
    counts = of_cluster[shuffled].astype(np.float64)
    in_fold = np.zeros((n_folds, n_classes))
    fold = np.empty(n_clusters, np.intp)
    for place in np.argsort(-np.std(counts, axis=1), kind="stable"):
        best = _best_fold(in_fold, counts[place], of_class)
        in_fold[best] += counts[place]
        fold[shuffled[place]] = best
    return fold[cluster]


def _best_fold(in_fold: Float64s, added: Float64s, of_class: Ints) -> int:
    """Return the fold that leaves the shares of the classes most alike; the smallest in ties."""
    best, least, rows = 0, np.inf, np.inf
    for k in range(len(in_fold)):
        in_fold[k] += added
        unevenness = np.mean(np.std(in_fold / of_class, axis=0))
        in_fold[k] -= added
        size = in_fold[k].sum()
        if unevenness < least or (np.isclose(unevenness, least) and size < rows):
            best, least, rows = k, unevenness, size
    return best
