"""The Brier skill score against its literal definition."""

from math import fsum

import pytest

from believable import brier_skill_score
from believable.errors import UndefinedError
from tests.metrics.literal import BINARY, MATRIX, MULTILABEL, SOFT, close, mean, over, pairs


def brier(groups):
    """Sum over groups of the mean squared error."""
    return fsum(mean([((p - y) ** 2, w) for p, y, w in group]) for group in groups)


@over(BINARY, SOFT, MATRIX, MULTILABEL)
def test_definition(ask, data):
    """The skill is the share saved of the Brier score of always saying the base rates."""
    groups = pairs(data, "binary" if data.scores.ndim == 1 else "classwise")
    rates = [mean([(y, w) for _, y, w in group]) for group in groups]
    reference = brier([[(rate, y, w) for _, y, w in group] for rate, group in zip(rates, groups, strict=True)])
    if reference == 0:
        with pytest.raises(UndefinedError, match="more than one outcome"):
            ask(brier_skill_score, data)
    else:
        assert ask(brier_skill_score, data) == close(1 - brier(groups) / reference)
