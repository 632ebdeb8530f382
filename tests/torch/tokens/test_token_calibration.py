"""Next-token calibration, held to the textbook and to the NumPy core."""

from __future__ import annotations

import math

import matplotlib
import numpy as np
import pytest
import torch

import believable
from believable import CellStats, Predictions
from believable.errors import InputError, MergeError, UndefinedError
from believable.predictions import View
from believable.stats.counts import SUMS
from believable.torch.tokens.token_calibration import token_calibration

INF = math.inf
NUMBERS = ("n", "accuracy", "confidence", "ece", "nll", "perplexity", "brier", "entropy")


def model(batch=4, length=12, vocabulary=9, seed=0, dtype=torch.float64, device="cpu"):
    """Logits of a random model, and targets drawn from a sharper one."""
    rng = np.random.default_rng(seed)
    z = 2 * rng.standard_normal((batch, length, vocabulary))
    noise = rng.gumbel(size=z.shape)
    return torch.tensor(z, device=device).to(dtype), torch.tensor((1.5 * z + noise).argmax(axis=2), device=device)


def same_cells(a, b):
    """Counts are equal, sums up to rounding."""
    assert (a.view, a.grid) == (b.view, b.grid)
    assert np.array_equal(a.key, b.key)
    assert np.array_equal(a.n, b.n)
    for name in SUMS:
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-11, atol=1e-14)


def same(a, b):
    """Two results say the same."""
    same_cells(a.cells, b.cells)
    for name in NUMBERS:
        assert getattr(a, name) == pytest.approx(getattr(b, name), rel=1e-11), name
    assert (a.impossible, set(a.rth), set(a.by_position)) == (b.impossible, set(b.rth), set(b.by_position))
    for r in a.rth:
        same_cells(a.rth[r], b.rth[r])
        same_cells(a.within_top_r[r], b.within_top_r[r])
    for name in a.by_position:
        same(a.by_position[name], b.by_position[name])


