"""The command `believable demo`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from believable import _optional
from believable.cli._common import new_console, say, sentences
from believable.cli._options import shared_options
from believable.cli._show import show_section, show_verdict, working
from believable.errors import InputError

if TYPE_CHECKING:
    from believable._types import Bins
    from believable.predictions import Predictions

HEADING_OF_DEMO = "Is a handwritten digit odd? Two models, held-out predictions for 1,797 digits."


@click.command()
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    default="believable-demo.png",
    show_default=True,
    help="Write the picture here: .png, .svg or .pdf. The report is written next to it, as .html.",
)
@shared_options("bins")
@sentences
def demo(output: Path, bins: Bins) -> None:
    """Judge two real models, with a picture and a report. Needs no arguments and no network."""
    from rich.text import Text

    from believable.auditing import audit, verdict
    from believable.cli._outputs import check_outputs
    from believable.readers import load_demo
    from believable.report.text import sections

    page = output.with_suffix(".html")
    if page == output:
        raise InputError(f"--output {output}: the name of the picture must end in .png, .svg or .pdf")
    draws = _optional.is_installed("matplotlib")
    outputs = {"plot": output} if draws else {}
    check_outputs(outputs | {"html": page}, [], {"plot": "--output", "html": "the report next to it,"})
    console = new_console()
    say(console, f"{HEADING_OF_DEMO}\n")
    models = {name.replace("_", " "): predictions for name, predictions in load_demo().items()}
    (bayes, first), (logistic, second) = models.items()
    with working("Auditing both"):
        found = audit(first, None, bins, compare_with=second, title=bayes, other=logistic, progress=False)
        other = verdict(second, None, bins)
        if draws:
            _draw(output, models, bins)
        found.to_html(page)
    for name, judged in ((bayes, found.verdict), (logistic, other)):
        console.print(Text(name, style="bold"))
        show_verdict(console, judged)
        console.print()
    for section in sections(found):
        if section.title.startswith(("What to do", "Compared")):
            title = f"What to do about {bayes}" if section.title == "What to do" else section.title
            show_section(console, replace(section, title=title))
            console.print()
    say(
        console,
        f"Picture written to {output}" if draws else f"No picture: {_optional.missing('plots need', 'matplotlib')}",
    )
    say(console, f"Report on {bayes}, compared with {logistic}, written to {page}")


def _draw(path: Path, models: dict[str, Predictions], bins: Bins) -> None:
    from believable.plots import plot_reliability_diagram
    from believable.plots.style import new_figure, save
    from believable.readers import write_beside

    figure = new_figure(9.6, 6.0)
    for ax, (name, predictions) in zip(figure.subplots(1, len(models)), models.items(), strict=True):
        plot_reliability_diagram(predictions, n_bins=bins, ax=ax, title=name)
    with write_beside(path) as beside:
        save(figure, beside)
