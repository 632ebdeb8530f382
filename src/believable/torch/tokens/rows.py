"""What each row of a wide matrix of logits says, in a few numbers: the reference, in plain torch.

A vocabulary has a hundred thousand columns, so the probabilities of all rows are never there at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from believable import _check
from believable._types import Array
from believable.errors import InputError
from believable.torch.counting import gpu
from believable.torch.counting.rows import FLOATS, tensor_of, whole_or_none

ENTRIES = {"cpu": 1 << 18, "cuda": 1 << 24}  # of a block of rows: some 10 MB of them on a CPU, 300 MB on a GPU
NO_MORE = -800.0  # exp of it is 0 in float64; unlike that of -inf, its product with 0 is a number


class RowTerms(NamedTuple):
    """What each row says; a row that was left out has NaN, False and -1.

    Attributes
    ----------
    confidence : Tensor of float64
        The largest probability.
    hit : Tensor of bool
        Whether it is that of the label.
    nll : Tensor of float64
        -log of the label's probability; infinite where its logit is -inf.
    brier : Tensor of float64
        Sum over columns of (p_k - y_k)^2.
    entropy : Tensor of float64
        -Sum over columns of p_k log p_k, in nats.
    top : Tensor of int64
        The column of the largest logit, the lowest of several.
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
    """Confidence, hit, log loss, Brier score and entropy of each row, by the quickest way that the device has.

    Parameters
    ----------
    logits : Tensor of shape (n, V)
        In bfloat16, float16, float32 or float64. -inf is a probability of 0. A row with NaN or +inf, or of -inf alone,
        has no probabilities: its confidence is NaN, by which the caller knows it.
    labels : Tensor of int64, of shape (n,)
        The columns that happened. A label outside of 0..V-1 leaves its row out: it need not be read.
    r : int
        How many ranks to give, from 1 to V.

    Examples
    --------
    >>> terms = row_terms(torch.tensor([[0.0, 0.0, -torch.inf]]), torch.tensor([1]))
    >>> terms.confidence.item(), terms.hit.item(), terms.brier.item(), round(terms.nll.item(), 4)
    (0.5, False, 0.5, 0.6931)
    """
    quick = gpu.row_terms(logits, labels) if r == 1 else None
    if quick is None:
        return plain_row_terms(logits, labels, r)
    confidence, nll, brier, entropy, top = quick
    return RowTerms(confidence, (top == labels) & ~confidence.isnan(), nll, brier, entropy, top)


