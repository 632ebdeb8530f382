"""Options that several commands share, and help in sections for commands with many options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from believable.cli._common import note
from believable.errors import InputError

if TYPE_CHECKING:
    from believable._types import Bins


class Sectioned(click.Command):
    """A command whose help lists options in sections.

    Attributes
    ----------
    sections : dict of str to sequence of str
        The headings, each with the names of its options; all other options come last.
    """

    def __init__(self, *args: Any, sections: Mapping[str, Sequence[str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sections = sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        records = {
            parameter.name: record
            for parameter in self.get_params(ctx)
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)) is not None
        }
        for heading, names in self.sections.items():
            with formatter.section(heading):
                formatter.write_dl([records.pop(name) for name in names])
        with formatter.section("Other options"):
            formatter.write_dl(list(records.values()))


class Renamed(click.Option):
    """An option whose former name still works, with a note.

    Attributes
    ----------
    former : str
        The former name, such as --group.
    """

    def __init__(self, *args: Any, former: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.former = former

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        super().add_to_parser(parser, ctx)
        parser.add_option(obj=self, opts=[self.former], dest=self.former, action="store", nargs=self.nargs)

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, Any]:
        if self.former not in opts:
            return super().consume_value(ctx, opts)
        now = self.opts[0]
        if self.name in opts:
            raise click.UsageError(f"{self.former} is now called {now}: leave {self.former} out", ctx)
        note(f"{self.former} is now called {now}; the old name still works.")
        return super().consume_value(ctx, {**opts, str(self.name): opts[self.former]})


class FormatChoice(click.Choice[str]):
    """The names of the file formats, imported only when they are needed, because the readers are slow to import."""

    def __init__(self) -> None:
        self.case_sensitive = True

    @cached_property
    def choices(self) -> Sequence[str]:  # type: ignore[override]
        from believable.readers.formats import FORMAT_NAMES

        return FORMAT_NAMES


class BinsRange(click.IntRange):
    """A number of bins, or "cube_root"."""

    def __init__(self) -> None:
        super().__init__(1, MAX_BINS_ASKED)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or the word as it is."""
        if value == "cube_root":
            return value
        try:
            int(value)
        except ValueError:
            self.fail(f"{value!r} is neither a whole number nor cube_root.", param, ctx)
        return super().convert(value, param, ctx)


# --- shared options: the columns of a file, and how to measure --------------------------------------------------------


Command = TypeVar("Command", bound=Callable[..., Any])
Scale = Literal["probabilities", "logits", "scores"]
MAX_BINS_ASKED = 1000

SHARED: dict[str, Callable[[Any], Any]] = {
    "prob": click.option("--prob", metavar="NAME", help="Column of P(y = 1)."),
    "prob_prefix": click.option(
        "--prob-prefix", metavar="TEXT", help="Prefix of the score columns, one per class: p_ for p_cat, p_dog."
    ),
    "logits": click.option("--logits", is_flag=True, help="The scores are logits."),
    "scores": click.option(
        "--scores",
        type=click.Choice(["probabilities", "logits", "raw"]),
        help="What the scores are; raw scores are any numbers, where higher means likelier.  [default: probabilities]",
    ),
    "percent": click.option("--percent", is_flag=True, help="The scores are percentages, from 0 to 100."),
    "label": click.option("--label", metavar="NAME", help="Column of outcomes."),
    "pos_label": click.option("--pos-label", metavar="VALUE", help="The label that counts as 1."),
    "neg_label": click.option(
        "--neg-label", metavar="VALUE", help="The label that counts as 0; rows with any other label are an error."
    ),
    "pairs": click.option(
        "--pairs/--no-pairs",
        default=None,
        help="Whether the scores are confidences in answers, and the labels say whether they were right.  [default: if "
        "the labels are called correct]",
    ),
    "weight": click.option("--weight", metavar="NAME", help="Column of sample weights (never guessed)."),
    "cluster": click.option(
        "--cluster",
        cls=Renamed,
        former="--group",
        metavar="NAME",
        help="Column of clusters: rows that belong together, such as those of one patient or query.",
    ),
    "by": click.option(
        "--by", metavar="NAME", multiple=True, help="Column of subgroups; for several, use commas or repeat the option."
    ),
    "drop_missing": click.option(
        "--drop-missing", is_flag=True, help="Leave out rows with a missing score, label, weight or cluster."
    ),
    "format": click.option(
        "--format",
        type=FormatChoice(),
        help="Format of the input, if the file name does not show it.",
    ),
    "run": click.option(
        "--run", type=click.Path(path_type=Path), help="A TREC run, with lines of: query Q0 document rank score name."
    ),
    "qrels": click.option(
        "--qrels", type=click.Path(path_type=Path), help="Its judgements, with lines of: query 0 document grade."
    ),
    "rel": click.option(
        "--rel", type=click.IntRange(1), help="The lowest grade that counts as relevant.  [default: 1]"
    ),
    "unjudged": click.option(
        "--unjudged",
        type=click.Choice(["drop", "not-relevant"]),
        help="Leave out documents without a judgement, or count them as not relevant.  [default: drop]",
    ),
    "bins": click.option(
        "--bins",
        type=BinsRange(),
        metavar="N|cube_root",
        default=10,
        show_default=True,
        help="Number of bins; cube_root is that of the number of rows, rounded up.",
    ),
    "strategy": click.option(
        "--strategy",
        type=click.Choice(["uniform", "quantile"]),
        default="uniform",
        show_default=True,
        help="Bins of equal width, or bins with equally many rows.",
    ),
    "level": click.option(
        "--level", type=float, default=0.95, show_default=True, help="Confidence level of the intervals."
    ),
    "seed": click.option(
        "--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed, for reproducible results."
    ),
}


def shared_options(*names: str) -> Callable[[Command], Command]:
    """Add these options to a command, in this order; each is passed as an argument of the same name."""

    def give(command: Command) -> Command:
        for name in reversed(names):
            command = SHARED[name](command)
        return command

    return give


@dataclass(frozen=True, slots=True)
class Measuring:
    """The values of --bins, --strategy, --level and --seed."""

    bins: Bins
    strategy: Any
    level: float
    seed: int

    @classmethod
    def taken_from(cls, given: dict[str, Any]) -> Measuring:
        """Remove these options from those that were given and return them; raise if the level is invalid."""
        from believable._check import level as check_level

        taken = cls(**{field.name: given.pop(field.name) for field in fields(cls)})
        check_level(taken.level, "--level")
        return taken


def scale_of(scores: str | None, logits: bool) -> Scale:
    """Return the scale that --scores and --logits give, in the terms of recalibrators."""
    if logits and scores not in (None, "logits"):
        raise InputError(f"--logits and --scores {scores} contradict each other: leave one out")
    if logits or scores == "logits":
        return "logits"
    return "scores" if scores == "raw" else "probabilities"
