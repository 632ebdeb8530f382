"""Read TREC runs (the ranking of a search system) and relevance judgements (qrels)."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from believable import _check, _optional
from believable._types import Array, Float64s, Ints
from believable.errors import InputError
from believable.readers.formats import format_by_ending
from believable.readers.formats.base import GZIP

if TYPE_CHECKING:
    import polars

Unjudged = Literal["drop", "not relevant"]

RUN_FIELDS = "query, Q0, document, rank, score and tag, separated by spaces or tabs"
QRELS_FIELDS = "query, 0, document and grade, separated by spaces or tabs"
QRELS_COLUMNS = ("query", "iteration", "document", "grade")
BEIR_COLUMNS = ("query", "document", "grade")
ENDINGS_OF_RUNS = (".run", ".trec")
LONGEST_FIRST_LINE = 10_000  # bytes
DOCUMENT_KEY = ["query", "document"]


def read_run(path: str | os.PathLike[str]) -> polars.DataFrame:
    """Read a TREC run: lines of query, Q0, document, rank, score and tag.

    Fields are separated by spaces or tabs; the file may be compressed with gzip; the tag may be missing. Blank lines
    are skipped. Queries and documents are names, so "1" and "01" are different. Scores must be finite, and a document
    may occur only once per query.

    Returns
    -------
    polars.DataFrame
        query, document, score, and line (in the file, from 1).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.trec"
    >>> _ = path.write_text("q1 Q0 d7 1 0.9 mine\\nq1 Q0 d2 2 0.4 mine\\n")
    >>> read_run(path)["score"].to_list()
    [0.9, 0.4]
    """
    _optional.load("polars", "reading files needs")
    import polars as pl

    lines = _lines(path)
    names = ("query", "q0", "document", "rank", "score", "tag")
    frame = _fields(lines, names, rf"^\s*{_words(5)}(?:\s+(\S+))?\s*$")
    _refuse_first(path, frame, pl.col("query").is_null(), "text", f"expected {RUN_FIELDS}", _looks_like_qrels)
    _refuse_first(
        path,
        frame,
        pl.col("tag").is_null() & ~pl.col("q0").str.to_uppercase().is_in(["Q0", "0"]),
        "text",
        f"one of six fields is missing, and it does not seem to be the tag; expected {RUN_FIELDS}",
    )
    # An additional or missing field shifts the others, so that a rank could be read as a score.
    _refuse_first(
        path,
        frame,
        ~pl.col("rank").str.contains(r"^-?\d+$"),
        "text",
        f"the rank is not a whole number; expected {RUN_FIELDS}",
    )
    frame = frame.with_columns(pl.col("score").alias("given"), pl.col("score").cast(pl.Float64, strict=False))
    _refuse_first(path, frame, ~pl.col("score").is_finite().fill_null(False), "given", "the score must be a number")
    _refuse_repeats(path, frame, "the document {document!r} is ranked twice for the query {query!r}")
    return frame.select("query", "document", "score", "line")


def is_run(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a TREC run, by its ending (.run or .trec) or the fields of its first line.

    False for endings of other formats, and for a file that cannot be read, so that its reader raises the error.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "bm25.txt"
    >>> _ = path.write_text("q1 Q0 d7 1 0.9 mine\\n")
    >>> is_run(path), is_run("scores.csv"), is_run("model.trec")
    (True, False, True)
    """
    name = os.fspath(path).lower().removesuffix(".gz")
    if name.endswith(ENDINGS_OF_RUNS):
        return True
    if format_by_ending(path) is not None or not Path(path).is_file():
        return False
    try:
        with Path(path).open("rb") as file:
            compressed = file.read(2) == GZIP
        with gzip.open(path, "rb") if compressed else Path(path).open("rb") as stream:
            fields = stream.readline(LONGEST_FIRST_LINE).split()
    except (OSError, EOFError):
        return False
    return len(fields) == 6 and fields[1].upper() in (b"Q0", b"0") and fields[3].lstrip(b"-").isdigit()


