"""How much of a public call is spent in kernels that have a compiled twin.

While a call is sampled, every name in believable that is bound to such a kernel is bound to a stand-in that looks at
the clock; a kernel called by another is counted once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from benchmarks.calls import load


class KernelTime:
    """A candidate whose clock runs only inside kernels."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._spent, self._depth = 0.0, 0
        self.used: set[str] = set()

    def sample(self, loops: int) -> tuple[float, None]:
        """Seconds in kernels per call."""
        self._spent = 0.0
        with self._watched():
            for _ in range(loops):
                self._call()
        return self._spent / loops, None

    @contextmanager
    def _watched(self) -> Iterator[None]:
        chosen = _kernels()
        stand_ins = {id(kernel): self._stand_in(name, kernel) for name, kernel in chosen.items()}
        bound = [
            (vars(module), name, value)
            for path, module in list(sys.modules.items())
            if path.partition(".")[0] == "believable" and not path.startswith("believable._kernels.compiled")
            for name, value in list(vars(module).items())
            if id(value) in stand_ins
        ]
        for names, name, value in bound:
            names[name] = stand_ins[id(value)]
        try:
            yield
        finally:
            for names, name, value in bound:
                names[name] = value

    def _stand_in(self, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **choices: Any) -> Any:
            if self._depth:
                return kernel(*args, **choices)
            self._depth += 1
            self.used.add(name)
            start = perf_counter()
            try:
                return kernel(*args, **choices)
            finally:
                self._spent += perf_counter() - start
                self._depth -= 1

        return watched


def _kernels() -> dict[str, Callable[..., Any]]:
    """Those that run, by name."""
    backend = load("believable._kernels.twins")
    load("believable.recalibrate")
    return {name: pair[backend.backend != "numpy"] for name, pair in backend.TWINS.items()}


def any_kernels() -> bool:
    """Whether there are compiled kernels, and they run."""
    return load("believable._kernels.twins").backend == "compiled" and bool(_kernels())
