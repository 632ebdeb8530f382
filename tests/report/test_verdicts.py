"""What a verdict says in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from believable import verdict
from believable.readers import load_demo
from believable.report import Range


def test_small_probabilities_keep_their_digits():
    """Ranges and rates of rare events are not all 0 %."""
    found = Range(0.0001, 0.0003, 0.00021, 0.00084, 5000, 0.5, 0.0003)
    assert (
        found.in_words()
        == "Scores between 0.0001 and 0.0003 under-predict: average prediction 0.021 %, observed rate 0.084 % (5,000 rows)."
    )
    assert found.example() == "When it says 0.021 %, it happens 0.084 % of the time"


def test_a_value_above_its_interval_is_explained():
    """Noise adds to the error, and the sentence on the ECE says so."""
    judged = verdict(load_demo()["logistic"])
    above = replace(judged, ece=judged.high + 0.001)
    assert f"ECE {above.ece:.4f} (noise adds to it), 95 % interval" in str(above)
    assert "(noise adds to it)" not in str(replace(judged, ece=judged.high))


def test_what_was_done_to_the_scores_is_in_the_headline():
    """Scores that were scaled first are told as that."""
    judged = verdict(load_demo()["naive_bayes"])
    assert replace(judged, after="after Platt scaling").headline.startswith(
        "No, recalibrate first (after Platt scaling). When it says 97 %"
    )


def test_former_names_still_work():
    """Attributes under their former names warn and give the same."""
    judged = verdict(load_demo()["naive_bayes"])
    with pytest.warns(FutureWarning, match="places is now called ranges"):
        assert judged.places == judged.ranges
    with pytest.warns(FutureWarning, match="beyond_chance is now called miscalibrated"):
        assert judged.beyond_chance


def test_nothing_is_said_twice():
    """No sentence, and no range, comes back."""
    for predictions in load_demo().values():
        lines = verdict(predictions).lines()
        assert len(lines) == len(set(lines))
        assert str(lines).count("883 rows") <= 1


def test_a_notebook_shows_the_answer_first():
    """The headline in bold, then the evidence as a list; what comes from outside is escaped."""
    judged = verdict(load_demo()["naive_bayes"])
    shown = judged._repr_html_()
    assert shown.startswith("<div><p><strong>No, recalibrate first. When it says 97 %")
    assert shown.count("<li>") == len(judged.details())
    hostile = replace(judged, findings=(replace(judged.findings[0], words="<script>alert(1)</script>"),))
    assert "<script>" not in hostile._repr_html_()
