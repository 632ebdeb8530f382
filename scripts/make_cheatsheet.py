"""Write docs/_static/cheatsheet.html: one printable page, A4 or Letter, landscape. Called by scripts/make_docs.py.

Tables come from the facts that metrics and recalibrators carry. The calls of `CALLS` are run by
tests/docs/test_cheatsheet.py as they stand here, and the commands of `SHELL` where the README is tested.
"""

from __future__ import annotations

import html
import math
from pathlib import Path

import believable
from believable.recalibrate import RECALIBRATORS

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "_static" / "cheatsheet.html"

CALLS = {  # a heading, and below it questions with their calls
    "Measure": [
        ("The whole answer?", 'audit(p, y, by=region).to_html("report.html")'),
        ("How far off, in words?", "verdict(p, y)"),
        ("One number, my bins?", "expected_calibration_error(p, y, n_bins=15)"),
        ("Every number?", "evaluate(p, y)"),
        ("How sure is that number?", 'interval("ece", p, y, clusters=patient)'),
        ("Is it noise?", 'noise_floor("ece", p, y);  kuiper_test(p, y)'),
        ("How many rows?", "rows_needed(width=0.02, base_rate=0.1)"),
        ("Which model is better?", 'compare(p, q, y, "brier")'),
        ("For whom is it off?", "subgroups(p, y, by=region)"),
        ("Every class of a matrix?", "classwise_ece(P, k);  plot_classwise_reliability(P, k)"),
        ("Without bins?", "smooth_calibration_error(p, y);  corp_decomposition(p, y)"),
        ("Slope and intercept?", "calibration_slope_intercept(p, y)"),
        ("As another library has it?", 'expected_calibration_error(p, y, convention="torchmetrics")'),
        ("Logits, other labels?", "Predictions(z, y, from_logits=True)"),
    ],
    "See": [
        ("A picture?", 'plot_reliability_diagram(p, y, save_path="r.png")'),
        ("Without bins?", "plot_corp_diagram(p, y);  plot_smoothed_calibration(p, y)"),
        ("The numbers behind it?", "reliability_table(p, y).to_frame()"),
    ],
    "Mend": [
        ("What mends it?", "fixed = calibrate(p, y);  fixed.transform(q)"),
        ("By how much?", "plot_improvement(fixed);  refinement(p, y)"),
        ("A certain map?", "recalibrate.BetaCalibration().fit(p, y).transform(q)"),
        ("Around a classifier?", 'recalibrate.Recalibrated(model, "platt").fit(X, y)'),
        ("Keep it, no pickle?", 'fixed.to_json("map.json");  load_recalibrator("map.json")'),
    ],
    "Decide": [
        ("A cut with a promise?", "threshold_for(p, y, precision=0.9)"),
        ("Answer, or leave it?", "selective(p, y)"),
        ("Is acting on it worth it?", "net_benefit(p, y)"),
        ("A cheap model first?", "cascade(p, y, cost_fast=0.001, cost_slow=0.05)"),
        ("Say it in words?", "confidence_words(0.93, (0.55, 0.99))"),
    ],
    "Grow": [
        ("Parts, shards, days?", "sum(Summary.of(Predictions(*day)) for day in days)"),
        ("A stream that may drift?", "CalibrationMonitor(500).update(p, y)"),
    ],
}
SHELL = [
    "believable audit predictions.csv --html report.html",
    "believable audit predictions.parquet --prob score --label clicked --by region",
    "believable audit visits.csv --cluster patient_id --fail-above ece=0.05  # exit code 1",
    "believable audit multiclass.csv --prob-prefix q_",
    "believable audit logits.csv --logits --prob logit",
    "believable compare new.csv old.csv",
    "believable fit calibration.csv -o map.json",
    "believable apply map.json new.csv -o out.csv",
]
CONVENTIONS = [
    "<b>Scores first, outcomes second</b>; swapped arguments are an error, as is a NaN or a logit.",
    "<b>Bins</b> are right-closed, (a, b]; 0 is in the first, 1 in the last; ten of equal width unless you "
    "say otherwise.",
    "<b>Say the bins</b> with every binned number: “ECE 0.041, 15 uniform bins, n = 5,000”.",
    "<b>A matrix</b> means the confidence in the predicted class, unless <code>notion=</code> says "
    "<code>classwise</code>, <code>top_label</code>, <code>top_r</code> …",
    "<b>Chance</b>: a perfect model shows a positive error too. Compare with the noise floor, never with 0.",
    "<b>Fit a map on rows</b> that neither trained the model nor test it.",
    "<code>random_state=</code> makes it repeatable; <code>sample_weight=</code> works throughout, "
    "<code>clusters=</code> where rows come in clusters.",
]
REPORT = [
    "<b>To a reader</b>: Brier score or log loss; the ECE with its bins, interval and noise floor; a diagram.",
    "<b>To choose a model</b>: Brier score or log loss, by <code>compare</code>; no calibration error rewards "
    "sharpness.",
    "<b>Without bins</b>: smooth ECE, or ICI with slope and intercept in clinical work.",
    "<b>Rare events</b>: observed / expected, and bins of equal mass.",
    "<b>Classes whose columns you use</b>: the static (class-wise) error, not that of the confidence alone.",
]
GRADES = [("excellent", "below 0.05"), ("good", "below 0.10"), ("moderate", "below 0.15"), ("poor", "otherwise")]
STANDINGS = [
    ("off", "a perfect model with these scores would show as much at most one time in twenty: read grade and interval"),
    ("cannot be told from perfect", "chance explains what is seen: leave the scores alone"),
    ("too little data", "the interval reaches from excellent to moderate: get the rows it names"),
]
SHAPES = [  # a name, what happens at a score, and what to do
    (
        "over-confident",
        lambda p: 0.5 + 0.4 * (p - 0.5) + 1.1 * (p - 0.5) ** 3,
        "too extreme; slope below 1",
        "temperature",
    ),
    ("under-confident", lambda p: 1 / (1 + ((1 - p) / p) ** 2.2), "too timid; slope above 1", "temperature"),
    ("too high", lambda p: p**1.9, "less happens than promised", "Platt, prior shift"),
    ("too low", lambda p: 1 - (1 - p) ** 1.9, "more happens than promised", "Platt, prior shift"),
]
SHADES = ("#d6e6d9", "#e6efd8", "#f8e9c8", "#f3cdbf")


