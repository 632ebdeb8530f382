"""Reports: numbers into words, tables and a page."""

from believable.report.audit import Audit
from believable.report.judgement import Place, Verdict, verdict
from believable.report.make import audit

__all__ = ["Audit", "Place", "Verdict", "audit", "verdict"]
