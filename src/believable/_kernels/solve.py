"""The loop that every solver runs in: where to step, how much of the step to take, and when to stop.

A problem says what its cost and derivatives are at a place and which step they ask for (Newton's, as a rule). The loop
cuts the step to what the place can bear, halves it until it does not cost more, and stops by one rule, whose numbers
are a `SearchSettings`. `minimise` takes one problem; `minimise_many` takes a batch along the first axis, in which every
problem steps and stops on its own. `find_root` is the counterpart for an increasing function of one number, which is
kept between two places where it has different signs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, cast

import numpy as np

from believable._types import Array, Float64s, Ints

Status = Literal["converged", "stuck", "away", "limit"]
Numbers = float | Float64s  # of one problem, or of a batch
Flags = bool | Array
Fields = TypeVar("Fields", "Iterate", "Step")


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """When a search for a minimum ends, and how its steps are controlled.

    Lengths are in a unit that the problem chooses: how far a linear predictor moves, say.

    Attributes
    ----------
    close : float
        A step after which no more than this is expected to be left is the last one.
    most_steps : int
        After so many the search ends without a minimum.
    rounding : float
        A step as short as this, relative to the place, is the last one: floats permit no better.
    settled : float
        Likewise a step as short as this, relative to the place, that is not half as long as the one before.
    furthest : float
        How far a step may reach, relative to the place; a longer one is cut.
    sure : float
        A step as short as this cannot overshoot and is taken unseen, or if it costs no more than `allowance`.
    allowance : float
        The cost that such a step may add.
    slack : float
        The cost that any other step may add, as a share of the cost: rounding.
    most_halvings : int
        If no part of a step down to the last halving is good enough, the search falls back or ends.
    stuck : float
        A step as short as this that lowers the cost by no more than `no_gain` ends the search. That needs the cost
        at every place.
    no_gain : float
        As a share of the cost.
    """

    close: float
    most_steps: int = 100
    rounding: float = 0.0
    settled: float = 0.0
    furthest: float = math.inf
    sure: float = 0.0
    allowance: float = math.inf
    slack: float = 0.0
    most_halvings: int = 1100  # by then a float is nothing
    stuck: float = 0.0
    no_gain: float = 0.0


class Iterate(NamedTuple):
    """What is known of a place.

    Attributes
    ----------
    gradient : ndarray of the shape of the place
        Of the cost.
    model : Any
        What the step needs besides: the curvature, as a rule. In a batch it is an array along the first axis.
    cost : float or ndarray of shape (B,), optional
        Where it comes with the derivatives anyway.
    """

    gradient: Float64s
    model: Any = None
    cost: Any = None


class Step(NamedTuple):
    """The step that a problem asks for; in a batch all fields but defaults are arrays along the first axis.

    Attributes
    ----------
    direction : ndarray of the shape of the place
    length : float
        In the unit of the settings.
    left : float, optional
        What is expected to be left after it, in the same unit; the length, if it is not given.
    unit : float
        How large the place is in that unit, which rounding is relative to.
    reach : float, optional
        How far it goes in the sense in which it might overshoot; the length, if it is not given.
    scale : float
        How large the place is in that sense.
    fallback : ndarray, optional
        The step that is taken where no part of the direction lowers the cost.
    away : bool
        It leads to infinity and changes nothing on its way: there is no minimum.
    """

    direction: Float64s
    length: Any
    left: Any = None
    unit: Numbers = 1.0
    reach: Any = None
    scale: Numbers = 1.0
    fallback: Float64s | None = None
    away: bool = False


class Problem(Protocol):
    """A cost to be minimised.

    Where it is `convex`, and has derivatives wherever a step may lead, the slope at the end of a step usually tells
    that the cost is lower there. Otherwise the cost is looked at first.
    """

    convex: bool

    def at(self, x: Float64s) -> Iterate:
        """The derivatives at x."""

    def cost(self, x: Float64s) -> float:
        """The cost at x; infinite where x is not allowed."""

    def step(self, x: Float64s, place: Iterate) -> Step:
        """The step from x."""


class Problems(Protocol):
    """A batch of problems; `which` are the numbers of those that are asked for, one for each row of x."""

    convex: bool

    def at(self, x: Float64s, which: Ints) -> Iterate:
        """The derivatives at x."""

    def cost(self, x: Float64s, which: Ints) -> Numbers:
        """The costs at x, of shape (B,)."""

    def step(self, x: Float64s, place: Iterate, which: Ints) -> Step:
        """The steps from x."""


class Minimum(NamedTuple):
    """Where a search for a minimum ended.

    Attributes
    ----------
    x : ndarray
    status : {"converged", "stuck", "away", "limit"}
        "stuck": nothing more was to be gained by a short step, or no part of a step lowered the cost. "away": the
        problem said that there is no minimum. "limit": the steps were used up.
    place : Iterate
        The last that was looked at: x itself, or next to it where the last step was taken unseen.
    step : ndarray
        The last step, as it was cut.
    length : float
        Of the last step.
    """

    x: Float64s
    status: Status
    place: Iterate
    step: Float64s
    length: float


def minimise(
    problem: Problem, start: Float64s, settings: SearchSettings, low: float = -math.inf, high: float = math.inf
) -> Minimum:
    """Search for a minimum from a place on; every number of it is kept between `low` and `high`."""
    return _Search(_Lifted(problem), settings, low, high).run(start[None]).of(0)


def minimise_many(problems: Problems, start: Float64s, settings: SearchSettings) -> tuple[Float64s, Array]:
    """Search for the minima of a batch, (B, ...): where they are, and which of them were found."""
    found = _Search(problems, settings, -math.inf, math.inf).run(start)
    return found.x, found.status == "converged"


def unit_diagonal(curvature: Float64s, damping: float, floor: Numbers = 0.0) -> tuple[Float64s, Float64s]:
    """Curvatures scaled to a diagonal of 1 + damping, and the square roots of what the diagonal was.

    So neither units nor tiny weights can make them singular. The floor is added to the diagonal before.
    """
    diagonal = np.einsum("...kk->...k", curvature) + floor
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1))
    scaled = curvature / root[..., :, None] / root[..., None, :]
    np.einsum("...kk->...k", scaled)[...] = 1 + damping
    return scaled, root


class RootLook(NamedTuple):
    """An increasing function at some place: its value, and where it may be zero."""

    value: float
    to: float


@dataclass(frozen=True, slots=True)
class RootSettings:
    """When a search for a root ends.

    Attributes
    ----------
    close : float
        A step as short as this, as a share of the place, is the last one.
    close_value : float
        After a value as small as this one more step is taken, and is the last one.
    most_steps : int
    low, high : float
        What the root is kept between. A function that is positive at `low`, or negative at `high`, ends there.
    """

    close: float = 0.0
    close_value: float = 0.0
    most_steps: int = 500
    low: float = -math.inf
    high: float = math.inf


def halfway(below: float, above: float) -> float:
    """The middle of a bracket."""
    return (below + above) / 2


def find_root(
    look: Callable[[float], RootLook],
    start: float,
    settings: RootSettings,
    bracket: tuple[float, float] = (-math.inf, math.inf),
    middle: Callable[[float, float], float] = halfway,
) -> float:
    """Where an increasing function is zero, by steps that it proposes itself, kept between different signs.

    A step that leaves the bracket goes to its middle instead.
    """
    (below, above), here = bracket, start
    for _ in range(settings.most_steps):
        value, to = look(here)
        if value == 0 or (here <= settings.low and value > 0) or (here >= settings.high and value < 0):
            break
        if abs(value) < settings.close_value:
            return to
        below, above = (below, here) if value > 0 else (here, above)
        if to == here:  # nearer than floats tell: halving the bracket would only lead away
            break
        if not below < to < above:
            to = middle(below, above)
        to = min(max(to, settings.low), settings.high)
        if to in (below, above):
            break
        here, before = to, here
        if abs(here - before) <= settings.close * abs(before) and here > settings.low:
            break
    return float(min(max(here, settings.low), settings.high))


# --- The loop ---------------------------------------------------------------------------------------------------------


class _Minima(NamedTuple):
    """`Minimum` for a batch. Iterate, steps and lengths are those of the problems that were searched to the end."""

    x: Float64s
    status: Array
    place: Iterate
    step: Float64s
    length: Float64s

    def of(self, b: int) -> Minimum:
        gradient, model, cost = self.place
        place = Iterate(gradient[b], model, None if cost is None else float(np.atleast_1d(cost)[b]))
        return Minimum(self.x[b], self.status[b], place, self.step[b], float(self.length[b]))


@dataclass(frozen=True, slots=True)
class _Search:
    problems: Problems
    settings: SearchSettings
    low: float
    high: float

    def run(self, start: Float64s) -> _Minima:
        x, moving = start.copy(), np.arange(len(start))
        status: Array = np.full(len(x), "limit", dtype="<U9")
        last: Numbers = math.inf  # lengths of the steps before
        place = self.problems.at(x, moving)
        step = Step(np.zeros_like(x), last)
        for _ in range(self.settings.most_steps):
            here = x[moving] if len(moving) < len(x) else x
            step = self._cut(self.problems.step(here, place, moving))
            if step.away is not False and np.any(step.away):
                status[moving] = "away"
                break
            done: Any = self._last(step, last)
            if _any(done):
                if _all(done):
                    x[moving], status[moving] = self._moved(here, step.direction), "converged"
                    break
                x[moving[done]], status[moving[done]] = self._moved(here[done], step.direction[done]), "converged"
                moving, here, place, step = moving[~done], here[~done], _those(place, ~done), _those(step, ~done)
            last = step.length
            there, looked, share = self._tried(here, place, step, moving)
            x[moving] = there
            stuck: Any = self._stuck(place, looked, step, share)
            place = looked
            if _any(stuck):
                status[moving[stuck]] = "stuck"
                if _all(stuck):
                    break
                moving, place, last = moving[~stuck], _those(place, ~stuck), last[~stuck]  # type: ignore[index]
        return _Minima(x, status, place, step.direction, np.atleast_1d(step.length))

    def _moved(self, here: Float64s, direction: Float64s) -> Float64s:
        there = here + direction
        if self.low > -math.inf:
            np.maximum(there, self.low, out=there)
        if self.high < math.inf:
            np.minimum(there, self.high, out=there)
        return np.asarray(there)

    def _cut(self, step: Step) -> Step:
        """The steps, no further than they may go; a length that is not the reach stays that of the whole step."""
        if self.settings.furthest == math.inf:
            return step
        reach = step.length if step.reach is None else step.reach
        furthest = self.settings.furthest * step.scale
        if not _any(reach > furthest):
            return step
        share = np.minimum(1, furthest / np.maximum(reach, furthest))
        length = share * step.length if step.reach is None else step.length
        return step._replace(direction=_times(share, step.direction), length=length)

    def _last(self, step: Step, before: Numbers) -> Flags:
        """Which steps are the last ones."""
        settings, length = self.settings, step.length
        done: Flags = (length if step.left is None else step.left) <= settings.close
        if settings.rounding:
            done = done | (length <= settings.rounding * step.unit)
        if settings.settled:
            done = done | (length >= before / 2) & (length <= settings.settled * step.unit)
        return done

    def _tried(self, here: Float64s, place: Iterate, step: Step, which: Ints) -> tuple[Float64s, Iterate, Numbers]:
        """Where the steps lead, what is there, and the shares of them that were taken: 0 for a fallback or none.

        A convex cost that still falls at the end of the step is lower there. Otherwise it is looked at, and the step
        halved until it is low enough.
        """
        there, looked = self._moved(here, step.direction), None
        doubtful: Flags = (step.length > self.settings.sure) | (self.settings.allowance < math.inf)
        if self.problems.convex:
            looked = self.problems.at(there, which)
            if _any(doubtful):
                doubtful = doubtful & (_inner(looked.gradient, step.direction) > 0)
        if not _any(doubtful):
            return there, looked or self.problems.at(there, which), 1.0
        share = np.ones(len(here))
        for b in np.flatnonzero(doubtful):
            one = slice(b, b + 1)
            share[b] = self._share(here[one], _those(place, one), _those(step, one), which[one])
            if share[b] == 1:
                continue
            there[one] = self._moved(here[one], share[b] * step.direction[one])
            if share[b] == 0 and step.fallback is not None:
                there[one] += step.fallback[one]
            if looked is not None:
                looked = _with(looked, one, self.problems.at(there[one], which[one]))
        return there, looked or self.problems.at(there, which), share

    def _share(self, here: Float64s, place: Iterate, step: Step, which: Ints) -> float:
        """How much of one step is taken: as few halvings as possible."""
        settings, share = self.settings, 1.0
        before = _first(self.problems.cost(here, which) if place.cost is None else place.cost)
        slack = settings.slack * abs(before)
        for _ in range(1 + settings.most_halvings):
            short = share * _first(step.length) <= settings.sure
            allowed = settings.allowance if short else slack
            if allowed == math.inf:
                return share
            if _first(self.problems.cost(self._moved(here, share * step.direction), which)) <= before + allowed:
                return share
            share /= 2
        return 0.0

    def _stuck(self, before: Iterate, after: Iterate, step: Step, share: Numbers) -> Flags:
        """Which problems cannot gain anything more."""
        stuck: Flags = (share == 0) & (step.fallback is None)
        if self.settings.stuck:
            gains = np.asarray(after.cost < before.cost - self.settings.no_gain * (1 + np.abs(before.cost)))
            stuck = stuck | (step.length <= self.settings.stuck) & ~gains
        return stuck


class _Lifted:
    """One problem as a batch of one, whose numbers stay numbers: arithmetic with arrays of one takes far longer."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.convex = problem, problem.convex

    def at(self, x: Float64s, which: Ints) -> Iterate:
        gradient, model, cost = self.problem.at(x[0])
        return Iterate(gradient[None], model, cost)

    def cost(self, x: Float64s, which: Ints) -> float:
        return self.problem.cost(x[0])

    def step(self, x: Float64s, place: Iterate, which: Ints) -> Step:
        step = self.problem.step(x[0], Iterate(place.gradient[0], place.model, place.cost))
        fallback = None if step.fallback is None else step.fallback[None]
        return step._replace(direction=step.direction[None], fallback=fallback)


