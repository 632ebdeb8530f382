"""The shell completes commands and options, as the page on the command line says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "command-line.md"
PROGRAM = [sys.executable, "-c", "from believable.cli import main; main(prog_name='believable')"]


def said(**variables):
    """What the program says when the shell asks it."""
    return subprocess.run(
        PROGRAM, env=os.environ | variables, capture_output=True, text=True, check=True, timeout=60
    ).stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_every_shell(shell):
    """The line on the page prints a script that defines the completion of `believable`."""
    if shell == "bash" and shutil.which("bash") is None:
        pytest.skip("there is no bash")
    (asked,) = re.findall(rf"_BELIEVABLE_COMPLETE={shell}_source believable", PAGE.read_text())
    name, _, value = asked.split()[0].partition("=")
    script = said(**{name: value})
    assert f"_BELIEVABLE_COMPLETE={shell}_complete" in script
    assert {"bash": "complete -o nosort", "zsh": "compdef", "fish": "complete --no-files"}[shell] in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True, timeout=60)


def test_commands_and_options_are_completed():
    """What was begun is completed: a command, an option, a choice."""
    asked = {"_BELIEVABLE_COMPLETE": "bash_complete"}
    assert said(**asked, COMP_WORDS="believable de", COMP_CWORD="1").split() == ["plain,decide", "plain,demo"]
    assert "plain,--neg-label" in said(**asked, COMP_WORDS="believable audit --neg", COMP_CWORD="2")
    assert "plain,quantile" in said(**asked, COMP_WORDS="believable rows --strategy qu", COMP_CWORD="3")
