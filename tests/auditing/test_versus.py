"""Two models on the same rows."""

from __future__ import annotations

import numpy as np
import pytest

import believable
from believable import Predictions, audit
from believable.errors import InputError
from believable.readers import load_demo
from tests.auditing.data import few_metrics, over_confident

RNG = np.random.default_rng(0)


@pytest.mark.slow
def test_compared_with_another_model(monkeypatch):
    """The differences are those of `compare`."""
    few_metrics(monkeypatch)
    models = load_demo()
    found = audit(models["naive_bayes"], compare_with=models["logistic"], other="logistic", fix=False)
    for one in found.versus:
        direct = believable.compare(models["naive_bayes"], models["logistic"], metric=one.name, random_state=1)
        assert (one.value, one.other) == (direct.value_a, direct.value_b)
        assert one.difference == pytest.approx(one.value - one.other)
    assert "Compared with logistic" in str(found)
    p, y = over_confident(50, rng=RNG)
    with pytest.raises(InputError, match="must be a Predictions too"):
        audit(Predictions(p, y), compare_with=p)
    with pytest.raises(InputError, match="not for the same rows"):
        audit(Predictions(p, y), compare_with=Predictions(p, 1 - y), fix=False)
