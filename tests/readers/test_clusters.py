"""Clusters that nobody named: a telling name whose values repeat is mentioned, and never taken."""

from __future__ import annotations

import numpy as np
import pytest

from believable.readers import load


def written(folder, header, rows):
    path = folder / "rows.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


@pytest.mark.parametrize("name", ["patient_id", "Patient ID", "qid", "user", "session-id", "cluster"])
def test_a_telling_name_that_repeats_is_mentioned(tmp_path, name):
    """How many values in how many rows, and what to do; the rows stay independent."""
    loaded = load(written(tmp_path, f"y,p,{name}", [f"{k % 2},0.5,{k // 3}" for k in range(12)]))
    assert loaded.clusters is None
    assert loaded.notes == (
        f"column {name} repeats (4 values in 12 rows): if rows with the same value belong together, pass cluster={name!r}; "
        "the intervals here assume independent rows",
    )


@pytest.mark.parametrize(
    ("header", "cell", "asked"),
    [
        ("y,p,patient_id", lambda k: k, {}),  # never repeats
        ("y,p,patient_id", lambda k: 7, {}),  # one value, so no clusters
        ("y,p,region", lambda k: k // 3, {}),  # no telling name
        ("y,p,patient_id", lambda k: k // 3, {"cluster": "patient_id"}),
        ("y,p,patient_id", lambda k: k // 3, {"by": "patient_id"}),
        ("y,p,patient_id", lambda k: k // 3, {"weight": "patient_id"}),
    ],
)
def test_nothing_is_said_otherwise(tmp_path, header, cell, asked):
    """Not where it never repeats, is called otherwise, or was taken as something."""
    loaded = load(written(tmp_path, header, [f"{k % 2},0.5,{cell(k)}" for k in range(12)]), **asked)
    assert not any("repeats" in note for note in loaded.notes)


def test_an_array_of_another_length_is_no_concern(tmp_path):
    """What cannot be read beside the scores is left aside."""
    path = tmp_path / "arrays.npz"
    np.savez(
        path, p=np.full(6, 0.5), y=np.array([0, 1] * 3), user=np.array([1, 1, 2]), group=np.array([1, 1, 1, 2, 2, 2])
    )
    notes = load(path).notes
    assert any(note.startswith("column group repeats (2 values in 6 rows)") for note in notes)
