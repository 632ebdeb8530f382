"""Why a row cannot be counted, and what to say about it."""

from __future__ import annotations

from collections.abc import Mapping

from believable.errors import InputError

GOOD, WEIGHTLESS = 0, 9
REASONS = {
    1: "missing score",
    2: "score outside [0, 1]",
    3: "row that does not sum to 1",
    4: "missing label",
    5: "unknown label",
    6: "missing weight",
    7: "weight negative or beyond 1e±100",
}
INFINITE_LOGIT = "infinite logit"


def named(counts: Mapping[int, int], from_logits: bool) -> dict[str, int]:
    """Rows by reason, in words; rows of weight 0 are no mistake."""
    words = REASONS | ({2: INFINITE_LOGIT} if from_logits else {})
    return {words[reason]: counts[reason] for reason in sorted(counts) if reason in words and counts[reason]}


def refuse(dropped: Mapping[str, int], rows: int, advice: str = "") -> None:
    """Raise when rows are invalid."""
    if not dropped:
        return
    raise InputError(
        f"{sentence(dropped, rows)}{advice}; repair them, or pass on_invalid='drop' to leave them out and have them "
        "counted in the summary's dropped"
    )


def sentence(dropped: Mapping[str, int], rows: int) -> str:
    """One number first, then why."""
    why = ", ".join(f"{reason}: {n:,}" for reason, n in dropped.items())
    return f"{sum(dropped.values()):,} of {rows:,} rows cannot be counted ({why})"
