"""How often the drift alarm rings falsely, and how soon it rings after a real change.

Every column of a matrix is a stream of its own, so that hundreds run at once. Prints the table of docs/monitoring.md.
"""

from __future__ import annotations

import numpy as np

from believable import DriftAlarm, Predictions

BATCHES, CHANGE = 200, 100
QUIET = {
    "perfectly calibrated": (lambda p: p, 0.0),
    "scores 0.03 too low, tolerance 0.03": (lambda p: np.minimum(p + 0.03, 1), 0.03),
    "scores 0.03 too high, tolerance 0.03": (lambda p: np.maximum(p - 0.03, 0), 0.03),
}
CHANGES = {
    "all scores 0.05 too low": lambda p: np.minimum(p + 0.05, 1),
    "all scores 0.1 too low": lambda p: np.minimum(p + 0.1, 1),
    "observed rate is score^1.3 (scores up to 0.1 too high)": lambda p: p**1.3,
    "scores from 0.7 to 0.8 are 0.15 too high": lambda p: np.where((p > 0.7) & (p <= 0.8), p - 0.15, p),
}


def first_alarms(before, after, tolerance, alpha, n, n_streams, seed=0):
    """The batch at which each stream first rings; infinite where none."""
    rng, alarm = np.random.default_rng(seed), DriftAlarm(alpha=alpha, tolerance=tolerance)
    first = np.full(n_streams, np.inf)
    for t in range(1, BATCHES + 1):
        p = rng.random((n, n_streams))
        happened = rng.random((n, n_streams)) < (before if t <= CHANGE else after)(p)
        alarm.update(Predictions(p, happened, multilabel=True))
        bets = alarm._log_capital
        assert bets is not None
        in_bins = bets[..., : n_streams * alarm.n_bins].reshape(2, -1, n_streams, alarm.n_bins)
        whole = bets[..., n_streams * alarm.n_bins :, None]
        own = np.concatenate([in_bins, whole], axis=3)
        capital = np.logaddexp.reduce(own, axis=(0, 1, 3)) - np.log(own.size / n_streams)
        first[np.isinf(first) & (capital >= -np.log(alpha))] = t
        if np.isfinite(first).all():
            break
    return first


def main() -> None:
    """The two tables."""
    print("| false alarms: 50 rows per batch, alpha 0.05 | streams that ever rang, of 1,000 |\n|---|---|")
    for name, (rate, tolerance) in QUIET.items():
        rang = np.isfinite(first_alarms(rate, rate, tolerance, 0.05, 50, 1000)).sum()
        print(f"| {name} | {rang} |", flush=True)
    print(
        "\n| change at batch 100, alpha 0.01, tolerance 0.02 | rows per batch "
        "| batches until the alarm: median, 90th percentile |"
    )
    print("|---|---|---|")
    for name, after in CHANGES.items():
        for n in (50, 500):
            delay = first_alarms(lambda p: p, after, 0.02, 0.01, n, 100) - CHANGE
            late = [f"{x:.0f}" if np.isfinite(x) else "more than 100" for x in np.sort(delay)[[49, 89]]]
            early = "" if delay.min() > 0 else f" ({(delay <= 0).sum()} of 100 rang before)"
            print(f"| {name} | {n} | {', '.join(late)}{early} |", flush=True)


if __name__ == "__main__":
    main()
