"""`Loaded`: what a reader hands over, whatever the file was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from believable._types import Array, Ints
from believable.predictions import Predictions


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """Checked predictions with what else the file says about their rows.

    Attributes
    ----------
    predictions : Predictions
    title : str
        What to call it: the name of the file.
    taken : str
        What was read as what, in words: "scores p, labels y".
    groups : ndarray or None
        The cluster of each row of `predictions`.
    by : dict of str to ndarray
        Columns of subgroups, each with one entry for each row of `predictions`.
    dropped : dict of str to int
        Rows that were left out, by reason.
    notes : tuple of str
        Sentences that belong into the report, such as how raw scores became probabilities.
    pairs : bool
        Whether the scores are confidences in an answer, and the labels whether it was right.
    raw : ndarray or None
        The logits that the predictions were made of, where these are what the file holds.
    rows : ndarray of int or None
        The rows of the file, from 0, that are left; None where all are, or they are not one to one.
    """

    predictions: Predictions
    title: str
    taken: str
    groups: Array | None = None
    by: Mapping[str, Array] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    pairs: bool = False
    raw: Array | None = None
    rows: Ints | None = None
