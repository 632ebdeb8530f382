"""The meter: what a stream adds up to."""

from __future__ import annotations

import json
import pickle
import threading

import numpy as np
import pytest

import believable
from believable import CalibrationMeter, Predictions, Summary
from believable.errors import InputError, MergeError, SchemaError, UndefinedError
from believable.stats.counts import SUMS
from tests.needs import need


def same(a, b):
    """Counts are equal, sums up to rounding."""
    assert (a.n, a.kind, a.n_classes, a.classes, a.dropped) == (b.n, b.kind, b.n_classes, b.classes, b.dropped)
    for mine, other in zip(a.cells, b.cells, strict=True):
        assert np.array_equal(mine.key, other.key)
        assert np.array_equal(mine.n, other.n)
        for name in SUMS:
            np.testing.assert_allclose(getattr(mine, name), getattr(other, name), rtol=1e-12, atol=1e-14)
    for name in ("w", "brier", "nll", "correct", "entropy", "deviation"):
        np.testing.assert_allclose(getattr(a.sums, name), getattr(b.sums, name), rtol=1e-11)


def batches_of(p, y, sizes, w=None):
    start = 0
    for size in sizes:
        here = slice(start, start + size)
        yield (p[here], y[here]) if w is None else (p[here], y[here], w[here])
        start += size


@pytest.fixture(scope="module")
def binary():
    rng = np.random.default_rng(0)
    p = np.round(rng.beta(0.5, 0.5, 5000), 3)  # ties, zeros and ones
    return p, (rng.random(5000) < p).astype(int), rng.exponential(size=5000) * (rng.random(5000) > 0.1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cells", [None, 840])  # rows wait until the end; or are counted several times
def test_batches_add_up_to_the_whole(binary, weighted, cells):
    """The meter's summary is that of all rows at once, whatever the batches, empty ones too."""
    p, y, w = binary
    weight = w if weighted else None
    sizes = [1, 0, 99, 900, 0, 3000, 1000]
    meter = CalibrationMeter(cells=cells).consume(batches_of(p, y, sizes, weight))
    whole = Predictions(p, y, sample_weight=weight)
    layout = believable.Layout.of("binary", 2, cells=cells)
    same(meter.summary, Summary.of(whole, layout))
    assert meter.n == len(whole)
    plain = believable.evaluate(whole, metrics=["ece", "brier", "nll", "auc"])
    read = meter.compute(["ece", "brier", "nll"])
    assert {name: pytest.approx(plain[name], rel=1e-12) for name in read} == dict(read)


def test_a_matrix_a_stream_of_logits_and_independent_columns():
    """Every kind of predictions that can be checked can be metered."""
    rng = np.random.default_rng(1)
    z, y = rng.normal(size=(500, 3)), rng.integers(0, 3, 500)
    meter = CalibrationMeter(3, from_logits=True, cells=840).consume(batches_of(z, y, [200, 300]))
    whole = Predictions(z, y, from_logits=True)
    same(meter.summary, Summary.of(whole, believable.Layout.of("multiclass", 3, cells=840)))
    assert meter.compute(["classwise_ece"] if "classwise_ece" in believable.METRICS else ["ece"], n_bins=5)
    many = CalibrationMeter(multilabel=True, cells=840)
    p = rng.random((40, 4))
    many.update(p, p > 0.5)
    same(
        many.summary,
        Summary.of(Predictions(p, p > 0.5, multilabel=True), believable.Layout.of("multilabel", 4, cells=840)),
    )


def test_named_labels_and_ignored_rows():
    """A batch may lack the positive label, and may be ignored as a whole; ignored rows are counted."""
    meter = CalibrationMeter(pos_label="yes", ignore_label="?")
    meter.update([0.2, 0.3, 0.9], ["no", "?", "no"])
    meter.update([0.2], ["?"])
    with pytest.raises(UndefinedError, match="pos_label='yes' has not occurred in 2 rows"):
        meter.compute()
    meter.update([0.8], ["yes"])
    assert (meter.n, meter.summary.dropped) == (3, {"ignored label": 2})
    assert meter.summary.sums.wy.tolist() == [1]
    with pytest.raises(InputError, match="missing label at row 1"):
        meter.update([0.1, 0.2], np.array(["no", None], object))
    named = CalibrationMeter(classes=["ham", "spam"])
    named.update([0.2, 0.3], ["ham", "ham"])
    assert named.summary.classes == ("ham", "spam")


def test_a_batch_without_weight_adds_nothing_but_is_checked():
    """Weight 0 is a row removed, also when it is the whole batch."""
    meter = CalibrationMeter()
    meter.update([0.2, 0.3], [0, 1], [0, 0])
    assert meter.n == 0
    with pytest.raises(InputError, match="predictions must lie in"):
        meter.update([1.3], [0], [0])
    with pytest.raises(UndefinedError, match="no rows yet"):
        meter.compute()


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        (([0.2, 1.5], [0, 1]), "predictions must lie in"),
        (([0.2, np.nan], [0, 1]), "row 1"),
        (([0.2], [0, 1]), "differ in length"),
        (([], [0, 1]), "differ in length: 0 and 2"),
        (([0.2], [3]), "must be 0 or 1"),
        (([0.2], [1], [-1]), "must not be negative"),
        (([[0.2, 0.8]], [1]), "multiclass predictions of 2 classes, but the stream has binary"),
        ((np.float32([0.2]), [1]), "float32, but earlier ones were float64"),
    ],
)
def test_an_invalid_batch_is_refused_whole(batch, words):
    """The error says so, and the meter is as it was."""
    meter = CalibrationMeter()
    meter.update([0.3, 0.6], [0, 1])
    before = meter.state_dict()
    with pytest.raises(InputError, match="the batch was refused, and none of it was counted") as error:
        meter.update(*batch)
    assert words in str(error.value)
    assert meter.state_dict() == before


