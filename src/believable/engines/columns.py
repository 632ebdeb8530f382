"""The columns of a frame, checked against its schema before anything is counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from believable._types import Kind
from believable.errors import InputError

LIST_TYPES = (nw.List, nw.Array)
TEXT_TYPES = (nw.String, nw.Categorical, nw.Enum)
MAX_COLUMNS_NAMED = 12  # the most column names that a message lists
HALF = getattr(nw, "Float16", nw.Float32)  # which narwhals 2.20, the oldest that is allowed, does not know
CAST = "cast it to a number first"
FIRST_INEXACT_INTEGER = 2**53  # above this float64 cannot represent every integer


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameColumns:
    """The columns to read, and how.

    Attributes
    ----------
    scores : tuple of str
        One column of P(y = 1), one for each class, or one whose entries are lists.
    width : int or None
        The number of scores in a list.
    dtype : {"float32", "float64"}
        The type of the scores; edges are rounded to it.
    label : str
        The column of labels.
    named : tuple or None
        The labels in the order of the classes; only the positive one if `pos_label` is true.
    pos_label : bool
        Whether only the positive label was named.
    text, boolean : bool
        Whether labels are stored as text, or as booleans.
    from_logits : bool
        Whether the scores are logits.
    weight : str or None
        The column of weights.
    by : tuple of str
        The columns of subgroups.
    """

    scores: tuple[str, ...]
    label: str
    weight: str | None
    by: tuple[str, ...]
    dtype: str
    width: int | None = None
    named: tuple[Any, ...] | None = None
    pos_label: bool = False
    text: bool = False
    boolean: bool = False
    from_logits: bool = False

    @property
    def kind(self) -> Kind:
        """The kind of predictions that the columns hold."""
        return "binary" if len(self.names) == 1 else "multiclass"

    @property
    def n_classes(self) -> int:
        """The number of classes, which is 2 for one column of scores."""
        return max(2, len(self.names))

    @property
    def names(self) -> list[str]:
        """The names of the scores during counting."""
        return [f"p{k}" for k in range(self.width or len(self.scores))]


def score_columns(
    schema: Mapping[str, Any], prob: str | Sequence[str], classes: Sequence[Any] | None, others: Sequence[str]
) -> tuple[list[str], Sequence[Any] | None]:
    """Return the columns that `prob` names, and the names of the classes if the column names contain them.

    `others` are columns with another use, whatever their prefix.
    """
    if not isinstance(prob, str):
        names = list(prob) if isinstance(prob, (list, tuple)) else []
        if len(names) < 2 or not all(isinstance(name, str) for name in names):
            raise InputError(
                "{argument} must be a column, a list of two columns or more (one for each class), or a prefix; got "
                "{got!r}",
                argument="prob",
                got=prob,
            )
        for name in names:
            present(schema, name, "prob")
        if len(set(names)) < len(names):
            raise InputError("{argument} names a column twice: {names!r}", argument="prob", names=names)
        return names, classes
    if prob in schema:
        return [prob], classes
    free = [name for name in schema if isinstance(name, str) and name not in others]
    found = next((found for start in (f"{prob}_", prob) if (found := _with_prefix(free, start, classes))), None)
    if found is None:
        present(schema, prob, "prob")
    assert found is not None
    return found[0], found[1]


def _with_prefix(
    names: Sequence[str], start: str, classes: Sequence[Any] | None
) -> tuple[list[str], Sequence[Any] | None] | None:
    """Return columns named by a prefix and the class: numbers 0 to K-1 in order, or names in the order of `classes`.

    With `classes`, there may be other columns with the same prefix.
    """
    ends = [name.removeprefix(start) for name in names if name.startswith(start) and name != start] if start else []
    if len(ends) < 2:
        return None
    if sorted(ends) == sorted(map(str, range(len(ends)))):
        return [f"{start}{k}" for k in range(len(ends))], classes
    if start[-1].isalnum():  # "price" begins with "p" too
        return None
    if classes is None and "0" in ends and "1" in ends:
        raise InputError(
            f"columns {', '.join(repr(start + end) for end in ends[:MAX_COLUMNS_NAMED])} begin with {start!r}: pass "
            "those of the classes as a list, prob=[...]"
        )
    order = ends if classes is None else [str(one) for one in classes]
    if not set(order) <= set(ends):
        return None
    return [f"{start}{end}" for end in order], order if classes is None else classes


def present(schema: Mapping[str, Any], name: str, role: str) -> None:
    """Raise unless the frame has the column."""
    if not isinstance(name, str):
        raise InputError("{argument} must be the name of a column, got {got!r}", argument=role, got=name)
    if name not in schema:
        held = ", ".join(map(repr, list(schema)[:MAX_COLUMNS_NAMED])) + (
            ", …" if len(schema) > MAX_COLUMNS_NAMED else ""
        )
        raise InputError(
            "{argument}={got!r} is not a column of the frame, which has {held}", argument=role, got=name, held=held
        )


def score_type(schema: Mapping[str, Any], names: Sequence[str], from_logits: bool, advice: str = CAST) -> str:
    """Return float32 if all scores are that or narrower, else float64; text is refused even if it spells numbers."""
    small = []
    for name in names:
        dtype = schema[name]
        dtype = dtype.inner if isinstance(dtype, LIST_TYPES) else dtype
        numeric(dtype, name, "scores", advice)
        small.append(dtype in (nw.Float32, HALF))
    return "float32" if all(small) and not from_logits else "float64"


def numeric(dtype: Any, name: str, what: str, advice: str = CAST) -> None:
    """Raise unless a column holds numbers, or objects, which may be numbers."""
    if dtype in TEXT_TYPES:
        raise InputError(f"column {name!r} holds text, not {what}: {advice}")
    if not (dtype.is_numeric() or dtype in (nw.Boolean, nw.Object, nw.Unknown)):
        raise InputError(f"column {name!r} is of type {dtype}, not {what}")


def _text(dtype: Any) -> str:
    return "text" if dtype == nw.String else "categories, read as text"


def label_rules(
    schema: Mapping[str, Any],
    label: str,
    n_classes: int,
    pos_label: Any,
    classes: Sequence[Any] | None,
    neg_label: Any = None,
) -> dict[str, Any]:
    """Return how to read labels: `named`, `pos_label`, `text` and `boolean` of `FrameColumns`."""
    dtype = schema[label]
    text, boolean = dtype in TEXT_TYPES, dtype == nw.Boolean
    if pos_label is None and classes is None:
        if text:
            argument = (
                "pos_label=..., the one that counts as 1"
                if n_classes == 2
                else "classes=[...] in the order of the columns"
            )
            raise InputError(f"labels in column {label!r} are {_text(dtype)}: pass {argument}")
        numeric(dtype, label, "labels")
        return {"boolean": boolean}
    labels = [pos_label] if neg_label is None else [neg_label, pos_label]
    given = labels if classes is None else list(classes)
    named = tuple(one.item() if isinstance(one, np.generic) else one for one in given)
    if len(set(named)) != len(named):
        raise InputError("{argument} must be distinct, got {got!r}", argument="classes", got=list(named))
    if any(isinstance(one, int) and abs(one) >= FIRST_INEXACT_INTEGER for one in named):
        raise InputError(f"labels beyond 2^53 cannot be distinguished, got {list(named)!r}: cast them to text first")
    held = str if text else (bool, int, float)
    if dtype != nw.Unknown and not all(isinstance(one, held) for one in named):
        option = "pos_label" if classes is None else "classes"
        asked = labels[-1] if classes is None else list(named)
        if isinstance(asked, held):
            option, asked = "neg_label", neg_label
        stored, other = (_text(dtype), "not") if text else ("booleans or numbers", "text")  # on some engines, either
        raise InputError(f"labels in column {label!r} are {stored}, but {option}={asked!r} is {other}")
    text = text or any(isinstance(one, str) for one in named)
    return {"named": named, "pos_label": classes is None and neg_label is None, "text": text, "boolean": boolean}


# --- columns of lists of scores, as one column per class --------------------------------------------------------------


def scored(frame: Any, columns: FrameColumns, *beside: nw.Expr) -> Any:
    """Return the scores as columns p0 to pK-1 of type float64, with expressions of the frame's own columns.

    All columns are renamed at once, so that no column of the frame can clash with one made here. A list of another
    length gives missing scores.
    """
    names, width = columns.names, columns.width
    if width is None:
        scores = [nw.col(old).cast(nw.Float64).alias(new) for old, new in zip(columns.scores, names, strict=True)]
        return frame.select(*scores, *beside)
    frame, listed = frame.select(nw.col(columns.scores[0]).alias("scores"), *beside), nw.col("scores")
    if nw.get_native_namespace(frame).__name__.partition(".")[0] in ("pandas", "pyarrow"):
        return _by_hand(frame, columns)
    dtype = frame.collect_schema()["scores"]
    if dtype == nw.Array:
        frame = frame.with_columns(listed.cast(nw.List(dtype.inner)))
    frame = frame.with_columns(nw.when(listed.list.len() == width).then(listed).alias("scores"))
    return frame.with_columns(*(listed.list.get(k).cast(nw.Float64).alias(new) for k, new in enumerate(names)))


def _by_hand(frame: Any, columns: FrameColumns) -> Any:
    """Make the matrix here, because pandas holds lists as objects and pyarrow cannot take an absent element."""
    rows = frame.get_column("scores").to_list()
    matrix = np.full((len(rows), columns.width or 0), np.nan, columns.dtype)
    for i, row in enumerate(rows):
        if row is not None and np.ndim(row) == 1 and len(row) == columns.width:
            matrix[i] = [np.nan if one is None else one for one in row]
    backend = nw.get_native_namespace(frame)
    matrix = matrix.astype(np.float64)
    made = [
        nw.new_series(new, np.ascontiguousarray(matrix[:, k]), backend=backend) for k, new in enumerate(columns.names)
    ]
    if backend.__name__ == "pandas":  # pandas would align a new column with the frame's index
        index = nw.to_native(frame).index
        made = [nw.from_native(nw.to_native(one).set_axis(index), series_only=True) for one in made]
    return frame.with_columns(*made)


def unpivoted(frame: Any, on: list[str], kept: list[str]) -> Any:
    """Return one row for each of some columns, its name in `stratum` and its value in `p`, with the columns kept."""
    if nw.get_native_namespace(frame).__name__ != "duckdb":
        return frame.unpivot(on=on, index=kept, variable_name="stratum", value_name="p")
    # Query the relation itself: narwhals uses the default connection, which does not know the tables of others, and a
    # query needs a name for the rows, which may clash with that of a table.
    strata, values = (", ".join(quote + name + quote for name in on) for quote in ("'", '"'))
    beside = ", ".join(f'"{name}"' for name in kept)
    return nw.from_native(
        nw.to_native(frame).project(f'{beside}, unnest([{strata}]) as "stratum", unnest([{values}]) as "p"')
    )


def width_of(frame: Any, name: str, first: Any) -> int:
    """Return the number of scores in a list, from the type or from the first list."""
    dtype = frame.collect_schema()[name]
    if dtype == nw.Array:
        return int(dtype.shape[0])
    return 0 if first is None else len(first)


def is_listed(dtype: Any, first: Any) -> bool:
    """Return whether a column holds lists, by its type or by its first entry."""
    return isinstance(dtype, LIST_TYPES) or (dtype == nw.Object and isinstance(first, (list, tuple, np.ndarray)))
