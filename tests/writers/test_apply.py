"""`apply_to_file`: the numbers it adds, and all that it leaves as it is, whatever the batches."""

from __future__ import annotations

import gzip
import json
import re

import numpy as np
import polars
import pytest

from believable.recalibrate import MatrixScaling, PlattScaling, load_recalibrator
from believable.writers.apply import apply_to_file
from tests.writers.scores import N, scores


@pytest.fixture
def platt(tmp_path):
    """A map of one event's probability."""
    z, y, _, _ = scores()
    path = tmp_path / "map.json"
    PlattScaling().fit(1 / (1 + np.exp(-z)), y).to_json(path)
    return path


MESSY = (
    b'\xef\xbb\xbfid,p,"no, te",when,big\r\n'
    b'007,0.50,"a ""b""\r\nand, c",2024-05-01,123456789012345678901234567890\r\n'
    b"1e-3,.25,\xe9 is no UTF-8,,-0\r\n"
    b"\r\n"
    b',1,"",01.50,NA\r\n'
    b'"x", 1e-3 ,"""",TRUE,+5'
)


@pytest.mark.parametrize("batch_rows", [1, 2, 3, 1000])
def test_every_other_byte_of_csv_stays(tmp_path, platt, batch_rows):
    """Each row is its own text and one more cell: quotes, spaces, marks, line ends and a missing last one included."""
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    old.write_bytes(MESSY)
    recalibrator = load_recalibrator(platt)
    done = apply_to_file(recalibrator, old, new, batch_rows=batch_rows)
    assert (done.n_rows, done.take, done.make) == (4, ("p",), ("p_calibrated",))
    half, quarter, one, small = map(repr, recalibrator.transform([0.5, 0.25, 1, 1e-3]).tolist())
    ends = [b"big\r\n", b"67890\r\n", b"-0\r\n", b"NA\r\n", b"+5"]
    expected = MESSY
    for end, cell in zip(ends, ["p_calibrated", half, quarter, one, small], strict=True):
        body = end.rstrip(b"\r\n")
        assert expected.count(end) == 1
        expected = expected.replace(end, body + b"," + cell.encode() + end[len(body) :])
    assert new.read_bytes() == expected


@pytest.mark.parametrize("batch_rows", [1, 7, N - 1, N, 10 * N])
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".csv.gz"])
def test_numbers_are_those_of_transform(tmp_path, platt, ending, batch_rows):
    """To the last digit, in order, whatever the size of a batch."""
    p = 1 / (1 + np.exp(-scores(seed=1)[0]))
    old, new = tmp_path / f"old{ending}", tmp_path / f"new{ending}"
    text = "".join(f'{{"id": {i}, "p": {v!r}}}\n' for i, v in enumerate(p.tolist()))
    if ending != ".jsonl":
        separator = "\t" if ending == ".tsv" else ","
        text = f"id{separator}p\n" + "".join(f"{i}{separator}{v!r}\n" for i, v in enumerate(p.tolist()))
    old.write_bytes(gzip.compress(text.encode()) if ending.endswith(".gz") else text.encode())
    apply_to_file(load_recalibrator(platt), old, new, batch_rows=batch_rows)
    written = gzip.decompress(new.read_bytes()) if ending.endswith(".gz") else new.read_bytes()
    lines = written.decode().splitlines()
    if ending == ".jsonl":
        rows = [(row["id"], row["p_calibrated"]) for row in map(json.loads, lines)]
    else:
        rows = [(int(cells[0]), float(cells[2])) for cells in (re.split("[,\t]", line) for line in lines[1:])]
    assert rows == list(enumerate(load_recalibrator(platt).transform(p).tolist()))


def test_a_product_of_matrices_hardly_knows_the_size_of_a_batch(tmp_path):
    """Maps that multiply matrices sum in another order for another size: equal to 1e-12."""
    _, _, logits, label = scores()
    recalibrator = MatrixScaling(input="logits").fit(logits, label)
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    polars.DataFrame({f"logit_{k}": logits[:, k] for k in range(3)}).write_csv(old)
    for batch_rows in (1, 3, 10_000):
        apply_to_file(recalibrator, old, new, batch_rows=batch_rows)
        made = polars.read_csv(new).to_numpy()[:, 3:]
        np.testing.assert_allclose(made, recalibrator.transform(logits), rtol=0, atol=1e-12)


