"""Numeric routines and nothing else: arrays in, arrays out, no checking, no knowledge of what the numbers mean."""

from believable.kernels.reference import (
    auc,
    bin_index,
    classwise_sums,
    extrema,
    label_scores,
    n_moments,
    pair_sums,
    quantile_boundaries,
    row_blocks,
    row_sum_extrema,
    sigmoid,
    softmax,
    top_hit,
    top_one,
    top_ranked,
    uniform_index,
)

__all__ = [
    "auc",
    "bin_index",
    "classwise_sums",
    "extrema",
    "label_scores",
    "n_moments",
    "pair_sums",
    "quantile_boundaries",
    "row_blocks",
    "row_sum_extrema",
    "sigmoid",
    "softmax",
    "top_hit",
    "top_one",
    "top_ranked",
    "uniform_index",
]
