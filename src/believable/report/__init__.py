"""Reports: numbers into words."""

from believable.report.verdict import Place, Verdict, verdict

__all__ = ["Place", "Verdict", "verdict"]
