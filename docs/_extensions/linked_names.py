"""`name` is code, and a link where it is a name with an entry in the reference: in docstrings, their types, and pages.

A name is looked for where it stands first: in its class, its room, the package, then the other rooms. The parameters of
a function are not looked for: `interval` may be one. Where a page speaks of other libraries, a name may be theirs: only
those that begin with `believable.` are ours there.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from public_names import ROOMS
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util.nodes import make_refnode

WORD = re.compile(r"\b(?:[a-z]+\.)*[A-Z]\w+\b")
LINKED_ALREADY = (nodes.reference, nodes.title, addnodes.pending_xref)


def name_role(
    role: str, raw: str, text: str, line: int, inliner: Any, options: Any = None, content: Any = ()
) -> Any:
    return [pending(text, nodes.literal(raw, text))], []


def pending(text: str, shown: nodes.Element) -> addnodes.pending_xref:
    return addnodes.pending_xref("", shown, refdomain="", reftype="name", reftarget=text)


class LinkNames(SphinxTransform):
    """Names that no role marks: code on a page, and types in a docstring, which come out in italics."""

    default_priority = 500

    def apply(self, **kwargs: Any) -> None:
        for code in list(self.document.findall(nodes.literal)):
            if not any(
                isinstance(parent, LINKED_ALREADY) for parent in (code.parent, code.parent.parent)
            ):
                code.replace_self(pending(code.astext(), code.deepcopy()))
        for field in self.document.findall(nodes.field_body):
            for italics in list(field.findall(nodes.emphasis)):
                italics[:] = linked(italics.astext())


def linked(text: str) -> list[nodes.Node]:
    """A text, cut where a name begins or ends."""
    parts: list[nodes.Node] = []
    end = 0
    for found in WORD.finditer(text):
        parts += [
            nodes.Text(text[end : found.start()]),
            pending(found[0], nodes.inline("", found[0])),
        ]
        end = found.end()
    return [*parts, nodes.Text(text[end:])]


def resolve(
    app: Any, env: Any, node: addnodes.pending_xref, shown: nodes.Element
) -> nodes.Element | None:
    """A link to the entry, or what was there, without a warning: not every name in a docstring is public."""
    if node["reftype"] != "name":
        return None
    if is_of_others(node) and not node["reftarget"].startswith("believable."):
        return shown
    target = re.sub(r"\(.*\)$", "", node["reftarget"]).removeprefix("believable.")
    objects = env.domaindata["py"]["objects"]
    for place in places(node, target):
        if f"{place}.{target}" in objects:
            entry = objects[f"{place}.{target}"]
            return make_refnode(
                app.builder,
                node["refdoc"],
                entry.docname,
                entry.node_id,
                shown,
                f"{place}.{target}",
            )
    return shown


def is_of_others(node: addnodes.pending_xref) -> bool:
    """Whether it stands where other libraries are spoken of: their pages, and the lists of the table of metrics."""
    page = node["refdoc"]
    if page == "metrics":
        while node.parent is not None and not isinstance(node, nodes.list_item):
            node = node.parent
        return isinstance(node, nodes.list_item)
    return page in ("differs", "benchmarks") or page.startswith("migrating/")


def places(node: nodes.Element, target: str) -> list[str]:
    """Where to look for a name, the nearest first; nowhere, if it is a parameter of what is described here."""
    around = [f"believable.{room}" for room in ROOMS if node["refdoc"] == room]  # docs/torch.md
    while (node := node.parent) is not None:
        if isinstance(node, addnodes.desc):
            signature = node[0]
            if any(
                name.astext() == target
                for part in signature.findall(addnodes.desc_parameter)
                for name in part[:1]
            ):
                return []
            full = ".".join(filter(None, (signature.get("module"), signature.get("fullname"))))
            around += [full, full.rpartition(".")[0]]
    return [*around, "believable", *(f"believable.{room}" for room in ROOMS)]


def setup(app: Any) -> dict[str, bool]:
    app.add_role("name", name_role)
    app.add_transform(LinkNames)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
