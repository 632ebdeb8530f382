"""The file of the page: self-contained, small, and closed to every network."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest

from believable.report.browser import audit_page
from believable.report.browser.page import NUMERICS, READING, SHOWN

FOLDER = Path(audit_page.__code__.co_filename).parent
PAGE = audit_page()


def test_the_page_is_small():
    """Small enough to be sent by mail."""
    assert len(PAGE.encode()) < 400_000


def test_nothing_is_fetched():
    """No address of another place; the policy forbids all but these scripts and their worker."""
    assert not re.findall(r"https?://|@import|\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|importScripts", PAGE)
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', PAGE)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["worker-src"] == "blob:"
    assert "connect-src" not in rules
    scripts = re.findall(r"<script(?: id=\"core\")?>(.*?)</script>", PAGE, re.DOTALL)
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in scripts]
    assert rules["script-src"].split() == hashes
    assert len(hashes) == 2


@pytest.mark.parametrize("name", ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("])
def test_text_is_never_read_as_html(name):
    """Nothing in the scripts could turn a name from a file into elements."""
    assert name not in PAGE


def test_no_placeholder_is_left():
    """Every part of the template was filled in."""
    before_scripts = PAGE[: PAGE.index('<script id="core">')]
    assert not re.findall(r"\$[a-z_]+", before_scripts)


def test_every_script_is_in_the_page():
    """A file that nobody listed would be missed only when it is needed."""
    numerics = {path.name for path in (FOLDER / "numerics").glob("*.js")}
    assert numerics == set(NUMERICS)
    assert {path.name for path in FOLDER.glob("*.js")} == {*READING, "worker.js", *SHOWN}
