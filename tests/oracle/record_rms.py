"""rms (R): val.prob, the validation table of clinical prediction models. (Its weights touch only its own groups.)"""

from inputs import beyond
from recording_r import RRecorder

record = RRecorder("rms", {}, also=("R",), on=beyond)

for name, given in beyond().items():
    if given.p.ndim == 1 and given.w is None and name != "constant":
        record(name, "unclass(rms::val.prob(p, y, pl = FALSE))", "val.prob")

record.write()
