"""One pass over rows on a GPU: choose a kernel of `believable/torch/cuda` and launch it.

The kernels are CUDA C++, because each thread needs its own cells in shared memory. They are compiled on first use, by
the compiler that comes with torch. They count what `counting.reference` counts in plain torch. Everything that does not
change from batch to batch is prepared once and kept with the tally, so that an update is little more than a launch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from believable import _kernels
from believable._check import HEAVIEST_WEIGHT, LIGHTEST_WEIGHT
from believable.binning import Grid
from believable.errors import InputError
from believable.stats import Layout
from believable.torch.counting.rows import Rows
from believable.torch.counting.tally import Tally, code_bounds, n_codes, parts_of, views_of

_COMPILE = getattr(torch.cuda, "_compile_kernel", None)  # torch 2.9 and later

SCORE_CODES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2, torch.float64: 3}
LABEL_TYPES = {
    torch.bool: "unsigned char",
    torch.uint8: "unsigned char",
    torch.int8: "signed char",
    torch.int16: "short",
    torch.int32: "int",
    torch.int64: "long long",
}
WEIGHT_TYPES = {torch.float32: "float", torch.float64: "double"}
MAX_CELLS_IN_SHARED_MEMORY = 32
MAX_CLASSES_PER_THREAD = 32  # as many as the registers hold
MAX_CLASSES_PER_WARP = 1024  # 32 in each thread
MAX_CLASSES_PER_BLOCK = 8192
MAX_RANKS = 16  # every thread keeps as many of its largest scores
SHARED_BYTES_PER_BLOCK = (48 << 10) - 512  # what every block may have
SHARED_BYTES_PER_MULTIPROCESSOR = 227 << 10  # what all its blocks share, plus 1,024 for each block
CLASSWISE_TABLE_COPIES = 64  # copies of a small table, so that blocks rarely wait for each other
EVENT_TABLE_COPIES = 512
ROWS_FOR_COPIES = 1 << 14  # with fewer rows, adding up the copies takes longer than waiting
ROWS_AT_ONCE = 1 << 20  # rows of `any_classes`, which keeps three numbers of each
THREADS_FOR_BINS = 512
NO_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT
THREADS_OF_A_FOLD = 128
VIEW_NAMES = {
    "confidence": "CONFIDENCE_VIEW",
    "top_label": "TOP_LABEL_VIEW",
    "binary": "BINARY_VIEW",
    "rth": "RTH_VIEW",
    "within_top_r": "WITHIN_TOP_R_VIEW",
    "top_r": "TOP_R_VIEW",
}


@dataclass(frozen=True, slots=True)
class Batch:
    """The tensors of some rows, laid out as a kernel reads them.

    Attributes
    ----------
    scores, labels : Tensor
    weights : Tensor or None
    by_rows : bool
        Whether the classes of a row are contiguous in memory; those of a pixel are not.
    n, inner : int
        The number of rows, and of pixels or tokens in each entry of the first axis.
    ignored : float
        The label to leave out; -1, which is not a class, if there is none.
    """

    scores: Tensor
    labels: Tensor
    weights: Tensor | None
    by_rows: bool
    n: int
    inner: int
    ignored: float


class BatchKind(NamedTuple):
    """What kernels are chosen by: types, the order in memory, and settings.

    Attributes
    ----------
    scores, labels, weights : torch.dtype
        The types; None without weights.
    by_rows : bool
        Whether the classes of a row are contiguous in memory.
    aligned : bool
        Whether 16 bytes can be loaded at once.
    from_logits, ignores : bool
        Whether the scores are logits, and whether a label is left out.
    many : bool
        Whether there are so many rows that copies of small tables are worth it.
    scores_too : bool
        Whether to sum proper scores too, or fill the tables alone.
    tolerance : float
        How far the sum of a row may be from 1.
    """

    scores: torch.dtype
    labels: torch.dtype
    weights: torch.dtype | None
    by_rows: bool
    aligned: bool
    from_logits: bool
    ignores: bool
    many: bool
    scores_too: bool
    tolerance: float


Pass = Callable[[Batch], None]


def can_launch(counts: Tensor) -> bool:
    """Return whether kernels can be launched where these counts are."""
    return counts.is_cuda and available()


def fits(tally: Tally, rows: Rows) -> bool:
    """Return whether a kernel can count these rows on this machine; otherwise plain torch does."""
    return rows.scores.is_cuda and available() and has_kernel(tally, rows)


def has_kernel(tally: Tally, rows: Rows) -> bool:
    """Return whether there is a kernel for these rows and this layout."""
    known_types = rows.scores.dtype in SCORE_CODES and rows.labels.dtype in LABEL_TYPES
    known_views = all(
        view.notion in (*VIEW_NAMES, "classwise") and (view.r or 1) <= MAX_RANKS for view, _ in tally.layout.views
    )
    return known_types and known_views and len(rows) > 0


def add_rows(tally: Tally, rows: Rows, scores_too: bool = True) -> None:
    """Add rows to a tally, or to its tables alone, without waiting for the device."""
    batch = _batch_of(rows, tally.weighted)
    kind = BatchKind(
        batch.scores.dtype,
        batch.labels.dtype,
        None if batch.weights is None else batch.weights.dtype,
        batch.by_rows,
        batch.scores.data_ptr() % 16 == 0 and batch.labels.data_ptr() % 16 == 0,
        rows.from_logits,
        rows.ignore_index is not None,
        batch.n >= ROWS_FOR_COPIES,
        scores_too,
        rows.tolerance,
    )
    device = batch.scores.device
    if device.type == "cuda" and device.index != torch.cuda.current_device():
        with torch.cuda.device(device):
            _pass_for(tally, kind)(batch)
    else:
        _pass_for(tally, kind)(batch)


def _pass_for(tally: Tally, kind: BatchKind) -> Pass:
    """Return what counts such batches, prepared for the first of them."""
    made: Pass | None = tally.prepared.get(kind)
    if made is None:
        if tally.buffer.is_cuda and torch.cuda.is_current_stream_capturing():
            raise InputError(
                "nothing can be prepared while a CUDA graph is captured: make an update with a batch of the same types "
                "and size before"
            )
        made = tally.prepared[kind] = recipe(tally.layout, tally.weighted, str(tally.buffer.device), kind)(tally)
    return made


def _batch_of(rows: Rows, weighted: bool) -> Batch:
    scores, labels, weights = rows.scores, rows.labels, rows.weights
    inner = labels.shape[1]
    by_rows = scores.ndim == 3 and scores.stride(1) == 1 and _follow(scores, inner)
    scores = scores if by_rows else scores.contiguous()
    if weights is not None:
        weights = (weights if weights.dtype in WEIGHT_TYPES else weights.float()).contiguous()
    elif weighted:
        weights = torch.ones(labels.shape, dtype=torch.float32, device=scores.device)
    ignored = -1.0 if rows.ignore_index is None else float(rows.ignore_index)
    return Batch(scores, labels.contiguous(), weights, by_rows, len(rows), inner, ignored)


def _follow(scores: Tensor, inner: int) -> bool:
    """Return whether rows of contiguous classes follow each other without gaps."""
    n_classes = scores.shape[1]
    after_a_row = inner == 1 or scores.stride(2) == n_classes
    return after_a_row and (scores.shape[0] == 1 or scores.stride(0) == inner * n_classes)


@lru_cache(maxsize=128)
def recipe(layout: Layout, weighted: bool, device: str, kind: BatchKind) -> Callable[[Tally], Pass]:
    """Return what makes a pass for a tally of this layout: the kernel is chosen and compiled, once."""
    macros: dict[str, Any] = {
        "SCORE": SCORE_CODES[kind.scores],
        "LABEL": LABEL_TYPES[kind.labels],
        "LOGITS": int(kind.from_logits),
        "IGNORE": int(kind.ignores),
        "SCORES": int(kind.scores_too),
        "LIGHTEST": LIGHTEST_WEIGHT,
        "HEAVIEST": HEAVIEST_WEIGHT,
        **({} if kind.weights is None else {"WEIGHT": WEIGHT_TYPES[kind.weights]}),
    }
    if layout.kind == "binary":
        return _one_event(layout, device, kind, macros | {"VECTOR": int(kind.aligned)})
    n_classes = layout.n_classes
    macros |= {"K": n_classes}
    if kind.weights is not None or kind.scores == torch.float64 or not _is_lean(layout):
        return _any_classes(layout, weighted, device, kind, macros | {"SLACK": kind.tolerance})
    macros |= {"SLACK": f"{kind.tolerance}f", "VECTOR": int(kind.aligned)}
    chosen = _few_classes if n_classes <= MAX_CLASSES_PER_THREAD else _many_classes
    return chosen(layout, device, kind, macros)


def _is_lean(layout: Layout) -> bool:
    """Return whether the kernels for few and many classes know these views."""
    views = views_of(layout)
    known = all(view.notion in ("confidence", "top_label", "classwise") for view, _ in views)
    uniform = all(len(grids) == 1 and grids[0].spacing == "uniform" for _, grids in views)
    by_class = {grids for view, grids in views if view.notion in ("top_label", "classwise")}
    return known and uniform and len(by_class) <= 1 and layout.n_classes <= MAX_CLASSES_PER_BLOCK


# --- compiling and launching ------------------------------------------------------------------------------------------


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
def kernel(name: str, device: str, *, file: str = "", **macros: Any) -> Any:
    """Return the function `name` of `cuda/name.cu`, or of another file, compiled with these macros for a device."""
    with torch.cuda.device(device):
        return _COMPILE(source(file or name, macros), name)  # type: ignore[misc]


def source(name: str, macros: dict[str, Any]) -> str:
    """Return the source of a kernel: its macros, the shared header unless it stands alone, and its own code."""
    folder = resources.files("believable.torch") / "cuda"
    defined = "".join(f"#define {macro} {value}\n" for macro, value in macros.items())
    shared = "" if name in ("bins", "fold") else (folder / "common.cuh").read_text()
    return defined + shared + (folder / f"{name}.cu").read_text()


class Launch:
    """A kernel, ready to be launched: arguments that stay the same are prepared, the others are filled in.

    A kernel of torch can be called itself, but takes 33 microseconds to look at its arguments; the driver takes five.
    One launch at a time: the arguments are in one place.
    """

    __slots__ = ("_places", "_run", "_shared", "_threads", "_values", "tensors")

    def __init__(self, run: Any, threads: int, tensors: Sequence[Tensor | None], n_numbers: int, shared: int = 0):
        """Prepare the kernel's arguments: tensors, None for those of a batch, and then numbers."""
        self._run, self._threads, self._shared, self.tensors = run, threads, shared, list(tensors)
        pointers = [ctypes.c_void_p(None if one is None else one.data_ptr()) for one in tensors]
        self._values: list[Any] = [*pointers, *(ctypes.c_double() for _ in range(n_numbers))]
        self._places = (ctypes.c_void_p * len(self._values))(*map(ctypes.addressof, self._values))

    def __call__(self, blocks: int, tensors: Sequence[Tensor], numbers: Sequence[float]) -> None:
        """Launch the kernel on the current stream; the batch's tensors come first among its arguments."""
        function, driver = getattr(self._run, "func", None), _driver()
        if function is None or driver is None:
            given = [*tensors, *self.tensors[len(tensors) :], *map(float, numbers)]
            self._run((blocks, 1, 1), (self._threads, 1, 1), given, self._shared)
            return
        values = self._values
        for value, tensor in zip(values, tensors, strict=False):
            value.value = tensor.data_ptr()
        for value, number in zip(values[len(self.tensors) :], numbers, strict=True):
            value.value = number
        stream = ctypes.c_void_p(torch._C._cuda_getCurrentRawStream(torch.cuda.current_device()))
        grid = (blocks, 1, 1, self._threads, 1, 1)
        error = driver.cuLaunchKernel(function, *grid, self._shared, stream, self._places, None)
        if error == NO_CONTEXT:  # the first work of this thread: any call of torch that asks the device mends that
            torch.cuda.current_stream().query()
            error = driver.cuLaunchKernel(function, *grid, self._shared, stream, self._places, None)
        if error:
            raise RuntimeError(f"a kernel could not be launched: CUDA error {error}")


