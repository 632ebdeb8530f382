"""Probabilities in words: the scale, frequencies, and what an interval allows to be said."""

from __future__ import annotations

import re

import numpy as np
import pytest

from believable import confidence_words
from believable.decide import SCALE
from believable.errors import InputError
from believable.recalibrate import VennAbers


@pytest.mark.parametrize(
    ("p", "word"),
    [
        (1, "virtually certain"),
        (0.99, "virtually certain"),
        (0.9899, "very likely"),
        (0.9, "very likely"),
        (0.8999, "likely"),
        (0.66, "likely"),
        (0.6599, "about as likely as not"),
        (0.5, "about as likely as not"),
        (0.3301, "about as likely as not"),
        (0.33, "unlikely"),
        (0.1001, "unlikely"),
        (0.1, "very unlikely"),
        (0.0101, "very unlikely"),
        (0.01, "exceptionally unlikely"),
        (0, "exceptionally unlikely"),
    ],
)
def test_the_borders_of_the_scale(p, word):
    """Ranges include their ends and the stronger word wins, in float32 too."""
    assert confidence_words(p, style="word") == word
    assert confidence_words(np.float32(p), style="word") == word


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (0.5, "about 5 in 10"),
        (0.1, "about 1 in 10"),
        (0.149, "about 1 in 10"),
        (0.15, "about 2 in 10"),
        (0.9, "about 9 in 10"),
        (0.55, "about 6 in 10"),
        (0.901, "about 9 in 10"),
        (0.93, "about 93 in 100"),
        (0.99, "about 99 in 100"),
        (0.994, "about 994 in 1,000"),
        (0.9995, "about 9,995 in 10,000"),
        (0.0999, "about 1 in 10"),
        (0.04, "about 4 in 100"),
        (0.0034, "about 3 in 1,000"),
        (0.0001, "about 1 in 10,000"),
        (0.00009, "fewer than 1 in 10,000"),
        (0, "fewer than 1 in 10,000"),
        (0.99995, "more than 9,999 in 10,000"),
        (1, "more than 9,999 in 10,000"),
    ],
)
def test_frequencies(p, words):
    """Whole numbers in ten; in more towards the ends, so that the rarer outcome never rounds to none."""
    assert confidence_words(p, style="frequency") == words


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.7, 0.9, "likely (between 7 and 9 in 10)"),
        (0.72, 0.88, "likely (between 72 and 88 in 100)"),
        (0.72, 0.999, "likely (at least 7 in 10)"),
        (0.92, 0.999, "very likely (at least 92 in 100)"),
        (0.995, 1.0, "virtually certain (at least 995 in 1,000)"),
        (0.5, 1.0, "unclear (at least 5 in 10)"),
        (0.501, 1.0, "more likely than not (at least 5 in 10)"),
        (0.0, 0.499, "less likely than not (at most 5 in 10)"),
        (0.2, 0.45, "less likely than not (between 2 and 5 in 10)"),
        (0.4, 0.6, "about as likely as not (between 4 and 6 in 10)"),
        (0.33, 0.66, "about as likely as not (between 3 and 7 in 10)"),
        (0.32, 0.52, "unclear (between 3 and 6 in 10)"),
        (0.2, 0.8, "unclear (between 2 and 8 in 10)"),
        (0.0, 1.0, "unclear (anywhere from none to all)"),
        (0.001, 0.02, "very unlikely (between 1 and 20 in 1,000)"),
        (0.0, 0.008, "exceptionally unlikely (at most 8 in 1,000)"),
        (0.3, 0.3, "unlikely (about 3 in 10)"),
    ],
)
def test_intervals(low, high, words):
    """The first word whose range holds all of the interval, and ends rounded outwards."""
    assert confidence_words((low + high) / 2, (low, high)) == words


def test_never_certain_with_a_wide_interval():
    """However high the probability, the words are those of the interval's low end."""
    for low in (0.0, 0.3, 0.5, 0.7, 0.9, 0.98):
        words = confidence_words(0.999, (low, 1.0))
        assert "certain" not in words
        assert str(confidence_words(low, style="word")) in words or low <= 0.66
    assert "unclear" in confidence_words(0.999, (0.3, 1.0))


