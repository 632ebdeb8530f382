"""Checks of arguments, and the messages of their errors.

Each check returns its argument in the form that the rest of the package needs, or raises an `InputError` that says what
is wrong, in which row, and what to do. Nothing is repaired silently, and no array of the caller is modified.
"""

from __future__ import annotations

import inspect
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar, get_args

import numpy as np

from believable import _kernels
from believable._arrays import as_numpy
from believable._types import Array, Floats, Ints, Notion
from believable.errors import LOOK_LIKE_CLASSES, Hint, InputError, Row, Sentence

P = ParamSpec("P")
R = TypeVar("R")
ROW_SUM_TOLERANCE = 1e-3  # covers the rounding of float32 and float16
BFLOAT16_TOLERANCE = 1e-2  # eight bits of precision: each entry may be off by one part in 512
MAX_ROWS_ALIKE = 5  # so few scores may all be 0, or all 1, and still be accepted as probabilities
MAX_LABELS_LISTED = 10  # in a message
THREE_ARRAYS = "for confidences, predicted classes and labels, pass (confidences, predictions == labels)"
LIGHTEST_WEIGHT, HEAVIEST_WEIGHT = 1e-100, 1e100  # the squares of weights neither underflow nor overflow


# --- names of arguments -----------------------------------------------------------------------------------------------


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function accept an argument by its former name, with a warning: `@renamed(groups="clusters")`."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for old, new in names.items():
                if old in kwargs:
                    if new in kwargs:
                        raise InputError(f"{old} is now called {new}: leave {old} out")
                    warnings.warn(f"{old} is now called {new}", FutureWarning, stacklevel=2)
                    kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate


def renamed_attribute(old: str, new: str) -> property:
    """Return a property for the former name of an attribute; reading it warns.

    For example, `group = renamed_attribute("group", "stratum")`.
    """

    def read(self: Any) -> Any:
        warnings.warn(f"{old} is now called {new}", FutureWarning, stacklevel=2)
        return getattr(self, new)

    return property(read, doc=f"The former name of `{new}`.")


# --- plain arguments --------------------------------------------------------------------------------------------------


def choice(value: Any, allowed: Iterable[Any], name: str) -> None:
    """Raise unless the value is one of those allowed."""
    options = tuple(allowed)
    if isinstance(value, str) and value in options:
        return
    if not any(isinstance(value, type(option)) and value == option for option in options):
        known = ", ".join(map(repr, options))
        raise InputError("{argument} must be one of {known}, got {got!r}", argument=name, known=known, got=value)


def notion(value: Any) -> None:
    """Raise unless the value is a notion of calibration, or None."""
    if value is not None:
        choice(value, get_args(Notion), "notion")


def flag(value: Any, name: str, *, or_none: bool = False) -> bool:
    """Return the value if it is True or False, also NumPy's; a text, a number or an array may mean anything.

    With `or_none`, None is allowed too, and False.
    """
    if not (isinstance(value, (bool, np.bool_)) or (or_none and value is None)):
        known = "True, False or None" if or_none else "True or False"
        raise InputError("{argument} must be {known}, got {got!r}", argument=name, known=known, got=value)
    return bool(value)


# The largest counts that make sense, so that a slip of the pen asks for no terabytes; others are at most 2^53.
MAX_COUNTS = {
    "cv": 1_000_000,
    "n_bins": 1_000_000,
    "n_classes": 10_000_000,
    "n_groups": 1_000_000,
    "n_resamples": 1_000_000,
    "samples": 1_000_000,
}
CUBE_ROOT = "cube_root"  # a number of bins that depends on the number of rows
NO_CUBE_ROOT_HERE = (
    "{n_bins=} depends on the number of rows, but here the bins must not: pass a number (the rule gives 10 "
    "for 1,000 rows, 22 for 10,000)"
)
LARGEST_COUNT = 2**53  # larger integers are no longer exact in double precision


