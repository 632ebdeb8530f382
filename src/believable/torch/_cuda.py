"""Kernels in CUDA C++, compiled where they are first used by the compiler that torch brings with it."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Any

import torch

_COMPILE = getattr(torch.cuda, "_compile_kernel", None)  # torch 2.9 and later


@lru_cache(maxsize=1)
def available() -> bool:
    """Whether kernels can be compiled here: tried once, on the smallest."""
    if _COMPILE is None or torch.version.cuda is None:
        return False
    try:
        _COMPILE('extern "C" __global__ void nothing() {}', "nothing")
    except (OSError, RuntimeError):  # the compiler is not where torch looks for it
        return False
    return True


@lru_cache(maxsize=256)
def kernel(name: str, device: int, **macros: Any) -> Any:
    """The function `name` of `cuda/name.cu`, with macros set."""
    folder = resources.files("believable.torch") / "cuda"
    defined = "".join(f"#define {macro} {value}\n" for macro, value in macros.items())
    source = defined + (folder / "common.cuh").read_text() + (folder / f"{name}.cu").read_text()
    with torch.cuda.device(device):
        return _COMPILE(source, name)  # type: ignore[misc]
