"""What is made of some columns of a file, batch by batch, with errors that name the place."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from believable import _check
from believable._types import Float64s, Floats
from believable.errors import InputError

Missing = Literal["error", "keep"]
Place = Callable[[int], str]  # from a row of a batch to "row 17 (line 19)"


@dataclass(frozen=True, slots=True)
class Plan:
    """Which columns are read, and which are made of them.

    Attributes
    ----------
    take, make : tuple of str
    percent : bool or None
        All numbers are percentages; only those with a percent sign; None: none, and a sign is an error.
    """

    take: tuple[str, ...]
    make: tuple[str, ...]
    percent: bool | None = False


@dataclass(frozen=True, slots=True)
class Making:
    """Columns of one file made of others.

    Attributes
    ----------
    source : str
        What to call the file.
    choose : callable
        From the names of its columns to the `Plan`.
    compute : callable
        From numbers, of shape (n,) or (n, k), to those that are made.
    overwrite : bool
        Columns that are there already may be replaced.
    missing : {"error", "keep"}
        What a number that is not there makes: an error, or nothing.
    """

    source: str
    choose: Callable[[Sequence[str]], Plan]
    compute: Callable[[Floats], Float64s]
    overwrite: bool
    missing: Missing

    def plan(self, names: Sequence[str], choose: Callable[[Sequence[str]], Plan] | None = None) -> Plan:
        """The plan for a file with these columns; `choose` in place of its own, where they are arrays."""
        try:
            plan = (choose or self.choose)(names)
        except InputError as error:
            raise self.error(str(error)) from error
        for name in plan.take:
            if names.count(name) > 1:
                raise self.error(f"there are several columns called {name!r}: rename them")
        for name in plan.make:
            if name in names and not self.overwrite:
                raise self.clash(name)
            if names.count(name) > 1:
                raise self.error(f"there are several columns called {name!r}: choose another name")
            if name in plan.take:
                raise self.error(f"the column {name!r} is read, so it cannot be written too: choose another name")
        return plan

    def error(self, sentence: str) -> InputError:
        """A sentence about this file."""
        return InputError(f"{self.source}: {sentence}")

    def clash(self, name: str, where: str = "") -> InputError:
        """A column that is there already."""
        return self.error(f"there is a column {name!r} already{where}; choose another name, or pass overwrite=True")

    def made(self, numbers: Floats, plan: Plan, place: Place) -> Float64s:
        """What is made of a batch of shape (n, k): (n, m), NaN in rows whose numbers are missing."""
        absent = np.isnan(numbers)
        rows = np.flatnonzero(~absent.any(axis=1))
        if len(rows) < len(numbers) and self.missing == "error":
            row, column = np.argwhere(absent)[0].tolist()
            raise self.error(
                f"column {plan.take[column]!r} holds no number at {place(row)}; fill it in, drop the row, or pass "
                "missing='keep' to have the result left empty too"
            )
        out = np.full((len(numbers), len(plan.make)), np.nan)
        if not len(rows):
            return out
        present = numbers if len(rows) == len(numbers) else numbers[rows]
        try:
            for column, name in enumerate(plan.take):
                _check.finite(present[:, column], f"column {name!r}", None)
            computed = self.compute(present[:, 0] if len(plan.take) == 1 else present)
        except InputError as error:
            raise self.error(located(str(error), lambda row: place(int(rows[row])))) from error
        out[rows] = computed.reshape(len(rows), len(plan.make))
        return out


def located(sentence: str, place: Place) -> str:
    """A sentence about a row of a batch, told of the file."""
    return re.sub(r"\bat row (\d+)", lambda found: f"at {place(int(found[1]))}", sentence)
