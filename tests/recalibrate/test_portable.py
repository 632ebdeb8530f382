"""`docs/portable.md` is true: its JavaScript and SQL, run as they are printed, give what Python gives."""

from __future__ import annotations

import json
import re
import subprocess
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from believable.errors import LimitWarning
from believable.recalibrate import (
    BBQ,
    RECALIBRATORS,
    AveragedCalibration,
    BetaCalibration,
    DirichletCalibration,
    HistogramBinning,
    Identity,
    IsotonicCalibration,
    LocalRegressionCalibration,
    LogitSplineCalibration,
    MatrixScaling,
    OneVsRest,
    PlattScaling,
    PriorShift,
    QuadraticScaling,
    ScalingBinning,
    SplineCalibration,
    StructuredScaling,
    TemperatureScaling,
    VectorScaling,
    VennAbers,
    load_recalibrator,
)
from tests.needs import need
from tests.recalibrate.data import binary, logit, multiclass

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "portable.md").read_text()
FORMS = ("probabilities", "logits", "scores")

# Choices that lead to other maps than the defaults do.
MORE = {
    "IsotonicCalibration": [{"between": "steps"}, {"centred": True}],
    "HistogramBinning": [{"strategy": "uniform", "n_bins": 40}, {"smoothing": 1.0}],
    "PriorShift": [{"target": 0.01}],
    "OneVsRest": [{"normalise": False}, {"method": VennAbers()}, {"method": IsotonicCalibration(between="steps")}],
    "MatrixScaling": [{"penalty": 0.01}],
    "VectorScaling": [{"penalty": 0.01}],
    "DirichletCalibration": [{"penalty": 0.01}],
    "LogitSplineCalibration": [{"smoothing": 0.01, "penalty": 0.01}],
    "AveragedCalibration": [
        {"methods": [OneVsRest(VennAbers()), "isotonic"], "weights": [0.4, 0.3]},
        {"methods": [VennAbers(multi_class="ovo")], "weights": [0.7]},
    ],
    "VennAbers": [{"multi_class": "ovo"}],
}
ONLY_MORE = {"MatrixScaling", "VectorScaling", "DirichletCalibration"}  # "auto" is slow, and chooses no other formula
COMPUTED = {"HistogramBinning", "BBQ"}  # whose steps lie at the probabilities of logits, which may round otherwise


def block(language, name=""):
    """The code block of the page that begins with the name of a file."""
    found = [code for code in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if name in code.split("\n")[0]]
    (code,) = found
    return code


