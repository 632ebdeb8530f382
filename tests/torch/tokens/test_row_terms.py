"""What each row of logits says, held to the textbook and to the NumPy core."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from believable import Predictions
from believable.stats import sums
from believable.torch.tokens import row_terms as row_terms_module
from believable.torch.tokens.row_terms import plain_row_terms, row_terms

INF = math.inf
FLOATS = ("confidence", "nll", "brier", "entropy")


def drawn(n, columns, seed=0, scale=3.0, dtype=torch.float64, device="cpu"):
    """Random logits and labels, half of which are the largest logit's."""
    rng = np.random.default_rng(seed)
    logits = torch.tensor(scale * rng.standard_normal((n, columns)), device=device).to(dtype)
    labels = torch.tensor(rng.integers(0, columns, n), device=device)
    labels[::2] = logits[::2].argmax(dim=1)
    return logits, labels


def close(a, b, tolerance=1e-12):
    """The same numbers; a GPU may sum in another order."""
    torch.testing.assert_close(a, b, rtol=tolerance, atol=0, equal_nan=True)


def by_the_book(logits, label):
    """One row, in words of the definition."""
    top = max(logits)
    e = [math.exp(z - top) for z in logits]
    p = [x / math.fsum(e) for x in e]
    order = sorted(range(len(p)), key=lambda k: (-logits[k], k))
    return {
        "confidence": max(p),
        "hit": logits.index(top) == label,
        "nll": math.log(math.fsum(e)) - (logits[label] - top),
        "brier": math.fsum((p[k] - (k == label)) ** 2 for k in range(len(p))),
        "entropy": -math.fsum(x * math.log(x) for x in p if x > 0),
        "top": logits.index(top),
        "ranked": [p[k] for k in order],
        "ranked_columns": order,
    }


@pytest.mark.parametrize("columns", [2, 3, 17])
def test_each_row_is_what_the_definition_says(columns, device):
    """A loop over rows and columns finds the same numbers."""
    logits, labels = drawn(40, columns, device=device)
    terms = row_terms(logits, labels, r=columns)
    for i in range(40):
        book = by_the_book(logits[i].tolist(), labels[i].item())
        for name, value in book.items():
            found = getattr(terms, name)[i].tolist()
            assert found == pytest.approx(value, rel=1e-12, abs=1e-14), name


def test_the_numpy_core_has_the_same_terms(device):
    """Confidence, hits, log loss, Brier score and entropy are those of `Predictions(from_logits=True)`."""
    logits, labels = drawn(300, 50, seed=1, device=device)
    core = sums.row_terms(Predictions(logits.cpu().numpy(), labels.cpu().numpy(), from_logits=True))
    terms = row_terms(logits, labels)
    for name in FLOATS:
        expected = core[name].sum(axis=1) if core[name].ndim == 2 else core[name]
        np.testing.assert_allclose(getattr(terms, name).cpu(), expected, rtol=1e-11, err_msg=name)
    assert np.array_equal(terms.hit.cpu(), core["correct"] == 1)
    assert terms.ranked is None
    assert terms.ranked_columns is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_narrow_logits_are_widened_first(dtype, device):
    """Narrow logits give what the same numbers give in float64; to single precision on a GPU."""
    logits, labels = drawn(64, 200, seed=2, dtype=dtype, device=device)
    narrow, wide = row_terms(logits, labels, 3), row_terms(logits.double(), labels, 3)
    for name in (*FLOATS, "ranked"):
        tolerance = 1e-14 if device == "cpu" else 5e-6
        torch.testing.assert_close(getattr(narrow, name), getattr(wide, name), rtol=tolerance, atol=tolerance)
        assert getattr(narrow, name).dtype == torch.float64
    assert torch.equal(narrow.ranked_columns, wide.ranked_columns)
    assert torch.equal(narrow.hit, wide.hit)


def test_a_sure_row_keeps_its_digits(device):
    """Where the label has almost all probability, log loss and Brier score are small numbers, not 0 or rounding."""
    logits = torch.tensor([[50.0, 0.0, 0.0], [0.0, 12.0, -3.0]], dtype=torch.float64, device=device)
    terms = row_terms(logits, torch.tensor([0, 1], device=device))
    tail = 2 * math.exp(-50)
    assert terms.nll[0].item() == pytest.approx(tail, rel=1e-12, abs=0)
    assert terms.brier[0].item() == pytest.approx(tail**2 + tail**2 / 2, rel=1e-12, abs=0)
    assert terms.entropy[0].item() == pytest.approx(51 * tail, rel=1e-12, abs=0)
    a, b = math.exp(-12), math.exp(-15)
    whole = 1 + a + b
    assert terms.nll[1].item() == pytest.approx(math.log1p(a + b), rel=1e-12, abs=0)
    assert terms.brier[1].item() == pytest.approx((a**2 + b**2 + (a + b) ** 2) / whole**2, rel=1e-12, abs=0)


def test_logits_far_apart_have_finite_losses(device):
    """At +-1e4 the log loss is the distance, and nothing overflows."""
    logits = torch.tensor([[1e4, -1e4, 0.0], [1e4, -1e4, 0.0]], dtype=torch.float64, device=device)
    terms = row_terms(logits, torch.tensor([0, 1], device=device), 3)
    assert terms.nll.tolist() == [0.0, 2e4]
    assert terms.brier.tolist() == [0.0, 2.0]
    assert terms.confidence.tolist() == [1.0, 1.0]
    assert terms.entropy.tolist() == [0.0, 0.0]
    assert terms.ranked[0].tolist() == [1.0, 0.0, 0.0]
    assert terms.ranked_columns[0].tolist() == [0, 2, 1]


