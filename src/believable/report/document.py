"""`Audit`: the results of an audit as plain data, and its saved form."""

from __future__ import annotations

import json
import math
import os
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Self, Union, final, get_args, get_origin, get_type_hints

from believable._types import Kind
from believable._version import __version__
from believable.errors import SchemaError
from believable.metrics.table import known_metric
from believable.report.parts import Bin, CurveLine, Fix, Measured, Part, SegmentFix, SegmentSearch, Slice, Versus
from believable.report.verdicts import Verdict
from believable.stats.saved import open_saved

AUDIT_SCHEMA, AUDIT_VERSION = "believable.Audit", 2
NOT_FINITE_IN_JSON = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}  # JSON has no such numbers


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The results of an audit, as plain data: numbers, text, and small records of them.

    `print` it for the answer, the evidence and what to do; `print(audit.to_text())` adds every table. A notebook
    displays it as HTML; `to_html`, `to_markdown` and `to_json` write it.

    Attributes
    ----------
    title, taken : str
        The name of what was audited, and which columns were read as what.
    kind : {"binary", "multiclass", "multilabel"}
        Whether the scores are for one event, for classes, or for independent labels.
    n : int
        The number of rows.
    effective_n : float
        The number of rows of equal weight that carry as much information.
    n_clusters : int or None
        The number of clusters of rows; None if none were given.
    weighted : bool
        Whether the rows have weights.
    pairs : bool
        Whether the scores are confidences in an answer, and the outcomes whether it was right.
    dropped : dict of str to int
        How many rows were left out, by reason.
    classes : tuple of str
        The names of the classes, in the order of the columns; for one event, the names of its two outcomes.
    rates : tuple of float
        The observed rate of each class; for one event, its rate alone.
    verdict : Verdict
        The answer and the evidence for it.
    metrics : tuple of Measured
        The metrics with intervals and noise floors, calibration first.
    table : tuple of Bin
        The reliability table, in the bins of the verdict.
    lines : tuple of CurveLine
        Calibration curves with bands.
    parts : tuple of Part
        The classes, worst first; only the worst if there are many.
    n_parts : int
        The number of all classes; 0 if single classes were not examined.
    subgroups : tuple of Part
        The subgroups, column by column.
    fix : Fix or None
        The recommended recalibration; None if none was tried, for the reason in `no_fix`.
    no_fix : str
        Why no recalibration was tried.
    versus : tuple of Versus
        The comparison with other predictions for the same rows.
    other : str
        The name of these other predictions.
    advice, caveats, notes : tuple of str
        What to do; what to keep in mind; remarks on how the data were read.
    command : str
        A line to copy, for the shell or for Python, that follows the advice; "" if there is nothing to do.
    made_on : str
        The date of the audit, such as 2026-11-30.
    slices : tuple of Slice
        The statistics that the HTML report computes from.
    left_out : str
        What was too large for the HTML report; "" if it holds everything.
    segments : SegmentSearch or None
        The segments that differ from the other rows; None if they were not searched for.
    segment_fix : SegmentFix or None
        What maps by segment gain, where segments call for them.
    package : str
        The version of believable that made the audit.
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
    lines: tuple[CurveLine, ...]
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
    command: str
    made_on: str
    slices: tuple[Slice, ...]
    left_out: str
    segments: SegmentSearch | None = None
    segment_fix: SegmentFix | None = None
    package: str = __version__

    def __getitem__(self, name: str) -> Measured:
        """Return a metric by its name, its alias, or what scikit-learn calls it."""
        row = known_metric(name)
        for measured in self.metrics:
            if name in (measured.name, measured.alias) or (row is not None and row.name == measured.name):
                return measured
        known = ", ".join(measured.alias for measured in self.metrics)
        raise KeyError(f"this audit has no metric {name!r}; it has {known}")

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary that JSON can hold, with the name and version of its schema."""
        return {"schema": AUDIT_SCHEMA, "version": AUDIT_VERSION} | {
            name: to_plain(getattr(self, name)) for name in self.__dataclass_fields__
        }

    @classmethod
    def from_dict(cls, saved: Any) -> Self:
        """Load what `to_dict` returned; raise `SchemaError` for a damaged dictionary or one from elsewhere."""
        open_saved(saved, AUDIT_SCHEMA, AUDIT_VERSION)
        if saved["version"] < AUDIT_VERSION:
            raise SchemaError("this audit was saved by an older version, which had other rules: run the audit again")
        fields = {name: entry for name, entry in saved.items() if name not in ("schema", "version")}
        return cls(**dataclass_fields(cls, fields, "audit"))

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the audit as JSON, and write it to a file if a path is given."""
        text = json.dumps(self.to_dict(), allow_nan=False)
        return written(text, path)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Load the text that `to_json` returned (the text itself, not the name of a file)."""
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
        """Return the audit as Markdown, for a pull request or model card, and write it to a file if a path is given."""
        from believable.report.markdown import as_markdown

        return written(as_markdown(self), path)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the audit as one self-contained HTML page, and write it to a file if a path is given."""
        from believable.report.html import as_page

        return written(as_page(self), path)

    def to_text(self, *, full: bool = True) -> str:
        """Return the audit as plain text: every table, or (full=False) the answer, the evidence and what to do."""
        from believable.report.text import as_text

        return as_text(self, full=full)

    def __str__(self) -> str:
        return self.to_text(full=False)

    def __repr__(self) -> str:
        return f"Audit({self.title or self.taken!r}, n={self.n}, {self.verdict.label})"

    def _repr_html_(self) -> str:
        from believable.report.html import as_cell

        return as_cell(self)


