"""Every format gets more columns, and keeps what it holds."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from believable.readers import load, read_table
from believable.readers.formats import FORMAT_NAMES, FORMATS, format_by_ending
from believable.recalibrate import Identity
from believable.writers.apply import apply_to_file
from tests.readers.test_formats import SAME, P, Y


def recalibrator():
    return Identity().fit([0.2, 0.7], [0, 1])


@pytest.mark.parametrize("name", [name for name in SAME if not name.startswith("t[")])
def test_every_format_gets_a_column(tmp_path, name):
    """By the ending of its name: the other columns and the order of the rows stay."""
    old, new = tmp_path / name, tmp_path / f"new_{name}"
    old.write_bytes(SAME[name])
    done = apply_to_file(recalibrator(), old, new)
    assert (done.n_rows, done.take, done.make) == (3, ("p",), ("p_calibrated",))
    table = read_table(new)
    assert table.columns == ["y", "p", "p_calibrated"]
    assert table["p_calibrated"].to_list() == P.tolist()
    assert load(new).predictions.labels.tolist() == Y.tolist()
    assert load(new).predictions.scores.tolist() == P.tolist()


@pytest.mark.parametrize("name", [name for name in SAME if not name.startswith("t[")])
def test_every_format_is_recognised_in_a_pipe(tmp_path, monkeypatch, name):
    """The standard input has no ending; what goes to a named file is of the same format."""
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(SAME[name])))
    new = tmp_path / name
    apply_to_file(recalibrator(), "-", new)
    assert load(new, prob="p_calibrated").predictions.scores.tolist() == P.tolist()


@pytest.mark.parametrize("format", FORMAT_NAMES)
def test_a_format_can_be_said(tmp_path, format):
    """It goes before the ending."""
    name = next(name for name in SAME if format_by_ending(name).name == format)
    old, new = tmp_path / "old.txt", tmp_path / name
    old.write_bytes(SAME[name])
    assert apply_to_file(recalibrator(), old, new, format=format).n_rows == 3


@pytest.mark.parametrize("other", FORMATS, ids=FORMAT_NAMES)
@pytest.mark.parametrize("one", FORMATS, ids=FORMAT_NAMES)
def test_one_format_becomes_another_or_says_why_not(tmp_path, one, other):
    """The table is the same, or the sentence names both formats."""
    name = next(name for name in SAME if format_by_ending(name) is one)
    old, new = tmp_path / name, tmp_path / f"new{other.endings[0]}"
    old.write_bytes(SAME[name])
    if one.becomes(other):
        apply_to_file(recalibrator(), old, new)
        assert read_table(new)["p_calibrated"].to_list() == P.tolist()
    else:
        sentence = f" is {one.name} and .* would be {other.name}: .* so let it end in {one.endings[0]}$"
        with pytest.raises(ValueError, match=sentence):
            apply_to_file(recalibrator(), old, new)
        assert not new.exists()
