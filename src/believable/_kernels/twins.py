"""The choice between kernels in C, if they were built, and those in NumPy.

The environment variable BELIEVABLE_KERNELS decides: "compiled", "numpy", or "auto", which uses compiled kernels if they
are available. Every compiled kernel has a twin in NumPy with the same signature, and tests compare the two.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeVar

if TYPE_CHECKING:
    from believable._kernels.compiled import _c

    c = _c

Function = TypeVar("Function", bound=Callable[..., Any])

VARIABLE = "BELIEVABLE_KERNELS"
TWINS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {}  # by name: in NumPy, and compiled


def _load(wanted: str) -> Any:
    """Return the compiled module, or None."""
    if wanted not in ("auto", "compiled", "numpy"):
        raise ImportError(f"{VARIABLE} must be compiled, numpy or auto, got {wanted!r}")
    if wanted == "numpy":
        return None
    try:
        return import_module("believable._kernels.compiled._c")
    except ImportError as error:
        if wanted == "auto":
            return None
        raise ImportError(
            f"{VARIABLE}=compiled, but the compiled kernels were not built ({error}): install a C compiler and "
            "believable again, or unset the variable"
        ) from error


if not TYPE_CHECKING:
    c = _load(os.environ.get(VARIABLE) or "auto")

backend: Literal["compiled", "numpy"] = "numpy" if c is None else "compiled"


def twin(compiled: Function) -> Callable[[Function], Function]:
    """Replace the NumPy kernel below by its compiled twin, if compiled kernels are in use."""

    def choose(reference: Function) -> Function:
        TWINS[reference.__name__] = (reference, compiled)
        compiled.__doc__ = reference.__doc__
        return reference if backend == "numpy" else compiled

    return choose