@lru_cache(maxsize=1)
def _driver() -> Any:
    """Return the library that launches kernels, as torch has loaded it; None if this torch keeps it elsewhere."""
    utilities = torch.cuda._utils
    found = getattr(utilities, "_get_gpu_runtime_library", None) or getattr(utilities, "_get_cuda_library", None)
    try:
        return None if found is None or not torch.cuda.is_available() else found()
    except (OSError, RuntimeError):
        return None


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


# --- one event --------------------------------------------------------------------------------------------------------


def _one_event(layout: Layout, device: str, kind: BatchKind, macros: dict[str, Any]) -> Callable[[Tally], Pass]:
    ((_, grids),) = views_of(layout)
    grid = {("uniform",): 0, ("uniform", "logit"): 1}.get(tuple(one.spacing for one in grids), 2)
    wide = kind.weights is not None or kind.scores == torch.float64
    small = len(grids) == 1 and len(grids[0]) <= MAX_CELLS_IN_SHARED_MEMORY + 2
    few = small and grid == 0 and not wide
    copies = EVENT_TABLE_COPIES if small and kind.many and not few else 1
    threads = _threads(16 * len(grids[0])) if few else 256
    shared = 16 * len(grids[0]) * threads if few else 0
    macros = macros | {
        "CELLS": grids[0].n_cells,
        "LOGIT_CELLS": grids[1].n_cells if grid == 1 else 0,
        "CODES": n_codes(grids),
        "COPIES": copies,
        "THREADS": threads,
        "FEW": int(few),
        "GRID": grid,
    }
    run = kernel("one_event", device, **macros)
    edges = code_bounds(grids, device).double() if grid == 2 else _edges(grids[0], device)
    more = [_edges(grids[1], device), _near_one(grids[1], device)] if grid == 1 else [edges, edges]
    registers = (64 if kind.scores_too else 48) + (64 if wide else 0)

    def bind(tally: Tally) -> Pass:
        table = tally.tables[0]
        counted = table.new_zeros((copies, *table.shape)) if copies > 1 else table
        launch = Launch(run, threads, [None, None, None, edges, *more, counted, tally.buffer], 2, shared)
        fold = _fold(counted, table) if copies > 1 else None

        def add(batch: Batch) -> None:
            weights = batch.scores if batch.weights is None else batch.weights
            blocks = _blocks(batch.n, threads, shared, registers)
            launch(blocks, (batch.scores, batch.labels, weights), (batch.n, batch.ignored))
            if fold is not None:
                fold()

        return add

    return bind


