"""Expected calibration error, in its general form."""

from __future__ import annotations

from typing import Any

from believable._check import refuse_array
from believable._types import Bins, Convention, Norm, Notion, Strategy
from believable.metrics.binned_error import binned_error, conventional_error, in_own_bins
from believable.metrics.table import metric
from believable.stats.source import TEN, UNIFORM, BinsAsked, count_asked, count_bins, source_of


@metric(
    alias="ece",
    counts=count_bins,
    says=binned_error,
    needs="bins",
    bins="uniform",
    of="confidence",
    in_halves=in_own_bins,
    power=1,
    reference="Naeini et al. 2015; Guo et al. 2017",
    elsewhere={
        "scikit-learn": (
            "only `calibration_curve`, without counts; right-closed bins with edges by `linspace`, 5 by default "
            '(`convention="scikit-learn"`)'
        ),
        "torchmetrics": (
            "`CalibrationError`: left-closed bins, 15 by default; 1 has its own bin; several classes in "
            'float32 (`convention="torchmetrics"`)'
        ),
        "netcal": (
            "`ECE`: left-closed bins after clipping to [eps, 1 − eps]; two columns are taken as P(y = 1) "
            '(`convention="netcal"`)'
        ),
        "uncertainty-calibration": (
            '`get_ece`: the same in float64, 15 bins by default (`convention="uncertainty-calibration"` for '
            "float32 and for `get_ece_em`)"
        ),
        "relplot": (
            "`binnedECE`: the bin is the truncated quotient of score and width, so left-closed except for rounding; 1 "
            'has its own bin (`convention="relplot"`)'
        ),
        "calibre": (
            "`expected_calibration_error`: for one event, left-closed bins, never more bins than rows "
            '(`convention="calibre"`)'
        ),
        "probmetrics": "`ece-15`: that of torchmetrics after clipping to [1e-7, 1 − 1e-7], so 1 has no separate bin",
        "calzone": "ECE-H: right-closed bins; rows with a score of 0 are left out",
        "MAPIE": (
            "`expected_calibration_error`: `num_bins=n` gives n − 1 bins, plus one for scores of 0; 50 by"
            " default; for a matrix, `y_true` says whether the argmax was right"
        ),
        "tutorials": (
            "`np.array_split` of sorted scores can put equal scores into different bins, so the order of rows matters "
            '(`convention="array_split"`, or `convention="floor_split"` if the last part takes the rest)'
        ),
    },
)
def expected_calibration_error(
    predictions: Any,
    actuals: Any = None,
    n_bins: Bins = TEN,
    strategy: Strategy = UNIFORM,
    *,
    notion: Notion | None = None,
    r: int | None = None,
    norm: Norm = 1,
    threshold: float | None = None,
    pooled: bool = False,
    sample_weight: Any = None,
    edges: Any = None,
    bin_by: Any = None,
    convention: Convention | None = None,
) -> float:
    r"""Mean gap between predicted probability and observed frequency, bin by bin.

    .. math:: \left( \sum_c \frac{W_c}{T} \, |\mathrm{acc}_c - \mathrm{conf}_c|^p \right)^{1/p}

    over the non-empty bins c (of every class or rank, if the notion keeps them apart), with W_c the weight of the bin,
    T the total weight, acc and conf the weighted means of outcomes and scores. 0 is best, 1 is worst.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), Predictions, BinStats, CellStats or Summary
        P(y = 1), or one column of probabilities per class. A `Predictions` or a statistic replaces both arguments; a
        statistic brings its own bins and notion.
    actuals : array-like of shape (n,)
        0/1, or class numbers 0..K-1.
    n_bins : int or "cube_root"
        Number of bins. There may be fewer quantile bins, because equal scores are never split. "cube_root", as in
        scikit-learn 1.10, is the cube root of the number of rows, rounded up: 10 for 1,000 rows, 22 for 10,000. Rows of
        weight 0 do not count; resampling and subgroups keep the bins of all rows.
    strategy : {"uniform", "quantile"}
        Bins of equal width, ((m-1)/M, m/M] with 0 in the first, or of equal weight.
    notion : str, optional
        Which pairs of score and outcome to compare: "binary" (the default for 1-D scores), "confidence" (the default
        for a matrix), "top_label", "classwise", "classwise_top_r", "top_r", "rth", "within_top_r".
    r : int, optional
        The rank, for the last four.
    norm : number >= 1, "l1", "l2" or "max"
        The power p; "l1" and "l2" are 1 and 2, and "max" gives the largest gap.
    threshold : float, optional
        Keep only entries with a score above this threshold.
    pooled : bool
        Pool classes or ranks in common bins.
    sample_weight : array-like of shape (n,), optional
        Importance weights.
    edges : sequence of float or Edges, optional
        Custom bin edges, from 0 to 1, instead of n_bins and strategy.
    bin_by : array-like of shape (n,), optional
        A column of numbers, such as age: bins are made of its values instead of the scores, of equal width between the
        smallest and the largest, or of equal weight; `edges` are then in its units. The error is 0 if the mean score
        equals the observed frequency in every range of that column.
    convention : str, optional
        Reproduce another library's value: "scikit-learn", "torchmetrics", "netcal", "relplot", "calibre",
        "uncertainty-calibration", or one of two recipes of tutorials, which cut the sorted scores into M parts of equal
        size: "array_split" (the first n mod M parts have one row more) or "floor_split" (n // M rows each, and the last
        part takes the rest).

    Returns
    -------
    float
        The calibration error.

    References
    ----------
    Naeini, Cooper, Hauskrecht (2015), AAAI; Guo, Pleiss, Sun, Weinberger (2017), ICML; Kumar, Liang, Ma (2019),
    NeurIPS, for the power.

    Examples
    --------
    >>> scores, outcomes = [0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]
    >>> round(expected_calibration_error(scores, outcomes, n_bins=2), 12)
    0.15
    >>> round(expected_calibration_error([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3]], [0, 2], notion="classwise"), 12)
    0.333333333333
    """
    refuse_array(n_bins, "n_bins")
    source = source_of(predictions, actuals, sample_weight)
    if convention is not None:
        refused = {"r": r, "threshold": threshold, "pooled": pooled or None, "edges": edges, "bin_by": bin_by}
        return conventional_error(source, convention, n_bins, strategy, norm, notion, refused)
    stats = count_asked(source, BinsAsked(n_bins, strategy, notion, r, threshold, pooled, edges, bin_by))
    return binned_error(stats, norm)
