"""The command line. Each command imports what it needs when it runs, so that help is printed quickly."""

from __future__ import annotations

import os

import click

from believable._version import __version__
from believable.cli.apply import apply
from believable.cli.audit import audit
from believable.cli.compare import compare
from believable.cli.decide import decide
from believable.cli.demo import demo
from believable.cli.fit import fit
from believable.cli.metrics import metrics
from believable.cli.page import page
from believable.cli.rows import rows


class Commands(click.Group):
    """The group of commands; if a file is named in place of a command, the error suggests `believable audit`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        given = args[0]
        if self.get_command(ctx, given) is None and (given == "-" or "." in given or os.path.exists(given)):
            ctx.fail(f"{given!r} is not a command: to judge the predictions in a file, type `believable audit {given}`")
        return super().resolve_command(ctx, args)


def show_version(ctx: click.Context, parameter: click.Parameter, asked: bool) -> None:
    """Print the version, and which kernels compute: without a compiler at installation, they are slower."""
    if not asked or ctx.resilient_parsing:
        return
    from believable._kernels import backend

    which = "compiled kernels" if backend == "compiled" else "kernels in NumPy"
    click.echo(f"believable, version {__version__}, {which}")
    if backend == "numpy" and not os.environ.get("BELIEVABLE_KERNELS"):
        click.echo("Compiled kernels are faster: install a C compiler, then install believable again.", err=True)
    ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_version,
    help="Show the version, and whether the compiled kernels are in use.",
)
def main() -> None:
    """Are my numeric scores believable probabilities?

    Start with `believable audit FILE`, or see an example with `believable demo`.
    """


for command in (audit, compare, fit, apply, decide, rows, metrics, page, demo):
    main.add_command(command)
