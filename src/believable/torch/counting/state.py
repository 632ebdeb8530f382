"""`MeterState`: the counts of a meter, as tensors that can be moved between devices, saved and added.

A state is a tally and whether the type of its scores is known. States of several meters merge, those of several
processes are added in one message, and `state_dict` holds a state as plain tensors, so that loading executes nothing.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, distributed

from believable.errors import InputError, MergeError, SchemaError
from believable.stats import Layout
from believable.stats.cells import warn_caller
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
    typed : bool
        Whether the type of the scores is fixed to that of the layout; without rows it may still change.
    """

    tally: Tally
    typed: bool = False

    @classmethod
    def empty(cls, layout: Layout, device: Any = None, *, typed: bool = False) -> MeterState:
        """Return an empty state, whose tensors can be added to later even if made in inference mode."""
        with torch.inference_mode(False):
            return cls(Tally.empty(layout, device), typed)

    @property
    def device(self) -> torch.device:
        """The device of the counts."""
        return self.tally.buffer.device

    def holding(self, buffer: Tensor) -> MeterState:
        """Return the state with other numbers."""
        return replace(self, tally=Tally(self.tally.layout, buffer, self.tally.weighted))

    def in_place_of(self, other: MeterState) -> MeterState:
        """Return this state in the tensor of the other, if it fits into that."""
        there = other.tally.buffer
        if (there.shape, there.device) != (self.tally.buffer.shape, self.device) or there.is_meta:
            return self
        with torch.no_grad():
            there.copy_(self.tally.buffer)
        return self.holding(there)

    def to(self, device: Any) -> MeterState:
        """Return the state on another device; meta tensors become zeros."""
        buffer = self.tally.buffer
        with torch.inference_mode(False):
            return self.holding(torch.zeros_like(buffer, device=device) if buffer.is_meta else buffer.to(device))

    def cleared(self) -> MeterState:
        """Return the state without rows; its own numbers are set to 0."""
        self.tally.buffer.zero_()
        return replace(self, typed=False)

    def with_weights(self) -> MeterState:
        """Return the state with room for weights."""
        if self.tally.weighted:
            return self
        with torch.inference_mode(False):
            return replace(self, tally=self.tally.with_weights())

    def of_type(self, layout: Layout) -> MeterState:
        """Return the same counts for scores of this layout's type: both types have the same number of cells."""
        if self.tally.layout is layout:
            return self if self.typed else replace(self, typed=True)
        if self.typed and self.tally.layout != layout:
            was, now = self.tally.layout.dtype, layout.dtype
            raise InputError(
                f"its scores are {now}, those before were {was}, and bins differ between the two; pass "
                f"dtype={was!r} to have every batch converted"
            )
        return MeterState(Tally(layout, self.tally.buffer, self.tally.weighted), typed=True)

    def add(self, rows: Rows, layout: Layout) -> MeterState:
        """Count rows in place, except when room for weights must be added."""
        state = self.of_type(layout)
        if rows.weights is not None:
            state = state.with_weights()
        count(state.tally, rows)
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
        mine = replace(replace(self, typed=False).of_type(layout), typed=self.typed or other.typed)
        if mine.tally.weighted or other.tally.weighted:
            mine, other = mine.with_weights(), other.with_weights()
        with torch.inference_mode(False):
            return mine.holding(mine.tally.buffer + other.tally.buffer.to(self.device))

    @property
    def n(self) -> int:
        """The number of rows counted; on a GPU this waits for pending work."""
        return round(float(self.tally.sums[0]))


def count(tally: Tally, rows: Rows, *, scores_too: bool = True) -> None:
    """Add rows to a tally in place; without sums of proper scores if requested and faster.

    On a CPU an invalid row is an error, and the tally stays as it is; on a GPU invalid rows are counted separately.
    """
    if tally.buffer.is_cuda:
        refuse_if_deterministic()
    if gpu.fits(tally, rows):
        gpu.add_rows(tally, rows, scores_too)
        return
    if not (cpu.fits(tally, rows) and cpu.add_rows(tally, rows)):
        if rows.scores.is_cpu:
            check_rows(rows)
        with torch.no_grad():
            reference.add_rows(tally, rows)
    if rows.ignore_index is not None:
        tally.ignored.add_((rows.labels == rows.ignore_index).sum())


def refuse_if_deterministic() -> None:
    """Raise, or warn, if torch is told to compute the same to the last digit in every run, which a GPU does not."""
    if not torch.are_deterministic_algorithms_enabled():
        return
    sentence = (
        "a GPU adds up rows in no fixed order, so sums can differ in their last digits from run to run, which "
        "torch.use_deterministic_algorithms(True) forbids: count on the CPU, or pass warn_only=True to it"
    )
    if not torch.is_deterministic_algorithms_warn_only_enabled():
        raise RuntimeError(sentence)  # as torch's own operations do
    warn_caller(sentence, UserWarning)


# --- saving -----------------------------------------------------------------------------------------------------------


def to_tensors(state: MeterState, settings: dict[str, Any]) -> dict[str, Tensor]:
    """Return copies of the tensors, and settings as bytes of JSON, because some files hold tensors only."""
    scores = state.tally.layout.dtype if state.typed else ""
    facts = json.dumps({"schema": TORCH_METER_SCHEMA, "version": METER_VERSION, **settings, "scores": scores})
    written = {"settings": torch.tensor(list(facts.encode()), dtype=torch.uint8)}
    return written | {name: _as_saved(name, part).clone() for name, part in state.tally.named().items()}


def _as_saved(name: str, part: Tensor) -> Tensor:
    """Return a part in the type that it is saved in: numbers of rows are whole."""
    return part.detach().to(torch.int64) if name in ("invalid", "ignored") else part.detach()


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
    for name, part in state.tally.named().items():
        found, wanted = tensors[name], _as_saved(name, part)
        if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
            raise SchemaError(
                f"the saved {name} must be {wanted.dtype} of shape {tuple(wanted.shape)}, got {found.dtype} of shape "
                f"{tuple(found.shape)}"
            )
        with torch.no_grad():
            part.copy_(found)
    return state


# --- several processes: check that they count the same, then add all sums in one message ------------------------------


def is_distributed(group: Any = None) -> bool:
    """Return whether there are other processes in the group."""
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size(group) > 1


def summed_over_processes(state: MeterState, group: Any = None) -> MeterState:
    """Return the sum over all processes of the group; the counts of this one do not change.

    Every process of the group must call this. If they count different things, all of them raise.
    """
    if not is_distributed(group):
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
    total = state.tally.buffer.to(device, copy=True)
    distributed.all_reduce(total, distributed.ReduceOp.SUM, group)
    made = replace(state, typed=False).of_type(replace(layout, views=views)).holding(total.to(state.device))
    return replace(made, typed=bool(single or double))
