"""An audit as HTML: `as_page`, one file that needs nothing else, and `as_cell`, the short form for a notebook."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from believable.report.document import Audit
from believable.report.html.explanations import explanations, why
from believable.report.html.sections import KEY_METRICS, answer, evidence, facts, key_numbers, mark_of, page_sections
from believable.report.html.svg import diagram
from believable.report.html.words import asset, count, name, number, percent, rows, span, template, text
from believable.report.parts import CurveLine
from believable.report.wording import short_name

PAGE_SCRIPTS = ("statistic.js", "draw.js", "tables.js", "controls.js", "begin.js")
ALL_CLASSES_IN_WORDS = {"confidence": "all: the predicted one", "top_label": "all: the predicted one"}
BINS_SLIDER = (
    '<label class="slide" for="bins"><span>Number of bins <span id="bins-shown" aria-hidden="true"></span></span>'
    '<input type="range" id="bins"></label>'
)
BINS_IN_WORDS = {"uniform": "uniform (equal width)", "quantile": "quantile (equal counts)"}
CURVES_IN_WORDS = {"smoothed": "smoothed curve", "corp": "isotonic curve (CORP)"}
NUMBERS_OF_BINS = {"ece": "ECE", "chance": "noise floor ≈", "mce": "largest gap", "rmsce": "RMS of gaps"}
NUMBERS_OF_ROWS = {"n": "rows", "base": "observed rate", "mean": "average prediction"}
CLUSTERS_NOT_ALLOWED_FOR = (
    "The noise band, and intervals in bins other than those of the answer, treat rows as independent, so they may be "
    "too narrow. The answer and the key numbers allow for the {n} clusters."
)
INDENTS_AND_COMMENTS = re.compile(r"^(\s*//.*\n|\s+)+", re.MULTILINE)  # a page without them is 20 KB smaller
JSON_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}  # within JSON they can only stand in text
COLOUR_OF_TONE = {"good": "#00795a", "warn": "#a86400", "bad": "#b34700", "unsure": "#64717e"}
MAX_LINES_IN_NOTEBOOK, MAX_ADVICE_IN_NOTEBOOK = 6, 2
TABLE_CELL_STYLE = "padding:1px 12px 1px 0;text-align:right;white-space:nowrap;background:transparent"


def as_page(audit: Audit) -> str:
    """The audit as one self-contained page.

    Nothing is fetched: style, script and numbers are in the file, and its content security policy lets only this script
    run. What comes from the user's file is escaped, or handed to the script as data.

    Parameters
    ----------
    audit : Audit

    Returns
    -------
    str
        HTML.
    """
    script = "\n" + INDENTS_AND_COMMENTS.sub("", "\n".join(asset(one) for one in PAGE_SCRIPTS))
    further = list(page_sections(audit))
    labels = axis_labels(audit.verdict.about_confidence)
    return template(
        "page",
        script_hash=f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}",
        package=text(audit.package),
        title=text(audit.title or "Predictions"),
        heading=name(audit.title or "Predictions"),
        css=asset("page.css"),
        of_all_rows=", all rows" if audit.verdict.is_about_a_subgroup else "",
        made_on=text(audit.made_on),
        facts=facts(audit),
        nav=_nav((("evidence", "Evidence"), ("numbers", "Key numbers"), *((one.key, one.title) for one in further))),
        verdict=answer(audit),
        evidence=evidence(audit),
        controls=_controls(audit),
        picture=diagram(audit.table, *labels, size=380),
        live=_live(audit),
        bins=text(audit.verdict.bins),
        numbers=key_numbers(audit),
        sections="\n".join(
            f'<section id="{one.key}" class="card" aria-labelledby="{one.key}-title">'
            f'<h2 id="{one.key}-title">{one.title}</h2>{one.body}</section>'
            for one in further
        ),
        explanations=explanations((one.alias for one in audit.metrics), segments=audit.segments is not None),
        data=as_data(audit),
        script=script,
    )


def axis_labels(about_confidence: bool) -> tuple[str, str]:
    """Return the labels of the axes of a reliability diagram."""
    if about_confidence:
        return "Mean confidence", "Accuracy"
    return "Mean predicted probability", "Observed frequency"


def as_data(audit: Audit) -> str:
    """What the script reads, as JSON that cannot end its element: classes and subgroups by number, cells packed.

    No result is among it: the script computes what it shows from the cells. It begins with the class or subgroup that
    the answer is about.
    """
    classes = list(dict.fromkeys(one.class_name for one in audit.slices if one.class_name is not None))
    groups = list(dict.fromkeys((one.column, one.level) for one in audit.slices if one.column is not None))
    data: dict[str, Any] = {
        "bins": audit.verdict.n_bins,
        "strategy": audit.verdict.strategy,
        "kind": audit.kind,
        "confidence": audit.verdict.about_confidence,
        "clustered": audit.n_clusters is not None,
        "pooled": audit.verdict.notion == "classwise",
        "level": audit.verdict.level,
        "classes": classes,
        "groups": [{"column": column, "level": level} for column, level in groups],
        "start": _start(audit),
        "slices": [
            {
                "class": None if one.class_name is None else classes.index(one.class_name),
                "group": None if one.column is None else groups.index((one.column, one.level)),
                "stage": one.stage,
                "data": one.cells.data,
            }
            for one in audit.slices
        ],
        "lines": [_line(line) for line in audit.lines],
        "map": None if audit.fix is None else audit.fix.map,
    }
    written = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return re.sub("[<>&]", lambda match: JSON_ESCAPES[match[0]], written)


def _start(audit: Audit) -> int:
    """The number of the slice that the page begins with: what the answer is about, or all rows, which come first."""
    about = audit.verdict.findings[0].about if audit.verdict.findings else ""
    for i, one in enumerate(audit.slices):
        name = f"class {one.class_name}" if one.column is None else f"{one.column} = {one.level}"
        if name == about and (one.class_name is None or one.column is None):
            return i
    return 0


def _line(line: CurveLine) -> dict[str, Any]:
    """The points of a curve that can be drawn, to four digits: a small part of a pixel."""
    points = zip(line.x, line.y, line.low, line.high, strict=True)
    drawn = [tuple(round(value, 4) for value in point) for point in points if all(map(math.isfinite, point))]
    columns = zip(*drawn, strict=True) if drawn else ((), (), (), ())
    return {"method": line.method} | dict(zip(("x", "y", "low", "high"), map(list, columns), strict=True))


def _nav(entries: Iterable[tuple[str, str]]) -> str:
    return " ".join(f'<a href="#{key}">{title}</a>' for key, title in entries)


def _controls(audit: Audit) -> str:
    """The controls that this audit has a use for; the script fills and enables them."""
    made = [_choice("strategy", "Bins", BINS_IN_WORDS), BINS_SLIDER]
    if any(one.class_name is not None for one in audit.slices):
        title = "Label" if audit.kind == "multilabel" else "Class"
        made.append(_select("class", title, ALL_CLASSES_IN_WORDS.get(audit.verdict.notion, "all together")))
    if any(one.column is not None for one in audit.slices):
        made.append(_select("group", "Subgroup", "all rows"))
    if any(one.stage == "after" for one in audit.slices):
        made.append(_choice("stage", "Recalibration", {"before": "before", "after": "after"}))
    methods = {line.method for line in audit.lines}
    layers = [("band", "noise band", True), ("zoom", "zoom to the scores", True)]
    layers += [(key, f"{_stroke(key)}{words}", key in methods) for key, words in CURVES_IN_WORDS.items()]
    boxes = "".join(
        f'<label{"" if there else " hidden"}><input type="checkbox" id="{key}"> {words}</label>'
        for key, words, there in layers
    )
    made.append(f'<fieldset class="layers"><legend>Show</legend>{boxes}</fieldset>')
    return (
        '<div id="controls" class="script" role="group" aria-label="What to look at" aria-describedby="controls-why">'
        f'{"".join(made)}<p class="quiet" id="controls-why" hidden></p>'
        '<button type="button" id="reset">Reset</button></div>'
    )


def _choice(key: str, title: str, options: Mapping[str, str]) -> str:
    radios = "".join(
        f'<label><input type="radio" name="{key}" value="{value}"> {words}</label>' for value, words in options.items()
    )
    return f"<fieldset><legend>{title}</legend>{radios}</fieldset>"


def _stroke(method: str) -> str:
    return f'<svg class="icon" viewBox="0 0 26 12" aria-hidden="true"><path class="curve {method}" d="M1 6H25"/></svg> '


def _select(key: str, title: str, whole: str) -> str:
    return f'<label class="choose">{title}<select id="{key}"><option value="">{text(whole)}</option></select></label>'


def _live(audit: Audit) -> str:
    """The numbers of what is looked at, and the legend."""
    left = f'<p class="quiet">{text(audit.left_out)}</p>' if audit.left_out else ""
    if audit.n_clusters is not None:
        left += f'<p class="quiet">{CLUSTERS_NOT_ALLOWED_FOR.format(n=count(audit.n_clusters))}</p>'
    floor = {"chance": number(audit.verdict.floor)}  # the script shows it for the bins of the answer
    of_bins, of_rows = entries(NUMBERS_OF_BINS, floor), entries(NUMBERS_OF_ROWS, {})
    return template("live", of_bins=of_bins, of_rows=of_rows, left_out=left)


def entries(found: Mapping[str, str], values: Mapping[str, str]) -> str:
    """The numbers of what is looked at, by their names; the script fills in those that are not given."""
    return "".join(
        f'<div><dt><span id="name-{key}">{words}</span> {why(key, words)}</dt>'
        f'<dd id="live-{key}">{values.get(key, "")}</dd></div>'
        for key, words in found.items()
    )


# --- the short form that a notebook shows -----------------------------------------------------------------------------


def as_cell(audit: Audit) -> str:
    """The answer, the key numbers and a small reliability diagram.

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
    short, _, example = found.headline.partition(". ")
    style = f"background:{COLOUR_OF_TONE[found.tone]};color:#fff;border-radius:4px;padding:2px 9px;font-weight:600"
    badge = f'<span style="{style}">{mark_of(found)} {text(short)}</span>'
    title = f"<strong>{name(audit.title)}</strong> · " if audit.title else ""
    lines = [*found.details()[:MAX_LINES_IN_NOTEBOOK], *audit.advice[:MAX_ADVICE_IN_NOTEBOOK]]
    said = "".join(f"<li>{text(line)}</li>" for line in lines)
    command = f"<p><code>{text(audit.command)}</code></p>" if audit.command else ""
    picture = diagram(audit.table, *axis_labels(found.about_confidence), size=180)
    clusters = "" if audit.n_clusters is None else f" in {count(audit.n_clusters)} clusters"
    weighted = f", worth {count(audit.effective_n)} of equal weight" if audit.weighted else ""
    return (
        '<div style="display:flex;flex-wrap:wrap;gap:8px 28px;align-items:flex-start;max-width:1000px;line-height:1.4">'
        f'<div style="flex:1 1 380px;min-width:0;overflow-wrap:anywhere"><p style="margin:0 0 6px">{badge}</p>'
        f'<p style="margin:0 0 6px">{title}{rows(audit.n)}{clusters}{weighted}</p>'
        f'<p style="margin:0 0 6px"><strong>{text(example)}</strong></p>'
        f'<ul style="margin:0 0 8px;padding-left:18px">{said}</ul>{command}{_numbers(audit)}</div>'
        f'<div style="flex:0 0 auto">{picture}</div></div>'
    )


def _numbers(audit: Audit) -> str:
    head = ("", "value", f"{percent(audit.verdict.level)} interval", "noise floor", "bins")
    made = [f"<tr>{''.join(f'<th style={_quoted(TABLE_CELL_STYLE)}>{text(one)}</th>' for one in head)}</tr>"]
    for alias in KEY_METRICS:
        for one in audit.metrics:
            if one.alias != alias:
                continue
            cells = (number(one.value), span(one.low, one.high), number(one.floor), text(one.bins))
            first = f'<th style="{TABLE_CELL_STYLE};text-align:left">{text(short_name(one.alias, one.name))}</th>'
            made.append(
                f"<tr>{first}{''.join(f'<td style={_quoted(TABLE_CELL_STYLE)}>{cell}</td>' for cell in cells)}</tr>"
            )
    return f'<table style="border-collapse:collapse;font-size:90%">{"".join(made)}</table>'


def _quoted(style: str) -> str:
    return f'"{style}"'
