"""R: logistic recalibration (glm), loess, lowess, isotonic regression, and what follows from them in base statements."""

from inputs import beyond
from recording_r import RRecorder

record = RRecorder("R", {}, also=("MASS",), on=beyond)

LARGE = "glm(y ~ offset(logits(p)), binomial, control = tight{weights})"
COX = "glm(y ~ logits(p), binomial, control = tight{weights})"
GRID = "seq(min(p), max(p), length.out = 21)"
LOESS = "loess(y ~ p, span = {span}, degree = {degree}, control = direct)"
ROWS = "rep(p, 8 * w), rep(y, 8 * w)"  # weights are eighths: rows repeated say the same

for name, given in beyond().items():
    if given.p.ndim == 2:
        continue
    certain = given.p.min() == 0 or given.p.max() == 1  # glm with such an offset stops early or runs away
    fits = ((LARGE, "in the large"), (COX, "slope and intercept"))[int(certain) :]
    if given.w is not None:
        record(name, "large(p, y, w)", "weighted in the large: root of the score")
        for fit, quantity in fits:
            text = fit.replace("{weights}", ", weights = w")
            record(name, f"unname(coef({text}))", f"weighted {quantity}")
            record(name, f"robust({text})", f"weighted {quantity}: sandwich se")
        record(name, f"isotonic({ROWS})[cumsum(8 * w)[w > 0]]", "weighted isotonic, rows of weight")
        for score in ("brier", "logarithmic"):
            record(name, f"corp({ROWS}, {score})", "weighted corp", score=score)
        record(name, "spiegelhalter(p, y, w)", "weighted spiegelhalter (z, p)")
        record(name, "observed_expected(p, y, w)", "weighted observed_expected (ratio, low, high)")
        if name != "smooth_weighted":  # three quarters of its weight is not a whole number of eighths
            for degree in (0, 1, 2):
                text = "predict(loess(yy ~ pp, span = {span}, degree = {degree}, control = direct), {grid})"
                text = text.replace("{grid}", GRID)
                text = f"{{ pp <- rep(p, 8 * w); yy <- rep(y, 8 * w); unname({text}) }}"
                record(name, text, "weighted loess on a grid", span=0.75, degree=degree)
        continue

    for fit, quantity in fits:
        text = fit.replace("{weights}", "")
        record(name, f"wald({text})", quantity)
        if name != "constant":
            record(name, f"robust({text})", f"{quantity}: sandwich se")
        if name != "constant" or quantity == "in the large":
            record(name, f"as.vector(confint({text}))", f"{quantity}: profile by confint")
    record(name, "large(p, y)", "in the large: root of the score")
    record(name, "profile_large(p, y)", "in the large: profile")
    if name != "constant":
        record(name, "profile_cox(p, y, 2)", "slope: profile")
        record(name, "profile_cox(p, y, 1)", "intercept: profile")

    record(name, "spiegelhalter(p, y)", "spiegelhalter (z, p)")
    record(name, "observed_expected(p, y)", "observed_expected (ratio, low, high)")
    for g in (5, 10):
        record(name, "hosmer_lemeshow(p, y, {g})", "hosmer_lemeshow", g=g)
        record(name, "murphy(p, y, {m})", "murphy", m=g)

    if name != "many":
        record(name, "isotonic(p, y)", "isotonic")
    for score in ("brier", "logarithmic"):
        record(name, f"corp(p, y, {score})", "corp", score=score)

    if len(given.p) % 4 == 0 and name != "ties":  # scores 1e-9 apart alone in a window: slopes without meaning
        for span in (0.75,) if name == "half_saturated" else (0.5, 0.75):  # half at one score: R fits 0 there
            for degree in (0, 1, 2):
                record(name, f"unname(predict({LOESS}, {GRID}))", "loess on a grid", span=span, degree=degree)
                for kind in (1, 7):
                    text = f"index(limited(fitted({LOESS})), p, type = {{type}})"
                    record(name, text, "loess index", span=span, degree=degree, type=kind)
        if name != "many":
            record(name, "lowess(p, y, f = {f}, iter = 0, delta = 0)$y", "lowess at the sorted data", f=0.75)

record.write()
