"""Regenerate what the documentation shows: the tables of metrics and recalibrators, and pictures. For `make docs`."""

from __future__ import annotations

import inspect
import re
import textwrap
from pathlib import Path

import believable
import believable.metrics
from believable.plots.style import new_figure, save
from believable.readers import load_demo
from believable.recalibrate import RECALIBRATORS

DOCS = Path(__file__).resolve().parent.parent / "docs"


COMPARED = {  # what `elsewhere` was verified with
    "scikit-learn": "1.9.1",
    "torchmetrics": "1.9.0",
    "netcal": "1.4.0",
    "uncertainty-calibration": "0.1.4",
    "relplot": "1.0.3",
    "calibre": "0.14.0",
    "probmetrics": "1.3.0",
    "calzone": "0.1.0",
    "MAPIE": "1.6.0",
}


def metric_table() -> str:
    """The metrics as markdown: a table of all, then a section for each."""
    compared = ", ".join(f"{name} {version}" for name, version in COMPARED.items())
    lines = [
        "# The table of metrics",
        "",
        "This table lists every metric. On the command line, `believable metrics` prints the same table, and",
        "`believable metrics ece` everything about one metric. The [definitions](definitions.md) explain what the",
        "metrics share; [Which metric should I report?](which-metric.md) helps you choose. Use the alias in place of",
        'the name in `evaluate(..., metrics=["ece"])` and `scorer("ece")`.',
        "",
        "*needs* says what a metric can be computed from: sums (`ScoreSums`), bins (`BinStats`, `CellStats`) or cells",
        "(`CellStats`), all of which can be merged, or only the predictions themselves (rows, pairs).",
        "In the sections below, *of a matrix* names the [notion of calibration](definitions.md#notions) that is",
        "measured when you pass one column per class.",
        "",
        "| name | alias | what it is | range | best | needs |",
        "|---|---|---|---|---|---|",
    ]
    rows = list(believable.METRICS.values())
    for row in rows:
        facts = [f"[{row.name}](#{row.name})", f"`{row.alias}`", row.summary, _span(row), _best(row), row.needs]
        lines.append(f"| {' | '.join(facts)} |")
    lines += [
        "",
        "Below, *Elsewhere* says which other libraries compute a metric and how their value differs from our default.",
        *textwrap.wrap(
            f"We compared {compared}, the tutorial recipe for bins of equal size, and R's `glm` and rms.", 118
        ),
        "`tests/oracle/verify_elsewhere.py` checks these statements; [My number differs](differs.md) shows examples.",
    ]
    for row in rows:
        lines += ["", *_metric_section(row)]
    return "\n".join(lines) + "\n"


def _metric_section(row: believable.metrics.Metric) -> list[str]:
    facts = [f"`{row.alias}`", f"range {_span(row)}", f"best {_best(row)}", f"needs {row.needs}"]
    if row.bins:
        facts.append("its own bins" if row.bins == "own" else f"{row.bins} bins")
    if row.of:
        facts.append(f"of a matrix: {row.of.replace('_', '-')}")
    if row.reference != "—":
        facts.append(row.reference)
    lines = [f"## {row.name}", "", row.summary, "", *_definition(row), "", " · ".join(facts), ""]
    if row.elsewhere:
        return [*lines, "*Elsewhere:*", "", *(f"- **{library}**: {said}" for library, said in row.elsewhere)]
    return [*lines, "*Elsewhere:* in none of the libraries compared."]


def _span(row: believable.metrics.Metric) -> str:
    return f"{row.low:g} … {row.high:g}".replace("inf", "∞").replace("-", "−")


def _best(row: believable.metrics.Metric) -> str:
    return "–" if row.best is None else f"{row.best:g}"


def _definition(row: believable.metrics.Metric) -> list[str]:
    """The formula of the docstring, if it has one, and the paragraph that explains it."""
    paragraphs = (inspect.getdoc(row.function) or "").split("\n\n")[1:]
    taken = paragraphs[: 1 + paragraphs[0].startswith(".. math::")]
    text = "\n\n".join(taken)
    text = re.sub(r"^\.\. math:: (.*)$", lambda found: f"$$\n{found[1]}\n$$", text, flags=re.MULTILINE)
    return re.sub(r":math:`([^`]*)`", r"$\1$", text).split("\n")


def recalibrator_table() -> str:
    """The table of recalibrators as markdown."""
    lines = [
        "# The table of recalibrators",
        "",
        "This table lists every recalibrator in `believable.recalibrate`, from simple to flexible. The docstring of",
        "each class has its formula, limits and options; [Which fix should I use?](which-fix.md) helps you choose. Use",
        'the alias in place of the class in `calibrate(..., method="platt")` and in `select`.',
        "",
        "`GroupedRecalibrator` is not in the table, because it also reads columns such as the site. It adds",
        "corrections by segment to a common map, which may be any of these. Its names in",
        '`calibrate(..., by=columns)` are `"pooled"` and `"boosted"`; [It is right on average; is it right for',
        "me?](segments.md#correct-it) explains both.",
        "",
        "| class | alias | what it is | reference |",
        "|---|---|---|---|",
    ]
    order = {"strict": "yes", "weak": "up to ties", "by slope": "if the slope is positive", "none": "no"}
    yes = {True: "yes", False: "no"}
    classes = sorted(RECALIBRATORS.items(), key=lambda item: (item[1].facts.simplicity, item[0]))
    for name, cls in classes:
        summary = (cls.__doc__ or "").split("\n")[0]
        lines.append(f"| `{name}` | `{cls.facts.alias}` | {summary} | {cls.facts.reference} |")
    lines += [
        "",
        "## What each of them can do",
        "",
        "- *takes*: the values that `input=` accepts.",
        "- *keeps the order*: whether scores of one event keep their order. *up to ties*: scores may become equal.",
        "- *keeps the argmax*: whether the most probable of several classes stays the same.",
        "- *identity*: whether its calibration maps include the identity, which leaves scores unchanged.",
        "- *rows*: the recalibrator warns if the rarest class has fewer rows than this.",
        "- *cells*: whether it can be fitted on `CellStats`.",
        "",
        "| alias | takes | keeps the order | keeps the argmax | identity | rows | cells |",
        "|---|---|---|---|---|---:|---|",
    ]
    for _, cls in classes:
        facts, takes = cls.facts, ", ".join(cls.inputs)
        entries = [f"`{facts.alias}`", takes, order[facts.ranking], yes[facts.argmax], yes[facts.identity]]
        lines.append(f"| {' | '.join([*entries, str(facts.fewest), yes[facts.cells]])} |")
    return "\n".join(lines) + "\n"


def pictures() -> None:
    """The two models of the demo side by side."""
    models = load_demo()
    figure = new_figure(9.6, 6.0)
    for ax, (name, predictions) in zip(figure.subplots(1, 2), models.items(), strict=True):
        believable.plot_reliability_diagram(predictions, ax=ax, title=name.replace("_", " "))
    save(figure, DOCS / "images" / "demo.png")


if __name__ == "__main__":
    import make_cheatsheet
    import make_readme
    from command_line_page import command_line_page

    (DOCS / "command-line.md").write_text(command_line_page())
    (DOCS / "metrics.md").write_text(metric_table())
    (DOCS / "recalibrators.md").write_text(recalibrator_table())
    pictures()
    make_cheatsheet.write()
    make_readme.write()
