"""scikit-learn: calibration curves, Brier, log loss, AUC, accuracy, D2."""

import numpy as np
import sklearn.calibration
import sklearn.metrics
from recording import Recorder, binary, matrices, weighted

record = Recorder("scikit-learn", {"np": np, "sklearn": sklearn}, also=("scipy",))

CURVE = "sklearn.calibration.calibration_curve(y, p, n_bins={n_bins}, strategy={strategy})"
for name, _ in binary():
    for n_bins in (5, 10, 15, 30):
        for strategy in ("uniform", "quantile"):
            record(name, CURVE, "calibration_curve (prob_true, prob_pred)", n_bins=n_bins, strategy=strategy)
    record(name, "sklearn.metrics.brier_score_loss(y, p)", "brier")
    record(name, "sklearn.metrics.log_loss(y, p)", "log_loss")
    record(name, "sklearn.metrics.roc_auc_score(y, p)", "auc")
    record(name, "sklearn.metrics.accuracy_score(y, (p > 0.5).astype(int))", "accuracy")
    record(name, "sklearn.metrics.d2_brier_score(y, p)", "d2_brier")

BRIER = "sklearn.metrics.brier_score_loss(y, p, labels=np.arange(p.shape[1]), scale_by_half={scale_by_half})"
for name, given in matrices():
    for half in (False, True):
        record(name, BRIER, "brier", scale_by_half=half)
    record(name, "sklearn.metrics.log_loss(y, p, labels=np.arange(p.shape[1]))", "log_loss")
    if given.p.shape[1] == 2:
        record(name, "sklearn.metrics.roc_auc_score(y, p[:, 1])", "auc")
    else:
        record(name, "sklearn.metrics.roc_auc_score(y, p, multi_class='ovr', average='macro')", "auc")
    record(name, "sklearn.metrics.accuracy_score(y, p.argmax(axis=1))", "accuracy")
    record(name, "sklearn.metrics.d2_brier_score(y, p, labels=np.arange(p.shape[1]))", "d2_brier")

for name, given in weighted():
    if given.p.ndim == 1:
        record(name, "sklearn.metrics.brier_score_loss(y, p, sample_weight=w)", "brier")
        record(name, "sklearn.metrics.log_loss(y, p, sample_weight=w)", "log_loss")
        record(name, "sklearn.metrics.roc_auc_score(y, p, sample_weight=w)", "auc")
        record(name, "sklearn.metrics.accuracy_score(y, (p > 0.5).astype(int), sample_weight=w)", "accuracy")
        record(name, "sklearn.metrics.d2_brier_score(y, p, sample_weight=w)", "d2_brier")
    else:
        for half in (False, True):
            record(name, BRIER.replace("scale", "sample_weight=w, scale", 1), "brier", scale_by_half=half)
        record(name, "sklearn.metrics.log_loss(y, p, sample_weight=w, labels=np.arange(p.shape[1]))", "log_loss")
        record(name, "sklearn.metrics.roc_auc_score(y, p, multi_class='ovr', average='macro', sample_weight=w)", "auc")
        record(name, "sklearn.metrics.accuracy_score(y, p.argmax(axis=1), sample_weight=w)", "accuracy")

record.write()
