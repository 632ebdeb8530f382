"""uncertainty-calibration: Platt scaling, histogram binning with equal mass, and scaling-binning."""

import calibration
import numpy as np
from inputs import recalibrating
from recording import Recorder

record = Recorder(
    "uncertainty-calibration", {"calibration": calibration, "np": np}, also=("scikit-learn",), on=recalibrating
)


def trained(calibrator, x, y):
    calibrator.train_calibration(x, y)
    return calibrator


record.names["trained"] = trained

for name, given in recalibrating().items():
    if given.w is not None:  # it takes no weights
        continue
    if given.p.ndim == 1:
        text = "trained(calibration.PlattCalibrator(len(p), 1), p, y).calibrate(np.arange(1, 40) / 40)"
        record(name, text, "platt")
        for bins in (5, 10):
            text = "trained(calibration.{which}(len(p), {bins}), p, y).calibrate(p[:60])"
            for which in ("HistogramCalibrator", "PlattBinnerCalibrator"):
                record(name, text.replace("{which}", which), which, bins=bins)
    elif given.p.shape[1] > 2:
        for bins in (5, 10):
            text = "trained(calibration.HistogramMarginalCalibrator(len(p), {bins}), p, y).calibrate(p[:30])"
            record(name, text, "HistogramMarginalCalibrator", bins=bins)

record.write()
