"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from believable.errors import InputError


@contextmanager
def write_beside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path in the same folder to write to; it takes the place of the target when all went well.

    Where anything is raised, Ctrl-C included, it is removed and the target stays what it was. The file has the
    permissions of the one it replaces, or of any new file. A link stays: what it leads to is replaced. The yielded path
    ends as the target does, so that a writer who looks at the ending is not misled. Something that is no file, such as
    /dev/stdout or a pipe, cannot be replaced and is itself yielded.

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
    beside = target.with_name(f".{target.stem[:100]}.{os.getpid()}.{os.urandom(4).hex()}{target.suffix}")
    try:
        try:
            beside.touch(exist_ok=False)
            if target.exists():
                if not os.access(target, os.W_OK):
                    raise PermissionError("it may not be changed")
                beside.chmod(target.stat().st_mode & 0o777)
        except OSError as error:
            raise InputError(f"{given} cannot be written: {error.strerror or error}") from error
        yield beside
        try:
            os.replace(beside, target)
        except OSError as error:
            raise InputError(f"{given} cannot be written: {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)
