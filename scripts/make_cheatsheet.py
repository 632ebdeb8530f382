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
        ("A full report?", 'audit(p, y, by=region).to_html("report.html")'),
        ("A verdict in words?", "verdict(p, y)"),
        ("One number, my bins?", "expected_calibration_error(p, y, n_bins=15)"),
        ("Every number?", "evaluate(p, y)"),
        ("How precise is it?", 'interval("ece", p, y, clusters=patient)'),
        ("Is it noise?", 'noise_floor("ece", p, y);  kuiper_test(p, y)'),
        ("How many rows?", "rows_needed(width=0.02, base_rate=0.1)"),
        ("Which model is better?", 'compare(p, q, y, "brier")'),
        ("Miscalibrated subgroups?", "subgroups(p, y, by=region);  find_segments(p, y, columns)"),
        ("Every class of a matrix?", "classwise_ece(P, k);  plot_classwise_reliability(P, k)"),
        ("Without bins?", "smooth_calibration_error(p, y);  corp_decomposition(p, y)"),
        ("Slope and intercept?", "calibration_slope_intercept(p, y)"),
        ("Another library's number?", 'expected_calibration_error(p, y, convention="torchmetrics")'),
        ("Logits, not probabilities?", "Predictions(z, y, from_logits=True)"),
    ],
    "See": [
        ("A reliability diagram?", 'plot_reliability_diagram(p, y, save_path="r.png")'),
        ("Without bins?", "plot_corp_diagram(p, y);  plot_smoothed_calibration(p, y)"),
        ("The numbers behind it?", "reliability_table(p, y).to_frame()"),
    ],
    "Recalibrate": [
        ("Which recalibrator?", "fixed = calibrate(p, y);  fixed.transform(q)"),
        ("How much does it help?", "plot_improvement(fixed);  refinement(p, y)"),
        ("A map by segment?", "calibrate(p, y, by=columns)"),
        ("A specific one?", "recalibrate.BetaCalibration().fit(p, y).transform(q)"),
        ("Around a classifier?", 'recalibrate.Recalibrated(model, "platt").fit(X, y)'),
        ("Save it without pickle?", 'fixed.to_json("map.json");  load_recalibrator("map.json")'),
    ],
    "Decide": [
        ("A guaranteed threshold?", "threshold_for(p, y, precision=0.9)"),
        ("When to abstain?", "selective(p, y)"),
        ("Is acting on it useful?", "net_benefit(p, y)"),
        ("A cheap model first?", "cascade(p, y, cost_fast=0.001, cost_slow=0.05)"),
        ("Say it in words?", "confidence_words(0.93, (0.55, 0.99))"),
    ],
    "Scale": [
        ("Several parts or days?", "sum(Summary.of(Predictions(*day)) for day in days)"),
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
    "<b>Scores first, outcomes second</b>. Swapped arguments, NaN and logits raise an error.",
    "<b>Bins</b> are right-closed, (a, b]; 0 is in the first, 1 in the last; ten of equal width by default.",
    "<b>Report the bins</b> with every binned number: “ECE 0.041, 15 uniform bins, n = 5,000”.",
    "<b>A matrix</b> is judged by the confidence in the predicted class, unless <code>notion=</code> is "
    "<code>classwise</code>, <code>top_label</code>, <code>top_r</code> …",
    "<b>Noise</b>: even a perfect model shows a positive error. Compare with the noise floor, never with 0.",
    "<b>Fit a recalibrator</b> on rows used neither to train nor to test the model.",
    "<code>random_state=</code> makes results reproducible; <code>sample_weight=</code> works throughout, "
    "<code>clusters=</code> where rows belong together.",
]
REPORT = [
    "<b>In a paper or report</b>: Brier score or log loss; the ECE with its bins, interval and noise floor; a diagram.",
    "<b>To choose a model</b>: Brier score or log loss, with <code>compare</code>; calibration errors do not "
    "reward sharpness.",
    "<b>Without bins</b>: smooth ECE; in clinical work, ICI with slope and intercept.",
    "<b>Rare events</b>: observed / expected ratio, and equal-mass bins.",
    "<b>If you use every class probability</b>: the static (class-wise) error, not only the confidence.",
]
GRADES = [("excellent", "below 0.05"), ("good", "below 0.10"), ("moderate", "below 0.15"), ("poor", "otherwise")]
ANSWERS = [
    ("yes", "take the scores at face value"),
    ("yes, as far as these data can tell", "nothing was found, but more rows could find something"),
    ("use with care", "wrong in a range, a class or a subgroup, or by little: it says where and how far"),
    ("no, recalibrate first", "wrong by about 0.1, by a factor of 1.25, or in slope: run the command it prints"),
    ("not enough data", "collect as many rows as it says"),
]
SHAPES = [  # a name, the observed frequency at a score, what it means, and which recalibrator to try
    (
        "too extreme",
        lambda p: 0.5 + 0.4 * (p - 0.5) + 1.1 * (p - 0.5) ** 3,
        "calibration slope below 1",
        "temperature",
    ),
    ("not extreme enough", lambda p: 1 / (1 + ((1 - p) / p) ** 2.2), "calibration slope above 1", "temperature"),
    ("over-predicts", lambda p: p**1.9, "fewer events than predicted", "Platt, prior shift"),
    ("under-predicts", lambda p: 1 - (1 - p) ** 1.9, "more events than predicted", "Platt, prior shift"),
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
    axes = "<p class=note>x: mean predicted probability. y: observed frequency. Dashed: perfect.</p>"
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
        "2: invalid input. "
        "<code>believable demo</code> needs no file; <code>believable metrics ece</code> explains a metric.</p>"
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
    answers = "".join(f"<dt>{name}<dd>{words}" for name, words in ANSWERS)
    return (
        f"<p>May I take the scores at face value?</p><dl>{answers}</dl>"
        f'<p>A guideline for the ECE, told beside the answer:</p><div class="grades">{grades}</div>'
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
        "<p class=note>Simplest first. <b>rows</b>: rows of the rarest class, below which it warns; "
        "it may need more to help. "
        "<b>order</b>: of the scores of one event.</p>"
    )


def write() -> None:
    """Put the page where the site finds it."""
    PAGE.write_text(page())


if __name__ == "__main__":
    write()
