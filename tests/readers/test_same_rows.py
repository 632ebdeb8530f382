"""Two files for the same rows: what differs is named."""

from __future__ import annotations

import pytest

from believable import Predictions
from believable.errors import InputError
from believable.readers import Loaded
from believable.readers.same_rows import refuse_other_rows


def loaded(*arguments, **options):
    return Loaded(Predictions(*arguments, **options), "title", "taken")


ONE = loaded([0.5, 0.25, 0.75], [0, 1, 1])


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (loaded([0.5, 0.25], [0, 1]), "a has 3 rows and b 2: a comparison needs the same rows in the same order"),
        (loaded([0.5, 0.25, 0.75], [0, 1, 0]), "the labels of a and b differ at row 2: a comparison needs"),
        (loaded([0.5, 0.25, 0.75], [1, 1, 0]), "differ at row 0, and at 1 more"),
        (loaded([0.5, 0.2, 0.7], [0, 1, 1], sample_weight=[1, 2, 1]), "the weights of a and b differ"),
        (
            loaded([[0.5, 0.5]] * 3, [0, 1, 1]),
            "differ in kind: a has one score per row and b has a score for each class",
        ),
    ],
)
def test_what_differs_is_named(other, sentence):
    """Number of rows, labels, weights, kind."""
    with pytest.raises(InputError, match=sentence):
        refuse_other_rows(ONE, other, "a", "b")


def test_classes_must_agree():
    """The same number of classes under other names is another problem."""
    cats, owls = (loaded([[0.5, 0.5]], [name], classes=["dog", name]) for name in ("cat", "owl"))
    with pytest.raises(InputError, match="the classes differ: a has dog, cat, b has dog, owl"):
        refuse_other_rows(cats, owls, "a", "b")


def test_the_same_rows_pass():
    """Other scores are what a comparison is about; weights of 1 are no weights."""
    refuse_other_rows(ONE, loaded([0.1, 0.2, 0.3], [0, 1, 1]), "a", "b")
    refuse_other_rows(ONE, loaded([0.1, 0.2, 0.3], [0, 1, 1], sample_weight=[1, 1, 1]), "a", "b")
