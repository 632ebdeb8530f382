"""Tables of corrections to a common calibration map, by segment: what boosting fits, as numbers and lists.

With z the log-odds by the common map, the corrected log-odds of a row are

    F = z + sum over tables of a_k + b_k clip(z, low, high),

where a table divides rows into segments by the levels of one to three columns (or has all rows in one segment), and k
is the segment of the row. SQL applies it by joins, JavaScript by lookups. A table needs what all of its columns say: it
adds nothing to a row with a level that was not seen in fitting, coded as -1. A row without any level that was seen
keeps z.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import gt
from typing import Any, NamedTuple, final

import numpy as np

from believable import _kernels
from believable._types import Float64s, Int64s, Ints
from believable.errors import SchemaError
from believable.recalibrate.base import Recalibrator
from believable.recalibrate.facts import Field, Map, Number, Vector
from believable.recalibrate.inputs import Scores
from believable.recalibrate.pooling import common_logit
from believable.stats.levels import Levels, written
from believable.stats.segments import MOST_LEVELS

BOOSTED = {"rounds", "gain", "gain_error", "clip", "tables"}  # the fields of what is saved
TABLE = {"columns", "groups", "segments", "intercepts", "slopes"}


class Division(NamedTuple):
    """How a table divides rows into segments: by columns, and by groups of their levels."""

    columns: tuple[int, ...]
    groups: tuple[Ints, ...]

    def keys(self, codes: Ints) -> Int64s:
        """Return a number for the segment of every row; -1 where a level was not seen."""
        unseen = np.zeros(codes.shape[1], bool)
        for j in self.columns:
            unseen |= codes[j] < 0
        return np.where(
            unseen, -1, self._key([group[codes[j]] for j, group in zip(*self, strict=True)], codes.shape[1])
        )

    def keys_of(self, segments: Sequence[Sequence[int]]) -> Int64s:
        """Return the numbers of segments, from the group of every column."""
        groups = np.array(segments, np.int64).reshape(len(segments), len(self.columns))
        return self._key(list(groups.T), len(segments))

    def _key(self, grouped: Sequence[Ints], n: int) -> Int64s:
        key = np.zeros(n, np.int64)
        for each, group in zip(grouped, self.groups, strict=True):
            key = key * (int(group.max()) + 1) + each
        return key

    def segments(self, keys: Int64s) -> Int64s:
        """Return the group of every column, of segments with these numbers: (segments, columns)."""
        parts = []
        for group in reversed(self.groups):
            keys, part = np.divmod(keys, int(group.max()) + 1)
            parts.append(part)
        return np.stack(parts[::-1], axis=1) if parts else np.empty((len(keys), 0), np.int64)

    def saved(self, keys: Int64s, sums: Float64s) -> Map:
        """Return the corrections of segments, as numbers and lists; those that are not corrected are left out."""
        kept = np.flatnonzero(sums.any(axis=0))
        return {
            "columns": list(self.columns),
            "groups": [group.tolist() for group in self.groups],
            "segments": self.segments(keys[kept]).tolist(),
            "intercepts": sums[0, kept].tolist(),
            "slopes": sums[1, kept].tolist(),
        }


# --- applying ---------------------------------------------------------------------------------------------------------


def boosted_logits(fitted: Map, z: Float64s, codes: Ints) -> Float64s:
    """Return corrected log-odds.

    Parameters
    ----------
    fitted : dict
        What `fit_boosted` returned, or the same after a round trip through JSON.
    z : ndarray of shape (n,)
        Log-odds by the common map.
    codes : ndarray of shape (columns, n)
        The number of the level in each column; -1 for a level that was not seen in fitting.
    """
    known = (codes >= 0).any(axis=0)
    intercepts, slopes = np.zeros(len(z)), np.zeros(len(z))
    for table in fitted["tables"]:
        division = Division(tuple(table["columns"]), tuple(np.array(one, np.intp) for one in table["groups"]))
        keys = division.keys_of(table["segments"])
        order = np.argsort(keys)
        wanted = division.keys(codes)
        place = order[np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)]
        inside = known & (keys[place] == wanted)
        intercepts += np.where(inside, np.array(table["intercepts"])[place], 0.0)
        slopes += np.where(inside, np.array(table["slopes"])[place], 0.0)
    return np.asarray(z + intercepts + slopes * np.clip(z, *fitted["clip"]))


def apply_boosted(base: Recalibrator, fitted: Map, scores: Scores, codes: Sequence[Ints]) -> Float64s:
    """Return probabilities (n, 2); rows to which no table adds anything get those of the common map."""
    p = base._apply_pairs(Scores(scores.values, base.input))
    z = common_logit(base, scores, p[:, 1])
    eta = boosted_logits(fitted, z, np.array(codes, np.int64).reshape(len(codes), len(z)))
    rows = np.flatnonzero(eta != z)
    p[rows, 0], p[rows, 1] = _kernels.sigmoid(-eta[rows]), _kernels.sigmoid(eta[rows])
    return p


def segments_in(fitted: Map, rules: Sequence[Levels]) -> Iterator[tuple[dict[str, str], float, float]]:
    """Yield the levels of each segment, its slope and its intercept."""
    for table in fitted["tables"]:
        chosen = [rules[j] for j in table["columns"]]
        for groups, slope, intercept in zip(table["segments"], table["slopes"], table["intercepts"], strict=True):
            named = zip(chosen, table["groups"], groups, strict=True)
            yield {rule.column: _group_name(rule, of_level, group) for rule, of_level, group in named}, slope, intercept


def _group_name(rule: Levels, of_level: Sequence[int], group: int) -> str:
    """Return the name of a group: that of its level, or the range from the first to the last of its ranges."""
    inside = [i for i, one in enumerate(of_level) if one == group]
    if len(inside) == 1 or rule.cuts is None:
        return " or ".join(rule.names[i] for i in inside)
    kept = [cut for i, cut in enumerate(rule.cuts) if i in (inside[0] - 1, inside[-1])]
    words = written(np.array(kept))
    if inside[0] == 0:
        return f"up to {words[0]}"
    return f"above {words[0]}" if inside[-1] == len(rule.cuts) else " to ".join(words)


# --- the saved form ---------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class BoostedTables(Field):
    """What `fit_boosted` returns."""

    def read(self, value: Any, name: str) -> Map:
        if not isinstance(value, dict) or set(value) != BOOSTED or not isinstance(value["tables"], list):
            raise SchemaError(f"the saved {name} must have the fields {sorted(BOOSTED)}, and a list of tables")
        clip = Vector(order=1).read(value["clip"], "clip")
        rounds = Number(0).read(value["rounds"], "rounds")
        if len(clip) != 2 or not rounds.is_integer():
            raise SchemaError(f"the saved {name} must have a whole number of rounds, and two numbers as clip")
        return {
            "rounds": int(rounds),
            "gain": Number().read(value["gain"], "gain"),
            "gain_error": Number(0).read(value["gain_error"], "gain_error"),
            "clip": clip.tolist(),
            "tables": [_saved_table(one, name) for one in value["tables"]],
        }


def _saved_table(saved: Any, name: str) -> Map:
    if not isinstance(saved, dict) or set(saved) != TABLE:
        raise SchemaError(f"a table of the saved {name} must have the fields {sorted(TABLE)}")
    columns = _whole(saved["columns"], "columns of a table")
    groups, segments = saved["groups"], saved["segments"]
    if not isinstance(groups, list) or not isinstance(segments, list) or not segments or len(groups) != len(columns):
        raise SchemaError(f"a table of the saved {name} must have groups for each column, and segments")
    made: Map = {
        "columns": columns,
        "groups": [_whole(one, "groups of a column") for one in groups],
        "segments": [_whole(one, "groups of a segment") for one in segments],
    }
    if len(set(columns)) < len(columns) or len({tuple(one) for one in made["segments"]}) < len(segments):
        raise SchemaError(f"the columns and the segments of a table of the saved {name} must be distinct")
    for field in ("intercepts", "slopes"):
        made[field] = Vector().read(saved[field], field).tolist()
        if len(made[field]) != len(segments):
            raise SchemaError(f"a table of the saved {name} must have one of its {field} for each segment")
    return made


def _whole(value: Any, name: str) -> list[int]:
    numbers = Vector(0, MOST_LEVELS, fewest=0).read(value, name)
    if not (numbers == np.floor(numbers)).all():
        raise SchemaError(f"the saved {name} must be whole numbers")
    return [int(one) for one in numbers.tolist()]


def check_tables(fitted: Map, sizes: Sequence[int]) -> None:
    """Raise unless the tables fit columns with so many levels."""
    for table in fitted["tables"]:
        columns, groups = table["columns"], table["groups"]
        if any(j >= len(sizes) for j in columns) or any(
            len(group) != sizes[j] or sorted(set(group)) != list(range(max(group) + 1))
            for j, group in zip(columns, groups, strict=True)
        ):
            raise SchemaError("the saved tables must give a group to each level of columns in by")
        limits = [max(group) for group in groups]
        if any(len(one) != len(limits) or any(map(gt, one, limits)) for one in table["segments"]):
            raise SchemaError("the saved segments must have a group for each column of their table")
