"""A calibration map applied to a TREC run changes the scores and nothing else."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from believable.errors import InputError
from believable.readers import read_run
from believable.recalibrate import PlattScaling, VectorScaling
from believable.writers.apply_run import apply_to_run

LINES = [b"q1\tQ0  d\xc3\xa97 1 7.25  mine \r\n", b"\n", b"  q1 0 7.25 2 -1e1\r\n", b"q2 Q0 d7 1 0.5 x"]


@pytest.fixture
def platt():
    """A map of raw scores."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=400)
    return PlattScaling(input="scores").fit(3 * z, rng.random(400) < 1 / (1 + np.exp(-z)))


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_all_but_the_score_stays(tmp_path, platt, bom):
    """Blank lines, line ends, spaces, names that look like the score, and a missing last line end are kept."""
    old, new = tmp_path / "old.run", tmp_path / "new.run"
    old.write_bytes(bom + b"".join(LINES))
    assert apply_to_run(platt, old, new) == (3, ())
    p = [repr(one).encode() for one in platt.transform([7.25, -10.0, 0.5]).tolist()]
    wanted = [
        b"q1\tQ0  d\xc3\xa97 1 %b  mine \r\n" % p[0],
        b"\n",
        b"  q1 0 7.25 2 %b\r\n" % p[1],
        b"q2 Q0 d7 1 %b x" % p[2],
    ]
    assert new.read_bytes() == bom + b"".join(wanted)
    assert read_run(new)["score"].to_list() == platt.transform([7.25, -10.0, 0.5]).tolist()


def test_compressed(tmp_path, platt):
    """What is compressed is read, and what is to be called .gz is compressed."""
    (tmp_path / "old.run.gz").write_bytes(gzip.compress(b"".join(LINES)))
    (tmp_path / "old.run").write_bytes(b"".join(LINES))
    apply_to_run(platt, tmp_path / "old.run", tmp_path / "plain.run")
    apply_to_run(platt, tmp_path / "old.run.gz", tmp_path / "new.run.gz")
    packed = (tmp_path / "new.run.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "plain.run").read_bytes()


def test_what_does_not_fit(tmp_path):
    """A map of classes, scores that are no probabilities, and a line that is none of a run, leave nothing behind."""
    old, new = tmp_path / "old.run", tmp_path / "new.run"
    old.write_text("q1 Q0 a 1 0.5 x\nq1 Q0 b 2 -0.25 x\n")
    rng = np.random.default_rng(0)
    matrix, y = rng.dirichlet(np.ones(3), 100), np.arange(100) % 3
    with pytest.raises(InputError, match="the calibration map has 3 classes, and a run has one score per document"):
        apply_to_run(VectorScaling().fit(matrix, y), old, new)
    sure = PlattScaling().fit(matrix[:, 0], y == 0)
    with pytest.raises(InputError, match=r"old.run, line 2: the calibration map takes probabilities, .* got -0.25"):
        apply_to_run(sure, old, new)
    old.write_text("q1 Q0 a 1 0.5 x\nq1 Q0 b 2\n")
    with pytest.raises(InputError, match="line 2: expected query, Q0, document, rank, score and tag"):
        apply_to_run(sure, old, new)
    assert not new.exists()


def test_logits_that_look_like_probabilities_are_worth_a_note(tmp_path):
    """They are taken as logits, and the reader is asked."""
    old = tmp_path / "old.run"
    old.write_text("q1 Q0 a 1 0.5 x\nq1 Q0 b 2 0.25 x\n")
    rng = np.random.default_rng(0)
    z = rng.normal(size=400)
    logits = PlattScaling(input="logits").fit(z, rng.random(400) < 1 / (1 + np.exp(-z)))
    _, notes = apply_to_run(logits, old, tmp_path / "new.run")
    assert notes == ("The calibration map takes logits, and all scores lie in [0, 1]: are they probabilities?",)


def test_a_reversed_order_is_worth_a_note(tmp_path):
    """Ranks stay in the file, and a map with a negative slope contradicts them."""
    z = np.random.default_rng(1).normal(size=400)
    falling = PlattScaling(input="scores").fit(z, np.random.default_rng(2).random(400) < 1 / (1 + np.exp(z)))
    (tmp_path / "old.run").write_text("q1 Q0 d7 1 2.5 x\nq1 Q0 d2 2 -1.0 x\n")
    _, notes = apply_to_run(falling, tmp_path / "old.run", tmp_path / "new.run")
    assert notes == ("The calibration map reverses the order of some scores; the ranks in the run stay as they were.",)
