"""The page reads a file as the command line does: the same rows, or the same sentence with the page's own words.

Every file of `tests/readers` that is text with a separator is here, too.
"""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import believable
from believable.auditing.source import source_of_audit
from believable.errors import LOOK_LIKE_LOGITS, LOOK_LIKE_PERCENTAGES, BelievableError, Hint, Wording
from believable.readers import load
from believable.readers.levels import as_subgroups
from tests.needs import need
from tests.readers.test_files import MESSY, REFUSED

FOLDER = Path(believable.__file__).parent / "report" / "browser"

RUN = """
const folder = process.argv[1];
const [Table, Read] = [require(`${folder}/delimited.js`), require(`${folder}/read.js`)];
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
const plain = (values) => values && Array.from(values);
(async () => {
  const found = [];
  for (const { name, data, asked } of cases) {
    try {
      const made = await Read.input(await Table.open(new Blob([Buffer.from(data, "base64")]), name), asked);
      const scores = made.kind === "binary" ? plain(made.scores) : made.scores.map(plain);
      const groups = made.groups.map((group) => ({ ...group, codes: plain(group.codes) }));
      found.push({ ...made, scores, labels: plain(made.labels), weights: plain(made.weights), clusters: plain(made.clusters), groups });
    } catch (error) {
      found.push({ error: error instanceof Table.BadInput ? error.message : `defect: ${error.stack}` });
    }
  }
  console.log(JSON.stringify(found));
})();
"""


# --- the words of the page --------------------------------------------------------------------------------------------


CONTROLS = {
    **{"prob": "“Scores”", "prob_prefix": "“Scores”", "label": "“Outcomes”", "pos_label": "“Counts as 1”"},
    **{"weight": "“Weights”", "cluster": "“Clusters”", "clusters": "“Clusters”", "by": "“Subgroups”"},
    **{"percent": "“percentages”", "from_logits": "“logits”", "actuals": "labels", "sample_weight": "the weight"},
}
LEAVE_OUT = "fill in the value, or choose “Leave out rows with missing values”"
HINTS = {
    Hint.LOGITS_IN_FILE: (
        f"{LOOK_LIKE_LOGITS}: choose “logits”, or “percentages” for percentages; for other scores, fit a calibration map "
        "with `believable fit --scores raw`"
    ),
    Hint.PERCENTAGES_IN_FILE: f"{LOOK_LIKE_PERCENTAGES}: choose “percentages”, or “logits” for logits",
    Hint.READ_AS_PERCENTAGES: "if all of them are percentages, choose “percentages”",
    Hint.REPAIR_OR_LEAVE_OUT: LEAVE_OUT,
    Hint.PREDICTED_CLASSES: "name a column of probabilities with {prob}",
    Hint.PREDICTED_CLASSES_OF_ROWS: "name the columns of probabilities with {prob}",
    Hint.SWAPPED: "scores and labels look swapped: {prob} names the scores, {label} the outcomes",
    Hint.INDEPENDENT_COLUMNS: "if the columns are independent, use Predictions(..., multilabel=True) in Python",
    Hint.NAME_THE_POSITIVE: "name the label that counts as 1 with {pos_label}",
    Hint.CLASSES_OF_COLUMNS: "here each row has a score for each class, so leave it out",
    Hint.SHARES_OF_ANNOTATORS: "if they are shares of annotators, use Predictions(..., soft_labels=True) in Python",
    Hint.NAME_THE_NEGATIVE_IN_FILE: "keep the rows of two labels, or write labels as 0 and 1 if all others count as 0",
}


class Page(Wording):
    """A wording that names the controls of the page."""

    def setting(self, name: str, value: Any) -> str:
        shown = self.argument(name)
        return f"{shown} ({value!r})" if name == "pos_label" else shown


PAGE = Page(CONTROLS, HINTS)


# --- both readers -----------------------------------------------------------------------------------------------------


