"""Files to predictions: the right columns, or a sentence that names the file."""

from __future__ import annotations

import re

import numpy as np
import polars
import pytest

from believable import expected_calibration_error, read_predictions
from believable.errors import InputError
from believable.readers import choose_columns, load, load_demo, read_table
from believable.readers.columns import LABEL_NAMES, LOGIT_NAMES, LOGIT_PREFIXES, PROB_NAMES, PROB_PREFIXES
from believable.readers.files import Interpretation, predictions_from

RNG = np.random.default_rng(4)
P = RNG.random(50)
Y = (RNG.random(50) < P).astype(int)
MATRIX = RNG.dirichlet(np.ones(12), 50)
LABELS = RNG.integers(0, 12, 50)


def write(tmp_path, name, columns):
    frame, path = polars.DataFrame(columns), tmp_path / name
    if name.endswith("parquet"):
        frame.write_parquet(path)
    else:
        frame.write_csv(path, separator="\t" if name.endswith("tsv") else ",")
    return path


@pytest.mark.parametrize("name", ["data.csv", "data.tsv", "data.parquet", "DATA.CSV"])
def test_every_format_gives_the_same(tmp_path, name):
    """CSV, TSV and Parquet hold the same predictions."""
    path = write(tmp_path, name, {"id": range(50), "y": Y, "p": P})
    assert expected_calibration_error(read_predictions(path)) == expected_calibration_error(P, Y)


def test_numbered_columns_are_put_in_order(tmp_path):
    """p_10 comes after p_9, and labels may start at one."""
    shuffled = {f"p_{k + 1}": MATRIX[:, k] for k in RNG.permutation(12)}
    path = write(tmp_path, "wide.csv", {"label": LABELS + 1, **shuffled})
    data = read_predictions(path)
    assert np.array_equal(data.labels, LABELS)
    assert np.allclose(data.scores, MATRIX)
    assert data.class_name(0) == "1"


def test_named_columns_are_classes(tmp_path):
    """What follows the prefix is the class."""
    path = write(
        tmp_path, "named.csv", {"y": ["cat", "dog", "cat"], "p_cat": [0.7, 0.2, 0.5], "p_dog": [0.3, 0.8, 0.5]}
    )
    assert read_predictions(path).labels.tolist() == [0, 1, 0]


def test_text_labels_say_what_is_positive(tmp_path):
    """Text needs pos_label; numbers given as text are matched with numbers."""
    path = write(tmp_path, "text.csv", {"y": np.where(Y == 1, "yes", "no"), "p": P})
    assert expected_calibration_error(read_predictions(path, pos_label="yes")) == expected_calibration_error(P, Y)
    with pytest.raises(
        InputError, match=r"column 'y' holds text \(no, yes\): name the one that counts as 1 with pos_label"
    ):
        read_predictions(path)
    path = write(tmp_path, "two.csv", {"y": Y + 1, "p": P})
    assert expected_calibration_error(read_predictions(path, pos_label="2")) == expected_calibration_error(P, Y)


def test_weights_are_never_guessed(tmp_path):
    """A column called weight is used when it is asked for."""
    path = write(tmp_path, "w.csv", {"y": Y, "p": P, "weight": P + 1})
    assert expected_calibration_error(read_predictions(path)) == expected_calibration_error(P, Y)
    weighted = expected_calibration_error(read_predictions(path, weight="weight"))
    assert weighted == expected_calibration_error(P, Y, sample_weight=P + 1)


def test_columns_of_late_types(tmp_path):
    """A column that looks like integers at first and is not is read again; one that begins empty is missing there."""
    path = tmp_path / "late.csv"
    path.write_text("y,p\n" + "0,0\n" * 20_000 + "1,0.25\n")
    assert read_predictions(path).scores[-1] == 0.25
    path.write_text("y,p\n" + "0,\n" * 12_000 + "1,0.25\n")
    with pytest.raises(InputError, match=r"got NaN \(missing\) at row 0 \(line 2\)"):
        read_predictions(path)


