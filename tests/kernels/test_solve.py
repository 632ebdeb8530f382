"""The loop of the solvers, on problems whose answers are known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from believable._kernels.solve import (
    Iterate,
    RootLook,
    RootSettings,
    SearchSettings,
    Step,
    find_root,
    minimise,
    minimise_many,
    unit_diagonal,
)

SETTINGS = SearchSettings(close=1e-9, rounding=1e-15)


class Hyperbola:
    """sqrt(1 + (x - centre)^2), from which whole Newton steps run away if they start further out than 1."""

    def __init__(self, centre, convex=True):
        self.centre, self.convex, self.looks = centre, convex, 0

    def at(self, x):
        self.looks += 1
        away = x - self.centre
        return Iterate(away / np.hypot(1, away), np.hypot(1, away) ** -3)

    def cost(self, x):
        return float(np.hypot(1, x - self.centre).sum())

    def step(self, x, place):
        direction = -place.gradient / place.model
        return Step(direction, float(np.abs(direction).max()))


@pytest.mark.parametrize("convex", [True, False])
@pytest.mark.parametrize("start", [-5.0, 0.0, 2.9, 30.0])
def test_steps_are_halved_until_they_lower_the_cost(start, convex):
    """Where Newton's method alone diverges, the minimum is found nevertheless."""
    found = minimise(Hyperbola(np.array([3.0]), convex), np.array([start]), SETTINGS)
    assert found.status == "converged"
    np.testing.assert_allclose(found.x, 3, atol=1e-12)


def test_steps_are_cut():
    """No step reaches further than the settings say."""
    places = []

    class Watched(Hyperbola):
        def at(self, x):
            places.append(float(x[0]))
            return super().at(x)

    minimise(Watched(np.array([3.0])), np.array([-7.0]), replace(SETTINGS, furthest=0.5))
    assert np.abs(np.diff(places)).max() <= 0.5 + 1e-12


def test_bounds_hold():
    """A minimum beyond a bound is taken at the bound, exactly."""
    settings = replace(SETTINGS, most_steps=5)
    assert minimise(Hyperbola(np.array([3.0]), False), np.array([1.0]), settings, high=2.5).x == 2.5


def test_the_last_step_is_taken_unseen():
    """A start at the minimum is looked at once."""
    problem = Hyperbola(np.array([3.0]))
    minimise(problem, np.array([3.0]), SETTINGS)
    assert problem.looks == 1


def test_steps_are_limited():
    """A search that is not done in time says so."""
    found = minimise(Hyperbola(np.array([3.0])), np.array([-7.0]), replace(SETTINGS, most_steps=1))
    assert found.status == "limit"


def test_no_part_of_a_step_may_lower_the_cost():
    """Then the fallback is taken, or the search is stuck."""

    class Uphill(Hyperbola):
        def step(self, x, place):
            return Step(np.sign(place.gradient), 1.0, fallback=self.fallback(x))

        def fallback(self, x):
            return None

    class Falling(Uphill):
        def fallback(self, x):
            return self.centre - x

        def step(self, x, place):
            step = super().step(x, place)
            return step._replace(length=0.0, direction=0 * x) if x == self.centre else step

    few = replace(SETTINGS, most_halvings=4)
    assert minimise(Uphill(np.array([3.0])), np.array([1.0]), few).status == "stuck"
    found = minimise(Falling(np.array([3.0])), np.array([1.0]), few)
    assert (found.status, found.x) == ("converged", 3)


def test_a_step_away_ends_the_search():
    """A problem that says there is no minimum is left where it is."""

    class Endless(Hyperbola):
        def step(self, x, place):
            return super().step(x, place)._replace(away=True)

    found = minimise(Endless(np.array([3.0])), np.array([1.0]), SETTINGS)
    assert (found.status, found.x) == ("away", 1)


def test_problems_of_a_batch_do_not_know_of_each_other():
    """Each ends where it ends alone, to the last bit."""
    centres, start = np.array([[3.0], [-2.0], [0.5], [40.0]]), np.array([[0.0], [0.0], [0.5], [0.0]])

    class Batch:
        convex = True

        def at(self, x, which):
            return Hyperbola(centres[which]).at(x)

        def cost(self, x, which):
            return np.array([Hyperbola(centre).cost(one) for one, centre in zip(x, centres[which], strict=True)])

        def step(self, x, place, which):
            direction = -place.gradient / place.model
            return Step(direction, np.abs(direction).max(axis=1))

    settings = replace(SETTINGS, furthest=20.0)
    x, found = minimise_many(Batch(), start, settings)
    assert found.all()
    for one, centre, first in zip(x, centres, start, strict=True):
        assert minimise(Hyperbola(centre), first, settings).x == one


@pytest.mark.parametrize("start", [-3.0, 0.1, 2.0, 50.0])
def test_roots(start):
    """Proposals that leave the bracket are replaced by its middle."""

    def look(x):
        return RootLook(math.atan(x - 2), x - math.atan(x - 2) * (1 + (x - 2) ** 2))

    settings = RootSettings(close=1e-14, low=-1e6, high=1e6)
    assert find_root(look, start, settings, (-1e6, 1e6)) == pytest.approx(2, abs=1e-12)


def test_a_root_beyond_the_end_is_the_end():
    """A function that is positive at the low end, or negative at the high one, ends there."""
    settings = RootSettings(low=1, high=4)
    assert find_root(lambda x: RootLook(x, 0.0), 2, settings) == 1
    assert find_root(lambda x: RootLook(x - 9, 9.0), 2, settings) == 4


def test_unit_diagonal():
    """Units do not matter, and a curvature of 0 stays solvable."""
    curvature = np.array([[4e20, 2.0, 0.0], [2.0, 9e-20, 0.0], [0.0, 0.0, 0.0]])
    scaled, root = unit_diagonal(curvature, 1e-3)
    np.testing.assert_allclose(root, [2e10, 3e-10, 1])
    np.testing.assert_allclose(scaled, [[1.001, 1 / 3, 0], [1 / 3, 1.001, 0], [0, 0, 1.001]], rtol=1e-12)