def read_qrels(path: str | os.PathLike[str]) -> polars.DataFrame:
    """Read relevance judgements: lines of query, 0, document and grade, or of query, document and grade.

    Grades are whole numbers; those below 0 stand for spam or "cannot tell" and are kept here. Lines of three fields
    are those of BEIR, with or without a header. A repeated judgement counts once; two that differ are an error.

    Returns
    -------
    polars.DataFrame
        query, document, grade, and line (in the file, from 1).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "qrels.txt"
    >>> _ = path.write_text("q1 0 d7 2\\nq1 0 d2 0\\n")
    >>> read_qrels(path)["grade"].to_list()
    [2, 0]
    """
    _optional.load("polars", "reading files needs")
    import polars as pl

    lines = _lines(path)
    n_fields = len(str(lines["text"][0]).split())
    names = BEIR_COLUMNS if n_fields == len(BEIR_COLUMNS) else QRELS_COLUMNS
    if names is BEIR_COLUMNS and not _is_grade(str(lines["text"][0]).split()[-1]):
        lines = lines[1:]  # the names of the columns
    frame = _fields(lines, names, rf"^\s*{_words(len(names))}\s*$")
    expected = QRELS_FIELDS if names is QRELS_COLUMNS else "query, document and grade, as in the lines before"
    _refuse_first(path, frame, pl.col("query").is_null(), "text", f"expected {expected}", _looks_like_a_run)
    frame = frame.with_columns(pl.col("grade").alias("given"), pl.col("grade").cast(pl.Int64, strict=False))
    _refuse_first(path, frame, pl.col("grade").is_null(), "given", "the grade must be a whole number")
    frame = frame.unique([*DOCUMENT_KEY, "grade"], keep="first", maintain_order=True)
    _refuse_repeats(path, frame, "the document {document!r} has two grades for the query {query!r}", "grade")
    return frame.select("query", "document", "grade", "line")


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """The documents of a run that were judged.

    Attributes
    ----------
    scores : ndarray
        The scores in the run.
    grades : ndarray of int
        The grades, 0 and above.
    queries, documents : ndarray of object
        The query and the document of each row.
    relevant : ndarray of bool
        Whether the grade is at least `rel`.
    rel : int
        The lowest grade that counts as relevant.
    unjudged : int
        Documents of the run without a grade, of queries that have judgements.
    taken_as_not_relevant : bool
        Whether unjudged documents count as not relevant; otherwise they are left out.
    negative : int
        Documents whose grade is below 0; left out.
    of_unknown_queries : int
        Documents of queries without any judgement; always left out.
    unknown_queries : int
        Queries of the run without any judgement.
    empty_queries : int
        Queries of the run with judgements, but without any document that was kept.
    absent_queries : int
        Judged queries that are not in the run.
    not_retrieved : int
        Documents with a grade of 0 or above, of queries in the run, that the run does not have.
    """

    scores: Float64s
    grades: Ints
    queries: Array
    documents: Array
    relevant: Array
    rel: int
    unjudged: int
    taken_as_not_relevant: bool
    negative: int
    of_unknown_queries: int
    unknown_queries: int
    empty_queries: int
    absent_queries: int
    not_retrieved: int

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def n_queries(self) -> int:
        """The number of queries with at least one document."""
        return len(set(self.queries.tolist()))

    @property
    def dropped(self) -> dict[str, int]:
        """Documents of the run that were left out, by reason."""
        reasons = {
            "unjudged": 0 if self.taken_as_not_relevant else self.unjudged,
            "negative grade": self.negative,
            "query without judgements": self.of_unknown_queries,
        }
        return {reason: n for reason, n in reasons.items() if n}

    def __str__(self) -> str:
        parts = [
            f"{len(self):,} documents of {self.n_queries:,} queries, {int(self.relevant.sum()):,} relevant "
            f"(grade {self.rel} or above)"
        ]
        if self.taken_as_not_relevant and self.unjudged:
            parts.append(f"{self.unjudged:,} of them unjudged and counted as not relevant")
        parts += [f"{n:,} left out: {reason}" for reason, n in self.dropped.items()]
        return "; ".join(parts)


def judge(run: polars.DataFrame, qrels: polars.DataFrame, *, rel: int = 1, unjudged: Unjudged = "drop") -> Judged:
    """Join a run with judgements on query and document.

    Parameters
    ----------
    run, qrels : polars.DataFrame
        From `read_run` and `read_qrels`.
    rel : int
        The lowest grade that counts as relevant.
    unjudged : {"drop", "not relevant"}
        Documents without a grade are left out and counted, or get grade 0, as is usual for ranking metrics. Documents
        of queries without any judgement are always left out.

    Returns
    -------
    Judged
        The judged documents, in the order of the run.

    Examples
    --------
    >>> import polars
    >>> run = polars.DataFrame({"query": ["q", "q", "q"], "document": ["a", "b", "c"], "score": [0.9, 0.6, 0.1]})
    >>> qrels = polars.DataFrame({"query": ["q", "q"], "document": ["a", "c"], "grade": [2, 0]})
    >>> print(judge(run, qrels))
    2 documents of 1 queries, 1 relevant (grade 1 or above); 1 left out: unjudged
    """
    _optional.load("polars", "reading files needs")
    import polars as pl

    rel = _check.positive_integer(rel, "rel")
    _check.choice(unjudged, get_args(Unjudged), "unjudged")
    grades = qrels.select(*DOCUMENT_KEY, "grade")
    joined = run.select(*DOCUMENT_KEY, "score").join(grades, on=DOCUMENT_KEY, how="left", maintain_order="left")
    known = joined.join(qrels.select("query").unique(), on="query", how="semi", maintain_order="left")
    if not known.height:
        raise InputError(
            f"no query of the run is in the judgements: the run has {_examples(run)}, the judgements {_examples(qrels)}"
        )
    _refuse_grade(qrels, rel)
    as_zero = unjudged == "not relevant"
    n_unjudged = known["grade"].null_count()
    rows = known.with_columns(pl.col("grade").fill_null(0)) if as_zero else known.filter(pl.col("grade").is_not_null())
    negative = int((rows["grade"] < 0).sum())
    rows = rows.filter(pl.col("grade") >= 0)
    if n_unjudged == known.height or not rows.height:
        raise InputError(
            f"no document of the run has a grade of 0 or above: {n_unjudged:,} are unjudged, {negative:,} have a "
            "negative grade"
        )
    in_run = grades.filter(pl.col("grade") >= 0).join(run.select("query").unique(), on="query", how="semi")
    known_queries = known["query"].n_unique()
    return Judged(
        scores=rows["score"].to_numpy(),
        grades=rows["grade"].to_numpy().astype(np.int64),
        queries=np.array(rows["query"].to_list(), object),
        documents=np.array(rows["document"].to_list(), object),
        relevant=rows["grade"].to_numpy() >= rel,
        rel=rel,
        unjudged=n_unjudged,
        taken_as_not_relevant=as_zero,
        negative=negative,
        of_unknown_queries=run.height - known.height,
        unknown_queries=run["query"].n_unique() - known_queries,
        empty_queries=known_queries - rows["query"].n_unique(),
        absent_queries=qrels["query"].n_unique() - known_queries,
        not_retrieved=in_run.join(run.select(DOCUMENT_KEY), on=DOCUMENT_KEY, how="anti").height,
    )


