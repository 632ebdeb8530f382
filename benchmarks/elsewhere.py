"""Our calls with the kernels in NumPy, timed in a process of their own: which kernels run is decided on import.

The process stays and answers one request after the other, so that its samples are taken in turns with those of this
process, which waits meanwhile. Arrays and reference values go there by files, and only numbers come back.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np


class Process:
    """A Python with BELIEVABLE_KERNELS=numpy that knows the operations by their place in the list."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._python: Any = None

    @property
    def pids(self) -> list[int]:
        """Of the process, once it runs."""
        return [] if self._python is None else [self._python.pid]

    def open(self, place: int, arrays: tuple[Any, Any], truth: Any) -> Elsewhere:
        """Hand over the arrays of an operation."""
        for name, value in zip(("p", "y", "truth"), (*arrays, truth), strict=True):
            np.save(Path(self._folder.name) / f"{name}.npy", np.asarray(value))
        lists = isinstance(arrays[0], list)
        return Elsewhere(self, {"place": place, "folder": self._folder.name, "lists": lists})

    def ask(self, request: dict[str, Any]) -> Any:
        """One answer to one request."""
        if self._python is None:
            environment = {**os.environ, "BELIEVABLE_KERNELS": "numpy"}
            command = [sys.executable, "-m", "benchmarks.elsewhere"]
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            self._python = subprocess.Popen(command, env=environment, **pipes)
        self._python.stdin.write(json.dumps(request) + "\n")
        self._python.stdin.flush()
        answer = json.loads(self._python.stdout.readline())
        if "failure" in answer:
            raise RuntimeError(answer["failure"])
        return answer

    def close(self) -> None:
        """End the process and forget the files."""
        if self._python is not None:
            self._python.stdin.close()
            self._python.stdout.close()
            self._python.wait()
            self._python = None
        self._folder.cleanup()


class Elsewhere:
    """A candidate: the first call of an operation, there. What it returns is how far it is off."""

    def __init__(self, process: Process, about: dict[str, Any]) -> None:
        self._process, self._about = process, about
        self._process.ask({**about, "loops": 0})

    def sample(self, loops: int) -> tuple[float, float]:
        """Seconds per call, and how far its value is off."""
        answer = self._process.ask({**self._about, "loops": loops})
        return answer["seconds"], answer["off"]


def _serve() -> None:
    """Answer requests until there are no more; no loops means: read the arrays."""
    from benchmarks.literal import off
    from benchmarks.operations import operations
    from benchmarks.timing import sample

    listed = operations()
    ready: Any = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            call = listed[request["place"]].calls[0]
            if not request["loops"]:
                p, y, truth = (np.load(Path(request["folder"]) / f"{name}.npy") for name in ("p", "y", "truth"))
                plain = request["lists"] or p.ndim == 0  # a list, or the path of a file
                arrays = (p.tolist(), y.tolist()) if plain else (p, y)
                ready = call.prepare(*arrays)
                answer: dict[str, Any] = {}
            else:
                seconds, result = sample(ready, request["loops"])
                answer = {"seconds": seconds, "off": off(call.value(result, arrays), truth)}
        except Exception as error:  # told to whoever asked
            answer = {"failure": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    _serve()
