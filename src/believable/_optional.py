"""Packages that a plain installation lacks: which extra brings each, and the sentence for where one is missing."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, NamedTuple

from believable.errors import MissingDependencyError


class Package(NamedTuple):
    """What a package is called in a sentence, the extra of believable that installs it, and its oldest version."""

    name: str
    extra: str
    oldest: str  # as in pyproject.toml; a plain installation may find an older one, which something else needs


PACKAGES = {
    "matplotlib": Package("Matplotlib", "plots", "3.8"),
    "sklearn": Package("scikit-learn", "sklearn", "1.6"),
    "polars": Package("Polars", "files", "1.25"),
    "narwhals": Package("Narwhals", "files", "2.14"),
    "click": Package("click", "cli", "8.2"),
    "rich": Package("rich", "cli", "13.0"),
    "torch": Package("PyTorch", "torch", "2.4"),
}
DISTRIBUTIONS = {"sklearn": "scikit-learn"}  # where pip has another name than `import`
_unused: set[str] = set()


def load(module: str, what: str) -> Any:
    """Import a module, or raise one sentence: `what` (such as "plots need"), the package, and how to install it."""
    if is_too_old(_package_of(module)):
        raise missing(what, module)
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if _package_of(error.name) != _package_of(module):  # it is there, but something that it needs is not
            raise
        raise missing(what, module) from error


def missing(what: str, module: str) -> MissingDependencyError:
    """Return the error for a module that is not installed, or too old: see `load`.

    >>> print(missing("plots need", "matplotlib.figure"))
    plots need Matplotlib: pip install "believable[plots]"
    >>> print(missing("to_frame(backend='pandas') needs", "pandas"))
    to_frame(backend='pandas') needs pandas: pip install pandas
    """
    package = _package_of(module)
    if package not in PACKAGES:
        return MissingDependencyError(f"{what} {package}: pip install {package}")
    name, extra, oldest = PACKAGES[package]
    upgrade = ""
    if is_too_old(package):
        name, upgrade = f"{name} {oldest} or newer, and {_version(package)} is installed", "--upgrade "
    return MissingDependencyError(f'{what} {name}: pip install {upgrade}"believable[{extra}]"')


@cache
def is_too_old(package: str) -> bool:
    """Return whether a package is installed, but in a version that is older than believable can use."""
    if package not in PACKAGES or not _version(package):
        return False
    return _numbers(_version(package)) < _numbers(PACKAGES[package].oldest)


def _version(package: str) -> str:
    try:
        return version(DISTRIBUTIONS.get(package, package))
    except PackageNotFoundError:
        return ""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.match(r"[\d.]*\d|", version)[0].split(".") if number)  # type: ignore[index]


@cache
def is_installed(package: str) -> bool:
    """Return whether a package is there, in a version that is new enough, without importing it."""
    try:
        return find_spec(package) is not None and not is_too_old(package)
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
