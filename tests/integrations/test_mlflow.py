"""MLflow: what is logged to a run in a database and in files, and the evaluator in `mlflow.models.evaluate`."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import believable
from believable.errors import InputError
from believable.report import Audit
from tests.needs import need

mlflow = need("mlflow")
pd = pytest.importorskip("pandas")

from believable.integrations import mlflow as ours  # noqa: E402
from believable.integrations.mlflow import log_audit, log_calibration  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # those of MLflow and of what it uses; ours are tested by name

RNG = np.random.default_rng(0)
HOSTILE = ["a/b", "a_b", "..", "", "é ü", "<script>", "0.5", "x" * 300]


def pytest_generate_tests(metafunc):
    """Run tests in a database and in files; those of a `database` in that alone."""
    if "uri" in metafunc.fixturenames:
        kinds = ["sqlite"] if "database" in metafunc.fixturenames else ["sqlite", "files"]
        metafunc.parametrize("uri", kinds, indirect=True, scope="module")


@pytest.fixture(scope="module")
def uri(request, tmp_path_factory):
    """A tracking store: a database, or files."""
    folder = tmp_path_factory.mktemp(request.param)
    return f"sqlite:///{folder}/mlflow.db" if request.param == "sqlite" else folder.as_uri()


@pytest.fixture
def store(uri, tmp_path, monkeypatch):
    """An experiment of its own in a store."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(uri)
    made = mlflow.create_experiment(tmp_path.name, artifact_location=(tmp_path / "artifacts").as_uri())
    mlflow.set_experiment(experiment_id=made)
    yield uri.partition(":")[0]
    while mlflow.active_run():
        mlflow.end_run()


@pytest.fixture
def database(store):
    """An experiment in a database, where the kind of store makes no difference."""
    assert store == "sqlite"


def binary(n=300, power=1.6):
    """Scores that are too high, and outcomes."""
    scores = RNG.random(n)
    return scores, (RNG.random(n) < scores**power).astype(int)


def logged(run):
    """The metrics, tags and artifacts of a run."""
    data = mlflow.get_run(run.info.run_id).data
    return data.metrics, {name: value for name, value in data.tags.items() if not name.startswith("mlflow.")}


def content(run, path):
    """The bytes of an artifact."""
    with open(mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path=path), "rb") as file:
        return file.read()


def artifacts(run, folder=None):
    """The paths of all artifacts below a folder."""
    found = []
    for one in mlflow.MlflowClient().list_artifacts(run.info.run_id, folder):
        found += artifacts(run, one.path) if one.is_dir else [one.path]
    return sorted(found)


# --- log_audit --------------------------------------------------------------------------------------------------------


def test_an_audit_is_logged(store):
    """Numbers equal those of the audit; the page, the data and the picture can be read again."""
    audit = believable.audit(*binary(), title="a <b>title</b> / $x$ é")
    with mlflow.start_run() as run:
        log_audit(audit)
    metrics, tags = logged(run)
    for one in audit.metrics:
        assert metrics[f"calibration/{one.alias}"] == one.value
        ends = {"low": one.low, "high": one.high, "noise_floor": one.floor}
        for end, value in ends.items():
            assert metrics.get(f"calibration/{one.alias}_{end}") == value
    assert metrics["calibration/rows"] == 300
    assert metrics["calibration/mean_prediction"] == audit.verdict.predicted
    assert metrics["calibration/observed_rate"] == audit.verdict.observed
    assert metrics["calibration/miscalibrated"] == 1
    assert metrics["calibration/recalibrated/ece"] == audit.fix.changes[2].after
    assert tags == {
        "calibration/answer": audit.verdict.answer,
        "calibration/verdict": audit.verdict.headline,
        "calibration/bins": "10 uniform bins",
        "calibration/recalibration": audit.fix.chosen,
    }
    assert artifacts(run) == ["calibration/audit.html", "calibration/audit.json", "calibration/diagram.png"]
    assert Audit.from_json(content(run, "calibration/audit.json").decode()) == audit
    assert content(run, "calibration/audit.html").decode() == audit.to_html()
    assert content(run, "calibration/diagram.png").startswith(b"\x89PNG")


