"""netcal: histogram binning, Bayesian binning, and maximum likelihood of temperature, logistic and beta calibration."""

import netcal.binning
import netcal.scaling
import numpy as np
from inputs import recalibrating
from recording import Recorder

record = Recorder("netcal", {"netcal": netcal, "np": np}, also=("scipy", "torch"), on=recalibrating)

for name, given in recalibrating().items():
    if given.w is not None:  # it takes no weights
        continue
    one = given.p.ndim == 1
    at = "np.arange(1, 40) / 40" if one else "p[:30]"
    for bins in (5, 10):
        text = f"netcal.binning.HistogramBinning(bins={{bins}}).fit(p, y).transform({at})"
        record(name, text, "histogram", bins=bins)
    if one:
        record(name, "netcal.binning.BBQ().fit(p, y).transform(p).mean()", "bbq: mean over the rows")
        record(name, f"netcal.scaling.BetaCalibration().fit(p, y).transform({at})", "beta")
    record(name, f"netcal.scaling.TemperatureScaling().fit(p, y).transform({at})", "temperature")
    record(name, "netcal.scaling.TemperatureScaling().fit(p, y).temperature", "temperature, as it says")
    record(name, f"netcal.scaling.LogisticCalibration().fit(p, y).transform({at})", "logistic")

record.write()
