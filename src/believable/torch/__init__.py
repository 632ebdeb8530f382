"""Calibration in torch: meters on the device of the model, recalibration as modules, losses for training.

The only room that imports torch. Its numbers are those of the NumPy core; CPU is enough, a GPU makes it quick.
"""

from __future__ import annotations

try:
    import torch as _torch  # noqa: F401 - the door: say how to open it
except ImportError as error:
    raise ImportError("believable.torch needs torch: pip install 'believable[torch]'") from error

__all__: list[str] = []