REFUSED = {
    "missing": (None, "there is no file"),
    "empty": ("", "is empty"),
    "header": ("y,p\n", "has a header but no rows"),
    "unknown names": ("a,b\n1,0.5\n", "or for labels (y, label,"),
    "spaces": (" \n\n", "is empty"),
    "old Mac": ("y,p\r1,0.5\r", "has lines that end in a carriage return only"),
    "long line": ("y,p\n1,0.5\n0,0.5,7\n", "has 3 fields at line 3, but 2 in its header"),
    "open quote": ('n,y,p\na,1,0.5\n"b,0,0.5\n', "has a quotation mark after line 2 that is never closed"),
    "long cells": ('n,y,p\n"a\nb",1,0.5\nc,0,x\n', "got the text 'x' at row 1 (line 4)"),
    "decimal commas": ('y,p\n1,"0,5"\n', "got the text '0,5' at row 0 (line 2); write decimals with a point"),
    "no header": ("1,0.5\n0,0.1\n", "the first line must be a header with the names of the columns, got 1, 0.5"),
    "no scores": ("y,b\n1,0.5\n", "no column has one of the usual names for scores"),
    "two scores": ("y,p,score\n1,0.5,0.5\n", "several columns could be the scores: p, score; choose one with prob"),
    "null score": ("y,p\n1,0.5\n0,\n", "predictions must be finite, got NaN (missing) at row 1 (line 3)"),
    "nan score": ("y,p\n1,0.5\n0,nan\n", "got NaN (missing) at row 1 (line 3)"),
    "word score": (
        "y,p\n1,0.5\n0,0.1\n1,none\n",
        "column 'p' must hold numbers, got the text 'none' at row 2 (line 4)",
    ),
    "huge label": ("y,p\n99999999999999999999,0.5\n0,0.1\n", "bad.csv"),
    "null label": ("y,p\n1,0.5\n,0.1\n", "actuals have a missing label at row 1"),
    "some percent": (
        "y,p\n1,0.5\n0,10%\n",
        "column 'p' must hold numbers, got the text '10%' at row 1 (line 3) but '0.5', without a percent sign, at row 0 "
        "(line 2); if all of them are percentages, use percent=True",
    ),
    "percentages": (
        "y,p\n1,85\n0,10\n",
        "predictions must lie in [0, 1], got 85 at row 0 (line 2); these look like percentages: pass percent=True; for "
        "logits, pass Predictions(..., from_logits=True)",
    ),
    "above one": (
        "y,p\n1,0.5\n0,1.5\n",
        "these look like logits: pass Predictions(..., from_logits=True), or percent=True for percentages",
    ),
    "twice": ("y,p,p\n1,0.5,0.5\n", "has several columns called 'p': rename them"),
    "two families": ("y,p_0,p_1,prob_0,prob_1\n1,0,1,0,1\n", "several columns could be the scores: p_*, prob_*"),
    "family and single": ("y,p_0,p_1,score\n1,0,1,0\n", "several columns could be the scores: p_*, score"),
    "logits": ("y,p\n1,3.5\n0,-2\n", "these look like logits"),
}


@pytest.mark.parametrize(("text", "sentence"), REFUSED.values(), ids=REFUSED)
def test_bad_files_are_refused(tmp_path, text, sentence):
    """The sentence names the file and what is wrong."""
    path = tmp_path / "bad.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError) as error:
        read_predictions(path)
    assert sentence in str(error.value)
    assert "bad.csv" in str(error.value)


def test_other_bad_files(tmp_path):
    """Unknown endings and files that are not what they say."""
    path = tmp_path / "data.dat"
    path.write_text("x")
    with pytest.raises(
        InputError, match=r"must end in \.csv, \.tsv, .* or \.\w+; otherwise name its format with format"
    ):
        read_predictions(path)
    with pytest.raises(InputError, match=r"data\.xlsx is a spreadsheet, which cannot be read: save it as csv"):
        read_predictions(path.rename(tmp_path / "data.xlsx"))
    path = tmp_path / "data.parquet"
    path.write_text("not parquet")
    with pytest.raises(InputError, match="cannot be read as parquet"):
        read_predictions(path)


def test_names_with_wildcards_are_names(tmp_path):
    """A file called data[1].csv is that file, not a pattern."""
    (tmp_path / "data[1].csv").write_text("y,p\n1,0.5\n")
    (tmp_path / "data1.csv").write_text("y,p\n0,0.9\n")
    assert read_predictions(tmp_path / "data[1].csv").scores.tolist() == [0.5]
    with pytest.raises(InputError, match="is a folder, not a file"):
        read_predictions(tmp_path)


