"""Kernels in CUDA C++, compiled where they are first used by the compiler that torch brings with it."""

from __future__ import annotations

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


# --- one pass over rows on a GPU by a compiled kernel: which fits what is asked, and how it is launched ---------------
# CUDA C++ where cells are counted, because threads need some of their own in shared memory; Triton for the long rows of
# a vocabulary.


SCORES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}
LABELS = {
    torch.bool: "unsigned char",
    torch.uint8: "unsigned char",
    torch.int8: "signed char",
    torch.int32: "int",
    torch.int64: "long long",
}
FEW_CELLS = 32  # which a block can count in shared memory
FEW_CLASSES = 32  # which a thread can hold in registers
MOST_CLASSES = 8192  # which a block can
CLASSES_OF_A_WARP = 1024  # which it can: 32 in each thread
SHARED = (48 << 10) - 512  # bytes that every block may have
SHARED_OF_ALL = 227 << 10  # bytes that the blocks of a multiprocessor share, and 1,024 more for each block
COPIES = 64  # of a small table by class, so that blocks seldom wait for each other


def fits(tally: Tally, rows: Rows) -> bool:
    """Whether a kernel can do it; otherwise plain torch does."""
    plain = rows.weights is None and not tally.weighted and rows.scores.dtype in SCORES and rows.labels.dtype in LABELS
    if not (rows.scores.is_cuda and plain and len(rows) and tally.layout.dtype == rows.dtype and available()):
        return False
    views = views_of(tally.layout)
    if rows.kind == "binary":
        (_, grids), *others = views
        spacings = [grid.spacing for grid in grids]
        return not others and spacings in (["uniform"], ["uniform", "logit"])
    by_class = {grids for view, grids in views if view.notion in ("top_label", "classwise")}
    known = all(view.notion in ("confidence", "top_label", "classwise") for view, _ in views)
    uniform = all(len(grids) == 1 and grids[0].spacing == "uniform" for _, grids in views)
    return known and uniform and len(by_class) <= 1 and rows.n_classes <= MOST_CLASSES


def add_rows(tally: Tally, rows: Rows, scores_too: bool = True) -> None:
    """Add rows to a tally, without waiting for the device; to its tables alone, if so asked."""
    scores, labels = rows.scores, rows.labels.contiguous()
    ignored = -1 if rows.ignore_index is None else rows.ignore_index
    by_rows = scores.ndim == 3 and scores.movedim(1, 2).is_contiguous()
    scores = scores if by_rows else scores.contiguous()
    with torch.cuda.device(scores.device):
        if rows.kind == "binary":
            _one_event(tally, scores, labels, rows, ignored, scores_too)
        elif rows.n_classes <= FEW_CLASSES:
            _few_classes(tally, scores, labels, rows, ignored, by_rows, scores_too)
        elif by_rows:
            _many_classes(tally, scores, labels, rows, ignored, scores_too)
        else:  # one image after the other, turned so that rows lie behind each other
            for one, own in zip(scores, labels, strict=True):
                _many_classes(tally, one.T.contiguous(), own, rows, ignored, scores_too)


def _one_event(tally: Tally, scores: Tensor, labels: Tensor, rows: Rows, ignored: int, scores_too: bool) -> None:
    ((_, grids),) = views_of(tally.layout)
    device, n_cells = scores.device.index, [grid.n_cells for grid in grids]
    few = len(grids) == 1 and n_cells[0] <= FEW_CELLS
    threads = _threads(16 * len(grids[0])) if few else 256
    shared = 16 * len(grids[0]) * threads if few else 0
    macros = _macros(rows, scores, labels) | {"CELLS": n_cells[0], "LOGIT_CELLS": (*n_cells, 0)[1]}
    macros |= {"THREADS": threads, "SCORES": int(scores_too), "FEW": int(few)}
    run = kernel("one_event", device, **macros)
    edges = [_edges(grid, device) for grid in grids]
    near_one = _near_one(grids[1], device) if len(grids) > 1 else tally.invalid
    given = [scores, labels, edges[0], edges[-1], near_one, *tally.tables, tally.sums, tally.by_class, tally.invalid]
    blocks = _blocks(len(rows), threads, shared, 64 if scores_too else 48)
    run((blocks, 1, 1), (threads, 1, 1), [*given, float(len(rows)), float(ignored)], shared)


def _few_classes(
    tally: Tally, scores: Tensor, labels: Tensor, rows: Rows, ignored: int, by_rows: bool, scores_too: bool
) -> None:
    macros, tables, edges = _of_classes(tally, scores, labels, rows, scores_too)
    n_classes, few = rows.n_classes, macros["CONFIDENCE_CELLS"] == 1
    each = 16 * (macros["CELLS"] + 2) * few + 8 * n_classes * scores_too + 4 * (n_classes + (n_classes % 4 == 0))
    threads = _threads(each)
    copies = COPIES if macros["CLASSWISE_CELLS"] and macros["GROUP_CELLS"] <= FEW_CELLS else 1
    added = torch.zeros((copies, *tables[2].shape), dtype=torch.float64, device=scores.device) if copies > 1 else None
    macros |= {"THREADS": threads, "STRIDED": int(not by_rows), "COPIES": copies}
    run = kernel("few_classes", scores.device.index, **macros)
    given = [scores, labels, *edges, *tables[:2], tables[2] if added is None else added]
    given += [tally.sums, tally.by_class, tally.invalid, float(len(rows)), float(labels.shape[1]), float(ignored)]
    blocks = _blocks(len(rows), threads, each * threads, 112 if scores_too else 72)
    run((blocks, 1, 1), (threads, 1, 1), given, each * threads)
    if added is not None:
        tables[2].add_(added.sum(dim=0))


