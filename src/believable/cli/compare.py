"""The command `believable compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from believable.cli._common import STANDARD_STREAM, called, new_console, say, sentences, warnings_as_notes
from believable.cli._inputs import read, read_other
from believable.cli._options import Measuring, shared_options
from believable.cli._show import show_section, working
from believable.errors import InputError

if TYPE_CHECKING:
    from believable.readers import Loaded


@click.command()
@click.argument("a", metavar="A", type=click.Path(path_type=Path, allow_dash=True))
@click.argument("b", metavar="[B]", required=False, type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--prob", metavar="NAME", multiple=True, help="Column of scores; give it twice to compare two columns of A."
)
@click.option(
    "--prob-prefix",
    metavar="TEXT",
    multiple=True,
    help="Prefix of the score columns, one per class; give it twice to compare two sets of columns of A.",
)
@shared_options("logits", "percent", "label", "pos_label", "neg_label", "pairs", "weight", "cluster")
@shared_options("drop_missing", "format")
@click.option("--metric", metavar="NAME", multiple=True, help="A metric to compare; may be repeated.")
@shared_options("bins", "strategy", "level", "seed")
@sentences
def compare(
    a: Path,
    b: Path | None,
    prob: tuple[str, ...],
    prob_prefix: tuple[str, ...],
    metric: tuple[str, ...],
    **asked: Any,
) -> None:
    """Which of two models is better, and is it more than noise?

    A and B are files with the same rows in the same order, read like the FILE of `believable audit`. If A has the
    scores of both models, name the two columns: believable compare FILE --prob one --prob other (--prob-prefix for
    classes). By default, the models are compared on ECE, smooth ECE, Brier score, log loss, AUC and accuracy. The
    comparison is paired: rows (with --cluster, whole clusters) are resampled for both models together.
    """
    from believable.auditing.versus import versus
    from believable.inference.clusters import cluster_of_rows
    from believable.readers.same_rows import refuse_other_ids, refuse_other_rows
    from believable.report.metric_names import find
    from believable.report.text import Section, versus_rows
    from believable.stats.source import number_of_bins

    metrics = [find(name, f"--metric {name}").name for name in metric] or None
    how = Measuring.taken_from(asked)
    (first, name_a), (second, name_b) = _both(a, b, _columns(prob, prob_prefix), asked)
    refuse_other_rows(first, second, name_a, name_b)
    refuse_other_ids(first, second, a, b or a, name_a, name_b, asked.get("format"))
    with warnings_as_notes(), working(f"Comparing {len(first.predictions):,} rows"):
        found = versus(
            first.predictions,
            second.predictions,
            metrics,
            options={"n_bins": how.bins, "strategy": how.strategy},
            cluster=cluster_of_rows(first.clusters, first.predictions, first.predictions, None),
            level=how.level,
            random_state=how.seed,
        )
    console = new_console()
    for name, loaded in ((name_a, first), (name_b, second)):
        say(console, f"{name}: {len(loaded.predictions):,} rows; used {loaded.taken}")
    console.print()
    bins = f"{number_of_bins(first.predictions, how.bins)} {how.strategy} bins for binned metrics"
    title = f"{name_a} minus {name_b} ({100 * how.level:.4g} % intervals; {bins})"
    show_section(console, Section(title, versus_rows(found, name_a, name_b)))
    console.print()
    show_section(console, Section(lines=[one.in_words(name_a, name_b) for one in found]))
    notes = tuple(dict.fromkeys([*first.notes, *second.notes]))
    if notes:
        console.print()
        show_section(console, Section("Notes", lines=notes, listed=True))


def _columns(prob: tuple[str, ...], prob_prefix: tuple[str, ...]) -> list[tuple[str, dict[str, str]]]:
    """Return the scores that were named: their names, and the options that choose them."""
    if prob and prob_prefix:
        raise InputError("name the scores with --prob, or with --prob-prefix for classes, but not with both")
    chosen = [(name, {"prob": name}) for name in prob] + [(f"{one}*", {"prob_prefix": one}) for one in prob_prefix]
    if len(chosen) > 2:
        option = "--prob" if prob else "--prob-prefix"
        raise InputError(f"only two models can be compared: name two files, or two columns with {option}")
    return chosen


def _both(
    a: Path, b: Path | None, chosen: list[tuple[str, dict[str, str]]], asked: dict[str, Any]
) -> tuple[tuple[Loaded, str], tuple[Loaded, str]]:
    """Return the predictions of both models, and their names."""
    if a == b == STANDARD_STREAM:
        raise InputError("the standard input can be read only once: name a file for one of the models")
    asked = asked | {"prob": None, "prob_prefix": None}
    same = b is None or a == b or (a.exists() and b.exists() and a.samefile(b))
    if same and len(chosen) < 2:
        given = "name two files, or one file" if b is None else f"{a} is named twice: name another file, or choose"
        raise InputError(
            f"{given}{' and' if b is None else ''} two columns of scores: --prob one --prob other (for classes, "
            "--prob-prefix one_ --prob-prefix other_)"
        )
    if same:
        if a == STANDARD_STREAM:
            raise InputError("the standard input can be read only once: to compare two columns, name a file")
        (name_a, one), (name_b, other) = chosen
        if one == other:
            raise InputError(f"{name_a} is compared with itself: name two different columns of {a}")
        scores = ("prob", "prob_prefix")  # both are used already, so no note should suggest them
        first, second = read(a, asked | one, unasked=scores), read_other(a, asked, unasked=scores, **other)
        return (first, name_a), (second, name_b)
    assert b is not None
    (_, one), (_, other) = (chosen[0], chosen[-1]) if chosen else (("", {}), ("", {}))
    names = [called(file) if file == STANDARD_STREAM or a.name == b.name else file.name for file in (a, b)]
    return (read(a, asked | one), names[0]), (read_other(b, asked, **other), names[1])
