"""netcal: ECE, ACE (average, not adaptive) and MCE, equal intervals and quantile intervals."""

import netcal.metrics
from recording import Recorder, binary, matrices

record = Recorder("netcal", {"netcal": netcal}, also=("scipy",))

CALL = "netcal.metrics.{metric}(bins={bins}, equal_intervals={equal_intervals}).measure(p, y)"
for inputs in (binary(), matrices()):
    for name, _ in inputs:
        for metric in ("ECE", "ACE", "MCE"):
            for bins in (10, 15):
                for equal in (True, False):
                    text = CALL.replace("{metric}", metric)
                    record(name, text, metric, bins=bins, equal_intervals=equal)

# The quantile intervals of tied scores are refused at 10 and 15 bins; two intervals still work on some of them.
for name in ("heaped_tenths", "heaped_tenths_float32", "multi3_tenths"):
    for metric in ("ECE", "ACE", "MCE"):
        for bins in (2, 3, 4):
            record(name, CALL.replace("{metric}", metric), metric, bins=bins, equal_intervals=False)

record.write()
