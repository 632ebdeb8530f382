"""Folds of clusters that keep the shares of classes equal are those of scikit-learn."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from believable._kernels import stratified_group_folds

# Older ones shuffle clusters in another way, so their folds differ.
pytest.importorskip("sklearn", minversion="1.9")
StratifiedGroupKFold = pytest.importorskip("sklearn.model_selection").StratifiedGroupKFold


@pytest.mark.parametrize("n_folds", [2, 3, 5])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("seed", range(6))
def test_as_in_scikit_learn(n_folds, n_classes, seed):
    """Every row is in the same fold, for clusters of any size and for rare classes."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 300))
    cluster = np.unique(rng.integers(0, int(rng.integers(n_folds, 60)), n), return_inverse=True)[1]
    labels = rng.choice(n_classes, n, p=rng.dirichlet(np.ones(n_classes)))
    if cluster.max() + 1 < n_folds or np.bincount(labels).max() < n_folds:
        pytest.skip("fewer clusters or rows than folds")
    theirs = np.empty(n, int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
        for k, (_, rows) in enumerate(splitter.split(labels, labels, cluster)):
            theirs[rows] = k
    np.testing.assert_array_equal(stratified_group_folds(labels, cluster, n_folds, seed), theirs)
