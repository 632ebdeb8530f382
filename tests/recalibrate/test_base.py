"""What the bases of all recalibrators do: labels, columns, failed fits, the opposite probability."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from believable import CellStats, Predictions
from believable.errors import InputError, SmallSampleWarning, UndefinedError
from believable.recalibrate import (
    BetaCalibration,
    HistogramBinning,
    Identity,
    IsotonicCalibration,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
    VennAbers,
)
from tests.recalibrate.data import binary, logit, multiclass

NAMES = ["wolf", "ant", "cat", "bee"]


def test_columns_called_as_the_labels():
    """A data frame whose columns are called what the labels are says which column is whose."""
    p, labels = multiclass()
    y = np.array(NAMES)[labels]
    plain = TemperatureScaling(classes=NAMES).fit(p, y)
    framed = TemperatureScaling().fit(pd.DataFrame(p, columns=NAMES), y)
    assert framed.classes_.tolist() == NAMES
    assert framed.temperature_ == plain.temperature_
    x, happened = binary()
    two = pd.DataFrame({"yes": x, "no": 1 - x})
    assert BetaCalibration().fit(two, np.where(happened == 1, "yes", "no")).classes_.tolist() == ["yes", "no"]
    other = TemperatureScaling().fit(pd.DataFrame(p, columns=list("wxyz")), labels)
    assert other.classes_.tolist() == [0, 1, 2, 3]


def test_labels_of_other_kinds():
    """Distinct labels as many as columns are in sorted order; numbers of columns are themselves."""
    x, y = binary()
    plain = PlattScaling().fit(x, y)
    for labels in (np.where(y == 1, "yes", "no"), y == 1, y * 2 - 1, y + 1, y.astype(float)):
        model = PlattScaling().fit(x, labels)
        assert model.slope_ == plain.slope_
        assert model.predict(x[:5]).tolist() == [sorted(set(labels.tolist()))[k] for k in plain.predict(x[:5])]
    with pytest.raises(InputError, match="y has 3 labels that are not column numbers; pass classes="):
        PlattScaling().fit(x[:3], ["a", "b", "c"])
    p, _ = multiclass()
    with pytest.raises(InputError, match="4 columns, but y has 2 labels"):
        PlattScaling().fit(p[:2], [False, True])


def test_a_failed_fit_leaves_what_was_learnt():
    """After a fit that failed, the map before it goes with its columns still."""
    x, y = binary()
    model = PlattScaling().fit(x, y)
    before = model.transform(x)
    p, _ = multiclass()
    with pytest.raises(InputError, match="only one class"):
        model.fit(pd.DataFrame(p, columns=NAMES), np.zeros(len(p), int))
    assert model.n_features_in_ == 1
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(model.transform(x), before)


def test_cells_forget_the_names_of_columns():
    """A fit from cells after one from a data frame wants no names."""
    x, y = binary()
    model = PlattScaling().fit(pd.DataFrame({"score": x}), y)
    model.fit_from_cells(CellStats.of(Predictions(x, y)))
    assert not hasattr(model, "feature_names_in_")
    assert model.transform(x).shape == x.shape


def test_cells_that_hold_something_else():
    """Two classes are counted as one event, and maps of all classes need the rows."""
    x, y = binary()
    two = Predictions(np.column_stack([1 - x, x]), y)
    with pytest.raises(
        UndefinedError, match="the scores of 2 classes, 1 needed; with two classes, count with notion='binary'"
    ):
        PlattScaling().fit_from_cells(CellStats.of(two, two.view("classwise")))
    with pytest.raises(UndefinedError, match="VectorScaling needs the rows"):
        VectorScaling().fit_from_cells(CellStats.of(Predictions(x, y)))
    with pytest.raises(UndefinedError, match="TemperatureScaling needs the rows"):
        TemperatureScaling().fit_from_cells(CellStats.of(two, two.view("classwise")))


@pytest.mark.parametrize("cls", [PlattScaling, BetaCalibration, TemperatureScaling, Identity])
def test_the_opposite_is_not_rounded(cls):
    """P(not) keeps its digits where P is 1 but for rounding, so swapped classes give swapped columns."""
    x, y = binary()
    z = logit(x)
    far = np.array([-60.0, -40.0, 40.0, 60.0])
    one = cls(input="logits").fit(z, y).predict_proba(far)
    two = cls(input="logits").fit(-z, 1 - y).predict_proba(-far)
    assert one.min() > 0
    np.testing.assert_allclose(one, two[:, ::-1], rtol=1e-5)


def test_few_rows_in_cells_are_warned_about():
    """A statistic of few rows is as small a sample as the rows."""
    x, y = binary()
    few = np.concatenate([np.flatnonzero(y == 0)[:40], np.flatnonzero(y == 1)[:3]])
    with pytest.warns(SmallSampleWarning, match="3 rows of the rarest class") as caught:
        PlattScaling().fit_from_cells(CellStats.of(Predictions(x[few], y[few])))
    assert {each.filename for each in caught} == {__file__}


@pytest.mark.parametrize("spacing", ["uniform", "logit"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "model",
    [
        HistogramBinning(n_bins=7),
        IsotonicCalibration(),
        IsotonicCalibration(between="steps"),
        VennAbers(),
    ],
    ids=repr,
)
def test_heaped_scores_from_cells(model, dtype, spacing):
    """Scores heaped at tenths and thirds, 0 and 1 among them, give the map of the rows, in whatever order cells add."""
    rng = np.random.default_rng(0)
    heaps = np.array([0, 0.1, 0.2, 0.3, 1 / 3, 0.5, 0.6, 2 / 3, 0.7, 0.9, 1]).astype(dtype)
    x = rng.choice(heaps, 3000)
    y = (rng.random(3000) < 0.2 + 0.6 * x).astype(int)
    rows = clone(model).fit(x, y).transform(heaps)
    parts = [CellStats.of(Predictions(x[k::4], y[k::4]), spacing=spacing) for k in range(4)]
    for cells in (parts[0] + parts[1] + parts[2] + parts[3], parts[3] + (parts[1] + parts[0]) + parts[2]):
        np.testing.assert_allclose(clone(model).fit_from_cells(cells).transform(heaps), rows, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_uniform_bins_from_cells(dtype):
    """Uniform bins of whole cells are those of the rows; an edge inside of a cell is refused, not rounded."""
    rng = np.random.default_rng(0)
    x = rng.choice(np.array([0, 0.1, 0.3, 1 / 3, 0.6, 0.7, 1]).astype(dtype), 1000)
    y = (rng.random(1000) < 0.2 + 0.6 * x).astype(int)
    source = Predictions(x, y)
    model = HistogramBinning(n_bins=10, strategy="uniform")
    rows = clone(model).fit(x, y).transform(x)
    np.testing.assert_allclose(clone(model).fit_from_cells(CellStats.of(source)).transform(x), rows, atol=1e-12)
    for cells in (CellStats.of(source, spacing="logit"), CellStats.of(source, cells=999)):
        with pytest.raises(UndefinedError, match="10 uniform bins do not consist of whole cells"):
            clone(model).fit_from_cells(cells)
    clone(model).set_params(n_bins=1).fit_from_cells(CellStats.of(source, cells=999))
