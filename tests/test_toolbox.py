"""The short names are the long ones, with 15 bins."""

from __future__ import annotations

import numpy as np
import pytest

import believable as b
from believable import Predictions
from believable import toolbox as t
from believable.errors import InputError
from tests.needs import need

RNG = np.random.default_rng(9)
M = RNG.dirichlet(np.full(6, 0.4), 500)
L = RNG.integers(0, 6, 500)
P = RNG.random(500)
Y = (RNG.random(500) < P).astype(int)

SAME = {
    "ECE": lambda: (t.ECE(M, L), b.expected_calibration_error(M, L, 15)),
    "ECE binary": lambda: (t.ECE(P, Y), b.expected_calibration_error(P, Y, 15)),
    "RMSCE": lambda: (t.RMSCE(M, L), b.root_mean_square_calibration_error(M, L, 15)),
    "MCE": lambda: (t.MCE(M, L), b.maximum_calibration_error(M, L, 15)),
    "ACE": lambda: (t.ACE(M, L), b.adaptive_calibration_error(M, L, 15)),
    "ACE binary": lambda: (t.ACE(P, Y), b.adaptive_calibration_error(P, Y, 15)),
    "SCE": lambda: (t.SCE(M, L), b.static_calibration_error(M, L, 15)),
    "TACE": lambda: (t.TACE(M, L), b.thresholded_adaptive_calibration_error(M, L, 15)),
    "ToprCE": lambda: (t.ToprCE(M, L, r=4), t.GCE(M, L, class_conditional=True, top_k_classes=4)),
    "ToprCE of all": lambda: (t.ToprCE(M, L, r=6), t.SCE(M, L)),
    "ToprCE beyond K": lambda: (t.ToprCE(M, L, r=9), t.SCE(M, L)),
    "the largest by class": lambda: (
        t.GCE(M, L, class_conditional=True),
        b.top_label_calibration_error(M, L, 15) / 6,
    ),
    "TCE": lambda: (t.TCE(M, L), b.expected_calibration_error(M, L, 15, "quantile", norm=2)),
    "CWCE": lambda: (t.CWCE(M, L), b.marginal_calibration_error(M, L, 15)),
    "KSCE": lambda: (t.KSCE(M, L), b.kolmogorov_smirnov_calibration_error(M, L)),
    "MMCE": lambda: (t.MMCE(P, Y), b.maximum_mean_calibration_error(P, Y)),
    "KCE": lambda: (t.KCE(M, L), b.kernel_calibration_error(M, L)),
    "GCE": lambda: (t.GCE(M, L), t.ECE(M, L)),
    "GCE pooled top 1": lambda: (t.GCE(M, L, class_conditional=False), t.ECE(M, L)),
    "GCE pooled": lambda: (
        t.GCE(M, L, 20, class_conditional=False, top_k_classes="all", norm="inf"),
        b.expected_calibration_error(M, L, 20, notion="classwise", pooled=True, norm="max"),
    ),
    "GCE pooled top 2": lambda: (
        t.GCE(M, L, class_conditional=False, adaptive_bins=True, top_k_classes=2, norm=2, thresholding=0.1),
        b.expected_calibration_error(M, L, 15, "quantile", notion="top_r", r=2, norm=2, threshold=0.1, pooled=True),
    ),
    "largest gap": lambda: (
        t.GCE(M, L, top_k_classes=2, norm="inf"),
        b.expected_calibration_error(M, L, 15, notion="classwise_top_r", r=2, norm="max"),
    ),
    "get_ece": lambda: (t.get_ece(M, L), t.ECE(M, L)),
    "get_ece binary": lambda: (t.get_ece(P, Y, 5), b.expected_calibration_error(P, Y, 5)),
    "OverUnder": lambda: (t.OverUnder(M, L).total, t.ECE(M, L)),
}


@pytest.mark.parametrize("name", SAME)
def test_short_names(name):
    """Each short name is a choice of notion, bins and norm."""
    one, other = SAME[name]()
    assert one == pytest.approx(other, rel=1e-13)


