"""Audits that several tests read."""

from __future__ import annotations

import pytest

from tests.auditing.data import audit_of_classes, audit_of_event


@pytest.fixture(scope="package")
def binary():
    """Scores, outcomes, subgroups and the audit of one event."""
    return audit_of_event()


@pytest.fixture(scope="package")
def matrix():
    """The same of four classes."""
    return audit_of_classes()
