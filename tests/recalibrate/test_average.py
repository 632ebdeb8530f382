"""Averaged calibration: its weights are those of the definition, it shrinks to no change, and it is never certain."""

from __future__ import annotations

import copy
import json
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, root
from sklearn.base import clone

import believable
from believable import CellStats, Predictions, Summary
from believable.errors import InputError, SchemaError, SmallSampleWarning, UndefinedError
from believable.recalibrate import (
    AveragedCalibration,
    HistogramBinning,
    IsotonicCalibration,
    OneVsRest,
    PlattScaling,
    TemperatureScaling,
    average,
    load_recalibrator,
)
from believable.recalibrate.inputs import Scores
from tests.recalibrate.data import binary, logit, multiclass, softmax

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")

GRID = np.linspace(0, 1, 2001)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def labels_of(p, seed):
    return (np.random.default_rng(seed).random(p.shape) < p).astype(int)


def some_labels(n=300):
    """Over-confident probabilities of three independent labels, and what happened."""
    z = np.random.default_rng(3).normal(size=(n, 3))
    return sigmoid(2 * z), labels_of(sigmoid(z), 4)


# --- The definition, literally ----------------------------------------------------------------------------------------


def temperature(z, y, w):
    """The map of temperature scaling: where the derivative of the likelihood with respect to 1 / T is 0."""
    inverse = brentq(lambda a: w @ (z * (sigmoid(a * z) - y)), 1e-3, 50, xtol=1e-15)
    return lambda z: sigmoid(inverse * z)


def platt(z, y, w):
    """The map of Platt scaling: where the derivatives with respect to slope and intercept are 0."""

    def derivatives(ab):
        off = w * (sigmoid(ab[0] * z + ab[1]) - y)
        return [off @ z, off.sum()]

    slope, intercept = root(derivatives, [0.5, 0.0], tol=1e-14).x
    return lambda z: sigmoid(slope * z + intercept)


def no_change(z, y, w):
    return sigmoid


def literal(p, y, w, fold):
    """The weights of no change, temperature and Platt scaling, and the average of their maps."""
    z, n = logit(p), w.sum() ** 2 / (w @ w)
    w = w * n / w.sum()
    q = np.empty((3, len(y)))
    for m, method in enumerate((no_change, temperature, platt)):
        for k in range(5):
            held, rest = fold == k, fold != k
            p_held = method(z[rest], y[rest], w[rest])(z[held])
            q[m, held] = np.where(y[held] == 1, p_held, 1 - p_held)
    mixing = 1 / (n + 1)
    q = (1 - mixing) * q + mixing / 2

    likelihood = np.exp((np.log(q[1:]) @ w) / 4)
    a, b = 10 * likelihood / likelihood.sum()
    slope = lambda s: w @ ((q[1] - q[2]) / (s * q[1] + (1 - s) * q[2])) + a / s - b / (1 - s)  # noqa: E731
    share = brentq(slope, 1e-9, 1 - 1e-9, xtol=1e-15)
    gain = w @ (np.log(share * q[1] + (1 - share) * q[2]) - np.log(q[0]))
    unchanged = 3 / (3 + np.exp(gain / 2))
    v = [unchanged, (1 - unchanged) * share, (1 - unchanged) * (1 - share)]

    maps = [method(z, y, w)(z) for method in (no_change, temperature, platt)]
    return v, (1 - mixing) * sum(weight * one for weight, one in zip(v, maps, strict=True)) + mixing / 2


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("exact", [False, True])
def test_definition(weighted, exact, monkeypatch):
    """Weights and probabilities are those of the definition, which is computed without EM."""
    # EM stops at a step below 1e-5. It converges at a rate of n / (n + 10) or faster, so that it is then at most
    # (n + 10) / 10 such steps from the maximum.
    tolerance = 1e-5 * (150 + 10) / 10
    if exact:
        monkeypatch.setattr(average, "STACKING_PRECISION", 1e-15)
        monkeypatch.setattr(average, "MAX_STACKING_STEPS", 20_000)
        tolerance = 1e-8
    rng = np.random.default_rng(1)
    z = rng.normal(size=150)
    p, y = sigmoid(1.6 * z + 0.3), labels_of(sigmoid(z), 2)
    w = rng.integers(1, 4, 150).astype(float) if weighted else np.ones(150)
    model = AveragedCalibration(methods=["temperature", "platt"])
    fold = model._folds(Scores(p, "probabilities"), y, w if weighted else np.ones(len(y)), None)
    model.fit(p, y, sample_weight=w if weighted else None)
    v, expected = literal(p, y, w, fold)
    assert min(v) > 0.02
    np.testing.assert_allclose(list(model.weights_.values()), v, rtol=0, atol=tolerance)
    np.testing.assert_allclose(model.transform(p), expected, rtol=0, atol=tolerance)