def _any(flags: Flags) -> bool:
    return flags if isinstance(flags, bool) else bool(flags.any())


def _all(flags: Flags) -> bool:
    return flags if isinstance(flags, bool) else bool(flags.all())


def _first(numbers: Numbers) -> float:
    """The number of a batch of one."""
    return float(numbers[0] if isinstance(numbers, np.ndarray) else numbers)


def _times(share: Numbers, direction: Float64s) -> Float64s:
    """Every direction times its share."""
    return np.asarray(np.reshape(share, (-1, *[1] * (direction.ndim - 1))) * direction)


def _inner(gradient: Float64s, direction: Float64s) -> Numbers:
    """The slope along every direction."""
    n = len(gradient)
    if n == 1:
        return float(np.vdot(gradient, direction))
    return np.asarray(np.einsum("bk,bk->b", gradient.reshape(n, -1), direction.reshape(n, -1)))


def _those(fields: Fields, which: Array | slice) -> Fields:
    """The fields of some problems of a batch; a batch of one stays as it is."""
    if len(fields[0]) == 1:
        return fields
    some: Any = type(fields)
    return cast(Fields, some(*(each[which] if isinstance(each, np.ndarray) else each for each in fields)))


def _with(places: Iterate, one: slice, place: Iterate) -> Iterate:
    """The places, with another one in its place."""
    if len(places.gradient) == 1:
        return place
    for known, new in zip(places, place, strict=True):
        if known is not None:
            known[one] = new
    return places
