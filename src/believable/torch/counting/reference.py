"""A pass over rows in plain torch, on any device: the reference for the compiled kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from believable.predictions.view import View
from believable.torch.counting.rows import Block, Rows, faults
from believable.torch.counting.tally import (
    ROW_TERM_NAMES,
    TALLY_CLASS_SUM_NAMES,
    TALLY_SUM_NAMES,
    Tally,
    code_bounds,
    n_codes,
    views_of,
)

SMALLEST_FLOAT64 = torch.finfo(torch.float64).tiny  # its logarithm replaces that of 0


class TensorPairs(NamedTuple):
    """Scores in their own type, outcomes, weights (None if all 1) and strata (None if all 0)."""

    score: Tensor
    outcome: Tensor
    weight: Tensor | None
    stratum: Tensor | None


def add_rows(tally: Tally, rows: Rows) -> None:
    """Add rows to the tensors of a tally; invalid rows are counted separately."""
    for block in rows.blocks():
        bad = faults(block, rows)
        tally.invalid.add_(bad.sum(dim=1))
        valid = ~bad.any(dim=0)
        block = Block(block.scores[valid], block.labels[valid], None if block.weights is None else block.weights[valid])
        if not len(block.labels):
            continue
        _add_block(tally, block, rows.from_logits)


def _add_block(tally: Tally, block: Block, from_logits: bool) -> None:
    scores, labels, weights = block
    binary = scores.ndim == 1
    p = scores
    if from_logits:
        p = _sigmoid(scores) if binary else torch.softmax(scores, dim=1)
    labels = labels.long()
    wide = p.double()
    terms, by_class = _binary_terms(wide, labels) if binary else _matrix_terms(wide, labels)
    if binary:
        terms["correct"] = ((p > 0.5).long() == labels).double()
    else:
        top = p.argmax(dim=1)  # the first of equal largest ones
        terms["correct"] = (top == labels).double()
    weight = torch.ones_like(wide[..., 0] if not binary else wide) if weights is None else weights
    _add_sums(tally, terms, weight)
    tally.by_class.add_(_by_class(by_class, terms["brier"], labels, weight, tally.by_class.shape[1]))
    for table, (view, grids) in zip(tally.tables, views_of(tally.layout), strict=True):
        codes = n_codes(grids)
        bounds = code_bounds(grids, str(p.device))
        for pairs in pairs_of(view, p, labels, weights):
            code = torch.bucketize(pairs.score.contiguous(), bounds)
            code = code if pairs.stratum is None else pairs.stratum * codes + code
            _add_pairs(table, code, pairs)


def _sigmoid(z: Tensor) -> Tensor:
    """Return the sigmoid; torch's own is 0 below -709, where the probability and its log loss are still finite."""
    e = torch.exp(-z.abs())
    return torch.where(z < 0, e, 1) / (1 + e)


def pairs_of(view: View, p: Tensor, labels: Tensor, weights: Tensor | None) -> Iterator[TensorPairs]:
    """Return the pairs of a notion, as `Predictions.pairs` does."""
    if view.notion == "binary":
        yield TensorPairs(p if p.ndim == 1 else p[:, 1], labels, weights, None)
        return
    n, n_classes = p.shape
    if view.notion in ("confidence", "top_label"):
        column = p.argmax(dim=1)
        top = p.gather(1, column[:, None])[:, 0]
        yield TensorPairs(top, column == labels, weights, column if view.notion == "top_label" else None)
        return
    if view.notion == "classwise":
        columns = torch.arange(n_classes, device=p.device)
        ranked, hits, strata = p, labels[:, None] == columns, n_classes
    else:
        order = torch.sort(p, dim=1, descending=True, stable=True)
        strata = view.r or 1
        ranked, hits = order.values[:, :strata], order.indices[:, :strata] == labels[:, None]
    if view.notion == "rth":
        yield TensorPairs(ranked[:, -1], hits[:, -1], weights, None)
    elif view.notion == "within_top_r":
        together = ranked.sum(dim=1, dtype=torch.float64).clamp(max=1).to(p.dtype)
        yield TensorPairs(together, hits.any(dim=1), weights, None)
    else:
        of_rank = torch.arange(strata, device=p.device).repeat(n)
        stratum = order.indices[:, :strata].reshape(-1) if view.notion == "classwise_top_r" else of_rank
        repeated = None if weights is None else weights.repeat_interleave(strata)
        yield TensorPairs(ranked.reshape(-1), hits.reshape(-1), repeated, stratum)