# --- Laws -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("input", ["probabilities", "logits", "scores"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_weights_sum_to_one(input, n_classes):
    """The weights sum to 1, no change has its name, and members are fitted."""
    X, y = binary() if n_classes == 2 else multiclass()
    X = X if input == "probabilities" else logit(X) if n_classes == 2 else np.log(X)
    model = AveragedCalibration(input=input).fit(X, y)
    assert sum(model.weights_.values()) == pytest.approx(1, abs=1e-12)
    assert len(model.members_) == len(model.weights_)
    assert all(hasattr(one, "maps_") for one in model.members_)
    assert sum(int(part.split(" %")[0]) for part in model.in_words().split(", ")) == pytest.approx(100, abs=3)


def test_calibrated_scores_are_left():
    """With few rows of calibrated scores, most of the weight is on no change."""
    weights = []
    for seed in range(5):
        p = np.random.default_rng(seed).random(100)
        weights.append(AveragedCalibration().fit(p, labels_of(p, seed + 50)).weights_["Identity"])
    assert np.mean(weights) > 0.6


def test_bad_scores_are_not_left():
    """With many rows of grossly over-confident scores, next to nothing is left unchanged."""
    z = np.random.default_rng(0).normal(size=2000)
    model = AveragedCalibration(input="logits").fit(4 * z, labels_of(sigmoid(z), 1))
    assert model.weights_.get("Identity", 0.0) < 1e-6
    np.testing.assert_allclose(model.transform(4 * z), sigmoid(z), atol=0.06)


def test_never_certain():
    """No probability is 0 or 1, though isotonic maps and the scores themselves may say so."""
    p, y = (part.copy() for part in binary())
    p[:20] = y[:20]
    model = AveragedCalibration(methods=["isotonic"], weights=[0.5]).fit(p, y)
    assert {member.transform([0.0, 1.0]).tolist()[0] for member in model.members_} == {0.0}
    mixing = 1 / (len(y) + 1)
    assert model.transform([0.0])[0] == pytest.approx(mixing / 2, abs=1e-15)
    assert model.transform([1.0])[0] == pytest.approx(1 - mixing / 2, abs=1e-15)
    found = AveragedCalibration(methods=[IsotonicCalibration(), "venn_abers"]).fit(p, y).predict_proba(GRID)
    assert found.min() >= mixing / 2


def test_scale_of_sample_weights():
    """Weights all 8 or all 1/1024 times as large change nothing, unless a member counts rows by their weight."""
    p, y = binary()
    w = np.random.default_rng(0).random(len(y))
    model = AveragedCalibration(methods=["temperature", "beta", "isotonic"])  # unlike Venn–Abers and logit splines
    one = clone(model).fit(p, y, sample_weight=w)
    for times in (8, 1 / 1024):
        other = clone(model).fit(p, y, sample_weight=times * w)
        assert other.weights_ == pytest.approx(one.weights_, abs=1e-7)
        np.testing.assert_allclose(other.transform(p), one.transform(p), atol=1e-7)


def test_unequal_weights_count_less():
    """Rows of unequal weight are worth fewer rows, so that more is left unchanged."""
    p, y = binary(100)
    w = np.random.default_rng(0).permutation(np.repeat([0.01, 1.0], 50))
    assert AveragedCalibration().fit(p, y, w).maps_[0]["mixing"] == pytest.approx(1 / 51.99, rel=1e-3)
    assert AveragedCalibration().fit(p, y).maps_[0]["mixing"] == pytest.approx(1 / 101, rel=1e-12)