MESSY = {
    "byte order mark": b"\xef\xbb\xbfy,p\n1,0.5\n0,0.25\n",
    "Windows, quoted": b'\xef\xbb\xbf"y","p"\r\n"1","0.5"\r\n"0","0.25"\r\n',
    "semicolons": b"y;p\n1;0.5\n0;0.25\n",
    "European": b"y;p\r\n1;0,5\r\n0;0,25\r\n",
    "European exponents": b"y;p\n1;5,0e-1\n0;2,5E-01\n",
    "Excel's separator": b"sep=;\r\ny;p\r\n1;0,5\r\n0;0,25\r\n",
    "tabs in a csv": b"y\tp\n1\t0.5\n0\t0.25\n",
    "bars": b"y|p\n1|0.5\n0|0.25\n",
    "spaces": b" y , p \n 1 , 0.5 \n 0 , 0.25 \n",
    "spoken names": b"Y-True,Y Score\n1,0.5\n0,0.25\n",
    "columns without names": b",y,p,,\n0,1,0.5,,\n1,0,0.25,,\n",
    "blank lines around": b"\n\ny,p\n1,0.5\n0,0.25\n\n  \n\n",
    "no last line end": b"y,p\n1,0.5\n0,0.25",
    "line in a cell": b'note,y,p\n"a\n\nb",1,0.5\nc,0,0.25\n',
    "percent signs": b"y,p\n1,50%\n0,25 %\n",
    "European percent signs": b"y;p\n1;50,0 %\n0;25,0 %\n",
}


@pytest.mark.parametrize("data", MESSY.values(), ids=MESSY)
def test_what_spreadsheets_make_is_read(tmp_path, data):
    """Marks, separators, decimal commas, spaces and blank lines do not change what is read."""
    path = tmp_path / "messy.csv"
    path.write_bytes(data)
    read = read_predictions(path)
    assert read.scores.tolist() == [0.5, 0.25]
    assert read.labels.tolist() == [1, 0]


def test_text_of_other_encodings_is_refused(tmp_path):
    """The sentence says how to save it."""
    path = tmp_path / "bad.csv"
    for data, sentence in (
        (b"y,p,n\n1,0.5,a\n0,0.5,caf\xe9\n", "is not UTF-8 text at line 3: save it as UTF-8"),
        ("y,p\n1,0.5\n".encode("utf-16"), "is UTF-16 text: save it as UTF-8"),
        (b"y,p\n1,0.5\n\0", "is not a text file, so it cannot be csv"),
        (b"PAR1....PAR1", "is a Parquet file, not csv: name its format with format"),
    ):
        path.write_bytes(data)
        with pytest.raises(InputError, match=sentence):
            read_predictions(path)


def test_blank_lines_between_are_rows_without_values(tmp_path):
    """They are not skipped in silence, and the line is the editor's."""
    path = tmp_path / "gap.csv"
    path.write_text("y,p\n1,0.5\n\n0,0.25\n")
    with pytest.raises(InputError, match=r"at row 1 \(line 3\)"):
        read_predictions(path)


def test_lines_are_found_without_the_table(tmp_path):
    """A frame that was read before knows its file by name, and the sentence still has the line."""
    path = tmp_path / "later.csv"
    path.write_text("y,p\n1,0.5\n0,x\n")
    frame = read_table(path)
    columns = choose_columns(frame.columns)
    with pytest.raises(InputError, match=r"later\.csv \(scores p, labels y\): .* 'x' at row 1 \(line 3\)"):
        predictions_from(path, frame, columns, Interpretation())
    with pytest.raises(InputError, match=r"standard input \(scores p, labels y\): .* 'x' at row 1$"):
        predictions_from("-", frame, columns, Interpretation())


def test_every_documented_name_is_known():
    """The documentation of read_predictions names all that is guessed, and nothing else is."""
    words = set(re.findall(r"[a-z_0-9]+", read_predictions.__doc__))
    assert {*PROB_NAMES, *LABEL_NAMES, *LOGIT_NAMES, *PROB_PREFIXES, *LOGIT_PREFIXES} <= words
    for name in PROB_NAMES:
        assert choose_columns(["y", name]).prob == (name,)
    for name in LABEL_NAMES:
        assert choose_columns([name, "p"]).label == name
    assert not set(PROB_NAMES) & set(LABEL_NAMES)


def test_names_of_logits_come_first():
    """With logits, a column or family called so is meant, whatever else is there."""
    assert choose_columns(["y", "p", "logit"], logits=True).prob == ("logit",)
    assert choose_columns(["y", "p", "logit"]).prob == ("p",)
    assert choose_columns(["y", "p", "z_a", "z_b"], logits=True).classes == ("a", "b")
    assert choose_columns(["y", "p_a", "p_b"], logits=True).classes == ("a", "b")
    with pytest.raises(InputError, match=r"several columns could be the scores: logit_\*, z; choose with prob"):
        choose_columns(["y", "z", "logit_a", "logit_b"], logits=True)


