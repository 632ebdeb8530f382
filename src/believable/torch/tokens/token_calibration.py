"""Next-token calibration of language models, from their logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch  # noqa: F401 - for the examples

from believable import _check
from believable._types import Array
from believable.binning import N_CELLS, Grid
from believable.errors import InputError
from believable.predictions import Predictions, View
from believable.stats import CellStats
from believable.torch.tokens.calibration import TokenCalibration, buckets_of, name_of, starts_of
from believable.torch.tokens.rows import columns_of, only, token_rows

__all__ = ["TokenCalibration", "token_calibration"]

GRID = Grid(N_CELLS, "uniform", "float64")


def token_calibration(
    logits: Any,
    targets: Any,
    *,
    ignore_index: int | None = -100,
    shift: bool = False,
    top_r: int | None = None,
    position_buckets: int | Sequence[int] | None = None,
    positions: Any = None,
    n_bins: int = 15,
    sample_weight: Any = None,
) -> TokenCalibration:
    """How far the next-token probabilities of a language model can be believed.

    Each token is a row: the softmax of its logits, and the token that came. Counted are the largest probability and
    whether it was right (the notion "confidence"), and, with `top_r`, the further ranks. The logits are read in blocks
    of rows and no matrix of probabilities is made, so a vocabulary of 128k in bfloat16 needs little more memory than
    the logits themselves. Sums are in float64, on the grid of 50,400 cells, so bins can be chosen afterwards.

    Conventions: the vocabulary is the **last** axis of the logits, as language models give it; torch's cross-entropy
    has it on axis 1. Of equal logits the lowest column comes first. A logit of -inf is a token that cannot come, with
    probability 0; where it is the target, the log loss is infinite. NaN, +inf and rows of -inf alone are an error, but
    for tokens that are left out, whose logits do not matter. The log loss is taken from the logits themselves and stays
    finite where the probability is too small for a number.

    Parameters
    ----------
    logits : Tensor of shape (batch, length, vocabulary) or (tokens, vocabulary)
        In bfloat16, float16, float32 or float64, on any device. They are not changed, and need not be contiguous in
        the first two axes.
    targets : Tensor of integers, of shape (batch, length) or (tokens,)
        Token numbers, from 0.
    ignore_index : int or None
        The target of tokens to leave out, padding say.
    shift : bool
        False: `targets[:, t]` is what `logits[:, t]` predict. True: `targets` are the tokens themselves, as the
        `labels` of Hugging Face are, and `logits[:, t]` is compared with `targets[:, t + 1]`.
    top_r : int, optional
        Count the ranks 2 to r too, each alone ("rth") and together with those before it ("within_top_r").
    position_buckets : int or sequence of int, optional
        Count by position in the sequence too: the width of buckets, or where they start, `[0, 16, 64, 256, 1024]` say;
        the last has no end. The position is the index of the logits along the length, from 0, also with `shift`.
    positions : Tensor of integers, of the shape of targets, optional
        Positions of the logits, where the index is not meant: sequences padded on the left or packed one after another.
    n_bins : int
        Bins of the expected calibration error; a divisor of 50,400.
    sample_weight : Tensor of the shape of targets, optional
        Weights of the targets (shifted with them); tokens of weight 0 are left out.

    Returns
    -------
    TokenCalibration
        `n`, `accuracy`, `confidence`, `ece`, `nll`, `perplexity`, `brier`, `entropy`, `cells`, `rth`, `within_top_r`,
        `by_position`; it reads as a table, and adds up over batches.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017), ICML, for the notion; Kadavath et al. (2022), arXiv:2207.05221, for language
    models.

    Examples
    --------
    >>> logits = torch.tensor([[[2.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 3.0]]])
    >>> found = token_calibration(logits, torch.tensor([[0, 2, -100]]), n_bins=10)
    >>> found.n, found.accuracy, round(found.confidence, 4), round(found.nll, 4)
    (2, 0.5, 0.6047, 0.5508)

    The labels of Hugging Face models are the tokens themselves, not shifted:

    >>> labels = torch.tensor([[1, 0, 2]])
    >>> token_calibration(logits, labels, shift=True).accuracy  # 0 after the first, 2 after the second
    0.5

    Batches of an evaluation add up:

    >>> batches = [(logits, labels), (2 * logits, labels)]
    >>> sum(token_calibration(z, y, shift=True) for z, y in batches).n
    4
    """
    rows = token_rows(logits, targets, sample_weight, positions, ignore_index=ignore_index, shift=shift)
    vocabulary = rows.logits.shape[-1]
    r = 1 if top_r is None else _check.positive_integer(top_r, "top_r", 1, vocabulary)
    n_bins = _check.positive_integer(n_bins, "n_bins")
    if N_CELLS % n_bins:
        raise InputError(f"n_bins must divide {N_CELLS:,}, the number of cells, got {n_bins}")
    buckets = None if position_buckets is None else buckets_of(position_buckets)
    if buckets is not None and rows.positions is None:
        raise InputError(
            f"logits of shape {tuple(rows.logits.shape)} have no axis of positions: pass (batch, length, vocabulary), "
            "logits[None] and targets[None] for one sequence, or positions="
        )
    columns, ignored = columns_of(rows, r)
    found = _counted(columns, vocabulary, n_bins, ignored)
    if buckets is None:
        return found
    starts = starts_of(columns["position"], buckets)
    parts = {
        name_of(int(start), buckets): _counted(only(columns, starts == start), vocabulary, n_bins)
        for start in np.unique(starts)
    }
    return replace(found, by_position=parts, position_buckets=buckets)


def _counted(columns: dict[str, Array], vocabulary: int, n_bins: int, ignored: int = 0) -> TokenCalibration:
    weight = columns.get("weight")

    def cells(view: View, score: Array, hit: Array) -> CellStats:
        if not len(score):
            nothing = dict.fromkeys(("key", "n", "ny", "wp", "wpp", "wpy"), np.empty(0))
            return CellStats.from_columns(view, GRID, nothing)
        # A pair of any notion is a score and an outcome, which is what binary predictions are.
        return replace(CellStats.of(Predictions.borrowing(score, hit.astype(np.int64), weight)), view=view)

    def total(name: str) -> float:
        return float(columns[name].sum() if weight is None else (weight * columns[name]).sum())

    ranks = sum(name.startswith("p ") for name in columns)
    rth, within = {}, {}
    if ranks:
        together, among = columns["p 0"], columns["hit 0"]
        for i in range(1, ranks):
            r, score, hit = i + 1, columns[f"p {i}"], columns[f"hit {i}"]
            together, among = together + score, among + hit
            rth[r] = cells(View("rth", vocabulary, r=r), score, hit)
            within[r] = cells(View("within_top_r", vocabulary, r=r), np.minimum(together, 1), among)
    return TokenCalibration(
        cells=cells(View("confidence", vocabulary), columns["confidence"], columns["hit"]),
        total_nll=total("nll"),
        total_brier=total("brier"),
        total_entropy=total("entropy"),
        impossible=int(np.isposinf(columns["nll"]).sum()),
        ignored=ignored,
        n_bins=n_bins,
        rth=rth,
        within_top_r=within,
    )
