"""The command `believable decide`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from believable.cli._common import called, new_console, note, say, sentences, warnings_as_notes
from believable.cli._inputs import read
from believable.cli._options import shared_options
from believable.cli._outputs import check_outputs
from believable.cli._show import show_section, working
from believable.errors import InputError

if TYPE_CHECKING:
    from believable.decide.net_benefit import DecisionCurve

SHOWN_THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@click.command(short_help="Is acting on the scores worth it? The decision curve.")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--threshold",
    type=float,
    multiple=True,
    metavar="NUMBER",
    help="Act on scores of at least this; may be repeated.  [default: a table from 0.05 to 0.9]",
)
@click.option("--plot", type=click.Path(path_type=Path), help="Write the decision curve here: .png, .svg or .pdf.")
@shared_options("prob", "logits", "percent", "label", "pos_label", "neg_label", "weight", "cluster")
@shared_options("drop_missing", "format", "level", "seed")
@sentences
def decide(file: Path, threshold: tuple[float, ...], plot: Path | None, level: float, seed: int, **asked: Any) -> None:
    """Is acting on the scores in FILE worth it, and at which thresholds?

    Acting on scores of at least t means that missing one case is as bad as (1 - t) / t unnecessary actions. The net
    benefit is the number of cases found minus t / (1 - t) times the number of unnecessary actions, divided by the
    number of rows. It is compared with acting on all rows and on none: scores that do not beat both are of no use for
    this decision, however good their ranking.

    Choose thresholds by the costs of the decision, not by how the table looks. FILE has one score per row and is read
    like that of `believable audit`.
    """
    from believable._check import level as check_level
    from believable.decide.net_benefit import net_benefit
    from believable.report.text import Section

    check_level(level, "--level")
    check_outputs({"plot": plot}, [file])
    loaded = read(file, asked)
    if loaded.predictions.kind != "binary":
        raise InputError(
            f"{called(file)} has a score for each class, but a decision is about one event: name the column of one "
            "class with --prob, and write labels as 0 and 1"
        )
    how: dict[str, Any] = {"clusters": loaded.clusters, "level": level, "random_state": seed}
    with warnings_as_notes(), working(f"Deciding on {len(loaded.predictions):,} rows"):
        whole = net_benefit(loaded.predictions, **how)
        shown = net_benefit(loaded.predictions, thresholds=list(threshold or SHOWN_THRESHOLDS), **how)
        if plot is not None:
            _draw(plot, whole, loaded.title)
    console = new_console()
    say(console, f"{called(file)}: {len(loaded.predictions):,} rows; used {loaded.taken}")
    for text in loaded.notes:
        note(text)
    console.print()
    show_section(console, Section(lines=_answers(shown, whole, bool(threshold))))
    console.print()
    title = f"Net benefit per 100 rows, with {100 * level:.4g} % intervals"
    show_section(console, Section(title, rows=_table(shown)))
    console.print()
    show_section(console, Section(lines=[_legend(shown)]))
    if plot is not None:
        console.print()
        say(console, f"Picture written to {plot}")


def _answers(shown: DecisionCurve, whole: DecisionCurve, asked: bool) -> list[str]:
    """Say whether the scores are useful at each threshold asked for; by default, at which thresholds they are."""
    if asked:
        return [_at(shown, k) for k in range(len(shown.threshold))]
    if not whole.useful:
        return ["At no threshold from 0.01 to 0.99 is acting on the scores better than acting on every row or on none."]
    sure = "At no threshold is the gain clearly more than noise."
    if whole.surely_useful:
        sure = f"The gain is clearly more than noise at {_spans(whole.surely_useful)}."
    useful = _spans(whole.useful)
    return [f"Acting on the scores is better than acting on every row or on none at thresholds {useful}. {sure}"]


def _at(curve: DecisionCurve, k: int) -> str:
    gain, low, high = (float(part[k]) for part in (curve.gain, curve.gain_low, curve.gain_high))
    other = "acting on every row" if curve.treat_all[k] > 0 else "acting on no row"
    ends = f"({100 * curve.level:.4g} % interval {_per_100_rows(low)} to {_per_100_rows(high)})"
    at = f"At a threshold of {curve.threshold[k]:g}, acting on the scores"
    if gain > 0 and low > 0:
        return f"{at} gains {_per_100_rows(gain)} cases per 100 rows over {other} {ends}."
    if gain > 0:
        return f"{at} gains {_per_100_rows(gain)} cases per 100 rows over {other}, which may be noise {ends}."
    if gain < 0 and high < 0:
        return f"{at} is worse than {other}: it loses {_per_100_rows(-gain)} cases per 100 rows {ends}."
    return f"{at} is no better than {other} {ends}."


def _table(curve: DecisionCurve) -> list[list[str]]:
    rows = [["threshold", "acted on", "net benefit", "interval", "act on all", "gain", "interval"]]
    for k, t in enumerate(curve.threshold.tolist()):
        ends, gain_ends = (curve.low[k], curve.high[k]), (curve.gain_low[k], curve.gain_high[k])
        rows.append(
            [
                f"{t:g}",
                f"{100 * float(curve.treated[k]):.1f} %",
                _per_100_rows(curve.net_benefit[k]),
                " … ".join(map(_per_100_rows, ends)),
                _per_100_rows(curve.treat_all[k]),
                _per_100_rows(curve.gain[k]),
                " … ".join(map(_per_100_rows, gain_ends)),
            ]
        )
    return rows


def _per_100_rows(value: float) -> str:
    text = f"{100 * float(value):.2f}"
    return "0.00" if text == "-0.00" else text


def _legend(curve: DecisionCurve) -> str:
    return (
        f"Acted on: rows with a score of at least the threshold. Acting on none has a net benefit of 0. Gain: over the "
        f"better of acting on all rows and on none. The event occurred in {100 * curve.prevalence:.3g} % of the rows, "
        "which is the most that can be gained over acting on none."
    )


def _spans(stretches: tuple[tuple[float, float], ...]) -> str:
    words = [f"{a:g}" if a == b else f"{a:g} to {b:g}" for a, b in stretches]
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def _draw(path: Path, curve: DecisionCurve, title: str) -> None:
    from believable.plots import plot_net_benefit
    from believable.readers import write_beside

    with write_beside(path) as beside:
        plot_net_benefit(curve, save_path=beside, title=title)
