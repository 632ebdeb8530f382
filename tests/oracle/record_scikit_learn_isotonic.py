"""scikit-learn: isotonic regression of the labels on the scores, read at the scores, with weights."""

import sklearn.isotonic
from inputs import beyond
from recording import Recorder

record = Recorder("scikit-learn", {"sklearn": sklearn}, also=("scipy",), on=beyond)

for name, given in beyond().items():
    if given.p.ndim == 1 and name != "many":
        weights = "" if given.w is None else ", sample_weight=w"
        record(name, f"sklearn.isotonic.IsotonicRegression().fit(p, y{weights}).predict(p)", "isotonic")

record.write()
