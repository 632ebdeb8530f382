"""`audit_page`: the scripts, the style and the words of the page that audits a file in the browser, in one file."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from importlib.resources import files
from string import Template

from believable._version import __version__
from believable.metrics import METRICS
from believable.recalibrate.facts import ALIASES, in_words
from believable.report.browser.compact import compact, compact_style
from believable.report.html.explanations import explanations, why
from believable.report.html.page import (
    CLUSTERS_NOT_ALLOWED_FOR,
    JSON_ESCAPES,
    NUMBERS_OF_BINS,
    NUMBERS_OF_ROWS,
    entries,
)
from believable.report.html.sections import KEYS_OF_SELECTION, TERMS_OF_CONFIDENCE, TERMS_OF_SCORES
from believable.report.html.words import asset, template, text
from believable.report.wording import SHORT_METRIC_NAMES, short_name

FOLDER = "believable.report.browser"
FOR_NODE = re.compile(r'^ *"use strict";\n|^if \(typeof module !== "undefined"\).*\n', re.MULTILINE)
COMPUTED = (
    "Everything is computed from the rows of your file, in this browser. What changes with the controls is computed "
    "from counts in 840 narrow cells for each selection, and equals what Python computes from the same cells."
)
LEVEL = "95 %"  # of all intervals on this page
# In order, because each may use those before it. What the worker computes with comes first, then what is shown.
READING = ("delimited.js", "columns.js", "read.js")
NUMERICS = (
    *(
        "special.js",
        "linear.js",
        "random.js",
        "draws.js",
        "optimise.js",
        "folds.js",
        "maps.js",
        "contest.js",
        "fixes.js",
    ),
    *("rows.js", "count.js", "cells.js", "pack.js", "errors.js", "logistic.js", "smooth.js", "curves.js", "roc.js"),
    *("units.js", "shapes.js", "inversion.js", "floor.js", "resampling.js", "evidence.js", "rules.js", "measure.js"),
    *("judge.js", "words.js", "slices.js", "parts.js", "advice.js", "calibration.js"),
)
SHOWN = ("view.js", "app.js")
OF_THE_REPORT = ("draw.js", "tables.js", "controls.js")


def audit_page() -> str:
    """Return the page that audits a table of predictions in the browser, as one HTML file that needs nothing else.

    Its reader drops a CSV file on it, or pastes two columns, and gets the answer, the reliability diagram with its
    noise band, the key numbers with intervals, classes, subgroups, and calibration maps to download. It works offline:
    nothing is fetched and nothing is sent, which its content security policy enforces. `believable page` writes it to a
    file.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> from believable.report.browser import audit_page
    >>> page = audit_page()
    >>> page[:15], len(page) < 400_000
    ('<!doctype html>', True)
    """
    style, _, _ = asset("page.css").partition("/* Several models")  # which this page never shows
    scripts = (*READING, *(f"numerics/{name}" for name in NUMERICS), "worker.js")
    core = _joined([asset("statistic.js"), *map(_script, scripts)])
    page = _joined([*(asset(name) for name in OF_THE_REPORT), *(_script(name) for name in SHOWN)])
    return Template(_script("app.html")).substitute(
        package=text(__version__),
        css=compact_style(style + _script("app.css")),
        core=core,
        core_hash=_hash(core),
        page=page,
        page_hash=_hash(page),
        explanations=explanations(SHORT_METRIC_NAMES),
        legend=template("legend", level=LEVEL, interval=why("interval", "interval"), floor=why("floor", "noise floor")),
        live=template("live", of_bins=entries(NUMBERS_OF_BINS, {}), of_rows=entries(NUMBERS_OF_ROWS, {}), left_out=""),
        reading_scores=template("reading", level=LEVEL, computed=COMPUTED, **TERMS_OF_SCORES),
        reading_confidences=template("reading", level=LEVEL, computed=COMPUTED, **TERMS_OF_CONFIDENCE),
        facts=_facts(),
    )


def _script(name: str) -> str:
    return (files(FOLDER) / name).read_text(encoding="utf-8")


def _joined(scripts: Iterable[str]) -> str:
    """Return scripts as one, in which they share what makes them strict, and no longer offer themselves to node."""
    bare = (FOR_NODE.sub("", script) for script in scripts)
    return "'use strict';" + compact("\n".join(bare))


def _hash(script: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _facts() -> str:
    """Return what the scripts need to know of metrics and recalibrators, as JSON that cannot end its element."""
    facts = {
        "metrics": {
            metric.alias: {
                "title": short_name(metric.alias, metric.name),
                "inside": metric.best is not None and metric.low < metric.best < metric.high,
            }
            for metric in METRICS.values()
            if metric.alias in SHORT_METRIC_NAMES
        },
        "recalibrators": {alias: in_words(kind) for alias, kind in ALIASES.items()},
        "package": __version__,
        "keys_of_selection": KEYS_OF_SELECTION,
        "clusters_not_allowed_for": CLUSTERS_NOT_ALLOWED_FOR,
    }
    return re.sub("[<>&]", lambda match: JSON_ESCAPES[match[0]], json.dumps(facts, separators=(",", ":")))
