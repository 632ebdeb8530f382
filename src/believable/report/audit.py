"""`Audit`: everything there is to say about some predictions, as plain data."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, final

from believable._types import Kind
from believable._version import __version__
from believable.errors import SchemaError
from believable.report._plain import dataclass_fields, to_plain
from believable.report.judgement import Verdict
from believable.report.parts import Bin, Fix, Line, Measured, Part, Slice, Versus
from believable.stats._saved import open_saved

SCHEMA, VERSION = "believable.Audit", 1


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What an audit found. Plain data: numbers, words, and small records of them.

    `print` it for the text form; in a notebook it shows itself; `to_html`, `to_markdown` and `to_json` write it.

    Attributes
    ----------
    title, taken : str
        What was audited, and what was read as what.
    kind : {"binary", "multiclass", "multilabel"}
    n : int
        Rows.
    effective_n : float
        Rows of equal weight that tell as much.
    n_clusters : int or None
        Clusters of rows, where they were named.
    weighted : bool
    pairs : bool
        Whether the scores are confidences in an answer, and what happens is that it is right.
    dropped : dict of str to int
        Rows that were left out, by reason.
    classes : tuple of str
        Names, in the order of the columns; of one event, its two outcomes.
    rates : tuple of float
        The share of each class; of one event, of its happening alone.
    verdict : Verdict
    metrics : tuple of Measured
        With interval and noise floor, calibration first.
    table : tuple of Bin
        The reliability table of the verdict's bins.
    lines : tuple of Line
        Calibration curves with bands.
    parts : tuple of Part
        Every class, worst first; of many, those that look worst.
    n_parts : int
        How many classes there are.
    subgroups : tuple of Part
        Subgroups, column by column.
    fix : Fix or None
        The recommended recalibration; None where there is none to recommend, for the reason in `no_fix`.
    no_fix : str
    versus : tuple of Versus
        Compared with other predictions for the same rows, called `other`.
    other : str
    advice, caveats, notes : tuple of str
        What to do; what to keep in mind; what the reader of the file had to say.
    slices : tuple of Slice
        The statistic that the page computes from.
    left_out : str
        What the page does not hold, being too large; "" where it holds everything.
    package : str
        The version that made it.
    """

    title: str
    taken: str
    kind: Kind
    n: int
    effective_n: float
    n_clusters: int | None
    weighted: bool
    pairs: bool
    dropped: dict[str, int]
    classes: tuple[str, ...]
    rates: tuple[float, ...]
    verdict: Verdict
    metrics: tuple[Measured, ...]
    table: tuple[Bin, ...]
    lines: tuple[Line, ...]
    parts: tuple[Part, ...]
    n_parts: int
    subgroups: tuple[Part, ...]
    fix: Fix | None
    no_fix: str
    versus: tuple[Versus, ...]
    other: str
    advice: tuple[str, ...]
    caveats: tuple[str, ...]
    notes: tuple[str, ...]
    slices: tuple[Slice, ...]
    left_out: str
    package: str = __version__

    def __getitem__(self, name: str) -> Measured:
        """A metric by name or alias."""
        for measured in self.metrics:
            if name in (measured.name, measured.alias):
                return measured
        known = ", ".join(measured.alias for measured in self.metrics)
        raise KeyError(f"this audit has no metric {name!r}; it has {known}")

    @property
    def exception(self) -> str:
        """The subgroup that is worst, in words, where the whole gives no cause to look for one; otherwise "".

        Where the whole is off too, however little, it is one that is worse than the whole for sure.
        """
        least = self.verdict.high if self.verdict.standing == "off" else 0.0
        flagged = [part for part in self.subgroups if part.flagged and (part.low or 0) > least]
        if self.verdict.tone in ("warn", "bad") or not flagged:
            return ""
        worst = max(flagged, key=lambda part: part.low or 0)
        return f"But {worst.column} = {worst.name} is off: {worst.in_words}."

    def to_dict(self) -> dict[str, Any]:
        """A dictionary that JSON can hold, with the name and version of its schema."""
        return {"schema": SCHEMA, "version": VERSION} | {
            name: to_plain(getattr(self, name)) for name in self.__dataclass_fields__
        }

    @classmethod
    def from_dict(cls, saved: Any) -> Self:
        """The audit behind `to_dict`; a damaged or foreign dictionary is refused."""
        open_saved(saved, SCHEMA, VERSION)
        fields = {name: entry for name, entry in saved.items() if name not in ("schema", "version")}
        return cls(**dataclass_fields(cls, fields, "audit"))

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The audit as JSON, written to a file if a path is given."""
        text = json.dumps(self.to_dict(), allow_nan=False)
        return _written(text, path)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The audit behind `to_json`: of its text, not of the name of a file."""
        try:
            saved = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            if text.endswith(".json") and "\n" not in text:
                raise SchemaError(
                    f"{text!r} is the name of a file: pass what is in it, from_json(Path({text!r}).read_text())"
                ) from error
            raise SchemaError(f"this is not JSON: {error}") from error
        return cls.from_dict(saved)

    def to_markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """The audit as Markdown, for a pull request or a model card."""
        from believable.report.markdown import as_markdown

        return _written(as_markdown(self), path)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The audit as one self-contained page, written to a file if a path is given."""
        from believable.report.html import as_page

        return _written(as_page(self), path)

    def __str__(self) -> str:
        from believable.report.text import as_text

        return as_text(self)

    def __repr__(self) -> str:
        return f"Audit({self.title or self.taken!r}, n={self.n}, {self.verdict.label})"

    def _repr_html_(self) -> str:
        from believable.report.html import as_cell

        return as_cell(self)


def _written(text: str, path: str | os.PathLike[str] | None) -> str:
    """The text, written to a file if a path is given: beside it first, so that nothing half-written is left."""
    if path is not None:
        from believable._write import write_beside

        with write_beside(path) as beside:
            Path(beside).write_text(text, encoding="utf-8")
    return text
