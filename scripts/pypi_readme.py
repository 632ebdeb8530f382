"""Turn README.md into the page that PyPI shows, where a relative link leads nowhere. setup.py calls this.

If pyproject.toml gives the address of the repository, as `Source` under [project.urls], links and pictures lead to the
files of this version there. Without an address, pictures are left out and links become plain text.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?://)([^)\s]+)\)\n*")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?://|#)([^)\s]+)\)")


def pypi_readme(text: str, source: str | None, version: str) -> str:
    """Return the README with links to the files of a version, or without any that are relative."""
    parts = _FENCED.split(text)  # code, at every other place, may look like a link
    parts[::2] = [_with_links(part, source, version) for part in parts[::2]]
    return "".join(parts)


def _with_links(text: str, source: str | None, version: str) -> str:
    if source is None:
        return _LINK.sub(r"\1", _PICTURE.sub("", text))
    address = source.rstrip("/")
    text = _PICTURE.sub(rf"![\1]({address}/raw/v{version}/\2)\n\n", text)
    return _LINK.sub(rf"[\1]({address}/blob/v{version}/\2)", text)


def readme_of_this_version() -> str:
    """Return README.md for PyPI, with the address in pyproject.toml and the version in _version.py."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = re.search(r'"(.+)"', (ROOT / "src/believable/_version.py").read_text(encoding="utf-8").splitlines()[-1])
    assert version, "the last line of _version.py is __version__ = ..."
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return pypi_readme(readme, project.get("urls", {}).get("Source"), version[1])
