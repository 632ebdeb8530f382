"""`Scores`: what a recalibrator is handed, checked once, in whatever form its formula wants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from believable import _check, kernels
from believable._types import Array, Float64s, Floats
from believable.errors import InputError

Input = Literal["probabilities", "logits", "scores"]
INPUTS: tuple[Input, ...] = get_args(Input)
LARGEST = float(np.finfo(np.float64).max)
SMALLEST = 1e-12  # probabilities are moved to this before their logarithm is taken


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores of one event (n,), or of K > 2 classes (n, K). Two columns have become one.

    Differences of logits that no float can hold become the largest float, of the same sign.

    Attributes
    ----------
    values : ndarray
        Finite; in [0, 1] for probabilities.
    input : {"probabilities", "logits", "scores"}
        What they are.
    multilabel : bool
        Columns are events of their own, two of them also; a logit is the log-odds of its event.
    ends : tuple of two ndarray, optional
        The lowest and the highest score that each value stands for, where it is the mean of a cell.
    """

    values: Floats
    input: Input
    multilabel: bool = False
    ends: tuple[Float64s, Float64s] | None = None

    @classmethod
    def of(cls, array: Array, input: Input, given: object = None, multilabel: bool = False) -> Scores:
        """Check an array of shape (n,), (n, 1) or (n, K); `given` is what it was made from."""
        _check.choice(input, INPUTS, "input")
        values = _check.numeric(array, "X")
        if values.ndim not in (1, 2):
            raise InputError(f"X must be 1-D (one score per row) or 2-D (one column per class), got {values.shape}")
        if input != "probabilities":
            _check.finite(values, "X", None)
        else:
            _check.probabilities(values, "X", None, "these look like logits: make it with input='logits'")
            if values.ndim == 2 and values.shape[1] > 1 and not multilabel:
                _check.row_sums(
                    values, array if given is None else given, None, "X", "input='logits' or input='scores'"
                )
        if multilabel:
            if values.ndim == 1 or values.shape[1] == 1:
                raise InputError("multilabel=True needs scores with one column per label, got those of one event")
            return cls(values, input, multilabel)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        elif values.ndim == 2 and values.shape[1] == 2:
            first, second = values[:, 0], values[:, 1]
            values = second if input == "probabilities" else _difference(second.astype(np.float64), first)
        return cls(values, input)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def n_classes(self) -> int:
        """K; two for scores of one event."""
        return self.values.shape[1] if self.values.ndim == 2 else 2

    def take(self, rows: Array) -> Scores:
        """Some of the rows."""
        return Scores(self.values[rows], self.input, self.multilabel)

    def of_class(self, k: int) -> Scores:
        """The scores of one class against the rest.

        A logit becomes the log-odds of its class, z_k - log(sum of exp(z_j), j != k), so that logits and the
        probabilities they stand for give one map.
        """
        if self.input != "logits" or self.multilabel:
            return Scores(np.ascontiguousarray(self.values[:, k]), self.input)
        others = np.delete(self.values, k, axis=1).astype(np.float64)
        top = others.max(axis=1)
        with np.errstate(over="ignore", under="ignore"):
            rest = top + np.log(np.exp(others - top[:, None]).sum(axis=1))
        return Scores(_difference(self.values[:, k], rest), self.input)

    def raw(self) -> Float64s:
        """Scores of one event as they came."""
        return self.values.astype(np.float64, copy=False)

    def lowest(self) -> Float64s:
        """Where a step belongs that begins with a score: below all rows of its cell, as a mean is rounded."""
        return self.raw() if self.ends is None else self.ends[0]

    def highest(self) -> Float64s:
        """Where a step belongs that ends with a score."""
        return self.raw() if self.ends is None else self.ends[1]

    def logit(self) -> Float64s:
        """Log-odds of one event, of probabilities in [1e-12, 1 - 1e-12]; logits and scores as they are."""
        return kernels.clipped_logit(self.raw()) if self.input == "probabilities" else self.raw()

    def probability(self) -> Float64s:
        """Probabilities of one event."""
        return kernels.sigmoid(self.values) if self.input == "logits" else self.raw()

    def logs(self) -> tuple[Float64s, Float64s]:
        """log(1 - p) and log p of one event, of p in [1e-12, 1 - 1e-12]; exact in both tails for logits."""
        if self.input == "logits":
            z = self.raw()
            tail = np.log1p(np.exp(-np.abs(z)))
            return -(np.maximum(z, 0) + tail), -(np.maximum(-z, 0) + tail)
        p = np.clip(self.raw(), SMALLEST, 1 - SMALLEST)
        # The float 1 - 1e-12 is not quite that, and the two ends have to be opposites.
        return np.where(p >= 1 - SMALLEST, np.log(SMALLEST), np.log1p(-p)), np.log(p)

    def logit_matrix(self) -> Floats:
        """A column of logits per class: log p of probabilities in [1e-12, 1], logits as they are.

        One event has the columns log(1 - p), log p, or -z/2, z/2.
        """
        if self.values.ndim == 1:
            if self.input == "probabilities":
                return np.column_stack(self.logs())
            half = self.raw() / 2
            return np.column_stack([-half, half])
        if self.input == "probabilities":
            clipped = np.maximum(self.values, SMALLEST)
            return np.log(clipped, out=clipped)
        return self.values


def _difference(one: Floats, other: Floats) -> Float64s:
    """one - other; the largest float where that is beyond it."""
    with np.errstate(over="ignore"):
        return np.clip(np.subtract(one, other, dtype=np.float64), -LARGEST, LARGEST)
