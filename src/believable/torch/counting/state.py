"""`MeterState`: the counts of a meter, as tensors that can be moved between devices, saved and added.

A state is a tally and the number of ignored rows. States of several meters merge, those of several processes are added
in one message, and `state_dict` holds a state as plain tensors, so that loading executes nothing.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, distributed

from believable.errors import InputError, MergeError, SchemaError, UndefinedError
from believable.stats import Layout, Summary
from believable.stats.saved import field_of, open_saved
from believable.torch.counting import cpu, gpu, reference
from believable.torch.counting.rows import Rows, check_rows
from believable.torch.counting.tally import Tally

TORCH_METER_SCHEMA = "believable.torch.CalibrationMeter"
METER_VERSION = 1


@dataclass(frozen=True, slots=True)
class MeterState:
    """The counts of a meter.

    Attributes
    ----------
    tally : Tally
    ignored : Tensor of int64
        The number of rows left out because of their label.
    typed : bool
        Whether the type of the scores is fixed to that of the layout; without rows it may still change.
    """

    tally: Tally
    ignored: Tensor
    typed: bool = False

    @classmethod
    def empty(cls, layout: Layout, device: Any = None, *, typed: bool = False) -> MeterState:
        """Return an empty state, whose tensors can be added to later even if made in inference mode."""
        with torch.inference_mode(False):
            return cls(Tally.empty(layout, device), torch.zeros((), dtype=torch.int64, device=device), typed)

    @property
    def device(self) -> Any:
        """The device of the tensors."""
        return self.tally.sums.device

    def named(self) -> dict[str, Tensor]:
        """Return the tensors by name."""
        tally = self.tally
        tables = {f"tables.{i}": table for i, table in enumerate(tally.tables)}
        return tables | {
            "sums": tally.sums,
            "by_class": tally.by_class,
            "invalid": tally.invalid,
            "ignored": self.ignored,
        }

    def holding(self, tensors: list[Tensor]) -> MeterState:
        """Return the state with other tensors, in the order of `named`."""
        *tables, sums, by_class, invalid, ignored = tensors
        return MeterState(Tally(self.tally.layout, tables, sums, by_class, invalid), ignored, self.typed)

    def to(self, device: Any) -> MeterState:
        """Return the state on another device; meta tensors become zeros."""
        with torch.inference_mode(False):
            return self.holding(
                [torch.zeros_like(t, device=device) if t.is_meta else t.to(device) for t in self.named().values()]
            )

    def with_weights(self) -> MeterState:
        """Return the state with room for weights."""
        with torch.inference_mode(False):
            return replace(self, tally=self.tally.with_weights())

    def of_type(self, layout: Layout) -> MeterState:
        """Return the same tensors for scores of this layout's type: both types have the same number of cells."""
        if self.typed and self.tally.layout != layout:
            was, now = self.tally.layout.dtype, layout.dtype
            raise InputError(
                f"its scores are {now}, those before were {was}, and bins differ between the two; pass "
                f"dtype={was!r} to have every batch converted"
            )
        tally = self.tally
        return MeterState(Tally(layout, tally.tables, tally.sums, tally.by_class, tally.invalid), self.ignored, True)

    def add(self, rows: Rows, layout: Layout) -> MeterState:
        """Count rows in place, except when room for weights must be added."""
        state = self.of_type(layout)
        if rows.weights is not None:
            state = state.with_weights()
        with torch.no_grad():
            count(state.tally, rows)
            if rows.ignore_index is not None:
                state.ignored.add_((rows.labels == rows.ignore_index).sum())
        return state

    def merged(self, other: MeterState) -> MeterState:
        """Return the sum of both states; neither is changed."""
        if not other.typed:
            layout = self.tally.layout
        elif self.typed and self.tally.layout != other.tally.layout:
            was, now = self.tally.layout.dtype, other.tally.layout.dtype
            raise MergeError(
                f"cannot merge meters of {was} and {now} scores, because bins differ between the two: make both with "
                "the same dtype="
            )
        else:
            layout = other.tally.layout
        mine = replace(self, typed=False).of_type(layout)
        mine = replace(mine, typed=self.typed or other.typed)
        if mine.tally.weighted or other.tally.weighted:
            mine, other = mine.with_weights(), other.with_weights()
        with torch.inference_mode(False):
            pairs = zip(mine.named().values(), other.named().values(), strict=True)
            return mine.holding([here + there.to(here.device) for here, there in pairs])

    @property
    def n(self) -> int:
        """The number of rows counted; on a GPU this waits for pending work."""
        return round(float(self.tally.sums[0]))

    def summary(self) -> Summary:
        """Return the statistic of the NumPy functions."""
        self.tally.raise_if_invalid()
        ignored = int(self.ignored)
        if not self.n:
            raise UndefinedError("no rows have been counted yet")
        return replace(self.tally.summary(), dropped={"ignored label": ignored} if ignored else {})


