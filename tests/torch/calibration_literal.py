"""The kernel and soft-binned errors as textbook loops over Python floats, with nothing of the library and no torch."""

from __future__ import annotations

from math import exp, fsum, sqrt


def probabilities(row):
    """Softmax of a list of logits; (1 - p, p) of one logit."""
    if isinstance(row, float):
        row = [0.0, row]
    top = max(row)
    grown = [exp(z - top) for z in row]
    return [g / fsum(grown) for g in grown]


def pairs(logits, labels):
    """(confidence, right or not) of every row; (P(y = 1), y) of one logit per row."""
    found = []
    for z, y in zip(logits, labels, strict=True):
        p = probabilities(z)
        if isinstance(z, float):
            found.append((p[1], float(y)))
        else:
            found.append((max(p), float(p.index(max(p)) == y)))
    return found


def mmce(logits, labels, weights=None, width=0.4, form="root"):
    """The root, "weighted" (right and wrong rows apart), or the "unbiased" square."""
    rows = pairs(logits, labels)
    w = [1.0] * len(rows) if weights is None else list(weights)
    if form == "weighted":
        kinds = {c: fsum(v for (_, k), v in zip(rows, w, strict=True) if k == c) for c in (0.0, 1.0)}
        w = [v / kinds[c] if v else 0.0 for (_, c), v in zip(rows, w, strict=True)]
        whole = 1.0
    else:
        whole = fsum(w) ** 2
    total, weight = [], []
    for i, (r, c) in enumerate(rows):
        for j, (s, d) in enumerate(rows):
            if form != "unbiased" or i != j:
                total.append(w[i] * w[j] * (c - r) * (d - s) * exp(-abs(r - s) / width))
                weight.append(w[i] * w[j])
    if form == "unbiased":
        return fsum(total) / fsum(weight)
    return sqrt(max(fsum(total), 0) / whole)


def soft_ece(logits, labels, weights=None, n_bins=15, temperature=0.01, power=1):
    """Bins that every row belongs to by degrees."""
    rows = pairs(logits, labels)
    w = [1.0] * len(rows) if weights is None else list(weights)
    middles = [(m + 0.5) / n_bins for m in range(n_bins)]
    inside, conf, acc = [0.0] * n_bins, [0.0] * n_bins, [0.0] * n_bins
    for (r, c), v in zip(rows, w, strict=True):
        nearest = min((r - g) ** 2 for g in middles)
        degree = [exp(-((r - g) ** 2 - nearest) / temperature) for g in middles]
        for m in range(n_bins):
            share = v * degree[m] / fsum(degree)
            inside[m] += share
            conf[m] += share * r
            acc[m] += share * c
    total = fsum(inside)
    terms = [s / total * abs(a / s - p / s) ** power for s, a, p in zip(inside, acc, conf, strict=True) if s > 0]
    return fsum(terms) ** (1 / power)


def skce(logits, labels, weights=None, kernel="tv", nu=0.3, biased=False):
    """Mean of k(P, Q) <e - P, f - Q> over pairs of rows."""
    w = [1.0] * len(logits) if weights is None else list(weights)
    vectors = [probabilities(z) for z in logits]
    residuals = [[(k == y) - q for k, q in enumerate(p)] for p, y in zip(vectors, labels, strict=True)]
    total, weight = [], []
    for i, p in enumerate(vectors):
        for j, q in enumerate(vectors):
            if i == j and not biased:
                continue
            if kernel == "tv":
                similar = exp(-fsum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2 / nu)
            else:
                similar = exp(-fsum((a - b) ** 2 for a, b in zip(p, q, strict=True)) / (2 * nu**2))
            product = fsum(a * b for a, b in zip(residuals[i], residuals[j], strict=True))
            total.append(w[i] * w[j] * similar * product)
            weight.append(w[i] * w[j])
    return fsum(total) / fsum(weight)
