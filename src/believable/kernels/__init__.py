"""Numeric routines and nothing else: arrays in, arrays out, no checking, no knowledge of what the numbers mean."""

from believable.kernels._backend import backend
from believable.kernels._pairs import SkceRows
from believable.kernels.binary_pass import binary_cells, binary_pass
from believable.kernels.binned import bin_moments
from believable.kernels.binnings import Binnings, binned_sums, log_evidence, mixed_steps, quantile_binnings
from believable.kernels.brownian import range_tail, sup_tail
from believable.kernels.classwise_cells import classwise_cells
from believable.kernels.compiled.threads import alone
from believable.kernels.cosine import smooth_error, smooth_error_at, smooth_error_of_pairs
from believable.kernels.distinct import ByScore
from believable.kernels.ensemble_temperature import EnsembleFit, fit_ensemble_temperature, part_weights
from believable.kernels.incomplete_beta import BETA_CDF_RANGE, WeightedLogits, beta_cdf, fit_beta_cdf
from believable.kernels.isotonic import FlatPieces, flat_pieces, pav, pav_rows
from believable.kernels.laplace import faded_around, faded_before, faded_sums, laplace_form, pairs_of_blocks
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
from believable.kernels.logistic_classes import ClassesFit, ClassesLimit, ClassRows, fit_logistic_classes
from believable.kernels.logit_cells import MOST_LOGIT_CELLS, logit_floor, logit_index, near_one
from believable.kernels.logits import LogitRows
from believable.kernels.matrix_moments import classwise_moments, top_moments
from believable.kernels.matrix_rows import matrix_sums
from believable.kernels.mixture import mixture_shares
from believable.kernels.multinomial import (
    MultinomialFit,
    fit_multinomial,
    log_softmax,
    mapped_softmax,
    multinomial_cost,
)
from believable.kernels.multinomial_frame import frame_of
from believable.kernels.natural_spline import spline_slopes
from believable.kernels.ordering import middle_of_pairs, row_order, runs, spread_rows
from believable.kernels.partition import Moments, Partition
from believable.kernels.pass_sums import MatrixSums, PassGrid, PassSums
from believable.kernels.piecewise import edges_below, last_step, lines_between
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
    uniform_floor,
    uniform_index,
)
from believable.kernels.reflected import reflected_gaussian
from believable.kernels.replicates import draw_labels, skce_replicates
from believable.kernels.resampling import redrawn_events, redrawn_labels
from believable.kernels.similarity import Similarity, distances
from believable.kernels.smoothing import cell_starts, nearest_place, smoothed, smoothed_variance
from believable.kernels.sorting import ascending, by_score, sort_pairs
from believable.kernels.temperature import (
    TemperatureFit,
    fit_temperature,
    label_terms,
    logit_rows,
    tempered,
    top_probability,
)
from believable.kernels.tiles import FEW_CLASSES, pair_weight, skce_blocks, skce_rows, tiles
from believable.kernels.venn_abers import VennAbersSteps, venn_abers_steps

__all__ = [
    "BETA_CDF_RANGE",
    "FEW_CLASSES",
    "MOST_LOGIT_CELLS",
    "Binnings",
    "ByScore",
    "ClassRows",
    "ClassesFit",
    "ClassesLimit",
    "EnsembleFit",
    "FlatPieces",
    "LogisticFit",
    "LogitRows",
    "MatrixSums",
    "Moments",
    "MultinomialFit",
    "Partition",
    "PassGrid",
    "PassSums",
    "Similarity",
    "SkceRows",
    "TemperatureFit",
    "VennAbersSteps",
    "WeightedLogits",
    "alone",
    "ascending",
    "auc",
    "backend",
    "beta_cdf",
    "bin_index",
    "bin_moments",
    "binary_cells",
    "binary_pass",
    "binned_sums",
    "by_score",
    "cell_starts",
    "classwise_cells",
    "classwise_moments",
    "classwise_sums",
    "clipped_logit",
    "distances",
    "draw_labels",
    "edges_below",
    "extrema",
    "faded_around",
    "faded_before",
    "faded_sums",
    "fit_beta_cdf",
    "fit_ensemble_temperature",
    "fit_logistic",
    "fit_logistic_classes",
    "fit_multinomial",
    "fit_temperature",
    "flat_pieces",
    "frame_of",
    "label_scores",
    "label_terms",
    "laplace_form",
    "last_step",
    "likelihood",
    "lines_between",
    "local_polynomial",
    "log_evidence",
    "log_softmax",
    "logit_floor",
    "logit_index",
    "logit_rows",
    "mapped_softmax",
    "matrix_sums",
    "middle_of_pairs",
    "mixed_steps",
    "mixture_shares",
    "multinomial_cost",
    "n_moments",
    "near_one",
    "nearest_place",
    "pair_sums",
    "pair_weight",
    "pairs_of_blocks",
    "part_weights",
    "pav",
    "pav_rows",
    "quantile_binnings",
    "quantile_boundaries",
    "quantile_positions",
    "range_tail",
    "redrawn_events",
    "redrawn_labels",
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
    "spline_slopes",
    "spread_rows",
    "sup_tail",
    "tempered",
    "tiles",
    "top_hit",
    "top_moments",
    "top_one",
    "top_probability",
    "top_ranked",
    "uniform_floor",
    "uniform_index",
    "venn_abers_steps",
]