def count(tally: Tally, rows: Rows, *, scores_too: bool = True) -> None:
    """Add rows to a tally in place; without sums of proper scores if requested and faster.

    On a CPU an invalid row is an error, and the tally stays as it is; on a GPU invalid rows are counted separately.
    """
    if gpu.fits(tally, rows):
        gpu.add_rows(tally, rows, scores_too)
    elif not (cpu.fits(tally, rows) and cpu.add_rows(tally, rows)):
        if rows.scores.device.type == "cpu":
            check_rows(rows)
        reference.add_rows(tally, rows)


# --- saving -----------------------------------------------------------------------------------------------------------


def to_tensors(state: MeterState, settings: dict[str, Any]) -> dict[str, Tensor]:
    """Return copies of the tensors, and settings as bytes of JSON, because some files hold tensors only."""
    scores = state.tally.layout.dtype if state.typed else ""
    facts = json.dumps({"schema": TORCH_METER_SCHEMA, "version": METER_VERSION, **settings, "scores": scores})
    written = {"settings": torch.tensor(list(facts.encode()), dtype=torch.uint8)}
    return written | {name: tensor.detach().clone() for name, tensor in state.named().items()}


def from_tensors(
    tensors: dict[str, Tensor], settings: dict[str, Any], layouts: Mapping[str, Layout], device: Any
) -> MeterState:
    """Return the state saved by `to_tensors`; damaged states and those of other settings are refused."""
    try:
        facts = json.loads(bytes(tensors["settings"].tolist()))
    except (AttributeError, TypeError, ValueError) as error:
        raise SchemaError(f"the saved meter is damaged: its settings cannot be read ({error})") from error
    open_saved(facts, TORCH_METER_SCHEMA, METER_VERSION)
    differ = [name for name in settings if facts.get(name) != settings[name]]
    if differ:
        raise SchemaError(f"the saved meter was made with other settings of {', '.join(differ)}")
    scores = field_of(facts, "scores", str)
    if scores not in ("", "float32", "float64"):
        raise SchemaError(f"the saved scores must be float32 or float64, got {scores!r}")
    state = MeterState.empty(layouts[scores or "float64"], device, typed=bool(scores))
    if tensors["tables.0"].shape != state.tally.tables[0].shape:
        state = state.with_weights()
    for name, tensor in state.named().items():
        found = tensors[name]
        if (found.shape, found.dtype) != (tensor.shape, tensor.dtype):
            raise SchemaError(
                f"the saved {name} must be {tensor.dtype} of shape {tuple(tensor.shape)}, got {found.dtype} of shape "
                f"{tuple(found.shape)}"
            )
        with torch.no_grad():
            tensor.copy_(found)
    return state


# --- several processes: check that they count the same, then add all sums in one message ------------------------------


def summed_over_processes(state: MeterState, group: Any = None) -> MeterState:
    """Return the sum over all processes of the group; the counts of this one do not change.

    Every process of the group must call this. If they count different things, all of them raise.
    """
    if not distributed.is_available() or not distributed.is_initialized() or distributed.get_world_size(group) < 2:
        return state
    device = state.device
    if device.type == "cpu" and distributed.get_backend(group) == "nccl":
        device = torch.device("cuda", torch.cuda.current_device())
    layout, kinds = state.tally.layout, ("float32", "float64")
    has_type = [state.typed and layout.dtype == kind for kind in kinds]
    code = zlib.crc32(repr([(view, grid.n_cells, grid.spacing) for view, grid in layout.views]).encode())
    facts = torch.tensor([state.tally.weighted, *has_type, code, -code], dtype=torch.float64, device=device)
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
        state = state.with_weights()
    kind = "float32" if single else "float64"
    views = tuple((view, replace(grid, dtype=kind)) for view, grid in layout.views)
    tensors = list(state.named().values())
    total = torch.cat([tensor.to(device, torch.float64).reshape(-1) for tensor in tensors])
    distributed.all_reduce(total, distributed.ReduceOp.SUM, group)
    parts = total.split([tensor.numel() for tensor in tensors])
    added = [part.view(t.shape).to(t.device, t.dtype) for part, t in zip(parts, tensors, strict=True)]
    made = replace(state, typed=False).of_type(replace(layout, views=views)).holding(added)
    return replace(made, typed=bool(single or double))
