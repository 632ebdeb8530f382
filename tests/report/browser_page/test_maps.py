"""The page's scripts fit, apply, save and judge calibration maps as Python does.

Random numbers and folds are the same bits. Both languages search for the same optimum, and stop within 2e-9 of it in
log-odds (see `_kernels/logistic_classes.py`), so probabilities and losses agree to 1e-9.
"""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import stdtrit

from believable import CellStats, Predictions
from believable._check import generator
from believable.auditing.fix import rows_to_compare_on
from believable.errors import InputError, LimitWarning
from believable.recalibrate import load_recalibrator
from believable.recalibrate.crossfit import folds
from believable.recalibrate.facts import as_method
from believable.report.packed import N_PAGE_CELLS
from tests.report.browser_page.fixes import (
    METHODS,
    Case,
    found_by_page,
    found_by_python,
    made,
    multiclass,
    run,
    sigmoid,
)
from tests.report.browser_page.make_golden_fixes import GOLDEN, golden_cases

CLOSE = 1e-9
SHARE_OF_WIDTH = 0.15  # by which the ends of an interval may differ where rounding decides about a draw
SEEDS = (0, 1, 12345, 2**40 + 3)


# --- random numbers and folds -----------------------------------------------------------------------------------------


def test_random_numbers():
    """Permutations, choices and shuffles are NumPy's, bit for bit."""
    script = """
    say({
      permutations: input.seeds.map((seed) => Draws.generator(seed).permutation(1000)),
      choices: input.choices.map(([n, size]) => Random.choice(Draws.generator(3), n, size)),
      old: [0, 5, 2 ** 31 - 1].map((seed) => Random.oldPermutation(999, seed)),
    });
    """
    choices = [(30_000, 20_000), (1_000_000, 20_000), (100, 10), (10_001, 150), (5, 5)]
    got = run(script, {"seeds": SEEDS, "choices": choices})
    assert got["permutations"] == [generator(seed).permutation(1000).tolist() for seed in SEEDS]
    assert got["choices"] == [generator(3).choice(n, size, replace=False).tolist() for n, size in choices]
    for seed, shuffled in zip([0, 5, 2**31 - 1], got["old"], strict=True):
        want = np.arange(999)
        np.random.RandomState(seed).shuffle(want)
        assert shuffled == want.tolist()


def test_folds():
    """Rows and clusters are in the folds of Python, also where classes have to be dealt out evenly."""
    rng, cases, want = np.random.default_rng(5), [], []
    for seed in range(80):
        n, n_folds = int(rng.integers(6, 400)), int(rng.integers(2, 7))
        labels = rng.integers(0, int(rng.integers(2, 12)), n) if seed % 3 else (rng.random(n) < 0.03).astype(int)
        cluster = np.unique(rng.integers(0, int(rng.integers(5, 40)), n), return_inverse=True)[1] if seed % 2 else None
        if seed % 4 == 1:
            labels = np.where(cluster < 2, labels, 0)
        cases.append((labels.tolist(), None if cluster is None else cluster.tolist(), n_folds, seed))
        try:
            want.append(folds(labels, cluster, n_folds, generator(seed)).tolist())
        except InputError as error:
            want.append({"error": str(error), "name": "InputError"})
    script = """
    say(input.map(([y, cluster, k, seed]) => attempt(() => Folds.assigned(integers(y), integers(cluster), k, seed))));
    """
    assert run(script, cases) == want
    assert any(isinstance(one, dict) for one in want)


