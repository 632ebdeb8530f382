"""Kernels in CUDA C++ on a machine without a GPU: their text, compiled for the host and run on tensors of the CPU.

`cuda_host.h` writes what the kernels use of CUDA in C++. Of the text nothing is changed but statements in assembler,
which a compiler for the host cannot read: each becomes a call of a function of that name.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from believable.torch.counting import gpu

HEADER = Path(__file__).with_name("cuda_host.h")
FLAGS = [
    "-std=c++17",
    "-O1",
    "-fno-strict-aliasing",
    "-ffp-contract=off",
    "-U_FORTIFY_SOURCE",
    "-fPIC",
    "-shared",
    "-w",
]
ERRORS = {1: "threads of a block wait for each other in vain", 2: "a block wrote behind its shared memory"}
# asm volatile("name operands;" : outputs : inputs : clobbers), of which the last two may be missing
ASSEMBLER = re.compile(r'\basm(?:\s+volatile)?\s*\(\s*"([\w.]+)([^"]*);"\s*:(.*?)\)\s*;(?=\s|$)', re.DOTALL)
OPERAND = re.compile(r'"[=+]?[rfdhl]"')


class HostKernel:
    """A compiled kernel, launched as one of torch is: blocks, threads, arguments and bytes of shared memory."""

    def __init__(self, library: Path, made_by: HostCompiler) -> None:
        self._library = ctypes.CDLL(str(library))
        self._made_by = made_by

    def __call__(self, blocks, threads, given, shared):
        """Run every block; tensors are passed as pointers and numbers as double, in the order of the kernel."""
        assert blocks[1:] == threads[1:] == (1, 1)
        assert len(given) == self._library.argument_count()
        assert all(not isinstance(one, torch.Tensor) or one.is_contiguous() or one.ndim == 3 for one in given)
        values = [
            ctypes.c_void_p(one.data_ptr()) if isinstance(one, torch.Tensor) else ctypes.c_double(one) for one in given
        ]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        error = self._library.launch(blocks[0], threads[0], shared, int(self._made_by.downwards), pointers)
        assert error == 0, ERRORS[error]


def without_assembler(text: str) -> str:
    """The text with `asm("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(at));` written `ld_shared_f32(x, at);`."""

    def call(found: re.Match[str]) -> str:
        name, places, rest = found.groups()
        operands = _operands(rest)
        named = [int(place) for place in re.findall(r"%(\d)", places)]
        assert list(dict.fromkeys(named)) == list(range(len(operands))), f"{name}: operands must be in order"
        return f"{name.replace('.', '_')}({', '.join(operands)});"

    translated = ASSEMBLER.sub(call, text)
    assert not re.search(r"\basm\b", translated), "a statement in assembler was not understood"
    return translated


def _operands(text: str) -> list[str]:
    """What stands in the parentheses behind each constraint: `"=f"(x), "=f"(y) : "r"(at) : "memory"` gives x, y, at."""
    found = []
    for constraint in OPERAND.finditer(text):
        start = text.index("(", constraint.end())
        depth = 0
        for end in range(start, len(text)):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if depth == 0:
                break
        found.append(text[start + 1 : end])
    return found


class HostCompiler:
    """Compiles kernels into a folder, each once.

    `downwards` says in which order the threads of a block take their turns.
    """

    downwards = False

    def __init__(self, compiler: str, folder: Path) -> None:
        self._compiler, self._folder = compiler, folder
        self._made: dict[str, Path] = {}

    def kernel(self, name: str, _device: str = "cpu", *, file: str = "", **macros: object) -> HostKernel:
        """A kernel of the library with these macros, as `gpu.kernel` gives it."""
        return self.compiled(name, gpu.source(file or name, macros))

    def compiled(self, name: str, source: str) -> HostKernel:
        """The kernel of that name in a text in CUDA C++."""
        text = f'#include "{HEADER}"\n{without_assembler(source)}\nLAUNCHER_OF({name})\n'
        if text not in self._made:
            path = self._folder / f"{name}_{len(self._made)}"
            path.with_suffix(".cpp").write_text(text)
            command = [self._compiler, *FLAGS, "-o", f"{path}.so", f"{path}.cpp"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{path}.cpp does not compile:\n{done.stderr[:4000]}"
            self._made[text] = path.with_suffix(".so")
        return HostKernel(self._made[text], self)

    @contextmanager
    def in_place_of_a_gpu(self, monkeypatch) -> Iterator[None]:
        """Let `believable.torch.counting.gpu` launch its kernels here, for tensors of the CPU."""
        with monkeypatch.context() as patch:
            patch.setattr(gpu, "kernel", self.kernel)
            patch.setattr(gpu, "multiprocessors", lambda _: 1)
            patch.setattr(torch.cuda, "current_device", lambda: 0)
            yield
