"""Auditing: the calls that look at predictions from every side and fill an `Audit`."""

from believable.auditing.judgement import verdict
from believable.auditing.make import audit
from believable.auditing.several import audit_models

__all__ = ["audit", "audit_models", "verdict"]