def testrows_to_compare_on():
    """Above 20,000 rows, methods are compared on the rows that Python draws."""
    rng, cases, want = np.random.default_rng(6), [], []
    for n, rate, n_clusters in [(20_001, 0.3, 0), (60_000, 0.001, 0), (30_000, 0.3, 4000), (30_000, 0.001, 300)]:
        labels = (rng.random(n) < rate).astype(int)
        cluster = np.unique(rng.integers(0, n_clusters, n), return_inverse=True)[1] if n_clusters else None
        cases.append((labels.tolist(), None if cluster is None else cluster.tolist()))
        want.append(rows_to_compare_on(Predictions(np.full(n, 0.5), labels), cluster, 7).tolist())
    script = """
    const { rowsToCompareOn } = Folds;
    say([...input.map(([y, cluster]) => rowsToCompareOn(integers(y), integers(cluster), 7)),
      rowsToCompareOn(new Int32Array(20000), null, 7)]);
    """
    *got, few = run(script, cases)
    assert got == want
    assert few is None


# --- maps -------------------------------------------------------------------------------------------------------------


def cases_of_maps():
    """One event, of many kinds."""
    rng = np.random.default_rng(11)
    z = rng.normal(size=2000)
    y = rng.random(2000) < sigmoid(z)
    yield "over-confident", made(sigmoid(2.5 * z), y)
    yield "calibrated", made(sigmoid(z), y)
    yield "weights", made(sigmoid(2 * z - 1), y, rng.exponential(size=2000))
    rare = rng.normal(-6, 1.5, 5000)
    yield "rare", made(sigmoid(rare + 1), rng.random(5000) < sigmoid(rare))
    heaps = rng.integers(0, 11, 2000) / 10
    yield "ties, 0 and 1", made(heaps, rng.random(2000) < heaps)
    yield "12 rows", made(rng.random(12), [0, 1] * 6)
    yield "separable", made([0.1, 0.2, 0.3, 0.7, 0.8], [0, 0, 0, 1, 1])
    yield "separable downwards", made([0.1, 0.2, 0.3, 0.7, 0.8], [1, 1, 0, 0, 0])
    yield "separable at a tie", made([0.1, 0.3, 0.3, 0.7], [0, 0, 1, 1])
    yield "one score", made([0.3] * 10, [0, 1] * 5)
    yield "all 1/2", made([0.5] * 10, [0, 0, 1, 0, 0] * 2)
    yield "two scores", made([0.3, 0.6] * 20, [0, 1, 1, 0, 0, 1, 1, 1] * 5)
    yield "wrong way round", made(sigmoid(-2 * z), y)
    yield "wrong at 0 and 1", made(np.clip(np.round(sigmoid(3 * z), 2), 0, 1), y)
    yield "always right", made(np.where(y, 0.9, 0.1)[:50], y[:50])
    yield "close together", made(1e-6 + 1e-9 * rng.random(500), rng.random(500) < 0.4)
    yield "weights far apart", made(sigmoid(z)[:300], y[:300], 10.0 ** rng.uniform(-8, 8, 300))
    many = np.tile(z, 35)
    yield "70,000 rows", made(sigmoid(3 * many + 0.1), rng.random(70_000) < sigmoid(many))
    for seed in range(20):
        n = int(rng.integers(6, 300))
        p = rng.beta(*rng.uniform(0.1, 3, 2), n)
        p = np.round(p, 1 + seed % 2) if seed % 3 == 0 else p
        labels = rng.random(n) < rng.uniform(0.05, 0.95)
        labels[:2] = True, False
        yield f"random {seed}", made(p, labels, rng.exponential(size=n) if seed % 4 == 0 else None)


FIT = """
say(input.map(({ scores, labels, weights, classes }) => Object.keys(Maps.METHODS).map((method) => attempt(() => {
  const p = scoresOf(scores);
  const { map, apply, limits } = Maps.fit(method, p, integers(labels), floats(weights), classes);
  return { text: Maps.toJson(map), p: apply(p), limits };
}))));
"""


