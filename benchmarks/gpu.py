"""Counting on a GPU: what a pass over scores takes, beside one read of the same bytes.

    python -m benchmarks.gpu [--small]

Every time is the median of repeated runs by CUDA events, of the counting alone; the limit is a kernel that does nothing
but read, measured in the same run. torchmetrics is timed where it is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from believable import Layout
from believable.torch.counting.rows import Rows, rows_of
from believable.torch.counting.state import count
from believable.torch.counting.tally import Tally
from believable.torch.tokens.row_terms import row_terms

READ = """
extern "C" __global__ void read_all(const uint4* data, unsigned* result, double length) {
  unsigned seen = 0;
  long long n = (long long)length, stride = (long long)gridDim.x * blockDim.x;
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  for (; i + 3 * stride < n; i += 4 * stride) {
    uint4 a = data[i], b = data[i + stride], c = data[i + 2 * stride], d = data[i + 3 * stride];
    seen ^= a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w ^ c.x ^ c.y ^ c.z ^ c.w ^ d.x ^ d.y ^ d.z ^ d.w;
  }
  for (; i < n; i += stride) seen ^= data[i].x ^ data[i].y ^ data[i].z ^ data[i].w;
  if (seen == 0x12345678u) *result = seen;  // so that nothing is left out
}
"""


@dataclass
class Case:
    """What is counted, in how many bytes."""

    name: str
    tensors: tuple[Tensor, ...]
    run: Callable[[], Any]
    peer: Callable[[], Any] | None = None


def milliseconds(run: Callable[[], Any], repeats: int = 9, together: int = 20) -> float:
    """Median time of a call on the device; several are queued, so that launching one hides behind another."""
    run()
    run()
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        start.record()
        for _ in range(together):
            run()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / together)
    return sorted(times)[len(times) // 2]


def limit(tensors: tuple[Tensor, ...]) -> float:
    """Milliseconds to read them once."""
    kernel, result = torch.cuda._compile_kernel(READ, "read_all"), torch.zeros(1, dtype=torch.int32, device="cuda")
    blocks = torch.cuda.get_device_properties(0).multi_processor_count * 4

    def read() -> None:
        for one in tensors:
            words = one.numel() * one.element_size() // 16
            kernel((blocks, 1, 1), (512, 1, 1), [one, result, float(words)])

    return milliseconds(read)


def extra_memory(run: Callable[[], Any]) -> float:
    """Megabytes that a call needs besides what it is given."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 1e6


def counting(
    rows: Rows, notions: Any, cells: int | None, spacing: Any = "uniform", scores_too: bool = True
) -> Callable[[], None]:
    """A pass into a tally that is there already."""
    layout = Layout.of(rows.kind, rows.n_classes, rows.dtype, notions=notions, cells=cells, spacing=spacing)
    tally = Tally.empty(layout, "cuda")
    return lambda: count(tally, rows, scores_too=scores_too)


def torchmetrics_ece(**settings: Any) -> Callable[[Tensor, Tensor], Any] | None:
    """Its functional form in 15 bins, without its checks."""
    try:
        from torchmetrics.functional.classification import calibration_error
    except ImportError:
        return None
    return lambda scores, labels: calibration_error(scores, labels, n_bins=15, validate_args=False, **settings)


def one_event(n: int) -> list[Case]:
    """Probabilities in float32, labels of one byte."""
    generator = torch.Generator("cuda").manual_seed(0)
    scores = torch.rand(n, device="cuda", generator=generator)
    labels = (torch.rand(n, device="cuda", generator=generator) < scores).to(torch.uint8)
    rows = rows_of(scores, labels, from_logits=False)
    peer = torchmetrics_ece(task="binary")
    given = (scores, labels)
    return [
        Case("15 bins", given, counting(rows, None, 15, scores_too=False), peer and (lambda: peer(scores, labels))),
        Case("15 bins and proper scores", given, counting(rows, None, 15)),
        Case("50,400 cells and proper scores", given, counting(rows, None, None)),
        Case("twice 50,400 cells and scores", given, counting(rows, None, None, ("uniform", "logit"))),
    ]


