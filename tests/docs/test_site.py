"""The site is strict: what leads nowhere, and what is public but left out, makes the build fail."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.needs import need

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
PAGE = """# A page

[a page](nowhere.md), [a heading](#nowhere), ![a picture](nowhere.png), {py:func}`believable.nowhere`,
and `nowhere`, which is code.
"""


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """What the build says of a site of one page and no reference, and how it ends."""
    need("sphinx")
    folder = tmp_path_factory.mktemp("docs")
    shutil.copy(DOCS / "conf.py", folder)
    for name in ("_extensions", "_static"):
        shutil.copytree(DOCS / name, folder / name)
    (folder / "index.md").write_text(PAGE)
    (folder / "alone.md").write_text("# In no table of contents\n")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-b", "dummy", "-q", folder, folder / "site"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [
        "cross-reference target not found: 'nowhere.md'",
        "cross-reference target not found: 'nowhere'",
        "image file not readable: nowhere.png",
        "py:func reference target not found: believable.nowhere",
        "document isn't included in any toctree",
        "believable.audit is public, but the reference has no entry for it",
    ],
)
def test_what_leads_nowhere_fails(build, said):
    """Links to pages and headings, pictures, references, pages that nothing leads to, and public names."""
    assert build.returncode != 0
    assert said in build.stderr


def test_code_that_is_no_name_is_fine(build):
    """A word in backticks need not be public."""
    assert "name reference" not in build.stderr


def test_a_namesake_in_another_room_does_not_count(monkeypatch):
    """Each public name needs an entry of its own: recalibrate.TemperatureScaling is not torch.TemperatureScaling."""
    need("sphinx")
    need("torch")
    monkeypatch.syspath_prepend(DOCS / "_extensions")
    import public_names
    from sphinx.util import logging

    warned = []
    log = SimpleNamespace(warning=lambda _, name, __: warned.append(name))
    monkeypatch.setattr(logging, "getLogger", lambda _: log)
    left_out = "believable.torch.TemperatureScaling"
    entries = {name: SimpleNamespace(aliased=False) for name in public_names.public_names() if name != left_out}
    assert "believable.recalibrate.TemperatureScaling" in entries
    public_names.check(None, SimpleNamespace(domaindata={"py": {"objects": entries}}))
    assert warned == [left_out]
