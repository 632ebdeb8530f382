"""Settings of the whole suite."""

from __future__ import annotations

import os

from hypothesis import settings

# The same examples on every run where a failure must mean a change; new ones at the desk.
settings.register_profile("desk", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "desk")
