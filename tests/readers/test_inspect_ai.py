"""Logs of Inspect AI: what Inspect itself wrote (make_inspect_log.py), and samples written here."""

from __future__ import annotations

import json
import math
import sys
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest
from click.testing import CliRunner

from believable.cli import main
from believable.errors import InputError, MissingDependencyError
from believable.readers import load_samples
from believable.readers.logs import inspect_files
from believable.readers.logs.inspect_ai import load_eval_log
from believable.readers.logs.inspect_files import is_eval_log, samples
from tests.readers.inspect_cases import CONFIDENCES, LOG, MARKS


def score(value, confidence=None, **more):
    return {"value": value, "metadata": {} if confidence is None else {"confidence": confidence}, **more}


def sample(id, epoch=1, metadata=None, **scores):
    return {"id": id, "epoch": epoch, "scores": scores, "metadata": metadata or {}}


def write(folder, rows, *, ending=".eval", header=None, name="log"):
    """Write samples as Inspect does, compressed with Deflate."""
    path = folder / f"{name}{ending}"
    header = {"version": 2, "status": "success", "eval": {}} if header is None else header
    if ending == ".json":
        path.write_text(json.dumps(header | {"samples": rows}, indent=2))
        return path
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for row in rows:
            archive.writestr(f"samples/{row['id']}_epoch_{row['epoch']}.json", json.dumps(row))
        if header:
            archive.writestr("header.json", json.dumps(header))
    return path


# --- a log that Inspect wrote -----------------------------------------------------------------------------------------


def test_a_log_of_inspect():
    """Confidences and marks are those that were written down, in the order of epochs and ids."""
    number = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
    stated = {5: 0.85, 7: 0.4}
    expected = [
        (stated.get(k, CONFIDENCES[k]), number[MARKS[k]])
        for epoch in (1, 2)
        for k in range(11)
        if k not in (9, 10) and not (k == 8 and epoch == 2)
    ]
    loaded = load_eval_log(LOG, by=["topic", "epoch"])
    assert loaded.predictions.scores.tolist() == [p for p, _ in expected]
    assert loaded.predictions.labels.tolist() == [y for _, y in expected]
    assert loaded.pairs
    assert loaded.taken == (
        "confidences graded.metadata.confidence, marks graded, clusters by sample, subgroups topic, epoch"
    )
    assert loaded.clusters.tolist()[:3] == ["0", "1", "2"]
    assert loaded.by["topic"].tolist()[:3] == ["law", "art", "law"]
    assert loaded.by["epoch"].tolist() == [1] * 9 + [2] * 8
    assert loaded.dropped == {"no confidence stated": 4, "not scored": 1, "sample ended in an error": 2}
    assert loaded.rows.tolist() == [*range(9), *range(12, 20)]
    assert loaded.notes[0] == "2 answers were marked as partially correct (P) and count as 0.5."
    assert loaded.notes[1] == "2 samples were marked as having no answer (N) and count as wrong."


def test_another_scorer_and_log_probabilities():
    """With `letter` as the mark, the confidence is the probability of the letter."""
    loaded = load_eval_log(LOG, correct="letter", confidence="logprobs")
    assert loaded.taken == "confidences letter.logprobs, marks letter, clusters by sample"
    expected = [0.3 + 0.05 * k for k in range(11)] * 2
    assert loaded.predictions.scores == pytest.approx(expected, abs=1e-15)
    assert loaded.dropped == {"sample ended in an error": 2}
    assert "The confidence is the probability of the answer's token, given the text before it." in loaded.notes
    assert set(loaded.predictions.labels.tolist()) == {0, 1}


