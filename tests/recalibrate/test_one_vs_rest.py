"""One against the rest: the lifted map against maps fitted class by class."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from sklearn.base import clone

from believable import CellStats, Predictions
from believable.errors import InputError, SchemaError, SmallSampleWarning, UndefinedError
from believable.recalibrate import (
    RECALIBRATORS,
    OneVsRest,
    PlattScaling,
    PriorShift,
    VennAbers,
    load_recalibrator,
)
from believable.recalibrate.base import BinaryRecalibrator
from tests.recalibrate.data import binary, logit, multiclass

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")

BINARY = [cls for cls in RECALIBRATORS.values() if issubclass(cls, BinaryRecalibrator) and cls.__name__ != "OneVsRest"]
METHODS = pytest.mark.parametrize("cls", BINARY, ids=[cls.__name__ for cls in BINARY])


def labelled(n=300, seed=0):
    """Probabilities of three labels that do not exclude each other, and which of them were there."""
    rng = np.random.default_rng(seed)
    p = rng.random((n, 3))
    return p, (rng.random((n, 3)) < p ** [1, 2, 0.5]).astype(int)


@METHODS
def test_lifting_is_what_the_method_does_by_itself(cls):
    """Several classes, two columns and one event give what the method gives alone."""
    p, y = binary()
    for X, labels in (multiclass(), (p, y), (np.column_stack([1 - p, p]), y)):
        lifted, own = OneVsRest(cls()).fit(X, labels), cls().fit(X, labels)
        np.testing.assert_array_equal(lifted.transform(X), own.transform(X))


@METHODS
def test_rows_as_they_are(cls):
    """Without normalising, column k is the map of class k alone, and rows need not sum to one."""
    p, labels = multiclass()
    out = OneVsRest(cls(), normalise=False).fit(p, labels).transform(p)
    for k in range(4):
        np.testing.assert_array_equal(out[:, k], cls().fit(p[:, k], labels == k).transform(p[:, k]))
    assert cls.__name__ == "Identity" or np.abs(out.sum(axis=1) - 1).max() > 1e-4


@METHODS
def test_labels_are_events_of_their_own(cls):
    """With labels that do not exclude each other, column k is the map of label k alone."""
    p, y = labelled()
    out = OneVsRest(cls(), multilabel=True).fit(p, y).predict_proba(p)
    for k in range(3):
        np.testing.assert_array_equal(out[:, k], cls().fit(p[:, k], y[:, k]).transform(p[:, k]))


@METHODS
def test_round_trip(cls):
    """The method is saved with its settings, and the loaded one gives the same bits and can be fitted again."""
    p, labels = multiclass()
    many, y = labelled()
    for model, X in (
        (OneVsRest(cls()).fit(p, labels), p),
        (OneVsRest(cls(), normalise=False).fit(p, labels), p),
        (OneVsRest(cls(), multilabel=True, classes=["a", "b", "c"]).fit(many, y), many),
        (OneVsRest(cls(), multilabel=True).fit(many[:, :2], y[:, :2]), many[:, :2]),
    ):
        loaded = load_recalibrator(model.to_json())
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        assert type(loaded.method) is cls
        assert loaded.to_json() == model.to_json()


def test_platt_is_the_method_if_none_is_named():
    """OneVsRest() is OneVsRest(PlattScaling()); settings of the method count."""
    p, labels = multiclass()
    np.testing.assert_array_equal(
        OneVsRest().fit(p, labels).transform(p), OneVsRest(PlattScaling()).fit(p, labels).transform(p)
    )
    smoothed = OneVsRest(PlattScaling(targets="smoothed"))
    assert np.any(smoothed.fit(p, labels).transform(p) != OneVsRest().fit(p, labels).transform(p))
    assert load_recalibrator(smoothed.to_json()).method.targets == "smoothed"
    assert clone(smoothed).set_params(method__targets="labels").method.targets == "labels"
    assert smoothed.method.targets == "smoothed"


@METHODS
def test_methods_by_name(cls):
    """A name or alias is the method with its defaults, stays the parameter, and is saved as what it stands for."""
    p, labels = multiclass()
    expected = OneVsRest(cls()).fit(p, labels)
    for name in (cls.__name__, cls.facts.alias):
        model = clone(OneVsRest(name)).fit(p, labels)
        assert model.get_params()["method"] == name
        np.testing.assert_array_equal(model.transform(p), expected.transform(p))
        assert model.to_json() == expected.to_json()
        loaded = load_recalibrator(model.to_json())
        np.testing.assert_array_equal(loaded.transform(p), model.transform(p))
        assert type(loaded.method) is cls
        assert model._facts() == expected._facts()


def test_the_outer_input_counts():
    """What the method says of its input does not matter."""
    p, labels = multiclass()
    z = np.log(p) + 4
    inner = PlattScaling(input="scores")
    np.testing.assert_allclose(
        OneVsRest(inner, input="logits").fit(z, labels).transform(z),
        PlattScaling().fit(p, labels).transform(p),
        atol=1e-9,
    )
    assert inner.input == "scores"
    many, y = labelled()
    np.testing.assert_allclose(  # a label's logit is its log-odds
        OneVsRest(multilabel=True, input="logits").fit(logit(many), y).transform(logit(many)),
        OneVsRest(multilabel=True).fit(many, y).transform(many),
        atol=1e-9,
    )


def test_shapes_of_labels():
    """predict says which labels are more likely than not, predict_proba and transform give the shape of X."""
    p, y = labelled()
    for columns in (2, 3):
        X = p[:, :columns]
        model = OneVsRest(multilabel=True).fit(X, y[:, :columns])
        assert model.transform(X).shape == X.shape
        np.testing.assert_array_equal(model.transform(X), model.predict_proba(X))
        np.testing.assert_array_equal(model.predict(X), model.transform(X) > 0.5)
        assert model.classes_.tolist() == list(range(columns))
        assert len(model.maps_) == columns
        assert 0 <= model.score(X, y[:, :columns]) <= 1


def test_weights_of_labels():
    """Weight 2 is the row twice, weight 0 no row."""
    p, y = labelled()
    times = np.random.default_rng(1).integers(0, 3, len(p))
    for method in (PlattScaling(), VennAbers()):
        weighted = OneVsRest(method, multilabel=True).fit(p, y, sample_weight=times)
        repeated = OneVsRest(method, multilabel=True).fit(np.repeat(p, times, axis=0), np.repeat(y, times, axis=0))
        np.testing.assert_allclose(weighted.transform(p), repeated.transform(p), atol=1e-9)


def test_labels_in_all_rows_or_none():
    """They are left as they are, also in a file; raw scores of such a label are an error."""
    p, y = labelled()
    y = y.copy()
    y[:, 0], y[:, 2] = 0, 1
    model = OneVsRest(multilabel=True).fit(p, y)
    np.testing.assert_array_equal(model.transform(p)[:, [0, 2]], p[:, [0, 2]])
    assert model.maps_[0] is model.maps_[2] is None
    np.testing.assert_array_equal(load_recalibrator(model.to_json()).transform(p), model.transform(p))
    two = OneVsRest(multilabel=True).fit(p[:, :2], y[:, :2])
    np.testing.assert_array_equal(load_recalibrator(two.to_json()).transform(p[:, :2]), two.transform(p[:, :2]))
    with pytest.raises(InputError, match="class 1 is in every row of y, so its scores cannot be turned"):
        OneVsRest(multilabel=True, input="scores").fit(p[:, 1:], y[:, 1:])
    with pytest.raises(InputError, match="class 0 does not occur in y, so its scores cannot be turned"):
        OneVsRest(multilabel=True, input="scores").fit(p, y)
    with pytest.raises(InputError, match="every label is in all rows of y or in none, so there is nothing to fit"):
        OneVsRest(multilabel=True).fit(p[:, [0, 2]], y[:, [0, 2]])


def test_labels_from_cells():
    """A statistic of labels gives nearly what rows give, and each kind of statistic has its recalibrator."""
    p, y = labelled()
    for columns in (2, 3):
        source = Predictions(p[:, :columns], y[:, :columns], multilabel=True)
        cells = CellStats.of(source)
        model = OneVsRest(multilabel=True).fit_from_cells(cells)
        rows = OneVsRest(multilabel=True).fit(p[:, :columns], y[:, :columns])
        np.testing.assert_allclose(model.transform(p[:, :columns]), rows.transform(p[:, :columns]), atol=1e-4)
        with pytest.raises(UndefinedError, match=r"counts independent labels: use OneVsRest\(multilabel=True\)"):
            OneVsRest().fit_from_cells(cells)
        with pytest.raises(UndefinedError, match="independent labels"):
            PlattScaling().fit_from_cells(cells)
    with pytest.raises(UndefinedError, match=r"counts mutually exclusive classes: use OneVsRest\(multilabel=False\)"):
        OneVsRest(multilabel=True).fit_from_cells(CellStats.of(Predictions(*binary())))


def test_what_the_method_can_and_advises():
    """A method that needs rows refuses cells here too, and its advice on few rows is its own."""
    needs_rows = next((cls for cls in BINARY if not cls.facts.cells), None)
    if needs_rows is not None:
        with pytest.raises(UndefinedError, match="needs the rows"):
            OneVsRest(needs_rows()).fit_from_cells(CellStats.of(Predictions(*binary())))
    for cls in BINARY:
        assert OneVsRest(cls())._facts().fewest == cls.facts.fewest
    p, y = labelled(12)
    fewer = int(np.minimum(y.sum(axis=0), 12 - y.sum(axis=0)).min())
    with pytest.warns(SmallSampleWarning, match=f"{fewer} rows of the rarest class; with fewer than 20"):
        OneVsRest(VennAbers(), multilabel=True).fit(p, y)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"method": PlattScaling}, "method must be a recalibrator, got a class: pass PlattScaling()"),
        (
            {"method": PriorShift()},
            "method must be a recalibrator of one event, such as PlattScaling(), got Prior",
        ),
        ({"method": "plat"}, "method 'plat' is not known; did you mean 'platt'? Choose from: "),
        ({"method": "temperature"}, "a recalibrator of one event, such as PlattScaling(), got 'temperature'"),
        ({"method": "one_vs_rest"}, "a recalibrator of one event, such as PlattScaling(), got 'one_vs_rest'"),
        ({"method": 3}, "method must be a recalibrator such as TemperatureScaling(), or the name of one, got 3"),
        ({"method": OneVsRest()}, "got OneVsRest()"),
        ({"method": PlattScaling(targets="soft")}, "targets must be one of 'labels', 'smoothed', got 'soft'"),
        ({"normalise": "yes"}, "normalise must be True or False"),
        ({"multilabel": 1}, "multilabel must be True or False"),
    ],
)
def test_sentences(settings, sentence):
    """What cannot be lifted is refused."""
    with pytest.raises(InputError, match=re.escape(sentence)):
        OneVsRest(**settings).fit(*multiclass())


def test_sentences_about_labels():
    """Labels need a column each, in X and in y, of zeros and ones."""
    p, y = labelled()
    model = OneVsRest(multilabel=True)
    with pytest.raises(InputError, match=r"needs y with 3 columns, as X has, got shape \(300,\)"):
        model.fit(p, y[:, 0])
    with pytest.raises(InputError, match="needs y of zeros and ones"):
        model.fit(p, y + 1)
    with pytest.raises(InputError, match="needs one column of scores per label, got the scores of one event"):
        model.fit(p[:, 0], y[:, 0])
    with pytest.raises(InputError, match="classes must name 3 labels in the order of the columns, got 2"):
        OneVsRest(multilabel=True, classes=["a", "b"]).fit(p, y)
    with pytest.raises(InputError, match="rows of X must sum to 1"):
        OneVsRest().fit(p, y[:, 0])
    with pytest.raises(ValueError, match="1d array"):
        OneVsRest().fit(p / p.sum(axis=1, keepdims=True), y)


def test_saved_methods_are_checked():
    """A method that cannot be lifted, or columns that do not fit the maps, are refused."""
    p, y = labelled()
    saved = json.loads(OneVsRest(PlattScaling(), multilabel=True).fit(p[:, :2], y[:, :2]).to_json())
    assert saved["settings"]["method"]["method"] == "PlattScaling"
    with pytest.raises(SchemaError, match="2 maps need as many columns, got 1"):
        load_recalibrator(json.dumps(saved | {"columns": 1}))
    with pytest.raises(SchemaError, match="do not fit 2 classes"):
        load_recalibrator(json.dumps(saved | {"settings": saved["settings"] | {"multilabel": False}}))
    with pytest.raises(SchemaError, match="a recalibrator with settings, not a name, got 'platt'"):
        load_recalibrator(json.dumps(saved | {"settings": saved["settings"] | {"method": "platt"}}))
    for method in ("PriorShift", "OneVsRest", "os.system"):
        nested = {"method": method, "input": "probabilities", "settings": {}}
        with pytest.raises(SchemaError):
            load_recalibrator(json.dumps(saved | {"settings": saved["settings"] | {"method": nested}}))
    deep = {"method": None, "normalise": True, "multilabel": False}
    for _ in range(400):
        deep = {
            "method": {"method": "OneVsRest", "input": "probabilities", "settings": deep},
            "normalise": True,
            "multilabel": False,
        }
    with pytest.raises(SchemaError):
        load_recalibrator(json.dumps(saved | {"settings": deep}))
