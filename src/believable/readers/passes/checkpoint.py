"""Save the state of a long pass in a file: what was counted, how many rows are done, and the settings."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from believable._write import name_beside, sweep, write_beside
from believable.errors import InputError, SchemaError
from believable.readers.passes.count_batch import FirstRows
from believable.readers.passes.parts import Parts
from believable.stats import Summary
from believable.stats.saved import FILE_MAGIC, check_beginning, pack, unpack

CHECKPOINT_SCHEMA = "believable.Checkpoint"
CHECKPOINT_VERSION = 1
PREVIOUS_ENDING = ".previous"  # a second copy, because a damaged file could cost hours of work


@dataclass(frozen=True, slots=True)
class State:
    """The state of a pass.

    Attributes
    ----------
    rows : int
        Number of rows that are done, from the beginning of the table.
    summary : Summary or None
        The summary of those rows; None if all of them were left out.
    dropped : dict of str to int
        Number of rows that were left out, by reason.
    seen : FirstRows or None
        What the columns contain, according to the first rows.
    """

    rows: int = 0
    summary: Summary | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    seen: FirstRows | None = None

    @property
    def result(self) -> Summary | None:
        """The summary, with the counts of rows left out."""
        return None if self.summary is None else replace(self.summary, dropped=dict(self.dropped))


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A file with the state of one pass.

    Attributes
    ----------
    path : Path
    files : list
        Name, number of rows, size and time of last change of each file of the table.
    asked : dict of str to str
        The settings of the pass, as text.
    """

    path: Path
    files: list[list[Any]]
    asked: Mapping[str, str]

    @classmethod
    def of(cls, path: str | os.PathLike[str], parts: Parts, asked: Mapping[str, Any]) -> Checkpoint:
        """Return the checkpoint of a pass over these files."""
        given, target = os.fspath(path), Path(path).resolve()
        if target.is_dir():
            raise InputError(f"{given} is a folder: name a file for the checkpoint")
        if not target.parent.is_dir():
            raise InputError(f"{given} cannot be written: there is no folder {target.parent}")
        inputs = [os.path.realpath(part.path) for part in parts.files]
        if str(target) in inputs:
            raise InputError(f"{given} is an input file: choose another name for the checkpoint")
        root = os.path.commonpath([os.path.dirname(one) for one in inputs])
        files = [
            [os.path.relpath(one, root), part.rows, part.size, part.mtime]
            for one, part in zip(inputs, parts.files, strict=True)
        ]
        made = cls(Path(given), files, {name: repr(value) for name, value in asked.items()})
        if _is_foreign(made._previous):
            raise InputError(
                f"{made._previous} is not a checkpoint, but a backup of {given} would be written there: choose another "
                "name"
            )
        return made

    # --- writing ---

    def save(self, state: State) -> None:
        """Write the state, completely or not at all; the previous one is kept as a backup."""
        form = {
            "schema": CHECKPOINT_SCHEMA,
            "version": CHECKPOINT_VERSION,
            "rows": state.rows,
            "of": sum(rows for _, rows, _, _ in self.files),
            "files": self.files,
            "asked": dict(self.asked),
            "seen": None if state.seen is None else asdict(state.seen) | {"words": list(state.seen.words)},
            "dropped": dict(state.dropped),
            "summary": None if state.result is None else state.result._form(),
        }
        written = pack(form)
        with write_beside(self.path) as beside:
            beside.write_bytes(written)
            self._keep_previous()
        if state.rows == form["of"]:
            self._previous.unlink(missing_ok=True)

    @property
    def _previous(self) -> Path:
        target = self.path.resolve()
        return target.with_name(target.name + PREVIOUS_ENDING)

    def _keep_previous(self) -> None:
        """Copy the current file, without a moment in which there is no backup; damage to one file spares the other."""
        target, beside = self.path.resolve(), name_beside(self._previous)
        if not target.is_file():
            return
        sweep(self._previous)
        try:
            shutil.copyfile(target, beside)
            os.replace(beside, self._previous)
        finally:
            beside.unlink(missing_ok=True)

    # --- reading ---

    def resume(self) -> tuple[State, list[str]]:
        """Return the state to continue from, and notes about it.

        Without a file, the pass starts at the first row. If the file is damaged, the backup is used, or else the pass
        starts over. A file that is not a checkpoint, or that belongs to other files or settings, is an error.
        """
        target = self.path.resolve()
        if not target.exists():
            return State(), []
        try:
            state = self._state(target)
        except Damaged as error:
            why = str(error)
        else:
            return state, [
                f"{self.path}: {state.rows:,} of {self._total:,} rows were already counted"
            ] if state.rows else []
        if self._previous.is_file():
            try:
                state = self._state(self._previous)
            except Damaged:
                pass
            else:
                return state, [f"{why}; the backup is intact: continuing from {state.rows:,} of {self._total:,} rows"]
        return State(), [f"{why}, and there is no backup: starting over"]

    @property
    def _total(self) -> int:
        return sum(rows for _, rows, _, _ in self.files)

    def _state(self, path: Path) -> State:
        form = read_checkpoint(path, self.path)
        self._refuse_other(form)
        return _state_of(form, self.path)

    def _refuse_other(self, form: Mapping[str, Any]) -> None:
        """Raise if the checkpoint belongs to another pass."""
        what_to_do = "name another checkpoint, or delete this one to start over"
        for name in sorted({*self.asked, *form["asked"]}):
            then, now = form["asked"].get(name, "None"), self.asked.get(name, "None")
            if then != now:
                raise InputError(
                    "{file} belongs to a pass with {argument}={then}, but now it is {now}: {what_to_do}",
                    argument=name,
                    file=self.path,
                    then=then,
                    now=now,
                    what_to_do=what_to_do,
                )
        then_files, now_files = {one[0]: one for one in form["files"]}, {one[0]: one for one in self.files}
        for name in [*now_files, *then_files]:
            then_file, now_file = then_files.get(name), now_files.get(name)
            if then_file != now_file:
                what = "is new" if then_file is None else "is gone" if now_file is None else "was changed"
                raise InputError(f"{self.path}: the file {name} {what} since that checkpoint: {what_to_do}")


