"""What `make_inspect_log` writes: for each question, the mark of the scorer `graded` and the stated confidence."""

from __future__ import annotations

from pathlib import Path

LOG = Path(__file__).resolve().parent / "inspect" / "quiz.eval"
MARKS = "CCICPCNICCIC"
CONFIDENCES = [0.9, 0.8, 0.75, 1.0, 0.6, "85 %", 0.2, "I am 40 percent sure.", 0.95, None, "quite sure", 0.3]
