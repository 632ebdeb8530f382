"""Check that every file names the version in _version.py, and that it may be released.

python scripts/check_release.py           # do all files name the same version?
python scripts/check_release.py v0.2.0    # and may it be released under this tag?
"""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OTHERS = {  # files that readers or programs expect to name the version, and the line where they do
    "CITATION.cff": r"^version: (.+)$",
    "CHANGELOG.md": r"^## (\S+) \(.+\)$",  # the first of them is the newest
    "recipe/recipe.yaml": r"^  version: (.+)$",
    "docs/_static/cheatsheet.html": r"version (\S+)</p>",
}


def the_version(root: Path = ROOT) -> str:
    """Return the version in the one file where it is set."""
    return str(runpy.run_path(str(root / "src/believable/_version.py"))["__version__"])


def complaints(tag: str | None = None, root: Path = ROOT) -> list[str]:
    """Return what is inconsistent, or in the way of a release under the tag: nothing if all is well."""
    version, found = the_version(root), []
    for name, line in OTHERS.items():
        named = re.search(line, (root / name).read_text(encoding="utf-8"), re.MULTILINE)
        if named is None or named[1].strip("\"'") != version:
            other = named[1] if named else "no version"
            found.append(f"{name} names {other}, but src/believable/_version.py names {version}")
    if tag is not None and tag != f"v{version}":
        found.append(f"the tag is {tag}, but src/believable/_version.py names {version}: the tag should be v{version}")
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    dated = rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$"
    if tag is not None and not re.search(dated, changes, re.MULTILINE):
        found.append(f"CHANGELOG.md has no line '## {version} (year-month-day)' with the date of the release")
    return found


if __name__ == "__main__":
    sys.exit("\n".join(complaints(*sys.argv[1:2])) or 0)