class Damaged(Exception):
    """The file is a checkpoint, but it is damaged."""


def read_checkpoint(path: Path, called: Path | None = None) -> dict[str, Any]:
    """Return the dictionary in a checkpoint; raise `Damaged` if it is damaged, `InputError` if it is not one."""
    called = path if called is None else called
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{called} cannot be read: {error.strerror or error}") from error
    if not data.startswith(FILE_MAGIC[: len(data)]):
        raise InputError(f"{called} is not a checkpoint: name another file for the checkpoint")
    if len(data) >= 64:
        try:
            check_beginning(data, str(called))
        except SchemaError as error:
            raise InputError(str(error)) from error
    try:
        form = unpack(data, str(called))
    except SchemaError as error:
        what = "is empty" if not data else "is damaged (cut short)" if "cut short" in str(error) else "is damaged"
        raise Damaged(f"the checkpoint {called} {what}") from error
    if form.get("schema") != CHECKPOINT_SCHEMA:
        what = str(form.get("schema")).removeprefix("believable.")
        raise InputError(f"{called} is a saved {what}, not a checkpoint: name another file for the checkpoint")
    if form.get("version") != CHECKPOINT_VERSION:
        raise InputError(f"{called} was written by another version of this program: delete it to start over")
    return form


def _state_of(form: Mapping[str, Any], called: Path) -> State:
    try:
        seen = form["seen"]
        return State(
            rows=form["rows"],
            summary=None if form["summary"] is None else Summary.from_dict(form["summary"]),
            dropped=form["dropped"],
            seen=None if seen is None else FirstRows(**seen | {"words": tuple(seen["words"])}),
        )
    except (KeyError, TypeError, SchemaError) as error:
        raise Damaged(f"the checkpoint {called} is damaged") from error


def load_summary(path: str | os.PathLike[str]) -> Summary:
    """Read the `Summary` in a file that `Summary.save` wrote, or in the checkpoint of a completed pass.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    Summary
    """
    path = Path(path)
    if not is_saved(path):
        return Summary.load(path)
    form = unpack(path.read_bytes(), str(path))
    if form.get("schema") != CHECKPOINT_SCHEMA:
        return Summary.load(path)
    state = _state_of(form, path)
    if state.rows < form["of"]:
        raise InputError(
            f"{path} is the checkpoint of an incomplete pass: {state.rows:,} of {form['of']:,} rows are done; run the "
            "same command again to continue"
        )
    if state.result is None:
        raise InputError(f"{path}: all rows were left out, so there is nothing to measure")
    return state.result


def _is_foreign(path: Path) -> bool:
    """Return whether the path exists and is not a checkpoint, not even a damaged one."""
    if not path.is_file():
        return path.exists()
    with path.open("rb") as file:
        begins = file.read(len(FILE_MAGIC))
    return not FILE_MAGIC.startswith(begins)


def is_saved(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins like saved statistics and checkpoints, whatever its name."""
    try:
        if not os.path.isfile(path):  # a pipe can be read only once
            return False
        with open(path, "rb") as file:
            return file.read(len(FILE_MAGIC)) == FILE_MAGIC
    except OSError:
        return False
