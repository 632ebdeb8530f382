# %% [markdown]
# # A classifier: can I read its scores as probabilities?
#
# A random forest looks at handwritten digits and predicts how likely each is to be odd. Its scores rank the digits
# well. Now somebody wants to use them as probabilities: to act only where the probability of a mistake is below one in
# a hundred. So we ask whether a score of 0.9 means nine out of ten.
#
# The data are the 1,797 digits that come with scikit-learn. Every score is out of fold: the trees that produced it had
# not seen that digit. Scores on training rows would look far too good.

# %%
# %matplotlib inline
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict

import believable

images, digit = load_digits(return_X_y=True)
odd = digit % 2
forest = RandomForestClassifier(n_estimators=100, random_state=0)
scores = cross_val_predict(forest, images, odd, cv=5, method="predict_proba")[:, 1]

# %% [markdown]
# ## The audit
#
# One call answers most questions. We also pass a column of subgroups: how much ink a digit has, in thirds.

# %%
ink = images.sum(axis=1)
pen = np.array(["thin", "middle", "bold"])[np.searchsorted(np.quantile(ink, [1 / 3, 2 / 3]), ink)]
audit = believable.audit(scores, odd, by={"pen": pen}, title="random forest")
audit

# %% [markdown]
# The answer is no. When the forest says 11 %, only 1.2 % of the digits are odd; when it says 90 %, 99 % are. The scores
# are **not extreme enough**: the calibration slope is 3, far above 1. This is typical of forests. A score is a mean
# over trees, and a few that disagree are enough to pull it away from 0 or 1. The usual guideline calls the ECE of
# 0.0992 *between good and moderate*, but it looks at nothing else.
#
# ## Is it noise?
#
# Even perfectly calibrated scores show an error, because the sample is finite. The noise floor says how large that
# error would be.

# %%
print(believable.noise_floor("ece", scores, odd, random_state=0))
print(believable.interval("ece", scores, odd, random_state=0))

# %% [markdown]
# It is not noise. A calibrated model with these scores would show about 0.02, and less than 0.03 in 19 of 20 samples;
# we see 0.099. According to the interval, the error on all such digits is unlikely to be much below 0.09.
#
# ## At which scores?

# %%
believable.plot_reliability_diagram(scores, odd, title="Random forest, odd or even")

# %% [markdown]
# Low scores are too high and high scores are too low, so the points form an S. When the forest says 0.76, the digit is
# odd in 97 of 100 cases. In the middle, from 0.4 to 0.6, the intervals cross the diagonal: there, noise may explain the
# gap.
#
# ## For which subgroups?
#
# Choose columns that are known in advance. Grouping by the digit itself would be a mistake here: it determines the
# outcome, and within one digit every probability looks wrong.

# %%
believable.plot_subgroup_forest(scores, odd, by={"pen": pen}, random_state=0)

# %% [markdown]
# The forest is miscalibrated by about the same amount for thin and for bold digits: the three intervals overlap widely.
# No subgroup is worse than the others, so one calibration map for all of them should do.
#
# ## Which recalibrator helps?
#
# `calibrate` averages several calibration maps, and doing nothing is one of them. In the comparison, every row is
# recalibrated by maps that were fitted without it.

# %%
fixed = believable.calibrate(scores, odd)
print(fixed)
believable.plot_improvement(fixed)

# %% [markdown]
# Several recalibrators perform equally well, so the average gives weight to each of them. All push scores away from one
# half. The log loss falls from 0.17 to 0.09 and the ECE to about 0.01. If you prefer a single number to an average, a
# temperature does almost as well: `calibrate(scores, odd, method="temperature")`.
#
# ## What can I do with it?
#
# Back to the original wish: act only where at most one in a hundred is wrong. `threshold_for` finds the lowest
# threshold for which this can be guaranteed. We use the recalibrated scores, out of fold.

# %%
recalibrated = fixed.improvement.predictions_after
cut = believable.threshold_for(recalibrated, precision=0.99)
print("recalibrated:", cut)
print("original:    ", believable.threshold_for(scores, odd, precision=0.99))
believable.plot_threshold(cut)

# %% [markdown]
# The guarantee does not need calibrated scores: with the original ones, nearly as many rows are kept. But their
# threshold is 0.76, and nobody would guess that 0.76 means "nearly certain". With recalibrated scores it is 0.95, a
# number you can interpret. The guarantee holds for digits like these, and only for them.
#
# ## Save it
#
# The report is one HTML file that needs no network. The calibration map is a JSON file, and loading it executes
# nothing.

# %%
audit.to_html("audit.html")
fixed.to_json("map.json")
believable.load_recalibrator("map.json").transform([0.05, 0.3, 0.5, 0.7, 0.95]).round(4).tolist()
