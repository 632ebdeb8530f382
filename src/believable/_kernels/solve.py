"""The loop of all solvers: which step to take, how much of it, and when to stop.

A problem provides its cost and derivatives at a point, and the step that follows from them (usually Newton's). The loop
cuts the step to an acceptable length, halves it until the cost does not rise, and stops by one rule, whose parameters
are a `SearchSettings`. `minimise` takes one problem; `minimise_many` takes a batch along the first axis, in which every
problem steps and stops independently. `find_root` is the counterpart for an increasing function of one number, within a
bracket of points with different signs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, cast

import numpy as np

from believable._types import Array, Float64s, Ints

Status = Literal["converged", "stuck", "away", "limit"]
Numbers = float | Float64s  # one problem, or a batch
Flags = bool | Array
Fields = TypeVar("Fields", "Iterate", "Step")


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Stopping rule and step control of a search for a minimum.

    Lengths are in a unit that the problem chooses, for example how far a linear predictor moves.

    Attributes
    ----------
    close : float
        A step is the last one if the expected error after it is at most this.
    most_steps : int
        The search ends without a minimum after this many steps.
    rounding : float
        A step this short, relative to the point, is the last one: floats permit no better.
    settled : float
        So is a step this short, relative to the point, that is not half as long as the one before.
    furthest : float
        How far a step may reach, relative to the point; a longer one is cut.
    sure : float
        A step this short cannot overshoot; it is taken without evaluating the cost, or if it adds at most `allowance`.
    allowance : float
        The cost that such a step may add.
    slack : float
        The relative increase of the cost that any other step may cause, to allow for rounding.
    most_halvings : int
        If a step is not accepted after this many halvings, the search falls back or ends.
    stuck : float
        A step this short that lowers the cost by no more than `no_gain` ends the search. This needs the cost at every
        point.
    no_gain : float
        Relative decrease of the cost below which nothing was gained.
    """

    close: float
    most_steps: int = 100
    rounding: float = 0.0
    settled: float = 0.0
    furthest: float = math.inf
    sure: float = 0.0
    allowance: float = math.inf
    slack: float = 0.0
    most_halvings: int = 1100  # by then any float has become 0
    stuck: float = 0.0
    no_gain: float = 0.0


class Iterate(NamedTuple):
    """The cost and its derivatives at a point.

    Attributes
    ----------
    gradient : ndarray of the shape of the point
        Gradient of the cost.
    model : Any
        What else the step needs, usually the curvature. In a batch it is an array along the first axis.
    cost : float or ndarray of shape (B,), optional
        The cost, if it comes with the derivatives anyway.
    """

    gradient: Float64s
    model: Any = None
    cost: Any = None