def takes(function: Callable[..., Any], name: str, parameters: str, options: Iterable[str] = ()) -> None:
    """Raise unless a function can be called with these positional parameters, such as "scores, labels", and options.

    A function that does not say what it takes, as many of C do not, is given the benefit of the doubt.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    given = dict.fromkeys(options)
    try:
        signature.bind(*parameters.split(", "), **given)
    except TypeError as error:
        called = ", ".join([parameters, *(f"{one}=..." for one in given)])
        raise InputError(
            "{argument} must be a function that can be called as {argument}({called}), but {got}{signature} cannot: "
            "{why}",
            argument=name,
            called=called,
            got=getattr(function, "__name__", type(function).__name__),
            signature=signature,
            why=error,
        ) from None


def positive_integer(value: Any, name: str, low: int = 1, high: int | None = None) -> int:
    """Return the value if it is an integer from `low` to `high`; NumPy integers are accepted, booleans are not.

    Without `high`, the largest is that of `MAX_COUNTS`.
    """
    is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
    most = MAX_COUNTS.get(name, LARGEST_COUNT) if high is None else high
    if not is_integer or value < low or value > most:
        span = f"from {low} to {high}" if high is not None else f"at least {low}"
        span = f"at most {most:,}" if high is None and is_integer and value > most else span
        refuse_array(value, name)
        if name == "n_bins" and isinstance(value, str) and value == CUBE_ROOT:
            raise InputError(NO_CUBE_ROOT_HERE, argument=name, n_bins=value)
        raise InputError("{argument} must be an integer {span}, got {got!r}", argument=name, span=span, got=value)
    return int(value)


def refuse_array(value: Any, name: str) -> None:
    """Raise if several values are given where one number is wanted, as by (confidences, predictions, labels)."""
    if hasattr(value, "__len__") and not isinstance(value, (str, bytes)) and getattr(value, "shape", None) != ():
        raise InputError(
            "{argument} must be one number, got an array of {n}",
            argument=name,
            n=len(value),
            hint=THREE_ARRAYS if name == "n_bins" else None,
        )


def number(value: Any, name: str, low: float = -np.inf, high: float = np.inf) -> float:
    """Return the value as a float if it is a finite number in [low, high]."""
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.bool_))
    if not is_number or not low <= value <= high or abs(value) == np.inf:
        raise InputError(
            "{argument} must be a number from {low:g} to {high:g}, got {got!r}",
            argument=name,
            low=low,
            high=high,
            got=value,
        )
    return float(value)


def level(value: Any, name: str = "level") -> float:
    """Return a confidence level, which must lie strictly between 0 and 1."""
    if number(value, name, 0, 1) in (0, 1):
        raise InputError("{argument} must lie strictly between 0 and 1, got {got!r}", argument=name, got=value)
    return float(value)


# --- scores -----------------------------------------------------------------------------------------------------------


def numeric(values: Any, name: str) -> Floats:
    """Return numbers in any container as a float array; float16 becomes float32, other floats keep their type."""
    array = as_numpy(values, name)
    if array.dtype.char in "fd" and array.dtype.isnative:
        return array
    if array.dtype == object:
        array = _numbers_from_objects(array, name)
    kind, size = array.dtype.kind, array.dtype.itemsize
    if array.dtype.name == "bfloat16" or (kind == "f" and size == 2):
        return array.astype(np.float32)
    if kind == "f" and size in (4, 8):
        return array.astype(array.dtype.newbyteorder("="))
    if kind in "biuf":
        return array.astype(np.float64)
    raise InputError("{argument} must be numbers, got {got}", argument=name, got=_dtype_words(array))


def _numbers_from_objects(array: Array, name: str) -> Floats:
    """Return objects (Decimal, numbers mixed with nulls) as float64; text is an error even if it spells a number."""
    for position, value in np.ndenumerate(array):
        if isinstance(value, (str, bytes)):
            raise InputError(
                "{argument} must be numbers, got the text {got!r} at {row}", argument=name, got=value, row=position[0]
            )
    try:
        flat = [np.nan if is_missing(value) else float(value) for value in array.ravel()]
        return np.array(flat, np.float64).reshape(array.shape)
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError(
            "{argument} must be numbers, got {got} ({why})", argument=name, got=_dtype_words(array), why=error
        ) from error


def _dtype_words(array: Array) -> str:
    return "text" if array.dtype.kind in "US" else f"values of type {array.dtype}"


def shape_of_predictions(array: Array, multilabel: bool) -> None:
    """Raise unless predictions are 1-D, or 2-D with at least two columns, and not empty."""
    if array.ndim not in (1, 2):
        raise InputError(
            "{argument} must be 1-D (binary) or 2-D (one column per class), got shape {got}",
            argument="predictions",
            got=array.shape,
        )
    if len(array) == 0:
        raise InputError("{argument} are empty: there is nothing to measure", argument="predictions")
    if array.ndim == 2 and array.shape[1] < 2:
        raise InputError(
            "{argument} have shape {got}: one column is ambiguous",
            argument="predictions",
            got=array.shape,
            hint="pass predictions.ravel() for P(y = 1), or one column per class",
        )
    if multilabel and array.ndim != 2:
        raise InputError(Sentence("{multilabel=True} needs {predictions} with one column per label, got a 1-D array"))


def finite(array: Array, name: str, rows: Ints | None) -> None:
    """Raise at the first NaN or infinity."""
    low, high = _kernels.extrema(array)
    if not (np.isfinite(low) and np.isfinite(high)):
        row, value = _first(array, ~np.isfinite(array), rows)
        what = "NaN (missing)" if np.isnan(value) else str(value)
        raise InputError(
            "{argument} must be finite, got {got} at {row}", argument=name, got=what, row=row, hint=Hint.DROP_OR_REPAIR
        )


def probabilities(array: Floats, name: str, rows: Ints | None, logits: Hint = Hint.LOGITS) -> None:
    """Raise unless every entry lies in [0, 1]; `logits` is the hint for scores that may be logits."""
    low, high = _kernels.extrema(array)
    if low >= 0 and high <= 1:
        return
    finite(array, name, rows)
    row, value = _first(array, (array < 0) | (array > 1), rows)
    hint = None
    if low >= 0 and 10 < high <= 100:
        hint = Hint.PERCENTAGES
    elif low < -1 or high > 1 + ROW_SUM_TOLERANCE:
        hint = logits
    elif low >= -ROW_SUM_TOLERANCE:
        hint = Hint.ROUNDING
    raise InputError(
        "{argument} must lie in [0, 1], got {got:.8g} at {row}", argument=name, got=value, row=row, hint=hint
    )


def row_sums(
    matrix: Floats,
    given: Any,
    rows: Ints | None,
    name: str = "predictions",
    otherwise: str | Hint = Hint.INDEPENDENT_COLUMNS,
) -> None:
    """Raise unless every row sums to 1; the type of `given`, the original input, decides the tolerance."""
    tolerance = BFLOAT16_TOLERANCE if is_brief(given) else ROW_SUM_TOLERANCE
    low, high = _kernels.row_sum_extrema(matrix)
    if low >= 1 - tolerance and high <= 1 + tolerance:
        return
    sums = matrix.sum(axis=1, dtype=np.float64)
    bad = np.abs(sums - 1) > tolerance
    if not bad.any():  # the quick sums above are less precise: they use the type of the scores
        return
    row, value = _first(sums, bad, rows)
    raise InputError(
        "rows of {argument} must sum to 1, got {got:.8g} at {row}",
        argument=name,
        got=value,
        row=row,
        hint=Sentence("divide by the row sums, or {otherwise}", otherwise=otherwise),
    )


def refuse_predicted_classes(scores: Floats) -> None:
    """Raise if every score is exactly 0 or 1, as predicted classes are; a few identical rows are accepted."""
    width = scores.shape[1] if scores.ndim == 2 else 1
    for part in _kernels.row_blocks(len(scores), width):
        if np.any((scores[part] != 0) & (scores[part] != 1)):
            return
    if len(scores) <= MAX_ROWS_ALIKE and np.all(scores == scores[0]):
        return
    raise predicted_classes(one_event=scores.ndim == 1)


def predicted_classes(one_event: bool) -> InputError:
    """Return the error for predicted classes passed as scores, of one event or one-hot in a matrix."""
    hint = Hint.PREDICTED_CLASSES if one_event else Hint.PREDICTED_CLASSES_OF_ROWS
    what = "all {argument} are 0 or 1" if one_event else "all entries of {argument} are 0 or 1"
    return InputError(f"{what}: {LOOK_LIKE_CLASSES}", argument="predictions", hint=hint)


def is_brief(given: Any) -> bool:
    """Return whether the numbers came as bfloat16, which has eight bits of precision."""
    return type(given) is not np.ndarray and str(getattr(given, "dtype", "")).endswith("bfloat16")


# --- rows that belong together ----------------------------------------------------------------------------------------


def index_of(values: Any) -> Any:
    """Return the index of a pandas Series or DataFrame; None for anything else."""
    return getattr(values, "index", None) if type(values).__module__.partition(".")[0] == "pandas" else None


def same_index(**values: Any) -> Any:
    """Return the index that all pandas objects here share; raise if two differ, because rows pair by position."""
    first, index = "", None
    for name, one in values.items():
        found = index_of(one)
        if index is None:
            first, index = name, found
        elif found is not None:
            refuse_other_index(index, found, first, name)
    return index


def refuse_other_index(index: Any, other: Any, name: str, other_name: str) -> None:
    """Raise if two indexes of the same length differ; the checks of shapes compare the lengths."""
    if index is other or len(index) != len(other) or index.equals(other):
        return
    for row, (one, two) in enumerate(zip(index, other, strict=True)):
        if one != two and not (is_missing(one) and is_missing(two)):
            raise InputError(
                "the indexes of {first} and {argument} differ: {needed!r} and {got!r} at {row}",
                first=Sentence(f"{{{name}}}"),
                argument=other_name,
                needed=one,
                got=two,
                row=row,
                hint=Hint.ALIGN_OR_FORGET_INDEX,
            )


def same_columns(predictions: Any, actuals: Any) -> None:
    """Raise if two data frames have the same columns in different orders, because columns pair by position."""
    columns, others = (_columns_of(each) for each in (predictions, actuals))
    if columns != others and len(set(columns)) == len(columns) == len(others) and set(columns) == set(others):
        place = next(i for i, (one, other) in enumerate(zip(columns, others, strict=True)) if one != other)
        raise InputError(
            "the columns of {predictions} and {argument} are in different orders: column {place} is {needed!r} in one "
            "and {got!r} in the other; reorder one of them, such as {argument}[list({predictions}.columns)]",
            argument="actuals",
            place=place,
            needed=columns[place],
            got=others[place],
        )


def _columns_of(values: Any) -> list[Any]:
    """Return the names of a data frame's columns; nothing for anything else."""
    is_frame = type(values).__module__.partition(".")[0] in ("pandas", "polars")
    return list(getattr(values, "columns", ())) if is_frame else []


