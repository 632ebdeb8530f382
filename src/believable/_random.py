"""Randomness is an argument: nothing here touches the global state."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable.errors import InputError


def generator(random_state: Any) -> np.random.Generator:
    """The generator behind `random_state`: None (fresh), a seed, or a Generator used as it is."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    is_seed = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, (bool, np.bool_))
    if random_state is not None and (not is_seed or random_state < 0):
        raise InputError(f"random_state must be None, an integer from 0 or a numpy Generator, got {random_state!r}")
    if random_state is None:
        return np.random.default_rng()
    # A branch of its own: data that were made with the same seed must not meet the same numbers here again.
    return np.random.default_rng(np.random.SeedSequence(int(random_state), spawn_key=(1,)))
