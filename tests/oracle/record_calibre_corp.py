"""calibre: the CORP diagram and decomposition, with weights."""

import calibre
from inputs import beyond
from recording import Recorder

record = Recorder("calibre", {"calibre": calibre}, also=("scipy", "scikit-learn"), on=beyond)

for name, given in beyond().items():
    if given.p.ndim == 1:
        weights = "" if given.w is None else ", sample_weight=w"
        for score in ("brier", "log"):
            text = f"calibre.score_decomposition(y, p, score={{score}}{weights})"
            record(name, text, "score_decomposition", score=score)
        if name == "many":
            continue
        text = f"calibre.corp_reliability(y, p{weights}).event_probabilities"
        record(name, text, "corp_reliability at the distinct scores")

record.write()
