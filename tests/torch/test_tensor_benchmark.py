"""The benchmark of calls on tensors runs on few rows and its sides agree; nothing here looks at a clock."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
from benchmarks import tensor_cases, tensors, turns
from benchmarks.tensor_cases import CASES, SIZES, Case, Place

from tests.needs import need

TINY = replace(SIZES["cpu"].shrunk(10_000), scores=1000, ten=100, doubles=1000, few_ten=20, epoch=2)
QUICK = [case for case in CASES if case.name != "updates"]


def run_quietly(cases, place=None, beside=None):
    """The records of cases, and the lines that were printed."""
    shown = []
    return tensors.run(cases, place or Place("cpu", TINY), beside or {}, shown.append), "\n".join(shown)


@pytest.fixture(autouse=True)
def _one_repeat_in_one_thread(monkeypatch):
    monkeypatch.setattr(tensors, "in_turns", lambda sides, wait: turns.in_turns(sides, wait, repeats=1))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # of so few rows, threads only wait for each other
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("case", QUICK, ids=[case.name for case in QUICK])
def test_a_case_runs_and_both_sides_agree(case):
    """Each call has a time and a line, and no ECE differs from that of torchmetrics (which rounds to bfloat16)."""
    need("torchmetrics")
    results, printed = run_quietly([case])
    assert all(row["ours"] > 0 for row in results["rows"])
    assert not [row for row in results["rows"] if row["note"].startswith("ECE") and row["call"] != "bfloat16"]
    assert not [row for row in results["rows"] if "Error" in row["note"]]
    assert all(f"| {row['call']} |" in printed for row in results["rows"])
    assert json.loads(json.dumps(results)) == results


def test_single_updates_have_times():
    """An update and a reading of one batch are timed for meters of both sizes."""
    need("torchmetrics")
    some = replace(CASES[[case.name for case in CASES].index("updates")], calls=lambda place: few_updates(place))
    rows = run_quietly([some])[0]["rows"]
    assert len(rows) == 4
    assert all(row["ours"] > 0 and row["peer"] > 0 and row["note"] == "" for row in rows)


def few_updates(place):
    """The calls of one batch."""
    calls = tensor_cases.updates(place)
    return (next(calls) for _ in range(4))


def test_a_missing_peer_is_an_empty_column(monkeypatch):
    """Without torchmetrics only our own calls are timed."""
    monkeypatch.setattr(tensor_cases, "torchmetrics", None)
    results, printed = run_quietly([case for case in CASES if case.name in ("float64", "epochs")])
    assert {row["peer"] for row in results["rows"]} == {None}
    assert "| — | — |" in printed


def test_what_does_not_fit_is_skipped():
    """A case without memory for its tensors, and a call that fails, are lines of the table; the rest still runs."""

    def too_large(place):
        raise MemoryError("a petabyte")
        yield

    def failing(place):
        yield tensor_cases.Call("fails", turns.Side(lambda: 1 / 0), None)

    results, printed = run_quietly(
        [
            Case("large", lambda sizes: "Large", too_large),
            Case("failing", lambda sizes: "Failing", failing),
        ]
    )
    assert "skipped the rest: MemoryError: a petabyte" in printed
    (row,) = results["rows"]
    assert (row["ours"], row["note"]) == (None, "ours: ZeroDivisionError: division by zero")


def test_further_columns_are_measured_beside():
    """A column of one's own holds what it measures, where a call says what it reads."""
    case = next(case for case in CASES if case.name == "weights")
    results, printed = run_quietly([case], beside={"bytes": lambda call: sum(one.nbytes for one in call.reads)})
    assert [row["bytes"] for row in results["rows"]] == [9000, 9000]
    assert "| call | bytes | ours, ms |" in printed


def test_sides_that_differ_are_noted():
    """Values closer than 1e-4 agree; others are shown."""
    assert tensor_cases.agreement(0.2, 0.20005) == ""
    assert tensor_cases.agreement(0.2, 0.21) == "ECE 0.20000, theirs 0.21000"


def test_numbers_are_written_with_three_digits():
    """Digits before the point are never rounded away."""
    written = [tensors.digits(value) for value in (None, 0.12345, 1.2345, 82.34, 1234.5)]
    assert written == ["—", "0.123", "1.23", "82.3", "1,234"]
