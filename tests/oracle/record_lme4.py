"""lme4 (R): logistic regressions whose intercept and slope vary among levels, by glmer."""

from inputs import by_level
from recording_r import RRecorder

record = RRecorder("lme4", {}, also=("R",), on=by_level)

LEVELS = {"one column": "(1 + z | g)", "two columns": "(1 + z | g) + (1 + z | h)"}

for what, terms in LEVELS.items():
    record("by_level", f"mixed(y ~ z + {terms}, p, y)", what)

record.write()
