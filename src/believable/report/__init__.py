"""Reports: the results of an audit as plain data, and their text, Markdown, JSON and HTML forms."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from believable.report.document import Audit
from believable.report.several import Audits
from believable.report.verdicts import Finding, Range, Verdict

__all__ = ["Audit", "Audits", "Finding", "Range", "Verdict", "audit", "audit_page", "verdict"]


def __getattr__(name: str) -> Any:
    if name in ("audit", "verdict"):  # in a later package, because they fill the classes above
        return getattr(import_module("believable.auditing"), name)
    if name == "audit_page":
        return import_module("believable.report.browser").audit_page
    raise AttributeError(f"module 'believable.report' has no attribute {name!r}")
