"""Which of the headline's choices a metric takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from believable._types import Kind
from believable.metrics import Metric


def options_for(row: Metric, options: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    """The options that a metric knows, but for what its name fixes: which probabilities, how bins are made."""
    known = {name: value for name, value in options.items() if name in row.options}
    if row.of != "confidence" or kind == "binary":
        known = {name: value for name, value in known.items() if name not in ("notion", "pooled")}
    if row.bins != "uniform":
        known.pop("strategy", None)
    return known
