"""Regenerate what the documentation shows: the tables of metrics and recalibrators, and pictures. For `make docs`."""

from __future__ import annotations

from pathlib import Path

import believable
from believable.plots._style import new_figure, save
from believable.readers import load_demo
from believable.recalibrate import RECALIBRATORS

DOCS = Path(__file__).resolve().parent.parent / "docs"


def metric_table() -> str:
    """The table of metrics as markdown."""
    lines = [
        "# The table of metrics",
        "",
        "Generated from the facts that each metric carries (`make docs`); `believable metrics` prints the same.",
        "The docstring of each function has its formula; [what they share](definitions.md) is told apart. An alias",
        'stands for a name in `evaluate(..., metrics=["ece"])` and `scorer("ece")`.',
        "",
        "What a metric *needs* says where it can be computed: from sums (`ScoreSums`), bins (`BinStats`, `CellStats`)",
        "or cells (`CellStats`), all of which merge; the predictions themselves give everything.",
        "",
        "| name | alias | what it is | range | best | needs | bins | of a matrix | reference |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in believable.METRICS.values():
        best = "–" if row.best is None else f"{row.best:g}"
        span = f"{row.low:g} … {row.high:g}"
        facts = [f"`{row.name}`", f"`{row.alias}`", row.summary, span, best, row.needs, row.bins, row.of, row.reference]
        lines.append(f"| {' | '.join(facts)} |")
    return "\n".join(lines) + "\n"


def recalibrator_table() -> str:
    """The table of recalibrators as markdown."""
    lines = [
        "# The table of recalibrators",
        "",
        "Generated from the facts that each class of `believable.recalibrate` carries as `.facts` (`make docs`). The",
        "docstring of each class has its formula, its limits and its choices; [how to choose](recalibration.md) is",
        'told apart. The alias stands for the class in `calibrate(..., method="platt")` and in `select`.',
        "",
        "*keeps the order*: of the scores of one event, strictly, up to ties, if the fitted slope is positive, or not.",
        "*keeps the argmax*: the most probable of several classes stays so. *can do nothing*: among its maps is the",
        "identity. *rows*: of the rarest class, below which it warns. *cells*: it can be learnt from `CellStats`.",
        "",
        "| class | alias | what it is | takes | keeps the order | keeps the argmax | can do nothing | rows | cells "
        "| reference |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    order = {"strict": "yes", "weak": "up to ties", "by slope": "if the slope is positive", "none": "no"}
    for name, cls in sorted(RECALIBRATORS.items(), key=lambda item: (item[1].facts.simplicity, item[0])):
        facts, yes = cls.facts, {True: "yes", False: "no"}
        summary = (cls.__doc__ or "").split("\n")[0]
        takes = ", ".join(cls.inputs)
        entries = [f"`{name}`", f"`{facts.alias}`", summary, takes, order[facts.ranking], yes[facts.argmax]]
        entries += [yes[facts.identity], str(facts.fewest), yes[facts.cells], facts.reference]
        lines.append(f"| {' | '.join(entries)} |")
    return "\n".join(lines) + "\n"


def pictures() -> None:
    """The two models of the demo side by side."""
    models = load_demo()
    figure = new_figure(9.6, 6.0)
    for ax, (name, predictions) in zip(figure.subplots(1, 2), models.items(), strict=True):
        believable.plot_reliability_diagram(predictions, ax=ax, title=name.replace("_", " "))
    save(figure, DOCS / "images" / "demo.png")
    result = believable.calibrate(models["naive_bayes"])
    believable.plot_improvement(result, save_path=DOCS / "images" / "improvement.png")


if __name__ == "__main__":
    import make_cheatsheet
    import make_readme

    (DOCS / "metrics.md").write_text(metric_table())
    (DOCS / "recalibrators.md").write_text(recalibrator_table())
    pictures()
    make_cheatsheet.write()
    make_readme.write()
