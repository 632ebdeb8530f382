"""Decisions: what may be done with probabilities that can be believed."""

__all__: list[str] = []
