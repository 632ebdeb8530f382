"""The pages of the reference: what is public is listed by name or pattern, and everything else comes from docstrings.

    ```{entries}
    Predictions
    METRICS.*
    plots.draw_*
    ```

Each line is a name as users import it, without `believable.`; a pattern stands for all public names that fit it and
have no entry on the page yet. `METRICS.*` and `RECALIBRATORS.*` are what these tables hold, so that a new metric or
recalibrator is in the reference without an edit. `{summary}` is a table of all entries of its page, by section.
"""

from __future__ import annotations

import inspect
import re
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any

from docutils import nodes
from public_names import ROOMS, public_names, value_of
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

import believable
from believable.recalibrate import RECALIBRATORS

TABLES = {
    "METRICS.*": [f"believable.{name}" for name in sorted(believable.METRICS)],
    "RECALIBRATORS.*": [f"believable.recalibrate.{name}" for name in sorted(RECALIBRATORS)],
}

# What other rooms ask of a Predictions or a statistic, and no user.
ASKED_OF_ROWS = ["score_type", "label_kind", "moments", "row_moments", "borrowing", "check_view"]
ASKED_OF_ROWS += ["remembered", "remember", "remembering", "relabelled", "trusting"]
ASKED_OF_ALL = [
    "problem",
    "is_binary",
    "spacing",
    "holds_pairs",
    "read_sums",
    "read_bins",
    "read_points",
]
ASKED_OF_ALL += ["as_points", "cells_in", "n_rows", "warn_if_crowded"]
KINDS = ["Predictions", "BinStats", "CellStats", "Counts", "Readable", "ScoreSums", "Summary"]
INTERNAL = [f"Predictions.{name}" for name in ASKED_OF_ROWS]
INTERNAL += [f"{kind}.{name}" for kind in KINDS for name in ASKED_OF_ALL]
INTERNAL += ["Counts.n_classes", "Counts.default_notion", "ScoreSums.default_notion"]


class Entries(SphinxDirective):
    """Entries for names and patterns, made by autodoc."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        for module in (
            "believable",
            *(f"believable.{room}" for room in ROOMS),
        ):  # a new name is a reason to read again
            self.env.note_dependency(str(import_module(module).__file__))
        seen = self.env.temp_data.setdefault("entries", set())
        blocks = []
        for line in self.content:
            names = expanded(line.strip(), seen)
            if not names:
                raise self.error(
                    f"no public name fits {line!r}, or all that do have entries on this page already"
                )
            seen.update(names)
            blocks += [entry(name) for name in names]
        return list(self.parse_text_to_nodes("```{eval-rst}\n" + "\n".join(blocks) + "\n```"))


def expanded(line: str, seen: set[str]) -> list[str]:
    if "*" not in line:
        return [f"believable.{line}"]
    fitting = TABLES.get(line) or [
        name for name in public_names() if fnmatchcase(name, f"believable.{line}")
    ]
    return [
        name for name in fitting if name not in seen and callable(value_of(name))
    ]  # tables are described by hand


def entry(name: str) -> str:
    """The lines for one name: a class comes with its methods, but not with those of a base that has its own entry."""
    value = value_of(name)
    if not inspect.isclass(value):
        return f".. autofunction:: {name}\n"
    described_elsewhere = [
        base.__name__ for base in value.__mro__[1:] if is_public(base) or not is_ours(base)
    ]
    lines = [
        f".. autoclass:: {name}",
        "   :members:",
        f"   :inherited-members: {', '.join(described_elsewhere)}",
    ]
    if any(map(is_public, value.__bases__)):
        lines.append("   :show-inheritance:")
    return "\n".join(lines) + "\n"


def is_ours(value: Any) -> bool:
    return str(getattr(value, "__module__", "believable")).split(".")[0] == "believable"


def is_public(cls: type) -> bool:
    return any(
        name.endswith(f".{cls.__name__}") and value_of(name) is cls for name in public_names()
    )


def public_bases(app: Any, name: str, cls: Any, options: Any, bases: list[Any]) -> None:
    """Of the bases of a class, show those that have entries."""
    bases[:] = filter(is_public, bases)


def skip_foreign(
    app: Any, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Methods that scikit-learn or torch put into our classes are described there; internal ones nowhere."""
    function = getattr(member, "__func__", getattr(member, "fget", member))
    foreign = not is_ours(function) or re.fullmatch(r"set_\w+_request|extra_repr", name)
    return True if foreign or getattr(function, "__qualname__", "") in INTERNAL else None


def whole_sentence(
    app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Napoleon would take what comes before a colon for the type of a property, if it were on the first line."""
    if what == "property":
        lines[:0] = ["..", ""]  # an empty comment


class summary(nodes.General, nodes.Element):
    """Where the table of a page's entries goes."""


class Summary(SphinxDirective):
    """A table of all entries of the page: each name, and the first sentence of what is said about it."""

    def run(self) -> list[nodes.Node]:
        return [summary()]


def fill(app: Any, doctree: nodes.document) -> None:
    """Put the tables in their places, now that the entries are known."""
    for place in list(doctree.findall(summary)):
        rows: list[nodes.row] = []
        for section in doctree.findall(nodes.section):
            entries = [node for node in section.children if isinstance(node, addnodes.desc)]
            if entries:
                heading = nodes.paragraph("", section[0].astext())
                rows.append(nodes.row("", nodes.entry("", heading, morecols=1), classes=["group"]))
                rows += map(row, entries)
        columns = [nodes.colspec(colwidth=40), nodes.colspec(colwidth=60)]
        group = nodes.tgroup("", *columns, nodes.tbody("", *rows), cols=2)
        place.replace_self(nodes.table("", group, classes=["summary"]))


def row(desc: addnodes.desc) -> nodes.row:
    signature = desc[0]
    name = signature["fullname"].removeprefix("believable.")
    link = nodes.reference(
        "", "", nodes.literal("", name), refid=signature["ids"][0], internal=True
    )
    paragraphs = [
        part
        for part in desc[-1].findall(nodes.paragraph)
        if not part.astext().startswith("Bases: ")
    ]
    said = paragraphs[0].deepcopy() if paragraphs else nodes.paragraph()
    return nodes.row("", nodes.entry("", nodes.paragraph("", "", link)), nodes.entry("", said))


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("entries", Entries)
    app.add_directive("summary", Summary)
    app.connect("autodoc-process-bases", public_bases)
    app.connect("autodoc-process-docstring", whole_sentence, priority=400)  # before Napoleon
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("doctree-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