def test_one_stream_has_one_type_of_scores():
    """With dtype batches are converted; 0.3 stays in its bin in float32, and float32's 0.3 is above 0.3 in float64."""
    single = CalibrationMeter(dtype="float32")
    single.update(np.float64([0.3]), [0])
    single.update(np.float32([0.3]), [0])
    assert single.summary.cells_of().coarsen(10).index.tolist() == [2]
    double = CalibrationMeter(dtype="float64")
    double.update(np.float64([0.3]), [0])
    double.update(np.float32([0.3]), [0])
    assert double.summary.cells_of().coarsen(10).index.tolist() == [2, 3]


def test_the_wrong_number_of_classes_is_refused():
    """A meter made for three classes takes no other number, in batches and in merges."""
    meter = CalibrationMeter(3)
    with pytest.raises(InputError, match="it has 2 classes, but the meter was made for 3"):
        meter.update([0.2], [1])
    with pytest.raises(MergeError, match="made for 3"):
        meter.merge(Summary.of(Predictions([0.2], [1])))


def test_consume_says_which_batch_was_refused():
    """Those before it are counted."""
    meter = CalibrationMeter()
    with pytest.raises(InputError, match="batch 1 of the stream"):
        meter.consume([([0.2], [1]), ([2.0], [1]), ([0.2], [1])])
    assert meter.n == 1
    with pytest.raises(InputError, match=r"must be \(predictions, actuals\)"):
        meter.consume([{"p": 1}])
    assert meter.consume([Predictions([0.5], [1])]).n == 2


def test_meters_merge(binary):
    """Merging adds, `+` leaves both as they were, and what does not fit is refused."""
    p, y, _ = binary
    first, second = (CalibrationMeter().consume([(p[part], y[part])]) for part in (slice(2000), slice(2000, None)))
    both = first + second
    same(both.summary, Summary.of(Predictions(p, y)))
    assert (first.n, second.n) == (2000, 3000)
    same((first + second.summary).summary, both.summary)
    assert first.merge(CalibrationMeter()).n == 2000
    assert first.merge(first).n == 4000
    other = CalibrationMeter(cells=840)
    other.update([0.5], [1])
    with pytest.raises(MergeError, match="has another layout"):
        first.merge(other)
    with pytest.raises(InputError, match="got a int"):
        first.merge(3)
    assert first.n == 4000


def test_a_summary_is_a_value(binary):
    """Later batches do not change it."""
    p, y, _ = binary
    meter = CalibrationMeter()
    meter.update(p, y)
    before = meter.summary
    scores = p.copy()
    meter.update(scores, y)
    scores[:] = 0.5  # nor do the caller's arrays
    assert before.n == 5000
    same(meter.summary, Summary.of(Predictions(np.tile(p, 2), np.tile(y, 2))))
    meter.reset()
    assert meter.n == 0


