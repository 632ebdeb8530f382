"""What `summarize` refuses, what it says, and laws of what it counts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from believable import Predictions, Summary, engines, evaluate, expected_calibration_error
from believable.errors import InputError
from tests.needs import need

from .same import assert_same


def frame(n=60, seed=3):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return pl.DataFrame({"p": p, "y": (rng.random(n) < p).astype(int), "id": np.arange(n)})


def test_the_calibration_error_is_that_of_a_loop():
    """Ten right-closed bins, gaps weighted by rows."""
    data, total = frame(), 0.0
    pairs = list(zip(data["p"], data["y"], strict=True))
    for m in range(10):
        inside = [(p, y) for p, y in pairs if m / 10 < p <= (m + 1) / 10 or (m == 0 and p == 0)]
        if inside:
            total += abs(sum(p for p, _ in inside) - sum(y for _, y in inside)) / len(pairs)
    assert expected_calibration_error(engines.summarize(data, bins=10)) == pytest.approx(total, abs=1e-14)
    assert evaluate(engines.summarize(data))["expected_calibration_error"] == pytest.approx(total, abs=1e-14)


def test_parts_add_up_to_the_whole():
    """Summaries of two halves are the summary of all, and mix with those of arrays."""
    data = frame()
    half = Summary.of(Predictions(data["p"][40:].to_numpy(), data["y"][40:].to_numpy()))
    assert_same(engines.summarize(data[:40]) + half, engines.summarize(data))


def test_logits_of_one_event_and_of_classes():
    """The sigmoid and the softmax of the engine are those of the arrays, cell by cell."""
    rng = np.random.default_rng(5)
    z, y = rng.normal(0, 3, (80, 3)), rng.integers(0, 3, 80)
    given = Predictions(z, y, from_logits=True)
    assert_same(engines.summarize(pl.DataFrame({"p": z, "y": y}), from_logits=True), Summary.of(given))
    one = Predictions(z[:, 0], y > 0, from_logits=True)
    assert_same(engines.summarize(pl.DataFrame({"p": z[:, 0], "y": y > 0}), from_logits=True), Summary.of(one))


def test_a_weight_of_two_is_a_row_twice():
    """In the sums that are not of squares, without and with a column of weights."""
    data = frame()
    twice = engines.summarize(pl.concat([data, data])).cells[0]
    weighted = engines.summarize(data.with_columns(w=2), weight="w").cells[0]
    for name in ("key", "w", "wp", "wpp", "wy", "wpy"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(twice, name), rtol=1e-13)


def test_scores_close_together_have_their_own_spread():
    """A spread of 1e-8 about 1/3 is not lost in rounding."""
    p = 1 / 3 + 1e-8 * np.random.default_rng(0).normal(size=500)
    found = engines.summarize(pl.DataFrame({"p": p, "y": 1}))
    assert found.sums.deviation == pytest.approx(np.sum((p - p.mean()) ** 2), rel=1e-6)


def test_an_impossible_outcome_costs_infinitely_much():
    """A score of 0 for what happened, or 1 for what did not, in one column or in several."""
    assert engines.summarize(pl.DataFrame({"p": [0.0, 0.5], "y": [1, 0]})).sums.nll == float("inf")
    assert engines.summarize(pl.DataFrame({"p": [1.0, 0.5], "y": [0, 0]})).sums.nll == float("inf")
    wide = pl.DataFrame({"p_0": [0.0, 0.5], "p_1": [1.0, 0.5], "y": [0, 0]})
    assert engines.summarize(wide).sums.nll == float("inf")


def test_two_columns_have_the_binary_notion_too():
    """P(y = 1) is the second."""
    data = frame()
    wide = data.select((1 - pl.col("p")).alias("p_0"), pl.col("p").alias("p_1"), "y")
    given = Predictions(wide.select("p_0", "p_1").to_numpy(), wide["y"].to_numpy())
    found = engines.summarize(wide, notions=["binary"]).cells[0]
    np.testing.assert_array_equal(found.key, Summary.of(given).cells_of("classwise").only_stratum(1).key)
    assert engines.summarize(wide, notions=["binary"], bins=5).n.sum() == 60


def test_vectors_and_arrays_of_fixed_length():
    """A polars Array is a list whose length the type says; a row of another length is missing scores."""
    p = np.random.default_rng(0).dirichlet([1, 1, 1], 20)
    fixed = pl.DataFrame({"p": pl.Series(p, dtype=pl.Array(pl.Float64, 3)), "y": [0, 1] * 10})
    assert_same(engines.summarize(fixed), Summary.of(Predictions(p, [0, 1] * 10)))
    ragged = pl.DataFrame({"p": [[0.2, 0.3, 0.5], [0.5, 0.5], None], "y": [0, 1, 1]})
    for one in (ragged, ragged.to_arrow(), ragged.to_pandas()):
        assert engines.summarize(one, on_invalid="drop").dropped == {"missing score": 2}


def test_a_label_that_is_no_number_is_missing():
    """NaN is not the other class where a label is named, in polars, duckdb and arrow, which tell NaN from null."""
    data = columns(y=[1.0, float("nan")])
    for one in (data, data.to_arrow(), data.to_pandas()):
        assert engines.summarize(one, pos_label=1.0, on_invalid="drop").dropped == {"missing label": 1}


def test_subgroups_have_the_same_names_whatever_holds_them():
    """A missing value of any kind is "missing", and zero has no sign."""
    data = columns(g=[None, 1], z=[-0.0, 0.0])
    for one in (data, data.to_arrow(), data.to_pandas(use_pyarrow_extension_array=True)):
        found = engines.summarize(one, by=["g", "z"]).by
        assert {name: list(levels) for name, levels in found.items()} == {"g": ["1", "missing"], "z": ["0.0"]}


def test_names_of_columns_are_not_taken_for_those_made_inside():
    """A weight may be called as the columns that lists are made into."""
    data = pl.DataFrame({"scores": [[0.2, 0.8], [0.5, 0.5]], "y": [0, 1], "p0": [1.0, 3.0], "p_y": [0, 1]})
    assert engines.summarize(data, prob="scores", weight="p0", by="p_y").sums.w == 4


def test_columns_by_position():
    """The frame, then the columns of scores and labels."""
    data = columns().rename({"p": "score", "y": "event"})
    assert_same(engines.summarize(data, "score", "event"), engines.summarize(data, prob="score", label="event"))
    assert_same(engines.summarize(data, "score", label="event"), engines.summarize(columns()))


def test_a_prefix_means_the_columns_of_the_classes():
    """Those named in `classes`, or by number; not the label's."""
    data = pl.DataFrame({"p_a": [0.2, 0.6], "p_b": [0.8, 0.4], "p_value": [0.1, 0.2], "p_label": ["a", "b"]})
    assert engines.summarize(data, label="p_label", classes=["a", "b"]).n_classes == 2
    assert engines.summarize(data.drop("p_value"), label="p_label").classes == ("a", "b")


