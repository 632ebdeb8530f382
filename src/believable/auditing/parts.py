"""The calibration of each class and each subgroup by itself, with interval, noise floor and direction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from believable import _kernels
from believable._check import generator
from believable.auditing.evidence import Evidence
from believable.auditing.judgement import evidence_of_classes, evidence_of_curve
from believable.auditing.rules import PartEvidence, calls_for_recalibration
from believable.auditing.settings import AuditSettings
from believable.auditing.source import AuditSource
from believable.inference.interval import interval
from believable.inference.noise import chance_of_clusters
from believable.inference.noise_floor import noise_floor
from believable.inference.question import ask
from believable.inference.subgroups import Subgroup, subgroups
from believable.report.parts import Part, PartDirection
from believable.stats import BinStats
from believable.stats.source import BinsAsked, count_asked

MAX_CLASSES_LOOKED_AT = 20  # because each gets an interval, and a line in the report
FALSE_DISCOVERY_RATE = 0.05
SUBGROUP_DRAWS = 300
INTERVAL_DRAWS_PER_CLASS, FLOOR_DRAWS_PER_CLASS = 200, 1000

NOTE_OF_RULES = "shown by its average or its ranges of scores; the p-value is that of the ECE"


# --- classes ----------------------------------------------------------------------------------------------------------


def by_class(source: AuditSource, settings: AuditSettings) -> tuple[Part, ...]:
    """Return the classes whose probabilities look worst, with intervals; all classes if there are at most 20.

    The classes chosen have the ECE furthest above its noise floor. They are sorted by the lower end of their interval,
    largest first. p-values are adjusted for the number of all classes.
    """
    stats = count_asked(source.data, BinsAsked(**settings.bins, notion="classwise"), squares=True)
    excess = [_excess(stats.only_stratum(k)) for k in range(source.n_classes)]
    chosen = sorted(range(source.n_classes), key=lambda k: -excess[k])[:MAX_CLASSES_LOOKED_AT]
    made = [_of_class(source, k, stats.only_stratum(k), settings) for k in chosen]
    known = {part.name: part.evidence for part in evidence_of_classes(source, settings)}
    parts = [
        _with_rules(part, bins, known.get(f"class {part.name}"), False)
        for part, bins in _adjusted(made, source.n_classes)
    ]
    return tuple(sorted(parts, key=lambda part: (-(part.low or 0), -(part.ece or 0))))


def _excess(stats: BinStats) -> float:
    """Return the ECE minus its approximate noise floor."""
    chance = np.sqrt(np.maximum(stats.w2p - stats.w2pp, 0) * (2 / np.pi))
    return float((np.abs(stats.wy - stats.wp) - chance).sum() / stats.w.sum())


def _of_class(source: AuditSource, k: int, stats: BinStats, settings: AuditSettings) -> tuple[Part, BinStats]:
    event, cluster, random_state = source.event(k), source.cluster, settings.random_state
    ends = interval(
        "ece",
        event.pairs,
        options=settings.bins,
        clusters=cluster,
        level=settings.level,
        n_resamples=INTERVAL_DRAWS_PER_CLASS,
        random_state=random_state,
    )
    floor = noise_floor(
        "ece", event.pairs, options=settings.bins, n_resamples=FLOOR_DRAWS_PER_CLASS, random_state=random_state
    )
    chance = floor.p_value
    if cluster is not None and chance is not None:
        asked = ask("ece", event.pairs, options=settings.bins)
        chance = max(chance, chance_of_clusters(asked, cluster, FLOOR_DRAWS_PER_CLASS, generator(random_state)))
    part = Part(
        column="",
        name=source.class_name(k),
        n=event.n,
        mean_score=float(stats.wp.sum() / stats.w.sum()),
        rate=float(stats.wy.sum() / stats.w.sum()),
        ece=ends.value,
        low=ends.low,
        high=ends.high,
        floor=floor.mean,
        p_value=chance,
        adjusted=None,
        flagged=False,
        direction="unclear",
        note=ends.note,
    )
    return part, stats


def _adjusted(parts: list[tuple[Part, BinStats]], n_classes: int) -> list[tuple[Part, BinStats]]:
    """Adjust the p-values for the number of all classes, of which these have the smallest (Benjamini and Hochberg)."""
    p_values = [1.0 if part.p_value is None else part.p_value for part, _ in parts]
    adjusted = _kernels.false_discovery([*p_values, *[1.0] * (n_classes - len(parts))])
    made = []
    for (part, stats), p in zip(parts, adjusted, strict=False):
        part = replace(part, adjusted=float(p), flagged=float(p) <= FALSE_DISCOVERY_RATE and bool(part.low))
        made.append((part, stats))
    return made


# --- subgroups --------------------------------------------------------------------------------------------------------


def by_subgroup(source: AuditSource, settings: AuditSettings) -> tuple[tuple[Part, ...], list[PartEvidence]]:
    """Return the subgroups of all columns, and the evidence that the rules of the verdict read."""
    if not source.has_subgroups:
        return (), []
    found = subgroups(
        source.data,
        None,
        source.columns,
        options=settings.options,
        clusters=source.cluster,
        level=settings.level,
        n_resamples=SUBGROUP_DRAWS,
        random_state=settings.random_state,
    )
    made = [_of_subgroup(source, settings, one, len(found)) for one in found]
    return tuple(part for part, _ in made), [evidence for _, evidence in made if evidence is not None]


def _of_subgroup(
    source: AuditSource, settings: AuditSettings, found: Subgroup, n_subgroups: int
) -> tuple[Part, PartEvidence | None]:
    part = Part(
        column=found.column,
        name=found.name,
        n=found.n,
        mean_score=found.mean_score,
        rate=found.rate,
        ece=found.value,
        low=found.low,
        high=found.high,
        floor=found.floor,
        p_value=found.p_value,
        adjusted=found.adjusted,
        flagged=found.flagged and bool(found.low),  # a flag and an interval from 0 would contradict each other
        direction="unclear",
        detectable=found.detectable,
        note=found.note,
    )
    here = source.subgroup(found.column, found.name)
    if here is None or part.ece is None:
        return part, None
    about_confidence = settings.about_confidence(source.kind)
    stats = count_asked(here.data, BinsAsked(**settings.options), squares=True)
    evidence = evidence_of_curve(here, stats, settings, n_subgroups)
    named = PartEvidence(f"{part.column} = {part.name}", float(stats.w.sum() / source.sums.w), evidence)
    return _with_rules(part, stats, evidence, about_confidence), named


# --- both -------------------------------------------------------------------------------------------------------------


def _with_rules(part: Part, stats: BinStats, evidence: Evidence | None, about_confidence: bool) -> Part:
    """Flag a part if the rules call for its recalibration, so that no table contradicts the headline.

    The ECE of rare events is small however wrong their scores are. It is at least as large as the error of the average,
    and as that of the ranges together, so the interval can say that it is not 0.
    """
    if not part.flagged and evidence is not None and calls_for_recalibration(evidence) is not None:
        low = max(part.low or 0.0, evidence.least_error)
        note = "; ".join(filter(None, (part.note, NOTE_OF_RULES)))
        part = replace(part, flagged=True, low=low, high=max(part.high or low, low), note=note)
    return replace(part, direction=part_direction(stats, about_confidence)) if part.flagged else part


def part_direction(stats: BinStats, about_confidence: bool) -> PartDirection:
    """Return the direction of most of the error of a class or subgroup: of its average, or around its average."""
    gap = (stats.wy - stats.wp) / stats.w.sum()
    ece, shift = float(np.abs(gap).sum()), float(gap.sum())
    if abs(shift) >= ece / 2:
        if about_confidence:
            return "over-confident" if shift < 0 else "under-confident"
        return "over-predicts" if shift < 0 else "under-predicts"
    tilt = float((np.sign(stats.conf - stats.wp.sum() / stats.w.sum()) * gap).sum())
    if abs(tilt) >= ece / 2:
        return "too extreme" if tilt < 0 else "not extreme enough"
    return "mixed"
