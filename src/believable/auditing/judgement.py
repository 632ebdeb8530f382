"""`verdict`: the calibration of predictions in words, from the ECE, its interval and what chance would show."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable._check import generator, renamed
from believable._types import Float64s, Notion, Strategy
from believable.auditing.means import VERDICT_DRAWS, Means
from believable.auditing.settings import AuditSettings
from believable.auditing.source import AuditSource, ClusteredRows, source_of_audit
from believable.curves.binned import ReliabilityTable, table_of
from believable.errors import InputError
from believable.inference.cells import BinCells
from believable.inference.interval import interval
from believable.inference.noise import chance_of_clusters
from believable.inference.noise_floor import noise_floor
from believable.inference.question import ask
from believable.report.verdicts import ECE_GUIDELINE, Grade, Place, Standing, Verdict
from believable.stats import BinStats
from believable.stats.source import TEN, UNIFORM, BinsAsked, count_asked

ONE_IN_TWENTY, ONE_IN_HUNDRED = 0.05, 0.01
CROWDED_BIN_SHARE = 0.9  # of the weight in one bin, beyond which the bins tell little
ONE_SIDED_SHARE = 0.95  # of the weight on one side of one half


@renamed(groups="clusters")
def verdict(
    predictions: Any,
    actuals: Any = None,
    n_bins: int = TEN,
    strategy: Strategy = UNIFORM,
    *,
    notion: Notion | None = None,
    pooled: bool = False,
    pairs: bool = False,
    clusters: Any = None,
    level: float = 0.95,
    random_state: Any = 0,
    sample_weight: Any = None,
) -> Verdict:
    """Judge the calibration of predictions in words.

    The grade follows a convention for the ECE: below 0.05 excellent, below 0.10 good,
    below 0.15 moderate, otherwise poor. Small samples show a positive ECE even for a perfect model; the verdict says
    how much, and gives no grade where that explains what is seen, or where the interval of the ECE reaches from
    excellent to moderate. Nor does it call anything excellent or good where on the whole a quarter more or less
    happened than was predicted.

    Parameters are those of `expected_calibration_error`, for notions with one curve ("binary", "confidence", or others
    with pooled=True); a `Summary` in place of the rows gives the same verdict. What chance alone would show is
    simulated (`noise_floor`); with the same `random_state` the same words come out. Rows that belong together
    (patients, queries) are named by `clusters`, as in `interval`. With `pairs` the 1-D scores are confidences in an
    answer and the outcomes whether it was right, as language models give them: accuracy is then the share that is
    right.

    Returns
    -------
    Verdict
        `print` it for the sentences.

    Examples
    --------
    >>> print(verdict([0.1, 0.2, 0.8, 0.9] * 50, [0, 0, 1, 1] * 50, n_bins=2))
    Calibration is poor: ECE 0.1500, 95 % interval 0.1... … 0.1... (2 uniform bins); a perfectly calibrated model with
    these scores would show about 0.02... by chance.
    Guideline for the ECE: below 0.05 excellent, below 0.10 good, below 0.15 moderate, otherwise poor.
    On the whole the scores fit: mean score 0.5000, happened 0.5000.
    The model is under-confident: mean confidence 0.8500, accuracy 1.0000.
    Scores from 0.00 to 0.50 are too high: 0.150 predicted, 0.000 happened (100 rows).
    Scores from 0.50 to 1.00 are too low: 0.850 predicted, 1.000 happened (100 rows).
    """
    source = source_of_audit(predictions, actuals, sample_weight, clusters=clusters, pairs=pairs)
    return judge(source, AuditSettings(n_bins, strategy, notion, pooled, pairs, level, random_state))


def judge(source: AuditSource, settings: AuditSettings) -> Verdict:
    """The verdict on predictions that were checked."""
    level, random_state, options = settings.level, settings.random_state, settings.options
    stats = count_asked(source.data, BinsAsked(**options), squares=True)
    if settings.pairs and source.kind != "binary":
        raise InputError(
            "{pairs=True} is for 1-D scores, confidences in an answer, with whether it was right", argument="pairs"
        )
    if stats.view.n_strata > 1:
        raise InputError(
            "a verdict is about one curve, not {notion=}: pass pooled=True", argument="notion", notion=stats.view.notion
        )
    ends = interval(
        "ece", source.data, options=options, clusters=source.cluster, level=level, random_state=random_state
    )
    floor = noise_floor("ece", source.data, options=options, n_resamples=VERDICT_DRAWS, random_state=random_state)
    means, chance, worth = Means.of(source.sums, settings.pairs), floor.p_value or 1.0, None
    if source.clustered is None:
        confident = _confidence_bins(source, stats, settings)
        shift, tilt = means.chances(stats, confident, generator(random_state))
    else:
        rows, cluster = source.clustered
        shift, tilt = means.chances_of_clusters(rows, cluster)
        asked = ask("ece", rows, options=options)
        chance = max(chance, chance_of_clusters(asked, cluster, VERDICT_DRAWS, generator(random_state)))
        worth = effective_rows_of_bins(source.clustered, stats)
    by_ece = chance <= ONE_IN_TWENTY
    low = ends.low if by_ece or level < 0.95 else 0.0  # few clusters vary too little to say so themselves
    beyond = by_ece or min(shift, tilt) <= ONE_IN_HUNDRED
    unlikely = ONE_IN_TWENTY if by_ece else ONE_IN_HUNDRED
    one_sided = means.mean_score is not None and not settings.pairs and _is_one_sided(stats)
    return Verdict(
        grade=grade(ends.value),
        standing=_standing(low, ends.high, beyond),
        ece=ends.value,
        low=low,
        high=ends.high,
        level=level,
        by_chance=floor.mean,
        q95=floor.q95,
        p_value=chance,
        beyond_chance=beyond,
        n_bins=stats.per_stratum,
        strategy=stats.strategy,
        notion=stats.view.notion,
        n=source.n,
        n_clusters=source.n_clusters,
        mean_score=means.mean_score,
        rate=means.rate,
        # Scores that are too sure vary less than their outcomes do, so the draws are too quick to call a shift one.
        off_on_the_whole=means.mean_score is not None and shift <= ONE_IN_HUNDRED,
        direction=means.direction if tilt <= unlikely and not one_sided else "unclear",
        confidence=means.confidence,
        accuracy=means.accuracy,
        pairs=settings.pairs,
        one_sided=one_sided,
        places=tuple(places_off(table_of(stats, effective_n=worth))) if beyond else (),
        crowded=_is_crowded(stats),
    )


def grade(ece: float) -> Grade:
    """The guideline's word for an ECE."""
    for word, below in ECE_GUIDELINE:
        if ece < below:
            return word  # type: ignore[return-value]
    return "poor"


