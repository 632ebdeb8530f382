"""TREC runs and judgements: every line is read, joined and counted, or there is a sentence with its number."""

from __future__ import annotations

import gzip
import re

import numpy as np
import pytest

from believable.errors import InputError
from believable.readers import judge, read_qrels, read_run

RUN = """\
q1 Q0 a 1 3.5 mine
q1 Q0 b 2 2.0 mine
q1 Q0 c 3 -1e-3 mine
q2 Q0 a 1 7 mine
q2 Q0 d 2 .5 mine
q3 Q0 e 1 1 mine
"""
QRELS = """\
q1 0 a 2
q1 0 b 0
q1 0 z 1
q1 0 y -1
q2 0 a -2
q2 0 x 0
q4 0 a 1
"""


def write(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def literal_judgement(run, qrels, rel, as_zero):
    """Join by a loop over the lines with dictionaries."""
    grades = {tuple(line.split()[::2][:2]): int(line.split()[3]) for line in qrels.splitlines()}
    queries = {query for query, _ in grades}
    kept, counts = [], {"unjudged": 0, "negative": 0, "unknown": 0}
    for line in run.splitlines():
        query, _, document, _, score, _ = line.split()
        if query not in queries:
            counts["unknown"] += 1
            continue
        grade = grades.get((query, document))
        if grade is None:
            counts["unjudged"] += 1
            if not as_zero:
                continue
            grade = 0
        if grade < 0:
            counts["negative"] += 1
            continue
        kept.append((query, document, float(score), grade, grade >= rel))
    return kept, counts


@pytest.mark.parametrize("as_zero", [False, True])
@pytest.mark.parametrize("rel", [1, 2])
def test_the_join_is_that_of_a_dictionary(tmp_path, rel, as_zero):
    """On random files the join and its counts are those of a loop, in the order of the run."""
    rng = np.random.default_rng(1)
    documents = [f"d{k}" for k in range(30)]
    run = "".join(
        f"q{q} Q0 {d} {i + 1} {rng.normal():.4f} x\n"
        for q in rng.permutation(12)
        for i, d in enumerate(rng.permutation(documents)[:15])
    )
    qrels = "".join(f"q{q} 0 {d} {rng.integers(-1, 4)}\n" for q in range(2, 15) for d in rng.permutation(documents)[:9])
    kept, counts = literal_judgement(run, qrels, rel, as_zero)
    found = judge(
        read_run(write(tmp_path, "run", run)),
        read_qrels(write(tmp_path, "qrels", qrels)),
        rel=rel,
        unjudged="not relevant" if as_zero else "drop",
    )
    columns = (found.queries, found.documents, found.scores, found.grades, found.relevant)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == kept
    assert (found.unjudged, found.negative, found.of_unknown_queries) == tuple(counts.values())


def test_everything_is_counted(tmp_path):
    """What was left out, what was not retrieved, and which queries are in one file only."""
    found = judge(read_run(write(tmp_path, "run", RUN)), read_qrels(write(tmp_path, "qrels", QRELS)))
    assert found.documents.tolist() == ["a", "b"]
    assert found.dropped == {"unjudged": 2, "negative grade": 1, "query without judgements": 1}
    assert (found.n_queries, found.unknown_queries, found.empty_queries, found.absent_queries) == (1, 1, 1, 1)
    assert found.not_retrieved == 2  # z and x; y has a negative grade
    assert str(found) == (
        "2 documents of 1 queries, 1 relevant (grade 1 or above); 2 left out: unjudged; 1 left out: negative grade; "
        "1 left out: query without judgements"
    )


def test_unjudged_as_not_relevant(tmp_path):
    """They are kept and counted; a query without any judgement is still left out."""
    run, qrels = read_run(write(tmp_path, "run", RUN)), read_qrels(write(tmp_path, "qrels", QRELS))
    found = judge(run, qrels, unjudged="not relevant")
    assert found.grades.tolist() == [2, 0, 0, 0]
    assert found.dropped == {"negative grade": 1, "query without judgements": 1}
    assert "2 of them unjudged and counted as not relevant" in str(found)


@pytest.mark.parametrize(
    "text",
    [
        RUN.replace(" ", "\t"),
        RUN.replace(" ", "  \t "),
        RUN.replace("\n", "\r\n"),
        "\n\n" + RUN.replace("\n", "\n   \n"),
        RUN.replace(" mine", ""),
        "\ufeff" + RUN,
        RUN.rstrip("\n"),
        gzip.compress(RUN.encode()),
    ],
    ids=["tabs", "mixed", "carriage returns", "blank lines", "no tag", "byte order mark", "no last newline", "gzip"],
)
def test_ways_to_write_a_run(tmp_path, text):
    """Tabs, blank lines, gzip and a missing tag change nothing."""
    frame = read_run(write(tmp_path, "run.trec", text))
    assert frame["query"].to_list() == ["q1", "q1", "q1", "q2", "q2", "q3"]
    assert frame["score"].to_list() == [3.5, 2.0, -1e-3, 7.0, 0.5, 1.0]


def test_names_are_text(tmp_path):
    """1 and 01 are two queries, and a document may be called 1e5 or "x."""
    frame = read_run(write(tmp_path, "run", '1 Q0 1e5 1 2 t\n01 Q0 "x 1 3 t\n'))
    assert frame["query"].to_list() == ["1", "01"]
    assert frame["document"].to_list() == ["1e5", '"x']


def test_lines_are_counted_from_one_with_blank_ones(tmp_path):
    """The number of a line is what an editor shows."""
    path = write(tmp_path, "run", "\nq Q0 a 1 1 t\n\nq Q0 b 2 1 t\nq Q0 c\n")
    with pytest.raises(InputError, match=r"run, line 5: expected query, Q0, document, rank, score and tag"):
        read_run(path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("q1 Q0 a 1\n", "line 1: expected query, Q0, document, rank, score and tag, separated by spaces or tabs, got 'q1 Q0 a 1'; this looks like judgements: are the two files swapped?"),
        ("q1 Q0 a 1 0.5 t more\n", "line 1: expected query, Q0, document, rank, score and tag"),
        ("q1 Q0 two words 1 0.5\n", "line 1: the rank is not a whole number; expected query, Q0, document, rank, score and tag, separated by spaces or tabs, got 'q1 Q0 two words 1 0.5'"),
        ("q1 Q0 a 1 high t\n", "line 1: the score must be a number, got 'high'"),
        ("q1 Q0 a 1 0.5 t\nq1 Q0 b 2 nan t\n", "line 2: the score must be a number, got 'nan'"),
        ("q1 Q0 a 1 inf t\n", "line 1: the score must be a number, got 'inf'"),
        (RUN + "q1 Q0 b 9 1.0 mine\n", "lines 2 and 7: the document 'b' is ranked twice for the query 'q1'"),
        ("\n \n", "run is empty"),
        (b"\xff\xfe\x00", "run is not a UTF-8 text file"),
        (gzip.compress(RUN.encode())[:-6], "run is not a UTF-8 text file, nor a complete gzip file of one"),
    ],
    ids=["qrels", "seven", "shifted", "text", "nan", "inf", "twice", "blank", "binary", "cut"],
)  # fmt: skip
def test_bad_runs(tmp_path, text, sentence):
    """The sentence names the file, the line, what was expected and what is there."""
    with pytest.raises(InputError, match=re.escape(sentence)):
        read_run(write(tmp_path, "run", text))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (RUN, "line 1: expected query, 0, document and grade, separated by spaces or tabs, got 'q1 Q0 a 1 3.5 mine'; this looks like a run: are the two files swapped?"),
        ("q1 0 a one\n", "line 1: the grade must be a whole number, got 'one'"),
        ("q1 0 a 1.5\n", "line 1: the grade must be a whole number, got '1.5'"),
        (QRELS + "q1 0 b 1\n", "lines 2 and 8: the document 'b' has two grades for the query 'q1' (0 and 1)"),
        ("q1 a 1\nq1 0 b 1\n", "line 2: expected query, document and grade, as in the lines before, got 'q1 0 b 1'"),
        ("q1 0 b 1\nq1 a 1\n", "line 2: expected query, 0, document and grade, separated by spaces or tabs, got 'q1 a 1'"),
    ],
    ids=["run", "text", "fraction", "two grades", "three then four", "four then three"],
)  # fmt: skip
def test_bad_judgements(tmp_path, text, sentence):
    """The sentence names the file, the line, what was expected and what is there."""
    with pytest.raises(InputError, match=re.escape(sentence)):
        read_qrels(write(tmp_path, "qrels", text))


