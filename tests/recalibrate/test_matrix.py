"""Matrix scaling against its definition and logistic regression."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from believable.errors import InputError, LimitWarning, SchemaError
from believable.recalibrate import MatrixScaling, load_recalibrator
from believable.recalibrate.linear import STRENGTHS, dealt
from tests.needs import decided_by_rounding
from tests.recalibrate.data import softmax
from tests.recalibrate.literal_linear import apply, draw, least, mean_cost, odir

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")


def fitted(z, labels, sample_weight=None, **settings):
    return MatrixScaling(input="logits", **settings).fit(z, labels, sample_weight=sample_weight)


@pytest.mark.parametrize("penalty", [0.05, 2])
def test_literal_definition(penalty):
    """W and b are where the mean cost with ODIR is least."""
    z, labels = draw(80)
    w = np.random.default_rng(1).random(80)

    def cost(c):
        weights, intercepts = c[:9].reshape(3, 3), c[9:]
        return mean_cost(weights, intercepts, z, labels, w) + penalty * odir(weights, intercepts)

    best = least(cost, 12, np.append(np.eye(3).ravel(), np.zeros(3)))
    model = fitted(z, labels, w, penalty=penalty)
    np.testing.assert_allclose(model.weights_.ravel(), best[:9], atol=2e-5)  # a general minimiser's accuracy
    np.testing.assert_allclose(model.intercepts_, best[9:], atol=2e-5)
    np.testing.assert_allclose(model.transform(z), apply(model.weights_, model.intercepts_, z), atol=1e-14)
    assert model.penalty_ == penalty


def test_no_penalty_is_logistic_regression():
    """Without penalty it is scikit-learn's multinomial regression on the logits."""
    z, labels = draw(500, 5)
    peer = LogisticRegression(C=np.inf, solver="newton-cg", tol=1e-10, max_iter=1000).fit(z, labels)
    model = fitted(z, labels, penalty=0)
    np.testing.assert_allclose(model.transform(z), peer.predict_proba(z), atol=1e-8)
    np.testing.assert_allclose(model.weights_.sum(axis=0), 1, atol=1e-9)
    assert model.intercepts_.sum() == pytest.approx(0, abs=1e-9)


def test_one_event_is_symmetric():
    """The logits of one event give W and b that mirror each other, and Platt's line without penalty."""
    z = np.random.default_rng(0).normal(size=300) * 2
    y = (z + np.random.default_rng(1).logistic(size=300) > 0.4).astype(int)
    peer = LogisticRegression(C=np.inf, solver="newton-cg", tol=1e-10).fit(z[:, None], y)
    for penalty in (0, 0.1):
        model = fitted(z, y, penalty=penalty)
        np.testing.assert_allclose(model.weights_, model.weights_[::-1, ::-1], atol=1e-9)
        np.testing.assert_allclose(model.intercepts_, -model.intercepts_[::-1], atol=1e-9)
        if not penalty:
            np.testing.assert_allclose(model.predict_proba(z), peer.predict_proba(z[:, None]), atol=1e-8)


def test_strong_penalty_leaves_a_diagonal():
    """A strong penalty leaves nothing off the diagonal and no intercepts."""
    z, labels = draw(300)
    model = fitted(z, labels, penalty=1e8)
    np.testing.assert_allclose(model.weights_, np.diag(model.weights_.diagonal()), atol=1e-6)
    np.testing.assert_allclose(model.intercepts_, 0, atol=1e-6)


def test_automatic_strength_is_the_best_of_the_grid():
    """ "auto" takes the strength with the least log loss in the folds, to which rows are dealt by their probability."""
    z, labels = draw(150)
    own = np.log(softmax(z))[np.arange(150), labels]
    folds = np.empty(150, int)
    for k in range(3):
        rows = np.flatnonzero(labels == k)
        folds[rows[np.argsort(own[rows])]] = np.arange(len(rows)) % 5
    losses = []
    for strength in STRENGTHS:
        loss = 0.0
        for f in range(5):
            model = fitted(z[folds != f], labels[folds != f], penalty=strength)
            held = model.transform(z[folds == f])[np.arange((folds == f).sum()), labels[folds == f]]
            loss -= np.log(held).sum() / 150
        losses.append(loss)
    assert fitted(z, labels).penalty_ == STRENGTHS[int(np.argmin(losses))]


def test_strong_penalties_that_are_alike_do_not_end_the_search():
    """Scores that are too high in one class need an intercept, which no strong penalty allows: a weak one is found."""
    rng = np.random.default_rng(0)
    z = rng.normal(0.5, 1.5, 4000)
    labels = (rng.random(4000) < 1 / (1 + np.exp(1 - z))).astype(int)
    model = MatrixScaling(input="logits").fit(z, labels)
    assert model.penalty_ < 0.01
    np.testing.assert_allclose(model.transform([0.0, 1.0]), [1 / (1 + np.e), 0.5], atol=0.02)


