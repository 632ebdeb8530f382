"""statsmodels: logistic recalibration by GLM (offset, weights, sandwich covariance) and lowess without interpolation."""

import numpy as np
import statsmodels.api as sm
from inputs import beyond
from recording import Recorder

record = Recorder(
    "statsmodels",
    {"sm": sm, "np": np, "logit": lambda p: np.log(p / (1 - p))},
    also=("scipy",),
    note="sm is statsmodels.api; logit is np.log(p / (1 - p))",
    on=beyond,
)

FITS = {
    "in the large": "sm.GLM(y, np.ones_like(p), family=sm.families.Binomial(), offset=logit(p){weights})",
    "slope and intercept": "sm.GLM(y, sm.add_constant(logit(p)), family=sm.families.Binomial(){weights})",
}
READ = "(lambda f: [f.params, f.bse, f.conf_int().T])({fit}.fit(tol=1e-14, maxiter=100, cov_type={cov_type}))"
KEPT = (("(y, ", "(y[w > 0], "), ("p)", "p[w > 0])"), ("=w", "=w[w > 0]"))  # no 0/0 of rows without weight
for name, given in beyond().items():
    if given.p.ndim == 1 and given.p.min() > 0 and given.p.max() < 1 and name != "constant":
        for quantity, fit in FITS.items():
            for kind in ("",) if given.w is None else ("freq_weights", "var_weights"):
                text = fit.format(weights=kind and f", {kind}=w")
                for old, new in KEPT if kind else ():
                    text = text.replace(old, new)
                for cov_type in ("nonrobust", "HC0"):
                    said = f"{quantity} (estimate, se, [low, high]) {kind}".rstrip()
                    record(name, READ.replace("{fit}", text), said, cov_type=cov_type)
    if given.p.ndim == 1 and given.w is None and name not in ("constant", "ties"):
        text = "sm.nonparametric.lowess(y, p, frac={frac}, it=0, delta=0, xvals=np.linspace(p.min(), p.max(), 21))"
        for frac in (0.5, 0.75) if name == "fewer_than_bins" else (0.25, 0.5, 0.75):
            record(name, text, "lowess on a grid", frac=frac)

record.write()