def test_copies_in_clusters():
    """Copies of rows are hardly evidence if their clusters are known: the weights move back to those of the rows."""
    p, y = binary(60)
    alone = AveragedCalibration().fit(p, y).weights_["Identity"]
    copies, happened, clusters = np.tile(p, 6), np.tile(y, 6), np.tile(np.arange(60), 6)
    naive = AveragedCalibration().fit(copies, happened).weights_.get("Identity", 0.0)
    clustered = AveragedCalibration().fit(copies, happened, clusters=clusters)
    assert naive < clustered.weights_["Identity"] < 2 * alone
    judged = believable.calibrate(copies, happened, "average", clusters=clusters)
    assert judged.recalibrator.weights_["Identity"] == pytest.approx(clustered.weights_["Identity"])


def test_clusters_in_another_order():
    """The names of clusters and the order of rows do not matter, and rows of weight 0 do not count."""
    p, y = binary(120)
    clusters = np.arange(120) // 3
    one = AveragedCalibration().fit(p, y, clusters=clusters)
    order = np.random.default_rng(0).permutation(120)
    names = np.array([f"patient {k:03d}" for k in clusters], object)
    other = AveragedCalibration().fit(p[order], y[order], clusters=names[order])
    np.testing.assert_allclose(other.transform(p), one.transform(p), atol=1e-9)
    more = AveragedCalibration().fit(
        np.append(p, [0.5, 0.6]),
        np.append(y, [1, 0]),
        np.repeat([1.0, 0.0], [120, 2]),
        clusters=np.append(clusters, [900, 901]),
    )
    np.testing.assert_allclose(more.transform(p), one.transform(p), atol=1e-9)
    assert not hasattr(one, "_cluster")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("input", ["probabilities", "logits", "scores"])
