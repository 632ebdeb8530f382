"""scikit-learn: isotonic, sigmoid and temperature calibration, logistic regressions without penalty, and its wrapper."""

import numpy as np
import sklearn.calibration
import sklearn.isotonic
import sklearn.linear_model
from inputs import recalibrating
from recording import Recorder
from sklearn.linear_model import RidgeClassifier


def logits(p):
    return np.log(p) - np.log1p(-p)


def exact():
    """Maximum likelihood without penalty, iterated to the end."""
    return sklearn.linear_model.LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-14, max_iter=1000)


def shares(fitted, x):
    """Also the second class alone of two."""
    p = fitted.predict_proba(x)
    return p[:, 1] if p.shape[1] == 2 else p


names = {
    "sklearn": sklearn,
    "np": np,
    "logits": logits,
    "exact": exact,
    "shares": shares,
    "RidgeClassifier": RidgeClassifier,
}
record = Recorder("scikit-learn", names, also=("scipy",), on=recalibrating)

for name, given in recalibrating().items():
    weights = "" if given.w is None else ", sample_weight=w"
    inside = given.p.min() > 0 and given.p.max() < 1
    if given.p.ndim == 1:
        text = f"sklearn.isotonic.IsotonicRegression(out_of_bounds='clip').fit(p, y{weights})"
        record(name, f"{text}.predict(np.arange(81) / 80)", "isotonic")
        text = f"sklearn.calibration._SigmoidCalibration().fit(p, y{weights}).predict(np.arange(81) / 80)"
        record(name, text, "sigmoid of scores")
        if inside:
            text = f"shares(exact().fit(logits(p)[:, None], y{weights}), logits(np.arange(1, 40) / 40)[:, None])"
            record(name, text, "logistic regression on the logit")
            text = f"sklearn.calibration._TemperatureScaling().fit(logits(p), y{weights})"
            record(name, f"{text}.predict(logits(np.arange(1, 40) / 40))[:, 1]", "temperature")
        features = "np.column_stack([p, p * p])"
    else:
        text = f"sklearn.calibration._TemperatureScaling().fit(p, y{weights})"
        record(name, f"{text}.predict(p[:30])", "temperature")
        record(name, f"1 / {text}.beta_", "temperature (T)")
        text = f"shares(exact().fit(np.log(p), y{weights}), np.log(p[:30]))"
        record(name, text, "logistic regression on log p")
        features = "p"
    for method in ("sigmoid", "isotonic", "temperature"):
        for ensemble in (False, True):
            text = (
                f"shares(sklearn.calibration.CalibratedClassifierCV(RidgeClassifier(), method={{method}}, cv=5, "
                f"ensemble={{ensemble}}).fit({features}, y{weights}), {features}[:30])"
            )
            record(name, text, "CalibratedClassifierCV", method=method, ensemble=ensemble)

record.write()