def general(rows, labels, n_bins, r, norm, threshold, class_conditional=True):
    """The general formula, entry by entry: (sum_k sum_b n_bk / (N K) |acc - conf|^p)^(1/p)."""
    n_classes = len(rows[0])
    above = sum(p > threshold or threshold == 0 for row in rows for p in row)
    bins = {}
    for row, label in zip(rows, labels, strict=True):
        largest = sorted(range(n_classes), key=lambda k: (-row[k], k))[:r]
        for k in largest:
            if row[k] > threshold or threshold == 0:
                b_k = next(m for m in range(1, n_bins + 1) if row[k] <= m / n_bins)
                bins.setdefault((b_k, k if class_conditional else 0), []).append((row[k], label == k))
    total = above if class_conditional else sum(map(len, bins.values()))
    gaps = [(len(one), abs(sum(p - hit for p, hit in one)) / len(one)) for one in bins.values()]
    return sum(n / total * gap**norm for n, gap in gaps) ** (1 / norm)


@pytest.mark.parametrize("r", [1, 2, 5, 6])
@pytest.mark.parametrize("norm", [1, 2, 3.5])
@pytest.mark.parametrize("threshold", [0.0, 0.05])
def test_the_general_formula(r, norm, threshold):
    """Entries among the r largest, apart by class; the sum is divided by N K, or by all entries above the threshold."""
    rows, labels = M[:300].tolist(), L[:300].tolist()
    if not threshold:
        assert sum(map(len, rows)) == 300 * 6
    for apart in (True, False):
        found = t.GCE(M[:300], L[:300], 10, apart, top_k_classes=r, norm=norm, thresholding=threshold)
        assert found == pytest.approx(general(rows, labels, 10, r, norm, threshold, apart), rel=1e-12)
    if r == 6:
        everything = t.GCE(M[:300], L[:300], 10, True, top_k_classes="all", norm=norm, thresholding=threshold)
        assert t.GCE(M[:300], L[:300], 10, True, top_k_classes=r, norm=norm, thresholding=threshold) == everything


def test_the_general_formula_in_numbers():
    """Two rows of three classes, by hand: the entries 0.7 (right), 0.2, 0.5 and 0.3 (right) of N K = 6."""
    rows, labels = [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3]], [0, 2]
    assert t.GCE(rows, labels, class_conditional=True, top_k_classes=2) == pytest.approx((0.3 + abs(0.7) + 0.7) / 6)
    assert t.ToprCE(rows, labels, r=2) == pytest.approx((0.3 + 0.7 + 0.7) / 6)
    weights = Predictions(np.repeat(M, 2, axis=0), np.repeat(L, 2), sample_weight=np.tile([1.0, 2.0], 500))
    assert t.ToprCE(weights) == pytest.approx(t.ToprCE(M, L), rel=1e-12)


def test_reliability_diagram_is_the_curve():
    """Two arrays, ten bins by default."""
    predicted, happened = t.reliability_diagram(P, Y)
    curve = b.calibration_curve(P, Y)
    assert np.array_equal(predicted, curve[0])
    assert np.array_equal(happened, curve[1])


def test_a_threshold_of_zero_keeps_zeros():
    """0 means no threshold: probabilities of exactly 0 count."""
    assert t.GCE([0.0, 0.0, 1.0], [1, 0, 1]) == pytest.approx(1 / 3)


