"""The host that stands in for a GPU: it finds what it is there to find, and its words mean what CUDA's mean."""

from __future__ import annotations

import math
import struct

import pytest
import torch

from believable.torch.counting import gpu
from tests.torch.cuda_host.kernels import without_assembler

THREADS = 64


def run(compiler, body, *, n=THREADS, downwards=False, shared=4 * THREADS, blocks=1):
    """What a kernel of this body writes to `out`, of n numbers."""
    source = f'extern "C" __global__ void tried(double* out, double n) {{ extern __shared__ uint4 memory[]; {body} }}'
    out = torch.zeros(n, dtype=torch.float64)
    compiler.downwards = downwards
    compiler.compiled("tried", source)((blocks, 1, 1), (THREADS, 1, 1), [out, float(n)], shared)
    return out.tolist()


def test_threads_and_blocks(host_compiler):
    """Every thread of every block runs once."""
    body = "atomicAdd(out + blockIdx.x * 64 + threadIdx.x, 1.0 + gridDim.x);"
    assert run(host_compiler, body, n=3 * THREADS, blocks=3) == [4.0] * 3 * THREADS


@pytest.mark.parametrize("downwards", [False, True])
def test_barriers_and_shared_memory(host_compiler, downwards):
    """What one thread wrote before a barrier, another reads after it."""
    body = """float* kept = (float*)memory; __shared__ int of_all; kept[threadIdx.x] = threadIdx.x;
      if (threadIdx.x == 5) of_all = 100; __syncthreads(); out[threadIdx.x] = kept[63 - threadIdx.x] + of_all;"""
    assert run(host_compiler, body, downwards=downwards) == [163.0 - i for i in range(THREADS)]


def test_a_missing_barrier_shows_in_one_of_the_orders(host_compiler):
    """Threads that read too early find what they ought not to, upwards or downwards."""
    body = "float* kept = (float*)memory; kept[threadIdx.x] = 1; out[threadIdx.x] = kept[63 - threadIdx.x];"
    found = [run(host_compiler, body, downwards=downwards) for downwards in (False, True)]
    assert found[0] != found[1]


@pytest.mark.parametrize("downwards", [False, True])
def test_lanes_of_a_warp(host_compiler, downwards):
    """They exchange numbers of any type, many times, and know whether any says yes."""
    body = """double x = threadIdx.x; for (int lanes = 16; lanes; lanes /= 2) x += __shfl_xor_sync(~0u, x, lanes);
      int other = __shfl_xor_sync(~0u, (int)threadIdx.x, 1), third = __shfl_sync(~0u, (int)threadIdx.x, 3);
      out[threadIdx.x] = x + 1000 * other + 1e6 * __any_sync(~0u, threadIdx.x == 40) + 1e7 * third;"""
    sums = [sum(range(start, start + 32)) for start in (0, 32)]
    wanted = [
        sums[i // 32] + 1000 * (i ^ 1) + (1e6 if i >= 32 else 0) + 1e7 * (3 + i // 32 * 32) for i in range(THREADS)
    ]
    assert run(host_compiler, body, downwards=downwards) == wanted


def test_a_barrier_that_some_never_reach(host_compiler):
    """A GPU would hang; here it is an error."""
    with pytest.raises(AssertionError, match="wait for each other in vain"):
        run(host_compiler, "if (threadIdx.x != 3) __syncthreads(); out[threadIdx.x] = 1;")


def test_a_write_behind_shared_memory(host_compiler):
    """Those who asked for too little are told."""
    with pytest.raises(AssertionError, match="wrote behind its shared memory"):
        run(host_compiler, "((float*)memory)[threadIdx.x] = 1;", shared=4 * THREADS - 4)


def test_numbers(host_compiler):
    """Rounding upwards, bits of numbers, and half precision."""
    body = """float third = 1 / 3.f; out[0] = __fmaf_ru(third, 3.f, 8388608.f); out[1] = __fmaf_ru(0.f, 3.f, 8388608.f);
      out[2] = __fmaf_ru(1e-40f, 15.f, 8388608.f); out[3] = __float_as_uint(1.f); out[4] = __int_as_float(0x7f800000);
      for (int i = 0; i < 6; i++) {
        unsigned short halves[] = {0x3c00, 0xc000, 0x0001, 0x7bff, 0xfc00, 0x3555};
        float wide; cvt_f32_f16(wide, halves[i]); out[5 + i] = wide;
      }"""
    found = run(host_compiler, f"if (threadIdx.x == 0) {{ {body} }}")
    # 1 / 3 in single precision is a little more than a third, and whole numbers follow 8388608 at a distance of 1.
    assert found[:5] == [8388610.0, 8388608.0, 8388609.0, 0x3F800000, math.inf]
    assert found[5:11] == [1.0, -2.0, 2.0**-24, 65504.0, -math.inf, struct.unpack("<e", b"\x55\x35")[0]]


def test_assembler_becomes_calls():
    """Operands keep their order; what is not understood is an error."""
    text = 'asm volatile("st.shared.v2.f32 [%0], {%1, %2};" :: "r"(own), "f"(f(a, b)), "f"((float)c) : "memory");\nx();'
    assert without_assembler(text) == "st_shared_v2_f32(own, f(a, b), (float)c);\nx();"
    with pytest.raises(AssertionError, match="was not understood"):
        without_assembler('asm("bar.sync 0;");')
    with pytest.raises(AssertionError, match="operands must be in order"):
        without_assembler('asm("ld.shared.f32 %1, [%0];" : "=f"(x) : "r"(at));')


@pytest.mark.parametrize("name", ["one_event", "few_classes", "many_classes", "any_classes"])
def test_every_kernel_is_read(name):
    """No statement in assembler is left in any of them."""
    assert "asm" not in without_assembler(gpu.source(name, {"K": 10})).replace("_asm", "")
