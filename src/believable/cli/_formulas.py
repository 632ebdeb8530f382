"""Formulas of docstrings as plain text: what a terminal can show of the few marks that are used there."""

from __future__ import annotations

import re

_MARKS = {r"\sum": "Σ", r"\int": "∫", r"\,": " ", r"\left": "", r"\right": ""}
_GROUP = r"\{((?:[^{}]|\{[^{}]*\})*)\}"


def without_markup(text: str) -> str:
    r"""A docstring whose formulas stand on lines of their own, without directives and backslashes.

    >>> print(without_markup(r".. math:: \frac{O}{E} = \frac{\sum_i w_i y_i}{\sum_i w_i p_i}"))
        O/E = (Σ_i w_i y_i)/(Σ_i w_i p_i)
    """
    text = re.sub(r"^\.\. math:: *(.*)$", lambda found: f"    {plain(found[1])}", text, flags=re.MULTILINE)
    return re.sub(r":math:`([^`]*)`", lambda found: plain(found[1]), text)


def plain(formula: str) -> str:
    r"""A formula in TeX as text.

    >>> plain(r"\left( \sum_c \frac{W_c}{T} \, |\mathrm{acc}_c|^p \right)^{1/p}")
    '( Σ_c W_c/T |acc_c|^p )^(1/p)'
    """
    formula = re.sub(r"\\(?:operatorname|mathrm)\{(\w+)\}", r"\1", formula)
    formula = re.sub(r"\\frac(\w)(\w)", r"\\frac{\1}{\2}", formula)
    formula = re.sub(rf"\\frac{_GROUP}{_GROUP}", lambda found: f"{_whole(found[1])}/{_whole(found[2])}", formula)
    formula = re.sub(rf"([_^]){_GROUP}", r"\1(\2)", formula)
    for mark, shown in _MARKS.items():
        formula = formula.replace(mark, shown)
    return re.sub(r" +", " ", formula).strip()


def _whole(part: str) -> str:
    """In parentheses, unless it is one thing."""
    return part if re.fullmatch(r"\w+", part) else f"({part})"