def test_steps_prefixes_and_runs(store):
    """Steps keep the history and their artifacts, a prefix begins all names, and a run can be named."""
    with mlflow.start_run() as run:
        audits = [
            log_calibration(
                *binary(), step=step, prefix="val/", picture=False, fix=False, sample_weight=RNG.random(300)
            )
            for step in (1, 2)
        ]
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "val/calibration/ece")
    assert [(one.step, one.value) for one in history] == [(i + 1, audit["ece"].value) for i, audit in enumerate(audits)]
    assert all(audit.weighted for audit in audits)
    files = ["audit.html", "audit.json"]
    assert artifacts(run) == [f"val/calibration/step_{step}/{file}" for step in (1, 2) for file in files]
    for where in (run.info.run_id, run):
        log_audit(audits[0], where, prefix=f"other{type(where).__name__}_", page=False, picture=False)
    assert mlflow.active_run() is None
    metrics, _ = logged(run)
    assert metrics["otherstr_calibration/ece"] == metrics["otherActiveRun_calibration/ece"] == audits[0]["ece"].value
    log_audit(audits[0], page=False, picture=False)  # as MLflow does, this starts a run
    assert logged(mlflow.active_run())[0]["calibration/ece"] == audits[0]["ece"].value


def test_classes_and_subgroups_with_hostile_names(store):
    """Every class and every subgroup has its numbers under a legal name of its own."""
    scores = RNG.dirichlet(np.ones(4), 800)
    names = np.array(["a/b", "a_b", "..", "<i>é"])
    labels = names[[RNG.choice(4, p=row) for row in scores]]
    groups = {"part $/<b>": np.resize(HOSTILE, 800), "part": np.resize(["1", "2"], 800)}
    audit = believable.audit(believable.Predictions(scores, labels, classes=names), by=groups, fix=False)
    with mlflow.start_run() as run:
        log_audit(audit, page=False, picture=False)
    metrics, _ = logged(run)
    for folder, parts in (("classes", audit.parts), ("subgroups", audit.subgroups)):
        kept = sorted(
            value
            for name, value in metrics.items()
            if name.startswith(f"calibration/{folder}/") and name.endswith("/ece")
        )
        assert kept == sorted(part.ece for part in parts)
    assert len(audit.parts) == 4
    assert len(audit.subgroups) == 10
    assert metrics["calibration/subgroups/part/1/rows"] == 400
    assert metrics["calibration/classes/a_b/ece"] == next(part.ece for part in audit.parts if part.name == "a_b")
    assert metrics["calibration/mean_confidence"] == audit.verdict.predicted


def test_an_infinite_log_loss(store):
    """Databases replace infinity by the largest number; nothing is NaN, and undefined numbers are left out."""
    with mlflow.start_run() as run:
        audit = log_calibration([0.0, 1.0, 0.5, 0.4] * 30, [1, 1, 0, 1] * 30, fix=False)
    metrics, _ = logged(run)
    assert audit["nll"].value == math.inf
    assert metrics["calibration/nll"] == (np.finfo(float).max if store == "sqlite" else math.inf)
    assert not any(math.isnan(value) for value in metrics.values())
    assert "calibration/slope_noise_floor" not in metrics


def test_more_numbers_than_a_request_may_have(store):
    """MLflow takes 1,000 metrics at once; hundreds of subgroups have more."""
    audit = believable.audit(*binary(1000), by={"site": np.arange(1000) // 40}, fix=False)
    audit = replace(audit, subgroups=tuple(replace(part, name=str(i)) for i, part in enumerate(audit.subgroups * 8)))
    with mlflow.start_run() as run:
        log_audit(audit, page=False, picture=False)
    metrics, _ = logged(run)
    assert metrics["calibration/subgroups/site/199/rows"] == 40
    assert len(metrics) > 1000


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda audit: log_audit({}), "audit must be an Audit, which believable.audit returns, got dict"),
        (lambda audit: log_audit(audit, 3), "run must be an MLflow run or its ID, got int"),
        (lambda audit: log_audit(audit, prefix="a b"), "prefix must consist of letters"),
        (lambda audit: log_audit(audit, prefix="../"), "prefix must consist of letters"),
        (lambda audit: log_audit(audit, prefix="a//b"), "prefix must consist of letters"),
        (lambda audit: log_audit(audit, prefix="a" * 101), "prefix must have at most 100 characters, got 101"),
        (lambda audit: log_audit(audit, page="yes"), "page must be True or False"),
    ],
)
def test_wrong_uses_are_named(database, call, message):
    """Before anything is logged."""
    audit = believable.audit(*binary(200), fix=False)
    with pytest.raises(InputError, match=message):
        call(audit)
    assert mlflow.search_runs().empty


