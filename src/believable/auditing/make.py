"""`audit`: one call that answers whether scores are believable probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from believable import _check
from believable._check import generator
from believable._types import Array, Notion, Strategy
from believable.auditing.advice import Facts, advice, caveats
from believable.auditing.by_class import by_class, direction_of
from believable.auditing.fix import Remedy, remedy
from believable.auditing.judgement import effective_rows, verdict
from believable.auditing.means import Means
from believable.auditing.measure import Measurer
from believable.auditing.slices import slices_of
from believable.auditing.source import (
    Source,
    as_source,
    cluster_of,
    effective_n,
    has_classes,
    is_weighted,
    left_out,
    n_rows,
    subgroup_of,
    sums_of,
    too_coarse,
    view_of,
)
from believable.auditing.versus import versus
from believable.curves import corp_curve, smoothed_calibration_curve
from believable.curves.binned import ReliabilityTable, table_of
from believable.errors import InputError
from believable.inference.subgroups import columns_of, subgroups, with_columns
from believable.predictions import Predictions
from believable.readers.load import Loaded
from believable.report.document import Audit
from believable.report.parts import Bin, Line, Part, Stage, Versus
from believable.stats import Summary
from believable.stats.source import TEN, UNIFORM, count_bins, refuse_extras

LINE_POINTS = 201
DRAWS = 300
POOLED = ("classwise", "top_label")  # notions with a curve for each class: the headline puts them together


def audit(
    predictions: Any,
    actuals: Any = None,
    n_bins: int = TEN,
    strategy: Strategy = UNIFORM,
    *,
    notion: Notion | None = None,
    pairs: bool = False,
    groups: Any = None,
    by: Any = None,
    compare_with: Any = None,
    fix: bool = True,
    level: float = 0.95,
    title: str = "",
    taken: str = "",
    other: str = "the other model",
    dropped: Mapping[str, int] | None = None,
    notes: Sequence[str] = (),
    progress: bool | None = None,
    random_state: Any = 0,
    sample_weight: Any = None,
) -> Audit:
    """Judge predictions: how far off, is it noise, where, for whom, what mends it, and what to keep in mind.

    Parameters
    ----------
    predictions, actuals
        Arrays, or a `Predictions`; or what a reader hands over (`Loaded`), with its clusters, subgroups and notes. Or a
        `Summary` of a stream, a large file or a table in a database, which gives the same report: its bins are exact,
        and what is read from cells is that of rows at the means of their cells. Subgroups are those that it counted; it
        knows of no clusters, and cannot be compared with others row by row.
    n_bins, strategy
        The bins of the headline, the reliability table and the binned metrics.
    notion : str, optional
        What the headline is about: "binary" for 1-D scores; "confidence" (the default), "classwise" or "top_label" for
        a matrix, the last two with the classes put together.
    pairs : bool
        The 1-D scores are confidences in an answer, and the outcomes whether it was right.
    groups : array-like of shape (n,), optional
        Clusters of rows that belong together (patients, queries): the intervals allow for them.
    by : array-like, mapping of names to them, or data frame, optional
        Columns of subgroups, looked at one after the other; of a `Summary` the names of some that it counted.
    compare_with : array-like or Predictions, optional
        Other predictions for the same rows.
    fix : bool
        Look for a recalibration that helps, by cross-fitting; of more than 20,000 rows so many are drawn to compare
        methods on. From the cells of a `Summary` of one event up to 1,000,000 rows are drawn to judge the chosen one,
        which is then fitted on all cells.
    level : float
        Of the intervals.
    title, taken, other : str
        What the report calls the predictions, what was read as what, and the other predictions.
    dropped : dict of str to int, optional
        Rows that were left out before, by reason, to be mentioned.
    notes : sequence of str
        Sentences to be printed in the report.
    progress : bool, optional
        Show a bar; None: on a terminal.
    random_state : None, int or numpy Generator
        With the same integer the same audit comes out.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    Audit
        Plain data: `print` it, `.to_html("audit.html")`, `.to_json("audit.json")`, `.to_markdown()`.

    Examples
    --------
    >>> from believable.readers import load_demo
    >>> found = audit(load_demo()["naive_bayes"], fix=False)
    >>> found.verdict.label, found.verdict.direction, round(found["ece"].value, 3)
    ('moderate', 'over-confident', 0.111)
    >>> Audit.from_json(found.to_json()) == found
    True
    """
    if isinstance(predictions, Loaded):
        refuse_extras("Loaded", actuals=actuals, sample_weight=sample_weight)
        loaded, predictions = predictions, predictions.predictions
        groups, by = loaded.groups if groups is None else groups, (dict(loaded.by) or None) if by is None else by
        title, taken, pairs = title or loaded.title, taken or loaded.taken, pairs or loaded.pairs
        dropped, notes = {**loaded.dropped, **(dropped or {})}, (*loaded.notes, *notes)
    checked = as_source(predictions, actuals, sample_weight)
    if isinstance(checked, Summary):
        checked = with_columns(checked, by)
        columns: Mapping[str, Array] = {}
    else:
        if checked.borrowed:
            checked = checked._with(borrowed=False)  # for the length of this call it may remember what was counted
        columns = {} if by is None else columns_of(by, checked, predictions, sample_weight)
    cluster = cluster_of(groups, predictions, checked, sample_weight)
    rival = None if compare_with is None else _rival(compare_with, checked, actuals, sample_weight)
    seed = random_state if isinstance(random_state, int) else int(generator(random_state).integers(2**31))
    view = view_of(checked, notion, pooled=(notion or checked.default_notion) in POOLED)
    n_bins = _check.positive_integer(n_bins, "n_bins")
    options = {"n_bins": n_bins, "strategy": str(strategy), "notion": view.notion, "pooled": view.pooled}
    judged = verdict(checked, None, pairs=pairs, groups=cluster, level=level, random_state=seed, **options)  # type: ignore[arg-type]
    stats = count_bins(checked, **options, squares=True)  # type: ignore[arg-type]
    metrics = Measurer(checked, options, judged, cluster, level, seed).all()
    worth = None
    if cluster is not None:
        assert isinstance(checked, Predictions)
        worth = effective_rows(checked, stats, cluster)
    coarse = too_coarse(checked, n_bins, strategy)
    parts = by_class(checked, n_bins, strategy, cluster, level, seed) if has_classes(checked) and not coarse else ()
    found = _subgroups(checked, columns, options, cluster, level, seed)
    mended = remedy(checked, cluster, level, seed, progress) if fix else Remedy(None, "it was not asked for", None, ())
    stages: dict[Stage, Source] = {"before": checked}
    if mended.after is not None:
        stages["after"] = mended.after
    slices, not_shown = slices_of(stages, view, parts, found, columns)
    left = {str(reason): int(n) for reason, n in (dropped or {}).items()} | left_out(checked)
    against: tuple[Versus, ...] = ()
    if rival is not None:
        assert isinstance(checked, Predictions)
        against = versus(checked, rival, options=options, cluster=cluster, level=level, random_state=seed)
    facts = Facts(
        source=checked,
        stats=stats,
        verdict=judged,
        metrics={one.alias: one for one in metrics},
        fix=mended.fix,
        parts=parts,
        subgroups=found,
        cluster=cluster,
        dropped=left,
        effective_n=effective_n(checked),
    )
    return Audit(
        title=title,
        taken=taken or ("the cells of a summary" if isinstance(checked, Summary) else ""),
        kind=checked.kind,
        n=n_rows(checked),
        effective_n=facts.effective_n,
        n_clusters=None if cluster is None else int(cluster.max()) + 1,
        weighted=is_weighted(checked),
        pairs=pairs,
        dropped=left,
        classes=tuple(checked.class_name(k) for k in range(checked.n_classes)),
        rates=tuple((sums_of(checked).wy / sums_of(checked).class_weight).tolist()),
        verdict=judged,
        metrics=metrics,
        table=_bins(table_of(stats, level, worth)),
        lines=_lines(checked, view.notion, level, seed) if not view.pooled else (),
        parts=parts,
        n_parts=checked.n_classes if has_classes(checked) and not coarse else 0,
        subgroups=found,
        fix=mended.fix,
        no_fix=mended.why_none,
        versus=against,
        other="" if rival is None else other,
        advice=advice(facts),
        caveats=(*mended.caveats, *caveats(facts)),
        notes=(*notes, *([coarse] if coarse else [])),
        slices=slices,
        left_out=not_shown,
    )


def _rival(other: Any, checked: Source, actuals: Any, sample_weight: Any) -> Predictions:
    if isinstance(checked, Summary) or isinstance(other, Summary):
        raise InputError(
            "compare_with sets two models side by side row by row, and a summary has put all rows into cells: audit "
            "each by itself, or compare them on a sample of rows"
        )
    if actuals is None and not isinstance(other, Predictions):
        raise InputError("compare_with must be a Predictions too, where the predictions are one")
    given = isinstance(other, Predictions)
    rival: Predictions = other if given else Predictions(other, actuals, sample_weight=sample_weight)
    if (rival.kind, rival.n_classes) != (checked.kind, checked.n_classes):
        raise InputError(f"compare_with must be of the same kind as the predictions, got {rival!r} beside {checked!r}")
    return rival


def _bins(table: ReliabilityTable) -> tuple[Bin, ...]:
    rows = zip(
        *(column.tolist() for column in (table.n, table.weight, table.conf, table.acc, table.low, table.high)),
        strict=True,
    )
    return tuple(
        Bin(start, end, n, weight, *(None if value != value else value for value in means))
        for (start, end), (n, weight, *means) in zip(table.edges.tolist(), rows, strict=True)
    )


def _lines(source: Source, notion: Notion, level: float, seed: Any) -> tuple[Line, ...]:
    smooth = smoothed_calibration_curve(source, notion=notion, level=level)
    corp = corp_curve(source, band="consistency", notion=notion, level=level, n_resamples=DRAWS, random_state=seed)
    percent = f"{100 * level:.4g} %"
    return (
        _line("smoothed", smooth, f"{percent} interval around the curve, point by point"),
        _line("corp", corp, f"where {percent} of calibrated curves would lie, point by point"),
    )


def _line(method: Any, curve: Any, band: str) -> Line:
    """At most 201 points of a curve."""
    at = np.unique(np.linspace(0, len(curve.x) - 1, min(len(curve.x), LINE_POINTS)).round().astype(int))
    x, y, low, high = (tuple(np.asarray(one)[at].tolist()) for one in (curve.x, curve.y, curve.low, curve.high))
    return Line(method, x, y, low, high, band)


def _subgroups(
    source: Source,
    columns: Mapping[str, Array],
    options: Mapping[str, Any],
    cluster: Any,
    level: float,
    seed: Any,
) -> tuple[Part, ...]:
    if not columns and not (isinstance(source, Summary) and source.by):
        return ()
    found = subgroups(
        source,
        None,
        columns or None,
        options=options,
        groups=cluster,
        level=level,
        n_resamples=DRAWS,
        random_state=seed,
    )
    parts = []
    for group in found:
        part = Part(
            column=group.column,
            name=group.name,
            n=group.n,
            mean_score=group.mean_score,
            rate=group.rate,
            ece=group.value,
            low=group.low,
            high=group.high,
            floor=group.floor,
            p_value=group.p_value,
            adjusted=group.adjusted,
            flagged=group.flagged and bool(group.low),  # what is called off has an interval that leaves out 0
            direction="unclear",
            detectable=group.detectable,
            note=group.note,
        )
        rows = np.flatnonzero(columns[group.column] == group.name) if columns else None
        here = subgroup_of(source, group.column, group.name, rows)
        assert here is not None
        parts.append(replace(part, direction=direction_of(part, Means.of(sums_of(here)))))
    return tuple(parts)
