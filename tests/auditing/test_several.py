"""Several models on the same rows are audited each, ranked, and shown on one page."""

from __future__ import annotations

import json

import numpy as np
import pytest

import believable
from believable import Audits, audit, audit_models
from believable.errors import InputError
from believable.readers import load_demo
from tests.auditing.data import few_metrics


@pytest.fixture(scope="module")
def models():
    """The two models of the demo, and one that is the better one with a twist."""
    demo = load_demo()
    p, y = demo["logistic"].scores, demo["logistic"].labels
    return {"bayes": demo["naive_bayes"].scores, "logistic": p, "<b>flat</b>": 0.25 + p / 2}, y


@pytest.fixture(scope="module")
def found(models):
    """Their audits."""
    with pytest.MonkeyPatch.context() as patch:
        few_metrics(patch)
        return audit_models(*models, fix=False)


def test_they_are_ranked_by_log_loss(found, models):
    """The best comes first; each is the audit of its model."""
    scores, y = models
    losses = {name: believable.negative_log_likelihood(p, y) for name, p in scores.items()}
    assert [one.title for one in found] == sorted(losses, key=losses.get)
    assert (len(found), found.best.title, found.score) == (3, "logistic", "log loss")
    assert found["bayes"].verdict == audit(scores["bayes"], y, fix=False).verdict
    assert [one.value - one.other for one in found.behind] == pytest.approx(
        [losses[one.title] - losses["logistic"] for one in found.audits[1:]]
    )
    assert found.ranking == ["logistic has the best log loss.", "<b>flat</b> and bayes are clearly worse."]


def test_models_that_cannot_be_distinguished(models):
    """A hair's breadth is not called worse."""
    scores, y = models
    p = scores["logistic"]
    noise = np.random.default_rng(0).normal(0, 1e-4, len(p))
    close = audit_models({"a": p, "b": np.clip(p + noise, 0.0001, 0.9999)}, y, fix=False)
    assert "cannot be distinguished from it on these rows." in close.ranking[-1]


def test_an_infinite_log_loss_ranks_by_the_brier_score(models):
    """Where a model was certain and wrong, the Brier score decides."""
    scores, y = models
    certain = np.where(np.arange(len(y)) == 0, 1.0 - y[0], scores["logistic"])
    ranked = audit_models({"certain": certain, "bayes": scores["bayes"]}, y, fix=False)
    assert (ranked.score, ranked.best.title) == ("Brier score", "certain")


def test_the_text_has_a_column_for_each(found):
    """Answers first, then a table with the models as columns."""
    lines = str(found).splitlines()
    assert lines[0] == "3 models, 1,797 rows (10 uniform bins)"
    assert lines[2].startswith("logistic: Yes, you can take these scores at face value.")
    heading = lines[lines.index("Side by side, the best first") + 1].split("  ")
    assert [cell.strip() for cell in heading if cell.strip()] == [one.title for one in found]
    assert repr(found).startswith("Audits(logistic: yes, ")
    with pytest.raises(KeyError, match="there is no model 'x'; there are logistic, "):
        found["x"]


def test_the_page_holds_all_and_runs_nothing(found, tmp_path):
    """One small file with a line for each model; names from outside stay text, and there is no script."""
    path = tmp_path / "models.html"
    page = found.to_html(path)
    assert path.read_text(encoding="utf-8") == page
    page = page.replace("\N{NO-BREAK SPACE}", " ")
    assert len(page) < 100_000
    assert "<script" not in page
    assert "<b>flat</b>" not in page
    assert "&lt;b&gt;flat&lt;/b&gt;" in page
    for i, one in enumerate(found):
        assert f'<g class="model m{i}">' in page
        assert one.verdict.headline.partition(". ")[2].replace("'", "&#x27;") in page


def test_json_holds_every_audit(found):
    """Each can be read back."""
    saved = json.loads(found.to_json())
    assert [believable.Audit.from_dict(one) for one in saved["audits"]] == list(found.audits)


def test_what_cannot_be_compared_is_refused(models):
    """Too few, too many, other rows; and audit says which function takes several."""
    scores, y = models
    with pytest.raises(InputError, match="models must be a mapping of names to 2 to 8 models, got 1"):
        audit_models({"a": scores["bayes"]}, y)
    with pytest.raises(InputError, match="got 'list'"):
        audit_models([scores["bayes"]], y)
    with pytest.raises(InputError, match="'b' and 'a' have different outcomes"):
        audit_models(
            {"a": believable.Predictions(scores["bayes"], y), "b": believable.Predictions(scores["bayes"], 1 - y)}
        )
    with pytest.raises(InputError, match="this is a mapping of 3 models: use audit_models"):
        audit(scores, y)
    assert isinstance(audit_models({"a": scores["bayes"], "b": scores["logistic"]}, y, fix=False), Audits)


def test_clusters_widen_the_difference(monkeypatch):
    """Copies of rows say no more than once, in the ranking as in the audits."""
    few_metrics(monkeypatch)
    rng = np.random.default_rng(3)
    p = rng.random(300)
    y = (rng.random(300) < p).astype(int)
    row = np.repeat(np.arange(300), 5)
    models = {"good": p[row], "noisy": np.clip(p + rng.normal(0, 0.1, 300), 0.01, 0.99)[row]}
    (once,) = audit_models({name: one[::5] for name, one in models.items()}, y, fix=False).behind
    (named,) = audit_models(models, y[row], clusters=row, fix=False).behind
    (ignored,) = audit_models(models, y[row], fix=False).behind
    # Bootstrap ends of their own draws.
    assert (named.low, named.high) == pytest.approx((once.low, once.high), abs=0.1 * (once.high - once.low))
    assert ignored.high - ignored.low < 0.6 * (named.high - named.low)


def test_what_would_be_ignored_is_refused(models):
    """Outcomes and weights beside checked predictions, predictions of another kind, and a name that comes again."""
    p, y = models[0]["logistic"], models[1]
    checked = {"a": believable.Predictions(p, y), "b": believable.Predictions(p**2, y)}
    with pytest.raises(InputError, match="already holds its weights"):
        audit_models(checked, sample_weight=np.ones(len(p)))
    with pytest.raises(InputError, match="already holds its actuals"):
        audit_models(checked, 1 - y)
    with pytest.raises(InputError, match="'matrix' has multiclass predictions of 2 classes and 'one' binary ones"):
        audit_models({"one": p, "matrix": np.column_stack([1 - p, p])}, y)
    with pytest.raises(InputError, match="different names"):
        audit_models({1: p, "1": p**2}, y)


def test_confidences_are_called_confidences():
    """Of classes, the average confidence and the accuracy are compared; the accuracy has one row, with its interval."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 300)
    labels = (p.cumsum(axis=1) < rng.random((300, 1))).sum(axis=1)
    rows = [row[0] for row in audit_models({"a": p, "b": p[:, ::-1]}, labels, fix=False).rows()]
    assert "average confidence" in rows
    assert [row for row in rows if row.lower() == "accuracy"] == ["Accuracy"]
    assert not {"average prediction", "observed rate"} & set(rows)