# --- the evaluator ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows():
    """Features, outcomes of two classes and of three, and names for these."""
    X, y = make_classification(600, 8, n_informative=4, n_classes=3, n_clusters_per_class=1, random_state=0)
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(8)]), y


def as_logged(model):
    """Log a classifier, without the search for what it requires, which takes long."""
    return mlflow.sklearn.log_model(model, name="model", pip_requirements=["scikit-learn"])


def evaluate(model, data, config=None, **options):
    """Call MLflow, with what all calls share."""
    options = {"targets": "y", "model_type": "classifier", "evaluators": ["believable"]} | options
    given = None if config is None else {"believable": config} if options["evaluators"] else config
    return mlflow.models.evaluate(model, data, evaluator_config=given, **options)


def test_the_evaluator_is_found():
    """By its entry point, for classifiers only."""
    from mlflow.models.evaluation import list_evaluators

    from believable.integrations.mlflow import CalibrationEvaluator

    assert "believable" in list_evaluators()
    assert CalibrationEvaluator.can_evaluate(model_type="classifier", evaluator_config={})
    assert not CalibrationEvaluator.can_evaluate(model_type="regressor", evaluator_config={})


@pytest.mark.parametrize("evaluators", [["believable"], "believable", ["default", "believable"], None])
def test_a_model_of_scikit_learn(database, rows, evaluators):
    """Its predict_proba is audited, alone and beside the evaluators of MLflow; the result can be saved and loaded."""
    X, y = rows
    y = np.where(y == 0, "no", "yes")
    model = GaussianNB().fit(X[:300], y[:300])
    data = X[300:].assign(y=y[300:])
    with mlflow.start_run() as run:
        info = as_logged(model)
        options = {"n_bins": 15, "level": 0.9} if evaluators == ["believable"] else {}
        config = options or {"log_model_explainability": False}
        if isinstance(evaluators, list) and len(evaluators) == 2:
            config = {"default": config}
        elif isinstance(evaluators, list):
            config = {"believable": config}
        result = mlflow.models.evaluate(
            info.model_uri, data, targets="y", model_type="classifier", evaluators=evaluators, evaluator_config=config
        )
    expected = believable.audit(model.predict_proba(X[300:])[:, 1], y[300:] == "yes", **options)
    assert result.metrics["calibration/ece"] == expected["ece"].value
    assert result.metrics["calibration/ece_high"] == expected["ece"].high
    assert ("accuracy_score" in result.metrics) == (evaluators is None or "default" in evaluators)
    metrics, tags = logged(run)
    assert {name: metrics[name] for name in result.metrics} == result.metrics
    assert tags["calibration/answer"] == expected.verdict.answer
    found = Audit.from_dict(result.artifacts["calibration_audit"].content)
    assert found["ece"] == expected["ece"]
    assert result.artifacts["calibration_page"].content == found.to_html()
    assert result.artifacts["calibration_diagram"].content.size == (720, 990)
    result.save("kept")
    again = mlflow.models.EvaluationResult.load("kept")
    assert again.metrics == result.metrics
    assert again.artifacts["calibration_page"].content == found.to_html()


def test_three_classes_weights_subgroups_and_clusters(database, rows):
    """Columns of the data and arrays are the same thing, and the numbers are those of `audit`."""
    X, y = rows
    names = np.array(["cat", "dog", "eel"])[y]
    model = LogisticRegression().fit(X[:300], names[:300])
    weight, site, patient = RNG.random(300), np.resize(["n/s", "w"], 300), np.arange(300) // 4
    expected = believable.audit(
        believable.Predictions(model.predict_proba(X[300:]), names[300:], classes=model.classes_, sample_weight=weight),
        by={"site": site},
        clusters=patient,
        fix=False,
    )
    data = X[300:].assign(y=names[300:])
    with_columns = data.assign(site=site, weight=weight, patient=patient)
    info = as_logged(model)
    as_columns = {"by": "site", "sample_weights": "weight", "clusters": "patient", "fix": False}
    as_arrays = {"by": {"site": site}, "sample_weights": weight, "clusters": patient, "fix": False, "page": False}
    for rows_of_data, config in ((with_columns, as_columns), (data, as_arrays)):
        result = evaluate(info.model_uri, rows_of_data, config)
        assert result.metrics["calibration/ece"] == expected["ece"].value
        kept = sorted(value for name, value in result.metrics.items() if name.endswith("/ece") and "/site/" in name)
        assert kept == sorted(part.ece for part in expected.subgroups)
        assert ("calibration_page" in result.artifacts) == ("page" not in config)
    assert expected.n_clusters == 75


