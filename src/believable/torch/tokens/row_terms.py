"""`row_terms`: confidence, losses, entropy and ranks of each row of a wide matrix of logits.

A vocabulary has a hundred thousand columns, so the probabilities of all rows are never in memory at once. Plain torch
works on blocks of rows; on a GPU with Triton, `triton_row_terms` reads every row once.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

VOCABULARY_BLOCK_ENTRIES = {"cpu": 1 << 18, "cuda": 1 << 24}  # about 10 MB on a CPU, 300 MB on a GPU
LOWEST_STEP = -800.0  # exp of it is 0 in float64; unlike that of -inf, its product with 0 is a number


class RowTerms(NamedTuple):
    """The numbers of each row; a row that was left out has NaN, False and -1.

    Attributes
    ----------
    confidence : Tensor of float64
        The largest probability.
    hit : Tensor of bool
        Whether the label has the largest probability.
    nll : Tensor of float64
        -log of the label's probability; infinite where its logit is -inf.
    brier : Tensor of float64
        Sum over columns of (p_k - y_k)^2.
    entropy : Tensor of float64
        -Sum over columns of p_k log p_k, in nats.
    top : Tensor of int64
        The column of the largest logit; the lowest in ties.
    ranked, ranked_columns : Tensor or None
        For r > 1: the r largest probabilities of shape (n, r), descending, and their columns; ties to the lowest.
    """

    confidence: Tensor
    hit: Tensor
    nll: Tensor
    brier: Tensor
    entropy: Tensor
    top: Tensor
    ranked: Tensor | None = None
    ranked_columns: Tensor | None = None


def row_terms(logits: Tensor, labels: Tensor, r: int = 1) -> RowTerms:
    """Return confidence, hit, log loss, Brier score and entropy of each row, by the fastest way on the device.

    Parameters
    ----------
    logits : Tensor of shape (n, V)
        Logits in bfloat16, float16, float32 or float64. -inf is a probability of 0. A row with NaN or +inf, or of -inf
        alone, has no probabilities: its confidence is NaN.
    labels : Tensor of int64, of shape (n,)
        The observed columns. A row with a label outside 0..V-1 is left out.
    r : int
        The number of ranks to return, from 1 to V.

    Examples
    --------
    >>> terms = row_terms(torch.tensor([[0.0, 0.0, -torch.inf]]), torch.tensor([1]))
    >>> terms.confidence.item(), terms.hit.item(), terms.brier.item(), round(terms.nll.item(), 4)
    (0.5, False, 0.5, 0.6931)
    """
    if _compiled_for(logits) is None:
        return plain_row_terms(logits, labels, r)
    table = torch.empty((3 + 2 * r, len(logits)), dtype=torch.float64, device=logits.device)
    write_row_terms(table, logits, labels.contiguous(), r)
    nll, brier, entropy, confidence = table[:4]
    top = table[3 + r].long()
    ranks = (table[3 : 3 + r].T, table[3 + r :].T.long()) if r > 1 else (None, None)
    return RowTerms(confidence, (top == labels) & (top >= 0), nll, brier, entropy, top, *ranks)


def table_names(r: int) -> list[str]:
    """Return the names of the rows of a table that `write_row_terms` fills: "p 0" is the confidence.

    Examples
    --------
    >>> table_names(2)
    ['nll', 'brier', 'entropy', 'p 0', 'p 1', 'column 0', 'column 1']
    """
    return ["nll", "brier", "entropy", *(f"p {i}" for i in range(r)), *(f"column {i}" for i in range(r))]


def write_row_terms(table: Tensor, logits: Tensor, labels: Tensor, r: int, ignored: int = -1) -> None:
    """Fill a table of float64, of shape (3 + 2r, n), with the terms of each row, without waiting for the device.

    Parameters
    ----------
    table : Tensor
        Its rows are those of `table_names`. A column that was left out has NaN and -1.
    logits, labels, r
        As for `row_terms`; labels are contiguous.
    ignored : int
        A label of rows to leave out, besides those that are not columns.
    """
    compiled = _compiled_for(logits)
    if compiled is not None:
        compiled.write_row_terms(table, logits, labels, r, ignored)
        return
    if ignored >= 0:
        labels = labels.masked_fill(labels == ignored, -1)
    terms = plain_row_terms(logits, labels, r)
    table[0], table[1], table[2] = terms.nll, terms.brier, terms.entropy
    table[3 : 3 + r] = terms.confidence if terms.ranked is None else terms.ranked.T
    table[3 + r :] = terms.top if terms.ranked_columns is None else terms.ranked_columns.T


def plain_row_terms(logits: Tensor, labels: Tensor, r: int = 1) -> RowTerms:
    """`row_terms` in plain torch, block by block.

    On a CPU everything is in float64. On a GPU, exponentials of logits of at most 32 bits are in float32 and summed in
    float64, and rows left out are computed and discarded, because selecting rows would wait for the device.
    """
    made = _blank(len(logits), r, logits.device)
    counted = (labels >= 0) & (labels < logits.shape[1])
    on_cpu = logits.device.type == "cpu"
    step = max(1, VOCABULARY_BLOCK_ENTRIES["cpu" if on_cpu else "cuda"] // logits.shape[1])
    for rows in _blocks(len(logits), step, counted if on_cpu else None):
        label = labels[rows].long().clamp(0, logits.shape[1] - 1)
        for column, values in zip(made, _of_block(logits[rows], label, r), strict=True):
            if column is None or values is None:
                continue
            keep = counted[rows] if values.ndim == 1 else counted[rows][:, None]
            column[rows] = torch.where(keep, values, column[rows])
    return made


def _blank(n: int, r: int, device: torch.device) -> RowTerms:
    def nan(*shape: int) -> Tensor:
        return torch.full(shape, torch.nan, dtype=torch.float64, device=device)

    def no_column(*shape: int) -> Tensor:
        return torch.full(shape, -1, dtype=torch.int64, device=device)

    hit = torch.zeros(n, dtype=torch.bool, device=device)
    ranks = (nan(n, r), no_column(n, r)) if r > 1 else (None, None)
    return RowTerms(nan(n), hit, nan(n), nan(n), nan(n), no_column(n), *ranks)


def _blocks(n: int, step: int, counted: Tensor | None) -> Iterator[slice | Tensor]:
    """Yield blocks of the rows that are not left out, in order."""
    if counted is None or bool(counted.all()):
        yield from (slice(start, start + step) for start in range(0, n, step))
    else:
        yield from counted.nonzero()[:, 0].split(step)


def _of_block(logits: Tensor, labels: Tensor, r: int) -> RowTerms:
    narrow = logits.device.type != "cpu" and logits.dtype != torch.float64
    z = logits.to(torch.float32 if narrow else torch.float64)
    largest, top = z.max(dim=1)  # the first of equal largest ones
    label = labels[:, None]
    below = z - largest[:, None]
    own = below.gather(1, label)[:, 0].double()
    hit = top == labels

    # The largest has exp(0) = 1. It is kept apart from the rest, which rounding would otherwise swallow.
    below.clamp_(min=LOWEST_STEP)
    e = below.exp()
    own_e = e.gather(1, label)[:, 0].double()
    e.scatter_(1, top[:, None], 0)
    rest = e.sum(dim=1, dtype=torch.float64)
    moment = below.mul_(e).sum(dim=1, dtype=torch.float64)
    squares = e.mul_(e).sum(dim=1, dtype=torch.float64)

    whole, log_whole = 1 + rest, rest.log1p()
    others = torch.where(hit, squares, 1 + (squares - own_e * own_e)) / (whole * whole)
    short = torch.where(hit, rest, 1 + (rest - own_e)) / whole  # this is 1 - p of the label
    valid = largest.isfinite()

    def of_valid(values: Tensor) -> Tensor:
        return values.masked_fill(~(valid if values.ndim == 1 else valid[:, None]), torch.nan)

    ranked = columns = None
    if r > 1:
        columns = _ranked_columns(z, top, r)
        ranked = of_valid((z.gather(1, columns) - largest[:, None]).exp().double() / whole[:, None])
    return RowTerms(
        of_valid(1 / whole),
        hit & valid,
        of_valid(log_whole - own),
        of_valid(others + short * short),
        of_valid(log_whole - moment / whole),
        top,
        ranked,
        columns,
    )


def _ranked_columns(z: Tensor, top: Tensor, r: int) -> Tensor:
    """Return the columns of the r largest, after the top; `topk` breaks ties arbitrarily, and bfloat16 has many."""
    # Columns already taken become -inf, so a logit of -inf must rank above them.
    left = z.clamp(min=torch.finfo(z.dtype).min)
    columns = [top]
    while len(columns) < r:
        left.scatter_(1, columns[-1][:, None], -torch.inf)
        columns.append(left.argmax(dim=1))
    return torch.stack(columns, dim=1)


def _compiled_for(logits: Tensor) -> Any:
    """Return the module with the compiled pass, if it can read these logits."""
    compiled = _triton() if logits.is_cuda else None
    return compiled if compiled is not None and compiled.suits(logits) else None


@lru_cache(maxsize=1)
def _triton() -> Any:
    """Return the compiled pass, if Triton is installed."""
    try:
        from believable.torch.tokens import triton_row_terms
    except ImportError:
        return None
    return triton_row_terms
