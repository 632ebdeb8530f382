"""Metrics are found by any usual name, and a name that is not known leads to one that is."""

from __future__ import annotations

import numpy as np
import pytest

import believable
from believable.errors import InputError
from believable.metrics import METRICS, find_metric
from believable.metrics.table import NEAREST_TO_OTHERS, SYNONYMS, known_metric

P = np.random.default_rng(0).random(300)
Y = np.random.default_rng(1).random(300) < P


@pytest.mark.parametrize(
    ("name", "alias"),
    [
        ("log_loss", "nll"),
        ("log loss", "nll"),
        ("logloss", "nll"),
        ("Log-Loss", "nll"),
        ("cross_entropy", "nll"),
        ("roc_auc", "auc"),
        ("roc_auc_score", "auc"),
        ("AUC", "auc"),
        ("AUROC", "auc"),
        ("brier_score_loss", "brier"),
        ("Brier score", "brier"),
        ("accuracy", "acc"),
        ("accuracy_score", "acc"),
        ("ECE", "ece"),
        ("d2_brier_score", "bss"),
    ],
)
def test_other_names(name, alias):
    """What scikit-learn and others call a metric is that metric, wherever one is named."""
    assert find_metric(name).alias == alias
    assert believable.evaluate(P, Y, metrics=[name])[name] == believable.evaluate(P, Y, metrics=[alias])[alias]


def test_intervals_take_other_names():
    """The same interval comes out."""
    one, other = (believable.interval(name, P, Y, random_state=0) for name in ("log_loss", "negative_log_likelihood"))
    assert (one.value, one.low, one.high) == (other.value, other.low, other.high)


def test_synonyms_are_of_metrics_and_of_one_each():
    """No name leads to two metrics, and every one leads somewhere."""
    aliases = {row.alias for row in METRICS.values()}
    assert {*SYNONYMS, *NEAREST_TO_OTHERS} <= aliases
    names = [name for group in (SYNONYMS, NEAREST_TO_OTHERS) for names in group.values() for name in names]
    assert len(names) == len(set(names))
    assert not {*names} & {*aliases, *METRICS}
    for alias, others in SYNONYMS.items():
        assert {find_metric(name).alias for name in others} == {alias}
    assert all(known_metric(name) is None for others in NEAREST_TO_OTHERS.values() for name in others)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "neg_log_loss",
            "there is no metric 'neg_log_loss': use 'log_loss', for which lower is better here; choose from",
        ),
        ("neg_brier_score", "'neg_brier_score': use 'brier_score', for which lower is better here; choose from"),
        ("average_precision", r"there is no metric 'average_precision' \(the nearest is auc\); choose from accuracy"),
        ("brierr", r"there is no metric 'brierr' \(did you mean brier\?\); choose from"),
        ("log_los", r"\(did you mean nll\?\)"),
        ("zzz", "there is no metric 'zzz'; choose from"),
    ],
)
def test_names_that_are_not_known(name, said):
    """A negated loss would change its sign without a word, so it is refused with the loss that is meant."""
    with pytest.raises(InputError, match=said):
        find_metric(name)
    with pytest.raises(InputError, match=said):
        believable.interval(name, P, Y)
