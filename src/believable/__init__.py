"""Are my numeric scores believable probabilities?

Measure, see, judge and fix the calibration of classifiers. Scores first, outcomes second:

>>> import believable
>>> round(believable.expected_calibration_error([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], n_bins=2), 12)
0.15
"""

# The public names are listed in __init__.pyi, with where they come from, and loaded when they are first used.
from believable._lazy import attach as _attach

__getattr__, __dir__ = _attach(globals())
