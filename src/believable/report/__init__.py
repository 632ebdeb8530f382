"""Reports: what an audit found, as plain data, and that data as words, tables and a page."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from believable.report.document import Audit
from believable.report.several import Audits
from believable.report.verdicts import Finding, Range, Verdict

__all__ = ["Audit", "Audits", "Finding", "Range", "Verdict", "audit", "verdict"]


def __getattr__(name: str) -> Any:
    if name in ("audit", "verdict"):  # which fill these values, so they come after them
        return getattr(import_module("believable.auditing"), name)
    raise AttributeError(f"module 'believable.report' has no attribute {name!r}")