# --- labels -----------------------------------------------------------------------------------------------------------


def labels_as_array(actuals: Any) -> Array:
    """Return the labels as an array of any shape; `shape_of_labels` refuses column vectors and one-hot rows."""
    if actuals is None:
        raise InputError("{argument} are missing: pass (predictions, actuals)", argument="actuals")
    array = as_numpy(actuals, "actuals")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def swapped(predictions: Array, actuals: Array) -> None:
    """Raise if the first argument looks like labels; called when the second is not labels."""
    if predictions.ndim == 1 and not np.any(predictions != np.rint(predictions)):
        raise InputError("{hint}", hint=Hint.SWAPPED)


def shape_of_labels(actuals: Array, predictions: Array, multilabel: bool, by_class: bool = False) -> None:
    """Raise unless there is one label per row, or a matrix of the shape of the predictions.

    The matrix is for multilabel predictions, and for labels with an entry for each class (`by_class`).
    """
    if by_class and predictions.ndim == 2 and not multilabel:
        if actuals.shape != predictions.shape:
            raise InputError(
                "{argument} must have one entry for each row and class, of the shape {needed} of the predictions, got "
                "{got}",
                argument="actuals",
                needed=predictions.shape,
                got=actuals.shape,
            )
        return
    if actuals.ndim == 2 and actuals.shape[1] > 1 and len(actuals) == len(predictions):
        swapped(predictions, actuals)
    if multilabel:
        if actuals.shape != predictions.shape:
            raise InputError(
                "{multilabel=True} needs {argument} of the same shape as the predictions, {needed}, got {got}",
                argument="actuals",
                needed=predictions.shape,
                got=actuals.shape,
            )
        return
    if actuals.ndim == 2 and actuals.shape[1] == 1:
        raise InputError(
            "{argument} must be 1-D, got shape {got}",
            argument="actuals",
            got=actuals.shape,
            hint="pass actuals.ravel()",
        )
    if actuals.ndim == 2:
        raise InputError(
            "{argument} must be 1-D class labels, got shape {got}; pass actuals.argmax(axis=1) or "
            "{Predictions}(..., one_hot=True) for one-hot rows, {Predictions}(..., soft_labels=True) for shares of "
            "annotators, or {Predictions}(..., multilabel=True) if the columns are independent",
            argument="actuals",
            got=actuals.shape,
        )
    if actuals.ndim != 1:
        raise InputError("{argument} must be 1-D, got shape {got}", argument="actuals", got=actuals.shape)
    if len(actuals) != len(predictions):
        raise InputError(
            "{predictions} and {argument} differ in length: {needed} and {got}",
            argument="actuals",
            needed=len(predictions),
            got=len(actuals),
        )


