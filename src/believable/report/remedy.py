"""The recommended fix of an audit, or why there is none."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from believable._types import Ints
from believable.errors import BelievableError, LimitWarning, SmallSampleWarning
from believable.predictions import Predictions
from believable.report.parts import Fix
from believable.report.source import Source
from believable.stats import Summary


@dataclass(frozen=True, slots=True, eq=False)
class Remedy:
    """A fix, with the predictions it leads to.

    Attributes
    ----------
    fix : Fix or None
    why_none : str
    after : Predictions or None
        Recalibrated out of fold; None where nothing is recommended. Of a summary, rows that were drawn from it.
    caveats : tuple of str
    """

    fix: Fix | None
    why_none: str
    after: Predictions | None
    caveats: tuple[str, ...]


def remedy(source: Source, cluster: Ints | None, level: float, random_state: Any, progress: bool | None) -> Remedy:
    """The simplest recalibrator that helps beyond chance, and how much; "nothing" where none does."""
    try:
        with warnings.catch_warnings():  # what they say is said by the caveats
            warnings.simplefilter("ignore", LimitWarning)
            warnings.simplefilter("ignore", SmallSampleWarning)
            from believable.report.tried import best_of_drawn, best_of_tried

            if isinstance(source, Summary):
                return best_of_drawn(source, level, random_state, progress)
            return best_of_tried(source, cluster, level, random_state, progress)
    except BelievableError as reason:
        return Remedy(None, str(reason), None, ())
