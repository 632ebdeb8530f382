"""Arguments of every public function, spoilt one at a time: a sentence comes before any work, and before any memory."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import believable
from believable.errors import InputError
from tests.calls import CALLS, M, P, Y

WORDS = ("Literal", "Strategy", "Notion", "Style", "Rule", "Score", "Input", "Spacing", "Norm", "Degree", "SampleBy")
NOT_WORDS = ("classes", "by", "cells", "dropped")
# Larger counts make sense here and take no memory: powers, rows, times, and what is cut to what there is.
ANY_COUNT = {
    *("norm", "every", "windows", "wait", "history", "max_classes", "n_columns", "max_groups", "r"),
    "neighbours",  # of which there are at most as many as rows
    "random_state",
}


def arguments(kind):
    """Return (function, argument) for every public argument whose annotation says that it is of this kind."""
    found = []
    for name, call in CALLS.items():
        for each in inspect.signature(call.function).parameters.values():
            annotation = str(each.annotation)
            if each.name in NOT_WORDS:
                continue
            if (
                (kind == "flag" and "bool" in annotation)
                or (kind == "word" and any(word in annotation for word in WORDS) and "Callable" not in annotation)
                or (kind == "number" and annotation in ("float", "float | None"))
                or (kind == "count" and annotation in ("int", "int | None", "Any") and _is_count(each))
            ):
                found.append((name, each.name))
    return found


def _is_count(parameter):
    by_default = isinstance(parameter.default, int) and not isinstance(parameter.default, bool)
    return (by_default or "int" in str(parameter.annotation)) and parameter.name not in ANY_COUNT


def refused(name, argument, value):
    """Return the message with which a value is refused."""
    with pytest.raises(InputError) as error:
        CALLS[name](**{argument: value})
    return str(error.value)


def unclear_values():
    pandas = pytest.importorskip("pandas")
    return [np.array([True, False]), np.array([]), np.array(["a", "b"]), pandas.NA]


def test_calls_are_valid():
    """Every public function is here, and these calls succeed; the rest of this file spoils them."""
    assert len(CALLS) > 120
    for name in ("expected_calibration_error", "selective", "PlattScaling", "Predictions", "DriftAlarm", "GCE"):
        CALLS[name]()


@pytest.mark.parametrize(("name", "argument"), arguments("flag"))
def test_flags_are_true_or_false(name, argument):
    """An array or a missing value is neither, and "no" is not False."""
    for value in [*unclear_values(), "no", 1]:
        assert refused(name, argument, value).startswith(f"{argument} must be True")


@pytest.mark.parametrize(("name", "argument"), arguments("word"))
def test_words_are_one_of_those_known(name, argument):
    """An array or a missing value is none of them, and is not asked whether it is true."""
    for value in unclear_values():
        said = refused(name, argument, value)
        assert argument.removesuffix("s") in said
        assert "truth value" not in said


@pytest.mark.parametrize(("name", "argument"), arguments("number"))
def test_numbers_are_numbers(name, argument):
    """Not several of them, nor a missing one, nor text."""
    for value in [*unclear_values(), "0.5", np.nan]:
        assert argument in refused(name, argument, value)


@pytest.mark.parametrize(("name", "argument"), arguments("count"))
def test_absurd_counts_are_refused_before_memory_is_asked_for(name, argument):
    """One thousand million, and a number that no machine can count to."""
    for value in (10**9, 2**70, np.int64(2**40)):
        assert argument in refused(name, argument, value)


def test_largest_counts_are_said():
    """And counts without a smaller limit end where doubles are no longer exact."""
    with pytest.raises(InputError, match=r"n_bins must be an integer from 1 to 1000000, got 1000001"):
        believable.expected_calibration_error(P, Y, n_bins=1_000_001)
    with pytest.raises(InputError, match=r"n_groups must be an integer at most 1,000,000, got 1180591620717411303424"):
        believable.hosmer_lemeshow(P, Y, n_groups=2**70)
    with pytest.raises(InputError, match=r"windows must be an integer at most 9,007,199,254,740,992"):
        believable.CalibrationMonitor(every=10, windows=2**70)


@pytest.mark.parametrize("metric", [lambda p: 0.5, lambda p, y, must: 0.5, lambda: 0.5])
def test_metrics_of_the_wrong_arity_are_refused_first(metric):
    """By every function that takes one."""
    for ask in (
        lambda: believable.interval(metric, P, Y),
        lambda: believable.noise_floor(metric, P, Y),
        lambda: believable.compare(P, P**2, Y, metric=metric),
        lambda: believable.subgroups(P, Y, by=Y, metric=metric),
    ):
        with pytest.raises(InputError, match=r"metric must be a function that can be called as metric\(scores, labels"):
            ask()


def test_metrics_must_take_the_options_and_weights_that_are_given():
    """Otherwise they would fail in the middle, or be called without them."""
    with pytest.raises(InputError, match=r"sample_weight=..., power=...\), but <lambda>"):
        believable.interval(lambda p, y: 0.5, P, Y, sample_weight=P, options={"power": 2})
    given = believable.interval(lambda p, y, **options: 0.5, P, Y, sample_weight=P, options={"power": 2})
    assert given.value == 0.5


@pytest.mark.parametrize("kernel", [lambda x: x, lambda x, y, z: x])
def test_kernels_of_the_wrong_arity_are_refused_first(kernel):
    """They take two blocks of rows."""
    for ask in (believable.kernel_calibration_error, believable.kernel_calibration_test):
        with pytest.raises(InputError, match=r"kernel must be a function that can be called as kernel\(x, y\)"):
            ask(M, Y, kernel=kernel)
