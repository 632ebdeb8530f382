"""`believable audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from believable.cli._common import MOST_BINS, new_console, say, sentences
from believable.cli._tables import comparison_table, evaluate_models, print_verdict


@click.command()
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
@sentences
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

    console = new_console()
    frame = read_table(file)
    columns = columns_of(file, frame, prob=prob, prob_prefix=prob_prefix, label=label, weight=weight, logits=logits)
    predictions = predictions_from(file, frame, columns, from_logits=logits, pos_label=pos_label)
    say(console, f"{file}: {len(predictions):,} rows; took {columns}{' (scores are logits)' if logits else ''}")
    if predictions.kind == "binary":
        say(console, f"Positive: {100 * float(predictions.labels.mean()):.4g} % of the rows")
    console.print()
    print_verdict(console, None, predictions, bins, strategy)
    result = evaluate_models(predictions, bins)
    console.print(comparison_table({"value": result}, bins, predictions.kind))
    for name, reason in result.skipped.items():
        say(console, f"{name}: left out, {reason}")
    say(console, f"\nReliability ({bins} {strategy} bins)")
    say(console, str(reliability_table(predictions, n_bins=bins, strategy=strategy)))
    if plot is not None:
        plot_reliability_diagram(predictions, n_bins=bins, strategy=strategy, save_path=plot, title=file.name)
        say(console, f"Picture written to {plot}")
