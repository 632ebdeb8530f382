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
MOST_BINS = 1000
BAD_INPUT = 2


def _sentences(command: Callable[..., None]) -> Callable[..., None]:
    """Say what went wrong in a sentence, without a traceback, and exit with 2."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except (BelievableError, OSError) as error:
            click.echo(f"Error: {_in_options(str(error))}", err=True)
            raise SystemExit(BAD_INPUT) from None

    return run


# What the library says of its arguments, in the words of the command line.
_OPTIONS = (
    ("pass Predictions(..., from_logits=True)", "use --logits"),
    ("pass Predictions(..., pos_label=...)", "name the positive one with --pos-label"),
    ("say which is positive with pos_label", "say which is positive with --pos-label"),
    ("with prob or prob_prefix", "with --prob or --prob-prefix"),
    ("(prob) or the prefix of several (prob_prefix)", "(--prob) or the prefix of several (--prob-prefix)"),
    (" with label", " with --label"),
    (" with prob", " with --prob"),
    ("pos_label=", "--pos-label "),
    ("pass Predictions(", "from Python, pass Predictions("),
)


def _in_options(sentence: str) -> str:
    for argument, option in _OPTIONS:
        sentence = sentence.replace(argument, option)
    return sentence


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="believable")
def main() -> None:
    """Are my numeric scores believable probabilities?"""


@main.command()
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    default="believable-demo.png",
    show_default=True,
    help="Where to write the picture: .png, .svg or .pdf.",
)
@click.option("--bins", type=click.IntRange(1, MOST_BINS), default=10, show_default=True, help="Number of bins.")
@_sentences
def demo(output: Path, bins: int) -> None:
    """A verdict on two real models, and a picture. Needs no arguments and no network."""
    from believable.plots import plot_reliability_diagram
    from believable.plots._style import new_figure, save
    from believable.readers import load_demo

    console = _console()
    _say(console, "Is a handwritten digit odd? Two models, held-out predictions for 1,797 digits.\n")
    models = load_demo()
    figure = new_figure(9.6, 6.0)
    for ax, (name, predictions) in zip(figure.subplots(1, len(models)), models.items(), strict=True):
        title = name.replace("_", " ")
        _print_verdict(console, title, predictions, bins)
        plot_reliability_diagram(predictions, n_bins=bins, ax=ax, title=title)
    console.print(_comparison({name.replace("_", " "): _evaluate(model, bins) for name, model in models.items()}, bins))
    save(figure, output)
    _say(console, f"\nPicture written to {output}")


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--prob", help="Column of P(y = 1).")
@click.option("--prob-prefix", help="Beginning of the names of one column per class.")
@click.option("--logits", is_flag=True, help="The scores are logits.")
@click.option("--label", help="Column of outcomes.")
@click.option("--pos-label", help="The label that counts as 1.")
@click.option("--weight", help="Column of sample weights (never guessed).")
@click.option("--bins", type=click.IntRange(1, MOST_BINS), default=10, show_default=True, help="Number of bins.")
@click.option(
    "--strategy",
    type=click.Choice(["uniform", "quantile"]),
    default="uniform",
    show_default=True,
    help="Bins of equal width, or of equal weight, for the verdict, the table and the picture.",
)
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
    strategy: Any,
    plot: Path | None,
) -> None:
    """Judge the predictions in FILE.

    FILE ends in .csv, .tsv or .parquet and has one row per prediction. Columns are found by name: scores called p,
    prob, probability, score, y_prob, y_score, y_pred, pred, prediction or confidence, or one column per class called
    p_CLASS, prob_CLASS or proba_CLASS; labels called y, label, target, actual, outcome, y_true, truth or correct.
    Prints which it took, the verdict, the metrics and the reliability table.
    """
    from believable.curves import reliability_table
    from believable.plots import plot_reliability_diagram
    from believable.readers import read_table
    from believable.readers.files import columns_of, predictions_from

    console = _console()
    frame = read_table(file)
    columns = columns_of(file, frame, prob=prob, prob_prefix=prob_prefix, label=label, weight=weight, logits=logits)
    predictions = predictions_from(file, frame, columns, from_logits=logits, pos_label=pos_label)
    _say(console, f"{file}: {len(predictions):,} rows; took {columns}{' (scores are logits)' if logits else ''}")
    if predictions.kind == "binary":
        _say(console, f"Positive: {100 * float(predictions.labels.mean()):.4g} % of the rows")
    console.print()
    _print_verdict(console, None, predictions, bins, strategy)
    result = _evaluate(predictions, bins)
    console.print(_comparison({"value": result}, bins, predictions.kind))
    for name, reason in result.skipped.items():
        _say(console, f"{name}: left out, {reason}")
    _say(console, f"\nReliability ({bins} {strategy} bins)")
    _say(console, str(reliability_table(predictions, n_bins=bins, strategy=strategy)))
    if plot is not None:
        plot_reliability_diagram(predictions, n_bins=bins, strategy=strategy, save_path=plot, title=file.name)
        _say(console, f"Picture written to {plot}")


@main.command()
@_sentences
def metrics() -> None:
    """The table of metrics, with ranges and references."""
    from rich.table import Table
    from rich.text import Text

    from believable.metrics import METRICS

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("alias", no_wrap=True)
    table.add_column("name", no_wrap=True)
    table.add_column("what it is")
    for row in METRICS.values():
        best = "" if row.best is None else f", best {row.best:g}"
        facts = f"{row.summary} [{row.low:g}, {row.high:g}]{best}; {row.reference}"
        table.add_row(row.alias, row.name, Text(facts))
    _console().print(table)


def _console() -> Console:
    from rich.console import Console

    return Console()


def _say(console: Console, text: str) -> None:
    """Plain text: names are not markup, and a terminal wraps lines by itself."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def _evaluate(predictions: Predictions, bins: int) -> Evaluation:
    from believable.metrics import evaluate

    errors = ERRORS if predictions.kind == "binary" else MATRIX_ERRORS
    return evaluate(predictions, metrics=errors + SCORES, n_bins=bins)


def _print_verdict(
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


def _comparison(results: dict[str, Evaluation], bins: int, kind: str = "binary") -> Table:
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
