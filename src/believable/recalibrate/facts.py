"""The form of a calibration map, and the facts about each recalibrator that `select` reads.

A calibration map is a dictionary of plain numbers, words and arrays, and holds all that is needed to apply it. So it
can be saved, loaded with every field checked, and applied in another language.
"""

from __future__ import annotations

import difflib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, final

import numpy as np

from believable._types import Float64s
from believable.errors import InputError, SchemaError

if TYPE_CHECKING:
    from believable.recalibrate.base import Recalibrator

Map = dict[str, Any]
MOST_NUMBERS = 100_000_000  # the most numbers that one array of a saved map may hold


class Field(ABC):
    """One field of a calibration map.

    Attributes
    ----------
    optional : bool
        Whether a saved map may lack it, because maps once had no such field.
    """

    optional: bool = False

    @abstractmethod
    def read(self, value: Any, name: str) -> Any:
        """Return the value from its JSON form, or raise a SchemaError."""


@final
@dataclass(frozen=True, slots=True)
class Number(Field):
    """A finite number in [low, high]."""

    low: float = -np.inf
    high: float = np.inf
    optional: bool = False

    def read(self, value: Any, name: str) -> float:
        return float(_in_range(_floats(value, name, 0), self.low, self.high, name))


@final
@dataclass(frozen=True, slots=True)
class Vector(Field):
    """Finite numbers in [low, high]; with `order` 1 they do not decrease, with 2 they increase strictly."""

    low: float = -np.inf
    high: float = np.inf
    order: int = 0
    fewest: int = 1

    def read(self, value: Any, name: str) -> Float64s:
        array = _in_range(_floats(value, name, 1), self.low, self.high, name)
        if len(array) < self.fewest:
            raise SchemaError(f"the saved {name} must hold at least {self.fewest} numbers, got {len(array)}")
        steps = np.diff(array)
        if (self.order == 1 and (steps < 0).any()) or (self.order == 2 and (steps <= 0).any()):
            raise SchemaError(f"the saved {name} must be in ascending order")
        return array


@final
@dataclass(frozen=True, slots=True)
class Matrix(Field):
    """Rows of finite numbers, all of one length."""

    low: float = -np.inf
    high: float = np.inf

    def read(self, value: Any, name: str) -> Float64s:
        return _in_range(_floats(value, name, 2), self.low, self.high, name)


@final
@dataclass(frozen=True, slots=True)
class Word(Field):
    """One of a few words."""

    options: tuple[str, ...]

    def read(self, value: Any, name: str) -> str:
        if not isinstance(value, str) or value not in self.options:
            raise SchemaError(f"the saved {name} must be one of {', '.join(self.options)}, got {value!r}")
        return value


@final
@dataclass(frozen=True, slots=True)
class Members(Field):
    """Fitted recalibrators."""

    def read(self, value: Any, name: str) -> tuple[Recalibrator, ...]:
        from believable.recalibrate.saved import restored

        if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value):
            raise SchemaError(f"the saved {name} must be a list of recalibrators")
        return tuple(restored(one) for one in value)


@final
@dataclass(frozen=True, slots=True)
class Nested(Field):
    """A fitted recalibrator of one event."""

    def read(self, value: Any, name: str) -> Recalibrator:
        from believable.recalibrate.saved import restored

        if not isinstance(value, dict):
            raise SchemaError(f"the saved {name} must be a recalibrator")
        found = restored(value)
        if found.n_features_in_ != 1 or found.multilabel:
            raise SchemaError(f"the saved {name} must be a recalibrator of one event")
        return found


def _floats(value: Any, name: str, depth: int) -> Float64s:
    """Return nested lists of numbers, `depth` levels deep, as an array."""
    flat = [value]
    for _ in range(depth):
        if not all(isinstance(entry, list) for entry in flat) or sum(map(len, flat)) > MOST_NUMBERS:
            raise SchemaError(f"the saved {name} must be lists of numbers, nested {depth} deep")
        if len({len(entry) for entry in flat}) > 1:
            raise SchemaError(f"rows of the saved {name} must have the same length")
        flat = [inner for entry in flat for inner in entry]
    if not all(isinstance(entry, (int, float)) and not isinstance(entry, bool) for entry in flat):
        raise SchemaError(f"the saved {name} must hold numbers")
    try:
        array = np.array(value, np.float64)
    except (OverflowError, ValueError) as error:
        raise SchemaError(f"the saved {name} has numbers that are too large") from error
    if array.ndim != depth or not np.isfinite(array).all():
        raise SchemaError(f"the saved {name} must hold finite numbers")
    return array


def _in_range(array: Float64s, low: float, high: float, name: str) -> Float64s:
    if array.size and not (array.min() >= low and array.max() <= high):
        raise SchemaError(f"the saved {name} must lie between {low:g} and {high:g}")
    return array


def written(value: Any) -> Any:
    """Return a field in its JSON form."""
    if isinstance(value, tuple):
        from believable.recalibrate.saved import as_saved

        return [as_saved(one) for one in value]
    if hasattr(value, "maps_"):
        from believable.recalibrate.saved import as_saved

        return as_saved(value)
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


