"""Calibration of the next-token probabilities of language models."""

from __future__ import annotations

from believable.torch.tokens.token_calibration import TokenCalibration, token_calibration

__all__ = ["TokenCalibration", "token_calibration"]
