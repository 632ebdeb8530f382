"""One pass over rows on a GPU by a compiled kernel: which fits what is asked, and how it is launched.

CUDA C++ where cells are counted, because threads need some of their own in shared memory; Triton for the long rows of a
vocabulary.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from believable import kernels
from believable._check import BFLOAT16_TOLERANCE, ROW_SUM_TOLERANCE
from believable.binning import Grid
from believable.torch import _cuda
from believable.torch._rows import Rows
from believable.torch._tally import Tally, views_of

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
SHARED = (48 << 10) - 512  # bytes that every block may have
SHARED_OF_ALL = 227 << 10  # bytes that the blocks of a multiprocessor share, and 1,024 more for each block
COPIES = 64  # of a small table by class, so that blocks seldom wait for each other


def fits(tally: Tally, rows: Rows) -> bool:
    """Whether a kernel can do it; otherwise plain torch does."""
    plain = rows.weights is None and not tally.weighted and rows.scores.dtype in SCORES and rows.labels.dtype in LABELS
    if not (rows.scores.is_cuda and plain and len(rows)):
        return False
    views = views_of(tally.layout)
    if rows.kind == "binary":
        (_, grids), *others = views
        spacings = [grid.spacing for grid in grids]
        return not others and spacings in (["uniform"], ["uniform", "logit"]) and _cuda.available()
    by_class = {grids for view, grids in views if view.notion in ("top_label", "classwise")}
    known = all(view.notion in ("confidence", "top_label", "classwise") for view, _ in views)
    uniform = all(len(grids) == 1 and grids[0].spacing == "uniform" for _, grids in views)
    return known and uniform and len(by_class) <= 1 and _cuda.available() and rows.n_classes <= MOST_CLASSES


def add_rows(tally: Tally, rows: Rows) -> None:
    """Add rows to a tally, without waiting for the device."""
    scores, labels = rows.scores, rows.labels.contiguous()
    ignored = -1 if rows.ignore_index is None else rows.ignore_index
    by_rows = scores.ndim == 3 and scores.movedim(1, 2).is_contiguous()
    scores = scores if by_rows else scores.contiguous()
    with torch.cuda.device(scores.device):
        if rows.kind == "binary":
            _one_event(tally, scores, labels, rows, ignored)
        elif rows.n_classes <= FEW_CLASSES:
            _few_classes(tally, scores, labels, rows, ignored, by_rows)
        elif by_rows:
            _many_classes(tally, scores, labels, rows, ignored)
        else:  # one image after the other, turned so that rows lie behind each other
            for one, own in zip(scores, labels, strict=True):
                _many_classes(tally, one.T.contiguous(), own, rows, ignored)


def _one_event(tally: Tally, scores: Tensor, labels: Tensor, rows: Rows, ignored: int) -> None:
    ((_, grids),) = views_of(tally.layout)
    few = len(grids) == 1 and grids[0].n_cells <= FEW_CELLS
    threads = _threads(16 * len(grids[0])) if few else 256
    shared = 16 * len(grids[0]) * threads if few else 0
    edges = _edges(grids[0], scores.device.index)
    logit_edges, near_one = (
        (_edges(grids[1], edges.device.index), _near_one(grids[1], edges.device.index))
        if (len(grids) > 1)
        else (edges, edges)
    )
    run = _cuda.kernel(
        "one_event",
        edges.device.index,
        **_macros(rows, scores, labels),
        CELLS=grids[0].n_cells,
        LOGIT_CELLS=grids[1].n_cells if len(grids) > 1 else 0,
        THREADS=threads,
        FEW=int(few),
    )
    given = [scores, labels, edges, logit_edges, near_one, tally.tables[0], tally.sums, tally.by_class, tally.invalid]
    blocks = _blocks(len(rows), threads, shared, 64)
    run((blocks, 1, 1), (threads, 1, 1), [*given, float(len(rows)), float(ignored)], shared)


def _few_classes(tally: Tally, scores: Tensor, labels: Tensor, rows: Rows, ignored: int, by_rows: bool) -> None:
    found, grid, group_grid = _by_notion(tally, rows)
    n_classes, device = rows.n_classes, scores.device.index
    few = "confidence" in found and grid.n_cells <= FEW_CELLS
    each = (16 * len(grid) if few else 0) + 8 * n_classes + 4 * (n_classes + (n_classes % 4 == 0))
    threads = _threads(each)
    copies = COPIES if "classwise" in found and group_grid.n_cells <= FEW_CELLS else 1
    run = _cuda.kernel(
        "few_classes",
        device,
        **_macros(rows, scores, labels),
        CELLS=grid.n_cells,
        GROUP_CELLS=group_grid.n_cells,
        THREADS=threads,
        K=n_classes,
        STRIDED=int(not by_rows),
        CONFIDENCE_CELLS=0 if "confidence" not in found else 1 if few else 2,
        TOP_LABEL_CELLS=int("top_label" in found),
        CLASSWISE_CELLS=int("classwise" in found),
        COPIES=copies,
        SLACK=f"{_slack(scores)}f",
    )
    tables = [found[name][0] if name in found else tally.sums for name in ("confidence", "top_label", "classwise")]
    if copies > 1:
        tables[2] = torch.zeros((copies, *tables[2].shape), dtype=torch.float64, device=scores.device)
    given = [scores, labels, _edges(grid, device), _edges(group_grid, device), *tables]
    given += [tally.sums, tally.by_class, tally.invalid, float(len(rows)), float(labels.shape[1]), float(ignored)]
    run((_blocks(len(rows), threads, each * threads, 112), 1, 1), (threads, 1, 1), given, each * threads)
    if copies > 1:
        found["classwise"][0].add_(tables[2].sum(dim=0))


def _many_classes(tally: Tally, scores: Tensor, labels: Tensor, rows: Rows, ignored: int) -> None:
    found, grid, group_grid = _by_notion(tally, rows)
    n_classes, device = rows.n_classes, scores.device.index
    warps = 1 << (-(-n_classes // 1024) - 1).bit_length()
    threads = max(128, 32 * warps)
    macros = _macros(rows, scores, labels)
    several = 4 if macros.pop("VECTOR") and n_classes % 4 == 0 else 1
    run = _cuda.kernel(
        "many_classes",
        device,
        **macros,
        VECTOR=several,
        CELLS=grid.n_cells,
        GROUP_CELLS=group_grid.n_cells,
        THREADS=threads,
        WARPS=warps,
        K=n_classes,
        CONFIDENCE_CELLS=0 if "confidence" not in found else 1 if grid.n_cells <= FEW_CELLS else 2,
        TOP_LABEL_CELLS=int("top_label" in found),
        CLASSWISE_CELLS=int("classwise" in found),
        SLACK=f"{_slack(scores)}f",
    )
    tables = [found[name][0] if name in found else tally.sums for name in ("confidence", "top_label", "classwise")]
    given = [scores, labels, _edges(grid, device), _edges(group_grid, device), *tables]
    given += [tally.sums, tally.by_class, tally.invalid, float(labels.numel()), float(ignored)]
    blocks = _blocks(labels.numel() * 32 * warps, threads, 0, 168)
    run((blocks, 1, 1), (threads, 1, 1), given, 0)


def _by_notion(tally: Tally, rows: Rows) -> tuple[dict[str, tuple[Tensor, Grid]], Grid, Grid]:
    """The table and grid of each notion, the grid of the confidence, and that of the notions by class."""
    pairs = zip(tally.tables, views_of(tally.layout), strict=True)
    found = {str(view.notion): (table, grids[0]) for table, (view, grids) in pairs}
    grid = found["confidence"][1] if "confidence" in found else Grid(2, "uniform", rows.dtype)
    return found, grid, next((found[name][1] for name in ("top_label", "classwise") if name in found), grid)


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
        block = min(1024, 1 << (width - 1).bit_length())
        with torch.cuda.device(logits.device):
            triton_rows.vocabulary_rows[(n,)](
                logits, labels, *made, top, width, logits.stride(0), BLOCK=block, num_warps=max(1, block // 256)
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


def _slack(scores: Tensor) -> float:
    return BFLOAT16_TOLERANCE if scores.dtype == torch.bfloat16 else ROW_SUM_TOLERANCE


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
    return torch.from_numpy(np.array(kernels.near_one(grid.inner_edges()))).to(f"cuda:{device}")


@lru_cache(maxsize=1)
def _triton() -> Any:
    try:
        from believable.torch import _triton_rows
    except ImportError:
        return None
    return _triton_rows