def is_label(actuals: Array, label: Any, name: str) -> Array:
    """Return where the labels equal `label`; all missing labels (None, NaN, NaT) are equal."""
    if np.ndim(label) != 0 or isinstance(label, (dict, set, frozenset)):
        raise InputError("{argument} must be one label, got {got!r}", argument=name, got=label)
    if is_missing(label):
        return _missing(actuals)
    if actuals.dtype == object:
        return np.array([bool(not is_missing(value) and value == label) for value in actuals.ravel()], bool)
    try:
        same = np.asarray(actuals == label)
    except (TypeError, ValueError):
        same = np.zeros(0, bool)
    return same if same.shape == actuals.shape and same.dtype == bool else np.zeros(actuals.shape, bool)


def _missing(actuals: Array) -> Array:
    if actuals.dtype.kind == "f":
        return np.isnan(actuals)
    if actuals.dtype.kind in "mM":
        return np.isnat(actuals)
    if actuals.dtype == object:
        return np.array([is_missing(value) for value in actuals.ravel()], bool).reshape(actuals.shape)
    return np.zeros(actuals.shape, bool)


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or pandas.NA: not equal to itself, or impossible to compare."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True


def no_missing(actuals: Array, rows: Ints | None, name: str = "actuals", hint: Hint = Hint.DROP_OR_IGNORE) -> None:
    """Raise at the first null label."""
    missing = _missing(actuals)
    if missing.any():
        row, _ = _first(actuals, missing, rows)
        raise InputError("{argument} have a missing label at {row}", argument=name, row=row, hint=hint)


