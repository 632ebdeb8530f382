"""The script of the page computes from a packed statistic what Python computes from it.

The columns agree bit for bit: both languages round every product and quotient as IEEE 754 says. Sums are added in
another order (NumPy in pairs), so they agree to 1e-12 of themselves, 840 additions being each good to 1.1e-16. Gaps are
differences of means that lie between 0 and 1, and errors are means of gaps: those agree to 1e-13 absolutely.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import believable
from believable import CellStats, Predictions
from believable.curves.binned import table_of
from believable.metrics import (
    expected_calibration_error,
    maximum_calibration_error,
    root_mean_square_calibration_error,
)
from believable.report.by_chance import expected_by_chance
from believable.report.packed import N_PAGE_CELLS, PackedCells
from tests.needs import need, real_data

SCRIPT = Path(believable.__file__).parent / "report" / "html" / "statistic.js"
BIN_COUNTS = [m for m in range(2, 61) if N_PAGE_CELLS % m == 0]
QUANTILES = range(1, 41)
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
CLOSE = {"rel": 1e-12, "abs": 1e-13}

RUN = """
const S = require(process.argv[1]);
const input = JSON.parse(require("fs").readFileSync(0, "utf8"));
const look = (cells, bins) => ({ bins, errors: S.errors(bins), byChance: S.byChance(cells, bins) });
const everything = (cells) => ({
  cells,
  summary: S.summary(cells),
  density: S.density(cells, 60),
  uniform: S.BIN_COUNTS.map((m) => look(cells, S.uniformBins(cells, m))),
  quantile: input.quantiles.map((m) => look(cells, S.quantileBins(cells, m))),
  levels: input.levels.map((level) => S.uniformBins(cells, 10, level)),
});
const attempt = (act) => { try { act(); return "fine"; } catch (error) { return `${error.name}: ${error.message}`; } };
const cells = input.cases.map(S.unpack);
console.log(JSON.stringify({
  binCounts: S.BIN_COUNTS,
  cases: cells.map(everything),
  added: input.pairs.map(([i, j]) => everything(S.add(cells[i], cells[j]))),
  fromString: S.unpack(input.cases[0].data),
  damaged: input.damaged.map((data) => attempt(() => S.unpack(data))),
  refused: [11, 0, 2.5].map((m) => attempt(() => S.uniformBins(cells[0], m))),
  refusedLevel: attempt(() => S.uniformBins(cells[0], 10, 95)),
}));
"""


def count(p, y, w=None, **choices):
    return CellStats.of(Predictions(p, y, sample_weight=w, **choices), cells=N_PAGE_CELLS)


def many(cells, times):
    """Every row so many times."""
    return replace(cells, **{name: getattr(cells, name) * times for name in ("n", "ny", "w", "wp", "wy", "w2")})


def made_cases():
    """Statistics of many shapes."""
    rng = np.random.default_rng(0)
    p = rng.random(3000)
    y = (rng.random(3000) < p**2).astype(int)
    tails = rng.beta(0.2, 0.3, 3000)
    heaps = rng.integers(0, 11, 3000) / 10
    w = rng.exponential(size=3000)
    yield "uniform", count(p, y)
    yield "weighted", count(p, y, w)
    yield "tails", count(tails, y)
    yield "tails, weighted", count(tails, y, w)
    yield "weights far apart", count(tails, y, 10.0 ** rng.uniform(-30, 30, 3000))
    yield "weights of a tenth", count(heaps, y, np.full(3000, 0.1))  # whose sums drift
    yield "heaps", count(heaps, y)
    yield "heaps, weighted", count(heaps, y, w)
    yield "float32", count(tails.astype(np.float32), y)
    yield "soft", count(p, rng.random(3000), soft_labels=True)
    yield "soft, weighted", count(p, rng.random(3000), w, soft_labels=True)
    yield "on edges", count(np.arange(841) / 840, np.arange(841) % 2)
    yield "one row", count([0.3], [1])
    yield "all 0", count(np.zeros(5), [0, 1, 0, 0, 0])
    yield "all 1", count(np.ones(5), [1, 1, 1, 1, 1])
    yield "0 and 1", count([0, 0, 1, 1], [0, 1, 0, 1])
    yield "the last two cells", count([0.9999, 0.99995, 1, 1], [0, 1, 0, 1])
    yield "equal counts", count(np.repeat(np.arange(1, 41) / 41, 3), np.arange(120) % 2)  # every boundary is a tie
    yield "billions", many(count(p, y), 10**9)
    # Boundaries that are missed or reached by one row of some 10^9, just about the slack of 1e-9 of the total.
    if np.finfo(np.longdouble).nmant < 60:  # where NumPy has no wider numbers, its own boundaries are rounded here
        return
    for total in (999_999_999, 1_000_000_000, 1_000_000_001, 1_200_000_000, 5_000_000_000):
        for m in (2, 3, 7):
            first = total // m - 1
            n = np.array([first, 1, 1, total - first - 2])
            pair = count([0.1, 0.2, 0.3, 0.4], [0, 0, 0, 0])
            columns = {"n": n, "w": n * 1.0, "w2": n * 1.0, "wp": n * pair.wp}
            yield f"{total} rows, near 1/{m}", replace(pair, **columns)


def real_cases():
    """Every class of real predictions, and binary forecasts; with weights too."""
    try:
        folder = real_data()
    except pytest.skip.Exception:
        return
    saved = np.load(folder / "cifar10_lenet5.npz")
    weights = np.random.default_rng(1).random(len(saved["labels"]))
    for name, w in (("real", None), ("real, weighted", weights)):
        data = Predictions(saved["probs"], saved["labels"], sample_weight=w)
        classes = CellStats.of(data, data.view("classwise")).regrid(N_PAGE_CELLS)
        for k in (0, 3, 9):
            yield f"{name}, class {k}", classes.only_stratum(k)
    saved = np.load(folder / "fte_nfl.npz")
    yield "forecasts", count(saved["probs64"], saved["labels"])


CASES = {name: PackedCells.of(cells) for name, cells in (*made_cases(), *real_cases())}
PAIRS = [("uniform", "tails"), ("heaps", "heaps, weighted"), ("one row", "all 1"), ("0 and 1", "on edges")]


@pytest.fixture(scope="module")
def found():
    """All that the script says, from one run."""
    names = list(CASES)
    text = CASES["heaps"].data
    damaged = ["", "AAAA", text[:-4], text[:8] + "A" + text[9:], text[4:]]
    asked = {
        "cases": [one.to_dict() for one in CASES.values()],
        "pairs": [[names.index(name) for name in pair] for pair in PAIRS],
        "quantiles": list(QUANTILES),
        "levels": LEVELS,
        "damaged": damaged,
    }
    done = subprocess.run(
        [need("node"), "-e", RUN, str(SCRIPT)], input=json.dumps(asked), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert len(answer["cases"]) == len(CASES)
    return answer


def case(found, name):
    """What the script found of a case, and the cells in Python."""
    return found["cases"][list(CASES).index(name)], CASES[name].cells()


def check_bins(bins, stats, level=0.95):
    """The bins are those of the table."""
    table = table_of(stats, level)
    at = np.flatnonzero(table.n)
    assert len(bins) == len(at)
    assert [one["n"] for one in bins] == table.n[at].tolist()
    column = {name: np.array([one[name] for one in bins]) for name in bins[0]}
    dtype = stats.edges[0].dtype  # the script has k/M, Python that rounded to the type of the scores
    assert np.array_equal(column["low"].astype(dtype), table.edges[at, 0].astype(dtype))
    assert np.array_equal(column["high"].astype(dtype), table.edges[at, 1].astype(dtype))
    for name in ("w", "wp", "wy", "w2"):
        assert column[name] == pytest.approx(getattr(stats, name), rel=1e-12), name
    for name in ("conf", "acc", "gap"):
        assert column[name] == pytest.approx(getattr(table, name)[at], **CLOSE), name
    assert column["lower"] == pytest.approx(table.low[at], **CLOSE)
    assert column["upper"] == pytest.approx(table.high[at], **CLOSE)


def check_look(look, cells, m, strategy):
    """Bins, errors and what chance shows, of one choice of bins."""
    stats = cells.coarsen(m if strategy == "uniform" else cells.quantile_edges(m))
    check_bins(look["bins"], stats)
    choice = {"n_bins": m, "strategy": strategy}
    errors = look["errors"]
    assert errors["ece"] == pytest.approx(expected_calibration_error(cells, **choice), **CLOSE)
    assert errors["mce"] == pytest.approx(maximum_calibration_error(cells, **choice), **CLOSE)
    assert errors["rmsce"] == pytest.approx(root_mean_square_calibration_error(cells, **choice), **CLOSE)
    assert look["byChance"] == pytest.approx(expected_by_chance(cells, stats), **CLOSE)


def check_all(result, cells):
    """Every number of bins, both ways."""
    for m, look in zip(BIN_COUNTS, result["uniform"], strict=True):
        check_look(look, cells, m, "uniform")
    for m, look in zip(QUANTILES, result["quantile"], strict=True):
        check_look(look, cells, m, "quantile")


# --- tests ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_cells_are_the_same_numbers(found, name):
    """Unpacked, every column is Python's to the last bit."""
    result, cells = case(found, name)
    assert result["cells"]["index"] == cells.index.tolist()
    for column in ("n", "w", "wp", "wy", "w2"):
        assert np.array_equal(np.array(result["cells"][column], float), getattr(cells, column)), column


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_bins_and_errors(found, name):
    """Bins, intervals, errors and the share of chance agree for all uniform and quantile bins."""
    check_all(*case(found, name))


