"""Which pane a row belongs to: by its number in the stream, by its time, or by any number that grows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

from believable import _check
from believable._arrays import as_numpy
from believable._types import Int64s
from believable.errors import InputError

_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1)
_FURTHEST = 2.0**53


@dataclass(frozen=True, slots=True)
class Clock:
    """Panes of equal length: [k every, (k + 1) every), counted from 0 or from the beginning of 1970 (UTC)."""

    every: int | float | timedelta

    def __post_init__(self) -> None:
        if isinstance(self.every, np.timedelta64):
            object.__setattr__(self, "every", self.every.astype("timedelta64[us]").item())
        if isinstance(self.every, timedelta):
            if self.every < _MICROSECOND:
                raise InputError(f"every must be a positive length of time, got {self.every!r}")
            return
        if _check.number(self.every, "every") <= 0:
            raise InputError(f"every must be more than 0, got {self.every!r}")

    def panes(self, at: Any, n: int) -> Int64s:
        """The pane of each of n rows, for one time or one per row."""
        values = self._numbers(at)
        if values.shape not in ((), (n,)):
            raise InputError(f"at must be one time, or one for each of {n} rows, got shape {values.shape}")
        if isinstance(self.every, timedelta):
            panes = values // (self.every // _MICROSECOND)
        else:
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                places = values / self.every
            if not (np.abs(places) < _FURTHEST).all():
                raise InputError("at must be finite numbers, and not so large that panes cannot be told apart")
            panes = np.floor(places).astype(np.int64)
        return np.broadcast_to(panes, (n,))

    def _numbers(self, at: Any) -> Any:
        """Times as whole microseconds since 1970, or numbers as they are."""
        if isinstance(at, (date, datetime)):
            at = _utc(at)
        values = np.asarray(at) if isinstance(at, datetime) else as_numpy(at, "at")
        if values.dtype == object and all(isinstance(one, (date, datetime)) for one in values.ravel()):
            values = np.array([_utc(one) for one in values.ravel()], "datetime64[us]").reshape(values.shape)
        if isinstance(self.every, timedelta):
            if values.dtype.kind != "M":
                raise InputError(f"every is a length of time, so at must be times, got values of type {values.dtype}")
            if np.isnat(values).any():
                raise InputError("at has a missing time")
            return values.astype("datetime64[us]").astype(np.int64)
        if values.dtype.kind not in "iuf":
            raise InputError(
                f"every is a number, so at must be numbers, got values of type {values.dtype}; for times pass "
                "every=datetime.timedelta(...)"
            )
        return values.astype(np.float64)

    def start(self, pane: int) -> Any:
        """Where a pane begins: a number, or a time (UTC)."""
        if isinstance(self.every, timedelta):
            return _EPOCH + pane * self.every
        start = pane * self.every
        return int(start) if isinstance(self.every, int) or math.isclose(start, round(start)) else start


def _utc(moment: date) -> datetime:
    """A time without a zone is taken to be UTC; a date is its midnight."""
    if not isinstance(moment, datetime):
        return datetime(moment.year, moment.month, moment.day)
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo is not None else moment
