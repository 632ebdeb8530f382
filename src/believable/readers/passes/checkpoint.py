"""The state of a long pass, in a file: what was counted so far, of which rows, and what was asked."""

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
PREVIOUS_ENDING = ".previous"  # the one before: a file can be damaged from outside, and hours are worth a second copy


@dataclass(frozen=True, slots=True)
class State:
    """How far a pass has come.

    Attributes
    ----------
    rows : int
        Rows of the table that are done, from its beginning.
    summary : Summary or None
        Of those rows; None where all of them were left out.
    dropped : dict of str to int
    seen : FirstRows or None
    """

    rows: int = 0
    summary: Summary | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    seen: FirstRows | None = None

    @property
    def result(self) -> Summary | None:
        """The summary, with what was left out."""
        return None if self.summary is None else replace(self.summary, dropped=dict(self.dropped))


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A file that holds the state of one certain pass.

    Attributes
    ----------
    path : Path
    files : list
        Of each file of the table: name, rows, size, and when it was last changed.
    asked : dict of str to str
        What was asked, as text.
    """

    path: Path
    files: list[list[Any]]
    asked: Mapping[str, str]

    @classmethod
    def of(cls, path: str | os.PathLike[str], parts: Parts, asked: Mapping[str, Any]) -> Checkpoint:
        """The checkpoint of a pass over these files."""
        given, target = os.fspath(path), Path(path).resolve()
        if target.is_dir():
            raise InputError(f"{given} is a folder: name a file for the checkpoint")
        if not target.parent.is_dir():
            raise InputError(f"{given} cannot be written: there is no folder {target.parent}")
        inputs = [os.path.realpath(part.path) for part in parts.files]
        if str(target) in inputs:
            raise InputError(f"{given} is what is read: choose another name for the checkpoint")
        root = os.path.commonpath([os.path.dirname(one) for one in inputs])
        files = [
            [os.path.relpath(one, root), part.rows, part.size, part.mtime]
            for one, part in zip(inputs, parts.files, strict=True)
        ]
        made = cls(Path(given), files, {name: repr(value) for name, value in asked.items()})
        if _is_foreign(made._previous):
            raise InputError(
                f"{made._previous} is no checkpoint, and the one before {given} is kept there: choose another name"
            )
        return made

    # --- writing ---

    def save(self, state: State) -> None:
        """Write the state, whole or not at all; the one before stays beside it."""
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
        """A second name for the present file; at no moment is there none."""
        target, beside = self.path.resolve(), name_beside(self._previous)
        if not target.is_file():
            return
        sweep(self._previous)
        try:
            try:
                os.link(target, beside)
            except OSError:  # not every disk has links
                shutil.copyfile(target, beside)
            os.replace(beside, self._previous)
        finally:
            beside.unlink(missing_ok=True)

    # --- reading ---

    def resume(self) -> tuple[State, list[str]]:
        """Where to go on, and what there is to say about it; an error where that would mix two things.

        Without a file the pass begins at the first row. A file that is damaged is left aside: the one before it counts,
        or else the pass begins anew. One that is no checkpoint, or of other files or questions, is an error.
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
                f"{self.path}: {state.rows:,} of {self._total:,} rows were done before"
            ] if state.rows else []
        if self._previous.is_file():
            try:
                state = self._state(self._previous)
            except Damaged:
                pass
            else:
                return state, [
                    f"{why}; the one before it is whole: going on from {state.rows:,} of {self._total:,} rows"
                ]
        return State(), [f"{why}, and there is none before it: beginning anew"]

    @property
    def _total(self) -> int:
        return sum(rows for _, rows, _, _ in self.files)

    def _state(self, path: Path) -> State:
        form = read_checkpoint(path, self.path)
        self._refuse_other(form)
        return _state_of(form, self.path)

    def _refuse_other(self, form: Mapping[str, Any]) -> None:
        """An error where the checkpoint belongs to another pass."""
        what_to_do = "name another checkpoint, or delete this one to begin anew"
        for name in sorted({*self.asked, *form["asked"]}):
            then, now = form["asked"].get(name, "None"), self.asked.get(name, "None")
            if then != now:
                raise InputError(
                    "{file} is of a pass with {argument}={then}, and now it is {now}: {what_to_do}",
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
    """A checkpoint that was whole once."""


def read_checkpoint(path: Path, called: Path | None = None) -> dict[str, Any]:
    """The dictionary of a checkpoint, checked; `Damaged` where it is not whole, `InputError` where it is none."""
    called = path if called is None else called
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{called} cannot be read: {error.strerror or error}") from error
    if not data.startswith(FILE_MAGIC[: len(data)]):
        raise InputError(f"{called} is no checkpoint, but something else: name another file for the checkpoint")
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
        raise InputError(f"{called} is a saved {what}, no checkpoint: name another file for the checkpoint")
    if form.get("version") != CHECKPOINT_VERSION:
        raise InputError(f"{called} was written by another version of this program: delete it to begin anew")
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
    """The `Summary` in a file that `Summary.save` wrote, or in the checkpoint of a pass that has ended.

    Parameters
    ----------
    path : path

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
            f"{path} is the checkpoint of a pass that has not ended: {state.rows:,} of {form['of']:,} rows are done; "
            "run the same command again to go on"
        )
    if state.result is None:
        raise InputError(f"{path}: no row was left to count")
    return state.result


def _is_foreign(path: Path) -> bool:
    """Whether there is something here that was never a checkpoint, not even half of one."""
    if not path.is_file():
        return path.exists()
    with path.open("rb") as file:
        begins = file.read(len(FILE_MAGIC))
    return not FILE_MAGIC.startswith(begins)


def is_saved(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as saved statistics and checkpoints do, whatever it is called."""
    try:
        if not os.path.isfile(path):  # what is read from a pipe is gone
            return False
        with open(path, "rb") as file:
            return file.read(len(FILE_MAGIC)) == FILE_MAGIC
    except OSError:
        return False
