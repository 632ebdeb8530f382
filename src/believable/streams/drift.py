"""An alarm for scores that stop being believable, which may be looked at after every batch."""

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
    """Where the evidence lies.

    Attributes
    ----------
    batch, n : int
        Batches and rows seen by then.
    capital : float
        What a capital of 1 had become; 1 / capital is a p-value that holds however often one looks.
    stratum : int or None
        Class or rank, where these are kept apart.
    low, high : float
        The scores, (low, high]: a bin, or 0 to 1 for all scores together.
    direction : {"too low", "too high"}
        What is wrong with the scores.
    share : float
        The part of the capital that was won there.
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
        return f"{scores}{of} are {self.direction} (batch {self.batch:,}, {self.n:,} rows, capital {self.capital:.3g})"


class DriftAlarm:
    """A sequential test of calibration: the chance that it ever rings without cause is at most `alpha`.

    The hypothesis is that each outcome, given the past, happens at the predicted rate within `tolerance`: E[y - p] lies
    in [-tolerance, tolerance]. Against it bets are placed: in each bin and on all scores together, on scores too low
    and on scores too high, with seven stakes, from 1/2 to 1/128 of what could lose everything on one row. Each bet has
    a capital of 1. It puts in 1 / (t (t + 1)) of it at batch t, so that a change is noticed whenever it comes, and
    leaves in what it has won:

        S_t = (S_{t-1} + 1 / (t (t + 1))) * prod over the batch's rows in the bin of 1 + stake (+-(y - p) - tolerance)

    The mean of all S is the capital. While the hypothesis is true, no strategy makes it ever reach 1 / alpha with a
    chance of more than alpha (Ville). So one may look after every batch, for ever, and stop at will.

    Parameters
    ----------
    alpha : float
        The chance that the alarm ever rings while the hypothesis is true.
    tolerance : float
        How far outcomes may be from the scores without alarm. With 0 the alarm is about perfect calibration, which
        real scores do not have: given enough rows it will ring. Choose what would matter.
    n_bins : int
        Uniform bins.
    notion : str, optional
        "binary" for 1-D scores, "confidence" for a matrix, "classwise" for multilabel, if left out. "classwise" and
        "top_label" watch each class.
    reference : Summary, CellStats or Predictions, optional
        Watch for a change from this period rather than for errors: the hypothesis is then that, in each bin, the mean
        of y - p stays within `tolerance` of what it was. What it was is known up to a confidence interval (Maurer and
        Pontil's, for all bins at once) at the cost of half of alpha; that interval widens the tolerance, so a short
        reference makes a patient alarm, not a false one.

    Attributes
    ----------
    capital, p_value : float
        The capital now, and the p-value 1 / (largest capital so far), valid at any time.
    alarm : Drift or None
        When it first rang, and where. It stays so until `reset()`.
    where : Drift or None
        The bin and direction with most capital now.
    batches, n : int

    Notes
    -----
    Statistics are enough: a cell of scores is counted so that nothing is won by not knowing the scores within it.
    Weights are not used: rows count once. A soft label wins less than 1 + stake (y - p - tolerance), never more. Rows
    of one batch are taken as independent given their scores; clusters (several rows of one patient) break the promise,
    so count one row of each. Which rows have come must not depend on their outcomes: where positives are known sooner
    than negatives, wait until both are.

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
        self._margin: Float64s | None = None  # direction x place
        self._log_capital: Float64s | None = None  # direction x stake x place; bins first, all scores of a stratum last
        self.alarm: Drift | None = None
        self._log_largest = -math.inf
        self.reset()

    # --- watching ---

    def update(self, predictions: Any, actuals: Any = None) -> None:
        """Bet on a batch: arrays, a `Predictions`, a `Summary` or a `CellStats`. A refused batch changes nothing."""
        statistic = self._counted(predictions)
        if statistic is not None:
            if actuals is not None:
                raise InputError("a statistic already holds what it counted: leave actuals out")
            self.check(statistic.view, statistic.grid)
            rows = int(statistic.n.sum()) // pairs_per_row(statistic.view)
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
        """The log of what a batch multiplies each capital by."""
        assert self._view is not None
        assert self._margin is not None
        n_strata, n_places = self._view.n_strata, self._margin.shape[1]
        stratum = cells.place // self.n_bins
        ends = np.arange(self.n_bins + 1) / self.n_bins
        most = largest_stakes(np.tile(ends[:-1], n_strata), np.tile(ends[1:], n_strata), self._margin)
        together = most.reshape(2, n_strata, self.n_bins).min(axis=2)  # one stake for all scores of a stratum
        won = np.empty((2, len(STAKE_SHARES), n_places + n_strata))
        for d in range(2):
            margin = self._margin[d, cells.place]
            in_bin = log_factors(cells, STAKE_SHARES[:, None] * most[d, cells.place], margin, d)
            won[d, :, :n_places] = by_place(in_bin, cells.place, n_places)
            in_all = log_factors(cells, STAKE_SHARES[:, None] * together[d, stratum], margin, d)
            won[d, :, n_places:] = by_place(in_all, stratum, n_strata)
        return won

    def reset(self) -> None:
        """Forget what was seen and start again, with a capital of 1 and a new promise."""
        self.batches = self.n = 0
        self.alarm, self._log_largest = None, -math.inf
        self._view, self._log_capital = None, None

    def check(self, view: View, grid: Grid) -> None:
        """Raise unless cells of this view and grid can be watched."""
        if view.pooled or view.threshold is not None:
            raise InputError("pooled classes and thresholds are not watched: several of their pairs belong to one row")
        if self.notion is not None and view.notion != self.notion:
            raise InputError(f"the alarm watches {self.notion}, this holds {view.notion}")
        if self._view is not None and view != self._view:
            raise MergeError(f"the alarm watches {self._view}, this holds {view}")
        if self._reference is not None and view != self._reference.view:
            raise MergeError(f"the reference holds {self._reference.view}, this holds {view}")
        if grid.spacing != "uniform" or grid.n_cells % self.n_bins:
            raise InputError(f"{self.n_bins} bins are not made of whole cells of {grid}: count on a uniform grid")

    # --- reading ---

    @property
    def _log_threshold(self) -> float:
        return -math.log(self.alpha / 2 if self._reference is not None else self.alpha)

    def _log_mean(self) -> float:
        capital = self._log_capital
        return -math.inf if capital is None else float(np.logaddexp.reduce(capital, axis=None)) - math.log(capital.size)

    @property
    def capital(self) -> float:
        """What a capital of 1 has become; the part that is not at stake yet is left out, so it begins near 0."""
        return _exp(self._log_mean())

    @property
    def p_value(self) -> float:
        """Valid however often one looks: the chance of ever seeing as large a capital; 1 at the beginning."""
        spent = self.alpha / 2 if self._reference is not None else 0.0
        return min(1.0, _exp(-self._log_largest) + spent)

    @property
    def where(self) -> Drift | None:
        """The bin and direction with most capital now; None before the first batch."""
        if self._log_capital is None or self._view is None:
            return None
        by = np.logaddexp.reduce(self._log_capital, axis=1)  # over stakes
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
        within = f"within {self.tolerance:g} of " + ("the scores" if self._reference is None else "the reference")
        promise = f"false alarm rate {self.alpha:g} for ever, {self.n_bins} bins, outcomes {within}"
        if self.alarm is not None:
            return f"alarm: {self.alarm}; {promise}"
        return f"no alarm in {self.batches:,} batches, {self.n:,} rows: p = {self.p_value:.2g}; {promise}"

    __repr__ = __str__

    # --- saving ---

    def state_dict(self) -> dict[str, Any]:
        """What it has seen, as a dictionary that JSON can hold; see `load_state_dict`."""
        capital = self._log_capital
        return {
            "schema": ALARM_SCHEMA,
            "version": 1,
            "settings": self._settings(),
            "view": None if self._view is None else self._view.to_dict(),
            "batches": self.batches,
            "n": self.n,
            # -inf is nothing at all, which no bet has after the first batch.
            "log_capital": None if capital is None else capital.ravel().tolist(),
            "log_largest": None if capital is None else self._log_largest,
            "alarm": None if self.alarm is None else {n: getattr(self.alarm, n) for n in Drift.__slots__},
        }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Go on from what another alarm of the same settings has seen; a damaged or foreign state is refused."""
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
                raise SchemaError("the saved alarm is damaged: its bets are not those of its bins")
            other._log_capital = capital.reshape(shape.shape)
            other._log_largest = number_in(saved, "log_largest")
        elif other.batches or other.n:
            raise SchemaError("the saved alarm is damaged: it has seen batches, but not of what")
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
        """The cells of what is watched, where a statistic is given; None for rows."""
        return given.read_cells(self.notion) if isinstance(given, Readable) else None

    def _cells_of_reference(self, reference: Any) -> CellStats:
        cells = self._counted(reference)
        if cells is None:
            rows = as_predictions(reference)
            cells = CellStats.of(rows, rows.view(self.notion))
        self.check(cells.view, cells.grid)
        return cells


def pairs_per_row(view: View) -> int:
    """How many pairs of a view belong to one row."""
    return view.n_strata if view.notion in ("classwise", "top_r") else 1


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
