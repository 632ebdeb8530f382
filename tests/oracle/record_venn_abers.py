"""venn-abers: inductive prediction for one event, one against the rest or one; cross prediction of five folds."""

import numpy as np
from inputs import recalibrating
from recording import Recorder
from sklearn.naive_bayes import GaussianNB
from venn_abers import venn_abers


def columns(p):
    """What it takes for scores of one event: both classes."""
    return np.column_stack([1 - p, p])


def fitted(model, x, y):
    """Its `fit` returns nothing."""
    model.fit(x, y)
    return model


names = {"venn_abers": venn_abers, "np": np, "GaussianNB": GaussianNB, "columns": columns, "fitted": fitted}
record = Recorder("venn-abers", names, also=("scipy", "scikit-learn"), on=recalibrating)

GRID = "columns(np.arange(81) / 80)"  # half of the steps are between scores of heaped_tenths, which are steps of 1/10

for name, given in recalibrating().items():
    if given.w is not None:  # it takes no weights
        continue
    if given.p.ndim == 1 or given.p.shape[1] == 2:
        scores = "columns(p)" if given.p.ndim == 1 else "p"
        text = f"venn_abers.VennAbers().fit({scores}, y).predict_proba({GRID})"
        record(name, f"{text}[0][:, 1]", "venn_abers")
        record(name, f"{text}[1]", "venn_abers (p0, p1)")
    else:
        text = "venn_abers.predict_proba_prefitted_va(p, y, p[:30], va_tpe='one_vs_rest')"
        record(name, f"{text}[0]", "venn_abers")
        record(name, f"{text}[1]", "venn_abers (p0, p1)")
        record(name, "venn_abers.predict_proba_prefitted_va(p, y, p[:30])[0]", "venn_abers, one against one")
    if given.p.ndim == 1:
        model = "venn_abers.VennAbersCV(GaussianNB(), inductive=False, n_splits=5, shuffle=False, cv_ensemble=True)"
        text = f"fitted({model}, p[:, None], y).predict_proba(p[:60, None])[:, 1]"
        record(name, text, "cross venn_abers of GaussianNB")

record.write()
