"""Auditing: `audit`, `audit_models` and `verdict`, which check predictions and fill an `Audit` or a `Verdict`."""

from believable.auditing.judgement import verdict
from believable.auditing.make import audit
from believable.auditing.several import audit_models

__all__ = ["audit", "audit_models", "verdict"]
