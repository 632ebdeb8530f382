"""The command `believable rows`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from believable.cli._common import called, new_console, sentences
from believable.cli._options import shared_options
from believable.cli._show import show_section
from believable.errors import InputError

if TYPE_CHECKING:
    from believable._types import Array
    from believable.inference.rows_needed import ExpectedPrecision

WISHES = ("width", "floor", "slope_width", "oe_width")
USUAL_RATE, USUAL_AUC = 0.5, 0.8


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--width", type=float, metavar="NUMBER", help="Largest width of the 95 % interval of the ECE.")
@click.option(
    "--floor",
    type=float,
    metavar="NUMBER",
    help="Largest noise floor: the ECE that a perfectly calibrated model would show in so many rows.",
)
@click.option(
    "--slope-width", type=float, metavar="NUMBER", help="Largest width of the 95 % interval of the calibration slope."
)
@click.option(
    "--oe-width",
    type=float,
    metavar="NUMBER",
    help="Largest width of the 95 % interval of the ratio of observed to expected events (O:E).",
)
@click.option(
    "--rows", "n", type=click.IntRange(1, 10**12), metavar="N", help="Instead, say how precise this many rows would be."
)
@click.option("--rate", type=float, metavar="NUMBER", help=f"Expected rate of the event.  [default: {USUAL_RATE}]")
@click.option("--auc", type=float, metavar="NUMBER", help=f"Expected AUC of the model.  [default: {USUAL_AUC}]")
@shared_options("bins", "strategy", "prob", "percent", "format")
@sentences
def rows(file: Path | None, n: int | None, rate: float | None, auc: float | None, **asked: Any) -> None:
    """Plan a sample: how many rows are needed for a given precision?

    Name the precision with --width, --floor, --slope-width or --oe-width; with several, all of them are met. Or name a
    number of rows with --rows to see how precise the results would be.

    The precision depends on the distribution of the scores. FILE is a table of scores like those you expect, without
    labels; its column is found by name, as by `believable audit`. Without FILE, scores are assumed to have the given
    rate and AUC.
    """
    from believable.inference.rows_needed import expected_precision, rows_needed
    from believable.report.text import Section

    wishes = {name: asked[name] for name in WISHES if asked[name] is not None}
    if n is None and not wishes:
        raise InputError("name a precision, such as --width 0.02, or a number of rows, such as --rows 1000")
    if n is not None and wishes:
        raise InputError(f"--rows asks the opposite of --{next(iter(wishes)).replace('_', '-')}: leave one of them out")
    if file is not None and (rate is not None or auc is not None):
        raise InputError("the scores in FILE are used in place of --rate and --auc: leave these out, or leave FILE out")
    if file is None and (asked["prob"] or asked["percent"] or asked["format"]):
        raise InputError("--prob, --percent and --format are for a FILE of scores: name one")
    spread: dict[str, Any] = {"base_rate": rate, "auc": auc}
    if file is not None:
        spread = {"scores": _scores(file, asked["prob"], asked["percent"], asked["format"])}
    bins = {"n_bins": asked["bins"], "strategy": asked["strategy"]}
    plan = rows_needed(**wishes, **bins, **spread) if n is None else expected_precision(n, **bins, **spread)
    console = new_console()
    show_section(console, Section(lines=[_answer(plan, wishes)]))
    console.print()
    show_section(console, Section(f"What {plan.n:,} rows would show", lines=_shown(plan), listed=True))
    console.print()
    show_section(console, Section("Assumptions", lines=_assumptions(plan, file, spread), listed=True))


def _scores(file: Path, prob: str | None, percent: bool, format: str | None) -> Array:
    """Return the column of scores of a table, without missing ones."""
    from believable import _check
    from believable.readers import cells
    from believable.readers.columns import PROB_NAMES, as_spelt, guess
    from believable.readers.files import said_of
    from believable.readers.formats import open_table

    table = open_table(file, format)
    with said_of(table):
        name = guess(table.names, PROB_NAMES, "scores", "prob") if prob is None else as_spelt(prob, table.names)
        column = cells.scores(table.read([name])[name], percent)
        found = cells.array(column)[~cells.missing(column)]
        if found.ndim != 1:
            raise InputError("column {column!r} holds lists, but one score per row is needed", column=name)
        _check.probabilities(found, f"scores in column {name!r}", None)
    return found


def _answer(plan: ExpectedPrecision, wishes: dict[str, float]) -> str:
    if not wishes:
        return (
            f"With {plan.n:,} rows, the 95 % interval of the ECE would be at most {plan.width:.2g} wide in 4 of 5 "
            f"samples, and a perfectly calibrated model would show an ECE of about {plan.floor:.2g}."
        )
    words = {
        "width": "a 95 % interval of the ECE that is at most {:g} wide",
        "floor": "a noise floor of the ECE of at most {:g}",
        "slope_width": "a 95 % interval of the calibration slope that is at most {:g} wide",
        "oe_width": "a 95 % interval of O:E that is at most {:g} wide",
    }
    *most, last = (words[name].format(value) for name, value in wishes.items())
    sure = "" if set(wishes) == {"floor"} else ", in 4 of 5 samples"
    return f"Collect {plan.n:,} rows: they give {', '.join(most)}{' and ' if most else ''}{last}{sure}."


def _shown(plan: ExpectedPrecision) -> list[str]:
    return [
        f"A perfectly calibrated model would show an ECE of about {plan.floor:.2g}, the noise floor, and at most "
        f"{plan.floor_q95:.2g} in 19 of 20 samples.",
        f"The 95 % interval of the ECE of a miscalibrated model would be at most {plan.width:.2g} wide in 4 of 5 "
        "samples.",
        f"The 95 % interval of the calibration slope would be at most {plan.slope_width:.2g} wide, that of the ratio "
        f"of observed to expected events (O:E) at most {plan.oe_width:.2g}, each in 4 of 5 samples.",
    ]


def _assumptions(plan: ExpectedPrecision, file: Path | None, spread: dict[str, Any]) -> list[str]:
    from believable.inference.rows_needed import MIN_EVENTS

    if file is not None:
        spreads = [
            f"The scores are distributed like the {len(spread['scores']):,} in {called(file)}, and are calibrated. "
            "Scores that are too extreme make the plan too optimistic."
        ]
    else:
        rate = USUAL_RATE if spread["base_rate"] is None else spread["base_rate"]
        auc = USUAL_AUC if spread["auc"] is None else spread["auc"]
        spreads = [
            f"The event occurs in {100 * rate:g} % of the rows (--rate): about {plan.events:,.0f} rows of the rarer "
            "outcome.",
            f"The model has an AUC of {auc:g} (--auc) and is calibrated; its scores have a Beta distribution.",
        ]
    rough = f"With only {plan.events:.2g} rows of the rarer outcome, these numbers are rough."
    return [
        *spreads,
        f"The ECE is measured in {plan.n_bins} {plan.strategy} bins (--bins, --strategy).",
        "The rows are independent. Rows that come in clusters, or with weights, tell less: plan for more of them.",
        *([rough] if plan.events < MIN_EVENTS else []),
    ]
