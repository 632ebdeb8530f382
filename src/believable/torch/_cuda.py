"""Kernels in CUDA C++, compiled where they are first used by the compiler that torch brings with it."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Any

import torch

COMPILE = getattr(torch.cuda, "_compile_kernel", None)  # torch 2.9 and later


def available() -> bool:
    """Whether kernels can be compiled here."""
    return COMPILE is not None and torch.version.cuda is not None


@lru_cache(maxsize=128)
def kernel(name: str, device: int, **macros: Any) -> Any:
    """The function `name` of `cuda/name.cu`, with macros set."""
    folder = resources.files("believable.torch") / "cuda"
    defined = "".join(f"#define {macro} {value}\n" for macro, value in macros.items())
    source = defined + (folder / "common.cuh").read_text() + (folder / f"{name}.cu").read_text()
    with torch.cuda.device(device):
        return COMPILE(source, name)  # type: ignore[misc]
