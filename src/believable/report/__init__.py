"""Reports: numbers into words."""

from believable.report.judgement import Place, Verdict, verdict

__all__ = ["Place", "Verdict", "verdict"]