def test_a_trillion_rows_lose_no_count():
    """Doubling forty times counts 2^40 rows exactly, and the error stays that of the first."""
    meter = CalibrationMeter(cells=840)
    meter.update([0.25, 0.8, 0.8], [0, 1, 0])
    ece, summary = meter.compute(["ece"])["ece"], meter.summary
    for _ in range(40):
        summary = summary + summary
    meter.reset()
    meter.merge(summary)
    meter.update([0.25], [1])
    assert meter.n == 3 * 2**40 + 1
    assert meter.summary.cells[0].n.tolist() == [2**40 + 1, 2**41]
    assert meter.compute(["ece"])["ece"] == pytest.approx(ece, abs=1e-11)


def test_threads_give_what_one_gives(binary):
    """Updates and merges from several threads add up, with nothing lost while others read."""
    p, y, _ = binary
    meter, parts = CalibrationMeter(cells=840), np.array_split(np.arange(5000), 80)
    layout = believable.Layout.of("binary", 2, cells=840)

    def work(k):
        for i in range(k, 80, 4):
            rows = parts[i]
            if i % 5:
                meter.update(p[rows], y[rows])
            else:
                meter.merge(Summary.of(Predictions(p[rows], y[rows]), layout))
            assert meter.n >= len(rows)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same(meter.summary, Summary.of(Predictions(p, y), layout))


def test_meters_travel(binary):
    """A pickled meter, and one that goes through JSON, counts on as if nothing had happened."""
    p, y, w = binary
    meter = CalibrationMeter(cells=840)
    meter.update(p[:3000], y[:3000], w[:3000])
    sent = pickle.loads(pickle.dumps(meter))
    loaded = CalibrationMeter(cells=840)
    loaded.load_state_dict(json.loads(json.dumps(meter.state_dict())))
    for one in (meter, sent, loaded):
        one.update(p[3000:], y[3000:], w[3000:])
    same(sent.summary, meter.summary)
    same(loaded.summary, meter.summary)
    empty = CalibrationMeter()
    empty.load_state_dict(json.loads(json.dumps(CalibrationMeter().state_dict())))
    assert empty.n == 0


def test_damaged_and_foreign_states_are_refused():
    """And nothing changes."""
    meter = CalibrationMeter(cells=840, pos_label="yes")
    meter.update([0.5], ["yes"])
    saved = meter.state_dict()
    for damage, words in [
        ({"schema": "other"}, "not a saved"),
        ({"version": 2}, "cannot be read"),
        ({"settings": saved["settings"] | {"cells": 5040}}, "other settings of cells"),
        ({"settings": None}, "other settings"),
        ({"summary": 3}, "summary"),
        ({"ignored": -1}, "counts are not counts"),
        ({"summary": CalibrationMeter(cells=5040).consume([([0.1], [1])]).summary.to_dict()}, "damaged"),
    ]:
        with pytest.raises(SchemaError, match=words):
            meter.load_state_dict(saved | damage)
    assert meter.n == 1


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"n_classes": 1}, "n_classes"),
        ({"dtype": "float16"}, "dtype"),
        ({"pos_label": 1, "soft_labels": True}, "pass only one of pos_label"),
        ({"classes": "ab"}, "classes must be a list"),
        ({"notions": "confidence"}, "notions must be a list"),
        ({"cells": 1}, "cells"),
        ({"multilabel": True, "ignore_label": 1}, "ignore_label cannot be combined with multilabel"),
    ],
)
def test_choices_are_checked_at_once(choices, words):
    """Not when the first batch comes."""
    with pytest.raises(InputError, match=words):
        CalibrationMeter(**choices)


def test_a_positive_label_is_for_one_column():
    """With a matrix it is refused, as `Predictions` refuses it; errors name the meter's own arguments."""
    with pytest.raises(InputError, match="pos_label is for one score per row"):
        CalibrationMeter(pos_label="a").update([[0.3, 0.7], [0.2, 0.8]], ["a", "b"])
    with pytest.raises(InputError, match=r"pass CalibrationMeter\(\.\.\., from_logits=True\)"):
        CalibrationMeter().update([0.3, 4.0], [0, 1])
    with pytest.raises(InputError, match="got a int"):
        CalibrationMeter().consume(3)


