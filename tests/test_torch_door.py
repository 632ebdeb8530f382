"""The door of the torch room: what it says where torch is missing, and what it does not import."""

from __future__ import annotations

import subprocess
import sys

from tests.needs import need

WITHOUT_TORCH = "import sys; sys.modules['torch'] = None; import believable; believable.torch"


def test_the_door_says_how_to_open_it():
    """Without torch the error names the extra to install."""
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, timeout=60)
    assert 'believable.torch needs PyTorch: pip install "believable[torch]"' in done.stderr


def test_torch_is_not_imported_before_the_room():
    """`import believable` does not load torch."""
    code = "import sys, believable; assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_the_tests_of_the_room_run():
    """They are left out where torch is missing, which is a skip here, or a failure where torch is required."""
    need("torch")
