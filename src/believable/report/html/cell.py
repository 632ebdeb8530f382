"""`as_cell`: an audit as a short fragment of HTML, for a notebook."""

from __future__ import annotations

from dataclasses import replace

from believable.report.audit import Audit
from believable.report.html.page import axis_labels
from believable.report.html.sections import KEY, mark_of
from believable.report.html.svg import diagram
from believable.report.html.words import count, name, number, percent, rows, span, text
from believable.report.judgement import Verdict
from believable.report.names import short_name

BADGES = {"good": "#00795a", "warn": "#a86400", "bad": "#b34700", "unsure": "#64717e"}
MOST_PLACES, MOST_ADVICE = 3, 2
_TD = "padding:1px 12px 1px 0;text-align:right;white-space:nowrap;background:transparent"


def as_cell(audit: Audit) -> str:
    """The verdict, the key numbers and a small reliability diagram.

    No script and no style sheet, so that it looks the same in every notebook; colours are those of its theme.

    Parameters
    ----------
    audit : Audit

    Returns
    -------
    str
        A fragment of HTML.
    """
    found = audit.verdict
    tone, mark = found.tone, mark_of(found)
    badge = (
        f'<span style="background:{BADGES[tone]};color:#fff;border-radius:4px;padding:2px 9px;font-weight:600">'
        f"{mark} {text(found.label)}</span>"
    )
    title = f"<strong>{name(audit.title)}</strong> · " if audit.title else ""
    said = "".join(f"<li>{text(line)}</li>" for line in [*_lines(found), *audit.advice[:MOST_ADVICE]])
    picture = diagram(audit.table, *axis_labels(found.notion), size=180)
    clusters = "" if audit.n_clusters is None else f" in {count(audit.n_clusters)} clusters"
    weighted = f", worth {count(audit.effective_n)} of equal weight" if audit.weighted else ""
    return (
        '<div style="display:flex;flex-wrap:wrap;gap:8px 28px;align-items:flex-start;max-width:1000px;line-height:1.4">'
        f'<div style="flex:1 1 380px;min-width:0;overflow-wrap:anywhere"><p style="margin:0 0 6px">{badge}</p>'
        f'<p style="margin:0 0 6px">{title}{rows(audit.n)}{clusters}{weighted}</p>'
        f'<p style="margin:0 0 6px"><strong>{text(found.headline)}</strong></p>'
        f'<ul style="margin:0 0 8px;padding-left:18px">{said}</ul>{_numbers(audit)}</div>'
        f'<div style="flex:0 0 auto">{picture}</div></div>'
    )


def _lines(found: Verdict) -> list[str]:
    """The verdict without the guideline, and of the places those that weigh most."""
    heaviest = sorted(found.places, key=lambda place: -place.n * abs(place.conf - place.acc))[:MOST_PLACES]
    kept = replace(found, places=tuple(place for place in found.places if place in heaviest))
    return kept.details()


def _numbers(audit: Audit) -> str:
    head = ("", "value", f"{percent(audit.verdict.level)} interval", "chance alone", "bins")
    made = [f"<tr>{''.join(f'<th style={_quoted(_TD)}>{text(one)}</th>' for one in head)}</tr>"]
    for alias in KEY:
        for one in audit.metrics:
            if one.alias != alias:
                continue
            cells = (number(one.value), span(one.low, one.high), number(one.floor), text(one.bins))
            first = f'<th style="{_TD};text-align:left">{text(short_name(one.alias, one.name))}</th>'
            made.append(f"<tr>{first}{''.join(f'<td style={_quoted(_TD)}>{cell}</td>' for cell in cells)}</tr>")
    return f'<table style="border-collapse:collapse;font-size:90%">{"".join(made)}</table>'


def _quoted(style: str) -> str:
    return f'"{style}"'
