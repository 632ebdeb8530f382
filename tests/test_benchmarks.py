"""The benchmarks run and agree with the definitions; nothing here looks at a clock."""

from __future__ import annotations

import importlib
import json
import time
from pathlib import Path

import numpy as np
import pytest
from benchmarks import charts, elsewhere, kernel_time, literal, page, run, timing
from benchmarks.__main__ import EFFORTS, sizes_of
from benchmarks.calls import installed
from benchmarks.operations import operations

import believable

DOCS = Path(__file__).resolve().parent.parent / "docs"
QUICK = {None, "believable", "scikit-learn", "polars"}  # importing the others takes seconds
LISTED = operations()


def measured(place, sizes=None, effort=EFFORTS["smoke"], process=None):
    operation = LISTED[place]
    sizes = sizes or sizes_of(operation, "smoke")
    return run.measure(operation, place, sizes, effort, process, wanted=lambda call: call.package in QUICK)


@pytest.mark.parametrize("place", range(len(LISTED)), ids=[operation.title for operation in LISTED])
def test_an_operation_runs_and_is_right(place):
    """Our calls give the number of the definition, and none of those that are called fails."""
    if LISTED[place].name == "files" and not installed("pyarrow"):
        pytest.skip("writing the file takes pyarrow")
    rows = measured(place)["rows"]
    assert rows[0]["mark"] == "right"
    assert {row["mark"] for row in rows if row["kind"] != "peer"} <= {"right", "other number", ""}
    assert not [row["failure"] for row in rows if "failure" in row]


@pytest.mark.slow
def test_kernels_in_numpy_are_timed_elsewhere():
    """Another process answers for the same call, with the same value."""
    process = elsewhere.Process()
    try:
        rows = {row["call"]: row for row in measured(0, sizes=(300,), process=process)["rows"]}
    finally:
        process.close()
    assert rows[run.IN_NUMPY]["at"]["300"]["off"] < 1e-12


def test_a_clock_of_its_own_may_stand_still():
    """A candidate that spends nothing by its own clock is still called a few times only."""

    class Idle:
        called = 0

        def sample(self, loops):
            self.called += loops
            time.sleep(1e-3)
            return 0.0, None

    idle = Idle()
    timing.in_turns([idle], repeats=2, enough=1.0)
    assert 3 <= idle.called <= 20


def test_the_time_in_kernels_is_part_of_the_call(monkeypatch):
    """What is bound to a kernel with a twin is timed while it runs, and bound as before afterwards."""
    backend = importlib.import_module("believable._kernels.twins")
    monkeypatch.setattr(backend, "TWINS", {"pav": (believable._kernels.pav, believable._kernels.pav)})
    before = believable._kernels.pav
    watched = kernel_time.KernelTime(lambda: believable.corp_decomposition([0.1, 0.2, 0.8], [1, 0, 1]))
    seconds, _ = watched.sample(2)
    assert seconds > 0
    assert watched.used == {"pav"}
    assert believable._kernels.pav is before


def test_a_wrong_number_is_marked_and_another_is_not():
    """Off by more than is allowed: rough, then wrong, unless the row says that it means something else."""
    row = {"kind": "peer", "at": {"10": {"off": 1e-2}}, "other": ""}
    assert run._mark(row, LISTED[0]) == "wrong"
    assert run._mark({**row, "other": "it counts classes"}, LISTED[0]) == "other number"
    assert run._mark({**row, "at": {"10": {"off": 1e-9}}}, LISTED[0]) == "right"
    assert run._mark({**row, "at": {"10": {"off": 5 * LISTED[0].right}}}, LISTED[0]) == "rough"


def test_off_is_relative_and_sees_missing_numbers():
    """In units of the largest true value; NaN and another shape are infinitely far."""
    assert literal.off(1.1, 1.0) == pytest.approx(0.1)
    assert literal.off([0.5, 2.0], [0.4, 2.0]) == pytest.approx(0.05)
    assert literal.off(float("nan"), 1.0) == literal.off([1.0], 1.0) == np.inf


def test_the_exponent_is_the_slope():
    """Of log time on log n, from three sizes on; a call that would be too slow is not made."""
    squares = {n: 1e-6 * n**2 for n in (10, 100, 1000)}
    assert run.exponent(squares) == pytest.approx(2)
    assert run.exponent({10: 1.0, 100: 1.0}) is None
    row = {"kind": "peer", "at": {str(n): {"seconds": time} for n, time in squares.items()}}
    assert run._affordable(row, 2000, run.Effort(longest=5))
    assert not run._affordable(row, 3000, run.Effort(longest=5))


def test_the_page_says_what_was_measured():
    """The page in the documentation is the one that its results give."""
    results = json.loads((DOCS / "benchmarks.json").read_text())
    assert (DOCS / "benchmarks.md").read_text() == page.page(results)


@pytest.mark.slow
def test_pictures_are_reproducible(tmp_path):
    """The same results give the same bytes."""
    results = json.loads((DOCS / "benchmarks.json").read_text())
    first = [path.read_bytes() for path in charts.draw(results, tmp_path)]
    assert first == [path.read_bytes() for path in charts.draw(results, tmp_path)]
    assert len(first) == 3