def test_the_numbers_are_those_of_the_definition(device):
    """A loop over tokens, the vocabulary and bins finds the same."""
    logits, targets = model(device=device)
    found = token_calibration(logits, targets, n_bins=10)
    rows = []
    for z, y in zip(logits.reshape(-1, 9).tolist(), targets.reshape(-1).tolist(), strict=True):
        e = [math.exp(x) for x in z]
        p = [x / sum(e) for x in e]
        top = p.index(max(p))
        brier = sum((p[k] - (k == y)) ** 2 for k in range(9))
        rows.append((p[top], top == y, -math.log(p[y]), brier, -sum(x * math.log(x) for x in p)))
    n = len(rows)
    ece = 0.0
    for m in range(10):
        here = [row for row in rows if m / 10 < row[0] <= (m + 1) / 10]
        ece += abs(sum(row[1] for row in here) - sum(row[0] for row in here)) / n
    confidence, accuracy, nll, brier, entropy = (sum(column) / n for column in zip(*rows, strict=True))
    assert found.n == n == 48
    assert found.vocabulary == 9
    assert found.ece == pytest.approx(ece, rel=1e-12)
    assert found.confidence == pytest.approx(confidence, rel=1e-12)
    assert found.accuracy == pytest.approx(accuracy, rel=1e-12)
    assert found.nll == pytest.approx(nll, rel=1e-12)
    assert found.perplexity == pytest.approx(math.exp(nll), rel=1e-12)
    assert found.brier == pytest.approx(brier, rel=1e-12)
    assert found.entropy == pytest.approx(entropy, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_numpy_core_counts_the_same(weighted, device):
    """Cells of the top, of each rank and within the top r, and the scores, are those of `Predictions`."""
    logits, targets = model(8, 40, 7, seed=1, device=device)
    weight = torch.tensor(np.random.default_rng(0).integers(0, 4, (8, 40)) / 2, device=device) if weighted else None
    found = token_calibration(logits, targets, top_r=7, sample_weight=weight)
    w = None if weight is None else weight.cpu().numpy().ravel()
    core = Predictions(
        logits.cpu().numpy().reshape(-1, 7), targets.cpu().numpy().ravel(), sample_weight=w, from_logits=True
    )
    same_cells(found.cells, CellStats.of(core))
    for r in range(2, 8):
        same_cells(found.rth[r], CellStats.of(core, View("rth", 7, r=r)))
    for r in range(2, 7):  # all 7 together are 1 but for rounding, which may fall on either side of an edge
        same_cells(found.within_top_r[r], CellStats.of(core, View("within_top_r", 7, r=r)))
    assert found.ece == pytest.approx(believable.expected_calibration_error(core, n_bins=15), rel=1e-12)
    assert found.accuracy == pytest.approx(believable.accuracy(core), rel=1e-12)
    assert found.nll == pytest.approx(believable.negative_log_likelihood(core), rel=1e-12)
    assert found.brier == pytest.approx(believable.brier_score(core), rel=1e-12)
    assert found.confidence == pytest.approx(believable.mean_confidence(core), rel=1e-12)
    assert found.entropy == pytest.approx(believable.mean_entropy(core), rel=1e-12)


def test_the_whole_vocabulary_holds_every_target(device):
    """top_r may be the whole vocabulary: then the probabilities sum to 1 and the target is there; not more."""
    logits, targets = model(vocabulary=4, device=device)
    every = token_calibration(logits, targets, top_r=4).within_top_r[4]
    assert every.wy.sum() == every.n.sum() == 48
    assert every.wp.sum() == pytest.approx(48, rel=1e-14)
    with pytest.raises(InputError, match="top_r must be an integer from 1 to 4, got 5"):
        token_calibration(logits, targets, top_r=5)
    assert token_calibration(logits, targets, top_r=1).rth == {}


def test_bfloat16_is_counted_as_it_is(device):
    """Logits in bfloat16 have the cells of the same numbers in float64."""
    logits, targets = model(dtype=torch.bfloat16, device=device)
    found, wide = (token_calibration(z, targets, top_r=2) for z in (logits, logits.double()))
    assert found.accuracy == wide.accuracy
    assert found.rth[2].wy.sum() == wide.rth[2].wy.sum()
    for name in NUMBERS:
        assert getattr(found, name) == pytest.approx(getattr(wide, name), rel=1e-12 if device == "cpu" else 1e-6), name


def test_shift_is_a_slice(device):
    """With shift=True logits at t stand beside the token at t + 1, and weights move with the targets."""
    logits, tokens = model(seed=2, device=device)
    tokens[1, 5:] = -100
    weight = torch.arange(48.0, device=device).reshape(4, 12)
    shifted = token_calibration(logits, tokens, shift=True, top_r=3, position_buckets=5, sample_weight=weight)
    by_hand = token_calibration(logits[:, :-1], tokens[:, 1:], top_r=3, position_buckets=5, sample_weight=weight[:, 1:])
    same(shifted, by_hand)
    assert (shifted.n, shifted.ignored) == (37, 7)
    copied = token_calibration(logits[:, :-1].clone(), tokens[:, 1:].clone(), sample_weight=weight[:, 1:].clone())
    same_cells(copied.cells, shifted.cells)


def test_ignored_tokens_are_not_there(device):
    """Padding is left out, whatever its logits are, and counted apart."""
    logits, targets = model(device=device)
    padded, known = logits.clone(), targets.clone()
    known[2, 7:], known[3, :] = -100, -100
    padded[2, 7:] = math.nan
    found = token_calibration(padded, known)
    kept = (known != -100).reshape(-1)
    alone = token_calibration(logits.reshape(-1, 9)[kept], targets.reshape(-1)[kept])
    same(found, alone)
    assert (found.n, found.ignored, alone.ignored) == (31, 17, 0)
    assert (found + found + alone).ignored == 34
    assert token_calibration(logits, targets, ignore_index=3).ignored == (targets == 3).sum()


def test_nothing_left_is_nothing_measured(device):
    """Where every target is ignored there is no number, and adding it changes nothing."""
    logits, targets = model(device=device)
    nothing = token_calibration(logits, torch.full_like(targets, -100), top_r=2, position_buckets=[0, 4])
    assert (nothing.n, nothing.ignored) == (0, 48)
    for name in NUMBERS[1:]:
        with pytest.raises(UndefinedError, match="no token was counted"):
            getattr(nothing, name)
    assert "no token was counted" in str(nothing)
    some = token_calibration(logits, targets, top_r=2, position_buckets=[0, 4])
    same(nothing + some, some)
    assert token_calibration(logits[:, :1], targets[:, :1], shift=True).n == 0
    assert token_calibration(logits[:0], targets[:0]).n == 0


def test_weights_are_repetitions(device):
    """Weight 2 is a token twice, weight 0 a token that is not there."""
    logits, targets = model(1, 20, device=device)
    weight = torch.tensor([[0, 1, 2, 1] * 5], device=device)
    found = token_calibration(logits, targets, sample_weight=weight, top_r=2)
    times = weight[0].long()
    again = token_calibration(logits[0].repeat_interleave(times, 0), targets[0].repeat_interleave(times, 0), top_r=2)
    for name in NUMBERS[1:]:
        assert getattr(found, name) == pytest.approx(getattr(again, name), rel=1e-12), name
    assert (found.n, found.weight, again.n) == (15, 20, 20)
    logits[0, ::4] = math.nan
    same(found, token_calibration(logits, targets, sample_weight=weight, top_r=2))


def test_batches_add_up(device):
    """Parts, of different lengths too, sum to the whole; `sum` works."""
    logits, targets = model(6, 30, seed=3, device=device)
    targets[4:, 11:] = -100
    options = {"top_r": 3, "position_buckets": 8}
    whole = token_calibration(logits, targets, **options)
    batches = [(logits[:2], targets[:2]), (logits[2:4], targets[2:4]), (logits[4:, :11], targets[4:, :11])]
    added = sum(token_calibration(z, y, **options) for z, y in batches)
    same(added, whole)
    assert list(added.by_position) == ["0-7", "8-15", "16-23", "24-31"]


def test_different_questions_do_not_add_up():
    """Other bins, ranks, buckets or vocabularies are refused."""
    logits, targets = model()
    plain = token_calibration(logits, targets)
    for options in ({"n_bins": 10}, {"top_r": 2}, {"position_buckets": 4}):
        with pytest.raises(MergeError, match="cannot merge token statistics"):
            plain + token_calibration(logits, targets, **options)
    with pytest.raises(MergeError, match="the vocabulary is 9 here, 5 there"):
        plain + token_calibration(*model(vocabulary=5))
    with pytest.raises(TypeError):
        plain + 1
    with pytest.raises(TypeError):
        1 + plain


def test_buckets_are_the_positions_alone(device):
    """Each bucket is what its positions give by themselves; by starts, by width, and by given positions."""
    logits, targets = model(3, 20, seed=4, device=device)
    found = token_calibration(logits, targets, position_buckets=[0, 1, 4, 16], top_r=2).by_position
    assert list(found) == ["0", "1-3", "4-15", "16+"]
    for name, here in zip(found, (slice(0, 1), slice(1, 4), slice(4, 16), slice(16, None)), strict=True):
        same(found[name], token_calibration(logits[:, here], targets[:, here], top_r=2))
    by_width = token_calibration(logits, targets, position_buckets=16).by_position
    assert list(by_width) == ["0-15", "16-31"]
    same(by_width["16-31"], token_calibration(logits[:, 16:], targets[:, 16:]))
    flat = token_calibration(
        logits.reshape(-1, 9),
        targets.reshape(-1),
        positions=torch.arange(20, device=device).repeat(3),
        position_buckets=16,
    )
    same(flat.by_position["0-15"], by_width["0-15"])


def test_masked_tokens_are_not_in_the_vocabulary(device):
    """Columns of -inf have probability 0 and change no number."""
    logits, targets = model(device=device)
    masked = torch.cat([logits, torch.full_like(logits[..., :3], -INF)], dim=2)
    found, plain = token_calibration(masked, targets, top_r=10), token_calibration(logits, targets)
    for name in NUMBERS:
        assert getattr(found, name) == pytest.approx(getattr(plain, name), rel=1e-12), name
    assert (found.vocabulary, found.impossible) == (12, 0)
    assert found.rth[10].wp.sum() == 0


def test_an_impossible_target_is_said(device):
    """A target of probability 0: the log loss is infinite, the words say how many, the rest is finite."""
    logits, targets = model(device=device)
    logits[0, 3, targets[0, 3]] = -INF
    found = token_calibration(logits, targets)
    assert (found.nll, found.perplexity, found.impossible) == (INF, INF, 1)
    assert math.isfinite(found.brier)
    assert math.isfinite(found.ece)
    twice = found + found
    assert (twice.nll, twice.impossible, twice.n) == (INF, 2, 96)
    assert "The log loss is infinite. Number of targets with probability 0: 1." in str(found)


def test_extreme_logits_are_counted(device):
    """At +-1e4 confidence is 1 and the log loss the distance, whose perplexity is beyond all numbers."""
    logits = torch.tensor([[[1e4, -1e4], [1e4, -1e4]]], device=device)
    found = token_calibration(logits, torch.tensor([[0, 1]], device=device))
    assert (found.confidence, found.accuracy, found.ece, found.nll) == (1, 0.5, 0.5, 1e4)
    assert (found.perplexity, found.impossible) == (INF, 0)
    alone = token_calibration(logits[:, :1], torch.tensor([[0]], device=device))
    assert (alone.n, alone.nll, alone.brier) == (1, 0, 0)


def test_ties_go_to_the_lowest_token(device):
    """Of equal logits the lowest token is the prediction, and the ranks follow in order."""
    logits = torch.zeros(4, 3, dtype=torch.bfloat16, device=device)
    found = token_calibration(logits, torch.tensor([0, 1, 1, 2], device=device), top_r=3)
    assert found.accuracy == 0.25
    assert [found.rth[r].wy.sum() for r in (2, 3)] == [2, 1]
    assert found.cells.conf.tolist() == [1 / 3]


@pytest.mark.parametrize("bad", [math.nan, INF])
def test_logits_that_are_no_numbers_are_refused(bad, device):
    """NaN and +inf in a token that counts are an error that says where; -inf throughout too."""
    logits, targets = model(device=device)
    logits[2, 5, 1] = bad
    with pytest.raises(InputError, match=r"logits must be numbers, .* at \[2, 5\]; such tokens: 1 of 48"):
        token_calibration(logits, targets)
    logits[2, 5] = -INF
    with pytest.raises(InputError, match=r"-inf throughout at \[2, 5\]"):
        token_calibration(logits, targets)


def test_targets_must_be_tokens(device):
    """A target outside of the vocabulary is an error that says where it is in the targets, shifted or not."""
    logits, targets = model(device=device)
    targets[1, 4] = 9
    for shift in (False, True):
        with pytest.raises(InputError, match=r"targets must be from 0 to 8, .* got 9 at \[1, 4\]"):
            token_calibration(logits, targets, shift=shift)
    targets[1, 4] = -100
    with pytest.raises(InputError, match=r"got -100 at \[1, 4\]"):
        token_calibration(logits, targets, ignore_index=None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"logits": torch.zeros(2, 7, 5)}, r"vocabulary on axis 1.*pass logits\.transpose\(1, 2\)"),
        ({"logits": torch.zeros(2, 4, 7)}, r"\(2, 4, 7\) and targets of shape \(2, 5\) do not belong together"),
        ({"logits": torch.zeros(2, 4, 7), "shift": True}, "both are passed as they are"),
        ({"logits": torch.zeros(2, 5, 1)}, "at least two tokens"),
        ({"logits": torch.zeros(2, 5, 7, dtype=torch.int64)}, "bfloat16, float16, float32 or float64, got torch.int64"),
        ({"logits": "abc"}, "logits must be a tensor"),
        ({"targets": torch.zeros(2, 5)}, "targets must be whole numbers"),
        ({"logits": torch.zeros(5, 7), "targets": [0] * 5, "shift": True}, "where sequences begin"),
        ({"logits": torch.zeros(5, 7), "targets": [0] * 5, "position_buckets": 4}, "no axis of positions"),
        ({"sample_weight": torch.ones(5)}, r"sample_weight must have the shape of the targets, \(2, 5\)"),
        ({"sample_weight": torch.full((2, 5), 1j)}, "sample_weight must be real numbers"),
        ({"sample_weight": -torch.ones(2, 5)}, r"finite and not negative, got -1 at \[0, 0\]; such tokens: 10 of 10"),
        ({"sample_weight": torch.full((2, 5), math.nan), "shift": True}, r"got nan at \[0, 1\]"),
        ({"positions": torch.full((2, 5), -1)}, "positions must not be negative, got -1"),
        ({"positions": torch.ones(2, 5)}, "positions must be whole numbers"),
        ({"n_bins": 11}, "n_bins must divide 50,400"),
        ({"top_r": 0}, "top_r must be an integer from 1 to 7"),
        ({"shift": 1}, "shift must be True or False"),
        ({"ignore_index": 0.5}, "ignore_index must be an integer or None"),
        ({"position_buckets": [1, 4]}, "increase from 0"),
        ({"position_buckets": [0, 4, 4]}, "increase from 0"),
        ({"position_buckets": 0}, "width of buckets, must be an integer at least 1"),
        ({"positions": torch.arange(10).reshape(2, 5) * 10**6, "position_buckets": [0]}, None),
    ],
)
def test_bad_input_is_refused(change, message):
    """Each error says what is wrong and what to do."""
    given = {"logits": torch.zeros(2, 5, 7), "targets": torch.zeros(2, 5, dtype=torch.int64)} | change
    logits, targets = given.pop("logits"), given.pop("targets")
    if message is None:
        assert token_calibration(logits, targets, **given).n == 10
        return
    with pytest.raises(InputError, match=message):
        token_calibration(logits, targets, **given)


