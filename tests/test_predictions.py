"""`Predictions`: every container gives the same answer, every door does what it says, nothing is modified."""

from __future__ import annotations

import array
import copy
import pickle
import re
from decimal import Decimal

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from believable import (
    Predictions,
    View,
    average_predictions,
    brier_score,
    evaluate,
    expected_calibration_error,
    interval,
    select,
    subgroups,
)
from believable.errors import InputError
from tests.needs import need

RNG = np.random.default_rng(7)
P = RNG.random(200)
Y = (RNG.random(200) < P).astype(np.int64)
LOGITS = RNG.normal(size=(200, 4)) * 2
MATRIX = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
LABELS = RNG.integers(0, 4, 200)

CONTAINERS = {
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(map(tuple, a.tolist())) if a.ndim == 2 else tuple(a.tolist()),
    "read-only": lambda a: _read_only(a),
    "strided": lambda a: np.repeat(a, 2, axis=0)[::2],
    "fortran": np.asfortranarray,
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "object": lambda a: a.astype(object),
    "masked": np.ma.MaskedArray,
    "pandas": lambda a: pandas.DataFrame(a) if a.ndim == 2 else pandas.Series(a),
    "pandas nullable": lambda a: (pandas.DataFrame(a) if a.ndim == 2 else pandas.Series(a)).convert_dtypes(),
    "pandas pyarrow": lambda a: (
        pandas.Series(a, dtype=f"{a.dtype.name.replace('float64', 'double')}[pyarrow]")
        if a.ndim == 1
        else pandas.DataFrame(a)
    ),
    "polars": lambda a: polars.DataFrame(a) if a.ndim == 2 else polars.Series(a),
    "polars rows": lambda a: polars.Series(a.tolist()),
    "polars array": lambda a: polars.Series(a),
    "pyarrow": lambda a: (
        pyarrow.table({str(k): a[:, k] for k in range(a.shape[1])}) if a.ndim == 2 else pyarrow.array(a)
    ),
    "pyarrow chunks": lambda a: pyarrow.chunked_array([a[:50].tolist(), a[50:].tolist()]),
    "pyarrow fixed": lambda a: (
        pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(a.ravel()), a.shape[1])
        if a.ndim == 2
        else pyarrow.array(a)
    ),
    "torch": lambda a: need("torch").tensor(a),
    "torch grad": lambda a: need("torch").tensor(a, requires_grad=a.dtype.kind == "f"),
}


def _read_only(values):
    values = values.copy()
    values.flags.writeable = False
    return values


@pytest.mark.parametrize("kind", CONTAINERS)
def test_every_container_gives_the_same_answer(kind):
    """The container does not matter, for scores, matrices, labels and weights."""
    convert = CONTAINERS[kind]
    weights = RNG.random(200)
    assert expected_calibration_error(convert(P), convert(Y)) == expected_calibration_error(P, Y)
    plain = evaluate(MATRIX, LABELS)
    for name, value in evaluate(convert(MATRIX), convert(LABELS)).items():
        assert value == pytest.approx(plain[name], rel=1e-14, abs=1e-16), name
    assert expected_calibration_error(
        convert(MATRIX), convert(LABELS), sample_weight=convert(weights)
    ) == pytest.approx(expected_calibration_error(MATRIX, LABELS, sample_weight=weights), rel=1e-14)


def test_other_sequences():
    """Python's own arrays and decimal numbers are numbers too."""
    assert expected_calibration_error(array.array("d", P), array.array("b", Y.tolist())) == expected_calibration_error(
        P, Y
    )
    tenths = [Decimal("0.1"), Decimal("0.7")]
    assert expected_calibration_error(tenths, [0, 1]) == expected_calibration_error([0.1, 0.7], [0, 1])


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "f4", "f8", "object"]
)
def test_every_type_of_label_gives_the_same_answer(dtype):
    """Booleans, integers of any size and whole floats are labels."""
    assert expected_calibration_error(P, Y.astype(dtype)) == expected_calibration_error(P, Y)
    if dtype != "bool":
        for notion in ("confidence", "classwise", "top_label"):
            answer = expected_calibration_error(MATRIX, LABELS.astype(dtype), notion=notion)
            assert answer == expected_calibration_error(MATRIX, LABELS, notion=notion)


