"""An alarm for loss of calibration that may be checked after every batch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from believable import _check
from believable._types import Float64s, Notion
from believable.binning import Edges, Grid
from believable.errors import InputError, MergeError, SchemaError
from believable.predictions import View, as_predictions
from believable.stats import CellStats
from believable.stats.readable import Readable
from believable.stats.saved import field_of, float_list, number_in, open_saved
from believable.streams.batch import is_empty
from believable.streams.bets import (
    BET_DIRECTIONS,
    STAKE_SHARES,
    BetCells,
    by_place,
    cells_of_rows,
    cells_of_statistic,
    largest_stakes,
    log_factors,
    reference_margins,
)

ALARM_SCHEMA = "believable.DriftAlarm"


@dataclass(frozen=True, slots=True)
class Drift:
    """Where the scores are miscalibrated, and how strong the evidence is.

    Attributes
    ----------
    batch, n : int
        The number of batches and rows so far.
    capital : float
        The betting capital, which started as 1; 1 / capital is a p-value that is valid however often you check.
    stratum : int or None
        The class or rank, where these are watched separately.
    low, high : float
        The range of scores, (low, high]: a bin, or 0 to 1 for all scores together.
    direction : {"too low", "too high"}
        Whether the scores are too low or too high.
    share : float
        The share of the capital that was won there.
    """

    batch: int
    n: int
    capital: float
    stratum: int | None
    low: float
    high: float
    direction: str
    share: float

    group = _check.renamed_attribute("group", "stratum")

    def __str__(self) -> str:
        scores = "all scores" if (self.low, self.high) == (0, 1) else f"scores in ({self.low:.4g}, {self.high:.4g}]"
        of = "" if self.stratum is None else f" of class {self.stratum}"
        when = f"batch {self.batch:,}, {self.n:,} rows"
        return f"{scores}{of} are {self.direction} ({when}, betting capital {self.capital:.3g})"


class DriftAlarm:
    """A sequential test of calibration: the probability of ever raising a false alarm is at most `alpha`.

    The hypothesis is that each outcome, given the past, occurs at the predicted rate within `tolerance`: E[y - p] lies
    in [-tolerance, tolerance]. Bets are placed against it: in each bin and on all scores together, on scores too low
    and on scores too high, with seven stakes, from 1/2 to 1/128 of the stake that could lose everything on one row.
    Each bet has a capital of 1. It invests 1 / (t (t + 1)) of it at batch t, so that a change is noticed whenever it
    comes, and reinvests its gains:

        S_t = (S_{t-1} + 1 / (t (t + 1))) * prod over the batch's rows in the bin of 1 + stake (+-(y - p) - tolerance)

    The mean of all S is the capital. If the hypothesis is true, the probability that it ever reaches 1 / alpha is at
    most alpha (Ville). So you may check after every batch, forever, and stop at any time.

    Parameters
    ----------
    alpha : float
        The probability of ever raising an alarm if the hypothesis is true.
    tolerance : float
        How far the observed rate may be from the scores without an alarm. With 0 the alarm tests perfect calibration,
        which real scores do not have: with enough rows it will be raised. Choose the error that would matter to you.
    n_bins : int
        The number of uniform bins.
    notion : str, optional
        By default "binary" for 1-D scores, "confidence" for a matrix, "classwise" for multilabel. "classwise" and
        "top_label" watch each class.
    reference : Summary, CellStats or Predictions, optional
        Watch for a change since this period, instead of for miscalibration: the hypothesis is then that, in each bin,
        the mean of y - p stays within `tolerance` of its value in the reference. That value has a confidence interval
        (of Maurer and Pontil, for all bins at once), which uses half of alpha and widens the tolerance. So a short
        reference makes the alarm slower, not less reliable.

    Attributes
    ----------
    capital, p_value : float
        The current capital, and the p-value 1 / (largest capital so far), valid at any time.
    alarm : Drift or None
        When and where the alarm was first raised. It stays until `reset()`.
    where : Drift or None
        The bin and direction with the most capital now.
    batches, n : int
        The number of batches and rows so far.

    Notes
    -----
    Statistics can be used instead of rows: within a cell of scores, the least favourable case is assumed. Weights are
    not used: every row counts once. A soft label gains less than 1 + stake (y - p - tolerance), never more. Rows of one
    batch are assumed independent given their scores; clusters (several rows of one patient) break the guarantee, so
    count one row of each. Which rows are included must not depend on their outcomes: if positives are known sooner than
    negatives, wait until both are known.

    References
    ----------
    Ville (1939), Étude critique de la notion de collectif. Shafer (2021), Testing by betting, JRSS A. Arnold, Henzi,
    Ziegel (2023), Sequentially valid tests for forecast calibration, Annals of Applied Statistics. Waudby-Smith, Ramdas
    (2024), Estimating means of bounded random variables by betting, JRSS B. Shin, Ramdas, Rinaldo (2024), E-detectors.
    Maurer, Pontil (2009), Empirical Bernstein bounds, COLT (for `reference`).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> alarm = DriftAlarm(alpha=0.01, tolerance=0.02)
    >>> for day in range(60):
    ...     p = rng.random(500)
    ...     y = rng.random(500) < (p if day < 30 else p**1.3)  # from day 31 on, scores are too high
    ...     alarm.update(p, y)
    >>> alarm.alarm.batch, alarm.alarm.direction
    (36, 'too high')
    """

    def __init__(
        self,
        *,
        alpha: float = 0.01,
        tolerance: float = 0.0,
        n_bins: int = 10,
        notion: Notion | None = None,
        reference: Any = None,
    ) -> None:
        self.alpha = _check.level(alpha, "alpha")
        self.tolerance = _check.number(tolerance, "tolerance", 0, 1)
        self.n_bins = _check.positive_integer(n_bins, "n_bins", 1, 1000)
        self.notion = notion
        self._view: View | None = None
        self._reference: CellStats | None = None
        if reference is not None:
            self._reference = self._cells_of_reference(reference)
        self._margin: Float64s | None = None  # direction x bin
        self._log_capital: Float64s | None = None  # direction x stake x bin; all scores of a stratum come last
        self.alarm: Drift | None = None
        self._log_largest = -math.inf
        self.reset()

    # --- watching ---

    def update(self, predictions: Any, actuals: Any = None) -> None:
        """Bet on a batch: arrays, a `Predictions`, a `Summary` or a `CellStats`. An invalid batch changes nothing."""
        statistic = self._counted(predictions)
        if statistic is not None:
            if actuals is not None:
                raise InputError("a statistic already holds its outcomes: leave actuals out")
            self.check(statistic.view, statistic.grid)
            rows = int(statistic.n.sum()) // statistic.view.pairs_per_row
            self._bet(statistic.view, [cells_of_statistic(statistic, self.n_bins)], rows)
            return
        if is_empty(predictions, actuals):
            return
        batch = as_predictions(predictions, actuals)
        view = batch.view(self.notion)
        self.check(view, Grid(self.n_bins * 2))
        blocks = [cells_of_rows(pairs, Edges.uniform(self.n_bins, batch.scores.dtype)) for pairs in batch.pairs(view)]
        self._bet(view, blocks, len(batch))

    def _bet(self, view: View, blocks: list[BetCells], n: int) -> None:
        if not n:
            return
        if self._view is None:
            self._begin(view)
        won = sum(self._won(block) for block in blocks)
        assert self._log_capital is not None
        self.batches += 1
        self.n += n
        t = self.batches
        self._log_capital = np.logaddexp(self._log_capital, -math.log(t) - math.log(t + 1)) + won
        self._log_largest = max(self._log_largest, self._log_mean())
        if self.alarm is None and self._log_mean() >= self._log_threshold:
            self.alarm = self.where

    def _begin(self, view: View) -> None:
        n_places = view.n_strata * self.n_bins
        margin = np.full((2, n_places), self.tolerance)
        if self._reference is not None:
            margin = margin + reference_margins(self._reference, self.n_bins, self.alpha / 2)
        self._view, self._margin = view, margin
        self._log_capital = np.full((2, len(STAKE_SHARES), n_places + view.n_strata), -np.inf)

    def _won(self, cells: BetCells) -> Float64s:
        """Return the log of the factor by which a batch multiplies each capital."""
        assert self._view is not None
        assert self._margin is not None
        n_strata, n_places = self._view.n_strata, self._margin.shape[1]
        stratum = cells.place // self.n_bins
        ends = np.arange(self.n_bins + 1) / self.n_bins
        most = largest_stakes(np.tile(ends[:-1], n_strata), np.tile(ends[1:], n_strata), self._margin)
        # The bet on all scores of a stratum has a single stake.
        together = most.reshape(2, n_strata, self.n_bins).min(axis=2)
        won = np.empty((2, len(STAKE_SHARES), n_places + n_strata))
        for d in range(2):
            margin = self._margin[d, cells.place]
            in_bin = log_factors(cells, STAKE_SHARES[:, None] * most[d, cells.place], margin, d)
            won[d, :, :n_places] = by_place(in_bin, cells.place, n_places)
            in_all = log_factors(cells, STAKE_SHARES[:, None] * together[d, stratum], margin, d)
            won[d, :, n_places:] = by_place(in_all, stratum, n_strata)
        return won

    def reset(self) -> None:
        """Start again, with a capital of 1 and a new guarantee."""
        self.batches = self.n = 0
        self.alarm, self._log_largest = None, -math.inf
        self._view, self._log_capital = None, None

    def check(self, view: View, grid: Grid) -> None:
        """Raise unless cells of this view and grid can be watched."""
        if view.pooled or view.threshold is not None:
            raise InputError(
                "pooled classes and thresholds cannot be watched, because several of their pairs belong to one row"
            )
        if self.notion is not None and view.notion != self.notion:
            raise InputError(f"the alarm watches {self.notion}, but this batch has {view.notion}")
        if self._view is not None and view != self._view:
            raise MergeError(f"the alarm watches {self._view}, but this batch has {view}")
        if self._reference is not None and view != self._reference.view:
            raise MergeError(f"the reference has {self._reference.view}, but this batch has {view}")
        if grid.spacing != "uniform" or grid.n_cells % self.n_bins:
            raise InputError(f"{self.n_bins} bins do not consist of whole cells of {grid}: count on a uniform grid")

    # --- reading ---

    @property
    def _log_threshold(self) -> float:
        return -math.log(self.alpha / 2 if self._reference is not None else self.alpha)

    def _log_mean(self) -> float:
        capital = self._log_capital
        return -math.inf if capital is None else float(np.logaddexp.reduce(capital, axis=None)) - math.log(capital.size)

    @property
    def capital(self) -> float:
        """The current betting capital, without the part not yet invested, so that it starts near 0."""
        return _exp(self._log_mean())

    @property
    def p_value(self) -> float:
        """The p-value, valid however often you check: an upper bound, 1 at the start."""
        spent = self.alpha / 2 if self._reference is not None else 0.0
        return min(1.0, _exp(-self._log_largest) + spent)

    @property
    def where(self) -> Drift | None:
        """The bin and direction with the most capital now; None before the first batch."""
        if self._log_capital is None or self._view is None:
            return None
        by = np.logaddexp.reduce(self._log_capital, axis=1)  # sums over stakes
        d, place = (int(i) for i in np.unravel_index(np.argmax(by), by.shape))
        share = _exp(float(by[d, place]) - float(np.logaddexp.reduce(by, axis=None)))
        n_places = self._view.n_strata * self.n_bins
        if place >= n_places:
            stratum, low, high = place - n_places, 0.0, 1.0
        else:
            stratum, k = divmod(place, self.n_bins)
            low, high = k / self.n_bins, (k + 1) / self.n_bins
        of = stratum if self._view.n_strata > 1 else None
        return Drift(self.batches, self.n, self.capital, of, low, high, BET_DIRECTIONS[d], share)

    def __str__(self) -> str:
        around = "the scores" if self._reference is None else "the reference"
        settings = (
            f"lifetime false-alarm rate at most {self.alpha:g}, {self.n_bins} bins, "
            f"tolerance {self.tolerance:g} around {around}"
        )
        if self.alarm is not None:
            return f"alarm: {self.alarm}; {settings}"
        return f"no alarm in {self.batches:,} batches, {self.n:,} rows: p = {self.p_value:.2g}; {settings}"

    __repr__ = __str__

    # --- saving ---

    def state_dict(self) -> dict[str, Any]:
        """Return the state as a dictionary for JSON; see `load_state_dict`."""
        capital = self._log_capital
        return {
            "schema": ALARM_SCHEMA,
            "version": 1,
            "settings": self._settings(),
            "view": None if self._view is None else self._view.to_dict(),
            "batches": self.batches,
            "n": self.n,
            # -inf is a capital of 0, which no bet has after the first batch.
            "log_capital": None if capital is None else capital.ravel().tolist(),
            "log_largest": None if capital is None else self._log_largest,
            "alarm": None if self.alarm is None else {n: getattr(self.alarm, n) for n in Drift.__slots__},
        }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Continue from the state of an alarm with the same settings; a damaged or foreign state is refused."""
        open_saved(saved, ALARM_SCHEMA, 1)
        if saved.get("settings") != self._settings():
            raise SchemaError(f"the saved alarm has other settings: {saved.get('settings')}, not {self._settings()}")
        other = DriftAlarm(
            alpha=self.alpha,
            tolerance=self.tolerance,
            n_bins=self.n_bins,
            notion=self.notion,
            reference=self._reference,
        )
        other.batches, other.n = field_of(saved, "batches", int), field_of(saved, "n", int)
        if other.n < 0:
            raise SchemaError("the saved alarm is damaged: its counts are not counts")
        if saved.get("view") is not None:
            try:
                other._begin(View.from_dict(field_of(saved, "view", dict)))
                if saved.get("alarm") is not None:
                    other.alarm = Drift(**field_of(saved, "alarm", dict))
            except (TypeError, InputError, MergeError) as error:
                raise SchemaError(f"the saved alarm is damaged: {error}") from error
            capital, shape = float_list(saved, "log_capital"), other._log_capital
            if shape is None or capital.size != shape.size or other.batches < 1:
                raise SchemaError("the saved alarm is damaged: its bets do not match its bins")
            other._log_capital = capital.reshape(shape.shape)
            other._log_largest = number_in(saved, "log_largest")
        elif other.batches or other.n:
            raise SchemaError("the saved alarm is damaged: it has counted batches, but does not say of which kind")
        self.__dict__.update(other.__dict__)

    def _settings(self) -> dict[str, Any]:
        chosen = {"alpha": self.alpha, "tolerance": self.tolerance, "n_bins": self.n_bins, "notion": self.notion}
        reference = self._reference
        known = None
        if reference is not None:
            bins = reference.coarsen(self.n_bins)
            known = [reference.view.to_dict(), *([*map(float, column)] for column in (bins.key, bins.n, bins.ny))]
        return chosen | {"reference": known}

    def _counted(self, given: Any) -> CellStats | None:
        """Return the cells to watch if a statistic is given; None for rows."""
        return given.read_cells(self.notion) if isinstance(given, Readable) else None

    def _cells_of_reference(self, reference: Any) -> CellStats:
        cells = self._counted(reference)
        if cells is None:
            rows = as_predictions(reference)
            cells = CellStats.of(rows, rows.view(self.notion))
        self.check(cells.view, cells.grid)
        return cells


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
