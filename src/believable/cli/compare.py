"""`believable compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from believable.cli._common import PIPE, called, new_console, say, sentences
from believable.cli._gates import find
from believable.cli._inputs import read, read_other
from believable.cli._notes import warnings_as_notes
from believable.cli._options import shared_options
from believable.cli._show import show_section, working
from believable.errors import InputError

if TYPE_CHECKING:
    from believable.readers import Loaded


@click.command()
@click.argument("a", metavar="A", type=click.Path(path_type=Path, allow_dash=True))
@click.argument("b", metavar="[B]", required=False, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--prob", metavar="NAME", multiple=True, help="Column of scores; twice for two columns of A.")
@shared_options("prob_prefix", "logits", "percent", "label", "pos_label", "weight", "group", "drop_missing", "format")
@click.option("--metric", metavar="NAME", multiple=True, help="What to compare; may be given several times.")
@shared_options("bins", "strategy", "level", "seed")
@sentences
def compare(
    a: Path,
    b: Path | None,
    prob: tuple[str, ...],
    metric: tuple[str, ...],
    bins: int,
    strategy: str,
    level: float,
    seed: int,
    **asked: Any,
) -> None:
    """Which of two models is better, at what, and is that chance?

    A and B are files with the same rows in the same order, read as by `believable audit`. Or A alone holds the scores
    of both: believable compare FILE --prob one --prob other. Compared are ECE, smooth ECE, Brier score, log loss, AUC
    and accuracy, unless --metric names others. Rows (with --group, clusters) are drawn for both models together.
    """
    from believable._check import level as check_level
    from believable.inference._units import cluster_of_rows
    from believable.readers.same_rows import refuse_other_ids, refuse_other_rows
    from believable.report.text import Section, versus_rows
    from believable.report.versus import in_words, versus

    metrics = [find(name, f"--metric {name}").name for name in metric] or None
    check_level(level, "--level")
    (first, name_a), (second, name_b) = _both(a, b, prob, asked)
    refuse_other_rows(first, second, name_a, name_b)
    refuse_other_ids(first, second, a, b or a, name_a, name_b, asked.get("format"))
    with warnings_as_notes(), working(f"Comparing {len(first.predictions):,} rows"):
        found = versus(
            first.predictions,
            second.predictions,
            metrics,
            options={"n_bins": bins, "strategy": strategy},
            cluster=cluster_of_rows(first.groups, first.predictions, first.predictions, None),
            level=level,
            random_state=seed,
        )
    console = new_console()
    for name, loaded in ((name_a, first), (name_b, second)):
        say(console, f"{name}: {len(loaded.predictions):,} rows; took {loaded.taken}")
    console.print()
    title = f"{name_a} less {name_b} ({100 * level:.4g} % intervals; {bins} {strategy} bins where there are any)"
    show_section(console, Section(title, versus_rows(found, name_a, name_b)))
    console.print()
    show_section(console, Section(lines=[in_words(one, name_a, name_b) for one in found]))
    notes = tuple(dict.fromkeys([*first.notes, *second.notes]))
    if notes:
        console.print()
        show_section(console, Section("Notes", lines=notes, listed=True))


def _both(
    a: Path, b: Path | None, prob: tuple[str, ...], asked: dict[str, Any]
) -> tuple[tuple[Loaded, str], tuple[Loaded, str]]:
    """The predictions of both models, and what to call them."""
    if a == b == PIPE:
        raise InputError("the standard input is read once: name a file for one of the two")
    if b is None and len(prob) != 2:
        raise InputError("name two files, or one file and two columns of scores: --prob one --prob other")
    if len(prob) > 2 or (b is not None and a == b and len(prob) < 2):
        raise InputError("two models are compared: name two files, or two columns with --prob, and no more")
    if b is None:
        if a == PIPE:
            raise InputError("the standard input is read once: two columns of scores need a file")
        return (read(a, asked | {"prob": prob[0]}), prob[0]), (read_other(a, asked, prob=prob[1]), prob[1])
    columns = (prob[0], prob[-1]) if prob else (None, None)
    names = [called(one) if one == PIPE or a.name == b.name else one.name for one in (a, b)]
    return (read(a, asked | {"prob": columns[0]}), names[0]), (read_other(b, asked, prob=columns[1]), names[1])
