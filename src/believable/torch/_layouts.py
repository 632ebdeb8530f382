"""What to count of tensors, if nothing is said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from believable._types import Kind, Notion, Spacing
from believable.errors import InputError
from believable.stats import Layout
from believable.torch._tally import check_views
from believable.views import View

NOTIONS: dict[Kind, tuple[Notion, ...]] = {"binary": ("binary",), "multiclass": ("confidence",)}


def layout_for(
    kind: Kind,
    n_classes: int,
    dtype: str,
    notions: Sequence[Notion | View] | None,
    cells: int | None,
    spacing: Spacing | Sequence[Spacing] | None,
) -> Layout:
    """As `Layout.of`, but of a matrix only the confidence: class-wise counts cost an addition for every entry."""
    if notions is not None and (isinstance(notions, (str, View)) or not isinstance(notions, Iterable)):
        raise InputError(f"notions must be a list of notions, got {notions!r}")
    named = NOTIONS[kind] if notions is None else tuple(notions)
    layout = Layout.of(kind, n_classes, dtype, notions=named, cells=cells, spacing=spacing)
    check_views(layout)
    return layout
