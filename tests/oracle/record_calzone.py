"""calzone: Hosmer-Lemeshow (equal width and equal count), Spiegelhalter, Cox slope and intercept, lowess ICI."""

import calzone.metrics
import calzone.utils
import numpy as np
from inputs import beyond
from recording import Recorder

record = Recorder("calzone-tool", {"calzone": calzone, "np": np}, also=("scipy", "statsmodels"), on=beyond)

PAIR = "np.column_stack([1 - p, p])"
TABLE = f"calzone.utils.reliability_diagram(y, {PAIR}, num_bins={{num_bins}}, class_to_plot=1, is_equal_freq={{equal}})"
COX = f"calzone.metrics.cox_regression_analysis(y, {PAIR}{{fixed}})"
for name, given in beyond().items():
    if given.p.ndim == 1 and given.w is None:
        record(name, f"calzone.metrics.spiegelhalter_z_test(y, {PAIR})", "spiegelhalter (z, p)")
        for equal in (False, True):
            record(name, f"(lambda t: [t[0], t[1], t[3]])({TABLE})", "table", num_bins=10, equal=equal)
            text = f"(lambda t: calzone.metrics.hosmer_lemeshow_test(t[0], t[1], t[3]))({TABLE})"
            record(name, text, "hosmer_lemeshow (chi2, p, df)", num_bins=10, equal=equal)
        for fixed in ("", ", fix_slope=True"):
            record(name, COX.replace("{fixed}", fixed), f"cox (slope, intercept, intervals){fixed}")
        for delta in (0.001, 0):
            text = f"calzone.metrics.lowess_regression_analysis(y, {PAIR}, span={{span}}, delta={{delta}})[0]"
            record(name, text, "lowess ICI", span=0.75, delta=delta)

record.write()
