"""An audit is saved and read back, whole or not at all."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from believable import Audit, audit
from believable.errors import SchemaError
from tests.auditing.data import over_confident

RNG = np.random.default_rng(0)


@pytest.mark.slow
def test_round_trip(binary, matrix):
    """JSON and back is the same audit; what is written is strict JSON."""
    for found in (binary[-1], matrix[-1]):
        text = found.to_json()
        assert Audit.from_json(text) == found
        json.loads(text, parse_constant=lambda word: pytest.fail(word))


def test_infinite_values_survive():
    """A log loss that is infinite is a word in JSON, and infinite again when read."""
    found = audit([0.0, 1.0, 0.3, 0.7] * 20, [1, 0, 0, 1] * 20)
    assert math.isinf(found["nll"].value)
    assert Audit.from_json(found.to_json())["nll"].value == math.inf
    assert any("exactly 0 or 1 was wrong" in sentence for sentence in found.caveats)


def test_damaged_files_are_refused(binary):
    """A foreign, newer or damaged file is named, and where it is damaged."""
    saved = binary[-1].to_dict()
    for change, words in (
        ({"schema": "other"}, "not a saved believable.Audit"),
        ({"version": 99}, "version 99"),
        ({"n": "many"}, r"saved audit\.n must be an integer"),
        ({"n": True}, r"saved audit\.n must be an integer"),
        ({"kind": "odd"}, r"audit\.kind must be one of"),
        ({"metrics": [{}]}, r"audit\.metrics\[0\] lacks"),
        ({"metrics": 3}, r"audit\.metrics must be a list"),
        ({"extra": 1}, "unknown fields"),
        ({"rates": ["high"]}, r"audit\.rates\[0\] must be a number"),
        ({"dropped": {"a": None}}, r"audit\.dropped\.a must be an integer"),
    ):
        with pytest.raises(SchemaError, match=words):
            Audit.from_dict(saved | change)
    with pytest.raises(SchemaError, match="not JSON"):
        Audit.from_json("{")
    with pytest.raises(SchemaError, match=r"'week.json' is the name of a file: pass what is in it"):
        Audit.from_json("week.json")


def test_files_are_written_whole(binary, tmp_path):
    """to_json, to_markdown and to_html write what they return."""
    found = binary[-1]
    for name, write in (("a.json", found.to_json), ("a.md", found.to_markdown), ("a.html", found.to_html)):
        text = write(tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8") == text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.json", "a.md"]


def test_metrics_by_name(binary):
    """By name or alias; an unknown one is named with those there are."""
    found = binary[-1]
    assert found["ece"] is found["expected_calibration_error"]
    with pytest.raises(KeyError, match="no metric 'ecce'; it has ece"):
        found["ecce"]


@pytest.mark.slow
def test_counts_from_numpy_are_counts():
    """NumPy integers in `dropped` are written to JSON as any other."""
    p, y = over_confident(60, rng=RNG)
    found = audit(p, y, dropped={"missing": np.int64(3)}, fix=False)
    assert Audit.from_json(found.to_json()) == found
