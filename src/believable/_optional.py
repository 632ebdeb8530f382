"""Packages that a plain installation lacks: which extra brings each, and the sentence for where one is missing."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from believable.errors import MissingDependencyError


class Package(NamedTuple):
    """What a package is called in a sentence, and the extra of believable that installs it."""

    name: str
    extra: str


PACKAGES = {
    "matplotlib": Package("Matplotlib", "plots"),
    "sklearn": Package("scikit-learn", "sklearn"),
    "polars": Package("Polars", "files"),
    "narwhals": Package("Narwhals", "files"),
    "click": Package("click", "cli"),
    "rich": Package("rich", "cli"),
    "torch": Package("PyTorch", "torch"),
}
_unused: set[str] = set()


def load(module: str, what: str) -> Any:
    """Import a module, or raise one sentence: `what` (such as "plots need"), the package, and how to install it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if _package_of(error.name) != _package_of(module):  # it is there, but something that it needs is not
            raise
        raise missing(what, module) from error


def missing(what: str, module: str) -> MissingDependencyError:
    """Return the error for a module that is not installed: see `load`.

    >>> print(missing("plots need", "matplotlib.figure"))
    plots need Matplotlib: pip install "believable[plots]"
    >>> print(missing("to_frame(backend='pandas') needs", "pandas"))
    to_frame(backend='pandas') needs pandas: pip install pandas
    """
    package = _package_of(module)
    if package not in PACKAGES:
        return MissingDependencyError(f"{what} {package}: pip install {package}")
    name, extra = PACKAGES[package]
    return MissingDependencyError(f'{what} {name}: pip install "believable[{extra}]"')


@cache
def is_installed(package: str) -> bool:
    """Return whether a package is there, without importing it."""
    try:
        return find_spec(package) is not None
    except ImportError:  # a finder that refuses it
        return False


def is_used(package: str) -> bool:
    """Return whether to use a package where it only adds something: it is installed, and nobody does without it."""
    return package not in _unused and is_installed(package)


def do_without(package: str) -> None:
    """Do without a package in this process, also where it is installed, because its import takes long."""
    _unused.add(package)


def stand_in(name: str, what: str, module: str) -> Any:
    """Return a class in place of one whose package is missing: making an object of it raises the sentence of `load`.

    Unlike an error at import, it leaves `from believable import *` and everything that lists names to work.
    """

    def refuse(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise missing(what, module)

    return type(name, (), {"__new__": refuse, "__doc__": f"Not available: {missing(what, module)}"})


def _package_of(module: str | None) -> str:
    return (module or "").partition(".")[0]