def test_lists_of_float32_are_float32_in_pandas_too():
    """Which holds them as objects: 0.3 is in the third of ten bins."""
    lists = pa.array([[0.3, 0.7]], pa.list_(pa.float32()))
    table = pa.table({"p": lists, "y": [0]})
    for one in (table, table.to_pandas()):
        assert engines.summarize(one, bins=10, notions="classwise").index.tolist() == [2, 6]


def test_no_table_of_a_connection_is_taken_for_the_rows():
    """Nor is one left there."""
    connection = need("duckdb").connect()
    connection.sql("create view rows_ as select 5 as mine")
    wide = connection.sql("select 0.25 as p_0, 0.75 as p_1, 1 as y")
    assert engines.summarize(wide).n == 1
    assert connection.sql("show tables").fetchall() == [("rows_",)]


def columns(**given):
    return pl.DataFrame({"p": [0.2, 0.4], "y": [0, 1]} | given)


@pytest.mark.parametrize(
    ("make", "options", "words"),
    [
        (lambda: np.zeros(3), {}, r"frame must be a data frame of polars, pandas, .* got a ndarray; for arrays, use"),
        (lambda: "clicks", {}, r"got a str; for files, use believable.readers.summarize_files; for a table of duckdb, pass"),
        (columns, {"prob": "q"}, r"prob='q' is not a column of the frame, which has 'p', 'y'"),
        (columns, {"label": "z"}, r"label='z' is not a column"),
        (columns, {"by": "z"}, r"by='z' is not a column"),
        (columns, {"weight": "z"}, r"weight='z' is not a column"),
        (columns, {"prob": ["p"]}, r"prob must be a column, a list of two columns or more"),
        (columns, {"prob": ["p", "p"]}, r"prob names a column twice"),
        (columns, {"prob": "y"}, r"column 'y' cannot hold both the scores and the labels"),
        (columns, {"pos_label": 2**53}, r"labels beyond 2\^53 cannot be distinguished"),
        (lambda: columns(p_0=0.5, p_1=0.5, p_value=0.1), {"prob": "p_"}, r"columns 'p_0', 'p_1', 'p_value' begin with 'p_'"),
        (lambda: columns(g=[[1], [2]]), {"by": "g"}, r"by column 'g' is of type List\(Int64\), which has no subgroups"),
        (lambda: columns(g=[[1], [2]]).to_pandas(), {"by": "g"}, r"by column 'g' is of type Object"),
        (lambda: columns(y=[0.3, 0.6]), {}, r"shares of annotators, use arrays and Predictions\(..., soft_labels=True\)"),
        (lambda: columns().to_pandas().set_axis(["p", "p"], axis=1), {}, r"columns of a frame must have different names"),
        (columns, {"bins": 5, "by": "y"}, r"bins= counts only bins, of all rows"),
        (columns, {"notions": ["top_r"]}, r"engines count the notions binary, confidence, top_label, classwise, not 'top_r'"),
        (columns, {"notions": ["confidence"]}, r"needs a matrix of predictions, got 1-D scores"),
        (columns, {"on_invalid": "skip"}, r"on_invalid must be one of 'error', 'drop'"),
        (columns, {"pos_label": "yes"}, r"labels in column 'y' are Int64, but pos_label='yes' is text"),
        (columns, {"pos_label": 1, "neg_label": "no"}, r"labels in column 'y' are Int64, but neg_label='no' is text"),
        (columns, {"pos_label": 7}, r"pos_label=7 does not occur in the valid rows of column 'y'"),
        (lambda: frame().with_columns(q=pl.lit("x")), {"weight": "q"}, r"column 'q' holds text, not weights"),
        (frame, {"by": "id"}, r"by column 'id' has more than 50 values: choose a column of subgroups, or cut its"),
        (lambda: frame()[:0], {}, r"the frame has no rows to count"),
        (lambda: columns(w=[0, 0]), {"weight": "w"}, r"the frame has no rows to count"),
        (lambda: columns(p=[-3.0, 4.0]), {}, r"these look like logits: pass from_logits=True; repair them, or pass on_inv"),
        (lambda: columns(p=[20.0, 40.0]), {}, r"these look like percentages: divide by 100"),
        (lambda: columns(p=[0, 1], y=[0.2, 0.4]), {}, r"the columns look swapped: 'p' holds whole numbers, 'y' does not"),
        (lambda: pl.DataFrame({"p_0": [0.5], "p_1": [0.6], "y": [1]}), {}, r"row that does not sum to 1: 1"),
        (lambda: columns(p=[float("inf"), 1.0]), {"from_logits": True}, r"1 of 2 rows .* \(infinite logit: 1\)"),
    ],
)  # fmt: skip
def test_what_is_refused(make, options, words):
    """In a sentence that says what to do."""
    with pytest.raises(InputError, match=words):
        engines.summarize(make(), **options)