def test_three_columns_of_judgements(tmp_path):
    """A file of query, document and grade may have a header; the same judgement twice counts once."""
    body = "q1\ta\t1\nq1\tb\t0\nq1\ta\t1\n"
    for text in (body, "query-id\tcorpus-id\tscore\n" + body):
        frame = read_qrels(write(tmp_path, "qrels.tsv", text))
        assert frame.select("query", "document", "grade").rows() == [("q1", "a", 1), ("q1", "b", 0)]


def test_files_that_have_nothing_in_common(tmp_path):
    """Other queries, or none of the documents, is a sentence and not an empty answer."""
    run = read_run(write(tmp_path, "run", RUN))
    with pytest.raises(
        InputError,
        match=r"no query of the run is in the judgements: the run has 'q1', 'q2', 'q3', the judgements '301'$",
    ):
        judge(run, read_qrels(write(tmp_path, "qrels", "301 0 a 1\n")))
    with pytest.raises(InputError, match=r"no document of the run has a grade of 0 or above: 4 are unjudged, 1 have"):
        judge(run, read_qrels(write(tmp_path, "qrels", "q1 0 b -1\nq2 0 z 1\n")))


def test_no_file(tmp_path):
    """A path that is no file is said to be none."""
    with pytest.raises(InputError, match=r"there is no file .*nothing"):
        read_run(tmp_path / "nothing")
    with pytest.raises(InputError, match=r"is a folder, not a file"):
        read_qrels(tmp_path)


@pytest.mark.parametrize(("options", "sentence"), [({"rel": 0}, "rel must be an integer at least 1"), ({"unjudged": "keep"}, "unjudged must be one of 'drop', 'not relevant'")])  # fmt: skip
def test_bad_choices(tmp_path, options, sentence):
    """A grade of 0 is never relevant, and there are two ways with the unjudged."""
    with pytest.raises(InputError, match=sentence):
        judge(read_run(write(tmp_path, "run", RUN)), read_qrels(write(tmp_path, "qrels", QRELS)), **options)
