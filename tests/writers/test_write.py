"""Files are written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import time

import pytest

from believable._write import write_beside
from believable.errors import InputError


def half_write(target, error):
    with write_beside(target) as beside:
        beside.write_text("ha")
        raise error("half")


def test_the_target_is_written_whole(tmp_path):
    """The yielded path is in the same folder, ends alike, and is gone afterwards."""
    target = tmp_path / "page.html"
    with write_beside(target) as beside:
        assert beside.parent == tmp_path.resolve()
        assert beside.suffix == ".html"
        beside.write_text("new")
        assert not target.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert target.read_text() == "new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_nothing_half_written_stays(tmp_path, error):
    """An error, or Ctrl-C, leaves the old file as it was and no other."""
    target = tmp_path / "map.json"
    target.write_text("old")
    with pytest.raises(error):
        half_write(target, error)
    assert [path.name for path in tmp_path.iterdir()] == ["map.json"]
    assert target.read_text() == "old"


def test_a_new_file_is_not_left_after_an_error(tmp_path):
    """Neither the target nor what was beside it."""
    with pytest.raises(ValueError, match="half"):
        half_write(tmp_path / "a.json", ValueError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_permissions(tmp_path):
    """A new file has those of any new file, an old one keeps its own."""
    plain = tmp_path / "plain"
    plain.touch()
    with write_beside(tmp_path / "new") as beside:
        beside.write_text("x")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    plain.chmod(0o640)
    with write_beside(plain) as beside:
        beside.write_text("x")
    assert stat.S_IMODE(plain.stat().st_mode) == 0o640


def test_a_link_stays(tmp_path):
    """What it leads to is replaced."""
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    with write_beside(link) as beside:
        beside.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_what_is_no_file_is_written_to(tmp_path):
    """A device cannot be replaced."""
    with write_beside(os.devnull) as beside:
        beside.write_text("x")
    assert not os.path.isfile(os.devnull)


def test_several_writers_do_not_meet(tmp_path):
    """Two of one target have two files beside it; the last to finish wins."""
    target = tmp_path / "a.json"
    with write_beside(target) as one, write_beside(target) as other:
        assert one != other
        one.write_text("one")
        other.write_text("other")
    assert target.read_text() == "one"
    assert len(list(tmp_path.iterdir())) == 1


def test_targets_that_cannot_be_written(tmp_path):
    """A folder, a file in no folder, one in a file: a sentence each, and nothing is left."""
    (tmp_path / "file").touch()
    for target, sentence in (
        (tmp_path, "is a folder: name a file to write"),
        (tmp_path / "none" / "a.json", "cannot be written: there is no folder"),
        (tmp_path / "file" / "a.json", "cannot be written: there is no folder"),
        (tmp_path / ("x" * 300), "cannot be written: File name too long"),
    ):
        with pytest.raises(InputError, match=sentence), write_beside(target) as beside:
            beside.write_text("x")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_forbidden_places(tmp_path):
    """A folder, or an old file, that may not be written."""
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0o500)
    with pytest.raises(InputError, match="cannot be written: Permission denied"), write_beside(locked / "a"):
        pass
    kept = tmp_path / "kept"
    kept.touch(mode=0o400)
    with pytest.raises(InputError, match="may not be changed"), write_beside(kept):
        pass


def test_a_full_disk_is_said_of_the_file(tmp_path):
    """What reading says is left as it is."""
    with (
        pytest.raises(InputError, match=r"page\.html cannot be written: No space left"),
        write_beside(tmp_path / "page.html"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(FileNotFoundError), write_beside(tmp_path / "page.html"):
        raise FileNotFoundError("another one")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_swept(tmp_path):
    """If nobody has its number, or nothing touched it for an hour; what others write, and other targets, stay."""
    gone, mine, other = 2**22 + 1, os.getpid(), os.getppid()
    names = {
        f".page.{gone}.00000000.html": 0,
        f".page.{other}.00000000.html": 7200,
        f".page.{mine}.00000001.html": 0,
        f".pages.{gone}.00000000.html": 0,
        f".page.{gone}.html": 0,
    }
    for name, age in names.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    with write_beside(tmp_path / "page.html") as beside:
        beside.write_text("x")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*list(names)[2:], "page.html"])
