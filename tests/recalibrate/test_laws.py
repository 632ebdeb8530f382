"""Laws over the table of recalibrators: whoever is in it obeys them."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

from believable import CellStats, Predictions
from believable.errors import InputError, LimitWarning, SchemaError, SmallSampleWarning, UndefinedError
from believable.recalibrate import RECALIBRATORS, load_recalibrator
from believable.recalibrate.base import BinaryRecalibrator
from tests.recalibrate.data import binary, logit, multiclass, softmax

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")

ALL = pytest.mark.parametrize("cls", RECALIBRATORS.values(), ids=RECALIBRATORS)


def those(condition):
    """The recalibrators that a law is about."""
    chosen = {name: cls for name, cls in RECALIBRATORS.items() if condition(cls)}
    return pytest.mark.parametrize("cls", chosen.values(), ids=chosen)


KINDS = pytest.mark.parametrize("kind", ["one event", "two columns", "four classes"])

# A constant added to a row of logits changes their map, by definition.
KNOWS_ROW_CONSTANTS = {"VectorScaling", "MatrixScaling", "StructuredScaling"}

# The weights of its maps come from random folds: a repeated row may fall in another fold than its copy, and the folds
# of several classes depend on the order of their columns.
WEIGHS_BY_FOLDS = {"AveragedCalibration"}


def data_of(kind):
    if kind == "four classes":
        return multiclass()
    p, y = binary()
    return (p, y) if kind == "one event" else (np.column_stack([1 - p, p]), y)


def fitted(cls, X, y, sample_weight=None, **settings):
    return cls(**settings).fit(X, y, sample_weight=sample_weight)


@ALL
def test_facts(cls):
    """Each says what it keeps, what it advises and where it comes from, and teaches in its docstring."""
    facts = cls.facts
    assert facts.alias.islower()
    assert facts.reference
    assert (facts.simplicity == 0) == (cls.__name__ == "Identity")
    assert facts.simplicity <= 9
    assert facts.fewest >= 1
    doc = inspect.getdoc(cls)
    assert doc.splitlines()[0].endswith(".")
    assert "References" in doc
    assert ">>>" in doc
    assert all(p.kind is p.KEYWORD_ONLY or name == "method" for name, p in inspect.signature(cls).parameters.items())


def test_aliases_are_distinct():
    """No two recalibrators share an alias."""
    aliases = [cls.facts.alias for cls in RECALIBRATORS.values()]
    assert len(set(aliases)) == len(aliases)


@ALL
@KINDS
def test_shapes_and_range(cls, kind):
    """Outputs are probabilities: (n, K) from predict_proba, rows summing to one; transform gives the shape of X."""
    X, y = data_of(kind)
    model = fitted(cls, X, y)
    p = model.predict_proba(X)
    assert p.shape == (len(X), 4 if kind == "four classes" else 2)
    assert p.dtype == np.float64
    assert p.min() >= 0
    assert p.max() <= 1
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    assert model.transform(X).shape == X.shape
    np.testing.assert_array_equal(model.transform(X), p[:, 1] if X.ndim == 1 else p)
    np.testing.assert_array_equal(model.predict(X), p.argmax(axis=1))
    assert is_classifier(model)
    if X.ndim == 1:
        np.testing.assert_array_equal(model.transform(X[:, None]), p[:, 1:])


@ALL
def test_not_fitted(cls):
    """Before fitting there is nothing to apply or to save."""
    for call in (lambda m: m.transform([0.5]), lambda m: m.predict([0.5]), lambda m: m.to_json()):
        with pytest.raises(NotFittedError):
            call(cls())


@ALL
def test_two_columns_equal_one(cls):
    """Two columns give what their second one gives alone."""
    p, y = binary()
    one = fitted(cls, p, y).predict_proba(p)
    two = fitted(cls, np.column_stack([1 - p, p]), y).predict_proba(np.column_stack([1 - p, p]))
    np.testing.assert_allclose(one, two, atol=1e-12)
    z = logit(p)
    for shift in (0, 3):
        columns = np.column_stack([np.full_like(z, shift), z + shift])
        one = fitted(cls, z, y, input="logits").predict_proba(z)
        two = fitted(cls, columns, y, input="logits").predict_proba(columns)
        np.testing.assert_allclose(one, two, atol=1e-9)


@ALL
@KINDS
def test_row_order_does_not_matter(cls, kind):
    """The same rows in another order give the same map."""
    X, y = data_of(kind)
    order = np.random.default_rng(1).permutation(len(y))
    one, two = (fitted(cls, X[rows], y[rows]).transform(X) for rows in (slice(None), order))
    np.testing.assert_allclose(one, two, atol=1e-8)


@those(lambda cls: cls.__name__ not in WEIGHS_BY_FOLDS)
@KINDS
def test_weights_are_repetitions(cls, kind):
    """Weight 2 is the row twice and weight 0 no row."""
    X, y = data_of(kind)
    times = np.random.default_rng(2).integers(0, 4, len(y))
    repeated = fitted(cls, np.repeat(X, times, axis=0), np.repeat(y, times))
    weighted = fitted(cls, X, y, sample_weight=times)
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-7)


@those(lambda cls: cls.__name__ not in WEIGHS_BY_FOLDS)
def test_relabelled_classes(cls):
    """Columns and labels in another order give the columns in that order."""
    p, labels = multiclass()
    order = np.array([2, 0, 3, 1])
    position = np.argsort(order)
    one = fitted(cls, p, labels).transform(p)
    two = fitted(cls, p[:, order], position[labels]).transform(p[:, order])
    np.testing.assert_allclose(two, one[:, order], atol=1e-7)


@ALL
@KINDS
def test_nothing_is_modified(cls, kind):
    """Read-only arrays can be fitted and mapped, and lists give the same."""
    X, y = data_of(kind)
    given = X.copy()
    model = fitted(cls, X, y)
    np.testing.assert_array_equal(X, given)
    np.testing.assert_array_equal(fitted(cls, X.tolist(), y.tolist()).transform(X), model.transform(X))


@those(lambda cls: cls.__name__ not in KNOWS_ROW_CONSTANTS)
@KINDS
def test_logits_say_what_probabilities_say(cls, kind):
    """Fitted on logits it maps them as it maps the probabilities they stand for."""
    X, y = data_of(kind)
    z = logit(X) if X.ndim == 1 else np.log(X) + 5
    np.testing.assert_allclose(
        fitted(cls, z, y, input="logits").transform(z), fitted(cls, X, y).transform(X), atol=1e-7
    )


@ALL
@KINDS
def test_json_round_trip(cls, kind):
    """What was saved and loaded maps new scores to the same bits, and can be fitted again with the same settings."""
    X, y = data_of(kind)
    model = fitted(cls, X, y)
    loaded = load_recalibrator(model.to_json())
    assert type(loaded) is cls
    new = np.random.default_rng(3).random(X.shape if X.ndim == 1 else (50, X.shape[1]))
    new = new if X.ndim == 1 else new / new.sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))
    np.testing.assert_array_equal(loaded.classes_, model.classes_)
    assert loaded.to_json() == model.to_json()
    np.testing.assert_allclose(loaded.fit(X, y).transform(X), model.transform(X), atol=1e-12)


@ALL
def test_named_classes_survive(cls, tmp_path):
    """Names of classes are kept in the order of the columns, also in a file."""
    p, labels = multiclass()
    names = ["wolf", "ant", "cat", "bee"]
    y = np.array(names)[labels]
    model = cls(classes=names).fit(p, y)
    np.testing.assert_allclose(model.transform(p), fitted(cls, p, labels).transform(p), atol=1e-12)
    model.to_json(tmp_path / "map.json")
    loaded = load_recalibrator(tmp_path / "map.json")
    assert loaded.predict(p).tolist() == model.predict(p).tolist()
    assert set(model.predict(p)) <= set(names)


def damaged(saved):
    """Copies of a saved recalibrator, each with one thing wrong."""
    for name in saved:
        without = copy.deepcopy(saved)
        del without[name]
        yield f"without {name}", without
        for wrong in (None, "__import__('os')", -1, [], {}, True, 1e999):
            changed = copy.deepcopy(saved)
            changed[name] = wrong
            if changed[name] != saved[name]:
                yield f"{name}={wrong!r}", changed
    for name in saved["maps"][0]:
        for wrong in (None, "eval", [], [[]], {}, True, [None], [[1.0], [2.0, 3.0]], 1e999, [1e999], 10**400):
            changed = copy.deepcopy(saved)
            changed["maps"][0][name] = wrong
            yield f"map {name}={wrong!r}", changed
        if isinstance(saved["maps"][0][name], list):
            changed = copy.deepcopy(saved)
            changed["maps"][0][name] = changed["maps"][0][name][:-1]
            yield f"map {name} cut", changed
    changed = copy.deepcopy(saved)
    changed["maps"][0]["more"] = 1
    yield "another field", changed
    changed = copy.deepcopy(saved)
    changed["maps"] = changed["maps"] * 2
    yield "maps twice", changed
    changed = copy.deepcopy(saved)
    changed["settings"]["more"] = 1
    yield "another setting", changed


@pytest.mark.slow
@ALL
@KINDS
def test_damaged_files_are_refused(cls, kind):
    """Whatever is missing, foreign, infinite or of another type is a SchemaError."""
    X, y = data_of(kind)
    saved = json.loads(fitted(cls, X, y).to_json())
    for what, changed in damaged(saved):
        try:
            loaded = load_recalibrator(json.dumps(changed))
        except SchemaError:
            continue
        pytest.fail(f"{what} was read as {loaded!r} with {loaded.maps_!r}")


@ALL
def test_clone_and_pickle(cls):
    """A clone has the settings and no map; a pickle has both."""
    p, y = binary()
    model = fitted(cls, p, y)
    other = clone(model)
    assert not hasattr(other, "maps_")
    assert repr(other) == repr(model)
    np.testing.assert_array_equal(other.fit(p, y).transform(p), model.transform(p))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(p), model.transform(p))


@ALL
def test_what_is_kept(cls):
    """Argmax and ranking are kept where the facts say so."""
    p, labels = multiclass()
    if cls.facts.argmax:
        np.testing.assert_array_equal(fitted(cls, p, labels).transform(p).argmax(axis=1), p.argmax(axis=1))
    x, y = binary()
    model = fitted(cls, x, y)
    steps = np.diff(model.transform(np.linspace(0.001, 0.999, 500)))
    if cls.facts.ranking in ("strict", "by slope"):
        assert steps.min() > 0
    elif cls.facts.ranking == "weak":
        assert steps.min() >= -1e-15


@those(lambda cls: cls.facts.identity)
@pytest.mark.parametrize("kind", ["one event", "four classes"])
def test_identity_is_reachable(cls, kind):
    """Where the facts say so, scores that are right in every row are left as they are."""
    X, _ = data_of(kind)
    columns = np.column_stack([1 - X, X]) if X.ndim == 1 else X
    n, n_classes = columns.shape
    model = fitted(
        cls, np.repeat(X, n_classes, axis=0), np.tile(np.arange(n_classes), n), sample_weight=columns.ravel()
    )
    np.testing.assert_allclose(model.transform(X), X, atol=2e-6)


@pytest.mark.slow
@ALL
@KINDS
def test_extreme_scores(cls, kind):
    """Zeros, ones and logits as far apart as 10^4, in float32 too, give probabilities and no warning of NumPy's."""
    X, y = (np.array(part) for part in data_of(kind))
    X[:20] = np.eye(4)[y[:20]] if kind == "four classes" else np.eye(2)[y[:20]] if X.ndim == 2 else y[:20]
    z = np.random.default_rng(0).normal(size=X.shape) * 1e4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        for scores, settings in ((X, {}), (z.astype(np.float32), {"input": "logits"}), (z, {"input": "logits"})):
            p = fitted(cls, scores, y, **settings).predict_proba(scores)
            assert np.isfinite(p).all()
            assert p.min() >= 0
            np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-9)


