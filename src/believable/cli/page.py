"""The command `believable page`."""

from __future__ import annotations

from pathlib import Path

import click

from believable.cli._common import STANDARD_STREAM, new_console, say, sentences
from believable.cli._outputs import check_outputs


@click.command(short_help="Write a page that audits files in the browser.")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, allow_dash=True),
    default="calibration.html",
    show_default=True,
    help="Write the page here; - for the standard output.",
)
@sentences
def page(output: Path) -> None:
    """Write a page that audits a CSV file in the browser: drop a file on it, and see the answer.

    The page is one HTML file, for people without Python. It works offline and sends nothing anywhere. Give it to
    whoever has the predictions, or put it on a web server.
    """
    from believable._write import write_beside
    from believable.report.browser import audit_page

    check_outputs({"output": output}, [])
    text = audit_page()
    if output == STANDARD_STREAM:
        click.echo(text, nl=False)
        return
    with write_beside(output) as beside:
        beside.write_text(text, encoding="utf-8")
    say(new_console(), f"Page written to {output}: open it in a browser, and drop a CSV file on it")
