"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from believable.errors import InputError

LEFT_BEHIND_AFTER = 3600.0  # seconds
DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # which no reading says, so it is about what is written


@contextmanager
def write_beside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path in the same folder to write to; it takes the place of the target when all went well.

    Where anything is raised, Ctrl-C included, it is removed and the target stays what it was. The file has the
    permissions of the one it replaces, or of any new file. A link stays: what it leads to is replaced. The yielded path
    ends as the target does, so that a writer who looks at the ending is not misled. Something that is no file, such as
    /dev/stdout or a pipe, cannot be replaced and is itself yielded. What was written is on the disk before it takes the
    place of the target, so that not even a power cut leaves half of it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with write_beside(pathlib.Path(folder) / "page.html") as beside:
    ...         _ = beside.write_text("whole")
    ...     [(file.name, file.read_text()) for file in pathlib.Path(folder).iterdir()]
    [('page.html', 'whole')]
    """
    given, target = os.fspath(path), Path(path).resolve()
    if os.path.isdir(target):  # unlike a Path, without an error for a name that no file can have
        raise InputError(f"{given} is a folder: name a file to write")
    if os.path.exists(target) and not os.path.isfile(target):
        yield target
        return
    if not os.path.isdir(target.parent):
        raise InputError(f"{given} cannot be written: there is no folder {target.parent}")
    sweep(target)
    beside = name_beside(target)
    try:
        try:
            beside.touch(exist_ok=False)
            if target.exists():
                if not os.access(target, os.W_OK):
                    raise PermissionError("it may not be changed")
                beside.chmod(target.stat().st_mode & 0o777)
        except OSError as error:
            raise InputError(f"{given} cannot be written: {error.strerror or error}") from error
        try:
            yield beside
        except OSError as error:
            if error.errno not in DISK_IS_FULL:
                raise
            raise InputError(f"{given} cannot be written: {error.strerror}") from error
        try:
            _to_disk(beside)
            os.replace(beside, target)
        except OSError as error:
            raise InputError(f"{given} cannot be written: {error.strerror or error}") from error
        with suppress(OSError):  # the new name too, where a folder can be opened
            _to_disk(target.parent)
    finally:
        beside.unlink(missing_ok=True)


def name_beside(target: Path) -> Path:
    """A hidden name in the same folder that nothing else has; it says which process it belongs to."""
    return target.with_name(f".{target.stem[:100]}.{os.getpid()}.{os.urandom(4).hex()}{target.suffix}")


def sweep(target: Path) -> None:
    """Remove what a process left under such a name that was killed while it wrote: its number is no longer in use.

    Numbers are used again, in containers at once, so what nobody has touched for an hour goes too.
    """
    pattern = re.compile(rf"\.{re.escape(target.stem[:100])}\.(\d+)\.[0-9a-f]{{8}}{re.escape(target.suffix)}")
    with suppress(OSError), os.scandir(target.parent) as there:
        for one in there:
            if found := pattern.fullmatch(one.name):
                with suppress(OSError):
                    if not _runs(int(found[1])) or time.time() - one.stat().st_mtime > LEFT_BEHIND_AFTER:
                        os.unlink(one.path)


def _runs(process: int) -> bool:
    """Whether there is a process of this number; True where that cannot be asked without harm."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # somebody else's, or a number that no process has
        return True
    return True


def _to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, are no longer in memory only."""
    opened = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