def _fold(copies: Tensor, table: Tensor) -> Callable[[], None]:
    """Return what adds copies of a table to it, and empties them."""
    run = kernel("fold", str(table.device), THREADS=THREADS_OF_A_FOLD)
    launch = Launch(run, THREADS_OF_A_FOLD, [copies, table], 1)
    return lambda: launch(table.numel(), (), (len(copies),))


@lru_cache(maxsize=32)
def _edges(grid: Grid, device: str) -> Tensor:
    return torch.from_numpy(np.array(grid.inner_edges())).to(device)


@lru_cache(maxsize=8)
def _near_one(grid: Grid, device: str) -> Tensor:
    return torch.from_numpy(np.array(_kernels.near_one(grid.inner_edges()))).to(device)


# --- classes ----------------------------------------------------------------------------------------------------------


def _few_classes(layout: Layout, device: str, kind: BatchKind, macros: dict[str, Any]) -> Callable[[Tally], Pass]:
    """Return passes in which each thread has a row."""
    macros, edges = _of_classes(layout, device, macros)
    n_classes, few = macros["K"], macros["CONFIDENCE_CELLS"] == 1
    each = 16 * (macros["CELLS"] + 2) * few + 8 * n_classes * kind.scores_too + 4 * (n_classes + (n_classes % 4 == 0))
    threads = _threads(each)
    small = kind.many and macros["CLASSWISE_CELLS"] and macros["GROUP_CELLS"] <= MAX_CELLS_IN_SHARED_MEMORY
    copies = CLASSWISE_TABLE_COPIES if small else 1
    macros |= {"THREADS": threads, "STRIDED": int(not kind.by_rows), "COPIES": copies}
    run = kernel("few_classes", device, **macros)
    registers = 112 if kind.scores_too else 72

    def bind(tally: Tally) -> Pass:
        confidence, top_label, classwise = _tables_of_classes(tally)
        counted = classwise.new_zeros((copies, *classwise.shape)) if small else classwise
        tensors = [None, None, *edges, confidence, top_label, counted, tally.buffer]
        launch = Launch(run, threads, tensors, 3, each * threads)
        fold = _fold(counted, classwise) if small else None

        def add(batch: Batch) -> None:
            blocks = _blocks(batch.n, threads, each * threads, registers)
            launch(blocks, (batch.scores, batch.labels), (batch.n, batch.inner, batch.ignored))
            if fold is not None:
                fold()

        return add

    return bind


