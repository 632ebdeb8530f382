"""Mixup and its loss."""

from __future__ import annotations

import pytest
import torch

from believable.errors import InputError
from believable.torch import FocalLoss, LabelSmoothingLoss, MixupLoss, mixup
from tests.torch.logits import batch


def seeded(seed=0):
    """A generator on the CPU."""
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("per_row", [False, True])
def test_by_hand(per_row, device):
    """Row i is lam x[i] + (1 - lam) x[j], with the labels of i and j, and the partners j are a permutation."""
    x = torch.arange(40.0, dtype=torch.float64, device=device).reshape(10, 2, 2) ** 2
    y = torch.arange(10, device=device)
    mixed = mixup(x, y, 0.7, per_row=per_row, generator=seeded())
    assert mixed.lam.shape == ((10,) if per_row else ())
    assert torch.equal(mixed.y_a, y)
    assert sorted(mixed.y_b.tolist()) == list(range(10))
    assert mixed.y_b.tolist() != list(range(10))
    for i in range(10):
        j = int(mixed.y_b[i])
        lam = float(mixed.lam[i]) if per_row else float(mixed.lam)
        assert 0 < lam < 1
        for u in range(2):
            for v in range(2):
                expected = lam * float(x[i, u, v]) + (1 - lam) * float(x[j, u, v])
                assert float(mixed.x[i, u, v]) == pytest.approx(expected, rel=1e-14)
    if per_row:
        assert len(set(mixed.lam.tolist())) == 10


@pytest.mark.parametrize("per_row", [False, True])
@pytest.mark.parametrize("n", [0, 1, 5])
def test_alpha_zero_is_no_mixing(per_row, n, device):
    """With alpha = 0 everything is as it was and lam = 1; no rows stay no rows and one row stays itself."""
    x, y = torch.randn(n, 3, generator=seeded(), dtype=torch.float64).to(device), torch.arange(n, device=device)
    mixed = mixup(x, y, 0, per_row=per_row)
    assert torch.equal(mixed.x, x)
    assert torch.equal(mixed.y_a, y)
    assert torch.equal(mixed.y_b, y)
    assert (mixed.lam == 1).all()
    if n <= 1:
        torch.testing.assert_close(mixup(x, y, 0.5, per_row=per_row, generator=seeded()).x, x)


@pytest.mark.parametrize("alpha", [0.2, 1.0, 4.0])
def test_lam_is_beta(alpha):
    """The shares have the mean 1/2 and the variance 1 / (4 (2 alpha + 1)) of Beta(alpha, alpha)."""
    n = 40_000
    lam = mixup(torch.zeros(n, 1, dtype=torch.float64), torch.zeros(n), alpha, per_row=True, generator=seeded(3)).lam
    variance = 1 / (4 * (2 * alpha + 1))
    assert lam.mean().item() == pytest.approx(0.5, abs=5 * (variance / n) ** 0.5)
    assert lam.var().item() == pytest.approx(variance, rel=0.03)


def test_generator(device):
    """The same generator gives the same mixture; another one, or the same one later, another; inputs stay as they are."""
    x, y = torch.randn(8, 3, generator=seeded()).to(device), torch.arange(8, device=device)
    before = x.clone()
    state = torch.get_rng_state()
    generator = seeded(1)
    first, second, again = (
        mixup(x, y, generator=generator),
        mixup(x, y, generator=generator),
        mixup(x, y, generator=seeded(1)),
    )
    assert torch.equal(first.x, again.x)
    assert first.lam == again.lam
    assert first.lam != second.lam
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(x, before)