def test_defaults_never_decrease(input, seed):
    """For one event, the default average ranks scores as they were, up to ties."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=80) * 2
    y = labels_of(sigmoid(np.sin(2 * z) + 0.3 * z), seed + 9)  # a relation that rises and falls
    X, grid = (sigmoid(z), GRID) if input == "probabilities" else (z, np.linspace(-30, 30, 3001))
    found = AveragedCalibration(input=input).fit(X, y).transform(grid)
    assert np.diff(found).min() >= -1e-12


def test_given_weights():
    """Given weights are used as they are; what is missing to 1 is left unchanged."""
    p, y = binary()
    model = AveragedCalibration(methods=["platt", "venn_abers"], weights=[0.5, 0.2]).fit(p, y)
    assert model.weights_ == pytest.approx({"Identity": 0.3, "PlattScaling": 0.5, "VennAbers": 0.2}, abs=1e-12)
    maps = [p, *(one.transform(p) for one in model.members_[1:])]
    mixing = 1 / (len(y) + 1)
    expected = (1 - mixing) * (0.3 * maps[0] + 0.5 * maps[1] + 0.2 * maps[2]) + mixing / 2
    np.testing.assert_allclose(model.transform(p), expected, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(model.members_[1].transform(p), PlattScaling().fit(p, y).transform(p))
    alone = AveragedCalibration(methods=["platt"], weights=[1.0]).fit(p, y)
    assert alone.weights_ == {"PlattScaling": 1.0}


def test_several_of_one_class():
    """Weights of methods of one class are added, and a histogram is not called the base rate."""
    p, y = binary()
    both = [PlattScaling(), PlattScaling(targets="smoothed"), HistogramBinning(n_bins=5)]
    model = AveragedCalibration(methods=both, weights=[0.25, 0.25, 0.5]).fit(p, y)
    assert model.weights_ == {"PlattScaling": 0.5, "HistogramBinning": 0.5}
    assert model.in_words() == "50 % histogram binning, 25 % Platt scaling, 25 % Platt scaling"


def test_labels_that_do_not_exclude_each_other():
    """Of independent labels, each has its own maps; the weights are shared, and rows need not sum to one."""
    p, happened = some_labels()
    model = AveragedCalibration(multilabel=True).fit(p, happened)
    found = model.transform(p)
    assert found.shape == p.shape
    assert np.log(np.where(happened, found, 1 - found)).mean() > np.log(np.where(happened, p, 1 - p)).mean()
    assert set(model.weights_) <= {"Identity", "PlattScaling", "BetaCalibration", "LogitSplineCalibration", "VennAbers"}
    fixed = AveragedCalibration(methods=["platt"], weights=[0.6], multilabel=True).fit(p, happened)
    each = OneVsRest(PlattScaling(), multilabel=True).fit(p, happened).transform(p)
    mixing = fixed.maps_[0]["mixing"]
    np.testing.assert_allclose(fixed.transform(p), (1 - mixing) * (0.4 * p + 0.6 * each) + mixing / 2, atol=1e-14)
    two = AveragedCalibration(multilabel=True).fit(p[:, :2], happened[:, :2])
    assert two.predict(p[:, :2]).shape == (300, 2)
    np.testing.assert_array_equal(load_recalibrator(two.to_json()).transform(p[:, :2]), two.transform(p[:, :2]))


def test_labels_in_clusters():
    """Copies in clusters are no evidence for independent labels either."""
    p, happened = some_labels(60)
    clusters = np.tile(np.arange(60), 4)
    model = AveragedCalibration(multilabel=True)
    naive = model.fit(np.tile(p, (4, 1)), np.tile(happened, (4, 1))).weights_.get("Identity", 0.0)
    clustered = model.fit(np.tile(p, (4, 1)), np.tile(happened, (4, 1)), clusters=clusters).weights_["Identity"]
    assert naive < clustered


def test_order_of_rows_with_ties():
    """Rows in another order give the same map, also if they tie in some columns but not in others."""
    rng = np.random.default_rng(0)
    order = rng.permutation(200)
    p = rng.dirichlet(np.ones(4), 200).round(1) + 0.025
    p /= p.sum(axis=1, keepdims=True)
    y, w = rng.integers(0, 4, 200), rng.integers(1, 4, 200)
    one = AveragedCalibration().fit(p, y, w)
    other = AveragedCalibration().fit(p[order], y[order], w[order])
    assert other.weights_ == pytest.approx(one.weights_, abs=1e-9)
    shows = rng.random((200, 4)) < p
    one = AveragedCalibration(multilabel=True).fit(p, shows)
    other = AveragedCalibration(multilabel=True).fit(p[order], shows[order])
    assert other.weights_ == pytest.approx(one.weights_, abs=1e-9)


def test_labels_of_a_row_are_one_row():
    """The rate of mixing counts rows, however many labels each has, and whether weights are given or found."""
    p, happened = some_labels(60)
    found = AveragedCalibration(multilabel=True).fit(p, happened)
    given = AveragedCalibration(multilabel=True, methods=["platt"], weights=[0.5]).fit(p, happened)
    assert found.maps_[0]["mixing"] == given.maps_[0]["mixing"] == pytest.approx(1 / 61)


def test_many_small_weights():
    """Weights that are all small are kept."""
    p, y = binary(100)
    model = AveragedCalibration(methods=["platt"] * 250, weights=[0.004] * 250).fit(p, y)
    assert len(model.members_) == 250


def test_many_classes():
    """Beyond 50 classes, temperature and vector scaling are averaged, for probabilities and for raw scores."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(600, 51)) * 2
    y = (z / 2 + rng.gumbel(size=z.shape)).argmax(axis=1)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    for X, input in ((p, "probabilities"), (z, "scores")):
        result = believable.calibrate(X, y, input=input)
        assert {each.name for each in result.selection.candidates} >= {"temperature", "structured", "average"}
        structured = result.selection["structured"].method
        assert structured.structure == "vector"
        assert result.improvement.gains["log_loss"].is_sure
        np.testing.assert_allclose(result.transform(X).sum(axis=1), 1, atol=1e-9)


def test_calibrated_scores_are_hardly_touched():
    """Of 40 calibrated sets of 200 rows, the mean loss from touching them is below 0.001 (0.0005 in longer runs)."""
    lost = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        p, new = rng.random(200), rng.random(2000)
        q = believable.calibrate(p, rng.random(200) < p).transform(new)
        lost.append(np.mean(new * np.log(new / q) + (1 - new) * np.log((1 - new) / (1 - q))))
    assert np.mean(lost) < 0.001


def test_scores_of_one_event():
    """Of scores that are not probabilities, no change is the base rate."""
    rng = np.random.default_rng(0)
    noise, y = rng.normal(size=300) * 100, rng.random(300) < 0.2
    model = AveragedCalibration(input="scores").fit(noise, y)
    assert model.in_words().split(", ")[0].endswith("% base rate")
    assert model.weights_["HistogramBinning"] > 0.5
    np.testing.assert_allclose(model.transform(noise), y.mean(), atol=0.1)
    useful = AveragedCalibration(input="scores").fit(noise, rng.random(300) < sigmoid(noise / 50))
    assert useful.weights_.get("HistogramBinning", 0.0) < 0.01
    np.testing.assert_allclose(useful.transform(noise), sigmoid(noise / 50), atol=0.15)