@pytest.fixture
def given(database, rows, monkeypatch):
    """Return a call that evaluates, and returns the predictions that were audited."""
    seen = []
    audit = believable.audit(*binary(200), fix=False)
    monkeypatch.setattr(ours, "made_audit", lambda predictions, **_: seen.append(predictions) or audit)

    def call(model, data, config=None, **options):
        evaluate(model, data, {"page": False, "picture": False, **(config or {})}, **options)
        return seen[-1]

    return call


def same(a, b, tolerance=0.0):
    """Whether two predictions have the same scores and outcomes."""
    return a.kind == b.kind and np.array_equal(a.labels, b.labels) and np.abs(a.scores - b.scores).max() <= tolerance


def test_functions_return_probabilities(given, rows):
    """Of the event, of two classes, of three, as a data frame, or as logits."""
    X, y = rows
    two, names = (y > 0).astype(int), np.array(["z", "m", "a"])[y]
    P, Q = LogisticRegression().fit(X, two).predict_proba(X), LogisticRegression().fit(X, y).predict_proba(X)
    data, data_of_three = X.assign(y=two), X.assign(y=y)
    event, three = believable.Predictions(P[:, 1], two), believable.Predictions(Q, y)
    for output in (P[:, 1], P, P[:, 1:], pd.DataFrame({"p": P[:, 1]}), pd.Series(P[:, 1]), list(P[:, 1])):
        assert same(given(lambda X, output=output: output, data), event)
    for logits in (np.log(P), np.log(P[:, 1] / P[:, 0])):
        assert same(given(lambda X, logits=logits: logits, data, {"from_logits": True}), event, 1e-12)
    both = pd.DataFrame({"p": P[:, 1], "class": two})
    assert same(given(lambda X: both, data, predictions="p"), event)
    assert same(given(lambda X: Q, data_of_three), three)
    assert same(given(lambda X: np.log(Q), data_of_three, {"from_logits": True}), three, 1e-6)
    frame = pd.DataFrame({"label": y, "a": Q[:, 0], "b": Q[:, 1], "c": Q[:, 2]})
    assert same(given(lambda X: frame, data_of_three, {"probabilities": ["a", "b", "c"]}), three)
    assert same(given(lambda X: Q, X.assign(y=names), {"classes": ["z", "m", "a"]}), three)
    assert same(given(lambda X: Q, X.assign(y=names), {"classes": ["z", "m", "a"], "pos_label": "a"}), three)


def test_which_label_is_the_event(given, rows):
    """The second of two classes, unless pos_label names the first."""
    X, y = rows
    two = (y > 0).astype(int)
    P = LogisticRegression().fit(X, two).predict_proba(X)
    data = X.assign(y=np.where(two == 1, "no", "yes"))  # the second column is the probability of "no"
    event, opposite = believable.Predictions(P[:, 1], two), believable.Predictions(P[:, 0], 1 - two)
    order = {"classes": ["yes", "no"]}
    assert same(given(lambda X: P, data, order), event)
    assert same(given(lambda X: P[:, 1], data, order), event)
    assert same(given(lambda X: P, data, {**order, "pos_label": "yes"}), opposite)
    assert same(given(lambda X: P[:, 0], data, {"pos_label": "yes"}), opposite)
    logits = np.log(P)
    assert same(given(lambda X: logits, data, {**order, "pos_label": "yes", "from_logits": True}), opposite, 1e-12)
    model = LogisticRegression().fit(X, data["y"])  # whose classes are sorted: no, yes
    info = as_logged(model)
    assert same(given(info.model_uri, data), opposite, 1e-5)
    assert same(given(info.model_uri, data, {"pos_label": "no"}), event, 1e-5)


