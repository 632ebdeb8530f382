"""What each library does with input that is not what it expects: the last table of docs/differs.md.

``python tests/oracle/verify_inputs.py``, in an environment with all of them, prints the value or the error for each.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent


def calls() -> dict[str, Callable[[Any, Any], Any]]:
    """The error with ten bins of each, scores first."""
    import calibration
    import calibre
    import netcal.metrics
    import relplot
    import torch
    from sklearn.calibration import calibration_curve
    from torchmetrics.functional.classification import binary_calibration_error

    import believable

    def tensors(p: Any, y: Any) -> float:
        return float(binary_calibration_error(torch.from_numpy(p), torch.from_numpy(y), n_bins=10))

    return {
        "believable": believable.expected_calibration_error,
        "scikit-learn": lambda p, y: np.sum(calibration_curve(y, p, n_bins=10)),  # of the curve: is it a number?
        "torchmetrics": tensors,
        "netcal": lambda p, y: netcal.metrics.ECE(10).measure(p, y),
        "uncertainty-calibration": lambda p, y: calibration.get_ece(p, y, num_bins=10),
        "relplot binnedECE": lambda p, y: relplot.metrics.binnedECE(p, y, nbins=10),
        "relplot smECE": relplot.smECE,
        "calibre": lambda p, y: calibre.expected_calibration_error(y, p, n_bins=10),
    }


def inputs() -> dict[str, tuple[Any, Any]]:
    """The same rows, as they should be and otherwise."""
    random = np.random.default_rng(0)
    p = random.random(400)
    y = (random.random(400) < p).astype(int)
    missing = p.copy()
    missing[3] = np.nan
    return {
        "as they should be": (p, y),
        "one score is NaN": (missing, y),
        "logits": (np.log(p / (1 - p)), y),
        "arguments swapped": (y.astype(float), p),
        "shape (n, 1)": (p[:, None], y),
    }


def main() -> None:
    """Print them all."""
    for name, (p, y) in inputs().items():
        print(name)
        for library, call in calls().items():
            try:
                said = f"{call(p, y):.3f}"
            except Exception as error:
                said = f"{type(error).__name__}: {error}".splitlines()[0][:100]
            print(f"  {library:24} {said}")


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]
    warnings.simplefilter("ignore")
    main()
