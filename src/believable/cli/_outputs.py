"""Output files of commands: checked before the work starts, and written completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from believable import _optional
from believable.cli._common import STANDARD_STREAM
from believable.errors import InputError

if TYPE_CHECKING:
    from believable.predictions import Predictions
    from believable.report import Audit

PICTURES = (".png", ".svg", ".pdf")
NAMES_OF_OUTPUTS = {"html": "Report", "json": "JSON", "markdown": "Markdown", "plot": "Picture"}


def check_outputs(
    outputs: Mapping[str, Path | None], inputs: list[Path | None], called: Mapping[str, str] | None = None
) -> None:
    """Raise if an output cannot be written or would overwrite an input, before any work is done.

    Messages name outputs by their options, such as `--plot`, unless `called` has another name.
    """
    seen: dict[Path, str] = {}
    for option, path in outputs.items():
        name = (called or {}).get(option, f"--{option}")
        if path is None:
            continue
        if path == STANDARD_STREAM and option == "plot":
            raise InputError("a picture cannot go to the standard output: name a file")
        if path != STANDARD_STREAM:
            _refuse_place(name, path, inputs)
        if option == "plot" and not _optional.is_installed("matplotlib"):
            raise _optional.missing(f"{name} needs", "matplotlib")
        if option == "plot" and path.suffix.lower() not in PICTURES:
            raise InputError(f"{name} {path}: the name of a picture must end in .png, .svg or .pdf")
        if (other := seen.setdefault(path if path == STANDARD_STREAM else path.resolve(), name)) != name:
            raise InputError(f"{other} and {name} both name {path}: choose different files")


def _refuse_place(name: str, path: Path, inputs: list[Path | None]) -> None:
    if path.is_dir():
        raise InputError(f"{name} {path} is a folder: name a file")
    if not path.parent.is_dir():
        raise InputError(f"{name} {path} cannot be written: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{name} {path} cannot be written: you have no permission to write in {path.parent}")
    if any(one is not None and one.resolve() == path.resolve() for one in inputs):
        raise InputError(f"{name} {path} is also an input file: choose another name")


def write_outputs(
    outputs: Mapping[str, Path | None], audit: Audit, predictions: Predictions, how: Mapping[str, Any]
) -> list[str]:
    """Write the reports and the picture; return sentences that say what was written where."""
    said = []
    for option, path in outputs.items():
        if path is None:
            continue
        if option == "plot":
            write_plot(path, predictions, title=audit.title, **how)
        else:
            written = {"html": audit.to_html, "json": audit.to_json, "markdown": audit.to_markdown}[option]
            if path == STANDARD_STREAM:
                click.echo(written())
                continue
            written(path)
        said.append(f"{NAMES_OF_OUTPUTS[option]} written to {path}")
    return said


def write_plot(path: Path, predictions: Predictions | Mapping[str, Predictions], **how: Any) -> None:
    """Write the reliability diagram, completely or not at all."""
    from believable.plots import plot_reliability_diagram
    from believable.readers import write_beside

    with write_beside(path) as beside:
        plot_reliability_diagram(predictions, save_path=beside, **how)
