"""Numeric routines and nothing else: arrays in, arrays out, no checking, no knowledge of what the numbers mean."""

from believable.kernels.brownian import range_tail, sup_tail
from believable.kernels.cosine import smooth_error, smooth_error_at, smooth_error_of_pairs
from believable.kernels.isotonic import pav, pav_rows
from believable.kernels.laplace import faded_around, faded_before, faded_sums, laplace_form
from believable.kernels.local_polynomial import local_polynomial
from believable.kernels.logistic import (
    LogisticFit,
    clipped_logit,
    fit_logistic,
    likelihood,
    sandwich,
    score_products,
    separation,
)
from believable.kernels.ordering import middle_of_pairs, row_order, runs, spread_rows
from believable.kernels.reference import (
    auc,
    bin_index,
    classwise_sums,
    extrema,
    label_scores,
    n_moments,
    pair_sums,
    quantile_boundaries,
    quantile_positions,
    row_blocks,
    row_sum_extrema,
    running_sum,
    sigmoid,
    softmax,
    top_hit,
    top_one,
    top_ranked,
    uniform_index,
)
from believable.kernels.reflected import reflected_gaussian
from believable.kernels.replicates import draw_labels, skce_replicates
from believable.kernels.similarity import Similarity, distances
from believable.kernels.smoothing import cell_starts, nearest_place, smoothed, smoothed_variance
from believable.kernels.sorting import ByScore, by_score, sort_pairs
from believable.kernels.tiles import FEW_CLASSES, SkceRows, pair_weight, skce_blocks, skce_rows, tiles

__all__ = [
    "FEW_CLASSES",
    "ByScore",
    "LogisticFit",
    "Similarity",
    "SkceRows",
    "auc",
    "bin_index",
    "by_score",
    "cell_starts",
    "classwise_sums",
    "clipped_logit",
    "distances",
    "draw_labels",
    "extrema",
    "faded_around",
    "faded_before",
    "faded_sums",
    "fit_logistic",
    "label_scores",
    "laplace_form",
    "likelihood",
    "local_polynomial",
    "middle_of_pairs",
    "n_moments",
    "nearest_place",
    "pair_sums",
    "pair_weight",
    "pav",
    "pav_rows",
    "quantile_boundaries",
    "quantile_positions",
    "range_tail",
    "reflected_gaussian",
    "row_blocks",
    "row_order",
    "row_sum_extrema",
    "running_sum",
    "runs",
    "sandwich",
    "score_products",
    "separation",
    "sigmoid",
    "skce_blocks",
    "skce_replicates",
    "skce_rows",
    "smooth_error",
    "smooth_error_at",
    "smooth_error_of_pairs",
    "smoothed",
    "smoothed_variance",
    "softmax",
    "sort_pairs",
    "spread_rows",
    "sup_tail",
    "tiles",
    "top_hit",
    "top_one",
    "top_ranked",
    "uniform_index",
]