def class_labels(actuals: Array, n_classes: int, predictions: Floats, rows: Ints | None) -> Array:
    """Return labels as integers in 0..K-1; booleans and whole floats are accepted."""
    hint = Hint.NAME_THE_CLASSES if predictions.ndim == 2 else Hint.NAME_THE_POSITIVE
    needed = "0 or 1" if n_classes == 2 else f"integers 0..{n_classes - 1}"
    if actuals.dtype == object:
        no_missing(actuals, rows)
        actuals = _unbox(actuals)
    if actuals.dtype.kind not in "biuf":
        raise InputError(
            "{argument} must be {needed}, got {got!r} at {row}",
            argument="actuals",
            needed=needed,
            got=_plain(actuals.ravel()[0]),
            row=0,
            hint=hint,
        )
    is_boolean = actuals.dtype.kind == "b"
    if is_boolean:  # bytes other than 0 and 1 are possible, if the memory was reinterpreted as booleans
        actuals = np.ascontiguousarray(actuals).view(np.uint8)
    low, high = _kernels.extrema(actuals)
    if not (low >= 0 and high <= n_classes - 1):
        no_missing(actuals, rows)
        row, value = _first(actuals, (actuals < 0) | (actuals > n_classes - 1), rows)
        raise InputError(
            "{argument} must be {needed}, got {got:g} at {row}",
            argument="actuals",
            needed=needed,
            got=value,
            row=row,
            hint=hint,
        )
    if is_boolean or actuals.dtype.kind == "i":
        return actuals
    small = actuals.astype(np.int8 if n_classes <= 128 else np.int32)
    if any(np.any(small[part] != actuals[part]) for part in _kernels.row_blocks(len(actuals))):
        swapped(predictions, actuals)
        row, value = _first(actuals, small != actuals, rows)
        both = Sentence("{hint}, or {shares}", hint=hint, shares=Hint.SHARES_OF_ANNOTATORS)
        raise InputError(
            "{argument} must be whole numbers, got {got:g} at {row}",
            argument="actuals",
            got=value,
            row=row,
            hint=both if n_classes == 2 else hint,
        )
    return small


