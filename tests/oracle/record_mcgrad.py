"""MCGrad: ECCE-R (Kuiper) with weights; where no two scores are equal, as its sort leaves the order of ties open."""

import mcgrad.metrics as mcgrad
import numpy as np
from inputs import beyond
from recording import Recorder

record = Recorder("MCGrad", {"mcgrad": mcgrad}, note="mcgrad is mcgrad.metrics", on=beyond)

for name, given in beyond().items():
    if given.p.ndim == 1 and len(np.unique(given.p)) == len(given.p):
        weights = "" if given.w is None else ", w"
        for function in ("ecce", "ecce_sigma", "ecce_pvalue"):
            record(name, f"mcgrad.{function}(y, p{weights})", function)

record.write()