def test_the_same_log_as_json(tmp_path):
    """The other format of Inspect has the same samples, read in parts of any size."""
    rows = list(samples(LOG))
    path = write(tmp_path, rows, ending=".json")
    assert is_eval_log(path)
    one, other = load_eval_log(LOG), load_eval_log(path)
    assert np.array_equal(one.predictions.scores, other.predictions.scores)
    assert np.array_equal(one.predictions.labels, other.predictions.labels)
    assert one.notes == other.notes


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_json_in_small_parts(tmp_path, monkeypatch, size):
    """Numbers and texts that continue in the next part are not cut."""
    monkeypatch.setattr(inspect_files, "CHARACTERS_AT_A_TIME", size)
    rows = [sample(k, match=score("C", 0.125)) | {"x": [12345678, -1.5e-7, 'a"]}', {}]} for k in range(3)]
    path = write(tmp_path, rows, ending=".json", header={"version": 12, "status": "success", "eval": {}, "n": 123456})
    header = {}
    assert list(samples(path, header)) == rows
    assert header == {"version": 12, "status": "success", "eval": {}, "n": 123456}


def test_on_the_command_line(tmp_path):
    """The file is recognised by its ending; --prob and --label name the fields."""
    run = CliRunner().invoke(main, ["audit", str(LOG), "--by", "topic", "--no-fix"])
    assert run.exit_code == 0, run.output
    assert "17 rows in 9 clusters; accuracy 58.8 %" in run.output
    assert "confidences graded.metadata.confidence, marks graded" in run.output
    run = CliRunner().invoke(main, ["audit", str(LOG), "--label", "letter", "--prob", "logprobs", "--quiet"])
    assert run.exit_code == 0, run.output
    run = CliRunner().invoke(main, ["audit", str(LOG), "--label", "grade"])
    assert run.exit_code == 2
    assert "there is no field 'grade'; there are 'graded', 'letter'" in run.stderr
    run = CliRunner().invoke(main, ["audit", str(LOG), "--weight", "w"])
    assert run.exit_code == 2
    assert "--weight is for a table, but" in run.stderr


def test_a_map_from_a_log(tmp_path):
    """`believable fit` reads the same pairs, so that the command in an audit's advice works."""
    rows = [sample(k, match=score("CI"[k % 3 == 0], 0.5 + k % 5 / 10)) for k in range(60)]
    path = write(tmp_path, rows)
    run = CliRunner().invoke(main, ["fit", str(path), "--method", "platt", "-o", str(tmp_path / "map.json")])
    assert run.exit_code == 0, run.output
    assert "60 rows; used confidences match.metadata.confidence, marks match" in run.output
    assert (tmp_path / "map.json").exists()


# --- which fields -----------------------------------------------------------------------------------------------------


def taken(folder, *scored, metadata=None, store=None, **asked):
    rows = [sample(k, metadata=metadata, **one) | {"store": store or {}} for k, one in enumerate(scored)]
    return load_eval_log(write(folder, rows), **asked).taken


def test_where_a_confidence_may_be(tmp_path):
    """In the metadata of a score, in its value, as a scorer of its own, in the sample's metadata, in its store."""
    assert taken(tmp_path, {"a": score("C", 0.5)}) == "confidences a.metadata.confidence, marks a"
    within = {"a": {"value": {"correct": 1, "confidence": 0.5}}}
    assert taken(tmp_path, within) == "confidences a.confidence, marks a.correct"
    two = {"match": score("C"), "confidence": score(0.5)}
    assert taken(tmp_path, two) == "confidences confidence, marks match"
    certain = {"match": score("C"), "confidence": score(1.0)}  # a confidence of 1 is no mark
    assert taken(tmp_path, certain) == "confidences confidence, marks match"
    assert taken(tmp_path, {"a": score("C")}, store={"conf": 0.5}) == "confidences store.conf, marks a"
    assert taken(tmp_path, {"a": score("C")}, metadata={"certainty": 1}) == "confidences metadata.certainty, marks a"
    own = {"a": score("C", 0.5), "b": score("I", 0.6)}
    assert taken(tmp_path, own, correct="b") == "confidences b.metadata.confidence, marks b"
    named = {"team/judge.v2": score(True, 0.5)}
    assert taken(tmp_path, named) == "confidences team/judge.v2.metadata.confidence, marks team/judge.v2"