def _unbox(actuals: Array) -> Array:
    """Return an array of objects as a plain array if all of them are numbers or booleans."""
    if all(isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)) for value in actuals.ravel()):
        return np.array(actuals.tolist())
    return actuals


def soft_labels(actuals: Array, rows: Ints | None) -> Floats:
    """Return soft labels: shares in [0, 1]."""
    shares = numeric(actuals, "actuals")
    probabilities(shares, "soft labels", rows)
    return shares


def distributions(actuals: Array) -> Floats:
    """Return soft labels of several classes: rows of shares that sum to 1."""
    shares = numeric(actuals, "actuals")
    finite(shares, "soft labels", None)
    low, high = _kernels.extrema(shares)
    if low < 0 or high > 1:
        row, value = _first(shares, (shares < 0) | (shares > 1), None)
        raise InputError(
            "soft labels must lie in [0, 1], got {got:.8g} at {row}",
            got=value,
            row=row,
            hint=Sentence("divide counts by their sum in each row, and pass the sums as {sample_weight}"),
        )
    row_sums(shares, actuals, None, "soft labels")
    return shares


def one_hot_labels(actuals: Array) -> Ints:
    """Return the class of each row of a matrix with a single 1 in every row and zeros elsewhere."""
    no_missing(actuals, None)
    hot = numeric(actuals, "actuals")
    other = (hot != 0) & (hot != 1)
    if other.any():
        row, value = _first(hot, other, None)
        raise InputError(
            "{argument} must be 0 or 1 with {one_hot=True}, got {got:g} at {row}",
            argument="actuals",
            one_hot=True,
            got=value,
            row=row,
            hint=Hint.SHARES_OF_ANNOTATORS,
        )
    count = np.count_nonzero(hot, axis=1)
    if np.any(count != 1):
        row, value = _first(count, count != 1, None)
        raise InputError(
            "{argument} must have a single 1 in each row with {one_hot=True}, got {got} at {row}",
            argument="actuals",
            one_hot=True,
            got=value,
            row=row,
            hint=Hint.INDEPENDENT_COLUMNS,
        )
    return np.asarray(hot.argmax(axis=1))


def named_labels(actuals: Array, classes: Sequence[Any], rows: Ints | None) -> Ints:
    """Return the position of each label in `classes`."""
    no_missing(actuals, rows)
    try:
        position = {_plain(name): k for k, name in enumerate(classes)}
    except TypeError as error:
        raise InputError(
            "{argument} must be plain labels, got {got!r}", argument="classes", got=list(classes)
        ) from error
    if len(position) != len(classes):
        raise InputError("{argument} must be distinct, got {got!r}", argument="classes", got=list(classes))
    values, inverse = np.unique(actuals, return_inverse=True) if actuals.dtype != object else _unique_objects(actuals)
    codes = np.array([position.get(_plain(value), -1) for value in values], np.intp)[inverse.reshape(-1)]
    if (codes < 0).any():
        row, value = _first(actuals, codes < 0, rows)
        raise InputError(
            "the label {got!r} at {row} is not in {argument} {known!r}",
            argument="classes",
            got=_plain(value),
            row=row,
            known=list(classes),
        )
    return codes


def positive_label(actuals: Array, pos_label: Any, rows: Ints | None, neg_label: Any = None) -> Array:
    """Return 1 where the label is the positive one, 0 where it is the negative one; any other label is an error."""
    no_missing(actuals, rows)
    positive = is_label(actuals, pos_label, "pos_label")
    one_negative(actuals, positive, pos_label, neg_label)
    return positive.view(np.uint8)


