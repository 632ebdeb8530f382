"""calibre: uniform and equal-mass errors, debiased, sweep, smooth, and the two multiclass errors."""

import calibre
from recording import Recorder, binary, matrices, weighted

record = Recorder("calibre", {"calibre": calibre}, also=("scipy", "scikit-learn"))

for name, _ in binary():
    for n_bins in (10, 15, 30):
        for function in ("expected_calibration_error", "maximum_calibration_error"):
            record(name, f"calibre.{function}(y, p, n_bins={{n_bins}})", function, n_bins=n_bins)
        for strategy in ("uniform", "quantile"):
            text = "calibre.root_mean_squared_calibration_error(y, p, n_bins={n_bins}, strategy={strategy})"
            record(name, text, "root_mean_squared_calibration_error", n_bins=n_bins, strategy=strategy)
        for norm in (1, 2):
            text = "calibre.plugin_calibration_error(y, p, n_bins={n_bins}, norm={norm})"
            record(name, text, "plugin_calibration_error", n_bins=n_bins, norm=norm)
        for squared in (False, True):
            text = "calibre.debiased_calibration_error(y, p, n_bins={n_bins}, squared={squared})"
            record(name, text, "debiased_calibration_error", n_bins=n_bins, squared=squared)
    for norm in (1, 2):
        text = "calibre.sweep_calibration_error(y, p, norm={norm}, return_n_bins=True)"
        record(name, text, "sweep_calibration_error (value, n_bins)", norm=norm)
    text = "calibre.smooth_calibration_error(y, p, return_bandwidth=True)"
    record(name, text, "smooth_calibration_error (value, sigma)")

for name, given in weighted():
    if given.p.ndim == 1:
        for n_bins in (10, 15):
            for function in ("expected_calibration_error", "maximum_calibration_error", "plugin_calibration_error"):
                record(name, f"calibre.{function}(y, p, n_bins={{n_bins}}, sample_weight=w)", function, n_bins=n_bins)

for name, _ in matrices():
    for function in ("classwise_ece", "top_label_ece"):
        for n_bins in (10, 15):
            text = f"calibre.{function}(y, p, n_bins={{n_bins}}, estimator='debiased')"
            record(name, text, function, n_bins=n_bins, estimator="debiased")
        record(name, f"calibre.{function}(y, p, estimator='sweep')", function, estimator="sweep")

record.write()
