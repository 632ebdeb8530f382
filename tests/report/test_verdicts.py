"""What a verdict says in words."""

from __future__ import annotations

from dataclasses import replace

from believable import verdict
from believable.readers import load_demo
from believable.report import Place


def test_small_probabilities_keep_their_digits():
    """Places and means of rare events are not all 0.000."""
    place = Place(0.0001, 0.0003, 0.00021, 0.00084, 5000)
    assert str(place) == "scores from 0.0001 to 0.0003 are too low: 0.00021 predicted, 0.00084 happened (5,000 rows)"


def test_a_value_above_its_interval_is_explained():
    """Chance adds to the error, and the headline says so."""
    judged = verdict(load_demo()["logistic"])
    above = replace(judged, ece=judged.high + 0.001)
    assert f"ECE {above.ece:.4f} (chance adds to it), 95 % interval" in above.headline
    assert "(chance adds to it)" not in replace(judged, ece=judged.high).headline
