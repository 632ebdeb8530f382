"""The command line: arguments in, printing out. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import click

from believable._version import __version__
from believable.cli.apply import apply
from believable.cli.audit import audit
from believable.cli.compare import compare
from believable.cli.demo import demo
from believable.cli.fit import fit
from believable.cli.metrics import metrics


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="believable")
def main() -> None:
    """Are my numeric scores believable probabilities?"""


for command in (audit, compare, fit, apply, metrics, demo):
    main.add_command(command)