@ALL
def test_constant_scores_and_few_rows(cls):
    """One score for all, or two rows, give probabilities, not NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        for X, y in (
            ([0.3] * 30, [0, 1, 1] * 10),
            ([0.2, 0.7], [0, 1]),
            ([0.2, 0.7], [1, 0]),
            ([0.0, 0.5, 1.0], [1, 0, 0]),
        ):
            p = fitted(cls, X, y).transform([0.0, 0.1, 0.3, 0.9, 1.0])
            assert np.isfinite(p).all()
            assert p.min() >= 0
            assert p.max() <= 1


@those(lambda cls: "probabilities" in cls.inputs)
def test_predicted_classes_are_refused(cls):
    """Scores of 0 and 1 only are what `predict` returns, and no map is learnt from them."""
    said = "all predictions are 0 or 1: these look like predicted classes, not probabilities; pass predict_proba"
    with pytest.raises(InputError, match=said):
        cls().fit([0.0, 1.0] * 20, [0, 1, 1, 0] * 10)


@those(lambda cls: cls.facts.fewest > 2)
def test_few_rows_are_warned_about(cls):
    """Fewer rows of the rarer class than advised give a warning that says how many."""
    p, y = binary()
    rows = np.concatenate([np.flatnonzero(y == 0)[:50], np.flatnonzero(y == 1)[:2]])
    sentence = f"2 rows of the rarest class; with fewer than {cls.facts.fewest}"
    with pytest.warns(SmallSampleWarning, match=sentence) as caught:
        cls().fit(p[rows], y[rows])
    assert {each.filename for each in caught} == {__file__}, "a warning points at the line of the user's"


@ALL
def test_one_class_only(cls):
    """One class alone is refused with a sentence."""
    with pytest.raises(InputError, match="y has only one class, 1"):
        cls().fit([0.2, 0.6, 0.7], [1, 1, 1])


@pytest.mark.slow
@ALL
def test_absent_class_is_kept(cls):
    """A class without rows keeps its column, and all is finite."""
    p, labels = multiclass()
    rows = labels != 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        if cls.__name__ == "PriorShift":
            with pytest.raises(InputError):
                cls().fit(p[rows], labels[rows])
            return
        out = fitted(cls, p[rows], labels[rows]).transform(p)
    assert out.shape == p.shape
    assert np.isfinite(out).all()
    np.testing.assert_allclose(out.sum(axis=1), 1, atol=1e-9)


@pytest.mark.slow
@ALL
def test_cells(cls):
    """From cells comes nearly what comes from rows, for one event and for classes; or a sentence why not."""
    p, y = binary(2000)
    cells = CellStats.of(Predictions(p, y))
    if not cls.facts.cells:
        with pytest.raises(UndefinedError, match="needs the rows"):
            cls().fit_from_cells(cells)
        return
    # On average: two scores that share a cell may lie on either side of a step. BBQ weighs binnings by their evidence,
    # which one row on the other side changes severalfold; rows that move by half a cell change it as much. An average
    # weighs its maps by folds, and those of cells are other random folds than those of rows.
    loose = 100 if cls.__name__ in {"BBQ", *WEIGHS_BY_FOLDS} else 1
    assert np.abs(cls().fit_from_cells(cells).transform(p) - fitted(cls, p, y).transform(p)).mean() < 1e-4 * loose
    matrix, labels = multiclass(2000)
    source = Predictions(matrix, labels)
    if not issubclass(cls, BinaryRecalibrator):
        with pytest.raises(UndefinedError, match="needs the rows"):
            cls().fit_from_cells(CellStats.of(source, source.view("classwise")))
        return
    model = cls().fit_from_cells(CellStats.of(source, source.view("classwise")))
    gap = np.abs(model.transform(matrix) - fitted(cls, matrix, labels).transform(matrix))
    assert gap.mean() < max(1e-3, 1e-4 * loose)


@ALL
def test_bad_input_is_refused(cls):
    """Logits for probabilities, missing values, other columns and unknown words are sentences."""
    p, y = binary()
    with pytest.raises(
        InputError, match=r"X must lie in \[0, 1\], got 3.2 at row 0; these look like logits: create the recalibrator"
    ):
        cls().fit([3.2, 0.1], [1, 0])
    with pytest.raises(InputError, match="NaN"):
        cls().fit([np.nan, 0.1], [1, 0])
    with pytest.raises(InputError, match="input must be one of"):
        cls(input="odds").fit(p, y)
    with pytest.raises(ValueError, match="features"):
        fitted(cls, p, y).transform(softmax(np.ones((3, 5))))
    with pytest.raises(InputError, match="must not be negative"):
        cls().fit(p, y, sample_weight=-np.ones(len(y)))