def written(text: str, path: str | os.PathLike[str] | None) -> str:
    """Return the text, and write it to a file if a path is given, in such a way that no file is left half-written."""
    if path is not None:
        from believable._write import write_beside

        with write_beside(path) as beside:
            Path(beside).write_text(text, encoding="utf-8")
    return text


# --- the saved form: frozen dataclasses as JSON and back, every field checked by its type, nothing executed -----------


def to_plain(value: Any) -> Any:
    """Convert a value to what JSON can hold: dictionaries, lists, numbers, text."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, dict):
        return {name: to_plain(entry) for name, entry in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value


def from_plain(kind: Any, plain: Any, where: str) -> Any:
    """Convert what `to_plain` returned back to a type; a `SchemaError` names the entry that does not fit."""
    origin = get_origin(kind)
    if kind is Any:
        return plain
    if origin in (Union, UnionType):
        return _of_union(get_args(kind), plain, where)
    if origin is Literal:
        return _checked(plain, plain in get_args(kind), f"one of {get_args(kind)}", where)
    if origin is tuple:
        _checked(plain, isinstance(plain, list), "a list", where)
        (entry, *_) = get_args(kind)
        return tuple(from_plain(entry, one, f"{where}[{i}]") for i, one in enumerate(plain))
    if origin is dict:
        _checked(plain, isinstance(plain, dict), "an object", where)
        return {name: from_plain(get_args(kind)[1], one, f"{where}.{name}") for name, one in plain.items()}
    if is_dataclass(kind):
        return _of_dataclass(kind, plain, where)
    if kind is float:
        if isinstance(plain, str) and plain in NOT_FINITE_IN_JSON:
            return NOT_FINITE_IN_JSON[plain]
        number = isinstance(plain, (int, float)) and not isinstance(plain, bool)
        return float(_checked(plain, number, "a number", where))
    if kind is int:
        return _checked(plain, isinstance(plain, int) and not isinstance(plain, bool), "an integer", where)
    return _checked(plain, isinstance(plain, kind), f"a {kind.__name__}", where)


def _of_union(kinds: tuple[Any, ...], plain: Any, where: str) -> Any:
    if plain is None and NoneType in kinds:
        return None
    (kind,) = [one for one in kinds if one is not NoneType]
    return from_plain(kind, plain, where)


def _of_dataclass(kind: Any, plain: Any, where: str) -> Any:
    if hasattr(kind, "from_dict"):
        return kind.from_dict(plain)
    return kind(**dataclass_fields(kind, plain, where))


def dataclass_fields(kind: Any, plain: Any, where: str) -> dict[str, Any]:
    """Return the fields of a dataclass, each checked by its type."""
    _checked(plain, isinstance(plain, dict), "an object", where)
    known = {item.name: item for item in fields(kind)}
    missing = [
        name
        for name, item in known.items()
        if name not in plain and item.default is MISSING and item.default_factory is MISSING
    ]
    unknown = sorted(set(plain) - set(known))
    if missing or unknown:
        raise SchemaError(f"the saved {where} lacks {missing} and has unknown fields {unknown}")
    hints = get_type_hints(kind)
    return {name: from_plain(hints[name], entry, f"{where}.{name}") for name, entry in plain.items()}


def _checked(plain: Any, fine: bool, wanted: str, where: str) -> Any:
    if not fine:
        raise SchemaError(f"the saved {where} must be {wanted}, got {str(plain)[:60]!r}")
    return plain
