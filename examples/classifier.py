# %% [markdown]
# # A classifier: may I read its scores as probabilities?
#
# A random forest looks at handwritten digits and says how likely each is to be odd. Its scores rank the digits well.
# Somebody now wants to use them as probabilities: to act only where the chance of a mistake is below one in a hundred.
# So we ask whether a score of 0.9 means nine in ten.
#
# The data are the 1,797 digits that come with scikit-learn. Every score is out of fold: the trees that gave it had not
# seen that digit. Scores of training rows would look far too good.

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
# One call answers most questions. We also hand over a column to look at apart: how much ink a digit has, in thirds.

# %%
ink = images.sum(axis=1)
pen = np.array(["thin", "middle", "bold"])[np.searchsorted(np.quantile(ink, [1 / 3, 2 / 3]), ink)]
audit = believable.audit(scores, odd, by={"pen": pen}, title="random forest")
audit

# %% [markdown]
# The grade is *good*, but only just: the ECE is 0.0992 and the next grade begins at 0.10. The direction matters more
# than the grade. The forest is **under-confident**: it is right in 96 % of the rows and claims 86 % on average. That is
# usual for forests. A score is a mean over trees, and it takes only a few that disagree to pull it away from 0 or 1.
#
# ## Is it noise?
#
# Scores that are perfectly calibrated show an error too, because the sample is finite. The noise floor says how large.

# %%
print(believable.noise_floor("ece", scores, odd, random_state=0))
print(believable.interval("ece", scores, odd, random_state=0))

# %% [markdown]
# It is not noise. A calibrated model with these scores would show about 0.02, and less than 0.03 in 19 of 20 samples;
# we see 0.099. The interval says that on all such digits the error is hardly below 0.09.
#
# ## Where?

# %%
believable.plot_reliability_diagram(scores, odd, title="Random forest, odd or even")

# %% [markdown]
# Low scores are too high and high scores are too low, so the points lie on an S. When the forest says 0.76 the digit is
# odd in 97 of 100 cases. In the middle, from 0.4 to 0.6, the intervals cross the diagonal: there chance may explain the
# gap.
#
# ## For whom?
#
# Choose columns that are known beforehand. Grouping by the digit itself would be a mistake here: it decides the
# outcome, and within one digit every probability looks wrong.

# %%
believable.plot_subgroup_forest(scores, odd, by={"pen": pen}, random_state=0)

# %% [markdown]
# Thin or bold, the forest is off by about as much: the three intervals overlap widely. There is no group to worry about
# more than the others, and one map for all of them should do.
#
# ## What mends it?
#
# `calibrate` compares several maps with doing nothing. Every row is mapped by a map that has not seen it.

# %%
fixed = believable.calibrate(scores, odd)
print(fixed)
believable.plot_improvement(fixed)

# %% [markdown]
# Several maps are as good as each other, and the simplest of them is taken: a temperature, one number. It is below 1,
# which pushes scores away from a half. The log loss falls from 0.17 to 0.09 and the ECE to about 0.01. The ranking of
# the digits stays as it was.
#
# ## What may I do with it?
#
# Back to the wish: act only where at most one in a hundred is wrong. `threshold_for` finds the smallest cut for which
# that can be promised. The scores are the recalibrated ones, out of fold.

# %%
mended = fixed.improvement.predictions_after
cut = believable.threshold_for(mended, precision=0.99)
print("recalibrated:", cut)
print("as they came:", believable.threshold_for(scores, odd, precision=0.99))
believable.plot_threshold(cut)

# %% [markdown]
# The promise does not need calibrated scores: with the old ones nearly as many rows are kept. But there the cut is
# 0.76, and nobody would guess that 0.76 means "nearly certain". Now it is 0.97, a number that one can read. The promise
# holds for digits like these, and only for them.
#
# ## Keep it
#
# The page is one file that needs no network. The map is a JSON file, and nothing is executed when it is loaded.

# %%
audit.to_html("audit.html")
fixed.to_json("map.json")
believable.load_recalibrator("map.json").transform([0.05, 0.3, 0.5, 0.7, 0.95]).round(4).tolist()
