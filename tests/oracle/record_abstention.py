"""abstention: the shares of classes where scores came from, by the EM algorithm, and the scores adapted to them."""

import abstention.label_shift
import numpy as np
from inputs import recalibrating
from recording import Recorder

names = {"abstention": abstention, "np": np}
record = Recorder("abstention", names, also=("scipy", "scikit-learn"), on=recalibrating)

# Two of three rows of class 0 are left out in the place that is adapted to.
THERE = "p[(y > 0) | (np.arange(len(y)) % 3 == 0)]"

for name, given in recalibrating().items():
    if given.p.ndim == 2 and given.w is None:  # it takes no weights
        text = (
            "abstention.label_shift.EMImbalanceAdapter(estimate_priors_from_valid_labels=True, tolerance=1e-15, "
            f"max_iterations=100000)({THERE}, p, np.eye(p.shape[1])[y])"
        )
        record(name, f"{text}.multipliers", "prior shift (target / source)")
        record(name, f"{text}({THERE}[:30])", "prior shift")

record.write()
