"""`Counts`: the tally of a meter with the rows that it ignored, as tensors that move, are saved and add up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from believable._types import Kind, Notion, Spacing
from believable.errors import InputError, MergeError, UndefinedError
from believable.stats import Layout, Summary
from believable.torch._count import count
from believable.torch._rows import Rows
from believable.torch._tally import Tally, check_views
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


@dataclass(frozen=True, slots=True)
class Counts:
    """What a meter has counted.

    Attributes
    ----------
    tally : Tally
    ignored : Tensor of int64
        Rows left out for their label.
    typed : bool
        Whether the type of the scores is known, that of the layout; without rows it may still become the other.
    """

    tally: Tally
    ignored: Tensor
    typed: bool = False

    @classmethod
    def empty(cls, layout: Layout, device: Any = None, *, typed: bool = False) -> Counts:
        """Nothing counted yet. In inference mode too these are tensors that can be added to after it."""
        with torch.inference_mode(False):
            return cls(Tally.empty(layout, device), torch.zeros((), dtype=torch.int64, device=device), typed)

    @property
    def device(self) -> Any:
        """Where the tensors are."""
        return self.tally.sums.device

    def named(self) -> dict[str, Tensor]:
        """The tensors, by name."""
        tally = self.tally
        tables = {f"tables.{i}": table for i, table in enumerate(tally.tables)}
        return tables | {
            "sums": tally.sums,
            "by_class": tally.by_class,
            "invalid": tally.invalid,
            "ignored": self.ignored,
        }

    def holding(self, tensors: list[Tensor]) -> Counts:
        """The same with other tensors, in the order of `named`."""
        *tables, sums, by_class, invalid, ignored = tensors
        return Counts(Tally(self.tally.layout, tables, sums, by_class, invalid), ignored, self.typed)

    def to(self, device: Any) -> Counts:
        """On another device; tensors without memory become zeros."""
        with torch.inference_mode(False):
            return self.holding(
                [torch.zeros_like(t, device=device) if t.is_meta else t.to(device) for t in self.named().values()]
            )

    def with_weights(self) -> Counts:
        """With room for weights."""
        with torch.inference_mode(False):
            return replace(self, tally=self.tally.with_weights())

    def of_type(self, layout: Layout) -> Counts:
        """The same tensors for scores of the type of this layout: cells are as many for one type as for the other."""
        if self.typed and self.tally.layout != layout:
            was, now = self.tally.layout.dtype, layout.dtype
            raise InputError(
                f"its scores are {now}, those before were {was}, and bins differ between the two; pass "
                f"dtype={was!r} to have every batch converted"
            )
        tally = self.tally
        return Counts(Tally(layout, tally.tables, tally.sums, tally.by_class, tally.invalid), self.ignored, True)

    def add(self, rows: Rows, layout: Layout) -> Counts:
        """Count rows, in place but for the room for weights."""
        counts = self.of_type(layout)
        if rows.weights is not None:
            counts = counts.with_weights()
        with torch.no_grad():
            count(counts.tally, rows)
            if rows.ignore_index is not None:
                counts.ignored.add_((rows.labels == rows.ignore_index).sum())
        return counts

    def merged(self, other: Counts) -> Counts:
        """What both have counted; neither is changed."""
        if not other.typed:
            layout = self.tally.layout
        elif self.typed and self.tally.layout != other.tally.layout:
            was, now = self.tally.layout.dtype, other.tally.layout.dtype
            raise MergeError(
                f"cannot merge meters of {was} and {now} scores, because bins differ between the two: make both with "
                "the same dtype="
            )
        else:
            layout = other.tally.layout
        mine = replace(self, typed=False).of_type(layout)
        mine = replace(mine, typed=self.typed or other.typed)
        if mine.tally.weighted or other.tally.weighted:
            mine, other = mine.with_weights(), other.with_weights()
        with torch.inference_mode(False):
            pairs = zip(mine.named().values(), other.named().values(), strict=True)
            return mine.holding([here + there.to(here.device) for here, there in pairs])

    @property
    def n(self) -> int:
        """Rows counted; on a GPU this waits for what is under way."""
        return round(float(self.tally.sums[0]))

    def summary(self) -> Summary:
        """The statistic of the NumPy core."""
        self.tally.raise_if_invalid()
        ignored = int(self.ignored)
        if not self.n:
            raise UndefinedError("no rows have been counted yet: there is nothing to measure")
        return replace(self.tally.summary(), dropped={"ignored label": ignored} if ignored else {})