def one_negative(actuals: Array, positive: Array, pos_label: Any, neg_label: Any) -> None:
    """Raise unless the positive label occurs and all other labels are the same one, `neg_label` if given."""
    if not positive.any():
        found = sorted({repr(_plain(value)) for value in actuals})
        same = [word for word in found if word.strip("' ").lower() == str(pos_label).strip().lower()]
        raise InputError(
            "{pos_label=} does not occur in {actuals} (found {found})",
            argument="pos_label",
            pos_label=pos_label,
            found=in_a_list(found),
            hint=f"did you mean {same[0]}?" if same else Hint.NO_POSITIVES,
        )
    one_other_label(actuals, positive, pos_label, neg_label)


def one_other_label(actuals: Array, positive: Array, pos_label: Any, neg_label: Any) -> None:
    """Raise unless the labels that are not positive are all the same, or `neg_label` where that is given."""
    others = actuals[~positive]
    if neg_label is None:
        if len(others) == 0 or is_label(others, _plain(others[0]), "actuals").all():
            return
        raise InputError(
            "{pos_label=} leaves more than one other label: {found}",
            argument="pos_label",
            pos_label=pos_label,
            found=_counted(actuals),
            hint=Hint.NAME_THE_NEGATIVE,
        )
    negative = is_label(others, neg_label, "neg_label")
    if not negative.all():
        raise InputError(
            "{n:,} {unit} neither {pos_label=} nor {neg_label=}: {found}; drop these rows first",
            argument="neg_label",
            n=int(np.count_nonzero(~negative)),
            unit="row has" if np.count_nonzero(~negative) == 1 else "rows have",
            pos_label=pos_label,
            neg_label=neg_label,
            found=_counted(others[~negative]),
        )


def _counted(labels: Array) -> str:
    """List the labels, the most frequent first, each with its number of rows."""
    times = Counter(repr(_plain(value)) for value in labels.tolist()).most_common()
    return in_a_list([f"{label} ({n:,} row{'s' if n > 1 else ''})" for label, n in times])


def in_a_list(words: Sequence[str], most: int = MAX_LABELS_LISTED) -> str:
    """Join words with commas: all of them, or the first few and the number of the others."""
    more = len(words) - most
    return ", ".join(words[:most]) + (f" and {more:,} more" if more > 0 else "")


def _unique_objects(actuals: Array) -> tuple[list[Any], Ints]:
    seen: dict[Any, int] = {}
    inverse = np.array([seen.setdefault(value, len(seen)) for value in actuals], np.intp)
    return list(seen), inverse


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


# --- combinations of arguments --------------------------------------------------------------------------------------


def refuse_contradictions(
    ndim: int,
    n_classes: int,
    pos_label: Any,
    classes: Sequence[Any] | None,
    soft_labels: bool,
    ignore_label: Any,
    multilabel: bool,
    neg_label: Any = None,
    one_hot: bool = False,
) -> None:
    """Raise if two arguments that describe the input contradict each other."""
    if neg_label is not None and pos_label is None:
        raise InputError("{argument} needs {pos_label} too, which names the other label", argument="neg_label")
    if neg_label is not None and type(neg_label) is type(pos_label) and neg_label == pos_label:
        raise InputError("{pos_label} and {argument} are both {got!r}", argument="neg_label", got=neg_label)
    if ndim == 2 and pos_label is not None:
        raise InputError("{argument} is for one score per row", argument="pos_label", hint=Hint.CLASSES_OF_COLUMNS)
    by_class = one_hot or (soft_labels and ndim == 2)
    if multilabel and by_class:
        argument = "one_hot" if one_hot else "soft_labels"
        raise InputError("{argument} cannot be combined with {multilabel=True}", argument=argument, multilabel=True)
    if one_hot and soft_labels:
        raise InputError(Sentence("pass only one of {one_hot} and {soft_labels}"))
    if one_hot and ndim == 1:
        raise InputError("{one_hot=True} needs {predictions} with one column per class", argument="one_hot")
    if by_class and ignore_label is not None:
        raise InputError("{argument} needs one label per row: drop the rows first", argument="ignore_label")
    if (pos_label is not None) + (classes is not None) + bool(soft_labels and not by_class) > 1:
        raise InputError(Sentence("pass only one of {pos_label}, {classes} and {soft_labels}"))
    if classes is not None and not isinstance(classes, (list, tuple, range, np.ndarray)):
        raise InputError(
            "{argument} must be a list in the order of the columns, got a {got}",
            argument="classes",
            got=type(classes).__name__,
        )
    if classes is not None and len(classes) != n_classes:
        raise InputError(
            "{argument} must name {needed} classes in the order of the columns, got {got}",
            argument="classes",
            needed=n_classes,
            got=len(classes),
        )
    if multilabel and ignore_label is not None:
        raise InputError(
            "{argument} cannot be combined with {multilabel=True}: drop the rows first", argument="ignore_label"
        )


