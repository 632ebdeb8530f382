"""The settings that all parts of an audit share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from believable._types import Kind, Notion, Strategy


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """How calibration is measured.

    Attributes
    ----------
    n_bins, strategy
        The bins of the headline.
    notion, pooled
        Which probabilities the headline judges (None: the default), and whether several curves are pooled into one.
    pairs : bool
        Whether the scores are confidences in an answer, and the outcomes whether it was right.
    level : float
        The confidence level of the intervals.
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.
    """

    n_bins: int
    strategy: Strategy
    notion: Notion | None
    pooled: bool
    pairs: bool
    level: float
    random_state: Any

    def about_confidence(self, kind: Kind) -> bool:
        """Return whether the scores are confidences in an answer, or in a predicted class."""
        notion = self.notion or ("confidence" if kind == "multiclass" else "binary")
        return self.pairs or notion in ("confidence", "top_label")

    @property
    def bins(self) -> dict[str, Any]:
        """The settings of bins, as options of a metric."""
        return {"n_bins": self.n_bins, "strategy": self.strategy}

    @property
    def options(self) -> dict[str, Any]:
        """The settings of bins and notion, as options of a metric."""
        return self.bins | {"notion": self.notion, "pooled": self.pooled}
