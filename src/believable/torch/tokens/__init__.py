"""Next-token probabilities of language models: rows of a vocabulary, read a block at a time."""

from __future__ import annotations

from believable.torch.tokens.token_calibration import TokenCalibration, token_calibration

__all__ = ["TokenCalibration", "token_calibration"]
