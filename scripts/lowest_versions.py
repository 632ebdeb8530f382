"""Print the oldest version of each dependency that pyproject.toml admits, for pip, with those of `all` and the tests.

`make test-lowest` installs these and runs the tests of the core, so that a floor is a promise that was kept.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def lowest(requirements: list[str], extras: dict[str, list[str]]) -> list[str]:
    """Return `name==version` for each `name>=version`, and for those of the extras in `believable[...]`, once each.

    Anything else has no floor to test, and is an error.
    """
    pins: dict[str, str] = {}
    for requirement in spelt_out(requirements, extras):
        match = re.fullmatch(r"([\w.-]+)((?:\[[\w,-]+\])?)>=([\w.]+)", requirement)
        if match is None:
            raise SystemExit(f"{requirement!r} in pyproject.toml names no lowest version: write name>=version")
        pin = f"{match[1]}{match[2]}=={match[3]}"
        if pins.setdefault(match[1], pin) != pin:
            raise SystemExit(f"pyproject.toml names two lowest versions: {pins[match[1]]} and {pin}")
    return list(pins.values())


def spelt_out(requirements: list[str], extras: dict[str, list[str]]) -> Iterator[str]:
    """Yield the requirements, with those of an extra in place of `believable[extra]`."""
    for requirement in requirements:
        if own := re.fullmatch(r"believable\[([\w,-]+)\]", requirement):
            for extra in own[1].split(","):
                yield from spelt_out(extras[extra], extras)
        else:
            yield requirement


if __name__ == "__main__":
    project = tomllib.loads(PROJECT.read_text())
    needed = [*project["project"]["dependencies"], "believable[all]", *project["dependency-groups"]["test"]]
    print("\n".join(lowest(needed, project["project"]["optional-dependencies"])))