@pytest.mark.parametrize("n_classes", [127, 128, 129, 300])
def test_small_integer_labels_do_not_overflow(n_classes):
    """Labels in a byte are counted in the right class."""
    rows = np.random.default_rng(0).dirichlet(np.ones(n_classes), 400)
    labels = np.arange(400) % n_classes
    for small in ("u1" if n_classes <= 256 else "u2", "f4"):
        answer = expected_calibration_error(rows, labels.astype(small), notion="classwise")
        assert answer == expected_calibration_error(rows, labels, notion="classwise")


def test_half_precision_is_widened():
    """float16 and bfloat16 scores count as the float32 numbers they are."""
    half = P.astype(np.float16)
    assert Predictions(half, Y).scores.dtype == np.float32
    assert expected_calibration_error(half, Y) == expected_calibration_error(half.astype(np.float32), Y)
    torch = need("torch")
    brain = torch.tensor(P).bfloat16()
    assert expected_calibration_error(brain, torch.tensor(Y)) == expected_calibration_error(brain.float().numpy(), Y)


def test_inputs_are_not_modified():
    """Whatever is computed, the arrays passed in stay as they were."""
    given = [P.copy(), Y.copy(), MATRIX.copy(), LABELS.copy(), np.arange(200) % 3.0]
    kept = [values.copy() for values in given]
    for values in given:
        values.flags.writeable = False
    evaluate(given[0], given[1], sample_weight=given[4])
    evaluate(given[2], given[3], sample_weight=given[4])
    Predictions(given[2], given[3], from_logits=True)
    assert all(np.array_equal(a, b) for a, b in zip(given, kept, strict=True))


def test_logits_enter_by_their_door():
    """from_logits takes the softmax or sigmoid in float64, also of large values, and never without being asked."""
    assert np.allclose(Predictions(LOGITS, LABELS, from_logits=True).scores, MATRIX, rtol=1e-14)
    big = Predictions([-1000.0, 0.0, 1000.0], [0, 1, 1], from_logits=True)
    assert big.scores.tolist() == [0.0, 0.5, 1.0]
    assert Predictions(LOGITS.astype(np.float32), LABELS, from_logits=True).scores.dtype == np.float64
    shifted = Predictions(LOGITS + 1e4, LABELS, from_logits=True)
    assert np.allclose(shifted.scores, MATRIX, rtol=1e-9)
    with pytest.raises(InputError, match="these look like logits"):
        Predictions(LOGITS, LABELS)


def test_labels_by_name():
    """pos_label and classes say what labels mean."""
    words = np.where(Y == 1, "sick", "well")
    plain = expected_calibration_error(P, Y)
    assert expected_calibration_error(Predictions(P, words, pos_label="sick")) == plain
    assert expected_calibration_error(Predictions(P, words.astype(object), pos_label="sick")) == plain
    assert expected_calibration_error(Predictions(P, words, classes=["well", "sick"])) == plain
    assert expected_calibration_error(Predictions(P, np.where(Y == 1, 1, -1), pos_label=1)) == plain
    names = np.array(["a", "b", "c", "d"])
    for labels in (names[LABELS], names[LABELS].astype(object), names[LABELS].tolist()):
        named = Predictions(MATRIX, labels, classes=names.tolist())
        assert np.array_equal(named.labels, LABELS)
    assert named.class_name(2) == "c"
    with pytest.raises(InputError, match=re.escape("the label 'd' at row")):
        Predictions(MATRIX[:, :2] / MATRIX[:, :2].sum(1, keepdims=True), names[LABELS], classes=["a", "b"])
    with pytest.raises(InputError, match=r"pos_label='ill' does not occur in actuals \(found 'sick', 'well'\)"):
        Predictions(P, words, pos_label="ill")


def test_ignored_rows_are_dropped_and_counted():
    """Rows with ignore_label are as if they were not there."""
    labels = LABELS.copy()
    labels[::7] = -100
    kept = labels != -100
    some = Predictions(MATRIX, labels, ignore_label=-100, sample_weight=np.arange(200) + 1.0)
    assert some.n_ignored == 29
    rest = Predictions(MATRIX[kept], LABELS[kept], sample_weight=(np.arange(200) + 1.0)[kept])
    assert expected_calibration_error(some) == expected_calibration_error(rest)
    missing = np.where(kept, Y, np.nan)
    assert expected_calibration_error(Predictions(P, missing, ignore_label=float("nan"))) == expected_calibration_error(
        P[kept], Y[kept]
    )
    with pytest.raises(InputError, match="every label is ignore_label=1"):
        Predictions([0.5], [1], ignore_label=1)


