"""What can go wrong, by name. Every exception of this package is a `BelievableError`."""

__all__ = [
    "BelievableError",
    "ClippedWarning",
    "CoarseCellsWarning",
    "InputError",
    "LimitWarning",
    "MergeError",
    "MissingDependencyError",
    "SchemaError",
    "SmallSampleWarning",
    "UndefinedError",
]


class BelievableError(Exception):
    """Base of everything this package raises on purpose."""


class InputError(BelievableError, ValueError):
    """The input is not what the function takes; the message says what, where and what to do."""


class UndefinedError(BelievableError, ValueError):
    """The input is fine, but this number does not exist for it (AUC with one class, say)."""


class MergeError(BelievableError, ValueError):
    """Two statistics count different things and cannot be added."""


class SchemaError(BelievableError, ValueError):
    """A saved form is damaged, foreign, or written by a newer version."""


class MissingDependencyError(BelievableError, ImportError):
    """An optional package is needed; the message says which and how to install it."""


class ClippedWarning(UserWarning):
    """Scores of exactly 0 or 1 (or nearly) were moved inwards, because their logits are infinite."""


class SmallSampleWarning(UserWarning):
    """There are fewer rows than the method needs to be better than chance."""


class LimitWarning(UserWarning):
    """The data do not determine the map (classes are separated, say), so a documented limit was taken."""


class CoarseCellsWarning(UserWarning):
    """Scores that this number tells apart share a cell; count on the logit-spaced grid too."""