def test_nothing_is_guessed(tmp_path):
    """Several fields that could be meant, and none, are errors that name what there is."""
    several = {"a": score("C", 0.5), "b": score("I", 0.6)}
    with pytest.raises(InputError, match="several fields could be 'correct': 'a', 'b'; choose one with correct="):
        taken(tmp_path, several)
    with pytest.raises(
        InputError, match=r"several fields could be 'confidence': 'a.metadata.conf', 'a.metadata.certainty'"
    ):
        taken(tmp_path, {"a": score("C") | {"metadata": {"conf": 0.1, "certainty": 0.2}}})
    with pytest.raises(
        InputError, match="no scorer gives C, I, P or N, truth values, or 0 and 1; or choose one of 'a' with"
    ):
        taken(tmp_path, {"a": score(0.37, 0.5)})
    with pytest.raises(InputError, match=r'metadata=\{"confidence": 0.8\}'):
        taken(tmp_path, {"a": score("C")}, metadata={"score": 0.5, "p": 0.5})
    assert taken(tmp_path, {"a": score(0.37, 0.5)}, correct="a") == "confidences a.metadata.confidence, marks a"


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("C", 1),
        ("I", 0),
        ("P", 0.5),
        ("N", 0),
        (True, 1),
        (0, 0),
        (0.25, 0.25),
        ("yes", 1),
        ("False", 0),
        ("0.75", 0.75),
    ],
)
def test_marks_are_those_of_inspect(tmp_path, value, number):
    """A score is read as `value_to_float` reads it."""
    rows = [sample(0, a=score(value, 0.5)), sample(1, a=score("C", 0.5))]
    assert load_eval_log(write(tmp_path, rows), correct="a").predictions.labels[0] == number


