"""Every metric and a few maps on many rows, as JSON: a program, which `tests/test_integer_width.py` runs in two ways.

With the argument `narrow`, NumPy's default integer has 32 bits. It runs as it is on 32-bit processors, too.
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np

if "narrow" in sys.argv:
    import tests.narrow_integers

    assert tests.narrow_integers

import believable
from believable import METRICS, Predictions, interval
from believable.errors import UndefinedError
from believable.recalibrate.facts import as_method

N_ROWS = 120_000  # a quarter of its square, the pairs of a positive and a negative, is more than 2**31
N_CLASS_ROWS = 3_000
SLOW = {"skce"}  # compares all pairs of rows


def rows(kind, label, score):
    """Return scores and labels of these types."""
    rng = np.random.default_rng(0)
    if kind == "binary":
        scores = rng.random(N_ROWS).astype(score)
        return scores, (rng.random(N_ROWS) < scores**1.2).astype(label)
    matrix = rng.dirichlet(np.ones(50), N_CLASS_ROWS).astype(score)
    if kind == "multilabel":
        return matrix, (rng.random(matrix.shape) < matrix).astype(label)
    return matrix, (rng.random((len(matrix), 1)) < np.cumsum(matrix, axis=1)[:, :-1]).argmax(axis=1).astype(label)


def values(label="int64", score="float64"):
    """Return the value of every metric on rows of these types, by alias and kind, and of some maps and intervals."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in ("binary", "multiclass", "multilabel"):
            scores, labels = rows(kind, label, score)
            data = Predictions(scores, labels, multilabel=kind == "multilabel")
            for row in METRICS.values():
                if kind not in row.kinds or row.alias in SLOW:
                    continue
                try:
                    value = row.function(data)
                except UndefinedError:
                    continue
                found[f"{row.alias} {kind}"] = float(getattr(value, "squared", value))
        found["ace, many bins"] = believable.expected_calibration_error(
            *rows("binary", label, score), n_bins=N_ROWS // 4, strategy="quantile"
        )
        for alias in ("ece", "brier", "auc"):
            scores, labels = rows("binary", label, score)
            between = interval(alias, scores, labels, n_resamples=100, random_state=0)
            found |= {f"{alias} low": between.low, f"{alias} high": between.high}
        for method in ("histogram", "isotonic", "venn_abers"):
            fitted = as_method(method).fit(*rows("binary", label, score))
            found[f"{method} map"] = float(fitted.transform(np.linspace(0, 1, 1001)) @ np.arange(1001.0))
    return found


if __name__ == "__main__":
    print(json.dumps(values()))
