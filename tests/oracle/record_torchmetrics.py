"""torchmetrics: binary and multiclass calibration error, three norms."""

import torch
import torchmetrics.functional.classification as functional
from recording import Recorder, binary, matrices

torch.set_num_threads(1)
record = Recorder(
    "torchmetrics",
    {"torch": torch, "functional": functional},
    also=("torch",),
    note="functional is torchmetrics.functional.classification; "
    f"CPU capability {torch.backends.cpu.get_cpu_capability()} (see README: edges and FMA)",
)

BINARY = "functional.binary_calibration_error(torch.from_numpy(p), torch.from_numpy(y), n_bins={n_bins}, norm={norm})"
MULTI = (
    "functional.multiclass_calibration_error(torch.from_numpy(p), torch.from_numpy(y), "
    "num_classes=p.shape[1], n_bins={n_bins}, norm={norm})"
)
for inputs, call in ((binary(), BINARY), (matrices(), MULTI)):
    for name, _ in inputs:
        for n_bins in (10, 15, 30):
            for norm in ("l1", "l2", "max"):
                record(name, call, "calibration_error", n_bins=n_bins, norm=norm)

record.write()
