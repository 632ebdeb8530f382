# %% [markdown]
# # A clinical risk model: may we act on it here?
#
# A model from elsewhere gives the risk that a patient is readmitted within 30 days. A hospital group wants to offer a
# follow-up visit from a risk of 10 % on. The AUC was published. Whether "10 %" means 10 % *here* was not.
#
# **The patients are simulated**, so that we know what is wrong: 2,000 patients with one to three stays at five sites.
# The model is over-fitted, its risks are too high on the whole, and it does not know that site E has sicker patients.

# %%
# %matplotlib inline
import numpy as np

import believable

rng = np.random.default_rng(3)
site_of = rng.choice(list("ABCDE"), 2000, p=[0.25, 0.22, 0.18, 0.15, 0.2])
frail = rng.normal(0, 0.5, 2000)  # what the model does not see, the same in all stays of a patient
patient = np.repeat(np.arange(2000), rng.integers(1, 4, 2000))
site = site_of[patient]
known = rng.normal(0, 0.8, len(patient)) + rng.normal(0, 0.7, 2000)[patient]
truth = -3.6 + known + frail[patient] + 0.9 * (site == "E")
readmitted = (rng.random(len(patient)) < 1 / (1 + np.exp(-truth))).astype(int)
risk = 1 / (1 + np.exp(3.0 - 1.35 * known))
print(f"{len(patient):,} stays of {len(site_of):,} patients, {readmitted.sum()} readmissions")

# %% [markdown]
# ## The audit
#
# Stays of one patient belong together, so patients go along as groups. Events are rare and most risks are small:
# quantile bins put equally many stays in each bin, uniform ones would leave the upper half nearly empty.

# %%
audit = believable.audit(
    risk, readmitted, strategy="quantile", clusters=patient, by={"site": site}, title="readmission risk"
)
audit

# %% [markdown]
# The badge does not say *excellent*, although the ECE is below 0.05. Where one stay in sixteen leads to a readmission
# all risks are small, and so are their errors: these risks are 1.5 times too high, and their ECE is 0.03. That is why
# the audit looks at the ratio too. It is not noise either: chance alone would show an ECE of about 0.009.
#
# ## The numbers that a reviewer asks for

# %%
print(*audit.advice, *audit.caveats, "", sep="\n")
for name in ("observed over expected", "calibration in the large", "calibration slope", "integrated calibration index"):
    measured = next(one for one in audit.metrics if one.title == name)
    print(f"{name:30} {measured.value:7.3f}   {measured.low:.3f} … {measured.high:.3f}   (perfect: {measured.best:g})")

# %% [markdown]
# - Observed over expected: there are 0.66 readmissions for every one that was predicted. The interval is far from 1.
# - Calibration in the large says the same on the scale of log-odds.
# - The slope is below 1, and so is its interval: the model spreads the risks too widely, as over-fitted models do.
# - The integrated calibration index is the mean distance between risk and smoothed rate: about 3 percentage points,
#   where the rate is 6 %.
#
# ## Where?

# %%
believable.plot_smoothed_calibration(risk, readmitted, limit=0.5)

# %% [markdown]
# Below 4 % or so the curve follows the diagonal. Above it the risks are too high, and the more so the higher they are:
# a risk of 30 % stands for somewhat less than 20 %. Few stays have a risk that high, as the histogram shows.
#
# ## For whom?

# %%
print(believable.subgroups(risk, readmitted, by={"site": site}, clusters=patient, random_state=0))

# %% [markdown]
# Sites A to D are off, with risks that are too high. Site E looks fine. We know better, since we made the data: there
# two mistakes cancel each other. The risks are too high everywhere, and the patients of E are sicker than the model
# knows.
#
# ## What mends it?

# %%
fixed = believable.calibrate(risk, readmitted, clusters=patient)
print(fixed, end="\n\n")
mended = fixed.improvement.predictions_after
print(believable.subgroups(mended, by={"site": site}, clusters=patient, random_state=0))

# %% [markdown]
# Now the picture has turned. **Site E is off**: 6 % predicted, 10 % happened. One map for everybody has moved everybody
# down, E as well, where there was nothing to move. Site D is flagged too, the other way. We made its patients like
# those of A to C, so this flag is in part bad luck: a flag is a reason to look, not a proof. The rest is the price of
# one map, which lies between what E needs and what the others need.
#
# E needs an intercept of its own, or a model that knows why its patients are sicker. Always look at the subgroups again
# after mending.
#
# ## Is it worth acting on?

# %%
curves = {}
for name, model in {"as it came": believable.Predictions(risk, readmitted), "recalibrated": mended}.items():
    curves[name] = believable.net_benefit(model, thresholds=np.arange(2, 31) / 100, clusters=patient, random_state=0)
    print(f"{name}: {curves[name]}")
believable.plot_net_benefit(curves)

# %% [markdown]
# The net benefit weighs cases found against visits in vain, at the price that a threshold implies. A visit from 10 % on
# means that one missed case is as bad as nine visits in vain.
#
# At 10 % either model beats visiting everyone and visiting no one, beyond chance. Below 5 % the two hardly differ. At
# most thresholds above that the recalibrated risks do better. They are useful beyond chance up to 23 %, the risks as
# they came up to 16 %. The picture shows no intervals where it shows two models; the sentences allow for chance.
#
# ## Keep it

# %%
audit.to_html("audit.html")
fixed.to_json("map.json")
update = believable.load_recalibrator("map.json")
for said in (0.02, 0.1, 0.3):
    print(f"the model says {said:.2f}: {believable.confidence_words(float(update.transform([said])[0]))}")
