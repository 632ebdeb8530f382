"""Atomic writing of files: completely, or not at all."""

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
DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # reading never raises these, so they concern the file written


@contextmanager
def write_beside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the same folder, which replaces the target if no error was raised.

    After an error, Ctrl-C included, the temporary file is removed and the target is unchanged. The file gets the
    permissions of the one it replaces, or of any new file. A symbolic link is kept, and its target replaced. The
    temporary path has the suffix of the target, because some writers depend on it. Something that is not a regular
    file, such as /dev/stdout or a pipe, cannot be replaced and is itself yielded. The data are on disk before the
    target is replaced, so that not even a power cut leaves half a file.

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
    if os.path.isdir(target):  # unlike Path.is_dir, raises no error for invalid names
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
        with suppress(OSError):  # the new name has to reach the disk too, if folders can be opened
            _to_disk(target.parent)
    finally:
        beside.unlink(missing_ok=True)


def name_beside(target: Path) -> Path:
    """Return a unique hidden name in the same folder, which includes the process number."""
    return target.with_name(f".{target.stem[:100]}.{os.getpid()}.{os.urandom(4).hex()}{target.suffix}")


def sweep(target: Path) -> None:
    """Remove temporary files of processes that were killed while writing: their number is no longer in use.

    Process numbers are reused, in containers at once, so files untouched for an hour are removed too.
    """
    pattern = re.compile(rf"\.{re.escape(target.stem[:100])}\.(\d+)\.[0-9a-f]{{8}}{re.escape(target.suffix)}")
    with suppress(OSError), os.scandir(target.parent) as there:
        for one in there:
            if found := pattern.fullmatch(one.name):
                with suppress(OSError):
                    if not _runs(int(found[1])) or time.time() - one.stat().st_mtime > LEFT_BEHIND_AFTER:
                        os.unlink(one.path)


def _runs(process: int) -> bool:
    """Return whether a process of this number exists; True where checking is not safe."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # the process belongs to another user, or the number is out of range
        return True
    return True


def _to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, are written to disk."""
    opened = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
