"""Load public names when they are first used, from the list in `__init__.pyi`.

Type checkers and editors read the same stub, so nothing is listed twice. For any other name, the error says which
package has it, if one does.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def attach(namespace: dict[str, Any]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__`, which knows `__all__` too, and `__dir__` of the package.

    What was loaded is kept in its `namespace`. The table of metrics, and with it NumPy, is imported only for names that
    the list does not hold.
    """
    listed = dict(_imports(FOLDER / "__init__.pyi"))
    everything_in = listed.pop("*")

    @cache
    def places() -> dict[str, str]:
        return listed | dict.fromkeys(import_module(everything_in).PUBLIC_NAMES, everything_in)

    def load(name: str) -> Any:
        if name not in listed and _is_module(name):  # the import system asks for it before it imports it
            raise AttributeError(f"module 'believable' has no attribute {name!r}")
        known = listed if name in listed else places()
        public = sorted(name for name, place in known.items() if place != "believable")
        if name == "__all__":
            return public
        if name not in known:
            raise AttributeError(f"module 'believable' has no attribute {name!r}{_advice(name, public)}")
        place = known[name]
        value = import_module(f"believable.{name}") if place == "believable" else getattr(import_module(place), name)
        return namespace.setdefault(name, value)

    return load, lambda: sorted(places())


def _is_module(name: str) -> bool:
    """Return whether there is a module of this name, which the import system finds after the AttributeError."""
    return (FOLDER / name).is_dir() or (FOLDER / f"{name}.py").exists()


def _imports(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the names that a file imports from this package, each with its module."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "believable":
            for alias in node.names:
                yield alias.asname or alias.name, str(node.module)


def _advice(name: str, public: list[str]) -> str:
    """Return a clause that says where a name is, or which one may have been meant."""
    from believable.metrics import METRICS

    for row in METRICS.values():
        if name.lower() == row.alias:
            return f"; the metric of that name is believable.{row.name}"
    for package in _offers():
        if name in _offers()[package]:
            return f"; it is in {package}: from {package} import {name}"
    close = difflib.get_close_matches(name, public, n=1, cutoff=0.8)
    return f"; did you mean {close[0]}?" if close else ""


@cache
def _offers() -> dict[str, set[str]]:
    """Return the names that each public package offers, without importing any."""
    folders = (file.parent for file in sorted(FOLDER.glob("[a-z]*/__init__.py")))
    offers = {f"believable.{folder.name}": dict(_imports(folder / "__init__.py")).keys() for folder in folders}
    found = {package: {name for name in names if name[0] != "_"} for package, names in offers.items()}
    toolbox = ast.parse((FOLDER / "toolbox.py").read_text(encoding="utf-8")).body
    found["believable.toolbox"] = {node.name for node in toolbox if isinstance(node, ast.FunctionDef)}
    return found
