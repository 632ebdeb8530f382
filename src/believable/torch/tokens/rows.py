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
from believable.torch.tokens.row_terms import RowTerms, row_terms

NOT_INTEGER_TYPES = (torch.bool, torch.complex32, torch.complex64, torch.complex128)
SUMMED_TERMS = ("confidence", "hit", "nll", "brier", "entropy")


@dataclass(frozen=True, slots=True)
class TokenRows:
    """Tokens on their device; the logits are not copied.

    Attributes
    ----------
    logits : Tensor of shape (batch, length, vocabulary) or (tokens, vocabulary)
    targets, compared, ignored : Tensor of shape (batch, length) or (tokens,)
        The target of each row of logits, whether it is counted, and whether it is `ignore_index`.
    weights, positions : Tensor of that shape, or None
    shift : bool
        Whether the targets were shifted by one.
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
    """Check shapes, types and devices; values are checked later, when everything is read."""
    _check.choice(shift, (True, False), "shift")
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
        weights = weights.double()
    if positions is not None:
        where = _beside(_whole_numbers(positions, "positions"), "positions", z)
    elif labels.ndim == 2:
        where = torch.arange(labels.shape[1], device=z.device).expand(labels.shape)

    compared = torch.ones_like(labels, dtype=torch.bool)
    if shift:
        # The targets are shifted, not the logits: a slice of those could not be viewed as rows without a copy.
        labels, weights = labels.roll(-1, 1), None if weights is None else weights.roll(-1, 1)
        compared[:, -1:] = False
    ignored = torch.zeros_like(compared) if ignore_index is None else compared & (labels == ignore_index)
    compared = compared & ~ignored if weights is None else compared & ~ignored & (weights != 0)
    return TokenRows(z, labels, compared, ignored, weights, where, shift)


def columns_of(rows: TokenRows, r: int) -> tuple[dict[str, Array], int]:
    """Return the NumPy columns to count of the tokens that are left, and how many were ignored.

    There is one transfer, the only point that waits for the device.
    """
    vocabulary, targets = rows.logits.shape[-1], rows.targets.reshape(-1)
    possible = (rows.targets >= 0) & (rows.targets < vocabulary)
    terms = _terms(rows.logits, torch.where(rows.compared & possible, rows.targets, -1).long(), r)
    found: dict[str, Tensor] = {name: getattr(terms, name) for name in SUMMED_TERMS}
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
    """Return some of the rows."""
    return {name: column[kept] for name, column in columns.items()}


def _terms(logits: Tensor, labels: Tensor, r: int) -> RowTerms:
    """Return the terms of all rows; by sequence if the logits are a slice that is not one matrix."""
    try:
        matrix = logits.view(-1, logits.shape[-1])
    except RuntimeError:
        matrix = None
    if matrix is not None:
        return row_terms(matrix, labels.reshape(-1), r)
    parts = [row_terms(*sequence, r) for sequence in zip(logits, labels, strict=True)]
    return RowTerms(*(None if one[0] is None else torch.cat(one) for one in zip(*parts, strict=True)))


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
