"""The command `believable metrics`, which shows the docstrings of metrics with formulas as plain text."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

import click

from believable.cli._common import new_console, say, sentences
from believable.cli._show import show_section

if TYPE_CHECKING:
    from believable.metrics import Metric

TEX_MARKS = {r"\sum": "Σ", r"\sup": "sup", r"\log": "log", r"\int": "∫", r"\,": " ", r"\left": "", r"\right": ""}
TEX_GROUP = r"\{((?:[^{}]|\{[^{}]*\})*)\}"


def without_markup(text: str) -> str:
    r"""Return a docstring with its formulas as plain text, without directives and backslashes.

    >>> print(without_markup(r".. math:: \frac{O}{E} = \frac{\sum_i w_i y_i}{\sum_i w_i p_i}"))
        O/E = (Σ_i w_i y_i)/(Σ_i w_i p_i)
    """
    text = re.sub(r"^\.\. math:: *(.*)$", lambda found: f"    {plain(found[1])}", text, flags=re.MULTILINE)
    return re.sub(r":math:`([^`]*)`", lambda found: plain(found[1]), text)


def plain(formula: str) -> str:
    r"""Return a TeX formula as plain text.

    >>> plain(r"\left( \sum_c \frac{W_c}{T} \, |\mathrm{acc}_c|^p \right)^{1/p}")
    '( Σ_c W_c/T |acc_c|^p )^(1/p)'
    """
    formula = re.sub(r"\\(?:operatorname|mathrm)\{(\w+)\}", r"\1", formula)
    formula = re.sub(r"\\frac(\w)(\w)", r"\\frac{\1}{\2}", formula)
    formula = re.sub(rf"\\frac{TEX_GROUP}{TEX_GROUP}", lambda found: f"{_whole(found[1])}/{_whole(found[2])}", formula)
    formula = re.sub(rf"([_^]){TEX_GROUP}", r"\1(\2)", formula)
    for mark, shown in TEX_MARKS.items():
        formula = formula.replace(mark, shown)
    return re.sub(r" +", " ", formula).strip()


def _whole(part: str) -> str:
    """Return a part of a fraction, in parentheses unless it is a single name or number."""
    return part if re.fullmatch(r"\w+", part) else f"({part})"


# --- `believable metrics` ---------------------------------------------------------------------------------------------


@click.command(short_help="List the metrics, or define one of them.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@sentences
def metrics(name: str | None, as_json: bool) -> None:
    """List all metrics, or print the full definition of the metric called NAME."""
    from believable.metrics import METRICS

    if name is not None:
        from believable.report.metric_names import find

        row = find(name, f"believable metrics {name}")
        say(new_console(), json.dumps(_facts(row) | {"definition": _definition(row)}) if as_json else _in_full(row))
        return
    if as_json:
        click.echo(json.dumps([_facts(row) for row in METRICS.values()], indent=1))
        return
    _print_table()


def _print_table() -> None:
    from believable.metrics import METRICS
    from believable.report.text import Section

    rows = [["alias", "name", "what it is"]]
    for row in METRICS.values():
        reference = "" if row.reference == "—" else f"; {row.reference}"
        rows.append([row.alias, row.name, f"{row.summary} {_range(row)}{reference}"])
    console = new_console()
    show_section(console, Section(rows=rows))
    say(console, "\nFor the full definition of one of them: believable metrics ece")


def _range(row: Metric) -> str:
    best = "" if row.best is None else f", best {row.best:g}"
    return f"[{row.low:g}, {row.high:g}]{best}"


def _definition(row: Metric) -> str:
    from inspect import getdoc

    return getdoc(row.function) or ""


def _in_full(row: Metric) -> str:
    names = row.name if row.name == row.alias else f"{row.name} ({row.alias})"
    facts = [f"lies in {_range(row)}", f"for {', '.join(row.kinds)} predictions"]
    if row.bins:
        facts.append({"own": "chooses its own bins"}.get(row.bins, f"{row.bins} bins by default"))
    parts = [f"{names}: {'; '.join(facts)}", without_markup(_definition(row))]
    if row.elsewhere:
        parts.append("\n".join(["Elsewhere", "---------", *(f"{name}: {said}" for name, said in row.elsewhere)]))
    return "\n\n".join(parts)


def _facts(row: Metric) -> dict[str, Any]:
    def number(value: float | None) -> float | None:
        return None if value is None or math.isinf(value) else value  # JSON knows no infinity

    return {
        "name": row.name,
        "alias": row.alias,
        "summary": row.summary,
        "low": number(row.low),
        "high": number(row.high),
        "best": number(row.best),
        "kinds": list(row.kinds),
        "bins": row.bins,
        "notion": row.of,
        "reference": row.reference,
        "elsewhere": dict(row.elsewhere),
    }
