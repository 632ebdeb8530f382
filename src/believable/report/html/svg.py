"""Pictures that need no script: bars for numbers with interval and floor, and a reliability diagram."""

from __future__ import annotations

import math
from collections.abc import Sequence

from believable.report.html.words import share, text
from believable.report.parts import Bin

MARK_SHAPES = (
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0Z",
    "M-4 -4H4V4H-4Z",
    "M0 -5.5L5 4H-5Z",
    "M0 -6L5 0L0 6L-5 0Z",
    "M0 5.5L5 -4H-5Z",
    "M-4.5 -1.5H-1.5V-4.5H1.5V-1.5H4.5V1.5H1.5V4.5H-1.5V1.5H-4.5Z",
    "M-5 -3H5V3H-5Z",
    "M-3 -5H3V5H-3Z",
)
SMALLEST_AXIS = 1e-300  # shorter axes end here, because powers of ten below are not exact, and none is below 1e-323
ROUND_MULTIPLES = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def next_round_number(value: float) -> float:
    """The next round number; 1 for 0."""
    if not 0 < value < math.inf:
        return 1.0
    power = 10.0 ** math.floor(math.log10(max(value, SMALLEST_AXIS)))
    return float(f"{min(m for m in ROUND_MULTIPLES if m * power >= value * (1 - 1e-12)) * power:.3g}")


