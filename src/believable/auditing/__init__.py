"""Auditing: the calls that look at predictions from every side and fill an `Audit`."""

from believable.auditing.judgement import verdict
from believable.auditing.make import audit

__all__ = ["audit", "verdict"]
