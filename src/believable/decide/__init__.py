"""Decisions from calibrated probabilities: thresholds, cascades, rankings and words."""

from believable.decide.cascade import Cascade, cascade
from believable.decide.net_benefit import DecisionCurve, net_benefit
from believable.decide.ranking import Ranking, risk_aware_rank
from believable.decide.sampling import uncertainty_sample
from believable.decide.selective import RiskCoverage, selective
from believable.decide.threshold import Threshold, threshold_for
from believable.decide.words import SCALE, confidence_words

__all__ = [
    "SCALE",
    "Cascade",
    "DecisionCurve",
    "Ranking",
    "RiskCoverage",
    "Threshold",
    "cascade",
    "confidence_words",
    "net_benefit",
    "risk_aware_rank",
    "selective",
    "threshold_for",
    "uncertainty_sample",
]
