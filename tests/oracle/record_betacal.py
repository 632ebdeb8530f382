"""betacal: beta calibration with three parameters, two and one, its numbers a, b, c and its map."""

import betacal
import numpy as np
from inputs import recalibrating
from recording import Recorder


def abc(model):
    """The map as sigmoid(a log p - b log(1 - p) + c), read from its logistic regression."""
    a, b, _ = model.calibrator_.map_
    c = np.ravel(model.calibrator_.lr_.intercept_)[0]
    return [a, b, (a - b) * np.log(2) if model.parameters == "ab" else c]


record = Recorder(
    "betacal", {"betacal": betacal, "np": np, "abc": abc}, also=("scipy", "scikit-learn"), on=recalibrating
)

for name, given in recalibrating().items():
    if given.p.ndim == 1:
        weights = "" if given.w is None else ", w"
        for parameters in ("abm", "am", "ab", "a"):
            fitted = f"betacal.BetaCalibration({{parameters}}).fit(p, y{weights})"
            record(name, f"abc({fitted})", "beta (a, b, c)", parameters=parameters)
            record(name, f"{fitted}.predict(np.arange(1, 40) / 40)", "beta", parameters=parameters)

record.write()