def test_a_misspelt_column_is_suggested():
    """The nearest name, or the prefix that several share; very many names are cut short."""
    with pytest.raises(InputError, match=r"there is no column 'scroe' \(did you mean 'Score'\?\); there are y, Score"):
        choose_columns(["y", "Score"], prob="scroe")
    with pytest.raises(InputError, match=r"there is no column 'q' \(2 begin with it: choose them with prob_prefix\)"):
        choose_columns(["y", "q_one", "q_two"], prob="q")
    with pytest.raises(InputError, match=r"x18, x19 and 80 more$"):
        choose_columns([f"x{i}" for i in range(100)], prob="nothing")
    assert choose_columns(["y ", " p"], prob="p", label="y").names == (" p", "y ")


def test_clusters_and_subgroups_only_when_asked():
    """They are named in words, taken out of families and guesses, and are neither scores nor labels."""
    names = ["y", "p", "query", "score"]
    columns = choose_columns(names, cluster="query", by=["score", "query"])
    assert (columns.prob, columns.group, columns.by) == (("p",), "query", ("score", "query"))
    assert columns.names == ("p", "y", "query", "score")
    assert str(columns) == "scores p, labels y, clusters query, subgroups score, query"
    assert choose_columns(["y", "p_a", "p_b", "p_region"], by="p_region").classes == ("a", "b")
    with pytest.raises(InputError, match="'y' holds the labels: clusters"):
        choose_columns(names, prob="p", by="y")
    with pytest.raises(InputError, match="'p' holds the scores: clusters"):
        choose_columns(names, prob="p", cluster="p")


def test_logits_have_names_of_their_own(tmp_path):
    """A column called logit is known when logits are asked for."""
    path = write(tmp_path, "logits.csv", {"y": Y, "logit": 4 * P - 2})
    assert np.allclose(read_predictions(path, from_logits=True).scores, 1 / (1 + np.exp(2 - 4 * P)))
    with pytest.raises(InputError, match="no column has one of the usual names for scores"):
        read_predictions(path)


def test_truth_values_by_name(tmp_path):
    """--pos-label true works for a column of truth values."""
    path = tmp_path / "bool.csv"
    path.write_text("y,p\ntrue,0.9\nfalse,0.2\n")
    assert read_predictions(path, pos_label="true").labels.tolist() == [1, 0]
    assert read_predictions(path, pos_label="false").labels.tolist() == [0, 1]
    assert read_predictions(path).labels.tolist() == [1, 0]


def test_columns_asked_for():
    """A column that is asked for must be there, once."""
    with pytest.raises(InputError, match="there is no column 'q'; there are y, p"):
        choose_columns(["y", "p"], prob="q")
    with pytest.raises(InputError, match="not both"):
        choose_columns(["y", "p"], prob="p", prob_prefix="p")
    with pytest.raises(InputError, match="fewer than two columns begin with 'q_'"):
        choose_columns(["y", "q_1"], prob_prefix="q_")
    assert choose_columns(["score", "y"], label="score", prob="y").label == "score"
    with pytest.raises(InputError, match="must be different columns"):
        choose_columns(["y", "p"], prob="y", label="y")


def test_the_demo_data_are_there():
    """Two models on the same rows."""
    demo = load_demo()
    assert [len(model) for model in demo.values()] == [1797, 1797]
    assert np.array_equal(demo["naive_bayes"].labels, demo["logistic"].labels)


def test_a_third_label_is_refused(tmp_path):
    """A file with more than two labels needs the negative one named, and no rows of others."""
    path = tmp_path / "a.csv"
    path.write_text("p,y\n0.1,no\n0.8,yes\n0.3,maybe\n0.4,no\n")
    for read in (read_predictions, load):
        with pytest.raises(
            InputError, match=r"'yes' \(1 row\), 'maybe' \(1 row\); name the one .* with neg_label and drop"
        ):
            read(path, pos_label="yes")
        with pytest.raises(InputError, match="1 row has neither pos_label='yes' nor neg_label='no'"):
            read(path, pos_label="yes", neg_label="no")
    path.write_text("p,y\n0.1,1\n0.8,2\n")
    assert read_predictions(path, pos_label="2", neg_label="1").labels.tolist() == [0, 1]
    with pytest.raises(InputError, match="neg_label='one' is text, but the labels are numbers"):
        read_predictions(path, pos_label="2", neg_label="one")
    path.write_text("p,y\n" + "".join(f"0.5,w{k:02}\n" for k in range(13)))
    with pytest.raises(
        InputError, match=r"holds text \(w00, .*, w09 and 3 more\): name the one that counts as 1 with pos_label"
    ):
        read_predictions(path)
