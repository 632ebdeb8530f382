"""Options that several commands share, and help for commands with many of them: in sections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from believable.cli._common import note
from believable.errors import InputError


class Sectioned(click.Command):
    """A command whose options are listed by what they are about.

    Attributes
    ----------
    sections : dict of str to sequence of str
        Heading, and the names of the options below it; what is in none of them comes last.
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
    """An option that had another name, which still works and is answered with a note.

    Attributes
    ----------
    former : str
        The name it had, such as --group.
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
    """The names of the file formats, looked up when they are needed: importing the readers takes time."""

    def __init__(self) -> None:
        self.case_sensitive = True

    @cached_property
    def choices(self) -> Sequence[str]:  # type: ignore[override]
        from believable.readers.formats import FORMAT_NAMES

        return FORMAT_NAMES


# --- options that several commands share: which columns of a file are what, and how to measure ------------------------


Command = TypeVar("Command", bound=Callable[..., Any])
Scale = Literal["probabilities", "logits", "scores"]
MAX_BINS_ASKED = 1000

SHARED: dict[str, Callable[[Any], Any]] = {
    "prob": click.option("--prob", metavar="NAME", help="Column of P(y = 1)."),
    "prob_prefix": click.option(
        "--prob-prefix", metavar="TEXT", help="Beginning of the names of one column per class."
    ),
    "logits": click.option("--logits", is_flag=True, help="The scores are logits."),
    "scores": click.option(
        "--scores",
        type=click.Choice(["probabilities", "logits", "raw"]),
        help="What the scores are; raw ones are any numbers, higher for likelier.  [default: probabilities]",
    ),
    "percent": click.option("--percent", is_flag=True, help="The scores are percentages, from 0 to 100."),
    "label": click.option("--label", metavar="NAME", help="Column of outcomes."),
    "pos_label": click.option("--pos-label", metavar="VALUE", help="The label that counts as 1."),
    "neg_label": click.option(
        "--neg-label", metavar="VALUE", help="The label that counts as 0, where there are more than two."
    ),
    "weight": click.option("--weight", metavar="NAME", help="Column of sample weights (never guessed)."),
    "cluster": click.option(
        "--cluster",
        cls=Renamed,
        former="--group",
        metavar="NAME",
        help="Column of clusters whose rows belong together, such as patients or queries.",
    ),
    "by": click.option(
        "--by", metavar="NAME", multiple=True, help="Column of subgroups; several with commas, or given again."
    ),
    "drop_missing": click.option(
        "--drop-missing", is_flag=True, help="Leave out rows with a missing score, label, weight or cluster."
    ),
    "format": click.option(
        "--format",
        type=FormatChoice(),
        help="What FILE is, whatever it is called.",
    ),
    "run": click.option(
        "--run", type=click.Path(path_type=Path), help="A TREC run: query Q0 document rank score name."
    ),
    "qrels": click.option("--qrels", type=click.Path(path_type=Path), help="Its judgements: query 0 document grade."),
    "rel": click.option("--rel", type=click.IntRange(1), help="The lowest grade that is relevant.  [default: 1]"),
    "unjudged": click.option(
        "--unjudged",
        type=click.Choice(["drop", "not-relevant"]),
        help="What becomes of documents without a judgement.  [default: drop]",
    ),
    "bins": click.option(
        "--bins", type=click.IntRange(1, MAX_BINS_ASKED), default=10, show_default=True, help="Number of bins."
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
    """Give a command these options, in this order; each is an argument of the same name."""

    def give(command: Command) -> Command:
        for name in reversed(names):
            command = SHARED[name](command)
        return command

    return give


@dataclass(frozen=True, slots=True)
class Measuring:
    """The options on how to measure; see their help."""

    bins: int
    strategy: Any
    level: float
    seed: int

    @classmethod
    def taken_from(cls, given: dict[str, Any]) -> Measuring:
        """Take these options out of those that were given; an error where a level is none."""
        from believable._check import level as check_level

        taken = cls(**{field.name: given.pop(field.name) for field in fields(cls)})
        check_level(taken.level, "--level")
        return taken


def scale_of(scores: str | None, logits: bool) -> Scale:
    """What --scores and --logits say together, in the word that recalibrators use."""
    if logits and scores not in (None, "logits"):
        raise InputError(f"--logits and --scores {scores} contradict each other: leave one out")
    if logits or scores == "logits":
        return "logits"
    return "scores" if scores == "raw" else "probabilities"
