"""`believable metrics`."""

from __future__ import annotations

import click

from believable.cli._common import new_console, sentences


@click.command()
@sentences
def metrics() -> None:
    """The table of metrics, with ranges and references."""
    from rich.table import Table
    from rich.text import Text

    from believable.metrics import METRICS

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("alias", no_wrap=True)
    table.add_column("name", no_wrap=True)
    table.add_column("what it is")
    for row in METRICS.values():
        best = "" if row.best is None else f", best {row.best:g}"
        facts = f"{row.summary} [{row.low:g}, {row.high:g}]{best}; {row.reference}"
        table.add_row(row.alias, row.name, Text(facts))
    new_console().print(table)
