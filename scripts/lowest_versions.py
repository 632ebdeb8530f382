"""Print the oldest version of each dependency that pyproject.toml admits, those of the tests included, for pip.

`make test-lowest` installs these and runs the tests of the core, so that a floor is a promise that was kept.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def lowest(requirements: list[str]) -> list[str]:
    """Return `name==version` for each `name>=version`; anything else has no floor to test, and is an error."""
    pins = []
    for requirement in requirements:
        match = re.fullmatch(r"([\w.-]+(?:\[[\w,-]+\])?)>=([\w.]+)", requirement)
        if match is None:
            raise SystemExit(f"{requirement!r} in pyproject.toml names no lowest version: write name>=version")
        pins.append(f"{match[1]}=={match[2]}")
    return pins


if __name__ == "__main__":
    project = tomllib.loads(PROJECT.read_text())
    print("\n".join(lowest([*project["project"]["dependencies"], *project["dependency-groups"]["test"]])))
