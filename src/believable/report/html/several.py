"""The page of several models: their answers, one diagram of all, and a table with a column for each."""

from __future__ import annotations

from believable.report.document import Audit
from believable.report.html.page import axis_labels
from believable.report.html.sections import listed, mark_of
from believable.report.html.svg import diagram_of_several, mark_of_model
from believable.report.html.tables import bins_table
from believable.report.html.words import asset, name, percent, prose, rows, template, text, what_is_audited
from believable.report.several import Audits

MOST_ADVISED_AT_ONCE = 3  # more would push the answers off the first screen


def as_page_of_several(audits: Audits) -> str:
    """Return several audits as one self-contained page, which needs no script."""
    best = audits.best
    at_once = len(audits) <= MOST_ADVISED_AT_ONCE
    others = (
        "" if at_once else "".join(f"<div>{_title(i, one)}{_advice(one)}</div>" for i, one in enumerate(audits) if i)
    )
    return template(
        "models",
        package=text(best.package),
        css=asset("page.css"),
        made_on=text(best.made_on),
        count=str(len(audits)),
        facts=f"{rows(best.n)} · {text(best.verdict.bins)} · audited: {what_is_audited(best)}",
        nav='<a href="#do">What to do</a> ' if others else "",
        score=text(audits.score),
        answers="".join(_answer(i, audit, at_once) for i, audit in enumerate(audits)),
        advice="" if at_once else f"<h3>What to do with {name(best.title)}</h3>{_advice(best)}",
        picture=diagram_of_several(
            [(audit.title, audit.table) for audit in audits], *axis_labels(best.verdict.about_confidence)
        ),
        legend="".join(f"<li>{mark_of_model(i)} {name(audit.title)}</li>" for i, audit in enumerate(audits)),
        ranking=f"<p>{prose(' '.join(audits.ranking))}</p>",
        table=_side_by_side(audits),
        others=template("others", advice=others) if others else "",
        evidence="".join(
            f"<details><summary>{mark_of_model(i)} {name(audit.title)}: {text(audit.verdict.label)}</summary>"
            f"{listed([*audit.verdict.details(), *audit.caveats])}{bins_table(audit, key='')}</details>"
            for i, audit in enumerate(audits)
        ),
    )


def _title(i: int, audit: Audit) -> str:
    return f"<h3>{mark_of_model(i)} {name(audit.title)}</h3>"


def _answer(i: int, audit: Audit, advised: bool) -> str:
    found = audit.verdict
    short, _, example = found.headline.partition(". ")
    return (
        f'<li>{_title(i, audit)}<span class="badge {found.tone}"><span aria-hidden="true">{mark_of(found)}</span> '
        f'{text(short)}</span><p class="lead">{prose(example)}</p>{_advice(audit) if advised else ""}</li>'
    )


def _advice(audit: Audit) -> str:
    """What to do, with the line to copy."""
    if not audit.advice:
        return "<p>Nothing.</p>"
    command = f'<p class="command"><code>{text(audit.command)}</code></p>' if audit.command else ""
    return f"<p>{prose(audit.advice[0])}</p>{command}"


def _side_by_side(audits: Audits) -> str:
    heading, *body = audits.rows()
    head = "".join(f'<th scope="col">{mark_of_model(i)} {name(title)}</th>' for i, title in enumerate(heading[1:]))
    lines = "".join(
        f'<tr><th scope="row">{text(first[:1].upper() + first[1:])}</th>{"".join(map(_cell, cells))}</tr>'
        for first, *cells in body
    )
    level = percent(audits.best.verdict.level)
    return (
        f'<table class="several"><caption><span>Values, with {level} intervals below them.</span></caption>'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{lines}</tbody></table>"
    )


def _cell(words: str) -> str:
    """A value, and below it the interval that follows in brackets."""
    value, _, interval = words.partition(" (")
    below = f"<small>{text(interval.removesuffix(')').replace(' … ', ' to '))}</small>" if interval else ""
    return f"<td>{prose(value)}{below}</td>"
