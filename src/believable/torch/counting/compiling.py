"""Meters under torch.compile: updates as operators that the compiler keeps in its graphs without looking into them.

An operator finds its meter by number and runs the same Python as an update outside of a graph. Besides, it says that it
changes a tensor of one element, `order`, which is how the compiler knows that the call has an effect and must keep its
place; nothing has to be written to it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from inspect import signature
from itertools import count
from typing import Any, ParamSpec, TypeVar
from weakref import WeakValueDictionary

import torch
from torch import Tensor

METERS: WeakValueDictionary[int, Any] = WeakValueDictionary()
NUMBERS = count()
P = ParamSpec("P")
T = TypeVar("T")


def new_number(meter: Any) -> int:
    """Return a number by which operators find a meter for as long as it lives; a copy needs its own."""
    number = next(NUMBERS)
    METERS[number] = meter
    return number


def operator(name: str, schema: str) -> Callable[[Callable[..., None]], Any]:
    """Make a function that returns nothing, and says that it changes `order`, an operator for the compiler."""
    choices: dict[str, Any] = {"mutates_args": ("order",), "schema": schema}
    if "tags" in signature(torch.library.custom_op).parameters and hasattr(torch.Tag, "cudagraph_unsafe"):
        # Python that runs when a CUDA graph is recorded would not run when it is replayed.
        choices["tags"] = (torch.Tag.cudagraph_unsafe,)

    def made(function: Callable[..., None]) -> Any:
        of_torch = torch.library.custom_op(f"believable::{name}", function, **choices)
        of_torch.register_fake(lambda *args: None)
        return of_torch

    return made


@operator(
    "update_meter",
    "(Tensor predictions, Tensor targets, Tensor? sample_weight, Tensor(a!) order, int number) -> ()",
)
def update_meter(
    predictions: Tensor, targets: Tensor, sample_weight: Tensor | None, order: Tensor, number: int
) -> None:
    """Count a batch in the meter of this number."""
    METERS[number].update(predictions, targets, sample_weight)


@operator("reset_meter", "(Tensor(a!) order, int number) -> ()")
def reset_meter(order: Tensor, number: int) -> None:
    """Reset the meter of this number."""
    METERS[number].reset()


def outside_graphs(method: Callable[P, T]) -> Callable[P, T]:
    """Have torch.compile leave a method to Python: it calls NumPy, which the compiler would otherwise trace."""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if "torch._dynamo" not in sys.modules:  # importing it takes a second, and nothing is compiled without it
            return method(*args, **kwargs)
        untraced = getattr(method, "untraced", None)
        if untraced is None:
            untraced = torch.compiler.disable(method)
            method.untraced = untraced  # type: ignore[attr-defined]
        found: T = untraced(*args, **kwargs)
        return found

    return call