def _add_pairs(table: Tensor, code: Tensor, pairs: TensorPairs) -> None:
    p, n_entries, moments = pairs.score.double(), len(table) * 2, table.shape[2]
    at = 2 * code + pairs.outcome.long()
    terms = [None, p, p * p]
    if moments > len(terms):  # weights of these or earlier rows
        w = torch.ones_like(p) if pairs.weight is None else pairs.weight
        terms = [None, w, w * p, w * w, w * w * p, w * p * p, w * w * p * p]
    here: Tensor | slice = slice(None)
    if len(at) < n_entries // 8:  # so that the cost depends on the rows of a batch, not on the table
        here, at = at.unique(return_inverse=True)
        n_entries = len(here)
    for i, term in enumerate(terms):
        table.view(-1, moments)[here, i] += torch.bincount(at, term, n_entries)


def _add_sums(tally: Tally, terms: dict[str, Tensor], weight: Tensor) -> None:
    square = weight * weight
    added: dict[str, Tensor] = {
        "n": torch.ones_like(weight).sum(),
        "w": weight.sum(),
        "w2": square.sum(),
        "spread": (weight * terms["spread"]).sum(),
        "spread_variance": (square * terms["spread_variance"]).sum(),
        "w2_squared": (square * terms["brier"]).sum(),
    }
    for name in ROW_TERM_NAMES:
        x = terms[name]
        added[name] = (weight * x).sum()
        if "brier by chance" in terms:
            x = torch.where(x.isinf(), 0, x)
            added[f"w2 {name}"] = (square * x).sum()
            added[f"w2 {name}^2"] = (square * x * x).sum()
    for name in ("brier by chance", "nll by chance"):
        if name in terms:
            added[name] = (square * terms[name]).sum()
    zero = torch.zeros_like(added["n"])
    tally.sums.add_(torch.stack([added.get(name, zero) for name in TALLY_SUM_NAMES]))


def _by_class(p: Tensor, brier: Tensor, labels: Tensor, weight: Tensor, width: int) -> Tensor:
    """Return the sums named in `TALLY_CLASS_SUM_NAMES` from `p` with a column per class; one event omits two."""
    square = weight * weight
    sums = {"wp": (weight[:, None] * p).sum(dim=0), "wpp": (weight[:, None] * p * p).sum(dim=0)}
    if width == 1:
        sums |= {"wy": (weight * labels).sum()[None], "w2y": torch.zeros_like(sums["wp"])}
        sums["w2y_brier"] = sums["w2y"]
    else:
        sums["wy"] = torch.bincount(labels, weight, width)
        sums["w2y"] = torch.bincount(labels, square, width)
        sums["w2y_brier"] = torch.bincount(labels, square * brier, width)
    return torch.stack([sums[name] for name in TALLY_CLASS_SUM_NAMES])


def _binary_terms(p: Tensor, labels: Tensor) -> tuple[dict[str, Tensor], Tensor]:
    """Return the terms of each row, and p as a column."""
    y, q = labels.double(), 1 - p
    log_p, log_q = p.clamp(min=SMALLEST_FLOAT64).log(), torch.log1p(-p).clamp(min=-1e308)
    terms = {
        "brier": (p - y) ** 2,
        "nll": -torch.where(labels != 0, p.log(), torch.log1p(-p)),
        "confidence": torch.maximum(p, q),
        "entropy": -(p * log_p + q * torch.where(q > 0, log_q, 0)),
        "spread": (y - p) * (1 - 2 * p),
        "spread_variance": (1 - 2 * p) ** 2 * p * q,
    }
    return terms, p[:, None]


def _matrix_terms(p: Tensor, labels: Tensor) -> tuple[dict[str, Tensor], Tensor]:
    """Return the terms of each row, as `believable._kernels.matrix` does, and p."""
    own = p.gather(1, labels[:, None])[:, 0]
    log = p.clamp(min=SMALLEST_FLOAT64).log()
    entropy = -(p * log).sum(dim=1)
    log_squares = (p * log * log).sum(dim=1)
    square = p * p
    cubes = (square * p).sum(dim=1)
    # 1 - p of the label would be lost to rounding next to p.
    others = square.scatter(1, labels[:, None], 0).sum(dim=1)
    squares = others + own * own
    terms = {
        "brier": others + (1 - own) ** 2,
        "nll": -own.log(),
        "confidence": p.max(dim=1).values,
        "entropy": entropy,
        "spread": (1 - p.sum(dim=1)) + 2 * (squares - own),
        "spread_variance": (p * (1 - p) * (1 - 2 * p) ** 2).sum(dim=1),
        "brier by chance": (4 * (cubes - squares**2)).clamp(min=0),
        "nll by chance": (log_squares - entropy**2).clamp(min=0),
    }
    return terms, p
