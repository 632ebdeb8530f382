# %% [markdown]
# # A neural network: how sure is it really?
#
# A network reads handwritten digits. It was trained until it knew every training row by heart. Now it says "99 %" a
# lot. Before anybody sets a threshold on that number we want to know what it is worth.
#
# The digits are scikit-learn's, with noise added to every pixel to make the task harder. 500 rows train the network.
# The others are held out, in two parts: one to audit and to learn a map on, and one that nobody touches until the end.

# %%
# %matplotlib inline
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import believable

images, digit = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
images = images / 16 + rng.normal(0, 0.35, images.shape)
train, held_out, test = np.split(rng.permutation(len(digit)), [500, 1150])

network = MLPClassifier((128,), learning_rate_init=0.01, alpha=0, max_iter=300, random_state=0)
network.fit(images[train], digit[train])
scores, labels = network.predict_proba(images[held_out]), digit[held_out]
for name, rows in {"training": train, "held-out": held_out}.items():
    print(f"accuracy on {len(rows)} {name} rows: {network.score(images[rows], digit[rows]):.3f}")

# %% [markdown]
# ## The audit
#
# A matrix of probabilities has several notions of calibration. The headline is about the confidence, the probability of
# the predicted class. The probabilities of every class are looked at beside it.

# %%
audit = believable.audit(scores, labels, title="network")
audit

# %%
print(*audit.advice, sep="\n")
believable.plot_reliability_diagram(scores, labels, title="Network, confidence in the predicted digit")

# %% [markdown]
# The network is **over-confident**: it claims 90 % on average and is right in 75 %. Chance alone would show an error of
# about 0.02, not 0.15. In the training rows it is always right, so they could never have told.
#
# Most rows lie in the last bin, where the network claims 99 % and is right in 84 %. Below 0.6 the intervals are wide
# and cross the diagonal: little can be told there.
#
# ## For which classes?

# %%
worst = [int(part.name) for part in audit.parts[:5]]
believable.plot_classwise_reliability(scores, labels, classes=worst, n_bins=5)

# %% [markdown]
# These five classes are worst, in this order. Give 9, 8 or 1 a probability above 0.8, and it is another digit in about
# a third of the cases. The other bins hold few rows, as their intervals show.
#
# ## What mends it?

# %%
fixed = believable.calibrate(scores, labels, method="temperature")
print(fixed)

# %% [markdown]
# A temperature above 1 pulls confidences towards chance. The audit liked a richer map better, by a little. We take the
# temperature: it is one number, and it never changes which digit is predicted, so the accuracy stays as it was.
#
# ## Does it hold on rows that nobody touched?

# %%
before, truth = network.predict_proba(images[test]), digit[test]
after = fixed.transform(before)
for metric in ("ece", "nll"):
    print(metric, believable.compare(after, before, truth, metric, random_state=0))

# %% [markdown]
# Yes. On the test rows the ECE falls from 0.16 to 0.03, and the log loss from 1.21 to 0.77. Neither can be chance: both
# intervals of the difference lie below 0.
#
# ## What may I do with it?
#
# A person can read the digits that the network is unsure of. Say a person costs 5 pence a digit, and a mistake that
# goes out costs 50. `cascade` finds which rows to send to the person. We take the person to be right.

# %%
plan = believable.cascade(after, truth, cost_fast=0, cost_slow=5, cost_error=50)
print(plan)
print()
print(believable.cascade(before, truth, cost_fast=0, cost_slow=5, cost_error=50))
believable.plot_cascade(plan)

# %% [markdown]
# Sending about 60 % of the digits to a person costs about 4 pence a digit, against 5 if a person reads them all and
# 12.7 if the network is left alone.
#
# Look at the last line of each. At these prices theory says: ask the person below a confidence of 0.9. With the
# recalibrated scores that costs 4.19, close to the best. With the scores as they came the same rule costs 7.25, more
# than the person alone, because "0.9" was not 0.9. Where labelled rows are at hand a cut can be searched for with
# either; where they are not, only believable scores help.
#
# ## Keep it

# %%
audit.to_html("audit.html")
fixed.to_json("map.json")
again = believable.load_recalibrator("map.json")
believable.confidence_words(again.transform(before[:5]).max(axis=1))
