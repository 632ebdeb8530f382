"""netcal: MMCE of matrices (confidence pairs) and of one column of scores, which it treats otherwise."""

import netcal.metrics
from inputs import beyond
from recording import Recorder

record = Recorder("netcal", {"netcal": netcal}, also=("scipy",), on=beyond)

for name, given in beyond().items():
    if given.w is None and name != "many":
        record(name, "netcal.metrics.MMCE().measure(p, y)", f"MMCE {given.p.ndim}-D")

record.write()