class Step(NamedTuple):
    """The step that a problem proposes; in a batch, all fields except defaults are arrays along the first axis.

    Attributes
    ----------
    direction : ndarray of the shape of the point
        The step itself.
    length : float
        Length in the unit of the settings.
    left : float, optional
        Expected error after the step, in the same unit; by default the length.
    unit : float
        Size of the point in that unit, to which rounding is relative.
    reach : float, optional
        Length in the measure in which the step might overshoot; by default the length.
    scale : float
        Size of the point in that measure.
    fallback : ndarray, optional
        The step to take if no part of the direction lowers the cost.
    away : bool
        Whether the step leads to infinity without changing the cost: there is no minimum.
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
    """A cost to minimise.

    If it is `convex`, with derivatives wherever a step may lead, the slope at the end of a step usually shows that the
    cost is lower there. Otherwise the cost is evaluated first.
    """

    convex: bool

    def at(self, x: Float64s) -> Iterate:
        """Return the derivatives at x."""

    def cost(self, x: Float64s) -> float:
        """Return the cost at x; infinite if x is not allowed."""

    def step(self, x: Float64s, place: Iterate) -> Step:
        """Return the step from x."""


class Problems(Protocol):
    """A batch of problems; `which` holds the numbers of those requested, one for each row of x."""

    convex: bool

    def at(self, x: Float64s, which: Ints) -> Iterate:
        """Return the derivatives at x."""

    def cost(self, x: Float64s, which: Ints) -> Numbers:
        """Return the costs at x, of shape (B,)."""

    def step(self, x: Float64s, place: Iterate, which: Ints) -> Step:
        """Return the steps from x."""


class Minimum(NamedTuple):
    """The end of a search for a minimum.

    Attributes
    ----------
    x : ndarray
        The final point.
    status : {"converged", "stuck", "away", "limit"}
        "stuck": a short step gained nothing more, or no part of a step lowered the cost. "away": the problem reported
        that there is no minimum. "limit": the steps were used up.
    place : Iterate
        The last iterate that was evaluated: at x, or just before it if the last step was taken without evaluation.
    step : ndarray
        The last step, after cutting.
    length : float
        Length of the last step.
    """

    x: Float64s
    status: Status
    place: Iterate
    step: Float64s
    length: float


def minimise(
    problem: Problem, start: Float64s, settings: SearchSettings, low: float = -math.inf, high: float = math.inf
) -> Minimum:
    """Search for a minimum from a starting point; all coordinates are kept between `low` and `high`."""
    return _Search(_Lifted(problem), settings, low, high).run(start[None]).of(0)


def minimise_many(problems: Problems, start: Float64s, settings: SearchSettings) -> tuple[Float64s, Array]:
    """Search for the minima of a batch (B, ...); return them, and which of them were found."""
    found = _Search(problems, settings, -math.inf, math.inf).run(start)
    return found.x, found.status == "converged"


def unit_diagonal(curvature: Float64s, damping: float, floor: Numbers = 0.0) -> tuple[Float64s, Float64s]:
    """Return curvatures scaled to a diagonal of 1 + damping, and the square roots of the original diagonal.

    With this, neither units nor tiny weights can make them singular. The floor is added to the diagonal first.
    """
    diagonal = np.einsum("...kk->...k", curvature) + floor
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1))
    scaled = curvature / root[..., :, None] / root[..., None, :]
    np.einsum("...kk->...k", scaled)[...] = 1 + damping
    return scaled, root


class RootLook(NamedTuple):
    """An increasing function at some point: its value, and a guess of where it is zero."""

    value: float
    to: float


@dataclass(frozen=True, slots=True)
class RootSettings:
    """Stopping rule of a search for a root.

    Attributes
    ----------
    close : float
        A step this short, relative to the point, is the last one.
    close_value : float
        After a value this small, one more step is taken, which is the last one.
    most_steps : int
        Maximum number of steps.
    low, high : float
        Bounds of the root. If the function is positive at `low`, or negative at `high`, the search ends there.
    """

    close: float = 0.0
    close_value: float = 0.0
    most_steps: int = 500
    low: float = -math.inf
    high: float = math.inf


def halfway(below: float, above: float) -> float:
    """Return the middle of a bracket."""
    return (below + above) / 2


def find_root(
    look: Callable[[float], RootLook],
    start: float,
    settings: RootSettings,
    bracket: tuple[float, float] = (-math.inf, math.inf),
    middle: Callable[[float, float], float] = halfway,
) -> float:
    """Return where an increasing function is zero, by steps that it proposes, within a bracket of different signs.

    A step that leaves the bracket is replaced by one to its middle.
    """
    (below, above), here = bracket, start
    for _ in range(settings.most_steps):
        value, to = look(here)
        if value == 0 or (here <= settings.low and value > 0) or (here >= settings.high and value < 0):
            break
        if abs(value) < settings.close_value:
            return to
        below, above = (below, here) if value > 0 else (here, above)
        if to == here:  # the step is below the resolution of floats, and halving the bracket would only lead away
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
    """`Minimum` for a batch. Iterate, steps and lengths are those of the problems searched to the end."""

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
        """Return the steps, cut to the allowed reach; a length other than the reach stays that of the whole step."""
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
        """Return which steps are the last ones."""
        settings, length = self.settings, step.length
        done: Flags = (length if step.left is None else step.left) <= settings.close
        if settings.rounding:
            done = done | (length <= settings.rounding * step.unit)
        if settings.settled:
            done = done | (length >= before / 2) & (length <= settings.settled * step.unit)
        return done

    def _tried(self, here: Float64s, place: Iterate, step: Step, which: Ints) -> tuple[Float64s, Iterate, Numbers]:
        """Return where the steps lead, the iterates there, and the shares of them taken: 0 for a fallback or none.

        A convex cost that still falls at the end of the step is lower there. Otherwise the cost is evaluated, and the
        step halved until it is low enough.
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
        """Return how much of one step is taken, with as few halvings as possible."""
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
        """Return which problems cannot improve any further."""
        stuck: Flags = (share == 0) & (step.fallback is None)
        if self.settings.stuck:
            gains = np.asarray(after.cost < before.cost - self.settings.no_gain * (1 + np.abs(before.cost)))
            stuck = stuck | (step.length <= self.settings.stuck) & ~gains
        return stuck


class _Lifted:
    """One problem as a batch of one, with plain numbers, because arithmetic with arrays of length 1 is far slower."""

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
    """Return the number of a batch of one."""
    return float(numbers[0] if isinstance(numbers, np.ndarray) else numbers)


def _times(share: Numbers, direction: Float64s) -> Float64s:
    """Return every direction times its share."""
    return np.asarray(np.reshape(share, (-1, *[1] * (direction.ndim - 1))) * direction)


def _inner(gradient: Float64s, direction: Float64s) -> Numbers:
    """Return the slope along every direction."""
    n = len(gradient)
    if n == 1:
        return float(np.vdot(gradient, direction))
    return np.asarray(np.einsum("bk,bk->b", gradient.reshape(n, -1), direction.reshape(n, -1)))


def _those(fields: Fields, which: Array | slice) -> Fields:
    """Return the fields of some problems of a batch; a batch of one is returned unchanged."""
    if len(fields[0]) == 1:
        return fields
    some: Any = type(fields)
    return cast(Fields, some(*(each[which] if isinstance(each, np.ndarray) else each for each in fields)))


def _with(places: Iterate, one: slice, place: Iterate) -> Iterate:
    """Return the iterates with one of them replaced."""
    if len(places.gradient) == 1:
        return place
    for known, new in zip(places, place, strict=True):
        if known is not None:
            known[one] = new
    return places
