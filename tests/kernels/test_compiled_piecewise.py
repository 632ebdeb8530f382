"""Places between knots and lines from one to the next, over both twins, against bisection."""

from bisect import bisect_left, bisect_right

import numpy as np
import pytest

from believable._kernels.twins import TWINS, backend, c

BOTH = pytest.mark.parametrize("which", ["numpy", "compiled"])


def kernel(name, which):
    if which == "compiled" and backend == "numpy":
        pytest.skip("compiled kernels were not built")
    return TWINS[name][which == "compiled"]


def knots_and_scores(kind, n, dtype):
    rng = np.random.default_rng(7)
    knots = {
        "one": np.array([0.25]),
        "two equal": np.array([0.5, 0.5]),
        "few": np.array([-1.0, 0.0, 0.0, 1e-300, 0.5, 2.0]),
        "crowded": np.sort(np.append(rng.random(3000) * 1e-6, 1.0)),
        "many": np.sort(rng.standard_normal(5000)),
        "far": np.array([-1.7e308, -1.0, 0.0, 1.0, 1.7e308]),
        "none": np.empty(0),
    }[kind]
    with np.errstate(over="ignore"):
        knots = knots.astype(dtype)
    scores = rng.standard_normal(n).astype(dtype)
    for at, value in enumerate([*knots[:40], *np.nextafter(knots[:40], 9), 0.0, -0.0, np.inf, -np.inf][:n]):
        scores[at] = value
    return knots, scores


KINDS = pytest.mark.parametrize("kind", ["one", "two equal", "few", "crowded", "many", "far"])


@pytest.mark.slow
@BOTH
@KINDS
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [0, 1, 90, 17_000])
def test_places_are_those_of_a_search(which, kind, dtype, n):
    """As many edges are below a score as bisection finds, in either precision, with a table or without."""
    knots, scores = knots_and_scores(kind, n, dtype)
    found = kernel("edges_below", which)(scores, knots.astype(np.float64))
    assert found.dtype == np.intp
    assert found.tolist() == [bisect_left(knots.tolist(), score) for score in scores.tolist()]
    assert kernel("edges_below", which)(scores, np.empty(0)).tolist() == [0] * n


@BOTH
@KINDS
@pytest.mark.parametrize("n", [1, 90, 17_000])
def test_steps_and_lines_are_those_of_a_loop(which, kind, n):
    """The value of the last knot reached; and on the way to the next, as much of the rise as of the gap."""
    knots, scores = knots_and_scores(kind, n, "float64")
    values = np.sort(np.random.default_rng(1).random(len(knots)))
    scores = np.clip(scores, -1e308, 1e308)
    before = scores.copy()
    scores.flags.writeable = False
    steps = kernel("last_step", which)(scores, knots, values)
    pieces = [max(bisect_right(knots.tolist(), score) - 1, 0) for score in scores.tolist()]
    assert steps.tolist() == values[pieces].tolist()
    with np.errstate(all="ignore"):
        lines = kernel("lines_between", which)(scores, knots, values)
    wanted = []
    for score, piece in zip(scores.tolist(), pieces, strict=True):
        nxt = min(piece + 1, len(knots) - 1)
        gap, rise = knots[nxt] / 4 - knots[piece] / 4, values[nxt] - values[piece]
        share = max(score / 4 - knots[piece] / 4, 0) / gap if gap > 0 else 0
        wanted.append(min(values[piece] + share * rise, values[nxt]))
    np.testing.assert_allclose(lines, wanted, rtol=0, atol=1e-12)
    following = np.minimum(np.array(pieces) + 1, len(knots) - 1)
    assert np.all((values[pieces] <= lines) & (lines <= values[following]))
    np.testing.assert_array_equal(scores, before)


@pytest.mark.parametrize("threads", ["2", "3"])
def test_threads_change_nothing(monkeypatch, threads):
    """Every number has its own answer, whoever finds it; NaN is above all knots; any view will do."""
    knots, scores = knots_and_scores("many", 200_000, "float64")
    scores[5], scores[np.isinf(scores)] = np.nan, 0
    values = np.sort(np.random.default_rng(1).random(len(knots)))
    monkeypatch.setenv("BELIEVABLE_THREADS", threads)
    for name, given in (("edges_below", (knots,)), ("last_step", (knots, values)), ("lines_between", (knots, values))):
        found = kernel(name, "compiled")(np.repeat(scores, 2)[::2], *given)
        np.testing.assert_allclose(found, TWINS[name][0](scores, *given), rtol=1e-12)


def test_what_does_not_fit_is_refused():
    """Tables that lead out of the knots, lengths and ranges that do not agree are errors."""
    kernel("edges_below", "compiled")
    x, knots, out = np.zeros(4), np.array([0.0, 1.0]), np.zeros(4, np.int64)
    for first in ([0, 3], [0, 1], [1, 2], [0, 2, 1, 2], [2]):
        with pytest.raises(ValueError, match="fit together"):
            c.knots_below(x, knots, np.array(first, np.int32), out, True, 0.0, 1.0, 0, 4)
    for short, stop in ((out[:3], 4), (out, 5)):
        with pytest.raises(ValueError, match="fit together"):
            c.knots_below(x, knots, None, short, True, 0.0, 1.0, 0, stop)
    with pytest.raises(ValueError, match="fit together"):
        c.knot_lines(x, knots, None, np.zeros(9), np.zeros(4), 1.0, 0.0, 1.0, 0, 4)
