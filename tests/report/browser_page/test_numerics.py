"""The page's numbers equal Python's on the same rows: metrics, intervals, noise floors, curves, verdict and sentences.

Random numbers are NumPy's, so simulated intervals agree too, unless a rounding error changes a draw. Those of the
verdict agree exactly in the golden files; others are compared within a third of their width (`numerics.DRAWN`).
"""

from __future__ import annotations

import json
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy import special

from believable import Predictions, audit
from believable.errors import InputError
from tests.needs import need
from tests.report.browser_page.make_golden import golden_cases
from tests.report.browser_page.numerics import (
    GOLDEN,
    Case,
    differences,
    differences_of_slices,
    in_node,
    loose_differences,
    thinned,
)

need("node")
NAMES = sorted(path.stem.removeprefix("stat_") for path in GOLDEN.glob("stat_*.json"))
MOST_DRAWN_OTHERWISE = 3  # of 20 random data sets: those where a rounding error changes a draw


def golden(name: str) -> dict[str, Any]:
    return json.loads((GOLDEN / f"stat_{name}.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


@cache
def golden_in_node() -> dict[str, Any]:
    asked = [Case(**golden(name)["case"]).asked() for name in NAMES]
    return dict(zip(NAMES, in_node("input.map(asked)", asked), strict=True))


# --- golden files -----------------------------------------------------------------------------------------------------


def test_there_is_a_golden_file_for_every_case() -> None:
    assert sorted(name for name, _ in golden_cases()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_python_still_finds_what_the_golden_files_say(name: str) -> None:
    saved = golden(name)
    assert differences(saved["expected"], thinned(Case(**saved["case"]).python_audit())) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_page_finds_what_the_golden_files_say(name: str) -> None:
    assert differences(golden(name)["expected"], thinned(golden_in_node()[name])) == []


@pytest.mark.parametrize("name", NAMES)
def test_progress_runs_from_0_to_1(name: str) -> None:
    told = golden_in_node()[name]["told"]
    assert told[0] == 0
    assert told[-1] == 1
    assert told == sorted(told)


def test_approximations_are_listed_where_an_interval_may_differ() -> None:
    (sentence,) = golden_in_node()["calibrated"]["approximations"]
    assert "smooth ECE" in sentence


# --- random rows ------------------------------------------------------------------------------------------------------


def random_case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(13, 260))
    scores = [rng.random(n), rng.beta(0.5, 0.5, n), rng.beta(1, 20, n), rng.normal(0.5, 0.02, n).clip(0, 1)][seed % 4]
    labels = rng.random(n) < scores ** [1, 1.7, 0.6][seed % 3]
    weights = np.round(rng.exponential(size=n), 3) if seed % 5 == 1 else None  # some weights may be 0
    by = {"group": rng.choice(["a", "b"], n)} if seed % 7 == 3 and weights is None else None
    clusters = rng.integers(0, 9, n) if seed % 6 == 5 and weights is None else None
    return Case.of(scores, labels, weights, clusters, by, seed % 10 == 4, bins=int(rng.integers(2, 16)), seed=seed)


def test_random_rows_give_the_same_audit() -> None:
    cases = [random_case(seed) for seed in range(20)]
    drawn_otherwise = []
    for seed, got in enumerate(in_node("input.map(asked)", [case.asked() for case in cases])):
        expected = cases[seed].python_audit()
        assert differences_of_slices(expected["slices"], got["slices"]) == [], f"seed {seed}"
        if differences(thinned(expected), thinned(got)):
            drawn_otherwise.append(seed)
            assert loose_differences(thinned(expected), thinned(got)) == [], f"seed {seed}"
    assert len(drawn_otherwise) <= MOST_DRAWN_OTHERWISE


def test_many_rows_give_the_same_audit() -> None:
    """With more than 16,384 rows the smooth error spreads them over a grid, and units of the bootstrap are merged."""
    rng = np.random.default_rng(0)
    scores = rng.beta(0.7, 0.9, 20_000)
    case = Case.of(scores, rng.random(20_000) < 0.9 * scores)
    expected = case.python_audit()
    (got,) = in_node("input.map(asked)", [case.asked()])
    assert differences(thinned(expected), thinned(got)) == []
    assert differences_of_slices(expected["slices"], got["slices"]) == []


# --- bad input --------------------------------------------------------------------------------------------------------

BAD_ROWS: list[tuple[Any, Any, Any]] = [
    ([], [], None),
    ([0.1, float("nan")], [0, 1], None),
    ([0.1, float("inf")], [0, 1], None),
    ([0.1, 3.25, -2], [0, 1, 1], None),
    ([10.0, 80.0, 55.0], [0, 1, 1], None),
    ([0.5, 1.0000001], [0, 1], None),
    ([0.5, 0.6], [0, 2], None),
    ([0.5, 0.6], [0, -1], None),
    ([0, 1, 1, 0, 1, 1], [0, 1, 1, 0, 1, 0], None),
    ([0.5, 0.6], [0, 1], [1, -1]),
    ([0.5, 0.6], [0, 1], [0, 0]),
    ([0.5, 0.6], [0, 1], [1, float("nan")]),
    ([0.5, 0.6], [0, 1], [1, 1e-120]),
    ([0.5, 0.6], [0, 1], [1, 1e120]),
    ([[0.5, 0.5], [0.4, 0.5]], [0, 1], None),
    ([[0.5, 0.5], [0.4, 0.6]], [0, 2], None),
    ([[1, 0], [0, 1], [1, 0]], [0, 1, 1], None),
]


def test_bad_rows_are_refused_with_the_sentences_of_python() -> None:
    asked = []
    for scores, labels, weights in BAD_ROWS:
        rows = Case.of(np.array(scores, np.float64), labels, weights).asked()
        rows["rows"]["scores"] = json.loads(
            json.dumps(rows["rows"]["scores"]).replace("NaN", '"NaN"').replace("Infinity", '"Infinity"')
        )
        rows["rows"]["weights"] = json.loads(json.dumps(rows["rows"]["weights"]).replace("NaN", '"NaN"'))
        asked.append(rows)
    for (scores, labels, weights), got in zip(BAD_ROWS, in_node("input.map(asked)", asked), strict=True):
        with pytest.raises(InputError) as error:
            audit(np.array(scores, np.float64), np.array(labels, np.int64), sample_weight=weights)
        assert got["error"].split(";")[0] == str(error.value).split(";")[0]


def test_one_cluster_and_bad_options_are_refused() -> None:
    p, y = [0.2, 0.4, 0.7], [0, 1, 1]
    asked = [
        Case.of(p, y, clusters=[1, 1, 1]),
        Case.of(p, y, bins=0),
        Case.of(p, y, level=1),
        Case.of(p, y, strategy="x"),
    ]
    found = [one["error"] for one in in_node("input.map(asked)", [case.asked() for case in asked])]
    assert found == [
        "clusters holds only one cluster: the variation between clusters needs at least two",
        "n_bins must be an integer at least 1, got 0",
        "level must lie strictly between 0 and 1, got 1",
        "strategy must be one of 'uniform' or 'quantile', got 'x'",
    ]


# --- building blocks --------------------------------------------------------------------------------------------------


def test_special_functions_equal_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    a, b, p = 10 ** rng.uniform(-1, 5, 200), 10 ** rng.uniform(-1, 5, 200), rng.random(200)
    level = rng.uniform(0.5, 0.9999, 50)
    z = np.linspace(-6, 6, 41)
    given = {"a": a.tolist(), "b": b.tolist(), "p": p.tolist(), "z": z.tolist(), "level": level.tolist()}
    got = in_node(
        "({ beta: input.a.map((a, i) => Special.betaQuantile(a, input.b[i], input.p[i])),"
        " gamma: input.a.map((a, i) => Special.gammaQuantile(a, input.p[i])),"
        " normal: input.p.map(Special.normalQuantile), cdf: input.z.map(Special.normalCdf), erf: input.z.map(Special.erf),"
        " t: input.level.map((level, i) => Special.tQuantile(level, 1 + input.a[i])),"
        " adjusted: Special.adjusted(input.p) })",
        given,
    )
    assert got["beta"] == pytest.approx(special.betaincinv(a, b, p), rel=1e-9, abs=1e-300)
    assert got["gamma"] == pytest.approx(special.gammaincinv(a, p), rel=1e-11)
    assert got["normal"] == pytest.approx([NormalDist().inv_cdf(one) for one in p], rel=1e-14)
    assert got["cdf"] == pytest.approx([NormalDist().cdf(one) for one in z], abs=1e-15)
    assert got["erf"] == pytest.approx(special.erf(z), rel=1e-14)
    assert got["t"] == pytest.approx(special.stdtrit(1 + a[:50], (1 + level) / 2), rel=1e-9)
    order = np.sort(p)
    least = np.minimum.accumulate((order * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1]
    assert np.sort(got["adjusted"]) == pytest.approx(np.minimum(least, 1))


def test_random_numbers_equal_those_of_numpy() -> None:
    shares = [0.1, 0.2, 0.3, 0.4]
    got = in_node(
        "(() => { const g = new Draws.Generator(12); const found = { random: [...g.randoms(5)],"
        " normal: [...g.normals(3000)], permutation: [...g.permutation(1000)], seed: String(g.seed()),"
        " signs: Array.from({ length: 9 }, () => g.below(2)), places: [...g.choices(input.shares, 20)],"
        " counts: [...g.multinomial(1000, input.shares, new Float64Array(4))],"
        " binomial: input.n.map((n, i) => g.binomial(n, input.p[i])), next: g.random() };"
        " return { ...found, own: [...Draws.generator(3).randoms(3)] }; })()",
        {
            "shares": shares,
            "n": np.random.default_rng(1).integers(0, 500, 4000).tolist(),
            "p": np.random.default_rng(2).random(4000).tolist(),
        },
    )
    rng = np.random.default_rng(12)
    assert got["random"] == rng.random(5).tolist()
    assert got["normal"] == pytest.approx(rng.standard_normal(3000), rel=1e-14)
    assert got["permutation"] == rng.permutation(1000).tolist()
    assert got["seed"] == str(rng.integers(2**62))
    assert got["signs"] == rng.integers(0, 2, 9).tolist()
    assert got["places"] == rng.choice(4, 20, p=shares).tolist()
    assert got["counts"] == rng.multinomial(1000, shares).tolist()
    n, p = np.random.default_rng(1).integers(0, 500, 4000), np.random.default_rng(2).random(4000)
    assert got["binomial"] == rng.binomial(n, p).tolist()
    assert got["next"] == rng.random()
    assert got["own"] == np.random.default_rng(np.random.SeedSequence(3, spawn_key=(1,))).random(3).tolist()


@pytest.mark.parametrize("n", [1, 2, 3, 10, 25, 26, 31])
def test_eigenvectors_are_those_of_a_symmetric_matrix(n: int) -> None:
    rng = np.random.default_rng(n)
    root = rng.standard_normal((n, n))
    matrix = root @ root.T
    got = in_node(
        "(({ values, vectors }) => [[...values], [...vectors]])(Linear.eigen(Float64Array.from(input.flat()), input.length))",
        matrix.tolist(),
    )
    values, vectors = np.array(got[0]), np.array(got[1]).reshape(n, n)
    assert values == pytest.approx(np.linalg.eigvalsh(matrix))
    assert matrix @ vectors == pytest.approx(vectors * values, abs=1e-9)
    assert vectors.T @ vectors == pytest.approx(np.eye(n), abs=1e-12)


def test_numbers_are_written_as_python_writes_them() -> None:
    values = [0.125, 2.5, 0.5, 1.5, 1e-5, 123456.789, 0.00012345, 99.95, 3.0, 1e6, 0.1, 12345678.5, 0.045, 1e-10]
    got = in_node(
        "input.map((x) => [Words.fixed(x, 0), Words.fixed(x, 2), Words.fixed(x, 4), Words.general(x, 2), Words.general(x, 4)])",
        values,
    )
    assert got == [[f"{x:.0f}", f"{x:.2f}", f"{x:.4f}", f"{x:.2g}", f"{x:.4g}"] for x in values]


def test_rows_of_weight_0_do_not_count() -> None:
    rng = np.random.default_rng(8)
    p = rng.random(60)
    y, w = rng.random(60) < p, rng.integers(0, 2, 60).astype(float)
    case, without = Case.of(p, y, weights=w), Case.of(p[w > 0], y[w > 0], weights=w[w > 0])
    with_them, alone = in_node("input.map(asked)", [case.asked(), without.asked()])
    assert with_them["n"] == len(Predictions(p, y, sample_weight=w)) == alone["n"]
    assert differences(thinned(alone), thinned(with_them)) == []
