"""uncertainty-calibration (verified calibration): plug-in and debiased errors, equal width and equal mass.

The debiased error of order 1 draws from the global random state and is left out.
"""

import calibration
from recording import Recorder, binary, matrices

record = Recorder("uncertainty-calibration", {"calibration": calibration})

for name, _ in binary():
    for num_bins in (10, 15):
        record(name, "calibration.get_ece(p, y, num_bins={num_bins})", "get_ece", num_bins=num_bins)
        record(name, "calibration.get_ece_em(p, y, num_bins={num_bins})", "get_ece_em", num_bins=num_bins)
        for debias in (False, True):
            text = "calibration.lower_bound_scaling_ce(p, y, p=2, debias={debias}, num_bins={num_bins})"
            record(name, text, "lower_bound_scaling_ce", debias=debias, num_bins=num_bins)
    for order, debias in ((1, False), (2, False), (2, True)):
        text = "calibration.get_calibration_error(p, y, p={p}, debias={debias})"
        record(name, text, "get_calibration_error", p=order, debias=debias)

for name, _ in matrices():
    for mode in ("top-label", "marginal"):
        for num_bins in (10, 15):
            for function in ("get_ece", "get_ece_em"):
                text = f"calibration.{function}(p, y, num_bins={{num_bins}}, mode={{mode}})"
                record(name, text, function, num_bins=num_bins, mode=mode)
        for order, debias in ((1, False), (2, False), (2, True)):
            text = "calibration.get_calibration_error(p, y, p={p}, debias={debias}, mode={mode})"
            record(name, text, "get_calibration_error", p=order, debias=debias, mode=mode)

record.write()
