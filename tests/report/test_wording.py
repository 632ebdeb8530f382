"""The digits that a number deserves."""

from __future__ import annotations

import math

import pytest

from believable.report.wording import decimals, digits_apart, rows_rounded_up


def test_shares_keep_two_digits_that_count():
    """Also of what the largest lacks of 1."""
    assert decimals(3, 0.5, 0.99987) == 5
    assert decimals(4, 0.0, 1.0) == 4


@pytest.mark.parametrize(("number", "up"), [(1428.1, 1500), (7166.7, 7200), (99.2, 100), (7.01, 8), (2000, 2000)])
def test_rows_asked_for_are_rounded_up(number, up):
    """Two digits that count, and never fewer than needed."""
    assert rows_rounded_up(number) == up


@pytest.mark.parametrize(
    ("low", "high", "digits"),
    [(0.0, 0.1, 4), (0.03, 0.03011, 4), (0.03, 0.03005, 5), (0.5, 0.5 + 3e-7, 7), (0.5, 0.5, 4), (0.0, math.inf, 4)],
)
def test_digits_that_tell_ends_apart(low, high, digits):
    """Four, or as many as the width of the interval takes."""
    assert digits_apart(low, high) == digits
