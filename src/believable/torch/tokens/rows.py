"""Tokens as rows: which target belongs to which logits, what is left out, and checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from believable import _check
from believable._types import Array
from believable.errors import InputError
from believable.torch.counting.rows import FLOAT_TYPES, tensor_of, whole_or_none
from believable.torch.tokens.row_terms import table_names, write_row_terms

NOT_INTEGER_TYPES = (torch.bool, torch.complex32, torch.complex64, torch.complex128)
NO_TARGET = -1  # a label that is no column, whose row is not computed


@dataclass(frozen=True, slots=True)
class TokenRows:
    """Tokens on their device; the logits are not copied.

    Attributes
    ----------
    logits : Tensor of shape (batch, length, vocabulary) or (tokens, vocabulary)
    targets : Tensor of int64, of shape (batch, length) or (tokens,)
        The target of each row of logits.
    weights, positions : Tensor of that shape, or None
    ignore_index : int or None
        The target of tokens to leave out.
    shift : bool
        Whether the targets were shifted by one, so that the last of a sequence has none.
    """

    logits: Tensor
    targets: Tensor
    weights: Tensor | None
    positions: Tensor | None
    ignore_index: int | None
    shift: bool

    @property
    def have_positions(self) -> bool:
        """Whether the position of each token is known: it was given, or is the index along the length."""
        return self.positions is not None or self.targets.ndim == 2


def token_rows(
    logits: Any, targets: Any, sample_weight: Any, positions: Any, *, ignore_index: int | None, shift: bool
) -> TokenRows:
    """Check shapes, types and devices; values are checked later, when everything is read."""
    _check.flag(shift, "shift")
    ignore_index = whole_or_none(ignore_index)
    z, labels = tensor_of(logits, "logits"), _whole_numbers(targets, "targets")
    if z.dtype not in FLOAT_TYPES:
        raise InputError(
            "{argument} must be bfloat16, float16, float32 or float64, got {got}", argument="logits", got=z.dtype
        )
    _check_shapes(tuple(z.shape), tuple(labels.shape), shift)
    _beside(labels, "targets", z)
    weights = where = None
    if sample_weight is not None:
        weights = _beside(tensor_of(sample_weight, "sample_weight"), "sample_weight", z)
        if weights.is_complex():
            raise InputError("{argument} must be real numbers, got {got}", argument="sample_weight", got=weights.dtype)
    if positions is not None:
        where = _beside(_whole_numbers(positions, "positions"), "positions", z)
    if shift:
        # The targets are shifted, not the logits: a slice of those could not be viewed as rows without a copy.
        labels, weights = labels.roll(-1, 1), None if weights is None else weights.roll(-1, 1)
        labels[:, -1:] = NO_TARGET
    return TokenRows(z, labels, weights, where, ignore_index, shift)


def columns_of(rows: TokenRows, r: int) -> tuple[dict[str, Array], int]:
    """Return the NumPy columns to count of the tokens that are left, and how many were ignored.

    There is one transfer, the only point that waits for the device.
    """
    terms, n = table_names(r), rows.targets.numel()
    weights = {} if rows.weights is None else {"weight": rows.weights}
    whole = {"target": rows.targets} | ({} if rows.positions is None else {"position": rows.positions})
    names = [*terms, *weights, *whole]
    table = torch.empty((len(names), n), dtype=torch.float64, device=rows.logits.device)
    _write_terms(table[: len(terms)], rows, r)
    # The rest is queued while the device is busy with the terms. Whole numbers keep all their bits.
    for into, (name, given) in zip(table[len(terms) :], (weights | whole).items(), strict=True):
        (into.view(torch.int64) if name in whole else into).copy_(given.reshape(-1))

    def named(values: Array) -> dict[str, Array]:
        rows_of_table = zip(names, values, strict=True)
        return {name: row.view(np.int64) if name in whole else row for name, row in rows_of_table}

    values = _on_host(table)
    columns = named(values)
    compared, ignored = _compared(columns, rows)
    kept = np.arange(n)
    if not compared.all():
        kept = np.flatnonzero(compared)
        columns = named(values.take(kept, axis=1))
    if rows.positions is None and rows.have_positions:
        columns["position"] = kept % max(1, rows.targets.shape[1])
    _check_values(columns, kept, rows)
    return columns, ignored


def only(columns: dict[str, Array], kept: Array) -> dict[str, Array]:
    """Return some of the rows."""
    return {name: column[kept] for name, column in columns.items()}


def _write_terms(table: Tensor, rows: TokenRows, r: int) -> None:
    """Fill a table with the terms of all rows; by sequence if the logits are a slice that is not one matrix."""
    logits, vocabulary, ignored = rows.logits, rows.logits.shape[-1], rows.ignore_index
    labels = rows.targets if rows.weights is None else torch.where(rows.weights != 0, rows.targets, NO_TARGET)
    if ignored is None or not 0 <= ignored < vocabulary:
        ignored = NO_TARGET  # such labels are left out anyway
    try:
        matrix = logits.view(-1, vocabulary)
    except RuntimeError:
        parts = table.split(logits.shape[1], dim=1)
        for part, sequence, label in zip(parts, logits, labels, strict=True):
            write_row_terms(part, sequence, label.contiguous(), r, ignored)
    else:
        write_row_terms(table, matrix, labels.reshape(-1).contiguous(), r, ignored)


def _on_host(table: Tensor) -> Array:
    """Return a table in memory of the host: pinned memory, if it comes from a GPU, because others are copied twice."""
    values = table.to("cpu", non_blocking=table.is_cuda)
    if table.is_cuda:
        torch.cuda.current_stream(table.device).synchronize()
    return values.numpy()


def _compared(columns: dict[str, Array], rows: TokenRows) -> tuple[Array, int]:
    """Return which rows are counted, and the number of ignored ones."""
    compared = np.ones(rows.targets.shape, bool)
    if rows.shift:
        compared[:, -1:] = False
    compared = compared.reshape(-1)
    ignored = 0
    if rows.ignore_index is not None:
        others = columns["target"] != rows.ignore_index
        ignored = int(np.count_nonzero(compared & ~others))
        compared &= others
    if "weight" in columns:
        compared &= columns["weight"] != 0
    return compared, ignored


# --- checks -----------------------------------------------------------------------------------------------------------


def _whole_numbers(values: Any, name: str) -> Tensor:
    found = tensor_of(values, name)
    if found.is_floating_point() or found.dtype in NOT_INTEGER_TYPES:
        raise InputError(f"{name} must be whole numbers, from 0, got {found.dtype}")
    return found.long()  # unsigned types have no room for ignore_index, and little arithmetic


def _check_shapes(logits: tuple[int, ...], targets: tuple[int, ...], shift: bool) -> None:
    if len(logits) == 3 and len(targets) == 2 and logits[:2] != targets and (logits[0], logits[2]) == targets:
        raise InputError(
            "{argument} of shape {logits} have the vocabulary on axis 1, as torch's cross-entropy takes them; "
            "here it is the last axis, as language models give it: pass logits.transpose(1, 2)",
            argument="logits",
            logits=logits,
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
    """Return the tensor, after checking that it has one entry for each row of logits, on the same device."""
    if values.shape != logits.shape[:-1]:
        raise InputError(
            f"{name} must have the shape of the targets, {tuple(logits.shape[:-1])}, got {tuple(values.shape)}"
        )
    if values.device != logits.device:
        raise InputError(f"logits are on {logits.device}, {name} on {values.device}: move one to the other")
    return values


def _check_values(columns: dict[str, Array], kept: Array, rows: TokenRows) -> None:
    def refuse(bad: Array, shifted: bool, sentence: str, values: Array | None = None) -> None:
        if not bad.any():
            return
        first = int(np.argmax(bad))
        place = [int(i) for i in np.unravel_index(kept[first], tuple(rows.targets.shape))]
        place[-1] += shifted
        what = sentence if values is None else sentence.format(values[first])
        raise InputError(f"{what} at {place}; such tokens: {int(bad.sum()):,} of {len(bad):,}")

    target, vocabulary = columns["target"], rows.logits.shape[-1]
    sentence = f"targets must be from 0 to {vocabulary - 1:,}, or ignore_index for tokens to leave out, got {{}}"
    refuse((target < 0) | (target >= vocabulary), rows.shift, sentence, target)
    sentence = "logits must be numbers, or -inf for tokens that cannot come, got NaN, +inf or -inf throughout"
    refuse(np.isnan(columns["p 0"]), False, sentence)
    if "weight" in columns:
        weight = columns["weight"]
        sentence = "sample_weight must be finite and not negative, got {:g}"
        refuse(~((weight >= 0) & np.isfinite(weight)), rows.shift, sentence, weight)
    if rows.positions is not None:
        refuse(columns["position"] < 0, False, "positions must not be negative, got {}", columns["position"])