def fitted(cls, X, y, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        return cls(**settings).fit(X, y)


def places_of(model):
    """The numbers at which a map has knots or steps."""
    names = ("edges", "scores", "low_from", "high_after")
    found = [one[name] for one in model.maps_ if one for name in names if name in one]
    members = model.members_ if isinstance(model, AveragedCalibration) else ()
    return np.concatenate([*found, *map(places_of, members), [0.25]])


def hard_scores(model, input):
    """One event's scores: anywhere, at the ends, on knots, beside them, beyond those seen."""
    rng = np.random.default_rng(5)
    if input == "probabilities":
        ends = [0, 1, 5e-324, 1e-300, 1e-13, 1e-12, 2e-12, 1 - 1e-13, 1 - 1e-12, 1 - 2e-12, 0.5, 1 - 2**-53]
        x = np.concatenate([ends, rng.random(60), rng.random(20) ** 12, places_of(model)])
        return np.unique(np.clip(np.concatenate([x, np.nextafter(x, 0), np.nextafter(x, 1)]), 0, 1))
    ends = [0, -0.0, 1e4, -1e4, 1e300, -1e300, 1e-300, 27.7, -27.7, 36.8, 40, -40, 710, -746]
    x = np.concatenate([ends, rng.normal(size=60) * 4])
    if type(model).__name__ in COMPUTED and input == "logits":
        return x
    x = np.concatenate([x, places_of(model)])
    return np.concatenate([x, np.nextafter(x, -9e9), np.nextafter(x, 9e9)])


def hard_rows(input, n_classes=4):
    """Rows of columns: anywhere, certain, with zeros, far apart."""
    rng = np.random.default_rng(6)
    if input == "probabilities":
        some = rng.dirichlet(np.full(n_classes, 0.3), 60)
        zeros = some[:10] * (rng.random((10, n_classes)) < 0.5) + 1e-14
        rows = np.concatenate([some, zeros / zeros.sum(axis=1, keepdims=True), np.eye(n_classes)])
        return np.concatenate([rows, np.full((1, n_classes), 1 / n_classes)])
    rows = np.concatenate([rng.normal(size=(60, n_classes)) * scale for scale in (1, 10, 1e3)])
    return np.concatenate([rows, np.zeros((1, n_classes)), 50 * np.eye(n_classes), -1e4 * np.eye(n_classes)])


def cases_of(cls):
    """Fitted models of a class, and scores to try each with."""
    p, y = binary()
    columns, labels = multiclass()
    settings = [*([] if cls.__name__ in ONLY_MORE else [{}]), *MORE.get(cls.__name__, [])]
    for input in (form for form in FORMS if form in cls.inputs):
        for more in settings:
            if input == "scores" and more.get("strategy") == "uniform":
                continue
            x, rows = (p, columns) if input == "probabilities" else (logit(p), np.log(columns) + 3)
            one = fitted(cls, x, y, input=input, **more)
            yield one, hard_scores(one, input)
            two = np.column_stack([1 - x, x] if input == "probabilities" else [1 - x, x + 1])
            yield fitted(cls, two, y, input=input, **more), two[:20]
            if "target" in more:
                more = {"target": [0.5, 0, 0.3, 0.2]}
            yield fitted(cls, rows, labels, input=input, **more), hard_rows(input)
            absent = labels != 1
            if input != "scores" and cls.__name__ != "PriorShift":
                yield fitted(cls, rows[absent], labels[absent], input=input, **more), hard_rows(input)
    if cls in (OneVsRest, AveragedCalibration):
        for input, x in (("probabilities", columns), ("logits", np.log(columns) + 3)):
            happened = np.column_stack([labels == 0, labels < 2, labels != 3])
            yield fitted(cls, x[:, :3], happened, input=input, multilabel=True), hard_rows(input)[:, :3]
            yield fitted(cls, x[:, :2], happened[:, :2], input=input, multilabel=True), hard_rows(input)[:, :2]


# --- the words --------------------------------------------------------------------------------------------------------


def test_the_example_is_what_is_written(tmp_path, monkeypatch):
    """The JSON shown is what the Python shown writes, and it can be read."""
    monkeypatch.chdir(tmp_path)
    exec(compile(block("python"), "portable.md", "exec"), {})
    shown, written = json.loads(block("json")), json.loads((tmp_path / "map.json").read_text())
    assert list(shown) == list(written)
    (shown_map,), (written_map,) = shown.pop("maps"), written.pop("maps")
    assert shown == written
    assert shown_map == pytest.approx(written_map, rel=1e-9)
    assert isinstance(load_recalibrator(block("json")), PlattScaling)


@pytest.mark.parametrize("name", RECALIBRATORS)
def test_every_map_is_in_the_table(name):
    """The table of maps names every method with all its fields."""
    (row,) = (line for line in PAGE.split("\n") if line.startswith("|") and f"`{name}`" in line.split("|")[1])
    shown = re.findall(r"`([a-z_]+)`", row.split("|")[2])
    assert shown == [*(() if name == "OneVsRest" else RECALIBRATORS[name].fields)]


def test_every_field_of_the_file_is_explained():
    """The table of the file names every field there is, in order."""
    part = PAGE[PAGE.index("## The file") : PAGE.index("## From a score")]
    names = re.findall(
        r"`([a-z]+)`", " ".join(line.split("|")[1] for line in part.split("\n") if line.startswith("| `"))
    )
    assert names == list(json.loads(block("json")))


# --- JavaScript -------------------------------------------------------------------------------------------------------

RUN = """
import { readFileSync } from 'node:fs'
import { apply } from './believable.mjs'
const cases = JSON.parse(readFileSync(0, 'utf8'))
console.log(JSON.stringify(cases.map(({ saved, scores }) => scores.map(x => apply(saved, x)))))
"""


def in_javascript(folder, cases):
    (folder / "believable.mjs").write_text(block("js", "believable.mjs"))
    (folder / "run.mjs").write_text(RUN)
    given = json.dumps([{"saved": json.loads(model.to_json()), "scores": x.tolist()} for model, x in cases])
    done = subprocess.run([need("node"), "run.mjs"], cwd=folder, input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("cls", RECALIBRATORS.values(), ids=RECALIBRATORS)
def test_javascript(cls, tmp_path):
    """In JavaScript every map gives what it gives in Python: for one event, two columns, four classes, and labels."""
    need("node")
    cases = list(cases_of(cls))
    close = 1e-9 if cls.__name__ == "BetaCDFCalibration" else 1e-12  # a continued fraction against SciPy's ways
    for (model, x), found in zip(cases, in_javascript(tmp_path, cases), strict=True):
        np.testing.assert_allclose(np.array(found, float), model.transform(x), rtol=0, atol=close, err_msg=repr(model))


def three_classes_with_ties():
    """Three classes have as many pairs as classes; equal ratios of tenths are ties, whatever their rounding."""
    rng = np.random.default_rng(0)
    X = rng.multinomial(10, [0.5, 0.3, 0.2], 150) / 10
    labels = (X.cumsum(axis=1) < rng.random((150, 1)) * (1 - 1e-9)).sum(axis=1)
    return VennAbers(multi_class="ovo").fit(X, labels), X


def test_javascript_of_pairs_of_three_classes(tmp_path):
    """Maps of pairs are not taken for those of classes, and scores on their steps fall on the side they do in Python."""
    need("node")
    model, X = three_classes_with_ties()
    of_classes = load_recalibrator(json.dumps(json.loads(model.to_json()) | {"settings": {}}))
    assert np.abs(of_classes.transform(X) - model.transform(X)).max() > 0.1
    (found,) = in_javascript(tmp_path, [(model, X)])
    np.testing.assert_allclose(found, model.transform(X), rtol=0, atol=1e-12)


def test_javascript_of_beta_cdf_everywhere(tmp_path):
    """The continued fraction holds over the whole range of its parameters."""
    need("node")
    p, y = binary()
    x = np.concatenate([np.linspace(0.001, 0.999, 41), np.logspace(-12, -1, 12)])
    cases = []
    for a in np.logspace(-4, 4, 9):
        for b in np.logspace(-4, 4, 9):
            model = fitted(RECALIBRATORS["BetaCDFCalibration"], p, y)
            model.maps_ = ({"a": float(a), "b": float(b)},)
            cases.append((model, np.append(x, min(a / (a + b), 0.999))))
    for (model, scores), found in zip(cases, in_javascript(tmp_path, cases), strict=True):
        np.testing.assert_allclose(found, model.transform(scores), rtol=0, atol=1e-9, err_msg=repr(model.maps_))


@pytest.mark.parametrize("change", [{"version": 2}, {"schema": "else"}, {"method": "constructor"}])
def test_javascript_refuses_what_it_does_not_know(change, tmp_path):
    """Another version, schema or method is an error in JavaScript too."""
    (tmp_path / "believable.mjs").write_text(block("js", "believable.mjs"))
    (tmp_path / "run.mjs").write_text(RUN)
    given = json.dumps([{"saved": json.loads(block("json")) | change, "scores": [0.5]}])
    done = subprocess.run([need("node"), "run.mjs"], cwd=tmp_path, input=given, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Error: not a map of version 1" in done.stderr or "Error: unknown method constructor" in done.stderr


@pytest.mark.parametrize(
    ("columns", "scores", "sentence"),
    [
        (1, [0.2, 0.8], "a score must be a number"),
        (1, None, "a score must be a number"),
        (2, 0.5, "a row must have 2 columns"),
        (2, [0.2, 0.3, 0.5], "a row must have 2 columns"),
        (2, None, "a row must have 2 columns"),
    ],
)
def test_javascript_refuses_other_shapes(columns, scores, sentence, tmp_path):
    """A row of another length, or a row where a number is wanted, is an error."""
    (tmp_path / "believable.mjs").write_text(block("js", "believable.mjs"))
    (tmp_path / "run.mjs").write_text(RUN)
    given = json.dumps([{"saved": json.loads(block("json")) | {"columns": columns}, "scores": [scores]}])
    done = subprocess.run([need("node"), "run.mjs"], cwd=tmp_path, input=given, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"Error: {sentence}" in done.stderr


# --- SQL --------------------------------------------------------------------------------------------------------------


@contextmanager
def connected(folder, monkeypatch, model, x):
    """A database with the tables of the page, for a saved model and some scores."""
    duckdb = need("duckdb")
    model.to_json(folder / "map.json")
    monkeypatch.chdir(folder)
    with duckdb.connect() as connection:
        connection.execute(block("sql", "tables.sql"))
        ids = np.arange(len(x))
        if x.ndim == 1:
            columns = [ids, x]
            connection.execute("INSERT INTO scores SELECT unnest(?), unnest(?)", [c.tolist() for c in columns])
        else:
            columns = [np.repeat(ids, x.shape[1]), np.tile(np.arange(x.shape[1]), len(x)), x.ravel()]
            insert = "INSERT INTO class_scores SELECT unnest(?), unnest(?), unnest(?)"
            connection.execute(insert, [c.tolist() for c in columns])
        yield connection


def in_sql(folder, monkeypatch, query, model, x):
    """The last column of the rows that a query of the page gives, in the shape of x."""
    with connected(folder, monkeypatch, model, x) as connection:
        found = connection.execute(block("sql", query)).fetchall()
    return np.array([row[-1] for row in found]).reshape(x.shape)


# All methods that an average of one event, or of several classes, may hold by default.
OF_EVENT = {"methods": ["temperature", "beta", "logit_spline", "venn_abers", "platt"], "weights": [0.1] * 5}
OF_SCORES = {"methods": ["platt", "venn_abers"], "weights": [0.3, 0.3], "input": "scores"}
OF_CLASSES = {"methods": ["temperature", "structured", "beta", "venn_abers", "platt"], "weights": [0.1] * 5}
AS_LOGITS = [TemperatureScaling(input="logits"), StructuredScaling(input="logits"), PlattScaling()]
ONE_EVENT = [
    ("formulas.sql", PlattScaling()),
    ("formulas.sql", PlattScaling(input="logits")),
    ("formulas.sql", PlattScaling(input="scores")),
    ("formulas.sql", BetaCalibration()),
    ("formulas.sql", BetaCalibration(input="logits")),
    ("formulas.sql", OneVsRest("beta", input="logits")),
    ("formulas.sql", TemperatureScaling()),
    ("formulas.sql", TemperatureScaling(input="logits")),
    ("formulas.sql", PriorShift(target=0.01)),
    ("formulas.sql", PriorShift(target=0.0)),
    ("formulas.sql", PriorShift(target=1.0)),
    ("formulas.sql", PriorShift(target=0.01, input="logits")),
    ("curves.sql", QuadraticScaling()),
    ("curves.sql", QuadraticScaling(input="logits")),
    ("curves.sql", LogitSplineCalibration()),
    ("curves.sql", LogitSplineCalibration(input="logits", smoothing=0.01)),
    ("bins.sql", BBQ()),
    ("bins.sql", BBQ(input="logits")),
    ("bins.sql", ScalingBinning()),
    ("bins.sql", ScalingBinning(input="logits")),
    ("bins.sql", HistogramBinning()),
    ("bins.sql", HistogramBinning(input="logits")),
    ("bins.sql", HistogramBinning(input="scores")),
    ("bins.sql", HistogramBinning(strategy="uniform", n_bins=40)),
    ("venn_abers.sql", VennAbers()),
    ("venn_abers.sql", VennAbers(input="scores")),
    ("venn_abers.sql", VennAbers(multi_class="ovo")),
    ("lines.sql", IsotonicCalibration()),
    ("lines.sql", IsotonicCalibration(between="steps")),
    ("lines.sql", IsotonicCalibration(input="logits", centred=True)),
    ("lines.sql", LocalRegressionCalibration()),
    ("lines.sql", LocalRegressionCalibration(input="logits")),
    ("lines.sql", SplineCalibration()),
    ("lines.sql", SplineCalibration(input="logits")),
    ("average.sql", AveragedCalibration()),
    ("average.sql", AveragedCalibration(**OF_EVENT)),
    ("average.sql", AveragedCalibration(**OF_EVENT, input="logits")),
    ("average.sql", AveragedCalibration(methods=["identity", LogitSplineCalibration(), OneVsRest("logit_spline")])),
    ("average.sql", AveragedCalibration(**OF_SCORES)),
    ("average.sql", AveragedCalibration(methods=AS_LOGITS[::2], weights=[0.3, 0.3], input="scores")),
]
COLUMNS = [
    ("classes.sql", TemperatureScaling()),
    ("classes.sql", TemperatureScaling(input="logits")),
    ("classes.sql", VectorScaling(penalty=0.01)),
    ("classes.sql", VectorScaling(penalty=0.01, input="logits")),
    ("matrix.sql", MatrixScaling(penalty=0.01)),
    ("matrix.sql", MatrixScaling(penalty=0.01, input="logits")),
    ("matrix.sql", DirichletCalibration(penalty=0.01)),
    ("matrix.sql", DirichletCalibration(penalty=0.01, input="logits")),
    ("matrix.sql", StructuredScaling()),
    ("matrix.sql", StructuredScaling(input="logits", structure="vector")),
    ("one_vs_rest.sql", PlattScaling()),
    ("one_vs_rest.sql", PlattScaling(input="scores")),
    ("one_vs_rest.sql", PlattScaling(input="logits")),
    ("one_vs_rest.sql", OneVsRest()),
    ("one_vs_rest.sql", BetaCalibration()),
    ("one_vs_rest.sql", BetaCalibration(input="logits")),
    ("one_vs_rest.sql", VennAbers()),
    ("one_vs_rest.sql", VennAbers(input="scores")),
    ("one_vs_rest.sql", Identity()),
    ("one_vs_rest.sql", Identity(input="logits")),
    ("one_vs_rest.sql", HistogramBinning(n_bins=1, input="scores")),
]
AVERAGES_OF_COLUMNS = [
    AveragedCalibration(),
    AveragedCalibration(input="scores"),
    AveragedCalibration(**OF_CLASSES),
    AveragedCalibration(**OF_CLASSES, input="logits"),
    AveragedCalibration(methods=AS_LOGITS, weights=[0.2] * 3, input="scores"),
]
REFUSED = [
    ("formulas.sql", IsotonicCalibration(), "not for IsotonicCalibration with 1 columns"),
    ("formulas.sql", VectorScaling(penalty=0.01), "not for VectorScaling with 1 columns"),
    ("curves.sql", SplineCalibration(), "not for SplineCalibration with 1 columns"),
    ("bins.sql", IsotonicCalibration(), "not for IsotonicCalibration with 1 columns"),
    ("venn_abers.sql", PlattScaling(), "not for PlattScaling with 1 columns"),
    ("lines.sql", BBQ(), "not for BBQ with 1 columns"),
    ("classes.sql", MatrixScaling(penalty=0.01), "not for MatrixScaling with 4 columns"),
    ("matrix.sql", VectorScaling(penalty=0.01), "not for VectorScaling with 4 columns"),
    ("one_vs_rest.sql", IsotonicCalibration(), "not for IsotonicCalibration with 4 columns"),
    ("one_vs_rest.sql", OneVsRest("isotonic"), "not for IsotonicCalibration with 4 columns"),
    ("one_vs_rest.sql", VennAbers(multi_class="ovo"), "not for VennAbers of pairs with 4 columns"),
    ("one_vs_rest.sql", HistogramBinning(), "this query is not for several bins"),
    ("one_vs_rest.sql", OneVsRest(normalise=False), "not a map of version 1, or one whose rows do not sum to one"),
    ("average.sql", VennAbers(), "not for VennAbers with 1 columns"),
    ("average.sql", AveragedCalibration(methods=["isotonic"]), "not for an average with IsotonicCalibration"),
    ("average.sql", AveragedCalibration(methods=["histogram"]), "this query is not for several bins"),
    ("members.sql", VennAbers(), "not for VennAbers with 4 columns"),
]
ONE_EVENT_QUERIES = ["formulas.sql", "curves.sql", "bins.sql", "venn_abers.sql", "lines.sql", "average.sql"]
WITH_COLUMNS = {"classes.sql", "matrix.sql", "one_vs_rest.sql", "members.sql"}


@pytest.mark.parametrize(("query", "method"), ONE_EVENT, ids=str)
def test_sql_of_one_event(query, method, tmp_path, monkeypatch):
    """In SQL one event's scores become what they become in Python, also on knots and at the ends."""
    p, y = binary()
    model = method.fit(p if method.input == "probabilities" else logit(p), y)
    x = hard_scores(model, method.input)
    np.testing.assert_allclose(in_sql(tmp_path, monkeypatch, query, model, x), model.transform(x), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("query", "method"), COLUMNS, ids=str)
def test_sql_of_columns(query, method, tmp_path, monkeypatch):
    """In SQL rows of four classes become what they become in Python, certain ones too."""
    p, labels = multiclass()
    model = method.fit(p if method.input == "probabilities" else np.log(p) + 3, labels)
    x = hard_rows(method.input)
    np.testing.assert_allclose(in_sql(tmp_path, monkeypatch, query, model, x), model.transform(x), rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", AVERAGES_OF_COLUMNS, ids=str)
def test_sql_of_averages_of_columns(method, tmp_path, monkeypatch):
    """Each member is applied with the query of its kind, as the page says, and their mean is what Python gives."""
    queries = {type(one).__name__: query for query, one in COLUMNS}
    p, labels = multiclass()
    model = method.fit(p if method.input == "probabilities" else np.log(p) + 3, labels)
    x = hard_rows(method.input)
    with connected(tmp_path, monkeypatch, model, x) as connection:
        connection.execute(block("sql", "members.sql"))
        for member, name in connection.execute("SELECT member, method FROM members").fetchall():
            put, keep = block("text", "CREATE OR REPLACE TABLE map").strip().replace("1", str(member)).split("\n")
            connection.execute(put)
            query = block("sql", queries[name]).strip().removesuffix(";")
            connection.execute(re.sub(r"\(….*…\)", lambda _, query=query: f"({query})", keep))
        found = connection.execute(block("sql", "mean.sql")).fetchall()
    found = np.array([row[-1] for row in found]).reshape(x.shape)
    np.testing.assert_allclose(found, model.transform(x), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("query", "method", "sentence"), REFUSED, ids=str)
def test_sql_refuses_what_a_query_is_not_for(query, method, sentence, tmp_path, monkeypatch):
    """A map of another method or input is an error, never a number."""
    (p, y), form = multiclass() if query in WITH_COLUMNS else binary(), method.input
    with pytest.raises(need("duckdb").Error, match=sentence):
        in_sql(tmp_path, monkeypatch, query, method.fit(p if form == "probabilities" else np.log(p), y), p)


def test_sql_refuses_pairs_of_three_classes(tmp_path, monkeypatch):
    """Maps of pairs are not taken for those of classes where there are as many, alone or in an average."""
    model, X = three_classes_with_ties()
    with pytest.raises(need("duckdb").Error, match="not for VennAbers of pairs with 3 columns"):
        in_sql(tmp_path, monkeypatch, "one_vs_rest.sql", model, X)
    average = AveragedCalibration(methods=[VennAbers(multi_class="ovo")], weights=[0.5]).fit(X, model.predict(X))
    with connected(tmp_path, monkeypatch, average, X) as connection:
        connection.execute(block("sql", "members.sql"))
        assert connection.execute("SELECT method FROM members").fetchall() == [("Identity",), ("VennAbers of pairs",)]


@pytest.mark.parametrize("query", ONE_EVENT_QUERIES + sorted(WITH_COLUMNS - {"members.sql"}))
def test_sql_refuses_another_number_of_columns(query, tmp_path, monkeypatch):
    """A query of one event refuses maps of classes, and one of columns that of an event."""
    method = next(method for name, method in ONE_EVENT + COLUMNS if name == query and method.input == "probabilities")
    p, y = binary() if query in WITH_COLUMNS else multiclass()
    with pytest.raises(need("duckdb").Error, match=f"with {1 if query in WITH_COLUMNS else 4} columns"):
        in_sql(tmp_path, monkeypatch, query, method.fit(p, y), p)


@pytest.mark.parametrize("change", [{"version": 2}, {"schema": "else"}, {"settings": {"multilabel": True}}])
def test_sql_refuses_another_version(change, tmp_path, monkeypatch):
    """Another version or schema is an error in SQL too, and so are labels that do not exclude each other."""
    monkeypatch.chdir(tmp_path)
    Path("map.json").write_text(json.dumps(json.loads(block("json")) | change))
    duckdb = need("duckdb")
    with duckdb.connect() as connection, pytest.raises(duckdb.Error, match="not a map of version 1"):
        connection.execute(block("sql", "tables.sql"))


def test_sql_leaves_a_class_that_was_never_seen(tmp_path, monkeypatch):
    """A null map is a score as it is, in SQL too, and rows of zeros become 1/K."""
    p, labels = multiclass()
    model = PlattScaling().fit(p[labels != 1], labels[labels != 1])
    model.maps_ = tuple(one and {"slope": 1e9, "intercept": 0.0} for one in model.maps_)
    x = np.concatenate([hard_rows("probabilities"), [[0.4, 0.0, 0.3, 0.3]]])
    found = in_sql(tmp_path, monkeypatch, "one_vs_rest.sql", model, x)
    np.testing.assert_allclose(found, model.transform(x), rtol=0, atol=1e-12)
    assert found[-1].tolist() == [0.25] * 4


@pytest.mark.parametrize("language", ["javascript", "sql"])
def test_structured_maps_without_mixing(language, tmp_path, monkeypatch):
    """Maps saved before there was mixing are applied as before."""
    need("node" if language == "javascript" else "duckdb")
    p, labels = multiclass()
    model = StructuredScaling().fit(p, labels)
    (one,) = model.maps_
    model.maps_ = ({"weights": one["weights"], "intercepts": one["intercepts"]},)
    x = hard_rows("probabilities")
    if language == "javascript":
        (found,) = in_javascript(tmp_path, [(model, x)])
    else:
        found = in_sql(tmp_path, monkeypatch, "matrix.sql", model, x)
    np.testing.assert_allclose(found, model.transform(x), rtol=0, atol=1e-12)