def test_soft_labels_and_tiny_streams():
    """One row is a stream."""
    meter = CalibrationMeter(soft_labels=True, spacing="uniform")
    meter.update([0.25], [0.5])
    assert meter.compute(["ece"])["ece"] == pytest.approx(0.25)
    assert repr(meter) == "CalibrationMeter(n=1, kind='binary')"


def test_a_loader_of_tensors():
    """Tensors that need gradients are read like arrays; a DataLoader is an iterator of batches."""
    need("torch")
    import torch

    z, y = torch.linspace(-2, 2, 40, requires_grad=True), torch.arange(40) % 2
    data = torch.utils.data.TensorDataset(z.detach(), y)
    loader = torch.utils.data.DataLoader(data, batch_size=16)
    meter = CalibrationMeter(from_logits=True).consume((z * 1.0, y) for z, y in loader)
    meter.update(z, y)
    assert meter.n == 80
    expected = believable.expected_calibration_error(Predictions(z.detach().numpy(), y.numpy(), from_logits=True))
    assert meter.compute(["ece"])["ece"] == pytest.approx(expected)


def test_a_state_without_its_summary_is_not_an_empty_meter():
    """What is lost is said, instead of starting at 0 rows."""
    meter = CalibrationMeter()
    meter.update([0.2, 0.7], [0, 1])
    saved = meter.state_dict()
    del saved["summary"]
    with pytest.raises(SchemaError, match="no summary"):
        meter.load_state_dict(saved)
    assert meter.n == 2


def test_labels_beyond_the_two_are_refused():
    """With pos_label a third label is no negative: within a batch, in a later batch, and in another meter."""
    meter = CalibrationMeter(pos_label="yes")
    with pytest.raises(InputError, match=r"leaves more than one other label: 'no' \(2 rows\), 'maybe' \(1 row\)"):
        meter.update([0.1, 0.2, 0.3, 0.9], ["no", "no", "maybe", "yes"])
    meter.update([0.2, 0.9], ["no", "yes"])
    meter.update([0.8], ["yes"])
    with pytest.raises(InputError, match="its label 'maybe' is neither pos_label='yes' nor 'no', which counted as 0"):
        meter.update([0.3], ["maybe"])
    other = CalibrationMeter(pos_label="yes")
    other.update([0.3], ["maybe"])
    with pytest.raises(MergeError, match="'no' counted as 0 in one, 'maybe' in the other"):
        meter.merge(other)
    assert meter.n == 3
    assert pickle.loads(pickle.dumps(meter))._negative == "no"


def test_the_negative_label_can_be_named():
    """From the first batch on, rows of other labels are refused; numbers of other types are the same label."""
    meter = CalibrationMeter(pos_label="yes", neg_label="no")
    with pytest.raises(InputError, match="1 row has neither pos_label='yes' nor neg_label='no': 'maybe'"):
        meter.update([0.3], ["maybe"])
    meter.update([0.2, 0.9], ["no", "yes"])
    again = CalibrationMeter(pos_label="yes", neg_label="no")
    again.load_state_dict(json.loads(json.dumps(meter.state_dict())))
    assert again.n == 2
    with pytest.raises(SchemaError, match="neg_label"):
        CalibrationMeter(pos_label="yes", neg_label="maybe").load_state_dict(meter.state_dict())
    mixed = CalibrationMeter(pos_label=1)
    mixed.update([0.2, 0.9], [0, 1])
    mixed.update([0.2, 0.9], [0.0, 1.0])
    mixed.update([0.2, 0.9], [False, True])
    assert mixed.n == 6


def test_saved_counts_keep_the_negative_label():
    """After loading, a third label is refused as before; counts saved without it load too."""
    meter = CalibrationMeter(pos_label="yes")
    meter.update([0.2, 0.9], ["no", "yes"])
    saved = json.loads(json.dumps(meter.state_dict()))
    again = CalibrationMeter(pos_label="yes")
    again.load_state_dict(saved)
    with pytest.raises(InputError, match="neither pos_label='yes' nor 'no'"):
        again.update([0.3], ["maybe"])
    del saved["negative"]
    again.load_state_dict(saved)
    again.update([0.3], ["maybe"])
    assert again.n == 3
    with pytest.raises(SchemaError, match="damaged"):
        again.load_state_dict(saved | {"negative": ["no"]})
