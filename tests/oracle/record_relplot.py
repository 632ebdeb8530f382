"""relplot: binned ECE and smECE."""

import relplot
from recording import Recorder, binary, matrices

record = Recorder("relplot", {"relplot": relplot})

CONFIDENCE = "*relplot.multiclass_logits_to_confidences(p, y, probs=True)"
for inputs, pair in ((binary(), "p, y"), (matrices(), CONFIDENCE)):
    for name, _ in inputs:
        for nbins in (10, 15, 30, 93):
            record(name, f"relplot.metrics.binnedECE({pair}, nbins={{nbins}})", "binnedECE", nbins=nbins)
        record(name, f"relplot.smECE({pair}, return_width=True)", "smECE (value, sigma)")
        for sigma in (0.02, 0.05, 0.1, 0.3):
            record(name, f"relplot.smECE_sigma({pair}, sigma={{sigma}})", "smECE_sigma", sigma=sigma)

record.write()
