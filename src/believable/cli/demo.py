"""`believable demo`."""

from __future__ import annotations

from pathlib import Path

import click

from believable.cli._common import MOST_BINS, new_console, say, sentences
from believable.cli._tables import comparison_table, evaluate_models, print_verdict


@click.command()
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    default="believable-demo.png",
    show_default=True,
    help="Where to write the picture: .png, .svg or .pdf.",
)
@click.option("--bins", type=click.IntRange(1, MOST_BINS), default=10, show_default=True, help="Number of bins.")
@sentences
def demo(output: Path, bins: int) -> None:
    """A verdict on two real models, and a picture. Needs no arguments and no network."""
    from believable.plots import plot_reliability_diagram
    from believable.plots._style import new_figure, save
    from believable.readers import load_demo

    console = new_console()
    say(console, "Is a handwritten digit odd? Two models, held-out predictions for 1,797 digits.\n")
    models = load_demo()
    figure = new_figure(9.6, 6.0)
    for ax, (name, predictions) in zip(figure.subplots(1, len(models)), models.items(), strict=True):
        title = name.replace("_", " ")
        print_verdict(console, title, predictions, bins)
        plot_reliability_diagram(predictions, n_bins=bins, ax=ax, title=title)
    console.print(
        comparison_table({name.replace("_", " "): evaluate_models(model, bins) for name, model in models.items()}, bins)
    )
    save(figure, output)
    say(console, f"\nPicture written to {output}")
