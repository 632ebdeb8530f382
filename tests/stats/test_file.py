"""The file of a statistic: nothing is lost, and nothing but what was written is accepted."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import struct
import zlib
from dataclasses import fields

import numpy as np
import pytest

from believable import BinStats, CellStats, KernelBlocks, Layout, Predictions, ScoreSums, Summary
from believable.errors import InputError, SchemaError
from believable.stats import load_statistic
from believable.stats.saved import FILE_MAGIC, MAX_INFLATION, pack, unpack
from believable.stats.statistic import Statistic

RNG = np.random.default_rng(3)
N = 120
P = np.where(RNG.random(N) < 0.05, 0.0, RNG.beta(0.5, 0.5, N))
Y = (RNG.random(N) < 0.5).astype(int)
W = RNG.random(N) * 3
MATRIX = RNG.dirichlet(np.ones(3), N)
LABELS = np.array(["größe", "猫", 'a "b"\n'])[RNG.integers(0, 3, N)]
NAMED = Predictions(MATRIX, LABELS, classes=["größe", "猫", 'a "b"\n'])
BINARY, WEIGHTED = Predictions(P, Y), Predictions(P, Y, sample_weight=W)
BY = {"column": np.where(P > 0.3, "naïve", "0"), "site": RNG.integers(0, 3, N)}
QUANTILES = {"strategy": "quantile", "n_bins": 4}

KINDS = {
    "bins": BinStats.of(BINARY, n_bins=5),
    "bins, weighted": BinStats.of(WEIGHTED),
    "bins, float32": BinStats.of(Predictions(P.astype(np.float32), Y), **QUANTILES),
    "bins of classes": BinStats.of(NAMED, NAMED.view("classwise"), **QUANTILES),
    "bins of ranks": BinStats.of(NAMED, NAMED.view("top_r", r=2, pooled=True), edges=[0, 0.2, 1]),
    "bins of the largest by class": BinStats.of(NAMED, NAMED.view("classwise_top_r", r=2), **QUANTILES),
    "no bins": BinStats.of(BINARY, BINARY.view("binary", threshold=1.0)),
    "cells": CellStats.of(BINARY),
    "cells, weighted": CellStats.of(WEIGHTED, spacing="logit"),
    "cells, soft": CellStats.of(Predictions(P, P**2, soft_labels=True)),
    "sums": ScoreSums.of(BINARY),
    "sums, weighted": ScoreSums.of(WEIGHTED),
    "sums of classes": ScoreSums.of(NAMED),
    "summary": Summary.of(BINARY, by=BY),
    "summary, weighted": Summary.of(WEIGHTED, by=BY),
    "summary of classes": Summary.of(NAMED, by=BY),
    "summary of labels": Summary.of(Predictions(MATRIX, MATRIX > 0.3, multilabel=True)),
    "summary, ignored": Summary.of(Predictions(P, np.where(P > 0.9, -1, Y), ignore_label=-1)),
    "blocks": KernelBlocks.of(NAMED, bandwidth=0.1, block_size=7),
}
SMALL = Summary.of(WEIGHTED.take(np.arange(4)), Layout.of(spacing="uniform", cells=20), by={"g": list("abab")})


def bits(value):
    """What a statistic is, to the last bit."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, float):
        return struct.pack("<d", value)
    if isinstance(value, dict):
        return {name: bits(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [bits(one) for one in value]
    if isinstance(value, Statistic):
        return type(value), {item.name: bits(getattr(value, item.name)) for item in fields(value)}
    return value


@pytest.mark.parametrize("stats", KINDS.values(), ids=KINDS)
def test_saved_and_loaded(stats, tmp_path):
    """Every statistic comes back to the last bit, by its own door and by the common one, and goes on adding."""
    path = tmp_path / "päth.stats"
    stats.save(path)
    for loaded in (type(stats).load(path), load_statistic(str(path)), type(stats).from_bytes(stats.to_bytes())):
        assert bits(loaded) == bits(stats)
    assert bits(loaded + stats) == bits(stats + stats)
    assert bits(type(stats).from_dict(json.loads(json.dumps(stats.to_dict(), allow_nan=False)))) == bits(stats)
    assert os.listdir(tmp_path) == ["päth.stats"]


def test_infinity_survives():
    """An infinite log loss is not lost."""
    for data in (Predictions([0.0, 0.5], [1, 1]), Predictions([[0, 1], [1, 0]], [0, 0])):
        summary = Summary.of(data)
        assert summary.sums.nll == np.inf
        assert Summary.from_bytes(summary.to_bytes()).sums.nll == np.inf


def test_small_files():
    """Columns that say nothing new are left out, and a file is smaller than its JSON."""
    cells = CellStats.of(Predictions(RNG.random(20_000), RNG.integers(0, 2, 20_000)))
    assert len(cells.to_bytes()) < 7 * 8 * len(cells.n) * 0.6
    assert len(cells.to_bytes()) < len(json.dumps(cells.to_dict())) / 3


def test_every_flipped_byte_is_found():
    """No byte of a file can be another: each is changed in turn, in all its bits and in one."""
    written = SMALL.to_bytes()
    for i in range(len(written)):
        for change in (0xFF, 1 << (i % 8)):
            damaged = bytearray(written)
            damaged[i] ^= change
            with pytest.raises(SchemaError):
                Summary.from_bytes(damaged)


def test_every_truncation_is_found():
    """A file that ends early is refused wherever it ends, and so is one that goes on."""
    written = SMALL.to_bytes()
    for length in range(len(written)):
        with pytest.raises(SchemaError, match="is empty: save the statistic again" if not length else "is cut short"):
            Summary.from_bytes(written[:length])
    with pytest.raises(SchemaError, match="it has 3 bytes after its end"):
        Summary.from_bytes(written + b"end")


def foreign():
    """Files of other kinds."""
    npz = io.BytesIO()
    np.savez(npz, p=P)
    return {
        "npz": (npz.getvalue(), "but a zip or npz file"),
        "json": (json.dumps(SMALL.to_dict()).encode(), "but JSON: load such a dictionary with from_dict"),
        "parquet": (b"PAR1" + bytes(100), "but a parquet file"),
        "pickle": (pickle.dumps(P), "but a pickle"),
        "gzip": (b"\x1f\x8b" + bytes(50), "but a gzip file: unpack it first"),
        "text": (b"p,y\n0.1,0\n", "but something else"),
        "newer": (
            FILE_MAGIC + struct.pack("<IIQ", 2, 0, 0) + bytes(32),
            "version 2 of the file format, but this package supports versions up to 1: install",
        ),
    }


@pytest.mark.parametrize(("content", "reason"), foreign().values(), ids=foreign())
def test_foreign_files(content, reason, tmp_path):
    """Other files are named for what they are, with the path."""
    path = tmp_path / "a.stats"
    path.write_bytes(content)
    for load in (Summary.load, load_statistic):
        with pytest.raises(SchemaError, match=rf"a\.stats .*{reason}"):
            load(path)


def test_other_refusals(tmp_path):
    """Another statistic, no file, a folder and no bytes each have their sentence."""
    path = tmp_path / "a.stats"
    KINDS["cells"].save(path)
    with pytest.raises(
        SchemaError, match="holds a CellStats, not a BinStats: load it with CellStats, or with load_statistic"
    ):
        BinStats.load(path)
    path.write_bytes(pack({"schema": "believable.Checkpoint"}))
    with pytest.raises(SchemaError, match=r"holds a Checkpoint, not a CellStats$"):
        CellStats.load(path)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        CellStats.load(tmp_path / "b.stats")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        load_statistic(tmp_path)
    with pytest.raises(SchemaError, match="a saved statistic must be bytes, got str: use load for a file"):
        CellStats.from_bytes("a.stats")
    with pytest.raises(InputError, match="there is no folder"):
        KINDS["cells"].save(tmp_path / "none" / "a.stats")


# --- files that have their checksum right, and are wrong all the same ---


def sealed(header, body=b""):
    """Bytes with lengths and checksum as they should be."""
    header = header if isinstance(header, bytes) else json.dumps(header).encode()
    written = FILE_MAGIC + struct.pack("<IIQ", 1, len(header), len(body)) + header + body
    return written + hashlib.sha256(written).digest()


def column(count, stored, packed=True, at=("key",)):
    """What a header says about a column."""
    return {"at": list(at), "type": "f8", "count": count, "bytes": stored, "zlib": packed}


BOMB = zlib.compress(bytes(8 << 20), 9)
FORM = {"schema": "believable.CellStats", "key": None}
MADE = {
    "not JSON": (b"{", b"", "was not written by this package"),
    "not UTF-8": (b"\xff\xfe", b"", "was not written by this package"),
    "deep": (b"[" * 100_000, b"", "was not written by this package"),
    "no header": ([], b"", "was not written by this package"),
    "no form": ({"form": 1, "columns": []}, b"", "was not written by this package"),
    "NaN": (b'{"form": {"a": NaN}, "columns": []}', b"", "NaN is not a JSON number"),
    "huge": (b'{"form": {"a": ' + b"9" * 5000 + b'}, "columns": []}', b"", "was not written by this package"),
    "bomb": (
        {"form": FORM, "columns": [column(1 << 20, len(BOMB))]},
        BOMB,
        f"more than {MAX_INFLATION} times its size",
    ),
    "longer": ({"form": FORM, "columns": [column(3, len(BOMB))]}, BOMB, "not as long as its header says"),
    "shorter": ({"form": FORM, "columns": [column(3, 8, False)]}, bytes(8), "not as long as its header says"),
    "left over": ({"form": FORM, "columns": []}, bytes(8), "not as long as its header says"),
    "not zlib": ({"form": FORM, "columns": [column(1, 8)]}, bytes(8), "was not written by this package"),
    "negative": ({"form": FORM, "columns": [column(-1, 0)]}, b"", "a length cannot be -1"),
    "twice": ({"form": FORM, "columns": [column(1, 8, False)] * 2}, bytes(16), "two columns have the same place"),
    "nowhere": ({"form": FORM, "columns": [column(1, 8, False, ["x", "y"])]}, bytes(8), "was not written by"),
    "no place": ({"form": FORM, "columns": [column(1, 8, False, [])]}, bytes(8), "was not written by"),
    "type": ({"form": FORM, "columns": [column(1, 8, False) | {"type": "O"}]}, bytes(8), "was not written by"),
    "unknown": (
        {"form": {"schema": "x"}, "columns": []},
        b"",
        "holds a 'x', which this version does not know",
    ),
    "abstract": ({"form": {"schema": "believable.Counts"}, "columns": []}, b"", "which this version does not know"),
    "strange": ({"form": {"schema": []}, "columns": []}, b"", "which this version does not know"),
    "no fields": ({"form": {"schema": "believable.CellStats"}, "columns": []}, b"", "is damaged: .* version None"),
}


@pytest.mark.parametrize(("header", "body", "reason"), MADE.values(), ids=MADE)
def test_made_up_files(header, body, reason, tmp_path):
    """A file made to mislead is refused in words, before it can take much memory."""
    path = tmp_path / "a.stats"
    path.write_bytes(sealed(header, body))
    with pytest.raises(SchemaError, match=reason):
        load_statistic(path)


def test_fields_are_checked_as_those_of_a_dictionary():
    """Columns that no rows can have are refused though the checksum is right."""
    form = unpack(KINDS["cells"].to_bytes(), "it")
    for name, values, reason in (
        ("n", form["n"] * 0, "at least one pair"),
        ("n", form["n"].astype(float), "the saved n must be a column of integers, got float64"),
        ("key", form["key"][::-1], "keys must increase"),
        ("wp", form["wp"] * np.nan, "the saved wp must be finite"),
        ("wp", form["wp"][:-1], "the saved wp has"),
        ("key", form["key"] + 1, "have the mean .* which is not in its bin"),
        ("view", form["wp"], "the saved view must be a dict"),
    ):
        with pytest.raises(SchemaError, match=rf"the saved statistic is damaged: .*{reason}"):
            CellStats.from_bytes(pack(form | {name: values}))


def test_constant_columns_do_not_make_a_bomb():
    """What would inflate too much is stored as it is, so that its reader takes it."""
    form = {"schema": "x", "a": np.zeros(100_000), "b": np.ones(100_000, np.int64)}
    written = pack(form)
    assert len(written) >= 1_600_000
    back = unpack(written, "it")
    assert back["a"].tobytes() == form["a"].tobytes()
    assert back["b"].dtype == np.int64


# --- writing ---


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch, error, moment):
    """Until all of the new file is on the disk, the old one is there, and nothing half-written stays beside it."""
    path = tmp_path / "a.stats"
    KINDS["cells"].save(path)
    before = path.read_bytes()

    def fail(*_):
        raise error(5, "interrupted")

    with monkeypatch.context() as patched:
        patched.setattr(os, moment, fail)
        with pytest.raises(InputError if error is OSError else error):
            KINDS["sums"].save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.stats"]
    KINDS["sums"].save(path)
    assert ScoreSums.load(path).n == N


def test_the_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    """First the bytes, then the name, then the folder."""
    done, sync, replace = [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (done.append("fsync"), sync(file)))
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("replace"), replace(a, b)))
    KINDS["sums"].save(tmp_path / "a.stats")
    assert done[:2] == ["fsync", "replace"]