def page() -> str:
    """The whole file."""
    style = (HERE / "cheatsheet.css").read_text()
    left = "".join(_section(title, _calls(rows), "ask") for title, rows in CALLS.items())
    left += _section(
        "In a shell",
        f'<div class="shell">{"".join(f"<code>{_code(line)}</code>" for line in SHELL)}</div>' + _exit_codes(),
    )
    axes = "<p class=note>Across: what was promised. Up: what happened. Grey: perfect.</p>"
    middle = _section("Read the diagram", f'{axes}<div class="shapes">{_shapes()}</div>')
    middle += _section("Read the verdict", _verdict())
    middle += _section("What to report", _list(REPORT)) + _section("Conventions", _list(CONVENTIONS))
    right = _section("Metrics", _metrics(), "facts") + _section("Recalibrators", _recalibrators(), "facts")
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>believable: cheat sheet</title>\n'
        f'<meta name="viewport" content="width=1060">\n<style>\n{style}</style>\n<main>\n'
        "<header><h1>believable</h1><p>Are my numeric scores believable probabilities?</p>"
        "<p><code>import believable</code>, then <code>believable.</code>… &nbsp; p, q scores · y outcomes · "
        "P matrix · k classes · "
        f"version {believable.__version__}</p></header>\n"
        f'<div class="columns">\n<div>{left}</div>\n<div>{middle}</div>\n<div>{right}</div>\n</div>\n</main>\n</html>\n'
    )


def _section(title: str, content: str, kind: str = "") -> str:
    return f'<section class="{kind}"><h2>{title}</h2>{content}</section>\n'


def _code(text: str) -> str:
    return html.escape(text, quote=False)


def _calls(rows: list[tuple[str, str]]) -> str:
    lines = "".join(f"<tr><td>{question}<td><code>{_code(call)}</code>" for question, call in rows)
    return f"<table>{lines}</table>"


