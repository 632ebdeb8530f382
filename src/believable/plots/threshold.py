"""The threshold with a guaranteed precision: what every threshold keeps, and the lower bound of its precision."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from believable._check import renamed
from believable._types import Notion
from believable.decide.threshold import Threshold, threshold_for
from believable.plots.frame import Drawing, axis_above
from believable.plots.room import scale_of
from believable.plots.style import BAR, FLAG, GREY, INK, TOO_LOW, plain, thousands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_threshold(value: Threshold, ax: Axes) -> Axes:
    """Draw precision, its lower bound and the target over the share of rows kept, with the chosen threshold."""
    curve = value.curve
    what, score = ("accuracy", "confidence") if value.notion == "confidence" else ("precision", "score")
    x = 100 * curve.share
    sure = f"Lower bound ({100 * value.confidence:.4g} % at each threshold)"
    ax.fill_between(x, curve.lower, curve.precision, color=BAR, alpha=0.35, lw=0, zorder=1)
    ax.plot(x, curve.precision, color=INK, lw=1.6, zorder=3, label=f"{what.capitalize()} of the rows kept")
    ax.plot(x, curve.lower, color=TOO_LOW, lw=1.3, zorder=3, label=sure)
    ax.axhline(value.target, color=GREY, lw=1.1, ls=(0, (4, 3)), zorder=2, label=f"Target {value.target:g}")
    if value.start:
        first = 100 * float(curve.share[np.searchsorted(curve.n, value.start)])
        ax.axvspan(
            0, first, color=GREY, alpha=0.13, lw=0, zorder=0, label=f"Before the first test ({value.start:,} rows)"
        )
    if value.is_found:
        words = f"Threshold {value.cut:.4g}: keeps {100 * value.share:.3g} %"
        ax.axvline(100 * value.share, color=FLAG, lw=1.4, zorder=4)
        ax.plot([100 * value.share], [value.lower], "o", ms=6, color=FLAG, zorder=5, clip_on=False, label=words)
    bottom = _lowest(value)
    ax.set(xlim=(0, 100), ylim=(bottom, 1), xlabel="Rows kept (%), highest scores first", ylabel=what.capitalize())
    plain(ax)
    _scores_above(value, ax, score)
    return ax


def _lowest(value: Threshold) -> float:
    """Return where the frame begins: below all that matters, not below what the first few rows show."""
    curve = value.curve
    later = curve.n >= min(max(value.start, value.least), value.n)
    lowest = min(float(curve.lower[later].min()), value.target) if later.any() else 0.0
    return max(float(np.floor(20 * (lowest - 0.02)) / 20), 0.0)


def _scores_above(value: Threshold, ax: Axes, score: str) -> None:
    """Write above the ax which threshold keeps each share."""
    shares = np.linspace(0, 1, 6 if scale_of(ax) == 1 else 3)
    at = np.minimum(np.searchsorted(value.curve.share, shares - 1e-12), len(value.curve.cut) - 1)
    labels = [_cut_in_words(float(value.curve.cut[i])) for i in at]
    axis_above(ax, 100 * shares, labels, f"Threshold: {score} of at least")


def _cut_in_words(score: float) -> str:
    """Write a score in a few characters, also next to 0 and 1."""
    if 0.999 < score < 1:
        return f"{score:.5f}" if score <= 0.99999 else ">0.99999"
    if 0 < score < 0.01:
        return f"{score:.1e}"
    return f"{score:.3f}".rstrip("0").rstrip(".")


def title_of(value: Threshold) -> str:
    """Return what is guaranteed, and what the threshold keeps."""
    what = "accuracy" if value.notion == "confidence" else "precision"
    promise = f"{what} ≥ {value.target:g} with {100 * value.confidence:.4g} % confidence"
    if not value.is_found:
        why = f"even without an error, that takes {value.least:,} rows above the threshold"
        if value.start:
            at = int(np.searchsorted(value.curve.n, value.start))
            why = f"the highest {value.start:,} have {value.curve.precision[at]:.3f}"
            why += f", lower bound {value.curve.lower[at]:.3f}"
        return f"No threshold guarantees {promise}\nn = {thousands(value.n)}; {why}"
    score = "Confidence" if value.notion == "confidence" else "Score"
    found = f"{what} {value.precision:.3f}, lower bound {value.lower:.3f}, recall {value.recall:.3f}"
    return (
        f"{score} ≥ {value.cut:.4g}: {promise}\nKeeps {thousands(value.n_kept)} of {thousands(value.n)} rows; {found}"
    )


@renamed(groups="clusters")
def plot_threshold(
    predictions: Any,
    actuals: Any = None,
    save_path: str | os.PathLike[str] | None = None,
    *,
    precision: float = 0.9,
    confidence: float = 0.95,
    ax: Axes | None = None,
    notion: Notion | None = None,
    r: int | None = None,
    clusters: Any = None,
    sample_weight: Any = None,
    title: str | None = None,
) -> Figure:
    """Draw what each threshold keeps and how precise that is, with the lowest threshold whose precision is guaranteed.

    Rows enter from the highest score down; the axis above names the scores. The search begins where the grey ends and
    goes right as long as the lower bound stays above the target.

    Parameters
    ----------
    predictions, actuals, precision, confidence, notion, r, clusters, sample_weight
        As in `threshold_for`, whose result is taken too, in place of the predictions.
    save_path : path, optional
        Where to save the plot; the ending (.png, .svg or .pdf) decides the format.
    ax : matplotlib Axes, optional
        Draw here instead of on a new figure.
    title : str, optional
        A first line for the title.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> p = np.linspace(0.001, 0.999, 999)
    >>> figure = plot_threshold(p, np.random.default_rng(0).random(999) < p, precision=0.8)
    >>> figure.axes[0].get_title("left").splitlines()[0]
    'Score ≥ 0.7: precision ≥ 0.8 with 95 % confidence'
    """
    value = predictions
    if not isinstance(value, Threshold):
        value = threshold_for(
            predictions,
            actuals,
            precision=precision,
            confidence=confidence,
            notion=notion,
            r=r,
            clusters=clusters,
            sample_weight=sample_weight,
        )
    drawing = Drawing.on(ax, title, save_path, size=(6.7, 4.9))
    draw_threshold(value, drawing.ax)
    return drawing.finished(title_of(value))