def test_data_with_predictions(given, rows):
    """Without a model: one column, several, lists in a column, and classes beside them for MLflow's evaluator."""
    X, y = rows
    Q = LogisticRegression().fit(X, y).predict_proba(X)
    first, three = believable.Predictions(Q[:, 0], (y == 0).astype(int)), believable.Predictions(Q, y)
    frame = pd.DataFrame(
        {"y": y, "is_first": first.labels, "guess": Q.argmax(1), "p0": Q[:, 0], "p1": Q[:, 1], "p2": Q[:, 2]}
    )
    assert same(given(None, frame, targets="is_first", predictions="p0"), first)
    assert same(given(None, frame, {"probabilities": "p0"}, targets="is_first", predictions="p0"), first)
    both = {"evaluators": ["default", "believable"], "predictions": "guess"}
    assert same(given(None, frame, {"probabilities": ["p0", "p1", "p2"]}, **both), three)
    lists = pd.DataFrame({"y": y, "p": list(Q)})
    assert same(given(None, lists, predictions="p"), three)


def test_arrays_and_prefix(database, rows):
    """Features and targets as arrays; metric_prefix begins the names of metrics, tags and artifacts."""
    X, y = rows
    model = LogisticRegression().fit(X.to_numpy(), y)
    with mlflow.start_run() as run:
        info = as_logged(model)
        result = evaluate(info.model_uri, X.to_numpy(), {"metric_prefix": "val_", "fix": False}, targets=y)
    assert (
        result.metrics["val_calibration/ece"]
        == believable.audit(model.predict_proba(X.to_numpy()), y, fix=False)["ece"].value
    )
    assert "val_calibration_page" in result.artifacts
    assert "val_calibration/audit.html" in artifacts(run)
    assert logged(run)[1]["val_calibration/bins"] == "10 uniform bins"


@pytest.mark.parametrize(
    ("output", "config", "message"),
    [
        (lambda X: np.arange(len(X)) % 2, {"fix": False}, "name the column of probabilities with `probabilities` in evaluator_config"),
        (lambda X: np.arange(len(X)) % 2 * 1.0, {"fix": False}, "name the column of probabilities with `probabilities` in evaluator_config"),
        (lambda X: np.resize(["a", "b"], len(X)), {"fix": False}, "predicted classes, not probabilities"),
        (lambda X: np.linspace(-4, 4, len(X)), {"fix": False}, "these look like logits: set `from_logits` in evaluator_config"),
        (lambda X: np.linspace(0, 1, len(X)), {"probabilities": "q"}, "probabilities names the column 'q', but the columns are x0, "),
        (lambda X: np.linspace(0, 1, len(X)), {"by": "q"}, "by names the column 'q', but the columns are x0, "),
        (lambda X: np.linspace(0, 1, len(X)), {"fix": False, "nbins": 3}, r"no option 'nbins' \(did you mean n_bins\?\)"),
        (lambda X: np.linspace(0, 1, len(X)), {"fix": False, "metric_prefix": "a b"}, "prefix must consist of letters"),
        (lambda X: np.linspace(0, 1, len(X)), {"page": "no"}, "page must be True or False"),
    ],
)  # fmt: skip
def test_bad_configurations_are_named(database, rows, output, config, message):
    """In the words of MLflow's users."""
    X, y = rows
    with pytest.raises(InputError, match=message):
        evaluate(output, X.assign(y=(y > 0).astype(int)), config)


def test_text_labels_need_their_meaning(database, rows):
    """Which label is the event, or which column is which class."""
    X, y = rows
    data = X.assign(y=np.array(["a", "b", "c"])[y])
    with pytest.raises(
        InputError, match="set `classes` in evaluator_config to the labels, in the order of the columns"
    ):
        evaluate(lambda X: np.full((len(X), 3), 1 / 3), data, {"fix": False})
    data = X.assign(y=np.array(["a", "b"])[y % 2])
    with pytest.raises(InputError, match="set `pos_label` in evaluator_config to the label that counts as 1"):
        evaluate(lambda X: np.linspace(0, 1, len(X)), data, {"fix": False})


def test_other_evaluations_go_on(database, rows):
    """A model without probabilities is evaluated by MLflow as if this package were not installed, but for a warning."""
    X, y = rows
    data = X.assign(y=(y > 0).astype(int))
    with pytest.warns(UserWarning, match="the evaluator believable made no audit: .* predicted classes"):
        result = evaluate(lambda X: np.arange(len(X)) % 2, data, {"log_model_explainability": False}, evaluators=None)
    assert "accuracy_score" in result.metrics
    assert not any(name.startswith("calibration/") for name in result.metrics)


def test_the_data_of_an_audit_are_json(database):
    """Other programs can read the artifact."""
    with mlflow.start_run() as run:
        log_calibration(*binary(300), fix=False, picture=False)
    assert json.loads(content(run, "calibration/audit.json"))["n"] == 300
