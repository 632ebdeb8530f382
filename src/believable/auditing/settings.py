"""The choices of an audit that its parts have in common, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from believable._types import Kind, Notion, Strategy


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """How calibration is looked at.

    Attributes
    ----------
    n_bins, strategy
        The bins of the headline.
    notion, pooled
        Which probabilities it is about (None: the default), and whether several curves are put together.
    pairs : bool
        Whether the scores are confidences in an answer, and what happens is that it is right.
    level : float
        Of the intervals.
    random_state : None, int or numpy Generator
    """

    n_bins: int
    strategy: Strategy
    notion: Notion | None
    pooled: bool
    pairs: bool
    level: float
    random_state: Any

    def about_confidence(self, kind: Kind) -> bool:
        """Whether the scores are confidences in an answer, or in a predicted class."""
        notion = self.notion or ("confidence" if kind == "multiclass" else "binary")
        return self.pairs or notion in ("confidence", "top_label")

    @property
    def bins(self) -> dict[str, Any]:
        """The choices of bins, as the options of a metric."""
        return {"n_bins": self.n_bins, "strategy": self.strategy}

    @property
    def options(self) -> dict[str, Any]:
        """The choices of bins and notion, as the options of a metric."""
        return self.bins | {"notion": self.notion, "pooled": self.pooled}
