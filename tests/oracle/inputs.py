"""Small deterministic inputs on which the peers' values were recorded.

Only integers, ``/``, ``*``, ``+``, ``-`` and ``math.fsum`` are used (no random stream, no ``exp``, no order of
summation that a library may change), so the arrays are the same bit for bit on every machine. ``digest()`` names them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Input(NamedTuple):
    """Scores, labels and, for some, weights: ``p`` is (n,) or (n, K), ``y`` int64, ``w`` float64 or None."""

    p: np.ndarray
    y: np.ndarray
    w: np.ndarray | None = None


def _uniforms(seed: int, n: int) -> list[float]:
    """``n`` numbers in [0, 1): the high 53 bits of a 64-bit linear congruential generator (Knuth's MMIX constants)."""
    state, out = seed, []
    for _ in range(n + 4):
        state = (6364136223846793005 * state + 1442695040888963407) % 2**64
        out.append((state >> 11) / 2**53)
    return out[4:]


def _labels(rates: list[float], seed: int) -> np.ndarray:
    return np.array([int(u < r) for u, r in zip(_uniforms(seed, len(rates)), rates, strict=True)], dtype=np.int64)


def _over_confident(p: float) -> float:
    """The event rate at score ``p`` of an over-confident forecaster: 0.5 stays, 0 and 1 become 0.1 and 0.9."""
    return 0.1 + 0.8 * p


def _smooth(n: int, seed: int) -> Input:
    p = [(a + b) / 2 for a, b in zip(_uniforms(seed, n), _uniforms(seed + 1, n), strict=True)]
    return Input(np.array(p), _labels([_over_confident(q) for q in p], seed + 2))


def _on_grid(n: int, parts: int, seed: int) -> Input:
    """Scores k/parts by division, every k present; under-confident for odd k, over-confident for even k.

    Neighbouring scores err in opposite directions, so a score put into its neighbour's bin changes every error.
    """
    k = [i % (parts + 1) if i <= parts else int(u * (parts + 1)) for i, u in enumerate(_uniforms(seed, n))]
    p = [j / parts for j in k]
    return Input(
        np.array(p), _labels([0.4 + 0.6 * q if j % 2 else 0.6 * q for j, q in zip(k, p, strict=True)], seed + 1)
    )


def _half_saturated() -> Input:
    """Every other score is exactly 1 and over-confident; those between 0.9 and 1 are under-confident."""
    p = [1.0 if i % 2 else u for i, u in enumerate(_uniforms(40, 200))]
    return Input(np.array(p), _labels([0.8 if q == 1.0 else 1.0 if q > 0.9 else _over_confident(q) for q in p], 41))


def _ties() -> Input:
    """Seven values of very unequal mass, two of them neighbours at 1e-9: quantile edges coincide."""
    values = [0.02, 0.15, 0.4, 0.4 + 1e-9, 0.55, 0.85, 0.97]
    share = [0.05, 0.1, 0.45, 0.6, 0.65, 0.95, 1.0]
    p = [next(v for v, s in zip(values, share, strict=True) if u < s) for u in _uniforms(50, 120)]
    return Input(np.array(p), _labels([_over_confident(q) for q in p], 51))


def _matrix(n: int, classes: int, seed: int) -> Input:
    """Rows of cubes divided by their sum; the label is drawn from a blend of the row and the uniform distribution."""
    u = _uniforms(seed, n * classes)
    rows, labels = [], []
    for i, v in enumerate(_uniforms(seed + 1, n)):
        cubes = [x * x * x + 1e-3 for x in u[i * classes : (i + 1) * classes]]
        total = math.fsum(cubes)
        row = [c / total for c in cubes]
        cumulative = [math.fsum(row[: k + 1]) * 0.8 + 0.2 * (k + 1) / classes for k in range(classes - 1)]
        labels.append(sum(v >= c for c in cumulative))
        rows.append(row)
    return Input(np.array(rows), np.array(labels, dtype=np.int64))


def _matrix_on_tenths() -> Input:
    """Three classes, confidences on tenths from 0.4 to 1.0, no ties of the largest; hit rates alternate as above."""
    tenths = [(4, 3, 3), (5, 4, 1), (6, 4, 0), (6, 3, 1), (7, 2, 1), (7, 3, 0), (8, 1, 1), (9, 1, 0), (10, 0, 0)]
    rows, labels = [], []
    for i, (u, v) in enumerate(zip(_uniforms(80, 120), _uniforms(81, 120), strict=True)):
        row = [t / 10 for t in tenths[int(u * len(tenths))]]
        turn = i % 3
        row = row[turn:] + row[:turn]
        best = row.index(max(row))
        rate = 0.6 * max(row) if round(10 * max(row)) % 2 == 0 else 0.4 + 0.6 * max(row)
        labels.append(best if v < rate else (best + 1 + int(v * 1000) % 2) % 3)
        rows.append(row)
    return Input(np.array(rows), np.array(labels, dtype=np.int64))


def _half_saturated_matrix() -> Input:
    """Every other row is exactly one-hot and right four times of five; a quarter lies between 0.9 and 1, all right."""
    p, y, _ = _matrix(120, 3, 90)
    p, y = p.copy(), y.copy()
    for i, u in enumerate(_uniforms(92, 120)):
        if i % 2:
            p[i] = np.eye(3)[i % 3]
            y[i] = (i + (i % 5 == 0)) % 3
        elif i % 4 == 2:
            rest = (0.01 + 0.08 * u) / 2
            p[i] = rest
            p[i, i % 3] = 1 - 2 * rest
            y[i] = i % 3
    return Input(p, y)


def _float32(given: Input) -> Input:
    return given._replace(p=given.p.astype(np.float32))


def _weighted(given: Input, seed: int) -> Input:
    """Weights are eighths from 1/8 to 2, every tenth one 0."""
    w = [0.0 if i % 10 == 9 else (1 + int(16 * u)) / 8 for i, u in enumerate(_uniforms(seed, len(given.y)))]
    return given._replace(w=np.array(w))


def inputs() -> dict[str, Input]:
    """All inputs by name."""
    smooth, tenths, fifteenths = _smooth(400, 10), _on_grid(200, 10, 20), _on_grid(160, 15, 30)
    multi3 = _matrix(150, 3, 60)
    return {
        "smooth": smooth,
        "smooth_float32": _float32(smooth),
        "smooth_weighted": _weighted(smooth, 13),
        "heaped_tenths": tenths,
        "heaped_tenths_float32": _float32(tenths),
        "heaped_tenths_weighted": _weighted(tenths, 23),
        "heaped_fifteenths": fifteenths,
        "heaped_fifteenths_float32": _float32(fifteenths),
        "half_saturated": _half_saturated(),
        "half_saturated_float32": _float32(_half_saturated()),
        "ties": _ties(),
        "fewer_than_bins": _smooth(9, 100),
        "constant": Input(np.full(30, 0.5), _labels([0.6] * 30, 110)),
        "two_column": _matrix(100, 2, 120),
        "multi3": multi3,
        "multi3_float32": _float32(multi3),
        "multi3_weighted": _weighted(multi3, 63),
        "multi3_tenths": _matrix_on_tenths(),
        "multi3_tenths_float32": _float32(_matrix_on_tenths()),
        "multi3_half_saturated": _half_saturated_matrix(),
        "multi10": _matrix(300, 10, 70),
    }


def _clinical(n: int, seed: int) -> Input:
    """Few events and skewed scores, 0.01 to 0.61, that are too low below 0.1 and too high above."""
    p = [0.01 + 0.6 * u * u * u for u in _uniforms(seed, n)]
    return Input(np.array(p), _labels([0.03 + 0.7 * q for q in p], seed + 1))


def beyond() -> dict[str, Input]:
    """The inputs of what needs no bins: those above that serve it, and some made for tests, smoothers and fits.

    Where R counts neighbours, n (and eight times the weight) is a multiple of 4, so that 0.75 n is a whole number.
    """
    taken = """smooth smooth_weighted heaped_tenths heaped_tenths_weighted half_saturated ties fewer_than_bins constant
        two_column multi3 multi3_tenths multi3_half_saturated multi10"""
    calibrated = [(a + b) / 2 for a, b in zip(_uniforms(200, 400), _uniforms(201, 400), strict=True)]
    promising = _uniforms(210, 400)
    clinical = _clinical(600, 220)
    hundredths = [(1 + int(98 * u)) / 100 for u in _uniforms(230, 400)]
    made = {
        "calibrated": Input(np.array(calibrated), _labels(calibrated, 202)),
        "too_high": Input(np.array(promising), _labels([0.8 * q for q in promising], 211)),
        "clinical": clinical,
        "clinical_weighted": _weighted(clinical, 223),
        "hundredths": Input(np.array(hundredths), _labels([_over_confident(q) for q in hundredths], 231)),
        "many": _smooth(6000, 240),  # more than are smoothed one by one
    }
    return {name: given for name, given in inputs().items() if name in taken.split()} | made


def _rated(seed: int, rate: Callable[[float], float]) -> Input:
    """300 scores from 0.005 to 0.995, whose event rates are given."""
    p = [0.005 + 0.99 * u for u in _uniforms(seed, 300)]
    return Input(np.array(p), _labels([rate(q) for q in p], seed + 1))


def recalibrating() -> dict[str, Input]:
    """The inputs of recalibrators: some of those above, four classes, and scores that a rising map does not serve."""
    taken = """smooth smooth_weighted heaped_tenths heaped_tenths_weighted ties clinical clinical_weighted two_column
        multi3 multi3_weighted"""
    multi4 = _matrix(200, 4, 300)
    made = {
        "multi4": multi4,
        "multi4_weighted": _weighted(multi4, 303),
        "dip": _rated(310, lambda q: 0.3 - 0.6 * q + 1.2 * q * q),  # falls, then rises higher
        "hump": _rated(320, lambda q: 0.1 + 1.2 * q - 0.6 * q * q - 0.3 * q * q * q * q),  # rises, then falls a little
        "sinking": _rated(330, lambda q: 0.4 + 0.6 * q - 0.9 * q * q),  # rises a little, then falls
        "falling": _rated(340, lambda q: 0.9 - 0.8 * q),
    }
    return {name: given for name, given in (inputs() | beyond()).items() if name in taken.split()} | made


def by_level() -> dict[str, Input]:
    """The inputs of partial pooling: row i belongs to level i % 6 of one column and to level i // 6 % 4 of another.

    Levels of the first multiply odds by 0.4 to 2.4, and blend rates with 1/2; those of the second multiply odds.
    """
    p = [(a + b) / 2 for a, b in zip(_uniforms(400, 1200), _uniforms(401, 1200), strict=True)]
    rates = []
    for i, q in enumerate(p):
        odds = q / (1 - q) * (0.4 + 0.4 * (i % 6)) * (0.5 + 0.4 * (i // 6 % 4))
        blend = (i * 5 % 6) / 8
        rates.append((1 - blend) * odds / (1 + odds) + blend / 2)
    return {"by_level": Input(np.array(p), _labels(rates, 402))}


def digest(of: dict[str, Input] | None = None) -> str:
    """SHA-256 over names, dtypes, shapes and little-endian bytes of every array (of `inputs()`)."""
    h = hashlib.sha256()
    for name, given in (inputs() if of is None else of).items():
        for array in given:
            if array is not None:
                h.update(f"{name} {array.dtype.name} {array.shape}".encode())
                h.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
    return h.hexdigest()