def check_fit(method, case, got):
    """The map gives Python's probabilities, is loaded by Python, and the same limits are named."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        labels = case.labels if case.classes is None else np.asarray(case.classes)[case.labels]
        model = as_method(method).set_params(classes=case.classes)
        want = model.fit(case.scores, labels, case.weights).transform(case.scores)
    assert got["limits"] == [str(one.message) for one in said if one.category is LimitWarning]
    p = np.array(got["p"]).T if case.scores.ndim == 2 else np.array(got["p"])
    assert np.abs(p - want).max() <= CLOSE
    loaded = load_recalibrator(got["text"])
    assert loaded.to_json() == got["text"]
    assert np.abs(loaded.transform(case.scores) - p).max() <= 1e-14


def test_maps_of_one_event():
    """Temperature, Platt, beta and isotonic maps of one event, with their limits, and saved to the last letter."""
    cases = dict(cases_of_maps())
    for (name, case), fits in zip(cases.items(), run(FIT, [case.to_dict() for case in cases.values()]), strict=True):
        for method, got in zip(METHODS, fits, strict=True):
            try:
                check_fit(method, case, got)
            except AssertionError as error:
                raise AssertionError(f"{method}, {name}: {error}") from error


def test_maps_of_several_classes():
    """One temperature for all classes; the others class by class, where one that does not occur is left as it is."""
    rng = np.random.default_rng(12)
    p, labels = multiclass(rng, 600, 4, 2.5)
    names = ["ant", "bee", "wåsp\u007f", "fly"]
    absent = np.column_stack([0.98 * p, np.full(600, 0.02)])
    cases = [
        made(p, labels),
        made(p, labels, rng.exponential(size=600)),
        replace(made(p, labels), classes=names),
        made(absent, labels),
        made(np.column_stack([1 - p[:, 0], p[:, 0]]), labels == 0),
        made(np.where(np.arange(4) == labels[:, None], 0.7, 0.1), labels),
        made(np.full((40, 3), 1 / 3), np.arange(40) % 3),
    ]
    for case, fits in zip(cases, run(FIT, [each.to_dict() for each in cases]), strict=True):
        for method, got in zip(METHODS, fits, strict=True):
            check_fit(method, case, got)


def test_refused():
    """One class is refused in Python's sentence; rows of weight 0 do not count."""
    script = """
    const fit = (...given) => attempt(() => Maps.fit(...given).map.maps[0]);
    const p = floats([0.1, 0.4, 0.35, 0.8, 0.6]);
    say([fit("platt", p, integers([1, 1, 1, 1, 1])), fit("spline", p, integers([0, 1, 0, 1, 0])),
      fit("platt", p, integers([0, 1, 0, 1, 1]), floats([1, 1, 2, 1, 0])),
      fit("platt", p.slice(0, 4), integers([0, 1, 0, 1]), floats([1, 1, 2, 1]))]);
    """
    one_class, unknown, weighted, without = run(script, None)
    with pytest.raises(InputError) as refused:
        as_method("platt").fit([0.1, 0.4, 0.35, 0.8, 0.6], [1, 1, 1, 1, 1])
    assert one_class["error"] == str(refused.value)
    assert unknown["error"].startswith("method 'spline' is not known")
    assert weighted == without


# --- before and after -------------------------------------------------------------------------------------------------


