"""What the ``record_<peer>.py`` scripts share: evaluate a call that is written as text, keep it beside its value."""

from __future__ import annotations

import json
import math
import platform
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from inputs import Input, digest, inputs


def plain(value: Any) -> Any:
    """Floats, lists and dicts that JSON knows; NaN and infinities as the strings "NaN", "Infinity", "-Infinity"."""
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


class Recorder:
    """Collects records of one package and writes them with their birth certificate."""

    def __init__(
        self,
        package: str,
        names: dict[str, Any],
        also: tuple[str, ...] = (),
        note: str = "",
        on: Callable[[], dict[str, Input]] = inputs,
    ) -> None:
        self.package, self.names, self.also, self.note, self.on = package, names, also, note, on()
        self.records: list[dict[str, Any]] = []

    def __call__(self, name: str, call: str, quantity: str, **args: Any) -> None:
        """Evaluate ``call`` with ``p``, ``y``, ``w`` of the input; an exception is recorded as ``error``."""
        given = self.on[name]
        text = call.format(**{key: repr(v) for key, v in args.items()})
        record = {"input": name, "call": text, "quantity": quantity, "args": args}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                record["value"] = plain(eval(text, {**self.names, **given._asdict()}))
            except Exception as error:  # what a peer refuses is also a fact about it
                record["value"] = None
                record["error"] = f"{type(error).__name__}: {error}"
        self.records.append(record)

    def versions(self) -> dict[str, str]:
        """Of the package, of Python and of what the package computes with."""
        return {
            "version": "1" if self.package == "array_split" else version(self.package),
            "python": platform.python_version(),
            "numpy": np.__version__,
            **{name: version(name) for name in self.also},
        }

    def write(self) -> None:
        """Write to the path given on the command line."""
        certificate = {"package": self.package, **self.versions(), "inputs_sha256": digest(self.on)}
        if self.note:
            certificate["note"] = self.note
        head = json.dumps(certificate, indent=1)[:-2]
        lines = ",\n  ".join(json.dumps(record) for record in self.records)
        Path(sys.argv[1]).write_text(f'{head},\n "records": [\n  {lines}\n ]\n}}\n')


def binary(keep: Callable[[Input], bool] = lambda given: True) -> Iterator[tuple[str, Input]]:
    """Inputs with one column of scores, unweighted unless ``keep`` says otherwise."""
    return ((name, g) for name, g in inputs().items() if g.p.ndim == 1 and g.w is None and keep(g))


def matrices() -> Iterator[tuple[str, Input]]:
    """Inputs with one column per class, unweighted."""
    return ((name, g) for name, g in inputs().items() if g.p.ndim == 2 and g.w is None)


def weighted() -> Iterator[tuple[str, Input]]:
    """Inputs that carry weights."""
    return ((name, g) for name, g in inputs().items() if g.w is not None)
