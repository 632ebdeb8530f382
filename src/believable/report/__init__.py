"""Reports: numbers into words, tables and a page."""

from believable.report.audit import Audit
from believable.report.judgement import Verdict, verdict
from believable.report.make import audit
from believable.report.places import Place

__all__ = ["Audit", "Place", "Verdict", "audit", "verdict"]