def cases_of_fixes():
    """Rows to audit, of many kinds."""
    rng = np.random.default_rng(13)
    z = rng.normal(size=2000)
    y = rng.random(2000) < sigmoid(z)
    yield "over-confident", made(sigmoid(2.5 * z), y)
    yield "calibrated", made(sigmoid(z), y)
    yield "weights", made(sigmoid(2 * z - 1), y, rng.exponential(size=2000), seed=3)
    rare = rng.normal(-6, 1.5, 5000)
    yield "rare", made(sigmoid(rare + 1), rng.random(5000) < sigmoid(rare))
    yield "clusters", made(sigmoid(2 * z), y, clusters=rng.integers(0, 60, 2000))
    yield "few clusters", made(sigmoid(2 * z), y, rng.random(2000) + 0.1, rng.integers(0, 6, 2000))
    heaps = rng.integers(0, 11, 2000) / 10
    yield "ties, 0 and 1", made(heaps, rng.random(2000) < heaps**2)
    yield "12 rows", made(rng.random(12), [0, 1] * 6)
    yield "separable", made(np.append(0.4 * rng.random(40), 0.6 + 0.4 * rng.random(40)), [0] * 40 + [1] * 40)
    yield "wrong way round", made(sigmoid(-2 * z), y)
    yield "wrong at 0 and 1", made(np.where(z > 1, 1, np.where(z < -1, 0, sigmoid(z))), y)
    yield "one class", made([0.3, 0.4, 0.5], [1, 1, 1])
    yield "one row of a class", made([0.3, 0.4, 0.5], [0, 1, 1])
    yield "few events", made(0.3 * rng.random(30), [1, 1] + [0] * 28)
    p, labels = multiclass(rng, 1200, 3, 2.5)
    yield "three classes", made(p, labels)
    yield "named classes", replace(made(p, labels), classes=["b", "a", "c"])
    yield "weighted classes in clusters", made(p, labels, rng.random(1200) + 0.2, rng.integers(0, 90, 1200))
    yield "an absent class", made(np.column_stack([0.99 * p, np.full(1200, 0.01)]), labels)
    yield "two columns", made(np.column_stack([1 - sigmoid(2 * z), sigmoid(2 * z)]), y)
    many = rng.normal(size=24_000)
    outcomes = rng.random(24_000) < sigmoid(many)
    yield "24,000 rows", made(sigmoid(2 * many), outcomes)
    yield "24,000 rows, few events", made(sigmoid(many - 9), rng.random(24_000) < sigmoid(many - 7.5))
    yield (
        "24,000 rows in clusters",
        made(sigmoid(2 * many), outcomes, rng.random(24_000) + 0.5, rng.integers(0, 400, 24_000), 7),
    )
    yield "24,000 rows of four classes", made(*multiclass(rng, 24_000, 4, 2.0))
    for seed in range(20):
        n = int(rng.integers(6, 300))
        p = rng.beta(*rng.uniform(0.1, 3, 2), n)
        p = np.round(p, 1 + seed % 2) if seed % 3 == 0 else p
        labels = rng.random(n) < sigmoid(2 * np.log((p + 0.01) / (1.01 - p)))
        weights = rng.exponential(size=n) if seed % 4 == 0 else None
        yield f"random {seed}", made(p, labels, weights, rng.integers(0, 12, n) if seed % 5 == 0 else None, seed)


def check_number(got, want, what):
    """A number is the same, to 1e-9."""
    got, want = float(got), float(want)  # JSON has no infinities, so they are words there
    assert got == want or (math.isnan(got) and math.isnan(want)) or abs(got - want) <= CLOSE, (what, got, want)


def check_numbers(got, want, what):
    """Every field of an object is the same."""
    assert set(got) == set(want), what
    for name, value in want.items():
        if isinstance(value, bool) or name == "name":
            assert got[name] == value, (what, name)
        else:
            check_number(got[name], value, (what, name))


def check_fix(case: Case, got, want):
    """All that Python says of recalibration is the same.

    The ends of the interval of the change in ECE come from random draws, which are the same unless rounding decides: which
    sign an eigenvector gets, or whether equal scores in one bin have a spread of 1e-17 or none. Then they differ by less
    than other draws would.
    """
    assert got["no_fix"] == want["no_fix"]
    assert got["caveats"] == want["caveats"]
    if want["fix"] is None:
        assert got["fix"] is None
        assert got["methods"] == []
        return
    fix, expected = got["fix"], want["fix"]
    for name in ("chosen", "advice", "rows", "bins", "score", "refinement"):
        assert fix[name] == expected[name], name
    tried, wanted = ({one["name"]: one for one in each["tried"]} for each in (fix, expected))
    assert set(tried) == set(wanted)
    for name, one in wanted.items():
        check_numbers(tried[name], one, name)
    assert len(fix["changes"]) == len(expected["changes"])
    for change, one in zip(fix["changes"], expected["changes"], strict=True):
        if change["name"] == "ECE":
            near = SHARE_OF_WIDTH * (one["gain_high"] - one["gain_low"])
            assert abs(change["gain_low"] - one["gain_low"]) <= near
            assert abs(change["gain_high"] - one["gain_high"]) <= near
            change = {**change, "gain_low": one["gain_low"], "gain_high": one["gain_high"]}
        check_numbers(change, one, one["name"])
    if want["after"] is None:
        assert got["after"] is None
        assert fix["map"] is None
        return
    after = np.array(got["after"])
    assert np.abs((after.T if after.ndim == 2 else after) - want["after"]).max() <= CLOSE
    page, python = (load_recalibrator(each["map"]).transform(case.scores) for each in (fix, expected))
    assert np.abs(page - python).max() <= CLOSE