def _many_classes(layout: Layout, device: str, kind: BatchKind, macros: dict[str, Any]) -> Callable[[Tally], Pass]:
    """Return passes in which one or more warps share a row."""
    macros, edges = _of_classes(layout, device, macros)
    n_classes = macros["K"]
    warps = 1 << (-(-n_classes // MAX_CLASSES_PER_WARP) - 1).bit_length()
    threads = 128 if warps == 1 else 32 * warps
    several = 4 if macros["VECTOR"] and n_classes % 4 == 0 else 1
    macros |= {"THREADS": threads, "WARPS": warps, "VECTOR": several}
    run = kernel("many_classes", device, **macros)
    registers = 168 if kind.scores_too or macros["CLASSWISE_CELLS"] else 72

    def bind(tally: Tally) -> Pass:
        launch = Launch(run, threads, [None, None, *edges, *_tables_of_classes(tally), tally.buffer], 2)

        def add(batch: Batch) -> None:
            # Rows that are not contiguous are copied, one image at a time.
            images = [(batch.scores, batch.labels)]
            if not batch.by_rows:
                pairs = zip(batch.scores, batch.labels, strict=True)
                images = [(image.T.contiguous(), labels) for image, labels in pairs]
            for scores, labels in images:
                n = labels.numel()
                launch(_blocks(n * 32 * warps, threads, 0, registers), (scores, labels), (n, batch.ignored))

        return add

    return bind


def _of_classes(layout: Layout, device: str, macros: dict[str, Any]) -> tuple[dict[str, Any], list[Tensor]]:
    """Return macros for classes, and the edges of two grids: of the confidence, and of every class."""
    found = {str(view.notion): grids[0] for view, grids in views_of(layout)}
    grid = found.get("confidence", Grid(2, "uniform", layout.dtype))
    by_class = next((found[name] for name in ("top_label", "classwise") if name in found), grid)
    in_block = grid.n_cells <= MAX_CELLS_IN_SHARED_MEMORY
    macros = macros | {
        "CELLS": grid.n_cells,
        "GROUP_CELLS": by_class.n_cells,
        "CONFIDENCE_CELLS": 0 if "confidence" not in found else 1 if in_block else 2,
        "TOP_LABEL_CELLS": int("top_label" in found),
        "CLASSWISE_CELLS": int("classwise" in found),
    }
    return macros, [_edges(each, device) for each in (grid, by_class)]


def _tables_of_classes(tally: Tally) -> list[Tensor]:
    """Return the tables of the confidence, the predicted class and every class.

    One that was not requested is replaced by another tensor, which is not written to.
    """
    pairs = zip(views_of(tally.layout), tally.tables, strict=True)
    found = {str(view.notion): table for (view, _), table in pairs}
    return [found.get(name, tally.buffer) for name in ("confidence", "top_label", "classwise")]


def _any_classes(
    layout: Layout, weighted: bool, device: str, kind: BatchKind, macros: dict[str, Any]
) -> Callable[[Tally], Pass]:
    """Return passes for weights, float64, ranks and any number of classes: over rows, and then over columns."""
    n_classes = macros["K"]
    bounds, described = _described_views(layout, weighted, device)
    power = 1 << (n_classes - 1).bit_length()
    lanes = power if power <= 32 else 32 if n_classes <= MAX_CLASSES_PER_WARP else min(512, power // 8)
    threads, columns = max(lanes, 128), min(power, 128)
    strided = int(not kind.by_rows)
    macros = macros | described | {"LANES": lanes, "COLUMNS": columns, "STRIDED": strided, "CELLS": 0}
    of_rows = kernel("any_classes", device, **macros, THREADS=threads)
    of_columns = kernel("class_columns", device, file="any_classes", **macros, THREADS=threads)
    tiles, teams = -(-n_classes // columns), threads // lanes

    def bind(tally: Tally) -> Pass:
        rows_launch = Launch(of_rows, threads, [None, None, None, None, bounds, tally.buffer], 3)
        columns_launch = Launch(of_columns, threads, [None, None, None, bounds, tally.buffer], 2)

        def add(batch: Batch) -> None:
            outer = len(batch.labels)
            at_once = min(outer, max(1, ROWS_AT_ONCE // batch.inner))  # images, or rows
            kept = torch.empty((at_once * batch.inner, 3), dtype=torch.float64, device=batch.scores.device)
            for first in range(0, outer, at_once):
                here = slice(first, first + at_once)
                scores, labels = batch.scores[here], batch.labels[here]
                weights, n = scores if batch.weights is None else batch.weights[here], labels.numel()
                blocks = _blocks(-(-n // teams) * threads, threads, 0, 128)
                rows_launch(blocks, (scores, labels, weights, kept), (n, batch.inner, batch.ignored))
                if kind.scores_too or macros["CLASSWISE"]:
                    in_all = _blocks(-(-n * columns // threads) * threads * tiles, threads, 0, 64)
                    columns_launch(tiles * max(1, in_all // tiles), (scores, labels, kept), (n, batch.inner))

        return add

    return bind


def _described_views(layout: Layout, weighted: bool, device: str) -> tuple[Tensor, dict[str, Any]]:
    """Return the bounds of all views' cells, and macros that say where each is counted."""
    views, parts = views_of(layout), parts_of(layout, weighted)
    bounds = [code_bounds(grids, device).double() for _, grids in views]
    places = [0, *accumulate(map(len, bounds))]
    lines, ranks = [], 1
    macros: dict[str, Any] = {"CLASSWISE": 0}
    for i, (view, grids) in enumerate(views):
        table, codes = parts[f"tables.{i}"].start, n_codes(grids)
        cells = grids[0].n_cells if [grid.spacing for grid in grids] == ["uniform"] else 0
        if view.notion == "classwise":
            macros = {"CLASSWISE": 1, "CLASSWISE_TABLE": f"{table}ll", "CLASSWISE_CODES": codes}
            macros |= {"CLASSWISE_CELLS": cells, "CLASSWISE_BOUNDS": f"{places[i]}ll"}
            continue
        ranks = max(ranks, view.r or 1)
        lines.append(f"V({VIEW_NAMES[view.notion]}, {view.r or 0}, {table}ll, {codes}, {cells}, {places[i]}ll)")
    return torch.cat(bounds), macros | {"RANKS": ranks, "VIEWS(V)": " ".join(lines)}


# --- bins from cells --------------------------------------------------------------------------------------------------


def bins(table: Tensor, strata: int, starts: tuple[int, ...]) -> Tensor:
    """Return the sums of a table's codes by bin, (strata * bins, 2, moments).

    `starts` has the first code of every bin, and the end.
    """
    n_blocks, device = strata * (len(starts) - 1), str(table.device)
    run = kernel("bins", device, WIDTH=2 * table.shape[2], THREADS=THREADS_FOR_BINS)
    out = torch.empty((n_blocks, *table.shape[1:]), dtype=torch.float64, device=table.device)
    with torch.cuda.device_of(table):
        Launch(run, THREADS_FOR_BINS, [table, _starts(starts, device), out], 1)(n_blocks, (), (len(starts) - 1,))
    return out


@lru_cache(maxsize=64)
def _starts(starts: tuple[int, ...], device: str) -> Tensor:
    return torch.tensor(starts, dtype=torch.int32, device=device)