# --- Facts about each recalibrator, for `select`, the documentation and the law tests ---------------------------------


Ranking = Literal["strict", "weak", "by slope", "none"]


@dataclass(frozen=True, slots=True)
class Facts:
    """What holds for every calibration map that a recalibrator can fit.

    Attributes
    ----------
    alias : str
        The short name, for `select`, `calibrate` and `Recalibrated`.
    argmax : bool
        Whether the most probable of K > 2 classes stays the most probable.
    ranking : {"strict", "weak", "by slope", "none"}
        Whether the ranking of scores of one event is preserved: always ("strict"), up to ties ("weak"), if the fitted
        slopes are positive ("by slope"), or not necessarily ("none").
    identity : bool
        Whether one of its maps changes nothing (for probabilities other than 0 and 1).
    fewest : int
        It warns when the rarest class has fewer rows than this.
    simplicity : int
        How flexible it is: 0 for the identity, 1 for one parameter, up to 8. `select` chooses the lowest within one
        standard error of the best.
    cells : bool
        Whether it can be fitted from `CellStats`.
    reads_logits : bool
        Whether it works on logits, so that small differences between scores near 0 or 1 matter.
    reference : str
        The publication to cite.
    """

    alias: str
    argmax: bool
    ranking: Ranking
    identity: bool
    fewest: int
    simplicity: int
    cells: bool
    reads_logits: bool
    reference: str


RECALIBRATORS: dict[str, type[Recalibrator]] = {}  # by class name, in order of import
ALIASES: dict[str, str] = {}
# Names for methods of `GroupedRecalibrator`, which the table does not have.
BY_SEGMENT: tuple[Literal["pooled"], Literal["boosted"]] = ("pooled", "boosted")

SomeRecalibrator = TypeVar("SomeRecalibrator", bound="Recalibrator")


def recalibrator(
    *,
    alias: str,
    argmax: bool = False,
    ranking: Ranking = "none",
    identity: bool = False,
    fewest: int,
    simplicity: int,
    cells: bool = False,
    reads_logits: bool = False,
    reference: str,
) -> Callable[[type[SomeRecalibrator]], type[SomeRecalibrator]]:
    """Add a class to the table of recalibrators."""

    def enter(cls: type[SomeRecalibrator]) -> type[SomeRecalibrator]:
        cls.facts = Facts(alias, argmax, ranking, identity, fewest, simplicity, cells, reads_logits, reference)
        RECALIBRATORS[cls.__name__] = cls
        ALIASES[alias] = cls.__name__
        return cls

    return enter


def find_recalibrator(name: Any) -> type[Recalibrator]:
    """Return the class of a name or alias."""
    if isinstance(name, type) and name.__name__ in RECALIBRATORS:
        raise InputError(
            "{argument} must be a recalibrator, got a class: pass {name}()",
            argument="method",
            name=name.__name__,
        )
    if not isinstance(name, str):
        raise InputError(
            "{argument} must be a recalibrator such as TemperatureScaling(), or the name of one, got {got!r}",
            argument="method",
            got=name,
        )
    if ALIASES.get(name, name) not in RECALIBRATORS:
        raise InputError(
            f"method {name!r} is not known{_nearest(name)} Choose from: {', '.join([*_by_simplicity(), *BY_SEGMENT])}"
        )
    return RECALIBRATORS[ALIASES.get(name, name)]


def as_method(method: Any) -> Recalibrator:
    """Return a recalibrator as it is, or make one from its name."""
    if method in BY_SEGMENT:
        from believable.recalibrate.grouped import GroupedRecalibrator

        return GroupedRecalibrator(method=method, base="average")
    is_one = getattr(method, "reads_columns", False) or any(isinstance(method, cls) for cls in RECALIBRATORS.values())
    return method if is_one and not isinstance(method, type) else find_recalibrator(method)()


NAMES_OF_PEOPLE = ("Platt", "Dirichlet", "Venn", "Abers")


def in_words(class_name: str) -> str:
    """Return what to call a recalibrator in a sentence.

    >>> in_words("TemperatureScaling"), in_words("PlattScaling"), in_words("BetaCDFCalibration")
    ('temperature scaling', 'Platt scaling', 'beta CDF calibration')
    """
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]+", class_name)
    said = " ".join(word if word in NAMES_OF_PEOPLE or word.isupper() else word.lower() for word in words)
    return said.replace("Venn Abers", "Venn–Abers")


def _nearest(name: str) -> str:
    spelled = {known.casefold(): known for known in (*RECALIBRATORS, *ALIASES, *BY_SEGMENT)}
    near = difflib.get_close_matches(name.casefold(), spelled, n=1)
    return f"; did you mean {spelled[near[0]]!r}?" if near else "."


def _by_simplicity() -> list[str]:
    return sorted(ALIASES, key=lambda alias: RECALIBRATORS[ALIASES[alias]].facts.simplicity)