@pytest.fixture(scope="module")
def fixes():
    """What the page finds for all cases, from one run."""
    cases = dict(cases_of_fixes())
    return {
        name: (case, got) for (name, case), got in zip(cases.items(), found_by_page([*cases.values()]), strict=True)
    }


@pytest.mark.parametrize("name", [name for name, _ in cases_of_fixes()])
def test_before_and_after(fixes, name):
    """The choice, its words, losses with intervals, errors, recalibrated scores and the map are Python's."""
    case, got = fixes[name]
    check_fix(case, got, found_by_python(case))


def test_predicted_classes():
    """Scores that are all 0 or 1 are refused in Python's sentence."""
    cases = [
        made([0, 1, 1, 0, 1, 0, 1], [0, 1, 1, 0, 1, 0, 0]),
        made(np.eye(3)[[0, 1, 2, 0, 1, 2]], [0, 1, 2, 0, 0, 1]),
    ]
    for case, got in zip(cases, found_by_page(cases), strict=True):
        with pytest.raises(InputError) as refused:
            found_by_python(case)
        assert got["no_fix"] == str(refused.value)


def test_order_of_methods(fixes):
    """The best method is first, and methods are listed in the order in which they are tried."""
    for _, got in fixes.values():
        if got["fix"] is not None and got["fix"]["score"] == "log loss":
            losses = [float(one["log_loss"]) for one in got["fix"]["tried"]]
            assert losses == sorted(losses)
            assert [one["method"] for one in got["methods"]] == list(METHODS)


def test_every_method(fixes):
    """Each method has its log loss before and after, the gain, both errors, a map and the cells of its diagram."""
    case, got = fixes["over-confident"]
    tried = {one["name"]: one for one in got["fix"]["tried"]}
    for one in got["methods"]:
        values = tried[one["method"]]
        assert (one["before"], one["after"]) == (tried["nothing"]["log_loss"], values["log_loss"])
        assert (one["gain"], one["low"], one["high"]) == (values["gain"], values["gain_low"], values["gain_high"])
        assert (one["ece_before"], one["ece_after"]) == (tried["nothing"]["ece"], values["ece"])
        fitted = as_method(one["method"]).fit(case.scores, case.labels)
        loaded = load_recalibrator(json.dumps(one["map"]))
        assert np.abs(loaded.transform(case.scores) - fitted.transform(case.scores)).max() <= CLOSE
        assert sum(one["cells"]["n"]) == len(case.labels)


@pytest.mark.parametrize("name", ["over-confident", "weights", "ties, 0 and 1", "wrong at 0 and 1", "three classes"])
def test_cells(fixes, name):
    """The cells of the chosen method are those that Python counts."""
    case, got = fixes[name]
    chosen = next(one for one in got["methods"] if one["method"] == got["fix"]["chosen"])
    after = np.array(got["after"])
    rows = Predictions(after.T if after.ndim == 2 else after, case.labels, sample_weight=case.weights)
    cells = CellStats.of(rows, cells=N_PAGE_CELLS)
    assert chosen["cells"]["index"] == cells.index.tolist()
    for column in ("n", "w", "wp", "wy", "w2"):
        assert chosen["cells"][column] == pytest.approx(getattr(cells, column), rel=1e-12, abs=1e-13), column


