"""`n_bins="cube_root"`: scikit-learn's rule, and where the number of rows cannot be known."""

from __future__ import annotations

import numpy as np
import polars
import pytest
from click.testing import CliRunner

import believable
from believable.binning import cube_root_bins
from believable.cli import main
from believable.errors import InputError, UndefinedError
from believable.predictions import View
from believable.stats import BinStats, CellStats, Summary

RNG = np.random.default_rng(5)
SCORES = RNG.random(700)
LABELS = (RNG.random(700) < SCORES**2).astype(int)
NINE = 9  # 8 ** 3 = 512 < 700 <= 729 = 9 ** 3


def test_the_rule_is_the_rounded_up_cube_root():
    """The number of bins is the smallest M with M³ ≥ n, which is `int(np.ceil(n ** (1 / 3)))` in scikit-learn."""
    ns = [*range(1, 3000), *(m**3 + d for m in range(14, 1000) for d in (-1, 0, 1))]
    assert [cube_root_bins(n) for n in ns] == [int(np.ceil(n ** (1 / 3))) for n in ns]
    assert [cube_root_bins(n) for n in (1, 2, 8, 9, 1000, 1001, 10_000)] == [1, 2, 2, 3, 10, 11, 22]


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("convention", [None, "scikit-learn", "calibre"])
def test_it_stands_for_a_number(strategy, convention):
    """The error, by our rule and by others, is that of the number."""
    both = [
        believable.expected_calibration_error(SCORES, LABELS, n_bins, strategy, convention=convention)
        for n_bins in ("cube_root", NINE)
    ]
    assert both[0] == both[1]


def test_curves_verdicts_and_evaluations_take_it():
    """Whatever takes a number of bins and the rows takes the rule."""
    assert len(believable.calibration_curve(SCORES, LABELS, "cube_root")[0]) == NINE
    assert len(believable.reliability_table(SCORES, LABELS, "cube_root", bin_by=np.arange(700))) == NINE
    assert believable.verdict(SCORES, LABELS, "cube_root").n_bins == NINE
    assert believable.audit(SCORES, LABELS, "cube_root", fix=False).verdict.n_bins == NINE
    found = believable.evaluate(SCORES, LABELS, ["ece", "brier"], n_bins="cube_root")
    assert found.n_bins == NINE
    assert found == believable.evaluate(SCORES, LABELS, ["ece", "brier"], n_bins=NINE)
    assert believable.expected_precision(700, n_bins="cube_root").n_bins == NINE
    assert "9 uniform bins" in believable.plot_reliability_diagram(SCORES, LABELS, "cube_root").axes[0].get_title(
        "left"
    )


def test_rows_of_weight_zero_do_not_count():
    """700 rows and 300 of weight 0 are 700 rows."""
    scores, labels = np.append(SCORES, np.full(300, 0.5)), np.append(LABELS, np.ones(300, int))
    weight = np.repeat([1.0, 0.0], [700, 300])
    assert believable.expected_calibration_error(
        scores, labels, "cube_root", sample_weight=weight
    ) == believable.expected_calibration_error(SCORES, LABELS, NINE)


