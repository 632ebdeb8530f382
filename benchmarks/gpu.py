"""Tensors on a GPU: the calls of `benchmarks.tensors`, beside one read of the same bytes.

    python -m benchmarks.gpu [--small] [--only NAME ...] [--json FILE]

Besides the wall clock, a call has three columns: the limit, which is a kernel that does nothing but read its tensors;
the time of its kernels and copies on the device, without gaps between them; and the memory it needs beyond what it is
given.
"""

from __future__ import annotations

from functools import cache
from statistics import median
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.tensor_cases import Call
from benchmarks.tensors import Beside, main
from benchmarks.turns import Side

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


@cache
def reader() -> Any:
    """The kernel that only reads, compiled once."""
    return torch.cuda._compile_kernel(READ, "read_all")


def limit(call: Call) -> float:
    """Milliseconds to read its tensors once; several reads are queued, so that launching one hides behind another."""
    kernel, result = reader(), torch.zeros(1, dtype=torch.int32, device="cuda")
    blocks = torch.cuda.get_device_properties(0).multi_processor_count * 4

    def read() -> None:
        for one in call.reads:
            words = one.numel() * one.element_size() // 16
            kernel((blocks, 1, 1), (512, 1, 1), [one, result, float(words)])

    return median(queued_milliseconds(read, 10) for _ in range(5))


def queued_milliseconds(run: Any, together: int) -> float:
    """Time of a call on the device, by its own clock."""
    run()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    start.record()
    for _ in range(together):
        run()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / together


def busy(call: Call) -> float:
    """Milliseconds that the device works for one call."""
    prepared(call.ours)
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        call.ours.run()
        torch.cuda.synchronize()
    return sum(event.self_device_time_total for event in seen.key_averages()) / 1e3


def extra_memory(call: Call) -> float:
    """Megabytes that a call needs besides what it is given."""
    prepared(call.ours)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call.ours.run()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 1e6


def prepared(side: Side) -> None:
    """Bring a side to where a sample begins."""
    if side.before is not None:
        side.before()
    torch.cuda.synchronize()


BESIDE: Beside = {"limit, ms": limit, "on the device, ms": busy, "extra, MB": extra_memory}

if __name__ == "__main__":
    main(device="cuda", beside=BESIDE)
