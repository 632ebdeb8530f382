"""`audit`: one call that checks whether scores are believable probabilities."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal

import numpy as np

from believable import _check
from believable._check import generator, renamed
from believable._types import Bins, Notion, Strategy
from believable.auditing.advice import AuditFacts, advice, caveats
from believable.auditing.fix import Remedy, remedy
from believable.auditing.judgement import effective_rows_of_bins, judge, with_findings
from believable.auditing.measure import Measurer
from believable.auditing.parts import by_class, by_subgroup
from believable.auditing.rules import recalibration_gains, segment_is_wrong, subgroup_is_wrong
from believable.auditing.segment_fix import columns_of_segments, segment_fix
from believable.auditing.segments import evidence_of_segments, segment_search
from believable.auditing.settings import AuditSettings
from believable.auditing.slices import slices_of
from believable.auditing.source import AuditSource, source_of_audit
from believable.auditing.versus import versus
from believable.curves import corp_curve, smoothed_calibration_curve
from believable.curves.binned import table_of
from believable.curves.curve import Curve
from believable.errors import InputError
from believable.predictions import Predictions
from believable.predictions.view import View
from believable.readers.load import Loaded
from believable.report.document import Audit
from believable.report.parts import Bin, CurveLine, Fix, Part, SegmentFix, SegmentSearch, Stage, Versus
from believable.report.verdicts import Verdict
from believable.stats import BinStats, SegmentStats
from believable.stats.source import TEN, UNIFORM, BinsAsked, count_asked, refuse_extras

MAX_POINTS_OF_LINE = 201
BAND_DRAWS = 300
PYTHON_COMMAND = 'believable.calibrate(scores, labels, method="{method}"{by})'
MULTILABEL_COMMAND = "believable.recalibrate.OneVsRest(multilabel=True).fit(scores, labels)"
NOTIONS_POOLED_IN_HEADLINE = ("classwise", "top_label")  # because they have one curve per class


@renamed(groups="clusters")
def audit(
    predictions: Any,
    actuals: Any = None,
    n_bins: Bins = TEN,
    strategy: Strategy = UNIFORM,
    *,
    notion: Notion | None = None,
    pairs: bool = False,
    clusters: Any = None,
    by: Any = None,
    find_segments: bool | SegmentStats = False,
    compare_with: Any = None,
    fix: bool = True,
    level: float = 0.95,
    title: str = "",
    taken: str = "",
    other: str = "the other model",
    dropped: Mapping[str, int] | None = None,
    notes: Sequence[str] = (),
    command: str = PYTHON_COMMAND,
    progress: bool | None = None,
    random_state: Any = 0,
    sample_weight: Any = None,
) -> Audit:
    """Answer whether scores may be taken at face value, with the evidence, what to do and what to keep in mind.

    Parameters
    ----------
    predictions, actuals
        Scores and outcomes as arrays, or a `Predictions`; or what a reader returns (`Loaded`), with its clusters,
        subgroups and notes. Or a `Summary` of a stream, a large file or a table in a database, which gives the same
        report: its bins are exact, and everything else is computed as if each row had the mean score of its cell. Its
        subgroups are those that were counted; it has no clusters, and cannot be compared with other predictions row by
        row.
    n_bins, strategy
        The bins of the headline, the reliability table and the binned metrics.
    notion : str, optional
        Which probabilities the headline judges: "binary" for 1-D scores; "confidence" (the default), "classwise" or
        "top_label" for a matrix, the last two with all classes pooled.
    pairs : bool
        Whether the 1-D scores are confidences in an answer, and the outcomes whether it was right.
    clusters : array-like of shape (n,), optional
        Which rows belong together (patients, queries): the intervals and the verdict allow for it.
    by : array-like, mapping of names to arrays, or data frame, optional
        Columns of subgroups, examined one after the other; for a `Summary`, names of columns that it counted.
    find_segments : bool or SegmentStats
        Whether to search the columns of `by`, and their intersections, for segments that differ from the other rows
        (`find_segments`); of a `Summary`, single columns. Columns with many values are then cut into ranges or
        combined, and those without segments are left out, with a note. Or the statistic to search, counted from the
        same rows.
    compare_with : array-like or Predictions, optional
        Predictions of another model for the same rows.
    fix : bool
        Whether to look for a recalibration that helps, by cross-fitting. Methods are compared on at most 20,000 rows,
        drawn at random. From a `Summary` of one event, up to 1,000,000 rows are drawn to judge the chosen method,
        which is then fitted on all cells.
    level : float
        The confidence level of the intervals.
    title, taken, other : str
        For the report: the name of the predictions, which columns were read as what, and the name of the other model.
    dropped : dict of str to int, optional
        How many rows were left out before the audit, by reason, to be mentioned in the report.
    notes : sequence of str
        Sentences to be printed in the report.
    command : str
        The line to run that the report prints where recalibration helps; "{method}" in it is replaced by the name of
        the recalibrator.
    progress : bool, optional
        Whether to show a progress bar. By default, only on a terminal.
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.
    sample_weight : array-like of shape (n,), optional
        The weight of each row.

    Returns
    -------
    Audit
        The results as plain data: `print` it, `.to_html("audit.html")`, `.to_json("audit.json")`, `.to_markdown()`.

    Examples
    --------
    >>> from believable.readers import load_demo
    >>> found = audit(load_demo()["naive_bayes"], fix=False)
    >>> found.verdict.answer, found.verdict.spread, round(found["ece"].value, 3)
    ('no, recalibrate first', 'too extreme', 0.111)
    >>> Audit.from_json(found.to_json()) == found
    True
    """
    if isinstance(predictions, Mapping):
        raise InputError(
            "this is a mapping of {n} models: use audit_models", argument="predictions", n=len(predictions)
        )
    _check.refuse_array(n_bins, "n_bins")
    after = ""
    if isinstance(predictions, Loaded):
        refuse_extras("Loaded", actuals=actuals, sample_weight=sample_weight)
        loaded, predictions = predictions, predictions.predictions
        clusters = loaded.clusters if clusters is None else clusters
        by = (dict(loaded.by) or None) if by is None else by
        title, taken = title or loaded.title, taken or loaded.taken
        dropped, notes = {**loaded.dropped, **(dropped or {})}, (*loaded.notes, *notes)
        after = loaded.scaled
    source = source_of_audit(
        predictions, actuals, sample_weight, clusters=clusters, by=by, pairs=pairs, search=find_segments
    ).remembering()
    n_bins = source.number_of_bins(n_bins)
    _check.flag(fix, "fix")
    _check.flag(progress, "progress", or_none=True)
    compared = None if compare_with is None else source.beside(compare_with, actuals, sample_weight)
    view, settings = settings_of(source, n_bins, strategy, notion, level, random_state)
    extras = AuditExtras(
        compared=compared,
        fix=fix,
        progress=progress,
        title=title,
        taken=taken or source.taken,
        other="" if compared is None else other,
        dropped={str(reason): int(n) for reason, n in (dropped or {}).items()} | source.left_out(),
        notes=tuple(notes),
        command=command,
        after=after,
    )
    return _audited(source, view, settings, extras)


@dataclass(frozen=True, slots=True, eq=False)
class AuditExtras:
    """Further requests of the caller, and what the report is to say besides the results."""

    compared: tuple[Predictions, Predictions] | None  # both models, on the same rows
    fix: bool
    progress: bool | None
    title: str
    taken: str
    other: str
    dropped: dict[str, int]
    notes: tuple[str, ...]
    command: str
    after: str  # what was done to the scores before the audit, in words


def _command(
    line: str, verdict: Verdict, fix: Fix | None, by_segment: SegmentFix | None, untried: Sequence[str]
) -> str:
    """Return the line that recalibrates, if that is advised; otherwise "".

    `untried` names the columns of segments that are wrong, if maps by segment were not asked for.
    """
    names = by_segment.columns if by_segment is not None and by_segment.is_sure else untried
    if names:
        if line == PYTHON_COMMAND:
            return line.replace("{method}", "auto").replace("{by}", ", by=columns") + f"  # {', '.join(names)}"
        quoted = ",".join(
            '"' + name.replace('"', '""') + '"' if set(name) & set(',"') or name != name.strip() else name
            for name in names
        )
        return line.replace("{method}", "auto").replace("{by}", f" --by {shlex.quote(quoted)}")
    if verdict.answer not in ("use with care", "no, recalibrate first") or (
        fix is not None and fix.chosen == "nothing"
    ):
        return ""
    return line.replace("{method}", "auto" if fix is None else fix.chosen).replace("{by}", "")


def _audited(source: AuditSource, view: View, settings: AuditSettings, extras: AuditExtras) -> Audit:
    """Compute everything that an audit reports."""
    judged = replace(judge(source, settings), after=extras.after)
    stats = count_asked(source.data, BinsAsked(**settings.options), squares=True)
    metrics = Measurer(source, settings, judged).all()
    coarse = source.too_coarse(settings.n_bins, settings.strategy)
    parts = by_class(source, settings) if source.has_classes and not coarse else ()
    search = segment_search(source, settings)
    judged, found = judged_with_subgroups(judged, source, settings, search)
    not_tried = Remedy(None, "it was not requested", None, ())
    recalibrated = remedy(source, settings, extras.progress) if extras.fix else not_tried
    stages: dict[Stage, AuditSource] = {"before": source}
    if recalibrated.after is not None:
        stages["after"] = source.recalibrated(recalibrated.after)
    slices, not_shown = slices_of(stages, view, parts, found, () if search is None else search.found)
    gains = recalibration_gains(recalibrated.fix)
    judged = with_findings(judged, [] if gains is None else [gains])
    by_segment = segment_fix(source, settings, recalibrated.fix, found, search)
    facts = AuditFacts(
        source=source,
        stats=stats,
        verdict=judged,
        metrics={one.alias: one for one in metrics},
        fix=recalibrated.fix,
        parts=parts,
        subgroups=found,
        search=search,
        segment_fix=by_segment,
        dropped=extras.dropped,
    )
    untried = columns_of_segments(found, search) if judged.is_about_a_subgroup and not extras.fix else []
    sums, line = source.sums, MULTILABEL_COMMAND if source.kind == "multilabel" else extras.command
    return Audit(
        title=extras.title,
        taken=extras.taken,
        kind=source.kind,
        n=source.n,
        effective_n=source.effective_n,
        n_clusters=source.n_clusters,
        weighted=source.is_weighted,
        pairs=settings.pairs,
        dropped=extras.dropped,
        classes=tuple(source.class_name(k) for k in range(source.n_classes)),
        rates=tuple((sums.wy / sums.class_weight).tolist()),
        verdict=judged,
        metrics=metrics,
        table=_table(source, stats, settings.level),
        lines=_lines(source, view, settings) if not view.pooled else (),
        parts=parts,
        n_parts=source.n_classes if source.has_classes and not coarse else 0,
        subgroups=found,
        fix=recalibrated.fix,
        no_fix=recalibrated.why_none,
        versus=_versus(source, settings, extras.compared),
        other=extras.other,
        advice=advice(facts),
        caveats=(*recalibrated.caveats, *caveats(facts)),
        notes=(*extras.notes, *([coarse] if coarse else [])),
        command=_command(line, judged, recalibrated.fix, by_segment, untried),
        made_on=date.today().isoformat(),
        slices=slices,
        left_out=not_shown,
        segments=search,
        segment_fix=by_segment,
    )


def judged_with_subgroups(
    judged: Verdict, source: AuditSource, settings: AuditSettings, search: SegmentSearch | None = None
) -> tuple[Verdict, tuple[Part, ...]]:
    """Return the verdict with what the subgroups add to it, and the subgroups.

    If a search found a segment that is wrong, the verdict names that instead of a subgroup that merely overlaps it.
    """
    found, known = by_subgroup(source, settings)
    segments = [] if search is None else evidence_of_segments(source, settings, search)
    if judged.findings:  # then only a subgroup that is certainly worse than all rows together is worth a sentence
        known, segments = (
            [one for one in parts if one.evidence.least_error > judged.high] for parts in (known, segments)
        )
    wrong = segment_is_wrong(segments) or subgroup_is_wrong(known, len(found))
    return with_findings(judged, [] if wrong is None else [wrong]), found


def settings_of(
    source: AuditSource, n_bins: int, strategy: Strategy, notion: Notion | None, level: float, random_state: Any
) -> tuple[View, AuditSettings]:
    """Return the curve that the headline judges, and the settings that all parts of an audit share."""
    seed = random_state if isinstance(random_state, int) else int(generator(random_state).integers(2**31))
    judged = source.view(notion, pooled=False).notion
    view = source.view(judged, pooled=judged in NOTIONS_POOLED_IN_HEADLINE)
    return view, AuditSettings(
        n_bins=n_bins,
        strategy=str(strategy),  # type: ignore[arg-type]
        notion=view.notion,
        pooled=view.pooled,
        pairs=source.are_pairs,
        level=level,
        random_state=seed,
    )


def _table(source: AuditSource, stats: BinStats, level: float) -> tuple[Bin, ...]:
    """Return the reliability table, whose intervals allow for clusters."""
    clustered = source.clustered
    table = table_of(stats, level, None if clustered is None else effective_rows_of_bins(clustered, stats))
    rows = zip(
        *(column.tolist() for column in (table.n, table.weight, table.conf, table.acc, table.low, table.high)),
        strict=True,
    )
    return tuple(
        Bin(start, end, n, weight, *(None if value != value else value for value in means))
        for (start, end), (n, weight, *means) in zip(table.edges.tolist(), rows, strict=True)
    )


def _lines(source: AuditSource, view: View, settings: AuditSettings) -> tuple[CurveLine, ...]:
    """Return the smoothed and the isotonic calibration curve, with their bands."""
    level = settings.level
    smooth = smoothed_calibration_curve(source.data, notion=view.notion, level=level)
    corp = corp_curve(
        source.data,
        band="consistency",
        notion=view.notion,
        level=level,
        n_resamples=BAND_DRAWS,
        random_state=settings.random_state,
    )
    percent = f"{100 * level:.4g} %"
    return (
        _line("smoothed", smooth, f"{percent} interval around the curve, point by point"),
        _line("corp", corp, f"where {percent} of the curves of a calibrated model would lie, point by point"),
    )


def _line(method: Literal["smoothed", "corp"], curve: Curve, band: str) -> CurveLine:
    """Return at most 201 points of a curve."""
    at = np.unique(np.linspace(0, len(curve.x) - 1, min(len(curve.x), MAX_POINTS_OF_LINE)).round().astype(np.intp))
    x, y, low, high = (tuple(np.asarray(one)[at].tolist()) for one in (curve.x, curve.y, curve.low, curve.high))
    return CurveLine(method, x, y, low, high, band)


def _versus(
    source: AuditSource, settings: AuditSettings, compared: tuple[Predictions, Predictions] | None
) -> tuple[Versus, ...]:
    if compared is None:
        return ()
    return versus(
        *compared,
        options=settings.options,
        cluster=source.cluster,
        level=settings.level,
        random_state=settings.random_state,
    )
