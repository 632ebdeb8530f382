"""How the problems of `literal` are put to the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from believable import Predictions
from tests.metrics.literal import Data

DOORS: dict[str, dict[str, Any]] = {"soft": {"soft_labels": True}, "multilabel": {"multilabel": True}, "plain": {}}


@pytest.fixture
def ask() -> Callable[..., Any]:
    """A function of the library on a problem, by its arrays where that is enough, else by `Predictions`."""

    def asked(function: Callable[..., Any], data: Data, **choices: Any) -> Any:
        if data.kind == "plain":
            return function(data.scores, data.labels, sample_weight=data.weights, **choices)
        checked = Predictions(data.scores, data.labels, sample_weight=data.weights, **DOORS[data.kind])
        return function(checked, **choices)

    return asked
