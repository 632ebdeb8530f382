"""A public name without an entry in the reference is a warning, and so fails a strict build."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sphinx.util import logging

ROOMS = [
    "binning",
    "curves",
    "decide",
    "engines",
    "errors",
    "inference",
    "metrics",
    "plots",
    "readers",
    "recalibrate",
    "report",
    "stats",
    "streams",
    "toolbox",
    "torch",
]
log = logging.getLogger(__name__)


def public_names() -> set[str]:
    """Every name that the package or one of its rooms offers in `__all__`, by the object behind it."""
    found = set()
    for module in ("believable", *(f"believable.{room}" for room in ROOMS)):
        room = import_module(module)
        found |= {f"{module}.{name}" for name in getattr(room, "__all__", ()) if name != "__version__"}
    return found


def check(app: Any, _: Any) -> None:
    listed = {name.rsplit(".", 1)[-1] for name in app.env.domaindata["py"]["objects"]}
    for name in sorted(public_names()):
        if name.rsplit(".", 1)[-1] not in listed:
            log.warning("%s is public, but the reference does not mention it", name)


def setup(app: Any) -> dict[str, bool]:
    app.connect("env-updated", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
