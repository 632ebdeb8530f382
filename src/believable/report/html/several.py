"""The page of several models: their answers, one diagram of all, and a table with a column for each."""

from __future__ import annotations

from believable.report.html.page import axis_labels
from believable.report.html.sections import listed, mark_of
from believable.report.html.svg import diagram_of_several
from believable.report.html.words import asset, name, rows, template, text
from believable.report.several import Audits


def as_page_of_several(audits: Audits) -> str:
    """Return several audits as one self-contained page, which needs no script."""
    best = audits.best
    pictures = [(audit.title, audit.table) for audit in audits]
    heading, *body = audits.rows()
    head = "".join(f'<th scope="col">{name(cell) if cell else ""}</th>' for cell in heading)
    lines = "".join(
        f'<tr><th scope="row" class="name">{text(first)}</th>{"".join(f"<td>{text(cell)}</td>" for cell in cells)}</tr>'
        for first, *cells in body
    )
    return template(
        "models",
        package=text(best.package),
        css=asset("page.css"),
        made_on=text(best.made_on),
        count=str(len(audits)),
        facts=f"{rows(best.n)} · {text(best.verdict.bins)}",
        answers="".join(_answer(audits, i) for i in range(len(audits))),
        picture=diagram_of_several(pictures, *axis_labels(best.verdict.about_confidence)),
        legend="".join(
            f'<li><i class="model m{i}" aria-hidden="true"></i> {name(audit.title)}</li>'
            for i, audit in enumerate(audits)
        ),
        ranking=listed(audits.ranking),
        table=f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>",
        evidence="".join(
            f"<details><summary>{name(audit.title)}: {text(audit.verdict.label)}</summary>"
            f"{listed([*audit.verdict.details(), *audit.caveats])}</details>"
            for audit in audits
        ),
    )


def _answer(audits: Audits, i: int) -> str:
    audit = audits[i]
    found = audit.verdict
    short, _, example = found.headline.partition(". ")
    advice = f"<p>{text(audit.advice[0])}</p>" if audit.advice else ""
    command = f'<p class="command"><code>{text(audit.command)}</code></p>' if audit.command else ""
    return (
        f'<li><h3><i class="model m{i}" aria-hidden="true"></i> {name(audit.title)}</h3>'
        f'<p><span class="badge {found.tone}"><span aria-hidden="true">{mark_of(found)}</span> {text(short)}</span> '
        f"<strong>{text(example)}</strong></p>{advice}{command}</li>"
    )