def test_the_words_are_true_of_the_interval():
    """For any interval the word's range holds it, and so do the numbers that are printed."""
    rng = np.random.default_rng(0)
    ranges = {word: (low, high) for word, low, high in SCALE} | {"unclear": (0, 1)}
    ends = np.sort(rng.random((500, 2)) ** rng.choice([0.05, 1, 20], (500, 1)), axis=1)
    for (low, high), words in zip(ends, confidence_words(ends.mean(axis=1), ends), strict=True):
        word, often = re.fullmatch(r"([a-z ]+) \((.+)\)", words).groups()
        assert ranges[word][0] <= low + 1e-7
        assert high - 1e-7 <= ranges[word][1]
        numbers = [int(number.replace(",", "")) for number in re.findall(r"[\d,]+", often)]
        if often.startswith("between"):
            first, last, out_of = numbers
            assert first / out_of - 1e-7 <= low <= high <= last / out_of + 1e-7
            assert last / out_of - first / out_of <= 2 * (high - low) + 2e-4
        elif often.startswith("at least"):
            assert numbers[0] / numbers[1] - 1e-7 <= low
        elif often.startswith("at most"):
            assert high <= numbers[0] / numbers[1] + 1e-7


def test_one_or_many():
    """A number gives a string, a list a list; intervals in either form."""
    assert confidence_words(0.3) == "unlikely (about 3 in 10)"
    assert confidence_words([0.3]) == ["unlikely (about 3 in 10)"]
    assert confidence_words(np.array([])) == []
    one = confidence_words(0.8, (0.7, 0.9))
    assert confidence_words(0.8, [0.7, 0.9]) == confidence_words(0.8, np.array([0.7, 0.9])) == one
    assert confidence_words([0.8, 0.8], np.array([[0.7, 0.9], [0.7, 0.9]])) == [one, one]
    assert confidence_words([0.8, 0.8], ([0.7, 0.7], [0.9, 0.9])) == [one, one]
    assert confidence_words(0.8, (0.7, 0.9), style="word") == "likely"
    assert confidence_words(0.8, (0.7, 0.9), style="frequency") == "between 7 and 9 in 10"


def test_frequencies_agree_with_fresh_outcomes():
    """Of rows said to happen "about k in m" times about so many do, and a word's rate lies in its range."""
    rng = np.random.default_rng(1)
    p = rng.beta(0.6, 0.6, 40_000)
    happened = rng.random(40_000) < p
    for style in ("frequency", "word"):
        words = np.array(confidence_words(p, style=style))
        for phrase in np.unique(words):
            rows = words == phrase
            noise = 4 * np.sqrt(max(p[rows].mean() * (1 - p[rows].mean()), 1e-4) / rows.sum()) + 4 / rows.sum()
            if style == "word":
                low, high = next((low, high) for word, low, high in SCALE if word == phrase)
            elif phrase.startswith("about"):
                count, out_of = (int(number.replace(",", "")) for number in re.findall(r"[\d,]+", phrase))
                low, high = (count - 0.5) / out_of, (count + 0.5) / out_of
            else:
                low, high = (0, 1e-4) if phrase.startswith("fewer") else (0.9999, 1)
            assert low - noise <= happened[rows].mean() <= high + noise, phrase


def test_words_for_venn_abers_intervals_hold_on_fresh_rows():
    """Recalibrated and put into words, over-confident scores keep to the words on rows never seen."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=12_000) * 2
    y = rng.random(12_000) < 1 / (1 + np.exp(-z))
    loud = 1 / (1 + np.exp(-3 * z))
    model = VennAbers().fit(loud[:4000], y[:4000])
    words = np.array(confidence_words(model.transform(loud[4000:]), model.predict_interval(loud[4000:]), style="word"))
    for word, low, high in SCALE:
        rows = words == word
        if rows.sum() >= 100:
            assert low - 0.05 <= y[4000:][rows].mean() <= high + 0.05, word
    said = np.array(confidence_words(loud[4000:], style="word"))
    assert y[4000:][said == "virtually certain"].mean() < 0.97  # without recalibration the words are not true


def test_bad_input_is_refused():
    """What is no probability, lies outside its interval, or has another shape."""
    with pytest.raises(InputError, match=r"p must lie in \[0, 1\], got 1\.2"):
        confidence_words(1.2)
    with pytest.raises(InputError, match="percentages"):
        confidence_words([80, 20])
    with pytest.raises(InputError, match="lies outside its interval"):
        confidence_words(0.5, (0.6, 0.9))
    with pytest.raises(InputError, match=r"interval must lie in \[0, 1\]"):
        confidence_words(0.5, (-0.2, 0.9))
    with pytest.raises(InputError, match="one probability or a list"):
        confidence_words([[0.5]])
    with pytest.raises(InputError, match="style must be one of 'both'"):
        confidence_words(0.5, style="long")
    with pytest.raises(InputError, match="NaN"):
        confidence_words(float("nan"))