def test_torchs_own_generator():
    """Without a generator torch's own is used, so that a seeded training run is repeated."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        first = mixup(torch.eye(6), torch.arange(6))
        torch.manual_seed(0)
        assert torch.equal(mixup(torch.eye(6), torch.arange(6)).x, first.x)


@pytest.mark.parametrize("per_row", [False, True])
def test_soft_labels(per_row, device):
    """With num_classes the labels are one-hot and their mixture is a row of probabilities; soft labels mix too."""
    x, y = torch.randn(8, 3, generator=seeded(), dtype=torch.float64).to(device), torch.arange(8, device=device) % 4
    hard = mixup(x, y, 1.0, per_row=per_row, generator=seeded())
    one_hot = mixup(x, y, 1.0, per_row=per_row, num_classes=4, generator=seeded())
    lam = hard.lam.expand(8)
    for i in range(8):
        row = [0.0] * 4
        row[hard.y_a[i]] += float(lam[i])
        row[hard.y_b[i]] += 1 - float(lam[i])
        assert one_hot.y[i].tolist() == pytest.approx(row, abs=1e-15)
    soft = mixup(x, torch.nn.functional.one_hot(y, 4).double(), 1.0, per_row=per_row, generator=seeded())
    torch.testing.assert_close(soft.y, one_hot.y)
    with pytest.raises(InputError, match="class numbers cannot be mixed: pass num_classes to mixup"):
        hard.y  # noqa: B018


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("per_row", [False, True])
def test_types(dtype, per_row, device):
    """x keeps its type, and lam is not rounded to it."""
    x, y = torch.randn(8, 3, generator=seeded()).to(device, dtype), torch.arange(8, device=device)
    mixed = mixup(x, y, per_row=per_row, generator=seeded())
    assert mixed.x.dtype == dtype
    assert mixed.lam.dtype == torch.float32
    assert mixed.x.device == mixed.lam.device == x.device
    wide = mixup(x.float(), y, per_row=per_row, generator=seeded())
    assert torch.equal(mixed.x, wide.x.to(dtype))  # rounded once, at the end


@pytest.mark.parametrize("loss", [torch.nn.CrossEntropyLoss, FocalLoss, LabelSmoothingLoss])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_loss_by_hand(loss, reduction, device):
    """lam loss(out, y_a) + (1 - lam) loss(out, y_b), whatever the loss and its reduction."""
    logits, y_a = batch(device)
    y_b, inner = y_a.flip(0), loss(reduction=reduction)
    value = MixupLoss(inner)(logits, y_a, y_b, 0.3)
    a, b = inner(logits, y_a).reshape(-1).tolist(), inner(logits, y_b).reshape(-1).tolist()
    expected = [0.3 * first + 0.7 * second for first, second in zip(a, b, strict=True)]
    assert value.reshape(-1).tolist() == pytest.approx(expected, rel=1e-12)


def test_loss_of_shares_per_row(device):
    """One lam per row goes with one loss per row, pixels included; a mean that was already taken is refused."""
    logits, y_a = batch(device, inner=(2,))
    y_b, lam = y_a.flip(0), torch.linspace(0, 1, 12, dtype=torch.float64, device=device)
    value = MixupLoss(FocalLoss(reduction="none"))(logits, y_a, y_b, lam)
    a, b = FocalLoss(reduction="none")(logits, y_a), FocalLoss(reduction="none")(logits, y_b)
    for i in range(12):
        for j in range(2):
            expected = float(lam[i]) * float(a[i, j]) + (1 - float(lam[i])) * float(b[i, j])
            assert float(value[i, j]) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(InputError, match=r'one lam per row \(12 of them\) needs one loss per row.*reduction="none"'):
        MixupLoss(FocalLoss())(logits, y_a, y_b, lam)


def test_loss_of_soft_labels(device):
    """For the cross entropy it is the loss against the mixed soft labels."""
    logits, labels = batch(device)
    mixed = mixup(logits, labels, 1.0, num_classes=5, generator=seeded())
    pairs = mixup(logits, labels, 1.0, generator=seeded())
    cross_entropy = torch.nn.CrossEntropyLoss()
    value = MixupLoss(cross_entropy)(logits, pairs.y_a, pairs.y_b, pairs.lam)
    torch.testing.assert_close(value, cross_entropy(logits, mixed.y), rtol=1e-12, atol=1e-12)


def test_loss_weights_and_gradient(device):
    """Weights of the rows reach the loss, and the gradient is that of finite differences."""
    logits, y_a = batch(device, n=4, classes=3)
    rows = torch.tensor([1.0, 0.0, 2.0, 0.5], dtype=torch.float64, device=device)
    y_b = y_a.flip(0)
    loss = MixupLoss(LabelSmoothingLoss())

    def value(z):
        return loss(z, y_a, y_b, 0.4, sample_weight=rows)

    inner = LabelSmoothingLoss()
    expected = 0.4 * inner(logits, y_a, sample_weight=rows) + 0.6 * inner(logits, y_b, sample_weight=rows)
    torch.testing.assert_close(value(logits), expected)
    assert torch.autograd.gradcheck(value, (logits.requires_grad_(),))
    assert torch.autograd.gradgradcheck(value, (logits,))


WRONG = [
    (lambda: mixup(torch.zeros(3, 2).long(), torch.zeros(3)), "x must be a tensor of floats, got torch.int64"),
    (lambda: mixup(torch.zeros(3, 2), torch.zeros(4)), r"one entry per row, got shapes \(3, 2\) and \(4,\)"),
    (lambda: mixup(torch.zeros(3, 2), [0, 1, 2]), r"got shapes \(3, 2\) and list"),
    (lambda: mixup(torch.zeros(3, 2), torch.zeros(3), -1), "alpha must be a number from 0"),
    (lambda: mixup(torch.zeros(2, 2), torch.tensor([0, 5]), num_classes=3), "integers 0..2, got 5 at row 1"),
    (lambda: mixup(torch.zeros(2, 2), torch.zeros(2), num_classes=3), "labels must be a tensor of integers 0..2"),
    (lambda: MixupLoss("mean"), "loss must be a loss such as"),
]


@pytest.mark.parametrize(("call", "words"), WRONG)
def test_wrong_input_is_named(call, words):
    """What does not fit is an error that says what and where."""
    with pytest.raises(InputError, match=words):
        call()


@pytest.mark.parametrize("alpha", [5e-324, 1e-3, 1e300, 1.7e308])
def test_extreme_alphas(alpha):
    """Next to nothing is mixed, or half of each, up to where floats end."""
    lam = mixup(torch.zeros(100, 1), torch.zeros(100), alpha, per_row=True, generator=seeded()).lam
    assert ((lam == 0.5) if alpha > 1 else (lam.round() - lam).abs() < 0.5).all()
    assert alpha > 1 or 20 < lam.sum() < 80


def test_nothing_of_infinity_is_nothing(device):
    """Where lam is 0 or 1, what has no share may be infinite."""
    x = torch.tensor([[torch.inf], [1.0], [2.0]], device=device)
    y = torch.tensor([0, 1, 2], device=device)
    mixed = mixup(x, y, 1e-300, per_row=True, generator=seeded())
    assert not mixed.x.isnan().any()
    logits = torch.tensor([[1.0, 0.0, -torch.inf]], device=device)
    loss = MixupLoss(torch.nn.CrossEntropyLoss())(logits, y[:1], y[2:], 1.0)
    assert loss == torch.nn.functional.cross_entropy(logits, y[:1])
