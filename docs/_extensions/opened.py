"""A link to a page in `_static` (the printable cheat sheet) opens it; Sphinx alone would have it downloaded."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.util.osutil import relative_uri


def opened(app: Any, doctree: nodes.document, page: str) -> None:
    """Links that can be checked as files are, and followed as pages are."""
    if app.builder.format != "html":
        return
    for link in list(doctree.findall(addnodes.download_reference)):
        target = link["reftarget"]
        if "filename" in link and "_static/" in target and target.endswith(".html"):
            uri = relative_uri(app.builder.get_target_uri(page), target[target.index("_static/") :])
            link.replace_self(nodes.reference("", "", *link.children, refuri=uri, internal=True))


def setup(app: Any) -> dict[str, bool]:
    app.connect("doctree-resolved", opened)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
