"""The page on the command line, from the commands themselves: what they say, their options, and an example of each."""

from __future__ import annotations

import inspect
import re

import click

from believable.cli import main
from believable.cli._common import BAD_INPUT, GATE_FAILED, INTERRUPTED
from believable.cli._options import Sectioned

HEAD = f"""# The command line

`believable` judges, compares, fits, applies, decides and plans without a line of Python. This page is what `--help`
says, generated from the program (`make docs`); [the audit](audit.md) and [making scores believable](recalibration.md)
are the guides.

| exit code | |
|---|---|
| 0 | the command ran, and no gate failed; without gates, a bad verdict exits with 0 too |
| {GATE_FAILED} | a gate failed: `--fail-above`, `--fail-below` or `--fail-on` |
| {BAD_INPUT} | bad input, or an option that does not exist; the message says what to do |
| {INTERRUPTED} | interrupted; nothing was left half-written |

## Completion in the shell

With this line in the file that your shell reads when it starts, the tab key completes commands, options and their
values:

| shell | file | line |
|---|---|---|
| bash | `~/.bashrc` | `eval "$(_BELIEVABLE_COMPLETE=bash_source believable)"` |
| zsh | `~/.zshrc` | `eval "$(_BELIEVABLE_COMPLETE=zsh_source believable)"` |
| fish | `~/.config/fish/completions/believable.fish` | `_BELIEVABLE_COMPLETE=fish_source believable \\| source` |

## The examples

The examples below run one after the other on two files, the predictions of two real models:

```python
import polars
from believable.readers import load_demo

for name, predictions in load_demo().items():
    polars.DataFrame({{"p": predictions.scores, "y": predictions.labels}}).write_csv(f"{{name}}.csv")
```
"""
EXAMPLES = {
    "demo": """
```console
believable demo --output demo.png
```
""",
    "audit": """
```sh
believable audit naive_bayes.csv --no-fix --html report.html --fail-above ece=0.05  # exit code 1
```
""",
    "compare": """
```sh
believable compare naive_bayes.csv logistic.csv --metric ece --metric brier
```
""",
    "fit": """
```sh
believable fit naive_bayes.csv --method beta --output map.json
```
""",
    "apply": """
```sh
believable apply map.json naive_bayes.csv --output calibrated.csv
```
""",
    "decide": """
```sh
believable decide logistic.csv --threshold 0.2 --threshold 0.5 --plot decision-curve.png
```
""",
    "rows": """
```sh
believable rows --width 0.02 --rate 0.2
```
""",
    "page": """
```sh
believable page --output calibration.html
```
""",
    "metrics": """
```sh
believable metrics ece
```
""",
}


def command_line_page() -> str:
    """The page as Markdown."""
    return "\n".join([HEAD, *(_section(name, main.commands[name]) for name in EXAMPLES)])


def _section(name: str, command: click.Command) -> str:
    above = click.Context(main, info_name="believable", **main.context_settings)
    context = click.Context(command, info_name=name, parent=above)
    usage = command.get_usage(context).removeprefix("Usage: ")
    said = [_prose(paragraph) for paragraph in _help(command).split("\n\n")]
    parts = [f"## {name}", f"```text\n{usage}\n```", *said, EXAMPLES[name].strip()]
    return "\n\n".join([*parts, *_tables(command, context)]) + "\n"


def _tables(command: click.Command, context: click.Context) -> list[str]:
    """The options of a command, in the sections of its help."""
    options = {option.name: option for option in command.get_params(context) if isinstance(option, click.Option)}
    sections = dict(command.sections) if isinstance(command, Sectioned) else {}
    listed = {name for names in sections.values() for name in names}
    sections["Other options" if sections else "Options"] = [name for name in options if name not in listed]
    tables = []
    for heading, names in sections.items():
        records = [record for name in names if (record := options[name].get_help_record(context))]
        rows = [f"| {_code(option)} | {_prose(said)} |" for option, said in records]
        tables.append("\n".join([f"| {heading} | |", "|---|---|", *rows]))
    return tables


def _help(command: click.Command) -> str:
    return inspect.cleandoc(command.help or "").replace("\b\n", "")


def _code(text: str) -> str:
    return f"`{text}`".replace("|", r"\|")


def _prose(text: str) -> str:
    """A sentence of the program: options are code, a star is a star."""
    pieces = re.split(r"(`[^`]*`)", " ".join(text.split()))
    pieces[::2] = [re.sub(r"([*|<])", r"\\\1", piece) for piece in pieces[::2]]
    pieces[::2] = [re.sub(r"(?<![\w-])(--[a-z][\w-]*)", r"`\1`", piece) for piece in pieces[::2]]
    return "".join(pieces)
