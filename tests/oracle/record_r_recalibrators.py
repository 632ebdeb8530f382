"""R: recalibration by glm (Platt, beta), isoreg and loess, and by the beta distribution function of pbeta."""

from inputs import recalibrating
from recording_r import RRecorder

record = RRecorder("R", {}, also=("MASS",), on=recalibrating)

GRID = "data.frame(p = (1:39) / 40)"
GLM = "glm({formula}, {family}, control = tight{weights})"
PLATT, BETA_AB = "y ~ logits(p)", "y ~ 0 + log(2 * p) + log(2 - 2 * p)"
BETA = {"abm": "y ~ log(p) + log1p(-p)", "a": "y ~ log(p)", "b": "y ~ log1p(-p)"}
ISOTONIC = "{ o <- order(p); approx(p[o], isotonic(p, y)[o], (0:80) / 80, rule = 2, ties = 'ordered')$y }"
CDF = (
    "{ loss <- function(t) -sum(W * (y * pbeta(p, exp(t[1]), exp(t[2]), log.p = TRUE) + (1 - y) * "
    "pbeta(p, exp(t[1]), exp(t[2]), lower.tail = FALSE, log.p = TRUE))); best <- optim(c(0, 0), loss, control = "
    "list(reltol = 1e-16, maxit = 5000)); for (again in 1:5) best <- optim(best$par, loss, control = "
    "list(reltol = 1e-16, maxit = 5000)); pbeta((1:39) / 40, exp(best$par[1]), exp(best$par[2])) }"
)


def fitted(formula: str, weights: str, family: str = "binomial") -> str:
    """The map of a logistic regression at the grid."""
    fit = GLM.replace("{formula}", formula).replace("{weights}", weights).replace("{family}", family)
    return f"unname(predict({fit}, {GRID}, type = 'response'))"


for name, given in recalibrating().items():
    if given.p.ndim == 2:
        continue
    weights = "" if given.w is None else ", weights = w"
    weight = "1" if given.w is None else "w"
    inside = given.p.min() > 0 and given.p.max() < 1
    record(name, fitted(PLATT, weights), "platt")
    moved = (
        f"{{ n1 <- sum({weight} * y); n0 <- sum({weight} * (1 - y)); t <- ifelse(y == 1, (n1 + 1) / (n1 + 2), "
        f"1 / (n0 + 2)); {fitted('t ~ logits(p)', weights, 'quasibinomial')} }}"
    )
    record(name, moved, "platt, smoothed targets")
    if inside:
        for which, formula in BETA.items():
            record(name, fitted(formula, weights), "beta", columns=which)
            text = GLM.replace("{formula}", formula).replace("{weights}", weights).replace("{family}", "binomial")
            record(name, f"unname(coef({text}))", "beta: coefficients", columns=which)
        record(name, fitted(BETA_AB, weights), "beta ab")
        text = GLM.replace("{formula}", BETA_AB).replace("{weights}", weights).replace("{family}", "binomial")
        record(name, f"unname(coef({text}))", "beta ab: coefficients")
        if name not in ("sinking", "falling"):  # there it has no maximum inside
            record(name, CDF.replace("W *", f"{weight} *"), "beta_cdf")
    if given.w is None:
        record(name, "as.stepfun(isoreg(p, y))((0:80) / 80)", "isotonic, steps")
        if name != "ties":
            record(name, ISOTONIC, "isotonic")
        if inside and len(given.p) % 4 == 0 and name != "ties":
            text = "unname(predict(loess(y ~ p, span = {span}, degree = {degree}, control = direct), p[1:60]))"
            for degree in (0, 1, 2):
                record(name, text, "loess at rows", span=0.75, degree=degree)

record.write()