def test_scores_of_several_classes_are_tried_as_logits():
    """Scores of several classes that are logits, if of the wrong size, are found to be so."""
    p, labels = multiclass()
    z = np.log(p)
    model = AveragedCalibration(input="scores").fit(z, labels)
    scales = {type(one).__name__: one.input for one in model.members_}
    assert scales["TemperatureScaling"] == scales["StructuredScaling"] == "logits"
    found = model.predict_proba(z)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    as_logits = AveragedCalibration(input="logits").fit(z, labels).predict_proba(z)
    np.testing.assert_allclose(found, as_logits, atol=0.15)
    np.testing.assert_array_equal(load_recalibrator(model.to_json()).predict_proba(z), found)


def test_cells():
    """With given weights cells give what rows give, and with weights of their own nearly so."""
    p, y = binary(2000)
    cells, summary = CellStats.of(Predictions(p, y)), Summary.of(Predictions(p, y))
    fixed = AveragedCalibration(methods=["temperature", "beta"], weights=[0.4, 0.4])
    np.testing.assert_allclose(clone(fixed).fit_from_cells(cells).transform(p), fixed.fit(p, y).transform(p), atol=1e-4)
    for found in (cells, summary):
        model = AveragedCalibration().fit_from_cells(found)
        assert np.abs(model.transform(p) - AveragedCalibration().fit(p, y).transform(p)).mean() < 0.01
    again = AveragedCalibration().fit_from_cells(cells)
    np.testing.assert_array_equal(again.transform(p), AveragedCalibration().fit_from_cells(cells).transform(p))


def test_cells_with_one_positive():
    """Folds without a positive row to fit on are no evidence, and no error."""
    cells = CellStats.of(Predictions(np.array([0.1, 0.4, 0.35, 0.8, 0.6]), np.array([0, 0, 0, 1, 0])))
    found = AveragedCalibration().fit_from_cells(cells).transform(GRID)
    assert np.isfinite(found).all()


def test_settings_are_kept():
    """Clones, pickles and JSON keep all settings; `set_params` changes them."""
    p, y = binary()
    model = AveragedCalibration(methods=["platt", TemperatureScaling()], cv=3, random_state=4).fit(p, y)
    assert repr(clone(model)) == repr(model)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(p), model.transform(p))
    loaded = load_recalibrator(model.to_json())
    assert loaded.get_params()["cv"] == 3
    np.testing.assert_array_equal(loaded.fit(p, y).transform(p), model.transform(p))
    other = clone(model).set_params(random_state=5).fit(p, y)
    assert other.weights_ != model.weights_
    assert other.weights_ == pytest.approx(model.weights_, abs=0.3)
    assert clone(model).set_params(methods=None).fit(p, y).weights_.keys() != model.weights_.keys()
    given = AveragedCalibration(methods=["platt"], weights=[0.5], random_state=np.random.default_rng(0)).fit(p, y)
    assert load_recalibrator(given.to_json()).get_params()["weights"] == [0.5]


