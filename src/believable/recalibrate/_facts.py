"""What a recalibrator says about itself; `select`, the documentation and the law tests read it."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from believable.errors import InputError

if TYPE_CHECKING:
    from believable.recalibrate._base import Recalibrator

Ranking = Literal["strict", "weak", "by slope", "none"]


@dataclass(frozen=True, slots=True)
class Facts:
    """What holds for every map that a recalibrator can learn.

    Attributes
    ----------
    alias : str
        The short name, for `select`, `calibrate` and `Recalibrated`.
    argmax : bool
        The most probable of K > 2 classes stays the most probable.
    ranking : {"strict", "weak", "by slope", "none"}
        Scores of one event in ascending order stay so ("strict"), stay so or become equal ("weak"), do if the slopes
        that were learnt are positive ("by slope"), or need not ("none").
    identity : bool
        Among its maps is the one that changes nothing (strictly: for probabilities that are not 0 or 1).
    fewest : int
        Rows of the rarest class below which it warns.
    simplicity : int
        How much it can bend: 0 for the identity, 1 for one parameter, up to 8. The simplest within one standard error
        is chosen.
    cells : bool
        It can be learnt from `CellStats`.
    reads_logits : bool
        It bends in the logit, so that it matters where near 0 or 1 a score lies.
    reference : str
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

R = TypeVar("R", bound="Recalibrator")


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
) -> Callable[[type[R]], type[R]]:
    """Enter a class into the table of recalibrators."""

    def enter(cls: type[R]) -> type[R]:
        cls.facts = Facts(alias, argmax, ranking, identity, fewest, simplicity, cells, reads_logits, reference)
        RECALIBRATORS[cls.__name__] = cls
        ALIASES[alias] = cls.__name__
        return cls

    return enter


def find_recalibrator(name: Any) -> type[Recalibrator]:
    """The class behind a name or alias."""
    if isinstance(name, type) and name.__name__ in RECALIBRATORS:
        raise InputError(f"method must be a recalibrator, got a class: pass {name.__name__}()")
    if not isinstance(name, str):
        raise InputError(f"method must be a recalibrator, TemperatureScaling() say, or the name of one, got {name!r}")
    if ALIASES.get(name, name) not in RECALIBRATORS:
        raise InputError(f"method {name!r} is not known{_nearest(name)} There are: {', '.join(_by_simplicity())}")
    return RECALIBRATORS[ALIASES.get(name, name)]


def as_method(method: Any) -> Recalibrator:
    """A recalibrator as it is, or a new one by its name."""
    is_one = any(isinstance(method, cls) for cls in RECALIBRATORS.values())
    return method if is_one else find_recalibrator(method)()


def _nearest(name: str) -> str:
    spelled = {known.casefold(): known for known in (*RECALIBRATORS, *ALIASES)}
    near = difflib.get_close_matches(name.casefold(), spelled, n=1)
    return f"; did you mean {spelled[near[0]]!r}?" if near else "."


def _by_simplicity() -> list[str]:
    return sorted(ALIASES, key=lambda alias: RECALIBRATORS[ALIASES[alias]].facts.simplicity)