def plain_row_terms(logits: Tensor, labels: Tensor, r: int = 1) -> RowTerms:
    """`row_terms` in plain torch, block by block.

    On a CPU in float64. On a GPU, logits of at most 32 bits have their exponentials in float32, summed in float64, and
    rows that are left out are computed and thrown away, because choosing them would wait for the device.
    """
    made = _blank(len(logits), r, logits.device)
    counted = (labels >= 0) & (labels < logits.shape[1])
    on_cpu = logits.device.type == "cpu"
    step = max(1, ENTRIES["cpu" if on_cpu else "cuda"] // logits.shape[1])
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
    """So many rows at a time: all of them in order, or, where some are left out, the others."""
    if counted is None or bool(counted.all()):
        yield from (slice(start, start + step) for start in range(0, n, step))
    else:
        yield from counted.nonzero()[:, 0].split(step)


def _of_block(logits: Tensor, labels: Tensor, r: int) -> RowTerms:
    narrow = logits.device.type != "cpu" and logits.dtype != torch.float64
    z = logits.to(torch.float32 if narrow else torch.float64)
    largest, top = z.max(dim=1)  # the first of the largest
    label = labels[:, None]
    below = z - largest[:, None]
    own = below.gather(1, label)[:, 0].double()
    hit = top == labels

    # The largest has exp(0) = 1, which is kept apart from the rest: beside it a small rest would be rounded away.
    below.clamp_(min=NO_MORE)
    e = below.exp()
    own_e = e.gather(1, label)[:, 0].double()
    e.scatter_(1, top[:, None], 0)
    rest = e.sum(dim=1, dtype=torch.float64)
    moment = below.mul_(e).sum(dim=1, dtype=torch.float64)
    squares = e.mul_(e).sum(dim=1, dtype=torch.float64)

    whole, log_whole = 1 + rest, rest.log1p()
    others = torch.where(hit, squares, 1 + (squares - own_e * own_e)) / (whole * whole)
    short = torch.where(hit, rest, 1 + (rest - own_e)) / whole  # 1 - p of the label
    valid = largest.isfinite()

    def of_valid(values: Tensor) -> Tensor:
        return values.masked_fill(~(valid if values.ndim == 1 else valid[:, None]), torch.nan)

    ranked = columns = None
    if r > 1:
        columns = _ranked_columns(z, r)
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


def _ranked_columns(z: Tensor, r: int) -> Tensor:
    """The columns of the r largest; `topk` would break ties as it likes, and bfloat16 has many."""
    left = z.masked_fill(z == -torch.inf, torch.finfo(z.dtype).min)  # which comes before what was taken
    columns = []
    for _ in range(r):
        columns.append(left.argmax(dim=1))
        left.scatter_(1, columns[-1][:, None], -torch.inf)
    return torch.stack(columns, dim=1)


# --- tokens as rows: which target stands beside which logits, what is left out, and what can be wrong -----------------


OTHERS = (torch.bool, torch.complex32, torch.complex64, torch.complex128)
TERMS = ("confidence", "hit", "nll", "brier", "entropy")


@dataclass(frozen=True, slots=True)
class TokenRows:
    """Tokens on their device; nothing of the size of the logits is copied.

    Attributes
    ----------
    logits : Tensor of shape (batch, length, vocabulary) or (tokens, vocabulary)
    targets, compared, ignored : Tensor of shape (batch, length) or (tokens,)
        The target of each row of logits, whether it is counted, and whether it was `ignore_index`.
    weights, positions : Tensor of that shape, or None
    shift : bool
        Whether the targets were moved by one.
    """

    logits: Tensor
    targets: Tensor
    compared: Tensor
    ignored: Tensor
    weights: Tensor | None
    positions: Tensor | None
    shift: bool


def token_rows(
    logits: Any, targets: Any, sample_weight: Any, positions: Any, *, ignore_index: int | None, shift: bool
) -> TokenRows:
    """Tensors whose shapes, types and devices were checked; values are looked at later, with everything else."""
    _check.choice(shift, (True, False), "shift")
    ignore_index = whole_or_none(ignore_index)
    z, labels = tensor_of(logits, "logits"), _whole_numbers(targets, "targets")
    if z.dtype not in FLOATS:
        raise InputError(f"logits must be bfloat16, float16, float32 or float64, got {z.dtype}")
    _check_shapes(tuple(z.shape), tuple(labels.shape), shift)
    _beside(labels, "targets", z)
    weights = where = None
    if sample_weight is not None:
        weights = _beside(tensor_of(sample_weight, "sample_weight"), "sample_weight", z)
        if weights.is_complex():
            raise InputError(f"sample_weight must be real numbers, got {weights.dtype}")
        weights = weights.double()
    if positions is not None:
        where = _beside(_whole_numbers(positions, "positions"), "positions", z)
    elif labels.ndim == 2:
        where = torch.arange(labels.shape[1], device=z.device).expand(labels.shape)

    compared = torch.ones_like(labels, dtype=torch.bool)
    if shift:
        # The targets move, not the logits: a slice of those could not be seen as rows without copying all of it.
        labels, weights = labels.roll(-1, 1), None if weights is None else weights.roll(-1, 1)
        compared[:, -1:] = False
    ignored = torch.zeros_like(compared) if ignore_index is None else compared & (labels == ignore_index)
    compared = compared & ~ignored if weights is None else compared & ~ignored & (weights != 0)
    return TokenRows(z, labels, compared, ignored, weights, where, shift)


def columns_of(rows: TokenRows, r: int) -> tuple[dict[str, Array], int]:
    """What is counted of the tokens that are left, as NumPy columns, and how many were ignored.

    There is one transfer, and it is the only time that the device is waited for.
    """
    vocabulary, targets = rows.logits.shape[-1], rows.targets.reshape(-1)
    possible = (rows.targets >= 0) & (rows.targets < vocabulary)
    terms = _terms(rows.logits, torch.where(rows.compared & possible, rows.targets, -1).long(), r)
    found: dict[str, Tensor] = {name: getattr(terms, name) for name in TERMS}
    found |= {"target": targets, "compared": rows.compared, "ignored": rows.ignored, "possible": possible}
    found |= {} if rows.weights is None else {"weight": rows.weights}
    found |= {} if rows.positions is None else {"position": rows.positions}
    if terms.ranked is not None and terms.ranked_columns is not None:
        hits = terms.ranked_columns == targets[:, None]
        found |= {f"p {i}": terms.ranked[:, i] for i in range(r)} | {f"hit {i}": hits[:, i] for i in range(r)}
    together = torch.stack([column.reshape(-1).double() for column in found.values()]).cpu().numpy()
    columns = dict(zip(found, together, strict=True))

    compared, ignored = columns.pop("compared") != 0, int(columns.pop("ignored").sum())
    _check_values(columns, compared, rows)
    return columns if compared.all() else only(columns, compared), ignored


def only(columns: dict[str, Array], kept: Array) -> dict[str, Array]:
    """Some of the rows."""
    return {name: column[kept] for name, column in columns.items()}


def _terms(logits: Tensor, labels: Tensor, r: int) -> RowTerms:
    """Of all rows; sequence by sequence where the logits are a slice that cannot be seen as one matrix."""
    try:
        matrix = logits.view(-1, logits.shape[-1])
    except RuntimeError:
        matrix = None
    if matrix is not None:
        return row_terms(matrix, labels.reshape(-1), r)
    parts = [row_terms(*sequence, r) for sequence in zip(logits, labels, strict=True)]
    return RowTerms(*(None if one[0] is None else torch.cat(one) for one in zip(*parts, strict=True)))


# --- what can be wrong ------------------------------------------------------------------------------------------------


def _whole_numbers(values: Any, name: str) -> Tensor:
    found = tensor_of(values, name)
    if found.is_floating_point() or found.dtype in OTHERS:
        raise InputError(f"{name} must be whole numbers, from 0, got {found.dtype}")
    return found.long()  # unsigned types know no ignore_index, and little arithmetic


def _check_shapes(logits: tuple[int, ...], targets: tuple[int, ...], shift: bool) -> None:
    if len(logits) == 3 and len(targets) == 2 and logits[:2] != targets and (logits[0], logits[2]) == targets:
        raise InputError(
            f"logits of shape {logits} have the vocabulary on axis 1, as torch's cross-entropy takes them; here it is "
            "the last axis, as language models give it: pass logits.transpose(1, 2)"
        )
    if len(logits) not in (2, 3) or logits[:-1] != targets:
        raise InputError(
            f"logits of shape {logits} and targets of shape {targets} do not belong together: (batch, length, "
            "vocabulary) with (batch, length), or (tokens, vocabulary) with (tokens,)"
            + ("; with shift=True both are passed as they are" if shift else "")
        )
    if logits[-1] < 2:
        raise InputError(f"a vocabulary must have at least two tokens, logits of shape {logits} have {logits[-1]}")
    if shift and len(logits) == 2:
        raise InputError(
            "shift=True needs to know where sequences begin: pass logits of shape (batch, length, vocabulary), "
            "logits[None] and targets[None] for one sequence"
        )


def _beside(values: Tensor, name: str, logits: Tensor) -> Tensor:
    """The tensor, if it has one entry for each row of logits, on the same device."""
    if values.shape != logits.shape[:-1]:
        raise InputError(
            f"{name} must have the shape of the targets, {tuple(logits.shape[:-1])}, got {tuple(values.shape)}"
        )
    if values.device != logits.device:
        raise InputError(f"logits are on {logits.device}, {name} on {values.device}: move one to the other")
    return values


def _check_values(columns: dict[str, Array], compared: Array, rows: TokenRows) -> None:
    def refuse(bad: Array, shifted: bool, sentence: str, values: Array | None = None) -> None:
        bad = bad & compared
        if not bad.any():
            return
        first = int(np.argmax(bad))
        place = [int(i) for i in np.unravel_index(first, tuple(rows.targets.shape))]
        place[-1] += shifted
        what = sentence if values is None else sentence.format(values[first])
        raise InputError(f"{what} at {place}; such tokens: {int(bad.sum()):,} of {int(compared.sum()):,}")

    target, confidence = columns["target"], columns["confidence"]
    last = rows.logits.shape[-1] - 1
    sentence = f"targets must be from 0 to {last:,}, or ignore_index for tokens to leave out, got {{:.0f}}"
    refuse(columns.pop("possible") == 0, rows.shift, sentence, target)
    sentence = "logits must be numbers, or -inf for tokens that cannot come, got NaN, +inf or -inf throughout"
    refuse(np.isnan(confidence), False, sentence)
    if "weight" in columns:
        weight = columns["weight"]
        sentence = "sample_weight must be finite and not negative, got {:g}"
        refuse(~((weight >= 0) & np.isfinite(weight)), rows.shift, sentence, weight)
    if "position" in columns:
        refuse(columns["position"] < 0, False, "positions must not be negative, got {:.0f}", columns["position"])
