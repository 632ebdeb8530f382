"""A picture of many panels, taller than wide, may fill the page; every other one is no taller than a screen.

Pictures of one frame are 983 pixels wide, those of several panels wider: by their size they get the class `panels`.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from docutils import nodes

ONE_FRAME = 1000  # pixels


def mark(app: Any, doctree: nodes.document) -> None:
    """Name the pictures that site.css lets grow."""
    for picture in doctree.findall(nodes.image):
        source = Path(app.srcdir, picture["uri"])
        if source.suffix == ".png" and source.is_file():
            width, height = struct.unpack(">II", source.read_bytes()[16:24])
            if width > ONE_FRAME and height > width:
                picture["classes"].append("panels")


def setup(app: Any) -> dict[str, bool]:
    app.connect("doctree-read", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
