# %% [markdown]
# # A clinical risk model: can we act on it here?
#
# A model developed elsewhere predicts the risk that a patient is readmitted within 30 days. A hospital group wants to
# offer a follow-up visit to patients with a risk of 10 % or more. The AUC was published. Whether "10 %" means 10 %
# *here* was not.
#
# **The patients are simulated**, so that we know what is wrong: 2,000 patients with one to three stays at five sites.
# The model is over-fitted, its risks are too high overall, and it does not know that site E has sicker patients.

# %%
# %matplotlib inline
import numpy as np

import believable

rng = np.random.default_rng(3)
site_of = rng.choice(list("ABCDE"), 2000, p=[0.25, 0.22, 0.18, 0.15, 0.2])
frail = rng.normal(0, 0.5, 2000)  # unknown to the model, the same in all stays of a patient
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
# Stays of one patient belong together, so patients are passed along as clusters. Events are rare and most risks are
# small. Quantile bins put equally many stays in each bin; uniform bins would leave the upper half nearly empty.

# %%
audit = believable.audit(
    risk, readmitted, strategy="quantile", clusters=patient, by={"site": site}, title="readmission risk"
)
audit

# %% [markdown]
# The answer is no, although the guideline for the ECE alone says *excellent*. When only one stay in sixteen leads to a
# readmission, all risks are small, and so are their errors: these risks are 1.5 times too high, and yet their ECE is
# 0.03. This is why the audit also looks at the ratio of observed to predicted events. Nor is it noise: a perfectly
# calibrated model would show an ECE of about 0.009.
#
# ## The numbers that a reviewer asks for

# %%
print(*audit.advice, *audit.caveats, "", sep="\n")
for name in ("observed over expected", "calibration in the large", "calibration slope", "integrated calibration index"):
    measured = next(one for one in audit.metrics if one.title == name)
    print(f"{name:30} {measured.value:7.3f}   {measured.low:.3f} … {measured.high:.3f}   (perfect: {measured.best:g})")

# %% [markdown]
# - Observed over expected: there are 0.66 readmissions for every one predicted. The interval is far from 1.
# - Calibration in the large says the same on the log-odds scale.
# - The slope is below 1, and so is its interval: the risks are too spread out, as in over-fitted models.
# - The integrated calibration index is the mean distance between the risk and the smoothed observed rate: about 3
#   percentage points, where the observed rate is 6 %.
#
# ## At which risks?

# %%
believable.plot_smoothed_calibration(risk, readmitted, limit=0.5)

# %% [markdown]
# Below about 4 % the curve follows the diagonal. Above that the risks are too high, increasingly so: a predicted risk
# of 30 % corresponds to an observed rate of somewhat less than 20 %. Few stays have such a high risk, as the histogram
# shows.
#
# ## For which sites?

# %%
print(believable.subgroups(risk, readmitted, by={"site": site}, clusters=patient, random_state=0))

# %% [markdown]
# Sites A to D are miscalibrated: their risks are too high. Site E looks fine. We know better, because we simulated the
# data: two errors cancel there. The risks are too high everywhere, and the patients of E are sicker than the model
# knows.
#
# ## Which recalibrator helps?

# %%
fixed = believable.calibrate(risk, readmitted, clusters=patient)
print(fixed, end="\n\n")
recalibrated = fixed.improvement.predictions_after
print(believable.subgroups(recalibrated, by={"site": site}, clusters=patient, random_state=0))

# %% [markdown]
# Now the picture is reversed. **Site E is miscalibrated**: 6 % predicted, 10 % observed. One calibration map for
# everybody has lowered all risks, including those of E, where nothing needed lowering. The risks of C and D are still
# too high, by an amount that noise may explain. That is the price of one map for all sites: it lies between what E
# needs and what the others need.
#
# E needs its own intercept, or a model that knows why its patients are sicker. Always check the subgroups again after
# recalibration.
#
# ## Is it worth acting on?

# %%
curves = {}
for name, model in {"original": believable.Predictions(risk, readmitted), "recalibrated": recalibrated}.items():
    curves[name] = believable.net_benefit(model, thresholds=np.arange(2, 31) / 100, clusters=patient, random_state=0)
    print(f"{name}: {curves[name]}")
believable.plot_net_benefit(curves)

# %% [markdown]
# Net benefit weighs cases found against unnecessary visits, at the exchange rate that a threshold implies. Offering a
# visit from 10 % upwards means that one missed case is as bad as nine unnecessary visits.
#
# At 10 %, both models beat visiting everyone and visiting no one, by more than noise explains. Below 5 % the two hardly
# differ. At most thresholds above that, the recalibrated risks do better. They are demonstrably useful up to 25 %, the
# original risks up to 16 %. A plot of two models shows no intervals; the printed sentences take noise into account.
#
# ## Save it

# %%
audit.to_html("audit.html")
fixed.to_json("map.json")
update = believable.load_recalibrator("map.json")
for said in (0.02, 0.1, 0.3):
    words = believable.confidence_words(float(update.transform([said])[0]))
    print(f"the model says {said:.2f}; after recalibration: {words}")
