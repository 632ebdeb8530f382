"""The monitor: windows over a stream."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, date, datetime, timedelta, timezone
from functools import partial

import numpy as np
import pytest

import believable
from believable import CalibrationMeter, DriftAlarm, Predictions
from believable import CalibrationMonitor as FullMonitor
from believable.errors import InputError, SchemaError, UndefinedError

CalibrationMonitor = partial(FullMonitor, n_resamples=100)


def stream(n, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return p, (rng.random(n) < p).astype(int)


def spans(history):
    return [(one.start, one.end, one.n) for one in history]


def test_windows_of_rows_follow_each_other():
    """Each window holds its own rows, and says what those rows say."""
    p, y = stream(1050)
    monitor = CalibrationMonitor(300, random_state=0)
    assert str(monitor.history) == "no window is complete yet"
    monitor.update(p, y)
    assert spans(monitor.history) == [(0, 300, 300), (300, 600, 300), (600, 900, 300)]
    for k, window in enumerate(monitor.history):
        rows = slice(300 * k, 300 * (k + 1))
        assert window.value == pytest.approx(believable.expected_calibration_error(p[rows], y[rows]))
        assert window.mean_score == pytest.approx(p[rows].mean())
        assert window.rate == pytest.approx(y[rows].mean())
        assert window.low <= window.high
        floor = believable.noise_floor("ece", p[rows], y[rows], random_state=0)
        assert window.floor == pytest.approx(floor.mean, rel=0.2)
        assert window.flagged == (window.p_value <= 0.05)
    assert spans(monitor.close())[-1] == (900, 1050, 150)
    with pytest.raises(InputError, match="closed"):
        monitor.update([0.5], [1])


@pytest.mark.parametrize("sizes", [[700], [1] * 30 + [670], [299, 1, 0, 400]])
def test_results_do_not_depend_on_the_batches(sizes):
    """Windows, their draws and the alarm are the same however the rows come."""
    p, y = stream(700)
    whole, parts = (CalibrationMonitor(100, windows=3, random_state=0) for _ in range(2))
    whole.update(p, y)
    start = 0
    for size in sizes:
        parts.update(p[start : start + size], y[start : start + size])
        start += size
    ours, theirs = parts.history.to_dict(), whole.history.to_dict()
    for name in ours:
        assert ours[name] == pytest.approx(theirs[name], rel=1e-12), name
    assert parts.alarm.batches == 7


def test_sliding_windows_hold_the_last_panes():
    """Three panes each, fewer at the beginning; the alarm sees every row once."""
    p, y = stream(500)
    monitor = CalibrationMonitor(100, windows=3)
    monitor.update(p, y)
    assert spans(monitor.history) == [(0, 100, 100), (0, 200, 200), (0, 300, 300), (100, 400, 300), (200, 500, 300)]
    assert monitor.history[3].value == pytest.approx(believable.expected_calibration_error(p[100:400], y[100:400]))
    assert monitor.alarm.n == 500
    assert len(monitor._closed) <= 3


def test_windows_of_time():
    """Days begin at midnight UTC, whatever the zone of the times; days without rows have no window."""
    monitor = CalibrationMonitor(timedelta(days=1))
    east = timezone(timedelta(hours=2))
    monitor.update([0.2, 0.7], [0, 1], at=datetime(2026, 3, 2, 1, 0, tzinfo=east))  # the day before, in UTC
    monitor.update([0.4], [0], at=date(2026, 3, 2))
    monitor.update([0.4], [0], at=datetime(2026, 3, 2, 23, 59, 59, 999_999, tzinfo=UTC))
    monitor.update([0.3, 0.6], [0, 1], at=np.array(["2026-03-05T10:00", "2026-03-05T12:00"], "datetime64[m]"))
    days = [(datetime(2026, 3, d), datetime(2026, 3, d + 1), 2) for d in (1, 2, 5)]
    assert spans(monitor.close()) == days
    assert "2026-03-01 … 2026-03-02 " in str(monitor)


def test_a_sliding_window_of_time_skips_empty_panes():
    """A window is a stretch of time, not of panes that happen to have rows."""
    monitor = CalibrationMonitor(1.0, windows=2)
    for at, n in ((0.5, 3), (1.5, 4), (5.5, 5)):
        monitor.update(np.full(n, 0.5), np.arange(n) % 2, at=at)
    assert spans(monitor.close()) == [(0, 1, 3), (0, 2, 7), (4, 6, 5)]


def test_rows_out_of_order():
    """They go to their own pane until it is complete; then they are late, and counted or refused."""
    monitor = CalibrationMonitor(10, wait=1)
    monitor.update([0.2, 0.3], [0, 1], at=[5, 15])
    monitor.update([0.4, 0.9], [0, 1], at=[9, 12])
    assert len(monitor.history) == 0
    monitor.update([0.4], [1], at=[20])  # more than one pane after the first
    monitor.update([0.4, 0.6, 0.5], [1, 0, 1], at=[9, 19, 29])
    assert (monitor.n, monitor.n_late) == (7, 1)
    assert spans(monitor.close()) == [(0, 10, 2), (10, 20, 3), (20, 30, 2)]
    strict = CalibrationMonitor(10, late="refuse")
    strict.update([0.2], [0], at=15)
    with pytest.raises(InputError, match="1 of its rows are late"):
        strict.update([0.2, 0.3], [0, 1], at=[5, 16])
    assert strict.n == 1


def test_rows_that_are_dropped_take_their_time_along():
    """With ignored and weightless rows each time stays with its row."""
    monitor = CalibrationMonitor(1, ignore_label=-1)
    monitor.update([0.2, 0.3, 0.4, 0.5], [0, -1, 1, 1], [1, 1, 0, 2], at=[0, 1, 2, 3])
    monitor.update([0.2], [-1], at=7)
    assert [one.start for one in monitor.close()] == [0, 3]
    assert (monitor.n, monitor.n_ignored) == (2, 2)


def test_the_alarm_rings_in_its_window():
    """The window says that it rang, and the printed table marks it."""
    rng = np.random.default_rng(1)
    monitor = CalibrationMonitor(500, tolerance=0.02, random_state=0)
    for k in range(8):
        p = rng.random(500)
        monitor.update(p, rng.random(500) < (p if k < 4 else p**2))
    assert [one.alarm for one in monitor.history] == [False] * 4 + [True] * 4
    assert monitor.history[4].flagged
    text = str(monitor)
    assert "expected calibration error (binary, 10 bins)" in text
    assert text.count(" *!") == 4
    assert "are too high (batch 5, 2,500 rows" in text
    frame = monitor.history.to_frame()
    assert frame.columns[:4] == ["start", "end", "n", "mean_score"]
    assert frame["alarm"].to_list() == [False] * 4 + [True] * 4
    sent = pickle.loads(pickle.dumps(monitor))
    assert str(sent) == text


@pytest.mark.parametrize("every", [70, timedelta(hours=2)])
def test_monitors_travel(every):
    """Through JSON a monitor goes on as if nothing had happened, in the midst of a pane."""
    p, y = stream(300)
    at = np.datetime64("2026-03-01") + np.arange(300) * np.timedelta64(1, "m") * 2
    whole = CalibrationMonitor(every, windows=2, random_state=0)
    first, second = (CalibrationMonitor(every, windows=2, random_state=0) for _ in range(2))
    for k in range(3):
        rows = slice(100 * k, 100 * (k + 1))
        batch = {"at": at[rows]} if isinstance(every, timedelta) else {}
        for one in (whole, first) if k < 1 else (whole, second):
            one.update(p[rows], y[rows], **batch)
        if k == 0:
            second.load_state_dict(json.loads(json.dumps(first.state_dict())))
            assert second.state_dict() == first.state_dict()
    ours, theirs = second.close(), whole.close()
    for name in ("start", "end", "n", "value", "capital"):
        assert [getattr(one, name) for one in ours] == [
            value if isinstance(value, datetime) else pytest.approx(value)
            for value in (getattr(one, name) for one in theirs)
        ]
    fresh = CalibrationMonitor(every)
    fresh.load_state_dict(CalibrationMonitor(every).state_dict())
    assert fresh.n == 0


def test_damaged_monitors_are_refused():
    """And nothing changes."""
    monitor = CalibrationMonitor(2)
    monitor.update(*stream(5))
    saved = json.loads(json.dumps(monitor.state_dict()))
    window = saved["windows"][0]
    for damage in [
        {"schema": "x"},
        {"settings": {}},
        {"counters": {}},
        {"counters": saved["counters"] | {"n": -1}},
        {"by_rows": 3},
        {"stream": ["binary", 2, "float32"]},
        {"stream": [1]},
        {"open": {"a": {}}},
        {"open": {"3": CalibrationMeter(spacing="uniform").state_dict()}},
        {"closed": {"1": {}}},
        {"windows": [{}]},
        {"windows": [window | {"n": 1.5}]},
        {"windows": [window | {"start": "soon"}]},
        {"windows": [window | {"value": None}]},
        {"alarm": {}},
    ]:
        with pytest.raises(SchemaError):
            monitor.load_state_dict(saved | damage)
    assert monitor.state_dict() == saved


def test_memory_is_bounded():
    """History keeps the last windows, and statistics are kept for one window alone."""
    monitor = CalibrationMonitor(2, history=3, windows=2)
    p, y = stream(20)
    monitor.update(p, y)
    assert spans(monitor.history) == [(12, 16, 4), (14, 18, 4), (16, 20, 4)]
    assert (len(monitor._open), len(monitor._closed)) == (0, 2)


def test_matrices_and_independent_columns():
    """A matrix is watched by its confidence, independent columns class by class."""
    rng = np.random.default_rng(2)
    p = rng.dirichlet([1, 1, 1], 100)
    y = rng.integers(0, 3, 100)
    monitor = CalibrationMonitor(50)
    monitor.update(p, y)
    assert [one.n for one in monitor.history] == [50, 50]
    assert monitor.history.notion == "confidence"
    first = believable.expected_calibration_error(p[:50], y[:50])
    assert monitor.history[0].value == pytest.approx(first)
    columns = CalibrationMonitor(50, multilabel=True)
    columns.update(p, p > 0.5)
    assert [one.n for one in columns.history] == [50, 50]
    assert columns.history.notion == "classwise"


@pytest.mark.parametrize(
    ("choices", "batch", "words"),
    [
        ({"every": 1.5}, {}, "every, without at, must be an integer"),
        ({"every": 2}, {"at": datetime(2026, 1, 1)}, "every is a number, so at must be numbers"),
        ({"every": timedelta(1)}, {}, "pass the times of the rows as at="),
        ({"every": np.timedelta64(1, "D")}, {"at": 3}, "so at must be times"),
        ({"every": 1e-300}, {"at": 1e300}, "finite"),
        ({"every": timedelta(1)}, {"at": np.datetime64("NaT")}, "missing time"),
        ({"every": 2}, {"at": [1, 2, 3]}, "one for each of 2 rows"),
        ({"every": 2}, {"at": float("nan")}, "finite"),
        ({"every": 2, "n_bins": 11}, {}, "11 bins do not consist of whole cells"),
        ({"every": 2, "alarm": DriftAlarm(notion="classwise")}, {}, "watches classwise"),
    ],
)
def test_a_batch_that_does_not_fit_is_refused(choices, batch, words):
    """The error says so, and nothing was counted."""
    monitor = CalibrationMonitor(**choices)
    with pytest.raises(InputError, match="none of it was counted") as error:
        monitor.update([0.2, 0.4], [0, 1], **batch)
    assert words in str(error.value)
    assert (monitor.n, len(monitor.history), len(monitor._open)) == (0, 0, 0)


def test_streams_stay_what_they_are():
    """Times come with every batch or with none, in one type of scores; choices are checked at once."""
    monitor = CalibrationMonitor(2)
    monitor.update([0.2], [1])
    for batch, words in [
        (([0.2], [1], None, 3), "with every batch, or with none"),
        ((np.float32([0.2]), [1], None, None), "float32"),
    ]:
        with pytest.raises(InputError, match=words):
            monitor.update(*batch[:3], at=batch[3])
    for choices, words in [
        ({"every": 0}, "a number above 0"),
        ({"every": timedelta(0)}, "positive length"),
        ({"every": "day"}, "every must be a number"),
        ({"every": 1, "windows": 0}, "windows"),
        ({"every": 1, "late": "drop"}, "late"),
        ({"every": 1, "alarm": 0.05}, "must be a DriftAlarm"),
    ]:
        with pytest.raises(InputError, match=words):
            CalibrationMonitor(**choices)


def test_a_positive_label_that_never_comes():
    """There is no history of it; a Predictions says for itself what is positive."""
    monitor = CalibrationMonitor(1, pos_label="yes")
    monitor.update([0.2], ["Yes"])
    with pytest.raises(UndefinedError, match="pos_label='yes' has not occurred"):
        monitor.history  # noqa: B018
    monitor.update(Predictions([0.2], [1]))
    assert [one.rate for one in monitor.history] == [0, 1]


def test_panes_of_whole_numbers_are_exact():
    """Nanoseconds since 1970 fall on the right side of midnight, and panes are called by where they begin."""
    day = 86_400 * 10**9
    at = np.array([-1, 0, 1, day - 1, day]) + 19_000 * day
    monitor = CalibrationMonitor(day)
    monitor.update(np.full(5, 0.3), [0, 1, 0, 0, 1], at=at)
    assert spans(monitor.close()) == [((18_999 + k) * day, (19_000 + k) * day, n) for k, n in enumerate((1, 3, 1))]
    halves = CalibrationMonitor(0.5)
    halves.update([0.3, 0.4], [0, 1], at=[1.7e9, 1.7e9 + 0.5])
    assert spans(halves.close()) == [(1.7e9, 1.7e9 + 0.5, 1), (1.7e9 + 0.5, 1.7e9 + 1, 1)]
    with pytest.raises(InputError, match="neighbouring panes become equal"):
        CalibrationMonitor(1).update([0.3], [0], at=-(2**63))


def test_lengths_and_times_that_are_none_are_refused():
    """A month has no length, infinity is none, and a missing time is nowhere."""
    import pandas as pd

    for every in (np.timedelta64(1, "M"), np.timedelta64("NaT"), np.timedelta64(1, "ns"), float("inf"), "day", True):
        with pytest.raises(InputError, match="every must be"):
            CalibrationMonitor(every)
    for at in (pd.NaT, [pd.NaT, date(2024, 1, 1)], np.datetime64("NaT")):
        with pytest.raises(InputError, match="missing time"):
            CalibrationMonitor(timedelta(days=1)).update([0.3, 0.2], [0, 1], at=at)
    json.dumps(CalibrationMonitor(np.int64(5)).state_dict())


def test_a_state_that_lost_a_pane_is_refused():
    """The open panes of a saved monitor hold the rows that it counted, and none are missing."""
    p, y = stream(37)
    monitor = CalibrationMonitor(10)
    monitor.update(p, y)
    saved = json.loads(json.dumps(monitor.state_dict()))
    CalibrationMonitor(10).load_state_dict(saved)
    counters = saved["counters"]
    for damage in (
        {"open": {}},
        {"by_rows": None},
        {"counters": counters | {"n": 38}},
        {"counters": counters | {"n": 10**30 + 7}},
    ):
        with pytest.raises(SchemaError, match="do not have the rows"):
            CalibrationMonitor(10).load_state_dict(saved | damage)
    monitor.close()
    CalibrationMonitor(10).load_state_dict(monitor.state_dict())


def test_labels_beyond_the_two_are_refused():
    """A third label is no negative, whichever pane its batch belongs to."""
    monitor = CalibrationMonitor(2, pos_label="yes")
    monitor.update([0.2, 0.9], ["no", "yes"])
    with pytest.raises(InputError, match=r"CalibrationMonitor\(..., neg_label=...\)"):
        monitor.update([0.3], ["maybe"])
    named = CalibrationMonitor(2, pos_label="yes", neg_label="no")
    with pytest.raises(InputError, match="neither pos_label='yes' nor neg_label='no'"):
        named.update([0.3], ["maybe"])
    assert (monitor.n, named.n) == (2, 0)


def test_a_saved_monitor_keeps_the_negative_label():
    """After loading, a third label is refused as before."""
    monitor = CalibrationMonitor(2, pos_label="yes")
    monitor.update([0.2, 0.9], ["no", "yes"])
    again = CalibrationMonitor(2, pos_label="yes")
    again.load_state_dict(json.loads(json.dumps(monitor.state_dict())))
    with pytest.raises(InputError, match="neither pos_label='yes' nor 'no'"):
        again.update([0.3], ["maybe"])
