"""(Confidence, correct) pairs: what they are travels with them, and everything that speaks of accuracy reads it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import believable
from believable import Predictions, ScoreSums, Summary, View
from believable.decide import cascade, selective, threshold_for, uncertainty_sample
from believable.errors import InputError, MergeError, SchemaError
from believable.plots import plot_confidence_histogram, plot_reliability_diagram, plot_risk_coverage
from believable.readers import Loaded, load, read_predictions
from believable.stats import BinStats, CellStats
from believable.streams import CalibrationMeter, DriftAlarm

# 400 stated confidences, 70 % of the answers wrong; most confidences are below one half.
STATED = np.tile([0.1, 0.2, 0.3, 0.4, 0.45, 0.55, 0.6, 0.7, 0.8, 1.0], 40)
RIGHT = np.tile([0, 0, 0, 0, 1, 0, 0, 1, 0, 1], 40)
PAIRS = Predictions(STATED, RIGHT, pairs=True)


def literal_risks(confidence, right, weight=None):
    """Return coverage and risk, cut by cut: rows of at least this confidence are answered with what was stated."""
    weight = [1.0] * len(confidence) if weight is None else weight
    found = []
    for cut in sorted(set(confidence), reverse=True):
        rows = [i for i, one in enumerate(confidence) if one >= cut]
        answered = sum(weight[i] for i in rows)
        found.append((answered / sum(weight), sum(weight[i] for i in rows if not right[i]) / answered))
    return found


def test_the_risk_is_that_of_the_stated_answers():
    """Two wrong answers with little confidence are two mistakes."""
    assert selective([0.2, 0.3], [0, 0], pairs=True).risk.tolist() == [1, 1]
    weight = np.random.default_rng(0).integers(1, 5, len(STATED)).astype(float)
    for given in (None, weight):
        found = selective(STATED, RIGHT, pairs=True, sample_weight=given)
        expected = literal_risks(STATED.tolist(), RIGHT.tolist(), None if given is None else given.tolist())
        np.testing.assert_allclose(np.column_stack([found.coverage, found.risk]), expected, rtol=1e-12)
    assert selective(PAIRS).risk[-1] == pytest.approx(0.7, abs=1e-12)
    assert selective(STATED, RIGHT).risk[-1] != pytest.approx(0.7)  # P(y = 1), by definition


def test_equal_confidences_are_those_that_are_equal():
    """0.93 and 0.07 are not the same confidence in an answer."""
    assert selective([0.93, 0.07], [1, 0], pairs=True).cut.tolist() == [0.93, 0.07]


@pytest.mark.parametrize("weighted", [False, True])
def test_accuracy_is_the_share_of_right_answers(weighted):
    """From rows and from every statistic of them, with its interval."""
    weight = np.random.default_rng(1).random(len(STATED)) + 0.5 if weighted else None
    rows = Predictions(STATED, RIGHT, sample_weight=weight, pairs=True)
    expected = float(np.average(RIGHT, weights=weight))
    summary = Summary.of(rows)
    for source in (rows, ScoreSums.of(rows), summary, summary + summary, Summary.from_dict(summary.to_dict())):
        assert believable.accuracy(source) == pytest.approx(expected, rel=1e-12)
    for source in (rows, summary):
        found = believable.interval("acc", source, random_state=0)
        assert found.low < expected < found.high < 0.4
    assert believable.evaluate(rows)["accuracy"] == pytest.approx(expected, rel=1e-12)
    sums = ScoreSums.of(rows)
    assert sums.confidence / sums.w == pytest.approx(np.average(STATED, weights=weight), rel=1e-12)


def test_a_cascade_counts_what_the_fast_model_gets_wrong():
    """And routes the answers with little confidence, in the data and in new ones."""
    found = cascade(PAIRS, cost_fast=0.0, cost_slow=0.3, slow_error=0.0)
    assert found.fast_error == pytest.approx(0.7, abs=1e-12)
    best = min(
        (sum(0.3 if c <= cut else 1 - y for c, y in zip(STATED, RIGHT, strict=True)) / 400, cut)
        for cut in [-1.0, *sorted(set(STATED.tolist()))]
    )
    assert (found.cost, found.cut) == (pytest.approx(best[0], rel=1e-12), best[1])
    assert found.route([0.05, found.cut, 1.0]).tolist() == [True, True, False]
    with pytest.raises(InputError, match="for all of them, or for none"):
        found.route(Predictions([0.2], [1]))
    with pytest.raises(InputError, match="pairs=True is for 1-D scores"):
        found.route([[0.2, 0.8]])


def test_the_slow_model_of_a_cascade_is_right_or_wrong():
    """Its own confidences do not matter, and its labels are other ones."""
    slow = 1 - RIGHT
    options = {"cost_fast": 0.0, "cost_slow": 0.0}
    expected = cascade(PAIRS, slow=slow, **options)
    assert expected.slow_error == pytest.approx(0.3, abs=1e-12)
    given = Predictions(np.full(400, 0.1), slow, pairs=True)
    assert cascade(PAIRS, slow=given, **options).lines() == expected.lines()
    with pytest.raises(InputError, match="0 or 1, because the predictions are"):
        cascade(PAIRS, slow=STATED, **options)
    for fast, other in ((PAIRS, Predictions(STATED, RIGHT)), (Predictions(STATED, RIGHT), PAIRS)):
        with pytest.raises(InputError, match="for all of them, or for none"):
            cascade(fast, slow=other, **options)


def test_a_confidence_of_zero_can_be_kept_and_routed():
    """Routing none is another threshold than routing the rows with confidence 0."""
    p, y = [0.0] * 10 + [0.9] * 10, [1] * 10 + [0] * 10
    kept = cascade(p, y, cost_fast=0, cost_slow=1.5, pairs=True)
    assert (kept.routed, kept.cost, kept.route([0.0, 0.9]).tolist()) == (0, 0.5, [False, False])
    routed = cascade(p, [0] * 10 + [1] * 10, cost_fast=0, cost_slow=0.2, pairs=True)
    assert (routed.cut, routed.routed, routed.cost, routed.route([0.0, 0.9]).tolist()) == (0, 0.5, 0.1, [True, False])


def test_the_least_certain_answers_have_the_lowest_confidence():
    """Not those nearest to one half."""
    rows = Predictions([0.5, 0.1, 0.9], [1, 0, 1], pairs=True)
    for strategy in ("margin", "entropy", "confidence"):
        assert uncertainty_sample(rows, 1, strategy=strategy).tolist() == [1]


def test_words_say_accuracy():
    """Of thresholds, of verdicts and in pictures, without a word from the caller."""
    assert "an accuracy of at least 0.2" in str(threshold_for(PAIRS, precision=0.2))
    assert believable.verdict(PAIRS).direction == "over-confident"
    assert believable.audit(PAIRS, fix=False).pairs
    assert believable.audit(PAIRS, fix=False) == believable.audit(STATED, RIGHT, pairs=True, fix=False)
    assert believable.audit(Summary.of(PAIRS), fix=False)["acc"].value == pytest.approx(0.3, abs=1e-12)
    figures = [plot_reliability_diagram(PAIRS), plot_reliability_diagram(STATED, RIGHT, pairs=True)]
    figures += [plot_reliability_diagram(Summary.of(PAIRS))]
    assert [figure.axes[0].get_ylabel() for figure in figures] == ["Accuracy"] * 3
    assert "error rate 70 %" in plot_risk_coverage(STATED, RIGHT, pairs=True).axes[0].get_title("left")
    labels = [line.get_label() for line in plot_confidence_histogram(PAIRS).axes[0].lines]
    assert "Accuracy 0.300" in labels
    assert f"Mean confidence {STATED.mean():.3f}" in labels


def test_rows_keep_what_they_are():
    """Some of them, copies, pickles and representations."""
    assert PAIRS.take(np.arange(3)).are_pairs
    assert pickle.loads(pickle.dumps(PAIRS)).are_pairs
    assert repr(PAIRS) == "Predictions(n=400, kind='binary', pairs)"
    assert not Predictions(STATED, RIGHT).are_pairs


@pytest.mark.parametrize("count", [ScoreSums.of, Summary.of, CellStats.of, BinStats.of])
def test_pairs_and_events_do_not_merge(count):
    """The sum would be neither."""
    pairs, event = count(PAIRS), count(Predictions(STATED, RIGHT))
    with pytest.raises(MergeError, match="pairs and others probabilities of an event"):
        pairs + event
    (event.as_pairs() + pairs).to_dict()
    again = type(pairs).from_dict(pairs.to_dict())
    (again + pairs).to_dict()
    with pytest.raises(MergeError):
        again + event


def test_statistics_of_events_are_saved_as_before():
    """So earlier versions read them, and files without the fact are of events."""
    for one in (ScoreSums.of(Predictions(STATED, RIGHT)), CellStats.of(Predictions(STATED, RIGHT))):
        assert "are_pairs" not in str(one.to_dict())
        assert "are_pairs" in str(one.as_pairs().to_dict())
    saved = Summary.of(PAIRS).to_dict()
    saved["sums"].pop("are_pairs")
    with pytest.raises(SchemaError, match="do not agree on whether they count pairs"):
        Summary.from_dict(saved)


def test_streams_count_one_of_the_two():
    """A batch of the other kind changes nothing."""
    meter = CalibrationMeter()
    meter.update(PAIRS)
    meter.update(PAIRS)
    with pytest.raises(InputError, match="for all of them, or for none"):
        meter.update(STATED, RIGHT)
    assert meter.n == 800
    assert believable.accuracy(meter.summary) == pytest.approx(0.3, abs=1e-12)
    with pytest.raises(MergeError, match="for all of them, or for none"):
        meter.merge(Summary.of(Predictions(STATED, RIGHT)))
    assert (meter + CalibrationMeter().consume([PAIRS])).n == 1200


def test_comparisons_are_of_alike():
    """Accuracies of answers and of events are different numbers."""
    with pytest.raises(InputError, match="for all of them, or for none"):
        believable.compare(PAIRS, Predictions(STATED, RIGHT), metric="acc")
    less = Predictions(STATED / 2, RIGHT, pairs=True)
    assert believable.compare(PAIRS, less, metric="acc").difference == 0


@pytest.mark.parametrize("wrong", [np.full((3, 2), 0.5), np.full((3, 3), 1 / 3)])
def test_a_matrix_has_no_pairs(wrong):
    """Its confidences are read from it."""
    with pytest.raises(InputError, match="pairs=True is for 1-D scores"):
        Predictions(wrong, [0, 1, 1], pairs=True)
    with pytest.raises(InputError, match="pairs=True is for 1-D scores"):
        Summary.of(Predictions(wrong, [0, 1, 1])).as_pairs()
    with pytest.raises(InputError, match="pairs=True is for 1-D scores"):
        selective(Predictions(wrong, [0, 1, 1]), pairs=True)
    with pytest.raises(InputError, match="'binary'"):
        View("confidence", 3, are_pairs=True)


def test_readers_say_what_they_read(tmp_path):
    """A column called correct says whether answers were right, unless the caller knows better."""
    path = tmp_path / "answers.csv"
    path.write_text("confidence,correct\n0.2,0\n0.3,0\n0.9,1\n")
    assert load(path).pairs
    assert read_predictions(path).are_pairs
    assert believable.accuracy(read_predictions(path)) == pytest.approx(1 / 3)
    assert not load(path, pairs=False).pairs
    path.write_text("p,y\n0.2,0\n0.3,0\n0.9,1\n")
    assert not load(path).pairs
    assert load(path, pairs=True).pairs
    assert not Loaded(Predictions([0.2], [1]), "", "").pairs


def test_passes_and_engines_say_what_they_count(tmp_path):
    """Of files of any length, and of frames."""
    import polars

    from believable.engines import summarize
    from believable.readers import summarize_files

    frame = polars.DataFrame({"confidence": STATED, "correct": RIGHT, "site": ["a", "b"] * 200})
    frame.write_parquet(tmp_path / "answers.parquet")
    names = {"prob": "confidence", "label": "correct"}
    passed = summarize_files(tmp_path / "answers.parquet", by="site")
    counted = summarize(frame, **names, by="site", pairs=True)
    for one in (passed, counted):
        assert one.are_pairs
        assert one.by["site"]["a"].are_pairs
        assert believable.accuracy(one) == pytest.approx(0.3, abs=1e-12)
    assert not summarize_files(tmp_path / "answers.parquet", pairs=False).are_pairs
    assert summarize(frame, **names, bins=5, pairs=True).view.are_pairs
    with pytest.raises(InputError, match="pairs=True is for 1-D scores"):
        summarize(frame.with_columns(p_0=0.5, p_1=0.5), prob="p_", label="correct", pairs=True)


def test_checkpoints_hold_what_was_counted(tmp_path):
    """As loaded, and as a pass with another request finds them; those of earlier versions count events."""
    import polars

    from believable.readers import load_summary, summarize_files

    path, kept = tmp_path / "answers.parquet", tmp_path / "state.cells"
    polars.DataFrame({"confidence": STATED, "correct": RIGHT}).write_parquet(path)
    summarize_files(path, checkpoint=kept)
    assert load_summary(kept).are_pairs
    assert summarize_files(path, checkpoint=kept).are_pairs
    with pytest.raises(InputError, match=r"belongs to a pass with pairs=None, but now it is False"):
        summarize_files(path, checkpoint=kept, pairs=False)
    earlier = tmp_path / "earlier.cells"
    summarize_files(path, checkpoint=earlier, pairs=False)
    assert not load_summary(earlier).are_pairs


def test_alarms_watch_one_of_the_two():
    """A batch of the other kind is refused, with the sentence that meters use."""
    alarm = DriftAlarm()
    alarm.update(PAIRS)
    with pytest.raises(MergeError, match="for all of them, or for none"):
        alarm.update(STATED, RIGHT)
    with pytest.raises(MergeError, match="for all of them, or for none"):
        DriftAlarm(reference=Predictions(STATED, RIGHT)).update(PAIRS)


def test_numpys_true_is_true(tmp_path):
    """It is kept as Python's, so that it can be saved."""
    rows = Predictions(STATED, RIGHT, pairs=np.True_)
    assert rows.are_pairs is True
    Summary.of(rows).save(tmp_path / "answers.summary")
    assert Summary.load(tmp_path / "answers.summary").are_pairs is True
    assert View("classwise", 3, multilabel=np.True_).multilabel is True
