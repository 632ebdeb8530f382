"""Which of the headline's choices a metric takes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from believable._types import Ints, Kind
from believable.auditing.source import Source, effective_n, n_entries, sums_of, too_coarse
from believable.errors import BelievableError, ClippedWarning, CoarseCellsWarning, InputError, UndefinedError
from believable.inference.interval import interval
from believable.inference.noise_floor import noise_floor
from believable.metrics import Metric, find_metric
from believable.report.parts import Family, Measured
from believable.report.verdict_words import Verdict
from believable.stats import Summary


def options_for(row: Metric, options: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    """The options that a metric knows, but for what its name fixes: which probabilities, how bins are made."""
    known = {name: value for name, value in options.items() if name in row.options}
    if row.of != "confidence" or kind == "binary":
        known = {name: value for name, value in known.items() if name not in ("notion", "pooled")}
    if row.bins != "uniform":
        known.pop("strategy", None)
    return known


# --- the metrics of an audit, each with its interval and its noise floor ----------------------------------------------


ERRORS: Mapping[Kind, tuple[str, ...]] = {
    "binary": ("ece", "smece", "ace", "mce", "rmsce", "ks", "ici", "slope", "citl", "oe"),
    "multiclass": ("ece", "sce", "tlce", "smece", "ace", "mce", "rmsce", "ks"),
    "multilabel": ("ece", "sce", "ace", "mce", "rmsce"),
}
SCORES = ("brier", "nll")
DISCRIMINATION = ("auc", "acc", "bss", "sharpness")
METRIC_OF_VERDICT = "ece"  # whose interval and floor the verdict has
SLOW_INTERVALS = ("auc",)  # that read all entries of a matrix a thousand times
TOLD = (ClippedWarning, CoarseCellsWarning)  # warnings that become notes of the metric
CLOSED_FORM = ("slope", "citl", "oe")  # bring the intervals of the clinical literature: nothing is drawn
DRAWS, DRAWS_OF_FLOOR, FEWEST_DRAWS = 300, 1000, 200
NARROWEST = 1e-4  # smooth errors below have a bandwidth as small, and a floor that would take minutes
MOST_ROWS = 200_000_000  # beyond, the smooth error of a perfect model is below 0.0005, finer than what is drawn from
NARROW = 1e-3  # smooth errors of a summary below get no interval: it would take most of the time of the audit
BELOW = "with so many rows chance alone shows less than 0.0005"
MOST_ENTRIES = 200_000  # rows times classes: beyond, the AUC of a matrix gets no interval and its floors fewer draws


@dataclass(frozen=True, slots=True, eq=False)
class Measurer:
    """What the metrics are asked of.

    Attributes
    ----------
    source : Predictions or Summary
    options : dict
        Bins and notion of the headline, for the metrics that know them.
    verdict : Verdict
        Holds the interval and the floor of the ECE, which are not drawn a second time.
    cluster : ndarray or None
    level : float
    random_state
    """

    source: Source
    options: Mapping[str, Any]
    verdict: Verdict
    cluster: Ints | None
    level: float
    random_state: Any

    def all(self) -> tuple[Measured, ...]:
        """Every metric that suits the predictions."""
        families: dict[Family, tuple[str, ...]] = {
            "calibration": ERRORS[self.source.kind],
            "score": SCORES,
            "discrimination": DISCRIMINATION,
        }
        found = []
        for family, aliases in families.items():
            for row in map(find_metric, aliases):
                if self.source.kind not in row.kinds or (row.alias == "acc" and self.verdict.pairs):
                    continue  # of answers the accuracy is the share that is right, and told as that
                try:
                    found.append(self._measured(row, family))
                except UndefinedError:  # the AUC of one class, say: nothing to show
                    continue
                except InputError:
                    if not too_coarse(self.source, self.options["n_bins"], self.options["strategy"]):
                        raise
        return tuple(found)

    def _measured(self, row: Metric, family: Family) -> Measured:
        asked = options_for(row, self.options, self.source.kind)
        with warnings.catch_warnings(record=True) as said:
            for kind in TOLD:
                warnings.simplefilter("always", kind)
            value = float(row.function(self.source, **asked))
        with warnings.catch_warnings():
            for kind in TOLD:
                warnings.simplefilter("ignore", kind)  # said with the value
            low, high, note = self._interval(row, asked, value)
            floor, q95, p_value = self._floor(row, asked, value)
        note = note or (BELOW if row.fixed_point and self._has_many_rows else "")
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
            p_value=p_value if self.cluster is None or row.alias == METRIC_OF_VERDICT else None,
            best=row.best,
            note="; ".join(dict.fromkeys(filter(None, [note, *_words(said)]))),
        )

    def _interval(self, row: Metric, asked: dict[str, Any], value: float) -> tuple[float | None, float | None, str]:
        if row.alias == METRIC_OF_VERDICT:
            return self.verdict.low, self.verdict.high, ""
        if row.alias in SLOW_INTERVALS and n_entries(self.source) > MOST_ENTRIES:
            return None, None, "no interval: it would take too long for so many rows and classes"
        if row.fixed_point and isinstance(self.source, Summary) and 0 < value < NARROW:
            return None, None, "no interval: so small an error is smoothed over so little that it would take too long"
        if row.alias in CLOSED_FORM and self.cluster is None:
            estimate = row.function(self.source, level=self.level, **asked)
            estimate = getattr(estimate, "slope", estimate)
            return estimate.low, estimate.high, ""
        try:
            found = interval(
                row.name,
                self.source,
                options=asked,
                groups=self.cluster,
                level=self.level,
                n_resamples=DRAWS,
                random_state=self.random_state,
            )
        except BelievableError as reason:
            return None, None, str(reason)
        return found.low, found.high, found.note

    def _floor(
        self, row: Metric, asked: dict[str, Any], value: float
    ) -> tuple[float | None, float | None, float | None]:
        if row.alias == METRIC_OF_VERDICT:
            return self.verdict.by_chance, self.verdict.q95, self.verdict.p_value
        if row.fixed_point and (value < NARROWEST or self._has_many_rows):
            return None, None, None
        if row.power is not None:
            found = noise_floor(
                row.name,
                self.source,
                options=asked,
                n_resamples=DRAWS if row.fixed_point else self._draws_of_floor,  # fixed points take long
                random_state=self.random_state,
            )
            return found.mean, found.q95, found.p_value
        # Of scores the mean under calibration is known exactly, and nothing is drawn.
        sums = sums_of(self.source)
        expected = None if row.sums.by_chance is None else row.sums.by_chance(sums)[0]
        return expected, None, None

    @property
    def _has_many_rows(self) -> bool:
        return effective_n(self.source) > MOST_ROWS

    @property
    def _draws_of_floor(self) -> int:
        """Those of one event are drawn from bins and cost nothing; those of classes go through all rows each time."""
        return max(DRAWS_OF_FLOOR // max(n_entries(self.source) // MOST_ENTRIES, 1), FEWEST_DRAWS)


def _words(said: list[warnings.WarningMessage]) -> list[str]:
    return [str(one.message) for one in said]
