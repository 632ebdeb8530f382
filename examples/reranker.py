# %% [markdown]
# # A reranker: what does a score of 0.9 promise?
#
# A reranker gives every candidate document a number. The ranking is fine. Now somebody wants to show a document as *the
# answer* when the number is high enough, and to show nothing otherwise. For that, the number must mean something.
#
# **The data are simulated**, so that we know what is wrong: 100 queries with 15 documents each. The reranker's log-odds
# are 1.8 times too large, and those of broad queries are shifted upwards as well. About 15 % of the documents were
# never judged. The run and the judgements are written as TREC files, the format a search team would have.

# %%
# %matplotlib inline
from pathlib import Path

import numpy as np

import believable
from believable.readers import load_run

rng = np.random.default_rng(7)
run, qrels = [], []
for q in range(100):
    query = f"{'known' if q % 2 else 'broad'}-{q:03}"
    truth = rng.normal(rng.normal(-1.0, 0.6), 1.6, 15)  # log-odds that a document is relevant
    logit = 1.8 * truth + (2.4 if query.startswith("broad") else 0.3) + rng.normal(0, 0.3, 15)
    relevant = rng.random(15) < 1 / (1 + np.exp(-truth))
    for rank, k in enumerate(np.argsort(-logit), start=1):
        run.append(f"{query} Q0 doc-{q:03}-{k:02} {rank} {logit[k]:.4f} simulated")
        if rng.random() < 0.85:
            qrels.append(f"{query} 0 doc-{q:03}-{k:02} {int(relevant[k])}")
Path("run.trec").write_text("\n".join(run) + "\n")
Path("qrels.txt").write_text("\n".join(qrels) + "\n")
print(*run[:3], sep="\n")

# %% [markdown]
# ## Reading the files
#
# You say what the scores are; `load_run` never guesses. Here they are log-odds. It joins the run and the judgements,
# counts the unjudged documents, and records which query each row belongs to.

# %%
loaded = load_run("run.trec", "qrels.txt", scores="logits")
print(loaded.predictions, loaded.dropped)
print(loaded.taken)
print(*loaded.notes, sep="\n")

# %% [markdown]
# ## The audit
#
# Documents of one query are not independent of each other, so the queries are passed along as clusters. The kind of
# query is a column of subgroups.

# %%
kind = np.array([query.split("-")[0] for query in loaded.clusters])
audit = believable.audit(loaded, by={"kind": kind})
audit

# %%
print(*audit.advice, sep="\n")
print(believable.noise_floor("ece", loaded.predictions, random_state=0))
believable.plot_miscalibration(loaded.predictions)

# %% [markdown]
# It is not noise: calibrated scores would show an ECE of about 0.02, and we see 0.155. The plot shows where. Scores
# above 0.3 are too high, by about 0.3 around 0.75: fewer than half of those documents are relevant. The lowest scores
# are slightly too low. No ranking metric would notice, because it sees only the order.
#
# Keep the note above in mind: all of this is about judged documents only.
#
# ## For which queries?

# %%
print(believable.subgroups(loaded.predictions, by={"kind": kind}, clusters=loaded.clusters, random_state=0))

# %% [markdown]
# Both kinds are miscalibrated, in different ways. Scores of broad queries are too high on average: 0.55 predicted, 0.32
# observed. Scores of known-item queries are right on average, yet their error is 0.11, because high and low scores are
# wrong in opposite directions.
#
# ## Which recalibrator helps?
#
# First, one calibration map for all queries. Queries stay together in a fold, so each is recalibrated by a map fitted
# on other queries.

# %%
fixed = believable.calibrate(loaded.predictions, clusters=loaded.clusters)
print(fixed, end="\n\n")
recalibrated = fixed.improvement.predictions_after
print(believable.subgroups(recalibrated, by={"kind": kind}, clusters=loaded.clusters, random_state=0))

# %% [markdown]
# The average of calibration maps shrinks the log-odds and shifts them down; the order does not change. The ECE falls
# from 0.15 to 0.03. And yet both kinds are still miscalibrated: scores of broad queries are too high (0.40 predicted,
# 0.32 observed) and those of known-item queries are now too low (0.27 and 0.34). In the total, the two cancel. We know
# the kind of a query when it arrives, so each kind can have its own map.

# %%
p, y = loaded.predictions.scores, loaded.predictions.labels
maps, after = {}, np.empty(len(p))
for name in ("broad", "known"):
    rows = kind == name
    maps[name] = believable.calibrate(p[rows], y[rows], method="platt", clusters=loaded.clusters[rows])
    after[rows] = maps[name].improvement.predictions_after.scores
print(believable.subgroups(after, y, by={"kind": kind}, clusters=loaded.clusters, random_state=0))
print(believable.compare(after, recalibrated.scores, y, "nll", clusters=loaded.clusters, random_state=0))

# %% [markdown]
# With one map per kind, neither kind is distinguishable from calibrated. The log loss is lower than with one map for
# all, by more than noise explains. The order within a query does not change. Across kinds it does, because a 0.9 means
# less in a broad query.
#
# ## What can I do with it?
#
# Show a document as the answer only if three out of four such documents are relevant, with 95 % confidence.

# %%
cut = believable.threshold_for(after, y, precision=0.75, clusters=loaded.clusters)
print(cut)
believable.plot_threshold(cut)

# %% [markdown]
# This can be guaranteed from a score of 0.75 upwards, which keeps 9 % of the documents. Queries count as clusters here:
# a hundred queries carry less information than 1,272 independent documents would. The guarantee is for judged documents
# of queries like these.
#
# ## Save it

# %%
audit.to_html("audit.html")
for name, found in maps.items():
    found.to_json(f"{name}.json")
    print(name, believable.load_recalibrator(f"{name}.json").transform([0.1, 0.5, 0.9, 0.99]).round(3))