def test_too_many_buckets_are_refused():
    """A thousand buckets are enough."""
    logits, targets = torch.zeros(1, 1001, 2), torch.zeros(1, 1001, dtype=torch.uint8)
    with pytest.raises(InputError, match="1,001 buckets: make them wider"):
        token_calibration(logits, targets, position_buckets=1)


def test_nothing_is_changed(device):
    """Inputs stay as they are, and logits that require gradients are read without them."""
    logits, targets = model(device=device)
    logits.requires_grad_()
    before = logits.detach().clone(), targets.clone()
    token_calibration(logits, targets, shift=True, top_r=2)
    assert torch.equal(logits.detach(), before[0])
    assert torch.equal(targets, before[1])
    assert logits.grad is None


def test_its_cells_are_handed_on(device):
    """Metrics with other bins, intervals, noise floors and pictures read the cells."""
    matplotlib.use("Agg")
    logits, targets = model(20, 25, device=device)
    found = token_calibration(logits, targets, top_r=2)
    core = Predictions(logits.cpu().numpy().reshape(-1, 9), targets.cpu().numpy().ravel(), from_logits=True)
    again = believable.expected_calibration_error(core, n_bins=25)
    assert believable.expected_calibration_error(found.cells, n_bins=25) == pytest.approx(again, rel=1e-12)
    sure = believable.interval("ece", found.cells, options={"n_bins": 15}, random_state=0)
    assert sure.value == pytest.approx(found.ece, rel=1e-12)
    assert believable.noise_floor("ece", found.within_top_r[2], random_state=0).value > 0
    axes = believable.plot_reliability_diagram(found.cells, n_bins=15)
    assert axes is not None


def test_it_reads_as_words():
    """The words and tables that are printed."""
    logits = torch.log(torch.tensor([[[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]], dtype=torch.float64))
    found = token_calibration(logits, torch.tensor([[0, 0, -100]]), top_r=2, position_buckets=[0, 1])
    assert str(found) == repr(found)
    assert str(found).splitlines() == [
        "Next-token calibration of 2 tokens (1 ignored), vocabulary of 3:",
        "accuracy 0.5000, mean confidence 0.5000, ECE 0.0000 (15 bins);",
        "log loss 1.0397 nats (perplexity 2.828), entropy 1.0397 nats, Brier score 0.6250.",
        "",
        "                   observed  probability     ECE",
        "rank 2               0.5000       0.2500  0.2500",
        "among the first 2    1.0000       0.7500  0.2500",
        "",
        "position  tokens  accuracy  confidence     ECE  log loss",
        "0              1    1.0000      0.5000  0.5000    0.6931",
        "1+             1    0.0000      0.5000  0.5000    1.3863",
    ]
