"""What compiled functions are called with is checked before it is read."""

import ctypes

import numpy as np
import pytest

from believable._kernels import twins
from believable._kernels.twins import backend
from believable.metrics import evaluate

pytestmark = pytest.mark.skipif(backend == "numpy", reason="the compiled kernels were not built")
N = 40
RNG = np.random.default_rng(0)
SCORES, ONES, EDGES = RNG.random(N), np.ones(N, np.int64), np.linspace(0, 1, 11)
TABLE = np.full(4098, 3, np.int32)


def functions():
    return sorted(name for name in dir(twins.c) if not name.startswith("_"))


@pytest.mark.parametrize("count", [0, 1, 2, 20])
def test_arguments_are_counted(count):
    """No function takes none, one, or twenty arguments; those that take two, want arrays."""
    for name in functions():
        with pytest.raises(TypeError):
            getattr(twins.c, name)(*[None] * count)


def calls():
    """Arguments that fit but for one: the name, the others, and which one is wrong and how."""
    moments = np.zeros((2, 3, 10))
    binned = [SCORES, ONES, None, EDGES, None, moments, 0, 0, 1, 0, N]
    matrix = np.column_stack([SCORES, 1 - SCORES])
    entries = [matrix, ONES, None, EDGES, None, moments, 1e-6, 0, 0, 1, 0, 0, N]
    walk = [np.sort(SCORES), SCORES, np.zeros(N), 0.1, 0, 0, 1]
    tiles = [matrix, matrix, np.zeros(N), 1.0, 0, 2, 0, 0, 1]
    parts = [matrix, ONES, None, np.zeros((1, 21)), np.zeros((1, 5, 2)), N, 0, 1]
    slots = np.zeros(N, np.int32)
    event = [SCORES, ONES, None, np.zeros((1, 26)), slots, None, 0, 0, 0, N, 0, 1, EDGES, None, 40.0]
    pairs = [slots, np.zeros(N), EDGES, None, 0, 1]
    rows = [matrix, ONES, None, np.zeros((1, 27)), slots, np.zeros(N), None, 1e-3, 0, 0, 0, N, 0, 1, *pairs]
    scatter = [slots, SCORES, None, np.zeros((12, 2, 3)), 3, 1, 0, 1]
    classwise = [matrix, slots, None, EDGES, None, np.zeros((24, 2, 3)), 3, 0, 2]
    far, huge = 2**63 - 1, 2**62
    for name, given, wrong in [
        ("bin_sums", binned, {0: SCORES[1:], 1: ONES[1:], 2: SCORES[1:], 3: EDGES[1:], 5: moments[1:]}),
        ("bin_sums", binned, {6: 3, 7: 1, 8: 0, 9: -1, 10: N + 1, 0: SCORES.astype("f"), 1: SCORES}),
        ("bin_sums", binned, {9: N + 1, 10: -1}),
        ("entry_sums", entries, {0: matrix[1:], 1: ONES[1:], 2: SCORES[1:], 3: EDGES[1:], 5: moments[1:], 8: 1}),
        ("entry_sums", entries, {7: 1, 10: 3, 11: -1, 12: N + 1}),
        ("fade", walk, {0: SCORES[1:], 1: SCORES[1:], 2: SCORES[1:], 4: 4, 5: -1, 6: 2}),
        ("skce_strip", tiles, {0: matrix[1:], 5: huge + 2, 7: 1, 8: far}),
        ("matrix_sums", parts, {5: 8, 6: -1, 7: 2}),
        ("tally_event", event, {0: SCORES[1:], 1: ONES[1:], 2: SCORES[1:], 3: np.zeros((1, 25)), 4: slots[1:], 6: 1}),
        ("tally_event", event, {5: np.zeros(N), 9: 0, 10: -1, 11: 2, 12: EDGES[:1]}),
        ("tally_classes", rows, {0: matrix[1:], 1: ONES[1:], 2: SCORES[1:], 3: np.zeros((1, 26)), 4: slots[1:]}),
        ("tally_classes", rows, {5: SCORES[1:], 6: SCORES, 11: 0, 12: 2, 14: slots[1:], 15: SCORES[1:], 16: EDGES[:1]}),
        ("tally_classes", rows, {17: TABLE + 9, 18: 6, 19: 3}),
        ("tally_scatter", scatter, {0: slots + 24, 1: SCORES[1:], 2: SCORES[1:], 4: 4, 5: 3, 6: 1, 7: 3}),
        ("tally_classwise", classwise, {1: slots[1:], 2: SCORES[1:], 3: EDGES[1:], 4: TABLE + 9, 6: 7, 7: -1, 8: 3}),
        (
            "tally_sums",
            [np.zeros((2, 26)), np.zeros(23), np.zeros(5), 2],
            {0: np.zeros(51), 1: np.zeros(22), 2: np.zeros(2), 3: 0},
        ),
        (
            "tally_labels",
            [slots, None, SCORES, np.zeros((5, 2))],
            {0: slots + 2, 1: SCORES[1:], 2: SCORES[1:], 3: np.zeros(9)},
        ),
    ]:
        for place, value in wrong.items():
            yield pytest.param(name, [*given[:place], value, *given[place + 1 :]], id=f"{name}-{place}")


