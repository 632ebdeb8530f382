"""What a command is given: predicted classes, labels beyond two, and the ways out that errors name."""

from __future__ import annotations

import polars
import pytest


@pytest.fixture
def decisions(tmp_path):
    """A file whose scores are the classes that a model predicted."""
    path = tmp_path / "decisions.csv"
    polars.DataFrame({"y_pred": [0, 1] * 20, "y": [0, 1, 1, 0] * 10}).write_csv(path)
    return path


@pytest.mark.parametrize("command", ["audit", "fit"])
def test_predicted_classes_are_refused(run, decisions, command):
    """The way out is named in the words of the command line."""
    result = run(command, decisions)
    assert result.exit_code == 2
    assert (
        "all predictions are 0 or 1: these look like predicted classes, not probabilities; "
        "name a column of probabilities with --prob"
    ) in result.stderr