def scale_of(values: Sequence[float | None]) -> tuple[float, float]:
    """Ends of an axis that holds these and 0."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    return -next_round_number(-min(known)) if known and min(known) < 0 else 0.0, next_round_number(max([*known, 0.0]))


def bar(
    value: float | None,
    low: float | None,
    high: float | None,
    floor: float | None,
    q95: float | None,
    scale: tuple[float, float],
    target: float | None = None,
) -> str:
    """A number as a dot, its interval as a line, and its noise floor as a tick and a shade.

    Positions are shares of the width, so that the picture fits wherever it is put. `target` is marked by a dotted line:
    the right value of a number whose right value lies inside the scale. An infinite value is not drawn.
    """
    start, end = scale

    def at(number: float) -> str:
        share = (min(max(number, start), end) - start) / (end - start)
        return f"{1.5 + 97 * share:.1f}%"

    drawn = []
    if q95 is not None and q95 > start:
        width = 97 * (min(q95, end) - max(start, 0.0)) / (end - start)
        drawn.append(f'<rect class="shade" x="{at(max(start, 0.0))}" width="{width:.1f}%" y="15%" height="70%"/>')
    if target is not None and start <= target <= end:
        drawn.append(f'<line class="target" x1="{at(target)}" x2="{at(target)}" y1="0" y2="100%"/>')
    if floor is not None:
        drawn.append(f'<line class="floor" x1="{at(floor)}" x2="{at(floor)}" y1="8%" y2="92%"/>')
    if low is not None and high is not None and not (math.isinf(low) and low == high):
        drawn.append(f'<line class="interval" x1="{at(low)}" x2="{at(high)}" y1="50%" y2="50%"/>')
    if value is not None and math.isfinite(value):
        drawn.append(f'<circle class="dot" cx="{at(value)}" cy="50%" r="4.5"/>')
    return f'<svg class="bar" aria-hidden="true">{"".join(drawn)}</svg>'


def diagram(table: Sequence[Bin], x_label: str, y_label: str, size: int = 260) -> str:
    """The reliability table as a picture: points with their intervals, and the share of rows of each bin below."""
    left, top, foot, hist = 40, 8, 34, 44
    bottom = top + size
    total = sum(row.weight for row in table) or 1.0
    tallest = max([_density(row) for row in table], default=1.0) or 1.0
    used = [row for row in table if row.n]

    def x(share: float) -> str:
        return f"{left + size * share:.1f}"

    def y(share: float) -> str:
        return f"{bottom - size * share:.1f}"

    words = "; ".join(f"predicted {share(row.conf)}, observed {share(row.acc)}" for row in used)
    floor = bottom + 6 + hist
    drawn = [
        f'<rect x="{left}" y="{top}" width="{size}" height="{size}" fill="none" stroke="currentColor" opacity=".35"/>',
        f'<path d="M{x(0)} {y(0)}L{x(1)} {y(1)}" stroke="currentColor" stroke-dasharray="4 3" opacity=".6"/>',
    ]
    for tick in (0, 0.5, 1):
        drawn.append(f'<text x="{left - 5}" y="{y(tick)}" dy=".35em" text-anchor="end">{tick:g}</text>')
        drawn.append(f'<text x="{x(tick)}" y="{floor + 13}" text-anchor="middle">{tick:g}</text>')
    for row in used:
        height = hist * _density(row) / tallest
        drawn.append(
            f'<rect x="{x(row.start)}" y="{floor - height:.1f}" width="{max(size * (row.end - row.start) - 1, 1):.1f}" '
            f'height="{height:.1f}" fill="currentColor" opacity=".3">'
            f"<title>{100 * row.weight / total:.1f} %</title></rect>"
        )
    points = [(row, row.conf, row.acc) for row in used if row.conf is not None and row.acc is not None]
    line = "L".join(f"{x(conf)} {y(acc)}" for _, conf, acc in points)
    drawn.append(f'<path d="M{line}" fill="none" stroke="#2a78b8" opacity=".6"/>' if points else "")
    for row, conf, acc in points:
        if row.low is not None and row.high is not None:
            drawn.append(f'<path d="M{x(conf)} {y(row.low)}V{y(row.high)}" stroke="#2a78b8" stroke-width="1.5"/>')
        drawn.append(f'<circle cx="{x(conf)}" cy="{y(acc)}" r="3.5" fill="#2a78b8"/>')
    width, height = left + size + 12, floor + foot
    drawn.append(f'<text x="{x(0.5)}" y="{floor + 29}" text-anchor="middle">{text(x_label)}</text>')
    middle = f"{top + size / 2:g}"
    drawn.append(
        f'<text transform="rotate(-90 11 {middle})" x="11" y="{middle}" text-anchor="middle">{text(y_label)}</text>'
    )
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" font-size="11" '
        f'fill="currentColor" style="max-width:100%;height:auto" aria-label="Reliability diagram: {text(words)}">'
        f"{''.join(drawn)}</svg>"
    )


def mark_of_model(i: int) -> str:
    """The shape and colour of a model, for a legend."""
    shape = MARK_SHAPES[i % len(MARK_SHAPES)]
    return f'<svg class="icon model m{i}" viewBox="-7 -7 14 14" aria-hidden="true"><path d="{shape}"/></svg>'


def diagram_of_several(models: Sequence[tuple[str, Sequence[Bin]]], x_label: str, y_label: str, size: int = 400) -> str:
    """The reliability tables of several models in one picture: a line, a colour and a shape for each."""
    left, top, foot = 46, 8, 40
    bottom = top + size

    def x(share: float) -> str:
        return f"{left + size * share:.1f}"

    def y(share: float) -> str:
        return f"{bottom - size * share:.1f}"

    drawn = [f'<path class="diagonal" d="M{x(0)} {y(0)}L{x(1)} {y(1)}"/>']
    grid = []
    for tick in (0, 0.2, 0.4, 0.6, 0.8, 1):
        grid.append(f'<path d="M{x(tick)} {top}V{bottom}M{left} {y(tick)}H{left + size}"/>')
        grid.append(f'<text x="{left - 6}" y="{y(tick)}" dy=".35em" text-anchor="end">{tick:g}</text>')
        grid.append(f'<text x="{x(tick)}" y="{bottom + 14}" text-anchor="middle">{tick:g}</text>')
    for i, (model, table) in enumerate(models):
        points = [(row, row.conf, row.acc) for row in table if row.n and row.conf is not None and row.acc is not None]
        line = "L".join(f"{x(conf)} {y(acc)}" for _, conf, acc in points)
        marks = "".join(
            f'<path transform="translate({x(conf)} {y(acc)})" d="{MARK_SHAPES[i % len(MARK_SHAPES)]}">'
            f"<title>{text(model)}, scores {row.start:.4g} to {row.end:.4g}: predicted {share(conf)}, observed "
            f"{share(acc)}, {row.n:,} rows</title></path>"
            for row, conf, acc in points
        )
        drawn.append(f'<g class="model m{i}"><path class="line" d="M{line}"/>{marks}</g>' if points else "")
    middle = f"{top + size / 2:g}"
    grid.append(f'<text class="label" x="{x(0.5)}" y="{bottom + 32}" text-anchor="middle">{text(x_label)}</text>')
    grid.append(
        f'<text class="label" transform="rotate(-90 12 {middle})" x="12" y="{middle}" text-anchor="middle">'
        f"{text(y_label)}</text>"
    )
    width, height = left + size + 12, bottom + foot
    said = "; ".join(f"{model}, {_ends_of(table)}" for model, table in models)
    words = f"Reliability diagram. {said}. The evidence has a table for each model."
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{text(words)}"><g class="grid">{"".join(grid)}</g>{"".join(drawn)}</svg>'
    )


def _ends_of(table: Sequence[Bin]) -> str:
    """The lowest and the highest bin in words."""
    used = [row for row in table if row.n]
    said = (f"predicted {share(row.conf)}, observed {share(row.acc)}" for row in (used[0], used[-1]))
    return " to ".join(dict.fromkeys(said))


def _density(row: Bin) -> float:
    """Weight for its width, so that bins of equal weight show where the scores crowd; a bin of 0 alone is narrow."""
    return row.weight / max(row.end - row.start, 0.01)