@pytest.mark.parametrize(("name", "given"), list(calls()))
def test_arguments_that_do_not_fit_are_refused(name, given):
    """Sizes, ranges and choices that do not fit together are an error, and nothing is read."""
    with pytest.raises((TypeError, ValueError)):
        getattr(twins.c, name)(*given)


def test_what_says_where_to_read_is_checked():
    """Tables and starts that point outside of an array are an error, or are not followed."""
    with pytest.raises(ValueError, match="fit together"):
        twins.c.bin_sums(SCORES, ONES, None, EDGES, TABLE + 7, np.zeros((2, 3, 10)), 1, 0, 1, 0, N)
    blocks = np.full((N, 4), 1e300)  # whose starts are far away
    with pytest.raises(ValueError, match="fit together"):
        twins.c.pav_join(SCORES, SCORES, blocks, np.array([0, N]), None, np.zeros(N))
    places, items = np.full(4, N), np.empty(N, np.uint64)
    with pytest.raises(ValueError, match="fit together"):
        twins.c.sort_spread(SCORES, np.zeros(N, np.uint8), items, places, 0, 62, 0, N)
    cells = np.empty(2, np.int64)
    twins.c.logit_index(np.array([1.0, 0.5]), EDGES, np.full(9, 99, np.int32), cells, 38.0, 0, 2)
    assert 0 <= cells.min() <= cells.max() < 10


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_points_that_are_no_numbers_end_a_walk(wrong):
    """Sums along points that are not finite mean nothing, but nothing beside the points is read."""
    for what, size in ((0, 1), (2, 1), (3, 1)):
        twins.c.fade(np.full(size, wrong), np.ones(size), np.zeros(1), 0.1, what, 0, 1)
    twins.c.smooth_sizes(np.ones((1, 8)), np.array([-5e-324]), np.array([0]), np.zeros(1), 8, 16, 0, 1)


def test_entries_may_lie_across_words():
    """An array that is not aligned, as of a file, gives what its copy does; it is not written to."""
    across = np.zeros(8 * N + 1, np.uint8)[1:].view(np.float64)
    across[:] = SCORES
    assert not across.flags.aligned
    assert twins.c.extremes(across, 0, N) == twins.c.extremes(SCORES, 0, N)
    with pytest.raises(ValueError, match="not aligned"):
        twins.c.sigmoids(SCORES, across)


@pytest.mark.parametrize("kind", ["c_float", "c_double", "c_int", "c_long", "c_int8", "c_bool"])
def test_arrays_of_ctypes(kind):
    """ctypes names the byte order of its arrays, which is that of the machine; LightGBM's labels are such arrays."""
    given = np.ctypeslib.as_array((getattr(ctypes, kind) * 4)(0, 1, 0, 1))
    scores = np.array([0.1, 0.8, 0.3, 0.7])
    assert evaluate(scores, given) == evaluate(scores, [0, 1, 0, 1])
    if kind in ("c_float", "c_double"):
        assert evaluate(given / 2 + 0.25, [0, 1, 1, 0]) == evaluate([0.25, 0.75] * 2, [0, 1, 1, 0])
        foreign = np.ctypeslib.as_array((getattr(ctypes, kind) * 4)(*scores))
        plain = np.array(foreign.tolist(), foreign.dtype)
        assert evaluate(foreign, [0, 1, 0, 1]) == evaluate(plain, [0, 1, 0, 1])
