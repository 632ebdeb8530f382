"""Which pane a row belongs to: by its number in the stream, by its time, or by any number that grows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

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
        given: Any = self.every
        if isinstance(given, np.timedelta64) and not np.isnat(given):
            if np.datetime_data(given)[0] in ("Y", "M"):
                raise InputError(
                    f"every must be a length of time, and months and years differ in theirs, got {given!r}"
                )
            object.__setattr__(self, "every", given.astype("timedelta64[us]").item())
        if isinstance(self.every, timedelta):
            if self.every < _MICROSECOND:
                raise InputError(f"every must be a positive length of time, a microsecond at least, got {given!r}")
            return
        if isinstance(given, (np.integer, np.floating)):
            object.__setattr__(self, "every", given.item())
        if not isinstance(self.every, (int, float)) or isinstance(given, bool) or not 0 < self.every < math.inf:
            raise InputError(f"every must be a number, more than 0, or a timedelta, got {given!r}")

    def panes(self, at: Any, n: int) -> Int64s:
        """The pane of each of n rows, for one time or one per row."""
        values = self._numbers(at)
        if values.shape not in ((), (n,)):
            raise InputError(f"at must be one time, or one for each of {n} rows, got shape {values.shape}")
        if isinstance(self.every, timedelta):
            panes = values // (self.every // _MICROSECOND)
        else:
            # Whole numbers stay whole: nanoseconds since 1970 are more than a float tells apart.
            whole = values.dtype.kind == "i" and isinstance(self.every, int) and self.every < 2**63
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                places = values // self.every if whole else values / self.every
            if not ((places > -_FURTHEST) & (places < _FURTHEST)).all():
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
        return values.astype(np.int64 if values.dtype.kind == "i" else np.float64)

    def start(self, pane: int) -> Any:
        """Where a pane begins: a number, or a time (UTC)."""
        if isinstance(self.every, timedelta):
            return _EPOCH + pane * self.every
        start = pane * self.every
        return round(start) if math.isclose(start, round(start), rel_tol=1e-15) else float(start)


def _utc(moment: date) -> datetime:
    """A time without a zone is taken to be UTC; a date is its midnight."""
    if moment != moment:  # pandas' NaT, which is a datetime
        raise InputError("at has a missing time")
    if not isinstance(moment, datetime):
        return datetime(moment.year, moment.month, moment.day)
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo is not None else moment
