"""The metrics of an audit, each with its interval and its noise floor."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from believable._types import Kind
from believable.auditing.settings import AuditSettings
from believable.auditing.source import AuditSource
from believable.errors import BelievableError, ClippedWarning, CoarseCellsWarning, InputError, UndefinedError
from believable.inference.interval import interval
from believable.inference.noise_floor import noise_floor
from believable.metrics import Metric, find_metric
from believable.report.parts import Family, Measured
from believable.report.verdicts import Verdict

AUDITED_ERRORS: Mapping[Kind, tuple[str, ...]] = {
    "binary": ("ece", "smece", "ace", "mce", "rmsce", "ks", "ici", "slope", "citl", "oe"),
    "multiclass": ("ece", "sce", "tlce", "smece", "ace", "mce", "rmsce", "ks"),
    "multilabel": ("ece", "sce", "ace", "mce", "rmsce"),
}
AUDITED_SCORES = ("brier", "nll")
AUDITED_DISCRIMINATION = ("auc", "acc", "bss", "sharpness")
HEADLINE_METRIC = "expected_calibration_error"  # whose interval and floor are in the verdict, and not computed again
CLOSED_FORM_INTERVALS = ("slope", "citl", "oe")  # those of the clinical literature, which need no resampling
SLOW_INTERVALS = ("auc",)  # because each resample reads the whole matrix again
WARNINGS_TOLD_AS_NOTES = (ClippedWarning, CoarseCellsWarning)
INTERVAL_DRAWS, FLOOR_DRAWS, FEWEST_FLOOR_DRAWS = 300, 1000, 200
# Rows times classes: with more, the AUC of a matrix gets no interval, and noise floors get fewer draws.
MAX_ENTRIES_TO_DRAW_FROM = 200_000
# The smooth ECE has a bandwidth as small as itself. Below the first limit its noise floor would take minutes; below the
# second, its interval would take most of the time of the audit of a summary.
SMALLEST_SMOOTH_ERROR_WITH_FLOOR = 1e-4
SMALLEST_SMOOTH_ERROR_OF_CELLS_WITH_INTERVAL = 1e-3
# With more rows the smooth ECE of a perfect model is below 0.0005, which the cells are too coarse to resolve.
MAX_ROWS_WITH_SMOOTH_FLOOR = 200_000_000
NO_SMOOTH_FLOOR = "with so many rows the noise floor is below 0.0005"


@dataclass(frozen=True, slots=True, eq=False)
class Measurer:
    """Computes the metrics of an audit.

    Attributes
    ----------
    source : AuditSource
        The data.
    settings : AuditSettings
        The bins and the notion of the headline, for the metrics that have these options.
    verdict : Verdict
        The verdict, which already has the interval and the noise floor of the ECE, and the intervals of the ratio and
        the slope, which a table must not contradict.
    """

    source: AuditSource
    settings: AuditSettings
    verdict: Verdict

    def all(self) -> tuple[Measured, ...]:
        """Return every metric that is defined for these predictions."""
        families: dict[Family, tuple[str, ...]] = {
            "calibration": AUDITED_ERRORS[self.source.kind],
            "score": AUDITED_SCORES,
            "discrimination": AUDITED_DISCRIMINATION,
        }
        found = (
            self._measured_if_defined(find_metric(alias), family)
            for family, aliases in families.items()
            for alias in aliases
        )
        return tuple(measured for measured in found if measured is not None)

    def one(self, alias: str) -> Measured:
        """Return one metric, the same as among all; raise KeyError if it is not defined for these predictions."""
        family: Family = "calibration" if alias in AUDITED_ERRORS[self.source.kind] else "score"
        family = "discrimination" if alias in AUDITED_DISCRIMINATION else family
        measured = self._measured_if_defined(find_metric(alias), family)
        if measured is None:
            raise KeyError(alias)
        return measured

    def _measured_if_defined(self, row: Metric, family: Family) -> Measured | None:
        if self.source.kind not in row.kinds:
            return None  # the verdict already gives the accuracy of answers
        try:
            return self._measured(row, family)
        except UndefinedError:  # such as the AUC when all outcomes are the same
            return None
        except InputError:
            if not self.source.too_coarse(self.settings.n_bins, self.settings.strategy):
                raise
            return None

    def _measured(self, row: Metric, family: Family) -> Measured:
        asked = options_for(row, self.settings.options, self.source.kind)
        with warnings.catch_warnings(record=True) as said:
            for kind in WARNINGS_TOLD_AS_NOTES:
                warnings.simplefilter("always", kind)
            value = float(row.function(self.source.data, **asked))
        with warnings.catch_warnings():
            for kind in WARNINGS_TOLD_AS_NOTES:
                warnings.simplefilter("ignore", kind)  # because the value above came with the same warning
            low, high, note = self._interval(row, asked, value)
            floor, q95, p_value = self._floor(row, asked, value)
        note = note or (NO_SMOOTH_FLOOR if row.fixed_point and self._has_many_rows else "")
        notion = "binary" if self.source.kind == "binary" else asked.get("notion", row.of)
        return Measured(
            name=row.name,
            alias=row.alias,
            family=family,
            notion=notion if family == "calibration" else "",
            bins=f"{asked['n_bins']} {asked.get('strategy', row.bins)} bins" if row.bins else "",
            value=value,
            low=low,
            high=high,
            floor=floor,
            q95=q95,
            p_value=p_value if self.source.cluster is None or row.name == HEADLINE_METRIC else None,
            best=row.best,
            note="; ".join(dict.fromkeys(filter(None, [note, *(str(one.message) for one in said)]))),
        )

    def _interval(self, row: Metric, asked: dict[str, Any], value: float) -> tuple[float | None, float | None, str]:
        if row.name == HEADLINE_METRIC:
            return self.verdict.low, self.verdict.high, ""
        told = self._told_by_verdict(row.alias)
        if told is not None:
            return *told, ""
        if row.alias in SLOW_INTERVALS and self.source.n_entries > MAX_ENTRIES_TO_DRAW_FROM:
            return None, None, "no interval: it would take too long for so many rows and classes"
        smallest = SMALLEST_SMOOTH_ERROR_OF_CELLS_WITH_INTERVAL
        if row.fixed_point and self.source.counted_in_cells and 0 < value < smallest:
            return None, None, "no interval: the smaller the error, the longer it takes, and this one is very small"
        if row.alias in CLOSED_FORM_INTERVALS and self.source.cluster is None:
            estimate = row.function(self.source.data, level=self.settings.level, **asked)
            estimate = getattr(estimate, "slope", estimate)
            return estimate.low, estimate.high, ""
        try:
            found = interval(
                row.name,
                self.source.data,
                options=asked,
                clusters=self.source.cluster,
                level=self.settings.level,
                n_resamples=INTERVAL_DRAWS,
                random_state=self.settings.random_state,
            )
        except BelievableError as reason:
            return None, None, str(reason)
        return found.low, found.high, found.note

    def _told_by_verdict(self, alias: str) -> tuple[float, float] | None:
        """Return the interval that the verdict has of the same number."""
        verdict = self.verdict
        if self.source.kind != "binary":
            return None
        if alias == "oe":
            return verdict.ratio_low, verdict.ratio_high
        if alias == "slope" and verdict.slope_low is not None and verdict.slope_high is not None:
            return verdict.slope_low, verdict.slope_high
        return None

    def _floor(
        self, row: Metric, asked: dict[str, Any], value: float
    ) -> tuple[float | None, float | None, float | None]:
        if row.name == HEADLINE_METRIC:
            return self.verdict.floor, self.verdict.q95, self.verdict.ece_p_value
        if row.fixed_point and (value < SMALLEST_SMOOTH_ERROR_WITH_FLOOR or self._has_many_rows):
            return None, None, None
        if row.power is not None:
            found = noise_floor(
                row.name,
                self.source.data,
                options=asked,
                n_resamples=INTERVAL_DRAWS if row.fixed_point else self._floor_draws,  # because fixed points take long
                random_state=self.settings.random_state,
            )
            return found.mean, found.q95, found.p_value
        # The mean of a proper score under perfect calibration is known exactly, without drawing.
        by_chance = row.sums.by_chance
        return None if by_chance is None else by_chance(self.source.sums)[0], None, None

    @property
    def _has_many_rows(self) -> bool:
        return self.source.effective_n > MAX_ROWS_WITH_SMOOTH_FLOOR

    @property
    def _floor_draws(self) -> int:
        """The number of draws: for one event, draws from bins cost nothing; for classes, each reads all rows."""
        return max(FLOOR_DRAWS // max(self.source.n_entries // MAX_ENTRIES_TO_DRAW_FROM, 1), FEWEST_FLOOR_DRAWS)


def options_for(row: Metric, options: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    """Return the options that a metric has, except those its name fixes: which probabilities, which bins."""
    known = {name: value for name, value in options.items() if name in row.options}
    if row.of != "confidence" or kind == "binary":
        known = {name: value for name, value in known.items() if name not in ("notion", "pooled")}
    if row.bins != "uniform":
        known.pop("strategy", None)
    return known
