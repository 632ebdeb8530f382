"""The data set that ships with the package."""

from __future__ import annotations

from importlib.resources import as_file, files

from believable.predictions import Predictions
from believable.readers.files import read_predictions

MODELS = ("naive_bayes", "logistic")


def load_demo() -> dict[str, Predictions]:
    """Held-out predictions of two models: is a handwritten digit odd?

    Naive Bayes is over-confident, logistic regression is not. 1797 rows each, by 5-fold cross-validation on the digits
    bundled with scikit-learn.

    Examples
    --------
    >>> import believable
    >>> {name: round(believable.expected_calibration_error(model), 3) for name, model in load_demo().items()}
    {'naive_bayes': 0.111, 'logistic': 0.01}
    """
    with as_file(files("believable") / "data" / "odd_digits.csv") as path:
        return {name: read_predictions(path, prob=name, label="odd") for name in MODELS}
