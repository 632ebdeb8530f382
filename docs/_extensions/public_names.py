"""What is public; a public name without an entry in the reference is a warning, and so fails a strict build."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import believable

ROOMS = [
    name for name in dir(believable) if name not in believable.__all__ and name != "metrics"
]  # all at the top


@cache
def public_names() -> tuple[str, ...]:
    """The full name of everything in an `__all__`; what is offered at the top and in a room counts at the top."""
    found = [
        f"believable.{name}"
        for name in sorted(believable.__all__)
        if name not in ("__version__", "backend")
    ]
    at_the_top = {name: value_of(name) for name in found}
    for room in ROOMS:
        names = import_module(f"believable.{room}").__all__
        elsewhere = [
            name
            for name in names
            if at_the_top.get(f"believable.{name}") is not value_of(f"{room}.{name}")
        ]
        found += [f"believable.{room}.{name}" for name in elsewhere]
    return tuple(found)


def value_of(name: str) -> Any:
    """The object behind a name of the package, `torch.CalibrationMeter` say, with or without `believable.`"""
    *rooms, last = name.removeprefix("believable.").split(".")
    return getattr(import_module(".".join(["believable", *rooms])), last)


def check(app: Any, env: Any) -> None:
    """Warn of every public name that has no entry of its own."""
    from sphinx.util import logging

    entries = {name for name, entry in env.domaindata["py"]["objects"].items() if not entry.aliased}
    for name in public_names():
        if name not in entries:
            page = "docs/api/ has the pages, one line for each name or pattern"
            logging.getLogger(__name__).warning(
                "%s is public, but the reference has no entry for it: %s", name, page
            )


def setup(app: Any) -> dict[str, bool]:
    app.connect("env-updated", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
