"""The command line: arguments in, printing out. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from believable._version import __version__
from believable.errors import BelievableError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from believable.metrics.evaluate import Evaluation
    from believable.predictions import Predictions

ERRORS = ("ece", "mce", "rmsce", "ace", "sweepece", "dce")
MATRIX_ERRORS = (*ERRORS, "sce", "tace", "tlce", "toprce", "cwce")
SCORES = ("brier", "bss", "nll", "auc", "acc", "conf", "sharpness")
BAD_INPUT = 2


def _sentences(command: Callable[..., None]) -> Callable[..., None]:
    """Say what went wrong in a sentence, without a traceback, and exit with 2."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except (BelievableError, OSError) as error:
            click.echo(f"Error: {error}", err=True)
            raise SystemExit(BAD_INPUT) from None

    return run


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="believable")
def main() -> None:
    """Are my numeric scores believable probabilities?"""


@main.command()
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), default="believable-demo.png")
@click.option("--bins", type=click.IntRange(1), default=10, show_default=True)
@_sentences
def demo(output: Path, bins: int) -> None:
    """A verdict on two real models, and a picture. Needs no arguments and no network."""
    from believable.plots import plot_reliability_diagram
    from believable.plots._style import new_figure, save
    from believable.readers import load_demo

    console = _console()
    console.print(
        "Is a handwritten digit odd? Two models, held-out predictions for 1,797 digits.\n",
        highlight=False,
        soft_wrap=True,
    )
    models = load_demo()
    figure = new_figure(9.6, 6.0)
    for ax, (name, predictions) in zip(figure.subplots(1, len(models)), models.items(), strict=True):
        title = name.replace("_", " ")
        _print_verdict(console, title, predictions, bins)
        plot_reliability_diagram(predictions, n_bins=bins, ax=ax, title=title)
    console.print(_comparison({name.replace("_", " "): _evaluate(model, bins) for name, model in models.items()}, bins))
    save(figure, output)
    console.print(f"\nPicture written to {output}", highlight=False, soft_wrap=True)


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--prob", help="Column of P(y = 1).")
@click.option("--prob-prefix", help="Beginning of the names of one column per class.")
@click.option("--logits", is_flag=True, help="The scores are logits.")
@click.option("--label", help="Column of outcomes.")
@click.option("--pos-label", help="The label that counts as 1.")
@click.option("--weight", help="Column of sample weights (never guessed).")
@click.option("--bins", type=click.IntRange(1), default=10, show_default=True)
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Write the reliability diagram here.")
@_sentences
def audit(
    file: Path,
    prob: str | None,
    prob_prefix: str | None,
    logits: bool,
    label: str | None,
    pos_label: str | None,
    weight: str | None,
    bins: int,
    plot: Path | None,
) -> None:
    """Judge the predictions in FILE (csv, tsv, parquet): verdict, metrics, reliability table."""
    from believable.plots import plot_reliability_diagram
    from believable.readers import read_table
    from believable.readers.files import columns_of, predictions_from

    console = _console()
    frame = read_table(file)
    columns = columns_of(file, frame, prob=prob, prob_prefix=prob_prefix, label=label, weight=weight)
    predictions = predictions_from(file, frame, columns, from_logits=logits, pos_label=pos_label)
    console.print(f"{file}: {len(predictions):,} rows; took {columns}\n", highlight=False, soft_wrap=True)
    _print_verdict(console, None, predictions, bins)
    result = _evaluate(predictions, bins)
    console.print(_comparison({"value": result}, bins))
    for name, reason in result.skipped.items():
        console.print(f"{name}: left out, {reason}", highlight=False, soft_wrap=True)
    console.print(_reliability(predictions, bins))
    if plot is not None:
        plot_reliability_diagram(predictions, n_bins=bins, save_path=plot)
        console.print(f"Picture written to {plot}", highlight=False, soft_wrap=True)


@main.command()
@_sentences
def metrics() -> None:
    """The table of metrics: names, ranges, what they need, where they come from."""
    from rich.table import Table

    from believable.metrics import METRICS

    table = Table("alias", "name", "range", "best", "needs", "what it is", "reference", box=None, pad_edge=False)
    for row in METRICS.values():
        best = "–" if row.best is None else f"{row.best:g}"
        table.add_row(row.alias, row.name, f"{row.low:g} … {row.high:g}", best, row.needs, row.summary, row.reference)
    _console().print(table)


def _console() -> Console:
    from rich.console import Console

    return Console()


def _evaluate(predictions: Predictions, bins: int) -> Evaluation:
    from believable.metrics import evaluate

    errors = ERRORS if predictions.kind == "binary" else MATRIX_ERRORS
    return evaluate(predictions, metrics=errors + SCORES, n_bins=bins)


def _print_verdict(console: Console, title: str | None, predictions: Predictions, bins: int) -> None:
    from rich.text import Text

    from believable.report import verdict

    judged = verdict(predictions, n_bins=bins)
    first, *others = judged.lines()
    colour = {"excellent": "green", "good": "green", "moderate": "yellow", "poor": "red"}[judged.grade]
    if title is not None:
        console.print(Text(title, style="bold"))
    console.print(Text(first, style=f"bold {colour}"), soft_wrap=True)
    for line in others:
        console.print(Text(line), soft_wrap=True)
    console.print()


def _comparison(results: dict[str, Evaluation], bins: int) -> Table:
    """Metrics down, models across."""
    from rich.table import Table

    from believable.metrics import METRICS

    table = Table(title=f"Metrics ({bins} bins)", title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("metric", no_wrap=True)
    for name in results:
        table.add_column(name, justify="right")
    table.add_column("best", justify="right")
    for name in dict.fromkeys(name for result in results.values() for name in result):
        best = METRICS[name].best
        values = [f"{result[name]:.4f}" if name in result else "–" for result in results.values()]
        table.add_row(name.replace("_", " "), *values, "" if best is None else f"{best:g}")
    return table


def _reliability(predictions: Predictions, bins: int) -> Table:
    """The reliability table, for reading."""
    from rich.table import Table

    from believable.curves import reliability_table

    rows = reliability_table(predictions, n_bins=bins)
    table = Table(title=f"\nReliability ({len(rows)} uniform bins)", title_justify="left", box=None, pad_edge=False)
    for heading in ("scores", "rows", "predicted", "happened", "gap", "95 % interval"):
        table.add_column(heading, justify="right")
    for i in range(len(rows)):
        low, high = rows.edges[i]
        span = f"{'[' if i == 0 else '('}{low:.3g}, {high:.3g}]"
        if not rows.n[i]:
            table.add_row(span, "0", "", "", "", "")
            continue
        interval = f"{rows.low[i]:.3f} … {rows.high[i]:.3f}"
        outside = not rows.low[i] <= rows.conf[i] <= rows.high[i]
        table.add_row(
            span,
            f"{rows.n[i]:,}",
            f"{rows.conf[i]:.3f}",
            f"{rows.acc[i]:.3f}",
            f"{rows.gap[i]:+.3f}{' *' if outside else '  '}",
            interval,
        )
    table.caption = "* the mean score lies outside the interval of what happened"
    table.caption_justify = "left"
    return table