def test_intervals_of_the_error(fixes):
    """The interval of the change in ECE is mostly that of Python to 1e-9, with and without clusters, weights and classes."""
    names = (
        "over-confident",
        "weights",
        "rare",
        "clusters",
        "three classes",
        "24,000 rows",
        "24,000 rows of four classes",
    )
    same = 0
    for name in names:
        case, got = fixes[name]
        change, want = (found["fix"]["changes"][2] for found in (got, found_by_python(case)))
        same += all(abs(change[end] - want[end]) <= CLOSE for end in ("gain_low", "gain_high"))
    assert same >= len(names) - 1


def test_what_differs_is_said(fixes):
    """The page says that Python tries other methods, wherever it tried its own."""
    for _, got in fixes.values():
        assert any("Python" in sentence for sentence in got["approximations"]) == (got["fix"] is not None)


def test_points_counted_already():
    """Points that were counted already change nothing."""
    script = """
    const [given, seed] = [{ scores: floats(input.scores), labels: integers(input.labels) }, 0];
    const curve = { score: given.scores, outcome: Uint8Array.from(given.labels), weight: null, row: null };
    say([Fixes.tried(given, { seed }), Fixes.tried({ ...given, points: Count.pointsOf(curve) }, { seed })]);
    """
    name, case = next(cases_of_fixes())
    assert name == "over-confident"
    alone, shared = run(script, case.to_dict())
    assert alone == shared


def test_not_requested_and_progress():
    """Without a request nothing is tried; otherwise progress rises to 1, with a sentence at every step."""
    script = """
    const given = { scores: floats([0.1, 0.4, 0.35, 0.8, 0.6, 0.2]), labels: integers([0, 1, 0, 1, 1, 0]) };
    const steps = [];
    Fixes.tried(given, {}, (share, sentence) => steps.push([share, sentence]));
    say([Fixes.tried(given, { fix: false }), steps]);
    """
    none, steps = run(script, None)
    assert (none["fix"], none["no_fix"], none["methods"]) == (None, "it was not requested", [])
    shares = [share for share, _ in steps]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert steps[0][1] == "Trying temperature scaling"


def test_student():
    """Quantiles of Student's t are SciPy's."""
    asked = [(level, df) for level in (0.5, 0.9, 0.95, 0.999) for df in (1, 2, 3, 5, 11, 59, 299, 19_999, 999_999)]
    script = "say(input.map(([level, df]) => Special.tQuantile(level, df)));"
    want = [stdtrit(df, (1 + level) / 2) for level, df in asked]
    assert run(script, asked) == pytest.approx(want, rel=1e-10)


def test_numbers_in_words():
    """Numbers are rounded as Python rounds them, exact halves to even."""
    values = [0.03125, 0.09375, 0.00005, 0.00015, -0.03125, 1e-9, -1e-9, 0.12345, 2.00005, 123.0, 0.0, 0.99995]
    values += np.random.default_rng(3).normal(size=50).tolist()
    script = """
    const { fixed } = Fixes;
    say(input.map((value) => [fixed(value, 4), fixed(value, 4, true), fixed(value, 1)]));
    """
    assert run(script, values) == [[f"{value:.4f}", f"{value:+.4f}", f"{value:.1f}"] for value in values]


# --- golden files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, _ in golden_cases()])
def test_golden(name):
    """The page finds what the file says, and Python still does."""
    content = json.loads((GOLDEN / f"fix_{name}.json").read_text(encoding="utf-8"))
    given = content["input"]
    case = made(given["scores"], given["labels"], given["weights"], given["clusters"], given["seed"])
    (got,) = found_by_page([case])
    check_fix(case, got, content["expected"])
    python = found_by_python(case)
    assert python["caveats"] == content["expected"]["caveats"]
    assert (python["fix"] is None) == (content["expected"]["fix"] is None)
    if python["fix"] is not None:
        for one, want in zip(python["fix"]["tried"], content["expected"]["fix"]["tried"], strict=True):
            check_numbers(one, want, one["name"])
        assert python["fix"]["advice"] == content["expected"]["fix"]["advice"]