def classes(n: int, k: int, dtype: torch.dtype = torch.float32) -> list[Case]:
    """Logits and labels of eight bytes."""
    generator = torch.Generator("cuda").manual_seed(0)
    logits = torch.randn(n, k, device="cuda", generator=generator, dtype=dtype) * 3
    labels = torch.randint(0, k, (n,), device="cuda", generator=generator)
    labels = torch.where(torch.rand(n, device="cuda", generator=generator) < 0.6, logits.argmax(dim=1), labels)
    rows = rows_of(logits, labels, from_logits=True)
    peer = torchmetrics_ece(task="multiclass", num_classes=k)
    given, bare = (logits, labels), counting(rows, "confidence", 15, scores_too=False)
    return [
        Case("15 bins", given, bare, peer and (lambda: peer(logits, labels))),
        Case("15 bins and proper scores", given, counting(rows, "confidence", 15)),
        Case("50,400 cells and proper scores", given, counting(rows, "confidence", None)),
        Case("15 bins of every class", given, counting(rows, "classwise", 15, scores_too=False)),
        Case("every notion, cells and scores", given, counting(rows, ("confidence", "classwise", "top_label"), None)),
    ]


def tokens(n: int, vocabulary: int) -> list[Case]:
    """Logits of a language model in bfloat16."""
    generator = torch.Generator("cuda").manual_seed(0)
    logits = torch.randn(n, vocabulary, device="cuda", generator=generator, dtype=torch.bfloat16) * 3
    labels = torch.randint(0, vocabulary, (n,), device="cuda", generator=generator)
    peer = torchmetrics_ece(task="multiclass", num_classes=vocabulary)
    return [
        Case(
            "terms of each row",
            (logits, labels),
            lambda: row_terms(logits, labels),
            peer and (lambda: peer(logits, labels)),
        ),
        Case("terms and five ranks", (logits, labels), lambda: row_terms(logits, labels, 5)),
    ]


def main(small: bool) -> None:
    """Print the table."""
    device = torch.cuda.get_device_properties(0)
    print(f"{device.name}, {device.multi_processor_count} multiprocessors; torch {torch.__version__}")
    times = 10 if small else 1
    jobs: list[tuple[str, Callable[[], list[Case]]]] = [
        (f"one event, {10**8 // times:,} rows, float32 + uint8", lambda: one_event(10**8 // times)),
        (f"{10**7 // times:,} x 10 logits, float32", lambda: classes(10**7 // times, 10)),
        (f"{10**6 // times:,} x 1000 logits, float32", lambda: classes(10**6 // times, 1000)),
        (f"{8192 // times:,} x 128,256 logits, bfloat16", lambda: tokens(8192 // times, 128_256)),
    ]
    print(f"{'':34}{'limit':>9}{'ours':>9}{'ratio':>7}{'extra':>10}{'torchmetrics':>14}{'ratio':>7}")
    for title, made in jobs:
        print(title)
        for case in made():
            least, ours, extra = limit(case.tensors), milliseconds(case.run), extra_memory(case.run)
            line = f"  {case.name:32}{least:7.3f}ms{ours:7.3f}ms{ours / least:7.1f}{extra:8.1f}MB"
            if case.peer is not None:
                theirs = milliseconds(case.peer, 3, 3)
                line += f"{theirs:12.2f}ms{theirs / ours:7.0f}"
            print(line, flush=True)
            del case
        torch.cuda.empty_cache()
    others()


def others() -> None:
    """What is no single pass: seconds of a whole call."""
    from believable.torch import TemperatureScaling, squared_kernel_calibration_error, token_calibration

    generator = torch.Generator("cuda").manual_seed(0)
    logits = torch.randn(10**6, 1000, device="cuda", generator=generator) * 3
    labels = (logits / 2 + torch.empty_like(logits).exponential_(generator=generator).log_().neg_()).argmax(dim=1)
    scaling = TemperatureScaling().cuda()
    taken = seconds(partial(scaling.fit, logits, labels))
    print(f"temperature of 1,000,000 x 1000: {taken:.4f} s, T = {scaling.temperature.item():.6f}")
    del logits, labels
    logits = torch.randn(8192, 128_256, device="cuda", generator=generator, dtype=torch.bfloat16) * 3
    labels = torch.randint(0, 128_256, (8192,), device="cuda", generator=generator)
    for r in (1, 5):
        taken = seconds(partial(token_calibration, logits, labels, top_r=r), 20)
        print(f"token_calibration of 8,192 x 128,256 in bfloat16, top_r={r}: {1e3 * taken:.2f} ms")
    del logits, labels
    p = torch.softmax(torch.randn(100_000, 10, device="cuda", generator=generator, dtype=torch.float64), dim=1)
    y = torch.multinomial(p, 1, generator=generator)[:, 0]
    taken = seconds(partial(squared_kernel_calibration_error, p, y), 3)
    print(f"squared kernel calibration error of 100,000 x 10: {taken:.2f} s")


def seconds(run: Callable[[], Any], repeats: int = 5) -> float:
    """Median of the wall clock, the device waited for."""
    run()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(perf_counter() - start)
    return sorted(times)[len(times) // 2]


if __name__ == "__main__":
    main("--small" in sys.argv)