def test_soft_labels_are_shares_of_rows():
    """k of n annotators with weight n are n rows, k of them positive."""
    soft = Predictions([0.2, 0.7, 0.7], [0.25, 0.5, 1.0], sample_weight=[4, 2, 3], soft_labels=True)
    rows = Predictions([0.2] * 4 + [0.7] * 5, [1, 0, 0, 0, 1, 0, 1, 1, 1])
    for name in ("ece", "brier", "nll", "auc", "accuracy", "mce", "sharpness", "sweepece"):
        assert evaluate(soft, metrics=[name])[name] == pytest.approx(evaluate(rows, metrics=[name])[name], rel=1e-12), (
            name
        )


def test_multilabel_columns_are_independent():
    """A multilabel matrix is many binary problems; rows need not sum to one."""
    rng = np.random.default_rng(3)
    scores = rng.random((100, 3))
    happened = (rng.random((100, 3)) < scores).astype(int)
    many = Predictions(scores, happened, multilabel=True)
    each = [expected_calibration_error(scores[:, k], happened[:, k]) for k in range(3)]
    assert expected_calibration_error(many) == pytest.approx(np.mean(each), rel=1e-12)
    assert brier_score(many) == pytest.approx(np.mean((scores - happened) ** 2), rel=1e-12)
    assert many.default_notion == "classwise"
    with pytest.raises(InputError, match="multilabel predictions need notion='classwise'"):
        many.view("confidence")


def test_rows_of_no_weight_are_dropped():
    """Weight 0 is the row removed, but its values are checked first."""
    some = Predictions([0.1, 0.9, 0.5], [0, 1, 1], sample_weight=[1, 2, 0])
    assert len(some) == 2
    with pytest.raises(InputError, match="row 2"):
        Predictions([0.1, 0.9, 1.5], [0, 1, 1], sample_weight=[1, 2, 0])


CONTRADICTIONS = {
    "pos_label of matrix": ({"pos_label": 1}, MATRIX, LABELS, "pos_label is for one score per row"),
    "soft matrix": ({"soft_labels": True}, MATRIX, LABELS, "actuals must have one entry for each row and class"),
    "two doors": ({"pos_label": 1, "soft_labels": True}, P, Y, "pass only one of pos_label, classes and soft_labels"),
    "few classes": ({"classes": ["a"]}, MATRIX, LABELS, "classes must name 4 classes"),
    "same classes": ({"classes": list("aabc")}, MATRIX, LABELS, "classes must be distinct"),
    "multilabel vector": ({"multilabel": True}, P, Y, "multilabel=True needs predictions with one column per label"),
    "multilabel labels": (
        {"multilabel": True},
        MATRIX,
        LABELS,
        "multilabel=True needs actuals of the same shape as the predictions",
    ),
    "soft out of range": ({"soft_labels": True}, P, Y * 2.0, "soft labels must lie in [0, 1], got 2"),
}