def test_subgroups_and_clusters_by_name(tmp_path):
    """A field of the sample comes before one of a score with the same name."""
    rows = [
        sample(
            k,
            metadata={"topic": "ab"[k % 2], "doc": k // 2},
            a=score("C", 0.5, explanation="x") | {"metadata": {"confidence": 0.5, "topic": "no"}},
        )
        for k in range(4)
    ]
    loaded = load_eval_log(write(tmp_path, rows), by="topic", cluster="doc")
    assert loaded.by["topic"].tolist() == ["a", "b", "a", "b"]
    assert loaded.clusters.tolist() == ["0", "0", "1", "1"]
    with pytest.raises(InputError, match="no answer has the field 'nope'"):
        load_eval_log(write(tmp_path, rows), by="nope")
    with pytest.raises(InputError, match="sample '0', epoch 1: there is no 'nope'; there are 'a'"):
        load_eval_log(write(tmp_path, rows), cluster="nope")


def test_log_probabilities_need_the_answer_as_a_token(tmp_path):
    """The last token that is the answer counts; a long answer has none."""
    tokens = [
        {"token": " B", "logprob": -3.0},
        {"token": "(", "logprob": -0.1},
        {"token": "B)", "logprob": math.log(0.7)},
    ]
    output = {"choices": [{"logprobs": {"content": tokens}}]}
    rows = [
        sample(0, a=score("C", answer="B")) | {"output": output},
        sample(1, a=score("I", answer="Berlin")) | {"output": output},
    ]
    loaded = load_eval_log(write(tmp_path, rows))
    assert loaded.predictions.scores == pytest.approx([0.7])
    assert loaded.dropped == {"no confidence stated": 1}


# --- what may be wrong with a log -------------------------------------------------------------------------------------


def test_the_last_member_of_a_name_counts(tmp_path):
    """Inspect appends a changed sample under the same name."""
    path = write(tmp_path, [sample(0, a=score("C", 0.5))])
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("samples/0_epoch_1.json", json.dumps(sample(0, a=score("I", 0.25))))
    loaded = load_eval_log(path)
    assert loaded.predictions.scores.tolist() == [0.25]
    assert loaded.predictions.labels.tolist() == [0]


def test_invalidated_and_unfinished(tmp_path):
    """Invalidated samples are left out; a log without a header was not finished."""
    rows = [sample(k, a=score("C", 0.5)) for k in range(3)]
    rows[1]["invalidation"] = {"author": "x"}
    loaded = load_eval_log(write(tmp_path, rows, header={}))
    assert loaded.dropped == {"invalidated sample": 1}
    assert (
        loaded.notes[0] == "The evaluation was not finished when this log was written: its samples may be incomplete."
    )
    loaded = load_eval_log(write(tmp_path, rows, header={"status": "error"}))
    assert loaded.notes[0] == "The evaluation ended early (status error): its samples may be incomplete."


def test_the_first_version_of_logs(tmp_path):
    """Samples had one score without a name, in .json files."""
    rows = [{"id": k, "epoch": 1, "score": score("C", 0.5)} for k in range(2)]
    assert load_eval_log(write(tmp_path, rows, ending=".json")).taken == (
        "confidences scorer.metadata.confidence, marks scorer"
    )


@pytest.mark.parametrize(
    ("rows", "header", "sentence"),
    [
        ([], None, r"log.eval: the log has no samples$"),
        ([], {"status": "error", "error": {"message": "no\nkey"}}, r"the log has no samples; the status of the evaluation is 'error' \('no\\nkey'\)$"),
        ([{"id": 1, "epoch": 1}], None, "none of the 1 samples has a score: score the log first, with `inspect score`$"),
        ([{"id": 1, "epoch": 1, "error": {}}], None, r"none of the 1 samples \(1 ended in an error\) has a score$"),
        ([sample(1, a=score("C", 7))], None, r"sample '1', epoch 1: 'a.metadata.confidence' must lie in \[0, 1\], got 7; pass percent=True"),
        ([sample(1, a=score("C", 0.5)), sample(2, a=score("E", 0.5))], None, "the score 'a' must be C, I, P or N, a truth value, or a number from 0 to 1, got 'E'; choose another scorer with correct="),
        ([sample(1, a=score("C", "sure"))], None, r"no sample has both a confidence and a score \(1 no confidence stated\)"),
    ],
)  # fmt: skip
def test_logs_without_answers(tmp_path, rows, header, sentence):
    """One sentence says what is missing."""
    rows = [*rows] if len(rows) != 2 else [rows[0]] * 20 + [rows[1]]
    rows = [row | {"id": row["id"] if k == 0 else k + 1} for k, row in enumerate(rows)]
    with pytest.raises(InputError, match=sentence):
        load_eval_log(write(tmp_path, rows, header=header))


def test_files_that_are_no_logs(tmp_path):
    """Not a ZIP archive, half of one, damaged members, half of a JSON text, and no file."""
    path = tmp_path / "a.eval"
    with pytest.raises(InputError, match="there is no file"):
        load_eval_log(path)
    path.write_text("hello")
    with pytest.raises(InputError, match=r"is not a complete \.eval log of Inspect, which is a ZIP archive"):
        load_eval_log(path)
    path.write_bytes(LOG.read_bytes()[:9000])
    with pytest.raises(InputError, match="copy it again"):
        load_eval_log(path)
    data = bytearray(LOG.read_bytes())
    with zipfile.ZipFile(LOG) as archive:
        first = archive.infolist()[1]
    for k in range(60, 200):
        data[first.header_offset + k] ^= 0x55
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"'samples/.*json' is damaged or encrypted"):
        load_eval_log(path)
    whole = write(tmp_path, [sample(k, a=score("C", 0.5)) for k in range(3)], ending=".json").read_text()
    cut = tmp_path / "cut.json"
    for length in (len(whole) // 2, len(whole) - 3):
        cut.write_text(whole[:length])
        with pytest.raises(InputError, match=r"is not a complete \.json log of Inspect"):
            load_eval_log(cut)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("samples/1_epoch_1.json", "[1, 2]")
    with pytest.raises(InputError, match=r"'samples/1_epoch_1.json' must hold an object"):
        load_eval_log(path)


def test_members_that_are_too_large(tmp_path, monkeypatch):
    """An archive may unpack to more than there is memory, so the size is looked at first."""
    monkeypatch.setattr(inspect_files, "LARGEST_MEMBER", 100)
    with pytest.raises(InputError, match=r"more than is read"):
        load_eval_log(write(tmp_path, [sample(1, a=score("C", 0.5, explanation="x" * 200))]))


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python reads Zstandard itself")
def test_without_zstandard(monkeypatch):
    """Without a package that reads it, one sentence says which to install."""
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"compressed with Zstandard, .* pip install zstandard"):
        load_eval_log(LOG)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python reads Zstandard itself")