def _standing(low: float, high: float, beyond_chance: bool) -> Standing:
    (_, excellent), (_, good), _ = ECE_GUIDELINE
    if low < excellent and high >= good:
        return "too little data"
    return "off" if beyond_chance else "cannot be told from perfect"


def _is_crowded(stats: BinStats) -> bool:
    share = float(stats.w.max() / stats.w.sum())
    return stats.strategy == "uniform" and stats.per_stratum > 1 and share > CROWDED_BIN_SHARE


def _is_one_sided(stats: BinStats) -> bool:
    above = float(stats.w[stats.conf > 0.5].sum() / stats.w.sum())
    return max(above, 1 - above) >= ONE_SIDED_SHARE


def _confidence_bins(source: AuditSource, stats: BinStats, settings: AuditSettings) -> BinStats | None:
    """Bins of the predicted class's probability; None for events, of which none is predicted in the place of others."""
    if source.kind != "multiclass":
        return None
    if stats.view.notion in ("confidence", "top_label"):
        return stats
    return count_asked(source.data, BinsAsked(**settings.bins, notion="confidence"), squares=True)


# --- where the scores are off -----------------------------------------------------------------------------------------


def places_off(table: ReliabilityTable) -> list[Place]:
    """Neighbouring bins that are off in the same direction, together."""
    with np.errstate(invalid="ignore"):
        sign = np.where(table.conf > table.high, -1, np.where(table.conf < table.low, 1, 0))
    occupied = np.flatnonzero(table.n)
    places: list[Place] = []
    run: list[int] = []
    for i, following in zip(occupied, [*occupied[1:], None], strict=True):
        if sign[i]:
            run.append(int(i))
        if run and (following is None or sign[following] != sign[run[0]]):
            weight = table.weight[run]
            conf, acc = np.average(table.conf[run], weights=weight), np.average(table.acc[run], weights=weight)
            places.append(
                Place(
                    float(table.edges[run[0], 0]),
                    float(table.edges[run[-1], 1]),
                    float(conf),
                    float(acc),
                    int(table.n[run].sum()),
                )
            )
            run = []
    return places


def effective_rows_of_bins(clustered: ClusteredRows, stats: BinStats) -> Float64s:
    r"""The number of independent rows that tell as much about the rate of each occupied bin.

    .. math:: n_b = \frac{q (1 - q)}{V_b}, \quad
              V_b = \frac{G}{G - 1} \frac{\sum_c (\sum_{i \in c, b} w_i (y_i - q))^2}{(\sum_{i \in b} w_i)^2}

    with q the rate of the bin and G the number of its clusters; at most as many as without clusters, and where all
    outcomes of a bin are the same, or it holds one cluster, the number of its clusters.
    """
    predictions, cluster = clustered
    score, outcome, weight, stratum, _ = predictions.all_pairs(stats.view)
    entry = BinCells.of(stats).locate(score, stratum)
    unit = np.repeat(cluster, len(score) // len(cluster))
    w = np.ones(len(score)) if weight is None else weight
    key, at = np.unique(unit * len(stats.n) + entry, return_inverse=True)
    bin_of_key = key % len(stats.n)
    residual = np.bincount(at, w * (outcome - stats.acc[entry]))
    clusters = np.bincount(bin_of_key, minlength=len(stats.n))
    squares = np.bincount(bin_of_key, residual**2, len(stats.n))
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = squares / stats.w**2 * (clusters / (clusters - 1))
        rows = stats.acc * (1 - stats.acc) / variance
    alike = (squares < 1e-12 * stats.w**2) | (clusters < 2)
    return np.asarray(np.clip(np.where(alike, clusters, rows), 1, stats.effective_n))
