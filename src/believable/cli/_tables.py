"""Tables and verdicts, printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from believable.metrics.evaluate import Evaluation
    from believable.predictions import Predictions

ERRORS = ("ece", "mce", "rmsce", "ace", "sweepece", "dce")
MATRIX_ERRORS = (*ERRORS, "sce", "tace", "tlce", "toprce", "cwce")
SCORES = ("brier", "bss", "nll", "auc", "acc", "conf", "sharpness")


def evaluate_models(predictions: Predictions, bins: int) -> Evaluation:
    from believable.metrics import evaluate

    errors = ERRORS if predictions.kind == "binary" else MATRIX_ERRORS
    return evaluate(predictions, metrics=errors + SCORES, n_bins=bins)


def print_verdict(
    console: Console, title: str | None, predictions: Predictions, bins: int, strategy: Any = "uniform"
) -> None:
    from rich.text import Text

    from believable.report import verdict

    judged = verdict(predictions, n_bins=bins, strategy=strategy)
    first, *others = judged.lines()
    colour = {"excellent": "green", "good": "green", "moderate": "yellow", "poor": "red"}[judged.grade]
    colour = colour if judged.beyond_chance else "green"
    if title is not None:
        console.print(Text(title, style="bold"))
    console.print(Text(first, style=f"bold {colour}"), soft_wrap=True)
    for line in others:
        console.print(Text(line), soft_wrap=True)
    console.print()


def comparison_table(results: dict[str, Evaluation], bins: int, kind: str = "binary") -> Table:
    """Metrics down, models across, with the bins and (for a matrix) the probabilities each is about."""
    from rich.table import Table

    from believable.metrics import METRICS

    table = Table(title="Metrics", title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("metric", no_wrap=True)
    for name in results:
        table.add_column(name, justify="right")
    for heading in ("best", "bins", *(["of"] if kind != "binary" else [])):
        table.add_column(heading)
    for name in dict.fromkeys(name for result in results.values() for name in result):
        row = METRICS[name]
        values = [f"{result[name]:.4f}" if name in result else "–" for result in results.values()]
        chosen = {"own": "its own", "": ""}.get(row.bins, f"{bins} {row.bins}")
        of = [row.of.replace("_", " ")] if kind != "binary" else []
        table.add_row(name.replace("_", " "), *values, "" if row.best is None else f"{row.best:g}", chosen, *of)
    return table
