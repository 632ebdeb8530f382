"""Losses for training calibrated models: means over rows (`LabelLoss`), or of a whole batch (`BatchLoss`)."""

from __future__ import annotations

from believable.torch.losses.base import BatchLoss, LabelLoss
from believable.torch.losses.confidence_penalty import ConfidencePenalty
from believable.torch.losses.focal import FocalLoss
from believable.torch.losses.kce import KCELoss
from believable.torch.losses.label_smoothing import LabelSmoothingLoss, smooth_labels
from believable.torch.losses.mixup import Mixed, MixupLoss, mixup
from believable.torch.losses.mmce import MMCELoss
from believable.torch.losses.soft_ece import SoftECE

__all__ = [
    "BatchLoss",
    "ConfidencePenalty",
    "FocalLoss",
    "KCELoss",
    "LabelLoss",
    "LabelSmoothingLoss",
    "MMCELoss",
    "Mixed",
    "MixupLoss",
    "SoftECE",
    "mixup",
    "smooth_labels",
]
