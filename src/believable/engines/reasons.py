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
    7: "negative or infinite weight",
}
INFINITE_LOGIT = "infinite logit"


def named(counts: Mapping[int, int], from_logits: bool) -> dict[str, int]:
    """Rows by reason, in words; rows of weight 0 are no mistake."""
    words = REASONS | ({2: INFINITE_LOGIT} if from_logits else {})
    return {words[reason]: counts[reason] for reason in sorted(counts) if reason in words and counts[reason]}


def refuse(dropped: Mapping[str, int], rows: int, advice: str = "") -> None:
    """Raise when rows are invalid; one number first, then why."""
    if not dropped:
        return
    bad = sum(dropped.values())
    why = ", ".join(f"{reason}: {n:,}" for reason, n in dropped.items())
    raise InputError(
        f"{bad:,} of {rows:,} rows cannot be counted ({why}){advice}; repair them, or pass on_invalid='drop' to "
        "leave them out and have them counted in the summary's dropped"
    )
