"""Calibration maps as ONNX graphs, run by ONNX Runtime and compared with `transform`."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from believable.errors import InputError
from believable.recalibrate import (
    RECALIBRATORS,
    AveragedCalibration,
    BetaCDFCalibration,
    IsotonicCalibration,
    PlattScaling,
    Recalibrated,
    TemperatureScaling,
    load_recalibrator,
)
from believable.recalibrate.facts import as_method
from tests.needs import need
from tests.recalibrate.test_portable import cases_of, hard_rows

onnx = need("onnx")
import onnxruntime  # noqa: E402

from believable.integrations.onnx import append_to, to_onnx  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    "ignore::believable.errors.SmallSampleWarning",
    "ignore::DeprecationWarning:skl2onnx",
    "ignore::DeprecationWarning:onnx",
)


def run(model, *inputs):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    return session.run(None, dict(zip(names, inputs, strict=True)))


@cache
def cases(name):
    """The fitted recalibrators of a name, each with scores that are hard for it; fitted once."""
    return [(fitted, np.asarray(scores, np.float64)) for fitted, scores in cases_of(RECALIBRATORS[name])]


# --- the map by itself ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RECALIBRATORS)
@pytest.mark.parametrize("opset", [13, 18])
def test_a_graph_gives_what_python_gives(name, opset):
    """Every recalibrator, on every kind of score: at the ends, on knots, beside them, far out, with zeros."""
    for fitted, scores in cases(name):
        (found,) = run(to_onnx(fitted, opset=opset), scores)
        expected = fitted.transform(scores)
        assert found.shape == expected.shape
        assert found.dtype == np.float64
        assert np.allclose(found, expected, rtol=0, atol=1e-9 if "BetaCDF" in fitted.to_json() else 1e-12), fitted


@pytest.mark.parametrize("name", RECALIBRATORS)
def test_float32_scores(name):
    """A float32 graph gives what Python gives for float32 scores, which it compares with edges in float32."""
    for fitted, scores in cases(name):
        with np.errstate(over="ignore", under="ignore"):
            narrow = scores.astype(np.float32)
        narrow = narrow[np.isfinite(narrow) if narrow.ndim == 1 else np.isfinite(narrow).all(axis=1)]
        (found,) = run(to_onnx(fitted, dtype="float32"), narrow)
        assert found.dtype == np.float32
        assert np.allclose(found, fitted.transform(narrow), rtol=0, atol=1e-6), fitted


def test_every_recalibrator_is_tried():
    """The table of recalibrators and the two tables of formulas name the same."""
    from believable.integrations import onnx as ours

    formulas = {*ours.OF_ONE_EVENT, *ours.OF_ALL_CLASSES, "OneVsRest", "AveragedCalibration"}
    assert formulas == set(RECALIBRATORS)


@pytest.mark.parametrize("name", RECALIBRATORS)
def test_what_python_refuses_is_nan(name):
    """NaN, infinities and logits for probabilities cannot become numbers that look right."""
    for fitted, scores in cases(name):
        bad = [np.nan, np.inf, -np.inf, *([1.5, -0.1] if fitted.input == "probabilities" else [])]
        rows = np.repeat(scores[:1], len(bad), axis=0)
        if rows.ndim == 1:
            rows = np.array(bad)
        else:
            rows[:, 1] = bad
        (found,) = run(to_onnx(fitted), rows)
        spoilt = found if found.ndim == 1 else found[:, 1]
        assert np.isnan(spoilt).all(), (fitted, found)


def test_no_rows_and_many():
    """An empty batch stays empty; a batch of any size has its own shape."""
    rng = np.random.default_rng(0)
    p = rng.random(5000)
    fitted = IsotonicCalibration().fit(p, rng.random(5000) < p**2)
    model = to_onnx(fitted)
    assert run(model, np.empty(0))[0].shape == (0,)
    many = rng.random(100_000)
    assert np.allclose(run(model, many)[0], fitted.transform(many), rtol=0, atol=1e-12)


def test_a_saved_map_becomes_the_same_graph(tmp_path):
    """JSON, its file and the recalibrator give one graph, which says what it is."""
    fitted = PlattScaling().fit([0.1, 0.4, 0.35, 0.8] * 20, np.array(["no", "no", "yes", "yes"] * 20))
    path = tmp_path / "map.json"
    fitted.to_json(path)
    models = [to_onnx(one) for one in (fitted, fitted.to_json(), path, load_recalibrator(path))]
    assert len({model.SerializeToString() for model in models}) == 1
    told = {one.key: one.value for one in models[0].metadata_props}
    assert told["believable.method"] == "PlattScaling"
    assert json.loads(told["believable.classes"]) == ["no", "yes"]
    named = to_onnx(fitted, input_name="p", output_name="q")
    assert ([one.name for one in named.graph.input], [one.name for one in named.graph.output]) == (["p"], ["q"])


def test_the_names_of_what_is_refused():
    """Other objects, opsets and types."""
    p, y = np.linspace(0, 1, 100), np.arange(100) % 3 == 0
    fitted = PlattScaling().fit(p, y)
    with pytest.raises(
        InputError, match=r"must be a fitted recalibrator, or its JSON, got Recalibrated: its map is .m"
    ):
        to_onnx(Recalibrated(GaussianNB(), "platt").fit(p[:, None], y))
    with pytest.raises(InputError, match="got LogisticRegression: fit one"):
        to_onnx(LogisticRegression())
    with pytest.raises(InputError, match="opset must be from 13 to"):
        to_onnx(fitted, opset=12)
    with pytest.raises(InputError, match="dtype must be one of"):
        to_onnx(fitted, dtype="float16")


def test_names_of_inputs_and_outputs():
    """Any two names work, also those that a graph would give to its own values."""
    p = np.linspace(0, 1, 100)
    fitted = IsotonicCalibration().fit(p, np.arange(100) % 3 == 0)
    for names in (("c0", "v0"), ("v1", "c1"), ("n0", "calibration_map_v0"), ("a b/é", 'x"y')):
        (found,) = run(to_onnx(fitted, input_name=names[0], output_name=names[1]), p)
        assert np.allclose(found, fitted.transform(p), rtol=0, atol=1e-12)
    with pytest.raises(InputError, match="output_name must differ from input_name, got 'p'"):
        to_onnx(fitted, input_name="p", output_name="p")
    for name in ("", 3):
        with pytest.raises(InputError, match="input_name must be a name, got"):
            to_onnx(fitted, input_name=name)


@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_logits_at_the_end_of_doubles(method):
    """Differences of logits beyond the largest double are that number, as in Python."""
    rng = np.random.default_rng(0)
    z = rng.normal(0, 2, (300, 3))
    labels = np.argmax(z + rng.normal(0, 2, z.shape), axis=1)
    fitted = as_method(method).set_params(input="logits").fit(z, labels)
    rows = np.array([[1.7e308, -1.7e308, 0.0], [-1.7e308, 1.7e308, 1.7e308]])
    assert np.allclose(run(to_onnx(fitted), rows)[0], fitted.transform(rows), rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore::believable.errors.LimitWarning")
def test_beta_cdf_everywhere():
    """The unrolled continued fraction holds over the whole range of its parameters."""
    p = np.concatenate([np.linspace(0.001, 0.999, 41), np.logspace(-12, -1, 12), [0, 1]])
    model = BetaCDFCalibration().fit(p, np.arange(len(p)) % 2)
    for a in np.logspace(-4, 4, 5):
        for b in np.logspace(-4, 4, 5):
            model.maps_ = ({"a": float(a), "b": float(b)},)
            scores = np.append(p, a / (a + b))
            assert np.allclose(run(to_onnx(model), scores)[0], model.transform(scores), rtol=0, atol=1e-9), (a, b)


# --- the map behind a model -------------------------------------------------------------------------------------------


def converted(model, X, **options):
    from skl2onnx import to_onnx as convert

    return convert(model, X[:1].astype(np.float32), **options)


@pytest.fixture(scope="module")
def binary():
    X, y = make_classification(1200, 6, n_informative=3, n_redundant=3, random_state=0)
    X = X.astype(np.float32)
    model = make_pipeline(StandardScaler(), GaussianNB()).fit(X[:600], y[:600])
    return X, y, model


@pytest.fixture(scope="module")
def species():
    X, y = load_iris(return_X_y=True)
    X, names = X.astype(np.float32), np.array(["setosa", "versicolor", "virginica"])[y]
    return X, names, LogisticRegression(max_iter=1000).fit(X[::2], names[::2])


@pytest.mark.parametrize("zipmap", [True, False])
@pytest.mark.parametrize("method", ["platt", "isotonic", "venn_abers", "bbq", "histogram"])
def test_behind_a_classifier_of_two_classes(binary, zipmap, method):
    """A map of P(second class) joins a model with two columns, in dictionaries or not, and gives two columns."""
    X, y, model = binary
    p = model.predict_proba(X[600:])[:, 1]
    fitted = as_method(method).fit(p, y[600:])
    plain = converted(model, X, options={"zipmap": zipmap})
    joined = append_to(plain, fitted)
    found = run(joined, X)
    assert len(found) == 3
    assert found[2].dtype == np.float32
    before = run(plain, X)
    assert np.array_equal(found[0], before[0])
    scores = np.array([row[1] for row in before[1]]) if zipmap else before[1][:, 1]
    assert np.allclose(found[2][:, 1], fitted.transform(scores.astype(np.float32)), rtol=0, atol=1e-6)
    assert np.allclose(found[2].sum(axis=1), 1)


@pytest.mark.parametrize("zipmap", [True, False])
@pytest.mark.parametrize("method", ["temperature", "dirichlet", "isotonic"])
def test_behind_a_classifier_of_several_classes(species, zipmap, method):
    """A map of all columns joins a model with as many."""
    X, names, model = species
    fitted = Recalibrated(model, method, cv="prefit").fit(X[1::2], names[1::2]).method_
    joined = append_to(converted(model, X, options={"zipmap": zipmap}), fitted, output_name="fixed")
    (*_, found) = run(joined, X)
    assert joined.graph.output[-1].name == "fixed"
    assert np.allclose(found, fitted.transform(run(converted(model, X, options={"zipmap": False}), X)[1]), atol=1e-6)


def test_behind_margins(binary):
    """Logits, as two columns or as one, and in double precision."""
    X, y, _ = binary
    model = LogisticRegression().fit(X[:600], y[:600])
    margin = model.decision_function(X).astype(np.float64)
    fitted = TemperatureScaling(input="logits").fit(margin[600:], y[600:])
    raw = converted(model, X, options={"zipmap": False, "raw_scores": True})
    (*_, found) = run(append_to(raw, fitted), X)
    (_, columns) = run(raw, X)
    difference = columns[:, 1].astype(float) - columns[:, 0]
    assert np.allclose(found[:, 1], fitted.transform(difference), atol=1e-6)
    for shape, info in (((-1,), ["n"]), ((-1, 1), ["n", 1])):
        kind = onnx.TensorProto.DOUBLE
        identity = onnx.helper.make_graph(
            [onnx.helper.make_node("Identity", ["z"], ["margin"])],
            "margins",
            [onnx.helper.make_tensor_value_info("z", kind, info)],
            [onnx.helper.make_tensor_value_info("margin", kind, info)],
        )
        plain = onnx.helper.make_model(identity, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        (_, found) = run(append_to(plain, fitted), margin.reshape(shape))
        assert np.allclose(found, fitted.transform(margin).reshape(shape), rtol=0, atol=1e-12)


def test_two_maps_behind_one_model(binary, tmp_path):
    """A model that has a map can have another, under another name; files work like models."""
    X, y, model = binary
    maps = [Recalibrated(model, method, cv="prefit").fit(X[600:], y[600:]).method_ for method in ("platt", "beta")]
    path = tmp_path / "model.onnx"
    onnx.save(converted(model, X, options={"zipmap": False}), str(path))
    once = append_to(path, maps[0])
    with pytest.raises(InputError, match="something named 'calibrated' already: pass another output_name"):
        append_to(once, maps[1], output="probabilities")
    twice = append_to(once, maps[1], output="probabilities", output_name="by_beta")
    found = run(twice, X)
    for one, columns in zip(maps, found[2:], strict=True):
        assert np.allclose(columns, one.transform(found[1]), atol=1e-6)
    with pytest.raises(InputError, match="2 outputs with floats"):
        append_to(once, maps[1], output_name="by_beta")


def test_maps_that_do_not_fit_the_model(binary, species):
    """Other columns, other outputs and old opsets are named."""
    X, _, model = binary
    plain = converted(model, X, options={"zipmap": False})
    rows = hard_rows("probabilities", 3)
    three = TemperatureScaling().fit(rows, np.argmax(rows, axis=1) * (np.arange(len(rows)) % 5 > 0))
    with pytest.raises(InputError, match=r"the map reads 3 column\(s\), but the output of the model has the shape"):
        append_to(plain, three)
    one = PlattScaling().fit([0.1, 0.4, 0.35, 0.8] * 20, [0, 0, 1, 1] * 20)
    with pytest.raises(InputError, match="the map reads 1"):
        append_to(converted(species[2], species[0], options={"zipmap": False}), one)
    with pytest.raises(InputError, match=r"output must be an output with floats, one of .*, got 'label'"):
        append_to(plain, one, output="label")
    with pytest.raises(InputError, match=r"opset must be from 13 .* got 12: convert the model"):
        append_to(converted(model, X, options={"zipmap": False}, target_opset=12), one)


@pytest.mark.filterwarnings("ignore::believable.errors.LimitWarning")
def test_behind_a_forest_whose_probabilities_are_rounded():
    """Sixty shares of 1/60 in float32 are more than 1, which is no reason for NaN where the forest is most certain."""
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32)
    forest = RandomForestClassifier(60, random_state=0).fit(X, y)
    plain = converted(forest, X, options={"zipmap": False})
    scores = run(plain, X)[1]
    assert scores.max() > 1
    matrix = np.clip(scores.astype(np.float64), 0, 1)
    fitted = TemperatureScaling().fit(matrix / matrix.sum(axis=1, keepdims=True), y)
    found = run(append_to(plain, fitted), X)[-1]
    assert np.allclose(found, fitted.transform(matrix), rtol=0, atol=1e-6)


@pytest.mark.parametrize("zipmap", [True, False])
def test_classes_in_another_order_than_those_of_the_model(binary, species, zipmap):
    """A map of P(bad) does not belong on P(good), nor one of permuted columns on the others."""
    X, y, _ = binary
    words = np.where(y == 1, "bad", "good")
    model = LogisticRegression().fit(X, words)
    fitted = PlattScaling(classes=["good", "bad"]).fit(model.predict_proba(X)[:, 0], words)
    with pytest.raises(
        InputError, match=r"the columns of the model are the classes bad, good, but .* on good, bad: fit"
    ):
        append_to(converted(model, X, options={"zipmap": zipmap}), fitted)
    digits = np.where(y == 1, "1", "0")  # the same classes as those of a model with numbers
    numbers = converted(LogisticRegression().fit(X, y), X, options={"zipmap": zipmap}, target_opset=15)
    append_to(numbers, PlattScaling().fit(model.predict_proba(X)[:, 0], digits))
    X, names, model = species
    order = [2, 0, 1]
    permuted = TemperatureScaling(classes=model.classes_[order].tolist())
    fitted = permuted.fit(model.predict_proba(X)[:, order], names)
    with pytest.raises(InputError, match="but the map was fitted on virginica, setosa, versicolor"):
        append_to(converted(model, X, options={"zipmap": zipmap}), fitted)


def test_what_is_no_model(tmp_path):
    """Other objects and files are named."""
    fitted = PlattScaling().fit([0.1, 0.4, 0.35, 0.8] * 20, [0, 0, 1, 1] * 20)
    with pytest.raises(InputError, match=r"model must be an onnx.ModelProto or its file, got LogisticRegression"):
        append_to(LogisticRegression(), fitted)
    with pytest.raises(InputError, match=r"none.onnx cannot be read as an ONNX model: No such file"):
        append_to(tmp_path / "none.onnx", fitted)
    (tmp_path / "text.onnx").write_text("a text of some length")
    with pytest.raises(InputError, match=r"text.onnx cannot be read as an ONNX model: it is something else"):
        append_to(tmp_path / "text.onnx", fitted)


def test_an_average_behind_a_model(binary):
    """An average of maps is one graph too."""
    X, y, model = binary
    fitted = Recalibrated(model, AveragedCalibration(), cv="prefit").fit(X[600:], y[600:]).method_
    (_, scores, found) = run(append_to(converted(model, X, options={"zipmap": False}), fitted), X)
    assert np.allclose(found, fitted.transform(scores), atol=1e-6)
