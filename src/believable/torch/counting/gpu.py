"""One pass over rows on a GPU: choose a kernel of `believable/torch/cuda` and launch it.

The kernels are CUDA C++, because each thread needs its own cells in shared memory. They are compiled on first use, by
the compiler that comes with torch. They count what `counting.reference` counts in plain torch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np
import torch
from torch import Tensor

from believable import _kernels
from believable._check import BFLOAT16_TOLERANCE, ROW_SUM_TOLERANCE
from believable.binning import Grid
from believable.torch.counting.rows import Rows
from believable.torch.counting.tally import Tally, views_of

_COMPILE = getattr(torch.cuda, "_compile_kernel", None)  # torch 2.9 and later

SCORE_CODES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}
LABEL_TYPES = {
    torch.bool: "unsigned char",
    torch.uint8: "unsigned char",
    torch.int8: "signed char",
    torch.int32: "int",
    torch.int64: "long long",
}
MAX_CELLS_IN_SHARED_MEMORY = 32
MAX_CLASSES_PER_THREAD = 32  # as many as the registers hold
MAX_CLASSES_PER_WARP = 1024  # 32 in each thread
MAX_CLASSES_PER_BLOCK = 8192
SHARED_BYTES_PER_BLOCK = (48 << 10) - 512  # what every block may have
SHARED_BYTES_PER_MULTIPROCESSOR = 227 << 10  # what all its blocks share, plus 1,024 for each block
CLASSWISE_TABLE_COPIES = 64  # copies of a small table, so that blocks rarely wait for each other


@dataclass(frozen=True, slots=True)
class KernelPass:
    """Rows to add to a tally.

    Attributes
    ----------
    tally : Tally
    rows : Rows
    scores, labels : Tensor
        The scores and labels of the rows, laid out as a kernel reads them.
    by_rows : bool
        Whether the classes of a row are contiguous in memory; those of a pixel are not.
    scores_too : bool
        Whether to sum proper scores too, or fill the tables alone.
    """

    tally: Tally
    rows: Rows
    scores: Tensor
    labels: Tensor
    by_rows: bool
    scores_too: bool

    @property
    def ignored(self) -> float:
        """The label to leave out, as a number for kernels; -1, which is not a class, if there is none."""
        return -1.0 if self.rows.ignore_index is None else float(self.rows.ignore_index)

    def macros(self) -> dict[str, Any]:
        """The macros that every kernel is compiled with."""
        aligned = self.scores.data_ptr() % 16 == 0 and self.labels.data_ptr() % 16 == 0
        return {
            "SCORE": SCORE_CODES[self.scores.dtype],
            "LABEL": LABEL_TYPES[self.labels.dtype],
            "LOGITS": int(self.rows.from_logits),
            "IGNORE": int(self.rows.ignore_index is not None),
            "VECTOR": int(aligned),
            "SCORES": int(self.scores_too),
        }


def fits(tally: Tally, rows: Rows) -> bool:
    """Return whether a kernel can count these rows on this machine; otherwise plain torch does."""
    return rows.scores.is_cuda and has_kernel(tally, rows) and available()


def has_kernel(tally: Tally, rows: Rows) -> bool:
    """Return whether there is a kernel for these rows and this layout."""
    plain = rows.weights is None and not tally.weighted
    known_types = rows.scores.dtype in SCORE_CODES and rows.labels.dtype in LABEL_TYPES
    if not (plain and known_types and len(rows) and tally.layout.dtype == rows.dtype):
        return False
    views = views_of(tally.layout)
    if rows.kind == "binary":
        (_, grids), *others = views
        spacings = [grid.spacing for grid in grids]
        return not others and spacings in (["uniform"], ["uniform", "logit"])
    by_class = {grids for view, grids in views if view.notion in ("top_label", "classwise")}
    known = all(view.notion in ("confidence", "top_label", "classwise") for view, _ in views)
    uniform = all(len(grids) == 1 and grids[0].spacing == "uniform" for _, grids in views)
    return known and uniform and len(by_class) <= 1 and rows.n_classes <= MAX_CLASSES_PER_BLOCK


def add_rows(tally: Tally, rows: Rows, scores_too: bool = True) -> None:
    """Add rows to a tally, or to its tables alone, without waiting for the device."""
    scores = rows.scores
    by_rows = scores.ndim == 3 and scores.movedim(1, 2).is_contiguous()
    scores = scores if by_rows else scores.contiguous()
    one = KernelPass(tally, rows, scores, rows.labels.contiguous(), by_rows, scores_too)
    with torch.cuda.device_of(scores):
        if rows.kind == "binary":
            _one_event(one)
        elif rows.n_classes <= MAX_CLASSES_PER_THREAD:
            _few_classes(one)
        elif by_rows:
            _many_classes(one)
        else:  # one image at a time, transposed so that rows are contiguous
            for image, labels in zip(scores, one.labels, strict=True):
                _many_classes(replace(one, scores=image.T.contiguous(), labels=labels))


# --- compiling --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def available() -> bool:
    """Return whether kernels can be compiled here; tried once, on a minimal kernel."""
    if _COMPILE is None or torch.version.cuda is None:
        return False
    try:
        _COMPILE('extern "C" __global__ void nothing() {}', "nothing")
    except (OSError, RuntimeError):  # torch does not find the compiler
        return False
    return True


@lru_cache(maxsize=256)
def kernel(name: str, device: str, **macros: Any) -> Any:
    """Return the function `name` of `cuda/name.cu`, compiled with these macros for a device."""
    with torch.cuda.device(device):
        return _COMPILE(source(name, macros), name)  # type: ignore[misc]


def source(name: str, macros: dict[str, Any]) -> str:
    """Return the source of a kernel: its macros, the shared header, and its own code."""
    folder = resources.files("believable.torch") / "cuda"
    defined = "".join(f"#define {macro} {value}\n" for macro, value in macros.items())
    return defined + (folder / "common.cuh").read_text() + (folder / f"{name}.cu").read_text()


# --- launching --------------------------------------------------------------------------------------------------------


def _one_event(one: KernelPass) -> None:
    tally, n_rows, device = one.tally, len(one.rows), str(one.scores.device)
    ((_, grids),) = views_of(tally.layout)
    n_cells = [grid.n_cells for grid in grids]
    few = len(grids) == 1 and n_cells[0] <= MAX_CELLS_IN_SHARED_MEMORY
    threads = _threads(16 * len(grids[0])) if few else 256
    shared = 16 * len(grids[0]) * threads if few else 0
    macros = one.macros() | {"CELLS": n_cells[0], "LOGIT_CELLS": (*n_cells, 0)[1], "THREADS": threads, "FEW": int(few)}
    run = kernel("one_event", device, **macros)
    edges = [_edges(grid, device) for grid in grids]
    near_one = _near_one(grids[1], device) if len(grids) > 1 else tally.invalid
    tensors = [one.scores, one.labels, edges[0], edges[-1], near_one, *_results(tally, tally.tables)]
    blocks = _blocks(n_rows, threads, shared, registers=64 if one.scores_too else 48)
    run((blocks, 1, 1), (threads, 1, 1), [*tensors, float(n_rows), one.ignored], shared)


def _few_classes(one: KernelPass) -> None:
    rows, device = one.rows, str(one.scores.device)
    macros, tables, edges = _of_classes(one)
    n_classes, few = rows.n_classes, macros["CONFIDENCE_CELLS"] == 1
    each = 16 * (macros["CELLS"] + 2) * few + 8 * n_classes * one.scores_too + 4 * (n_classes + (n_classes % 4 == 0))
    threads = _threads(each)
    small = macros["CLASSWISE_CELLS"] and macros["GROUP_CELLS"] <= MAX_CELLS_IN_SHARED_MEMORY
    copies = CLASSWISE_TABLE_COPIES if small else 1
    confidence, top_label, classwise = tables
    counted = torch.zeros((copies, *classwise.shape), dtype=torch.float64, device=device) if small else classwise
    macros |= {"THREADS": threads, "STRIDED": int(not one.by_rows), "COPIES": copies}
    run = kernel("few_classes", device, **macros)
    tensors = [one.scores, one.labels, *edges, *_results(one.tally, [confidence, top_label, counted])]
    blocks = _blocks(len(rows), threads, each * threads, registers=112 if one.scores_too else 72)
    numbers = [float(len(rows)), float(one.labels.shape[1]), one.ignored]
    run((blocks, 1, 1), (threads, 1, 1), [*tensors, *numbers], each * threads)
    if small:
        classwise.add_(counted.sum(dim=0))


def _many_classes(one: KernelPass) -> None:
    n_classes, n_rows = one.rows.n_classes, one.labels.numel()
    macros, tables, edges = _of_classes(one)
    warps = 1 << (-(-n_classes // MAX_CLASSES_PER_WARP) - 1).bit_length()
    threads = 128 if warps == 1 else 32 * warps
    several = 4 if macros["VECTOR"] and n_classes % 4 == 0 else 1
    macros |= {"THREADS": threads, "WARPS": warps, "VECTOR": several}
    run = kernel("many_classes", str(one.scores.device), **macros)
    tensors = [one.scores, one.labels, *edges, *_results(one.tally, tables)]
    registers = 168 if one.scores_too or macros["CLASSWISE_CELLS"] else 72
    blocks = _blocks(n_rows * 32 * warps, threads, 0, registers)
    run((blocks, 1, 1), (threads, 1, 1), [*tensors, float(n_rows), one.ignored], 0)


def _of_classes(one: KernelPass) -> tuple[dict[str, Any], list[Tensor], list[Tensor]]:
    """Return macros for classes, tables for the confidence, predicted class and every class, and two grids' edges.

    A table that was not requested is replaced by another tensor, which is not written to.
    """
    tally, rows, scores = one.tally, one.rows, one.scores
    pairs = zip(tally.tables, views_of(tally.layout), strict=True)
    found = {str(view.notion): (table, grids[0]) for table, (view, grids) in pairs}
    grid = found["confidence"][1] if "confidence" in found else Grid(2, "uniform", rows.dtype)
    by_class = next((found[name][1] for name in ("top_label", "classwise") if name in found), grid)
    in_block = grid.n_cells <= MAX_CELLS_IN_SHARED_MEMORY
    macros = one.macros() | {
        "K": rows.n_classes,
        "CELLS": grid.n_cells,
        "GROUP_CELLS": by_class.n_cells,
        "CONFIDENCE_CELLS": 0 if "confidence" not in found else 1 if in_block else 2,
        "TOP_LABEL_CELLS": int("top_label" in found),
        "CLASSWISE_CELLS": int("classwise" in found),
        "SLACK": f"{BFLOAT16_TOLERANCE if scores.dtype == torch.bfloat16 else ROW_SUM_TOLERANCE}f",
    }
    tables = [found[name][0] if name in found else tally.sums for name in ("confidence", "top_label", "classwise")]
    return macros, tables, [_edges(each, str(scores.device)) for each in (grid, by_class)]


def _results(tally: Tally, tables: list[Tensor]) -> list[Tensor]:
    """Return the tensors that kernels write to, in the order of their arguments."""
    return [*tables, tally.sums, tally.by_class, tally.invalid]


def _threads(each: int) -> int:
    """Return how many threads fit into a block, given the bytes of shared memory of each."""
    return max(32, min(256, SHARED_BYTES_PER_BLOCK // each // 32 * 32))


def _blocks(n: int, threads: int, shared: int, registers: int) -> int:
    """Return as many blocks as run at once, which loop over all rows; fewer if there are few rows."""
    by_memory = SHARED_BYTES_PER_MULTIPROCESSOR // (shared + 1024)
    at_once = min(2048 // threads, (64 << 10) // (registers * threads), by_memory)
    return max(1, min(-(-n // threads), multiprocessors(torch.cuda.current_device()) * at_once))


@lru_cache(maxsize=16)
def multiprocessors(device: int) -> int:
    """Return the number of multiprocessors of a GPU."""
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


@lru_cache(maxsize=32)
def _edges(grid: Grid, device: str) -> Tensor:
    return torch.from_numpy(np.array(grid.inner_edges())).to(device)


@lru_cache(maxsize=8)
def _near_one(grid: Grid, device: str) -> Tensor:
    return torch.from_numpy(np.array(_kernels.near_one(grid.inner_edges()))).to(device)
