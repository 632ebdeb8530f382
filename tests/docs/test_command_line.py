"""The page on the command line is what the program says."""

from __future__ import annotations

from pathlib import Path

from scripts.command_line_page import EXAMPLES, command_line_page

from believable.cli import main

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs" / "command-line.md").read_text()


def test_the_page_is_current():
    """`make docs` would change nothing."""
    assert command_line_page() == PAGE


def test_every_command_and_option_is_on_the_page():
    """No command is without an example, and none of its options is left out."""
    assert set(EXAMPLES) == set(main.commands)
    for name, command in main.commands.items():
        section = PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        options = [option for parameter in command.params for option in parameter.opts if option.startswith("--")]
        assert [option for option in options if f"{option} " not in section and f"{option}`" not in section] == []
        assert f"believable {name}" in section