def _many_classes(tally: Tally, scores: Tensor, labels: Tensor, rows: Rows, ignored: int, scores_too: bool) -> None:
    macros, tables, edges = _of_classes(tally, scores, labels, rows, scores_too)
    warps = 1 << (-(-rows.n_classes // CLASSES_OF_A_WARP) - 1).bit_length()
    threads = 128 if warps == 1 else 32 * warps
    several = 4 if macros["VECTOR"] and rows.n_classes % 4 == 0 else 1
    macros |= {"THREADS": threads, "WARPS": warps, "VECTOR": several}
    run = kernel("many_classes", scores.device.index, **macros)
    given = [scores, labels, *edges, *tables, tally.sums, tally.by_class, tally.invalid]
    registers = 168 if scores_too or macros["CLASSWISE_CELLS"] else 72
    blocks = _blocks(labels.numel() * 32 * warps, threads, 0, registers)
    run((blocks, 1, 1), (threads, 1, 1), [*given, float(labels.numel()), float(ignored)], 0)


def _of_classes(
    tally: Tally, scores: Tensor, labels: Tensor, rows: Rows, scores_too: bool
) -> tuple[dict[str, Any], list[Tensor], list[Tensor]]:
    """Macros for classes, the tables of the confidence, the predicted class and every class, and two grids' edges.

    A table that is not asked for has something else in its place, which is not touched.
    """
    pairs = zip(tally.tables, views_of(tally.layout), strict=True)
    found = {str(view.notion): (table, grids[0]) for table, (view, grids) in pairs}
    grid = found["confidence"][1] if "confidence" in found else Grid(2, "uniform", rows.dtype)
    by_class = next((found[name][1] for name in ("top_label", "classwise") if name in found), grid)
    macros = _macros(rows, scores, labels) | {
        "K": rows.n_classes,
        "SCORES": int(scores_too),
        "CELLS": grid.n_cells,
        "GROUP_CELLS": by_class.n_cells,
        "CONFIDENCE_CELLS": 0 if "confidence" not in found else 1 if grid.n_cells <= FEW_CELLS else 2,
        "TOP_LABEL_CELLS": int("top_label" in found),
        "CLASSWISE_CELLS": int("classwise" in found),
        "SLACK": f"{BFLOAT16_TOLERANCE if scores.dtype == torch.bfloat16 else ROW_SUM_TOLERANCE}f",
    }
    tables = [found[name][0] if name in found else tally.sums for name in ("confidence", "top_label", "classwise")]
    return macros, tables, [_edges(one, scores.device.index) for one in (grid, by_class)]


def row_terms(logits: Tensor, labels: Tensor) -> tuple[Tensor, ...] | None:
    """Confidence, log loss, Brier score, entropy and predicted column of each row, of any length; None if not here.

    The confidence is NaN, and the column -1, where the label is no column or the logits have no softmax.
    """
    triton_rows = _triton()
    if triton_rows is None or not logits.is_cuda or logits.dtype not in SCORES or logits.stride(1) != 1:
        return None
    n, width = logits.shape
    made = [torch.full((n,), torch.nan, dtype=torch.float64, device=logits.device) for _ in range(4)]
    top = torch.full((n,), -1, dtype=torch.int32, device=logits.device)
    if n:
        block = min(512, 1 << (width - 1).bit_length())
        with torch.cuda.device(logits.device):
            triton_rows.vocabulary_rows[(n,)](
                logits,
                labels.contiguous(),
                *made,
                top,
                width,
                logits.stride(0),
                BLOCK=block,
                num_warps=max(1, block // 256),
            )
    return *made, top.long()


def _macros(rows: Rows, scores: Tensor, labels: Tensor) -> dict[str, Any]:
    aligned = scores.data_ptr() % 16 == 0 and labels.data_ptr() % 16 == 0
    return {
        "SCORE": SCORES[scores.dtype],
        "LABEL": LABELS[labels.dtype],
        "LOGITS": int(rows.from_logits),
        "IGNORE": int(rows.ignore_index is not None),
        "VECTOR": int(aligned),
    }


def _threads(each: int) -> int:
    """As many threads of a block as its shared memory is enough for, so many bytes each."""
    return max(32, min(256, SHARED // each // 32 * 32))


def _blocks(n: int, threads: int, shared: int, registers: int) -> int:
    """As many as run at once, which go over all rows; fewer where rows are few."""
    at_once = min(2048 // threads, (64 << 10) // (registers * threads), SHARED_OF_ALL // (shared + 1024))
    return max(1, min(-(-n // threads), _multiprocessors(torch.cuda.current_device()) * at_once))


@lru_cache(maxsize=16)
def _multiprocessors(device: int) -> int:
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


@lru_cache(maxsize=32)
def _edges(grid: Grid, device: int) -> Tensor:
    return torch.from_numpy(np.array(grid.inner_edges())).to(f"cuda:{device}")


@lru_cache(maxsize=8)
def _near_one(grid: Grid, device: int) -> Tensor:
    return torch.from_numpy(np.array(_kernels.near_one(grid.inner_edges()))).to(f"cuda:{device}")


@lru_cache(maxsize=1)
def _triton() -> Any:
    try:
        from believable.torch.counting import triton_rows
    except ImportError:
        return None
    return triton_rows