# --- Sentences --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"methods": [AveragedCalibration()]},
            "an average of averages has no use: leave AveragedCalibration out of the methods",
        ),
        (
            {"methods": ["platt", "average"]},
            "an average of averages has no use: leave AveragedCalibration out of the methods",
        ),
        ({"methods": "platt"}, "methods must be a list of recalibrators, or of their names, got 'platt'"),
        (
            {"methods": PlattScaling()},
            "methods must be a list of recalibrators, or of their names, got PlattScaling()",
        ),
        ({"methods": []}, "methods must be a list of recalibrators, or of their names, got []"),
        ({"methods": 3}, "methods must be a list of recalibrators, or of their names, got 3"),
        ({"methods": ["platt"], "weights": [0.5, 0.5]}, "weights needs one number for each of the methods"),
        ({"methods": ["platt"], "weights": 0.5}, "weights needs one number for each of the methods"),
        ({"weights": [0.25] * 4}, "weights needs one number for each of the methods"),
        ({"methods": ["platt"], "weights": [-0.5]}, "weights must not be negative, and sum to at most 1"),
        ({"methods": ["platt"], "weights": [np.nan]}, "weights must not be negative, and sum to at most 1"),
        (
            {"methods": ["platt", "beta"], "weights": [0.6, 0.6]},
            "weights must not be negative, and sum to at most 1",
        ),
        ({"cv": 1}, "cv must be an integer at least 2, got 1"),
        (
            {"methods": ["temperature"], "multilabel": True},
            "with multilabel=True, methods must be recalibrators of one event, such as PlattScaling(), got "
            "TemperatureScaling()",
        ),
        (
            {"methods": [OneVsRest(normalise=False)]},
            "the probabilities of each of the methods must sum to one in every row, got OneVsRest(normalise=False)",
        ),
        ({"methods": ["temperature"], "input": "scores"}, "TemperatureScaling takes input='probabilities' or ..."),
    ],
    ids=str,
)
def test_settings_are_refused(given, sentence):
    """What cannot be averaged is said in a sentence, before anything is fitted."""
    with pytest.raises(InputError) as caught:
        AveragedCalibration(**given).fit(*binary())
    assert str(caught.value).startswith(sentence.removesuffix("..."))
    assert sentence.endswith("...") or str(caught.value) == sentence


def test_weights_that_are_no_numbers():
    """Weights of text are an InputError too."""
    with pytest.raises(InputError, match="weights"):
        AveragedCalibration(methods=["platt"], weights=["half"]).fit(*binary())


def test_bad_clusters():
    """Clusters of another length, missing, or too few are refused."""
    p, y = binary()
    for clusters, sentence in (
        (np.arange(20), r"clusters must have one entry per row, got shape \(20,\)"),
        (np.zeros(300), "clusters holds only one cluster: the variation between clusters needs at least two"),
        (
            np.where(np.arange(300) == 7, np.nan, 1.0),
            "clusters must name a cluster in every row; it is missing at row 7",
        ),
        (np.arange(300) % 3, "clusters has 3 clusters, too few for cv=5 folds"),
    ):
        with pytest.raises(InputError, match=sentence):
            AveragedCalibration().fit(p, y, clusters=clusters)
    with pytest.raises(InputError, match="sample_weight"):
        AveragedCalibration().fit(p, y, np.ones(20), clusters=np.arange(300))


def test_cells_that_do_not_hold_enough():
    """Cells of classes, other scales and methods that need rows are refused."""
    p, labels = multiclass()
    source, cells = Predictions(p, labels), CellStats.of(Predictions(*binary()))
    with pytest.raises(
        UndefinedError, match="AveragedCalibration needs the rows: cells of several classes do not hold"
    ):
        AveragedCalibration().fit_from_cells(CellStats.of(source, source.view("classwise")))
    with pytest.raises(
        InputError, match=r"cells hold probabilities: make AveragedCalibration\(input='probabilities'\)"
    ):
        AveragedCalibration(input="logits").fit_from_cells(cells)
    with pytest.raises(UndefinedError, match="StructuredScaling needs the rows"):
        AveragedCalibration(methods=["structured"], weights=[0.5]).fit_from_cells(cells)


def damaged_members(saved):
    """Saved averages with one thing wrong in their first fitted member, and what is said of each."""
    member = saved["maps"][0]["members"][-1]
    for change, sentence in (
        ({"schema": "believable.recalibrator", "version": 1}, "but this one also has ['schema', 'version']"),
        ({"method": "os.system"}, "there is no recalibrator 'os.system'"),
        ({"classes": [0, 1, 2]}, "the saved columns must be 3"),
        ({"columns": 2}, "the saved members must be recalibrators of 2 classes with 1 columns"),
        ({"input": "logits"}, "the saved members must be of the same kind and scale as their average"),
        ({"maps": [{"slope": "1", "intercept": 0}]}, "the saved slope must hold numbers"),
        (copy.deepcopy(saved), "but this one also has ['schema', 'version']"),
    ):
        changed = copy.deepcopy(saved)
        changed["maps"][0]["members"][-1] = member | change
        yield changed, sentence
    for weights in ([1.0], [0.5, 0.6], []):
        changed = copy.deepcopy(saved)
        changed["maps"][0]["weights"] = weights
        yield changed, "the saved weights must"


