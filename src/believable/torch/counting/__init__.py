"""Counting: from tensors to the statistics of the NumPy functions, on the device of the tensors.

`rows` checks tensors. `reference` adds rows to a `Tally` in plain torch, `gpu` with the kernels of `cuda/`, `cpu` with
those in C. A meter keeps its tally in a `MeterState`, and a `TallyReader` reads metrics from it. `compiling` is for
torch.compile.
"""

from __future__ import annotations

from believable.torch.counting.meter import CalibrationMeter
from believable.torch.counting.summarize import bin_stats, summarize

__all__ = ["CalibrationMeter", "bin_stats", "summarize"]