def notion_fits(notion: str, kind: str, n_classes: int) -> None:
    """Raise if this notion of calibration does not apply to predictions of this kind."""
    if kind == "binary" and notion != "binary":
        raise InputError(
            "{notion=} needs a matrix of predictions, got 1-D scores",
            argument="notion",
            notion=notion,
            hint=Hint.TWO_COLUMNS if notion == "confidence" else Hint.ONE_COLUMN_PER_CLASS,
        )
    if kind == "multilabel" and notion != "classwise":
        raise InputError("multilabel predictions need {notion='classwise'}, got {got!r}", argument="notion", got=notion)
    if notion == "binary" and n_classes > 2:
        raise InputError(
            "{notion='binary'} needs two classes, got {got}",
            argument="notion",
            got=n_classes,
            hint="choose 'confidence' or 'classwise'",
        )


# --- weights ----------------------------------------------------------------------------------------------------------


def weights(values: Any, n: int, name: str = "sample_weight", of: str = "row") -> Array:
    """Return importance weights as float64; they must be finite, non-negative and not all 0."""
    array = numeric(values, name).astype(np.float64, copy=False)
    if array.shape != (n,):
        raise InputError(
            "{argument} must be one number per {unit}, {needed} of them, got shape {got}",
            argument=name,
            unit=of,
            needed=n,
            got=array.shape,
        )
    finite(array, name, None)
    low, high = _kernels.extrema(array)
    if low < 0:
        row, value = _first(array, array < 0, None)
        raise InputError(
            "{argument} must not be negative, got {got:g} at {row}", argument=name, got=value, row=_place(of, row)
        )
    if high == 0:
        raise InputError("{argument} is zero in every {unit}: there is nothing to measure", argument=name, unit=of)
    if low < LIGHTEST_WEIGHT and array.any() and (array[array > 0] < LIGHTEST_WEIGHT).any():
        row, value = _first(array, (array > 0) & (array < LIGHTEST_WEIGHT), None)
        raise InputError(
            "{argument} is {got:g} at {row}, too small to be squared",
            argument=name,
            got=value,
            row=_place(of, row),
            hint="set such weights to 0",
        )
    if high > HEAVIEST_WEIGHT:
        raise InputError(
            "{argument} reaches {got:g}, too large to be squared",
            argument=name,
            got=high,
            hint="divide the weights by their mean",
        )
    return array


# --- the first bad entry ----------------------------------------------------------------------------------------------


def _place(of: str, number: int) -> Row | str:
    return Row(number) if of == "row" else f"{of} {number}"


def _first(array: Array, bad: Array, rows: Ints | None) -> tuple[int, Any]:
    """Return the row and value of the first bad entry; `rows` are the rows of the input that were not dropped."""
    position = tuple(int(axis[0]) for axis in np.nonzero(bad))
    row = position[0] if rows is None else int(rows[position[0]])
    return row, array[position]


# --- random numbers, without the global state of NumPy ----------------------------------------------------------------


def generator(random_state: Any) -> np.random.Generator:
    """Return the generator for `random_state`: a fresh one for None, one from a seed, or the given Generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    is_seed = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, (bool, np.bool_))
    if random_state is not None and (not is_seed or random_state < 0):
        raise InputError(
            "{argument} must be None, an integer from 0 or a numpy Generator, got {got!r}",
            argument="random_state",
            got=random_state,
        )
    if random_state is None:
        return np.random.default_rng()
    # A separate stream: data simulated with the same seed must not be correlated with the numbers drawn here.
    return np.random.default_rng(np.random.SeedSequence(int(random_state), spawn_key=(1,)))