def test_ties_go_to_the_lowest_column(device):
    """Of equal logits the lowest column comes first, at the top and at every rank."""
    logits = torch.tensor([[1.0, 2.0, 2.0, 1.0], [0.0, 0.0, 0.0, 0.0]], device=device)
    terms = row_terms(logits, torch.tensor([2, 0], device=device), 4)
    assert terms.top.tolist() == [1, 0]
    assert terms.hit.tolist() == [False, True]
    assert terms.ranked_columns.tolist() == [[1, 2, 0, 3], [0, 1, 2, 3]]
    assert terms.confidence[1].item() == 0.25
    wide = torch.randint(0, 4, (20, 3000), generator=torch.Generator().manual_seed(0)).to(device, torch.bfloat16)
    ranks = row_terms(wide, torch.zeros(20, dtype=torch.int64, device=device), 5).ranked_columns
    assert torch.equal(ranks, wide.sort(dim=1, descending=True, stable=True).indices[:, :5])


def test_a_column_of_minus_infinity_is_not_there(device):
    """Masked columns change nothing but the numbering, and come last, in order."""
    logits, labels = drawn(30, 6, seed=3, device=device)
    masked = torch.full((30, 9), -INF, dtype=torch.float64, device=device)
    masked[:, 1:7] = logits
    plain, found = row_terms(logits, labels, 6), row_terms(masked, labels + 1, 9)
    for name in FLOATS:
        torch.testing.assert_close(getattr(found, name), getattr(plain, name), rtol=1e-14, atol=0)
    assert torch.equal(found.ranked_columns[:, :6], plain.ranked_columns + 1)
    assert found.ranked_columns[:, 6:].tolist() == [[0, 7, 8]] * 30
    assert (found.ranked[:, 6:] == 0).all()


def test_a_label_that_cannot_come_has_infinite_loss(device):
    """A label of logit -inf: log loss inf, and a Brier score that is finite."""
    logits = torch.tensor([[0.0, 0.0, -INF]], device=device)
    terms = row_terms(logits, torch.tensor([2], device=device))
    assert terms.nll.tolist() == [INF]
    assert terms.brier.tolist() == [1.5]
    assert terms.hit.tolist() == [False]


@pytest.mark.parametrize("row", [[0.0, math.nan, 1.0], [0.0, INF, INF], [INF, 0.0, 1.0], [-INF, -INF, -INF]])
def test_a_row_without_probabilities_is_nan(row, device):
    """NaN, +inf and -inf throughout give NaN, and no hit; the rows beside it are as they were."""
    logits = torch.tensor([[1.0, 2.0, 3.0], row, [3.0, 2.0, 1.0]], device=device)
    labels = torch.tensor([2, 0, 1], device=device)
    terms, others = row_terms(logits, labels, 2), row_terms(logits[::2], labels[::2], 2)
    for name in (*FLOATS, "ranked"):
        assert getattr(terms, name)[1].isnan().all(), name
        close(getattr(terms, name)[::2], getattr(others, name), 1e-5 if device == "cuda" else 1e-12)
    assert terms.hit.tolist() == [True, False, False]


def test_labels_outside_leave_rows_out(device):
    """A row whose label is no column has NaN, False and -1; the others do not notice."""
    logits, labels = drawn(20, 5, seed=4, device=device)
    some = labels.clone()
    some[3], some[7], some[8] = -100, 5, -1
    logits[7] = math.nan
    kept = torch.ones(20, dtype=torch.bool)
    kept[[3, 7, 8]] = False
    terms, alone = row_terms(logits, some, 2), row_terms(logits[kept], labels[kept], 2)
    for name, found in terms._asdict().items():
        close(found[kept], getattr(alone, name))
    assert terms.confidence[~kept].isnan().all()
    assert terms.ranked[~kept].isnan().all()
    assert terms.top[~kept].tolist() == [-1] * 3
    assert not terms.hit[~kept].any()


def test_blocks_do_not_matter(device, monkeypatch):
    """One row at a time, or all at once: the same numbers."""
    logits, labels = drawn(33, 7, seed=5, device=device)
    labels[5] = -1
    whole = plain_row_terms(logits, labels, 3)
    monkeypatch.setattr(row_terms_module, "VOCABULARY_BLOCK_ENTRIES", {"cpu": 1, "cuda": 1})
    for mine, other in zip(plain_row_terms(logits, labels, 3), whole, strict=True):
        close(mine, other)


def test_what_is_passed_in_stays(device):
    """Logits and labels are not changed; rows may be strided, labels of any whole type, and there may be none."""
    logits, labels = drawn(12, 8, seed=6, device=device)
    before = logits.clone(), labels.clone()
    row_terms(logits, labels, 2)
    assert torch.equal(logits, before[0])
    assert torch.equal(labels, before[1])
    strided = row_terms(logits[::3, 2:], labels[::3].clamp(max=5).to(torch.int32), 2)
    copied = row_terms(logits[::3, 2:].contiguous(), labels[::3].clamp(max=5), 2)
    for mine, other in zip(strided, copied, strict=True):
        close(mine, other)
    assert row_terms(logits[:0], labels[:0], 2).ranked.shape == (0, 2)