def by_python(path: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """What the command line reads, or its sentence in the words of the page."""
    options = {name: asked[name] for name in ("prob", "label", "weight", "cluster", "by", "pairs") if name in asked}
    options |= {"prob_prefix": asked.get("prefix"), "pos_label": asked.get("positive")}
    options |= {"drop_missing": asked.get("dropMissing", False), "from_logits": asked.get("scale") == "logits"}
    try:
        loaded = load(path, percent=asked.get("scale") == "percentages", **options)
        by, said = as_subgroups(loaded.by)
        source = source_of_audit(loaded.predictions, clusters=loaded.clusters, by=by or None)
    except BelievableError as error:
        said = error.sentence.told(PAGE).replace(f"{path.parent}/", "")
        return {"error": said.replace("“Scores” or “Scores”", "“Scores”")}
    read = loaded.predictions
    groups = []
    for column, values in (source.columns or {}).items():
        levels, codes = np.unique(values, return_inverse=True)
        groups.append({"column": column, "levels": levels.tolist(), "codes": codes.tolist()})
    scores = read.scores if read.kind == "binary" else read.scores.T
    return {
        "kind": read.kind,
        "scores": scores.tolist(),
        "labels": np.asarray(read.labels, int).tolist(),
        "weights": None if read.weights is None else read.weights.tolist(),
        "clusters": None if source.cluster is None else source.cluster.tolist(),
        "classes": [read.class_name(k) for k in range(read.n_classes)],
        "pairs": read.are_pairs,
        "groups": groups,
        "title": loaded.title,
        "taken": loaded.taken,
        "dropped": dict(loaded.dropped),
        "notes": [note.told(PAGE) if hasattr(note, "told") else note for note in (*loaded.notes, *said)],
    }


def in_words_of_page(note: str) -> str:
    """A note that proposes a control, where the command line says to pass an option or to leave it out."""
    note = note.replace("pass “Clusters”;", "choose it under “Clusters”;")
    return note.replace("leave “percentages” out", "choose “probabilities”")


def both(tmp_path: Path, cases: dict[str, tuple[bytes, dict[str, Any]]]) -> dict[str, tuple[Any, Any]]:
    """What the page and Python make of each file."""
    node = need("node")
    given = []
    for i, (data, asked) in enumerate(cases.values()):
        name = asked.get("file", f"data{i}.csv")
        (tmp_path / name).write_bytes(data)
        given.append({"name": name, "data": base64.b64encode(data).decode(), "asked": asked})
    done = subprocess.run(
        [node, "-e", RUN, str(FOLDER)], input=json.dumps(given), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    by_page = json.loads(done.stdout)
    return {key: (by_page[i], by_python(tmp_path / given[i]["name"], cases[key][1])) for i, key in enumerate(cases)}


def same(page: Any, python: Any) -> None:
    """Both read the same, to the last bit but for sigmoid and softmax; or both refuse with the same words."""
    assert page.get("error") == python.get("error")
    for name in set(python) - {"error", "scores", "notes"}:
        assert page[name] == python[name], name
    if "scores" in python:
        np.testing.assert_allclose(page["scores"], python["scores"], rtol=1e-15 if "logits" in python["taken"] else 0)
        assert page["notes"] == [in_words_of_page(note) for note in python["notes"]]


def check(tmp_path, cases):
    wrong = []
    for key, (page, python) in both(tmp_path, cases).items():
        try:
            same(page, python)
        except AssertionError as error:
            wrong.append(f"{key}: {error}")
    assert not wrong, "\n".join(wrong)


# --- files ------------------------------------------------------------------------------------------------------------


ROWS = b"p,y,w,q,site\n0.5,1,2,7,a\n0.25,0,1,7,b\n0.75,1,0.5,8,a\n0.1,0,1,9,\n"
GOOD = {
    "plain": (b"p,y\n0.5,1\n0.25,0\n", {}),
    "all columns": (ROWS, {"weight": "w", "cluster": "q", "by": ["site"]}),
    "clusters that repeat": (b"p,y,patient_id\n0.5,1,a\n0.25,0,a\n0.5,1,b\n", {}),
    "quoted names, clusters as text": (
        b'"p","y","q q"\n0.5,1,"x, y"\n0.25,0,"z""z"\n0.5,1,"x, y"\n',
        {"cluster": "q q"},
    ),
    "weights of 0": (b"p,y,w\n0.5,1,0\n0.25,0,1\n0.75,1,2\n", {"weight": "w"}),
    "missing values left out": (
        b"p,y,w,q\n,1,1,a\n0.5,,1,a\n0.25,0,NA,b\n0.5,1,1,\n0.75,1,1,c\n0.5,0,2,d\n",
        {"weight": "w", "cluster": "q", "dropMissing": True},
    ),
    "a blank line left out": (b"p,y\n0.5,1\n\n0.25,0\n", {"dropMissing": True}),
    "too few fields": (b"p,y\n0.5\n0.25,0\n0.5,1\n", {"dropMissing": True}),
    "yes and no": (b"p,y\n0.5,yes\n0.25,no\n", {"positive": "yes"}),
    "no and yes": (b"p,y\n0.5, yes\n0.25,no \n", {"positive": "no"}),
    "one and two": (b"p,y\n0.5,1\n0.25,2\n", {"positive": "2"}),
    "truth": (b"p,y\n0.5,True\n0.25,FALSE\n", {}),
    "truth by name": (b"p,y\n0.5,true\n0.25,false\n", {"positive": "false"}),
    "labels as floats": (b"p,y\n0.5,1.0\n0.25,0.0\n", {}),
    "labels with signs and spaces": (b"p,y\n0.5,+1\n0.25, 0\n", {}),
    "percent": (b"p,y\n50%,1\n25 %,0\n,1\n", {"dropMissing": True}),
    "every percentage": (b"p,y\n" + b"".join(b"%d%%,%d\n" % (k, k % 2) for k in range(101)), {}),
    "percentages": (b"p,y\n50,1\n25,0\n", {"scale": "percentages"}),
    "tiny percentages": (b"p,y\n0.5,1\n0.25,0\n", {"scale": "percentages"}),
    "logits": (b"logit,y\n0.5,1\n-2.25,0\n700,1\n-800,0\n", {"scale": "logits"}),
    "exponents": (b"p,y\n5e-1,1\n2.5E-01,0\n.5,1\n0.,0\n+0.125,1\n1e-400,0\n", {}),
    "digits": (
        b"p,y\n0.1234567890123456789,1\n0.30000000000000004,0\n0.8444218515250481,1\n0.00000000000000000000001234567,0\n",
        {},
    ),
    "decimal commas": (b"p;y;w\n0,5;1,0;1,234\n0,25;0,0;0,5\n", {"weight": "w"}),
    "decimal commas and thousands": (b"p;y;w\n0,5;1;1.234\n0,25;0;0.5\n", {"weight": "w"}),
    "decimal commas and exponents": (b"p;y\n7,9e-05;1\n0,25;0\n1,5E-1;1\n", {}),
    "commas of three digits": (b"p;y\n0,125;1\n0,250;0\n", {}),
    "classes": (b"p_cat,p_dog,p_owl,y\n0.5,0.25,0.25,owl\n0.125,0.75,0.125,dog\n", {}),
    "numbered classes": (b"p_10,p_9,p_1,y\n0.5,0.25,0.25,1\n0.125,0.75,0.125,10\n", {}),
    "numbered classes, text labels": (b"p_0,p_1,y\n0.5,0.5,a0\n", {"prefix": "p_"}),
    "another prefix": (b"m1_a,m1_b,m2_a,m2_b,y\n0.5,0.5,1,0,a\n0.25,0.75,1,0,b\n", {"prefix": "m1_"}),
    "softmax": (b"logit_a,logit_b,logit_scale,y\n2,1,10,a\n1,3,10,b\n", {"scale": "logits"}),
    "pairs": (b"confidence,correct\n1,1\n0,0\n1,0\n", {}),
    "no pairs": (b"confidence,correct\n0.5,1\n0,0\n1,0\n", {"pairs": False}),
    "one outcome": (b"p,y\n0.5,1\n0.25,1\n", {}),
    "calibrated too": (b"p,p_calibrated,y\n0.5,0.4,1\n0.25,0.2,0\n", {}),
    "calibrated alone": (b"p,p_calibrated,y\n0.5,0.4,1\n0.25,0.2,0\n", {"prob": "p_calibrated"}),
    "compressed": (gzip.compress(b"p,y\n0.5,1\n0.25,0\n"), {"file": "data.csv.gz"}),
    "tabs": (b"p\ty\n0.5\t1\n0.25\t0\n", {"file": "data.tsv"}),
    "umlauts": ("p,y,Größe\n0.5,1,ä\n0.25,0,😀\n0.5,1,\uff21\n".encode(), {"by": ["Größe"]}),
    "names that are numbers": (b"p,y,q\n0.5,1,007\n0.25,0,7\n0.5,1,08\n", {"cluster": "q", "by": ["q"]}),
    "numbers that are names": (b"p,y,q\n0.5,1,10\n0.25,0,2\n0.5,1,2\n", {"cluster": "q", "by": ["q"]}),
    "halves": (b"p,y,q\n0.5,1,0.50\n0.25,0,1\n0.5,1,\n", {"by": ["q"]}),
    "truth as subgroups": (b"p,y,q\n0.5,1,true\n0.25,0,False\n", {"by": ["q"]}),
    "truth as subgroups, one missing": (b"p,y,q\n0.5,1,true\n0.25,0,False\n0.5,0,\n", {"by": ["q"]}),
}


@pytest.mark.parametrize("files", [GOOD, {name: (data, {}) for name, data in MESSY.items()}], ids=["made", "messy"])
def test_files_are_read_the_same(tmp_path, files):
    """Rows, clusters, subgroups, classes, notes and what was left out."""
    check(tmp_path, files)


BAD = {
    "score": (b"p,y\n0.5,1\nx,0\n", {}),
    "two kinds of scores": (b"p,y\n0.5,1\ntrue,0\n", {}),
    "thousands": (b"p\ty\tw\n0.5\t1\t1,234\n0.25\t0\t987\n", {"file": "bad.tsv", "weight": "w"}),
    "points between thousands": (b"p;y;w\n0,5;1;1.234\n0,25;0;2\n", {"weight": "w"}),
    "percent in weights": (b"p,y,w\n0.5,1,1\n0.25,0,5%\n", {"weight": "w"}),
    "some percent": (b"p,y\n0.5,1\n25 %,0\n", {}),
    "percentage outside": (b"p,y\n50%,1\n101%,0\n", {}),
    "percentages and logits": (b"p,y\n50%,1\n10%,0\n", {"scale": "logits"}),
    "missing score": (b"p,y\n0.5,1\n,0\n", {}),
    "missing scores": (b'p,y,n\n0.5,1,"a\nb"\n,0,c\nnan,0,d\n', {}),
    "missing label": (b"p,y\n0.5,\n0.25,0\n", {}),
    "missing weight": (b"p,y,w\n0.5,1,\n0.25,0,1\n", {"weight": "w"}),
    "missing cluster": (b"p,y,q\n0.5,1,\n0.25,0,1\n", {"cluster": "q"}),
    "everything missing": (b"p,y\n,1\n0.25,\n", {"dropMissing": True}),
    "infinite": (b"p,y\n0.5,1\ninf,0\n", {}),
    "text labels": (b"p,y\n0.5,yes\n0.25,no\n", {}),
    "many text labels": (b"p,y\n" + b"".join(b"0.5,w%02d\n" % k for k in range(13)), {}),
    "three labels": (b"p,y\n0.1,no\n0.8,yes\n0.3,maybe\n0.4,no\n", {"positive": "yes"}),
    "no such label": (b"p,y\n0.1,no\n0.8,yes\n", {"positive": "ja"}),
    "label 2": (b"p,y\n0.1,0\n0.8,2\n", {}),
    "shares": (b"p,y\n0.1,0\n0.8,0.5\n", {}),
    "swapped": (b"y,p\n0.1,0\n0.8,1\n", {}),
    "predicted classes": (b"p,y\n1,0\n0,1\n", {}),
    "predicted classes of rows": (b"p_a,p_b,y\n1,0,a\n0,1,b\n", {}),
    "sums": (b"p_a,p_b,y\n0.5,0.5,a\n0.5,0.4,b\n", {}),
    "a class nobody knows": (b"p_a,p_b,y\n0.5,0.5,a\n0.5,0.5,c\n", {}),
    "a number nobody knows": (b"p_1,p_2,y\n0.5,0.5,1\n0.5,0.5,0\n", {}),
    "positive class": (b"p_a,p_b,y\n0.5,0.5,a\n0.5,0.5,b\n", {"positive": "a"}),
    "percentages of classes": (b"p_a,p_b,y\n50,50,a\n60,40,b\n", {}),
    "negative weight": (b"p,y,w\n0.5,1,-1\n0.25,0,1\n", {"weight": "w"}),
    "infinite weight": (b"p,y,w\n0.5,1,inf\n0.25,0,1\n", {"weight": "w"}),
    "no weight": (b"p,y,w\n0.5,1,0\n0.25,0,0\n", {"weight": "w"}),
    "light weight": (b"p,y,w\n0.5,1,1e-150\n0.25,0,1\n", {"weight": "w"}),
    "one cluster": (b"p,y,q\n0.5,1,a\n0.25,0,a\n", {"cluster": "q"}),
    "scores as clusters": (b"p,y,q\n0.5,1,a\n0.25,0,a\n", {"cluster": "p"}),
    "labels as weights": (b"p,y,q\n0.5,1,a\n0.25,0,a\n", {"prob": "p", "label": "y", "weight": "y"}),
    "names of rows": (b"p,y,q\n" + b"".join(b"0.%d,%d,n%d\n" % (k + 1, k % 2, k) for k in range(60)), {"by": ["q"]}),
    "after a quotation mark": (b'p,y,n\n0.5,1,"a"b\n', {}),
    "open quotation mark": (b'p,y,n\n0.5,1,a\n0.25,0,"b\n0.5,1,c\n', {}),
    "Latin 1": ("p;y;n\n0,5;1;a\n0,25;0;Größe\n".encode("latin-1"), {}),
    "UTF-16": ("p,y\n0.5,1\n".encode("utf-16"), {}),
    "zero bytes": (b"p,y\n0.5,1\n\0", {}),
    "no columns that are known": (b"a,b\n0.5,1\n", {}),
    "two families": (b"y,p_0,p_1,prob_0,prob_1\n1,0,1,0,1\n", {}),
    "too few columns of a prefix": (b"y,p_0,q\n1,0,1\n", {"prefix": "p_"}),
    "compressed and damaged": (gzip.compress(b"p,y\n0.5,1\n" * 50)[:-20], {"file": "bad.csv.gz"}),
}
NOT_SAME = {"compressed and damaged"}  # the browser says in its own words what is wrong with the compression


def test_bad_files_have_the_same_sentences(tmp_path):
    """What, where (the row and its line), and what to do, with the controls of the page in place of options."""
    check(tmp_path, {name: case for name, case in BAD.items() if name not in NOT_SAME})
    ((page, python),) = both(tmp_path, {"damaged": BAD["compressed and damaged"]}).values()
    assert page["error"].startswith("bad.csv.gz is compressed and damaged: ")
    assert python["error"].startswith("bad.csv.gz is compressed and damaged: ")


def test_the_bad_files_of_the_readers(tmp_path):
    """Those of `tests/readers/test_files.py`, but for a number that only the page can hold: it says that it is no label."""
    texts = {name: text for name, (text, _) in REFUSED.items() if text is not None and name != "huge label"}
    check(tmp_path, {name: (text.encode(), {"file": f"bad {name}.csv"}) for name, text in texts.items()})


def test_other_formats_are_named(tmp_path):
    """The page reads text with separators only, and says what reads the others."""
    cases = {
        "a.parquet": (b"PAR1....PAR1", "a.parquet is a Parquet file: this page reads csv and tsv files only"),
        "a.jsonl": (b'{"p": 0.5, "y": 1}\n', "a.jsonl is a file of JSON lines: this page reads csv and tsv files only"),
        "a.xlsx": (b"PK\3\4....", "a.xlsx is a spreadsheet, which cannot be read: save it as csv"),
        "a.csv": (b"PK\3\4....", "a.csv is a compressed archive: this page reads csv and tsv files only"),
    }
    for name, (data, sentence) in cases.items():
        given = [{"name": name, "data": base64.b64encode(data).decode(), "asked": {}}]
        done = subprocess.run(
            [need("node"), "-e", RUN, str(FOLDER)], input=json.dumps(given), capture_output=True, text=True
        )
        assert json.loads(done.stdout)[0]["error"].startswith(sentence)


def test_rows_at_the_ends_of_pieces(tmp_path):
    """A file of several pieces, whose borders fall into numbers, quoted cells and characters of several bytes."""
    rng = np.random.default_rng(0)
    p, y = rng.random(150_000), rng.integers(0, 2, 150_000)
    words = np.array(['"a, ""b"""', "ä€😀", '"two\nlines"', "x"])[rng.integers(0, 4, 150_000)]
    text = "p,y,w,site\r\n" + "".join(
        f"{a!r},{b},{1 + b},{c}\r\n" for a, b, c in zip(p.tolist(), y, words, strict=True)
    )
    check(tmp_path, {"long": (text.encode(), {"weight": "w", "by": ["site"]})})


def test_subgroups_of_many_values(tmp_path):
    """Quantities are cut into quarters, the rarest of many texts are combined, and identifiers are text."""
    rng = np.random.default_rng(1)
    n = 3000
    columns = {
        "age": rng.integers(18, 90, n),
        "dose": np.round(rng.lognormal(size=n), 2),
        "skewed": np.where(rng.random(n) < 0.9, 5, rng.integers(0, 5 + 40, n)),
        "ward_id": rng.integers(0, 30, n),
        "town": np.array([f"t{k}" for k in (60 * rng.random(n) ** 2).astype(int)]),
    }
    rows = zip(rng.random(n).tolist(), rng.integers(0, 2, n), *columns.values(), strict=True)
    text = f"p,y,{','.join(columns)}\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows)
    check(tmp_path, {"many": (text.encode(), {"by": list(columns)})})