@pytest.mark.parametrize("name", CASES)
def test_levels(found, name):
    """Intervals agree at other levels than 95 %."""
    result, cells = case(found, name)
    for level, bins in zip(LEVELS, result["levels"], strict=True):
        check_bins(bins, cells.coarsen(10), level)


@pytest.mark.parametrize("name", CASES)
def test_summary_and_density(found, name):
    """Rows, weight, base rate, mean score; and the columns of a histogram, empty ones included."""
    result, cells = case(found, name)
    total = cells.w.sum()
    want = {
        "n": cells.n.sum(),
        "weight": total,
        "baseRate": cells.wy.sum() / total,
        "meanScore": cells.wp.sum() / total,
    }
    assert result["summary"] == pytest.approx(want, rel=1e-12)
    shares = np.zeros(60)
    stats = cells.coarsen(60)
    shares[stats.index] = stats.w / total
    assert result["density"] == pytest.approx(shares, **CLOSE)


@pytest.mark.parametrize("pair", PAIRS)
def test_added(found, pair):
    """The sum of two statistics is Python's sum of them."""
    a, b = (CASES[name].cells() for name in pair)
    result, both = found["added"][PAIRS.index(pair)], a + b
    assert result["cells"]["index"] == both.index.tolist()
    assert result["cells"]["wp"] == both.wp.tolist()
    check_all(result, both)


def test_bin_counts_divide(found):
    """The slider offers every number of bins from 2 to 60 that is made of whole cells."""
    assert found["binCounts"] == BIN_COUNTS


def test_a_string_will_do(found):
    """The string alone is unpacked as the dictionary is."""
    assert found["fromString"] == found["cases"][0]["cells"]


def test_refusals(found):
    """Damaged strings, bins that split cells and levels in per cent are errors, not numbers."""
    assert found["damaged"] == ["Error: the cells are damaged"] * 5
    assert [words.partition(":")[0] for words in found["refused"]] == ["RangeError"] * 3
    assert found["refusedLevel"] == "RangeError: level must lie between 0 and 1, got 95"
