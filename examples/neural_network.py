# %% [markdown]
# # A neural network: how sure is it really?
#
# A network reads handwritten digits. It was trained until it had memorised every training row. Now it often says
# "99 %". Before anybody sets a threshold on that number, we want to know what it is worth.
#
# The digits are scikit-learn's, with noise added to every pixel to make the task harder. 500 rows train the network.
# The others are held out, in two parts: one to audit and to fit a recalibrator on, and one that stays untouched until
# the end.

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
# For a matrix of probabilities there are several notions of calibration. The headline is about the confidence, the
# probability of the predicted class. The probabilities of every class are shown beside it.

# %%
audit = believable.audit(scores, labels, title="network")
audit

# %%
print(*audit.advice, sep="\n")
believable.plot_reliability_diagram(scores, labels, title="Network, confidence in the predicted digit")

# %% [markdown]
# The network is **over-confident**: it claims 91 % on average and is right in 75 %. A perfectly calibrated network
# would show an error of about 0.02, not 0.15. The training rows could never have revealed this, because the network is
# always right on them.
#
# Most rows lie in the last bin, where the network claims 99 % and is right in 84 %. Below 0.6 the intervals are wide
# and cross the diagonal, so little can be said there.
#
# ## For which classes?

# %%
worst = [int(part.name) for part in audit.parts[:5]]
believable.plot_classwise_reliability(scores, labels, classes=worst, n_bins=5)

# %% [markdown]
# These five classes are the worst, in this order. When the network gives 9, 8 or 1 a probability above 0.8, it is
# another digit in about a third of the cases. The other bins hold few rows, as their intervals show.
#
# ## Which recalibrator helps?

# %%
fixed = believable.calibrate(scores, labels, method="temperature")
print(fixed)

# %% [markdown]
# A temperature above 1 lowers the confidences. The audit found a more flexible recalibrator slightly better. We choose
# the temperature: it is a single number, and it never changes which digit is predicted, so the accuracy stays the same.
#
# ## Does it hold on untouched rows?

# %%
before, truth = network.predict_proba(images[test]), digit[test]
after = fixed.transform(before)
for metric in ("ece", "nll"):
    print(metric, believable.compare(after, before, truth, metric, random_state=0))

# %% [markdown]
# Yes. On the test rows the ECE falls from 0.16 to 0.03, and the log loss from 1.21 to 0.77. This is more than noise:
# both intervals of the difference lie below 0.
#
# ## What can I do with it?
#
# A person can read the digits that the network is unsure of. Say a person costs 5 pence per digit, and an undetected
# mistake costs 50. `cascade` finds which rows to send to the person. We assume that the person is always right.

# %%
plan = believable.cascade(after, truth, cost_fast=0, cost_slow=5, cost_error=50)
print(plan)
print()
print(believable.cascade(before, truth, cost_fast=0, cost_slow=5, cost_error=50))
believable.plot_cascade(plan)

# %% [markdown]
# Sending about 60 % of the digits to a person costs about 4 pence per digit, compared with 5 if a person reads them all
# and 12.7 if the network works alone.
#
# Look at the last line of each output. At these prices, decision theory says: ask the person below a confidence of 0.9.
# With the recalibrated scores, that rule costs 4.19, close to the best. With the original scores it costs 7.25, more
# than the person alone, because "0.9" was not 0.9. If you have labelled rows, you can search for a threshold with
# either kind of score. If you do not, only calibrated scores help.
#
# ## Save it

# %%
audit.to_html("audit.html")
fixed.to_json("map.json")
again = believable.load_recalibrator("map.json")
believable.confidence_words(again.transform(before[:5]).max(axis=1))