def _refuse_grade(qrels: polars.DataFrame, rel: int) -> None:
    """Raise if no judged document has a grade of at least `rel`."""
    grades = qrels["grade"].to_numpy()
    if grades.max() < rel:
        there = (
            f"grades are {grades.min()} to {grades.max()}" if grades.min() < grades.max() else f"all have {grades[0]}"
        )
        raise InputError(f"no judged document has grade {rel} or more; {there}")


# --- lines and fields -------------------------------------------------------------------------------------------------


def _lines(path: str | os.PathLike[str]) -> polars.DataFrame:
    """Return the lines of a text file that are not blank, with their numbers from 1."""
    _optional.load("polars", "reading files needs")
    import polars as pl

    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no file {path}" if not path.exists() else f"{path} is a folder, not a file")
    data = path.read_bytes()
    try:
        text = (gzip.decompress(data) if data.startswith(GZIP) else data).decode("utf-8-sig")
    except (UnicodeDecodeError, EOFError, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is not a UTF-8 text file, nor a complete gzip file of one: {error}") from error
    frame = pl.DataFrame({"text": [text]}).select(pl.col("text").str.split("\n").explode())
    frame = frame.with_row_index("line", offset=1).filter(pl.col("text").str.contains(r"\S"))
    if not frame.height:
        raise InputError(f"{path} is empty")
    return frame


def _words(n: int) -> str:
    return r"\s+".join([r"(\S+)"] * n)


def _fields(lines: polars.DataFrame, names: tuple[str, ...], pattern: str) -> polars.DataFrame:
    """Return the fields as columns of text; all are null in a line that does not match the pattern."""
    import polars as pl

    groups = pl.col("text").str.extract_groups(pattern).struct.rename_fields(list(names)).alias("fields")
    return lines.with_columns(groups).unnest("fields")


def _refuse_first(
    path: str | os.PathLike[str],
    frame: polars.DataFrame,
    bad: polars.Expr,
    shown: str,
    sentence: str,
    hint: Callable[[str], str] = lambda text: "",
) -> None:
    """Raise at the first bad line, with its number, what was expected and what it contains."""
    found = frame.filter(bad).head(1)
    if found.height:
        line, text = found["line"][0], str(found[shown][0]).strip()
        raise InputError(
            "{file}, line {line}: {needed}, got {got!r}{advice}",
            file=os.fspath(path),
            line=line,
            needed=sentence,
            got=_short(text),
            advice=hint(text),
        )


def _refuse_repeats(
    path: str | os.PathLike[str], frame: polars.DataFrame, sentence: str, shown: str | None = None
) -> None:
    """Raise at the first query and document that occur twice, with both lines."""
    import polars as pl

    again = frame.filter(~pl.struct(DOCUMENT_KEY).is_first_distinct()).head(1)
    if not again.height:
        return
    query, document = again["query"][0], again["document"][0]
    pair = frame.filter((pl.col("query") == query) & (pl.col("document") == document)).head(2)
    lines = " and ".join(map(str, pair["line"].to_list()))
    values = "" if shown is None else f" ({' and '.join(map(str, pair[shown].to_list()))})"
    said = sentence.format(query=query, document=document)
    raise InputError(f"{os.fspath(path)}, lines {lines}: {said}{values}")


def _is_grade(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True


def _looks_like_qrels(text: str) -> str:
    fields = text.split()
    return "; this looks like judgements: are the two files swapped?" if _is_qrels_line(fields) else ""


def _is_qrels_line(fields: list[str]) -> bool:
    return len(fields) in (3, 4) and _is_grade(fields[-1])


def _looks_like_a_run(text: str) -> str:
    return "; this looks like a run: are the two files swapped?" if len(text.split()) == 6 else ""


def _examples(frame: polars.DataFrame) -> str:
    return ", ".join(repr(name) for name in frame["query"].unique(maintain_order=True).head(3).to_list())


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"