def _list(lines: list[str]) -> str:
    return f"<ul>{''.join(f'<li>{line}' for line in lines)}</ul>"


def _exit_codes() -> str:
    return (
        "<p class=note>csv, tsv, parquet, jsonl, npz, or - for standard input. Exit code 0: fine, 1: a gate failed, "
        "2: bad input. "
        "<code>believable demo</code> needs no file; <code>believable metrics ece</code> explains.</p>"
    )


def _shapes() -> str:
    return "".join(
        f"<figure>{_diagram(curve)}<figcaption><b>{name}</b>{words}<br><i>try {fix}</i></figcaption></figure>"
        for name, curve, words, fix in SHAPES
    )


def _diagram(curve) -> str:
    """A small reliability diagram: the diagonal, the gaps of nine bins, and the curve through them."""
    at = [0.06 + 0.11 * i for i in range(9)]
    dots = [(100 * p, 100 - 100 * min(max(curve(p), 0.0), 1.0)) for p in at]
    gaps = "".join(
        f'<line x1="{x:.0f}" y1="{100 - x:.0f}" x2="{x:.0f}" y2="{y:.0f}" stroke-opacity=".45" stroke-width="6" '
        f'stroke="{"#c8472f" if y > 100 - x else "#2a6fb0"}"/>'
        for x, y in dots
    )
    line = " ".join(f"{x:.0f},{y:.0f}" for x, y in dots)
    return (
        '<svg viewBox="-2 -2 104 104" role="img">'
        '<path d="M0 0V100H100" fill="none" stroke="#9aa5b1" stroke-width="1.6"/>'
        '<path d="M0 100L100 0" stroke="#9aa5b1" stroke-width="1.4" stroke-dasharray="5 4"/>'
        f'{gaps}<polyline points="{line}" fill="none" stroke="#1f2933" stroke-width="2.2"/>'
        + "".join(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3.2" fill="#1f2933"/>' for x, y in dots)
        + "</svg>"
    )


def _verdict() -> str:
    grades = "".join(
        f'<span style="background:{shade}"><b>{name}</b>{where}</span>'
        for (name, where), shade in zip(GRADES, SHADES, strict=True)
    )
    standings = "".join(f"<dt>{name}<dd>{words}" for name, words in STANDINGS)
    return (
        f'<p>The <b>grade</b> follows a guideline for the ECE:</p><div class="grades">{grades}</div>'
        f"<p>The <b>standing</b> says whether to rely on it:</p><dl>{standings}</dl>"
        "<p>A direction and places are named only where chance does not explain the whole.</p>"
    )


def _metrics() -> str:
    rows = [
        f"<tr><td><code>{row.alias}</code><td>{row.name}<td>{_end(row.low)} … {_end(row.high)}<td>{_end(row.best)}"
        for row in believable.METRICS.values()
    ]
    return f'<table><tr class="head"><td>alias<td>function<td>range<td>best{"".join(rows)}</table>'


def _end(value: float | None) -> str:
    if value is None:
        return "–"
    if math.isinf(value):
        return "−∞" if value < 0 else "∞"
    return f"{value:.3g}".replace("-", "−")


def _recalibrators() -> str:
    order = {"strict": "yes", "weak": "ties", "by slope": "slope > 0", "none": "no"}
    chosen = sorted(RECALIBRATORS.items(), key=lambda item: (item[1].facts.simplicity, item[0]))
    rows = [
        f"<tr><td><code>{cls.facts.alias}</code><td>{name}<td>{cls.facts.fewest}<td>{order[cls.facts.ranking]}"
        for name, cls in chosen
        if cls.facts.alias != "identity"
    ]
    return (
        f'<table><tr class="head"><td>alias<td>class<td>rows<td>keeps order{"".join(rows)}</table>'
        "<p class=note>Simplest first. <b>rows</b>: of the rarest class; with fewer it warns; "
        "more may be needed for it to pay. "
        "<b>order</b> of the scores of one event.</p>"
    )


def write() -> None:
    """Put the page where the site finds it."""
    PAGE.write_text(page())


if __name__ == "__main__":
    write()