@pytest.mark.parametrize("package", ["zstandard", "pyarrow"])
def test_each_package_reads_zstandard(monkeypatch, package):
    """The same samples, with either."""
    pytest.importorskip(package)
    for other in {"zstandard", "pyarrow"} - {package}:
        monkeypatch.setitem(sys.modules, other, None)
    assert len(load_eval_log(LOG).predictions) == 17


@pytest.mark.parametrize("package", ["zstandard", "pyarrow"])
def test_several_frames_of_zstandard(tmp_path, monkeypatch, package):
    """Inspect divides large members into frames, of which all are read."""
    compressor = pytest.importorskip(package)
    for other in {"zstandard", "pyarrow"} - {package}:
        monkeypatch.setitem(sys.modules, other, None)
    text = json.dumps(sample(1, a=score("C", 0.5, explanation="x" * 9000))).encode()
    compress = compressor.Codec("zstd").compress if package == "pyarrow" else compressor.ZstdCompressor().compress
    packed = b"".join(bytes(compress(text[k : k + 1000])) for k in range(0, len(text), 1000))
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("samples/1_epoch_1.json", packed)
        member = archive.filelist[0]
        member.compress_type, member.CRC, member.file_size = 93, zlib.crc32(text), len(text)
    assert list(samples(path)) == [json.loads(text)]


def test_ids_with_slashes(tmp_path):
    """Ids of samples are part of the names in the archive."""
    rows = [sample("a/b\nc", a=score("C", 0.5)), sample("../d", a=score("I", 0.25))]
    assert sorted(load_eval_log(write(tmp_path, rows)).predictions.scores.tolist()) == [0.25, 0.5]


def test_memory_is_that_of_one_sample(tmp_path):
    """Samples with long transcripts are read one at a time, in both formats."""
    rows = [sample(k, a=score("CI"[k % 2], 0.5)) | {"messages": ["x" * 200_000]} for k in range(60)]
    for ending in (".eval", ".json"):
        path = write(tmp_path, rows, ending=ending)
        load_eval_log(path)
        tracemalloc.start()
        load_eval_log(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 7_000_000, ending  # all samples take 12 million


def test_hostile_names_stay_text(tmp_path):
    """Names of scorers and samples are shown as text, and nothing is written to disk."""
    evil = "../../x\x1b[31m<script>"
    rows = [sample(evil, metadata={evil: "a"}, **{evil: score("C", 7)})]
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("samples/..\\..\\x.json", json.dumps(rows[0]))
    with pytest.raises(InputError) as caught:
        load_eval_log(path)
    assert "\x1b" not in str(caught.value)
    run = CliRunner().invoke(main, ["audit", str(path), "--percent", "--markdown", "-"])
    assert run.exit_code == 0, run.output
    assert "\x1b" not in run.output
    assert "<script>" not in run.stdout
    assert [one.name for one in tmp_path.iterdir()] == ["log.eval"]


def test_options_of_other_logs():
    """Normalisation and filters are those of lm-evaluation-harness."""
    with pytest.raises(InputError, match=r"are for logs of lm-evaluation-harness, but quiz\.eval is one of Inspect AI"):
        load_samples(LOG, normalise="length")
