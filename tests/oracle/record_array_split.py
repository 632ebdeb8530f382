"""The recipe of tutorials for an equal-mass ECE: sort, cut the sorted array into M parts, average the gaps."""

import numpy as np
from recording import Recorder, binary, matrices


def array_split_ece(p, y, n_bins):
    """Sum over parts of (size / n) * |mean(y) - mean(p)|; equal scores may be cut apart; empty parts are skipped."""
    order = np.argsort(p, kind="stable")
    p, y = np.asarray(p, dtype=np.float64)[order], np.asarray(y, dtype=np.float64)[order]
    error = 0.0
    for part_p, part_y in zip(np.array_split(p, n_bins), np.array_split(y, n_bins), strict=True):
        if len(part_p):
            error += len(part_p) / len(p) * abs(part_y.mean() - part_p.mean())
    return error


record = Recorder("array_split", {"array_split_ece": array_split_ece})
for inputs, pair in ((binary(), "p, y"), (matrices(), "p.max(axis=1), p.argmax(axis=1) == y")):
    for name, _ in inputs:
        for n_bins in (5, 10, 15):
            record(name, f"array_split_ece({pair}, n_bins={{n_bins}})", "array_split_ece", n_bins=n_bins)

record.write()