def test_commas_that_do_not_tell(tmp_path):
    """1,234 may be a thousand: an error at the end of the file, unless another cell shows what commas are."""
    z, y, _, _ = scores()
    recalibrator = PlattScaling(input="scores").fit(z, y)
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    for batch_rows in (1, 100):
        old.write_text("score;x\n1,234;1\n987;2\n")
        with pytest.raises(
            ValueError, match=r"the comma in '1,234' at row 0 \(line 2\) may separate thousands or decimals"
        ):
            apply_to_file(recalibrator, old, new, batch_rows=batch_rows)
        assert not new.exists()
        old.write_text("score;x\n1,234;1\n0,5;2\n")
        apply_to_file(recalibrator, old, new, batch_rows=batch_rows)
        made = [float(line.split(";")[2]) for line in new.read_text().splitlines()[1:]]
        assert made == recalibrator.transform([1.234, 0.5]).tolist()
        new.unlink()


@pytest.mark.parametrize("batch_rows", [1, 100])
@pytest.mark.parametrize("text", ["p\n50%\n\nNA\n0.3\n", "p,x\n0.5,1\n30%,2\n", '{"p": 0.5}\n{"p": "30%"}\n'])
def test_percent_signs_in_some_rows_only(tmp_path, platt, text, batch_rows):
    """Is 0.3 next to 50% a share or a percentage? It is refused, as by fit, whatever the batches."""
    old = tmp_path / ("old.jsonl" if text.startswith("{") else "old.csv")
    old.write_text(text)
    with pytest.raises(ValueError, match=r"must be written the same way, got '\d0%' at row .* without a percent sign"):
        apply_to_file(
            load_recalibrator(platt), old, tmp_path / f"new{old.suffix}", missing="keep", batch_rows=batch_rows
        )


@pytest.mark.parametrize("batch_rows", [1, 100])
def test_commas_and_points_in_one_column(tmp_path, batch_rows):
    """1.234 next to 0,5 may well be more than a thousand: refused, as by fit."""
    z, y, _, _ = scores()
    old = tmp_path / "old.csv"
    for text in ("score;x\n0,5;1\n1.234;2\n", "score;x\n1.234;2\n0,5;1\n"):
        old.write_text(text)
        with pytest.raises(
            ValueError, match=r"must be written the same way, got '0,5' at row . .* but '1\.234' at row ."
        ):
            apply_to_file(PlattScaling(input="scores").fit(z, y), old, tmp_path / "new.csv", batch_rows=batch_rows)


@pytest.mark.parametrize("batch_rows", [1, 100])
def test_empty_lines_at_the_end_of_one_column(tmp_path, platt, batch_rows):
    """They are no rows, and stay; before the end an empty line is a missing score."""
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    recalibrator = load_recalibrator(platt)
    half = repr(recalibrator.transform([0.5]).item())
    old.write_text("p\n0.5\n\n\n")
    assert apply_to_file(recalibrator, old, new, batch_rows=batch_rows).n_rows == 1
    assert new.read_text() == f"p,p_calibrated\n0.5,{half}\n\n\n"
    old.write_text("p\n0.5\n\n0.5\n")
    assert apply_to_file(recalibrator, old, new, missing="keep", batch_rows=batch_rows).n_rows == 3
    assert new.read_text() == f"p,p_calibrated\n0.5,{half}\n,\n0.5,{half}\n"
    with pytest.raises(ValueError, match=r"has no number at row 1 \(line 3\)"):
        apply_to_file(recalibrator, old, new, batch_rows=batch_rows)


def test_the_row_is_that_of_the_file_in_every_batch(tmp_path, platt):
    """Rows and lines are counted through, empty lines are lines and no rows."""
    old = tmp_path / "bad.csv"
    old.write_text("p,x\n" + "0.5,1\n" * 10 + "\n" + "0.5,1\n" * 10 + "2,1\n")
    for batch_rows in (1, 4, 100):
        with pytest.raises(ValueError, match=r"got 2 at row 20 \(line 23\)"):
            apply_to_file(load_recalibrator(platt), old, tmp_path / "new.csv", batch_rows=batch_rows)
