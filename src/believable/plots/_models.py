"""Several models in one picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from believable.errors import InputError
from believable.plots._style import FLAG, INK, TOO_HIGH, TOO_LOW

COLOURS = (TOO_LOW, FLAG, "#3d8f5f", "#8a5fb0", INK, TOO_HIGH)  # told apart by colour-blind readers too
STYLES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))


def by_name(predictions: Any, compute: Callable[[Any], Any], *kinds: type) -> dict[str, Any]:
    """What is drawn of each model: of one (with no name), or of several given by name.

    Values that were computed before are taken as they are.
    """
    several = predictions if isinstance(predictions, Mapping) else {"": predictions}
    if not several:
        raise InputError("there are no models to draw: the dict is empty")
    if len(several) > len(COLOURS):
        raise InputError(f"at most {len(COLOURS)} models can be told apart in one picture, got {len(several)}")
    return {str(name): one if isinstance(one, kinds) else compute(one) for name, one in several.items()}
