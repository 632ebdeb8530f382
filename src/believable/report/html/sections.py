"""The sections of the page, as HTML that can be read without a script."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from believable.metrics import find_metric
from believable.report.document import Audit
from believable.report.html.explanations import why
from believable.report.html.svg import bar, scale_of
from believable.report.html.tables import (
    bins_table,
    changes_table,
    metrics_table,
    parts_table,
    segment_gains_table,
    segments_table,
    tried_table,
    versus_table,
)
from believable.report.html.words import (
    count,
    name,
    number,
    percent,
    prose,
    rows,
    span,
    template,
    text,
    what_is_audited,
)
from believable.report.parts import Family, Measured, SegmentFix, SegmentSearch
from believable.report.verdicts import Verdict
from believable.report.wording import percents, short_name

KEY_METRICS = ("ece", "sce", "tlce", "smece", "slope", "brier", "nll", "auc", "acc")
FAMILY_QUESTIONS: dict[Family, str] = {
    "calibration": "Calibration: are the scores right?",
    "score": "Proper scores: calibration and discrimination together",
    "discrimination": "Discrimination: can they distinguish cases?",
}
A_CONSTANT_IS_USELESS = "Always predicting the base rate is calibrated, and useless: look at both."
KEYS_OF_SELECTION = "Computed in this page from 840 cells, without intervals. – marks what they cannot tell."
COMPUTED = (
    "The file holds counts in 840 narrow cells for each selection. What changes with the controls is computed from "
    "them in your browser, and equals what Python computes from the same cells. Everything else was computed from the "
    "rows when the page was made."
)
MARK_OF_TONE = {"good": "✓", "warn": "!", "bad": "✕", "unsure": "?"}
MAX_EVIDENCE_LINES, MAX_SHARES = 7, 50
TERMS_OF_SCORES = {
    "x": "mean predicted probability",
    "y": "observed frequency",
    "below": "the scores over-predict",
    "above": "they under-predict",
    "marked": "over- or under-predicting",
}
TERMS_OF_CONFIDENCE = {
    "x": "mean confidence",
    "y": "accuracy",
    "below": "the model is over-confident",
    "above": "it is under-confident",
    "marked": "over- or under-confident",
}


class PageSection(NamedTuple):
    """A section below the first screen."""

    key: str
    title: str
    body: str


def listed(sentences: Iterable[str], css: str = "") -> str:
    """A list of sentences."""
    return f"<ul{f' class={css}' if css else ''}>{''.join(f'<li>{prose(one)}</li>' for one in sentences)}</ul>"


def facts(audit: Audit) -> str:
    """One line about what was audited."""
    clusters = "" if audit.n_clusters is None else f" in {count(audit.n_clusters)} clusters"
    said = [f"{rows(audit.n)}{clusters}"]
    if audit.weighted:
        said.append(f"weighted, worth {count(audit.effective_n)} rows of equal weight")
    if audit.kind == "binary" and audit.rates:
        said.append(f"{'accuracy' if audit.pairs else 'observed rate'} {percents(audit.rates[0], least=1)[0]}")
    elif audit.kind == "multiclass":
        said.append(f"{len(audit.classes):,} classes")
    else:
        said.append(f"{len(audit.classes):,} independent labels")
    if audit.taken:
        said.append(f"read: {name(audit.taken)}")
    return " · ".join(said)


def mark_of(found: Verdict) -> str:
    """A sign that says what the colour says."""
    return "≈" if found.answer == "yes, as far as these data can tell" else MARK_OF_TONE[found.tone]


def answer(audit: Audit) -> str:
    """The answer, and what to do."""
    found = audit.verdict
    short, _, example = found.headline.partition(". ")
    return (
        f'<h2 id="verdict-title" class="badge {found.tone}"><span aria-hidden="true">{mark_of(found)}</span> '
        f"{text(short)}</h2>"
        f'<span class="quiet">Audited: {what_is_audited(audit)}</span>'
        f'<p class="lead">{prose(example)}</p>{_what_to_do(audit)}'
    )


def evidence(audit: Audit) -> str:
    """The evidence for the answer; what is beyond the first lines is folded."""
    lines, more = audit.verdict.details(), ""
    if len(lines) > MAX_EVIDENCE_LINES:
        lines, hidden = lines[: MAX_EVIDENCE_LINES - 1], lines[MAX_EVIDENCE_LINES - 1 :]
        more = f"<details><summary>{len(hidden)} more</summary>{listed(hidden)}</details>"
    return f"{listed(lines)}{more}"


def _what_to_do(audit: Audit) -> str:
    """The first advice, with the line to copy."""
    if not audit.advice:
        return ""
    command = ""
    if audit.command:
        command = (
            f'<p class="command"><code id="command">{text(audit.command)}</code> '
            '<button type="button" id="copy-command" class="script">Copy</button> '
            '<span role="status" id="command-said"></span></p>'
        )
    return f"<h3>What to do</h3><p>{prose(audit.advice[0])}</p>{command}"


# --- the key numbers of the first screen ------------------------------------------------------------------------------


def key_numbers(audit: Audit) -> str:
    """The numbers of the first screen, each with a bar."""
    blocks = []
    for family, heading in FAMILY_QUESTIONS.items():
        found = [one for alias in KEY_METRICS for one in audit.metrics if one.alias == alias and one.family == family]
        if not found:
            continue
        shared = scale_of([end for one in found if not _is_inside(one) for end in (one.value, one.high, one.q95)])
        items = "".join(_key_number(one, shared) for one in found)
        note = f'<p class="quiet">{A_CONSTANT_IS_USELESS}</p>' if family == "discrimination" else ""
        blocks.append(f'<div class="{family}"><h3>{heading}</h3><ul class="keys">{items}</ul>{note}</div>')
    level = percent(audit.verdict.level)
    legend = template("legend", level=level, interval=why("interval", "interval"), floor=why("floor", "noise floor"))
    return (
        f'<h2 id="numbers-title">Key numbers<bdi id="keys-of"></bdi></h2>'
        f'<p class="quiet" id="keys-note" hidden>{KEYS_OF_SELECTION}</p>{legend}'
        f'<div class="families">{"".join(blocks)}</div>'
    )


def _is_inside(one: Measured) -> bool:
    """Whether a metric can be too low and too high: its best value is no end of its range."""
    row = find_metric(one.name)
    return one.best is not None and row.low < one.best < row.high


def _key_number(one: Measured, shared: tuple[float, float]) -> str:
    scale, target = shared, None
    if one.family == "discrimination":
        scale = (0.0, 1.0)
    elif one.family == "score":
        scale = scale_of([one.value, one.high, one.q95, one.floor])
    if _is_inside(one):
        target = one.best
        scale = scale_of([one.value, one.low, one.high, one.q95, one.floor, target])
    title = short_name(one.alias, one.name)
    said = [] if one.low is None or math.isinf(one.low) else [span(one.low, one.high)]
    if one.floor is not None:
        said.append(f"{'if calibrated' if one.family == 'score' else 'noise floor'} {number(one.floor)}")
    if target is not None:
        said.append(f"best is {target:g}")
    drawn = bar(one.value, one.low, one.high, one.floor, one.q95, scale, target)
    bins = one.bins or ("no bins" if one.family == "calibration" else "")
    return (
        f'<li data-key="{one.alias}"><span class="what">{text(title)} {why(one.alias, title)}<small>{text(bins)}'
        "</small></span>"
        f"<strong>{number(one.value)}</strong>"
        f'<span class="drawn">{drawn}<small>{scale[0]:g}<span>{scale[1]:g}</span></small></span>'
        f'<small class="said">{"<br>".join(said)}</small></li>'
    )


# --- below the first screen -------------------------------------------------------------------------------------------


def page_sections(audit: Audit) -> Iterator[PageSection]:
    """Everything below the first screen that has something to say."""
    if audit.advice[1:] or audit.caveats or audit.notes:
        yield PageSection("do", "Advice and notes", _advice_and_notes(audit))
    yield PageSection("fix", "Recalibration", _fix(audit))
    if audit.parts:
        yield PageSection("classes", "Labels" if audit.kind == "multilabel" else "Classes", _classes(audit))
    if audit.segments is not None:
        yield PageSection("segments", "Segments that differ", _segments(audit.segments))
    if audit.segment_fix is not None:
        yield PageSection("segment-fix", "Recalibration by segment", _segment_fix(audit.segment_fix))
    if audit.subgroups:
        yield PageSection("subgroups", "Subgroups", _subgroups(audit))
    if audit.versus:
        body = f"<p>Compared with {name(audit.other)}.</p>{versus_table(audit)}"
        yield PageSection("compared", "Comparison", body)
    yield PageSection("table", "Reliability table", _table(audit))
    yield PageSection("all", "All numbers", metrics_table(audit))
    terms = TERMS_OF_CONFIDENCE if audit.verdict.about_confidence else TERMS_OF_SCORES
    reading = template("reading", level=percent(audit.verdict.level), computed=COMPUTED, **terms)
    yield PageSection("read", "How to read this page", reading)
    yield PageSection("from", "About the data", _provenance(audit))


def _advice_and_notes(audit: Audit) -> str:
    blocks = [f"<div><h3>What else to do</h3>{listed(audit.advice[1:])}</div>"] if audit.advice[1:] else []
    if audit.caveats:
        blocks.append(f"<div><h3>Keep in mind</h3>{listed(audit.caveats)}</div>")
    if audit.notes:
        blocks.append(f"<div><h3>Notes</h3>{listed(audit.notes)}</div>")
    return f'<div class="columns">{"".join(blocks)}</div>'


def _fix(audit: Audit) -> str:
    fix = audit.fix
    if fix is None:
        return f"<p>No recalibration was tried: {text(audit.no_fix) or 'it was not requested'}.</p>"
    said = fix.advice if audit.segment_fix is None else audit.segment_fix.beside(fix.advice)
    told = any(said in one for one in audit.advice)
    body = [changes_table(audit)] if told else [f'<p class="lead">{prose(said)}</p>', changes_table(audit)]
    if fix.refinement:
        body.append(f"<p>{prose(fix.refinement[:1].upper() + fix.refinement[1:])}.</p>")
    if fix.tried:  # the words above and the table may be of different rows
        body.append(f"<p>{prose(fix.rows)}</p>")
    if fix.map is not None:
        body.append(template("map"))
    if fix.tried:
        body.append(f"<details><summary>What was tried</summary>{tried_table(audit)}</details>")
    return "".join(body)


def _classes(audit: Audit) -> str:
    shown = len(audit.parts)
    word = "label" if audit.kind == "multilabel" else "class"
    many = "" if shown == audit.n_parts else f" Of {audit.n_parts:,}, the {shown:,} that look worst."
    return _small_ones("classes", word) + parts_table(
        audit.parts,
        word.capitalize(),
        f"Worst first.{many} Rows: those that have the {word}.",
        audit.verdict.bins,
        audit.verdict.level,
    )


def _subgroups(audit: Audit) -> str:
    flagged = sum(part.flagged for part in audit.subgroups)
    said = (
        f"{flagged} of {len(audit.subgroups)} subgroups are miscalibrated beyond noise."
        if flagged
        else f"None of {len(audit.subgroups)} subgroups is miscalibrated beyond noise."
    )
    return f"<p>{said}</p>{_small_ones('groups', 'subgroup')}" + parts_table(
        audit.subgroups, "Subgroup", "Each subgroup by itself.", audit.verdict.bins, audit.verdict.level
    )


def _segments(search: SegmentSearch) -> str:
    notes = f"<details><summary>Columns</summary>{listed(search.notes)}</details>" if search.notes else ""
    return f"{segments_table(search) if search.found else ''}<p>{prose(search.in_words)}</p>{notes}"


def _segment_fix(fix: SegmentFix) -> str:
    return f"<p>{prose(fix.in_words)}</p>{segment_gains_table(fix) if fix.segments else ''}"


def _small_ones(key: str, word: str) -> str:
    """Where the script puts a small diagram of each."""
    words = f"Choose a {word} to see it in the diagram and the key numbers above."
    return (
        f'<p class="quiet script hint" id="choose-{key}">{words}</p>'
        f'<div class="small-ones script" id="small-{key}" role="group" aria-labelledby="choose-{key}"></div>'
    )


def _table(audit: Audit) -> str:
    hint = '<p class="script quiet hint">The table follows the controls of the diagram.</p>'
    return f"{hint}{bins_table(audit)}"


def _provenance(audit: Audit) -> str:
    """What the head of the page does not say about the data."""
    facts = [("Kind", f"{text(audit.kind)}{'' if audit.taken else ', from arrays'}")]
    dropped = [f"{name(reason)}: {count(n)}" for reason, n in audit.dropped.items()]
    facts.append(("Rows left out", "; ".join(dropped) or "none"))
    facts.append(("Weights", "yes" if audit.weighted else "none"))
    facts.append(("Clusters", "none named" if audit.n_clusters is None else "named"))
    if audit.left_out:
        facts.append(("Not in this page", text(audit.left_out)))
    if audit.kind != "binary":
        shares = list(zip(audit.classes, audit.rates, strict=False))[:MAX_SHARES]
        shown = "; ".join(f"{name(one)}: {100 * rate:.3g} %" for one, rate in shares)
        facts.append(("Labels" if audit.kind == "multilabel" else "Classes", shown))
    elif not audit.pairs:
        facts.append(("Event", name(audit.classes[-1])))
    return f"<dl>{''.join(f'<dt>{title}</dt><dd>{words}</dd>' for title, words in facts)}</dl>"
