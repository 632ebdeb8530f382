"""The gallery is complete: every picture of the library is on the page, with its code above it."""

from __future__ import annotations

import ast
import re

from scripts import pages

import believable

PAGE = pages.DOCS / "gallery.md"
TEXT = PAGE.read_text()


def called(code):
    """The names of the functions of the library that some code calls."""
    calls = [node.func for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    return {func.attr for func in calls if isinstance(func, ast.Attribute)}


def test_every_picture_of_the_library_is_drawn():
    """Each public function that draws is called on the page."""
    drawn = {name for name in believable.__all__ if name.startswith("plot_")}
    assert drawn - called("\n".join(block.code for block in pages.blocks(TEXT))) == set()


def test_the_code_stands_directly_above_its_picture():
    """The block that writes a file is followed by the picture of that name, and no picture stands alone."""
    pairs = re.findall(r'"([\w-]+\.png)"[^`]*```\n\n!\[[^\]]+\]\(images/gallery/([\w-]+\.png)\)', TEXT)
    assert [written for written, _ in pairs] == [shown for _, shown in pairs]
    assert len(pairs) == TEXT.count("](images/gallery/")


def test_each_says_when_not_to_use_it():
    """Below every picture stand the question that it answers, and where it does not."""
    for section in re.split(r"^### ", TEXT, flags=re.MULTILINE)[1:]:
        words = section.rpartition("images/gallery/")[2]
        assert "\n**" in words, section.splitlines()[0]
        assert "*Not*" in words, section.splitlines()[0]


def test_the_index_names_every_section():
    """The table at the top leads to all of them, once."""
    named = re.findall(r"\[[^\]]+\]\(#([\w-]+)\)", TEXT)
    headings = re.findall(r"^### (.*)$", TEXT, re.MULTILINE)
    assert sorted(named) == sorted(re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings)