@pytest.mark.parametrize(("doors", "predictions", "actuals", "sentence"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_contradictions_are_refused(doors, predictions, actuals, sentence):
    """Descriptions of the input that cannot both be true are an error."""
    with pytest.raises(InputError, match=re.escape(sentence)):
        Predictions(predictions, actuals, **doors)


def test_views_check_their_choices():
    """A view that cannot be is refused when it is made."""
    with pytest.raises(InputError, match="needs r, the rank"):
        View("top_r", 4)
    with pytest.raises(InputError, match="r must be an integer from 1 to 4, got 5"):
        View("rth", 4, r=5)
    assert View("confidence", 3, pooled=True) == View("confidence", 3)
    assert [View(n, 4, r).n_strata for n, r in (("classwise", None), ("top_r", 3), ("confidence", None))] == [4, 3, 1]
    assert View("classwise", 4, pooled=True).n_strata == 1


def test_binary_notion_of_two_columns():
    """Two columns read as binary are the 1-D answer; their confidence is another question."""
    two = np.column_stack([1 - P, P])
    assert expected_calibration_error(two, Y, notion="binary") == expected_calibration_error(P, Y)
    assert expected_calibration_error([0.2, 0.8], [1, 1]) == pytest.approx(0.5)
    assert expected_calibration_error([[0.8, 0.2], [0.2, 0.8]], [1, 1]) == pytest.approx(0.3)
    with pytest.raises(InputError, match="notion='binary' needs two classes, got 4"):
        expected_calibration_error(MATRIX, LABELS, notion="binary")


def test_average_predictions():
    """The average of models is the weighted mean of their probabilities, checked."""
    assert np.allclose(average_predictions([MATRIX, MATRIX[::-1]], weights=[1, 3]), (MATRIX + 3 * MATRIX[::-1]) / 4)
    with pytest.raises(InputError, match="predictions of model 1 have shape"):
        average_predictions([P, P[:-1]])
    with pytest.raises(InputError, match="there are no predictions to average"):
        average_predictions([])
    with pytest.raises(InputError, match="predictions of model 0 must lie in"):
        average_predictions([[1.5]])


class Wrapped:
    """An object whose __array__ is its own memory."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


@pytest.mark.parametrize("wrap", [lambda a: a, pandas.Series, Wrapped, memoryview, lambda a: a[:]])
def test_a_value_does_not_change_with_the_arrays(wrap):
    """Arrays that are changed afterwards change nothing, stay writeable, and the value's own cannot be changed."""
    buffer, labels, weights = np.array([0.1, 0.2, 0.8, 0.9]), np.array([False, False, True, True]), np.ones(4)
    value = Predictions(wrap(buffer), wrap(labels), sample_weight=wrap(weights))
    before = expected_calibration_error(value, n_bins=5)
    buffer *= 0.5
    labels[:] = True
    weights[:2] = 9
    assert expected_calibration_error(value, n_bins=5) == before
    assert expected_calibration_error(value, n_bins=7) == expected_calibration_error(
        [0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], 7
    )
    with pytest.raises(ValueError, match="read-only"):
        value.scores[0] = 0.5
    with pytest.raises(AttributeError, match="a Predictions is read-only"):
        value.scores = buffer


def test_values_can_be_pickled_and_copied():
    """A value travels to another process, and arrives as a value."""
    value = Predictions(MATRIX, LABELS, sample_weight=np.ones(200), classes=range(4))
    expected = expected_calibration_error(value)
    for other in (*(pickle.loads(pickle.dumps(value, protocol)) for protocol in range(2, 6)), copy.deepcopy(value)):
        assert expected_calibration_error(other) == expected
        assert other.classes == value.classes
        assert not other.scores.flags.writeable
    result = evaluate(value)
    assert dict(pickle.loads(pickle.dumps(result))) == dict(result)


def test_missing_labels_of_every_kind_are_missing():
    """NaT, NA and None are errors, and dropped where that is asked for."""
    days = pandas.Series(pandas.to_datetime(["2020-01-01", None]))
    for labels in (days, days.to_numpy(), polars.Series([days[0].to_pydatetime(), None])):
        with pytest.raises(InputError, match="missing label at row 1"):
            Predictions([0.1, 0.2], labels, pos_label=days.to_numpy()[0])
    assert Predictions([0.1, 0.2], days, pos_label=days.to_numpy()[0], ignore_label=float("nan")).n_ignored == 1
    with pytest.raises(InputError, match="missing label at row 1"):
        Predictions([0.1, 0.2], [0, pandas.NA])
    for nothing in (pandas.NA, None, np.float32("nan"), np.nan):
        if nothing is not None:
            assert Predictions([0.1, 0.2], [0, pandas.NA], ignore_label=nothing).n_ignored == 1


@pytest.mark.parametrize(
    "labels",
    [
        pandas.Categorical(["a", "b"]),
        pandas.Index(["a", "b"]),
        pandas.array(["a", "b"]),
        pandas.Series(["a", "b"], dtype="category"),
    ],
    ids=["categorical", "index", "array", "category"],
)
def test_pandas_words(labels):
    """Every pandas container of text is text."""
    assert Predictions([0.1, 0.2], labels, pos_label="b").labels.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("doors", "sentence"),
    [
        ({"pos_label": [0, 1]}, "pos_label must be one label"),
        ({"ignore_label": [-1, -2]}, "ignore_label must be one label"),
        ({"classes": {0, 1}}, "classes must be a list in the order of the columns, got a set"),
        ({"classes": 3}, "classes must be a list"),
        ({"classes": [[0], [1]]}, "classes must be plain labels"),
    ],
)
def test_odd_doors_are_refused(doors, sentence):
    """One label is one label, and classes have an order."""
    with pytest.raises(InputError, match=sentence):
        Predictions([0.1, 0.2], [0, 1], **doors)


def test_row_sums_at_the_tolerance():
    """A row that sums to one within the tolerance is accepted in any precision."""
    row = np.array([[0.013, 0.003, 0.483, 0.024, 0.413, 0.016, 0.049]])
    for dtype in ("f4", "f8"):
        assert expected_calibration_error(row.astype(dtype), [0]) > 0
    torch = need("torch")
    brain = torch.softmax(torch.randn(300, 50, generator=torch.Generator().manual_seed(0)), 1).bfloat16()
    assert len(Predictions(brain, [0] * 300)) == 300


def test_wide_and_huge_numbers():
    """Numbers that do not fit are refused in a sentence; logits may be as far apart as they like."""
    with pytest.raises(InputError, match="predictions must be numbers"):
        Predictions([10**400, 0.5], [0, 1])
    with pytest.raises(InputError, match="sample_weight is 1e-200 at row 1, too small to be squared"):
        Predictions([0.1, 0.2], [0, 1], sample_weight=[1, 1e-200])
    assert Predictions([[1e308, -1e308]], [0], from_logits=True).scores.tolist() == [[1.0, 0.0]]


def test_dlpack_alone_is_enough():
    """An object that only speaks DLPack is an array."""

    class Capsule:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    assert expected_calibration_error(Capsule(P), Capsule(Y)) == expected_calibration_error(P, Y)


def test_repr():
    """A value says what it is."""
    assert repr(Predictions(MATRIX, LABELS, sample_weight=np.ones(200))) == (
        "Predictions(n=200, kind='multiclass', n_classes=4, weighted)"
    )


@pytest.mark.parametrize("notion", ["confidence", "classwise", "top_label", "top_r"])
@pytest.mark.parametrize("threshold", [None, 0.3])
def test_pairs_say_which_row_they_come_from(notion, threshold):
    """Every pair is the row's: its label and weight say so; unasked, nothing is numbered."""
    rng = np.random.default_rng(0)
    scores, labels = rng.dirichlet(np.ones(4), 50), rng.integers(0, 4, 50)
    weights = np.arange(1.0, 51.0)
    data = Predictions(scores, labels, sample_weight=weights)
    view = data.view(notion, r=2 if notion == "top_r" else None, threshold=threshold)
    (pairs,) = data.pairs(view, at_least=1000, numbered=True)
    assert np.array_equal(pairs.weight, weights[pairs.row])
    assert all(score in scores[row] for score, row in zip(pairs.score, pairs.row, strict=True))
    assert data.all_pairs(view).row is None


# --- labels beyond the two that were named ----------------------------------------------------------------------------


def test_a_third_label_is_refused():
    """Labels that nobody named are not counted as negatives: the counts of all are given, and the way out."""
    labels = ["yes", "no", "no", "maybe", "no", "yes"]
    p = np.linspace(0.1, 0.9, 6)
    with pytest.raises(InputError) as error:
        Predictions(p, labels, pos_label="yes")
    assert str(error.value) == (
        "pos_label='yes' leaves more than one other label: 'no' (3 rows), 'yes' (2 rows), 'maybe' (1 row); name the one "
        "that counts as 0 with neg_label and drop the rows of the others, or pass actuals == pos_label if all others "
        "count as 0"
    )
    with pytest.raises(
        InputError, match=r"^1 row has neither pos_label='yes' nor neg_label='no': 'maybe' \(1 row\); drop"
    ):
        Predictions(p, labels, pos_label="yes", neg_label="no")
    kept = Predictions(p, labels, pos_label="yes", neg_label="no", ignore_label="maybe")
    assert (kept.labels.tolist(), kept.n_ignored) == ([1, 0, 0, 0, 1], 1)
    assert Predictions(p, np.array(labels) == "yes").labels.tolist() == [1, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("labels", [[2, 3, 3, 4], np.array([2.0, 3, 3, 4]), np.array([2, 3, 3, 4], object)])
def test_a_third_number_is_refused(labels):
    """Numbers, whatever their type, are labels as texts are."""
    with pytest.raises(InputError, match=r"pos_label=2 leaves more than one other label: 3(.0)? \(2 rows\)"):
        Predictions([0.1, 0.2, 0.3, 0.4], labels, pos_label=2)
    assert Predictions([0.1, 0.2, 0.3], labels[:3], pos_label=2, neg_label=3).labels.tolist() == [1, 0, 0]


def test_a_negative_label_needs_a_positive_one():
    """The negative label goes with another positive one; naming it changes nothing where there are two."""
    with pytest.raises(InputError, match="neg_label needs pos_label too, which names the other label"):
        Predictions([0.1, 0.9], ["a", "b"], neg_label="a")
    with pytest.raises(InputError, match="pos_label and neg_label are both 'a'"):
        Predictions([0.1, 0.9], ["a", "b"], pos_label="a", neg_label="a")
    assert Predictions([0.1, 0.9], ["a", "b"], pos_label="b", neg_label="a").labels.tolist() == [0, 1]


def test_many_labels_are_listed_with_their_number():
    """A list of labels is complete, or says how many more there are."""
    labels = [f"{k:02}" for k in range(14)]
    with pytest.raises(InputError, match=r"\(found '00', .*'09' and 4 more\)"):
        Predictions(np.linspace(0, 1, 14), labels, pos_label="x")


# --- rows by name -----------------------------------------------------------------------------------------------------


def test_pandas_rows_must_have_one_index():
    """Rows pair by position, so an index that says otherwise is an error, and the same one or none is not."""
    p, y = pandas.Series([0.1, 0.8, 0.6, 0.3], index=[7, 5, 6, 4]), pandas.Series([0, 1, 1, 0], index=[7, 5, 4, 6])
    with pytest.raises(InputError) as error:
        brier_score(p, y)
    assert str(error.value) == (
        "the indexes of predictions and actuals differ: 6 and 4 at row 2; bring the rows into the same order with .loc[...], "
        "or, if they already are, pass .reset_index(drop=True) or .to_numpy()"
    )
    alone = brier_score(p.to_numpy(), y.to_numpy())
    reset = brier_score(p.reset_index(drop=True), y.reset_index(drop=True))
    assert brier_score(p, y.to_numpy()) == brier_score(p.to_numpy(), y) == alone == reset
    assert brier_score(p, y.loc[p.index]) == pytest.approx(np.mean((p - y) ** 2))
    with pytest.raises(InputError, match="the indexes of actuals and sample_weight differ: 7 and 0 at row 0"):
        Predictions(p.to_numpy(), y, sample_weight=pandas.Series([1, 1, 2, 2]))
    with pytest.raises(InputError, match="predictions and actuals differ in length: 4 and 3"):
        Predictions(p, y[:3])
    with pytest.raises(InputError, match="the indexes of predictions and actuals differ: 'a' and 'b' at row 0"):
        Predictions(
            pandas.DataFrame({"n": [0.2, 0.7], "y": [0.8, 0.3]}, index=["a", "b"]), pandas.Series([0, 1], ["b", "a"])
        )
    missing = [np.nan, "b"]
    assert len(Predictions(pandas.Series([0.2, 0.7], missing), pandas.Series([0, 1], missing))) == 2


def test_what_is_said_about_rows_must_have_their_index():
    """Clusters, subgroups, and the scores of a map that is being chosen, are paired by position too."""
    p, y = pandas.Series([0.1, 0.8, 0.6, 0.3] * 5), pandas.Series([0, 1, 1, 0] * 5)
    turned = pandas.Series(list("abab") * 5, index=range(19, -1, -1))
    for rows in ((p, y), (Predictions(p, y),), (p.to_numpy(), y)):
        with pytest.raises(InputError, match="the indexes of predictions and clusters differ: 0 and 19 at row 0"):
            interval("ece", *rows, clusters=turned)
    with pytest.raises(InputError, match="the indexes of predictions and by 'sex' differ"):
        subgroups(p, y, {"sex": turned})
    with pytest.raises(InputError, match="the indexes of predictions and actuals differ"):
        select(p, y.set_axis(turned.index), input="logits")
    assert interval("ece", p, y, clusters=turned.to_numpy()).value > 0
