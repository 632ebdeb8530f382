"""The counts of a meter as tensors with names, for `state_dict`: nothing is executed to read them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from believable.errors import SchemaError
from believable.stats import Layout
from believable.stats._saved import field_of, open_saved
from believable.torch._counts import Counts

_SCHEMA = "believable.torch.CalibrationMeter"


def saved(counts: Counts, settings: dict[str, Any]) -> dict[str, Tensor]:
    """Copies of the tensors, and the settings as the bytes of JSON: some files hold tensors and nothing else."""
    scores = counts.tally.layout.dtype if counts.typed else ""
    facts = json.dumps({"schema": _SCHEMA, "version": 1, **settings, "scores": scores})
    written = {"settings": torch.tensor(list(facts.encode()), dtype=torch.uint8)}
    return written | {name: tensor.detach().clone() for name, tensor in counts.named().items()}


def loaded(
    tensors: dict[str, Tensor], settings: dict[str, Any], layout_of: Callable[[str], Layout], device: Any
) -> Counts:
    """The counts behind `saved`; those of other settings, or that are damaged, are refused."""
    try:
        facts = json.loads(bytes(tensors["settings"].tolist()))
    except (AttributeError, TypeError, ValueError) as error:
        raise SchemaError(f"the saved meter is damaged: its settings cannot be read ({error})") from error
    open_saved(facts, _SCHEMA, 1)
    differ = [name for name in settings if facts.get(name) != settings[name]]
    if differ:
        raise SchemaError(f"the saved meter was made with other choices of {', '.join(differ)}")
    scores = field_of(facts, "scores", str)
    if scores not in ("", "float32", "float64"):
        raise SchemaError(f"the saved scores must be float32 or float64, got {scores!r}")
    counts = Counts.empty(layout_of(scores or "float64"), device, typed=bool(scores))
    if tensors["tables.0"].shape != counts.tally.tables[0].shape:
        counts = counts.with_weights()
    for name, tensor in counts.named().items():
        found = tensors[name]
        if (found.shape, found.dtype) != (tensor.shape, tensor.dtype):
            raise SchemaError(
                f"the saved {name} must be {tensor.dtype} of shape {tuple(tensor.shape)}, got {found.dtype} of shape "
                f"{tuple(found.shape)}"
            )
        with torch.no_grad():
            tensor.copy_(found)
    return counts
