"""MAPIE: the cumulative tests (Kolmogorov-Smirnov and Kuiper) and Spiegelhalter's, statistic and p-value.

Its statistics move every score by about 1e-8 before sorting; without that noise the cumulative sum is exact, and is
recorded where no two scores are equal (else the order of the sort would decide).
"""

import mapie.metrics.calibration as mapie
import numpy as np
from inputs import beyond
from recording import Recorder

record = Recorder(
    "mapie",
    {"mapie": mapie, "np": np},
    also=("scipy", "scikit-learn"),
    note="mapie is mapie.metrics.calibration",
    on=beyond,
)

SUM = "mapie.cumulative_differences(y, p, noise_amplitude=0)"
for name, given in beyond().items():
    if given.p.ndim == 1 and given.w is None:
        for function in ("kolmogorov_smirnov", "kuiper", "spiegelhalter"):
            record(name, f"mapie.{function}_statistic(y, p)", f"{function}_statistic")
            record(name, f"mapie.{function}_p_value(y, p)", f"{function}_p_value")
        if len(np.unique(given.p)) == len(given.p):
            record(name, f"np.max(np.abs({SUM}))", "kolmogorov_smirnov_error")
            record(name, f"np.ptp({SUM})", "kuiper_error")
            record(name, f"np.max(np.abs({SUM})) / mapie.length_scale(p)", "kolmogorov_smirnov_exact")
            record(name, f"np.ptp({SUM}) / mapie.length_scale(p)", "kuiper_exact")
for x in (0.3, 0.5, 0.8, 1.0, 1.3, 1.6, 2.0, 2.5, 3.0):
    record("constant", "mapie.kolmogorov_smirnov_cdf({x})", "kolmogorov_smirnov_cdf", x=x)
    record("constant", "mapie.kuiper_cdf({x})", "kuiper_cdf", x=x)

record.write()