def test_automatic_strength_ignores_order_and_repetition():
    """Another order of rows, rows twice or weights of two, and another order of classes give the same strength."""
    z, labels = draw(150)
    order = np.random.default_rng(1).permutation(150)
    classes = np.array([2, 0, 1])
    models = [
        fitted(z, labels),
        fitted(z[order], labels[order]),
        fitted(np.repeat(z, 2, axis=0), np.repeat(labels, 2)),
        fitted(z, labels, np.full(150, 2.0)),
        fitted(z[:, classes], np.argsort(classes)[labels]),
    ]
    assert len({model.penalty_ for model in models}) == 1


def test_equal_rows_share_a_fold():
    """Rows of a class with one probability are dealt to one fold."""
    assert dealt(np.array([0.3, 0.1, 0.1, 0.2, 0.1, 0.5]), np.array([0, 0, 0, 0, 1, 1])).tolist() == [2, 0, 0, 1, 0, 1]


def test_no_best_map_is_a_limit():
    """Separated and absent classes take a standard normal prior around the identity, with a sentence."""
    z, labels = draw(200)
    for y, why in ((z.argmax(axis=1), "classes are separated by the scores"), (labels % 2, "1 of the classes do not")):
        with pytest.warns(LimitWarning, match=why):
            model = fitted(z, y, penalty=0)

        def cost(c, y=y):
            weights, intercepts = c[:9].reshape(3, 3), c[9:]
            prior = (np.sum((weights - np.eye(3)) ** 2) + np.sum(intercepts**2)) / (2 * len(y))
            return mean_cost(weights, intercepts, z, y) + prior

        c = np.append(model.weights_.ravel(), model.intercepts_)
        slopes = [(cost(c + s) - cost(c - s)) / 2e-5 for s in 1e-5 * np.eye(12)]
        np.testing.assert_allclose(slopes, 0, atol=1e-8)
    assert 0 < model.transform(z)[:, 2].mean() < 0.03


def test_separation_along_the_diagonal_with_a_penalty():
    """The penalty leaves the diagonal free, so logits that are all right are a limit with it too."""
    z, _ = draw(200)
    with pytest.warns(LimitWarning, match="separated"):
        assert np.isfinite(fitted(z, z.argmax(axis=1), penalty=1).weights_).all()


def test_bad_penalties():
    """A penalty is "auto" or a number that is not negative."""
    z, labels = draw(50)
    for wrong in (-1, "strong", None, np.inf, True):
        with pytest.raises(InputError, match="penalty, unless it is 'auto', must be a number from 0 to inf"):
            fitted(z, labels, penalty=wrong)


def test_saved_maps_of_another_size():
    """Weights and intercepts for another number of classes are refused."""
    z, labels = draw(100)
    text = fitted(z, labels, penalty=1).to_json().replace('"intercepts": [', '"intercepts": [1.0, ')
    with pytest.raises(SchemaError, match=r"the saved intercepts must be for 3 classes, got shape \(4,\)"):
        load_recalibrator(text)


def test_a_constant_per_row_counts():
    """Logits are taken as they came: another constant in each row is another map."""
    z, labels = draw(200)
    shift = np.random.default_rng(1).normal(size=(200, 1))
    gap = fitted(z, labels, penalty=0.1).transform(z) - fitted(z + shift, labels, penalty=0.1).transform(z + shift)
    assert np.abs(gap).max() > 1e-3


def test_no_warning_in_plain_cases():
    """A plain fit says nothing."""
    z, labels = draw(300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for penalty in ("auto", 0, 1):
            fitted(z, labels, penalty=penalty)


@pytest.mark.parametrize("penalty", [0, 0.01, "auto"])
@decided_by_rounding
def test_one_masked_logit(penalty):
    """A logit of float32's lowest number, of a class that did not happen, leaves a map that is better than none."""
    z, labels = draw(400)
    z[0, (labels[0] + 1) % 3] = np.finfo(np.float32).min
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)  # rounding decides whether a best map can be found
        model = MatrixScaling(input="logits", penalty=penalty).fit(z, labels)
    cost = -np.log(model.transform(z)[np.arange(400), labels]).mean()
    assert cost < -np.log(softmax(z)[np.arange(400), labels]).mean()


def test_saved_numbers_that_cannot_be_multiplied():
    """Entries beyond 1e100 are refused."""
    z, labels = draw(100)
    saved = json.loads(MatrixScaling(input="logits", penalty=1).fit(z, labels).to_json())
    saved["maps"][0]["intercepts"][0] = 1e308
    with pytest.raises(SchemaError, match=r"the saved intercepts must lie between -1e\+100 and 1e\+100"):
        load_recalibrator(json.dumps(saved))