def test_damaged_members():
    """Whatever is wrong in a member is said in a sentence, and so are weights that do not fit the members."""
    saved = json.loads(AveragedCalibration(methods=["platt"], weights=[0.5]).fit(*binary()).to_json())
    assert [set(one) for one in saved["maps"][0]["members"]] == [set(saved) - {"schema", "version"}] * 2
    for changed, sentence in damaged_members(saved):
        with pytest.raises(SchemaError) as caught:
            load_recalibrator(json.dumps(changed))
        assert sentence in str(caught.value)


def test_members_within_members():
    """An average within an average is refused, however deep."""
    text = AveragedCalibration(methods=["platt"], weights=[1.0]).fit(*binary()).to_json()
    inner = json.loads(text)
    header = {name: inner.pop(name) for name in ("schema", "version")}
    outer = copy.deepcopy(inner)
    outer["maps"][0]["members"] = [inner]
    with pytest.raises(SchemaError, match="the saved members must be recalibrators of 2 classes"):
        load_recalibrator(json.dumps(header | outer))
    before, after = json.dumps(inner).split(json.dumps(inner["maps"][0]["members"][0]))
    deep = before * 300 + json.dumps(inner["maps"][0]["members"][0]) + after * 300
    with pytest.raises(SchemaError):
        load_recalibrator('{"schema": "believable.recalibrator", "version": 1, ' + deep.removeprefix("{"))


# --- Few rows, hard scores --------------------------------------------------------------------------------------------


TINY = {
    "five rows": ([0.1, 0.4, 0.35, 0.8, 0.6], [0, 0, 1, 1, 0]),
    "one positive": ([0.1, 0.4, 0.35, 0.8, 0.6], [0, 0, 0, 1, 0]),
    "two rows": ([0.2, 0.7], [0, 1]),
    "two rows, wrong": ([0.2, 0.7], [1, 0]),
    "separable": (np.linspace(0.05, 0.95, 20), np.repeat([0, 1], 10)),
    "separable, wrong": (np.linspace(0.05, 0.95, 20), np.repeat([1, 0], 10)),
    "constant": ([0.3] * 20, [0, 1, 1, 0] * 5),
    "nearly all 0 or 1": ([0.0, 1.0, 0.0, 1.0, 0.5], [0, 1, 1, 0, 1]),
}


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("input", ["probabilities", "logits", "scores"])
def test_tiny(name, input):
    """However few the rows, probabilities are finite and between 0 and 1, and NumPy does not warn."""
    X, y = TINY[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SmallSampleWarning)
        model = AveragedCalibration(input=input).fit(X, y)
        found = model.transform(GRID)
    assert np.isfinite(found).all()
    assert found.min() > 0
    assert found.max() < 1
    np.testing.assert_array_equal(load_recalibrator(model.to_json()).transform(GRID), found)


def test_a_tree_that_is_always_certain():
    """Predictions of a model that are all 0 or 1 are drawn inwards when it was wrong."""
    X, y = np.tile([0.0, 1.0], 50), labels_of(np.tile([0.2, 0.8], 50), 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = AveragedCalibration()._fit_to_model(X, y).transform([0.0, 1.0])
    np.testing.assert_allclose(found, [y[X == 0].mean(), y[X == 1].mean()], atol=0.03)


def test_one_class():
    """One class alone is refused with a sentence."""
    sentence = "y has only one class, 1, so no calibration map can be fitted; collect rows of the other class too"
    with pytest.raises(InputError, match=f"^{sentence}$"):
        AveragedCalibration().fit([0.2, 0.6, 0.7], [1, 1, 1])


@given(st.integers(2, 4), st.integers(3, 25), st.integers(0, 10**6), st.sampled_from(["probabilities", "logits"]))
@settings(max_examples=25, deadline=None)
def test_random_rows(n_classes, n, seed, input):
    """Whatever the rows, probabilities are finite and sum to one."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, n_classes)) * rng.choice([0.1, 1, 10, 1000])
    y = rng.integers(0, n_classes, n)
    y[:2] = [0, 1]
    X = softmax(z) if input == "probabilities" else z
    X[-1] = 1 / n_classes  # so that not all are 0 or 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SmallSampleWarning)
        found = AveragedCalibration(input=input).fit(X, y).predict_proba(X)
    assert np.isfinite(found).all()
    assert found.min() > 0
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
