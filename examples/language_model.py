# %% [markdown]
# # A language model: does it know what it knows?
#
# A language model answers a quiz. There are two ways to get its confidence: from the log-likelihoods of the choices, or
# by asking it. If either is calibrated, we can let it answer where it is sure and say "I do not know" elsewhere.
#
# **Both logs are simulated**, so that nothing has to be downloaded: 600 questions with four choices, in the format of
# the Language Model Evaluation Harness, and 200 questions that were asked three times with "how sure are you?". The
# simulated model is over-confident, more so in arithmetic than in history.

# %%
# %matplotlib inline
import json
from pathlib import Path

import numpy as np

import believable
from believable.readers import load_samples

rng = np.random.default_rng(5)
lines, subject = [], []
for i in range(600):
    subject.append("arithmetic" if i % 3 == 0 else "history")
    z = 3.0 * rng.gumbel(size=4)
    p = np.exp(z / (2.6 if subject[i] == "arithmetic" else 1.6))
    right = rng.choice(4, p=p / p.sum())
    answers = [[f"{value:.4f}", "False"] for value in z - z.max() - 5]
    lines.append({"doc_id": i, "target": str(right), "filtered_resps": answers, "acc": float(z.argmax() == right)})
Path("samples_quiz.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")

spoken, levels = [], np.array([50, 60, 70, 80, 90, 95, 99, 100])
for q in range(200):
    ease = rng.normal(0.9, 1.3)
    for _ in range(3):
        felt = levels[np.searchsorted([-1.6, -1.1, -0.6, 0, 0.8, 1.8, 2.8], ease + rng.normal(0.3, 0.5))]
        said = "Hard to say." if rng.random() < 0.04 else f"I am {felt}% sure."
        spoken.append({"question_id": q, "confidence": said, "correct": bool(rng.random() < 1 / (1 + np.exp(-ease)))})
Path("stated.jsonl").write_text("\n".join(map(json.dumps, spoken)) + "\n")
print(json.dumps(lines[0]), json.dumps(spoken[0]), sep="\n")

# %% [markdown]
# ## Log-likelihoods
#
# `load_samples` turns the log-likelihoods of the choices into probabilities and finds the right choice in the log.

# %%
quiz = load_samples("samples_quiz.jsonl")
audit = believable.audit(quiz, by={"subject": subject})
audit

# %%
print(*audit.advice, sep="\n")
print(believable.subgroups(quiz.predictions, by={"subject": subject}, random_state=0))

# %% [markdown]
# The model is over-confident, and far more so in arithmetic, where it claims 83 % and is right in 61 %. In history it
# claims 84 % and is right in 79 %. An average over subjects would have hidden that. The choices A to D are listed as
# miscalibrated too; they are alike in this simulation, and each shows its part of the same over-confidence.
#
# ## What it says when asked

# %%
stated = load_samples("stated.jsonl", cluster="question_id")
asked = believable.audit(stated)
asked

# %%
print(*asked.advice, *asked.caveats, *asked.notes, sep="\n")
believable.plot_reliability_diagram(stated.predictions, title="Stated confidence")

# %% [markdown]
# Stated confidences are **heaped**: there are eight values and nothing between them. So nothing is known about 0.85,
# and some of the ten equal-width bins are empty. Some answers state no confidence; they are counted and left out, not
# given a number. Each question was asked three times, so questions are passed along as clusters.
#
# Four times the model said 100 % and was wrong. That makes the log loss infinite, and it is a good reason never to show
# "100 %" to a reader.
#
# In every bin the model is right less often than it says. The order is still informative: answers that it calls 90 % or
# more are right more often than those it calls 60 %. The first point may be noise, because it has few answers and a
# wide interval.
#
# ## Which recalibrator helps?

# %%
fixed = believable.calibrate(quiz.predictions)
print(fixed, end="\n\n")
recalibrated = fixed.improvement.predictions_after
print(believable.subgroups(recalibrated, by={"subject": subject}, random_state=0))

# %% [markdown]
# We recalibrate the log-likelihoods. An average of calibration maps, mostly a temperature, lowers the ECE from 0.12 to
# 0.04. But one map for both subjects is a compromise: arithmetic is still over-confident (70 % claimed, 60 % right) and
# history now looks **under-confident** (72 % claimed, 78 % right), although that may be noise. If you know the subject
# in advance and have enough questions, fit one recalibrator per subject.
#
# ## What can I do with it?

# %%
print(believable.threshold_for(recalibrated, precision=0.9))
print(believable.selective(recalibrated, random_state=0))
believable.plot_risk_coverage({"before": quiz.predictions, "after": recalibrated}, random_state=0)

# %% [markdown]
# If at least nine out of ten given answers are to be right, the model can answer one question in five. It must pass on
# the rest.
#
# The curves before and after are nearly the same, as they should be: recalibration changes what the numbers mean but
# hardly changes the order in which questions are answered. Recalibration makes the confidence interpretable; it does
# not make the model know more.
#
# ## Save it

# %%
audit.to_html("audit.html")
fixed.to_json("map.json")
sure = fixed.transform(quiz.predictions.scores[:4]).max(axis=1)
for before, words in zip(quiz.predictions.scores[:4].max(axis=1), believable.confidence_words(sure), strict=True):
    print(f"the log says {before:.2f}; tell the reader: {words}")
