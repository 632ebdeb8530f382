"""The table of trained networks in docs/torch.md: its script runs, repeats itself, and leaves torch's randomness alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from benchmarks import training

PAGE = Path(__file__).resolve().parents[2] / "docs" / "torch.md"


@pytest.fixture(scope="module")
def parts():
    """Fewer rows of each part."""
    return tuple(training.Rows(rows.x[:100], rows.y[:100]) for rows in training.digits())


def test_parts_have_no_row_in_common():
    """A third of the digits each."""
    rows = torch.cat([part.x for part in training.digits()])
    assert len(rows) == len(rows.unique(dim=0)) == 1797


@pytest.mark.slow
def test_a_seed_is_a_network(parts):
    """The same seed gives the same predictions, and torch's own generator is where it was."""
    mixup = next(method for method in training.METHODS if method.alpha)
    before = torch.get_rng_state()
    first, again = (training.outcome(mixup, parts, 1, 2, {}) for _ in range(2))
    np.testing.assert_array_equal(first.p[0], again.p[0])
    assert torch.equal(before, torch.get_rng_state())


def test_the_table_has_a_row_for_each_method(parts, monkeypatch):
    """One seed and few epochs, of two methods that share their networks."""
    monkeypatch.setattr(training, "digits", lambda: parts)
    plain, temperature = training.PLAIN, next(method for method in training.METHODS if method.scaled)
    made = training.table([plain, temperature], seeds=1, epochs=5)
    (_, accuracy, *_, t, after), (name, accuracy_scaled, scaled, *_, t_scaled, after_scaled) = made.rows
    assert (accuracy, t, after) == (
        accuracy_scaled,
        t_scaled,
        after_scaled,
    )  # a temperature keeps the order of the classes
    assert name == temperature.name
    assert scaled == after_scaled


def test_the_page_shows_every_method():
    """The table of the documentation has the rows that the script prints."""
    page = PAGE.read_text()
    assert all(f"\n| {method.name} | " in page for method in training.METHODS)
