"""Counts of all processes, added up: a few numbers to agree on what is counted, then all sums in one message."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

import torch
from torch import distributed

from believable.errors import InputError, MergeError
from believable.torch._counts import Counts


def summed(counts: Counts, group: Any = None) -> Counts:
    """What all processes of the group have counted; the counts of this one stay as they are.

    Every process of the group must call this. Where they disagree about what is counted, all of them raise.
    """
    if not distributed.is_available() or not distributed.is_initialized() or distributed.get_world_size(group) < 2:
        return counts
    device = counts.device
    if device.type == "cpu" and distributed.get_backend(group) == "nccl":
        device = torch.device("cuda", torch.cuda.current_device())
    layout, kinds = counts.tally.layout, ("float32", "float64")
    has_type = [counts.typed and layout.dtype == kind for kind in kinds]
    code = zlib.crc32(repr([(view, grid.n_cells, grid.spacing) for view, grid in layout.views]).encode())
    facts = torch.tensor([counts.tally.weighted, *has_type, code, -code], dtype=torch.float64, device=device)
    distributed.all_reduce(facts, distributed.ReduceOp.MAX, group)
    weighted, single, double, most, least = facts.tolist()
    if most != -least:
        raise MergeError("the processes count different things: make their meters with the same arguments")
    if single and double:
        raise InputError(
            "the scores of some processes are float32, those of others float64, and bins differ between the two; pass "
            "dtype= to have every batch converted"
        )
    if weighted:
        counts = counts.with_weights()
    kind = "float32" if single else "float64"
    views = tuple((view, replace(grid, dtype=kind)) for view, grid in layout.views)
    tensors = list(counts.named().values())
    total = torch.cat([tensor.to(device, torch.float64).reshape(-1) for tensor in tensors])
    distributed.all_reduce(total, distributed.ReduceOp.SUM, group)
    parts = total.split([tensor.numel() for tensor in tensors])
    added = [part.view(t.shape).to(t.device, t.dtype) for part, t in zip(parts, tensors, strict=True)]
    made = replace(counts, typed=False).of_type(replace(layout, views=views)).holding(added)
    return replace(made, typed=bool(single or double))