@pytest.mark.parametrize("clusters", [None, np.arange(700) // 7])
def test_replicates_keep_the_bins_of_all_rows(clusters):
    """Intervals and noise floors of the rule are those of the number, whatever the size of a replicate."""
    asked = {"clusters": clusters, "random_state": 0, "n_resamples": 200}
    rule, number = (
        believable.interval("ece", SCORES, LABELS, options={"n_bins": n}, **asked) for n in ("cube_root", NINE)
    )
    assert rule == number
    rule, number = (
        believable.noise_floor("ece", SCORES, options={"n_bins": n}, random_state=0) for n in ("cube_root", NINE)
    )
    assert rule == number


def test_statistics_take_it_where_they_know_the_rows():
    """One pair per row makes the rows known; the pairs of a class-wise statistic do not."""
    data = believable.Predictions(SCORES, LABELS)
    expected = believable.expected_calibration_error(SCORES, LABELS, NINE)
    for statistic in (CellStats.of(data), Summary.of(data), BinStats.of(data, n_bins=NINE)):
        assert believable.expected_calibration_error(statistic, n_bins="cube_root") == pytest.approx(expected)
    with pytest.raises(UndefinedError, match="has 5 bins, not 9"):
        believable.expected_calibration_error(BinStats.of(data, n_bins=5), n_bins="cube_root")
    matrix = believable.Predictions(np.column_stack([1 - SCORES, SCORES]), LABELS)
    cells = CellStats.of(matrix, View("classwise", 2))
    with pytest.raises(UndefinedError, match="n_bins='cube_root' depends on the number of rows, which this CellStats"):
        believable.static_calibration_error(cells, n_bins="cube_root")


def test_it_is_refused_where_bins_are_fixed_before_the_rows():
    """Statistics that merge, alarms, recalibrators and plans need a number, and the error says why."""
    data = believable.Predictions(SCORES, LABELS)
    for refused in (
        lambda: BinStats.of(data, n_bins="cube_root"),
        lambda: believable.DriftAlarm(n_bins="cube_root"),
        lambda: believable.rows_needed(width=0.02, n_bins="cube_root"),
        lambda: believable.recalibrate.HistogramBinning(n_bins="cube_root").fit(SCORES, LABELS),
    ):
        with pytest.raises(InputError, match="n_bins='cube_root' depends on the number of rows, but here"):
            refused()


def test_the_command_line_takes_it(tmp_path):
    """`--bins cube_root` is the rule for the rows of the file."""
    path = tmp_path / "rows.csv"
    path.write_text("score,label\n" + "\n".join(f"{p},{y}" for p, y in zip(SCORES, LABELS, strict=True)))
    done = CliRunner().invoke(main, ["audit", str(path), "--bins", "cube_root", "--no-fix"])
    assert "(9 uniform bins)" in done.output
    done = CliRunner().invoke(main, ["rows", "--width", "0.02", "--bins", "cube_root"])
    assert "--bins cube_root depends on the number of rows" in done.output
    done = CliRunner().invoke(main, ["audit", str(path), "--bins", "many"])
    assert "'many' is neither a whole number nor cube_root" in done.output


@pytest.mark.parametrize(("name", "power"), [("l1", 1), ("l2", 2), ("max", "max")])
def test_norms_by_the_names_of_scikit_learn(name, power):
    """ "l1" and "l2" are the powers 1 and 2."""
    values = [believable.expected_calibration_error(SCORES, LABELS, norm=norm) for norm in (name, power)]
    assert values[0] == values[1]
    if name != "max":
        found = [believable.debiased_calibration_error(SCORES, LABELS, norm=norm) for norm in (name, power)]
        assert found[0] == found[1]
        found = [
            believable.interval("dce", SCORES, LABELS, options={"norm": norm}, random_state=0) for norm in (name, power)
        ]
        assert found[0] == found[1]
    gap = {"l1": 1, "l2": 2}.get(name)
    confidence, rate, n = believable.calibration_curve(SCORES, LABELS)[:3]
    off = np.abs(confidence - rate)
    literal = off.max() if gap is None else (np.sum(n * off**gap) / n.sum()) ** (1 / gap)
    assert values[0] == pytest.approx(literal)


def test_other_norms_are_refused_by_name():
    """The error lists the names."""
    with pytest.raises(InputError, match="or 'l1', 'l2' or 'max', got 'l3'"):
        believable.expected_calibration_error(SCORES, LABELS, norm="l3")


def test_one_pass_over_a_file_takes_it_where_cells_allow(tmp_path):
    """Bins of equal weight are made after counting; bins of equal width must divide the cells, which is said at once."""
    path, cells = tmp_path / "rows.parquet", tmp_path / "rows.cells"
    polars.DataFrame({"score": SCORES, "label": LABELS}).write_parquet(path)
    asked = ["audit", str(path), "--save-summary", str(cells), "--bins", "cube_root", "--no-fix"]
    assert "--bins cube_root: rows are counted in 50,400 cells" in CliRunner().invoke(main, asked).output
    assert "(9 quantile bins)" in CliRunner().invoke(main, [*asked, "--strategy", "quantile"]).output
    again = CliRunner().invoke(main, ["audit", str(cells), "--bins", "cube_root", "--no-fix"])
    assert "(9 uniform bins)" in again.output
