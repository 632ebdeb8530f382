"""model-diagnostics: the CORP decomposition of the squared error and of the log loss, with weights."""

import model_diagnostics.scoring as scoring
from inputs import beyond
from recording import Recorder

record = Recorder(
    "model-diagnostics",
    {"scoring": scoring},
    also=("scipy", "scikit-learn"),
    note="scoring is model_diagnostics.scoring",
    on=beyond,
)

for name, given in beyond().items():
    if given.p.ndim == 1:
        weights = "" if given.w is None else ", w"
        for score in ("SquaredError", "LogLoss"):
            text = f"scoring.decompose(y, p{weights}, scoring_function=scoring.{score}()).row(0)"
            record(name, text, f"decompose {score} (mcb, dsc, unc, score)")

record.write()