def test_a_calibrated_model_is_calibrated():
    """True negatives are not hits: the static error of a calibrated model is near 0."""
    rng = np.random.default_rng(1)
    rows = rng.dirichlet(np.ones(10), 20_000)
    labels = (rows.cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    assert t.SCE(rows, labels) < 0.01
    assert t.ACE(rows, labels) < 0.01


def test_classes_need_a_matrix():
    """SCE, CWCE and ToprCE of 1-D scores are an error."""
    for function in (t.SCE, t.CWCE, t.ToprCE):
        with pytest.raises(InputError, match="needs a matrix with one column per class"):
            function(P, Y)
    with pytest.raises(InputError, match="top_k_classes must be a number or 'all'"):
        t.GCE(M, L, top_k_classes="some")
    for odd in ("3", None, 2.5):
        with pytest.raises(InputError, match="r must be an integer"):
            t.ToprCE(M, L, r=odd)
    with pytest.raises(InputError, match="top_k_classes must be an integer from 1 to 6"):
        t.GCE(M, L, top_k_classes=7)
    assert t.GCE(M, L, norm=np.inf) == t.MCE(M, L)


# --- names of tutorials -----------------------------------------------------------------------------------------------

CONF = np.round(RNG.beta(5, 2, 407), 2)
CONF[:3] = 0.0, 1.0, 0.2  # 0, 1 and edges
PREDICTED = RNG.integers(0, 6, 407)
LABELS = np.where(RNG.random(407) < CONF, PREDICTED, (PREDICTED + 1) % 6)


def literal_bins(n_bins):
    """The loop of tutorials, with 0 in the first bin."""
    found = []
    for m in range(1, n_bins + 1):
        rows = [i for i in range(407) if (m - 1) / n_bins < CONF[i] <= m / n_bins or (m == 1 and CONF[i] == 0)]
        if rows:
            conf = sum(CONF[i] for i in rows) / len(rows)
            acc = sum(PREDICTED[i] == LABELS[i] for i in rows) / len(rows)
            found.append(((m - 1) / n_bins, m / n_bins, conf, acc, len(rows), abs(acc - conf)))
    return found


@pytest.mark.parametrize("n_bins", [1, 5, 10, 15])
def test_compute_ece(n_bins):
    """The error, and one dictionary for each bin that holds rows; the maximum of their gaps is the MCE."""
    literal = literal_bins(n_bins)
    ece, bin_data = t.compute_ece(CONF, PREDICTED, LABELS, n_bins)
    assert ece == pytest.approx(sum(n / 407 * gap for *_, n, gap in literal), abs=1e-14)
    assert ece == pytest.approx(b.expected_calibration_error(CONF, PREDICTED == LABELS, n_bins), abs=1e-14)
    names = ["bin_lower", "bin_upper", "confidence", "accuracy", "count", "gap"]
    assert [[one[name] for name in names] for one in bin_data] == [
        pytest.approx(list(row), abs=1e-14) for row in literal
    ]
    assert all(one["conf"] == one["confidence"] and one["acc"] == one["accuracy"] for one in bin_data)
    assert all(type(value) in (int, float) for one in bin_data for value in one.values())
    assert sum(one["count"] / 407 * one["gap"] for one in bin_data) == pytest.approx(ece, abs=1e-14)
    assert t.compute_mce(CONF, PREDICTED, LABELS, n_bins) == pytest.approx(max(gap for *_, gap in literal), abs=1e-14)


def literal_adaptive(confidences, correct, n_bins):
    """The recipe of tutorials: n // n_bins rows in each part, and the rest in the last."""
    order = np.argsort(confidences, kind="stable")
    size, n, total = len(order) // n_bins, len(order), 0.0
    for i in range(n_bins):
        part = order[i * size : (i + 1) * size if i < n_bins - 1 else n]
        if len(part):
            total += len(part) / n * abs(correct[part].mean() - confidences[part].mean())
    return total


@pytest.mark.parametrize("n_bins", [1, 5, 10, 15, 200, 407, 500])
def test_compute_adaptive_ece(n_bins):
    """Parts of n // n_bins rows; the last takes the rest, and all rows if there are fewer than bins."""
    expected = literal_adaptive(CONF, PREDICTED == LABELS, n_bins)
    assert t.compute_adaptive_ece(CONF, PREDICTED, LABELS, n_bins) == pytest.approx(expected, abs=1e-13)
    found = b.expected_calibration_error(CONF, PREDICTED == LABELS, n_bins, convention="floor_split")
    assert found == pytest.approx(expected, abs=1e-13)
    whole = b.expected_calibration_error(CONF[:400], (PREDICTED == LABELS)[:400], 10, convention="floor_split")
    assert whole == b.expected_calibration_error(CONF[:400], (PREDICTED == LABELS)[:400], 10, convention="array_split")


def test_the_rest_goes_into_the_last_part():
    """Seven rows in three parts: 2, 2 and 3, where numpy.array_split makes 3, 2 and 2."""
    p, y = np.arange(1, 8) / 10, np.array([0, 0, 1, 0, 1, 1, 1])
    parts = [abs((0.1 + 0.2) - 0), abs((0.3 + 0.4) - 1), abs((0.5 + 0.6 + 0.7) - 3)]
    assert b.expected_calibration_error(p, y, 3, convention="floor_split") == pytest.approx(sum(parts) / 7)


def test_names_of_answers():
    """Classes may be text, booleans or whole numbers in any container; text and numbers do not mix."""
    names = np.array(list("abcdef"))
    expected = t.compute_ece(CONF, PREDICTED, LABELS)
    assert t.compute_ece(CONF.tolist(), names[PREDICTED].tolist(), names[LABELS]) == expected
    assert t.compute_ece(CONF, names[PREDICTED].astype(object), names[LABELS]) == expected
    assert t.compute_ece(CONF, PREDICTED.astype(float), LABELS) == expected
    assert t.compute_ece(CONF, PREDICTED == LABELS, np.ones(407, bool)) == expected


REFUSED = {
    "matrix": ((M, L, 10), r"confidences must be 1-D, got shape \(500, 6\); the order is .* use ECE\(probs, labels\)"),
    "two arrays": ((CONF, LABELS, 10), r"labels must be 1-D, got shape \(\)"),
    "one-hot": ((CONF, PREDICTED, np.eye(6)[LABELS]), r"labels must be 1-D, got shape \(407, 6\)"),
    "short": ((CONF, PREDICTED[:-1], LABELS), "confidences and predictions differ in length: 407 and 406"),
    "missing": ((CONF, PREDICTED, [None, *LABELS[1:]]), "labels have a missing label at row 0; drop or repair"),
    "not answered": ((CONF, np.where(PREDICTED > 4, np.nan, PREDICTED), LABELS), "predictions have a missing label at"),
    "no confidence": ((np.where(CONF > 0.5, np.nan, CONF), PREDICTED, LABELS), "confidences must be finite, got NaN"),
    "mixed": ((CONF, PREDICTED, LABELS.astype(str)), "must both be numbers or both text"),
    "percent": ((100 * CONF, PREDICTED, LABELS), r"confidences must lie in \[0, 1\], got 100 at row 1"),
    "no bins": ((CONF, PREDICTED, LABELS, 0), "n_bins must be an integer"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_answers(name):
    """Everything that is not (confidences, predictions, labels) is an error that says so."""
    given, said = REFUSED[name]
    for function in (t.compute_ece, t.compute_mce, t.compute_adaptive_ece):
        with pytest.raises(InputError, match=said):
            function(*given)


def test_brier_scores_of_tutorials():
    """The sum over classes, as numpy.eye writes it; one-hot rows come first in `brier_multi`."""
    literal = np.mean(np.sum((M - np.eye(6)[L]) ** 2, axis=1))
    assert t.compute_brier_score(M, L) == pytest.approx(literal, rel=1e-13)
    assert t.brier_multi(np.eye(6)[L], M) == pytest.approx(literal, rel=1e-13)
    assert t.compute_brier_score(P, Y) == pytest.approx(np.mean((P - Y) ** 2), rel=1e-13)
    for targets in (L, np.full((500, 6), 1 / 6), M):
        with pytest.raises(InputError, match="targets must be one-hot"):
            t.brier_multi(targets, M)


def test_scaling_of_tutorials():
    """Logits divided by a temperature, given as a number or in a dictionary."""
    logits = np.log(M[:5])
    assert np.array_equal(t.T_scaling(logits, {"temperature": 2.5}), logits / 2.5)
    assert np.array_equal(t.T_scaling(logits.tolist(), 2.5), logits / 2.5)
    for wrong in (0, -1.0, np.nan):
        with pytest.raises(InputError, match="temperature must be positive"):
            t.T_scaling(logits, {"temperature": wrong})


def test_names_that_need_torch():
    """`ECELoss` is the one of believable.torch, and a temperature that torch fits keeps its gradient."""
    need("torch")
    import torch

    assert t.ECELoss is __import__("believable.torch").torch.ECELoss
    temperature = torch.nn.Parameter(torch.ones(1))
    t.T_scaling(torch.ones(2, 3), {"temperature": temperature}).sum().backward()
    assert temperature.grad is not None
    with pytest.raises(AttributeError, match="no attribute 'ECEloss'"):
        t.ECEloss  # noqa: B018 - reading it is the test
